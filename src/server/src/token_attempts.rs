//! Counts of wrong tokens by address, so that a token cannot be guessed by trying.
//!
//! The first few wrong tokens of an address are refused at once: they are typing errors. From then on the attempts of
//! that address are answered at a rate of one per second. The caller passes the time.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// Number of wrong tokens of an address that are refused without delay.
const FREE_ATTEMPTS: u64 = 5;

/// Interval between answers to further attempts of an address, nanoseconds.
const INTERVAL_NS: u64 = 1_000_000_000;

/// Longest wait of an attempt for its answer, nanoseconds. Attempts that would wait longer are refused, whatever token
/// they show.
const MAX_WAIT_NS: u64 = 5_000_000_000;

/// Time after its last attempt during which an address is remembered, nanoseconds.
const RETENTION_NS: u64 = 600_000_000_000;

/// Largest number of remembered addresses; it bounds the memory that a flood of addresses takes.
const MAX_ADDRESSES: usize = 10_000;

/// The wrong tokens of all addresses.
#[derive(Debug, Default)]
pub(super) struct TokenAttempts {
    by_address: Mutex<HashMap<IpAddr, Attempts>>,
}

/// The wrong tokens of an address.
#[derive(Debug, Default)]
struct Attempts {
    /// Number of wrong tokens since the last right one.
    wrong: u64,
    /// Earliest time of the next answer, monotonic nanoseconds.
    next_ns: u64,
}

/// Decision about an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Verdict {
    /// True if the client is admitted.
    pub(super) is_admitted: bool,
    /// Delay before the answer.
    pub(super) delay: Duration,
    /// Number of wrong tokens of this address, if an event is due: at [`FREE_ATTEMPTS`], after which attempts are
    /// delayed, and at each power of ten.
    pub(super) reported: Option<u64>,
}

impl TokenAttempts {
    /// Decides about an attempt of this address at the monotonic time `now_ns`.
    pub(super) fn judge(&self, address: IpAddr, is_right: bool, now_ns: u64) -> Verdict {
        let mut by_address = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let address = throttled_network(address);
        if !by_address.contains_key(&address) {
            if is_right {
                return Verdict { is_admitted: true, delay: Duration::ZERO, reported: None };
            }
            make_room(&mut by_address, now_ns);
        }
        let attempts = by_address.entry(address).or_default();
        let mut delay_ns = 0;
        let mut is_in_turn = true;
        if attempts.wrong >= FREE_ATTEMPTS {
            let turn = attempts.next_ns.max(now_ns + INTERVAL_NS);
            is_in_turn = turn - now_ns <= MAX_WAIT_NS;
            if is_in_turn {
                (delay_ns, attempts.next_ns) = (turn - now_ns, turn + INTERVAL_NS);
            }
        }
        let is_admitted = is_right && is_in_turn;
        let mut reported = None;
        if is_admitted {
            by_address.remove(&address);
        } else {
            attempts.wrong += 1;
            attempts.next_ns = attempts.next_ns.max(now_ns);
            let is_power_of_ten = attempts.wrong >= 10 && 10_u64.pow(attempts.wrong.ilog10()) == attempts.wrong;
            reported = (attempts.wrong == FREE_ATTEMPTS || is_power_of_ten).then_some(attempts.wrong);
        }
        Verdict { is_admitted, delay: Duration::from_nanos(delay_ns), reported }
    }
}

/// If too many addresses are remembered, drops those silent for [`RETENTION_NS`]; if that is not enough, all of them.
fn make_room(by_address: &mut HashMap<IpAddr, Attempts>, now_ns: u64) {
    if by_address.len() >= MAX_ADDRESSES {
        by_address.retain(|_, attempts| now_ns.saturating_sub(attempts.next_ns) < RETENTION_NS);
        if by_address.len() >= MAX_ADDRESSES {
            by_address.clear();
        }
    }
}

/// The address itself, or the /64 network of an IPv6 address, within which a client can choose its addresses.
fn throttled_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn guessing_is_slowed_down_to_an_attempt_a_second() {
        let attempts = TokenAttempts::default();
        let client = "10.0.0.1".parse().unwrap();
        let free: Vec<Verdict> = (0..5).map(|_| attempts.judge(client, false, 0)).collect();
        assert!(free.iter().all(|verdict| !verdict.is_admitted && verdict.delay.is_zero()));
        assert_eq!(free[4].reported, Some(5));
        // At once: five wait for their turns, and the rest are refused, also with the right token.
        let waits: Vec<u64> = (0..5).map(|_| attempts.judge(client, false, 0).delay.as_secs()).collect();
        assert_eq!(waits, [1, 2, 3, 4, 5]);
        assert!(!attempts.judge(client, true, 0).is_admitted);
        // In turn the right one is let in, after its delay, and the next is free again.
        let verdict = attempts.judge(client, true, 6 * SECOND);
        assert_eq!((verdict.is_admitted, verdict.delay), (true, Duration::from_secs(1)));
        assert!(attempts.judge(client, true, 6 * SECOND).delay.is_zero());
        assert!(attempts.by_address.lock().unwrap().is_empty());
    }

    #[test]
    fn other_addresses_do_not_wait_but_a_network_of_ipv6_is_one() {
        let attempts = TokenAttempts::default();
        for host in 0..20 {
            attempts.judge(format!("2001:db8::{host:x}").parse().unwrap(), false, 0);
        }
        assert!(!attempts.judge("2001:db8::ffff".parse().unwrap(), true, 0).is_admitted);
        assert!(attempts.judge("2001:db8:0:1::1".parse().unwrap(), true, 0).is_admitted);
        assert!(attempts.judge("10.0.0.1".parse().unwrap(), true, 0).is_admitted);
    }

    #[test]
    fn the_memory_of_addresses_is_bounded() {
        let attempts = TokenAttempts::default();
        for host in 0..30_000_u32 {
            attempts.judge(std::net::Ipv4Addr::from(host).into(), false, u64::from(host));
        }
        assert!(attempts.by_address.lock().unwrap().len() <= MAX_ADDRESSES);
    }
}
