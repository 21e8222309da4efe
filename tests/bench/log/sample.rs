//! A log to read: WorkPartner drives in a circle, for a given number of rows. `ROWS` sets the number (10 million by
//! default), `LOG` names the SQLite file of an existing log.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use simpartner::recorder::{Database, Inquiry, RecordedRun};

/// Approximate number of rows of a simulated second: 1000 steps of 14 bodies, 13 joints and sensor readings.
const ROWS_PER_SECOND: u64 = 32_000;

/// A log of one run, in a file.
pub(crate) struct Sample {
    pub(crate) path: PathBuf,
    /// Keeps the folder of a new file.
    _folder: Option<tempfile::TempDir>,
}

impl Sample {
    pub(crate) fn new() -> Self {
        if let Some(path) = std::env::var_os("LOG") {
            return Self { path: path.into(), _folder: None };
        }
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("circle.db");
        make(folder.path(), &path);
        Self { path, _folder: Some(folder) }
    }

    pub(crate) fn url(&self) -> String {
        format!("sqlite:{}", self.path.display())
    }

    /// A connection that reads it, and its last run.
    pub(crate) fn open(&self) -> (Inquiry, RecordedRun) {
        open(&Database::parse(&self.url()).expect("it is an address"))
    }
}

/// A connection that reads a log, and its last run.
pub(crate) fn open(database: &Database) -> (Inquiry, RecordedRun) {
    let mut inquiry = Inquiry::open(database).expect("it can be read");
    let run = inquiry.runs().expect("it can be read").swap_remove(0);
    (inquiry, run)
}

/// Runs the program, which has to succeed.
pub(crate) fn simpartner(arguments: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_simpartner")).args(arguments).output().expect("it can be started");
    assert!(output.status.success(), "{arguments:?}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// The circle of the sequence takes 100 s; a longer log has several rounds.
fn make(folder: &Path, path: &Path) {
    let rows = std::env::var("ROWS").ok().and_then(|rows| rows.parse().ok()).unwrap_or(10_000_000);
    let seconds = (rows / ROWS_PER_SECOND).max(5).to_string();
    let robots = Path::new(env!("CARGO_MANIFEST_DIR")).join("robots");
    let circle = std::fs::read_to_string(robots.join("circle.xml")).expect("it is in the repository");
    let round = "<commandString>100</commandString>";
    assert!(circle.contains(round), "the sequence drives for 100 s");
    let circle = circle.replace(round, &format!("<commandString>{seconds}</commandString>"));
    std::fs::write(folder.join("circle.xml"), circle).expect("there is room");
    let (sequence, database) = (folder.join("circle.xml"), format!("sqlite:{}", path.display()));
    let run = ["run", "--mode", "fast", "--no-viewer", "--duration", &seconds, "--database", &database];
    let all = ["--set", "log.thin_after_s=1000000", "--set", "log.limit_mb=1000000"];
    let files = ["--free-ports", "--sequence", &sequence.display().to_string()];
    simpartner(&[&run[..], &all, &files].concat());
}
