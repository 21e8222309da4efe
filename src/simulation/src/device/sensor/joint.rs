//! Encoders of joints.

use simpartner_dynamics::Engine;
use simpartner_model::JointId;

/// Coordinates and rates of a joint's axes.
pub(super) fn read_state(joint: JointId, engine: &dyn Engine, reading: &mut Vec<f64>) {
    let state = engine.joint(joint);
    reading.extend(state.position.into_iter().chain(state.rate));
}
