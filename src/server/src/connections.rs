//! The open connections, and the eviction of idle clients in favour of new ones.
//!
//! Connections are limited per endpoint, per address and in total, below the number of files that the operating system
//! lets this process open. When a limit is reached, a new client replaces an idle one: first the client that has been
//! connected longest without a request, else the client that has been idle longest. The caller passes the time.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use tokio::sync::oneshot;

use super::{endpoint::Endpoint, settings::Limits};

/// Idle time after which a client that has sent a request can be evicted, nanoseconds.
const IDLE_LIMIT_NS: u64 = 60_000_000_000;

/// All connections.
#[derive(Debug)]
pub(super) struct Connections {
    /// Limit of the total number of connections.
    in_all: usize,
    /// Limit for each endpoint.
    per_endpoint: usize,
    /// Limit for each address.
    per_address: usize,
    /// Idle time after which a client that has sent no request can be evicted, nanoseconds.
    silent_ns: u64,
    /// Open connections by their numbers.
    open: Mutex<HashMap<u64, Entry>>,
    /// Number of connections so far.
    count: AtomicU64,
}

/// An open connection.
#[derive(Debug)]
struct Entry {
    endpoint: Endpoint,
    address: IpAddr,
    activity: Arc<Activity>,
    /// Dropped to evict the connection.
    _eviction: oneshot::Sender<()>,
}

/// Recent activity of a client.
#[derive(Debug, Default)]
struct Activity {
    /// True once the client has sent a complete request.
    has_requested: AtomicBool,
    /// True while the client is subscribed or waits for an answer; its silence then does not make it idle.
    is_served: AtomicBool,
    /// Time of the client's last bytes, or of its connection, monotonic nanoseconds.
    received_ns: AtomicU64,
}

/// A connection's slot under the limits. It is released when it is dropped.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    number: u64,
    connections: Arc<Connections>,
    activity: Arc<Activity>,
    /// Completes when the connection is evicted.
    pub(super) evicted: oneshot::Receiver<()>,
}

/// The limit that refuses a new connection, with its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionLimit {
    /// Limit for the endpoint.
    Endpoint(usize),
    /// Limit for the client's address.
    Address(usize),
    /// Limit of the total number.
    All(usize),
}

impl std::fmt::Display for ConnectionLimit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (most, to) = match self {
            Self::Endpoint(most) => (most, "on this port"),
            Self::Address(most) => (most, "from this address"),
            Self::All(most) => (most, "in all"),
        };
        write!(formatter, "too many connections: {most} {to}, and all are in use; close one first")
    }
}

impl Connections {
    /// No connections yet. The total limit is at most `descriptors`. Unless the server `is_local` (bound to loopback),
    /// one address may have half of the total.
    pub(super) fn new(limits: &Limits, descriptors: usize, is_local: bool) -> Arc<Self> {
        let in_all = limits.connections.min(descriptors).max(1);
        Arc::new(Self {
            in_all,
            per_endpoint: limits.connections_per_port,
            per_address: if is_local { in_all } else { in_all.div_ceil(2) },
            silent_ns: u64::try_from(limits.silent.as_nanos()).unwrap_or(u64::MAX),
            open: Mutex::default(),
            count: AtomicU64::new(0),
        })
    }

    /// Admits a new client; evicts idle clients if limits are reached.
    ///
    /// # Errors
    /// When a limit is reached and no client can be evicted.
    pub(super) fn admit(
        self: &Arc<Self>,
        endpoint: Endpoint,
        address: IpAddr,
        now_ns: u64,
    ) -> Result<ConnectionSlot, ConnectionLimit> {
        let mut open = self.lock();
        // A client that is evicted for the first limit may make room for the others, too.
        for (bound, most) in [
            (ConnectionLimit::Endpoint(self.per_endpoint), self.per_endpoint),
            (ConnectionLimit::All(self.in_all), self.in_all),
            (ConnectionLimit::Address(self.per_address), self.per_address),
        ] {
            let is_counted = |entry: &Entry| match bound {
                ConnectionLimit::Endpoint(_) => entry.endpoint == endpoint,
                ConnectionLimit::Address(_) => entry.address == address,
                ConnectionLimit::All(_) => true,
            };
            let counted = open.iter().filter(|(_, entry)| is_counted(entry));
            if counted.clone().count() >= most {
                let candidate =
                    counted.filter_map(|(&number, entry)| Some((self.eviction_rank(entry, now_ns)?, number))).min();
                let (_, number) = candidate.ok_or(bound)?;
                open.remove(&number);
            }
        }
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let activity = Arc::new(Activity { received_ns: AtomicU64::new(now_ns), ..Activity::default() });
        let (eviction, evicted) = oneshot::channel();
        open.insert(number, Entry { endpoint, address, activity: Arc::clone(&activity), _eviction: eviction });
        Ok(ConnectionSlot { number, connections: Arc::clone(self), activity, evicted })
    }

    /// Rank of a connection for eviction, lowest first; `None` if it is not idle. Clients that have never sent a
    /// request come first, then those that have been silent longest.
    fn eviction_rank(&self, entry: &Entry, now_ns: u64) -> Option<(bool, u64)> {
        let activity = &entry.activity;
        let received_ns = activity.received_ns.load(Ordering::Relaxed);
        let has_requested = activity.has_requested.load(Ordering::Relaxed);
        let limit_ns = if has_requested { IDLE_LIMIT_NS } else { self.silent_ns };
        let is_idle = now_ns.saturating_sub(received_ns) >= limit_ns && !activity.is_served.load(Ordering::Relaxed);
        is_idle.then_some((has_requested, received_ns))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Entry>> {
        // The map is consistent between any two statements, so a panic elsewhere does not corrupt it.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionSlot {
    /// Records that the client has sent bytes.
    pub(super) fn mark_received(&self, now_ns: u64) {
        self.activity.received_ns.store(now_ns, Ordering::Relaxed);
    }

    /// Records that the client has sent a complete request.
    pub(super) fn mark_requested(&self) {
        self.activity.has_requested.store(true, Ordering::Relaxed);
    }

    /// Sets whether the client is subscribed or waits for an answer; it is then not idle.
    pub(super) fn set_served(&self, is_served: bool) {
        self.activity.is_served.store(is_served, Ordering::Relaxed);
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.connections.lock().remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::{net::Ipv4Addr, time::Duration};

    use super::*;

    const SECOND: u64 = 1_000_000_000;
    const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const AWAY: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    const MOTOR: Endpoint = Endpoint::Device(0);

    fn connections(in_all: usize, per_port: usize, is_local: bool) -> Arc<Connections> {
        let limits = Limits {
            connections: in_all,
            connections_per_port: per_port,
            silent: Duration::from_secs(5),
            ..Limits::default()
        };
        Connections::new(&limits, 1000, is_local)
    }

    fn has_place(place: &mut ConnectionSlot) -> bool {
        place.evicted.try_recv() == Err(oneshot::error::TryRecvError::Empty)
    }

    #[test]
    fn the_client_that_was_silent_for_longest_makes_room() {
        let connections = connections(100, 3, true);
        let mut speaks = connections.admit(Endpoint::Control, HOME, 0).unwrap();
        speaks.mark_requested();
        let mut first = connections.admit(Endpoint::Control, HOME, SECOND).unwrap();
        let mut second = connections.admit(Endpoint::Control, HOME, 2 * SECOND).unwrap();
        let early = connections.admit(Endpoint::Control, HOME, 5 * SECOND).map(drop);
        assert_eq!(early, Err(ConnectionLimit::Endpoint(3)), "a client has some seconds for its first request");
        let mut third = connections.admit(Endpoint::Control, HOME, 6 * SECOND).unwrap();
        assert_eq!([&mut speaks, &mut first, &mut second, &mut third].map(has_place), [true, false, true, true]);
        // Other endpoints have room of their own, and a place that is given back is free.
        assert!(connections.admit(MOTOR, HOME, 6 * SECOND).is_ok());
        drop(second);
        assert!(connections.admit(Endpoint::Control, HOME, 6 * SECOND).is_ok());
        assert_eq!(connections.lock().len(), 2, "those let in and dropped have left nothing behind");
    }

    #[test]
    fn who_has_spoken_keeps_its_place_until_it_has_long_been_idle() {
        let connections = connections(100, 2, true);
        let [mut old, mut subscriber] = [0, 0].map(|now| connections.admit(MOTOR, HOME, now).unwrap());
        old.mark_requested();
        subscriber.mark_requested();
        subscriber.set_served(true);
        old.mark_received(10 * SECOND);
        assert!(connections.admit(MOTOR, HOME, 69 * SECOND).is_err());
        assert!(connections.admit(MOTOR, HOME, 70 * SECOND).is_ok());
        assert_eq!([&mut old, &mut subscriber].map(has_place), [false, true]);
    }

    #[test]
    fn silent_clients_of_other_ports_make_room_where_all_places_are_taken() {
        let connections = connections(4, 3, true);
        let mut silent: Vec<_> = (0..3).map(|now| connections.admit(MOTOR, HOME, now).unwrap()).collect();
        let _robot = connections.admit(Endpoint::Page, HOME, 0).unwrap();
        assert_eq!(connections.admit(Endpoint::Control, HOME, SECOND).map(drop), Err(ConnectionLimit::All(4)));
        assert!(connections.admit(Endpoint::Control, HOME, 6 * SECOND).is_ok());
        assert_eq!(silent.iter_mut().filter_map(|place| has_place(place).then_some(())).count(), 2);
    }

    #[test]
    fn one_address_cannot_take_all_places_of_a_server_that_others_reach() {
        let connections = connections(10, 100, false);
        let held: Vec<_> = (0..5).map(|_| connections.admit(MOTOR, AWAY, 0).unwrap()).collect();
        assert_eq!(connections.admit(Endpoint::Control, AWAY, 0).map(drop), Err(ConnectionLimit::Address(5)));
        assert!(connections.admit(Endpoint::Control, HOME, 0).is_ok());
        assert_eq!(held.len(), 5);
    }

    #[test]
    fn there_are_never_more_than_descriptors() {
        let connections = Connections::new(&Limits::default(), 3, true);
        let held: Vec<_> = (0..5).map_while(|_| connections.admit(MOTOR, HOME, 0).ok()).collect();
        assert_eq!(held.len(), 3);
    }
}
