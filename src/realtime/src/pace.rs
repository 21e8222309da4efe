//! Deadlines of steps, and the reaction to a late step.

use simpartner_model::{StepIndex, Timestep};

/// Deadlines on an absolute time grid, so that no error accumulates however long the run.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Deadline of the step after `from`, monotonic nanoseconds.
    anchor_ns: u64,
    from: StepIndex,
    /// Wall time between deadlines, nanoseconds.
    period_ns: f64,
    max_catchup_steps: u64,
}

/// Lateness of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lateness {
    /// Delay in nanoseconds, within the permitted number of steps. Steps back to back will make up for it.
    Behind(u64),
    /// The delay was larger, so the clock slipped: the deadlines were moved by `lost_ns`.
    Slipped {
        /// Shift of the deadlines, nanoseconds; a whole number of steps.
        lost_ns: u64,
        /// Remaining delay, nanoseconds; less than a step.
        late_ns: u64,
    },
}

impl Pace {
    /// Deadlines of which that of the step after `from` is at `now_ns`.
    pub fn new(timestep: Timestep, rate: f64, max_catchup_steps: u64, from: StepIndex, now_ns: u64) -> Self {
        Self { anchor_ns: now_ns, from, period_ns: timestep.nanoseconds() as f64 / rate, max_catchup_steps }
    }

    /// Deadline of a step, monotonic nanoseconds.
    pub fn deadline_ns(&self, step: StepIndex) -> u64 {
        let steps = step.0.saturating_sub(self.from.0 + 1);
        self.anchor_ns + (steps as f64 * self.period_ns) as u64
    }

    /// Lateness of a step that begins at `now_ns`. A delay of more than `max_catchup_steps` steps moves the deadlines.
    pub fn lateness(&mut self, step: StepIndex, now_ns: u64) -> Lateness {
        let late_ns = now_ns.saturating_sub(self.deadline_ns(step));
        let missed = (late_ns as f64 / self.period_ns).floor();
        if missed <= self.max_catchup_steps as f64 {
            return Lateness::Behind(late_ns);
        }
        let lost_ns = (missed * self.period_ns) as u64;
        self.anchor_ns += lost_ns;
        Lateness::Slipped { lost_ns, late_ns: late_ns.saturating_sub(lost_ns) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn pace(rate: f64) -> Pace {
        Pace::new(Timestep::MILLISECOND, rate, 50, StepIndex(10), 7 * MS)
    }

    #[test]
    fn deadlines_stand_on_an_absolute_grid() {
        assert_eq!(pace(1.0).deadline_ns(StepIndex(11)), 7 * MS);
        assert_eq!(pace(1.0).deadline_ns(StepIndex(12)), 8 * MS);
        assert_eq!(pace(2.0).deadline_ns(StepIndex(1011)), 507 * MS);
        // A day at a rate that does not divide the step evenly: still on the grid to the nanosecond's rounding.
        let third = pace(3.0).deadline_ns(StepIndex(11 + 86_400_000)) - 7 * MS;
        assert!(third.abs_diff(86_400_000 * MS / 3) <= 16, "{third}");
    }

    #[test]
    fn a_small_delay_is_caught_up_and_a_large_one_is_a_slip_of_whole_steps() {
        let mut pace = pace(1.0);
        assert_eq!(pace.lateness(StepIndex(11), 7 * MS + 50 * MS), Lateness::Behind(50 * MS));
        assert_eq!(pace.deadline_ns(StepIndex(12)), 8 * MS);
        let slip = pace.lateness(StepIndex(12), 8 * MS + 60 * MS + 300);
        assert_eq!(slip, Lateness::Slipped { lost_ns: 60 * MS, late_ns: 300 });
        assert_eq!(pace.deadline_ns(StepIndex(13)), 69 * MS);
    }

    /// The invariant behind "every slip is recorded": time on the wall is simulated time plus lateness plus all slips.
    #[test]
    fn wall_time_is_simulated_time_plus_slips_plus_lateness() {
        let (mut pace, mut now, mut lost) = (pace(1.0), 7 * MS, 0);
        let mut state = 1u64;
        for step in 11..5_000 {
            now = now.max(pace.deadline_ns(StepIndex(step)));
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            now += if state >> 57 == 0 { 97 * MS } else { (state >> 44) % 900_000 };
            let late = match pace.lateness(StepIndex(step), now) {
                Lateness::Behind(late) => late,
                Lateness::Slipped { lost_ns, late_ns } => {
                    lost += lost_ns;
                    late_ns
                }
            };
            assert_eq!(now - 7 * MS, (step - 11) * MS + lost + late);
        }
        assert!(lost > 0);
    }
}
