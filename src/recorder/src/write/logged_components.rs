//! Which bodies, joints and devices of a world are logged.

use std::convert::Infallible;

use simpartner_description::World;
use simpartner_model::{BodyId, DeviceId, JointId, RobotId};
use simpartner_wire::signal::Layout;

use super::{
    description::RunDescription,
    patterns::{self, Patterns},
    settings::Settings,
};
use crate::database::error::RecorderError;

/// The components of a world that are logged.
#[derive(Debug)]
pub(crate) struct LoggedComponents {
    pub(super) bodies: Vec<BodyId>,
    pub(super) joints: Vec<JointId>,
    pub(super) devices: Vec<DeviceId>,
    /// For each body and each joint of the world the number of its group: a robot, or a single object.
    pub(super) groups: [Vec<usize>; 2],
}

impl LoggedComponents {
    /// All of a world of which only the layout is known.
    pub(crate) fn all(layout: &Layout) -> Self {
        Self {
            bodies: (0..layout.bodies()).map(BodyId::new).collect(),
            joints: (0..layout.joints()).map(JointId::new).collect(),
            devices: (0..layout.devices().len()).map(DeviceId::new).collect(),
            groups: [Vec::new(), Vec::new()],
        }
    }

    /// Those that the settings select. A pattern that fits nothing is a typing error, and refused.
    pub(super) fn new(settings: &Settings, run: &RunDescription) -> Result<Self, RecorderError> {
        Self::picked(settings, run, pick)
    }

    /// Those that the settings select in a world that follows another one. What a pattern fits may have gone.
    pub(super) fn of_next(settings: &Settings, run: &RunDescription) -> Self {
        let Ok(picked) =
            Self::picked::<Infallible>(settings, run, |_, _, patterns, names| Ok(fitting(patterns, names)));
        picked
    }

    fn picked<E>(
        settings: &Settings,
        run: &RunDescription,
        pick: impl Fn(&'static str, &'static str, &Patterns, &[String]) -> Result<Vec<usize>, E>,
    ) -> Result<Self, E> {
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
            groups: groups(world),
        })
    }
}

/// Robots come first, then each object; a joint between objects goes with the one that it holds.
fn groups(world: &World) -> [Vec<usize>; 2] {
    let group = |robot: Option<RobotId>, body: BodyId| match robot {
        Some(robot) => robot.index(),
        None => world.mechanism.robots.len() + body.index(),
    };
    let bodies = world.mechanism.bodies().map(|(id, body)| group(body.robot, id)).collect();
    [bodies, world.mechanism.joints().map(|(_, joint)| group(joint.robot, joint.child)).collect()]
}

fn pick(
    setting: &'static str,
    what: &'static str,
    patterns: &Patterns,
    names: &[String],
) -> Result<Vec<usize>, RecorderError> {
    // The star alone also fits a world without such components.
    let fits_nothing = |pattern: &&String| *pattern != "*" && !names.iter().any(|name| patterns::fits(pattern, name));
    if let Some(pattern) = patterns.iter().find(fits_nothing) {
        let example = names.first().cloned().unwrap_or_default();
        return Err(RecorderError::FitsNothing { setting, what, pattern: pattern.clone(), example });
    }
    Ok(fitting(patterns, names))
}

fn fitting(patterns: &Patterns, names: &[String]) -> Vec<usize> {
    (0..names.len()).filter(|&index| patterns.fit(&names[index])).collect()
}
