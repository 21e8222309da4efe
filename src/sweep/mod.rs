//! Sweeps: many runs of one model with different parameters, whose results are rows of a database.
//!
//! A sweep file says what varies and what is measured. Each case is a function of its number alone, so any process may
//! simulate any part of a sweep, in any order, on any number of threads. A case that is simulated again is compared
//! with the stored one. Start at [`Sweep::read`], then [`run`].

mod case;
mod controller;
mod error;
mod field;
mod file;
mod measure;
mod meter;
mod report;
mod runner;
mod sample;

pub use case::Sweep;
pub use error::SweepError;
pub use report::{Correlation, Figures, SweepTable, correlations, figures, histogram, scatter};
pub use runner::{Options, Progress, Summary, run};
