//! `simpartner benchmark`: published benchmarks, run by our engine and by others that are installed.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use clap::{Args, Subcommand};
use simpartner_model::Moment;
use simpartner_terminal::output::{line, print};

use super::{
    arguments::ConfigurationArguments,
    exit::{CliError, ExitStatus},
    format::ReportArguments,
    logged::Bar,
};
use crate::{
    analysis::Progress,
    benchmark::{
        BenchmarkError, PUBLISHED_SECONDS,
        arm::{Arm, ArmStudy, Control, Start, VARIANTS},
        blocks::Blocks,
        peers::Peers,
        plots,
        report::{BlocksStudy, Report},
        table,
    },
};

/// Length of the progress bar, in its own counts.
const BAR_LENGTH: u64 = 1000;
/// Folder of the peers' scripts in the repository.
const PEER_SCRIPTS: &str = "tests/bench/peers";
/// Largest number of blocks. A longer row is bent open by its own weight.
const MAX_BLOCKS: i64 = 81;

#[derive(Debug, Subcommand)]
pub(super) enum BenchmarkVerb {
    /// Measure how long objects stay in a grasp (benchmark of Taylor and Drumwright).
    #[command(subcommand)]
    Grasp(GraspBenchmark),
}

#[derive(Debug, Subcommand)]
pub(super) enum GraspBenchmark {
    /// Hold a row of blocks between two jaws.
    Blocks(BlocksArguments),
    /// Swing a block in the hand of a UR10 arm.
    Arm(ArmArguments),
}

#[derive(Debug, Args)]
pub(super) struct BlocksArguments {
    /// Number of blocks, from 1 to 81; may be given several times [default: 1 to 11]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_BLOCKS))]
    blocks: Vec<u32>,
    /// Friction coefficient of blocks and jaws, from 0 to 1e9; may be given several times. Below 0.049, no force can
    /// hold the blocks
    #[arg(long = "friction", value_name = "MU", default_values_t = [0.5, 1.0, 100.0], value_parser = parse_friction)]
    frictions: Vec<f64>,
    /// Timestep, in milliseconds, from 0.01 to 100; may be given several times
    #[arg(long = "timestep", value_name = "MS", default_values_t = [1.0], value_parser = parse_timestep)]
    timesteps: Vec<f64>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub(super) struct ArmArguments {
    /// Model of arm, hand and block; may be given several times. In polygonal models the hand, the block or both are
    /// polyhedra. In inertialmod_Kx the masses and moments of inertia of the links are powers of 1/K
    #[arg(long = "variant", value_name = "NAME", default_values_t = ["primitiveall".to_owned()], value_parser = VARIANTS)]
    variants: Vec<String>,
    /// Friction coefficient of pads and block, from 0 to 1e9; may be given several times
    #[arg(long = "friction", value_name = "MU", default_values_t = [1.0, 100.0], value_parser = parse_friction)]
    frictions: Vec<f64>,
    /// Timestep, in milliseconds, from 0.01 to 100; may be given several times
    #[arg(long = "timestep", value_name = "MS", default_values_t = [1.0], value_parser = parse_timestep)]
    timesteps: Vec<f64>,
    /// Compute the motor torques at the start of each step, as published; with a timestep of 1 ms, the wrist then
    /// oscillates. Without this flag, they are computed at the end of the step
    #[arg(long)]
    explicit: bool,
    /// Start as published: the fingers are 0.5 mm from the block, and the block is at rest while the arm moves at 3
    /// m/s. Without this flag, the block starts in the grasp
    #[arg(long)]
    published_start: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
struct Common {
    /// Simulated time to hold, in seconds, from 0.01 to 1e5
    #[arg(long, value_name = "S", default_value_t = PUBLISHED_SECONDS, value_parser = parse_seconds)]
    seconds: f64,
    /// Run the benchmark in the other installed engines as well, with the scripts in this folder; without a folder, in
    /// tests/bench/peers
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = PEER_SCRIPTS)]
    peers: Option<PathBuf>,
    #[command(flatten)]
    report: ReportArguments,
    /// SVG file for plots of the displacements over time
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the worlds into this folder instead of running them; created if missing
    #[arg(long, value_name = "DIR")]
    worlds: Option<PathBuf>,
}

/// Parses a number within a range, bounds included. `what` describes the range in the error.
fn parse_within(text: &str, [low, high]: [f64; 2], what: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("expected {what}"))?;
    if low <= number && number <= high { Ok(number) } else { Err(format!("expected {what}")) }
}

fn parse_friction(text: &str) -> Result<f64, String> {
    parse_within(text, [0.0, 1e9], "a number from 0 to 1e9")
}

fn parse_timestep(text: &str) -> Result<f64, String> {
    parse_within(text, [0.01, 100.0], "milliseconds from 0.01 to 100")
}

/// Converts a time with a suffix to a number of seconds; any other text is returned unchanged.
fn in_seconds(text: &str) -> String {
    let seconds = Moment::or_seconds(text).ok().and_then(Moment::as_seconds);
    seconds.map_or_else(|| text.to_owned(), |seconds| seconds.to_string())
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    parse_within(&in_seconds(text), [0.01, 1e5], "seconds from 0.01 to 1e5")
}

pub(super) fn benchmark(verb: &BenchmarkVerb) -> Result<ExitStatus, CliError> {
    match verb {
        BenchmarkVerb::Grasp(GraspBenchmark::Blocks(arguments)) => run_blocks(arguments),
        BenchmarkVerb::Grasp(GraspBenchmark::Arm(arguments)) => run_arm(arguments),
    }
}

fn run_blocks(arguments: &BlocksArguments) -> Result<ExitStatus, CliError> {
    let blocks = if arguments.blocks.is_empty() { (1..=11).collect() } else { arguments.blocks.clone() };
    if let Some(folder) = &arguments.common.worlds {
        let several = arguments.frictions.len() > 1;
        let worlds = blocks.iter().flat_map(|&blocks| {
            arguments.frictions.iter().map(move |&friction| {
                let case = Blocks { blocks, friction };
                (file_name(&case.name(), friction, several), case.text())
            })
        });
        return write_worlds(folder, worlds);
    }
    let study = BlocksStudy {
        blocks,
        frictions: arguments.frictions.clone(),
        timesteps_s: arguments.timesteps.iter().map(|milliseconds| milliseconds / 1e3).collect(),
        seconds: arguments.common.seconds,
        settings: ConfigurationArguments::default().config(&[])?.physics,
        peers: None,
    };
    run_study(&arguments.common, |peers, told| BlocksStudy { peers, ..study }.run(&seconds_since(), told))
}

fn run_arm(arguments: &ArmArguments) -> Result<ExitStatus, CliError> {
    let control = if arguments.explicit { Control::Explicit } else { Control::Implicit };
    let start = if arguments.published_start { Start::Published } else { Start::Held };
    let several = arguments.frictions.len() > 1;
    let of = |variant: &String| {
        let frictions = arguments.frictions.iter();
        frictions.filter_map(|&friction| Arm::variant(variant, friction, control, start)).collect::<Vec<_>>()
    };
    let cases: Vec<Arm> = arguments.variants.iter().flat_map(of).collect();
    if let Some(folder) = &arguments.common.worlds {
        let worlds =
            cases.iter().map(|case| (file_name(&format!("arm_{}", case.name()), case.friction, several), case.text()));
        return write_worlds(folder, worlds);
    }
    let study = ArmStudy {
        cases,
        timesteps_s: arguments.timesteps.iter().map(|milliseconds| milliseconds / 1e3).collect(),
        seconds: arguments.common.seconds,
        settings: ConfigurationArguments::default().config(&[])?.physics,
        peers: None,
    };
    run_study(&arguments.common, |peers, told| ArmStudy { peers, ..study }.run(&seconds_since(), told))
}

/// Name of a world's file. It includes the coefficient of friction if there are several.
fn file_name(name: &str, friction: f64, several: bool) -> String {
    if several { format!("{name}_mu{friction}.xml") } else { format!("{name}.xml") }
}

/// A clock that starts now, s.
fn seconds_since() -> impl Fn() -> f64 {
    let begin = Instant::now();
    move || begin.elapsed().as_secs_f64()
}

fn write_worlds(folder: &Path, worlds: impl Iterator<Item = (String, String)>) -> Result<ExitStatus, CliError> {
    let cannot = |path: &Path, error| CliError::Usage(format!("--worlds: cannot write '{}': {error}", path.display()));
    fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
    for (name, text) in worlds {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| cannot(&path, error))?;
        line(path.display());
    }
    Ok(ExitStatus::Success)
}

/// Runs a study with or without peers, and prints or writes its report.
fn run_study(
    common: &Common,
    study: impl FnOnce(Option<Peers>, &mut dyn FnMut(&str, f64)) -> Result<Report, BenchmarkError>,
) -> Result<ExitStatus, CliError> {
    let scratch = std::env::temp_dir().join(format!("simpartner-benchmark-{}", std::process::id()));
    let peers = match &common.peers {
        Some(scripts) if !scripts.join("grasp_peer.py").is_file() => {
            return Err(CliError::Usage(format!(
                "--peers: '{}' has no grasp_peer.py; it is in {PEER_SCRIPTS} of the repository",
                scripts.display()
            )));
        }
        Some(scripts) => {
            fs::create_dir_all(&scratch)?;
            Some(Peers { scripts: scripts.clone(), scratch: scratch.clone() })
        }
        None => None,
    };
    let mut bar = Bar::new();
    let report = study(peers, &mut |what, share| {
        bar.begin(what, BAR_LENGTH);
        bar.reach((share * BAR_LENGTH as f64) as u64);
    });
    drop(bar);
    if common.peers.is_some() {
        // If that fails, the operating system clears its temporary folder.
        let _ = fs::remove_dir_all(&scratch);
    }
    let report = report.map_err(|error| match error {
        BenchmarkError::World(problems) => CliError::Files(problems),
        BenchmarkError::Engine(error) => error.into(),
        BenchmarkError::Timestep(_) => CliError::Usage(format!("--timestep: {error}")),
        BenchmarkError::Peer(what) => CliError::Usage(format!("--peers: {what}")),
    })?;
    if let Some(file) = &common.output {
        fs::write(file, plots::document(&report).svg())
            .map_err(|error| CliError::Usage(format!("--output: cannot write '{}': {error}", file.display())))?;
    }
    if common.report.is_json() {
        line(serde_json::to_string_pretty(&report).map_err(std::io::Error::from)?);
    } else {
        print(table::table(&report));
    }
    Ok(ExitStatus::Success)
}
