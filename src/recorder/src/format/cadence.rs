//! The steps of a run that are logged: one in a fixed number, and fewer from some step on.

/// Rule for the steps of a run that have rows of state. It consists of a few numbers in the log, so a reader can
/// distinguish a step that was left out on purpose from a missing one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cadence {
    /// Spacing of the logged steps at first.
    every: u64,
    thinned: Option<Thinned>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Thinned {
    /// Last step with the first spacing.
    after: u64,
    /// Spacing of the logged steps from then on.
    every: u64,
}

impl Cadence {
    /// Logs one step in `every`. `thinned` is the last step with this spacing, and the spacing from then on, which is
    /// rounded up to a multiple of `every`.
    pub fn new(every: u64, thinned: Option<(u64, u64)>) -> Self {
        let every = every.max(1);
        let thinned = thinned.map(|(after, later)| Thinned {
            after,
            every: later.max(1).checked_next_multiple_of(every).unwrap_or(u64::MAX),
        });
        Self { every, thinned: thinned.filter(|thinned| thinned.every > every) }
    }

    /// Last step before the log is thinned out, and the spacing from then on.
    pub fn thinned(self) -> Option<(u64, u64)> {
        self.thinned.map(|thinned| (thinned.after, thinned.every))
    }

    /// Spacing of the logged steps at first, in steps.
    pub fn every(self) -> u64 {
        self.every
    }

    /// Spacing of the logged steps at this step, in steps.
    pub fn spacing(self, step: u64) -> u64 {
        match self.thinned {
            Some(thinned) if step > thinned.after => thinned.every,
            _ => self.every,
        }
    }

    /// Largest spacing of the logged steps, in steps.
    pub fn widest(self) -> u64 {
        self.thinned.map_or(self.every, |thinned| thinned.every)
    }

    /// True if the step is logged.
    pub fn is_logged(self, step: u64) -> bool {
        step.is_multiple_of(self.spacing(step))
    }

    /// Last logged step up to and including this one; 0 if there is none.
    pub fn last(self, step: u64) -> u64 {
        let last = step - step % self.spacing(step);
        match self.thinned {
            Some(thinned) if step > thinned.after && last <= thinned.after => {
                thinned.after - thinned.after % self.every
            }
            _ => last,
        }
    }

    /// First logged step after this one.
    pub fn next(self, step: u64) -> u64 {
        let next = |every: u64| (step - step % every).saturating_add(every);
        // A multiple of the wider spacing is also a multiple of the narrower one, so no logged step is skipped.
        Some(next(self.every)).filter(|&next| self.is_logged(next)).unwrap_or_else(|| next(self.widest()))
    }

    /// Largest number of steps that `logged` logged steps span, from the step `first` on.
    pub fn span(self, first: u64, logged: u64) -> u64 {
        let full =
            self.thinned.map_or(u64::MAX, |thinned| thinned.after.saturating_sub(first) / self.every).min(logged);
        full.saturating_mul(self.every).saturating_add((logged - full).saturating_mul(self.widest()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_and_last_are_what_counting_finds() {
        let choices =
            [(1, None), (5, None), (1, Some((10, 4))), (3, Some((20, 7))), (4, Some((0, 10))), (2, Some((9, 2)))];
        for (every, thinned) in choices {
            let cadence = Cadence::new(every, thinned);
            for step in 0..60 {
                let last = (1..=step).rev().find(|&step| cadence.is_logged(step)).unwrap_or(0);
                let next = (step + 1..).find(|&step| cadence.is_logged(step)).unwrap();
                assert_eq!((cadence.last(step), cadence.next(step)), (last, next), "{cadence:?} {step}");
                assert!(next - step <= cadence.widest(), "{cadence:?} {step}");
                let logged = (1..=step).filter(|&step| cadence.is_logged(step)).count() as u64;
                assert!(step <= cadence.span(1, logged) + cadence.widest(), "{cadence:?} {step}");
            }
        }
        assert_eq!(Cadence::new(1, Some((1000, 100))).span(1, 1099), 999 + 100 * 100);
        let damaged = Cadence::new(u64::MAX, Some((u64::MAX, u64::MAX - 1)));
        assert_eq!((damaged.next(7), damaged.span(1, 2)), (u64::MAX, u64::MAX));
        assert_eq!(Cadence::new(3, Some((20, 7))).thinned(), Some((20, 9)));
        assert_eq!(Cadence::new(8, Some((20, 7))).thinned(), None, "it is as thin as that already");
    }
}
