//! The two text files of 1994: numbers with blanks between them.
//!
//! Object: tolerance, upper bound, lower bound, gravity (3), largest tilt in degrees, centre of mass (3), inertia (9).
//!
//! Contacts: how many; of each its type (1 frictionless, 2 frictional, 3 soft), its point (3), three rows of four of its matrix, six
//! coefficients of its patch, the coefficient of friction of types 2 and 3, and the finger's radius of type 3.

use bevy_math::{DMat3, DVec3};
use simpartner_model::ContactKind;
use thiserror::Error;

use super::{Finger, Harker};

/// What is wrong with a text, and in which line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {what}")]
pub struct FileError {
    /// From 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

/// What is wrong with a contact that can be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("contact {contact}: {what}")]
pub struct Flaw {
    /// From 1.
    pub contact: usize,
    /// What is wrong.
    pub what: String,
}

/// More contacts than a hand of the time, or any, has fingers.
const MOST_CONTACTS: f64 = 1000.0;

impl Harker {
    /// Reads the two files.
    ///
    /// # Errors
    /// What is wrong first; [`FileError::line`] is of the text that the error comes with.
    pub fn read_object(text: &str) -> Result<(Self, [f64; 2]), FileError> {
        let mut numbers = Numbers::new(text);
        let tolerance = numbers.checked("the tolerance", |value| value > 0.0, "a number above 0")?;
        let highest = numbers.checked("the upper bound", |value| value > 0.0, "a number above 0")?;
        let lowest = numbers.checked(
            "the lower bound",
            |value| (0.0..=highest).contains(&value),
            "a number from 0 to the upper bound",
        )?;
        let gravity = numbers.vector("gravity")?;
        let tilt = numbers.checked(
            "the angle of stability",
            |value| (0.0..=180.0).contains(&value),
            "degrees from 0 to 180",
        )?;
        let centre = numbers.vector("the centre of mass")?;
        let rows = [numbers.vector("the inertia")?, numbers.vector("the inertia")?, numbers.vector("the inertia")?];
        let inertia = DMat3::from_cols(rows[0], rows[1], rows[2]).transpose();
        numbers.end()?;
        Ok((Self { tolerance, gravity, tilt, centre, inertia, contacts: Vec::new() }, [lowest, highest]))
    }

    /// Reads the contacts, whose forces have these limits.
    ///
    /// # Errors
    /// What is wrong first.
    pub fn read_contacts(text: &str, limits: [f64; 2]) -> Result<Vec<Finger>, FileError> {
        let mut numbers = Numbers::new(text);
        let whole = |value: f64| value.fract() == 0.0;
        let most = format!("a whole number from 1 to {MOST_CONTACTS}");
        let count = numbers.checked(
            "the number of contacts",
            |value| whole(value) && (1.0..=MOST_CONTACTS).contains(&value),
            &most,
        )?;
        let contacts = (0..count as usize).map(|_| Finger::read(&mut numbers, limits)).collect::<Result<_, _>>()?;
        numbers.end()?;
        Ok(contacts)
    }
}

impl Finger {
    fn read(numbers: &mut Numbers, limits: [f64; 2]) -> Result<Self, FileError> {
        let kind = numbers.checked("the type of a contact", |value| [1.0, 2.0, 3.0].contains(&value), "1, 2 or 3")?;
        let point = numbers.vector("the point of a contact")?;
        let mut rows = [DVec3::ZERO; 3];
        let mut translation = DVec3::ZERO;
        for (row, into) in rows.iter_mut().enumerate() {
            *into = numbers.vector("the matrix of a contact")?;
            translation[row] = numbers.next("the matrix of a contact")?;
        }
        let mut patch = [0.0; 6];
        for coefficient in &mut patch {
            *coefficient = numbers.next("the patch of a contact")?;
        }
        let friction = |numbers: &mut Numbers| {
            numbers.checked("the coefficient of friction", |value| value >= 0.0, "a number not below 0")
        };
        let kind = match kind {
            1.0 => ContactKind::Frictionless,
            2.0 => ContactKind::Frictional { friction: friction(numbers)? },
            _ => ContactKind::Soft {
                friction: friction(numbers)?,
                radius: numbers.checked("the radius of a finger", |value| value > 0.0, "a number above 0")?,
            },
        };
        let matrix = DMat3::from_cols(rows[0], rows[1], rows[2]).transpose();
        Ok(Self { kind, point, matrix, translation, patch, limits })
    }
}

/// The numbers of a text, each with its line.
struct Numbers<'t> {
    words: Box<dyn Iterator<Item = (usize, &'t str)> + 't>,
    line: usize,
}

impl<'t> Numbers<'t> {
    fn new(text: &'t str) -> Self {
        let lines = text.lines().enumerate();
        let words = lines.flat_map(|(line, text)| text.split_whitespace().map(move |word| (line + 1, word)));
        Self { words: Box::new(words), line: text.lines().count().max(1) }
    }

    fn error(&self, what: String) -> FileError {
        FileError { line: self.line, what }
    }

    fn next(&mut self, what: &str) -> Result<f64, FileError> {
        let Some((line, word)) = self.words.next() else {
            return Err(self.error(format!("the file ends before {what}")));
        };
        self.line = line;
        let number = word.parse::<f64>().ok().filter(|value| value.is_finite() && value.abs() <= 1e12);
        let shown: String = word.chars().filter(|c| !c.is_control()).take(40).collect();
        number.ok_or_else(|| self.error(format!("{what}: expected a number of at most 1e12, got '{shown}'")))
    }

    fn checked(&mut self, what: &str, fits: impl Fn(f64) -> bool, expected: &str) -> Result<f64, FileError> {
        let value = self.next(what)?;
        if fits(value) { Ok(value) } else { Err(self.error(format!("{what}: expected {expected}, got {value}"))) }
    }

    fn vector(&mut self, what: &str) -> Result<DVec3, FileError> {
        Ok(DVec3::new(self.next(what)?, self.next(what)?, self.next(what)?))
    }

    fn end(&mut self) -> Result<(), FileError> {
        match self.words.next() {
            None => Ok(()),
            Some((line, word)) => {
                let shown: String = word.chars().filter(|c| !c.is_control()).take(40).collect();
                Err(FileError { line, what: format!("'{shown}' stands behind the last number") })
            }
        }
    }
}
