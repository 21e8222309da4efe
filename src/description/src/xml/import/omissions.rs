//! Unsupported statements of a file: one warning for each kind, with the number of occurrences.

use std::cell::RefCell;

use super::super::reading::Reading;

/// Omissions so far.
#[derive(Debug, Default)]
pub(super) struct Omissions(RefCell<Vec<Note>>);

#[derive(Debug)]
struct Note {
    /// Its first position.
    offset: usize,
    what: String,
    /// Effect on the simulation.
    meaning: &'static str,
    count: usize,
}

impl Omissions {
    /// Records an omission; a repeated `what` only increases its count.
    pub(super) fn add(&self, offset: usize, what: impl Into<String>, meaning: &'static str) {
        let (what, mut notes) = (what.into(), self.0.borrow_mut());
        match notes.iter_mut().find(|note| note.what == what) {
            Some(note) => note.count += 1,
            None => notes.push(Note { offset, what, meaning, count: 1 }),
        }
    }

    /// Reports all omissions, in the order of the file.
    pub(super) fn report(self, reading: &Reading) {
        let mut notes = self.0.into_inner();
        notes.sort_by_key(|note| note.offset);
        for Note { offset, what, meaning, count } in notes {
            let what = if count == 1 { what } else { format!("{what} ({count} times)") };
            reading.warn(offset, what, meaning.into());
        }
    }
}
