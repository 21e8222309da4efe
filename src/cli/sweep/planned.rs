//! Sweep files and stored sweeps, as the verbs name them.

use std::path::PathBuf;

use clap::Args;
use simpartner_wire::near::did_you_mean;

use crate::{
    cli::{arguments::ConfigurationArguments, exit::CliError},
    recorder::{Database, NewSweep, StoredSweep, SweepStore},
    sweep::Sweep,
};

/// A sweep file and its database.
#[derive(Debug, Args)]
pub(super) struct FileArguments {
    /// Sweep file
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// Database of the results: sqlite:FILE, postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE [default: the
    /// setting log.database]
    #[arg(long, value_name = "URL")]
    pub(super) database: Option<String>,
    #[command(flatten)]
    configuration: ConfigurationArguments,
}

impl FileArguments {
    pub(super) fn read_sweep(&self) -> Result<Sweep, CliError> {
        Sweep::read(&self.file, |overrides| self.configuration.config(overrides))
    }

    /// The database of the results.
    pub(super) fn results_database(&self, sweep: &Sweep) -> Result<Database, CliError> {
        match (&self.database, sweep.database()) {
            (Some(url), _) => Ok(Database::parse(url)?),
            (None, Some(database)) => Ok(database.clone()),
            (None, None) => Err(CliError::Usage("log.enabled is false; name a database with --database".into())),
        }
    }
}

/// Stores the plan of a sweep, unless it is there.
pub(super) fn store_plan(store: &mut SweepStore, sweep: &Sweep) -> Result<StoredSweep, CliError> {
    let new = NewSweep { name: sweep.name(), hash: sweep.hash(), cases: sweep.cases(), plan: sweep.text() };
    Ok(store.plan(&new, |case| sweep.parameters(case))?)
}

/// The sweep of a number, or the newest one of a name.
pub(super) fn find_sweep(store: &mut SweepStore, wanted: &str) -> Result<StoredSweep, CliError> {
    let sweeps = store.sweeps()?;
    let is_meant = |sweep: &&StoredSweep| sweep.name == wanted || wanted.parse() == Ok(sweep.id);
    if let Some(sweep) = sweeps.iter().rev().find(is_meant) {
        return Ok(sweep.clone());
    }
    let near = did_you_mean(wanted, sweeps.iter().map(|sweep| sweep.name.as_str()));
    Err(CliError::Input(format!("there is no sweep '{wanted}'{near}; `simpartner sweep status` lists all")))
}
