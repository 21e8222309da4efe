//! What of a world is logged: patterns for names, and what they pick.

use simpartner_description::World;
use simpartner_model::{BodyId, DeviceId, JointId, RobotId};
use simpartner_wire::signal::Layout;

use super::{RecorderError, RunDescription, Settings};

/// Patterns for names such as `WorkPartner/Wheel1`, in which `*` stands for any part of a name. Without any, nothing is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patterns(Vec<String>);

impl Patterns {
    /// These.
    pub fn new(patterns: impl IntoIterator<Item = String>) -> Self {
        Self(patterns.into_iter().collect())
    }

    /// The one that everything fits.
    pub fn everything() -> Self {
        Self(vec!["*".into()])
    }

    /// True if the name fits one of them.
    pub fn fit(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| fits(pattern, name))
    }
}

fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        // The last part has to stand at the end, those before it may as well stand as early as they can.
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// What is logged of a world.
#[derive(Debug)]
pub(super) struct Selection {
    pub(super) bodies: Vec<BodyId>,
    pub(super) joints: Vec<JointId>,
    pub(super) devices: Vec<DeviceId>,
    /// For each body and each joint of the world the number of what it is a part of: its robot, or an object alone.
    pub(super) wholes: [Vec<usize>; 2],
}

impl Selection {
    /// Everything, of a world of which only the layout is known.
    pub(super) fn all(layout: &Layout) -> Self {
        Self {
            bodies: (0..layout.bodies()).map(BodyId::new).collect(),
            joints: (0..layout.joints()).map(JointId::new).collect(),
            devices: (0..layout.devices().len()).map(DeviceId::new).collect(),
            wholes: [Vec::new(), Vec::new()],
        }
    }

    /// What the settings pick. A pattern that fits nothing is a slip of the hand, and refused.
    pub(super) fn new(settings: &Settings, run: &RunDescription) -> Result<Self, RecorderError> {
        let world = &run.world;
        let of_robot = |robot: Option<RobotId>, name: &str| match robot {
            Some(robot) => format!("{}/{name}", world.mechanism.robots[robot.index()].name),
            None => name.to_owned(),
        };
        let bodies: Vec<String> = world.mechanism.bodies().map(|(_, body)| of_robot(body.robot, &body.name)).collect();
        let joints: Vec<String> =
            world.mechanism.joints().map(|(_, joint)| of_robot(joint.robot, &joint.name)).collect();
        let devices = run.layout.devices().iter().map(|device| format!("{}/{}", device.robot, device.name));
        let devices: Vec<String> = devices.collect();
        Ok(Self {
            bodies: pick("log.bodies", "body", &settings.bodies, &bodies)?.into_iter().map(BodyId::new).collect(),
            joints: pick("log.joints", "joint", &settings.joints, &joints)?.into_iter().map(JointId::new).collect(),
            devices: pick("log.devices", "device", &settings.devices, &devices)?
                .into_iter()
                .map(DeviceId::new)
                .collect(),
            wholes: wholes(world),
        })
    }
}

/// Robots come first, then each object; a joint between objects goes with the one that it holds.
fn wholes(world: &World) -> [Vec<usize>; 2] {
    let whole = |robot: Option<RobotId>, body: BodyId| match robot {
        Some(robot) => robot.index(),
        None => world.mechanism.robots.len() + body.index(),
    };
    let bodies = world.mechanism.bodies().map(|(id, body)| whole(body.robot, id)).collect();
    [bodies, world.mechanism.joints().map(|(_, joint)| whole(joint.robot, joint.child)).collect()]
}

fn pick(
    setting: &'static str,
    what: &'static str,
    patterns: &Patterns,
    names: &[String],
) -> Result<Vec<usize>, RecorderError> {
    // A world need not have anything for the star alone.
    let fits_nothing = |pattern: &&String| *pattern != "*" && !names.iter().any(|name| fits(pattern, name));
    if let Some(pattern) = patterns.0.iter().find(fits_nothing) {
        let example = names.first().cloned().unwrap_or_default();
        return Err(RecorderError::FitsNothing { setting, what, pattern: pattern.clone(), example });
    }
    Ok((0..names.len()).filter(|&index| patterns.fit(&names[index])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_part() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*", "R/Wheel1", true),
            ("R/*", "R/Wheel1", true),
            ("R/*", "RR/Wheel1", false),
            ("*Wheel*", "R/Wheel1", true),
            ("*/Wheel*1", "R/Wheel11", true),
            ("*/Wheel*1", "R/Wheel12", false),
            ("R/Wheel1", "R/Wheel1", true),
            ("R/Wheel1", "R/Wheel12", false),
            ("R/W*l1*1", "R/Wheel1", false),
            ("", "R", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
        assert!(!Patterns::new([]).fit("R"));
    }
}
