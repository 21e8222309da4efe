//! Ports of a server: from its ports file while it runs, otherwise from the configuration.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use simpartner_wire::ports_file::PortsFile;

use super::exit::CliError;
use crate::config::Config;

/// The port that a server with this configuration opens for the port that a model or a setting names; `None` for any
/// free port. `who` names its owner in errors.
pub(super) fn opened_port(config: &Config, port: u16, who: &str) -> Result<Option<u16>, CliError> {
    let chosen = config.server.ports.choose(port).map_err(|moved| {
        CliError::Input(format!("server.port_offset: port {port} of {who} would be {moved}, expected 1025 to 65535"))
    })?;
    Ok(Some(chosen).filter(|chosen| *chosen != 0))
}

/// Address of the configured server's control port: from its ports file, otherwise from the configuration.
pub(super) fn control_address(config: &Config) -> Result<SocketAddr, CliError> {
    if let Some(path) = &config.ports_file {
        return Ok(PortsFile::read(path)?.control);
    }
    let settings = &config.server;
    let port = opened_port(config, settings.control_port, "the control port")?.ok_or_else(|| {
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
