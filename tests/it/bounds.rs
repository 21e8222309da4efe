//! Resources that no client can take from the others: memory, time of a step, connections, descriptors.

use std::{
    io::{BufRead, BufReader, Read},
    net::{SocketAddr, TcpStream},
    process::{Command as Process, Stdio},
    sync::Arc,
    time::Duration,
};

use simpartner::{
    realtime::{
        COMMAND_MEMORY, COMMANDS_OF_A_STEP, ClockSettings, Control, ControlError, Full, Handle, LogReceiver, Mode,
        Outputs, PhysicsThread, channel, log_queue,
    },
    server::{Limits, Settings},
    sim::Simulation,
};
use simpartner_model::{DeviceId, StepIndex, Timestep};
use simpartner_wire::signal::{Action, ClientId, Command, Event, EventKind, Reservation};

use crate::{
    cli::Scratch,
    scene,
    server::{Client, Rig, robot, settings},
};

/// A clock that has not been started, so that commands wait.
struct Clock {
    handle: Handle,
    thread: PhysicsThread,
}

fn clock(settings: ClockSettings) -> Clock {
    let simulation = Simulation::new(Arc::new(robot([0; 3])), Timestep::MILLISECOND, scene::settings()).unwrap();
    let (handle, inbox) = channel(Arc::clone(simulation.layout()), simulation.timestep(), simulation.observe());
    let (thread, _) = PhysicsThread::prepare(simulation, inbox, settings).unwrap();
    Clock { handle, thread }
}

fn fast() -> ClockSettings {
    ClockSettings { mode: Mode::Fast, ..ClockSettings::default() }
}

impl Clock {
    /// Starts the clock; returns the logged records.
    fn start(&mut self) -> LogReceiver {
        let (log, logged) = log_queue(100_000);
        self.thread.start(Outputs { log: Some(log), log_flags: Arc::default() }).unwrap();
        logged
    }

    fn ask(&self, control: Control) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(self.handle.control(control)).unwrap();
    }

    /// Sends a text to the echo sensor, as soon as there is a place in the queue.
    fn echo(&self, client: u64, at: Option<u64>, text: &str) -> Result<(), ControlError> {
        while !self.handle.has_place(ClientId(client)) {
            std::thread::yield_now();
        }
        self.handle.command(echo(client, at, text))
    }
}

fn echo(client: u64, at: Option<u64>, text: &str) -> Command {
    Command {
        target: DeviceId::new(0).into(),
        at: at.map(StepIndex),
        client: ClientId(client),
        sequence: 0,
        text: text.into(),
        action: Action::Hear,
        memory: Reservation::default(),
    }
}

#[test]
fn a_step_takes_in_a_bounded_number_of_commands_and_keeps_their_order() {
    let mut clock = clock(ClockSettings { end: Some(StepIndex(100)), ..fast() });
    let mut sent = Vec::new();
    for number in 0..60 {
        for client in 0..40 {
            let text = format!("{number} of {client}");
            clock.handle.command(echo(client, None, &text)).unwrap();
            sent.push(text);
        }
    }
    let logged = clock.start();
    clock.thread.join().unwrap();
    let records: Vec<_> = logged.iter().collect();
    // 64 for a step, and two for each of the three devices.
    assert_eq!(records.iter().map(|record| record.commands.len()).max(), Some(70));
    let taken: Vec<_> = records.iter().flat_map(|record| &record.commands).map(|c| c.command.text.clone()).collect();
    assert_eq!(taken, sent);
}

#[test]
fn long_texts_count_as_many_commands() {
    let mut clock = clock(ClockSettings { end: Some(StepIndex(50)), ..fast() });
    let text = "x".repeat(4000);
    (0..60).for_each(|_| clock.handle.command(echo(1, None, &text)).unwrap());
    let logged = clock.start();
    clock.thread.join().unwrap();
    let counts: Vec<_> = logged.iter().map(|record| record.commands.len()).collect();
    // Each takes 1 + 4000 / 64 = 63 of 70, so the second exceeds the limit.
    assert_eq!((counts.iter().max(), counts.iter().sum::<usize>()), (Some(&2), 60));
}

#[test]
fn a_client_that_floods_leaves_places_to_the_others_and_the_control_port() {
    let clock = clock(fast());
    let flood = |client| (0..10_000).map(|_| clock.handle.command(echo(client, None, "x"))).find_map(Result::err);
    let full = flood(1).expect("the queue is endless");
    assert_eq!(full, ControlError::Full(Full::Client));
    assert_eq!(full.to_string(), "64 commands of this client wait for the next step; wait for it before sending more");
    assert!(!clock.handle.has_place(ClientId(1)) && clock.handle.has_place(ClientId(2)));
    (2..30).for_each(|client| assert!(flood(client).is_some()));
    assert_eq!(clock.handle.command(echo(30, None, "x")), Ok(()));
    // However many flood, there is room behind them for the clock.
    (31..1000).for_each(|client| assert!(flood(client).is_some()));
    let event = Event {
        step: StepIndex(0),
        kind: EventKind::Connect,
        subject: String::new(),
        text: String::new(),
        value: None,
    };
    (0..100).for_each(|_| assert_eq!(clock.handle.note(event.clone()), Ok(())));
}

#[test]
fn what_waits_while_paused_is_bounded_in_bytes_and_free_again_when_it_has_acted() {
    let mut clock = clock(ClockSettings { start_paused: true, ..fast() });
    let logged = clock.start();
    let text = "x".repeat(4000);
    let accepted = |clock: &Clock| (0..100_000).take_while(|_| clock.echo(1, None, &text).is_ok()).count();
    let first = accepted(&clock);
    let bytes = first * text.len();
    assert!(bytes < COMMAND_MEMORY / 4 && bytes > COMMAND_MEMORY / 16, "{bytes} bytes of texts were accepted");
    let refused = clock.echo(1, None, &text).unwrap_err();
    assert!(matches!(refused, ControlError::Full(Full::Memory { .. })), "{refused}");
    assert!(refused.to_string().ends_with("let steps be made before sending more"), "{refused}");
    assert_eq!(clock.echo(2, None, &text), Ok(()), "another client has a share of its own");
    // The newest record is shown until there is a newer one.
    clock.ask(Control::Step { count: 2 });
    let acted: usize = (0..2).map(|_| logged.recv().unwrap().commands.len()).sum();
    assert_eq!(acted, first + 1);
    assert_eq!(accepted(&clock), first);
    clock.ask(Control::Quit);
    clock.thread.join().unwrap();
}

#[test]
fn a_later_step_takes_a_bounded_number_of_commands() {
    let mut clock = clock(ClockSettings { start_paused: true, ..fast() });
    let logged = clock.start();
    let accepted = (0..2000).take_while(|_| clock.echo(1, Some(20), "x").is_ok()).count();
    assert_eq!(accepted, COMMANDS_OF_A_STEP);
    assert_eq!(
        clock.echo(2, Some(20), "x").unwrap_err().to_string(),
        "1024 commands wait for step 20; choose another step"
    );
    assert_eq!(clock.echo(2, Some(21), "x"), Ok(()));
    clock.ask(Control::Step { count: 20 });
    assert_eq!(logged.iter().take(20).map(|record| record.commands.len()).sum::<usize>(), COMMANDS_OF_A_STEP);
    // A reset forgets them all.
    clock.ask(Control::Reset);
    assert_eq!(clock.echo(1, Some(20), "x"), Ok(()));
    clock.ask(Control::Quit);
    clock.thread.join().unwrap();
}

#[test]
fn a_burst_is_slowed_down_and_not_refused() {
    let rig = Rig::with(robot([0; 3]), settings(), ClockSettings::default());
    let mut echo = Client::connect(rig.devices[0]);
    assert_eq!(echo.line(), "<>");
    let burst: String = (0..6000).map(|number| format!("<{number}>")).collect();
    echo.write(burst.as_bytes());
    assert!((0..6000).all(|number| echo.line() == format!("<{number}>")), "something was refused");
    // Received commands act in the step that follows.
    let mut control = Client::connect(rig.control);
    let taken = control.ask("SYNC x");
    let taken: u64 = taken.split(' ').nth(1).unwrap().parse().unwrap();
    while step(&control.ask("STATE")) <= taken {}
    let (_, log) = rig.end();
    let texts = log.iter().flat_map(|record| &record.commands).map(|applied| applied.command.text.as_str());
    assert!(texts.eq((0..6000).map(|number| number.to_string())), "something is missing or in another order");
}

/// The step of an answer to `STATE`.
fn step(state: &str) -> u64 {
    state.split_once("step=").unwrap().1.split(' ').next().unwrap().parse().unwrap()
}

/// Reads a connection until the server closes it.
fn rest(address: SocketAddr) -> impl FnOnce() -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    move || {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }
}

#[test]
fn silent_clients_of_the_control_port_make_room() {
    let limits = Limits { connections_per_port: 3, silent: Duration::ZERO, ..Limits::default() };
    let rig = Rig::with(robot([0; 3]), Settings { limits, ..settings() }, fast());
    let mut operator = Client::connect(rig.control);
    assert!(operator.ask("STATE").starts_with("OK"));
    let silent: Vec<_> = (0..2).map(|_| rest(rig.control)).collect();
    for _ in 0..2 {
        let mut newcomer = Client::connect(rig.control);
        assert!(newcomer.ask("STATE").starts_with("OK"));
        std::mem::forget(newcomer);
    }
    for silent in silent {
        assert_eq!(silent(), "ERR 6 closed, because this connection was idle and made room for another client\n");
    }
    assert!(operator.ask("STATE").starts_with("OK"), "who has spoken stays");
    let mut refused = Client::connect(rig.control);
    assert_eq!(refused.line(), "ERR 6 too many connections: 3 on this port, and all are in use; close one first");
    rig.end();
}

#[test]
fn a_client_of_the_control_port_that_never_asks_is_closed() {
    let limits = Limits { first_request: Duration::from_millis(50), ..Limits::default() };
    let rig = Rig::with(robot([0; 3]), Settings { limits, ..settings() }, fast());
    let mut speaker = Client::connect(rig.control);
    assert!(speaker.ask("STATE").starts_with("OK"));
    let mut sensor = Client::connect(rig.devices[1]);
    assert_eq!(rest(rig.control)(), "ERR 6 closed, because this connection sent no request\n");
    assert!(speaker.ask("STATE").starts_with("OK"), "who has asked once may rest");
    assert!(sensor.line().starts_with('<') && sensor.ask("GET").starts_with("S "), "a device's client may just look");
    rig.end();
}

/// With any number of clients and few descriptors, the log is complete and the run ends on request.
#[test]
#[cfg(target_os = "linux")]
fn clients_leave_descriptors_to_the_log() {
    let scratch = Scratch::new();
    let (world, database) = (scratch.world(), scratch.database("run.db"));
    let mut server = Process::new("sh")
        .args(["-c", "ulimit -n 100; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_simpartner"), "run", "--world", &world])
        .args(["--database", &database, "--set", "server.control_port=0", "--set", "viewer.port=0"])
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(server.stderr.take().unwrap()).lines().map(Result::unwrap);
    let address = said.find_map(|line| Some(line.strip_prefix("control")?.trim().to_owned())).unwrap();
    let mut control = Client::connect(address.parse().unwrap());
    let device = |line: &str| Some(line.split_once("bound=")?.1.parse::<u16>().unwrap());
    control.write(b"DEVICES\n");
    let ports: Vec<_> = std::iter::from_fn(|| device(&control.line())).collect();
    let held: Vec<_> =
        ports.iter().cycle().take(300).map(|port| TcpStream::connect(("127.0.0.1", *port)).unwrap()).collect();
    let state = control.ask("STATE");
    assert!(state.starts_with("OK state=PLAYING"), "{state}");
    let first = step(&state);
    while step(&control.ask("STATE")) < first + 300 {}
    assert!(control.ask("QUIT").starts_with("OK"));
    drop(held);
    let said = said.collect::<Vec<_>>().join("\n");
    let output = server.wait_with_output().unwrap();
    let summary = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{summary}\n{said}");
    let steps = summary.lines().find_map(|line| line.strip_prefix("steps")).unwrap().trim().to_owned();
    assert!(summary.contains(&format!("simulation 1: {steps} steps")), "{summary}");
}
