//! The run's own row, whose values are compared with the rest of the log.

use std::collections::BTreeMap;

use super::findings::Findings;
use crate::{
    database::error::RecorderError,
    format::{
        cadence::Cadence,
        cell::Cell,
        checksum,
        schema::{self, TableId},
        value::Value,
    },
    read::{inquiry::Inquiry, selection::Selection},
};

/// A run's own row.
#[derive(Debug)]
pub(super) struct RunRecord {
    values: BTreeMap<&'static str, Value>,
    /// False for a run of an early version, whose log has no keys, hashes and counts.
    pub(super) has_key: bool,
    pub(super) has_checksums: bool,
    pub(super) status: String,
    pub(super) steps: Option<u64>,
    pub(super) cadence: Cadence,
    pub(super) rows: Option<u64>,
    pub(super) gaps: u64,
    pub(super) chain_head: Option<i64>,
    /// Numbers of rows of bodies and of joints in each logged step, if no rows are left out.
    pub(super) each: Option<[u64; 2]>,
    /// Step of the snapshot that the run starts from; `None` if it starts from the model.
    pub(super) parent_step: Option<u64>,
}

impl RunRecord {
    pub(super) fn read(inquiry: &mut Inquiry, run: i64) -> Result<Self, RecorderError> {
        let table = TableId::Simulation.table();
        let columns: Vec<&'static str> = table.columns().map(|(name, _)| name).collect();
        let mut values = BTreeMap::new();
        inquiry.rows(&Selection::all(table, run), &columns, |row| {
            values = columns.iter().copied().zip(row.iter().cloned()).collect();
            Ok::<_, RecorderError>(())
        })?;
        let integer = |name: &str| values.get(name).and_then(Value::integer);
        let whole = |name: &str| integer(name).map(|integer| integer.max(0) as u64);
        let count = |name: &str| whole(name).unwrap_or(0);
        let text = |name: &str| values.get(name).map_or("", Value::text).to_owned();
        Ok(Self {
            has_key: !text("runKey").is_empty(),
            has_checksums: integer("checksums").is_some(),
            status: text("status"),
            steps: whole("steps"),
            cadence: Cadence::new(count("every_n_steps"), whole("full_steps").zip(whole("thinned_every_n_steps"))),
            rows: whole("rows_written"),
            gaps: count("gaps"),
            chain_head: integer("chain_head"),
            each: (count("on_change") == 0).then(|| [count("bodies_logged"), count("joints_logged")]),
            parent_step: integer("parent_step").and_then(|step| u64::try_from(step).ok()),
            values,
        })
    }

    /// Checks the values of the row that need no comparison with other rows.
    pub(super) fn check_row(&self, findings: &mut Findings) {
        if !self.has_key {
            findings.add("it was logged by a version without a chain of hashes, so it cannot be proved complete");
        }
        let integer = |name: &str| self.values.get(name).and_then(Value::integer);
        if let Some(version) = integer("checksums").filter(|version| *version != checksum::SCHEME_VERSION as i64) {
            findings.add(format!("its checksums are of version {version}, which this program does not know"));
        }
        let columns = schema::columns_at_end();
        let value = |name: &&str| self.values.get(name).map_or(Cell::Null, Cell::from);
        let values: Vec<Cell> = columns.iter().map(value).collect();
        match integer(schema::END_CHECKSUM) {
            Some(logged) if checksum::matches_end(logged as u64, &values) => {}
            Some(_) => findings.add(format!(
                "the run's row in simulation: one of {} is not what was logged at its end",
                columns.join(", ")
            )),
            None if self.has_checksums && self.steps.is_some() => {
                findings.add("the checksum of what was logged at the run's end is missing");
            }
            None => {}
        }
    }
}
