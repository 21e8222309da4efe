//! Lists of numbers as texts that every database can take apart: JSON arrays.

use std::fmt::Write as _;

/// Formats numbers as a JSON array. Numbers that are not finite become null. All others read back to the same bits.
pub fn format_numbers(numbers: &[f64]) -> String {
    let mut text = String::with_capacity(numbers.len() * 20 + 2);
    for (index, number) in numbers.iter().enumerate() {
        text.push(if index == 0 { '[' } else { ',' });
        // Writing to a string cannot fail.
        let _ = if number.is_finite() { write!(text, "{number:?}") } else { write!(text, "null") };
    }
    text.push_str(if numbers.is_empty() { "[]" } else { "]" });
    text
}

/// Parses the numbers of an array. Null, and anything else that is not a number, becomes NaN.
pub fn parse_numbers(text: &str) -> Vec<f64> {
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
    let number = |text: &str| text.trim().parse().unwrap_or(f64::NAN);
    if inner.trim().is_empty() { Vec::new() } else { inner.split(',').map(number).collect() }
}

/// Index of the first number whose bits differ; the length of the shorter list if one list continues the other.
pub fn first_difference(one: &[f64], two: &[f64]) -> Option<usize> {
    let shorter = one.len().min(two.len());
    let differs = one.iter().zip(two).position(|(one, two)| one.to_bits() != two.to_bits());
    differs.or((one.len() != two.len()).then_some(shorter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_to_the_same_bits_and_the_text_is_json() {
        let numbers = [0.1, -0.0, 1e-310, f64::MAX, f64::MIN_POSITIVE, 30.0, 1.0 / 3.0, f64::NAN, f64::INFINITY];
        let text = format_numbers(&numbers);
        let parsed: Vec<Option<f64>> = serde_json::from_str(&text).unwrap();
        assert_eq!((parsed.len(), parsed[5], parsed[8]), (9, Some(30.0), None));
        for (number, read) in numbers.iter().zip(parse_numbers(&text)) {
            assert!(number.to_bits() == read.to_bits() || !number.is_finite() && read.is_nan());
        }
        assert_eq!((format_numbers(&[]).as_str(), parse_numbers("[]"), parse_numbers("")), ("[]", vec![], vec![]));
    }

    #[test]
    fn the_first_difference_is_one_of_bits_or_of_length() {
        assert_eq!(first_difference(&[1.0, 2.0, 3.0], &[1.0, 2.5, 3.5]), Some(1));
        assert_eq!(first_difference(&[0.0], &[-0.0]), Some(0));
        assert_eq!((first_difference(&[1.0], &[1.0, 2.0]), first_difference(&[1.0, 2.0], &[])), (Some(1), Some(0)));
        assert_eq!((first_difference(&[f64::NAN], &[f64::NAN]), first_difference(&[], &[])), (None, None));
    }
}
