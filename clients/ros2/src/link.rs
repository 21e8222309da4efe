//! Connections to the server, in lines.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use simpartner_wire::protocol::word;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    time::timeout,
};

/// The longest line that is read, bytes: the scene of a world with meshes of a million triangles.
const MAX_LINE_BYTES: u64 = 256 << 20;

/// Time limit for an answer that needs no step, and for a line to be taken.
const SERVER_TIMEOUT: Duration = Duration::from_secs(10);

/// Address of a server.
#[derive(Debug, Clone)]
pub struct Server {
    /// The control port, `host:port`.
    pub control: String,
    /// Its token, if it requires one.
    pub token: Option<String>,
}

/// A connection.
#[derive(Debug)]
pub struct Link {
    /// The incoming half.
    pub reader: Reader,
    /// Sending half.
    pub writer: Writer,
}

/// The incoming half of a connection.
#[derive(Debug)]
pub struct Reader(BufReader<OwnedReadHalf>);

/// Sending half of a connection.
#[derive(Debug)]
pub struct Writer(OwnedWriteHalf);

impl Server {
    /// Connects to the control port.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn control(&self) -> Result<Link> {
        self.open(&self.control).await.with_context(|| format!("no server at {}", self.control))
    }

    /// Connects to another port of the same server.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn port(&self, port: u16) -> Result<Link> {
        let (host, _) =
            self.control.rsplit_once(':').with_context(|| format!("expected HOST:PORT, got '{}'", self.control))?;
        self.open(&format!("{host}:{port}")).await.with_context(|| format!("no answer from port {port}"))
    }

    async fn open(&self, address: &str) -> Result<Link> {
        let stream = timeout(SERVER_TIMEOUT, TcpStream::connect(address)).await.context("it takes too long")??;
        stream.set_nodelay(true)?;
        let (reader, writer) = stream.into_split();
        let mut link = Link { reader: Reader(BufReader::new(reader)), writer: Writer(writer) };
        if let Some(token) = &self.token {
            link.writer.send(&format!("TOKEN {token}")).await?;
        }
        Ok(link)
    }
}

impl Link {
    /// Sends a line and returns the answer of one line.
    ///
    /// # Errors
    /// The connection ends.
    pub async fn request(&mut self, line: &str) -> Result<String> {
        self.writer.send(line).await?;
        timeout(SERVER_TIMEOUT, self.reader.line()).await.with_context(|| format!("no answer to {line}"))?
    }

    /// The same of a request whose answer may take its time.
    ///
    /// # Errors
    /// When the connection ends.
    pub async fn ask_patiently(&mut self, line: &str) -> Result<String> {
        self.writer.send(line).await?;
        self.reader.line().await
    }

    /// The first line, which ports of devices and robots send as a greeting.
    ///
    /// # Errors
    /// No line comes.
    pub async fn greeting(&mut self) -> Result<String> {
        timeout(SERVER_TIMEOUT, self.reader.line()).await.context("the port says nothing")?
    }

    /// The robots' names and their combined ports.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn robots(&mut self) -> Result<Vec<(String, u16)>> {
        let mut robots = Vec::new();
        let mut line = self.request("ROBOTS").await?;
        while line.starts_with("ROBOT ") {
            let port = word(&line, "bound").and_then(|port| port.parse().ok());
            let (name, port) = word(&line, "name").zip(port).with_context(|| format!("unexpected line '{line}'"))?;
            robots.push((name.to_owned(), port));
            line = self.reader.line().await?;
        }
        ensure!(line.starts_with("OK"), "the server refuses: {line}");
        Ok(robots)
    }
}

impl Reader {
    /// The next line without its end.
    ///
    /// # Errors
    /// When there is none, or it is no text.
    pub async fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        let count = (&mut self.0).take(MAX_LINE_BYTES).read_line(&mut line).await.context("the connection broke")?;
        if count == 0 {
            bail!("the server has closed the connection");
        }
        ensure!(line.ends_with('\n'), "a line of the server is longer than {MAX_LINE_BYTES} bytes, or broke off");
        line.truncate(line.trim_end_matches(['\r', '\n']).len());
        Ok(line)
    }
}

impl Reader {
    /// So many bytes, which are no text.
    ///
    /// # Errors
    /// When there are fewer.
    pub async fn bytes(&mut self, count: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.0.read_exact(&mut bytes).await.context("the connection broke")?;
        Ok(bytes)
    }
}

impl Writer {
    /// Sends a line.
    ///
    /// # Errors
    /// The connection ends, or the server does not read.
    pub async fn send(&mut self, line: &str) -> Result<()> {
        let line = format!("{line}\n");
        timeout(SERVER_TIMEOUT, self.0.write_all(line.as_bytes())).await.context("the server does not read")??;
        Ok(())
    }
}
