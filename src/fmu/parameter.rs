//! Parameters of an FMU: values of the model that its users may change.

use serde::{Deserialize, Serialize};
use simpartner_description::{Parameter, ParameterValue};

use super::error::FmuError;

/// A value of the model's files that users of the FMU may change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FmuParameter {
    /// Its path in the model.
    pub path: String,
    /// Its value at first.
    pub start: f64,
    /// True if it multiplies the number in the file.
    pub is_factor: bool,
}

impl FmuParameter {
    /// Parses a parameter such as `surface.friction=0.4`.
    ///
    /// # Errors
    /// The text is no parameter, or its value is no number.
    pub fn parse(text: &str) -> Result<Self, FmuError> {
        let refuse = |path: &str, what: String| FmuError::Parameter { path: path.to_owned(), what };
        let parsed = Parameter::parse(text).map_err(|error| refuse(text, error.to_string()))?;
        let path = parsed.path.as_str().to_owned();
        match parsed.value.number() {
            Some(start) if start.is_finite() => {
                Ok(Self { start, is_factor: matches!(parsed.value, ParameterValue::Factor(_)), path })
            }
            _ => Err(refuse(&path, format!("'{}' is no number, as a parameter of an FMU is", parsed.value))),
        }
    }

    /// The parameter of the model with this value.
    ///
    /// # Errors
    /// The value is not finite.
    pub fn with_value(&self, value: f64) -> Result<Parameter, FmuError> {
        let text = if self.is_factor { format!("*{value}") } else { value.to_string() };
        let refuse = |what: String| FmuError::Parameter { path: self.path.clone(), what };
        if !value.is_finite() {
            return Err(refuse(format!("{value} is no finite number")));
        }
        Parameter::of_parts(&self.path, &text).map_err(|error| refuse(error.to_string()))
    }
}
