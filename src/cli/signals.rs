//! Signals of the operating system: those that end a run in good order, and the one that must not end the program.

use futures_util::{Stream, stream};
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Stream with an item for each Ctrl-C, SIGTERM, or SIGHUP (the terminal was closed).
///
/// If the parent process made this one ignore SIGHUP, as `nohup` does, it stays ignored.
#[cfg(unix)]
pub(super) fn termination() -> impl Stream<Item = ()> + Send {
    async fn receive(signal: &mut Option<Signal>) {
        match signal {
            Some(signal) => drop(signal.recv().await),
            None => std::future::pending().await,
        }
    }
    let hangup = match is_ignored(SignalKind::hangup()) {
        true => None,
        false => listen_for(SignalKind::hangup()),
    };
    let signals = [listen_for(SignalKind::interrupt()), listen_for(SignalKind::terminate()), hangup];
    stream::unfold(signals, |[mut interrupt, mut terminate, mut hangup]| async move {
        tokio::select! {
            () = receive(&mut interrupt) => {},
            () = receive(&mut terminate) => {},
            () = receive(&mut hangup) => {},
        }
        Some(((), [interrupt, terminate, hangup]))
    })
}

/// Stream with an item for each Ctrl-C.
#[cfg(not(unix))]
pub(super) fn termination() -> impl Stream<Item = ()> + Send {
    stream::unfold((), |()| async { tokio::signal::ctrl_c().await.ok().map(|()| ((), ())) })
}

/// Makes a write beyond the limit on the size of files (`ulimit -f`) fail, as on a full disk, where it would end the
/// program by SIGXFSZ. This holds until the program ends.
#[cfg(target_os = "linux")]
pub(super) fn survive_file_size_limit() {
    // The handler that tokio installs stays installed, even without a runtime and without a listener.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    let Ok(runtime) = runtime.inspect_err(|error| tracing::warn!("signals cannot be received: {error}")) else {
        return;
    };
    let _entered = runtime.enter();
    drop(listen_for(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())));
}

#[cfg(not(target_os = "linux"))]
pub(super) fn survive_file_size_limit() {}

/// Registers for a signal. A failure is only logged, because a run can still be ended by QUIT.
#[cfg(unix)]
fn listen_for(kind: SignalKind) -> Option<Signal> {
    signal(kind).inspect_err(|error| tracing::warn!("a signal cannot be received: {error}")).ok()
}

/// True if this program ignores a signal; false if the system does not report it.
#[cfg(unix)]
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    // Bit 0 is signal 1.
    mask >> (kind.as_raw_value() - 1) & 1 == 1
}
