//! Pushes on bodies: forces, and springs to places of the world, which a command puts on a body for some time.

use bevy_math::DVec3;
use serde::{Deserialize, Serialize};
use simpartner_dynamics::{BodyState, Engine, Wrench, mass_properties};
use simpartner_model::{BodyId, Mechanism, Timestep};
use simpartner_wire::signal::{BodyPush, Pull, Renumbering};

/// Angular frequency of the spring for the mass of its body, rad/s: it reaches its place within half a second, and
/// holds 1 kg under gravity 0.1 m away. Its damping is critical.
const SPRING_RATE: f64 = 10.0;

/// Longest stretch of the spring that adds to its force, m: a mouse that moves far away throws no body.
const MAX_STRETCH: f64 = 2.0;

/// A push that acts in the next steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct ActivePush {
    body: u32,
    pull: Pull,
    /// Its point and the centre of mass, body frame, m.
    point: [f64; 3],
    centre: [f64; 3],
    /// Number of steps in which it still acts.
    remaining_steps: u64,
}

impl ActivePush {
    /// The wrench for the next step, of `h` seconds, on a body of this mass, kg, in this state.
    fn wrench_in_step(&self, state: &BodyState, mass: f64, h: f64) -> Wrench {
        let place = match self.pull {
            Pull::Wrench { force, torque } => {
                return Wrench { force: DVec3::from_array(force), torque: DVec3::from_array(torque) };
            }
            Pull::Spring(place) => DVec3::from_array(place),
        };
        let [point, centre] = [self.point, self.centre].map(DVec3::from_array);
        let arm = state.pose.direction(point - centre);
        let velocity = state.linear_velocity + state.angular_velocity.cross(arm);
        let stretch = (place - state.pose.point(point)).clamp_length_max(MAX_STRETCH);
        // Backward Euler for a free mass, so that no timestep is too long.
        let turn = SPRING_RATE * h;
        let acceleration =
            SPRING_RATE * (SPRING_RATE * stretch - (2.0 + turn) * velocity) / ((1.0 + turn) * (1.0 + turn));
        Wrench { force: mass * acceleration, torque: DVec3::ZERO }
    }
}

/// All pushes that act in the next steps, at most one on each body.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ActivePushes(Vec<ActivePush>);

impl ActivePushes {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn end_pushes(&mut self) {
        self.0.clear();
    }

    /// True if a world with this number of bodies has all of their bodies.
    pub(super) fn fit_world(&self, body_count: usize) -> bool {
        self.0.iter().all(|active| (active.body as usize) < body_count)
    }

    /// The same pushes in an edited world, without those whose bodies are gone.
    pub(super) fn in_edited_world(&self, numbers: &Renumbering) -> Self {
        let moved = |active: &ActivePush| {
            let body = numbers.body(BodyId::new(active.body as usize))?;
            Some(ActivePush { body: body.index() as u32, ..*active })
        };
        Self(self.0.iter().filter_map(moved).collect())
    }

    /// Begins a push on a body, in place of an earlier one on it.
    pub(super) fn begin_push(&mut self, id: BodyId, push: &BodyPush, mechanism: &Mechanism, timestep: Timestep) {
        let body = id.index() as u32;
        self.0.retain(|active| active.body != body);
        // A duration of 0 only ends the earlier push; any other acts in one step at least.
        if push.duration_s > 0.0 {
            let centre = mass_properties(mechanism.body(id)).map_or([0.0; 3], |mass| mass.centre_of_mass.to_array());
            let remaining_steps = ((push.duration_s / timestep.seconds()).round() as u64).max(1);
            let point = push.point.unwrap_or(centre);
            self.0.push(ActivePush { body, pull: push.pull, point, centre, remaining_steps });
        }
    }

    /// Applies the wrenches of all pushes in the next step.
    pub(super) fn apply_wrenches(&mut self, engine: &mut dyn Engine, mechanism: &Mechanism, timestep: Timestep) {
        for active in &mut self.0 {
            let id = BodyId::new(active.body as usize);
            let wrench = active.wrench_in_step(&engine.body(id), mechanism.body(id).mass, timestep.seconds());
            engine.apply_wrench(id, DVec3::from_array(active.point), wrench);
            active.remaining_steps -= 1;
        }
        self.0.retain(|active| active.remaining_steps > 0);
    }
}
