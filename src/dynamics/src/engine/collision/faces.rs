//! Convex flat faces of a mesh, for the contact search.
//!
//! Triangles side by side in one plane, within a convex outline, form one face. So a flat part of a mesh touches
//! another shape as a box does, however the part is cut into triangles. With single triangles, the points of such a
//! contact would change with the triangles near the corners of the other shape. A flat part whose outline is not
//! convex, such as a plate with a hole, stays as separate triangles.

use bevy_math::{DMat3, DVec3};
use simpartner_model::Norm;

use super::convex::{Polygon, distance_beside, max_distance};
use crate::parry::{
    bounding_volume::Aabb,
    math::{Pose, Vector},
    partitioning::{Bvh, BvhBuildStrategy},
    query::details::NormalConstraints,
    shape::{TriMesh, TriMeshFlags, TrianglePseudoNormals},
};

/// Largest distance of corners from a plane that still counts as in the plane, as a fraction of the size of the mesh:
/// coordinates of single precision are rounded by 6e-8.
const PLANE_TOLERANCE: f64 = 1e-7;
/// Smallest cosine between the normals of two triangles of one face, 0.08 degrees: the normals of slivers are no more
/// exact.
const SAME_PLANE_COS: f64 = 1.0 - 1e-6;
/// Smallest cosine between the edge normals of two sides in one line that count as one side: the corner between them is
/// dropped.
const SAME_EDGE_COS: f64 = 1.0 - 1e-9;

/// A face: its unit normal, and the range of its corners and edges. Edge k goes from corner k to the next.
#[derive(Debug, Clone, Copy)]
struct Face {
    normal: DVec3,
    start: u32,
    count: u32,
    /// Mean of the corners, and the largest distance of a corner from it, m.
    middle: DVec3,
    size: f64,
    /// True if the neighbours limit the directions of its contact normals. False if the limits are not known: beside
    /// edges whose two faces lie on each other, and where the face has no area.
    is_limited: bool,
}

/// A box in the frame of another shape, to query the tree of a mesh.
pub(super) struct QueryBox {
    middle: DVec3,
    half: DVec3,
    /// Rotation and translation from the mesh's frame to the box's.
    turn: DMat3,
    shift: DVec3,
    /// Half extents of the box along the mesh's axes, and the absolute values of the rotation matrix, which take half
    /// extents along the mesh's axes to the box's.
    half_in_mesh: DVec3,
    sizes: DMat3,
}

impl QueryBox {
    /// The box of a shape, enlarged by `ahead` on all sides.
    pub(super) fn new(shape: &Aabb, mesh_from_shape: &Pose, ahead: f64) -> Self {
        let turn = DMat3::from_quat(mesh_from_shape.rotation.inverse());
        let sizes = DMat3::from_cols(turn.x_axis.abs(), turn.y_axis.abs(), turn.z_axis.abs());
        let half = shape.half_extents();
        Self {
            middle: shape.center(),
            half: half + DVec3::splat(ahead),
            turn,
            shift: -(turn * mesh_from_shape.translation),
            half_in_mesh: sizes.transpose() * half + DVec3::splat(ahead),
            sizes,
        }
    }

    fn overlaps(&self, node: &Aabb) -> bool {
        let (middle, half) = (node.center(), node.half_extents());
        let apart = self.turn * middle + self.shift - self.middle;
        apart.abs().cmple(self.sizes * half + self.half).all()
            && (self.turn.transpose() * apart).abs().cmple(half + self.half_in_mesh).all()
    }
}

/// The faces of a mesh.
#[derive(Debug, Clone)]
pub(crate) struct Faces {
    faces: Vec<Face>,
    corners: Vec<DVec3>,
    /// For each edge, the unit vector half way between the normals of its two faces.
    edges: Vec<DVec3>,
    bvh: Bvh,
    two_sided: bool,
}

impl Faces {
    pub(crate) fn new(mesh: &TriMesh) -> Self {
        let (outlines, mut faces) = (face_outlines(mesh), Self::empty(mesh));
        for outline in &outlines {
            faces.add(mesh, outline);
        }
        let leaves =
            faces.faces.iter().map(|face| Aabb::from_points(faces.corners_of(face).iter().copied())).enumerate();
        faces.bvh = Bvh::from_iter(BvhBuildStrategy::Binned, leaves);
        faces
    }

    fn empty(mesh: &TriMesh) -> Self {
        Self {
            faces: Vec::new(),
            corners: Vec::new(),
            edges: Vec::new(),
            bvh: Bvh::new(),
            two_sided: mesh.flags().contains(TriMeshFlags::FIX_INTERNAL_EDGES_TWO_SIDED),
        }
    }

    /// Adds a face with this outline. If it consists of several triangles, its corners are projected on their mean
    /// plane.
    fn add(&mut self, mesh: &TriMesh, outline: &[Side]) {
        let start = self.corners.len();
        let known: Option<Vec<DVec3>> = outline.iter().map(|side| edge_normal(mesh, side)).collect();
        let corner = |side: &Side| mesh.vertices()[side.from as usize];
        let is_corner = |place: usize| {
            let (before, side) = (&outline[(place + outline.len() - 1) % outline.len()], &outline[place]);
            let (from, at, to) = (corner(before), corner(side), mesh.vertices()[side.to as usize]);
            let is_straight = distance_to_line(at, from, to) <= PLANE_TOLERANCE * mesh_size(mesh);
            let has_one_edge = known.as_ref().is_some_and(|known| {
                known[place].dot(known[(place + outline.len() - 1) % outline.len()]) > SAME_EDGE_COS
            });
            !(is_straight && has_one_edge)
        };
        let all: Vec<usize> = (0..outline.len()).collect();
        let kept: Vec<usize> = match outline.len() {
            3 => all,
            _ => Some(all.iter().copied().filter(|place| is_corner(*place)).collect::<Vec<_>>())
                .filter(|kept| kept.len() > 2)
                .unwrap_or(all),
        };
        self.corners.extend(kept.iter().map(|&place| corner(&outline[place])));
        self.edges.extend(kept.iter().map(|&place| known.as_ref().map_or(DVec3::ZERO, |known| known[place])));
        let own = &mut self.corners[start..];
        let normal = match own {
            [a, b, c] => (*b - *a).cross(*c - *a).try_normalized(),
            _ => {
                let normal = area_vector(own).try_normalized();
                if let Some(normal) = normal {
                    let height = own.iter().map(|corner| corner.dot(normal)).sum::<f64>() / own.len() as f64;
                    own.iter_mut().for_each(|corner| *corner += normal * (height - corner.dot(normal)));
                }
                normal
            }
        };
        let middle = own.iter().sum::<DVec3>() / own.len() as f64;
        let size = max_distance(own, middle);
        self.faces.push(Face {
            middle,
            size,
            normal: normal.unwrap_or(DVec3::Y),
            start: start as u32,
            count: kept.len() as u32,
            is_limited: known.is_some() && normal.is_some(),
        });
    }

    fn corners_of(&self, face: &Face) -> &[DVec3] {
        &self.corners[face.start as usize..(face.start + face.count) as usize]
    }

    /// A face as the contact search takes it.
    pub(super) fn face(&self, index: u32) -> Polygon<'_> {
        let face = &self.faces[index as usize];
        Polygon {
            corners: self.corners_of(face),
            normal: face.normal,
            middle: face.middle,
            size: face.size,
            is_one_sided: face.is_limited && !self.two_sided,
        }
    }

    /// Number of faces.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.faces.len()
    }

    /// Bounding box of a face in another frame.
    pub(super) fn face_bounds(&self, index: u32, from_mesh: &Pose) -> Aabb {
        Aabb::from_points(self.face(index).corners.iter().map(|corner| from_mesh.transform_point(*corner)))
    }

    /// Bounding box of all faces.
    pub(super) fn bounding_box(&self) -> Aabb {
        self.bvh.root_aabb()
    }

    /// Faces whose boxes overlap a box of another frame, tested along the axes of both.
    pub(super) fn faces_near<'a>(&'a self, window: &'a QueryBox) -> impl Iterator<Item = u32> + 'a {
        self.bvh.leaves(|node| window.overlaps(&node.aabb()))
    }

    /// Calls `visit` with the outward normal of each face within `beside`, m, of a point along the plane of the face,
    /// and with the height of the point above that plane, m, up to `reach` either way.
    ///
    /// A face of a ground, which has two sides, has its outward normal upwards.
    pub(super) fn visit_faces(&self, point: DVec3, beside: f64, reach: f64, visit: &mut dyn FnMut(DVec3, f64)) {
        let window = QueryBox::new(&Aabb::new(point, point), &Pose::IDENTITY, beside.max(reach));
        for index in self.faces_near(&window) {
            let face = self.face(index);
            let outward = if self.two_sided { face.normal * 1f64.copysign(face.normal.y) } else { face.normal };
            let height = (point - face.corners[0]).dot(outward);
            if height.abs() <= reach && distance_beside(face.corners, face.normal, point) <= beside {
                visit(outward, height);
            }
        }
    }

    /// The contact normal nearest to a unit vector that the neighbours of a face allow; `None` on its back.
    pub(super) fn nearest_allowed_normal(&self, index: u32, direction: DVec3) -> Option<DVec3> {
        let face = &self.faces[index as usize];
        if !face.is_limited {
            return Some(direction);
        }
        let side = if self.two_sided && direction.dot(face.normal) < 0.0 { -direction } else { direction };
        let mut closest = (f64::NEG_INFINITY, face.normal);
        for edge in &self.edges[face.start as usize..(face.start + face.count) as usize] {
            let along = side.dot(*edge);
            if along > closest.0 {
                closest = (along, *edge);
            }
        }
        let limits = TrianglePseudoNormals { face: face.normal, edges: [closest.1; 3], two_sided: self.two_sided };
        limits.project_local_normal(direction)
    }
}

/// A side of a face's outline, between two corners of the mesh: side `k` of a triangle.
#[derive(Debug, Clone, Copy)]
struct Side {
    from: u32,
    to: u32,
    triangle: u32,
    k: usize,
}

/// Unit vector half way between the normals at a side; `None` where the two faces lie on each other, or a triangle has
/// no area.
fn edge_normal(mesh: &TriMesh, side: &Side) -> Option<DVec3> {
    mesh.triangle_normal_constraints(side.triangle).map(|limits: TrianglePseudoNormals| limits.edges[side.k])
}

fn sides_of(mesh: &TriMesh, triangle: u32) -> [Side; 3] {
    let corners = mesh.indices()[triangle as usize];
    [0, 1, 2].map(|k| Side { from: corners[k], to: corners[(k + 1) % 3], triangle, k })
}

fn mesh_size(mesh: &TriMesh) -> f64 {
    mesh.bvh().root_aabb().half_extents().norm()
}

/// Area vector of a polygon: along its normal, twice its area long, m².
fn area_vector(corners: &[DVec3]) -> DVec3 {
    corners.windows(2).skip(1).map(|pair| (pair[0] - corners[0]).cross(pair[1] - corners[0])).sum()
}

fn distance_to_line(point: DVec3, from: DVec3, to: DVec3) -> f64 {
    (point - from).reject_from_normalized((to - from).normalized_or_zero()).norm()
}

/// Outlines of all faces, in the order of the first triangle of each.
fn face_outlines(mesh: &TriMesh) -> Vec<Vec<Side>> {
    let count = mesh.indices().len();
    let neighbours = side_neighbours(mesh);
    let normals: Vec<Option<Vector>> = (0..count).map(|index| mesh.triangle(index as u32).normal()).collect();
    let mut region = vec![usize::MAX; count];
    let mut found = Vec::new();
    let (mut members, mut next) = (Vec::new(), 0);
    for first in 0..count {
        if region[first] != usize::MAX {
            continue;
        }
        members.clear();
        members.push(first);
        region[first] = next;
        let mut place = 0;
        while let (Some(&triangle), Some(normal)) = (members.get(place), normals[first]) {
            for other in neighbours[triangle].into_iter().flatten() {
                let other = other as usize;
                let is_level = normals[other].is_some_and(|own| own.dot(normal) > SAME_PLANE_COS);
                if region[other] == usize::MAX && is_level && is_in_plane(mesh, other, first, normal) {
                    region[other] = next;
                    members.push(other);
                }
            }
            place += 1;
        }
        let is_inner = |side: &Side| {
            neighbours[side.triangle as usize][side.k].is_some_and(|other| region[other as usize] == next)
        };
        let sides = members.iter().flat_map(|&triangle| sides_of(mesh, triangle as u32));
        let border: Vec<Side> = sides.filter(|side| !is_inner(side)).collect();
        let normal = normals[first].filter(|_| members.len() > 1);
        match normal.and_then(|normal| convex_outline(mesh, border, normal)) {
            Some(outline) => found.push(outline),
            None => found.extend(members.iter().map(|&triangle| sides_of(mesh, triangle as u32).to_vec())),
        }
        next += 1;
    }
    found
}

/// True if a triangle lies in the plane of the triangle `first`.
fn is_in_plane(mesh: &TriMesh, triangle: usize, first: usize, normal: DVec3) -> bool {
    let corner = |index: u32| mesh.vertices()[index as usize];
    let height = corner(mesh.indices()[first][0]).dot(normal);
    let limit = PLANE_TOLERANCE * mesh_size(mesh);
    mesh.indices()[triangle].iter().all(|&index| (corner(index).dot(normal) - height).abs() <= limit)
}

/// The triangle beyond each side of each triangle, if there is exactly one and its side has the opposite direction.
fn side_neighbours(mesh: &TriMesh) -> Vec<[Option<u32>; 3]> {
    let count = mesh.indices().len() as u32;
    let mut sides: Vec<Side> = (0..count).flat_map(|triangle| sides_of(mesh, triangle)).collect();
    let key = |side: &Side| (side.from.min(side.to), side.from.max(side.to), side.triangle, side.k);
    sides.sort_unstable_by_key(key);
    let mut neighbours = vec![[None; 3]; count as usize];
    for pair in sides.chunk_by(|one, other| (key(one).0, key(one).1) == (key(other).0, key(other).1)) {
        if let [one, other] = pair
            && one.from == other.to
        {
            neighbours[one.triangle as usize][one.k] = Some(other.triangle);
            neighbours[other.triangle as usize][other.k] = Some(one.triangle);
        }
    }
    neighbours
}

/// The sides of a region in order, if they form one convex outline.
fn convex_outline(mesh: &TriMesh, mut border: Vec<Side>, normal: DVec3) -> Option<Vec<Side>> {
    border.sort_unstable_by_key(|side| side.from);
    if border.windows(2).any(|pair| pair[0].from == pair[1].from) {
        return None;
    }
    let mut outline = vec![*border.first()?];
    while outline.len() < border.len() {
        let from = outline.last()?.to;
        let next = border[border.binary_search_by_key(&from, |side| side.from).ok()?];
        if next.from == outline[0].from {
            // Some edges belong to another outline: there is a hole.
            return None;
        }
        outline.push(next);
    }
    if outline.last()?.to != outline[0].from {
        return None;
    }
    let corner = |index: u32| mesh.vertices()[index as usize];
    let limit = PLANE_TOLERANCE * mesh_size(mesh);
    let turns_in = |(side, next): (&Side, &Side)| {
        let (from, at, to) = (corner(side.from), corner(side.to), corner(next.to));
        let inwards = normal.cross(at - from).normalized_or_zero();
        // Straight on or to the left, but never backwards.
        (to - at).dot(inwards) >= -limit && (at - from).dot(to - at) > -(to - at).norm() * (at - from).norm()
    };
    let turns = outline.iter().zip(outline.iter().cycle().skip(1));
    turns.clone().all(turns_in).then_some(())?;
    // The turns add up to one revolution, not several.
    let around: f64 = turns
        .map(|(side, next)| {
            let (one, other) = (corner(side.to) - corner(side.from), corner(next.to) - corner(next.from));
            libm::atan2(one.cross(other).dot(normal), one.dot(other))
        })
        .sum();
    (around < 3.0 * std::f64::consts::PI).then_some(outline)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mesh(points: &[[f64; 3]], triangles: &[[u32; 3]]) -> TriMesh {
        let points = points.iter().map(|point| DVec3::from_array(*point)).collect();
        let flags = TriMeshFlags::FIX_INTERNAL_EDGES | TriMeshFlags::MERGE_DUPLICATE_VERTICES;
        TriMesh::with_flags(points, triangles.to_vec(), flags).expect("a mesh")
    }

    /// A plate in the plane of x and y of `cells` cells each way, two triangles each. `keep` tells which cells are
    /// present.
    fn plate(cells: u32, keep: impl Fn(u32, u32) -> bool, height: impl Fn(u32, u32) -> f64) -> TriMesh {
        let mut points = Vec::new();
        for (i, j) in (0..=cells).flat_map(|i| (0..=cells).map(move |j| (i, j))) {
            points.push([f64::from(i), f64::from(j), height(i, j)]);
        }
        let number = |i: u32, j: u32| i * (cells + 1) + j;
        let mut triangles = Vec::new();
        for (i, j) in (0..cells).flat_map(|i| (0..cells).map(move |j| (i, j))).filter(|&(i, j)| keep(i, j)) {
            let [a, b, c, d] = [number(i, j), number(i + 1, j), number(i + 1, j + 1), number(i, j + 1)];
            triangles.extend([[a, b, c], [a, c, d]]);
        }
        mesh(&points, &triangles)
    }

    #[test]
    fn triangles_of_a_flat_convex_part_are_one_face_with_its_corners() {
        let faces = Faces::new(&plate(4, |_, _| true, |_, _| 0.5));
        assert_eq!(faces.len(), 1);
        let Polygon { corners, normal, .. } = faces.face(0);
        assert_eq!((corners.len(), normal), (4, DVec3::Z));
        for corner in [[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]] {
            assert!(corners.contains(&DVec3::new(corner[0], corner[1], 0.5)), "{corners:?}");
        }
        // At its borders it presses along its own normal only.
        assert_eq!(faces.nearest_allowed_normal(0, DVec3::new(0.6, 0.0, 0.8)), Some(DVec3::Z));
    }

    #[test]
    fn a_hole_a_notch_and_a_bend_leave_triangles() {
        let hole = Faces::new(&plate(3, |i, j| (i, j) != (1, 1), |_, _| 0.0));
        assert_eq!(hole.len(), 16);
        let notch = Faces::new(&plate(2, |i, j| (i, j) != (1, 1), |_, _| 0.0));
        assert_eq!(notch.len(), 6);
        // Bent along the line x = 1: two faces.
        let bent = Faces::new(&plate(2, |_, _| true, |i, _| if i == 2 { 0.5 } else { 0.0 }));
        assert_eq!(bent.len(), 2);
        // Every triangle of a saddle is in another plane.
        let curved = Faces::new(&plate(2, |_, _| true, |i, j| 0.1 * f64::from(i * j)));
        assert_eq!(curved.len(), 8);
    }

    /// A face whose neighbour slopes down from it may press along all directions between the two normals.
    #[test]
    fn a_face_presses_between_its_own_normal_and_its_neighbours() {
        let bent = Faces::new(&plate(2, |_, _| true, |i, _| if i == 2 { -1.0 } else { 0.0 }));
        let index = (0..2).find(|index| bent.face(*index).normal == DVec3::Z).expect("the level face");
        let between = DVec3::new(0.3, 0.0, 1.0).normalize();
        assert_eq!(bent.nearest_allowed_normal(index, between), Some(between));
        let beyond = bent.nearest_allowed_normal(index, DVec3::new(1.0, 0.0, 0.2).normalize()).expect("a direction");
        assert!((beyond - DVec3::new(1.0, 0.0, 1.0).normalize()).length() < 1e-9, "{beyond}");
        assert_eq!(bent.nearest_allowed_normal(index, DVec3::NEG_Z), None);
    }
}
