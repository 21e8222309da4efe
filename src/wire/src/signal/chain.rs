//! A hash over every step of a run, chained to the previous step: two runs are the same up to a step if, and
//! practically only if, their chains are equal there.

use xxhash_rust::xxh3;

use super::{LongReading, StepRecord, record::bits};

/// The chain of the steps so far.
#[derive(Debug, Clone, Default)]
pub struct StateChain {
    head: u64,
    /// Kept for its memory.
    bytes: Vec<u8>,
}

impl StateChain {
    /// Continues a chain from its head.
    pub fn from_head(head: u64) -> Self {
        Self { head, bytes: Vec::new() }
    }

    /// Adds the next step's record to the chain and returns the new head. Wall-clock times, commands and events are not
    /// hashed: commands and events change the numbers of the steps, and the same run at another time of day has the
    /// same chain.
    pub fn advance(&mut self, record: &StepRecord) -> u64 {
        self.bytes.clear();
        self.bytes.extend(record.step.0.to_le_bytes());
        let values = record.values.iter().map(|value| bits(*value));
        let long_readings = record.long_readings.iter().map(LongReading::hash);
        values.chain(long_readings).for_each(|bits| self.bytes.extend(bits.to_le_bytes()));
        self.bytes
            .extend(record.fresh.iter().zip(&record.off).map(|(fresh, off)| u8::from(*fresh) | u8::from(*off) << 1));
        self.head = xxh3::xxh3_64_with_seed(&self.bytes, self.head);
        self.head
    }

    /// The head; 0 before the first step.
    pub fn head(&self) -> u64 {
        self.head
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::Layout;
    use simpartner_model::StepIndex;

    fn heads(spoil: impl Fn(&mut StepRecord)) -> Vec<u64> {
        let layout = Layout::new(1, 0, Vec::new());
        let mut chain = StateChain::default();
        let record = |step| {
            let mut record = StepRecord { step: StepIndex(step), ..StepRecord::new(&layout) };
            record.values.fill(step as f64);
            spoil(&mut record);
            record
        };
        (1..=3).map(|step| chain.advance(&record(step))).collect()
    }

    #[test]
    fn a_difference_in_a_step_shows_there_and_ever_after() {
        let (plain, again) = (heads(|_| {}), heads(|record| record.timing.wall_ns = 7));
        assert_eq!(plain, again);
        let spoilt = heads(|record| {
            if record.step.0 == 2 {
                record.values[3] += f64::EPSILON * 2.0;
            }
        });
        assert_eq!(spoilt[0], plain[0]);
        assert!(spoilt[1] != plain[1] && spoilt[2] != plain[2]);
    }

    #[test]
    fn it_does_not_tell_one_not_a_number_from_another() {
        let negative = f64::from_bits(f64::NAN.to_bits() | 1 << 63 | 1);
        assert_eq!(heads(|record| record.values[0] = f64::NAN), heads(|record| record.values[0] = negative));
    }
}
