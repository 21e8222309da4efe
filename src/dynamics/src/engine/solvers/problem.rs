//! The constraint problem of one island in whitened coordinates, the only input of the solvers.
//! [`crate::engine::constraints`] builds it and alone knows the meaning of each block.
//!
//! The letters are those of the engine's table of notation ([`crate::engine`]). J is the Jacobian of a block, Y its
//! whitened form ([`Problem::columns`]), and A = Yᵀ Y + R the block's own matrix with the compliance R. Its impulse is
//! l, its velocity without impulses b ([`Block::bias`]), and its velocity u = b + Yᵀ w, where w ([`Problem::w`]) is the
//! sum of Y l over all blocks.
//!
//! No matrix over all contacts is formed. A local solve costs the length of the block's columns, whatever the number of
//! contacts, and memory is linear. A block has up to three rows and one law that relates its impulse and velocity.

use std::ops::Range;

use super::{cone::Cone, patch_friction::PatchFriction};

/// Relation between the impulse l and the velocity u of a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Law {
    /// Signorini and Coulomb; order normal, first and second tangent. Friction coefficients are multiplied into the
    /// tangents.
    Cone,
    /// One or two rows that brake with at most `radius` times the normal impulse of the block `normal`.
    Disc { normal: usize, radius: f64, rows: usize },
    /// One row: u is zero within the bounds of l, at least zero at the lower and at most zero at the upper one.
    Interval { low: f64, high: f64 },
    /// Three rows of a patch that spins ([`super::patch_friction`]): its number among [`Problem::patches`]. The blocks
    /// from `first` to before `end` are its contacts, which have no friction of their own, and their discs.
    Patch { patch: usize, first: usize, end: usize },
}

/// Role of a block in the position correction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PositionRule {
    /// None: the block may move either way.
    Ignored,
    /// Its negative gap is opened; a gap that is open is not closed.
    PushedOut,
    /// The body does not move along the row.
    Held,
}

/// Up to three rows with one law.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    pub(crate) law: Law,
    /// Start and number of its columns in [`Problem::columns`].
    pub(crate) start: usize,
    pub(crate) length: usize,
    /// Its own matrix A, with the state of the local solve.
    pub(crate) cone: Cone,
    /// Bias b: velocity without impulses, with the additions of restitution, gap or target, m/s or rad/s.
    pub(crate) bias: [f64; 3],
    /// Impulse l, N s or N m s.
    pub(crate) impulse: [f64; 3],
    /// Compliance R of each row, 1/kg or 1/(kg m²): u + R l takes the place of u.
    pub(crate) compliance: [f64; 3],
    /// Velocity without impulses, m/s or rad/s.
    pub(crate) free: [f64; 3],
    /// Velocity at the start of the substep, m/s or rad/s.
    pub(crate) before: [f64; 3],
    /// The larger coefficient of friction of a contact.
    pub(crate) friction: f64,
    /// Upper bound of the velocity change by sweeps since its load was distributed, m/s.
    pub(crate) undistributed_change: f64,
    /// Addition to the normal bias that removes restitution, m/s.
    pub(crate) plastic_bias_change: f64,
    /// Gap, m, or distance to a stop, rad or m.
    pub(crate) gap: f64,
    pub(crate) position: PositionRule,
}

/// A rigid motor of a tree as one row. It belongs to no block: its tree's mass matrix contains it. Only the
/// distribution of loads changes its impulse.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RigidMotor {
    /// Its row, with the largest impulses as bounds and, while loads are distributed, its impulse.
    pub(crate) row: Block,
    /// Its tree in the island, and its degree of freedom there.
    pub(crate) tree: usize,
    pub(crate) dof: usize,
    /// Impulse of its law at the velocities without impulses, N s or N m s, and its decrease per unit of velocity.
    pub(crate) free_impulse: f64,
    pub(crate) slope: f64,
    /// Change of its impulse by the distribution of loads, N s or N m s.
    pub(crate) change: f64,
}

/// All blocks of an island. Kept between steps only to reuse its memory.
#[derive(Debug, Default)]
pub(crate) struct Problem {
    pub(crate) blocks: Vec<Block>,
    /// Rigid motors, whose impulses may change where loads are distributed.
    pub(crate) motors: Vec<RigidMotor>,
    /// Columns Y of all blocks and motors, one after the other.
    pub(crate) columns: Vec<[f64; 4]>,
    /// Friction of the patches that spin.
    pub(crate) patches: Vec<PatchFriction>,
    /// The unknown of each column entry.
    pub(crate) index: Vec<u32>,
    /// Sum of the whitened impulses.
    pub(crate) w: Vec<f64>,
    /// First unknown of each tree, and the end of the last.
    pub(crate) starts: Vec<usize>,
    /// True if all its trees are single bodies.
    pub(crate) only_free_bodies: bool,
    /// Residual of nearly the same problem earlier in the substep, m/s; zero if there was none.
    pub(crate) previous_residual: f64,
}

impl Problem {
    /// Clears the problem: trees with these numbers of unknowns, and no blocks.
    pub(crate) fn clear(&mut self, trees: impl Iterator<Item = usize>) {
        self.starts.clear();
        self.starts.push(0);
        for freedom in trees {
            self.starts.push(self.starts[self.starts.len() - 1] + freedom);
        }
        let unknowns = self.starts[self.starts.len() - 1];
        (self.only_free_bodies, self.previous_residual) = (false, 0.0);
        self.blocks.clear();
        self.motors.clear();
        self.columns.clear();
        self.patches.clear();
        self.index.clear();
        self.w.clear();
        self.w.resize(unknowns, 0.0);
    }

    /// A block over the columns from `start` on, without an impulse.
    #[inline]
    pub(crate) fn block(
        &self,
        law: Law,
        start: usize,
        compliance: [f64; 3],
        free: [f64; 3],
        before: [f64; 3],
    ) -> Block {
        self.block_of(law, start, self.own_matrix(start), compliance, free, before)
    }

    /// Yᵀ Y of the columns from `start` on.
    #[inline]
    pub(crate) fn own_matrix(&self, start: usize) -> [f64; 6] {
        let mut a = [0.0; 6];
        for y in &self.columns[start..] {
            a[0] += y[0] * y[0];
            a[1] += y[0] * y[1];
            a[2] += y[0] * y[2];
            a[3] += y[1] * y[1];
            a[4] += y[1] * y[2];
            a[5] += y[2] * y[2];
        }
        a
    }

    /// A block over the columns from `start` on, with a known Yᵀ Y.
    #[inline]
    pub(crate) fn block_of(
        &self,
        law: Law,
        start: usize,
        mut a: [f64; 6],
        compliance: [f64; 3],
        free: [f64; 3],
        before: [f64; 3],
    ) -> Block {
        a[0] += compliance[0];
        a[3] += compliance[1];
        a[5] += compliance[2];
        Block {
            law,
            start,
            length: self.columns.len() - start,
            cone: if law == Law::Cone { Cone::new(a) } else { Cone::matrix_only(a) },
            bias: free,
            impulse: [0.0; 3],
            compliance,
            free,
            before,
            friction: 0.0,
            undistributed_change: 0.0,
            plastic_bias_change: 0.0,
            gap: 0.0,
            position: PositionRule::Ignored,
        }
    }

    /// Computes w from the impulses, and from the changes of rigid motors.
    pub(crate) fn sum_impulses(&mut self) {
        self.w.fill(0.0);
        for block in self.blocks.iter().filter(|block| block.impulse != [0.0; 3]) {
            let range = block.start..block.start + block.length;
            for (column, &index) in self.columns[range.clone()].iter().zip(&self.index[range]) {
                let l = &block.impulse;
                self.w[index as usize] += column[0] * l[0] + column[1] * l[1] + column[2] * l[2];
            }
        }
        for RigidMotor { row, change, .. } in self.motors.iter().filter(|motor| motor.change != 0.0) {
            let range = row.start..row.start + row.length;
            for (column, &index) in self.columns[range.clone()].iter().zip(&self.index[range]) {
                self.w[index as usize] += column[0] * change;
            }
        }
    }

    /// Impulse of a rigid motor at the present velocities, N s or N m s.
    pub(crate) fn motor_impulse(&self, motor: &RigidMotor) -> f64 {
        motor.free_impulse - motor.slope * self.velocity_from(&motor.row, &self.w)[0] + motor.change
    }

    /// Subtracts the contribution of an impulse of a block from w.
    pub(crate) fn subtract_impulse(&self, block: &Block, l: [f64; 3], w: &mut [f64]) {
        if l != [0.0; 3] {
            let range = block.start..block.start + block.length;
            for (y, &index) in self.columns[range.clone()].iter().zip(&self.index[range]) {
                w[index as usize] -= y[0] * l[0] + y[1] * l[1] + y[2] * l[2];
            }
        }
    }

    /// The one or two trees that a block couples, and the range of its columns over each.
    pub(crate) fn sides(&self, block: &Block) -> [(usize, Range<usize>); 2] {
        let end = block.start + block.length;
        let tree = |k: usize| self.starts.partition_point(|&start| start <= self.index[k] as usize) - 1;
        if block.length == 0 {
            return [(0, end..end), (0, end..end)];
        }
        let first = tree(block.start);
        let own = self.starts[first]..self.starts[first + 1];
        let columns = block.start..end;
        let middle = columns.clone().find(|&k| !own.contains(&(self.index[k] as usize))).unwrap_or(end);
        [(first, block.start..middle), (if middle < end { tree(middle) } else { first }, middle..end)]
    }

    /// Largest impulse of a block whose law is a disc, N s or N m s, or the normal impulse of a patch; 0 for other
    /// blocks.
    #[inline]
    pub(crate) fn disc_radius(&self, law: Law) -> f64 {
        match law {
            Law::Disc { normal, radius, .. } => radius * self.blocks[normal].impulse[0],
            Law::Patch { .. } => self.patch_normals(law).map(|normal| self.blocks[normal].impulse[0]).sum(),
            Law::Cone | Law::Interval { .. } => 0.0,
        }
    }

    /// The contacts of a patch; none for other laws.
    pub(crate) fn patch_normals(&self, law: Law) -> impl Iterator<Item = usize> + '_ {
        let range = if let Law::Patch { first, end, .. } = law { first..end } else { 0..0 };
        range.filter(|&place| self.blocks[place].law == Law::Cone)
    }

    /// The impulse that satisfies the law of a block. `u` is its velocity with the present impulse.
    #[inline]
    pub(crate) fn solve_block(&self, block: &mut Block, u: [f64; 3]) -> [f64; 3] {
        let bound = self.disc_radius(block.law);
        if let Law::Patch { patch, .. } = block.law {
            let own = block.cone.times(block.impulse);
            let b = [u[0] - own[0], u[1] - own[1], u[2] - own[2]];
            return self.patches[patch].solve(&block.cone.a, b, bound, u);
        }
        block.solve_block(u, bound)
    }

    /// Velocity of a block with all impulses, its bias included.
    #[inline]
    pub(crate) fn velocity(&self, block: &Block) -> [f64; 3] {
        let u = self.velocity_from(block, &self.w);
        [0, 1, 2].map(|c| block.bias[c] + u[c])
    }

    /// Velocity of a block from whitened impulses.
    #[inline]
    pub(crate) fn velocity_from(&self, block: &Block, whitened: &[f64]) -> [f64; 3] {
        let mut u = [0.0; 4];
        let range = block.start..block.start + block.length;
        for (column, &index) in self.columns[range.clone()].iter().zip(&self.index[range]) {
            let w = whitened[index as usize];
            for c in 0..4 {
                u[c] += column[c] * w;
            }
        }
        [u[0], u[1], u[2]]
    }
}

impl Block {
    /// Number of its rows.
    pub(crate) fn rows(&self) -> usize {
        match self.law {
            Law::Cone if self.cone.friction => 3,
            Law::Disc { rows, .. } => rows,
            Law::Patch { .. } => 3,
            Law::Cone | Law::Interval { .. } => 1,
        }
    }

    /// Projects an impulse to its bounds; `radius` is that of its disc.
    pub(crate) fn project_to_bounds(&mut self, radius: f64) {
        let l = &mut self.impulse;
        match self.law {
            Law::Interval { low, high } => l[0] = l[0].clamp(low, high),
            Law::Cone => {
                l[0] = l[0].max(0.0);
                let length = l[1].hypot(l[2]);
                if length > l[0] {
                    let scale = l[0] / length;
                    (l[1], l[2]) = (l[1] * scale, l[2] * scale);
                }
            }
            Law::Disc { .. } => {
                let length = l[0].hypot(l[1]);
                if length > radius {
                    let scale = radius / length;
                    (l[0], l[1]) = (l[0] * scale, l[1] * scale);
                }
            }
            // The impulse follows from the velocity.
            Law::Patch { .. } => {}
        }
    }
}
