//! The sweep file: axes, measures, and the end of a case.

use std::collections::BTreeMap;

use serde::Deserialize;
use simpartner_wire::near::did_you_mean;
use toml::Value as Toml;

use super::{error::SweepError, field::Limit, measure::Measure};

/// Largest number of cases: the plan stores the parameters of each.
const MAX_CASES: u64 = 1_000_000;
/// Largest duration and timeout, s: a month.
const MAX_SECONDS: f64 = 2_678_400.0;
/// Longest wall time of a case with a controller if the file gives none, s.
const DEFAULT_TIMEOUT_S: f64 = 600.0;
/// Largest number of axes.
const MAX_AXES: usize = 200;
/// Largest number of axes of a Sobol sequence, and of its points, in the crate that has it.
const SOBOL_AXES: usize = 256;
const SOBOL_POINTS: u64 = 1 << 16;
/// Prefix of an axis or a value that is a setting.
pub(super) const SETTINGS_PREFIX: &str = "settings.";
/// Axes that choose a file.
pub(super) const WORLD_AXIS: &str = "world";
pub(super) const SEQUENCE_AXIS: &str = "sequence";

/// Keys of the table that describes a range of values.
const RANGE_KEYS: [&str; 7] = ["from", "to", "count", "integers", "uniform", "log_uniform", "normal"];

/// Message for a range that has no kind, or more than one.
const EXPECTED_RANGE: &str = "expected exactly one of: from, to and count; integers = [first, last]; uniform or log_uniform = \
                              [lowest, highest]; normal = [mean, deviation]";

/// Choice of the values of cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Sampling {
    /// Every combination of the values.
    Grid,
    /// Independent random values.
    Random,
    /// A Latin hypercube: each axis has one case in each of as many equal parts as there are cases.
    Latin,
    /// Points of a Sobol sequence with Owen's scrambling.
    Sobol,
}

/// The log of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CaseLog {
    /// Only the results are kept.
    #[default]
    None,
    /// Every case is a run in the database of the sweep, as the settings of the log say.
    Full,
}

/// The values of an axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Values {
    List(Vec<String>),
    Linear { from: f64, to: f64, count: u64 },
    Integers { lowest: i64, highest: i64 },
    Uniform { lowest: f64, highest: f64 },
    LogUniform { lowest: f64, highest: f64 },
    Normal { mean: f64, deviation: f64 },
}

/// A quantity that varies: a value of the model, a setting or a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    /// Path in the model, `settings.` and a setting, `world` or `sequence`.
    pub(super) name: String,
    pub(super) values: Values,
    /// True if the values multiply the number in the file.
    pub(super) is_factor: bool,
}

/// A sweep file, checked.
#[derive(Debug, Clone)]
pub(super) struct SweepFile {
    pub(super) name: String,
    pub(super) world: Option<String>,
    pub(super) sequence: Option<String>,
    pub(super) duration_s: Option<f64>,
    pub(super) sampling: Sampling,
    pub(super) cases: u64,
    pub(super) seed: u64,
    pub(super) log: CaseLog,
    /// Program that is started for each case, and drives it in lockstep.
    pub(super) controller: Vec<String>,
    /// Longest wall time of a case with such a program, s.
    pub(super) timeout_s: f64,
    /// Settings of all cases, by their names.
    pub(super) settings: Vec<(String, String)>,
    /// Values of the model in all cases, by their paths.
    pub(super) model: Vec<(String, String)>,
    pub(super) axes: Vec<Axis>,
    pub(super) measures: Vec<Measure>,
    pub(super) stop: Option<Limit>,
}

/// The file as TOML has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    name: Option<String>,
    world: Option<String>,
    sequence: Option<String>,
    duration_s: Option<f64>,
    sampling: Option<Sampling>,
    cases: Option<u64>,
    #[serde(default)]
    seed: u64,
    #[serde(default)]
    log: CaseLog,
    #[serde(default)]
    controller: Vec<String>,
    timeout_s: Option<f64>,
    #[serde(default)]
    settings: toml::Table,
    #[serde(default)]
    model: toml::Table,
    #[serde(default)]
    vary: toml::Table,
    #[serde(default)]
    measure: BTreeMap<String, Toml>,
    stop: Option<String>,
}

/// A range of values as TOML has it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRange {
    from: Option<f64>,
    to: Option<f64>,
    count: Option<u64>,
    integers: Option<[i64; 2]>,
    uniform: Option<[f64; 2]>,
    log_uniform: Option<[f64; 2]>,
    normal: Option<[f64; 2]>,
    #[serde(default)]
    factor: bool,
}

impl SweepFile {
    /// Parses a sweep file. `stem` is the name of a sweep that has none.
    ///
    /// # Errors
    /// The file is not TOML, has unknown names, or describes no cases.
    pub(super) fn parse_file(path: &str, stem: &str, text: &str) -> Result<Self, SweepError> {
        let fail = |what: String| SweepError::File { path: path.to_owned(), what };
        let raw: Raw = toml::from_str(text).map_err(|error| fail(error.to_string().trim_end().to_owned()))?;
        let mut axes = Vec::new();
        visit_values(&raw.vary, "", &is_range, &mut |name, value| {
            axes.push(read_axis(name, value)?);
            Ok(())
        })
        .map_err(|what| fail(format!("[vary] {what}")))?;
        let mut measures = Vec::new();
        for (name, value) in &raw.measure {
            measures
                .push(Measure::parse_measure(name, value).map_err(|what| fail(format!("[measure] {name}: {what}")))?);
        }
        let stop =
            raw.stop.as_deref().map(Limit::parse_limit).transpose().map_err(|what| fail(format!("stop: {what}")))?;
        for (key, seconds) in [("duration_s", raw.duration_s), ("timeout_s", raw.timeout_s)] {
            if let Some(seconds) = seconds.filter(|seconds| !(*seconds > 0.0 && *seconds <= MAX_SECONDS)) {
                return Err(fail(format!("{key}: expected seconds above 0 and at most {MAX_SECONDS}, got {seconds}")));
            }
        }
        let sampling = raw.sampling.unwrap_or(if raw.cases.is_some() { Sampling::Random } else { Sampling::Grid });
        let cases = count_cases(sampling, raw.cases, &axes).map_err(fail)?;
        let fixed = |table: &toml::Table, section: &str| {
            let mut found = Vec::new();
            let read = visit_values(table, "", &|_| false, &mut |name, value| {
                let text = plain_text(value).ok_or_else(|| format!("{name}: expected a number or a text"))?;
                found.push((name.to_owned(), text));
                Ok(())
            });
            read.map(|()| found).map_err(|what| fail(format!("[{section}] {what}")))
        };
        Ok(Self {
            name: raw.name.unwrap_or_else(|| stem.to_owned()),
            settings: fixed(&raw.settings, "settings")?,
            model: fixed(&raw.model, "model")?,
            world: raw.world,
            sequence: raw.sequence,
            duration_s: raw.duration_s,
            sampling,
            cases,
            seed: raw.seed,
            log: raw.log,
            controller: raw.controller,
            timeout_s: raw.timeout_s.unwrap_or(DEFAULT_TIMEOUT_S),
            axes,
            measures,
            stop,
        })
    }
}

/// Calls `take` with each value of a table and of the tables in it, whose names are joined by dots.
fn visit_values(
    table: &toml::Table,
    around: &str,
    is_value: &dyn Fn(&toml::Table) -> bool,
    take: &mut dyn FnMut(&str, &Toml) -> Result<(), String>,
) -> Result<(), String> {
    for (key, value) in table {
        let name = if around.is_empty() { key.clone() } else { format!("{around}.{key}") };
        match value {
            Toml::Table(inner) if !is_value(inner) => visit_values(inner, &name, is_value, take)?,
            value => take(&name, value)?,
        }
    }
    Ok(())
}

fn is_range(table: &toml::Table) -> bool {
    table.keys().any(|key| RANGE_KEYS.contains(&key.as_str()))
}

fn plain_text(value: &Toml) -> Option<String> {
    match value {
        Toml::String(text) => Some(text.clone()),
        Toml::Integer(number) => Some(number.to_string()),
        Toml::Float(number) => Some(number.to_string()),
        Toml::Boolean(value) => Some(value.to_string()),
        Toml::Datetime(_) | Toml::Array(_) | Toml::Table(_) => None,
    }
}

/// Reads an axis; the error has its name.
fn read_axis(name: &str, value: &Toml) -> Result<Axis, String> {
    let fail = |what: String| format!("{name}: {what}");
    let (values, is_factor) = match value {
        Toml::Array(listed) => {
            let texts: Option<Vec<String>> = listed.iter().map(plain_text).collect();
            let texts = texts.ok_or_else(|| fail("a list has numbers or texts".into()))?;
            if texts.is_empty() {
                return Err(fail("the list is empty".into()));
            }
            (Values::List(texts), false)
        }
        Toml::Table(table) => {
            let range = RawRange::deserialize(Toml::Table(table.clone())).map_err(|error| {
                let first = table.keys().find(|key| !RANGE_KEYS.contains(&key.as_str()) && *key != "factor");
                let near =
                    first.map_or(String::new(), |key| did_you_mean(key, RANGE_KEYS.into_iter().chain(["factor"])));
                fail(format!("{}{near}", error.message()))
            })?;
            (read_range(&range).map_err(fail)?, range.factor)
        }
        _ => return Err(fail("expected a list, or a range such as { from = 0.1, to = 1, count = 10 }".into())),
    };
    let is_file = name == WORLD_AXIS || name == SEQUENCE_AXIS;
    if is_file && !matches!(values, Values::List(_)) {
        return Err(fail("expected a list of files".into()));
    }
    if is_factor && (is_file || name.starts_with(SETTINGS_PREFIX)) {
        return Err(fail("only values of the model can be multiplied".into()));
    }
    Ok(Axis { name: name.to_owned(), values, is_factor })
}

fn read_range(range: &RawRange) -> Result<Values, String> {
    let linear = (range.from.is_some() || range.to.is_some() || range.count.is_some()).then(|| read_linear(range));
    let integers = range.integers.map(|[lowest, highest]| match lowest <= highest {
        true => Ok(Values::Integers { lowest, highest }),
        false => Err(format!("[{lowest}, {highest}] is an empty range")),
    });
    let uniform = range.uniform.map(|limits| {
        let (lowest, highest) = ordered_limits(limits)?;
        Ok(Values::Uniform { lowest, highest })
    });
    let logarithmic = range.log_uniform.map(|limits| match ordered_limits(limits)? {
        (lowest, highest) if lowest > 0.0 => Ok(Values::LogUniform { lowest, highest }),
        (lowest, _) => Err(format!("log_uniform begins above 0, got {lowest}")),
    });
    let normal =
        range.normal.map(|[mean, deviation]| match mean.is_finite() && deviation.is_finite() && deviation > 0.0 {
            true => Ok(Values::Normal { mean, deviation }),
            false => Err(format!("normal = [mean, deviation] has a deviation above 0, got {deviation}")),
        });
    let mut given = [linear, integers, uniform, logarithmic, normal].into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(values), None) => values,
        _ => Err(EXPECTED_RANGE.into()),
    }
}

/// Reads a range with equal steps.
fn read_linear(range: &RawRange) -> Result<Values, String> {
    let (Some(from), Some(to), Some(count)) = (range.from, range.to, range.count) else {
        return Err(EXPECTED_RANGE.into());
    };
    match (from.is_finite() && to.is_finite(), count) {
        (false, _) => Err("from and to are finite numbers".into()),
        (true, 0) => Err("count = 0 has no values".into()),
        (true, count) => Ok(Values::Linear { from, to, count }),
    }
}

fn ordered_limits([lowest, highest]: [f64; 2]) -> Result<(f64, f64), String> {
    match lowest.is_finite() && highest.is_finite() && lowest < highest {
        true => Ok((lowest, highest)),
        false => Err(format!("[{lowest}, {highest}] is an empty range: the first number is below the second")),
    }
}

/// Number of cases of a sweep.
fn count_cases(sampling: Sampling, given: Option<u64>, axes: &[Axis]) -> Result<u64, String> {
    if axes.is_empty() {
        return Err("[vary] has nothing that varies".into());
    }
    if axes.len() > MAX_AXES {
        return Err(format!("[vary] has {} axes, at most {MAX_AXES} are taken", axes.len()));
    }
    let cases = match (sampling, given) {
        (Sampling::Grid, Some(_)) => {
            return Err(
                "a grid has as many cases as combinations; leave out `cases`, or choose another sampling".into()
            );
        }
        (Sampling::Grid, None) => {
            let mut product: u64 = 1;
            for axis in axes {
                let count = axis.values.grid_count().ok_or_else(|| {
                    format!(
                        "[vary] {}: a distribution has no grid; give `cases`, and sampling random, latin or sobol",
                        axis.name
                    )
                })?;
                product = product.saturating_mul(count);
            }
            product
        }
        (_, None) => return Err("give the number of `cases`".into()),
        (_, Some(cases)) => cases,
    };
    match (cases, sampling) {
        (0, _) => Err("cases = 0 has nothing to simulate".into()),
        (cases, Sampling::Sobol) if cases > SOBOL_POINTS || axes.len() > SOBOL_AXES => {
            Err(format!("sobol has at most {SOBOL_POINTS} cases and {SOBOL_AXES} axes; use latin or random"))
        }
        (cases, _) if cases > MAX_CASES => Err(format!(
            "this sweep has {cases} cases, at most {MAX_CASES} are taken; vary less, or sample with sampling = \"latin\" and `cases`"
        )),
        (cases, _) => Ok(cases),
    }
}
