//! A bounded amount that all clients share, such as memory for commands that have not reached the log yet.
//!
//! One rule divides it: a client may hold at most a quarter of the sum of its own and the free amount (a dynamic
//! threshold, as in buffers of switches: Choudhury and Hahne, 1998), and always a small amount, independent of the
//! others. A single client gets a quarter; n clients with unlimited demand get 1 / (n + 3) each.

use std::{
    collections::HashMap,
    ops::RangeInclusive,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::ClientId;

/// Divisor of the sum of the free and the client's own amount, which gives the client's limit.
const SHARE_DIVISOR: usize = 4;

/// An amount to reserve from.
#[derive(Debug)]
pub struct Budget {
    total: usize,
    /// Smallest and largest limit of one client, independent of the free amount.
    bounds: RangeInclusive<usize>,
    held: Arc<AtomicUsize>,
    /// Amount held by each client. Clients that hold nothing may be missing.
    clients: Mutex<HashMap<ClientId, Arc<AtomicUsize>>>,
}

/// A client asked for more than its share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overdrawn {
    /// Amount that the client holds.
    pub held: usize,
    /// Its present limit.
    pub share: usize,
}

/// A reserved part of a budget, returned when the last clone is dropped. The default reserves nothing.
#[derive(Debug, Clone, Default)]
pub struct Reservation {
    _held: Option<Arc<Held>>,
}

#[derive(Debug)]
struct Held {
    amount: usize,
    of_all: Arc<AtomicUsize>,
    of_client: Arc<AtomicUsize>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.of_all.fetch_sub(self.amount, Ordering::Relaxed);
        self.of_client.fetch_sub(self.amount, Ordering::Relaxed);
    }
}

impl PartialEq for Reservation {
    /// Always true: the reservation of a command is not part of its content.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Budget {
    /// Creates a budget of `total`. Each client may always hold the lower bound, and never more than the upper bound.
    /// Together, clients hold at most `total` and the lower bound of each.
    pub fn new(total: usize, bounds: RangeInclusive<usize>) -> Self {
        Self { total, bounds, held: Arc::default(), clients: Mutex::default() }
    }

    /// Reserves a part for a client. Returning it needs no lock, so a real-time thread may do it.
    ///
    /// # Errors
    /// The client would exceed its share.
    pub fn reserve(&self, client: ClientId, amount: usize) -> Result<Reservation, Overdrawn> {
        // Every statement leaves the map whole, so a panic elsewhere does not spoil it.
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let of_client = match clients.get(&client) {
            Some(held) => Arc::clone(held),
            None => {
                clients.retain(|_, held| held.load(Ordering::Relaxed) > 0);
                Arc::clone(clients.entry(client).or_default())
            }
        };
        // Reservations are made under the lock, so both can only decrease in the meantime.
        let held = of_client.load(Ordering::Relaxed);
        let share = self.share(held);
        if held.saturating_add(amount) > share {
            return Err(Overdrawn { held, share });
        }
        self.held.fetch_add(amount, Ordering::Relaxed);
        of_client.fetch_add(amount, Ordering::Relaxed);
        let held = Held { amount, of_all: Arc::clone(&self.held), of_client };
        Ok(Reservation { _held: Some(Arc::new(held)) })
    }

    /// Limit of a client that holds this amount.
    fn share(&self, held: usize) -> usize {
        let free = self.total.saturating_sub(self.held.load(Ordering::Relaxed));
        ((free + held) / SHARE_DIVISOR).clamp(*self.bounds.start(), *self.bounds.end())
    }

    /// True if a client could reserve this amount now.
    pub fn has(&self, client: ClientId, amount: usize) -> bool {
        let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let held = clients.get(&client).map_or(0, |held| held.load(Ordering::Relaxed));
        held.saturating_add(amount) <= self.share(held)
    }

    /// Amount held by all clients together.
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fill(budget: &Budget, client: u64) -> Vec<Reservation> {
        std::iter::from_fn(|| budget.reserve(ClientId(client), 1).ok()).collect()
    }

    #[test]
    fn a_client_alone_gets_a_quarter_and_nobody_can_take_all() {
        let budget = Budget::new(1000, 2..=usize::MAX);
        let first = fill(&budget, 1);
        assert_eq!(first.len(), 250);
        let others: Vec<_> = (2..100).map(|client| fill(&budget, client)).collect();
        assert!(others.iter().all(|held| held.len() >= 2), "somebody was locked out");
        assert!(budget.held() <= 1000 + 99 * 2);
        drop((first, others));
        assert_eq!((budget.held(), fill(&budget, 7).len()), (0, 250));
    }

    #[test]
    fn a_bound_for_each_client_holds_as_well() {
        let budget = Budget::new(1000, 0..=10);
        let held = fill(&budget, 1);
        assert_eq!(held.len(), 10);
        assert_eq!(budget.reserve(ClientId(1), 1), Err(Overdrawn { held: 10, share: 10 }));
        assert!(!budget.has(ClientId(1), 1) && budget.has(ClientId(2), 10) && !budget.has(ClientId(2), 11));
        let clone = held[0].clone();
        drop(held);
        assert_eq!(budget.held(), 1, "a clone holds what the original held");
        drop(clone);
        assert_eq!(budget.held(), 0);
    }

    proptest! {
        #[test]
        fn whatever_is_reserved_and_given_back_the_sums_agree(
            turns in proptest::collection::vec((1u64..5, 0usize..400, any::<bool>()), 0..200),
        ) {
            let budget = Budget::new(1000, 0..=usize::MAX);
            let mut held: Vec<(usize, Reservation)> = Vec::new();
            for (client, amount, gives_back) in turns {
                if gives_back && !held.is_empty() {
                    held.swap_remove(amount % held.len());
                } else if let Ok(reservation) = budget.reserve(ClientId(client), amount) {
                    held.push((amount, reservation));
                }
                prop_assert_eq!(budget.held(), held.iter().map(|(amount, _)| amount).sum::<usize>());
                prop_assert!(budget.held() <= 1000);
            }
        }
    }
}
