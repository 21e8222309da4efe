//! `simpartner db prune`: removes runs from a database.

use std::io::{BufRead, IsTerminal};

use clap::{ArgGroup, Args};

use simpartner_terminal::output::{note, print, tell};

use crate::{
    analysis::Progress,
    cli::{
        exit::{CliError, ExitStatus},
        logged::{Bar, LogArguments, listed},
    },
    recorder::{Database, Inquiry, Prune, RecordedRun, days_ago},
};

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").required(true))]
pub(in crate::cli) struct PruneArguments {
    /// Numbers of the runs to remove
    #[arg(group = "which", value_name = "RUN")]
    runs: Vec<i64>,
    /// Remove all runs but the newest N
    #[arg(long, group = "which", value_name = "N")]
    keep: Option<usize>,
    /// Remove all runs that began more than this many days ago, from 0 to 36500
    #[arg(long, group = "which", value_name = "DAYS")]
    older_than: Option<f64>,
    /// Remove without asking for confirmation
    #[arg(long)]
    yes: bool,
    /// Give the freed space back to the disk, which takes as long as writing the remaining runs again
    #[arg(long)]
    vacuum: bool,
    #[command(flatten)]
    log: LogArguments,
}

/// Lists the runs that would be removed, asks for confirmation, and removes them.
pub(super) fn prune(arguments: &PruneArguments) -> Result<ExitStatus, CliError> {
    let database = arguments.log.database()?;
    let mut inquiry = Inquiry::open(&database)?;
    let runs = inquiry.runs()?;
    let wanted = selected_runs(arguments, &runs, &database)?;
    drop(inquiry);
    if wanted.is_empty() {
        print("no run to remove\n");
        return Ok(ExitStatus::Success);
    }
    for run in &wanted {
        note(format_args!("run {:>5}  {}  {}  {}", run.simulation_id, run.started, run.status, run.world));
    }
    if !arguments.yes && !is_confirmed(wanted.len(), &database)? {
        return Err(CliError::Usage("no run was removed".into()));
    }
    remove_runs(arguments, &database, &wanted)
}

/// The runs that the flags select.
fn selected_runs(
    arguments: &PruneArguments,
    runs: &[RecordedRun],
    database: &Database,
) -> Result<Vec<RecordedRun>, CliError> {
    if let Some(keep) = arguments.keep {
        return Ok(runs.iter().skip(keep).cloned().collect());
    }
    if let Some(days) = arguments.older_than {
        if !(0.0..36_500.0).contains(&days) {
            return Err(CliError::Usage(format!("--older-than: expected days from 0 to 36500, got {days}")));
        }
        // Times in this format compare as text.
        let before = days_ago(days);
        return Ok(runs.iter().filter(|run| run.started < before).cloned().collect());
    }
    let find = |number: &i64| runs.iter().find(|run| run.simulation_id == *number).cloned().ok_or(*number);
    arguments.runs.iter().map(find).collect::<Result<_, i64>>().map_err(|number| {
        CliError::Input({
            let numbers = runs.iter().map(|run| run.simulation_id);
            format!("{database} has no run {number}: {}", listed(numbers))
        })
    })
}

/// Asks for confirmation at the terminal and returns the answer. Without a terminal it is an error.
fn is_confirmed(runs: usize, database: &Database) -> Result<bool, CliError> {
    if !std::io::stdin().is_terminal() {
        return Err(CliError::Usage(
            "db prune: there is no terminal to ask for confirmation; add --yes to remove these runs".into(),
        ));
    }
    tell(format_args!("Remove {runs} runs from {database} permanently? [y/N] "));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn remove_runs(
    arguments: &PruneArguments,
    database: &Database,
    wanted: &[RecordedRun],
) -> Result<ExitStatus, CliError> {
    let mut prune = Prune::new(database)?;
    let before = prune.bytes()?;
    for run in wanted {
        let mut bar = Bar::new();
        let name = format!("run {}", run.simulation_id);
        let rows = prune.remove(run.simulation_id, &mut |done, all| {
            if done == 1 {
                bar.begin(&name, all);
            }
            bar.reach(done);
        })?;
        drop(bar);
        print(format_args!("run {} removed, {rows} rows\n", run.simulation_id));
    }
    if arguments.vacuum {
        prune.vacuum()?;
    }
    let after = prune.bytes()?;
    let freed = before.saturating_sub(after) as f64 / 1e6;
    prune.close()?;
    print(match (arguments.vacuum, database) {
        (true, _) => format!("{freed:.1} MB freed on the disk\n"),
        (false, Database::Sqlite(_)) => {
            format!("{freed:.1} MB are free within the file for further runs; --vacuum gives them back to the disk\n")
        }
        (false, _) => "the server uses the space for further runs; --vacuum gives it back to the disk\n".into(),
    });
    Ok(ExitStatus::Success)
}
