//! A long run in real time under all kinds of load: processes that use the processor, clients of every kind that
//! connect and disconnect, pages, and a log with every row. It prints memory and open files once a minute, and checks
//! at the end that the log has every step. `cargo bench --bench soak -- --seconds 1800 --load 8 --clients 50 --pages
//! 2`; exit code 1 if something is missing.

#[path = "memory.rs"]
mod memory;
#[path = "page.rs"]
mod page;

use std::{
    collections::HashMap,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    process::{Child, Command, ExitCode, Stdio},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::Duration,
};

const WORLD: &str =
    "<world><surface/><robot file='ROBOTS/workpartner1.xml' name='WorkPartner' portOffset='20000'/></world>";

/// Bodies and joints of WorkPartner 1: the rows that a step has in `pose` and `forceAndTorque`, and in `jointPose`.
const BODIES: u64 = 14;
const JOINTS: u64 = 13;

/// Options of the command line.
struct Plan {
    seconds: u64,
    load: usize,
    clients: usize,
    pages: usize,
}

impl Plan {
    fn from_arguments() -> Self {
        let arguments: Vec<String> = std::env::args().collect();
        let number = |name: &str, default: u64| {
            let place = arguments.iter().position(|argument| argument == name);
            place.map_or(default, |place| {
                let text = arguments.get(place + 1).map_or("", String::as_str);
                text.parse().unwrap_or_else(|_| panic!("{name}: expected a number, got '{text}'"))
            })
        };
        // Without `--bench` this is `cargo test --benches`, which only checks that the bench runs.
        let seconds = if arguments.iter().any(|argument| argument == "--bench") { 60 } else { 2 };
        let count = |name, default| usize::try_from(number(name, default)).expect("it fits the machine");
        Self {
            seconds: number("--seconds", seconds),
            load: count("--load", 8),
            clients: count("--clients", 50),
            pages: count("--pages", 2),
        }
    }
}

/// Addresses that the server prints.
#[derive(Default)]
struct Addresses {
    control: Option<SocketAddr>,
    viewer: Option<SocketAddr>,
    devices: HashMap<String, SocketAddr>,
}

fn main() -> ExitCode {
    let plan = Plan::from_arguments();
    let folder = tempfile::tempdir().expect("a folder can be had");
    let database = format!("sqlite:{}", folder.path().join("soak.db").display());
    let (mut server, addresses) = start(&plan, folder.path(), &database);
    let (over, told) = (AtomicBool::new(false), Told::default());
    println!(
        "{} s in real time, {} busy threads, {} clients, {} pages",
        plan.seconds, plan.load, plan.clients, plan.pages
    );

    let (samples, output) = thread::scope(|scope| {
        for _ in 0..plan.load {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        for index in 0..plan.clients {
            let (addresses, told, over) = (&addresses, &told, &over);
            scope.spawn(move || client(index, addresses, told, over));
        }
        for _ in 0..plan.pages {
            let (frames, over) = (&told.frames, &over);
            let viewer = addresses.viewer.expect("the page is served");
            scope.spawn(move || page::read_frames(page::open(viewer), over, frames));
        }
        let samples = memory::watch(&mut server);
        over.store(true, Ordering::Relaxed);
        let mut output = String::new();
        server.stdout.take().expect("it is piped").read_to_string(&mut output).expect("it is text");
        (samples, output)
    });
    let status = server.wait().expect("it has ended");
    print!("{output}");
    told.print();
    let complete = status.success() & log_is_complete(&plan, &database);
    memory::report_growth(&samples);
    if complete { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Starts the server and reads its addresses from its output.
fn start(plan: &Plan, folder: &std::path::Path, database: &str) -> (Child, Addresses) {
    let robots = concat!(env!("CARGO_MANIFEST_DIR"), "/robots");
    let world = folder.join("world.xml");
    fs::write(&world, WORLD.replace("ROBOTS", robots)).expect("the folder can be written");
    let mut server = Command::new(env!("CARGO_BIN_EXE_simpartner"))
        .current_dir(folder)
        .args(["run", "--world", "world.xml", "--database", database, "--duration", &plan.seconds.to_string()])
        .args(["--set", "server.control_port=0", "--set", "viewer.port=0", "--set", "log.limit_mb=100000"])
        .args(["--set", "log.detail=full"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let mut lines = BufReader::new(server.stderr.take().expect("it is piped"));
    let mut addresses = Addresses::default();
    while !addresses.read(&mut lines) {}
    thread::spawn(move || lines.lines().map_while(Result::ok).for_each(|line| eprintln!("server: {line}")));
    (server, addresses)
}

impl Addresses {
    /// Takes a line of the announcement; true when it was the last.
    fn read(&mut self, lines: &mut impl BufRead) -> bool {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).expect("it is text") > 0, "the server ended before it served");
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["control", address, ..] => self.control = address.parse().ok(),
            ["viewer", url, ..] => {
                self.viewer = url.trim_start_matches("http://").trim_end_matches('/').parse().ok();
            }
            [port, name, ..] => {
                if let Ok(port) = port.parse::<u16>() {
                    self.devices.insert(name.into(), ([127, 0, 0, 1], port).into());
                }
            }
            _ => return line.contains("Ctrl-C") || (words.is_empty() && self.control.is_some()),
        }
        line.contains("Ctrl-C")
    }
}

/// Results of clients and pages.
#[derive(Default)]
struct Told {
    samples: AtomicU64,
    answers: AtomicU64,
    connections: AtomicU64,
    errors: AtomicU64,
    frames: AtomicU64,
}

impl Told {
    fn print(&self) {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        println!(
            "clients           {} samples, {} answers, {} connections, {} refusals; {} frames to pages",
            of(&self.samples),
            of(&self.answers),
            of(&self.connections),
            of(&self.errors),
            of(&self.frames)
        );
    }
}

/// One of five kinds of client, until the end: one that subscribes to samples, one that polls, one that drives, one
/// that reconnects, and one that reads the clock.
fn client(index: usize, addresses: &Addresses, told: &Told, over: &AtomicBool) {
    let device = |name: &str| addresses.devices[name];
    let mut round = 0_u64;
    while !over.load(Ordering::Relaxed) {
        round += 1;
        let wheel = format!("WheelMotor{}", 1 + index / 5 % 4);
        let address = match index % 5 {
            0 | 3 => device("Position"),
            1 => device("Scanner"),
            2 => device(&wheel),
            _ => addresses.control.expect("there is a control port"),
        };
        let Ok(stream) = TcpStream::connect(address) else {
            told.errors.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        told.connections.fetch_add(1, Ordering::Relaxed);
        let mut talk = Talk { stream: BufReader::new(stream), told };
        // The server ends before its clients; missing answers then are not their error.
        let _ = match index % 5 {
            0 => talk.subscribe(over),
            1 => talk.ask("GET\n", Duration::from_millis(10), u64::MAX, over),
            2 => {
                let speed = ((index as u64 + round) as f64).sin() * 2.0;
                talk.ask(&format!("<1000,1000,100,0,0,{speed:.3}>\n"), Duration::from_millis(20), 200, over)
            }
            3 => talk.ask("INFO\n", Duration::from_millis(50), 10, over),
            _ => talk.ask("STATE\n", Duration::from_millis(40), u64::MAX, over),
        };
    }
}

/// A connection of a client.
struct Talk<'a> {
    stream: BufReader<TcpStream>,
    told: &'a Told,
}

impl Talk<'_> {
    fn line(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line)? {
            0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(line),
        }
    }

    fn subscribe(&mut self, over: &AtomicBool) -> std::io::Result<()> {
        self.stream.get_mut().write_all(b"SUB 10\n")?;
        while !over.load(Ordering::Relaxed) {
            self.line()?;
            self.told.samples.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Sends the same request repeatedly, each time after a line of the answer.
    fn ask(&mut self, what: &str, pause: Duration, times: u64, over: &AtomicBool) -> std::io::Result<()> {
        for _ in 0..times {
            if over.load(Ordering::Relaxed) {
                break;
            }
            self.stream.get_mut().write_all(what.as_bytes())?;
            if self.line()?.starts_with("ERR") {
                self.told.errors.fetch_add(1, Ordering::Relaxed);
            }
            self.told.answers.fetch_add(1, Ordering::Relaxed);
            thread::sleep(pause);
        }
        Ok(())
    }
}

/// Counts the rows of the log, and has `db verify` prove them.
fn log_is_complete(plan: &Plan, database: &str) -> bool {
    let steps = plan.seconds * 1000;
    let mut complete = true;
    for (table, expected) in [
        ("simulationRow", steps),
        ("pose", steps * BODIES),
        ("forceAndTorque", steps * BODIES),
        ("jointPose", steps * JOINTS),
    ] {
        let question = format!("SELECT count(*) FROM {table}");
        let answer = simpartner(&["query", "last", &question, "--format", "csv", "--database", database]);
        let found = answer.lines().nth(1).and_then(|line| line.trim().parse::<u64>().ok());
        println!("{table:<17} {expected} rows expected, {} found", found.map_or("?".into(), |found| found.to_string()));
        complete &= found == Some(expected);
    }
    print!("{}", simpartner(&["db", "verify", "--database", database]));
    complete
}

fn simpartner(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_simpartner")).args(arguments).output().expect("it can be started");
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
