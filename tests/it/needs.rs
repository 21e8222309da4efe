//! Requirements of tests beside Rust: a database server, Python, a C compiler, a privilege.
//!
//! Such a test calls [`met`] before it continues. Without its requirement, the test ends early and counts as skipped: a
//! line on standard error reports this at once, past libtest's capture, and `tests/summary/skipped.rs` ends `cargo
//! test` with a table of tests that ran or were skipped. `SIMPARTNER_REQUIRE=postgres,python` turns such a skip into a
//! failure.

use std::{
    fmt::Display,
    fs::{self, File},
    io::{self, Write},
    path::Path,
    sync::{Mutex, OnceLock, PoisonError},
    thread,
};

/// Names the needs that have to be met, separated by commas.
pub const REQUIRE: &str = "SIMPARTNER_REQUIRE";

/// Requirement of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A PostgreSQL server, and its programs for a server of a test's own.
    Postgres,
    /// A MariaDB or MySQL server, and its programs for a server of a test's own.
    Mysql,
    /// Python 3 with the modules that a test imports.
    Python,
    /// Python 3 with MuJoCo and dm_control.
    Mujoco,
    /// Siconos, a simulator of nonsmooth mechanics, in the system's own Python.
    Siconos,
    /// A C compiler that is called `cc`.
    Cc,
    /// Node, which bundles the viewer's page and runs its tests.
    Node,
    /// Chromium, in which the viewer's tests open the page. No test in Rust needs it.
    Chromium,
    /// `curl`, which fetches the viewer's page.
    Curl,
    /// A font, to letter a PNG with.
    Font,
    /// The right to mount a small disk, which is then filled.
    Mount,
    /// The right to real-time priority.
    RealTime,
    /// The right to make a synthetic gamepad, and a machine without a real one.
    Gamepad,
}

impl Need {
    const ALL: [Self; 13] = [
        Self::Postgres,
        Self::Mysql,
        Self::Python,
        Self::Mujoco,
        Self::Siconos,
        Self::Cc,
        Self::Node,
        Self::Chromium,
        Self::Curl,
        Self::Font,
        Self::Mount,
        Self::RealTime,
        Self::Gamepad,
    ];

    /// Its word in `SIMPARTNER_REQUIRE` and in the table.
    fn word(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Mysql => "mysql",
            Self::Python => "python",
            Self::Mujoco => "mujoco",
            Self::Siconos => "siconos",
            Self::Cc => "cc",
            Self::Node => "node",
            Self::Chromium => "chromium",
            Self::Curl => "curl",
            Self::Font => "font",
            Self::Mount => "mount",
            Self::RealTime => "realtime",
            Self::Gamepad => "gamepad",
        }
    }
}

/// The needs behind a list of words. An unknown word is an error: a slip of the pen must not let a test pass by not
/// running.
fn parse(words: &str) -> Result<Vec<Need>, String> {
    let words = words.split(',').map(str::trim).filter(|word| !word.is_empty());
    words
        .map(|word| {
            Need::ALL.into_iter().find(|need| need.word() == word).ok_or_else(|| {
                let known: Vec<&str> = Need::ALL.into_iter().map(Need::word).collect();
                format!("{REQUIRE} names '{word}'; it knows {}", known.join(", "))
            })
        })
        .collect()
}

/// The requirements that must be met in this run of the tests.
fn required() -> Result<Vec<Need>, String> {
    parse(&std::env::var(REQUIRE).unwrap_or_default())
}

/// Result of a requirement, in the order of the table's columns, and as a message.
fn judge(required: &[Need], need: Need, missing: Option<&str>) -> Result<String, String> {
    let test = thread::current().name().unwrap_or("a test").to_owned();
    let word = need.word();
    match missing {
        None => Ok(format!("{word}\tran\t{test}\t\n")),
        Some(why) if required.contains(&need) => Err(format!("{REQUIRE} names {word}, but {why}")),
        Some(why) => Ok(format!("{word}\tskipped\t{test}\t{}\n", why.replace(['\n', '\t'], " "))),
    }
}

/// Returns the result, or skips the test, which then has to end.
///
/// # Panics
/// `SIMPARTNER_REQUIRE` names the missing requirement.
#[track_caller]
pub fn met<T>(need: Need, found: Result<T, impl Display>) -> Option<T> {
    let (found, missing) = match found {
        Ok(found) => (Some(found), None),
        Err(why) => (None, Some(why.to_string())),
    };
    let line = match required().and_then(|required| judge(&required, need, missing.as_deref())) {
        Ok(line) => line,
        Err(error) => panic!("{error}"),
    };
    if let Some(why) = missing {
        // Not by `eprintln!`, which libtest captures; a closed standard error is ignored.
        let test = thread::current().name().unwrap_or("a test").to_owned();
        let _ = writeln!(io::stderr(), "skipped: {test}: {why}");
    }
    table().lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes()).unwrap();
    found
}

/// The table of this run, from which `tests/summary/skipped.rs` prints its summary. The first requirement of a run
/// starts a new one.
fn table() -> &'static Mutex<File> {
    static TABLE: OnceLock<Mutex<File>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("needs");
        fs::create_dir_all(&folder).unwrap();
        Mutex::new(File::create(folder.join(env!("CARGO_PKG_NAME"))).unwrap())
    })
}

#[test]
fn every_word_of_simpartner_require_is_known() {
    required().unwrap();
    assert_eq!(parse(" python,cc ,"), Ok(vec![Need::Python, Need::Cc]));
    assert_eq!(parse(""), Ok(Vec::new()));
    let error = parse("postgres,phyton").unwrap_err();
    assert!(error.starts_with("SIMPARTNER_REQUIRE names 'phyton'; it knows postgres, mysql, python,"), "{error}");
}

#[test]
fn a_skip_is_a_failure_where_its_need_is_required() {
    let missing = Some("there is none");
    assert!(judge(&[Need::Cc], Need::Python, missing).unwrap().starts_with("python\tskipped\tneeds::a_skip_is_a_"));
    assert_eq!(
        judge(&[Need::Cc, Need::Python], Need::Python, missing).unwrap_err(),
        "SIMPARTNER_REQUIRE names python, but there is none"
    );
    assert!(judge(&[Need::Python], Need::Python, None).unwrap().starts_with("python\tran\t"));
}
