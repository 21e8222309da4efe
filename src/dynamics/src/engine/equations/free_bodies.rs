//! Single bodies, the most frequent trees of a heap: simpler code with bit-identical results.
//!
//! Their axes are constant unit vectors, their only coordinates are their pose, and about the centre of mass
//! translation and rotation are independent. A single body without contacts, joints and external wrenches has no
//! constraints: gravity accelerates it and it rotates freely ([`free_rotation`](super::free_rotation)). It needs
//! neither island nor mass matrix, and its substep cannot fail ([`Tree::is_free_flight`]).

use bevy_math::DVec3;
use simpartner_model::Norm;

use crate::{
    engine::state::{
        tree::Tree,
        workspace::{LinkWork, Work},
    },
    state::{RUNAWAY_SPEED, RUNAWAY_SPIN},
};

/// First angular degree of freedom.
const FIRST_ANGULAR: usize = 3;
/// Ratio of the runaway limits to the largest speeds of a body in free flight, and to the largest speed that it gains
/// by falling in a substep.
const RUNAWAY_MARGIN: f64 = 10.0;
/// Largest coordinate of a body in free flight, m: far from overflow.
const MAX_COORDINATE: f64 = 1e12;

impl Tree {
    /// Sets the pose of the present state, and the twist extrapolated to the midpoint.
    pub(crate) fn set_single_body_motion(&mut self) {
        let (link, state, work) = (&self.topology.links[0], &self.state, &mut self.work);
        work.origin = state.root_position;
        work.links[0].set_pose(link.joint, link, None, state, &[]);
        work.links[0].velocity = Self::root_motion(&state.v) + Self::root_motion(&state.last_dv) * 0.5;
        if !work.external_wrenches.is_empty() {
            self.sum_external_wrenches();
        }
    }

    /// True if a single body without external wrenches is so slow that it cannot run away in a substep of `h` seconds.
    /// A free rotation speeds up at most until all its energy is about its lightest axis.
    pub(crate) fn is_free_flight(&self, h: f64, gravity: DVec3) -> bool {
        if !self.is_single_body() || !self.work.external_wrenches.is_empty() {
            return false;
        }
        let (state, principal) = (&self.state, self.topology.links[0].principal);
        let motion = Self::root_motion(&state.v);
        let (angular, linear) = (motion.angular(), motion.linear());
        let (speed, spin) = (RUNAWAY_SPEED / RUNAWAY_MARGIN, RUNAWAY_SPIN / RUNAWAY_MARGIN);
        linear.norm() + gravity.norm() * h < speed
            && angular.length_squared() * principal.max_element() < spin * spin * principal.min_element()
            && state.root_position.abs().max_element() < MAX_COORDINATE
            && state.root_rotation.is_finite()
    }

    /// Completes the substep after [`Tree::predict`] for a body in free flight.
    pub(crate) fn step_free_flight(&mut self, h: f64, gravity: DVec3) {
        let link = &self.topology.links[0];
        // The effort minus the bias, which is gravity, over the pivots of the mass matrix.
        let dv = (DVec3::ZERO + gravity * link.mass) * h * (1.0 / link.mass);
        let (state, work) = (&mut self.state, &mut self.work);
        (work.impact, work.is_complete, work.substep_work) = (false, true, 0.0);
        state.last_dv[..3].copy_from_slice(dv.as_ref());
        state.last_dv[3..6].fill(0.0);
        state.v.iter_mut().zip(&state.last_dv).for_each(|(v, dv)| *v += dv);
        self.drift(0.5 * h);
        self.update_single_body(gravity);
    }

    /// [`Tree::update_kinematics`] for a single body.
    pub(crate) fn update_single_body(&mut self, gravity: DVec3) {
        let (link, state, work) = (&self.topology.links[0], &self.state, &mut self.work);
        work.origin = state.root_position;
        let own: &mut LinkWork = &mut work.links[0];
        own.set_pose(link.joint, link, None, state, &[]);
        own.velocity = Self::root_motion(&state.v);
        let spin = own.matrix.transpose() * own.velocity.angular();
        let (speed, turn) = (own.velocity.linear().length_squared(), own.velocity.angular().length_squared());
        let kinetic = link.mass * speed + (link.principal * spin).dot(spin);
        (work.fastest_joint, work.largest_squares) = ((0.0, None), [speed, turn, own.position.length_squared()]);
        (work.kinetic, work.energy) = (0.5 * kinetic, 0.5 * kinetic - gravity.dot(own.position * link.mass));
    }

    /// [`Tree::set_free_velocity`] for a tree that [`Tree::is_decoupled`]: its mass and its angular rows are factored
    /// separately.
    pub(crate) fn set_decoupled_velocity(&mut self, h: f64) {
        let starts = self.angular_rows();
        let Work { mass, factor, pivot, root_pivot, bias, dv_free, .. } = &mut self.work;
        let mut dv: [f64; 6] = std::array::from_fn(|dof| h * (0.0 - bias[dof]));
        pivot[..FIRST_ANGULAR].fill(1.0 / mass[0]);
        let mut m: [[f64; 3]; 3] =
            std::array::from_fn(|row| std::array::from_fn(|k| if k <= row { mass[starts[row] + k] } else { 0.0 }));
        for row in (0..3).rev() {
            pivot[FIRST_ANGULAR + row] = 1.0 / m[row][row];
            for k in (0..row).rev() {
                let part = m[row][k] * pivot[FIRST_ANGULAR + row];
                (0..=k).for_each(|j| m[k][j] -= part * m[row][j]);
                factor[starts[row] + k] = part;
                dv[FIRST_ANGULAR + k] -= part * dv[FIRST_ANGULAR + row];
            }
        }
        root_pivot.iter_mut().zip(&*pivot).for_each(|(root, pivot)| *root = pivot.sqrt());
        dv.iter_mut().zip(&*pivot).for_each(|(dv, pivot)| *dv *= pivot);
        dv_free.copy_from_slice(&dv);
        let mut dv = std::mem::take(&mut self.work.dv_free);
        self.solve_decoupled(&mut dv);
        let changes = self.state.v.iter().zip(&dv);
        self.work.v_free.iter_mut().zip(changes).for_each(|(out, (v, dv))| *out = v + dv);
        self.work.dv_free = dv;
    }

    /// [`Tree::solve_lower`] for a tree that [`Tree::is_decoupled`].
    pub(crate) fn solve_decoupled(&self, x: &mut [f64]) {
        let (factor, [_, y, z]) = (&self.work.factor, self.angular_rows());
        x[4] -= factor[y] * x[3];
        x[5] = x[5] - factor[z] * x[3] - factor[z + 1] * x[4];
    }

    /// Start of the angular entries in the packed angular rows of a free root.
    fn angular_rows(&self) -> [usize; 3] {
        [3, 4, 5].map(|dof| self.topology.row[dof] + FIRST_ANGULAR)
    }

    /// Energy gained in the last substep beyond its work input, J.
    pub(crate) fn energy_error(&self) -> f64 {
        self.work.energy - self.work.energy_at_start - self.work.substep_work
    }
}
