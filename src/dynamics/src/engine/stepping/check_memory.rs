//! What the step checks remember from step to step, so that an event is reported once.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// An alarm that is reported once until it no longer holds: one of [`alarm`], and the two bodies, or the loop joint.
pub(super) type Alarm = (u8, usize, usize);

/// An episode that is reported once until it has been quiet for a while: one of [`episode`], and the tree, or the loop
/// joint.
pub(super) type Episode = (u8, usize);

/// Numbers of alarms, as snapshots hold them.
pub(super) mod alarm {
    pub(crate) const SPEED: u8 = 0;
    pub(crate) const PENETRATION: u8 = 1;
    pub(crate) const LOOP_JOINT: u8 = 2;
}

/// Numbers of episodes, as snapshots hold them.
pub(super) mod episode {
    pub(crate) const IMBALANCE: u8 = 0;
    pub(crate) const WORLD_ENERGY: u8 = 1;
    pub(crate) const ISLAND_ENERGY: u8 = 2;
    pub(crate) const ISLAND_SPEED: u8 = 3;
    pub(crate) const MOTOR: u8 = 4;
    pub(crate) const LOOP_MOTOR: u8 = 5;
    /// Counts down until an overlap that does not separate is reported.
    pub(crate) const UNSEPARATED_DELAY: u8 = 6;
    pub(crate) const UNSEPARATED: u8 = 7;
}

/// What the step checks remember from step to step.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct CheckMemory {
    /// Number of parts that the last step was divided into for fast joints; 0 if that was the usual number.
    pub(super) substeps: usize,
    /// Alarms that have been reported and still hold, sorted.
    pub(super) raised_alarms: Vec<Alarm>,
    /// Episodes that have been reported, and the seconds after which each ends if nothing more happens.
    pub(super) episodes: BTreeMap<Episode, f64>,
}

impl CheckMemory {
    /// The same memory for an edited world. The lists hold the new number of each old body, tree and loop joint; `None`
    /// if it is gone.
    pub(crate) fn renumbered(
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
