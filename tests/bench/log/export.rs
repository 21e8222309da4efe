//! An export compared with plain reading of the same rows: by `fetch` of sqlx, without using the rows, and by the
//! `sqlite3` shell, if installed, with text output to /dev/null.

use std::{
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use futures_util::TryStreamExt;
use simpartner::{
    analysis::export::{Exported, Format, Order, export},
    recorder::inquiry::Table,
};
use sqlx::{AssertSqlSafe, ConnectOptions, sqlite::SqliteConnectOptions};

use super::sample::Sample;

/// The tables that grow with the steps, each with the order of its rows.
const TABLES: [(&str, &str); 4] = [
    ("simulationRow", "simulationRowID"),
    ("body_state", "simulationRowID, bodyID"),
    ("jointPose", "simulationRowID, jointID"),
    ("sensorReading", "simulationRowID, componentID, field"),
];

/// Number of rows that the driver reads ahead. More than in an export, because this reader waits for each row
/// separately.
const ROWS_AHEAD: usize = 4096;

/// Prints rows per second of the bare reading and of exports.
pub(crate) fn exports() {
    let sample = Sample::new();
    println!(
        "\nexports of {}: rows/s, and their ratio to what sqlx alone takes to read the same",
        sample.path.display()
    );
    println!("{:<14} {:>9} {:>10} {:>16} {:>16} {:>16}", "", "rows", "sqlx", "sqlite3 shell", "parquet", "csv");
    let (mut rows, mut seconds) = (0, 0.0);
    for (table, order) in TABLES {
        let select = format!("SELECT * FROM {table} ORDER BY {order}");
        // The first reading may include disk access.
        bare(&sample.path, &select);
        let (count, bare) = bare(&sample.path, &select);
        (rows, seconds) = (rows + count, seconds + bare);
        let rate = |seconds: Option<f64>| {
            let rate = |seconds: f64| format!("{:>10.0} {:>5.2}", count as f64 / seconds, bare / seconds);
            seconds.map_or("-".into(), rate)
        };
        let shell = rate(shell(&sample.path, &select));
        let files = [Format::Parquet, Format::Csv].map(|format| {
            let (exported, seconds) = exported(&sample, format, Table::named(table).as_slice());
            assert_eq!(exported.counts, [(table.to_owned(), count)]);
            rate(Some(seconds))
        });
        let bare = count as f64 / bare;
        println!("{table:<14} {count:>9} {bare:>10.0} {shell:>16} {:>16} {:>16}", files[0], files[1]);
    }
    let (exported, mcap) = exported(&sample, Format::Mcap, &[]);
    let messages: u64 = exported.counts.iter().map(|(_, count)| count).sum();
    println!(
        "mcap of all    {rows:>9} {:>10.0} {:>10.0} {:>5.2} ({messages} messages)",
        rows as f64 / seconds,
        rows as f64 / mcap,
        seconds / mcap
    );
}

/// Number of rows of a query, and the time to read them, s.
fn bare(path: &Path, select: &str) -> (u64, f64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("there is memory");
    let read = async {
        let options = SqliteConnectOptions::new().filename(path).read_only(true).row_buffer_size(ROWS_AHEAD);
        let mut connection = options.disable_statement_logging().connect().await?;
        let start = Instant::now();
        let mut rows = sqlx::query(AssertSqlSafe(select.to_owned())).fetch(&mut connection);
        let mut count = 0;
        while rows.try_next().await?.is_some() {
            count += 1;
        }
        Ok::<_, sqlx::Error>((count, start.elapsed().as_secs_f64()))
    };
    runtime.block_on(read).expect("it can be read")
}

fn shell(path: &Path, select: &str) -> Option<f64> {
    let start = Instant::now();
    let mut command = Command::new("sqlite3");
    command.arg("-readonly").arg(path).arg(select).stdin(Stdio::null()).stdout(Stdio::null());
    command.status().is_ok_and(|status| status.success()).then(|| start.elapsed().as_secs_f64())
}

fn exported(sample: &Sample, format: Format, tables: &[&'static Table]) -> (Exported, f64) {
    let folder = tempfile::tempdir().expect("there is room");
    let (mut inquiry, run) = sample.open();
    let output = folder.path().join("export");
    let tables = tables.to_vec();
    let steps = (0, u32::MAX.into());
    let order = Order { run: &run, format, output: &output, force: false, tables, steps, every: 1, images: None };
    let start = Instant::now();
    let exported = export(&mut inquiry, &order, &mut ()).expect("there is room");
    (exported, start.elapsed().as_secs_f64())
}
