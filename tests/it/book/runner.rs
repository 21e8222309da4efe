//! Runs the blocks of a page in an empty folder, in their order, as a reader would paste them.
//!
//! | a block that opens with | is |
//! |---|---|
//! | `sh` | pasted whole into a shell |
//! | `sh server` | the command of a server, which runs beside the blocks behind it, until another one or the end of the page |
//! | `sh by-hand` | skipped: it needs a device, a database server or a person |
//! | `sql` | a query of the last run |
//! | `python` | run, where the modules that it imports are installed |
//! | a language and a path | written into that file |
//! | another language | shown only |

use std::{
    fs,
    io::Write,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
};

use crate::{
    analysis::python_has,
    cli::{Scratch, text},
};

/// Languages of blocks that are shown only.
const SHOWN: [&str; 9] = ["text", "xml", "toml", "json", "jsonc", "c", "rust", "sh by-hand", "python by-hand"];

/// Script in place of `simpartner` and `cargo run --release --`: it runs the program under test. Ports are any free
/// ones, so that other servers of this machine are not disturbed.
const STAND_IN: &str = r#"#!/bin/sh
if [ "${0##*/}" = cargo ]; then
  [ "$1 $2" = "run --release" ] || { echo "only cargo run --release is known, not cargo $*" >&2; exit 1; }
  shift 2
  [ "$1" != "--" ] || shift
fi
verb=${1:-run}
[ $# -eq 0 ] || shift
given=" $* "
lacks() { case $given in *" $1 "*) return 1 ;; esac; }
case $verb in
  talk|sequence) if lacks --ports-file; then set -- --ports-file "$SERVER" "$@"; fi ;;
  run)
    if lacks --free-ports; then set -- --free-ports "$@"; fi
    if [ -n "$SERVES" ]; then
      set -- --no-viewer "$@"
      if lacks --ports-file; then set -- --ports-file "$SERVER" "$@"; fi
    fi ;;
esac
exec "$PROGRAM" "$verb" "$@"
"#;

/// Script in place of Python: it passes the address of the page's server to an example controller.
const PYTHON: &str = r#"#!/bin/sh
python=$(PATH=${PATH#*:}; command -v python3)
case $1 in
  */follow.py) set -- "$@" "$(sed -n 's/.*"control": *"\([^"]*\)".*/\1/p' "$SERVER")" ;;
esac
exec "$python" -B "$@"
"#;

/// Shorter values for commands that take long in a debug build.
const SHORTER: [(&str, &str); 2] = [
    ("--duration 60", "--duration 6"),
    ("--soil lunar --gravity 1.62", "--soil lunar --gravity 1.62 --rock-fields 0 --closed-form"),
];

/// A block of a page.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    /// Text after the opening fence.
    pub info: &'a str,
    pub text: &'a str,
    /// The line of its first mark, from 1.
    pub line: usize,
}

/// The blocks of a page.
pub fn blocks(page: &str) -> Vec<Block<'_>> {
    let (mut found, mut line) = (Vec::new(), 1);
    for (index, part) in page.split("\n```").enumerate() {
        if index % 2 == 1 {
            let (info, text) = part.split_once('\n').unwrap_or((part, ""));
            found.push(Block { info, text, line });
        }
        line += 1 + part.matches('\n').count();
    }
    found
}

/// A server that is asked to end when it is no longer needed, and is then ended.
struct Server {
    child: Child,
    ports_file: PathBuf,
}

impl Drop for Server {
    fn drop(&mut self) {
        let ports = self.ports_file.display().to_string();
        let asked = crate::cli::output(&["talk", "--ports-file", &ports, "control", "QUIT"]);
        if !asked.status.success() {
            // It may have ended by itself.
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// The folder of a page with the files that its blocks have made.
pub struct Runner {
    page: String,
    scratch: Scratch,
    server: Option<Server>,
    /// Output of each block, with its language.
    pub printed: Vec<(String, String)>,
}

impl Runner {
    pub fn new(page: &str) -> Self {
        let scratch = Scratch::new();
        fs::create_dir(scratch.path("tools")).unwrap();
        fs::create_dir(scratch.path("folder")).unwrap();
        for (name, text) in [("simpartner", STAND_IN), ("cargo", STAND_IN), ("python3", PYTHON)] {
            let path = scratch.path("tools").join(name);
            fs::write(&path, text).unwrap();
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
        Self { page: page.to_owned(), scratch, server: None, printed: Vec::new() }
    }

    /// A path in the page's folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.scratch.path("folder").join(name)
    }

    /// Runs all blocks of a page, and ends the server that it started.
    pub fn run(&mut self, page: &str) {
        for block in blocks(page) {
            self.run_block(&block);
        }
        self.server = None;
    }

    fn run_block(&mut self, block: &Block<'_>) {
        match block.info.split_once(' ') {
            _ if SHOWN.contains(&block.info) => {}
            None if block.info == "sh" => {
                let text = SHORTER.iter().fold(block.text.to_owned(), |text, (long, short)| text.replace(long, short));
                let mut command = self.command("sh");
                command.args(["-e", "-c", &text]);
                self.finish(block, command.output().unwrap());
            }
            None if block.info == "sql" => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_simpartner"));
                command.args(["query", "last", "-", "--format", "csv"]).current_dir(self.scratch.path("folder"));
                self.feed(block, command);
            }
            None if block.info == "python" => {
                // The client's package is on PYTHONPATH; its module `gym` needs a third-party one.
                let modules = ["pandas", "pyarrow", "duckdb", "numpy", "matplotlib"];
                let mut needed: Vec<&str> =
                    modules.into_iter().filter(|module| block.text.contains(&format!("import {module}"))).collect();
                needed.extend(block.text.contains("import simpartner.gym").then_some("gymnasium"));
                needed.push("sys");
                if python_has(&needed.join(", ")) {
                    let mut command = self.command("python3");
                    command.arg("-");
                    self.feed(block, command);
                }
            }
            Some(("sh", "server")) => self.serve(block),
            Some((_, path)) if path.contains('.') && !path.contains(' ') => {
                let path = self.path(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, format!("{}\n", block.text)).unwrap();
            }
            _ => panic!("{}:{}: a block of '{}'", self.page, block.line, block.info),
        }
    }

    fn command(&self, program: &str) -> Command {
        let path = format!("{}:{}", self.scratch.path("tools").display(), std::env::var("PATH").unwrap_or_default());
        let server = self.server.as_ref().map_or_else(|| self.path("server.json"), |server| server.ports_file.clone());
        let mut command = Command::new(program);
        command.env("PATH", path).env("PROGRAM", env!("CARGO_BIN_EXE_simpartner")).env("SERVER", server);
        command.env("PYTHONPATH", concat!(env!("CARGO_MANIFEST_DIR"), "/clients/python"));
        // With a higher niceness it would take minutes beside other tests.
        command.env("SIMPARTNER_REALTIME_FAST_NICENESS", "0");
        command
            .env_remove("RUST_LOG")
            .env_remove("SERVES")
            .current_dir(self.scratch.path("folder"))
            .stdin(Stdio::null());
        command
    }

    /// Passes a block to a program as its input.
    fn feed(&mut self, block: &Block<'_>, mut command: Command) {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(block.text.as_bytes()).unwrap();
        self.finish(block, child.wait_with_output().unwrap());
    }

    fn finish(&mut self, block: &Block<'_>, output: Output) {
        let printed = text(&[output.stdout, output.stderr].concat());
        assert!(output.status.success(), "{}:{}\n{}\n{printed}", self.page, block.line, block.text);
        self.printed.push((block.info.to_owned(), printed));
    }

    /// Starts the server of a block and waits until it serves.
    fn serve(&mut self, block: &Block<'_>) {
        self.server = None;
        let named = block.text.split_once("--ports-file ").and_then(|(_, rest)| rest.split_whitespace().next());
        let ports_file = self.path(named.unwrap_or("server.json"));
        let line = block.text.lines().next().unwrap_or_default();
        let mut command = self.command("sh");
        // In place of the shell, so that the child is the server.
        command.args(["-e", "-c", &format!("exec {line}")]).env("SERVES", "yes").env("SERVER", &ports_file);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut server = Server { child, ports_file };
        while fs::read(&server.ports_file).map_or(true, |file| file.is_empty()) {
            assert!(server.child.try_wait().unwrap().is_none(), "{}:{}: the server ended", self.page, block.line);
            std::thread::yield_now();
        }
        self.server = Some(server);
    }
}
