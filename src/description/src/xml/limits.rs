//! How much of everything is read. A file is input like any other: none of them, however it is made, costs more time than its
//! bytes are worth or more memory than a machine has.

use std::cell::{Cell, RefCell};
use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use super::{
    Diagnostics,
    files::{Files, mesh_text_of},
    robot::Draft,
};
use crate::{SourceFile, Warning, World, dem, mesh::Mesh};

/// The largest XML file, bytes. Written by hand it would be a quarter of a million lines.
pub(super) const MAX_FILE: usize = 16 << 20;
/// All XML files of a world together, bytes: they are kept in memory and go into the log.
pub(super) const MAX_ALL_FILES: usize = 64 << 20;
/// Meshes of a world and images that other formats name, bytes as they are kept: what the most points and triangles that are seen have as text.
pub(super) const MAX_ALL_KEPT: usize = 256 << 20;
/// Files that a world may name, those of its robots included.
pub(super) const MAX_FILE_COUNT: usize = 1_000;
/// How deep elements may be nested. The format itself needs ten; `<repeat>` may be nested at will.
pub(super) const MAX_DEPTH: usize = 64;
/// Elements of a file, and of a robot with all its assemblies placed: about 60 MB as a tree.
pub(super) const MAX_ELEMENTS: usize = 200_000;
/// Elements of all files of a world.
pub(super) const MAX_ALL_ELEMENTS: usize = 1_000_000;
/// Attributes of an element; the format's richest has 20.
pub(super) const MAX_ATTRIBUTES: usize = 64;
/// Bytes of a name: of an element, an attribute, a body. It fits into a column of a table and into a message.
pub(super) const MAX_NAME: usize = 128;
/// Bytes of any other value: what a port takes as one message, and the longest path.
pub(super) const MAX_VALUE: usize = 4096;
/// How deep assemblies may be placed in assemblies.
pub(super) const MAX_NESTED_ASSEMBLIES: usize = 32;
/// Bytes that placing assemblies may make of a robot's file: 300 for each of its most elements.
pub(super) const MAX_EXPANDED: usize = 64 << 20;
/// Bodies of a world, and its joints: a step of so many takes a second.
pub(super) const MAX_BODIES: usize = 10_000;
/// Sensors and actuators of a world; each has a port, of which a machine has 65,535.
pub(super) const MAX_DEVICES: usize = 10_000;
/// Rays of a scanner: more than any there is sends in one turn.
pub(super) const MAX_RAYS: usize = 100_000;
/// Rays of all scanners of a world: each is a number in each of the thousand records that a run has in memory.
pub(super) const MAX_ALL_RAYS: usize = 400_000;
/// Points and triangles of the shapes of a world, each robot counted as often as it is placed.
pub(super) const MAX_SHAPE_POINTS: usize = 1_000_000;
/// Points and triangles of what is seen of a world in place of its shapes, counted likewise: as much as a browser turns at ease.
pub(super) const MAX_VISUAL_POINTS: usize = 4_000_000;
/// Grid points of a terrain along one side.
pub(crate) const MAX_GRID_SIDE: usize = 4096;
/// Grid points of all terrains of a world: 256 MB as numbers, and as much again in the engine.
pub(super) const MAX_ALL_GRID_POINTS: usize = 2 * MAX_GRID_SIDE * MAX_GRID_SIDE;
/// Files of heights of a world together, bytes: they are kept in memory and go into the log.
pub(super) const MAX_ALL_DATA: usize = 2 * dem::MAX_FILE;
/// Planes, terrains and surfaces of triangles that a world may stand on: the engine has eight bits for them.
pub(super) const MAX_GROUNDS: usize = 256;
/// The largest mesh file, bytes: a million triangles in binary.
pub(super) const MAX_MESH_FILE: usize = 64 << 20;
/// Commands and pauses that a sequence may unroll to.
pub(super) const MAX_UNROLLED: u64 = 1_000_000;
/// Bytes of the commands that a sequence unrolls to.
pub(super) const MAX_UNROLLED_BYTES: u64 = 64 << 20;

/// The bounds as the reference page tells them.
pub(super) const STATED: &[(&str, u64, &str)] = &[
    ("an XML file", MAX_FILE as u64, "bytes"),
    ("all XML files that belong to a world", MAX_ALL_FILES as u64, "bytes"),
    ("all meshes of a world, as text", MAX_ALL_KEPT as u64, "bytes"),
    ("files that belong to a world", MAX_FILE_COUNT as u64, ""),
    ("depth of elements", MAX_DEPTH as u64, ""),
    ("elements of a file, and of a robot with its assemblies placed", MAX_ELEMENTS as u64, ""),
    ("elements of all files of a world", MAX_ALL_ELEMENTS as u64, ""),
    ("attributes of an element", MAX_ATTRIBUTES as u64, ""),
    ("a name", MAX_NAME as u64, "bytes"),
    ("any other single value", MAX_VALUE as u64, "bytes"),
    ("assemblies placed in assemblies", MAX_NESTED_ASSEMBLIES as u64, "deep"),
    ("what the assemblies of a robot expand to", MAX_EXPANDED as u64, "bytes"),
    ("bodies of a world; joints of a world", MAX_BODIES as u64, "each"),
    ("sensors and actuators of a world", MAX_DEVICES as u64, ""),
    ("rays of a scanner", MAX_RAYS as u64, ""),
    ("rays of all scanners of a world", MAX_ALL_RAYS as u64, ""),
    ("points and triangles of all shapes of a world", MAX_SHAPE_POINTS as u64, ""),
    ("points and triangles of all visuals of a world", MAX_VISUAL_POINTS as u64, ""),
    ("grid points of a terrain along a side", MAX_GRID_SIDE as u64, ""),
    ("a file of heights", dem::MAX_FILE as u64, "bytes"),
    ("heights in a file, before it is cut", dem::MAX_SAMPLES as u64, ""),
    ("files of heights of a world together", MAX_ALL_DATA as u64, "bytes"),
    ("grid points of all terrains of a world", MAX_ALL_GRID_POINTS as u64, ""),
    ("grounds of a world", MAX_GROUNDS as u64, ""),
    ("a mesh file", MAX_MESH_FILE as u64, "bytes"),
    ("commands and pauses that a sequence unrolls to", MAX_UNROLLED, ""),
    ("text of the commands that a sequence unrolls to", MAX_UNROLLED_BYTES, "bytes"),
];

/// Work on looking for the name that was meant, in comparisons of two characters: a tenth of a second.
const MAX_NAME_COMPARISONS: usize = 20_000_000;

/// Mesh files that have been read, as long as all of them together are no more than a world may show.
#[derive(Debug, Default)]
pub(super) struct Meshes {
    /// With whether each took something from another file.
    known: RefCell<HashMap<String, (Rc<Mesh>, bool)>>,
    points: Cell<usize>,
}

impl Meshes {
    /// The mesh of a file, read once, and whether it took something from another file.
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

/// What one reading has found wrong and used up so far, shared by all files that take part in it.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) problems: RefCell<Diagnostics>,
    pub(super) warnings: RefCell<Vec<Warning>>,
    /// What was read beside the XML files.
    pub(super) sources: RefCell<Vec<SourceFile>>,
    pub(super) meshes: Meshes,
    /// A robot file that has been read already: its path, its text and what it holds.
    pub(super) prepared: RefCell<Option<(SourceFile, Draft)>>,
    /// Hashes of the problems found so far, each with its place in its file.
    seen: RefCell<HashSet<u64>>,
    files: Cell<usize>,
    /// Bytes of XML files, and of what is kept beside them.
    bytes: Cell<usize>,
    kept: Cell<usize>,
    elements: Cell<usize>,
    comparisons: Cell<usize>,
}

impl Session {
    /// Counts another file of so many bytes; the error says which bound it breaks.
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

    /// Gives a world what it is to know of its reading.
    pub(super) fn close(&self, world: &mut World) {
        world.warnings = self.warnings.take();
        world.sources.append(&mut self.sources.take());
    }

    /// Keeps a mesh as its text, likewise.
    pub(super) fn add_mesh(&self, path: String, mesh: &Mesh) -> Result<(), String> {
        let path = mesh_text_of(&path);
        if self.sources.borrow().iter().any(|known| known.path == path) {
            return Ok(());
        }
        self.add_source(SourceFile::new(path, mesh.to_obj()))
    }

    /// Keeps a file that was read beside the XML files, once; the error says which bound it breaks.
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

    /// Whether two names of these lengths may still be compared.
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
