//! A run: a world with its engine, clock, ports and log, from the first step to a clean end.
//!
//! The functions of this module return reports and typed errors. They print nothing, install no signal handler and read
//! no environment variable, so the command line, tests and programs that embed the simulator use them alike. Start at
//! [`Job`], then [`run`].

mod archive;
mod entities;
mod error;
mod prepare;

use std::{path::PathBuf, pin::Pin, sync::Arc};

use futures_util::{Stream, StreamExt, stream};
use simpartner_model::StepIndex;
use tokio::sync::oneshot;

use simpartner_description::World;
use simpartner_wire::ports_file::PortsFile;

use self::{archive::LogStatus, entities::NextWorlds};
use crate::{
    config::Config,
    realtime::{
        self, ClockReport, ClockSettings, Control, Grants, Handle, LockstepSettings, Mode, Outputs, PhysicsThread,
    },
    recorder::{ExpectedGrowth, LogSummary, Recorder, RecorderError, RecorderStatus, RunDescription, RunOutcome},
    server::{self, Archive, Entities, Server, Viewer},
};

pub use archive::LogArchive;
pub use error::RunError;
pub use prepare::{Job, build_simulation, target, warnings};

/// A stream of signals. The first ends a run as a client's QUIT does; one that comes when the run has ended, or is
/// ending, ends the waiting for the log's database as well.
pub type StopSignals = Pin<Box<dyn Stream<Item = ()> + Send>>;

/// Follows a run from outside. Every method has a default, so `()` is the observer that wants to know nothing.
pub trait Observer {
    /// Returns the signals that end the run. Called once, in the run's tokio runtime, before
    /// [`started`](Self::started): who reads the announcement may stop the run at once.
    fn stop_signals(&mut self) -> StopSignals {
        Box::pin(stream::pending())
    }

    /// True if a signal that comes when the run has ended ends the waiting for the log's database, as for a person at a
    /// terminal.
    fn may_cut_log(&self) -> bool {
        true
    }

    /// The ports are open and the run is in the log; the first step comes next.
    fn started(&mut self, _: &Started<'_>) {}
}

impl Observer for () {}

/// A run that is about to make its first step.
#[derive(Debug)]
pub struct Started<'a> {
    /// Its configuration.
    pub config: &'a Config,
    /// The last step, if the run ends by itself.
    pub end: Option<StepIndex>,
    /// Rights that the operating system granted to the physics thread.
    pub grants: &'a Grants,
    /// Expected growth of the log; `None` for a run without a log.
    pub growth: Option<ExpectedGrowth>,
    /// The open ports; `None` for a run that serves none.
    pub server: Option<&'a Server>,
}

/// A run that has ended.
#[derive(Debug)]
pub struct RunReport {
    /// Steps, times and the hash of the final state.
    pub clock: ClockReport,
    /// The log, or why it failed; `None` for a run without one.
    pub log: Option<Result<LogSummary, RecorderError>>,
}

/// Runs a job to its end. It blocks, so it must not be called from an async task.
///
/// Ports are opened before the run is entered into the log, so a start that fails leaves no trace there. The end goes
/// the other way: physics, sessions, log.
///
/// # Errors
/// When the run cannot start, or its physics thread dies. A run that ended early for another reason returns a report,
/// and [`outcome`](ClockReport::outcome) is the reason.
pub fn run(job: Job, observer: &mut dyn Observer) -> Result<RunReport, RunError> {
    let Job { simulation, config, end, origin } = job;
    // A fast run that ends by itself is a computation: it opens no port and waits for nobody.
    let serves = !(config.simulation.mode == Mode::Fast && end.is_some());
    if serves {
        server::raise_descriptor_limit();
    }
    let world = Arc::clone(simulation.world());
    let lockstep = prepare::lockstep(&config, simulation.layout())?;
    let description = RunDescription { origin, ..prepare::describe(&simulation, &config) };
    let viewer = config.viewer_port.map(|port| page_contents(&config, port, &world));

    let (handle, inbox) =
        realtime::channel(Arc::clone(simulation.layout()), simulation.timestep(), simulation.observe());
    let ends_with_sequence = config.simulation.mode == Mode::Fast && end.is_none() && simulation.plays_sequence();
    let clock = ClockSettings { ends_with_sequence, ..clock_settings(&config, lockstep, end, serves) };
    let (thread, grants) = PhysicsThread::prepare(simulation, inbox, clock)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let server = match serves {
        true => Some(runtime.block_on(bind_server(&config, &handle, &world, viewer))?),
        false => None,
    };
    let next_worlds = Arc::new(NextWorlds::new(&config));
    let server = server.map(|server| server.with_entities(Arc::clone(&next_worlds) as Arc<dyn Entities>));
    let ports_file = server.as_ref().map(|server| PublishedPorts::write(server, &config)).transpose()?;
    let recorder = match &config.log {
        Some(settings) => {
            let description = RunDescription { realtime_grants: grants.to_string(), ..description };
            Some(Recorder::start(settings.clone(), description)?)
        }
        None => None,
    };
    if let Some(recorder) = &recorder {
        next_worlds.set_log(recorder.worlds(), grants.to_string());
    }
    let log_status = recorder.as_ref().map(|recorder| Arc::new(LogStatus(recorder.status())));
    let server = match (server, log_status) {
        (Some(server), Some(status)) => Some(server.with_log(status)),
        (server, _) => server,
    };
    let growth = recorder.as_ref().map(Recorder::expected);
    let started = Started { config: &config, end, grants: &grants, growth, server: server.as_ref() };
    let stop = {
        let _runtime = runtime.enter();
        observer.stop_signals()
    };
    observer.started(&started);
    let cut = recorder.as_ref().filter(|_| observer.may_cut_log()).map(Recorder::status);
    runtime.spawn(quit_at_signal(stop, handle, cut));
    let ended = runtime.block_on(make_steps(thread, recorder.as_ref(), server));
    next_worlds.close();
    drop(ports_file);
    let report = close_log(ended, recorder);
    // Dropped, it would wait for files that are still being read, such as those of a robot that was to come.
    runtime.shutdown_background();
    report
}

/// Returns the page's contents: the world, the runs of the log, and the documentation.
fn page_contents(config: &Config, port: u16, world: &Arc<World>) -> Viewer {
    let archive = config.log.as_ref().map(|log| Arc::new(LogArchive::new(&log.database)) as Arc<dyn Archive>);
    Viewer { port, world: Arc::clone(world), archive, documentation: Some(simpartner_book::file) }
}

/// Closes the log behind a run.
fn close_log(ended: Result<ClockReport, RunError>, recorder: Option<Recorder>) -> Result<RunReport, RunError> {
    match ended {
        Ok(clock) => {
            let log = recorder.map(|recorder| recorder.finish(outcome_of(&clock)));
            Ok(RunReport { clock, log })
        }
        Err(error) => {
            // Nothing was simulated: the run's row says so, and the error that stopped it is the one to report.
            if let Some(recorder) = recorder {
                let _ = recorder.finish(RunOutcome { status: "notStarted".into(), ..RunOutcome::default() });
            }
            Err(error)
        }
    }
}

fn clock_settings(config: &Config, lockstep: LockstepSettings, end: Option<StepIndex>, serves: bool) -> ClockSettings {
    let settings = &config.simulation;
    let snapshot_interval_s = config.log.as_ref().and_then(|log| log.snapshot_interval_s);
    ClockSettings {
        mode: settings.mode,
        rate: settings.rate,
        max_catchup_steps: settings.max_catchup_steps,
        on_overrun: settings.on_overrun,
        lockstep,
        end,
        ends_with_sequence: false,
        start_paused: settings.start_paused && serves,
        unattended: !serves,
        snapshot_interval_steps: snapshot_interval_s.map_or(0, |interval| settings.timestep.steps_in(interval).max(1)),
        scheduling: config.realtime,
    }
}

/// Opens the ports.
async fn bind_server(
    config: &Config,
    handle: &Handle,
    world: &Arc<World>,
    viewer: Option<Viewer>,
) -> Result<Server, RunError> {
    let server = Server::bind(config.server.clone(), handle.clone()).await?.with_world(Arc::clone(world));
    Ok(match viewer {
        Some(viewer) => server.with_viewer(viewer).await?,
        None => server,
    })
}

/// Serves the ports, starts the clock and waits for its end.
async fn make_steps(
    mut thread: PhysicsThread,
    recorder: Option<&Recorder>,
    server: Option<Server>,
) -> Result<ClockReport, RunError> {
    thread.start(Outputs {
        log: recorder.map(Recorder::sender),
        log_flags: recorder.map(|recorder| recorder.status().flags()).unwrap_or_default(),
    })?;
    let (close, closed) = oneshot::channel();
    let sessions = server.map(|server| tokio::spawn(server.run(closed)));
    let report = tokio::task::spawn_blocking(move || thread.join()).await;
    // The sessions end whether or not anybody receives the message.
    let _ = close.send(());
    if let Some(sessions) = sessions {
        let _ = sessions.await;
    }
    let report = report.map_err(|_| realtime::ThreadError::Panicked)??;
    report.ok_or_else(|| realtime::ThreadError::Panicked.into())
}

/// Ends the run at the first signal, and the waiting for its database at the next. If the run is over already, the
/// first does that.
async fn quit_at_signal(mut signals: StopSignals, handle: Handle, log: Option<Arc<RecorderStatus>>) {
    if signals.next().await.is_none() {
        return;
    }
    let has_ended = handle.control(Control::Quit).await.is_err();
    if let Some(log) = log
        && (has_ended || signals.next().await.is_some())
    {
        log.hurry();
    }
}

fn outcome_of(report: &ClockReport) -> RunOutcome {
    RunOutcome {
        status: report.outcome.name().into(),
        steps: report.step.0,
        slips: report.slips,
        lateness: report.lateness,
        real_time_factor: report.real_time_factor(),
        state_hash: report.state_hash.clone(),
        events: report.events.clone(),
    }
}

/// The file of ports, which exists from now until this is dropped.
#[derive(Debug)]
struct PublishedPorts {
    file: PortsFile,
    path: PathBuf,
}

impl PublishedPorts {
    /// Writes the file if the configuration names one.
    fn write(server: &Server, config: &Config) -> Result<Option<Self>, RunError> {
        let Some(path) = config.ports_file.clone() else { return Ok(None) };
        let file = server.ports_file();
        file.write(&path)?;
        Ok(Some(Self { file, path }))
    }
}

impl Drop for PublishedPorts {
    fn drop(&mut self) {
        self.file.remove(&self.path);
    }
}
