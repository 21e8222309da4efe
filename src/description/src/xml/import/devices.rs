//! The devices of an imported robot: an encoder on each joint, an actuator on each driven joint, and the devices of its
//! file.

use super::{
    super::node::Node,
    element::{new_attribute, node, pose_element},
    model::{Device, Drive, DriveKind, Model, Motion, Mount, Part, SCOPE_SEPARATOR, Vehicle},
    names::Names,
    text::UniqueNames,
};
use crate::text::tree::Attribute;

/// Adds the devices, with ports from the next one on; 0 stays 0.
pub(super) fn add(robot: &mut Node, model: &Model, names: &Names, next_port: &mut u16) {
    let mut port = || {
        let port = *next_port;
        // After the last port, any free ports are used.
        *next_port = if port == 0 { 0 } else { port.wrapping_add(1) };
        port.to_string()
    };
    let mut names_given = UniqueNames::default();
    let mut unique = |name: String| names_given.name(&name);
    let moving = |motion| ![Motion::Fixed, Motion::Free].contains(&motion);
    for (index, joint) in model.joints.iter().enumerate().filter(|(_, joint)| moving(joint.motion)) {
        let mut device = |tag: &str, kind: &str, name: String, offset: usize| {
            let joint = names.joints[index].clone();
            let attributes = [("type", kind.to_owned()), ("name", unique(name)), ("joint", joint), ("port", port())];
            node(tag, offset, &attributes)
        };
        let name = &names.joints[index];
        robot.children.push(device("sensor", "JointEncoder", format!("{name}_encoder"), joint.offset));
        let follows = model.couplings.iter().any(|coupling| coupling.follower == index);
        let Some(drive) = joint.drive.as_ref().filter(|_| !follows && !model.is_driven_by_vehicle(index)) else {
            continue;
        };
        let kind = match drive.kind {
            DriveKind::Position => "PositionController",
            DriveKind::Velocity => "JointController",
            DriveKind::Effort => "EffortController",
        };
        let own = drive.name.clone().unwrap_or_else(|| format!("{name}_motor"));
        let mut actuator = device("actuator", kind, own, drive.offset);
        actuator.attributes.extend(gain_attributes(drive));
        robot.children.push(actuator);
    }
    for vehicle in &model.vehicles {
        let name = unique("drive".to_owned());
        let odometry = [
            ("type", "OdometrySensor".to_owned()),
            ("name", unique(format!("{name}_odometry"))),
            ("drive", name.clone()),
        ];
        robot.children.push(vehicle_element(vehicle, names, name, port()));
        let port = [("port", port()), ("rate", ODOMETRY_RATE.to_owned())];
        robot.children.push(node("sensor", vehicle.offset, &[&odometry[..], &port].concat()));
    }
    // Cameras are the last, so that the other devices have the ports that they had before cameras were imported.
    let shared = |device: &Device| model.devices.iter().filter(|other| other.name == device.name).count() > 1;
    let full = |device: &Device| match device.mount {
        // SDF has names of sensors within a link.
        _ if model.own_scope().is_empty() || !shared(device) => device.name.clone(),
        Mount::Link { link, .. } => format!("{}{SCOPE_SEPARATOR}{}", names.links[link], device.name),
        Mount::Joint(joint) => format!("{}{SCOPE_SEPARATOR}{}", names.joints[joint], device.name),
    };
    let (cameras, others): (Vec<&Device>, _) = model.devices.iter().partition(|device| device.kind.is_camera());
    for device in others.into_iter().chain(cameras) {
        let (name, port) = (unique(full(device)), port());
        robot.children.push(device_element(device, names, name, port));
    }
}

/// The gains of a drive as attributes of its actuator.
fn gain_attributes(drive: &Drive) -> Vec<Attribute> {
    let Some(gains) = drive.gains else { return Vec::new() };
    let all = [("stiffness", gains.stiffness), ("damping", gains.damping), ("integral", gains.integral)];
    let given = all.into_iter().filter(|(_, gain)| *gain > 0.0);
    given.map(|(name, gain)| new_attribute(name, gain.to_string(), drive.offset)).collect()
}

/// Rate of the odometry of DiffDrive in Gazebo, Hz.
const ODOMETRY_RATE: &str = "50";

fn vehicle_element(vehicle: &Vehicle, names: &Names, name: String, port: String) -> Node {
    let mut attributes = vec![
        ("type", vehicle.kind.name().to_owned()),
        ("name", name),
        ("body", names.links[vehicle.chassis].clone()),
        ("port", port),
    ];
    attributes.extend(vehicle.attributes.iter().cloned());
    let mut element = node("actuator", vehicle.offset, &attributes);
    element.children.extend(pose_element(&vehicle.pose, vehicle.offset));
    for wheel in &vehicle.wheels {
        let mut attributes = vec![("joint", names.joints[wheel.joint].clone())];
        attributes.extend(wheel.steering.map(|steering| ("steering", names.joints[steering].clone())));
        attributes.extend(wheel.radius.map(|radius| ("radius", radius.to_string())));
        element.children.push(node("wheel", vehicle.offset, &attributes));
    }
    element
}

impl Model {
    /// True if a vehicle controller drives the joint.
    fn is_driven_by_vehicle(&self, joint: usize) -> bool {
        let wheels = self.vehicles.iter().flat_map(|vehicle| &vehicle.wheels);
        wheels.into_iter().any(|wheel| wheel.joint == joint || wheel.steering == Some(joint))
    }
}

fn device_element(device: &Device, names: &Names, name: String, port: String) -> Node {
    let tag = if device.kind.is_actuator() { "actuator" } else { "sensor" };
    let mut attributes = vec![("type", device.kind.name().to_owned()), ("name", name)];
    attributes.push(match device.mount {
        Mount::Link { link, .. } => ("body", names.links[link].clone()),
        Mount::Joint(joint) => ("joint", names.joints[joint].clone()),
    });
    attributes.push(("port", port));
    attributes.extend(device.attributes.iter().cloned());
    let mut element = node(tag, device.offset, &attributes);
    if let Mount::Link { pose, .. } = &device.mount {
        element.children.extend(pose_element(pose, device.offset));
    }
    for noise in &device.noise {
        let mut attributes: Vec<(&str, String)> = noise.of.iter().map(|of| ("of", (*of).to_owned())).collect();
        let figures = [("standardDeviation", noise.standard_deviation), ("bias", noise.bias)];
        attributes.extend(
            figures.into_iter().filter(|(_, value)| *value != 0.0).map(|(name, value)| (name, value.to_string())),
        );
        element.children.push(node("noise", device.offset, &attributes));
    }
    let part = |(name, attributes): &Part| node(name, device.offset, attributes);
    element.children.extend(device.parts.iter().map(part));
    element
}
