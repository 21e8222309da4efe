//! A robot as other formats have it: a tree of links, z up.

use bevy_math::{DMat3, DVec3};
use simpartner_model::{Color, Pose};

/// A robot.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) name: String,
    /// Where the robot stands in its file.
    pub(super) offset: usize,
    pub(super) links: Vec<Link>,
    /// Each from a link to one that no other joint carries.
    pub(super) joints: Vec<Joint>,
    pub(super) couplings: Vec<Mimic>,
    /// The link that no joint carries.
    pub(super) root: usize,
}

/// A body.
#[derive(Debug, Default, Clone)]
pub(super) struct Link {
    pub(super) name: String,
    pub(super) offset: usize,
    pub(super) mass: Option<MassOf>,
    /// What collides, and what is seen.
    pub(super) solids: Vec<Solid>,
    pub(super) visuals: Vec<Solid>,
    pub(super) surface: Surface,
    /// True for one that has become part of another.
    pub(super) is_merged: bool,
}

/// Mass, centre of mass in the link's frame, and inertia tensor about it in the link's axes.
#[derive(Debug, Clone, Copy)]
pub(super) struct MassOf {
    pub(super) mass: f64,
    pub(super) centre: DVec3,
    pub(super) tensor: DMat3,
    pub(super) offset: usize,
}

/// A shape in its link.
#[derive(Debug, Clone)]
pub(super) struct Solid {
    pub(super) pose: Pose,
    pub(super) form: Form,
    /// Of what is seen, where the file gives it.
    pub(super) color: Option<Color>,
    pub(super) offset: usize,
}

/// Round ones stand along z; lengths in metres.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Form {
    Box {
        size: DVec3,
    },
    Sphere {
        radius: f64,
    },
    Cylinder {
        radius: f64,
        length: f64,
    },
    Capsule {
        radius: f64,
        length: f64,
    },
    /// A mesh, whose path is seen from the file's folder. What collides is its convex hull.
    Mesh {
        file: String,
        scale: DVec3,
    },
}

/// What the surface of a link says of contacts, in our terms.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Surface {
    pub(super) friction: Option<f64>,
    pub(super) restitution: Option<f64>,
    pub(super) torsional_friction: Option<f64>,
    pub(super) stiffness: Option<f64>,
    pub(super) damping: Option<f64>,
}

/// How a link moves against its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Motion {
    Fixed,
    Turning,
    Sliding,
    /// In the plane across the axis, and about it.
    Planar,
    /// About all axes.
    Ball,
}

/// What a joint's drive is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drive {
    Position,
    Velocity,
    Effort,
}

/// A joint.
#[derive(Debug)]
pub(super) struct Joint {
    pub(super) name: String,
    pub(super) offset: usize,
    pub(super) motion: Motion,
    pub(super) parent: usize,
    pub(super) child: usize,
    /// The child's frame in the parent's, at coordinate 0.
    pub(super) pose: Pose,
    /// Unit vector in the child's frame, and a point there that it goes through.
    pub(super) axis: DVec3,
    pub(super) anchor: DVec3,
    pub(super) limits: Option<[f64; 2]>,
    /// What drives it exerts so much at most, and no more where it is that fast.
    pub(super) max_effort: Option<f64>,
    pub(super) max_rate: Option<f64>,
    pub(super) damping: f64,
    pub(super) friction: f64,
    pub(super) drive: Drive,
}

/// A joint that follows another: follower = ratio leader + offset.
#[derive(Debug)]
pub(super) struct Mimic {
    pub(super) leader: usize,
    pub(super) follower: usize,
    pub(super) ratio: f64,
    pub(super) constant: f64,
    pub(super) offset: usize,
}

impl MassOf {
    /// The same in the frame that the pose leads out to.
    fn moved(&self, pose: &Pose) -> Self {
        let turn = DMat3::from_quat(pose.rotation);
        Self { centre: pose.point(self.centre), tensor: turn * self.tensor * turn.transpose(), ..*self }
    }

    /// Of two as one.
    fn with(&self, other: &Self) -> Self {
        let mass = self.mass + other.mass;
        let centre = (self.centre * self.mass + other.centre * other.mass) / mass;
        let about = |of: &Self| of.tensor + shifted(of.mass, of.centre - centre);
        Self { mass, centre, tensor: about(self) + about(other), offset: self.offset }
    }
}

/// The inertia tensor of a point about another, at a distance from it (Steiner).
fn shifted(mass: f64, r: DVec3) -> DMat3 {
    let outer = DMat3::from_cols(r * r.x, r * r.y, r * r.z);
    (DMat3::from_diagonal(DVec3::splat(r.length_squared())) - outer) * mass
}

impl Model {
    /// Makes links one that cannot move against each other. The one with a mass gives name and frame, the parent before the child.
    pub(super) fn merge_fixed(&mut self) {
        while let Some(place) = self.joints.iter().position(|joint| joint.motion == Motion::Fixed) {
            let joint = self.joints.remove(place);
            self.couplings.iter_mut().for_each(|coupling| coupling.forget(place));
            let (stays, goes, pose) = match (&self.links[joint.parent].mass, &self.links[joint.child].mass) {
                (None, Some(_)) => (joint.child, joint.parent, joint.pose.inverse()),
                _ => (joint.parent, joint.child, joint.pose),
            };
            self.absorb(stays, goes, &pose);
        }
    }

    /// Makes a link part of another, in whose frame it is at the pose.
    fn absorb(&mut self, stays: usize, goes: usize, pose: &Pose) {
        let Link { mass, solids, visuals, surface, .. } = std::mem::take(&mut self.links[goes]);
        self.links[goes].is_merged = true;
        let link = &mut self.links[stays];
        let moved = |solid: Solid| Solid { pose: pose.then(&solid.pose), ..solid };
        link.solids.extend(solids.into_iter().map(moved));
        link.visuals.extend(visuals.into_iter().map(moved));
        link.mass = match (link.mass, mass.map(|mass| mass.moved(pose))) {
            (Some(own), Some(other)) => Some(own.with(&other)),
            (own, other) => own.or(other),
        };
        if link.surface == Surface::default() {
            link.surface = surface;
        }
        let inverse = pose.inverse();
        for joint in &mut self.joints {
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
        if self.root == goes {
            self.root = stays;
        }
    }

    /// Where each link is while all coordinates are 0, in the frame of the root.
    pub(super) fn poses(&self) -> Vec<Pose> {
        let mut poses = vec![Pose::IDENTITY; self.links.len()];
        let mut reached = vec![self.root];
        while let Some(link) = reached.pop() {
            for joint in self.joints.iter().filter(|joint| joint.parent == link) {
                poses[joint.child] = poses[link].then(&joint.pose);
                reached.push(joint.child);
            }
        }
        poses
    }
}

impl Mimic {
    /// Counts on after the joint of this place is gone; joints that nothing moves are in no coupling.
    fn forget(&mut self, place: usize) {
        self.leader -= usize::from(self.leader > place);
        self.follower -= usize::from(self.follower > place);
    }
}
