//! Detects that the file of an SQLite database was moved, removed, replaced or truncated by another program during a
//! run. SQLite itself does not report this: it goes on writing into the removed file.

use std::path::{Path, PathBuf};

use super::file_identity::FileIdentity;
use crate::database::{address::Database, connection::Connection, driver::Access, error::RecorderError};

/// Identity and size of the database file at the last check.
#[derive(Debug)]
pub(super) struct DatabaseFile {
    path: PathBuf,
    identity: FileIdentity,
    /// Size at the last check, bytes.
    length: u64,
}

impl DatabaseFile {
    /// The file at a path; `None` if there is none, or the system gives files no identity.
    pub(super) fn new(path: &Path) -> Option<Self> {
        let identity = FileIdentity::of_path(path)?;
        Some(Self { path: path.to_owned(), identity, length: 0 })
    }

    /// Checks that the same file is still at the path and has not shrunk. The check may close the connection, or
    /// replace it by a new one.
    ///
    /// # Errors
    /// When the file is gone, or is no longer a database.
    pub(super) async fn check_in_place(&mut self, connection: &mut Option<Connection>) -> Result<(), RecorderError> {
        let database = || Database::Sqlite(self.path.clone());
        if FileIdentity::of_path(&self.path) != Some(self.identity) {
            if let Some(mut connection) = connection.take() {
                // A moved file then holds all data without its log. If the file was removed, its data is lost in any
                // case.
                let copied = connection.checkpoint().await;
                copied.unwrap_or_else(|error| {
                    tracing::warn!("the write-ahead log was not copied into the file: {error}")
                });
            }
            return Err(RecorderError::FileGone { database: database() });
        }
        let length = std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        if length < self.length {
            // Another program may have vacuumed the file, which does no harm. The write-ahead log is copied into the
            // file first, because SQLite would drop the log of an empty file. The connection is replaced, because it
            // may have pages in memory that are gone.
            if let Some(mut connection) = connection.take() {
                connection.checkpoint().await?;
            }
            let mut fresh = Connection::open(&database(), Access::Write).await?;
            fresh.check_integrity().await?;
            *connection = Some(fresh);
        }
        self.length = length;
        Ok(())
    }
}
