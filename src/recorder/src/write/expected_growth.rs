//! Estimates the growth of a log from the world and the settings.

use simpartner_wire::signal::{DeviceInfo, MOST_FIELDS_IN_RECORD};

use super::{description::RunDescription, logged_components::LoggedComponents, settings::Settings};
use crate::format::{cadence::Cadence, schema::TableId};

/// Bytes that a run writes while everything moves, counted as the size of the rows' values. In a database, indices and
/// row headers add about as many bytes as the short storage of zeros saves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpectedGrowth {
    /// Bytes per simulated second before the log is thinned out.
    pub bytes_per_s: f64,
    /// Simulated time from which on the log is thinned out, in seconds, and bytes per simulated second from then on;
    /// `None` if the log is never thinned out.
    pub thinned: Option<(f64, f64)>,
}

/// Size of a value, as a batch counts it, in bytes.
const VALUE_BYTES: f64 = 8.0;

/// Size of a number printed in a text, in bytes: 16 digits and a few more, a point and a comma.
const PRINTED_NUMBER_BYTES: f64 = 19.0;

impl ExpectedGrowth {
    pub(super) fn estimate(settings: &Settings, run: &RunDescription, logged: &LoggedComponents) -> Self {
        let thinned = settings.thinning.map(|thinning| (0, thinning.every_n_steps));
        let cadence = Cadence::new(settings.every_n_steps, thinned);
        let per_second =
            |every: u64| bytes_of_step(settings, run, logged, every) / (every as f64 * run.timestep.seconds());
        let later = settings.thinning.zip(cadence.thinned());
        Self {
            bytes_per_s: per_second(cadence.every()),
            thinned: later.map(|(thinning, (_, every))| (thinning.after_s, per_second(every))),
        }
    }
}

/// Size of the rows of a logged step, in bytes, if one step in `every` is logged.
fn bytes_of_step(settings: &Settings, run: &RunDescription, logged: &LoggedComponents, every: u64) -> f64 {
    let is_left_out = |fixed: bool| fixed && (settings.skip_resting || settings.on_change);
    let bodies =
        logged.bodies.iter().filter(|&&body| !is_left_out(run.world.mechanism.body(body).fixed)).count() as f64;
    let readings = logged.devices.iter().map(|&device| run.layout.device_info(device));
    // A sensor slower than the timestep has a reading in one step per interval only.
    let readings = readings.filter(|info| !info.kind.is_actuator());
    let values = |info: &DeviceInfo| match info.fields.len() {
        // A long reading is one text.
        fields if fields > MOST_FIELDS_IN_RECORD => fields as f64 * PRINTED_NUMBER_BYTES / VALUE_BYTES,
        fields => (fields * TableId::SensorReading.width()) as f64,
    };
    let readings: f64 = readings.map(|info| values(info) / info.interval_steps.max(1) as f64).sum();
    let interval = if every > 1 { TableId::ForceAndTorqueInterval.width() } else { 0 };
    let values = TableId::SimulationRow.width() as f64
        + bodies * (TableId::BodyState.width() + interval) as f64
        + logged.joints.len() as f64 * TableId::JointPose.width() as f64
        + readings;
    values * VALUE_BYTES
}
