//! Commands of every kind in every order, with and without steps between them: each is in the run and the step in which
//! it acted, every run is repeated from the log, and the server ends on request.
//!
//! A case is a random sequence of requests to a server in this process, by its seed, in one of the three modes. `model`
//! has the expected log. `SIMPARTNER_LONG_TESTS=1` makes 2,000 cases in place of a few, `SIMPARTNER_SEEDS=500..1000`
//! those of these seeds.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    sync::mpsc,
    thread,
    time::Duration,
};

use simpartner::{
    config::{Config, Override},
    realtime::Outcome,
    recorder::{Inquiry, Reader},
    replay::{ForkCommands, ForkOptions, Replay, fork},
    run::{self, Job, Observer, RunReport, Started},
};
use simpartner_dynamics::EngineKind;
use simpartner_model::StepIndex;

use super::{
    model::{Given, Model, Run},
    test_database::{TestDatabase, Value, wait},
};
use crate::scene;

const WORLD: &str = "<world name='orders'><surface/><robot file='cart.xml' name='Cart'/></world>";

/// A body with a driven rotor and a position sensor.
const CART: &str = "<robot name='Cart'>
  <body name='Base'><mass>2</mass><pose y='0.2'/><box x='0.4' y='0.2' z='0.4'/></body>
  <body name='Rotor'><mass>1</mass><pose y='0.5'/><cylinder radius='0.1' length='0.05' axis='y'/></body>
  <joint type='hinge' name='Axle'><parent>Base</parent><child>Rotor</child><axis y='1'/></joint>
  <sensor type='PositionSensor' name='Where' body='Base' port='21026'/>
  <actuator type='JointController' name='Motor' joint='Axle' port='21027'/>
</robot>";

/// The robot that is added and removed.
const NEWCOMER: &str = "<robot name='u'><link name='a'><inertial><mass value='1'/>\
<inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial>\
<collision><geometry><box size='.1 .1 .1'/></geometry></collision></link></robot>";

/// Commands that the run begins with, three steps apart.
const SEQUENCE: &str = "<sequence version='1'>
  <command><commandString>1000,1000,5,0,0,0.90017</commandString><port>21027</port></command>
  <command><commandString>0.003</commandString><port>0</port></command>
  <command><commandString>1000,1000,5,0,0,0.90027</commandString><port>21027</port></command>
</sequence>";

/// Requests of a case.
const REQUESTS: usize = 24;

/// A generator of random numbers (SplitMix64), which the seed alone determines.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ bits >> 31) % bound
    }
}

/// Sends the addresses of the server: the control port, then the devices in the order of the model.
struct Told(mpsc::Sender<Vec<SocketAddr>>);

impl Observer for Told {
    fn started(&mut self, started: &Started<'_>) {
        let server = started.server.unwrap();
        let devices = server.devices().map(|(_, address)| address);
        self.0.send(std::iter::once(server.control_address()).chain(devices).collect()).unwrap();
    }
}

/// A connection to the server.
struct Line(BufReader<TcpStream>);

impl Line {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(BufReader::new(stream))
    }

    fn read(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn ask(&mut self, request: &str) -> String {
        self.0.get_mut().write_all(format!("{request}\n").as_bytes()).unwrap();
        self.read()
    }

    /// A request that is granted.
    fn order(&mut self, request: &str) -> String {
        let answer = self.ask(request);
        assert!(!answer.starts_with("ERR"), "{request}: {answer}");
        answer
    }

    /// A request to the clock, and the step of its answer.
    fn step(&mut self, request: &str) -> u64 {
        let answer = self.order(request);
        let step = answer.split(' ').find_map(|word| word.strip_prefix("step="));
        step.and_then(|step| step.parse().ok()).unwrap_or_else(|| panic!("{request}: {answer}"))
    }
}

/// Joins the lockstep, and acknowledges each step until the server ends.
fn join(address: SocketAddr) {
    let mut member = Line::connect(address);
    member.read();
    assert!(member.ask("ACK").starts_with("S 0 "));
    thread::spawn(move || {
        let mut line = "S 0 ".to_owned();
        while !line.is_empty() {
            // An answer to a step that a reset has overtaken is refused, and the step of after the reset is sent.
            if let Some(step) = line.strip_prefix("S ").and_then(|rest| rest.split(' ').next())
                && member.0.get_mut().write_all(format!("ACK {step}\n").as_bytes()).is_err()
            {
                return;
            }
            line.clear();
            if member.0.read_line(&mut line).is_err() {
                return;
            }
        }
    });
}

/// A client with random requests, and its model.
struct Client {
    random: Random,
    model: Model,
    control: Line,
    motor: Line,
    is_lockstep: bool,
    tokens: u64,
}

impl Client {
    /// Decimals that are in no other command.
    fn token(&mut self) -> String {
        self.tokens += 1;
        format!(".{:04}7", self.tokens)
    }

    /// A command that acts at once.
    fn command(&mut self) {
        let token = self.token();
        match self.random.below(5) {
            0 => {
                self.control.order(&format!("FAULT Cart/Motor delayed 0{token}"));
            }
            4 => {
                self.control.order(&format!("PUSH Cart force=0,0,1{token} seconds=0.05"));
            }
            1 => {
                self.control.order(&format!("PLACE Cart position=0,1{token},0"));
            }
            _ => {
                self.motor.order(&format!("1000,1000,5,0,0,0{token}"));
            }
        }
        self.model.give(token);
    }

    /// Adds a robot, or removes it if it exists.
    fn exchange(&mut self) {
        let index = self.random.below(2) as usize;
        if self.model.toggle(index) {
            let text = serde_json::to_string(NEWCOMER).unwrap();
            self.control.order(&format!("SPAWN name=R{index} position=3,1,{} text={text}", 3 * index));
        } else {
            self.control.order(&format!("REMOVE R{index}"));
        }
        self.model.next_run(true);
    }

    fn reset(&mut self) {
        self.model.next_run(false);
        let step = self.control.step("RESET");
        self.model.reach(step);
    }

    /// Invalid requests, which change nothing.
    fn mistake(&mut self) {
        let (step, absent) = (self.model.step(), self.model.absent());
        let wrong = match self.random.below(5) {
            0 => "FAULT Nobody/Motor off".to_owned(),
            1 => "PLACE Nobody position=0,1,0".to_owned(),
            2 => absent.map_or("REMOVE Nobody".to_owned(), |robot| format!("REMOVE R{robot}")),
            3 => "SPAWN name=Cart file=cart.xml".to_owned(),
            _ if step > 1 => "RUNTO 0.001".to_owned(),
            _ => "STEP many".to_owned(),
        };
        let answer = self.control.ask(&wrong);
        assert!(answer.starts_with("ERR"), "{wrong}: {answer}");
    }

    /// Runs the clock while commands arrive, until it is paused: by a request, or after another run that begins
    /// meanwhile.
    fn play(&mut self) {
        let step = self.control.step("PLAY");
        self.model.play(step);
        for _ in 0..self.random.below(4) {
            self.command();
        }
        match self.random.below(4) {
            0 => self.reset(),
            1 => self.exchange(),
            _ => {}
        }
        let step = self.control.step("PAUSE");
        self.model.pause(step);
    }

    fn request(&mut self) {
        let step = self.model.step();
        match self.random.below(14) {
            0..=3 => self.command(),
            4 => {
                let (at, token) = (step + 1 + self.random.below(4), self.token());
                self.motor.order(&format!("SET @{at} 1000,1000,5,0,0,0{token}"));
                self.model.give_at(at, token);
            }
            5 | 6 => {
                let step = self.control.step(&format!("STEP {}", 1 + self.random.below(3)));
                self.model.reach(step);
            }
            7 => {
                let step = self.control.step(&format!("RUNTO {}", (step + 2) as f64 * 1e-3));
                self.model.reach(step);
            }
            8 | 9 => self.reset(),
            10 | 11 => self.exchange(),
            12 if !self.model.has_waiting() => self.play(),
            12 if !self.is_lockstep => {
                let mode = ["fast", "realtime"][self.random.below(2) as usize];
                self.control.order(&format!("MODE {mode}"));
            }
            _ => self.mistake(),
        }
    }

    /// Asks for the end, now and then of a clock that runs.
    fn quit(mut self) -> Model {
        if self.random.below(4) == 0 && !self.model.has_waiting() {
            let step = self.control.step("PLAY");
            self.model.play(step);
            self.command();
        }
        let step = self.control.step("QUIT");
        self.model.pause(step);
        self.model
    }
}

fn config(folder: &Path, database: &TestDatabase, seed: u64) -> Config {
    let mode = ["fast", "realtime", "lockstep"][(seed % 3) as usize];
    let every = [1, 1, 5][(seed / 3 % 3) as usize];
    let text = format!(
        "[simulation]\nmode = '{mode}'\nworld_file = '{0}/world.xml'\nstart_paused = true\n\
         [lockstep]\nmembers = 'Cart/Where'\ntimeout_s = 60\n\
         [log]\ndatabase = '{1}'\nspill_folder = '{0}'\nevery_n_steps = {every}\nsnapshot_interval_s = 0.004\n\
         [server]\ncontrol_port = 0\nfree_ports = true\n[viewer]\nenabled = false\n[realtime]\npriority = 0\nfast_niceness = 0\n",
        folder.display(),
        database.url
    );
    Config::from_text(&text).unwrap()
}

/// Runs a case, and returns the expected log.
fn drive(folder: &Path, database: &TestDatabase, seed: u64) -> Model {
    let config = config(folder, database, seed);
    // In fast mode a run ends with its sequence.
    let (is_fast, is_lockstep) = (seed.is_multiple_of(3), seed % 3 == 2);
    let has_sequence = !is_fast && seed.is_multiple_of(2);
    let sequence = folder.join("sequence.xml");
    let job = Job::read(config, has_sequence.then_some(sequence.as_path())).unwrap();
    let (told, addresses) = mpsc::channel();
    let server = thread::spawn(move || run::run(job, &mut Told(told)).unwrap());
    let addresses: Vec<SocketAddr> = addresses.recv().unwrap();
    if is_lockstep {
        join(addresses[1]);
    }
    let (control, mut motor) = (Line::connect(addresses[0]), Line::connect(addresses[2]));
    motor.read();
    let mut model = Model::default();
    if has_sequence {
        model.give_at(1, ".90017".into());
        model.give_at(4, ".90027".into());
    }
    let mut client = Client { random: Random(seed), model, control, motor, is_lockstep, tokens: 0 };
    for _ in 0..REQUESTS {
        client.request();
    }
    let model = client.quit();
    let RunReport { clock, log } = server.join().unwrap();
    assert_eq!(clock.outcome, Outcome::Quit);
    let log = log.unwrap().unwrap();
    assert_eq!(log.ended_early, None);
    model
}

fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => Some(*number as u64),
        _ => None,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        other => panic!("{other:?}"),
    }
}

/// The runs of the log after the given one, with their numbers.
fn logged(database: &TestDatabase, after: i64) -> Vec<(i64, Run, String)> {
    let columns = "simulationID, status, steps, resets, parent_step";
    let runs =
        database.rows(&format!("SELECT {columns} FROM simulation WHERE simulationID > {after} ORDER BY simulationID"));
    let run = |row: &Vec<Value>| {
        let id = number(&row[0]).unwrap() as i64;
        let commands = database
            .rows(&format!("SELECT step, ordinal, text FROM command WHERE simulationID = {id} ORDER BY step, ordinal"));
        let (mut given, mut before) = (Vec::new(), None);
        for row in commands {
            let (step, ordinal) = (number(&row[0]).unwrap(), number(&row[1]).unwrap());
            let expected = before.filter(|(last, _)| *last == step).map_or(0, |(_, last): (u64, u64)| last + 1);
            assert_eq!(ordinal, expected, "run {id}, step {step}");
            before = Some((step, ordinal));
            given.push(Given { steps: step..=step, text: text(&row[2]) });
        }
        let steps = number(&row[2]);
        let run = Run {
            epoch: number(&row[3]).unwrap(),
            goes_on_from: number(&row[4]),
            is_exact: true,
            steps,
            commands: given,
        };
        (id, run, text(&row[1]))
    };
    runs.iter().map(run).collect()
}

/// Every run of the log is repeatable, and a fork of one of them has the same end.
fn repeat(database: &TestDatabase, runs: &[(i64, Run, String)], random: &mut Random) {
    let open = |id: i64| {
        let mut inquiry = Inquiry::open(&database.database).unwrap();
        let run = inquiry.runs().unwrap().into_iter().find(|run| run.simulation_id == id).unwrap();
        Replay::open(inquiry, run).unwrap()
    };
    for (id, run, _) in runs {
        let found = wait(Reader::new(&database.database).verify(Some(*id))).unwrap();
        assert_eq!(found[0].findings, Vec::<String>::new(), "run {id}");
        let report = open(*id).run(None, &mut ()).unwrap();
        assert!(report.mismatch.is_none(), "run {id}: {:?}", report.mismatch);
        let first = run.goes_on_from.unwrap_or(0);
        assert_eq!(report.steps, run.steps.unwrap() - first, "run {id}");
        let head = format!("SELECT chain_head FROM simulation WHERE simulationID = {id}");
        let head = |database: &TestDatabase| database.number(&head);
        // Numbers in tests are floats, whose 53 bits are enough to distinguish two heads.
        assert_eq!(report.chain_head as i64 as f64 as i64, head(database), "run {id}");
    }
    let (id, run, _) = &runs[random.below(runs.len() as u64) as usize];
    let (first, last) = (run.goes_on_from.unwrap_or(0), run.steps.unwrap());
    let at = StepIndex(first + random.below(last - first + 1));
    let overrides = [Override { name: "mode", key: "simulation.mode", text: "fast" }];
    let options = ForkOptions { at, overrides: &overrides, commands: ForkCommands::OfTheRun, duration_s: None };
    let forked = run::run(fork(open(*id), &options, &mut ()).unwrap(), &mut ()).unwrap();
    let fork = forked.log.unwrap().unwrap().simulations[0].simulation_id;
    let head = |id: i64| database.number(&format!("SELECT chain_head FROM simulation WHERE simulationID = {id}"));
    assert_eq!((forked.clock.step, head(fork)), (StepIndex(last), head(*id)), "run {id}, forked at {at}");
    assert!(open(fork).run(None, &mut ()).unwrap().mismatch.is_none());
}

fn check(database: &TestDatabase, seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("world.xml", WORLD), ("cart.xml", CART), ("sequence.xml", SEQUENCE)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let newest = "SELECT coalesce(max(simulationID), 0) FROM simulation";
    // The first case creates the tables.
    let tables = wait(Reader::new(&database.database).runs());
    let after = if tables.is_ok_and(|runs| !runs.is_empty()) { database.number(newest) } else { 0 };
    let model = drive(folder.path(), database, seed);
    let runs = logged(database, after);
    model.check(&runs);
    repeat(database, &runs, &mut Random(seed ^ 1));
    assert!(
        !std::fs::read_dir(folder.path())
            .unwrap()
            .any(|file| { file.unwrap().path().extension().is_some_and(|ending| ending == "spill") })
    );
}

/// The seeds of the cases: the requested ones, or otherwise the first `count`.
fn seeds(count: u64) -> std::ops::Range<u64> {
    let asked = std::env::var("SIMPARTNER_SEEDS").ok();
    let range = asked.as_deref().and_then(|asked| asked.split_once("..")).map(|(from, to)| {
        let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("SIMPARTNER_SEEDS: expected 500..1000"));
        number(from)..number(to)
    });
    range.unwrap_or(0..count)
}

/// A few cases, or many.
fn check_all(scheme: &str, few: u64, many: u64) {
    if scene::settings().engine != EngineKind::Dynamics {
        return;
    }
    let seeds = seeds(if std::env::var_os("SIMPARTNER_LONG_TESTS").is_some() { many } else { few });
    let database = if scheme == "sqlite" { Some(TestDatabase::file()) } else { TestDatabase::on(scheme) };
    let Some(database) = database else { return };
    for seed in seeds.clone() {
        let case = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&database, seed)));
        assert!(case.is_ok(), "case {seed}");
        if (seed + 1).is_multiple_of(100) || seed + 1 == seeds.end {
            println!("{scheme}: {} cases", seed + 1);
        }
    }
}

#[test]
fn each_command_of_any_order_stands_in_its_run_and_its_step() {
    check_all("sqlite", 9, 2000);
}

// Each run of a case has its model in the log, which takes a server some time.
#[test]
fn each_command_of_any_order_stands_in_its_run_and_its_step_on_postgres() {
    check_all("postgres", 1, 20);
}

#[test]
fn each_command_of_any_order_stands_in_its_run_and_its_step_on_mysql() {
    check_all("mysql", 2, 20);
}
