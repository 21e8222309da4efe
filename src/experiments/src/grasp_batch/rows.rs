//! The file of a batch: a header line that identifies the batch, and a row for each task.

use std::{
    collections::BTreeMap,
    fs,
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use simpartner_description::GraspTaskFile;
use simpartner_grasp::task::Outcome;

use super::error::BatchError;

/// Name of the format in the header line.
const FORMAT_NAME: &str = "simpartner grasp rows";
/// Version of the format. It is incremented when the meaning of rows changes.
const FORMAT_VERSION: u32 = 1;

/// The header line, which identifies the batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    format: String,
    version: u32,
    /// Name of the tasks.
    name: String,
    seed: u64,
    /// Hash of all files that the tasks were read from.
    files: String,
    /// Version of the program that made the rows; another version may compute other numbers.
    program: String,
}

/// A task and its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Number of the task in the batch, from 0.
    pub task: u64,
    /// Outcome of the task.
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl Header {
    pub(super) fn from_file(file: &GraspTaskFile, seed: u64) -> Self {
        let mut hasher = blake3::Hasher::new();
        for source in file.sources.iter().chain(&file.world.sources) {
            // Hashing the lengths keeps the end of one file apart from the start of the next.
            hasher.update(&(source.bytes().len() as u64).to_le_bytes());
            hasher.update(source.bytes());
        }
        Self {
            format: FORMAT_NAME.into(),
            version: FORMAT_VERSION,
            name: file.task.name.clone(),
            seed,
            files: hasher.finalize().to_hex()[..16].to_owned(),
            program: env!("CARGO_PKG_VERSION").into(),
        }
    }

    /// Key of the batch: a hash of all fields. Rows of batches with the same key are interchangeable.
    pub(super) fn key(&self) -> String {
        let Self { format, version, name, seed, files, program } = self;
        let all = [format.as_str(), &version.to_string(), name, &seed.to_string(), files, program];
        blake3::hash(all.join("\n").as_bytes()).to_hex()[..16].to_owned()
    }

    /// Description of the first field that differs from another header's.
    fn difference(&self, other: &Self) -> Option<String> {
        let Self { format, version, name, seed, files, program } = self;
        let pairs = [
            ("format", format.clone(), other.format.clone()),
            ("version", version.to_string(), other.version.to_string()),
            ("name", name.clone(), other.name.clone()),
            ("seed", seed.to_string(), other.seed.to_string()),
            ("contents of its files", files.clone(), other.files.clone()),
            ("program", program.clone(), other.program.clone()),
        ];
        let (what, theirs, ours) = pairs.into_iter().find(|(_, theirs, ours)| theirs != ours)?;
        Some(format!("{what} {theirs}, not {ours}"))
    }
}

/// A file of rows that is open for appending.
pub(super) struct File {
    path: PathBuf,
    file: fs::File,
    header: String,
    /// Text of each row's line, by the number of the task.
    lines: BTreeMap<u64, String>,
}

impl File {
    /// Opens a file to continue it, or creates it. An incomplete last line, left by an interruption, is removed.
    pub(super) fn open(path: &Path, header: &Header) -> Result<Self, BatchError> {
        let failed = |error| BatchError::File { path: path.to_owned(), error };
        let options = || fs::File::options().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = options().map_err(failed)?;
        let text = fs::read_to_string(path).map_err(failed)?;
        let refuse = |line: usize, what: String| BatchError::Rows { path: path.to_owned(), line, what };
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut lines = text[..whole].lines().enumerate();
        let own = serde_json::to_string(header).map_err(|error| failed(error.into()))? + "\n";
        let mut known = BTreeMap::new();
        match lines.next() {
            None if !text.is_empty() && !own.starts_with(&text) => {
                return Err(refuse(1, "this is no file of grasp rows; give another --output".into()));
            }
            // The file is new, or was interrupted in its first line.
            None => {
                file.set_len(0).map_err(failed)?;
                file.write_all(own.as_bytes()).map_err(failed)?;
            }
            Some((_, first)) => {
                let found: Header = serde_json::from_str(first)
                    .map_err(|_| refuse(1, "this is no file of grasp rows; give another --output".into()))?;
                if let Some(difference) = found.difference(header) {
                    let what = format!("its rows are of another batch: {difference}; give another --output");
                    return Err(refuse(1, what));
                }
                for (index, line) in lines {
                    let row: Row = serde_json::from_str(line)
                        .map_err(|error| refuse(index + 1, format!("this is no row: {error}; take the line out")))?;
                    known.insert(row.task, line.to_owned());
                }
                file.set_len(whole as u64).map_err(failed)?;
                file.seek(SeekFrom::End(0)).map_err(failed)?;
            }
        }
        Ok(Self { path: path.to_owned(), file, header: own, lines: known })
    }

    /// True if the file has the row of this task.
    pub(super) fn has(&self, task: u64) -> bool {
        self.lines.contains_key(&task)
    }

    /// The rows in the file whose task numbers are below `count`.
    pub(super) fn rows(&self, count: u64) -> impl Iterator<Item = Result<Row, BatchError>> {
        self.lines.range(..count).map(|(_, line)| {
            let refuse = |error: serde_json::Error| BatchError::File { path: self.path.clone(), error: error.into() };
            serde_json::from_str(line).map_err(refuse)
        })
    }

    /// Appends a row with a single write.
    pub(super) fn append(&mut self, row: &Row) -> Result<(), BatchError> {
        let failed = |error| BatchError::File { path: self.path.clone(), error };
        let line = serde_json::to_string(row).map_err(|error| failed(error.into()))?;
        self.file.write_all(format!("{line}\n").as_bytes()).map_err(failed)?;
        self.lines.insert(row.task, line);
        Ok(())
    }

    /// Sorts the rows into another file, which then replaces this one.
    pub(super) fn sort_rows(self) -> Result<(), BatchError> {
        let failed = |error| BatchError::File { path: self.path.clone(), error };
        let sorted = self.lines.values().fold(self.header.clone(), |text, line| text + line + "\n");
        let beside = PathBuf::from(format!("{}.sorted", self.path.display()));
        fs::write(&beside, sorted).map_err(failed)?;
        fs::rename(&beside, &self.path).map_err(failed)
    }
}

/// Reads all rows of a file. An incomplete last line, left by an interruption, is ignored.
///
/// # Errors
/// The file cannot be read, or is no file of rows.
pub fn read(path: &Path) -> Result<Vec<Row>, BatchError> {
    let text = fs::read_to_string(path).map_err(|error| BatchError::File { path: path.to_owned(), error })?;
    let refuse = |line: usize, what: String| BatchError::Rows { path: path.to_owned(), line, what };
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let mut lines = text[..whole].lines().enumerate();
    let header = lines.next().and_then(|(_, first)| serde_json::from_str::<Header>(first).ok());
    if header.is_none_or(|header| (header.format.as_str(), header.version) != (FORMAT_NAME, FORMAT_VERSION)) {
        return Err(refuse(1, "this is no file that `grasp run` of this version has written".into()));
    }
    let row = |(index, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| refuse(index + 1, format!("this is no row: {error}")))
    };
    lines.map(row).collect()
}
