//! `simpartner replay`: a logged run made again, step by step, and held against its log.

use clap::Args;
use simpartner_model::StepIndex;

use super::{
    CliError, ExitStatus,
    again::{Again, Otherwise},
    logged::{Bar, LogArguments, RunName},
    output::{note, print},
};

#[derive(Debug, Args)]
pub(super) struct ReplayArguments {
    /// The run: a number, `last`, or URL#NUMBER
    run: RunName,
    /// Up to this step [default: the last]
    #[arg(long, value_name = "STEP")]
    until: Option<u64>,
    #[command(flatten)]
    log: LogArguments,
}

/// Makes the run again.
pub(super) fn replay(arguments: &ReplayArguments) -> Result<ExitStatus, CliError> {
    let mut again = Again::open(&arguments.log, &arguments.run)?;
    for change in again.changes() {
        note(format_args!("warning: {change}; the same bits are not to be expected"));
    }
    let (first, last) = (again.simulation.step_index(), again.made.last);
    let until = arguments.until.map_or(last, StepIndex);
    if until > last || until < first {
        let run = again.run.simulation_id;
        return Err(CliError::Usage(format!("--until {until}: run {run} has the steps {first} to {last}")));
    }
    let mut bar = Bar::new();
    let otherwise = again.make(until, &mut bar)?;
    drop(bar);
    let (made, held) = (again.simulation.step_index().0 - first.0, again.held);
    if made > 0 && held == 0 && otherwise.is_none() {
        let run = again.run.simulation_id;
        let what = format!("run {run} was made again, but its log has no hash of those steps to hold it against");
        return Err(CliError::Setting(what));
    }
    let mut text = format!(
        "run               {}, {}\nengine            {}\nsteps made        {made}, {held} of them held against the log\n",
        again.run.simulation_id,
        again.run.world,
        again.simulation.engine_identity(),
    );
    text += &verdict(&again, otherwise.as_ref());
    print(text);
    Ok(if otherwise.is_none() { ExitStatus::Success } else { ExitStatus::Differ })
}

fn verdict(again: &Again, otherwise: Option<&Otherwise>) -> String {
    let Some(Otherwise { step, deviation }) = otherwise else {
        let (head, state) = (again.chain.head(), again.simulation.state_hash());
        return format!("chain             the same; its head is {head:016x}\nstate             {state}\n");
    };
    let first = match deviation {
        Some(deviation) => format!("{deviation}"),
        None => {
            "no number that is logged: what differs was left out of the log, or lies in an earlier step that was".into()
        }
    };
    format!("chain             not the same from step {step} on\nfirst difference  step {step}, {first}\n")
}
