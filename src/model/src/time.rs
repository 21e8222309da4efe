//! Simulated time: whole steps of a whole number of nanoseconds, independent of any clock.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Number of steps. The state after the first step is that of step 1; step 0 is the model as loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StepIndex(pub u64);

impl StepIndex {
    /// The step `count` later.
    pub fn after(self, count: u64) -> Self {
        Self(self.0.saturating_add(count))
    }
}

impl std::fmt::Display for StepIndex {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

/// The fixed length of a step, a whole number of nanoseconds from 1 µs to 100 ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestep {
    nanoseconds: u64,
}

/// A length of time that cannot be a timestep.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[error("expected a timestep from 0.000001 to 0.1 s that is a whole number of nanoseconds, got {0}")]
pub struct TimestepError(pub f64);

impl Timestep {
    /// One millisecond, the timestep of the thesis.
    pub const MILLISECOND: Self = Self { nanoseconds: 1_000_000 };

    /// Reads a timestep in seconds.
    ///
    /// # Errors
    /// When it is outside 1 µs to 100 ms, or not a whole number of nanoseconds.
    pub fn from_seconds(seconds: f64) -> Result<Self, TimestepError> {
        let nanoseconds = seconds * 1e9;
        let whole = nanoseconds.round();
        // A decimal such as 0.0003 is not exact in binary; a millionth of a nanosecond is far above its rounding.
        if !(1e3..=1e8).contains(&whole) || (nanoseconds - whole).abs() > 1e-6 {
            return Err(TimestepError(seconds));
        }
        Ok(Self { nanoseconds: whole as u64 })
    }

    /// The length in seconds.
    pub fn seconds(self) -> f64 {
        self.nanoseconds as f64 * 1e-9
    }

    /// The length in nanoseconds.
    pub fn nanoseconds(self) -> u64 {
        self.nanoseconds
    }

    /// Simulated time at the end of `step`, in nanoseconds.
    pub fn nanoseconds_at(self, step: StepIndex) -> u64 {
        step.0.saturating_mul(self.nanoseconds)
    }

    /// Simulated time at the end of `step`, in seconds: the double nearest to the exact decimal.
    pub fn seconds_at(self, step: StepIndex) -> f64 {
        self.nanoseconds_at(step) as f64 / 1e9
    }

    /// The number of whole steps nearest to `seconds`.
    pub fn steps_in(self, seconds: f64) -> u64 {
        (seconds * 1e9 / self.nanoseconds as f64).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestep_is_a_whole_number_of_nanoseconds() {
        assert_eq!(Timestep::from_seconds(0.001), Ok(Timestep::MILLISECOND));
        assert_eq!(Timestep::from_seconds(0.0003).map(Timestep::nanoseconds), Ok(300_000));
        for bad in [0.0, -0.001, 1e-7, 0.2, f64::NAN, f64::INFINITY, 1.000_000_5e-3 + 1e-13] {
            assert!(Timestep::from_seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn time_does_not_drift_over_a_day() {
        assert_eq!(Timestep::MILLISECOND.seconds_at(StepIndex(86_400_000)), 86_400.0);
        assert_eq!(Timestep::MILLISECOND.seconds_at(StepIndex(3)), 0.003);
    }
}
