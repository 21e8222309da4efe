//! Sensors and actuators of a robot.

use super::{body::optional_pose, parts::Parts, reading::Reading, scope::Scope, tree::Node};
use crate::{
    model::{Device, DeviceSpec, JointKind, PidGains, Scanner},
    signal::{BodyId, JointId, Port, RobotId},
};

/// Attributes that only one type of device has.
const OF_SCANNERS: [&str; 3] = ["rays", "halfAngle", "range"];
const OF_ANGLE_CONTROLLERS: [&str; 3] = ["p", "i", "d"];

/// Reads all devices of a robot file; their robot is yet to be set, and ids count within the file.
pub(super) fn read_all(reading: &Reading, nodes: &[Node], parts: &Parts) -> Vec<Device> {
    let mut names = Scope::new("device");
    let mut devices: Vec<Device> = Vec::new();
    for node in nodes.iter().filter(|child| child.name == "sensor" || child.name == "actuator") {
        let spec = if node.name == "sensor" { sensor(reading, node, parts) } else { actuator(reading, node, parts) };
        let device = spec.and_then(|spec| device(reading, node, spec));
        names.define(reading, node, device.as_ref().map(|_| devices.len()));
        let Some(device) = device else { continue };
        if let Some(first) = devices.iter().find(|first| first.port == device.port && device.port != Port::ANY) {
            let message = format!("port {} is that of '{}' already, {}", device.port, first.name, first.source);
            reading.problem_with_help(
                reading.place(node, "port"),
                message,
                "give each device its own, or 0 for a free one",
            );
        }
        devices.push(device);
    }
    devices
}

fn device(reading: &Reading, node: &Node, spec: DeviceSpec) -> Option<Device> {
    let port = Port::new(reading.whole(node, "port")?)
        .map_err(|error| reading.problem(reading.place(node, "port"), format!("attribute 'port': {error}")))
        .ok()?;
    let rate_given = node.attributes.iter().any(|attribute| attribute.name == "rate");
    let rate_hz = if rate_given { Some(reading.real(node, "rate")?) } else { None };
    Some(Device {
        name: reading.text(node, "name")?.to_owned(),
        robot: RobotId::new(0),
        port,
        rate_hz,
        spec,
        source: reading.source(node),
    })
}

fn sensor(reading: &Reading, node: &Node, parts: &Parts) -> Option<DeviceSpec> {
    let kind = reading.text(node, "type")?;
    if kind != "ScannerSensor" {
        refuse_attributes(reading, node, &OF_SCANNERS, "only a ScannerSensor has it")?;
    }
    let place = reading.place(node, "body");
    let body: BodyId = parts.body_names.resolve(reading, place, reading.text(node, "body")?)?;
    let mount = optional_pose(reading, node)?;
    Some(match kind {
        "EchoSensor" => DeviceSpec::EchoSensor { body },
        "PositionSensor" => DeviceSpec::PositionSensor { body, mount },
        _ => DeviceSpec::ScannerSensor {
            body,
            scanner: Scanner {
                mount,
                rays: reading.whole(node, "rays")? as usize,
                half_angle: reading.real(node, "halfAngle")?,
                range: reading.real(node, "range")?,
            },
        },
    })
}

fn actuator(reading: &Reading, node: &Node, parts: &Parts) -> Option<DeviceSpec> {
    let kind = reading.text(node, "type")?;
    if kind != "AngleController" {
        refuse_attributes(reading, node, &OF_ANGLE_CONTROLLERS, "only an AngleController has it")?;
    }
    let place = reading.place(node, "joint");
    let index = parts.joint_names.index(reading, place, reading.text(node, "joint")?)?;
    let joint = &parts.joints[index];
    if matches!(joint.kind, JointKind::Fixed | JointKind::Ball) {
        let message = format!("joint '{}' is {}, which has no motor", joint.name, joint.kind.name());
        reading.problem_with_help(place, message, "actuators drive hinge, slider, universal and constrained joints");
        return None;
    }
    let joint = JointId::new(index);
    Some(match kind {
        "JointController" => DeviceSpec::JointController { joint },
        _ => DeviceSpec::AngleController {
            joint,
            gains: PidGains {
                proportional: reading.real(node, "p")?,
                integral: reading.real(node, "i")?,
                derivative: reading.real(node, "d")?,
            },
        },
    })
}

fn refuse_attributes(reading: &Reading, node: &Node, names: &[&str], why: &str) -> Option<()> {
    match node.attributes.iter().find(|attribute| names.contains(&attribute.name.as_str())) {
        None => Some(()),
        Some(wrong) => {
            reading.problem_with_help(wrong.offset, format!("attribute '{}' does not belong here", wrong.name), why);
            None
        }
    }
}
