//! The program as a process: its limits, its environment, the files that it creates, and its end.
#![cfg(target_os = "linux")]

use std::{
    ffi::OsString,
    os::unix::{ffi::OsStringExt, fs::PermissionsExt},
    process::{Command, Stdio},
};

use super::cli::{Running, Scratch, output, simpartner, text};
use crate::needs::{Need, met};

#[test]
fn a_run_is_refused_where_its_memory_would_end_it() {
    let scratch = Scratch::new();
    let script = "ulimit -v 900000; exec \"$0\" run --world \"$1\" --mode fast --duration 0.01 --database none";
    let run = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_simpartner"), &scratch.world()])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(3), "{}", text(&run.stderr));
    let said = text(&run.stderr);
    assert!(said.contains("921600000 bytes of address space") && said.contains("ulimit -v unlimited"), "{said}");
}

#[test]
fn foreign_variables_may_have_any_bytes() {
    let bytes = OsString::from_vec(b"/home/m\xfcller".to_vec());
    let checked = simpartner(&["check", "worlds/flat.xml"]).env("PWD", bytes).output().unwrap();
    assert!(checked.status.success(), "{}", text(&checked.stderr));
}

#[test]
fn what_a_server_with_a_token_logs_is_readable_for_its_user_alone() {
    let scratch = Scratch::new();
    for (name, token, others) in [("open.db", "", 0o044), ("closed.db", "server.token=0123456789abcdef", 0)] {
        let (world, database) = (scratch.world(), scratch.database(name));
        let mut arguments =
            vec!["run", "--world", &world, "--mode", "fast", "--duration", "0.01", "--database", &database];
        if !token.is_empty() {
            arguments.extend(["--set", token]);
        }
        let run = output(&arguments);
        assert!(run.status.success(), "{}", text(&run.stderr));
        let mode = std::fs::metadata(scratch.path(name)).unwrap().permissions().mode();
        // A stricter mask of the tests applies as well.
        assert!(mode & 0o077 & !others == 0, "{name}: {mode:o}");
    }
}

/// The database is away, and ten minutes are to be waited for it at the end.
#[test]
fn a_second_signal_ends_the_waiting_for_a_database() {
    let scratch = Scratch::new();
    let spill = format!("log.spill_folder={}", scratch.path("").display());
    let more =
        ["--mode", "realtime", "--no-viewer", "--set", "log.start_without_database=true", "--set", "log.drain_s=600"];
    let more = [&more[..], &["--set", &spill]].concat();
    let mut server = Running::logging_into("postgres://nobody@127.0.0.1:1/none", &scratch, &more);
    server.reach(100);
    server.signal("TERM");
    // The first signal ends the run. A later one ends the wait for its end.
    let status = loop {
        match server.try_wait() {
            Some(status) => break status,
            None => server.signal("TERM"),
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    assert_eq!(status.code(), Some(11));
    let spilled = std::fs::read_dir(scratch.path("")).unwrap().map(|entry| entry.unwrap().path());
    assert_eq!(spilled.filter(|path| path.extension().is_some_and(|ending| ending == "spill")).count(), 1);
}

/// Makes a log on a disk that is then made read-only, and reads it there.
const READ_ONLY: &str = r#"
set -u
server=$1 disk=$2 world=$3
mount -t tmpfs -o size=600m none "$disk" || exit 99
"$server" run --world "$world" --mode fast --duration 0.05 --database "sqlite:$disk/run.db" >&2
mount -o remount,ro "$disk" || exit 99
"$server" query last "SELECT count(*) FROM simulationRow" --format csv --database "sqlite:$disk/run.db"
"$server" runs --database "sqlite:$disk/run.db" >&2 && "$server" db verify --database "sqlite:$disk/run.db" >&2 &&
    "$server" replay 1 --database "sqlite:$disk/run.db" >&2
echo "read with $?"
"#;

#[test]
fn a_log_on_a_read_only_disk_can_be_read() {
    let scratch = Scratch::new();
    let disk = scratch.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", READ_ONLY, "sh", env!("CARGO_BIN_EXE_simpartner")]);
    let made = command.arg(&disk).arg(scratch.world()).stdin(Stdio::null()).output();
    let read = match made {
        Ok(made) if made.status.code() == Some(1) || made.status.code() == Some(99) => {
            Err(format!("no disk can be mounted here: {}", text(&made.stderr)))
        }
        Ok(made) => Ok(made),
        Err(error) => Err(format!("unshare cannot be run: {error}")),
    };
    let Some(made) = met(Need::Mount, read) else { return };
    let said = text(&made.stdout);
    assert!(said.ends_with("\n50\nread with 0\n"), "{said}{}", text(&made.stderr));
}
