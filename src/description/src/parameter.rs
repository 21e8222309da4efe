//! Parameters of a model: values of its files that a run replaces, each named by its path.

use std::fmt;

use simpartner_wire::pattern::matches_pattern;
use thiserror::Error;

use crate::{
    limits::MAX_VALUE,
    source::SourceFile,
    text::numbers::{read_real, shorten},
};

/// Path under which the parameters stand among the files of a world. No file has it: names of files do not begin so.
const SOURCE_PATH: &str = "<parameters>";
/// Largest number of parameters of a world.
const MAX_PARAMETERS: usize = 1000;
/// Largest length of a path, bytes.
const MAX_PATH: usize = 512;

/// A value of a model, by its path, and the value that replaces it.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Place of the value.
    pub path: ParameterPath,
    /// Replacement of the value.
    pub value: ParameterValue,
}

/// Path of a value in a model: names and tags of elements from the outside in, then the attribute, as in
/// `WorkPartner.Wheel*.mass`. A `*` stands for any part of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterPath {
    text: String,
    steps: Vec<PathStep>,
}

/// A part of a path: one name, tag or attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathStep {
    /// Name, tag or attribute, with `*` for any text.
    pub(crate) pattern: String,
    /// Number of the element among those that the pattern matches, from 1; `None` for all of them.
    pub(crate) index: Option<usize>,
}

/// Replacement of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum ParameterValue {
    /// This text.
    Text(String),
    /// The number in the file, multiplied by this factor.
    Factor(f64),
}

/// Parameters in the order in which they act: of two with the same value, the later one counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parameters(Vec<Parameter>);

/// A text that is not a parameter.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ParameterError(String);

impl PathStep {
    /// True if the pattern matches this name.
    pub(crate) fn matches_name(&self, name: &str) -> bool {
        matches_pattern(&self.pattern, name)
    }

    /// True if the pattern is a name in full.
    pub(crate) fn is_literal(&self) -> bool {
        !self.pattern.contains('*')
    }
}

impl ParameterPath {
    /// Parses a path such as `surface.friction` or `surface[2].friction`. A name with a dot stands in quotes.
    ///
    /// # Errors
    /// A part is empty, a quote or a bracket is not closed, or the path is too long.
    pub fn parse(text: &str) -> Result<Self, ParameterError> {
        let text = text.trim();
        let refuse = |what: &str| Err(ParameterError(format!("'{}' is not a path: {what}", shorten(text))));
        if text.len() > MAX_PATH {
            return refuse(&format!("it has more than {MAX_PATH} bytes"));
        }
        let mut steps = Vec::new();
        let mut rest = text;
        loop {
            let (pattern, behind) = match rest.strip_prefix('"') {
                Some(quoted) => match quoted.split_once('"') {
                    Some(split) => split,
                    None => return refuse("a quotation mark is not closed"),
                },
                None => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
            };
            if pattern.is_empty() {
                return refuse("it has an empty part; write it as WorkPartner.Wheel1.mass or surface.friction");
            }
            let (index, behind) = match behind.strip_prefix('[').map(|behind| behind.split_once(']')) {
                None => (None, behind),
                Some(Some((number, behind))) => match number.parse() {
                    Ok(number) if number > 0 => (Some(number), behind),
                    _ => return refuse("a number in [ ] counts elements from 1"),
                },
                Some(None) => return refuse("a bracket is not closed"),
            };
            steps.push(PathStep { pattern: pattern.to_owned(), index });
            match behind.strip_prefix('.') {
                Some(further) => rest = further,
                None if behind.is_empty() => return Ok(Self { text: text.to_owned(), steps }),
                None => return refuse("its parts are separated by dots"),
            }
        }
    }

    pub(crate) fn path_steps(&self) -> &[PathStep] {
        &self.steps
    }

    /// The path as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for ParameterPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl ParameterValue {
    /// Parses a value: a number or a word, or `*1.1` for the number in the file times 1.1.
    ///
    /// # Errors
    /// The value is empty or too long, or the factor is not a number.
    pub fn parse(text: &str) -> Result<Self, ParameterError> {
        let text = text.trim();
        if let Some(factor) = text.strip_prefix('*') {
            let factor = read_real(factor.trim());
            return factor
                .map(Self::Factor)
                .ok_or_else(|| ParameterError(format!("'{}' is not a factor; write it as *1.1", shorten(text))));
        }
        match text.len() {
            0 => Err(ParameterError("the value is empty".into())),
            1..=MAX_VALUE if !text.contains(char::is_control) => Ok(Self::Text(text.to_owned())),
            _ => Err(ParameterError(format!("'{}' is too long for a value, or has line ends", shorten(text)))),
        }
    }

    /// The number, or the factor; `None` for a word.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Text(text) => read_real(text),
            Self::Factor(factor) => Some(*factor),
        }
    }
}

impl fmt::Display for ParameterValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => formatter.write_str(text),
            Self::Factor(factor) => write!(formatter, "*{factor}"),
        }
    }
}

impl Parameter {
    /// Parses a parameter of the form `PATH=VALUE`.
    ///
    /// # Errors
    /// The text has no `=`, or its path or value cannot be parsed.
    pub fn parse(text: &str) -> Result<Self, ParameterError> {
        let (path, value) = split_at_equals(text)
            .ok_or_else(|| ParameterError(format!("expected PATH=VALUE, got '{}'", shorten(text))))?;
        Self::of_parts(path, value)
    }

    /// Parses a path and a value.
    ///
    /// # Errors
    /// One of them cannot be parsed.
    pub fn of_parts(path: &str, value: &str) -> Result<Self, ParameterError> {
        Ok(Self { path: ParameterPath::parse(path)?, value: ParameterValue::parse(value)? })
    }
}

/// The text before and behind the first `=` outside of quotation marks.
fn split_at_equals(text: &str) -> Option<(&str, &str)> {
    let mut is_quoted = false;
    let at = text.char_indices().find_map(|(at, letter)| {
        is_quoted ^= letter == '"';
        (letter == '=' && !is_quoted).then_some(at)
    })?;
    Some((&text[..at], &text[at + 1..]))
}

impl fmt::Display for Parameter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}={}", self.path, self.value)
    }
}

impl Parameters {
    /// Sets a parameter. It replaces an earlier one with the same path.
    ///
    /// # Errors
    /// There are too many.
    pub fn set(&mut self, parameter: Parameter) -> Result<(), ParameterError> {
        self.0.retain(|known| known.path != parameter.path);
        if self.0.len() == MAX_PARAMETERS {
            return Err(ParameterError(format!("more than {MAX_PARAMETERS} parameters")));
        }
        self.0.push(parameter);
        Ok(())
    }

    /// All parameters, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Parameter> {
        self.0.iter()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The parameters with which a world was read, from its files.
    pub fn of_sources(sources: &[SourceFile]) -> Self {
        let text = sources.iter().find(|file| file.path == SOURCE_PATH).map(SourceFile::text);
        // The lines were written by `as_source`, so each of them can be parsed.
        Self(text.unwrap_or_default().lines().filter_map(|line| Parameter::parse(line).ok()).collect())
    }

    /// The parameters as a file of the world, with a line for each; `None` without any.
    pub(crate) fn as_source(&self) -> Option<SourceFile> {
        let lines: Vec<String> = self.0.iter().map(Parameter::to_string).collect();
        (!lines.is_empty()).then(|| SourceFile::new(SOURCE_PATH, lines.join("\n")))
    }
}

impl FromIterator<Parameter> for Parameters {
    fn from_iter<I: IntoIterator<Item = Parameter>>(parameters: I) -> Self {
        Self(parameters.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_printed_as_it_is_written() {
        for text in ["surface.friction=0.4", "W.Wheel*.mass=*1.1", "W.\"a.b=c\".mass=2", "surface[2].friction=1"] {
            assert_eq!(Parameter::parse(text).unwrap().to_string(), text);
        }
        let path = ParameterPath::parse("W.\"a.b\"[3].mass").unwrap();
        let steps: Vec<_> = path.path_steps().iter().map(|step| (step.pattern.as_str(), step.index)).collect();
        assert_eq!(steps, [("W", None), ("a.b", Some(3)), ("mass", None)]);
    }

    #[test]
    fn malformed_parameters_are_refused() {
        for text in [
            "", "a", "=1", "a.=1", ".a=1", "a..b=1", "a[0]=1", "a[1=1", "a[x].b=1", "\"a=1", "a]b[=1", "a.b=",
            "a.b=*x", "a.b=1\n2",
        ] {
            assert!(Parameter::parse(text).is_err(), "{text}");
        }
        assert!(Parameter::parse(&format!("{}=1", "a".repeat(MAX_PATH + 1))).is_err());
    }

    #[test]
    fn the_newest_parameter_of_a_path_replaces_the_others() {
        let mut all = Parameters::default();
        for text in ["a.b=1", "a.c=2", "a.b=3"] {
            all.set(Parameter::parse(text).unwrap()).unwrap();
        }
        assert_eq!(all.iter().map(Parameter::to_string).collect::<Vec<_>>(), ["a.c=2", "a.b=3"]);
        assert_eq!(Parameters::of_sources(&all.as_source().into_iter().collect::<Vec<_>>()), all);
    }
}
