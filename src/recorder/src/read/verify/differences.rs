//! Compares rows with the checksums in the log, and names the changed values.

use super::{batches::BatchGroup, findings::Findings, names::Names};
use crate::{
    database::error::RecorderError,
    format::{
        cell::Cell,
        checksum::{self, ChecksumBuilder, Checksums},
        schema::TableId,
    },
    read::{
        inquiry::Inquiry,
        stored_rows::{self, StoredIds},
    },
};

/// Largest number of changed columns or subjects that a finding names.
const MAX_NAMES: usize = 4;

/// A step whose checksum differs, and the logged checksum minus the present one, modulo 2^64.
pub(super) type ChangedStep = (u64, u64);

/// Columns and subjects of a table whose checksums differ from the logged ones.
struct Difference {
    table: TableId,
    columns: Vec<usize>,
    subjects: Vec<u32>,
}

/// Comparison of the rows of a group of batches with the logged checksums.
pub(super) struct Comparison<'a> {
    pub(super) inquiry: &'a mut Inquiry,
    pub(super) ids: &'a StoredIds,
    pub(super) names: &'a Names,
    pub(super) group: &'a BatchGroup,
    /// Checksums of the rows as they are now.
    pub(super) found: &'a Checksums,
    /// Steps whose checksum differs.
    pub(super) changed: &'a [ChangedStep],
}

impl Comparison<'_> {
    /// Adds a finding for each table that differs.
    pub(super) fn report_differences(&mut self, findings: &mut Findings) -> Result<(), RecorderError> {
        // If a batch is missing, that is reported instead.
        if !self.group.follows || (*self.found == self.group.checksums && self.changed.is_empty()) {
            return Ok(());
        }
        let differences = find_differences(self.found, &self.group.checksums);
        if differences.is_empty() {
            for (step, _) in self.changed {
                findings.add(format!("step {step}: its checksum in simulationRow is not what was logged"));
            }
            if self.changed.is_empty() {
                findings
                    .add(format!("the checksums in batch{} are not what was logged", steps_phrase(self.group.steps)));
            }
            return Ok(());
        }
        for difference in &differences {
            let single = match self.changed {
                [(step, delta)] => self.single_value(difference, *step, *delta)?,
                _ => None,
            };
            findings.add(single.unwrap_or_else(|| self.several_values(difference)));
        }
        Ok(())
    }

    /// Describes changed values by the table, columns and subjects whose sums differ.
    fn several_values(&self, difference: &Difference) -> String {
        let Difference { table, columns, subjects } = difference;
        let all: Vec<usize> = (table.key_columns()..table.width()).filter(|&column| table.is_summed(column)).collect();
        let names = table.column_names();
        let what = match columns[..] == all[..] && all.len() > 1 {
            true => "rows".to_owned(),
            false => join_names(columns.iter().map(|&column| names[column].to_owned())),
        };
        let whose = join_names(subjects.iter().map(|&subject| self.names.subject(*table, subject)));
        let whose = if whose.is_empty() { whose } else { format!(" of {whose}") };
        let at = match (self.changed, table.table().has_rows_of_steps()) {
            ([], true) => format!("{}: ", steps_phrase(self.group.steps).trim_start()),
            ([(step, _)], true) => format!("step {step}: "),
            ([first, .., last], true) => {
                format!("steps {} to {}, {} of them: ", first.0, last.0, self.changed.len())
            }
            (_, false) => String::new(),
        };
        let are = if what == "rows" || what.contains([',', ' ']) { "are" } else { "is" };
        format!("{at}{what}{whose} in {} {are} not what was logged", table.name())
    }

    /// Describes a single changed value of a step, with the logged value; `None` if more than one value was changed.
    /// The logged value follows from the difference of the step's checksum, and the sum of the value's column confirms
    /// it.
    fn single_value(
        &mut self,
        difference: &Difference,
        step: u64,
        delta: u64,
    ) -> Result<Option<String>, RecorderError> {
        let Difference { table, columns, subjects } = difference;
        let [column] = columns[..] else { return Ok(None) };
        let sum = |checksums: &Checksums| checksums.columns[*table as usize].get(column).copied().unwrap_or(0);
        if sum(&self.group.checksums).wrapping_sub(sum(self.found)) != delta as u32 || subjects.len() > 1 {
            return Ok(None);
        }
        let (mut builder, mut found) = (ChecksumBuilder::default(), Vec::new());
        stored_rows::for_each_row(self.inquiry, self.ids, *table, (Some((step, step)), None), |row| {
            let key = builder.key(*table, row, Some(step));
            let subject = checksum::subject_of(*table, row, Some(step));
            if subject == subjects.first().copied() {
                let share = builder.share(*table, key, column, &row[column]).wrapping_add(delta);
                let bits = builder.bits_of_share(*table, key, column, share);
                found.push((subject, row[column].clone(), checksum::value_of_bits(bits, &row[column])));
            }
            Ok::<_, RecorderError>(())
        })?;
        let [(subject, now, before)] = &found[..] else { return Ok(None) };
        let name = table.column_names()[column];
        let whose = subject.map_or(String::new(), |subject| format!(" of {}", self.names.subject(*table, subject)));
        let was = before.as_ref().map_or("not what was logged".into(), |before| {
            format!("{}, and {} was logged", cell_text(now), cell_text(before))
        });
        Ok(Some(format!("step {step}: {name}{whose} in {} is {was}", table.name())))
    }
}

/// Finds the tables whose checksums differ, with the columns and subjects.
fn find_differences(found: &Checksums, logged: &Checksums) -> Vec<Difference> {
    let difference_of = |table: TableId| {
        let [one, two] = [found, logged].map(|checksums| &checksums.columns[table as usize]);
        let sum = |sums: &[u32], column: usize| sums.get(column).copied().unwrap_or(0);
        let columns = (0..table.width()).filter(|&column| sum(one, column) != sum(two, column)).collect();
        let keys = found.subjects.keys().chain(logged.subjects.keys()).filter(|key| key.0 == table as u8);
        let subject_sum = |checksums: &Checksums, key: &(u8, u32)| checksums.subjects.get(key).copied().unwrap_or(0);
        let differs = |key: &&(u8, u32)| subject_sum(found, key) != subject_sum(logged, key);
        let mut subjects: Vec<u32> = keys.filter(differs).map(|key| key.1).collect();
        subjects.sort_unstable();
        subjects.dedup();
        Difference { table, columns, subjects }
    };
    let all = TableId::ALL.into_iter().map(difference_of);
    all.filter(|difference| !difference.columns.is_empty() || !difference.subjects.is_empty()).collect()
}

/// Steps of a group as part of a sentence, with a space before: the model has no steps and is batch 1.
fn steps_phrase(steps: Option<(u64, u64)>) -> String {
    steps.map_or(" 1".into(), |(first, last)| format!(" of steps {first} to {last}"))
}

/// The first [`MAX_NAMES`] names, separated by commas, and the number of further ones.
fn join_names(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    let more = names.len().saturating_sub(MAX_NAMES);
    let text = names[..names.len() - more].join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}

fn cell_text(cell: &Cell) -> String {
    match cell {
        Cell::Integer(integer) => integer.to_string(),
        Cell::Real(real) => format!("{real:?}"),
        Cell::Null => "nothing".into(),
        _ => "another".into(),
    }
}
