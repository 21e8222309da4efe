//! Files of the file system as bytes and text, and problems at places of files that have been read.

use std::{borrow::Cow, io::Read};

use super::{diagnostic::Diagnostic, encoding};
use crate::{limits::MAX_FILE, source::SourceFile};

impl Diagnostic {
    /// A problem at a position `path:line:column` of a file that has been read; its text is taken from the sources, or
    /// from the file system.
    pub fn at_place(place: &str, sources: &[SourceFile], message: impl Into<String>) -> Self {
        let mut parts = place.rsplitn(3, ':');
        let mut number = || parts.next().and_then(|part| part.parse::<usize>().ok());
        let (column, line) = (number(), number());
        let (Some(path), Some(line), Some(column)) = (parts.next(), line, column) else {
            return Self::at(place, "", 0, message);
        };
        let read;
        let text = match sources.iter().find(|source| source.path == path) {
            Some(source) => source.text(),
            None => {
                read = read_file(path, MAX_FILE).unwrap_or_default();
                &read
            }
        };
        let start = match line {
            0 | 1 => 0,
            line => text.match_indices('\n').nth(line - 2).map_or(text.len(), |(newline, _)| newline + 1),
        };
        let offset = text[start..].char_indices().nth(column - 1).map_or(text.len(), |(index, _)| start + index);
        Self { line, column, ..Self::at(path, text, offset, message) }
    }
}

/// Reads a text file of at most `limit` bytes. Folders, devices and pipes, which may be endless or block, are refused.
///
/// # Errors
/// The fault of the file, and its position.
pub fn read_file(path: &str, limit: usize) -> Result<String, Diagnostic> {
    let bytes = read_bytes(path, limit)?;
    encoding::decode(&bytes).map(Cow::into_owned).map_err(|problem| {
        let valid = String::from_utf8_lossy(&bytes[..problem.offset]).into_owned();
        Diagnostic::at(path, &valid, valid.len(), problem.what).with_help(encoding::ENCODING_HELP)
    })
}

/// Reads a file of the file system, of at most `limit` bytes.
pub(crate) fn read_bytes(path: &str, limit: usize) -> Result<Vec<u8>, Diagnostic> {
    let refuse = |message: String| Diagnostic::at(path, "", 0, message);
    let cannot = |error: std::io::Error| refuse(format!("cannot open '{path}': {error}"));
    let check = |metadata: &std::fs::Metadata| {
        if metadata.is_dir() {
            return Err(refuse(format!("'{path}' is a folder")));
        }
        if !metadata.is_file() {
            let message = format!("'{path}' is a device or a pipe; only files are read");
            return Err(refuse(message).with_help("save what it holds as a file"));
        }
        Ok(())
    };
    // Checked before the file is opened, because opening a device may have effects, and again afterwards, because the
    // path may lead to another file by then.
    check(&std::fs::metadata(path).map_err(cannot)?)?;
    let file = open_without_waiting(path).map_err(cannot)?;
    let metadata = file.metadata().map_err(cannot)?;
    check(&metadata)?;
    let too_long = || refuse(format!("'{path}' has more than {limit} bytes, which are the most that are read"));
    if metadata.len() > limit as u64 {
        return Err(too_long());
    }
    let mut bytes = Vec::new();
    // One more byte than permitted detects a file that is too long, even if the system does not know its length.
    let read = file.take(limit as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| refuse(format!("cannot read '{path}': {error}")))?;
    if bytes.len() > limit {
        return Err(too_long());
    }
    Ok(bytes)
}

/// Opens a file for reading, without blocking on any kind of file.
fn open_without_waiting(path: &str) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
    options.open(path)
}
