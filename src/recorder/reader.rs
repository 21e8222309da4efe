//! Reading logs back: through connections of its own that cannot write, beside a run that does.

use simpartner_description::SourceFile;
use simpartner_model::{DeviceId, Timestep};
use simpartner_wire::signal::{Layout, StepRecord};
use tokio::runtime::Handle;

use super::{Cadence, Completeness, Database, RecorderError, Rows, complete, read, setting::Setting};

/// A database of logs.
#[derive(Debug, Clone)]
pub struct Reader {
    database: Database,
}

/// A run as the log has it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedRun {
    /// Its number.
    pub simulation_id: i64,
    /// Name of its world.
    pub world: String,
    /// When it began, UTC, ISO 8601.
    pub started: String,
    /// How it ended, or `running`.
    pub status: String,
    /// Length of a step.
    pub timestep: Timestep,
    /// One step in so many is logged, as long as the log is not thinned out.
    pub every_n_steps: u64,
    /// Which steps are logged.
    pub cadence: Cadence,
    /// Which rows are left out since they are like the ones before.
    pub rows: Rows,
    /// The step of another run that it goes on from, if it is a fork.
    pub origin: Option<u64>,
    /// How much has been written of it, about, bytes; `None` if that was not counted.
    pub bytes: Option<u64>,
    /// The first and the last logged step, if any.
    pub steps: Option<(u64, u64)>,
    /// Simulated seconds per wall second, once it is over.
    pub real_time_factor: Option<f64>,
}

/// An event as the log has it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedEvent {
    /// The step after which it was seen.
    pub step: u64,
    /// How often the process had reset the world before.
    pub resets: u64,
    /// The name of its kind.
    pub kind: String,
    /// Whom it concerns.
    pub subject: String,
    /// A sentence for people.
    pub text: String,
    /// Its figure.
    pub value: Option<f64>,
}

/// Commands of a client for a device, as the log has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedCommands {
    /// The step in which the latest took effect.
    pub step: u64,
    /// How often the process had reset the world before.
    pub resets: u64,
    /// For which device.
    pub device: DeviceId,
    /// The number of the client.
    pub client: u64,
    /// The latest.
    pub text: String,
    /// How many there are.
    pub count: u64,
}

impl RecordedRun {
    /// How many steps before one the row stands, at most, that a row left out is like.
    pub fn reach(&self) -> u64 {
        self.rows.reach(self.cadence)
    }
}

impl Reader {
    /// Reads from this database, which need not be there yet.
    pub fn new(database: &Database) -> Self {
        Self { database: database.clone() }
    }

    /// All runs, the newest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn runs(&self) -> Result<Vec<RecordedRun>, RecorderError> {
        self.ask(|runtime, database| runtime.block_on(read::runs(database, None))).await
    }

    /// A run, if there is one of this number.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn run(&self, simulation: i64) -> Result<Option<RecordedRun>, RecorderError> {
        let runs = self.ask(move |runtime, database| runtime.block_on(read::runs(database, Some(simulation)))).await?;
        Ok(runs.into_iter().next())
    }

    /// The model files of a run, its world first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn sources(&self, simulation: i64) -> Result<Vec<SourceFile>, RecorderError> {
        self.ask(move |runtime, database| runtime.block_on(read::sources(database, simulation))).await
    }

    /// At most `count` of the logged steps `from`, `from + every` and so on, laid out as the run was. Where the
    /// log is thinned out, the last logged step stands for those behind it that it leaves out. What the log does not have of a
    /// step is not a number: readings that are not fresh, and what actuators were set to, for which see
    /// [`settings`](Self::settings).
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn steps(
        &self,
        simulation: i64,
        layout: &Layout,
        from: u64,
        every: u64,
        count: u64,
    ) -> Result<Vec<StepRecord>, RecorderError> {
        let wanted = read::Wanted { simulation, from, every, count };
        let layout = layout.clone();
        self.ask(move |runtime, database| runtime.block_on(read::steps(database, &layout, wanted))).await
    }

    /// Fills in what actuators were set to in these steps, which follow each other: it follows from the commands of the run.
    /// `first` is what each device was set to before the first command. Where a fault may have kept a command from taking
    /// effect, it stays unknown.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn settings(
        &self,
        simulation: i64,
        layout: &Layout,
        first: &[Vec<f64>],
        records: &mut [StepRecord],
    ) -> Result<(), RecorderError> {
        let (Some(begin), Some(end)) = (records.first(), records.last()) else { return Ok(()) };
        let (kept, steps) = (layout.clone(), (begin.step, end.step));
        let commands =
            self.ask(move |runtime, database| runtime.block_on(read::commands(database, &kept, simulation, steps)));
        let commands = commands.await?;
        let mut commands = commands.into_iter().peekable();
        let mut settings: Vec<Setting> = first.iter().map(|values| Setting::new(values)).collect();
        for record in records {
            while let Some(command) = commands.next_if(|command| command.step <= record.step) {
                let info = layout.device_info(command.device);
                if let Some(setting) = settings.get_mut(command.device.index()) {
                    setting.follow(info, &command.text, &command.reply);
                }
            }
            for (index, setting) in settings.iter().enumerate() {
                let place = &mut record.values[layout.device(DeviceId::new(index))];
                if layout.devices()[index].kind.is_actuator() && place.len() == setting.values().len() {
                    place.copy_from_slice(setting.values());
                }
            }
        }
        Ok(())
    }

    /// All commands of a run, in at most about `most` parts: where there are more, those of a client for a device within a
    /// stretch of steps are counted together.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn commands(
        &self,
        simulation: i64,
        layout: &Layout,
        most: u64,
    ) -> Result<Vec<RecordedCommands>, RecorderError> {
        let kept = layout.clone();
        self.ask(move |runtime, database| runtime.block_on(read::command_counts(database, &kept, simulation, most)))
            .await
    }

    /// The first events of a run, at most so many, and besides at most so many of clients that came and left.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn events(&self, simulation: i64, most: u64) -> Result<Vec<RecordedEvent>, RecorderError> {
        self.ask(move |runtime, database| runtime.block_on(read::events(database, simulation, most))).await
    }

    /// Whether runs are complete and unchanged, in one state of the database: the one of this number, or all.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn verify(&self, only: Option<i64>) -> Result<Vec<Completeness>, RecorderError> {
        self.ask(move |_, database| complete::check(database, only)).await
    }

    /// Asks on a thread that may wait: the drivers' futures stay on the thread they began on.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Handle, &Database) -> Result<T, RecorderError> + Send + 'static,
    ) -> Result<T, RecorderError> {
        let (runtime, database) = (Handle::current(), self.database.clone());
        let answer = tokio::task::spawn_blocking(move || question(&runtime, &database)).await;
        answer.unwrap_or(Err(RecorderError::WriterLost))
    }
}
