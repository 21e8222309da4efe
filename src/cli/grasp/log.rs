//! `simpartner grasp run FILE --task K --log`: a task as a run with a log.

use std::{path::PathBuf, sync::Arc};

use clap::Args;
use simpartner_description::{GraspTaskFile, SourceFile, xml};
use simpartner_grasp::task::TaskEngine;
use simpartner_model::StepIndex;
use simpartner_terminal::output::note;

use super::super::{
    arguments::ConfigurationArguments,
    exit::{CliError, ExitStatus},
    run::run_job,
};
use crate::{
    config::Override,
    grasp_batch::{Tasks, logged},
    run::Job,
    sim::Simulation,
};

#[derive(Debug, Default, Args)]
pub(super) struct LogArguments {
    /// With --task: run the task with a log of every step, for the viewer and for the verbs that read logs
    #[arg(long, requires = "task", conflicts_with = "json")]
    pub(super) log: bool,
    /// With --log: properties file with settings [default: properties.toml, if it exists]
    #[arg(long, value_name = "FILE", requires = "log")]
    properties: Option<PathBuf>,
}

/// Carries out a task as a fast run with a log, and prints the run's summary. The run takes no commands, since the task
/// drives the gripper. The log names the task, so that a replay can repeat it.
pub(super) fn run_with_log(
    arguments: &LogArguments,
    database: Option<&str>,
    file: &GraspTaskFile,
    tasks: &Tasks,
    number: u64,
) -> Result<ExitStatus, CliError> {
    let outcome = tasks.run(number)?.outcome;
    if outcome.times.steps == 0 {
        return Err(CliError::Input(format!(
            "task {number} ends before its first step, by {}; there is nothing to log",
            outcome.status.name()
        )));
    }
    let (scene, target) = (tasks.scene(), tasks.target(number)?);
    let timestep = scene.task().timestep;
    let seconds = timestep.seconds().to_string();
    let sources = &file.world.sources;
    let world_file = sources.first().map(|source| source.path.as_str());
    let flags = [
        ("--database", "log.database", database),
        ("--log", "log.enabled", Some("true")),
        ("--log", "simulation.mode", Some("fast")),
        ("--log", "simulation.world_file", world_file),
        ("--log", "simulation.timestep_s", Some(&seconds)),
    ];
    let flags = flags.into_iter().filter_map(|(name, key, text)| text.map(|text| Override { name, key, text }));
    let configuration = ConfigurationArguments { properties: arguments.properties.clone(), ..Default::default() };
    let config = configuration.config(&flags.collect::<Vec<_>>())?;
    if config.physics != *scene.settings() {
        let what = "the settings change the physics, which grasp tasks do not permit: use --properties with a file without physics settings";
        return Err(CliError::Input(what.into()));
    }
    // The log gets the text of a world with the gripper at the start of the task, so that it shows what was simulated.
    let moved = sources.first().and_then(|world| {
        let mechanism = scene.mechanism_at(&target);
        xml::move_robot(world, &mechanism, file.task.gripper, &scene.motion(&target))
    });
    let moved = moved.ok_or_else(|| CliError::Input("the world's text has no <robot> that could be moved".into()))?;
    let kept: Vec<SourceFile> = [moved].into_iter().chain(sources[1..].iter().cloned()).collect();
    let mut world = xml::read_kept(&kept)?;
    world.sources.extend(logged::sources(file, tasks.seed(), number)?);
    let world = Arc::new(world);
    let engine = Box::new(TaskEngine::new(Arc::clone(scene), &target)?);
    let seed = config.simulation.seed;
    let simulation = Simulation::with_engine(world, timestep, scene.settings().clone(), seed, engine)?;
    note(format_args!("task      {number}: {}", outcome.status.name()));
    run_job(Job { simulation, config, end: Some(StepIndex(outcome.times.steps)), origin: None })
}
