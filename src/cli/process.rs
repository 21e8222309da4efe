//! Resource limits of this process, and the permissions of the files that it creates.

#[cfg(target_os = "linux")]
use rustix::process::{Resource, getrlimit};

use super::exit::CliError;

/// Address space that a run needs, bytes. A small world with its threads, its database and their stacks was seen to
/// reserve 0.9 GB. With a lower limit an allocation fails somewhere and ends the process without a summary.
#[cfg(target_os = "linux")]
const MIN_ADDRESS_SPACE: u64 = 1 << 30;

/// Checks the resource limits that would end a run before its end.
///
/// # Errors
/// The limit of the address space is too low.
#[cfg(target_os = "linux")]
pub(super) fn check_limits() -> Result<(), CliError> {
    if let Some(limit) = getrlimit(Resource::As).current.filter(|&limit| limit < MIN_ADDRESS_SPACE) {
        return Err(CliError::Input(format!(
            "this process may use {limit} bytes of address space, and a run needs at least {MIN_ADDRESS_SPACE}; raise the limit: \
             ulimit -v unlimited"
        )));
    }
    if let Some(limit) = getrlimit(Resource::Fsize).current {
        tracing::warn!(
            "files of this process may have at most {limit} bytes (ulimit -f): the log ends there; raise the limit: ulimit -f unlimited"
        );
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn check_limits() -> Result<(), CliError> {
    Ok(())
}

/// Makes new files of this process readable for its user alone. The log of a server with a token is as private as the
/// token.
#[cfg(target_os = "linux")]
pub(super) fn keep_files_private() {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
}

#[cfg(not(target_os = "linux"))]
pub(super) fn keep_files_private() {}
