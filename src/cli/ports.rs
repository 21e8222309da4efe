//! Where a server listens: from its file of ports while it runs, or else from the configuration.

use std::{
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
};

use clap::Args;

use super::exit::CliError;
use crate::{
    config::Config,
    server::{PortsFile, PortsFileError},
};

/// Where clients look for the control port by default.
pub(super) const USUAL: &str = "127.0.0.1:6500";

/// The port that a server with this configuration opens in place of one that a model or a setting names; `None` is any free one.
pub(super) fn chosen(config: &Config, port: u16, who: &str) -> Result<Option<u16>, CliError> {
    let chosen = config.server.ports.choose(port).map_err(|moved| {
        CliError::Input(format!("server.port_offset: port {port} of {who} would be {moved}, expected 1025 to 65535"))
    })?;
    Ok(Some(chosen).filter(|chosen| *chosen != 0))
}

/// The control port of the configured server: from its file of ports, or else from the configuration.
pub(super) fn control_address(config: &Config) -> Result<SocketAddr, CliError> {
    if let Some(path) = &config.ports_file {
        return Ok(PortsFile::read(path)?.control);
    }
    let settings = &config.server;
    let port = chosen(config, settings.control_port, "the control port")?.ok_or_else(|| {
        CliError::Usage(
            "the settings give the server any free ports; name its control port with --server HOST:PORT, or the file it \
             writes with --ports-file FILE"
                .into(),
        )
    })?;
    let host = match settings.bind {
        ip if !ip.is_unspecified() => ip,
        ip if ip.is_ipv4() => Ipv4Addr::LOCALHOST.into(),
        _ => Ipv6Addr::LOCALHOST.into(),
    };
    Ok(SocketAddr::new(host, port))
}

/// The flags by which a client's command line names the server.
#[derive(Debug, Clone, Args)]
pub struct ServerArguments {
    /// Control port of the server
    #[arg(long, value_name = "HOST:PORT", default_value = USUAL)]
    server: String,
    /// File that a server with --ports-file has written, in place of --server
    #[arg(long, value_name = "FILE", conflicts_with = "server")]
    ports_file: Option<PathBuf>,
}

impl ServerArguments {
    /// Where the control port is, as `host:port`.
    ///
    /// # Errors
    /// When the file of ports cannot be used.
    pub fn control(&self) -> Result<String, PortsFileError> {
        match &self.ports_file {
            Some(path) => Ok(PortsFile::read(path)?.control.to_string()),
            None => Ok(self.server.clone()),
        }
    }
}
