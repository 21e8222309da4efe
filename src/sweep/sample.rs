//! The values of a case: a function of the sweep file and of the number of the case.

use std::f64::consts::{SQRT_2, TAU};

use simpartner_model::random::Stream;

use super::file::{Axis, Sampling, Values};

/// Draws the values of all cases of a sweep.
#[derive(Debug, Clone)]
pub(super) struct Sampler {
    sampling: Sampling,
    seed: u64,
    /// Number of cases.
    cases: u64,
    /// For each axis, the stratum of each case of a Latin hypercube; empty for other samplings.
    strata: Vec<Vec<u32>>,
}

impl Sampler {
    pub(super) fn of_sampling(sampling: Sampling, seed: u64, cases: u64, axes: usize) -> Self {
        let strata = match sampling {
            Sampling::Latin => (0..axes).map(|axis| shuffled_numbers(cases, axis_seed(seed, axis))).collect(),
            Sampling::Grid | Sampling::Random | Sampling::Sobol => Vec::new(),
        };
        Self { sampling, seed, cases, strata }
    }

    /// The values of a case, one for each axis, as text.
    pub(super) fn case_values(&self, axes: &[Axis], case: u64) -> Vec<String> {
        match self.sampling {
            Sampling::Grid => grid_values(axes, case),
            Sampling::Random | Sampling::Latin | Sampling::Sobol => {
                let fractions = self.case_fractions(axes.len(), case);
                axes.iter().zip(fractions).map(|(axis, fraction)| axis.values.at_fraction(fraction)).collect()
            }
        }
    }

    /// A number above 0 and below 1 for each axis.
    fn case_fractions(&self, axes: usize, case: u64) -> Vec<f64> {
        let first = Stream::from_number(self.seed).number();
        let mut stream = Stream::from_number(first.wrapping_add(case));
        let fraction = |axis: usize| match self.sampling {
            Sampling::Grid | Sampling::Random => stream.uniform(),
            Sampling::Latin => (f64::from(self.strata[axis][case as usize]) + stream.uniform()) / self.cases as f64,
            Sampling::Sobol => {
                // Points and axes have been counted, so they fit. The crate returns multiples of 2^-24.
                f64::from(sobol_burley::sample(case as u32, axis as u32, self.seed as u32)) + f64::EPSILON
            }
        };
        (0..axes).map(fraction).map(|fraction| fraction.clamp(f64::EPSILON, 1.0 - f64::EPSILON)).collect()
    }
}

/// The values of a grid: the last axis varies fastest.
fn grid_values(axes: &[Axis], case: u64) -> Vec<String> {
    let mut rest = case;
    let mut values: Vec<String> = Vec::with_capacity(axes.len());
    for axis in axes.iter().rev() {
        let count = axis.values.grid_count().unwrap_or(1);
        values.push(axis.values.at_index(rest % count));
        rest /= count;
    }
    values.reverse();
    values
}

fn axis_seed(seed: u64, axis: usize) -> u64 {
    let mut stream = Stream::from_number(seed);
    (0..=axis).map(|_| stream.number()).last().unwrap_or(seed)
}

/// The numbers below `count` in random order (Fisher and Yates).
fn shuffled_numbers(count: u64, seed: u64) -> Vec<u32> {
    let mut stream = Stream::from_number(seed);
    let mut numbers: Vec<u32> = (0..count as u32).collect();
    for place in (1..numbers.len()).rev() {
        numbers.swap(place, stream.below(place + 1));
    }
    numbers
}

impl Values {
    /// The values of a list; none for a range.
    pub(super) fn listed_values(&self) -> Vec<String> {
        match self {
            Self::List(values) => values.clone(),
            _ => Vec::new(),
        }
    }

    /// Number of values of a grid; `None` for a distribution.
    pub(super) fn grid_count(&self) -> Option<u64> {
        match self {
            Self::List(values) => Some(values.len() as u64),
            Self::Linear { count, .. } => Some(*count),
            Self::Integers { lowest, highest } => Some(highest.abs_diff(*lowest).saturating_add(1)),
            Self::Uniform { .. } | Self::LogUniform { .. } | Self::Normal { .. } => None,
        }
    }

    fn at_index(&self, index: u64) -> String {
        match self {
            Self::List(values) => values[index as usize].clone(),
            Self::Linear { from, to, count } => {
                let last = count.saturating_sub(1).max(1) as f64;
                // Both ends are exact.
                let value = if index == count.saturating_sub(1) && *count > 1 {
                    *to
                } else {
                    from + (to - from) * index as f64 / last
                };
                value.to_string()
            }
            Self::Integers { lowest, .. } => lowest.saturating_add_unsigned(index).to_string(),
            Self::Uniform { .. } | Self::LogUniform { .. } | Self::Normal { .. } => self.at_fraction(0.5),
        }
    }

    /// The value with this fraction of the distribution below it.
    fn at_fraction(&self, fraction: f64) -> String {
        let index = |count: u64| ((fraction * count as f64) as u64).min(count.saturating_sub(1));
        match self {
            Self::List(_) | Self::Linear { .. } | Self::Integers { .. } => {
                self.at_index(index(self.grid_count().unwrap_or(1)))
            }
            Self::Uniform { lowest, highest } => (lowest + (highest - lowest) * fraction).to_string(),
            Self::LogUniform { lowest, highest } => {
                (lowest * libm::exp(libm::log(highest / lowest) * fraction)).to_string()
            }
            Self::Normal { mean, deviation } => (mean + deviation * normal_quantile(fraction)).to_string(),
        }
    }
}

/// Quantile of the standard normal distribution: the solution x of erfc(-x / sqrt 2) / 2 = `fraction`, by Halley's
/// method from the approximation 26.2.23 of Abramowitz and Stegun, whose error is below 4.5e-4.
fn normal_quantile(fraction: f64) -> f64 {
    /// The method triples the number of right digits in each iteration.
    const HALLEY_ITERATIONS: usize = 3;
    // In the lower half, where the distribution keeps its relative accuracy.
    let tail = fraction.min(1.0 - fraction);
    let t = (-2.0 * libm::log(tail)).sqrt();
    let numerator = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let mut x = numerator / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308))) - t;
    for _ in 0..HALLEY_ITERATIONS {
        let density = libm::exp(-0.5 * x * x) / TAU.sqrt();
        let newton = (0.5 * libm::erfc(-x / SQRT_2) - tail) / density;
        // Halley: the second derivative of the distribution is -x times its density.
        x -= newton / (1.0 + 0.5 * x * newton);
    }
    if fraction < 0.5 { x } else { -x }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles that every table has.
    #[test]
    fn the_quantiles_of_the_normal_distribution_are_those_of_tables() {
        for (fraction, expected) in [
            (0.5, 0.0),
            (0.841_344_746_068_542_9, 1.0),
            (0.975, 1.959_963_984_540_054),
            (0.000_031_671_241_833_119_86, -4.0),
            (1e-10, -6.361_340_902_404_056),
        ] {
            assert!((normal_quantile(fraction) - expected).abs() < 1e-9, "{fraction}: {}", normal_quantile(fraction));
        }
    }

    #[test]
    fn a_latin_hypercube_has_one_case_in_each_stratum() {
        let axis = |name: &str| Axis {
            name: name.into(),
            values: Values::Uniform { lowest: 0.0, highest: 1.0 },
            is_factor: false,
        };
        let axes = [axis("a"), axis("b")];
        let sampler = Sampler::of_sampling(Sampling::Latin, 3, 50, 2);
        for place in 0..2 {
            let mut strata: Vec<u32> = (0..50)
                .map(|case| (sampler.case_values(&axes, case)[place].parse::<f64>().unwrap() * 50.0) as u32)
                .collect();
            strata.sort_unstable();
            assert_eq!(strata, (0..50).collect::<Vec<_>>());
        }
        assert_ne!(
            sampler.case_values(&axes, 0),
            Sampler::of_sampling(Sampling::Latin, 4, 50, 2).case_values(&axes, 0)
        );
    }

    #[test]
    fn a_grid_has_every_combination_once() {
        let axes = [
            Axis { name: "a".into(), values: Values::List(vec!["x".into(), "y".into()]), is_factor: false },
            Axis { name: "b".into(), values: Values::Linear { from: 0.0, to: 0.3, count: 4 }, is_factor: false },
        ];
        let sampler = Sampler::of_sampling(Sampling::Grid, 0, 8, 2);
        let all: Vec<Vec<String>> = (0..8).map(|case| sampler.case_values(&axes, case)).collect();
        assert_eq!(all[0], ["x", "0"]);
        assert_eq!(all[7], ["y", "0.3"]);
        let mut distinct = all.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), 8);
    }
}
