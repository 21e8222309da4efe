//! A mechanism prepared for grasp tasks.

use bevy_math::{DMat3, DVec3};
use simpartner_dynamics::{BuildError, MassProperties, Probe, Settings, mass_properties};
use simpartner_model::{
    Axis, Body, BodyId, Graph, GraspTask, Joint, JointAxis, JointId, Mechanism, Placed, Pose, take_initial_positions,
};

use super::{Status, TaskError};
use crate::sample::is_within_mesh;

/// Depth of overlap above which two bodies collide at the start, m: far above the rounding of poses, far below the
/// thickness of a finger.
const OVERLAP_TOLERANCE: f64 = 1e-6;
/// Smallest volume of the parallelepiped of the three slides' unit directions. Below it they do not span space.
const MIN_SLIDE_VOLUME: f64 = 1e-3;

/// A mechanism prepared for grasp tasks, with the gripper open.
pub struct Scene {
    mechanism: Mechanism,
    task: GraspTask,
    settings: Settings,
    object: MassProperties,
    slides: [Slide; 3],
    /// Directions of the slides in the tool's frame, as columns: the tool's displacement per metre of each slide.
    directions: DMat3,
}

/// One of the three sliders that carry the hand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slide {
    pub(super) axis: JointAxis,
    /// Mass of all bodies that it moves, kg.
    pub(super) mass: f64,
}

impl Scene {
    /// Prepares a mechanism for tasks: checks it, and opens the gripper.
    ///
    /// # Errors
    /// The tool is not carried by three slides that span space, the fingers cannot be opened, the object is fixed or
    /// has no mass, or the engine cannot represent the mechanism.
    pub fn new(mut mechanism: Mechanism, task: GraspTask) -> Result<Self, TaskError> {
        let object = mechanism.body(task.object);
        if object.fixed {
            return Err(TaskError::Object("nothing moves it, so no gripper can lift it: leave <static> out".into()));
        }
        let properties = mass_properties(object).map_err(TaskError::Object)?;
        open_fingers(&mut mechanism, &task)?;
        let (slides, directions) = find_slides(&mechanism, &task)?;
        let into_tool = world_from_tcp(&mechanism, &task).rotation.inverse();
        let directions = directions.map(|direction| into_tool * direction);
        let directions = DMat3::from_cols(directions[0], directions[1], directions[2]);
        if directions.determinant().abs() < MIN_SLIDE_VOLUME {
            return Err(TaskError::Gripper(
                "the three slides that carry the tool lie in a plane: turn one of them out of it".into(),
            ));
        }
        let settings = Settings::default();
        let scene = Self { mechanism, task, settings, object: properties, slides, directions };
        // A trial build, so that an error is reported here and not by the first task.
        scene.build(&scene.mechanism)?;
        Ok(scene)
    }

    /// The task.
    pub fn task(&self) -> &GraspTask {
        &self.task
    }

    /// Settings of the engine.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The object to be grasped.
    pub fn object(&self) -> &Body {
        self.mechanism.body(self.task.object)
    }

    /// Mass properties of the object.
    pub(super) fn object_mass(&self) -> &MassProperties {
        &self.object
    }

    pub(super) fn slides(&self) -> &[Slide; 3] {
        &self.slides
    }

    pub(super) fn gravity(&self) -> DVec3 {
        self.mechanism.gravity
    }

    /// True if a body belongs to the gripper.
    pub(super) fn is_gripper(&self, body: BodyId) -> bool {
        self.mechanism.body(body).robot == Some(self.task.gripper)
    }

    /// Coefficient of friction between a body and the object.
    pub(super) fn friction(&self, body: BodyId) -> f64 {
        self.mechanism.body(body).material.friction.min(self.object().material.friction)
    }

    /// True if the coordinate of a joint's axis is a length, m, and not an angle.
    pub(super) fn is_linear(&self, axis: JointAxis) -> bool {
        self.mechanism.joint(axis.joint).kind.is_linear(axis.axis)
    }

    /// Pose of the tool at the start of a task, `world_from_tcp`. The target is `object_from_tcp`.
    pub fn start(&self, target: &Pose) -> Pose {
        let goal = self.object().pose.then(target);
        Pose { translation: goal.translation - goal.rotation * self.task.approach, ..goal }
    }

    /// Matrix from displacements of the tool, world frame, to coordinates of the slides, for the gripper's orientation
    /// at a target.
    pub(super) fn slides_from_world(&self, target: &Pose) -> DMat3 {
        let rotation = DMat3::from_quat(self.start(target).rotation);
        (rotation * self.directions).inverse()
    }

    /// The mechanism with the gripper at the start of a task.
    pub fn mechanism_at(&self, target: &Pose) -> Mechanism {
        let mut mechanism = self.mechanism.clone();
        let moved = self.motion(target);
        let gripper = Some(self.task.gripper);
        for body in mechanism.bodies.iter_mut().filter(|body| body.robot == gripper) {
            body.pose = moved.then(&body.pose);
        }
        for joint in mechanism.joints.iter_mut().filter(|joint| joint.robot == gripper) {
            joint.anchor = moved.point(joint.anchor);
            joint.frame = (moved.rotation * joint.frame).normalize();
        }
        mechanism
    }

    /// Rigid motion of the whole gripper from its place in the mechanism to the start of a task, world frame.
    pub fn motion(&self, target: &Pose) -> Pose {
        self.start(target).then(&world_from_tcp(&self.mechanism, &self.task).inverse())
    }

    /// The status of a collision of the gripper at the start; `None` without a collision. It is a collision if surfaces
    /// intersect, or if a body lies wholly inside of a mesh, which the engine does not detect: a mesh is a surface
    /// there.
    pub(super) fn initial_collision(&self, mechanism: &Mechanism) -> Result<Option<Status>, BuildError> {
        let mut found = None;
        for contact in Probe::new(mechanism)?.contacts().iter().filter(|contact| contact.gap < -OVERLAP_TOLERANCE) {
            let is_gripper = contact.bodies.map(|body| body.is_some_and(|body| self.is_gripper(body)));
            let other = match is_gripper {
                [true, false] => contact.bodies[1],
                [false, true] => contact.bodies[0],
                _ => continue,
            };
            if other == Some(self.task.object) {
                return Ok(Some(Status::CollisionObjectInitially));
            }
            found = Some(Status::CollisionEnvironmentInitially);
        }
        for (other, body) in mechanism.bodies().filter(|(body, _)| !self.is_gripper(*body)) {
            let gripper = mechanism.bodies().filter(|(body, _)| self.is_gripper(*body));
            if gripper.map(|(_, part)| part).any(|part| are_nested(part, body)) {
                if other == self.task.object {
                    return Ok(Some(Status::CollisionObjectInitially));
                }
                found = Some(Status::CollisionEnvironmentInitially);
            }
        }
        Ok(found)
    }
}

/// True if one of two bodies lies inside of a mesh of the other. Their surfaces must not intersect.
fn are_nested(one: &Body, other: &Body) -> bool {
    let (Some(first), Some(second)) = (one.collision_shape(), other.collision_shape()) else { return false };
    let seen = |from: &Body, body: &Body, placed: &Placed| Placed {
        pose: from.pose.inverse().then(&body.pose).then(&placed.pose),
        shape: placed.shape.clone(),
    };
    is_within_mesh(&seen(other, one, first), second) || is_within_mesh(&seen(one, other, second), first)
}

/// Pose of the tool in a mechanism.
pub(super) fn world_from_tcp(mechanism: &Mechanism, task: &GraspTask) -> Pose {
    mechanism.body(task.tool).pose.then(&task.tcp)
}

/// Moves the fingers, and the joints coupled to them, to their open positions.
fn open_fingers(mechanism: &mut Mechanism, task: &GraspTask) -> Result<(), TaskError> {
    let mut wanted: Vec<(JointAxis, f64)> = task.fingers.iter().map(|finger| (finger.axis, finger.open)).collect();
    // A follower may lead other joints, so the couplings are applied as often as there are couplings.
    for _ in 0..mechanism.couplings.len() {
        for coupling in &mechanism.couplings {
            let known = |axis: JointAxis| wanted.iter().find(|(other, _)| *other == axis).map(|(_, at)| *at);
            let (leader, follower) = (known(coupling.leader), known(coupling.follower));
            match (leader, follower) {
                (Some(at), None) => wanted.push((coupling.follower, coupling.ratio * at + coupling.offset)),
                (None, Some(at)) => wanted.push((coupling.leader, (at - coupling.offset) / coupling.ratio)),
                _ => {}
            }
        }
    }
    // The bodies already stand at the initial positions, so only the differences from there are applied.
    let before: Vec<[Axis; 3]> = mechanism.joints.iter().map(|joint| joint.axes).collect();
    let begin = |joint: &mut Joint, axis: usize, at: f64| {
        if let Axis::Free(free) = &mut joint.axes[axis] {
            free.initial_position = at;
        }
    };
    for joint in &mut mechanism.joints {
        (0..3).for_each(|axis| begin(joint, axis, 0.0));
    }
    for (JointAxis { joint, axis }, at) in &wanted {
        let Axis::Free(free) = before[joint.index()][*axis] else { continue };
        if !(free.lower..=free.upper).contains(at) {
            let name = &mechanism.joint(*joint).name;
            return Err(TaskError::Gripper(format!(
                "joint '{name}' cannot be open at {at}: its stops are {} and {}",
                free.lower, free.upper
            )));
        }
        begin(&mut mechanism.joints[joint.index()], *axis, at - free.initial_position);
    }
    take_initial_positions(&mut mechanism.bodies, &mut mechanism.joints)
        .map_err(|_| TaskError::Gripper("its loops do not close where the fingers are open".into()))?;
    for (joint, axes) in mechanism.joints.iter_mut().zip(before) {
        joint.axes = axes;
    }
    for (JointAxis { joint, axis }, at) in wanted {
        begin(&mut mechanism.joints[joint.index()], axis, at);
    }
    Ok(())
}

/// The three slides between the world and the tool, and the directions in which they move the tool, world frame.
fn find_slides(mechanism: &Mechanism, task: &GraspTask) -> Result<([Slide; 3], [DVec3; 3]), TaskError> {
    let forest = Graph::new(&mechanism.bodies, &mechanism.joints).spanning_forest();
    let mut inner: Vec<Option<(JointId, BodyId)>> = vec![None; mechanism.bodies.len()];
    for edge in forest.trees.iter().flat_map(|tree| &tree.edges) {
        inner[edge.outer.index()] = Some((edge.joint, edge.inner));
    }
    let way = |from: BodyId| std::iter::successors(inner[from.index()], |(_, body)| inner[body.index()]);
    let root = way(task.tool).last().map_or(task.tool, |(_, body)| body);
    let refuse = |what: String| {
        TaskError::Gripper(format!(
            "{what}; the body of <tool> hangs on a fixed body by three sliders, and by nothing else that moves, as in \
             robots/parallel_gripper.xml"
        ))
    };
    if !mechanism.body(root).fixed {
        return Err(refuse(format!(
            "the body '{}', which the gripper hangs on, is not fixed",
            mechanism.body(root).name
        )));
    }
    let mut found = Vec::new();
    for (id, body) in way(task.tool) {
        let joint = mechanism.joint(id);
        for (axis, coordinate) in joint.free_coordinates() {
            if !coordinate.linear || !joint.kind.has_axes() {
                return Err(refuse(format!("joint '{}' turns", joint.name)));
            }
            let sign = if joint.parent == body { 1.0 } else { -1.0 };
            // True for the bodies on the outer side of this joint.
            let moves = |&body: &usize| way(BodyId::new(body)).any(|(other, _)| other == id);
            let mass = (0..mechanism.bodies.len()).filter(moves).map(|body| mechanism.bodies[body].mass).sum();
            let slide = Slide { axis: JointAxis { joint: id, axis }, mass };
            found.push((slide, joint.initial_directions()[axis] * sign));
        }
    }
    let count = found.len();
    let all: Result<[(Slide, DVec3); 3], _> = found.try_into();
    let all = all.map_err(|_| refuse(format!("{count} axes slide between the world and the tool")))?;
    Ok((all.map(|(slide, _)| slide), all.map(|(_, direction)| direction)))
}
