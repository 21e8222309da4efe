//! The open file that the writer and the reader of a spill file share.

use std::{
    fs::File,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use crate::write::file_identity::FileIdentity;

/// An open spill file. If the file was removed, the writer replaces it here.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedFile(Arc<Mutex<Option<Arc<File>>>>);

impl SharedFile {
    pub(super) fn get(&self) -> Option<Arc<File>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, file: Option<Arc<File>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = file;
    }
}

/// True if an open file is still the file at the path.
pub(super) fn is_in_place(file: &File, path: &Path) -> bool {
    match (FileIdentity::of_handle(file), FileIdentity::of_path(path)) {
        (Some(open), at_path) => at_path == Some(open),
        (None, _) => true,
    }
}
