//! The first ElevationGrid of a VRML97 file: y is up, lines run along x and follow each other along z, as in our
//! worlds.

use std::rc::Rc;

use super::grid::{Dem, DemProblem, check_size, problem};
use crate::text::vrml::{self, Node};

pub(super) fn read(text: &str) -> Result<Dem, DemProblem> {
    let roots = vrml::parse(text).map_err(|(offset, what)| problem(offset, what))?;
    let Some(grid) = find(&roots) else {
        let what = "the file holds no ElevationGrid; a surface of triangles is a <ground> with a <triangleMesh>";
        return Err(problem(0, what));
    };
    let count = |name| grid.number(name).map_or(0, |count| count as usize);
    let (columns, rows) = (count("xDimension"), count("zDimension"));
    let wrong = |what: String| problem(grid.offset, what);
    check_size(columns, rows).map_err(|problem| wrong(problem.what))?;
    let heights = grid.numbers("height");
    if heights.len() != columns * rows {
        return Err(wrong(format!("the ElevationGrid has {columns} x {rows} samples and {} heights", heights.len())));
    }
    // 1 by default.
    let spacing = ["xSpacing", "zSpacing"].map(|name| grid.number(name).unwrap_or(1.0));
    if spacing.iter().any(|length| *length <= 0.0) {
        return Err(wrong(format!("the spacings of an ElevationGrid are above 0, not {spacing:?}")));
    }
    Ok(Dem::from_raster(columns, rows, Some(spacing), heights))
}

fn find(nodes: &[Rc<Node>]) -> Option<Rc<Node>> {
    nodes.iter().find_map(|node| {
        if node.kind == "ElevationGrid" {
            return Some(Rc::clone(node));
        }
        node.all_nodes().find_map(|child| find(std::slice::from_ref(child)))
    })
}
