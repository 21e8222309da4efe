//! Writes a table as Parquet. Every column may be NULL, row groups have a bounded size, and pages are compressed by
//! zstd. A thread encodes and compresses a group while the rows of the next one arrive.

use std::{
    fs::File,
    mem,
    path::Path,
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::JoinHandle,
};

use parquet::{
    basic::{Compression, LogicalType, Repetition, Type as Physical},
    column::writer::ColumnWriter,
    data_type::ByteArray,
    errors::ParquetError,
    file::{
        properties::{EnabledStatistics, WriterProperties},
        writer::SerializedFileWriter,
    },
    schema::types::{ColumnPath, Type},
};

use crate::AnalysisError;
use simpartner_recorder::inquiry::{Column, ColumnType, Value};

/// Number of rows in a row group, which is in memory until it is written. Readers decode whole groups, and some tens of
/// thousands of rows compress well.
const ROWS_PER_GROUP: usize = 65_536;

/// Number of groups that may wait for the writing thread. One is enough for the thread to continue without a pause.
const WAITING_GROUPS: usize = 1;

/// A file being written.
pub(super) struct ParquetWriter {
    /// Rows of the present group.
    columns: Vec<ColumnBuffer>,
    /// Number of these rows.
    rows: usize,
    /// The writing thread; `None` once it has ended.
    thread: Option<WriterThread>,
}

struct WriterThread {
    groups: SyncSender<Vec<ColumnBuffer>>,
    writing: JoinHandle<Result<(), ParquetError>>,
}

/// Values of a column in a row group.
struct ColumnBuffer {
    /// Values of the rows that are not NULL.
    values: Values,
    /// Definition level of each row: 1 for a value, 0 for NULL.
    present: Vec<i16>,
}

enum Values {
    Integers(Vec<i64>),
    Reals(Vec<f64>),
    Bytes(Vec<ByteArray>),
}

impl ParquetWriter {
    pub(super) fn create(path: &Path, columns: &[Column]) -> Result<Self, AnalysisError> {
        let fields = columns.iter().map(parquet_field).collect::<Result<Vec<_>, ParquetError>>()?;
        let schema = Type::group_type_builder("row").with_fields(fields).build()?;
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(Default::default()))
            // Readers skip groups by the extremes of a column. Extremes of pages would cost more than they save.
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_created_by(concat!("simpartner ", env!("CARGO_PKG_VERSION")).into());
        // Measured numbers hardly ever repeat. A dictionary of them would take most of the time, and then be given up
        // as too large.
        for column in columns.iter().filter(|column| column.column_type == Some(ColumnType::Real)) {
            properties = properties.set_column_dictionary_enabled(ColumnPath::from(column.name.as_str()), false);
        }
        let failed = |source| AnalysisError::Write { path: path.to_owned(), source };
        let file = File::create(path).map_err(failed)?;
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties.build()))?;
        let (groups, received) = sync_channel(WAITING_GROUPS);
        let thread = std::thread::Builder::new().name("parquet".into());
        let writing = thread.spawn(move || write_groups(writer, &received)).map_err(failed)?;
        let columns = columns.iter().map(|column| ColumnBuffer::of_type(column.column_type)).collect();
        Ok(Self { columns, rows: 0, thread: Some(WriterThread { groups, writing }) })
    }

    /// Sends the present group to the writing thread.
    fn send_group(&mut self) -> Result<(), AnalysisError> {
        self.rows = 0;
        let group = self.columns.iter_mut().map(ColumnBuffer::take_group).collect();
        match &self.thread {
            Some(thread) if thread.groups.send(group).is_ok() => Ok(()),
            // While its channel is open, the thread ends only by an error.
            _ => self.join_thread(),
        }
    }

    /// Waits until the thread has written all groups and closed the file.
    fn join_thread(&mut self) -> Result<(), AnalysisError> {
        let Some(WriterThread { groups, writing }) = self.thread.take() else { return Ok(()) };
        drop(groups);
        Ok(writing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?)
    }
}

/// Closes the file of an export that has failed, before the file is removed.
impl Drop for ParquetWriter {
    fn drop(&mut self) {
        let _ = self.join_thread();
    }
}

/// Writes groups until the channel is closed, then the end of the file.
fn write_groups(
    mut writer: SerializedFileWriter<File>,
    groups: &Receiver<Vec<ColumnBuffer>>,
) -> Result<(), ParquetError> {
    for columns in groups {
        let mut group = writer.next_row_group()?;
        for cells in columns {
            let Some(mut column) = group.next_column()? else { break };
            let present = Some(&cells.present[..]);
            match (column.untyped(), &cells.values) {
                (ColumnWriter::Int64ColumnWriter(out), Values::Integers(values)) => {
                    out.write_batch(values, present, None)?;
                }
                (ColumnWriter::DoubleColumnWriter(out), Values::Reals(values)) => {
                    out.write_batch(values, present, None)?;
                }
                (ColumnWriter::ByteArrayColumnWriter(out), Values::Bytes(values)) => {
                    out.write_batch(values, present, None)?;
                }
                _ => return Err(ParquetError::General("a column is not of its own type".into())),
            }
            column.close()?;
        }
        group.close()?;
    }
    writer.close().map(drop)
}

/// Definition of a column.
fn parquet_field(column: &Column) -> Result<Arc<Type>, ParquetError> {
    let (physical, logical) = match column.column_type {
        Some(ColumnType::Integer) => (Physical::INT64, None),
        Some(ColumnType::Real) => (Physical::DOUBLE, None),
        Some(ColumnType::Bytes) => (Physical::BYTE_ARRAY, None),
        Some(ColumnType::Text) | None => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let field = Type::primitive_type_builder(&column.name, physical).with_repetition(Repetition::OPTIONAL);
    Ok(Arc::new(field.with_logical_type(logical).build()?))
}

impl ColumnBuffer {
    fn of_type(column_type: Option<ColumnType>) -> Self {
        let values = match column_type {
            Some(ColumnType::Integer) => Values::Integers(Vec::new()),
            Some(ColumnType::Real) => Values::Reals(Vec::new()),
            Some(ColumnType::Text | ColumnType::Bytes) | None => Values::Bytes(Vec::new()),
        };
        Self { values, present: Vec::new() }
    }

    /// Takes the values, and reserves memory for as many in the next group.
    fn take_group(&mut self) -> Self {
        fn values<T>(values: &mut Vec<T>) -> Vec<T> {
            let room = Vec::with_capacity(values.len());
            mem::replace(values, room)
        }
        let taken = match &mut self.values {
            Values::Integers(all) => Values::Integers(values(all)),
            Values::Reals(all) => Values::Reals(values(all)),
            Values::Bytes(all) => Values::Bytes(values(all)),
        };
        Self { values: taken, present: values(&mut self.present) }
    }

    /// Adds a value. A value of another type than the column's becomes NULL.
    fn push(&mut self, value: &Value) {
        let is_there = match (&mut self.values, value) {
            (Values::Integers(values), Value::Integer(integer)) => {
                values.push(*integer);
                true
            }
            (Values::Reals(values), Value::Real(_) | Value::Integer(_)) => {
                values.extend(value.number());
                true
            }
            (Values::Bytes(values), Value::Text(text)) => {
                values.push(text.as_bytes().to_vec().into());
                true
            }
            (Values::Bytes(values), Value::Bytes(bytes)) => {
                values.push(bytes.clone().into());
                true
            }
            _ => false,
        };
        self.present.push(i16::from(is_there));
    }
}

impl super::table_writer::TableWriter for ParquetWriter {
    fn row(&mut self, row: &[Value]) -> Result<(), AnalysisError> {
        for (cells, value) in self.columns.iter_mut().zip(row) {
            cells.push(value);
        }
        self.rows += 1;
        if self.rows == ROWS_PER_GROUP { self.send_group() } else { Ok(()) }
    }

    fn finish(mut self) -> Result<(), AnalysisError> {
        if self.rows > 0 {
            self.send_group()?;
        }
        self.join_thread()
    }
}
