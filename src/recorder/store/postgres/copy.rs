//! Binary COPY: the form of PostgreSQL's manual, section "COPY", "Binary Format". A value is its length and its bytes in network
//! order, so nothing is turned into text and nothing is parsed.

use sqlx::PgConnection;

use crate::recorder::{
    cell::{Cell, Keys, Value},
    table::Table,
};

/// Signature, flags, and the length of a header extension, of which there is none.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// In the place of a row's number of columns: the end.
const TRAILER: i16 = -1;

/// In the place of a value's length: NULL.
const NULL: i32 = -1;

/// How many bytes are sent at once, about.
const PORTION: usize = 1 << 20;

/// Copies the rows that `cells` holds one after the other.
pub(super) async fn copy(
    connection: &mut PgConnection,
    table: Table,
    cells: &[Cell],
    keys: Keys,
) -> Result<(), sqlx::Error> {
    let statement = format!("COPY {} ({}) FROM STDIN (FORMAT BINARY)", table.name(), table.columns());
    let width = table.width();
    let mut copy = connection.copy_in_raw(&statement).await?;
    let mut bytes = HEADER.to_vec();
    for row in cells.chunks_exact(width) {
        bytes.extend((width as i16).to_be_bytes());
        for cell in row {
            push(&mut bytes, keys.value(cell))?;
        }
        if bytes.len() >= PORTION {
            copy.send(&bytes[..]).await?;
            bytes.clear();
        }
    }
    bytes.extend(TRAILER.to_be_bytes());
    copy.send(&bytes[..]).await?;
    copy.finish().await.map(drop)
}

fn push(bytes: &mut Vec<u8>, value: Value<'_>) -> Result<(), sqlx::Error> {
    match value {
        Value::Null => bytes.extend(NULL.to_be_bytes()),
        Value::Integer(integer) => {
            bytes.extend(8_i32.to_be_bytes());
            bytes.extend(integer.to_be_bytes());
        }
        Value::Real(real) => {
            bytes.extend(8_i32.to_be_bytes());
            bytes.extend(real.to_be_bytes());
        }
        Value::Text(text) => push_bytes(bytes, text.as_bytes())?,
        Value::Bytes(value) => push_bytes(bytes, value)?,
    }
    Ok(())
}

fn push_bytes(bytes: &mut Vec<u8>, value: &[u8]) -> Result<(), sqlx::Error> {
    let length = i32::try_from(value.len()).map_err(|error| sqlx::Error::Encode(error.into()))?;
    bytes.extend(length.to_be_bytes());
    bytes.extend(value);
    Ok(())
}
