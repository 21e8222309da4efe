//! `--database`: an answer about a grasp as a row of the log.

use clap::Args;
use serde_json::Value;
use simpartner_description::xml;

use super::{super::exit::CliError, Input};
use crate::recorder::{ADDRESSES, Database, GraspFinding, keep_grasp};

/// Where an answer is kept.
#[derive(Debug, Args)]
pub(super) struct Keep {
    #[arg(long, value_name = "URL", help = format!("Add the answer to the table `grasp` of a database: {ADDRESSES}"))]
    database: Option<String>,
}

/// An answer, as far as columns of their own have it.
pub(super) struct Answer<'a> {
    pub(super) verb: &'a str,
    pub(super) name: &'a str,
    pub(super) verdict: &'a str,
    pub(super) figures: &'a [(&'a str, f64)],
}

impl Keep {
    /// The database, before anything is computed.
    pub(super) fn database(&self) -> Result<Option<Database>, CliError> {
        Ok(self.database.as_deref().map(Database::parse).transpose()?)
    }
}

/// Adds an answer where a database is named.
pub(super) fn keep(
    database: Option<&Database>,
    input: &Input,
    answer: &Answer,
    report: impl FnOnce() -> Value,
) -> Result<(), CliError> {
    let Some(database) = database else { return Ok(()) };
    let texts: Result<Vec<String>, _> = input.files.iter().map(|file| xml::read_own_text(file)).collect();
    let finding = GraspFinding {
        verb: answer.verb,
        file: &input.shown(),
        texts: &texts?,
        name: answer.name,
        verdict: answer.verdict,
        figures: answer.figures,
        answer: &report().to_string(),
    };
    Ok(keep_grasp(database, &finding)?)
}
