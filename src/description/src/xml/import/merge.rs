//! Merging of links that cannot move against each other.

use std::{cmp::Reverse, collections::BinaryHeap};

use simpartner_model::Pose;

use super::model::{Joint, Link, Model, Motion, Mount, Solid, Surface};

impl Model {
    /// Merges links that cannot move against each other. The link with a mass gives name and frame, the parent before
    /// the child. Links fixed to the link `world` stay separate.
    pub(super) fn merge_fixed(&mut self, world: Option<usize>) {
        let merges: Vec<bool> = self
            .joints
            .iter()
            .map(|joint| joint.motion == Motion::Fixed && Some(joint.parent) != world && !joint.keeps_links)
            .collect();
        if !merges.contains(&true) {
            return;
        }
        let order = order(&self.joints, &merges, self.links.len());
        let mut ends = Ends::of(self);
        for place in order {
            let joint = &self.joints[place];
            let (stays, goes, pose) = match (&self.links[joint.parent].mass, &self.links[joint.child].mass) {
                (None, Some(_)) => (joint.child, joint.parent, joint.pose.inverse()),
                _ => (joint.parent, joint.child, joint.pose),
            };
            self.absorb(stays, goes, &pose, &mut ends);
        }
        self.forget_joints(&merges, &ends);
    }

    /// Merges a link into another one, in whose frame it has the given pose.
    fn absorb(&mut self, stays: usize, goes: usize, pose: &Pose, ends: &mut Ends) {
        let Link { pose: placed, mass, solids, visuals, surface, filter, class, wings, .. } =
            std::mem::take(&mut self.links[goes]);
        self.links[goes].is_merged = true;
        let link = &mut self.links[stays];
        let surface = surface.turned(pose);
        if link.solids.is_empty() && link.surface == Surface::default() {
            link.surface = surface;
        }
        let moved = |solid: Solid| {
            let own = solid.surface.map_or(surface, |own| own.turned(pose));
            Solid { pose: pose.then(&solid.pose), surface: (own != link.surface).then_some(own), ..solid }
        };
        link.solids.extend(solids.into_iter().map(moved));
        link.wings.extend(wings.into_iter().map(|(at, wing)| (pose.then(&at), wing)));
        link.visuals.extend(visuals.into_iter().map(|visual| Solid { pose: pose.then(&visual.pose), ..visual }));
        link.mass = match (link.mass, mass.map(|mass| mass.moved(pose))) {
            (Some(own), Some(other)) => Some(own.with(&other)),
            (own, other) => own.or(other),
        };
        link.filter = match (link.filter, filter) {
            (Some(own), Some(other)) => Some([own[0] | other[0], own[1] | other[1]]),
            (own, other) => own.or(other),
        };
        link.class = if link.class == 0 { class } else { link.class };
        let inverse = pose.inverse();
        let joints = std::mem::take(&mut ends.joints[goes]);
        for &end in &joints {
            let joint = match end.checked_sub(self.joints.len()) {
                Some(place) => &mut self.loops[place],
                None => &mut self.joints[end],
            };
            if joint.parent == goes {
                (joint.parent, joint.pose) = (stays, pose.then(&joint.pose));
            }
            if joint.child == goes {
                joint.child = stays;
                // The child's frame is now that of the link that stays.
                joint.pose = joint.pose.then(&inverse);
                (joint.axis, joint.anchor) = (pose.direction(joint.axis), pose.point(joint.anchor));
            }
        }
        ends.joints[stays].extend(joints);
        for vehicle in self.vehicles.iter_mut().filter(|vehicle| vehicle.chassis == goes) {
            (vehicle.chassis, vehicle.pose) = (stays, pose.then(&vehicle.pose));
        }
        let devices = std::mem::take(&mut ends.devices[goes]);
        for &device in &devices {
            if let Mount::Link { link, pose: at } = &mut self.devices[device].mount {
                (*link, *at) = (stays, pose.then(at));
            }
        }
        ends.devices[stays].extend(devices);
        ends.part_of[goes] = stays;
        if self.root == goes {
            // The robot's frame is that of the file's root, whichever link gives the body its frame.
            self.links[stays].pose = placed.then(&inverse);
            self.root = stays;
        }
    }

    /// Removes joints whose links were merged, and updates references to the others. Joints without motion are in no
    /// coupling.
    fn forget_joints(&mut self, gone: &[bool], ends: &Ends) {
        let count = |next: &mut usize, gone: &bool| {
            let place = *next;
            *next += usize::from(!gone);
            Some(place)
        };
        let places: Vec<usize> = gone.iter().scan(0, count).collect();
        let mut gone = gone.iter();
        self.joints.retain(|_| gone.next() == Some(&false));
        for coupling in &mut self.couplings {
            (coupling.leader, coupling.follower) = (places[coupling.leader], places[coupling.follower]);
        }
        for device in &mut self.devices {
            if let Mount::Joint(joint) = &mut device.mount {
                *joint = places[*joint];
            }
        }
        for wheel in self.vehicles.iter_mut().flat_map(|vehicle| &mut vehicle.wheels) {
            wheel.joint = places[wheel.joint];
            wheel.steering = wheel.steering.map(|steering| places[steering]);
        }
        for link in self.apart.iter_mut().flat_map(|apart| &mut apart.links) {
            *link = ends.whole(*link);
        }
    }
}

/// Joints and devices of each link.
struct Ends {
    /// Joints of the tree by their places, and those that close loops behind them.
    joints: Vec<Vec<usize>>,
    devices: Vec<Vec<usize>>,
    /// The link into which each link was merged: itself for a remaining one.
    part_of: Vec<usize>,
}

impl Ends {
    fn of(model: &Model) -> Self {
        let links = model.links.len();
        let mut ends =
            Self { joints: vec![Vec::new(); links], devices: vec![Vec::new(); links], part_of: (0..links).collect() };
        for (place, joint) in model.joints.iter().chain(&model.loops).enumerate() {
            ends.joints[joint.parent].push(place);
            if joint.child != joint.parent {
                ends.joints[joint.child].push(place);
            }
        }
        for (place, device) in model.devices.iter().enumerate() {
            if let Mount::Link { link, .. } = device.mount {
                ends.devices[link].push(place);
            }
        }
        ends
    }

    /// The remaining link into which a link was merged.
    fn whole(&self, mut link: usize) -> usize {
        while self.part_of[link] != link {
            link = self.part_of[link];
        }
        link
    }
}

/// The joints to merge, each after the one that carries its parent, so that a link is moved before others are merged
/// into it; otherwise in the order of the file.
fn order(joints: &[Joint], merges: &[bool], links: usize) -> Vec<usize> {
    let mut carries = vec![Vec::new(); links];
    let mut is_carried = vec![false; links];
    for (place, joint) in joints.iter().enumerate().filter(|(place, _)| merges[*place]) {
        carries[joint.parent].push(place);
        is_carried[joint.child] = true;
    }
    let roots = (0..links).filter(|link| !is_carried[*link]);
    let mut ready: BinaryHeap<Reverse<usize>> = roots.flat_map(|link| carries[link].clone()).map(Reverse).collect();
    let mut order = Vec::new();
    while let Some(Reverse(place)) = ready.pop() {
        order.push(place);
        ready.extend(carries[joints[place].child].iter().copied().map(Reverse));
    }
    order
}
