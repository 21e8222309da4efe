//! The two ends of the bridge as streams of lines, and the opening of the serial one.

use anyhow::{Context, Result};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio_serial::{SerialPortBuilderExt, SerialStream};

/// The longest line that is passed on, as long as the longest message of a combined port.
pub const LONGEST: usize = 65_536;

/// Which serial line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wire {
    /// A device, at a rate in bits per second.
    Device {
        /// Such as `/dev/ttyUSB0` or `COM3`.
        path: String,
        /// Bits per second.
        baud: u32,
    },
    /// A pseudo-terminal of our own, whose other side has a name.
    Pseudo,
}

/// A serial line that is open.
#[derive(Debug)]
pub struct Serial {
    /// The open line.
    pub stream: SerialStream,
    /// Path that the controller opens, for a pseudo-terminal.
    pub other_side: Option<String>,
    /// Kept open, so that a controller may disconnect and reconnect.
    _kept: Option<SerialStream>,
}

impl Wire {
    /// Opens the line.
    ///
    /// # Errors
    /// There is no such device, another program uses it, or this system has no pseudo-terminals.
    pub fn open(&self) -> Result<Serial> {
        match self {
            Self::Device { path, baud } => {
                let stream = tokio_serial::new(path, *baud)
                    .open_native_async()
                    .with_context(|| format!("cannot open the serial line '{path}' at {baud} bits/s; {}", present()))?;
                Ok(Serial { stream, other_side: None, _kept: None })
            }
            Self::Pseudo => pseudo(),
        }
    }
}

/// Lists the available lines, for the error about one that cannot be opened.
fn present() -> String {
    let names: Vec<String> =
        tokio_serial::available_ports().unwrap_or_default().into_iter().map(|port| port.port_name).collect();
    match names.is_empty() {
        true => "no serial line is known here; is it plugged in, and may you use it?".into(),
        false => format!("there are {}", names.join(", ")),
    }
}

#[cfg(unix)]
fn pseudo() -> Result<Serial> {
    use tokio_serial::SerialPort;
    let (stream, mut other) = SerialStream::pair().context("the system gives no pseudo-terminal")?;
    other.set_exclusive(false).context("the pseudo-terminal cannot be shared")?;
    let other_side = other.name().context("the pseudo-terminal has no name")?;
    Ok(Serial { stream, other_side: Some(other_side), _kept: Some(other) })
}

#[cfg(not(unix))]
fn pseudo() -> Result<Serial> {
    anyhow::bail!("this system has no pseudo-terminals; name a serial line with --device")
}

/// Lines from one side. A line that is too long is skipped.
#[derive(Debug)]
pub struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    too_long: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of a stream.
    pub fn new(stream: R) -> Self {
        Self { reader: BufReader::new(stream), line: Vec::new(), too_long: false }
    }

    /// The next line with its end, or `None` at the end of the stream. A cancelled call can be repeated without loss.
    ///
    /// # Errors
    /// The stream fails.
    pub async fn next(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        loop {
            let free = (LONGEST + 2 - self.line.len()) as u64;
            let count = (&mut self.reader).take(free).read_until(b'\n', &mut self.line).await?;
            let ends = self.line.last() == Some(&b'\n');
            if !ends && count > 0 && self.line.len() < LONGEST + 2 {
                continue;
            }
            let line = std::mem::take(&mut self.line);
            match (ends, std::mem::replace(&mut self.too_long, !ends)) {
                (true, false) => return Ok(Some(line)),
                _ if count == 0 => return Ok(None),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_that_is_too_long_is_passed_over() {
        let text = [b"first\n".to_vec(), vec![b'x'; 3 * LONGEST], b"\nsecond\r\nrest".to_vec()].concat();
        let mut lines = Lines::new(&text[..]);
        assert_eq!(lines.next().await.unwrap(), Some(b"first\n".to_vec()));
        assert_eq!(lines.next().await.unwrap(), Some(b"second\r\n".to_vec()));
        assert_eq!(lines.next().await.unwrap(), None);
    }
}
