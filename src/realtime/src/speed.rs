//! How fast simulated time passes.

use simpartner_model::Timestep;

/// Over how long the real-time factor is taken, nanoseconds.
const WINDOW_NS: u64 = 1_000_000_000;

/// Counts the wall time while the clock runs and the steps in it.
#[derive(Debug, Default)]
pub(super) struct Speed {
    playing_since_ns: Option<u64>,
    played_ns: u64,
    steps: u64,
    window_start_ns: u64,
    window_start_steps: u64,
    factor: f64,
}

impl Speed {
    /// The clock starts to run.
    pub(super) fn start(&mut self, now_ns: u64) {
        self.playing_since_ns = Some(now_ns);
        self.window_start_ns = now_ns;
        self.window_start_steps = self.steps;
    }

    /// The clock stops.
    pub(super) fn stop(&mut self, now_ns: u64) {
        if let Some(since) = self.playing_since_ns.take() {
            self.played_ns += now_ns - since;
        }
        self.factor = 0.0;
    }

    /// A step was made.
    pub(super) fn step(&mut self, now_ns: u64, timestep: Timestep) {
        self.steps += 1;
        let window_ns = now_ns.saturating_sub(self.window_start_ns);
        if window_ns >= WINDOW_NS {
            let simulated_ns = (self.steps - self.window_start_steps) * timestep.nanoseconds();
            self.factor = simulated_ns as f64 / window_ns as f64;
            self.window_start_ns = now_ns;
            self.window_start_steps = self.steps;
        }
    }

    /// Steps made in all.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// Wall time while the clock ran, up to a moment at which it runs, nanoseconds.
    pub(super) fn played_ns(&self, now_ns: u64) -> u64 {
        self.played_ns + self.playing_since_ns.map_or(0, |since| now_ns.saturating_sub(since))
    }

    /// Wall time while the clock ran, seconds.
    pub(super) fn played_s(&self) -> f64 {
        self.played_ns as f64 * 1e-9
    }

    /// Simulated over wall time in the last full second; 0 before, and while the clock is paused.
    pub(super) fn real_time_factor(&self) -> f64 {
        self.factor
    }
}
