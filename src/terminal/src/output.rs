//! Standard output and standard error of a command. This program and its clients print only through this module.
//!
//! A reader that closes the pipe, as `head` does, ends the output but not the program. Any other failure of standard
//! output, such as a full disk, is kept, and [`finish`] reports it once at the end. A failure of standard error is
//! ignored, since there is nowhere to report it. Texts may quote files and clients; their control characters are
//! escaped and never reach a terminal.

use std::{
    fmt::{self, Display},
    io::{self, IsTerminal, Write},
    process::ExitCode,
    sync::{Mutex, MutexGuard, PoisonError},
};

use simpartner_wire::signal::printable;
use thiserror::Error;

/// Error: standard output could not be written to.
#[derive(Debug, Error)]
#[error("standard output cannot be written to: {0}\nhelp: is the disk full that it goes to?")]
pub struct OutputError(io::Error);

/// State of standard output.
#[derive(Debug)]
enum State {
    /// Standard output accepts data.
    Open,
    /// Standard output is closed by its reader, or its failure has been reported.
    Closed,
    /// Writing failed, and the error has not been reported yet.
    Failed(io::Error),
}

/// State of standard output of this process.
static OUTPUT_STATE: Mutex<State> = Mutex::new(State::Open);

/// Locks the state of standard output. It is consistent between any two statements, so a panic elsewhere does not
/// corrupt it.
fn lock_state() -> MutexGuard<'static, State> {
    OUTPUT_STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes data to standard output. After standard output is closed, it writes nothing.
pub fn print(text: impl Display) {
    // A failure is kept for `finish`.
    let _ = Stdout.write_all(printable(&text.to_string()).as_bytes()).and_then(|()| Stdout.flush());
}

/// Writes a line of data to standard output.
pub fn line(text: impl Display) {
    print(format_args!("{text}\n"));
}

/// Writes the summary of work whose result is stored elsewhere. If standard output fails, as on a full disk, the
/// summary goes to standard error, and the program does not fail.
pub fn summary(text: impl Display) {
    let text = printable(&text.to_string()).into_owned();
    let written = Stdout.write_all(text.as_bytes()).and_then(|()| Stdout.flush());
    if written.is_ok() {
        return;
    }
    let failed = std::mem::replace(&mut *lock_state(), State::Closed);
    if let State::Failed(error) = failed {
        note(format_args!("warning: standard output cannot be written to ({error}); its text follows here"));
        tell(text);
    }
}

/// Writes a message to standard error.
pub fn note(text: impl Display) {
    tell(format_args!("{text}\n"));
}

/// Writes a message without a line end to standard error, such as a question.
pub fn tell(text: impl Display) {
    let _ = Stderr.write_all(printable(&text.to_string()).as_bytes());
}

/// Flushes and closes standard output.
///
/// # Errors
/// Some data could not be written, for another reason than that the reader has closed the pipe.
pub fn finish() -> Result<(), OutputError> {
    let _ = Stdout.flush();
    match std::mem::replace(&mut *lock_state(), State::Closed) {
        State::Failed(error) => Err(OutputError(error)),
        State::Open | State::Closed => Ok(()),
    }
}

/// True if nothing more can be written to standard output.
pub fn has_ended() -> bool {
    !matches!(*lock_state(), State::Open)
}

/// Finishes the output and returns the exit code of the program. An error of [`finish`] is reported, and turns a
/// success into a failure.
pub fn exit(code: ExitCode) -> ExitCode {
    match finish() {
        Ok(()) => code,
        Err(error) => {
            note(format_args!("error: {error}"));
            if code == ExitCode::SUCCESS { ExitCode::FAILURE } else { code }
        }
    }
}

/// The command-line definition of a program, with all flags of all verbs accepting negative numbers as values.
pub fn command<P: clap::CommandFactory>() -> clap::Command {
    take_negative_numbers(P::command())
}

fn take_negative_numbers(command: clap::Command) -> clap::Command {
    let takes_values = |argument: &clap::Arg| argument.get_action().takes_values();
    let command = command.mut_args(|argument| match takes_values(&argument) {
        true => argument.allow_negative_numbers(true),
        false => argument,
    });
    command.mut_subcommands(take_negative_numbers)
}

/// Parses a command line that begins with the program's name.
///
/// # Errors
/// Clap's error for a mistake, or its text for `--help` and `--version`.
pub fn parse<P: clap::Parser>(
    line: impl IntoIterator<Item = impl Into<std::ffi::OsString> + Clone>,
) -> Result<P, clap::Error> {
    let mut command = command::<P>();
    let matches = command.try_get_matches_from_mut(line)?;
    P::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Parses the command line of this process. The text for `--help`, `--version` or a mistake is printed.
///
/// # Errors
/// The exit code after `--help`, `--version`, or a mistake.
pub fn arguments<P: clap::Parser>() -> Result<P, ExitCode> {
    parse(std::env::args_os()).map_err(|error| {
        let code = u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
        let text = |is_terminal| match is_terminal {
            true => error.render().ansi().to_string(),
            false => error.render().to_string(),
        };
        let _ = match error.use_stderr() {
            true => Stderr.write_all(text(io::stderr().is_terminal()).as_bytes()),
            false => Stdout.write_all(text(io::stdout().is_terminal()).as_bytes()),
        };
        exit(code)
    })
}

/// Standard output without escaping, for streamed data and for text with our own colours. After an error, nothing more
/// can be written; the caller stops and need not report it.
#[derive(Debug, Clone, Copy)]
pub struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        guard_write(|| io::stdout().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        guard_write(|| io::stdout().flush())
    }
}

/// Writes to standard output if it is open, and keeps the state up to date.
fn guard_write<T>(write: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let mut state = lock_state();
    if !matches!(*state, State::Open) {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    write().map_err(|error| {
        let kind = error.kind();
        match kind {
            io::ErrorKind::Interrupted => {}
            io::ErrorKind::BrokenPipe => *state = State::Closed,
            _ => *state = State::Failed(error),
        }
        kind.into()
    })
}

/// Standard error without escaping, for messages with our own colours. Writing never fails.
#[derive(Debug, Clone, Copy)]
pub struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = io::stderr().write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A number that is displayed with at most six significant digits, so that the sum of eight parts is 9.9 kg and not
/// 9.900000000000002 kg.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rounded(pub f64);

impl Display for Rounded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = format!("{:.5e}", self.0);
        // NaN and infinity are displayed unchanged.
        let rounded: f64 = short.parse().unwrap_or(self.0);
        match rounded.abs() {
            0.0 => write!(formatter, "0"),
            size if (1e-4..1e9).contains(&size) || !size.is_finite() => write!(formatter, "{rounded}"),
            _ => write!(formatter, "{rounded:e}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_to_what_people_read() {
        let shown = |value| Rounded(value).to_string();
        assert_eq!(shown(9.900000000000002), "9.9");
        assert_eq!(shown(0.1 + 0.2), "0.3");
        assert_eq!(shown(-0.0), "0");
        assert_eq!(shown(187.999999999), "188");
        assert_eq!(shown(123456.7), "123457");
        assert_eq!(shown(1e20), "1e20");
        assert_eq!(shown(1.234567e-7), "1.23457e-7");
        assert_eq!(shown(f64::NAN), "NaN");
        assert_eq!(shown(f64::INFINITY), "inf");
    }
}
