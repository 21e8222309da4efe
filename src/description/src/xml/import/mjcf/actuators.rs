//! Actuators: on joints, on fixed tendons, and on sites.

use simpartner_wire::signal::DeviceKind;

use super::{
    super::{
        attributes::{attribute, first_numbers, list, number, numbers},
        model::{Device, Drive, DriveKind, Motion, Mount},
    },
    defaults::ACTUATOR_TAGS,
    importer::Mjcf,
};
use crate::{
    ServoGains,
    text::numbers::shorten,
    xml::{node::Node, reading::Reading},
};

/// Attributes that name an actuator's target, in order of precedence.
const TARGET_ATTRIBUTES: [&str; 7] = ["joint", "jointinparent", "tendon", "site", "slidersite", "cranksite", "body"];

impl Mjcf<'_, '_> {
    pub(super) fn read_actuator(&mut self, node: &Node, root: &Node) {
        let name = node.name.as_str();
        if !ACTUATOR_TAGS.contains(&name) {
            let what = format!("<{name}> of <actuator> is left out");
            return self.notes.add(node.offset, what, "nothing exerts its force");
        }
        let Some(on) = TARGET_ATTRIBUTES.into_iter().find(|on| attribute(node, on).is_some()) else {
            return self.reading.problem(node.offset, format!("<{name}> names nothing that it drives"));
        };
        let Some(kind) = self.drive_kind(node) else {
            let what = format!("an actuator <{name}> is left out");
            let meaning = "nothing exerts its force; ours take an effort, a velocity or a position";
            return self.notes.add(node.offset, what, meaning);
        };
        match on {
            "joint" | "jointinparent" => {
                let Some(place) = self.resolve_name(node, on, "joint", &self.joints) else { return };
                self.drive_joint(node, place, kind, 1.0);
            }
            "tendon" => self.drive_tendon(node, root, kind),
            "site" if kind == DriveKind::Effort => self.push_site(node),
            "site" => {
                let meaning = "nothing holds the site; a ForceActuator pushes its body";
                self.notes.add(node.offset, "an actuator that holds a site is left out", meaning);
            }
            on => {
                let what = format!("an actuator on a {on} is left out");
                self.notes.add(node.offset, what, "an actuator here drives a joint, or pushes a body at a site");
            }
        }
    }

    /// Drives a joint, whose effort is a multiple of the actuator's.
    fn drive_joint(&mut self, node: &Node, place: usize, kind: DriveKind, arm: f64) {
        let motion = self.model.joints[place].motion;
        if ![Motion::Turning, Motion::Sliding].contains(&motion) {
            let meaning = "nothing drives it; an actuator of ours on a ball joint drives all its axes";
            return self.notes.add(node.offset, "an actuator on a ball or free joint is left out", meaning);
        }
        if self.model.joints[place].drive.is_some() {
            return self.notes.add(node.offset, "a second actuator on a joint is left out", "the first one drives it");
        }
        let gear = arm.abs() * first_numbers::<1>(self.reading, node, "gear").map_or(1.0, |[gear]| gear.abs());
        let strongest = |flag: &str, range: &str| {
            let is_limited = self.compiler.is_limited(self.reading, node, flag, range);
            let bounds = numbers::<2>(self.reading, node, range).filter(|_| is_limited)?;
            Some(bounds[0].abs().max(bounds[1].abs()) * gear).filter(|effort| *effort > 0.0)
        };
        let gain = first_numbers::<1>(self.reading, node, "gainprm").map_or(1.0, |[gain]| gain.abs());
        let by_control = (kind == DriveKind::Effort)
            .then(|| strongest("ctrllimited", "ctrlrange"))
            .flatten()
            .map(|effort| effort * gain);
        let bounds = [strongest("forcelimited", "forcerange"), by_control, self.model.joints[place].max_effort];
        let gains = drive_gains(self.reading, node, kind, gear);
        if gains.is_none() && kind != DriveKind::Effort {
            let meaning = "it has the default gains of our controllers";
            self.notes.add(
                node.offset,
                "gains of an actuator that do not pull towards its target are left out",
                meaning,
            );
        }
        let joint = &mut self.model.joints[place];
        joint.max_effort = bounds.into_iter().flatten().reduce(f64::min);
        joint.drive =
            Some(Drive { kind, gains, name: attribute(node, "name").map(str::to_owned), offset: node.offset });
    }

    /// A fixed tendon of one joint, or of joints coupled to one: its drive acts on that joint, with the sum of the
    /// arms.
    fn drive_tendon(&mut self, node: &Node, root: &Node, kind: DriveKind) {
        let name = attribute(node, "tendon").unwrap_or_default();
        let sections = root.children.iter().filter(|child| child.name == "tendon");
        let mut tendons = sections.flat_map(|section| &section.children);
        let Some(tendon) = tendons.find(|tendon| attribute(tendon, "name") == Some(name)) else {
            let message = format!("there is no tendon '{}'", shorten(name));
            return self.reading.problem(self.reading.attribute_offset(node, "tendon"), message);
        };
        // The joint that all of them follow, and the displacement of the tendon per displacement of that joint.
        let mut driven: Option<(usize, f64)> = None;
        let is_fixed = tendon.name == "fixed" && !tendon.children.is_empty();
        for part in tendon.children.iter().filter(|_| is_fixed) {
            let Some(place) = self.resolve_name(part, "joint", "joint", &self.joints) else { return };
            let arm = number(self.reading, part, "coef").unwrap_or(0.0);
            let coupling = self.model.couplings.iter().find(|coupling| coupling.follower == place);
            let (leader, arm) = coupling.map_or((place, arm), |coupling| (coupling.leader, arm * coupling.ratio));
            match &mut driven {
                None => driven = Some((leader, arm)),
                Some((known, sum)) if *known == leader => *sum += arm,
                Some(_) => return self.tell_tendon(node),
            }
        }
        match driven.filter(|(_, arm)| *arm != 0.0) {
            Some((place, arm)) => {
                if arm != 1.0 {
                    let meaning = "a position is that of its first joint, not the length of the tendon";
                    self.notes.add(node.offset, "an actuator on a tendon drives the joint that leads", meaning);
                }
                self.drive_joint(node, place, kind, arm);
            }
            None => self.tell_tendon(node),
        }
    }

    fn tell_tendon(&self, node: &Node) {
        let meaning = "nothing pulls along it; one on a fixed tendon whose joints an <equality> couples is read";
        self.notes.add(node.offset, "an actuator on a tendon is left out", meaning);
    }

    /// A force at a site, in its axes.
    fn push_site(&mut self, node: &Node) {
        let Some((link, pose)) = self.resolve_name(node, "site", "site", &self.sites) else { return };
        if attribute(node, "refsite").is_some() {
            let meaning = "force and torque are in the axes of its site";
            self.notes.add(
                self.reading.attribute_offset(node, "refsite"),
                "'refsite' of an actuator is left out",
                meaning,
            );
        }
        let gear = attribute(node, "gear").unwrap_or("1").trim().to_owned();
        let name = attribute(node, "name").unwrap_or("site_motor").to_owned();
        let what =
            format!("an actuator on a site takes force and torque, not a control with the gear '{}'", shorten(&gear));
        self.notes.add(node.offset, what, "command the gear times the control; bounds of the control are not kept");
        self.model.devices.push(Device {
            kind: DeviceKind::ForceActuator,
            name,
            offset: node.offset,
            mount: Mount::Link { link, pose },
            attributes: vec![("frame", "body".to_owned())],
            noise: Vec::new(),
            parts: Vec::new(),
        });
    }

    /// Command quantity of an actuator: by its tag, or for `<general>` by its law.
    fn drive_kind(&self, node: &Node) -> Option<DriveKind> {
        let gain = |name: &str| list(self.reading, node, name).unwrap_or_default();
        let tell = |name: &str, meaning| {
            if attribute(node, name).is_some() {
                self.notes.add(
                    self.reading.attribute_offset(node, name),
                    format!("'{name}' of an actuator is left out"),
                    meaning,
                );
            }
        };
        match node.name.as_str() {
            "motor" => Some(DriveKind::Effort),
            "position" | "intvelocity" => {
                tell("dampratio", "a position is damped by 'kv' alone");
                Some(DriveKind::Position)
            }
            "velocity" => Some(DriveKind::Velocity),
            "general" => {
                if attribute(node, "dyntype").is_some_and(|kind| kind != "none") {
                    self.notes.add(
                        self.reading.attribute_offset(node, "dyntype"),
                        "'dyntype' of an actuator is left out",
                        "it acts at once",
                    );
                }
                match attribute(node, "biastype").unwrap_or("none") {
                    "none" => Some(DriveKind::Effort),
                    "affine" => {
                        let bias = gain("biasprm");
                        let at = |index: usize| bias.get(index).copied().unwrap_or(0.0);
                        let held = if at(1) == 0.0 { at(2) } else { at(1) };
                        let factor = gain("gainprm").first().copied().unwrap_or(1.0);
                        if held != 0.0 && (factor != -held || at(0) != 0.0) {
                            let meaning = "the command is the target of the joint, not the control of MuJoCo";
                            let what = "'gainprm' of an actuator differs from its bias";
                            self.notes.add(self.reading.attribute_offset(node, "biasprm"), what, meaning);
                        }
                        Some(if at(1) != 0.0 {
                            DriveKind::Position
                        } else if at(2) != 0.0 {
                            DriveKind::Velocity
                        } else {
                            DriveKind::Effort
                        })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// Gains, at the joint, of an actuator that holds a position or a velocity behind a gear: the ratio multiplies position
/// and effort. Gains that are not given have MuJoCo's defaults. `None` if they do not pull towards the target.
fn drive_gains(reading: &Reading, node: &Node, kind: DriveKind, ratio: f64) -> Option<ServoGains> {
    let given = |name: &str, default: f64| number(reading, node, name).unwrap_or(default);
    // An affine actuator's effort is gain control + b0 + b1 length + b2 velocity.
    let bias = list(reading, node, "biasprm").unwrap_or_default();
    let against = |index: usize| -bias.get(index).copied().unwrap_or(0.0);
    let is_general = node.name == "general";
    let (stiffness, damping) = match kind {
        DriveKind::Position if is_general => (against(1), against(2)),
        DriveKind::Position => (given("kp", 1.0), given("kv", 0.0)),
        DriveKind::Velocity if is_general => (0.0, against(2)),
        DriveKind::Velocity => (0.0, given("kv", 1.0)),
        DriveKind::Effort => return None,
    };
    let [stiffness, damping] = [stiffness, damping].map(|gain| ratio * ratio * gain);
    let main = if kind == DriveKind::Position { stiffness } else { damping };
    (main > 0.0 && damping >= 0.0).then_some(ServoGains { stiffness, damping, integral: 0.0 })
}
