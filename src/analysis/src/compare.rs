//! Compares two runs step by step: where they begin to differ, to the bit, and how far apart each body gets.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::LazyLock,
};

use super::{AnalysisError, Progress, orientation, table};
use simpartner_recorder::{
    Cadence, Inquiry, RecordedRun, RowPolicy,
    inquiry::{ComponentKind, Selection, Table, Value, first_difference, parse_numbers},
};

/// Logged steps that are in memory at a time: some megabytes for a robot.
const CHUNK: u64 = 256;

/// The tables that are compared of a step, in the order of cause and effect.
static COMPARED: LazyLock<[Compared; 5]> = LazyLock::new(|| {
    // The values behind the step and the component.
    let state = |name: &str| -> Vec<&'static str> {
        let columns = Table::named(name).into_iter().flat_map(Table::columns);
        columns.skip(2).map(|(name, _)| name).collect()
    };
    [
        Compared { table: "command", number: "componentID", labels: 2, columns: vec!["ordinal", "text"] },
        Compared { table: "body_state", number: "bodyID", labels: 0, columns: state("body_state") },
        Compared { table: "jointPose", number: "jointID", labels: 0, columns: state("jointPose") },
        Compared { table: "sensorReading", number: "componentID", labels: 1, columns: vec!["field", "value"] },
        Compared { table: "scan", number: "componentID", labels: 0, columns: vec!["distances"] },
    ]
});

/// A table, the column with the number of a row's component, and the columns that are compared. In some tables a component has several
/// rows in a step; the first columns tell those apart.
struct Compared {
    table: &'static str,
    number: &'static str,
    labels: usize,
    columns: Vec<&'static str>,
}

/// Where two runs differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The step.
    pub step: u64,
    /// Body, joint or device.
    pub component: String,
    /// The number that differs: its column or the device's field; of a row that one run does not have the table.
    pub field: String,
    /// The same in words, such as `velocity, x`.
    pub quantity: String,
    /// The values; none is a row that the run does not have.
    pub values: [Option<Value>; 2],
}

/// A largest deviation.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Largest {
    /// How far apart.
    pub value: f64,
    /// At which step first.
    pub step: u64,
}

impl Largest {
    fn update(&mut self, value: f64, step: u64) {
        if value > self.value {
            *self = Self { value, step };
        }
    }
}

/// How far apart a body gets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Deviation {
    /// Which body.
    pub body: String,
    /// Between the origins, metres.
    pub position: Largest,
    /// Between the orientations, radians.
    pub angle: Largest,
    /// Between the forces of contact, newtons.
    pub force: Largest,
}

/// A quantity that differs somewhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Differing {
    /// How many bodies, joints or devices it differs of.
    pub components: BTreeSet<usize>,
    /// The first step in which it does.
    pub first: u64,
    /// In how many rows.
    pub rows: u64,
}

/// The result of a comparison.
#[derive(Debug, Default, PartialEq)]
pub struct Comparison {
    /// The step after which the runs are compared: 0, or the one that a fork goes on from.
    pub after: u64,
    /// The quantities that differ, by their names.
    pub differing: BTreeMap<String, Differing>,
    /// Steps that both have.
    pub common_steps: u64,
    /// How many steps only the one or the other has, and the first of them.
    pub alone: [Option<(u64, u64)>; 2],
    /// Bodies, joints and devices that only the one or the other has.
    pub strangers: [Vec<String>; 2],
    /// The lengths of a step in nanoseconds, if they differ.
    pub timesteps_ns: Option<[u64; 2]>,
    /// The first difference within the steps that both have.
    pub first: Option<Difference>,
    /// The bodies that both have.
    pub deviations: Vec<Deviation>,
}

impl Comparison {
    /// Whether nothing differs.
    pub fn equal(&self) -> bool {
        self.first.is_none()
            && self.timesteps_ns.is_none()
            && self.alone.iter().all(Option::is_none)
            && self.strangers.iter().all(Vec::is_empty)
    }
}

/// A run of a database.
pub struct Side<'a> {
    /// The database.
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
    let components = ComponentIndex::of(sides)?;
    found.strangers = [0, 1].map(|side| components.only_in(side));
    found.after = sides.iter().filter_map(|side| side.run.origin).max().unwrap_or(0);
    let bounds: Vec<(u64, u64)> = sides.iter().filter_map(|side| side.run.steps).collect();
    // Commands act also in steps without rows of state.
    let last = bounds.iter().map(|bounds| bounds.1).max().unwrap_or(0);
    progress.begin("comparing steps", last + 1);
    let mut bodies: BTreeMap<usize, Deviation> = BTreeMap::new();
    let mut last_rows = LastRows::default();
    last_rows.look_back(sides, &components, found.after)?;
    let mut from = found.after.saturating_add(1);
    while from <= last {
        progress.reach(from);
        // The side with more logged steps determines the chunk.
        let mut end = last;
        for side in &mut *sides {
            end = side.inquiry.chunk_end(side.run.simulation_id, (from, end), CHUNK)?;
        }
        let chunk = (from, end);
        from = end + 1;
        let steps = [steps(&mut sides[0], chunk)?, steps(&mut sides[1], chunk)?];
        let common = found.count_steps(&steps, [0, 1].map(|side| sides[side].run.cadence));
        let mut earliest: Option<Difference> = None;
        for compared in COMPARED.iter() {
            let [one, two] = [0, 1].map(|side| rows(&mut sides[side], compared, chunk, &components.numbers[side]));
            let mut pairs = pairs(one?, two?);
            last_rows.fill_in(sides, compared, &mut pairs);
            let relevant =
                pairs.iter().filter(|(key, _)| compared.table == "command" || common.binary_search(&key.0).is_ok());
            for (key, values) in relevant {
                if compared.table == "body_state" {
                    deviate(&mut bodies, compared, key, values);
                }
                found.count_differing(compared, key, values);
                if found.first.is_none() && earliest.as_ref().is_none_or(|earliest| key.0 < earliest.step) {
                    earliest = difference(compared, &components, key, values).or(earliest);
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
    /// Counts the quantities that differ in a row.
    fn count_differing(&mut self, compared: &Compared, key: &Key, values: &[Option<Vec<Value>>; 2]) {
        let mut differs = |quantity: String| {
            let differing =
                self.differing.entry(quantity).or_insert(Differing { first: key.0, ..Differing::default() });
            differing.first = differing.first.min(key.0);
            differing.components.insert(key.1);
            differing.rows += 1;
        };
        let (Some(one), Some(two)) = (&values[0], &values[1]) else {
            return differs(format!("{} in one run only", compared.row()));
        };
        let mut last = String::new();
        for (index, _) in one.iter().zip(two).enumerate().filter(|(_, (one, two))| !one.is_same(two)) {
            // A vector counts once.
            let quantity = compared.quantity(index, key).0;
            if quantity != last {
                differs(quantity.clone());
                last = quantity;
            }
        }
    }

    /// Counts the steps of a chunk and returns those that both have.
    fn count_steps(&mut self, steps: &[Vec<u64>; 2], cadences: [Cadence; 2]) -> Vec<u64> {
        for side in [0, 1] {
            // A step that the other run leaves out on purpose is not missing there.
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

/// A row of every step: its table, the component it is of, and what tells it from that component's others.
type RowKey = (&'static str, usize, String);

/// The last row of each component, for runs that leave out rows that are like the ones before.
#[derive(Default)]
struct LastRows([HashMap<RowKey, Vec<Value>>; 2]);

impl LastRows {
    /// Reads the last rows up to a step, which replace those that were left out behind it.
    fn look_back(
        &mut self,
        sides: &mut [Side<'_>; 2],
        components: &ComponentIndex,
        after: u64,
    ) -> Result<(), AnalysisError> {
        for side in [0, 1] {
            let from = (after + 1).saturating_sub(sides[side].run.reach());
            for compared in
                COMPARED.iter().filter(|compared| compared.may_lack(sides[side].run.row_policy)).collect::<Vec<_>>()
            {
                for ((_, component, label), values) in
                    rows(&mut sides[side], compared, (from, after), &components.numbers[side])?
                {
                    self.0[side].insert((compared.table, component, label), values);
                }
            }
        }
        Ok(())
    }

    /// Replaces a row that was left out by the one before it.
    fn fill_in(&mut self, sides: &[Side<'_>; 2], compared: &Compared, pairs: &mut [(Key, [Option<Vec<Value>>; 2])]) {
        for side in [0, 1].into_iter().filter(|&side| compared.may_lack(sides[side].run.row_policy)) {
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

impl Compared {
    /// Whether a run leaves out rows of this table that are like the ones before.
    fn may_lack(&self, policy: RowPolicy) -> bool {
        match (policy, self.table) {
            (RowPolicy::Always, _) | (_, "command") => false,
            (RowPolicy::Changed, _) => true,
            (RowPolicy::Moving, table) => !matches!(table, "sensorReading" | "scan"),
        }
    }

    /// What a row is.
    fn row(&self) -> &'static str {
        match self.table {
            "command" => "a command",
            "body_state" => "the state of a body",
            "jointPose" => "the state of a joint",
            _ => "a reading",
        }
    }

    /// A column in words: the quantity, and which number of it.
    fn quantity(&self, index: usize, key: &Key) -> (String, String) {
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

/// The components of both runs under one number each.
#[derive(Default)]
struct ComponentIndex {
    /// Bodies, joints and devices may have the same name.
    names: Vec<(ComponentKind, String)>,
    /// For each side, the places in `names` by the numbers in its log.
    numbers: [HashMap<i64, usize>; 2],
}

impl ComponentIndex {
    fn of(sides: &mut [Side<'_>; 2]) -> Result<Self, AnalysisError> {
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

    fn only_in(&self, side: usize) -> Vec<String> {
        let others: Vec<&usize> = self.numbers[1 - side].values().collect();
        let mut strangers: Vec<usize> =
            self.numbers[side].values().filter(|place| !others.contains(place)).copied().collect();
        strangers.sort_unstable();
        strangers.into_iter().map(|place| self.names[place].1.clone()).collect()
    }
}

/// A row's step, the place of its component in the index, and what else tells it apart.
type Key = (u64, usize, String);

/// A row's values.
type Row = (Key, Vec<Value>);

fn steps(side: &mut Side<'_>, chunk: (u64, u64)) -> Result<Vec<u64>, AnalysisError> {
    let mut found = Vec::new();
    let selection = selection(side, "simulationRow", chunk)?;
    side.inquiry.rows(&selection, &["step"], |row| {
        found.push(row[0].integer().unwrap_or(0) as u64);
        Ok::<_, AnalysisError>(())
    })?;
    Ok(found)
}

fn selection(side: &Side<'_>, table: &str, chunk: (u64, u64)) -> Result<Selection, AnalysisError> {
    Ok(Selection { steps: Some(chunk), ..Selection::all(self::table(table)?, side.run.simulation_id) })
}

/// The rows of a chunk, sorted by what they are of.
fn rows(
    side: &mut Side<'_>,
    compared: &Compared,
    chunk: (u64, u64),
    numbers: &HashMap<i64, usize>,
) -> Result<Vec<Row>, AnalysisError> {
    let selection = selection(side, compared.table, chunk)?;
    let columns: Vec<&str> = ["step", compared.number].into_iter().chain(compared.columns.iter().copied()).collect();
    let mut found = Vec::new();
    side.inquiry.rows(&selection, &columns, |row| {
        let step = row[0].integer().unwrap_or(0) as u64;
        // Every row is of a component that the run has entered before its first step.
        let Some(&component) = row[1].integer().and_then(|number| numbers.get(&number)) else { return Ok(()) };
        let label = match &row[2..2 + compared.labels.min(1)] {
            [Value::Text(text)] => text.clone(),
            // Commands in their order.
            [other] => format!("{:>10}", other.integer().unwrap_or(0)),
            _ => String::new(),
        };
        found.push(((step, component, label), row[2..].to_vec()));
        Ok::<_, AnalysisError>(())
    })?;
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// The rows of both sides by what they are of; what one does not have is `None` there.
fn pairs(one: Vec<Row>, two: Vec<Row>) -> Vec<(Key, [Option<Vec<Value>>; 2])> {
    let mut all: BTreeMap<Key, [Option<Vec<Value>>; 2]> = BTreeMap::new();
    for (key, values) in one {
        all.entry(key).or_default()[0] = Some(values);
    }
    for (key, values) in two {
        all.entry(key).or_default()[1] = Some(values);
    }
    all.into_iter().collect()
}

fn difference(
    compared: &Compared,
    components: &ComponentIndex,
    key: &Key,
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
            // Of a scan its first distance.
            Some(Value::Text(text)) if compared.table == "scan" => {
                parse_numbers(text).first().copied().map(Value::Real)
            }
            value => value.cloned(),
        };
        let values = values.clone().map(|values| values.and_then(last));
        return Some(found(field, format!("{} in one run only", compared.row()), values));
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
    let (quantity, part) = compared.quantity(index, key);
    let quantity = if part.is_empty() { quantity } else { format!("{quantity}, {part}") };
    Some(found(field, quantity, [Some(one[index].clone()), Some(two[index].clone())]))
}

/// Measures how far apart a body is in a step.
fn deviate(bodies: &mut BTreeMap<usize, Deviation>, compared: &Compared, key: &Key, values: &[Option<Vec<Value>>; 2]) {
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
    body.angle.update(orientation::between(turn(one), turn(two)), key.0);
    body.force.update(distance(["F_x", "F_y", "F_z"]), key.0);
}
