//! The format of a log, independent of its database: tables, values of rows, numbering, checksums, and the rules by
//! which steps and rows are logged.
//!
//! This module knows no database, and no SQL except for the statements that follow from the schema. Start at
//! [`schema`].

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
