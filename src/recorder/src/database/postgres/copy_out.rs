//! Reads the result of a query by binary COPY (PostgreSQL's manual, section "COPY", "Binary Format"). Numbers arrive as
//! bytes, so no number is formatted by the server and parsed here. The result is one stream without round trips.

use futures_util::TryStreamExt;
use sqlx::PgConnection;

use super::super::scan::RowSender;
use crate::format::value::Value;

/// Length of the header before the rows, in bytes: the signature, flags, and the length of an extension of the header,
/// which is 0.
const HEADER_BYTES: usize = 19;

/// End of the rows, in the place of the next row's number of columns.
const TRAILER: i16 = -1;

/// Binary encoding of a column's values.
#[derive(Debug, Clone, Copy)]
pub(super) enum Encoding {
    Integer,
    Real,
    Text,
    Bytes,
}

impl Encoding {
    /// Encoding of a type, by its name in PostgreSQL; `None` for types that do not occur in queries of this program.
    pub(super) fn of_type(name: &str) -> Option<Self> {
        match name {
            "BOOL" | "INT2" | "INT4" | "INT8" => Some(Self::Integer),
            "FLOAT4" | "FLOAT8" => Some(Self::Real),
            "TEXT" | "VARCHAR" | "NAME" => Some(Self::Text),
            "BYTEA" => Some(Self::Bytes),
            _ => None,
        }
    }

    /// Decodes bytes into `value`. It returns false if the bytes are not valid in this encoding.
    fn decode(self, bytes: &[u8], value: &mut Value) -> bool {
        match (self, bytes, value) {
            (Self::Real, &[a, b, c, d, e, f, g, h], value) => {
                *value = Value::Real(f64::from_be_bytes([a, b, c, d, e, f, g, h]));
            }
            (Self::Integer, &[a, b, c, d, e, f, g, h], value) => {
                *value = Value::Integer(i64::from_be_bytes([a, b, c, d, e, f, g, h]));
            }
            (Self::Real, &[a, b, c, d], value) => *value = Value::Real(f32::from_be_bytes([a, b, c, d]).into()),
            (Self::Integer, &[a, b, c, d], value) => *value = Value::Integer(i32::from_be_bytes([a, b, c, d]).into()),
            (Self::Integer, &[a, b], value) => *value = Value::Integer(i16::from_be_bytes([a, b]).into()),
            (Self::Integer, &[a], value) => *value = Value::Integer(a.into()),
            (Self::Bytes, bytes, value) => *value = Value::Bytes(bytes.to_owned()),
            (Self::Text, bytes, value) => match (std::str::from_utf8(bytes), value) {
                // The memory of a text is reused.
                (Ok(text), Value::Text(kept)) => text.clone_into(kept),
                (Ok(text), value) => *value = Value::Text(text.to_owned()),
                (Err(_), _) => return false,
            },
            _ => return false,
        }
        true
    }
}

/// Sends the rows of a query to another thread. `columns` are the encodings of its columns.
pub(super) async fn copy_out(
    connection: &mut PgConnection,
    sql: &str,
    columns: &[Encoding],
    rows: &mut RowSender,
) -> Result<(), sqlx::Error> {
    let mut stream = connection.copy_out_raw(&format!("COPY ({sql}) TO STDOUT (FORMAT BINARY)")).await?;
    let (mut kept, mut at) = (Vec::new(), HEADER_BYTES);
    while let Some(bytes) = stream.try_next().await? {
        kept.extend_from_slice(&bytes);
        while let Some(rest) = kept.get(at..).filter(|rest| rest.len() >= 2) {
            if rest.starts_with(&TRAILER.to_be_bytes()) {
                break;
            }
            let Some(length) = read_row(rest, columns, rows.next_row(columns.len()))? else { break };
            at += length;
            if !rows.end_row() {
                return Ok(());
            }
        }
        if at <= kept.len() {
            kept.drain(..at);
            at = 0;
        }
    }
    rows.flush();
    Ok(())
}

/// Decodes a row and returns its length in bytes; `None` if `bytes` does not yet hold the whole row.
fn read_row(bytes: &[u8], columns: &[Encoding], values: &mut [Value]) -> Result<Option<usize>, sqlx::Error> {
    let wrong = |what: &str| sqlx::Error::Protocol(format!("binary COPY: {what}"));
    let Some((count, mut rest)) = bytes.split_first_chunk::<2>() else { return Ok(None) };
    if usize::try_from(i16::from_be_bytes(*count)) != Ok(columns.len()) {
        return Err(wrong("a row of other columns"));
    }
    for (column, value) in columns.iter().zip(values) {
        let Some((length, behind)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        rest = behind;
        // -1 stands for NULL.
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
            *value = Value::Null;
            continue;
        };
        let Some((field, behind)) = rest.split_at_checked(length) else { return Ok(None) };
        if !column.decode(field, value) {
            return Err(wrong("a value that is not of its column's type"));
        }
        rest = behind;
    }
    Ok(Some(bytes.len() - rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_once_all_of_it_is_there() {
        let columns = [Encoding::Integer, Encoding::Real, Encoding::Text, Encoding::Bytes, Encoding::Integer];
        let fields: [Option<&[u8]>; 5] =
            [Some(&7_i64.to_be_bytes()), Some(&(-0.5_f64).to_be_bytes()), Some("é".as_bytes()), Some(&[255]), None];
        let mut bytes = 5_i16.to_be_bytes().to_vec();
        for field in fields {
            bytes.extend(field.map_or(-1, |field| field.len() as i32).to_be_bytes());
            bytes.extend(field.unwrap_or_default());
        }
        let mut values = vec![Value::Text("before".into()); 5];
        for part in 0..bytes.len() {
            assert_eq!(read_row(&bytes[..part], &columns, &mut values).unwrap(), None);
        }
        let length = bytes.len();
        bytes.extend(TRAILER.to_be_bytes());
        assert_eq!(read_row(&bytes, &columns, &mut values).unwrap(), Some(length));
        let expected =
            [Value::Integer(7), Value::Real(-0.5), Value::Text("é".into()), Value::Bytes(vec![255]), Value::Null];
        assert_eq!(values, expected);
        assert!(read_row(&bytes, &columns[1..], &mut values).is_err());
    }
}
