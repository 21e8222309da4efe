//! Bytes into messages: lines that end in LF and frames in `<` and `>`, mixed and split as the network likes.

/// The longest message, without its line end or brackets, in bytes.
pub const MAX_MESSAGE: usize = 4096;

/// A message as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// A line or a frame, without its end, its brackets and the blanks around it.
    Text(&'a str),
    /// A message of more than [`MAX_MESSAGE`] bytes; the rest of it is passed over.
    TooLong,
    /// A message that is not UTF-8.
    NotText,
    /// The line that opens an HTTP request: a web page is talking to the wrong port.
    Http,
}

/// Cuts a stream into messages. It keeps at most one unfinished message.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    inside: Inside,
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
    /// In a message that is too long already.
    Excess,
}

impl Decoder {
    /// Takes bytes and hands over each message they complete.
    pub fn push(&mut self, bytes: &[u8], mut message: impl FnMut(Message<'_>)) {
        for &byte in bytes {
            match (self.inside, byte) {
                (Inside::AfterFrame, b'\r') => {}
                (Inside::AfterFrame, b'\n') => self.inside = Inside::Line,
                (Inside::Line | Inside::AfterFrame, b'<') if self.is_blank() => {
                    self.buffer.clear();
                    self.inside = Inside::Frame;
                }
                (Inside::Line, b'\n') | (Inside::Frame, b'>') => {
                    message(interpret(&self.buffer, self.inside));
                    self.buffer.clear();
                    self.inside = if byte == b'>' { Inside::AfterFrame } else { Inside::Line };
                }
                // Whatever is too long goes on to the next line end.
                (Inside::Excess, b'\n') => self.inside = Inside::Line,
                (Inside::Excess, _) => {}
                (inside, _) => {
                    self.inside = if inside == Inside::AfterFrame { Inside::Line } else { inside };
                    if self.buffer.len() == MAX_MESSAGE {
                        self.buffer.clear();
                        self.inside = Inside::Excess;
                        message(Message::TooLong);
                    } else {
                        self.buffer.push(byte);
                    }
                }
            }
        }
    }

    /// True while a message has begun and not ended.
    pub fn is_within_message(&self) -> bool {
        !self.buffer.is_empty() || matches!(self.inside, Inside::Frame | Inside::Excess)
    }

    fn is_blank(&self) -> bool {
        self.buffer.iter().all(u8::is_ascii_whitespace)
    }
}

fn interpret(bytes: &[u8], inside: Inside) -> Message<'_> {
    match std::str::from_utf8(bytes) {
        Err(_) => Message::NotText,
        Ok(text) if inside == Inside::Line && is_http(text) => Message::Http,
        Ok(text) => Message::Text(text.trim()),
    }
}

/// `METHOD target HTTP/1.1`. Our own `GET` stands alone on its line.
fn is_http(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let method = words.next().is_some_and(|word| word.len() >= 3 && word.bytes().all(|byte| byte.is_ascii_uppercase()));
    method && words.next().is_some() && words.next().is_some_and(|word| word.starts_with("HTTP/"))
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
        assert_eq!(whole[whole.len() - 2..], ["NotText", "Http"]);
        for at in 0..stream.len() {
            assert_eq!(decode(&[&stream[..at], &stream[at..]]), whole, "split at {at}");
        }
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(decode(&bytes), whole);
    }

    #[test]
    fn a_message_that_is_too_long_is_told_once_and_passed_over() {
        let mut stream = vec![b'1'; 3 * MAX_MESSAGE];
        stream.extend(b"\nGET\n");
        assert_eq!(decode(&[&stream]), ["TooLong", "GET"]);
        let exact = [vec![b'1'; MAX_MESSAGE], b"\n".to_vec()].concat();
        assert_eq!(decode(&[&exact])[0].len(), MAX_MESSAGE);
    }
}
