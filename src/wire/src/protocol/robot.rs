//! The session of one client of a robot's combined port, independent of sockets.

use std::sync::Arc;

use simpartner_model::{RobotId, StepIndex, Timestep};

use super::{
    Accepted, CommandBoard, Order, Refusal, Request, Session,
    combined::{RobotCommand, RobotRequest, describe_robot, read_request, readings, write_robot_sample},
    framing::{Decoder, Flow, MAX_COMBINED},
    number,
    stream::Stream,
};
use crate::signal::{Acknowledgement, ClientId, Layout, Member, Renumbering, StepRecord};

/// A client of a robot.
#[derive(Debug)]
pub struct RobotSession {
    layout: Arc<Layout>,
    board: Arc<CommandBoard>,
    timestep: Timestep,
    robot: RobotId,
    client: ClientId,
    port: u16,
    decoder: Decoder,
    stream: Stream,
}

impl RobotSession {
    /// A client that has just connected to the combined port of a robot, which is `port`.
    pub fn new(
        layout: Arc<Layout>,
        board: Arc<CommandBoard>,
        timestep: Timestep,
        robot: RobotId,
        client: ClientId,
        port: u16,
    ) -> Self {
        let (decoder, stream) = (Decoder::with_limit(MAX_COMBINED), Stream::default());
        Self { layout, board, timestep, robot, client, port, decoder, stream }
    }

    fn answer(
        &mut self,
        text: &str,
        record: &StepRecord,
        send: &mut impl FnMut(Request) -> Result<Accepted, Refusal>,
        out: &mut String,
    ) -> Result<(), Refusal> {
        match read_request(&self.layout, self.robot, text)? {
            RobotRequest::Poll => self.write_frame(record, out),
            RobotRequest::Get => self.write_sample(record, 0, out),
            RobotRequest::Subscribe(samples) => {
                self.stream.subscribe(samples, record);
                out.push_str("OK\n");
            }
            RobotRequest::Info => {
                out.push_str(&describe_robot(&self.layout, self.robot, self.port));
                out.push('\n');
            }
            RobotRequest::Acknowledge { seen, commands } => {
                let answer = Acknowledgement::of(Member::Robot(self.robot), self.client, seen, record);
                let orders = commands.into_iter().map(|command| self.order(command, None)).collect();
                let send = |answer| self.board.acknowledge(answer, orders, &self.layout, record, send);
                if self.stream.acknowledge(answer, record, send)? {
                    self.write_sample(record, 0, out);
                }
            }
            RobotRequest::Commands { commands, at } => {
                let orders = commands.into_iter().map(|command| self.order(command, at)).collect();
                let send = |commands| send(Request::Commands(commands)).map(drop);
                self.board.accept_all(orders, &self.layout, record, send)?;
                out.push_str("OK\n");
            }
        }
        Ok(())
    }

    fn order(&self, command: RobotCommand, at: Option<StepIndex>) -> Order {
        let RobotCommand { device, text, action } = command;
        Order { device, client: self.client, at, text, action }
    }

    fn write_sample(&self, record: &StepRecord, dropped: u64, out: &mut String) {
        write_robot_sample(&self.layout, self.robot, record, self.timestep, dropped, out);
    }

    fn write_frame(&self, record: &StepRecord, out: &mut String) {
        out.push_str(&number::frame(&readings(&self.layout, self.robot, record)));
        out.push('\n');
    }
}

impl Session for RobotSession {
    fn greet(&self, record: &StepRecord, out: &mut String) {
        self.write_frame(record, out);
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
        if let Some(dropped) = self.stream.due(record) {
            self.write_sample(record, dropped, out);
        }
    }

    fn go_on_in(&mut self, layout: &Arc<Layout>, board: &Arc<CommandBoard>, numbers: &Renumbering) -> bool {
        let Some(robot) = numbers.robot(self.robot) else { return false };
        (self.layout, self.board, self.robot) = (Arc::clone(layout), Arc::clone(board), robot);
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
