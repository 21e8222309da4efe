//! SDF, the worlds and models of Gazebo, from 1.4 on, z up.
//!
//! | module | reads |
//! |---|---|
//! | `include` | `<include>`: models of other files, looked for beside the file and in the folders that Gazebo is told of |
//! | `frames` | `<pose>`, `<frame>`: where everything is, relative to what |
//! | `link` | `<link>`: mass, shapes, surfaces |
//! | `polyline` | `<polyline>` |
//! | `joint`, `couplings` | `<joint>`, `<mimic>`, gearboxes |
//! | `heightmap` | `<heightmap>` |
//!
//! Sensors and plugins are read by `gazebo` beside this module.

mod couplings;
mod frames;
mod heightmap;
mod importer;
mod include;
mod joint;
mod lights;
mod link;
mod polyline;

use std::{collections::HashSet, f64::consts::FRAC_PI_2};

use bevy_math::DVec3;
use simpartner_model::Pose;

use self::{
    frames::{Frames, MODEL_FRAME},
    importer::{MOST_NESTED, Scope, Sdf},
    include::Included,
};
use super::{
    super::{node::Node, reading::Reading},
    attributes::attribute,
    gazebo::{self, Gazebo, is_true},
    lights::Lights,
    model::{Drive, DriveKind, Joint, Link, Model, Motion},
    omissions::Omissions,
    options::ImportOptions,
    scene::{Geography, Scene, WORLD},
};
use crate::text::{numbers::shorten, tree::child};

pub(super) use self::frames::read_pose;

/// The magnetic field of worlds without one, T, as the format's description has it.
const DEFAULT_MAGNETIC_FIELD: DVec3 = DVec3::new(5.5645e-6, 22.8758e-6, -42.3884e-6);
/// Our length of a step by default, s.
const DEFAULT_STEP: f64 = 0.001;
/// Largest latitude of our format, degrees.
const MAX_LATITUDE: f64 = 89.0;
/// The root element.
pub(super) const ROOT: &str = "sdf";
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
        terrain: None,
        lights: Lights::default(),
        notes: Omissions::default(),
        open: vec![reading.path.to_owned()],
        scope: String::new(),
    };
    let section = child(&root, "world").unwrap_or(&root);
    let gravity = sdf.read_world(section);
    sdf.hold_others();
    let geography = sdf.read_geography(section);
    let default =
        attribute(section, "name").or_else(|| child(&root, "model").and_then(|model| attribute(model, "name")));
    sdf.model.name = default.unwrap_or("world").to_owned();
    let what = "the file has no <model> with a <link> to simulate";
    if root.children.is_empty() && reading.is_sound() {
        reading.problem(root.offset, what);
    } else if sdf.model.links.len() == 1 && sdf.ground.is_none() && sdf.terrain.is_none() {
        reading.warn(root.offset, what.into(), "the world is empty".into());
    }
    if !reading.is_sound() {
        return None;
    }
    let Sdf { mut model, ground, terrain, lights, notes, .. } = sdf;
    notes.report(reading);
    if !options.keep_fixed_joints {
        model.merge_fixed(Some(WORLD));
    }
    let fluids = model.fluids;
    for link in model.links.iter_mut().filter(|link| fluids.is_buoyant && !link.solids.is_empty()) {
        link.is_buoyant = true;
    }
    let scene = Scene::split(reading, model, options.fixed_base);
    Some(Scene { ground, terrain, lights, gravity, fluids, geography, ..scene })
}

/// A model in another one.
enum Member<'n> {
    Own(&'n Node),
    Included(&'n Included),
}

impl<'n> Member<'n> {
    fn model_node(&self) -> &'n Node {
        match self {
            Self::Own(model) => model,
            Self::Included(included) => &included.model,
        }
    }
}

fn axes_in_model(root: &Node) -> bool {
    let version = attribute(root, "version").and_then(|version| version.split_once('.'));
    version.is_some_and(|(major, minor)| major == "1" && minor.parse::<u32>().is_ok_and(|minor| minor < 5))
}

impl<'r, 'a> Sdf<'r, 'a> {
    /// Reads a world, or the content of a file without one; returns its gravity.
    fn read_world(&mut self, section: &Node) -> Option<DVec3> {
        let mut scope = Scope::default();
        scope.links.insert("world".into(), WORLD);
        scope.base = Some("world".into());
        self.read_members(section, &Pose::IDENTITY, &mut scope, 0, false);
        self.lights = self.read_lights(section);
        for node in &section.children {
            match node.name.as_str() {
                "gravity" | "model" | "include" | "frame" | "joint" | "link" => {}
                "scene"
                | "light"
                | "gui"
                | "audio"
                | "atmosphere"
                | "magnetic_field"
                | "state"
                | "spherical_coordinates" => {}
                "physics" => self.note_timestep(node),
                "wind" if self.vector(node, "linear_velocity").is_none_or(|wind| wind == DVec3::ZERO) => {}
                "wind" => self.notes.add(node.offset, "<wind> is left out", "give the world a <wind> of ours"),
                "plugin" => self.gazebo(&scope, 0).read_world_plugin(node),
                other => self.notes.add(node.offset, format!("<{other}> is left out"), "nothing of it is simulated"),
            }
        }
        self.vector(section, "gravity").or(Some(DVec3::new(0.0, 0.0, -9.8)).filter(|_| section.name == "world"))
    }

    /// Warns of a timestep that differs from our default.
    fn note_timestep(&self, physics: &Node) {
        if let Some(step) = self.number(physics, "max_step_size").filter(|step| *step != DEFAULT_STEP) {
            let what = format!("a <max_step_size> of {step} s is left out");
            self.notes.add(physics.offset, what, "the setting simulation.timestep_s has the length of a step");
        }
    }

    /// Reads the place of a world on the earth, and its magnetic field if something measures it.
    fn read_geography(&self, section: &Node) -> Geography {
        let is_measured = section.name == "world" && self.model.measures_field();
        let magnetic_field =
            is_measured.then(|| self.vector(section, "magnetic_field").unwrap_or(DEFAULT_MAGNETIC_FIELD));
        let origin = child(section, "spherical_coordinates").and_then(|node| {
            let number = |tag| self.number(node, tag);
            // Of the counter-clockwise angle from east to the x axis.
            let heading = FRAC_PI_2 - number("heading_deg").unwrap_or(0.0).to_radians();
            let given = number("latitude_deg")?;
            let latitude = given.clamp(-MAX_LATITUDE, MAX_LATITUDE);
            if latitude != given {
                let meaning = "a GnssSensor reads the place there";
                self.notes.add(node.offset, format!("a latitude of {given} degrees becomes {latitude}"), meaning);
            }
            let longitude = (number("longitude_deg")? + 180.0).rem_euclid(360.0) - 180.0;
            Some([latitude, longitude, number("elevation").unwrap_or(0.0), heading])
        });
        Geography { origin, magnetic_field }
    }

    /// Reads the models, links and joints of a model or world at a pose; their names are added to the scope.
    fn read_members(&mut self, node: &Node, at: &Pose, scope: &mut Scope, depth: usize, is_static: bool) {
        if depth > MOST_NESTED {
            return self.reading.problem(node.offset, format!("models are nested more than {MOST_NESTED} deep"));
        }
        let included: Vec<Included> = node
            .children
            .iter()
            .filter(|child| child.name == "include")
            .filter_map(|child| self.include(child, scope))
            .collect();
        let own = |tag: &'static str| node.children.iter().filter(move |child| child.name == tag);
        let stands = |child: &&Node| ["link", "frame", "joint", "model"].contains(&child.name.as_str());
        let named = included.iter().filter(|included| !included.is_merged).map(|included| &included.model);
        named.chain(node.children.iter().filter(stands)).for_each(|node| scope.frames.define(self.reading, node));
        // Links are placed first: their reference may be a frame of a nested model, which may refer to one of their
        // frames.
        let (first_link, first_joint) = (self.model.links.len(), self.model.joints.len());
        for (index, link) in own("link").enumerate() {
            scope.links.insert(attribute(link, "name").unwrap_or("link").to_owned(), first_link + index);
            self.model.links.push(Link { offset: link.offset, ..Link::default() });
        }
        let own_models = own("model").map(Member::Own);
        self.read_models(
            own_models.chain(included.iter().map(Member::Included)).collect(),
            at,
            scope,
            depth,
            is_static,
        );
        self.set_base(node, scope);
        for (index, link) in own("link").enumerate() {
            let pose = at.then(&scope.frames.pose_of(self.reading, link, "__model__"));
            self.model.links[first_link + index] = self.read_link(link, pose, is_static, &scope.frames);
        }
        for joint in own("joint").filter(|_| !is_static) {
            self.read_joint(joint, at, scope);
        }
        self.read_couplings(node, first_joint, scope);
    }

    /// Reads models in another one, in their order, but after those in whose frames they stand.
    fn read_models(&mut self, models: Vec<Member>, at: &Pose, scope: &mut Scope, depth: usize, is_static: bool) {
        let mut waiting = models;
        while !waiting.is_empty() {
            let names: HashSet<&str> =
                waiting.iter().filter_map(|member| attribute(member.model_node(), "name")).collect();
            let is_ready = |member: &Member| {
                let outer = scope.frames.model_around(member.model_node());
                outer
                    .is_none_or(|outer| !names.contains(outer) || attribute(member.model_node(), "name") == Some(outer))
            };
            let next = waiting.iter().position(is_ready).unwrap_or(0);
            match waiting.remove(next) {
                Member::Own(model) => self.read_model(model, at, scope, depth, (is_static, false)),
                Member::Included(Included { model, path, is_merged }) => {
                    self.open.push(path.clone());
                    self.read_model(model, at, scope, depth, (is_static, *is_merged));
                    self.open.pop();
                }
            }
        }
    }

    /// Reads a model in another one or in a world: static if that is, or by its own attribute. Its names have its own
    /// name as a prefix, unless it is merged.
    fn read_model(
        &mut self,
        node: &Node,
        around: &Pose,
        outer: &mut Scope,
        depth: usize,
        (in_static, is_merged): (bool, bool),
    ) {
        let name = attribute(node, "name").unwrap_or("model").to_owned();
        let mut pose = outer.frames.pose_of(self.reading, node, "__model__");
        let mut scope = Scope { frames: Frames::of_model(&name), ..Scope::default() };
        scope.links.insert("world".into(), WORLD);
        if let Some(frame) = attribute(node, "placement_frame") {
            // The pose is that of this frame, not of the model's own.
            pose = pose.then(&self.frame_in(node, frame).inverse());
        }
        let at = around.then(&pose);
        let first_joint = self.model.joints.len();
        let is_static = in_static || gazebo::text(node, "static").is_some_and(is_true);
        let outer_scope = self.scope.clone();
        if !is_merged {
            self.scope = if outer_scope.is_empty() { name.clone() } else { format!("{outer_scope}::{name}") };
        }
        self.read_members(node, &at, &mut scope, depth + 1, is_static);
        self.scope = outer_scope;
        if gazebo::text(node, "self_collide").is_some_and(is_true) {
            self.model.self_collision = true;
        }
        self.read_devices(node, &scope, first_joint);
        self.hand_out(node, scope, outer, &name, pose, is_merged);
    }

    /// The link that the own frame of a model is fixed to: the one that it names, or its first one.
    fn set_base(&self, node: &Node, scope: &mut Scope) {
        if scope.base.is_some() {
            return;
        }
        let named = attribute(node, "canonical_link").filter(|name| scope.links.contains_key(*name));
        let inner = scope.links.iter().filter(|(_, place)| **place != WORLD);
        let first = inner.min_by_key(|(name, place)| (**place, *name)).map(|(name, _)| name.clone());
        scope.base = named.map(str::to_owned).or(first);
    }

    /// The pose of a frame in a model whose members have not been read, or in a model in it.
    fn frame_in(&self, model: &Node, frame: &str) -> Pose {
        let mut inner = Frames::default();
        let stands = |child: &&Node| ["link", "frame", "joint", "model"].contains(&child.name.as_str());
        model.children.iter().filter(stands).for_each(|child| inner.define(self.reading, child));
        let nested = frame.split_once("::").and_then(|(name, rest)| {
            let is_it = |child: &&Node| child.name == "model" && attribute(child, "name") == Some(name);
            Some((name, model.children.iter().find(is_it)?, rest))
        });
        match nested {
            Some((name, nested, rest)) => inner.resolve(self.reading, model, name).then(&self.frame_in(nested, rest)),
            None => inner.resolve(self.reading, model, frame),
        }
    }

    /// Makes the names of a model known in the outer one.
    fn hand_out(&self, node: &Node, scope: Scope, outer: &mut Scope, name: &str, pose: Pose, is_merged: bool) {
        let named = |inner: &str| if is_merged { inner.to_owned() } else { format!("{name}::{inner}") };
        for (inner, at) in scope.frames.resolved() {
            let link = scope.link_of(&inner).map(named);
            if !outer.frames.set(&named(&inner), pose.then(&at), link) && is_merged {
                let message = format!("a model that is merged brings a second '{}'", shorten(&inner));
                self.reading.problem_with_help(node.offset, message, "include it without merge");
            }
        }
        outer.frames.lose_of(&scope.frames, named, is_merged);
        // The name of a model means its canonical link, or its first one.
        let canonical = scope.base.as_ref().and_then(|name| scope.links.get(name)).copied();
        if !is_merged {
            outer.frames.set(name, pose, None);
            outer.frames.set(&named(MODEL_FRAME), pose, scope.base.as_deref().map(named));
            outer.links.extend(canonical.map(|place| (name.to_owned(), place)));
        }
        for (inner, place) in scope.links.into_iter().filter(|(_, place)| *place != WORLD) {
            outer.links.insert(named(&inner), place);
        }
    }

    fn gazebo<'m>(&'m mut self, scope: &'m Scope, first_joint: usize) -> Gazebo<'m, 'r, 'a> {
        let Self { reading, notes, model, .. } = self;
        Gazebo { reading, notes, model, links: &scope.links, world: Some(WORLD), first_joint }
    }

    /// Reads the sensors and joint drives of a model, from a given joint on.
    fn read_devices(&mut self, node: &Node, scope: &Scope, first_joint: usize) {
        for link in node.children.iter().filter(|child| child.name == "link") {
            let name = attribute(link, "name").unwrap_or_default();
            let place = scope.links.get(name).copied().unwrap_or_default();
            for sensor in link.children.iter().filter(|child| child.name == "sensor") {
                let pose = scope.frames.pose_in_link(self.reading, sensor, name);
                self.gazebo(scope, first_joint).read_link_sensor(sensor, place, pose);
            }
        }
        for joint in node.children.iter().filter(|child| child.name == "joint") {
            let name = attribute(joint, "name").unwrap_or_default();
            let place = (first_joint..self.model.joints.len()).find(|&place| self.model.joints[place].name == name);
            for sensor in joint.children.iter().filter(|child| child.name == "sensor") {
                self.gazebo(scope, first_joint).read_joint_sensor(sensor, place);
            }
        }
        let plugins = node.children.iter().filter(|child| child.name == "plugin");
        let (labels, plugins): (Vec<&Node>, _) =
            plugins.partition(|plugin| gazebo::class_label(self.reading, plugin).is_some());
        if let Some(class) = labels.first().and_then(|plugin| gazebo::class_label(self.reading, plugin)) {
            for &place in scope.links.values().filter(|place| **place != WORLD) {
                let link = &mut self.model.links[place];
                link.class = if link.class == 0 { class } else { link.class };
            }
        }
        let drives: Vec<bool> =
            plugins.into_iter().map(|plugin| self.gazebo(scope, first_joint).read_plugin(plugin)).collect();
        if drives.contains(&true) {
            return;
        }
        // As for a URDF file, every joint can be driven if the file does not name the driven ones.
        for joint in self.model.joints[first_joint..]
            .iter_mut()
            .filter(|joint| [Motion::Turning, Motion::Sliding].contains(&joint.motion))
        {
            let kind = if joint.limits.is_some() { DriveKind::Position } else { DriveKind::Velocity };
            joint.drive.get_or_insert(Drive { kind, gains: None, name: None, offset: joint.offset });
        }
    }

    /// Lets links without a joint float, or fixes them if their model is static.
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
}
