//! An MJCF file being read: its defaults and assets, the model so far, and the names of its bodies, geoms, sites and
//! joints.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    rc::Rc,
};

use simpartner_model::Pose;

use super::{
    super::{
        attributes::attribute,
        finish::Finish,
        mass::MeshInertia,
        model::{Device, Form, Model},
        omissions::Omissions,
        scene::{Ground, Terrain},
    },
    compiler::Compiler,
    defaults::Defaults,
};
use crate::{
    mesh::Mesh,
    text::numbers::shorten,
    xml::{node::Node, reading::Reading},
};

/// A file being read.
pub(super) struct Mjcf<'r, 'a> {
    pub(super) reading: &'r Reading<'a>,
    pub(super) compiler: Compiler,
    pub(super) defaults: Defaults,
    pub(super) assets: Assets,
    pub(super) model: Model,
    /// True if there are any collisions.
    pub(super) collides: bool,
    /// True if any contact may resist turning about its normal. Otherwise that friction is not written.
    pub(super) has_torsional: bool,
    pub(super) ground: Option<Ground>,
    pub(super) terrain: Option<Terrain>,
    /// Links by the names of their bodies, geoms and sites; for sites with their poses.
    pub(super) bodies: HashMap<String, usize>,
    pub(super) geoms: HashMap<String, usize>,
    pub(super) sites: HashMap<String, (usize, Pose)>,
    /// Geoms named by pairs, and geoms of the world.
    pub(super) paired: HashSet<String>,
    pub(super) colliders: HashMap<String, Collider>,
    /// Indices of joints by their names, and of all joints in the order of the coordinates of a keyframe, with the
    /// bodies of free ones.
    pub(super) joints: HashMap<String, usize>,
    pub(super) order: Vec<usize>,
    /// Cameras, which become devices behind all others.
    pub(super) cameras: Vec<Device>,
    pub(super) notes: Omissions,
    /// Joints whose springs and dampers follow from the inertia that they move.
    pub(super) spring_dampers: Vec<SpringDamper>,
    /// Beginnings of the names of parts that are left out.
    pub(super) lost: RefCell<Vec<String>>,
}

/// `springdamper` of a joint: time constant, s, and damping ratio.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpringDamper {
    pub(super) joint: usize,
    pub(super) time: f64,
    pub(super) ratio: f64,
}

/// Assets that geoms refer to.
#[derive(Debug, Default)]
pub(super) struct Assets {
    pub(super) meshes: HashMap<String, Rc<MeshAsset>>,
    pub(super) fields: HashMap<String, Rc<Field>>,
    /// Looks of materials.
    pub(super) materials: HashMap<String, Finish>,
}

/// A mesh, ready to be a geom.
#[derive(Debug)]
pub(super) struct MeshAsset {
    pub(super) form: Form,
    /// The file's coordinates in the geom's frame.
    pub(super) pose: Pose,
    /// Scaled. It is the convex hull if the mass is that of the hull: for points without faces, and if the file
    /// requests it.
    pub(super) mesh: Mesh,
    pub(super) inertia: MeshInertia,
}

/// Heights between 0 and 1.
#[derive(Debug)]
pub(super) struct Field {
    /// Half the extent along x and y, m; the height of a sample of 1, m; the depth of the ground below 0, m.
    pub(super) size: [f64; 4],
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) heights: Vec<f64>,
}

/// Owner of a geom of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Collider {
    Ground,
    Link(usize),
}

impl Mjcf<'_, '_> {
    /// An element with its defaults.
    pub(super) fn resolve(&self, node: &Node, class: Option<&str>) -> Node {
        self.defaults.resolve(self.reading, node, class)
    }

    /// Looks up the name in an attribute. An unknown name is a problem.
    pub(super) fn resolve_name<T: Copy>(
        &self,
        node: &Node,
        name: &str,
        what: &str,
        known: &HashMap<String, T>,
    ) -> Option<T> {
        let Some(value) = attribute(node, name) else {
            self.reading.problem(node.offset, format!("<{}> lacks the attribute '{name}'", node.name));
            return None;
        };
        let found = known.get(value).copied();
        if found.is_none() && self.lost.borrow().iter().any(|lost| value.starts_with(lost.as_str())) {
            let note = format!("<{}> of a part that is left out is left out", node.name);
            self.notes.add(node.offset, note, "nothing of it is simulated");
            return None;
        }
        if found.is_none() {
            let message = format!("there is no {what} '{}'", shorten(value));
            let place = self.reading.attribute_offset(node, name);
            match self.reading.nearest(value, known.keys().map(String::as_str)) {
                Some(near) => self.reading.problem_with_help(place, message, format!("did you mean '{near}'?")),
                None => self.reading.problem(place, message),
            }
        }
        found
    }
}
