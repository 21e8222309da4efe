//! Restores the source files of a run from the log.

use simpartner_description::SourceFile;

use crate::{database::error::RecorderError, format::value::Value};

/// Columns of the table `simulationFile` that [`source_file`] needs.
pub const SOURCE_COLUMNS: [&str; 4] = ["path", "text", "content", "blake3"];

/// Restores a file from the values of [`SOURCE_COLUMNS`].
///
/// # Errors
/// When the content does not match the logged hash. Logs of earlier versions have no hash and are not checked.
pub fn source_file([path, text, content, blake3]: [&Value; 4]) -> Result<SourceFile, RecorderError> {
    let path = path.text();
    let file = match content {
        Value::Null => SourceFile::new(path, text.text()),
        // Not every database distinguishes bytes from a text.
        value => SourceFile::of_bytes(path, value.bytes().to_vec()),
    };
    match blake3.text() {
        "" => Ok(file),
        logged if logged == blake3::hash(file.bytes()).to_hex().as_str() => Ok(file),
        _ => Err(RecorderError::AlteredFile { path: path.to_owned() }),
    }
}
