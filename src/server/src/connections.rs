//! Which clients are connected, and which one makes room for a newcomer.
//!
//! Connections are bounded for each endpoint, for each address and in all, below what the operating system lets this process
//! open. A newcomer that finds a bound reached takes the place of a client that does not use its own: of the one that has been
//! silent for longest since it connected, or else of the one that has been idle for longest. Time is an argument here.

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

/// How long a client that has sent a request may be idle before it makes room for another, nanoseconds.
const IDLE_NS: u64 = 60_000_000_000;

/// All connections.
#[derive(Debug)]
pub(super) struct Connections {
    in_all: usize,
    per_endpoint: usize,
    per_address: usize,
    silent_ns: u64,
    open: Mutex<HashMap<u64, Entry>>,
    count: AtomicU64,
}

#[derive(Debug)]
struct Entry {
    endpoint: Endpoint,
    address: IpAddr,
    activity: Arc<Activity>,
    /// Dropped when the connection has to make room.
    _keep: oneshot::Sender<()>,
}

/// What a client has done of late.
#[derive(Debug, Default)]
struct Activity {
    /// Whether it has sent a request.
    has_spoken: AtomicBool,
    /// Whether it is sent something without asking each time, or waits for an answer; then its silence means nothing.
    is_served: AtomicBool,
    /// When it last sent something, or connected.
    received_ns: AtomicU64,
}

/// A connection's place, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    number: u64,
    connections: Arc<Connections>,
    activity: Arc<Activity>,
    /// Ends when the connection has to make room.
    pub(super) give_way: oneshot::Receiver<()>,
}

/// Which bound a newcomer has met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    Endpoint(usize),
    Address(usize),
    All(usize),
}

impl std::fmt::Display for Bound {
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
    /// None yet. At most so many are let in as there are descriptors for; of an endpoint that other machines reach, one address
    /// may have half of them.
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

    /// Lets a client in that has connected now.
    ///
    /// # Errors
    /// When a bound is reached and nobody can make room.
    pub(super) fn admit(self: &Arc<Self>, endpoint: Endpoint, address: IpAddr, now_ns: u64) -> Result<Place, Bound> {
        let mut open = self.lock();
        // One that makes room for the first bound may do so for the others too.
        for (bound, most) in [
            (Bound::Endpoint(self.per_endpoint), self.per_endpoint),
            (Bound::All(self.in_all), self.in_all),
            (Bound::Address(self.per_address), self.per_address),
        ] {
            let is_counted = |entry: &Entry| match bound {
                Bound::Endpoint(_) => entry.endpoint == endpoint,
                Bound::Address(_) => entry.address == address,
                Bound::All(_) => true,
            };
            let counted = open.iter().filter(|(_, entry)| is_counted(entry));
            if counted.clone().count() >= most {
                let leaver =
                    counted.filter_map(|(&number, entry)| Some((self.dispensable(entry, now_ns)?, number))).min();
                let (_, number) = leaver.ok_or(bound)?;
                open.remove(&number);
            }
        }
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let activity = Arc::new(Activity { received_ns: AtomicU64::new(now_ns), ..Activity::default() });
        let (keep, give_way) = oneshot::channel();
        open.insert(number, Entry { endpoint, address, activity: Arc::clone(&activity), _keep: keep });
        Ok(Place { number, connections: Arc::clone(self), activity, give_way })
    }

    /// If a connection could make room: those that have never sent a request come first, then those that have sent nothing for longest.
    fn dispensable(&self, entry: &Entry, now_ns: u64) -> Option<(bool, u64)> {
        let activity = &entry.activity;
        let received_ns = activity.received_ns.load(Ordering::Relaxed);
        let has_spoken = activity.has_spoken.load(Ordering::Relaxed);
        let patience_ns = if has_spoken { IDLE_NS } else { self.silent_ns };
        let is_idle = now_ns.saturating_sub(received_ns) >= patience_ns && !activity.is_served.load(Ordering::Relaxed);
        is_idle.then_some((has_spoken, received_ns))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Entry>> {
        // Every statement leaves the map whole, so a panic elsewhere does not spoil it.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// The client has sent something.
    pub(super) fn received(&self, now_ns: u64) {
        self.activity.received_ns.store(now_ns, Ordering::Relaxed);
    }

    /// The client has sent a whole request.
    pub(super) fn has_spoken(&self) {
        self.activity.has_spoken.store(true, Ordering::Relaxed);
    }

    /// Whether it is sent something by itself, or waits for an answer.
    pub(super) fn set_served(&self, is_served: bool) {
        self.activity.is_served.store(is_served, Ordering::Relaxed);
    }
}

impl Drop for Place {
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

    fn has_place(place: &mut Place) -> bool {
        place.give_way.try_recv() == Err(oneshot::error::TryRecvError::Empty)
    }

    #[test]
    fn the_client_that_was_silent_for_longest_makes_room() {
        let connections = connections(100, 3, true);
        let mut speaks = connections.admit(Endpoint::Control, HOME, 0).unwrap();
        speaks.has_spoken();
        let mut first = connections.admit(Endpoint::Control, HOME, SECOND).unwrap();
        let mut second = connections.admit(Endpoint::Control, HOME, 2 * SECOND).unwrap();
        let early = connections.admit(Endpoint::Control, HOME, 5 * SECOND).map(drop);
        assert_eq!(early, Err(Bound::Endpoint(3)), "a client has some seconds for its first request");
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
        old.has_spoken();
        subscriber.has_spoken();
        subscriber.set_served(true);
        old.received(10 * SECOND);
        assert!(connections.admit(MOTOR, HOME, 69 * SECOND).is_err());
        assert!(connections.admit(MOTOR, HOME, 70 * SECOND).is_ok());
        assert_eq!([&mut old, &mut subscriber].map(has_place), [false, true]);
    }

    #[test]
    fn silent_clients_of_other_ports_make_room_where_all_places_are_taken() {
        let connections = connections(4, 3, true);
        let mut silent: Vec<_> = (0..3).map(|now| connections.admit(MOTOR, HOME, now).unwrap()).collect();
        let _robot = connections.admit(Endpoint::Page, HOME, 0).unwrap();
        assert_eq!(connections.admit(Endpoint::Control, HOME, SECOND).map(drop), Err(Bound::All(4)));
        assert!(connections.admit(Endpoint::Control, HOME, 6 * SECOND).is_ok());
        assert_eq!(silent.iter_mut().filter_map(|place| has_place(place).then_some(())).count(), 2);
    }

    #[test]
    fn one_address_cannot_take_all_places_of_a_server_that_others_reach() {
        let connections = connections(10, 100, false);
        let held: Vec<_> = (0..5).map(|_| connections.admit(MOTOR, AWAY, 0).unwrap()).collect();
        assert_eq!(connections.admit(Endpoint::Control, AWAY, 0).map(drop), Err(Bound::Address(5)));
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
