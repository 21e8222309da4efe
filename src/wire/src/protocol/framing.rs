//! Bytes into messages: lines that end in LF and frames in `<` and `>`, mixed and split as the network likes.

use std::borrow::Cow;

use super::Refusal;
use crate::signal::ControlCharacter;

/// The longest message, without its line end or brackets, in bytes.
pub const MAX_MESSAGE: usize = 4096;
/// The longest on a combined port: the commands of a robot of some hundred actuators.
pub const MAX_COMBINED: usize = 65_536;

/// The length of the longest verb, `SPAWNABLES`.
const LONGEST_VERB: usize = 10;

/// Continuation of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// The session continues.
    Open,
    /// Close the connection, after sending the pending output.
    Close,
}

/// A message as received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// A line or a frame, without its end, its brackets and the blanks around it.
    Text(&'a str),
    /// A message over the limit; the rest of it is passed over.
    TooLong,
    /// A message that is not UTF-8, or has control characters in it.
    NotText,
    /// The line that opens an HTTP request: a web page is talking to the wrong port.
    Http,
}

/// Splits a stream into messages. It buffers at most one incomplete message.
#[derive(Debug)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// True if the buffer holds a complete message that has been returned already.
    complete: bool,
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

/// The message that a byte has completed.
#[derive(Debug, Clone, Copy)]
enum Found {
    /// The message in the buffer.
    Whole,
    TooLong,
    NotText,
    Http,
}

impl Decoder {
    /// Creates a decoder for messages of at most `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self { buffer: Vec::new(), complete: false, inside: Inside::default(), limit }
    }

    /// Refusal of a message over the limit.
    pub fn too_long(&self) -> Refusal {
        Refusal::Message(format!("expected a message of at most {} bytes", self.limit))
    }

    /// Consumes bytes from a client up to the end of the first complete message, and calls `answer` with it. A refusal
    /// goes into `out`. Returns the number of consumed bytes, and whether the session continues.
    pub(super) fn answer_next(
        &mut self,
        bytes: &[u8],
        out: &mut String,
        answer: impl FnOnce(&str, &mut String) -> Result<(), Refusal>,
    ) -> (usize, Flow) {
        let (taken, message) = self.feed(bytes);
        let (result, flow) = match message {
            None => return (taken, Flow::Open),
            Some(Message::Http) => return (taken, Flow::Close),
            Some(Message::NotText) => {
                (Err(Refusal::Message("expected UTF-8 text without control characters".into())), Flow::Close)
            }
            Some(Message::TooLong) => (Err(self.too_long()), Flow::Open),
            Some(Message::Text(text)) => (answer(text, out), Flow::Open),
        };
        if let Err(refusal) = result {
            out.push_str(&format!("{refusal}\n"));
        }
        (taken, flow)
    }

    /// Consumes bytes up to the end of the first complete message; returns their number, and the message. Invalid text
    /// and the start of an HTTP request count as complete messages at once.
    pub fn feed(&mut self, bytes: &[u8]) -> (usize, Option<Message<'_>>) {
        if self.complete {
            self.buffer.clear();
            self.complete = false;
        }
        for (index, &byte) in bytes.iter().enumerate() {
            let found = self.take(byte);
            let message = match found {
                None => continue,
                Some(Found::Whole) => {
                    self.complete = true;
                    self.whole()
                }
                Some(Found::TooLong) => Message::TooLong,
                Some(Found::NotText) => Message::NotText,
                Some(Found::Http) => Message::Http,
            };
            return (index + 1, Some(message));
        }
        (bytes.len(), None)
    }

    /// Consumes a byte; returns the item that it completes.
    fn take(&mut self, byte: u8) -> Option<Found> {
        let (inside, found) = match (self.inside, byte) {
            (Inside::AfterFrame, b'\r') => (Inside::AfterFrame, None),
            (Inside::AfterFrame | Inside::LongLine | Inside::LongFrame, b'\n') => (Inside::Line, None),
            (Inside::LongFrame, b'>') => (Inside::AfterFrame, None),
            (Inside::LongLine | Inside::LongFrame, _) => (self.inside, None),
            (Inside::Line | Inside::AfterFrame, b'<') if self.is_blank() => {
                self.buffer.clear();
                (Inside::Frame, None)
            }
            (Inside::Line, b'\n') => (Inside::Line, Some(Found::Whole)),
            (Inside::Frame, b'>') => (Inside::AfterFrame, Some(Found::Whole)),
            (inside, _) => self.add(byte, inside == Inside::Frame),
        };
        self.inside = inside;
        found
    }

    /// Adds a byte to the message under way.
    fn add(&mut self, byte: u8, in_frame: bool) -> (Inside, Option<Found>) {
        // Those beyond ASCII show once the message is whole.
        let is_refused = byte.is_ascii() && ControlCharacter::is_refused(byte.into());
        let not_text = is_refused.then_some(Found::NotText);
        if self.buffer.len() == self.limit {
            self.buffer.clear();
            let inside = if in_frame { Inside::LongFrame } else { Inside::LongLine };
            return (inside, not_text.or(Some(Found::TooLong)));
        }
        self.buffer.push(byte);
        let http = (!in_frame && opens_http(&self.buffer)).then_some(Found::Http);
        (if in_frame { Inside::Frame } else { Inside::Line }, not_text.or(http))
    }

    fn whole(&self) -> Message<'_> {
        match std::str::from_utf8(&self.buffer) {
            Ok(text) if ControlCharacter::find(text).is_none() => Message::Text(text.trim()),
            _ => Message::NotText,
        }
    }

    /// True while a message has begun and not ended.
    pub fn is_within_message(&self) -> bool {
        let has_begun = !self.complete && !self.buffer.is_empty();
        has_begun || matches!(self.inside, Inside::Frame | Inside::LongLine | Inside::LongFrame)
    }

    fn is_blank(&self) -> bool {
        self.buffer.iter().all(u8::is_ascii_whitespace)
    }
}

/// The first word of a message and the rest, without blanks between. A verb of letters alone is in upper case, however
/// it was sent.
pub(super) fn verb_and_rest(text: &str) -> (Cow<'_, str>, &str) {
    let (verb, rest) = text.split_once(char::is_whitespace).map_or((text, ""), |(verb, rest)| (verb, rest.trim()));
    let is_verb = verb.len() <= LONGEST_VERB && verb.bytes().all(|byte| byte.is_ascii_alphabetic());
    let verb = match is_verb && verb.bytes().any(|byte| byte.is_ascii_lowercase()) {
        true => verb.to_ascii_uppercase().into(),
        false => verb.into(),
    };
    (verb, rest)
}

/// Refuses a complete message with control characters that did not come through a [`Decoder`].
pub(super) fn refuse_control_characters(text: &str) -> Result<(), Refusal> {
    ControlCharacter::find(text).map_or(Ok(()), |found| Err(Refusal::Message(format!("expected text, got {found}"))))
}

/// True if a line is that of an HTTP request: a method, a blank and the first byte of its target. Our own `GET` stands
/// alone on its line, or before `raw`, which is no target: those of browsers begin with `/` or `http`.
fn opens_http(line: &[u8]) -> bool {
    const HTTP_METHODS: [&[u8]; 9] =
        [b"GET", b"POST", b"PUT", b"HEAD", b"DELETE", b"OPTIONS", b"PATCH", b"CONNECT", b"TRACE"];
    let [method @ .., b' ', target] = line else { return false };
    let is_raw = method == b"GET" && target.eq_ignore_ascii_case(&b'r');
    !target.is_ascii_whitespace() && !is_raw && HTTP_METHODS.contains(&method)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(pieces: &[&[u8]]) -> Vec<String> {
        let mut decoder = Decoder::default();
        let mut messages = Vec::new();
        for piece in pieces {
            let mut rest = *piece;
            while !rest.is_empty() {
                let (taken, message) = decoder.feed(rest);
                messages.extend(message.map(|message| match message {
                    Message::Text(text) => text.to_owned(),
                    other => format!("{other:?}"),
                }));
                rest = &rest[taken..];
            }
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
        assert_eq!(decode(&[b"a\x7f"])[0], "NotText");
        assert_eq!(decode(&["<a\u{9b}b>".as_bytes()])[0], "NotText");
        assert_eq!(decode(&[b"GET \r\nSYNC /x\n"]), ["GET", "SYNC /x"]);
        assert_eq!(decode(&[b"GET raw\nGET RAW\n"]), ["GET raw", "GET RAW"]);
        assert_eq!(decode(&[b"GET http://a"]), ["Http"]);
    }

    #[test]
    fn a_message_that_is_too_long_is_told_once_and_passed_over() {
        let mut stream = vec![b'1'; 3 * MAX_MESSAGE];
        stream.extend(b"\nGET\n");
        assert_eq!(decode(&[&stream]), ["TooLong", "GET"]);
        // The decoder reads a client that never sends line ends again after the end of its frame.
        let frame = [b"<".to_vec(), vec![b'1'; 2 * MAX_MESSAGE], b"><2>".to_vec()].concat();
        assert_eq!(decode(&[&frame]), ["TooLong", "2"]);
        let exact = [vec![b'1'; MAX_MESSAGE], b"\n".to_vec()].concat();
        assert_eq!(decode(&[&exact])[0].len(), MAX_MESSAGE);
    }
}
