//! What the operating system allows this process, and what this process allows others.

#[cfg(target_os = "linux")]
use rustix::process::{Resource, getrlimit};

use super::exit::CliError;

/// The address space that a run needs, bytes. A small world with its threads, its database and their stacks was seen to reserve 0.9 GB; where
/// the limit is lower, an allocation fails somewhere and ends the process without a summary.
#[cfg(target_os = "linux")]
const ADDRESS_SPACE: u64 = 1 << 30;

/// Checks the limits that would end a run in its middle.
///
/// # Errors
/// When the address space is too small.
#[cfg(target_os = "linux")]
pub(super) fn check_limits() -> Result<(), CliError> {
    if let Some(limit) = getrlimit(Resource::As).current.filter(|&limit| limit < ADDRESS_SPACE) {
        return Err(CliError::Input(format!(
            "this process may use {limit} bytes of address space, and a run needs at least {ADDRESS_SPACE}; raise the limit: \
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

/// Makes files of this process readable for its user alone: what a server with a token logs is as private as the token.
#[cfg(target_os = "linux")]
pub(super) fn keep_files_private() {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
}

#[cfg(not(target_os = "linux"))]
pub(super) fn keep_files_private() {}
