//! Sensors and actuators of a robot.

use std::collections::HashMap;

use bevy_math::DVec3;
use simpartner_model::{Axis, Body, BodyId, Joint, JointId, JointKind, RobotId};
use simpartner_wire::signal::{DeviceKind, MountedOn, NoiseLaw, Port};

use super::{
    body::{optional_pose, vector},
    camera::read_camera,
    mechanism_parts::MechanismParts,
    name_table::NameTable,
    node::Node,
    reading::{Reading, is_given},
    vehicle::{self, Vehicles},
};
use crate::{
    device::{
        Actuator, Device, DeviceSpec, Frame, Law, MotorLimits, Mount, Noise, PidGains, Propeller, Push, Scanner,
        Sensor, SensorOptions, ServoGains,
    },
    limits::{MAX_DEVICES, MAX_RAYS},
    text::tree::child,
    watchdog::{OnTimeout, Watchdog},
};

/// Reads all devices of a robot file; their robot is yet to be set, and ids count within the file.
pub(super) fn read_all(reading: &Reading, nodes: &[Node], parts: &mut MechanismParts) -> Vec<Device> {
    let mut names = NameTable::new("device");
    let mut devices: Vec<Device> = Vec::new();
    // The device of each port.
    let mut ports = HashMap::new();
    let is_device = |child: &&Node| child.name == "sensor" || child.name == "actuator";
    let nodes: Vec<&Node> = nodes.iter().filter(is_device).take(MAX_DEVICES + 1).collect();
    if let Some(node) = nodes.get(MAX_DEVICES) {
        reading.problem(node.offset, format!("more than {MAX_DEVICES} devices"));
    }
    let nodes = &nodes[..nodes.len().min(MAX_DEVICES)];
    // Sensors may stand before the vehicle controllers that they name.
    let mut actuators: HashMap<usize, DeviceSpec> = HashMap::new();
    for (index, node) in nodes.iter().enumerate().filter(|(_, node)| node.name == "actuator") {
        actuators.extend(read_actuator(reading, node, parts).map(|spec| (index, spec)));
    }
    let vehicles = Vehicles::among_actuators(reading, nodes, &actuators, parts);
    for (index, node) in nodes.iter().enumerate() {
        let spec = match node.name.as_str() {
            "actuator" => actuators.get(&index).cloned(),
            _ => read_sensor(reading, node, parts, &vehicles).map(DeviceSpec::from),
        };
        let device = spec.and_then(|spec| device(reading, node, spec));
        names.define(reading, node, device.as_ref().map(|_| devices.len()));
        let Some(device) = device else { continue };
        let first = *ports.entry(device.port.number()).or_insert(devices.len());
        if let Some(first) = devices.get(first).filter(|_| device.port != Port::ANY) {
            let message = format!("port {} is that of '{}' already, {}", device.port, first.name, first.source);
            reading.problem_with_help(
                reading.attribute_offset(node, "port"),
                message,
                "give each device its own, or 0 for a free one",
            );
        }
        devices.push(device);
    }
    devices
}

fn device(reading: &Reading, node: &Node, spec: DeviceSpec) -> Option<Device> {
    let port = Port::new(reading.attribute_whole(node, "port")?)
        .map_err(|error| reading.problem(reading.attribute_offset(node, "port"), format!("attribute 'port': {error}")))
        .ok()?;
    Some(Device {
        name: reading.attribute_text(node, "name")?.to_owned(),
        robot: RobotId::new(0),
        port,
        spec,
        source: reading.source(node),
    })
}

fn read_sensor(reading: &Reading, node: &Node, parts: &MechanismParts, vehicles: &Vehicles) -> Option<Sensor> {
    let kind = kind(reading, node)?;
    let vehicle = match kind.description().mounted_on {
        MountedOn::Vehicle => Some(Box::new(vehicles.named_by(reading, node)?)),
        MountedOn::Body | MountedOn::Joint => None,
    };
    let mount = match &vehicle {
        Some(vehicle) => {
            if let Some(pose) = child(node, "pose") {
                reading.problem(pose.offset, format!("{} {kind} has no <pose>: it reads a vehicle", kind.article()));
                return None;
            }
            Mount::Body { body: vehicle.body, pose: vehicle.pose }
        }
        None => mount(reading, node, parts, kind)?,
    };
    let options = options(reading, node, kind)?;
    let rate_hz = if is_given(node, "rate") { Some(reading.attribute_real(node, "rate")?) } else { None };
    let latency_s = reading.attribute_real(node, "latency")?;
    let dropout = reading.attribute_real(node, "dropout")?;
    let noise = noise(reading, node, kind)?;
    Some(Sensor { kind, mount, options, rate_hz, latency_s, dropout, noise, vehicle })
}

/// The type, after the check of all attributes.
fn kind(reading: &Reading, node: &Node) -> Option<DeviceKind> {
    let kind = DeviceKind::named(reading.attribute_text(node, "type")?)?;
    let frames = kind.description().frames;
    let refuse = |offset, name: &str, why: String| {
        reading.problem_with_help(offset, format!("attribute '{name}' does not belong here"), why);
    };
    for attribute in &node.attributes {
        let name = attribute.name.as_str();
        let having = |kind: &DeviceKind| match name {
            "frame" => !kind.description().frames.is_empty(),
            "body" => kind.description().mounted_on == MountedOn::Body,
            "joint" => kind.description().mounted_on == MountedOn::Joint,
            "drive" => kind.description().mounted_on == MountedOn::Vehicle,
            "latency" | "dropout" => !kind.is_actuator() && !kind.description().quantities.is_empty(),
            _ => kind.description().attributes.contains(&name),
        };
        let owners: Vec<DeviceKind> = DeviceKind::ALL.into_iter().filter(having).collect();
        if owners.contains(&kind) || owners.is_empty() {
            continue;
        }
        let why = match name {
            "body" | "joint" if kind.description().mounted_on == MountedOn::Vehicle => {
                format!("{} {kind} names a vehicle controller by drive=\"..\"", kind.article())
            }
            "body" if kind.is_actuator() => format!("{} {kind} drives a joint", kind.article()),
            "body" => format!("{} {kind} reads a joint", kind.article()),
            "joint" => format!("{} {kind} sits on a body", kind.article()),
            "latency" | "dropout" => format!("{} {kind} reads nothing", kind.article()),
            _ => only(&owners),
        };
        refuse(attribute.offset, name, why);
        return None;
    }
    if let Some(word) = reading.attribute_text(node, "frame").filter(|word| !frames.contains(word)) {
        let message = format!("{} {kind} cannot read in the frame '{word}'", kind.article());
        reading.problem_with_help(
            reading.attribute_offset(node, "frame"),
            message,
            format!("it takes {}", frames.join(", ")),
        );
        return None;
    }
    Some(kind)
}

/// "only a ScannerSensor has it", or all that have.
fn only(owners: &[DeviceKind]) -> String {
    let named: Vec<String> = owners.iter().map(|kind| format!("{} {kind}", kind.article())).collect();
    match &named[..] {
        [one] => format!("only {one} has it"),
        [first @ .., last] => format!("only {} and {last} have it", first.join(", ")),
        [] => "no type has it".into(),
    }
}

fn mount(reading: &Reading, node: &Node, parts: &MechanismParts, kind: DeviceKind) -> Option<Mount> {
    let (word, names) = match kind.description().mounted_on {
        MountedOn::Body | MountedOn::Vehicle => ("body", &parts.body_names),
        MountedOn::Joint => ("joint", &parts.joint_names),
    };
    if !is_given(node, word) {
        reading.problem(node.offset, format!("<{}> lacks the attribute '{word}'", node.name));
        return None;
    }
    let index = names.index(reading, reading.attribute_offset(node, word), reading.attribute_text(node, word)?)?;
    if word == "body" {
        return Some(Mount::Body { body: BodyId::new(index), pose: optional_pose(reading, node)? });
    }
    if let Some(pose) = child(node, "pose") {
        reading.problem(pose.offset, format!("{} {kind} has no <pose>: it reads a joint", kind.article()));
        return None;
    }
    Some(Mount::Joint(JointId::new(index)))
}

/// The attributes that some kinds have; of the others they have their defaults.
fn options(reading: &Reading, node: &Node, kind: DeviceKind) -> Option<SensorOptions> {
    let frame = reading.attribute_text(node, "frame").and_then(Frame::named);
    Some(SensorOptions {
        frame: frame.unwrap_or(SensorOptions::of(kind).frame),
        rays: rays(reading, node)?,
        threshold: reading.attribute_real(node, "threshold")?,
        camera: read_camera(reading, node, kind)?,
    })
}

/// The `<noise>` of each quantity, or empty without any.
fn noise(reading: &Reading, node: &Node, kind: DeviceKind) -> Option<Vec<Noise>> {
    let quantities = kind.description().quantities;
    let mut noise: Vec<Option<Noise>> = vec![None; quantities.len()];
    let noisy = |index: usize| quantities[index].noise != NoiseLaw::None;
    for given in node.children.iter().filter(|child| child.name == "noise") {
        let figures = Noise {
            standard_deviation: reading.attribute_real(given, "standardDeviation")?,
            bias: reading.attribute_real(given, "bias")?,
            drift: reading.attribute_real(given, "drift")?,
            quantisation: reading.attribute_real(given, "quantisation")?,
        };
        let of = if is_given(given, "of") { Some(reading.attribute_text(given, "of")?) } else { None };
        let meant: Vec<usize> = (0..quantities.len())
            .filter(|&index| noisy(index) && of.is_none_or(|name| name == quantities[index].name))
            .collect();
        if meant.is_empty() {
            let message = match of {
                Some(name) => format!("{} {kind} has no quantity '{name}' that can be noisy", kind.article()),
                None => format!("{} {kind} has nothing that can be noisy", kind.article()),
            };
            let names: Vec<&str> = (0..quantities.len()).filter(|&i| noisy(i)).map(|i| quantities[i].name).collect();
            match names.is_empty() {
                true => reading.problem(reading.attribute_offset(given, "of"), message),
                false => reading.problem_with_help(
                    reading.attribute_offset(given, "of"),
                    message,
                    format!("it has {}", names.join(", ")),
                ),
            }
            return None;
        }
        for index in meant {
            if noise[index].replace(figures).is_some() {
                let message = format!("the noise of '{}' is given a second time", quantities[index].name);
                reading.problem(given.offset, message);
                return None;
            }
        }
    }
    if noise.iter().all(Option::is_none) {
        return Some(Vec::new());
    }
    Some(noise.into_iter().map(Option::unwrap_or_default).collect())
}

fn rays(reading: &Reading, node: &Node) -> Option<Scanner> {
    let scanner = Scanner {
        rays: reading.attribute_whole(node, "rays")? as usize,
        half_angle: reading.attribute_real(node, "halfAngle")?,
        layers: reading.attribute_whole(node, "layers")? as usize,
        vertical_half_angle: reading.attribute_real(node, "verticalHalfAngle")?,
        range: reading.attribute_real(node, "range")?,
    };
    if scanner.layers > 1 && scanner.vertical_half_angle == 0.0 {
        let message = format!("{} layers lie in one plane", scanner.layers);
        let help = "give a verticalHalfAngle above 0";
        reading.problem_with_help(reading.attribute_offset(node, "layers"), message, help);
        return None;
    }
    if scanner.rays * scanner.layers > MAX_RAYS {
        let message = format!("{} layers of {} rays are more than {MAX_RAYS}", scanner.layers, scanner.rays);
        reading.problem(reading.attribute_offset(node, "layers"), message);
        return None;
    }
    Some(scanner)
}

fn read_actuator(reading: &Reading, node: &Node, parts: &mut MechanismParts) -> Option<DeviceSpec> {
    let kind = kind(reading, node)?;
    let mount = mount(reading, node, parts, kind)?;
    let watchdog = watchdog(reading, node)?;
    if kind.is_vehicle() {
        let other = if kind == DeviceKind::TrackController { "wheel" } else { "track" };
        refuse_children(reading, node, kind, &["motor", "force", "torque", other])?;
        return vehicle::read_vehicle(reading, node, kind, mount, watchdog, parts).map(DeviceSpec::Vehicle);
    }
    refuse_children(reading, node, kind, &["wheel", "track"])?;
    single_actuator(reading, node, kind, mount, watchdog, parts).map(DeviceSpec::Actuator)
}

/// Refuses child elements that this kind of device does not have.
fn refuse_children(reading: &Reading, node: &Node, kind: DeviceKind, tags: &[&str]) -> Option<()> {
    let Some(misplaced) = tags.iter().find_map(|tag| child(node, tag)) else { return Some(()) };
    reading.problem(misplaced.offset, format!("{} {kind} has no <{}>", kind.article(), misplaced.name));
    None
}

/// An actuator on one joint or one body.
fn single_actuator(
    reading: &Reading,
    node: &Node,
    kind: DeviceKind,
    mount: Mount,
    watchdog: Option<Watchdog>,
    parts: &mut MechanismParts,
) -> Option<Actuator> {
    match mount {
        Mount::Body { .. } => refuse_children(reading, node, kind, &["motor"])?,
        Mount::Joint(_) => refuse_children(reading, node, kind, &["force", "torque"])?,
    }
    if let (DeviceKind::ConveyorController, Mount::Body { body, .. }) = (kind, mount) {
        return read_conveyor(reading, node, &parts.bodies[body.index()], mount, watchdog);
    }
    if kind == DeviceKind::PropellerController {
        return read_propeller(reading, node, mount, watchdog);
    }
    let Mount::Joint(id) = mount else {
        let part = |tag| child(node, tag).map_or(Some(DVec3::ZERO), |given| vector(reading, given));
        let frame = reading.attribute_text(node, "frame").and_then(Frame::named).unwrap_or(Frame::World);
        let law = Law::Force(Push { frame, force: part("force")?, torque: part("torque")? });
        return Some(Actuator { mount, law, gains: None, motor: None, watchdog });
    };
    let (place, index) = (reading.attribute_offset(node, "joint"), id.index());
    let joint = &parts.joints[index];
    if !joint.kind.moves() {
        let message = format!("joint '{}' is {}, which has no motor", joint.name, joint.kind.name());
        let driven: Vec<&str> = JointKind::ALL.into_iter().filter(|kind| kind.moves()).map(JointKind::name).collect();
        reading.problem_with_help(place, message, format!("actuators drive these joints: {}", driven.join(", ")));
        return None;
    }
    let law = match kind {
        DeviceKind::AngleController => Law::Angle(PidGains {
            proportional: reading.attribute_real(node, "p")?,
            integral: reading.attribute_real(node, "i")?,
            derivative: reading.attribute_real(node, "d")?,
        }),
        DeviceKind::PositionController => Law::Position,
        DeviceKind::EffortController => Law::Effort,
        _ => Law::Velocity,
    };
    let motor = match child(node, "motor") {
        Some(motor) => Some(read_motor(reading, motor, &mut parts.joints[index])?),
        None => None,
    };
    Some(Actuator { mount, law, gains: servo_gains(reading, node, kind)?, motor, watchdog })
}

/// The gains of a position or velocity controller; `Some(None)` if the file gives none.
fn servo_gains(reading: &Reading, node: &Node, kind: DeviceKind) -> Option<Option<ServoGains>> {
    // Without the main gain there is nothing that the others could add to.
    let main = match kind {
        DeviceKind::PositionController => "stiffness",
        DeviceKind::JointController => "damping",
        _ => return Some(None),
    };
    let gain = |name| if is_given(node, name) { reading.attribute_real(node, name) } else { Some(0.0) };
    let gains = ServoGains { stiffness: gain("stiffness")?, damping: gain("damping")?, integral: gain("integral")? };
    if !is_given(node, main) {
        let Some(lonely) = ["damping", "integral"].into_iter().find(|name| is_given(node, name)) else {
            return Some(None);
        };
        let message = format!("{} {kind} with '{lonely}' lacks the attribute '{main}'", kind.article());
        let help = format!("add {main}=\"...\", or leave out '{lonely}' for the default gains");
        reading.problem_with_help(reading.attribute_offset(node, lonely), message, help);
        return None;
    }
    if kind == DeviceKind::JointController && gains.damping == 0.0 {
        let message = "a JointController with damping 0 exerts no effort";
        reading.problem_with_help(reading.attribute_offset(node, "damping"), message, "give it a positive damping");
        return None;
    }
    Some(Some(gains))
}

fn read_conveyor(
    reading: &Reading,
    node: &Node,
    body: &Body,
    mount: Mount,
    watchdog: Option<Watchdog>,
) -> Option<Actuator> {
    let mut sound = true;
    for misplaced in ["pose", "force", "torque"].into_iter().filter_map(|tag| child(node, tag)) {
        let message =
            format!("a ConveyorController has no <{}>: it moves the whole surface of its body", misplaced.name);
        reading.problem(misplaced.offset, message);
        sound = false;
    }
    if body.collision_shape().is_none() {
        let message = format!("body '{}' has no surface that could move", body.name);
        reading.problem_with_help(reading.attribute_offset(node, "body"), message, "give it a shape");
        sound = false;
    }
    let law = Law::Surface(body.material.surface_velocity);
    sound.then_some(Actuator { mount, law, gains: None, motor: None, watchdog })
}

fn read_propeller(reading: &Reading, node: &Node, mount: Mount, watchdog: Option<Watchdog>) -> Option<Actuator> {
    refuse_children(reading, node, DeviceKind::PropellerController, &["force", "torque"])?;
    if !is_given(node, "thrustCoefficient") {
        let help = "it is the thrust in N over the square of the rate in rad/s";
        reading.problem_with_help(node.offset, "a PropellerController lacks the attribute 'thrustCoefficient'", help);
        return None;
    }
    let law = Law::Propeller(Propeller {
        thrust: reading.attribute_real(node, "thrustCoefficient")?,
        torque: reading.attribute_real(node, "torqueCoefficient")?,
        time_constant: reading.attribute_real(node, "timeConstant")?,
        max_rate: if is_given(node, "maxRate") { reading.attribute_real(node, "maxRate")? } else { f64::INFINITY },
        sense: if reading.attribute_text(node, "turning")? == "left" { 1.0 } else { -1.0 },
    });
    Some(Actuator { mount, law, gains: None, motor: None, watchdog })
}

fn watchdog(reading: &Reading, node: &Node) -> Option<Option<Watchdog>> {
    if !is_given(node, "watchdog") {
        if is_given(node, "onTimeout") {
            let message = "attribute 'onTimeout' does not belong here";
            reading.problem_with_help(reading.attribute_offset(node, "onTimeout"), message, "only with a watchdog");
            return None;
        }
        return Some(None);
    }
    let action = match reading.attribute_text(node, "onTimeout")? {
        "zero" => OnTimeout::Zero,
        "brake" => OnTimeout::Brake,
        _ => OnTimeout::Hold,
    };
    Some(Some(Watchdog { timeout_s: reading.attribute_real(node, "watchdog")?, action }))
}

/// Reads the motor at the joint; its rotor and friction are added to the joint's axes.
fn read_motor(reading: &Reading, node: &Node, joint: &mut Joint) -> Option<MotorLimits> {
    let ratio = reading.attribute_real(node, "gearRatio")?;
    let (inertia, friction) =
        (reading.attribute_real(node, "rotorInertia")?, reading.attribute_real(node, "friction")?);
    for axis in &mut joint.axes {
        if let Axis::Free(motion) = axis {
            motion.armature += ratio * ratio * inertia;
            motion.friction += ratio * friction;
        }
    }
    Some(MotorLimits {
        stall_effort: ratio * reading.attribute_real(node, "stallTorque")?,
        no_load_rate: reading.attribute_real(node, "noLoadSpeed")? / ratio,
        efficiency: reading.attribute_real(node, "efficiency")?,
    })
}
