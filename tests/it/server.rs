//! Real sockets: the view of foreign clients.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::Arc,
    thread::JoinHandle,
    time::Duration,
};

use bevy_math::DVec3;
use simpartner::{
    realtime::{ClockReport, ClockSettings, Control, Handle, Mode, Outputs, PhysicsThread, channel, log_queue},
    server::{Limits, Server, ServerError, Settings},
    sim::Simulation,
};
use simpartner_description::{Actuator, Device, Law, Sensor, World};
use simpartner_model::{BodyId, JointId, JointKind, Pose, RobotId, Timestep};
use simpartner_wire::{
    protocol::{self, TRUTH_OF_BODY, TRUTH_OF_JOINT, read_numbers},
    signal::{DeviceKind, EventKind, Port, StepRecord},
};
use tokio::sync::oneshot;

use crate::scene::{self, as_robot, body, cube, joint};

/// A robot that spins a rotor, with every kind of device that needs no terrain.
pub(crate) fn robot(ports: [u16; 3]) -> World {
    let mut world = scene::world();
    world.mechanism.gravity = DVec3::ZERO;
    world.mechanism.bodies.push(body("trunk", 20.0, cube(1.0), DVec3::ZERO));
    world.mechanism.bodies.push(body("rotor", 1.0, cube(0.2), DVec3::new(0.0, 1.0, 0.0)));
    world.mechanism.joints.push(joint("axle", JointKind::Hinge, 0, 1, DVec3::new(0.0, 1.0, 0.0)));
    let mut world = as_robot(world);
    let trunk = BodyId::new(0);
    world.devices = [
        ("Echo", Sensor::on(trunk, Pose::IDENTITY, DeviceKind::EchoSensor).into()),
        ("Position", Sensor::on(trunk, Pose::IDENTITY, DeviceKind::PositionSensor).into()),
        ("Motor", Actuator::new(JointId::new(0), Law::Velocity).into()),
    ]
    .into_iter()
    .zip(ports)
    .map(|((name, spec), port)| Device {
        name: name.into(),
        robot: RobotId::new(0),
        port: Port::new(i64::from(port)).unwrap(),
        spec,
        source: "robot.xml:12".into(),
    })
    .collect();
    world
}

pub(crate) fn settings() -> Settings {
    Settings::default()
}

/// A server with its physics thread, paused at step 0.
pub(crate) struct Rig {
    runtime: tokio::runtime::Runtime,
    handle: Handle,
    pub(crate) control: SocketAddr,
    pub(crate) devices: Vec<SocketAddr>,
    pub(crate) robot: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    server: Option<tokio::task::JoinHandle<()>>,
    thread: Option<PhysicsThread>,
    log: JoinHandle<Vec<Arc<StepRecord>>>,
}

impl Rig {
    fn start(settings: Settings) -> Self {
        let clock = ClockSettings { mode: Mode::Fast, start_paused: true, ..ClockSettings::default() };
        Self::with(robot([0; 3]), settings, clock)
    }

    /// The same with another world and clock.
    pub(crate) fn with(world: World, settings: Settings, clock: ClockSettings) -> Self {
        let has_cameras = world.devices.iter().any(|device| device.spec.kind().is_camera());
        let world = Arc::new(world);
        let simulation = Simulation::new(Arc::clone(&world), Timestep::MILLISECOND, scene::settings()).unwrap();
        let (handle, inbox) = channel(Arc::clone(simulation.layout()), simulation.timestep(), simulation.observe());
        let (mut thread, _) = PhysicsThread::prepare(simulation, inbox, clock).unwrap();
        let (log, logged) = log_queue(1000);
        let log_thread = std::thread::spawn(move || logged.iter().collect());
        thread.start(Outputs { log: Some(log), log_flags: Arc::default() }).unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let server = runtime.block_on(Server::bind(settings, handle.clone())).unwrap();
        let server = if has_cameras { server.with_world(world) } else { server };
        let (control, devices) = (server.control_address(), server.devices().map(|(_, address)| address).collect());
        let robot = server.robots().next().unwrap().1;
        let (stop, stopped) = oneshot::channel();
        let server = runtime.spawn(server.run(stopped));
        Self {
            runtime,
            handle,
            control,
            devices,
            robot,
            stop: Some(stop),
            server: Some(server),
            thread: Some(thread),
            log: log_thread,
        }
    }

    /// Layout of a record.
    pub(crate) fn layout(&self) -> Arc<simpartner_wire::signal::Layout> {
        self.handle.layout()
    }

    /// Ends everything in order and returns the logged steps.
    pub(crate) fn end(self) -> (ClockReport, Vec<Arc<StepRecord>>) {
        // The run may have been ended by a client.
        let _ = self.runtime.block_on(self.handle.control(Control::Quit));
        self.wait()
    }

    /// The same for a run that ends by itself.
    pub(crate) fn wait(mut self) -> (ClockReport, Vec<Arc<StepRecord>>) {
        let report = self.thread.take().unwrap().join().unwrap().unwrap();
        drop(self.stop.take());
        self.runtime.block_on(self.server.take().unwrap()).unwrap();
        steps_alone(report, self.log.join().unwrap())
    }
}

/// The records of steps. The events of the others are with those of the report.
pub(crate) fn steps_alone(report: ClockReport, log: Vec<Arc<StepRecord>>) -> (ClockReport, Vec<Arc<StepRecord>>) {
    let (steps, others): (Vec<_>, Vec<_>) = log.into_iter().partition(|record| record.is_step);
    let events = others.iter().flat_map(|record| record.events.clone()).chain(report.events).collect();
    (ClockReport { events, ..report }, steps)
}

pub(crate) struct Client {
    reader: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self { reader: BufReader::new(stream) }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.reader.get_mut().write_all(bytes).unwrap();
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub(crate) fn ask(&mut self, text: &str) -> String {
        self.write(format!("{text}\n").as_bytes());
        self.line()
    }

    pub(crate) fn reader(&mut self) -> &mut BufReader<TcpStream> {
        &mut self.reader
    }

    /// Reads until the server closes the connection.
    fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        // A reset instead of an orderly end is an end too.
        let _ = self.reader.read_to_end(&mut rest);
        String::from_utf8_lossy(&rest).into_owned()
    }
}

/// A server that stops waits for no client that goes on asking, also where it stops while an answer is under way.
#[test]
fn a_server_closes_while_its_clients_go_on_asking() {
    for round in 0..40 {
        let mut rig = Rig::start(settings());
        let requests = [(rig.control, "STEP 3\n"), (rig.control, "STATE\n"), (rig.devices[2], "1 0 0 1 0 0\n")];
        let clients = requests.map(|(address, request)| {
            std::thread::spawn(move || {
                let stream = TcpStream::connect(address).unwrap();
                let mut answers = BufReader::new(stream.try_clone().unwrap());
                let mut answer = String::new();
                // It ends with the connection, and by nothing else.
                while (&stream).write_all(request.as_bytes()).is_ok()
                    && answers.read_line(&mut answer).is_ok_and(|n| n > 0)
                {
                    answer.clear();
                }
            })
        });
        std::thread::sleep(Duration::from_millis(10 + round));
        drop(rig.stop.take());
        let server = rig.server.take().unwrap();
        let closed = rig.runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), server).await });
        assert!(closed.is_ok(), "round {round}: the server still serves its clients");
        clients.into_iter().for_each(|client| client.join().unwrap());
        let _ = rig.runtime.block_on(rig.handle.control(Control::Quit));
        rig.thread.take().unwrap().join().unwrap().unwrap();
        rig.log.join().unwrap();
    }
}

#[test]
fn a_client_drives_a_motor_and_reads_the_world() {
    let rig = Rig::start(settings());
    let mut control = Client::connect(rig.control);
    let mut motor = Client::connect(rig.devices[2]);
    assert_eq!(motor.line(), "<1000,1000,1000,0,0,0>");
    // Two frames in one segment, the second split, with CR LF and any brackets.
    motor.write(b"<1000,1000,5,0,0,1>\r\n1000,1000,5,0,");
    assert_eq!(motor.line(), "<1000,1000,1000,0,0,0>");
    motor.write(b"0,2\r\n");
    assert_eq!(motor.line(), "<1000,1000,5,0,0,1>");
    assert_eq!(control.ask("SYNC here"), "DONE 0 here");
    assert!(control.ask("STEP 100").starts_with("OK state=PAUSED step=100 time=0.1 timestep=0.001 mode=fast "));
    assert_eq!(motor.ask("GET"), "S 100 0.1 1000,1000,5,0,0,2");
    // The trunk floats and feels the rotor's reaction, a little.
    assert!(Client::connect(rig.devices[1]).line().starts_with("<-0.0000"));
    let mut echo = Client::connect(rig.devices[0]);
    assert_eq!(echo.line(), "<>");
    assert_eq!(echo.ask("<anything at all>"), "<anything at all>");
    let (_, log) = rig.end();
    let commands: Vec<_> = log.iter().flat_map(|record| &record.commands).map(|c| c.command.text.as_str()).collect();
    assert_eq!(commands, ["1000,1000,5,0,0,1", "1000,1000,5,0,0,2"]);
    assert_eq!(protocol::reply(&log[0].commands[1]), "<1000,1000,5,0,0,1>");
}

#[test]
fn the_control_port_holds_the_clock() {
    let rig = Rig::start(settings());
    let mut control = Client::connect(rig.control);
    assert!(control.ask("STATE").starts_with("OK state=PAUSED step=0 "));
    assert!(control.ask("RUNTO 0.5").starts_with("OK state=PAUSED step=500 time=0.5 "));
    assert!(control.ask("RUNTO 0.4").starts_with("ERR 7 step 400 has been made already"));
    assert!(control.ask("RESET").contains("state=PAUSED step=0 ") && control.ask("").contains("epoch=1"));
    assert!(control.ask("MODE realtime").contains(" mode=realtime "));
    assert!(
        control
            .ask("MODE sideways")
            .starts_with("ERR 8 expected MODE realtime, MODE fast or MODE lockstep [member ...], got 'sideways'")
    );
    assert!(control.ask("PLAY 100").contains("state=PLAYING"));
    assert!(control.ask("STEP 1").starts_with("ERR 7 the clock is playing"));
    assert!(control.ask("PAUSE").contains("state=PAUSED"));
    assert!(control.ask("DANCE").starts_with("ERR 1 expected STATE, PLAY [rate], "));
    let first = control.ask("DEVICES");
    let port = rig.devices[0].port();
    assert_eq!(first, format!("DEVICE name=Echo kind=EchoSensor robot=robot body=trunk port=0 bound={port}"));
    assert_eq!([control.line(), control.line(), control.line()][2], "OK 3");
    let robot = format!("ROBOT name=robot port=0 bound={}", rig.robot.port());
    assert_eq!([control.ask("ROBOTS"), control.line()], [robot, "OK 1".into()]);
    assert!(control.ask("QUIT").starts_with("OK state=QUITTING"));
    rig.end();
}

#[test]
fn the_control_port_tells_where_everything_is() {
    let rig = Rig::start(settings());
    let mut control = Client::connect(rig.control);
    assert_eq!(control.ask("SCENE"), "ERR 7 expected a world that this server can describe; it was given none");
    control.ask("STEP 100");
    let answer = control.ask("TRUTH");
    let word = |name| simpartner_wire::protocol::word(&answer, name).unwrap();
    assert_eq!((word("step"), word("time"), word("epoch")), ("100", "0.1", "0"));
    let (bodies, joints) = (read_numbers(word("bodies")).unwrap(), read_numbers(word("joints")).unwrap());
    let layout = rig.layout();
    assert_eq!((bodies.len(), joints.len()), (layout.bodies() * TRUTH_OF_BODY, layout.joints() * TRUTH_OF_JOINT));
    let (_, log) = rig.end();
    let values = &log.last().unwrap().values;
    for body in (0..layout.bodies()).map(BodyId::new) {
        let truth = &bodies[body.index() * TRUTH_OF_BODY..][..TRUTH_OF_BODY];
        assert_eq!((&truth[..7], &truth[7..]), (&values[layout.pose(body)], &values[layout.twist(body)]));
    }
    for joint in (0..layout.joints()).map(JointId::new) {
        assert_eq!(joints[joint.index() * TRUTH_OF_JOINT..][..TRUTH_OF_JOINT], values[layout.joint(joint)][3..12]);
    }
}

#[test]
fn a_subscriber_is_streamed_to_and_the_others_are_left_alone() {
    let rig = Rig::start(settings());
    let mut position = Client::connect(rig.devices[1]);
    position.line();
    assert_eq!(position.ask("SUB 10"), "OK");
    let mut control = Client::connect(rig.control);
    control.ask("STEP 10");
    assert_eq!(position.line(), "S 10 0.01 0,0,0");
    control.ask("STEP 1000");
    // It sees the newest record sooner or later, with all that it has missed counted.
    let (mut seen, mut last) = (1, String::new());
    while !last.starts_with("S 1010 ") {
        last = position.line();
        let dropped = last.split_once("dropped=").map_or(0, |(_, count)| count.parse().unwrap());
        seen += 1 + dropped;
    }
    assert_eq!(seen, 101);
    rig.end();
}

#[test]
fn a_subscriber_that_wants_all_misses_nothing_however_late_it_is() {
    // Its answers wait for it as long as this test takes.
    let limits = Limits { unread: Duration::from_secs(600), ..Limits::default() };
    let rig = Rig::start(Settings { limits, ..settings() });
    let (mut position, mut robot) = (Client::connect(rig.devices[1]), Client::connect(rig.robot));
    for client in [&mut position, &mut robot] {
        client.line();
        assert_eq!(client.ask("SUB 1 all"), "OK");
    }
    // As fast as possible; then the two read.
    let mut control = Client::connect(rig.control);
    control.ask("STEP 4000");
    for client in [&mut position, &mut robot] {
        for step in 1..=4000 {
            let line = client.line();
            assert!(line.starts_with(&format!("S {step} ")) && !line.contains("dropped"), "{step}: {line}");
        }
    }
    // After a reset steps count from zero.
    assert!(control.ask("RESET").starts_with("OK"));
    control.ask("STEP 3");
    assert!((1..=3).all(|step| position.line().starts_with(&format!("S {step} "))));
    rig.end();
}

#[test]
fn hostile_clients_are_sent_away_and_the_rest_go_on() {
    let mut limits = Limits { connections_per_port: 3, ..Limits::default() };
    limits.unfinished = Duration::from_millis(200);
    limits.unread = Duration::from_millis(200);
    let rig = Rig::start(Settings { limits, ..settings() });
    let motor = rig.devices[2];
    let mut page = Client::connect(motor);
    page.write(b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n<1,2,3,4,5,6>");
    assert_eq!(page.rest().trim_end(), "<1000,1000,1000,0,0,0>");
    let mut long_page = Client::connect(motor);
    let path = "a".repeat(5000);
    long_page.write(format!("POST /{path} HTTP/1.1\r\nHost: a\r\n\r\n<1000,1000,100,0,0,0.2>").as_bytes());
    assert_eq!(long_page.rest().trim_end(), "<1000,1000,1000,0,0,0>");
    let mut binary = Client::connect(motor);
    binary.write(b"\x16\x03\x01\xfe\xff\n");
    assert!(binary.rest().contains("ERR 5 expected UTF-8 text without control characters"));
    let mut slow = Client::connect(motor);
    slow.write(b"<1000,");
    assert_eq!(slow.rest().trim_end(), "<1000,1000,1000,0,0,0>");
    let mut long = Client::connect(motor);
    long.line();
    long.write(&[b'1'; 5000]);
    assert_eq!(long.line(), "ERR 5 expected a message of at most 4096 bytes");
    let (mut second, mut third) = (Client::connect(motor), Client::connect(motor));
    second.line();
    third.line();
    let refusal = "ERR 6 too many connections: 3 on this port, and all are in use; close one first";
    assert_eq!(Client::connect(motor).line(), refusal);
    assert_eq!(third.ask("GET"), "S 0 0 1000,1000,1000,0,0,0");
    drop((long, second, third));
    let (_, log) = rig.end();
    assert!(log.is_empty(), "no step was asked for");
}

#[test]
fn a_reader_that_never_reads_is_given_up() {
    let limits = Limits { unread: Duration::from_millis(200), ..Limits::default() };
    let rig = Rig::start(Settings { limits, ..settings() });
    let mut deaf = Client::connect(rig.devices[1]);
    // Far more answers than all buffers hold; after the deadline the server closes and writing fails.
    let polls = [b'\n'; 4096];
    let gone = (0..100_000).any(|_| deaf.reader.get_mut().write_all(&polls).is_err());
    assert!(gone);
    let mut control = Client::connect(rig.control);
    control.ask("STEP 1");
    let (report, log) = rig.end();
    let events: Vec<_> =
        log.iter().flat_map(|r| &r.events).chain(&report.events).filter(|e| e.kind == EventKind::Disconnect).collect();
    assert!(events.iter().any(|event| event.text.ends_with("read too slowly")), "{events:?}");
}

#[test]
fn a_token_is_wanted_where_other_machines_can_reach() {
    let everywhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    let world = Arc::new(robot([0; 3]));
    let simulation = Simulation::new(world, Timestep::MILLISECOND, scene::settings()).unwrap();
    let (handle, _inbox) = channel(Arc::clone(simulation.layout()), simulation.timestep(), simulation.observe());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let refused = runtime.block_on(Server::bind(Settings { bind: everywhere, ..settings() }, handle));
    assert!(matches!(refused, Err(ServerError::NoToken(_))));

    let rig = Rig::start(Settings { token: Some("open sesame".into()), ..settings() });
    let mut stranger = Client::connect(rig.devices[2]);
    stranger.write(b"TOKEN open simsim\n<1,2,3,4,5,6>");
    assert_eq!(stranger.rest().trim_end(), "ERR 9 expected TOKEN and the server's token");
    let mut friend = Client::connect(rig.devices[2]);
    friend.write(b"TOKEN open sesame\r\nGET\n");
    assert_eq!([friend.line(), friend.line()], ["<1000,1000,1000,0,0,0>", "S 0 0 1000,1000,1000,0,0,0"]);
    rig.end();
}

#[test]
fn a_token_cannot_be_guessed_by_trying() {
    let rig = Rig::start(Settings { token: Some("open sesame".into()), ..settings() });
    for _ in 0..5 {
        let mut stranger = Client::connect(rig.devices[2]);
        stranger.write(b"TOKEN open simsim\n");
        assert_eq!(stranger.rest().trim_end(), "ERR 9 expected TOKEN and the server's token");
    }
    // Ten at once: five wait for their turns, the others are refused without a check of their token.
    let mut late: Vec<Client> = (0..10).map(|_| Client::connect(rig.devices[2])).collect();
    late.iter_mut().for_each(|client| client.write(b"TOKEN open simsim\n"));
    late.iter_mut().for_each(|client| drop(client.rest()));
    let (report, log) = rig.end();
    let events = log.iter().flat_map(|record| &record.events).chain(&report.events);
    let counts: Vec<f64> = events.filter(|e| e.kind == EventKind::WrongToken).filter_map(|e| e.value).collect();
    assert_eq!(counts, [5.0, 10.0]);
}

#[test]
fn all_ports_are_bound_or_none() {
    let occupied = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let port = occupied.local_addr().unwrap().port();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let bind = |ports| {
        let simulation = Simulation::new(Arc::new(robot(ports)), Timestep::MILLISECOND, scene::settings()).unwrap();
        let (handle, _inbox) = channel(Arc::clone(simulation.layout()), simulation.timestep(), simulation.observe());
        runtime.block_on(Server::bind(settings(), handle)).map(|_| ()).unwrap_err().to_string()
    };
    let message = bind([free, 0, port]);
    let start = format!("robot.xml:12: JointController 'Motor' of 'robot' cannot open port {port}: ");
    assert!(message.starts_with(&start) && message.contains("--port-offset 1000 moves all"), "{message}");
    TcpListener::bind((Ipv4Addr::LOCALHOST, free)).expect("what was bound before the error is free again");
    let message = bind([free, 0, free]);
    assert!(
        message.starts_with("robot.xml:12: JointController 'Motor' of 'robot' and EchoSensor 'Echo' of 'robot'"),
        "{message}"
    );
}

#[test]
fn a_fault_put_in_from_outside_is_seen_by_clients_and_in_the_log() {
    let rig = Rig::start(settings());
    let mut control = Client::connect(rig.control);
    let mut position = Client::connect(rig.devices[1]);
    position.line();
    assert_eq!(control.ask("FAULT robot/Position off"), "OK");
    control.ask("STEP 10");
    assert_eq!(position.ask("<>"), "ERR 10 the device is off; FAULT ok brings it back");
    assert_eq!(position.ask("GET"), "ERR 10 the device is off; FAULT ok brings it back");
    assert!(position.ask("INFO").starts_with("OK name=Position "));
    assert_eq!(Client::connect(rig.devices[1]).line(), "ERR 10 the device is off; FAULT ok brings it back");
    // The device's own port takes it too, and a motor's as well.
    assert_eq!(position.ask("FAULT ok"), "OK");
    let mut motor = Client::connect(rig.devices[2]);
    motor.line();
    assert_eq!(motor.ask("FAULT stuck"), "OK");
    assert_eq!(motor.ask("1,1,1,0,0,1"), "<1000,1000,1000,0,0,0>");
    control.ask("STEP 1");
    assert!(position.ask("GET").starts_with("S 11 0.011 "));
    assert_eq!(motor.ask("GET"), "S 11 0.011 1000,1000,1000,0,0,0");
    for (said, heard) in [
        (
            "FAULT robot/Position broken",
            "ERR 8 expected ok, off, stuck, garbage, delayed SECONDS or intermittent PROBABILITY, got 'broken'",
        ),
        ("FAULT Motor delayed 61", "ERR 4 delayed: expected above 0 to 60, got 61"),
        (
            "FAULT Mota off",
            "ERR 8 expected one of robot/Echo, robot/Position, robot/Motor, got 'Mota'; did you mean 'Motor'?",
        ),
        ("FAULT Echo off", "ERR 8 a EchoSensor has no faults"),
    ] {
        assert_eq!(control.ask(said), heard);
    }
    let (_, log) = rig.end();
    let told: Vec<_> =
        log.iter().flat_map(|record| &record.events).filter(|event| event.kind == EventKind::Fault).collect();
    let told: Vec<_> = told.iter().map(|event| (event.step.0, event.subject.as_str(), event.text.as_str())).collect();
    assert_eq!(told, [(0, "robot/Position", "off"), (10, "robot/Position", "ok"), (10, "robot/Motor", "stuck")]);
    // The commands are there to be played again.
    let commands: Vec<_> = log.iter().flat_map(|record| &record.commands).map(|c| c.command.text.as_str()).collect();
    assert_eq!(commands, ["FAULT off", "FAULT ok", "FAULT stuck", "1,1,1,0,0,1"]);
}
