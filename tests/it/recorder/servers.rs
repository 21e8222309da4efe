//! The test starts a database server, kills it, suspends it and restarts it while a run in real time is logged into it:
//! no row is lost, and the physics is not affected.
//!
//! Skipped without the server's programs; `SIMPARTNER_LONG_TESTS=1` keeps the server away for 20 s each time.

use std::{
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use simpartner::recorder::{Database, Reader};

use super::{
    super::cli::Scratch,
    killed::simpartner,
    test_database::{Value, execute, need, rows, wait},
};
use crate::needs::met;

/// A server in a folder of its own, which is removed with it.
struct Server {
    scheme: &'static str,
    port: u16,
    process: Option<Child>,
    folder: tempfile::TempDir,
}

impl Server {
    /// `None` if its programs are not installed, or cannot be used by this user: the test is then skipped.
    fn new(scheme: &'static str) -> Option<Self> {
        let program = if scheme == "postgres" { "initdb" } else { "mariadb-install-db" };
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut server = Self { scheme, port: free.local_addr().unwrap().port(), process: None, folder };
        let made = match scheme {
            "postgres" => server.program("initdb").args(["--auth=trust", "--username=root", "--no-sync"]).output(),
            _ => server.program(program).args(["--auth-root-authentication-method=normal", "--skip-test-db"]).output(),
        };
        let why = match made {
            Ok(made) if made.status.success() => Ok(()),
            Ok(made) => Err(format!("{program} failed: {}", String::from_utf8_lossy(&made.stderr))),
            Err(error) => Err(format!("{program} cannot be run: {error}")),
        };
        met(need(scheme), why)?;
        drop(free);
        server.start();
        Some(server)
    }

    /// A program of the server on its folder. PostgreSQL's refuse to be run by root.
    fn program(&self, name: &str) -> Command {
        let program = folder_of(name).unwrap_or_default().join(name);
        let data = self.folder.path().join("data");
        let mut command = Command::new(&program);
        if self.scheme == "postgres" {
            if is_root() {
                command = Command::new("setpriv");
                command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(&program);
            }
            command.arg("-D").arg(data);
        } else {
            command.arg("--no-defaults").arg(format!("--datadir={}", data.display()));
            // A server deletes the temporary tables in its folder when it starts, those of other servers too.
            command.arg(format!("--tmpdir={}", self.folder.path().display()));
            if is_root() {
                command.arg("--user=root");
            }
        }
        command.current_dir(self.folder.path()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    fn start(&mut self) {
        let (port, folder) = (self.port.to_string(), self.folder.path().display().to_string());
        let mut command = if self.scheme == "postgres" {
            let mut command = self.program("postgres");
            command.args(["-p", &port, "-k", &folder, "-c", "listen_addresses=127.0.0.1"]);
            command
        } else {
            let mut command = self.program("mariadbd");
            let socket = format!("--socket={folder}/socket");
            command.args(["--bind-address=127.0.0.1", &format!("--port={port}"), &socket]);
            command
        };
        self.process = Some(command.stderr(Stdio::null()).spawn().unwrap());
        while wait(execute(&self.url(self.scheme), "SELECT 1".into())).is_err() {
            let ended = self.process.as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none(), "the {} server has ended", self.scheme);
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Both kinds have a database with the name of its scheme.
    fn url(&self, database: &str) -> String {
        format!("{}://root@127.0.0.1:{}/{database}", self.scheme, self.port)
    }

    /// The server and the processes that it has for its connections.
    fn signal(&self, signal: &str) {
        let parent = self.process.as_ref().unwrap().id();
        let mut processes = vec![parent.to_string()];
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            // After the name, which may contain anything: state, parent.
            let after = stat.rsplit(") ").next().unwrap_or_default();
            if after.split(' ').nth(1) == Some(&parent.to_string()) {
                processes.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        // A process of a connection may have ended by now.
        let _ = Command::new("kill").arg(format!("-{signal}")).args(&processes).stderr(Stdio::null()).status();
    }

    /// Ends it at once, like a power cut.
    fn kill(&mut self) {
        self.signal("KILL");
        self.process.take().unwrap().wait().unwrap();
    }

    /// Ends it in good order; its clients are not waited for.
    fn stop(&mut self) {
        self.signal(if self.scheme == "postgres" { "INT" } else { "TERM" });
        self.process.take().unwrap().wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.process.is_some() {
            self.kill();
        }
    }
}

/// The folder of an installed program.
fn folder_of(program: &str) -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    folders.push("/usr/sbin".into());
    // Debian has the programs of each version of PostgreSQL in a separate folder.
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    folders.extend(versions.map(|version| version.path().join("bin")));
    folders.into_iter().find(|folder| folder.join(program).is_file())
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// The run, and the interruptions of its server.
fn outlast(mut server: Server) {
    let away = Duration::from_secs(if std::env::var_os("SIMPARTNER_LONG_TESTS").is_some() { 20 } else { 1 });
    wait(execute(&server.url(server.scheme), "CREATE DATABASE log".into())).unwrap();
    let url = server.url("log");
    let reader = Reader::new(&Database::parse(&url).unwrap());
    let steps = || wait(reader.runs()).ok().and_then(|runs| runs.first()?.steps).map_or(0, |(_, last)| last);
    let wait_for_more = |run: &mut Child, before: u64| {
        while steps() <= before {
            assert!(run.try_wait().unwrap().is_none(), "{url}: the run has ended");
            thread::sleep(Duration::from_millis(20));
        }
    };
    let spill = format!("log.spill_folder={}", server.folder.path().display());
    let duration = (2.0 * away.as_secs_f64() + 15.0).to_string();
    let scratch = Scratch::new();
    let job = ["run", "--world", &scratch.world(), "--duration", &duration];
    let doors = ["--no-viewer", "--set", "server.control_port=0"];
    let mut run = simpartner(&job).args(doors).args(["--set", &spill, "--database", &url]).spawn().unwrap();
    wait_for_more(&mut run, 0);
    // Killed without notice, for a while.
    server.kill();
    thread::sleep(away);
    server.start();
    wait_for_more(&mut run, steps());
    // Alive but silent.
    server.signal("STOP");
    thread::sleep(away);
    server.signal("CONT");
    wait_for_more(&mut run, steps());
    // Restarted cleanly.
    server.stop();
    server.start();
    let ended = run.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{}: {text}", server.scheme);
    let found = wait(reader.verify(None)).unwrap().remove(0);
    assert_eq!(found.findings, Vec::<String>::new(), "{}", server.scheme);
    let left: Vec<_> = std::fs::read_dir(server.folder.path()).unwrap().flatten().map(|entry| entry.path()).collect();
    assert!(left.iter().all(|path| path.extension().is_none_or(|extension| extension != "spill")), "{left:?}");
    let ask = |sql: &str| wait(rows(&url, sql)).unwrap();
    assert!(ask("SELECT 1 FROM event WHERE kind = 'logOutage'").len() >= 2, "{text}");
    // The result of the physics equals that without a log.
    let bare = simpartner(&job).args(["--mode", "fast", "--database", "none"]).output().unwrap();
    let hash = ask("SELECT stateHash FROM simulation").remove(0);
    let Value::Text(hash) = &hash[0] else { panic!("{hash:?}") };
    assert!(String::from_utf8_lossy(&bare.stdout).contains(hash.as_str()), "{hash} {bare:?}");
    let figures = ask("SELECT slips, late_p99_us, late_max_us FROM simulation");
    println!(
        "{}: {} steps, {} rows; slips, p99 and most lateness in us: {figures:?}",
        server.scheme, found.steps, found.rows
    );
}

#[test]
fn a_postgresql_server_that_is_stopped_held_and_started_again_misses_no_row() {
    Server::new("postgres").into_iter().for_each(outlast);
}

#[test]
fn a_mariadb_server_that_is_stopped_held_and_started_again_misses_no_row() {
    Server::new("mysql").into_iter().for_each(outlast);
}
