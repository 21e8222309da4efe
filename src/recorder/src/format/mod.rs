//! What a log is, whatever database it is in: its tables, the values of rows, their numbers and checksums, and which steps and rows
//! are there.
//!
//! It knows no database and no SQL but the statements that follow from the schema. Start at [`schema`].

pub(super) mod axis_angle;
pub(super) mod cadence;
pub(super) mod cell;
pub(super) mod checksum;
pub(super) mod component;
pub(super) mod ids;
pub(super) mod number_list;
pub(super) mod row_policy;
pub(super) mod schema;
pub(super) mod table_rows;
pub(super) mod timestamp;
pub(super) mod value;
