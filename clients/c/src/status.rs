//! The result of a call: a status, and for an error its text.

#![expect(non_camel_case_types, reason = "the names are those of the header")]

use std::{
    cell::RefCell,
    ffi::{CStr, CString, c_char},
    panic::{AssertUnwindSafe, catch_unwind},
};

use simpartner_embed::EmbedError;
use simpartner_wire::protocol::Refusal;

/// Result of a call. After an error simpartner_last_error() has the text, and the simulation is as before the call,
/// unless its physics has diverged.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum simpartner_status {
    /// Success.
    SIMPARTNER_OK = 0,
    /// An argument is NULL that must not be, is misaligned, or its text is not UTF-8.
    SIMPARTNER_INVALID_ARGUMENT = 1,
    /// The handle is of no simulation; it may have been freed.
    SIMPARTNER_INVALID_HANDLE = 2,
    /// A setting is unknown, or its value does not fit.
    SIMPARTNER_INVALID_SETTING = 3,
    /// The files of the model have problems; the text has file, line and column of each.
    SIMPARTNER_INVALID_MODEL = 4,
    /// A name, a command or a request does not fit; the text is that of a server.
    SIMPARTNER_REFUSED = 5,
    /// An array has another length than its channels.
    SIMPARTNER_WRONG_LENGTH = 6,
    /// A buffer is too small. The size that it needs is written.
    SIMPARTNER_BUFFER_TOO_SMALL = 7,
    /// The snapshot is damaged, or of another model, timestep, engine or version.
    SIMPARTNER_INVALID_SNAPSHOT = 8,
    /// The physics has diverged. The steps before are made; simpartner_reset() begins anew.
    SIMPARTNER_DIVERGED = 9,
    /// A defect of the library, or of the operating system.
    SIMPARTNER_INTERNAL_ERROR = 10,
}

/// The error of a call.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: simpartner_status,
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn new(status: simpartner_status, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    pub(crate) fn of_argument(text: impl Into<String>) -> Self {
        Self::new(simpartner_status::SIMPARTNER_INVALID_ARGUMENT, text)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::new(simpartner_status::SIMPARTNER_REFUSED, refusal.to_string())
    }
}

impl From<EmbedError> for Failure {
    fn from(error: EmbedError) -> Self {
        let status = match &error {
            EmbedError::Files(_) | EmbedError::World(_) => simpartner_status::SIMPARTNER_INVALID_MODEL,
            EmbedError::Refused(_) => simpartner_status::SIMPARTNER_REFUSED,
            EmbedError::Snapshot(_) => simpartner_status::SIMPARTNER_INVALID_SNAPSHOT,
            EmbedError::Diverged { .. } => simpartner_status::SIMPARTNER_DIVERGED,
            EmbedError::Length { .. } => simpartner_status::SIMPARTNER_WRONG_LENGTH,
            EmbedError::Threads(_) | EmbedError::InBatch { .. } => simpartner_status::SIMPARTNER_INTERNAL_ERROR,
        };
        Self::new(status, error.to_string().trim_end())
    }
}

thread_local! {
    /// Text of the last error of this thread.
    static LAST_ERROR: RefCell<CString> = RefCell::default();
    /// Texts that the last call of this thread has returned.
    static RETURNED_TEXTS: RefCell<Vec<CString>> = RefCell::default();
}

/// The text as a C string. Characters 0, which end such a string, are left out.
pub(crate) fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

/// Keeps a text for the caller until the next call of this thread.
pub(crate) fn returned_text(text: &str) -> *const c_char {
    RETURNED_TEXTS.with_borrow_mut(|texts| {
        texts.push(c_string(text));
        texts.last().map_or(c"".as_ptr(), |text| text.as_ptr())
    })
}

/// The text of a caught panic.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("internal error: {}; please report it", text.unwrap_or("unknown"))
}

/// Runs a call: no panic leaves it, and its error becomes the last one of this thread.
pub(crate) fn run_call(work: impl FnOnce() -> Result<(), Failure>) -> simpartner_status {
    RETURNED_TEXTS.with_borrow_mut(Vec::clear);
    let done = catch_unwind(AssertUnwindSafe(work));
    let failure = match done {
        Ok(Ok(())) => return simpartner_status::SIMPARTNER_OK,
        Ok(Err(failure)) => failure,
        Err(panic) => Failure::new(simpartner_status::SIMPARTNER_INTERNAL_ERROR, panic_text(&*panic)),
    };
    LAST_ERROR.set(c_string(&failure.text));
    failure.status
}

/// Text of the last call of this thread that failed, in UTF-8; empty if none has. It stays until another call of this
/// thread fails.
#[expect(unsafe_code, reason = "exported to C")]
#[unsafe(no_mangle)]
pub extern "C" fn simpartner_last_error() -> *const c_char {
    // A thread that ends has no texts any more.
    LAST_ERROR.try_with(|text| text.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Version of the library, such as "0.1.0".
#[expect(unsafe_code, reason = "exported to C")]
#[unsafe(no_mangle)]
pub extern "C" fn simpartner_version() -> *const c_char {
    const LIBRARY_VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes())
    {
        Ok(version) => version,
        Err(_) => c"",
    };
    LIBRARY_VERSION.as_ptr()
}

/// Text by which the verb `fmu` knows the library and its version.
#[expect(unsafe_code, reason = "exported, so that no linker leaves it out")]
#[unsafe(no_mangle)]
pub static SIMPARTNER_LIBRARY_MARK: [u8; LIBRARY_MARK.len()] = *LIBRARY_MARK;

const LIBRARY_MARK: &[u8; concat!("simpartner library ", env!("CARGO_PKG_VERSION"), "\0").len()] =
    match concat!("simpartner library ", env!("CARGO_PKG_VERSION"), "\0").as_bytes().first_chunk() {
        Some(mark) => mark,
        None => panic!("the length is that of the text"),
    };
