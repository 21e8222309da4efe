//! Loops in free motion: what the joints that close them exert at each stage of Gauss's method, and how they are closed
//! at the end of a step.
//!
//! ```text
//! M a = tau - b + Jᵀ (e + x),   J a + J' v + R x = 0      at each stage
//! q' ← q' - M⁻¹ Jᵀ A⁻¹ g(q'),   v' ← v' - M⁻¹ Jᵀ A⁻¹ J v'  at the end of the step, A = J M⁻¹ Jᵀ
//! ```
//!
//! e is what springs and dampers of these joints exert. A row that holds has R = 0; that of a rotor has the reciprocal
//! of its inertia, so its effort is the inertia times the acceleration of its axis. The stages are those of the
//! equations of motion whose constraints are differentiated twice, so the step keeps its order; what it then lacks in
//! place and velocity, of the order of its error, is taken out (Hairer and Wanner 1996, VII.2). So it does not show to
//! the order of the method which joint of a ring was cut.

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

/// Rounds in which a loop is closed at the end of a step. After a step of this method the first has nothing to do but
/// rounding; after one of the midpoint scheme, which closes loops in the middle of steps, three do.
const MAX_ROUNDS: usize = 5;
/// What is nearer than this, m or rad, and what opens more slowly, m/s or rad/s, is closed by the round that finds it:
/// a round leaves the part h w of it, w the rate at which joints turn.
const CLOSED_TOLERANCE: f64 = 1e-11;

/// The joints that close the loops of a tree, and their rows where the tree was looked at last. Kept from step to step
/// for its memory only.
#[derive(Debug, Default)]
pub(crate) struct LoopConstraints {
    /// Whether the last step was made here.
    pub(crate) used: bool,
    loop_joints: Vec<LoopJoint>,
    /// Of each, the links of the tree on either side; `None` for what nothing moves.
    links: Vec<[Option<usize>; 2]>,
    rows: Vec<Row>,
    /// J and that whitened, [`LANES`] rows at a time: a column for each degree of freedom.
    columns: Vec<[f64; LANES]>,
    whitened: Vec<[f64; LANES]>,
    /// Memory for [`Tree::whiten_all`].
    forces: Vec<[Spatial; LANES]>,
    system: System,
    change: Vec<f64>,
    w: Vec<f64>,
    /// What was exerted at each stage.
    stages: [Vec<Row>; 2],
}

/// A row of a closure.
#[derive(Debug, Clone, Copy)]
struct Row {
    loop_joint: usize,
    kind: RowKind,
    direction: Direction,
    /// Where its force acts.
    anchor: DVec3,
    /// How far it is off, m or rad, and the rate of its coordinate, of an axis.
    error: f64,
    rate: f64,
    /// What it resists with beside all else: nothing of it, a rotor's reciprocal inertia, or nothing at all if that is
    /// infinite.
    compliance: f64,
    /// What springs and dampers exert, and all of it.
    given: f64,
    effort: f64,
}

impl LoopConstraints {
    /// Takes the joints of an island of one tree. False if one of them has another law than to hold, a spring, a damper
    /// and a rotor, by the rows that it has in this step.
    pub(crate) fn begin(&mut self, parts: &IslandParts, mut row_kinds: impl Iterator<Item = Option<RowKind>>) -> bool {
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

    /// Whether there are none.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.loop_joints.is_empty()
    }

    /// Sets the rows where the links of the tree are, and how they move.
    fn update(&mut self, tree: &Tree, gravity: DVec3) {
        self.rows.clear();
        for (index, (loop_joint, links)) in self.loop_joints.iter_mut().zip(&self.links).enumerate() {
            let fixed = [loop_joint.place.parent, loop_joint.place.child];
            let [parent, child] = [0, 1].map(|side| {
                links[side].map_or(fixed[side], |link| tree.work.links[link].pose().then(&loop_joint.frames[side]))
            });
            loop_joint.move_to(JointFrames { parent, child });
            let motion = loop_joint.motion(links.map(|link| link.map(|link| (tree, link))), gravity);
            let row = |kind, direction| Row::new(index, kind, direction, loop_joint.place.child.translation);
            for (number, held) in loop_joint.held(&motion).into_iter().enumerate() {
                let Some((direction, error)) = held else { continue };
                self.rows.push(Row { error, ..row(RowKind::Hold(number), direction) });
            }
            let rates = loop_joint.rates(&motion);
            for (axis, direction) in loop_joint.free(&motion).into_iter().enumerate() {
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

    /// The Jacobian of the rows.
    fn set_columns(&mut self, tree: &Tree) {
        let freedom = tree.topology.freedom;
        self.columns.clear();
        self.columns.resize(self.rows.len().div_ceil(LANES) * freedom, [0.0; LANES]);
        for (number, row) in self.rows.iter().enumerate() {
            let (group, lane) = (number / LANES, number % LANES);
            let columns = &mut self.columns[group * freedom..][..freedom];
            let wrench = row.wrench(1.0, tree.work.origin);
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

    /// Adds what springs and dampers exert on the degrees of freedom of the tree.
    fn add_given(&self, efforts: &mut [f64]) {
        for (number, row) in self.rows.iter().enumerate().filter(|(_, row)| row.given != 0.0) {
            let columns = &self.columns[number / LANES * efforts.len()..];
            efforts.iter_mut().zip(columns).for_each(|(effort, column)| *effort += column[number % LANES] * row.given);
        }
    }

    /// The velocity of a row where the degrees of freedom have these.
    fn velocity(&self, number: usize, v: &[f64]) -> f64 {
        let columns = &self.columns[number / LANES * v.len()..];
        v.iter().zip(columns).map(|(v, column)| v * column[number % LANES]).sum()
    }

    /// Whitens the rows, and factors the system of those for which this holds.
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

    /// The efforts that change the velocities of the rows by these, in `system`, and in `change` by how much the
    /// degrees of freedom change.
    fn solve(&mut self, tree: &mut Tree, velocity: impl Fn(&Self, usize) -> f64) {
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

    /// Adds to an acceleration what keeps the loops closed, after the tree's mass matrix was factored.
    fn constrain(&mut self, tree: &mut Tree, a: &mut [f64]) {
        self.factorise(tree, |row| row.compliance.is_finite());
        self.solve(tree, |own, row| -own.velocity(row, a) - own.rows[row].direction.drift);
        a.iter_mut().zip(&self.change).for_each(|(a, change)| *a += change);
        for (row, x) in self.rows.iter_mut().zip(self.system.solution()) {
            row.effort = row.given + x;
        }
    }

    /// The rows of a stage, each with its wrench about the origin of the tree, on the links of either side.
    fn push(&self, stage: usize, tree: &mut Tree) {
        for row in &self.stages[stage] {
            let wrench = row.wrench(row.effort, tree.work.origin);
            for (link, sign) in self.links[row.loop_joint].into_iter().zip([-1.0, 1.0]) {
                if let Some(link) = link {
                    tree.work.links[link].external += wrench * sign;
                }
            }
        }
    }

    /// The power of springs and rotors at a stage, W.
    fn power(&self, stage: usize) -> f64 {
        let power = |row: &Row| match row.kind {
            RowKind::Axis(axis, _) => {
                let damping = self.loop_joints[row.loop_joint].axes[axis].map_or(0.0, |law| law.damping);
                (row.effort + damping * row.rate) * row.rate
            }
            RowKind::Hold(_) => 0.0,
        };
        self.stages[stage].iter().map(power).sum()
    }

    /// Gives the joints of the island, which these are, what they exerted: the means of the stages.
    pub(crate) fn write_back(&self, own: &[usize], loop_joints: &mut [LoopJoint], scheme: &Scheme) {
        for row in self.stages.iter().flatten() {
            let (loop_joint, mean) = (&mut loop_joints[own[row.loop_joint]], 0.5 * row.effort);
            loop_joint.impulses[row.kind.number()] += mean * scheme.h;
            loop_joint.add_load(row.kind, &row.direction, mean * scheme.time_fraction);
        }
    }
}

impl Row {
    /// One that exerts nothing yet.
    fn new(loop_joint: usize, kind: RowKind, direction: Direction, anchor: DVec3) -> Self {
        Self { loop_joint, kind, direction, anchor, error: 0.0, rate: 0.0, compliance: 0.0, given: 0.0, effort: 0.0 }
    }

    /// Its wrench on the child's side about a point, where it exerts this much.
    fn wrench(&self, effort: f64, origin: DVec3) -> Spatial {
        let force = self.direction.force(effort);
        Spatial::new(force.angular() + (self.anchor - origin).cross(force.linear()), force.linear())
    }
}

impl Tree {
    /// Sets the rows of loops where the links are, and adds what their springs and dampers exert.
    pub(super) fn update_loop_rows(&self, loops: &mut LoopConstraints, gravity: DVec3, efforts: &mut [f64]) {
        if !loops.is_empty() {
            loops.update(self, gravity);
            loops.add_given(efforts);
        }
    }

    /// Adds to an acceleration what keeps the loops closed at a stage.
    pub(super) fn constrain_loops(&mut self, loops: &mut LoopConstraints, stage: usize, a: &mut [f64]) {
        if !loops.is_empty() {
            loops.constrain(self, a);
            loops.stages[stage].clone_from(&loops.rows);
        }
    }

    /// Pushes the links with what the loops exerted at a stage. Returns the power of their springs and rotors.
    pub(super) fn apply_loop_forces(&mut self, loops: &LoopConstraints, stage: usize) -> f64 {
        if loops.is_empty() {
            return 0.0;
        }
        loops.push(stage, self);
        loops.power(stage)
    }

    /// Closes the loops at the end of a step, in the metric of the last stage. False if that does not succeed: near a
    /// dead point, say.
    pub(super) fn close_loops(&mut self, loops: &mut LoopConstraints, memory: &mut Stage, gravity: DVec3) -> bool {
        if loops.is_empty() {
            return true;
        }
        self.swap_stage(memory);
        let mut closed = false;
        for _ in 0..MAX_ROUNDS {
            self.work.bias_velocity.copy_from_slice(&self.state.v);
            self.set_motion();
            loops.update(self, gravity);
            loops.factorise(self, |row| matches!(row.kind, RowKind::Hold(_)));
            let v = std::mem::take(&mut self.state.v);
            let velocity = |loops: &LoopConstraints, row: usize| match loops.rows[row].kind {
                RowKind::Hold(_) => -loops.velocity(row, &v),
                RowKind::Axis(..) => 0.0,
            };
            let opens = (0..loops.rows.len()).map(|row| velocity(loops, row).abs()).fold(0.0, f64::max);
            let open = loops.rows.iter().map(|row| row.error.abs()).fold(0.0, f64::max);
            loops.solve(self, velocity);
            self.state.v = v;
            let changes = self.state.v.iter_mut().zip(&mut self.state.last_dv).zip(&loops.change);
            changes.for_each(|((v, last), change)| (*v, *last) = (*v + change, *last + change));
            loops.solve(self, |loops, row| -loops.rows[row].error);
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
