//! How a step is divided into substeps: into equal ones, and each of these, where a guard rejects it, into halves, and these again.

/// How often a substep may be halved, to a sixteenth: after that it is kept as it is, and the guards tell what is wrong with it.
const HALVINGS: u32 = 4;

/// Where in a step it goes on, counted in the smallest substeps that halving leads to.
pub(super) struct Division {
    /// Seconds.
    smallest: f64,
    count: usize,
    done: usize,
    /// The substep that is being made.
    part: usize,
}

impl Division {
    /// Smallest substeps in a whole one.
    const WHOLE: usize = 1 << HALVINGS;

    /// A step of so many seconds in `count` equal substeps.
    pub(super) fn new(timestep: f64, count: usize) -> Self {
        let smallest = timestep / (count << HALVINGS) as f64;
        Self { smallest, count: count * Self::WHOLE, done: 0, part: Self::WHOLE }
    }

    /// The length of the next substep, s; `None` at the end of the step.
    pub(super) fn next(&self) -> Option<f64> {
        (self.done < self.count).then_some(self.smallest * self.part as f64)
    }

    /// Whether it is the first substep of the step.
    pub(super) fn is_first(&self) -> bool {
        self.done == 0
    }

    /// Whether the substep may be halved.
    pub(super) fn can_halve(&self) -> bool {
        self.part > 1
    }

    /// The substep will be made again in halves.
    pub(super) fn halve(&mut self) {
        self.part /= 2;
    }

    /// Goes on behind the substep. What was halved becomes whole again where its second half ends.
    pub(super) fn advance(&mut self) {
        self.done += self.part;
        while self.part < Self::WHOLE && self.done.is_multiple_of(2 * self.part) {
            self.part *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_and_quarters_end_with_the_step() {
        let mut division = Division::new(0.002, 2);
        let mut made = Vec::new();
        while let Some(h) = division.next() {
            // The second substep is rejected, and so is the first of its halves.
            if (made.len() == 1 && h > 3e-4) || (made.len() == 2 && h > 6e-4) {
                division.halve();
                continue;
            }
            assert_eq!(division.is_first(), made.is_empty());
            division.advance();
            made.push(h);
        }
        assert_eq!(made, [0.001, 0.00025, 0.00025, 0.0005]);
    }

    #[test]
    fn a_substep_is_halved_four_times() {
        let mut division = Division::new(0.016, 1);
        let halved = std::iter::from_fn(|| division.can_halve().then(|| division.halve())).count();
        assert_eq!((halved, division.next()), (4, Some(0.001)));
    }
}
