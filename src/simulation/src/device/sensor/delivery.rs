//! Delivery of readings: latency and dropout between a measurement and the record.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use simpartner_model::{StepIndex, random::Stream};

/// Largest number of values in the delayed readings of a sensor: 128 MB. Further readings are lost.
const MAX_DELAYED_VALUES: usize = 16_000_000;

/// A delay line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Delivery {
    pub(super) latency_steps: u64,
    pub(super) dropout: f64,
    pub(super) stream: Stream,
    under_way: VecDeque<(StepIndex, Vec<f64>)>,
    /// Emptied lists, reused so that a reading allocates nothing.
    #[serde(skip)]
    spare: Vec<Vec<f64>>,
}

impl Delivery {
    pub(super) fn new(latency_steps: u64, dropout: f64, stream: Stream) -> Self {
        Self { latency_steps, dropout, stream, under_way: VecDeque::new(), spare: Vec::new() }
    }

    /// An empty list for a reading.
    pub(super) fn take_empty(&mut self) -> Vec<f64> {
        let mut list = self.spare.pop().unwrap_or_default();
        list.clear();
        list
    }

    /// Draws a random number; true if the next reading is lost.
    pub(super) fn loses_next(&mut self) -> bool {
        self.stream.happens(self.dropout)
    }

    /// Sends a reading that arrives at the step `due`. Earlier readings that would arrive at that step or later are
    /// dropped.
    pub(super) fn send(&mut self, reading: Vec<f64>, due: StepIndex) {
        if (self.under_way.len() + 1).saturating_mul(reading.len()) > MAX_DELAYED_VALUES {
            return self.drop_reading(reading);
        }
        while let Some((_, late)) = self.under_way.pop_back_if(|(other, _)| *other >= due) {
            self.spare.push(late);
        }
        self.under_way.push_back((due, reading));
    }

    /// Moves the newest reading that has arrived by this step into `reading`. False if none has arrived.
    pub(super) fn receive(&mut self, reading: &mut Vec<f64>, step: StepIndex) -> bool {
        let mut arrived = false;
        while let Some((_, new)) = self.under_way.pop_front_if(|(due, _)| *due <= step) {
            self.spare.push(std::mem::replace(reading, new));
            arrived = true;
        }
        arrived
    }

    /// Drops a reading; its list is reused.
    pub(super) fn drop_reading(&mut self, reading: Vec<f64>) {
        self.spare.push(reading);
    }

    /// Drops all delayed readings.
    pub(super) fn drop_all(&mut self) {
        self.spare.extend(self.under_way.drain(..).map(|(_, reading)| reading));
    }

    /// True if all delayed readings have `width` values.
    pub(super) fn fits(&self, width: usize) -> bool {
        self.under_way.iter().all(|(_, reading)| reading.len() == width)
    }
}
