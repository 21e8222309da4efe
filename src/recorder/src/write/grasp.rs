//! Writes the result of a `simpartner grasp` command into a database.

use sqlx::AssertSqlSafe;

use crate::{
    database::{address::Database, connection::Connection, driver::Access, error::RecorderError},
    format::{schema, timestamp, value::Parameter},
};

/// Result of the analysis of a grasp.
#[derive(Debug, Clone)]
pub struct GraspFinding<'a> {
    /// The verb of the command line, after `grasp`.
    pub verb: &'a str,
    /// Path of the file, as it was opened.
    pub file: &'a str,
    /// Text of the file, or texts of the two files of a grasp in the format of 1994.
    pub texts: &'a [String],
    /// Name of the grasp.
    pub name: &'a str,
    /// The verdict; empty if the verb has none.
    pub verdict: &'a str,
    /// Figures by the names of their columns. Columns without a figure are NULL.
    pub figures: &'a [(&'a str, f64)],
    /// The whole answer.
    pub answer: &'a str,
}

/// Adds the result to a database. The tables are created or brought up to date first.
///
/// # Errors
/// When the database cannot be reached, or cannot be written.
pub fn keep_grasp(database: &Database, finding: &GraspFinding) -> Result<(), RecorderError> {
    let (statement, columns) = schema::insert_outside_runs("grasp");
    let asked = timestamp::now();
    let mut hasher = blake3::Hasher::new();
    for text in finding.texts {
        hasher.update(text.as_bytes());
    }
    let hash = hasher.finalize().to_hex();
    let value = |(column, _): &(&'static str, _)| match *column {
        "asked" => Parameter::Text(&asked),
        "verb" => Parameter::Text(finding.verb),
        "file" => Parameter::Text(finding.file),
        "blake3" => Parameter::Text(hash.as_str()),
        "name" => Parameter::Text(finding.name),
        "verdict" => Parameter::Text(finding.verdict),
        "answer" => Parameter::Text(finding.answer),
        figure => {
            let found = finding.figures.iter().find(|(name, value)| *name == figure && value.is_finite());
            found.map_or(Parameter::Null, |(_, value)| Parameter::Real(*value))
        }
    };
    let values: Vec<Parameter> = columns.iter().map(value).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(RecorderError::Start)?;
    runtime.block_on(async {
        let mut connection = Connection::open(database, Access::Write).await?;
        connection.begin().await?;
        // The statement consists of constants of this program.
        connection.execute(AssertSqlSafe(statement), &values).await?;
        connection.commit().await?;
        connection.close().await
    })
}
