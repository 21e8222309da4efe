//! Gauss and Legendre's method of two stages for free motion, of fourth order (Hairer, Lubich and Wanner 2006, II.1.3;
//! rotations by Munthe-Kaas, IV.8).
//!
//! ```text
//! a_i = M(q_i)⁻¹ (tau(q_i, v_i) - b(q_i, v_i))        i = 1, 2: at c_i = 1/2 -+ √3/6 of the substep
//! v_i = v + h sum_j A_ij a_j,   q_i = q + h sum_j A_ij v_j
//! v'  = v + h/2 (a_1 + a_2),    q'  = q + h/2 (v_1 + v_2)
//! ```
//!
//! **Takes** a tree without contacts, its loop joints, and the start of a substep. **Gives** its state, loads and
//! reactions at the end, or reports that the stages were not found. Then the midpoint scheme, which is stable for any
//! stiffness, makes the substep. **Does not know** islands, impulses or step checks.
//!
//! The method is symmetric in time, so energy oscillates and does not drift. The stages are a fixed point. The
//! iteration starts from the acceleration at the midpoint. If nothing is stiff, a round leaves the fraction (h w)²/12
//! or h d/(4 m) of the error (w: angular frequency, d: damping, m: mass). Rounds of long trees, whose waves are
//! stiffer, are mixed ([`mixing`]). Loops are closed at the stages and at the end ([`loops`]).

pub(crate) mod loops;
pub(crate) mod mixing;

use std::mem;

use bevy_math::DVec3;
use simpartner_model::Norm;

use self::loops::LoopConstraints;
use crate::{
    engine::{
        algebra::{
            gauss_legendre::{A_21, END_WEIGHTS, STAGE_WEIGHTS},
            spatial::{Spatial, rotation_by},
        },
        state::{
            link::LinkJoint,
            tree::Tree,
            workspace::{LinkWork, Stage, Turn},
        },
    },
    state::rotation_vector,
};

/// The stages are found when a round changes no velocity by more than this fraction of the largest. A step loses at
/// most this fraction of the energy, usually h w times that: 1e-9 of the energy in a minute of steps of 1 ms.
const STAGE_TOLERANCE: f64 = 1e-10;
/// The same tolerance with loops, near rounding, so that the result does not depend on the joint chosen to close the
/// loop. Stages that only reach [`STAGE_TOLERANCE`] are accepted, too.
const STAGE_TOLERANCE_IN_LOOPS: f64 = 1e-14;
/// Factor by which the next round's change must be smaller still, because the rest of the error adds up over all steps.
const STAGE_SAFETY: f64 = 1e3;
/// Largest number of rounds. Two or three suffice at 1 ms, twice as many at 10 ms; more indicate a stiff system.
const MAX_ROUNDS: usize = 10;
const MAX_ROUNDS_IN_LOOPS: usize = 20;

impl Turn {
    /// Sets the rate of the rotation vector at an angular velocity: the inverse of the exponential's derivative, to the
    /// order of the method. `side` is -1 if the velocity is along axes that rotate with it.
    fn set_rate(&mut self, velocity: DVec3, side: f64) {
        let change = self.vector.cross(velocity);
        self.rate = velocity - 0.5 * side * change + self.vector.cross(change) / 12.0;
    }
}

/// Change of a quantity in a substep of `h` seconds: the rates at both stages, weighted with `[a, b]`.
fn weighted_change<T: std::ops::Add<Output = T> + std::ops::Mul<f64, Output = T>>(
    [a, b]: [f64; 2],
    h: f64,
    rates: [T; 2],
) -> T {
    let [first, second] = rates;
    first * (h * a) + second * (h * b)
}

impl Tree {
    /// True if its free motion is smooth: no motor follows a target, no joint has dry friction, and no external wrench
    /// acts.
    pub(crate) fn is_smooth(&self) -> bool {
        self.topology.links.len() > 1
            && self.work.external_wrenches.is_empty()
            && self.motors_are_steady()
            && self.topology.laws.iter().all(|law| law.friction == 0.0)
    }

    /// True if every motor exerts a constant effort, far from its largest rate and power.
    fn motors_are_steady(&self) -> bool {
        let state = &self.state;
        let mut motors = state.motors.iter().zip(&state.v).zip(&self.topology.laws);
        motors.all(|((motor, v), law)| {
            let far = v.abs() < 0.5 * law.max_rate && motor.max_effort * v.abs() <= 0.5 * law.max_power;
            !motor.is_on() || motor.constant_effort_side() != 0 && far
        })
    }

    /// Completes the substep from the start recorded by [`Tree::predict`]: motion, loads and reactions. False if the
    /// stages are not found; the state is then unchanged.
    pub(crate) fn step_gauss(&mut self, loops: &mut LoopConstraints, h: f64, gravity: DVec3) -> bool {
        let (mut stages, middle) = (mem::take(&mut self.work.stages), self.work.origin);
        self.guess_stages(&mut stages, loops, h);
        let mut found = self.find_stages(&mut stages, loops, h, gravity);
        if found {
            self.set_mean_loads(&mut stages, loops, h, gravity);
            self.set_velocities(&mut stages, h);
            self.set_positions(&stages, END_WEIGHTS, h);
            let (state, v) = (&mut self.state, &self.work.substep_start.v);
            for (dof, now) in state.v.iter_mut().enumerate() {
                state.last_dv[dof] = weighted_change(END_WEIGHTS, h, [stages[0].a[dof], stages[1].a[dof]]);
                *now = v[dof] + state.last_dv[dof];
            }
            // The comparison of changes does not catch NaN, so finiteness is checked here.
            found =
                self.is_finite_state() && self.motors_are_steady() && self.close_loops(loops, &mut stages[0], gravity);
        }
        (self.work.stages, self.work.origin) = (stages, middle);
        if !found {
            // The stages have overwritten mass matrix and bias.
            self.restore_start();
            self.predict(h);
            self.assemble(gravity);
            self.set_free_velocity(h);
        }
        found
    }

    /// Initial guess of the stages: the acceleration at the midpoint, changing as since the last substep; with loops,
    /// that of the last substep.
    fn guess_stages(&self, stages: &mut [Stage; 2], loops: &LoopConstraints, h: f64) {
        let (topology, work, spread) = (&self.topology, &self.work, A_21 - 0.25);
        for (stage, side) in stages.iter_mut().zip([-spread, spread]) {
            let now = if loops.is_empty() { &work.dv_free } else { &work.substep_start.last_dv };
            let changes = now.iter().zip(&work.substep_start.last_dv);
            stage.a.clear();
            stage.a.extend(changes.map(|(dv, last)| (dv + side * (dv - last)) / h));
            stage.v.resize(topology.freedom, 0.0);
            stage.passive.resize(topology.freedom, 0.0);
            stage.turns.clear();
            stage.turns.resize(1 + topology.balls.len(), Turn::default());
            stage.links.resize(topology.links.len(), LinkWork::default());
            stage.axis.resize(topology.freedom, Spatial::ZERO);
        }
    }

    /// Iterates the stages to their fixed point. Returns false if they are not found.
    fn find_stages(&mut self, stages: &mut [Stage; 2], loops: &mut LoopConstraints, h: f64, gravity: DVec3) -> bool {
        if self.topology.is_long() && loops.is_empty() {
            return self.find_stages_by_mixing(stages, loops, h, gravity);
        }
        let (found, rounds) = if loops.is_empty() {
            (STAGE_TOLERANCE, MAX_ROUNDS)
        } else {
            (STAGE_TOLERANCE_IN_LOOPS, MAX_ROUNDS_IN_LOOPS)
        };
        let (mut last, mut size) = (f64::INFINITY, 0.0);
        for _ in 0..rounds {
            let change;
            [change, size] = self.evaluate_stages(stages, loops, h, gravity);
            // Each round leaves the same fraction of the error, so the last two rounds predict the change of the next.
            let next =
                if loops.is_empty() && last.is_finite() { STAGE_SAFETY * change * (change / last) } else { change };
            if change.min(next) <= found * size {
                return true;
            }
            if !(change < last) {
                break;
            }
            last = change;
        }
        !loops.is_empty() && size.is_finite() && last <= STAGE_TOLERANCE * size
    }

    /// Evaluates the accelerations of both stages once. Returns the largest velocity change, and the largest velocity.
    #[inline]
    fn evaluate_stages(
        &mut self,
        stages: &mut [Stage; 2],
        loops: &mut LoopConstraints,
        h: f64,
        gravity: DVec3,
    ) -> [f64; 2] {
        let mut change = 0.0f64;
        for which in 0..2 {
            self.set_velocities(stages, h);
            self.set_positions(stages, STAGE_WEIGHTS[which], h);
            change = change.max(h * self.compute_acceleration(stages, which, loops, gravity));
        }
        [change, stages.iter().flat_map(|stage| &stage.v).fold(0.0f64, |size, v| size.max(v.abs()))]
    }

    /// Sets the velocities of both stages from their accelerations, and the rates of their rotation vectors.
    fn set_velocities(&self, stages: &mut [Stage; 2], h: f64) {
        let [one, two] = stages;
        for (dof, v) in self.work.substep_start.v.iter().enumerate() {
            let a = [one.a[dof], two.a[dof]];
            (one.v[dof], two.v[dof]) =
                (v + weighted_change(STAGE_WEIGHTS[0], h, a), v + weighted_change(STAGE_WEIGHTS[1], h, a));
        }
        for number in 0..=self.topology.balls.len() {
            let Some((dof, side)) = self.rotation_dof(number) else { continue };
            let rates = [one.turns[number].rate, two.turns[number].rate];
            for (stage, weights) in [&mut *one, &mut *two].into_iter().zip(STAGE_WEIGHTS) {
                stage.turns[number].vector = weighted_change(weights, h, rates);
                stage.turns[number].set_rate(DVec3::from_slice(&stage.v[dof..]), side);
            }
        }
    }

    /// First degree of freedom of a rotation, and its side ([`Turn`]). Number 0 is the root, if it floats; then come
    /// the ball joints.
    fn rotation_dof(&self, number: usize) -> Option<(usize, f64)> {
        match number.checked_sub(1) {
            None => self.is_floating().then_some((3, 1.0)),
            Some(ball) => self.topology.balls.get(ball).map(|ball| (ball.dof, ball.sign)),
        }
    }

    /// Sets the coordinates to those at the start plus the rates at the stages with these weights.
    fn set_positions(&mut self, stages: &[Stage; 2], weights: [f64; 2], h: f64) {
        let ([one, two], state, kept) = (stages, &mut self.state, &self.work.substep_start);
        let turn =
            |number: usize| rotation_by(weighted_change(weights, h, [one.turns[number].rate, two.turns[number].rate]));
        let mut first = 0;
        if self.topology.links[0].joint == LinkJoint::Free {
            let rates = [DVec3::from_slice(&one.v), DVec3::from_slice(&two.v)];
            state.root_position = kept.root_position + weighted_change(weights, h, rates);
            state.root_rotation = (turn(0) * kept.root_rotation).normalized();
            first = 6;
        }
        for dof in first..state.q.len() {
            state.q[dof] = kept.q[dof] + weighted_change(weights, h, [one.v[dof], two.v[dof]]);
        }
        for (number, (ball, kept)) in self.topology.balls.iter().zip(&kept.balls).enumerate() {
            let turned = ball.rotated_by(*kept, turn(1 + number));
            state.balls[number] = turned;
            state.q[ball.dof..ball.dof + 3].copy_from_slice(rotation_vector(turned).as_ref());
        }
    }

    /// Computes the acceleration at a stage; the tree has the coordinates of that stage. Returns the largest change of
    /// it.
    fn compute_acceleration(
        &mut self,
        stages: &mut [Stage; 2],
        which: usize,
        loops: &mut LoopConstraints,
        gravity: DVec3,
    ) -> f64 {
        let stage = &mut stages[which];
        self.swap_stage(stage);
        self.work.bias_velocity.copy_from_slice(&stage.v);
        self.set_motion();
        let is_long = self.topology.is_long();
        if is_long {
            // The bias is part of the solution for long trees.
            self.work.bias.fill(0.0);
        } else {
            self.set_mass_and_bias(gravity);
        }
        let mut a = mem::take(&mut self.work.scratch);
        for (dof, law) in self.topology.laws.iter().enumerate() {
            let (stretch, motor) = (law.spring_position - self.state.q[dof], &self.state.motors[dof]);
            stage.passive[dof] = law.stiffness * stretch - law.damping * stage.v[dof];
            a[dof] =
                stage.passive[dof] + f64::from(motor.constant_effort_side()) * motor.max_effort - self.work.bias[dof];
        }
        self.update_loop_rows(loops, gravity, &mut a);
        if is_long {
            self.accelerate_long(gravity, &mut a);
        } else {
            self.factorise_and_solve(None, &mut a);
        }
        self.constrain_loops(loops, which, &mut a);
        let change = a.iter().zip(&stage.a).fold(0.0f64, |change, (new, old)| change.max((new - old).abs()));
        mem::swap(&mut stage.a, &mut a);
        self.work.scratch = a;
        self.swap_stage(stage);
        change
    }

    /// Swaps the links of a stage with those of the tree.
    fn swap_stage(&mut self, stage: &mut Stage) {
        let work = &mut self.work;
        mem::swap(&mut stage.links, &mut work.links);
        mem::swap(&mut stage.axis, &mut work.axis);
        mem::swap(&mut stage.origin, &mut work.origin);
    }

    /// Sets loads and reactions to the means of those at the stages, each of which is in balance.
    fn set_mean_loads(&mut self, stages: &mut [Stage; 2], loops: &LoopConstraints, h: f64, gravity: DVec3) {
        self.work.substep_work = 0.0;
        self.work.imbalance = 0.0;
        self.work.substep_loads.fill([0.0; 3]);
        self.work.substep_reactions.fill(Spatial::ZERO);
        for (which, (stage, share)) in stages.iter_mut().zip(END_WEIGHTS).enumerate() {
            self.swap_stage(stage);
            if self.topology.is_long() {
                self.work.bias_velocity.copy_from_slice(&stage.v);
                self.set_mass_and_bias(gravity);
            }
            self.work.links.iter_mut().for_each(|link| link.external = Spatial::ZERO);
            self.work.substep_work += share * h * self.apply_loop_forces(loops, which);
            let loads = stage.a.iter().zip(&stage.passive).zip(&self.topology.laws).zip(&self.state.motors);
            let mut stage_loads = mem::take(&mut self.work.stage_loads);
            stage_loads.clear();
            stage_loads.extend(loads.map(|(((a, passive), law), motor)| {
                [f64::from(motor.constant_effort_side()) * motor.max_effort, 0.0, passive - law.armature * a]
            }));
            for ((load, now), v) in self.work.substep_loads.iter_mut().zip(&stage_loads).zip(&stage.v) {
                (0..3).for_each(|k| load[k] += share * now[k]);
                self.work.substep_work += share * h * now[0] * v;
            }
            self.add_to_forces(&stage.a, &stage_loads, |reaction, now| *reaction += now * share);
            self.work.stage_loads = stage_loads;
            self.swap_stage(stage);
        }
    }
}
