//! `<include>`: the children of another file's root, in its place.

use std::{path::Path, rc::Rc};

use super::super::attributes::attribute;
use crate::{
    source::SourceFile,
    text::diagnostic::Diagnostic,
    xml::{node::Node, reading::Reading},
};

/// Replaces `<include>` elements by the contents of their files. Paths are relative to the folder of the main file, and
/// each file may be included once, as in MuJoCo.
pub(super) fn expand(reading: &Reading, root: &mut Node) {
    let mut taken = vec![reading.path.to_owned()];
    expand_below(reading, root, &mut taken);
}

fn expand_below(reading: &Reading, node: &mut Node, taken: &mut Vec<String>) {
    let mut children = Vec::with_capacity(node.children.len());
    for mut child in std::mem::take(&mut node.children) {
        if child.name == "include" {
            let mut included = read(reading, &child, taken).unwrap_or_default();
            expand_below(reading, &mut included, taken);
            children.extend(included.children);
        } else {
            expand_below(reading, &mut child, taken);
            children.push(child);
        }
    }
    node.children = children;
}

/// The root of the file that an element names.
fn read(reading: &Reading, node: &Node, taken: &mut Vec<String>) -> Option<Node> {
    let Some(file) = attribute(node, "file") else {
        reading.problem(node.offset, "<include> lacks the attribute 'file'");
        return None;
    };
    let place = reading.attribute_offset(node, "file");
    let path = Path::new(reading.path).parent().unwrap_or(Path::new("")).join(file).to_string_lossy().into_owned();
    // However it is spelt.
    let real = |path: &str| Path::new(path).canonicalize().unwrap_or_else(|_| path.into());
    if taken.iter().any(|known| real(known) == real(&path)) {
        let help = "take one of the elements out; a file that includes itself has no end";
        reading.problem_with_help(place, format!("'{file}' is included a second time"), help);
        return None;
    }
    taken.push(path.clone());
    let text = match reading.read_file(&path) {
        Ok(text) => text,
        Err(problem) => {
            let help = "a path is seen from the folder of the file that the program was given";
            reading.problem_with_help(place, problem.message, help);
            return None;
        }
    };
    let parsed = reading.parse(&path, &text);
    let file = Rc::new(SourceFile::new(path, text));
    let start = reading.source_map.include(Rc::clone(&file));
    // It has been counted as it was read.
    reading.session.sources.borrow_mut().push((*file).clone());
    let mut roots = parsed.map_err(|problem: Diagnostic| reading.push(problem)).ok()?;
    roots.iter_mut().for_each(|root| root.shift(start));
    if let Some(second) = roots.get(1) {
        reading.problem(second.offset, "a file that is included has one root element");
        return None;
    }
    roots.pop()
}
