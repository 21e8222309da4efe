//! Errors of the ports.

use std::{io, net::SocketAddr};

use simpartner_wire::protocol::Refusal;
use thiserror::Error;

use simpartner_realtime::ControlError;

/// The reason why the ports cannot be bound. No port is open after an error.
#[derive(Debug, Error)]
pub enum ServerError {
    /// The operating system refused a port.
    #[error(
        "{place}: {who} cannot open port {}: {cause}\nhelp: {}", address.port(), help_text(cause, *address, holder)
    )]
    Bind {
        /// `file:line:column` of the device, or the name of the setting.
        place: String,
        /// Owner of the port, such as a device or the control port.
        who: String,
        /// Requested address.
        address: SocketAddr,
        /// Error of the operating system.
        cause: io::Error,
        /// Phrase that names the process which holds the port; `None` if it is unknown.
        holder: Option<String>,
    },
    /// The port offset moves a port out of the range 1025 to 65535.
    #[error(
        "{place}: {who} has port {port}, which server.port_offset moves to {moved}\n\
         help: choose an offset that leaves all ports between 1025 and 65535"
    )]
    Offset {
        /// `file:line` of the device, or the name of the setting.
        place: String,
        /// Owner of the port, such as a device or the control port.
        who: String,
        /// Port in the model or the settings.
        port: u16,
        /// That port plus the offset.
        moved: i64,
    },
    /// Two owners request the same port.
    #[error(
        "{place}: {who} and {other} both have port {port}\nhelp: give one of them another port, or 0 for a free one"
    )]
    Twice {
        /// `file:line:column` of the second owner.
        place: String,
        /// The second owner.
        who: String,
        /// The first owner, with its place.
        other: String,
        /// The port in the model.
        port: u16,
    },
    /// Other machines could reach the ports, and no token is set.
    #[error(
        "server.bind: {0} can be reached from other machines, so anyone there could control the robot\n\
         help: set server.token (or SIMPARTNER_SERVER_TOKEN), or bind to 127.0.0.1"
    )]
    NoToken(std::net::IpAddr),
}

/// Help text for a port that cannot be bound.
fn help_text(cause: &io::Error, address: SocketAddr, holder: &Option<String>) -> String {
    match cause.kind() {
        io::ErrorKind::AddrInUse => {
            let holder = holder.as_deref().unwrap_or("another program has it, maybe a server that is still running");
            format!(
                "{holder}; end that one, or give this server ports of its own: --port-offset 1000 moves all of them, \
                 --free-ports takes any that are free"
            )
        }
        io::ErrorKind::AddrNotAvailable => format!("this machine has no address {}", address.ip()),
        io::ErrorKind::PermissionDenied => "the operating system reserves this port; choose one above 1024".to_owned(),
        _ => "choose another port, or 0 for a free one".to_owned(),
    }
}

/// Converts an error of the clock into the refusal that the client gets.
pub(super) fn refusal(error: ControlError) -> Refusal {
    match error {
        ControlError::Full(_) => Refusal::Busy(error.to_string()),
        ControlError::WrongState(_) | ControlError::Over => Refusal::State(error.to_string()),
    }
}
