//! Output files and folders that are either complete or absent: they are written under a temporary name and renamed at
//! the end.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::AnalysisError;

/// A file or folder being written.
#[derive(Debug)]
pub(super) struct PartialOutput {
    /// Final path.
    target: PathBuf,
    /// Path until the output is complete.
    temporary: PathBuf,
    /// True once the output is complete.
    done: bool,
}

impl PartialOutput {
    /// Starts a file, or a folder of files with the extension `folder_of`, which is created at once. Existing output is
    /// replaced only with `force`. An existing folder is replaced only if all its files have this extension.
    pub(super) fn new(target: &Path, folder_of: Option<&str>, force: bool) -> Result<Self, AnalysisError> {
        let failed = |source| AnalysisError::Write { path: target.to_owned(), source };
        if target.exists() && !force {
            let text =
                format!("'{}' is there already; name another by --output, or replace it by --force", target.display());
            return Err(AnalysisError::Question(text));
        }
        if target.exists() && target.is_dir() != folder_of.is_some() {
            let (is, becomes) = if target.is_dir() { ("folder", "file") } else { ("file", "folder") };
            let text =
                format!("'{}' is a {is} and would become a {becomes}; name another by --output", target.display());
            return Err(AnalysisError::Question(text));
        }
        if let Some(extension) = folder_of.filter(|_| target.is_dir()) {
            let others = fs::read_dir(target)
                .map_err(failed)?
                .flatten()
                .any(|entry| entry.path().extension().is_none_or(|found| found != extension));
            if others {
                let text = format!(
                    "'{}' holds other files than .{extension} and is not replaced; name another folder by --output",
                    target.display()
                );
                return Err(AnalysisError::Question(text));
            }
        }
        let name = target.file_name().ok_or_else(|| failed(io::ErrorKind::InvalidFilename.into()))?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".unfinished-{}", std::process::id()));
        let temporary = target.with_file_name(hidden);
        if folder_of.is_some() {
            fs::create_dir_all(&temporary).map_err(failed)?;
        }
        Ok(Self { target: target.to_owned(), temporary, done: false })
    }

    /// Path to write to.
    pub(super) fn temporary_path(&self) -> &Path {
        &self.temporary
    }

    /// Creates the file.
    pub(super) fn create_file(&self) -> Result<fs::File, AnalysisError> {
        fs::File::create(&self.temporary).map_err(|source| AnalysisError::Write { path: self.target.clone(), source })
    }

    /// Moves the complete output to its final path, and returns this path.
    pub(super) fn finish(mut self) -> Result<PathBuf, AnalysisError> {
        let cleared = if self.target.is_dir() { fs::remove_dir_all(&self.target) } else { Ok(()) };
        let moved = cleared.and_then(|()| fs::rename(&self.temporary, &self.target));
        moved.map_err(|source| AnalysisError::Write { path: self.target.clone(), source })?;
        self.done = true;
        Ok(self.target.clone())
    }
}

impl Drop for PartialOutput {
    fn drop(&mut self) {
        if !self.done {
            // A failure to remove the incomplete output is ignored.
            let _ = match self.temporary.is_dir() {
                true => fs::remove_dir_all(&self.temporary),
                false => fs::remove_file(&self.temporary),
            };
        }
    }
}
