//! `<plugin>`: common plugins become devices, by their names in all versions of Gazebo and its bridges to ROS.

use simpartner_model::Pose;
use simpartner_wire::signal::DeviceKind;

use super::{
    super::{
        attributes::attribute,
        model::{Device, Drive, DriveKind, Mimic, Motion, Mount, Noise},
    },
    Gazebo,
    fluids::{FLUID_PLUGINS, FluidPlugin},
    number,
    plugin_table::{DEVICE_PLUGINS, DRIVE_PLUGINS, Driven, JOINT_NAME, LEFT_OUT_PLUGINS, SILENT_PLUGINS},
    text,
};
use crate::{
    ServoGains,
    text::{numbers::shorten, tree::child},
    xml::node::Node,
};

const ON_LINK: [&str; 5] = ["bodyName", "body_name", "frameName", "link_name", "linkName"];
const ON_JOINT: [&str; 2] = ["jointName", "joint_name"];

/// Elements of controllers that ours do not have, and what that means.
const LEFT_OUT_GAINS: [(&str, &str); 3] = [
    ("d_gain", "an effort does not depend on the acceleration"),
    ("i_max", "the integral grows until the effort is at its limit"),
    ("i_min", "the integral grows until the effort is at its limit"),
];

impl Gazebo<'_, '_, '_> {
    /// Reads a plugin of a model. True if it drives joints, which then have their drives.
    pub(in super::super) fn read_plugin(&mut self, node: &Node) -> bool {
        let names = [attribute(node, "filename"), attribute(node, "name")].map(simplified);
        let is = |part: &str| names.iter().any(|name| name.contains(&part.to_ascii_lowercase()));
        if let Some((_, driven, vehicle)) = DRIVE_PLUGINS.iter().find(|(part, ..)| is(part)) {
            if !vehicle.is_some_and(|kind| self.add_vehicle(node, kind)) {
                self.drive(node, driven, names.iter().any(|name| name.contains("trajectory")));
            }
            return true;
        }
        let fluid = FLUID_PLUGINS.iter().find(|(part, ..)| is(part)).filter(|_| !is("Advanced") && !is("Engine"));
        if fluid.is_some_and(|(_, plugin, _)| self.read_fluid_plugin(node, *plugin)) {
            return false;
        }
        if is("MimicJoint") {
            self.read_coupling(node);
        } else if let Some((_, kind)) = DEVICE_PLUGINS.iter().find(|(part, _)| is(part)) {
            self.read_device_plugin(node, *kind);
        } else {
            self.tell_plugin(node);
        }
        false
    }

    /// Reads a plugin of a world: that of the water, or one that is left out.
    pub(in super::super) fn read_world_plugin(&mut self, node: &Node) {
        let names = [attribute(node, "filename"), attribute(node, "name")].map(simplified);
        let is_buoyancy = |name: &String| name.ends_with("buoyancy");
        match names.iter().any(is_buoyancy) {
            true => drop(self.read_fluid_plugin(node, FluidPlugin::Buoyancy)),
            false => self.tell_plugin(node),
        }
    }

    /// Warns of a plugin that is left out, unless the server does its work anyway.
    pub(in super::super) fn tell_plugin(&self, node: &Node) {
        let given = [attribute(node, "filename"), attribute(node, "name")];
        let names = given.map(simplified);
        if SILENT_PLUGINS.iter().any(|end| names[0].ends_with(&end.to_ascii_lowercase())) {
            return;
        }
        let is = |part: &str| names.iter().any(|name| name.contains(&part.to_ascii_lowercase()));
        let known = LEFT_OUT_PLUGINS.iter().find(|(part, _)| is(part));
        let meaning = known.map_or("what it does has to be described as a device of ours", |(_, meaning)| *meaning);
        let name = given[0].or(given[1]).unwrap_or("without a name");
        self.notes.add(node.offset, format!("the plugin {} is left out", shorten(name)), meaning);
    }

    fn drive(&mut self, node: &Node, driven: &[Driven], is_trajectory: bool) {
        let (mut drives_all, mut has_gains) = (false, false);
        for (tags, kind) in driven {
            // An element may have several names, separated by blanks.
            let named: Vec<&Node> = node.children.iter().filter(|child| tags.contains(&child.name.as_str())).collect();
            let names: Vec<&str> = named.iter().flat_map(|node| node.text.split_whitespace()).collect();
            let is_all = names.is_empty() && *tags == JOINT_NAME;
            drives_all |= is_all;
            let gains = if *tags == JOINT_NAME && !is_trajectory { self.controller_gains(node, *kind) } else { None };
            has_gains |= gains.is_some();
            let effort = ["max_wheel_torque", "wheelTorque", "torque"].iter().find_map(|tag| self.positive(node, tag));
            for joint in &mut self.model.joints[self.first_joint..] {
                let moves = [Motion::Turning, Motion::Sliding].contains(&joint.motion);
                if moves && (names.contains(&joint.name.as_str()) || is_all) {
                    joint.drive = Some(Drive { kind: *kind, gains, name: None, offset: node.offset });
                    let bounds = [joint.max_effort, effort.filter(|_| *kind == DriveKind::Velocity)];
                    joint.max_effort = bounds.into_iter().flatten().reduce(f64::min);
                }
            }
            for (name, at) in named.iter().flat_map(|node| node.text.split_whitespace().map(|name| (name, node.offset)))
            {
                if !self.model.joints[self.first_joint..].iter().any(|joint| joint.name == name) {
                    let what = format!("a plugin drives a joint '{}', which is not there", shorten(name));
                    self.notes.add(at, what, "nothing is driven by it");
                }
            }
        }
        let what = format!(
            "a plugin that drives {} is a controller on each joint",
            if drives_all { "all joints" } else { "joints" }
        );
        let meaning = "each joint has a port, and clients turn commands for a vehicle into those of wheels; topics are not taken over";
        self.notes.add(node.offset, what, meaning);
        let is_gain = |child: &&Node| {
            let name = child.name.to_ascii_lowercase();
            ["p_gain", "i_gain", "d_gain", "pid"].iter().any(|gain| name.contains(gain))
        };
        if let Some(gain) = node.children.iter().find(is_gain).filter(|_| !has_gains) {
            let meaning = "its controllers have our default gains; 'stiffness', 'damping' and 'integral' set others";
            self.notes.add(gain.offset, "gains of a plugin are left out", meaning);
        }
    }

    /// Reads a joint that follows another one.
    fn read_coupling(&mut self, node: &Node) {
        let place = |tags: [&str; 2]| {
            let name = tags.into_iter().find_map(|tag| text(node, tag))?;
            let own = |joint: usize| self.model.joints[joint].name == name;
            (self.first_joint..self.model.joints.len()).find(|place| own(*place))
        };
        let (follower, leader) = (place(["joint", "joint_name"]), place(["mimicJoint", "mimic_joint"]));
        let (Some(follower), Some(leader)) = (follower, leader) else {
            let meaning = "it names two joints of the model by <joint> and <mimicJoint>";
            return self.notes.add(
                node.offset,
                "a plugin that couples joints which are not there is left out",
                meaning,
            );
        };
        let ratio = number(self.reading, node, "multiplier").unwrap_or(1.0);
        let constant = number(self.reading, node, "offset").unwrap_or(0.0);
        if !self.model.couple(Mimic { leader, follower, ratio, constant, offset: node.offset }) {
            self.notes.add(node.offset, "a plugin that couples joints is left out", super::super::model::UNCOUPLED);
        }
    }

    /// A device on the link, or the joint, that a plugin names.
    fn read_device_plugin(&mut self, node: &Node, kind: DeviceKind) {
        let named = |tags: &[&str]| tags.iter().find_map(|tag| text(node, tag)).unwrap_or_default();
        let mount = if kind == DeviceKind::ForceTorqueSensor {
            let name = named(&ON_JOINT);
            let place = self.model.joints.iter().position(|joint| joint.name == name);
            place.filter(|place| self.keep_joint(*place)).map(Mount::Joint)
        } else {
            let place = self.links.get(named(&ON_LINK)).copied();
            place.map(|link| Mount::Link { link, pose: self.mount_pose(kind, link) })
        };
        let Some(mount) = mount else {
            let what = format!("a plugin that stands for a {} is left out", kind.name());
            return self.notes.add(node.offset, what, "it names no link or joint of the model that could have it");
        };
        let deviation = ["gaussianNoise", "gaussian_noise"].iter().find_map(|tag| self.positive(node, tag));
        let of: &[&str] = match kind {
            DeviceKind::ImuSensor => &["angularVelocity", "specificForce"],
            DeviceKind::PoseSensor => &["position"],
            DeviceKind::ContactSensor | DeviceKind::ForceTorqueSensor => &["force", "torque"],
            _ => &[],
        };
        let noise = |of: &&'static str| {
            deviation.map(|standard_deviation| Noise { of: Some(of), standard_deviation, bias: 0.0 })
        };
        let rate = ["updateRate", "update_rate"].iter().find_map(|tag| self.positive(node, tag));
        let attributes = rate.filter(|rate| *rate <= 1e6).map(|rate| ("rate", rate.to_string())).into_iter().collect();
        let name = attribute(node, "name").unwrap_or(kind.name()).to_owned();
        let noise = of.iter().filter_map(noise).collect();
        let parts = Vec::new();
        self.model.devices.push(Device { kind, name, offset: node.offset, mount, attributes, noise, parts });
    }

    /// Forces of Gazebo act at the centre of mass.
    fn mount_pose(&self, kind: DeviceKind, link: usize) -> Pose {
        let centre = self.model.links[link].mass.filter(|_| kind == DeviceKind::ForceActuator).map(|mass| mass.centre);
        Pose { translation: centre.unwrap_or_default(), ..Pose::IDENTITY }
    }

    /// A number above 0 in a child element, or none.
    /// Gains of a plugin JointPositionController, or of a JointController that uses forces. Those that are not given
    /// are Gazebo's defaults, except for the integral: Gazebo limits its part of the effort to 1 N m.
    fn controller_gains(&self, node: &Node, kind: DriveKind) -> Option<ServoGains> {
        let is_set = |tag| text(node, tag).is_some_and(|text| matches!(text.trim(), "true" | "1"));
        let gain = |tag, default: f64| number(self.reading, node, tag).unwrap_or(default);
        let (proportional, integral) = (gain("p_gain", 1.0), gain("i_gain", 0.0));
        let gains = match kind {
            DriveKind::Position if !is_set("use_velocity_commands") => {
                ServoGains { stiffness: proportional, damping: gain("d_gain", 0.01), integral }
            }
            DriveKind::Velocity if is_set("use_force_commands") => {
                ServoGains { stiffness: 0.0, damping: proportional, integral }
            }
            _ => return None,
        };
        if proportional <= 0.0 || gains.damping < 0.0 || integral < 0.0 {
            return None;
        }
        for (tag, meaning) in LEFT_OUT_GAINS {
            let is_used = tag == "d_gain" && kind == DriveKind::Position;
            if let Some(given) = child(node, tag).filter(|_| !is_used) {
                self.notes.add(given.offset, format!("<{tag}> of a plugin is left out"), meaning);
            }
        }
        Some(gains)
    }

    pub(super) fn positive(&self, node: &Node, tag: &str) -> Option<f64> {
        number(self.reading, node, tag).filter(|number| *number > 0.0)
    }
}

/// A plugin's name without the differences between versions: `libgazebo_ros_diff_drive.so` and
/// `gz::sim::systems::DiffDrive`.
fn simplified(name: Option<&str>) -> String {
    let name = name.unwrap_or_default().to_ascii_lowercase();
    let name = name.rsplit('/').next().unwrap_or_default();
    let name = name.strip_suffix(".so").unwrap_or(name).replace(|c: char| !c.is_alphanumeric(), "");
    name.replace("systems", "").replace("system", "")
}
