//! Solvers of the constraint problem of one island.
//!
//! **Takes** a [`problem::Problem`]: blocks of up to three whitened rows, each with one law. **Gives** an impulse for
//! each block that satisfies its law, the residual, the work spent ([`solver::SolveOutcome`]), and pseudo-velocities
//! that reduce penetration ([`position_correction`]). **Does not know** the meaning of a row: no tree, joint, contact
//! or soil.
//!
//! Start reading at [`solver`]. Block Gauss-Seidel ([`gauss_seidel`], [`block_solve`], [`cone`], [`patch_friction`])
//! comes first, Newton's method ([`newton`]) finishes, and a homotopy ([`homotopy`]) takes over if neither converges.
//! [`least_norm_distribution`] then picks the impulses of least norm among those with the same effect.
//! [`solver_tolerance`] says when a block counts as solved.

pub(crate) mod block_solve;
pub(crate) mod cone;
pub(crate) mod gauss_seidel;
pub(crate) mod homotopy;
pub(crate) mod least_norm_distribution;
pub(crate) mod load_support;
pub(crate) mod newton;
pub(crate) mod patch_friction;
pub(crate) mod position_correction;
pub(crate) mod problem;
pub(crate) mod skyline;
pub(crate) mod solver;
pub(crate) mod solver_tolerance;
