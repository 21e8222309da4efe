//! A long run in which clients send random commands of every kind. It prints memory and open files once a minute, and
//! checks that the server ended only on request, and that every run of the log is complete and repeatable. `cargo bench
//! --bench commands -- --seconds 1200 --clients 10 --mode fast`; `--mode` is `fast`, `realtime`, `lockstep`, or `each`
//! for one after the other. `--database URL` logs into a server, and `--seed N` selects other commands. Exit code 1 if
//! a check fails.

#[path = "memory.rs"]
mod memory;

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, ExitCode, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use simpartner::{
    recorder::{Database, Inquiry, Reader},
    replay::Replay,
};

const WORLD: &str = "<world name='commands'><surface/><robot file='cart.xml' name='Cart'/></world>";

/// A body with a driven rotor and a position sensor.
const CART: &str = "<robot name='Cart'>
  <body name='Base'><mass>2</mass><pose y='0.2'/><box x='0.4' y='0.2' z='0.4'/></body>
  <body name='Rotor'><mass>1</mass><pose y='0.5'/><cylinder radius='0.1' length='0.05' axis='y'/></body>
  <joint type='hinge' name='Axle'><parent>Base</parent><child>Rotor</child><axis y='1'/></joint>
  <sensor type='PositionSensor' name='Where' body='Base' port='21026'/>
  <actuator type='JointController' name='Motor' joint='Axle' port='21027'/>
</robot>";

/// Time that a client waits for an answer before it connects again: `STEP` has none while lockstep members are silent.
const PATIENCE: Duration = Duration::from_secs(2);

/// Number of requests of a connection before the client reconnects.
const REQUESTS_PER_CONNECTION: u64 = 200;

/// Number of printed reasons of refusals, the most frequent first.
const REASONS: usize = 8;

/// Options of the command line.
struct Plan {
    seconds: u64,
    clients: u64,
    seed: u64,
    modes: Vec<String>,
    database: Option<String>,
}

impl Plan {
    fn from_arguments() -> Self {
        let arguments: Vec<String> = std::env::args().collect();
        let text = |name: &str| {
            let place = arguments.iter().position(|argument| argument == name)?;
            Some(arguments.get(place + 1).cloned().unwrap_or_default())
        };
        let number = |name: &str, default: u64| {
            let parse =
                |text: String| text.parse().unwrap_or_else(|_| panic!("{name}: expected a number, got '{text}'"));
            text(name).map_or(default, parse)
        };
        // Without `--bench` this is `cargo test --benches`, which only checks that the bench runs.
        let seconds = if arguments.iter().any(|argument| argument == "--bench") { 60 } else { 2 };
        let mode = text("--mode").unwrap_or_else(|| "each".into());
        let modes = match mode.as_str() {
            "each" => ["fast", "realtime", "lockstep"].map(str::to_owned).to_vec(),
            _ => vec![mode],
        };
        let (seconds, clients) = (number("--seconds", seconds), number("--clients", 10));
        Self { seconds, clients, seed: number("--seed", 0), modes, database: text("--database") }
    }
}

/// A generator of random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ bits >> 31) % bound
    }

    fn one_of<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts[self.below(texts.len() as u64) as usize]
    }
}

/// Results of the clients.
#[derive(Default)]
struct Count {
    requests: AtomicU64,
    refusals: AtomicU64,
    connections: AtomicU64,
    /// Number of refusals by the request's verb and the first words of the answer.
    reasons: Mutex<BTreeMap<String, u64>>,
    is_over: AtomicBool,
}

impl Count {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Counts a request and its answer.
    fn add(&self, request: &str, answer: &str) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        if let Some(why) = answer.strip_prefix("ERR ") {
            self.refusals.fetch_add(1, Ordering::Relaxed);
            let verb = request.split([' ', ',']).next().unwrap_or_default();
            let words: Vec<&str> =
                why.split_whitespace().skip(1).filter(|word| !word.contains(char::is_numeric)).collect();
            let reason = format!("{verb}: {}", words[..words.len().min(6)].join(" "));
            *self.reasons.lock().unwrap_or_else(PoisonError::into_inner).entry(reason).or_default() += 1;
        }
    }

    fn print(&self) {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let [requests, refusals, connections] = [&self.requests, &self.refusals, &self.connections].map(of);
        println!("clients           {requests} requests, {refusals} of them refused, {connections} connections");
        let reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reasons: Vec<(&String, &u64)> = reasons.iter().collect();
        reasons.sort_by_key(|(_, count)| Reverse(**count));
        reasons.iter().take(REASONS).for_each(|(reason, count)| println!("refused           {count} {reason}"));
    }
}

fn main() -> ExitCode {
    let plan = Plan::from_arguments();
    let good = plan.modes.iter().filter(|mode| run(&plan, mode)).count();
    if good == plan.modes.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Makes one run of the server; true if all checks pass.
fn run(plan: &Plan, mode: &str) -> bool {
    let folder = tempfile::tempdir().expect("a folder can be had");
    let database =
        plan.database.clone().unwrap_or_else(|| format!("sqlite:{}", folder.path().join("commands.db").display()));
    println!("mode              {mode}, {} s, {} clients, seed {}", plan.seconds, plan.clients, plan.seed);
    let first = newest_run(&database) + 1;
    let (mut server, control) = start(folder.path(), &database, mode);
    // Read concurrently, because a line for each run exceeds the size of a pipe.
    let mut stdout = server.stdout.take().expect("it is piped");
    let output = thread::spawn(move || {
        let mut output = String::new();
        stdout.read_to_string(&mut output).map(|_| output).expect("it is text")
    });
    let (count, asked) = (Count::default(), AtomicBool::new(false));
    let samples = thread::scope(|scope| {
        for index in 0..plan.clients {
            let (count, random) = (&count, Random(plan.seed << 32 | index));
            scope.spawn(move || client(control, random, mode, count));
        }
        if mode == "lockstep" {
            scope.spawn(|| member(control, &count));
        }
        scope.spawn(|| {
            let end = Instant::now() + Duration::from_secs(plan.seconds);
            while Instant::now() < end && !count.is_over() {
                thread::sleep(Duration::from_millis(100));
            }
            asked.store(!count.is_over(), Ordering::Relaxed);
            // A server that all clients press may not answer at once.
            while !count.is_over() {
                let _ = Line::connect(control).and_then(|mut line| line.ask("QUIT"));
                thread::sleep(Duration::from_millis(100));
            }
        });
        let samples = memory::watch(&mut server);
        count.is_over.store(true, Ordering::Relaxed);
        samples
    });
    let status = server.wait().expect("it has ended");
    let output = output.join().expect("it does not panic");
    // `repeat` reports on the runs, of which there are many.
    output.lines().filter(|line| !line.contains(" simulation ")).for_each(|line| println!("{line}"));
    count.print();
    let was_asked = asked.load(Ordering::Relaxed);
    println!("end               {status}, {}", if was_asked { "as it was asked" } else { "though nobody asked" });
    memory::report_growth(&samples);
    let repeated = repeat(&database, first);
    was_asked && status.success() && repeated
}

/// Starts the server and waits until it prints its ports.
fn start(folder: &Path, database: &str, mode: &str) -> (Child, SocketAddr) {
    for (name, text) in [("world.xml", WORLD), ("cart.xml", CART)] {
        fs::write(folder.join(name), text).expect("the folder can be written");
    }
    let mut server = Command::new(env!("CARGO_BIN_EXE_simpartner"))
        .current_dir(folder)
        .args(["run", "--world", "world.xml", "--database", database, "--mode", mode, "--no-viewer", "--free-ports"])
        .args([
            "--set",
            "server.control_port=0",
            "--set",
            "lockstep.members=Cart/Where",
            "--set",
            "log.limit_mb=1000000",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let mut lines = BufReader::new(server.stderr.take().expect("it is piped")).lines().map_while(Result::ok);
    let control = lines.by_ref().find_map(|line| line.strip_prefix("control").map(|rest| rest.trim().to_owned()));
    let control = control.and_then(|address| address.parse().ok()).expect("it tells its control port");
    // Further output must not fill the pipe.
    thread::spawn(move || lines.filter(|line| line.contains("ERROR")).for_each(|line| eprintln!("server: {line}")));
    (server, control)
}

/// A connection to the server.
struct Line(BufReader<TcpStream>);

impl Line {
    fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self(BufReader::new(stream)))
    }

    fn ask(&mut self, request: &str) -> io::Result<String> {
        self.0.get_mut().write_all(format!("{request}\n").as_bytes())?;
        self.read()
    }

    fn read(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.0.read_line(&mut line)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(line),
        }
    }

    /// The ports of all devices, by robot and name.
    fn devices(&mut self) -> io::Result<Vec<(String, u16)>> {
        let (mut found, mut line) = (Vec::new(), self.ask("DEVICES")?);
        while let Some(device) = line.strip_prefix("DEVICE ") {
            let words: BTreeMap<&str, &str> =
                device.split_whitespace().filter_map(|word| word.split_once('=')).collect();
            if let Some(port) = words.get("bound").and_then(|port| port.parse().ok()) {
                found.push((format!("{}/{}", words["robot"], words["name"]), port));
            }
            line = self.read()?;
        }
        Ok(found)
    }
}

/// A client that reconnects until the end.
fn client(control: SocketAddr, mut random: Random, mode: &str, count: &Count) {
    while !count.is_over() {
        // A server that answers late or not at all is not an error of the client.
        if talk(control, &mut random, mode, count).is_err() {
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A connection to the control port, and in between some to devices.
fn talk(control: SocketAddr, random: &mut Random, mode: &str, count: &Count) -> io::Result<()> {
    let mut line = Line::connect(control)?;
    count.connections.fetch_add(1, Ordering::Relaxed);
    for _ in 0..random.below(REQUESTS_PER_CONNECTION) {
        if count.is_over() {
            break;
        }
        let (request, answer) = if random.below(4) == 0 {
            let devices = line.devices()?;
            let Some((name, port)) = devices.get(random.below(devices.len().max(1) as u64) as usize) else { continue };
            let mut device = Line::connect((control.ip(), *port).into())?;
            device.read()?;
            let step = random.below(2000);
            let request = for_device(name, step, random);
            (request.clone(), device.ask(&request)?)
        } else {
            let request = for_clock(random, mode);
            (request.clone(), line.ask(&request)?)
        };
        count.add(&request, &answer);
    }
    Ok(())
}

fn for_device(name: &str, step: u64, random: &mut Random) -> String {
    let speed = random.below(1000) as f64 * 0.01 - 5.0;
    match (name.ends_with("/Motor"), random.below(6)) {
        (true, 0..3) => format!("1000,1000,5,0,0,{speed}"),
        (true, 3) => format!("SET @{step} 1000,1000,5,0,0,{speed}"),
        (false, 0) => format!("CFG noise=0.0{}", random.below(10)),
        (false, 1) => format!("CFG rate={}", 1 + random.below(1000)),
        (_, 4) => "<1,2".to_owned() + ">",
        _ => "GET".to_owned(),
    }
}

/// A request to the clock. Three robots are added and removed; one of them exists at the beginning.
fn for_clock(random: &mut Random, mode: &str) -> String {
    let robot = format!("R{}", random.below(3));
    let fault = random.one_of(&["ok", "off", "stuck", "garbage", "delayed 0.01", "intermittent 0.5"]);
    match random.below(40) {
        0..6 => format!("STEP {}", 1 + random.below(20)),
        6 | 7 => "PLAY".into(),
        8 => format!("PLAY {}", 0.5 + random.below(40) as f64 * 0.1),
        9..12 => "PAUSE".into(),
        12 => format!("RUNTO {}", random.below(3000) as f64 * 1e-3),
        13..17 => "RESET".into(),
        17..20 => {
            let (x, z) = (random.below(20), random.below(20));
            format!("SPAWN name={robot} position={x},1,{z} file=cart.xml")
        }
        20..23 => format!("REMOVE {robot}"),
        23..26 => format!("PLACE Cart position={},1,{}", random.below(20), random.below(20)),
        26 | 27 => format!("PLACE {robot} position={},1,{}", random.below(20), random.below(20)),
        28 | 29 => format!("FAULT Cart/Motor {fault}"),
        30 => format!("FAULT {robot}/Where {fault}"),
        31 => format!("MODE {}", random.one_of(&["fast", "realtime"])),
        // For lockstep the member of the setting, which joins again.
        32..35 => format!("MODE {mode}"),
        35 => "SYNC here".into(),
        36 => random.one_of(&["STEP many", "SPAWN", "REMOVE Nobody", "FAULT Cart/Motor broken", "JUMP"]).into(),
        _ => "STATE".into(),
    }
}

/// The member of the lockstep: it joins, and answers each step until the mode changes; then it joins again.
fn member(control: SocketAddr, count: &Count) {
    while !count.is_over() {
        // It reconnects whenever it receives nothing for a while.
        let _ = Line::connect(control).and_then(|mut line| {
            let devices = line.devices()?;
            let port = devices.iter().find(|(name, _)| name == "Cart/Where").map(|(_, port)| *port);
            let mut member = Line::connect((control.ip(), port.ok_or(io::ErrorKind::NotFound)?).into())?;
            member.0.get_mut().set_read_timeout(Some(Duration::from_millis(200)))?;
            member.read()?;
            let mut heard = member.ask("ACK")?;
            while let Some(step) = heard.strip_prefix("S ").and_then(|rest| rest.split(' ').next()) {
                heard = member.ask(&format!("ACK {step}"))?;
            }
            Ok(())
        });
        thread::sleep(Duration::from_millis(10));
    }
}

fn newest_run(database: &str) -> i64 {
    let database = Database::parse(database).expect("it is an address");
    let runs = Inquiry::open(&database).and_then(|mut inquiry| inquiry.runs());
    // There may be no database yet.
    runs.unwrap_or_default().iter().map(|run| run.simulation_id).max().unwrap_or(0)
}

/// Repeats every run from the first one on. False if one is not complete or not equal.
fn repeat(database: &str, first: i64) -> bool {
    let database = Database::parse(database).expect("it is an address");
    let mut inquiry = Inquiry::open(&database).expect("the log can be read");
    let runs = inquiry.runs().expect("the log can be read");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be had");
    let (mut count, mut steps, mut compared, mut wrong) = (0_u64, 0, 0, 0_u64);
    for run in runs.into_iter().filter(|run| run.simulation_id >= first) {
        let id = run.simulation_id;
        let verified = runtime.block_on(Reader::new(&database).verify(Some(id))).map_err(|error| error.to_string());
        let findings = verified.map(|found| found.iter().flat_map(|run| run.findings.clone()).collect::<Vec<_>>());
        let replayed = Inquiry::open(&database).map_err(|error| error.to_string()).and_then(|inquiry| {
            let mut replay = Replay::open(inquiry, run).map_err(|error| error.to_string())?;
            replay.run(None, &mut ()).map_err(|error| error.to_string())
        });
        count += 1;
        if count.is_multiple_of(5000) {
            println!("replay            {count} runs so far, {wrong} not right");
        }
        match (findings, replayed) {
            (Ok(findings), Ok(report)) if findings.is_empty() && report.mismatch.is_none() => {
                (steps, compared) = (steps + report.steps, compared + report.compared);
            }
            (findings, replayed) => {
                wrong += 1;
                let mismatch = replayed.map(|report| report.mismatch);
                println!("run {id:<14}not right: verify {findings:?}, replay {mismatch:?}");
            }
        }
    }
    println!(
        "replay            {count} runs, {steps} steps, {compared} of them compared with the log, {wrong} runs not right"
    );
    wrong == 0
}
