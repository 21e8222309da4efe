//! Rigid motors of trees in the distribution of loads. A tree's mass matrix contains its motors; their rows here only
//! let the distribution move loads between motors and contacts
//! ([`least_norm_distribution`](crate::engine::solvers::least_norm_distribution)).

use super::{IslandParts, island_rows::Constraints, rows::add_coordinate};
use crate::engine::{
    joints::axis_laws,
    scheme::Scheme,
    solvers::problem::{Law, Problem, RigidMotor},
};

/// Fraction of its largest effort or power that a rigid motor may reach by the distribution of loads: below the limit
/// by more than rounding.
const BELOW_LIMIT: f64 = 1.0 - 1e-9;

/// Adds the rigid motors of an island to its problem, once loads have to be distributed. Motors at a limit exert what
/// the limit allows, and share no load.
pub(crate) fn add_rigid_motors(problem: &mut Problem, parts: &IslandParts, scheme: &Scheme) {
    // One contact alone shares its load with nothing.
    if parts.own_contacts.len() < 2 {
        return;
    }
    for (slot, tree) in parts.trees.iter().enumerate() {
        let (state, h) = (&tree.state, scheme.h);
        for dof in tree.topology.free_axes()..tree.topology.freedom {
            let (motor, law) = (&state.motors[dof], &tree.topology.laws[dof]);
            let at_limit = state.saturation[dof] != 0 || state.power_means[dof] != 0.0;
            if at_limit || !motor.is_on() || !motor.is_rigid() {
                continue;
            }
            let start = problem.columns.len();
            add_coordinate(problem, tree, dof, &[1.0]);
            let (free, before) = (tree.work.v_free[dof], state.v[dof]);
            let effort = axis_laws::motor_effort(motor, law, tree.motor_coordinate(dof), free, h);
            let bound = h * motor.max_effort.min(law.max_power / before.abs()) * BELOW_LIMIT;
            let law = Law::Interval { low: -bound, high: bound };
            let row = problem.block(law, start, [0.0; 3], [free, 0.0, 0.0], [before, 0.0, 0.0]);
            problem.motors.push(RigidMotor {
                row,
                tree: slot,
                dof,
                free_impulse: h * (effort + state.holding_efforts[dof]),
                slope: h * motor.damping,
                change: 0.0,
            });
        }
    }
}

impl Constraints {
    /// Adds the changes of rigid motors by the distribution of loads to their efforts at their target rates.
    pub(crate) fn add_holding_efforts(&self, parts: &mut IslandParts, h: f64) {
        for motor in self.problem.motors.iter().filter(|motor| motor.change != 0.0) {
            parts.trees[motor.tree].state.holding_efforts[motor.dof] += motor.change / h;
        }
    }

    /// Computes the velocities without impulses of trees whose rigid motors have changed since.
    pub(crate) fn update_free_velocities(&self, parts: &mut IslandParts, scheme: &Scheme) {
        let has_changed = |slot: usize| {
            let mut own = self.problem.motors.iter().filter(|motor| motor.tree == slot);
            own.any(|motor| motor.change != 0.0)
        };
        for slot in (0..parts.trees.len()).filter(|&slot| has_changed(slot)) {
            parts.trees[slot].set_free_velocity(scheme.h);
        }
    }
}
