//! Joints: a multibody for every tree of the graph, an impulse joint for every joint that closes a loop.
//!
//! A joint with several free coordinates becomes a chain of hinges and sliders over links without mass, because
//! rapier's links have one or three free angles and only single axes have stops. The chain moves in the first
//! coordinate, then the second, then the third; where the tree is walked from child to parent it is the same chain
//! backwards, with all signs turned round.

use bevy_math::{DQuat, DVec3};
use rapier3d_f64::prelude::*;
use simpartner_model::{
    Axis, BodyId, Coordinate, FreeAxis, Graph, Joint, JointId, JointKind, Mechanism, Pose, RobotId,
};

use crate::{BodyState, BuildError, Servo, shape};

/// Where the joints of the model are in rapier.
#[derive(Default)]
pub(super) struct Articulation {
    joints: Vec<Placement>,
    /// For each body, whether it is a link of a multibody.
    pub(super) links: Vec<bool>,
    roots: Vec<(RigidBodyHandle, Option<RobotId>)>,
    /// The two bodies of every chain. Rapier keeps only direct neighbours from colliding, so these are kept apart by a
    /// hook.
    apart: Vec<[RigidBodyHandle; 2]>,
    /// For each joint its child and its origin in the child's frame.
    origins: Vec<(BodyId, DVec3)>,
}

/// How one joint of the model is made.
pub(super) enum Placement {
    /// Nothing moves.
    Rigid,
    /// A hinge, slider or chain of them of a multibody.
    Tree([Option<AxisPlace>; 3]),
    /// A ball joint of a multibody; `sign` is -1 if the tree was walked from child to parent.
    Ball { link: MultibodyJointHandle, sign: f64 },
    /// An impulse joint.
    Loop { handle: ImpulseJointHandle, axes: [Option<AxisPlace>; 3] },
}

/// One axis of a joint in rapier.
#[derive(Clone, Copy)]
pub(super) struct AxisPlace {
    pub(super) handle: JointHandle,
    /// Which of rapier's six axes of that joint.
    pub(super) axis: JointAxis,
    /// -1 if rapier counts the other way round.
    pub(super) sign: f64,
}

/// One of rapier's two kinds of joint.
#[derive(Clone, Copy)]
pub(super) enum JointHandle {
    Multibody(MultibodyJointHandle),
    Impulse(ImpulseJointHandle),
}

impl Articulation {
    /// Inserts all joints. The bodies are there already, `handles` in the order of their ids.
    pub(super) fn build(
        world: &mut PhysicsWorld,
        model: &Mechanism,
        handles: &[RigidBodyHandle],
    ) -> Result<Self, BuildError> {
        let mut built = Self {
            joints: model.joints.iter().map(|_| Placement::Rigid).collect(),
            links: vec![false; model.bodies.len()],
            roots: Vec::new(),
            apart: Vec::new(),
            origins: model
                .joints
                .iter()
                .map(|joint| (joint.child, model.body(joint.child).pose.inverse().point(joint.anchor)))
                .collect(),
        };
        for tree in Graph::new(&model.bodies, &model.joints).spanning_forest().trees {
            for edge in &tree.edges {
                let joint = model.joint(edge.joint);
                let span = Span {
                    joint,
                    inner: handles[edge.inner.index()],
                    outer: handles[edge.outer.index()],
                    backwards: joint.child == edge.inner,
                };
                built.joints[edge.joint.index()] = span.insert_links(world)?;
                if joint.degrees_of_freedom() > 1 {
                    built.keep_apart(world, [span.inner, span.outer]);
                }
            }
            if !tree.edges.is_empty() {
                tree.bodies().for_each(|body| built.links[body.index()] = true);
                built.roots.push((handles[tree.root.index()], model.body(tree.root).robot));
            }
            for &closing in &tree.loops {
                let joint = model.joint(closing);
                let ends = (handles[joint.parent.index()], handles[joint.child.index()]);
                built.joints[closing.index()] = insert_loop(world, joint, ends.0, ends.1);
            }
        }
        for &(root, _) in &built.roots {
            let Some(link) = world.multibody_joints.rigid_body_link(root).copied() else { continue };
            if let Some(multibody) = world.multibody_joints.get_multibody_mut(link.multibody) {
                multibody.forward_kinematics(&world.bodies, true);
            }
        }
        for pair in &model.apart {
            built.keep_apart(world, pair.map(|body| handles[body.index()]));
        }
        built.set_losses(world, model);
        built.set_velocities(world, model, handles);
        Ok(built)
    }

    /// The joint's placement.
    pub(super) fn joint(&self, joint: JointId) -> &Placement {
        &self.joints[joint.index()]
    }

    /// Where the joint's origin is: it is fixed to the child.
    pub(super) fn anchor(&self, joint: JointId, bodies: &[BodyState]) -> DVec3 {
        let (child, origin) = self.origins[joint.index()];
        bodies[child.index()].pose.point(origin)
    }

    /// Where an axis of a joint is; `None` for an axis that does not move or cannot be driven.
    pub(super) fn place(&self, joint: JointId, axis: usize) -> Option<&AxisPlace> {
        match &self.joints[joint.index()] {
            Placement::Tree(axes) | Placement::Loop { axes, .. } => axes[axis].as_ref(),
            Placement::Rigid | Placement::Ball { .. } => None,
        }
    }

    /// Says of every robot whether its own bodies collide with each other.
    pub(super) fn set_self_collision(&self, world: &mut PhysicsWorld, allowed: impl Fn(RobotId) -> bool) {
        for &(root, robot) in &self.roots {
            let Some(link) = world.multibody_joints.rigid_body_link(root).copied() else { continue };
            if let Some(multibody) = world.multibody_joints.get_multibody_mut(link.multibody) {
                multibody.set_self_contacts_enabled(robot.is_none_or(&allowed));
            }
        }
    }

    fn keep_apart(&mut self, world: &mut PhysicsWorld, pair: [RigidBodyHandle; 2]) {
        for body in pair {
            for &collider in world.bodies[body].colliders() {
                world.colliders[collider].set_active_hooks(ActiveHooks::FILTER_CONTACT_PAIRS);
            }
        }
        self.apart.push(pair);
    }

    /// Sets damping and dry friction of every degree of freedom. Rapier gives each new link a damping nobody asked for,
    /// so this has to come after the last insertion.
    fn set_losses(&self, world: &mut PhysicsWorld, model: &Mechanism) {
        for &(root, _) in &self.roots {
            let Some(link) = world.multibody_joints.rigid_body_link(root).copied() else { continue };
            if let Some(multibody) = world.multibody_joints.get_multibody_mut(link.multibody) {
                multibody.damping_mut().fill(0.0);
                multibody.frictions_mut().fill(0.0);
            }
        }
        for (id, joint) in model.joints() {
            for (index, axis) in joint.axes.iter().enumerate() {
                let (Some(axis), Some(place)) = (axis.free(), self.place(id, index)) else { continue };
                let JointHandle::Multibody(handle) = place.handle else { continue };
                let Some((multibody, link)) = world.multibody_joints.get_mut(handle) else { continue };
                let Some(dof) = multibody.link(link).map(|link| link.assembly_id()) else { continue };
                multibody.damping_mut()[dof] = axis.damping;
                multibody.frictions_mut()[dof] = axis.friction;
            }
        }
    }

    /// Starts every multibody with the velocities of the model: the root's as given, each single axis with what its two
    /// bodies' velocities differ by along it.
    fn set_velocities(&self, world: &mut PhysicsWorld, model: &Mechanism, handles: &[RigidBodyHandle]) {
        for (id, body) in model.bodies() {
            let Some(link) = world.multibody_joints.rigid_body_link(handles[id.index()]).copied() else { continue };
            let is_root = self.roots.iter().any(|(root, _)| *root == handles[id.index()]);
            if body.fixed || !is_root {
                continue;
            }
            if let Some(multibody) = world.multibody_joints.get_multibody_mut(link.multibody) {
                let mut velocity = multibody.generalized_velocity_mut();
                velocity.rows_mut(0, 3).copy_from_slice(body.linear_velocity.as_ref());
                velocity.rows_mut(3, 3).copy_from_slice(body.angular_velocity.as_ref());
            }
        }
        for (id, joint) in model.joints() {
            let (parent, child) = (model.body(joint.parent), model.body(joint.child));
            let at_anchor = |id: BodyId| {
                let centre = world.bodies[handles[id.index()]].local_center_of_mass();
                model.body(id).velocity_at(joint.anchor, centre)
            };
            let sliding = at_anchor(joint.child) - at_anchor(joint.parent);
            for (index, coordinate) in joint.free_coordinates() {
                let Some(place) = self.place(id, index) else { continue };
                let JointHandle::Multibody(handle) = place.handle else { continue };
                let motion = if coordinate.linear { sliding } else { child.angular_velocity - parent.angular_velocity };
                let given = joint.axes[index].free().and_then(|axis| axis.initial_rate);
                let rate = given.unwrap_or_else(|| motion.dot(joint.direction(coordinate)));
                let Some((multibody, link)) = world.multibody_joints.get_mut(handle) else { continue };
                let Some(dof) = multibody.link(link).map(|link| link.assembly_id()) else { continue };
                multibody.generalized_velocity_mut()[dof] = place.sign * rate;
            }
        }
    }
}

impl PhysicsHooks for Articulation {
    fn filter_contact_pair(&self, context: &PairFilterContext) -> Option<SolverFlags> {
        let pair = [context.rigid_body1, context.rigid_body2];
        let apart = self.apart.iter().any(|&[a, b]| pair == [Some(a), Some(b)] || pair == [Some(b), Some(a)]);
        (!apart).then_some(SolverFlags::COMPUTE_RIGID_IMPULSES)
    }
}

/// A joint on its way into a tree.
struct Span<'a> {
    joint: &'a Joint,
    inner: RigidBodyHandle,
    outer: RigidBodyHandle,
    backwards: bool,
}

impl Span<'_> {
    fn insert_links(&self, world: &mut PhysicsWorld) -> Result<Placement, BuildError> {
        let sign = if self.backwards { -1.0 } else { 1.0 };
        if self.joint.kind == JointKind::Ball {
            let ball = generic(world, self.joint.anchor, self.joint.frame, self.inner, self.outer)
                .locked_axes(JointAxesMask::LOCKED_SPHERICAL_AXES);
            return Ok(Placement::Ball { link: self.insert(world, self.inner, self.outer, ball)?, sign });
        }
        let mut free: Vec<(usize, Coordinate)> = self.joint.free_coordinates().collect();
        if self.backwards {
            free.reverse();
        }
        let Some(&last) = free.last() else {
            let rigid = generic(world, self.joint.anchor, self.joint.frame, self.inner, self.outer)
                .locked_axes(JointAxesMask::LOCKED_FIXED_AXES);
            self.insert(world, self.inner, self.outer, rigid)?;
            return Ok(Placement::Rigid);
        };
        let mut axes = [None; 3];
        let mut inner = self.inner;
        for (index, coordinate) in free {
            let outer = if (index, coordinate) == last { self.outer } else { massless_link(world, self.joint) };
            let single = self.single(world, index, coordinate, [inner, outer]);
            let handle = JointHandle::Multibody(self.insert(world, inner, outer, single)?);
            axes[index] = Some(AxisPlace { handle, axis: single_axis(coordinate), sign });
            inner = outer;
        }
        Ok(Placement::Tree(axes))
    }

    /// The joint of one coordinate, turned so that its axis lies along rapier's x.
    fn single(
        &self,
        world: &PhysicsWorld,
        index: usize,
        coordinate: Coordinate,
        [inner, outer]: [RigidBodyHandle; 2],
    ) -> GenericJointBuilder {
        let frame = self.joint.frame * x_to_axis(coordinate.axis);
        let locked =
            if coordinate.linear { JointAxesMask::LOCKED_PRISMATIC_AXES } else { JointAxesMask::LOCKED_REVOLUTE_AXES };
        let single = generic(world, self.joint.anchor, frame, inner, outer).locked_axes(locked);
        with_stops(single, &self.joint.axes[index], single_axis(coordinate), self.backwards)
    }

    fn insert(
        &self,
        world: &mut PhysicsWorld,
        inner: RigidBodyHandle,
        outer: RigidBodyHandle,
        joint: GenericJointBuilder,
    ) -> Result<MultibodyJointHandle, BuildError> {
        world.insert_multibody_joint(inner, outer, joint).ok_or_else(|| BuildError {
            place: self.joint.source.clone(),
            what: format!("joint '{}' cannot become part of a tree", self.joint.name),
        })
    }
}

/// Rapier's axis of a single hinge or slider: always its x.
fn single_axis(coordinate: Coordinate) -> JointAxis {
    if coordinate.linear { JointAxis::LinX } else { JointAxis::AngX }
}

/// A rotation that takes the x axis to local axis `axis` (0 to 2), by a cyclic exchange of the three.
fn x_to_axis(axis: usize) -> DQuat {
    match axis {
        0 => DQuat::IDENTITY,
        1 => DQuat::from_xyzw(0.5, 0.5, 0.5, 0.5),
        _ => DQuat::from_xyzw(-0.5, -0.5, -0.5, 0.5),
    }
}

/// A joint whose frame is `frame` in the world at step 0, for both bodies.
fn generic(
    world: &PhysicsWorld,
    anchor: DVec3,
    frame: DQuat,
    inner: RigidBodyHandle,
    outer: RigidBodyHandle,
) -> GenericJointBuilder {
    let world_from_joint = shape::pose(&Pose { translation: anchor, rotation: frame });
    let local = |body: RigidBodyHandle| world.bodies[body].position().inverse() * world_from_joint;
    GenericJointBuilder::new(JointAxesMask::empty())
        .local_frame1(local(inner))
        .local_frame2(local(outer))
        .contacts_enabled(false)
}

fn with_stops(
    builder: GenericJointBuilder,
    axis: &Axis,
    rapier_axis: JointAxis,
    backwards: bool,
) -> GenericJointBuilder {
    match axis.free() {
        Some(FreeAxis { lower, upper, .. }) if lower.is_finite() || upper.is_finite() => {
            builder.limits(rapier_axis, if backwards { [-upper, -lower] } else { [*lower, *upper] })
        }
        _ => builder,
    }
}

/// The link between two hinges or sliders of the same joint. It weighs nothing and meets nothing.
fn massless_link(world: &mut PhysicsWorld, joint: &Joint) -> RigidBodyHandle {
    let pose = shape::pose(&Pose { translation: joint.anchor, rotation: joint.frame });
    world.insert_body(RigidBodyBuilder::dynamic().pose(pose).can_sleep(false).allow_fast_rotation(true))
}

fn insert_loop(world: &mut PhysicsWorld, joint: &Joint, parent: RigidBodyHandle, child: RigidBodyHandle) -> Placement {
    let mut locked = JointAxesMask::LOCKED_FIXED_AXES;
    let mut builder = generic(world, joint.anchor, joint.frame, parent, child);
    for (index, coordinate) in joint.free_coordinates() {
        let axis = loop_axis(coordinate);
        locked.remove(axis.into());
        builder = with_stops(builder, &joint.axes[index], axis, false);
    }
    let handle = world.insert_impulse_joint(parent, child, builder.locked_axes(locked));
    let mut axes = [None; 3];
    for (index, coordinate) in joint.free_coordinates().filter(|_| joint.kind.has_axes()) {
        let (handle, axis) = (JointHandle::Impulse(handle), loop_axis(coordinate));
        axes[index] = Some(AxisPlace { handle, axis, sign: 1.0 });
    }
    Placement::Loop { handle, axes }
}

/// Rapier's axis of a coordinate of an impulse joint.
fn loop_axis(coordinate: Coordinate) -> JointAxis {
    if coordinate.linear {
        [JointAxis::LinX, JointAxis::LinY, JointAxis::LinZ][coordinate.axis]
    } else {
        [JointAxis::AngX, JointAxis::AngY, JointAxis::AngZ][coordinate.axis]
    }
}

/// Sets rapier's motor, an implicit spring and damper.
pub(super) fn drive(world: &mut PhysicsWorld, place: &AxisPlace, servo: &Servo) {
    let Some(joint) = joint_data_mut(world, place.handle) else { return };
    let motor = &mut joint.motors[place.axis as usize];
    motor.model = MotorModel::ForceBased;
    motor.target_pos = place.sign * servo.position;
    motor.target_vel = place.sign * servo.rate;
    motor.stiffness = servo.stiffness;
    motor.damping = servo.damping;
    motor.max_force = servo.max_effort;
    // A motor without gains would divide by zero in the solver.
    joint.motor_axes.set(place.axis.into(), servo.is_on());
}

/// What the motor of an axis exerts on the child at this coordinate and rate, by the law rapier solves implicitly.
/// Rapier itself reports no motor effort of a multibody.
pub(super) fn motor_effort(joint: &GenericJoint, place: &AxisPlace, position: f64, rate: f64) -> f64 {
    if !joint.motor_axes.contains(place.axis.into()) {
        return 0.0;
    }
    let motor = &joint.motors[place.axis as usize];
    let effort = motor.stiffness * (place.sign * motor.target_pos - position)
        + motor.damping * (place.sign * motor.target_vel - rate);
    effort.clamp(-motor.max_force, motor.max_force)
}

/// Rapier's description of a joint.
fn joint_data_mut(world: &mut PhysicsWorld, handle: JointHandle) -> Option<&mut GenericJoint> {
    match handle {
        JointHandle::Multibody(handle) => {
            let (multibody, link) = world.multibody_joints.get_mut(handle)?;
            multibody.link_mut(link).map(|link| &mut link.joint.data)
        }
        JointHandle::Impulse(handle) => world.impulse_joints.get_mut(handle, true).map(|joint| &mut joint.data),
    }
}
