//! Vehicle controllers: `<wheel>` and `<track>` in an `<actuator>`, with their geometry from joints and bodies.

use std::collections::HashMap;

use bevy_math::{DVec2, DVec3};
use simpartner_model::{BodyId, FrictionDirection, Joint, JointId, Pose, SurfaceMotion};
use simpartner_wire::signal::DeviceKind;

use super::{
    mechanism_parts::MechanismParts,
    node::Node,
    reading::{Reading, is_given},
};
use crate::{
    device::{DeviceSpec, Mount},
    vehicle::{MotionLimits, Steering, Track, Vehicle, VehicleWheel},
    watchdog::Watchdog,
};

/// Largest sine of the angle between an axle and the vehicle's x-z plane, and of that between a steering axis and the
/// vehicle's y axis: camber and caster of cars are smaller.
pub(super) const MOST_TILT: f64 = 0.35;
/// Smallest cosine of the angle between the direction of rolling and forward, for wheels with fixed axles.
pub(super) const FORWARD_COSINE: f64 = 0.99;
/// Smallest distance of wheels or tracks to the left and to the right that turns a vehicle, m.
pub(super) const LEAST_TRACK: f64 = 1e-3;
/// Smallest part of a wheel's motion that moves the vehicle, as the cosine between its rolling and its grip.
const LEAST_GRIP: f64 = 0.01;

/// Reads the controller in `node`, on the body of `mount`.
pub(super) fn read_vehicle(
    reading: &Reading,
    node: &Node,
    kind: DeviceKind,
    mount: Mount,
    watchdog: Option<Watchdog>,
    parts: &mut MechanismParts,
) -> Option<Vehicle> {
    let Mount::Body { body, pose } = mount else { return None };
    let place = Place { reading, frame: parts.bodies[body.index()].pose.then(&pose) };
    if (place.frame.rotation * DVec3::Y).y < 0.0 {
        let what = format!("the y axis of the {kind} points down: it drives backward and turns to the other side");
        reading.warn(node.offset, what, FRAME_ADVICE.into());
    }
    let tracked = kind == DeviceKind::TrackController;
    let gear = if tracked { "track" } else { "wheel" };
    let given: Vec<&Node> = node.children.iter().filter(|child| child.name == gear).collect();
    let (mut wheels, mut tracks) = (Vec::new(), Vec::new());
    for child in &given {
        match tracked {
            true => tracks.extend(place.read_track(child, parts)),
            false => wheels.extend(place.read_wheel(child, kind, parts)),
        }
    }
    if wheels.len() + tracks.len() < given.len() {
        return None;
    }
    let factor = reading.attribute_real(node, "trackWidthFactor")?;
    wheels.iter_mut().for_each(|wheel| wheel.centre.y *= factor);
    tracks.iter_mut().for_each(|track| track.centre.y *= factor);
    let limit = |name| if is_given(node, name) { reading.attribute_real(node, name) } else { Some(f64::INFINITY) };
    let limits = |speed, acceleration, jerk| {
        Some(MotionLimits { speed: limit(speed)?, acceleration: limit(acceleration)?, jerk: limit(jerk)? })
    };
    let vehicle = Vehicle {
        kind,
        body,
        pose,
        wheels,
        tracks,
        linear: limits("maxSpeed", "maxAcceleration", "maxJerk")?,
        angular: limits("maxTurnRate", "maxTurnAcceleration", "maxTurnJerk")?,
        max_steering_rate: limit("maxSteeringRate")?,
        max_effort: reading.attribute_real(node, "maxForce")?,
        watchdog,
    };
    match motion_obstacle(&vehicle) {
        None => Some(vehicle),
        Some((what, help)) => {
            reading.problem_with_help(node.offset, format!("{} {kind} {what}", kind.article()), help);
            None
        }
    }
}

/// Reason why the wheels or tracks cannot move the vehicle as its commands ask, with advice.
fn motion_obstacle(vehicle: &Vehicle) -> Option<(&'static str, &'static str)> {
    let driven: Vec<&VehicleWheel> = vehicle.wheels.iter().filter(|wheel| wheel.is_driven).collect();
    let width = |places: &[DVec2]| {
        let across = places.iter().map(|place| place.y);
        across.clone().fold(f64::NEG_INFINITY, f64::max) - across.fold(f64::INFINITY, f64::min)
    };
    let spread = |wheels: &[&VehicleWheel]| width(&wheels.iter().map(|wheel| wheel.centre).collect::<Vec<_>>());
    match vehicle.kind {
        DeviceKind::TrackController => {
            let centres: Vec<DVec2> = vehicle.tracks.iter().map(|track| track.centre).collect();
            (width(&centres) < LEAST_TRACK)
                .then_some(("needs a track on each side", "give a <track body=\"..\"/> for each"))
        }
        DeviceKind::AckermannController if driven.is_empty() => {
            Some(("has no wheel that drives", "give a <wheel joint=\"..\"/> for each"))
        }
        DeviceKind::AckermannController if vehicle.wheels.iter().all(|wheel| wheel.steering.is_none()) => {
            Some(("steers no wheel", "give the steered wheels the attribute steering, the name of a joint"))
        }
        DeviceKind::OmnidirectionalController => (!spans_the_plane(&driven)).then_some((
            "cannot move in all directions with these wheels",
            "give at least three driven wheels whose rollers, by the attribute rollerAngle of their materials, lie in \
             different directions",
        )),
        DeviceKind::DifferentialDriveController => (spread(&driven) < LEAST_TRACK).then_some((
            "needs a driven wheel on each side",
            "give a <wheel joint=\"..\"/> for each; the vehicle's x axis is forward, y up and z to the right",
        )),
        _ => None,
    }
}

/// True if the wheels can give the vehicle any velocity in the plane and any turn rate.
fn spans_the_plane(wheels: &[&VehicleWheel]) -> bool {
    let row = |wheel: &&VehicleWheel| {
        let moment = wheel.centre.x * wheel.grip.y - wheel.centre.y * wheel.grip.x;
        DVec3::new(wheel.grip.x, wheel.grip.y, moment)
    };
    let rows: Vec<DVec3> = wheels.iter().map(row).collect();
    let scale = rows.iter().map(|row| row.z.abs()).fold(0.0, f64::max);
    let volumes = rows.iter().flat_map(|a| rows.iter().map(move |b| a.cross(*b)));
    volumes.flat_map(|normal| rows.iter().map(move |c| normal.dot(*c).abs())).any(|volume| volume > 1e-3 * scale)
}

/// The frame of a vehicle in its file, where its parts are read.
struct Place<'r, 'a> {
    reading: &'r Reading<'a>,
    /// `file_from_vehicle`
    frame: Pose,
}

/// The components forward and to the left of a vector in the vehicle's frame.
fn in_plane(vector: DVec3) -> DVec2 {
    DVec2::new(vector.x, -vector.z)
}

impl Place<'_, '_> {
    fn in_vehicle_axes(&self, in_file: DVec3) -> DVec3 {
        self.frame.rotation.inverse() * in_file
    }

    fn place_in_plane(&self, in_file: DVec3) -> DVec2 {
        in_plane(self.in_vehicle_axes(in_file - self.frame.translation))
    }

    fn read_wheel(&self, node: &Node, kind: DeviceKind, parts: &MechanismParts) -> Option<VehicleWheel> {
        let reading = self.reading;
        let joint_id = self.named_joint(node, "joint", parts)?;
        let joint = &parts.joints[joint_id.index()];
        let offset = reading.attribute_offset(node, "joint");
        let (coordinate, axis) = self.turning_axis(joint, offset)?;
        let round = joint.wheel(&parts.bodies);
        let radius = match round {
            _ if is_given(node, "radius") => reading.attribute_real(node, "radius")?,
            Some(wheel) => wheel.radius,
            None => {
                let body = &parts.bodies[joint.child.index()].name;
                let message = format!("the radius of wheel '{body}' is unknown: it has no round shape about its axle");
                reading.problem_with_help(node.offset, message, "give the attribute radius");
                return None;
            }
        };
        let (body, centre) = round.map_or((joint.child, joint.anchor), |wheel| (wheel.body, wheel.centre));
        let axle = self.in_vehicle_axes(axis) * if body == joint.parent { -1.0 } else { 1.0 };
        let level = in_plane(axle);
        if axle.y.abs() > MOST_TILT {
            let message = format!("the axle of joint '{}' is not level", joint.name);
            reading.problem_with_help(offset, message, FRAME_ADVICE);
            return None;
        }
        let level = level.normalize();
        // The rim of a wheel that turns about its axle moves with axle x (-radius up) at the ground, the vehicle
        // against it.
        let rolling = DVec2::new(level.y, -level.x) + DVec2::ZERO;
        let steering = match is_given(node, "steering") {
            true => Some(self.read_steering(node, kind, parts)?),
            false => None,
        };
        let must_point_forward = kind != DeviceKind::OmnidirectionalController && steering.is_none();
        if must_point_forward && rolling.x.abs() < FORWARD_COSINE {
            let message = format!("joint '{}' does not roll forward or backward", joint.name);
            reading.problem_with_help(offset, message, FRAME_ADVICE);
            return None;
        }
        let grip = self.grip_direction(parts, body, rolling, offset)?;
        let is_driven = reading.attribute_text(node, "driven")? == "true";
        let centre = self.place_in_plane(centre);
        Some(VehicleWheel { joint: joint_id, coordinate, radius, centre, rolling, grip, is_driven, steering })
    }

    /// The direction along which a wheel holds the ground: along its rollers, or else the direction of rolling.
    fn grip_direction(&self, parts: &MechanismParts, body: BodyId, rolling: DVec2, offset: usize) -> Option<DVec2> {
        let body = &parts.bodies[body.index()];
        let Some(FrictionDirection::AlongRollers { axle, angle }) = body.material.across.map(|across| across.direction)
        else {
            return Some(rolling);
        };
        let level = in_plane(self.in_vehicle_axes(body.pose.direction(axle))).normalize_or_zero();
        let grip = DVec2::from_angle(angle).rotate(level);
        if grip.dot(rolling).abs() < LEAST_GRIP {
            let message = format!("the rollers of wheel '{}' lie along its axle, so it drives nothing", body.name);
            let help = "rollerAngle is the angle from the axle to the rollers: 0.7854 or -0.7854 for a mecanum wheel, \
                        1.5708 for an omni wheel";
            self.reading.problem_with_help(offset, message, help);
            return None;
        }
        Some(grip)
    }

    fn read_steering(&self, node: &Node, kind: DeviceKind, parts: &MechanismParts) -> Option<Steering> {
        let reading = self.reading;
        let offset = reading.attribute_offset(node, "steering");
        if kind != DeviceKind::AckermannController {
            let message = format!("{} {kind} steers by its wheels' speeds alone", kind.article());
            reading.problem_with_help(offset, message, "an AckermannController has steered wheels");
            return None;
        }
        let id = self.named_joint(node, "steering", parts)?;
        let joint = &parts.joints[id.index()];
        let (coordinate, axis) = self.turning_axis(joint, offset)?;
        let up = self.in_vehicle_axes(axis).y;
        if 1.0 - up.abs() > 0.5 * MOST_TILT * MOST_TILT {
            let message = format!("the axis of steering '{}' is not upright", joint.name);
            reading.problem_with_help(offset, message, FRAME_ADVICE);
            return None;
        }
        let free = *joint.axes[coordinate].free()?;
        Some(Steering {
            joint: id,
            coordinate,
            pivot: self.place_in_plane(joint.anchor),
            sense: up.signum(),
            initial: free.initial_position,
            stops: [free.lower, free.upper],
        })
    }

    fn read_track(&self, node: &Node, parts: &mut MechanismParts) -> Option<Track> {
        let reading = self.reading;
        let offset = reading.attribute_offset(node, "body");
        let id = parts.body_names.resolve(reading, offset, reading.attribute_text(node, "body")?)?;
        let body = &mut parts.bodies[id.index()];
        let Some(shape) = body.collision_shape() else {
            let message = format!("body '{}' has no surface that could move", body.name);
            reading.problem_with_help(offset, message, "give it a shape");
            return None;
        };
        let centre = self.place_in_plane(body.pose.point(shape.pose.translation));
        // The part of the belt that touches the ground moves backward, as the rim of a wheel that rolls forward.
        let axle = body.pose.rotation.inverse() * (self.frame.rotation * DVec3::NEG_Z);
        body.material.surface_motion = SurfaceMotion::Belt;
        for material in body.part_materials.iter_mut().flatten() {
            material.surface_motion = SurfaceMotion::Belt;
        }
        Some(Track { body: id, centre, axle })
    }

    fn named_joint(&self, node: &Node, attribute: &str, parts: &MechanismParts) -> Option<JointId> {
        let offset = self.reading.attribute_offset(node, attribute);
        let name = self.reading.attribute_text(node, attribute)?;
        parts.joint_names.index(self.reading, offset, name).map(JointId::new)
    }

    /// The only free coordinate of a joint, which must turn, and its axis in the file's frame.
    fn turning_axis(&self, joint: &Joint, offset: usize) -> Option<(usize, DVec3)> {
        let mut free = joint.free_coordinates();
        match (free.next(), free.next()) {
            (Some((index, coordinate)), None) if !coordinate.linear => Some((index, joint.direction(coordinate))),
            _ => {
                let message = format!("joint '{}' does not turn about one axis alone", joint.name);
                self.reading.problem_with_help(offset, message, "use a hinge");
                None
            }
        }
    }
}

/// Advice for a vehicle whose frame points elsewhere.
const FRAME_ADVICE: &str = "in the vehicle's frame x is forward, y up and z to the right; the <pose> of the actuator \
                           turns this frame on its body";

/// The vehicle controllers of a file by their names.
pub(super) struct Vehicles<'s>(Vec<(&'s str, &'s Vehicle)>);

impl<'s> Vehicles<'s> {
    /// The vehicle controllers among actuators, each of which is known by the index of its node. A joint that a vehicle
    /// drives must have no other actuator.
    pub(super) fn among_actuators(
        reading: &Reading,
        nodes: &[&'s Node],
        actuators: &'s HashMap<usize, DeviceSpec>,
        parts: &MechanismParts,
    ) -> Self {
        let mut vehicles = Vec::new();
        // The first actuator of each joint, and whether it is a vehicle controller.
        let mut drivers: HashMap<JointId, (&str, bool)> = HashMap::new();
        for (index, node) in nodes.iter().enumerate() {
            let Some(spec) = actuators.get(&index) else { continue };
            let name = reading.attribute_text(node, "name").unwrap_or_default();
            let (joints, is_vehicle): (Vec<JointId>, bool) = match spec {
                DeviceSpec::Vehicle(vehicle) => {
                    vehicles.push((name, vehicle));
                    (vehicle.driven_joints().collect(), true)
                }
                _ => (spec.joint().into_iter().collect(), false),
            };
            for joint in joints {
                match drivers.insert(joint, (name, is_vehicle)) {
                    Some((first, other_is_vehicle)) if is_vehicle || other_is_vehicle => {
                        let joint = &parts.joints[joint.index()].name;
                        let message = format!("joint '{joint}' is driven by '{first}' already");
                        reading.problem_with_help(node.offset, message, "leave one of the two out");
                    }
                    _ => {}
                }
            }
        }
        Self(vehicles)
    }

    /// The vehicle controller that a sensor's `drive` names.
    pub(super) fn named_by(&self, reading: &Reading, node: &Node) -> Option<Vehicle> {
        if !is_given(node, "drive") {
            reading.problem(node.offset, format!("<{}> lacks the attribute 'drive'", node.name));
            return None;
        }
        let name = reading.attribute_text(node, "drive")?;
        if let Some((_, vehicle)) = self.0.iter().find(|(own, _)| *own == name) {
            return Some((*vehicle).clone());
        }
        let names: Vec<&str> = self.0.iter().map(|(own, _)| *own).collect();
        let help = match names.is_empty() {
            true => "the robot has none".to_owned(),
            false => format!("the robot has {}", names.join(", ")),
        };
        let message = format!("there is no vehicle controller '{name}'");
        reading.problem_with_help(reading.attribute_offset(node, "drive"), message, help);
        None
    }
}
