//! `<contact>`: geoms that collide in spite of their bits, bodies that never collide, and properties of MuJoCo's
//! contacts that are not supported.

use std::collections::{HashMap, HashSet};

use simpartner_model::ContactDimensions;

use super::{
    super::{
        attributes::{attribute, list, number},
        model::{Apart, Surface},
    },
    importer::{Collider, Mjcf},
};
use crate::xml::node::Node;

/// Attributes for the softness of contacts, stops and equalities.
const SOFTNESS_ATTRIBUTES: [&str; 8] =
    ["solref", "solimp", "solreflimit", "solimplimit", "solreffriction", "solimpfriction", "o_solref", "o_solimp"];
/// Attributes for the distance at which contacts act.
const MARGIN_ATTRIBUTES: [&str; 3] = ["margin", "gap", "o_margin"];

/// A pair, and the friction that it asks for.
struct Pair {
    colliders: [Collider; 2],
    friction: Option<f64>,
    offset: usize,
}

/// The geoms that pairs name.
pub(super) fn paired(root: &Node) -> HashSet<String> {
    let pairs = root.children.iter().filter(|child| child.name == "contact").flat_map(|section| &section.children);
    let named = |node: &Node| ["geom1", "geom2"].map(|name| attribute(node, name).map(str::to_owned));
    pairs.filter(|node| node.name == "pair").flat_map(named).flatten().collect()
}

/// True if a geom or a default class has a contact dimension of more than sliding.
pub(super) fn have_torsional(root: &Node) -> bool {
    let mut found = false;
    root.walk(&mut |node| {
        found |=
            node.name == "geom" && attribute(node, "condim").is_some_and(|condim| ["4", "6"].contains(&condim.trim()));
    });
    found
}

/// The coefficient of sliding friction of two surfaces on each other, as MuJoCo has it.
fn friction_of([one, other]: [Surface; 2]) -> f64 {
    let all: Vec<Surface> =
        [one, other].into_iter().filter(|own| own.priority == one.priority.max(other.priority)).collect();
    if all.iter().all(|own| own.dimensions == Some(ContactDimensions::Normal)) {
        return 0.0;
    }
    all.iter().filter_map(|own| own.friction).fold(0.0, f64::max)
}

impl Mjcf<'_, '_> {
    pub(super) fn read_contacts(&mut self, root: &Node) {
        let sections = root.children.iter().filter(|child| child.name == "contact");
        let mut pairs = Vec::new();
        for node in sections.flat_map(|section| &section.children) {
            match node.name.as_str() {
                "exclude" => {
                    let [one, other] =
                        ["body1", "body2"].map(|name| self.resolve_name(node, name, "body", &self.bodies));
                    let (Some(one), Some(other)) = (one, other) else { continue };
                    self.model.apart.push(Apart { links: [one, other], offset: node.offset });
                }
                "pair" => pairs.extend(self.read_pair(&self.resolve(node, None))),
                other => {
                    self.notes.add(
                        node.offset,
                        format!("<{other}> of <contact> is left out"),
                        "nothing of it is simulated",
                    );
                }
            }
        }
        self.set_frictions(&pairs);
        self.open_filters(&pairs);
        self.tell_softness(root);
    }

    fn read_pair(&self, node: &Node) -> Option<Pair> {
        let [one, other] = ["geom1", "geom2"].map(|name| {
            let known = attribute(node, name).and_then(|geom| self.colliders.get(geom)).copied();
            known.or_else(|| self.resolve_name(node, name, "geom", &self.geoms).map(Collider::Link))
        });
        let colliders = [one?, other?];
        if let [Collider::Link(one), Collider::Link(other)] = colliders {
            let joins = |ends: [usize; 2]| ends == [one, other] || ends == [other, one];
            if one == other || self.model.joints.iter().any(|joint| joins([joint.parent, joint.child])) {
                let meaning = "bodies that a joint connects do not collide here";
                self.notes.add(node.offset, "a <pair> of bodies that a joint connects is left out", meaning);
                return None;
            }
        }
        let figures = list(self.reading, node, "friction").unwrap_or_default();
        let dimensions = self.dimensions(node);
        let is_uneven = figures.get(1).is_some_and(|second| *second != figures[0]);
        if is_uneven || figures.len() > 2 || dimensions > ContactDimensions::Sliding {
            let meaning = "the two have those of their surfaces, and one friction in all directions";
            let what = "second, torsional and rolling friction of a <pair> are left out";
            self.notes.add(node.offset, what, meaning);
        }
        let friction = if dimensions < ContactDimensions::Sliding {
            Some(0.0)
        } else {
            figures.first().map(|friction| friction.max(0.0))
        };
        Some(Pair { colliders, friction, offset: node.offset })
    }

    /// Sets the friction of geoms that collide by pairs only to that of their pairs, and reports pairs with another
    /// friction than their surfaces.
    fn set_frictions(&mut self, pairs: &[Pair]) {
        let mut wanted: HashMap<usize, f64> = HashMap::new();
        for Pair { colliders, friction, .. } in pairs {
            for collider in colliders {
                let (Collider::Link(link), Some(friction)) = (collider, friction) else { continue };
                if self.model.links[*link].filter == Some([0, 0]) {
                    let known = wanted.entry(*link).or_insert(*friction);
                    *known = known.max(*friction);
                }
            }
        }
        for (link, friction) in wanted {
            for solid in &mut self.model.links[link].solids {
                let own = solid.surface.get_or_insert_default();
                // A geom without other collisions needs no lower priority.
                *own = Surface { friction: Some(friction), takes_larger: false, priority: 0, dimensions: None, ..*own };
            }
        }
        let own = |collider: &Collider| match collider {
            Collider::Ground => self.ground.as_ref().map(|ground| ground.surface),
            Collider::Link(link) => self.model.links[*link].solids.first().and_then(|solid| solid.surface),
        };
        for Pair { colliders, friction, offset } in pairs {
            let both = colliders.map(|collider| own(&collider).unwrap_or_default());
            if friction.is_some_and(|friction| friction != friction_of(both)) {
                let meaning = "the two have that of their surfaces; give both geoms the one of the pair";
                self.notes.add(*offset, "the friction of a <pair> is left out", meaning);
            }
        }
    }

    /// Gives the links of a pair that do not collide yet their own category.
    fn open_filters(&mut self, pairs: &[Pair]) {
        let used =
            self.model.links.iter().filter_map(|link| link.filter).fold(0, |used, [one, other]| used | one | other);
        let mut free = (0..16).rev().map(|bit| 1u16 << bit).filter(|bit| used & bit == 0);
        // The category that a link is open to.
        let mut bit_of: HashMap<Collider, u16> = HashMap::new();
        for Pair { colliders, offset, .. } in pairs {
            let [one, other] = colliders.map(|collider| match collider {
                Collider::Ground => [u16::MAX; 2],
                Collider::Link(link) => self.model.links[link].filter.unwrap_or([0, 0]),
            });
            if one[0] & other[1] != 0 || other[0] & one[1] != 0 {
                continue;
            }
            let [one, other] = colliders;
            let (category, open) = if bit_of.contains_key(one) { (other, one) } else { (one, other) };
            let (category, open) = if *category == Collider::Ground { (open, category) } else { (category, open) };
            let Some(bit) = bit_of.get(open).copied().or_else(|| free.next()) else {
                let meaning = "there are 16 categories of collisions; the two go through each other";
                self.notes.add(*offset, "a <pair> is left out", meaning);
                continue;
            };
            bit_of.insert(*open, bit);
            for (collider, side) in [(category, 0), (open, 1)] {
                if let Collider::Link(link) = collider {
                    self.model.links[*link].filter.get_or_insert([0, 0])[side] |= bit;
                }
            }
            let is_ground = colliders.contains(&Collider::Ground);
            if !is_ground && (self.ground.is_some() || self.terrain.is_some()) {
                let meaning = "what collides with anything collides with the ground here";
                self.notes.add(*offset, "geoms of a <pair> touch the ground, too", meaning);
            }
        }
    }

    /// Reports attributes of soft contacts of all elements.
    fn tell_softness(&self, root: &Node) {
        root.walk(&mut |node| {
            for given in &node.attributes {
                let name = given.name.as_str();
                if SOFTNESS_ATTRIBUTES.contains(&name) {
                    let meaning = "contacts, stops and equalities are rigid: nothing sinks in or gives way, and what meets \
                                   rebounds by its restitution alone";
                    self.notes.add(given.offset, "softness ('solref', 'solimp') is left out", meaning);
                } else if MARGIN_ATTRIBUTES.contains(&name) && number(self.reading, node, name).is_some_and(|margin| margin != 0.0) {
                    let meaning = "contacts and stops act where bodies touch and joints reach their bounds, not before";
                    self.notes.add(given.offset, "'margin' and 'gap' are left out", meaning);
                }
            }
        });
    }
}
