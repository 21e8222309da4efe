//! Whether a run is all there and unchanged: every step, all rows of each, nothing beside them, the chain up to its head, and
//! every number and text as it was logged (`contents`).

use std::collections::{BTreeMap, HashMap};

use super::{
    Cadence, Database, Inquiry, RecorderError,
    cell::Cell,
    checksum::{self, Summer},
    contents::{Group, Groups, Names},
    inquiry::{self, LAST_STEP, Selection, Value},
    model,
    table::Table,
    transfer::{Parts, Reference},
};

/// Logged steps that are looked at together.
const PAGE: u64 = 1024;

/// The most findings that are told of a run.
const MOST_FINDINGS: usize = 20;

/// The tables with rows of steps that are counted, and what is said of them in the step's row.
const COUNTED: [Table; 3] = [Table::BodyState, Table::JointPose, Table::SensorReading];

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
    /// Whether the log has checksums, which prove every number and text; logs of earlier versions have none.
    pub has_checksums: bool,
    /// What is missing or does not fit, a sentence each; none if the run is complete.
    pub findings: Vec<String>,
}

/// The run's own row, as far as it is held against what is there.
pub(super) struct Claim {
    /// False of runs from before there were keys, hashes and counts.
    has_key: bool,
    status: String,
    steps: Option<u64>,
    cadence: Cadence,
    rows: Option<u64>,
    gaps: u64,
    chain_head: Option<i64>,
    /// Rows of bodies and of joints in each step, if they are the same in all.
    each: Option<[u64; 2]>,
    /// The step that the run goes on from, if it does not begin with the model.
    pub(super) parent_step: Option<u64>,
}

pub(super) struct Check<'a> {
    pub(super) inquiry: &'a mut Inquiry,
    pub(super) run: i64,
    pub(super) parts: Parts,
    pub(super) names: Names,
    /// What the log has for the columns of each table, as far as there are such tables.
    layouts: Vec<(Table, Layout)>,
    pub(super) claim: Claim,
    found: Completeness,
    untold: usize,
    last_step: u64,
    last_hash: Option<i64>,
}

/// How the columns of a table are asked for, and what their numbers refer to; a column that the log does not have is `None`.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) asked: Vec<&'static str>,
    places: Vec<(Option<usize>, Reference)>,
}

/// Looks at one run, or at all, in one state of the database.
pub(super) fn check(database: &Database, only: Option<i64>) -> Result<Vec<Completeness>, RecorderError> {
    let mut inquiry = Inquiry::open(database)?;
    let mut numbers: Vec<i64> = Vec::new();
    inquiry.stream("SELECT simulationID FROM simulation ORDER BY simulationID", |row| {
        numbers.extend(row[0].integer().filter(|number| only.is_none_or(|only| only == *number)));
        Ok::<_, RecorderError>(())
    })?;
    numbers.into_iter().map(|number| Check::new(&mut inquiry, number)?.run()).collect()
}

impl<'a> Check<'a> {
    fn new(inquiry: &'a mut Inquiry, run: i64) -> Result<Self, RecorderError> {
        let row = run_row(inquiry, run)?;
        let parts = Parts::of(inquiry, run)?;
        let names = Names::of(inquiry, run)?;
        let mut layouts = Vec::new();
        for table in Table::ALL {
            let layout = Layout::of(inquiry, table)?;
            layouts.extend(layout.map(|layout| (table, layout)));
        }
        let claim = claim(&row);
        let has_checksums = row.get("checksums").and_then(Value::integer).is_some();
        let found =
            Completeness { simulation_id: run, steps: 0, rows: 0, chain_head: 0, has_checksums, findings: Vec::new() };
        // The last step before the run that would have been logged; a run that goes on from another has its chain.
        let begin = claim.parent_step.unwrap_or(0);
        let last_step = claim.cadence.last(begin);
        let last_hash = Some(chain_head_of_parent(inquiry, run, begin)?);
        let mut check = Self { inquiry, run, parts, names, layouts, claim, found, untold: 0, last_step, last_hash };
        check.look_at_row(&row);
        Ok(check)
    }

    fn run(mut self) -> Result<Completeness, RecorderError> {
        if !self.claim.has_key {
            return Ok(self.found);
        }
        let mut groups = Groups::new(self.layout(Table::Batch).is_some(), self.run);
        let mut from = 0;
        while let Some(group) = groups.next(self.inquiry)? {
            groups.take_findings().into_iter().for_each(|finding| self.tell(finding));
            match group.steps {
                None => self.model(&group)?,
                Some((_, to)) => {
                    self.stretch(from, to, Some(&group))?;
                    from = to.saturating_add(1);
                }
            }
        }
        groups.take_findings().into_iter().for_each(|finding| self.tell(finding));
        if !self.found.has_checksums && groups.count() > 0 {
            self.tell(format!(
                "the run's row knows of no checksums, but the log has those of {} batches",
                groups.count()
            ));
        }
        if self.found.has_checksums && groups.count() == 0 {
            self.tell("the checksums of all batches are missing".into());
        }
        self.stretch(from, LAST_STEP, None)?;
        self.whole();
        if self.untold > 0 {
            self.found.findings.push(format!("and {} more", self.untold));
        }
        Ok(self.found)
    }

    pub(super) fn tell(&mut self, finding: String) {
        match self.found.findings.len() < MOST_FINDINGS {
            true => self.found.findings.push(finding),
            false => self.untold += 1,
        }
    }

    pub(super) fn layout(&self, table: Table) -> Option<&Layout> {
        self.layouts.iter().find(|(known, _)| *known == table).map(|(_, layout)| layout)
    }

    /// The run's own row, as far as nothing else is needed for it.
    fn look_at_row(&mut self, row: &HashMap<&'static str, Value>) {
        if !self.claim.has_key {
            self.tell("it was logged by a version that kept no chain, so it cannot be proved complete".into());
        }
        if let Some(version) = row.get("checksums").and_then(Value::integer)
            && version != checksum::VERSION as i64
        {
            self.tell(format!("its checksums are of version {version}, which this program does not know"));
        }
        if let Some(said) = row.get("end_checksum").and_then(Value::integer) {
            let value = |name: &&'static str| row.get(name).map_or(Cell::Null, super::transfer::plain);
            let values: Vec<Cell> = model::END_COLUMNS.iter().map(value).collect();
            if checksum::end(&values) != said as u64 {
                let columns = model::END_COLUMNS.join(", ");
                self.tell(format!("the run's row in simulation: one of {columns} is not what was logged at its end"));
            }
        } else if self.found.has_checksums && self.claim.steps.is_some() {
            self.tell("the checksum of what was logged at the run's end is missing".into());
        }
    }

    /// Goes through the logged steps of a stretch, and holds them against the checksums of their batches.
    fn stretch(&mut self, mut from: u64, to: u64, group: Option<&Group>) -> Result<(), RecorderError> {
        let mut summer = Summer::default();
        let mut changed = Vec::new();
        while from <= to {
            from = self.page(from, to, &mut summer, &mut changed)?;
        }
        match group {
            Some(group) => self.compare(group, &summer, &changed),
            None => Ok(()),
        }
    }

    /// Looks at a page of steps, and tells where the next begins. `changed` gets the steps whose checksum is another, and by how
    /// much.
    fn page(
        &mut self,
        from: u64,
        to: u64,
        summer: &mut Summer,
        changed: &mut Vec<(u64, u64)>,
    ) -> Result<u64, RecorderError> {
        let mut steps: Vec<Vec<Cell>> = Vec::new();
        let of = |from, to| Some((from, to));
        self.rows(Table::SimulationRow, of(from, to), Some(PAGE), |cells| steps.push(cells.to_vec()))?;
        let last = steps.last().and_then(|row| step_of(row));
        let until = last.filter(|_| steps.len() as u64 == PAGE).map_or(to, |last| last.clamp(from, to));
        let mut there = [const { BTreeMap::<u64, u64>::new() }; COUNTED.len()];
        for row in &steps {
            summer.row(Table::SimulationRow, row);
        }
        for (table, counts) in COUNTED.into_iter().zip(&mut there) {
            self.rows(table, of(from, until), None, |row| {
                let step = summer.row(table, row);
                *counts.entry(step.unwrap_or_default()).or_default() += 1;
            })?;
        }
        for table in [Table::ForceAndTorqueInterval, Table::Command, Table::Event, Table::Snapshot] {
            let mut rows = 0;
            let parent = self.claim.parent_step;
            self.rows(table, of(from, until), None, |row| {
                // The state that a run goes on from is no row of a step of its own.
                if table != Table::Snapshot || parent.is_none_or(|parent| own_step(row) > Some(parent)) {
                    rows += 1;
                    summer.row(table, row);
                }
            })?;
            self.found.rows += rows;
        }
        for row in &steps {
            let sum = step_of(row).and_then(|step| summer.steps.remove(&step));
            self.step(row, sum, &mut there, changed);
        }
        summer.steps.clear();
        for (table, rows) in COUNTED.into_iter().zip(&there) {
            self.strays(table, rows);
        }
        Ok(until.saturating_add(1))
    }

    /// Goes through rows of a table as cells.
    pub(super) fn rows(
        &mut self,
        table: Table,
        steps: Option<(u64, u64)>,
        most: Option<u64>,
        mut take: impl FnMut(&[Cell]),
    ) -> Result<(), RecorderError> {
        let (Some(source), Some(layout)) = (inquiry::Table::named(table.name()), self.layout(table).cloned()) else {
            return Ok(());
        };
        let selection = Selection { steps, most, ..Selection::all(source, self.run) };
        let (parts, mut cells) = (&self.parts, Vec::new());
        self.inquiry.rows(&selection, &layout.asked, |row| {
            cells.clear();
            cells.extend(
                layout
                    .places
                    .iter()
                    .map(|(place, reference)| place.map_or(Cell::Null, |place| parts.cell(*reference, &row[place]))),
            );
            take(&cells);
            Ok(())
        })
    }
}

impl Check<'_> {
    fn step(
        &mut self,
        row: &[Cell],
        sum: Option<u64>,
        there: &mut [BTreeMap<u64, u64>; COUNTED.len()],
        changed: &mut Vec<(u64, u64)>,
    ) {
        let number = |column: usize| match row.get(column) {
            Some(Cell::Integer(integer)) => Some(*integer),
            _ => None,
        };
        let step = step_of(row).unwrap_or_default();
        let expected = self.claim.cadence.next(self.last_step);
        if step != expected {
            self.tell(missing(expected, self.claim.cadence.last(step.saturating_sub(1))));
        }
        if number(2) != Some(step as i64) {
            self.tell(format!("the row of step {step} in simulationRow says that it is of another step"));
        }
        let hash = number(7);
        if hash.is_none() {
            self.tell(format!("step {step} has no hash"));
        }
        for (index, table) in COUNTED.into_iter().enumerate() {
            let said = number(8 + index).unwrap_or(0).max(0) as u64;
            let found = there[index].remove(&step).unwrap_or(0);
            let layout = self.claim.each.and_then(|each| each.get(index).copied()).unwrap_or(said);
            if found != said || said != layout {
                self.tell(format!("step {step} has {found} rows in {} instead of {layout}", table.name()));
            }
            self.found.rows += found;
        }
        if self.found.has_checksums {
            match number(Table::SimulationRow.width() - 1) {
                None => self.tell(format!("step {step} has no checksum")),
                Some(said) if sum != Some(said as u64) => {
                    changed.push((step, (said as u64).wrapping_sub(sum.unwrap_or(0))));
                }
                Some(_) => {}
            }
        }
        self.found.steps += 1;
        self.found.rows += 1;
        (self.last_step, self.last_hash) = (step, hash);
    }

    /// Rows of a page that belong to no step.
    fn strays(&mut self, table: Table, rows: &BTreeMap<u64, u64>) {
        if let Some((step, count)) = rows.first_key_value() {
            let steps = rows.len();
            let others = if steps > 1 { format!(", as have {} later steps", steps - 1) } else { String::new() };
            self.tell(format!("step {step} is not logged, but has {count} rows in {}{others}", table.name()));
        }
    }

    /// Holds the whole against what the run's row says.
    fn whole(&mut self) {
        self.found.chain_head = self.last_hash.unwrap_or_default() as u64;
        let Some(steps) = self.claim.steps else {
            let status = &self.claim.status;
            self.tell(format!("the run was not closed (its status is {status}): it runs still, or was killed"));
            return;
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
    }
}

impl Layout {
    fn of(inquiry: &mut Inquiry, table: Table) -> Result<Option<Self>, RecorderError> {
        let Some(source) = inquiry::Table::named(table.name()) else { return Ok(None) };
        let there = inquiry.columns(source)?;
        let mut asked = Vec::new();
        let mut place = |column: &'static str| {
            there.iter().any(|known| known.name == column).then(|| {
                // The step that a row says, not the one that follows from its number.
                let own = table == Table::SimulationRow && column == "step";
                asked.push(if own { "simulationRow.step" } else { column });
                asked.len() - 1
            })
        };
        let columns = table.columns().split(", ").map(str::trim);
        let places = columns.map(|column| (place(column), Reference::of(column))).collect();
        Ok((!asked.is_empty()).then_some(Self { asked, places }))
    }
}

fn claim(row: &HashMap<&'static str, Value>) -> Claim {
    let integer = |name: &str| row.get(name).and_then(Value::integer);
    let whole = |name: &str| integer(name).map(|integer| integer.max(0) as u64);
    let count = |name: &str| whole(name).unwrap_or(0);
    Claim {
        has_key: row.get("runKey").is_some_and(|key| !key.text().is_empty()),
        status: row.get("status").map_or("", Value::text).to_owned(),
        steps: whole("steps"),
        cadence: Cadence::new(count("every_n_steps"), whole("full_steps").zip(whole("thinned_every_n_steps"))),
        rows: whole("rows_written"),
        gaps: count("gaps"),
        chain_head: integer("chain_head"),
        each: (count("on_change") == 0).then(|| [count("bodies_logged"), count("joints_logged")]),
        parent_step: integer("parent_step").and_then(|step| u64::try_from(step).ok()),
    }
}

/// The run's own row, as far as the log has these columns.
fn run_row(inquiry: &mut Inquiry, run: i64) -> Result<HashMap<&'static str, Value>, RecorderError> {
    let Some(table) = inquiry::Table::named("simulation") else { return Ok(HashMap::new()) };
    let there = inquiry.columns(table)?;
    let wanted =
        Table::Simulation.columns().split(", ").map(str::trim).chain(model::END_COLUMNS).chain(["end_checksum"]);
    let mut wanted: Vec<&'static str> = wanted.filter(|name| there.iter().any(|column| column.name == *name)).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let mut found = HashMap::new();
    inquiry.rows(&Selection::all(table, run), &wanted, |row| {
        found = wanted.iter().copied().zip(row.iter().cloned()).collect();
        Ok::<_, RecorderError>(())
    })?;
    Ok(found)
}

/// The head of the chain where the run begins: that of the run it goes on from, or 0.
fn chain_head_of_parent(inquiry: &mut Inquiry, run: i64, step: u64) -> Result<i64, RecorderError> {
    let Some(table) = inquiry::Table::named("snapshot").filter(|_| step > 0) else { return Ok(0) };
    let mut head = 0;
    let selection = Selection { steps: Some((step, step)), ..Selection::all(table, run) };
    inquiry.rows(&selection, &["chain_head"], |row| {
        head = row[0].integer().unwrap_or(0);
        Ok::<_, RecorderError>(())
    })?;
    Ok(head)
}

fn step_of(row: &[Cell]) -> Option<u64> {
    match row.first() {
        Some(Cell::Step(step)) => Some(*step),
        _ => None,
    }
}

/// The step in the column of that name behind the run's number.
fn own_step(row: &[Cell]) -> Option<u64> {
    match row.get(1) {
        Some(Cell::Integer(step)) => Some(*step as u64),
        _ => None,
    }
}

fn missing(from: u64, to: u64) -> String {
    if from == to { format!("step {from} is missing") } else { format!("steps {from} to {to} are missing") }
}
