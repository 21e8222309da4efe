//! Assembly of closed loops: initial positions within the stops that close every loop.
//!
//! If the given positions leave loops open, a bounded Levenberg-Marquardt method finds the nearest positions that close
//! them (More, The Levenberg-Marquardt algorithm, 1978). Its steps are the shortest that the linearised loops permit,
//! so that positions change little.

use bevy_math::{DQuat, DVec3};

use crate::{
    Axis, Body, Coupling, FreeAxis, Graph, Joint, JointAxis, JointId, JointKind, Norm, OpenLoop, Pose, SpanningForest,
    posture::{ends_of_loop, move_all, moved_bodies, open_loop},
};

/// Steps at most. Loops that close do so in about ten, those that slide along stops in a hundred.
const MAX_STEPS: usize = 300;
/// Loops are closed to this part of their size, and rad: rounding leaves less in a chain of a hundred bodies.
const CLOSURE_TOLERANCE: f64 = 1e-12;
/// Half the way of a central difference, rad or part of the loop's size: truncation and rounding are both about 1e-11.
const DIFFERENCE_STEP: f64 = 1e-5;
/// Damping of the first step, and its bounds. The rows have entries of about 1. Below the lower bound, dependent rows
/// (a planar loop has three) would divide rounding errors by each other; above the upper bound, steps vanish.
const FIRST_DAMPING: f64 = 1e-3;
const DAMPING_BOUNDS: [f64; 2] = [1e-10, 1e8];

/// Moves bodies and joints to the initial positions as [`take_initial_positions`](crate::take_initial_positions) does,
/// and closes loops that the given positions leave open. Joints with the initial position 0 move first; if that is not
/// enough, all joints of these loops move, within their stops. Ball joints turn if they have neither stops nor a
/// spring. A coupled axis with the initial position 0 starts at its coupled position, if its stops permit. Nothing else
/// moves, and nothing changes if all loops are closed and couplings hold.
///
/// Returns the axes with a given position other than 0 that had to change.
///
/// # Errors
/// The first loop that cannot be closed, and its remaining error.
pub fn close_loops(
    bodies: &mut [Body],
    joints: &mut [Joint],
    couplings: &[Coupling],
) -> Result<Vec<JointAxis>, OpenLoop> {
    let forest = Graph::new(bodies, joints).spanning_forest();
    let given = Posture { joints: joints.to_vec(), turns: vec![DQuat::IDENTITY; joints.len()] };
    let linkage = Linkage { forest: &forest, bodies: bodies.len(), couplings };
    let start = given.coupled(couplings);
    let mut best = start.clone();
    if linkage.first_open(&start).is_some() {
        for kept in [Some(&given), None] {
            best = linkage.problem(&start, kept).solve(start.clone());
            if linkage.first_open(&best).is_none() {
                break;
            }
        }
    }
    if let Some(open) = linkage.first_open(&best) {
        return Err(open);
    }
    let motions = best.motions();
    if motions.iter().any(|motion| *motion != Pose::IDENTITY) {
        let moved = moved_bodies(&forest, bodies.len(), joints, &motions);
        joints.clone_from_slice(&best.joints);
        move_all(bodies, joints, &moved);
    }
    let axes = given.joints.iter().enumerate().flat_map(|(joint, own)| {
        own.free_coordinates().map(move |(axis, _)| JointAxis { joint: JointId::new(joint), axis })
    });
    let has_changed = |axis: &JointAxis| given.position(*axis) != 0.0 && given.position(*axis) != best.position(*axis);
    Ok(axes.filter(has_changed).collect())
}

/// Joints with the initial positions of their axes, and the rotation of each ball joint.
#[derive(Clone)]
struct Posture {
    joints: Vec<Joint>,
    turns: Vec<DQuat>,
}

/// A number that the method may change.
#[derive(Clone, Copy)]
enum Unknown {
    Axis(JointAxis),
    /// The turn of a ball joint about an axis of its child.
    Turn(JointId, usize),
}

impl Posture {
    fn motions(&self) -> Vec<Pose> {
        let motion = |(joint, turn): (&Joint, &DQuat)| match joint.kind {
            JointKind::Ball => Pose { translation: DVec3::ZERO, rotation: *turn },
            _ => joint.initial_motion(),
        };
        self.joints.iter().zip(&self.turns).map(motion).collect()
    }

    fn free(&self, axis: JointAxis) -> FreeAxis {
        self.joints[axis.joint.index()].axes[axis.axis].free().copied().unwrap_or_default()
    }

    fn position(&self, axis: JointAxis) -> f64 {
        self.free(axis).initial_position
    }

    /// Sets followers to the positions of their leaders, or leaders to those of their followers, for axes at 0 whose
    /// stops permit it.
    fn coupled(&self, couplings: &[Coupling]) -> Self {
        let mut coupled = self.clone();
        // A follower may lead another one: the longest chain contains all couplings.
        for _ in couplings {
            for &Coupling { leader, follower, ratio, offset, .. } in couplings {
                let [leads, follows] = [leader, follower].map(|axis| coupled.position(axis));
                let wanted = ratio * leads + offset;
                let (moving, way) = match [leader, follower].map(|axis| self.position(axis) == 0.0) {
                    _ if wanted == follows => continue,
                    [_, true] => (follower, wanted - follows),
                    [true, false] => (leader, (follows - offset) / ratio - leads),
                    [false, false] => continue,
                };
                let FreeAxis { lower, upper, initial_position, .. } = coupled.free(moving);
                if (lower..=upper).contains(&(initial_position + way)) {
                    coupled.move_on(Unknown::Axis(moving), way);
                }
            }
        }
        coupled
    }

    /// Moves a number on.
    fn move_on(&mut self, unknown: Unknown, way: f64) {
        match unknown {
            Unknown::Axis(JointAxis { joint, axis }) => {
                if let Axis::Free(free) = &mut self.joints[joint.index()].axes[axis] {
                    free.initial_position += way;
                }
            }
            Unknown::Turn(joint, axis) => {
                let turn = &mut self.turns[joint.index()];
                *turn = (*turn * DQuat::from_axis_angle(DVec3::AXES[axis], way)).normalized();
            }
        }
    }

    /// Moves a number on, no farther than its stops.
    fn move_within_stops(&mut self, unknown: Unknown, way: f64) {
        let way = match unknown {
            Unknown::Axis(axis) => {
                let FreeAxis { lower, upper, initial_position, .. } = self.free(axis);
                (initial_position + way).clamp(lower, upper) - initial_position
            }
            Unknown::Turn(..) => way,
        };
        self.move_on(unknown, way);
    }

    /// True if a stop blocks a step.
    fn is_stopped(&self, unknown: Unknown, way: f64) -> bool {
        let Unknown::Axis(axis) = unknown else { return false };
        let FreeAxis { lower, upper, initial_position, .. } = self.free(axis);
        way < 0.0 && initial_position <= lower || way > 0.0 && initial_position >= upper
    }
}

/// Bodies and joints whose positions do not count.
#[derive(Clone, Copy)]
struct Linkage<'a> {
    forest: &'a SpanningForest,
    bodies: usize,
    couplings: &'a [Coupling],
}

impl<'a> Linkage<'a> {
    fn moved(&self, posture: &Posture, motions: &[Pose]) -> Vec<Pose> {
        moved_bodies(self.forest, self.bodies, &posture.joints, motions)
    }

    fn first_open(&self, posture: &Posture) -> Option<OpenLoop> {
        self.open_loops(posture).next()
    }

    fn open_loops<'b>(&self, posture: &'b Posture) -> impl Iterator<Item = OpenLoop> + use<'a, 'b> {
        let motions = posture.motions();
        let moved = self.moved(posture, &motions);
        self.forest.loops().filter_map(move |closing| open_loop(&posture.joints, closing, &motions, &moved))
    }

    /// The joints between the ends of a loop, and the joint that closes it.
    fn cycle(&self, joints: &[Joint], closing: JointId) -> Vec<JointId> {
        let mut inner = vec![None; self.bodies];
        for edge in self.forest.trees.iter().flat_map(|tree| &tree.edges) {
            inner[edge.outer.index()] = Some(*edge);
        }
        let path = |body: crate::BodyId| {
            let first = inner[body.index()];
            std::iter::successors(first, |edge| inner[edge.inner.index()]).map(|edge| edge.joint).collect::<Vec<_>>()
        };
        let joint = &joints[closing.index()];
        let (one, other) = (path(joint.parent), path(joint.child));
        // The joints common to both sides carry the whole loop.
        let only = |own: &[JointId], than: &[JointId]| -> Vec<JointId> {
            own.iter().filter(|joint| !than.contains(joint)).copied().collect()
        };
        [only(&one, &other), only(&other, &one), vec![closing]].concat()
    }

    /// The open loops with all loops that share joints with them, and their movable axes: except, if a posture is to be
    /// kept, axes that are not at 0 in it.
    fn problem(self, start: &Posture, kept: Option<&Posture>) -> Problem<'a> {
        let open: Vec<JointId> = self.open_loops(start).map(|open| open.joint).collect();
        let mut others: Vec<JointId> = self.forest.loops().filter(|closing| !open.contains(closing)).collect();
        let (mut loops, mut joints) = (Vec::new(), Vec::<JointId>::new());
        let mut next = open;
        while !next.is_empty() {
            joints.extend(next.iter().flat_map(|closing| self.cycle(&start.joints, *closing)));
            // A joint that is coupled to a joint of a loop moves with it.
            for Coupling { leader, follower, .. } in self.couplings {
                if joints.contains(&leader.joint) || joints.contains(&follower.joint) {
                    joints.extend([leader.joint, follower.joint]);
                }
            }
            joints.sort_unstable();
            joints.dedup();
            loops.append(&mut next);
            (next, others) = others
                .into_iter()
                .partition(|closing| self.cycle(&start.joints, *closing).iter().any(|joint| joints.contains(joint)));
        }
        let couplings = self.couplings.iter().filter(|coupling| joints.contains(&coupling.leader.joint)).collect();
        let unknowns = joints.iter().flat_map(|&joint| unknowns(start, &loops, joint, kept)).collect();
        let size = size(&start.joints, &joints);
        Problem { linkage: self, loops, couplings, unknowns, size }
    }
}

/// Free coordinates of a joint in loops.
fn unknowns(start: &Posture, loops: &[JointId], id: JointId, kept: Option<&Posture>) -> Vec<Unknown> {
    let joint = &start.joints[id.index()];
    if joint.kind == JointKind::Ball {
        let is_bound = |free: &FreeAxis| free.stiffness > 0.0 || free.lower.is_finite() || free.upper.is_finite();
        let is_free = joint.swing.is_infinite() && !joint.axes.iter().filter_map(Axis::free).any(is_bound);
        // A joint that closes a loop is turned by the others.
        let turns = if is_free && !loops.contains(&id) { 3 } else { 0 };
        return (0..turns).map(|axis| Unknown::Turn(id, axis)).collect();
    }
    let axes = joint.free_coordinates().map(|(axis, _)| JointAxis { joint: id, axis });
    axes.filter(|axis| kept.is_none_or(|kept| kept.position(*axis) == 0.0)).map(Unknown::Axis).collect()
}

/// The largest distance between joints, metres; 1 if all are at the same position.
fn size(joints: &[Joint], of: &[JointId]) -> f64 {
    let anchors = || of.iter().map(|id| joints[id.index()].anchor);
    let middle = anchors().sum::<DVec3>() / anchors().count().max(1) as f64;
    let size = 2.0 * anchors().map(|anchor| anchor.distance(middle)).fold(0.0, f64::max);
    if size > 0.0 { size } else { 1.0 }
}

/// Loops to close, couplings to hold, and the movable axes. Lengths are relative to the size of the loops, angles in
/// rad.
struct Problem<'a> {
    linkage: Linkage<'a>,
    loops: Vec<JointId>,
    couplings: Vec<&'a Coupling>,
    unknowns: Vec<Unknown>,
    size: f64,
}

impl Problem<'_> {
    /// Residuals of loops, in the frames that their parents carry, and of couplings.
    fn errors(&self, posture: &Posture) -> Vec<f64> {
        let motions = posture.motions();
        let moved = self.linkage.moved(posture, &motions);
        let mut errors = Vec::new();
        for &closing in &self.loops {
            let joint = &posture.joints[closing.index()];
            let [wanted, found] = ends_of_loop(joint, &motions[closing.index()], &moved);
            let gap = wanted.inverse().then(&found);
            errors.extend((gap.translation / self.size).to_array());
            if joint.kind != JointKind::Ball {
                // The rotation vector of a small turn.
                errors.extend((gap.rotation.xyz() * (2.0 * gap.rotation.w.signum())).to_array());
            }
        }
        errors.extend(self.couplings.iter().map(|Coupling { leader, follower, ratio, offset, .. }| {
            let off = ratio * posture.position(*leader) + offset - posture.position(*follower);
            off / self.unit(posture, Unknown::Axis(*follower))
        }));
        errors
    }

    /// Scale of an unknown, m or rad.
    fn unit(&self, posture: &Posture, unknown: Unknown) -> f64 {
        match unknown {
            Unknown::Axis(JointAxis { joint, axis }) if posture.joints[joint.index()].kind.is_linear(axis) => self.size,
            Unknown::Axis(_) | Unknown::Turn(..) => 1.0,
        }
    }

    /// Jacobian of the residuals.
    fn columns(&self, posture: &Posture) -> Vec<Vec<f64>> {
        let column = |&unknown: &Unknown| {
            let at = |way: f64| {
                let mut moved = posture.clone();
                moved.move_on(unknown, way * self.unit(posture, unknown));
                self.errors(&moved)
            };
            let (ahead, behind) = (at(DIFFERENCE_STEP), at(-DIFFERENCE_STEP));
            ahead.iter().zip(behind).map(|(ahead, behind)| (ahead - behind) / (2.0 * DIFFERENCE_STEP)).collect()
        };
        self.unknowns.iter().map(column).collect()
    }

    /// The posture with the smallest errors that is found.
    fn solve(&self, mut posture: Posture) -> Posture {
        let (mut errors, mut damping) = (self.errors(&posture), FIRST_DAMPING);
        let mut columns = self.columns(&posture);
        for _ in 0..MAX_STEPS {
            if errors.iter().all(|error| error.abs() < CLOSURE_TOLERANCE) || damping > DAMPING_BOUNDS[1] {
                break;
            }
            let mut next = posture.clone();
            for (&unknown, way) in self.unknowns.iter().zip(self.step(&posture, &columns, &errors, damping)) {
                next.move_within_stops(unknown, way * self.unit(&posture, unknown));
            }
            let left = self.errors(&next);
            if square(&left) < square(&errors) {
                (posture, errors, damping) = (next, left, (damping * 0.1).max(DAMPING_BOUNDS[0]));
                columns = self.columns(&posture);
            } else {
                damping *= 4.0;
            }
        }
        posture
    }

    /// The shortest damped step that stops do not hinder: d = -Jᵀ (J Jᵀ + damping)⁻¹ errors over the numbers that may
    /// move.
    fn step(&self, posture: &Posture, columns: &[Vec<f64>], errors: &[f64], damping: f64) -> Vec<f64> {
        let mut is_free = vec![true; columns.len()];
        loop {
            let mut matrix = vec![vec![0.0; errors.len()]; errors.len()];
            for (column, _) in columns.iter().zip(&is_free).filter(|(_, is_free)| **is_free) {
                for (row, entries) in matrix.iter_mut().enumerate() {
                    entries.iter_mut().zip(column).for_each(|(entry, value)| *entry += column[row] * value);
                }
            }
            (0..errors.len()).for_each(|row| matrix[row][row] += damping);
            let multipliers = solve_positive(matrix, errors.to_vec());
            let way = |(column, is_free): (&Vec<f64>, &bool)| if *is_free { -dot(column, &multipliers) } else { 0.0 };
            let step: Vec<f64> = columns.iter().zip(&is_free).map(way).collect();
            let mut is_hindered = false;
            for ((&unknown, way), is_free) in self.unknowns.iter().zip(&step).zip(&mut is_free) {
                if posture.is_stopped(unknown, *way) {
                    (*is_free, is_hindered) = (false, true);
                }
            }
            if !is_hindered {
                return step;
            }
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn square(a: &[f64]) -> f64 {
    dot(a, a)
}

/// Solves A x = b by Cholesky's method; A is symmetric and, by its damping, positive definite.
fn solve_positive(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for i in 0..n {
        for j in 0..=i {
            let left = a[i][j] - dot(&a[i][..j], &a[j][..j]);
            // The rounded remainder of a dependent row is at least its share of the damping.
            a[i][j] = if i == j { left.max(DAMPING_BOUNDS[0] * f64::EPSILON).sqrt() } else { left / a[j][j] };
        }
        b[i] = (b[i] - dot(&a[i][..i], &b[..i])) / a[i][i];
    }
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| a[j][i] * b[j]).sum();
        b[i] = (b[i] - known) / a[i][i];
    }
    b
}
