//! Why the ports cannot be had.

use std::{io, net::SocketAddr};

use thiserror::Error;

use crate::{protocol::Refusal, realtime::ControlError};

/// What is wrong with the ports. No port is open after it.
#[derive(Debug, Error)]
pub enum ServerError {
    /// The operating system refused a port.
    #[error("{place}: {who} cannot have port {}: {cause}\nhelp: {}", address.port(), advice(cause, *address))]
    Bind {
        /// `file:line` of the device, or the setting.
        place: String,
        /// The device or the control port.
        who: String,
        /// What was asked for.
        address: SocketAddr,
        /// What the operating system says.
        cause: io::Error,
    },
    /// Two want the same port.
    #[error(
        "{place}: {who} and {other} both want port {port}\nhelp: give one of them another port, or 0 for a free one"
    )]
    Twice {
        /// `file:line` of the second.
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

fn advice(cause: &io::Error, address: SocketAddr) -> String {
    match cause.kind() {
        io::ErrorKind::AddrInUse => format!(
            "another program has it, maybe a server that is still running; `ss -ltnp 'sport = :{}'` shows which",
            address.port()
        ),
        io::ErrorKind::AddrNotAvailable => format!("this machine has no address {}", address.ip()),
        io::ErrorKind::PermissionDenied => "the system keeps this port for itself; choose one above 1024".to_owned(),
        _ => "choose another port, or 0 for a free one".to_owned(),
    }
}

/// What a client is told when the clock does not take its request.
pub(super) fn refusal(error: ControlError) -> Refusal {
    match error {
        ControlError::Full(_) => Refusal::Busy(error.to_string()),
        ControlError::WrongState(_) | ControlError::Over => Refusal::State(error.to_string()),
    }
}
