//! Loads that can be distributed: a contact or rigid motor, the rows of its impulse that may change, and their bounds.

use super::{
    cone::{Mode, disc_slopes, on_disc},
    problem::{Block, Law, Problem},
};

/// Speed of separation or sliding below which a contact is closed, or sticks, m/s: ten times the solver's tolerance.
pub(crate) const STICKING_SPEED: f64 = 1e-8;
/// Stiffness of a rigid motor, N m/rad or N/m, where a contact has 1 N/m. At a lever of 1 m the motor then yields by
/// 1e-6 of what the contact does.
const MOTOR_STIFFNESS: f64 = 1e6;

/// Rows of a support whose impulses are distributed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum DistributedRows {
    /// All rows of a contact.
    #[default]
    All,
    /// The normal row of a contact; friction follows it.
    NormalOnly,
    /// The row of a rigid motor.
    Motor,
}

/// A contact or rigid motor that takes part in the distribution.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Support {
    /// Its index among the blocks, or among the rigid motors.
    pub(super) index: usize,
    pub(super) rows_of: DistributedRows,
    /// The larger coefficient of friction.
    pub(super) friction: f64,
    /// Yᵀ z, the impulse that follows from it (zero in rows that are not distributed), and its derivatives.
    pub(super) y: [f64; 3],
    pub(super) l: [f64; 3],
    pub(super) slope: [[f64; 3]; 3],
}

impl Support {
    /// Its block, or the row of its motor.
    pub(super) fn own_row<'a>(&self, problem: &'a Problem) -> &'a Block {
        if self.is_motor() { &problem.motors[self.index].row } else { &problem.blocks[self.index] }
    }

    pub(super) fn is_motor(&self) -> bool {
        matches!(self.rows_of, DistributedRows::Motor)
    }

    /// The distributed rows.
    pub(super) fn distributed_rows(&self) -> std::ops::Range<usize> {
        match self.rows_of {
            DistributedRows::All => 0..3,
            DistributedRows::NormalOnly | DistributedRows::Motor => 0..1,
        }
    }

    /// Smallest and largest impulse of a motor, N s or N m s; infinite for contacts.
    pub(super) fn impulse_bounds(&self, problem: &Problem) -> [f64; 2] {
        match self.own_row(problem).law {
            Law::Interval { low, high } => [low, high],
            Law::Cone | Law::Disc { .. } | Law::Patch { .. } => [f64::NEG_INFINITY, f64::INFINITY],
        }
    }

    /// S⁻² of a row.
    pub(super) fn row_weight(&self, row: usize) -> f64 {
        match row {
            _ if self.is_motor() => MOTOR_STIFFNESS,
            0 => 1.0,
            _ => 1.0 / (self.friction * self.friction),
        }
    }

    /// Sets impulse and slope from y; a motor's impulse stays within `[low, high]`.
    pub(super) fn project_impulse(&mut self, [low, high]: [f64; 2]) {
        let (m, [n, y1, y2]) = (self.friction, self.y);
        (self.l, self.slope) = ([0.0; 3], [[0.0; 3]; 3]);
        match self.rows_of {
            DistributedRows::NormalOnly if n > 0.0 => (self.l[0], self.slope[0][0]) = (n, 1.0),
            DistributedRows::NormalOnly => {}
            DistributedRows::Motor => {
                self.l[0] = (MOTOR_STIFFNESS * n).clamp(low, high);
                self.slope[0][0] = if self.l[0] == MOTOR_STIFFNESS * n { MOTOR_STIFFNESS } else { 0.0 };
            }
            DistributedRows::All => {
                let t = [y1 / m, y2 / m];
                let length = t[0].hypot(t[1]);
                if length <= m * n {
                    self.l = [n, t[0] / m, t[1] / m];
                    (0..3).for_each(|row| self.slope[row][row] = self.row_weight(row));
                } else if m * length > -n {
                    // On the boundary of the cone: the normal impulse is that of the nearest point, and friction is on
                    // its disc.
                    let share = 1.0 / (1.0 + m * m);
                    let normal = share * (n + m * length);
                    self.set_tangents(t, m * normal);
                    self.l[0] = normal;
                    self.slope[0][0] = share;
                    for (row, along) in [t[0] / length, t[1] / length].into_iter().enumerate() {
                        self.slope[0][row + 1] = share * along;
                        self.slope[row + 1][0] = share * along;
                    }
                    let along = [t[0] / length, t[1] / length];
                    (0..2).for_each(|i| (0..2).for_each(|k| self.slope[i + 1][k + 1] += share * along[i] * along[k]));
                }
            }
        }
    }

    /// Sets the tangential impulses to the nearest point of a disc of that radius, in N s.
    pub(super) fn set_tangents(&mut self, t: [f64; 2], radius: f64) {
        let (m, [x, y]) = (self.friction, on_disc(t, radius));
        (self.l[1], self.l[2]) = (x / m, y / m);
        let (by_point, _) = disc_slopes(t, radius);
        (0..2).for_each(|i| (0..2).for_each(|k| self.slope[i + 1][k + 1] = by_point[i][k] / (m * m)));
    }
}

/// True if a contact carries a load that another could carry, or could carry one.
pub(crate) fn can_carry_load(problem: &Problem, block: &Block) -> bool {
    rows_of(problem, block).is_some()
}

/// The distributed rows of a contact; `None` if its impulse is determined.
pub(super) fn rows_of(problem: &Problem, block: &Block) -> Option<DistributedRows> {
    let (carries, mode) = (block.impulse[0] > 0.0, block.cone.mode);
    if block.cone.a[0] <= 0.0 || block.compliance[0] > 0.0 {
        return None;
    }
    let known = carries && (mode == Mode::Stick || !block.cone.friction);
    let u = if known { [0.0; 3] } else { problem.velocity(block) };
    let creeps = block.compliance[1].max(block.compliance[2]) > 0.0;
    let slides = u[1].hypot(u[2]) > STICKING_SPEED * block.friction.max(1.0);
    match (carries || u[0] <= STICKING_SPEED, block.cone.friction && !creeps && !slides) {
        (false, _) => None,
        (true, true) => Some(DistributedRows::All),
        (true, false) => Some(DistributedRows::NormalOnly),
    }
}

/// Friction of a sliding or creeping contact at a normal impulse.
pub(super) fn friction_at(problem: &Problem, block: &Block, normal: f64) -> [f64; 2] {
    let [before, x, y] = block.impulse;
    if !block.cone.friction {
        return [0.0; 2];
    }
    let at_edge = |t: [f64; 2]| on_disc(t, normal);
    if block.cone.mode == Mode::Stick {
        return at_edge([x, y]);
    }
    let u = problem.velocity(block);
    let speed = u[1].hypot(u[2]);
    let edge = match (before > 0.0, speed > 0.0) {
        (true, _) => [x * normal / before, y * normal / before],
        (false, true) => [-u[1] * normal / speed, -u[2] * normal / speed],
        (false, false) => [0.0; 2],
    };
    // With slip, friction may be inside the cone.
    let creep =
        [1, 2].map(|row| if block.compliance[row] > 0.0 { -u[row] / block.compliance[row] } else { f64::INFINITY });
    if creep[0].hypot(creep[1]) < normal { creep } else { edge }
}

/// The columns of a contact, and the unknown of each.
pub(super) fn block_columns<'a>(
    problem: &'a Problem,
    block: &Block,
) -> impl Iterator<Item = (&'a [f64; 4], usize)> + Clone {
    let range = block.start..block.start + block.length;
    problem.columns[range.clone()].iter().zip(problem.index[range].iter().map(|&i| i as usize))
}

/// Adds the whitened impulse of a block.
pub(super) fn add_impulse(sum: &mut [f64], problem: &Problem, block: &Block, l: [f64; 3]) {
    if l != [0.0; 3] {
        block_columns(problem, block).for_each(|(y, i)| sum[i] += y[0] * l[0] + y[1] * l[1] + y[2] * l[2]);
    }
}
