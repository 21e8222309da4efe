//! Checksums of the logged rows. They reveal a number, a text or a whole row that was changed later, and help to name
//! it.
//!
//! The hash of a step's state (`signal::StateChain`) covers values that rows do not hold, such as quaternions and
//! readings that are not fresh. So it cannot be computed again from rows. These checksums can, on every database.
//!
//! The checksums are sums, so the order in which rows are read back does not matter. Each value is mixed with its
//! position, that is the table, the column and the key of its row, into 64 bits. These are added modulo 2^64. A single
//! changed value always changes the sum. Any other change is missed with a probability of 2^-64.
//!
//! Sums over rows and sums over columns together locate a change, as in a grid. Each logged step has one sum (8 bytes
//! in its row). Each batch, of some hundred steps, has one sum for each column of each table, and one for each body,
//! joint, device or file (4 bytes each, about 500 bytes a batch). A value can be computed back from its share of a sum.
//! So `db verify` reports a single changed number with its logged value.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::{cell::Cell, schema::TableId, table_rows::TableRows};

/// Version of this scheme, as stored in `simulation.checksums`.
pub(crate) const SCHEME_VERSION: u64 = 1;

/// Bits of NULL in a checksum: those of a "not a number", which no column holds.
const NULL_BITS: u64 = 0x7ff8_6e75_6c6c_0000;

/// Number of latest steps with events whose events are counted. Events have no number before they are written, so the
/// count within their step identifies them. Events of a step are at most a few batches apart. A batch has at most 512
/// steps, nearly all of them without events. So 64 steps are enough, and they bound the memory.
const COUNTED_STEPS: usize = 64;

/// Checksums of a set of rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Checksums {
    /// Sum over all values.
    pub(crate) all: u64,
    /// Sums over the columns of each table; empty for a table without rows.
    pub(crate) columns: [Vec<u32>; TableId::COUNT],
    /// Sums over the rows with the same subject. A subject is a body, joint, device or file, or the step of commands,
    /// events and snapshots. The key is the index of the table and the number of the subject.
    pub(crate) subjects: BTreeMap<(u8, u32), u32>,
}

/// The columns and subjects of [`Checksums`], in the form stored in the row of a batch.
#[derive(Serialize, Deserialize)]
struct StoredChecksums {
    columns: Vec<(u8, Vec<u32>)>,
    subjects: Vec<(u8, u32, u32)>,
}

impl Checksums {
    /// Adds the checksums of other rows.
    pub(crate) fn add(&mut self, other: &Self) {
        self.combine(other, u64::wrapping_add, u32::wrapping_add);
    }

    /// Subtracts the checksums of removed rows. Subjects whose sum becomes 0 are removed.
    fn subtract(&mut self, other: &Self) {
        self.combine(other, u64::wrapping_sub, u32::wrapping_sub);
        self.subjects.retain(|_, sum| *sum != 0);
    }

    fn combine(&mut self, other: &Self, all: fn(u64, u64) -> u64, part: fn(u32, u32) -> u32) {
        self.all = all(self.all, other.all);
        for (own, others) in self.columns.iter_mut().zip(&other.columns) {
            own.resize(own.len().max(others.len()), 0);
            own.iter_mut().zip(others).for_each(|(own, other)| *own = part(*own, *other));
        }
        for (key, sum) in &other.subjects {
            let own = self.subjects.entry(*key).or_default();
            *own = part(*own, *sum);
        }
    }

    /// Encodes the checksums for the row of a batch, except for the sum over all values.
    fn to_bytes(&self) -> Vec<u8> {
        let columns = self.columns.iter().enumerate().filter(|(_, sums)| !sums.is_empty());
        let columns = columns.map(|(table, sums)| (table as u8, sums.clone())).collect();
        let subjects = self.subjects.iter().map(|(&(table, subject), &sum)| (table, subject, sum)).collect();
        postcard::to_allocvec(&StoredChecksums { columns, subjects }).unwrap_or_default()
    }

    /// Decodes the checksums of a batch's row; `None` if they are damaged. A log of an earlier version may lack the
    /// last columns of a table.
    pub(crate) fn from_bytes(all: i64, bytes: &[u8]) -> Option<Self> {
        let stored: StoredChecksums = postcard::from_bytes(bytes).ok()?;
        let mut columns: [Vec<u32>; TableId::COUNT] = Default::default();
        for (table, sums) in stored.columns {
            let width = TableId::ALL.get(usize::from(table))?.width();
            columns[usize::from(table)] = (sums.len() <= width).then_some(sums)?;
        }
        let subjects = stored.subjects.into_iter().map(|(table, subject, sum)| ((table, subject), sum)).collect();
        Some(Self { all: all as u64, columns, subjects })
    }
}

/// Computes the checksums of rows: of a batch before it is written, and of the same rows when they are read back.
#[derive(Debug)]
pub(crate) struct ChecksumBuilder {
    pub(crate) checksums: Checksums,
    /// Sum over the rows of each step. Commands, events and snapshots are left out, because a step without a row of its
    /// own may have them.
    pub(crate) steps: BTreeMap<u64, u64>,
    /// Hash of the name of each column of each table; `None` for a column that is not part of the checksums.
    columns: [Vec<Option<u64>>; TableId::COUNT],
    /// Number of events of each of the latest steps with events.
    events: BTreeMap<u64, u64>,
}

impl Default for ChecksumBuilder {
    fn default() -> Self {
        let columns = TableId::ALL.map(|table| {
            let hash = |name: &str| xxh3_64(format!("{}.{name}", table.name()).as_bytes());
            let names = table.inserted().iter().enumerate();
            names.map(|(place, (name, _))| table.is_summed(place).then(|| hash(name))).collect()
        });
        Self { checksums: Checksums::default(), steps: BTreeMap::new(), columns, events: BTreeMap::new() }
    }
}

impl ChecksumBuilder {
    /// A builder for the columns that these checksums have. Columns that a later version added are not in checksums of
    /// earlier versions.
    pub(crate) fn with_columns_of(checksums: &Checksums) -> Self {
        let mut builder = Self::default();
        for (columns, sums) in builder.columns.iter_mut().zip(&checksums.columns).filter(|(_, sums)| !sums.is_empty()) {
            columns.truncate(sums.len());
        }
        builder
    }

    /// Completes a batch: sets the checksum of each logged step, and adds the batch's own row with its checksums.
    pub(crate) fn seal(&mut self, rows: &mut TableRows, number: u64) {
        (self.checksums, self.steps) = (Checksums::default(), BTreeMap::new());
        let (mut first, mut last) = (u64::MAX, 0);
        for table in TableId::ALL.into_iter().filter(|&table| table != TableId::Batch) {
            for row in rows.cells(table).chunks_exact(table.width()) {
                if let Some(step) = self.add_row(table, row) {
                    (first, last) = (first.min(step), last.max(step));
                }
            }
        }
        let (width, checksum) = (TableId::SimulationRow.width(), TableId::SimulationRow.column_index("checksum"));
        for row in rows.cells_mut(TableId::SimulationRow).chunks_exact_mut(width) {
            if let Cell::Step(step) = row[0] {
                row[checksum] = self.steps.get(&step).copied().unwrap_or(0).into();
            }
        }
        let range = if first <= last { [first.into(), last.into()] } else { [Cell::Null, Cell::Null] };
        let [first, last] = range;
        let bytes = Cell::Bytes(self.checksums.to_bytes().into());
        rows.push(TableId::Batch, [Cell::Run, number.into(), first, last, self.checksums.all.into(), bytes]);
    }

    /// Corrects the row of a sealed batch after rows have been replaced. `table` must be a table whose rows are not
    /// part of the checksums of steps.
    pub(crate) fn reseal(rows: &mut TableRows, table: TableId, before: &[Cell], after: &[Cell]) {
        let sums = |cells: &[Cell]| {
            let mut builder = Self::default();
            for row in cells.chunks_exact(table.width()) {
                builder.add_row(table, row);
            }
            builder.checksums
        };
        let all = TableId::ALL.into_iter().filter(|&table| table != TableId::Batch);
        let steps = all
            .flat_map(|table| rows.cells(table).chunks_exact(table.width()).filter_map(move |row| step_of(table, row)));
        let range = steps.fold(None, |range: Option<(u64, u64)>, step| {
            let (first, last) = range.unwrap_or((step, step));
            Some((first.min(step), last.max(step)))
        });
        let [_, _, first, last, sum, bytes] = rows.cells_mut(TableId::Batch).as_mut_slice() else { return };
        let (Cell::Integer(all), Cell::Bytes(stored)) = (&*sum, &*bytes) else { return };
        let Some(mut checksums) = Checksums::from_bytes(*all, stored) else { return };
        checksums.add(&sums(after));
        checksums.subtract(&sums(before));
        [*first, *last] = range.map_or([Cell::Null, Cell::Null], |(first, last)| [first.into(), last.into()]);
        (*sum, *bytes) = (checksums.all.into(), Cell::Bytes(checksums.to_bytes().into()));
    }

    /// Adds a row, and returns the step that it belongs to.
    pub(crate) fn add_row(&mut self, table: TableId, row: &[Cell]) -> Option<u64> {
        let step = step_of(table, row);
        let key = self.key(table, row, step);
        let columns = self.columns[table as usize].len();
        self.checksums.columns[table as usize].resize(columns, 0);
        let mut sum = 0_u64;
        for (column, cell) in row.iter().enumerate().take(columns).skip(table.key_columns()) {
            let share = self.share(table, key, column, cell);
            sum = sum.wrapping_add(share);
            let total = &mut self.checksums.columns[table as usize][column];
            *total = total.wrapping_add(share as u32);
        }
        self.checksums.all = self.checksums.all.wrapping_add(sum);
        if let Some(subject) = subject_of(table, row, step) {
            let total = self.checksums.subjects.entry((table as u8, subject)).or_default();
            *total = total.wrapping_add(sum as u32);
        }
        if let Some(step) = step.filter(|_| table.table().has_rows_of_steps()) {
            let total = self.steps.entry(step).or_default();
            *total = total.wrapping_add(sum);
        }
        step
    }

    /// Hash of the row's key, with which every value of the row is mixed.
    pub(crate) fn key(&mut self, table: TableId, row: &[Cell], step: Option<u64>) -> u64 {
        let mut key = xxh3_64(&[table as u8]);
        for cell in &row[..table.key_columns()] {
            key = mix(key ^ bits_of(cell).unwrap_or(0));
        }
        if let Some(step) = step.filter(|_| table == TableId::Event) {
            let count = self.events.entry(step).or_default();
            *count += 1;
            key = mix(key ^ *count);
            if self.events.len() > COUNTED_STEPS {
                self.events.pop_first();
            }
        }
        key
    }

    /// Share of a value in the sums; 0 in a column that is not part of the checksums.
    pub(crate) fn share(&self, table: TableId, key: u64, column: usize, cell: &Cell) -> u64 {
        self.name_hash(table, column).zip(bits_of(cell)).map_or(0, |(name, bits)| mix(bits ^ key ^ name))
    }

    /// Bits of the value that has this share in the sums: the inverse of [`ChecksumBuilder::share`].
    pub(crate) fn bits_of_share(&self, table: TableId, key: u64, column: usize, share: u64) -> u64 {
        unmix(share) ^ key ^ self.name_hash(table, column).unwrap_or(0)
    }

    fn name_hash(&self, table: TableId, column: usize) -> Option<u64> {
        self.columns[table as usize].get(column).copied().flatten()
    }
}

/// Checksum of the values that complete a run's row at its end, in the order of `schema::columns_at_end`.
pub(crate) fn end_checksum(values: &[Cell]) -> u64 {
    // An empty text in these columns is stored as NULL.
    let bits = |cell: &Cell| if *cell == Cell::from("") { Some(NULL_BITS) } else { bits_of(cell) };
    let share = |(place, cell): (usize, &Cell)| bits(cell).map_or(0, |bits| mix(bits ^ mix(place as u64)));
    values.iter().enumerate().map(share).fold(0, u64::wrapping_add)
}

/// True if the values of a run's end have this checksum. In a log of an earlier version, columns added by later
/// versions are NULL and not part of the checksum.
pub(crate) fn matches_end(checksum: u64, mut values: &[Cell]) -> bool {
    while let [earlier @ .., Cell::Null] = values
        && end_checksum(values) != checksum
    {
        values = earlier;
    }
    end_checksum(values) == checksum
}

/// Bits of a value; `None` for the run itself, whose number differs between databases.
fn bits_of(cell: &Cell) -> Option<u64> {
    Some(match cell {
        Cell::Run => return None,
        Cell::Integer(integer) => *integer as u64,
        // SQLite does not keep the sign of zero. Adding zero turns -0 into 0.
        Cell::Real(real) if real.is_finite() => (real + 0.0).to_bits(),
        Cell::Null | Cell::Real(_) => NULL_BITS,
        Cell::Text(text) => xxh3_64(text.as_bytes()),
        Cell::Bytes(bytes) => xxh3_64(bytes),
        Cell::Step(step) => *step,
        Cell::Robot(number) | Cell::Component(number) => u64::from(*number),
    })
}

/// The value with these bits; `None` if it cannot be computed back, such as a text. `like` is a value of the same
/// column.
pub(crate) fn value_of_bits(bits: u64, like: &Cell) -> Option<Cell> {
    match like {
        _ if bits == NULL_BITS => Some(Cell::Null),
        Cell::Integer(_) => Some(Cell::Integer(bits as i64)),
        // Nearly all columns that may be NULL hold real numbers.
        Cell::Real(_) | Cell::Null => Some(f64::from_bits(bits)).filter(|real| real.is_finite()).map(Cell::Real),
        _ => None,
    }
}

/// Step that a row belongs to.
fn step_of(table: TableId, row: &[Cell]) -> Option<u64> {
    match (table, row) {
        (TableId::Command | TableId::Event | TableId::Snapshot, [_, Cell::Integer(step), ..]) => Some(*step as u64),
        (_, [Cell::Step(step), ..]) => Some(*step),
        _ => None,
    }
}

/// Subject of a row: the number of the body, joint, device or file that the row describes, or the step.
pub(crate) fn subject_of(table: TableId, row: &[Cell], step: Option<u64>) -> Option<u32> {
    match table {
        TableId::Simulation | TableId::SimulationRow | TableId::Batch => None,
        TableId::Command | TableId::Event | TableId::Snapshot => step.map(|step| step as u32),
        _ => row[..table.key_columns()].iter().find_map(|cell| match cell {
            Cell::Component(number) | Cell::Robot(number) => Some(*number),
            Cell::Integer(number) => Some(*number as u32),
            _ => None,
        }),
    }
}

/// A permutation of the 64-bit numbers in which every bit of the result depends on every bit of the argument: the
/// finalizer of SplitMix64 (Steele and others, 2014).
fn mix(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// The inverse of [`mix`]. The factors are the inverses modulo 2^64 of those in `mix`.
fn unmix(mut bits: u64) -> u64 {
    bits = bits ^ bits >> 31 ^ bits >> 62;
    bits = bits.wrapping_mul(0x3196_42b2_d24d_8ec3);
    bits = bits ^ bits >> 27 ^ bits >> 54;
    bits = bits.wrapping_mul(0x96de_1b17_3f11_9089);
    bits = bits ^ bits >> 30 ^ bits >> 60;
    bits.wrapping_sub(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows(values: &[f64]) -> TableRows {
        let mut rows = TableRows::default();
        for (index, value) in values.iter().enumerate() {
            let step = 1 + index as u64 / 4;
            let mut row = vec![Cell::Step(step), Cell::Component(index as u32 % 4)];
            row.resize(TableId::JointPose.width(), Cell::Real(*value));
            rows.cells_mut(TableId::JointPose).extend(row);
            if index % 4 == 3 {
                let mut row = vec![Cell::Step(step), Cell::Run];
                row.resize(TableId::SimulationRow.width(), Cell::Null);
                rows.cells_mut(TableId::SimulationRow).extend(row);
            }
        }
        rows
    }

    fn sums(rows: &TableRows) -> (Checksums, BTreeMap<u64, u64>) {
        let mut builder = ChecksumBuilder::default();
        builder.seal(&mut rows.clone(), 2);
        (builder.checksums, builder.steps)
    }

    proptest! {
        #[test]
        fn mixing_can_be_undone(bits: u64) {
            prop_assert_eq!(unmix(mix(bits)), bits);
        }

        #[test]
        fn a_flipped_bit_shows_in_its_step_column_and_part_alone_and_tells_what_it_was(
            values in prop::collection::vec(-1e3..1e3_f64, 16), row in 0..16_usize, column in 2..20_usize, bit in 0..52_u32
        ) {
            let plain = rows(&values);
            let mut changed = plain.clone();
            let width = TableId::JointPose.width();
            let (step, subject) = (1 + row as u64 / 4, row as u32 % 4);
            let cell = &mut changed.cells_mut(TableId::JointPose)[row * width + column];
            *cell = Cell::Real(f64::from_bits(values[row].to_bits() ^ 1 << bit));
            let ((one, steps), (two, others)) = (sums(&plain), sums(&changed));
            prop_assert_ne!(one.all, two.all);
            let [one_table, two_table] = [&one, &two].map(|sums| &sums.columns[TableId::JointPose as usize]);
            let columns: Vec<usize> = (0..width).filter(|&column| one_table[column] != two_table[column]).collect();
            prop_assert_eq!(columns, [column]);
            let differ = |key: &&(u8, u32)| one.subjects[key] != two.subjects[key];
            let subjects: Vec<u32> = one.subjects.keys().filter(differ).map(|key| key.1).collect();
            prop_assert_eq!(subjects, [subject]);
            let found: Vec<u64> = steps.keys().filter(|key| steps[key] != others[key]).copied().collect();
            prop_assert_eq!(found, [step]);
            let mut builder = ChecksumBuilder::default();
            let cells = &changed.cells(TableId::JointPose)[row * width..][..width];
            let key = builder.key(TableId::JointPose, cells, Some(step));
            let share = builder.share(TableId::JointPose, key, column, &cells[column]);
            let before = share.wrapping_add(steps[&step]).wrapping_sub(others[&step]);
            let bits = builder.bits_of_share(TableId::JointPose, key, column, before);
            prop_assert_eq!(value_of_bits(bits, &cells[column]), Some(Cell::Real(values[row])));
        }
    }

    #[test]
    fn the_stored_sums_read_back_and_anything_else_is_refused() {
        let (plain, _) = sums(&rows(&[1.5; 8]));
        assert_eq!(Checksums::from_bytes(plain.all as i64, &plain.to_bytes()), Some(plain.clone()));
        assert_eq!(Checksums::from_bytes(0, &[0xff; 9]), None);
        let bytes = plain.to_bytes();
        assert_eq!(Checksums::from_bytes(0, &bytes[..bytes.len() - 1]), None);
    }

    #[test]
    fn a_log_from_before_a_column_was_added_has_the_same_checksums() {
        let width = TableId::JointPose.width();
        let batch = rows(&[1.5; 8]);
        let mut earlier = ChecksumBuilder::default();
        earlier.columns[TableId::JointPose as usize].truncate(width - 1);
        earlier.seal(&mut batch.clone(), 2);
        let stored = Checksums::from_bytes(earlier.checksums.all as i64, &earlier.checksums.to_bytes()).unwrap();
        let mut again = ChecksumBuilder::with_columns_of(&stored);
        again.seal(&mut batch.clone(), 2);
        assert_eq!((&again.checksums, &again.steps), (&stored, &earlier.steps));
        assert_ne!(sums(&batch).0.all, stored.all);
        let end = [Cell::from("finished"), Cell::Null, Cell::Integer(3)];
        let added = [&end[..], &[Cell::Null]].concat();
        assert!(matches_end(end_checksum(&end), &end) && matches_end(end_checksum(&end), &added));
        assert!(
            !matches_end(end_checksum(&end), &end[..2])
                && !matches_end(end_checksum(&end), &[&end[..], &[Cell::Real(1.0)]].concat())
        );
    }
}
