//! Where in a user's query the database found a fault.

use super::scope::Scoped;

/// A place in a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its line, from 1.
    pub line: usize,
    /// The character in it, from 1.
    pub column: usize,
    /// The text of that line.
    pub text: String,
}

impl Place {
    /// The place in a sentence.
    pub(in crate::recorder) fn told(&self) -> String {
        format!(" at line {}, character {}", self.line, self.column)
    }

    /// The line, with a mark below the place.
    pub(in crate::recorder) fn shown(&self) -> String {
        format!("\n  {}\n  {}^", self.text, " ".repeat(self.column - 1))
    }
}

/// How a database tells it.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::recorder) enum Told {
    /// By the character of the text it got, from 1.
    Character(usize),
    /// By the text that begins there.
    From(String),
    /// By the word that stands there; of several places where it does, none can be told.
    Word(String),
    /// Not at all.
    Nowhere,
}

impl Told {
    /// The place in the user's text.
    pub(super) fn place(&self, sql: &str, scoped: &Scoped) -> Option<Place> {
        let byte = match self {
            Self::Character(number) => {
                let byte = scoped.text.char_indices().nth(number.checked_sub(1)?).map(|(byte, _)| byte);
                scoped.origin(byte.unwrap_or(scoped.text.len()))?
            }
            Self::From(text) => scoped.origin(scoped.text.rfind(text.as_str())?)?,
            Self::Word(word) => the_only(sql, word)?,
            Self::Nowhere => return None,
        };
        let before = sql.get(..byte)?;
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        Some(Place {
            line: before.matches('\n').count() + 1,
            column: before[start..].chars().count() + 1,
            text: sql[start..].lines().next().unwrap_or("").to_owned(),
        })
    }
}

/// Where a word stands, if it stands at one place.
fn the_only(sql: &str, word: &str) -> Option<usize> {
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    let whole = |at: &usize| {
        let (before, behind) = (&sql[..*at], &sql[at + word.len()..]);
        let goes_on = word.ends_with(letter) && behind.starts_with(letter);
        let comes_from = word.starts_with(letter) && before.ends_with(letter);
        !(goes_on || comes_from)
    };
    let mut places = sql.match_indices(word).map(|(at, _)| at).filter(whole);
    let first = places.next()?;
    places.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_stands_twice_has_no_place() {
        assert_eq!(the_only("SELECT a, ab FROM t", "a"), Some(7));
        assert_eq!(the_only("SELECT a, a FROM t", "a"), None);
        assert_eq!(the_only("SELECT 1 + + ; x", ";"), Some(13));
    }
}
