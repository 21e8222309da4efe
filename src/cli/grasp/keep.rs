//! `--database`: an answer about a grasp, or a task of a batch, as a row of the log.

use std::path::Path;

use clap::Args;
use serde_json::Value;
use simpartner_description::xml;

use super::{super::exit::CliError, input::Input};
use crate::{
    grasp_batch::{self, Row, Tasks},
    recorder::{ADDRESSES, Database, GraspBatch, GraspFinding, GraspTaskFinding, GraspTasks, keep_grasp},
};

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

/// Where rows of a batch are kept, if a database is named.
pub(super) struct KeptTasks(Option<GraspTasks>);

impl KeptTasks {
    /// Connects, before anything is computed.
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

    /// Keeps a row.
    pub(super) fn keep(&mut self, row: &Row) -> Result<(), CliError> {
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

    /// Commits what waits.
    pub(super) fn finish(self) -> Result<(), CliError> {
        Ok(self.0.map_or(Ok(()), GraspTasks::finish)?)
    }
}
