//! Names in a file, and their elements.

use std::collections::BTreeMap;

use simpartner_model::BodyId;

use super::{node::Node, reading::Reading};

/// Names of one kind of element in a file, and their positions. An element that could not be read is included, so that
/// problems are not repeated.
#[derive(Debug)]
pub(super) struct NameTable {
    noun: &'static str,
    names: BTreeMap<String, (String, Option<usize>)>,
}

impl NameTable {
    /// An empty scope of, for example, bodies.
    pub(super) fn new(noun: &'static str) -> Self {
        Self { noun, names: BTreeMap::new() }
    }

    /// Takes up the name of a node, defined at its line, with its index in the model's list if it could be read.
    pub(super) fn define(&mut self, reading: &Reading, node: &Node, index: Option<usize>) {
        let Some(name) = reading.attribute_text(node, "name") else { return };
        let line = reading.line(node.offset);
        if let Some((first, _)) = self.names.get(name) {
            let place = reading.attribute_offset(node, "name");
            reading.problem(place, format!("{} '{name}' is defined a second time; the first is in {first}", self.noun));
            return;
        }
        self.names.insert(name.to_owned(), (line, index));
    }

    /// Adds a name that no node of the file defines. False if one does.
    pub(super) fn define_built_in(&mut self, name: &str, index: usize) -> bool {
        let is_new = !self.names.contains_key(name);
        if is_new {
            self.names.insert(name.to_owned(), ("built in".to_owned(), Some(index)));
        }
        is_new
    }

    /// The index of a name; an unknown one is a problem at `offset`.
    pub(super) fn index(&self, reading: &Reading, offset: usize, name: &str) -> Option<usize> {
        if let Some((_, index)) = self.names.get(name) {
            return *index;
        }
        let message = format!("there is no {} '{name}'", self.noun);
        match reading.nearest(name, self.names.keys().map(String::as_str)) {
            Some(near) => {
                let place = &self.names[near].0;
                reading.problem_with_help(offset, message, format!("did you mean '{near}', {place}?"));
            }
            None => reading.problem(offset, message),
        }
        None
    }

    /// The same for a body.
    pub(super) fn resolve(&self, reading: &Reading, offset: usize, name: &str) -> Option<BodyId> {
        self.index(reading, offset, name).map(BodyId::new)
    }
}
