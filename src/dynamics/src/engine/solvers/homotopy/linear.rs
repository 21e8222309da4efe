//! The linear equations of a step along the curve of the homotopy solver ([`super`]).
//!
//! With x the change of v, y that of ln nu and the slopes of [`Slope`], each block has
//!
//! ```text
//! by_v x + by_u Yᵀ dw + by_nu y + by_normal x_n = right,    dw = sum of rho Y x
//! ```
//!
//! and one more equation leads along the tangent of the curve. The first gives x in terms of dw, y and, for a disc, of
//! its normal row, which comes before it. What remains are as many equations as the bodies have unknowns, and one: far
//! fewer than rows where contacts are many. Where a contact sticks, by_v is no more than the shift of its diagonal, so
//! that dw is accurate to some six digits; the next correction brings the rest.

use nalgebra::{Matrix3, Matrix3x6};

use super::smooth::{Equations, Part, Slope};
use crate::engine::{algebra::elimination::eliminate, solvers::problem::Problem};

/// Response of a block: v = constant - by_u Yᵀ dw - by_nu y, and for a disc also - by_normal x_n, with the change x_n
/// of v of its normal row by Yᵀ dw.
#[derive(Debug, Clone, Copy, Default)]
struct Response {
    constant: [f64; 3],
    by_u: [[f64; 3]; 3],
    by_nu: [f64; 3],
    by_normal: [f64; 3],
}

/// The equations and their solution.
#[derive(Debug, Default)]
pub(super) struct Linear {
    responses: Vec<Response>,
    /// For one block, the columns that move it, and the decrease of its v with each.
    falls: Vec<(usize, [f64; 3])>,
    /// Matrix over (dw, y), with the right-hand side as the last column.
    system: Vec<f64>,
    dw: Vec<f64>,
}

impl Linear {
    /// Cost of a solution, in multiplications.
    pub(super) fn cost(problem: &Problem) -> f64 {
        let unknowns = (problem.w.len() + 1) as f64;
        let block = |length: usize| (length * (3 * length + 30) + 300) as f64;
        unknowns * unknowns * (unknowns / 3.0 + 1.0) + problem.blocks.iter().map(|b| block(b.length)).sum::<f64>()
    }

    /// Solves for the change (x, y) that changes the value of the equations by `right`, and advances by `along` in the
    /// direction of the tangent. x is in units of `scale`, in the tangent and in the solution. `None` if there is no
    /// solution.
    pub(super) fn solve(
        &mut self,
        problem: &Problem,
        equations: &Equations,
        right: &[f64],
        (tangent, along): (&[f64], f64),
        scale: f64,
        solution: &mut Vec<f64>,
    ) -> Option<()> {
        let (unknowns, count) = (problem.w.len(), equations.count);
        let width = unknowns + 2;
        self.find_responses(equations, right)?;
        self.system.clear();
        self.system.resize((unknowns + 1) * width, 0.0);
        (0..unknowns).for_each(|k| self.system[k * (width + 1)] = 1.0);
        let (rows, last) = self.system.split_at_mut(unknowns * width);
        (last[unknowns], last[unknowns + 1]) = (tangent[count], along);
        for (part, response) in equations.parts.iter().zip(&self.responses) {
            response.find_falls(problem, equations, part, &self.responses, &mut self.falls);
            let tangent = std::array::from_fn(|c| if c < part.count { tangent[part.row + c] / scale } else { 0.0 });
            self.falls.iter().for_each(|(index, fall)| last[*index] -= dot(tangent, *fall));
            last[unknowns] -= dot(tangent, response.by_nu);
            last[unknowns + 1] -= dot(tangent, response.constant);
            let block = &problem.blocks[part.block];
            let own = block.start..block.start + block.length;
            for (y, &index) in problem.columns[own.clone()].iter().zip(&problem.index[own]) {
                let y = [part.rho * y[0], part.rho * y[1], part.rho * y[2]];
                let row = &mut rows[index as usize * width..][..width];
                self.falls.iter().for_each(|(index, fall)| row[*index] += dot(y, *fall));
                row[unknowns] += dot(y, response.by_nu);
                row[unknowns + 1] += dot(y, response.constant);
            }
        }
        if !eliminate(&mut self.system, unknowns + 1) {
            return None;
        }
        self.dw.clear();
        self.dw.extend((0..unknowns).map(|row| self.system[row * width + unknowns + 1]));
        self.write_solution(problem, equations, self.system[unknowns * width + unknowns + 1], scale, solution);
        Some(())
    }

    /// Solves the equations of each block for its own v. `None` if they have no solution.
    fn find_responses(&mut self, equations: &Equations, right: &[f64]) -> Option<()> {
        self.responses.clear();
        for part in &equations.parts {
            let mut response = Response::from_part(part, right)?;
            if let Some(normal) = part.normal().filter(|_| response.by_normal != [0.0; 3]) {
                let of = &self.responses[normal];
                for c in 0..3 {
                    response.constant[c] -= response.by_normal[c] * of.constant[0];
                    response.by_nu[c] -= response.by_normal[c] * of.by_nu[0];
                }
            }
            self.responses.push(response);
        }
        Some(())
    }

    /// Writes (x, y), y being the change of ln nu.
    fn write_solution(&self, problem: &Problem, equations: &Equations, y: f64, scale: f64, solution: &mut Vec<f64>) {
        solution.clear();
        for (part, response) in equations.parts.iter().zip(&self.responses) {
            let du = problem.velocity_from(&problem.blocks[part.block], &self.dw);
            let mut normal = 0.0;
            if let Some(of) = part.normal().filter(|_| response.by_normal != [0.0; 3]) {
                let du = problem.velocity_from(&problem.blocks[equations.parts[of].block], &self.dw);
                normal = -dot(self.responses[of].by_u[0], du);
            }
            for c in 0..part.count {
                let fall = dot(response.by_u[c], du) + response.by_nu[c] * y + response.by_normal[c] * normal;
                solution.push((response.constant[c] - fall) / scale);
            }
        }
        solution.push(y);
    }
}

impl Response {
    /// Response of a block's v if v of its normal row stays unchanged.
    fn from_part(part: &Part, right: &[f64]) -> Option<Self> {
        let Slope { by_v, by_u, by_nu, by_normal } = &part.slope;
        let rows = 0..part.count;
        let matrix = Matrix3::from_fn(|r, c| if rows.contains(&r) { by_v[r][c] } else { f64::from(r == c) });
        let sides = Matrix3x6::from_fn(|r, side| match side {
            _ if !rows.contains(&r) => 0.0,
            0 => right[part.row + r],
            1 => by_nu[r],
            2 => by_normal[r],
            _ => by_u[r][side - 3],
        });
        let solved = matrix.lu().solve(&sides)?;
        let column = |side: usize| [solved[(0, side)], solved[(1, side)], solved[(2, side)]];
        let by_u = std::array::from_fn(|r| std::array::from_fn(|c| solved[(r, 3 + c)]));
        Some(Self { constant: column(0), by_nu: column(1), by_normal: column(2), by_u })
    }

    /// Finds the decrease of the block's v with each unknown, its own first and then those of a disc's normal row.
    fn find_falls(
        &self,
        problem: &Problem,
        equations: &Equations,
        part: &Part,
        all: &[Self],
        falls: &mut Vec<(usize, [f64; 3])>,
    ) {
        let columns = |part: &Part| {
            let block = &problem.blocks[part.block];
            let range = block.start..block.start + block.length;
            problem.index[range.clone()]
                .iter()
                .zip(&problem.columns[range])
                .map(|(index, y)| (*index as usize, [y[0], y[1], y[2]]))
        };
        falls.clear();
        falls.extend(columns(part).map(|(index, y)| (index, self.by_u.map(|row| dot(row, y)))));
        if let Some(normal) = part.normal().filter(|_| self.by_normal != [0.0; 3]) {
            let along = all[normal].by_u[0];
            let of = |y| self.by_normal.map(|by| -by * dot(along, y));
            falls.extend(columns(&equations.parts[normal]).map(|(index, y)| (index, of(y))));
        }
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
