//! The only table of the format: every element and attribute with its type, unit, default, occurrence and meaning. The
//! reader's checks, the DTDs and the reference page derive from it.

mod assemblies;
mod builders;
mod cameras;
mod devices;
mod element;
mod environment;
mod examples;
mod grasp_tasks;
mod grasps;
mod grounds;
mod joints;
mod kind;
mod lights;
mod materials;
mod rocks;
mod sequences;
mod shared;
mod soil;
mod table;

use std::{collections::HashMap, sync::LazyLock};

pub(super) use element::{Attribute, Content, Element, Occurs, Presence};
pub(super) use examples::EXAMPLES;
pub(super) use kind::{Kind, bound};
pub(super) use shared::{ASSEMBLIES, FARTHEST, GRASP, GRASP_TASK, GRAVITY, ROBOT, SEQUENCE, WORLD};
pub(super) use table::ELEMENTS;

impl Element {
    /// The element with this id.
    pub(super) fn by_id(id: &str) -> &'static Element {
        static BY_ID: LazyLock<HashMap<&str, &Element>> =
            LazyLock::new(|| ELEMENTS.iter().map(|element| (element.id, element)).collect());
        BY_ID.get(id).copied().expect("a test holds every id named in the table to the table")
    }
}

/// Description of a name's place in the format: the element of this name, or the elements with such an attribute.
pub fn describe_name(name: &str) -> Option<String> {
    let tag = |element: &Element| format!("<{}>", element.tag);
    if let Some(element) = ELEMENTS.iter().find(|element| element.tag == name) {
        return Some(format!("{} is an element of world and robot files", tag(element)));
    }
    let with: Vec<String> =
        ELEMENTS.iter().filter(|element| element.attribute(name).is_some()).map(tag).take(3).collect();
    (!with.is_empty()).then(|| format!("'{name}' is an attribute of {} in world and robot files", with.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_in_the_table_is_in_the_table() {
        for element in ELEMENTS {
            for child in element.children() {
                assert_eq!(Element::by_id(child.id).id, child.id);
            }
            assert_eq!(ELEMENTS.iter().filter(|other| other.id == element.id).count(), 1, "{}", element.id);
            for attribute in element.attributes {
                if let Presence::Default(value) = attribute.presence {
                    assert!(attribute.kind.accepts(value), "{} {}", element.id, attribute.name);
                }
            }
        }
    }
}
