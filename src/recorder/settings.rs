//! Where the log goes and how much of it.

use std::path::{Path, PathBuf};

use super::RecorderError;

/// What happens when the log comes to its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// The log ends with an event, the simulation goes on.
    EndLog,
    /// The log ends with an event, and the run is asked to end.
    EndRun,
}

/// Settings of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The database.
    pub database: Database,
    /// One step in so many gets rows of state; commands and events are always logged. At least 1.
    pub every_n_steps: u64,
    /// How much the database may grow in this run, in megabytes of 10^6 bytes.
    pub limit_mb: u64,
    /// What happens then.
    pub when_full: WhenFull,
}

/// The address of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Database {
    /// An SQLite file, created if missing.
    Sqlite(PathBuf),
}

impl Database {
    /// Reads an address: `sqlite:FILE` or `sqlite://FILE`.
    ///
    /// # Errors
    /// When the scheme is another or there is no file name.
    pub fn parse(url: &str) -> Result<Self, RecorderError> {
        let bad = || RecorderError::Address { url: url.to_owned() };
        let rest = url.strip_prefix("sqlite:").ok_or_else(bad)?;
        let rest = rest.strip_prefix("//").unwrap_or(rest);
        // An in-memory database would be gone before anybody could read it.
        if rest.is_empty() || rest == ":memory:" || rest.contains('?') {
            return Err(bad());
        }
        Ok(Self::Sqlite(PathBuf::from(rest)))
    }

    /// The file it is in.
    pub fn path(&self) -> &Path {
        let Self::Sqlite(path) = self;
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_file() {
        for url in ["sqlite:logs/a.db", "sqlite://logs/a.db"] {
            assert_eq!(Database::parse(url).unwrap(), Database::Sqlite("logs/a.db".into()));
        }
        assert_eq!(Database::parse("sqlite:///var/a.db").unwrap().path(), Path::new("/var/a.db"));
        for bad in ["", "a.db", "sqlite:", "sqlite::memory:", "sqlite:a.db?mode=ro", "oracle:x"] {
            let message = Database::parse(bad).unwrap_err().to_string();
            assert_eq!(message, format!("expected a database address of the form sqlite:FILE, got `{bad}`"));
        }
    }
}
