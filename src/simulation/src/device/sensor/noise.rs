//! Sensor noise: bias, drift, random error and quantisation of readings.

use std::ops::Range;

use bevy_math::{DQuat, DVec3};
use serde::{Deserialize, Serialize};
use simpartner_description::Noise;
use simpartner_model::random::Stream;
use simpartner_wire::signal::{Field, NoiseFigure, NoiseLaw, Quantity};

/// The noise of a sensor, for each quantity:
///
/// reading = round(true value + bias + drift + noise), clamped to the range of the field
///
/// Noise is drawn for each reading. Drift is a random walk that advances by the time since the last reading. Bias,
/// drift and noise of an orientation are angles about the sensor's axes; the orientation is rotated by their sum.
#[derive(Debug, Clone)]
pub(super) struct NoiseModel {
    parts: Vec<QuantityNoise>,
    pub(super) stream: Stream,
}

/// State of a [`NoiseModel`] between readings: figures and drift of each quantity.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct NoiseState {
    parts: Vec<(Noise, Vec<f64>)>,
    stream: Stream,
}

/// The noise of one quantity.
#[derive(Debug, Clone)]
struct QuantityNoise {
    fields: Range<usize>,
    law: NoiseLaw,
    noise: Noise,
    /// Present drift of each component, in the unit of the quantity.
    drifted: Vec<f64>,
}

impl NoiseModel {
    /// The noise of a sensor with these quantities and `width` fields. `noise` has one entry for each quantity, or is
    /// empty.
    pub(super) fn new(quantities: &[Quantity], width: usize, noise: &[Noise], stream: Stream) -> Self {
        let mut start = 0;
        let parts = quantities.iter().enumerate().map(|(index, quantity)| {
            // A single quantity has all fields of the sensor, such as the rays of a scanner.
            let end = if quantities.len() == 1 { width } else { start + quantity.fields.len() };
            let fields = std::mem::replace(&mut start, end)..end;
            let components = if quantity.noise == NoiseLaw::Rotation { 3 } else { fields.len() };
            let noise = noise.get(index).copied().unwrap_or_default();
            QuantityNoise { fields, law: quantity.noise, noise, drifted: vec![0.0; components] }
        });
        Self { parts: parts.collect(), stream }
    }

    /// Changes a figure of one quantity, or of all.
    pub(super) fn configure(&mut self, quantity: Option<usize>, figure: NoiseFigure, value: f64) {
        for (_, part) in
            self.parts.iter_mut().enumerate().filter(|(index, _)| quantity.is_none_or(|only| only == *index))
        {
            match figure {
                NoiseFigure::StandardDeviation => part.noise.standard_deviation = value,
                NoiseFigure::Bias => part.noise.bias = value,
                NoiseFigure::Drift => part.noise.drift = value,
                NoiseFigure::Quantisation => part.noise.quantisation = value,
            }
        }
    }

    /// True if the model neither changes readings nor draws random numbers for them.
    pub(super) fn is_silent(&self) -> bool {
        self.parts.iter().all(QuantityNoise::is_silent)
    }

    /// The noise figures of each quantity.
    pub(super) fn figures(&self) -> Vec<Noise> {
        self.parts.iter().map(|part| part.noise).collect()
    }

    /// A copy with other figures; `None` if these are of another kind of sensor.
    pub(super) fn with_figures(&self, figures: &[Noise]) -> Option<Self> {
        if figures.len() != self.parts.len() {
            return None;
        }
        let mut other = self.clone();
        other.parts.iter_mut().zip(figures).for_each(|(part, figures)| part.noise = *figures);
        Some(other)
    }

    /// Copies drift and random number stream from another model of the same sensor; keeps its own figures.
    pub(super) fn copy_drift_from(&mut self, other: &Self) {
        for (part, other) in self.parts.iter_mut().zip(&other.parts) {
            part.drifted.clone_from(&other.drifted);
        }
        self.stream = other.stream.clone();
    }

    /// Adds noise to a reading that was taken `elapsed_s` seconds after the previous one.
    pub(super) fn apply_noise(&mut self, reading: &mut [f64], bounds: &[Field], elapsed_s: f64) {
        for part in &mut self.parts {
            if !part.is_silent() {
                let fields = part.fields.clone();
                part.apply_noise(&mut reading[fields.clone()], &bounds[fields], elapsed_s, &mut self.stream);
            }
        }
    }

    pub(super) fn state(&self) -> NoiseState {
        let parts = self.parts.iter().map(|part| (part.noise, part.drifted.clone()));
        NoiseState { parts: parts.collect(), stream: self.stream.clone() }
    }

    /// Restores a state. False if the state is of another kind of sensor.
    pub(super) fn restore(&mut self, state: NoiseState) -> bool {
        let mut pairs = self.parts.iter().zip(&state.parts);
        let fits = self.parts.len() == state.parts.len()
            && pairs.all(|(part, (_, drifted))| part.drifted.len() == drifted.len());
        if fits {
            for (part, (noise, drifted)) in self.parts.iter_mut().zip(state.parts) {
                (part.noise, part.drifted) = (noise, drifted);
            }
            self.stream = state.stream;
        }
        fits
    }
}

impl QuantityNoise {
    fn is_silent(&self) -> bool {
        self.law == NoiseLaw::None || self.noise == Noise::default()
    }

    fn apply_noise(&mut self, reading: &mut [f64], bounds: &[Field], elapsed_s: f64, stream: &mut Stream) {
        let Noise { standard_deviation, bias, drift, quantisation } = self.noise;
        let mut error = |drifted: &mut f64| {
            if drift > 0.0 {
                *drifted += drift * elapsed_s.sqrt() * stream.gaussian();
            }
            let noise = if standard_deviation > 0.0 { standard_deviation * stream.gaussian() } else { 0.0 };
            bias + *drifted + noise
        };
        if let (NoiseLaw::Rotation, [x, y, z, w]) = (self.law, &mut *reading) {
            let mut angles = [0.0; 3];
            angles.iter_mut().zip(&mut self.drifted).for_each(|(angle, drifted)| *angle = error(drifted));
            let turned = DQuat::from_xyzw(*x, *y, *z, *w) * rotation_from_vector(DVec3::from_array(angles));
            [*x, *y, *z, *w] = turned.normalize().to_array();
        } else {
            reading.iter_mut().zip(&mut self.drifted).for_each(|(value, drifted)| *value += error(drifted));
        }
        for (value, field) in reading.iter_mut().zip(bounds) {
            if quantisation > 0.0 {
                *value = (*value / quantisation).round() * quantisation;
            }
            *value = match self.law {
                NoiseLaw::Angle => value.rem_euclid(std::f64::consts::TAU),
                _ => value.clamp(field.lowest, field.highest),
            };
        }
    }
}

/// The rotation by a rotation vector, radians.
fn rotation_from_vector(vector: DVec3) -> DQuat {
    let angle = vector.length();
    let (sine, cosine) = libm::sincos(angle / 2.0);
    let axis = if angle > 0.0 { vector / angle } else { DVec3::ZERO };
    DQuat::from_xyzw(axis.x * sine, axis.y * sine, axis.z * sine, cosine)
}
