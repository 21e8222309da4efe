//! Whether a run is all there: every step, all rows of each, nothing beside them, and the chain up to its head.

use std::collections::BTreeMap;

use super::{
    Cadence, Database, RecorderError,
    cell::{Keys, Row, Value},
    read,
    store::{Access, Store},
    table::Table,
};

/// Logged steps that are looked at together.
const PAGE: i64 = 4096;

/// What was found of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completeness {
    /// Its number.
    pub simulation_id: i64,
    /// Steps that are logged.
    pub steps: u64,
    /// Rows of them, with commands and events.
    pub rows: u64,
    /// The chain at the last logged step.
    pub chain_head: u64,
    /// What is missing or does not fit, a sentence each; none if the run is complete.
    pub findings: Vec<String>,
}

/// The most findings that are told of a run.
const MOST_FINDINGS: usize = 20;

/// The run's own row, as far as it is held against what is there.
struct Claim {
    status: String,
    steps: Option<u64>,
    cadence: Cadence,
    rows: Option<u64>,
    gaps: u64,
    chain_head: Option<i64>,
    /// Rows of bodies and of joints in each step, if they are the same in all.
    each: Option<[u64; 2]>,
}

struct Check {
    store: Store,
    keys: Keys,
    claim: Claim,
    found: Completeness,
    untold: usize,
    last_step: u64,
    last_hash: Option<i64>,
}

/// Looks at one run, or at all.
pub(super) async fn check(database: &Database, only: Option<i64>) -> Result<Vec<Completeness>, RecorderError> {
    let mut store = Store::open(database, Access::Read).await?;
    let (lowest, highest) = only.map_or((i64::MIN, i64::MAX), |only| (only, only));
    let statement =
        "SELECT simulationID, status, steps, every_n_steps, rows_written, gaps, chain_head, on_change, bodies_logged,
        joints_logged, runKey, coalesce(parent_step, 0),
        coalesce((SELECT chain_head FROM snapshot k WHERE k.simulationID = s.simulationID AND k.step = s.parent_step), 0)
        FROM simulation s WHERE simulationID BETWEEN ? AND ? ORDER BY simulationID";
    let runs = store.rows(statement, &[Value::Integer(lowest), Value::Integer(highest)]).await?;
    let extents = read::extents(&mut store, (lowest, highest)).await?;
    let mut found = Vec::new();
    for row in runs {
        let simulation_id = row.integer(0).unwrap_or_default();
        let cadence = extents.get(&simulation_id).map_or(Cadence::new(row.count(3), None), |extent| extent.cadence);
        let mut check = Check {
            store,
            keys: Keys::new(simulation_id),
            claim: claim(&row, cadence),
            found: Completeness { simulation_id, steps: 0, rows: 0, chain_head: 0, findings: Vec::new() },
            untold: 0,
            // The last step before the run that would have been logged; a run that goes on from another has its chain.
            last_step: cadence.last(row.count(11)),
            last_hash: Some(row.integer(12).unwrap_or_default()),
        };
        if row.text(10).is_empty() {
            check.tell("it was logged by a version that kept no chain, so it cannot be proved complete".into());
        } else {
            check.steps().await?;
            check.whole().await?;
        }
        if check.untold > 0 {
            check.found.findings.push(format!("and {} more", check.untold));
        }
        found.push(check.found);
        store = check.store;
    }
    Ok(found)
}

fn claim(row: &Row, cadence: Cadence) -> Claim {
    Claim {
        status: row.text(1).to_owned(),
        steps: row.integer(2).map(|steps| steps as u64),
        cadence,
        rows: row.integer(4).map(|rows| rows as u64),
        gaps: row.count(5),
        chain_head: row.integer(6),
        each: (row.count(7) == 0).then(|| [row.count(8), row.count(9)]),
    }
}

impl Check {
    fn tell(&mut self, finding: String) {
        match self.found.findings.len() < MOST_FINDINGS {
            true => self.found.findings.push(finding),
            false => self.untold += 1,
        }
    }

    /// Goes through the logged steps page by page.
    async fn steps(&mut self) -> Result<(), RecorderError> {
        let (mut from, end) = self.keys.rows();
        loop {
            let statement = "SELECT simulationRowID, step, state_hash, bodies, joints, readings FROM simulationRow
                WHERE simulationRowID >= ? AND simulationRowID < ? ORDER BY simulationRowID LIMIT ?";
            let values = [Value::Integer(from), Value::Integer(end), Value::Integer(PAGE)];
            let page = self.store.rows(statement, &values).await?;
            let is_last = page.len() < PAGE as usize;
            let until = if is_last { end } else { page.last().and_then(|row| row.integer(0)).unwrap_or(end) + 1 };
            let mut there = [
                self.counts(Table::BodyState, from, until).await?,
                self.counts(Table::JointPose, from, until).await?,
                self.counts(Table::SensorReading, from, until).await?,
            ];
            self.found.rows += self.counts(Table::ForceAndTorqueInterval, from, until).await?.values().sum::<u64>();
            for row in &page {
                self.step(row, &mut there);
            }
            for (table, rows) in ["body_state", "jointPose", "sensorReading"].into_iter().zip(&there) {
                self.strays(table, rows);
            }
            if is_last {
                return Ok(());
            }
            from = until;
        }
    }

    /// Rows of a table by the step they belong to.
    async fn counts(&mut self, table: Table, from: i64, until: i64) -> Result<BTreeMap<i64, u64>, RecorderError> {
        let statement = match table {
            Table::BodyState => {
                "SELECT simulationRowID, count(*) FROM body_state WHERE simulationRowID >= ? AND simulationRowID < ?
                    GROUP BY simulationRowID"
            }
            Table::JointPose => {
                "SELECT simulationRowID, count(*) FROM jointPose WHERE simulationRowID >= ? AND simulationRowID < ?
                    GROUP BY simulationRowID"
            }
            Table::SensorReading => {
                "SELECT simulationRowID, count(*) FROM sensorReading WHERE simulationRowID >= ? AND simulationRowID < ?
                    GROUP BY simulationRowID"
            }
            _ => {
                "SELECT simulationRowID, count(*) FROM forceAndTorqueInterval
                    WHERE simulationRowID >= ? AND simulationRowID < ? GROUP BY simulationRowID"
            }
        };
        let rows = self.store.rows(statement, &[Value::Integer(from), Value::Integer(until)]).await?;
        Ok(rows.iter().filter_map(|row| Some((row.integer(0)?, row.count(1)))).collect())
    }

    fn step(&mut self, row: &Row, there: &mut [BTreeMap<i64, u64>; 3]) {
        let (key, step) = (row.integer(0).unwrap_or_default(), row.count(1));
        let expected = self.claim.cadence.next(self.last_step);
        if step != expected {
            self.tell(missing(expected, self.claim.cadence.last(step.saturating_sub(1))));
        }
        if row.integer(2).is_none() {
            self.tell(format!("step {step} has no hash"));
        }
        let tables = ["body_state", "jointPose", "sensorReading"];
        for (index, table) in tables.into_iter().enumerate() {
            let (said, found) = (row.count(3 + index), there[index].remove(&key).unwrap_or(0));
            let layout = self.claim.each.and_then(|each| each.get(index).copied()).unwrap_or(said);
            if found != said || said != layout {
                self.tell(format!("step {step} has {found} rows in {table} instead of {layout}"));
            }
            self.found.rows += found;
        }
        self.found.steps += 1;
        self.found.rows += 1;
        (self.last_step, self.last_hash) = (step, row.integer(2));
    }

    /// Rows of a page that belong to no step.
    fn strays(&mut self, table: &str, rows: &BTreeMap<i64, u64>) {
        let steps = rows.len();
        if let Some((first, count)) = rows.first_key_value() {
            let step = first - self.keys.rows().0;
            let others = if steps > 1 { format!(", as have {} later steps", steps - 1) } else { String::new() };
            self.tell(format!("step {step} is not logged, but has {count} rows in {table}{others}"));
        }
    }

    /// Holds the whole against what the run's row says.
    async fn whole(&mut self) -> Result<(), RecorderError> {
        let simulation = [Value::Integer(self.keys.simulation)];
        for statement in [
            "SELECT count(*) FROM command WHERE simulationID = ?",
            "SELECT count(*) FROM event WHERE simulationID = ?",
            // The state that a run goes on from is no row of a step of its own.
            "SELECT count(*) FROM snapshot k JOIN simulation s ON s.simulationID = k.simulationID
                WHERE k.simulationID = ? AND (s.parent_step IS NULL OR k.step > s.parent_step)",
        ] {
            self.found.rows += self.store.row(statement, &simulation).await?.map_or(0, |row| row.count(0));
        }
        self.found.chain_head = self.last_hash.unwrap_or_default() as u64;
        let Some(steps) = self.claim.steps else {
            let status = &self.claim.status;
            self.tell(format!("the run was not closed (its status is {status}): it runs still, or was killed"));
            return Ok(());
        };
        let last = self.claim.cadence.last(steps);
        if self.last_step < last {
            let next = self.claim.cadence.next(self.last_step);
            self.tell(format!("{}, at the end", missing(next, last)));
        }
        if self.claim.gaps > 0 {
            self.tell(format!("the run's row says that {} stretches of steps are missing", self.claim.gaps));
        }
        if let Some(rows) = self.claim.rows.filter(|&rows| rows != self.found.rows) {
            self.tell(format!("{} rows are there, {rows} were written", self.found.rows));
        }
        if steps == self.last_step && self.last_hash != self.claim.chain_head {
            let hex = |hash: Option<i64>| hash.map_or("none".into(), |hash| format!("{hash:016x}"));
            let (head, hash) = (hex(self.claim.chain_head), hex(self.last_hash));
            self.tell(format!("the chain's head is {head}, but the last step's hash {hash}"));
        }
        Ok(())
    }
}

fn missing(from: u64, to: u64) -> String {
    if from == to { format!("step {from} is missing") } else { format!("steps {from} to {to} are missing") }
}
