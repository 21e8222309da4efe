//! Sensors.

use bevy_math::DQuat;
use simpartner_model::Pose;
use simpartner_wire::signal::DeviceKind;

use super::{
    super::{
        attributes::{attribute, number},
        model::{Device, Motion, Mount},
        scene::WORLD,
    },
    importer::Mjcf,
};
use crate::{text::numbers::shorten, xml::node::Node};

/// Sensors on a site: our word and the frame it reads in.
const ON_SITES: [(&str, DeviceKind, Option<&str>); 6] = [
    ("accelerometer", DeviceKind::Accelerometer, None),
    ("gyro", DeviceKind::Gyroscope, None),
    ("velocimeter", DeviceKind::VelocitySensor, Some("sensor")),
    ("rangefinder", DeviceKind::DistanceSensor, None),
    ("magnetometer", DeviceKind::MagnetometerSensor, None),
    ("touch", DeviceKind::BumperSensor, None),
];
/// Sensors on an object of any kind.
const ON_OBJECTS: [(&str, DeviceKind); 4] = [
    ("framepos", DeviceKind::PositionSensor),
    ("framequat", DeviceKind::PoseSensor),
    ("framelinvel", DeviceKind::VelocitySensor),
    ("frameangvel", DeviceKind::VelocitySensor),
];
/// Sensors whose values the encoder and the drive of each joint have already.
const OF_JOINTS: [&str; 6] = ["jointpos", "jointvel", "ballquat", "ballangvel", "actuatorpos", "actuatorvel"];

impl Mjcf<'_, '_> {
    /// Reads actuators and sensors.
    pub(super) fn read_devices(&mut self, root: &Node) {
        let of = |name: &'static str| {
            root.children.iter().filter(move |child| child.name == name).flat_map(|section| &section.children)
        };
        for node in of("actuator") {
            self.read_actuator(&self.resolve(node, None), root);
        }
        for node in of("sensor") {
            self.read_sensor(node);
        }
    }

    fn read_sensor(&mut self, node: &Node) {
        let tag = node.name.as_str();
        if OF_JOINTS.contains(&tag) {
            return;
        }
        let name =
            attribute(node, "name").map_or_else(|| format!("{tag}_{}", self.model.devices.len() + 1), str::to_owned);
        let mut attributes = Vec::new();
        let (kind, mount) = if let Some((_, kind, frame)) = ON_SITES.iter().find(|(known, ..)| *known == tag) {
            if tag == "rangefinder" && attribute(node, "camera").is_some() {
                let meaning = "no ray goes through each pixel; a DepthCamera measures them all";
                return self.notes.add(node.offset, "a <rangefinder> of a camera is left out", meaning);
            }
            let Some((link, mut pose)) = self.resolve_name(node, "site", "site", &self.sites) else { return };
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
                Some(mount) => (DeviceKind::ForceTorqueSensor, mount),
                None => return,
            }
        } else {
            let meaning = "no sensor here reads that; the log may have it";
            return self.notes.add(node.offset, format!("<{tag}> of <sensor> is left out"), meaning);
        };
        self.model.devices.push(Device {
            kind,
            name,
            offset: node.offset,
            mount,
            attributes,
            noise: Vec::new(),
            parts: Vec::new(),
        });
    }

    /// The link and pose of the object that a sensor is about.
    fn object(&self, node: &Node) -> Option<(usize, Pose)> {
        let kind = attribute(node, "objtype").unwrap_or("body");
        match kind {
            "site" => self.resolve_name(node, "objname", "site", &self.sites),
            "xbody" => self.resolve_name(node, "objname", "body", &self.bodies).map(|link| (link, Pose::IDENTITY)),
            "body" => {
                let link = self.resolve_name(node, "objname", "body", &self.bodies)?;
                let centre = self.model.links[link].mass.map_or(bevy_math::DVec3::ZERO, |mass| mass.centre);
                Some((link, Pose { translation: centre, rotation: DQuat::IDENTITY }))
            }
            "geom" => self.resolve_name(node, "objname", "geom", &self.geoms).map(|link| (link, Pose::IDENTITY)),
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

    /// The joint that carries the body of a site, through which its force and torque act.
    fn joint_of_site(&mut self, node: &Node) -> Option<Mount> {
        let (link, _) = self.resolve_name(node, "site", "site", &self.sites)?;
        let place = self.model.joints.iter().position(|joint| joint.child == link && joint.motion != Motion::Free);
        let joints = &mut self.model.joints;
        let is_there = |place: &usize| joints[*place].motion != Motion::Fixed || joints[*place].parent != WORLD;
        let Some(place) = place.filter(is_there) else {
            let what = format!("<{}> on a body without a joint is left out", node.name);
            self.notes.add(node.offset, what, "a force and torque sensor sits on a joint");
            return None;
        };
        joints[place].keeps_links = true;
        let what = format!("<{}> reads force and torque at the joint, in the axes of the child", node.name);
        self.notes.add(node.offset, what, "not at its site");
        Some(Mount::Joint(place))
    }
}
