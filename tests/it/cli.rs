//! The binary as a user runs it: what it prints, what it leaves behind, how it ends.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use sqlx::{Connection, Row, SqliteConnection};

pub(super) fn simpartner(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_simpartner"));
    command.args(arguments).env_remove("RUST_LOG").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(super) fn output(arguments: &[&str]) -> Output {
    simpartner(arguments).output().unwrap()
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The value behind a name in the summary.
pub(super) fn summary(output: &Output, name: &str) -> String {
    let text = text(&output.stdout);
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name} in:\n{text}"));
    line[name.len()..].trim().to_owned()
}

pub(super) struct Scratch(tempfile::TempDir);

impl Scratch {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(super) fn database(&self, name: &str) -> String {
        format!("sqlite:{}", self.path(name).display())
    }

    pub(super) fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name).display().to_string()
    }

    /// WorkPartner 1 on a plane, all of whose ports are any that is free.
    pub(super) fn world(&self) -> String {
        for file in ["workpartner1.xml", "workpartner_assemblies.xml"] {
            let text = std::fs::read_to_string(Path::new("robots").join(file)).unwrap();
            // Behind each `port="` four digits follow.
            let mut parts = text.split("port=\"");
            let first = parts.next().unwrap_or_default().to_owned();
            self.write(file, &parts.fold(first, |free, part| free + "port=\"0" + &part[4..]));
        }
        self.write(
            "world.xml",
            "<world><surface a='0' b='1' c='0' d='0'/><robot file='workpartner1.xml' name='WorkPartner'/></world>",
        )
    }
}

/// One number from a database.
pub(super) fn number(database: &Path, query: &'static str) -> i64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut connection = SqliteConnection::connect(&format!("sqlite:{}", database.display())).await.unwrap();
        sqlx::query(query).fetch_one(&mut connection).await.unwrap().get(0)
    })
}

pub(super) const SHORT: &str = "<sequence version='1'>
  <command><commandString>1000,1000,100,0,0,2</commandString><port>1027</port></command>
  <command><commandString>0.3</commandString><port>0</port></command>
  <repeat count='2'>
    <command><commandString>0,0,0.1,5,0,0</commandString><port>1035</port></command>
    <command><commandString>0.1</commandString><port>0</port></command>
  </repeat>
</sequence>";

#[test]
fn a_fast_run_ends_with_its_sequence_and_logs_every_step() {
    let scratch = Scratch::new();
    let sequence = scratch.write("short.xml", SHORT);
    let run = |database: &str| {
        let output = output(&["run", "--mode", "fast", "--sequence", &sequence, "--database", database]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        output
    };
    let first = run(&scratch.database("a.db"));
    assert_eq!((summary(&first, "outcome"), summary(&first, "steps")), ("completed".into(), "500".into()));
    // The same run with every step logged and without a log gives the same bits.
    assert_eq!(summary(&run(&scratch.database("b.db")), "state"), summary(&first, "state"));
    assert_eq!(summary(&run("none"), "state"), summary(&first, "state"));
    let database = scratch.path("a.db");
    for table in [
        "SELECT count(*) / 14 FROM pose",
        "SELECT count(*) / 14 FROM forceAndTorque",
        "SELECT count(*) / 13 FROM jointPose",
        "SELECT count(*) FROM simulationRow",
    ] {
        assert_eq!(number(&database, table), 500, "{table}");
    }
    assert_eq!(number(&database, "SELECT count(*) FROM command"), 3);
    assert_eq!(number(&database, "SELECT count(*) FROM simulation WHERE status = 'completed'"), 1);
}

/// A running server, killed when the test is over.
pub(super) struct Running {
    child: Child,
    control: BufReader<TcpStream>,
}

impl Running {
    /// Starts with free ports and connects to the control port.
    pub(super) fn start(scratch: &Scratch, more: &[&str]) -> Self {
        Self::logging_into(&scratch.database("run.db"), scratch, more)
    }

    /// The same, with a log in another database.
    pub(super) fn logging_into(database: &str, scratch: &Scratch, more: &[&str]) -> Self {
        let world = scratch.world();
        let mut arguments = vec!["run", "--world", &world, "--database", database, "--set", "server.control_port=0"];
        arguments.extend(more);
        let mut child = simpartner(&arguments).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let address = loop {
            let mut line = String::new();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "it ended before it served");
            if let Some(address) = line.strip_prefix("control") {
                break address.trim().to_owned();
            }
        };
        // Further output must not fill the pipe.
        std::thread::spawn(move || stderr.read_to_end(&mut Vec::new()));
        Self { child, control: BufReader::new(TcpStream::connect(address).unwrap()) }
    }

    pub(super) fn ask(&mut self, request: &str) -> String {
        self.control.get_mut().write_all(format!("{request}\n").as_bytes()).unwrap();
        self.heard()
    }

    pub(super) fn heard(&mut self) -> String {
        let mut answer = String::new();
        self.control.read_line(&mut answer).unwrap();
        answer.trim_end().to_owned()
    }

    /// The port that the first device of a kind got.
    pub(super) fn port_of(&mut self, kind: &str) -> u16 {
        let mut line = self.ask("DEVICES");
        let mut found = None;
        while line.starts_with("DEVICE ") {
            if found.is_none() && line.contains(&format!(" kind={kind} ")) {
                found = line.split_once("bound=").and_then(|(_, port)| port.parse().ok());
            }
            line = self.heard();
        }
        found.unwrap_or_else(|| panic!("no {kind} before {line}"))
    }

    /// Waits until it has ended by itself.
    pub(super) fn end(&mut self) {
        assert!(self.child.wait().unwrap().success());
    }

    /// Waits until this number of steps has been made.
    pub(super) fn reach(&mut self, step: u64) {
        while self.step() < step {
            std::thread::yield_now();
        }
    }

    pub(super) fn step(&mut self) -> u64 {
        let state = self.ask("STATE");
        let step = state.split_once("step=").unwrap_or_else(|| panic!("{state}")).1;
        step.split(' ').next().unwrap().parse().unwrap()
    }

    /// Kills it, and waits for its end.
    pub(super) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Its exit status, if it has ended.
    pub(super) fn try_wait(&mut self) -> Option<std::process::ExitStatus> {
        self.child.try_wait().unwrap()
    }

    pub(super) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([format!("-{name}"), self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_sigterm_and_the_end_of_the_terminal_end_a_run_with_everything_logged() {
    for signal in ["INT", "TERM", "HUP"] {
        if signal == "HUP" && hangups_are_ignored() {
            continue;
        }
        let scratch = Scratch::new();
        let mut server = Running::start(&scratch, &["--mode", "realtime"]);
        server.reach(200);
        server.signal(signal);
        let mut summary = String::new();
        server.child.stdout.take().unwrap().read_to_string(&mut summary).unwrap();
        assert!(server.child.wait().unwrap().success(), "{summary}");
        let steps: i64 = summary.lines().find_map(|line| line.strip_prefix("steps ")).unwrap().trim().parse().unwrap();
        assert!(summary.starts_with("outcome           ended on request"), "{summary}");
        assert_eq!(number(&scratch.path("run.db"), "SELECT count(*) FROM pose"), 14 * steps);
        assert_eq!(number(&scratch.path("run.db"), "SELECT max(step) FROM simulationRow"), steps);
    }
}

/// True if these tests run under `nohup`: the server then continues after the terminal has ended. Only Linux reports
/// this.
#[cfg(unix)]
fn hangups_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    ignored.is_some_and(|signals| signals & 1 != 0)
}

/// A pipe without a reader, like a terminal under Ctrl-S: the run continues, and ends on request.
#[cfg(unix)]
#[test]
fn a_terminal_that_nobody_reads_holds_nothing_up() {
    let scratch = Scratch::new();
    let (reader, mut writer) = std::io::pipe().unwrap();
    let (world, control) = (scratch.world(), "server.control_port=0");
    let mut command = simpartner(&["run", "--world", &world, "--database", "none", "--no-viewer", "--set", control]);
    let child = command.env("RUST_LOG", "trace").stderr(writer.try_clone().unwrap()).spawn().unwrap();
    let mut lines = BufReader::new(reader).lines();
    let said = lines.by_ref().map(Result::unwrap).take_while(|line| !line.ends_with("Ctrl-C ends the run cleanly"));
    let address = said.filter_map(|line| Some(line.strip_prefix("control")?.trim().to_owned())).last();
    // From here on nobody reads, and the pipe is filled.
    let room = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let filled = std::sync::Arc::clone(&room);
    std::thread::spawn(move || {
        while writer.write_all(b"x").is_ok() {
            filled.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    });
    let mut server = Running { control: BufReader::new(TcpStream::connect(address.unwrap()).unwrap()), child };
    let mut before = u64::MAX;
    while before != room.load(std::sync::atomic::Ordering::Relaxed) {
        before = room.load(std::sync::atomic::Ordering::Relaxed);
        let step = server.step();
        server.reach(step + 20);
    }
    assert!(server.ask("PLAY 20").starts_with("OK state=PLAYING"));
    for _ in 0..200 {
        assert_eq!(server.ask("FAULT WorkPartner/Position stuck"), "OK");
        assert_eq!(server.ask("FAULT WorkPartner/Position ok"), "OK");
    }
    // Twice the number of records that circulate between the physics and its readers.
    let step = server.step();
    server.reach(step + 2048);
    assert!(server.ask("QUIT").starts_with("OK state=QUITTING"));
    server.end();
    drop(lines);
}

#[cfg(unix)]
#[test]
fn a_killed_run_leaves_whole_steps_and_loses_only_the_last_batch() {
    let scratch = Scratch::new();
    let mut server = Running::start(&scratch, &["--mode", "realtime"]);
    server.reach(1500);
    server.signal("KILL");
    server.child.wait().unwrap();
    let database = scratch.path("run.db");
    let steps = number(&database, "SELECT max(step) FROM simulationRow");
    // A batch is a tenth of a second; a machine that is busy elsewhere may let some of them wait.
    assert!(steps >= 500, "{steps} steps are left of 1500 and more");
    assert_eq!(number(&database, "SELECT count(*) FROM simulationRow"), steps);
    assert_eq!(number(&database, "SELECT count(*) FROM pose"), 14 * steps);
    assert_eq!(number(&database, "SELECT count(*) FROM simulation WHERE status = 'running'"), 1);
}

#[test]
fn bad_input_ends_with_its_place_and_its_exit_code() {
    let scratch = Scratch::new();
    let world = scratch.write("bad.xml", "<world>\n  <gravity q='1'/>\n</world>");
    let bad = output(&["run", "--world", &world, "--database", "none"]);
    assert_eq!(bad.status.code(), Some(3));
    assert!(
        text(&bad.stderr).starts_with(&format!("{world}:2:12: <gravity> has no attribute 'q'")),
        "{}",
        text(&bad.stderr)
    );
    let check = output(&["check", &world, "worlds/flat.xml", "--format", "json"]);
    assert_eq!(check.status.code(), Some(3));
    let json: serde_json::Value = serde_json::from_slice(&check.stdout).unwrap();
    assert_eq!(json["files"][0]["problems"][0]["line"], 2);
    assert_eq!(json["files"][1]["groups"][0]["degrees_of_freedom"], 19);

    let properties = scratch.write("p.toml", "[simulation]\nrate = 1\nrat = 2\n");
    let bad = output(&["run", "--properties", &properties]);
    assert_eq!(bad.status.code(), Some(3));
    assert!(
        text(&bad.stderr)
            .starts_with(&format!("{properties}:3: simulation.rat is not a setting; did you mean simulation.rate?")),
        "{}",
        text(&bad.stderr)
    );

    let sequence = scratch.write("s.xml", &SHORT.replace("1035", "1036"));
    let bad = output(&["run", "--mode", "fast", "--sequence", &sequence, "--database", "none"]);
    assert_eq!(bad.status.code(), Some(3));
    let what = text(&bad.stderr);
    assert!(what.starts_with(&format!("{sequence}:5:")), "{what}");
    assert!(what.contains("no device of this world has port 1036\n"), "{what}");

    assert_eq!(output(&["dance"]).status.code(), Some(2));
    let folder = scratch.database("no/such/folder/a.db");
    assert_eq!(output(&["run", "--mode", "fast", "--duration", "0.1", "--database", &folder]).status.code(), Some(4));
}

#[test]
fn a_port_that_is_taken_is_named_before_the_first_step() {
    let scratch = Scratch::new();
    let mut first = Running::start(&scratch, &["--paused"]);
    let taken = first.control.get_ref().peer_addr().unwrap().port().to_string();
    let control = format!("server.control_port={taken}");
    let database = scratch.database("second.db");
    let second = output(&["run", "--set", &control, "--database", &database]);
    assert_eq!(second.status.code(), Some(8), "{}", text(&second.stderr));
    let message = text(&second.stderr);
    assert!(
        message.contains(&format!("the control port cannot open port {taken}"))
            || message.contains("cannot open port 1025"),
        "{message}"
    );
    assert!(!scratch.path("second.db").exists(), "a run that cannot have its ports is not entered");
    assert!(first.ask("QUIT").starts_with("OK"));
}

#[test]
fn the_graph_and_the_devices_are_told_to_machines_too() {
    let devices: serde_json::Value = serde_json::from_slice(&output(&["devices", "--json"]).stdout).unwrap();
    let devices = devices["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 16);
    let motor = devices.iter().find(|device| device["name"] == "WheelMotor1").unwrap();
    assert_eq!(
        (&motor["port"], &motor["joint"], &motor["fields"][3]["unit"]),
        (&1027.into(), &"Axle1".into(), &"rad/s".into())
    );
    let dot = text(&output(&["check", "--dot", "robots/workpartner1.xml"]).stdout);
    assert!(dot.starts_with("graph \"WorkPartner1\" {"), "{dot}");
    assert_eq!(dot.matches(" -- ").count(), 13);
}

/// A controller that dies in lockstep ends the run if the settings require it, and the log names it.
#[test]
fn a_member_that_dies_ends_the_run_with_its_name_in_the_log() {
    let scratch = Scratch::new();
    let policy = ["--set", "lockstep.timeout_s=0.05", "--set", "lockstep.on_timeout=fail"];
    let mut server = Running::start(&scratch, &[&["--mode", "lockstep", "--paused"], &policy[..]].concat());
    let robot = server.ask("ROBOTS");
    assert_eq!(server.heard(), "OK 1");
    assert_eq!(server.ask("STATE").split(' ').next_back(), Some("lockstep=joining:WorkPartner"));
    let port: u16 =
        robot.split_once("bound=").and_then(|(_, port)| port.parse().ok()).unwrap_or_else(|| panic!("{robot}"));
    let mut controller = BufReader::new(TcpStream::connect(("127.0.0.1", port)).unwrap());
    controller.get_mut().write_all(b"ACK\n").unwrap();
    let mut lines = controller.lines().map(Result::unwrap);
    assert!(lines.next().unwrap().starts_with('<') && lines.next().unwrap().starts_with("S 0 0 "));
    server.ask("PLAY");
    drop(lines);
    assert_eq!(server.child.wait().unwrap().code(), Some(9));
    let database = scratch.path("run.db");
    for query in [
        "SELECT count(*) FROM event WHERE kind = 'lockstepTimeout' AND subject = 'WorkPartner' AND step = 0 AND value = 0.05",
        "SELECT count(*) FROM simulation WHERE status = 'lockstepTimeout'",
    ] {
        assert_eq!(number(&database, query), 1, "{query}");
    }
    let bad = output(&["run", "--set", "lockstep.members=WorkPartner/Wheel", "--database", "none"]);
    assert_eq!(bad.status.code(), Some(3));
    let what = text(&bad.stderr);
    assert!(what.starts_with("lockstep.members: expected one of WorkPartner, WorkPartner/Echo, "), "{what}");
}

/// A fault put into a running server by TCP is in the `event` table and, to be played again, in the `command` table.
#[test]
fn a_fault_by_tcp_is_in_the_log() {
    let scratch = Scratch::new();
    let mut server = Running::start(&scratch, &["--mode", "fast", "--set", "simulation.start_paused=true"]);
    assert_eq!(server.ask("FAULT WorkPartner/Position delayed 0.1"), "OK");
    server.ask("STEP 20");
    assert_eq!(server.ask("FAULT Position ok"), "OK");
    server.ask("STEP 20");
    server.ask("QUIT");
    assert!(server.child.wait().unwrap().success());
    let database = scratch.path("run.db");
    for (query, expected) in [
        ("SELECT count(*) FROM event WHERE kind = 'fault' AND subject = 'WorkPartner/Position'", 2),
        ("SELECT count(*) FROM event WHERE kind = 'fault' AND step = 0 AND text = 'delayed 0.1' AND value = 0.1", 1),
        ("SELECT count(*) FROM command WHERE step = 1 AND text = 'FAULT delayed 0.1' AND reply = 'OK'", 1),
        ("SELECT count(*) FROM command WHERE step = 21 AND text = 'FAULT ok'", 1),
        // No reading arrives while it is late; then one per step.
        (
            "SELECT count(*) FROM sensorReading JOIN robotComponent USING (componentID) WHERE name = 'Position' AND field = 'x'",
            20,
        ),
    ] {
        assert_eq!(number(&database, query), expected, "{query}");
    }
}

#[test]
fn what_a_log_takes_is_told_at_the_start_and_is_what_it_takes() {
    let scratch = Scratch::new();
    let database = scratch.database("run.db");
    let world = scratch.world();
    let run = |more: &[&str]| {
        let arguments = ["run", "--world", &world, "--mode", "fast", "--duration", "1", "--database", &database];
        let made = simpartner(&[&arguments[..], more].concat()).output().unwrap();
        String::from_utf8_lossy(&made.stderr).into_owned()
    };
    let economical = run(&[]);
    assert!(economical.contains(" for 300 s, then 0.0"), "{economical}");
    let full = run(&["--set", "log.detail=full"]);
    let (_, rest) = full.split_once("about ").unwrap_or_else(|| panic!("{full}"));
    assert!(rest.lines().next().unwrap().ends_with(" GB a day)"), "{full}");
    let told: f64 = rest.split(' ').next().unwrap().parse().unwrap();
    let listed = simpartner(&["runs", "--json", "--database", &database]).output().unwrap();
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let taken = listed[0]["bytes"].as_f64().unwrap() * 1e-6;
    assert!((0.9..1.2).contains(&(taken / told)), "{taken} of {told}");
}

#[test]
fn state_tells_what_the_log_takes_at_present() {
    let scratch = Scratch::new();
    let mut server = Running::start(&scratch, &["--mode", "realtime"]);
    let mut figure = |name: &str| {
        let state = server.ask("STATE");
        let value = state.split(' ').find_map(|pair| pair.strip_prefix(name)).unwrap_or_else(|| panic!("{state}"));
        value.parse::<f64>().unwrap()
    };
    while figure("log_mb_per_s=") == 0.0 || figure("log_mb=") == 0.0 {
        std::thread::yield_now();
    }
}
