//! Writes JSON directly into a text, because building a tree for each of millions of messages would take too long.

/// A name as a string of JSON, with quotes.
pub(super) fn quote(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}

/// Adds a number; null for `None` or a number that is not finite.
fn push_number(text: &mut String, number: Option<f64>) {
    match number.filter(|number| number.is_finite()) {
        Some(number) => text.push_str(zmij::Buffer::new().format_finite(number)),
        None => text.push_str("null"),
    }
}

/// Adds an array of numbers.
pub(super) fn push_list(text: &mut String, numbers: impl Iterator<Item = Option<f64>>) {
    text.push('[');
    for (index, number) in numbers.enumerate() {
        if index > 0 {
            text.push(',');
        }
        push_number(text, number);
    }
    text.push(']');
}

/// Adds an object of numbers. The names must be quoted.
pub(super) fn push_object<'a>(text: &mut String, fields: impl Iterator<Item = (&'a str, Option<f64>)>) {
    text.push('{');
    push_members(text, fields);
    text.push('}');
}

/// Adds members of an object: names, which must be quoted, and numbers.
pub(super) fn push_members<'a>(text: &mut String, fields: impl Iterator<Item = (&'a str, Option<f64>)>) {
    for (index, (name, value)) in fields.enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(name);
        text.push(':');
        push_number(text, value);
    }
}

/// Adds a vector x, y, z or a quaternion x, y, z, w as an object.
pub(super) fn push_axes(text: &mut String, numbers: &[Option<f64>]) {
    const AXES: [&str; 4] = [r#""x""#, r#""y""#, r#""z""#, r#""w""#];
    push_object(text, AXES.into_iter().zip(numbers.iter().copied()));
}

/// Adds a pose: three numbers of the position, then the quaternion x, y, z, w of the orientation.
pub(super) fn push_pose(text: &mut String, numbers: &[Option<f64>]) {
    text.push_str(r#"{"position":"#);
    push_axes(text, &numbers[..3]);
    text.push_str(r#","orientation":"#);
    push_axes(text, &numbers[3..7]);
    text.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_json_and_reads_back_to_the_same_bits() {
        let numbers = [Some(0.1), Some(-0.0), Some(1e-310), Some(f64::MAX), Some(f64::NAN), None, Some(1.0)];
        let mut text = String::new();
        push_pose(&mut text, &numbers);
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["position"]["x"].as_f64(), Some(0.1));
        assert_eq!(read["position"]["y"].as_f64().map(f64::to_bits), Some((-0.0_f64).to_bits()));
        assert_eq!(read["orientation"]["x"].as_f64(), Some(f64::MAX));
        assert!(read["orientation"]["y"].is_null() && read["orientation"]["z"].is_null());
        assert_eq!(quote("a\"b"), r#""a\"b""#);
    }
}
