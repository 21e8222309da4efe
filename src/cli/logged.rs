//! The flags by which verbs name a database and a run in it, and the progress bar.

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
    /// Database of the logs [default: that of the settings]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Properties file [default: properties.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    properties: Option<PathBuf>,
}

/// A run as a user names it: a number, `last`, or either behind the address of a database and `#`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunName {
    database: Option<String>,
    /// None is the last.
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
                format!("expected a run's number, `last`, or one of them behind URL#, got `{text}`{near}")
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
            CliError::Usage("the settings keep no log (log.enabled = false); name a database by --database".into())
        })
    }

    /// Opens the database of a run, and finds the run.
    pub(super) fn open(&self, name: &RunName) -> Result<(Inquiry, RecordedRun), CliError> {
        let mut inquiry = self.inquiry(name)?;
        Self::find(name, &mut inquiry).map(|run| (inquiry, run))
    }

    /// Opens the database of a run, and gives its number. The last run of a database without any is 0, of which no table has rows: such a
    /// database may have grasps.
    pub(super) fn open_to_ask(&self, name: &RunName) -> Result<(Inquiry, i64), CliError> {
        let mut inquiry = self.inquiry(name)?;
        if name.number.is_none() && inquiry.run(None)?.is_none() && inquiry.runs()?.is_empty() {
            return Ok((inquiry, 0));
        }
        Self::find(name, &mut inquiry).map(|run| (inquiry, run.simulation_id))
    }

    fn inquiry(&self, name: &RunName) -> Result<Inquiry, CliError> {
        let database = match &name.database {
            Some(url) => Database::parse(url)?,
            None => self.database()?,
        };
        Ok(Inquiry::open(&database)?)
    }

    fn find(name: &RunName, inquiry: &mut Inquiry) -> Result<RecordedRun, CliError> {
        // A database may have tens of thousands of runs.
        if let Some(run) = inquiry.run(name.number)? {
            return Ok(run);
        }
        // The newest may be one whose row is damaged.
        let runs = inquiry.runs()?;
        if let (None, Some(run)) = (name.number, runs.first()) {
            return Ok(run.clone());
        }
        let wanted = name.number.map_or("the last run".into(), |number| format!("run {number}"));
        let database = inquiry.database();
        Err(CliError::Input(format!(
            "{database} has not {wanted}: {}",
            listed(runs.iter().map(|run| run.simulation_id))
        )))
    }
}

/// The most numbers of runs that a message lists.
const NAMED: usize = 10;

/// What runs there are, the last first, in words.
pub(super) fn listed(numbers: impl ExactSizeIterator<Item = i64>) -> String {
    let more = numbers.len().saturating_sub(NAMED);
    let shown: Vec<String> = numbers.take(NAMED).map(|number| number.to_string()).collect();
    match (&shown[..], more) {
        ([], _) => "it holds none".into(),
        ([one], _) => format!("it has run {one} alone"),
        (shown, 0) => format!("it has runs {}", shown.join(", ")),
        (shown, more) => format!("it has runs {} and {more} others; `simpartner runs` lists all", shown.join(", ")),
    }
}

/// A progress bar on standard error; invisible if that is no terminal.
pub(super) struct Bar(ProgressBar);

impl Bar {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        // The template is a constant; if it were wrong, the bar would keep its default.
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
