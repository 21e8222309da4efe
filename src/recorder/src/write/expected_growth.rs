//! How much a log is going to grow, from what is logged.

use simpartner_wire::signal::{DeviceInfo, MOST_FIELDS_IN_RECORD};

use super::{description::RunDescription, logged_components::LoggedComponents, settings::Settings};
use crate::format::{cadence::Cadence, schema::TableId};

/// What a run writes while all of it moves, in bytes of the rows' values. Indices and the headers of rows add about as much as
/// columns that are 0 save.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpectedGrowth {
    /// In a simulated second, before anything is thinned out.
    pub bytes_per_s: f64,
    /// From which simulated time on it is thinned out, if ever, seconds, and what it writes in a second from then on.
    pub thinned: Option<(f64, f64)>,
}

/// Bytes of a value, as a batch counts them.
const VALUE: f64 = 8.0;

/// Bytes of a number in a text: 16 digits and a few more, a point and a comma.
const NUMBER_IN_TEXT: f64 = 19.0;

impl ExpectedGrowth {
    pub(super) fn of(settings: &Settings, run: &RunDescription, logged: &LoggedComponents) -> Self {
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

/// The bytes of a logged step, where one step in `every` is logged.
fn bytes_of_step(settings: &Settings, run: &RunDescription, logged: &LoggedComponents, every: u64) -> f64 {
    let rests = |fixed: bool| fixed && (settings.skip_resting || settings.on_change);
    let bodies = logged.bodies.iter().filter(|&&body| !rests(run.world.mechanism.body(body).fixed)).count() as f64;
    let readings = logged.devices.iter().map(|&device| run.layout.device_info(device));
    // A sensor with a rate has a reading in some of the steps.
    let readings = readings.filter(|info| !info.kind.is_actuator());
    let values = |info: &DeviceInfo| match info.fields.len() {
        // One text.
        fields if fields > MOST_FIELDS_IN_RECORD => fields as f64 * NUMBER_IN_TEXT / VALUE,
        fields => (fields * TableId::SensorReading.width()) as f64,
    };
    let readings: f64 = readings.map(|info| values(info) / info.interval_steps.max(1) as f64).sum();
    let interval = if every > 1 { TableId::ForceAndTorqueInterval.width() } else { 0 };
    let values = TableId::SimulationRow.width() as f64
        + bodies * (TableId::BodyState.width() + interval) as f64
        + logged.joints.len() as f64 * TableId::JointPose.width() as f64
        + readings;
    values * VALUE
}
