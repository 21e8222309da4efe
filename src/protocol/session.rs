//! The conversation with one client of one device, without any socket: bytes and records in, text out.

use std::sync::Arc;

use super::{
    CommandBoard, Order, Refusal,
    device::{self, Answer, DeviceRequest},
    framing::{Decoder, MAX_MESSAGE, Message},
    number,
};
use crate::signal::{ClientId, Command, DeviceId, DeviceKind, Layout, StepIndex, StepRecord, Timestep};

/// Whether a conversation goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// It does.
    Open,
    /// Close the connection, after sending what has been written.
    Close,
}

/// A client of a device.
#[derive(Debug)]
pub struct DeviceSession {
    layout: Arc<Layout>,
    board: Arc<CommandBoard>,
    timestep: Timestep,
    device: DeviceId,
    client: ClientId,
    port: u16,
    decoder: Decoder,
    subscription: Option<Subscription>,
}

/// A stream of every n-th step.
#[derive(Debug, Clone, Copy)]
struct Subscription {
    interval: u64,
    due: StepIndex,
    epoch: u32,
}

impl DeviceSession {
    /// A client that has just connected to the device on `port`.
    pub fn new(
        layout: Arc<Layout>,
        board: Arc<CommandBoard>,
        timestep: Timestep,
        device: DeviceId,
        client: ClientId,
        port: u16,
    ) -> Self {
        Self { layout, board, timestep, device, client, port, decoder: Decoder::default(), subscription: None }
    }

    /// True while the client is sent samples by itself.
    pub fn is_subscribed(&self) -> bool {
        self.subscription.is_some()
    }

    /// True while a message has begun and not ended.
    pub fn is_within_message(&self) -> bool {
        self.decoder.is_within_message()
    }

    /// What the device says first.
    pub fn greet(&self, record: &StepRecord, out: &mut String) {
        match self.is_off(record) {
            true => out.push_str(&format!("{}\n", Refusal::Off)),
            false => self.write_frame(&self.values(record), out),
        }
    }

    /// Takes what the client has sent. `send` puts a command in the queue for the next step boundary.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        record: &StepRecord,
        mut send: impl FnMut(Command) -> Result<(), Refusal>,
        out: &mut String,
    ) -> Flow {
        // The decoder is lent out so that the messages may be answered by the rest of the session.
        let mut decoder = std::mem::take(&mut self.decoder);
        let mut flow = Flow::Open;
        decoder.push(bytes, |message| {
            if flow == Flow::Open {
                flow = self.answer(message, record, &mut send, out);
            }
        });
        self.decoder = decoder;
        flow
    }

    fn answer(
        &mut self,
        message: Message<'_>,
        record: &StepRecord,
        send: &mut impl FnMut(Command) -> Result<(), Refusal>,
        out: &mut String,
    ) -> Flow {
        let result = match message {
            Message::Http => return Flow::Close,
            Message::TooLong => Err(too_long()),
            Message::NotText => {
                out.push_str(&format!("{}\n", Refusal::Message("expected UTF-8 text")));
                return Flow::Close;
            }
            Message::Text(text) => self.answer_text(text, record, send, out),
        };
        if let Err(refusal) = result {
            out.push_str(&format!("{refusal}\n"));
        }
        Flow::Open
    }

    /// Takes one whole message that came without brackets or line end, such as one from a page.
    pub fn take(
        &mut self,
        text: &str,
        record: &StepRecord,
        mut send: impl FnMut(Command) -> Result<(), Refusal>,
        out: &mut String,
    ) {
        let taken = match text.len() {
            ..=MAX_MESSAGE => self.answer_text(text.trim(), record, &mut send, out),
            _ => Err(too_long()),
        };
        if let Err(refusal) = taken {
            out.push_str(&format!("{refusal}\n"));
        }
    }

    fn answer_text(
        &mut self,
        text: &str,
        record: &StepRecord,
        send: &mut impl FnMut(Command) -> Result<(), Refusal>,
        out: &mut String,
    ) -> Result<(), Refusal> {
        let info = self.layout.device_info(self.device);
        let request = device::read_request(info, text)?;
        if self.is_off(record) && request.wants_power() {
            return Err(Refusal::Off);
        }
        match request {
            DeviceRequest::Poll => self.write_frame(&self.values(record), out),
            DeviceRequest::Get => self.write_sample(record, 0, out),
            DeviceRequest::Subscribe(interval) => {
                self.subscription = (interval > 0).then(|| Subscription::after(interval, record));
                out.push_str("OK\n");
            }
            DeviceRequest::Info => {
                out.push_str(&device::describe(info, self.timestep, self.port));
                out.push('\n');
            }
            DeviceRequest::Command { action, at, answer } => {
                let order = Order { device: self.device, client: self.client, at, text: text.to_owned(), action };
                let previous = self.board.accept(order, &self.layout, record, send)?;
                match answer {
                    Answer::Ok => out.push_str("OK\n"),
                    Answer::PreviousState => self.write_frame(&previous, out),
                }
            }
        }
        Ok(())
    }

    /// Takes a new record: writes the sample that is due, if one is. Only the newest record is ever seen; samples missed
    /// in between are counted in `dropped`.
    pub fn sample(&mut self, record: &StepRecord, out: &mut String) {
        let Some(subscription) = &mut self.subscription else { return };
        if subscription.epoch != record.epoch {
            // The world was reset: steps count from zero again.
            *subscription =
                Subscription { due: StepIndex(subscription.interval), epoch: record.epoch, ..*subscription };
        }
        // What a device that is off has not said is counted as missed when it is back.
        if record.step < subscription.due || record.off[self.device.index()] {
            return;
        }
        let dropped = (record.step.0 - subscription.due.0) / subscription.interval;
        subscription.due = subscription.due.after((dropped + 1) * subscription.interval);
        self.write_sample(record, dropped, out);
    }

    /// A sample says what was at its step: of an actuator the state that acted then, not one that is on its way.
    fn write_sample(&self, record: &StepRecord, dropped: u64, out: &mut String) {
        let values = &record.values[self.layout.device(self.device)];
        device::write_sample(record.step, self.timestep, values, dropped, out);
    }

    fn is_off(&self, record: &StepRecord) -> bool {
        record.off[self.device.index()]
    }

    fn values(&self, record: &StepRecord) -> Vec<f64> {
        self.board.values(self.device, &self.layout, record)
    }

    fn write_frame(&self, values: &[f64], out: &mut String) {
        if self.layout.device_info(self.device).kind == DeviceKind::EchoSensor {
            let heard = self.board.heard(self.device);
            out.push_str(&if heard.starts_with('<') { heard } else { format!("<{heard}>") });
        } else {
            out.push_str(&number::frame(values));
        }
        out.push('\n');
    }
}

impl Subscription {
    fn after(interval: u64, record: &StepRecord) -> Self {
        Self { interval, due: record.step.after(interval), epoch: record.epoch }
    }
}

/// What is said of a message over the limit.
pub fn too_long() -> Refusal {
    const { assert!(MAX_MESSAGE == 4096, "the text below says the limit") };
    Refusal::Message("expected a message of at most 4096 bytes")
}
