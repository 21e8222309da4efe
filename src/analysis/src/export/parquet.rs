//! A table as Parquet: every column may be empty, row groups of a bounded size, compressed by zstd. A thread encodes and compresses a group while
//! the rows of the next one arrive.

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

/// Rows of a row group, which is in memory until it is written: readers decode whole groups, and some tens of thousands of rows compress well.
const GROUP: usize = 65_536;

/// Groups that wait for the thread that writes. One is enough for it to go on without a pause.
const WAITING: usize = 1;

/// A file being written.
pub(super) struct ParquetWriter {
    columns: Vec<Cells>,
    rows: usize,
    /// The thread that writes, until it has ended.
    thread: Option<Thread>,
}

struct Thread {
    groups: SyncSender<Vec<Cells>>,
    writing: JoinHandle<Result<(), ParquetError>>,
}

/// The values of a column that wait for their group, and which rows have one.
struct Cells {
    values: Values,
    present: Vec<i16>,
}

enum Values {
    Integers(Vec<i64>),
    Reals(Vec<f64>),
    Bytes(Vec<ByteArray>),
}

impl ParquetWriter {
    pub(super) fn create(path: &Path, columns: &[Column]) -> Result<Self, AnalysisError> {
        let fields = columns.iter().map(field).collect::<Result<Vec<_>, ParquetError>>()?;
        let schema = Type::group_type_builder("row").with_fields(fields).build()?;
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(Default::default()))
            // Readers leave groups out by the extremes of a column; those of its pages cost more than they save.
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_created_by(concat!("simpartner ", env!("CARGO_PKG_VERSION")).into());
        // Measured numbers hardly ever come again: a dictionary of them takes most of the time, and then does not hold them.
        for column in columns.iter().filter(|column| column.column_type == Some(ColumnType::Real)) {
            properties = properties.set_column_dictionary_enabled(ColumnPath::from(column.name.as_str()), false);
        }
        let failed = |source| AnalysisError::Write { path: path.to_owned(), source };
        let file = File::create(path).map_err(failed)?;
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties.build()))?;
        let (groups, received) = sync_channel(WAITING);
        let thread = std::thread::Builder::new().name("parquet".into());
        let writing = thread.spawn(move || write(writer, &received)).map_err(failed)?;
        let columns = columns.iter().map(|column| Cells::of_type(column.column_type)).collect();
        Ok(Self { columns, rows: 0, thread: Some(Thread { groups, writing }) })
    }

    /// Hands over the rows of a group.
    fn send_group(&mut self) -> Result<(), AnalysisError> {
        self.rows = 0;
        let group = self.columns.iter_mut().map(Cells::take).collect();
        match &self.thread {
            Some(thread) if thread.groups.send(group).is_ok() => Ok(()),
            // While there may be more groups, the thread ends only by an error.
            _ => self.end(),
        }
    }

    /// Waits for the thread to write what it has, and to close the file.
    fn end(&mut self) -> Result<(), AnalysisError> {
        let Some(Thread { groups, writing }) = self.thread.take() else { return Ok(()) };
        drop(groups);
        Ok(writing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?)
    }
}

/// A file that is given up is closed before it is removed.
impl Drop for ParquetWriter {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Writes groups until there are no more, then the end of the file.
fn write(mut writer: SerializedFileWriter<File>, groups: &Receiver<Vec<Cells>>) -> Result<(), ParquetError> {
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

fn field(column: &Column) -> Result<Arc<Type>, ParquetError> {
    let (physical, logical) = match column.column_type {
        Some(ColumnType::Integer) => (Physical::INT64, None),
        Some(ColumnType::Real) => (Physical::DOUBLE, None),
        Some(ColumnType::Bytes) => (Physical::BYTE_ARRAY, None),
        Some(ColumnType::Text) | None => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let field = Type::primitive_type_builder(&column.name, physical).with_repetition(Repetition::OPTIONAL);
    Ok(Arc::new(field.with_logical_type(logical).build()?))
}

impl Cells {
    fn of_type(column_type: Option<ColumnType>) -> Self {
        let values = match column_type {
            Some(ColumnType::Integer) => Values::Integers(Vec::new()),
            Some(ColumnType::Real) => Values::Reals(Vec::new()),
            Some(ColumnType::Text | ColumnType::Bytes) | None => Values::Bytes(Vec::new()),
        };
        Self { values, present: Vec::new() }
    }

    /// Takes the values out and leaves none, but memory for as many.
    fn take(&mut self) -> Self {
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

    /// Adds a value; one of another type than the column's is taken as none.
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
        if self.rows == GROUP { self.send_group() } else { Ok(()) }
    }

    fn finish(mut self) -> Result<(), AnalysisError> {
        if self.rows > 0 {
            self.send_group()?;
        }
        self.end()
    }
}
