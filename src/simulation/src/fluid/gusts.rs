//! Gusts of wind: the sum of waves of random phase whose spectrum is Dryden's (MIL-F-8785C), for air at rest on average
//! as for a mean wind. They are a function of time, so that a gust needs no state (Shinozuka and Deodatis 1991).

use std::f64::consts::TAU;

use bevy_math::DVec3;
use simpartner_model::random::Stream;

/// Number of waves in each direction.
const WAVE_COUNT: usize = 64;
/// Range of wave numbers times the length of the gusts: it has 99 % of the spectrum's power.
const LOWEST_NUMBER: f64 = 0.01;
const HIGHEST_NUMBER: f64 = 60.0;
/// Least speed with which gusts pass, m/s: that of the air itself when there is no mean wind.
const LEAST_SPEED: f64 = 1.0;

/// Gusts in the three directions of the world.
pub(super) struct Gusts {
    /// Amplitude, m/s, angular frequency, rad/s, and phase of each wave.
    waves: [Vec<[f64; 3]>; 3],
}

impl Gusts {
    /// Gusts of a standard deviation, m/s, and a length, m, in a wind of this speed, m/s.
    pub(super) fn with_spectrum(deviation: f64, length: f64, speed: f64, mut stream: Stream) -> Self {
        let speed = speed.max(LEAST_SPEED);
        // Equal ratios of neighbouring wave numbers; the power of each interval goes into one wave.
        let ratio = libm::pow(HIGHEST_NUMBER / LOWEST_NUMBER, 1.0 / WAVE_COUNT as f64);
        let mut direction = || -> Vec<[f64; 3]> {
            let wave = |index: usize| {
                let low = LOWEST_NUMBER * libm::pow(ratio, index as f64);
                let high = low * ratio;
                // The integral of Dryden's longitudinal spectrum (2 / pi) / (1 + x²) between the two.
                let share = (libm::atan(high) - libm::atan(low)) * (2.0 / std::f64::consts::PI);
                let amplitude = deviation * (2.0 * share).sqrt();
                [amplitude, (low * high).sqrt() * speed / length, 0.0]
            };
            let mut waves: Vec<[f64; 3]> = (0..WAVE_COUNT).map(wave).collect();
            waves.iter_mut().for_each(|wave| wave[2] = TAU * stream.uniform());
            waves
        };
        Self { waves: [direction(), direction(), direction()] }
    }

    /// The gust at a time, s, world axes, m/s.
    pub(super) fn velocity_at(&self, time_s: f64) -> DVec3 {
        let sum = |waves: &Vec<[f64; 3]>| {
            waves.iter().map(|[amplitude, frequency, phase]| amplitude * libm::sin(frequency * time_s + phase)).sum()
        };
        DVec3::from_array([0, 1, 2].map(|direction| sum(&self.waves[direction])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The standard deviation and the correlation over time are those of Dryden's spectrum: exp(-V t / L).
    #[test]
    fn gusts_have_the_statistics_of_dryden() {
        let (deviation, length, speed) = (2.0, 50.0, 10.0);
        let (mut square, mut product, mut count) = (0.0, 0.0, 0.0);
        for seed in 0..400 {
            let gusts = Gusts::with_spectrum(deviation, length, speed, Stream::from_number(seed));
            for step in 0..20 {
                let time = f64::from(step) * 37.0;
                let (now, later) = (gusts.velocity_at(time), gusts.velocity_at(time + 2.0));
                square += now.dot(now) / 3.0;
                product += now.dot(later) / 3.0;
                count += 1.0;
            }
        }
        let found = (square / count).sqrt();
        assert!((found / deviation - 1.0).abs() < 0.03, "{found}");
        let correlation = product / square;
        assert!((correlation - (-speed * 2.0 / length).exp()).abs() < 0.05, "{correlation}");
    }
}
