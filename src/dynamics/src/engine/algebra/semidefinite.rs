//! Symmetric equations of which some may follow from others, as where several rows of joints hold one thing: of all
//! solutions the smallest, by the sum of squares.
//!
//! Cholesky's factor is taken by the row of which the largest share is left, P A Pᵀ = L D Lᵀ (Higham 2002, 10.3). The
//! rows that are left over are combinations C of those before; with y, which solves those alone, the smallest solution
//! is x_N = (1 + C Cᵀ)⁻¹ C y, x_B = y - Cᵀ x_N.

use super::elimination::eliminate;

/// A row follows from others if no more than this share of it is left without them: between rounding, some 1e-16 for
/// each operation, and what is held by links that stand at 1e-4 rad from a dead point.
const RANK: f64 = 1e-10;

/// The equations. Kept from step to step for its memory only.
#[derive(Debug, Default)]
pub(crate) struct System {
    count: usize,
    /// The matrix, then its factor.
    entries: Vec<f64>,
    /// Its diagonal as it was.
    diagonal: Vec<f64>,
    /// The rows in the order of elimination; those behind `rank` follow from those before.
    order: Vec<usize>,
    rank: usize,
    /// C, a row of `rank` entries for each that follows from others and is not zero, which come first of them.
    combinations: Vec<f64>,
    /// 1 + C Cᵀ, and beside it a right side.
    gram: Vec<f64>,
    x: Vec<f64>,
}

impl System {
    /// Sets the matrix, of which the entries are asked for whose column is not behind their row, and factors it.
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
        while self.rank < count && self.eliminate() {
            self.rank += 1;
        }
        self.combine();
    }

    /// Eliminates the row of which the largest share is left. False if none has any.
    fn eliminate(&mut self) -> bool {
        let (n, rank) = (self.count, self.rank);
        let left = |row: usize| self.entries[row * n + row] / self.diagonal[row].max(f64::MIN_POSITIVE);
        let rest = (rank..n).map(|place| (left(self.order[place]), place));
        let largest = rest.reduce(|a, b| if b.0 > a.0 { b } else { a });
        let Some((_, place)) = largest.filter(|(share, _)| *share > RANK) else { return false };
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

    /// The rows that follow from others as combinations of those.
    fn combine(&mut self) {
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

    /// Solves for this right side.
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
            self.share();
        }
    }

    /// Goes on to the smallest solution.
    fn share(&mut self) {
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

    /// The solution that was found last.
    pub(crate) fn solution(&self) -> &[f64] {
        &self.x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use simpartner_model::random::Stream;

    /// Rows at random, some of which are combinations of others, twice, or zero. The equations hold, and nothing can be
    /// added to the solution that they do not see: it is a combination of the rows of the matrix.
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
            // A right side that has a solution, which is a combination of the matrix's rows itself.
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
