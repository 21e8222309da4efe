//! The factor of a tree's mass matrix, M = Lᵀ D L without fill-in (Featherstone 2005; 2008, chapter 6), and what is solved with it: changes of
//! velocity, and the columns of constraints, which it whitens.

use super::tree::{LANES, LinkJoint, Topology, Tree};

/// Degrees of freedom of a free root, the first of them that turns it, and the first group of entries of each of its rows.
const ROOT: usize = 6;
const TURN: usize = 3;
const FIRST: [usize; ROOT] = [0, 1, 2, 3, 4, 6];

impl Tree {
    /// Factors M, or M plus a diagonal and what else resists, as Lᵀ D L and takes x to L⁻ᵀ x on the way. There is no fill-in. Each ancestor's row is updated
    /// over contiguous memory, in whole groups: what lies behind its diagonal is never read.
    pub(super) fn factorise(&mut self, diagonal: Option<&[f64]>, x: &mut [f64]) {
        let (topology, work) = (&self.topology, &mut self.work);
        work.factor.copy_from_slice(&work.mass);
        if work.resists && diagonal.is_some() {
            work.factor.iter_mut().zip(&work.resistance).for_each(|(entry, more)| *entry += more);
        }
        let free = topology.links[0].joint == LinkJoint::Free;
        let first = topology.free_axes();
        let (chains, numbers) = (&topology.chain[..], &topology.rows[..]);
        let (pivots, roots) = (&mut work.pivot[..], &mut work.root_pivot[..]);
        let groups = work.factor.as_chunks_mut::<LANES>().0;
        for dof in (first..topology.freedom).rev() {
            let (start, depth) = (topology.row[dof], topology.depth[dof]);
            // All ancestors' rows stand before this one.
            let (above, row) = groups.split_at_mut(start / LANES);
            let (chain, rows) = (&chains[start..start + depth], &numbers[start..start + depth]);
            let pivot = 1.0 / (row[depth / LANES][depth % LANES] + diagonal.map_or(0.0, |diagonal| diagonal[dof]));
            pivots[dof] = pivot;
            let value = x[dof];
            // What hangs on a free root has all of it above, in rows that stand at known places.
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
            if free {
                let (entries, x) = (above.first_chunk_mut(), x.first_chunk_mut());
                if let (Some(entries), Some(own), Some(x)) = (entries, row.first_chunk_mut(), x) {
                    eliminate_root(entries, own, pivot, value, x);
                }
            }
        }
        if free && let (Some(rows), Some(x)) = (groups.first_chunk_mut(), x.first_chunk_mut()) {
            let diagonal = diagonal.and_then(|diagonal| diagonal.first_chunk()).unwrap_or(&[0.0; ROOT]);
            pivots[..ROOT].copy_from_slice(&factorise_root(rows, diagonal, x));
        }
        roots.iter_mut().zip(&*pivots).for_each(|(root, pivot)| *root = pivot.sqrt());
    }

    /// x ← (M + h D)⁻¹ x, after [`Tree::factorise`].
    pub(super) fn solve(&self, x: &mut [f64]) {
        let (topology, factor) = (&self.topology, &self.work.factor);
        for dof in (0..topology.freedom).rev() {
            let (start, depth, value) = (topology.row[dof], topology.depth[dof], x[dof]);
            let row = &factor[start..start + depth];
            for (&ancestor, l) in topology.chain[start..start + depth].iter().zip(row) {
                x[ancestor as usize] -= l * value;
            }
        }
        for (x, pivot) in x.iter_mut().zip(&self.work.pivot) {
            *x *= pivot;
        }
        self.solve_lower(x);
    }

    /// x ← L⁻¹ x.
    pub(super) fn solve_lower(&self, x: &mut [f64]) {
        let (topology, factor, apart) = (&self.topology, &self.work.factor, self.moves_apart());
        let (x, mut first) = (&mut x[..topology.freedom], 0);
        if topology.links[0].joint == LinkJoint::Free && topology.links.len() > 1 {
            solve_root(topology, factor, x);
            first = ROOT;
        }
        for dof in first..topology.freedom {
            let (start, depth) = (topology.row[dof], topology.depth[dof]);
            let (chain, row) = (&topology.chain[start..start + depth], &factor[start..start + depth]);
            let mut sum = x[dof];
            let mut from = if apart { dof.min(TURN) } else { 0 };
            if let (ROOT, Some(x), Some(l)) = (first, x.first_chunk::<ROOT>(), row.first_chunk::<ROOT>()) {
                sum -= l[0] * x[0] + l[1] * x[1] + l[2] * x[2] + l[3] * x[3] + l[4] * x[4] + l[5] * x[5];
                from = ROOT;
            }
            for (&ancestor, l) in chain[from..].iter().zip(&row[from..]) {
                sum -= l * x[ancestor as usize];
            }
            x[dof] = sum;
        }
    }

    /// y ← D^(-1/2) L⁻ᵀ y for columns that live on the chain that starts at `start`: they stay on it.
    pub(super) fn whiten_chain(&self, start: usize, columns: &mut [[f64; LANES]]) {
        // A loop of known length is a straight run of operations on whole columns.
        match columns.len() {
            6 => self.whiten_columns::<6>(start, columns),
            7 => self.whiten_columns::<7>(start, columns),
            8 => self.whiten_columns::<8>(start, columns),
            9 => self.whiten_columns::<9>(start, columns),
            10 => self.whiten_columns::<10>(start, columns),
            _ => self.whiten_columns::<0>(start, columns),
        }
    }

    /// The same for `N` columns, or any number if `N` is 0.
    #[inline(always)]
    fn whiten_columns<const N: usize>(&self, start: usize, columns: &mut [[f64; LANES]]) {
        let count = if N == 0 { columns.len() } else { N };
        let columns = &mut columns[..count];
        let (chain, rows) = (&self.topology.chain[start..start + count], &self.topology.rows[start..start + count]);
        let (factor, roots) = (&self.work.factor[..], &self.work.root_pivot[..]);
        for k in (0..count).rev() {
            let (own, row) = (columns[k], &factor[rows[k] as usize..][..k]);
            for j in 0..k {
                for c in 0..LANES {
                    columns[j][c] -= row[j] * own[c];
                }
            }
            let root = roots[chain[k] as usize];
            for c in 0..LANES {
                columns[k][c] = own[c] * root;
            }
        }
    }

    /// The same for all columns of a single body, whose linear and angular motions have nothing to do with each other.
    pub(super) fn whiten_body(&self, columns: &mut [[f64; LANES]; ROOT]) {
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

    /// y ← D^(-1/2) L⁻ᵀ y for columns over the whole tree.
    pub(super) fn whiten_all(&self, columns: &mut [[f64; 4]]) {
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

    /// Whether it is a single body in no soil, whose mass matrix about its own centre of mass couples nothing that moves it with what turns it.
    pub(super) fn moves_apart(&self) -> bool {
        self.is_single() && !self.work.resists
    }

    /// The change of velocity that whitened impulses bring: L⁻¹ D^(-1/2) w.
    pub(super) fn velocity_of(&self, whitened: &[f64], out: &mut [f64]) {
        for ((out, w), root) in out.iter_mut().zip(whitened).zip(&self.work.root_pivot) {
            *out = w * root;
        }
        self.solve_lower(out);
    }
}

/// The part of [`Tree::solve_lower`] that is a free root's.
fn solve_root(topology: &Topology, factor: &[f64], x: &mut [f64]) {
    for dof in 0..ROOT {
        let row = &factor[topology.row[dof]..][..dof];
        x[dof] -= row.iter().zip(&*x).map(|(l, x)| l * x).sum::<f64>();
    }
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

/// The rows of a free root less what a row below it takes from them; the row becomes one of L, and x one of L⁻ᵀ x.
#[inline(always)]
fn eliminate_root(
    entries: &mut [[f64; LANES]; 8],
    own: &mut [[f64; LANES]; 2],
    pivot: f64,
    value: f64,
    x: &mut [f64; ROOT],
) {
    let [[a, b, c, d], [e, f, ..]] = *own;
    let factors = [a, b, c, d, e, f].map(|entry| entry * pivot);
    // Which row each group of entries belongs to, and which group of it that is.
    const GROUPS: [(usize, usize); 8] = [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (4, 1), (5, 0), (5, 1)];
    for (entries, (row, group)) in entries.iter_mut().zip(GROUPS) {
        for lane in 0..LANES {
            entries[lane] -= factors[row] * own[group][lane];
        }
    }
    own[0].copy_from_slice(&factors[..LANES]);
    own[1][..2].copy_from_slice(&factors[LANES..]);
    for (x, factor) in x.iter_mut().zip(factors) {
        *x -= factor * value;
    }
}

/// Factors the rows of a free root, to whose diagonal this is added, after all others. Returns the reciprocals of the pivots; x becomes L⁻ᵀ x.
fn factorise_root(rows: &mut [[f64; LANES]; 8], diagonal: &[f64; ROOT], x: &mut [f64; ROOT]) -> [f64; ROOT] {
    let mut pivots = [0.0; ROOT];
    let mut m = [[0.0; ROOT]; ROOT];
    for row in 0..ROOT {
        (0..=row).for_each(|k| m[row][k] = rows[FIRST[row] + k / LANES][k % LANES]);
    }
    for row in (0..ROOT).rev() {
        pivots[row] = 1.0 / (m[row][row] + diagonal[row]);
        for k in (0..row).rev() {
            let factor = m[row][k] * pivots[row];
            (0..=k).for_each(|j| m[k][j] -= factor * m[row][j]);
            rows[FIRST[row] + k / LANES][k % LANES] = factor;
            x[k] -= factor * x[row];
        }
    }
    pivots
}
