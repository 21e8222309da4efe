//! Adding robots, and removing robots and objects, during a run.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    sync::Arc,
    time::Duration,
};

use bevy_math::DVec3;
use simpartner::sim::{SequenceEnd, Simulation};
use simpartner_description::{
    World,
    xml::{self, Document, Newcomer, NewcomerFile, PortOffset},
};
use simpartner_dynamics::EngineKind;
use simpartner_model::{DeviceId, Pose, StepIndex, Timestep};
use simpartner_wire::{
    protocol,
    signal::{ClientId, Command, EventKind, Renumbering, Reservation, StepRecord},
};

use crate::{
    cli::{Running, Scratch, number, output, text},
    scene,
};

/// A cart of URDF, with a wheel that turns.
const CART: &str = "<robot name='cart'>
  <link name='base'><inertial><mass value='2'/><inertia ixx='0.1' iyy='0.1' izz='0.1' ixy='0' ixz='0' iyz='0'/></inertial>
    <collision><geometry><box size='0.4 0.3 0.2'/></geometry></collision></link>
  <link name='wheel'><inertial><mass value='1'/><inertia ixx='0.1' iyy='0.1' izz='0.1' ixy='0' ixz='0' iyz='0'/></inertial></link>
  <joint name='axle' type='continuous'><parent link='base'/><child link='wheel'/><axis xyz='0 1 0'/></joint>
</robot>";

/// True if the engine of the tests can continue in an edited world.
fn is_supported() -> bool {
    scene::settings().engine == EngineKind::Dynamics
}

fn world(text: &str) -> World {
    match xml::read_text("worlds/test.xml", text) {
        Ok(Document::World(world)) => world,
        other => panic!("{other:?}"),
    }
}

fn grown(world: &World, name: &str, x: f64) -> World {
    let pose = Pose { translation: DVec3::new(x, 0.0, 60.0), ..Pose::IDENTITY };
    let file = NewcomerFile::Named("workpartner1.xml");
    let newcomer =
        Newcomer { name: Some(name), may_rename: false, file, pose, fixed_base: false, port_offset: PortOffset::Free };
    xml::add_robot(world, &newcomer, &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

fn simulation(world: World) -> Simulation {
    Simulation::seeded(Arc::new(world), Timestep::MILLISECOND, scene::settings(), 3).unwrap()
}

fn submit(simulation: &mut Simulation, device: &str, at: Option<u64>, text: &str) {
    let device = protocol::device_named(simulation.layout(), device, &[]).unwrap();
    let action = protocol::action(simulation.layout().device_info(device), text).unwrap();
    let (client, memory) = (ClientId(1), Reservation::default());
    let at = at.map(StepIndex);
    simulation.submit(Command { target: device.into(), at, client, sequence: 1, text: text.into(), action, memory });
}

/// All numbers of the robot A: its bodies and devices, and the states of its devices.
fn of_robot(simulation: &Simulation, record: &StepRecord, robot: &str) -> Vec<u64> {
    let layout = simulation.layout();
    let bodies = layout.body_infos().iter().enumerate().filter(|(_, body)| body.name.starts_with(robot));
    let bodies = bodies.flat_map(|(body, _)| {
        let body = simpartner_model::BodyId::new(body);
        [layout.pose(body), layout.twist(body), layout.wrench(body)]
    });
    let devices = layout.devices().iter().enumerate().filter(|(_, device)| device.robot == robot);
    let devices = devices.map(|(device, _)| layout.device(DeviceId::new(device)));
    let flags = layout.devices().iter().enumerate().filter(|(_, device)| device.robot == robot);
    let flags = flags.map(|(device, _)| {
        u64::from(record.fresh[device]) + 2 * u64::from(record.off[device]) + 4 * record.applied[device]
    });
    let numbers = bodies.chain(devices).flat_map(|range| record.values[range].iter().map(|value| value.to_bits()));
    numbers.chain(flags).collect()
}

#[test]
fn a_robot_goes_on_with_the_same_bits_while_others_come_and_go() {
    if !is_supported() {
        return;
    }
    let start = || {
        let start = world(
            "<world name='w'><surface/><robot file='workpartner1.xml' name='B'><pose x='-30'/></robot>\
             <robot file='workpartner1.xml' name='A' portOffset='100'/></world>",
        );
        let mut simulation = simulation(start);
        for (device, text) in [
            ("A/Position", "CFG noise=0.1 drift=0.1 latency=0.05 dropout=0.1"),
            ("A/WheelMotor1", "<1000,1000,100,0,0,2>"),
            ("A/WheelMotor2", "FAULT intermittent 0.5"),
        ] {
            submit(&mut simulation, device, None, text);
        }
        (300..2000).step_by(100).for_each(|at| {
            let turn = format!("<1000,1000,100,0,0,{}>", at as f64 * 0.002);
            submit(&mut simulation, "A/WheelMotor2", Some(at), &turn);
            submit(&mut simulation, "B/WheelMotor2", Some(at), &turn);
        });
        simulation
    };
    let (mut alone, mut other) = (start(), start());
    let mut events = Vec::new();
    for round in 0..4_u32 {
        if round > 0 {
            let now = other.world().clone();
            let next = match round {
                1 => grown(&now, "C", 5.0),
                2 => xml::remove_entity(&now, "B").unwrap(),
                _ => grown(&xml::remove_entity(&now, "C").unwrap(), "D", 9.0),
            };
            let next = simulation(next).of_world(round);
            let numbers = Renumbering::new(other.layout(), next.layout());
            let (before, remainder) = other.go_on_in(next, &numbers).unwrap();
            events.extend(remainder.into_iter().flat_map(|remainder| remainder.events));
            assert_eq!((before.step_index(), other.step_index()), (alone.step_index(), alone.step_index()));
            events.append(&mut other.take_events());
        }
        let (mut one, mut two) = (StepRecord::new(alone.layout()), StepRecord::new(other.layout()));
        for _ in 0..500 {
            one.commands.clear();
            two.commands.clear();
            alone.step(&mut one);
            other.step(&mut two);
            assert_eq!(two.world, round);
            let [one, two] = [of_robot(&alone, &one, "A"), of_robot(&other, &two, "A")];
            assert!(one == two, "step {} of round {round}", alone.step_index());
        }
    }
    let refused =
        events.iter().filter(|event| event.kind == EventKind::CommandRefused && event.text.contains("it is gone"));
    assert_eq!(refused.count(), 9, "the commands for B that were to act after step 1000");
}

/// A sequence that waits for readings of A while B and C are added and removed is the same as without them; one that
/// waits for a removed robot ends.
#[test]
fn a_sequence_waits_on_while_robots_come_and_go() {
    if !is_supported() {
        return;
    }
    let sequence = |robot: &str| {
        let text = format!(
            "<sequence version='2'><set device='{robot}/WheelMotor1'>1000,1000,100,0,0,2</set>
            <wait until='{robot}/Position.y &lt; -1' timeout='3s'/>
            <set device='{robot}/WheelMotor1'>velocity_3=-1</set><wait for='0.1s'/></sequence>"
        );
        match xml::read_text("turn.xml", &text) {
            Ok(Document::Sequence(sequence)) => sequence.timeline(Timestep::MILLISECOND),
            other => panic!("{other:?}"),
        }
    };
    let start = |robot: &str| {
        let empty =
            world("<world><object type='Body' name='ground'><static/><box x='9' y='1' z='9'/></object></world>");
        let mut simulation = simulation(grown(&grown(&empty, "A", 0.0), "B", 9.0));
        simulation.schedule(&sequence(robot)).unwrap();
        simulation
    };
    let play = |mut simulation: Simulation, changes: bool| {
        let mut world = 0;
        while simulation.plays_sequence() {
            let mut record = StepRecord::new(&Arc::clone(simulation.layout()));
            simulation.step(&mut record);
            if changes && simulation.step_index().0.is_multiple_of(100) && world < 3 {
                let now = simulation.world().clone();
                world += 1;
                let next = match world {
                    1 => grown(&now, "C", -9.0),
                    2 => xml::remove_entity(&now, "B").unwrap(),
                    _ => xml::remove_entity(&now, "C").unwrap(),
                };
                let next = self::simulation(next).of_world(world);
                let numbers = Renumbering::new(simulation.layout(), next.layout());
                simulation.go_on_in(next, &numbers).unwrap();
            }
        }
        (simulation.step_index(), simulation.sequence_end().unwrap().clone())
    };
    let alone = play(start("A"), false);
    assert_eq!((alone.1.clone(), play(start("A"), true)), (SequenceEnd::Played, alone));
    let (step, end) = play(start("B"), true);
    let SequenceEnd::BrokenOff(why) = end else { panic!("{end:?}") };
    assert!(step == StepIndex(201) && why.starts_with("turn.xml:2:"), "{step}: {why}");
}

/// A client of a device's port or of a combined one.
struct Port(BufReader<TcpStream>);

impl Port {
    fn connect(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut this = Self(BufReader::new(stream));
        assert!(this.line().starts_with('<'));
        this
    }

    /// The next line; empty when the server has closed.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn say(&mut self, text: &str) {
        self.0.get_mut().write_all(format!("{text}\n").as_bytes()).unwrap();
    }

    fn ask(&mut self, text: &str) -> String {
        self.say(text);
        self.line()
    }
}

/// The port of a device, or of a robot for `ROBOT name=..`.
fn port_of(server: &mut Running, what: &str) -> Option<u16> {
    let list = if what.starts_with("ROBOT") { "ROBOTS" } else { "DEVICES" };
    let mut found = None;
    let mut line = server.ask(list);
    while !line.starts_with("OK") {
        if line.starts_with(what) {
            found = line.split_once("bound=").and_then(|(_, port)| port.parse().ok());
        }
        line = server.heard();
    }
    found
}

fn replays(scratch: &Scratch, runs: i64) {
    let database = scratch.database("run.db");
    for run in 1..=runs {
        let made = output(&["replay", &run.to_string(), "--database", &database]);
        let said = format!("{}{}", text(&made.stdout), text(&made.stderr));
        assert_eq!(made.status.code(), Some(0), "run {run}: {said}");
        assert!(said.contains("chain             the same"), "run {run}: {said}");
    }
    let verified = output(&["db", "verify", "--database", &database]);
    assert_eq!(verified.status.code(), Some(0), "{}{}", text(&verified.stdout), text(&verified.stderr));
}

fn as_json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

#[test]
fn a_client_lets_robots_come_and_go_and_every_part_of_the_run_is_replayed() {
    if !is_supported() {
        return;
    }
    let scratch = Scratch::new();
    let mut server = Running::start(&scratch, &["--set", "log.snapshot_interval_s=0.1", "--set", "simulation.seed=4"]);
    scratch.write("cart.urdf", CART);
    let mut wheel = Port::connect(port_of(&mut server, "DEVICE name=WheelMotor1 ").unwrap());
    wheel.ask("<1000,1000,50,0,0,2>");
    assert_eq!(wheel.ask("SUB 10"), "OK");
    // A file, a text and one with a name in use.
    assert_eq!(server.ask("SPAWN file=cart.urdf position=5,1,0"), "OK name=cart");
    some_steps(&mut server);
    let place = "name=Second position=-5,1,0 orientation=0,0.6,0,0.8";
    assert_eq!(server.ask(&format!("SPAWN {place} text={}", as_json(CART))), "OK name=Second");
    some_steps(&mut server);
    assert_eq!(server.ask("SPAWN file=cart.urdf rename=true position=0,1,5"), "OK name=cart_1");
    some_steps(&mut server);
    let mut axle = Port::connect(
        port_of(&mut server, "DEVICE name=axle_motor").or_else(|| port_of(&mut server, "DEVICE name=axle")).unwrap(),
    );
    assert!(axle.ask("INFO").contains("robot="), "a device of a newcomer has a port");
    assert!(axle.ask("SUB 5") == "OK" && axle.line().starts_with("S "));
    refuses_nonsense(&mut server);
    let step = server.step();
    server.reach(step + 300);
    assert_eq!(server.ask("REMOVE cart"), "OK");
    some_steps(&mut server);
    assert_eq!(port_of(&mut server, "ROBOT name=cart "), None);
    assert_eq!(server.ask("REMOVE Second"), "OK");
    some_steps(&mut server);
    assert_eq!(server.ask("REMOVE cart_1"), "OK");
    some_steps(&mut server);
    let last = std::iter::from_fn(|| Some(axle.line())).find(|line| !line.starts_with("S ")).unwrap();
    assert_eq!(last, "ERR 7 closed, because this connection was for what has been deleted");
    assert_eq!(axle.line(), "");
    // All the while WorkPartner's client was served.
    let samples: Vec<u64> = (0..50)
        .map(|_| wheel.line().split(' ').nth(1).unwrap_or_default().parse().unwrap_or_else(|_| panic!("no sample")))
        .collect();
    assert!(samples.windows(2).all(|pair| pair[0] < pair[1]), "{samples:?}");
    server.ask("QUIT");
    server.end();
    let log = scratch.path("run.db");
    assert_eq!(number(&log, "SELECT count(*) FROM simulation"), 7);
    assert_eq!(number(&log, "SELECT count(*) FROM simulation WHERE status = 'continued'"), 6);
    assert_eq!(number(&log, "SELECT count(*) FROM simulation WHERE gaps > 0"), 0);
    assert_eq!(number(&log, "SELECT count(*) FROM event WHERE kind = 'spawn'"), 3);
    assert_eq!(number(&log, "SELECT count(*) FROM event WHERE kind = 'remove'"), 3);
    replays(&scratch, 7);
}

#[test]
fn worlds_between_two_steps_and_commands_that_have_acted_in_none_are_replayed() {
    if !is_supported() {
        return;
    }
    let scratch = Scratch::new();
    let mut server = Running::start(&scratch, &["--paused"]);
    scratch.write("cart.urdf", CART);
    let mut wheel = Port::connect(port_of(&mut server, "DEVICE name=WheelMotor1 ").unwrap());
    wheel.ask("<1000,1000,50,0,0,2>");
    assert!(server.ask("STEP 200").starts_with("OK"));
    wheel.ask("<1000,1000,50,0,0,-2>");
    assert_eq!(server.ask("PLACE WorkPartner position=0.5,0.6,-1 linearVelocity=0,-1,0"), "OK");
    assert!(server.ask("SYNC all").starts_with("DONE"));
    assert_eq!(server.ask("SPAWN file=cart.urdf name=Brief position=0,1,9"), "OK name=Brief");
    assert_eq!(server.ask("REMOVE Brief"), "OK");
    assert!(server.ask("STEP 100").starts_with("OK"));
    assert_eq!(server.ask("REMOVE WorkPartner"), "OK");
    assert!(server.ask("STEP 20").starts_with("OK"));
    assert!(server.ask("RESET").starts_with("OK"), "the world that is left");
    assert!(server.ask("STEP 20").starts_with("OK"));
    server.ask("QUIT");
    server.end();
    let log = scratch.path("run.db");
    assert_eq!(number(&log, "SELECT count(*) FROM simulation"), 4);
    assert_eq!(number(&log, "SELECT count(*) FROM simulation WHERE status = 'continued'"), 2);
    assert_eq!(number(&log, "SELECT count(*) FROM simulation WHERE gaps > 0"), 0);
    assert_eq!(number(&log, "SELECT count(*) FROM event WHERE kind = 'spawn'"), 1);
    assert_eq!(number(&log, "SELECT count(*) FROM event WHERE kind = 'remove'"), 2);
    assert_eq!(number(&log, "SELECT count(*) FROM command WHERE text LIKE 'PLACE%'"), 1);
    replays(&scratch, 4);
}

/// Refused edits are reported, and change nothing.
fn refuses_nonsense(server: &mut Running) {
    for (bad, told) in [
        ("SPAWN file=cart.urdf", "'cart' already"),
        ("SPAWN file=nothing.urdf", "there is no robot file 'nothing.urdf'"),
        ("SPAWN file=../../../etc/passwd", "is not the name of a robot file"),
        ("SPAWN text=\"<robot>\"", "is never closed"),
        ("SPAWN file=cart.urdf name=x portOffset=70000000", "ERR 8"),
        ("REMOVE Nobody", "no robot and no object 'Nobody'"),
        ("REMOVE", "ERR 8"),
    ] {
        let refused = server.ask(bad);
        assert!(refused.starts_with("ERR ") && refused.contains(told), "{bad}: {refused}");
    }
}

fn some_steps(server: &mut Running) {
    let step = server.step();
    server.reach(step + 5);
}

#[test]
fn members_of_the_lockstep_go_on_and_who_is_gone_is_not_waited_for() {
    if !is_supported() {
        return;
    }
    let scratch = Scratch::new();
    let mut server = Running::start(&scratch, &["--paused", "--set", "lockstep.timeout_s=60"]);
    scratch.write("cart.urdf", CART);
    let mut member = Port::connect(port_of(&mut server, "ROBOT name=WorkPartner ").unwrap());
    let step_of = |line: &str| -> u64 { line.split(' ').nth(1).unwrap_or_else(|| panic!("{line}")).parse().unwrap() };
    let is_member = |server: &mut Running, names: &str| {
        assert!(server.ask("PAUSE").starts_with("OK"));
        assert!(server.ask(&format!("MODE lockstep {names}")).contains("lockstep=joining:"));
    };
    is_member(&mut server, "WorkPartner");
    assert_eq!(step_of(&member.ask("ACK")), 0);
    assert!(server.ask("PLAY").starts_with("OK"));
    (0..5).for_each(|step| assert_eq!(step_of(&member.ask(&format!("ACK {step}"))), step + 1));
    assert_eq!(server.ask("SPAWN file=cart.urdf position=9,1,0"), "OK name=cart");
    (5..10).for_each(|step| assert_eq!(step_of(&member.ask(&format!("ACK {step}"))), step + 1));
    let mut cart = Port::connect(port_of(&mut server, "ROBOT name=cart ").unwrap());
    is_member(&mut server, "cart WorkPartner");
    assert_eq!([step_of(&member.ask("ACK")), step_of(&cart.ask("ACK"))], [10, 10]);
    assert!(server.ask("PLAY").starts_with("OK"));
    for step in 10..15 {
        member.say(&format!("ACK {step}"));
        assert_eq!([step_of(&cart.ask(&format!("ACK {step}"))), step_of(&member.line())], [step + 1; 2]);
    }
    assert_eq!(server.ask("REMOVE cart"), "OK");
    assert!(cart.line().starts_with("ERR 7"));
    (15..20).for_each(|step| assert_eq!(step_of(&member.ask(&format!("ACK {step}"))), step + 1));
    let state = server.ask("STATE");
    assert!(
        state.ends_with("lockstep=waiting:WorkPartner") || state.contains("lockstep=waiting:WorkPartner "),
        "{state}"
    );
    server.ask("QUIT");
    server.end();
    replays(&scratch, 3);
}
