//! Plugins that drive vehicles: they become vehicle controllers, with odometry.
//!
//! The plugins of Gazebo name the joints of wheels and steerings, and give radius and separation of the wheels. Place
//! and direction of the wheels follow from the model.

use bevy_math::DVec3;
use simpartner_model::Pose;
use simpartner_wire::signal::DeviceKind;

use super::{
    super::{
        model::{Form, Model, Motion, Rollers, Vehicle, VehicleWheel},
        robot::upright,
    },
    Gazebo,
    plugin_table::{STEERING_TAGS, WHEEL_TAGS},
};
use crate::xml::{
    node::Node,
    vehicle::{FORWARD_COSINE, LEAST_TRACK, MOST_TILT},
};

/// The radius of wheels without one, in DiffDrive of Gazebo, m.
const DEFAULT_RADIUS: f64 = 0.2;
/// Attributes of our controllers, and the tags of the limits. In Gazebo, `max_velocity` and the like hold for both.
const LIMIT_TAGS: [(&str, [&str; 3]); 6] = [
    ("maxSpeed", ["max_linear_velocity", "max_velocity", "maxLinearVelocity"]),
    ("maxAcceleration", ["max_linear_acceleration", "max_acceleration", "max_wheel_acceleration"]),
    ("maxJerk", ["max_linear_jerk", "max_jerk", "maxLinearJerk"]),
    ("maxTurnRate", ["max_angular_velocity", "max_velocity", "maxAngularVelocity"]),
    ("maxTurnAcceleration", ["max_angular_acceleration", "max_acceleration", "maxAngularAcceleration"]),
    ("maxTurnJerk", ["max_angular_jerk", "max_jerk", "maxAngularJerk"]),
];

impl Gazebo<'_, '_, '_> {
    /// Adds the vehicle of a plugin. False if its wheels are not there, or not as a vehicle needs them; the joints then
    /// have controllers of their own.
    pub(super) fn add_vehicle(&mut self, node: &Node, kind: DeviceKind) -> bool {
        let steerings = self.named_joints(node, STEERING_TAGS);
        let driven = self.named_joints(node, WHEEL_TAGS);
        let Some(first) = driven.first() else { return false };
        let chassis = self.top_carrier(self.model.joints[*first].parent);
        let Some(pose) = self.vehicle_pose(chassis, &driven, &steerings) else { return false };
        let places: Vec<DVec3> = driven.iter().map(|joint| self.wheel_place(chassis, &pose, *joint)).collect();
        let radius = ["wheel_radius", "wheelRadius"].iter().find_map(|tag| self.positive(node, tag));
        let diameter = ["wheel_diameter", "wheelDiameter"].iter().find_map(|tag| self.positive(node, tag));
        let radius = radius.or(diameter.map(|diameter| 0.5 * diameter));
        let wheel = |joint: &usize| {
            let link = self.model.joints[*joint].child;
            let round = self.model.links[link]
                .solids
                .iter()
                .any(|solid| matches!(solid.form, Form::Sphere { .. } | Form::Cylinder { .. } | Form::Capsule { .. }));
            VehicleWheel {
                joint: *joint,
                steering: steerings.iter().copied().find(|steering| self.model.carries_joint(*steering, *joint)),
                radius: radius.or((!round).then_some(DEFAULT_RADIUS)),
            }
        };
        let wheels: Vec<VehicleWheel> = driven.iter().map(wheel).collect();
        let is_ackermann = kind == DeviceKind::AckermannController;
        let is_sound = match kind {
            DeviceKind::AckermannController => wheels.iter().any(|wheel| wheel.steering.is_some()),
            DeviceKind::OmnidirectionalController => wheels.len() == 4,
            _ => places.iter().any(|place| place.y > LEAST_TRACK) && places.iter().any(|place| place.y < -LEAST_TRACK),
        };
        if !is_sound {
            return false;
        }
        if let Some(torque) =
            ["max_wheel_torque", "wheelTorque", "torque"].iter().find_map(|tag| self.positive(node, tag))
        {
            for wheel in &wheels {
                let most = &mut self.model.joints[wheel.joint].max_effort;
                *most = Some(most.map_or(torque, |own| own.min(torque)));
            }
        }
        let mut attributes = Vec::new();
        for (name, tags) in LIMIT_TAGS {
            if !(is_ackermann && name.starts_with("maxTurn") && name != "maxTurnRate") {
                let limit = tags.iter().find_map(|tag| self.positive(node, tag));
                attributes.extend(limit.map(|limit| (name, limit.to_string())));
            }
        }
        attributes.extend(self.track_width_factor(node, &places));
        if kind == DeviceKind::OmnidirectionalController {
            self.add_rollers(&driven, &places);
        }
        self.model.vehicles.push(Vehicle { kind, offset: node.offset, chassis, pose, wheels, attributes });
        true
    }

    /// The joints that elements of these tags name, in the order of the file.
    fn named_joints(&self, node: &Node, tags: &[&str]) -> Vec<usize> {
        let given = node.children.iter().filter(|child| tags.contains(&child.name.as_str()));
        let names = given.flat_map(|child| child.text.split_whitespace());
        let place = |name: &str| {
            let is_named = |joint: usize| {
                self.model.joints[joint].name == name && self.model.joints[joint].motion == Motion::Turning
            };
            (self.first_joint..self.model.joints.len()).find(|joint| is_named(*joint))
        };
        let mut joints = Vec::new();
        for joint in names.filter_map(place) {
            if !joints.contains(&joint) {
                joints.push(joint);
            }
        }
        joints
    }

    /// The link that carries this one and is carried by none but the world.
    fn top_carrier(&self, mut link: usize) -> usize {
        while let Some(joint) = self.model.joints.iter().find(|joint| joint.child == link)
            && Some(joint.parent) != self.world
        {
            link = joint.parent;
        }
        link
    }

    /// `link_from_vehicle` of a chassis: its axes with y up, turned about the vertical so that axles lie to the left
    /// and right. `None` if the axles are not level or not parallel to each other.
    fn vehicle_pose(&self, chassis: usize, driven: &[usize], steerings: &[usize]) -> Option<Pose> {
        let mut heading = None;
        for joint in driven.iter().filter(|joint| !steerings.iter().any(|own| self.model.carries_joint(*own, **joint)))
        {
            let axle =
                self.model.pose_in(chassis, self.model.joints[*joint].child)?.direction(self.model.joints[*joint].axis);
            if axle.z.abs() > MOST_TILT {
                return None;
            }
            // Forward is across the axle, on the side of the link's x axis.
            let ahead = DVec3::new(axle.y, -axle.x, 0.0).normalize();
            let ahead = if ahead.x < -1e-9 || (ahead.x.abs() <= 1e-9 && ahead.y < 0.0) { -ahead } else { ahead };
            let first = *heading.get_or_insert(ahead);
            if ahead.dot(first) < FORWARD_COSINE {
                return None;
            }
        }
        let ahead = heading.unwrap_or(DVec3::X);
        let turn = Pose::from_xyz_rpy(DVec3::ZERO, DVec3::new(0.0, 0.0, libm::atan2(ahead.y, ahead.x)));
        Some(turn.then(&upright().inverse()))
    }

    /// The place of a wheel's joint in the vehicle's frame as ROS has it: forward, to the left, up.
    fn wheel_place(&self, chassis: usize, pose: &Pose, joint: usize) -> DVec3 {
        let own = &self.model.joints[joint];
        let in_chassis = self.model.pose_in(chassis, own.child).map_or(DVec3::ZERO, |link| link.point(own.anchor));
        let ours = pose.inverse().point(in_chassis);
        DVec3::new(ours.x, -ours.z, ours.y)
    }

    /// The factor from the separation of the wheels in the model to that which the plugin gives.
    fn track_width_factor(&self, node: &Node, places: &[DVec3]) -> Option<(&'static str, String)> {
        let given = ["wheel_separation", "wheelSeparation"].iter().find_map(|tag| self.positive(node, tag))?;
        let mean = |side: f64| {
            let own: Vec<f64> = places.iter().map(|place| side * place.y).filter(|y| *y > 0.0).collect();
            own.iter().sum::<f64>() / own.len().max(1) as f64
        };
        let width = mean(1.0) + mean(-1.0);
        let factor = given / width;
        let differs = width > 0.0 && (factor - 1.0).abs() > 1e-6 && factor < 1e3;
        differs.then(|| ("trackWidthFactor", super::super::element::digits(factor)))
    }

    /// Gives mecanum wheels their rollers: at the ground they lie across the line to the vehicle's middle.
    fn add_rollers(&mut self, driven: &[usize], places: &[DVec3]) {
        let middle = places.iter().sum::<DVec3>() / places.len() as f64;
        for (joint, place) in driven.iter().zip(places) {
            let (link, axle) = (self.model.joints[*joint].child, self.model.joints[*joint].axis);
            let from_middle = *place - middle;
            let angle = std::f64::consts::FRAC_PI_4 * (from_middle.x * from_middle.y).signum();
            self.model.links[link].rollers = Some(Rollers { axle, angle });
        }
    }
}

impl Model {
    /// `ancestor_from_link` at zero coordinates; `None` if the link does not hang on the other one.
    fn pose_in(&self, ancestor: usize, mut link: usize) -> Option<Pose> {
        let mut pose = Pose::IDENTITY;
        for _ in 0..=self.joints.len() {
            if link == ancestor {
                return Some(pose);
            }
            let joint = self.joints.iter().find(|joint| joint.child == link)?;
            (pose, link) = (joint.pose.then(&pose), joint.parent);
        }
        None
    }

    /// True if the child of a joint carries another joint.
    fn carries_joint(&self, joint: usize, other: usize) -> bool {
        joint != other && self.pose_in(self.joints[joint].child, self.joints[other].parent).is_some()
    }
}
