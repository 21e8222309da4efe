//! Factor of a long tree's mass matrix, whose cost is linear in the number of links.
//!
//! The packed rows of [`super`] hold an entry for each ancestor of each degree of freedom: for a chain of n links n² of
//! them, which cost n³ to factor. The same M = Lᵀ Dg L follows from articulated-body inertias (Featherstone 2008, 7.3;
//! Rodriguez, Jain and Kreutz-Delgado 1991), from the leaves to the root:
//!
//! ```text
//! U_i = I_i s_i,   d_i = s_i · U_i + (rotor and damping),   g_i = U_i / d_i
//! I_parent += I_i - U_i g_iᵀ
//! u = L⁻ᵀ x:  u_i = x_i - s_i · p_i,   p_parent += p_i + g_i u_i      from the leaves to the root
//! a = L⁻¹ w:  a_i = w_i - g_i · A_parent,   A_i = A_parent + s_i a_i   from the root to the leaves
//! ```
//!
//! Inertias and axes are about the joint's own origin, in world axes: far from the common point of the tree, the
//! inertia of a small link would be the difference of large numbers.

use bevy_math::DVec3;

use super::{LANES, pivot_reciprocal};
use crate::engine::{
    algebra::spatial::{Spatial, SpatialInertia},
    state::{
        link::LinkJoint,
        tree::Tree,
        workspace::{LongRow, LongTree},
    },
};

/// A spatial force about another point, from which its own point is at `lever`.
#[inline(always)]
fn force_shifted(force: Spatial, lever: DVec3) -> Spatial {
    Spatial::new(force.angular() + lever.cross(force.linear()), force.linear())
}

impl Tree {
    /// [`Tree::factorise`] of a long tree.
    pub(super) fn factorise_long(&mut self, diagonal: Option<&[f64]>, x: &mut [f64]) {
        self.begin_long();
        let LongTree { inertias, forces, resistances, .. } = &mut self.work.long;
        for (link, resistance) in resistances.iter().filter(|_| diagonal.is_some()) {
            inertias[*link] += resistance.shifted(self.work.origin - self.work.links[*link].anchor);
        }
        forces.fill(Spatial::ZERO);
        self.eliminate(diagonal, x);
    }

    /// x ← M⁻¹ (x - b) of a long tree, from efforts to accelerations, at the pose and velocity of [`Tree::set_motion`],
    /// without external wrenches.
    pub(crate) fn accelerate_long(&mut self, gravity: DVec3, x: &mut [f64]) {
        self.begin_long();
        self.set_bias_forces(gravity);
        self.eliminate(None, x);
        self.solve_rest(x);
    }

    /// Sets the axes and levers of the rows, and the inertias of single links.
    fn begin_long(&mut self) {
        let (topology, work) = (&self.topology, &mut self.work);
        let LongTree { rows, inertias, forces, motions, .. } = &mut work.long;
        rows.resize(topology.freedom, LongRow::default());
        forces.resize(topology.links.len(), Spatial::ZERO);
        motions.resize(topology.links.len().max(topology.freedom), Spatial::ZERO);
        inertias.clear();
        for (index, link) in topology.links.iter().enumerate() {
            let own = &work.links[index];
            let inertia = SpatialInertia::new(link.mass, link.principal, own.position - own.anchor, &own.matrix);
            inertias.push(inertia.articulated());
            let before = link.parent.and_then(|parent| topology.leaf[parent]);
            for dof in link.dof..link.dof + link.joint.freedom() {
                let axis = work.axis[dof];
                let axis = match link.joint {
                    LinkJoint::Revolute(_) | LinkJoint::Spherical { .. } => Spatial::new(axis.angular(), DVec3::ZERO),
                    LinkJoint::Prismatic(_) | LinkJoint::Free | LinkJoint::Weld => axis,
                };
                let (parent, lever) = match before {
                    _ if dof > link.dof => (dof - 1, DVec3::ZERO),
                    Some(parent) => (parent, own.anchor - work.links[topology.mover[parent]].anchor),
                    None => (dof, DVec3::ZERO),
                };
                rows[dof] = LongRow { axis, parent, lever, ..rows[dof] };
            }
        }
    }

    /// Sets the forces that move the links as gravity and their velocities do while no joint accelerates (Featherstone
    /// 2008, 5.3).
    fn set_bias_forces(&mut self, gravity: DVec3) {
        let (topology, work) = (&self.topology, &mut self.work);
        let LongTree { inertias, forces, motions, .. } = &mut work.long;
        for (index, link) in topology.links.iter().enumerate() {
            let own = &work.links[index];
            let spin = own.velocity.angular();
            let motion = match link.parent {
                None => Spatial::new(DVec3::ZERO, -gravity),
                Some(parent) => {
                    let (before, motion) = (&work.links[parent], motions[parent]);
                    let (lever, turn) = (own.anchor - before.anchor, before.velocity.angular());
                    let mut linear = motion.at(lever) + turn.cross(turn.cross(lever));
                    if let LinkJoint::Prismatic(_) = link.joint {
                        linear += turn.cross(work.axis[link.dof].linear()) * (2.0 * work.bias_velocity[link.dof]);
                    }
                    Spatial::new(motion.angular() + turn.cross(spin), linear)
                }
            };
            motions[index] = motion;
            let centre = own.position - own.anchor;
            let turning =
                Spatial::new(spin.cross(inertias[index].angular * spin), spin.cross(spin.cross(centre)) * link.mass);
            forces[index] = inertias[index].times(motion) + turning;
        }
    }

    /// Factors the matrix from the leaves to the root, and replaces x by L⁻ᵀ (x - f), with the components f of the
    /// links' forces along the axes.
    fn eliminate(&mut self, diagonal: Option<&[f64]>, x: &mut [f64]) {
        let (topology, work) = (&self.topology, &mut self.work);
        let LongTree { rows, inertias, forces, .. } = &mut work.long;
        for (index, link) in topology.links.iter().enumerate().rev() {
            let (mut inertia, mut force) = (inertias[index], forces[index]);
            for dof in (link.dof..link.dof + link.joint.freedom()).rev() {
                let row = &mut rows[dof];
                let response = match link.joint {
                    LinkJoint::Revolute(_) | LinkJoint::Spherical { .. } => inertia.times_turn(row.axis.angular()),
                    _ => inertia.times(row.axis),
                };
                let rotor = topology.laws[dof].armature;
                let left = row.axis.dot(response) + rotor + diagonal.map_or(0.0, |more| more[dof]);
                let pivot = pivot_reciprocal(left, inertia.size_along(row.axis) + rotor);
                row.gain = response * pivot;
                inertia.subtract(response, row.gain);
                (work.pivot[dof], work.root_pivot[dof]) = (pivot, pivot.sqrt());
                x[dof] -= row.axis.dot(force);
                force += row.gain * x[dof];
            }
            if let Some(parent) = link.parent {
                let lever = work.links[index].anchor - work.links[parent].anchor;
                inertias[parent] += inertia.shifted(lever);
                forces[parent] += force_shifted(force, lever);
            }
        }
    }

    /// x ← L⁻ᵀ x of a long tree, after [`Tree::factorise`].
    pub(super) fn solve_upper_long(&mut self, x: &mut [f64]) {
        let LongTree { rows, motions: forces, .. } = &mut self.work.long;
        forces.fill(Spatial::ZERO);
        for (dof, row) in rows.iter().enumerate().rev() {
            x[dof] -= row.axis.dot(forces[dof]);
            if row.parent < dof {
                let force = forces[dof] + row.gain * x[dof];
                forces[row.parent] += force_shifted(force, row.lever);
            }
        }
    }

    /// [`Tree::solve_lower`] of a long tree.
    pub(super) fn solve_lower_long(&mut self, x: &mut [f64]) {
        let LongTree { rows, motions, .. } = &mut self.work.long;
        for (dof, row) in rows.iter().enumerate() {
            let mut motion = if row.parent < dof { motions[row.parent].shifted(row.lever) } else { Spatial::ZERO };
            x[dof] -= row.gain.dot(motion);
            motion += row.axis * x[dof];
            motions[dof] = motion;
        }
    }

    /// [`Tree::whiten_chain`] of a long tree.
    pub(super) fn whiten_chain_long(&self, start: usize, columns: &mut [[f64; LANES]]) {
        let mut forces = [Spatial::ZERO; LANES];
        for (column, &dof) in columns.iter_mut().zip(&self.topology.chain[start..]).rev() {
            let (row, root) = (&self.work.long.rows[dof as usize], self.work.root_pivot[dof as usize]);
            for (entry, force) in column.iter_mut().zip(&mut forces) {
                *entry -= row.axis.dot(*force);
                *force = force_shifted(*force + row.gain * *entry, row.lever);
                *entry *= root;
            }
        }
    }

    /// [`Tree::whiten_all`] of a long tree.
    pub(super) fn whiten_all_long(&self, columns: &mut [[f64; LANES]], forces: &mut Vec<[Spatial; LANES]>) {
        forces.clear();
        forces.resize(columns.len(), [Spatial::ZERO; LANES]);
        for (dof, (row, root)) in self.work.long.rows.iter().zip(&self.work.root_pivot).enumerate().rev() {
            for lane in 0..LANES {
                let (entry, force) = (&mut columns[dof][lane], forces[dof][lane]);
                *entry -= row.axis.dot(force);
                if row.parent < dof {
                    forces[row.parent][lane] += force_shifted(force + row.gain * *entry, row.lever);
                }
                *entry *= root;
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use bevy_math::DQuat;
    use simpartner_model::{
        Axis, Body, BodyId, FreeAxis, Joint, JointKind, Mechanism, Placed, Pose, Robot, RobotId, Shape, random::Stream,
    };

    use super::*;
    use crate::engine::{
        algebra::spatial::rotation_by,
        equations::damping::{DampedWrench, Symmetric},
        interface::build,
    };

    const GRAVITY: DVec3 = DVec3::new(0.3, -9.81, 0.2);

    impl Tree {
        /// Forces the factor of a long tree, or that of a short one.
        pub(crate) fn force_factor(&mut self, long: bool) {
            self.topology.squares = if long { usize::MAX } else { 0 };
            self.resize_buffers();
        }
    }

    /// A random tree of boxes: branches, all kinds of joints, springs, dampers and rotors; its root is free or fixed.
    /// With loop joints on request.
    pub(crate) fn mechanism(random: &mut Stream, links: usize, closes: bool) -> Mechanism {
        let robot = Some(RobotId::new(0));
        let mut mechanism = Mechanism { gravity: GRAVITY, ..Mechanism::default() };
        mechanism.robots =
            vec![Robot { name: "robot".into(), model: "robot".into(), self_collision: false, source: String::new() }];
        let fixed = random.happens(0.5);
        for index in 0..links {
            let size = DVec3::new(random.between(0.05, 0.2), random.between(0.05, 0.2), random.between(0.05, 0.2));
            let parent = index.saturating_sub(if random.happens(0.7) { 1 } else { 1 + random.below(index.max(1)) });
            let at = match index {
                0 => DVec3::ZERO,
                _ => mechanism.bodies[parent].pose.translation + vector(random) * 0.2,
            };
            mechanism.bodies.push(Body {
                name: format!("b{index}"),
                robot,
                fixed: index == 0 && fixed,
                mass: random.between(0.1, 1.0),
                shape: Some(Placed { pose: Pose::IDENTITY, shape: Shape::Box { size } }),
                pose: Pose { translation: at, rotation: rotation_by(vector(random)) },
                ..Body::default()
            });
            if index == 0 {
                continue;
            }
            let (kind, axes) = kind_and_axes(random);
            if closes && index % 5 == 4 {
                let ends = [index - 3, index].map(BodyId::new);
                let ball = Joint::new(JointKind::Ball, ends[0], ends[1], at + vector(random) * 0.1);
                mechanism.joints.push(Joint {
                    name: format!("loop{index}"),
                    robot,
                    axes: JointKind::Ball.free_axes(),
                    ..ball
                });
            }
            mechanism.joints.push(Joint {
                name: format!("j{index}"),
                robot,
                kind,
                parent: BodyId::new(parent),
                child: BodyId::new(index),
                anchor: at + vector(random) * 0.1,
                frame: rotation_by(vector(random)),
                axes,
                swing: f64::INFINITY,
                source: String::new(),
            });
        }
        mechanism
    }

    /// A random kind of joint, and the laws of its axes.
    fn kind_and_axes(random: &mut Stream) -> (JointKind, [Axis; 3]) {
        let kinds = [
            JointKind::Hinge,
            JointKind::Hinge,
            JointKind::Slider,
            JointKind::Cylindrical,
            JointKind::Ball,
            JointKind::Universal,
            JointKind::Fixed,
        ];
        let kind = kinds[random.below(kinds.len())];
        let mut axes = kind.free_axes();
        for axis in &mut axes {
            if let Axis::Free(free) = axis {
                let [stiffness, damping, armature] = [2.0, 0.01, 0.01].map(|most| random.between(0.0, most));
                *free = FreeAxis { stiffness, damping, armature, ..FreeAxis::default() };
            }
        }
        (kind, axes)
    }

    fn vector(random: &mut Stream) -> DVec3 {
        DVec3::new(random.between(-1.0, 1.0), random.between(-1.0, 1.0), random.between(-1.0, 1.0))
    }

    fn numbers(random: &mut Stream, count: usize) -> Vec<f64> {
        (0..count).map(|_| random.between(-1.0, 1.0)).collect()
    }

    /// Random trees that can move, in random motion.
    fn trees(random: &mut Stream) -> Vec<Tree> {
        let links = 2 + random.below(20);
        let mut built = build::build(&mechanism(random, links, false), None).expect("a sound mechanism").trees;
        built.retain(|tree| tree.topology.freedom > 0 && tree.topology.links.len() > 1);
        for tree in &mut built {
            tree.state.root_rotation = rotation_by(vector(random));
            tree.state.q = numbers(random, tree.topology.freedom);
            tree.state.balls.iter_mut().for_each(|ball: &mut DQuat| *ball = rotation_by(vector(random)));
            tree.state.v = numbers(random, tree.topology.freedom).iter().map(|v| 5.0 * v).collect();
            tree.work.bias_velocity.clone_from(&tree.state.v);
        }
        built
    }

    /// M + D of a short tree, dense.
    fn matrix(tree: &Tree, diagonal: &[f64]) -> Vec<Vec<f64>> {
        let (topology, work, freedom) = (&tree.topology, &tree.work, tree.topology.freedom);
        let mut dense = vec![vec![0.0; freedom]; freedom];
        for row in 0..freedom {
            let (start, depth) = (topology.row[row], topology.depth[row]);
            for (entry, &column) in (start..).zip(&topology.chain[start..=start + depth]) {
                let more = if work.has_damping { work.damping[entry] } else { 0.0 };
                dense[row][column as usize] = work.mass[entry] + more;
                dense[column as usize][row] = work.mass[entry] + more;
            }
            dense[row][row] += diagonal[row];
        }
        dense
    }

    /// The largest residual of M x = right relative to the largest terms of its row: its rounding does not depend on
    /// the condition of M.
    fn residual(matrix: &[Vec<f64>], x: &[f64], right: &[[f64; 2]]) -> f64 {
        let largest = x.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
        let rows = matrix.iter().zip(right).map(|(row, [one, other])| {
            let sum: f64 = row.iter().zip(x).map(|(m, x)| m * x).sum();
            let size = row.iter().map(|m| m.abs()).sum::<f64>() * largest + one.abs() + other.abs();
            (sum - one - other).abs() / size
        });
        rows.fold(0.0, f64::max)
    }

    /// The same tree as a short one and as a long one, with its equations of motion at its state.
    fn both(tree: &Tree) -> [Tree; 2] {
        [false, true].map(|is_long| {
            let mut tree = tree.clone();
            tree.force_factor(is_long);
            tree.set_motion();
            tree.set_mass_and_bias(GRAVITY);
            tree
        })
    }

    /// The residuals of three solutions: free motion with bias; then, with damping and a damped link,
    /// `factorise_and_solve`, and `solve` with the stored factor.
    fn residuals_of_solves([short, long]: &mut [Tree; 2], random: &mut Stream) -> [f64; 3] {
        let freedom = short.topology.freedom;
        let efforts = numbers(random, freedom);
        let mut a = efforts.clone();
        long.accelerate_long(GRAVITY, &mut a);
        let right: Vec<[f64; 2]> = efforts.iter().zip(&short.work.bias).map(|(x, b)| [*x, -b]).collect();
        let free = residual(&matrix(short, &vec![0.0; freedom]), &a, &right);
        let (link, place) = (random.below(short.topology.links.len()), (vector(random), 0.1));
        let rows: [[f64; 6]; 6] = std::array::from_fn(|i| std::array::from_fn(|j| if i == j { 3.0 } else { 0.4 }));
        let response = DampedWrench { wrench: [0.0; 6], matrix: Symmetric::new(&rows) };
        for tree in [&mut *short, &mut *long] {
            if let Some(chain) = tree.chain_of(link) {
                tree.add_damping(chain, place, &response, &[0.1; 6], 0.01);
            }
        }
        let diagonal: Vec<f64> = numbers(random, freedom).iter().map(|x| x.abs()).collect();
        let (dense, right) = (matrix(short, &diagonal), efforts.iter().map(|x| [*x, 0.0]).collect::<Vec<_>>());
        let (mut at_once, mut anew) = (efforts.clone(), efforts);
        long.factorise_and_solve(Some(&diagonal), &mut at_once);
        long.solve(&mut anew);
        [free, residual(&dense, &at_once, &right), residual(&dense, &anew, &right)]
    }

    /// The residuals of M⁻¹ J from whitened columns, over the whole tree and over a chain.
    fn residuals_of_columns([short, long]: &mut [Tree; 2], random: &mut Stream) -> [f64; 2] {
        let freedom = short.topology.freedom;
        let dense = matrix(short, &vec![0.0; freedom]);
        let efforts = numbers(random, freedom);
        long.factorise(None, &mut efforts.clone());
        let (mut velocity, mut whitened) = (vec![0.0; freedom], vec![0.0; freedom]);
        let mut columns: Vec<[f64; LANES]> = efforts.iter().map(|x| [*x, 0.0, -x, 2.0 * x]).collect();
        long.whiten_all(&mut columns, &mut Vec::new());
        whitened.iter_mut().zip(&columns).for_each(|(entry, column)| *entry = 0.5 * column[3]);
        long.velocity_of(&whitened, &mut velocity);
        let right: Vec<[f64; 2]> = efforts.iter().map(|x| [*x, 0.0]).collect();
        let of_all = residual(&dense, &velocity, &right);
        let dof = random.below(freedom);
        let (start, depth) = (short.topology.row[dof], short.topology.depth[dof]);
        let chain = &short.topology.chain[start..=start + depth];
        let mut columns: Vec<[f64; LANES]> = chain.iter().map(|&dof| [efforts[dof as usize]; LANES]).collect();
        long.whiten_chain(start, &mut columns);
        let mut right = vec![[0.0; 2]; freedom];
        whitened.fill(0.0);
        for (column, &dof) in columns.iter().zip(chain) {
            (whitened[dof as usize], right[dof as usize][0]) = (column[1], efforts[dof as usize]);
        }
        long.velocity_of(&whitened, &mut velocity);
        [of_all, residual(&dense, &velocity, &right)]
    }

    /// Both factors solve the same equations. Sums of some n² = 60² terms in a row have an error of n² times 1e-16.
    #[test]
    fn long_trees_solve_the_equations_of_short_ones() {
        const ROUNDING: f64 = 4e-13;
        let mut random = Stream::from_number(7);
        for case in 0..200 {
            for tree in trees(&mut random) {
                let solves = residuals_of_solves(&mut both(&tree), &mut random);
                let columns = residuals_of_columns(&mut both(&tree), &mut random);
                for off in solves.into_iter().chain(columns) {
                    assert!(off < ROUNDING, "case {case}: {solves:?} {columns:?}");
                }
            }
        }
    }
}
