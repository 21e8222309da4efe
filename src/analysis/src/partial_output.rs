//! Output files and folders that are complete or not there at all: they are written under another name and renamed at the end.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::AnalysisError;

/// A file or folder being written.
#[derive(Debug)]
pub(super) struct PartialOutput {
    place: PathBuf,
    aside: PathBuf,
    done: bool,
}

impl PartialOutput {
    /// Starts a file, or a folder, which is created at once. An existing one is replaced only with `force`, and a folder only if it has
    /// nothing but files of this extension.
    pub(super) fn new(place: &Path, folder_of: Option<&str>, force: bool) -> Result<Self, AnalysisError> {
        let failed = |source| AnalysisError::Write { path: place.to_owned(), source };
        if place.exists() && !force {
            let text =
                format!("'{}' is there already; name another by --output, or replace it by --force", place.display());
            return Err(AnalysisError::Question(text));
        }
        if place.exists() && place.is_dir() != folder_of.is_some() {
            let (is, becomes) = if place.is_dir() { ("folder", "file") } else { ("file", "folder") };
            let text =
                format!("'{}' is a {is} and would become a {becomes}; name another by --output", place.display());
            return Err(AnalysisError::Question(text));
        }
        if let Some(extension) = folder_of.filter(|_| place.is_dir()) {
            let others = fs::read_dir(place)
                .map_err(failed)?
                .flatten()
                .any(|entry| entry.path().extension().is_none_or(|found| found != extension));
            if others {
                let text = format!(
                    "'{}' holds other files than .{extension} and is not replaced; name another folder by --output",
                    place.display()
                );
                return Err(AnalysisError::Question(text));
            }
        }
        let name = place.file_name().ok_or_else(|| failed(io::ErrorKind::InvalidFilename.into()))?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".unfinished-{}", std::process::id()));
        let aside = place.with_file_name(hidden);
        if folder_of.is_some() {
            fs::create_dir_all(&aside).map_err(failed)?;
        }
        Ok(Self { place: place.to_owned(), aside, done: false })
    }

    /// Where to write.
    pub(super) fn path(&self) -> &Path {
        &self.aside
    }

    /// Opens the file.
    pub(super) fn create(&self) -> Result<fs::File, AnalysisError> {
        fs::File::create(&self.aside).map_err(|source| AnalysisError::Write { path: self.place.clone(), source })
    }

    /// Renames it to its path, which it returns.
    pub(super) fn finish(mut self) -> Result<PathBuf, AnalysisError> {
        let cleared = if self.place.is_dir() { fs::remove_dir_all(&self.place) } else { Ok(()) };
        let moved = cleared.and_then(|()| fs::rename(&self.aside, &self.place));
        moved.map_err(|source| AnalysisError::Write { path: self.place.clone(), source })?;
        self.done = true;
        Ok(self.place.clone())
    }
}

impl Drop for PartialOutput {
    fn drop(&mut self) {
        if !self.done {
            // Nothing can be done about a failure here.
            let _ = if self.aside.is_dir() { fs::remove_dir_all(&self.aside) } else { fs::remove_file(&self.aside) };
        }
    }
}
