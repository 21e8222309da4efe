//! The files that a run was made from.

use simpartner_description::SourceFile;

use crate::{database::error::RecorderError, format::value::Value};

/// The columns of `simulationFile` that a file is made of.
pub const SOURCE_COLUMNS: [&str; 4] = ["path", "text", "content", "blake3"];

/// A file by the values of [`SOURCE_COLUMNS`].
///
/// # Errors
/// When the file is not the one that was logged. Logs of earlier versions, which have no hash, are not checked.
pub fn source_file([path, text, content, blake3]: [&Value; 4]) -> Result<SourceFile, RecorderError> {
    let path = path.text();
    let file = match content {
        Value::Null => SourceFile::new(path, text.text()),
        // Not every database tells bytes from a text.
        value => SourceFile::of_bytes(path, value.bytes().to_vec()),
    };
    match blake3.text() {
        "" => Ok(file),
        logged if logged == blake3::hash(file.bytes()).to_hex().as_str() => Ok(file),
        _ => Err(RecorderError::AlteredFile { path: path.to_owned() }),
    }
}
