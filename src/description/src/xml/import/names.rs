//! The names of links and joints as our files take them.

use super::{super::reading::Reading, model::Model, text::UniqueNames};
use crate::text::numbers::shorten;

/// Names as our files take them, each once.
pub(super) struct Names {
    pub(super) links: Vec<String>,
    /// Names of the joints of the tree, then of those that close its loops.
    pub(super) joints: Vec<String>,
}

impl Names {
    pub(super) fn of(reading: &Reading, model: &Model) -> Self {
        let unique = |names: &mut dyn Iterator<Item = (&String, usize)>| {
            let mut unique = UniqueNames::default();
            let mut named = |(name, offset): (&String, usize)| {
                let given = unique.name(name);
                if given != *name && !name.is_empty() {
                    let what = format!("the name '{}' becomes '{}'", shorten(name), shorten(&given));
                    reading.warn(offset, what, "names here have no blanks and stand for one thing each".into());
                }
                given
            };
            names.map(&mut named).collect()
        };
        let joints = model.joints.iter().chain(&model.loops);
        Self {
            links: unique(&mut model.links.iter().map(|link| (&link.name, link.offset))),
            joints: unique(&mut joints.map(|joint| (&joint.name, joint.offset))),
        }
    }
}
