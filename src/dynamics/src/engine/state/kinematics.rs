//! Forward kinematics: poses and velocities of the links of a tree, from the root outwards.

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_model::{BodyId, Norm, Pose};

use super::{
    addresses::BodyAddress,
    link::{Link, LinkJoint},
    tree::Tree,
    tree_state::State,
    workspace::LinkWork,
};
use crate::{BodyState, engine::algebra::spatial::Spatial};

impl LinkJoint {
    /// Angular rate of the joint at the rates `v`, of which its own come first, rad/s.
    #[inline(always)]
    fn turning_rate(self, v: &[f64]) -> f64 {
        match self {
            Self::Revolute(_) => v[0].abs(),
            Self::Spherical { .. } => (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt(),
            Self::Free | Self::Weld | Self::Prismatic(_) => 0.0,
        }
    }
}

impl LinkWork {
    /// Pose in the world.
    #[inline(always)]
    pub(crate) fn pose(&self) -> Pose {
        Pose { translation: self.position, rotation: self.rotation }
    }

    /// Squares of the speed of its centre of mass, of its angular speed, and of the distance of its centre of mass from
    /// the world's origin.
    #[inline(always)]
    fn squared_speeds_and_distance(&self, origin: DVec3) -> [f64; 3] {
        let speed = self.velocity.at(self.position - origin);
        [speed.length_squared(), self.velocity.angular().length_squared(), self.position.length_squared()]
    }

    /// Sets the pose from that of the parent. `joint` is that of the link; `turns` are those of
    /// [`State::set_half_angles`].
    #[inline(always)]
    pub(crate) fn set_pose(
        &mut self,
        joint: LinkJoint,
        link: &Link,
        parent: Option<&Self>,
        state: &State,
        turns: &[(f64, f64)],
    ) {
        let Some(parent) = parent else {
            (self.anchor, self.position) = (state.root_position, state.root_position);
            self.rotation = state.root_rotation;
            self.matrix = DMat3::from_quat(state.root_rotation);
            return;
        };
        let mut anchor = parent.position + parent.matrix * link.anchor_in_parent;
        let relative = match joint {
            LinkJoint::Free | LinkJoint::Weld => link.turn,
            LinkJoint::Revolute(_) => {
                let (sine, cosine) = turns[link.dof];
                link.turn * cosine + link.half_turn * sine
            }
            LinkJoint::Spherical { number, .. } => link.half_turn * state.balls[number] * link.turn,
            LinkJoint::Prismatic(axis) => {
                anchor += parent.matrix * (axis * state.q[link.dof]);
                link.turn
            }
        };
        let rotation: DQuat = parent.rotation * relative;
        let matrix = DMat3::from_quat(rotation);
        self.anchor = anchor;
        self.position = anchor - matrix * link.anchor;
        self.rotation = rotation;
        self.matrix = matrix;
    }

    /// The frame `world_from_joint` along whose axes the rates of its ball joint are counted.
    #[inline(always)]
    fn ball_frame(&self, link: &Link, parent: &Self, backwards: bool) -> DQuat {
        if backwards { self.rotation * link.turn.inverse() } else { parent.rotation * link.half_turn }
    }

    /// Sets the spatial axes of its joint about `origin`, at the present pose. Returns its motion along them at the
    /// rates `v`.
    #[inline(always)]
    pub(crate) fn set_axes(
        &self,
        joint: LinkJoint,
        link: &Link,
        parent: Option<&Self>,
        origin: DVec3,
        axes: &mut [Spatial],
        v: &[f64],
    ) -> Spatial {
        let (dof, lever) = (link.dof, self.anchor - origin);
        let mut set = |dof: usize, axis: Spatial| {
            axes[dof] = axis;
            axis * v[dof]
        };
        match (joint, parent) {
            (LinkJoint::Free, _) => {
                for (k, unit) in DVec3::AXES.into_iter().enumerate() {
                    set(k, Spatial::new(DVec3::ZERO, unit));
                    set(3 + k, Spatial::new(unit, DVec3::ZERO));
                }
                Tree::root_motion(v)
            }
            (LinkJoint::Revolute(axis), Some(parent)) => {
                let axis = parent.matrix * axis;
                set(dof, Spatial::new(axis, lever.cross(axis)))
            }
            (LinkJoint::Prismatic(axis), Some(parent)) => set(dof, Spatial::new(DVec3::ZERO, parent.matrix * axis)),
            (LinkJoint::Spherical { backwards, .. }, Some(parent)) => {
                let frame = self.ball_frame(link, parent, backwards);
                let [first, second, third] = DVec3::AXES.map(|unit| {
                    let axis = frame * unit;
                    Spatial::new(axis, lever.cross(axis))
                });
                set(dof, first) + set(dof + 1, second) + set(dof + 2, third)
            }
            _ => Spatial::ZERO,
        }
    }

    /// Sets the spatial velocity about `origin` for the rates `v`.
    #[inline(always)]
    fn set_velocity(&mut self, joint: LinkJoint, link: &Link, parent: Option<&Self>, origin: DVec3, v: &[f64]) {
        let Some(parent) = parent else {
            let free = joint == LinkJoint::Free;
            self.velocity = if free { Tree::root_motion(v) } else { Spatial::ZERO };
            return;
        };
        let turn = |rate: DVec3| Spatial::new(rate, (self.anchor - origin).cross(rate));
        self.velocity = match joint {
            LinkJoint::Revolute(axis) => parent.velocity + turn(parent.matrix * (axis * v[link.dof])),
            LinkJoint::Prismatic(axis) => {
                parent.velocity + Spatial::new(DVec3::ZERO, parent.matrix * (axis * v[link.dof]))
            }
            LinkJoint::Spherical { backwards, .. } => {
                let frame = self.ball_frame(link, parent, backwards);
                parent.velocity + turn(frame * DVec3::from_slice(&v[link.dof..]))
            }
            LinkJoint::Free | LinkJoint::Weld => parent.velocity,
        };
    }

    /// Sets its pose, and its velocity about the root. Returns the angular rate of its joint, rad/s. Most joints are
    /// hinges: for a `joint` known to be one, the compiler removes the other cases.
    #[inline(always)]
    fn set_pose_and_velocity(
        &mut self,
        joint: LinkJoint,
        link: &Link,
        parent: Option<&Self>,
        state: &State,
        turns: &[(f64, f64)],
    ) -> f64 {
        self.set_pose(joint, link, parent, state, turns);
        self.set_velocity(joint, link, parent, state.root_position, &state.v);
        joint.turning_rate(&state.v[link.dof..])
    }

    /// Sets its pose, the axes of its joint, and its velocity at the rates `v`.
    #[inline(always)]
    pub(crate) fn set_motion(
        &mut self,
        joint: LinkJoint,
        link: &Link,
        parent: Option<&Self>,
        state: &State,
        turns: &[(f64, f64)],
        (axes, v): (&mut [Spatial], &[f64]),
    ) {
        self.set_pose(joint, link, parent, state, turns);
        let relative = self.set_axes(joint, link, parent, state.root_position, axes, v);
        self.velocity = match parent {
            Some(parent) => parent.velocity + relative,
            None => relative,
        };
    }
}

impl State {
    /// Sets sine and cosine of half of each coordinate. In a loop of its own, because each call would force other
    /// values out of registers. Few coordinates are not angles.
    pub(crate) fn set_half_angles(&self, turns: &mut [(f64, f64)], free: usize) {
        for (turn, q) in turns[free..].iter_mut().zip(&self.q[free..]) {
            *turn = libm::sincos(0.5 * q);
        }
    }
}

impl Tree {
    /// Velocity of a point of a link at the present pose, m/s.
    #[inline]
    pub(crate) fn velocity_at(&self, link: usize, point: DVec3) -> DVec3 {
        self.work.links[link].velocity.at(point - self.work.origin)
    }

    /// Twist of a link, with the velocity of this point of it.
    #[inline]
    pub(crate) fn motion_at(&self, link: usize, point: DVec3) -> Spatial {
        let angular = self.work.links[link].velocity.angular();
        Spatial::new(angular, self.velocity_at(link, point))
    }

    /// Computes the links at the midpoint of the next step of the same length, `work.ahead`. To be called after the
    /// impulses are applied.
    pub(crate) fn predict_links(&mut self, h: f64) {
        let mut ahead = std::mem::take(&mut self.work.ahead);
        let mut v = std::mem::take(&mut self.work.scratch);
        let changes = self.work.dv_free.iter().zip(&self.work.dv_impulse);
        for (v, (now, (free, impulse))) in v.iter_mut().zip(self.state.v.iter().zip(changes)) {
            *v = now + free + impulse;
        }
        self.drift_at(&v, h);
        ahead.resize(self.topology.links.len(), LinkWork::default());
        self.state.set_half_angles(&mut self.work.turns, self.topology.free_axes());
        for (index, link) in self.topology.links.iter().enumerate() {
            let (before, rest) = ahead.split_at_mut(index);
            rest[0].set_pose(
                link.joint,
                link,
                link.parent.map(|parent| &before[parent]),
                &self.state,
                &self.work.turns,
            );
        }
        self.restore_position();
        self.drift(0.5 * h);
        (self.work.ahead, self.work.scratch) = (ahead, v);
    }

    /// Largest rate of its joints and of a floating root, rad/s, and the body that turns that fast.
    pub(crate) fn fastest_joint_rate(&self) -> (f64, Option<BodyId>) {
        let spin = if self.is_floating() { Self::root_motion(&self.state.v).angular().norm() } else { 0.0 };
        if spin > self.work.fastest_joint.0 { (spin, self.topology.links[0].body) } else { self.work.fastest_joint }
    }

    /// Records the positions of the links at the midpoint of a step.
    pub(crate) fn record_midpoint(&mut self) {
        self.work.links.iter_mut().for_each(|link| link.middle = link.position);
    }

    /// Updates everything that is read from the present state: poses, velocities about the root, kinetic and total
    /// energy, J.
    pub(crate) fn update_kinematics(&mut self, gravity: DVec3) {
        if self.is_single_body() {
            return self.update_single_body(gravity);
        }
        let (topology, state, work) = (&self.topology, &self.state, &mut self.work);
        let origin = state.root_position;
        work.origin = origin;
        state.set_half_angles(&mut work.turns, topology.free_axes());
        let turns = &work.turns[..];
        let (mut kinetic, mut weight) = (0.0, DVec3::ZERO);
        let (links, mut fastest, mut largest_squares) = (&mut work.links[..], (0.0, None), [0.0f64; 3]);
        for (index, link) in topology.links.iter().enumerate() {
            let (before, rest) = links.split_at_mut(index);
            let (own, parent) = (&mut rest[0], link.parent.map(|parent| &before[parent]));
            let rate = match link.joint {
                hinge @ LinkJoint::Revolute(_) => own.set_pose_and_velocity(hinge, link, parent, state, turns),
                other => own.set_pose_and_velocity(other, link, parent, state, turns),
            };
            let spin = own.matrix.transpose() * own.velocity.angular();
            let squares = own.squared_speeds_and_distance(origin);
            kinetic += link.mass * squares[0] + (link.principal * spin).dot(spin);
            largest_squares = std::array::from_fn(|k| largest_squares[k].max(squares[k]));
            weight += own.position * link.mass;
            if rate > fastest.0 {
                fastest = (rate, link.body);
            }
        }
        (work.fastest_joint, work.largest_squares) = (fastest, largest_squares);
        let (mut stored, free) = (0.0, topology.free_axes());
        for ((law, q), v) in topology.laws[free..].iter().zip(&state.q[free..]).zip(&state.v[free..]) {
            let stretch = law.spring_position - q;
            kinetic += law.armature * v * v;
            stored += law.stiffness * stretch * stretch;
        }
        (work.kinetic, work.energy) = (0.5 * kinetic, 0.5 * (kinetic + stored) - gravity.dot(weight));
    }
}

/// Pose and twist of a body.
pub(crate) fn read_body(tree: &Tree, place: &BodyAddress) -> BodyState {
    let link = &tree.work.links[place.link];
    // Most bodies have their origin in their centre of mass.
    let pose = if place.is_link { link.pose() } else { link.pose().then(&place.frame) };
    let linear_velocity = link.velocity.at(link.position - tree.work.origin);
    let angular_velocity = link.velocity.angular();
    BodyState { pose, linear_velocity, angular_velocity, force: DVec3::ZERO, torque: DVec3::ZERO }
}
