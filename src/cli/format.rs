//! The flags for the format of a verb's report.

use clap::{Args, ValueEnum};

/// Output format of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ReportFormat {
    /// Text
    #[default]
    Text,
    /// JSON, in SI units and radians
    Json,
}

/// Flags for the output format of a report.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(super) struct ReportArguments {
    /// Format of the output
    #[arg(long, value_enum, default_value = "text", conflicts_with = "json")]
    format: ReportFormat,
    /// Same as --format json
    #[arg(long)]
    json: bool,
}

impl ReportArguments {
    pub(super) fn is_json(self) -> bool {
        self.json || self.format == ReportFormat::Json
    }
}
