//! Writes JSON directly into a text: for millions of messages building a tree for each would take too long.

/// A name as a string of JSON.
pub(super) fn quoted(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}

/// Adds a number; one that is not finite, or not there, is null.
pub(super) fn number(text: &mut String, number: Option<f64>) {
    match number.filter(|number| number.is_finite()) {
        Some(number) => text.push_str(zmij::Buffer::new().format_finite(number)),
        None => text.push_str("null"),
    }
}

/// Adds a list of numbers.
pub(super) fn list(text: &mut String, numbers: impl Iterator<Item = Option<f64>>) {
    text.push('[');
    for (index, one) in numbers.enumerate() {
        if index > 0 {
            text.push(',');
        }
        number(text, one);
    }
    text.push(']');
}

/// Adds an object of numbers; the names are quoted.
pub(super) fn object<'a>(text: &mut String, fields: impl Iterator<Item = (&'a str, Option<f64>)>) {
    text.push('{');
    members(text, fields);
    text.push('}');
}

/// Adds names, which are quoted, and their numbers.
pub(super) fn members<'a>(text: &mut String, fields: impl Iterator<Item = (&'a str, Option<f64>)>) {
    for (index, (name, value)) in fields.enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(name);
        text.push(':');
        number(text, value);
    }
}

/// Adds a vector or a quaternion.
pub(super) fn axes(text: &mut String, numbers: &[Option<f64>]) {
    const AXES: [&str; 4] = [r#""x""#, r#""y""#, r#""z""#, r#""w""#];
    object(text, AXES.into_iter().zip(numbers.iter().copied()));
}

/// Adds a pose: three numbers of its place and four of its orientation.
pub(super) fn pose(text: &mut String, numbers: &[Option<f64>]) {
    text.push_str(r#"{"position":"#);
    axes(text, &numbers[..3]);
    text.push_str(r#","orientation":"#);
    axes(text, &numbers[3..7]);
    text.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_json_and_reads_back_to_the_same_bits() {
        let numbers = [Some(0.1), Some(-0.0), Some(1e-310), Some(f64::MAX), Some(f64::NAN), None, Some(1.0)];
        let mut text = String::new();
        pose(&mut text, &numbers);
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["position"]["x"].as_f64(), Some(0.1));
        assert_eq!(read["position"]["y"].as_f64().map(f64::to_bits), Some((-0.0_f64).to_bits()));
        assert_eq!(read["orientation"]["x"].as_f64(), Some(f64::MAX));
        assert!(read["orientation"]["y"].is_null() && read["orientation"]["z"].is_null());
        assert_eq!(quoted("a\"b"), r#""a\"b""#);
    }
}
