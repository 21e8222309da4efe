//! Numbers in text, and texts shortened for messages.

use crate::limits::MAX_VALUE;

/// A finite decimal. The standard parser also accepts `inf` and `nan`, and makes numbers that are too large infinite.
pub(crate) fn read_real(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// Reads at most `most` numbers, separated by blanks, commas or semicolons; the error is an offset and the fault.
pub(crate) fn read_numbers(text: &str, most: usize) -> Result<Vec<f64>, (usize, String)> {
    read_separated(text, most, |c| c.is_whitespace() || c == ',' || c == ';')
}

/// The same with blanks alone between them, as other programs have them: 0,1 and 1,000 are no numbers there.
pub(crate) fn read_spaced_numbers(text: &str, most: usize) -> Result<Vec<f64>, (usize, String)> {
    read_separated(text, most, char::is_whitespace)
}

fn read_separated(
    text: &str,
    most: usize,
    separator: impl Fn(char) -> bool + Copy,
) -> Result<Vec<f64>, (usize, String)> {
    let mut numbers = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(separator);
        if rest.is_empty() {
            return Ok(numbers);
        }
        let at = text.len() - rest.len();
        if numbers.len() == most {
            return Err((at, format!("more than {most} numbers")));
        }
        let end = rest.find(separator).unwrap_or(rest.len());
        let part = &rest[..end];
        let number = read_real(part).filter(|_| part.len() <= MAX_VALUE);
        numbers.push(number.ok_or_else(|| (at, format!("expected a finite number, got '{}'", shorten(part))))?);
        rest = &rest[end..];
    }
}

/// A text short enough for a message.
pub fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(60).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(60).is_some() {
        short.push_str("...");
    }
    short
}
