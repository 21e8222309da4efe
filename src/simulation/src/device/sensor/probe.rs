//! The interface of all kinds of sensors: measuring without noise.

use serde::{Deserialize, Serialize};
use simpartner_dynamics::Engine;

use super::scan::Scan;

/// The measuring part of a sensor.
pub(super) trait Probe: Send {
    /// Appends the fields of a noiseless reading of the present state.
    fn read(&self, engine: &dyn Engine, reading: &mut Vec<f64>);

    /// A scan of the present state, if computing the reading takes too long for a step; else `None`.
    fn scan(&self, _: &dyn Engine) -> Option<Scan> {
        None
    }

    /// Stores the present state as the previous one: before the first step, and after a body was placed elsewhere.
    fn initialize(&mut self, _: &dyn Engine) {}

    /// Called after every step, whether a reading is due or not, for probes that depend on the previous state.
    fn update(&mut self, _: &dyn Engine) {}

    /// Limits a reading with noise to the range; `truth` is the reading without noise.
    fn clamp_to_range(&self, _truth: &[f64], _reading: &mut [f64]) {}

    /// Sets the range, m, if the probe has one.
    fn set_range(&mut self, _: f64) {}

    /// State of the probe between steps.
    fn state(&self) -> ProbeState {
        ProbeState::None
    }

    /// Restores a state. False if the state is of another kind of sensor.
    fn restore(&mut self, state: &ProbeState) -> bool {
        *state == ProbeState::None
    }
}

/// State of a probe between steps.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum ProbeState {
    /// The probe has no state.
    None,
    /// State of an accelerometer: last velocity (m/s) and reading (m/s²), then its rotations as in `Turning`.
    Motion([[f64; 3]; 2], [[f64; 4]; 2]),
    /// State of a load cell: quaternions of its axes at the end and in the middle of the last step.
    Turning([[f64; 4]; 2]),
    /// State of a ray sensor: its range, m.
    Range(f64),
    /// State of an odometry.
    Odometry(OdometryState),
}

/// State of an odometry: the estimate, and the coordinates after the last step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OdometryState {
    /// Estimated place in the frame in which the vehicle began: forward and to the left, m.
    pub(super) place: [f64; 2],
    /// Estimated heading, rad, to the left.
    pub(super) heading: f64,
    /// Coordinates of the wheels and of their steerings, rad.
    pub(super) wheels: Vec<f64>,
    pub(super) steerings: Vec<f64>,
}

/// A closure is a probe without state.
impl<F: Fn(&dyn Engine, &mut Vec<f64>) + Send> Probe for F {
    fn read(&self, engine: &dyn Engine, reading: &mut Vec<f64>) {
        self(engine, reading);
    }
}
