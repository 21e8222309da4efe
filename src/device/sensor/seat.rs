//! A sensor's place on its body, and how that point moves.

use bevy_math::DVec3;
use simpartner_description::World;
use simpartner_dynamics::{Engine, mass_properties};
use simpartner_model::{BodyId, Pose};

/// A place on a body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seat {
    pub(super) body: BodyId,
    /// `body_from_sensor`.
    pub(super) mount: Pose,
    /// The body's centre of mass in its own frame, metres.
    centre_of_mass: DVec3,
}

impl Seat {
    pub(super) fn new(world: &World, body: BodyId, mount: Pose) -> Self {
        // A fixed body has no mass, and it does not matter about which point it does not move.
        let centre_of_mass =
            mass_properties(world.mechanism.body(body)).map_or(DVec3::ZERO, |mass| mass.centre_of_mass);
        Self { body, mount, centre_of_mass }
    }

    /// `world_from_sensor`.
    pub(super) fn pose(&self, engine: &dyn Engine) -> Pose {
        engine.body(self.body).pose.then(&self.mount)
    }

    /// Where it is in the world, metres.
    pub(super) fn point(&self, engine: &dyn Engine) -> DVec3 {
        engine.body(self.body).pose.point(self.mount.translation)
    }

    /// Velocity of that point in world axes, m/s: v = v_c + omega x r, with r from the centre of mass.
    pub(super) fn velocity(&self, engine: &dyn Engine) -> DVec3 {
        let state = engine.body(self.body);
        let arm = state.pose.direction(self.mount.translation - self.centre_of_mass);
        state.linear_velocity + state.angular_velocity.cross(arm)
    }

    /// A vector of the world in the sensor's axes.
    pub(super) fn in_sensor(&self, engine: &dyn Engine, vector: DVec3) -> DVec3 {
        self.pose(engine).rotation.inverse() * vector
    }

    /// A vector of the world in the frame asked for, of those that a sensor on a body knows.
    pub(super) fn in_frame(&self, engine: &dyn Engine, frame: simpartner_description::Frame, vector: DVec3) -> DVec3 {
        match frame {
            simpartner_description::Frame::World => vector,
            _ => self.in_sensor(engine, vector),
        }
    }
}
