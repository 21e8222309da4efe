//! Step outputs: readable results of a step. Poses and twists are those at its end; forces are means over it.

use bevy_math::DVec3;
use simpartner_model::BodyId;

use super::{retry_groups::RetryGroups, world::Dynamics};
use crate::{
    BodyState, ContactPoint, JointLoad, JointState, Wrench,
    engine::{
        algebra::spatial::Spatial,
        collision::Contact,
        constraints::loop_joint::{LoopJoint, LoopLoad, Motion},
        state::{
            addresses::{JointAddress, LinkAddress},
            kinematics::read_body,
            tree::Tree,
        },
    },
};

impl Dynamics {
    /// Clears contacts and loads before the first substep.
    pub(crate) fn clear_outputs(&mut self) {
        self.contacts.clear();
        self.wrenches.fill(Wrench::default());
        for loop_joint in &mut self.loop_joints {
            loop_joint.load = LoopLoad::default();
        }
    }

    /// Adds the pressing contacts of a substep to the list and to the wrenches of bodies, whose torques are about the
    /// centres of mass. Contacts of sleeping bodies are added once a step.
    pub(crate) fn add_contacts(&mut self, groups: &RetryGroups, depth: u32) {
        let rate = self.scheme.time_fraction / self.scheme.h;
        let trees = &self.trees;
        let counts = |side: LinkAddress| {
            let tree = &trees[side.tree];
            tree.is_awake() && !groups.is_rejected(side.tree) || tree.state.asleep && depth == 0
        };
        let counts = |contact: &&Contact| counts(contact.b) || contact.a.is_some_and(counts);
        let pressing = self.collider.contacts.iter().filter(|contact| contact.impulse != DVec3::ZERO);
        for contact in pressing.filter(counts) {
            let (force, torque) = (contact.impulse * rate, contact.spin_impulse * rate);
            let mut body = |side: LinkAddress, sign: f64| {
                let tree = &self.trees[side.tree];
                let id = tree.topology.links[side.link].body?;
                let lever = contact.point - tree.work.links[side.link].middle;
                let wrench = &mut self.wrenches[id.index()];
                wrench.force += force * sign;
                wrench.torque += (torque + lever.cross(force)) * sign;
                Some(id)
            };
            let bodies = [contact.a.and_then(|side| body(side, -1.0)), body(contact.b, 1.0)];
            let Contact { point, normal, gap, .. } = *contact;
            self.contacts.push(ContactPoint { bodies, point, normal, gap, wrench: Wrench { force, torque } });
        }
    }

    /// Updates the frames of loop joints, and the reported load of those that are awake.
    pub(crate) fn update_loop_joints(&mut self) {
        let sleeps = |side: LinkAddress| self.trees[side.tree].state.asleep;
        for loop_joint in &mut self.loop_joints {
            loop_joint.update_frames(&self.trees);
            if !sleeps(loop_joint.a) && !sleeps(loop_joint.b) {
                loop_joint.reported_load = loop_joint.load;
            }
        }
    }

    /// Computes the joint reactions of static structures from the wrenches on them in the step.
    pub(crate) fn compute_static_reactions(&mut self) {
        let gravity = self.scheme.gravity;
        if self.model.static_structures.is_empty() {
            return;
        }
        for &tree in &self.model.static_structures {
            self.trees[tree].work.links.iter_mut().for_each(|link| link.external = Spatial::ZERO);
        }
        let trees = &mut self.trees;
        let mut push = |tree: usize, link: usize, wrench: Wrench, point: DVec3, sign: f64| {
            let tree = &mut trees[tree];
            if tree.is_static_structure() {
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
        for loop_joint in &self.loop_joints {
            let wrench = Wrench { force: loop_joint.load.force, torque: loop_joint.load.torque };
            let anchor = loop_joint.place.child.translation;
            push(loop_joint.a.tree, loop_joint.a.link, wrench, anchor, -1.0);
            push(loop_joint.b.tree, loop_joint.b.link, wrench, anchor, 1.0);
        }
        self.model.static_structures.iter().for_each(|&tree| self.trees[tree].set_static_reactions(gravity));
    }

    /// Pose, twist and contact wrench of a body.
    pub(crate) fn body_state(&self, body: BodyId) -> BodyState {
        let place = &self.model.bodies[body.index()];
        let Wrench { force, torque } = self.wrenches[body.index()];
        BodyState { force, torque, ..read_body(&self.trees[place.tree], place) }
    }

    /// Anchor, coordinates and loads of a joint. A sleeping joint keeps its last loads.
    pub(crate) fn joint_state(&self, joint: usize) -> JointState {
        match &self.model.joints[joint] {
            JointAddress::Tree { tree, link, dofs, sign } => read_joint(&self.trees[*tree], *link, dofs, *sign),
            JointAddress::LoopJoint(loop_joint) => read_loop_joint(&self.loop_joints[*loop_joint], &self.trees),
        }
    }

    /// Restores the loads of a joint in the last step.
    pub(crate) fn restore_load(&mut self, joint: usize, load: LoopLoad) {
        let LoopLoad { effort, stop, passive, force, torque } = load;
        match self.model.joints[joint] {
            JointAddress::Tree { tree, link, dofs, sign } => {
                let work = &mut self.trees[tree].work;
                for (axis, dof) in dofs.iter().enumerate() {
                    if let Some(dof) = *dof {
                        work.loads[dof] = [effort[axis], stop[axis], passive[axis]].map(|load| sign * load);
                    }
                }
                work.reactions[link] = Spatial::new(torque * sign, force * sign);
            }
            JointAddress::LoopJoint(loop_joint) => self.loop_joints[loop_joint].reported_load = load,
        }
    }
}

fn read_joint(tree: &Tree, link: usize, dofs: &[Option<usize>; 3], sign: f64) -> JointState {
    let Tree { topology, state: own, work } = tree;
    let anchor = work.links[link].joint_origin(&topology.links[link], &work.links);
    let reaction = &work.reactions[link];
    let reaction = Wrench { force: reaction.linear() * sign, torque: reaction.angular() * sign };
    let (mut state, mut load) =
        (JointState { anchor, ..JointState::ZERO }, JointLoad { reaction, ..JointLoad::default() });
    for (axis, dof) in dofs.iter().enumerate() {
        let Some(dof) = *dof else { continue };
        (state.position[axis], state.rate[axis]) = (sign * own.q[dof], sign * own.v[dof]);
        let [motor, stops, rest] = work.loads[dof];
        (state.effort[axis], load.stop[axis], load.passive[axis]) = (sign * motor, sign * stops, sign * rest);
    }
    JointState { load: Some(load), ..state }
}

fn read_loop_joint(loop_joint: &LoopJoint, trees: &[Tree]) -> JointState {
    let anchor = loop_joint.place.child.translation;
    let velocity = |side: LinkAddress| {
        let work = &trees[side.tree].work;
        work.links[side.link].velocity.shifted(anchor - work.origin)
    };
    let motion =
        Motion { velocity: [velocity(loop_joint.a), velocity(loop_joint.b)], acceleration: [Spatial::ZERO; 2] };
    let (rates, coordinates) = (loop_joint.axis_rates(&motion), loop_joint.coordinates);
    let free =
        |numbers: [f64; 3]| [0, 1, 2].map(|axis| if loop_joint.axes[axis].is_some() { numbers[axis] } else { 0.0 });
    let LoopLoad { effort, stop, passive, force, torque } = loop_joint.reported_load;
    let load = Some(JointLoad { stop, passive, reaction: Wrench { force, torque } });
    JointState { anchor, position: free(coordinates), rate: free(rates), effort, load }
}
