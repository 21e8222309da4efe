//! The main job: a world from XML, its clock, its ports and its log, from the start to a clean end.
//!
//! Doors open in order (ports, log, first step) and close in the opposite one: physics, sessions, log. A run that cannot have
//! its ports is not entered into the log.

use std::sync::Arc;

use simpartner_description::{Timeline, World, xml};
use simpartner_dynamics::MassProperties;
use simpartner_model::{RobotId, StepIndex};
use simpartner_wire::{
    protocol::{self, Refusal},
    signal::{Layout, Member},
};
use tokio::sync::oneshot;

use super::{
    CliError, ExitStatus, Logs, RunArguments,
    archive::Figures,
    output::note,
    ports::Announced,
    prepare::{self, Prepared, prepare},
    properties::{self, Properties},
    signals,
    summary::{self, Summary},
};
use crate::{
    realtime::{self, Control, Grants, Handle, LockstepSettings, Mode, Outcome, Outputs, PhysicsThread, RunReport},
    recorder::{LogSummary, Origin, Recorder, RecorderError, RunDescription, RunOutcome},
    server::{self, Archive, Server, Viewer},
    sim::Simulation,
};

/// Runs the configured world.
pub(super) fn run(arguments: &RunArguments) -> Result<ExitStatus, CliError> {
    let properties = arguments.properties()?;
    let world = Arc::new(xml::read_world(&properties.simulation.world_file)?);
    tell_built_in(&world);
    let sequence = arguments.sequence.as_deref().map(xml::read_sequence).transpose()?;
    let Prepared { simulation, timeline } = prepare(&world, sequence.as_ref(), &properties)?;
    for warning in prepare::warnings(&world, false, &properties)? {
        tracing::warn!("{warning}");
    }
    let end = end_of(&properties, timeline.as_ref());
    launch(Job { simulation, properties, end, origin: None })
}

/// Names the built-in files that a world from the file system uses.
fn tell_built_in(world: &World) {
    let built_in: Vec<&str> =
        world.sources.iter().map(|file| file.path.as_str()).filter(|path| xml::is_built_in(path)).collect();
    if !built_in.is_empty() && built_in.len() < world.sources.len() {
        note(format_args!("built in  {}", built_in.join(", ")));
    }
}

/// A simulation that is ready to run.
pub(super) struct Job {
    pub(super) simulation: Simulation,
    pub(super) properties: Properties,
    /// The last step, if there is one.
    pub(super) end: Option<StepIndex>,
    /// The run that it goes on from, if it does not begin with the model.
    pub(super) origin: Option<Origin>,
}

/// Runs it to its end.
pub(super) fn launch(job: Job) -> Result<ExitStatus, CliError> {
    let Job { simulation, properties, end, origin } = job;
    let plan = Plan::new(&properties, end);
    if plan.serves {
        server::raise_descriptor_limit();
    }
    let world = Arc::clone(simulation.world());
    let lockstep = lockstep(&properties, simulation.layout())?;
    let description = RunDescription { origin, ..describe(&simulation, &world, &properties) };
    let logs = || properties.log.as_ref().map(|log| Arc::new(Logs::new(&log.database)) as Arc<dyn Archive>);
    let viewer = properties.viewer_port.map(|port| Viewer { port, world: Arc::clone(&world), archive: logs() });

    let (handle, inbox) =
        realtime::channel(Arc::clone(simulation.layout()), simulation.timestep(), simulation.observe());
    let (thread, grants) = PhysicsThread::prepare(simulation, inbox, plan.clock(&properties, lockstep))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let server = match plan.serves {
        true => Some(runtime.block_on(bind(&properties, &handle, viewer))?),
        false => None,
    };
    let announced = server.as_ref().map(|server| Announced::write(server, &properties)).transpose()?;
    let recorder = match &properties.log {
        Some(settings) => {
            let description = RunDescription { realtime_grants: grants.to_string(), ..description };
            Some(Recorder::start(settings.clone(), description)?)
        }
        None => None,
    };
    let ended = runtime.block_on(conduct(&plan, &properties, handle, thread, recorder.as_ref(), &grants, server));
    drop(announced);
    let (report, log) = match (ended, recorder) {
        (Ok(report), Some(recorder)) => {
            let log = recorder.finish(outcome_of(&report));
            (report, Some(log))
        }
        (Ok(report), None) => (report, None),
        (Err(error), recorder) => {
            // Nothing was simulated: the run's row says so, and the error that stopped it is the one to show.
            if let Some(recorder) = recorder {
                let _ = recorder.finish(RunOutcome { status: "notStarted".into(), ..RunOutcome::default() });
            }
            return Err(error);
        }
    };
    conclude(&report, log)
}

/// What this call is to do.
struct Plan {
    end: Option<StepIndex>,
    /// A fast run that ends by itself is a computation: it opens no port and waits for nobody.
    serves: bool,
}

/// The step that ends the run: the settings say it, or in `fast` mode the sequence.
fn end_of(properties: &Properties, timeline: Option<&Timeline>) -> Option<StepIndex> {
    let settings = &properties.simulation;
    let duration = settings.duration_s.map(|duration| settings.timestep.steps_in(duration));
    let sequence = timeline.filter(|_| settings.mode == Mode::Fast).map(|timeline| timeline.steps);
    duration.or(sequence).map(StepIndex)
}

impl Plan {
    fn new(properties: &Properties, end: Option<StepIndex>) -> Self {
        Self { end, serves: !(properties.simulation.mode == Mode::Fast && end.is_some()) }
    }

    fn clock(&self, properties: &Properties, lockstep: LockstepSettings) -> realtime::Settings {
        let settings = &properties.simulation;
        realtime::Settings {
            mode: settings.mode,
            rate: settings.rate,
            max_catchup_steps: settings.max_catchup_steps,
            on_overrun: settings.on_overrun,
            lockstep,
            end: self.end,
            start_paused: settings.start_paused && self.serves,
            unattended: !self.serves,
            snapshot_interval_steps: properties
                .log
                .as_ref()
                .and_then(|log| log.snapshot_interval_s)
                .map_or(0, |interval| settings.timestep.steps_in(interval).max(1)),
            scheduling: properties.realtime,
        }
    }
}

/// Whom the clock waits for in lockstep: the ports that the settings name, or else the combined ports of all robots.
pub(super) fn lockstep(properties: &Properties, layout: &Layout) -> Result<LockstepSettings, CliError> {
    let properties::Lockstep { members, timeout, on_timeout } = &properties.lockstep;
    let named = members.iter().map(|name| protocol::lockstep_member(layout, name));
    let mut members = named.collect::<Result<Vec<_>, _>>().map_err(|refusal| {
        let what = match refusal {
            Refusal::Parameter(what) => what,
            other => other.to_string(),
        };
        CliError::Setting(format!("lockstep.members: {what}"))
    })?;
    if members.is_empty() {
        members = (0..layout.robots().len()).map(|index| Member::Robot(RobotId::new(index))).collect();
    }
    if members.is_empty() && properties.simulation.mode == Mode::Lockstep {
        return Err(CliError::Setting("simulation.mode: the world has no robot that lockstep could wait for".into()));
    }
    Ok(LockstepSettings { members, timeout: *timeout, on_timeout: *on_timeout })
}

fn describe(simulation: &Simulation, world: &Arc<World>, properties: &Properties) -> RunDescription {
    // The engine was built with these masses, so they can be had.
    let mass = |body| simpartner_dynamics::mass_properties(body).unwrap_or(MassProperties::ZERO);
    RunDescription {
        world: Arc::clone(world),
        layout: Arc::clone(simulation.layout()),
        masses: world.mechanism.bodies.iter().map(mass).collect(),
        timestep: simulation.timestep(),
        properties: properties.effective_text().to_owned(),
        engine: simulation.engine_identity(),
        target: target(),
        mode: properties.simulation.mode,
        realtime_grants: String::new(),
        origin: None,
    }
}

/// What the program was built for.
pub(super) fn target() -> String {
    format!("{} {}", std::env::consts::ARCH, std::env::consts::OS)
}

/// Opens the ports.
async fn bind(properties: &Properties, handle: &Handle, viewer: Option<Viewer>) -> Result<Server, CliError> {
    let server = Server::bind(properties.server.clone(), handle.clone()).await?;
    Ok(match viewer {
        Some(viewer) => server.with_viewer(viewer).await?,
        None => server,
    })
}

/// Serves the ports, lets the clock run and waits for its end.
async fn conduct(
    plan: &Plan,
    properties: &Properties,
    handle: Handle,
    mut thread: PhysicsThread,
    recorder: Option<&Recorder>,
    grants: &Grants,
    server: Option<Server>,
) -> Result<RunReport, CliError> {
    // Whoever has read the announcement may end the run.
    let signals = signals::termination();
    let server = match recorder {
        Some(recorder) => server.map(|server| server.with_log(Arc::new(Figures(recorder.status())))),
        None => server,
    };
    let growth = recorder.map(Recorder::expected);
    summary::announce(properties, grants, growth, server.as_ref(), plan.end);
    thread.start(Outputs {
        log: recorder.map(Recorder::sender),
        log_flags: recorder.map(|recorder| recorder.status().flags()).unwrap_or_default(),
    })?;
    let (close, closed) = oneshot::channel();
    let sessions = server.map(|server| tokio::spawn(server.run(closed)));
    let quitter = tokio::spawn(quit_on(signals, handle));
    let report = tokio::task::spawn_blocking(move || thread.join()).await;
    quitter.abort();
    // The sessions end whether or not anybody listens to the order.
    let _ = close.send(());
    if let Some(sessions) = sessions {
        let _ = sessions.await;
    }
    let report = report.map_err(|_| realtime::ThreadError::Panicked)??;
    report.ok_or_else(|| realtime::ThreadError::Panicked.into())
}

/// A signal ends the run as QUIT does.
async fn quit_on(signals: impl Future<Output = ()>, handle: Handle) {
    signals.await;
    // An error means that the run is over already.
    let _ = handle.control(Control::Quit).await;
}

fn outcome_of(report: &RunReport) -> RunOutcome {
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

/// Prints the summary and decides how the call ends.
fn conclude(report: &RunReport, log: Option<Result<LogSummary, RecorderError>>) -> Result<ExitStatus, CliError> {
    let log = match log {
        Some(Ok(log)) => Some(log),
        Some(Err(error)) => {
            Summary { report, log: None }.print();
            return Err(error.into());
        }
        None => None,
    };
    Summary { report, log: log.as_ref() }.print();
    let incomplete = log.is_some_and(|log| log.ended_early.is_some());
    Ok(match &report.outcome {
        Outcome::Completed | Outcome::Quit if !incomplete => ExitStatus::Success,
        Outcome::Completed | Outcome::Quit | Outcome::LogEnded => ExitStatus::Log,
        Outcome::Diverged(why) => {
            note(format_args!("error: {why}"));
            ExitStatus::Diverged
        }
        Outcome::Overrun => ExitStatus::Overrun,
        Outcome::LockstepTimeout(why) => {
            note(format_args!("error: {why}"));
            ExitStatus::Unanswered
        }
    })
}
