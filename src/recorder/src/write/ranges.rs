//! A set of whole numbers, stored as ranges, and its text form in the database.

use std::fmt;

/// Ranges in ascending order, no two of which touch. The text form is such as `3-7,12`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Parses the text form. Parts that are not ranges are skipped.
    pub(super) fn parse(text: &str) -> Self {
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some((first.parse().ok()?, last.parse().ok()?))
        };
        Self(text.split(',').filter_map(range).filter(|(first, last)| first <= last).collect())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().copied()
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        self.0.iter().any(|&(first, last)| (first..=last).contains(&number))
    }

    /// Adds a range after all others.
    pub(super) fn append(&mut self, first: u64, last: u64) {
        match self.0.last_mut() {
            Some(before) if before.1 + 1 >= first => before.1 = last,
            _ => self.0.push((first, last)),
        }
    }

    /// Removes a number, and returns whether it was in the set.
    pub(super) fn remove(&mut self, number: u64) -> bool {
        let Some(at) = self.0.iter().position(|&(first, last)| (first..=last).contains(&number)) else { return false };
        let (first, last) = self.0[at];
        let left = [(first, number.wrapping_sub(1)), (number + 1, last)];
        let left =
            left.into_iter().enumerate().filter(|&(side, _)| if side == 0 { number > first } else { number < last });
        self.0.splice(at..=at, left.map(|(_, range)| range).collect::<Vec<_>>());
        true
    }
}

impl fmt::Display for Ranges {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (first, last)) in self.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            match first == last {
                true => write!(formatter, "{comma}{first}")?,
                false => write!(formatter, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_in_as_ranges_and_come_out_one_by_one() {
        let mut ranges = Ranges::default();
        for (first, last) in [(3, 5), (6, 7), (12, 12)] {
            ranges.append(first, last);
        }
        assert_eq!(ranges.to_string(), "3-7,12");
        assert_eq!(Ranges::parse("3-7,12"), ranges);
        assert!(ranges.contains(7) && !ranges.contains(8) && !ranges.remove(8));
        for (number, left) in [(5, "3-4,6-7,12"), (3, "4,6-7,12"), (12, "4,6-7"), (4, "6-7"), (7, "6"), (6, "")] {
            assert!(ranges.remove(number));
            assert_eq!(ranges.to_string(), left);
        }
        for text in ["", "x,5-3"] {
            assert_eq!((Ranges::parse(text), &ranges), (Ranges::default(), &Ranges::default()));
        }
    }
}
