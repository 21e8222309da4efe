//! Reads spill files, including damaged ones.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    sync::Arc,
};

use super::{
    frame::{CRC, EARLIER_TABLES, Frame, HEADER_1_LENGTH, HEADER_LENGTH, MAGIC, MAGIC_1, MAX_PAYLOAD_LENGTH},
    shared_file::SharedFile,
};
use crate::{
    format::schema::TableId,
    write::batch::{Batch, Content},
};

/// Number of bytes read at once in the search for the next frame.
const SEARCH_CHUNK: usize = 1 << 20;

/// A section of a spill file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::write) enum Section {
    /// An intact frame.
    Whole(Frame),
    /// Bytes that belong to no intact frame. `frame` has the header's fields, if the header is intact.
    Damaged { offset: u64, length: u64, frame: Option<Frame> },
    /// The first part of a frame that the end of the file cuts off. `frame` has the header's fields, if the header is
    /// intact.
    Cut { offset: u64, length: u64, frame: Option<Frame> },
}

/// A spill file being read.
#[derive(Debug)]
pub(in crate::write) struct SpillReader {
    file: SharedFile,
}

/// An intact header.
struct Header {
    frame: Frame,
    /// Checksum of the payload; `None` if the payload has already been checked.
    checksum: Option<u32>,
}

impl SpillReader {
    pub(super) fn from_shared_file(file: SharedFile) -> Self {
        Self { file }
    }

    /// Opens and locks a file.
    ///
    /// # Errors
    /// When there is no such file, or another program writes or reads it.
    pub(in crate::write) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        if matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)) {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        let shared = SharedFile::default();
        shared.set(Some(Arc::new(file)));
        Ok(Self { file: shared })
    }

    /// Reads the batch of a frame.
    pub(in crate::write) fn read_batch(&self, frame: Frame) -> io::Result<Batch> {
        let damaged =
            || io::Error::new(io::ErrorKind::InvalidData, format!("the frame at byte {} is damaged", frame.offset));
        let file = self.open_file()?;
        match header_at(&file, frame.offset, u64::MAX)? {
            Some(header) if header.frame == frame => {
                let mut payload = read_payload(&file, &header)?.ok_or_else(damaged)?;
                // A batch ends with its rows, table after table, and a table without rows is a zero byte. The zeros
                // added here stand for tables that an earlier version lacked; surplus zeros are not read.
                payload.resize(payload.len() + TableId::COUNT - EARLIER_TABLES[0].tables, 0);
                let mut batch: Batch = postcard::from_bytes(&payload).map_err(|_| damaged())?;
                let rows = &mut batch.content;
                if let (Some(earlier), Content::Begin(rows) | Content::Rows(rows)) = (frame.earlier_tables(), rows) {
                    rows.widen_rows(TableId::Body, earlier.body_columns);
                }
                Ok(batch)
            }
            _ => Err(damaged()),
        }
    }

    /// True if the file begins with the magic of a spill file.
    pub(in crate::write) fn is_spill_file(&self) -> io::Result<bool> {
        let mut magic = [0; MAGIC.len()];
        Ok(read_at(&*self.open_file()?, 0, &mut magic)? && (magic == MAGIC || magic == MAGIC_1))
    }

    /// Divides the file into sections, in their order.
    pub(in crate::write) fn read_sections(&self) -> io::Result<Vec<Section>> {
        let file = self.open_file()?;
        let total = file.metadata()?.len();
        let (mut sections, mut offset) = (Vec::new(), 0);
        while offset < total {
            let section = match header_at(&file, offset, total)? {
                Some(Header { frame, .. }) if offset + frame.length > total => {
                    Section::Cut { offset, length: total - offset, frame: Some(frame) }
                }
                Some(header) if read_payload(&file, &header)?.is_some() => Section::Whole(header.frame),
                Some(Header { frame, .. }) => {
                    // The header is intact, so the length is right, unless bytes were inserted or removed.
                    let end = offset + frame.length;
                    let is_followed = end == total || header_at(&file, end, total)?.is_some();
                    let next = if is_followed { end } else { next_frame(&file, offset + 1, total)? };
                    Section::Damaged { offset, length: next - offset, frame: Some(frame) }
                }
                None => {
                    let length = next_frame(&file, offset + 1, total)? - offset;
                    match offset + length == total && is_header_start(&file, offset, length)? {
                        true => Section::Cut { offset, length, frame: None },
                        false => Section::Damaged { offset, length, frame: None },
                    }
                }
            };
            offset += match section {
                Section::Whole(frame) => frame.length,
                Section::Damaged { length, .. } | Section::Cut { length, .. } => length,
            };
            sections.push(section);
        }
        Ok(sections)
    }

    fn open_file(&self) -> io::Result<Arc<File>> {
        self.file.get().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Offset of the next intact header from `offset` on, or the end of the file if there is none. `total` is the size of
/// the file.
fn next_frame(file: &File, mut offset: u64, total: u64) -> io::Result<u64> {
    let mut chunk = vec![0; SEARCH_CHUNK];
    // The magics of both versions differ in their last byte only.
    let common = &MAGIC[..7];
    while offset < total {
        let length = SEARCH_CHUNK.min((total - offset) as usize);
        let chunk = &mut chunk[..length];
        if !read_at(file, offset, chunk)? {
            break;
        }
        for start in chunk.windows(common.len()).enumerate().filter(|(_, window)| *window == common).map(|(at, _)| at) {
            let candidate = offset + start as u64;
            if header_at(file, candidate, total)?.is_some() {
                return Ok(candidate);
            }
        }
        // A magic may begin in one chunk and end in the next.
        offset += (length + 1).saturating_sub(common.len()).max(1) as u64;
    }
    Ok(total)
}

/// The header at an offset, if it is intact. A header of the first version has no checksum of its own, so the payload
/// is read and checked as well.
fn header_at(file: &File, offset: u64, total: u64) -> io::Result<Option<Header>> {
    let mut bytes = [0; HEADER_LENGTH];
    if !read_at(file, offset, &mut bytes[..HEADER_1_LENGTH])? {
        return Ok(None);
    }
    if bytes[..8] == MAGIC_1 {
        return header_1_at(file, offset, total, &bytes[..HEADER_1_LENGTH]);
    }
    if bytes[..8] != MAGIC || !read_at(file, offset, &mut bytes)? {
        return Ok(None);
    }
    let length = u32_at(&bytes, 8);
    if CRC.checksum(&bytes[..HEADER_LENGTH - 4]) != u32_at(&bytes, HEADER_LENGTH - 4) || length > MAX_PAYLOAD_LENGTH {
        return Ok(None);
    }
    let frame = Frame {
        offset,
        length: HEADER_LENGTH as u64 + u64::from(length),
        tables: Some(u32_at(&bytes, 12)),
        run_index: u32_at(&bytes, 16),
        number: u64_at(&bytes, 20),
        first_step: u64_at(&bytes, 28),
        steps: u64_at(&bytes, 36),
    };
    Ok(Some(Header { frame, checksum: Some(u32_at(&bytes, HEADER_LENGTH - 8)) }))
}

fn header_1_at(file: &File, offset: u64, total: u64, bytes: &[u8]) -> io::Result<Option<Header>> {
    let length = u32_at(bytes, 8);
    let frame = Frame {
        offset,
        length: HEADER_1_LENGTH as u64 + u64::from(length),
        tables: None,
        run_index: u32_at(bytes, 12),
        number: u64_at(bytes, 16),
        first_step: u64_at(bytes, 24),
        steps: u64_at(bytes, 32),
    };
    if length > MAX_PAYLOAD_LENGTH || frame.length > total - offset {
        return Ok(None);
    }
    let mut payload = vec![0; length as usize];
    let is_there = read_at(file, offset + HEADER_1_LENGTH as u64, &mut payload)?;
    let mut digest = CRC.digest();
    digest.update(&bytes[8..HEADER_1_LENGTH - 4]);
    digest.update(&payload);
    let is_whole = is_there && digest.finalize() == u32_at(bytes, HEADER_1_LENGTH - 4);
    Ok(is_whole.then_some(Header { frame, checksum: None }))
}

/// The payload behind a header, if it is intact.
fn read_payload(file: &File, header: &Header) -> io::Result<Option<Vec<u8>>> {
    let Header { frame, checksum } = header;
    let front = if checksum.is_some() { HEADER_LENGTH } else { HEADER_1_LENGTH } as u64;
    let mut payload = vec![0; (frame.length - front) as usize];
    let is_there = read_at(file, frame.offset + front, &mut payload)?;
    let is_whole = is_there && checksum.is_none_or(|checksum| checksum == CRC.checksum(&payload));
    Ok(is_whole.then_some(payload))
}

/// True if the last `length` bytes of the file, which begin at `offset`, can be the start of a header.
fn is_header_start(file: &File, offset: u64, length: u64) -> io::Result<bool> {
    let mut bytes = vec![0; (length as usize).min(MAGIC.len())];
    Ok(length < HEADER_LENGTH as u64 && read_at(file, offset, &mut bytes)? && MAGIC.starts_with(&bytes))
}

/// Fills the buffer with the bytes from an offset on. It returns false if the file is too short.
fn read_at(mut file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<bool> {
    file.seek(SeekFrom::Start(offset))?;
    match file.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
