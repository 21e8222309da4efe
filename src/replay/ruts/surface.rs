//! The height of a ground as a function of x and z.

use bevy_math::DVec3;
use simpartner_model::{Ground, GroundMesh};

/// A rectangle of cells.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    /// Numbers of the first cell along x and z.
    pub(super) low: [i64; 2],
    /// Numbers of cells along x and z.
    pub(super) points: [usize; 2],
    /// Side of a cell, m.
    pub(super) cell: f64,
}

/// The part of a ground in a rectangle.
pub(super) struct Surface<'a> {
    ground: &'a Ground,
    window: Window,
    /// For a mesh: height of the highest triangle in the middle of each cell, row by row along z, m; NaN without a
    /// triangle.
    highest: Vec<f64>,
}

impl<'a> Surface<'a> {
    pub(super) fn new(ground: &'a Ground, window: Window) -> Self {
        let highest = match ground {
            Ground::Mesh(mesh) => highest_heights(mesh, &window),
            Ground::Plane(_) | Ground::Heightfield(_) => Vec::new(),
        };
        Self { ground, window, highest }
    }

    /// Height of the initial surface in the middle of a cell, m.
    fn initial_height(&self, at: [i64; 2]) -> Option<f64> {
        let [x, z] = at.map(|number| self.window.cell_middle(number));
        match self.ground {
            Ground::Plane(plane) => plane.height_at(x, z),
            Ground::Heightfield(field) => field.height_at(x, z),
            Ground::Mesh(_) => {
                let [i, j] = [0, 1].map(|axis| (at[axis] - self.window.low[axis]) as usize);
                Some(self.highest[i * self.window.points[1] + j]).filter(|height| !height.is_nan())
            }
        }
    }

    /// Height in the middle of a cell whose surface was pressed to a depth along its normal, m. The cell must not be at
    /// the edge of the rectangle.
    pub(super) fn pressed_height(&self, [i, j]: [i64; 2], depth: f64) -> Option<f64> {
        let middle = self.initial_height([i, j])?;
        // Where there is ground on one side only, it counts as level.
        let rise = |ahead: Option<f64>, behind: Option<f64>| {
            ahead.zip(behind).map_or(0.0, |(a, b)| (a - b) / (2.0 * self.window.cell))
        };
        let along = rise(self.initial_height([i + 1, j]), self.initial_height([i - 1, j]));
        let across = rise(self.initial_height([i, j + 1]), self.initial_height([i, j - 1]));
        Some(middle - depth * (1.0 + along * along + across * across).sqrt())
    }
}

impl Window {
    /// Coordinate of a cell's middle, m.
    fn cell_middle(&self, number: i64) -> f64 {
        (number as f64 + 0.5) * self.cell
    }

    /// Indices of the cells along an axis, counted from the first, whose middles are between two coordinates, m.
    fn cells_between(&self, axis: usize, low: f64, high: f64) -> std::ops::Range<usize> {
        let count =
            |place: f64| (place / self.cell - 0.5 - self.low[axis] as f64).clamp(-1.0, self.points[axis] as f64);
        let (first, last) = (count(low).ceil().max(0.0), count(high).floor() + 1.0);
        first as usize..(last.max(0.0) as usize).min(self.points[axis])
    }
}

/// Heights of the highest triangles, m. If one triangle is above another, the upper one is visible.
fn highest_heights(mesh: &GroundMesh, window: &Window) -> Vec<f64> {
    let mut heights = vec![f64::NAN; window.points[0] * window.points[1]];
    for triangle in &mesh.triangles {
        let [a, b, c] = triangle.map(|corner| mesh.vertices[corner as usize]);
        let (low, high) = (a.min(b).min(c), a.max(b).max(c));
        let (u, v) = (b - a, c - a);
        let area = u.x * v.z - u.z * v.x;
        for i in window.cells_between(0, low.x, high.x) {
            for j in window.cells_between(1, low.z, high.z) {
                let [x, z] = [[i, 0], [j, 1]].map(|[count, axis]| window.cell_middle(window.low[axis] + count as i64));
                let w = DVec3::new(x, 0.0, z) - a;
                let (s, t) = ((w.x * v.z - w.z * v.x) / area, (u.x * w.z - u.z * w.x) / area);
                // The tolerance keeps a point on a common edge from falling between both triangles by rounding. A
                // vertical triangle contains no point.
                if s >= -1e-9 && t >= -1e-9 && s + t <= 1.0 + 1e-9 {
                    let height = &mut heights[i * window.points[1] + j];
                    *height = height.max(a.y + s * u.y + t * v.y);
                }
            }
        }
    }
    heights
}
