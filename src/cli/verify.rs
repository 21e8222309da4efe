//! `simpartner verify`: how accurate the simulator is, as a table, as JSON and as a report with plots.

use std::{io::IsTerminal, path::Path};

use super::{CliError, ConfigurationArguments, ExitStatus, VerifyArguments, properties::Flag};
use crate::verify::{self, Bench, Verification};

/// Runs the cases and says whether all are within their tolerances.
pub(super) fn verify(arguments: &VerifyArguments) -> Result<ExitStatus, CliError> {
    let cases =
        verify::select(&arguments.cases, arguments.quick).map_err(|error| CliError::Usage(error.to_string()))?;
    if arguments.list {
        for case in cases {
            println!("{:<18} {:<6} {}", case.name, if case.quick { "quick" } else { "" }, case.physics);
        }
        return Ok(ExitStatus::Success);
    }
    let flag = arguments.engine.as_deref().map(|text| Flag { name: "--engine", key: "physics.engine", text });
    let properties = ConfigurationArguments::default().properties(flag.as_slice())?;
    let worlds = properties.simulation.world_file.parent().unwrap_or(Path::new("")).to_owned();
    let bench = Bench { settings: properties.physics, worlds };
    let engine = bench.engine()?;
    let progress = std::io::stderr().is_terminal();
    let mut reports = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        if progress {
            eprint!("\r\x1b[K{} of {}: {}", index + 1, cases.len(), case.name);
        }
        let report = verify::run(case, &bench);
        if progress {
            eprint!("\r\x1b[K");
        }
        reports.push(report?);
    }
    let verification = Verification { engine, reports };
    publish(arguments, &verification)?;
    let (passed, all) = verification.score();
    Ok(if passed == all { ExitStatus::Success } else { ExitStatus::Missed })
}

/// Writes what was asked for.
fn publish(arguments: &VerifyArguments, verification: &Verification) -> Result<(), CliError> {
    let json = || format!("{:#}\n", verify::json::json(verification));
    match &arguments.json {
        Some(None) => print!("{}", json()),
        Some(Some(file)) => write(file, "--json", json())?,
        None => {}
    }
    if arguments.json != Some(None) {
        print!("{}", verify::table::table(verification, std::io::stdout().is_terminal()));
    }
    if let Some(file) = &arguments.html {
        write(file, "--html", verify::page::page(verification))?;
    }
    Ok(())
}

fn write(file: &Path, flag: &str, text: String) -> Result<(), CliError> {
    std::fs::write(file, text)
        .map_err(|error| CliError::Usage(format!("{flag}: cannot write '{}': {error}", file.display())))
}
