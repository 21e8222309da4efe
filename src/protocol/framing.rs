//! Bytes into messages: lines that end in LF and frames in `<` and `>`, mixed and split as the network likes.

use super::Refusal;

/// The longest message, without its line end or brackets, in bytes.
pub const MAX_MESSAGE: usize = 4096;
/// The longest on a combined port: the commands of a robot of some hundred actuators.
pub const MAX_COMBINED: usize = 65_536;

/// Whether a conversation goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// It does.
    Open,
    /// Close the connection, after sending what has been written.
    Close,
}

/// A message as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// A line or a frame, without its end, its brackets and the blanks around it.
    Text(&'a str),
    /// A message over the limit; the rest of it is passed over.
    TooLong,
    /// A message that is not UTF-8.
    NotText,
    /// The line that opens an HTTP request: a web page is talking to the wrong port.
    Http,
}

/// Cuts a stream into messages. It keeps at most one unfinished message.
#[derive(Debug)]
pub struct Decoder {
    buffer: Vec<u8>,
    inside: Inside,
    limit: usize,
}

impl Default for Decoder {
    /// With the limit [`MAX_MESSAGE`].
    fn default() -> Self {
        Self::with_limit(MAX_MESSAGE)
    }
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// Before the first byte of a message, or within a line.
    #[default]
    Line,
    /// Behind a `<`.
    Frame,
    /// Behind a `>`: a line end here belongs to the frame.
    AfterFrame,
    /// In a line that is too long already.
    LongLine,
    /// In a frame that is too long already.
    LongFrame,
}

impl Decoder {
    /// For messages of at most so many bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self { buffer: Vec::new(), inside: Inside::default(), limit }
    }

    /// What is said of a message over the limit.
    pub fn too_long(&self) -> Refusal {
        Refusal::Message(format!("expected a message of at most {} bytes", self.limit))
    }

    /// Takes bytes from a client and lets `answer` answer each message they complete. A refusal goes into `out`.
    pub(super) fn hear(
        &mut self,
        bytes: &[u8],
        out: &mut String,
        mut answer: impl FnMut(&str, &mut String) -> Result<(), Refusal>,
    ) -> Flow {
        let (mut flow, too_long) = (Flow::Open, self.too_long());
        self.push(bytes, |message| {
            if flow == Flow::Close {
                return;
            }
            let result = match message {
                Message::Http => {
                    flow = Flow::Close;
                    return;
                }
                Message::NotText => {
                    flow = Flow::Close;
                    Err(Refusal::Message("expected UTF-8 text".into()))
                }
                Message::TooLong => Err(too_long.clone()),
                Message::Text(text) => answer(text, out),
            };
            if let Err(refusal) = result {
                out.push_str(&format!("{refusal}\n"));
            }
        });
        flow
    }

    /// Takes bytes and hands over each message they complete. What is no text and what opens an HTTP request is handed over
    /// as soon as it is known, without waiting for its end.
    pub fn push(&mut self, bytes: &[u8], mut message: impl FnMut(Message<'_>)) {
        for &byte in bytes {
            self.inside = match (self.inside, byte) {
                (Inside::AfterFrame, b'\r') => Inside::AfterFrame,
                (Inside::AfterFrame | Inside::LongLine, b'\n') | (Inside::LongFrame, b'\n') => Inside::Line,
                (Inside::LongFrame, b'>') => Inside::AfterFrame,
                (Inside::LongLine | Inside::LongFrame, _) => self.inside,
                (Inside::Line | Inside::AfterFrame, b'<') if self.is_blank() => {
                    self.buffer.clear();
                    Inside::Frame
                }
                (Inside::Line, b'\n') => {
                    message(self.whole());
                    self.buffer.clear();
                    Inside::Line
                }
                (Inside::Frame, b'>') => {
                    message(self.whole());
                    self.buffer.clear();
                    Inside::AfterFrame
                }
                (inside, _) => self.add(byte, inside, &mut message),
            };
        }
    }

    /// Adds a byte to the message under way.
    fn add(&mut self, byte: u8, inside: Inside, message: &mut impl FnMut(Message<'_>)) -> Inside {
        let in_frame = inside == Inside::Frame;
        if byte < b' ' && !matches!(byte, b'\t' | b'\r' | b'\n') {
            message(Message::NotText);
        }
        if self.buffer.len() == self.limit {
            self.buffer.clear();
            message(Message::TooLong);
            return if in_frame { Inside::LongFrame } else { Inside::LongLine };
        }
        self.buffer.push(byte);
        if !in_frame && opens_http(&self.buffer) {
            message(Message::Http);
        }
        if in_frame { Inside::Frame } else { Inside::Line }
    }

    fn whole(&self) -> Message<'_> {
        std::str::from_utf8(&self.buffer).map_or(Message::NotText, |text| Message::Text(text.trim()))
    }

    /// True while a message has begun and not ended.
    pub fn is_within_message(&self) -> bool {
        !self.buffer.is_empty() || matches!(self.inside, Inside::Frame | Inside::LongLine | Inside::LongFrame)
    }

    fn is_blank(&self) -> bool {
        self.buffer.iter().all(u8::is_ascii_whitespace)
    }
}

/// Whether a line has just turned out to be that of an HTTP request: a method, a blank and the first byte of its target. Our
/// own `GET` stands alone on its line.
fn opens_http(line: &[u8]) -> bool {
    const METHODS: [&[u8]; 9] =
        [b"GET", b"POST", b"PUT", b"HEAD", b"DELETE", b"OPTIONS", b"PATCH", b"CONNECT", b"TRACE"];
    let [method @ .., b' ', target] = line else { return false };
    !target.is_ascii_whitespace() && METHODS.contains(&method)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(pieces: &[&[u8]]) -> Vec<String> {
        let mut decoder = Decoder::default();
        let mut messages = Vec::new();
        for piece in pieces {
            decoder.push(piece, |message| {
                messages.push(match message {
                    Message::Text(text) => text.to_owned(),
                    other => format!("{other:?}"),
                });
            });
        }
        messages
    }

    #[test]
    fn lines_and_frames_follow_each_other_in_one_segment() {
        let stream = b"<1,2>\r\nGET\n<3>4,5\n\n<><6\n>  <7> \r\nSUB 10\r\n";
        assert_eq!(decode(&[stream]), ["1,2", "GET", "3", "4,5", "", "", "6", "7", "", "SUB 10"]);
    }

    #[test]
    fn a_stream_split_at_any_byte_reads_the_same() {
        let stream: &[u8] = b"<1,2>\r\nGET\n<3>4,5\n\n<>\nINFO\r\n<\xff>\nGET / HTTP/1.1\r\n";
        let whole = decode(&[stream]);
        assert_eq!(whole[whole.len() - 3..whole.len() - 1], ["NotText", "Http"]);
        for at in 0..stream.len() {
            assert_eq!(decode(&[&stream[..at], &stream[at..]]), whole, "split at {at}");
        }
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(decode(&bytes), whole);
    }

    #[test]
    fn what_is_not_ours_is_known_at_once() {
        let long = [b"POST /".to_vec(), vec![b'a'; 2 * MAX_MESSAGE]].concat();
        assert_eq!(decode(&[&long])[0], "Http");
        assert_eq!(decode(&[b"GET /"]), ["Http"]);
        assert_eq!(decode(&[b"CONNECT a"]), ["Http"]);
        // The first bytes of a TLS greeting.
        assert_eq!(decode(&[b"\x16\x03\x01"])[0], "NotText");
        assert_eq!(decode(&[b"GET \r\nSYNC /x\n"]), ["GET", "SYNC /x"]);
    }

    #[test]
    fn a_message_that_is_too_long_is_told_once_and_passed_over() {
        let mut stream = vec![b'1'; 3 * MAX_MESSAGE];
        stream.extend(b"\nGET\n");
        assert_eq!(decode(&[&stream]), ["TooLong", "GET"]);
        // A client that never sends line ends is heard again behind the end of its frame.
        let frame = [b"<".to_vec(), vec![b'1'; 2 * MAX_MESSAGE], b"><2>".to_vec()].concat();
        assert_eq!(decode(&[&frame]), ["TooLong", "2"]);
        let exact = [vec![b'1'; MAX_MESSAGE], b"\n".to_vec()].concat();
        assert_eq!(decode(&[&exact])[0].len(), MAX_MESSAGE);
    }
}
