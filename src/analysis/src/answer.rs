//! Writes the result of a query as a table, as CSV or as JSON. Numbers read back to the same bits.

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use simpartner_wire::signal::printable;

use super::AnalysisError;
use simpartner_recorder::{
    Inquiry,
    inquiry::{Column, Listener, Scope, Value},
};

/// Format of a query result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Aligned columns under their names, for people.
    Table,
    /// CSV as in RFC 4180; NULL is an empty field.
    Csv,
    /// CSV with visible control characters, for a terminal.
    CsvForTerminal,
    /// A JSON array of objects.
    Json,
}

/// Number of rows that determine the widths of a table's columns: a few screens full. So the table can begin before the
/// last row arrives.
const SAMPLED_ROWS: usize = 200;

/// Size of the sampled rows at which sampling ends, in bytes, because a cell may be as long as a model's text.
const MAX_SAMPLED_BYTES: usize = 1 << 20;

/// Largest width of a table's column, in characters: about the width of a terminal. A longer cell shifts the rest of
/// its row, so that the other rows need not be padded to its length.
const MAX_COLUMN_WIDTH: usize = 120;

/// Executes a query, writes the result, and returns its number of rows.
///
/// # Errors
/// When the database refuses the query, or the output is closed.
pub fn answer(
    inquiry: &mut Inquiry,
    sql: &str,
    scope: Scope,
    form: Form,
    out: &mut impl Write,
) -> Result<u64, AnalysisError> {
    let mut answer = AnswerWriter {
        form,
        out,
        columns: Vec::new(),
        sampled: Vec::new(),
        sampled_bytes: 0,
        widths: Vec::new(),
        rows: 0,
    };
    inquiry.ask(sql, scope, &mut answer)?;
    match form {
        Form::Json if answer.rows == 0 => writeln!(answer.out, "]")?,
        Form::Json => writeln!(answer.out, "\n]")?,
        Form::Table => answer.begin_table()?,
        Form::Csv | Form::CsvForTerminal => {}
    }
    answer.out.flush()?;
    Ok(answer.rows)
}

/// Writes the result of a query.
struct AnswerWriter<'a, W> {
    form: Form,
    out: &'a mut W,
    columns: Vec<String>,
    /// Rows of a table that wait until the widths of the columns are known.
    sampled: Vec<Vec<String>>,
    /// Size of the waiting rows, in bytes.
    sampled_bytes: usize,
    /// Widths of the columns, in characters; empty until they are known.
    widths: Vec<usize>,
    /// Number of rows received.
    rows: u64,
}

impl<W: Write> Listener for AnswerWriter<'_, W> {
    type Error = AnalysisError;

    fn columns(&mut self, columns: &[Column]) -> Result<(), AnalysisError> {
        self.columns = unique_names(columns);
        match self.form {
            Form::Csv => write_csv_line(self.out, self.columns.iter().map(|name| quote_csv(name)))?,
            Form::CsvForTerminal => {
                write_csv_line(self.out, self.columns.iter().map(|name| printable(&quote_csv(name)).into_owned()))?
            }
            Form::Json => self.out.write_all(b"[")?,
            Form::Table => {}
        }
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), AnalysisError> {
        self.rows += 1;
        match self.form {
            Form::Csv => write_csv_line(self.out, row.iter().map(csv_field))?,
            Form::CsvForTerminal => {
                write_csv_line(self.out, row.iter().map(|value| printable(&csv_field(value)).into_owned()))?
            }
            Form::Json => write_json_object(self.out, &self.columns, row, self.rows == 1)?,
            Form::Table if self.widths.is_empty() => {
                let row: Vec<String> = row.iter().map(table_cell).collect();
                self.sampled_bytes += row.iter().map(String::len).sum::<usize>();
                self.sampled.push(row);
                if self.sampled.len() == SAMPLED_ROWS || self.sampled_bytes > MAX_SAMPLED_BYTES {
                    self.begin_table()?;
                }
            }
            Form::Table => write_aligned(self.out, row.iter().map(table_cell), &self.widths)?,
        }
        Ok(())
    }
}

impl<W: Write> AnswerWriter<'_, W> {
    /// Determines the widths of the columns, and writes the head of the table and the sampled rows. Later calls do
    /// nothing.
    fn begin_table(&mut self) -> io::Result<()> {
        if !self.widths.is_empty() {
            return Ok(());
        }
        let width = |text: &String| text.chars().count();
        let names: Vec<String> = self.columns.iter().map(|name| printable(name).into_owned()).collect();
        let widest = |index: usize| self.sampled.iter().map(|row| width(&row[index])).max().unwrap_or(0);
        let widths = names.iter().enumerate().map(|(index, name)| widest(index).max(width(name)).min(MAX_COLUMN_WIDTH));
        self.widths = widths.collect();
        write_aligned(self.out, names.into_iter(), &self.widths)?;
        write_aligned(self.out, self.widths.iter().map(|width| "-".repeat(*width)), &self.widths)?;
        for row in self.sampled.drain(..) {
            write_aligned(self.out, row.into_iter(), &self.widths)?;
        }
        Ok(())
    }
}

/// Names of the columns, made unique for the objects of JSON: repetitions of a name get a number.
fn unique_names(columns: &[Column]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for column in columns {
        let mut name = column.name.clone();
        let mut again = 2;
        while names.contains(&name) {
            name = format!("{}_{again}", column.name);
            again += 1;
        }
        names.push(name);
    }
    names
}

/// Formats a number as the shortest text that reads back to the same number.
fn format_real(number: f64) -> String {
    zmij::Buffer::new().format(number).to_owned()
}

fn format_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Cell of a table.
fn table_cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Integer(integer) => integer.to_string(),
        Value::Real(number) => format_real(*number),
        // A row of a table has one line.
        Value::Text(text) => printable(&text.replace(['\n', '\r', '\t'], " ")).into_owned(),
        Value::Bytes(bytes) => format_hex(bytes),
    }
}

/// A field of CSV.
fn csv_field(value: &Value) -> String {
    let mut field = String::new();
    push_csv(&mut field, value);
    field
}

/// Adds a field of CSV to a line.
pub(super) fn push_csv(line: &mut String, value: &Value) {
    match value {
        Value::Null => {}
        Value::Integer(integer) => {
            // Writing to a string cannot fail.
            let _ = write!(line, "{integer}");
        }
        Value::Real(number) => line.push_str(zmij::Buffer::new().format(*number)),
        Value::Text(text) if text.is_empty() || text.contains([',', '"', '\n', '\r']) => {
            line.push_str(&quote_csv(text))
        }
        Value::Text(text) => line.push_str(text),
        Value::Bytes(bytes) => line.push_str(&format_hex(bytes)),
    }
}

/// Quotes a field of CSV if it needs quotes.
fn quote_csv(text: &str) -> String {
    // Quotes distinguish an empty text from NULL.
    if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}

/// Writes a line of CSV.
pub(super) fn write_csv_line(out: &mut impl Write, fields: impl Iterator<Item = String>) -> io::Result<()> {
    for (index, field) in fields.enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        out.write_all(field.as_bytes())?;
    }
    out.write_all(b"\n")
}

/// Writes a row as an element of a JSON array.
fn write_json_object(out: &mut impl Write, columns: &[String], row: &[Value], first: bool) -> io::Result<()> {
    out.write_all(if first { b"\n  {" } else { b",\n  {" })?;
    for (index, (name, value)) in columns.iter().zip(row).enumerate() {
        if index > 0 {
            out.write_all(b", ")?;
        }
        write_json_string(out, name)?;
        out.write_all(b": ")?;
        match value {
            Value::Integer(integer) => write!(out, "{integer}")?,
            Value::Real(number) if number.is_finite() => out.write_all(format_real(*number).as_bytes())?,
            Value::Null | Value::Real(_) => out.write_all(b"null")?,
            Value::Text(text) => write_json_string(out, text)?,
            Value::Bytes(bytes) => write_json_string(out, &format_hex(bytes))?,
        }
    }
    out.write_all(b"}")
}

/// Writes a string of JSON. All control characters are escaped, including those that JSON allows unescaped.
fn write_json_string(out: &mut impl Write, text: &str) -> io::Result<()> {
    out.write_all(printable(&serde_json::to_string(text)?).as_bytes())
}

/// Writes a line of a table with aligned columns.
fn write_aligned(out: &mut impl Write, cells: impl Iterator<Item = String>, widths: &[usize]) -> io::Result<()> {
    let mut line = String::new();
    for (cell, width) in cells.zip(widths) {
        // Blanks are appended by hand, because a width in a format string has at most 16 bits.
        let blanks = width.saturating_sub(cell.chars().count()) + 2;
        line.push_str(&cell);
        line.extend(std::iter::repeat_n(' ', blanks));
    }
    writeln!(out, "{}", line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_to_the_same_bits() {
        for number in [0.1, 1e-310, -0.0, 1.0 / 3.0, 9_007_199_254_740_993.0, f64::MAX] {
            assert_eq!(format_real(number).parse::<f64>().unwrap().to_bits(), number.to_bits());
        }
    }

    #[test]
    fn a_name_that_comes_again_gets_a_number() {
        let column = |name: &str| Column { name: name.into(), column_type: None };
        assert_eq!(unique_names(&[column("x"), column("y"), column("x"), column("x")]), ["x", "y", "x_2", "x_3"]);
    }
}
