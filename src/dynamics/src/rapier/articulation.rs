//! Joints: a multibody for every tree of the graph, an impulse joint for every loop joint.
//!
//! A joint with several free coordinates becomes a chain of hinges and sliders over massless links, because rapier's
//! links have one or three free angles, and only single axes have stops. The chain has the first coordinate, then the
//! second, then the third. Where the tree is traversed from child to parent, the chain and all signs are reversed.

use bevy_math::{DQuat, DVec3};
use rapier3d_f64::prelude::*;
use simpartner_model::{
    Axis, BodyId, Coordinate, FreeAxis, Graph, Joint, JointId, JointKind, Mechanism, Pose, RobotId,
};

use crate::{BodyState, BuildError, Servo, shape};

/// Rapier's joints for the joints of the model.
#[derive(Default)]
pub(super) struct Articulation {
    joints: Vec<RapierJoint>,
    /// For each body, whether it is a link of a multibody.
    pub(super) links: Vec<bool>,
    roots: Vec<(RigidBodyHandle, Option<RobotId>)>,
    /// Body pairs that do not collide: the two bodies of every chain, and the model's own pairs. Rapier itself only
    /// excludes neighbouring links, so a hook excludes these.
    excluded_pairs: Vec<[RigidBodyHandle; 2]>,
    /// For each joint its child and its origin in the child's frame.
    origins: Vec<(BodyId, DVec3)>,
}

/// Rapier's counterpart of one joint of the model.
pub(super) enum RapierJoint {
    /// A joint without free coordinates.
    Rigid,
    /// A hinge, a slider or a chain of them in a multibody.
    Tree([Option<RapierAxis>; 3]),
    /// A ball joint of a multibody; `sign` is -1 if the tree was traversed from child to parent.
    Ball { link: MultibodyJointHandle, sign: f64 },
    /// An impulse joint.
    Loop { handle: ImpulseJointHandle, axes: [Option<RapierAxis>; 3] },
}

/// One axis of a joint in rapier.
#[derive(Clone, Copy)]
pub(super) struct RapierAxis {
    pub(super) handle: JointHandle,
    /// Axis among rapier's six of that joint.
    pub(super) axis: JointAxis,
    /// -1 if rapier's direction is reversed, else 1.
    pub(super) sign: f64,
}

/// A joint of one of rapier's two kinds.
#[derive(Clone, Copy)]
pub(super) enum JointHandle {
    Multibody(MultibodyJointHandle),
    Impulse(ImpulseJointHandle),
}

impl Articulation {
    /// Inserts all joints. The bodies must be inserted; `handles` in the order of their ids.
    pub(super) fn build(
        world: &mut PhysicsWorld,
        model: &Mechanism,
        handles: &[RigidBodyHandle],
    ) -> Result<Self, BuildError> {
        let mut built = Self {
            joints: model.joints.iter().map(|_| RapierJoint::Rigid).collect(),
            links: vec![false; model.bodies.len()],
            roots: Vec::new(),
            excluded_pairs: Vec::new(),
            origins: model
                .joints
                .iter()
                .map(|joint| (joint.child, model.body(joint.child).pose.inverse().point(joint.anchor)))
                .collect(),
        };
        for tree in Graph::new(&model.bodies, &model.joints).spanning_forest().trees {
            for edge in &tree.edges {
                let joint = model.joint(edge.joint);
                let tree_joint = TreeJoint {
                    joint,
                    inner: handles[edge.inner.index()],
                    outer: handles[edge.outer.index()],
                    backwards: joint.child == edge.inner,
                };
                built.joints[edge.joint.index()] = tree_joint.insert_links(world)?;
                if joint.degrees_of_freedom() > 1 {
                    built.exclude_pair(world, [tree_joint.inner, tree_joint.outer]);
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
            built.exclude_pair(world, pair.map(|body| handles[body.index()]));
        }
        built.set_losses(world, model);
        built.set_velocities(world, model, handles);
        Ok(built)
    }

    /// Rapier's counterpart of a joint.
    pub(super) fn joint(&self, joint: JointId) -> &RapierJoint {
        &self.joints[joint.index()]
    }

    /// Position of a joint's origin, which is fixed to the child, world frame, m.
    pub(super) fn anchor(&self, joint: JointId, bodies: &[BodyState]) -> DVec3 {
        let (child, origin) = self.origins[joint.index()];
        bodies[child.index()].pose.point(origin)
    }

    /// Rapier's axis for an axis of a joint; `None` for an axis that is locked or cannot be driven.
    pub(super) fn rapier_axis(&self, joint: JointId, axis: usize) -> Option<&RapierAxis> {
        match &self.joints[joint.index()] {
            RapierJoint::Tree(axes) | RapierJoint::Loop { axes, .. } => axes[axis].as_ref(),
            RapierJoint::Rigid | RapierJoint::Ball { .. } => None,
        }
    }

    /// Sets for every robot whether its own bodies collide with each other.
    pub(super) fn set_self_collision(&self, world: &mut PhysicsWorld, allowed: impl Fn(RobotId) -> bool) {
        for &(root, robot) in &self.roots {
            let Some(link) = world.multibody_joints.rigid_body_link(root).copied() else { continue };
            if let Some(multibody) = world.multibody_joints.get_multibody_mut(link.multibody) {
                multibody.set_self_contacts_enabled(robot.is_none_or(&allowed));
            }
        }
    }

    fn exclude_pair(&mut self, world: &mut PhysicsWorld, pair: [RigidBodyHandle; 2]) {
        for body in pair {
            for &collider in world.bodies[body].colliders() {
                world.colliders[collider].set_active_hooks(ActiveHooks::FILTER_CONTACT_PAIRS);
            }
        }
        self.excluded_pairs.push(pair);
    }

    /// Sets damping and dry friction of every degree of freedom, after the last insertion: rapier gives each new link a
    /// default damping.
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
                let (Some(axis), Some(place)) = (axis.free(), self.rapier_axis(id, index)) else { continue };
                let JointHandle::Multibody(handle) = place.handle else { continue };
                let Some((multibody, link)) = world.multibody_joints.get_mut(handle) else { continue };
                let Some(dof) = multibody.link(link).map(|link| link.assembly_id()) else { continue };
                multibody.damping_mut()[dof] = axis.damping;
                multibody.frictions_mut()[dof] = axis.friction;
            }
        }
    }

    /// Sets the initial velocity of every multibody: that of the root as given, each single axis by its initial rate,
    /// else by the velocity difference of its two bodies along it.
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
                let Some(place) = self.rapier_axis(id, index) else { continue };
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
        let apart = self.excluded_pairs.iter().any(|&[a, b]| pair == [Some(a), Some(b)] || pair == [Some(b), Some(a)]);
        (!apart).then_some(SolverFlags::COMPUTE_RIGID_IMPULSES)
    }
}

/// A joint to insert into a tree, between the body nearer to the root and the one farther from it.
struct TreeJoint<'a> {
    joint: &'a Joint,
    inner: RigidBodyHandle,
    outer: RigidBodyHandle,
    backwards: bool,
}

impl TreeJoint<'_> {
    fn insert_links(&self, world: &mut PhysicsWorld) -> Result<RapierJoint, BuildError> {
        let sign = if self.backwards { -1.0 } else { 1.0 };
        if self.joint.kind == JointKind::Ball {
            let ball = joint_between(world, self.joint.anchor, self.joint.frame, self.inner, self.outer)
                .locked_axes(JointAxesMask::LOCKED_SPHERICAL_AXES);
            return Ok(RapierJoint::Ball { link: self.insert_joint(world, self.inner, self.outer, ball)?, sign });
        }
        let mut free: Vec<(usize, Coordinate)> = self.joint.free_coordinates().collect();
        if self.backwards {
            free.reverse();
        }
        let Some(&last) = free.last() else {
            let rigid = joint_between(world, self.joint.anchor, self.joint.frame, self.inner, self.outer)
                .locked_axes(JointAxesMask::LOCKED_FIXED_AXES);
            self.insert_joint(world, self.inner, self.outer, rigid)?;
            return Ok(RapierJoint::Rigid);
        };
        let mut axes = [None; 3];
        let mut inner = self.inner;
        for (index, coordinate) in free {
            let outer = if (index, coordinate) == last { self.outer } else { massless_link(world, self.joint) };
            let single = self.single_axis_joint(world, index, coordinate, [inner, outer]);
            let handle = JointHandle::Multibody(self.insert_joint(world, inner, outer, single)?);
            axes[index] = Some(RapierAxis { handle, axis: single_axis(coordinate), sign });
            inner = outer;
        }
        Ok(RapierJoint::Tree(axes))
    }

    /// The joint of one coordinate, rotated so that its axis is rapier's x axis.
    fn single_axis_joint(
        &self,
        world: &PhysicsWorld,
        index: usize,
        coordinate: Coordinate,
        [inner, outer]: [RigidBodyHandle; 2],
    ) -> GenericJointBuilder {
        let frame = self.joint.frame * x_to_axis(coordinate.axis);
        let locked =
            if coordinate.linear { JointAxesMask::LOCKED_PRISMATIC_AXES } else { JointAxesMask::LOCKED_REVOLUTE_AXES };
        let single = joint_between(world, self.joint.anchor, frame, inner, outer).locked_axes(locked);
        with_stops(single, &self.joint.axes[index], single_axis(coordinate), self.backwards)
    }

    fn insert_joint(
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

/// Rapier's axis of a single hinge or slider: always x.
fn single_axis(coordinate: Coordinate) -> JointAxis {
    if coordinate.linear { JointAxis::LinX } else { JointAxis::AngX }
}

/// The cyclic permutation of axes, as a rotation, that maps the x axis to axis `axis` (0 to 2).
fn x_to_axis(axis: usize) -> DQuat {
    match axis {
        0 => DQuat::IDENTITY,
        1 => DQuat::from_xyzw(0.5, 0.5, 0.5, 0.5),
        _ => DQuat::from_xyzw(-0.5, -0.5, -0.5, 0.5),
    }
}

/// A joint with the frame `anchor`, `frame` in the world at step 0, in both bodies.
fn joint_between(
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

/// A link between two hinges or sliders of the same joint, without mass and collisions.
fn massless_link(world: &mut PhysicsWorld, joint: &Joint) -> RigidBodyHandle {
    let pose = shape::pose(&Pose { translation: joint.anchor, rotation: joint.frame });
    world.insert_body(RigidBodyBuilder::dynamic().pose(pose).can_sleep(false).allow_fast_rotation(true))
}

fn insert_loop(
    world: &mut PhysicsWorld,
    joint: &Joint,
    parent: RigidBodyHandle,
    child: RigidBodyHandle,
) -> RapierJoint {
    let mut locked = JointAxesMask::LOCKED_FIXED_AXES;
    let mut builder = joint_between(world, joint.anchor, joint.frame, parent, child);
    for (index, coordinate) in joint.free_coordinates() {
        let axis = loop_axis(coordinate);
        locked.remove(axis.into());
        builder = with_stops(builder, &joint.axes[index], axis, false);
    }
    let handle = world.insert_impulse_joint(parent, child, builder.locked_axes(locked));
    let mut axes = [None; 3];
    for (index, coordinate) in joint.free_coordinates().filter(|_| joint.kind.has_axes()) {
        let (handle, axis) = (JointHandle::Impulse(handle), loop_axis(coordinate));
        axes[index] = Some(RapierAxis { handle, axis, sign: 1.0 });
    }
    RapierJoint::Loop { handle, axes }
}

/// Rapier's axis of a coordinate of an impulse joint.
fn loop_axis(coordinate: Coordinate) -> JointAxis {
    if coordinate.linear {
        [JointAxis::LinX, JointAxis::LinY, JointAxis::LinZ][coordinate.axis]
    } else {
        [JointAxis::AngX, JointAxis::AngY, JointAxis::AngZ][coordinate.axis]
    }
}

/// Sets rapier's motor: an implicit spring and damper.
pub(super) fn set_motor(world: &mut PhysicsWorld, place: &RapierAxis, servo: &Servo) {
    let Some(joint) = joint_data_mut(world, place.handle) else { return };
    let motor = &mut joint.motors[place.axis as usize];
    motor.model = MotorModel::ForceBased;
    motor.target_pos = place.sign * servo.position;
    motor.target_vel = place.sign * servo.rate;
    motor.stiffness = servo.stiffness;
    motor.damping = servo.damping;
    motor.max_force = servo.max_effort;
    // Without gains, rapier's solver would divide by zero.
    joint.motor_axes.set(place.axis.into(), servo.is_on());
}

/// The motor's effort on the child at this coordinate and rate, N m or N, by the law that rapier solves implicitly.
/// Rapier itself does not report motor efforts of multibodies.
pub(super) fn motor_effort(joint: &GenericJoint, place: &RapierAxis, position: f64, rate: f64) -> f64 {
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
