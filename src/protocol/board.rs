//! The command board: what each device has been told and the physics has not yet shown.
//!
//! A frame for an actuator is answered with the state before it, at once, although it takes effect at the next step boundary.
//! So the board remembers, for each device, the newest command on its way.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Refusal;
use crate::signal::{Action, ClientId, Command, DeviceId, Layout, StepIndex, StepRecord};

/// One slot for each device, shared by all sessions.
#[derive(Debug)]
pub struct CommandBoard {
    slots: Vec<Mutex<Slot>>,
}

#[derive(Debug, Default)]
struct Slot {
    /// Commands of this device so far.
    sequence: u64,
    /// The state after the newest immediate command.
    pending: Option<Pending>,
    /// The last text it was sent, for a device that keeps what it hears.
    heard: String,
}

#[derive(Debug)]
struct Pending {
    sequence: u64,
    epoch: u32,
    values: Vec<f64>,
}

/// A command as a session has read it.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// For which device.
    pub device: DeviceId,
    /// From whom.
    pub client: ClientId,
    /// The step it is for; `None` is the next one.
    pub at: Option<StepIndex>,
    /// The text it was read from.
    pub text: String,
    /// What it does.
    pub action: Action,
}

impl CommandBoard {
    /// A slot for each device of the layout.
    pub fn new(layout: &Layout) -> Self {
        Self { slots: layout.devices().iter().map(|_| Mutex::default()).collect() }
    }

    /// A device's present values: those of the newest command on its way, else those of the record.
    pub fn values(&self, device: DeviceId, layout: &Layout, record: &StepRecord) -> Vec<f64> {
        self.slot(device).values(device, layout, record)
    }

    /// The last text a device was sent.
    pub fn heard(&self, device: DeviceId) -> String {
        self.slot(device).heard.clone()
    }

    /// Numbers a command and sends it on its way, in the order of this device's commands. Returns the values before it.
    ///
    /// # Errors
    /// When it is for a step already made, or `send` refuses it; the board is then unchanged.
    pub fn accept(
        &self,
        order: Order,
        layout: &Layout,
        record: &StepRecord,
        send: impl FnOnce(Command) -> Result<(), Refusal>,
    ) -> Result<Vec<f64>, Refusal> {
        if let Some(at) = order.at.filter(|at| *at <= record.step) {
            return Err(Refusal::State(format!("step {at} has been made already; the present one is {}", record.step)));
        }
        let mut slot = self.slot(order.device);
        let previous = slot.values(order.device, layout, record);
        let sequence = slot.sequence + 1;
        let (action, text, at) = (order.action.clone(), order.text.clone(), order.at);
        let Order { device, client, text: sent, .. } = order;
        send(Command { device, at, client, sequence, text: sent, action: order.action })?;
        slot.sequence = sequence;
        match action {
            Action::Drive(new) if at.is_none() => {
                let mut values = previous.clone();
                let kept = values.len() - new.len();
                values.splice(kept.., new);
                slot.pending = Some(Pending { sequence, epoch: record.epoch, values });
            }
            Action::Hear => slot.heard = text,
            Action::Drive(_) | Action::Configure(_) | Action::Fault(_) => {}
        }
        Ok(previous)
    }

    fn slot(&self, device: DeviceId) -> MutexGuard<'_, Slot> {
        // A slot is whole between any two of its statements, so a panic elsewhere does not spoil it.
        self.slots[device.index()].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn values(&self, device: DeviceId, layout: &Layout, record: &StepRecord) -> Vec<f64> {
        match &self.pending {
            Some(pending) if pending.epoch == record.epoch && pending.sequence > record.applied[device.index()] => {
                pending.values.clone()
            }
            _ => record.values[layout.device(device)].to_vec(),
        }
    }
}
