//! Selects the bodies, joints and devices of a world that are logged.

use std::convert::Infallible;

use simpartner_description::World;
use simpartner_model::{BodyId, DeviceId, JointId, RobotId};
use simpartner_wire::{pattern::matches_pattern, signal::Layout};

use super::{description::RunDescription, patterns::Patterns, settings::Settings};
use crate::database::error::RecorderError;

/// The components of a world that are logged.
#[derive(Debug)]
pub(crate) struct LoggedComponents {
    pub(super) bodies: Vec<BodyId>,
    pub(super) joints: Vec<JointId>,
    pub(super) devices: Vec<DeviceId>,
    /// Group of each body and of each joint of the world. A group is a robot, or a single object.
    pub(super) groups: [Vec<usize>; 2],
}

impl LoggedComponents {
    /// All components of a world of which only the layout is known.
    pub(crate) fn all_of_layout(layout: &Layout) -> Self {
        Self {
            bodies: (0..layout.bodies()).map(BodyId::new).collect(),
            joints: (0..layout.joints()).map(JointId::new).collect(),
            devices: (0..layout.devices().len()).map(DeviceId::new).collect(),
            groups: [Vec::new(), Vec::new()],
        }
    }

    /// The components that the settings select. A pattern that matches nothing is probably a typing error, so it is
    /// refused.
    pub(super) fn new(settings: &Settings, run: &RunDescription) -> Result<Self, RecorderError> {
        Self::select_with(settings, run, select_or_refuse)
    }

    /// The components that the settings select after a world edit. A pattern may match nothing, because the edit can
    /// have removed the component.
    pub(super) fn after_edit(settings: &Settings, run: &RunDescription) -> Self {
        let Ok(selected) = Self::select_with::<Infallible>(settings, run, |_, _, patterns, names| {
            Ok(matching_indices(patterns, names))
        });
        selected
    }

    /// Calls `select` for bodies, joints and devices, with the name of the setting, the kind of component, the patterns
    /// and all names. `select` returns the indices of the selected names.
    fn select_with<E>(
        settings: &Settings,
        run: &RunDescription,
        select: impl Fn(&'static str, &'static str, &Patterns, &[String]) -> Result<Vec<usize>, E>,
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
            bodies: select("log.bodies", "body", &settings.bodies, &bodies)?.into_iter().map(BodyId::new).collect(),
            joints: select("log.joints", "joint", &settings.joints, &joints)?.into_iter().map(JointId::new).collect(),
            devices: select("log.devices", "device", &settings.devices, &devices)?
                .into_iter()
                .map(DeviceId::new)
                .collect(),
            groups: component_groups(world),
        })
    }
}

/// Groups of bodies and of joints. Groups of robots come first, then one for each object. A joint between objects is in
/// the group of its child.
fn component_groups(world: &World) -> [Vec<usize>; 2] {
    let group = |robot: Option<RobotId>, body: BodyId| match robot {
        Some(robot) => robot.index(),
        None => world.mechanism.robots.len() + body.index(),
    };
    let bodies = world.mechanism.bodies().map(|(id, body)| group(body.robot, id)).collect();
    [bodies, world.mechanism.joints().map(|(_, joint)| group(joint.robot, joint.child)).collect()]
}

/// Indices of the names that the patterns match, or an error if a pattern matches none.
fn select_or_refuse(
    setting: &'static str,
    what: &'static str,
    patterns: &Patterns,
    names: &[String],
) -> Result<Vec<usize>, RecorderError> {
    // The star alone is also valid for a world without components of this kind.
    let matches_nothing =
        |pattern: &&String| *pattern != "*" && !names.iter().any(|name| matches_pattern(pattern, name));
    if let Some(pattern) = patterns.iter().find(matches_nothing) {
        let example = names.first().cloned().unwrap_or_default();
        return Err(RecorderError::FitsNothing { setting, what, pattern: pattern.clone(), example });
    }
    Ok(matching_indices(patterns, names))
}

fn matching_indices(patterns: &Patterns, names: &[String]) -> Vec<usize> {
    (0..names.len()).filter(|&index| patterns.fit(&names[index])).collect()
}
