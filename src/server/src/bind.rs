//! Binding of the ports: all of them or none.

use std::{
    collections::HashMap,
    io,
    net::SocketAddr,
    sync::atomic::{AtomicU32, Ordering},
};

use simpartner_wire::signal::{Layout, Port};
use tokio::net::{TcpListener, TcpSocket};

use super::{
    endpoint::Endpoint,
    error::ServerError,
    holder,
    served::OpenPort,
    settings::{PortChoice, Settings},
};

/// Largest number of connections that wait to be accepted, for each port.
const ACCEPT_BACKLOG: u32 = 1024;

/// Size of the system's send buffer for a client of a camera, bytes. A buffer of 16 kB sends an image in parts that the
/// receiver acknowledges only after 40 ms each, so that one of 640 x 480 pixels takes 0.6 s.
const CAMERA_SEND_BUFFER: u32 = 1 << 20;

/// The same of a page, bytes: what is under way until an acknowledgement comes back. With 16 kB, a network that takes
/// 20 ms for that carries 0.8 MB/s, and a PNG file of 640 x 480 pixels takes a second. A page that does not read costs
/// this much memory of the system.
const PAGE_SEND_BUFFER: u32 = 1 << 18;

/// All listeners of a server.
pub(super) struct Bound {
    pub(super) control: TcpListener,
    pub(super) control_address: SocketAddr,
    /// Listeners of all devices and robots.
    pub(super) opened: Vec<Opened>,
    /// Ports of all devices and of all robots, each in the order of ids.
    pub(super) ports: [Vec<OpenPort>; 2],
}

/// A newly opened port and its purpose.
pub(super) type Opened = (TcpListener, Endpoint);

/// Binds all ports. On an error, the ports bound before it are dropped and thereby closed.
pub(super) fn bind_all(settings: &Settings, layout: &Layout, numbers: &AtomicU32) -> Result<Bound, ServerError> {
    if settings.token.is_none() && !settings.bind.is_loopback() {
        return Err(ServerError::NoToken(settings.bind));
    }
    let none = [vec![None; layout.devices().len()], vec![None; layout.robots().len()]];
    let (ports, opened) = bind_missing(settings, layout, none, numbers)?;
    let (control, control_address) =
        listen_at(settings, settings.control_port, "server.control_port", "the control port")?;
    Ok(Bound { control, control_address, opened, ports })
}

/// Binds the ports of the devices and robots that have none yet, all of them or none. Each gets the next port number.
pub(super) fn bind_missing(
    settings: &Settings,
    layout: &Layout,
    [devices, robots]: [Vec<Option<OpenPort>>; 2],
    numbers: &AtomicU32,
) -> Result<([Vec<OpenPort>; 2], Vec<Opened>), ServerError> {
    check_ports(settings, layout)?;
    let count = devices.len();
    let mut ports: Vec<Option<OpenPort>> = devices.into_iter().chain(robots).collect();
    // Requested ports are bound first, so that the system cannot assign one of them as a free port.
    let missing = port_claims(layout).into_iter().enumerate().filter(|(index, _)| ports[*index].is_none());
    let (asked, free): (Vec<_>, Vec<_>) = missing.partition(|(_, claim)| claim.port != Port::ANY);
    let mut opened = Vec::new();
    for (index, PortClaim { port, who, place, is_camera }) in asked.into_iter().chain(free) {
        let send_buffer = if is_camera { CAMERA_SEND_BUFFER } else { settings.limits.send_buffer };
        let (listener, address) = listen_with(settings, port.number(), place, &who, send_buffer)?;
        let number = numbers.fetch_add(1, Ordering::Relaxed);
        let endpoint = if index < count { Endpoint::Device(number) } else { Endpoint::Robot(number) };
        opened.push((listener, endpoint));
        ports[index] = Some(OpenPort { number, address });
    }
    let mut ports: Vec<OpenPort> = ports.into_iter().flatten().collect();
    let robots = ports.split_off(count);
    Ok(([ports, robots], opened))
}

/// Binds the port for a port number in the model or the settings. `place` and `who` name its owner in errors.
fn listen_at(settings: &Settings, port: u16, place: &str, who: &str) -> Result<(TcpListener, SocketAddr), ServerError> {
    listen_with(settings, port, place, who, settings.limits.send_buffer)
}

/// Binds the port of a page, likewise.
pub(super) fn listen_for_page(
    settings: &Settings,
    port: u16,
    place: &str,
    who: &str,
) -> Result<(TcpListener, SocketAddr), ServerError> {
    listen_with(settings, port, place, who, PAGE_SEND_BUFFER)
}

/// The same with another size of the system's buffer for each client, bytes.
fn listen_with(
    settings: &Settings,
    port: u16,
    place: &str,
    who: &str,
    send_buffer: u32,
) -> Result<(TcpListener, SocketAddr), ServerError> {
    let address = SocketAddr::new(settings.bind, bound_port(settings, port, place, who)?);
    open_listener(address, send_buffer).map_err(|cause| {
        let holder =
            if cause.kind() == io::ErrorKind::AddrInUse { holder::describe_holder(address.port()) } else { None };
        ServerError::Bind { place: place.to_owned(), who: who.to_owned(), address, cause, holder }
    })
}

/// The port to bind for a port number in the model or the settings; 0 is any free port.
fn bound_port(settings: &Settings, port: u16, place: &str, who: &str) -> Result<u16, ServerError> {
    let moved_out = |moved| ServerError::Offset { place: place.to_owned(), who: who.to_owned(), port, moved };
    settings.ports.choose(port).map_err(moved_out)
}

/// A port in the model, with its owner.
struct PortClaim<'a> {
    port: Port,
    who: String,
    place: &'a str,
    is_camera: bool,
}

/// The ports of all devices, then those of all robots.
fn port_claims(layout: &Layout) -> Vec<PortClaim<'_>> {
    let devices = layout.devices().iter().map(|info| PortClaim {
        port: info.port,
        who: format!("{} '{}' of '{}'", info.kind, info.name, info.robot),
        place: &info.source,
        is_camera: info.kind.is_camera(),
    });
    let robots = layout.robots().iter().map(|info| PortClaim {
        port: info.port,
        who: format!("the combined port of '{}'", info.name),
        place: &info.source,
        is_camera: false,
    });
    devices.chain(robots).collect()
}

/// Checks that all ports are in range and no port is used twice, before any port is open.
fn check_ports(settings: &Settings, layout: &Layout) -> Result<(), ServerError> {
    if settings.ports == PortChoice::AnyFree {
        return Ok(());
    }
    bound_port(settings, settings.control_port, "server.control_port", "the control port")?;
    let mut taken = HashMap::from([(settings.control_port, "the control port (server.control_port)".to_owned())]);
    for PortClaim { port, who, place, .. } in port_claims(layout).into_iter().filter(|claim| claim.port != Port::ANY) {
        bound_port(settings, port.number(), place, &who)?;
        if let Some(other) = taken.insert(port.number(), format!("{who} ({place})")) {
            return Err(ServerError::Twice { place: place.to_owned(), who, other, port: port.number() });
        }
    }
    Ok(())
}

fn open_listener(address: SocketAddr, send_buffer: u32) -> io::Result<(TcpListener, SocketAddr)> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // On Unix the option only frees the ports of a server that has just ended. Elsewhere it lets two programs share a
    // port.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    // Accepted connections inherit the size.
    socket.set_send_buffer_size(send_buffer)?;
    socket.bind(address)?;
    let listener = socket.listen(ACCEPT_BACKLOG)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}
