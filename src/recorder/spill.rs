//! The spill file: where portions wait that the database cannot take.
//!
//! Frames are only ever added. Each says where it begins, how long it is and what it holds, and has a checksum, so that after a
//! crash everything up to a torn last frame is of use.
//!
//! ```text
//! magic 8 | length of the portion u32 | epoch u32 | number u64 | first step u64 | steps u64 | crc32c u32 | portion
//! ```
//!
//! Numbers are little-endian; the checksum is over all that stands between it and the magic, and the portion.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crc::{CRC_32_ISCSI, Crc, Table};

use super::{portion::Portion, space};

const MAGIC: &[u8; 8] = b"SPspill1";
const HEADER: usize = 8 + 4 + 4 + 8 + 8 + 8 + 4;

/// A spill file is named after its process.
const PREFIX: &str = "simpartner-";
const SUFFIX: &str = ".spill";

/// The longest portion that is believed; a larger length is that of a damaged frame.
const LONGEST: u32 = 1 << 30;

static CRC: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

/// Where a frame stands in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    offset: u64,
    length: u64,
    pub(super) epoch: u32,
    pub(super) number: u64,
    pub(super) first_step: u64,
    pub(super) steps: u64,
}

/// A spill file being written, which exists only from the first frame on.
#[derive(Debug)]
pub(super) struct Spill {
    path: PathBuf,
    file: Option<File>,
    length: u64,
    limit: u64,
    waiting: Arc<AtomicU64>,
}

impl Spill {
    /// In `folder`, for a process of that key, of so many megabytes at most.
    pub(super) fn new(folder: &Path, process_key: &str, limit_mb: u64) -> Self {
        let name = format!("{PREFIX}{}{SUFFIX}", process_key.get(..12).unwrap_or(process_key));
        let (limit, waiting) = (limit_mb.saturating_mul(1_000_000), Arc::default());
        Self { path: folder.join(name), file: None, length: 0, limit, waiting }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// How many frames wait to be committed; whoever commits one takes it off.
    pub(super) fn waiting(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.waiting)
    }

    /// Adds a portion, and returns once it is on the disk.
    pub(super) fn append(&mut self, portion: &Portion) -> io::Result<Frame> {
        let payload = postcard::to_stdvec(portion).map_err(io::Error::other)?;
        // Once all that it holds is committed, it begins anew.
        if self.waiting.load(Ordering::Acquire) == 0 {
            self.length = 0;
        }
        let frame = Frame {
            offset: self.length,
            length: (HEADER + payload.len()) as u64,
            epoch: portion.epoch,
            number: portion.number,
            first_step: portion.first_step,
            steps: portion.steps,
        };
        if self.length + frame.length > self.limit {
            let why = format!("it has grown to its limit of {} MB (log.spill_limit_mb)", self.limit / 1_000_000);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        if let Some(why) = space::scarce(&self.path) {
            return Err(io::Error::new(io::ErrorKind::StorageFull, why));
        }
        let file = self.open()?;
        file.write_all(&header(&frame, &payload))?;
        file.write_all(&payload)?;
        file.sync_data()?;
        self.length += frame.length;
        self.waiting.fetch_add(1, Ordering::AcqRel);
        Ok(frame)
    }

    /// The file at the end of what is in it.
    fn open(&mut self) -> io::Result<&mut File> {
        let file = match self.file.take() {
            Some(file) => file,
            None => OpenOptions::new().create(true).truncate(false).write(true).open(&self.path)?,
        };
        // What a failed write left behind goes as well.
        file.set_len(self.length)?;
        let file = self.file.insert(file);
        file.seek(SeekFrom::Start(self.length))?;
        Ok(file)
    }

    /// Removes the file if nothing waits in it, and tells whether it is gone.
    pub(super) fn remove_if_empty(&mut self) -> bool {
        let empty = self.waiting.load(Ordering::Acquire) == 0;
        if empty && self.file.take().is_some() {
            // An empty file left behind does no harm.
            let _ = std::fs::remove_file(&self.path);
        }
        empty
    }
}

/// The spill files of a folder, by name: of runs that were cut off while they had something to bring home, or that go on.
pub(super) fn left_behind(folder: &Path) -> Vec<PathBuf> {
    let is_spill = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_spill).collect();
    files.sort();
    files
}

fn header(frame: &Frame, payload: &[u8]) -> Vec<u8> {
    let mut header = MAGIC.to_vec();
    header.extend((payload.len() as u32).to_le_bytes());
    header.extend(frame.epoch.to_le_bytes());
    for number in [frame.number, frame.first_step, frame.steps] {
        header.extend(number.to_le_bytes());
    }
    let checksum = checksum(&header[MAGIC.len()..], payload);
    header.extend(checksum.to_le_bytes());
    header
}

fn checksum(fields: &[u8], payload: &[u8]) -> u32 {
    let mut digest = CRC.digest();
    digest.update(fields);
    digest.update(payload);
    digest.finalize()
}

/// A spill file being read.
#[derive(Debug)]
pub(super) struct SpillReader {
    file: File,
}

impl SpillReader {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::open(path)? })
    }

    /// The portion of a frame.
    pub(super) fn portion(&mut self, frame: Frame) -> io::Result<Portion> {
        let (_, payload) = self.at(frame.offset)?.ok_or_else(|| damaged(frame.offset))?;
        postcard::from_bytes(&payload).map_err(|_| damaged(frame.offset))
    }

    /// All whole frames in the order of the run, and how many bytes at the end are of none.
    pub(super) fn frames(&mut self) -> io::Result<(Vec<Frame>, u64)> {
        let total = self.file.metadata()?.len();
        let (mut frames, mut offset) = (Vec::new(), 0);
        while let Some((frame, _)) = self.at(offset)? {
            offset += frame.length;
            frames.push(frame);
        }
        frames.sort_by_key(|frame| (frame.epoch, frame.number));
        Ok((frames, total - offset))
    }

    /// The frame that begins there, if a whole one does.
    fn at(&mut self, offset: u64) -> io::Result<Option<(Frame, Vec<u8>)>> {
        self.file.seek(SeekFrom::Start(offset))?;
        let mut header = [0; HEADER];
        if !read_whole(&mut self.file, &mut header)? || &header[..8] != MAGIC {
            return Ok(None);
        }
        let short = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes are four bytes"));
        let long = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes are eight bytes"));
        let length = short(8);
        let left = self.file.metadata()?.len().saturating_sub(offset + HEADER as u64);
        if length > LONGEST || u64::from(length) > left {
            return Ok(None);
        }
        let mut payload = vec![0; length as usize];
        if !read_whole(&mut self.file, &mut payload)? || checksum(&header[8..HEADER - 4], &payload) != short(HEADER - 4)
        {
            return Ok(None);
        }
        let frame = Frame {
            offset,
            length: (HEADER + payload.len()) as u64,
            epoch: short(12),
            number: long(16),
            first_step: long(24),
            steps: long(32),
        };
        Ok(Some((frame, payload)))
    }
}

/// Fills the buffer, or tells that there is not so much.
fn read_whole(file: &mut File, buffer: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn damaged(offset: u64) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the frame at byte {offset} is damaged"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{
        cell::Cell,
        portion::Content,
        table::{Batch, Table as Rows},
    };

    fn portion(number: u64) -> Portion {
        let mut batch = Batch::default();
        batch.of(Rows::SensorReading).extend([Cell::Step(number), Cell::Part(1), "x".into(), Cell::Real(f64::MIN)]);
        let content = Content::Rows(batch);
        Portion { run_key: "k".into(), epoch: 0, number, first_step: number, steps: 1, content }
    }

    #[test]
    fn portions_come_back_in_the_order_of_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let mut spill = Spill::new(folder.path(), "key", 1);
        assert!(!spill.path().exists());
        for number in [3, 1, 2] {
            spill.append(&portion(number)).unwrap();
        }
        let mut reader = SpillReader::open(spill.path()).unwrap();
        let (frames, rest) = reader.frames().unwrap();
        assert_eq!((frames.len(), rest), (3, 0));
        let portions: Vec<_> = frames.into_iter().map(|frame| reader.portion(frame).unwrap()).collect();
        assert_eq!(portions, [portion(1), portion(2), portion(3)]);
        assert!(!spill.remove_if_empty());
        spill.waiting().store(0, Ordering::Release);
        assert!(spill.remove_if_empty() && !spill.path().exists());
    }

    #[test]
    fn a_file_cut_or_spoilt_anywhere_is_read_up_to_there() {
        let folder = tempfile::tempdir().unwrap();
        let mut spill = Spill::new(folder.path(), "key", 1);
        let ends: Vec<u64> =
            (1..=3).map(|number| spill.append(&portion(number)).unwrap()).map(|f| f.offset + f.length).collect();
        let whole = std::fs::read(spill.path()).unwrap();
        let file = folder.path().join("spoilt");
        let frames = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            SpillReader::open(&file).unwrap().frames().unwrap()
        };
        for cut in 0..whole.len() {
            let complete = ends.iter().filter(|&&end| end <= cut as u64).count();
            let (found, rest) = frames(&whole[..cut]);
            assert_eq!(found.len(), complete, "cut at {cut}");
            assert_eq!(rest, cut as u64 - complete.checked_sub(1).map_or(0, |last| ends[last]));
            let mut spoilt = whole.clone();
            spoilt[cut] ^= 0x10;
            assert_eq!(frames(&spoilt).0.len(), complete, "spoilt at {cut}");
        }
    }

    #[test]
    fn it_begins_anew_once_all_is_committed_and_ends_at_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let mut spill = Spill::new(folder.path(), "key", 1);
        let first = spill.append(&portion(1)).unwrap();
        spill.waiting().store(0, Ordering::Release);
        assert_eq!(spill.append(&portion(2)).unwrap().offset, 0);
        assert_eq!(spill.append(&portion(3)).unwrap().offset, first.length);
        let error = Spill::new(folder.path(), "other", 0).append(&portion(1)).unwrap_err();
        assert_eq!(error.to_string(), "it has grown to its limit of 0 MB (log.spill_limit_mb)");
    }
}
