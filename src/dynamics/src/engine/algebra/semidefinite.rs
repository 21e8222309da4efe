//! Symmetric positive semidefinite equations, some of which may be linearly dependent, as when several rows of joints
//! constrain the same motion. The solution is the one with the smallest sum of squares.
//!
//! Cholesky's factor is computed with pivoting: next is the row with the largest remaining fraction, P A Pᵀ = L D Lᵀ
//! (Higham 2002, 10.3). The remaining dependent rows are combinations C of those before. With y, which solves the
//! independent rows alone, the smallest solution is x_N = (1 + C Cᵀ)⁻¹ C y, x_B = y - Cᵀ x_N.

use super::elimination::eliminate;

/// Remaining fraction of a row below which it counts as dependent. It lies between rounding, some 1e-16 for each
/// operation, and the fraction left by links that are 1e-4 rad from a dead point.
const MIN_INDEPENDENT_FRACTION: f64 = 1e-10;

/// The equations. Kept between steps only to reuse its memory.
#[derive(Debug, Default)]
pub(crate) struct System {
    count: usize,
    /// The matrix, then its factor.
    entries: Vec<f64>,
    /// Diagonal of the matrix.
    diagonal: Vec<f64>,
    /// Rows in the order of elimination. Rows after the first `rank` are dependent on those before.
    order: Vec<usize>,
    rank: usize,
    /// C, with a row of `rank` entries for each dependent row that is not zero. These come first among the dependent
    /// rows.
    combinations: Vec<f64>,
    /// 1 + C Cᵀ, with a right-hand side as the last column.
    gram: Vec<f64>,
    x: Vec<f64>,
}

impl System {
    /// Sets the matrix, whose entries on the diagonal and below are given by `entry`, and factors it.
    pub(crate) fn set(&mut self, count: usize, entry: impl Fn(usize, usize) -> f64) {
        let Self { entries, order, diagonal, .. } = self;
        entries.clear();
        entries.resize(count * count, 0.0);
        for (row, column) in (0..count).flat_map(|row| (0..=row).map(move |column| (row, column))) {
            entries[row * count + column] = entry(row, column);
            entries[column * count + row] = entries[row * count + column];
        }
        order.clear();
        order.extend(0..count);
        diagonal.clear();
        diagonal.extend((0..count).map(|row| entries[row * count + row]));
        (self.count, self.rank) = (count, 0);
        while self.rank < count && self.eliminate_row() {
            self.rank += 1;
        }
        self.find_combinations();
    }

    /// Eliminates the row with the largest remaining fraction. Returns false if none has enough left.
    fn eliminate_row(&mut self) -> bool {
        let (n, rank) = (self.count, self.rank);
        let left = |row: usize| self.entries[row * n + row] / self.diagonal[row].max(f64::MIN_POSITIVE);
        let rest = (rank..n).map(|place| (left(self.order[place]), place));
        let largest = rest.reduce(|a, b| if b.0 > a.0 { b } else { a });
        let Some((_, place)) = largest.filter(|(share, _)| *share > MIN_INDEPENDENT_FRACTION) else { return false };
        self.order.swap(rank, place);
        let pivot = self.order[rank];
        let reciprocal = 1.0 / self.entries[pivot * n + pivot];
        for &row in &self.order[rank + 1..] {
            let factor = self.entries[row * n + pivot] * reciprocal;
            for &column in &self.order[rank + 1..] {
                self.entries[row * n + column] -= factor * self.entries[pivot * n + column];
            }
            self.entries[row * n + pivot] = factor;
        }
        true
    }

    /// Computes the dependent rows as combinations of the independent ones.
    fn find_combinations(&mut self) {
        let Self { count, entries, diagonal, order, rank, combinations, .. } = self;
        let (n, rank) = (*count, *rank);
        combinations.clear();
        order[rank..].sort_unstable_by_key(|&row| (!(diagonal[row] > 0.0), row));
        for &row in order[rank..].iter().take_while(|row| diagonal[**row] > 0.0) {
            let start = combinations.len();
            combinations.resize(start + rank, 0.0);
            let own = &mut combinations[start..];
            for k in (0..rank).rev() {
                let behind = order[k + 1..rank].iter().zip(&own[k + 1..]);
                let known: f64 = behind.map(|(&later, c)| entries[later * n + order[k]] * c).sum();
                own[k] = entries[row * n + order[k]] - known;
            }
        }
    }

    /// Solves for this right-hand side.
    pub(crate) fn solve(&mut self, right: impl Fn(usize) -> f64) {
        let Self { count, entries, order, rank, x, .. } = self;
        let (n, order) = (*count, &order[..*rank]);
        x.clear();
        x.resize(n, 0.0);
        order.iter().for_each(|&row| x[row] = right(row));
        for (k, &pivot) in order.iter().enumerate() {
            for &row in &order[k + 1..] {
                x[row] -= entries[row * n + pivot] * x[pivot];
            }
        }
        for (k, &pivot) in order.iter().enumerate().rev() {
            let known: f64 = order[k + 1..].iter().map(|&row| entries[row * n + pivot] * x[row]).sum();
            x[pivot] = x[pivot] / entries[pivot * n + pivot] - known;
        }
        if !self.combinations.is_empty() {
            self.minimise_norm();
        }
    }

    /// Replaces the solution by the smallest one.
    fn minimise_norm(&mut self) {
        let Self { order, rank, combinations, gram, x, .. } = self;
        let (independent, dependent) = order.split_at(*rank);
        let rows = combinations.chunks_exact(*rank);
        let dot = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
        gram.clear();
        for (k, row) in rows.clone().enumerate() {
            gram.extend(rows.clone().enumerate().map(|(j, other)| f64::from(j == k) + dot(row, other)));
            gram.push(row.iter().zip(independent).map(|(c, &place)| c * x[place]).sum());
        }
        let count = rows.len();
        if !eliminate(gram, count) {
            return;
        }
        for (k, row) in rows.enumerate() {
            let effort = gram[k * (count + 1) + count];
            x[dependent[k]] = effort;
            row.iter().zip(independent).for_each(|(c, &place)| x[place] -= c * effort);
        }
    }

    /// The last solution.
    pub(crate) fn solution(&self) -> &[f64] {
        &self.x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use simpartner_model::random::Stream;

    /// Random rows, some of which are combinations of others, duplicates, or zero. The equations hold, and the solution
    /// is a combination of the rows of the matrix, so it is the smallest.
    #[test]
    fn equations_that_follow_from_others_have_the_smallest_solution() {
        let mut random = Stream::from_number(1);
        let mut system = System::default();
        for _ in 0..300 {
            let (count, width) = (1 + random.below(12), 1 + random.below(8));
            let mut rows: Vec<Vec<f64>> = Vec::new();
            for k in 0..count {
                let row = match random.below(4) {
                    0 if k > 1 => (0..width).map(|i| 2.0 * rows[0][i] - rows[k - 1][i]).collect(),
                    1 if k > 0 => rows[k - 1].clone(),
                    2 if k % 3 == 0 => vec![0.0; width],
                    _ => (0..width).map(|_| random.between(-1.0, 1.0)).collect(),
                };
                rows.push(row);
            }
            let dot = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
            let matrix = |row: usize, column: usize| dot(&rows[row], &rows[column]);
            let wanted: Vec<f64> = (0..width).map(|_| random.between(-1.0, 1.0)).collect();
            // A right-hand side with a solution that is itself a combination of the matrix's rows.
            let combination: Vec<f64> = rows.iter().map(|row| dot(row, &wanted)).collect();
            let smallest: Vec<f64> =
                (0..count).map(|row| (0..count).map(|k| matrix(row, k) * combination[k]).sum()).collect();
            let right: Vec<f64> =
                (0..count).map(|row| (0..count).map(|k| matrix(row, k) * smallest[k]).sum()).collect();
            system.set(count, matrix);
            system.solve(|row| right[row]);
            let size = smallest.iter().fold(1e-3f64, |size, x| size.max(x.abs()));
            for (found, wanted) in system.solution().iter().zip(&smallest) {
                assert!((found - wanted).abs() < 1e-5 * size, "{rows:?}: {:?} for {smallest:?}", system.solution());
            }
        }
    }
}
