//! `CFG`: the operational parameters of a sensor.

use super::{
    Refusal,
    number::{excerpt, read_numbers},
};
use crate::signal::{Action, Configuration, DeviceInfo, NoiseFigure, NoiseLaw, Quantity};

/// Fastest rate a sensor can be asked for, Hz; it is bounded by the timestep anyway.
const MAX_RATE_HZ: f64 = 1e6;
/// Longest latency, seconds.
const MAX_LATENCY_S: f64 = 10.0;
/// Largest parameter of noise, in its own unit.
const MAX_NOISE: f64 = 1e9;

/// Reads `CFG key=value ...`: parameters of every sensor, `range` of range sensors, and noise of all quantities or,
/// after the name of a quantity, of one.
pub(super) fn configure(info: &DeviceInfo, rest: &str) -> Result<Action, Refusal> {
    if info.kind.is_actuator() || info.fields.is_empty() {
        return Err(Refusal::Parameter(format!("a {} has no parameters", info.kind)));
    }
    let mut parameters = Vec::new();
    for (index, word) in rest.split_ascii_whitespace().enumerate() {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let parameter = parameter(info, key)
            .ok_or_else(|| Refusal::Parameter(format!("expected {}, got '{}'", known(info), excerpt(word))))?;
        let number = read_numbers(value).ok().filter(|numbers| numbers.len() == 1).map(|numbers| numbers[0]);
        let number = number.ok_or_else(|| Refusal::NotANumber { place: index + 1, got: excerpt(value) })?;
        parameters.push(parameter.with(key, number)?);
    }
    if parameters.is_empty() {
        return Err(Refusal::Parameter(format!("expected {}", known(info))));
    }
    Ok(Action::Configure(parameters))
}

/// A parameter whose value follows, with its bounds; the lower bound itself is excluded if `above`.
struct Parameter {
    lowest: f64,
    above: bool,
    highest: f64,
    make: Make,
}

enum Make {
    Rate,
    Range,
    Latency,
    Dropout,
    Noise(Option<usize>, NoiseFigure),
}

impl Parameter {
    fn with(self, key: &str, value: f64) -> Result<Configuration, Refusal> {
        let low_enough = if self.above { value > self.lowest } else { value >= self.lowest };
        if !(low_enough && value <= self.highest) {
            let above = if self.above { "above " } else { "" };
            let expected = format!("{above}{} to {}", self.lowest, self.highest);
            return Err(Refusal::Range { name: key.to_owned(), expected, got: value });
        }
        Ok(match self.make {
            Make::Rate => Configuration::RateHz(value),
            Make::Range => Configuration::RangeM(value),
            Make::Latency => Configuration::LatencyS(value),
            Make::Dropout => Configuration::Dropout(value),
            Make::Noise(quantity, figure) => Configuration::Noise { quantity, figure, value },
        })
    }
}

fn parameter(info: &DeviceInfo, key: &str) -> Option<Parameter> {
    let positive = |highest, make| Parameter { lowest: 0.0, above: true, highest, make };
    let from_zero = |highest, make| Parameter { lowest: 0.0, above: false, highest, make };
    match key {
        "rate" => return Some(positive(MAX_RATE_HZ, Make::Rate)),
        // The range of a scanner can be reduced, never extended beyond the model's.
        "range" if sees(info) => {
            return Some(positive(info.fields.first().map_or(0.0, |field| field.highest), Make::Range));
        }
        "latency" => return Some(from_zero(MAX_LATENCY_S, Make::Latency)),
        "dropout" => return Some(from_zero(1.0, Make::Dropout)),
        _ => {}
    }
    let (quantity, figure) = match key.split_once('.') {
        Some((name, figure)) => (Some(noisy(info).find(|(_, quantity)| quantity.name == name)?.0), figure),
        None => (None, key),
    };
    match figure {
        "noise" => Some(from_zero(MAX_NOISE, Make::Noise(quantity, NoiseFigure::StandardDeviation))),
        "drift" => Some(from_zero(MAX_NOISE, Make::Noise(quantity, NoiseFigure::Drift))),
        "quantisation" => Some(from_zero(MAX_NOISE, Make::Noise(quantity, NoiseFigure::Quantisation))),
        "bias" => {
            let make = Make::Noise(quantity, NoiseFigure::Bias);
            Some(Parameter { lowest: -MAX_NOISE, above: false, highest: MAX_NOISE, make })
        }
        _ => None,
    }
}

fn sees(info: &DeviceInfo) -> bool {
    info.kind.description().attributes.contains(&"range")
}

fn noisy(info: &DeviceInfo) -> impl Iterator<Item = (usize, &'static Quantity)> {
    info.kind.description().quantities.iter().enumerate().filter(|(_, quantity)| quantity.noise != NoiseLaw::None)
}

fn known(info: &DeviceInfo) -> String {
    let range = if sees(info) { "range=M, " } else { "" };
    let names: Vec<&str> = noisy(info).map(|(_, quantity)| quantity.name).collect();
    let apart = match names[..] {
        [_] | [] => String::new(),
        _ => format!(", the last four also of one quantity as in {}.noise=SD ({})", names[0], names.join(", ")),
    };
    format!("rate=HZ, {range}latency=S, dropout=P, noise=SD, bias=B, drift=D or quantisation=Q{apart}")
}
