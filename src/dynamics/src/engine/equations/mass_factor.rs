//! Factor of a tree's mass matrix, M = Lᵀ Dg L without fill-in (Featherstone 2005; 2008, chapter 6), and solutions with
//! it: velocity changes, and whitened columns of constraints.

pub(crate) mod long;

use wide::{f64x2, f64x4};

use crate::engine::{
    algebra::spatial::Spatial,
    state::{
        link::LinkJoint,
        tree::{LANES, Topology, Tree},
    },
};

/// Number of degrees of freedom of a free root, the first of them that is a rotation, and the first group of entries of
/// each of its rows.
const ROOT_DOFS: usize = 6;
const FIRST_ANGULAR: usize = 3;
const ROOT_ROW_GROUPS: [usize; ROOT_DOFS] = [0, 1, 2, 3, 4, 6];

impl Tree {
    /// Factors M, or M plus a diagonal and damping, as Lᵀ Dg L, and replaces x by L⁻ᵀ x on the way. There is no
    /// fill-in. Each ancestor's row is updated over contiguous memory, in whole groups: entries after its diagonal are
    /// never read.
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
        // Slices of the same length need only one bounds check.
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
            // The rows of all ancestors come before this one.
            let (above, row) = groups.split_at_mut(start / LANES);
            let pivot = pivot_reciprocal(row[depth / LANES][depth % LANES] + pivots[dof], masses[start + depth]);
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
                    0 => subtract_multiple::<1>(entries, factor, row),
                    1 => subtract_multiple::<2>(entries, factor, row),
                    2 => subtract_multiple::<3>(entries, factor, row),
                    last => (0..=last)
                        .for_each(|group| subtract_multiple::<1>(&mut entries[group..], factor, &row[group..])),
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

    /// x ← L⁻¹ Dg⁻¹ x.
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
        let (mut root, mut first) = ([0.0; ROOT_DOFS], 0);
        if let Some(x) = x.first_chunk_mut().filter(|_| topology.free_axes() == ROOT_DOFS && topology.links.len() > 1) {
            solve_root(factor, x);
            (root, first) = (*x, ROOT_DOFS);
        }
        let rows = topology.row[first..].iter().zip(&topology.depth[first..]);
        for (dof, (&start, &depth)) in (first..x.len()).zip(rows) {
            let (chain, row) = (&topology.chain[start..start + depth], &factor[start..start + depth]);
            let (solved, own) = x.split_at_mut(dof);
            let mut sum = own[0];
            let mut from = 0;
            if let (ROOT_DOFS, Some(l)) = (first, row.first_chunk::<ROOT_DOFS>()) {
                let x = &root;
                sum -= l[0] * x[0] + l[1] * x[1] + l[2] * x[2] + l[3] * x[3] + l[4] * x[4] + l[5] * x[5];
                from = ROOT_DOFS;
            }
            for (&ancestor, l) in chain[from..].iter().zip(&row[from..]) {
                sum -= l * solved[ancestor as usize];
            }
            own[0] = sum;
        }
    }

    /// y ← Dg^(-1/2) L⁻ᵀ y for columns over the chain that starts at `start`; they stay on it.
    pub(crate) fn whiten_chain(&self, start: usize, columns: &mut [[f64; LANES]]) {
        if self.topology.is_long() {
            return self.whiten_chain_long(start, columns);
        }
        let (topology, factor) = (&self.topology, &self.work.factor[..]);
        let numbers = &topology.rows[start..start + columns.len()];
        let (mut root, mut first) = ([f64x4::ZERO; ROOT_DOFS], 0);
        if let Some(columns) = columns.first_chunk::<ROOT_DOFS>().filter(|_| topology.free_axes() == ROOT_DOFS) {
            (root, first) = (columns.map(f64x4::new), ROOT_DOFS);
        }
        for k in (first..columns.len()).rev() {
            let (before, own) = columns.split_at_mut(k);
            let (own, row) = (f64x4::new(own[0]), &factor[numbers[k] as usize..][..k]);
            if let Some(row) = row.first_chunk::<ROOT_DOFS>().filter(|_| first == ROOT_DOFS) {
                (0..ROOT_DOFS).for_each(|j| root[j] -= own * row[j]);
            }
            for (column, l) in before[first..].iter_mut().zip(&row[first..]) {
                *column = (f64x4::new(*column) - own * *l).to_array();
            }
        }
        if let (ROOT_DOFS, Some(rows)) = (first, factor.first_chunk::<32>()) {
            for k in (0..ROOT_DOFS).rev() {
                let own = root[k];
                (0..k).for_each(|j| root[j] -= own * rows[LANES * ROOT_ROW_GROUPS[k] + j]);
            }
            columns[..ROOT_DOFS].copy_from_slice(&root.map(f64x4::to_array));
        }
        let chain = &topology.chain[start..start + columns.len()];
        for (column, &dof) in columns.iter_mut().zip(chain) {
            *column = (f64x4::new(*column) * self.work.root_pivot[dof as usize]).to_array();
        }
    }

    /// y ← Dg^(-1/2) L⁻ᵀ y for all columns of a single body, whose linear and angular motions are independent.
    pub(crate) fn whiten_body(&self, columns: &mut [[f64; LANES]; ROOT_DOFS]) {
        let (Some(rows), Some(roots)) =
            (self.work.factor.first_chunk::<32>(), self.work.root_pivot.first_chunk::<ROOT_DOFS>())
        else {
            return;
        };
        for k in (0..ROOT_DOFS).rev() {
            let own = columns[k];
            for j in FIRST_ANGULAR..k {
                (0..LANES).for_each(|c| columns[j][c] -= rows[LANES * ROOT_ROW_GROUPS[k] + j] * own[c]);
            }
            columns[k] = own.map(|entry| entry * roots[k]);
        }
    }

    /// y ← Dg^(-1/2) L⁻ᵀ y for columns over the whole tree. `memory` is a scratch buffer.
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

    /// True if it is a single body that is not in soil. Its mass matrix about its centre of mass does not couple
    /// translation and rotation.
    pub(crate) fn is_decoupled(&self) -> bool {
        self.is_single_body() && !self.work.has_damping
    }

    /// Velocity change by whitened impulses: L⁻¹ Dg^(-1/2) w.
    pub(crate) fn velocity_of(&mut self, whitened: &[f64], out: &mut [f64]) {
        for ((out, w), root) in out.iter_mut().zip(whitened).zip(&self.work.root_pivot) {
            *out = w * root;
        }
        self.solve_lower(out);
    }
}

/// Factors the rows of a free root, after all others.
fn factorise_root(topology: &Topology, groups: &mut [[f64; LANES]], pivots: &mut [f64], x: &mut [f64]) {
    let (Some((rows, below)), Some((x, values))) = (groups.split_first_chunk_mut(), x.split_first_chunk_mut()) else {
        return;
    };
    let mut root = RootRows::new(rows, x);
    // The row of a degree of freedom on a free root begins with its coupling to the root.
    let starts = topology.row[ROOT_DOFS..].iter().map(|start| start / LANES - rows.len());
    for ((start, pivot), value) in starts.zip(&pivots[ROOT_DOFS..]).zip(values).rev() {
        root.eliminate(&mut below[start..], *pivot, *value);
    }
    if let Some(pivots) = pivots.first_chunk_mut() {
        *pivots = root.factorise(pivots, rows, x);
    }
}

/// Part of [`Tree::solve_lower`] for a free root.
fn solve_root(factor: &[f64], x: &mut [f64; ROOT_DOFS]) {
    let Some(rows) = factor.first_chunk::<32>() else { return };
    for dof in 0..ROOT_DOFS {
        let row = &rows[LANES * ROOT_ROW_GROUPS[dof]..][..dof];
        x[dof] -= row.iter().zip(&*x).map(|(l, x)| l * x).sum::<f64>();
    }
}

/// Fraction of an inertia below which its remainder is only rounding: each term of the difference has an error of some
/// 1e-16.
const ROUNDING_RATIO: f64 = 1e-14;

/// Reciprocal of the inertia `left` for a degree of freedom if all after it move freely, of this `whole` inertia. If it
/// is only rounding, as for a tiny link between two hinges on one line, it is zero: the motion is undetermined, so the
/// degree of freedom keeps its rate, and the links on it move along.
#[inline(always)]
fn pivot_reciprocal(left: f64, whole: f64) -> f64 {
    if left <= ROUNDING_RATIO * whole { 0.0 } else { 1.0 / left }
}

/// Subtracts a multiple of `own` from `entries`, both of at least `N` groups.
#[inline(always)]
fn subtract_multiple<const N: usize>(entries: &mut [[f64; LANES]], factor: f64, own: &[[f64; LANES]]) {
    for (entries, own) in entries[..N].iter_mut().zip(&own[..N]) {
        for lane in 0..LANES {
            entries[lane] -= factor * own[lane];
        }
    }
}

/// Rows of a free root while they are factored, two entries at a time, and the root's part of x.
struct RootRows {
    rows: [f64x2; 12],
    x: [f64x2; 3],
}

/// Row of each pair of entries, and index of the pair in that row.
const PAIR_POSITIONS: [(usize, usize); 12] =
    [(0, 0), (1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (4, 0), (4, 1), (4, 2), (5, 0), (5, 1), (5, 2)];

impl RootRows {
    #[inline(always)]
    fn new(rows: &[[f64; LANES]; 8], x: &[f64; ROOT_DOFS]) -> Self {
        let two = |row: usize, pair: usize| {
            let group = &rows[ROOT_ROW_GROUPS[row] + pair / 2];
            f64x2::new([group[2 * pair % LANES], group[2 * pair % LANES + 1]])
        };
        Self {
            rows: PAIR_POSITIONS.map(|(row, pair)| two(row, pair)),
            x: [0, 1, 2].map(|pair| f64x2::new([x[2 * pair], x[2 * pair + 1]])),
        }
    }

    /// Subtracts the contribution of a row below with this pivot and this entry of x. The row becomes one of L, and x
    /// one of L⁻ᵀ x.
    #[inline(always)]
    fn eliminate(&mut self, row: &mut [[f64; LANES]], pivot: f64, value: f64) {
        let Some([[a, b, c, d], [e, f, ..]]) = row.first_chunk_mut() else { return };
        let own = [f64x2::new([*a, *b]), f64x2::new([*c, *d]), f64x2::new([*e, *f])];
        let factors = own.map(|entries| entries * pivot);
        let [[g, h], [i, j], [k, l]] = factors.map(f64x2::to_array);
        (*a, *b, *c, *d, *e, *f) = (g, h, i, j, k, l);
        let each = [g, h, i, j, k, l].map(f64x2::splat);
        for (entries, (row, pair)) in self.rows.iter_mut().zip(PAIR_POSITIONS) {
            *entries -= each[row] * own[pair];
        }
        for (x, factors) in self.x.iter_mut().zip(factors) {
            *x -= factors * value;
        }
    }

    /// Factors the rows with this addition to their diagonal, after all others. Returns the reciprocals of the pivots;
    /// x becomes L⁻ᵀ x.
    #[inline(always)]
    fn factorise(
        self,
        diagonal: &[f64; ROOT_DOFS],
        rows: &mut [[f64; LANES]; 8],
        x: &mut [f64; ROOT_DOFS],
    ) -> [f64; ROOT_DOFS] {
        let (mut pivots, mut m) = ([0.0; ROOT_DOFS], [[0.0; ROOT_DOFS]; ROOT_DOFS]);
        for (entries, (row, pair)) in self.rows.iter().zip(PAIR_POSITIONS) {
            m[row][2 * pair..][..2].copy_from_slice(entries.as_array());
        }
        for (x, own) in x.as_chunks_mut::<2>().0.iter_mut().zip(self.x) {
            *x = own.to_array();
        }
        for row in (0..ROOT_DOFS).rev() {
            pivots[row] =
                pivot_reciprocal(m[row][row] + diagonal[row], rows[ROOT_ROW_GROUPS[row] + row / LANES][row % LANES]);
            for k in (0..row).rev() {
                let factor = m[row][k] * pivots[row];
                (0..=k).for_each(|j| m[k][j] -= factor * m[row][j]);
                rows[ROOT_ROW_GROUPS[row] + k / LANES][k % LANES] = factor;
                x[k] -= factor * x[row];
            }
        }
        pivots
    }
}
