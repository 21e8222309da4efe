//! One substep of a tree by Moreau's midpoint scheme (Moreau 1988; Jean 1999):
//!
//! ```text
//! q_m  = q + h/2 v                                    drift, everything below is evaluated once, at q_m
//! (M + h D) dv = h (tau_0 - b) + Jᵀ p                 kick; D, tau_0: implicit motors and damping; p: impulses
//! v' = v + dv,   q' = q_m + h/2 v'                    drift
//! ```
//!
//! Because q' = q + h (v + v')/2, constant acceleration is exact, and q and v belong to the same instant. The midpoints
//! follow semi-implicit Euler, so implicit motors and contacts are as robust as in that scheme. The scheme is of second
//! order for smooth motion. The bias b is taken at (v + v')/2, which makes the scheme symmetric in time. That is a
//! fixed point; the iteration starts from the velocity extrapolated to the midpoint, v + last_dv/2. With constraints,
//! the extrapolated velocity is kept if it is accurate enough.

use bevy_math::DVec3;

use crate::{
    engine::{
        algebra::spatial::Spatial,
        joints::axis_laws::{self, LinearEffort},
        state::tree::Tree,
    },
    state::{RUNAWAY_DISTANCE, RUNAWAY_SPEED, RUNAWAY_SPIN},
};

/// Largest number of rounds that find the mean velocity for the bias of a tree without impulses. Each round leaves the
/// fraction h w of the error, where w is the rate at which joints turn: 5 rounds suffice at 1 ms, 9 at 10 ms and 10
/// rad/s.
const MAX_BIAS_ROUNDS: usize = 12;
/// The rounds end when one changes no velocity by more than this fraction of the largest: an error of at most 1e-6 of
/// it over the 6e5 steps of ten minutes at 1 ms.
const BIAS_TOLERANCE: f64 = 1e-12;
/// Fraction of the kinetic energy that a bias may give or remove in a step before the constraints are solved again with
/// a new bias: a thousandth in a minute of steps of 1 ms.
const BIAS_POWER_TOLERANCE: f64 = 1e-8;

/// Joint rotation in a step, rad, below which an extrapolated bias is accurate enough for a tree with contacts: its
/// error is the cube, 1e-6 of the kinetic energy, less than friction dissipates. The check costs 7 % of a robot's step.
const SMALL_JOINT_TURN: f64 = 0.01;

impl Tree {
    /// Drifts half a substep: poses and velocities at the midpoint.
    pub(crate) fn predict(&mut self, h: f64) {
        self.record_start();
        self.drift(0.5 * h);
        if self.is_single_body() {
            self.set_single_body_motion();
        } else {
            self.extrapolate_velocity();
            self.set_motion();
        }
    }

    /// Extrapolates the velocity of the bias to the midpoint.
    fn extrapolate_velocity(&mut self) {
        for ((out, v), last) in self.work.bias_velocity.iter_mut().zip(&self.state.v).zip(&self.state.last_dv) {
            *out = v + 0.5 * last;
        }
    }

    /// Assembles the equations of motion at the midpoint, except the velocity without impulses.
    pub(crate) fn assemble(&mut self, gravity: DVec3) {
        if self.is_single_body() {
            self.extrapolate_velocity();
        }
        self.set_mass_and_bias(gravity);
        self.work.impact = false;
        self.work.is_complete = false;
        self.work.dv_impulse.fill(0.0);
        self.clear_damping();
    }

    /// Records the bias and its link forces.
    fn record_bias(&mut self) {
        let work = &mut self.work;
        work.first_bias.clone_from(&work.bias);
        work.first_force.clear();
        work.first_force.extend(work.links.iter().map(|link| link.force));
    }

    /// Sets the bias after an impact: the mean of those at the velocities before and after. It conserves momentum to
    /// second order.
    pub(crate) fn average_bias(&mut self, gravity: DVec3) {
        self.work.bias_velocity.copy_from_slice(&self.state.v);
        self.set_bias(gravity);
        self.record_bias();
        let work = &mut self.work;
        for (i, v) in work.bias_velocity.iter_mut().enumerate() {
            *v += work.dv_free[i] + work.dv_impulse[i];
        }
        self.set_bias(gravity);
        let work = &mut self.work;
        for (bias, first) in work.bias.iter_mut().zip(&work.first_bias) {
            *bias = 0.5 * (*bias + first);
        }
        for (link, first) in work.links.iter_mut().zip(&work.first_force) {
            link.force = (link.force + *first) * 0.5;
        }
    }

    /// Iterates the bias of a tree without impulses at the mean of the velocities before and after the substep. The
    /// bias itself changes that mean: a fixed point, found from the velocity change of the last substep.
    pub(crate) fn iterate_bias(&mut self, h: f64, gravity: DVec3) {
        if !self.topology.has_velocity_bias {
            return;
        }
        let mut change = std::mem::take(&mut self.work.scratch);
        let mut last = f64::INFINITY;
        for _ in 0..MAX_BIAS_ROUNDS {
            self.set_bias_at_mean(gravity);
            for (change, (new, old)) in change.iter_mut().zip(self.work.bias.iter().zip(&self.work.first_bias)) {
                *change = -h * (new - old);
            }
            self.solve(&mut change);
            let largest = max_abs(&change);
            // Rounds that no longer converge have reached rounding. If the first round changes the velocities by more
            // than their size, the body turns too far in the substep for any round to converge.
            if !(largest < last.min(max_abs(&self.work.bias_velocity))) {
                self.revert_bias();
                break;
            }
            let work = &mut self.work;
            for ((free, v), change) in work.dv_free.iter_mut().zip(&mut work.v_free).zip(&change) {
                *free += change;
                *v += change;
            }
            if !(largest > BIAS_TOLERANCE * max_abs(&self.work.bias_velocity)) {
                break;
            }
            last = largest;
        }
        self.work.scratch = change;
    }

    /// True if the velocities at the end are small enough to evaluate a bias, which grows with their squares.
    pub(crate) fn end_is_finite(&self) -> bool {
        let changes = self.work.dv_free.iter().zip(&self.work.dv_impulse);
        let mut ends = self.state.v.iter().zip(changes).map(|(v, (free, impulse))| v + free + impulse);
        ends.all(|v| v.abs() <= RUNAWAY_SPIN)
    }

    /// True if its joints turn so little in a substep that the extrapolated bias is accurate enough with contacts.
    pub(crate) fn is_slowly_turning(&self, h: f64) -> bool {
        self.work.fastest_joint.0 * h < SMALL_JOINT_TURN
    }

    /// Evaluates the bias of a constrained tree once at the mean velocity. Returns false if the difference does not
    /// require another solve; the old bias then stays.
    pub(crate) fn update_mean_bias(&mut self, h: f64, gravity: DVec3) -> bool {
        if !self.topology.has_velocity_bias {
            return false;
        }
        self.set_bias_at_mean(gravity);
        let work = &mut self.work;
        let bias = work.bias.iter().zip(&work.first_bias);
        let power: f64 = bias.zip(&work.bias_velocity).map(|((new, old), v)| (new - old) * v).sum();
        let counts = h * power.abs() > BIAS_POWER_TOLERANCE * work.kinetic;
        if !counts {
            self.revert_bias();
        }
        counts
    }

    /// Restores the recorded bias.
    fn revert_bias(&mut self) {
        let work = &mut self.work;
        std::mem::swap(&mut work.bias, &mut work.first_bias);
        for (link, force) in work.links.iter_mut().zip(&work.first_force) {
            link.force = *force;
        }
    }

    /// Evaluates the bias at the mean of the velocities before and after the substep, and records the previous one.
    fn set_bias_at_mean(&mut self, gravity: DVec3) {
        self.record_bias();
        let (work, v) = (&mut self.work, &self.state.v);
        let changes = work.dv_free.iter().zip(&work.dv_impulse);
        for (mean, (v, (free, impulse))) in work.bias_velocity.iter_mut().zip(v.iter().zip(changes)) {
            *mean = v + 0.5 * (free + impulse);
        }
        self.set_bias(gravity);
    }

    /// Adds motors, springs and damping to the mass matrix, factors it, and solves for the velocity without impulses.
    pub(crate) fn set_free_velocity(&mut self, h: f64) {
        if self.is_decoupled() {
            return self.set_decoupled_velocity(h);
        }
        self.set_motor_coordinates();
        let mut damping = std::mem::take(&mut self.work.scratch);
        let mut dv = std::mem::take(&mut self.work.dv_free);
        let (free, freedom) = (self.topology.free_axes(), self.topology.freedom);
        // Slices of the same length need only one bounds check.
        let (state, work, laws) = (&self.state, &self.work, &self.topology.laws[..freedom]);
        let (q, v, motors) = (&state.q[..freedom], &state.v[..freedom], &state.motors[..freedom]);
        let (sides, means) = (&state.saturation[..freedom], &state.power_means[..freedom]);
        let holding = &state.holding_efforts[..freedom];
        let (bias, resistance) = (&work.bias[..freedom], &work.damping_effort[..freedom]);
        let (followed, damping_of, dv_of) =
            (&self.motor_coordinates()[..freedom], &mut damping[..freedom], &mut dv[..freedom]);
        for dof in 0..free {
            (damping_of[dof], dv_of[dof]) = (0.0, h * (resistance[dof] - bias[dof]));
        }
        for dof in free..freedom {
            let (law, servo) = (&laws[dof], &motors[dof]);
            let passive = axis_laws::spring_and_damper(law, q[dof], v[dof], h);
            let motor = match (sides[dof], means[dof]) {
                (0, _) if !servo.is_on() => LinearEffort::NONE,
                (0, 0.0) => axis_laws::motor(servo, law, followed[dof], v[dof], h).raised_by(holding[dof]),
                (side, 0.0) => LinearEffort { at_start: f64::from(side) * servo.max_effort, slope: 0.0 },
                (_, mean) => axis_laws::motor_at_power(law.max_power, mean, v[dof]),
            };
            let effort = passive.at_start + (motor.at_start + resistance[dof]);
            damping_of[dof] = h * (passive.slope + motor.slope);
            dv_of[dof] = h * (effort - bias[dof]);
        }
        self.factorise_and_solve(Some(&damping), &mut dv);
        for ((out, v), dv) in self.work.v_free.iter_mut().zip(&self.state.v).zip(&dv) {
            *out = v + dv;
        }
        self.work.dv_free = dv;
        self.work.scratch = damping;
    }

    /// Applies the whitened impulses of its island and computes the motors' efforts. Returns false if other motors are
    /// at their limits than was assumed ([`Tree::update_motor`]).
    pub(crate) fn apply_impulses(&mut self, whitened: &[f64], h: f64, grows: bool) -> bool {
        let mut dv = std::mem::take(&mut self.work.dv_impulse);
        if whitened.is_empty() {
            dv.fill(0.0);
        } else {
            self.velocity_of(whitened, &mut dv);
        }
        self.work.dv_impulse = dv;
        if self.read_unsaturated_motors(h) {
            return true;
        }
        let mut unchanged = true;
        for dof in self.topology.free_axes()..self.topology.freedom {
            unchanged &= self.update_motor(dof, h, grows);
        }
        unchanged
    }

    /// Clears loads and work of the last step.
    pub(crate) fn begin_step(&mut self) {
        if self.topology.links.len() > 1 {
            self.work.loads.fill([0.0; 3]);
            self.work.reactions.fill(Spatial::ZERO);
        }
        self.work.step_work = 0.0;
        self.work.impact_count = 0;
        (self.work.used_work, self.work.reserved_work) = (0.0, 0.0);
        self.work.reserved_stack.clear();
    }

    /// Computes the efforts of motors, stops and the rest of each axis, and the work of motors. To be called before
    /// [`Tree::set_reactions`].
    pub(crate) fn set_loads(&mut self, h: f64) {
        let (state, work, rate) = (&self.state, &mut self.work, 1.0 / h);
        // No effort acts along the axes of a free root.
        let (joints, mut power) = (self.topology.free_axes()..self.topology.freedom, 0.0);
        let loads = &mut work.substep_loads[joints.clone()];
        let (q, v, laws) = (&state.q[joints.clone()], &state.v[joints.clone()], &self.topology.laws[joints.clone()]);
        let known = q.iter().zip(v).zip(&state.row_impulses[joints.clone()]).zip(laws);
        let (free, impulse) = (&work.dv_free[joints.clone()], &work.dv_impulse[joints.clone()]);
        let found = free.iter().zip(impulse).zip(&work.effort[joints]);
        for (load, (known, found)) in loads.iter_mut().zip(known.zip(found)) {
            let ((((q, v), [lower, upper, friction, coupled]), law), ((free, impulse), &effort)) = (known, found);
            let dv = free + impulse;
            let passive = law.stiffness * (law.spring_position - q - 0.25 * h * dv) - law.damping * (v + dv)
                + (friction + coupled - law.armature * dv) * rate;
            *load = [effort, (lower - upper) * rate, passive];
            power += effort * (v + 0.5 * dv);
        }
        work.substep_work = h * power;
    }

    /// Adds the loads of an accepted substep to the means of the step, with the weight `share`.
    pub(crate) fn add_loads(&mut self, share: f64) {
        let work = &mut self.work;
        work.step_work += work.substep_work;
        // A single body has no joints.
        if self.topology.links.len() == 1 {
            return;
        }
        // The loads of a whole step are its means.
        if share == 1.0 {
            std::mem::swap(&mut work.loads, &mut work.substep_loads);
            std::mem::swap(&mut work.reactions, &mut work.substep_reactions);
            return;
        }
        for (loads, now) in work.loads.iter_mut().zip(&work.substep_loads) {
            (0..3).for_each(|k| loads[k] += share * now[k]);
        }
        for (reaction, now) in work.reactions.iter_mut().zip(&work.substep_reactions) {
            *reaction += *now * share;
        }
    }

    /// Records the state at the start of the substep.
    fn record_start(&mut self) {
        let (state, start) = (&self.state, &mut self.work.substep_start);
        (start.root_position, start.root_rotation) = (state.root_position, state.root_rotation);
        start.v.clone_from(&state.v);
        start.last_dv.clone_from(&state.last_dv);
        // A single body has no joint coordinates and motors.
        if self.topology.links.len() > 1 {
            start.q.clone_from(&state.q);
            start.holding_efforts.clone_from(&state.holding_efforts);
            start.saturation.clone_from(&state.saturation);
            start.power_means.clone_from(&state.power_means);
        }
        if !self.topology.balls.is_empty() {
            start.balls.clone_from(&state.balls);
        }
        if self.topology.has_rows {
            start.row_impulses.clone_from(&state.row_impulses);
        }
        self.work.energy_at_start = self.work.energy;
    }

    /// Restores the position at the start of the substep.
    pub(crate) fn restore_position(&mut self) {
        let (state, start) = (&mut self.state, &self.work.substep_start);
        (state.root_position, state.root_rotation) = (start.root_position, start.root_rotation);
        if self.topology.links.len() > 1 {
            state.q.clone_from(&start.q);
        }
        if !self.topology.balls.is_empty() {
            state.balls.clone_from(&start.balls);
        }
    }

    /// Restores the state at the start of the substep.
    pub(crate) fn restore_start(&mut self) {
        self.restore_position();
        let (state, start) = (&mut self.state, &self.work.substep_start);
        state.v.clone_from(&start.v);
        state.last_dv.clone_from(&start.last_dv);
        if self.topology.links.len() > 1 {
            state.holding_efforts.clone_from(&start.holding_efforts);
            state.saturation.clone_from(&start.saturation);
            state.power_means.clone_from(&start.power_means);
        }
        if self.topology.has_rows {
            state.row_impulses.clone_from(&start.row_impulses);
        }
        self.work.energy = self.work.energy_at_start;
    }

    /// True if all numbers of the state are finite and all rates below the runaway limit. Beyond it, the state has no
    /// meaning.
    pub(crate) fn is_finite_state(&self) -> bool {
        let state = &self.state;
        let slow = state.v.iter().all(|rate| rate.abs() <= RUNAWAY_SPIN);
        slow && state.q.iter().all(|q| q.is_finite())
            && state.root_position.is_finite()
            && state.root_rotation.is_finite()
    }

    /// True if certainly none of its bodies has run away, so that none has to be checked.
    pub(crate) fn is_within_bounds(&self) -> bool {
        // With the centre of mass within half of the distance, no body's origin, which is beside it, is beyond the
        // whole.
        let limits = [RUNAWAY_SPEED, RUNAWAY_SPIN, 0.5 * RUNAWAY_DISTANCE].map(|limit| limit * limit);
        let within = self.work.largest_squares.iter().zip(limits).all(|(square, limit)| *square <= limit);
        within && self.work.energy.is_finite()
    }

    /// Largest speed of its bodies and joints over the runaway limits.
    pub(crate) fn overspeed_ratio(&self) -> f64 {
        let [speed, spin, _] = self.work.largest_squares.map(f64::sqrt);
        (speed / RUNAWAY_SPEED).max(spin / RUNAWAY_SPIN).max(max_abs(&self.state.v) / RUNAWAY_SPIN)
    }

    /// Restores the position at the start of the substep but keeps the velocity. The work input becomes zero.
    pub(crate) fn restore_position_without_work(&mut self) {
        self.restore_position();
        self.work.substep_work = 0.0;
    }

    /// Scales the velocity, as after an impact.
    pub(crate) fn scale_velocity(&mut self, share: f64) {
        self.state.v.iter_mut().for_each(|v| *v *= share);
        self.state.last_dv.fill(0.0);
    }

    /// Restores the start of the substep at rest, after the state was not finite.
    pub(crate) fn restore_at_rest(&mut self) {
        self.restore_start();
        let (state, work) = (&mut self.state, &mut self.work);
        state.v.fill(0.0);
        state.last_dv.fill(0.0);
        state.holding_efforts.fill(0.0);
        state.saturation.fill(0);
        state.power_means.fill(0.0);
        state.row_impulses.fill([0.0; 4]);
        work.substep_loads.fill([0.0; 3]);
        work.substep_reactions.fill(Spatial::ZERO);
        work.substep_work = 0.0;
    }

    /// Ends the substep: kicks, and drifts the second half.
    pub(crate) fn finish(&mut self, h: f64) {
        let (state, work) = (&mut self.state, &self.work);
        let changes = work.dv_free.iter().zip(&work.dv_impulse);
        for ((v, last), (free, impulse)) in state.v.iter_mut().zip(&mut state.last_dv).zip(changes) {
            let dv = free + impulse;
            *v += dv;
            *last = if work.impact { 0.0 } else { dv };
        }
        self.drift(0.5 * h);
    }

    /// Computes the wrench that each joint transmits from parent to link, with moments about the joint's origin.
    ///
    /// It is Newton-Euler at the midpoint with the step's own bias, acceleration and contact forces (`external`), so
    /// its component along an axis equals the efforts there to rounding. To be called after [`Tree::set_loads`], with
    /// which it is compared, and before [`Tree::finish`].
    pub(crate) fn set_reactions(&mut self, h: f64) {
        let mut acceleration = std::mem::take(&mut self.work.scratch);
        let loads = std::mem::take(&mut self.work.substep_loads);
        let rate = 1.0 / h;
        for ((a, free), impulse) in acceleration.iter_mut().zip(&self.work.dv_free).zip(&self.work.dv_impulse) {
            *a = (free + impulse) * rate;
        }
        self.work.imbalance = 0.0;
        self.add_to_forces(&acceleration, &loads, |reaction, now| *reaction = now);
        (self.work.scratch, self.work.substep_loads) = (acceleration, loads);
    }

    /// Computes the reactions of a static structure to its weight and the `external` forces on its links.
    pub(crate) fn set_static_reactions(&mut self, gravity: DVec3) {
        let origin = self.work.origin;
        for (joint, link) in self.topology.links.iter().zip(&mut self.work.links) {
            let weight = gravity * joint.mass;
            link.force = Spatial::ZERO;
            link.external += Spatial::new((link.position - origin).cross(weight), weight);
        }
        self.set_reactions(1.0);
        self.work.reactions.clone_from(&self.work.substep_reactions);
    }
}

/// The largest absolute value.
fn max_abs(numbers: &[f64]) -> f64 {
    numbers.iter().fold(0.0, |largest, number| largest.max(number.abs()))
}
