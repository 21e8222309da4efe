//! Newton's method for impulses and velocities at once.

use super::{Newton, Point, on_disc};
use crate::engine::problem::{Block, Law, Problem};

impl Newton {
    /// Solves a problem from the impulses it has. False if that does not converge.
    pub(super) fn solve_at_once(&mut self, problem: &Problem, tolerance: f64, work: &mut f64, again: bool) -> bool {
        let mut share = super::param("AOR0", 1e-2);
        let least = super::param("AORES", 1e-5);
        for (point, block) in self.points.iter_mut().zip(&problem.blocks) {
            let u = problem.moved_by(block, &self.w);
            point.u = std::array::from_fn(|c| block.bias[c] + u[c]);
        }
        if again { share = super::param("AOR1", 1e-3); }
        let (mut best, mut lapses) = (f64::INFINITY, 0.0);
        let most = super::param("AOMOST", 15.0) as usize;
        let down = super::param("AODOWN", 0.1);
        let lapse = super::param("AOLAPSES", 4.0);
        for k in 0..=most {
            self.resist(problem, share);
            share = (share * down).max(least);
            let lack = self.linearise(problem);
            if std::env::var("TRACE").is_ok() && problem.blocks.len() > 250 {
                eprintln!("     at once {k} share {share:.1e} lack {lack:.1e}");
            }
            if lack < tolerance {
                return true;
            }
            if !(lack < 0.5 * best) {
                lapses += 1.0;
            }
            best = best.min(lack);
            if lapses > lapse || self.cost > *work || k == most {
                return false;
            }
            *work -= self.cost;
            super::TOT[0].fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            super::TOT[1].fetch_add(self.cost as u64, std::sync::atomic::Ordering::Relaxed);
            if !self.find_step(problem) {
                return false;
            }
            self.w.iter_mut().zip(&self.step).for_each(|(w, step)| *w += step);
            for (point, block) in self.points.iter_mut().zip(&problem.blocks) {
                point.du = problem.moved_by(block, &self.step);
            }
            for index in 0..self.points.len() {
                let by = match problem.blocks[index].law {
                    Law::Disc { normal, .. } => self.points[normal].du[0],
                    _ => 0.0,
                };
                let point = &mut self.points[index];
                for c in 0..3 {
                    let s = &point.slope[c];
                    point.centre[c] = point.l[c]
                        - s[0] * point.du[0]
                        - s[1] * point.du[1]
                        - s[2] * point.du[2]
                        - point.by_normal[c] * by;
                    point.u[c] += point.du[c];
                }
            }
        }
        false
    }

    fn linearise(&mut self, problem: &Problem) -> f64 {
        self.rest.clone_from(&self.w);
        let mut lack = 0.0f64;
        for (index, block) in problem.blocks.iter().enumerate() {
            let normal = match block.law {
                Law::Disc { normal, radius, .. } => {
                    let of = &self.points[normal];
                    [radius * of.centre[0], radius * of.l[0], radius * of.slope[0][0]]
                }
                _ => [0.0; 3],
            };
            let point = &mut self.points[index];
            lack = lack.max(point.linearise(block, normal));
            let l = point.l;
            if l != [0.0; 3] {
                let range = block.start..block.start + block.length;
                for (y, &index) in problem.columns[range.clone()].iter().zip(&problem.index[range]) {
                    self.rest[index as usize] -= y[0] * l[0] + y[1] * l[1] + y[2] * l[2];
                }
            }
        }
        lack
    }
}

impl Point {
    fn linearise(&mut self, block: &Block, bound: [f64; 3]) -> f64 {
        (self.l, self.slope, self.by_normal) = ([0.0; 3], [[0.0; 3]; 3], [0.0; 3]);
        if !(self.yielding[0] > 0.0) {
            return 0.0;
        }
        let (a, l) = (&block.cone.a, self.centre);
        let v: [f64; 3] = std::array::from_fn(|c| self.u[c] + block.compliance[c] * l[c]);
        let free: [f64; 3] = std::array::from_fn(|c| (self.resistance[c] * l[c] - self.u[c]) * self.yielding[c]);
        let first = self.yielding[0];
        match block.law {
            Law::Interval { low, high } => {
                let z = l[0] - v[0] / a[0];
                let next = z.clamp(low, high);
                (self.l[0], self.slope[0][0]) = if z == next { (free[0], first) } else { (next, 0.0) };
                (l[0] - next).abs() * a[0]
            }
            Law::Cone => {
                let normal = l[0] - v[0] / a[0];
                if normal <= 0.0 {
                    return l[0].abs().max(l[1].abs()).max(l[2].abs()) * a[0];
                }
                (self.l[0], self.slope[0][0]) = (free[0], first);
                let mut lack = v[0].abs();
                if block.cone.friction {
                    let rho = 2.0 / (a[3] + a[5]);
                    lack = lack.max(self.brake(1, 2, [free[1], free[2]], [v[1], v[2]], rho, [normal, free[0], first], true));
                }
                lack
            }
            Law::Disc { rows, .. } => {
                let rho = if rows > 1 { 2.0 / (a[0] + a[3]) } else { 1.0 / a[0] };
                self.brake(0, rows, [free[0], free[1]], [v[0], if rows > 1 { v[1] } else { 0.0 }], rho, bound, false)
            }
        }
    }

    /// rows from `k` on.
    fn brake(&mut self, k: usize, rows: usize, free: [f64; 2], v: [f64; 2], rho: f64, [radius, base, slope]: [f64; 3], own: bool) -> f64 {
        let l = [self.centre[k], if rows > 1 { self.centre[k + 1] } else { 0.0 }];
        let z = [l[0] - rho * v[0], l[1] - rho * v[1]];
        let radius = radius.max(0.0);
        let near = on_disc(z, radius);
        let lack = (l[0] - near[0]).abs().max((l[1] - near[1]).abs()) / rho;
        let length = (z[0] * z[0] + z[1] * z[1]).sqrt();
        if length <= radius {
            for i in 0..rows {
                self.l[k + i] = free[i];
                self.slope[k + i][k + i] = self.yielding[k + i];
            }
            return lack;
        }
        let d = [z[0] / length, z[1] / length];
        let across = [-d[1], d[0]];
        let keep = 1.0 - rho / self.yielding[k];
        let rest = length - radius * keep;
        let along_old = l[0] * across[0] + l[1] * across[1];
        let size = (l[0] * l[0] + l[1] * l[1]).sqrt().max(radius);
        let along_old = if super::param("HW",0.0)>0.0 { along_old*radius/size.max(1e-300) } else {along_old};
        let (side, s) = if rows > 1 { (-radius * keep * along_old / rest, radius * rho / rest) } else { (0.0, 0.0) };
        for i in 0..rows {
            self.l[k + i] = base * d[i] + side * across[i];
            if own {
                self.slope[k + i][0] = slope * d[i];
            } else {
                self.by_normal[i] = slope * d[i];
            }
            for j in 0..rows {
                self.slope[k + i][k + j] += s * across[i] * across[j];
            }
        }
        lack
    }
}
