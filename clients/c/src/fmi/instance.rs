//! Instances for C: handles, the order of calls, messages.

use std::{
    ffi::c_int,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, PoisonError},
};

use super::{
    core::{Core, FmiError},
    saved::Mode,
};
use crate::{handle::Registry, status::panic_text};

/// Statuses of both versions of FMI.
pub(super) const STATUS_OK: c_int = 0;
pub(super) const STATUS_DISCARD: c_int = 2;
pub(super) const STATUS_ERROR: c_int = 3;

/// Categories of messages, as in the description: errors, refused calls, events.
pub(super) const LOG_CATEGORIES: [&str; 3] = ["logStatusError", "logStatusDiscard", "logEvents"];

/// The importer's function for messages: status, category, text.
pub(super) type Logger = Box<dyn Fn(c_int, &str, &str) + Send + Sync>;

/// Every mode.
pub(super) const ANY_MODE: &[Mode] =
    &[Mode::Instantiated, Mode::Initialization, Mode::Step, Mode::Terminated, Mode::Failed];

struct Instance {
    core: Mutex<Core>,
    logger: Logger,
    /// The categories of messages that are on; errors are always told.
    categories: Mutex<[bool; LOG_CATEGORIES.len()]>,
}

static LIVE_INSTANCES: Registry<Instance> = Registry::new();

impl Instance {
    fn log_text(&self, status: c_int, category: usize, text: &str) {
        let is_on = self.categories.lock().unwrap_or_else(PoisonError::into_inner)[category];
        if is_on || status >= STATUS_ERROR {
            (self.logger)(status, LOG_CATEGORIES[category], text);
        }
    }
}

/// Makes an instance and returns its handle; 0 after an error, which the logger is told.
pub(super) fn new_instance(logger: Logger, is_logging: bool, make: impl FnOnce() -> Result<Core, FmiError>) -> usize {
    let made = catch_unwind(AssertUnwindSafe(make)).unwrap_or_else(|panic| Err(FmiError::Failed(panic_text(&*panic))));
    match made {
        Ok(core) => {
            let categories = Mutex::new([is_logging; LOG_CATEGORIES.len()]);
            LIVE_INSTANCES.add(Instance { core: Mutex::new(core), logger, categories })
        }
        Err(FmiError::Failed(text) | FmiError::Discarded(text)) => {
            logger(STATUS_ERROR, LOG_CATEGORIES[0], &text);
            0
        }
    }
}

/// Frees an instance. An unknown handle is ignored, as FMI has no status for it.
pub(super) fn free_instance(handle: usize) {
    drop(LIVE_INSTANCES.remove(handle));
}

/// Runs a call of an instance in one of the `allowed` modes. Messages follow when the instance is free again, so the
/// logger may call the library.
pub(super) fn call_instance(
    handle: usize,
    function: &str,
    allowed: &[Mode],
    work: impl FnOnce(&mut Core) -> Result<(), FmiError>,
) -> c_int {
    let Some(instance) = LIVE_INSTANCES.find(handle) else { return STATUS_ERROR };
    let mut core = instance.core.lock().unwrap_or_else(PoisonError::into_inner);
    let done = match allowed.contains(&core.mode) {
        true => catch_unwind(AssertUnwindSafe(|| work(&mut core)))
            .unwrap_or_else(|panic| Err(FmiError::Failed(panic_text(&*panic)))),
        false => Err(FmiError::Failed(format!("the call is out of order: the instance is {}", core.mode.name()))),
    };
    if matches!(done, Err(FmiError::Failed(_))) {
        core.mode = Mode::Failed;
    }
    let events = core.take_events();
    drop(core);
    events.iter().for_each(|event| instance.log_text(STATUS_OK, 2, event));
    match done {
        Ok(()) => STATUS_OK,
        Err(FmiError::Discarded(text)) => {
            instance.log_text(STATUS_DISCARD, 1, &format!("{function}: {text}"));
            STATUS_DISCARD
        }
        Err(FmiError::Failed(text)) => {
            instance.log_text(STATUS_ERROR, 0, &format!("{function}: {text}"));
            STATUS_ERROR
        }
    }
}

/// Switches categories of messages on or off; all of them if none is named.
pub(super) fn set_logging(handle: usize, function: &str, is_on: bool, categories: &[&str]) -> c_int {
    let Some(instance) = LIVE_INSTANCES.find(handle) else { return STATUS_ERROR };
    if let Some(unknown) = categories.iter().find(|name| !LOG_CATEGORIES.contains(name)) {
        let known = LOG_CATEGORIES.join(", ");
        instance.log_text(STATUS_ERROR, 0, &format!("{function}: there is no category '{unknown}'; there are {known}"));
        return STATUS_ERROR;
    }
    let chosen = LOG_CATEGORIES.map(|name| is_on && (categories.is_empty() || categories.contains(&name)));
    *instance.categories.lock().unwrap_or_else(PoisonError::into_inner) = chosen;
    STATUS_OK
}

/// Refuses a call that the FMU has no use for. The simulation may continue.
pub(super) fn refuse_call(handle: usize, function: &str, text: &str) -> c_int {
    if let Some(instance) = LIVE_INSTANCES.find(handle) {
        instance.log_text(STATUS_ERROR, 0, &format!("{function}: {text}"));
    }
    STATUS_ERROR
}
