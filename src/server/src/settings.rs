//! Settings of the server: addresses, ports, token and limits.

use std::{
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

/// Settings of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Address of all ports.
    pub bind: IpAddr,
    /// Control port; 0 requests any free port.
    pub control_port: u16,
    /// Mapping from the ports in model and settings to the ports that are bound.
    pub ports: PortChoice,
    /// The token that a client must send first. Required on an address that other machines reach.
    pub token: Option<String>,
    /// True if clients may add and remove robots and remove objects.
    pub spawn: bool,
    /// True if the log gets the hash of each image that a client is sent.
    pub logs_images: bool,
    /// Bounds on the resources of clients.
    pub limits: Limits,
}

impl Default for Settings {
    /// A free control port on loopback, without a token.
    fn default() -> Self {
        Self {
            bind: Ipv4Addr::LOCALHOST.into(),
            control_port: 0,
            ports: PortChoice::default(),
            token: None,
            spawn: true,
            logs_images: false,
            limits: Limits::default(),
        }
    }
}

/// Mapping from the ports in model and settings to the ports that are bound. It lets several servers of one world run
/// side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortChoice {
    /// Adds this offset to each port.
    Moved(i32),
    /// Uses any free port for each.
    AnyFree,
}

impl Default for PortChoice {
    fn default() -> Self {
        Self::Moved(0)
    }
}

impl PortChoice {
    /// The port to bind for a port in model or settings. 0 stands for any free port, in both.
    ///
    /// # Errors
    /// The moved port number, when it is outside of 1025 to 65535.
    pub fn choose(self, port: u16) -> Result<u16, i64> {
        match self {
            Self::AnyFree => Ok(0),
            Self::Moved(0) => Ok(port),
            Self::Moved(_) if port == 0 => Ok(0),
            Self::Moved(offset) => {
                let moved = i64::from(port) + i64::from(offset);
                u16::try_from(moved).ok().filter(|moved| *moved > 1024).ok_or(moved)
            }
        }
    }

    /// The port in the model that maps to this bound port: the inverse of [`choose`](Self::choose).
    pub fn named(self, port: u16) -> u16 {
        match self {
            Self::AnyFree => port,
            Self::Moved(_) if port == 0 => 0,
            Self::Moved(offset) => u16::try_from(i64::from(port) - i64::from(offset)).unwrap_or(port),
        }
    }
}

/// Bounds on the resources of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest number of connections; lower if the operating system has too few descriptors.
    pub connections: usize,
    /// Largest number of connections to one port.
    pub connections_per_port: usize,
    /// Time for which a client that has sent no request keeps its connection when another client needs it.
    pub silent: Duration,
    /// Time limit for the first request of a client of the control port. Clients of devices have none, because they may
    /// only want to read.
    pub first_request: Duration,
    /// Time limit for completing a message.
    pub unfinished: Duration,
    /// Time limit for reading an answer once all buffers are full. A long answer has a second more for every 64 kB.
    pub unread: Duration,
    /// Size of the kernel's send buffer, bytes. With a small one, a slow reader gets recent samples.
    pub send_buffer: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            connections_per_port: 256,
            silent: Duration::from_secs(5),
            first_request: Duration::from_secs(300),
            unfinished: Duration::from_secs(30),
            unread: Duration::from_secs(2),
            send_buffer: 16 * 1024,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_moved_or_any_free_one() {
        let moved = PortChoice::Moved(1000);
        assert_eq!((moved.choose(1025), moved.choose(0), moved.choose(64_536)), (Ok(2025), Ok(0), Err(65_536)));
        assert_eq!(PortChoice::Moved(-1000).choose(2000), Err(1000));
        assert_eq!((PortChoice::default().choose(80), PortChoice::AnyFree.choose(80)), (Ok(80), Ok(0)));
    }
}
