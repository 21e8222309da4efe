//! Where a server is to be found: the file of ports while it runs, and what the settings say of one that may run.

use std::{
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
};

use clap::Args;

use super::{CliError, properties::Properties};
use crate::server::{PortsFile, PortsFileError, Server};

/// Where clients look for the control port unless they are told otherwise.
pub(super) const USUAL: &str = "127.0.0.1:6500";

/// The file of ports, from now until this is dropped.
#[derive(Debug)]
pub(super) struct Announced {
    file: PortsFile,
    path: PathBuf,
}

impl Announced {
    /// Writes the file where the settings name one.
    pub(super) fn write(server: &Server, properties: &Properties) -> Result<Option<Self>, CliError> {
        let Some(path) = properties.ports_file.clone() else { return Ok(None) };
        let file = PortsFile::of(server);
        file.write(&path)?;
        Ok(Some(Self { file, path }))
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        self.file.remove(&self.path);
    }
}

/// The port that a server with these settings has for one that is asked for; `None` is any free one.
pub(super) fn chosen(properties: &Properties, port: u16, who: &str) -> Result<Option<u16>, CliError> {
    let chosen = properties.server.ports.choose(port).map_err(|moved| {
        CliError::Setting(format!("server.port_offset: port {port} of {who} would be {moved}, expected 1025 to 65535"))
    })?;
    Ok(Some(chosen).filter(|chosen| *chosen != 0))
}

/// The control port of the server that the settings mean: as its file of ports tells, or else as they ask for it.
pub(super) fn control_address(properties: &Properties) -> Result<SocketAddr, CliError> {
    if let Some(path) = &properties.ports_file {
        return Ok(PortsFile::read(path)?.control);
    }
    let settings = &properties.server;
    let port = chosen(properties, settings.control_port, "the control port")?.ok_or_else(|| {
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

/// How a client's command line says where the server is.
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
