//! The file that lists the ports of a running server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use simpartner_wire::ports_file::{DevicePort, PortsFile, RobotPort};

use super::served::Served;

/// Content of the ports file for a served world.
pub(super) fn describe_ports(served: &Served, control: SocketAddr, viewer: Option<SocketAddr>) -> PortsFile {
    let devices = served.layout.devices().iter().zip(&served.devices).map(|(info, port)| DevicePort {
        name: info.name.clone(),
        kind: info.kind.name().to_owned(),
        robot: info.robot.clone(),
        port: info.port.number(),
        bound: port.address.port(),
    });
    let robots = served.layout.robots().iter().zip(&served.robots).map(|(info, port)| RobotPort {
        name: info.name.clone(),
        port: info.port.number(),
        bound: port.address.port(),
    });
    PortsFile {
        simpartner: env!("CARGO_PKG_VERSION").to_owned(),
        process: std::process::id(),
        control: local_address(control),
        viewer: viewer.map(local_address),
        devices: devices.collect(),
        robots: robots.collect(),
    }
}

/// The address at which a client on this machine reaches a bound address: loopback instead of the unspecified address.
fn local_address(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}
