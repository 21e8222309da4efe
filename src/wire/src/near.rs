//! Near names: suggestions for a misspelled name.

/// The longest name that is compared, in bytes; the comparison takes time by the product of both lengths.
const MAX_COMPARED: usize = 256;

/// The known name that is most similar, if any is: it differs in at most one letter and one of each four, ignoring
/// case. Of equally similar names, the first in alphabetical order is returned.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    if name.len() > MAX_COMPARED {
        return None;
    }
    let like = |known: &'k str| Some((distance(name, known)?, known));
    known.into_iter().filter_map(like).min().map(|(_, known)| known)
}

/// Edit distance of two names (insertions, deletions, substitutions and swaps of letters), if it is small enough for a
/// misspelling.
pub fn distance(name: &str, known: &str) -> Option<usize> {
    if !is_as_long(name, known) {
        return None;
    }
    let distance = strsim::damerau_levenshtein(&name.to_lowercase(), &known.to_lowercase());
    // Names without a letter in common are not near.
    let longest = name.chars().count().max(known.chars().count());
    (distance <= most_slips(known) && distance < longest).then_some(distance)
}

/// True if the lengths alone permit one name to be a misspelling of the other: their difference is the least number of
/// insertions.
pub fn is_as_long(name: &str, known: &str) -> bool {
    name.chars().count().abs_diff(known.chars().count()) <= most_slips(known)
}

fn most_slips(known: &str) -> usize {
    1 + known.len() / 4
}

/// `; did you mean 'NAME'?`, or an empty text if no known name is similar. It ends a message about an unknown name.
pub fn did_you_mean<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    nearest(name, known).map_or_else(String::new, |near| format!("; did you mean '{near}'?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_near_and_another_word_is_not() {
        let known = ["Position", "WheelMotor1", "WheelMotor2", "bodyID"];
        assert_eq!(nearest("Positon", known), Some("Position"));
        assert_eq!(nearest("wheelmotor3", known), Some("WheelMotor1"));
        assert_eq!(nearest("bodyid", known), Some("bodyID"));
        assert_eq!(nearest("Gyro", known), None);
        assert_eq!((nearest("w", ["x", "y"]), nearest("xx", ["x", "y"])), (None, Some("x")));
        assert_eq!(nearest(&"x".repeat(1000), known), None);
        assert_eq!(did_you_mean("Psoition", known), "; did you mean 'Position'?");
        assert_eq!(did_you_mean("Gyro", known), "");
    }
}
