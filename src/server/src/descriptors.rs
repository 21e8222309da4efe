//! File descriptors: the number of connections that the operating system allows.

/// Descriptors reserved for the log, its spill file, the reconnection to the database, and clients that are refused.
const RESERVED_DESCRIPTORS: usize = 64;

/// Raises the limit on open files as far as the operating system allows. Each connection takes a descriptor, and so do
/// the log's files. A login shell often sets the limit to 1024, although the system would grant far more on demand.
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

/// Number of connections for which descriptors are free, after open descriptors and a reserve.
pub(super) fn for_connections() -> usize {
    let limit = descriptor_limit();
    let free = limit.saturating_sub(open_descriptors());
    free - RESERVED_DESCRIPTORS.min(free / 2)
}

/// Largest number of open files that the system allows this process.
#[cfg(target_os = "linux")]
fn descriptor_limit() -> usize {
    use rustix::process::{Resource, getrlimit};
    // An unlimited process gets a limit that is never reached.
    getrlimit(Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

/// Number of open files of this process.
#[cfg(target_os = "linux")]
fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(RESERVED_DESCRIPTORS, Iterator::count)
}

#[cfg(not(target_os = "linux"))]
fn descriptor_limit() -> usize {
    // Unknown: the smallest default of the systems that have a limit, less the descriptors that a run has open.
    256
}

#[cfg(not(target_os = "linux"))]
fn open_descriptors() -> usize {
    RESERVED_DESCRIPTORS
}
