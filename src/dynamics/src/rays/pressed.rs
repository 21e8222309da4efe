//! Rays against pressed soil.
//!
//! The surface of soil is lowered in each cell of 1 cm by the cell's depth, with vertical walls between cells. A ray
//! that enters through the original surface continues in the rut from cell to cell (Amanatides and Woo, 1987), until it
//! is below the floor of its cell or above the original surface again. Planes are lowered along their normal. Terrain
//! is lowered along its own vertical axis, by an amount that gives the depth along the normal of each triangle. Ground
//! of triangles, and terrain seen from below, keep their original surface.

use bevy_math::DVec3;
use simpartner_model::{Plane, RutDepths};

use super::{Ray, Surface, plane::distance_to_plane};
use crate::{
    RUT_CELL as CELL,
    parry::{
        math::Pose,
        query,
        shape::{HeightField, Triangle},
    },
    state::{ground_axes, rut_axes},
};

/// Distance beyond the point where a ray leaves a rut, from which it is cast again, m: more than the rounding of its
/// distance, so that it does not find the same point again.
const RESTART_DISTANCE: f64 = 1e-9;

/// A linear function of the distance along a ray.
#[derive(Debug, Clone, Copy)]
struct Line {
    start: f64,
    /// Change per metre of the ray.
    rate: f64,
}

/// The sequence of grid cells that a ray crosses along one axis.
struct Cells {
    /// Position along the axis, in cells.
    line: Line,
    number: i64,
    /// Distance along the ray to the next cell, m.
    next: f64,
}

/// A plane facet of a ground, along a ray.
struct Facet {
    /// Depth of the ray below the original ground, along the direction of lowering, m.
    below: Line,
    /// Lowering of the ground per metre of depth.
    per_depth: f64,
    /// Position of the ray on the grid of depths, in cells.
    place: [Line; 2],
}

/// The end of a ray's segment in a rut. Values: distance along the ray, m.
enum End {
    /// The ray hits the soil.
    Meets(f64),
    /// The ray is above the original ground, or beside it.
    Leaves(f64),
    /// The ray is still in the rut.
    Stays,
}

impl Line {
    fn at(self, distance: f64) -> f64 {
        self.start + self.rate * distance
    }
}

impl Cells {
    fn new(line: Line, at: f64) -> Self {
        // Saturates beyond the range of the integer type, where nothing is pressed.
        let number = line.at(at).floor() as i64;
        let mut cells = Self { line, number, next: f64::INFINITY };
        cells.find_next();
        cells
    }

    fn find_next(&mut self) {
        let Line { start, rate } = self.line;
        let border = self.number.saturating_add(i64::from(rate > 0.0)) as f64;
        self.next = if rate == 0.0 { f64::INFINITY } else { (border - start) / rate };
    }

    /// Advances to the next cell if the ray has reached it at distance `at`.
    fn advance(&mut self, at: f64) {
        if self.next <= at {
            self.number = self.number.saturating_add(if self.line.rate > 0.0 { 1 } else { -1 });
            self.find_next();
        }
    }
}

impl Facet {
    fn of_plane(plane: &Plane, ray: &Ray) -> Self {
        let normal = plane.normal;
        let (height, slope) = (normal.dot(ray.origin) - plane.distance, normal.dot(ray.direction));
        let axes = if normal.y > 0.5 { rut_axes(normal) } else { ground_axes(normal) };
        let (start, rate) = (ray.origin - normal * height, ray.direction - normal * slope);
        Self { below: Line { start: -height, rate: -slope }, per_depth: 1.0, place: to_grid_lines(axes, start, rate) }
    }

    /// The facet of a terrain triangle. `line`: the ray in the triangle's frame.
    fn of_triangle(triangle: &Triangle, pose: &Pose, ray: &Ray, line: &query::Ray) -> Self {
        let normal = (triangle.b - triangle.a).cross(triangle.c - triangle.a);
        let below =
            Line { start: -normal.dot(line.origin - triangle.a) / normal.y, rate: -normal.dot(line.dir) / normal.y };
        let up = pose.rotation * DVec3::Y;
        let (start, rate) = (ray.origin + up * below.start, ray.direction + up * below.rate);
        let per_depth = normal.dot(normal).sqrt() / normal.y.abs();
        Self { below, per_depth, place: to_grid_lines([DVec3::X, DVec3::Z], start, rate) }
    }

    /// Follows the ray through cells between two distances, m.
    fn follow(&self, depths: &RutDepths, [from, to]: [f64; 2]) -> End {
        let Line { start, rate } = self.below;
        let leaves_at = if rate < 0.0 { -start / rate } else { f64::INFINITY };
        let mut cells = self.place.map(|line| Cells::new(line, from));
        let mut at = from;
        loop {
            let floor = self.per_depth * depths.at_cell([cells[0].number, cells[1].number]);
            if self.below.at(at) >= floor {
                return End::Meets(at);
            }
            let next = cells[0].next.min(cells[1].next).min(to);
            let meets_at = if rate > 0.0 { (floor - start) / rate } else { f64::INFINITY };
            if meets_at <= next {
                return End::Meets(meets_at.max(at));
            }
            if leaves_at <= next {
                return End::Leaves(leaves_at.max(at));
            }
            if next >= to {
                return End::Stays;
            }
            cells.iter_mut().for_each(|cells| cells.advance(next));
            at = at.max(next);
        }
    }
}

fn to_grid_lines(axes: [DVec3; 2], start: DVec3, rate: DVec3) -> [Line; 2] {
    axes.map(|axis| Line { start: axis.dot(start) * (1.0 / CELL), rate: axis.dot(rate) * (1.0 / CELL) })
}

/// The distance along a ray to a plane of soil, m; 0 from inside the soil.
pub(super) fn cast_plane(plane: &Plane, depths: &RutDepths, ray: &Ray) -> Option<f64> {
    let distance = distance_to_plane(plane, ray)?;
    let facet = Facet::of_plane(plane, ray);
    match facet.follow(depths, [distance, ray.range]) {
        End::Meets(at) if at - distance > RESTART_DISTANCE => Some(at),
        End::Meets(_) => Some(distance),
        End::Leaves(_) | End::Stays => None,
    }
}

/// The distance along a ray to terrain of soil, m; `None` beyond `limit`.
pub(super) fn cast_terrain(surface: &Surface, depths: &RutDepths, ray: &Ray, limit: f64) -> Option<f64> {
    let Some(field) = surface.terrain() else { return surface.cast(ray, limit) };
    let line = query::Ray::new(ray.origin, ray.direction).inverse_transform_by(surface.pose());
    let terrain_ray = TerrainRay { field, pose: surface.pose(), ray, line, depths, limit };
    let mut from = match terrain_ray.starts_in_rut().then(|| terrain_ray.follow(0.0)) {
        Some(End::Leaves(at)) => End::Leaves(at + RESTART_DISTANCE),
        Some(end) => end,
        None => End::Leaves(0.0),
    };
    loop {
        let start = match from {
            End::Meets(at) => return (at <= limit).then_some(at),
            End::Leaves(start) => start,
            End::Stays => return None,
        };
        let remaining_ray = Ray { origin: ray.origin + ray.direction * start, ..*ray };
        let hit = start + surface.cast(&remaining_ray, limit - start)?;
        from = match terrain_ray.follow(hit) {
            // The ray comes from below, or nothing is pressed there.
            End::Leaves(at) | End::Meets(at) if at - hit <= RESTART_DISTANCE => return Some(hit),
            End::Leaves(at) => End::Leaves(at + RESTART_DISTANCE),
            end => end,
        };
    }
}

/// A ray over terrain.
struct TerrainRay<'a> {
    field: &'a HeightField,
    pose: &'a Pose,
    ray: &'a Ray,
    /// The ray in the field's frame.
    line: query::Ray,
    depths: &'a RutDepths,
    limit: f64,
}

impl TerrainRay<'_> {
    /// Column and row of the field along the ray, in cells.
    fn field_lines(&self) -> [Line; 2] {
        let scale = self.field.scale();
        let along = |start: f64, rate: f64, extent: f64, cells: usize| {
            let cells = cells as f64;
            Line { start: (start / extent + 0.5) * cells, rate: rate / extent * cells }
        };
        [
            along(self.line.origin.x, self.line.dir.x, scale.x, self.field.ncols()),
            along(self.line.origin.z, self.line.dir.z, scale.z, self.field.nrows()),
        ]
    }

    /// The facet of a field cell, on the near or far side of its diagonal.
    fn facet(&self, [column, row]: [i64; 2], far: bool) -> Option<Facet> {
        let last = [self.field.ncols() as i64 - 1, self.field.nrows() as i64 - 1];
        // A ray that hits the border of the field may be outside by rounding.
        let [column, row] = [0, 1].map(|axis| [column, row][axis].clamp(0, last[axis]) as usize);
        let (near_side, far_side) = self.field.triangles_at(row, column);
        let triangle = if far { far_side } else { near_side }?;
        Some(Facet::of_triangle(&triangle, self.pose, self.ray, &self.line))
    }

    /// True if the ray starts in a rut: below the original terrain and above its present floor.
    fn starts_in_rut(&self) -> bool {
        let places = self.field_lines().map(|line| line.start);
        let inside = |axis: usize, cells: usize| (0.0..=cells as f64).contains(&places[axis]);
        if !inside(0, self.field.ncols()) || !inside(1, self.field.nrows()) {
            return false;
        }
        let cell = places.map(|place| place.floor() as i64);
        let is_far = places[0] - cell[0] as f64 + places[1] - cell[1] as f64 > 1.0;
        self.facet(cell, is_far).is_some_and(|facet| {
            let floor = facet.per_depth * self.depths.at(facet.place.map(|line| line.start * CELL));
            facet.below.start > 0.0 && facet.below.start < floor
        })
    }

    /// Follows the ray through ruts from triangle to triangle, from a distance on, m.
    fn follow(&self, from: f64) -> End {
        let lines = self.field_lines();
        let counts = [self.field.ncols() as f64, self.field.nrows() as f64];
        let mut cells = lines.map(|line| Cells::new(line, from));
        let mut at = from;
        loop {
            let next = cells[0].next.min(cells[1].next).max(at).min(self.limit);
            let numbers = [cells[0].number, cells[1].number];
            let across = |distance: f64| {
                lines[0].at(distance) - numbers[0] as f64 + lines[1].at(distance) - numbers[1] as f64 - 1.0
            };
            let rate = lines[0].rate + lines[1].rate;
            let diagonal = if rate == 0.0 { next } else { (at - across(at) / rate).clamp(at, next) };
            for [start, end] in [[at, diagonal], [diagonal, next]] {
                let is_far = across(0.5 * (start + end)) > 0.0;
                if start < end || at == next {
                    let Some(facet) = self.facet(numbers, is_far) else { return End::Leaves(start) };
                    match facet.follow(self.depths, [start, end]) {
                        End::Stays => {}
                        end => return end,
                    }
                }
            }
            if next >= self.limit {
                return End::Stays;
            }
            cells.iter_mut().for_each(|cells| cells.advance(next));
            at = next;
            let outside = |axis: usize| {
                let place = lines[axis].at(at);
                (place <= 0.0 && lines[axis].rate < 0.0) || (place >= counts[axis] && lines[axis].rate > 0.0)
            };
            if outside(0) || outside(1) {
                return End::Leaves(at);
            }
        }
    }
}
