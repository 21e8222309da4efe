//! Arrival of images: the steps in which images are taken, kept until the images arrive.

use std::{collections::BTreeMap, sync::Arc};

use simpartner_model::{DeviceId, StepIndex};
use simpartner_wire::signal::{Layout, StepRecord};

/// Largest number of steps that are kept: those of a camera with a latency of 10 s, the longest, and 100 images per
/// second.
const MAX_KEPT_STEPS: usize = 1000;

/// Largest memory of these steps, bytes.
const MAX_KEPT_BYTES: usize = 64_000_000;

/// An image that arrives.
#[derive(Debug, Clone)]
pub struct Arrival {
    /// The camera.
    pub device: DeviceId,
    /// The step that the image is of.
    pub step: StepIndex,
    /// Its source.
    pub source: ImageSource,
}

/// Source of an image.
#[derive(Debug, Clone)]
pub enum ImageSource {
    /// The record of its step.
    Record(Arc<StepRecord>),
    /// The random number that a camera with the fault `garbage` reads.
    Garbage(f64),
    /// Nothing: the record of its step is no longer kept.
    Lost,
}

/// The steps of which images have yet to arrive.
#[derive(Debug, Default)]
pub struct Arrivals {
    kept: BTreeMap<StepIndex, Arc<StepRecord>>,
    epoch: u32,
}

impl Arrivals {
    /// Takes the next record in which images are taken or arrive, and returns those that arrive. A camera that is stuck
    /// returns its last image again.
    pub fn take(&mut self, record: &Arc<StepRecord>, layout: &Layout) -> Vec<Arrival> {
        if self.epoch != record.epoch {
            self.kept.clear();
            self.epoch = record.epoch;
        }
        let arrivals: Vec<Arrival> =
            record.arrived.iter().map(|device| self.arrival_of(record, layout, *device)).collect();
        let is_late = |device| !arrivals.iter().any(|arrival| arrival.device == device && arrival.step == record.step);
        if record.exposed.iter().any(|device| is_late(*device)) {
            self.kept.insert(record.step, Arc::clone(record));
            let most = (MAX_KEPT_BYTES / (size_of::<f64>() * layout.len().max(1))).clamp(1, MAX_KEPT_STEPS);
            while self.kept.len() > most {
                self.kept.pop_first();
            }
        }
        arrivals
    }

    fn arrival_of(&self, record: &Arc<StepRecord>, layout: &Layout, device: DeviceId) -> Arrival {
        let reading = record.device(layout, device).first().copied().unwrap_or_default();
        let step = StepIndex(reading as u64);
        let source = match step {
            // No image is taken in a later step, so the number is random.
            _ if step > record.step => ImageSource::Garbage(reading),
            _ if step == record.step => ImageSource::Record(Arc::clone(record)),
            _ => self.kept.get(&step).cloned().map_or(ImageSource::Lost, ImageSource::Record),
        };
        Arrival { device, step: step.min(record.step), source }
    }
}
