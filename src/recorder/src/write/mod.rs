//! Writes a log.
//!
//! Step records reach the log's thread ([`writer`]) through a bounded queue. The thread encodes them as table rows
//! ([`row_encoder`]) and closes a batch about ten times a second ([`batch_builder`]). It seals the batch with checksums
//! and hands it to the [`delivery_queue`]. From there the batch goes to the database through the thread of
//! [`delivery`], to the [`spill`] file, or to both. [`import`] commits the batches of a spill file later.
//!
//! This module knows nothing of reading logs. Start at [`recorder`].

mod batch;
mod batch_builder;
mod changes;
mod current_run;
mod database_file;
mod delivery;
mod delivery_queue;
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
mod patterns;
mod ranges;
mod recorder;
pub(super) mod row_encoder;
mod run_key;
mod run_rows;
pub(super) mod settings;
mod spill;
mod status;
mod sweep;
mod world_registry;
mod writer;

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
pub use sweep::{CaseNumber, CaseParameter, CaseResult, NewSweep, StoredSweep, SweepStore};
pub use world_registry::WorldRegistry;
