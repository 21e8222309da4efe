//! MJCF, the models of MuJoCo: a tree of bodies in a world, z up.
//!
//! | module | reads |
//! |---|---|
//! | `include` | `<include>`: one tree from several files |
//! | `compiler`, `defaults` | `<compiler>`, `<default>`: how everything else is meant |
//! | `body` | `<body>`, `<frame>`, `<replicate>`, `<site>`: links and their frames |
//! | `joint` | `<joint>`, `<freejoint>` |
//! | `geom`, `assets`, `builtin_mesh` | `<geom>`, `<inertial>`, `<mesh>`, `<hfield>`: shapes and masses |
//! | `contacts` | `<contact>`, and how soft contacts are |
//! | `relations`, `springs` | `<equality>`, `<tendon>`, `<keyframe>` |
//! | `actuators`, `devices`, `cameras` | `<actuator>`, `<sensor>`, `<camera>` |

mod actuators;
mod assets;
mod body;
mod builtin_mesh;
mod cameras;
mod compiler;
mod contacts;
mod defaults;
mod devices;
mod geom;
mod importer;
mod include;
mod joint;
mod lights;
mod materials;
mod relations;
mod springs;

use std::{cell::RefCell, collections::HashMap};

use bevy_math::DVec3;

pub(in crate::xml) use self::compiler::about;
use self::{
    compiler::Compiler,
    defaults::Defaults,
    importer::{Assets, Mjcf},
};
use super::{
    super::{node::Node, reading::Reading},
    attributes::{attribute, number, numbers},
    model::{Link, Model},
    omissions::Omissions,
    options::ImportOptions,
    scene::{Geography, Scene, WORLD},
};
use crate::text::tree::child;

/// The root element.
pub(super) const ROOT: &str = "mujoco";
/// Help for a file without bodies and geoms.
const EMPTY_HELP: &str =
    "a model has bodies or geoms in its <worldbody>; an included part has to be read by way of the whole";
/// MuJoCo's default gravity, m/s².
const MUJOCO_GRAVITY: DVec3 = DVec3::new(0.0, 0.0, -9.81);

/// Reads a file.
pub(super) fn read(reading: &Reading, mut roots: Vec<Node>, options: &ImportOptions) -> Option<Scene> {
    let mut root = roots.swap_remove(0);
    if root.name != ROOT {
        reading.problem(root.offset, format!("an MJCF file holds <{ROOT}>, this one <{}>", root.name));
        return None;
    }
    include::expand(reading, &mut root);
    let world = Link { name: "world".into(), offset: root.offset, ..Link::default() };
    let name = attribute(&root, "model").unwrap_or("mujoco").to_owned();
    let model =
        Model { name, offset: root.offset, links: vec![world], root: WORLD, self_collision: true, ..Model::default() };
    let mut mjcf = Mjcf {
        reading,
        compiler: Compiler::read(reading, &root),
        defaults: Defaults::read(reading, &root),
        assets: Assets::default(),
        model,
        collides: !is_disabled(&root, "contact"),
        has_torsional: contacts::have_torsional(&root),
        ground: None,
        terrain: None,
        bodies: HashMap::from([("world".to_owned(), WORLD)]),
        geoms: HashMap::new(),
        sites: HashMap::new(),
        paired: contacts::paired(&root),
        colliders: HashMap::new(),
        joints: HashMap::new(),
        order: Vec::new(),
        cameras: Vec::new(),
        notes: Omissions::default(),
        spring_dampers: Vec::new(),
        lost: RefCell::default(),
    };
    mjcf.assets = mjcf.read_assets(&root);
    for section in root.children.iter().filter(|child| child.name == "worldbody") {
        mjcf.read_world(section);
    }
    mjcf.set_total_mass();
    mjcf.set_spring_dampers();
    mjcf.read_contacts(&root);
    mjcf.read_relations(&root);
    mjcf.read_devices(&root);
    mjcf.mount_cameras();
    mjcf.read_keyframe(&root, options.keyframe.as_deref());
    let gravity = mjcf.read_options(&root);
    mjcf.tell_other_sections(&root);
    let lights = mjcf.read_lights(&root);
    let geography = mjcf.read_geography(&root);
    mjcf.tell_emptiness(&root);
    if !reading.is_sound() {
        return None;
    }
    let Mjcf { mut model, ground, terrain, notes, .. } = mjcf;
    notes.report(reading);
    if !options.keep_fixed_joints {
        model.merge_fixed(Some(WORLD));
    }
    let scene = Scene::split(reading, model, options.fixed_base);
    Some(Scene { ground, terrain, lights, gravity: Some(gravity), geography, ..scene })
}

impl Mjcf<'_, '_> {
    /// Tells of a file without anything to simulate: a problem if it has no elements, else a warning.
    fn tell_emptiness(&self, root: &Node) {
        let what = "the file has nothing to simulate";
        if root.children.is_empty() && self.reading.is_sound() {
            self.reading.problem_with_help(root.offset, what, EMPTY_HELP);
        } else if self.model.links.len() == 1 && self.ground.is_none() && self.terrain.is_none() {
            self.reading.warn(root.offset, what.into(), format!("the world is empty; {EMPTY_HELP}"));
        }
    }

    /// Scales all masses to the total mass of the compiler settings.
    fn set_total_mass(&mut self) {
        let Some(wanted) = self.compiler.total_mass else { return };
        let masses = self.model.links.iter_mut().filter_map(|link| link.mass.as_mut());
        let scale = wanted / masses.map(|mass| mass.mass).sum::<f64>();
        for mass in self.model.links.iter_mut().filter_map(|link| link.mass.as_mut()).filter(|_| scale.is_finite()) {
            mass.mass *= scale;
            mass.tensor *= scale;
        }
    }

    /// Reads gravity, and reports other attributes of `<option>`.
    fn read_options(&self, root: &Node) -> DVec3 {
        let mut gravity = MUJOCO_GRAVITY;
        for node in root.children.iter().filter(|child| child.name == "option") {
            gravity = numbers::<3>(self.reading, node, "gravity").map_or(gravity, DVec3::from_array);
            for name in ["timestep", "density", "viscosity", "wind"] {
                let is_zero = number_is_zero(self.reading, node, name);
                if attribute(node, name).is_some() && !is_zero {
                    let meaning = match name {
                        "timestep" => "the setting simulation.timestep_s has the run's, 1 ms where it is not given",
                        _ => "no body is in a fluid",
                    };
                    self.notes.add(
                        self.reading.attribute_offset(node, name),
                        format!("'{name}' of <option> is left out"),
                        meaning,
                    );
                }
            }
        }
        if is_disabled(root, "gravity") { DVec3::ZERO } else { gravity }
    }

    /// The magnetic field, if the file has one and something measures it. MuJoCo has no unit for it.
    fn read_geography(&self, root: &Node) -> Geography {
        let options = root.children.iter().filter(|child| child.name == "option");
        let given = options.filter_map(|node| numbers::<3>(self.reading, node, "magnetic")).next_back();
        let magnetic_field = given.map(DVec3::from_array).filter(|_| self.model.measures_field());
        if magnetic_field.is_none() && self.model.measures_field() {
            let meaning = "the field of MuJoCo's worlds without 'magnetic' is 0 -0.5 0, without a unit";
            self.notes.add(root.offset, "a magnetometer measures the field of the earth", meaning);
        }
        Geography { magnetic_field, ..Geography::default() }
    }

    /// Sections that the simulation does without.
    fn tell_other_sections(&self, root: &Node) {
        const READ_SECTIONS: [&str; 11] = [
            "compiler",
            "default",
            "option",
            "asset",
            "worldbody",
            "contact",
            "equality",
            "tendon",
            "actuator",
            "sensor",
            "keyframe",
        ];
        const SILENT_SECTIONS: [&str; 4] = ["size", "visual", "statistic", "custom"];
        for node in &root.children {
            let name = node.name.as_str();
            if READ_SECTIONS.contains(&name) || SILENT_SECTIONS.contains(&name) {
                continue;
            }
            let meaning = match name {
                "deformable" => "only rigid bodies are simulated",
                "extension" => "what plugins of MuJoCo do is not simulated",
                _ => "nothing of it is simulated",
            };
            self.notes.add(node.offset, format!("<{name}> is left out"), meaning);
        }
    }
}

/// True if a flag of the options switches a feature off.
fn is_disabled(root: &Node, flag: &str) -> bool {
    let options = root.children.iter().filter(|child| child.name == "option");
    options.filter_map(|option| child(option, "flag")).any(|flags| attribute(flags, flag) == Some("disable"))
}

fn number_is_zero(reading: &Reading, node: &Node, name: &str) -> bool {
    match name {
        "wind" => numbers::<3>(reading, node, name).is_some_and(|wind| wind == [0.0; 3]),
        _ => number(reading, node, name) == Some(0.0),
    }
}
