//! The format of a spill file.
//!
//! A spill file is a sequence of frames, and frames are only appended. Each frame can be read on its own. Its header
//! describes the payload and has a checksum of its own. So a reader finds the next intact frame behind a damaged
//! section, and knows which batch a damaged frame held.
//!
//! ```text
//! magic 8 | length of the payload u32 | tables u32 | run index u32 | number u64 | first step u64 | steps u64
//!         | crc32c of the payload u32 | crc32c of the header before it u32 | payload
//! ```
//!
//! Numbers are little-endian. `length of the payload` is in bytes. `tables` is a checksum of the tables' columns: a
//! reader whose tables have other columns refuses the file.
//!
//! Files of the first version are read as well. Their magic is `SPspill1`, they have no `tables`, and they have a
//! single checksum. It covers the header from behind the magic to the checksum, and the payload.

use std::sync::LazyLock;

use crc::{CRC_32_ISCSI, Crc, Table as CrcTable};

use crate::format::schema::TableId;

/// First bytes of a frame.
pub(super) const MAGIC: [u8; 8] = *b"SPspill2";
/// First bytes of a frame in a file of the first version.
pub(super) const MAGIC_1: [u8; 8] = *b"SPspill1";
/// Length of a header, in bytes.
pub(super) const HEADER_LENGTH: usize = 8 + 4 + 4 + 4 + 8 + 8 + 8 + 4 + 4;
/// Length of a header in a file of the first version, in bytes.
pub(super) const HEADER_1_LENGTH: usize = 8 + 4 + 4 + 8 + 8 + 8 + 4;

/// Largest length of a payload, in bytes. A batch is far smaller than 1 GiB, so a larger length is damage.
pub(super) const MAX_PAYLOAD_LENGTH: u32 = 1 << 30;

/// CRC-32C, the checksum of headers and payloads.
pub(super) static CRC: Crc<u32, CrcTable<16>> = Crc::<u32, CrcTable<16>>::new(&CRC_32_ISCSI);

/// Position of a frame in its file, and the fields of its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::write) struct Frame {
    /// Start of the frame, in bytes from the start of the file.
    pub(in crate::write) offset: u64,
    /// Length of header and payload, in bytes.
    pub(in crate::write) length: u64,
    /// Checksum of the tables' columns; `None` in files of the first version.
    pub(super) tables: Option<u32>,
    /// Index of the run among the runs of its process, from 0.
    pub(in crate::write) run_index: u32,
    /// Number of the batch within the run, from 1.
    pub(in crate::write) number: u64,
    pub(in crate::write) first_step: u64,
    pub(in crate::write) steps: u64,
}

impl Frame {
    /// True if, according to the header, the rows fit the columns of this program's tables or can be widened to fit.
    pub(in crate::write) fn is_of_these_tables(&self) -> bool {
        self.tables.is_none_or(|tables| tables == tables_checksum()) || self.earlier_tables().is_some()
    }

    /// Tables of the earlier program version that wrote the frame; `None` if the tables are the present ones or
    /// unknown.
    pub(super) fn earlier_tables(&self) -> Option<EarlierTables> {
        EARLIER_TABLES.into_iter().find(|earlier| self.tables == Some(earlier.checksum()))
    }
}

/// Tables of an earlier program version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EarlierTables {
    /// Number of columns of the table `body`. The present one ends with additional columns of directions and of the
    /// wheel.
    pub(super) body_columns: usize,
    /// Number of tables.
    pub(super) tables: usize,
}

/// The two sets of tables before the table `scan` was added: the first without the last columns of `body`, the second
/// with them. Then those before the table `parameter` was added.
pub(super) const EARLIER_TABLES: [EarlierTables; 3] = [
    EarlierTables { body_columns: 24, tables: 19 },
    EarlierTables { body_columns: 34, tables: 19 },
    EarlierTables { body_columns: 34, tables: 20 },
];

impl EarlierTables {
    /// Checksum of the tables' names and columns.
    pub(super) fn checksum(self) -> u32 {
        checksum_of_tables(self.body_columns, self.tables)
    }
}

/// Checksum of the names and columns of all present tables.
pub(super) fn tables_checksum() -> u32 {
    static CHECKSUM: LazyLock<u32> = LazyLock::new(|| checksum_of_tables(TableId::Body.width(), TableId::COUNT));
    *CHECKSUM
}

/// Checksum of the names and columns of the first `tables` tables, with only the first `body_columns` columns of the
/// table `body`.
fn checksum_of_tables(body_columns: usize, tables: usize) -> u32 {
    let mut digest = CRC.digest();
    for table in TableId::ALL.into_iter().take(tables) {
        let columns = if table == TableId::Body { body_columns } else { table.width() };
        digest.update(table.name().as_bytes());
        digest.update(table.column_names()[..columns].join(", ").as_bytes());
    }
    digest.finalize()
}
