//! `<compiler>`: reading options of a file.

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_model::Pose;

use super::super::attributes::{attribute, number, numbers};
use crate::{
    text::numbers::shorten,
    xml::{node::Node, reading::Reading},
};

/// The settings of a file.
#[derive(Debug)]
pub(super) struct Compiler {
    in_radians: bool,
    /// The axes of Euler angles: lower-case ones rotate with the frame, upper-case ones are fixed.
    euler_axes: [char; 3],
    mesh_folder: String,
    texture_folder: String,
    strips_paths: bool,
    /// True if a range implies a limit.
    auto_limits: bool,
    /// Inertia from geoms: always, never, or without `<inertial>` only.
    pub(super) inertia_from_geoms: Option<bool>,
    /// Groups of geoms that count for inertia.
    pub(super) inertia_groups: [f64; 2],
    pub(super) balances_inertia: bool,
    pub(super) least_mass: f64,
    pub(super) least_inertia: f64,
    pub(super) total_mass: Option<f64>,
}

impl Default for Compiler {
    fn default() -> Self {
        Self {
            in_radians: false,
            euler_axes: ['x', 'y', 'z'],
            mesh_folder: String::new(),
            texture_folder: String::new(),
            strips_paths: false,
            auto_limits: true,
            inertia_from_geoms: None,
            inertia_groups: [0.0, 5.0],
            balances_inertia: false,
            least_mass: 0.0,
            least_inertia: 0.0,
            total_mass: None,
        }
    }
}

impl Compiler {
    /// The settings of all `<compiler>` elements of a file, the later ones first.
    pub(super) fn read(reading: &Reading, root: &Node) -> Self {
        let mut compiler = Self::default();
        for node in root.children.iter().filter(|child| child.name == "compiler") {
            compiler.read_attributes(reading, node);
        }
        compiler
    }

    fn read_attributes(&mut self, reading: &Reading, node: &Node) {
        let word = |name: &str, words: &[&str]| -> Option<usize> {
            let value = attribute(node, name)?;
            let found = words.iter().position(|word| *word == value);
            if found.is_none() {
                let message = format!("attribute '{name}': expected {}, got '{}'", words.join(" or "), shorten(value));
                reading.problem(reading.attribute_offset(node, name), message);
            }
            found
        };
        let flag = |name: &str| word(name, &["false", "true"]).map(|value| value == 1);
        if let Some(unit) = word("angle", &["degree", "radian"]) {
            self.in_radians = unit == 1;
        }
        if word("coordinate", &["local", "global"]) == Some(1) {
            let help = "MuJoCo has dropped them, too: load and save the file with a version before 2.3.4";
            reading.problem_with_help(
                reading.attribute_offset(node, "coordinate"),
                "global coordinates are not read",
                help,
            );
        }
        if let Some(axes) = attribute(node, "eulerseq") {
            match <[char; 3]>::try_from(axes.chars().collect::<Vec<_>>()) {
                Ok(axes) if axes.iter().all(|axis| "xyzXYZ".contains(*axis)) => self.euler_axes = axes,
                _ => {
                    let message = format!("attribute 'eulerseq': expected three of xyzXYZ, got '{}'", shorten(axes));
                    reading.problem(reading.attribute_offset(node, "eulerseq"), message);
                }
            }
        }
        if let Some(folder) = attribute(node, "meshdir").or(attribute(node, "assetdir")) {
            self.mesh_folder = folder.to_owned();
        }
        if let Some(folder) = attribute(node, "texturedir").or(attribute(node, "assetdir")) {
            self.texture_folder = folder.to_owned();
        }
        self.strips_paths = flag("strippath").unwrap_or(self.strips_paths);
        self.auto_limits = flag("autolimits").unwrap_or(self.auto_limits);
        if let Some(choice) = word("inertiafromgeom", &["false", "true", "auto"]) {
            self.inertia_from_geoms = [Some(false), Some(true), None][choice];
        }
        if let Some(range) = numbers::<2>(reading, node, "inertiagrouprange") {
            self.inertia_groups = range;
        }
        self.balances_inertia = flag("balanceinertia").unwrap_or(self.balances_inertia);
        self.least_mass = number(reading, node, "boundmass").unwrap_or(self.least_mass);
        self.least_inertia = number(reading, node, "boundinertia").unwrap_or(self.least_inertia);
        self.total_mass = number(reading, node, "settotalmass").filter(|mass| *mass > 0.0).or(self.total_mass);
    }

    /// An angle of the file in radians.
    pub(super) fn angle(&self, angle: f64) -> f64 {
        if self.in_radians { angle } else { angle.to_radians() }
    }

    /// The path of a mesh file, seen from the main file's folder.
    pub(super) fn mesh_path(&self, file: &str) -> String {
        self.path_in(&self.mesh_folder, file)
    }

    /// The path of an image, likewise.
    pub(super) fn texture_path(&self, file: &str) -> String {
        self.path_in(&self.texture_folder, file)
    }

    fn path_in(&self, folder: &str, file: &str) -> String {
        let file = if self.strips_paths { file.rsplit(['/', '\\']).next().unwrap_or(file) } else { file };
        if folder.is_empty() || file.starts_with('/') {
            return file.to_owned();
        }
        format!("{}/{file}", folder.trim_end_matches('/'))
    }

    /// True if a joint or actuator is limited by its range.
    pub(super) fn is_limited(&self, reading: &Reading, node: &Node, flag: &str, range: &str) -> bool {
        match attribute(node, flag) {
            Some("true") => true,
            Some("false") => false,
            Some("auto") | None => self.auto_limits && attribute(node, range).is_some(),
            Some(other) => {
                let message = format!("attribute '{flag}': expected true, false or auto, got '{}'", shorten(other));
                reading.problem(reading.attribute_offset(node, flag), message);
                false
            }
        }
    }

    /// Pose of an element, in the surrounding frame.
    pub(super) fn pose(&self, reading: &Reading, node: &Node) -> Pose {
        let translation = numbers::<3>(reading, node, "pos").map_or(DVec3::ZERO, DVec3::from_array);
        Pose { translation, rotation: self.rotation(reading, node) }
    }

    /// Rotation of an element; the identity without one.
    pub(super) fn rotation(&self, reading: &Reading, node: &Node) -> DQuat {
        let ways = ["quat", "axisangle", "euler", "xyaxes", "zaxis"];
        let mut given = ways.into_iter().filter(|way| attribute(node, way).is_some());
        let Some(way) = given.next() else { return DQuat::IDENTITY };
        if let Some(second) = given.next() {
            let message = format!("'{way}' and '{second}' both say how <{}> is turned; leave one out", node.name);
            reading.problem(reading.attribute_offset(node, second), message);
        }
        let turn = match way {
            "quat" => numbers::<4>(reading, node, way).map(|[w, x, y, z]| DQuat::from_xyzw(x, y, z, w)),
            "axisangle" => numbers::<4>(reading, node, way)
                .and_then(|[x, y, z, angle]| Some(about(DVec3::new(x, y, z).try_normalize()?, self.angle(angle)))),
            "euler" => numbers::<3>(reading, node, way).map(|angles| self.euler(angles)),
            "xyaxes" => numbers::<6>(reading, node, way).and_then(|axes| {
                let x = DVec3::from_slice(&axes[..3]).try_normalize()?;
                let y = DVec3::from_slice(&axes[3..]);
                let y = (y - x * x.dot(y)).try_normalize()?;
                Some(Pose::from_matrix(DMat3::from_cols(x, y, x.cross(y)), DVec3::ZERO).rotation)
            }),
            _ => {
                numbers::<3>(reading, node, way).and_then(|axis| Some(from_z(DVec3::from_array(axis).try_normalize()?)))
            }
        };
        match turn.filter(|turn| turn.length_squared() > 1e-30) {
            Some(turn) => turn.normalize(),
            None => {
                if reading.is_sound() {
                    reading.problem(
                        reading.attribute_offset(node, way),
                        format!("attribute '{way}' is no rotation: its axis has no length"),
                    );
                }
                DQuat::IDENTITY
            }
        }
    }

    /// The rotation of three Euler angles in sequence.
    pub(super) fn euler(&self, angles: [f64; 3]) -> DQuat {
        self.euler_axes.into_iter().zip(angles).fold(DQuat::IDENTITY, |turn, (axis, angle)| {
            let vector = match axis.to_ascii_lowercase() {
                'x' => DVec3::X,
                'y' => DVec3::Y,
                _ => DVec3::Z,
            };
            let next = about(vector, self.angle(angle));
            if axis.is_ascii_lowercase() { turn * next } else { next * turn }
        })
    }
}

/// The turn by an angle about a unit vector, with the same bits everywhere.
pub(in crate::xml) fn about(axis: DVec3, angle: f64) -> DQuat {
    let (sine, cosine) = libm::sincos(0.5 * angle);
    DQuat::from_xyzw(axis.x * sine, axis.y * sine, axis.z * sine, cosine)
}

/// The shortest turn of the z axis to a unit vector.
pub(super) fn from_z(axis: DVec3) -> DQuat {
    let across = DVec3::Z.cross(axis);
    match across.try_normalize() {
        Some(unit) => about(unit, libm::atan2(across.length(), axis.z)),
        None if axis.z < 0.0 => DQuat::from_xyzw(1.0, 0.0, 0.0, 0.0),
        None => DQuat::IDENTITY,
    }
}
