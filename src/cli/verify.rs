//! `simpartner verify`: the accuracy of the simulator as a table, as JSON and as a report with plots.

use std::{
    io::{IsTerminal, Write},
    path::{Path, PathBuf},
};

use clap::Args;

use simpartner_terminal::output::{Stdout, line, print};

use super::{
    arguments::{ConfigurationArguments, choices},
    exit::{CliError, ExitStatus},
    format::ReportFormat,
    logged::Bar,
};
use crate::{
    analysis::Progress,
    config::Override,
    verify::{self, Bench, Verification},
};

#[derive(Debug, Args)]
pub(super) struct VerifyArguments {
    /// List all cases with a description
    #[arg(long)]
    list: bool,
    /// Run only this case; may be given several times
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<String>,
    /// Run only the cases that --list marks as quick
    #[arg(long)]
    quick: bool,
    /// Physics engine to verify [default: the setting physics.engine]
    #[arg(long, value_parser = choices("physics.engine"))]
    engine: Option<String>,
    /// Format of the output
    #[arg(long, value_enum, default_value = "text", conflicts_with = "json")]
    format: ReportFormat,
    /// Print JSON, or write it into this file and print the text
    #[arg(long, value_name = "FILE")]
    json: Option<Option<PathBuf>>,
    /// Write a report with plots into this HTML file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Runs the cases. The exit code is that of a success only if all figures are within their tolerances.
pub(super) fn verify(arguments: &VerifyArguments) -> Result<ExitStatus, CliError> {
    let cases =
        verify::select(&arguments.cases, arguments.quick).map_err(|error| CliError::Usage(error.to_string()))?;
    if arguments.list {
        for case in cases {
            line(format_args!("{:<18} {:<6} {}", case.name, if case.quick { "quick" } else { "" }, case.physics));
        }
        return Ok(ExitStatus::Success);
    }
    let flag = arguments.engine.as_deref().map(|text| Override { name: "--engine", key: "physics.engine", text });
    let config = ConfigurationArguments::default().config(flag.as_slice())?;
    let worlds = config.simulation.world_file.parent().unwrap_or(Path::new("")).to_owned();
    let bench = Bench { settings: config.physics, worlds };
    let engine = bench.engine()?;
    let mut bar = Bar::new();
    let mut reports = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        bar.begin(case.name, cases.len() as u64);
        bar.reach(index as u64);
        reports.push(verify::run(case, &bench)?);
    }
    drop(bar);
    let verification = Verification { engine, reports };
    write_reports(arguments, &verification)?;
    let (passed, all) = verification.score();
    Ok(if passed == all { ExitStatus::Success } else { ExitStatus::Missed })
}

/// Prints the figures, and writes the files that the flags name.
fn write_reports(arguments: &VerifyArguments, verification: &Verification) -> Result<(), CliError> {
    let json = || format!("{:#}\n", verify::json::json(verification));
    let prints_json = arguments.json == Some(None) || arguments.format == ReportFormat::Json;
    if let Some(Some(file)) = &arguments.json {
        write_file(file, "--json", json())?;
    }
    if prints_json {
        print(json());
    } else {
        let table = verify::table::table(verification, std::io::stdout().is_terminal());
        // Written unescaped, because of its colours. A failure is reported at the end of the program.
        let _ = Stdout.write_all(table.as_bytes());
    }
    if let Some(file) = &arguments.html {
        write_file(file, "--html", verify::page::page(verification))?;
    }
    Ok(())
}

fn write_file(file: &Path, flag: &str, text: String) -> Result<(), CliError> {
    std::fs::write(file, text)
        .map_err(|error| CliError::Usage(format!("{flag}: cannot write '{}': {error}", file.display())))
}
