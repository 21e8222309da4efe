//! All ports or none.

use std::{collections::HashMap, io, net::SocketAddr};

use tokio::net::{TcpListener, TcpSocket};

use super::{ServerError, Settings};
use crate::signal::{Layout, Port};

/// How many connections may wait to be accepted.
const BACKLOG: u32 = 1024;

/// Every listener with its address.
pub(super) struct Bound {
    pub(super) control: TcpListener,
    pub(super) control_address: SocketAddr,
    pub(super) devices: Vec<TcpListener>,
    pub(super) addresses: Vec<SocketAddr>,
}

/// Binds all ports. Dropping what was bound before an error closes it again.
pub(super) fn bind_all(settings: &Settings, layout: &Layout) -> Result<Bound, ServerError> {
    if settings.token.is_none() && !settings.bind.is_loopback() {
        return Err(ServerError::NoToken(settings.bind));
    }
    refuse_duplicates(settings, layout)?;
    let listen = |port: u16, place: &str, who: String| {
        let address = SocketAddr::new(settings.bind, port);
        listen(address, settings.limits.send_buffer).map_err(|cause| ServerError::Bind {
            place: place.to_owned(),
            who,
            address,
            cause,
        })
    };
    // Free ports are handed out last, so that none of them is one that a device asks for.
    let (asked, free): (Vec<_>, Vec<_>) =
        layout.devices().iter().enumerate().partition(|(_, info)| info.port != Port::ANY);
    let mut bound = Vec::new();
    for (index, info) in asked.into_iter().chain(free) {
        let who = format!("{} '{}' of '{}'", info.kind, info.name, info.robot);
        bound.push((index, listen(info.port.number(), &info.source, who)?));
    }
    let (control, control_address) = listen(settings.control_port, "server.control_port", "the control port".into())?;
    bound.sort_by_key(|(index, _)| *index);
    let (devices, addresses) = bound.into_iter().map(|(_, listener)| listener).unzip();
    Ok(Bound { control, control_address, devices, addresses })
}

fn refuse_duplicates(settings: &Settings, layout: &Layout) -> Result<(), ServerError> {
    let mut taken = HashMap::from([(settings.control_port, "the control port (server.control_port)".to_owned())]);
    for info in layout.devices().iter().filter(|info| info.port.number() != 0) {
        let who = format!("'{}' of '{}'", info.name, info.robot);
        if let Some(other) = taken.insert(info.port.number(), format!("{who} ({})", info.source)) {
            return Err(ServerError::Twice { place: info.source.clone(), who, other, port: info.port.number() });
        }
    }
    Ok(())
}

pub(super) fn listen(address: SocketAddr, send_buffer: u32) -> io::Result<(TcpListener, SocketAddr)> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Elsewhere the option lets two programs share a port; on Unix it only frees those of a server that has just ended.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    // Accepted connections inherit the size.
    socket.set_send_buffer_size(send_buffer)?;
    socket.bind(address)?;
    let listener = socket.listen(BACKLOG)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}
