//! The record of a step.

use std::sync::{Arc, OnceLock};

use simpartner_model::{DeviceId, RutDepths};
use xxhash_rust::xxh3::xxh3_64;

use super::{AppliedCommand, Contacts, Event, Layout, StepIndex};

/// When a step ran on the wall clock. The physics never reads it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StepTiming {
    /// Monotonic wall time since the run's start at which the step began, in nanoseconds.
    pub wall_ns: u64,
    /// Delay of the step's start after its deadline, in nanoseconds; 0 in `fast` mode.
    pub late_ns: u64,
    /// Computing time of the step, in nanoseconds.
    pub compute_ns: u64,
    /// Running time of the clock when the step began, without pauses, in nanoseconds.
    pub played_ns: u64,
}

/// A reading with more numbers than the flat record accepts. Records share it until a fresh one arrives.
#[derive(Debug, Clone, Default)]
pub struct LongReading(Arc<HashedNumbers>);

#[derive(Debug, Default)]
struct HashedNumbers {
    numbers: Box<[f64]>,
    hash: OnceLock<u64>,
}

impl LongReading {
    /// The reading of these numbers.
    pub fn new(numbers: &[f64]) -> Self {
        Self(Arc::new(HashedNumbers { numbers: numbers.into(), hash: OnceLock::new() }))
    }

    /// Its numbers, in the order of the device's fields; empty without a reading.
    pub fn numbers(&self) -> &[f64] {
        &self.0.numbers
    }

    /// A hash of its numbers, computed when it is first asked for.
    pub fn hash(&self) -> u64 {
        *self.0.hash.get_or_init(|| {
            let bytes: Vec<u8> = self.numbers().iter().flat_map(|number| bits(*number).to_le_bytes()).collect();
            xxh3_64(&bytes)
        })
    }
}

impl PartialEq for LongReading {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.numbers() == other.numbers()
    }
}

/// The bits of a number for a hash. All bit patterns of NaN are replaced by one, because processors produce different
/// ones.
pub(super) fn bits(number: f64) -> u64 {
    if number.is_nan() { f64::NAN.to_bits() } else { number.to_bits() }
}

/// All results of one step, or the remainder of a run. `values` is arranged as in [`Layout`].
///
/// A run lasts from a reset or a change of the world to the next one: `epoch` and `world` identify the run of a record,
/// with all of its commands and events. A run without any record has made no step and received no command.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRecord {
    /// The last step made; 0 before the first.
    pub step: StepIndex,
    /// True if the record is that of the step. A record of no step has commands that no step of its run has followed,
    /// and events, and no values.
    pub is_step: bool,
    /// Number of resets before this step: step numbers start again after a reset.
    pub epoch: u32,
    /// Number of the world: the changes of its entities since the start of the run. Its [`Layout`] has the same number.
    pub world: u32,
    /// Wall clock, which the server's module `realtime` fills in.
    pub timing: StepTiming,
    /// Bodies, joints and devices.
    pub values: Box<[f64]>,
    /// The readings of devices with more fields than [`values`](Self::values) takes, in the order of the devices.
    pub long_readings: Box<[LongReading]>,
    /// For each device, true if its reading is of this step (sensors with a rate hold theirs in between).
    pub fresh: Box<[bool]>,
    /// The cameras that take an image of this step, which may arrive later.
    pub exposed: Vec<DeviceId>,
    /// Depths of the grounds that have ruts, with their indices, if a camera takes an image of this step.
    pub ruts: Vec<(usize, RutDepths)>,
    /// The cameras whose image arrives in this step. Their reading is the step that it is of.
    pub arrived: Vec<DeviceId>,
    /// For each device, true if a fault has powered it off. It then has no reading and gives no answer.
    pub off: Box<[bool]>,
    /// For each device, the `sequence` of the newest command that has taken effect.
    pub applied: Box<[u64]>,
    /// The contact points.
    pub contacts: Contacts,
    /// The commands that took effect at the start of the step [`acts_in`](Self::acts_in).
    pub commands: Vec<AppliedCommand>,
    /// Events of the step.
    pub events: Vec<Event>,
    /// The complete state after this step, in steps with a logged snapshot.
    pub snapshot: Option<Arc<[u8]>>,
    /// The complete state from which the run starts, in its first record, if the run does not start from the model.
    pub begins_with: Option<Arc<[u8]>>,
}

impl StepRecord {
    /// An all-zero record of the layout's size.
    pub fn new(layout: &Layout) -> Self {
        let devices = layout.devices().len();
        Self {
            values: vec![0.0; layout.len()].into(),
            long_readings: vec![LongReading::default(); layout.long_readings()].into(),
            fresh: vec![false; devices].into(),
            off: vec![false; devices].into(),
            applied: vec![0; devices].into(),
            ..Self::without_values(layout.world())
        }
    }

    /// A record of no step, in the world of this number.
    pub fn without_values(world: u32) -> Self {
        Self {
            step: StepIndex(0),
            is_step: false,
            epoch: 0,
            world,
            timing: StepTiming::default(),
            values: Box::default(),
            long_readings: Box::default(),
            fresh: Box::default(),
            exposed: Vec::new(),
            ruts: Vec::new(),
            arrived: Vec::new(),
            off: Box::default(),
            applied: Box::default(),
            contacts: Contacts::new(),
            commands: Vec::new(),
            events: Vec::new(),
            snapshot: None,
            begins_with: None,
        }
    }

    /// The numbers of a device: a sensor's reading, or an actuator's present command.
    pub fn device(&self, layout: &Layout, device: DeviceId) -> &[f64] {
        match layout.long_reading(device) {
            Some(place) => self.long_readings[place].numbers(),
            None => &self.values[layout.device(device)],
        }
    }

    /// The step in which the record's commands act: its own, or the next one of a run that ended.
    pub fn acts_in(&self) -> StepIndex {
        if self.is_step { self.step } else { self.step.after(1) }
    }
}
