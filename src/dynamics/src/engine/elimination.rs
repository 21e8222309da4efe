//! Linear systems over unknowns that come in groups, each coupled to few others: Gaussian elimination group by group.
//!
//! The groups are the trees of an island; what couples two of them is a contact or a loop joint. Eliminating a group couples all
//! its neighbours, so those with the fewest go first (minimum degree, Tinney and Walker 1967). A chain of n bodies then costs n
//! times what one does, where dense elimination would cost n³ times. Within a group rows are exchanged for the largest pivot.

/// What eliminating a group leaves of its equations, as dense blocks one after the other: its own square, its rows over the groups
/// eliminated later, and their rows over it.
#[derive(Debug, Clone, Copy, Default)]
struct Front {
    start: usize,
    /// Unknowns of the group, and of all later ones it is coupled to.
    size: usize,
    width: usize,
}

impl Front {
    fn rows(&self) -> usize {
        self.start + self.size * self.size
    }

    fn columns(&self) -> usize {
        self.rows() + self.size * self.width
    }

    fn end(&self) -> usize {
        self.columns() + self.size * self.width
    }
}

/// Where the coefficients of one group's equations in another group's unknowns are: the first, and from row to row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    pub(super) start: usize,
    pub(super) stride: usize,
}

/// A system of equations, with its memory.
#[derive(Debug, Default)]
pub(super) struct Elimination {
    /// First unknown of each group, and the end of the last.
    starts: Vec<usize>,
    /// Of each group, those it is coupled to; once they are ordered, only those that come later, in order, with the places of
    /// their unknowns in its front.
    neighbours: Vec<Vec<(u32, u32)>>,
    order: Vec<u32>,
    /// Of each group, its place in the order.
    place: Vec<u32>,
    fronts: Vec<Front>,
    pub(super) entries: Vec<f64>,
    merged: Vec<(u32, u32)>,
    product: Vec<f64>,
}

/// Not in the order yet.
const NOWHERE: u32 = u32::MAX;

impl Elimination {
    /// Begins anew with groups that start at these unknowns, the last being their end.
    pub(super) fn begin(&mut self, starts: &[usize]) {
        self.starts.clear();
        self.starts.extend_from_slice(starts);
        let count = starts.len() - 1;
        if self.neighbours.len() < count {
            self.neighbours.resize_with(count, Vec::new);
        }
        self.neighbours[..count].iter_mut().for_each(Vec::clear);
    }

    /// Couples two groups.
    pub(super) fn couple(&mut self, a: usize, b: usize) {
        if a != b {
            for (one, other) in [(a, b), (b, a)] {
                let other = (to_u32(other), 0);
                if let Err(place) = self.neighbours[one].binary_search(&other) {
                    self.neighbours[one].insert(place, other);
                }
            }
        }
    }

    /// Finds the order of the groups. Returns how many multiplications the elimination needs.
    pub(super) fn order(&mut self) -> f64 {
        let count = self.starts.len() - 1;
        let size = |starts: &[usize], group: usize| starts[group + 1] - starts[group];
        self.order.clear();
        self.place.clear();
        self.place.resize(count, NOWHERE);
        let mut neighbours = std::mem::take(&mut self.neighbours);
        for place in 0..count {
            let waiting = (0..count).filter(|&group| self.place[group] == NOWHERE);
            let Some(next) = waiting.min_by_key(|&group| neighbours[group].len()) else { break };
            self.place[next] = to_u32(place);
            self.order.push(to_u32(next));
            let own = std::mem::take(&mut neighbours[next]);
            for &(other, _) in &own {
                let other = other as usize;
                unite(&mut neighbours[other], &own, [to_u32(next), to_u32(other)], &mut self.merged);
            }
            neighbours[next] = own;
        }
        let (mut start, mut cost) = (0, 0.0);
        self.fronts.clear();
        for (group, own) in neighbours[..count].iter_mut().enumerate() {
            own.sort_unstable_by_key(|&(other, _)| self.place[other as usize]);
            let mut width = 0;
            for (other, at) in own {
                *at = to_u32(width);
                width += size(&self.starts, *other as usize);
            }
            let front = Front { start, size: size(&self.starts, group), width };
            start = front.end();
            self.fronts.push(front);
            let (n, m) = (front.size as f64, front.width as f64);
            cost += n * (n * n / 3.0 + n * m + m * m);
        }
        self.neighbours = neighbours;
        cost
    }

    /// Sets all coefficients to those of the unit matrix.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.entries.resize(self.fronts.last().map_or(0, Front::end), 0.0);
        for front in &self.fronts {
            (0..front.size).for_each(|k| self.entries[front.start + k * (front.size + 1)] = 1.0);
        }
    }

    /// The coefficients of the equations of group `of` in the unknowns of group `by`, which are coupled or the same.
    pub(super) fn block(&self, of: usize, by: usize) -> Block {
        let at = |first: usize, second: usize| {
            let second = to_u32(second);
            let found = self.neighbours[first].iter().find(|&&(other, _)| other == second);
            found.map_or(0, |&(_, at)| at as usize)
        };
        if of == by {
            let front = self.fronts[of];
            Block { start: front.start, stride: front.size }
        } else if self.place[of] < self.place[by] {
            let front = self.fronts[of];
            Block { start: front.rows() + at(of, by), stride: front.width }
        } else {
            let front = self.fronts[by];
            Block { start: front.columns() + at(by, of) * front.size, stride: front.size }
        }
    }

    /// Solves for the right side, which the solution replaces. False if the matrix is singular or not finite.
    pub(super) fn solve(&mut self, right: &mut [f64]) -> bool {
        for place in 0..self.order.len() {
            let group = self.order[place] as usize;
            if !self.reduce(group, right) {
                return false;
            }
            self.update(group, right);
        }
        for &group in self.order.iter().rev() {
            let (front, first) = (self.fronts[group as usize], self.starts[group as usize]);
            for &(other, at) in &self.neighbours[group as usize] {
                let (from, to) = (self.starts[other as usize], self.starts[other as usize + 1]);
                for k in 0..front.size {
                    let row = &self.entries[front.rows() + k * front.width + at as usize..][..to - from];
                    right[first + k] -= row.iter().zip(&right[from..to]).map(|(a, x)| a * x).sum::<f64>();
                }
            }
        }
        right.iter().all(|x| x.is_finite())
    }

    /// Solves the equations of a group for its own unknowns, in terms of the later ones.
    fn reduce(&mut self, group: usize, right: &mut [f64]) -> bool {
        let Front { start, size: n, width: m } = self.fronts[group];
        let (own, rows) = self.entries[start..start + n * n + n * m].split_at_mut(n * n);
        let right = &mut right[self.starts[group]..][..n];
        for c in 0..n {
            let pivot =
                (c + 1..n).fold(c, |best, r| if own[r * n + c].abs() > own[best * n + c].abs() { r } else { best });
            if !(own[pivot * n + c].abs() > 1e-300) {
                return false;
            }
            if pivot != c {
                (c..n).for_each(|k| own.swap(c * n + k, pivot * n + k));
                (0..m).for_each(|k| rows.swap(c * m + k, pivot * m + k));
                right.swap(c, pivot);
            }
            let reciprocal = 1.0 / own[c * n + c];
            for r in c + 1..n {
                let factor = own[r * n + c] * reciprocal;
                if factor != 0.0 {
                    subtract(own, r * n + c, c * n + c, n - c, factor);
                    subtract(rows, r * m, c * m, m, factor);
                    right[r] -= factor * right[c];
                }
            }
        }
        for r in (0..n).rev() {
            let reciprocal = 1.0 / own[r * n + r];
            rows[r * m..][..m].iter_mut().for_each(|x| *x *= reciprocal);
            right[r] *= reciprocal;
            for k in 0..r {
                let factor = own[k * n + r];
                if factor != 0.0 {
                    subtract_before(rows, k * m, r * m, m, factor);
                    right[k] -= factor * right[r];
                }
            }
        }
        true
    }

    /// Takes a group's unknowns out of the equations of the later ones.
    fn update(&mut self, group: usize, right: &mut [f64]) {
        let front @ Front { size: n, width: m, .. } = self.fronts[group];
        let own = self.starts[group]..self.starts[group] + n;
        let neighbours = std::mem::take(&mut self.neighbours[group]);
        let mut product = std::mem::take(&mut self.product);
        product.resize(m, 0.0);
        for &(i, row) in &neighbours {
            let (i, row) = (i as usize, row as usize);
            for r in 0..self.starts[i + 1] - self.starts[i] {
                let factors = front.columns() + (row + r) * n;
                let factors = &self.entries[factors..factors + n];
                let sum: f64 = factors.iter().zip(&right[own.clone()]).map(|(a, x)| a * x).sum();
                right[self.starts[i] + r] -= sum;
                product.fill(0.0);
                for (k, &factor) in factors.iter().enumerate().filter(|(_, factor)| **factor != 0.0) {
                    add_product(&mut product, &self.entries[front.rows() + k * m..][..m], factor);
                }
                for &(j, column) in &neighbours {
                    let (j, column) = (j as usize, column as usize);
                    let Block { start, stride } = self.block(i, j);
                    let count = self.starts[j + 1] - self.starts[j];
                    let target = &mut self.entries[start + r * stride..][..count];
                    target.iter_mut().zip(&product[column..]).for_each(|(x, y)| *x -= y);
                }
            }
        }
        self.product = product;
        self.neighbours[group] = neighbours;
    }
}

/// Gaussian elimination with partial pivoting; the solution replaces the last column. False if it is singular or
/// not finite.
pub(super) fn eliminate(matrix: &mut [f64], count: usize) -> bool {
    let width = count + 1;
    for c in 0..count {
        let mut pivot = c;
        for r in c + 1..count {
            if matrix[r * width + c].abs() > matrix[pivot * width + c].abs() {
                pivot = r;
            }
        }
        if !(matrix[pivot * width + c].abs() > 1e-300) {
            return false;
        }
        if pivot != c {
            for k in 0..width {
                matrix.swap(c * width + k, pivot * width + k);
            }
        }
        let (top, below) = matrix.split_at_mut((c + 1) * width);
        let pivot_row = &top[c * width..];
        let reciprocal = 1.0 / pivot_row[c];
        for row in below.chunks_exact_mut(width) {
            let factor = row[c] * reciprocal;
            if factor != 0.0 {
                for (entry, above) in row[c..].iter_mut().zip(&pivot_row[c..]) {
                    *entry -= factor * above;
                }
            }
        }
    }
    for r in (0..count).rev() {
        let mut sum = matrix[r * width + count];
        for c in r + 1..count {
            sum -= matrix[r * width + c] * matrix[c * width + count];
        }
        matrix[r * width + count] = sum / matrix[r * width + r];
    }
    (0..count).all(|r| matrix[r * width + count].is_finite())
}

fn add_product(target: &mut [f64], source: &[f64], factor: f64) {
    target.iter_mut().zip(source).for_each(|(x, y)| *x += factor * y);
}

/// Subtracts `factor` times the numbers from `from` on from those from `to` on, which lie behind them.
fn subtract(numbers: &mut [f64], to: usize, from: usize, count: usize, factor: f64) {
    let (head, tail) = numbers.split_at_mut(to);
    add_product(&mut tail[..count], &head[from..from + count], -factor);
}

/// The same where they lie before them.
fn subtract_before(numbers: &mut [f64], to: usize, from: usize, count: usize, factor: f64) {
    let (head, tail) = numbers.split_at_mut(from);
    add_product(&mut head[to..to + count], &tail[..count], -factor);
}

/// Adds the members of a sorted list to another, and takes two out.
fn unite(list: &mut Vec<(u32, u32)>, others: &[(u32, u32)], out: [u32; 2], memory: &mut Vec<(u32, u32)>) {
    memory.clear();
    let (mut one, mut two) = (list.iter().copied().peekable(), others.iter().copied().peekable());
    loop {
        let next = match (one.peek(), two.peek()) {
            (Some(a), Some(b)) if a == b => {
                two.next();
                one.next()
            }
            (Some(a), Some(b)) if a > b => two.next(),
            (Some(_), _) => one.next(),
            (None, _) => two.next(),
        };
        let Some(next) = next else { break };
        if !out.contains(&next.0) {
            memory.push(next);
        }
    }
    // A copy, since lists that change places have no bound to what they grow.
    list.clone_from(memory);
}

fn to_u32(number: usize) -> u32 {
    u32::try_from(number).expect("fewer unknowns than a u32 counts")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Systems of up to twelve groups of up to seven unknowns, coupled at random and not symmetric: the solution fulfils every
    /// equation. A chain costs as many times more as it is longer.
    #[test]
    fn solutions_fulfil_all_equations() {
        let mut state = 3u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut elimination = Elimination::default();
        for round in 0..300 {
            let count = 1 + (next() * 12.0) as usize;
            let mut starts = vec![0];
            (0..count).for_each(|group| starts.push(starts[group] + 1 + (next() * 7.0) as usize));
            elimination.begin(&starts);
            let pairs = (0..count).flat_map(|a| (0..a).map(move |b| (a, b)));
            let mut pairs: Vec<(usize, usize)> = pairs.filter(|_| next() < 0.3).collect();
            pairs.iter().for_each(|&(a, b)| elimination.couple(a, b));
            elimination.order();
            elimination.clear();
            let unknowns = starts[count];
            let mut matrix: Vec<f64> = (0..unknowns * unknowns).map(|k| f64::from(k % (unknowns + 1) == 0)).collect();
            pairs.extend((0..count).map(|group| (group, group)));
            let mirrored: Vec<_> = pairs.iter().filter(|(a, b)| a != b).map(|&(a, b)| (b, a)).collect();
            pairs.extend(mirrored);
            for &(of, by) in &pairs {
                let block = elimination.block(of, by);
                for i in 0..starts[of + 1] - starts[of] {
                    for j in 0..starts[by + 1] - starts[by] {
                        let value = next() - 0.5 + if of == by && i == j { 6.0 } else { 0.0 };
                        elimination.entries[block.start + i * block.stride + j] += value;
                        matrix[(starts[of] + i) * unknowns + starts[by] + j] += value;
                    }
                }
            }
            let right: Vec<f64> = (0..unknowns).map(|_| next() - 0.5).collect();
            let mut solution = right.clone();
            assert!(elimination.solve(&mut solution), "system {round} is regular");
            for (row, right) in matrix.chunks(unknowns).zip(&right) {
                let left: f64 = row.iter().zip(&solution).map(|(a, x)| a * x).sum();
                assert!((left - right).abs() < 1e-12, "system {round}: {left} for {right}");
            }
        }
        let mut chain = |count: usize| {
            elimination.begin(&(0..=count).map(|group| 6 * group).collect::<Vec<_>>());
            (1..count).for_each(|group| elimination.couple(group - 1, group));
            elimination.order()
        };
        let (short, long) = (chain(100), chain(1000));
        assert!(long < 10.1 * short && short > 0.0, "{short} {long}");
    }
}
