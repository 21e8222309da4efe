//! Near names: what somebody may have meant who asked for a name that is not there.

/// The longest name that is compared, in bytes; the comparison takes time by the product of both lengths.
const MAX_COMPARED: usize = 256;

/// The known name most like this one, if any is like it at all: it differs in no more than one letter and one of each
/// four, where upper and lower case are the same letter. Of equally near names the first by the alphabet is taken.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    if name.len() > MAX_COMPARED {
        return None;
    }
    let like = |known: &'k str| Some((distance(name, known)?, known));
    known.into_iter().filter_map(like).min().map(|(_, known)| known)
}

/// The number of letters that are put in, taken out, exchanged or swapped between two names, if it is small enough for
/// one to be a slip for the other.
pub fn distance(name: &str, known: &str) -> Option<usize> {
    if !is_as_long(name, known) {
        return None;
    }
    let distance = strsim::damerau_levenshtein(&name.to_lowercase(), &known.to_lowercase());
    // Names without a letter in common are not near.
    let longest = name.chars().count().max(known.chars().count());
    (distance <= most_slips(known) && distance < longest).then_some(distance)
}

/// True if the lengths alone allow one name to be a misspelling of the other: their difference is the least number of
/// insertions.
pub fn is_as_long(name: &str, known: &str) -> bool {
    name.chars().count().abs_diff(known.chars().count()) <= most_slips(known)
}

fn most_slips(known: &str) -> usize {
    1 + known.len() / 4
}

/// `; did you mean 'NAME'?`, or nothing where no known name is near. It ends a message about an unknown name.
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
