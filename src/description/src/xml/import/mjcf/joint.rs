//! Joints of a body.

use bevy_math::{DQuat, DVec3};
use simpartner_model::Pose;

use super::{
    super::{
        attributes::{attribute, first_numbers, number, numbers},
        model::{Joint, Motion},
        scene::WORLD,
    },
    body::Part,
    compiler::about,
    importer::{Mjcf, SpringDamper},
};
use crate::text::numbers::shorten;

impl Mjcf<'_, '_> {
    /// Reads a joint from the first link to the second. `at` is the pose of the second link at the coordinates of the
    /// file.
    pub(super) fn read_joint(
        &mut self,
        [parent, carrier]: [usize; 2],
        at: Pose,
        default: String,
        part: &Part,
        count: usize,
    ) {
        let node = match part.node.name.as_str() {
            "freejoint" => part.node.clone().into_owned(),
            _ => self.resolve(&part.node, part.class()),
        };
        let kind = if node.name == "freejoint" { "free" } else { attribute(&node, "type").unwrap_or("hinge") };
        let motion = match kind {
            "free" if parent != WORLD || count > 1 => {
                let help = "MuJoCo takes one only as the single joint of a body of the world";
                return self.reading.problem_with_help(node.offset, "a free joint does not belong here", help);
            }
            "free" => Motion::Free,
            "ball" => Motion::Ball,
            "slide" => Motion::Sliding,
            "hinge" => Motion::Turning,
            other => {
                let message = format!("a joint of the type '{}' is not known", shorten(other));
                let help = "free, ball, slide and hinge are";
                return self.reading.problem_with_help(self.reading.attribute_offset(&node, "type"), message, help);
            }
        };
        let name = attribute(&node, "name").map_or(default, str::to_owned);
        let mut joint = Joint::new(name.clone(), node.offset, motion, [carrier, carrier]);
        joint.pose = at;
        let vector = |name: &str| numbers::<3>(self.reading, &node, name).map(DVec3::from_array);
        joint.anchor = part.frame.point(vector("pos").unwrap_or(DVec3::ZERO));
        let axis = vector("axis").unwrap_or(DVec3::Z).try_normalize();
        if axis.is_none() {
            self.reading.problem(
                self.reading.attribute_offset(&node, "axis"),
                format!("the axis of joint '{name}' has no length"),
            );
        }
        joint.axis = part.frame.direction(axis.unwrap_or(DVec3::Z));
        if motion == Motion::Free {
            self.tell_free_losses(&node);
        } else {
            self.set_motion(&node, &mut joint);
        }
        if self.joints.insert(name.clone(), self.model.joints.len()).is_some() {
            self.reading
                .problem(self.reading.attribute_offset(&node, "name"), format!("there is a joint '{name}' already"));
        }
        let given = numbers::<2>(self.reading, &node, "springdamper").filter(|_| motion != Motion::Free);
        if let Some([time, ratio]) = given.filter(|[time, ratio]| *time > 0.0 && *ratio > 0.0) {
            self.spring_dampers.push(SpringDamper { joint: self.model.joints.len(), time, ratio });
        }
        self.order.push(self.model.joints.len());
        self.model.joints.push(joint);
    }

    /// Reports losses of a free joint; a class of joints often includes the joint that lets the robot float.
    fn tell_free_losses(&self, node: &super::Node) {
        for (name, meaning) in [
            ("armature", "the body that floats has its own inertia only"),
            ("damping", "nothing brakes a body that floats"),
            ("frictionloss", "nothing brakes a body that floats"),
        ] {
            if number(self.reading, node, name).is_some_and(|value| value != 0.0) {
                self.notes.add(node.offset, format!("'{name}' of a free joint is left out"), meaning);
            }
        }
    }

    /// Sets limits, losses, spring and rotor, and the position of coordinate 0.
    fn set_motion(&self, node: &super::Node, joint: &mut Joint) {
        let turns = joint.motion == Motion::Turning;
        let angle = |value: f64| if turns { self.compiler.angle(value) } else { value };
        let positive = |name: &str| {
            // Newer versions take polynomials; their first number is the linear part.
            let value = first_numbers::<1>(self.reading, node, name).map_or(0.0, |[linear]| linear);
            if value < 0.0 {
                let message = format!("the {name} of joint '{}' is below zero: it would drive the joint", joint.name);
                self.reading.problem(self.reading.attribute_offset(node, name), message);
            }
            value
        };
        let losses = ["damping", "frictionloss", "stiffness", "armature"].map(positive);
        let is_limited = self.compiler.is_limited(self.reading, node, "limited", "range");
        let range = numbers::<2>(self.reading, node, "range").filter(|_| is_limited);
        if is_limited && range.is_none() && joint.motion != Motion::Ball && self.reading.is_sound() {
            self.reading.problem(node.offset, format!("joint '{}' is limited and has no range", joint.name));
        }
        [joint.damping, joint.friction, joint.stiffness, joint.armature] = losses;
        if joint.motion == Motion::Ball {
            if let Some([_, most]) = range {
                self.set_cone(node, self.compiler.angle(most), joint);
            }
            return;
        }
        match range.map(|range| range.map(angle)) {
            Some([lower, upper]) if lower < upper => joint.limits = Some([lower, upper]),
            Some(_) => self.reading.problem(
                self.reading.attribute_offset(node, "range"),
                format!("the range of joint '{}' is empty", joint.name),
            ),
            None => {}
        }
        let coordinate = |name: &str| number(self.reading, node, name).map_or(0.0, angle);
        joint.spring_position = coordinate("springref");
        joint.initial = coordinate("ref");
        if joint.initial != 0.0 {
            joint.pose = joint.pose.then(&motion_of(joint, -joint.initial));
        }
        if self.compiler.is_limited(self.reading, node, "actuatorfrclimited", "actuatorfrcrange") {
            joint.max_effort =
                numbers::<2>(self.reading, node, "actuatorfrcrange").map(|[low, high]| low.abs().max(high.abs()));
        }
    }
}

impl Mjcf<'_, '_> {
    /// Sets the stops of a ball joint: MuJoCo's limit applies to the whole angle, which swing and twist together may
    /// exceed.
    fn set_cone(&self, node: &super::Node, most: f64, joint: &mut Joint) {
        if most <= 0.0 {
            let place = self.reading.attribute_offset(node, "range");
            return self.reading.problem(place, format!("the range of joint '{}' is empty", joint.name));
        }
        if most >= std::f64::consts::PI {
            return;
        }
        let meaning =
            "its swing and its twist have it as their bound each; both at once turn farther than MuJoCo's whole angle";
        self.notes.add(node.offset, "'range' of a ball joint becomes stops of its swing and of its twist", meaning);
        (joint.limits, joint.swing) = (Some([-most, most]), Some(most));
    }
}

/// Motion of the child by a coordinate, in the child's frame at 0.
pub(super) fn motion_of(joint: &Joint, coordinate: f64) -> Pose {
    match joint.motion {
        Motion::Sliding => Pose { translation: joint.axis * coordinate, rotation: DQuat::IDENTITY },
        _ => {
            let rotation = about(joint.axis, coordinate);
            Pose { translation: joint.anchor - rotation * joint.anchor, rotation }
        }
    }
}
