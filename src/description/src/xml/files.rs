//! Files as texts, and paths relative to other files.

use std::{
    cell::Cell,
    path::{Component, Path, PathBuf},
};

use super::built_in;
use crate::{
    dem,
    limits::MAX_MESH_FILE,
    mesh::{self, Mesh},
    source::{Content, SourceFile},
    text::{
        diagnostic::Diagnostic,
        file::{read_bytes, read_file},
    },
};

/// The path under which the text of a mesh file is stored: the file's own, unless terrain may use the same file, whose
/// bytes are stored under that path.
pub(super) fn mesh_text_of(path: &str) -> String {
    let own = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    if dem::ENDINGS.contains(&own.as_str()) { format!("{path}.obj") } else { path.to_owned() }
}

/// Source of the files.
#[derive(Debug, Clone, Copy)]
pub(super) enum Files<'a> {
    /// In the file system, or else built in.
    Disk,
    /// Here, under the paths they once had.
    Kept(&'a [SourceFile]),
    /// The files of a world that is read again after a change.
    Renewed(&'a Renewed<'a>),
}

/// The stored files of a world that is read again, independent of later changes.
#[derive(Debug)]
pub(super) struct Renewed<'a> {
    pub(super) kept: &'a [SourceFile],
    /// A text that is added.
    pub(super) new: Option<&'a SourceFile>,
    /// The folder that must contain all other files, or `robots` beside it; `None` for any location. Built-in files may
    /// always be read.
    pub(super) folder: Option<&'a Path>,
}

impl<'a> Renewed<'a> {
    fn kept(&self, path: &str) -> Option<&'a SourceFile> {
        self.kept.iter().chain(self.new).find(|file| file.path == path)
    }

    /// True if a file that is not stored may be read: its path and its links stay within the folders.
    fn allows(&self, path: &str) -> bool {
        let Some(folder) = self.folder else { return true };
        if built_in::is_built_in(path) {
            return true;
        }
        let parts = path_parts(Path::new(path));
        let is_name = |part: &Component<'_>| matches!(part, Component::Normal(_));
        let is_below = |parts: &[Component<'_>], folder: &Path| {
            parts.strip_prefix(&path_parts(folder)[..]).is_some_and(|rest| rest.iter().all(is_name))
        };
        let folders = [folder.to_owned(), folder.join("..").join("robots")];
        let here = |folder: &Path| if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_owned() };
        folders.iter().any(|folder| is_below(&parts, folder))
            && match Path::new(path).canonicalize() {
                Ok(real) => folders
                    .iter()
                    .filter_map(|folder| here(folder).canonicalize().ok())
                    .any(|folder| is_below(&path_parts(&real), &folder)),
                // There is no such file; reading it reports that.
                Err(_) => true,
            }
    }
}

/// The parts of a path without `.` and, where possible, without `..`.
fn path_parts(path: &Path) -> Vec<Component<'_>> {
    let mut parts = Vec::new();
    for part in path.components() {
        match (part, parts.last()) {
            (Component::CurDir, _) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts
}

impl<'a> Files<'a> {
    /// The file, if it is among those kept; `None` if it is to be looked for in the file system.
    fn source(self, path: &str) -> Result<Option<&'a SourceFile>, Diagnostic> {
        match self {
            Self::Disk => Ok(None),
            Self::Kept(files) => kept(files, path).map(Some),
            Self::Renewed(renewed) => match renewed.kept(path) {
                None if !renewed.allows(path) => Err(Diagnostic::at(path, "", 0, format!("'{path}' may not be read"))
                    .with_help("a text names files in the world's folder, in 'robots' beside it, or built-in ones")),
                file => Ok(file),
            },
        }
    }

    /// The files that are kept.
    pub(super) fn kept(self) -> &'a [SourceFile] {
        match self {
            Self::Disk => &[],
            Self::Kept(files) => files,
            Self::Renewed(renewed) => renewed.kept,
        }
    }

    /// Reads a file as text of at most `limit` bytes.
    pub(super) fn read(self, path: &str, limit: usize) -> Result<String, Diagnostic> {
        match self.source(path)?.map(|file| &file.content) {
            None => match built_in::find(path) {
                Some(file) if built_in::is_built_in(path) => Ok(file.text.to_owned()),
                _ => read_file(path, limit),
            },
            Some(Content::Text(text)) => Ok(text.clone()),
            Some(Content::Bytes(_)) => Err(Diagnostic::at(path, "", 0, format!("'{path}' is not text"))),
        }
    }

    /// The bytes of a file, at most `limit`.
    pub(super) fn read_bytes(self, path: &str, limit: usize) -> Result<Vec<u8>, Diagnostic> {
        match self.source(path)? {
            None if !built_in::is_built_in(path) => read_bytes(path, limit),
            None => self.read(path, limit).map(String::into_bytes),
            Some(file) => Ok(file.bytes().to_vec()),
        }
    }

    /// Reads a mesh file. The error has the file's path, and the line if there is one. The result has true if the mesh
    /// uses another file.
    pub(super) fn read_mesh(self, path: &str) -> Result<(Mesh, bool), String> {
        let text = self.kept_mesh(path);
        let told = |problem: Diagnostic| problem.message;
        // Stored meshes are OBJ, whatever their original format.
        let is_kept = self.source(&text).map_err(told)?.is_some();
        // Before it is opened: reading some files of the system has effects, or never ends.
        mesh::check_ending(path).map_err(|problem| format!("{path}: {}", problem.what))?;
        let bytes = self.read_bytes(&text, MAX_MESH_FILE).map_err(told)?;
        let takes_others = Cell::new(false);
        let named = |file: &str| {
            let file = beside(path, file);
            match self.source(&file) {
                Ok(Some(kept)) => Some(kept.bytes().to_vec()),
                Ok(None) if !is_kept => {
                    let bytes = read_bytes(&file, MAX_MESH_FILE).ok();
                    takes_others.set(takes_others.get() || bytes.is_some());
                    bytes
                }
                _ => None,
            }
        };
        let mesh = Mesh::read(if is_kept { "kept.obj" } else { path }, &bytes, named).map_err(|problem| {
            let line = problem.line.map_or(String::new(), |line| format!(":{line}"));
            format!("{path}{line}: {}", problem.what)
        })?;
        Ok((mesh, takes_others.get()))
    }

    /// The path under which a mesh is stored; older logs use the file's own path.
    fn kept_mesh(self, path: &str) -> String {
        let text = mesh_text_of(path);
        if self.kept().iter().any(|file| file.path == text) { text } else { path.to_owned() }
    }

    /// True if there is a file of this path.
    pub(super) fn has(self, path: &str) -> bool {
        match self.source(path) {
            Ok(None) => Path::new(path).exists() || built_in::find(path).is_some(),
            Ok(Some(_)) => true,
            Err(_) => false,
        }
    }

    /// The names in a folder, in their order; none of a folder that may not be read.
    pub(super) fn names_in(self, folder: &Path) -> Vec<String> {
        let is_open = match self {
            Self::Disk => true,
            Self::Kept(_) => false,
            Self::Renewed(renewed) => renewed.allows(&folder.to_string_lossy()),
        };
        let entries = is_open.then(|| std::fs::read_dir(folder).ok()).flatten();
        let mut names: Vec<String> =
            entries.into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// The name of a file beside this path that differs from its own only in upper and lower case.
    pub(super) fn written_otherwise(self, path: &str) -> Option<String> {
        if !matches!(self.source(path), Ok(None)) {
            return None;
        }
        let path = Path::new(path);
        let (folder, own) = (path.parent()?, path.file_name()?.to_str()?);
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let names = std::fs::read_dir(folder).ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| name != own && name.eq_ignore_ascii_case(own)).min()
    }

    /// The first of these paths with a file; a stored one takes precedence.
    pub(super) fn first<'p>(self, paths: &[&'p str]) -> Option<&'p str> {
        let is_kept = |path: &&&str| self.kept().iter().any(|file| file.path == ***path);
        let found = paths.iter().find(is_kept).or_else(|| paths.iter().find(|path| self.has(path)));
        found.copied()
    }

    /// A path in a file, relative to that file's folder; if there is no such file, that of the built-in file of this
    /// name in `folder`, if any.
    pub(super) fn beside(self, file: &str, path: &str, folder: &str) -> String {
        let beside = beside(file, path);
        let built_in = format!("{}/{folder}/{path}", built_in::BUILT_IN_FOLDER);
        self.first(&[&beside, &built_in]).map_or(beside.clone(), str::to_owned)
    }
}

fn kept<'a>(files: &'a [SourceFile], path: &str) -> Result<&'a SourceFile, Diagnostic> {
    let found = files.iter().find(|file| file.path == path);
    found.ok_or_else(|| Diagnostic::at(path, "", 0, format!("'{path}' was not kept")))
}

/// A path in a file, seen from that file's folder.
pub(super) fn beside(file: &str, path: &str) -> String {
    join(Path::new(file).parent(), path)
}

/// Candidates for a robot file: beside the world file, in the `robots` folder beside the world's, or built in.
pub(super) fn robot_candidates(world: &str, file: &str) -> [String; 3] {
    let folder = Path::new(world).parent();
    let robots: PathBuf = folder.unwrap_or(Path::new("")).join("..").join("robots");
    [join(folder, file), join(Some(&robots), file), format!("{}/robots/{file}", built_in::BUILT_IN_FOLDER)]
}

fn join(folder: Option<&Path>, path: &str) -> String {
    folder.unwrap_or(Path::new("")).join(path).to_string_lossy().into_owned()
}
