//! `simpartner gamepad`, `serial` and `ros2`: clients that are programs of their own, because each needs a library that
//! the server does not need.
//!
//! As in git and cargo, the verb NAME runs the program `simpartner-NAME`, which is searched beside this program and on
//! the path.

use std::{ffi::OsString, io::ErrorKind, path::PathBuf, process::Command};

use clap::Args;

use super::exit::{CliError, ExitStatus};

#[derive(Debug, Args)]
pub(super) struct ExternalArguments {
    /// Arguments of the client; `--help` lists them
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// A client that is a program of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Client {
    /// Name of the verb.
    pub(super) name: &'static str,
    /// Text on the build requirements beside Rust; empty if there are none.
    pub(super) needs: &'static str,
}

/// The client that drives a robot with a gamepad.
pub(super) const GAMEPAD: Client = Client {
    name: "gamepad",
    needs: "; on Linux it needs libudev-dev and pkg-config (`--no-default-features` drives by --script alone)",
};
/// The client that bridges the combined port of a robot to a serial line.
pub(super) const SERIAL: Client = Client { name: "serial", needs: "" };
/// The client that bridges robots to ROS 2.
pub(super) const ROS2: Client = Client { name: "ros2", needs: "; it needs no ROS installation" };

/// Runs the client in place of this program.
pub(super) fn external(client: Client, arguments: &ExternalArguments) -> Result<ExitStatus, CliError> {
    let program = client_program(client.name);
    let mut command = Command::new(&program);
    command.args(&arguments.arguments);
    let error = match replace_process(&mut command) {
        Ok(status) => return Ok(status),
        Err(error) => error,
    };
    let name = program.display();
    Err(match error.kind() {
        ErrorKind::NotFound => CliError::Input(format!(
            "there is no program {name} beside this one or on the path\n\
             help: `cargo install --path clients/{}` in a copy of SimPartner's repository installs it{}",
            client.name, client.needs
        )),
        _ => CliError::Input(format!("the program {name} cannot be run: {error}")),
    })
}

/// Path of the client's program: the one beside this program, otherwise the one on the path.
fn client_program(name: &str) -> PathBuf {
    let file = format!("simpartner-{name}{}", std::env::consts::EXE_SUFFIX);
    let beside = std::env::current_exe().ok().map(|program| program.with_file_name(&file));
    beside.filter(|program| program.is_file()).unwrap_or_else(|| file.into())
}

/// Replaces this process by the client, which keeps the terminal and the signals. Returns only on failure.
#[cfg(unix)]
fn replace_process(command: &mut Command) -> std::io::Result<ExitStatus> {
    Err(std::os::unix::process::CommandExt::exec(command))
}

#[cfg(not(unix))]
fn replace_process(command: &mut Command) -> std::io::Result<ExitStatus> {
    let status = command.status()?;
    Ok(if status.success() { ExitStatus::Success } else { ExitStatus::Internal })
}
