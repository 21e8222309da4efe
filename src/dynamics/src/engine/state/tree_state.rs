//! The state of a kinematic tree, as a snapshot holds it.

use bevy_math::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

use crate::Servo;

/// State of a tree, as a snapshot holds it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) root_position: DVec3,
    pub(crate) root_rotation: DQuat,
    /// Joint coordinates, rad or m; rotation vectors for ball joints. Those of the free root are not used.
    pub(crate) q: Vec<f64>,
    /// Rotation of each ball joint, from the joint's frame fixed in the link to that fixed in its parent link.
    pub(crate) balls: Vec<DQuat>,
    /// Velocities of the degrees of freedom, m/s or rad/s.
    pub(crate) v: Vec<f64>,
    /// Velocity change in the last substep; zero after an impact.
    pub(crate) last_dv: Vec<f64>,
    pub(crate) motors: Vec<Servo>,
    /// Effort of each rigid motor in the last substep, N m or N, which it exerts at its target rate in the next one; 0
    /// for other motors.
    pub(crate) holding_efforts: Vec<f64>,
    /// -1 or 1 for a motor at its largest effort in that direction, otherwise 0.
    pub(crate) saturation: Vec<i8>,
    /// Mean rate in the last substep of each motor at its largest power; 0 for other motors
    /// ([`motor_at_power`](crate::engine::joints::axis_laws::motor_at_power)).
    pub(crate) power_means: Vec<f64>,
    /// Impulses of lower stop, upper stop, dry friction and couplings in the last substep. For the stops of a ball
    /// joint, components of one vector take the place of the lower stops.
    pub(crate) row_impulses: Vec<[f64; 4]>,
    /// Accumulated energy gain, and largest recent kinetic energy, J
    /// ([`energy_bound`](crate::engine::islands::energy_bound)).
    pub(crate) accumulated_gain: f64,
    pub(crate) recent_max_kinetic: f64,
    /// Time at rest, s.
    pub(crate) rest: f64,
    pub(crate) asleep: bool,
}

impl State {
    /// Wakes the tree.
    pub(crate) fn wake(&mut self) {
        self.asleep = false;
        self.rest = 0.0;
    }

    /// True if it has the same size as another state, so that both can belong to the same tree.
    pub(crate) fn fits(&self, other: &Self) -> bool {
        let counts = |state: &Self| {
            let State { q, balls, v, last_dv, motors, holding_efforts, saturation, power_means, row_impulses, .. } =
                state;
            let motors = [motors.len(), holding_efforts.len(), saturation.len(), power_means.len()];
            ([q.len(), balls.len(), v.len(), last_dv.len(), row_impulses.len()], motors)
        };
        counts(self) == counts(other)
    }
}
