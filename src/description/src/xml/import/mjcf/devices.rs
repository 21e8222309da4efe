//! Actuators and sensors.

use bevy_math::DQuat;
use simpartner_model::Pose;

use super::{
    super::{
        super::{reading::shorten, tree::Node},
        attributes::{attribute, number, numbers},
        model::{Drive, DriveKind, Motion, Mount, Sensor},
    },
    Mjcf,
    defaults::ACTUATORS,
};

/// Sensors on a site: our word and the frame it reads in.
const ON_SITES: [(&str, &str, Option<&str>); 6] = [
    ("accelerometer", "Accelerometer", None),
    ("gyro", "Gyroscope", None),
    ("velocimeter", "VelocitySensor", Some("sensor")),
    ("rangefinder", "DistanceSensor", None),
    ("magnetometer", "CompassSensor", None),
    ("touch", "BumperSensor", None),
];
/// Sensors on an object of any kind.
const ON_OBJECTS: [(&str, &str); 4] = [
    ("framepos", "PositionSensor"),
    ("framequat", "PoseSensor"),
    ("framelinvel", "VelocitySensor"),
    ("frameangvel", "VelocitySensor"),
];
/// What the encoder and the drive of each joint tell anyway.
const OF_JOINTS: [&str; 6] = ["jointpos", "jointvel", "ballquat", "ballangvel", "actuatorpos", "actuatorvel"];

impl Mjcf<'_, '_> {
    /// What drives joints, and what measures.
    pub(super) fn read_devices(&mut self, root: &Node) {
        let of = |name: &'static str| {
            root.children.iter().filter(move |child| child.name == name).flat_map(|section| &section.children)
        };
        for node in of("actuator") {
            self.read_actuator(&self.resolve(node, None));
        }
        for node in of("sensor") {
            self.read_sensor(node);
        }
    }

    fn read_actuator(&mut self, node: &Node) {
        let name = node.name.as_str();
        if !ACTUATORS.contains(&name) {
            return self.notes.add(
                node.offset,
                format!("<{name}> of <actuator> is left out"),
                "nothing exerts its force",
            );
        }
        if attribute(node, "joint").or(attribute(node, "jointinparent")).is_none() {
            let on = ["tendon", "site", "slidersite", "cranksite", "body"]
                .into_iter()
                .find(|on| attribute(node, on).is_some());
            let what = format!("an actuator on a {} is left out", on.unwrap_or("joint without a name"));
            return self.notes.add(node.offset, what, "an actuator here drives a joint");
        }
        let on = if attribute(node, "joint").is_some() { "joint" } else { "jointinparent" };
        let Some(place) = self.named(node, on, "joint", &self.joints) else { return };
        let Some(kind) = self.drive_kind(node) else {
            let what = format!("an actuator <{name}> is left out");
            return self.notes.add(
                node.offset,
                what,
                "nothing exerts its force; ours take an effort, a velocity or a position",
            );
        };
        let motion = self.model.joints[place].motion;
        if ![Motion::Turning, Motion::Sliding].contains(&motion) {
            return self.notes.add(node.offset, "an actuator on a ball or free joint is left out", "nothing drives it");
        }
        if self.model.joints[place].drive.is_some() {
            return self.notes.add(node.offset, "a second actuator on a joint is left out", "the first one drives it");
        }
        let gear = numbers::<1>(self.reading, &first_only(node, "gear"), "gear").map_or(1.0, |[gear]| gear.abs());
        let strongest = |flag: &str, range: &str| {
            let is_limited = self.compiler.is_limited(self.reading, node, flag, range);
            let bounds = numbers::<2>(self.reading, node, range).filter(|_| is_limited)?;
            Some(bounds[0].abs().max(bounds[1].abs()) * gear).filter(|effort| *effort > 0.0)
        };
        let gain = numbers::<1>(self.reading, &first_only(node, "gainprm"), "gainprm").map_or(1.0, |[gain]| gain.abs());
        let by_control = (kind == DriveKind::Effort)
            .then(|| strongest("ctrllimited", "ctrlrange"))
            .flatten()
            .map(|effort| effort * gain);
        let bounds = [strongest("forcelimited", "forcerange"), by_control, self.model.joints[place].max_effort];
        let joint = &mut self.model.joints[place];
        joint.max_effort = bounds.into_iter().flatten().reduce(f64::min);
        joint.drive = Some(Drive { kind, name: attribute(node, "name").map(str::to_owned), offset: node.offset });
    }

    /// What an actuator is told: by its name, or of a general one by its law.
    fn drive_kind(&self, node: &Node) -> Option<DriveKind> {
        let gain = |name: &str| {
            attribute(node, name).map_or(Vec::new(), |text| {
                text.split_whitespace().filter_map(|word| word.parse::<f64>().ok()).collect()
            })
        };
        let tell = |name: &str, meaning| {
            if attribute(node, name).is_some() {
                self.notes.add(self.reading.place(node, name), format!("'{name}' of an actuator is left out"), meaning);
            }
        };
        let held = "a position is held as stiffly as the effort allows";
        match node.name.as_str() {
            "motor" => Some(DriveKind::Effort),
            "position" | "intvelocity" => {
                ["kp", "kv", "dampratio"].into_iter().for_each(|name| tell(name, held));
                Some(DriveKind::Position)
            }
            "velocity" => {
                tell("kv", "a velocity is kept as stiffly as the effort allows");
                Some(DriveKind::Velocity)
            }
            "general" => {
                if attribute(node, "dyntype").is_some_and(|kind| kind != "none") {
                    self.notes.add(
                        self.reading.place(node, "dyntype"),
                        "'dyntype' of an actuator is left out",
                        "it acts at once",
                    );
                }
                match attribute(node, "biastype").unwrap_or("none") {
                    "none" => Some(DriveKind::Effort),
                    "affine" => {
                        let bias = gain("biasprm");
                        let at = |index: usize| bias.get(index).copied().unwrap_or(0.0);
                        tell("biasprm", held);
                        Some(if at(1) != 0.0 {
                            DriveKind::Position
                        } else if at(2) != 0.0 {
                            DriveKind::Velocity
                        } else {
                            DriveKind::Effort
                        })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn read_sensor(&mut self, node: &Node) {
        let tag = node.name.as_str();
        if OF_JOINTS.contains(&tag) {
            return;
        }
        let name =
            attribute(node, "name").map_or_else(|| format!("{tag}_{}", self.model.sensors.len() + 1), str::to_owned);
        let mut attributes = Vec::new();
        let (kind, mount) = if let Some((_, kind, frame)) = ON_SITES.iter().find(|(known, ..)| *known == tag) {
            let Some((link, mut pose)) = self.named(node, "site", "site", &self.sites) else { return };
            attributes.extend(frame.map(|frame| ("frame", frame.to_owned())));
            match tag {
                "touch" => {
                    self.notes.add(
                        node.offset,
                        "<touch> reads the whole body",
                        "not only what touches inside of its site",
                    );
                    pose = Pose::IDENTITY;
                }
                "rangefinder" => {
                    let range = number(self.reading, node, "cutoff").filter(|range| *range > 0.0).unwrap_or(1000.0);
                    attributes.push(("range", range.to_string()));
                }
                _ => {}
            }
            (*kind, Mount::Link { link, pose })
        } else if let Some((_, kind)) = ON_OBJECTS.iter().find(|(known, _)| *known == tag) {
            let Some((link, pose)) = self.object(node) else { return };
            if attribute(node, "reftype").is_some() {
                self.notes.add(node.offset, "'reftype' of a sensor is left out", "it reads in the world's frame");
            }
            (*kind, Mount::Link { link, pose })
        } else if ["force", "torque"].contains(&tag) {
            match self.joint_of_site(node) {
                Some(mount) => ("ForceTorqueSensor", mount),
                None => return,
            }
        } else {
            let meaning = "no sensor here reads that; the log may have it";
            return self.notes.add(node.offset, format!("<{tag}> of <sensor> is left out"), meaning);
        };
        self.model.sensors.push(Sensor { kind, name, offset: node.offset, mount, attributes, noise: Vec::new() });
    }

    /// The link and pose of the object that a sensor is about.
    fn object(&self, node: &Node) -> Option<(usize, Pose)> {
        let kind = attribute(node, "objtype").unwrap_or("body");
        match kind {
            "site" => self.named(node, "objname", "site", &self.sites),
            "xbody" => self.named(node, "objname", "body", &self.bodies).map(|link| (link, Pose::IDENTITY)),
            "body" => {
                let link = self.named(node, "objname", "body", &self.bodies)?;
                let centre = self.model.links[link].mass.map_or(bevy_math::DVec3::ZERO, |mass| mass.centre);
                Some((link, Pose { translation: centre, rotation: DQuat::IDENTITY }))
            }
            "geom" => self.named(node, "objname", "geom", &self.geoms).map(|link| (link, Pose::IDENTITY)),
            other => {
                self.notes.add(
                    node.offset,
                    format!("a sensor of a {} is left out", shorten(other)),
                    "no sensor here reads that",
                );
                None
            }
        }
    }

    /// The joint that carries the body of a site: what its force and torque go through.
    fn joint_of_site(&self, node: &Node) -> Option<Mount> {
        let (link, _) = self.named(node, "site", "site", &self.sites)?;
        let place = self.model.joints.iter().position(|joint| joint.child == link && joint.motion != Motion::Free);
        let moves = |place: &usize| self.model.joints[*place].motion != Motion::Fixed;
        let Some(place) = place.filter(moves) else {
            let what = format!("<{}> on a body without a joint is left out", node.name);
            self.notes.add(node.offset, what, "a force and torque sensor sits on a joint");
            return None;
        };
        let what = format!("<{}> reads force and torque at the joint, in the axes of the child", node.name);
        self.notes.add(node.offset, what, "not at its site");
        Some(Mount::Joint(place))
    }
}

/// The element with only the first number in an attribute.
fn first_only(node: &Node, name: &str) -> Node {
    let mut only = node.clone();
    for given in only.attributes.iter_mut().filter(|given| given.name == name) {
        given.value = given.value.split_whitespace().next().unwrap_or_default().to_owned();
    }
    only
}
