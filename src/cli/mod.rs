//! The command line: parses the arguments of each verb, calls the library and prints the results.
//!
//! Data goes to standard output, messages to standard error, both through [`output`]. No verb computes anything that
//! another program may want: that is in the modules below. Start at [`main`], then `run`.

mod arguments;
mod benchmark;
mod check;
mod convert;
mod db;
mod devices;
mod draw;
mod exit;
mod export;
mod external;
mod fork;
mod format;
mod grasp;
mod import;
mod init;
mod list;
mod logged;
mod manual;
mod mobility;
mod patience;
mod plot;
mod ports;
mod process;
mod query;
mod replay;
mod run;
mod runs;
mod sequence;
mod signals;
mod summary;
mod talk;
mod terminal;
mod terrain;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use simpartner_terminal::output;
use terminal::Terminal;

use crate::config;

pub use exit::{CliError, ExitStatus};

/// A dynamic robot simulator server: XML in, one TCP port per sensor and actuator, every step in SQL.
#[derive(Debug, Parser)]
#[command(version, after_help = exit::CODES)]
struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    run: run::RunArguments,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run the simulation (what plain `simpartner` does).
    Run(run::RunArguments),
    /// Validate world, robot and sequence files and print what they hold.
    Check(check::CheckArguments),
    /// List the devices of the configured world with their ports and fields.
    Devices(devices::DevicesArguments),
    /// Send lines to a port of a running server and print its answers. Exit code 12 if it refuses one.
    Talk(talk::TalkArguments),
    /// Play a command sequence to a running server.
    ///
    /// A paused server is run through the sequence exactly, bit for bit as `run --mode fast --sequence FILE` would, and
    /// left paused. A playing one is followed: every command is sent ahead of the step it is for.
    Sequence(sequence::SequenceArguments),
    /// Drive a robot of a running server by gamepad, and record what was driven. Runs the program simpartner-gamepad.
    #[command(disable_help_flag = true)]
    Gamepad(external::ExternalArguments),
    /// Connect a robot of a running server to a serial line, for a microcontroller that steers it. Runs the program
    /// simpartner-serial.
    #[command(disable_help_flag = true)]
    Serial(external::ExternalArguments),
    /// Connect the robots of a running server to ROS 2. Runs the program simpartner-ros2.
    #[command(disable_help_flag = true)]
    Ros2(external::ExternalArguments),
    /// List the worlds, robots, sequences, grasps and grasp tasks that are built into this program.
    List(list::ListArguments),
    /// Run experiments of known outcome and compare the results with theory and the thesis.
    Verify(verify::VerifyArguments),
    /// Repeat a logged run from its log alone, and compare every step. Exit code 10 if one differs.
    Replay(replay::ReplayArguments),
    /// Continue a logged run from one of its steps with something changed, as a new run.
    Fork(fork::ForkArguments),
    /// Ask the log of a run by SQL.
    Query(query::QueryArguments),
    /// List the runs of a database, or compare two.
    Runs(runs::RunsArguments),
    /// Write a run into files for other programs.
    Export(export::ExportArguments),
    /// Plot numbers of a run over time.
    Plot(plot::PlotArguments),
    /// Prove logged runs complete, import a spill file, copy runs, or remove runs.
    #[command(subcommand)]
    Db(db::DbVerb),
    /// Turn a robot or world of another format (URDF, MJCF, SDF) into a file of ours, with its meshes beside it.
    Import(import::ImportArguments),
    /// Write a robot or world in another format (URDF, MJCF).
    Convert(convert::ConvertArguments),
    /// Say what a file of heights holds, and write it as another format or as a picture
    Terrain(terrain::TerrainArguments),
    /// Say what a robot on wheels can do on a soil: drawbar pull, slopes, steps, stability, mean free path among rocks
    Mobility(mobility::MobilityArguments),
    /// Ask whether a grasp holds, how stable and how good it is.
    #[command(subcommand)]
    Grasp(grasp::GraspVerb),
    /// Run a published benchmark, also in other engines that are installed.
    #[command(subcommand)]
    Benchmark(benchmark::BenchmarkVerb),
    /// Draw worlds as SVG pictures, as they are before the first step.
    Draw(draw::DrawArguments),
    /// Make a project folder with the worlds, robots and settings that are built into this program.
    Init(init::InitArguments),
    /// Print what the program is made to: the DTDs, the format's reference, the protocol, the log's tables, the default
    /// properties.
    Schema {
        /// Which.
        #[arg(value_enum)]
        what: Schema,
    },
    /// Print the manual page of the program, or of a verb: `simpartner man run | man -l -`. `-o FOLDER` writes all
    /// pages.
    Man(manual::ManArguments),
    /// Print a script that completes verbs and flags in a shell.
    Completions(manual::CompletionsArguments),
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Schema {
    /// worlds/world.dtd
    World,
    /// robots/robot.dtd
    Robot,
    /// robots/sequence.dtd
    Sequence,
    /// worlds/grasps/grasp.dtd
    Grasp,
    /// worlds/grasps/tasks/graspTask.dtd
    #[value(name = "graspTask")]
    GraspTask,
    /// The reference of world, robot, sequence and grasp files
    Reference,
    /// The protocol between clients and server over TCP
    Protocol,
    /// properties.toml
    Properties,
    /// Tables, views and columns of the log
    Log,
}

/// Runs the command line and returns the exit code.
pub fn main() -> ExitCode {
    let arguments: Arguments = match output::arguments() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into());
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let terminal = match Terminal::start(output::Stderr) {
        Ok(terminal) => terminal,
        Err(error) => {
            output::note(format_args!("the operating system gave no thread: {error}"));
            return output::exit(ExitStatus::Internal.into());
        }
    };
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(terminal.clone());
    log.with_ansi(colours).with_target(false).init();
    signals::survive_file_size_limit();
    let result = dispatch(arguments);
    terminal.drain();
    let status = result.unwrap_or_else(|error| {
        output::note(&error);
        // The causes below the message, such as SQLite's own text.
        let mut cause = std::error::Error::source(&error).and_then(std::error::Error::source);
        while let Some(error) = cause {
            output::note(format_args!("cause: {error}"));
            cause = error.source();
        }
        error.status()
    });
    output::exit(status.into())
}

/// Runs a command line in this process, as [`main`] does. The arguments do not include the program's name.
///
/// # Errors
/// The error of the verb, or a usage error.
pub fn call(arguments: &[&str]) -> Result<ExitStatus, CliError> {
    let arguments = ["simpartner"].iter().chain(arguments);
    let arguments: Arguments = output::parse(arguments).map_err(|error| CliError::Usage(error.to_string()))?;
    dispatch(arguments)
}

fn dispatch(arguments: Arguments) -> Result<ExitStatus, CliError> {
    match arguments.verb {
        None => run::run(&arguments.run),
        Some(Verb::Run(arguments)) => run::run(&arguments),
        Some(Verb::Check(arguments)) => check::check(&arguments),
        Some(Verb::Devices(arguments)) => devices::devices(&arguments),
        Some(Verb::Talk(arguments)) => talk::talk(&arguments),
        Some(Verb::Sequence(arguments)) => sequence::sequence(&arguments),
        Some(Verb::Gamepad(arguments)) => external::external(external::GAMEPAD, &arguments),
        Some(Verb::Serial(arguments)) => external::external(external::SERIAL, &arguments),
        Some(Verb::Ros2(arguments)) => external::external(external::ROS2, &arguments),
        Some(Verb::List(arguments)) => list::list(&arguments),
        Some(Verb::Verify(arguments)) => verify::verify(&arguments),
        Some(Verb::Replay(arguments)) => replay::replay(&arguments),
        Some(Verb::Fork(arguments)) => fork::fork(&arguments),
        Some(Verb::Query(arguments)) => query::query(&arguments),
        Some(Verb::Runs(arguments)) => runs::runs(&arguments),
        Some(Verb::Export(arguments)) => export::export(&arguments),
        Some(Verb::Plot(arguments)) => plot::plot(&arguments),
        Some(Verb::Db(verb)) => db::db(&verb),
        Some(Verb::Init(arguments)) => init::init(&arguments),
        Some(Verb::Import(arguments)) => import::import(&arguments),
        Some(Verb::Convert(arguments)) => convert::convert(&arguments),
        Some(Verb::Terrain(arguments)) => terrain::terrain(&arguments),
        Some(Verb::Mobility(arguments)) => mobility::mobility(&arguments),
        Some(Verb::Grasp(verb)) => grasp::grasp(&verb),
        Some(Verb::Benchmark(verb)) => benchmark::benchmark(&verb),
        Some(Verb::Draw(arguments)) => draw::draw(&arguments),
        Some(Verb::Schema { what }) => print_schema(what),
        Some(Verb::Man(arguments)) => manual::man(&arguments, output::command::<Arguments>()),
        Some(Verb::Completions(arguments)) => Ok(manual::completions(&arguments, output::command::<Arguments>())),
    }
}

fn print_schema(what: Schema) -> Result<ExitStatus, CliError> {
    let text = match what {
        Schema::World => simpartner_description::xml::world_dtd(),
        Schema::Robot => simpartner_description::xml::robot_dtd(),
        Schema::Sequence => simpartner_description::xml::sequence_dtd(),
        Schema::Grasp => simpartner_description::xml::grasp_dtd(),
        Schema::GraspTask => simpartner_description::xml::grasp_task_dtd(),
        Schema::Reference => simpartner_description::xml::reference(),
        Schema::Protocol => simpartner_wire::protocol::SPECIFICATION.to_owned(),
        Schema::Properties => config::default_properties(),
        Schema::Log => crate::recorder::inquiry::dictionary(),
    };
    output::print(text);
    Ok(ExitStatus::Success)
}
