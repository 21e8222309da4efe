//! Effect of clients on the physics: its lateness in real time alone, and with clients of the worst kinds. `cargo bench
//! --bench clients`.
//!
//! Each group of clients runs for ten seconds while WorkPartner 1 drives in real time, one group after the other,
//! without clients first and last.

use std::{
    io::Write,
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use simpartner::{
    realtime::{self, ClockReport, Outputs, PhysicsThread, Scheduling, channel},
    server::{Limits, Server, Settings},
    sim::Simulation,
};
use simpartner_description::xml::{self, Document};
use simpartner_model::{StepIndex, Timestep};
use tokio::sync::oneshot;

const WORLD: &str = "<world><surface/><robot file='robots/workpartner1.xml' portOffset='20000'/></world>";
const SECONDS: f64 = 10.0;

/// Clients that do their worst until the flag rises.
type Crowd = fn(&[SocketAddr], &AtomicBool);

fn main() {
    let seconds = if std::env::args().any(|argument| argument == "--bench") { SECONDS } else { 0.2 };
    let crowds: [(&str, Crowd); 6] = [
        ("nobody", |_, _| {}),
        ("50 subscribers to every step", subscribers),
        ("one on each port that never reads", deaf),
        ("one on each port that sends a byte a second", slow),
        ("200 that connect and vanish, again and again", vanishing),
        ("nobody", |_, _| {}),
    ];
    println!("lateness of a step in microseconds, {seconds} s each");
    println!("{:<46} {:>8} {:>8} {:>8} {:>8} {:>6}", "", "p50", "p99", "p99.9", "max", "slips");
    for (name, crowd) in crowds {
        let report = run(crowd, seconds);
        let late = report.lateness.expect("it ran in real time");
        println!(
            "{name:<46} {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>6}",
            late.p50_us, late.p99_us, late.p99_9_us, late.max_us, report.slips
        );
    }
}

fn run(crowd: Crowd, seconds: f64) -> ClockReport {
    let world = match xml::read_text("bench.xml", WORLD) {
        Ok(Document::World(world)) => world,
        other => panic!("{other:?}"),
    };
    let simulation = Simulation::new(Arc::new(world), Timestep::MILLISECOND, simpartner_dynamics::Settings::default())
        .expect("the robot can be built");
    let (handle, inbox) = channel(Arc::clone(simulation.layout()), simulation.timestep(), simulation.observe());
    let clock = realtime::ClockSettings {
        end: Some(StepIndex(simulation.timestep().steps_in(seconds))),
        unattended: true,
        scheduling: Scheduling { priority: 80, fast_niceness: 0, lock_memory: true },
        ..realtime::ClockSettings::default()
    };
    let (mut physics, _) = PhysicsThread::prepare(simulation, inbox, clock).expect("a thread can be had");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be had");
    let limits = Limits { connections_per_port: 1000, ..Limits::default() };
    let settings = Settings { limits, ..Settings::default() };
    let server = runtime.block_on(Server::bind(settings, handle)).unwrap_or_else(|error| panic!("{error}"));
    let addresses: Vec<SocketAddr> = server.devices().map(|(_, address)| address).collect();
    let (stop, stopped) = oneshot::channel();
    let serving = runtime.spawn(server.run(stopped));
    let over = Arc::new(AtomicBool::new(false));
    let crowd = thread::spawn({
        let over = Arc::clone(&over);
        move || crowd(&addresses, &over)
    });
    physics.start(Outputs { log: None, log_flags: Arc::default() }).expect("a thread can be had");
    let report = physics.join().expect("it does not panic").expect("it was started");
    over.store(true, Ordering::Relaxed);
    crowd.join().expect("a client does not panic");
    drop(stop);
    runtime.block_on(serving).expect("the server does not panic");
    report
}

fn connect(address: SocketAddr) -> Option<TcpStream> {
    TcpStream::connect(address).ok()
}

fn wait(over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(20));
    }
}

fn subscribers(addresses: &[SocketAddr], over: &AtomicBool) {
    let streams: Vec<TcpStream> = (0..50).filter_map(|client| connect(addresses[client % addresses.len()])).collect();
    thread::scope(|scope| {
        for mut stream in &streams {
            // The server may be closing already.
            let _ = stream.write_all(b"SUB 1\n");
            scope.spawn(move || std::io::copy(&mut stream, &mut std::io::sink()));
        }
        wait(over);
        for stream in &streams {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    });
}

fn deaf(addresses: &[SocketAddr], over: &AtomicBool) {
    let mut streams: Vec<TcpStream> = addresses.iter().filter_map(|&address| connect(address)).collect();
    for stream in &mut streams {
        let _ = stream.write_all(b"SUB 1\n");
    }
    wait(over);
}

fn slow(addresses: &[SocketAddr], over: &AtomicBool) {
    let mut streams: Vec<TcpStream> = addresses.iter().filter_map(|&address| connect(address)).collect();
    while !over.load(Ordering::Relaxed) {
        for stream in &mut streams {
            let _ = stream.write_all(b"1");
        }
        for _ in 0..50 {
            if !over.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

fn vanishing(addresses: &[SocketAddr], over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let streams: Vec<_> = (0..200).filter_map(|client| connect(addresses[client % addresses.len()])).collect();
        drop(streams);
        thread::sleep(Duration::from_millis(100));
    }
}
