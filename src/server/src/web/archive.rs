//! The page's interface to the log. The server knows no database, so the code that assembles a run passes an
//! implementation in.

use std::{future::Future, pin::Pin, sync::Arc};

use simpartner_description::World;
use simpartner_model::Timestep;
use simpartner_wire::signal::{Layout, StepRecord};
use thiserror::Error;

/// A future with the result of a query.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, ArchiveError>> + Send + 'a>>;

/// The recorded runs.
pub trait Archive: Send + Sync {
    /// All runs, newest first.
    fn runs(&self) -> Answer<'_, Vec<LoggedRun>>;

    /// The model of a run; `None` if there is no run with this number.
    fn model(&self, run: i64) -> Answer<'_, Option<Arc<RunModel>>>;

    /// At most `count` of the logged steps `from`, `from + every` and so on, of a run with this model. Values that the
    /// log does not have are NaN.
    fn steps<'a>(
        &'a self,
        run: i64,
        model: &'a RunModel,
        from: u64,
        every: u64,
        count: u64,
    ) -> Answer<'a, Vec<StepRecord>>;

    /// The first events of a run: at most `most` connections and disconnections of clients, and at most `most` other
    /// events.
    fn events(&self, run: i64, most: u64) -> Answer<'_, Vec<LoggedEvent>>;

    /// All commands of a run with this model, in at most about `most` entries. If there are more commands, those of a
    /// client for a device within a range of steps are counted together.
    fn commands<'a>(&'a self, run: i64, model: &'a RunModel, most: u64) -> Answer<'a, Vec<LoggedCommands>>;
}

/// The reason why the log cannot be read.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct ArchiveError(pub String);

/// A run of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedRun {
    /// Number of the run.
    pub id: i64,
    /// Name of its world.
    pub world: String,
    /// Start of the run, UTC, ISO 8601.
    pub started: String,
    /// Status of the run: its outcome, or that it is running.
    pub status: String,
    /// Length of a step.
    pub timestep: Timestep,
    /// The first and the last logged step, if any.
    pub steps: Option<(u64, u64)>,
    /// Logging interval, steps.
    pub every: u64,
    /// Simulated seconds per wall second, if known.
    pub real_time_factor: Option<f64>,
}

/// The model of a run.
#[derive(Debug, Clone)]
pub struct RunModel {
    /// The world.
    pub world: World,
    /// Layout of its step records.
    pub layout: Layout,
    /// Length of a step.
    pub timestep: Timestep,
    /// Logging interval, steps.
    pub every: u64,
}

/// An event of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedEvent {
    /// The step after which the event was observed.
    pub step: u64,
    /// Number of resets of the run before it.
    pub epoch: u64,
    /// Name of its kind.
    pub kind: String,
    /// Name of the device, body or client that it concerns.
    pub subject: String,
    /// A sentence for people.
    pub text: String,
    /// A number that belongs to the event; its meaning depends on the kind.
    pub value: Option<f64>,
}

/// Commands of a client for a device, counted together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedCommands {
    /// The step in which the latest command took effect.
    pub step: u64,
    /// Number of resets of the run before that step.
    pub epoch: u64,
    /// The device, as `robot/device`.
    pub device: String,
    /// Number of the client.
    pub client: u64,
    /// Text of the latest command.
    pub text: String,
    /// Number of commands.
    pub count: u64,
}
