//! Long computations in slices, between which Python handles its signals.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use pyo3::prelude::*;

/// Aimed duration of a slice: Ctrl-C ends a step within it.
const SLICE: Duration = Duration::from_millis(50);

/// Steps of the first slice, before the duration of a step is known: a second for steps of 15 ms.
const FIRST_SLICE: u64 = 64;

/// Number of steps in a slice, as earlier slices took.
#[derive(Debug)]
pub(crate) struct Pace(AtomicU64);

impl Default for Pace {
    fn default() -> Self {
        Self(AtomicU64::new(FIRST_SLICE))
    }
}

impl Pace {
    /// Runs `count` steps in slices without the interpreter. `run` makes the steps of a slice; its argument is their
    /// number.
    ///
    /// # Errors
    /// The error of `run`, or that of a signal's handler, such as a `KeyboardInterrupt`. The slices before are made.
    pub(crate) fn run<E: Send>(
        &self,
        py: Python<'_>,
        count: u64,
        mut run: impl FnMut(u64) -> Result<(), E> + Send,
        exception: impl Fn(E) -> PyErr,
    ) -> PyResult<()> {
        let mut left = count;
        loop {
            let slice = self.0.load(Ordering::Relaxed).clamp(1, left.max(1)).min(left);
            // A single slice is not measured: two readings of the clock take as long as the call.
            let began = (slice < left).then(Instant::now);
            py.detach(|| run(slice)).map_err(&exception)?;
            left -= slice;
            if left == 0 {
                return Ok(());
            }
            if let Some(began) = began {
                let ratio = SLICE.as_secs_f64() / began.elapsed().as_secs_f64().max(1e-9);
                // At most fourfold, because the first steps of a world are no measure of later ones.
                self.0.store(((slice as f64 * ratio.min(4.0)) as u64).max(1), Ordering::Relaxed);
            }
            py.check_signals()?;
        }
    }
}
