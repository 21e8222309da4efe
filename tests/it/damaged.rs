//! A database is untrusted input: every verb that reads logs is called on damaged copies of one, and gives a result or
//! an error. It never panics, never hangs and uses a bounded amount of memory.
//!
//! A separate process, a copy of this one, makes the calls, so that it can be monitored and may crash. With
//! `SIMPARTNER_LONG_TESTS=1` there are five thousand copies; `DAMAGED_COPIES=FIRST..LAST` selects others.

use std::{
    fs,
    ops::Range,
    panic,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use simpartner::{
    cli::{self, ExitStatus},
    recorder::Database,
    run::LogArchive,
    server::Archive,
};
use sqlx::{AssertSqlSafe, Connection, Row, SqliteConnection};

use crate::cli::{Scratch, output, text};

/// The folder that a process of the calls works in.
const FOLDER: &str = "DAMAGED_FOLDER";

/// Range of the copies; each follows from its number.
const COPIES: &str = "DAMAGED_COPIES";

/// Time limit of a call; a call that takes longer counts as hanging.
const PATIENCE: Duration = Duration::from_secs(120);

/// Memory that the process of the calls may have, kilobytes: hundreds of times the size of the database.
const MEMORY_KB: u64 = 3_000_000;

const WORLD: &str = "<world name='small'><surface a='0' b='1' c='0' d='0' friction='1'/><robot file='small_robot.xml' name='Rover'/></world>";

const ROBOT: &str = "<robot name='Rover'>
  <body name='Base'><mass>2</mass><pose y='0.5'/><box x='0.4' y='0.2' z='0.4'/></body>
  <body name='Arm'><mass>1</mass><pose x='0.6' y='0.5'/><sphere radius='0.1'/></body>
  <joint type='hinge' name='Elbow'><parent>Base</parent><child>Arm</child><anchor x='0.4' y='0.5'/><axis z='1'/></joint>
  <sensor type='PositionSensor' name='Where' body='Base' port='0'/>
  <sensor type='EchoSensor' name='Echo' body='Base' port='0'/>
  <actuator type='JointController' name='Motor' joint='Elbow' port='0'/>
</robot>";

/// Numbers that follow from a seed: the generator SplitMix64.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let bits = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

/// Two runs of sixty steps, with commands and kept states.
fn original(scratch: &Scratch) -> PathBuf {
    scratch.write("small_robot.xml", ROBOT);
    let world = scratch.write("small.xml", WORLD);
    let url = scratch.database("original.db");
    for seed in ["simulation.seed=1", "simulation.seed=2"] {
        let set = ["--set", seed, "--set", "log.snapshot_interval_s=0.02", "--set", "server.control_port=0"];
        let run = ["run", "--mode", "fast", "--duration", "0.06", "--no-viewer", "--world", &world, "--database", &url];
        let made = output(&[&run[..], &set[..]].concat());
        assert!(made.status.success(), "{}", text(&made.stderr));
    }
    scratch.path("original.db")
}

#[tokio::main(flavor = "current_thread")]
async fn execute(file: &Path, sql: &str) -> Result<(), sqlx::Error> {
    let mut connection = SqliteConnection::connect(&format!("sqlite:{}", file.display())).await?;
    // Damage that does not apply is skipped.
    let done = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.map(drop);
    connection.close().await?;
    done
}

/// The tables with their columns.
#[tokio::main(flavor = "current_thread")]
async fn tables(file: &Path) -> Vec<(String, Vec<String>)> {
    let mut connection = SqliteConnection::connect(&format!("sqlite:{}", file.display())).await.unwrap();
    let sql = "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'
        AND m.name NOT LIKE 'sqlite%' ORDER BY 1, c.cid";
    let rows = sqlx::query(sql).fetch_all(&mut connection).await.unwrap();
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for row in rows {
        let (table, column): (String, String) = (row.get(0), row.get(1));
        match found.last_mut().filter(|(name, _)| *name == table) {
            Some((_, columns)) => columns.push(column),
            None => found.push((table, vec![column])),
        }
    }
    found
}

/// Makes a damaged copy, and returns a description of the damage.
fn damage(original: &Path, copy: &Path, tables: &[(String, Vec<String>)], seed: u64) -> String {
    let mut chance = Chance(seed);
    for end in ["-wal", "-shm", "-journal"] {
        let _ = fs::remove_file(format!("{}{end}", copy.display()));
    }
    let mut bytes = fs::read(original).unwrap();
    let page = 16_384;
    let kind = seed % 10;
    match kind {
        0 | 1 => (0..1 + chance.below(8)).for_each(|_| {
            let at = chance.below(bytes.len());
            bytes[at] ^= 1 << chance.below(8);
        }),
        2 => {
            let pages = bytes.len() / page;
            let (one, two) = (chance.below(pages) * page, chance.below(pages) * page);
            match chance.below(3) {
                0 => bytes[one..one + page].fill(0),
                1 => bytes[one..one + page].iter_mut().for_each(|byte| *byte = chance.next() as u8),
                _ => {
                    let (first, second) = (bytes[one..one + page].to_vec(), bytes[two..two + page].to_vec());
                    bytes[one..one + page].copy_from_slice(&second);
                    bytes[two..two + page].copy_from_slice(&first);
                }
            }
        }
        3 => {
            let length = chance.below(bytes.len());
            bytes.truncate(length);
        }
        _ => {}
    }
    fs::write(copy, bytes).unwrap();
    if kind < 4 {
        return format!("copy {seed}: bytes");
    }
    let sql = statement(&mut chance, tables);
    // Tables that take any value, as a file has that another program has written.
    let lax = "PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = replace(replace(replace(sql, 'STRICT, ', ''), 'STRICT', ''),
        'NOT NULL', ''); PRAGMA writable_schema = RESET; PRAGMA ignore_check_constraints = 1; PRAGMA foreign_keys = 0;";
    let done = execute(copy, &format!("{lax} {sql}"));
    format!("copy {seed}: {sql} {done:?}")
}

/// A statement that causes damage.
fn statement(chance: &mut Chance, tables: &[(String, Vec<String>)]) -> String {
    let (table, columns) = &tables[chance.below(tables.len())];
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let (column, other) = (chance.of(&columns), chance.of(&columns));
    let values = [
        "NULL",
        "0",
        "-1",
        "9223372036854775807",
        "-9223372036854775808",
        "4294967296",
        "1e308",
        "9e999",
        "-0.5",
        "'x'",
        "''",
        "'9'",
        "x'ff00fe'",
        "zeroblob(100000)",
        "char(27) || '[2J' || char(0)",
        "CAST(x'c328' AS TEXT)",
        "random()",
        "hex(randomblob(40000))",
        "'<world name=\"w\"/>'",
        "'[log'",
    ];
    let value = chance.of(&values);
    let some = match chance.below(3) {
        0 => String::new(),
        1 => format!(" WHERE abs(random() % 8) = {}", chance.below(8)),
        _ => format!(" LIMIT {}", 1 + chance.below(3)),
    };
    let chosen = match some.strip_prefix(" LIMIT") {
        Some(count) => format!(" WHERE ({column}) IN (SELECT {column} FROM {table} ORDER BY random() LIMIT{count})"),
        None => some,
    };
    match chance.below(10) {
        0 => format!("DELETE FROM {table}{chosen}"),
        1 => format!("DROP TABLE {table}"),
        2 => format!("ALTER TABLE {table} DROP COLUMN {column}"),
        3 => format!("ALTER TABLE {table} RENAME COLUMN {column} TO {other}_"),
        4 => "UPDATE snapshot SET state = (SELECT state FROM snapshot k ORDER BY random() LIMIT 1)".into(),
        5 => "UPDATE OR IGNORE snapshot SET state = substr(state, 1, 100) || randomblob(50) || substr(state, 151)".into(),
        6 => "UPDATE simulationFile SET text = replace(text, char(97 + abs(random() % 26)), char(33 + abs(random() % 90)))".into(),
        7 => format!("UPDATE OR REPLACE {table} SET {column} = {other}{chosen}"),
        _ => format!("UPDATE OR IGNORE {table} SET {column} = {value}{chosen}"),
    }
}

/// Every verb, on a copy.
fn calls(folder: &Path, url: &str) -> Vec<Vec<String>> {
    let place = |name: &str| folder.join(name).display().to_string();
    let merged = format!("sqlite:{}", place("merged.db"));
    let all: [&[&str]; 17] = [
        &["runs"],
        &["runs", "--json"],
        &["db", "verify"],
        &["runs", "compare", "1", "2"],
        &["query", "last", "SELECT * FROM pose p, simulationRow s WHERE p.simulationRowID = s.simulationRowID"],
        &["query", "1", "SELECT * FROM simulationFile", "--format", "json"],
        &["query", "1", "SELECT * FROM command, event", "--format", "csv"],
        &["replay", "1"],
        &["replay", "last"],
        &["export", "1", "--force", "--format", "csv", "--output", &place("csv")],
        &["export", "1", "--force", "--format", "parquet", "--output", &place("parquet")],
        &["export", "last", "--force", "--format", "mcap", "--output", &place("run.mcap")],
        &["plot", "1", "--fields", "body:*.F_y,Where.x,joint:*.rate_3,clock:late_ns", "--output", &place("run.svg")],
        &["fork", "1", "--at", "30", "--without-commands"],
        &["db", "merge", url, &merged],
        &["db", "prune", "1", "--yes", "--vacuum"],
        &["db", "prune", "--keep", "0", "--yes"],
    ];
    let with_url = |call: &&[&str]| {
        let own: &[&str] = if call.contains(&"merge") { &[] } else { &["--database", url] };
        call.iter().chain(own).map(|word| (*word).to_owned()).collect()
    };
    all.iter().map(with_url).collect()
}

/// The requests of the page to the archive.
#[tokio::main(flavor = "current_thread")]
async fn look(url: &str) {
    let logs = LogArchive::new(&Database::parse(url).unwrap());
    let _ = logs.runs().await;
    for run in [1, 2] {
        let _ = logs.events(run, 1000).await;
        if let Ok(Some(model)) = logs.model(run).await {
            let _ = logs.steps(run, &model, 1, 1, 100).await;
        }
    }
}

/// Damages copies and makes all calls on each; prints a line for each call, and the message of a panic.
fn work(folder: &Path, copies: Range<u64>) {
    let (original, copy) = (folder.join("original.db"), folder.join("copy.db"));
    let (url, tables) = (format!("sqlite:{}", copy.display()), tables(&original));
    let mut counts = [0_u64; 256];
    for seed in copies {
        let how = damage(&original, &copy, &tables, seed);
        let note = |what: &str| fs::write(folder.join("now"), format!("{how}: {what}")).unwrap();
        let caught = |what: &str, panicked: bool| {
            if panicked {
                let failures = folder.join("failures");
                let before = fs::read_to_string(&failures).unwrap_or_default();
                fs::write(failures, format!("{before}{how}: {what} panicked\n")).unwrap();
            }
        };
        note("archive");
        caught("archive", panic::catch_unwind(|| look(&url)).is_err());
        for call in calls(folder, &url) {
            let words: Vec<&str> = call.iter().map(String::as_str).collect();
            note(&words.join(" "));
            let called = panic::catch_unwind(|| match cli::call(&words) {
                Ok(status) => status,
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    error.status()
                }
            });
            caught(&words.join(" "), called.is_err());
            counts[called.unwrap_or(ExitStatus::Internal) as usize] += 1;
        }
        let _ = fs::remove_file(folder.join("merged.db"));
    }
    let told =
        counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(code, count)| format!("{code}: {count}"));
    fs::write(folder.join("done"), told.collect::<Vec<_>>().join(", ")).unwrap();
}

/// Waits for the process of the calls; a call that is the same for too long hangs.
fn watch(mut child: std::process::Child, folder: &Path) -> Result<(), String> {
    let (mut last, mut since) = (String::new(), Instant::now());
    loop {
        let now = fs::read_to_string(folder.join("now")).unwrap_or_default();
        if let Some(status) = child.try_wait().unwrap() {
            return if folder.join("done").exists() { Ok(()) } else { Err(format!("{now}: {status}")) };
        }
        if now != last {
            (last, since) = (now, Instant::now());
        } else if since.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("{now}: hangs"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn no_verb_panics_or_hangs_on_a_damaged_database() {
    let range = |text: String| {
        let (first, last) = text.split_once("..").unwrap();
        first.parse::<u64>().unwrap()..last.parse().unwrap()
    };
    if let Ok(folder) = std::env::var(FOLDER) {
        return work(Path::new(&folder), range(std::env::var(COPIES).unwrap()));
    }
    let long = std::env::var("SIMPARTNER_LONG_TESTS").is_ok_and(|value| value == "1");
    let copies = std::env::var(COPIES).unwrap_or(if long { "0..5000".into() } else { "0..10".into() });
    let scratch = Scratch::new();
    original(&scratch);
    let folder = scratch.path("");
    let name = "damaged::no_verb_panics_or_hangs_on_a_damaged_database";
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -v {MEMORY_KB} 2> /dev/null; exec \"$0\" \"$@\"")]);
    command.arg(program).args(["--exact", name, "--nocapture", "--test-threads", "1"]);
    command.env(FOLDER, &folder).env(COPIES, &copies).stdin(Stdio::null()).stdout(Stdio::null());
    let errors = fs::File::create(folder.join("errors")).unwrap();
    let watched = watch(command.stderr(errors).spawn().unwrap(), &folder);
    let failures = fs::read_to_string(folder.join("failures")).unwrap_or_default();
    let errors = fs::read_to_string(folder.join("errors")).unwrap_or_default();
    let panics: Vec<&str> = errors.lines().filter(|line| line.contains("panicked at")).collect();
    assert!(watched.is_ok() && panics.is_empty(), "{watched:?}\n{failures}\n{}", panics.join("\n"));
    println!("copies {copies}; exit codes: {}", fs::read_to_string(folder.join("done")).unwrap());
}
