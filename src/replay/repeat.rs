//! Replays: a logged run is repeated from its log, step by step, and compared with it.

use std::{collections::HashMap, sync::Arc};

use simpartner_description::xml;
use simpartner_model::StepIndex;
use simpartner_wire::{
    protocol,
    signal::{ClientId, Command, Reservation, StateChain, StepRecord, Target},
};

use super::{
    error::ReplayError,
    images::LoggedImages,
    log::{self, Provenance, SourceTexts},
};
use crate::{
    analysis::Progress,
    config::{Config, Override, PropertiesFile},
    grasp_batch,
    recorder::{
        Database, Inquiry, RecordedRun, RecorderError,
        inquiry::{Deviation, Selection, Table},
    },
    run,
    sim::Simulation,
};

/// Number of steps whose commands and hashes are read at once: so many that the queries cost little beside the steps,
/// and so few that memory stays small and the progress moves.
const CHUNK_STEPS: u64 = 1024;

/// A run of a log, and the simulation that repeats it.
pub struct Replay {
    inquiry: Inquiry,
    pub(super) run: RecordedRun,
    pub(super) provenance: Provenance,
    texts: SourceTexts,
    pub(super) simulation: Simulation,
    /// True if the run is a grasp task.
    is_task: bool,
    /// The chain of state hashes up to the simulation's present step.
    pub(super) chain: StateChain,
    /// Number of steps that were compared with a hash in the log and found equal.
    compared: u64,
    /// Targets of commands, by the numbers of their components in the log.
    targets: HashMap<i64, Target>,
    record: StepRecord,
}

/// Result of a replay.
#[derive(Debug)]
pub struct ReplayReport {
    /// Number of the run in the log.
    pub run: i64,
    /// Name of the run's world.
    pub world: String,
    /// Identity of the engine that repeated the run.
    pub engine: String,
    /// Number of steps that were made.
    pub steps: u64,
    /// Number of these steps that were compared with a hash in the log.
    pub compared: u64,
    /// Head of the chain of state hashes after the last step.
    pub chain_head: u64,
    /// Hash of the state after the last step.
    pub state_hash: String,
    /// Number of images that were made again and compared with a hash in the log.
    pub images: u64,
    /// The first image that differs from the log, as a sentence; the replay goes on behind it.
    pub image_mismatch: Option<String>,
    /// The first step that differs from the log; the replay ends there.
    pub mismatch: Option<Mismatch>,
}

/// The first logged step that the simulation does not reproduce.
#[derive(Debug)]
pub struct Mismatch {
    /// The step.
    pub step: StepIndex,
    /// The first logged number of the step that differs; `None` if all logged numbers are equal.
    pub deviation: Option<Deviation>,
}

impl Replay {
    /// Builds the run's world as it was before its first step. For a fork that is the state that it started from.
    ///
    /// # Errors
    /// The log cannot be read, or its parts do not fit each other.
    pub fn open(mut inquiry: Inquiry, run: RecordedRun) -> Result<Self, ReplayError> {
        let provenance = Provenance::read(&mut inquiry, &run)?;
        let texts = SourceTexts::read(&mut inquiry, run.simulation_id)?;
        let world = Arc::new(xml::read_kept(&texts.model)?);
        let config = load_config(&run, &texts, &[])?;
        // The gripper of a grasp task is not driven by commands, but by the task, which the log names.
        let task = grasp_batch::logged::engine(&texts.model)?;
        let is_task = task.is_some();
        let simulation = match task {
            Some(engine) => {
                let settings = &config.simulation;
                Simulation::with_engine(world, settings.timestep, config.physics.clone(), settings.seed, engine)?
            }
            None => run::build_simulation(&world, &config)?,
        };
        let record = StepRecord::new(simulation.layout());
        let targets = log::match_targets(&mut inquiry, &run, &simulation)?;
        let chain = StateChain::default();
        let goes_on_from = provenance.goes_on_from;
        let mut replay =
            Self { inquiry, run, provenance, texts, simulation, is_task, chain, compared: 0, targets, record };
        if let Some(step) = goes_on_from {
            replay.restore_nearest_snapshot(step)?;
            if replay.simulation.step_index() != step {
                return Err(ReplayError::NoFirstState { run: replay.run.simulation_id, step });
            }
        }
        Ok(replay)
    }

    /// Differences of engine, program and target from those of the original run, one sentence each. If there are any,
    /// the replay may not be bit-identical.
    pub fn environment_changes(&self) -> Vec<String> {
        let here = [
            ("engine", self.simulation.engine_identity().to_string(), &self.provenance.engine),
            ("program", env!("CARGO_PKG_VERSION").to_owned(), &self.provenance.program),
            ("target", run::target(), &self.provenance.target),
        ];
        let changed = here.into_iter().filter(|(_, here, there)| here != *there);
        changed.map(|(what, here, there)| format!("the {what} is {here}, and was {there}")).collect()
    }

    /// Makes the steps up to `until`, or to the last one, and compares each with the log. Stops at the first that
    /// differs.
    ///
    /// # Errors
    /// The run has no step `until`, the log cannot be read, or the log has no hash of any of these steps.
    pub fn run(&mut self, until: Option<StepIndex>, progress: &mut dyn Progress) -> Result<ReplayReport, ReplayError> {
        let first = self.simulation.step_index();
        let until = until.unwrap_or(self.provenance.last);
        self.check_has(until)?;
        let mut images = LoggedImages::read_hashes(&mut self.inquiry, self.run.simulation_id, &self.simulation)?;
        images.compare_step(&self.simulation, &self.simulation.observe());
        let mismatch = self.advance(until, progress, |simulation, record| images.compare_step(simulation, record))?;
        let steps = self.simulation.step_index().0 - first.0;
        if steps > 0 && self.compared == 0 && mismatch.is_none() {
            return Err(ReplayError::NoHashes { run: self.run.simulation_id });
        }
        Ok(ReplayReport {
            run: self.run.simulation_id,
            world: self.run.world.clone(),
            engine: self.simulation.engine_identity().to_string(),
            steps,
            compared: self.compared,
            images: images.compared,
            image_mismatch: images.mismatch,
            chain_head: self.chain.head(),
            state_hash: self.simulation.state_hash(),
            mismatch,
        })
    }

    /// Makes the steps up to `until`. `visit` is called with the state before the first of them, and after each.
    ///
    /// # Errors
    /// The run has no such step, the log cannot be read, or a step differs from the log.
    pub fn visit_steps(
        &mut self,
        until: StepIndex,
        progress: &mut dyn Progress,
        mut visit: impl FnMut(&Simulation, &StepRecord),
    ) -> Result<(), ReplayError> {
        self.check_has(until)?;
        visit(&self.simulation, &self.simulation.observe());
        match self.advance(until, progress, visit)? {
            None => Ok(()),
            Some(mismatch) => Err(ReplayError::NotReproduced { run: self.run.simulation_id, step: mismatch.step }),
        }
    }

    /// Goes to a step, on the shortest way from the present one or from a logged state.
    ///
    /// # Errors
    /// As [`visit_steps`](Self::visit_steps).
    pub fn go_to(&mut self, step: StepIndex, progress: &mut dyn Progress) -> Result<(), ReplayError> {
        self.check_has(step)?;
        self.restore_nearest_snapshot(step)?;
        match self.advance(step, progress, |_, _| {})? {
            None => Ok(()),
            Some(mismatch) => Err(ReplayError::NotReproduced { run: self.run.simulation_id, step: mismatch.step }),
        }
    }

    /// The simulation that repeats the run.
    pub fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    /// Refuses a step that lies before the present one or behind the last.
    pub(super) fn check_has(&self, step: StepIndex) -> Result<(), ReplayError> {
        let (run, first, last) = (self.run.simulation_id, self.simulation.step_index(), self.provenance.last);
        match step >= first && step <= last {
            true => Ok(()),
            false => Err(ReplayError::NoSuchStep { run, step, first, last }),
        }
    }

    /// Restores the newest logged snapshot of a step up to this one, if the log has any that is not older than the
    /// present state.
    pub(super) fn restore_nearest_snapshot(&mut self, step: StepIndex) -> Result<(), ReplayError> {
        // A snapshot does not contain the progress of a grasp task, so a task is repeated from its first step.
        if self.is_task {
            return Ok(());
        }
        let run = self.run.simulation_id;
        let candidates = self.select_steps("snapshot", self.simulation.step_index().0, step.0);
        let mut newest = None;
        self.inquiry.rows(&candidates, &["step"], |row| {
            newest = row[0].integer();
            Ok::<_, RecorderError>(())
        })?;
        let Some(step) = newest else { return Ok(()) };
        let selection = self.select_steps("snapshot", step as u64, step as u64);
        let (simulation, chain) = (&mut self.simulation, &mut self.chain);
        self.inquiry.rows(&selection, &["chain_head", "state"], |row| {
            let (Some(head), state) = (row[0].integer(), row[1].bytes()) else { return Ok(()) };
            let step = StepIndex(step as u64);
            simulation.restore(state).map_err(|error| ReplayError::Snapshot { run, step, error })?;
            *chain = StateChain::from_head(head as u64);
            Ok(())
        })
    }

    /// Makes the steps up to this one and compares each that has a hash in the log. Stops at the first that differs.
    /// `after_step` is called after each step that does not.
    pub(super) fn advance(
        &mut self,
        until: StepIndex,
        progress: &mut dyn Progress,
        mut after_step: impl FnMut(&Simulation, &StepRecord),
    ) -> Result<Option<Mismatch>, ReplayError> {
        let first = self.simulation.step_index().0;
        progress.begin("making steps", until.0.saturating_sub(first));
        while self.simulation.step_index() < until {
            let from = self.simulation.step_index().0 + 1;
            let to = until.0.min(from + CHUNK_STEPS - 1);
            let mut commands = self.commands(from, to)?.into_iter().peekable();
            let mut hashes = self.hashes(from, to)?.into_iter().peekable();
            for step in (from..=to).map(StepIndex) {
                while let Some((_, command)) = commands.next_if(|(at, _)| *at == step) {
                    self.simulation.submit(command);
                }
                self.record.commands.clear();
                self.record.events.clear();
                self.simulation.step(&mut self.record);
                let head = self.chain.advance(&self.record);
                let logged = hashes.next_if(|(at, _)| *at == step).map(|(_, head)| head);
                let logged = logged.or_else(|| self.provenance.head_after(step));
                if logged.is_some_and(|logged| logged != head) {
                    let (run, layout, timestep) = (self.run.simulation_id, self.simulation.layout(), self.run.timestep);
                    let deviation = self.inquiry.deviation(run, layout, timestep, &self.record)?;
                    return Ok(Some(Mismatch { step, deviation }));
                }
                self.compared += u64::from(logged.is_some());
                after_step(&self.simulation, &self.record);
            }
            progress.reach(to - first);
        }
        Ok(None)
    }

    /// The commands of these steps, in the order in which they took effect.
    pub(super) fn commands(&mut self, from: u64, to: u64) -> Result<Vec<(StepIndex, Command)>, ReplayError> {
        let selection = self.select_steps("command", from, to);
        let mut found = Vec::new();
        let (layout, targets) = (self.simulation.layout(), &self.targets);
        self.inquiry.rows(&selection, &["step", "componentID", "client", "text"], |row| {
            let number = |column: usize| row[column].integer().unwrap_or(0);
            let (step, text) = (StepIndex(number(0) as u64), row[3].text());
            let unreadable = |why| ReplayError::Command { step, text: text.to_owned(), why };
            let &target = targets.get(&number(1)).ok_or_else(|| unreadable("the log does not say for what"))?;
            let action = match target {
                Target::Device(device) => protocol::action(layout.device_info(device), text),
                Target::Body(_) => protocol::body_action(text),
            };
            let action = action.ok_or_else(|| unreadable("the device does not understand it"))?;
            let client = ClientId(number(2) as u64);
            let (text, memory) = (text.to_owned(), Reservation::default());
            found.push((step, Command { target, at: None, client, sequence: 0, text, action, memory }));
            Ok::<_, ReplayError>(())
        })?;
        Ok(found)
    }

    /// The logged heads of the chain at these steps.
    fn hashes(&mut self, from: u64, to: u64) -> Result<Vec<(StepIndex, u64)>, ReplayError> {
        let selection = self.select_steps("simulationRow", from, to);
        let mut found = Vec::new();
        self.inquiry.rows(&selection, &["step", "state_hash"], |row| {
            if let (Some(step), Some(hash)) = (row[0].integer(), row[1].integer()) {
                found.push((StepIndex(step as u64), hash as u64));
            }
            Ok::<_, RecorderError>(())
        })?;
        Ok(found)
    }

    /// Selects the rows of a table that belong to these steps of the run.
    fn select_steps(&self, table: &str, from: u64, to: u64) -> Selection {
        let table = Table::named(table).expect("the log has this table");
        Selection { steps: Some((from, to)), ..Selection::all(table, self.run.simulation_id) }
    }

    /// The run's configuration with these overrides.
    pub(super) fn config(&self, overrides: &[Override<'_>]) -> Result<Config, ReplayError> {
        load_config(&self.run, &self.texts, overrides)
    }

    /// The database of the log.
    pub(super) fn database(&self) -> &Database {
        self.inquiry.database()
    }
}

fn load_config(run: &RecordedRun, texts: &SourceTexts, overrides: &[Override<'_>]) -> Result<Config, ReplayError> {
    let path = format!("the properties of run {}", run.simulation_id);
    Ok(Config::load(Some(PropertiesFile { path: &path, text: &texts.properties }), [], overrides)?)
}

/// The seed of a logged run, which determines the noise of its sensors.
///
/// # Errors
/// The log has no properties that can be read.
pub fn recorded_seed(inquiry: &mut Inquiry, run: &RecordedRun) -> Result<u64, ReplayError> {
    let texts = SourceTexts::read(inquiry, run.simulation_id)?;
    Ok(load_config(run, &texts, &[])?.simulation.seed)
}
