//! The layers of settings above the defaults: a file, the environment, overrides. All mistakes are reported at once.

use std::{ffi::OsString, fmt};

use simpartner_description::{
    Parameter, Parameters,
    xml::{self, shorten},
};
use simpartner_wire::near;
use thiserror::Error;
use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue},
};

use super::table::{RawValue, SETTINGS, Setting, SettingValue, VARIABLE_PREFIX};

/// Largest number of problems that are reported singly: more than anybody reads.
const MAX_PROBLEMS: usize = 50;
/// Distance of a setting with the same key in an entirely different section: as much as for a typing error in the
/// section.
const OTHER_SECTION_DISTANCE: usize = 2;

/// Variables with the prefix of settings that are none. They are for the build (`build.rs`), for the tests
/// (`tests/README.md`), for programs that start a server, and for the controllers of a sweep.
const OTHER_VARIABLES: &[&str] = &[
    "SIMPARTNER_BIN",
    "SIMPARTNER_CASE",
    "SIMPARTNER_LIBRARY",
    "SIMPARTNER_LONG_TESTS",
    "SIMPARTNER_NATIVE",
    "SIMPARTNER_PORTS_FILE",
    "SIMPARTNER_REQUIRE",
    "SIMPARTNER_TEST_MYSQL",
    "SIMPARTNER_TEST_POSTGRES",
    "SIMPARTNER_VIEWER",
];

/// A properties file that has been read.
#[derive(Debug, Clone, Copy)]
pub struct PropertiesFile<'a> {
    /// Path of the file, for messages.
    pub path: &'a str,
    /// Contents of the file.
    pub text: &'a str,
}

/// A setting given by the caller, such as a flag of the command line.
#[derive(Debug, Clone, Copy)]
pub struct Override<'a> {
    /// Origin of the setting for messages, such as `--rate`.
    pub name: &'a str,
    /// The setting, as `section.key`.
    pub key: &'a str,
    /// The value.
    pub text: &'a str,
}

impl Override<'_> {
    /// Path of the model's value that is replaced; `None` for a setting.
    pub fn parameter_path(&self) -> Option<&str> {
        self.key.strip_prefix(MODEL_SECTION)?.strip_prefix('.')
    }
}

/// A mistake in a setting, and its place: `file:line`, a variable or the name of an override.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{place}: {text}")]
pub struct Problem {
    /// Place of the mistake: `file:line`, a variable or the name of an override.
    pub place: String,
    /// Description of the mistake.
    pub text: String,
}

/// All mistakes, in the order of the layers.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct ConfigError(pub Vec<Problem>);

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(Problem::to_string).collect();
        formatter.write_str(&lines.join("\n"))
    }
}

/// The section of parameters of the model, whose keys are paths in the model.
const MODEL_SECTION: &str = "model";
/// Largest depth of tables in that section: more than elements have in a model.
const MAX_PATH_DEPTH: usize = 20;

/// The values of all settings, in the order of the table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layers {
    pub(super) values: Vec<SettingValue>,
    /// Parameters of the model, from the section [`MODEL_SECTION`].
    parameters: Parameters,
    problems: Vec<Problem>,
}

impl Layers {
    pub(super) fn defaults() -> Self {
        let default = |setting: &Setting| {
            setting
                .setting_type
                .accept(&RawValue::Plain(setting.default))
                .expect("a test checks every default against its own type")
        };
        let values = SETTINGS.iter().map(default).collect();
        Self { values, parameters: Parameters::default(), problems: Vec::new() }
    }

    /// Layers that end with these values.
    pub(super) fn of_values(values: Vec<SettingValue>, parameters: Parameters) -> Self {
        Self { values, parameters, problems: Vec::new() }
    }

    /// Applies a properties file.
    pub(super) fn apply_file(&mut self, file: PropertiesFile<'_>) {
        let newlines: Vec<usize> = file.text.match_indices('\n').map(|(newline, _)| newline).collect();
        let place = |at: usize| format!("{}:{}", file.path, newlines.partition_point(|&newline| newline < at) + 1);
        let (table, errors) = DeTable::parse_recoverable(file.text);
        for error in errors {
            self.add_problem(place(error.span().map_or(0, |span| span.start)), error.message().to_owned());
        }
        for (section, content) in in_order(table.get_ref()) {
            let name = section.get_ref().as_ref();
            if let (MODEL_SECTION, DeValue::Table(parameters)) = (name, content.get_ref()) {
                self.apply_parameters(parameters, "", MAX_PATH_DEPTH, &place);
            } else if !SETTINGS.iter().any(|setting| setting.section == name) {
                let sections = SETTINGS.iter().map(|setting| setting.section).chain([MODEL_SECTION]);
                let closest = sections.filter_map(|section| Some((name_distance(name, section)?, section))).min();
                let hint = suggestion(closest.map(|(_, section)| section.to_owned()));
                self.add_problem(
                    place(section.span().start),
                    format!("[{}] is not a section of settings{hint}", shorten(name)),
                );
            } else if let DeValue::Table(settings) = content.get_ref() {
                for (key, value) in in_order(settings) {
                    let path = format!("{name}.{}", key.get_ref());
                    let shown = &file.text[value.span()];
                    self.set_value(&place(key.span().start), &path, &raw_value(value), shown);
                }
            } else {
                let text = format!("{name}: expected a section, [{name}], got {}", shorten(&file.text[content.span()]));
                self.add_problem(place(section.span().start), text);
            }
        }
    }

    /// Applies the parameters of a table. Tables in it continue the path: `surface.friction = 1` is a table.
    fn apply_parameters(&mut self, table: &DeTable<'_>, around: &str, depth: usize, place: &dyn Fn(usize) -> String) {
        for (key, value) in in_order(table) {
            let place_of_key = place(key.span().start);
            let path = match around {
                "" => key.get_ref().to_string(),
                around => format!("{around}.{}", key.get_ref()),
            };
            let text = match raw_value(value) {
                RawValue::Typed(value) => value.plain_text(),
                RawValue::Plain(_) | RawValue::Other => match value.get_ref() {
                    DeValue::Table(inner) if depth > 0 => {
                        self.apply_parameters(inner, &path, depth - 1, place);
                        continue;
                    }
                    _ => {
                        self.add_problem(place_of_key, format!("{MODEL_SECTION}.{path}: expected a number or a word"));
                        continue;
                    }
                },
            };
            self.set_parameter(&place_of_key, &path, &text);
        }
    }

    fn set_parameter(&mut self, place: &str, path: &str, value: &str) {
        let parameter = Parameter::of_parts(path, value);
        if let Err(error) = parameter.and_then(|parameter| self.parameters.set(parameter)) {
            self.add_problem(place.to_owned(), error.to_string());
        }
    }

    /// Applies environment variables; others than those of settings are ignored.
    pub(super) fn apply_environment(&mut self, variables: impl IntoIterator<Item = (OsString, OsString)>) {
        for (name, value) in variables {
            let name = name.to_string_lossy().into_owned();
            if !name.starts_with(VARIABLE_PREFIX) || OTHER_VARIABLES.contains(&name.as_str()) {
                continue;
            }
            let Ok(text) = value.into_string() else {
                self.add_problem(name, "expected text in UTF-8, got other bytes".to_owned());
                continue;
            };
            match SETTINGS.iter().find(|setting| setting.variable() == name) {
                Some(setting) => self.set_value(&name, &setting.path(), &RawValue::Plain(&text), &text),
                None => {
                    // Section names have no underscore, so the first underscore ends the section.
                    let path = name[VARIABLE_PREFIX.len()..].to_lowercase().replacen('_', ".", 1);
                    let hint = suggestion(nearest_setting(&path).map(Setting::variable));
                    self.add_problem(name, format!("no setting has this variable{hint}"));
                }
            }
        }
    }

    /// Applies overrides.
    pub(super) fn apply_overrides(&mut self, overrides: &[Override<'_>]) {
        for given in overrides {
            if let Some(path) = given.parameter_path() {
                self.set_parameter(given.name, path, given.text);
                continue;
            }
            self.set_value(given.name, given.key, &RawValue::Plain(given.text), given.text);
        }
    }

    /// The values and the parameters of the model, or all mistakes.
    pub(super) fn into_values(self) -> Result<(Vec<SettingValue>, Parameters), ConfigError> {
        if self.problems.is_empty() { Ok((self.values, self.parameters)) } else { Err(ConfigError(self.problems)) }
    }

    /// Sets the setting with this path. `shown` is the value for messages.
    fn set_value(&mut self, place: &str, path: &str, raw: &RawValue<'_>, shown: &str) {
        let Some(index) = SETTINGS.iter().position(|setting| setting.path() == path) else {
            let key = path.rsplit('.').next().unwrap_or(path);
            let hint = match (nearest_setting(path), xml::describe_name(key)) {
                (Some(setting), _) => suggestion(Some(setting.path())),
                (None, Some(place)) => format!("; {place}"),
                (None, None) => "; `simpartner schema properties` lists all".to_owned(),
            };
            return self.add_problem(place.to_owned(), format!("{} is not a setting{hint}", shorten(path)));
        };
        let setting_type = SETTINGS[index].setting_type;
        match setting_type.accept(raw) {
            Some(value) => self.values[index] = value,
            None => self.add_problem(
                place.to_owned(),
                format!("{path}: expected {}, got `{}`", setting_type.expected(), shorten(&setting_type.shown(shown))),
            ),
        }
    }

    fn add_problem(&mut self, place: String, text: String) {
        match self.problems.len() {
            0..MAX_PROBLEMS => self.problems.push(Problem { place, text }),
            MAX_PROBLEMS => self.problems.push(Problem { place, text: "there are further errors from here on".into() }),
            _ => {}
        }
    }
}

/// The entries in the order of the file; the table itself is sorted by name.
fn in_order<'a, 'i>(
    table: &'a DeTable<'i>,
) -> impl Iterator<Item = (&'a Spanned<DeString<'i>>, &'a Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries.into_iter()
}

fn raw_value<'a>(value: &Spanned<DeValue<'_>>) -> RawValue<'a> {
    match value.get_ref() {
        DeValue::String(text) => RawValue::Typed(SettingValue::Text(text.to_string())),
        DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
            .map_or(RawValue::Other, |i| RawValue::Typed(SettingValue::Integer(i))),
        DeValue::Float(real) => {
            real.as_str().parse().map_or(RawValue::Other, |value| RawValue::Typed(SettingValue::Real(value)))
        }
        DeValue::Boolean(value) => RawValue::Typed(SettingValue::Boolean(*value)),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => RawValue::Other,
    }
}

/// The setting that a misspelt path such as `server.bnd` or `rate` most likely means. Its key is equal to the given
/// one, begins with it, or differs by a few letters; the same holds for its section, unless the keys are equal.
fn nearest_setting(path: &str) -> Option<&'static Setting> {
    let (section, key) = path.split_once('.').unwrap_or(("", path));
    let likeness = |setting: &'static Setting| {
        let of_key = name_distance(key, setting.key)?;
        let of_section = name_distance(section, setting.section);
        match of_section {
            Some(of_section) => Some(2 * of_key + of_section),
            None if section.is_empty() => Some(2 * of_key),
            None => (setting.key == key).then_some(OTHER_SECTION_DISTANCE),
        }
    };
    let like = SETTINGS.iter().enumerate().filter_map(|(place, setting)| Some((likeness(setting)?, place)));
    like.min().map(|(_, place)| &SETTINGS[place])
}

/// Edit distance of a word from a name; 0 if the name begins with the word, `None` if they are not similar.
fn name_distance(word: &str, name: &str) -> Option<usize> {
    if !word.is_empty() && name.starts_with(word) { Some(0) } else { near::distance(word, name) }
}

/// The question whether another name was meant, or an empty text.
fn suggestion(meant: Option<String>) -> String {
    meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?"))
}
