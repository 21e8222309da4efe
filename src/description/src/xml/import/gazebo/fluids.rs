//! Plugins of wings, propellers and water: LiftDrag, MulticopterMotorModel, Thruster, Hydrodynamics and Buoyancy.

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_model::Pose;
use simpartner_wire::signal::DeviceKind;

use super::{
    super::model::{Device, Motion, Mount},
    Gazebo, number, text, vector,
};
use crate::{text::tree::child, xml::node::Node};

/// Density of the air in LiftDrag, kg/m³, and that of the water in Thruster and Buoyancy.
const AIR_DENSITY: f64 = 1.2041;
const WATER_DENSITY: f64 = 1000.0;
/// Height of the water's surface where all of a world is under water, m.
const UNDER_WATER: f64 = 1e6;
/// Attributes of our `<wing>`, and the tags and defaults of LiftDrag.
const WING_TAGS: [(&str, &str, f64); 7] = [
    ("area", "area", 1.0),
    ("angle", "a0", 0.0),
    ("liftSlope", "cla", 1.0),
    ("stalledLiftSlope", "cla_stall", 0.0),
    ("dragSlope", "cda", 0.01),
    ("stalledDragSlope", "cda_stall", 1.0),
    ("stallAngle", "alpha_stall", 1.5),
];
/// Attributes of our `<fluidDamping>`, and the tags of Hydrodynamics, whose coefficients are negative.
const DAMPING_TAGS: [(&str, &[&str]); 12] = [
    ("linearX", &["xU"]),
    ("linearY", &["yV"]),
    ("linearZ", &["zW"]),
    ("quadraticX", &["xUabsU", "xUU"]),
    ("quadraticY", &["yVabsV", "yVV"]),
    ("quadraticZ", &["zWabsW", "zWW"]),
    ("linearRotationX", &["kP"]),
    ("linearRotationY", &["mQ"]),
    ("linearRotationZ", &["nR"]),
    ("quadraticRotationX", &["kPabsP", "kPP"]),
    ("quadraticRotationY", &["mQabsQ", "mQQ"]),
    ("quadraticRotationZ", &["nRabsR", "nRR"]),
];

/// True for a number that is 0, false or no text.
fn is_nothing(text: &str) -> bool {
    text.is_empty() || text == "false" || text.parse() == Ok(0.0)
}

/// A plugin that this module reads, by a part of its simplified name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FluidPlugin {
    LiftDrag,
    MulticopterMotor,
    Thruster,
    Hydrodynamics,
    Buoyancy,
}

/// The parts of names of these plugins, and what becomes of each. The first match applies.
pub(super) const FLUID_PLUGINS: [(&str, FluidPlugin, &str); 5] = [
    ("LiftDrag", FluidPlugin::LiftDrag, "a `<wing>` of its link; AdvancedLiftDrag is left out"),
    (
        "MulticopterMotorModel",
        FluidPlugin::MulticopterMotor,
        "a PropellerController on the link that carries the rotor's joint",
    ),
    ("Thruster", FluidPlugin::Thruster, "a PropellerController on the link that carries the propeller's joint"),
    ("Hydrodynamics", FluidPlugin::Hydrodynamics, "`<fluidDamping>` of its link, without added mass"),
    ("Buoyancy", FluidPlugin::Buoyancy, "`<water>`, and `<buoyancy>` of all links"),
];

impl Gazebo<'_, '_, '_> {
    /// Reads a plugin of a model, or of a world. False if something that it names is not there.
    pub(super) fn read_fluid_plugin(&mut self, node: &Node, plugin: FluidPlugin) -> bool {
        match plugin {
            FluidPlugin::LiftDrag => self.read_lift_drag(node),
            FluidPlugin::MulticopterMotor => self.read_rotor(node),
            FluidPlugin::Thruster => self.read_thruster(node),
            FluidPlugin::Hydrodynamics => self.read_hydrodynamics(node),
            FluidPlugin::Buoyancy => {
                self.read_buoyancy(node);
                true
            }
        }
    }

    fn read_lift_drag(&mut self, node: &Node) -> bool {
        let Some(link) = text(node, "link_name").and_then(|name| self.links.get(name)).copied() else { return false };
        let direction =
            |tag, default| vector(self.reading, node, tag).unwrap_or(default).try_normalize().unwrap_or(default);
        let (ahead, up) = (direction("forward", DVec3::X), direction("upward", DVec3::Z));
        let Some(span) = ahead.cross(up).try_normalize() else { return false };
        let rotation = DQuat::from_mat3(&DMat3::from_cols(ahead, span.cross(ahead), span));
        let pose = Pose { translation: vector(self.reading, node, "cp").unwrap_or_default(), rotation };
        let attributes = WING_TAGS.map(|(ours, tag, default)| {
            let value = number(self.reading, node, tag).unwrap_or(default);
            (ours, if ours == "stallAngle" { value.clamp(0.0, 1.6) } else { value }.to_string())
        });
        if attributes[0].1.parse::<f64>().is_ok_and(|area| area <= 0.0) {
            return false;
        }
        self.model.links[link].wings.push((pose, attributes.to_vec()));
        let density = self.positive(node, "air_density").unwrap_or(AIR_DENSITY);
        self.model.fluids.air.get_or_insert(density);
        for tag in ["control_joint_name", "radial_symmetry", "cma"] {
            if let Some(part) = child(node, tag).filter(|part| !is_nothing(part.text.trim())) {
                let what = format!("<{tag}> of a LiftDrag is left out");
                self.notes.add(part.offset, what, "the wing has the lift of its angle of attack alone");
            }
        }
        true
    }

    fn read_rotor(&mut self, node: &Node) -> bool {
        let Some((link, pose)) = text(node, "jointName").and_then(|name| self.propeller_mount(name)) else {
            return false;
        };
        let Some(thrust) = self.positive(node, "motorConstant") else { return false };
        let torque = self.positive(node, "momentConstant").unwrap_or(0.0) * thrust;
        let mut attributes = vec![("torqueCoefficient", torque.to_string())];
        let time_constant = self.positive(node, "timeConstantUp").map(|time| ("timeConstant", time.to_string()));
        let max_rate = self.positive(node, "maxRotVelocity").map(|rate| ("maxRate", rate.to_string()));
        attributes.extend(time_constant.into_iter().chain(max_rate));
        let turns_right = text(node, "turningDirection").is_some_and(|word| word == "cw");
        attributes.extend(turns_right.then(|| ("turning", "right".to_owned())));
        self.add_propeller(node, text(node, "jointName").unwrap_or_default(), (link, pose), thrust, attributes);
        true
    }

    fn read_thruster(&mut self, node: &Node) -> bool {
        let name = text(node, "joint_name").unwrap_or_default();
        let Some(mount) = self.propeller_mount(name) else { return false };
        let coefficient = self.positive(node, "thrust_coefficient").unwrap_or(1.0);
        let diameter = self.positive(node, "propeller_diameter").unwrap_or(0.02);
        let density = self.positive(node, "fluid_density").unwrap_or(WATER_DENSITY);
        let thrust = coefficient * density * diameter * diameter * diameter * diameter;
        self.notes.add(node.offset, "a Thruster is commanded by its rate", "its own command is the thrust");
        self.add_propeller(node, name, mount, thrust, Vec::new());
        true
    }

    /// The link that carries a joint, and a frame on it whose y axis is the joint's.
    fn propeller_mount(&self, name: &str) -> Option<(usize, Pose)> {
        let joints = &self.model.joints[self.first_joint..];
        let joint = joints.iter().find(|joint| joint.name == name && joint.motion == Motion::Turning)?;
        let rotation = DQuat::from_rotation_arc(DVec3::Y, joint.pose.direction(joint.axis));
        Some((joint.parent, Pose { translation: joint.pose.point(joint.anchor), rotation }))
    }

    fn add_propeller(
        &mut self,
        node: &Node,
        joint: &str,
        (link, pose): (usize, Pose),
        thrust: f64,
        mut attributes: Vec<(&'static str, String)>,
    ) {
        attributes.push(("thrustCoefficient", thrust.to_string()));
        self.model.devices.push(Device {
            kind: DeviceKind::PropellerController,
            name: format!("{joint}_propeller"),
            offset: node.offset,
            mount: Mount::Link { link, pose },
            attributes,
            noise: Vec::new(),
            parts: Vec::new(),
        });
    }

    fn read_hydrodynamics(&mut self, node: &Node) -> bool {
        let Some(link) = text(node, "link_name").and_then(|name| self.links.get(name)).copied() else { return false };
        let coefficient = |tags: &[&str]| tags.iter().find_map(|tag| number(self.reading, node, tag));
        let given = DAMPING_TAGS.iter().filter_map(|(ours, tags)| {
            let value = -coefficient(tags)?;
            (value > 0.0).then(|| (*ours, value.to_string()))
        });
        self.model.links[link].damping = given.collect();
        let is_added =
            |part: &&Node| part.name.ends_with("DotU") || part.name.ends_with("DotV") || part.name.ends_with("DotW");
        if let Some(part) = node.children.iter().find(is_added) {
            let meaning = "water that moves with the body has no mass";
            self.notes.add(part.offset, "added mass of Hydrodynamics is left out", meaning);
        }
        self.model.fluids.water.get_or_insert([WATER_DENSITY, UNDER_WATER]);
        true
    }

    fn read_buoyancy(&mut self, node: &Node) {
        let graded = child(node, "graded_buoyancy");
        let density = match graded {
            Some(graded) => self.positive(graded, "default_density"),
            None => self.positive(node, "uniform_fluid_density"),
        };
        let change = graded.and_then(|graded| child(graded, "density_change"));
        let level = change.and_then(|change| number(self.reading, change, "above_depth"));
        let level = level.unwrap_or(if graded.is_some() { 0.0 } else { UNDER_WATER });
        self.model.fluids.water = Some([density.unwrap_or(WATER_DENSITY), level]);
        self.model.fluids.is_buoyant = true;
        if let Some(part) = child(node, "enable") {
            let meaning = "water carries every body with a collision shape";
            self.notes.add(part.offset, "<enable> of Buoyancy is left out", meaning);
        }
    }
}
