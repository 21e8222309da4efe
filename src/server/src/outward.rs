//! Under which addresses other machines reach a server that is bound to all of them.

use std::net::{IpAddr, SocketAddr, UdpSocket};

/// Where the ways out are asked for, none of which is sent anything: addresses for documentation (RFC 5737, RFC 3849), which take the
/// default route, and one of each private network (RFC 1918).
const DESTINATIONS: [&str; 5] =
    ["192.0.2.1:9", "[2001:db8::1]:9", "192.168.255.254:9", "172.31.255.254:9", "10.255.255.254:9"];

/// The addresses under which a client reaches a bound address: itself, or, where it stands for all addresses, those of this machine that
/// its routes lead out from; loopback where there are none.
pub fn reachable(bound: SocketAddr) -> Vec<SocketAddr> {
    if !bound.ip().is_unspecified() {
        return vec![bound];
    }
    let mut found: Vec<IpAddr> = Vec::new();
    for destination in DESTINATIONS {
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

/// The address of this machine from which a packet to there would leave. Connecting a datagram socket sends nothing.
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
