//! Sleep: single bodies that have come to rest together stay in place until something touches them. Their contacts and
//! forces stay unchanged, and so do all readings.

use simpartner_model::Norm;

use super::world::Dynamics;
use crate::engine::state::tree::Tree;

/// Speed, m/s and rad/s, below which a body is at rest (the defaults of ODE's autoDisableFlag), and time at rest after
/// which it falls asleep, s.
const REST_SPEED: f64 = 0.01;
const REST_TIME: f64 = 0.5;
/// Rest speed of small bodies divided by their size, 1/s.
const REST_SPEED_PER_SIZE: f64 = 0.1;

/// Speed below which a tree is at rest, m/s, if its smallest shape has this size, m.
pub(crate) fn rest_speed(size: f64) -> f64 {
    REST_SPEED.min(REST_SPEED_PER_SIZE * size)
}

impl Tree {
    /// True if all its links are slower than `speed`, m/s, and [`REST_SPEED`], rad/s.
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
    /// Puts islands to sleep whose trees have all been at rest long enough.
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

    /// Wakes sleeping bodies that awake ones touch or are joined to, and in turn all bodies that support them.
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
