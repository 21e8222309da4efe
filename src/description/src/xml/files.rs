//! Files as texts, and paths beside other files.

use std::{
    cell::Cell,
    io::Read,
    path::{Path, PathBuf},
};

use super::{Diagnostic, built_in, limits::MAX_MESH_FILE};
use crate::{Content, SourceFile, dem, mesh::Mesh};

/// The path under which the text of a mesh is kept that stands for a file: the file's own, unless terrain may have been read from the same
/// file, whose bytes have that.
pub(super) fn mesh_text_of(path: &str) -> String {
    let own = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    if dem::ENDINGS.contains(&own.as_str()) { format!("{path}.obj") } else { path.to_owned() }
}

/// Where files are.
#[derive(Debug, Clone, Copy)]
pub(super) enum Files<'a> {
    /// In the file system, or else built in.
    Disk,
    /// Here, under the paths they once had.
    Kept(&'a [SourceFile]),
}

impl Files<'_> {
    /// Reads a file as text of at most `limit` bytes.
    pub(super) fn read(self, path: &str, limit: usize) -> Result<String, Diagnostic> {
        match self {
            Self::Disk => match built_in::find(path) {
                Some(file) if built_in::is_built_in(path) => Ok(file.text.to_owned()),
                _ => read_file(path, limit),
            },
            Self::Kept(files) => match kept(files, path)?.content {
                Content::Text(ref text) => Ok(text.clone()),
                Content::Bytes(_) => Err(Diagnostic::at(path, "", 0, format!("'{path}' is not text"))),
            },
        }
    }

    /// The bytes of a file, at most `limit`.
    pub(super) fn read_bytes(self, path: &str, limit: usize) -> Result<Vec<u8>, Diagnostic> {
        match self {
            Self::Disk if !built_in::is_built_in(path) => read_bytes(path, limit),
            Self::Disk => self.read(path, limit).map(String::into_bytes),
            Self::Kept(files) => Ok(kept(files, path)?.bytes().to_vec()),
        }
    }

    /// Reads a mesh file. What is wrong with one is told with the file's path, and the line where it has any.
    /// Beside it, whether it took something from another file.
    pub(super) fn read_mesh(self, path: &str) -> Result<(Mesh, bool), String> {
        // Those that were kept are OBJ, whatever they once were.
        let kind = if matches!(self, Self::Disk) { path } else { "kept.obj" };
        let bytes = self.read_bytes(&self.kept_mesh(path), MAX_MESH_FILE).map_err(|problem| problem.message)?;
        let takes_others = Cell::new(false);
        let named = |file: &str| match self {
            Self::Disk => {
                let bytes = read_bytes(&beside(path, file), MAX_MESH_FILE).ok();
                takes_others.set(takes_others.get() || bytes.is_some());
                bytes
            }
            Self::Kept(_) => None,
        };
        let mesh = Mesh::read(kind, &bytes, named).map_err(|problem| {
            let line = problem.line.map_or(String::new(), |line| format!(":{line}"));
            format!("{path}{line}: {}", problem.what)
        })?;
        Ok((mesh, takes_others.get()))
    }

    /// The path of what a mesh was kept as; logs of before have all under the file's own.
    fn kept_mesh(self, path: &str) -> String {
        let text = mesh_text_of(path);
        if matches!(self, Self::Kept(_)) && self.has(&text) { text } else { path.to_owned() }
    }

    /// Whether there is a file of this path.
    pub(super) fn has(self, path: &str) -> bool {
        match self {
            Self::Disk => Path::new(path).exists() || built_in::find(path).is_some(),
            Self::Kept(files) => files.iter().any(|file| file.path == path),
        }
    }

    /// A path in a file, seen from that file's folder; where there is none such, that of the built-in file of this name in
    /// `folder`, if there is one.
    pub(super) fn beside(self, file: &str, path: &str, folder: &str) -> String {
        let beside = beside(file, path);
        let built_in = format!("{}/{folder}/{path}", built_in::FOLDER);
        if !self.has(&beside) && self.has(&built_in) { built_in } else { beside }
    }
}

/// Reads a file of the file system as text of at most `limit` bytes. Folders, devices and pipes, which may be without end or
/// never answer, are refused.
///
/// # Errors
/// What is wrong with the file, and where in it.
pub fn read_file(path: &str, limit: usize) -> Result<String, Diagnostic> {
    let bytes = read_bytes(path, limit)?;
    match String::from_utf8(bytes) {
        // Some editors put a byte order mark in front.
        Ok(text) => Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)),
        Err(error) => {
            let valid = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]).into_owned();
            Err(Diagnostic::at(path, &valid, valid.len(), "the file is not UTF-8 text from here on"))
        }
    }
}

fn kept<'a>(files: &'a [SourceFile], path: &str) -> Result<&'a SourceFile, Diagnostic> {
    let found = files.iter().find(|file| file.path == path);
    found.ok_or_else(|| Diagnostic::at(path, "", 0, format!("'{path}' was not kept")))
}

/// Reads a file of the file system, of at most `limit` bytes.
pub(crate) fn read_bytes(path: &str, limit: usize) -> Result<Vec<u8>, Diagnostic> {
    let refuse = |message: String| Diagnostic::at(path, "", 0, message);
    let cannot = |error: std::io::Error| refuse(format!("cannot open '{path}': {error}"));
    // Before it is opened, since opening a pipe waits for whoever writes into it.
    let metadata = std::fs::metadata(path).map_err(cannot)?;
    let kind = metadata.file_type();
    if kind.is_dir() {
        return Err(refuse(format!("'{path}' is a folder")));
    }
    if !kind.is_file() {
        let message = format!("'{path}' is a device or a pipe; only files are read");
        return Err(refuse(message).with_help("save what it holds as a file"));
    }
    let too_long = || refuse(format!("'{path}' has more than {limit} bytes, which are the most that are read"));
    if metadata.len() > limit as u64 {
        return Err(too_long());
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(cannot)?;
    // One byte more tells a file that is too long, also where the system does not know its length.
    let read = file.take(limit as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| refuse(format!("cannot read '{path}': {error}")))?;
    if bytes.len() > limit {
        return Err(too_long());
    }
    Ok(bytes)
}

/// A path in a file, seen from that file's folder.
fn beside(file: &str, path: &str) -> String {
    join(Path::new(file).parent(), path)
}

/// Where a robot file may be: beside the world file, in the `robots` folder beside the world's, or among the built-in ones.
pub(super) fn robot_candidates(world: &str, file: &str) -> [String; 3] {
    let folder = Path::new(world).parent();
    let robots: PathBuf = folder.unwrap_or(Path::new("")).join("..").join("robots");
    [join(folder, file), join(Some(&robots), file), format!("{}/robots/{file}", built_in::FOLDER)]
}

fn join(folder: Option<&Path>, path: &str) -> String {
    folder.unwrap_or(Path::new("")).join(path).to_string_lossy().into_owned()
}
