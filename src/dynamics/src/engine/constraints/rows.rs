//! Rows of blocks: the relative velocity of two links along given directions, or their relative angular velocity about
//! them, as a linear function of the unknowns of their island.

use std::ops::Range;

use bevy_math::DVec3;
use simpartner_model::Norm;

use super::{island_parts::IslandParts, island_rows::Constraints};
use crate::engine::{
    solvers::problem::Problem,
    state::{addresses::LinkAddress, tree::Tree},
};

/// Size of a row relative to its terms below which it is only rounding: each operation on the way there has an error of
/// some 1e-16.
const ROUNDING_RATIO: f64 = 1e-10;

/// True if a row is only rounding. `row` is the square of the row, `terms` the sum of the squares of its terms.
pub(crate) fn is_rounding(row: f64, terms: f64) -> bool {
    row < ROUNDING_RATIO * ROUNDING_RATIO * terms
}

/// Velocities of three rows: at the end of the step without impulses, and at its start, m/s or rad/s.
pub(super) type Velocities = ([f64; 3], [f64; 3]);

/// Three directions, for velocities of a point along them, or angular velocities about them. Their lengths scale the
/// rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Directions {
    pub(super) vectors: [DVec3; 3],
    pub(super) kind: DirectionKind,
}

/// Meaning of three directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DirectionKind {
    Translations,
    Rotations,
    /// Two translations and one rotation.
    SlidingAndSpinning,
}

impl Directions {
    pub(super) fn translations(vectors: [DVec3; 3]) -> Self {
        Self { vectors, kind: DirectionKind::Translations }
    }

    pub(super) fn rotations(vectors: [DVec3; 3]) -> Self {
        Self { vectors, kind: DirectionKind::Rotations }
    }

    pub(super) fn sliding_and_spinning(vectors: [DVec3; 3]) -> Self {
        Self { vectors, kind: DirectionKind::SlidingAndSpinning }
    }

    fn is_angular(&self, row: usize) -> bool {
        match self.kind {
            DirectionKind::Translations => false,
            DirectionKind::Rotations => true,
            DirectionKind::SlidingAndSpinning => row == 2,
        }
    }
}

/// Squares of the sizes of rows, and of the terms that they are sums of.
#[derive(Default)]
struct RowSize {
    rows: [f64; 3],
    terms: [f64; 3],
}

impl RowSize {
    /// Adds the terms of a link's degrees of freedom.
    fn add_terms(&mut self, tree: &Tree, dofs: &[u32], point: DVec3, directions: &Directions) {
        let reach = (point - tree.work.origin).norm();
        for &dof in dofs {
            let axis = &tree.work.axis[dof as usize];
            let (turn, slide) = (axis.angular().norm(), axis.linear().norm());
            for c in 0..3 {
                let size = if directions.is_angular(c) { turn } else { turn * reach + slide };
                self.terms[c] += size * size * directions.vectors[c].length_squared();
            }
        }
    }

    /// Adds the columns of the rows.
    fn add_columns(&mut self, columns: &[[f64; 4]]) {
        for column in columns {
            (0..3).for_each(|c| self.rows[c] += column[c] * column[c]);
        }
    }

    /// Rows that are zero up to rounding: joints already hold the links in their directions.
    fn redundant_rows(&self) -> impl Iterator<Item = usize> {
        (0..3).filter(|&c| is_rounding(self.rows[c], self.terms[c]))
    }
}

impl Constraints {
    /// Appends the whitened Jacobian of link `b` minus link `a` at a point; `None` is the ground. Inlined, because
    /// passing three vectors through memory would cost waiting time.
    #[inline(always)]
    pub(super) fn add_columns(
        &mut self,
        parts: &IslandParts,
        [a, b]: [Option<LinkAddress>; 2],
        point: DVec3,
        directions: &Directions,
    ) -> Velocities {
        if let (Some(a), Some(b)) = (a, b)
            && a.tree == b.tree
        {
            let tree = &*parts.trees[parts.slots[a.tree]];
            return self.add_columns_within(tree, [Some(a.link), Some(b.link)], point, directions);
        }
        let (mut free, mut before) = ([0.0; 4], [0.0; 4]);
        let begin = self.problem.columns.len();
        let (mut size, mut floats) = (RowSize::default(), false);
        for (side, sign) in [a, b].into_iter().zip([-1.0, 1.0]) {
            // A fixed side belongs to no island; its columns would be empty.
            let Some((side, tree)) = side.and_then(|side| Some((side, parts.tree(side)?))) else { continue };
            if tree.is_decoupled() {
                floats = true;
                self.add_columns_of_body(tree, point, directions, sign, [&mut free, &mut before]);
                continue;
            }
            let Some(chain) = tree.chain_of(side.link) else { continue };
            let columns = &mut self.problem.columns;
            let start = columns.len();
            add_jacobian(tree, chain.clone(), point, directions, sign, columns);
            let (dofs, base) = (&tree.topology.chain[chain.clone()], to_index(tree.work.base));
            // The links of a floating tree can move in any direction.
            if floats || tree.is_floating() {
                floats = true;
            } else {
                size.add_terms(tree, dofs, point, directions);
                size.add_columns(&columns[start..]);
            }
            self.problem.index.extend(dofs.iter().map(|dof| base + dof));
            let columns = &mut columns[start..];
            add_velocities([&mut free, &mut before], columns, dofs, [&tree.work.v_free, &tree.state.v]);
            tree.whiten_chain(chain.start, columns);
        }
        for c in size.redundant_rows().filter(|_| !floats) {
            self.problem.columns[begin..].iter_mut().for_each(|column| column[c] = 0.0);
            (free[c], before[c]) = (0.0, 0.0);
        }
        ([free[0], free[1], free[2]], [before[0], before[1], before[2]])
    }

    /// Appends the columns of a single body, and adds its velocities along the rows.
    fn add_columns_of_body(
        &mut self,
        tree: &Tree,
        point: DVec3,
        directions: &Directions,
        sign: f64,
        [free, before]: [&mut [f64; 4]; 2],
    ) {
        let mut columns = root_columns(&unit_wrenches(tree, point, directions, sign));
        let base = to_index(tree.work.base);
        let rates = [&tree.work.v_free, &tree.state.v].map(|v| v.first_chunk::<6>());
        if let [Some(v_free), Some(v)] = rates {
            for ((column, v_free), v) in columns.iter().zip(v_free).zip(v) {
                for c in 0..3 {
                    free[c] += column[c] * v_free;
                    before[c] += column[c] * v;
                }
            }
        }
        tree.whiten_body(&mut columns);
        self.problem.columns.extend_from_slice(&columns);
        self.problem.index.extend_from_slice(&[base, base + 1, base + 2, base + 3, base + 4, base + 5]);
    }

    /// Appends the whitened Jacobian between two links of one tree: columns over the whole tree. `None` is a fixed
    /// link.
    pub(super) fn add_columns_within(
        &mut self,
        tree: &Tree,
        links: [Option<usize>; 2],
        point: DVec3,
        directions: &Directions,
    ) -> Velocities {
        let (mut free, mut before) = ([0.0; 3], [0.0; 3]);
        let columns = &mut self.problem.columns;
        let start = columns.len();
        columns.resize(start + tree.topology.freedom, [0.0; 4]);
        let mut size = RowSize::default();
        for (link, sign) in links.into_iter().zip([-1.0, 1.0]) {
            let Some(chain) = link.and_then(|link| tree.chain_of(link)) else { continue };
            self.scratch.clear();
            add_jacobian(tree, chain.clone(), point, directions, sign, &mut self.scratch);
            let dofs = &tree.topology.chain[chain];
            size.add_terms(tree, dofs, point, directions);
            for (column, &dof) in self.scratch.iter().zip(dofs) {
                (0..3).for_each(|c| columns[start + dof as usize][c] += column[c]);
            }
        }
        size.add_columns(&columns[start..]);
        for c in size.redundant_rows() {
            columns[start..].iter_mut().for_each(|column| column[c] = 0.0);
        }
        for dof in 0..tree.topology.freedom {
            let column = &columns[start + dof];
            for c in 0..3 {
                free[c] += column[c] * tree.work.v_free[dof];
                before[c] += column[c] * tree.state.v[dof];
            }
            self.problem.index.push(to_index(tree.work.base + dof));
        }
        tree.whiten_all(&mut columns[start..], &mut self.forces);
        (free, before)
    }

    /// Appends the whitened row with these entries for the last degrees of freedom of the chain that ends with `dof`;
    /// all before are zero.
    pub(super) fn add_coordinate(&mut self, tree: &Tree, dof: usize, entries: &[f64]) {
        add_coordinate(&mut self.problem, tree, dof, entries);
    }
}

/// Appends this row to the columns of a problem.
pub(super) fn add_coordinate(problem: &mut Problem, tree: &Tree, dof: usize, entries: &[f64]) {
    let (start, row, depth) = (problem.columns.len(), tree.topology.row[dof], tree.topology.depth[dof]);
    let first = depth + 1 - entries.len();
    let zeros = std::iter::repeat_n(&0.0, first);
    problem.columns.extend(zeros.chain(entries).map(|&entry| [entry, 0.0, 0.0, 0.0]));
    let chain = &tree.topology.chain[row..=row + depth];
    problem.index.extend(chain.iter().map(|dof| to_index(tree.work.base) + dof));
    tree.whiten_chain(row, &mut problem.columns[start..]);
}

/// Adds the velocities along rows over these degrees of freedom to two sums, for both of the rates `v`.
#[inline]
fn add_velocities([sum, other]: [&mut [f64; 4]; 2], columns: &[[f64; 4]], dofs: &[u32], v: [&[f64]; 2]) {
    let (mut own, mut second) = (*sum, *other);
    for (column, &dof) in columns.iter().zip(dofs) {
        let rates = v.map(|v| v[dof as usize]);
        for c in 0..4 {
            own[c] += column[c] * rates[0];
            second[c] += column[c] * rates[1];
        }
    }
    (*sum, *other) = (own, second);
}

/// Unit wrenches about the origin of a tree, `[forces, moments]`: their products with a twist are the velocities of the
/// point, or of the link, in the three directions.
fn unit_wrenches(tree: &Tree, point: DVec3, &Directions { vectors, kind }: &Directions, sign: f64) -> [[DVec3; 3]; 2] {
    let (lever, vectors) = (point - tree.work.origin, vectors.map(|vector| vector * sign));
    let moments = || vectors.map(|direction| lever.cross(direction));
    match kind {
        DirectionKind::Translations => [vectors, moments()],
        DirectionKind::Rotations => [[DVec3::ZERO; 3], vectors],
        DirectionKind::SlidingAndSpinning => {
            let [first, second, spin] = vectors;
            let [one, two, _] = moments();
            [[first, second, DVec3::ZERO], [one, two, spin]]
        }
    }
}

/// Rows of these wrenches over the degrees of freedom of a free root, whose axes are unit vectors.
fn root_columns(&[[a, b, c], [u, v, w]]: &[[DVec3; 3]; 2]) -> [[f64; 4]; 6] {
    [
        [a.x, b.x, c.x, 0.0],
        [a.y, b.y, c.y, 0.0],
        [a.z, b.z, c.z, 0.0],
        [u.x, v.x, w.x, 0.0],
        [u.y, v.y, w.y, 0.0],
        [u.z, v.z, w.z, 0.0],
    ]
}

/// Appends the rows of the three directions over a chain of degrees of freedom.
fn add_jacobian(
    tree: &Tree,
    chain: Range<usize>,
    point: DVec3,
    directions: &Directions,
    sign: f64,
    out: &mut Vec<[f64; 4]>,
) {
    let wrenches @ [forces, moments] = unit_wrenches(tree, point, directions, sign);
    let mut dofs = &tree.topology.chain[chain];
    if tree.is_floating() {
        out.extend_from_slice(&root_columns(&wrenches));
        dofs = &dofs[6..];
    }
    out.extend(dofs.iter().map(|&dof| {
        let axis = &tree.work.axis[dof as usize];
        let along = |row: usize| axis.angular().dot(moments[row]) + axis.linear().dot(forces[row]);
        [along(0), along(1), along(2), 0.0]
    }));
}

/// Index of an unknown, as the problem stores it.
pub(super) fn to_index(place: usize) -> u32 {
    u32::try_from(place).expect("an island has fewer unknowns than a u32 counts")
}
