//! `simpartner db`: what can be done with logs besides looking at them.

use super::{CliError, DbArguments, DbVerb, ExitStatus, properties::Flag};
use crate::recorder::{self, Completeness, Database, Reader};

/// Carries the verb out.
pub(super) fn db(arguments: &DbArguments) -> Result<ExitStatus, CliError> {
    match &arguments.verb {
        DbVerb::Verify { configuration, database, run } => verify(&database_of(configuration, database)?, *run),
        DbVerb::Import { configuration, database, file } => {
            let database = database_of(configuration, database)?;
            let imported = recorder::import(file, &database)?;
            let runs: Vec<String> = imported.runs.iter().map(ToString::to_string).collect();
            println!("runs              {}", runs.join(" "));
            println!("portions          {}", imported.portions);
            println!("steps             {}", imported.steps);
            if imported.torn_bytes > 0 {
                println!(
                    "torn              the last {} bytes, which were being written when the process ended",
                    imported.torn_bytes
                );
            }
            println!("now in            {database}; {} can be deleted", file.display());
            Ok(ExitStatus::Success)
        }
    }
}

fn database_of(configuration: &super::ConfigurationArguments, database: &Option<String>) -> Result<Database, CliError> {
    let flag = database.as_deref().map(|text| Flag { name: "--database", key: "log.database", text });
    let properties = configuration.properties(flag.as_slice())?;
    let log =
        properties.log.ok_or_else(|| CliError::Setting("log.enabled: there is no log; name a --database".into()))?;
    Ok(log.database)
}

fn verify(database: &Database, run: Option<i64>) -> Result<ExitStatus, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let found = runtime.block_on(Reader::new(database).verify(run))?;
    if found.is_empty() {
        let what = run.map_or_else(|| "no run".to_owned(), |run| format!("no run {run}"));
        return Err(CliError::Setting(format!("{database} has {what}")));
    }
    for Completeness { simulation_id, steps, rows, chain_head, findings } in &found {
        let verdict = if findings.is_empty() { "complete" } else { "incomplete" };
        println!("run {simulation_id:<6} {verdict:<10}  {steps} steps, {rows} rows, chain {chain_head:016x}");
        for finding in findings {
            println!("           {finding}");
        }
    }
    let whole = found.iter().all(|run| run.findings.is_empty());
    Ok(if whole { ExitStatus::Success } else { ExitStatus::Log })
}
