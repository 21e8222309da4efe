//! `<polyline>`: outlines that are extruded along z. Where outlines lie in each other, every second one is a hole.

use bevy_math::DVec3;

use super::{super::model::Form, importer::Sdf};
use crate::xml::node::Node;

/// Convex parts of an extruded outline; one with more becomes its convex hull.
const MAX_PARTS: usize = 256;

/// A corner of an outline.
type Corner = [f64; 2];

impl Sdf<'_, '_> {
    /// The convex parts of the polylines in a `<geometry>`.
    pub(super) fn read_polylines(&self, geometry: &Node) -> Vec<Form> {
        let polylines = || geometry.children.iter().filter(|child| child.name == "polyline");
        let outline = |polyline: &Node| -> Option<Vec<Corner>> {
            let points = polyline.children.iter().filter(|child| child.name == "point");
            let mut corners = points.map(|point| self.numbers::<2>(point)).collect::<Option<Vec<Corner>>>()?;
            if corners.len() > 1 && corners.first() == corners.last() {
                corners.pop();
            }
            Some(corners)
        };
        let Some(outlines) = polylines().map(outline).collect::<Option<Vec<_>>>() else { return Vec::new() };
        let height = polylines().find_map(|polyline| self.number(polyline, "height")).unwrap_or(1.0);
        let is_right = |corner: &Corner| corner.iter().all(|coordinate| coordinate.abs() <= 1e6);
        if outlines.iter().any(|outline| outline.len() < 3 || !outline.iter().all(is_right))
            || !(height > 0.0 && height <= 1e6)
        {
            let what = "a <polyline> of fewer than three points or without height is left out";
            self.notes.add(geometry.offset, what, "its link goes through what would touch it there");
            return Vec::new();
        }
        let mut parts = match &outlines[..] {
            [outline] if is_convex(outline) => vec![outline.clone()],
            _ => split_into_strips(&outlines),
        };
        if parts.is_empty() || parts.len() > MAX_PARTS {
            let what = format!("a <polyline> of more than {MAX_PARTS} convex parts becomes its convex hull");
            self.notes.add(geometry.offset, what, "its hollows are filled");
            parts = vec![outlines.concat()];
        }
        parts.iter().map(|part| extruded_part(part, height)).collect()
    }
}

fn extruded_part(outline: &[Corner], height: f64) -> Form {
    let points = [0.0, height].into_iter().flat_map(|z| outline.iter().map(move |[x, y]| DVec3::new(*x, *y, z)));
    Form::Points { points: points.collect(), triangles: Vec::new() }
}

/// True if an outline turns to one side at each of its corners, once around.
fn is_convex(outline: &[Corner]) -> bool {
    let corner = |index: usize| outline[index % outline.len()];
    let (mut left, mut right, mut changes) = (false, false, 0);
    for index in 0..outline.len() {
        let [a, b, c] = [corner(index), corner(index + 1), corner(index + 2)];
        let (first, second) = ([b[0] - a[0], b[1] - a[1]], [c[0] - b[0], c[1] - b[1]]);
        let turn = first[0] * second[1] - first[1] * second[0];
        left |= turn > 0.0;
        right |= turn < 0.0;
        changes += usize::from((first[0] < 0.0) != (second[0] < 0.0));
    }
    left != right && changes <= 2
}

/// The inside of outlines as trapezoids between the heights of their corners.
fn split_into_strips(outlines: &[Vec<Corner>]) -> Vec<Vec<Corner>> {
    let mut heights: Vec<f64> = outlines.iter().flatten().map(|corner| corner[1]).collect();
    heights.sort_unstable_by(f64::total_cmp);
    heights.dedup();
    let edges: Vec<[Corner; 2]> = outlines
        .iter()
        .flat_map(|outline| outline.iter().zip(outline.iter().cycle().skip(1)).map(|(one, other)| [*one, *other]))
        .collect();
    let mut parts = Vec::new();
    for (low, high) in heights.iter().zip(&heights[1..]) {
        let middle = 0.5 * (low + high);
        // Where an edge that crosses the strip has these heights.
        let at =
            |[one, other]: &[Corner; 2], y: f64| one[0] + (other[0] - one[0]) * ((y - one[1]) / (other[1] - one[1]));
        let mut crossing: Vec<&[Corner; 2]> =
            edges.iter().filter(|[one, other]| (one[1] < middle) != (other[1] < middle)).collect();
        crossing.sort_by(|one, other| at(one, middle).total_cmp(&at(other, middle)));
        for pair in crossing.chunks_exact(2) {
            let corners = |y: f64| [[at(pair[0], y), y], [at(pair[1], y), y]];
            let mut part = corners(*low).to_vec();
            part.extend(corners(*high));
            parts.push(part);
            if parts.len() > MAX_PARTS {
                return parts;
            }
        }
    }
    parts
}
