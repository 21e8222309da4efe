//! A logged run made again from its log alone: model, properties, seed and commands.

use std::{collections::HashMap, sync::Arc};

use simpartner_description::{SourceFile, World, xml};
use simpartner_model::{DeviceId, StepIndex};
use simpartner_wire::{
    protocol,
    signal::{ClientId, Command, Reservation, StateChain, StepRecord},
};

use super::{
    CliError,
    logged::{LogArguments, RunName},
    properties::{Flag, Properties, PropertiesFile},
};
use crate::{
    analysis::Progress,
    recorder::{
        Database, Inquiry, RecordedRun, RecorderError,
        inquiry::{Deviation, Part, Selection, Table},
    },
    sim::Simulation,
};

/// Steps whose commands and hashes are read at a time.
const STRETCH: u64 = 1024;

/// Steps that may be missing in a log of few steps, before a row far behind them counts as damaged.
const MOST_MISSING: u64 = 1_000_000;

/// A run of a log, and the simulation that makes it again.
pub(super) struct Again {
    pub(super) run: RecordedRun,
    pub(super) made: Made,
    texts: Texts,
    pub(super) simulation: Simulation,
    /// The chain of the steps so far.
    pub(super) chain: StateChain,
    /// How many steps had a hash in the log, and came out as it says.
    pub(super) held: u64,
    inquiry: Inquiry,
    devices: HashMap<i64, DeviceId>,
    record: StepRecord,
}

/// What a run was made from.
struct Texts {
    model: Vec<SourceFile>,
    properties: String,
}

/// How the log says that a run came about.
#[derive(Debug, Clone, Default)]
pub(super) struct Made {
    /// The engine that made it, as an engine tells it.
    pub(super) engine: String,
    /// Version of the program.
    pub(super) program: String,
    /// What the program was built for.
    pub(super) target: String,
    /// The run that it goes on from, and the step.
    pub(super) parent: Option<(i64, StepIndex)>,
    /// The last step: of a run that was cut off the last that is logged.
    pub(super) last: StepIndex,
}

/// The first logged step that came out otherwise.
#[derive(Debug)]
pub(super) struct Otherwise {
    pub(super) step: StepIndex,
    /// The first number of it that did; none if every logged number is the same.
    pub(super) deviation: Option<Deviation>,
}

impl Again {
    /// Builds the run's world as it was before its first step.
    pub(super) fn open(log: &LogArguments, name: &RunName) -> Result<Self, CliError> {
        let (mut inquiry, run) = log.open(name)?;
        let made = made(&mut inquiry, &run)?;
        let texts = texts(&mut inquiry, run.simulation_id)?;
        let world = Arc::new(xml::read_kept(&texts.model)?);
        let simulation = build(&world, &properties(&run, &texts.properties, &[])?)?;
        let record = StepRecord::new(simulation.layout());
        let devices = devices(&mut inquiry, &run, &simulation)?;
        let chain = StateChain::default();
        let mut again = Self { run, made, texts, simulation, chain, held: 0, inquiry, devices, record };
        if let Some((_, step)) = again.made.parent {
            again.leap(step)?;
            if again.simulation.step_index() != step {
                let what =
                    format!("run {} goes on from step {step}, and the log has no state of it", again.run.simulation_id);
                return Err(CliError::Setting(what));
            }
        }
        Ok(again)
    }

    /// Takes up the newest state that the log keeps from before a step, or at it.
    pub(super) fn leap(&mut self, step: StepIndex) -> Result<(), CliError> {
        let number = self.run.simulation_id;
        let kept = stretch("snapshot", &self.run, self.simulation.step_index().0, step.0);
        let mut newest = None;
        self.inquiry.rows(&kept, &["step"], |row| {
            newest = row[0].integer();
            Ok::<_, RecorderError>(())
        })?;
        let Some(step) = newest else { return Ok(()) };
        let kept = stretch("snapshot", &self.run, step as u64, step as u64);
        let (simulation, chain) = (&mut self.simulation, &mut self.chain);
        self.inquiry.rows(&kept, &["chain_head", "state"], |row| {
            let (Some(head), state) = (row[0].integer(), row[1].bytes()) else { return Ok(()) };
            let restored = simulation.restore(state);
            restored.map_err(|error| CliError::Setting(format!("step {step} of run {number}: {error}")))?;
            *chain = StateChain::from_head(head as u64);
            Ok(())
        })
    }

    /// Makes the steps up to this one, and holds each that is logged against the log. Stops at the first that came out
    /// otherwise.
    pub(super) fn make(
        &mut self,
        until: StepIndex,
        progress: &mut dyn Progress,
    ) -> Result<Option<Otherwise>, CliError> {
        let first = self.simulation.step_index().0;
        progress.begin("making steps", until.0.saturating_sub(first));
        while self.simulation.step_index() < until {
            let from = self.simulation.step_index().0 + 1;
            let to = until.0.min(from + STRETCH - 1);
            let commands = self.commands(from, to)?;
            let hashes = self.hashes(from, to)?;
            let mut commands = commands.into_iter().peekable();
            let mut hashes = hashes.into_iter().peekable();
            for step in (from..=to).map(StepIndex) {
                while let Some((_, command)) = commands.next_if(|(at, _)| *at == step) {
                    self.simulation.submit(command);
                }
                self.record.commands.clear();
                self.record.events.clear();
                self.simulation.step(&mut self.record);
                let head = self.chain.advance(&self.record);
                let logged = hashes.next_if(|(at, _)| *at == step);
                if logged.is_some_and(|(_, logged)| logged != head) {
                    let (run, layout, timestep) = (self.run.simulation_id, self.simulation.layout(), self.run.timestep);
                    let deviation = self.inquiry.deviation(run, layout, timestep, &self.record)?;
                    return Ok(Some(Otherwise { step, deviation }));
                }
                self.held += u64::from(logged.is_some());
            }
            progress.reach(to - first);
        }
        Ok(None)
    }

    /// The commands of a stretch, in the order in which they took effect.
    pub(super) fn commands(&mut self, from: u64, to: u64) -> Result<Vec<(StepIndex, Command)>, CliError> {
        let selection = stretch("command", &self.run, from, to);
        let mut found = Vec::new();
        let (layout, devices) = (self.simulation.layout(), &self.devices);
        self.inquiry.rows(&selection, &["step", "componentID", "client", "text"], |row| {
            let number = |column: usize| row[column].integer().unwrap_or(0);
            let (step, text) = (StepIndex(number(0) as u64), row[3].text());
            let unreadable = |why: &str| {
                CliError::Setting(format!("the command '{text}' of step {step} cannot be given again: {why}"))
            };
            let &device = devices.get(&number(1)).ok_or_else(|| unreadable("the log does not say to which device"))?;
            let action = protocol::action(layout.device_info(device), text);
            let action = action.ok_or_else(|| unreadable("the device does not understand it"))?;
            let client = ClientId(number(2) as u64);
            let (text, memory) = (text.to_owned(), Reservation::default());
            found.push((step, Command { device, at: None, client, sequence: 0, text, action, memory }));
            Ok::<_, CliError>(())
        })?;
        Ok(found)
    }

    fn hashes(&mut self, from: u64, to: u64) -> Result<Vec<(StepIndex, u64)>, CliError> {
        let selection = stretch("simulationRow", &self.run, from, to);
        let mut found = Vec::new();
        self.inquiry.rows(&selection, &["step", "state_hash"], |row| {
            if let (Some(step), Some(hash)) = (row[0].integer(), row[1].integer()) {
                found.push((StepIndex(step as u64), hash as u64));
            }
            Ok::<_, RecorderError>(())
        })?;
        Ok(found)
    }

    /// The run's properties with some of them changed.
    pub(super) fn changed(&self, flags: &[Flag<'_>]) -> Result<Properties, CliError> {
        properties(&self.run, &self.texts.properties, flags)
    }

    /// Where the log is.
    pub(super) fn database(&self) -> &Database {
        self.inquiry.database()
    }

    /// What is not as it was when the run was made, for people; nothing if all is.
    pub(super) fn changes(&self) -> Vec<String> {
        let here = [
            ("engine", self.simulation.engine_identity().to_string(), &self.made.engine),
            ("program", env!("CARGO_PKG_VERSION").to_owned(), &self.made.program),
            ("target", super::run::target(), &self.made.target),
        ];
        let changed = here.into_iter().filter(|(_, here, there)| here != *there);
        changed.map(|(what, here, there)| format!("the {what} is {here}, and was {there}")).collect()
    }
}

/// A simulation of a world under such properties.
pub(super) fn build(world: &Arc<World>, properties: &Properties) -> Result<Simulation, CliError> {
    let settings = &properties.simulation;
    Ok(Simulation::seeded(Arc::clone(world), settings.timestep, properties.physics.clone(), settings.seed)?)
}

fn properties(run: &RecordedRun, text: &str, flags: &[Flag<'_>]) -> Result<Properties, CliError> {
    let path = format!("the properties of run {}", run.simulation_id);
    Ok(Properties::load(Some(PropertiesFile { path: &path, text }), [], flags)?)
}

fn stretch(table: &str, run: &RecordedRun, from: u64, to: u64) -> Selection {
    let table = Table::named(table).expect("the log has this table");
    Selection { steps: Some((from, to)), ..Selection::all(table, run.simulation_id) }
}

fn made(inquiry: &mut Inquiry, run: &RecordedRun) -> Result<Made, CliError> {
    let logged = last_logged(inquiry, run)?;
    let columns = [
        "engine",
        "engine_version",
        "engine_features",
        "program_version",
        "target",
        "parent_simulationID",
        "parent_step",
        "steps",
    ];
    let table = Table::named("simulation").expect("the log has this table");
    let mut made = Made::default();
    inquiry.rows(&Selection::all(table, run.simulation_id), &columns, |row| {
        let step = |column: usize| row[column].integer().map(|step| StepIndex(step as u64));
        made = Made {
            engine: format!("{} {} ({})", row[0].text(), row[1].text(), row[2].text()),
            program: row[3].text().to_owned(),
            target: row[4].text().to_owned(),
            parent: row[5].integer().zip(step(6)),
            // Steps from the next on that would be logged are not in the log, whatever the run's row says.
            last: step(7).map_or(logged, |made| made.min(StepIndex(run.cadence.next(logged.0) - 1))),
        };
        Ok::<_, RecorderError>(())
    })?;
    Ok(made)
}

/// The last step that is logged. A row of a step far behind all others cannot be one, and would be waited for without end.
fn last_logged(inquiry: &mut Inquiry, run: &RecordedRun) -> Result<StepIndex, CliError> {
    let Some((first, last)) = run.steps else { return Ok(StepIndex(run.origin.unwrap_or(0))) };
    let table = Table::named("simulationRow").expect("the log has this table");
    let steps = inquiry.count(&Selection::all(table, run.simulation_id))?;
    let expected = run.cadence.span(first, steps);
    if last - first > expected.saturating_mul(2).saturating_add(MOST_MISSING) {
        let number = run.simulation_id;
        let what = format!("run {number} has a row of step {last} in simulationRow, but only {steps} steps are logged");
        return Err(CliError::Setting(format!("{what}; `simpartner db verify {number}` says what is missing")));
    }
    Ok(StepIndex(last))
}

fn texts(inquiry: &mut Inquiry, run: i64) -> Result<Texts, RecorderError> {
    let table = Table::named("simulationFile").expect("the log has this table");
    let mut texts = Texts { model: Vec::new(), properties: String::new() };
    inquiry.rows(&Selection::all(table, run), &["role", "path", "text"], |row| {
        let text = row[2].text().to_owned();
        match row[0].text() {
            "model" => texts.model.push(SourceFile { path: row[1].text().to_owned(), text }),
            _ => texts.properties = text,
        }
        Ok::<_, RecorderError>(())
    })?;
    Ok(texts)
}

/// The devices by their numbers in the log, where they stand in the order of the model: both have to name the same ones, or the
/// log was changed.
fn devices(
    inquiry: &mut Inquiry,
    run: &RecordedRun,
    simulation: &Simulation,
) -> Result<HashMap<i64, DeviceId>, CliError> {
    let (layout, number) = (simulation.layout(), run.simulation_id);
    let components = inquiry.components(number)?;
    let of = |part: Part| components.iter().filter(move |component| component.part == part);
    let unlike = |what: String| {
        let advice = format!("one of them was changed after the run; `simpartner db verify {number}` says more");
        CliError::Setting(format!("run {number}: the model and the tables in its log do not fit: {what}; {advice}"))
    };
    let counts =
        [("bodies", of(Part::Body).count(), layout.bodies()), ("joints", of(Part::Joint).count(), layout.joints())];
    if let Some((what, logged, modelled)) = counts.into_iter().find(|(_, logged, modelled)| logged != modelled) {
        return Err(unlike(format!("the tables have {logged} {what}, and the model {modelled}")));
    }
    let mut logged = of(Part::Device);
    let mut found = HashMap::new();
    for (index, info) in layout.devices().iter().enumerate() {
        let name = format!("{}/{}", info.robot, info.name);
        match logged.next() {
            Some(device) if device.name == name => found.insert(device.number, DeviceId::new(index)),
            Some(device) => {
                return Err(unlike(format!("the tables have the device {} where the model has {name}", device.name)));
            }
            None => return Err(unlike(format!("the tables lack the device {name} of the model"))),
        };
    }
    match logged.next() {
        Some(device) => Err(unlike(format!("the model lacks the device {} of the tables", device.name))),
        None => Ok(found),
    }
}
