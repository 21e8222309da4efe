//! SDF, the worlds and models of Gazebo, from 1.4 on, z up.
//!
//! | module | reads |
//! |---|---|
//! | `include` | `<include>`: models of other files, looked for beside the file and in the folders that Gazebo is told of |
//! | `frames` | `<pose>`, `<frame>`: where everything is, relative to what |
//! | `link` | `<link>`: mass, shapes, surfaces |
//! | `joint` | `<joint>` |
//! | `devices` | `<sensor>`, and the plugins that drive joints |

mod devices;
mod frames;
mod include;
mod joint;
mod link;

use std::collections::HashMap;

use bevy_math::DVec3;
use simpartner_model::Pose;

use self::frames::Frames;
use super::{
    super::{
        reading::{Reading, child, read_numbers, shorten},
        tree::Node,
    },
    ImportOptions,
    attributes::attribute,
    model::{Joint, Link, Model, Motion},
    notes::Notes,
    scene::{Ground, Scene, WORLD},
};

/// The root element.
pub(super) const ROOT: &str = "sdf";
/// How deep models may be nested in models: the format's own examples need three.
const MOST_NESTED: usize = 16;

/// A file being read.
struct Sdf<'r, 'a> {
    reading: &'r Reading<'a>,
    /// Whether axes are told in the frame of the model unless the file says otherwise (before 1.5).
    axes_in_model: bool,
    model: Model,
    ground: Option<Ground>,
    notes: Notes,
    /// Files that are being included, from the outside in.
    open: Vec<String>,
}

/// A model, its frames and links.
#[derive(Default)]
struct Scope {
    frames: Frames,
    /// Places of links by their names, those of nested models behind theirs and `::`.
    links: HashMap<String, usize>,
}

/// Reads a file.
pub(super) fn read(reading: &Reading, mut roots: Vec<Node>, options: &ImportOptions) -> Option<Scene> {
    let root = roots.swap_remove(0);
    if !["sdf", "gazebo"].contains(&root.name.as_str()) {
        reading.problem(root.offset, format!("an SDF file holds <sdf>, this one <{}>", root.name));
        return None;
    }
    let world = Link { name: "world".into(), offset: root.offset, ..Link::default() };
    let mut sdf = Sdf {
        reading,
        axes_in_model: axes_in_model(&root),
        model: Model { offset: root.offset, links: vec![world], root: WORLD, ..Model::default() },
        ground: None,
        notes: Notes::default(),
        open: vec![reading.path.to_owned()],
    };
    let section = child(&root, "world").unwrap_or(&root);
    let gravity = sdf.read_world(section);
    sdf.hold_others();
    let default =
        attribute(section, "name").or_else(|| child(&root, "model").and_then(|model| attribute(model, "name")));
    sdf.model.name = default.unwrap_or("world").to_owned();
    if sdf.model.links.len() == 1 && sdf.ground.is_none() && reading.is_sound() {
        reading.problem(root.offset, "the file has no <model> with a <link> to simulate");
    }
    if !reading.is_sound() {
        return None;
    }
    let Sdf { mut model, ground, notes, .. } = sdf;
    notes.tell(reading);
    if !options.keep_fixed_joints {
        model.merge_fixed(Some(WORLD));
    }
    let scene = Scene::split(reading, model, options.fixed_base);
    Some(Scene { ground, gravity, ..scene })
}

fn axes_in_model(root: &Node) -> bool {
    let version = attribute(root, "version").and_then(|version| version.split_once('.'));
    version.is_some_and(|(major, minor)| major == "1" && minor.parse::<u32>().is_ok_and(|minor| minor < 5))
}

impl Sdf<'_, '_> {
    /// A world, or what stands in a file without one; its gravity.
    fn read_world(&mut self, section: &Node) -> Option<DVec3> {
        let mut scope = Scope::default();
        scope.links.insert("world".into(), WORLD);
        self.read_members(section, &Pose::IDENTITY, &mut scope, 0, false);
        for node in &section.children {
            match node.name.as_str() {
                "gravity" | "model" | "include" | "frame" | "joint" | "link" => {}
                "scene" | "light" | "gui" | "physics" | "audio" | "wind" | "atmosphere" | "magnetic_field"
                | "state" => {}
                "plugin" => self.tell_plugin(node),
                "spherical_coordinates" => {
                    let meaning = "give the world a <geographicOrigin>";
                    self.notes.add(node.offset, "<spherical_coordinates> is left out", meaning);
                }
                other => self.notes.add(node.offset, format!("<{other}> is left out"), "nothing of it is simulated"),
            }
        }
        self.vector(section, "gravity").or(Some(DVec3::new(0.0, 0.0, -9.8)).filter(|_| section.name == "world"))
    }

    /// The models, links and joints of a model or world that stands at a pose; their names go into the scope.
    fn read_members(&mut self, node: &Node, at: &Pose, scope: &mut Scope, depth: usize, is_static: bool) {
        if depth > MOST_NESTED {
            return self.reading.problem(node.offset, format!("models are nested more than {MOST_NESTED} deep"));
        }
        let expanded: Vec<(Node, Option<String>)> = node
            .children
            .iter()
            .filter(|child| child.name == "include")
            .filter_map(|child| self.include(child))
            .collect();
        let models = node.children.iter().filter(|child| child.name == "model");
        let nested: Vec<(&Node, Option<&String>)> = models
            .map(|model| (model, None))
            .chain(expanded.iter().map(|(model, path)| (model, path.as_ref())))
            .collect();
        for model in nested
            .iter()
            .map(|(model, _)| *model)
            .chain(node.children.iter().filter(|child| ["link", "frame", "joint"].contains(&child.name.as_str())))
        {
            scope.frames.define(self.reading, model);
        }
        for node in node.children.iter().filter(|child| child.name == "link") {
            let pose = at.then(&scope.frames.pose_of(self.reading, node, "__model__"));
            let name = attribute(node, "name").unwrap_or("link").to_owned();
            let place = self.read_link(node, pose, is_static);
            scope.links.insert(name, place);
        }
        for (model, path) in nested {
            self.open.extend(path.cloned());
            self.read_model(model, at, scope, depth, is_static);
            self.open.truncate(self.open.len() - usize::from(path.is_some()));
        }
        for node in node.children.iter().filter(|child| child.name == "joint" && !is_static) {
            self.read_joint(node, at, scope);
        }
    }

    /// A model in another one or in a world.
    fn read_model(&mut self, node: &Node, around: &Pose, outer: &mut Scope, depth: usize, in_static: bool) {
        let name = attribute(node, "name").unwrap_or("model").to_owned();
        let mut pose = outer.frames.pose_of(self.reading, node, "__model__");
        let mut scope = Scope::default();
        scope.links.insert("world".into(), WORLD);
        if let Some(frame) = attribute(node, "placement_frame") {
            // The pose is that of this frame, not of the model's own.
            let mut inner = Frames::default();
            node.children
                .iter()
                .filter(|child| ["link", "frame", "joint"].contains(&child.name.as_str()))
                .for_each(|child| inner.define(self.reading, child));
            pose = pose.then(&inner.resolve(self.reading, node, frame).inverse());
        }
        outer.frames.set(&name, pose);
        let at = around.then(&pose);
        let first_joint = self.model.joints.len();
        let is_static = in_static || self.text(node, "static").is_some_and(is_true);
        self.read_members(node, &at, &mut scope, depth + 1, is_static);
        if self.text(node, "self_collide").is_some_and(is_true) {
            self.model.self_collision = true;
        }
        self.read_devices(node, &scope, first_joint);
        for (inner, place) in scope.links.into_iter().filter(|(_, place)| *place != WORLD) {
            outer.links.insert(format!("{name}::{inner}"), place);
        }
        for (inner, pose) in scope.frames.resolved() {
            outer.frames.set(&format!("{name}::{inner}"), outer.frames.get(&name).then(&pose));
        }
    }

    /// Links that no joint carries float, or are fixed where their model is static.
    fn hold_others(&mut self) {
        for (link, Link { offset, pose, is_fixed, mass, name, .. }) in
            self.model.links.iter().enumerate().skip(WORLD + 1)
        {
            if !self.model.joints.iter().any(|joint| joint.child == link) {
                let is_light = !is_fixed && mass.is_none();
                if is_light {
                    let what = format!("'{}' has no mass", shorten(name));
                    self.notes.add(*offset, what, "it is fixed to the world, as in Bullet");
                }
                let motion = if *is_fixed || is_light { Motion::Fixed } else { Motion::Free };
                let joint = Joint::new(String::new(), *offset, motion, [WORLD, link]);
                self.model.joints.push(Joint { pose: *pose, ..joint });
            }
        }
    }

    /// The text of a child element.
    fn text<'n>(&self, node: &'n Node, tag: &str) -> Option<&'n str> {
        child(node, tag).map(|child| child.text.trim())
    }

    /// The number in a child element.
    fn number(&self, node: &Node, tag: &str) -> Option<f64> {
        self.numbers::<1>(child(node, tag)?).map(|[number]| number)
    }

    /// The vector in a child element.
    fn vector(&self, node: &Node, tag: &str) -> Option<DVec3> {
        self.numbers::<3>(child(node, tag)?).map(DVec3::from_array)
    }

    fn numbers<const N: usize>(&self, node: &Node) -> Option<[f64; N]> {
        frames::numbers(self.reading, node)
    }

    /// A number that has to be there.
    fn required(&self, node: &Node, tag: &str) -> Option<f64> {
        if child(node, tag).is_none() {
            self.reading.problem(node.offset, format!("<{}> lacks <{tag}>", node.name));
        }
        self.number(node, tag)
    }
}

fn is_true(text: &str) -> bool {
    ["true", "1"].contains(&text)
}
