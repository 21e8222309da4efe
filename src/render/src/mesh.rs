//! Surfaces of triangles: a tree over packets of four, in f32, and the hit itself in f64.
//!
//! The test of a ray and a triangle is that of Woop, Benthin and Wald 2013 (*Watertight Ray/Triangle Intersection*): an
//! edge that two triangles share has the same number in both, with opposite signs, so no ray passes between them.

use bevy_math::{DVec3, Vec3};
use simpartner_model::Norm;
use wide::f32x4;

use crate::{
    solid::{Ray, Surface, box_interval},
    tree::{Bounds, BoxTree, Leaves, Stack, WalkRay},
};

/// Triangles in a packet, the lanes of a register.
const LANE_COUNT: usize = 4;

/// Four triangles, component by component. The lanes that a leaf has not filled have one point for all three corners,
/// which no ray meets.
#[derive(Debug, Clone)]
struct Packet {
    /// Corner and axis.
    corners: [[f32x4; 3]; 3],
    triangles: [u32; LANE_COUNT],
}

/// A surface of triangles in its own frame.
#[derive(Debug, Clone)]
pub(crate) struct Mesh {
    vertices: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    /// Middle of its box, which is the origin of all numbers in f32.
    centre: DVec3,
    half_size: DVec3,
    tree: BoxTree,
    packets: Vec<Packet>,
    /// True for a solid, whose triangles are seen from outside only.
    is_solid: bool,
}

impl Mesh {
    /// The surface of these triangles, which must have finite corners. `None` without any triangle.
    pub(crate) fn new(vertices: Vec<DVec3>, triangles: Vec<[u32; 3]>, is_solid: bool) -> Option<Self> {
        let corners = || triangles.iter().flatten().map(|&corner| vertices[corner as usize]);
        let low = corners().reduce(DVec3::min)?;
        let high = corners().reduce(DVec3::max)?;
        let centre = 0.5 * (low + high);
        let flat: Vec<Vec3> = vertices.iter().map(|vertex| (*vertex - centre).as_vec3()).collect();
        let boxes: Vec<Bounds> = triangles
            .iter()
            .map(|corners| {
                corners.iter().fold(Bounds::EMPTY_BOUNDS, |bounds, &corner| bounds.with_point(flat[corner as usize]))
            })
            .collect();
        let (mut tree, order) = BoxTree::over_boxes(&boxes, LANE_COUNT);
        let mut packets = Vec::with_capacity(triangles.len() / 2);
        tree.renumber_leaves(|first, count| {
            packets.push(Packet::of_triangles(&order[first..first + count], &triangles, &flat));
            packets.len() as u32 - 1
        });
        Some(Self { vertices, triangles, centre, half_size: 0.5 * (high - low), tree, packets, is_solid })
    }

    /// True if the mesh was made from the same triangles.
    pub(crate) fn is_of(&self, vertices: &[DVec3], triangles: &[[u32; 3]], is_solid: bool) -> bool {
        self.is_solid == is_solid && self.vertices == vertices && self.triangles == triangles
    }

    /// Lowest and highest corner of its box.
    pub(crate) fn own_bounds(&self) -> [DVec3; 2] {
        [self.centre - self.half_size, self.centre + self.half_size]
    }

    /// Number of its triangles.
    pub(crate) fn triangle_count(&self) -> usize {
        self.triangles.len()
    }

    fn corners_of(&self, triangle: u32) -> [DVec3; 3] {
        let [a, b, c] = self.triangles[triangle as usize];
        [self.vertices[a as usize], self.vertices[b as usize], self.vertices[c as usize]]
    }

    /// Twice the area of a triangle, m².
    pub(crate) fn double_area(&self, triangle: u32) -> f64 {
        let [a, b, c] = self.corners_of(triangle);
        (b - a).cross(c - a).norm()
    }

    /// Weights of the corners of a triangle at a point of it, from 0 to 1 with the sum 1.
    pub(crate) fn weights_at(&self, triangle: u32, point: DVec3) -> [f64; 3] {
        let [a, b, c] = self.corners_of(triangle);
        let (along, across, to) = (b - a, c - a, point - a);
        let normal = along.cross(across);
        let squared = normal.squared();
        if squared == 0.0 {
            return [1.0, 0.0, 0.0];
        }
        let second = (to.cross(across).dot(normal) / squared).clamp(0.0, 1.0);
        let third = (along.cross(to).dot(normal) / squared).clamp(0.0, 1.0 - second);
        [1.0 - second - third, second, third]
    }

    /// The first triangle that a ray meets, or with `any` one that it meets.
    pub(crate) fn first_hit(&self, ray: &Ray, any: bool, stack: &mut Stack) -> Option<Surface> {
        let [begin, end] = box_interval(self.half_size, ray.origin - self.centre, ray.direction)?;
        if begin > ray.range[1] || end < ray.range[0] {
            return None;
        }
        // The numbers in f32 count from a little before the ray enters the box, and are as exact as the mesh is large.
        // The box of a flat mesh has no depth, and all of its distances are above zero then.
        let slack = 1e-6 * self.half_size.max_element();
        let (begin, end) = (begin.max(ray.range[0]) - slack, end.min(ray.range[1]) + slack);
        let start = ray.origin - self.centre + begin * ray.direction;
        let flat = FlatRay::new(start.as_vec3(), ray.direction.as_vec3());
        let range = [(ray.range[0] - begin).max(0.0) as f32, (end - begin) as f32];
        let mut best: Option<(f32, u32)> = None;
        self.tree.walk_leaves(&flat.walk, range, stack, |packet, _, mut far, _| {
            let packet = &self.packets[packet as usize];
            let (mut met, distances) = packet.met_lanes(&flat, [range[0], far]);
            while met != 0 {
                let lane = met.trailing_zeros() as usize & 3;
                met &= met - 1;
                let found = (distances[lane], packet.triangles[lane]);
                // The lower number decides between two triangles at one distance, in whatever order they come.
                let is_nearer = best.is_none_or(|(distance, number)| (found.0, found.1) < (distance, number));
                if is_nearer && !(self.is_solid && self.is_turned_away(found.1, ray)) {
                    best = Some(found);
                    far = if any { f32::NEG_INFINITY } else { found.0 };
                }
            }
            far
        });
        best.map(|(distance, triangle)| self.surface_at(ray, triangle, begin + f64::from(distance)))
    }

    fn is_turned_away(&self, triangle: u32, ray: &Ray) -> bool {
        let [a, b, c] = self.corners_of(triangle);
        (b - a).cross(c - a).dot(ray.direction) >= 0.0
    }

    /// The point of a triangle that a ray meets, in f64: on its plane, and no nearer or farther than its corners.
    fn surface_at(&self, ray: &Ray, triangle: u32, rough: f64) -> Surface {
        let [a, b, c] = self.corners_of(triangle);
        let normal = (b - a).cross(c - a);
        let along = |corner: DVec3| (corner - ray.origin).dot(ray.direction);
        let along = [along(a), along(b), along(c)];
        let (low, high) = (along[0].min(along[1]).min(along[2]), along[0].max(along[1]).max(along[2]));
        let exact = normal.dot(a - ray.origin) / normal.dot(ray.direction);
        let distance = if exact.is_finite() { exact.clamp(low, high) } else { rough };
        let normal = normal.try_normalized().unwrap_or(-ray.direction);
        Surface { distance, normal: if normal.dot(ray.direction) > 0.0 { -normal } else { normal }, triangle }
    }
}

/// A ray in f32, with what the test of triangles takes of it.
struct FlatRay {
    walk: WalkRay,
    /// The axes, that of the largest component of the direction last.
    axes: [usize; 3],
    origin: [f32x4; 3],
    shear: [f32x4; 3],
}

impl FlatRay {
    fn new(origin: Vec3, direction: Vec3) -> Self {
        let size = direction.abs();
        let main = if size.x >= size.y && size.x >= size.z { 0 } else { 1 + usize::from(size.z > size.y) };
        let axes = [(main + 1) % 3, (main + 2) % 3, main];
        let inverse = 1.0 / direction[main];
        // One by one, since the compiler does not inline the closures of arrays.
        Self {
            walk: WalkRay::new(origin, direction),
            axes,
            origin: [f32x4::splat(origin[axes[0]]), f32x4::splat(origin[axes[1]]), f32x4::splat(origin[main])],
            shear: [
                f32x4::splat(direction[axes[0]] * inverse),
                f32x4::splat(direction[axes[1]] * inverse),
                f32x4::splat(inverse),
            ],
        }
    }
}

impl Packet {
    fn of_triangles(items: &[u32], triangles: &[[u32; 3]], vertices: &[Vec3]) -> Self {
        let last = items[items.len() - 1];
        let numbers = [0, 1, 2, 3].map(|lane| items.get(lane).copied().unwrap_or(last));
        let corner = |corner: usize, axis: usize| {
            let at = |lane: usize| {
                let place = if lane < items.len() { corner } else { 0 };
                vertices[triangles[numbers[lane] as usize][place] as usize][axis]
            };
            f32x4::new([0, 1, 2, 3].map(at))
        };
        Self { corners: [0, 1, 2].map(|number| [0, 1, 2].map(|axis| corner(number, axis))), triangles: numbers }
    }

    /// The lanes that a ray meets between two distances, as bits, and the distances.
    #[inline(always)]
    fn met_lanes(&self, ray: &FlatRay, [near, far]: [f32; 2]) -> (u32, [f32; LANE_COUNT]) {
        let [x, y, z] = ray.axes;
        let sheared = |corner: &[f32x4; 3]| {
            let depth = corner[z] - ray.origin[2];
            let across = corner[x] - ray.origin[0] - ray.shear[0] * depth;
            let along = corner[y] - ray.origin[1] - ray.shear[1] * depth;
            (across, along, depth)
        };
        let [a, b, c] = [sheared(&self.corners[0]), sheared(&self.corners[1]), sheared(&self.corners[2])];
        let u = c.0 * b.1 - c.1 * b.0;
        let v = a.0 * c.1 - a.1 * c.0;
        let w = b.0 * a.1 - b.1 * a.0;
        let zero = f32x4::splat(0.0);
        let is_left = u.simd_ge(zero) & v.simd_ge(zero) & w.simd_ge(zero);
        let is_right = u.simd_le(zero) & v.simd_le(zero) & w.simd_le(zero);
        let inside = is_left | is_right;
        if inside.to_bitmask() == 0 {
            return (0, [0.0; LANE_COUNT]);
        }
        let area = u + v + w;
        let distance = (u * a.2 + v * b.2 + w * c.2) * ray.shear[2] / area;
        let is_met =
            inside & area.simd_ne(zero) & distance.simd_ge(f32x4::splat(near)) & distance.simd_le(f32x4::splat(far));
        (is_met.to_bitmask(), distance.to_array())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wall_of_a_flat_mesh_is_met_from_all_directions() {
        let corner = |x: f64, y: f64| DVec3::new(x, y, 0.0) * 3000.0;
        let vertices = vec![corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)];
        let mesh = Mesh::new(vertices, vec![[0, 1, 2], [0, 2, 3]], false).unwrap();
        for (i, j) in (-50..=50).flat_map(|i| (-50..=50).map(move |j| (i, j))) {
            let direction = DVec3::new(0.0571 * f64::from(i), 0.0571 * f64::from(j), 1.0).normalize();
            for side in [-1000.0, 1000.0] {
                let ray =
                    Ray { origin: DVec3::Z * side, direction: -direction * side.signum(), range: [0.0, f64::INFINITY] };
                let met = mesh.first_hit(&ray, false, &mut Stack::new()).unwrap();
                assert!((met.distance - 1000.0 / direction.z).abs() < 1e-9, "{i} {j} {side}");
            }
        }
    }
}
