//! The flags by which a client's command line names a server.

use std::path::PathBuf;

use clap::Args;
use simpartner_wire::ports_file::{PortsFile, PortsFileError};

/// Default address of the control port.
pub const DEFAULT_SERVER: &str = "127.0.0.1:6500";

/// The flags by which a client's command line names the server.
#[derive(Debug, Clone, Args)]
pub struct ServerArguments {
    /// Address of the server's control port
    #[arg(long, value_name = "HOST:PORT", default_value = DEFAULT_SERVER)]
    server: String,
    /// Ports file that the server writes with --ports-file, in place of --server
    #[arg(long, value_name = "FILE", conflicts_with = "server")]
    ports_file: Option<PathBuf>,
}

impl ServerArguments {
    /// Address of the control port, as `host:port`.
    ///
    /// # Errors
    /// The ports file cannot be used.
    pub fn control(&self) -> Result<String, PortsFileError> {
        match &self.ports_file {
            Some(path) => Ok(PortsFile::read(path)?.control.to_string()),
            None => Ok(self.server.clone()),
        }
    }
}
