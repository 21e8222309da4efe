//! The format of a spill file.
//!
//! Frames are only ever appended. Each can be read on its own: its header describes its payload and has a checksum of its own, so that a
//! reader finds the next whole frame behind a damaged section, and knows what a damaged frame held.
//!
//! ```text
//! magic 8 | length of the payload u32 | tables u32 | epoch u32 | number u64 | first step u64 | steps u64
//!         | crc32c of the payload u32 | crc32c of the header before it u32 | payload
//! ```
//!
//! Numbers are little-endian. `tables` is a checksum of the tables' columns: a reader whose tables have other columns refuses the file.
//! Files of the first version are read as well: `SPspill1`, without `tables`, and with one checksum over everything between the magic
//! and itself, and the payload.

use std::sync::LazyLock;

use crc::{CRC_32_ISCSI, Crc, Table as CrcTable};

use crate::format::schema::TableId;

pub(super) const MAGIC: [u8; 8] = *b"SPspill2";
pub(super) const MAGIC_1: [u8; 8] = *b"SPspill1";
pub(super) const HEADER: usize = 8 + 4 + 4 + 4 + 8 + 8 + 8 + 4 + 4;
pub(super) const HEADER_1: usize = 8 + 4 + 4 + 8 + 8 + 8 + 4;

/// The longest payload, bytes: a batch is bounded far below 1 GiB, so a larger length is damage.
pub(super) const LONGEST: u32 = 1 << 30;

pub(super) static CRC: Crc<u32, CrcTable<16>> = Crc::<u32, CrcTable<16>>::new(&CRC_32_ISCSI);

/// The place of a frame in its file, and its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::write) struct Frame {
    pub(in crate::write) offset: u64,
    /// Of header and payload.
    pub(in crate::write) length: u64,
    /// `None` in files of the first version.
    pub(super) tables: Option<u32>,
    pub(in crate::write) epoch: u32,
    pub(in crate::write) number: u64,
    pub(in crate::write) first_step: u64,
    pub(in crate::write) steps: u64,
}

impl Frame {
    /// Whether the rows fit the columns of this program's tables, or can be made to, as far as the frame tells.
    pub(in crate::write) fn is_of_these_tables(&self) -> bool {
        self.tables.is_none_or(|tables| tables == tables_checksum()) || self.earlier_tables().is_some()
    }

    /// The tables of an earlier version that wrote it, if one did.
    pub(super) fn earlier_tables(&self) -> Option<EarlierTables> {
        EARLIER.into_iter().find(|earlier| self.tables == Some(earlier.checksum()))
    }
}

/// What the tables of an earlier version had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EarlierTables {
    /// How many columns `body` had, which now ends with the directions and the wheel.
    pub(super) body_columns: usize,
    /// How many tables there were.
    pub(super) tables: usize,
}

/// The tables before `scan`, without and with the last columns of `body`.
pub(super) const EARLIER: [EarlierTables; 2] =
    [EarlierTables { body_columns: 24, tables: 19 }, EarlierTables { body_columns: 34, tables: 19 }];

impl EarlierTables {
    /// The checksum of their names and columns.
    pub(super) fn checksum(self) -> u32 {
        checksum_of_tables(self.body_columns, self.tables)
    }
}

/// A checksum of all tables' names and columns.
pub(super) fn tables_checksum() -> u32 {
    static CHECKSUM: LazyLock<u32> = LazyLock::new(|| checksum_of_tables(TableId::Body.width(), TableId::COUNT));
    *CHECKSUM
}

/// The same of the first tables, where `body` has only so many columns.
fn checksum_of_tables(body_columns: usize, tables: usize) -> u32 {
    let mut digest = CRC.digest();
    for table in TableId::ALL.into_iter().take(tables) {
        let columns = if table == TableId::Body { body_columns } else { table.width() };
        digest.update(table.name().as_bytes());
        digest.update(table.column_names()[..columns].join(", ").as_bytes());
    }
    digest.finalize()
}
