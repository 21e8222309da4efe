//! What a file says and the simulation does without: told once a kind, with how often it is there.

use std::cell::RefCell;

use super::super::reading::Reading;

/// What has been left out so far.
#[derive(Debug, Default)]
pub(super) struct Notes(RefCell<Vec<Note>>);

#[derive(Debug)]
struct Note {
    /// Where it was first.
    offset: usize,
    what: String,
    /// What it means for the simulation.
    meaning: &'static str,
    count: usize,
}

impl Notes {
    /// Notes something; where `what` has been noted before, only that it is there again.
    pub(super) fn add(&self, offset: usize, what: impl Into<String>, meaning: &'static str) {
        let (what, mut notes) = (what.into(), self.0.borrow_mut());
        match notes.iter_mut().find(|note| note.what == what) {
            Some(note) => note.count += 1,
            None => notes.push(Note { offset, what, meaning, count: 1 }),
        }
    }

    /// Tells all of it, in the order of the file.
    pub(super) fn tell(self, reading: &Reading) {
        let mut notes = self.0.into_inner();
        notes.sort_by_key(|note| note.offset);
        for Note { offset, what, meaning, count } in notes {
            let what = if count == 1 { what } else { format!("{what} ({count} times)") };
            reading.warn(offset, what, meaning.into());
        }
    }
}
