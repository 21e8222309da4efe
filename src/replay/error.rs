//! Errors of replays and forks.

use simpartner_description::{ParameterError, xml::Diagnostics};
use simpartner_dynamics::BuildError;
use simpartner_model::StepIndex;
use thiserror::Error;

use crate::{
    config::ConfigError,
    grasp_batch::BatchError,
    recorder::RecorderError,
    sim::{ScheduleError, SnapshotError},
};

/// Errors in repeating or continuing a logged run.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] RecorderError),
    /// The model in the log, or a fork's sequence, has problems.
    #[error(transparent)]
    Files(#[from] Diagnostics),
    /// The properties in the log, or a fork's overrides, have problems.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A fork's parameter of the model has no valid path or value.
    #[error("--set: {0}")]
    Parameter(#[from] ParameterError),
    /// A fork changes a parameter, and the engine cannot continue in a changed world.
    #[error(
        "--set: this physics engine cannot continue with other parameters of the model; use physics.engine = \"dynamics\""
    )]
    FixedParameters,
    /// The engine cannot represent the world.
    #[error(transparent)]
    World(#[from] BuildError),
    /// The log's run is a grasp task that cannot be repeated.
    #[error(transparent)]
    Task(#[from] BatchError),
    /// A fork's sequence does not fit the world.
    #[error(transparent)]
    Sequence(#[from] ScheduleError),
    /// The caller names a step that the run does not have.
    #[error("run {run} has no step {step}; it has the steps {first} to {last}")]
    NoSuchStep {
        /// Number of the run.
        run: i64,
        /// The step that was named.
        step: StepIndex,
        /// The step that the run starts from.
        first: StepIndex,
        /// The run's last step.
        last: StepIndex,
    },
    /// The duration of a fork is not above zero.
    #[error("expected seconds above 0, got {0}")]
    Duration(f64),
    /// The caller changes a setting that belongs to the state a fork starts from.
    #[error("{name}: a fork cannot change {key}, which belongs to the state that it starts from")]
    FixedSetting {
        /// Name of the override.
        name: String,
        /// Path of the setting.
        key: String,
    },
    /// The run is a fork, and the log lacks the state that it started from.
    #[error("run {run} starts from step {step}, and the log has no state of that step")]
    NoFirstState {
        /// The run.
        run: i64,
        /// The step that it starts from.
        step: StepIndex,
    },
    /// A logged state cannot be restored.
    #[error("step {step} of run {run}: {error}")]
    Snapshot {
        /// The run.
        run: i64,
        /// The step.
        step: StepIndex,
        /// Reason.
        error: SnapshotError,
    },
    /// A logged command cannot be read.
    #[error("the command '{text}' of step {step} cannot be repeated: {why}")]
    Command {
        /// The step that it acted in.
        step: StepIndex,
        /// The command.
        text: String,
        /// Reason.
        why: &'static str,
    },
    /// A row lies so far behind all others that it cannot belong to the run.
    #[error(
        "run {run} has a row of step {step} in simulationRow, but only {logged} steps are logged; `simpartner db verify {run}` \
         says what is missing"
    )]
    MisplacedRow {
        /// The run.
        run: i64,
        /// The step of the row.
        step: StepIndex,
        /// Number of logged steps.
        logged: u64,
    },
    /// The log's model is not the one that its tables were written for.
    #[error(
        "run {run}: the model and the tables in its log do not fit: {what}; one of them was changed after the run; `simpartner \
         db verify {run}` says more"
    )]
    OtherModel {
        /// The run.
        run: i64,
        /// Description of the difference.
        what: String,
    },
    /// There is nothing in the log to compare the steps with.
    #[error("run {run} was repeated, but its log has no hash of these steps to compare with")]
    NoHashes {
        /// The run.
        run: i64,
    },
    /// The run cannot be reproduced up to the step of the fork.
    #[error("run {run} differs from its log in step {step}; `simpartner replay {run}` has details")]
    NotReproduced {
        /// The run.
        run: i64,
        /// The first step that differs.
        step: StepIndex,
    },
    /// The fork's settings make a simulation that cannot take the state.
    #[error("the settings do not fit the state of step {step}: {error}")]
    OtherSettings {
        /// The step of the fork.
        step: StepIndex,
        /// Reason.
        error: SnapshotError,
    },
}
