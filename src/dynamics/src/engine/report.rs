//! What can be read after a step: poses and twists at its end, forces as means over it.

use bevy_math::DVec3;
use simpartner_model::{BodyId, Pose};

use super::{
    Dynamics,
    build::{BodyPlace, JointPlace},
    closure::{Closure, Load, Motion},
    collide::{Contact, Side},
    division::Groups,
    spatial::Spatial,
    tree::Tree,
};
use crate::{BodyState, ContactPoint, JointLoad, JointState, Wrench};

impl Dynamics {
    /// Before the first substep.
    pub(super) fn begin_loads(&mut self) {
        self.contacts.clear();
        for body in &mut self.bodies {
            (body.force, body.torque) = (DVec3::ZERO, DVec3::ZERO);
        }
        for closure in &mut self.closures {
            closure.load = Load::default();
        }
    }

    /// Adds the contacts of a substep to the list, those that press, and to the bodies' wrenches, torques about the centres
    /// of mass.
    /// Of what sleeps, once a step.
    pub(super) fn add_contacts(&mut self, groups: &Groups, depth: u32) {
        let rate = self.scheme.share / self.scheme.h;
        let trees = &self.trees;
        let counts = |side: Side| {
            let tree = &trees[side.tree];
            tree.is_awake() && !groups.rejects(side.tree) || tree.state.asleep && depth == 0
        };
        let counts = |contact: &&Contact| counts(contact.b) || contact.a.is_some_and(counts);
        let pressing = self.collider.contacts.iter().filter(|contact| contact.impulse != DVec3::ZERO);
        for contact in pressing.filter(counts) {
            let (force, torque) = (contact.impulse * rate, contact.spin_impulse * rate);
            let mut body = |side: Side, sign: f64| {
                let tree = &self.trees[side.tree];
                let id = tree.topology.links[side.link].body?;
                let lever = contact.point - tree.work.links[side.link].middle;
                let state = &mut self.bodies[id.index()];
                state.force += force * sign;
                state.torque += (torque + lever.cross(force)) * sign;
                Some(id)
            };
            let bodies = [contact.a.and_then(|side| body(side, -1.0)), body(contact.b, 1.0)];
            let Contact { point, normal, gap, .. } = *contact;
            self.contacts.push(ContactPoint { bodies, point, normal, gap, wrench: Wrench { force, torque } });
        }
    }

    /// Reads where the bodies are and how they move. A body whose state is not sound keeps the last that was.
    pub(super) fn read_motion(&mut self) {
        for (index, (place, state)) in self.model.bodies.iter().zip(&mut self.bodies).enumerate() {
            let (pose, linear_velocity, angular_velocity) = read_body(&self.trees[place.tree], place);
            let with = |state: &BodyState| BodyState { pose, linear_velocity, angular_velocity, ..*state };
            if with(state).is_sound() {
                (state.pose, state.linear_velocity, state.angular_velocity) = (pose, linear_velocity, angular_velocity);
            } else if let Some(complaint) = with(state).complaint() {
                (state.force, state.torque) = (DVec3::ZERO, DVec3::ZERO);
                self.guards.complain(BodyId::new(index), complaint);
            }
        }
        for closure in &mut self.closures {
            closure.set_place(&self.trees);
        }
    }

    /// Works out what the joints of trees transmit that nothing can move, from what pushed on them in the step.
    pub(super) fn read_static_reactions(&mut self) {
        let gravity = self.scheme.gravity;
        if self.model.frames.is_empty() {
            return;
        }
        for &tree in &self.model.frames {
            self.trees[tree].work.links.iter_mut().for_each(|link| link.external = Spatial::ZERO);
        }
        let trees = &mut self.trees;
        let mut push = |tree: usize, link: usize, wrench: Wrench, point: DVec3, sign: f64| {
            let tree = &mut trees[tree];
            if tree.is_frame() {
                let lever = point - tree.work.origin;
                let moment = wrench.torque + lever.cross(wrench.force);
                tree.work.links[link].external += Spatial::new(moment, wrench.force) * sign;
            }
        };
        for contact in &self.contacts {
            for (body, sign) in contact.bodies.into_iter().zip([-1.0, 1.0]) {
                if let Some(place) = body.map(|body| &self.model.bodies[body.index()]) {
                    push(place.tree, place.link, contact.wrench, contact.point, sign);
                }
            }
        }
        for closure in &self.closures {
            let wrench = Wrench { force: closure.load.force, torque: closure.load.torque };
            let anchor = closure.place.child.translation;
            push(closure.a.tree, closure.a.link, wrench, anchor, -1.0);
            push(closure.b.tree, closure.b.link, wrench, anchor, 1.0);
        }
        self.model.frames.iter().for_each(|&tree| self.trees[tree].set_static_reactions(gravity));
    }

    /// Reads where the joints are, how they move, and what they transmit. Those of what sleeps go on transmitting what they did.
    pub(super) fn read_joints(&mut self) {
        for (place, state) in self.model.joints.iter().zip(&mut self.joints) {
            match place {
                JointPlace::Tree { tree, link, dofs, sign } => {
                    read_joint(&self.trees[*tree], *link, dofs, *sign, state);
                }
                JointPlace::Closure(closure) => {
                    let closure = &self.closures[*closure];
                    read_closure(closure, &self.trees, state);
                    if !self.trees[closure.a.tree].state.asleep && !self.trees[closure.b.tree].state.asleep {
                        read_load(closure, state);
                    }
                }
            }
        }
    }
}

/// Pose, velocity of the centre of mass and angular velocity of a body.
#[inline(always)]
pub(super) fn read_body(tree: &Tree, place: &BodyPlace) -> (Pose, DVec3, DVec3) {
    let link = &tree.work.links[place.link];
    // Most bodies have their origin in their centre of mass.
    let pose = if place.is_link { link.pose() } else { link.pose().then(&place.frame) };
    (pose, link.velocity.at(link.position - tree.work.origin), link.velocity.angular())
}

fn read_joint(tree: &Tree, link: usize, dofs: &[Option<usize>; 3], sign: f64, state: &mut JointState) {
    let Tree { topology, state: own, work } = tree;
    state.anchor = work.links[link].joint_origin(&topology.links[link], &work.links);
    let JointState { position, rate, effort, load, .. } = state;
    // What sleeps goes on transmitting what it did.
    let mut load = if own.asleep { None } else { Some(load.get_or_insert_default()) };
    for (axis, dof) in dofs.iter().enumerate() {
        let Some(dof) = *dof else { continue };
        (position[axis], rate[axis]) = (sign * own.q[dof], sign * own.v[dof]);
        if let Some(load) = &mut load {
            let [motor, stops, rest] = work.loads[dof];
            (effort[axis], load.stop[axis], load.passive[axis]) = (sign * motor, sign * stops, sign * rest);
        }
    }
    if let Some(load) = load {
        let reaction = &work.reactions[link];
        load.reaction = Wrench { force: reaction.linear() * sign, torque: reaction.angular() * sign };
    }
}

fn read_load(closure: &Closure, state: &mut JointState) {
    let Load { effort, stop, passive, force, torque } = closure.load;
    state.effort = effort;
    state.load = Some(JointLoad { stop, passive, reaction: Wrench { force, torque } });
}

fn read_closure(closure: &Closure, trees: &[Tree], state: &mut JointState) {
    state.anchor = closure.place.child.translation;
    let velocity = |side: Side| {
        let work = &trees[side.tree].work;
        work.links[side.link].velocity.shifted(state.anchor - work.origin)
    };
    let motion = Motion { velocity: [velocity(closure.a), velocity(closure.b)], acceleration: [Spatial::ZERO; 2] };
    let rates = closure.rates(&motion);
    for axis in (0..3).filter(|&axis| closure.axes[axis].is_some()) {
        (state.position[axis], state.rate[axis]) = (closure.coordinates[axis], rates[axis]);
    }
}
