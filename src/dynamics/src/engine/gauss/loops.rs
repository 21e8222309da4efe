//! Loops in free motion: efforts of the joints that close them at each stage of Gauss's method, and the closure at the
//! end of a step.
//!
//! ```text
//! M a = tau - b + Jᵀ (e + x),   J a + J' v + R x = 0      at each stage
//! q' ← q' - M⁻¹ Jᵀ A⁻¹ g(q'),   v' ← v' - M⁻¹ Jᵀ A⁻¹ J v'  at the end of the step, A = J M⁻¹ Jᵀ
//! ```
//!
//! e are the efforts of springs and dampers of these joints, x those of the constraints. A row that holds has R = 0.
//! The row of a rotor has the reciprocal of its inertia, so its effort is the inertia times the acceleration of its
//! axis.
//!
//! The stages are those of the equations of motion whose constraints are differentiated twice, so the step keeps its
//! order. The remaining errors of position and velocity, which are of the order of the step's error, are then removed
//! by a projection (Hairer and Wanner 1996, VII.2). So, to the order of the method, the result does not depend on which
//! joint of a ring was cut.

use bevy_math::DVec3;
use simpartner_model::Norm;

use crate::engine::{
    algebra::{semidefinite::System, spatial::Spatial},
    constraints::{
        IslandParts,
        loop_joint::{Direction, JointFrames, LoopJoint, RowKind},
        rows::is_rounding,
    },
    joints::axis_laws::AxisLaw,
    scheme::Scheme,
    state::{
        tree::{LANES, Tree},
        workspace::Stage,
    },
};

/// Largest number of rounds that close a loop at the end of a step. After a step of this method the first round only
/// removes rounding; after one of the midpoint scheme, which closes loops in the middle of steps, three rounds are
/// needed.
const MAX_ROUNDS: usize = 5;
/// Error, m or rad, and opening rate, m/s or rad/s, up to which the round that finds them closes the loop. A round
/// leaves the fraction h w of an error, with w the rate at which joints turn.
const CLOSED_TOLERANCE: f64 = 1e-11;

/// Joints that close the loops of a tree, and their rows at its last evaluated pose. Kept between steps only to reuse
/// its memory.
#[derive(Debug, Default)]
pub(crate) struct LoopConstraints {
    /// True if the last step was made by Gauss's method.
    pub(crate) used: bool,
    loop_joints: Vec<LoopJoint>,
    /// For each joint, the links of the tree on either side; `None` for a side that does not move.
    links: Vec<[Option<usize>; 2]>,
    rows: Vec<Row>,
    /// J and its whitened form, [`LANES`] rows at a time: a column for each degree of freedom.
    columns: Vec<[f64; LANES]>,
    whitened: Vec<[f64; LANES]>,
    /// Memory for [`Tree::whiten_all`].
    forces: Vec<[Spatial; LANES]>,
    system: System,
    change: Vec<f64>,
    w: Vec<f64>,
    /// Rows with their efforts at each stage.
    stages: [Vec<Row>; 2],
}

/// A row of a loop joint.
#[derive(Debug, Clone, Copy)]
struct Row {
    loop_joint: usize,
    kind: RowKind,
    direction: Direction,
    /// Point where its force acts, m.
    anchor: DVec3,
    /// Error, m or rad, and the rate of its coordinate if it is an axis, m/s or rad/s.
    error: f64,
    rate: f64,
    /// Compliance R of the row: 0 if it holds, the reciprocal inertia of a rotor, and infinite without a rotor, in
    /// which case it exerts no constraint effort. 1/kg or 1/(kg m²).
    compliance: f64,
    /// Effort of springs and dampers, and the total effort, N or N m.
    given: f64,
    effort: f64,
}

impl LoopConstraints {
    /// Takes the joints of an island of one tree. Returns false if the rows of this step have any laws other than
    /// holding, springs, dampers and rotors.
    pub(crate) fn take_joints(
        &mut self,
        parts: &IslandParts,
        mut row_kinds: impl Iterator<Item = Option<RowKind>>,
    ) -> bool {
        self.used = false;
        self.loop_joints.clear();
        self.links.clear();
        let smooth = |kind| matches!(kind, Some(RowKind::Hold(_) | RowKind::Axis(_, AxisLaw::Passive)));
        if !row_kinds.all(smooth) {
            return false;
        }
        for &own in parts.own_loop_joints {
            let loop_joint = &parts.loop_joints[own];
            self.links.push([loop_joint.a, loop_joint.b].map(|side| parts.tree(side).map(|_| side.link)));
            self.loop_joints.push(loop_joint.clone());
        }
        true
    }

    /// True if there are no loop joints.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.loop_joints.is_empty()
    }

    /// Updates the rows to the present poses and velocities of the links.
    fn update_rows(&mut self, tree: &Tree, gravity: DVec3) {
        self.rows.clear();
        for (index, (loop_joint, links)) in self.loop_joints.iter_mut().zip(&self.links).enumerate() {
            let fixed = [loop_joint.place.parent, loop_joint.place.child];
            let [parent, child] = [0, 1].map(|side| {
                links[side].map_or(fixed[side], |link| tree.work.links[link].pose().then(&loop_joint.frames[side]))
            });
            loop_joint.set_frames(JointFrames { parent, child });
            let motion = loop_joint.motion_of_sides(links.map(|link| link.map(|link| (tree, link))), gravity);
            let row = |kind, direction| Row::new(index, kind, direction, loop_joint.place.child.translation);
            for (number, held) in loop_joint.held_directions(&motion).into_iter().enumerate() {
                let Some((direction, error)) = held else { continue };
                self.rows.push(Row { error, ..row(RowKind::Hold(number), direction) });
            }
            let rates = loop_joint.axis_rates(&motion);
            for (axis, direction) in loop_joint.free_directions(&motion).into_iter().enumerate() {
                let (Some(direction), Some(law)) = (direction, &loop_joint.axes[axis]) else { continue };
                if law.stiffness == 0.0 && law.damping == 0.0 && law.armature == 0.0 {
                    continue;
                }
                let stretch = law.spring_position - loop_joint.coordinates[axis];
                let given = law.stiffness * stretch - law.damping * rates[axis];
                let row = row(RowKind::Axis(axis, AxisLaw::Passive), direction);
                self.rows.push(Row { rate: rates[axis], compliance: 1.0 / law.armature, given, effort: given, ..row });
            }
        }
        self.set_columns(tree);
    }

    /// Computes the Jacobian of the rows.
    fn set_columns(&mut self, tree: &Tree) {
        let freedom = tree.topology.freedom;
        self.columns.clear();
        self.columns.resize(self.rows.len().div_ceil(LANES) * freedom, [0.0; LANES]);
        for (number, row) in self.rows.iter().enumerate() {
            let (group, lane) = (number / LANES, number % LANES);
            let columns = &mut self.columns[group * freedom..][..freedom];
            let wrench = row.child_wrench(1.0, tree.work.origin);
            let sizes = [wrench.angular().norm(), wrench.linear().norm()];
            let mut terms = 0.0;
            for (link, sign) in self.links[row.loop_joint].into_iter().zip([-1.0, 1.0]) {
                let Some(chain) = link.and_then(|link| tree.chain_of(link)) else { continue };
                for &dof in &tree.topology.chain[chain] {
                    let axis = tree.work.axis[dof as usize];
                    columns[dof as usize][lane] += sign * axis.dot(wrench);
                    terms += (axis.angular().norm() * sizes[0] + axis.linear().norm() * sizes[1]).powi(2);
                }
            }
            let size: f64 = columns.iter().map(|column| column[lane] * column[lane]).sum();
            if is_rounding(size, terms) {
                columns.iter_mut().for_each(|column| column[lane] = 0.0);
            }
        }
    }

    /// Adds the efforts of springs and dampers to those of the tree's degrees of freedom.
    fn add_passive_efforts(&self, efforts: &mut [f64]) {
        for (number, row) in self.rows.iter().enumerate().filter(|(_, row)| row.given != 0.0) {
            let columns = &self.columns[number / LANES * efforts.len()..];
            efforts.iter_mut().zip(columns).for_each(|(effort, column)| *effort += column[number % LANES] * row.given);
        }
    }

    /// Velocity of a row at the velocities `v` of the degrees of freedom.
    fn row_velocity(&self, number: usize, v: &[f64]) -> f64 {
        let columns = &self.columns[number / LANES * v.len()..];
        v.iter().zip(columns).map(|(v, column)| v * column[number % LANES]).sum()
    }

    /// Whitens the rows, and factors the system of the rows selected by `takes_part`.
    fn factorise(&mut self, tree: &Tree, takes_part: impl Fn(&Row) -> bool) {
        let freedom = tree.topology.freedom;
        self.whitened.clone_from(&self.columns);
        self.whitened.chunks_exact_mut(freedom).for_each(|columns| tree.whiten_all(columns, &mut self.forces));
        let (whitened, rows) = (&self.whitened, &self.rows);
        self.system.set(rows.len(), |one, other| {
            if !takes_part(&rows[one]) || !takes_part(&rows[other]) {
                return 0.0;
            }
            let columns = |row: usize| whitened[row / LANES * freedom..][..freedom].iter().map(move |y| y[row % LANES]);
            let product: f64 = columns(one).zip(columns(other)).map(|(a, b)| a * b).sum();
            if one == other { product + rows[one].compliance } else { product }
        });
    }

    /// Solves for the efforts that change the velocities of the rows by the given ones. The efforts are in `system`,
    /// and the resulting velocity changes of the degrees of freedom in `change`.
    fn solve_efforts(&mut self, tree: &mut Tree, velocity: impl Fn(&Self, usize) -> f64) {
        let (freedom, mut system) = (tree.topology.freedom, std::mem::take(&mut self.system));
        system.solve(|row| velocity(self, row));
        self.w.clear();
        self.w.resize(freedom, 0.0);
        for (number, x) in system.solution().iter().enumerate().filter(|(_, x)| **x != 0.0) {
            let columns = &self.whitened[number / LANES * freedom..];
            self.w.iter_mut().zip(columns).for_each(|(w, column)| *w += column[number % LANES] * x);
        }
        self.change.resize(freedom, 0.0);
        tree.velocity_of(&self.w, &mut self.change);
        self.system = system;
    }

    /// Adds the constraint accelerations that keep the loops closed to `a`. The tree's mass matrix must be factored.
    fn add_constraint_accelerations(&mut self, tree: &mut Tree, a: &mut [f64]) {
        self.factorise(tree, |row| row.compliance.is_finite());
        self.solve_efforts(tree, |own, row| -own.row_velocity(row, a) - own.rows[row].direction.drift);
        a.iter_mut().zip(&self.change).for_each(|(a, change)| *a += change);
        for (row, x) in self.rows.iter_mut().zip(self.system.solution()) {
            row.effort = row.given + x;
        }
    }

    /// Adds the wrenches of the rows of a stage, about the origin of the tree, to the external forces on the links of
    /// either side.
    fn apply_efforts(&self, stage: usize, tree: &mut Tree) {
        for row in &self.stages[stage] {
            let wrench = row.child_wrench(row.effort, tree.work.origin);
            for (link, sign) in self.links[row.loop_joint].into_iter().zip([-1.0, 1.0]) {
                if let Some(link) = link {
                    tree.work.links[link].external += wrench * sign;
                }
            }
        }
    }

    /// Power of springs and rotors at a stage, W.
    fn stage_power(&self, stage: usize) -> f64 {
        let power = |row: &Row| match row.kind {
            RowKind::Axis(axis, _) => {
                let damping = self.loop_joints[row.loop_joint].axes[axis].map_or(0.0, |law| law.damping);
                (row.effort + damping * row.rate) * row.rate
            }
            RowKind::Hold(_) => 0.0,
        };
        self.stages[stage].iter().map(power).sum()
    }

    /// Stores the efforts, means of both stages, in the island's joints. `own` has the indices of these joints.
    pub(crate) fn write_back(&self, own: &[usize], loop_joints: &mut [LoopJoint], scheme: &Scheme) {
        for row in self.stages.iter().flatten() {
            let (loop_joint, mean) = (&mut loop_joints[own[row.loop_joint]], 0.5 * row.effort);
            loop_joint.impulses[row.kind.row_number()] += mean * scheme.h;
            loop_joint.add_load(row.kind, &row.direction, mean * scheme.time_fraction);
        }
    }
}

impl Row {
    /// A row without efforts.
    fn new(loop_joint: usize, kind: RowKind, direction: Direction, anchor: DVec3) -> Self {
        Self { loop_joint, kind, direction, anchor, error: 0.0, rate: 0.0, compliance: 0.0, given: 0.0, effort: 0.0 }
    }

    /// Wrench on the child's side about a point, at this effort.
    fn child_wrench(&self, effort: f64, origin: DVec3) -> Spatial {
        let force = self.direction.effort_wrench(effort);
        Spatial::new(force.angular() + (self.anchor - origin).cross(force.linear()), force.linear())
    }
}

impl Tree {
    /// Updates the rows of loops to the present links, and adds the efforts of their springs and dampers.
    pub(super) fn update_loop_rows(&self, loops: &mut LoopConstraints, gravity: DVec3, efforts: &mut [f64]) {
        if !loops.is_empty() {
            loops.update_rows(self, gravity);
            loops.add_passive_efforts(efforts);
        }
    }

    /// Adds the constraint accelerations that keep the loops closed at a stage to `a`.
    pub(super) fn constrain_loops(&mut self, loops: &mut LoopConstraints, stage: usize, a: &mut [f64]) {
        if !loops.is_empty() {
            loops.add_constraint_accelerations(self, a);
            loops.stages[stage].clone_from(&loops.rows);
        }
    }

    /// Applies the loop efforts of a stage to the links. Returns the power of their springs and rotors, W.
    pub(super) fn apply_loop_forces(&mut self, loops: &LoopConstraints, stage: usize) -> f64 {
        if loops.is_empty() {
            return 0.0;
        }
        loops.apply_efforts(stage, self);
        loops.stage_power(stage)
    }

    /// Closes the loops at the end of a step, in the metric of the last stage. Returns false if that fails, for example
    /// near a dead point.
    pub(super) fn close_loops(&mut self, loops: &mut LoopConstraints, memory: &mut Stage, gravity: DVec3) -> bool {
        if loops.is_empty() {
            return true;
        }
        self.swap_stage(memory);
        let mut closed = false;
        for _ in 0..MAX_ROUNDS {
            self.work.bias_velocity.copy_from_slice(&self.state.v);
            self.set_motion();
            loops.update_rows(self, gravity);
            loops.factorise(self, |row| matches!(row.kind, RowKind::Hold(_)));
            let v = std::mem::take(&mut self.state.v);
            let velocity = |loops: &LoopConstraints, row: usize| match loops.rows[row].kind {
                RowKind::Hold(_) => -loops.row_velocity(row, &v),
                RowKind::Axis(..) => 0.0,
            };
            let opens = (0..loops.rows.len()).map(|row| velocity(loops, row).abs()).fold(0.0, f64::max);
            let open = loops.rows.iter().map(|row| row.error.abs()).fold(0.0, f64::max);
            loops.solve_efforts(self, velocity);
            self.state.v = v;
            let changes = self.state.v.iter_mut().zip(&mut self.state.last_dv).zip(&loops.change);
            changes.for_each(|((v, last), change)| (*v, *last) = (*v + change, *last + change));
            loops.solve_efforts(self, |loops, row| -loops.rows[row].error);
            self.drift_at(&loops.change, 1.0);
            closed = open.max(opens) <= CLOSED_TOLERANCE;
            if closed {
                break;
            }
        }
        self.swap_stage(memory);
        loops.used = closed;
        closed
    }
}
