//! Effect of open viewer pages on the physics: its lateness in real time without and with them. `cargo bench --bench
//! pages`.
//!
//! Each group of pages is open for ten seconds while WorkPartner 3 stands in real time, one group after the other,
//! without pages first and last. A page acknowledges every frame at once, sixty a second; a stalled one never reads.

#[path = "page.rs"]
mod page;

use std::{
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use simpartner::{
    realtime::{self, ClockReport, Outputs, PhysicsThread, Scheduling, channel},
    server::{Server, Settings, Viewer},
    sim::Simulation,
};
use simpartner_description::{
    World,
    xml::{self, Document},
};
use simpartner_model::{StepIndex, Timestep};
use tokio::sync::oneshot;
use tungstenite::WebSocket;

const WORLD: &str = "<world><surface/><robot file='robots/workpartner3.xml' portOffset='20000'/></world>";
const SECONDS: f64 = 10.0;

fn main() {
    let seconds = if std::env::args().any(|argument| argument == "--bench") { SECONDS } else { 0.2 };
    println!("lateness of a step in microseconds, {seconds} s each");
    println!("{:<30} {:>8} {:>8} {:>8} {:>8} {:>6} {:>10}", "", "p50", "p99", "p99.9", "max", "slips", "frames/s");
    for (name, pages, stalled) in [
        ("no page", 0, 0),
        ("1 page", 1, 0),
        ("20 pages", 20, 0),
        ("20 pages, one of them stalled", 20, 1),
        ("20 pages, all stalled", 20, 20),
        ("no page", 0, 0),
    ] {
        let (report, frames) = run(pages, stalled, seconds);
        let late = report.lateness.expect("it ran in real time");
        let rate = frames as f64 / seconds;
        println!(
            "{name:<30} {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>6} {rate:>10.0}",
            late.p50_us, late.p99_us, late.p99_9_us, late.max_us, report.slips
        );
    }
}

fn world() -> World {
    match xml::read_text("bench.xml", WORLD) {
        Ok(Document::World(world)) => world,
        other => panic!("{other:?}"),
    }
}

/// A run with a number of pages, some of them stalled; returns the number of acknowledged frames.
fn run(pages: usize, stalled: usize, seconds: f64) -> (ClockReport, u64) {
    let world = Arc::new(world());
    let simulation =
        Simulation::new(Arc::clone(&world), Timestep::MILLISECOND, simpartner_dynamics::Settings::default())
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
    let settings = Settings::default();
    let server = runtime.block_on(async {
        let server = Server::bind(settings, handle).await?;
        server.with_viewer(Viewer { port: 0, world, archive: None, documentation: None }).await
    });
    let server = server.unwrap_or_else(|error| panic!("{error}"));
    let address = server.viewer_address().expect("it was asked for");
    let (stop, stopped) = oneshot::channel();
    let serving = runtime.spawn(server.run(stopped));
    let (over, frames) = (AtomicBool::new(false), AtomicU64::new(0));
    let report = thread::scope(|scope| {
        let open: Vec<WebSocket<TcpStream>> = (0..pages).map(|_| page::open(address)).collect();
        for (index, socket) in open.into_iter().enumerate() {
            let (over, frames) = (&over, &frames);
            scope.spawn(move || match index < stalled {
                true => {
                    while !over.load(Ordering::Relaxed) {
                        thread::sleep(Duration::from_millis(20));
                    }
                }
                false => page::read_frames(socket, over, frames),
            });
        }
        physics.start(Outputs { log: None, log_flags: Arc::default() }).expect("a thread can be had");
        let report = physics.join().expect("it does not panic").expect("it was started");
        over.store(true, Ordering::Relaxed);
        report
    });
    drop(stop);
    runtime.block_on(serving).expect("the server does not panic");
    (report, frames.into_inner())
}
