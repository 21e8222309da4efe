//! The variables of an FMU: time, seed, parameters, a variable for each number of a command and of a reading.

use simpartner_embed::{Channel, EmbeddedSimulation};

use super::parameter::FmuParameter;

/// Meaning of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Time, the independent variable.
    Time,
    /// Seed of all noise.
    Seed,
    /// Value of the model with this place among the parameters.
    Parameter(usize),
    /// Number of a command, with this place among all commands.
    Input(usize),
    /// Number of a reading, with this place among all readings.
    Output(usize),
}

/// A variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// Name by FMI's structured naming convention.
    pub name: String,
    /// Meaning.
    pub role: Role,
    /// Unit, as for a [`Channel`].
    pub unit: &'static str,
    /// Smallest value.
    pub lowest: f64,
    /// Largest value.
    pub highest: f64,
    /// Value before the first step; NaN for an output.
    pub start: f64,
    /// Sentence for people.
    pub description: String,
}

/// All variables. The value reference of a variable is its place here.
#[derive(Debug, Clone, PartialEq)]
pub struct Variables(Vec<Variable>);

/// Largest seed: FMI 2.0 has integers of 32 bits.
pub(super) const MAX_SEED: u64 = i32::MAX as u64;

impl Variables {
    /// The variables of a simulation at step 0 with these parameters. All sensors and actuators must be selected.
    pub fn new(simulation: &EmbeddedSimulation, parameters: &[FmuParameter]) -> Self {
        let time = Variable {
            name: "time".into(),
            unit: "s",
            description: "Simulated time".into(),
            ..Variable::without_bounds(Role::Time)
        };
        let seed = Variable {
            name: "seed".into(),
            lowest: 0.0,
            highest: MAX_SEED as f64,
            start: simulation.seed() as f64,
            description: "Seed of all noise".into(),
            ..Variable::without_bounds(Role::Seed)
        };
        let parameters = parameters.iter().enumerate().map(|(place, parameter)| Variable {
            name: format!("parameter.{}", name_part(&parameter.path, true)),
            start: parameter.start,
            description: match parameter.is_factor {
                true => format!("Factor of {} in the model", parameter.path),
                false => format!("Value of {} in the model", parameter.path),
            },
            ..Variable::without_bounds(Role::Parameter(place))
        });
        let layout = simulation.layout();
        let (commands, readings) = (simulation.actuators().describe(layout), simulation.sensors().describe(layout));
        let mut starts = vec![f64::NAN; commands.len()];
        // The array has the length of the channels.
        let _ = simulation.present_commands(&mut starts);
        let inputs = commands.iter().zip(starts).enumerate().map(|(place, (channel, start))| Variable {
            lowest: channel.lowest,
            highest: channel.highest,
            start,
            ..Variable::of_channel(channel, Role::Input(place))
        });
        let outputs = readings.iter().enumerate();
        let outputs = outputs.map(|(place, channel)| Variable::of_channel(channel, Role::Output(place)));
        Self([time, seed].into_iter().chain(parameters).chain(inputs).chain(outputs).collect())
    }

    /// The variable of a value reference.
    pub fn get(&self, reference: u32) -> Option<&Variable> {
        self.0.get(reference as usize)
    }

    /// All variables with their value references, in this order.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Variable)> {
        self.0.iter().enumerate()
    }

    /// Number of inputs.
    pub fn input_count(&self) -> usize {
        self.0.iter().filter(|variable| matches!(variable.role, Role::Input(_))).count()
    }

    /// Number of outputs.
    pub fn output_count(&self) -> usize {
        self.0.iter().filter(|variable| matches!(variable.role, Role::Output(_))).count()
    }
}

impl Variable {
    fn without_bounds(role: Role) -> Self {
        let (lowest, highest) = (f64::NEG_INFINITY, f64::INFINITY);
        Self { name: String::new(), role, unit: "1", lowest, highest, start: f64::NAN, description: String::new() }
    }

    fn of_channel(channel: &Channel, role: Role) -> Self {
        let (robot, device) = channel.device.split_once('/').unwrap_or(("", &channel.device));
        let name = [robot, device, &channel.field].map(|part| name_part(part, false)).join(".");
        let description = format!("{} of {} {}", channel.field, channel.kind, channel.device);
        Self { name, unit: channel.unit, description, ..Self::without_bounds(role) }
    }
}

/// A name as a part of a structured name: as it is if it is an identifier and need not be quoted, else in single
/// quotes. Characters outside of ASCII, which FMI has no place for, are written by their numbers.
fn name_part(name: &str, is_quoted: bool) -> String {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if !is_quoted && name.chars().all(is_letter) && name.starts_with(|first: char| !first.is_ascii_digit()) {
        return name.to_owned();
    }
    let mut quoted = String::from("'");
    for letter in name.chars() {
        match letter {
            '\'' | '"' | '\\' => quoted.extend(['\\', letter]),
            ' '..='~' => quoted.push(letter),
            _ => quoted.push_str(&format!("{{U+{:04X}}}", u32::from(letter))),
        }
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_structured_convention() {
        assert_eq!(name_part("Wheel_1", false), "Wheel_1");
        assert_eq!(name_part("1st wheel", false), "'1st wheel'");
        assert_eq!(name_part("", false), "''");
        assert_eq!(name_part("Rad-ä'", false), "'Rad-{U+00E4}\\''");
        assert_eq!(name_part("surface.friction", true), "'surface.friction'");
    }
}
