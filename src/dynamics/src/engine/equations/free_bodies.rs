//! Single bodies, which most trees of a heap are: what is simpler for them, to the same bits.
//!
//! Their axes are unit vectors that never change, they have no coordinates but their pose, and about their centre of mass what moves them has
//! nothing to do with what turns them. One that nothing touches, ties or pushes has no constraints: weight moves it, and it turns by itself
//! ([`crate::engine::equations::free_rotation`]). It needs neither island nor mass matrix, and nothing in its substep can fail ([`Tree::is_free_flight`]).

use bevy_math::DVec3;
use simpartner_model::Norm;

use crate::{
    engine::state::{
        tree::Tree,
        workspace::{LinkWork, Work},
    },
    state::{RUNAWAY_SPEED, RUNAWAY_SPIN},
};

/// The first degree of freedom that turns it.
const ANGULAR: usize = 3;
/// What flies alone is this many times slower than anything may be, and falls by no more in a substep.
const RUNAWAY_MARGIN: f64 = 10.0;
/// It is no farther away than this along each axis, m: numbers of that size are far from overflow.
const MAX_COORDINATE: f64 = 1e12;

impl Tree {
    /// Where a single body is at its present pose, and how it moves at the velocity extrapolated to the middle of the step.
    pub(crate) fn set_single_body_motion(&mut self) {
        let (link, state, work) = (&self.topology.links[0], &self.state, &mut self.work);
        work.origin = state.root_position;
        work.links[0].place(link.joint, link, None, state, &[]);
        work.links[0].velocity = Self::root_motion(&state.v) + Self::root_motion(&state.last_dv) * 0.5;
        if !work.external_wrenches.is_empty() {
            self.sum_external_wrenches();
        }
    }

    /// Whether it may fly if nothing touches or ties it: a single body that nobody pushes, so slow that it cannot run away in a substep of `h`
    /// seconds. What turns freely turns at most as much faster as its energy lets it about its lightest axis.
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

    /// Makes the whole substep after [`Tree::predict`] of what may fly and does.
    pub(crate) fn step_free_flight(&mut self, h: f64, gravity: DVec3) {
        let link = &self.topology.links[0];
        // The effort less the bias, which is the weight, by the pivots of the mass matrix.
        let dv = (DVec3::ZERO + gravity * link.mass) * h * (1.0 / link.mass);
        let (state, work) = (&mut self.state, &mut self.work);
        (work.impact, work.is_complete, work.substep_work) = (false, true, 0.0);
        state.last_dv[..3].copy_from_slice(dv.as_ref());
        state.last_dv[3..6].fill(0.0);
        state.v.iter_mut().zip(&state.last_dv).for_each(|(v, dv)| *v += dv);
        self.drift(0.5 * h);
        self.update_single_body(gravity);
    }

    /// [`Tree::update_kinematics`] of a single body.
    pub(crate) fn update_single_body(&mut self, gravity: DVec3) {
        let (link, state, work) = (&self.topology.links[0], &self.state, &mut self.work);
        work.origin = state.root_position;
        let own: &mut LinkWork = &mut work.links[0];
        own.place(link.joint, link, None, state, &[]);
        own.velocity = Self::root_motion(&state.v);
        let spin = own.matrix.transpose() * own.velocity.angular();
        let (speed, turn) = (own.velocity.linear().length_squared(), own.velocity.angular().length_squared());
        let kinetic = link.mass * speed + (link.principal * spin).dot(spin);
        (work.fastest_joint, work.largest_squares) = ((0.0, None), [speed, turn, own.position.length_squared()]);
        (work.kinetic, work.energy) = (0.5 * kinetic, 0.5 * kinetic - gravity.dot(own.position * link.mass));
    }

    /// [`Tree::set_free_velocity`] of what [`Tree::is_decoupled`]: its mass, and the rows that turn it, are factored apart.
    pub(crate) fn set_decoupled_velocity(&mut self, h: f64) {
        let starts = self.angular_rows();
        let Work { mass, factor, pivot, root_pivot, bias, dv_free, .. } = &mut self.work;
        let mut dv: [f64; 6] = std::array::from_fn(|dof| h * (0.0 - bias[dof]));
        pivot[..ANGULAR].fill(1.0 / mass[0]);
        let mut m: [[f64; 3]; 3] =
            std::array::from_fn(|row| std::array::from_fn(|k| if k <= row { mass[starts[row] + k] } else { 0.0 }));
        for row in (0..3).rev() {
            pivot[ANGULAR + row] = 1.0 / m[row][row];
            for k in (0..row).rev() {
                let part = m[row][k] * pivot[ANGULAR + row];
                (0..=k).for_each(|j| m[k][j] -= part * m[row][j]);
                factor[starts[row] + k] = part;
                dv[ANGULAR + k] -= part * dv[ANGULAR + row];
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

    /// [`Tree::solve_lower`] of what [`Tree::is_decoupled`].
    pub(crate) fn solve_decoupled(&self, x: &mut [f64]) {
        let (factor, [_, y, z]) = (&self.work.factor, self.angular_rows());
        x[4] -= factor[y] * x[3];
        x[5] = x[5] - factor[z] * x[3] - factor[z + 1] * x[4];
    }

    /// Where the entries begin, in the packed rows that turn a free root, of what turns it.
    fn angular_rows(&self) -> [usize; 3] {
        [3, 4, 5].map(|dof| self.topology.row[dof] + ANGULAR)
    }

    /// What it gained in the last substep beyond what came in, J.
    pub(crate) fn energy_error(&self) -> f64 {
        self.work.energy - self.work.energy_at_start - self.work.substep_work
    }
}
