//! Writes a spill file.

use std::{
    fs::{File, OpenOptions},
    io::{self, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    frame::{CRC, Frame, HEADER_LENGTH, MAGIC, tables_checksum},
    reader::SpillReader,
    shared_file::{SharedFile, is_in_place},
    sync::Syncer,
};
use crate::write::{batch::Batch, disk_space};

/// Start of the name of a spill file. The first digits of the process key follow.
pub(super) const NAME_PREFIX: &str = "simpartner-";
/// End of the name of a spill file.
pub(super) const NAME_SUFFIX: &str = ".spill";

/// A spill file being written. It is open from the start of the log, so that it can be written even when the process
/// may open no more files. It is locked, so that other programs know that it is being written.
#[derive(Debug)]
pub(in crate::write) struct SpillWriter {
    path: PathBuf,
    file: Option<Arc<File>>,
    /// The same file, opened for reading.
    read: SharedFile,
    syncer: Option<Syncer>,
    /// Largest size of the file, in bytes.
    limit: u64,
    /// Size of the complete frames, in bytes.
    length: u64,
    /// Key of the run whose first batch was written last. With the first batch in the file, the later ones can be
    /// imported into a database that does not have the run.
    begun: Option<String>,
    /// Size of the first batch at the start of the file, in bytes. It stays when all later batches are committed.
    front: u64,
    /// Position of the last batch in the file in the order of all batches; `None` once all are committed.
    last: Option<u64>,
}

impl SpillWriter {
    /// Creates the spill file of a process in `folder`, of at most `limit_mb` megabytes of 10^6 bytes.
    pub(in crate::write) fn create(folder: &Path, process_key: &str, limit_mb: u64) -> Self {
        let name = format!("{NAME_PREFIX}{}{NAME_SUFFIX}", process_key.get(..12).unwrap_or(process_key));
        let mut spill = Self {
            path: folder.join(name),
            file: None,
            read: SharedFile::default(),
            syncer: None,
            limit: limit_mb.saturating_mul(1_000_000),
            length: 0,
            begun: None,
            front: 0,
            last: None,
        };
        if let Err(error) = spill.ensure_file() {
            tracing::warn!(
                "the spill file {} cannot be created, so a database that is away or slow would end the run: {error}; \
                 name another folder by log.spill_folder",
                spill.path.display()
            );
        }
        spill
    }

    pub(in crate::write) fn path(&self) -> &Path {
        &self.path
    }

    /// A reader of the same file, which stays valid if the file is replaced.
    pub(in crate::write) fn reader(&self) -> SpillReader {
        SpillReader::from_shared_file(self.read.clone())
    }

    /// Appends a batch, and before it the first batch of its run, `beginning`, unless the file has that. `place` is the
    /// position of the batch in the order of all batches. After this returns, a killed process does not lose the batch.
    /// It reaches the disk soon after.
    pub(in crate::write) fn append_batch(&mut self, batch: &Batch, beginning: &Batch, place: u64) -> io::Result<Frame> {
        if let Some(why) = disk_space::space_problem(&self.path) {
            return Err(io::Error::new(io::ErrorKind::StorageFull, why));
        }
        self.ensure_file()?;
        let mut frame = None;
        if self.begun.as_deref() != Some(&batch.run_key) {
            if self.last.is_none() {
                (self.length, self.front) = (0, 0);
            }
            let begun = self.write_frame(beginning)?;
            if begun.offset == 0 {
                self.front = begun.length;
            }
            self.begun = Some(batch.run_key.clone());
            frame = (beginning.number == batch.number).then_some(begun);
        }
        let frame = match frame {
            Some(frame) => frame,
            None => self.write_frame(batch)?,
        };
        self.last = self.last.max(Some(place));
        if let (Some(file), Some(syncer)) = (&self.file, &self.syncer) {
            syncer.request_sync(file)?;
        }
        Ok(frame)
    }

    /// Truncates the file once all its batches are committed. `committed` is the number of committed batches, in the
    /// order of all batches.
    pub(in crate::write) fn release_committed(&mut self, committed: u64) {
        if self.last.is_some_and(|last| last <= committed) {
            self.last = None;
            self.length = self.front;
            // If the file cannot be truncated now, later batches overwrite it.
            let _ = self.file.as_ref().map(|file| file.set_len(self.length));
        }
    }

    /// True if the file has batches that are not known to be committed.
    pub(in crate::write) fn has_batches(&self) -> bool {
        self.last.is_some()
    }

    /// Removes the file if all its batches are committed, and returns true. Otherwise synchronises the file with the
    /// disk and returns false.
    ///
    /// # Errors
    /// When the disk does not keep the data.
    pub(in crate::write) fn finish(mut self, committed: u64) -> io::Result<bool> {
        self.release_committed(committed);
        if self.last.is_some() {
            self.ensure_file()?;
        }
        if let Some(syncer) = self.syncer.take() {
            syncer.finish();
        }
        if self.last.is_some() {
            return self.file.map_or(Ok(()), |file| file.sync_data()).map(|()| false);
        }
        if self.file.as_ref().is_some_and(|file| is_in_place(file, &self.path)) {
            // An empty file left behind does no harm.
            let _ = std::fs::remove_file(&self.path);
        }
        Ok(true)
    }

    /// Makes sure that there is an open file at the path with everything written so far.
    fn ensure_file(&mut self) -> io::Result<()> {
        if self.syncer.is_none() {
            self.syncer = Some(Syncer::start()?);
        }
        if self.file.as_ref().is_some_and(|file| is_in_place(file, &self.path)) {
            return Ok(());
        }
        let (file, read) = open_locked(&self.path)?;
        if let Some(before) = self.read.get().filter(|_| self.length > 0) {
            tracing::warn!("the spill file {} was removed or replaced; it is created again", self.path.display());
            let mut before = &*before;
            before.seek(SeekFrom::Start(0))?;
            io::copy(&mut io::Read::take(before, self.length), &mut &file)?;
        }
        self.file = Some(Arc::new(file));
        self.read.set(Some(Arc::new(read)));
        Ok(())
    }

    fn write_frame(&mut self, batch: &Batch) -> io::Result<Frame> {
        let payload = postcard::to_stdvec(batch).map_err(io::Error::other)?;
        let frame = Frame {
            offset: self.length,
            length: (HEADER_LENGTH + payload.len()) as u64,
            tables: Some(tables_checksum()),
            run_index: batch.run_index,
            number: batch.number,
            first_step: batch.first_step,
            steps: batch.steps,
        };
        if self.length + frame.length > self.limit {
            let why = format!("it has grown to its limit of {} MB (log.spill_limit_mb)", self.limit / 1_000_000);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        let Some(mut file) = self.file.as_deref() else { return Err(io::ErrorKind::NotFound.into()) };
        file.seek(SeekFrom::Start(self.length))?;
        let written = file.write_all(&encode_header(&frame, &payload)).and_then(|()| file.write_all(&payload));
        if let Err(error) = written {
            // An incomplete frame must not stay in the file.
            let _ = file.set_len(self.length);
            return Err(error);
        }
        self.length += frame.length;
        Ok(frame)
    }
}

/// Opens and locks the file, and opens it once more for reading.
fn open_locked(path: &Path) -> io::Result<(File, File)> {
    loop {
        let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path)?;
        // On a file system without locks other programs cannot know that the file is being written.
        let _ = file.lock();
        // Meanwhile another program may have found it empty and removed it.
        if is_in_place(&file, path) {
            return Ok((file, File::open(path)?));
        }
    }
}

fn encode_header(frame: &Frame, payload: &[u8]) -> Vec<u8> {
    let mut header = MAGIC.to_vec();
    for number in [payload.len() as u32, frame.tables.unwrap_or_default(), frame.run_index] {
        header.extend(number.to_le_bytes());
    }
    for number in [frame.number, frame.first_step, frame.steps] {
        header.extend(number.to_le_bytes());
    }
    header.extend(CRC.checksum(payload).to_le_bytes());
    header.extend(CRC.checksum(&header).to_le_bytes());
    header
}
