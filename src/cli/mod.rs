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
mod fmu;
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
mod render;
mod replay;
mod run;
mod runs;
mod sequence;
mod signals;
mod summary;
mod sweep;
mod talk;
mod terminal;
mod terrain;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use simpartner_terminal::output;
use terminal::Terminal;

use crate::{config, recorder};

pub use exit::{CliError, ExitStatus};

/// A simulation server for robots: it reads XML models, opens a TCP port for each sensor and actuator, and logs every
/// step in an SQL database.
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
    /// Run a simulation. `simpartner` without a verb does the same.
    Run(run::RunArguments),
    /// Check world, robot, sequence, grasp and grasp task files, and print their contents.
    Check(check::CheckArguments),
    /// List the sensors and actuators of a world with their ports and fields.
    Devices(devices::DevicesArguments),
    /// Send lines to a port of a running server and print its answers. Exit code 12 if the server refuses a line.
    Talk(talk::TalkArguments),
    /// Play a command sequence to a running server.
    ///
    /// If the server is paused, it steps through the sequence with the same results as `run --mode fast --sequence
    /// FILE`, bit for bit, and is paused at the end. If it is playing, each command is sent ahead of its step.
    Sequence(sequence::SequenceArguments),
    /// Drive a robot of a running server with a gamepad, and record the commands as a sequence. Runs the program
    /// simpartner-gamepad.
    #[command(disable_help_flag = true)]
    Gamepad(external::ExternalArguments),
    /// Connect a robot of a running server to a serial line, so that a microcontroller can control it. Runs the program
    /// simpartner-serial.
    #[command(disable_help_flag = true)]
    Serial(external::ExternalArguments),
    /// Connect the robots of a running server to ROS 2. Runs the program simpartner-ros2.
    #[command(disable_help_flag = true)]
    Ros2(external::ExternalArguments),
    /// List the worlds, robots, sequences, grasps and grasp tasks that are built into this program.
    List(list::ListArguments),
    /// Simulate cases with known results, and compare with theory and with the thesis on WorkPartner (Heiskanen 2008).
    Verify(verify::VerifyArguments),
    /// Repeat a logged run from its log alone, and compare every step. Exit code 10 if a step differs.
    Replay(replay::ReplayArguments),
    /// Start a new run at a step of a logged run, with other settings or commands.
    Fork(fork::ForkArguments),
    /// Query the log of a run with SQL.
    Query(query::QueryArguments),
    /// List the logged runs of a database, or compare two of them.
    Runs(runs::RunsArguments),
    /// Export a logged run to CSV, Parquet or MCAP files.
    Export(export::ExportArguments),
    /// Plot values of a logged run over time.
    Plot(plot::PlotArguments),
    /// Maintain a database: check that runs are complete, import a spill file, copy or remove runs.
    #[command(subcommand)]
    Db(db::DbVerb),
    /// Convert a robot or world file from URDF, MJCF or SDF to SimPartner's format, with its meshes.
    Import(import::ImportArguments),
    /// Convert a robot or world file to URDF or MJCF.
    Convert(convert::ConvertArguments),
    /// Write a world as a functional mock-up unit, which tools such as Simulink, Modelica tools and CarMaker import.
    Fmu(fmu::FmuArguments),
    /// Describe an elevation file, convert it to another format, or draw it.
    Terrain(terrain::TerrainArguments),
    /// Run one model many times with different parameters, on all cores or on a cluster; the results go into a
    /// database.
    #[command(subcommand)]
    Sweep(sweep::SweepVerb),
    /// Compute the mobility of a wheeled robot on a soil: drawbar pull, slopes, steps, stability, mean free path among
    /// rocks.
    Mobility(mobility::MobilityArguments),
    /// Analyse and simulate grasps: equilibrium, stability, quality, slip and lifting.
    #[command(subcommand)]
    Grasp(grasp::GraspVerb),
    /// Run a published benchmark, in SimPartner and in other physics engines that are installed.
    #[command(subcommand)]
    Benchmark(benchmark::BenchmarkVerb),
    /// Draw worlds in their initial state as SVG pictures.
    Draw(draw::DrawArguments),
    /// Take pictures of a world before the first step, or of a logged run: colours, distances or bodies, as PNG.
    ///
    /// It needs no graphics card and no display. The same world has the same picture on every machine, bit for bit.
    Render(render::RenderArguments),
    /// Create a project folder with the built-in worlds, robots and settings.
    Init(init::InitArguments),
    /// Print a definition: a DTD, the reference of the file formats, the protocol, the tables of the log, or the
    /// default settings.
    Schema {
        /// Definition to print.
        #[arg(value_enum)]
        what: Schema,
    },
    /// Print the manual page of the program, or of a verb: `simpartner man run | man -l -`. `-o FOLDER` writes all
    /// pages.
    Man(manual::ManArguments),
    /// Print a completion script for a shell.
    Completions(manual::CompletionsArguments),
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Schema {
    /// DTD of world files
    World,
    /// DTD of robot files
    Robot,
    /// DTD of command sequences
    Sequence,
    /// DTD of grasp files
    Grasp,
    /// DTD of grasp task files
    #[value(name = "graspTask")]
    GraspTask,
    /// Reference of world, robot, sequence and grasp files
    Reference,
    /// Protocol between clients and server over TCP
    Protocol,
    /// properties.toml with all settings and their defaults
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
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| format!("info,{}", recorder::LOG_FILTER).into());
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let terminal = match Terminal::start(output::Stderr) {
        Ok(terminal) => terminal,
        Err(error) => {
            output::note(format_args!("cannot start a thread: {error}"));
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
        Some(Verb::Fmu(arguments)) => fmu::write_unit(&arguments),
        Some(Verb::Terrain(arguments)) => terrain::terrain(&arguments),
        Some(Verb::Sweep(verb)) => sweep::sweep_verb(&verb),
        Some(Verb::Mobility(arguments)) => mobility::mobility(&arguments),
        Some(Verb::Grasp(verb)) => grasp::grasp(&verb),
        Some(Verb::Benchmark(verb)) => benchmark::benchmark(&verb),
        Some(Verb::Draw(arguments)) => draw::draw(&arguments),
        Some(Verb::Render(arguments)) => render::render_pictures(&arguments),
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
        Schema::Log => recorder::inquiry::dictionary(),
    };
    output::print(text);
    Ok(ExitStatus::Success)
}
