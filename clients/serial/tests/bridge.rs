//! The bridge against a real server, with the other side of a pseudo-terminal in place of a microcontroller.

// A test that cannot continue has to stop; clippy allows this only in test functions themselves.
#![allow(clippy::unwrap_used)]
#![cfg(unix)]

use simpartner::{
    realtime::{ClockReport, ClockSettings, Control, Handle, LockstepSettings, Mode, Outputs, PhysicsThread, channel},
    server::{Server, Settings},
    sim::Simulation,
};
use simpartner_description::xml::{self, Document};
use simpartner_serial::{
    bridge::{BridgeEvent, BridgeRequest, run},
    line::Wire,
    server::Robot,
    times::Summary,
};
use simpartner_wire::signal::{Member, RobotId, Timestep};
use std::{
    fs::{File, OpenOptions},
    io::{BufRead, BufReader, Write},
    net::SocketAddr,
    sync::{Arc, mpsc},
    thread,
};
use tokio::sync::oneshot;

const ROBOT: &str = "<robot name='Spinner'>
    <body name='Trunk'><mass>5</mass><box x='1' y='0.5' z='0.5'/></body>
    <body name='Rotor'><mass>1</mass><pose x='1'/><box x='0.2' y='0.3' z='0.4'/></body>
    <joint type='hinge' name='Axle'><parent>Trunk</parent><child>Rotor</child><axis z='1'/></joint>
    <actuator type='JointController' name='Motor' joint='Axle' port='0'/>
    <sensor type='PositionSensor' name='Position' body='Trunk' port='0'/>
    </robot>";

/// A server in lockstep, paused at step 0.
struct Rig {
    runtime: tokio::runtime::Runtime,
    handle: Handle,
    control: SocketAddr,
    thread: PhysicsThread,
    stop: oneshot::Sender<()>,
    serving: tokio::task::JoinHandle<()>,
}

impl Rig {
    /// On a free port, or on the port of an earlier server.
    fn start(control_port: u16) -> Self {
        let Ok(Document::Robot(world)) = xml::read_text("spinner.xml", ROBOT) else { panic!("it is a robot") };
        let settings = Default::default();
        let simulation = Simulation::new(Arc::new(world), Timestep::MILLISECOND, settings).unwrap();
        let (handle, inbox) = channel(Arc::clone(simulation.layout()), simulation.timestep(), simulation.observe());
        let members = vec![Member::Robot(RobotId::new(0))];
        let lockstep = LockstepSettings { members, ..LockstepSettings::default() };
        let clock = ClockSettings { mode: Mode::Lockstep, start_paused: true, lockstep, ..ClockSettings::default() };
        let (mut thread, _) = PhysicsThread::prepare(simulation, inbox, clock).unwrap();
        thread.start(Outputs { log: None, log_flags: Arc::default() }).unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let settings = Settings { control_port, ..Settings::default() };
        let server = runtime.block_on(Server::bind(settings, handle.clone())).unwrap();
        let control = server.control_address();
        let (stop, stopped) = oneshot::channel();
        let serving = runtime.spawn(server.run(stopped));
        Self { runtime, handle, control, thread, stop, serving }
    }

    fn play(&self) {
        self.runtime.block_on(self.handle.control(Control::Play { rate: None })).unwrap();
    }

    fn end(self) -> ClockReport {
        self.runtime.block_on(self.handle.control(Control::Quit)).unwrap();
        let report = self.thread.join().unwrap().unwrap();
        drop(self.stop);
        self.runtime.block_on(self.serving).unwrap();
        report
    }
}

/// A bridge on a thread of its own.
struct Bridge {
    orders: tokio::sync::mpsc::Sender<BridgeRequest>,
    news: mpsc::Receiver<BridgeEvent>,
    thread: thread::JoinHandle<Result<Summary, String>>,
}

impl Bridge {
    fn start(wire: Wire, control: SocketAddr, name: &str) -> Self {
        let robot = Robot { server: control.to_string(), token: None, name: name.into() };
        let (orders, ordered) = tokio::sync::mpsc::channel(1);
        let (tell, news) = mpsc::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let tell = |news| tell.send(news).unwrap_or(());
            runtime.block_on(run(&wire, &robot, ordered, tell)).map_err(|error| format!("{error:#}"))
        });
        Self { orders, news, thread }
    }

    /// Waits for news of this kind.
    fn wait<T>(&self, wanted: impl Fn(&BridgeEvent) -> Option<T>) -> T {
        loop {
            let news = self.news.recv().expect("the bridge runs");
            if let Some(found) = wanted(&news) {
                return found;
            }
        }
    }

    fn wait_for_robot(&self) {
        self.wait(|news| (*news == BridgeEvent::RobotConnected).then_some(()));
    }

    fn order(&self, order: BridgeRequest) {
        self.orders.blocking_send(order).unwrap();
    }
}

/// A microcontroller at the other side of the line.
struct Controller {
    reader: BufReader<File>,
    writer: File,
}

impl Controller {
    fn open(name: &str) -> Self {
        let writer = OpenOptions::new().read(true).write(true).open(name).unwrap();
        Self { reader: BufReader::new(writer.try_clone().unwrap()), writer }
    }

    fn say(&mut self, text: &str) {
        self.writer.write_all(format!("{text}\n").as_bytes()).unwrap();
    }

    /// The next line of this beginning.
    fn line(&mut self, start: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.reader.read_line(&mut line).unwrap() > 0, "the line is open");
            assert!(!line.starts_with("ERR"), "{line}");
            if line.starts_with(start) {
                return line.trim_end().to_owned();
            }
        }
    }

    /// Joins the lockstep, starts the clock, and drives the motor for a number of steps.
    fn drive(&mut self, rig: &Rig, steps: u64) {
        self.say("ACK");
        self.line("S 0 ");
        rig.play();
        for step in 0..steps {
            self.say(&format!("SET @{} Motor=10,10,10,0,0,{}", step + 1, (step as f64 * 0.1).sin()));
            self.line(&format!("S {} ", step + 1));
        }
    }
}

#[test]
fn a_controller_on_a_serial_line_drives_a_robot_in_lockstep() {
    const STEPS: u64 = 200;
    let drive = || {
        let rig = Rig::start(0);
        let bridge = Bridge::start(Wire::Pseudo, rig.control, "Spinner");
        let name = bridge.wait(|news| if let BridgeEvent::SerialOpen(name) = news { name.clone() } else { None });
        bridge.wait_for_robot();
        let mut controller = Controller::open(&name);
        controller.drive(&rig, STEPS);
        bridge.order(BridgeRequest::Times);
        let times = bridge.wait(|news| if let BridgeEvent::Times(times) = news { Some(*times) } else { None });
        // Every sample but the last has been answered.
        assert_eq!(times.count, STEPS);
        assert!(times.p50 <= times.p99 && times.p99 <= times.max && times.p50.as_nanos() > 0, "{times}");
        bridge.order(BridgeRequest::Stop);
        assert_eq!(bridge.thread.join().unwrap(), Ok(times));
        let report = rig.end();
        (report.step.0, report.state_hash)
    };
    let first = drive();
    assert_eq!(first.0, STEPS);
    assert_eq!(first, drive());
}

#[test]
fn a_server_that_comes_back_is_connected_to_again() {
    let rig = Rig::start(0);
    let control = rig.control;
    let bridge = Bridge::start(Wire::Pseudo, control, "Spinner");
    let name = bridge.wait(|news| if let BridgeEvent::SerialOpen(name) = news { name.clone() } else { None });
    bridge.wait_for_robot();
    let mut controller = Controller::open(&name);
    controller.drive(&rig, 3);
    rig.end();
    let why = bridge.wait(|news| if let BridgeEvent::Disconnected(why) = news { Some(why.clone()) } else { None });
    assert!(why.starts_with("robot: "), "{why}");
    let rig = Rig::start(control.port());
    bridge.wait_for_robot();
    controller.line("<");
    controller.drive(&rig, 3);
    bridge.order(BridgeRequest::Stop);
    bridge.thread.join().unwrap().unwrap();
    assert_eq!(rig.end().step.0, 3);
}

#[test]
fn what_is_not_there_is_told_at_the_start() {
    let rig = Rig::start(0);
    let wire = Wire::Device { path: "/dev/no-such-line".into(), baud: 9600 };
    let error = Bridge::start(wire, rig.control, "Spinner").thread.join().unwrap().unwrap_err();
    assert!(error.starts_with("cannot open the serial line '/dev/no-such-line' at 9600 bits/s; "), "{error}");
    let error = Bridge::start(Wire::Pseudo, rig.control, "Spinnaker").thread.join().unwrap().unwrap_err();
    assert_eq!(error, "the server has no robot 'Spinnaker'; it has Spinner");
    rig.end();
}
