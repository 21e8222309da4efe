//! Where the server listens, and its limits.

use std::{
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

/// Settings of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Address of all ports.
    pub bind: IpAddr,
    /// Port of the clock; 0 asks for a free one.
    pub control_port: u16,
    /// How the ports that model and settings name become the ports that are bound.
    pub ports: PortChoice,
    /// The token that a client must send first. Required on an address that other machines reach.
    pub token: Option<String>,
    /// Whether clients may let robots come and go.
    pub spawn: bool,
    /// The bounds.
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
            limits: Limits::default(),
        }
    }
}

/// How the ports that model and settings name become the ports that are bound, so that servers of one world run side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortChoice {
    /// Each is moved by so many; 0 is the port itself.
    Moved(i32),
    /// All are any free ones.
    AnyFree,
}

impl Default for PortChoice {
    fn default() -> Self {
        Self::Moved(0)
    }
}

impl PortChoice {
    /// The port to bind for one that is named; 0 is any free one.
    ///
    /// # Errors
    /// The number of a port that is moved out of 1025 to 65535.
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

    /// The port that a model has to name for this one to be bound.
    pub fn named(self, port: u16) -> u16 {
        match self {
            Self::AnyFree => port,
            Self::Moved(_) if port == 0 => 0,
            Self::Moved(offset) => u16::try_from(i64::from(port) - i64::from(offset)).unwrap_or(port),
        }
    }
}

/// What one client, and all of them, may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections in all; fewer where the operating system has no descriptors for so many.
    pub connections: usize,
    /// Connections to one port.
    pub connections_per_port: usize,
    /// How long a client that has sent no request keeps its place when another wants it.
    pub silent: Duration,
    /// How long a client of the control port may wait with its first request. (Those of devices may have come to look.)
    pub first_request: Duration,
    /// How long a message may stay unfinished.
    pub unfinished: Duration,
    /// How long an answer may stay unread once all buffers are full. A long answer has a second more for every 64 kB.
    pub unread: Duration,
    /// The kernel's buffer for what a client has not read, bytes. A small one keeps a slow reader's samples young.
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
