//! The way to a robot's combined port: asked for at the control port, then connected to.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use simpartner_wire::protocol::word;
use tokio::{io::AsyncWriteExt, net::TcpStream, time::timeout};

use crate::line::Lines;

/// Time limit for the server's answers.
const SERVER_TIMEOUT: Duration = Duration::from_secs(5);

/// Address of the robot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Robot {
    /// `host:port` of the control port.
    pub server: String,
    /// The token that the server requires, if it does.
    pub token: Option<String>,
    /// The robot's name.
    pub name: String,
}

/// Reason why there is no connection.
#[derive(Debug)]
pub enum Failure {
    /// Trying again may help.
    Unreachable(anyhow::Error),
    /// The server refuses.
    Refused(anyhow::Error),
}

impl Robot {
    /// Finds the robot's port and connects to it.
    ///
    /// # Errors
    /// The server does not answer, has no such robot, or refuses the connection.
    pub async fn connect(&self) -> Result<TcpStream, Failure> {
        let lines = async {
            let stream = self.open(&self.server).await?;
            let host = stream.peer_addr()?.ip();
            let mut incoming = Lines::new(stream);
            let mut lines = Vec::new();
            loop {
                let line = incoming.next().await?.context("the server has closed the connection")?;
                let line = String::from_utf8_lossy(&line).trim().to_owned();
                let ends = line.starts_with("OK ") || line.starts_with("ERR ");
                lines.push(line);
                if ends {
                    return anyhow::Ok((host, lines));
                }
            }
        };
        let lines = timeout(SERVER_TIMEOUT, lines).await.context("the server does not answer").flatten();
        let (host, lines) = lines.with_context(|| format!("at {}", self.server)).map_err(Failure::Unreachable)?;
        let port = find(&lines, &self.name).map_err(Failure::Refused)?;
        let address = std::net::SocketAddr::new(host, port);
        let stream = TcpStream::connect(address).await.with_context(|| format!("at {address}"));
        let mut stream = stream.map_err(Failure::Unreachable)?;
        self.introduce(&mut stream).await.map_err(Failure::Unreachable)?;
        Ok(stream)
    }

    /// A connection to the control port that has asked for the robots.
    async fn open(&self, address: &str) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(address).await.context("nobody answers")?;
        self.introduce(&mut stream).await?;
        stream.write_all(b"ROBOTS\n").await?;
        Ok(stream)
    }

    async fn introduce(&self, stream: &mut TcpStream) -> Result<()> {
        stream.set_nodelay(true)?;
        if let Some(token) = &self.token {
            stream.write_all(format!("TOKEN {token}\n").as_bytes()).await?;
        }
        Ok(())
    }
}

/// The port behind a robot's name in the answer to `ROBOTS`.
fn find(lines: &[String], name: &str) -> Result<u16> {
    if let Some(refusal) = lines.last().filter(|line| line.starts_with("ERR ")) {
        bail!("the server refuses: {refusal}");
    }
    let robots: Vec<&String> = lines.iter().filter(|line| line.starts_with("ROBOT ")).collect();
    let names: Vec<&str> = robots.iter().filter_map(|line| word(line, "name")).collect();
    ensure!(!names.is_empty(), "the server has no robot");
    let line = robots.iter().find(|line| word(line, "name") == Some(name));
    let line = line.with_context(|| format!("the server has no robot '{name}'; it has {}", names.join(", ")))?;
    let port = word(line, "bound").and_then(|port| port.parse().ok());
    port.with_context(|| format!("expected bound=PORT in '{line}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_robot_is_found_by_its_name() {
        let lines = ["ROBOT name=A port=0 bound=40001", "ROBOT name=B port=7000 bound=7000", "OK 2"].map(String::from);
        assert_eq!(find(&lines, "A").unwrap(), 40_001);
        assert_eq!(find(&lines, "C").unwrap_err().to_string(), "the server has no robot 'C'; it has A, B");
        let refused = ["ERR 9 expected TOKEN and the server's token".to_owned()];
        let what = find(&refused, "A").unwrap_err().to_string();
        assert_eq!(what, "the server refuses: ERR 9 expected TOKEN and the server's token");
        assert_eq!(find(&["OK 0".to_owned()], "A").unwrap_err().to_string(), "the server has no robot");
    }
}
