//! Inserts rows by binary COPY (PostgreSQL's manual, section "COPY", "Binary Format"). A value is its length and its
//! bytes in network order, so nothing is converted to text and parsed again.

use sqlx::PgConnection;

use crate::format::{cell::Cell, ids::RunIds, schema::TableId, value::Parameter};

/// Header before the rows: signature, flags, and the length of a header extension, which is 0.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// End of the rows, in the place of the next row's number of columns.
const TRAILER: i16 = -1;

/// NULL, in the place of a value's length.
const NULL_LENGTH: i32 = -1;

/// Approximate number of bytes sent at once, which bounds the memory for a large batch.
const CHUNK_BYTES: usize = 1 << 20;

/// Inserts rows, which follow each other in `cells`.
pub(super) async fn copy_in(
    connection: &mut PgConnection,
    table: TableId,
    cells: &[Cell],
    ids: RunIds,
) -> Result<(), sqlx::Error> {
    let statement = format!("COPY {} ({}) FROM STDIN (FORMAT BINARY)", table.name(), table.column_list());
    let width = table.width();
    let mut copy = connection.copy_in_raw(&statement).await?;
    let mut bytes = HEADER.to_vec();
    for row in cells.chunks_exact(width) {
        bytes.extend((width as i16).to_be_bytes());
        for cell in row {
            push_value(&mut bytes, cell.parameter(ids))?;
        }
        if bytes.len() >= CHUNK_BYTES {
            copy.send(&bytes[..]).await?;
            bytes.clear();
        }
    }
    bytes.extend(TRAILER.to_be_bytes());
    copy.send(&bytes[..]).await?;
    copy.finish().await.map(drop)
}

fn push_value(bytes: &mut Vec<u8>, parameter: Parameter<'_>) -> Result<(), sqlx::Error> {
    match parameter {
        Parameter::Null => bytes.extend(NULL_LENGTH.to_be_bytes()),
        Parameter::Integer(integer) => {
            bytes.extend(8_i32.to_be_bytes());
            bytes.extend(integer.to_be_bytes());
        }
        Parameter::Real(real) => {
            bytes.extend(8_i32.to_be_bytes());
            bytes.extend(real.to_be_bytes());
        }
        Parameter::Text(text) => push_bytes(bytes, text.as_bytes())?,
        Parameter::Bytes(value) => push_bytes(bytes, value)?,
    }
    Ok(())
}

fn push_bytes(bytes: &mut Vec<u8>, value: &[u8]) -> Result<(), sqlx::Error> {
    let length = i32::try_from(value.len()).map_err(|error| sqlx::Error::Encode(error.into()))?;
    bytes.extend(length.to_be_bytes());
    bytes.extend(value);
    Ok(())
}
