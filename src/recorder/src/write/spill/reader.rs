//! Reading a spill file, whatever state it is in.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    sync::Arc,
};

use super::{
    frame::{CRC, EARLIER, Frame, HEADER, HEADER_1, LONGEST, MAGIC, MAGIC_1},
    shared_file::SharedFile,
};
use crate::{
    format::schema::TableId,
    write::batch::{Batch, Content},
};

/// Bytes that are read at once in search of the next frame.
const CHUNK: usize = 1 << 20;

/// A section of a spill file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::write) enum Section {
    /// A whole frame.
    Whole(Frame),
    /// Bytes that are part of no whole frame; with the header, where that is whole.
    Damaged { offset: u64, length: u64, frame: Option<Frame> },
    /// The first part of a frame, up to the end of the file.
    Cut { offset: u64, length: u64, frame: Option<Frame> },
}

/// A spill file being read.
#[derive(Debug)]
pub(in crate::write) struct SpillReader {
    file: SharedFile,
}

/// A header, and the checksum of its payload; `None` if that was already compared.
struct Header {
    frame: Frame,
    checksum: Option<u32>,
}

impl SpillReader {
    pub(super) fn sharing(file: SharedFile) -> Self {
        Self { file }
    }

    /// Opens and locks a file.
    ///
    /// # Errors
    /// When there is none, or another program writes or reads it.
    pub(in crate::write) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        if matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)) {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        let shared = SharedFile::default();
        shared.set(Some(Arc::new(file)));
        Ok(Self { file: shared })
    }

    /// The batch of a frame.
    pub(in crate::write) fn batch(&self, frame: Frame) -> io::Result<Batch> {
        let damaged =
            || io::Error::new(io::ErrorKind::InvalidData, format!("the frame at byte {} is damaged", frame.offset));
        let file = self.file()?;
        match header_at(&file, frame.offset, u64::MAX)? {
            Some(header) if header.frame == frame => {
                let mut payload = payload(&file, &header)?.ok_or_else(damaged)?;
                // Rows are the last of a batch, and a table without rows is a zero. What is too much is not read.
                payload.resize(payload.len() + TableId::COUNT - EARLIER[0].tables, 0);
                let mut batch: Batch = postcard::from_bytes(&payload).map_err(|_| damaged())?;
                let rows = &mut batch.content;
                if let (Some(earlier), Content::Begin(rows) | Content::Rows(rows)) = (frame.earlier_tables(), rows) {
                    rows.widen(TableId::Body, earlier.body_columns);
                }
                Ok(batch)
            }
            _ => Err(damaged()),
        }
    }

    /// Whether the first bytes are those of a spill file.
    pub(in crate::write) fn is_spill_file(&self) -> io::Result<bool> {
        let mut magic = [0; MAGIC.len()];
        Ok(read_at(&*self.file()?, 0, &mut magic)? && (magic == MAGIC || magic == MAGIC_1))
    }

    /// The whole file, section after section.
    pub(in crate::write) fn sections(&self) -> io::Result<Vec<Section>> {
        let file = self.file()?;
        let total = file.metadata()?.len();
        let (mut sections, mut offset) = (Vec::new(), 0);
        while offset < total {
            let section = match header_at(&file, offset, total)? {
                Some(Header { frame, .. }) if offset + frame.length > total => {
                    Section::Cut { offset, length: total - offset, frame: Some(frame) }
                }
                Some(header) if payload(&file, &header)?.is_some() => Section::Whole(header.frame),
                Some(Header { frame, .. }) => {
                    // Its length is right; but bytes may have been inserted or removed.
                    let end = offset + frame.length;
                    let is_followed = end == total || header_at(&file, end, total)?.is_some();
                    let next = if is_followed { end } else { next_frame(&file, offset + 1, total)? };
                    Section::Damaged { offset, length: next - offset, frame: Some(frame) }
                }
                None => {
                    let length = next_frame(&file, offset + 1, total)? - offset;
                    match offset + length == total && is_begun(&file, offset, length)? {
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

    fn file(&self) -> io::Result<Arc<File>> {
        self.file.get().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Where the next header is from `offset` on, or else the end.
fn next_frame(file: &File, mut offset: u64, total: u64) -> io::Result<u64> {
    let mut chunk = vec![0; CHUNK];
    let common = &MAGIC[..7];
    while offset < total {
        let length = CHUNK.min((total - offset) as usize);
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

/// The header at an offset, if it is whole. A header of the first version has no checksum of its own, so its payload is
/// read as well.
fn header_at(file: &File, offset: u64, total: u64) -> io::Result<Option<Header>> {
    let mut bytes = [0; HEADER];
    if !read_at(file, offset, &mut bytes[..HEADER_1])? {
        return Ok(None);
    }
    if bytes[..8] == MAGIC_1 {
        return header_1_at(file, offset, total, &bytes[..HEADER_1]);
    }
    if bytes[..8] != MAGIC || !read_at(file, offset, &mut bytes)? {
        return Ok(None);
    }
    let length = short(&bytes, 8);
    if CRC.checksum(&bytes[..HEADER - 4]) != short(&bytes, HEADER - 4) || length > LONGEST {
        return Ok(None);
    }
    let frame = Frame {
        offset,
        length: HEADER as u64 + u64::from(length),
        tables: Some(short(&bytes, 12)),
        epoch: short(&bytes, 16),
        number: long(&bytes, 20),
        first_step: long(&bytes, 28),
        steps: long(&bytes, 36),
    };
    Ok(Some(Header { frame, checksum: Some(short(&bytes, HEADER - 8)) }))
}

fn header_1_at(file: &File, offset: u64, total: u64, bytes: &[u8]) -> io::Result<Option<Header>> {
    let length = short(bytes, 8);
    let frame = Frame {
        offset,
        length: HEADER_1 as u64 + u64::from(length),
        tables: None,
        epoch: short(bytes, 12),
        number: long(bytes, 16),
        first_step: long(bytes, 24),
        steps: long(bytes, 32),
    };
    if length > LONGEST || frame.length > total - offset {
        return Ok(None);
    }
    let mut payload = vec![0; length as usize];
    let is_there = read_at(file, offset + HEADER_1 as u64, &mut payload)?;
    let mut digest = CRC.digest();
    digest.update(&bytes[8..HEADER_1 - 4]);
    digest.update(&payload);
    let is_whole = is_there && digest.finalize() == short(bytes, HEADER_1 - 4);
    Ok(is_whole.then_some(Header { frame, checksum: None }))
}

/// The payload behind a header, if it is whole.
fn payload(file: &File, header: &Header) -> io::Result<Option<Vec<u8>>> {
    let Header { frame, checksum } = header;
    let front = if checksum.is_some() { HEADER } else { HEADER_1 } as u64;
    let mut payload = vec![0; (frame.length - front) as usize];
    let is_there = read_at(file, frame.offset + front, &mut payload)?;
    let is_whole = is_there && checksum.is_none_or(|checksum| checksum == CRC.checksum(&payload));
    Ok(is_whole.then_some(payload))
}

/// Whether so few bytes at the end are the first of a header.
fn is_begun(file: &File, offset: u64, length: u64) -> io::Result<bool> {
    let mut bytes = vec![0; (length as usize).min(MAGIC.len())];
    Ok(length < HEADER as u64 && read_at(file, offset, &mut bytes)? && MAGIC.starts_with(&bytes))
}

/// Fills the buffer from an offset on; returns false if the file is too short.
fn read_at(mut file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<bool> {
    file.seek(SeekFrom::Start(offset))?;
    match file.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn short(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
