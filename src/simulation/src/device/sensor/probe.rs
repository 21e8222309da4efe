//! The measuring part of a sensor: what all kinds have in common.

use serde::{Deserialize, Serialize};
use simpartner_dynamics::Engine;

use super::scan::Scan;

/// The measuring part of a sensor.
pub(super) trait Probe: Send {
    /// Appends the fields of a reading.
    fn read(&self, engine: &dyn Engine, reading: &mut Vec<f64>);

    /// What is seen now, if making a reading of it takes too long for a step.
    fn scan(&self, _: &dyn Engine) -> Option<Scan> {
        None
    }

    /// Looks at the state before the first step, and before one after something was put elsewhere.
    fn start(&mut self, _: &dyn Engine) {}

    /// Looks at the state after a step, whether a reading is due or not.
    fn follow(&mut self, _: &dyn Engine) {}

    /// Limits a reading after the noise; `truth` is the reading before it.
    fn limit(&self, _truth: &[f64], _reading: &mut [f64]) {}

    /// Sets the range, if it has one.
    fn set_range(&mut self, _: f64) {}

    /// Its state between steps.
    fn state(&self) -> ProbeState {
        ProbeState::None
    }

    /// Goes on from such a state. False if it is of another kind of sensor.
    fn restore(&mut self, state: &ProbeState) -> bool {
        *state == ProbeState::None
    }
}

/// The state of a probe between steps.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum ProbeState {
    None,
    /// The last velocity that an accelerometer saw and its reading, and how it is turned.
    Motion([[f64; 3]; 2], [[f64; 4]; 2]),
    /// How the axes that a force is read in are turned, and how they were in the middle of the step.
    Turning([[f64; 4]; 2]),
    /// The range of rays.
    Range(f64),
}

/// A closure is a probe that reads the present state and has none of its own.
impl<F: Fn(&dyn Engine, &mut Vec<f64>) + Send> Probe for F {
    fn read(&self, engine: &dyn Engine, reading: &mut Vec<f64>) {
        self(engine, reading);
    }
}
