//! The point of a body that a sensor is mounted at, and how it moves.

use bevy_math::DVec3;
use simpartner_description::{Frame, World};
use simpartner_dynamics::{Engine, mass_properties};
use simpartner_model::{BodyId, Pose};

/// A point of a body, and the axes of the sensor there.
#[derive(Debug, Clone, Copy)]
pub(super) struct MountPoint {
    pub(super) body: BodyId,
    /// `body_from_sensor`.
    pub(super) pose_on_body: Pose,
    /// The body's centre of mass in its own frame, metres.
    centre_of_mass: DVec3,
}

impl MountPoint {
    pub(super) fn new(world: &World, body: BodyId, pose_on_body: Pose) -> Self {
        // A fixed body has no mass; it does not move, so any point will do.
        let centre_of_mass =
            mass_properties(world.mechanism.body(body)).map_or(DVec3::ZERO, |mass| mass.centre_of_mass);
        Self { body, pose_on_body, centre_of_mass }
    }

    /// `world_from_sensor`.
    pub(super) fn pose(&self, engine: &dyn Engine) -> Pose {
        engine.body(self.body).pose.then(&self.pose_on_body)
    }

    /// Where it is in the world, metres.
    pub(super) fn point(&self, engine: &dyn Engine) -> DVec3 {
        engine.body(self.body).pose.point(self.pose_on_body.translation)
    }

    /// Velocity of that point in world axes, m/s: v = v_c + omega x r, with r from the centre of mass.
    pub(super) fn velocity(&self, engine: &dyn Engine) -> DVec3 {
        let state = engine.body(self.body);
        let arm = state.pose.direction(self.pose_on_body.translation - self.centre_of_mass);
        state.linear_velocity + state.angular_velocity.cross(arm)
    }

    /// Angular velocity in the sensor's axes, rad/s.
    pub(super) fn spin(&self, engine: &dyn Engine) -> DVec3 {
        self.in_sensor(engine, engine.body(self.body).angular_velocity)
    }

    /// A vector in world axes, in the sensor's axes.
    fn in_sensor(&self, engine: &dyn Engine, vector: DVec3) -> DVec3 {
        self.pose(engine).rotation.inverse() * vector
    }

    /// A vector in world axes, in the axes of the sensor or of the world.
    pub(super) fn in_frame(&self, engine: &dyn Engine, frame: Frame, vector: DVec3) -> DVec3 {
        match frame {
            Frame::World => vector,
            _ => self.in_sensor(engine, vector),
        }
    }
}
