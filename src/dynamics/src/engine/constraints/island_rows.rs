//! All constraints of an island: the blocks of its problem, and what each of them stands for.

use bevy_math::{DVec2, DVec3};

use super::{loop_joint::HELD_ROWS, loop_row::LoopRows, patch_state::Patch, soil_contact::SoilContacts};
use crate::engine::{
    algebra::spatial::Spatial, joints::axis_laws::AxisLaw, solvers::problem::Problem, state::tree::LANES,
};

/// Origin of a block of the constraint problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// A contact, by its index.
    Contact(usize),
    /// Rolling resistance of a contact, by its index.
    Rolling(usize),
    /// Torsional resistance of a contact, by its index.
    Torsion(usize),
    /// A patch that spins, by its index in [`Constraints::patches`].
    Patch(usize),
    /// A law of a coordinate: tree of the island, degree of freedom, and number of the law.
    Coordinate { tree: usize, dof: usize, law: usize },
    /// A stop of a ball joint: tree of the island, degree of freedom and law of the axis that it counts as, and its
    /// index in [`Constraints::ball_stops`].
    BallStop { tree: usize, dof: usize, law: AxisLaw, row: usize },
    /// A coupling of two coordinates: tree of the island, and its number there.
    Coupling { tree: usize, number: usize },
    /// A row of a loop joint, by its index in [`LoopRows`].
    LoopJoint(usize),
}

/// All constraints of an island. Kept between steps only to reuse its memory.
#[derive(Debug, Default)]
pub(crate) struct Constraints {
    pub(crate) problem: Problem,
    /// Origin of each block of the problem.
    pub(super) sources: Vec<Source>,
    /// Solution before the last assembly: origin, impulse and slip of each block.
    pub(super) previous: Vec<(Source, [f64; 3], f64)>,
    /// Lines and faces of contact that spin.
    pub(super) patches: Vec<Patch>,
    /// Buffer for the outline of a face, m.
    pub(super) outline: Vec<DVec2>,
    /// True if friction stays at the points of patches in this attempt.
    pub(crate) keeps_points: bool,
    pub(super) loop_rows: LoopRows,
    pub(super) soil: SoilContacts,
    /// For each stop of a ball joint: the first degree of freedom of the joint, and the direction of the stop along the
    /// axes of its tree.
    pub(super) ball_stops: Vec<(usize, DVec3)>,
    /// For each loop joint, the velocities in its held directions that close it at the midpoint of the next step, m/s
    /// or rad/s.
    pub(super) closing: Vec<[f64; HELD_ROWS]>,
    /// For each loop joint, the mean rates of its motors at their largest power, rad/s or m/s; 0 for other motors.
    pub(super) power_means: Vec<[f64; 3]>,
    pub(super) scratch: Vec<[f64; 4]>,
    /// Buffer for [`Tree::whiten_all`](crate::engine::state::tree::Tree::whiten_all).
    pub(super) forces: Vec<[Spatial; LANES]>,
}
