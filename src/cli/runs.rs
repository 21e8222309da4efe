//! `simpartner runs`: lists the runs of a database, or compares two of them.

use std::fmt::Write;

use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};

use simpartner_terminal::output::print;

use super::{
    exit::{CliError, ExitStatus},
    format::ReportArguments,
    logged::{Bar, LogArguments, RunName},
};
use crate::{
    analysis::compare::{Comparison, Difference, Differing, Largest, Side, compare},
    recorder::{
        Inquiry, RecordedRun, RecorderError,
        inquiry::{Selection, TABLES, Table, Value},
    },
};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct RunsArguments {
    #[command(subcommand)]
    what: Option<What>,
    /// Only runs whose model has this parameter, as `surface.friction`, `surface.friction=0.4`, or with `<` or `>`; may
    /// be given several times
    #[arg(long = "parameter", value_name = "PATH[=VALUE]", value_parser = Wanted::parse_wanted)]
    wanted: Vec<Wanted>,
    #[command(flatten)]
    log: LogArguments,
    #[command(flatten)]
    report: ReportArguments,
}

/// A parameter that the listed runs have.
#[derive(Debug, Clone)]
struct Wanted {
    path: String,
    /// `=`, `<` or `>` and the other side.
    comparison: Option<(char, String)>,
}

/// A parameter of a run: path, text and number.
type RunParameter = (String, String, Option<f64>);

impl Wanted {
    fn parse_wanted(text: &str) -> Result<Self, String> {
        let Some(at) = text.find(['=', '<', '>']) else {
            return Ok(Self { path: text.trim().to_owned(), comparison: None });
        };
        let (sign, value) = (text[at..].chars().next().unwrap_or('='), text[at + 1..].trim());
        if value.is_empty() || (sign != '=' && value.parse::<f64>().is_err()) {
            return Err(format!("expected PATH, PATH=VALUE, PATH<NUMBER or PATH>NUMBER, got '{text}'"));
        }
        Ok(Self { path: text[..at].trim().to_owned(), comparison: Some((sign, value.to_owned())) })
    }

    fn is_among(&self, parameters: &[RunParameter]) -> bool {
        parameters.iter().filter(|(path, ..)| *path == self.path).any(|(_, text, number)| {
            let Some((sign, value)) = &self.comparison else { return true };
            match (number, value.parse::<f64>()) {
                (Some(number), Ok(value)) => match sign {
                    '<' => *number < value,
                    '>' => *number > value,
                    _ => *number == value,
                },
                _ => *sign == '=' && text == value,
            }
        })
    }
}

/// The values that a run replaced in its model.
fn run_parameters(inquiry: &mut Inquiry, run: i64) -> Result<Vec<RunParameter>, CliError> {
    let table = Table::named("parameter").ok_or_else(|| CliError::Input("no table of parameters".into()))?;
    let mut found = Vec::new();
    inquiry.rows(&Selection::all(table, run), &["path", "text", "value"], |row| {
        found.push((row[0].text().to_owned(), row[1].text().to_owned(), row[2].number()));
        Ok::<_, RecorderError>(())
    })?;
    Ok(found)
}

#[derive(Debug, Subcommand)]
enum What {
    /// Compare two runs bit by bit: print their first difference, and the largest deviation of each body. Exit code 10
    /// if they differ
    Compare(CompareArguments),
}

#[derive(Debug, Args)]
struct CompareArguments {
    /// First run: a number or `last`; URL#NUMBER or URL#last for a run of another database
    one: RunName,
    /// Second run, likewise
    two: RunName,
    #[command(flatten)]
    log: LogArguments,
    #[command(flatten)]
    report: ReportArguments,
}

/// Lists the runs, or compares two.
pub(super) fn runs(arguments: &RunsArguments) -> Result<ExitStatus, CliError> {
    if let Some(What::Compare(arguments)) = &arguments.what {
        return compare_runs(arguments);
    }
    let mut inquiry = Inquiry::open(&arguments.log.database()?)?;
    let runs = inquiry.runs()?;
    let mut listed = Vec::new();
    for run in runs {
        let parameters = run_parameters(&mut inquiry, run.simulation_id)?;
        if arguments.wanted.iter().all(|wanted| wanted.is_among(&parameters)) {
            listed.push((run_counts(&mut inquiry, &run)?, run, parameters));
        }
    }
    let text = if arguments.report.is_json() {
        let runs: Vec<Json> = listed.iter().map(|(counts, run, parameters)| json_of(counts, run, parameters)).collect();
        format!("{:#}\n", json!(runs))
    } else {
        runs_table(&listed)
    };
    print(text);
    Ok(ExitStatus::Success)
}

/// Numbers of steps and rows of a run, from its row in the log; `None` until the run is closed.
struct Counts {
    steps: Option<i64>,
    rows: Option<i64>,
}

fn run_counts(inquiry: &mut Inquiry, run: &RecordedRun) -> Result<Counts, RecorderError> {
    let mut counts = Counts { steps: None, rows: None };
    let selection = Selection::all(&TABLES[0], run.simulation_id);
    inquiry.rows(&selection, &["steps", "rows_written"], |row| {
        counts = Counts { steps: row[0].integer(), rows: row[1].integer() };
        Ok::<_, RecorderError>(())
    })?;
    // For a run that has not ended, or was killed, the logged steps count.
    counts.steps = counts.steps.or(run.steps.map(|(_, last)| last as i64));
    Ok(counts)
}

fn runs_table(listed: &[(Counts, RecordedRun, Vec<RunParameter>)]) -> String {
    let mut out = String::new();
    let number = |number: Option<i64>| number.map_or("-".into(), |number| number.to_string());
    let head = ("run", "started", "status", "steps", "rows", "size", "rtf");
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "{:>5}  {:<24}  {:<10}  {:>9}  {:>10}  {:>9}  {:>8}  world",
        head.0, head.1, head.2, head.3, head.4, head.5, head.6
    );
    for (counts, run, parameters) in listed {
        let factor = run.real_time_factor.map_or("-".into(), |factor| format!("{factor:.3}"));
        let _ = writeln!(
            out,
            "{:>5}  {:<24}  {:<10}  {:>9}  {:>10}  {:>9}  {factor:>8}  {}{}",
            run.simulation_id,
            run.started,
            run.status,
            number(counts.steps),
            number(counts.rows),
            run.bytes.map_or("-".into(), size_text),
            run.world,
            parameters.iter().map(|(path, text, _)| format!("  {path}={text}")).collect::<String>()
        );
    }
    out
}

/// A size as text, with three digits and a unit.
fn size_text(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = if unit == 0 || value >= 99.95 { 0 } else { 1 };
    format!("{value:.digits$} {}", units[unit])
}

fn json_of(counts: &Counts, run: &RecordedRun, parameters: &[RunParameter]) -> Json {
    let parameter = |(path, text, number): &RunParameter| {
        (path.clone(), number.filter(|_| !text.starts_with('*')).map_or_else(|| json!(text), |number| json!(number)))
    };
    json!({
        "run": run.simulation_id,
        "world": run.world,
        "started": run.started,
        "status": run.status,
        "timestep_s": run.timestep.seconds(),
        "every_n_steps": run.every_n_steps,
        "steps": counts.steps,
        "first_logged_step": run.steps.map(|steps| steps.0),
        "last_logged_step": run.steps.map(|steps| steps.1),
        "rows": counts.rows,
        "bytes": run.bytes,
        "real_time_factor": run.real_time_factor,
        "parameters": parameters.iter().map(parameter).collect::<serde_json::Map<_, _>>(),
    })
}

fn compare_runs(arguments: &CompareArguments) -> Result<ExitStatus, CliError> {
    let (mut one, run_one) = arguments.log.open(&arguments.one)?;
    let (mut two, run_two) = arguments.log.open(&arguments.two)?;
    let mut sides = [Side { inquiry: &mut one, run: run_one }, Side { inquiry: &mut two, run: run_two }];
    let mut bar = Bar::new();
    let found = compare(&mut sides, &mut bar)?;
    drop(bar);
    print(if arguments.report.is_json() { format!("{:#}\n", compared_json(&found)) } else { text_of(&found) });
    Ok(if found.equal() { ExitStatus::Success } else { ExitStatus::Differ })
}

fn value_text(value: &Option<Value>) -> String {
    match value {
        None => "no row".into(),
        Some(Value::Null) => "no number".into(),
        Some(Value::Integer(integer)) => integer.to_string(),
        Some(Value::Real(real)) => format!("{real:?}"),
        Some(Value::Text(text)) => format!("`{text}`"),
        Some(Value::Bytes(_)) => "bytes".into(),
    }
}

fn text_of(found: &Comparison) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "steps in both     {}", found.common_steps);
    if found.after > 0 {
        let _ = writeln!(out, "compared after    step {}, at which the fork starts", found.after);
    }
    if let Some([one, two]) = found.timesteps_ns {
        let _ = writeln!(out, "timestep          {one} ns and {two} ns; steps are compared by their numbers");
    }
    for (name, (alone, strangers)) in ["first", "second"].iter().zip(found.alone.iter().zip(&found.strangers)) {
        if let Some((count, first)) = alone {
            let _ = writeln!(out, "only in the {name:<6} {count} steps, the first of them {first}");
        }
        if !strangers.is_empty() {
            let _ = writeln!(out, "only in the {name:<6} {}", strangers.join(", "));
        }
    }
    match &found.first {
        Some(Difference { step, component, quantity, values: [one, two], .. }) => {
            let (one, two) = (value_text(one), value_text(two));
            let _ = writeln!(out, "first difference  step {step}, {component}, {quantity}: {one} and {two}");
        }
        None => {
            let _ = writeln!(out, "first difference  none");
        }
    }
    for (quantity, Differing { components, first, rows }) in &found.differing {
        let of = match components.len() {
            1 => "1 component".to_owned(),
            count => format!("{count} components"),
        };
        let _ = writeln!(out, "differs           {quantity}: {rows} rows of {of}, from step {first} on");
    }
    if found.first.is_some() {
        let _ = writeln!(
            out,
            "\n{:<30} {:>28} {:>28} {:>28}",
            "largest deviation", "position in m", "angle in rad", "force in N"
        );
        for body in &found.deviations {
            let at = |largest: &Largest| match largest.value {
                0.0 => "0".into(),
                value => format!("{value:.6e} at {}", largest.step),
            };
            let (position, angle, force) = (at(&body.position), at(&body.angle), at(&body.force));
            let _ = writeln!(out, "{:<30} {position:>28} {angle:>28} {force:>28}", body.body);
        }
    }
    out
}

fn compared_json(found: &Comparison) -> Json {
    let plain = |value: &Option<Value>| match value {
        Some(Value::Integer(integer)) => json!(integer),
        Some(Value::Real(real)) => json!(real),
        Some(Value::Text(text)) => json!(text),
        None | Some(Value::Null | Value::Bytes(_)) => Json::Null,
    };
    let largest = |largest: &Largest| json!({ "value": largest.value, "step": largest.step });
    let alone = |index: usize| found.alone[index].map(|(steps, first)| json!({ "steps": steps, "first": first }));
    json!({
        "equal": found.equal(),
        "common_steps": found.common_steps,
        "timesteps_ns": found.timesteps_ns,
        "only_in_first": { "steps": alone(0), "components": found.strangers[0] },
        "only_in_second": { "steps": alone(1), "components": found.strangers[1] },
        "first_difference": found.first.as_ref().map(|first| json!({
            "step": first.step,
            "component": first.component,
            "field": first.field,
            "quantity": first.quantity,
            "values": first.values.iter().map(plain).collect::<Vec<_>>(),
        })),
        "compared_after": found.after,
        "differing": found.differing.iter().map(|(quantity, differing)| json!({
            "quantity": quantity,
            "components": differing.components.len(),
            "rows": differing.rows,
            "first": differing.first,
        })).collect::<Vec<_>>(),
        "deviations": found.deviations.iter().map(|body| json!({
            "body": body.body,
            "position_m": largest(&body.position),
            "angle_rad": largest(&body.angle),
            "force_N": largest(&body.force),
        })).collect::<Vec<_>>(),
    })
}
