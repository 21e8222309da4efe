//! Integration of positions: coordinates after some time at constant velocities.

use bevy_math::DVec3;
use simpartner_model::Norm;

use super::free_rotation::rotate_freely;
use crate::{
    engine::{
        algebra::spatial::rotation_by,
        state::{link::LinkJoint, topology::Topology, tree::Tree, tree_state::State},
    },
    state::rotation_vector,
};

impl Tree {
    /// Moves for `h` seconds at the present velocity.
    pub(crate) fn drift(&mut self, h: f64) {
        if self.is_single_body() {
            self.drift_single(h);
        } else {
            integrate_coordinates(&self.topology, &mut self.state, None, h);
        }
    }

    /// Moves for `h` seconds at the pseudo-velocity that separates overlaps.
    pub(crate) fn drift_pseudo(&mut self, h: f64) {
        integrate_coordinates(&self.topology, &mut self.state, Some(&self.work.pseudo), h);
    }

    /// Moves for `h` seconds at the velocities `v`.
    pub(crate) fn drift_at(&mut self, v: &[f64], h: f64) {
        integrate_coordinates(&self.topology, &mut self.state, Some(v), h);
    }

    /// A free body follows its free rotation in the half substep. The kick then has no gyroscopic term.
    fn drift_single(&mut self, h: f64) {
        let principal = self.topology.links[0].principal;
        let state = &mut self.state;
        let before = DVec3::new(state.v[3], state.v[4], state.v[5]);
        state.root_position += DVec3::new(state.v[0], state.v[1], state.v[2]) * h;
        if before == DVec3::ZERO {
            return;
        }
        let (turned, after) = rotate_freely(principal, state.root_rotation, before, h);
        state.root_rotation = turned;
        state.v[3..6].copy_from_slice(after.as_ref());
    }
}

/// Adds `h` times the velocities, or `other` instead of them, to the coordinates.
fn integrate_coordinates(topology: &Topology, state: &mut State, other: Option<&[f64]>, h: f64) {
    let State { root_position, root_rotation, q, balls, v, .. } = state;
    let v = other.unwrap_or(v);
    let mut first = 0;
    if topology.links[0].joint == LinkJoint::Free {
        *root_position += DVec3::new(v[0], v[1], v[2]) * h;
        *root_rotation = (rotation_by(DVec3::new(v[3], v[4], v[5]) * h) * *root_rotation).normalized();
        first = 6;
    }
    for (q, v) in q[first..].iter_mut().zip(&v[first..]) {
        *q += h * v;
    }
    for (ball, turn) in topology.balls.iter().zip(balls) {
        *turn = ball.rotated_by(*turn, rotation_by(DVec3::from_slice(&v[ball.dof..]) * h));
        q[ball.dof..ball.dof + 3].copy_from_slice(rotation_vector(*turn).as_ref());
    }
}
