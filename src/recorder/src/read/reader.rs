//! Reads logs from async programs, also while a run is being written. Each call opens a connection of its own and
//! closes it before it returns, so that SQLite can copy its write-ahead log into the file in between.

use simpartner_description::SourceFile;
use simpartner_model::DeviceId;
use simpartner_wire::signal::{Layout, StepRecord};

use super::{
    commands,
    recorded::{RecordedCommands, RecordedEvent, RecordedRun},
    runs,
    setting::ActuatorSetting,
    steps,
    verify::{self, Completeness},
};
use crate::database::{address::Database, connection::Connection, driver::Access, error::RecorderError};

/// A database of logs.
#[derive(Debug, Clone)]
pub struct Reader {
    database: Database,
}

impl Reader {
    /// A reader of this database, which need not exist yet.
    pub fn new(database: &Database) -> Self {
        Self { database: database.clone() }
    }

    /// All runs, the newest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn runs(&self) -> Result<Vec<RecordedRun>, RecorderError> {
        self.with_connection(async |connection| runs::query_runs(connection, None).await).await
    }

    /// The run of this number; `None` if there is no such run.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn run(&self, simulation: i64) -> Result<Option<RecordedRun>, RecorderError> {
        let runs =
            self.with_connection(async move |connection| runs::query_runs(connection, Some(simulation)).await).await?;
        Ok(runs.into_iter().next())
    }

    /// The model files of a run, its world first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn sources(&self, simulation: i64) -> Result<Vec<SourceFile>, RecorderError> {
        self.with_connection(async move |connection| runs::query_sources(connection, simulation).await).await
    }

    /// At most `count` of the logged steps `from`, `from + every` and so on, in the layout of the run. Where the log is
    /// thinned out, the last logged step stands for the steps that the log leaves out. Values that the log does not
    /// have are NaN: readings that are not fresh, and the settings of actuators, which [`settings`](Self::settings)
    /// fills in.
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
        let wanted = steps::StepSequence { run: simulation, from, every, count };
        let layout = layout.clone();
        self.with_connection(async move |connection| steps::query_steps(connection, &layout, wanted).await).await
    }

    /// Fills in the settings of actuators, computed from the commands of the run. `records` are steps in ascending
    /// order. `first` is the setting of each device before the first command. A setting is NaN if a fault may have kept
    /// a command from taking effect.
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
        let commands = self
            .with_connection(async move |connection| {
                commands::query_commands(connection, &kept, simulation, steps).await
            })
            .await?;
        let mut commands = commands.into_iter().peekable();
        let mut settings: Vec<ActuatorSetting> = first.iter().map(|values| ActuatorSetting::new(values)).collect();
        for record in records {
            while let Some(command) = commands.next_if(|command| command.step <= record.step) {
                let info = layout.device_info(command.device);
                if let Some(setting) = settings.get_mut(command.device.index()) {
                    setting.apply_command(info, &command.text, &command.reply);
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

    /// All commands of a run, in at most about `most` groups. If there are more commands, a group counts the commands
    /// of one client for one device within a range of steps.
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
        self.with_connection(async move |connection| {
            commands::query_command_groups(connection, &kept, simulation, most).await
        })
        .await
    }

    /// The first `most` events of a run other than connections, and the first `most` events of clients that connected
    /// and disconnected.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn events(&self, simulation: i64, most: u64) -> Result<Vec<RecordedEvent>, RecorderError> {
        self.with_connection(async move |connection| commands::query_events(connection, simulation, most).await).await
    }

    /// Checks that runs are complete and unchanged, in one snapshot of the database. `only` is the number of the run to
    /// check; `None` checks all.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn verify(&self, only: Option<i64>) -> Result<Vec<Completeness>, RecorderError> {
        let database = self.database.clone();
        let verified = tokio::task::spawn_blocking(move || verify::verify_runs(&database, only)).await;
        verified.unwrap_or(Err(RecorderError::WriterLost))
    }

    /// Runs a question with a new connection, on a thread that may block, because the futures of the database drivers
    /// must stay on the thread on which they began.
    async fn with_connection<T: Send + 'static>(
        &self,
        question: impl AsyncFnOnce(&mut Connection) -> Result<T, RecorderError> + Send + 'static,
    ) -> Result<T, RecorderError> {
        let (runtime, database) = (tokio::runtime::Handle::current(), self.database.clone());
        let answer = tokio::task::spawn_blocking(move || {
            runtime.block_on(async { question(&mut Connection::open(&database, Access::Read).await?).await })
        });
        answer.await.unwrap_or(Err(RecorderError::WriterLost))
    }
}
