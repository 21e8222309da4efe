//! A cone program in rows, and its solution by clarabel. The caller checks the solution: this module promises nothing
//! about it.

use clarabel::{
    algebra::CscMatrix,
    solver::{DefaultSettings, DefaultSolver, IPSolver, SupportedConeT},
};

/// Minimise q.x + x.P.x / 2 subject to A x + s = b, with s in a product of cones.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// The linear objective; its length is the number of unknowns.
    pub objective: Vec<f64>,
    /// The upper triangle of the quadratic objective: row, column, value.
    pub quadratic: Vec<(usize, usize, f64)>,
    entries: Vec<(usize, usize, f64)>,
    bounds: Vec<f64>,
    cones: Vec<SupportedConeT<f64>>,
}

/// The solution that clarabel found. Its accuracy is not checked.
#[derive(Debug, Clone)]
pub struct Solution {
    /// Values of the unknowns.
    pub x: Vec<f64>,
    /// Multipliers of the rows.
    pub z: Vec<f64>,
}

/// One row: pairs of an unknown's index and its coefficient, and the bound.
pub(crate) type Row = (Vec<(usize, f64)>, f64);

impl Program {
    /// A program with this number of unknowns, without rows, and with an objective of zero.
    pub fn new(unknowns: usize) -> Self {
        Self { objective: vec![0.0; unknowns], ..Self::default() }
    }

    /// Appends rows and returns their number.
    fn add_rows(&mut self, rows: impl IntoIterator<Item = Row>) -> usize {
        let before = self.bounds.len();
        for (coefficients, bound) in rows {
            let row = self.bounds.len();
            self.entries.extend(coefficients.into_iter().map(|(column, value)| (row, column, value)));
            self.bounds.push(bound);
        }
        self.bounds.len() - before
    }

    /// Adds rows that equal their bounds.
    pub(crate) fn add_equal(&mut self, rows: impl IntoIterator<Item = Row>) {
        let count = self.add_rows(rows);
        self.cones.push(SupportedConeT::ZeroConeT(count));
    }

    /// Adds rows that are at most their bounds.
    pub(crate) fn add_at_most(&mut self, rows: impl IntoIterator<Item = Row>) {
        let count = self.add_rows(rows);
        self.cones.push(SupportedConeT::NonnegativeConeT(count));
    }

    /// Adds a second-order cone: of the differences bound - row, the first is at least the norm of the others.
    pub(crate) fn add_cone(&mut self, rows: impl IntoIterator<Item = Row>) {
        let count = self.add_rows(rows);
        self.cones.push(SupportedConeT::SecondOrderConeT(count));
    }

    /// Solves the program as accurately as clarabel can. `None` if the result is not finite.
    pub fn solve(&self) -> Option<Solution> {
        let unknowns = self.objective.len();
        let matrix = |rows: usize, entries: &[(usize, usize, f64)]| {
            let (i, j) = entries.iter().map(|entry| (entry.0, entry.1)).unzip();
            let values = entries.iter().map(|entry| entry.2).collect();
            CscMatrix::new_from_triplets(rows, unknowns, i, j, values)
        };
        let settings = DefaultSettings {
            verbose: false,
            // As tight as rounding permits: the results are projected and then checked to 1e-9.
            tol_gap_abs: 1e-11,
            tol_gap_rel: 1e-11,
            tol_feas: 1e-11,
            // This distinguishes wrenches that the grasp map can produce from those that it cannot.
            tol_infeas_abs: 1e-11,
            tol_infeas_rel: 1e-11,
            max_threads: 1,
            ..DefaultSettings::default()
        };
        let (p, a) = (matrix(unknowns, &self.quadratic), matrix(self.bounds.len(), &self.entries));
        let mut solver = DefaultSolver::new(&p, &self.objective, &a, &self.bounds, &self.cones, settings).ok()?;
        solver.solve();
        let (x, z) = (&solver.solution.x, &solver.solution.z);
        let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        // For a program without a solution clarabel returns multipliers, and NaN for the unknowns.
        finite(z).then(|| Solution { x: x.clone(), z: z.clone() })
    }
}
