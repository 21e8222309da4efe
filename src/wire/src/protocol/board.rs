//! The command board: the newest accepted command of each device that has not acted yet.
//!
//! A frame for an actuator is answered at once with the state before it, although it takes effect at the next step
//! boundary. So the board stores the newest pending command of each device.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use simpartner_model::{DeviceId, StepIndex};

use super::{Accepted, Refusal, Request};
use crate::signal::{
    Acknowledgement, Action, ClientId, Command, Layout, Renumbering, Reservation, StepRecord, set_fields,
};

/// The slots of all devices, shared by all sessions.
#[derive(Debug)]
pub struct CommandBoard {
    slots: Vec<Arc<Mutex<Slot>>>,
}

#[derive(Debug, Default)]
struct Slot {
    /// Commands of this device so far.
    sequence: u64,
    /// The state after the newest immediate command.
    pending: Option<Pending>,
    /// The last text it was sent, for a device that keeps it (an echo sensor).
    last_text: String,
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
    /// The step in which it acts; `None` is the next one.
    pub at: Option<StepIndex>,
    /// The text it was read from.
    pub text: String,
    /// Its action.
    pub action: Action,
}

impl CommandBoard {
    /// A slot for each device of the layout.
    pub fn new(layout: &Layout) -> Self {
        Self { slots: layout.devices().iter().map(|_| Arc::default()).collect() }
    }

    /// The board of an edited world: devices in both worlds share a slot.
    pub fn of_next(&self, layout: &Layout, numbers: &Renumbering) -> Self {
        let mut next = Self::new(layout);
        for (index, slot) in self.slots.iter().enumerate() {
            if let Some(device) = numbers.device(DeviceId::new(index)) {
                next.slots[device.index()] = Arc::clone(slot);
            }
        }
        next
    }

    /// Forgets commands on their way, after a state that they do not act on.
    pub fn forget_pending(&self) {
        (0..self.slots.len()).for_each(|device| self.slot(DeviceId::new(device)).pending = None);
    }

    /// A device's present values: those of the newest command on its way, else those of the record.
    pub fn values(&self, device: DeviceId, layout: &Layout, record: &StepRecord) -> Vec<f64> {
        self.slot(device).values(device, layout, record)
    }

    /// The last text a device was sent.
    pub fn last_text(&self, device: DeviceId) -> String {
        self.slot(device).last_text.clone()
    }

    /// Numbers a command and sends it, in the order of this device's commands. Returns the values before it.
    ///
    /// # Errors
    /// Its step has been made already, or `send` refuses it; the board is then unchanged.
    pub fn accept(
        &self,
        order: Order,
        layout: &Layout,
        record: &StepRecord,
        send: impl FnOnce(Command) -> Result<(), Refusal>,
    ) -> Result<Vec<f64>, Refusal> {
        let one = |commands: Vec<Command>| commands.into_iter().next().map_or(Ok(()), send);
        let previous = self.accept_all(vec![order], layout, record, one)?;
        Ok(previous.into_iter().next().unwrap_or_default())
    }

    /// The same for commands of several devices that belong together: all are sent, or none. They are sorted by device,
    /// and so are the returned values.
    ///
    /// # Errors
    /// Their step has been made already, or `send` refuses them; the board is then unchanged.
    pub fn accept_all(
        &self,
        mut orders: Vec<Order>,
        layout: &Layout,
        record: &StepRecord,
        send: impl FnOnce(Vec<Command>) -> Result<(), Refusal>,
    ) -> Result<Vec<Vec<f64>>, Refusal> {
        if let Some(at) = orders.iter().find_map(|order| order.at.filter(|at| *at <= record.step)) {
            return Err(Refusal::State(format!("step {at} has been made already; the present one is {}", record.step)));
        }
        // All callers lock in the order of the devices, and no device occurs twice, so there is no deadlock.
        orders.sort_by_key(|order| order.device);
        orders.dedup_by_key(|order| order.device);
        let mut slots: Vec<_> = orders.iter().map(|order| self.slot(order.device)).collect();
        let previous: Vec<Vec<f64>> =
            orders.iter().zip(&slots).map(|(order, slot)| slot.values(order.device, layout, record)).collect();
        let numbered = orders.iter().zip(&slots).map(|(order, slot)| order.clone().numbered(slot.sequence + 1));
        send(numbered.collect())?;
        for ((order, slot), previous) in orders.into_iter().zip(&mut slots).zip(&previous) {
            slot.take(order, previous, record.epoch);
        }
        Ok(previous)
    }

    /// Sends an acknowledgement together with the commands of the same line.
    ///
    /// # Errors
    /// `send` refuses it; the board is then unchanged.
    pub(super) fn acknowledge(
        &self,
        answer: Acknowledgement,
        orders: Vec<Order>,
        layout: &Layout,
        record: &StepRecord,
        send: &mut impl FnMut(Request) -> Result<Accepted, Refusal>,
    ) -> Result<Accepted, Refusal> {
        let mut accepted = Accepted::Queued;
        self.accept_all(orders, layout, record, |commands| {
            accepted = send(Request::Acknowledge(answer, commands))?;
            Ok(())
        })?;
        Ok(accepted)
    }

    fn slot(&self, device: DeviceId) -> MutexGuard<'_, Slot> {
        // A slot is whole between any two of its statements, so a panic elsewhere does not spoil it.
        self.slots[device.index()].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Order {
    fn numbered(self, sequence: u64) -> Command {
        let Self { device, client, at, text, action } = self;
        Command { target: device.into(), at, client, sequence, text, action, memory: Reservation::default() }
    }
}

impl Slot {
    /// Remembers a command that is on its way.
    fn take(&mut self, order: Order, previous: &[f64], epoch: u32) {
        self.sequence += 1;
        match order.action {
            Action::Drive(new) if order.at.is_none() => {
                let mut values = previous.to_vec();
                set_fields(&mut values, &new);
                self.pending = Some(Pending { sequence: self.sequence, epoch, values });
            }
            Action::Hear => self.last_text = order.text,
            Action::Drive(_) | Action::Configure(_) | Action::Fault(_) | Action::Place(_) | Action::Push(_) => {}
        }
    }

    fn values(&self, device: DeviceId, layout: &Layout, record: &StepRecord) -> Vec<f64> {
        match &self.pending {
            Some(pending) if pending.epoch == record.epoch && pending.sequence > record.applied[device.index()] => {
                pending.values.clone()
            }
            _ => record.device(layout, device).to_vec(),
        }
    }
}
