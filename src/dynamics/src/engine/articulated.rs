//! The equations of motion of a tree, M(q) dv/dt + b(q, v) = tau: composite rigid bodies for M, recursive Newton-Euler for b
//! and for the joint reactions, M = Lᵀ D L (Featherstone 2008, chapters 5, 6 and 8).

use bevy_math::DVec3;

use super::{
    spatial::{Spatial, SpatialInertia},
    tree::{LANES, Link, LinkJoint, LinkWork, Topology, Tree},
};

/// Degrees of freedom of a free root, the first of them that turns it, and the first group of entries of each of its rows.
const ROOT: usize = 6;
const TURN: usize = 3;
const FIRST: [usize; ROOT] = [0, 1, 2, 3, 4, 6];

impl Tree {
    /// Where the links are at the present coordinates, their axes, and how they move at the velocity `work.bias_velocity`: all
    /// that is needed to see what they touch.
    pub(super) fn set_motion(&mut self) {
        let (topology, state, work) = (&self.topology, &self.state, &mut self.work);
        let origin = state.root_position;
        work.origin = origin;
        let (links, axes, v) = (&mut work.links[..], &mut work.axis[..], &work.bias_velocity[..]);
        for (index, link) in topology.links.iter().enumerate() {
            let (before, rest) = links.split_at_mut(index);
            let (own, parent) = (&mut rest[0], link.parent.map(|parent| &before[parent]));
            own.place(link, parent, state);
            let relative = own.set_axes(link, parent, origin, axes, v);
            own.velocity = match parent {
                Some(parent) => parent.velocity + relative,
                None => relative,
            };
        }
        self.place_pushes();
    }

    /// The equations of motion there, after [`Tree::set_motion`], in one pass from the root outwards and one back: link
    /// inertias, the mass matrix by the composite-rigid-body algorithm, and the bias by recursive Newton-Euler without
    /// acceleration. Leaves in `work.force` what each link's joint transmits for the bias.
    pub(super) fn set_equations(&mut self, gravity: DVec3) {
        // A single body keeps its angular momentum while it drifts.
        let single = self.is_single();
        let (topology, work) = (&self.topology, &mut self.work);
        let origin = work.origin;
        let (links, axes, v) = (&mut work.links[..], &work.axis[..], &work.bias_velocity[..]);
        for (index, link) in topology.links.iter().enumerate() {
            let (before, rest) = links.split_at_mut(index);
            let (own, parent) = (&mut rest[0], link.parent.map(|parent| &before[parent]));
            let inertia = SpatialInertia::new(link.mass, link.principal, own.position - origin, &own.matrix);
            (own.inertia, own.composite) = (inertia, inertia);
            own.set_bias_force(link, parent, axes, v, gravity, single);
        }
        let (bias, mass) = (&mut work.bias[..], &mut work.mass[..]);
        for (index, link) in topology.links.iter().enumerate().rev() {
            let (before, rest) = links.split_at_mut(index);
            let own = &rest[0];
            project(link, own.force, axes, bias);
            set_mass_rows(&own.composite, link, topology, axes, mass);
            if let Some(parent) = link.parent {
                before[parent].force += own.force;
                before[parent].composite += own.composite;
            }
        }
    }

    /// The bias alone, at another velocity than [`Tree::set_motion`] took, which the links then have.
    pub(super) fn set_bias(&mut self, gravity: DVec3) {
        let single = self.is_single();
        let (topology, work) = (&self.topology, &mut self.work);
        for (index, link) in topology.links.iter().enumerate() {
            let (before, rest) = work.links.split_at_mut(index);
            let (own, parent) = (&mut rest[0], link.parent.map(|parent| &before[parent]));
            own.velocity = moving(link, parent, &work.axis, &work.bias_velocity);
            own.set_bias_force(link, parent, &work.axis, &work.bias_velocity, gravity, single);
        }
        for (index, link) in topology.links.iter().enumerate().rev() {
            let force = work.links[index].force;
            project(link, force, &work.axis, &mut work.bias);
            if let Some(parent) = link.parent {
                work.links[parent].force += force;
            }
        }
    }

    /// Adds to `work.force`, which holds what the joints transmit for the bias, what they transmit for an acceleration, less
    /// the external forces: the equations are linear in both.
    pub(super) fn add_to_forces(&mut self, acceleration: &[f64]) {
        let (topology, links, axes) = (&self.topology, &mut self.work.links[..], &self.work.axis[..]);
        for (index, link) in topology.links.iter().enumerate() {
            let (before, rest) = links.split_at_mut(index);
            let (own, parent) = (&mut rest[0], link.parent.map(|parent| &before[parent]));
            own.acceleration = match (parent, link.joint) {
                (None, LinkJoint::Free) => Self::root_motion(acceleration),
                (None, _) => Spatial::ZERO,
                (Some(parent), _) => parent.acceleration + relative(link, axes, acceleration),
            };
            own.external = own.inertia.times(own.acceleration) - own.external;
        }
        for (index, link) in topology.links.iter().enumerate().rev() {
            let force = links[index].external;
            links[index].force += force;
            if let Some(parent) = link.parent {
                links[parent].external += force;
            }
        }
    }

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
        if self.moves_apart() {
            return self.solve_apart(x);
        }
        let (topology, factor) = (&self.topology, &self.work.factor);
        let (x, mut first) = (&mut x[..topology.freedom], 0);
        if topology.links[0].joint == LinkJoint::Free && topology.links.len() > 1 {
            solve_root(topology, factor, x);
            first = ROOT;
        }
        for dof in first..topology.freedom {
            let (start, depth) = (topology.row[dof], topology.depth[dof]);
            let (chain, row) = (&topology.chain[start..start + depth], &factor[start..start + depth]);
            let mut sum = x[dof];
            let mut from = 0;
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

/// The motion of a link relative to its parent.
#[inline(always)]
fn relative(link: &Link, axes: &[Spatial], v: &[f64]) -> Spatial {
    let along = |dof: usize| axes[dof] * v[dof];
    match link.joint {
        LinkJoint::Revolute(_) | LinkJoint::Prismatic(_) => along(link.dof),
        LinkJoint::Spherical { .. } => along(link.dof) + along(link.dof + 1) + along(link.dof + 2),
        LinkJoint::Free | LinkJoint::Weld => Spatial::ZERO,
    }
}

/// The velocity of a link, from that of the one it hangs on.
#[inline(always)]
fn moving(link: &Link, parent: Option<&LinkWork>, axes: &[Spatial], v: &[f64]) -> Spatial {
    match (parent, link.joint) {
        (None, LinkJoint::Free) => Tree::root_motion(v),
        (None, _) => Spatial::ZERO,
        (Some(parent), _) => parent.velocity + relative(link, axes, v),
    }
}

/// The components along a link's degrees of freedom of its force, which holds those of all links beyond.
#[inline(always)]
fn project(link: &Link, force: Spatial, axes: &[Spatial], out: &mut [f64]) {
    match link.joint {
        LinkJoint::Free => {
            out[..3].copy_from_slice(force.linear.as_ref());
            out[3..6].copy_from_slice(force.angular.as_ref());
        }
        LinkJoint::Weld => {}
        LinkJoint::Revolute(_) | LinkJoint::Prismatic(_) => out[link.dof] = axes[link.dof].dot(force),
        LinkJoint::Spherical { .. } => (link.dof..link.dof + 3).for_each(|dof| out[dof] = axes[dof].dot(force)),
    }
}

impl LinkWork {
    /// Its part of the bias at its velocity: its acceleration under gravity and none of its joint, and the force on it.
    #[inline(always)]
    fn set_bias_force(
        &mut self,
        link: &Link,
        parent: Option<&Self>,
        axes: &[Spatial],
        v: &[f64],
        gravity: DVec3,
        single: bool,
    ) {
        let velocity = self.velocity;
        let acceleration = match (parent, link.joint) {
            // The root's rates are those of a moving point.
            (None, LinkJoint::Free) => Spatial::new(DVec3::ZERO, -gravity - velocity.angular.cross(velocity.linear)),
            (None, _) => Spatial::new(DVec3::ZERO, -gravity),
            (Some(parent), _) => parent.acceleration + parent.velocity.cross_motion(relative(link, axes, v)),
        };
        self.acceleration = acceleration;
        self.force = if single {
            Spatial::new(DVec3::ZERO, -gravity * link.mass)
        } else {
            self.inertia.times(acceleration) + velocity.cross_force(self.inertia.times(velocity))
        } - self.push;
    }
}

/// The rows of the mass matrix of a link's degrees of freedom, from the inertia of all that they move.
#[inline(always)]
fn set_mass_rows(composite: &SpatialInertia, link: &Link, topology: &Topology, axes: &[Spatial], mass: &mut [f64]) {
    if link.joint == LinkJoint::Free {
        for (dof, entries) in composite.matrix().iter().enumerate() {
            let row = topology.row[dof];
            mass[row..=row + dof].copy_from_slice(&entries[..=dof]);
        }
        return;
    }
    let free = topology.links[0].joint == LinkJoint::Free;
    for dof in link.dof..link.dof + link.joint.freedom() {
        let force = composite.times(axes[dof]);
        let (row, depth) = (topology.row[dof], topology.depth[dof]);
        let (entries, chain) = (&mut mass[row..=row + depth], &topology.chain[row..=row + depth]);
        let mut first = 0;
        if free {
            // The free root's axes are unit vectors.
            entries[..3].copy_from_slice(force.linear.as_ref());
            entries[3..6].copy_from_slice(force.angular.as_ref());
            first = 6;
        }
        for (entry, &ancestor) in entries[first..].iter_mut().zip(&chain[first..]) {
            *entry = axes[ancestor as usize].dot(force);
        }
        entries[depth] += topology.laws[dof].armature;
    }
}
