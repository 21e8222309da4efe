//! A tree of elements as the text of a file.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write,
};

use super::super::node::Node;

/// The whole file, after a comment.
pub(in crate::xml) fn write(root: &Node, comment: &str) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(text, "<!-- {} -->", comment.replace("--", "- -"));
    write_node(root, 0, &mut text);
    text
}

fn write_node(node: &Node, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    let _ = write!(text, "{indent}<{}", node.name);
    for attribute in &node.attributes {
        let _ = write!(text, " {}=\"{}\"", attribute.name, escape(&attribute.value));
    }
    if node.children.is_empty() && !node.has_text {
        text.push_str("/>\n");
    } else if node.children.is_empty() {
        let _ = writeln!(text, ">{}</{}>", escape(&node.text), node.name);
    } else {
        text.push_str(">\n");
        node.children.iter().for_each(|child| write_node(child, depth + 1, text));
        let _ = writeln!(text, "{indent}</{}>", node.name);
    }
}

fn escape(value: &str) -> String {
    quick_xml::escape::escape(value).into_owned()
}

/// Unique names.
#[derive(Debug, Default)]
pub(super) struct UniqueNames {
    taken: HashSet<String>,
    /// Number of requests for each name.
    wanted: HashMap<String, usize>,
}

impl UniqueNames {
    /// A valid and unique name similar to this one.
    pub(super) fn name(&mut self, name: &str) -> String {
        self.name_of_clean(clean(name))
    }

    /// The same for a name that is valid.
    pub(super) fn name_of_clean(&mut self, clean: String) -> String {
        let mut free = clean.clone();
        while !self.taken.insert(free.clone()) {
            let count = self.wanted.entry(clean.clone()).or_insert(1);
            free = if *count == 1 { format!("{clean}_") } else { format!("{clean}_{count}") };
            *count += 1;
        }
        free
    }
}

/// A name without characters that SimPartner's format does not permit.
pub(super) fn clean(name: &str) -> String {
    name.replace(|c: char| c.is_whitespace() || "<>,/".contains(c), "_")
}
