//! Addresses of databases: parsing, and display without secrets.

use std::{
    fmt,
    net::IpAddr,
    path::{Path, PathBuf},
    str::FromStr,
};

use sqlx::{mysql::MySqlConnectOptions, postgres::PgConnectOptions};
use thiserror::Error;

use super::masked::without_password;

/// Valid forms of an address, for messages.
pub const ADDRESSES: &str = "sqlite:FILE, postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE";

/// Parameters of an address that PostgreSQL's driver knows.
const POSTGRES_PARAMETERS: [&str; 18] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "statement-cache-capacity",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
];

/// An address that is not valid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("expected a database address of the form {ADDRESSES}, got `{url}`")]
pub struct AddressError {
    /// The address, without its password.
    pub url: String,
}

/// The address of a database. It is displayed without its password.
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
    /// The URL with the password, for the driver only. Parameters that PostgreSQL's driver does not know are left out,
    /// because the driver prints their names and values, which may be secret.
    pub(super) fn url(&self) -> String {
        let Some((address, parameters)) = self.0.split_once('?') else { return self.0.clone() };
        let known: Vec<&str> = parameters.split('&').filter(|parameter| is_known_to_postgres(parameter)).collect();
        if self.is_postgres() { format!("{address}?{}", known.join("&")) } else { self.0.clone() }
    }

    /// True if the address has a parameter that its driver does not know.
    fn has_unknown_parameters(&self) -> bool {
        self.is_postgres() && self.url() != self.0
    }

    fn is_postgres(&self) -> bool {
        self.0.starts_with("postgres")
    }
}

/// True if PostgreSQL's driver knows a parameter, given as `name=value`.
fn is_known_to_postgres(parameter: &str) -> bool {
    let name = parameter.split('=').next().unwrap_or_default();
    POSTGRES_PARAMETERS.contains(&name) || name.starts_with("options[")
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

/// Parses an address: `sqlite:FILE` or `sqlite://FILE`, or the URL of a server's database with the scheme `postgres`,
/// `postgresql`, `mysql` or `mariadb`.
impl FromStr for Database {
    type Err = AddressError;

    fn from_str(url: &str) -> Result<Self, AddressError> {
        let bad = || AddressError { url: without_password(url) };
        let (scheme, rest) = url.split_once(':').ok_or_else(bad)?;
        match scheme {
            _ if scheme != "sqlite" && !rest.starts_with("//") => Err(bad()),
            "sqlite" => {
                let file = rest.strip_prefix("//").unwrap_or(rest);
                // An in-memory database would be lost before anybody could read it.
                let is_file = !file.is_empty() && file != ":memory:" && !file.contains('?');
                is_file.then(|| Self::Sqlite(file.into())).ok_or_else(bad)
            }
            "postgres" | "postgresql" => {
                let address = Address(url.to_owned());
                let options = PgConnectOptions::from_str(&address.url()).map_err(|_| bad())?;
                options.get_database().filter(|name| !name.is_empty()).ok_or_else(bad)?;
                Ok(Self::Postgres(address))
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

    /// True if the database is on this machine, so that the log does not leave it.
    pub fn is_local(&self) -> bool {
        let host = match self {
            Self::Sqlite(_) => return true,
            Self::Postgres(address) => {
                PgConnectOptions::from_str(&address.url()).map(|options| options.get_host().to_owned())
            }
            Self::MySql(address) => {
                MySqlConnectOptions::from_str(&address.0).map(|options| options.get_host().to_owned())
            }
        };
        // A host that is a path is a local socket.
        host.is_ok_and(|host| {
            let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
            host.starts_with('/') || host == "localhost" || address.is_ok_and(|address| address.is_loopback())
        })
    }

    /// True if the address has a parameter that the driver does not know and that is therefore ignored.
    pub fn has_unknown_parameters(&self) -> bool {
        match self {
            Self::Postgres(address) => address.has_unknown_parameters(),
            Self::Sqlite(_) | Self::MySql(_) => false,
        }
    }

    /// The address without its password, in a form that can be parsed again.
    pub fn shown_url(&self) -> String {
        match self {
            Self::Sqlite(path) => format!("sqlite:{}", path.display()),
            server => server.to_string(),
        }
    }
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
        for bad in ["", "a.db", "sqlite:", "sqlite::memory:", "sqlite:a.db?mode=ro", "mysql://h"] {
            let message = Database::parse(bad).unwrap_err().to_string();
            assert_eq!(message, format!("expected a database address of the form {ADDRESSES}, got `{bad}`"));
        }
        for bad in ["oracle:x", "postgres:x"] {
            assert!(Database::parse(bad).is_err(), "{bad}");
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
    fn an_address_is_displayed_without_its_password() {
        let database = Database::from_str("mysql://me:geheim@h/d").unwrap();
        assert_eq!(format!("{database} {database:?} {}", database.shown_url()).matches("geheim").count(), 0);
    }
}
