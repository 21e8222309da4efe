//! The command line: verbs and their flags, configuration in layers, and the composition of all rooms into a run.
//!
//! Data goes to standard output, messages to standard error, both by way of [`output`]. Start at [`main`], then `run`.

mod again;
mod archive;
mod check;
mod db;
mod devices;
mod exit;
mod export;
mod fork;
mod init;
mod logged;
pub mod output;
mod plot;
mod ports;
mod prepare;
pub mod properties;
mod query;
mod replay;
mod run;
mod runs;
mod signals;
mod summary;
mod talk;
mod terminal;
mod verify;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use archive::Logs;
pub use exit::{CliError, ExitStatus};
pub use ports::ServerArguments;

use properties::{Flag, Properties, PropertiesFile};
use terminal::Terminal;

/// The properties file that is read if it is there and no other is named.
const PROPERTIES_FILE: &str = "properties.toml";

/// The largest properties file, bytes: eighty times the one with all settings and their descriptions.
const MAX_PROPERTIES: usize = 1 << 20;

/// A dynamic robot simulator server: XML in, one TCP port per sensor and actuator, every step in SQL.
#[derive(Debug, Parser)]
#[command(version, after_help = exit::CODES)]
struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    run: RunArguments,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run the simulation (what plain `simpartner` does).
    Run(RunArguments),
    /// Validate world, robot and sequence files and print what they hold.
    Check(CheckArguments),
    /// List the devices of the configured world with their ports and fields.
    Devices(DevicesArguments),
    /// Say lines to a port of a running server and print its answers. Exit code 12 if it refuses one.
    Talk(talk::TalkArguments),
    /// Run experiments of known outcome and set what comes of them beside theory and the thesis.
    Verify(VerifyArguments),
    /// Make a logged run again from its log alone, and hold every step against it. Exit code 10 if one comes out otherwise.
    Replay(replay::ReplayArguments),
    /// Go on from a step of a logged run with something changed, as a run of its own.
    Fork(fork::ForkArguments),
    /// Ask the log of a run by SQL.
    Query(query::QueryArguments),
    /// List the runs of a database, or compare two.
    Runs(runs::RunsArguments),
    /// Write a run into files for other programs.
    Export(export::ExportArguments),
    /// Plot numbers of a run over time.
    Plot(plot::PlotArguments),
    /// Prove logged runs complete, bring home what waits in a spill file, copy runs, or take runs out.
    #[command(subcommand)]
    Db(db::DbVerb),
    /// Make a project folder with the worlds, robots and settings that are built into this program.
    Init(init::InitArguments),
    /// Print a generated file: the DTDs, the format's reference, the default properties.
    Schema {
        /// Which.
        #[arg(value_enum)]
        what: Schema,
    },
}

/// Flags that change the configuration for one call.
#[derive(Debug, Clone, Default, Args)]
struct ConfigurationArguments {
    /// Properties file [default: properties.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    properties: Option<PathBuf>,
    /// World file
    #[arg(long, value_name = "FILE")]
    world: Option<String>,
    /// Move all ports that model and settings name by so many, so that a second server has its own
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    port_offset: Option<String>,
    /// Any free ports in place of those; --ports-file tells which
    #[arg(long)]
    free_ports: bool,
    /// File that tells, while the server runs, where everything listens
    #[arg(long, value_name = "FILE")]
    ports_file: Option<String>,
    /// Any other setting, as `--set section.key=value`
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

#[derive(Debug, Clone, Default, Args)]
struct RunArguments {
    #[command(flatten)]
    configuration: ConfigurationArguments,
    /// Clock: `realtime` gives every step its deadline, `fast` makes one step after the other, `lockstep` waits for controllers
    #[arg(long, value_name = "realtime|fast|lockstep")]
    mode: Option<String>,
    /// Simulated seconds per wall second in real time
    #[arg(long)]
    rate: Option<String>,
    /// End after so many simulated seconds
    #[arg(long, value_name = "SECONDS")]
    duration: Option<String>,
    /// Play this command sequence from step 0, inside the process. A fast run ends when the sequence does
    #[arg(long, value_name = "FILE")]
    sequence: Option<PathBuf>,
    /// Database of the log, or `none`
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Wait for PLAY on the control port
    #[arg(long)]
    paused: bool,
    /// Serve no viewer page
    #[arg(long)]
    no_viewer: bool,
}

#[derive(Debug, Args)]
struct CheckArguments {
    /// World, robot and sequence files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Properties file whose settings the files are checked with [default: properties.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    properties: Option<PathBuf>,
    /// World that sequences are checked with: whether it has their ports and its devices take their commands
    #[arg(long, value_name = "FILE")]
    world: Option<PathBuf>,
    /// Any other setting, as `--set section.key=value`
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Take warnings for errors: exit code 3
    #[arg(long)]
    strict: bool,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Print the graph of bodies and joints for Graphviz instead
    #[arg(long)]
    dot: bool,
}

#[derive(Debug, Args)]
struct DevicesArguments {
    #[command(flatten)]
    configuration: ConfigurationArguments,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct VerifyArguments {
    /// Name all cases, and what they test
    #[arg(long)]
    list: bool,
    /// Run only this case; any number of times
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<String>,
    /// Run only the cases that take a moment
    #[arg(long)]
    quick: bool,
    /// The physics engine to verify [default: that of the settings]
    #[arg(long, value_name = "dynamics|rapier")]
    engine: Option<String>,
    /// Print JSON, or write it into a file and print the table
    #[arg(long, value_name = "FILE")]
    json: Option<Option<PathBuf>>,
    /// Write a report with plots
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Schema {
    /// worlds/world.dtd
    World,
    /// robots/robot.dtd
    Robot,
    /// robots/sequence.dtd
    Sequence,
    /// robots/REFERENCE.md
    Reference,
    /// properties.toml
    Properties,
    /// LOG.md: tables, views and columns of the log
    Log,
}

/// Runs the command line and says how it went.
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
    terminal.finish();
    let status = result.unwrap_or_else(|error| {
        output::note(&error);
        // What an error above leaves to its causes, such as SQLite's own words.
        let mut cause = std::error::Error::source(&error).and_then(std::error::Error::source);
        while let Some(error) = cause {
            output::note(format_args!("cause: {error}"));
            cause = error.source();
        }
        error.status()
    });
    output::exit(status.into())
}

/// Carries out one call in this process, as [`main`] does, and leaves what it fails with to the caller. Arguments begin behind the
/// program's name.
///
/// # Errors
/// When the call fails.
pub fn call(arguments: &[&str]) -> Result<ExitStatus, CliError> {
    let arguments = ["simpartner"].iter().chain(arguments);
    let arguments = Arguments::try_parse_from(arguments).map_err(|error| CliError::Usage(error.to_string()))?;
    dispatch(arguments)
}

fn dispatch(arguments: Arguments) -> Result<ExitStatus, CliError> {
    match arguments.verb {
        None => run::run(&arguments.run),
        Some(Verb::Run(arguments)) => run::run(&arguments),
        Some(Verb::Check(arguments)) => check::check(&arguments),
        Some(Verb::Devices(arguments)) => devices::devices(&arguments),
        Some(Verb::Talk(arguments)) => talk::talk(&arguments),
        Some(Verb::Verify(arguments)) => verify::verify(&arguments),
        Some(Verb::Replay(arguments)) => replay::replay(&arguments),
        Some(Verb::Fork(arguments)) => fork::fork(&arguments),
        Some(Verb::Query(arguments)) => query::query(&arguments),
        Some(Verb::Runs(arguments)) => runs::runs(&arguments),
        Some(Verb::Export(arguments)) => export::export(&arguments),
        Some(Verb::Plot(arguments)) => plot::plot(&arguments),
        Some(Verb::Db(verb)) => db::db(&verb),
        Some(Verb::Init(arguments)) => init::init(&arguments),
        Some(Verb::Schema { what }) => schema(what),
    }
}

fn schema(what: Schema) -> Result<ExitStatus, CliError> {
    let text = match what {
        Schema::World => simpartner_description::xml::world_dtd(),
        Schema::Robot => simpartner_description::xml::robot_dtd(),
        Schema::Sequence => simpartner_description::xml::sequence_dtd(),
        Schema::Reference => simpartner_description::xml::reference(),
        Schema::Properties => properties::default_properties(),
        Schema::Log => crate::recorder::inquiry::dictionary(),
    };
    output::print(text);
    Ok(ExitStatus::Success)
}

impl ConfigurationArguments {
    /// Puts all layers together. `flags` are those of a verb's own that stand for settings.
    fn properties(&self, flags: &[Flag<'_>]) -> Result<Properties, CliError> {
        let path = self.properties.as_deref().unwrap_or(Path::new(PROPERTIES_FILE));
        let name = path.to_string_lossy();
        // Only the file that nobody asked for may be missing.
        let is_there = self.properties.is_some() || path.try_exists().unwrap_or(true);
        let text = is_there.then(|| simpartner_description::xml::read_file(&name, MAX_PROPERTIES)).transpose();
        let text = text
            .map_err(|problem| CliError::Usage(format!("--properties: cannot read '{name}': {}", problem.message)))?;
        let file = text.as_deref().map(|text| PropertiesFile { path: &name, text });
        let mut all: Vec<Flag<'_>> = Vec::new();
        for set in &self.set {
            let (key, text) = set
                .split_once('=')
                .ok_or_else(|| CliError::Usage(format!("--set: expected SECTION.KEY=VALUE, got '{set}'")))?;
            all.push(Flag { name: "--set", key, text });
        }
        let given = [
            ("--world", "simulation.world_file", self.world.as_deref()),
            ("--port-offset", "server.port_offset", self.port_offset.as_deref()),
            ("--free-ports", "server.free_ports", self.free_ports.then_some("true")),
            ("--ports-file", "server.ports_file", self.ports_file.as_deref()),
        ];
        all.extend(given.into_iter().filter_map(|(name, key, text)| text.map(|text| Flag { name, key, text })));
        all.extend(flags);
        Ok(Properties::load(file, std::env::vars(), &all)?)
    }
}

impl RunArguments {
    fn properties(&self) -> Result<Properties, CliError> {
        let without_log = self.database.as_deref() == Some("none");
        let given = [
            ("--mode", "simulation.mode", self.mode.as_deref()),
            ("--rate", "simulation.rate", self.rate.as_deref()),
            ("--duration", "simulation.duration_s", self.duration.as_deref()),
            ("--paused", "simulation.start_paused", self.paused.then_some("true")),
            ("--database", "log.database", self.database.as_deref().filter(|_| !without_log)),
            ("--no-viewer", "viewer.enabled", self.no_viewer.then_some("false")),
            ("--database none", "log.enabled", without_log.then_some("false")),
        ];
        let flags = given.into_iter().filter_map(|(name, key, text)| text.map(|text| Flag { name, key, text }));
        self.configuration.properties(&flags.collect::<Vec<_>>())
    }
}
