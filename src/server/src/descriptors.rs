//! File descriptors: how many connections the operating system has room for.

/// Descriptors that are kept for the log, its spill file, the database that comes back, and for clients that are refused.
const RESERVE: usize = 64;

/// Raises the limit on open files as far as the operating system allows. Each connection takes one, and so do the log's files; a
/// login shell often allows 1024, of which it would grant far more on demand.
pub fn raise_descriptor_limit() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        if limit.current != limit.maximum {
            limit.current = limit.maximum;
            if let Err(error) = setrlimit(Resource::Nofile, limit) {
                tracing::warn!("the limit on open files stays as it is: {error}");
            }
        }
    }
}

/// How many connections there are descriptors for, beside what is open already and a reserve.
pub(super) fn for_connections() -> usize {
    let limit = limit();
    let free = limit.saturating_sub(open());
    free - RESERVE.min(free / 2)
}

#[cfg(target_os = "linux")]
fn limit() -> usize {
    use rustix::process::{Resource, getrlimit};
    // No limit is a limit that is never reached.
    getrlimit(Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

#[cfg(target_os = "linux")]
fn open() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(RESERVE, Iterator::count)
}

#[cfg(not(target_os = "linux"))]
fn limit() -> usize {
    // Not known; the smallest default of the systems that have one, less what a run has open.
    256
}

#[cfg(not(target_os = "linux"))]
fn open() -> usize {
    RESERVE
}
