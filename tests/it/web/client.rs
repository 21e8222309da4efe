//! A page without a browser: HTTP by hand, and the WebSocket with its frames taken apart.

use std::{
    collections::VecDeque,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket, handshake::client::Request};

/// An answer.
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    head: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let pairs = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        pairs.into_iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub fn json(&self) -> Value {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// Requests a path. `Host` is the server's unless it is given.
pub fn get(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut request = format!("GET {path} HTTP/1.1\r\n");
    if !headers.iter().any(|(name, _)| *name == "Host") {
        request += &format!("Host: {address}\r\n");
    }
    if !headers.iter().any(|(name, _)| *name == "Connection") {
        request += "Connection: close\r\n";
    }
    headers.iter().for_each(|(name, value)| request += &format!("{name}: {value}\r\n"));
    stream.write_all((request + "\r\n").as_bytes()).unwrap();
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    // A refused WebSocket may stay open, so only the announced length is read.
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
            let status = head.split(' ').nth(1).unwrap().parse().unwrap();
            let mut answer = Answer { status, body: bytes[end + 4..].to_vec(), head };
            if answer.header("transfer-encoding") == Some("chunked") {
                stream.read_to_end(&mut answer.body).unwrap();
                answer.body = joined(&answer.body);
                return answer;
            }
            let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
            while answer.body.len() < length {
                let count = stream.read(&mut piece).unwrap();
                assert!(count > 0, "the answer is shorter than it says");
                answer.body.extend_from_slice(&piece[..count]);
            }
            return answer;
        }
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "no answer to {path}");
        bytes.extend_from_slice(&piece[..count]);
    }
}

/// The pieces of a chunked body, put together.
fn joined(mut chunks: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = chunks.windows(2).position(|window| window == b"\r\n").expect("the body is cut off");
        let length = usize::from_str_radix(std::str::from_utf8(&chunks[..end]).unwrap(), 16).unwrap();
        if length == 0 {
            return body;
        }
        let (chunk, rest) = chunks[end + 2..].split_at(length);
        body.extend_from_slice(chunk);
        chunks = rest.strip_prefix(b"\r\n").expect("a chunk ends with a line end");
    }
}

/// Headers of a WebSocket request.
pub fn upgrade_headers<'a>(extra: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut headers = vec![
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    headers.extend_from_slice(extra);
    headers
}

/// A frame, as PROTOCOL.md lays it out.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    pub step: u64,
    pub time_s: f64,
    pub wall_s: f64,
    pub late_s: f64,
    pub number: u32,
    pub epoch: u32,
    pub state: u8,
    pub mode: u8,
    pub pages: u32,
    pub bodies: Vec<[f32; 19]>,
    pub joints: Vec<[f32; 18]>,
    pub devices: Vec<f64>,
    pub contacts: Vec<Contact>,
    pub touching: u32,
}

/// A contact of a frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Contact {
    pub body: u32,
    pub other: u32,
    /// Point, normal, force and gap.
    pub numbers: [f32; 10],
}

impl Frame {
    /// Takes the first frame off `bytes`.
    pub fn take(bytes: &mut &[u8]) -> Self {
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let f32_at = |at: usize| f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let f64_at = |at: usize| f64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        assert_eq!(&bytes[..4], b"SPV1");
        let length = u32_at(4) as usize;
        let [bodies, joints, devices, contacts] = [72, 76, 80, 84].map(|at| u32_at(at) as usize);
        let doubles = 96 + ((19 * bodies + 18 * joints) * 4).next_multiple_of(8);
        assert_eq!(length, doubles + 8 * devices + 48 * contacts);
        let joints_at = 96 + bodies * 76;
        let contact = |at: usize| Contact {
            body: u32_at(at),
            other: u32_at(at + 4),
            numbers: std::array::from_fn(|i| f32_at(at + 8 + i * 4)),
        };
        let frame = Self {
            step: u64::from_le_bytes(bytes[8..16].try_into().unwrap()),
            time_s: f64_at(16),
            wall_s: f64_at(24),
            late_s: f64_at(32),
            number: u32_at(56),
            epoch: u32_at(60),
            state: bytes[68],
            mode: bytes[69],
            pages: u32_at(88),
            bodies: (0..bodies).map(|body| std::array::from_fn(|i| f32_at(96 + body * 76 + i * 4))).collect(),
            joints: (0..joints).map(|joint| std::array::from_fn(|i| f32_at(joints_at + joint * 72 + i * 4))).collect(),
            devices: (0..devices).map(|device| f64_at(doubles + device * 8)).collect(),
            contacts: (0..contacts).map(|index| contact(doubles + 8 * devices + 48 * index)).collect(),
            touching: u32_at(92),
        };
        *bytes = &bytes[length..];
        frame
    }
}

/// A message of ruts, as PROTOCOL.md lays it out.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruts {
    pub number: u32,
    pub anew: bool,
    /// Ground, tile and depths.
    pub tiles: Vec<(u32, [i32; 2], Vec<f32>)>,
}

impl Ruts {
    fn read(bytes: &[u8]) -> Self {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let [length, number, anew, side, count] = [4, 8, 12, 16, 20].map(word);
        let cells = (side * side) as usize;
        assert_eq!((length as usize, side, anew < 2), (24 + count as usize * (16 + 4 * cells), 32, true));
        assert_eq!(bytes.len(), length as usize);
        let tile = |index: usize| {
            let at = 24 + index * (16 + 4 * cells);
            let depths = (0..cells).map(|cell| f32::from_bits(word(at + 16 + 4 * cell))).collect();
            (word(at), [word(at + 4) as i32, word(at + 8) as i32], depths)
        };
        Self { number, anew: anew == 1, tiles: (0..count as usize).map(tile).collect() }
    }
}

/// An open page.
pub struct Page {
    pub socket: WebSocket<TcpStream>,
    frames: VecDeque<Frame>,
    ruts: VecDeque<Ruts>,
    texts: VecDeque<Value>,
    asked: u32,
}

impl Page {
    pub fn open(address: SocketAddr) -> Self {
        Self::connect(address, "simpartner.1")
    }

    pub fn with_token(address: SocketAddr, token: &str) -> Self {
        Self::connect(address, &format!("simpartner.1, token.{token}"))
    }

    fn connect(address: SocketAddr, protocols: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut request = Request::builder().uri(format!("ws://{address}/live")).header("Host", address.to_string());
        for (name, value) in upgrade_headers(&[]) {
            request = request.header(name, value);
        }
        let request = request
            .header("Origin", format!("http://{address}"))
            .header("Sec-WebSocket-Protocol", protocols)
            .body(())
            .unwrap();
        let (socket, response) = tungstenite::client(request, stream).unwrap();
        assert_eq!(response.headers()["sec-websocket-protocol"], "simpartner.1");
        Self { socket, frames: VecDeque::new(), ruts: VecDeque::new(), texts: VecDeque::new(), asked: 0 }
    }

    /// The status a page is refused with.
    pub fn refused(address: SocketAddr, headers: &[(&str, &str)]) -> u16 {
        let origin = format!("http://{address}");
        let mut all = upgrade_headers(headers);
        all.push(("Origin", &origin));
        get(address, "/live", &all).status
    }

    pub fn say(&mut self, message: Value) {
        self.socket.send(Message::text(message.to_string())).unwrap();
    }

    /// Sends a message with an id and waits for its answer.
    pub fn ask(&mut self, id: u64, mut message: Value) -> String {
        message["id"] = json!(id);
        self.say(message);
        self.reply(&json!(id))
    }

    /// The answer to this id.
    pub fn reply(&mut self, id: &Value) -> String {
        self.text(|text| text.get("reply").is_some() && text["to"] == *id)["reply"].as_str().unwrap().to_owned()
    }

    /// The next event of this kind.
    pub fn event(&mut self, kind: &str) -> Value {
        self.text(|text| text["event"]["kind"] == kind)["event"].clone()
    }

    /// The commands of the next message. Frames before it are acknowledged, because a page that is behind receives
    /// nothing.
    pub fn commands(&mut self) -> Value {
        loop {
            while let Some(frame) = self.frames.pop_front() {
                self.say(json!({ "seen": frame.number }));
            }
            if let Some(index) = self.texts.iter().position(|text| text.get("commands").is_some()) {
                return self.texts.remove(index).unwrap()["commands"].clone();
            }
            self.read();
        }
    }

    fn text(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            if let Some(index) = self.texts.iter().position(&wanted) {
                return self.texts.remove(index).unwrap();
            }
            self.read();
        }
    }

    /// The next frame, taken up at once.
    pub fn frame(&mut self) -> Frame {
        let frame = self.unseen_frame();
        self.say(json!({ "seen": frame.number }));
        frame
    }

    /// The next frame, without a word to the server.
    pub fn unseen_frame(&mut self) -> Frame {
        while self.frames.is_empty() {
            self.read();
        }
        self.frames.pop_front().unwrap()
    }

    /// The first frame that satisfies a condition.
    pub fn frame_that(&mut self, holds: impl Fn(&Frame) -> bool) -> Frame {
        loop {
            let frame = self.frame();
            if holds(&frame) {
                return frame;
            }
        }
    }

    /// The next message of ruts, taken up at once, as are the frames before it.
    pub fn ruts(&mut self) -> Ruts {
        loop {
            while let Some(frame) = self.frames.pop_front() {
                self.say(json!({ "seen": frame.number }));
            }
            if let Some(ruts) = self.ruts.pop_front() {
                self.say(json!({ "seen": ruts.number }));
                return ruts;
            }
            self.read();
        }
    }

    fn read(&mut self) {
        match self.socket.read().unwrap() {
            Message::Binary(bytes) if bytes.starts_with(b"SPR1") => self.ruts.push_back(Ruts::read(&bytes)),
            Message::Binary(bytes) => {
                let mut bytes = &bytes[..];
                self.frames.push_back(Frame::take(&mut bytes));
                assert!(bytes.is_empty(), "a message is a frame");
            }
            Message::Text(text) => self.texts.push_back(serde_json::from_str(&text).unwrap()),
            Message::Close(_) => panic!("the server closed"),
            // The server sends a ping every five seconds; nothing here takes that long.
            _ => self.asked += 1,
        }
        assert!(self.asked < 6, "what the test waits for does not come");
    }

    /// Number of frames in the buffers at present.
    pub fn frames_at_hand(&mut self) -> usize {
        self.socket.get_ref().set_nonblocking(true).unwrap();
        while let Ok(message) = self.socket.read() {
            if let Message::Binary(bytes) = message {
                self.frames.push_back(Frame::take(&mut &bytes[..]));
            }
        }
        self.socket.get_ref().set_nonblocking(false).unwrap();
        self.frames.len()
    }
}
