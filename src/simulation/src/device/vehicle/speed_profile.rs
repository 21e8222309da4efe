//! The approach of a commanded speed within limits of speed, acceleration and jerk.

use serde::{Deserialize, Serialize};
use simpartner_description::MotionLimits;

/// A speed on its way to a commanded one.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct SpeedProfile {
    /// Speed, m/s or rad/s.
    pub(super) speed: f64,
    /// Acceleration in the last step.
    acceleration: f64,
}

impl SpeedProfile {
    /// The profile that begins at a speed.
    pub(super) fn starting_at(speed: f64) -> Self {
        Self { speed, acceleration: 0.0 }
    }

    /// Approaches `target` for a step of `h` seconds. The speed does not pass the target, unless the jerk must first
    /// end an acceleration that was meant for another target.
    pub(super) fn approach_target(&mut self, target: f64, limits: &MotionLimits, h: f64) {
        let target = target.clamp(-limits.speed, limits.speed);
        let distance = target - self.speed;
        let mut acceleration = (distance / h).clamp(-limits.acceleration, limits.acceleration);
        if limits.jerk.is_finite() {
            // An acceleration a that shrinks by j h in each step still adds a² / (2 j) + a h / 2 to the speed.
            let half = 0.5 * limits.jerk * h;
            let stoppable = (half * half + 2.0 * limits.jerk * distance.abs()).sqrt() - half;
            let change = limits.jerk * h;
            acceleration =
                acceleration.clamp(-stoppable, stoppable).clamp(self.acceleration - change, self.acceleration + change);
        }
        self.acceleration = acceleration;
        // Without limits that act, the speed is the target to the bit.
        self.speed = if acceleration == distance / h { target } else { self.speed + acceleration * h };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const H: f64 = 0.001;

    fn limits(speed: f64, acceleration: f64, jerk: f64) -> MotionLimits {
        MotionLimits { speed, acceleration, jerk }
    }

    /// Duration of the approach and the largest speed, acceleration and jerk on the way.
    fn approach(profile: &mut SpeedProfile, target: f64, limits: &MotionLimits) -> (f64, [f64; 3]) {
        let (mut steps, mut most) = (0, [0.0_f64; 3]);
        while (profile.speed - target).abs() > 1e-9 && steps < 100_000 {
            let before = *profile;
            profile.approach_target(target, limits, H);
            let jerk = (profile.acceleration - before.acceleration) / H;
            most = [most[0].max(profile.speed.abs()), most[1].max(profile.acceleration.abs()), most[2].max(jerk.abs())];
            steps += 1;
        }
        (steps as f64 * H, most)
    }

    #[test]
    fn without_limits_the_speed_is_the_target_at_once() {
        let mut profile = SpeedProfile::default();
        let free = limits(f64::INFINITY, f64::INFINITY, f64::INFINITY);
        profile.approach_target(0.7, &free, H);
        assert_eq!(profile.speed, 0.7);
        profile.approach_target(3.0, &limits(2.0, f64::INFINITY, f64::INFINITY), H);
        assert_eq!(profile.speed, 2.0);
    }

    /// A ramp takes v / a, and with a limited jerk v / a + a / j; neither passes its limits or the target.
    #[test]
    fn the_ramp_takes_the_time_of_theory() {
        let (time, most) = approach(&mut SpeedProfile::default(), 1.5, &limits(9.0, 2.0, f64::INFINITY));
        assert!((time - 0.75).abs() < 2.0 * H && most[1] <= 2.0 + 1e-9 && most[0] <= 1.5);
        let (time, most) = approach(&mut SpeedProfile::default(), -1.5, &limits(9.0, 2.0, 10.0));
        assert!((time - (0.75 + 0.2)).abs() < 4.0 * H, "{time}");
        assert!(most[0] <= 1.5 + 1e-9 && most[1] <= 2.0 + 1e-9 && most[2] <= 10.0 * (1.0 + 1e-6), "{most:?}");
    }

    /// A target that changes on the way is reached as well, with every limit kept.
    #[test]
    fn a_changed_target_is_reached_within_the_limits() {
        let mut profile = SpeedProfile::default();
        let limits = limits(2.0, 3.0, 20.0);
        for _ in 0..200 {
            profile.approach_target(2.0, &limits, H);
        }
        let (time, most) = approach(&mut profile, -1.0, &limits);
        assert!(time < 3.0 && most[1] <= 3.0 + 1e-9 && most[2] <= 20.0 * (1.0 + 1e-6), "{time} {most:?}");
    }
}
