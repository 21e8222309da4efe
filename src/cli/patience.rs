//! Notes on standard error during long work, such as the convex hull of many points, so that it does not look like a
//! hang.

use std::{
    fmt::Display,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use simpartner_terminal::output;

/// Time to the first note, and between notes: the longest wait after which a person is still sure that the program
/// works.
const NOTE_INTERVAL: Duration = Duration::from_secs(2);

/// Does work, and prints a note every two seconds until it is done.
pub(super) fn with_notes<T>(what: impl Display + Sync, work: impl FnOnce() -> T) -> T {
    let note = |elapsed: Duration| output::note(format_args!("{what}: {:.0} s ...", elapsed.as_secs_f64()));
    with_calls(NOTE_INTERVAL, note, work)
}

/// Does work, and calls `note` with the elapsed time after each interval until the work is done.
fn with_calls<T>(interval: Duration, note: impl Fn(Duration) + Send, work: impl FnOnce() -> T) -> T {
    let (end, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut elapsed = interval;
            while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                note(elapsed);
                elapsed += interval;
            }
        });
        // This sender is dropped when the work returns or panics, which ends the thread.
        let _end = end;
        work()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_work_is_noted_until_it_ends() {
        let (sender, noted) = mpsc::channel();
        let note = move |elapsed| sender.send(elapsed).unwrap_or_default();
        let result = with_calls(Duration::from_millis(1), note, || {
            let first: Duration = noted.recv().unwrap();
            (noted.recv().unwrap() > first, 7)
        });
        assert_eq!(result, (true, 7));
        // The notes end with the thread, which has dropped its sender.
        noted.iter().for_each(drop);
    }

    #[test]
    fn short_work_is_not_noted() {
        assert_eq!(with_calls(Duration::from_secs(3600), |_| panic!("an hour has not passed"), || 7), 7);
    }
}
