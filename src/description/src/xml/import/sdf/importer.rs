//! An SDF file being read: the model so far, the names of its links and frames, and the values of child elements.

use std::collections::HashMap;

use bevy_math::DVec3;

use super::{
    super::{
        gazebo,
        lights::Lights,
        model::Model,
        omissions::Omissions,
        scene::{Ground, Terrain},
    },
    frames::{Frames, MODEL_FRAME},
};
use crate::xml::{node::Node, reading::Reading};

/// Nesting depth of models in models: the format's own examples need three.
pub(super) const MOST_NESTED: usize = 16;

/// A file being read.
pub(super) struct Sdf<'r, 'a> {
    pub(super) reading: &'r Reading<'a>,
    /// True if axes are in the frame of the model unless the file states otherwise (before 1.5).
    pub(super) axes_in_model: bool,
    pub(super) model: Model,
    pub(super) ground: Option<Ground>,
    pub(super) terrain: Option<Terrain>,
    pub(super) lights: Lights,
    pub(super) notes: Omissions,
    /// Files that are being included, from the outside in.
    pub(super) open: Vec<String>,
    /// The names of the models around what is being read, joined by `::`.
    pub(super) scope: String,
}

/// A model, its frames and links.
#[derive(Default)]
pub(super) struct Scope {
    pub(super) frames: Frames,
    /// Places of links by their names, those of nested models behind theirs and `::`.
    pub(super) links: HashMap<String, usize>,
    /// The link that the model's own frame is fixed to; of a world, the world.
    pub(super) base: Option<String>,
}

impl Scope {
    /// The name of the link that a name means: its own, or that of a frame which is fixed to it.
    pub(super) fn link_of<'s>(&'s self, mut name: &'s str) -> Option<&'s str> {
        // Frames in a cycle have no pose.
        for _ in 0..self.links.len() + 64 {
            if self.links.contains_key(name) {
                return Some(name);
            }
            if name == MODEL_FRAME {
                return self.base.as_deref();
            }
            name = self.frames.attached(name)?;
        }
        None
    }
}

impl Sdf<'_, '_> {
    /// The text of a child element.
    pub(super) fn text<'n>(&self, node: &'n Node, tag: &str) -> Option<&'n str> {
        gazebo::text(node, tag)
    }

    /// The number in a child element.
    pub(super) fn number(&self, node: &Node, tag: &str) -> Option<f64> {
        gazebo::number(self.reading, node, tag)
    }

    /// The vector in a child element.
    pub(super) fn vector(&self, node: &Node, tag: &str) -> Option<DVec3> {
        gazebo::vector(self.reading, node, tag)
    }

    pub(super) fn numbers<const N: usize>(&self, node: &Node) -> Option<[f64; N]> {
        gazebo::numbers(self.reading, node)
    }
}
