//! The grasp that a verb works on, and code that the verbs share: friction, errors, vectors as text.

use std::path::{Path, PathBuf};

use bevy_math::DVec3;
use clap::Args;
use serde_json::{Value, json};
use simpartner_description::xml;
use simpartner_grasp::{
    GraspError, Section, Statics, Vector6,
    harker::{Harker, Program},
};
use simpartner_model::Grasp;

use super::super::exit::CliError;

/// Input files of a grasp.
#[derive(Debug, Args)]
pub(super) struct Input {
    /// Grasp file; or an object file and a contact file in the format of Harker (1994)
    #[arg(required = true, num_args = 1..=2, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
}

/// Model of friction.
#[derive(Debug, Args)]
pub(super) struct Friction {
    /// Replace friction cones by pyramids with this number of edges, from 3 to 360 [default: exact cones]
    #[arg(long, value_name = "EDGES")]
    pub(super) edges: Option<usize>,
}

impl Friction {
    pub(super) fn section(&self) -> Section {
        self.edges.map_or(Section::Disc, Section::Polygon)
    }
}

impl Input {
    pub(super) fn shown(&self) -> String {
        self.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(" ")
    }

    /// The grasp in the data format of 1994, which accepts contacts that other models refuse.
    pub(super) fn harker(&self) -> Result<Harker, CliError> {
        match &self.files[..] {
            [object, contacts] => read_texts(object, contacts),
            [file, ..] => Harker::of(&xml::read_grasp(file)?).map_err(refuse),
            [] => unreachable!("clap asks for a file"),
        }
    }

    pub(super) fn grasp(&self) -> Result<Grasp, CliError> {
        match &self.files[..] {
            [object, contacts] => {
                let name = contacts.file_stem().unwrap_or_default().to_string_lossy().replace(char::is_whitespace, "_");
                read_texts(object, contacts)?.to_grasp(&name).map_err(|flaws| {
                    let lines: String = flaws.iter().map(|flaw| format!("{}: {flaw}\n", contacts.display())).collect();
                    CliError::Input(format!("{lines}help: check and chart accept such contacts with --as-1994"))
                })
            }
            [file, ..] => Ok(xml::read_grasp(file)?),
            [] => unreachable!("clap asks for a file"),
        }
    }
}

fn read_texts(object: &Path, contacts: &Path) -> Result<Harker, CliError> {
    let read = |path: &Path| {
        let text = xml::read_file(&path.to_string_lossy(), MAX_TEXT_SIZE);
        text.map_err(|problem| CliError::Files(problem.into()))
    };
    let wrong = |path: &Path, error: &dyn std::fmt::Display| CliError::Input(format!("{}: {error}", path.display()));
    let (mut case, limits) = Harker::read_object(&read(object)?).map_err(|error| wrong(object, &error))?;
    case.contacts = Harker::read_contacts(&read(contacts)?, limits).map_err(|error| wrong(contacts, &error))?;
    Ok(case)
}

/// Largest size of a text file, bytes: more than enough for a thousand contacts of thirty numbers.
const MAX_TEXT_SIZE: usize = 1 << 20;

pub(super) fn program_of_1994(corrected: bool) -> Program {
    if corrected { Program::Corrected } else { Program::Original }
}

pub(super) fn refuse(error: GraspError) -> CliError {
    CliError::Input(error.to_string())
}

/// The grasp map of a grasp, with this model of friction.
pub(super) fn statics(grasp: &Grasp, friction: &Friction) -> Result<Statics, CliError> {
    Statics::new(grasp, friction.section()).map_err(refuse)
}

/// The two halves of a wrench or a twist, rotated from the object's axes to the world's.
pub(super) fn in_world(grasp: &Grasp, vector: &Vector6) -> [DVec3; 2] {
    [0, 3].map(|k| grasp.object.pose.rotation * DVec3::new(vector[k], vector[k + 1], vector[k + 2]))
}

pub(super) fn json_of(vector: DVec3) -> Value {
    json!(vector.to_array())
}

/// A vector as text: six significant digits, rounded to 1e-6, without negative zeros.
pub(super) fn shown(vector: DVec3) -> String {
    let digits = |value: f64| simpartner_terminal::output::Rounded((value * 1e6).round() / 1e6 + 0.0).to_string();
    format!("[{}]", vector.to_array().map(digits).join(", "))
}
