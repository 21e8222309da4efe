//! Waiting for timer ticks and for new values of a watch channel.

use std::time::Duration;

use tokio::{
    sync::watch,
    time::{Interval, MissedTickBehavior, interval},
};

/// A timer that ticks at once and then once a period. Ticks that nobody waited for are skipped.
pub(super) fn skipping_interval(period: Duration) -> Interval {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    ticks
}

/// Waits for the next tick; without a timer, forever.
pub(super) async fn tick(pace: &mut Option<Interval>) {
    match pace {
        Some(pace) => drop(pace.tick().await),
        None => std::future::pending().await,
    }
}

/// Waits for a new value; after the end of the run, forever.
pub(super) async fn changed<T>(watched: &mut watch::Receiver<T>) {
    if watched.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}
