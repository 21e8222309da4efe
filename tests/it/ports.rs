//! Addresses of servers: several servers, the ports file, ports in use, and `talk`.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    path::Path,
    process::{Child, Stdio},
};

use clap::Parser;
use simpartner_terminal::ServerArguments;
use simpartner_wire::ports_file::PortsFile;

use super::cli::{Scratch, number, output, simpartner, text};

/// A server of the world whose ports are fixed, found by its file of ports. It is killed when the test is over.
struct Server {
    child: Child,
    file: String,
    ports: PortsFile,
}

impl Server {
    fn start(scratch: &Scratch, name: &str, more: &[&str]) -> Self {
        let file = scratch.path(name).display().to_string();
        let database = scratch.database(&format!("{name}.db"));
        let fixed = ["run", "--free-ports", "--ports-file", &file, "--database", &database, "--paused"];
        let mut child = simpartner(&[&fixed[..], more].concat()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("control") {
            line.clear();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "it ended before it served");
        }
        // Further output must not fill the pipe.
        std::thread::spawn(move || stderr.read_to_end(&mut Vec::new()));
        let ports = PortsFile::read(Path::new(&file)).unwrap();
        Self { child, file, ports }
    }

    /// Output of `talk`, and its exit code.
    fn talk(&self, words: &[&str]) -> (String, Option<i32>) {
        let told = output(&[&["talk", "--ports-file", &self.file], words].concat());
        (text(&told.stdout) + &text(&told.stderr), told.status.code())
    }

    fn bound(&self, device: &str) -> u16 {
        self.ports.devices.iter().find(|found| found.name == device).unwrap().bound
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn servers_of_one_world_run_side_by_side_on_free_ports() {
    let scratch = Scratch::new();
    let (mut one, two) = (Server::start(&scratch, "one.json", &[]), Server::start(&scratch, "two.json", &[]));
    assert_ne!(one.bound("Position"), two.bound("Position"));
    // INFO, DEVICES and the combined port report the real ports.
    let (info, _) = one.talk(&["Position", "INFO"]);
    assert!(info.contains(&format!(" port={} ", one.bound("Position"))), "{info}");
    let (list, _) = one.talk(&["control", "DEVICES"]);
    assert!(list.contains(&format!("port=1026 bound={}\n", one.bound("Position"))), "{list}");
    let (list, _) = one.talk(&["control", "ROBOTS"]);
    assert!(list.contains(&format!("bound={}\n", one.ports.robots[0].bound)), "{list}");
    let listed = output(&["devices", "--json", "--ports-file", &one.file]);
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed["control"], one.ports.control.port());
    let position = listed["devices"].as_array().unwrap().iter().find(|device| device["name"] == "Position").unwrap();
    assert_eq!((&position["port"], &position["bound"]), (&1026.into(), &one.bound("Position").into()));
    // A server removes only its own file.
    one.talk(&["control", "QUIT"]);
    assert!(one.child.wait().unwrap().success());
    assert!(!Path::new(&one.file).exists() && Path::new(&two.file).exists());
}

#[test]
fn a_run_is_the_same_on_whatever_ports() {
    let scratch = Scratch::new();
    let mut servers = ["one", "two"].map(|name| Server::start(&scratch, name, &[]));
    for server in &mut servers {
        assert_eq!(server.talk(&["WheelMotor1", "<1000,1000,100,0,0,2>"]).1, Some(0));
        assert_eq!(server.talk(&["control", "STEP", "50"]).1, Some(0));
        server.talk(&["control", "QUIT"]);
        assert!(server.child.wait().unwrap().success());
    }
    let run = |name: &str| format!("{}#1", scratch.database(&format!("{name}.db")));
    let compared = output(&["runs", "compare", &run("one"), &run("two")]);
    assert!(compared.status.success(), "{}", text(&compared.stdout));
    assert!(output(&["replay", &run("two")]).status.success());
}

/// The flags of every client.
#[derive(clap::Parser)]
struct Client {
    #[command(flatten)]
    server: ServerArguments,
}

#[test]
fn clients_find_a_server_by_its_file_of_ports() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "ports.json", &[]);
    let client = |arguments: &[&str]| Client::try_parse_from([&["client"], arguments].concat());
    let control = |arguments: &[&str]| client(arguments).unwrap().server.control();
    assert_eq!(control(&["--ports-file", &server.file]).unwrap(), server.ports.control.to_string());
    assert_eq!(control(&["--server", "robot:7000"]).unwrap(), "robot:7000");
    assert_eq!(control(&[]).unwrap(), "127.0.0.1:6500");
    assert!(control(&["--ports-file", "nowhere.json"]).unwrap_err().to_string().contains("nowhere.json"));
    assert!(client(&["--server", "robot:7000", "--ports-file", &server.file]).is_err());
}

#[test]
fn a_port_that_is_taken_names_who_has_it_and_the_ways_out_and_leaves_no_run() {
    let scratch = Scratch::new();
    // All other ports of the world are moved to a range that is rarely used.
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let (control, database) = (format!("server.control_port={port}"), scratch.database("a.db"));
    let world = scratch.world();
    let ports_file = scratch.path("ports.json").display().to_string();
    let told =
        output(&["run", "--world", &world, "--set", &control, "--database", &database, "--ports-file", &ports_file]);
    assert_eq!(told.status.code(), Some(8));
    let told = text(&told.stderr);
    assert!(told.contains(&format!("the control port cannot open port {port}")), "{told}");
    assert!(told.contains("--port-offset 1000") && told.contains("--free-ports"), "{told}");
    if cfg!(target_os = "linux") {
        assert!(told.contains(&format!("process {} has it", std::process::id())), "{told}");
    }
    // The database was not created.
    assert!(!scratch.path("a.db").exists() && !Path::new(&ports_file).exists());
}

#[test]
fn a_failed_start_enters_no_run_into_a_database_that_is_there() {
    let scratch = Scratch::new();
    let database = scratch.database("a.db");
    assert!(output(&["run", "--mode", "fast", "--duration", "0.01", "--database", &database]).status.success());
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let control = format!("server.control_port={}", taken.local_addr().unwrap().port());
    let world = scratch.world();
    let told = output(&["run", "--world", &world, "--set", &control, "--database", &database]);
    assert_eq!(told.status.code(), Some(8));
    assert_eq!(number(&scratch.path("a.db"), "SELECT count(*) FROM simulation"), 1);
}

#[test]
fn an_offset_moves_every_port_or_says_which_cannot_be_moved() {
    let port = |offset: &[&str], name: &str| {
        let listed = output(&[&["devices", "--json"], offset].concat());
        let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
        let devices = listed["devices"].as_array().unwrap();
        let found = devices.iter().find(|device| device["name"] == name).unwrap();
        (found["bound"].clone(), listed["control"].clone())
    };
    assert_eq!(port(&[], "Position"), (1026.into(), 6500.into()));
    assert_eq!(port(&["--port-offset", "2000"], "Position"), (3026.into(), 8500.into()));
    assert_eq!(port(&["--set", "server.port_offset=2000"], "Position"), (3026.into(), 8500.into()));
    let nothing = serde_json::Value::Null;
    assert_eq!(port(&["--free-ports"], "Position"), (nothing.clone(), nothing));
    for (offset, place, moved) in
        [("64510", "server.control_port:", "71010"), ("-2", "workpartner_assemblies.xml:", "1023")]
    {
        let told = output(&["run", "--database", "none", "--port-offset", offset]);
        assert_eq!(told.status.code(), Some(8));
        let told = text(&told.stderr);
        assert!(told.contains(place) && told.contains(&format!("moves to {moved}")), "{told}");
    }
}

#[test]
fn a_file_that_is_no_file_of_ports_is_never_replaced() {
    let scratch = Scratch::new();
    let file = scratch.write("thesis.txt", "ten years of work");
    let told = output(&["run", "--free-ports", "--ports-file", &file, "--database", "none"]);
    assert_eq!(told.status.code(), Some(3));
    assert!(text(&told.stderr).contains("is not a ports file"), "{}", text(&told.stderr));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "ten years of work");
}

#[test]
fn talk_says_lines_and_prints_what_comes() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "ports.json", &[]);
    let (state, code) = server.talk(&["control", "STATE"]);
    assert!(state.starts_with("OK state=PAUSED step=0 ") && code == Some(0), "{state}");
    // An answer that waits for steps is waited for.
    let (state, _) = server.talk(&["control", "STEP", "10"]);
    assert!(state.starts_with("OK state=PAUSED step=10 "), "{state}");
    let port = server.bound("Position").to_string();
    for whom in ["Position", "WorkPartner/Position", &port] {
        let (reading, code) = server.talk(&[whom, "GET"]);
        let lines: Vec<&str> = reading.lines().collect();
        assert!(lines.len() == 2 && lines[0].starts_with('<') && lines[1].starts_with("S 10 0.01 "), "{reading}");
        assert_eq!(code, Some(0));
    }
    let (answer, _) = server.talk(&["WheelMotor1", "<1000,1000,100,0,0,1>"]);
    // The state before the command, and the state after it.
    let lines: Vec<&str> = answer.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with('<') && lines[1] == "<1000,1000,100,0,0,1>", "{answer}");
    let (reading, code) = server.talk(&["Position", "get"]);
    assert!(reading.contains("\nS 10 0.01 ") && code == Some(0), "{reading}");
    let (robot, _) = server.talk(&["WorkPartner", "INFO"]);
    assert!(robot.contains("kind=Robot"), "{robot}");
    let (refusal, code) = server.talk(&["control", "JUMP"]);
    assert!(refusal.starts_with("ERR 1 ") && code == Some(12), "{refusal}");
    let (unknown, code) = server.talk(&["Positron", "GET"]);
    assert!(
        unknown.contains("no device or robot 'Positron'; did you mean 'Position'? It has control, WorkPartner/")
            && code == Some(2)
    );
    // Lines of standard input, the last one without a line end.
    let mut talk =
        simpartner(&["talk", "--ports-file", &server.file, "control"]).stdin(Stdio::piped()).spawn().unwrap();
    talk.stdin.take().unwrap().write_all(b"STEP 5\nSTEP 5").unwrap();
    let told = text(&talk.wait_with_output().unwrap().stdout);
    let steps: Vec<&str> = told.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    assert_eq!(steps, ["step=15", "step=20"]);
    // A stream continues until its reader stops.
    let mut talk =
        simpartner(&["talk", "--ports-file", &server.file, "--wait", "Position", "SUB", "1"]).spawn().unwrap();
    let mut lines = BufReader::new(talk.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    while !next().starts_with("OK") {}
    server.talk(&["control", "PLAY"]);
    while !next().starts_with("S ") {}
    drop(lines);
    assert!(talk.wait().unwrap().success());
}

#[test]
fn talk_shows_the_token_and_says_where_nobody_is() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "ports.json", &["--set", "server.token=sesame"]);
    let (refused, code) = server.talk(&["Position", "GET"]);
    assert!(refused.contains("ERR 9") && code == Some(8), "{refused}");
    let (reading, code) = server.talk(&["--token", "sesame", "Position", "GET"]);
    assert!(reading.contains("S 0 0 ") && code == Some(0), "{reading}");
    let nobody = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().to_string();
    let told = output(&["talk", "--server", &nobody, "control", "STATE"]);
    assert_eq!(told.status.code(), Some(8));
    assert!(text(&told.stderr).contains(&format!("cannot connect to 'control' at {nobody}")));
    let told = output(&["talk", "--free-ports", "control", "STATE"]);
    assert_eq!(told.status.code(), Some(2), "{}", text(&told.stderr));
}
