//! Ids of one world in an edited world.

use std::{collections::HashMap, hash::Hash};

use super::{BodyId, DeviceId, Layout, Member, RobotId, Target};

/// For each body, device and robot of a world its id in another one; `None` if it does not exist there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Renumbering {
    bodies: Vec<Option<BodyId>>,
    devices: Vec<Option<DeviceId>>,
    robots: Vec<Option<RobotId>>,
}

impl Renumbering {
    /// Matches two layouts by names.
    pub fn new(from: &Layout, to: &Layout) -> Self {
        fn device(layout: &Layout) -> impl Iterator<Item = (&str, &str)> {
            layout.devices().iter().map(|device| (device.robot.as_str(), device.name.as_str()))
        }
        fn body(layout: &Layout) -> impl Iterator<Item = &str> {
            layout.body_infos().iter().map(|body| body.name.as_str())
        }
        fn robot(layout: &Layout) -> impl Iterator<Item = &str> {
            layout.robots().iter().map(|robot| robot.name.as_str())
        }
        Self {
            bodies: places(body(from), body(to)).into_iter().map(|place| place.map(BodyId::new)).collect(),
            devices: places(device(from), device(to)).into_iter().map(|place| place.map(DeviceId::new)).collect(),
            robots: places(robot(from), robot(to)).into_iter().map(|place| place.map(RobotId::new)).collect(),
        }
    }

    /// The id of a body.
    pub fn body(&self, body: BodyId) -> Option<BodyId> {
        self.bodies.get(body.index()).copied().flatten()
    }

    /// The id of a device.
    pub fn device(&self, device: DeviceId) -> Option<DeviceId> {
        self.devices.get(device.index()).copied().flatten()
    }

    /// The id of a robot.
    pub fn robot(&self, robot: RobotId) -> Option<RobotId> {
        self.robots.get(robot.index()).copied().flatten()
    }

    /// Target of a command in the next world.
    pub fn target(&self, target: Target) -> Option<Target> {
        match target {
            Target::Device(device) => self.device(device).map(Target::Device),
            Target::Body(body) => self.body(body).map(Target::Body),
        }
    }

    /// The member of a lockstep.
    pub fn member(&self, member: Member) -> Option<Member> {
        match member {
            Member::Device(device) => self.device(device).map(Member::Device),
            Member::Robot(robot) => self.robot(robot).map(Member::Robot),
        }
    }
}

/// Index of each name of a list in another list; the n-th occurrence of a name matches the n-th one there.
pub fn places<K: Eq + Hash>(from: impl Iterator<Item = K>, to: impl Iterator<Item = K>) -> Vec<Option<usize>> {
    let mut known: HashMap<K, Vec<usize>> = HashMap::new();
    to.enumerate().for_each(|(place, name)| known.entry(name).or_default().push(place));
    let mut used: HashMap<K, usize> = HashMap::new();
    let place = |name: K| {
        let places = known.get(&name)?;
        let count = used.entry(name).or_default();
        *count += 1;
        places.get(*count - 1).copied()
    };
    from.map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_where_they_stand_now() {
        let found = places(["a", "b", "c", "b", "b"].into_iter(), ["c", "b", "x", "b"].into_iter());
        assert_eq!(found, [None, Some(1), Some(0), Some(3), None]);
    }
}
