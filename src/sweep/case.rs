//! A sweep that is ready to run, and the simulation of one case.

use std::{
    collections::BTreeMap,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    sync::Arc,
};

use simpartner_description::{
    Parameter, Parameters, Sequence, World,
    xml::{self, Diagnostics},
};
use simpartner_model::StepIndex;
use simpartner_wire::signal::StepRecord;

use super::{
    controller::Controller,
    error::SweepError,
    file::{CaseLog, SEQUENCE_AXIS, SETTINGS_PREFIX, SweepFile, WORLD_AXIS},
    measure::Measured,
    meter::{FirstNumber, Meter, has_fields},
    sample::Sampler,
};
use crate::{
    config::{Config, Override},
    recorder::{self, CaseParameter, CaseResult, Database, Inquiry, RecorderError, inquiry::Scope},
    run::{self, Job},
    sim::SequenceEnd,
};

/// Largest size of a sweep file, bytes: lists of some hundred thousand values.
const MAX_SWEEP_FILE: usize = 4 << 20;

/// Largest number of steps of a case that only `stop` ends: a day of simulated time at steps of 1 ms.
const MAX_STEPS: u64 = 86_400_000;

/// A sweep: its file, its settings and its models.
#[derive(Debug)]
pub struct Sweep {
    pub(super) file: SweepFile,
    text: String,
    config: Config,
    sampler: Sampler,
    /// The worlds of all cases by their names in the sweep file, with the parameters of all cases.
    worlds: BTreeMap<String, Arc<World>>,
    sequences: BTreeMap<String, Sequence>,
    hash: String,
}

/// Status of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Completed,
    /// The condition `stop` held.
    Stopped,
    Diverged,
    /// The case could not be simulated or measured.
    Failed,
}

impl Status {
    fn status_name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Stopped => "stopped",
            Self::Diverged => "diverged",
            Self::Failed => "failed",
        }
    }
}

/// Everything in which a case differs from others.
struct CaseInputs<'s> {
    world: &'s Arc<World>,
    sequence: Option<&'s Sequence>,
    parameters: Parameters,
    settings: Vec<(&'s str, String)>,
}

impl Sweep {
    /// Reads a sweep file and everything that it names. `configure` makes the settings of all cases from the overrides
    /// of the file; paths in the file are relative to its folder.
    ///
    /// # Errors
    /// All problems of the file, of its models and of its settings.
    pub fn read<E: From<SweepError>>(
        path: &Path,
        configure: impl FnOnce(&[Override<'_>]) -> Result<Config, E>,
    ) -> Result<Self, E> {
        let name = path.to_string_lossy();
        let text =
            xml::read_file(&name, MAX_SWEEP_FILE).map_err(|problem| SweepError::from(Diagnostics::from(problem)))?;
        let stem = path.file_stem().map_or("sweep".into(), |stem| stem.to_string_lossy());
        let file = SweepFile::parse_file(&name, &stem, &text)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let duration = file.duration_s.map(|duration| duration.to_string());
        let mut given: Vec<(String, String)> = file.settings.clone();
        given.push(("simulation.mode".into(), "fast".into()));
        let world = file.world.as_ref().map(|world| file_beside(folder, world).to_string_lossy().into_owned());
        given.extend(world.map(|world| ("simulation.world_file".into(), world)));
        given.extend(duration.map(|duration| ("simulation.duration_s".into(), duration)));
        given.extend(file.model.iter().map(|(path, value)| (format!("model.{path}"), value.clone())));
        let overrides: Vec<Override<'_>> =
            given.iter().map(|(key, text)| Override { name: &name, key, text }).collect();
        let config = configure(&overrides)?;
        Ok(Self::of_file(file, text, config, folder)?)
    }

    fn of_file(file: SweepFile, text: String, config: Config, folder: &Path) -> Result<Self, SweepError> {
        let settings = &config.simulation;
        let named = |axis: &str, fixed: Option<&String>| -> Vec<String> {
            let varied = file.axes.iter().find(|known| known.name == axis).map(|axis| axis.values.listed_values());
            varied.unwrap_or_else(|| fixed.into_iter().cloned().collect())
        };
        let mut worlds = BTreeMap::new();
        let default_world = settings.world_file.to_string_lossy().into_owned();
        let mut names = named(WORLD_AXIS, file.world.as_ref());
        if names.is_empty() {
            names.push(default_world);
        }
        for name in names {
            let path = file_beside(folder, &name);
            let world = xml::read_world_or_robot(&path, settings.fixed_base, &settings.parameters)?;
            worlds.insert(name, Arc::new(world));
        }
        let mut sequences = BTreeMap::new();
        for name in named(SEQUENCE_AXIS, file.sequence.as_ref()) {
            let sequence = xml::read_sequence(&file_beside(folder, &name))?;
            sequences.insert(name, sequence);
        }
        if !file.controller.is_empty() && has_fields(&file) {
            let what = "cases with a controller are measured with sql, and end by duration_s".to_owned();
            return Err(SweepError::File { path: file.name.clone(), what });
        }
        if settings.duration_s.is_none() && sequences.is_empty() && file.stop.is_none() {
            let what = "a case has no end: give duration_s, a sequence or stop".to_owned();
            return Err(SweepError::File { path: file.name.clone(), what });
        }
        let sampler = Sampler::of_sampling(file.sampling, file.seed, file.cases, file.axes.len());
        let hash = hash_of(&text, &config, &worlds, &sequences);
        let sweep = Self { file, text, config, sampler, worlds, sequences, hash };
        // The first case finds wrong paths, fields and settings before anything is stored.
        sweep.check_case(0)?;
        Ok(sweep)
    }

    /// Name of the sweep.
    pub fn name(&self) -> &str {
        &self.file.name
    }

    /// Number of cases.
    pub fn cases(&self) -> u64 {
        self.file.cases
    }

    /// Text of the sweep file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Hash of everything that the cases are made from, hexadecimal.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The database of the settings, for the results; `None` if the log is disabled.
    pub fn database(&self) -> Option<&Database> {
        self.config.log.as_ref().map(|log| &log.database)
    }

    /// True if every case leaves a run in the database.
    pub fn keeps_logs(&self) -> bool {
        self.file.log == CaseLog::Full
    }

    /// The values of a case.
    pub fn parameters(&self, case: u64) -> Vec<CaseParameter> {
        let values = self.sampler.case_values(&self.file.axes, case);
        let parameter = |(axis, text): (&super::file::Axis, String)| CaseParameter {
            path: axis.name.clone(),
            value: text.parse().ok().filter(|value: &f64| value.is_finite()),
            text: if axis.is_factor { format!("*{text}") } else { text },
        };
        self.file.axes.iter().zip(values).map(parameter).collect()
    }

    /// The command line that runs a case alone, from the folder of the sweep file.
    pub fn command(&self, case: u64) -> String {
        let mut command = "simpartner run --mode fast".to_owned();
        let given = self.parameters(case);
        let is_fixed = |axis: &str| given.iter().all(|given| given.path != axis);
        let fixed = [(WORLD_AXIS, self.worlds.keys().next()), (SEQUENCE_AXIS, self.sequences.keys().next())];
        for (axis, name) in fixed {
            if let Some(name) = name.filter(|_| is_fixed(axis)) {
                command += &format!(" --{axis} '{name}'");
            }
        }
        if let Some(duration) = self.file.duration_s {
            command += &format!(" --duration {duration}");
        }
        self.file.settings.iter().for_each(|(key, value)| command += &format!(" --set '{key}={value}'"));
        self.file.model.iter().for_each(|(path, value)| command += &format!(" --model '{path}={value}'"));
        for given in &given {
            command += &match given.path.as_str() {
                WORLD_AXIS => format!(" --world '{}'", given.text),
                SEQUENCE_AXIS => format!(" --sequence '{}'", given.text),
                path => match path.strip_prefix(SETTINGS_PREFIX) {
                    Some(setting) => format!(" --set '{setting}={}'", given.text),
                    None => format!(" --model '{path}={}'", given.text),
                },
            };
        }
        command
    }

    fn case_inputs(&self, case: u64) -> Result<CaseInputs<'_>, String> {
        let mut world = self.worlds.values().next();
        let mut sequence = self.sequences.values().next();
        let mut settings = Vec::new();
        let mut parameters = self.config.simulation.parameters.clone();
        let told = |error: simpartner_description::ParameterError| error.to_string();
        for (axis, given) in self.file.axes.iter().zip(self.parameters(case)) {
            match axis.name.as_str() {
                WORLD_AXIS => world = self.worlds.get(&given.text),
                SEQUENCE_AXIS => sequence = self.sequences.get(&given.text),
                name => match name.strip_prefix(SETTINGS_PREFIX) {
                    Some(setting) => settings.push((setting, given.text)),
                    None => {
                        let parameter = Parameter::of_parts(name, &given.text).map_err(told)?;
                        parameters.set(parameter).map_err(told)?;
                    }
                },
            }
        }
        let world = world.ok_or("the case has no world")?;
        Ok(CaseInputs { world, sequence, parameters, settings })
    }

    /// The settings of a case. `log` is its database.
    fn case_config(&self, inputs: &CaseInputs<'_>, log: Option<&Database>) -> Result<Config, String> {
        let mut config = self.config.clone();
        if !inputs.settings.is_empty() {
            let changed: Vec<Override<'_>> =
                inputs.settings.iter().map(|(key, text)| Override { name: "[vary]", key, text }).collect();
            config = config.with_overrides(&changed).map_err(|error| error.to_string())?;
        }
        config.viewer_port = None;
        let settings = config.log.take();
        config.log = log.map(|database| {
            let mut settings = settings.unwrap_or_else(|| recorder::Settings::new(database.clone()));
            if let Some(folder) = database.file().and_then(Path::parent).filter(|_| !self.keeps_logs()) {
                // What a log in a folder of its own cannot store goes with that folder.
                settings.spill_folder = folder.to_owned();
            }
            recorder::Settings { database: database.clone(), ..settings }
        });
        Ok(config)
    }

    fn case_job(&self, case: u64, log: Option<&Database>) -> Result<Job, String> {
        let inputs = self.case_inputs(case)?;
        let config = self.case_config(&inputs, log)?;
        let world = match inputs.parameters == Parameters::of_sources(&inputs.world.sources) {
            true => Arc::clone(inputs.world),
            false => {
                let world = xml::with_parameters(inputs.world, inputs.parameters);
                Arc::new(world.map_err(|problems| problems.to_string().trim_end().to_owned())?)
            }
        };
        Job::new(&world, inputs.sequence, config).map_err(|error| error.to_string())
    }

    /// Builds a case and looks up its fields.
    fn check_case(&self, case: u64) -> Result<(), SweepError> {
        let checked = self.case_job(case, None).and_then(|job| Meter::of_case(&self.file, &job.simulation).map(drop));
        checked.map_err(|what| SweepError::File { path: format!("case {case} of '{}'", self.file.name), what })
    }

    /// Simulates a case. A case that cannot be simulated has the status `failed` and a cause.
    pub fn simulate(&self, case: u64, database: &Database) -> CaseResult {
        // A defect that shows in one case must not end the others.
        let simulated = panic::catch_unwind(AssertUnwindSafe(|| self.try_case(case, database)));
        let simulated = simulated.unwrap_or_else(|_| Err("the simulation stopped with an internal error".into()));
        simulated.unwrap_or_else(|cause| CaseResult {
            case,
            status: Status::Failed.status_name().into(),
            cause,
            steps: 0,
            state_hash: String::new(),
            run: None,
            measures: Vec::new(),
        })
    }

    fn try_case(&self, case: u64, database: &Database) -> Result<CaseResult, String> {
        let asks = self.file.measures.iter().any(|measure| matches!(measure.of, Measured::Sql(_)));
        let has_controller = !self.file.controller.is_empty();
        if !self.keeps_logs() && !asks && !has_controller {
            return self.try_direct_case(case);
        }
        // A case repeats itself to the bit, so its fields may be measured apart from its log.
        let direct = if has_controller { None } else { Some(self.try_direct_case(case)?) };
        let logged = match self.keeps_logs() {
            true => self.try_logged_case(case, database, direct.as_ref())?,
            false => {
                let folder = tempfile::tempdir().map_err(|error| format!("no folder for the case's log: {error}"))?;
                let log = Database::Sqlite(folder.path().join("case.db"));
                CaseResult { run: None, ..self.try_logged_case(case, &log, direct.as_ref())? }
            }
        };
        let Some(direct) = direct else { return Ok(logged) };
        if direct.state_hash != logged.state_hash {
            return Err("the case with its log ended in another state than without".into());
        }
        Ok(CaseResult { run: logged.run, measures: [direct.measures, logged.measures].concat(), ..direct })
    }

    /// Simulates a case in this thread, without log and ports.
    fn try_direct_case(&self, case: u64) -> Result<CaseResult, String> {
        let job = self.case_job(case, None)?;
        let mut meter = Meter::of_case(&self.file, &job.simulation)?;
        let (end, mut simulation) = (job.end, job.simulation);
        let mut record = StepRecord::new(simulation.layout());
        let status = loop {
            if end.is_some_and(|end| simulation.step_index() >= end) {
                break Status::Completed;
            }
            simulation.step(&mut record);
            if meter.add_step(&record) {
                break Status::Stopped;
            }
            if simulation.has_diverged() {
                break Status::Diverged;
            }
            if end.is_none() && self.file.stop.is_none() && !simulation.plays_sequence() {
                break Status::Completed;
            }
            if simulation.step_index().0 >= MAX_STEPS {
                return Err(format!("the case did not end within {MAX_STEPS} steps; give duration_s"));
            }
            record.commands.clear();
            record.events.clear();
        };
        let broken_off = match simulation.sequence_end() {
            Some(SequenceEnd::BrokenOff(why)) => Some(why.clone()),
            _ => None,
        };
        let status = if broken_off.is_some() { Status::Failed } else { status };
        Ok(CaseResult {
            case,
            status: status.status_name().into(),
            cause: broken_off.unwrap_or_default(),
            steps: simulation.step_index().0,
            state_hash: simulation.state_hash(),
            run: None,
            measures: meter.final_values(simulation.timestep().seconds()),
        })
    }

    /// Simulates a case as a run with a log, and with a controller if the sweep has one, and asks its log. It ends
    /// where the `direct` case ended.
    fn try_logged_case(
        &self,
        case: u64,
        database: &Database,
        direct: Option<&CaseResult>,
    ) -> Result<CaseResult, String> {
        let told = |error: RecorderError| error.to_string();
        let mut job = self.case_job(case, Some(database))?;
        job.end = direct.map(|direct| StepIndex(direct.steps)).or(job.end);
        let ran = match self.file.controller.is_empty() {
            true => run::run(job, &mut ()),
            false => {
                let timeout_s = self.file.timeout_s;
                let mut controller = Controller::of_case(&self.file.controller, case, timeout_s, &mut job.config)?;
                let ran = run::run(job, &mut controller);
                let failure = controller.end_program();
                match (ran, failure) {
                    // A program also ends when a case that has ended closes its ports.
                    (Ok(report), Some(why)) if report.clock.outcome.name() != "completed" => return Err(why),
                    (ran, _) => ran,
                }
            }
        };
        let report = ran.map_err(|error| error.to_string())?;
        let summary = report.log.ok_or("the case has no log")?.map_err(told)?;
        if let Some(why) = summary.ended_early {
            return Err(format!("its log is incomplete: {why}"));
        }
        let run = summary.simulations.last().map(|run| run.simulation_id).ok_or("its log has no run")?;
        let status = match report.clock.outcome.name() {
            "completed" => Status::Completed,
            "diverged" => Status::Diverged,
            _ => Status::Failed,
        };
        Ok(CaseResult {
            case,
            status: status.status_name().into(),
            cause: if status == Status::Failed { report.clock.outcome.name().to_owned() } else { String::new() },
            steps: report.clock.step.0,
            state_hash: report.clock.state_hash,
            run: Some(run),
            measures: self.ask_log(database, run)?,
        })
    }

    /// The measures that are queries of the case's log.
    fn ask_log(&self, database: &Database, run: i64) -> Result<Vec<(String, Option<f64>)>, String> {
        let mut inquiry = Inquiry::open(database).map_err(|error| error.to_string())?;
        let mut measures = Vec::new();
        for measure in &self.file.measures {
            let Measured::Sql(sql) = &measure.of else { continue };
            let mut first = FirstNumber::default();
            let scope = Scope { run, alias: None, all_runs: false };
            let asked = inquiry.ask(sql, scope, &mut first);
            asked.map_err(|error| format!("measure {}: {error}", measure.name))?;
            measures.push((measure.name.clone(), first.into_number()));
        }
        Ok(measures)
    }
}

/// The path of a file that the sweep file names: beside the sweep file, or else as it is.
fn file_beside(folder: &Path, name: &str) -> PathBuf {
    let beside = folder.join(name);
    if beside.exists() { beside } else { PathBuf::from(name) }
}

/// Hash of everything that the results depend on.
fn hash_of(
    text: &str,
    config: &Config,
    worlds: &BTreeMap<String, Arc<World>>,
    sequences: &BTreeMap<String, Sequence>,
) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut add = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    add(env!("CARGO_PKG_VERSION").as_bytes());
    add(text.as_bytes());
    // Neither the place of the results nor the spelling of a path changes them; the contents of the worlds follow.
    let is_place = |line: &&str| line.starts_with("database = ") || line.starts_with("world_file = ");
    config.effective_text().lines().filter(|line| !is_place(line)).for_each(|line| add(line.as_bytes()));
    for (name, world) in worlds {
        add(name.as_bytes());
        world.sources.iter().for_each(|file| add(file.bytes()));
    }
    for (name, sequence) in sequences {
        add(name.as_bytes());
        add(format!("{sequence:?}").as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}
