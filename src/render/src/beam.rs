//! Beams: the rays of a tile of pixels, and the leaves of a tree that they can meet, found once for all of them.
//!
//! A leaf is left out only where no ray of the beam meets its box, so the nearest hit is that of a walk over the tree.

use bevy_math::DVec3;
use wide::f32x4;

use crate::tree::{Bounds, BoxTree, Leaves, Node, Stack, WalkRay};

/// Largest number of leaves in a list. With more of them, a walk over the tree is faster.
const MAX_LEAVES: usize = 48;

/// Factor of the least distance of a box that makes up for rounding to f32.
const DISTANCE_ROUNDING: f32 = 1.0 - 1e-5;

/// Four planes through the origin, with normals into the beam.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PixelBeam {
    normals: [[f32; 3]; 4],
}

/// Leaves of a tree, four in a node, about from the nearest on.
#[derive(Debug, Default)]
pub(crate) struct LeafList {
    /// With the least distance of a box from the origin.
    nodes: Vec<(f32, Node)>,
    found: Vec<(f32, u32, Bounds)>,
    open: Vec<u32>,
}

impl PixelBeam {
    /// The beam between four directions, in their order around it.
    pub(crate) fn between_corners(corners: [DVec3; 4]) -> Self {
        let middle: DVec3 = corners.iter().sum();
        let plane = |corner: usize| {
            let normal = corners[corner].cross(corners[(corner + 1) % 4]).normalize_or_zero();
            let inward = if normal.dot(middle) < 0.0 { -normal } else { normal };
            inward.as_vec3().to_array()
        };
        Self { normals: [plane(0), plane(1), plane(2), plane(3)] }
    }

    /// The lanes of a node whose boxes reach into the beam, as bits.
    fn met_lanes(&self, node: &Node) -> u32 {
        let mut met = 0b1111;
        for normal in &self.normals {
            let mut reach = f32x4::splat(0.0);
            for (axis, &part) in normal.iter().enumerate() {
                reach += f32x4::splat(part) * node.planes[axis][usize::from(part >= 0.0)];
            }
            // The box of nothing reaches to minus infinity, or to no number.
            met &= f32x4::splat(0.0).simd_le(reach).to_bitmask();
        }
        met
    }
}

impl LeafList {
    /// Collects the leaves that a beam can meet. False if there are too many.
    pub(crate) fn collect_leaves(&mut self, tree: &BoxTree, beam: &PixelBeam) -> bool {
        self.found.clear();
        self.nodes.clear();
        self.open.clear();
        self.open.extend((!tree.nodes.is_empty()).then_some(0));
        while let Some(number) = self.open.pop() {
            let node = &tree.nodes[number as usize];
            let mut met = beam.met_lanes(node);
            while met != 0 {
                let lane = met.trailing_zeros() as usize & 3;
                met &= met - 1;
                let child = node.children[lane];
                if child.count == 0 {
                    self.open.push(child.first);
                } else {
                    let bounds = node.bounds_of(lane);
                    self.found.push((bounds.least_distance() * DISTANCE_ROUNDING, child.first, bounds));
                }
            }
            if self.found.len() > MAX_LEAVES {
                return false;
            }
        }
        self.found.sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        self.nodes.extend(self.found.chunks(4).map(|leaves| {
            let leaf = |lane: usize| leaves.get(lane).map(|(_, item, bounds)| (*item, *bounds));
            (leaves[0].0, Node::of_leaves([leaf(0), leaf(1), leaf(2), leaf(3)]))
        }));
        true
    }
}

impl Leaves for LeafList {
    fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    #[inline]
    fn walk_leaves(
        &self,
        ray: &WalkRay,
        [near, mut far]: [f32; 2],
        stack: &mut Stack,
        mut visit: impl FnMut(u32, u32, f32, &mut Stack) -> f32,
    ) {
        for (least, node) in &self.nodes {
            if *least > far {
                return;
            }
            let (mut met, entry) = node.met_lanes(ray, [near, far]);
            while met != 0 {
                let lane = met.trailing_zeros() as usize & 3;
                met &= met - 1;
                if entry[lane] <= far {
                    let child = node.children[lane];
                    far = visit(child.first, child.count, far, stack);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bevy_math::DQuat;
    use simpartner_model::{Body, Ground, Material, Mechanism, Placed, Plane, Pose, Shape, random::Stream};

    use super::*;
    use crate::{Camera, Optics, Scene, View, looking_at};

    /// Shapes of all sizes on all sides of the camera, some around it, some at one place.
    fn crowd_of_shapes(count: usize, seed: u64) -> Mechanism {
        let mut stream = Stream::from_number(seed);
        let bodies = (0..count).map(|index| {
            let mut number = |low, high| stream.between(low, high);
            let size = libm::exp(number(-4.0, 1.5));
            let translation = DVec3::new(number(-9.0, 9.0), number(0.0, 5.0), number(-9.0, 9.0));
            let rotation = DQuat::from_xyzw(number(-1.0, 1.0), number(-1.0, 1.0), number(-1.0, 1.0), 1.1).normalize();
            let shape = match index % 3 {
                0 => Shape::Box { size: DVec3::new(size, 0.3 * size, 0.1) },
                1 => Shape::Sphere { radius: 0.5 * size },
                _ => Shape::Capsule { radius: 0.1 * size, length: size },
            };
            let pose = Pose { translation, rotation };
            Body { pose, shape: Some(Placed { pose: Pose::IDENTITY, shape }), ..Body::default() }
        });
        let mut bodies: Vec<Body> = bodies.collect();
        let twins: Vec<Body> = bodies.iter().take(count / 8).cloned().collect();
        bodies.extend(twins);
        let ground = Ground::from(Plane { normal: DVec3::Y, distance: 0.0, material: Material::default() });
        Mechanism { grounds: vec![ground], bodies, ..Mechanism::default() }
    }

    #[test]
    fn the_rays_of_a_tile_meet_what_a_walk_over_the_tree_meets() {
        let (mut listed, mut hits) = (0, 0);
        for (count, seed) in [(0, 1), (1, 2), (40, 3), (300, 4), (3000, 5)] {
            let model = crowd_of_shapes(count, seed);
            let scene = Scene::new(&model).unwrap();
            for (from, field) in [(DVec3::new(6.0, 3.0, 4.0), 1.1), (DVec3::Y, 2.9), (DVec3::new(0.0, 8.0, 0.0), 0.02)]
            {
                let camera = Camera::new(Optics::pinhole(70, 53, field)).unwrap();
                let eye = looking_at(from, DVec3::new(0.5, 1.0, 0.2)).unwrap();
                let view = View::of_start(&scene, &model, camera, eye).unwrap();
                let (mut leaves, mut stack) = (LeafList::default(), Stack::new());
                for (first, row) in (0..70).step_by(8).flat_map(|first| (0..53).step_by(8).map(move |row| (first, row)))
                {
                    if !view.list_shapes([first, row], [first + 8, row + 8], &mut leaves) {
                        continue;
                    }
                    listed += 1;
                    for (column, row) in (0..64).map(|at| (first + at % 8, row + at / 8)) {
                        let place = [column as f64 + 0.49, row as f64 - 0.49];
                        let ray = view.pixel_ray(place[0], place[1], [0.0, f64::INFINITY]).unwrap();
                        let expected = view.nearest_sight(&ray, &mut stack);
                        assert_eq!(view.nearest_listed(&ray, &leaves, &mut stack), expected, "{count} {column} {row}");
                        hits += usize::from(expected.is_some());
                    }
                }
            }
        }
        assert!(listed > 500 && hits > 30_000, "{listed} tiles, {hits} hits");
    }
}
