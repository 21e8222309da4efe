//! The `simpartner-gamepad` command: parses arguments, prints messages and a summary.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::{Context, Result, anyhow};
use clap::Parser;
use simpartner_description::xml;
use simpartner_gamepad::{
    drive::{Driven, drive},
    link::Server,
    mapping::{Mapping, WORKPARTNER},
    pad::Backend,
    script::Script,
};
use simpartner_model::Moment;
use simpartner_terminal::{ServerArguments, output};

/// Drives a robot of a running SimPartner server with a gamepad.
///
/// Without a mapping file it drives WorkPartner: the left stick drives and steers, the cross raises the legs and turns
/// the torso, buttons move the manipulators, triggers move the claws. Ctrl-C stops the robot and ends the program.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Exit codes: 0 success, 1 the drive failed or the recording ended early, 2 wrong arguments"
)]
struct Arguments {
    #[command(flatten)]
    server: ServerArguments,
    /// Token of the server, if it requires one
    #[arg(long)]
    token: Option<String>,
    /// Name of the robot, if several robots have the devices of the mapping
    #[arg(long, value_name = "NAME")]
    robot: Option<String>,
    /// Mapping file [default: the mapping for WorkPartner]
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,
    /// Record the commands as a sequence in this file, which must not exist yet
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Drive by the timed events of this file instead of a gamepad
    #[arg(long, value_name = "FILE", conflicts_with = "wait")]
    script: Option<PathBuf>,
    /// Wait for a gamepad if none is connected
    #[arg(long)]
    wait: bool,
    /// Simulated time between a command and its step on a playing server, in seconds, from 0 to 0.5; it grows if
    /// commands arrive late
    #[arg(long, value_name = "SECONDS", default_value = "0.02", value_parser = read_lead)]
    lead: f64,
    /// Print the mapping for WorkPartner and exit
    #[arg(long)]
    print_mapping: bool,
}

fn main() -> ExitCode {
    let arguments: Arguments = match output::arguments() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    if arguments.print_mapping {
        output::print(WORKPARTNER);
        return output::exit(ExitCode::SUCCESS);
    }
    output::exit(match run(arguments) {
        Ok(Driven { commands, late, step, recordings }) => {
            output::line(format_args!("commands {commands}\nlate {late}\nstep {step}"));
            for recording in recordings {
                output::line(format_args!("recorded {}", recording.display()));
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            output::note(format_args!("error: {}", format!("{error:#}").trim_end()));
            ExitCode::FAILURE
        }
    })
}

fn run(arguments: Arguments) -> Result<Driven> {
    let Arguments { server, token, robot, mapping, record, script, wait, lead: lead_s, .. } = arguments;
    let mapping = match mapping {
        Some(file) => Mapping::read(&file.display().to_string(), &read(&file)?)?,
        None => Mapping::read("the mapping for WorkPartner", WORKPARTNER)?,
    };
    let mut backend: Box<dyn Backend> = match script {
        Some(file) => Box::new(Script::read(&file.display().to_string(), &read(&file)?)?),
        None => real_pad(wait)?,
    };
    let stop = Arc::new(AtomicBool::new(false));
    let stopping = Arc::clone(&stop);
    ctrlc::set_handler(move || stopping.store(true, Ordering::Relaxed)).context("cannot listen for Ctrl-C")?;
    let server = Server { address: server.control()?, token, robot, lead_s };
    drive(&server, mapping, &mut *backend, record.as_deref(), &stop, &mut |notice| output::note(notice))
}

/// Largest size of a mapping or script, bytes: ten minutes of a gamepad.
const MAX_FILE: usize = 1 << 20;

fn read(file: &Path) -> Result<String> {
    xml::read_file(&file.to_string_lossy(), MAX_FILE).map_err(|problem| anyhow!("{problem}"))
}

#[cfg(feature = "pad")]
fn real_pad(wait: bool) -> Result<Box<dyn Backend>> {
    Ok(Box::new(simpartner_gamepad::real::RealPad::open(wait)?))
}

#[cfg(not(feature = "pad"))]
fn real_pad(_wait: bool) -> Result<Box<dyn Backend>> {
    anyhow::bail!(
        "this program was built without its feature 'pad' and knows no gamepads\nhelp: --script FILE drives without one"
    )
}

fn read_lead(text: &str) -> Result<f64, String> {
    let lead = Moment::or_seconds(text).ok().and_then(Moment::as_seconds).filter(|seconds| *seconds <= 0.5);
    lead.ok_or_else(|| "expected 0 to 0.5 s, in seconds as 0.02 or in milliseconds as 20ms".to_owned())
}
