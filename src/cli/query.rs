//! `simpartner query`: read-only SQL queries on the log.

use std::io::{BufWriter, IsTerminal, Read};

use clap::{Args, ValueEnum};

use simpartner_terminal::output::{Stdout, note};

use super::{
    exit::{CliError, ExitStatus},
    logged::{LogArguments, RunName},
};
use crate::{
    analysis::{
        AnalysisError,
        answer::{Form, answer},
    },
    recorder::inquiry::Scope,
};

/// Text after the help of the verb.
const HELP_NOTES: &str = "\
In the SQL, `:run` stands for the number of RUN. The tables and views of the log show the rows of RUN only. To see the rows of
all runs, use --all-runs, or a qualified name such as main.pose in SQLite. With `--as 7`, a query that was written for run 7 applies
to RUN, because each number 7 in it is replaced by the number of RUN. The connection is read-only, and sees one consistent state of
the database. Grasps belong to no run: the table `grasp` shows all of them.";

#[derive(Debug, Args)]
#[command(after_help = HELP_NOTES)]
pub(super) struct QueryArguments {
    /// Run: a number or `last`; URL#NUMBER or URL#last for a run of another database
    run: RunName,
    /// SQL query, or `-` to read it from standard input
    sql: String,
    /// Format of the output
    #[arg(long, value_enum, default_value = "table")]
    format: AnswerFormat,
    /// Same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Run number in the query to replace by the number of RUN, so that a query for another run works unchanged
    #[arg(long = "as", value_name = "NUMBER")]
    alias: Option<u64>,
    /// Show the rows of all runs, not only of RUN
    #[arg(long)]
    all_runs: bool,
    #[command(flatten)]
    log: LogArguments,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AnswerFormat {
    Table,
    Csv,
    Json,
}

/// Runs the query and prints the result.
pub(super) fn query(arguments: &QueryArguments) -> Result<ExitStatus, CliError> {
    let (mut inquiry, run) = arguments.log.open_for_query(&arguments.run)?;
    let mut sql = arguments.sql.clone();
    if sql == "-" {
        sql.clear();
        std::io::stdin().read_to_string(&mut sql)?;
    }
    let form = match arguments.format {
        _ if arguments.json => Form::Json,
        AnswerFormat::Table => Form::Table,
        AnswerFormat::Csv if std::io::stdout().is_terminal() => Form::CsvForTerminal,
        AnswerFormat::Csv => Form::Csv,
        AnswerFormat::Json => Form::Json,
    };
    let scope = Scope { run, alias: arguments.alias, all_runs: arguments.all_runs };
    match answer(&mut inquiry, &sql, scope, form, &mut BufWriter::new(Stdout)) {
        Ok(rows) => {
            if form == Form::Table && std::io::stderr().is_terminal() {
                note(format_args!("{rows} rows of run {run}"));
            }
            Ok(ExitStatus::Success)
        }
        // Standard output was closed before the end of the result. If that is a failure, it is reported at the end.
        Err(AnalysisError::Output(_)) => Ok(ExitStatus::Success),
        Err(error) => Err(error.into()),
    }
}
