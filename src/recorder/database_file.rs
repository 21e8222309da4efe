//! The file of an SQLite database, which others may move, remove, replace or cut short while a run is logged into it. SQLite itself
//! goes on writing into a file that has no name any more, and says nothing.

use std::path::{Path, PathBuf};

use super::{
    Database, RecorderError,
    identity::FileIdentity,
    store::{Access, Store},
};

/// Which file it was, and how large.
#[derive(Debug)]
pub(super) struct DatabaseFile {
    path: PathBuf,
    identity: FileIdentity,
    longest: u64,
}

impl DatabaseFile {
    /// The file that stands at a path now; `None` if there is none, or the system does not tell files apart.
    pub(super) fn new(path: &Path) -> Option<Self> {
        let identity = FileIdentity::of_path(path)?;
        Some(Self { path: path.to_owned(), identity, longest: 0 })
    }

    /// Sees that the file is still where and what it was. `store` is the connection to it; this may close it, or put a new one
    /// in its place.
    ///
    /// # Errors
    /// When the file is gone, or is no database any more.
    pub(super) async fn check(&mut self, store: &mut Option<Store>) -> Result<(), RecorderError> {
        let database = || Database::Sqlite(self.path.clone());
        if FileIdentity::of_path(&self.path) != Some(self.identity) {
            if let Some(mut store) = store.take() {
                // A file that was moved then holds everything itself; of one that was removed nothing is left either way.
                let folded = store.fold().await;
                folded.unwrap_or_else(|error| tracing::warn!("the write-ahead log was not folded in: {error}"));
            }
            return Err(RecorderError::FileGone { database: database() });
        }
        let length = std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        if length < self.longest {
            // Another program may have vacuumed it, which does no harm. What the write-ahead log holds goes into the file first: SQLite
            // would drop that of an empty file. A connection that was open before may have in memory what is gone.
            if let Some(mut store) = store.take() {
                store.fold().await?;
            }
            let mut fresh = Store::open(&database(), Access::Write).await?;
            fresh.check_structure().await?;
            *store = Some(fresh);
        }
        self.longest = length;
        Ok(())
    }
}
