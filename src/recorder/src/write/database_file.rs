//! The file of an SQLite database, which other programs may move, remove, replace or truncate while a run is logged into it. SQLite
//! itself goes on writing into a file that has no name any more, and reports nothing.

use std::path::{Path, PathBuf};

use super::file_identity::FileIdentity;
use crate::database::{address::Database, connection::Connection, driver::Access, error::RecorderError};

/// Which file it was, and how large.
#[derive(Debug)]
pub(super) struct DatabaseFile {
    path: PathBuf,
    identity: FileIdentity,
    longest: u64,
}

impl DatabaseFile {
    /// The file that is at a path now; `None` if there is none, or the system does not tell files apart.
    pub(super) fn new(path: &Path) -> Option<Self> {
        let identity = FileIdentity::of_path(path)?;
        Some(Self { path: path.to_owned(), identity, longest: 0 })
    }

    /// Checks that the file is still where and what it was. This may close the connection to it, or replace it by a new one.
    ///
    /// # Errors
    /// When the file is gone, or is no database any more.
    pub(super) async fn check(&mut self, connection: &mut Option<Connection>) -> Result<(), RecorderError> {
        let database = || Database::Sqlite(self.path.clone());
        if FileIdentity::of_path(&self.path) != Some(self.identity) {
            if let Some(mut connection) = connection.take() {
                // A file that was moved then holds everything itself; of one that was removed nothing is left either way.
                let copied = connection.checkpoint().await;
                copied.unwrap_or_else(|error| {
                    tracing::warn!("the write-ahead log was not copied into the file: {error}")
                });
            }
            return Err(RecorderError::FileGone { database: database() });
        }
        let length = std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        if length < self.longest {
            // Another program may have vacuumed it, which does no harm. The write-ahead log is copied into the file first: SQLite
            // would drop that of an empty file. A connection that was open before may have pages in memory that are gone.
            if let Some(mut connection) = connection.take() {
                connection.checkpoint().await?;
            }
            let mut fresh = Connection::open(&database(), Access::Write).await?;
            fresh.check_integrity().await?;
            *connection = Some(fresh);
        }
        self.longest = length;
        Ok(())
    }
}
