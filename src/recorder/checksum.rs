//! Checksums of the rows as they are logged, so that a number, a text or a whole row that was changed afterwards is found and named.
//!
//! The hash of a step's state (`signal::StateChain`) covers what rows do not hold, such as quaternions and readings that are not
//! fresh, so it cannot be computed again from rows. These checksums can, on every database. They are sums, so it does not
//! matter in which order rows come back: each value is mixed with the place it belongs to, that is table, column and key
//! of its row, into 64 bits, and these are added up without regard for overflow. A single value that has changed changes the
//! sum for certain; of any other change one in 2^64 goes unseen.
//!
//! What the sums run over narrows a change down as rows and columns of a grid do. Each logged step has one (8 bytes in its
//! row); each batch, of some hundred steps, has one for each column of each table and one for each body, joint, device or the
//! like (4 bytes each, about 500 bytes a batch). As a value can be computed back from its share of a sum, a single number that
//! was changed is told with what it was.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    cell::Cell,
    table::{Batch, TABLES, Table},
};

/// The version of this scheme, in `simulation.checksums`.
pub(super) const VERSION: u64 = 1;

/// In the place of a value that is NULL: the bits of a "not a number", which no column holds.
const NULL: u64 = 0x7ff8_6e75_6c6c_0000;

/// Steps whose events are counted, so that those of a step can be told apart.
const COUNTED: usize = 64;

/// Sums over rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Sums {
    /// Over everything.
    pub(super) all: u64,
    /// Over the columns of each table; empty of a table without rows.
    pub(super) columns: [Vec<u32>; TABLES],
    /// Over the rows of one body, joint, device, file, or of one step of commands, events and states.
    pub(super) parts: BTreeMap<(u8, u32), u32>,
}

/// The columns and parts of [`Sums`] as a batch's row has them.
#[derive(Serialize, Deserialize)]
struct Stored {
    columns: Vec<(u8, Vec<u32>)>,
    parts: Vec<(u8, u32, u32)>,
}

impl Sums {
    /// Adds those of other rows.
    pub(super) fn add(&mut self, other: &Self) {
        self.all = self.all.wrapping_add(other.all);
        for (own, others) in self.columns.iter_mut().zip(&other.columns) {
            own.resize(own.len().max(others.len()), 0);
            own.iter_mut().zip(others).for_each(|(own, other)| *own = own.wrapping_add(*other));
        }
        for (key, sum) in &other.parts {
            let place = self.parts.entry(*key).or_default();
            *place = place.wrapping_add(*sum);
        }
    }

    /// As the batch's row has them, but for the sum over everything.
    fn bytes(&self) -> Vec<u8> {
        let columns = self.columns.iter().enumerate().filter(|(_, sums)| !sums.is_empty());
        let columns = columns.map(|(table, sums)| (table as u8, sums.clone())).collect();
        let parts = self.parts.iter().map(|(&(table, part), &sum)| (table, part, sum)).collect();
        postcard::to_allocvec(&Stored { columns, parts }).unwrap_or_default()
    }

    /// Of a batch's row; `None` if they cannot be read.
    pub(super) fn read(all: i64, bytes: &[u8]) -> Option<Self> {
        let stored: Stored = postcard::from_bytes(bytes).ok()?;
        let mut columns: [Vec<u32>; TABLES] = Default::default();
        for (table, sums) in stored.columns {
            let width = Table::ALL.get(usize::from(table))?.width();
            columns[usize::from(table)] = (sums.len() == width).then_some(sums)?;
        }
        let parts = stored.parts.into_iter().map(|(table, part, sum)| ((table, part), sum)).collect();
        Some(Self { all: all as u64, columns, parts })
    }
}

/// Sums up rows: those of a batch before it is written, and the same ones when they are read back.
#[derive(Debug)]
pub(super) struct Summer {
    pub(super) sums: Sums,
    /// Over the rows of each step, but for commands, events and states, which steps without a row may have.
    pub(super) steps: BTreeMap<u64, u64>,
    /// Hashes of the columns' names.
    columns: [Vec<u64>; TABLES],
    /// Events of the latest steps.
    events: BTreeMap<u64, u64>,
}

impl Default for Summer {
    fn default() -> Self {
        let hashes = |table: Table| {
            let name = |column: &str| xxh3_64(format!("{}.{column}", table.name()).as_bytes());
            table.columns().split(", ").map(str::trim).map(name).collect()
        };
        Self { sums: Sums::default(), steps: BTreeMap::new(), columns: Table::ALL.map(hashes), events: BTreeMap::new() }
    }
}

impl Summer {
    /// Completes a batch: each logged step gets its checksum, and the batch a row with its own.
    pub(super) fn seal(&mut self, batch: &mut Batch, number: u64) {
        (self.sums, self.steps) = (Sums::default(), BTreeMap::new());
        let (mut first, mut last) = (u64::MAX, 0);
        for table in Table::ALL.into_iter().filter(|&table| table != Table::Batch) {
            for row in batch.cells(table).chunks_exact(table.width()) {
                if let Some(step) = self.row(table, row) {
                    (first, last) = (first.min(step), last.max(step));
                }
            }
        }
        let width = Table::SimulationRow.width();
        for row in batch.of(Table::SimulationRow).chunks_exact_mut(width) {
            if let Cell::Step(step) = row[0] {
                row[width - 1] = self.steps.get(&step).copied().unwrap_or(0).into();
            }
        }
        let range = if first <= last { [first.into(), last.into()] } else { [Cell::Null, Cell::Null] };
        let [first, last] = range;
        let bytes = Cell::Bytes(self.sums.bytes().into());
        batch.push(Table::Batch, [Cell::Run, number.into(), first, last, self.sums.all.into(), bytes]);
    }

    /// Adds a row, and tells the step it belongs to.
    pub(super) fn row(&mut self, table: Table, row: &[Cell]) -> Option<u64> {
        let step = step(table, row);
        let key = self.key(table, row, step);
        self.sums.columns[table as usize].resize(table.width(), 0);
        let mut sum = 0_u64;
        for (column, cell) in row.iter().enumerate().skip(table.key_columns()) {
            if is_summed(table, column) {
                let share = self.share(table, key, column, cell);
                sum = sum.wrapping_add(share);
                let place = &mut self.sums.columns[table as usize][column];
                *place = place.wrapping_add(share as u32);
            }
        }
        self.sums.all = self.sums.all.wrapping_add(sum);
        if let Some(part) = part(table, row, step) {
            let place = self.sums.parts.entry((table as u8, part)).or_default();
            *place = place.wrapping_add(sum as u32);
        }
        if let Some(step) = step.filter(|_| table.has_row_of_step()) {
            let place = self.steps.entry(step).or_default();
            *place = place.wrapping_add(sum);
        }
        step
    }

    /// What a row's key makes of every value in it.
    pub(super) fn key(&mut self, table: Table, row: &[Cell], step: Option<u64>) -> u64 {
        let mut key = xxh3_64(&[table as u8]);
        for cell in &row[..table.key_columns()] {
            key = mix(key ^ symbol(cell).unwrap_or(0));
        }
        if let Some(step) = step.filter(|_| table == Table::Event) {
            let count = self.events.entry(step).or_default();
            *count += 1;
            key = mix(key ^ *count);
            if self.events.len() > COUNTED {
                self.events.pop_first();
            }
        }
        key
    }

    /// What a value adds to the sums.
    pub(super) fn share(&self, table: Table, key: u64, column: usize, cell: &Cell) -> u64 {
        symbol(cell).map_or(0, |symbol| mix(symbol ^ key ^ self.columns[table as usize][column]))
    }

    /// The bits of the value that would add this much.
    pub(super) fn value(&self, table: Table, key: u64, column: usize, share: u64) -> u64 {
        unmix(share) ^ key ^ self.columns[table as usize][column]
    }
}

/// The checksum over what a run's row gets at its end; `values` are those of `model::END` before the checksum.
pub(super) fn end(values: &[Cell]) -> u64 {
    // An empty text is stored as NULL there.
    let symbol = |cell: &Cell| if *cell == Cell::from("") { Some(NULL) } else { symbol(cell) };
    let share = |(place, cell): (usize, &Cell)| symbol(cell).map_or(0, |symbol| mix(symbol ^ mix(place as u64)));
    values.iter().enumerate().map(share).fold(0, u64::wrapping_add)
}

/// The bits that stand for a value; none for the run itself, whose number is another one in every database.
fn symbol(cell: &Cell) -> Option<u64> {
    Some(match cell {
        Cell::Run => return None,
        Cell::Integer(integer) => *integer as u64,
        // SQLite does not keep the sign of zero; adding zero takes it away.
        Cell::Real(real) if real.is_finite() => (real + 0.0).to_bits(),
        Cell::Null | Cell::Real(_) => NULL,
        Cell::Text(text) => xxh3_64(text.as_bytes()),
        Cell::Bytes(bytes) => xxh3_64(bytes),
        Cell::Step(step) => *step,
        Cell::Robot(number) | Cell::Part(number) => u64::from(*number),
    })
}

/// A value as its bits tell it; `like` is one of the same column.
pub(super) fn told(bits: u64, like: &Cell) -> Option<Cell> {
    match like {
        _ if bits == NULL => Some(Cell::Null),
        Cell::Integer(_) => Some(Cell::Integer(bits as i64)),
        // Of the columns that may be NULL nearly all hold numbers such as these.
        Cell::Real(_) | Cell::Null => Some(f64::from_bits(bits)).filter(|real| real.is_finite()).map(Cell::Real),
        _ => None,
    }
}

/// The step that a row belongs to.
fn step(table: Table, row: &[Cell]) -> Option<u64> {
    match (table, row) {
        (Table::Command | Table::Event | Table::Snapshot, [_, Cell::Integer(step), ..]) => Some(*step as u64),
        (_, [Cell::Step(step), ..]) => Some(*step),
        _ => None,
    }
}

/// What a row is about: the number of a body, joint, device or file, or the step.
pub(super) fn part(table: Table, row: &[Cell], step: Option<u64>) -> Option<u32> {
    match table {
        Table::Simulation | Table::SimulationRow | Table::Batch => None,
        Table::Command | Table::Event | Table::Snapshot => step.map(|step| step as u32),
        _ => row[..table.key_columns()].iter().find_map(|cell| match cell {
            Cell::Part(number) | Cell::Robot(number) => Some(*number),
            Cell::Integer(number) => Some(*number as u32),
            _ => None,
        }),
    }
}

/// Whether a column is part of the sums: a run's status changes, and a checksum cannot be part of itself.
pub(super) fn is_summed(table: Table, column: usize) -> bool {
    match table {
        Table::Simulation => column != 1,
        Table::SimulationRow => column + 1 < table.width(),
        _ => true,
    }
}

/// A permutation of 64 bits in which every bit depends on every other: the finalizer of SplitMix64 (Steele and others, 2014).
fn mix(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// What it was before. The factors are the inverses of the two above modulo 2^64.
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

    fn batch(values: &[f64]) -> Batch {
        let mut batch = Batch::default();
        for (index, value) in values.iter().enumerate() {
            let step = 1 + index as u64 / 4;
            let mut row = vec![Cell::Step(step), Cell::Part(index as u32 % 4)];
            row.resize(Table::JointPose.width(), Cell::Real(*value));
            batch.of(Table::JointPose).extend(row);
            if index % 4 == 3 {
                let mut row = vec![Cell::Step(step), Cell::Run];
                row.resize(Table::SimulationRow.width(), Cell::Null);
                batch.of(Table::SimulationRow).extend(row);
            }
        }
        batch
    }

    fn sums(batch: &Batch) -> (Sums, BTreeMap<u64, u64>) {
        let mut summer = Summer::default();
        summer.seal(&mut batch.clone(), 2);
        (summer.sums, summer.steps)
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
            let plain = batch(&values);
            let mut changed = plain.clone();
            let width = Table::JointPose.width();
            let (step, part) = (1 + row as u64 / 4, row as u32 % 4);
            let cell = &mut changed.of(Table::JointPose)[row * width + column];
            *cell = Cell::Real(f64::from_bits(values[row].to_bits() ^ 1 << bit));
            let ((one, steps), (two, others)) = (sums(&plain), sums(&changed));
            prop_assert_ne!(one.all, two.all);
            let [one_table, two_table] = [&one, &two].map(|sums| &sums.columns[Table::JointPose as usize]);
            let columns: Vec<usize> = (0..width).filter(|&column| one_table[column] != two_table[column]).collect();
            prop_assert_eq!(columns, [column]);
            let parts: Vec<u32> = one.parts.keys().filter(|key| one.parts[key] != two.parts[key]).map(|key| key.1).collect();
            prop_assert_eq!(parts, [part]);
            let found: Vec<u64> = steps.keys().filter(|key| steps[key] != others[key]).copied().collect();
            prop_assert_eq!(found, [step]);
            let mut summer = Summer::default();
            let cells = &changed.cells(Table::JointPose)[row * width..][..width];
            let key = summer.key(Table::JointPose, cells, Some(step));
            let share = summer.share(Table::JointPose, key, column, &cells[column]);
            let before = share.wrapping_add(steps[&step]).wrapping_sub(others[&step]);
            let bits = summer.value(Table::JointPose, key, column, before);
            prop_assert_eq!(told(bits, &cells[column]), Some(Cell::Real(values[row])));
        }
    }

    #[test]
    fn the_stored_sums_read_back_and_anything_else_is_refused() {
        let (plain, _) = sums(&batch(&[1.5; 8]));
        assert_eq!(Sums::read(plain.all as i64, &plain.bytes()), Some(plain.clone()));
        assert_eq!(Sums::read(0, &[0xff; 9]), None);
        let bytes = plain.bytes();
        assert_eq!(Sums::read(0, &bytes[..bytes.len() - 1]), None);
    }
}
