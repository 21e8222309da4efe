//! `simpartner db`: operations on a database as a whole, one file for each verb.

mod import;
mod merge;
mod prune;
mod verify;

use clap::Subcommand;

use super::exit::{CliError, ExitStatus};

#[derive(Debug, Subcommand)]
pub(super) enum DbVerb {
    /// Check that runs are complete: every step, all rows, and the hash chain. Exit code 4 if something is missing
    Verify(verify::VerifyArguments),
    /// Import a spill file into a database
    Import(import::ImportArguments),
    /// Copy runs of one database into another, where they get new numbers
    Merge(merge::MergeArguments),
    /// Remove runs from a database
    Prune(prune::PruneArguments),
}

/// Runs the verb.
pub(super) fn db(verb: &DbVerb) -> Result<ExitStatus, CliError> {
    match verb {
        DbVerb::Verify(arguments) => verify::verify(arguments),
        DbVerb::Import(arguments) => import::import(arguments),
        DbVerb::Merge(arguments) => merge::merge(arguments),
        DbVerb::Prune(arguments) => prune::prune(arguments),
    }
}
