//! `simpartner grasp slip`: the motion of the object after its release.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::{Value, json};
use simpartner_description::{World, xml};
use simpartner_grasp::slip::{EngineSlip, Outcome, Sliding, Slip, SlipOptions, Softness, slip, slip_in_engine, world};
use simpartner_model::{Grasp, Moment};
use simpartner_terminal::output::{Rounded, line};

use super::{
    super::exit::{CliError, ExitStatus},
    super::format::ReportArguments,
    input::{Input, refuse, shown},
    keep::{Answer, Keep, store_answer},
};

#[derive(Debug, Args)]
pub(in crate::cli) struct SlipArguments {
    #[command(flatten)]
    input: Input,
    /// Timestep, in seconds, from 1e-5 to 0.01
    #[arg(long, value_name = "SECONDS", default_value_t = SlipOptions::default().timestep, value_parser = parse_timestep)]
    timestep: f64,
    /// Simulated time after which the simulation ends without a verdict, in seconds, above 0 and up to 1000
    #[arg(long, value_name = "SECONDS", default_value_t = SlipOptions::default().duration, value_parser = parse_duration)]
    duration: f64,
    /// Use associated friction, in which sliding also separates the surfaces; it takes a third of the time. Without
    /// this flag, sliding follows Coulomb's law
    #[arg(long)]
    associated: bool,
    /// Simulate the release in the physics engine as well, with the fingers as balls on rails, and compare the two
    /// results
    #[arg(long)]
    engine: bool,
    /// Write the world of the physics engine into this file, for `simpartner run --world`
    #[arg(long, value_name = "FILE")]
    world: Option<PathBuf>,
    #[command(flatten)]
    report: ReportArguments,
    #[command(flatten)]
    keep: Keep,
}

/// Parses a time, with or without a unit, to seconds.
fn parse_time(text: &str) -> Option<f64> {
    Moment::or_seconds(text).ok()?.as_seconds()
}

fn parse_timestep(text: &str) -> Result<f64, String> {
    parse_time(text).filter(|value| (1e-5..=0.01).contains(value)).ok_or("expected seconds from 1e-5 to 0.01".into())
}

fn parse_duration(text: &str) -> Result<f64, String> {
    parse_time(text)
        .filter(|value| *value > 0.0 && *value <= 1000.0)
        .ok_or("expected seconds above 0 and at most 1000".into())
}

pub(super) fn slip_of(arguments: &SlipArguments) -> Result<ExitStatus, CliError> {
    let database = arguments.keep.database()?;
    let grasp = arguments.input.grasp()?;
    let sliding = if arguments.associated { Sliding::Associated } else { Sliding::Coulomb };
    let options = SlipOptions { timestep: arguments.timestep, duration: arguments.duration, sliding };
    let found = slip(&grasp, &options).map_err(refuse)?;
    let in_engine = if arguments.engine { Some(slip_in_engine(&grasp, &options).map_err(refuse)?) } else { None };
    if let Some(path) = &arguments.world {
        write_world(&grasp, &options, path)?;
    }
    let figures = [("slip_time", found.time), ("slip_path", found.path)];
    let answer = Answer { verb: "slip", name: &grasp.name, verdict: found.outcome.word(), figures: &figures };
    let report = || json_of_both(arguments, &grasp, &found, in_engine.as_ref());
    store_answer(database.as_ref(), &arguments.input, &answer, report)?;
    if arguments.report.is_json() {
        line(format_args!("{:#}", report()));
        return Ok(ExitStatus::Success);
    }
    line(format_args!("{}: {}", arguments.input.shown(), outcome_sentence(&grasp, found.outcome)));
    print_slip(&found);
    if let Some(in_engine) = &in_engine {
        print_engine(&grasp, &found, in_engine);
    }
    Ok(ExitStatus::Success)
}

/// A sentence on the outcome of a slip, without a period.
fn outcome_sentence(grasp: &Grasp, outcome: Outcome) -> String {
    let name = |contact: usize| &grasp.contacts[contact].name;
    match outcome {
        Outcome::Holds => "it holds, and never moves".to_owned(),
        Outcome::Rests => "it slips, and comes to rest".to_owned(),
        Outcome::Misses(contact) => format!("it fails: the line of force of '{}' misses the object", name(contact)),
        Outcome::OutOfRange(contact) => format!("it fails: '{}' is beyond its patch", name(contact)),
        Outcome::TimeOut => "it still moves".to_owned(),
    }
}

fn print_slip(found: &Slip) {
    let (time, path) = (Rounded(found.time), Rounded(found.path));
    line(format_args!("  after {time} s, its centre of mass has gone {path} m"));
    let rpy = shown(found.pose.roll_pitch_yaw());
    line(format_args!("  the object is at {} m, roll, pitch, yaw {rpy} rad", shown(found.pose.translation)));
}

fn print_engine(grasp: &Grasp, found: &Slip, in_engine: &EngineSlip) {
    let outer = &in_engine.slip;
    line(format_args!("in the engine: {}", outcome_sentence(grasp, outer.outcome)));
    print_slip(outer);
    if let Some(inner) = &in_engine.inner {
        let told = outcome_sentence(grasp, inner.outcome);
        line(format_args!(
            "  with the inner bound of soft fingers' friction and torsion: {told}, after {} s",
            Rounded(inner.time)
        ));
    }
    line(format_args!("  {}", agreement_text(found, in_engine)));
}

/// Sentence on whether the quasi-exact computation and the engine agree.
fn agreement_text(found: &Slip, in_engine: &EngineSlip) -> &'static str {
    match in_engine.outcome() {
        None => {
            "the engine's result is undecided: it limits friction and torsion of a soft finger separately, and its two limits give different outcomes"
        }
        Some(outcome) if outcome.same_kind(found.outcome) => "both results agree",
        Some(_) => {
            "the results disagree: with --associated, sliding separates the surfaces, which it does not in the engine; without it, small differences decide the motion, or Coulomb's law permits both results"
        }
    }
}

fn json_of_slip(grasp: &Grasp, found: &Slip) -> Value {
    let way = found.trace.iter().map(|(time, place)| json!([time, place.x, place.y, place.z]));
    json!({
        "verdict": found.outcome.word(),
        "reason": outcome_sentence(grasp, found.outcome),
        "time_s": found.time,
        "path_m": found.path,
        "pose": found.pose.to_array(),
        "centre_of_mass": way.collect::<Vec<_>>(),
    })
}

fn json_of_both(arguments: &SlipArguments, grasp: &Grasp, found: &Slip, in_engine: Option<&EngineSlip>) -> Value {
    let mut report = json_of_slip(grasp, found);
    report["file"] = json!(arguments.input.shown());
    report["name"] = json!(grasp.name);
    if let Some(in_engine) = in_engine {
        let mut engine = json_of_slip(grasp, &in_engine.slip);
        engine["soft_fingers_inner_bound"] = json!(in_engine.inner.as_ref().map(|inner| json_of_slip(grasp, inner)));
        engine["agreement"] = json!(agreement_text(found, in_engine));
        engine["agrees"] = json!(in_engine.outcome().map(|outcome| outcome.same_kind(found.outcome)));
        report["engine"] = engine;
    }
    report
}

fn write_world(grasp: &Grasp, options: &SlipOptions, path: &Path) -> Result<(), CliError> {
    if grasp.force.length() + grasp.torque.length() > 0.0 {
        return Err(CliError::Input(
            "a world has no <load>: leave it out of the grasp, or run it here with --engine alone".into(),
        ));
    }
    let built = world(grasp, options, Softness::Outer).map_err(refuse)?;
    let comment = format!(
        "{}, let go, as `simpartner grasp slip` writes it: fingers are balls on rails that push and rub.",
        grasp.name
    );
    let world = World { name: grasp.name.clone(), mechanism: built.mechanism, ..World::default() };
    let text = xml::write_objects(&world, &comment).map_err(CliError::Input)?;
    fs::write(path, text).map_err(|error| CliError::Input(format!("cannot write '{}': {error}", path.display())))
}
