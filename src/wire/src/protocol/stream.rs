//! Which steps a client is sent by itself.

use simpartner_model::StepIndex;

use super::{Accepted, Refusal, device::Samples};
use crate::signal::{Acknowledgement, StepRecord};

/// A stream of every n-th step, if the client has subscribed.
#[derive(Debug, Default)]
pub(super) struct Stream(Option<Subscription>);

#[derive(Debug, Clone, Copy)]
struct Subscription {
    interval: u64,
    due: StepIndex,
    epoch: u32,
    /// True to send the state after a reset too: a member of the lockstep has to acknowledge it.
    from_zero: bool,
    /// True to send a late client every sample that it missed.
    all: bool,
}

impl Stream {
    /// Subscribes to every n-th step after the record's; to none for 0.
    pub(super) fn subscribe(&mut self, samples: Samples, record: &StepRecord) {
        let Samples { interval, all } = samples;
        let due = record.step.after(interval);
        self.0 = (interval > 0).then_some(Subscription { interval, due, epoch: record.epoch, from_zero: false, all });
    }

    /// Sends an `ACK`. If it makes the client join, the result is true, the client gets every step from the record's
    /// on, and must be sent that one at once. Any other `ACK` is answered by the step at which the client wants to be
    /// asked again.
    pub(super) fn acknowledge(
        &mut self,
        answer: Acknowledgement,
        record: &StepRecord,
        send: impl FnOnce(Acknowledgement) -> Result<Accepted, Refusal>,
    ) -> Result<bool, Refusal> {
        let joined = send(answer)? == Accepted::Joined;
        if joined {
            self.follow(record);
        } else if let Some(subscription) = self.0.as_mut().filter(|subscription| subscription.from_zero) {
            subscription.due = record.step.after(answer.seen.count);
        }
        Ok(joined)
    }

    /// Every step, and the state after a reset.
    fn follow(&mut self, record: &StepRecord) {
        let due = record.step.after(1);
        self.0 = Some(Subscription { interval: 1, due, epoch: record.epoch, from_zero: true, all: false });
    }

    /// True while the client is sent samples by itself.
    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// True while the client is sent every sample, however late it is.
    pub(super) fn wants_all(&self) -> bool {
        self.0.is_some_and(|subscription| subscription.all)
    }

    /// Handles a new record. If a sample is due, returns the number of samples missed before it.
    pub(super) fn due(&mut self, record: &StepRecord) -> Option<u64> {
        let subscription = self.0.as_mut()?;
        if subscription.epoch != record.epoch {
            // The world was reset: steps count from zero again.
            let first = if subscription.from_zero { 0 } else { subscription.interval };
            *subscription = Subscription { due: StepIndex(first), epoch: record.epoch, ..*subscription };
        }
        if record.step < subscription.due {
            return None;
        }
        let dropped = (record.step.0 - subscription.due.0) / subscription.interval;
        subscription.due = subscription.due.after((dropped + 1) * subscription.interval);
        Some(dropped)
    }
}
