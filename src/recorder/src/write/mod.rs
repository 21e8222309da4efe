//! Writes a log.
//!
//! Records come through a bounded queue to the log's thread ([`writer`]). It makes rows of them ([`row_encoder`]) and about ten times a
//! second a batch ([`batch_builder`]), seals it with checksums and hands it to the [`outbox`], which sends it to the database through the
//! thread of [`delivery`], appends it to the [`spill`] file, or both. [`import`] commits what is in a spill file later.
//!
//! It knows nothing of reading logs. Start at [`recorder`].

mod announced;
mod batch;
mod batch_builder;
mod changes;
mod current_run;
mod database_file;
mod delivery;
mod description;
mod disk_space;
mod expected_growth;
mod file_identity;
mod grasp;
mod grasp_task;
mod import;
mod interval;
pub(super) mod logged_components;
mod misplaced;
mod outbox;
mod patterns;
mod ranges;
mod recorder;
pub(super) mod row_encoder;
mod run_key;
mod run_rows;
pub(super) mod settings;
mod spill;
mod status;
mod writer;

pub use announced::AnnouncedWorlds;
pub use description::{LogSummary, Origin, RunDescription, RunOutcome, SimulationSummary};
pub use expected_growth::ExpectedGrowth;
pub use grasp::{GraspFinding, keep_grasp};
pub use grasp_task::{GraspBatch, GraspTaskFinding, GraspTasks};
pub use import::{Damage, Imported, Missing, import};
pub use misplaced::MovedCommands;
pub use patterns::Patterns;
pub use recorder::Recorder;
pub use settings::{Settings, Thinning, WhenFull};
pub use status::RecorderStatus;
