//! Motors of a tree: commands, efforts, and the limits they are at.
//!
//! A substep is solved with an assumption about each motor: it follows its law, is at its largest effort, or is at its
//! largest power. Afterwards its law at the resulting rate confirms or refutes the assumption. If it is refuted, the
//! substep is solved again.

use crate::{
    Servo,
    engine::{
        joints::{axis_laws, ball_joint::motor_coordinates},
        state::tree::Tree,
    },
};

/// Relative excess over its limit from which a motor's law counts as saturated: above rounding, so that a motor at its
/// limit does not switch between passes.
const SATURATION_MARGIN: f64 = 1e-12;

/// Relative difference to the largest rate within which a motor counts as at that rate. Exact motors miss their target
/// by 1e-8 of it.
pub(crate) const ON_TARGET: f64 = 1e-6;

/// The limit that a motor has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MotorLimit {
    Effort,
    Rate,
    Power,
}

impl Tree {
    /// The first motor at a limit of its axis, if there is one.
    pub(crate) fn motor_at_limit(&self) -> Option<(usize, MotorLimit)> {
        let (state, laws) = (&self.state, &self.topology.laws);
        let limit = |dof: usize| match &state.motors[dof] {
            motor if !motor.is_on() => None,
            motor if motor.max_effort == laws[dof].max_effort && state.saturation[dof] != 0 => Some(MotorLimit::Effort),
            _ if self.state.power_means[dof] != 0.0 => Some(MotorLimit::Power),
            _ if state.v[dof].abs() > (1.0 - ON_TARGET) * laws[dof].max_rate => Some(MotorLimit::Rate),
            _ => None,
        };
        (self.topology.free_axes()..self.topology.freedom).find_map(|dof| Some((dof, limit(dof)?)))
    }

    /// Sets the motor of a degree of freedom. A changed motor wakes the tree.
    pub(crate) fn set_motor(&mut self, dof: usize, motor: Servo) {
        let motor = Servo { max_effort: motor.max_effort.min(self.topology.laws[dof].max_effort), ..motor };
        if self.state.motors[dof] == motor {
            return;
        }
        self.state.motors[dof] = motor;
        self.state.power_means[dof] = 0.0;
        if !motor.is_rigid() {
            self.state.holding_efforts[dof] = 0.0;
        }
        if motor.constant_effort_side() != 0 {
            self.state.saturation[dof] = motor.constant_effort_side();
        }
        self.wake();
    }

    /// Stores the efforts of rigid motors, from which they continue in the next substep. Under a constant load they
    /// then reach their target rates exactly. A motor at a limit starts anew.
    pub(crate) fn store_holding_efforts(&mut self) {
        let (state, effort) = (&mut self.state, &self.work.effort);
        for dof in self.topology.free_axes()..self.topology.freedom {
            let motor = &state.motors[dof];
            if motor.is_on() && motor.is_rigid() {
                let at_limit = state.saturation[dof] != 0 || state.power_means[dof] != 0.0;
                state.holding_efforts[dof] = if at_limit { 0.0 } else { effort[dof] };
            }
        }
    }

    /// Computes the efforts of all motors if all follow their laws below all limits, as was assumed. Returns false
    /// otherwise.
    pub(crate) fn read_unsaturated_motors(&mut self, h: f64) -> bool {
        let (free, freedom) = (self.topology.free_axes(), self.topology.freedom);
        let mut efforts = std::mem::take(&mut self.work.effort);
        // Slices of the same length need only one bounds check.
        let (state, work, laws) = (&self.state, &self.work, &self.topology.laws[..freedom]);
        let (v, motors, sides) = (&state.v[..freedom], &state.motors[..freedom], &state.saturation[..freedom]);
        let (means, coordinates) = (&state.power_means[..freedom], &self.motor_coordinates()[..freedom]);
        let holding = &state.holding_efforts[..freedom];
        let (dv_free, dv_impulse, exerted) =
            (&work.dv_free[..freedom], &work.dv_impulse[..freedom], &mut efforts[..freedom]);
        let mut follow = true;
        for dof in free..freedom {
            let (motor, law, dv) = (&motors[dof], &laws[dof], dv_free[dof] + dv_impulse[dof]);
            exerted[dof] = 0.0;
            if motor.is_on() {
                let effort = axis_laws::motor_effort(motor, law, coordinates[dof], v[dof] + dv, h) + holding[dof];
                exerted[dof] = effort;
                follow &= sides[dof] == 0 && means[dof] == 0.0 && effort.abs() <= motor.max_effort;
                follow &= !axis_laws::exceeds_power(law, effort, v[dof] + 0.5 * dv);
            }
        }
        self.work.effort = efforts;
        follow
    }

    /// Computes the effort of a motor, and its limit for the next solve. Returns false if that differs from the limit
    /// assumed. With `grows`, a motor at its largest power stays there: that power is never exceeded, whatever the
    /// rate.
    pub(crate) fn update_motor(&mut self, dof: usize, h: f64, grows: bool) -> bool {
        let (motor, law) = (&self.state.motors[dof], &self.topology.laws[dof]);
        let (side, power_mean) = (self.state.saturation[dof], self.state.power_means[dof]);
        if !motor.is_on() {
            self.work.effort[dof] = 0.0;
            return true;
        }
        let (v, dv) = (self.state.v[dof], self.work.dv_free[dof] + self.work.dv_impulse[dof]);
        let mean = v + 0.5 * dv;
        let wanted = axis_laws::motor_effort(motor, law, self.motor_coordinate(dof), v + dv, h)
            + self.state.holding_efforts[dof];
        // The effort is the assumed one, which is within the limits once the assumption holds.
        let exerted = match (side, power_mean) {
            (0, 0.0) => wanted,
            (side, 0.0) => f64::from(side) * motor.max_effort,
            (_, mean) => axis_laws::motor_at_power(law.max_power, mean, v).effort_after(dv),
        };
        self.work.effort[dof] = exerted;
        let largest = motor.max_effort;
        let exceeds = axis_laws::exceeds_power(law, wanted.clamp(-largest, largest), mean);
        if power_mean != 0.0 || exceeds {
            let next = match self.choose_bound(dof, [mean, wanted], h) {
                (_, 0.0) if grows && power_mean != 0.0 => (0, power_mean),
                // Other axes and contacts require another limit.
                (_, 0.0) if exceeds => (0, mean),
                next => next,
            };
            if next.1 != 0.0 && (next.1 == power_mean || axis_laws::same_mean(mean, power_mean)) {
                return true;
            }
            (self.state.saturation[dof], self.state.power_means[dof]) = next;
            return false;
        }
        let bound = largest * (1.0 + SATURATION_MARGIN);
        let beyond = i8::from(wanted > bound) - i8::from(wanted < -bound);
        // A motor goes from one limit to the other over its free law, which decides about both.
        self.state.saturation[dof] = if side == -beyond { 0 } else { beyond };
        self.state.saturation[dof] == side
    }

    /// The limit that applies to a motor of bounded power, judged by its axis alone: the side of its largest effort, or
    /// the mean rate at which it gives its largest power. Efforts fall with the rate, and the rate grows with the
    /// effort. So the right limit is the one with the smallest effort where the laws would intersect.
    fn choose_bound(&mut self, dof: usize, [mean, wanted]: [f64; 2], h: f64) -> (i8, f64) {
        let gain = self.effort_gain(dof, h);
        let (motor, law, effort) = (&self.state.motors[dof], &self.topology.laws[dof], self.work.effort[dof]);
        // The rate at the end of the step changes by twice the change of the mean.
        let slope = 2.0 * gain * (motor.damping + h * motor.stiffness);
        let free = (wanted + slope * effort) / (1.0 + slope);
        let power_mean = axis_laws::mean_at_power(law.max_power, mean, effort, gain, free.signum());
        let at_power = law.max_power / power_mean.abs();
        if free.abs() <= at_power && free.abs() <= motor.max_effort {
            (0, 0.0)
        } else if motor.max_effort <= at_power {
            (free.signum() as i8, 0.0)
        } else {
            (0, power_mean)
        }
    }

    /// Change of a degree of freedom's mean rate in the substep per unit of effort, while the other motors act as
    /// assumed.
    fn effort_gain(&mut self, dof: usize, h: f64) -> f64 {
        let (motor, law) = (&self.state.motors[dof], &self.topology.laws[dof]);
        let slope = match (self.state.saturation[dof], self.state.power_means[dof]) {
            (0, 0.0) => motor.damping + h * motor.stiffness,
            (_, 0.0) => 0.0,
            (_, mean) => axis_laws::motor_at_power(law.max_power, mean, 0.0).slope,
        };
        let mut unit = std::mem::take(&mut self.work.scratch);
        unit.fill(0.0);
        unit[dof] = 1.0;
        self.solve(&mut unit);
        // The factor contains the assumed motor, which is subtracted; rounding may leave nothing.
        let mobility = unit[dof];
        self.work.scratch = unit;
        0.5 * h * mobility / (1.0 - h * slope * mobility).max(f64::EPSILON)
    }
}

impl Tree {
    /// Computes [`Tree::motor_coordinates`] at the midpoint.
    pub(crate) fn set_motor_coordinates(&mut self) {
        if self.topology.balls.is_empty() {
            return;
        }
        let (state, coordinates) = (&self.state, &mut self.work.motor_coordinates);
        coordinates.clone_from(&state.q);
        for (ball, &turn) in self.topology.balls.iter().zip(&state.balls) {
            let own = ball.dof..ball.dof + 3;
            let mut motors = [Servo::OFF; 3];
            for (motor, given) in motors.iter_mut().zip(&state.motors[own.clone()]) {
                *motor = given.with_sign(ball.sign);
            }
            let found = motor_coordinates(&motors, ball.model_turn(turn));
            coordinates[own].copy_from_slice(&found.map(|coordinate| ball.sign * coordinate));
        }
    }

    /// Coordinates that the motors of all degrees of freedom follow.
    pub(crate) fn motor_coordinates(&self) -> &[f64] {
        if self.topology.balls.is_empty() { &self.state.q } else { &self.work.motor_coordinates }
    }

    /// Coordinate that the motor of a degree of freedom follows; for a ball joint, its target minus the remaining
    /// rotation.
    pub(crate) fn motor_coordinate(&self, dof: usize) -> f64 {
        self.motor_coordinates()[dof]
    }
}
