//! `simpartner grasp correlate`: correlation of the measures of quality with the success of lifts.

use std::{fs, path::PathBuf};

use clap::Args;
use serde_json::json;
use simpartner_terminal::output::line;

use super::super::{
    exit::{CliError, ExitStatus},
    format::ReportArguments,
};
use crate::grasp_batch;

#[derive(Debug, Args)]
pub(in crate::cli) struct CorrelateArguments {
    /// Result files of `grasp run`
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Draw the success rate over each measure into this .svg file
    #[arg(short = 'o', long = "output", visible_alias = "svg", value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    report: ReportArguments,
}

pub(super) fn correlate(arguments: &CorrelateArguments) -> Result<ExitStatus, CliError> {
    let mut rows = Vec::new();
    for file in &arguments.files {
        rows.extend(grasp_batch::read(file)?);
    }
    let found = grasp_batch::correlate(&rows);
    let files: Vec<String> = arguments.files.iter().map(|file| file.display().to_string()).collect();
    if let Some(path) = &arguments.svg {
        let title = format!("{} lifts, {} succeed", found.lifted, found.succeeded);
        fs::write(path, found.picture(&title))
            .map_err(|error| CliError::Input(format!("cannot write '{}': {error}", path.display())))?;
    }
    if arguments.report.is_json() {
        let measures = found.measures.iter().map(|measure| {
            json!({
                "measure": measure.name,
                "mean_of_successes": measure.means[0],
                "mean_of_failures": measure.means[1],
                "pearson": measure.pearson,
                "spearman": measure.spearman,
                "auc": measure.auc,
                "success_rates": measure.rates,
            })
        });
        let report = json!({
            "files": files,
            "lifted": found.lifted,
            "succeeded": found.succeeded,
            "measures": measures.collect::<Vec<_>>(),
        });
        line(format_args!("{report:#}"));
        return Ok(ExitStatus::Success);
    }
    line(format_args!("{}: {} of {} lifts succeed", files.join(" "), found.succeeded, found.lifted));
    line(format_args!(
        "  {:<20} {:>12} {:>12} {:>8} {:>8} {:>6}",
        "measure", "success", "failure", "pearson", "spearman", "AUC"
    ));
    for measure in &found.measures {
        let shown = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
        let [success, failure] =
            measure.means.map(|mean| if mean.is_nan() { "-".into() } else { format!("{mean:.5}") });
        let [pearson, spearman, auc] = [measure.pearson, measure.spearman, measure.auc].map(shown);
        line(format_args!("  {:<20} {success:>12} {failure:>12} {pearson:>8} {spearman:>8} {auc:>6}", measure.name));
    }
    Ok(ExitStatus::Success)
}
