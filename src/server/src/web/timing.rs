//! Waiting for ticks and for new values.

use std::time::Duration;

use tokio::{
    sync::watch,
    time::{Interval, MissedTickBehavior, interval},
};

/// Ticks at once and then in this period. Ticks that nobody waited for are left out.
pub(super) fn grid(period: Duration) -> Interval {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    ticks
}

/// Waits for the next tick; for ever without a pace.
pub(super) async fn tick(pace: &mut Option<Interval>) {
    match pace {
        Some(pace) => drop(pace.tick().await),
        None => std::future::pending().await,
    }
}

/// Waits for a new value. After the run's end none comes.
pub(super) async fn changed<T>(watched: &mut watch::Receiver<T>) {
    if watched.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}
