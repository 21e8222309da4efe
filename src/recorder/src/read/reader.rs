//! Reads logs from async programs, beside a run that is being written. Each question opens a connection of its own and closes it with the
//! answer, so that SQLite can copy its write-ahead log into the file in between.

use simpartner_description::SourceFile;
use simpartner_model::DeviceId;
use simpartner_wire::signal::{Layout, StepRecord};

use super::{
    commands,
    recorded::{RecordedCommands, RecordedEvent, RecordedRun},
    runs,
    setting::Setting,
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
        self.ask(async |connection| runs::runs(connection, None).await).await
    }

    /// A run, if there is one of this number.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn run(&self, simulation: i64) -> Result<Option<RecordedRun>, RecorderError> {
        let runs = self.ask(async move |connection| runs::runs(connection, Some(simulation)).await).await?;
        Ok(runs.into_iter().next())
    }

    /// The model files of a run, its world first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn sources(&self, simulation: i64) -> Result<Vec<SourceFile>, RecorderError> {
        self.ask(async move |connection| runs::sources(connection, simulation).await).await
    }

    /// At most `count` of the logged steps `from`, `from + every` and so on, in the layout of the run. Where the log is thinned out,
    /// the last logged step stands for those that it leaves out. Values that the log does not have are NaN: readings that are not fresh,
    /// and the settings of actuators, for which see [`settings`](Self::settings).
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
        let wanted = steps::Wanted { run: simulation, from, every, count };
        let layout = layout.clone();
        self.ask(async move |connection| steps::steps(connection, &layout, wanted).await).await
    }

    /// Fills in the settings of actuators in these steps, which are in their order: they follow from the commands of the run. `first` is
    /// each device's setting before the first command. Where a fault may have kept a command from taking effect, the setting is NaN.
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
            self.ask(async move |connection| commands::commands(connection, &kept, simulation, steps).await).await?;
        let mut commands = commands.into_iter().peekable();
        let mut settings: Vec<Setting> = first.iter().map(|values| Setting::new(values)).collect();
        for record in records {
            while let Some(command) = commands.next_if(|command| command.step <= record.step) {
                let info = layout.device_info(command.device);
                if let Some(setting) = settings.get_mut(command.device.index()) {
                    setting.apply(info, &command.text, &command.reply);
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

    /// All commands of a run, in about `most` groups at most: where there are more commands, those of a client for a device within a
    /// range of steps are counted together.
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
        self.ask(async move |connection| commands::command_counts(connection, &kept, simulation, most).await).await
    }

    /// The first events of a run, at most so many, and besides at most so many of clients that connected and disconnected.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn events(&self, simulation: i64, most: u64) -> Result<Vec<RecordedEvent>, RecorderError> {
        self.ask(async move |connection| commands::events(connection, simulation, most).await).await
    }

    /// Whether runs are complete and unchanged, in one state of the database: the one of this number, or all.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn verify(&self, only: Option<i64>) -> Result<Vec<Completeness>, RecorderError> {
        let database = self.database.clone();
        let verified = tokio::task::spawn_blocking(move || verify::verify(&database, only)).await;
        verified.unwrap_or(Err(RecorderError::WriterLost))
    }

    /// Asks on a thread that may block: the drivers' futures stay on the thread that they began on.
    async fn ask<T: Send + 'static>(
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
