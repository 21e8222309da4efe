//! Work budget for reading a mesh file. Nodes of a scene can reference each other repeatedly, so a short file could
//! require unlimited work.

use std::cell::Cell;

use super::triangles::{Mesh, MeshProblem, problem, too_many_triangles};
use crate::limits::MAX_TRIANGLES;

/// Units of work that a file may take, about two seconds. The largest files that are read have 16 million numbers.
const MAX_WORK: usize = 40_000_000;
/// Cost of visiting a node, in numbers read: a million visits are half of [`MAX_WORK`].
const NODE_COST: usize = 20;

/// Work done for a file so far.
#[derive(Debug, Default)]
pub(super) struct Work(Cell<usize>);

impl Work {
    /// Counts a node that is visited, however often it was before, and its children, which are looked through.
    pub(super) fn visit(&self, children: usize) -> Result<(), MeshProblem> {
        self.read(NODE_COST.saturating_add(children))
    }

    /// Counts numbers that are read.
    pub(super) fn read(&self, numbers: usize) -> Result<(), MeshProblem> {
        self.0.set(self.0.get().saturating_add(numbers));
        match self.0.get() <= MAX_WORK {
            true => Ok(()),
            false => {
                let what =
                    "the nodes of the file place so much that reading would not end soon; save the mesh as one piece";
                Err(problem(None, what.into()))
            }
        }
    }
}

/// Refuses a mesh that has grown too large.
pub(super) fn check_size(mesh: &Mesh) -> Result<(), MeshProblem> {
    if mesh.triangles.len().max(mesh.vertices.len()) > MAX_TRIANGLES { Err(too_many_triangles()) } else { Ok(()) }
}
