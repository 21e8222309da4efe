//! Proves that a run is complete and unchanged. Every logged step must be there, with all its rows and no others. The
//! chain of state hashes must lead to its logged head. Every number and text must be as it was logged.

mod batches;
mod differences;
mod findings;
mod names;
mod run_record;

use std::collections::BTreeMap;

use self::{
    batches::{BatchGroup, BatchReader},
    differences::{ChangedStep, Comparison},
    findings::Findings,
    names::Names,
    run_record::RunRecord,
};
use super::{
    inquiry::Inquiry,
    selection::Selection,
    stored_rows::{self, StoredIds},
};
use crate::{
    database::{address::Database, error::RecorderError},
    format::{cell::Cell, checksum::ChecksumBuilder, ids::LAST_STEP, schema::TableId},
};

/// Number of logged steps whose rows are counted together. It bounds the memory of the counts.
const STEPS_PER_PAGE: u64 = 1024;

/// Tables whose rows are counted for each step, with the column of `simulationRow` that has the count.
const COUNTED_TABLES: [(TableId, &str); 3] =
    [(TableId::BodyState, "bodies"), (TableId::JointPose, "joints"), (TableId::SensorReading, "readings")];

/// Further tables with rows of steps.
const UNCOUNTED_TABLES: [TableId; 6] = [
    TableId::ForceAndTorqueInterval,
    TableId::ContactPoint,
    TableId::Scan,
    TableId::Command,
    TableId::Event,
    TableId::Snapshot,
];

/// Result of the verification of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completeness {
    /// Number of the run in the database.
    pub simulation_id: i64,
    /// Number of logged steps.
    pub steps: u64,
    /// Number of rows of steps, commands and events.
    pub rows: u64,
    /// Head of the chain of state hashes at the last logged step.
    pub chain_head: u64,
    /// True if the log has checksums, which prove every number and text. Logs of earlier versions have none.
    pub has_checksums: bool,
    /// Descriptions of missing or changed data, a sentence each; empty if the run is complete and unchanged.
    pub findings: Vec<String>,
}

/// Verifies the run of the number `only`, or all runs, in one snapshot of the database.
pub(super) fn verify_runs(database: &Database, only: Option<i64>) -> Result<Vec<Completeness>, RecorderError> {
    let mut inquiry = Inquiry::open(database)?;
    let mut numbers: Vec<i64> = Vec::new();
    let (lowest, highest) = only.map_or((0, i64::MAX), |only| (only, only));
    // Only the numbers are read, because a log may have tens of thousands of runs.
    let query = format!(
        "SELECT simulationID FROM simulation WHERE simulationID BETWEEN {lowest} AND {highest} ORDER BY simulationID"
    );
    inquiry.for_each_row(&query, |row| {
        numbers.extend(row[0].integer());
        Ok::<_, RecorderError>(())
    })?;
    numbers.into_iter().map(|number| Verifier::new(&mut inquiry, number)?.verify()).collect()
}

/// Verification of a run.
struct Verifier<'a> {
    inquiry: &'a mut Inquiry,
    run: i64,
    ids: StoredIds,
    names: Names,
    record: RunRecord,
    findings: Findings,
    /// Number of logged steps checked so far.
    steps: u64,
    /// Number of rows of steps, commands and events found so far.
    rows: u64,
    /// Latest step checked.
    last_step: u64,
    /// State hash of that step.
    last_hash: Option<i64>,
}

/// Number of rows by step, for each of the tables in [`COUNTED_TABLES`].
type RowCounts = [BTreeMap<u64, u64>; COUNTED_TABLES.len()];

impl<'a> Verifier<'a> {
    fn new(inquiry: &'a mut Inquiry, run: i64) -> Result<Self, RecorderError> {
        let record = RunRecord::read(inquiry, run)?;
        let ids = StoredIds::read(inquiry, run)?;
        let names = Names::read(inquiry, run)?;
        let mut findings = Findings::default();
        record.check_row(&mut findings);
        // Checking starts after the last step before the run that would be logged. A fork continues the chain of its
        // parent.
        let begin = record.parent_step.unwrap_or(0);
        let last_step = record.cadence.last(begin);
        let last_hash = Some(chain_head_of_parent(inquiry, run, begin)?);
        Ok(Self { inquiry, run, ids, names, record, findings, steps: 0, rows: 0, last_step, last_hash })
    }

    fn verify(mut self) -> Result<Completeness, RecorderError> {
        if self.record.has_key {
            self.check_batches()?;
            self.check_totals();
        }
        Ok(Completeness {
            simulation_id: self.run,
            steps: self.steps,
            rows: self.rows,
            chain_head: if self.record.has_key { self.last_hash.unwrap_or_default() as u64 } else { 0 },
            has_checksums: self.record.has_checksums,
            findings: self.findings.into_list(),
        })
    }

    /// Checks the rows, batch after batch.
    fn check_batches(&mut self) -> Result<(), RecorderError> {
        let mut groups = BatchReader::new(self.run);
        let has_batches = !self.inquiry.columns(TableId::Batch.table())?.is_empty();
        let mut from = 0;
        while let Some(group) = if has_batches { groups.next_group(self.inquiry)? } else { None } {
            groups.take_findings().into_iter().for_each(|finding| self.findings.add(finding));
            match group.steps {
                None => self.check_model(&group)?,
                Some((_, to)) => {
                    self.check_steps(from, to, Some(&group))?;
                    from = to.saturating_add(1);
                }
            }
        }
        groups.take_findings().into_iter().for_each(|finding| self.findings.add(finding));
        match (self.record.has_checksums, groups.count()) {
            (false, 1..) => self.findings.add(format!(
                "the run's row says nothing of checksums, but the log has those of {} batches",
                groups.count()
            )),
            (true, 0) => self.findings.add("the checksums of all batches are missing"),
            _ => {}
        }
        self.check_steps(from, LAST_STEP, None)
    }

    /// Compares the tables of the model with the checksums of the first batch.
    fn check_model(&mut self, group: &BatchGroup) -> Result<(), RecorderError> {
        let mut builder = ChecksumBuilder::with_columns_of(&group.checksums);
        let mut add = |table: TableId, steps: Option<(u64, u64)>, inquiry: &mut Inquiry, ids: &StoredIds| {
            stored_rows::for_each_row(inquiry, ids, table, (steps, None), |row| {
                builder.add_row(table, row);
                Ok::<_, RecorderError>(())
            })
        };
        for table in TableId::ALL {
            let has_steps = table.table().has_steps();
            if !has_steps && table != TableId::Batch {
                add(table, None, self.inquiry, &self.ids)?;
            }
        }
        // The snapshot that the run starts from belongs to the model.
        if let Some(parent) = self.record.parent_step {
            add(TableId::Snapshot, Some((parent, parent)), self.inquiry, &self.ids)?;
        }
        self.compare_group(group, &builder, &[])
    }

    /// Checks the logged steps of a range, and compares their rows with the checksums of their batches.
    fn check_steps(&mut self, mut from: u64, to: u64, group: Option<&BatchGroup>) -> Result<(), RecorderError> {
        let mut builder =
            group.map_or_else(Default::default, |group| ChecksumBuilder::with_columns_of(&group.checksums));
        let mut changed = Vec::new();
        while from <= to {
            from = self.check_page(from, to, &mut builder, &mut changed)?;
        }
        match group {
            Some(group) => self.compare_group(group, &builder, &changed),
            None => Ok(()),
        }
    }

    /// Compares the checksums of rows with those of their group of batches.
    fn compare_group(
        &mut self,
        group: &BatchGroup,
        builder: &ChecksumBuilder,
        changed: &[ChangedStep],
    ) -> Result<(), RecorderError> {
        let found = &builder.checksums;
        let mut comparison =
            Comparison { inquiry: self.inquiry, ids: &self.ids, names: &self.names, group, found, changed };
        comparison.report_differences(&mut self.findings)
    }

    /// Checks a page of steps, and returns the first step of the next page.
    fn check_page(
        &mut self,
        from: u64,
        to: u64,
        builder: &mut ChecksumBuilder,
        changed: &mut Vec<ChangedStep>,
    ) -> Result<u64, RecorderError> {
        let mut steps: Vec<Vec<Cell>> = Vec::new();
        let page = (Some((from, to)), Some(STEPS_PER_PAGE));
        stored_rows::for_each_row(self.inquiry, &self.ids, TableId::SimulationRow, page, |row| {
            builder.add_row(TableId::SimulationRow, row);
            steps.push(row.to_vec());
            Ok::<_, RecorderError>(())
        })?;
        let last = steps.last().and_then(|row| step_of(row));
        let until = last.filter(|_| steps.len() as u64 == STEPS_PER_PAGE).map_or(to, |last| last.clamp(from, to));
        let range = (Some((from, until)), None);
        let mut counts = RowCounts::default();
        for ((table, _), counts) in COUNTED_TABLES.into_iter().zip(&mut counts) {
            stored_rows::for_each_row(self.inquiry, &self.ids, table, range, |row| {
                let step = builder.add_row(table, row);
                *counts.entry(step.unwrap_or_default()).or_default() += 1;
                Ok::<_, RecorderError>(())
            })?;
        }
        for table in UNCOUNTED_TABLES {
            let parent = self.record.parent_step;
            stored_rows::for_each_row(self.inquiry, &self.ids, table, range, |row| {
                // The snapshot that a run starts from belongs to the model.
                if table != TableId::Snapshot || parent.is_none_or(|parent| own_step(row) > Some(parent)) {
                    self.rows += 1;
                    builder.add_row(table, row);
                }
                Ok::<_, RecorderError>(())
            })?;
        }
        for row in &steps {
            let sum = step_of(row).and_then(|step| builder.steps.remove(&step));
            self.check_step(row, sum, &mut counts, changed);
        }
        builder.steps.clear();
        for ((table, _), rows) in COUNTED_TABLES.into_iter().zip(&counts) {
            self.report_orphans(table, rows);
        }
        Ok(until.saturating_add(1))
    }

    /// Checks a step by its row in `simulationRow`. `sum` is the checksum of the step's rows as they are now.
    fn check_step(&mut self, row: &[Cell], sum: Option<u64>, counts: &mut RowCounts, changed: &mut Vec<ChangedStep>) {
        let number = |column: &str| match row[TableId::SimulationRow.column_index(column)] {
            Cell::Integer(integer) => Some(integer),
            _ => None,
        };
        let step = step_of(row).unwrap_or_default();
        let expected = self.record.cadence.next(self.last_step);
        if step != expected {
            self.findings.add(missing_steps(expected, self.record.cadence.last(step.saturating_sub(1))));
        }
        if number("step") != Some(step as i64) {
            self.findings.add(format!("the row of step {step} in simulationRow says that it is of another step"));
        }
        let hash = number("state_hash");
        if hash.is_none() {
            self.findings.add(format!("step {step} has no hash"));
        }
        for (index, (table, column)) in COUNTED_TABLES.into_iter().enumerate() {
            let stated = number(column).unwrap_or(0).max(0) as u64;
            let found = counts[index].remove(&step).unwrap_or(0);
            let expected = self.record.each.and_then(|each| each.get(index).copied()).unwrap_or(stated);
            if found != stated || stated != expected {
                let table = table.name();
                self.findings.add(format!("step {step} has {found} rows in {table} instead of {expected}"));
            }
            self.rows += found;
        }
        if self.record.has_checksums {
            match number("checksum") {
                None => self.findings.add(format!("step {step} has no checksum")),
                Some(logged) if sum != Some(logged as u64) => {
                    changed.push((step, (logged as u64).wrapping_sub(sum.unwrap_or(0))));
                }
                Some(_) => {}
            }
        }
        self.steps += 1;
        self.rows += 1;
        (self.last_step, self.last_hash) = (step, hash);
    }

    /// Adds a finding for rows of a page that belong to no logged step.
    fn report_orphans(&mut self, table: TableId, rows: &BTreeMap<u64, u64>) {
        if let Some((step, count)) = rows.first_key_value() {
            let steps = rows.len();
            let others = if steps > 1 { format!(", as have {} later steps", steps - 1) } else { String::new() };
            self.findings.add(format!("step {step} is not logged, but has {count} rows in {}{others}", table.name()));
        }
    }

    /// Compares the totals of the run with those in its row.
    fn check_totals(&mut self) {
        let Some(steps) = self.record.steps else {
            let status = &self.record.status;
            self.findings
                .add(format!("the run was not closed (its status is {status}): it is still running, or was killed"));
            return;
        };
        let last = self.record.cadence.last(steps);
        if self.last_step < last {
            let next = self.record.cadence.next(self.last_step);
            self.findings.add(format!("{}, at the end", missing_steps(next, last)));
        }
        if self.record.gaps > 0 {
            self.findings.add(format!("the run's row says that {} ranges of steps are missing", self.record.gaps));
        }
        if let Some(rows) = self.record.rows.filter(|&rows| rows != self.rows) {
            self.findings.add(format!("{} rows are there, {rows} were written", self.rows));
        }
        if steps == self.last_step && self.last_hash != self.record.chain_head {
            let hex = |hash: Option<i64>| hash.map_or("none".into(), |hash| format!("{hash:016x}"));
            let (head, hash) = (hex(self.record.chain_head), hex(self.last_hash));
            self.findings.add(format!("the chain's head is {head}, but the last step's hash {hash}"));
        }
    }
}

/// Head of the chain at the start of the run: that of its parent run, or 0.
fn chain_head_of_parent(inquiry: &mut Inquiry, run: i64, step: u64) -> Result<i64, RecorderError> {
    let mut head = 0;
    if step > 0 {
        let all = Selection::all(TableId::Snapshot.table(), run);
        inquiry.rows(&Selection { steps: Some((step, step)), ..all }, &["chain_head"], |row| {
            head = row[0].integer().unwrap_or(0);
            Ok::<_, RecorderError>(())
        })?;
    }
    Ok(head)
}

/// Step of a row, from its simulationRowID.
fn step_of(row: &[Cell]) -> Option<u64> {
    match row.first() {
        Some(Cell::Step(step)) => Some(*step),
        _ => None,
    }
}

/// Step of a row, from its column `step`, which follows the run's number.
fn own_step(row: &[Cell]) -> Option<u64> {
    match row.get(1) {
        Some(Cell::Integer(step)) => Some(*step as u64),
        _ => None,
    }
}

fn missing_steps(from: u64, to: u64) -> String {
    if from == to { format!("step {from} is missing") } else { format!("steps {from} to {to} are missing") }
}
