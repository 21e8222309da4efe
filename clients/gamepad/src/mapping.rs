//! A mapping file: which stick or button moves which field of which devices.
//!
//! It is independent of the server; [`crate::link`] checks that the devices exist. The page "Gamepad" of the book
//! describes the format.

use std::collections::BTreeMap;

use serde::Deserialize;
use thiserror::Error;

use crate::pad::{Axis, Button};

/// The default mapping.
pub const WORKPARTNER: &str = include_str!("../mappings/workpartner.toml");

/// A valid mapping.
#[derive(Debug, Clone, PartialEq)]
pub struct Mapping {
    /// The devices, in groups that get the same commands.
    pub groups: Vec<Group>,
    /// The bindings that move them.
    pub bindings: Vec<Binding>,
}

/// Devices that inputs move together.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Its name in the file.
    pub name: String,
    /// The devices' names in the model.
    pub devices: Vec<String>,
    /// Values while no input moves a field.
    pub frame: Vec<f64>,
    /// Reaction when pad or server are lost.
    pub on_loss: OnLoss,
}

/// Reaction of a device when its inputs are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnLoss {
    /// Keep the last command.
    #[default]
    Hold,
    /// Its inputs count as released: a wheel stops.
    Release,
}

/// An input and the fields that it moves.
#[derive(Debug, Clone, PartialEq)]
pub struct Binding {
    /// Which stick or button.
    pub input: Input,
    /// The button that must be held at the same time.
    pub with: Option<Button>,
    /// The group it moves, by its place.
    pub group: usize,
    /// The field of the group's devices.
    pub field: String,
    /// The effect.
    pub action: Action,
}

/// A stick or a button.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Input {
    /// A stick or trigger, and the curve of its deflection.
    Axis(Axis, Curve),
    /// A button, which is at 0 or 1.
    Button(Button),
}

/// Response curve from the travel of a stick to a number from -1 to 1:
///
/// u = (|x| - dead zone) / (1 - dead zone), not below 0; y = sign(x) ((1 - expo) u + expo u³)
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Curve {
    /// The share of the travel about the middle that counts as the middle, 0 to below 1.
    pub dead_zone: f64,
    /// 0 is a straight line, 1 a cube, which is finer about the middle.
    pub expo: f64,
}

/// Effect of an input on a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Action {
    /// Adds so much at full travel, or while the button is down.
    Scale(f64),
    /// Moves it by so much a second at full travel, between these bounds, and leaves it there.
    Rate(f64, [f64; 2]),
    /// Adds this amount at one press of the button, and subtracts it at the next.
    Toggle(f64),
}

/// Error of a mapping file.
#[derive(Debug, Error)]
pub enum MappingError {
    /// Not TOML, or invalid keys, inputs or numbers.
    #[error("{0}: {1}")]
    Toml(String, Box<toml::de::Error>),
    /// A value without a meaning.
    #[error("{file}:{line}: {what}")]
    Sense {
        /// The file.
        file: String,
        /// The line.
        line: usize,
        /// The problem.
        what: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    devices: BTreeMap<String, toml::Spanned<RawGroup>>,
    #[serde(default)]
    axis: Vec<toml::Spanned<RawAxis>>,
    #[serde(default)]
    button: Vec<toml::Spanned<RawButton>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawGroup {
    names: Vec<String>,
    frame: Vec<f64>,
    #[serde(default)]
    on_loss: OnLoss,
}

/// One name, or a list of names.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected the name of a group, or several in brackets")]
enum Names {
    One(String),
    Several(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAxis {
    input: Axis,
    with: Option<Button>,
    moves: Names,
    field: String,
    scale: Option<f64>,
    rate: Option<f64>,
    range: Option<[f64; 2]>,
    #[serde(default)]
    dead_zone: f64,
    #[serde(default)]
    expo: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawButton {
    input: Button,
    with: Option<Button>,
    moves: Names,
    field: String,
    scale: Option<f64>,
    rate: Option<f64>,
    range: Option<[f64; 2]>,
    toggle: Option<f64>,
}

impl Mapping {
    /// Reads the text of a mapping file; `file` is its name in messages.
    ///
    /// # Errors
    /// The mapping is invalid; the message has the line.
    pub fn read(file: &str, text: &str) -> Result<Self, MappingError> {
        let raw: File = toml::from_str(text).map_err(|error| MappingError::Toml(file.to_owned(), Box::new(error)))?;
        let at = |start: usize, what: String| {
            let line = text[..start].matches('\n').count() + 1;
            MappingError::Sense { file: file.to_owned(), line, what }
        };
        let mut groups = Vec::new();
        for (name, group) in raw.devices {
            let start = group.span().start;
            groups.push(group.into_inner().check(name, &groups).map_err(|what| at(start, what))?);
        }
        let mut bindings = Vec::new();
        for axis in raw.axis {
            let start = axis.span().start;
            bindings.extend(axis.into_inner().check(&groups).map_err(|what| at(start, what))?);
        }
        for button in raw.button {
            let start = button.span().start;
            bindings.extend(button.into_inner().check(&groups).map_err(|what| at(start, what))?);
        }
        if bindings.is_empty() {
            return Err(at(0, "no [[axis]] and no [[button]] moves anything".into()));
        }
        Ok(Self { groups, bindings })
    }
}

impl Curve {
    /// Output for the deflection `x` of a stick.
    pub fn bend(&self, x: f64) -> f64 {
        let u = ((x.abs() - self.dead_zone) / (1.0 - self.dead_zone)).clamp(0.0, 1.0);
        x.signum() * ((1.0 - self.expo) * u + self.expo * u * u * u)
    }
}

impl RawGroup {
    fn check(self, name: String, others: &[Group]) -> Result<Group, String> {
        let Self { names: devices, frame, on_loss } = self;
        if devices.is_empty() || frame.is_empty() {
            return Err(format!("devices.{name}: expected at least one name and one number in its frame"));
        }
        if let Some(number) = frame.iter().find(|number| !number.is_finite()) {
            return Err(format!("devices.{name}: {number} in its frame is not finite"));
        }
        for (index, device) in devices.iter().enumerate() {
            let twice = devices[..index].contains(device) || others.iter().any(|other| other.devices.contains(device));
            if twice {
                return Err(format!("devices.{name}: '{device}' stands in the file twice; one group may have it"));
            }
        }
        Ok(Group { name, devices, frame, on_loss })
    }
}

impl RawAxis {
    fn check(self, groups: &[Group]) -> Result<Vec<Binding>, String> {
        let Self { input, with, moves, field, scale, rate, range, dead_zone, expo } = self;
        if !(0.0..=0.9).contains(&dead_zone) {
            return Err(format!("dead_zone: expected 0 to 0.9, got {dead_zone}"));
        }
        if !(0.0..=1.0).contains(&expo) {
            return Err(format!("expo: expected 0 to 1, got {expo}"));
        }
        let action = action(scale, rate, range, None)?;
        let input = Input::Axis(input, Curve { dead_zone, expo });
        moves.bind(groups, |group| Binding { input, with, group, field: field.clone(), action })
    }
}

impl RawButton {
    fn check(self, groups: &[Group]) -> Result<Vec<Binding>, String> {
        let Self { input, with, moves, field, scale, rate, range, toggle } = self;
        if with == Some(input) {
            return Err(format!("with: {input:?} cannot be held with itself"));
        }
        let action = action(scale, rate, range, toggle)?;
        let input = Input::Button(input);
        moves.bind(groups, |group| Binding { input, with, group, field: field.clone(), action })
    }
}

impl Names {
    /// A binding for each of the groups.
    fn bind(&self, groups: &[Group], binding: impl Fn(usize) -> Binding) -> Result<Vec<Binding>, String> {
        let names = match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        };
        let find = |name: &String| {
            groups.iter().position(|group| group.name == *name).ok_or_else(|| {
                let known: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
                format!("moves: expected one of {}, got '{name}'", known.join(", "))
            })
        };
        let found: Vec<usize> = names.iter().map(find).collect::<Result<_, _>>()?;
        Ok(found.into_iter().map(binding).collect())
    }
}

fn action(
    scale: Option<f64>,
    rate: Option<f64>,
    range: Option<[f64; 2]>,
    toggle: Option<f64>,
) -> Result<Action, String> {
    let action = match (scale, rate, range, toggle) {
        (Some(scale), None, None, None) => Action::Scale(scale),
        (None, None, None, Some(toggle)) => Action::Toggle(toggle),
        (None, Some(rate), Some(range), None) => Action::Rate(rate, range),
        (None, Some(_), None, None) => return Err("a rate needs a range = [lowest, highest]".into()),
        _ => return Err("expected one of scale, rate (with range) and, of a button, toggle".into()),
    };
    let numbers = [scale, rate, toggle, range.map(|range| range[0]), range.map(|range| range[1])];
    if let Some(number) = numbers.into_iter().flatten().find(|number| !number.is_finite()) {
        return Err(format!("{number} is not finite"));
    }
    match range {
        Some([lowest, highest]) if lowest >= highest => {
            Err(format!("range: expected [lowest, highest], got [{lowest}, {highest}]"))
        }
        _ => Ok(action),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOTOR: &str = "[devices.wheels]\nnames = ['Motor']\nframe = [1, 2]\n";

    fn wrong(text: &str) -> String {
        Mapping::read("m.toml", &format!("{MOTOR}{text}")).unwrap_err().to_string()
    }

    #[test]
    fn a_stick_rests_in_its_dead_zone_and_reaches_its_ends() {
        let curve = Curve { dead_zone: 0.2, expo: 0.5 };
        assert_eq!([-0.2, 0.0, 0.1, 0.2].map(|x| curve.bend(x).abs()), [0.0; 4]);
        assert_eq!([curve.bend(1.0), curve.bend(-1.0)], [1.0, -1.0]);
        // Half of the remaining range: u = 0.5, 0.5 x 0.5 + 0.5 x 0.125.
        assert!((curve.bend(0.6) - 0.3125).abs() < 1e-15 && curve.bend(-0.6) == -curve.bend(0.6));
        let straight = Curve { dead_zone: 0.0, expo: 0.0 };
        assert_eq!(straight.bend(0.37), 0.37);
    }

    #[test]
    fn the_shipped_mapping_holds_together() {
        let mapping = Mapping::read("workpartner.toml", WORKPARTNER).unwrap();
        assert!(mapping.groups.iter().any(|group| group.name == "wheels" && group.on_loss == OnLoss::Release));
        for group in 0..mapping.groups.len() {
            assert!(mapping.bindings.iter().any(|binding| binding.group == group), "{}", mapping.groups[group].name);
        }
    }

    #[test]
    fn what_makes_no_sense_is_told_with_its_line() {
        let axis = "[[axis]]\ninput = 'LeftStickY'\nmoves = 'wheels'\nfield = 'v'\n";
        assert_eq!(wrong(""), "m.toml:1: no [[axis]] and no [[button]] moves anything");
        assert!(wrong(axis).starts_with("m.toml:4: expected one of scale, rate (with range)"), "{}", wrong(axis));
        assert!(wrong(&format!("{axis}rate = 1")).ends_with("a rate needs a range = [lowest, highest]"));
        assert!(wrong(&format!("{axis}rate = 1\nrange = [1, 0]")).ends_with("expected [lowest, highest], got [1, 0]"));
        assert!(wrong(&format!("{axis}scale = inf")).ends_with("inf is not finite"));
        assert!(wrong(&format!("{axis}scale = 1\ndead_zone = 1")).ends_with("dead_zone: expected 0 to 0.9, got 1"));
        let nobody = axis.replace("wheels", "weels");
        assert!(wrong(&format!("{nobody}scale = 1")).ends_with("moves: expected one of wheels, got 'weels'"));
        let twice = "[devices.zwei]\nnames = ['Motor']\nframe = [1]\n";
        assert!(wrong(twice).ends_with("'Motor' stands in the file twice; one group may have it"));
        let unknown = wrong(&format!("{axis}scale = 1\nspeed = 2"));
        assert!(unknown.contains("line 9") && unknown.contains("unknown field `speed`"), "{unknown}");
        let input = wrong(&axis.replace("LeftStickY", "LeftStick"));
        assert!(input.contains("unknown variant `LeftStick`"), "{input}");
    }
}
