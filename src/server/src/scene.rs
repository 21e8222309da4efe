//! The static description of a world as JSON, for clients that draw or publish it: bodies, joints and devices.

use bevy_math::{DMat3, DQuat, DVec3};
use serde_json::{Map, Value, json};
use simpartner_description::{DeviceSpec, Frame, Mount, World};
use simpartner_dynamics::{MassProperties, RUT_CELL, RUT_TILE, hull_surface, mass_properties, rut_axes};
use simpartner_model::{
    Body, Color, Ground, Heightfield, Joint, JointId, Placed, Pose, RobotId, Shape, Timestep, Visual,
};
use simpartner_wire::signal::{CameraOptics, DeviceInfo, DeviceKind};

use super::{served::Served, web::archive::RunModel};
use simpartner_simulation::device;

/// Version of the scene and of the messages between page and server.
const PROTOCOL_VERSION: u32 = 1;

/// Largest number of grid points of shown terrain along a side: half a million triangles, which a browser draws
/// smoothly.
const MAX_TERRAIN_POINTS: usize = 513;

/// The scene of the running world. Its `id` is unique to this start of the server.
pub(super) fn of_running(world: &World, served: &Served, timestep: Timestep) -> String {
    let ports: Vec<u16> = served.devices.iter().map(|port| port.address.port()).collect();
    let scene = json_of_world(world, served.layout.devices(), &ports, timestep);
    let start = format!("{} {}", std::process::id(), simpartner_realtime::now_ns());
    with_id(scene, &start)
}

/// The scene of a recorded run. Its ports are those in the model.
pub(super) fn of_run(run: i64, model: &RunModel) -> String {
    let devices = model.layout.devices();
    let ports: Vec<u16> = devices.iter().map(|info| info.port.number()).collect();
    with_id(json_of_world(&model.world, devices, &ports, model.timestep), &format!("run {run}"))
}

/// Adds an `id`, a hash of the scene and of `salt`.
fn with_id(mut scene: Value, salt: &str) -> String {
    let hash = blake3::hash(format!("{salt} {scene}").as_bytes()).to_hex();
    scene["id"] = json!(hash[..16]);
    scene.to_string()
}

fn json_of_world(world: &World, infos: &[DeviceInfo], ports: &[u16], timestep: Timestep) -> Value {
    let bodies = world.mechanism.bodies.iter().map(|body| json_of_body(body, world));
    let joints = world.mechanism.joints.iter().map(|joint| json_of_joint(joint, world));
    let devices = world.devices.iter().zip(infos).zip(ports);
    let devices = devices.map(|((device, info), &port)| json_of_device(&device.spec, info, port));
    json!({
        "protocol": PROTOCOL_VERSION,
        "name": world.name,
        "timestep": timestep.seconds(),
        "gravity": vector(world.mechanism.gravity),
        "grounds": world.mechanism.grounds.iter().map(json_of_ground).collect::<Vec<_>>(),
        "bodies": bodies.collect::<Vec<_>>(),
        "joints": joints.collect::<Vec<_>>(),
        "devices": devices.collect::<Vec<_>>(),
    })
}

pub(super) fn vector(vector: DVec3) -> [f64; 3] {
    vector.to_array()
}

/// Components xx, yy, zz, xy, xz, yz of a symmetric tensor, named as in URDF.
fn tensor_components(tensor: DMat3) -> [f64; 6] {
    let [x, y, z] = [tensor.x_axis, tensor.y_axis, tensor.z_axis];
    [x.x, y.y, z.z, y.x, z.x, z.y]
}

/// Components x, y, z, w.
fn quaternion(rotation: DQuat) -> [f64; 4] {
    rotation.to_array()
}

/// The name that the page shows (`robot/name`, or `name` outside of robots), and the name of the robot.
fn qualified_name(name: &str, robot: Option<RobotId>, world: &World) -> (String, Option<String>) {
    match robot.map(|robot| world.mechanism.robot(robot).name.clone()) {
        Some(robot) => (format!("{robot}/{name}"), Some(robot)),
        None => (name.to_owned(), None),
    }
}

fn json_of_ground(ground: &Ground) -> Value {
    let mut json = match ground {
        Ground::Plane(plane) => {
            json!({ "kind": "plane", "normal": vector(plane.normal), "distance": plane.distance })
        }
        Ground::Heightfield(field) => json_of_heightfield(&field.at_most(MAX_TERRAIN_POINTS)),
        Ground::Mesh(mesh) => {
            json!({ "kind": "mesh", "vertices": single_precision(&mesh.vertices), "triangles": mesh.triangles })
        }
    };
    json["friction"] = json!(ground.material().friction);
    json["ruts"] = json!(ground.material().soil.map(|_| {
        let normal = match ground {
            Ground::Plane(plane) => plane.normal,
            Ground::Heightfield(_) | Ground::Mesh(_) => DVec3::Y,
        };
        json!({ "cell": RUT_CELL, "tile": RUT_TILE, "axes": rut_axes(normal).map(vector) })
    }));
    json
}

/// A height that is missing (NaN) becomes null.
fn json_of_heightfield(field: &Heightfield) -> Value {
    json!({
        "kind": "heightfield",
        "points_x": field.points_x,
        "points_z": field.points_z,
        "width": field.width,
        "depth": field.depth,
        "pose": json_of_pose(&field.pose),
        "heights": &field.heights[..],
    })
}

/// Points in single precision, the precision of the drawing. It halves the number of digits.
fn single_precision(list: &[DVec3]) -> Vec<[f32; 3]> {
    list.iter().map(|point| point.as_vec3().to_array()).collect()
}

fn json_of_body(body: &Body, world: &World) -> Value {
    let (name, robot) = qualified_name(&body.name, body.robot, world);
    // The engine was built with these masses, so computing them succeeds. Those of fixed bodies have no meaning.
    let mass = mass_properties(body).ok().filter(|_| !body.fixed).unwrap_or(MassProperties::ZERO);
    json!({
        "name": name,
        "robot": robot,
        "fixed": body.fixed,
        "pose": json_of_pose(&body.pose),
        "mass": mass.mass,
        "centre_of_mass": vector(mass.centre_of_mass),
        "inertia": tensor_components(mass.tensor),
        "friction": body.material.friction,
        "shape": body.shape.as_ref().map(json_of_placed),
        "visuals": body.visuals.iter().map(json_of_visual).collect::<Vec<_>>(),
        "collision": body.collision.as_ref().map(json_of_placed),
    })
}

pub(super) fn json_of_visual(visual: &Visual) -> Value {
    let mut json = json_of_placed(&visual.placed);
    let opaque = visual.color.map(|color| Color { alpha: u8::MAX, ..color });
    json["color"] = json!(opaque.map(|color| color.to_string()));
    json["opacity"] = json!(visual.color.map_or(1.0, |color| color.fractions()[3]));
    json
}

pub(super) fn json_of_pose(pose: &Pose) -> Value {
    json!({ "position": vector(pose.translation), "rotation": quaternion(pose.rotation) })
}

pub(super) fn json_of_placed(placed: &Placed) -> Value {
    let mut json = match &placed.shape {
        Shape::Box { size } => json!({ "size": vector(*size) }),
        Shape::Sphere { radius } => json!({ "radius": radius }),
        Shape::Ellipsoid { radii } => json!({ "radii": vector(*radii) }),
        Shape::Cylinder { radius, length } | Shape::Capsule { radius, length } | Shape::Cone { radius, length } => {
            json!({ "radius": radius, "length": length })
        }
        Shape::ConvexHull { points: corners } => match hull_surface(corners) {
            Some((corners, triangles)) => json!({ "points": single_precision(&corners), "triangles": triangles }),
            None => json!({ "points": single_precision(corners), "triangles": [] }),
        },
        Shape::TriangleMesh { vertices, triangles } => {
            json!({ "vertices": single_precision(vertices), "triangles": triangles })
        }
        Shape::Compound { parts } => json!({ "parts": parts.iter().map(json_of_placed).collect::<Vec<_>>() }),
    };
    json["kind"] = json!(placed.shape.name());
    json["position"] = json!(vector(placed.pose.translation));
    json["rotation"] = json!(quaternion(placed.pose.rotation));
    json
}

fn json_of_joint(joint: &Joint, world: &World) -> Value {
    let (name, _) = qualified_name(&joint.name, joint.robot, world);
    let parent_from_world = world.mechanism.body(joint.parent).pose.rotation.inverse();
    let child = &world.mechanism.body(joint.child).pose;
    let axes = joint.free_coordinates().filter_map(|(index, coordinate)| {
        let motion = joint.axes[index].free()?;
        Some(json!({
            "axis": index + 1,
            "linear": coordinate.linear,
            "direction": vector(parent_from_world * joint.direction(coordinate)),
            "lower": motion.lower,
            "upper": motion.upper,
            "initial": motion.initial_position,
            "max_effort": motion.max_effort,
            "max_rate": motion.max_rate,
            "damping": motion.damping,
            "friction": motion.friction,
        }))
    });
    json!({
        "name": name,
        "kind": joint.kind.name(),
        "parent": joint.parent.index(),
        "child": joint.child.index(),
        "anchor": vector(child.rotation.inverse() * (joint.anchor - child.translation)),
        "axes": axes.collect::<Vec<_>>(),
    })
}

fn json_of_device(spec: &DeviceSpec, info: &DeviceInfo, port: u16) -> Value {
    let (body, pose, joint) = match spec.mount() {
        Mount::Body { body, pose } => (Some(body.index()), Some(pose), None),
        Mount::Joint(joint) => (None, None, Some(joint)),
    };
    let (rays, frame) = match spec {
        DeviceSpec::Sensor(sensor) => (device::rays(sensor), Some(sensor.options.frame)),
        DeviceSpec::Actuator(_) | DeviceSpec::Vehicle(_) => (None, None),
    };
    let frame = frame.filter(|_| !info.kind.description().frames.is_empty());
    let fields = info.fields.iter().map(
        |field| json!({ "name": field.name, "unit": field.unit, "lowest": field.lowest, "highest": field.highest }),
    );
    json!({
        "name": info.name,
        "robot": info.robot,
        "kind": info.kind.name(),
        "actuator": info.kind.is_actuator(),
        "port": port,
        "body": body,
        "pose": pose.as_ref().map(json_of_pose),
        "joint": joint.map(JointId::index),
        "frame": frame.map(Frame::name),
        "interval_steps": info.interval_steps,
        "fields": fields.collect::<Vec<_>>(),
        "command_lengths": info.kind.command_lengths(),
        "rays": rays.map(|rays| json!({
            "body": rays.body.index(),
            "origin": vector(rays.origin),
            "directions": rays.directions.iter().copied().map(vector).collect::<Vec<_>>(),
            "range": rays.range,
            "layers": rays.layers,
        })),
        "camera": info.camera.map(|optics| json_of_optics(&optics, info.kind)),
    })
}

/// The geometry of a camera's images. A `far` without a limit becomes null.
fn json_of_optics(optics: &CameraOptics, kind: DeviceKind) -> Value {
    let coefficients = optics.lens.coefficients().into_iter().map(|(name, value)| (name.to_owned(), json!(value)));
    json!({
        "width": optics.width,
        "height": optics.height,
        "focal": optics.focal,
        "principal_point": optics.principal_point,
        "near": optics.near,
        "far": optics.far,
        "lens": { "model": optics.lens.name(), "coefficients": coefficients.collect::<Map<String, Value>>() },
        "encodings": optics.encodings(kind).iter().map(|encoding| encoding.name()).collect::<Vec<_>>(),
    })
}
