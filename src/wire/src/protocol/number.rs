//! Numbers as text: finite decimals that read back as the same f64.

use std::fmt::Write;

use super::Refusal;

/// Writes numbers with commas between them, each in the fewest digits that read back as the same f64.
pub fn write_numbers(values: &[f64], text: &mut String) {
    for (index, &value) in values.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        // Writing to a string cannot fail. Debug turns to an exponent where a plain decimal would be unreadably long.
        let size = value.abs();
        let _ = if value == 0.0 || (1e-5..1e16).contains(&size) {
            write!(text, "{value}")
        } else {
            write!(text, "{value:e}")
        };
    }
}

/// A frame of numbers: `<1,0.5,-2>`.
pub fn frame(values: &[f64]) -> String {
    let mut text = String::from("<");
    write_numbers(values, &mut text);
    text.push('>');
    text
}

/// Reads numbers, separated by commas and optional blanks.
///
/// # Errors
/// A part is not a finite decimal; the text names it and its place.
pub fn read_numbers(text: &str) -> Result<Vec<f64>, Refusal> {
    text.split(',').enumerate().map(|(index, part)| read_number(part, index + 1)).collect()
}

/// Reads the number at this place of a message, counted from 1.
///
/// # Errors
/// When it is not a finite decimal.
pub fn read_number(part: &str, place: usize) -> Result<f64, Refusal> {
    let part = part.trim();
    // The standard parser also accepts `inf`, `nan` and numbers too large for an f64, which become infinite.
    let decimal = part.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E'));
    let number = part.parse::<f64>().ok().filter(|number| decimal && number.is_finite());
    number.ok_or_else(|| Refusal::NotANumber { place, got: excerpt(part) })
}

/// First characters of a client's text, for an answer or an event that quotes it.
pub fn excerpt(text: &str) -> String {
    const LENGTH: usize = 40;
    let mut excerpt: String = text.chars().take(LENGTH).map(|c| if c.is_control() { '?' } else { c }).collect();
    if text.chars().nth(LENGTH).is_some() {
        excerpt.push_str("...");
    }
    excerpt
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_finite_decimals_are_numbers() {
        assert_eq!(read_numbers(" 1000 ,-0.5,1e-3, +2. ,.5"), Ok(vec![1000.0, -0.5, 1e-3, 2.0, 0.5]));
        for bad in ["nan", "inf", "-infinity", "1e999", "0x10", "1_000", "", "1 2", "--1", "1,5;2", "e", "１"] {
            assert!(matches!(read_numbers(bad), Err(Refusal::NotANumber { .. })), "{bad}");
        }
        let refusal = read_numbers("1,,3").unwrap_err();
        assert_eq!(refusal.to_string(), "ERR 3 number 2: expected a finite decimal, got ''");
    }

    proptest! {
        #[test]
        fn every_finite_number_reads_back_as_itself(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            let text = frame(&[value]);
            let inner = text.trim_start_matches('<').trim_end_matches('>');
            prop_assert!(text.len() < 40, "{text}");
            prop_assert_eq!(read_numbers(inner).unwrap()[0].to_bits(), bits);
        }
    }
}
