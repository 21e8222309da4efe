//! The ZIP archive of an FMU. The same model and libraries give the same bytes.

use std::{
    io::{Cursor, Write},
    path::Path,
};

use simpartner_embed::EmbeddedSimulation;
use zip::{CompressionMethod, DateTime, ZipWriter, write::SimpleFileOptions};

use super::{
    description::{FmiVersion, Header, model_description},
    error::FmuError,
    library::Library,
    model::FmuModel,
    variables::Variables,
};

/// Level of the compression of binaries. Higher ones take several times as long for a twentieth of the size.
const COMPRESSION_LEVEL: i64 = 4;

/// Figures of an FMU that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FmuSummary {
    /// Number of inputs.
    pub inputs: usize,
    /// Number of outputs.
    pub outputs: usize,
    /// Size of the file, bytes.
    pub bytes: u64,
}

/// Writes the FMU of a model with these libraries. `stop_time_s` is the end that importers suggest.
///
/// # Errors
/// The model has no variables or cannot be simulated, or the file cannot be written.
pub fn write_fmu(
    output: &Path,
    version: FmiVersion,
    model: &FmuModel,
    libraries: &[Library],
    stop_time_s: Option<f64>,
) -> Result<FmuSummary, FmuError> {
    let simulation = model.build()?;
    let variables = model.variables(&simulation);
    let (inputs, outputs) = (variables.input_count(), variables.output_count());
    if inputs + outputs == 0 {
        return Err(FmuError::NoVariables(model.name.clone()));
    }
    let identifier = model_identifier(output);
    let description = describe_model(version, model, &identifier, &simulation, &variables, stop_time_s);
    let refuse = |what: String| FmuError::Write { path: output.to_owned(), what };
    let bytes =
        zip_files(version, model, &identifier, &description, libraries).map_err(|error| refuse(error.to_string()))?;
    // In full or not at all.
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let written = tempfile::Builder::new().tempfile_in(folder).and_then(|mut file| {
        file.write_all(&bytes)?;
        #[cfg(unix)]
        file.as_file().set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
        file.persist(output).map_err(|error| error.error)
    });
    written.map_err(|error| refuse(error.to_string()))?;
    Ok(FmuSummary { inputs, outputs, bytes: bytes.len() as u64 })
}

fn describe_model(
    version: FmiVersion,
    model: &FmuModel,
    identifier: &str,
    simulation: &EmbeddedSimulation,
    variables: &Variables,
    stop_time_s: Option<f64>,
) -> String {
    let (token, timestep_s) = (model.token(), simulation.timestep().seconds());
    let header =
        Header { model_name: &model.name, model_identifier: identifier, token: &token, timestep_s, stop_time_s };
    model_description(version, &header, variables)
}

fn zip_files(
    version: FmiVersion,
    model: &FmuModel,
    identifier: &str,
    description: &str,
    libraries: &[Library],
) -> zip::result::ZipResult<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(COMPRESSION_LEVEL))
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644);
    let mut add = |path: String, bytes: &[u8]| -> zip::result::ZipResult<()> {
        zip.start_file(path, options)?;
        Ok(zip.write_all(bytes)?)
    };
    add("modelDescription.xml".into(), description.as_bytes())?;
    for library in libraries {
        let folder = match version {
            FmiVersion::Two => library.folder_2,
            FmiVersion::Three => library.folder_3,
        };
        add(format!("binaries/{folder}/{identifier}{}", library.ending), &library.bytes)?;
    }
    for (path, bytes) in model.resource_files() {
        add(format!("resources/{path}"), &bytes)?;
    }
    let licences = concat!(include_str!("../../LICENSE-MIT"), "\n\n", include_str!("../../LICENSE-APACHE"));
    add("documentation/licenses/license.txt".into(), licences.as_bytes())?;
    Ok(zip.finish()?.into_inner())
}

/// Name of the binaries: that of the file as an identifier of C.
fn model_identifier(output: &Path) -> String {
    let stem = output.file_stem().unwrap_or_default().to_string_lossy();
    let mut identifier: String =
        stem.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    if !identifier.starts_with(|first: char| first.is_ascii_alphabetic()) {
        identifier.insert_str(0, "model_");
    }
    identifier
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_those_of_c() {
        assert_eq!(model_identifier(Path::new("a/my-robot 2.fmu")), "my_robot_2");
        assert_eq!(model_identifier(Path::new("3.fmu")), "model_3");
        assert_eq!(model_identifier(Path::new("ä.fmu")), "model__");
    }
}
