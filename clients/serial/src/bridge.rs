//! The bridge: lines from the robot to the controller, lines from the controller to the robot, until it is stopped.
//!
//! Either side may disconnect and reconnect; lines of the other side are dropped meanwhile, because executing a stale
//! command is worse than losing it.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt, split},
    net::TcpStream,
    sync::mpsc::Receiver,
    time::{sleep, timeout},
};
use tokio_serial::{ClearBuffer, SerialPort};

use crate::{
    line::{Lines, Serial, Wire},
    server::{Failure, Robot},
    times::{Summary, Times},
};

/// Delay before the first reconnection; each further one is twice as long, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Time limit for writing a line, so that the bridge does not wait for a controller that reads nothing.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);

/// A request to a running bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BridgeRequest {
    /// Report the times so far.
    Times,
    /// End.
    Stop,
}

/// Status events of a running bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BridgeEvent {
    /// The serial line is open; for a pseudo-terminal, the name of its other end.
    SerialOpen(Option<String>),
    /// The robot is connected.
    RobotConnected,
    /// A side is not reachable, with the reason. The bridge connects again.
    Disconnected(String),
    /// The times so far.
    Times(Summary),
}

/// Reason for the end of a connection.
enum End {
    Serial(String),
    Robot(String),
    Stopped,
}

/// Runs a bridge until a request to stop, or until every sender of requests is dropped. Returns its times.
///
/// # Errors
/// The serial line cannot be opened at the start, or the server refuses the connection or has no such robot.
pub async fn run(
    wire: &Wire,
    robot: &Robot,
    requests: Receiver<BridgeRequest>,
    on_event: impl FnMut(BridgeEvent),
) -> Result<Summary> {
    let mut bridge = Bridge { requests, on_event, times: Times::default() };
    let mut serial = Some(bridge.open(wire)?);
    let mut pause = FIRST_PAUSE;
    loop {
        let end = match serial.as_mut() {
            Some(line) => match bridge.unless_stopped(robot.connect()).await {
                None => End::Stopped,
                Some(Ok(stream)) => {
                    pause = FIRST_PAUSE;
                    bridge.pump(line, stream).await
                }
                Some(Err(Failure::Unreachable(why))) => End::Robot(format!("{why:#}")),
                Some(Err(Failure::Refused(why))) => return Err(why),
            },
            None => match bridge.open(wire) {
                Ok(line) => {
                    serial = Some(line);
                    continue;
                }
                Err(why) => End::Serial(format!("{why:#}")),
            },
        };
        let why = match end {
            End::Stopped => return Ok(bridge.times.summary()),
            End::Robot(why) => format!("robot: {why}"),
            End::Serial(why) => {
                // A pseudo-terminal is known by its name and stays.
                serial = serial.filter(|_| *wire == Wire::Pseudo);
                format!("serial line: {why}")
            }
        };
        bridge.times.lost();
        (bridge.on_event)(BridgeEvent::Disconnected(why));
        if bridge.unless_stopped(sleep(pause)).await.is_none() {
            return Ok(bridge.times.summary());
        }
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
}

struct Bridge<T> {
    requests: Receiver<BridgeRequest>,
    on_event: T,
    times: Times,
}

impl<T: FnMut(BridgeEvent)> Bridge<T> {
    fn open(&mut self, wire: &Wire) -> Result<Serial> {
        let serial = wire.open()?;
        (self.on_event)(BridgeEvent::SerialOpen(serial.other_side.clone()));
        Ok(serial)
    }

    /// Waits for a future and answers requests meanwhile; `None` after a request to stop.
    async fn unless_stopped<F: Future>(&mut self, future: F) -> Option<F::Output> {
        tokio::pin!(future);
        loop {
            tokio::select! {
                output = &mut future => return Some(output),
                request = self.requests.recv() => if self.stops(request) { return None },
            }
        }
    }

    fn stops(&mut self, request: Option<BridgeRequest>) -> bool {
        if request == Some(BridgeRequest::Times) {
            (self.on_event)(BridgeEvent::Times(self.times.summary()));
        }
        request != Some(BridgeRequest::Times)
    }

    /// Passes lines until one side ends.
    async fn pump(&mut self, serial: &mut Serial, mut stream: TcpStream) -> End {
        // Pending input belongs to an earlier connection.
        if let Err(error) = serial.stream.clear(ClearBuffer::All) {
            return End::Serial(error.to_string());
        }
        (self.on_event)(BridgeEvent::RobotConnected);
        let (from_serial, mut to_serial) = split(&mut serial.stream);
        let (from_robot, mut to_robot) = stream.split();
        let (mut from_serial, mut from_robot) = (Lines::new(from_serial), Lines::new(from_robot));
        loop {
            tokio::select! {
                line = from_robot.next() => {
                    let line = match line.context("the connection broke") {
                        Ok(Some(line)) => line,
                        Ok(None) => return End::Robot("the server has closed the connection".into()),
                        Err(error) => return End::Robot(format!("{error:#}")),
                    };
                    if let Err(error) = write(&mut to_serial, &line).await {
                        return End::Serial(format!("{error:#}"));
                    }
                    if line.starts_with(b"S ") {
                        self.times.sent();
                    }
                }
                line = from_serial.next() => {
                    let line = match line.context("it cannot be read") {
                        Ok(Some(line)) => line,
                        Ok(None) => return End::Serial("it was closed".into()),
                        Err(error) => return End::Serial(format!("{error:#}")),
                    };
                    self.times.received();
                    if let Err(error) = write(&mut to_robot, &line).await {
                        return End::Robot(format!("{error:#}"));
                    }
                }
                request = self.requests.recv() => if self.stops(request) { return End::Stopped },
            }
        }
    }
}

async fn write(to: &mut (impl AsyncWrite + Unpin), line: &[u8]) -> Result<()> {
    timeout(WRITE_TIMEOUT, to.write_all(line))
        .await
        .context("nobody reads at the other side")?
        .context("it cannot be written")
}
