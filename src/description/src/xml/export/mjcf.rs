//! A world as MJCF.

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_model::{Axis, FreeAxis, Graph, JointKind, Pose};
use simpartner_wire::signal::DeviceKind;

use super::{
    super::{import::element::node, node::Node},
    cameras,
    chain::{Chain, Step},
    filters, geoms, grounds,
    mjcf_element::{name_of, push, set_pose, z_up_vector},
    writer::{Writer, join},
};
use crate::{
    World,
    device::{Actuator, DeviceSpec, Law, Mount},
};

/// Inertia of a particle for each kilogram, m²: that of the ball of a tenth of a millimetre that our engine takes it
/// for.
const PARTICLE_INERTIA: f64 = 0.4e-8;

/// The least moment of inertia that is written, kg m²: MuJoCo refuses those below 1e-14.
const LEAST_INERTIA: f64 = 1e-13;

/// Distance of the two points that represent a hinge, metres: the typical width of a robot's hinge.
const POINTS_APART: f64 = 0.1;

/// The `<mujoco>` element.
pub(super) fn root(writer: &mut Writer, world: &World) -> Node {
    let mechanism = writer.mechanism;
    let mut root = node("mujoco", 0, &[("model", world.name.clone())]);
    root.children.push(node("compiler", 0, &[("angle", "radian".into()), ("autolimits", "true".into())]));
    let gravity = mechanism.gravity;
    root.children.push(node("option", 0, &[("gravity", join(&z_up_vector(gravity).to_array()))]));
    let mut asset = node("asset", 0, &[]);
    let mut bodies = node("worldbody", 0, &[]);
    let (mut contact, mut equality) = (node("contact", 0, &[]), node("equality", 0, &[]));
    grounds::add(writer, &mut asset, &mut bodies);
    let forest = Graph::new(&mechanism.bodies, &mechanism.joints).spanning_forest();
    for tree in &forest.trees {
        let chains: Vec<Chain> = tree.edges.iter().map(|edge| Chain::new(mechanism, *edge)).collect();
        let mut element = body_element(writer, tree.root.index(), None, &mut asset);
        add_children(writer, tree.root.index(), &chains, &mut element, &mut asset);
        bodies.children.push(element);
        for closing in &tree.loops {
            equality.children.extend(closure(writer, closing.index()));
        }
    }
    contact.children.extend(filters::excluded(writer, &forest));
    add_couplings(writer, &mut equality);
    let (actuator, sensor) = devices(writer, world, &mut bodies);
    root.children.extend(
        [asset, bodies, contact, equality, actuator, sensor].into_iter().filter(|section| !section.children.is_empty()),
    );
    root
}

/// A pose of our world in a world with z up.
fn z_up(pose: &Pose) -> Pose {
    Pose { translation: DVec3::ZERO, rotation: DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2) }.then(pose)
}

/// The name of a coordinate's joint.
fn joint_name(writer: &Writer, joint: &simpartner_model::Joint, name: &str) -> String {
    match joint.robot {
        Some(robot) if writer.mechanism.robots.len() > 1 => format!("{}/{name}", writer.mechanism.robot(robot).name),
        _ => name.to_owned(),
    }
}

/// A body in its parent, with joint, mass and geoms, but without its child bodies.
fn body_element(writer: &mut Writer, index: usize, chain: Option<&Chain>, asset: &mut Node) -> Node {
    let mechanism = writer.mechanism;
    let body = &mechanism.bodies[index];
    let mut element = node("body", 0, &[("name", name_of(writer, index))]);
    match chain {
        Some(chain) => set_pose(&mut element, &mechanism.bodies[chain.inner].pose.inverse().then(&body.pose)),
        None => set_pose(&mut element, &z_up(&body.pose)),
    }
    match chain {
        Some(chain) => add_joints(writer, chain, &mut element),
        None if body.fixed => {}
        None => element.children.push(node("freejoint", 0, &[])),
    }
    if !body.fixed {
        let (centre, tensor) =
            body.inertia.map_or((DVec3::ZERO, DMat3::ZERO), |inertia| (inertia.centre_of_mass, inertia.tensor));
        let least = (PARTICLE_INERTIA * body.mass).max(LEAST_INERTIA);
        let [xx, yy, zz] = [0, 1, 2].map(|axis| tensor.col(axis)[axis].max(least));
        let full = [xx, yy, zz, tensor.y_axis.x, tensor.z_axis.x, tensor.z_axis.y];
        element.children.push(node(
            "inertial",
            0,
            &[("pos", join(&centre.to_array())), ("mass", body.mass.to_string()), ("fullinertia", join(&full))],
        ));
    }
    geoms::add(writer, body, &mut element, asset);
    writer.warn_of_surface(body);
    element
}

fn add_children(writer: &mut Writer, inner: usize, chains: &[Chain], element: &mut Node, asset: &mut Node) {
    for chain in chains.iter().filter(|chain| chain.inner == inner) {
        let mut child = body_element(writer, chain.outer_index, Some(chain), asset);
        add_children(writer, chain.outer_index, chains, &mut child, asset);
        element.children.push(child);
    }
}

fn add_joints(writer: &mut Writer, chain: &Chain, element: &mut Node) {
    let to_outer = chain.outer.pose.inverse();
    let anchor = join(&to_outer.point(chain.joint.anchor).to_array());
    if chain.joint.kind == JointKind::Ball {
        return element.children.push(ball(writer, chain, anchor));
    }
    for Step { name, linear, axis, law, .. } in &chain.steps {
        let axis = join(&to_outer.direction(*axis).to_array());
        let kind = if *linear { "slide" } else { "hinge" };
        let name = joint_name(writer, chain.joint, name);
        let mut joint =
            node("joint", 0, &[("name", name), ("type", kind.into()), ("pos", anchor.clone()), ("axis", axis)]);
        let FreeAxis { lower, upper, initial_position, spring_position, max_effort, .. } = *law;
        if lower.is_finite() || upper.is_finite() {
            push(&mut joint, "range", join(&[lower.max(-1e6), upper.min(1e6)]));
        }
        push_losses(law, &mut joint);
        if initial_position != 0.0 {
            push(&mut joint, "ref", initial_position.to_string());
        }
        if law.stiffness > 0.0 {
            push(&mut joint, "springref", spring_position.to_string());
        }
        if max_effort < FreeAxis::MAX_EFFORT {
            push(&mut joint, "actuatorfrcrange", join(&[-max_effort, max_effort]));
        }
        if law.max_rate < FreeAxis::MAX_RATE {
            writer.warn(
                &chain.joint.source,
                format!("the maxRate of joint '{}' is left out", chain.joint.name),
                "MuJoCo's motors drive at any rate",
            );
        }
        element.children.push(joint);
    }
}

/// A ball joint: its laws are the same about all axes.
fn ball(writer: &mut Writer, chain: &Chain, anchor: String) -> Node {
    let joint = chain.joint;
    let name = joint_name(writer, joint, &joint.name);
    let mut element = node("joint", 0, &[("name", name), ("type", "ball".into()), ("pos", anchor)]);
    let law = joint.axes[0].free().copied().unwrap_or_default();
    if law.lower.is_finite() || law.upper.is_finite() || joint.swing.is_finite() {
        let what = format!("the stops of ball joint '{}' are left out", joint.name);
        writer.warn(&joint.source, what, "MuJoCo limits the whole angle, not swing and twist");
    }
    push_losses(&law, &mut element);
    element
}

/// Adds losses, spring and rotor inertia that are not 0.
fn push_losses(law: &FreeAxis, element: &mut Node) {
    let losses = [
        ("damping", law.damping),
        ("frictionloss", law.friction),
        ("stiffness", law.stiffness),
        ("armature", law.armature),
    ];
    for (name, value) in losses.into_iter().filter(|(_, value)| *value != 0.0) {
        push(element, name, value.to_string());
    }
}

/// A loop joint: a ball or fixed joint is one equality, a hinge two, at two points of its axis.
fn closure(writer: &mut Writer, index: usize) -> Vec<Node> {
    let joint = &writer.mechanism.joints[index];
    let (child, parent) = (name_of(writer, joint.child.index()), name_of(writer, joint.parent.index()));
    let (tag, count) = match joint.kind {
        JointKind::Ball => ("connect", 1),
        JointKind::Hinge => ("connect", 2),
        JointKind::Fixed => ("weld", 1),
        other => {
            let what = format!("joint '{}', a {} that closes a loop, is left out", joint.name, other.name());
            writer.warn(&joint.source, what, "MuJoCo closes loops at points and altogether; the loop is open there");
            return Vec::new();
        }
    };
    let has_laws = |axis: &Axis| {
        let plain = FreeAxis { initial_position: 0.0, initial_rate: None, ..FreeAxis::default() };
        axis.free().is_some_and(|law| FreeAxis { initial_position: 0.0, initial_rate: None, ..*law } != plain)
    };
    if joint.axes.iter().any(has_laws) || joint.swing.is_finite() {
        let what = format!("stops, losses and spring of '{}', which closes a loop, are left out", joint.name);
        writer.warn(&joint.source, what, "MuJoCo's equalities have none");
    }
    let to_child = writer.mechanism.body(joint.child).pose.inverse();
    let (at, along) = (to_child.point(joint.anchor), to_child.direction(joint.initial_directions()[2]));
    let name = joint_name(writer, joint, &joint.name);
    let point = |number: usize| {
        let name = if number == 0 { name.clone() } else { format!("{name}_{}", number + 1) };
        let anchor = join(&(at + along * (POINTS_APART * number as f64)).to_array());
        node(tag, 0, &[("name", name), ("body1", child.clone()), ("body2", parent.clone()), ("anchor", anchor)])
    };
    (0..count).map(point).collect()
}

fn add_couplings(writer: &mut Writer, equality: &mut Node) {
    for coupling in &writer.mechanism.couplings {
        let axis = |of: simpartner_model::JointAxis| {
            let joint = writer.mechanism.joint(of.joint);
            let name = if joint.degrees_of_freedom() == 1 {
                joint.name.clone()
            } else {
                format!("{}_{}", joint.name, of.axis + 1)
            };
            (joint_name(writer, joint, &name), joint.axes[of.axis].free().map_or(0.0, |free| free.initial_position))
        };
        let ((leader, leads), (follower, follows)) = (axis(coupling.leader), axis(coupling.follower));
        let constant = coupling.offset + coupling.ratio * leads - follows;
        let polynomial = join(&[constant, coupling.ratio, 0.0, 0.0, 0.0]);
        equality.children.push(node("joint", 0, &[("joint1", follower), ("joint2", leader), ("polycoef", polynomial)]));
    }
}

/// Actuators and sensors, the latter with a site each in its body.
fn devices(writer: &mut Writer, world: &World, bodies: &mut Node) -> (Node, Node) {
    let (mut actuators, mut sensors) = (node("actuator", 0, &[]), node("sensor", 0, &[]));
    for device in &world.devices {
        match &device.spec {
            DeviceSpec::Actuator(actuator) => add_actuator(writer, device, actuator, &mut actuators),
            DeviceSpec::Vehicle(vehicle) => {
                let what = format!("'{}', {} {}, is left out", device.name, vehicle.kind.article(), vehicle.kind);
                writer.warn(&device.source, what, "MuJoCo has actuators of single joints only");
            }
            DeviceSpec::Sensor(sensor) if sensor.camera().is_some() => {
                if let Mount::Body { body, pose } = sensor.mount {
                    let owner = name_of(writer, body.index());
                    add_to_body(bodies, &owner, cameras::camera_element(writer, device, sensor, &pose));
                }
            }
            DeviceSpec::Sensor(sensor) => {
                let tags: &[&str] = match sensor.kind {
                    DeviceKind::PositionSensor => &["framepos"],
                    DeviceKind::PoseSensor => &["framepos", "framequat"],
                    DeviceKind::VelocitySensor => &["framelinvel", "frameangvel"],
                    DeviceKind::Accelerometer => &["accelerometer"],
                    DeviceKind::Gyroscope => &["gyro"],
                    DeviceKind::ImuSensor => &["framequat", "gyro", "accelerometer"],
                    DeviceKind::DistanceSensor => &["rangefinder"],
                    DeviceKind::JointEncoder => &[],
                    other => {
                        let what = format!("'{}', a {}, is left out", device.name, other.name());
                        writer.warn(&device.source, what, "MuJoCo has no such sensor");
                        continue;
                    }
                };
                if let Mount::Body { body, pose } = sensor.mount {
                    let mut site = node("site", 0, &[("name", device.name.clone())]);
                    set_pose(&mut site, &pose);
                    let owner = name_of(writer, body.index());
                    add_to_body(bodies, &owner, Some(site));
                    for tag in tags {
                        let on = if tag.starts_with("frame") {
                            vec![("objtype", "site".to_owned()), ("objname", device.name.clone())]
                        } else {
                            vec![("site", device.name.clone())]
                        };
                        let name = if tags.len() == 1 { device.name.clone() } else { format!("{}_{tag}", device.name) };
                        sensors.children.push(node(tag, 0, &[[("name", name)].to_vec(), on].concat()));
                    }
                }
            }
        }
    }
    (actuators, sensors)
}

/// Adds an element to the body of this name.
fn add_to_body(bodies: &mut Node, owner: &str, element: Option<Node>) {
    bodies.walk_mut(&mut |body| {
        let is_owner =
            body.name == "body" && body.attributes.iter().any(|given| given.name == "name" && given.value == owner);
        body.children.extend(element.clone().filter(|_| is_owner));
    });
}

/// One actuator for each coordinate of the joint.
fn add_actuator(writer: &mut Writer, device: &crate::Device, actuator: &Actuator, actuators: &mut Node) {
    let (Mount::Joint(joint), tag) = (
        actuator.mount,
        match actuator.law {
            Law::Effort => "motor",
            Law::Position | Law::Angle(_) => "position",
            Law::Velocity => "velocity",
            Law::Force(_) | Law::Surface(_) | Law::Propeller(_) => "",
        },
    ) else {
        return writer.warn(
            &device.source,
            format!("'{}' is left out", device.name),
            "MuJoCo's actuators drive joints",
        );
    };
    let gains = actuator.gains.map_or_else(Vec::new, |gains| {
        let all = [("kp", gains.stiffness), ("kv", gains.damping)];
        all.into_iter().filter(|(_, gain)| *gain > 0.0).map(|(name, gain)| (name, gain.to_string())).collect()
    });
    if actuator.gains.is_some_and(|gains| gains.integral > 0.0) {
        writer.warn(
            &device.source,
            format!("the integral of '{}' is left out", device.name),
            "MuJoCo's actuators have none",
        );
    }
    if tag != "motor" && gains.is_empty() {
        writer.warn(
            &device.source,
            format!("'{}' gets the gain that MuJoCo has by default", device.name),
            "give it a kp or kv; ours is as stiff as its effort allows",
        );
    }
    let joint = writer.mechanism.joint(joint);
    let free: Vec<usize> = joint.free_coordinates().map(|(index, _)| index).filter(|_| joint.kind.has_axes()).collect();
    for index in &free {
        let (name, own) = match free.len() {
            1 => (joint.name.clone(), device.name.clone()),
            _ => (format!("{}_{}", joint.name, index + 1), format!("{}_{}", device.name, index + 1)),
        };
        let names = [("name", joint_name(writer, joint, &own)), ("joint", joint_name(writer, joint, &name))];
        actuators.children.push(node(tag, 0, &[&names[..], &gains[..]].concat()));
    }
}
