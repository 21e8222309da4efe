//! What the page wants of the log. The server knows no database: whoever puts a run together gives it something that does.

use std::{future::Future, pin::Pin, sync::Arc};

use simpartner_description::World;
use simpartner_model::Timestep;
use simpartner_wire::signal::{Layout, StepRecord};
use thiserror::Error;

/// An answer that takes its time.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, ArchiveError>> + Send + 'a>>;

/// The recorded runs.
pub trait Archive: Send + Sync {
    /// All of them, newest first.
    fn runs(&self) -> Answer<'_, Vec<LoggedRun>>;

    /// The model of a run, if there is one of this number.
    fn model(&self, run: i64) -> Answer<'_, Option<Arc<RunModel>>>;

    /// At most `count` of the logged steps `from`, `from + every` and so on, of a run with this model. What the log does not
    /// have of a step is not a number.
    fn steps<'a>(
        &'a self,
        run: i64,
        model: &'a RunModel,
        from: u64,
        every: u64,
        count: u64,
    ) -> Answer<'a, Vec<StepRecord>>;

    /// The first events of a run, at most so many, and besides at most so many of clients that came and left.
    fn events(&self, run: i64, most: u64) -> Answer<'_, Vec<LoggedEvent>>;

    /// All commands of a run with this model, in at most about so many parts: where there are more, those of a client for a
    /// device are counted together.
    fn commands<'a>(&'a self, run: i64, model: &'a RunModel, most: u64) -> Answer<'a, Vec<LoggedCommands>>;
}

/// The log cannot be read; the text says why.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct ArchiveError(pub String);

/// A run of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedRun {
    /// Its number.
    pub id: i64,
    /// Name of its world.
    pub world: String,
    /// When it began, UTC, ISO 8601.
    pub started: String,
    /// How it ended, or that it runs.
    pub status: String,
    /// Length of a step.
    pub timestep: Timestep,
    /// The first and the last logged step, if any.
    pub steps: Option<(u64, u64)>,
    /// Steps from one logged step to the next.
    pub every: u64,
    /// Simulated seconds per wall second.
    pub real_time_factor: Option<f64>,
}

/// The model of a run.
#[derive(Debug, Clone)]
pub struct RunModel {
    /// The world.
    pub world: World,
    /// What stands where in its steps.
    pub layout: Layout,
    /// Length of a step.
    pub timestep: Timestep,
    /// Steps from one logged step to the next.
    pub every: u64,
}

/// An event of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedEvent {
    /// The step after which it was seen.
    pub step: u64,
    /// How often the run was reset before.
    pub epoch: u64,
    /// The name of its kind.
    pub kind: String,
    /// Whom it concerns.
    pub subject: String,
    /// A sentence for people.
    pub text: String,
    /// Its figure.
    pub value: Option<f64>,
}

/// Commands of a client for a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedCommands {
    /// The step in which the latest took effect.
    pub step: u64,
    /// How often the run was reset before.
    pub epoch: u64,
    /// The device, with its robot.
    pub device: String,
    /// The number of the client.
    pub client: u64,
    /// The latest.
    pub text: String,
    /// How many there are.
    pub count: u64,
}
