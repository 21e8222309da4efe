//! Why the ports cannot be bound.

use std::{io, net::SocketAddr};

use simpartner_wire::protocol::Refusal;
use thiserror::Error;

use simpartner_realtime::ControlError;

/// What is wrong with the ports. No port is open after it.
#[derive(Debug, Error)]
pub enum ServerError {
    /// The operating system refused a port.
    #[error("{place}: {who} cannot have port {}: {cause}\nhelp: {}", address.port(), advice(cause, *address, holder))]
    Bind {
        /// `file:line:column` of the device, or the setting.
        place: String,
        /// The device or the control port.
        who: String,
        /// What was asked for.
        address: SocketAddr,
        /// What the operating system says.
        cause: io::Error,
        /// Which process has the port, in words, where the system says it.
        holder: Option<String>,
    },
    /// A port is moved out of the range of ports.
    #[error(
        "{place}: {who} has port {port}, which server.port_offset moves to {moved}\n\
         help: choose an offset that leaves all ports between 1025 and 65535"
    )]
    Offset {
        /// `file:line` of the device, or the setting.
        place: String,
        /// The device or the control port.
        who: String,
        /// What was asked for.
        port: u16,
        /// Where that would be.
        moved: i64,
    },
    /// Two want the same port.
    #[error(
        "{place}: {who} and {other} both want port {port}\nhelp: give one of them another port, or 0 for a free one"
    )]
    Twice {
        /// `file:line:column` of the second.
        place: String,
        /// The second.
        who: String,
        /// The first, with its place.
        other: String,
        /// The port.
        port: u16,
    },
    /// Other machines would reach the ports without a token.
    #[error(
        "server.bind: {0} is reached from other machines, and anybody there could drive the robot\n\
         help: set server.token (or SIMPARTNER_SERVER_TOKEN), or bind to 127.0.0.1"
    )]
    NoToken(std::net::IpAddr),
}

fn advice(cause: &io::Error, address: SocketAddr, holder: &Option<String>) -> String {
    match cause.kind() {
        io::ErrorKind::AddrInUse => {
            let holder = holder.as_deref().unwrap_or("another program has it, maybe a server that is still running");
            format!(
                "{holder}; end that one, or give this server ports of its own: --port-offset 1000 moves all of them, \
                 --free-ports takes any that are free"
            )
        }
        io::ErrorKind::AddrNotAvailable => format!("this machine has no address {}", address.ip()),
        io::ErrorKind::PermissionDenied => "the system keeps this port for itself; choose one above 1024".to_owned(),
        _ => "choose another port, or 0 for a free one".to_owned(),
    }
}

/// The refusal that a client gets when the clock does not take its request.
pub(super) fn refusal(error: ControlError) -> Refusal {
    match error {
        ControlError::Full(_) => Refusal::Busy(error.to_string()),
        ControlError::WrongState(_) | ControlError::Over => Refusal::State(error.to_string()),
    }
}
