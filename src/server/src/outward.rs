//! The addresses at which other machines reach a server that is bound to all addresses.

use std::net::{IpAddr, SocketAddr, UdpSocket};

/// Destinations for which the routing table is queried; none of them is sent anything. The documentation addresses
/// (RFC 5737, RFC 3849) take the default route; there is one more for each private network (RFC 1918).
const ROUTE_QUERIES: [&str; 5] =
    ["192.0.2.1:9", "[2001:db8::1]:9", "192.168.255.254:9", "172.31.255.254:9", "10.255.255.254:9"];

/// The addresses at which a client reaches a bound address. The unspecified address yields the source addresses of this
/// machine's routes, or loopback if there are none; any other address yields itself.
pub fn reachable(bound: SocketAddr) -> Vec<SocketAddr> {
    if !bound.ip().is_unspecified() {
        return vec![bound];
    }
    let mut found: Vec<IpAddr> = Vec::new();
    for destination in ROUTE_QUERIES {
        if let Some(ip) = source_address(destination).filter(|ip| bound.is_ipv6() || ip.is_ipv4())
            && !found.contains(&ip)
        {
            found.push(ip);
        }
    }
    if found.is_empty() {
        let loopback = if bound.is_ipv4() { "127.0.0.1" } else { "::1" };
        found.extend(loopback.parse::<IpAddr>());
    }
    found.into_iter().map(|ip| SocketAddr::new(ip, bound.port())).collect()
}

/// The source address that this machine would use for a packet to `destination`. Connecting a datagram socket sends
/// nothing.
fn source_address(destination: &str) -> Option<IpAddr> {
    let any = if destination.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(destination).ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|ip| !ip.is_unspecified() && !ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_to_the_address_that_stands_for_all() {
        let bound: SocketAddr = "0.0.0.0:6580".parse().unwrap();
        let found = reachable(bound);
        assert!(!found.is_empty());
        assert!(found.iter().all(|address| address.port() == 6580 && !address.ip().is_unspecified()), "{found:?}");
        let alone: SocketAddr = "127.0.0.1:6500".parse().unwrap();
        assert_eq!(reachable(alone), [alone]);
    }
}
