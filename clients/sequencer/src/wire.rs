//! A connection with requests and answers of one line each, and the two answers of the control port that clients read.
//!
//! It does not depend on sequences. [`simpartner_wire::protocol`] documents the lines.

use std::{
    io::{self, BufRead, BufReader, ErrorKind, Read, Write},
    net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs},
    time::Duration,
};

use anyhow::{Context, Result, anyhow, bail, ensure};
pub use simpartner_wire::protocol::word;
use simpartner_wire::signal::{StepIndex, Timestep};

/// Default time limit for a server to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Default time limit for an answer that needs no step.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest line that is read, bytes: far above a scanner's reading; it bounds the memory that another program can make
/// this one use.
const MAX_LINE: u64 = 1 << 20;

/// A connection to a port of a server.
#[derive(Debug)]
pub struct Connection {
    reader: BufReader<TcpStream>,
    /// Whom it talks to, in words.
    peer: String,
    /// Time limit for an answer that needs no step.
    patience: Duration,
}

impl Connection {
    /// Connects to a `host:port` and sends the token, if there is one. `who` names the port in messages.
    ///
    /// # Errors
    /// The connection is refused.
    pub fn open(address: &str, who: &str, token: Option<&str>) -> Result<Self> {
        Self::open_within(address, who, token, CONNECT_TIMEOUT, ANSWER_TIMEOUT)
    }

    /// The same with a time limit for the connection, and with the limit `patience` for an answer.
    ///
    /// # Errors
    /// The connection is refused or times out.
    pub fn open_within(
        address: &str,
        who: &str,
        token: Option<&str>,
        connecting: Duration,
        patience: Duration,
    ) -> Result<Self> {
        let peer = format!("{who} at {address}");
        let found = address.to_socket_addrs().with_context(|| format!("cannot find {peer}"))?;
        let stream = connect(found, connecting).map_err(|error| anyhow!("cannot connect to {peer}: {error}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        let mut connection = Self { reader: BufReader::new(stream), peer, patience };
        if let Some(token) = token {
            connection.send_line(&format!("TOKEN {token}"))?;
        }
        Ok(connection)
    }

    /// Address of the server.
    ///
    /// # Errors
    /// The connection is lost.
    pub fn host(&self) -> Result<IpAddr> {
        Ok(self.reader.get_ref().peer_addr().map_err(|error| self.lost(&error))?.ip())
    }

    /// Sends a line.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn send_line(&mut self, line: &str) -> Result<()> {
        let sent = self.reader.get_mut().write_all(format!("{line}\n").as_bytes());
        sent.map_err(|error| self.lost(&error))
    }

    /// The next line, without its end.
    ///
    /// # Errors
    /// None comes in time, or the connection is lost.
    pub fn read_line(&mut self) -> Result<String> {
        let mut line = String::new();
        let read = (&mut self.reader).take(MAX_LINE).read_line(&mut line);
        read.map_err(|error| self.lost(&error))?;
        match line.strip_suffix('\n') {
            Some(line) => Ok(line.trim_end_matches('\r').to_owned()),
            None if line.len() as u64 == MAX_LINE => bail!("{} does not speak SimPartner's protocol", self.peer),
            None => bail!("{} has closed the connection; its run may be over", self.peer),
        }
    }

    /// Sends a line and waits for the answer.
    ///
    /// # Errors
    /// None comes in time, or the connection is lost.
    pub fn ask(&mut self, line: &str) -> Result<String> {
        self.send_line(line)?;
        self.read_line()
    }

    /// The same for an answer that takes as long as it takes.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn ask_patiently(&mut self, line: &str) -> Result<String> {
        self.reader.get_ref().set_read_timeout(None)?;
        let answer = self.ask(line);
        self.reader.get_ref().set_read_timeout(Some(self.patience))?;
        answer
    }

    fn lost(&self, error: &io::Error) -> anyhow::Error {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                anyhow!("{} has not answered for {} s", self.peer, self.patience.as_secs_f64())
            }
            ErrorKind::InvalidData => anyhow!("{} does not speak SimPartner's protocol", self.peer),
            _ => anyhow!("the connection to {} is lost: {error}", self.peer),
        }
    }
}

/// Connects to the first address that answers.
fn connect(addresses: impl Iterator<Item = SocketAddr>, patience: Duration) -> io::Result<TcpStream> {
    let mut refusal = io::Error::new(ErrorKind::NotFound, "the name has no address");
    for address in addresses {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(stream) => return Ok(stream),
            Err(error) => refusal = error,
        }
    }
    Err(refusal)
}

/// True if the server's clock runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Steps are in progress.
    Playing,
    /// The clock is paused.
    Paused,
}

/// State of the server, from `OK state=.. step=.. ..`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct State {
    /// True if the clock runs.
    pub clock: Clock,
    /// Number of steps.
    pub step: StepIndex,
    /// Length of a step.
    pub timestep: Timestep,
    /// Number of resets of the world.
    pub epoch: u32,
    /// Simulated seconds per wall second: the set rate in realtime, the measured one in the mode fast.
    pub speed: f64,
}

impl State {
    /// Reads the answer to a request to the clock.
    ///
    /// # Errors
    /// When the server refuses the request, its run is over, or the line is no such answer.
    pub fn read(line: &str) -> Result<Self> {
        ensure!(line.starts_with("OK "), "the server answers: {line}");
        let clock = match word(line, "state") {
            Some("PLAYING") => Clock::Playing,
            Some("PAUSED") => Clock::Paused,
            Some("QUITTING") => bail!("the server's run is over"),
            _ => bail!("expected 'OK state=..', got '{line}'"),
        };
        let timestep = Timestep::from_seconds(number(line, "timestep")?)?;
        let speed = number(line, if word(line, "mode") == Some("fast") { "rtf" } else { "rate" })?;
        Ok(Self { clock, step: StepIndex(number(line, "step")?), timestep, epoch: number(line, "epoch")?, speed })
    }
}

/// A device, from `DEVICE .. port=.. bound=..`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its name in the model.
    pub name: String,
    /// Kind of the device, such as `JointController`.
    pub kind: String,
    /// The robot it belongs to.
    pub robot: String,
    /// The port in the model, which sequences name.
    pub port: u16,
    /// The port it listens on.
    pub bound: u16,
}

impl Device {
    /// Reads one line of the answer to `DEVICES`, or `None` at its end.
    ///
    /// # Errors
    /// The server refuses the request, or the line is not such an answer.
    pub fn read(line: &str) -> Result<Option<Self>> {
        if line.starts_with("OK ") {
            return Ok(None);
        }
        ensure!(line.starts_with("DEVICE "), "the server answers: {line}");
        let text =
            |key: &str| word(line, key).map(str::to_owned).with_context(|| format!("expected {key}=.. in '{line}'"));
        let (name, kind, robot) = (text("name")?, text("kind")?, text("robot")?);
        Ok(Some(Self { name, kind, robot, port: number(line, "port")?, bound: number(line, "bound")? }))
    }
}

fn number<T: std::str::FromStr>(line: &str, key: &str) -> Result<T> {
    word(line, key)
        .and_then(|word| word.parse().ok())
        .with_context(|| format!("expected {key}= and a number, got '{line}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_from_the_line_that_the_server_sends() {
        let line = "OK state=PLAYING step=12 time=0.0036 timestep=0.0003 mode=fast rate=1 rtf=8.5 slips=0 epoch=2";
        let state = State::read(line).unwrap();
        assert_eq!((state.clock, state.step, state.epoch, state.speed), (Clock::Playing, StepIndex(12), 2, 8.5));
        assert_eq!(state.timestep.nanoseconds(), 300_000);
        let refused = State::read("ERR 7 the run is over").unwrap_err().to_string();
        assert_eq!(refused, "the server answers: ERR 7 the run is over");
        assert!(State::read("OK state=QUITTING step=1").is_err());
        assert!(State::read("OK state=PAUSED step=one timestep=0.001 epoch=0").is_err());
    }

    #[test]
    fn a_device_has_a_port_in_the_model_and_one_to_connect_to() {
        let line = "DEVICE name=Motor kind=JointController robot=r joint=axle port=1027 bound=40001";
        let device = Device::read(line).unwrap().unwrap();
        assert_eq!(
            (device.name.as_str(), device.robot.as_str(), device.port, device.bound),
            ("Motor", "r", 1027, 40_001)
        );
        assert_eq!(device.kind, "JointController");
        assert_eq!(Device::read("OK 1").unwrap(), None);
        assert!(Device::read("DEVICE name=Motor port=1027").is_err());
    }
}
