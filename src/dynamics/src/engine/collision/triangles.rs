//! A ball on triangles of terrain or of a mesh, without ghost bumps: a point on an edge or in a corner counts only if
//! it is the closest point of every triangle that it belongs to (compare Ericson, *Real-Time Collision Detection*,
//! 5.1.5).

use bevy_math::DVec3;
use simpartner_model::Norm;

use super::hit::Hit;
use crate::parry::{
    bounding_volume::Aabb,
    shape::{HeightField, TriMesh},
};

/// Squared distance within which two points count as one, m²: 10 nm, far below any shape and far above the rounding of
/// coordinates of kilometres.
const SAME_POINT: f64 = 1e-16;
/// Squared distance within which a closest point belongs to another triangle as well, m²: a tenth of a nanometre.
const SHARED_POINT: f64 = 1e-20;

type Triangle = [DVec3; 3];

/// A triangle in reach of the ball, its point closest to the centre, and whether that point is inside, not on an edge.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    triangle: Triangle,
    closest: DVec3,
    inside: bool,
}

/// Buffers of the searches.
#[derive(Debug, Default)]
pub(super) struct Triangles {
    candidates: Vec<Candidate>,
    /// Triangles of a mesh near the ball.
    near: Vec<u32>,
}

impl Triangles {
    /// Adds the contacts of a ball with terrain, in the terrain's frame.
    pub(super) fn ball_on_heightfield(
        &mut self,
        field: &HeightField,
        centre: DVec3,
        radius: f64,
        ahead: f64,
        hits: &mut Vec<Hit>,
    ) {
        let reach = radius + ahead;
        let scale = field.scale();
        let (rows, columns) = (field.nrows(), field.ncols());
        let range = |at: f64, extent: f64, cells: usize| {
            let cell = |x: f64| ((x / extent + 0.5) * cells as f64).floor();
            let (low, high) = (cell(at - reach), cell(at + reach));
            // There is no ground outside of the field.
            let outside = high < 0.0 || low >= cells as f64;
            let last = cells as f64 - 1.0;
            if outside { 0..0 } else { low.clamp(0.0, last) as usize..high.clamp(0.0, last) as usize + 1 }
        };
        let (along_z, along_x) = (range(centre.z, scale.z, rows), range(centre.x, scale.x, columns));
        let triangles = along_z.flat_map(|i| along_x.clone().map(move |j| (i, j))).flat_map(|(i, j)| {
            let (first, second) = field.triangles_at(i, j);
            first.into_iter().chain(second).map(|triangle| [triangle.a, triangle.b, triangle.c])
        });
        ball_on_triangles(triangles, centre, radius, reach, true, &mut self.candidates, hits);
    }

    /// Adds the contacts of a ball with a mesh, in the mesh's frame.
    pub(super) fn ball_on_mesh(&mut self, mesh: &TriMesh, centre: DVec3, radius: f64, ahead: f64, hits: &mut Vec<Hit>) {
        let reach = radius + ahead;
        let around = Aabb::new(centre - reach, centre + reach);
        self.near.clear();
        self.near.extend(mesh.bvh().intersect_aabb(&around));
        self.near.sort_unstable();
        let triangles = self.near.iter().map(|&index| {
            let triangle = mesh.triangle(index);
            [triangle.a, triangle.b, triangle.c]
        });
        ball_on_triangles(triangles, centre, radius, reach, false, &mut self.candidates, hits);
    }
}

/// Adds the contacts of a ball with the triangles in reach, all in one frame. `reach` is the radius plus the distance
/// to look ahead, m. On terrain (`solid`), the space below a triangle is inside the ground.
fn ball_on_triangles(
    triangles: impl Iterator<Item = Triangle>,
    centre: DVec3,
    radius: f64,
    reach: f64,
    solid: bool,
    candidates: &mut Vec<Candidate>,
    hits: &mut Vec<Hit>,
) {
    candidates.clear();
    let mut below: Option<Hit> = None;
    for triangle in triangles {
        #[cfg(test)]
        super::count::TRIANGLES_VISITED.set(super::count::TRIANGLES_VISITED.get() + 1);
        let (closest, inside) = closest_point(centre, &triangle);
        let square = (centre - closest).length_squared();
        if solid && inside {
            let normal = (triangle[1] - triangle[0]).cross(triangle[2] - triangle[0]);
            if (centre - triangle[0]).dot(normal) <= 0.0 {
                let hit = Hit { point: closest, normal: normal.normalized(), gap: -square.sqrt() - radius };
                if below.is_none_or(|other| hit.gap > other.gap) {
                    below = Some(hit);
                }
            }
        }
        if square < reach * reach {
            candidates.push(Candidate { triangle, closest, inside });
        }
    }
    if let Some(hit) = below {
        hits.push(hit);
        return;
    }
    let start = hits.len();
    for (index, candidate) in candidates.iter().enumerate() {
        let point = candidate.closest;
        let real = candidate.inside
            || candidates.iter().enumerate().all(|(other, triangle)| {
                other == index
                    || (triangle.closest - point).length_squared() < SHARED_POINT
                    || (closest_point(point, &triangle.triangle).0 - point).length_squared() > SHARED_POINT
            });
        let distance = (centre - point).norm();
        if real && distance > 1e-12 && hits[start..].iter().all(|hit| (hit.point - point).length_squared() > SAME_POINT)
        {
            hits.push(Hit { point, normal: (centre - point) / distance, gap: distance - radius });
        }
    }
}

/// The point of a triangle closest to `p`, and whether it is inside, not on an edge (Ericson 5.1.5).
pub(super) fn closest_point(p: DVec3, [a, b, c]: &Triangle) -> (DVec3, bool) {
    let (a, b, c) = (*a, *b, *c);
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let (d1, d2) = (ab.dot(ap), ac.dot(ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return (a, false);
    }
    let bp = p - b;
    let (d3, d4) = (ab.dot(bp), ac.dot(bp));
    if d3 >= 0.0 && d4 <= d3 {
        return (b, false);
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return (a + ab * (d1 / (d1 - d3)), false);
    }
    let cp = p - c;
    let (d5, d6) = (ab.dot(cp), ac.dot(cp));
    if d6 >= 0.0 && d5 <= d6 {
        return (c, false);
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return (a + ac * (d2 / (d2 - d6)), false);
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 >= d3 && d5 >= d6 {
        return (b + (c - b) * ((d4 - d3) / ((d4 - d3) + (d5 - d6))), false);
    }
    let scale = 1.0 / (va + vb + vc);
    (a + ab * (vb * scale) + ac * (vc * scale), true)
}
