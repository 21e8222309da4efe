//! Where the server listens and what it puts up with.

use std::{net::IpAddr, time::Duration};

/// Settings of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Address of all ports.
    pub bind: IpAddr,
    /// Port of the clock; 0 asks for a free one.
    pub control_port: u16,
    /// What a client must say first. Needed on an address that other machines reach.
    pub token: Option<String>,
    /// The bounds.
    pub limits: Limits,
}

/// What one client, and all of them, may take up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections in all.
    pub connections: usize,
    /// Connections to one port.
    pub connections_per_port: usize,
    /// How long a message may stay unfinished.
    pub unfinished: Duration,
    /// How long an answer may stay unread once all buffers are full.
    pub unread: Duration,
    /// The kernel's buffer for what a client has not read, bytes. A small one keeps a slow reader's samples young.
    pub send_buffer: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            connections_per_port: 256,
            unfinished: Duration::from_secs(30),
            unread: Duration::from_secs(2),
            send_buffer: 16 * 1024,
        }
    }
}
