//! Convex shapes for the searches: support functions and faces.

use bevy_math::{DMat3, DVec3};
use simpartner_model::Norm;

use super::extremes::Extremes;
use crate::{ellipsoid::Ellipsoid, engine::collision::triangles::closest_point, parry::shape::ConvexPolyhedron};

/// Number of corners of the polygon that stands for a round end. Its sides are 0.5 % nearer to the centre than the rim.
const RIM_CORNERS: usize = 32;
/// Cosine and sine of the angle between two of these corners, pi/16.
const RIM_TURN: (f64, f64) = (0.980_785_280_403_230_4, 0.195_090_322_016_128_27);

/// A convex polyhedron.
#[derive(Debug, Clone)]
pub(crate) struct Hull {
    pub(crate) points: Vec<DVec3>,
    /// Search tree over the points, for support points.
    reach: Extremes,
    faces: Vec<Face>,
    /// Search tree over the planes of the faces: their normals, and the distance of the origin above each.
    planes: Extremes,
    /// Corner indices of all faces, one face after another.
    corners: Vec<u32>,
    /// Mean of the points, and the largest distance of a point from it, m.
    middle: DVec3,
    size: f64,
}

/// A face: its unit normal, and the range of its corners.
#[derive(Debug, Clone, Copy)]
struct Face {
    normal: DVec3,
    start: u32,
    count: u32,
}

impl Hull {
    /// The hull of parry's polyhedron, which has merged the triangles of each face.
    pub(crate) fn new(polyhedron: &ConvexPolyhedron) -> Self {
        let points = polyhedron.points().to_vec();
        let reach = Extremes::new(points.iter().map(|point| point.extend(0.0)));
        let all = polyhedron.vertices_adj_to_face();
        let faces = polyhedron.faces().iter().map(|face| {
            let (start, count) = (face.first_vertex_or_edge, face.num_vertices_or_edges);
            let own = all[start as usize..(start + count) as usize].iter().map(|&corner| points[corner as usize]);
            Face { normal: area_vector(own).try_normalized().unwrap_or(face.normal), start, count }
        });
        let faces: Vec<Face> = faces.collect();
        let planes = faces.iter().map(|&Face { normal, .. }| normal.extend(-reach.farthest(normal.extend(0.0)).1));
        let middle = points.iter().sum::<DVec3>() / points.len() as f64;
        Self {
            planes: Extremes::new(planes),
            faces,
            corners: all.to_vec(),
            middle,
            size: points.iter().map(|point| (*point - middle).norm()).fold(0.0, f64::max),
            points,
            reach,
        }
    }

    fn farthest(&self, direction: DVec3) -> DVec3 {
        self.points[self.reach.farthest(direction.extend(0.0)).0]
    }

    /// The face above whose plane a point is highest.
    fn face_below(&self, point: DVec3) -> &Face {
        &self.faces[self.planes.farthest(point.extend(1.0)).0]
    }

    /// Height of a point above the highest plane of a face, m; negative inside.
    pub(super) fn height_of(&self, point: DVec3) -> f64 {
        self.planes.farthest(point.extend(1.0)).1
    }

    /// Normal of each face, and the height of a point above its plane, m.
    pub(super) fn planes_at(&self, point: DVec3) -> impl Iterator<Item = (DVec3, f64)> + '_ {
        self.faces.iter().map(move |&Face { normal, start, .. }| {
            (normal, normal.dot(point - self.points[self.corners[start as usize] as usize]))
        })
    }

    /// The face whose normal is nearest to a direction.
    fn face_along(&self, direction: DVec3) -> &Face {
        &self.faces[self.planes.farthest(direction.extend(0.0)).0]
    }
}

/// A convex shape in its own frame, without its rounding layer; lengths in metres.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine::collision) enum Core<'a> {
    /// Half the length of a segment along y; a point if zero.
    Segment(f64),
    /// Half the edge lengths.
    Box(DVec3),
    Ellipsoid(Ellipsoid),
    Cylinder {
        radius: f64,
        half: f64,
    },
    /// The apex at y = half, the base at y = -half.
    Cone {
        radius: f64,
        half: f64,
    },
    Hull(&'a Hull),
    Triangle([DVec3; 3]),
    Face(Polygon<'a>),
}

/// A flat face of a mesh.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine::collision) struct Polygon<'a> {
    /// Corners, counterclockwise about the unit normal.
    pub(in crate::engine::collision) corners: &'a [DVec3],
    pub(in crate::engine::collision) normal: DVec3,
    /// Mean of the corners, and the largest distance of a corner from it, m.
    pub(in crate::engine::collision) middle: DVec3,
    pub(in crate::engine::collision) size: f64,
    /// True if it has contacts along its normal only, and none on its back.
    pub(in crate::engine::collision) is_one_sided: bool,
}

impl Core<'_> {
    /// Support point: the farthest along a direction of any length.
    pub(super) fn support(&self, direction: DVec3) -> DVec3 {
        match *self {
            Self::Segment(half) => DVec3::Y * half.copysign(direction.y),
            Self::Box(half) => half.copysign(direction),
            Self::Ellipsoid(own) => own.support(direction),
            Self::Cylinder { radius, half } => rim_point(direction, radius) + DVec3::Y * half.copysign(direction.y),
            Self::Cone { radius, half } => {
                let (apex, base) = (DVec3::Y * half, rim_point(direction, radius) - DVec3::Y * half);
                if apex.dot(direction) > base.dot(direction) { apex } else { base }
            }
            Self::Hull(hull) => hull.farthest(direction),
            Self::Triangle(corners) => farthest_point(&corners, direction),
            Self::Face(face) => farthest_point(face.corners, direction),
        }
    }

    /// Support function: largest coordinate along a direction, m, times the length of the direction.
    pub(in crate::engine::collision) fn extent(&self, direction: DVec3) -> f64 {
        let across = || (direction.x * direction.x + direction.z * direction.z).sqrt();
        match *self {
            Self::Segment(half) => half * direction.y.abs(),
            Self::Box(half) => half.dot(direction.abs()),
            Self::Ellipsoid(own) => own.extent(direction),
            Self::Cylinder { radius, half } => radius * across() + half * direction.y.abs(),
            Self::Cone { radius, half } => (half * direction.y).max(radius * across() - half * direction.y),
            _ => self.support(direction).dot(direction),
        }
    }

    /// Second derivative of the support function at a unit vector, m: zero at corners, edges and faces.
    pub(super) fn curvature_radii(&self, direction: DVec3) -> DMat3 {
        match *self {
            Self::Ellipsoid(own) => own.curvature_radii(direction),
            Self::Cylinder { radius, .. } | Self::Cone { radius, .. } => {
                let radial = DVec3::new(direction.x, 0.0, direction.z);
                let is_apex = matches!(self, Self::Cone { .. }) && self.support(direction).y > 0.0;
                let Some(across) = radial.try_normalized().filter(|_| !is_apex) else { return DMat3::ZERO };
                let along = DVec3::Y.cross(across);
                let scaled = along * (radius / radial.norm());
                DMat3::from_cols(scaled * along.x, scaled * along.y, scaled * along.z)
            }
            _ => DMat3::ZERO,
        }
    }

    /// A point inside, near its centre.
    pub(super) fn middle(&self) -> DVec3 {
        match self {
            Self::Segment(_) | Self::Box(_) | Self::Ellipsoid(_) | Self::Cylinder { .. } => DVec3::ZERO,
            Self::Cone { half, .. } => DVec3::Y * (-0.5 * half),
            Self::Hull(hull) => hull.middle,
            Self::Triangle([a, b, c]) => (*a + *b + *c) / 3.0,
            Self::Face(face) => face.middle,
        }
    }

    /// A point inside; on a triangle or face, the one nearest to a given point.
    pub(super) fn inner_point(&self, near: DVec3) -> DVec3 {
        match self {
            Self::Triangle(corners) => closest_point(near, corners).0,
            Self::Face(face) => closest_of_fan(near, face.corners),
            _ => self.middle(),
        }
    }

    /// Approximate distance of its points from its centre, m.
    pub(super) fn size(&self) -> f64 {
        match self {
            Self::Segment(half) => *half,
            Self::Box(half) => half.max_element(),
            Self::Ellipsoid(own) => own.radii.max_element(),
            Self::Cylinder { radius, half } | Self::Cone { radius, half } => radius.max(*half),
            Self::Hull(hull) => hull.size,
            Self::Triangle(corners) => max_distance(corners, self.middle()),
            Self::Face(face) => face.size,
        }
    }

    /// Unit normal of a triangle; `None` for others.
    pub(in crate::engine::collision) fn own_normal(&self) -> Option<DVec3> {
        if let Self::Triangle(corners) = self { Some(triangle_normal(corners)) } else { None }
    }

    /// True if it is a face with contacts along its normal only.
    pub(super) fn is_one_sided(&self) -> bool {
        matches!(self, Self::Face(face) if face.is_one_sided)
    }

    /// Normal of the face above whose plane a point is highest; a one-sided face returns its own normal.
    pub(super) fn face_below(&self, point: DVec3) -> DVec3 {
        let radial = DVec3::new(point.x, 0.0, point.z);
        match *self {
            Self::Segment(half) => (point - DVec3::Y * point.y.clamp(-half, half)).try_normalized().unwrap_or(DVec3::X),
            Self::Ellipsoid(own) => own.nearest_normal(point),
            Self::Box(half) => axis_towards((point.abs() - half).max_position(), point),
            Self::Cylinder { radius, half } => {
                if point.y.abs() - half > radial.norm() - radius {
                    DVec3::Y * 1f64.copysign(point.y)
                } else {
                    radial.try_normalized().unwrap_or(DVec3::X)
                }
            }
            Self::Cone { radius, half } => {
                let side = cone_side_normal(radial, radius, half);
                if -point.y - half > side.dot(point - DVec3::Y * half) { DVec3::NEG_Y } else { side }
            }
            Self::Hull(hull) => hull.face_below(point).normal,
            Self::Triangle(corners) => {
                let normal = triangle_normal(&corners);
                normal * 1f64.copysign((point - corners[0]).dot(normal))
            }
            Self::Face(face) if face.is_one_sided => face.normal,
            Self::Face(face) => face.normal * 1f64.copysign((point - face.corners[0]).dot(face.normal)),
        }
    }

    /// Normal of the face, or of the line of a round side, that is nearest to a unit vector.
    pub(super) fn face_along(&self, direction: DVec3) -> DVec3 {
        let radial = DVec3::new(direction.x, 0.0, direction.z);
        match *self {
            Self::Segment(_) if radial.length_squared() > 0.5 => radial.normalized(),
            Self::Segment(_) | Self::Ellipsoid(_) => direction,
            Self::Box(_) => axis_towards(direction.abs().max_position(), direction),
            Self::Cylinder { .. } if radial.length_squared() > 0.5 => radial.normalized(),
            Self::Cylinder { .. } => DVec3::Y * 1f64.copysign(direction.y),
            Self::Cone { radius, half } => {
                let side = cone_side_normal(radial, radius, half);
                if -direction.y > side.dot(direction) { DVec3::NEG_Y } else { side }
            }
            Self::Hull(hull) => hull.face_along(direction).normal,
            Self::Triangle(corners) => {
                let normal = triangle_normal(&corners);
                normal * 1f64.copysign(direction.dot(normal))
            }
            Self::Face(face) => face.normal * 1f64.copysign(direction.dot(face.normal)),
        }
    }

    /// Corners of the face that [`Core::face_along`] gives for a direction: a polygon, the two ends of the line of a
    /// round side, or one point. The support point along the direction is one of them.
    pub(super) fn face_corners(&self, normal: DVec3, direction: DVec3, corners: &mut Vec<DVec3>) {
        corners.clear();
        match *self {
            Self::Segment(half) if normal.y == 0.0 && half > 0.0 => corners.extend([DVec3::Y * half, DVec3::Y * -half]),
            Self::Segment(half) => corners.push(DVec3::Y * half.copysign(normal.y)),
            Self::Ellipsoid(own) => corners.push(own.support(normal)),
            Self::Box(half) => {
                let axis = normal.abs().max_position();
                let (one, two) = (DVec3::AXES[(axis + 1) % 3] * half, DVec3::AXES[(axis + 2) % 3] * half);
                let middle = normal * half;
                corners.extend([middle + one + two, middle - one + two, middle - one - two, middle + one - two]);
            }
            Self::Cylinder { radius, half } | Self::Cone { radius, half } if normal.y.abs() == 1.0 => {
                add_rim(DVec3::Y * (normal.y * half), radius, direction, corners);
            }
            Self::Cylinder { radius, half } => {
                corners.extend([normal * radius + DVec3::Y * half, normal * radius - DVec3::Y * half]);
            }
            Self::Cone { radius, half } => {
                corners.extend([DVec3::Y * half, rim_point(normal, radius) - DVec3::Y * half]);
            }
            Self::Hull(hull) => {
                let Face { start, count, .. } = *hull.face_along(normal);
                let own = &hull.corners[start as usize..(start + count) as usize];
                corners.extend(own.iter().map(|&corner| hull.points[corner as usize]));
            }
            Self::Triangle(own) => corners.extend(own),
            Self::Face(face) => corners.extend_from_slice(face.corners),
        }
    }
}

/// Area vector of a polygon: along its normal, twice its area long, m².
fn area_vector(mut corners: impl Iterator<Item = DVec3>) -> DVec3 {
    let (Some(first), Some(mut last)) = (corners.next(), corners.next()) else { return DVec3::ZERO };
    let mut sum = DVec3::ZERO;
    for next in corners {
        sum += (last - first).cross(next - first);
        last = next;
    }
    sum
}

/// Largest distance of points from a given one, m.
pub(in crate::engine::collision) fn max_distance(points: &[DVec3], from: DVec3) -> f64 {
    points.iter().map(|point| point.distance_squared(from)).fold(0.0, f64::max).sqrt()
}

/// The point of a convex polygon closest to a given one.
fn closest_of_fan(near: DVec3, corners: &[DVec3]) -> DVec3 {
    let (mut best, mut least) = (corners[0], f64::INFINITY);
    for pair in corners[1..].windows(2) {
        let (closest, inside) = closest_point(near, &[corners[0], pair[0], pair[1]]);
        let square = closest.distance_squared(near);
        if square < least {
            (best, least) = (closest, square);
        }
        if inside {
            break;
        }
    }
    best
}

fn farthest_point(points: &[DVec3], direction: DVec3) -> DVec3 {
    let mut best = (points[0].dot(direction), points[0]);
    for &point in &points[1..] {
        let along = point.dot(direction);
        if along > best.0 {
            best = (along, point);
        }
    }
    best.1
}

/// The point of a circle about y that is farthest along a direction.
pub(super) fn rim_point(direction: DVec3, radius: f64) -> DVec3 {
    DVec3::new(direction.x, 0.0, direction.z).try_normalized().unwrap_or(DVec3::X) * radius
}

/// Adds the corners of a polygon on a circle about y, and between them the point that is farthest along a direction.
fn add_rim(middle: DVec3, radius: f64, direction: DVec3, corners: &mut Vec<DVec3>) {
    let farthest = DVec3::new(direction.x, 0.0, direction.z).try_normalized().unwrap_or(DVec3::X);
    let mut along = DVec3::X;
    for _ in 0..RIM_CORNERS {
        corners.push(middle + along * radius);
        let next =
            DVec3::new(along.x * RIM_TURN.0 - along.z * RIM_TURN.1, 0.0, along.x * RIM_TURN.1 + along.z * RIM_TURN.0);
        if along.cross(farthest).y < 0.0 && farthest.cross(next).y < 0.0 {
            corners.push(middle + farthest * radius);
        }
        along = next;
    }
}

/// Normal of a cone's side, on the side that a vector across its axis points to.
pub(super) fn cone_side_normal(radial: DVec3, radius: f64, half: f64) -> DVec3 {
    let across = radial.try_normalized().unwrap_or(DVec3::X);
    (across * (2.0 * half) + DVec3::Y * radius).normalized()
}

/// Unit vector of an axis, signed like that component of a vector.
fn axis_towards(axis: usize, vector: DVec3) -> DVec3 {
    DVec3::AXES[axis] * 1f64.copysign(vector[axis])
}

/// Unit normal of a triangle; an arbitrary unit vector if it has no area.
pub(super) fn triangle_normal([a, b, c]: &[DVec3; 3]) -> DVec3 {
    (*b - *a).cross(*c - *a).try_normalized().unwrap_or(DVec3::Y)
}
