//! The mount point of a sensor on a body, and its motion.

use bevy_math::DVec3;
use simpartner_description::{Frame, World};
use simpartner_dynamics::{Engine, mass_properties};
use simpartner_model::{BodyId, Pose};

/// A point of a body with the sensor's axes.
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
        // A fixed body has no mass. It does not move, so any point serves as its centre.
        let centre_of_mass =
            mass_properties(world.mechanism.body(body)).map_or(DVec3::ZERO, |mass| mass.centre_of_mass);
        Self { body, pose_on_body, centre_of_mass }
    }

    /// `world_from_sensor`.
    pub(super) fn pose(&self, engine: &dyn Engine) -> Pose {
        engine.body(self.body).pose.then(&self.pose_on_body)
    }

    /// Position in the world, metres.
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
    pub(super) fn angular_velocity(&self, engine: &dyn Engine) -> DVec3 {
        self.vector_in_sensor_axes(engine, engine.body(self.body).angular_velocity)
    }

    /// Rotates a vector from world axes to the sensor's axes.
    fn vector_in_sensor_axes(&self, engine: &dyn Engine, vector: DVec3) -> DVec3 {
        self.pose(engine).rotation.inverse() * vector
    }

    /// Rotates a vector from world axes to those of `frame`: the world or the sensor.
    pub(super) fn vector_in_frame(&self, engine: &dyn Engine, frame: Frame, vector: DVec3) -> DVec3 {
        match frame {
            Frame::World => vector,
            _ => self.vector_in_sensor_axes(engine, vector),
        }
    }
}
