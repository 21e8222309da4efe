//! The factor of a tree's mass matrix, M = Lᵀ D L without fill-in (Featherstone 2005; 2008, chapter 6), and what is
//! solved with it: changes of velocity, and the columns of constraints, which it whitens.

pub(crate) mod long;

use wide::{f64x2, f64x4};

use crate::engine::{
    algebra::spatial::Spatial,
    state::tree::{LANES, LinkJoint, Topology, Tree},
};

/// Degrees of freedom of a free root, the first of them that turns it, and the first group of entries of each of its
/// rows.
const ROOT: usize = 6;
const TURN: usize = 3;
const FIRST: [usize; ROOT] = [0, 1, 2, 3, 4, 6];

impl Tree {
    /// Factors M, or M plus a diagonal and what else resists, as Lᵀ D L and takes x to L⁻ᵀ x on the way. There is no
    /// fill-in. Each ancestor's row is updated over contiguous memory, in whole groups: what lies behind its diagonal
    /// is never read.
    pub(crate) fn factorise(&mut self, diagonal: Option<&[f64]>, x: &mut [f64]) {
        if self.topology.is_long() {
            return self.factorise_long(diagonal, x);
        }
        let (topology, work) = (&self.topology, &mut self.work);
        work.factor.copy_from_slice(&work.mass);
        if work.has_damping && diagonal.is_some() {
            work.factor.iter_mut().zip(&work.damping).for_each(|(entry, more)| *entry += more);
        }
        let free = topology.links[0].joint == LinkJoint::Free;
        let first = topology.free_axes();
        let (chains, numbers) = (&topology.chain[..], &topology.rows[..]);
        // Slices of one length are checked once.
        let freedom = topology.freedom;
        let (starts, depths, x) = (&topology.row[..freedom], &topology.depth[..freedom], &mut x[..freedom]);
        let (pivots, roots) = (&mut work.pivot[..freedom], &mut work.root_pivot[..freedom]);
        let masses = &work.mass[..];
        match diagonal {
            Some(diagonal) => pivots.copy_from_slice(&diagonal[..freedom]),
            None => pivots.fill(0.0),
        }
        let groups = work.factor.as_chunks_mut::<LANES>().0;
        for dof in (first..freedom).rev() {
            let (start, depth) = (starts[dof], depths[dof]);
            // All ancestors' rows stand before this one.
            let (above, row) = groups.split_at_mut(start / LANES);
            let pivot = reciprocal(row[depth / LANES][depth % LANES] + pivots[dof], masses[start + depth]);
            pivots[dof] = pivot;
            if depth == first {
                continue;
            }
            let (chain, rows) = (&chains[start..][..depth], &numbers[start..][..depth]);
            let value = x[dof];
            for k in (first..depth).rev() {
                let factor = row[k / LANES][k % LANES] * pivot;
                let entries = &mut above[rows[k] as usize / LANES..];
                match k / LANES {
                    0 => subtract::<1>(entries, factor, row),
                    1 => subtract::<2>(entries, factor, row),
                    2 => subtract::<3>(entries, factor, row),
                    last => (0..=last).for_each(|group| subtract::<1>(&mut entries[group..], factor, &row[group..])),
                }
                row[k / LANES][k % LANES] = factor;
                x[chain[k] as usize] -= factor * value;
            }
        }
        if free {
            factorise_root(topology, groups, pivots, x);
        }
        roots.iter_mut().zip(&*pivots).for_each(|(root, pivot)| *root = pivot.sqrt());
    }

    /// x ← (M + h D)⁻¹ x, after [`Tree::factorise`].
    pub(crate) fn solve(&mut self, x: &mut [f64]) {
        self.solve_upper(x);
        self.solve_rest(x);
    }

    /// [`Tree::factorise`], and x ← (M + h D)⁻¹ x.
    #[inline]
    pub(crate) fn factorise_and_solve(&mut self, diagonal: Option<&[f64]>, x: &mut [f64]) {
        self.factorise(diagonal, x);
        self.solve_rest(x);
    }

    /// x ← L⁻¹ D⁻¹ x.
    #[inline]
    fn solve_rest(&mut self, x: &mut [f64]) {
        for (x, pivot) in x.iter_mut().zip(&self.work.pivot) {
            *x *= pivot;
        }
        self.solve_lower(x);
    }

    /// x ← L⁻ᵀ x.
    fn solve_upper(&mut self, x: &mut [f64]) {
        if self.topology.is_long() {
            return self.solve_upper_long(x);
        }
        let (topology, factor) = (&self.topology, &self.work.factor);
        for dof in (0..topology.freedom).rev() {
            let (start, depth, value) = (topology.row[dof], topology.depth[dof], x[dof]);
            let row = &factor[start..start + depth];
            for (&ancestor, l) in topology.chain[start..start + depth].iter().zip(row) {
                x[ancestor as usize] -= l * value;
            }
        }
    }

    /// x ← L⁻¹ x.
    pub(crate) fn solve_lower(&mut self, x: &mut [f64]) {
        if self.is_decoupled() {
            return self.solve_decoupled(x);
        }
        if self.topology.is_long() {
            return self.solve_lower_long(x);
        }
        let (topology, factor) = (&self.topology, &self.work.factor[..]);
        let (mut root, mut first) = ([0.0; ROOT], 0);
        if let Some(x) = x.first_chunk_mut().filter(|_| topology.free_axes() == ROOT && topology.links.len() > 1) {
            solve_root(factor, x);
            (root, first) = (*x, ROOT);
        }
        let rows = topology.row[first..].iter().zip(&topology.depth[first..]);
        for (dof, (&start, &depth)) in (first..x.len()).zip(rows) {
            let (chain, row) = (&topology.chain[start..start + depth], &factor[start..start + depth]);
            let (solved, own) = x.split_at_mut(dof);
            let mut sum = own[0];
            let mut from = 0;
            if let (ROOT, Some(l)) = (first, row.first_chunk::<ROOT>()) {
                let x = &root;
                sum -= l[0] * x[0] + l[1] * x[1] + l[2] * x[2] + l[3] * x[3] + l[4] * x[4] + l[5] * x[5];
                from = ROOT;
            }
            for (&ancestor, l) in chain[from..].iter().zip(&row[from..]) {
                sum -= l * solved[ancestor as usize];
            }
            own[0] = sum;
        }
    }

    /// y ← D^(-1/2) L⁻ᵀ y for columns that live on the chain that starts at `start`: they stay on it.
    pub(crate) fn whiten_chain(&self, start: usize, columns: &mut [[f64; LANES]]) {
        if self.topology.is_long() {
            return self.whiten_chain_long(start, columns);
        }
        let (topology, factor) = (&self.topology, &self.work.factor[..]);
        let numbers = &topology.rows[start..start + columns.len()];
        let (mut root, mut first) = ([f64x4::ZERO; ROOT], 0);
        if let Some(columns) = columns.first_chunk::<ROOT>().filter(|_| topology.free_axes() == ROOT) {
            (root, first) = (columns.map(f64x4::new), ROOT);
        }
        for k in (first..columns.len()).rev() {
            let (before, own) = columns.split_at_mut(k);
            let (own, row) = (f64x4::new(own[0]), &factor[numbers[k] as usize..][..k]);
            if let Some(row) = row.first_chunk::<ROOT>().filter(|_| first == ROOT) {
                (0..ROOT).for_each(|j| root[j] -= own * row[j]);
            }
            for (column, l) in before[first..].iter_mut().zip(&row[first..]) {
                *column = (f64x4::new(*column) - own * *l).to_array();
            }
        }
        if let (ROOT, Some(rows)) = (first, factor.first_chunk::<32>()) {
            for k in (0..ROOT).rev() {
                let own = root[k];
                (0..k).for_each(|j| root[j] -= own * rows[LANES * FIRST[k] + j]);
            }
            columns[..ROOT].copy_from_slice(&root.map(f64x4::to_array));
        }
        let chain = &topology.chain[start..start + columns.len()];
        for (column, &dof) in columns.iter_mut().zip(chain) {
            *column = (f64x4::new(*column) * self.work.root_pivot[dof as usize]).to_array();
        }
    }

    /// The same for all columns of a single body, whose linear and angular motions have nothing to do with each other.
    pub(crate) fn whiten_body(&self, columns: &mut [[f64; LANES]; ROOT]) {
        let (Some(rows), Some(roots)) =
            (self.work.factor.first_chunk::<32>(), self.work.root_pivot.first_chunk::<ROOT>())
        else {
            return;
        };
        for k in (0..ROOT).rev() {
            let own = columns[k];
            for j in TURN..k {
                (0..LANES).for_each(|c| columns[j][c] -= rows[LANES * FIRST[k] + j] * own[c]);
            }
            columns[k] = own.map(|entry| entry * roots[k]);
        }
    }

    /// y ← D^(-1/2) L⁻ᵀ y for columns over the whole tree. `memory` is for its use alone.
    pub(crate) fn whiten_all(&self, columns: &mut [[f64; LANES]], memory: &mut Vec<[Spatial; LANES]>) {
        if self.topology.is_long() {
            return self.whiten_all_long(columns, memory);
        }
        let (topology, work) = (&self.topology, &self.work);
        for dof in (0..topology.freedom).rev() {
            let own = columns[dof];
            let (start, depth) = (topology.row[dof], topology.depth[dof]);
            for k in 0..depth {
                let ancestor = topology.chain[start + k] as usize;
                for c in 0..4 {
                    columns[ancestor][c] -= work.factor[start + k] * own[c];
                }
            }
            for c in 0..4 {
                columns[dof][c] = own[c] * work.root_pivot[dof];
            }
        }
    }

    /// Whether it is a single body in no soil, whose mass matrix about its own centre of mass couples nothing that
    /// moves it with what turns it.
    pub(crate) fn is_decoupled(&self) -> bool {
        self.is_single_body() && !self.work.has_damping
    }

    /// The change of velocity that whitened impulses bring: L⁻¹ D^(-1/2) w.
    pub(crate) fn velocity_of(&mut self, whitened: &[f64], out: &mut [f64]) {
        for ((out, w), root) in out.iter_mut().zip(whitened).zip(&self.work.root_pivot) {
            *out = w * root;
        }
        self.solve_lower(out);
    }
}

/// The rows of a free root, after all others.
fn factorise_root(topology: &Topology, groups: &mut [[f64; LANES]], pivots: &mut [f64], x: &mut [f64]) {
    let (Some((rows, below)), Some((x, values))) = (groups.split_first_chunk_mut(), x.split_first_chunk_mut()) else {
        return;
    };
    let mut root = Root::new(rows, x);
    // A row that hangs on a free root begins with what ties it to all of that.
    let starts = topology.row[ROOT..].iter().map(|start| start / LANES - rows.len());
    for ((start, pivot), value) in starts.zip(&pivots[ROOT..]).zip(values).rev() {
        root.eliminate(&mut below[start..], *pivot, *value);
    }
    if let Some(pivots) = pivots.first_chunk_mut() {
        *pivots = root.factorise(pivots, rows, x);
    }
}

/// The part of [`Tree::solve_lower`] that is a free root's.
fn solve_root(factor: &[f64], x: &mut [f64; ROOT]) {
    let Some(rows) = factor.first_chunk::<32>() else { return };
    for dof in 0..ROOT {
        let row = &rows[LANES * FIRST[dof]..][..dof];
        x[dof] -= row.iter().zip(&*x).map(|(l, x)| l * x).sum::<f64>();
    }
}

/// What is left of an inertia is nothing but rounding below this part of it: the errors of the terms that it is the
/// rest of, some 1e-16 each.
const ROUNDING: f64 = 1e-14;

/// The reciprocal of what inertia is left of a degree of freedom where all after it move freely, of this `whole`. Where
/// that is nothing but rounding, as of a speck between two hinges in one line, no number would tell how it moves: it
/// keeps its rate, and what hangs on it moves along.
#[inline(always)]
fn reciprocal(left: f64, whole: f64) -> f64 {
    if left <= ROUNDING * whole { 0.0 } else { 1.0 / left }
}

/// Subtracts a multiple of `own` from `entries`, both of at least `N` groups.
#[inline(always)]
fn subtract<const N: usize>(entries: &mut [[f64; LANES]], factor: f64, own: &[[f64; LANES]]) {
    for (entries, own) in entries[..N].iter_mut().zip(&own[..N]) {
        for lane in 0..LANES {
            entries[lane] -= factor * own[lane];
        }
    }
}

/// The rows of a free root while they are factored, two entries at a time, and its part of x.
struct Root {
    rows: [f64x2; 12],
    x: [f64x2; 3],
}

/// Which row each two entries belong to, and which of it they are.
const PAIRS: [(usize, usize); 12] =
    [(0, 0), (1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (4, 0), (4, 1), (4, 2), (5, 0), (5, 1), (5, 2)];

impl Root {
    #[inline(always)]
    fn new(rows: &[[f64; LANES]; 8], x: &[f64; ROOT]) -> Self {
        let two = |row: usize, pair: usize| {
            let group = &rows[FIRST[row] + pair / 2];
            f64x2::new([group[2 * pair % LANES], group[2 * pair % LANES + 1]])
        };
        Self {
            rows: PAIRS.map(|(row, pair)| two(row, pair)),
            x: [0, 1, 2].map(|pair| f64x2::new([x[2 * pair], x[2 * pair + 1]])),
        }
    }

    /// Takes off what a row below takes from them, of this pivot and this entry of x; the row becomes one of L, and x
    /// one of L⁻ᵀ x.
    #[inline(always)]
    fn eliminate(&mut self, row: &mut [[f64; LANES]], pivot: f64, value: f64) {
        let Some([[a, b, c, d], [e, f, ..]]) = row.first_chunk_mut() else { return };
        let own = [f64x2::new([*a, *b]), f64x2::new([*c, *d]), f64x2::new([*e, *f])];
        let factors = own.map(|entries| entries * pivot);
        let [[g, h], [i, j], [k, l]] = factors.map(f64x2::to_array);
        (*a, *b, *c, *d, *e, *f) = (g, h, i, j, k, l);
        let each = [g, h, i, j, k, l].map(f64x2::splat);
        for (entries, (row, pair)) in self.rows.iter_mut().zip(PAIRS) {
            *entries -= each[row] * own[pair];
        }
        for (x, factors) in self.x.iter_mut().zip(factors) {
            *x -= factors * value;
        }
    }

    /// Factors the rows, to whose diagonal this is added, after all others. Returns the reciprocals of the pivots; x
    /// becomes L⁻ᵀ x.
    #[inline(always)]
    fn factorise(self, diagonal: &[f64; ROOT], rows: &mut [[f64; LANES]; 8], x: &mut [f64; ROOT]) -> [f64; ROOT] {
        let (mut pivots, mut m) = ([0.0; ROOT], [[0.0; ROOT]; ROOT]);
        for (entries, (row, pair)) in self.rows.iter().zip(PAIRS) {
            m[row][2 * pair..][..2].copy_from_slice(entries.as_array());
        }
        for (x, own) in x.as_chunks_mut::<2>().0.iter_mut().zip(self.x) {
            *x = own.to_array();
        }
        for row in (0..ROOT).rev() {
            pivots[row] = reciprocal(m[row][row] + diagonal[row], rows[FIRST[row] + row / LANES][row % LANES]);
            for k in (0..row).rev() {
                let factor = m[row][k] * pivots[row];
                (0..=k).for_each(|j| m[k][j] -= factor * m[row][j]);
                rows[FIRST[row] + k / LANES][k % LANES] = factor;
                x[k] -= factor * x[row];
            }
        }
        pivots
    }
}
