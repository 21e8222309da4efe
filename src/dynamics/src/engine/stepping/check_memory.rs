//! State of the step checks from step to step, so that an event is reported once.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// An alarm, which is reported once until it no longer holds: one of the numbers in [`alarm`], and the two bodies, or
/// the loop joint and 0.
pub(super) type Alarm = (u8, usize, usize);

/// An episode, which is reported once until it has been quiet for a while: one of the numbers in [`episode`], and the
/// tree or loop joint.
pub(super) type Episode = (u8, usize);

/// Numbers of alarms, as stored in snapshots.
pub(super) mod alarm {
    pub(crate) const SPEED: u8 = 0;
    pub(crate) const PENETRATION: u8 = 1;
    pub(crate) const LOOP_JOINT: u8 = 2;
}

/// Numbers of episodes, as stored in snapshots.
pub(super) mod episode {
    pub(crate) const IMBALANCE: u8 = 0;
    pub(crate) const WORLD_ENERGY: u8 = 1;
    pub(crate) const ISLAND_ENERGY: u8 = 2;
    pub(crate) const ISLAND_SPEED: u8 = 3;
    pub(crate) const MOTOR: u8 = 4;
    pub(crate) const LOOP_MOTOR: u8 = 5;
    /// Delay before an overlap that does not separate is reported.
    pub(crate) const UNSEPARATED_DELAY: u8 = 6;
    pub(crate) const UNSEPARATED: u8 = 7;
}

/// State of the step checks from step to step.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct CheckMemory {
    /// Number of parts that the last step was divided into for fast joints; 0 if that was the usual number.
    pub(super) substeps: usize,
    /// Reported alarms that still hold, sorted.
    pub(super) raised_alarms: Vec<Alarm>,
    /// Reported episodes, and for each the time after which it ends if nothing more happens, s.
    pub(super) episodes: BTreeMap<Episode, f64>,
}

impl CheckMemory {
    /// This state for an edited world. The lists hold the new index of each old body, tree and loop joint; `None` for a
    /// removed one.
    pub(crate) fn with_new_indices(
        self,
        bodies: &[Option<usize>],
        trees: &[Option<usize>],
        loop_joints: &[Option<usize>],
    ) -> Self {
        let body = |number: usize| if number == usize::MAX { Some(number) } else { bodies[number] };
        let raised_alarms = self.raised_alarms.into_iter().filter_map(|(kind, first, second)| {
            Some(match kind {
                alarm::SPEED => (kind, body(first)?, second),
                alarm::PENETRATION => (kind, body(first)?, body(second)?),
                _ => (kind, loop_joints[first]?, second),
            })
        });
        let mut raised_alarms: Vec<Alarm> = raised_alarms.collect();
        raised_alarms.sort_unstable();
        let episodes = self.episodes.into_iter().filter_map(|((kind, number), quiet)| {
            let number = match kind {
                episode::WORLD_ENERGY => number,
                episode::LOOP_MOTOR => loop_joints[number]?,
                _ => trees[number]?,
            };
            Some(((kind, number), quiet))
        });
        Self { substeps: self.substeps, raised_alarms, episodes: episodes.collect() }
    }
}
