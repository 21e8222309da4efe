//! Measures of a case: statistics of fields, or queries of the case's log.

use serde::Deserialize;
use simpartner_wire::near::did_you_mean;
use toml::Value as Toml;

use super::field::FieldName;

/// Largest length of a measure's name, bytes: a database has it in a key.
const MAX_NAME: usize = 128;

/// A statistic over the steps of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Statistic {
    First,
    Last,
    Minimum,
    Maximum,
    Mean,
    /// Root of the mean square.
    Rms,
    /// Sum of the values times the length of a step.
    Integral,
}

impl Statistic {
    const NAMED_STATISTICS: [(&str, Self); 7] = [
        ("first", Self::First),
        ("last", Self::Last),
        ("min", Self::Minimum),
        ("max", Self::Maximum),
        ("mean", Self::Mean),
        ("rms", Self::Rms),
        ("integral", Self::Integral),
    ];

    fn by_name(name: &str) -> Result<Self, String> {
        let found = Self::NAMED_STATISTICS.iter().find(|(known, _)| *known == name).map(|(_, statistic)| *statistic);
        let names = Self::NAMED_STATISTICS.map(|(name, _)| name);
        found.ok_or_else(|| {
            format!("there is no statistic '{name}'{}; there are {}", did_you_mean(name, names), names.join(", "))
        })
    }
}

/// A measure of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measure {
    pub(super) name: String,
    pub(super) of: Measured,
}

/// Source of a measure's value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Measured {
    /// A statistic of a field over the steps after a time.
    Field {
        field: FieldName,
        statistic: Statistic,
        /// Simulated time from which the steps count, s.
        from_s: f64,
    },
    /// The first number of the result of a query of the case's log.
    Sql(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMeasure {
    field: Option<String>,
    statistic: Option<String>,
    #[serde(default)]
    from_s: f64,
    sql: Option<String>,
}

impl Measure {
    /// Parses `"FIELD STATISTIC"`, or a table with `field`, `statistic` and `from_s`, or with `sql`.
    pub(super) fn parse_measure(name: &str, value: &Toml) -> Result<Self, String> {
        if name.is_empty() || name.len() > MAX_NAME || name.contains(char::is_control) {
            return Err(format!("the name of a measure has 1 to {MAX_NAME} bytes"));
        }
        let of = match value {
            Toml::String(text) => {
                let (field, statistic) = text.trim().rsplit_once(char::is_whitespace).unwrap_or((text, "last"));
                Measured::Field {
                    field: FieldName::parse_name(field)?,
                    statistic: Statistic::by_name(statistic)?,
                    from_s: 0.0,
                }
            }
            Toml::Table(table) => {
                let raw =
                    RawMeasure::deserialize(Toml::Table(table.clone())).map_err(|error| error.message().to_owned())?;
                match raw {
                    RawMeasure { sql: Some(sql), field: None, statistic: None, .. } => Measured::Sql(sql),
                    RawMeasure { sql: None, field: Some(field), statistic, from_s } if from_s.is_finite() => {
                        Measured::Field {
                            field: FieldName::parse_name(&field)?,
                            statistic: Statistic::by_name(statistic.as_deref().unwrap_or("last"))?,
                            from_s,
                        }
                    }
                    _ => return Err("expected `field`, `statistic` and `from_s`, or `sql`".into()),
                }
            }
            _ => return Err("expected \"FIELD STATISTIC\", or a table with `field` or `sql`".into()),
        };
        Ok(Self { name: name.to_owned(), of })
    }
}

/// A statistic under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Accumulator {
    statistic: Statistic,
    value: f64,
    count: u64,
}

impl Accumulator {
    pub(super) fn of_statistic(statistic: Statistic) -> Self {
        Self { statistic, value: 0.0, count: 0 }
    }

    /// Adds the value of a step.
    pub(super) fn add_value(&mut self, value: f64) {
        self.count += 1;
        let is_first = self.count == 1;
        self.value = match self.statistic {
            Statistic::First if !is_first => self.value,
            Statistic::First | Statistic::Last => value,
            Statistic::Minimum if !is_first => self.value.min(value),
            Statistic::Maximum if !is_first => self.value.max(value),
            Statistic::Minimum | Statistic::Maximum => value,
            Statistic::Mean | Statistic::Integral => self.value + value,
            Statistic::Rms => self.value + value * value,
        };
    }

    /// The statistic; `None` if no step counted, or if it is not finite.
    pub(super) fn final_value(self, timestep_s: f64) -> Option<f64> {
        let count = self.count as f64;
        let value = match self.statistic {
            Statistic::Mean => self.value / count,
            Statistic::Rms => (self.value / count).sqrt(),
            Statistic::Integral => self.value * timestep_s,
            _ => self.value,
        };
        (self.count > 0 && value.is_finite()).then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_those_of_their_names() {
        let expected = [
            ("first", 3.0),
            ("last", -1.0),
            ("min", -1.0),
            ("max", 4.0),
            ("mean", 2.0),
            ("rms", (26.0_f64 / 3.0).sqrt()),
            ("integral", 0.6),
        ];
        for (name, expected) in expected {
            let mut accumulator = Accumulator::of_statistic(Statistic::by_name(name).unwrap());
            assert_eq!(accumulator.final_value(0.1), None);
            [3.0, 4.0, -1.0].into_iter().for_each(|value| accumulator.add_value(value));
            assert!((accumulator.final_value(0.1).unwrap() - expected).abs() < 1e-12, "{name}");
        }
    }
}
