//! How far readings are off.

use std::ops::Range;

use bevy_math::{DQuat, DVec3};
use serde::{Deserialize, Serialize};
use simpartner_description::Noise;
use simpartner_wire::signal::{Field, NoiseFigure, NoiseLaw, Quantity};

use crate::device::random::Stream;

/// The imperfections of a sensor, quantity by quantity:
///
/// reading = round(true + bias + drift + noise), kept in the range of the field
///
/// Noise is drawn afresh for each reading; drift is a random walk that goes on by the time since the last one. Of an
/// orientation bias, drift and noise are angles about the sensor's axes, and the sum turns it.
#[derive(Debug, Clone)]
pub(super) struct Imperfections {
    parts: Vec<Part>,
    pub(super) stream: Stream,
}

/// What it carries from reading to reading: for each quantity its figures and how far it has drifted.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Memory {
    parts: Vec<(Noise, Vec<f64>)>,
    stream: Stream,
}

#[derive(Debug, Clone)]
struct Part {
    fields: Range<usize>,
    law: NoiseLaw,
    noise: Noise,
    /// How far each component has drifted.
    drifted: Vec<f64>,
}

impl Imperfections {
    /// Those of a sensor with these quantities and `width` fields; `noise` has one entry for each quantity, or none.
    pub(super) fn new(quantities: &[Quantity], width: usize, noise: &[Noise], stream: Stream) -> Self {
        let mut start = 0;
        let parts = quantities.iter().enumerate().map(|(index, quantity)| {
            // Of a single quantity there are as many fields as the sensor has, such as rays.
            let end = if quantities.len() == 1 { width } else { start + quantity.fields.len() };
            let fields = std::mem::replace(&mut start, end)..end;
            let components = if quantity.noise == NoiseLaw::Rotation { 3 } else { fields.len() };
            let noise = noise.get(index).copied().unwrap_or_default();
            Part { fields, law: quantity.noise, noise, drifted: vec![0.0; components] }
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

    /// Spoils a reading, taken so long after the one before, seconds.
    pub(super) fn spoil(&mut self, reading: &mut [f64], bounds: &[Field], elapsed_s: f64) {
        for part in &mut self.parts {
            if part.law != NoiseLaw::None && part.noise != Noise::default() {
                let fields = part.fields.clone();
                part.spoil(&mut reading[fields.clone()], &bounds[fields], elapsed_s, &mut self.stream);
            }
        }
    }

    pub(super) fn memory(&self) -> Memory {
        let parts = self.parts.iter().map(|part| (part.noise, part.drifted.clone()));
        Memory { parts: parts.collect(), stream: self.stream.clone() }
    }

    /// Takes that up again. False if it is of another kind of sensor.
    pub(super) fn recall(&mut self, memory: Memory) -> bool {
        let mut pairs = self.parts.iter().zip(&memory.parts);
        let fits = self.parts.len() == memory.parts.len()
            && pairs.all(|(part, (_, drifted))| part.drifted.len() == drifted.len());
        if fits {
            for (part, (noise, drifted)) in self.parts.iter_mut().zip(memory.parts) {
                (part.noise, part.drifted) = (noise, drifted);
            }
            self.stream = memory.stream;
        }
        fits
    }
}

impl Part {
    fn spoil(&mut self, reading: &mut [f64], bounds: &[Field], elapsed_s: f64, stream: &mut Stream) {
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
            let turned = DQuat::from_xyzw(*x, *y, *z, *w) * turn(DVec3::from_array(angles));
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

/// The rotation by a vector, radians.
fn turn(vector: DVec3) -> DQuat {
    let angle = vector.length();
    let (sine, cosine) = libm::sincos(angle / 2.0);
    let axis = if angle > 0.0 { vector / angle } else { DVec3::ZERO };
    DQuat::from_xyzw(axis.x * sine, axis.y * sine, axis.z * sine, cosine)
}
