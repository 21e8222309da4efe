//! Resources that no page can take from the others: memory, the log, connections.

use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bevy_math::DVec3;
use simpartner::server::{Answer, Archive, Limits, LoggedCommands, LoggedEvent, LoggedRun, RunModel, Settings};
use simpartner_description::World;
use simpartner_model::{StepIndex, Timestep};
use simpartner_wire::signal::{Layout, StepRecord};
use tungstenite::Message;

use super::{
    Rig,
    client::{Frame, Page, get},
    settings,
};
use crate::scene::{self, body, cube};

/// Number of bodies in the run of [`Endless`], so that a thousand frames are longer than all buffers.
const BODIES: usize = 200;

/// A run without an end, which counts the steps that are read from it.
struct Endless {
    model: Arc<RunModel>,
    read: AtomicU64,
}

impl Endless {
    fn new() -> Arc<Self> {
        let mut world: World = scene::world();
        world
            .mechanism
            .bodies
            .extend((0..BODIES).map(|index| body(&format!("cube {index}"), 1.0, cube(0.1), DVec3::ZERO)));
        let layout = Layout::new(BODIES, 0, Vec::new());
        let model = RunModel { world, layout, timestep: Timestep::MILLISECOND, every: 1 };
        Arc::new(Self { model: Arc::new(model), read: AtomicU64::new(0) })
    }
}

impl Archive for Endless {
    fn runs(&self) -> Answer<'_, Vec<LoggedRun>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn model(&self, _: i64) -> Answer<'_, Option<Arc<RunModel>>> {
        Box::pin(async { Ok(Some(Arc::clone(&self.model))) })
    }

    fn steps<'a>(
        &'a self,
        _: i64,
        model: &'a RunModel,
        from: u64,
        every: u64,
        count: u64,
    ) -> Answer<'a, Vec<StepRecord>> {
        self.read.fetch_add(count, Ordering::Relaxed);
        let record =
            move |index| StepRecord { step: StepIndex(from + index * every), ..StepRecord::new(&model.layout) };
        Box::pin(async move { Ok((0..count).map(record).collect()) })
    }

    fn events(&self, _: i64, _: u64) -> Answer<'_, Vec<LoggedEvent>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn commands<'a>(&'a self, _: i64, _: &'a RunModel, _: u64) -> Answer<'a, Vec<LoggedCommands>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

#[test]
fn many_frames_are_read_from_the_log_as_they_are_taken() {
    let endless = Endless::new();
    let limits = Limits { unread: Duration::from_millis(100), ..Limits::default() };
    let rig = Rig::start(Settings { limits, ..settings() }, Some(Arc::clone(&endless) as Arc<dyn Archive>));
    // All frames in order for a client that reads.
    let answer = get(rig.page, "/runs/1/frames?from=10&count=1000&every=3", &[]);
    let mut bytes = &answer.body[..];
    let steps: Vec<u64> = std::iter::from_fn(|| (!bytes.is_empty()).then(|| Frame::take(&mut bytes).step)).collect();
    assert_eq!(steps, (0..1000).map(|index| 10 + 3 * index).collect::<Vec<_>>());
    // Few frames for a client that does not read, and its connection ends.
    endless.read.store(0, Ordering::Relaxed);
    let mut deaf = TcpStream::connect(rig.page).unwrap();
    deaf.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let request = format!("GET /runs/1/frames?from=1&count=1000 HTTP/1.1\r\nHost: {}\r\n\r\n", rig.page);
    deaf.write_all(request.as_bytes()).unwrap();
    // After it is abandoned, nothing more is read for it; then the buffered data arrives, and the end.
    let mut before = u64::MAX;
    while before != endless.read.load(Ordering::Relaxed) || before == 0 {
        before = endless.read.load(Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(300));
    }
    let mut taken = Vec::new();
    // A reset is an end too.
    let _ = deaf.read_to_end(&mut taken);
    let (read, length) = (endless.read.load(Ordering::Relaxed), answer.body.len() / 1000);
    assert!(taken.len() < 1000 * length, "it was sent everything");
    assert!(read < 1000, "{read} steps were read for a page that takes none");
    rig.end();
}

/// Writes pieces until the server closes; panics if it does not.
fn is_closed(stream: &mut TcpStream, piece: &[u8], pause: Duration, most: usize) -> bool {
    (0..most).any(|_| {
        std::thread::sleep(pause);
        stream.write_all(piece).is_err()
    })
}

#[test]
fn a_request_that_comes_byte_by_byte_is_given_up() {
    let limits = Limits { unfinished: Duration::from_millis(200), ..Limits::default() };
    let rig = Rig::start(Settings { limits, ..settings() }, None);
    let mut slow = TcpStream::connect(rig.page).unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ").unwrap();
    assert!(is_closed(&mut slow, b"a", Duration::from_millis(20), 200), "it may go on for ever");
    assert_eq!(get(rig.page, "/", &[]).status, 200);
    rig.end();
}

#[test]
fn a_page_that_pings_and_never_reads_is_given_up() {
    let limits = Limits { unread: Duration::from_millis(200), ..Limits::default() };
    let rig = Rig::start(Settings { limits, ..settings() }, None);
    let mut page = Page::open(rig.page);
    let mut frames = Vec::new();
    // 125 bytes is the largest payload of a ping; a mask of zeros does not change them.
    for _ in 0..1000 {
        frames.extend([0x89, 0x80 | 125, 0, 0, 0, 0]);
        frames.extend([b'x'; 125]);
    }
    let stream = page.socket.get_mut();
    stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    // 100 MB of them: far more than the server may keep answers to.
    assert!(is_closed(stream, &frames, Duration::ZERO, 800), "the server takes everything in");
    let mut other = Page::open(rig.page);
    other.frame();
    other.socket.send(Message::Ping(b"here".to_vec().into())).unwrap();
    rig.end();
}

#[test]
fn silent_connections_make_room_for_a_page() {
    let limits = Limits { connections_per_port: 4, silent: Duration::ZERO, ..Limits::default() };
    let rig = Rig::start(Settings { limits, ..settings() }, None);
    let held: Vec<_> = (0..10)
        .map(|_| {
            let mut stream = TcpStream::connect(rig.page).unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ").unwrap();
            stream
        })
        .collect();
    assert_eq!(get(rig.page, "/", &[]).status, 200);
    Page::open(rig.page).frame();
    assert_eq!(held.len(), 10);
    rig.end();
}
