//! The two text files of 1994: numbers separated by blanks.
//!
//! Object: tolerance, upper bound, lower bound, gravity (3), largest tilt in degrees, centre of mass (3), inertia (9).
//!
//! Contacts: their number; for each contact its type (1 frictionless, 2 frictional, 3 soft), its point (3), three rows
//! of four numbers of its matrix, six coefficients of its patch, for types 2 and 3 the coefficient of friction, and for
//! type 3 the finger's radius.

use bevy_math::{DMat3, DVec3};
use simpartner_model::ContactKind;
use thiserror::Error;

use super::{Finger, Harker};

/// Error in the text of a file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {what}")]
pub struct FileError {
    /// Line number, from 1.
    pub line: usize,
    /// Description of the error.
    pub what: String,
}

/// Error in the data of a contact whose text is valid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("contact {contact}: {what}")]
pub struct Flaw {
    /// Number of the contact, from 1.
    pub contact: usize,
    /// Description of the error.
    pub what: String,
}

/// Largest number of contacts in a file: more than any hand has fingers.
const MAX_CONTACTS: f64 = 1000.0;

impl Harker {
    /// Reads the object file. Returns the object without contacts, and the smallest and largest contact force.
    ///
    /// # Errors
    /// The first error in the text.
    pub fn read_object(text: &str) -> Result<(Self, [f64; 2]), FileError> {
        let mut numbers = Numbers::new(text);
        let tolerance = numbers.checked_number("the tolerance", |value| value > 0.0, "a number above 0")?;
        let highest = numbers.checked_number("the upper bound", |value| value > 0.0, "a number above 0")?;
        let lowest = numbers.checked_number(
            "the lower bound",
            |value| (0.0..=highest).contains(&value),
            "a number from 0 to the upper bound",
        )?;
        let gravity = numbers.next_vector("gravity")?;
        let tilt = numbers.checked_number(
            "the angle of stability",
            |value| (0.0..=180.0).contains(&value),
            "degrees from 0 to 180",
        )?;
        let centre = numbers.next_vector("the centre of mass")?;
        let rows = [
            numbers.next_vector("the inertia")?,
            numbers.next_vector("the inertia")?,
            numbers.next_vector("the inertia")?,
        ];
        let inertia = DMat3::from_cols(rows[0], rows[1], rows[2]).transpose();
        numbers.expect_end()?;
        Ok((Self { tolerance, gravity, tilt, centre, inertia, contacts: Vec::new() }, [lowest, highest]))
    }

    /// Reads the contacts file. The limits are those of [`Harker::read_object`].
    ///
    /// # Errors
    /// The first error in the text.
    pub fn read_contacts(text: &str, limits: [f64; 2]) -> Result<Vec<Finger>, FileError> {
        let mut numbers = Numbers::new(text);
        let whole = |value: f64| value.fract() == 0.0;
        let most = format!("a whole number from 1 to {MAX_CONTACTS}");
        let count = numbers.checked_number(
            "the number of contacts",
            |value| whole(value) && (1.0..=MAX_CONTACTS).contains(&value),
            &most,
        )?;
        let contacts = (0..count as usize).map(|_| Finger::read(&mut numbers, limits)).collect::<Result<_, _>>()?;
        numbers.expect_end()?;
        Ok(contacts)
    }
}

impl Finger {
    /// Reads the numbers of one contact, whose normal force has these limits, N.
    fn read(numbers: &mut Numbers, limits: [f64; 2]) -> Result<Self, FileError> {
        let kind =
            numbers.checked_number("the type of a contact", |value| [1.0, 2.0, 3.0].contains(&value), "1, 2 or 3")?;
        let point = numbers.next_vector("the point of a contact")?;
        let mut rows = [DVec3::ZERO; 3];
        let mut translation = DVec3::ZERO;
        for (row, into) in rows.iter_mut().enumerate() {
            *into = numbers.next_vector("the matrix of a contact")?;
            translation[row] = numbers.next_number("the matrix of a contact")?;
        }
        let mut patch = [0.0; 6];
        for coefficient in &mut patch {
            *coefficient = numbers.next_number("the patch of a contact")?;
        }
        let friction = |numbers: &mut Numbers| {
            numbers.checked_number("the coefficient of friction", |value| value >= 0.0, "a number not below 0")
        };
        let kind = match kind {
            1.0 => ContactKind::Frictionless,
            2.0 => ContactKind::Frictional { friction: friction(numbers)? },
            _ => ContactKind::Soft {
                friction: friction(numbers)?,
                radius: numbers.checked_number("the radius of a finger", |value| value > 0.0, "a number above 0")?,
            },
        };
        let matrix = DMat3::from_cols(rows[0], rows[1], rows[2]).transpose();
        Ok(Self { kind, point, matrix, translation, patch, limits })
    }
}

/// Reader of the numbers of a text. It keeps the line number for messages.
struct Numbers<'t> {
    /// Line number and text of each word that is still to be read.
    words: Box<dyn Iterator<Item = (usize, &'t str)> + 't>,
    /// Line of the last number that was read; before the first, the last line of the text.
    line: usize,
}

impl<'t> Numbers<'t> {
    fn new(text: &'t str) -> Self {
        let lines = text.lines().enumerate();
        let words = lines.flat_map(|(line, text)| text.split_whitespace().map(move |word| (line + 1, word)));
        Self { words: Box::new(words), line: text.lines().count().max(1) }
    }

    /// An error at the line of the last number.
    fn error_here(&self, what: String) -> FileError {
        FileError { line: self.line, what }
    }

    /// Reads a number. `what` names it in the error.
    fn next_number(&mut self, what: &str) -> Result<f64, FileError> {
        let Some((line, word)) = self.words.next() else {
            return Err(self.error_here(format!("the file ends before {what}")));
        };
        self.line = line;
        let number = word.parse::<f64>().ok().filter(|value| value.is_finite() && value.abs() <= 1e12);
        let shown: String = word.chars().filter(|c| !c.is_control()).take(40).collect();
        number.ok_or_else(|| self.error_here(format!("{what}: expected a number of at most 1e12, got '{shown}'")))
    }

    /// Reads a number that must fulfil a condition. `what` names it in the error, and `expected` is the condition.
    fn checked_number(&mut self, what: &str, fits: impl Fn(f64) -> bool, expected: &str) -> Result<f64, FileError> {
        let value = self.next_number(what)?;
        if fits(value) { Ok(value) } else { Err(self.error_here(format!("{what}: expected {expected}, got {value}"))) }
    }

    /// Reads three numbers. `what` names the vector in the error.
    fn next_vector(&mut self, what: &str) -> Result<DVec3, FileError> {
        Ok(DVec3::new(self.next_number(what)?, self.next_number(what)?, self.next_number(what)?))
    }

    /// Checks that no number is left.
    fn expect_end(&mut self) -> Result<(), FileError> {
        match self.words.next() {
            None => Ok(()),
            Some((line, word)) => {
                let shown: String = word.chars().filter(|c| !c.is_control()).take(40).collect();
                Err(FileError { line, what: format!("'{shown}' stands behind the last number") })
            }
        }
    }
}
