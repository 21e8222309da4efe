//! Reading logs back: through connections of its own that cannot write, beside a run that does.

use std::path::PathBuf;

use super::{Database, RecorderError, setting::Setting, sqlite};
use crate::{
    model::SourceFile,
    signal::{DeviceId, Layout, StepRecord, Timestep},
};

/// A database of logs.
#[derive(Debug, Clone)]
pub struct Reader {
    path: PathBuf,
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
    /// One step in so many is logged.
    pub every_n_steps: u64,
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

impl Reader {
    /// Reads from this database, which need not be there yet.
    pub fn new(database: &Database) -> Self {
        Self { path: database.path().to_owned() }
    }

    /// All runs, the newest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn runs(&self) -> Result<Vec<RecordedRun>, RecorderError> {
        sqlite::read::runs(&self.path, None).await
    }

    /// A run, if there is one of this number.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn run(&self, simulation: i64) -> Result<Option<RecordedRun>, RecorderError> {
        Ok(sqlite::read::runs(&self.path, Some(simulation)).await?.pop())
    }

    /// The model files of a run, its world first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn sources(&self, simulation: i64) -> Result<Vec<SourceFile>, RecorderError> {
        sqlite::read::sources(&self.path, simulation).await
    }

    /// At most `count` of the logged steps `from`, `from + every` and so on, laid out as the run was. What the log does not
    /// have is not a number: readings that are not fresh, and what actuators were set to, for which see
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
        let wanted = sqlite::read::Wanted { simulation, from, every, count };
        sqlite::read::steps(&self.path, layout, wanted).await
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
        let commands = sqlite::read::commands(&self.path, layout, simulation, begin.step, end.step).await?;
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

    /// The first events of a run, at most so many.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn events(&self, simulation: i64, most: u64) -> Result<Vec<RecordedEvent>, RecorderError> {
        sqlite::read::events(&self.path, simulation, most).await
    }
}
