//! Errors of functional mock-up units.

use std::path::PathBuf;

use simpartner_embed::EmbedError;
use thiserror::Error;

/// Environment variable with the path of the library.
pub const LIBRARY_VARIABLE: &str = "SIMPARTNER_LIBRARY";

/// Errors of writing an FMU, and of reading its resources.
#[derive(Debug, Error)]
pub enum FmuError {
    /// The world cannot be simulated.
    #[error(transparent)]
    Model(#[from] EmbedError),
    /// A setting does not fit.
    #[error("{0}")]
    Setting(String),
    /// A parameter of the FMU does not fit.
    #[error("--parameter {path}: {what}")]
    Parameter {
        /// Path of the parameter.
        path: String,
        /// Description of the problem.
        what: String,
    },
    /// The world has no variable.
    #[error(
        "world '{0}' has no sensor and no actuator, so its FMU would have no variables; add a robot with devices, or a \
         <sensor> to an object"
    )]
    NoVariables(String),
    /// There is no library.
    #[error(
        "there is no library of simpartner at {}\n\
         help: `cargo build --release -p simpartner-c` in a copy of SimPartner's repository builds it; --library FILE or \
         the variable {} names it",
        .searched.iter().map(|path| format!("'{}'", path.display())).collect::<Vec<_>>().join(" or "),
        LIBRARY_VARIABLE
    )]
    NoLibrary {
        /// The places that were searched.
        searched: Vec<PathBuf>,
    },
    /// A file is no library for FMUs of this version.
    #[error("'{}': {what}", .path.display())]
    Library {
        /// The file.
        path: PathBuf,
        /// Description of the problem.
        what: String,
    },
    /// A file of the FMU cannot be written.
    #[error("cannot write '{}': {what}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Description of the problem.
        what: String,
    },
    /// A resource of the FMU is missing or damaged.
    #[error("resource '{}': {what}", .path.display())]
    Resource {
        /// The file.
        path: PathBuf,
        /// Description of the problem.
        what: String,
    },
}
