//! `simpartner grasp import`: the two text files of 1994 become a grasp file.

use std::{fs, path::PathBuf};

use clap::Args;
use simpartner_description::xml;
use simpartner_terminal::output::print;

use super::{
    super::exit::{CliError, ExitStatus},
    input::Input,
};

#[derive(Debug, Args)]
pub(in crate::cli) struct ImportArguments {
    /// Object file: tolerance, bounds of a force, gravity, angle of stability, centre of mass, inertia
    object: PathBuf,
    /// Contact file
    contacts: PathBuf,
    /// Grasp file to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn import(arguments: &ImportArguments) -> Result<ExitStatus, CliError> {
    let ImportArguments { object, contacts, output } = arguments;
    let grasp = Input { files: vec![object.clone(), contacts.clone()] }.grasp()?;
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let comment = format!("From {} and {}, their numbers taken as m, N and kg.", name(object), name(contacts));
    let text = xml::write_grasp(&grasp, &comment);
    match output {
        None => print(text),
        Some(path) => fs::write(path, text)
            .map_err(|error| CliError::Input(format!("cannot write '{}': {error}", path.display())))?,
    }
    Ok(ExitStatus::Success)
}
