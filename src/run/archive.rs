//! Adapter of the recorder's logs to the server's archive. Recorder and server do not know each other; this adapter
//! knows both. It reads each run's model from the texts in its log.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use simpartner_description::xml;
use simpartner_wire::signal::{Layout, StepRecord};

use crate::{
    device,
    recorder::{Database, Reader, RecorderStatus},
    server::{Answer, Archive, ArchiveError, LogFigures, LoggedCommands, LoggedEvent, LoggedRun, RunModel},
};

/// Largest number of cached models. A model does not change, and reading it takes as long as a whole request may.
const MAX_CACHED_MODELS: usize = 4;

/// The recorded runs of a database.
pub struct LogArchive {
    reader: Reader,
    models: Mutex<VecDeque<(i64, Arc<RunModel>)>>,
}

impl LogArchive {
    /// The archive of a database, which need not exist yet.
    pub fn new(database: &Database) -> Self {
        Self { reader: Reader::new(database), models: Mutex::default() }
    }

    async fn read_model(&self, id: i64) -> Result<Option<Arc<RunModel>>, ArchiveError> {
        let Some(run) = self.reader.run(id).await.map_err(archive_error)? else { return Ok(None) };
        let sources = self.reader.sources(id).await.map_err(archive_error)?;
        let world = xml::read_kept(&sources).map_err(archive_error)?;
        let describe = |spec| device::describe(spec, &world, run.timestep);
        let devices = world.devices.iter().map(describe).collect();
        let layout = Layout::new(world.mechanism.bodies.len(), world.mechanism.joints.len(), devices);
        Ok(Some(Arc::new(RunModel { world, layout, timestep: run.timestep, every: run.every_n_steps })))
    }

    /// The cached models. The list is consistent between any two statements, so a panic elsewhere does not corrupt it.
    fn lock_models(&self) -> std::sync::MutexGuard<'_, VecDeque<(i64, Arc<RunModel>)>> {
        self.models.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Archive for LogArchive {
    fn runs(&self) -> Answer<'_, Vec<LoggedRun>> {
        Box::pin(async {
            let runs = self.reader.runs().await.map_err(archive_error)?;
            let logged = runs.into_iter().map(|run| LoggedRun {
                id: run.simulation_id,
                world: run.world,
                started: run.started,
                status: run.status,
                timestep: run.timestep,
                steps: run.steps,
                every: run.every_n_steps,
                real_time_factor: run.real_time_factor,
            });
            Ok(logged.collect())
        })
    }

    fn model(&self, run: i64) -> Answer<'_, Option<Arc<RunModel>>> {
        Box::pin(async move {
            let found = self.lock_models().iter().find(|(id, _)| *id == run).map(|(_, model)| Arc::clone(model));
            if found.is_some() {
                return Ok(found);
            }
            let model = self.read_model(run).await?;
            if let Some(model) = &model {
                let mut cached = self.lock_models();
                cached.truncate(MAX_CACHED_MODELS - 1);
                cached.push_front((run, Arc::clone(model)));
            }
            Ok(model)
        })
    }

    fn steps<'a>(
        &'a self,
        run: i64,
        model: &'a RunModel,
        from: u64,
        every: u64,
        count: u64,
    ) -> Answer<'a, Vec<StepRecord>> {
        Box::pin(async move {
            let mut records = self.reader.steps(run, &model.layout, from, every, count).await.map_err(archive_error)?;
            let first: Vec<_> =
                model.world.devices.iter().map(|device| device::first_setting(&device.spec, &model.world)).collect();
            self.reader.settings(run, &model.layout, &first, &mut records).await.map_err(archive_error)?;
            Ok(records)
        })
    }

    fn events(&self, run: i64, most: u64) -> Answer<'_, Vec<LoggedEvent>> {
        Box::pin(async move {
            let events = self.reader.events(run, most).await.map_err(archive_error)?;
            let logged = events.into_iter().map(|event| LoggedEvent {
                step: event.step,
                epoch: event.resets,
                kind: event.kind,
                subject: event.subject,
                text: event.text,
                value: event.value,
            });
            Ok(logged.collect())
        })
    }

    fn commands<'a>(&'a self, run: i64, model: &'a RunModel, most: u64) -> Answer<'a, Vec<LoggedCommands>> {
        Box::pin(async move {
            let counted = self.reader.commands(run, &model.layout, most).await.map_err(archive_error)?;
            let logged = counted.into_iter().map(|counted| {
                let info = model.layout.device_info(counted.device);
                LoggedCommands {
                    step: counted.step,
                    epoch: counted.resets,
                    device: format!("{}/{}", info.robot, info.name),
                    client: counted.client,
                    text: counted.text,
                    count: counted.count,
                }
            });
            Ok(logged.collect())
        })
    }
}

/// Size and growth of the log that is being written, for the server's `STATE`.
#[derive(Debug)]
pub(super) struct LogStatus(pub(super) Arc<RecorderStatus>);

impl LogFigures for LogStatus {
    fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    fn bytes_per_second(&self) -> f64 {
        self.0.bytes_per_second()
    }
}

/// The error of an archive that has the text of another error.
fn archive_error(error: impl std::fmt::Display) -> ArchiveError {
    ArchiveError(error.to_string())
}
