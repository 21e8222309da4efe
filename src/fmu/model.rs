//! The resources of an FMU: the files of its world, the settings of its physics, its parameters.

use std::{fs, path::Path, sync::Arc};

use serde::{Deserialize, Serialize};
use simpartner_description::{SourceFile, World, xml};
use simpartner_embed::EmbeddedSimulation;

use super::{
    error::FmuError,
    parameter::FmuParameter,
    variables::{MAX_SEED, Variables},
};
use crate::config::{Config, EmbeddedSettings};

/// Name of the list of resources.
const MANIFEST_FILE: &str = "simpartner.json";
/// Folder of the files of the world, beside the list.
const SOURCE_FOLDER: &str = "sources";
/// Version of the list.
const MANIFEST_FORMAT: u32 = 1;
/// Largest size of the list, bytes: some hundred thousand files.
const MAX_MANIFEST_SIZE: u64 = 64 << 20;

/// A world as an FMU holds it.
#[derive(Debug, Clone)]
pub struct FmuModel {
    /// Name of the world.
    pub name: String,
    /// Values that users of the FMU may change.
    pub parameters: Vec<FmuParameter>,
    /// Names and values of the settings.
    settings: Vec<(String, String)>,
    /// Files of the world.
    sources: Vec<SourceFile>,
}

/// The list of resources, as a file.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    program: String,
    world: String,
    settings: Vec<(String, String)>,
    parameters: Vec<FmuParameter>,
    sources: Vec<StoredSource>,
}

/// A file of the world in the list: its path when the world was read, and its name here.
#[derive(Debug, Serialize, Deserialize)]
struct StoredSource {
    path: String,
    file: String,
}

impl FmuModel {
    /// The world of a configuration, with its values replaced by the starts of the parameters.
    ///
    /// # Errors
    /// The files of the world have problems, a parameter leads nowhere, or the seed is too large for FMI.
    pub fn of_config(config: &Config, parameters: Vec<FmuParameter>) -> Result<Self, FmuError> {
        let settings = &config.simulation;
        if settings.seed > MAX_SEED {
            return Err(FmuError::Setting(format!(
                "simulation.seed: {} is too large for an FMU, whose seed is at most {MAX_SEED}",
                settings.seed
            )));
        }
        let mut replaced = settings.parameters.clone();
        for parameter in &parameters {
            let refuse = |error: simpartner_description::ParameterError| FmuError::Parameter {
                path: parameter.path.clone(),
                what: error.to_string(),
            };
            if parameters.iter().filter(|other| other.path == parameter.path).count() > 1 {
                let what = "it is given twice".into();
                return Err(FmuError::Parameter { path: parameter.path.clone(), what });
            }
            replaced.set(parameter.with_value(parameter.start)?).map_err(refuse)?;
        }
        let world = simpartner_embed::read_world(&settings.world_file, settings.fixed_base, &replaced)?;
        let values = config.embedded_values().into_iter().filter(|(key, _)| key != "simulation.fixed_base").collect();
        Ok(Self { name: world.name.clone(), parameters, settings: values, sources: world.sources.clone() })
    }

    /// Reads the resources of an unpacked FMU from their folder.
    ///
    /// # Errors
    /// A file is missing or damaged, or of another version of this program.
    pub fn read(folder: &Path) -> Result<Self, FmuError> {
        let path = folder.join(MANIFEST_FILE);
        let refuse = |what: String| FmuError::Resource { path: path.clone(), what };
        let size = fs::metadata(&path).map_err(|error| refuse(error.to_string()))?.len();
        if size > MAX_MANIFEST_SIZE {
            return Err(refuse(format!("it has {size} bytes, at most {MAX_MANIFEST_SIZE}")));
        }
        let bytes = fs::read(&path).map_err(|error| refuse(error.to_string()))?;
        let manifest: Manifest = serde_json::from_slice(&bytes).map_err(|error| refuse(error.to_string()))?;
        if manifest.format != MANIFEST_FORMAT || manifest.program != env!("CARGO_PKG_VERSION") {
            return Err(refuse(format!(
                "it is of version {} of simpartner, and the library is of version {}; make the FMU anew",
                manifest.program,
                env!("CARGO_PKG_VERSION")
            )));
        }
        let mut sources = Vec::new();
        for stored in manifest.sources {
            let path = folder.join(SOURCE_FOLDER).join(&stored.file);
            let refuse = |what: String| FmuError::Resource { path: path.clone(), what };
            if stored.file.contains(['/', '\\', ':']) || stored.file.starts_with('.') {
                return Err(refuse("a resource is a file of this folder".into()));
            }
            let bytes = fs::read(&path).map_err(|error| refuse(error.to_string()))?;
            sources.push(SourceFile::of_bytes(stored.path, bytes));
        }
        let Manifest { world, settings, parameters, .. } = manifest;
        Ok(Self { name: world, parameters, settings, sources })
    }

    /// The files of the resources, with their paths in the folder of resources.
    pub(super) fn resource_files(&self) -> Vec<(String, Vec<u8>)> {
        let stored: Vec<StoredSource> = self.sources.iter().enumerate().map(stored_source).collect();
        let files = self.sources.iter().zip(&stored);
        let mut files: Vec<(String, Vec<u8>)> = files
            .map(|(source, stored)| (format!("{SOURCE_FOLDER}/{}", stored.file), source.bytes().to_vec()))
            .collect();
        let manifest = Manifest {
            format: MANIFEST_FORMAT,
            program: env!("CARGO_PKG_VERSION").into(),
            world: self.name.clone(),
            settings: self.settings.clone(),
            parameters: self.parameters.clone(),
            sources: stored,
        };
        // Texts and numbers alone, which JSON has a place for.
        let manifest = serde_json::to_string_pretty(&manifest).unwrap_or_default();
        files.push((MANIFEST_FILE.into(), manifest.into_bytes()));
        files
    }

    /// A hash of all that the variables and the results depend on: the description and the library must agree on it.
    pub fn token(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut add = |part: &[u8]| {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        };
        add(env!("CARGO_PKG_VERSION").as_bytes());
        for (key, value) in &self.settings {
            add(key.as_bytes());
            add(value.as_bytes());
        }
        add(&(self.parameters.len() as u64).to_le_bytes());
        for parameter in &self.parameters {
            add(parameter.path.as_bytes());
            add(&parameter.start.to_le_bytes());
            add(&[u8::from(parameter.is_factor)]);
        }
        for source in &self.sources {
            add(source.path.as_bytes());
            add(source.bytes());
        }
        let hash = hasher.finalize().to_hex();
        // In the form that FMI recommends.
        format!("{{{}-{}-{}-{}-{}}}", &hash[..8], &hash[8..12], &hash[12..16], &hash[16..20], &hash[20..32])
    }

    /// Builds the simulation at step 0.
    ///
    /// # Errors
    /// The resources are damaged, or the engine cannot represent something in the world.
    pub fn build(&self) -> Result<EmbeddedSimulation, FmuError> {
        let settings = EmbeddedSettings::read(&self.settings).map_err(FmuError::Setting)?;
        let world: World = xml::read_kept(&self.sources).map_err(simpartner_embed::EmbedError::Files)?;
        Ok(EmbeddedSimulation::new(Arc::new(world), settings.options)?)
    }

    /// The variables of a simulation at step 0 that [`build`](Self::build) has made.
    pub fn variables(&self, simulation: &EmbeddedSimulation) -> Variables {
        Variables::new(simulation, &self.parameters)
    }
}

/// Name of a file among the resources: its number, and its own name as far as any system accepts it.
fn stored_source((index, source): (usize, &SourceFile)) -> StoredSource {
    let own = source.path.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || ['.', '-', '_'].contains(letter);
    let own: String = own.chars().filter(is_plain).collect();
    StoredSource { path: source.path.clone(), file: format!("{index:04}-{own}") }
}
