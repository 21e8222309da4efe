//! The address of a database, as users write it and as messages show it.

use std::{
    fmt,
    net::IpAddr,
    path::{Path, PathBuf},
    str::FromStr,
};

use sqlx::{mysql::MySqlConnectOptions, postgres::PgConnectOptions};
use thiserror::Error;

/// The forms that an address may have, for messages.
pub const ADDRESSES: &str = "sqlite:FILE, postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE";

/// An address that names no database.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("expected a database address of the form {ADDRESSES}, got `{url}`")]
pub struct AddressError {
    /// What was given, without its password.
    pub url: String,
}

/// The address of a database. Displayed, it has no password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Database {
    /// An SQLite file, created if missing.
    Sqlite(PathBuf),
    /// A database of a PostgreSQL server.
    Postgres(Address),
    /// A database of a MySQL or MariaDB server.
    MySql(Address),
}

/// The URL of a database of a server.
#[derive(Clone, PartialEq, Eq)]
pub struct Address(String);

impl Address {
    /// With the password, only for the driver.
    pub(super) fn url(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&without_password(&self.0))
    }
}

impl fmt::Display for Database {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => path.display().fmt(formatter),
            Self::Postgres(address) | Self::MySql(address) => address.fmt(formatter),
        }
    }
}

/// Reads an address: `sqlite:FILE` or `sqlite://FILE`, or the URL of a server's database, with the scheme `postgres`, `postgresql`, `mysql`
/// or `mariadb`.
impl FromStr for Database {
    type Err = AddressError;

    fn from_str(url: &str) -> Result<Self, AddressError> {
        let bad = || AddressError { url: without_password(url) };
        let (scheme, rest) = url.split_once(':').ok_or_else(bad)?;
        match scheme {
            _ if scheme != "sqlite" && !rest.starts_with("//") => Err(bad()),
            "sqlite" => {
                let file = rest.strip_prefix("//").unwrap_or(rest);
                // An in-memory database would be gone before anybody could read it.
                let is_file = !file.is_empty() && file != ":memory:" && !file.contains('?');
                is_file.then(|| Self::Sqlite(file.into())).ok_or_else(bad)
            }
            "postgres" | "postgresql" => {
                let options = PgConnectOptions::from_str(url).map_err(|_| bad())?;
                options.get_database().filter(|name| !name.is_empty()).ok_or_else(bad)?;
                Ok(Self::Postgres(Address(url.to_owned())))
            }
            "mysql" | "mariadb" => {
                let options = MySqlConnectOptions::from_str(url).map_err(|_| bad())?;
                options.get_database().filter(|name| !name.is_empty()).ok_or_else(bad)?;
                Ok(Self::MySql(Address(url.to_owned())))
            }
            _ => Err(bad()),
        }
    }
}

impl Database {
    /// The file of an SQLite database.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(path) => Some(path),
            Self::Postgres(_) | Self::MySql(_) => None,
        }
    }

    /// True if what is logged stays on this machine.
    pub fn is_local(&self) -> bool {
        let host = match self {
            Self::Sqlite(_) => return true,
            Self::Postgres(address) => {
                PgConnectOptions::from_str(&address.0).map(|options| options.get_host().to_owned())
            }
            Self::MySql(address) => {
                MySqlConnectOptions::from_str(&address.0).map(|options| options.get_host().to_owned())
            }
        };
        // A path names a socket.
        host.is_ok_and(|host| {
            let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
            host.starts_with('/') || host == "localhost" || address.is_ok_and(|address| address.is_loopback())
        })
    }

    /// The address in the form that can be parsed again, without its password.
    pub fn shown_url(&self) -> String {
        match self {
            Self::Sqlite(path) => format!("sqlite:{}", path.display()),
            server => server.to_string(),
        }
    }
}

/// A URL with three stars in place of its password, whether or not it is a valid address.
pub fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let mut shown = match rest.rsplit_once('@') {
        Some((user, host)) => match user.split_once(':') {
            Some((name, _)) => format!("{scheme}://{name}:***@{host}"),
            None => url.to_owned(),
        },
        None => url.to_owned(),
    };
    // PostgreSQL takes it among the parameters as well.
    if let Some(start) = shown.find("password=").map(|at| at + "password=".len()) {
        let end = shown[start..].find('&').map_or(shown.len(), |length| start + length);
        shown.replace_range(start..end, "***");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_file_or_a_database_of_a_server() {
        for url in ["sqlite:logs/a.db", "sqlite://logs/a.db"] {
            assert_eq!(Database::from_str(url).unwrap(), Database::Sqlite("logs/a.db".into()));
        }
        assert_eq!(Database::from_str("sqlite:///var/a.db").unwrap().file(), Some(Path::new("/var/a.db")));
        for url in ["postgres://u@h/d", "postgresql://u:p@h:5433/d?sslmode=disable"] {
            assert!(matches!(Database::from_str(url), Ok(Database::Postgres(_))), "{url}");
        }
        for url in ["mysql://u@h/d", "mariadb://h:3307/d"] {
            assert!(matches!(Database::from_str(url), Ok(Database::MySql(_))), "{url}");
        }
        let bad =
            ["", "a.db", "sqlite:", "sqlite::memory:", "sqlite:a.db?mode=ro", "oracle:x", "postgres:x", "mysql://h"];
        for bad in bad {
            let message = Database::parse(bad).unwrap_err().to_string();
            assert_eq!(message, format!("expected a database address of the form {ADDRESSES}, got `{bad}`"));
        }
    }

    #[test]
    fn what_leaves_the_machine_is_known() {
        for (url, is_local) in [
            ("sqlite:a.db", true),
            ("postgres://u@localhost/d", true),
            ("postgres://u@[::1]/d", true),
            ("postgres:///d?host=/var/run/postgresql", true),
            ("mysql://u@127.0.0.2:3307/d", true),
            ("mysql://u@192.168.0.2/d", false),
            ("postgres://u@base.example/d", false),
        ] {
            assert_eq!(Database::from_str(url).unwrap().is_local(), is_local, "{url}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        for (url, shown) in [
            ("postgres://me:geheim@h/d", "postgres://me:***@h/d"),
            (
                "postgres://h/d?user=me&password=geheim&sslmode=require",
                "postgres://h/d?user=me&password=***&sslmode=require",
            ),
            ("mysql://me:ge/he@im@h:3306/d", "mysql://me:***@h:3306/d"),
            ("mysql://me@h/d", "mysql://me@h/d"),
            ("oracle://me:geheim@h", "oracle://me:***@h"),
        ] {
            assert_eq!(without_password(url), shown);
        }
        let database = Database::from_str("mysql://me:geheim@h/d").unwrap();
        assert_eq!(format!("{database} {database:?} {}", database.shown_url()).matches("geheim").count(), 0);
    }
}
