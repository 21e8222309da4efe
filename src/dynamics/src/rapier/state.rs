//! State after a step. A body with a state that is not finite or not meaningful causes an event, and keeps its last
//! valid state.

use bevy_math::{DQuat, DVec3};
use rapier3d_f64::prelude::*;
use simpartner_model::{Body, BodyId, JointId};

use super::{
    articulation::{self, JointHandle, RapierAxis, RapierJoint},
    contacts::Contacts,
    fixture::Fixture,
};
use crate::{BodyState, JointState, StepCheck, StepEvent, state::rotation_vector};

/// The state of a body of the model before the first step.
pub(super) fn before_first_step(body: &Body) -> BodyState {
    let Body { pose, linear_velocity, angular_velocity, .. } = *body;
    BodyState { pose, linear_velocity, angular_velocity, force: DVec3::ZERO, torque: DVec3::ZERO }
}

/// Reads all bodies. Adds an event for each body with an invalid state.
pub(super) fn read_bodies(
    world: &PhysicsWorld,
    fixture: &Fixture,
    contacts: &Contacts,
    states: &mut [BodyState],
    events: &mut Vec<StepEvent>,
) {
    let disabled = world.quarantine().bodies();
    for (index, &handle) in fixture.bodies.iter().enumerate() {
        let (linear_velocity, angular_velocity) = twist(world, handle);
        let (force, torque) = contacts.wrench(index);
        let pose = model_pose(world.bodies[handle].position());
        let state = BodyState { pose, linear_velocity, angular_velocity, force, torque };
        let defect = if disabled.contains(&handle) {
            Some(("was in no finite state and has been put out of action".to_owned(), f64::NAN))
        } else {
            state.find_defect()
        };
        match defect {
            None => states[index] = state,
            Some((what, value)) => events.push(StepEvent {
                check: StepCheck::Divergence,
                bodies: vec![BodyId::new(index)],
                text: format!("body '{}' {what}", fixture.names[index]),
                value,
            }),
        }
    }
}

/// Converts a rigid transform.
fn model_pose(pose: &Pose) -> simpartner_model::Pose {
    simpartner_model::Pose { translation: pose.translation, rotation: pose.rotation }
}

/// Velocity of the centre of mass and angular velocity. A link's own `linvel` lags one substep, so its velocity is the
/// Jacobian times the generalised velocity.
fn twist(world: &PhysicsWorld, handle: RigidBodyHandle) -> (DVec3, DVec3) {
    let body = &world.bodies[handle];
    let link = world.multibody_joints.rigid_body_link(handle);
    let Some((multibody, link)) =
        link.and_then(|link| Some((world.multibody_joints.get_multibody(link.multibody)?, link)))
    else {
        return (body.linvel(), body.angvel());
    };
    if !body.is_dynamic() {
        return (DVec3::ZERO, DVec3::ZERO);
    }
    let velocity = multibody.body_jacobian(link.id) * multibody.generalized_velocity();
    (DVec3::new(velocity[0], velocity[1], velocity[2]), DVec3::new(velocity[3], velocity[4], velocity[5]))
}

/// Reads all joints, after the bodies.
pub(super) fn read_joints(world: &PhysicsWorld, fixture: &Fixture, bodies: &[BodyState], states: &mut [JointState]) {
    for (index, state) in states.iter_mut().enumerate() {
        let id = JointId::new(index);
        state.anchor = fixture.articulation.anchor(id, bodies);
        match fixture.articulation.joint(id) {
            RapierJoint::Rigid => {}
            RapierJoint::Tree(axes) => {
                for (axis, place) in axes.iter().enumerate() {
                    if let Some(place) = place {
                        read_tree_axis(world, place, axis, state);
                    }
                }
            }
            RapierJoint::Ball { link, sign } => read_ball(world, *link, *sign, state),
            RapierJoint::Loop { handle, axes } => read_loop(world, *handle, axes, bodies, state),
        }
    }
}

fn read_tree_axis(world: &PhysicsWorld, place: &RapierAxis, axis: usize, state: &mut JointState) {
    let JointHandle::Multibody(handle) = place.handle else { return };
    let Some((multibody, link)) = world.multibody_joints.get(handle) else { return };
    let Some(link) = multibody.link(link) else { return };
    let (position, rate) = (link.joint().coords()[place.axis as usize], multibody.joint_velocity(link)[0]);
    state.position[axis] = place.sign * position;
    state.rate[axis] = place.sign * rate;
    state.effort[axis] = place.sign * articulation::motor_effort(&link.joint().data, place, position, rate);
}

/// Reads a ball joint: rotation vector and angular velocity of the child relative to the parent, in joint axes fixed to
/// the parent.
fn read_ball(world: &PhysicsWorld, handle: MultibodyJointHandle, sign: f64, state: &mut JointState) {
    let Some((multibody, link)) = world.multibody_joints.get(handle) else { return };
    let Some(link) = multibody.link(link) else { return };
    let inner_from_outer = link.joint().joint_rot();
    let velocity = multibody.joint_velocity(link);
    let mut rate = DVec3::new(velocity[0], velocity[1], velocity[2]);
    if sign < 0.0 {
        rate = inner_from_outer.inverse() * rate;
    }
    state.position = (rotation_vector(inner_from_outer) * sign).to_array();
    state.rate = (rate * sign).to_array();
}

/// Reads a loop joint from the poses of its two bodies.
fn read_loop(
    world: &PhysicsWorld,
    handle: ImpulseJointHandle,
    axes: &[Option<RapierAxis>; 3],
    bodies: &[BodyState],
    state: &mut JointState,
) {
    let Some(joint) = world.impulse_joints.get(handle) else { return };
    let body = |handle: RigidBodyHandle| {
        let index = usize::try_from(world.bodies[handle].user_data).ok()?.checked_sub(1)?;
        bodies.get(index)
    };
    let (Some(parent), Some(child)) = (body(joint.body1()), body(joint.body2())) else { return };
    let parent_frame = parent.pose.then(&model_pose(&joint.data.local_frame1));
    let child_frame = child.pose.then(&model_pose(&joint.data.local_frame2));
    let turn = parent_frame.rotation.inverse() * child_frame.rotation;
    let offset = parent_frame.inverse().point(child_frame.translation);
    // Velocity of a body's material point at the joint's origin; the body's state has that of the centre of mass.
    let at_origin = |state: &BodyState, handle: RigidBodyHandle| {
        let centre = state.pose.point(world.bodies[handle].local_center_of_mass());
        state.linear_velocity + state.angular_velocity.cross(child_frame.translation - centre)
    };
    let spin = parent_frame.rotation.inverse() * (child.angular_velocity - parent.angular_velocity);
    let slide = parent_frame.rotation.inverse() * (at_origin(child, joint.body2()) - at_origin(parent, joint.body1()));
    // Rapier's six axes: three translations, then three angles.
    let is_free = |axis: usize| axes.iter().flatten().any(|place| place.axis as usize == axis);
    let angles = angles(turn, [3, 4, 5].map(is_free));
    for (index, place) in axes.iter().enumerate() {
        let Some(place) = place else { continue };
        let (position, rate) = match place.axis as usize {
            axis @ 0..3 => (offset[axis], slide[axis]),
            axis => (angles[axis - 3], spin[axis - 3]),
        };
        (state.position[index], state.rate[index]) = (position, rate);
        state.effort[index] = articulation::motor_effort(&joint.data, place, position, rate);
    }
}

/// The angles of a rotation about the free axes: for a single axis its angle from -pi to pi; otherwise the rotation
/// vector.
fn angles(turn: DQuat, free: [bool; 3]) -> [f64; 3] {
    let mut axes = (0..3).filter(|&axis| free[axis]);
    match (axes.next(), axes.next()) {
        (Some(axis), None) => {
            let mut angles = [0.0; 3];
            angles[axis] = wrap(2.0 * libm::atan2([turn.x, turn.y, turn.z][axis], turn.w));
            angles
        }
        _ => rotation_vector(turn).to_array(),
    }
}

fn wrap(angle: f64) -> f64 {
    use std::f64::consts::{PI, TAU};
    if angle > PI {
        angle - TAU
    } else if angle < -PI {
        angle + TAU
    } else {
        angle
    }
}
