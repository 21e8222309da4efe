//! The receiver of records with images, which makes the images of cameras.

use std::sync::{Arc, OnceLock};

use simpartner_wire::signal::StepRecord;

/// A receiver of the records in which cameras take images, or in which images arrive.
///
/// While steps have deadlines, nobody waits for it: it leaves out what it cannot take in. At other times the clock
/// waits while it [is full](Self::is_full), so that it gets every record.
pub trait ImageSink: Send + Sync + std::fmt::Debug {
    /// Takes a record, without waiting. `has_deadlines` is true while steps have deadlines.
    fn take_record(&self, record: &Arc<StepRecord>, has_deadlines: bool);

    /// True while the clock has to wait before it makes another step without a deadline.
    fn is_full(&self) -> bool;
}

/// The place of a sink, which is set at most once.
#[derive(Debug, Default)]
pub(super) struct ImageSinkSlot(OnceLock<Arc<dyn ImageSink>>);

impl ImageSinkSlot {
    pub(super) fn set_sink(&self, sink: Arc<dyn ImageSink>) {
        // A second sink has no effect.
        let _ = self.0.set(sink);
    }

    /// Passes on a record, if a camera has taken an image or one has arrived.
    pub(super) fn offer_record(&self, record: &Arc<StepRecord>, has_deadlines: bool) {
        if (!record.exposed.is_empty() || !record.arrived.is_empty())
            && let Some(sink) = self.0.get()
        {
            sink.take_record(record, has_deadlines);
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.0.get().is_some_and(|sink| sink.is_full())
    }
}
