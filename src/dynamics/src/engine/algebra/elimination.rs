//! Linear systems over groups of unknowns, each coupled to few others: Gaussian elimination group by group.
//!
//! The groups are the trees of an island; a contact or a loop joint couples two of them. Eliminating a group couples
//! all its neighbours, so groups with the fewest neighbours go first (minimum degree, Tinney and Walker 1967). A chain
//! of n bodies then costs n times as much as one body, where dense elimination would cost n³ times as much. Within a
//! group, rows are exchanged for the largest pivot.

mod dense;

use std::{cmp::Reverse, collections::BinaryHeap};

use dense::{MIN_PIVOT, factorise, solve_factorised, substitute, subtract_product, subtract_times};

pub(crate) use dense::{BODY_DOFS, dot};

/// Equations of an eliminated group, as consecutive dense blocks: its own square, its rows over each of the groups
/// eliminated later, and their rows over it.
#[derive(Debug, Clone, Copy, Default)]
struct Front {
    start: usize,
    /// Number of unknowns of the group, and of all later groups that it is coupled to.
    size: usize,
    width: usize,
    /// Start of its entries in [`Elimination::targets`].
    targets: usize,
}

impl Front {
    /// Start of its rows over a later group, whose unknowns come after `at` of others.
    fn rows(&self, at: u32) -> usize {
        self.start + self.size * (self.size + at as usize)
    }

    /// Start of the rows of that group over it.
    fn columns(&self, at: u32) -> usize {
        self.rows(at) + self.size * self.width
    }

    fn end(&self) -> usize {
        self.start + self.size * (self.size + 2 * self.width)
    }
}

/// A system of equations, with its buffers.
#[derive(Debug, Default)]
pub(crate) struct Elimination {
    /// First unknown of each group, and the end of the last.
    starts: Vec<usize>,
    /// Groups that each group is coupled to. Once the groups are ordered, only the later ones, in order, with the
    /// positions of their unknowns in the group's front.
    neighbours: Vec<Vec<(u32, u32)>>,
    order: Vec<u32>,
    /// Queue of present and past numbers of neighbours with their groups, used while the groups are ordered.
    queue: BinaryHeap<Reverse<(usize, u32)>>,
    /// Position of each group in the order.
    place: Vec<u32>,
    /// Front of each group. Their blocks are stored in the order of elimination.
    fronts: Vec<Front>,
    /// For each pair of later neighbours of a group, the position of the second in the front of the first.
    targets: Vec<u32>,
    /// Coefficients of all fronts.
    pub(crate) entries: Vec<f64>,
    merged: Vec<(u32, u32)>,
    pivots: Vec<usize>,
}

/// Marker of a group that is not in the order yet.
const UNORDERED: u32 = u32::MAX;

impl Elimination {
    /// Starts a system of groups whose first unknowns are `starts`; the last entry is the end of the last group.
    pub(crate) fn start(&mut self, starts: &[usize]) {
        self.starts.clear();
        self.starts.extend_from_slice(starts);
        let count = starts.len() - 1;
        if self.neighbours.len() < count {
            self.neighbours.resize_with(count, Vec::new);
        }
        self.neighbours[..count].iter_mut().for_each(Vec::clear);
    }

    /// Couples two groups.
    pub(crate) fn couple_groups(&mut self, a: usize, b: usize) {
        if a != b {
            for (one, other) in [(a, b), (b, a)] {
                let other = (to_u32(other), 0);
                if let Err(place) = self.neighbours[one].binary_search(&other) {
                    self.neighbours[one].insert(place, other);
                }
            }
        }
    }

    /// Orders the groups. Returns the number of multiplications of an elimination.
    pub(crate) fn order_groups(&mut self) -> f64 {
        let count = self.starts.len() - 1;
        self.order.clear();
        self.place.clear();
        self.place.resize(count, UNORDERED);
        let mut neighbours = std::mem::take(&mut self.neighbours);
        self.queue.clear();
        self.queue.extend((0..count).map(|group| Reverse((neighbours[group].len(), to_u32(group)))));
        while let Some(Reverse((degree, group))) = self.queue.pop() {
            let next = group as usize;
            if self.place[next] != UNORDERED || degree != neighbours[next].len() {
                continue;
            }
            self.place[next] = to_u32(self.order.len());
            self.order.push(group);
            let own = std::mem::take(&mut neighbours[next]);
            for &(number, _) in &own {
                let other = &mut neighbours[number as usize];
                merge_sorted(other, &own, [group, number], &mut self.merged);
                self.queue.push(Reverse((other.len(), number)));
            }
            neighbours[next] = own;
        }
        self.neighbours = neighbours;
        let cost = self.lay_out();
        self.find_targets();
        cost
    }

    /// Lays out the fronts of the groups. Returns the number of multiplications of an elimination.
    fn lay_out(&mut self) -> f64 {
        let (mut start, mut cost) = (0, 0.0);
        self.fronts.clear();
        self.fronts.resize(self.order.len(), Front::default());
        for &group in &self.order {
            let size = |group: usize| self.starts[group + 1] - self.starts[group];
            let own = &mut self.neighbours[group as usize];
            own.sort_unstable_by_key(|&(other, _)| self.place[other as usize]);
            let mut width = 0;
            for (other, at) in own {
                *at = to_u32(width);
                width += size(*other as usize);
            }
            let front = Front { start, size: size(group as usize), width, targets: 0 };
            start = front.end();
            self.fronts[group as usize] = front;
            let (n, m) = (front.size as f64, front.width as f64);
            cost += n * (n * n / 3.0 + n * m + m * m);
        }
        cost
    }

    /// Finds the positions of the products of an elimination: it couples the later neighbours of a group to each other.
    fn find_targets(&mut self) {
        self.targets.clear();
        for (own, front) in self.neighbours.iter().zip(&mut self.fronts) {
            front.targets = self.targets.len();
            for (k, &(first, _)) in own.iter().enumerate() {
                let mut coupled = self.neighbours[first as usize].iter();
                for &(second, _) in &own[k + 1..] {
                    let at = coupled.find(|&&(other, _)| other == second).map_or(0, |&(_, at)| at);
                    self.targets.push(at);
                }
            }
        }
    }

    /// True if two groups are the same or coupled, by themselves or by the elimination of others before them.
    pub(crate) fn is_coupled(&self, [a, b]: [usize; 2]) -> bool {
        let (first, second) = if self.place[a] < self.place[b] { (a, b) } else { (b, a) };
        a == b || self.neighbours[first].iter().any(|&(other, _)| other == to_u32(second))
    }

    /// Sets all coefficients to those of the unit matrix.
    pub(crate) fn clear(&mut self) {
        let last = self.order.last().map(|&group| self.fronts[group as usize]);
        self.entries.clear();
        self.entries.resize(last.map_or(0, |front| front.end()), 0.0);
        for front in &self.fronts {
            (0..front.size).for_each(|k| self.entries[front.start + k * (front.size + 1)] = 1.0);
        }
    }

    /// Start of the coefficients of group `of`'s equations in the unknowns of group `by`, row by row. The groups must
    /// be coupled or the same.
    pub(crate) fn block(&self, of: usize, by: usize) -> usize {
        let at = |first: usize, second: usize| {
            let second = to_u32(second);
            let found = self.neighbours[first].iter().find(|&&(other, _)| other == second);
            found.map_or(0, |&(_, at)| at)
        };
        if of == by {
            self.fronts[of].start
        } else if self.place[of] < self.place[by] {
            self.fronts[of].rows(at(of, by))
        } else {
            self.fronts[by].columns(at(by, of))
        }
    }

    /// Solves for the right-hand side, which the solution replaces. Returns false if the matrix is singular or not
    /// finite.
    pub(crate) fn solve(&mut self, right: &mut [f64]) -> bool {
        for place in 0..self.order.len() {
            let group = self.order[place] as usize;
            if !self.solve_group(group, right) {
                return false;
            }
            self.eliminate_from_later(group, right);
        }
        for &group in self.order.iter().rev() {
            let (front, first) = (self.fronts[group as usize], self.starts[group as usize]);
            for &(other, at) in &self.neighbours[group as usize] {
                let (from, size) = (self.starts[other as usize], self.fronts[other as usize].size);
                subtract_times(right, first, &self.entries[front.rows(at)..], from, [front.size, size]);
            }
        }
        right.iter().all(|x| x.is_finite())
    }

    /// Solves the equations of a group for its own unknowns, in terms of the later ones.
    fn solve_group(&mut self, group: usize, right: &mut [f64]) -> bool {
        let front @ Front { start, size, .. } = self.fronts[group];
        let (own, rows) = self.entries[start..front.columns(0)].split_at_mut(size * size);
        if !factorise(own, size, &mut self.pivots) {
            return false;
        }
        let mut rows = rows;
        for &(other, _) in &self.neighbours[group] {
            let columns = self.starts[other as usize + 1] - self.starts[other as usize];
            let (block, rest) = rows.split_at_mut(size * columns);
            substitute(own, &self.pivots, block, [size, columns]);
            rows = rest;
        }
        solve_factorised(own, &self.pivots, &mut right[self.starts[group]..][..size]);
        true
    }

    /// Eliminates a group's unknowns from the equations of the later ones.
    fn eliminate_from_later(&mut self, group: usize, right: &mut [f64]) {
        let front @ Front { size: n, .. } = self.fronts[group];
        let (own, later) = self.entries.split_at_mut(front.end());
        let neighbours = &self.neighbours[group];
        let mut targets = self.targets[front.targets..].iter();
        for (k, &(i, at)) in neighbours.iter().enumerate() {
            let (first, target) = (self.starts[i as usize], self.fronts[i as usize]);
            let size = target.size;
            let mut put = |to: usize, rows: u32, columns: u32, [height, width]: [usize; 2]| {
                let product = [&own[front.columns(rows)..], &own[front.rows(columns)..]];
                subtract_product(&mut later[to - front.end()..], product[0], product[1], [height, n, width]);
            };
            put(target.start, at, at, [size, size]);
            for (&(j, other), &to) in neighbours[k + 1..].iter().zip(&mut targets) {
                let width = self.fronts[j as usize].size;
                put(target.rows(to), at, other, [size, width]);
                put(target.columns(to), other, at, [width, size]);
            }
            subtract_times(right, first, &own[front.columns(at)..], self.starts[group], [size, n]);
        }
    }
}

/// Gaussian elimination with partial pivoting; the solution replaces the last column. Returns false if the matrix is
/// singular or not finite.
pub(crate) fn eliminate(matrix: &mut [f64], count: usize) -> bool {
    let width = count + 1;
    for c in 0..count {
        let mut pivot = c;
        for r in c + 1..count {
            if matrix[r * width + c].abs() > matrix[pivot * width + c].abs() {
                pivot = r;
            }
        }
        if !(matrix[pivot * width + c].abs() > MIN_PIVOT) {
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

/// Merges a sorted list into another, without the two groups `out`.
fn merge_sorted(list: &mut Vec<(u32, u32)>, others: &[(u32, u32)], out: [u32; 2], memory: &mut Vec<(u32, u32)>) {
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
    // The list is copied, because swapped lists would grow without bound.
    list.clone_from(memory);
}

fn to_u32(number: usize) -> u32 {
    u32::try_from(number).expect("fewer unknowns than a u32 counts")
}

#[cfg(test)]
mod tests {
    use simpartner_model::random::Stream;

    use super::*;

    /// Systems of up to twelve groups of up to seven unknowns, with random unsymmetric coupling: the solution satisfies
    /// every equation. The cost of a chain is proportional to its length.
    #[test]
    fn solutions_fulfil_all_equations() {
        let mut stream = Stream::from_number(3);
        let mut next = || stream.uniform();
        let mut elimination = Elimination::default();
        for round in 0..300 {
            let count = 1 + (next() * 12.0) as usize;
            let mut starts = vec![0];
            (0..count).for_each(|group| starts.push(starts[group] + 1 + (next() * 7.0) as usize));
            elimination.start(&starts);
            let pairs = (0..count).flat_map(|a| (0..a).map(move |b| (a, b)));
            let mut pairs: Vec<(usize, usize)> = pairs.filter(|_| next() < 0.3).collect();
            pairs.iter().for_each(|&(a, b)| elimination.couple_groups(a, b));
            elimination.order_groups();
            elimination.clear();
            let unknowns = starts[count];
            let mut matrix: Vec<f64> = (0..unknowns * unknowns).map(|k| f64::from(k % (unknowns + 1) == 0)).collect();
            pairs.extend((0..count).map(|group| (group, group)));
            let mirrored: Vec<_> = pairs.iter().filter(|(a, b)| a != b).map(|&(a, b)| (b, a)).collect();
            pairs.extend(mirrored);
            for &(of, by) in &pairs {
                let (block, columns) = (elimination.block(of, by), starts[by + 1] - starts[by]);
                for i in 0..starts[of + 1] - starts[of] {
                    for j in 0..columns {
                        let value = next() - 0.5 + if of == by && i == j { 6.0 } else { 0.0 };
                        elimination.entries[block + i * columns + j] += value;
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
            elimination.start(&(0..=count).map(|group| 6 * group).collect::<Vec<_>>());
            (1..count).for_each(|group| elimination.couple_groups(group - 1, group));
            elimination.order_groups()
        };
        let (short, long) = (chain(100), chain(1000));
        assert!(long < 10.1 * short && short > 0.0, "{short} {long}");
    }
}
