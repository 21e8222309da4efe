//! Analysis of logs with the binary, as a user does: queries, lists, comparisons, exports, plots, and the blocks of
//! `how-to/analyse.md`.

mod compare;
mod cookbook;
mod export;
mod page;
mod query;
mod servers;

use std::{
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::OnceLock,
};

use crate::needs::{Need, met};

/// Half a second in which a wheel and the middle joint are driven.
const DRIVE: &str = "<sequence version='1'>
  <command><commandString>1000,1000,100,0,0,2</commandString><port>1027</port></command>
  <command><commandString>0.3</commandString><port>0</port></command>
  <command><commandString>0,0,0.1,5,0,0</commandString><port>1035</port></command>
  <command><commandString>0.2</commandString><port>0</port></command>
</sequence>";

/// Steps, bodies and joints of a run.
const STEPS: usize = 500;
const BODIES: usize = 14;
const JOINTS: usize = 13;

/// A database with three runs: two equal ones, and one with another motion of the joint.
struct Logs {
    folder: tempfile::TempDir,
}

impl Logs {
    fn shared() -> &'static Self {
        static LOGS: OnceLock<Logs> = OnceLock::new();
        LOGS.get_or_init(|| {
            let logs = Self { folder: tempfile::tempdir().unwrap() };
            logs.run("runs.db", DRIVE);
            logs.run("runs.db", DRIVE);
            logs.run("runs.db", &DRIVE.replace("0.1,5", "0.2,5"));
            logs
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn url(&self, name: &str) -> String {
        format!("sqlite:{}", self.path(name).display())
    }

    /// Makes a run of this sequence.
    fn run(&self, database: &str, sequence: &str) {
        let file = self.path("drive.xml");
        std::fs::write(&file, sequence).unwrap();
        let file = file.display().to_string();
        let url = self.url(database);
        let output = simpartner(&["run", "--mode", "fast", "--sequence", &file, "--database", &url]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }

    /// Calls a verb on the shared database.
    fn call(&self, arguments: &[&str]) -> Output {
        let url = self.url("runs.db");
        simpartner(&[arguments, &["--database", &url]].concat())
    }

    /// Output of a verb on the shared database, which must succeed without messages.
    fn printed(&self, arguments: &[&str]) -> String {
        let output = self.call(arguments);
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()), "{arguments:?}");
        text(&output.stdout)
    }
}

fn simpartner(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_simpartner"));
    command.args(arguments).env_remove("RUST_LOG").stdin(Stdio::null());
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// True if Python has these modules; a test without them is skipped.
pub(super) fn python_has(modules: &str) -> bool {
    let found = match Command::new("python3").args(["-c", &format!("import {modules}")]).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(_) => Err(format!("Python has no {modules}")),
        Err(error) => Err(format!("python3 cannot be run: {error}")),
    };
    met(Need::Python, found).is_some()
}

/// Output of a Python program.
fn python(program: &str, folder: &Path) -> String {
    let output = Command::new("python3").args(["-B", "-c", program]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{program}\n{}", text(&output.stderr));
    text(&output.stdout)
}
