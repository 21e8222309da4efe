//! Links: mass, shapes and surface.

use std::path::Path;

use bevy_math::{DMat3, DVec3};
use simpartner_model::{Color, Pose, quickhull};

use super::{
    super::{
        attributes::attribute,
        finish::Finish,
        gazebo::{class_label, friction_across, is_true, soft_contact},
        mass::{MeshInertia, extent, mesh_extent},
        model::{Form, Link, MassOf, Solid, Surface},
        scene::Ground,
        search,
    },
    frames::Frames,
    importer::Sdf,
};
use crate::{
    mesh::Mesh,
    text::{
        numbers::{read_spaced_numbers, shorten},
        tree::child,
    },
    xml::node::Node,
};

/// Default density for an inertia from shapes, kg/m³: that of water.
const DEFAULT_DENSITY: f64 = 1000.0;
/// Thickness of the slab that replaces a plane other than the ground, and its default width, metres.
const SLAB_THICKNESS: f64 = 1.0;

/// Elements of a `<link>` in SDF that are read, or that have no effect on the simulation.
const LINK_ELEMENTS: [&str; 15] = [
    "collision",
    "enable_wind",
    "frame",
    "gravity",
    "inertial",
    "kinematic",
    "light",
    "must_be_base_link",
    "plugin",
    "pose",
    "self_collide",
    "sensor",
    "origin",
    "velocity_decay",
    "visual",
];

impl Sdf<'_, '_> {
    /// Reads a link at a pose in the file's frame; its elements may be relative to other frames of its model.
    pub(super) fn read_link(&mut self, node: &Node, pose: Pose, is_fixed: bool, frames: &Frames) -> Link {
        let (reading, link_name) = (self.reading, attribute(node, "name").unwrap_or("link"));
        let at = |node: &Node| frames.pose_in_link(reading, node, link_name);
        let (name, scope) = (link_name.to_owned(), self.scope.clone());
        let mut link = Link { name, scope, offset: node.offset, pose, is_fixed, ..Link::default() };
        let mut spread: Option<MassOf> = None;
        let inertial = child(node, "inertial");
        let density = inertial.and_then(|inertial| self.number(inertial, "density"));
        let is_spread = inertial.and_then(|inertial| attribute(inertial, "auto")).is_some_and(is_true);
        for collision in node.children.iter().filter(|child| child.name == "collision") {
            let solids = self.read_solids(collision, &pose, at(collision));
            if solids.is_empty() {
                continue;
            }
            let density = self.number(collision, "density").or(density).unwrap_or(DEFAULT_DENSITY);
            let surface = self.surface(collision);
            for solid in &solids {
                let own = if is_spread { self.mass_of(solid, density) } else { None };
                spread = match (spread, own) {
                    (Some(sum), Some(own)) => Some(sum.with(&own)),
                    (sum, own) => sum.or(own),
                };
            }
            self.read_bits(collision, &mut link);
            link.solids.extend(solids.into_iter().map(|solid| Solid { surface: Some(surface), ..solid }));
        }
        for visual in node.children.iter().filter(|child| child.name == "visual") {
            link.visuals.extend(self.read_visual(visual, at(visual)));
        }
        let plugins = node.children.iter().filter(|child| child.name == "visual").flat_map(|visual| &visual.children);
        let mut labels =
            plugins.filter(|child| child.name == "plugin").filter_map(|plugin| class_label(reading, plugin));
        link.class = labels.next().unwrap_or_default();
        if let Some(other) = labels.find(|label| *label != link.class) {
            let what = format!("the label {other} of a visual is left out");
            self.notes.add(node.offset, what, "all of a body has one class, that of its first visual with a label");
        }
        link.mass = self.read_mass(node, spread, at);
        self.note_link_elements(node);
        link
    }

    /// Warns of the elements of a link that have no effect here, and of unknown ones.
    fn note_link_elements(&self, node: &Node) {
        let silent = |node: &Node| {
            let zero = self.text(node, "linear").is_none_or(|text| text == "0")
                && self.text(node, "angular").is_none_or(|text| text == "0");
            node.name == "velocity_decay" && zero || node.name == "gravity" && is_true(node.text.trim())
        };
        for other in node.children.iter().filter(|node| !silent(node)) {
            let meaning = match other.name.as_str() {
                "gravity" => "gravity pulls on it as on any other",
                "kinematic" if is_true(other.text.trim()) => "forces move it as any other",
                "velocity_decay" => "nothing but its joints' damping slows it down",
                "projector" | "audio_source" | "battery" | "fluid_added_mass" | "particle_emitter" => {
                    "nothing of it is simulated"
                }
                "enable_wind" if is_true(other.text.trim()) => "the wind of a world acts on bodies with drag",
                name if !name.contains(':') && !LINK_ELEMENTS.contains(&name) => {
                    let near = self.reading.nearest(name, LINK_ELEMENTS.into_iter());
                    let help =
                        near.map_or("nothing of it is simulated".into(), |near| format!("did you mean <{near}>?"));
                    self.reading.warn(other.offset, format!("<{name}> of <link> is unknown, and left out"), help);
                    continue;
                }
                _ => continue,
            };
            self.notes.add(other.offset, format!("<{}> of <link> is left out", other.name), meaning);
        }
    }

    /// Without an `<inertial>` the format has 1 kg and 1 kg m² about each axis.
    fn read_mass(&self, node: &Node, spread: Option<MassOf>, at: impl Fn(&Node) -> Pose) -> Option<MassOf> {
        let default = MassOf { mass: 1.0, centre: DVec3::ZERO, tensor: DMat3::IDENTITY, offset: node.offset };
        let Some(inertial) = child(node, "inertial") else { return Some(default) };
        if attribute(inertial, "auto").is_some_and(is_true) {
            let Some(spread) = spread else {
                let what = "an inertia that is to follow from the shapes of a link that has none";
                self.reading.warn(inertial.offset, what.into(), "it has 1 kg and 1 kg m² about each axis".into());
                return Some(default);
            };
            let scale = self.number(inertial, "mass").map_or(1.0, |mass| mass / spread.mass);
            return Some(MassOf { mass: spread.mass * scale, tensor: spread.tensor * scale, ..spread });
        }
        let mass = self.number(inertial, "mass").unwrap_or(1.0);
        if mass < 0.0 {
            self.reading.problem(inertial.offset, format!("a mass of {mass} kg is below zero"));
            return None;
        }
        if mass == 0.0 {
            return None;
        }
        let tensor = match child(inertial, "inertia") {
            Some(inertia) => {
                let entry = |tag: &str, default: f64| self.number(inertia, tag).unwrap_or(default);
                let (xy, xz, yz) = (entry("ixy", 0.0), entry("ixz", 0.0), entry("iyz", 0.0));
                DMat3::from_cols(
                    DVec3::new(entry("ixx", 1.0), xy, xz),
                    DVec3::new(xy, entry("iyy", 1.0), yz),
                    DVec3::new(xz, yz, entry("izz", 1.0)),
                )
            }
            None => DMat3::IDENTITY,
        };
        Some(MassOf { mass, centre: DVec3::ZERO, tensor, offset: inertial.offset }.moved(&at(inertial)))
    }

    /// The mass of a shape that is filled evenly.
    fn mass_of(&self, solid: &Solid, density: f64) -> Option<MassOf> {
        let all = match &solid.form {
            Form::Mesh { file, scale } => {
                let path = self.reading.files.beside(self.reading.path, file, "robots");
                let mesh = self.reading.mesh(&path).ok()?;
                let vertices = mesh.vertices.iter().map(|point| *point * *scale).collect();
                mesh_extent(&Mesh::new(vertices, mesh.triangles.clone()), MeshInertia::Exact)
            }
            Form::Points { points, .. } => {
                let (vertices, triangles) = quickhull(points)?;
                mesh_extent(&Mesh::new(vertices, triangles), MeshInertia::Exact)
            }
            form => extent(form, false),
        }?;
        let own = MassOf {
            mass: density * all.amount,
            centre: all.centre,
            tensor: all.tensor * density,
            offset: solid.offset,
        };
        Some(own.moved(&solid.pose))
    }

    /// A `<visual>` with its colour; planes are for the ground to show.
    fn read_visual(&self, node: &Node, pose: Pose) -> Vec<Solid> {
        let geometry = child(node, "geometry");
        let Some((geometry, shape)) = geometry.and_then(|geometry| Some((geometry, geometry.children.first()?))) else {
            return Vec::new();
        };
        let forms = match shape.name.as_str() {
            "plane" | "heightmap" | "image" => Vec::new(),
            "polyline" => self.read_polylines(geometry),
            _ => self.form(shape).into_iter().collect(),
        };
        let material = child(node, "material");
        let finish = material.map_or(Finish::default(), |material| self.read_finish(material));
        let solid = |form| Solid { surface: None, pose, form, finish: finish.clone(), offset: shape.offset };
        forms.into_iter().map(solid).collect()
    }

    /// Diffuse or ambient colour, emitted light, and the image of the base colour.
    fn read_finish(&self, material: &Node) -> Finish {
        let color = |tag: &str| self.read_color(child(material, tag)?);
        let has_color = ["diffuse", "ambient", "pbr"].iter().any(|tag| child(material, tag).is_some());
        if let Some(script) = child(material, "script").filter(|_| !has_color) {
            let what = "a <script> of a <material> is left out";
            self.notes.add(script.offset, what, "what has it is shown in a colour of the page; give it a <diffuse>");
        }
        let is_light = |color: &Color| [color.red, color.green, color.blue] != [0; 3];
        let work = child(material, "pbr").and_then(|pbr| child(pbr, "metal").or(child(pbr, "specular")));
        let image = work.and_then(|work| child(work, "albedo_map")).map(|map| map.text.trim());
        Finish {
            emission: color("emissive").filter(is_light),
            texture: image.filter(|image| !image.is_empty()).map(|image| self.mesh_file(image)),
            ..Finish::of_color(color("diffuse").or_else(|| color("ambient")))
        }
    }

    fn read_color(&self, node: &Node) -> Option<Color> {
        match read_spaced_numbers(&node.text, 4).unwrap_or_default()[..] {
            [red, green, blue, alpha] => Some(Color::from_fractions([red, green, blue, alpha])),
            [red, green, blue] => Some(Color::from_fractions([red, green, blue, 1.0])),
            _ => {
                let what = format!("<{}>: expected three or four numbers from 0 to 1", node.name);
                self.reading.warn(node.offset, what, "what has this colour is shown in another".into());
                None
            }
        }
    }

    /// The shapes of a `<collision>`: several of a polyline.
    fn read_solids(&mut self, node: &Node, link: &Pose, own: Pose) -> Vec<Solid> {
        let geometry = child(node, "geometry").filter(|geometry| child(geometry, "polyline").is_some());
        let Some(geometry) = geometry else {
            return self.read_solid(node, link, own).into_iter().collect();
        };
        let finish = Finish::default();
        let solid = |form| Solid { surface: None, pose: own, form, finish: finish.clone(), offset: geometry.offset };
        self.read_polylines(geometry).into_iter().map(solid).collect()
    }

    /// A `<collision>`. A plane becomes the ground if it is the first, and a slab if not; a field of heights the
    /// terrain.
    fn read_solid(&mut self, node: &Node, link: &Pose, own: Pose) -> Option<Solid> {
        let Some(shape) = child(node, "geometry").and_then(|geometry| geometry.children.first()) else {
            let what = "a <collision> without a <geometry> is left out";
            self.notes.add(node.offset, what, "its link goes through what would touch it there");
            return None;
        };
        let solid = |pose: Pose, form| {
            let finish = Finish::default();
            Some(Solid { surface: None, pose, form, finish, offset: shape.offset })
        };
        if shape.name == "heightmap" {
            self.read_heightmap(shape, &link.then(&own), self.surface(node));
            return None;
        }
        if shape.name != "plane" {
            return solid(own, self.form(shape)?);
        }
        let normal = self.vector(shape, "normal").unwrap_or(DVec3::Z).normalize_or(DVec3::Z);
        let world = link.then(&own);
        if self.ground.is_none() {
            let normal = world.direction(normal);
            let surface = self.surface(node);
            let distance = normal.dot(world.translation);
            self.ground = Some(Ground { normal, distance, surface, offset: shape.offset });
            return None;
        }
        let meaning = "it ends at its size, and is 1 m thick";
        self.notes.add(shape.offset, "a plane beside the ground becomes a slab", meaning);
        let size = child(shape, "size").and_then(|size| self.numbers::<2>(size)).unwrap_or([1.0, 1.0]);
        let turn = bevy_math::DQuat::from_rotation_arc(DVec3::Z, normal);
        let below = Pose { translation: turn * (DVec3::NEG_Z * (0.5 * SLAB_THICKNESS)), rotation: turn };
        solid(own.then(&below), Form::Box { size: DVec3::new(size[0], size[1], SLAB_THICKNESS) })
    }

    /// A shape that can be a solid.
    fn form(&self, shape: &Node) -> Option<Form> {
        let length_of = |tag: &str| {
            if child(shape, tag).is_none() {
                let what = format!("a <{}> lacks <{tag}>", shape.name);
                self.notes.add(shape.offset, what, "it is 1 m, as in Gazebo");
                return Some(1.0);
            }
            self.number(shape, tag).filter(|length| self.is_length(shape, *length))
        };
        let (radius, length) = (|| length_of("radius"), || length_of("length"));
        let lengths = |tag: &str| {
            let size = self.vector(shape, tag).unwrap_or(DVec3::ONE);
            Some(size).filter(|size| size.to_array().iter().all(|edge| self.is_length(shape, *edge)))
        };
        Some(match shape.name.as_str() {
            "box" => Form::Box { size: lengths("size")? },
            "sphere" => Form::Sphere { radius: radius()? },
            "cylinder" => Form::Cylinder { radius: radius()?, length: length()? },
            "capsule" => Form::Capsule { radius: radius()?, length: length()? },
            "cone" => Form::Cone { radius: radius()?, length: length()? },
            "ellipsoid" => Form::Ellipsoid { radii: lengths("radii")? },
            "mesh" => {
                let scale = self.vector(shape, "scale").unwrap_or(DVec3::ONE);
                let Some(uri) = child(shape, "uri") else {
                    self.reading.problem(shape.offset, "<mesh> lacks <uri>");
                    return None;
                };
                Form::Mesh { file: self.mesh_file(uri.text.trim()), scale }
            }
            "empty" => return None,
            other => {
                let what = format!("a shape of the kind <{}> is left out", shorten(other));
                self.notes.add(shape.offset, what, "its link goes through what would touch it there");
                return None;
            }
        })
    }

    fn is_length(&self, node: &Node, length: f64) -> bool {
        // A shape with a length of 0 is told of where it is left out.
        let is_right = (0.0..=1e6).contains(&length);
        if !is_right {
            self.reading.problem(
                node.offset,
                format!("<{}>: expected lengths above 0 and at most 1e6, got {length}", node.name),
            );
        }
        is_right
    }

    /// The path of a mesh, seen from the folder of the file that is read.
    pub(super) fn mesh_file(&self, uri: &str) -> String {
        let path = uri.strip_prefix("file://").unwrap_or(uri);
        let is_in_model =
            ["model://", "package://", "http://", "https://", "fuel://"].iter().any(|scheme| uri.starts_with(scheme));
        let from = if is_in_model {
            self.places_of(uri)
        } else {
            let file = self.open.last().map_or(self.reading.path, String::as_str);
            vec![Path::new(file).parent().unwrap_or(Path::new("")).join(path)]
        };
        let found = from.into_iter().find(|path| self.reading.files.has(&path.to_string_lossy()));
        found.map_or(path.to_owned(), |found| search::seen_from_file(self.reading, found))
    }

    /// Collision masks of a link: the union of those of its collisions.
    fn read_bits(&self, node: &Node, link: &mut Link) {
        let bits = child(node, "surface")
            .and_then(|surface| child(surface, "contact"))
            .and_then(|contact| child(contact, "collide_bitmask"));
        if let Some(bits) = bits {
            let text = bits.text.trim();
            let value = match text.strip_prefix("0x") {
                Some(digits) => u16::from_str_radix(digits, 16).ok(),
                None => text.parse().ok(),
            };
            match value {
                Some(value) => {
                    let before = link.filter.map_or(0, |filter| filter[0]);
                    link.filter = Some([before | value; 2]);
                }
                None => self.reading.problem(
                    bits.offset,
                    format!("<collide_bitmask>: expected a number of 16 bits, got '{}'", shorten(text)),
                ),
            }
        }
    }

    /// Coulomb friction, restitution and torsional friction.
    fn surface(&self, node: &Node) -> Surface {
        let Some(surface) = child(node, "surface") else {
            return Surface { friction: Some(1.0), ..Surface::default() };
        };
        let friction = child(surface, "friction");
        let law = friction.and_then(|friction| child(friction, "ode").or(child(friction, "bullet")));
        let number = |tags: [&str; 2]| law.and_then(|law| tags.into_iter().find_map(|tag| self.number(law, tag)));
        let along = number(["mu", "friction"]).unwrap_or(1.0).max(0.0);
        let across = number(["mu2", "friction2"]);
        let torsional = friction.and_then(|friction| child(friction, "torsional"));
        let bounce = child(surface, "bounce").and_then(|bounce| self.number(bounce, "restitution_coefficient"));
        let mut given = Surface {
            friction: Some(along),
            across: law.and_then(|law| friction_across((self.reading, &self.notes), law, along, across)),
            restitution: bounce.filter(|bounce| (0.0..=1.0).contains(bounce)),
            torsional_friction: torsional.and_then(|torsional| {
                let coefficient = self.number(torsional, "coefficient")?;
                // Of a patch of this radius with even pressure two thirds of it count.
                Some((coefficient * self.number(torsional, "patch_radius").unwrap_or(0.0) * 2.0 / 3.0).max(0.0))
            }),
            ..Surface::default()
        };
        let law = child(surface, "contact").and_then(|contact| child(contact, "ode"));
        let number = |tag| law.and_then(|law| self.number(law, tag));
        soft_contact((&self.notes, surface), number("kp"), number("kd"), &mut given);
        given
    }
}
