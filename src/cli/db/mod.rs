//! `simpartner db`: what concerns a database as a whole, a verb to a file.

mod merge;
mod prune;

use clap::Subcommand;

use super::{CliError, ExitStatus};

#[derive(Debug, Subcommand)]
pub(super) enum DbVerb {
    /// Copy runs of one database into another, with new numbers
    Merge(merge::MergeArguments),
    /// Take runs out of a database
    Prune(prune::PruneArguments),
}

/// Does it.
pub(super) fn db(verb: &DbVerb) -> Result<ExitStatus, CliError> {
    match verb {
        DbVerb::Merge(arguments) => merge::merge(arguments),
        DbVerb::Prune(arguments) => prune::prune(arguments),
    }
}
