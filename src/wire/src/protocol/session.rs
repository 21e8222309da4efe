//! The session of one client of one device, independent of sockets: bytes and records in, text out.

use std::sync::Arc;

use simpartner_model::{DeviceId, StepIndex, Timestep};

use super::{
    Accepted, CommandBoard, Order, Refusal, Request,
    device::{self, Answer, DeviceRequest, FrameCommand},
    framing::{Decoder, Flow, MAX_MESSAGE, refuse_control_characters},
    number,
    stream::Stream,
};
use crate::signal::{Acknowledgement, Action, ClientId, DeviceKind, Layout, Member, Renumbering, StepRecord};

/// A client of a port that has readings or a state.
pub trait Session {
    /// Greeting of the port.
    fn greet(&self, record: &StepRecord, out: &mut String);

    /// Consumes the client's bytes up to the end of the first message, and answers it. `send` puts a request in the
    /// queue to the physics thread. Returns the number of consumed bytes, and whether the session continues. Messages
    /// are handled one by one, so that the caller can send each answer before the next message.
    fn receive(
        &mut self,
        bytes: &[u8],
        record: &StepRecord,
        send: impl FnMut(Request) -> Result<Accepted, Refusal>,
        out: &mut String,
    ) -> (usize, Flow);

    /// Handles a new record: writes the sample that is due, if any. Samples without a record are counted in `dropped`.
    fn sample(&mut self, record: &StepRecord, out: &mut String);

    /// Continues in an edited world. False if the object of the port no longer exists; the session must then not be
    /// used.
    #[must_use]
    fn go_on_in(&mut self, layout: &Arc<Layout>, board: &Arc<CommandBoard>, numbers: &Renumbering) -> bool;

    /// True while the client is sent samples by itself.
    fn is_subscribed(&self) -> bool;

    /// True while that is every sample, so that the session has to see every record. Otherwise it may see the newest
    /// only.
    fn wants_all(&self) -> bool;

    /// True while a message has begun and not ended.
    fn is_within_message(&self) -> bool;
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
    stream: Stream,
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
        let (decoder, stream) = (Decoder::default(), Stream::default());
        Self { layout, board, timestep, device, client, port, decoder, stream }
    }

    /// Handles a complete message without brackets or line end, such as one from the viewer.
    pub fn take(
        &mut self,
        text: &str,
        record: &StepRecord,
        mut send: impl FnMut(Request) -> Result<Accepted, Refusal>,
        out: &mut String,
    ) {
        let answered = match text.len() {
            ..=MAX_MESSAGE => {
                refuse_control_characters(text).and_then(|()| self.answer(text.trim(), record, &mut send, out))
            }
            _ => Err(self.decoder.too_long()),
        };
        if let Err(refusal) = answered {
            out.push_str(&format!("{refusal}\n"));
        }
    }

    fn answer(
        &mut self,
        text: &str,
        record: &StepRecord,
        send: &mut impl FnMut(Request) -> Result<Accepted, Refusal>,
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
            DeviceRequest::Subscribe(samples) => {
                self.stream.subscribe(samples, record);
                out.push_str("OK\n");
            }
            DeviceRequest::Info => {
                out.push_str(&device::describe(info, self.timestep, self.port));
                out.push('\n');
            }
            DeviceRequest::Acknowledge { seen, command } => {
                let answer = Acknowledgement::of(Member::Device(self.device), self.client, seen, record);
                let order = |FrameCommand { text, action }| self.order(None, text, action);
                let orders = command.map(order).into_iter().collect();
                let send = |answer| self.board.acknowledge(answer, orders, &self.layout, record, send);
                if self.stream.acknowledge(answer, record, send)? {
                    self.write_sample(record, 0, out);
                }
            }
            DeviceRequest::Command { action, at, answer } => {
                let order = self.order(at, text.to_owned(), action);
                let send = |command| send(Request::Commands(vec![command])).map(drop);
                let previous = self.board.accept(order, &self.layout, record, send)?;
                match answer {
                    Answer::Ok => out.push_str("OK\n"),
                    Answer::PreviousState => self.write_frame(&previous, out),
                }
            }
        }
        Ok(())
    }

    fn order(&self, at: Option<StepIndex>, text: String, action: Action) -> Order {
        Order { device: self.device, client: self.client, at, text, action }
    }

    /// A sample has the state at its step: of an actuator the state that acted then, not a pending one.
    fn write_sample(&self, record: &StepRecord, dropped: u64, out: &mut String) {
        let values = record.device(&self.layout, self.device);
        device::write_sample(record.step, self.timestep, values, dropped, out);
    }

    pub(super) fn is_off(&self, record: &StepRecord) -> bool {
        record.off[self.device.index()]
    }

    fn values(&self, record: &StepRecord) -> Vec<f64> {
        self.board.values(self.device, &self.layout, record)
    }

    fn write_frame(&self, values: &[f64], out: &mut String) {
        if self.layout.device_info(self.device).kind == DeviceKind::EchoSensor {
            let text = self.board.last_text(self.device);
            out.push_str(&if text.starts_with('<') { text } else { format!("<{text}>") });
        } else {
            out.push_str(&number::frame(values));
        }
        out.push('\n');
    }
}

impl Session for DeviceSession {
    fn greet(&self, record: &StepRecord, out: &mut String) {
        match self.is_off(record) {
            true => out.push_str(&format!("{}\n", Refusal::Off)),
            false => self.write_frame(&self.values(record), out),
        }
    }

    fn receive(
        &mut self,
        bytes: &[u8],
        record: &StepRecord,
        mut send: impl FnMut(Request) -> Result<Accepted, Refusal>,
        out: &mut String,
    ) -> (usize, Flow) {
        // The decoder is taken out, so that the session can be borrowed for the answer.
        let mut decoder = std::mem::take(&mut self.decoder);
        let taken = decoder.answer_next(bytes, out, |text, out| self.answer(text, record, &mut send, out));
        self.decoder = decoder;
        taken
    }

    fn sample(&mut self, record: &StepRecord, out: &mut String) {
        // Samples of a device that is powered off count as missed once it is back.
        if !self.is_off(record)
            && let Some(dropped) = self.stream.due(record)
        {
            self.write_sample(record, dropped, out);
        }
    }

    fn go_on_in(&mut self, layout: &Arc<Layout>, board: &Arc<CommandBoard>, numbers: &Renumbering) -> bool {
        let Some(device) = numbers.device(self.device) else { return false };
        (self.layout, self.board, self.device) = (Arc::clone(layout), Arc::clone(board), device);
        true
    }

    fn is_subscribed(&self) -> bool {
        self.stream.is_on()
    }

    fn wants_all(&self) -> bool {
        self.stream.wants_all()
    }

    fn is_within_message(&self) -> bool {
        self.decoder.is_within_message()
    }
}
