//! A table as Parquet: every column may be empty, row groups of a bounded size, compressed by zstd.

use std::{fs::File, mem, path::Path, sync::Arc};

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

use crate::{
    analysis::AnalysisError,
    recorder::inquiry::{Column, ColumnType, Value},
};

/// Rows of a row group, which is in memory until it is written: readers decode whole groups, and some tens of thousands of rows compress well.
const GROUP: usize = 65_536;

/// A file being written.
pub(super) struct ParquetWriter {
    writer: SerializedFileWriter<File>,
    columns: Vec<Cells>,
    rows: usize,
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
        let file = File::create(path).map_err(|source| AnalysisError::Write { path: path.to_owned(), source })?;
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties.build()))?;
        let cells = |column: &Column| {
            let values = match column.column_type {
                Some(ColumnType::Integer) => Values::Integers(Vec::new()),
                Some(ColumnType::Real) => Values::Reals(Vec::new()),
                Some(ColumnType::Text | ColumnType::Bytes) | None => Values::Bytes(Vec::new()),
            };
            Cells { values, present: Vec::new() }
        };
        Ok(Self { writer, columns: columns.iter().map(cells).collect(), rows: 0 })
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for cells in &mut self.columns {
            let present = mem::take(&mut cells.present);
            let Some(mut column) = group.next_column()? else { break };
            match (column.untyped(), &mut cells.values) {
                (ColumnWriter::Int64ColumnWriter(out), Values::Integers(values)) => {
                    out.write_batch(&mem::take(values), Some(&present), None)?;
                }
                (ColumnWriter::DoubleColumnWriter(out), Values::Reals(values)) => {
                    out.write_batch(&mem::take(values), Some(&present), None)?;
                }
                (ColumnWriter::ByteArrayColumnWriter(out), Values::Bytes(values)) => {
                    out.write_batch(&mem::take(values), Some(&present), None)?;
                }
                _ => return Err(ParquetError::General("a column is not of its own type".into())),
            }
            column.close()?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
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

impl super::TableWriter for ParquetWriter {
    fn row(&mut self, row: &[Value]) -> Result<(), AnalysisError> {
        for (cells, value) in self.columns.iter_mut().zip(row) {
            cells.push(value);
        }
        self.rows += 1;
        if self.rows == GROUP {
            self.write_group()?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), AnalysisError> {
        if self.rows > 0 {
            self.write_group()?;
        }
        self.writer.close()?;
        Ok(())
    }
}
