//! The real-time factor: simulated time per wall time.

use simpartner_model::Timestep;

/// Averaging window of the real-time factor, nanoseconds.
const WINDOW_NS: u64 = 1_000_000_000;

/// Counts steps and the wall time during which the clock runs.
#[derive(Debug, Default)]
pub(super) struct Speed {
    /// Time of the last start, monotonic nanoseconds; `None` while the clock is stopped.
    playing_since_ns: Option<u64>,
    /// Wall time during which the clock ran before the last start.
    played_ns: u64,
    steps: u64,
    /// Start of the averaging window, monotonic nanoseconds.
    window_start_ns: u64,
    /// Number of steps before the averaging window.
    window_start_steps: u64,
    /// Real-time factor of the last full window.
    factor: f64,
}

impl Speed {
    /// Marks the moment at which the clock starts to run.
    pub(super) fn start(&mut self, now_ns: u64) {
        self.playing_since_ns = Some(now_ns);
        self.window_start_ns = now_ns;
        self.window_start_steps = self.steps;
    }

    /// Marks the moment at which the clock stops; the real-time factor becomes 0.
    pub(super) fn stop(&mut self, now_ns: u64) {
        if let Some(since) = self.playing_since_ns.take() {
            self.played_ns += now_ns - since;
        }
        self.factor = 0.0;
    }

    /// Counts a step, and updates the real-time factor at the end of a window.
    pub(super) fn count_step(&mut self, now_ns: u64, timestep: Timestep) {
        self.steps += 1;
        let window_ns = now_ns.saturating_sub(self.window_start_ns);
        if window_ns >= WINDOW_NS {
            let simulated_ns = (self.steps - self.window_start_steps) * timestep.nanoseconds();
            self.factor = simulated_ns as f64 / window_ns as f64;
            self.window_start_ns = now_ns;
            self.window_start_steps = self.steps;
        }
    }

    /// Number of steps in the run, resets included.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// Wall time during which the clock has run, up to `now_ns`, nanoseconds.
    pub(super) fn played_ns(&self, now_ns: u64) -> u64 {
        self.played_ns + self.playing_since_ns.map_or(0, |since| now_ns.saturating_sub(since))
    }

    /// Wall time during which the clock has run, up to its last stop, seconds.
    pub(super) fn played_s(&self) -> f64 {
        self.played_ns as f64 * 1e-9
    }

    /// Simulated over wall time in the last full second; 0 during the first second, and while the clock is paused.
    pub(super) fn real_time_factor(&self) -> f64 {
        self.factor
    }
}
