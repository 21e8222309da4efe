//! Geoms: collision shapes, visuals, and the mass that follows from them.

use std::rc::Rc;

use bevy_math::{DMat3, DVec3};
use simpartner_model::{Color, ContactDimensions, Pose};

use super::{
    super::{
        attributes::{attribute, first_numbers, list, number, numbers, required},
        finish::Finish,
        mass::{MeshInertia, extent, mesh_extent},
        model::{Form, Joint, Link, MassOf, Motion, Solid, Surface},
        scene::{Ground, Terrain, WORLD},
    },
    body::Part,
    compiler::from_z,
    importer::{Collider, Field, MeshAsset, Mjcf},
};
use crate::{
    text::{numbers::shorten, tree::child},
    xml::node::Node,
};

/// MuJoCo's default density, kg/m³: that of water.
const DEFAULT_DENSITY: f64 = 1000.0;
/// The last group of geoms that MuJoCo shows by default.
const LAST_SEEN_GROUP: f64 = 2.0;
/// Thickness of the slab that replaces a plane other than the ground, and its default width, metres.
const SLAB_THICKNESS: f64 = 1.0;
const SLAB_WIDTH: f64 = 200.0;

/// Shape of a geom.
enum Kind {
    Solid(Box<Solid>, Option<Rc<MeshAsset>>),
    Plane { pose: Pose, size: [f64; 2] },
    Field { pose: Pose, field: Rc<Field> },
}

/// A geom of a body.
struct Geom {
    node: Node,
    kind: Kind,
}

impl Mjcf<'_, '_> {
    fn read_geom(&mut self, link: usize, part: &Part) -> Option<Geom> {
        let node = self.resolve(&part.node, part.class());
        if let Some(name) = attribute(&node, "name") {
            self.geoms.insert(name.to_owned(), link);
        }
        let mut pose = self.compiler.pose(self.reading, &node);
        let kind = attribute(&node, "type").unwrap_or("sphere");
        let ends = numbers::<6>(self.reading, &node, "fromto")
            .filter(|_| ["capsule", "cylinder", "box", "ellipsoid"].contains(&kind));
        let mut half_length = None;
        if let Some(ends) = ends {
            let (from, to) = (DVec3::from_slice(&ends[..3]), DVec3::from_slice(&ends[3..]));
            let Some(along) = (from - to).try_normalize() else {
                self.reading
                    .problem(self.reading.attribute_offset(&node, "fromto"), "the ends of a geom are one point");
                return None;
            };
            pose = Pose { translation: (from + to) * 0.5, rotation: from_z(along) };
            half_length = Some(0.5 * (from - to).length());
        }
        let pose = part.frame.then(&pose);
        let sizes = attribute(&node, "size").map_or(0, |size| size.split_whitespace().count());
        let kind = match kind {
            "plane" => {
                let size = numbers::<3>(self.reading, &node, "size").unwrap_or_default();
                Kind::Plane { pose, size: [size[0], size[1]] }
            }
            "hfield" => {
                let fields = &self.assets.fields;
                let field = attribute(&node, "hfield").and_then(|name| fields.get(name)).cloned();
                Kind::Field { pose, field: field.or_else(|| self.tell_lost(&node, "hfield"))? }
            }
            "mesh" => {
                let mesh = attribute(&node, "mesh").and_then(|name| self.assets.meshes.get(name)).cloned();
                let mesh = mesh.or_else(|| self.tell_lost(&node, "mesh"))?;
                let solid = Solid {
                    surface: None,
                    pose: pose.then(&mesh.pose),
                    form: mesh.form.clone(),
                    finish: self.finish_of(&node),
                    offset: node.offset,
                };
                Kind::Solid(Box::new(solid), Some(mesh))
            }
            kind if attribute(&node, "mesh").is_some() && sizes == 0 => {
                let what = format!("a {kind} that is to be fitted to a mesh is left out");
                self.notes.add(node.offset, what, "its body goes through what would touch it there");
                return None;
            }
            kind => {
                let form = self.form(&node, kind, half_length)?;
                let solid = Solid { surface: None, pose, form, finish: self.finish_of(&node), offset: node.offset };
                Kind::Solid(Box::new(solid), None)
            }
        };
        Some(Geom { node, kind })
    }

    /// A geom whose referenced asset is lost: the asset was reported, or is unknown.
    fn tell_lost<T>(&self, node: &Node, name: &str) -> Option<T> {
        let offset = self.reading.attribute_offset(node, name);
        match attribute(node, name) {
            None => {
                self.reading.problem(node.offset, format!("a geom of the type {name} lacks the attribute '{name}'"))
            }
            Some(value) => {
                let what = format!("the {name} '{}' of a geom is not there", shorten(value));
                self.reading.warn(offset, what, "the geom is left out".into());
            }
        }
        None
    }

    fn form(&self, node: &Node, kind: &str, half_length: Option<f64>) -> Option<Form> {
        let count = match (kind, half_length) {
            ("box" | "ellipsoid", None) => 3,
            ("capsule" | "cylinder", None) => 2,
            ("box" | "ellipsoid" | "capsule" | "cylinder" | "sphere", _) => 1,
            ("sdf", _) => {
                self.notes.add(
                    node.offset,
                    "a geom of the type sdf is left out",
                    "its body goes through what would touch it there",
                );
                return None;
            }
            (other, _) => {
                let message = format!("a geom of the type '{}' is not known", shorten(other));
                let help = "plane, hfield, sphere, capsule, ellipsoid, cylinder, box and mesh are";
                self.reading.problem_with_help(self.reading.attribute_offset(node, "type"), message, help);
                return None;
            }
        };
        let size = match count {
            1 => self.sizes::<1>(node, kind)?.to_vec(),
            2 => self.sizes::<2>(node, kind)?.to_vec(),
            _ => self.sizes::<3>(node, kind)?.to_vec(),
        };
        if let Some(wrong) = size.iter().find(|size| !(**size > 0.0 && **size < 1e6)) {
            let message = format!("attribute 'size': expected numbers above 0 and below 1e6, got {wrong}");
            self.reading.problem(self.reading.attribute_offset(node, "size"), message);
            return None;
        }
        let half = |index: usize| size.get(index).copied().or(half_length).unwrap_or(size[0]);
        // A box between two end points has equal width and depth.
        let radii = if half_length.is_some() {
            DVec3::new(size[0], size[0], half(1))
        } else {
            DVec3::new(size[0], half(1), half(2))
        };
        Some(match kind {
            "sphere" => Form::Sphere { radius: size[0] },
            "box" => Form::Box { size: radii * 2.0 },
            "ellipsoid" => Form::Ellipsoid { radii },
            "capsule" => Form::Capsule { radius: size[0], length: 2.0 * half(1) },
            _ => Form::Cylinder { radius: size[0], length: 2.0 * half(1) },
        })
    }

    /// The first numbers of a size; the others have no meaning for this type.
    fn sizes<const N: usize>(&self, node: &Node, kind: &str) -> Option<[f64; N]> {
        if attribute(node, "size").is_none() {
            self.reading.problem(node.offset, format!("a {kind} lacks the attribute 'size'"));
        }
        first_numbers(self.reading, node, "size")
    }

    /// A geom of the world: the ground, terrain, or a fixed body.
    pub(super) fn read_world_geom(&mut self, part: &Part) {
        let Some(Geom { node, kind }) = self.read_geom(WORLD, part) else { return };
        let surface = self.surface(&node);
        let is_seen_only = self.filter_of_link(&node).is_none();
        let own_name = attribute(&node, "name").map(str::to_owned);
        let solid = match kind {
            Kind::Plane { .. } | Kind::Field { .. } if is_seen_only => return,
            Kind::Plane { pose, .. } if self.ground.is_none() => {
                let normal = pose.direction(DVec3::Z);
                let distance = normal.dot(pose.translation);
                self.ground = Some(Ground { normal, distance, surface, offset: node.offset });
                self.colliders.extend(own_name.map(|name| (name, Collider::Ground)));
                return;
            }
            Kind::Plane { pose, size } => {
                let what = "a plane beside the ground becomes a slab";
                self.notes.add(node.offset, what, "it ends at its size, or 100 m from its middle, and is 1 m thick");
                let width = size.map(|half| if half > 0.0 { 2.0 * half } else { SLAB_WIDTH });
                let form = Form::Box { size: DVec3::new(width[0], width[1], SLAB_THICKNESS) };
                let below = Pose { translation: DVec3::NEG_Z * (0.5 * SLAB_THICKNESS), ..Pose::IDENTITY };
                Solid {
                    surface: None,
                    pose: pose.then(&below),
                    form,
                    finish: self.finish_of(&node),
                    offset: node.offset,
                }
            }
            Kind::Field { pose, field } => {
                self.colliders.extend(own_name.map(|name| (name, Collider::Ground)));
                return self.set_terrain(&node, &pose, &field, surface);
            }
            Kind::Solid(solid, _) => *solid,
        };
        let place = self.model.links.len();
        self.colliders.extend(own_name.clone().map(|name| (name, Collider::Link(place))));
        let name = own_name.unwrap_or_else(|| format!("geom_{place}"));
        let filter = self.filter_of_link(&node);
        let pose = solid.pose;
        let solid = Solid { pose: Pose::IDENTITY, ..solid };
        let visuals: Vec<Solid> = self.is_seen(&node).then(|| solid.clone()).into_iter().collect();
        let solids = if is_seen_only { Vec::new() } else { vec![solid] };
        if visuals.is_empty() && solids.is_empty() {
            return;
        }
        self.model.links.push(Link { name, offset: node.offset, solids, visuals, surface, filter, ..Link::default() });
        let joint = Joint::new(String::new(), node.offset, Motion::Fixed, [WORLD, place]);
        self.model.joints.push(Joint { pose, ..joint });
    }

    fn set_terrain(&mut self, node: &Node, pose: &Pose, field: &Field, surface: Surface) {
        let at = pose.translation;
        if self.terrain.is_some()
            || at.x != 0.0
            || at.y != 0.0
            || pose.rotation.z.abs() < 1.0 && pose.rotation.w.abs() < 1.0
        {
            let what = "an hfield that is not the only one, flat over the origin, is left out";
            return self.notes.add(node.offset, what, "a world has one terrain, in the middle");
        }
        self.terrain = Some(Terrain {
            size: [2.0 * field.size[0], 2.0 * field.size[1]],
            points: [field.columns, field.rows],
            heights: field.heights.iter().map(|height| height * field.size[2] + at.z).collect(),
            surface,
            offset: node.offset,
        });
    }

    /// The geoms and the mass of a body.
    pub(super) fn read_geoms(&mut self, link: usize, body: &Node, parts: &[Part]) {
        let mut spread: Option<MassOf> = None;
        let mut filters = Vec::new();
        for part in parts.iter().filter(|part| part.node.name == "geom") {
            let Some(Geom { node, kind }) = self.read_geom(link, part) else { continue };
            let Kind::Solid(solid, mesh) = kind else {
                self.notes.add(node.offset, "a plane or hfield on a body is left out", "only the world has them");
                continue;
            };
            let group = number(self.reading, &node, "group").unwrap_or(0.0);
            let [low, high] = self.compiler.inertia_groups;
            if (low..=high).contains(&group)
                && let Some(mass) = self.mass_of(&node, &solid, mesh.as_deref())
            {
                spread = Some(spread.map_or(mass, |sum| sum.with(&mass)));
            }
            if self.is_seen(&node) {
                self.model.links[link].visuals.push(Solid::clone(&solid));
            }
            if let Some(bits) = self.filter_of_link(&node) {
                filters.push((node.offset, bits));
                let surface = Some(self.surface(&node));
                self.model.links[link].solids.push(Solid { surface, ..*solid });
            }
        }
        self.set_filter(link, &filters);
        let given = child(body, "inertial").filter(|_| self.compiler.inertia_from_geoms != Some(true));
        let given = given.and_then(|node| self.read_inertial(node));
        let spread = spread.filter(|_| self.compiler.inertia_from_geoms != Some(false));
        // Of a body that only carries others MuJoCo asks for no mass.
        self.model.links[link].is_carrier = parts.iter().any(|part| part.node.name == "body");
        self.model.links[link].mass =
            given.or(spread).map(|mass| self.bounded_mass(mass)).map(|mass| MassOf { offset: body.offset, ..mass });
    }

    /// Sets one filter for all collision shapes of a body.
    fn set_filter(&mut self, link: usize, all: &[(usize, [u16; 2])]) {
        let Some((_, first_bits)) = all.first() else { return };
        if let Some((offset, _)) = all.iter().find(|(_, bits)| bits != first_bits) {
            self.notes.add(
                *offset,
                "geoms of a body differ in contype or conaffinity",
                "the body has the bits of all of them",
            );
        }
        let bits = all.iter().fold([0, 0], |sum, (_, bits)| [sum[0] | bits[0], sum[1] | bits[1]]);
        self.model.links[link].filter = Some(bits);
    }

    /// The look of its material, with its own colour if it has one.
    fn finish_of(&self, node: &Node) -> Finish {
        let own = numbers::<4>(self.reading, node, "rgba").map(Color::from_fractions);
        let material = attribute(node, "material").and_then(|name| self.assets.materials.get(name));
        let material = material.cloned().unwrap_or_default();
        Finish { color: own.or(material.color), ..material }
    }

    /// True if MuJoCo shows it by default.
    fn is_seen(&self, node: &Node) -> bool {
        number(self.reading, node, "group").unwrap_or(0.0) <= LAST_SEEN_GROUP
    }

    /// Friction, for the directions that the geom's contacts have.
    fn surface(&self, node: &Node) -> Surface {
        let given = list(self.reading, node, "friction").unwrap_or_default();
        let friction = |index: usize, default: f64| given.get(index).copied().unwrap_or(default).max(0.0);
        let dimensions = self.dimensions(node);
        if dimensions > ContactDimensions::Torsional {
            let what = "rolling friction of a geom is left out";
            self.notes.add(
                self.reading.attribute_offset(node, "condim"),
                what,
                "give a round body a rollingFriction: a length there, it is a ratio here",
            );
        }
        Surface {
            friction: Some(friction(0, 1.0)),
            torsional_friction: self.has_torsional.then(|| friction(1, 0.005)),
            takes_larger: true,
            priority: number(self.reading, node, "priority").map_or(0, |priority| priority as i32),
            dimensions: Some(dimensions),
            ..Surface::default()
        }
    }

    /// In which directions a geom's contacts resist.
    pub(super) fn dimensions(&self, node: &Node) -> ContactDimensions {
        let Some(given) = attribute(node, "condim") else { return ContactDimensions::Sliding };
        ContactDimensions::from_word(given.trim()).unwrap_or_else(|| {
            let message = format!("attribute 'condim': expected 1, 3, 4 or 6, got '{}'", shorten(given));
            self.reading.problem(self.reading.attribute_offset(node, "condim"), message);
            ContactDimensions::Sliding
        })
    }

    /// Its contact type and affinity, a bit each.
    fn filter(&self, node: &Node) -> [u32; 2] {
        if !self.collides {
            return [0, 0];
        }
        ["contype", "conaffinity"].map(|name| number(self.reading, node, name).map_or(1, |bits| bits as i64 as u32))
    }

    /// True if it collides by a pair.
    fn is_paired(&self, node: &Node) -> bool {
        self.collides && attribute(node, "name").is_some_and(|name| self.paired.contains(name))
    }

    /// The same with 16 bits; `None` for a geom without collision.
    fn filter_of_link(&self, node: &Node) -> Option<[u16; 2]> {
        let bits = self.filter(node);
        if bits == [0, 0] && !self.is_paired(node) {
            return None;
        }
        if bits.iter().any(|bits| bits >> 16 != 0 && bits & 0xFFFF == 0) {
            let what = "bits of contype or conaffinity beyond the 16th are left out";
            self.notes.add(node.offset, what, "there are 16 categories of collisions");
        }
        Some(bits.map(|bits| bits as u16))
    }

    /// The mass of a geom, spread evenly.
    fn mass_of(&self, node: &Node, solid: &Solid, mesh: Option<&MeshAsset>) -> Option<MassOf> {
        let is_shell = attribute(node, "shellinertia") == Some("true");
        let spread = match mesh {
            Some(mesh) => mesh_extent(&mesh.mesh, if is_shell { MeshInertia::Shell } else { mesh.inertia }),
            None => extent(&solid.form, is_shell),
        };
        let Some(spread) = spread else {
            let what = "a geom whose mass has no formula here has none";
            self.notes.add(node.offset, what, "give its body an <inertial>");
            return None;
        };
        let mass = match number(self.reading, node, "mass") {
            Some(mass) => mass,
            None => number(self.reading, node, "density").unwrap_or(DEFAULT_DENSITY) * spread.amount,
        };
        if mass < 0.0 {
            self.reading.problem(node.offset, format!("a mass of {mass} kg is below zero"));
        }
        let tensor = spread.tensor * (mass / spread.amount);
        let own = MassOf { mass, centre: spread.centre, tensor, offset: node.offset };
        (mass > 0.0).then(|| own.moved(&solid.pose))
    }

    fn read_inertial(&self, node: &Node) -> Option<MassOf> {
        let mass = required(self.reading, node, "mass")?;
        if mass < 0.0 {
            self.reading
                .problem(self.reading.attribute_offset(node, "mass"), format!("a mass of {mass} kg is below zero"));
            return None;
        }
        let pose = self.compiler.pose(self.reading, node);
        let tensor =
            match (numbers::<3>(self.reading, node, "diaginertia"), numbers::<6>(self.reading, node, "fullinertia")) {
                (_, Some([xx, yy, zz, xy, xz, yz])) => {
                    DMat3::from_cols(DVec3::new(xx, xy, xz), DVec3::new(xy, yy, yz), DVec3::new(xz, yz, zz))
                }
                (Some(moments), None) => DMat3::from_diagonal(DVec3::from_array(moments)),
                (None, None) => DMat3::ZERO,
            };
        let own = MassOf { mass, centre: DVec3::ZERO, tensor, offset: node.offset };
        (mass > 0.0).then(|| own.moved(&pose))
    }

    /// A mass within the compiler's bounds.
    fn bounded_mass(&self, mut mass: MassOf) -> MassOf {
        mass.mass = mass.mass.max(self.compiler.least_mass);
        if self.compiler.least_inertia > 0.0 || self.compiler.balances_inertia {
            mass.tensor = super::super::mass::bounded_tensor(
                &mass.tensor,
                self.compiler.least_inertia,
                self.compiler.balances_inertia,
            );
        }
        mass
    }
}
