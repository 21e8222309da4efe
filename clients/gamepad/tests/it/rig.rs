//! A server with a robot, started inside the test, and the same world without one.

use std::{
    net::{Ipv4Addr, TcpListener},
    path::Path,
    sync::Arc,
    thread::JoinHandle,
};

use simpartner::{
    realtime::{ClockReport, ClockSettings, Control, Handle, Mode, Outputs, PhysicsThread, channel, log_queue},
    server::{Server, Settings},
    sim::Simulation,
};
use simpartner_description::{Sequence, World, xml};
use simpartner_wire::signal::{Layout, Port, StepRecord, Timestep};
use tokio::sync::oneshot;

/// A world of `worlds/`, whose devices have any free ports.
pub fn world(name: &str) -> World {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../worlds").join(name);
    let mut world = xml::read_world(&path).unwrap();
    let listeners: Vec<_> =
        world.devices.iter().map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()).collect();
    for (device, listener) in world.devices.iter_mut().zip(listeners) {
        device.port = Port::new(i64::from(listener.local_addr().unwrap().port())).unwrap();
    }
    world
}

fn simulation(world: &Arc<World>) -> Simulation {
    Simulation::new(Arc::clone(world), Timestep::MILLISECOND, Default::default()).unwrap()
}

/// A run with the sequence inside the process, up to a step; each command acts `late` steps too late.
pub fn replay(world: &Arc<World>, sequence: &Sequence, steps: u64, late: u64) -> Simulation {
    let mut simulation = simulation(world);
    let mut record = StepRecord::new(simulation.layout());
    let mut timeline = sequence.timeline(Timestep::MILLISECOND);
    timeline.sections[0].commands.iter_mut().for_each(|command| command.after_steps += late);
    simulation.schedule(&timeline).unwrap();
    for _ in 0..steps {
        simulation.step(&mut record);
        record.commands.clear();
        record.events.clear();
    }
    simulation
}

/// A server with its physics thread, playing in real time.
pub struct Rig {
    runtime: tokio::runtime::Runtime,
    handle: Handle,
    pub world: Arc<World>,
    /// `host:port` of the control port.
    pub control: String,
    settings: Settings,
    /// The server, and the channel that ends it; `None` while it is interrupted.
    server: Option<(oneshot::Sender<()>, tokio::task::JoinHandle<()>)>,
    thread: PhysicsThread,
    log: JoinHandle<Vec<Arc<StepRecord>>>,
}

impl Rig {
    /// Starts a server on any free control port.
    pub fn start(name: &str, rate: f64) -> Self {
        // Another program may take one of the ports first.
        (0..20).find_map(|_| Self::try_start(world(name), rate, 0)).expect("no ports stayed free")
    }

    /// Starts a server on a given control port, which an earlier server has just released.
    pub fn restart(name: &str, rate: f64, control: &str) -> Self {
        let port = control.rsplit(':').next().unwrap().parse().unwrap();
        (0..200)
            .find_map(|_| {
                std::thread::yield_now();
                Self::try_start(world(name), rate, port)
            })
            .expect("the ports did not become free")
    }

    fn try_start(world: World, rate: f64, control_port: u16) -> Option<Self> {
        let world = Arc::new(world);
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let simulation = simulation(&world);
        let (handle, inbox) = channel(Arc::clone(simulation.layout()), simulation.timestep(), simulation.observe());
        let settings = Settings { control_port, ..Settings::default() };
        let server = runtime.block_on(Server::bind(settings.clone(), handle.clone())).ok()?;
        let clock = ClockSettings { mode: Mode::RealTime, rate, ..ClockSettings::default() };
        let (mut thread, _) = PhysicsThread::prepare(simulation, inbox, clock).unwrap();
        let (log, logged) = log_queue(1000);
        let log_thread = std::thread::spawn(move || {
            // Nearly all steps are without a command; storing them would waste memory.
            logged.iter().filter(|record: &Arc<StepRecord>| !record.commands.is_empty()).collect()
        });
        thread.start(Outputs { log: Some(log), log_flags: Arc::default() }).unwrap();
        let control = server.control_address();
        let settings = Settings { control_port: control.port(), ..settings };
        let control = control.to_string();
        let (stop, stopped) = oneshot::channel();
        let server = Some((stop, runtime.spawn(server.run(stopped))));
        Some(Self { runtime, handle, world, control, settings, server, thread, log: log_thread })
    }

    /// Closes all connections; the world continues.
    pub fn interrupt(&mut self) {
        if let Some((stop, server)) = self.server.take() {
            drop(stop);
            self.runtime.block_on(server).unwrap();
        }
    }

    /// Listens again, on the same ports.
    pub fn resume(&mut self) {
        let bind = || self.runtime.block_on(Server::bind(self.settings.clone(), self.handle.clone())).ok();
        let server = (0..200).find_map(|_| bind()).expect("the ports are free again");
        let (stop, stopped) = oneshot::channel();
        self.server = Some((stop, self.runtime.spawn(server.run(stopped))));
    }

    /// Sends a request to the clock.
    pub fn request(&self, control: Control) {
        self.runtime.block_on(self.handle.control(control)).unwrap();
    }

    /// The newest step.
    pub fn latest(&self) -> Arc<StepRecord> {
        self.handle.latest().borrow().clone()
    }

    /// Layout of a step record.
    pub fn layout(&self) -> Arc<Layout> {
        self.handle.layout()
    }

    /// Ends everything in order and returns the steps with commands.
    pub fn end(self) -> (ClockReport, Vec<Arc<StepRecord>>) {
        let _ = self.runtime.block_on(self.handle.control(Control::Quit));
        let report = self.thread.join().unwrap().unwrap();
        if let Some((stop, server)) = self.server {
            drop(stop);
            self.runtime.block_on(server).unwrap();
        }
        (report, self.log.join().unwrap().into_iter().filter(|record| record.is_step).collect())
    }
}
