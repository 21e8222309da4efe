//! Values of rows and answers, the same for every database.

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing, or a number that is not finite.
    Null,
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Value {
    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(integer) => Some(*integer as f64),
            Self::Real(real) => Some(*real),
            Self::Null | Self::Text(_) | Self::Bytes(_) => None,
        }
    }

    /// The whole number, if it is one.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(integer) => Some(*integer),
            _ => None,
        }
    }

    /// The bytes of bytes or of a text, which some databases do not tell apart; none of anything else.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Text(text) => text.as_bytes(),
            Self::Null | Self::Integer(_) | Self::Real(_) => &[],
        }
    }

    /// The text; an empty one of anything else.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            _ => "",
        }
    }

    /// Whether both are the same to the bit, except for the sign of zero, which SQLite does not keep.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Real(one), Self::Real(other)) => one == other || one.to_bits() == other.to_bits(),
            (one, other) => one == other,
        }
    }
}

/// A value as a parameter of a statement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Parameter<'a> {
    Null,
    Integer(i64),
    Real(f64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

impl From<Parameter<'_>> for Value {
    fn from(parameter: Parameter<'_>) -> Self {
        match parameter {
            Parameter::Null => Self::Null,
            Parameter::Integer(integer) => Self::Integer(integer),
            Parameter::Real(real) => Self::Real(real),
            Parameter::Text(text) => Self::Text(text.to_owned()),
            Parameter::Bytes(bytes) => Self::Bytes(bytes.to_owned()),
        }
    }
}

impl<'a> From<&'a Value> for Parameter<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Integer(integer) => Self::Integer(*integer),
            Value::Real(real) => Self::Real(*real),
            Value::Text(text) => Self::Text(text),
            Value::Bytes(bytes) => Self::Bytes(bytes),
        }
    }
}

/// A row of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row(pub(crate) Vec<Value>);

impl Row {
    /// A column that holds a whole number, unless it is NULL.
    pub(crate) fn integer(&self, column: usize) -> Option<i64> {
        match self.0.get(column) {
            // Sums of whole numbers may come as reals.
            Some(Value::Real(real)) => Some(*real as i64),
            value => value.and_then(Value::integer),
        }
    }

    /// A column that was asked for.
    pub(crate) fn value(&self, column: usize) -> &Value {
        self.0.get(column).unwrap_or(&Value::Null)
    }

    /// A column that holds a count; NULL is 0.
    pub(crate) fn count(&self, column: usize) -> u64 {
        self.integer(column).map_or(0, |integer| integer.max(0) as u64)
    }

    /// A column that holds a number, unless it is NULL.
    pub(crate) fn real(&self, column: usize) -> Option<f64> {
        self.0.get(column).and_then(Value::number)
    }

    /// A column that holds a text; NULL is empty.
    pub(crate) fn text(&self, column: usize) -> &str {
        self.0.get(column).map_or("", Value::text)
    }
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// Whole numbers.
    Integer,
    /// Numbers.
    Real,
    /// Text.
    Text,
    /// Bytes.
    Bytes,
}

/// A column of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type, where the database says it.
    pub column_type: Option<ColumnType>,
}
