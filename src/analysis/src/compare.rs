//! Compares two runs step by step: finds their first difference, to the bit, and the largest deviations of each body.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::LazyLock,
};

use super::{AnalysisError, Progress, find_table, orientation};
use simpartner_recorder::{
    Cadence, Inquiry, RecordedRun, RowPolicy,
    inquiry::{ComponentKind, Selection, Table, Value, first_difference, parse_numbers},
};

/// Number of logged steps whose rows are in memory at a time: some megabytes for a robot.
const STEPS_PER_CHUNK: u64 = 256;

/// The compared tables, in the order of cause and effect.
static COMPARED_TABLES: LazyLock<[ComparedTable; 5]> = LazyLock::new(|| {
    // Columns behind the step and the component.
    let state = |name: &str| -> Vec<&'static str> {
        let columns = Table::named(name).into_iter().flat_map(Table::columns);
        columns.skip(2).map(|(name, _)| name).collect()
    };
    [
        ComparedTable { table: "command", number: "componentID", labels: 1, columns: vec!["ordinal", "text"] },
        ComparedTable { table: "body_state", number: "bodyID", labels: 0, columns: state("body_state") },
        ComparedTable { table: "jointPose", number: "jointID", labels: 0, columns: state("jointPose") },
        ComparedTable { table: "sensorReading", number: "componentID", labels: 1, columns: vec!["field", "value"] },
        ComparedTable { table: "scan", number: "componentID", labels: 0, columns: vec!["distances"] },
    ]
});

/// A compared table. In some tables a component has several rows in a step.
struct ComparedTable {
    table: &'static str,
    /// Column with the number of a row's component.
    number: &'static str,
    /// Number of leading columns, 0 or 1, that distinguish the rows of a component in a step.
    labels: usize,
    /// Columns that are compared.
    columns: Vec<&'static str>,
}

/// A difference of two runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Step at which the runs differ.
    pub step: u64,
    /// Name of the body, joint or device.
    pub component: String,
    /// Column or device field of the number that differs. If one run lacks the row, the device field or the name of the
    /// table.
    pub field: String,
    /// Description of the number in words, such as `velocity, x`.
    pub quantity: String,
    /// Values in the two runs; `None` if the run lacks the row.
    pub values: [Option<Value>; 2],
}

/// Largest deviation of a quantity.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Largest {
    /// Magnitude of the deviation, in the unit of the quantity.
    pub value: f64,
    /// First step with this deviation.
    pub step: u64,
}

impl Largest {
    fn update(&mut self, value: f64, step: u64) {
        if value > self.value {
            *self = Self { value, step };
        }
    }
}

/// Largest deviations of a body between two runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Deviation {
    /// Name of the body.
    pub body: String,
    /// Distance of the origins, m.
    pub position: Largest,
    /// Angle between the orientations, rad.
    pub angle: Largest,
    /// Magnitude of the difference of the contact forces, N.
    pub force: Largest,
}

/// Counts of a quantity that differs between two runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Differing {
    /// Indices of the bodies, joints or devices whose quantity differs.
    pub components: BTreeSet<usize>,
    /// First step in which the quantity differs.
    pub first: u64,
    /// Number of rows in which the quantity differs.
    pub rows: u64,
}

/// The result of a comparison.
#[derive(Debug, Default, PartialEq)]
pub struct Comparison {
    /// Step after which the runs are compared: 0, or the step of the snapshot that a fork starts from.
    pub after: u64,
    /// Quantities that differ, by name.
    pub differing: BTreeMap<String, Differing>,
    /// Number of steps that both runs have.
    pub common_steps: u64,
    /// For each run, the number of steps that only this run has, and the first of them.
    pub alone: [Option<(u64, u64)>; 2],
    /// For each run, names of the bodies, joints and devices that only this run has.
    pub strangers: [Vec<String>; 2],
    /// Timesteps of the runs, ns, if they differ.
    pub timesteps_ns: Option<[u64; 2]>,
    /// First difference within the steps that both runs have.
    pub first: Option<Difference>,
    /// Largest deviations of the bodies that both runs have.
    pub deviations: Vec<Deviation>,
}

impl Comparison {
    /// True if nothing differs.
    pub fn equal(&self) -> bool {
        self.first.is_none()
            && self.timesteps_ns.is_none()
            && self.alone.iter().all(Option::is_none)
            && self.strangers.iter().all(Vec::is_empty)
    }
}

/// One of the two compared runs.
pub struct Side<'a> {
    /// Connection to the database of the run.
    pub inquiry: &'a mut Inquiry,
    /// The run.
    pub run: RecordedRun,
}

/// Compares two runs.
///
/// # Errors
/// When a database cannot be read.
pub fn compare(sides: &mut [Side<'_>; 2], progress: &mut dyn Progress) -> Result<Comparison, AnalysisError> {
    let mut found = Comparison::default();
    let lengths = [0, 1].map(|side| sides[side].run.timestep.nanoseconds());
    found.timesteps_ns = (lengths[0] != lengths[1]).then_some(lengths);
    let components = ComponentIndex::build(sides)?;
    found.strangers = [0, 1].map(|side| components.only_in(side));
    found.after = sides.iter().filter_map(|side| side.run.origin).max().unwrap_or(0);
    let bounds: Vec<(u64, u64)> = sides.iter().filter_map(|side| side.run.steps).collect();
    // Commands can act in steps without rows of state, too.
    let last = bounds.iter().map(|bounds| bounds.1).max().unwrap_or(0);
    progress.begin("comparing steps", last + 1);
    let mut bodies: BTreeMap<usize, Deviation> = BTreeMap::new();
    let mut last_rows = LastRows::default();
    last_rows.read_before(sides, &components, found.after)?;
    let mut from = found.after.saturating_add(1);
    while from <= last {
        progress.reach(from);
        // The side with more logged steps determines the chunk.
        let mut end = last;
        for side in &mut *sides {
            end = side.inquiry.chunk_end(side.run.simulation_id, (from, end), STEPS_PER_CHUNK)?;
        }
        let chunk = (from, end);
        from = end + 1;
        let steps = [read_steps(&mut sides[0], chunk)?, read_steps(&mut sides[1], chunk)?];
        let common = found.count_steps(&steps, [0, 1].map(|side| sides[side].run.cadence));
        let mut earliest: Option<Difference> = None;
        for compared in COMPARED_TABLES.iter() {
            let [one, two] = [0, 1].map(|side| read_rows(&mut sides[side], compared, chunk, &components.numbers[side]));
            let mut pairs = pair_rows(one?, two?);
            last_rows.fill_in(sides, compared, &mut pairs);
            let relevant =
                pairs.iter().filter(|(key, _)| compared.table == "command" || common.binary_search(&key.0).is_ok());
            for (key, values) in relevant {
                if compared.table == "body_state" {
                    update_deviation(&mut bodies, compared, key, values);
                }
                found.count_differing(compared, key, values);
                if found.first.is_none() && earliest.as_ref().is_none_or(|earliest| key.0 < earliest.step) {
                    earliest = find_difference(compared, &components, key, values).or(earliest);
                }
            }
        }
        found.first = found.first.take().or(earliest);
    }
    let named =
        |(index, deviation): (usize, Deviation)| Deviation { body: components.names[index].1.clone(), ..deviation };
    found.deviations = bodies.into_iter().map(named).collect();
    progress.reach(last + 1);
    Ok(found)
}

impl Comparison {
    /// Counts the quantities that differ in a pair of rows.
    fn count_differing(&mut self, compared: &ComparedTable, key: &RowKey, values: &[Option<Vec<Value>>; 2]) {
        let mut differs = |quantity: String| {
            let differing =
                self.differing.entry(quantity).or_insert(Differing { first: key.0, ..Differing::default() });
            differing.first = differing.first.min(key.0);
            differing.components.insert(key.1);
            differing.rows += 1;
        };
        let (Some(one), Some(two)) = (&values[0], &values[1]) else {
            return differs(format!("{} in one run only", compared.row_description()));
        };
        let mut last = String::new();
        for (index, _) in one.iter().zip(two).enumerate().filter(|(_, (one, two))| !one.is_same(two)) {
            // The components of a vector count once.
            let quantity = compared.quantity_name(index, key).0;
            if quantity != last {
                differs(quantity.clone());
                last = quantity;
            }
        }
    }

    /// Counts the steps of a chunk, and returns the steps that both runs have.
    fn count_steps(&mut self, steps: &[Vec<u64>; 2], cadences: [Cadence; 2]) -> Vec<u64> {
        for side in [0, 1] {
            // A step that the other run leaves out by its cadence does not count as missing.
            let misses =
                |step: &&u64| steps[1 - side].binary_search(step).is_err() && cadences[1 - side].is_logged(**step);
            for step in steps[side].iter().filter(misses) {
                let (count, _) = self.alone[side].get_or_insert((0, *step));
                *count += 1;
            }
        }
        let common: Vec<u64> = steps[0].iter().filter(|step| steps[1].binary_search(step).is_ok()).copied().collect();
        self.common_steps += common.len() as u64;
        common
    }
}

/// A row of each step: its table, the index of its component, and its label among the rows of the component.
type RecurringRow = (&'static str, usize, String);

/// For each run, the last row of each component, for runs that leave out rows whose values did not change.
#[derive(Default)]
struct LastRows([HashMap<RecurringRow, Vec<Value>>; 2]);

impl LastRows {
    /// Reads the last rows up to the step `after`, which stand for the rows that were left out after it.
    fn read_before(
        &mut self,
        sides: &mut [Side<'_>; 2],
        components: &ComponentIndex,
        after: u64,
    ) -> Result<(), AnalysisError> {
        for side in [0, 1] {
            let from = (after + 1).saturating_sub(sides[side].run.reach());
            for compared in COMPARED_TABLES
                .iter()
                .filter(|compared| compared.may_omit(sides[side].run.row_policy))
                .collect::<Vec<_>>()
            {
                for ((_, component, label), values) in
                    read_rows(&mut sides[side], compared, (from, after), &components.numbers[side])?
                {
                    self.0[side].insert((compared.table, component, label), values);
                }
            }
        }
        Ok(())
    }

    /// Replaces each row that was left out by the component's last row.
    fn fill_in(
        &mut self,
        sides: &[Side<'_>; 2],
        compared: &ComparedTable,
        pairs: &mut [(RowKey, [Option<Vec<Value>>; 2])],
    ) {
        for side in [0, 1].into_iter().filter(|&side| compared.may_omit(sides[side].run.row_policy)) {
            for ((_, component, label), values) in pairs.iter_mut() {
                let key = (compared.table, *component, label.clone());
                match &values[side] {
                    Some(values) => drop(self.0[side].insert(key, values.clone())),
                    None => values[side] = self.0[side].get(&key).cloned(),
                }
            }
        }
    }
}

impl ComparedTable {
    /// True if a run with this policy leaves out rows of this table whose values did not change.
    fn may_omit(&self, policy: RowPolicy) -> bool {
        match (policy, self.table) {
            (RowPolicy::Always, _) | (_, "command") => false,
            (RowPolicy::Changed, _) => true,
            (RowPolicy::Moving, table) => !matches!(table, "sensorReading" | "scan"),
        }
    }

    /// Description of a row, with an article.
    fn row_description(&self) -> &'static str {
        match self.table {
            "command" => "a command",
            "body_state" => "the state of a body",
            "jointPose" => "the state of a joint",
            _ => "a reading",
        }
    }

    /// Name of a column in words: the quantity, and its component or axis.
    fn quantity_name(&self, index: usize, key: &RowKey) -> (String, String) {
        let column = self.columns[index];
        if self.table == "sensorReading" {
            return ("reading".into(), key.2.clone());
        }
        if self.table == "scan" {
            return ("reading".into(), String::new());
        }
        let words = |words: &str, part: &str| (words.to_owned(), part.to_owned());
        let of_joint = self.table == "jointPose";
        match column.rsplit_once('_') {
            Some(("axis", part)) => words("axis of rotation", part),
            Some(("v", part)) => words("velocity", part),
            Some(("omega", part)) => words("angular velocity", part),
            Some(("F", part)) => words(if of_joint { "reaction force" } else { "contact force" }, part),
            Some(("T", part)) => words(if of_joint { "reaction torque" } else { "contact torque" }, part),
            Some(("position", part)) => (String::from("joint position"), format!("axis {part}")),
            Some(("rate", part)) => (String::from("joint rate"), format!("axis {part}")),
            Some(("effort", part)) => (String::from("motor effort"), format!("axis {part}")),
            _ => match column {
                "x" | "y" | "z" => words("position", column),
                "angle" => words("angle of rotation", ""),
                "anchorx" | "anchory" | "anchorz" => words("anchor", &column[6..]),
                "text" => words("command", ""),
                "ordinal" => words("order of commands", ""),
                other => words(other, ""),
            },
        }
    }
}

/// The components of both runs with common indices.
#[derive(Default)]
struct ComponentIndex {
    /// Kind and name of each component. The kind is needed, because bodies, joints and devices may have the same name.
    names: Vec<(ComponentKind, String)>,
    /// For each run, the indices in `names` by the numbers in its log.
    numbers: [HashMap<i64, usize>; 2],
}

impl ComponentIndex {
    fn build(sides: &mut [Side<'_>; 2]) -> Result<Self, AnalysisError> {
        let mut components = Self::default();
        for (side, numbers) in sides.iter_mut().zip(&mut components.numbers) {
            for component in side.inquiry.components(side.run.simulation_id)? {
                let name = (component.kind, component.name);
                let known = components.names.iter().position(|known| *known == name);
                numbers.insert(component.number, known.unwrap_or(components.names.len()));
                if known.is_none() {
                    components.names.push(name);
                }
            }
        }
        Ok(components)
    }

    /// Names of the components that only one of the runs has.
    fn only_in(&self, side: usize) -> Vec<String> {
        let others: Vec<&usize> = self.numbers[1 - side].values().collect();
        let mut strangers: Vec<usize> =
            self.numbers[side].values().filter(|place| !others.contains(place)).copied().collect();
        strangers.sort_unstable();
        strangers.into_iter().map(|place| self.names[place].1.clone()).collect()
    }
}

/// Key of a row: its step, the index of its component, and its label among the rows of the component in the step.
type RowKey = (u64, usize, String);

/// A row with its key.
type Row = (RowKey, Vec<Value>);

/// The logged steps of a chunk.
fn read_steps(side: &mut Side<'_>, chunk: (u64, u64)) -> Result<Vec<u64>, AnalysisError> {
    let mut found = Vec::new();
    let selection = chunk_selection(side, "simulationRow", chunk)?;
    side.inquiry.rows(&selection, &["step"], |row| {
        found.push(row[0].integer().unwrap_or(0) as u64);
        Ok::<_, AnalysisError>(())
    })?;
    Ok(found)
}

/// The rows of a table in a chunk of steps.
fn chunk_selection(side: &Side<'_>, table: &str, chunk: (u64, u64)) -> Result<Selection, AnalysisError> {
    Ok(Selection { steps: Some(chunk), ..Selection::all(find_table(table)?, side.run.simulation_id) })
}

/// Reads the rows of a chunk, sorted by their keys.
fn read_rows(
    side: &mut Side<'_>,
    compared: &ComparedTable,
    chunk: (u64, u64),
    numbers: &HashMap<i64, usize>,
) -> Result<Vec<Row>, AnalysisError> {
    let selection = chunk_selection(side, compared.table, chunk)?;
    let columns: Vec<&str> = ["step", compared.number].into_iter().chain(compared.columns.iter().copied()).collect();
    let mut found = Vec::new();
    side.inquiry.rows(&selection, &columns, |row| {
        let step = row[0].integer().unwrap_or(0) as u64;
        // Every component is in the log before its first row, so a row of an unknown component is damaged and skipped.
        let Some(&component) = row[1].integer().and_then(|number| numbers.get(&number)) else { return Ok(()) };
        let label = match &row[2..2 + compared.labels] {
            [Value::Text(text)] => text.clone(),
            // The padding sorts commands by their order.
            [other] => format!("{:>10}", other.integer().unwrap_or(0)),
            _ => String::new(),
        };
        found.push(((step, component, label), row[2..].to_vec()));
        Ok::<_, AnalysisError>(())
    })?;
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// Pairs the rows of both runs by their keys; `None` for a row that a run lacks.
fn pair_rows(one: Vec<Row>, two: Vec<Row>) -> Vec<(RowKey, [Option<Vec<Value>>; 2])> {
    let mut all: BTreeMap<RowKey, [Option<Vec<Value>>; 2]> = BTreeMap::new();
    for (key, values) in one {
        all.entry(key).or_default()[0] = Some(values);
    }
    for (key, values) in two {
        all.entry(key).or_default()[1] = Some(values);
    }
    all.into_iter().collect()
}

/// The first difference in a pair of rows; `None` if they are the same.
fn find_difference(
    compared: &ComparedTable,
    components: &ComponentIndex,
    key: &RowKey,
    values: &[Option<Vec<Value>>; 2],
) -> Option<Difference> {
    let component = components.names[key.1].1.clone();
    let found = |field: &str, quantity: String, values| Difference {
        step: key.0,
        component,
        field: field.into(),
        quantity,
        values,
    };
    let (Some(one), Some(two)) = (&values[0], &values[1]) else {
        let field = if compared.table == "sensorReading" { key.2.as_str() } else { compared.table };
        let last = |values: Vec<Value>| match values.last() {
            // A scan is represented by its first distance.
            Some(Value::Text(text)) if compared.table == "scan" => {
                parse_numbers(text).first().copied().map(Value::Real)
            }
            value => value.cloned(),
        };
        let values = values.clone().map(|values| values.and_then(last));
        return Some(found(field, format!("{} in one run only", compared.row_description()), values));
    };
    let index = one.iter().zip(two).position(|(one, two)| !one.is_same(two))?;
    if let (true, Value::Text(one), Value::Text(two)) = (compared.table == "scan", &one[index], &two[index]) {
        let (one, two) = (parse_numbers(one), parse_numbers(two));
        let ray = first_difference(&one, &two).unwrap_or(0);
        let distance = |numbers: &[f64]| numbers.get(ray).copied().map(Value::Real);
        let quantity = format!("reading, number {} of {}", ray + 1, one.len());
        return Some(found("distances", quantity, [distance(&one), distance(&two)]));
    }
    let field = if compared.table == "sensorReading" { key.2.as_str() } else { compared.columns[index] };
    let (quantity, part) = compared.quantity_name(index, key);
    let quantity = if part.is_empty() { quantity } else { format!("{quantity}, {part}") };
    Some(found(field, quantity, [Some(one[index].clone()), Some(two[index].clone())]))
}

/// Updates the largest deviations of a body by those in a step.
fn update_deviation(
    bodies: &mut BTreeMap<usize, Deviation>,
    compared: &ComparedTable,
    key: &RowKey,
    values: &[Option<Vec<Value>>; 2],
) {
    let (Some(one), Some(two)) = (&values[0], &values[1]) else { return };
    let number = |row: &[Value], index: usize| row.get(index).and_then(Value::number).unwrap_or(f64::NAN);
    let place = |column: &str| compared.columns.iter().position(|known| *known == column).unwrap_or(usize::MAX);
    let distance = |columns: [&str; 3]| {
        let square = |column: &str| (number(one, place(column)) - number(two, place(column))).powi(2);
        let [x, y, z] = columns.map(square);
        (x + y + z).sqrt()
    };
    let turn = |row: &[Value]| ["axis_x", "axis_y", "axis_z", "angle"].map(|column| number(row, place(column)));
    let body = bodies.entry(key.1).or_default();
    body.position.update(distance(["x", "y", "z"]), key.0);
    body.angle.update(orientation::angle_between(turn(one), turn(two)), key.0);
    body.force.update(distance(["F_x", "F_y", "F_z"]), key.0);
}
