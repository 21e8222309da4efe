//! Functional mock-up units: a world as a model that other tools import, by FMI 2.0 or 3.0 for co-simulation.
//!
//! An FMU is a ZIP archive of a description in XML, the library of `clients/c` for each platform, and as resources the
//! files of the world with the settings of the physics. [`FmuModel`] is these resources: the program writes them, the
//! library reads them. Both number the [`Variables`] by the same rule. Start at [`write_fmu`].

mod archive;
mod description;
mod error;
mod library;
mod model;
mod parameter;
mod units;
mod variables;

pub use archive::{FmuSummary, write_fmu};
pub use description::FmiVersion;
pub use error::{FmuError, LIBRARY_VARIABLE};
pub use library::{Library, find_libraries};
pub use model::FmuModel;
pub use parameter::FmuParameter;
pub use variables::{Role, Variable, Variables};
