//! Writes the results of grasp tasks into a database.

use std::collections::BTreeSet;

use sqlx::AssertSqlSafe;
use tokio::runtime::Runtime;

use crate::{
    database::{address::Database, connection::Connection, driver::Access, error::RecorderError},
    format::{
        schema,
        value::{ColumnType, Parameter, Value},
    },
};

/// Number of rows in a transaction: enough that the commit costs little per row, few enough that a reader sees the
/// batch grow.
const ROWS_PER_COMMIT: usize = 100;

/// A batch of grasp tasks.
#[derive(Debug, Clone)]
pub struct GraspBatch {
    /// Key of the batch: a hash of everything that its rows depend on, at most 64 hexadecimal digits.
    pub key: String,
    /// Path of the task file, as it was opened.
    pub file: String,
    /// Name of the tasks, from the file.
    pub name: String,
    /// Seed of the random targets.
    pub seed: u64,
}

/// Result of a grasp task.
#[derive(Debug, Clone)]
pub struct GraspTaskFinding<'a> {
    /// Number of the task in the batch, from 0.
    pub task: u64,
    /// Name of the status.
    pub status: &'a str,
    /// Reason for the status, if the status alone does not give it.
    pub cause: Option<&'a str>,
    /// Figures by the names of their columns. Columns without a figure are NULL.
    pub figures: &'a [(String, f64)],
    /// The whole result in JSON.
    pub outcome: &'a str,
}

/// The rows of a batch of grasp tasks in a database. Existing rows are left as they are, so a batch that was killed can
/// be repeated.
#[derive(Debug)]
pub struct GraspTasks {
    runtime: Runtime,
    connection: Connection,
    batch: GraspBatch,
    statement: String,
    columns: Vec<(&'static str, ColumnType)>,
    /// Tasks whose rows are in the database or wait for the next commit.
    known: BTreeSet<u64>,
    waiting: Vec<Vec<Value>>,
}

impl GraspTasks {
    /// Connects to a database, creates its tables or brings them up to date, and reads which tasks of the batch it has.
    ///
    /// # Errors
    /// When the database cannot be reached, or cannot be written.
    pub fn open(database: &Database, batch: GraspBatch) -> Result<Self, RecorderError> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(RecorderError::Start)?;
        let (connection, known) = runtime.block_on(async {
            let mut connection = Connection::open(database, Access::Write).await?;
            let key = [Parameter::Text(&batch.key)];
            let rows = connection.rows("SELECT task FROM graspTask WHERE batch = ?", &key).await?;
            let known = rows.iter().map(|row| row.count(0)).collect();
            Ok::<_, RecorderError>((connection, known))
        })?;
        let (statement, columns) = schema::insert_outside_runs("graspTask");
        Ok(Self { runtime, connection, batch, statement, columns, known, waiting: Vec::new() })
    }

    /// Adds a row, unless the database has it. Rows are committed together, so the row may wait for later ones.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn keep(&mut self, finding: &GraspTaskFinding) -> Result<(), RecorderError> {
        if !self.known.insert(finding.task) {
            return Ok(());
        }
        let row =
            self.columns.iter().map(|(name, column_type)| self.column_value(finding, name, *column_type)).collect();
        self.waiting.push(row);
        if self.waiting.len() < ROWS_PER_COMMIT { Ok(()) } else { self.commit_waiting() }
    }

    /// Commits the waiting rows and closes the connection.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn finish(mut self) -> Result<(), RecorderError> {
        self.commit_waiting()?;
        self.runtime.block_on(self.connection.close())
    }

    fn column_value(&self, finding: &GraspTaskFinding, column: &str, column_type: ColumnType) -> Value {
        let text = |text: &str| Value::Text(text.to_owned());
        match column {
            "batch" => text(&self.batch.key),
            "task" => Value::Integer(finding.task as i64),
            "file" => text(&self.batch.file),
            "name" => text(&self.batch.name),
            "seed" => text(&self.batch.seed.to_string()),
            "program_version" => text(env!("CARGO_PKG_VERSION")),
            "status" => text(finding.status),
            "cause" => text(finding.cause.unwrap_or_default()),
            "outcome" => text(finding.outcome),
            figure => {
                let found = finding.figures.iter().find(|(name, value)| name == figure && value.is_finite());
                match (found, column_type) {
                    (None, _) => Value::Null,
                    (Some((_, value)), ColumnType::Integer) => Value::Integer(*value as i64),
                    (Some((_, value)), _) => Value::Real(*value),
                }
            }
        }
    }

    fn commit_waiting(&mut self) -> Result<(), RecorderError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let (connection, statement) = (&mut self.connection, &self.statement);
        let rows = std::mem::take(&mut self.waiting);
        self.runtime.block_on(async {
            connection.begin().await?;
            for row in &rows {
                let parameters: Vec<Parameter> = row.iter().map(Parameter::from).collect();
                // The statement consists of constants of this program.
                connection.execute(AssertSqlSafe(statement.as_str()), &parameters).await?;
            }
            connection.commit().await
        })
    }
}
