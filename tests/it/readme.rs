//! `README.md`: every block of commands is pasted whole into a shell, beside a running server. A block that opens with `by-hand` cannot be:
//! it waits for Ctrl-C, or needs a device, a database server or a file of the reader's own.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
};

use super::cli::{Scratch, text};

/// What stands behind the marks that open each block, and its text.
fn blocks() -> Vec<(&'static str, &'static str)> {
    let mut parts = include_str!("../../README.md").split("\n```");
    parts.next();
    let mut found = Vec::new();
    while let Some(block) = parts.next() {
        found.push(block.split_once('\n').unwrap());
        // What stands between this block and the next.
        parts.next();
    }
    found
}

/// Stands for both `simpartner` and `cargo run --release --`: it runs the program under test. Ports are any that are free, so that other
/// servers of this machine are not disturbed; what is long in a debug build is shorter.
const STAND_IN: &str = r#"#!/bin/sh
if [ "${0##*/}" = cargo ]; then
  [ "$1 $2 $3" = "run --release --" ] || { echo "only cargo run --release -- is known, not cargo $*" >&2; exit 1; }
  shift 3
fi
verb=$1
shift
case $verb in
  talk|sequence) set -- --ports-file "$SERVER" "$@" ;;
esac
exec "$PROGRAM" $verb "$@"
"#;

/// A server that is stopped when the block is over.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the server that the page's commands talk to. A sequence is played to one that is paused in fast mode: its simulated minutes take
/// moments.
fn serve(folder: &Path, block: &str) -> Server {
    let mut command = Command::new(env!("CARGO_BIN_EXE_simpartner"));
    command.args(["run", "--free-ports", "--no-viewer", "--ports-file", "server.json"]);
    if block.contains("-- sequence ") {
        command.args(["--mode", "fast", "--paused"]);
    }
    let child = command.current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut server = Server(child);
    while fs::read(folder.join("server.json")).map_or(true, |file| file.is_empty()) {
        assert!(server.0.try_wait().unwrap().is_none(), "the server ended before it served");
        std::thread::yield_now();
    }
    server
}

#[cfg(unix)]
#[test]
fn every_block_that_can_be_pasted_runs_whole() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    let (tools, folder) = (scratch.path("tools"), scratch.path("folder"));
    fs::create_dir(&tools).unwrap();
    fs::create_dir(&folder).unwrap();
    for name in ["worlds", "robots"] {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        std::os::unix::fs::symlink(source, folder.join(name)).unwrap();
    }
    for name in ["simpartner", "cargo"] {
        fs::write(tools.join(name), STAND_IN).unwrap();
        fs::set_permissions(tools.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap_or_default());
    let mut ran = 0;
    for (info, block) in blocks() {
        match info {
            "sh" => {}
            "sh by-hand" | "text" | "xml" => continue,
            other => panic!("the page has a block of {other}"),
        }
        // A server beside it would have the last run of the log.
        let server = (block.contains(" talk ") || block.contains("-- sequence ")).then(|| serve(&folder, block));
        // Figures that only take time are smaller here; the words are those of the page.
        let block = block.replace("--tasks 1000", "--tasks 4").replace("--seconds 10 --peers", "--seconds 0.1");
        let block = block
            .replace("-- verify ", "-- verify --quick ")
            .replace("--output .   #", "--rock-fields 0 --closed-form --output .   #");
        let output = Command::new("sh")
            .args(["-e", "-c", &block])
            .env("PATH", &path)
            .env("PROGRAM", env!("CARGO_BIN_EXE_simpartner"))
            .env("SERVER", folder.join("server.json"))
            .env_remove("RUST_LOG")
            .current_dir(&folder)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let printed = text(&[output.stdout, output.stderr].concat());
        assert!(output.status.success(), "{block}\n{printed}");
        if block.contains("FAULT") {
            assert!(printed.contains("WorkPartner/WheelMotor1") && printed.contains("stuck"), "{printed}");
        }
        if block.contains("WheelMotor1 '") {
            assert!(printed.ends_with("<1000,1000,100,0,0,1>\n"), "{printed}");
        }
        drop(server);
        // A server that was told to end has removed it.
        let _ = fs::remove_file(folder.join("server.json"));
        ran += 1;
    }
    assert!(ran >= 11, "{ran} blocks of the page were run");
}
