//! Cost of lockstep: steps per second of WorkPartner 1 with a controller on its combined port, compared with the same
//! steps in the mode fast, and with the same messages over loopback without a server. `cargo bench --bench lockstep`.

use std::{
    io::{BufRead, BufReader, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use simpartner::{
    realtime::{self, Control, LockstepSettings, Mode, Outputs, PhysicsThread, channel},
    server::{Server, Settings},
    sim::Simulation,
};
use simpartner_description::xml::{self, Document};
use simpartner_model::{RobotId, StepIndex, Timestep};
use simpartner_wire::signal::Member;
use tokio::sync::oneshot;

const WORLD: &str = "<world><surface/><robot file='robots/workpartner1.xml' portOffset='20000'/></world>";
const STEPS: u64 = 20_000;

/// The controller's answer to the sample of a step.
type Law = fn(u64) -> String;

fn main() {
    let steps = if std::env::args().any(|argument| argument == "--bench") { STEPS } else { 200 };
    let laws: [(&str, Law); 3] = [
        ("ACK", |step| format!("ACK {step}\n")),
        ("commands for four wheels", |step| format!("SET @{} {}\n", step + 1, wheels(step))),
        ("ACK with commands for four wheels", |step| format!("ACK {step} {}\n", wheels(step))),
    ];
    let fast = fast(steps);
    tell("fast", steps, fast, fast);
    for (name, law) in laws {
        let (held, heard) = lockstep(steps, law);
        let bare = ping_pong(steps, law, heard);
        tell(&format!("lockstep, {name}"), steps, held, fast);
        tell(&format!("the same messages alone, {name}"), steps, bare, fast);
    }
}

fn tell(name: &str, steps: u64, time: Duration, fast: Duration) {
    let (each, share) = (time.as_secs_f64() * 1e6 / steps as f64, fast.as_secs_f64() / time.as_secs_f64());
    println!(
        "{name:<50} {:>9.0} steps/s {each:>8.1} us a step {share:>7.2} of fast",
        steps as f64 / time.as_secs_f64()
    );
}

fn wheels(step: u64) -> String {
    let speed = (step as f64 * 1e-3).sin();
    let groups = (1..=4).map(|wheel| format!("WheelMotor{wheel}=1000,1000,100,0,0,{speed}"));
    groups.collect::<Vec<_>>().join(";")
}

fn simulation() -> Simulation {
    let world = match xml::read_text("bench.xml", WORLD) {
        Ok(Document::World(world)) => world,
        other => panic!("{other:?}"),
    };
    Simulation::new(Arc::new(world), Timestep::MILLISECOND, simpartner_dynamics::Settings::default())
        .expect("it can be built")
}

fn fast(steps: u64) -> Duration {
    let simulation = simulation();
    let (_handle, inbox) = channel(Arc::clone(simulation.layout()), simulation.timestep(), simulation.observe());
    let clock =
        realtime::ClockSettings { mode: Mode::Fast, end: Some(StepIndex(steps)), ..realtime::ClockSettings::default() };
    let (mut physics, _) = PhysicsThread::prepare(simulation, inbox, clock).expect("a thread can be had");
    let start = Instant::now();
    physics.start(Outputs { log: None, log_flags: Arc::default() }).expect("a thread can be had");
    physics.join().expect("it does not panic");
    start.elapsed()
}

/// Makes a number of steps in lockstep. Returns the time, and the answer to the controller's last line.
fn lockstep(steps: u64, law: Law) -> (Duration, String) {
    let simulation = simulation();
    let (handle, inbox) = channel(Arc::clone(simulation.layout()), simulation.timestep(), simulation.observe());
    let members = vec![Member::Robot(RobotId::new(0))];
    let lockstep = LockstepSettings { members, ..LockstepSettings::default() };
    let clock = realtime::ClockSettings {
        mode: Mode::Lockstep,
        start_paused: true,
        lockstep,
        ..realtime::ClockSettings::default()
    };
    let (mut physics, _) = PhysicsThread::prepare(simulation, inbox, clock).expect("a thread can be had");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be had");
    let settings = Settings::default();
    let server = runtime.block_on(Server::bind(settings, handle.clone())).unwrap_or_else(|error| panic!("{error}"));
    let address = server.robots().next().expect("there is a robot").1;
    let (stop, stopped) = oneshot::channel();
    let serving = runtime.spawn(server.run(stopped));
    physics.start(Outputs { log: None, log_flags: Arc::default() }).expect("a thread can be had");
    let mut client = connect(address);
    line(&mut client);
    say(&mut client, "ACK 0\n");
    assert!(line(&mut client).starts_with("S 0 "), "it has joined");
    runtime.block_on(handle.control(Control::Play { rate: None })).expect("the clock plays");
    let start = Instant::now();
    let mut heard = String::new();
    for step in 0..steps {
        say(&mut client, &law(step));
        heard = until_sample(&mut client);
    }
    let time = start.elapsed();
    assert!(heard.contains(&format!("S {steps} ")), "{heard}");
    runtime.block_on(handle.control(Control::Quit)).expect("the run ends");
    physics.join().expect("it does not panic");
    drop(stop);
    runtime.block_on(serving).expect("the server does not panic");
    (time, heard)
}

/// The same lines to a thread that answers each with the same text.
fn ping_pong(rounds: u64, law: Law, answer: String) -> Duration {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port can be had");
    let address = listener.local_addr().expect("it has an address");
    let other = thread::spawn(move || {
        let stream = listener.accept().expect("somebody connects").0;
        stream.set_nodelay(true).expect("it is a socket");
        let mut stream = BufReader::new(stream);
        while !line(&mut stream).is_empty() {
            say(&mut stream, &answer);
        }
    });
    let mut client = connect(address);
    let start = Instant::now();
    for round in 0..rounds {
        say(&mut client, &law(round));
        until_sample(&mut client);
    }
    let time = start.elapsed();
    drop(client);
    other.join().expect("it does not panic");
    time
}

fn connect(address: SocketAddr) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(address).expect("somebody listens");
    stream.set_nodelay(true).expect("it is a socket");
    BufReader::new(stream)
}

fn say(stream: &mut BufReader<TcpStream>, text: &str) {
    stream.get_mut().write_all(text.as_bytes()).expect("the other side is there");
}

fn line(stream: &mut BufReader<TcpStream>) -> String {
    let mut line = String::new();
    stream.read_line(&mut line).expect("the other side is there");
    line
}

/// All lines up to a sample.
fn until_sample(stream: &mut BufReader<TcpStream>) -> String {
    let mut heard = String::new();
    loop {
        let line = line(stream);
        let is_sample = line.starts_with("S ");
        assert!(is_sample || line == "OK\n", "{line}");
        heard += &line;
        if is_sample {
            return heard;
        }
    }
}
