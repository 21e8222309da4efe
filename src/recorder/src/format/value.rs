//! Values of rows and of query results, the same for every database.

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// NULL: no value, or a number that is not finite.
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

    /// The bytes of a value of bytes or of a text, which some databases do not distinguish; empty for other values.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Text(text) => text.as_bytes(),
            Self::Null | Self::Integer(_) | Self::Real(_) => &[],
        }
    }

    /// The text; empty for other values.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            _ => "",
        }
    }

    /// True if both values have the same bits. The sign of zero is ignored, because SQLite does not keep it.
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

/// A row of a query result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row(pub(crate) Vec<Value>);

impl Row {
    /// A column as a whole number; `None` for NULL.
    pub(crate) fn integer(&self, column: usize) -> Option<i64> {
        match self.0.get(column) {
            // Databases may return sums of whole numbers as reals.
            Some(Value::Real(real)) => Some(*real as i64),
            value => value.and_then(Value::integer),
        }
    }

    /// A column; NULL if there is no such column.
    pub(crate) fn value(&self, column: usize) -> &Value {
        self.0.get(column).unwrap_or(&Value::Null)
    }

    /// A column as a count; 0 for NULL or a negative number.
    pub(crate) fn count(&self, column: usize) -> u64 {
        self.integer(column).map_or(0, |integer| integer.max(0) as u64)
    }

    /// A column as a number; `None` for NULL.
    pub(crate) fn real(&self, column: usize) -> Option<f64> {
        self.0.get(column).and_then(Value::number)
    }

    /// A column as a text; empty for NULL.
    pub(crate) fn text(&self, column: usize) -> &str {
        self.0.get(column).map_or("", Value::text)
    }
}

/// Type of a column.
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

/// A column of a query result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Name of the column.
    pub name: String,
    /// Type of the column; `None` if the database does not report it.
    pub column_type: Option<ColumnType>,
}
