//! `simpartner sweep submit`: hands the cases of a sweep to an engine that distributes them over machines.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use clap::{Args, ValueEnum};
use simpartner_terminal::output::{line, print};

use super::planned::{FileArguments, store_plan};
use crate::{
    cli::exit::{CliError, ExitStatus},
    recorder::{Database, SweepStore},
};

/// Size of the largest job array of Slurm if `scontrol` does not tell: its default.
const DEFAULT_ARRAY_SIZE: u64 = 1001;

/// An engine that distributes tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// Slurm, by `sbatch`
    Slurm,
    /// HyperQueue, by `hq`
    #[value(name = "hyperqueue")]
    HyperQueue,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct SubmitArguments {
    #[command(flatten)]
    file: FileArguments,
    /// Engine
    #[arg(long, value_enum)]
    engine: Engine,
    /// Number of tasks, from 1 to 100000. Each simulates an equal part of the cases; clusters ask for tasks of minutes
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    tasks: u64,
    /// Number of processor cores of a task
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    cores: u16,
    /// Largest number of tasks that run at the same time [default: no limit]
    #[arg(long, value_name = "COUNT")]
    at_once: Option<u64>,
    /// Print the scripts, and submit nothing
    #[arg(long)]
    print: bool,
}

pub(super) fn submit_cases(arguments: &SubmitArguments) -> Result<ExitStatus, CliError> {
    let sweep = arguments.file.read_sweep()?;
    let database = arguments.file.results_database(&sweep)?;
    let url = arguments.file.database.clone().unwrap_or_else(|| database.to_string());
    if matches!(database, Database::Sqlite(_)) && arguments.at_once != Some(1) {
        let what = "tasks on several machines need a database server: give --database postgres://..; or --at-once 1 for tasks one after the other";
        return Err(CliError::Usage(what.into()));
    }
    let tasks = arguments.tasks.min(sweep.cases());
    let program = std::env::current_exe()?;
    let file = std::path::absolute(&arguments.file.file)?;
    let command = |part: &str| {
        format!(
            "{} sweep run {} --database {} --threads {} --part \"{part}/{tasks}\"",
            shell_quoted(&program.to_string_lossy()),
            shell_quoted(&file.to_string_lossy()),
            shell_quoted(&url),
            arguments.cores
        )
    };
    if !arguments.print {
        let mut store = SweepStore::open(&database)?;
        store_plan(&mut store, &sweep)?;
        store.close()?;
    }
    match arguments.engine {
        Engine::Slurm => submit_to_slurm(arguments, sweep.name(), tasks, &command),
        Engine::HyperQueue => {
            let script = format!("#!/bin/sh\nexec {}\n", command("$HQ_TASK_ID"));
            if arguments.print {
                print(script);
                return Ok(ExitStatus::Success);
            }
            let array = format!("1-{tasks}");
            let cores = arguments.cores.to_string();
            let name = format!("sweep-{}", sweep.name());
            let call = ["submit", "--array", &array, "--cpus", &cores, "--name", &name, "--stdin", "--", "sh"];
            line(format_args!("{}", call_with_input("hq", &call, &script)?));
            Ok(ExitStatus::Success)
        }
    }
}

/// Submits arrays no larger than the cluster takes, and a last job that prints the status when all have ended.
fn submit_to_slurm(
    arguments: &SubmitArguments,
    name: &str,
    tasks: u64,
    command: &dyn Fn(&str) -> String,
) -> Result<ExitStatus, CliError> {
    let array_size = if arguments.print { DEFAULT_ARRAY_SIZE } else { largest_array()? };
    let at_once = arguments.at_once.map_or(String::new(), |count| format!("%{count}"));
    let mut jobs = Vec::new();
    let mut first = 1;
    while first <= tasks {
        // Slurm's indices are below its limit, so each array counts from 0 and adds its first task.
        let count = (tasks - first + 1).min(array_size.saturating_sub(1).max(1));
        let script = format!(
            "#!/bin/sh\n#SBATCH --job-name=sweep-{name}\n#SBATCH --array=0-{}{at_once}\n#SBATCH --cpus-per-task={}\nexec {}\n",
            count - 1,
            arguments.cores,
            command(&format!("$(({first} + $SLURM_ARRAY_TASK_ID))"))
        );
        if arguments.print {
            print(&script);
        } else {
            jobs.push(call_with_input("sbatch", &["--parsable"], &script)?);
        }
        first += count;
    }
    let after: Vec<String> =
        jobs.iter().map(|job| format!("afterany:{}", job.split(';').next().unwrap_or(job))).collect();
    let program = std::env::current_exe()?;
    let collect = format!(
        "#!/bin/sh\n#SBATCH --job-name=sweep-{name}-status\n{} sweep status --database {}\n",
        shell_quoted(&program.to_string_lossy()),
        shell_quoted(arguments.file.database.as_deref().unwrap_or_default())
    );
    if arguments.print {
        print(&collect);
        return Ok(ExitStatus::Success);
    }
    let dependency = format!("--dependency={}", after.join(","));
    let last = call_with_input("sbatch", &["--parsable", &dependency], &collect)?;
    line(format_args!("submitted {tasks} tasks as jobs {}; job {last} prints the status at the end", jobs.join(", ")));
    Ok(ExitStatus::Success)
}

/// Size of the largest job array that Slurm takes.
fn largest_array() -> Result<u64, CliError> {
    let config = call_with_input("scontrol", &["show", "config"], "")?;
    let size =
        config.lines().find_map(|line| line.strip_prefix("MaxArraySize")?.split('=').nth(1)?.trim().parse().ok());
    Ok(size.unwrap_or(DEFAULT_ARRAY_SIZE))
}

/// Calls a program with a text as its input, and returns its output.
fn call_with_input(program: &str, arguments: &[&str], input: &str) -> Result<String, CliError> {
    let failed = |what: String| CliError::Input(format!("{program}: {what}"));
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child =
        child.map_err(|error| failed(format!("cannot be started: {error}; is it installed, and in PATH?")))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input says why in its own message.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A text as one word of a shell.
fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
