//! `simpartner list`: the worlds, robots, sequences, grasps and grasp tasks that are built into the program.

use std::fmt::Write;

use clap::{Args, ValueEnum};
use serde_json::json;
use simpartner_description::xml::{self, BuiltIn};
use simpartner_terminal::output::{line, print};

use super::{
    exit::{CliError, ExitStatus},
    format::ReportArguments,
};

#[derive(Debug, Args)]
pub(super) struct ListArguments {
    /// Kinds of files to list [default: all]
    #[arg(value_enum)]
    kinds: Vec<Kind>,
    #[command(flatten)]
    report: ReportArguments,
}

/// The kind of a built-in file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Worlds, for `run --world`
    Worlds,
    /// Robots, for <robot> in a world; `run --world` puts one on level ground
    Robots,
    /// Command sequences, for `run --sequence` and `sequence`
    Sequences,
    /// Grasps, for `grasp check`, `chart`, `quality`, `slip` and `show`
    Grasps,
    /// Grasp tasks, for `grasp run`
    Tasks,
    /// Parts of robots
    Assemblies,
}

impl Kind {
    fn of(file: &BuiltIn) -> Option<Self> {
        Some(match file.root()? {
            "world" => Self::Worlds,
            "robot" => Self::Robots,
            "sequence" => Self::Sequences,
            "grasp" => Self::Grasps,
            "graspTask" => Self::Tasks,
            "assemblies" => Self::Assemblies,
            _ => return None,
        })
    }

    fn word(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// Lists the files by kind, each with its first sentence.
pub(super) fn list(arguments: &ListArguments) -> Result<ExitStatus, CliError> {
    let wanted = |kind: &Kind| arguments.kinds.is_empty() || arguments.kinds.contains(kind);
    let files: Vec<(Kind, &BuiltIn)> = Kind::value_variants()
        .iter()
        .filter(|kind| wanted(kind))
        .flat_map(|kind| xml::BUILT_IN.iter().filter(|file| Kind::of(file) == Some(*kind)).map(|file| (*kind, file)))
        .collect();
    if arguments.report.is_json() {
        let files: Vec<_> = files
            .iter()
            .map(|(kind, file)| json!({ "kind": kind.word(), "path": file.path, "summary": file.summary() }))
            .collect();
        line(format_args!("{:#}", json!(files)));
        return Ok(ExitStatus::Success);
    }
    let mut text = String::new();
    for of_kind in files.chunk_by(|(one, _), (next, _)| one == next) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", of_kind[0].0.word());
        for (_, file) in of_kind {
            let _ = writeln!(text, "  {:<40} {}", file.path, file.summary());
        }
    }
    print(text);
    Ok(ExitStatus::Success)
}
