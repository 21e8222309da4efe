//! The flags that name a database and a run in it, and the progress bar.

use std::path::PathBuf;

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use simpartner_wire::near::did_you_mean;

use super::{arguments::ConfigurationArguments, exit::CliError};
use crate::{
    analysis::Progress,
    recorder::{Database, Inquiry, RecordedRun},
};

/// The database of a verb that looks into logs.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct LogArguments {
    /// Database of the log: sqlite:FILE, postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE [default: the
    /// setting log.database]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Properties file with settings [default: properties.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    properties: Option<PathBuf>,
}

/// A run as a user names it: a number or `last`, optionally after the address of a database and `#`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunName {
    database: Option<String>,
    /// Number of the run; `None` for the last one.
    number: Option<i64>,
}

impl std::str::FromStr for RunName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (database, run) = match text.rsplit_once('#') {
            Some((database, run)) => (Some(database.to_owned()), run),
            None => (None, text),
        };
        let number = match run {
            "last" => None,
            number => Some(number.parse().map_err(|_| {
                let near = did_you_mean(number, ["last"]);
                format!("expected the number of a run, `last`, URL#NUMBER or URL#last, got `{text}`{near}")
            })?),
        };
        Ok(Self { database, number })
    }
}

impl LogArguments {
    /// The database for runs that do not name their own.
    pub(super) fn database(&self) -> Result<Database, CliError> {
        if let Some(url) = &self.database {
            return Ok(Database::parse(url)?);
        }
        let arguments = ConfigurationArguments { properties: self.properties.clone(), ..Default::default() };
        let log = arguments.config(&[])?.log;
        log.map(|log| log.database).ok_or_else(|| {
            CliError::Usage("logging is off (log.enabled = false); name a database with --database".into())
        })
    }

    /// Opens the database of a run, and finds the run.
    pub(super) fn open(&self, name: &RunName) -> Result<(Inquiry, RecordedRun), CliError> {
        let mut inquiry = self.inquiry(name)?;
        Self::find(name, &mut inquiry).map(|run| (inquiry, run))
    }

    /// Opens the database of a run for queries, and returns the run's number. In a database without runs, which may
    /// still have grasps, the last run has the number 0, and no table has rows of it.
    pub(super) fn open_for_query(&self, name: &RunName) -> Result<(Inquiry, i64), CliError> {
        let mut inquiry = self.inquiry(name)?;
        if name.number.is_none() && inquiry.run(None)?.is_none() && inquiry.runs()?.is_empty() {
            return Ok((inquiry, 0));
        }
        Self::find(name, &mut inquiry).map(|run| (inquiry, run.simulation_id))
    }

    /// The database and the number of a run. A number is not looked up, because the run's row may be damaged.
    pub(super) fn locate(&self, name: &RunName) -> Result<(Database, i64), CliError> {
        let number = match name.number {
            Some(number) => number,
            None => self.open(name)?.1.simulation_id,
        };
        Ok((self.database_of(name)?, number))
    }

    fn database_of(&self, name: &RunName) -> Result<Database, CliError> {
        match &name.database {
            Some(url) => Ok(Database::parse(url)?),
            None => self.database(),
        }
    }

    fn inquiry(&self, name: &RunName) -> Result<Inquiry, CliError> {
        Ok(Inquiry::open(&self.database_of(name)?)?)
    }

    fn find(name: &RunName, inquiry: &mut Inquiry) -> Result<RecordedRun, CliError> {
        // Only this run is read, since a database may have tens of thousands of runs.
        if let Some(run) = inquiry.run(name.number)? {
            return Ok(run);
        }
        // The row of the newest run may be damaged; then the newest undamaged one is taken.
        let runs = inquiry.runs()?;
        if let (None, Some(run)) = (name.number, runs.first()) {
            return Ok(run.clone());
        }
        let wanted = name.number.map_or("the last run".into(), |number| format!("run {number}"));
        let database = inquiry.database();
        Err(CliError::Input(format!(
            "{database} does not have {wanted}: {}",
            listed(runs.iter().map(|run| run.simulation_id))
        )))
    }
}

/// Largest number of runs that a message lists.
const MAX_LISTED_RUNS: usize = 10;

/// Text that lists the runs of a database, the last first.
pub(super) fn listed(numbers: impl ExactSizeIterator<Item = i64>) -> String {
    let more = numbers.len().saturating_sub(MAX_LISTED_RUNS);
    let shown: Vec<String> = numbers.take(MAX_LISTED_RUNS).map(|number| number.to_string()).collect();
    match (&shown[..], more) {
        ([], _) => "it has no runs".into(),
        ([one], _) => format!("it has only run {one}"),
        (shown, 0) => format!("it has runs {}", shown.join(", ")),
        (shown, more) => format!("it has runs {} and {more} others; `simpartner runs` lists all", shown.join(", ")),
    }
}

/// A progress bar on standard error; hidden if that is no terminal.
pub(super) struct Bar(ProgressBar);

impl Bar {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        // The template is a valid constant; otherwise the bar would keep its default style.
        if let Ok(style) = ProgressStyle::with_template("{msg:16} {bar:30} {percent:>3} %, {eta} to go") {
            bar.set_style(style);
        }
        Self(bar)
    }
}

impl Progress for Bar {
    fn begin(&mut self, what: &str, amount: u64) {
        self.0.reset();
        self.0.set_length(amount);
        self.0.set_message(what.to_owned());
    }

    fn reach(&mut self, amount: u64) {
        self.0.set_position(amount);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_a_number_or_the_last_of_a_database() {
        let name = |database: Option<&str>, number| RunName { database: database.map(Into::into), number };
        assert_eq!("7".parse(), Ok(name(None, Some(7))));
        assert_eq!("last".parse(), Ok(name(None, None)));
        assert_eq!("sqlite:a#b.db#3".parse(), Ok(name(Some("sqlite:a#b.db"), Some(3))));
        assert!("first".parse::<RunName>().is_err());
    }
}
