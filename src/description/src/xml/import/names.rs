//! The names of links and joints as our files take them. A part of a model in a model has its own name, or with the
//! names of the models around it, as SDF has them, if several parts of the robot have that.

use std::collections::HashMap;

use super::{
    super::reading::Reading,
    model::{Link, Model, SCOPE_SEPARATOR},
    text::{UniqueNames, clean},
};
use crate::text::numbers::shorten;

/// Names as our files take them, each once.
pub(super) struct Names {
    pub(super) links: Vec<String>,
    /// Names of the joints of the tree, then of those that close its loops.
    pub(super) joints: Vec<String>,
}

impl Names {
    pub(super) fn of(reading: &Reading, model: &Model) -> Self {
        let top = model.own_scope();
        let unique = |names: Vec<(String, usize)>| {
            let mut unique = UniqueNames::default();
            let mut named = |(name, offset): (String, usize)| {
                let given = unique.name(&name);
                if given != name && !name.is_empty() {
                    let what = format!("the name '{}' becomes '{}'", shorten(&name), shorten(&given));
                    reading.warn(offset, what, "names here have no blanks and stand for one thing each".into());
                }
                given
            };
            names.into_iter().map(&mut named).collect()
        };
        let links = model.links.iter().map(|link| (&*link.scope, &*link.name, link.offset)).collect();
        let joints = model.joints.iter().chain(&model.loops);
        let joints = joints.map(|joint| (&*joint.scope, &*joint.name, joint.offset)).collect();
        Self { links: unique(told_apart(top, links)), joints: unique(told_apart(top, joints)) }
    }
}

/// Names with those of the models within the outermost one before them where several are the same. The parts have the
/// models around them, their names, and their places in the file.
fn told_apart(top: &str, parts: Vec<(&str, &str, usize)>) -> Vec<(String, usize)> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    parts.iter().for_each(|(_, name, _)| *counts.entry(name).or_default() += 1);
    let named = |(scope, name, offset): (&str, &str, usize)| {
        let inner = inner_scope(top, scope);
        let is_shared = counts[name] > 1 && !inner.is_empty() && !name.is_empty();
        (if is_shared { format!("{inner}{SCOPE_SEPARATOR}{name}") } else { name.to_owned() }, offset)
    };
    parts.into_iter().map(named).collect()
}

/// The models within the outermost one; all of them in another one.
fn inner_scope<'s>(top: &str, scope: &'s str) -> &'s str {
    match scope.strip_prefix(top) {
        Some("") => "",
        Some(inner) => inner.strip_prefix(SCOPE_SEPARATOR).unwrap_or(scope),
        None => scope,
    }
}

impl Link {
    /// The outermost model around it; empty without one.
    pub(super) fn top_scope(&self) -> &str {
        self.scope.split(SCOPE_SEPARATOR).next().unwrap_or_default()
    }

    /// Its name among the objects of a world of several models: `model/link`.
    pub(super) fn name_in_world(&self) -> String {
        let top = self.top_scope();
        let inner = inner_scope(top, &self.scope);
        let own = if inner.is_empty() { self.name.clone() } else { format!("{inner}{SCOPE_SEPARATOR}{}", self.name) };
        if top.is_empty() { clean(&own) } else { format!("{}/{}", clean(top), clean(&own)) }
    }
}

impl Model {
    /// The outermost model around its first link.
    pub(super) fn own_scope(&self) -> &str {
        self.links.iter().map(Link::top_scope).find(|top| !top.is_empty()).unwrap_or_default()
    }
}
