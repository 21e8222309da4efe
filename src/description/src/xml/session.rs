//! The state of one reading, shared by all its files: problems, warnings, stored files, and the resources used so far.

use std::cell::{Cell, RefCell};
use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
    sync::Arc,
};

use simpartner_model::Texture;

use super::{
    files::{Files, mesh_text_of},
    parameters::AppliedParameters,
};
use crate::{
    World,
    limits::{MAX_ALL_ELEMENTS, MAX_ALL_FILES, MAX_ALL_KEPT, MAX_FILE_COUNT, MAX_TEXTURE_PIXELS, MAX_VISUAL_POINTS},
    mesh::Mesh,
    parameter::Parameters,
    source::{SourceFile, Warning},
    text::diagnostic::Diagnostics,
    texture::{self, AlphaRule},
};

/// Work on looking for the name that was meant, in comparisons of two characters: a tenth of a second.
const MAX_NAME_COMPARISONS: usize = 20_000_000;

/// Mesh files that have been read, as long as all of them together are no more than a world may show.
#[derive(Debug, Default)]
pub(super) struct Meshes {
    /// Meshes by path, with true if a mesh uses another file.
    known: RefCell<HashMap<String, (Rc<Mesh>, bool)>>,
    points: Cell<usize>,
}

impl Meshes {
    /// The mesh of a file, read once, and true if it uses another file.
    pub(super) fn get(&self, files: Files<'_>, path: &str) -> Result<(Rc<Mesh>, bool), String> {
        if let Some(known) = self.known.borrow().get(path) {
            return Ok(known.clone());
        }
        let (mesh, takes_others) = files.read_mesh(path)?;
        let mesh = Rc::new(mesh);
        let points = mesh.vertices.len() + mesh.triangles.len();
        if self.points.get().saturating_add(points) <= MAX_VISUAL_POINTS {
            self.points.set(self.points.get() + points);
            self.known.borrow_mut().insert(path.to_owned(), (Rc::clone(&mesh), takes_others));
        }
        Ok((mesh, takes_others))
    }
}

/// A texture, or why there is none, as the end of a sentence.
type Decoded = Result<Arc<Texture>, String>;

/// Textures that have been decoded, each once for all its users.
#[derive(Debug, Default)]
pub(super) struct Textures {
    known: RefCell<HashMap<(String, AlphaRule), Decoded>>,
    pixels: Cell<usize>,
}

impl Textures {
    /// The texture of an image of this path. The error is the end of a sentence.
    pub(super) fn texture_of(&self, path: &str, bytes: &[u8], rule: AlphaRule) -> Result<Arc<Texture>, String> {
        let key = (path.to_owned(), rule);
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone();
        }
        let found = self.decode_new(bytes, rule);
        self.known.borrow_mut().insert(key, found.clone());
        found
    }

    fn decode_new(&self, bytes: &[u8], rule: AlphaRule) -> Result<Arc<Texture>, String> {
        if self.pixels.get() > MAX_TEXTURE_PIXELS {
            return Err(format!("the textures of the world have more than {MAX_TEXTURE_PIXELS} pixels"));
        }
        let texture = texture::decode_image(bytes, rule)?;
        self.pixels.set(self.pixels.get() + texture.pixels().len());
        match self.pixels.get() > MAX_TEXTURE_PIXELS {
            true => Err(format!("with it the textures of the world have more than {MAX_TEXTURE_PIXELS} pixels")),
            false => Ok(Arc::new(texture)),
        }
    }
}

/// Problems and used resources of one reading, shared by all its files.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// Parameters that replace values of the files.
    pub(super) parameters: AppliedParameters,
    pub(super) problems: RefCell<Diagnostics>,
    pub(super) warnings: RefCell<Vec<Warning>>,
    /// Files other than XML files.
    pub(super) sources: RefCell<Vec<SourceFile>>,
    pub(super) meshes: Meshes,
    pub(super) textures: Textures,
    /// Hashes of the problems found so far, each with its place in its file.
    seen: RefCell<HashSet<u64>>,
    files: Cell<usize>,
    /// Total size of XML files, and of other stored files, bytes.
    bytes: Cell<usize>,
    kept: Cell<usize>,
    elements: Cell<usize>,
    comparisons: Cell<usize>,
}

impl Session {
    /// A session in which these parameters replace values of the files.
    pub(super) fn with_parameters(parameters: Parameters) -> Self {
        Self { parameters: AppliedParameters::of_parameters(parameters), ..Self::default() }
    }

    /// A session that reads a world again from which something was removed: parameters that lead nowhere now are
    /// dropped.
    pub(super) fn with_remaining_parameters(parameters: Parameters) -> Self {
        Self { parameters: AppliedParameters::of_remaining(parameters), ..Self::default() }
    }

    /// Adds the problems of the parameters, when everything has been read.
    pub(super) fn report_parameters(&self) {
        let mut problems = self.problems.borrow_mut();
        self.parameters.take_problems().into_iter().for_each(|problem| problems.push(problem));
    }

    /// Counts another file of this size; the error names the exceeded limit.
    pub(super) fn add_file(&self, bytes: usize) -> Result<(), String> {
        self.count(&self.bytes, bytes, MAX_ALL_FILES)
    }

    fn count(&self, counted: &Cell<usize>, bytes: usize, most: usize) -> Result<(), String> {
        if add(&self.files, 1) > MAX_FILE_COUNT {
            return Err(format!("more than {MAX_FILE_COUNT} files belong to this one"));
        }
        match add(counted, bytes) > most {
            true => Err(format!("with this file there are more than {most} bytes to read")),
            false => Ok(()),
        }
    }

    /// Adds warnings and files to a world.
    pub(super) fn finish(&self, world: &mut World) {
        world.warnings = self.warnings.take();
        world.sources.append(&mut self.sources.take());
        world.sources.extend(self.parameters.effective_parameters().as_source());
    }

    /// Keeps a mesh as its text, likewise.
    pub(super) fn add_mesh(&self, path: String, mesh: &Mesh) -> Result<(), String> {
        let path = mesh_text_of(&path);
        if self.sources.borrow().iter().any(|known| known.path == path) {
            return Ok(());
        }
        self.add_source(SourceFile::new(path, mesh.to_obj()))
    }

    /// Stores a file other than XML, once; the error names the exceeded limit.
    pub(super) fn add_source(&self, file: SourceFile) -> Result<(), String> {
        let mut sources = self.sources.borrow_mut();
        if sources.iter().all(|known| known.path != file.path) {
            self.count(&self.kept, file.bytes().len(), MAX_ALL_KEPT)?;
            sources.push(file);
        }
        Ok(())
    }

    /// Counts elements that were read.
    pub(super) fn add_elements(&self, count: usize) -> Result<(), String> {
        if add(&self.elements, count) > MAX_ALL_ELEMENTS {
            return Err(format!("with this file there are more than {MAX_ALL_ELEMENTS} elements"));
        }
        Ok(())
    }

    /// True while the budget allows a comparison of two names of these lengths.
    pub(super) fn may_compare(&self, first: usize, second: usize) -> bool {
        let fresh = self.comparisons.get().saturating_add(first.saturating_mul(second));
        let may = fresh <= MAX_NAME_COMPARISONS;
        if may {
            self.comparisons.set(fresh);
        }
        may
    }

    /// True once for each hash.
    pub(super) fn is_new(&self, hash: u64) -> bool {
        self.seen.borrow_mut().insert(hash)
    }
}

fn add(cell: &Cell<usize>, count: usize) -> usize {
    cell.set(cell.get().saturating_add(count));
    cell.get()
}
