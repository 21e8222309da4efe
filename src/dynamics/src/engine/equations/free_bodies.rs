//! Single bodies, which most trees of a heap are: what is simpler for them, to the same bits.
//!
//! Their axes are unit vectors that never change, they have no coordinates but their pose, and about their centre of mass what moves them has
//! nothing to do with what turns them. One that nothing touches, ties or pushes has no constraints: weight moves it, and it turns by itself
//! ([`crate::engine::equations::free_rotation`]). It needs neither island nor mass matrix, and nothing in its substep can fail ([`Tree::may_fly`]).

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
const TURN: usize = 3;
/// What flies alone is this many times slower than anything may be, and falls by no more in a substep.
const FAR_FROM_RUNAWAY: f64 = 10.0;
/// It is no farther away than this along each axis, m: numbers of that size are far from overflow.
const FARTHEST: f64 = 1e12;

impl Tree {
    /// Where a single body is at its present pose, and how it moves at the velocity extrapolated to the middle of the step.
    pub(crate) fn set_single_motion(&mut self) {
        let (link, state, work) = (&self.topology.links[0], &self.state, &mut self.work);
        work.origin = state.root_position;
        work.links[0].place(link.joint, link, None, state, &[]);
        work.links[0].velocity = Self::root_motion(&state.v) + Self::root_motion(&state.last_dv) * 0.5;
        if !work.pushes.is_empty() {
            self.place_pushes();
        }
    }

    /// Whether it may fly if nothing touches or ties it: a single body that nobody pushes, so slow that it cannot run away in a substep of `h`
    /// seconds. What turns freely turns at most as much faster as its energy lets it about its lightest axis.
    pub(crate) fn may_fly(&self, h: f64, gravity: DVec3) -> bool {
        if !self.is_single() || !self.work.pushes.is_empty() {
            return false;
        }
        let (state, principal) = (&self.state, self.topology.links[0].principal);
        let motion = Self::root_motion(&state.v);
        let (angular, linear) = (motion.angular(), motion.linear());
        let (speed, spin) = (RUNAWAY_SPEED / FAR_FROM_RUNAWAY, RUNAWAY_SPIN / FAR_FROM_RUNAWAY);
        linear.norm() + gravity.norm() * h < speed
            && angular.length_squared() * principal.max_element() < spin * spin * principal.min_element()
            && state.root_position.abs().max_element() < FARTHEST
            && state.root_rotation.is_finite()
    }

    /// Makes the whole substep after [`Tree::predict`] of what may fly and does.
    pub(crate) fn fly(&mut self, h: f64, gravity: DVec3) {
        let link = &self.topology.links[0];
        // The effort less the bias, which is the weight, by the pivots of the mass matrix.
        let dv = (DVec3::ZERO + gravity * link.mass) * h * (1.0 / link.mass);
        let (state, work) = (&mut self.state, &mut self.work);
        (work.impact, work.is_free, work.substep_work) = (false, true, 0.0);
        state.last_dv[..3].copy_from_slice(dv.as_ref());
        state.last_dv[3..6].fill(0.0);
        state.v.iter_mut().zip(&state.last_dv).for_each(|(v, dv)| *v += dv);
        self.drift(0.5 * h);
        self.update_single(gravity);
    }

    /// [`Tree::update_kinematics`] of a single body.
    pub(crate) fn update_single(&mut self, gravity: DVec3) {
        let (link, state, work) = (&self.topology.links[0], &self.state, &mut self.work);
        work.origin = state.root_position;
        let own: &mut LinkWork = &mut work.links[0];
        own.place(link.joint, link, None, state, &[]);
        own.velocity = Self::root_motion(&state.v);
        let spin = own.matrix.transpose() * own.velocity.angular();
        let (speed, turn) = (own.velocity.linear().length_squared(), own.velocity.angular().length_squared());
        let kinetic = link.mass * speed + (link.principal * spin).dot(spin);
        (work.fastest, work.largest_squares) = ((0.0, None), [speed, turn, own.position.length_squared()]);
        (work.kinetic, work.energy) = (0.5 * kinetic, 0.5 * kinetic - gravity.dot(own.position * link.mass));
    }

    /// [`Tree::set_free_velocity`] of what [`Tree::moves_apart`]: its mass, and the rows that turn it, are factored apart.
    pub(crate) fn set_apart_velocity(&mut self, h: f64) {
        let starts = self.turning_rows();
        let Work { mass, factor, pivot, root_pivot, bias, dv_free, .. } = &mut self.work;
        let mut dv: [f64; 6] = std::array::from_fn(|dof| h * (0.0 - bias[dof]));
        pivot[..TURN].fill(1.0 / mass[0]);
        let mut m: [[f64; 3]; 3] =
            std::array::from_fn(|row| std::array::from_fn(|k| if k <= row { mass[starts[row] + k] } else { 0.0 }));
        for row in (0..3).rev() {
            pivot[TURN + row] = 1.0 / m[row][row];
            for k in (0..row).rev() {
                let part = m[row][k] * pivot[TURN + row];
                (0..=k).for_each(|j| m[k][j] -= part * m[row][j]);
                factor[starts[row] + k] = part;
                dv[TURN + k] -= part * dv[TURN + row];
            }
        }
        root_pivot.iter_mut().zip(&*pivot).for_each(|(root, pivot)| *root = pivot.sqrt());
        dv.iter_mut().zip(&*pivot).for_each(|(dv, pivot)| *dv *= pivot);
        dv_free.copy_from_slice(&dv);
        let mut dv = std::mem::take(&mut self.work.dv_free);
        self.solve_apart(&mut dv);
        let changes = self.state.v.iter().zip(&dv);
        self.work.v_free.iter_mut().zip(changes).for_each(|(out, (v, dv))| *out = v + dv);
        self.work.dv_free = dv;
    }

    /// [`Tree::solve_lower`] of what [`Tree::moves_apart`].
    pub(crate) fn solve_apart(&self, x: &mut [f64]) {
        let (factor, [_, y, z]) = (&self.work.factor, self.turning_rows());
        x[4] -= factor[y] * x[3];
        x[5] = x[5] - factor[z] * x[3] - factor[z + 1] * x[4];
    }

    /// Where the entries begin, in the packed rows that turn a free root, of what turns it.
    fn turning_rows(&self) -> [usize; 3] {
        [3, 4, 5].map(|dof| self.topology.row[dof] + TURN)
    }

    /// What it gained in the last substep beyond what came in, J.
    pub(crate) fn gain(&self) -> f64 {
        self.work.energy - self.work.kept_energy - self.work.substep_work
    }
}
