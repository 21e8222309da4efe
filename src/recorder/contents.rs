//! What rows hold against the checksums they were logged with, and what is named of a difference.

use super::{
    Inquiry, RecorderError,
    cell::Cell,
    checksum::{self, Summer, Sums},
    complete::Check,
    inquiry::{self, Part, Selection},
    table::Table,
};

/// Batches whose checksums are read at a time.
const BATCHES: u64 = 256;

/// Names that are told of what was changed.
const MOST_NAMES: usize = 4;

/// Batches whose rows cannot be told apart by their steps, nearly always one: events and commands while the clock stands still
/// come in later batches of the same step.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// Whether the batch before it is there: if not, some rows of its steps may have no checksums.
    follows: bool,
    /// The first and the last step; none for the model.
    pub(super) steps: Option<(u64, u64)>,
    sums: Sums,
}

/// The batches of a run, in groups.
pub(super) struct Groups {
    run: i64,
    read: Vec<(u64, Group)>,
    /// The number of the last batch that was read; none if there are no more.
    at: Option<u64>,
    count: u64,
    findings: Vec<String>,
}

impl Groups {
    pub(super) fn new(has_table: bool, run: i64) -> Self {
        Self { run, read: Vec::new(), at: has_table.then_some(0), count: 0, findings: Vec::new() }
    }

    /// How many batches there were.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// What was found of the batches themselves.
    pub(super) fn take_findings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.findings)
    }

    pub(super) fn next(&mut self, inquiry: &mut Inquiry) -> Result<Option<Group>, RecorderError> {
        let Some((_, mut group)) = self.batch(inquiry)? else { return Ok(None) };
        while let Some((_, last)) = group.steps {
            self.fill(inquiry)?;
            let Some((_, next)) = self.read.first() else { break };
            let Some((first, end)) = next.steps.filter(|(first, _)| *first <= last) else { break };
            group.sums.add(&next.sums);
            group.follows &= next.follows;
            group.steps = group.steps.map(|(begin, last)| (begin.min(first), last.max(end)));
            self.read.remove(0);
        }
        Ok(Some(group))
    }

    fn batch(&mut self, inquiry: &mut Inquiry) -> Result<Option<(u64, Group)>, RecorderError> {
        self.fill(inquiry)?;
        Ok((!self.read.is_empty()).then(|| self.read.remove(0)))
    }

    /// Reads on if nothing is left.
    fn fill(&mut self, inquiry: &mut Inquiry) -> Result<(), RecorderError> {
        let (Some(at), true) = (self.at, self.read.is_empty()) else { return Ok(()) };
        let mut last = at;
        let run = self.run;
        let sql = format!(
            "SELECT number, first_step, last_step, checksum, sums FROM batch WHERE simulationID = {run} AND number > {at}
            ORDER BY number LIMIT {BATCHES}"
        );
        let (read, findings) = (&mut self.read, &mut self.findings);
        inquiry.stream(&sql, |row| {
            let count = |column: usize| row[column].integer().and_then(|number| u64::try_from(number).ok());
            let number = count(0).unwrap_or(u64::MAX);
            let follows = number == last + 1;
            if !follows {
                findings.push(match number - last {
                    2 => format!("batch {} is missing, and with it its rows or their checksums", last + 1),
                    _ => format!(
                        "batches {} to {} are missing, and with them their rows or their checksums",
                        last + 1,
                        number - 1
                    ),
                });
            }
            last = number;
            let sums = Sums::read(row[3].integer().unwrap_or(0), row[4].bytes());
            if sums.is_none() {
                findings.push(format!("the checksums of batch {number} are damaged"));
            }
            let group = Group {
                follows: follows && sums.is_some(),
                // The first is the model.
                steps: count(1).zip(count(2)).filter(|(first, last)| number > 1 && first <= last),
                sums: sums.unwrap_or_default(),
            };
            read.push((number, group));
            Ok::<_, RecorderError>(())
        })?;
        self.count += self.read.len() as u64;
        self.at = (self.read.len() as u64 == BATCHES).then_some(last);
        Ok(())
    }
}

/// What the numbers of a run's parts are called.
pub(super) struct Names {
    robots: Vec<String>,
    first: i64,
    components: Vec<(i64, String)>,
}

impl Names {
    pub(super) fn of(inquiry: &mut Inquiry, run: i64) -> Result<Self, RecorderError> {
        let mut robots = Vec::new();
        if let Some(table) = inquiry::Table::named("robot") {
            inquiry.rows(&Selection::all(table, run), &["name"], |row| {
                robots.push(row[0].text().to_owned());
                Ok::<_, RecorderError>(())
            })?;
        }
        let components = inquiry.components(run)?.into_iter().map(|component| {
            let noun = match component.part {
                Part::Body => "body",
                Part::Joint => "joint",
                Part::Device => "device",
            };
            (component.number, format!("{noun} {}", component.name))
        });
        let mut components: Vec<(i64, String)> = components.collect();
        components.sort();
        Ok(Self { robots, first: components.first().map_or(0, |first| first.0), components })
    }

    fn part(&self, table: Table, part: u32) -> String {
        let known = match table {
            Table::SimulationFile => return format!("file {part}"),
            Table::Command | Table::Event | Table::Snapshot => return format!("step {part}"),
            Table::Robot => self.robots.get(part as usize).map(|name| format!("robot {name}")),
            _ => {
                let number = self.first.wrapping_add(i64::from(part));
                let place = self.components.binary_search_by_key(&number, |component| component.0);
                place.ok().map(|place| self.components[place].1.clone())
            }
        };
        known.unwrap_or_else(|| format!("number {part}"))
    }
}

/// Where sums are not those that were logged.
struct Difference {
    table: Table,
    columns: Vec<usize>,
    parts: Vec<u32>,
}

impl Check<'_> {
    /// Holds the tables of the model against the checksums of the first batch.
    pub(super) fn model(&mut self, group: &Group) -> Result<(), RecorderError> {
        let mut summer = Summer::default();
        for table in Table::ALL {
            if matches!(table, Table::Batch | Table::Command | Table::Event | Table::Snapshot)
                || table.has_row_of_step()
            {
                continue;
            }
            self.rows(table, None, None, |row| {
                summer.row(table, row);
            })?;
        }
        // The state that the run goes on from.
        if let Some(parent) = self.claim.parent_step {
            self.rows(Table::Snapshot, Some((parent, parent)), None, |row| {
                summer.row(Table::Snapshot, row);
            })?;
        }
        self.compare(group, &summer, &[])
    }

    /// Holds rows against the checksums of their batches, and tells what was changed. `changed` has the steps whose checksum
    /// is another, and by how much.
    pub(super) fn compare(
        &mut self,
        group: &Group,
        summer: &Summer,
        changed: &[(u64, u64)],
    ) -> Result<(), RecorderError> {
        // Where a batch is missing, that is told already.
        if !group.follows || (summer.sums == group.sums && changed.is_empty()) {
            return Ok(());
        }
        let differences = differences(&summer.sums, &group.sums);
        if differences.is_empty() {
            for (step, _) in changed {
                self.tell(format!("step {step}: its checksum in simulationRow is not what was logged"));
            }
            if changed.is_empty() {
                self.tell(format!("the checksums in batch{} are not what was logged", steps_of(group.steps)));
            }
            return Ok(());
        }
        for difference in &differences {
            if let [(step, delta)] = changed
                && let Some(finding) = self.one(difference, *step, *delta, group, summer)?
            {
                self.tell(finding);
                continue;
            }
            self.tell(self.several(difference, group, changed));
        }
        Ok(())
    }

    /// Names what was changed by the table, columns and parts whose sums are others.
    fn several(&self, difference: &Difference, group: &Group, changed: &[(u64, u64)]) -> String {
        let Difference { table, columns, parts } = difference;
        let all: Vec<usize> =
            (table.key_columns()..table.width()).filter(|column| checksum::is_summed(*table, *column)).collect();
        let names: Vec<&str> = table.columns().split(", ").map(str::trim).collect();
        let what = match columns[..] == all[..] && all.len() > 1 {
            true => "rows".to_owned(),
            false => listed(columns.iter().map(|&column| names[column].to_owned())),
        };
        let whose = listed(parts.iter().map(|&part| self.names.part(*table, part)));
        let whose = if whose.is_empty() { whose } else { format!(" of {whose}") };
        let at = match (changed, table.has_row_of_step()) {
            ([], true) => format!("{}: ", steps_of(group.steps).trim_start()),
            ([(step, _)], true) => format!("step {step}: "),
            ([first, .., last], true) => {
                format!("steps {} to {}, {} of them: ", first.0, last.0, changed.len())
            }
            (_, false) => String::new(),
        };
        let table = table.name();
        let are = if what == "rows" || what.contains([',', ' ']) { "are" } else { "is" };
        format!("{at}{what}{whose} in {table} {are} not what was logged")
    }

    /// Names the only value that was changed in a step, and what it was: as the sums tell how much is missing, the value
    /// follows, and the sum of its column confirms it.
    fn one(
        &mut self,
        difference: &Difference,
        step: u64,
        delta: u64,
        group: &Group,
        summer: &Summer,
    ) -> Result<Option<String>, RecorderError> {
        let (Difference { table, columns, parts }, mut at) = (difference, Summer::default());
        let [column] = columns[..] else { return Ok(None) };
        let sums = |sums: &Sums| sums.columns[*table as usize].get(column).copied().unwrap_or(0);
        if sums(&group.sums).wrapping_sub(sums(&summer.sums)) != delta as u32 || parts.len() > 1 {
            return Ok(None);
        }
        let mut found = Vec::new();
        self.rows(*table, Some((step, step)), None, |row| {
            let key = at.key(*table, row, Some(step));
            let part = checksum::part(*table, row, Some(step));
            if part == parts.first().copied() {
                let share = at.share(*table, key, column, &row[column]).wrapping_add(delta);
                let before = checksum::told(at.value(*table, key, column, share), &row[column]);
                found.push((part, row.to_vec(), before));
            }
        })?;
        let [(part, row, before)] = &found[..] else { return Ok(None) };
        let name = table.columns().split(", ").nth(column).unwrap_or_default().trim();
        let whose = part.map_or(String::new(), |part| format!(" of {}", self.names.part(*table, part)));
        let was = before.as_ref().map_or("not what was logged".into(), |before| {
            format!("{}, and {} was logged", shown(&row[column]), shown(before))
        });
        Ok(Some(format!("step {step}: {name}{whose} in {} is {was}", table.name())))
    }
}

/// The tables whose sums differ, with columns and parts.
fn differences(found: &Sums, logged: &Sums) -> Vec<Difference> {
    let of = |table: Table| {
        let [one, two] = [found, logged].map(|sums| &sums.columns[table as usize]);
        let sum = |sums: &[u32], column: usize| sums.get(column).copied().unwrap_or(0);
        let columns = (0..table.width()).filter(|&column| sum(one, column) != sum(two, column)).collect();
        let keys = found.parts.keys().chain(logged.parts.keys()).filter(|key| key.0 == table as u8);
        let differs = |key: &&(u8, u32)| found.parts.get(key).unwrap_or(&0) != logged.parts.get(key).unwrap_or(&0);
        let mut parts: Vec<u32> = keys.filter(differs).map(|key| key.1).collect();
        parts.sort_unstable();
        parts.dedup();
        Difference { table, columns, parts }
    };
    let all = Table::ALL.into_iter().map(of);
    all.filter(|difference| !difference.columns.is_empty() || !difference.parts.is_empty()).collect()
}

fn steps_of(steps: Option<(u64, u64)>) -> String {
    steps.map_or(" 1".into(), |(first, last)| format!(" of steps {first} to {last}"))
}

/// The first of some names, and how many more there are.
fn listed(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    let more = names.len().saturating_sub(MOST_NAMES);
    let text = names[..names.len() - more].join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}

fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Integer(integer) => integer.to_string(),
        Cell::Real(real) => format!("{real:?}"),
        Cell::Null => "nothing".into(),
        _ => "another".into(),
    }
}
