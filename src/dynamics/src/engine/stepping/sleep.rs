//! Sleep: single bodies that have come to rest together stay as they are until something touches them. Their contacts
//! and forces stay unchanged, so all readings do too.

use simpartner_model::Norm;

use super::world::Dynamics;
use crate::engine::state::tree::Tree;

/// A body is at rest below this speed, m/s and rad/s (the defaults of ODE's autoDisableFlag), for this time, s.
const REST_SPEED: f64 = 0.01;
const REST_TIME: f64 = 0.5;
/// Rest speed of small bodies over their size, 1/s.
const REST_SPEED_PER_SIZE: f64 = 0.1;

/// Speed below which a tree is at rest whose smallest shape has this size, m/s.
pub(crate) fn rest_speed(size: f64) -> f64 {
    REST_SPEED.min(REST_SPEED_PER_SIZE * size)
}

impl Tree {
    fn is_at_rest(&self, speed: f64) -> bool {
        let work = &self.work;
        let still = |link: usize| {
            let velocity = work.links[link].velocity;
            velocity.angular().norm() < REST_SPEED
                && velocity.at(work.links[link].position - work.origin).norm() < speed
        };
        (0..self.topology.links.len()).all(still)
    }
}

impl Dynamics {
    /// Lets islands fall asleep whose trees have all been at rest long enough.
    pub(crate) fn fall_asleep(&mut self) {
        if self.model.sleepers.iter().all(Option::is_none) {
            return;
        }
        let islands = std::mem::take(&mut self.islands);
        islands.islands().iter().for_each(|island| self.fall_asleep_together(island.trees()));
        (0..self.trees.len())
            .filter(|&tree| islands.is_free_body(tree))
            .for_each(|tree| self.fall_asleep_together(&[tree]));
        self.islands = islands;
    }

    fn fall_asleep_together(&mut self, trees: &[usize]) {
        let mut all = true;
        for &tree in trees {
            let rests = self.model.sleepers[tree].is_some_and(|speed| self.trees[tree].is_at_rest(speed));
            let state = &mut self.trees[tree].state;
            state.rest = if rests { state.rest + self.model.timestep } else { 0.0 };
            all &= state.rest >= REST_TIME;
        }
        if all {
            for &tree in trees {
                let tree = &mut self.trees[tree];
                tree.state.asleep = true;
                tree.state.v.fill(0.0);
                tree.state.last_dv.fill(0.0);
                tree.update_kinematics(self.scheme.gravity);
            }
        }
    }

    /// Wakes what sleeps and is touched by, or joined to, something awake, and all that it leans on.
    pub(crate) fn wake_touched(&mut self) {
        if !self.collider.sees_sleepers {
            return;
        }
        let mut changed = true;
        while changed {
            changed = false;
            let contacts = self.collider.contacts.iter().filter_map(|contact| Some((contact.a?.tree, contact.b.tree)));
            let loop_joints = self.loop_joints.iter().map(|loop_joint| (loop_joint.a.tree, loop_joint.b.tree));
            for (a, b) in contacts.chain(loop_joints) {
                for (one, other) in [(a, b), (b, a)] {
                    if self.trees[one].is_awake() && self.trees[other].state.asleep {
                        self.trees[other].wake();
                        self.trees[other].begin_step();
                        self.trees[other].predict(self.scheme.h);
                        changed = true;
                    }
                }
            }
        }
    }
}
