//! A program that drives a case: it is started when the ports of the case are open, and ended with the case.

use std::{
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::stream;

use crate::{
    config::Config,
    realtime::{Mode, OnTimeout},
    run::{Observer, Started, StopSignals},
    server::PortChoice,
};

/// Variables by which the program finds the ports of its case, and its number.
const PORTS_VARIABLE: &str = "SIMPARTNER_PORTS_FILE";
const CASE_VARIABLE: &str = "SIMPARTNER_CASE";
/// Interval at which the program is watched.
const WATCH_INTERVAL: Duration = Duration::from_millis(50);

/// The program of one case.
#[derive(Debug)]
pub(super) struct Controller {
    command: Vec<String>,
    case: u64,
    /// Folder of the file of ports.
    folder: tempfile::TempDir,
    timeout: Duration,
    watched: Arc<Mutex<Watched>>,
}

/// State of the program.
#[derive(Debug, Default)]
struct Watched {
    child: Option<Child>,
    /// Reason to end the case.
    failure: Option<String>,
}

impl Controller {
    /// Prepares a case for its program: paused in lockstep, on free ports, with a file that lists them.
    pub(super) fn of_case(command: &[String], case: u64, timeout_s: f64, config: &mut Config) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| format!("no folder for the file of ports: {error}"))?;
        config.simulation.mode = Mode::Lockstep;
        // The clock of a lockstep without its members keeps real time, so it waits for the program.
        config.simulation.start_paused = true;
        // A program that does not answer ends its case.
        config.lockstep.on_timeout = OnTimeout::Fail;
        config.server.ports = PortChoice::AnyFree;
        config.ports_file = Some(folder.path().join("ports.json"));
        let timeout = Duration::from_secs_f64(timeout_s);
        Ok(Self { command: command.to_vec(), case, folder, timeout, watched: Arc::default() })
    }

    /// Ends the program. Returns the reason if the case was ended because of it.
    pub(super) fn end_program(self) -> Option<String> {
        let mut watched = lock_watched(&self.watched);
        if let Some(mut child) = watched.child.take() {
            // Both fail only for a program that has ended.
            let _ = child.kill();
            let _ = child.wait();
        }
        watched.failure.take()
    }
}

/// The state is consistent between any two statements, so a panic elsewhere does not corrupt it.
fn lock_watched(watched: &Mutex<Watched>) -> MutexGuard<'_, Watched> {
    watched.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Observer for Controller {
    fn stop_signals(&mut self) -> StopSignals {
        let (watched, timeout) = (Arc::clone(&self.watched), self.timeout);
        Box::pin(stream::once(async move {
            let mut waited = Duration::ZERO;
            while waited < timeout {
                tokio::time::sleep(WATCH_INTERVAL).await;
                waited += WATCH_INTERVAL;
                let mut watched = lock_watched(&watched);
                let ended = watched.child.as_mut().and_then(|child| child.try_wait().ok().flatten());
                if let Some(status) = ended {
                    watched.failure = Some(format!("the controller ended before the case did ({status})"));
                }
                if watched.failure.is_some() {
                    return;
                }
            }
            lock_watched(&watched).failure = Some(format!("the case did not end within {} s", timeout.as_secs_f64()));
        }))
    }

    /// A program ends because a case that is over closes its ports: the log is then still being written.
    fn may_cut_log(&self) -> bool {
        false
    }

    fn started(&mut self, _: &Started<'_>) {
        let Some((program, arguments)) = self.command.split_first() else { return };
        let mut command = Command::new(program);
        command.args(arguments).env(PORTS_VARIABLE, self.folder.path().join("ports.json"));
        command.env(CASE_VARIABLE, self.case.to_string()).stdin(Stdio::null()).stdout(Stdio::null());
        let mut watched = lock_watched(&self.watched);
        match command.spawn() {
            Ok(child) => watched.child = Some(child),
            Err(error) => watched.failure = Some(format!("the controller '{program}' cannot be started: {error}")),
        }
    }
}
