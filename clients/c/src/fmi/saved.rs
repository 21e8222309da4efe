//! Saved states of an instance, in memory and as bytes.

use serde::{Deserialize, Serialize};

/// Mode of an instance, in the words of both versions of FMI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Mode {
    /// Made or reset.
    Instantiated,
    /// Between the calls that enter and exit the initialization mode.
    Initialization,
    /// Ready for a step: "step mode" or "step complete".
    Step,
    /// Terminated: values can be read.
    Terminated,
    /// After an error: values can be read. A reset or a saved state ends it.
    Failed,
}

impl Mode {
    /// Its name for messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Instantiated => "before its initialization",
            Self::Initialization => "in its initialization mode",
            Self::Step => "in its step mode",
            Self::Terminated => "terminated",
            Self::Failed => "stopped by an error",
        }
    }
}

/// All that an instance needs to continue.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct SavedState {
    pub(super) mode: Mode,
    pub(super) start_time: f64,
    pub(super) stop_time: Option<f64>,
    pub(super) seed: u64,
    /// Values of the parameters.
    pub(super) parameters: Vec<f64>,
    /// Values of the inputs.
    pub(super) inputs: Vec<f64>,
    /// Inputs that have been set since the last step; NaN for the others.
    pub(super) pending: Vec<f64>,
    pub(super) snapshot: Vec<u8>,
}

/// First bytes of a state, with the version of its format.
const STATE_MAGIC: &[u8; 16] = b"simpartner-fmu-1";
/// Length of the hash behind it.
const HASH_LENGTH: usize = 32;

impl SavedState {
    /// The state as bytes. `token` is that of the FMU.
    pub(super) fn to_bytes(&self, token: &str) -> Result<Vec<u8>, String> {
        let content = postcard::to_allocvec(&(token, self)).map_err(|error| error.to_string())?;
        Ok([&STATE_MAGIC[..], blake3::hash(&content).as_bytes(), &content].concat())
    }

    /// The state of these bytes.
    ///
    /// # Errors
    /// The bytes are damaged, or of another FMU.
    pub(super) fn of_bytes(bytes: &[u8], token: &str) -> Result<Self, String> {
        let Some(rest) = bytes.strip_prefix(STATE_MAGIC) else {
            return Err("the bytes are no state of an FMU of this version of simpartner".into());
        };
        let damaged = "the bytes of the state are damaged";
        let (hash, content) = rest.split_at_checked(HASH_LENGTH).ok_or(damaged)?;
        if blake3::hash(content).as_bytes() != hash {
            return Err(damaged.into());
        }
        let (own, state): (String, Self) = postcard::from_bytes(content).map_err(|_| damaged)?;
        if own != token { Err("the state is of another FMU".into()) } else { Ok(state) }
    }
}
