//! `--database`: stores the result of a grasp verb, or of a task of a batch, as a row of a database.

use std::path::Path;

use clap::Args;
use serde_json::Value;
use simpartner_description::xml;

use super::{super::exit::CliError, input::Input};
use crate::{
    grasp_batch::{self, Row, Tasks},
    recorder::{ADDRESSES, Database, GraspBatch, GraspFinding, GraspTaskFinding, GraspTasks, keep_grasp},
};

/// Database for the result.
#[derive(Debug, Args)]
pub(super) struct Keep {
    #[arg(long, value_name = "URL", help = format!("Add the result to the table `grasp` of this database: {ADDRESSES}"))]
    database: Option<String>,
}

/// The part of a result with its own columns.
pub(super) struct Answer<'a> {
    pub(super) verb: &'a str,
    pub(super) name: &'a str,
    pub(super) verdict: &'a str,
    pub(super) figures: &'a [(&'a str, f64)],
}

impl Keep {
    /// The database that the flag names. It is parsed before the computation, so that an error comes at once.
    pub(super) fn database(&self) -> Result<Option<Database>, CliError> {
        Ok(self.database.as_deref().map(Database::parse).transpose()?)
    }
}

/// Stores a result if a database is named. `report` is the full result as JSON.
pub(super) fn store_answer(
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

/// Writer of a batch's rows into a database; it does nothing without one.
pub(super) struct TaskStore(Option<GraspTasks>);

impl TaskStore {
    /// Connects. This happens before the computation, so that an error comes at once.
    pub(super) fn open(url: Option<&str>, file: &Path, name: &str, tasks: &Tasks) -> Result<Self, CliError> {
        let Some(url) = url else { return Ok(Self(None)) };
        let batch = GraspBatch {
            key: tasks.key(),
            file: file.display().to_string(),
            name: name.to_owned(),
            seed: tasks.seed(),
        };
        Ok(Self(Some(GraspTasks::open(&Database::parse(url)?, batch)?)))
    }

    /// Adds a row.
    pub(super) fn add_row(&mut self, row: &Row) -> Result<(), CliError> {
        let Some(kept) = &mut self.0 else { return Ok(()) };
        let figures = grasp_batch::figures(&row.outcome).into_iter();
        let figures: Vec<_> = figures.filter_map(|figure| Some((figure.name, figure.value?))).collect();
        let outcome = serde_json::to_string(row).map_err(|error| CliError::Input(error.to_string()))?;
        let finding = GraspTaskFinding {
            task: row.task,
            status: row.outcome.status.name(),
            cause: row.outcome.cause.as_deref(),
            figures: &figures,
            outcome: &outcome,
        };
        Ok(kept.keep(&finding)?)
    }

    /// Commits the rows that are still pending.
    pub(super) fn finish(self) -> Result<(), CliError> {
        Ok(self.0.map_or(Ok(()), GraspTasks::finish)?)
    }
}
