//! Joint encoders.

use simpartner_dynamics::Engine;
use simpartner_model::JointId;

/// Appends the coordinates (rad or m) of a joint's three axes, then their rates (rad/s or m/s).
pub(super) fn read_state(joint: JointId, engine: &dyn Engine, reading: &mut Vec<f64>) {
    let state = engine.joint(joint);
    reading.extend(state.position.into_iter().chain(state.rate));
}
