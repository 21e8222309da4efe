//! Simulated time as a user writes it: in seconds, milliseconds or steps, by its suffix.

use crate::{StepIndex, Timestep};

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Seconds,
    Steps,
}

/// A simulated time from 0 on: `2.5s`, `20ms`, `2500steps`, or a plain number, whose unit depends on the setting or
/// flag.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moment {
    number: f64,
    unit: Unit,
}

/// The latest step that is counted, far beyond that of any run.
const LATEST_STEP: f64 = u32::MAX as f64;

impl Moment {
    /// Reads a time; a plain number is a number of steps.
    ///
    /// # Errors
    /// The text is not such a time; the error has the expected form.
    pub fn or_steps(text: &str) -> Result<Self, String> {
        Self::read(text, Unit::Steps)
    }

    /// Reads a time; a plain number is a number of seconds.
    ///
    /// # Errors
    /// The text is not such a time; the error has the expected form.
    pub fn or_seconds(text: &str) -> Result<Self, String> {
        Self::read(text, Unit::Seconds)
    }

    fn read(text: &str, plain: Unit) -> Result<Self, String> {
        let suffix = |ending| text.strip_suffix(ending).map(str::trim_end);
        let (number, unit, scale) = match (suffix("steps").or(suffix("step")), suffix("ms"), suffix("s")) {
            (Some(number), _, _) => (number, Unit::Steps, 1.0),
            (None, Some(number), _) => (number, Unit::Seconds, 1e3),
            (None, None, Some(number)) => (number, Unit::Seconds, 1.0),
            (None, None, None) => (text, plain, 1.0),
        };
        let number = number.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
        let number = number.filter(|number| unit == Unit::Seconds || number.fract() == 0.0);
        number.map(|number| Self { number: number / scale, unit }).ok_or_else(|| {
            "expected a time from 0 on: in seconds as 2.5s, in milliseconds as 20ms, or in steps as 2500steps".into()
        })
    }

    /// A time in seconds; a number below 0 or not finite counts as 0.
    pub fn of_seconds(seconds: f64) -> Self {
        Self { number: if seconds.is_finite() { seconds.max(0.0) } else { 0.0 }, unit: Unit::Seconds }
    }

    /// The number of seconds, if it is in seconds.
    pub fn as_seconds(self) -> Option<f64> {
        (self.unit == Unit::Seconds).then_some(self.number)
    }

    /// The same in whole nanoseconds.
    pub fn nanoseconds(self, timestep: Timestep) -> u64 {
        match self.unit {
            Unit::Seconds => (self.number * 1e9).round() as u64,
            Unit::Steps => (self.number.min(LATEST_STEP) as u64).saturating_mul(timestep.nanoseconds()),
        }
    }

    /// The nearest step.
    pub fn steps(self, timestep: Timestep) -> u64 {
        let steps = match self.unit {
            Unit::Seconds => self.number / timestep.seconds(),
            Unit::Steps => self.number,
        };
        steps.min(LATEST_STEP).round() as u64
    }

    /// The same in seconds.
    pub fn seconds(self, timestep: Timestep) -> f64 {
        match self.unit {
            Unit::Seconds => self.number,
            Unit::Steps => timestep.seconds_at(StepIndex(self.number.min(LATEST_STEP) as u64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suffix_says_the_unit_and_the_flag_that_of_a_plain_number() {
        let steps = |moment: Result<Moment, String>| moment.map(|moment| moment.steps(Timestep::MILLISECOND));
        assert_eq!(steps(Moment::or_steps("2.5s")), Ok(2500));
        assert_eq!(steps(Moment::or_seconds("2500steps")), Ok(2500));
        assert_eq!(steps(Moment::or_seconds("1 step")), Ok(1));
        assert_eq!(steps(Moment::or_steps("3000")), Ok(3000));
        assert_eq!(steps(Moment::or_seconds("3")), Ok(3000));
        assert_eq!(steps(Moment::or_steps("20ms")), Ok(20));
        assert_eq!(Moment::or_seconds("2.5ms").map(|moment| moment.nanoseconds(Timestep::MILLISECOND)), Ok(2_500_000));
        assert_eq!(Moment::or_seconds("3steps").map(|moment| moment.nanoseconds(Timestep::MILLISECOND)), Ok(3_000_000));
        assert_eq!(Moment::or_seconds("250steps").map(|moment| moment.seconds(Timestep::MILLISECOND)), Ok(0.25));
        // A fraction is probably a number of seconds.
        assert!(Moment::or_steps("2.5").is_err());
        for wrong in ["-5", "2.5steps", "soon", "", "s", "ms", "infs", "-1ms"] {
            assert!(Moment::or_seconds(wrong).is_err(), "{wrong}");
        }
    }
}
