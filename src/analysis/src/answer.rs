//! Writes the rows of an answer as a table, as CSV or as JSON. Numbers read back to the same bits.

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

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Columns under their names, for people.
    Table,
    /// As in RFC 4180; no value is an empty field.
    Csv,
    /// The same for a terminal, with control characters made visible.
    CsvForTerminal,
    /// An array of objects.
    Json,
}

/// Rows that determine the widths of a table's columns, so that it can begin before the last row is there: a few screens full.
const LOOKED_AT: usize = 200;

/// Most characters of those rows, a megabyte: a cell may be as long as a model's text.
const MOST_WAITING: usize = 1 << 20;

/// The widest column of a table, about the width of a terminal. A longer cell shifts the rest of its row, so that all others need not be
/// padded to its length.
const WIDEST: usize = 120;

/// Asks the log, writes the answer, and returns how many rows it has.
///
/// # Errors
/// When the database does not understand the query, or the output is closed.
pub fn answer(
    inquiry: &mut Inquiry,
    sql: &str,
    scope: Scope,
    form: Form,
    out: &mut impl Write,
) -> Result<u64, AnalysisError> {
    let mut answer =
        Answer { form, out, columns: Vec::new(), waiting: Vec::new(), length: 0, widths: Vec::new(), rows: 0 };
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

/// An answer being written.
struct Answer<'a, W> {
    form: Form,
    out: &'a mut W,
    columns: Vec<String>,
    /// Rows of a table before its widths are known.
    waiting: Vec<Vec<String>>,
    /// Characters of those.
    length: usize,
    /// The widths, once they are known.
    widths: Vec<usize>,
    rows: u64,
}

impl<W: Write> Listener for Answer<'_, W> {
    type Error = AnalysisError;

    fn columns(&mut self, columns: &[Column]) -> Result<(), AnalysisError> {
        self.columns = names(columns);
        match self.form {
            Form::Csv => line(self.out, self.columns.iter().map(|name| quoted(name)))?,
            Form::CsvForTerminal => {
                line(self.out, self.columns.iter().map(|name| printable(&quoted(name)).into_owned()))?
            }
            Form::Json => self.out.write_all(b"[")?,
            Form::Table => {}
        }
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), AnalysisError> {
        self.rows += 1;
        match self.form {
            Form::Csv => line(self.out, row.iter().map(csv))?,
            Form::CsvForTerminal => line(self.out, row.iter().map(|value| printable(&csv(value)).into_owned()))?,
            Form::Json => object(self.out, &self.columns, row, self.rows == 1)?,
            Form::Table if self.widths.is_empty() => {
                let row: Vec<String> = row.iter().map(shown).collect();
                self.length += row.iter().map(String::len).sum::<usize>();
                self.waiting.push(row);
                if self.waiting.len() == LOOKED_AT || self.length > MOST_WAITING {
                    self.begin_table()?;
                }
            }
            Form::Table => aligned(self.out, row.iter().map(shown), &self.widths)?,
        }
        Ok(())
    }
}

impl<W: Write> Answer<'_, W> {
    /// Writes the head of the table and the rows that waited for it, once.
    fn begin_table(&mut self) -> io::Result<()> {
        if !self.widths.is_empty() {
            return Ok(());
        }
        let width = |text: &String| text.chars().count();
        let names: Vec<String> = self.columns.iter().map(|name| printable(name).into_owned()).collect();
        let widest = |index: usize| self.waiting.iter().map(|row| width(&row[index])).max().unwrap_or(0);
        let widths = names.iter().enumerate().map(|(index, name)| widest(index).max(width(name)).min(WIDEST));
        self.widths = widths.collect();
        aligned(self.out, names.into_iter(), &self.widths)?;
        aligned(self.out, self.widths.iter().map(|width| "-".repeat(*width)), &self.widths)?;
        for row in self.waiting.drain(..) {
            aligned(self.out, row.into_iter(), &self.widths)?;
        }
        Ok(())
    }
}

/// Names of the columns; of a name that comes again, the later ones get a number, since an object has each name once.
fn names(columns: &[Column]) -> Vec<String> {
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

/// The shortest text that reads back to the same number.
pub(super) fn real(number: f64) -> String {
    zmij::Buffer::new().format(number).to_owned()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Integer(integer) => integer.to_string(),
        Value::Real(number) => real(*number),
        // A table has one line to a row.
        Value::Text(text) => printable(&text.replace(['\n', '\r', '\t'], " ")).into_owned(),
        Value::Bytes(bytes) => hexadecimal(bytes),
    }
}

/// A field of CSV.
fn csv(value: &Value) -> String {
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
        Value::Text(text) if text.is_empty() || text.contains([',', '"', '\n', '\r']) => line.push_str(&quoted(text)),
        Value::Text(text) => line.push_str(text),
        Value::Bytes(bytes) => line.push_str(&hexadecimal(bytes)),
    }
}

fn quoted(text: &str) -> String {
    // An empty text is not the same as no value.
    if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}

/// A line of CSV.
pub(super) fn line(out: &mut impl Write, fields: impl Iterator<Item = String>) -> io::Result<()> {
    for (index, field) in fields.enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        out.write_all(field.as_bytes())?;
    }
    out.write_all(b"\n")
}

fn object(out: &mut impl Write, columns: &[String], row: &[Value], first: bool) -> io::Result<()> {
    out.write_all(if first { b"\n  {" } else { b",\n  {" })?;
    for (index, (name, value)) in columns.iter().zip(row).enumerate() {
        if index > 0 {
            out.write_all(b", ")?;
        }
        string(out, name)?;
        out.write_all(b": ")?;
        match value {
            Value::Integer(integer) => write!(out, "{integer}")?,
            Value::Real(number) if number.is_finite() => out.write_all(real(*number).as_bytes())?,
            Value::Null | Value::Real(_) => out.write_all(b"null")?,
            Value::Text(text) => string(out, text)?,
            Value::Bytes(bytes) => string(out, &hexadecimal(bytes))?,
        }
    }
    out.write_all(b"}")
}

/// A string of JSON; also the control characters that JSON allows as they are go out by their numbers.
fn string(out: &mut impl Write, text: &str) -> io::Result<()> {
    out.write_all(printable(&serde_json::to_string(text)?).as_bytes())
}

fn aligned(out: &mut impl Write, cells: impl Iterator<Item = String>, widths: &[usize]) -> io::Result<()> {
    let mut line = String::new();
    for (cell, width) in cells.zip(widths) {
        // A width in a format has 16 bits at most.
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
            assert_eq!(real(number).parse::<f64>().unwrap().to_bits(), number.to_bits());
        }
    }

    #[test]
    fn a_name_that_comes_again_gets_a_number() {
        let column = |name: &str| Column { name: name.into(), column_type: None };
        assert_eq!(names(&[column("x"), column("y"), column("x"), column("x")]), ["x", "y", "x_2", "x_3"]);
    }
}
