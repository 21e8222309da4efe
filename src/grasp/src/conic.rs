//! A cone program in rows, and clarabel that solves it. Whoever asks checks the answer: this module promises nothing about it.

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

/// What clarabel came to.
#[derive(Debug, Clone)]
pub struct Solution {
    /// The unknowns.
    pub x: Vec<f64>,
    /// The multipliers of the rows.
    pub z: Vec<f64>,
}

/// One row: coefficients of unknowns, and the bound.
pub(crate) type Row = (Vec<(usize, f64)>, f64);

impl Program {
    /// A program of so many unknowns that costs nothing yet.
    pub fn new(unknowns: usize) -> Self {
        Self { objective: vec![0.0; unknowns], ..Self::default() }
    }

    fn add(&mut self, rows: impl IntoIterator<Item = Row>) -> usize {
        let before = self.bounds.len();
        for (coefficients, bound) in rows {
            let row = self.bounds.len();
            self.entries.extend(coefficients.into_iter().map(|(column, value)| (row, column, value)));
            self.bounds.push(bound);
        }
        self.bounds.len() - before
    }

    /// Rows that equal their bounds.
    pub(crate) fn equal(&mut self, rows: impl IntoIterator<Item = Row>) {
        let count = self.add(rows);
        self.cones.push(SupportedConeT::ZeroConeT(count));
    }

    /// Rows that are at most their bounds.
    pub(crate) fn at_most(&mut self, rows: impl IntoIterator<Item = Row>) {
        let count = self.add(rows);
        self.cones.push(SupportedConeT::NonnegativeConeT(count));
    }

    /// Bounds less rows, whose first is at least the length of the others.
    pub(crate) fn in_cone(&mut self, rows: impl IntoIterator<Item = Row>) {
        let count = self.add(rows);
        self.cones.push(SupportedConeT::SecondOrderConeT(count));
    }

    /// Solves it as well as clarabel can; `None` if that is no number at all.
    pub fn solve(&self) -> Option<Solution> {
        let unknowns = self.objective.len();
        let matrix = |rows: usize, entries: &[(usize, usize, f64)]| {
            let (i, j) = entries.iter().map(|entry| (entry.0, entry.1)).unzip();
            let values = entries.iter().map(|entry| entry.2).collect();
            CscMatrix::new_from_triplets(rows, unknowns, i, j, values)
        };
        let settings = DefaultSettings {
            verbose: false,
            // As far as rounding lets it go: what comes out is projected and checked to 1e-9.
            tol_gap_abs: 1e-11,
            tol_gap_rel: 1e-11,
            tol_feas: 1e-11,
            // A wrench that the grasp map lacks is told from one that it has by this.
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
        // Of a program without solution clarabel gives multipliers, and NaN for the unknowns.
        finite(z).then(|| Solution { x: x.clone(), z: z.clone() })
    }
}
