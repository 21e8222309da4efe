//! Grounds: planes, terrain and triangle meshes.

use std::sync::Arc;

use bevy_math::{DMat3, DVec3};
use simpartner_model::{self as model, Material, Norm, Plane, Pose};

use super::{
    faces::Faces,
    geom::Bounds,
    hit::Hit,
    narrow::{self, Memory},
    outline::Outline,
    placed_shape::Placed,
    seam_contacts::Beside,
};
use crate::{
    Ray,
    parry::shape::{HeightField, SharedShape, Triangle},
    rays::Surface,
    shape,
};

/// A ground that shapes can touch.
pub(crate) struct Ground {
    form: Form,
    pub(super) material: Material,
    /// Box around the ground. Below terrain it has no lower bound, because the space there is inside the ground.
    bounds: Bounds,
}

enum Form {
    Plane(Plane),
    /// Terrain or triangles, and their pose in the world. `turn` is `surface_from_world` for directions.
    Surface {
        shape: SharedShape,
        outline: Outline,
        pose: Pose,
        turn: DMat3,
        rays: Arc<Surface>,
    },
}

impl Ground {
    /// A ground of the model.
    pub(crate) fn new(ground: &model::Ground) -> Result<Self, String> {
        let material = *ground.material();
        let (shape, pose) = match ground {
            model::Ground::Plane(plane) => {
                let bounds = Bounds { low: DVec3::NEG_INFINITY, high: DVec3::INFINITY };
                return Ok(Self { form: Form::Plane(*plane), material, bounds });
            }
            model::Ground::Heightfield(field) => (shape::heightfield(field), field.pose),
            model::Ground::Mesh(mesh) => (shape::ground_mesh(mesh)?, Pose::IDENTITY),
        };
        let around = shape.compute_aabb(&shape::pose(&pose));
        let mut bounds = Bounds { low: around.mins, high: around.maxs };
        if shape.as_heightfield().is_some() {
            bounds.low.y = f64::NEG_INFINITY;
        }
        let outline = match shape.as_trimesh() {
            Some(mesh) => Outline::Mesh(Arc::default(), Arc::new(Faces::new(mesh))),
            None => Outline::Points(Vec::new()),
        };
        let turn = DMat3::from_quat(pose.rotation.inverse());
        let rays = Arc::new(Surface::new(&shape, &pose));
        Ok(Self { form: Form::Surface { shape, outline, pose, turn, rays }, material, bounds })
    }

    /// True if it is a plane steeper than 60 degrees.
    pub(super) fn is_steep_plane(&self) -> bool {
        matches!(&self.form, Form::Plane(plane) if plane.normal.y <= 0.5)
    }

    /// True if a box reaches any of it.
    #[inline]
    pub(super) fn overlaps(&self, bounds: &Bounds) -> bool {
        match &self.form {
            Form::Plane(plane) => bounds.reaches_below_plane(plane),
            Form::Surface { .. } => self.bounds.overlaps(bounds),
        }
    }

    /// True if another ground may be beside this one.
    pub(super) fn may_adjoin(&self, other: &Self) -> bool {
        match (&self.form, &other.form) {
            (Form::Plane(_), Form::Plane(_)) => false,
            (Form::Surface { .. }, _) => other.overlaps(&self.bounds),
            (Form::Plane(_), Form::Surface { .. }) => self.overlaps(&other.bounds),
        }
    }

    /// False if the ground is terrain that is lower than the box everywhere below it; true otherwise.
    pub(super) fn may_reach(&self, bounds: &Bounds) -> bool {
        let Form::Surface { shape, pose, turn, .. } = &self.form else { return true };
        let Some(field) = shape.as_heightfield() else { return true };
        let (middle, size) = (0.5 * (bounds.low + bounds.high), 0.5 * (bounds.high - bounds.low));
        let middle = *turn * (middle - pose.translation);
        let half = turn.x_axis.abs() * size.x + turn.y_axis.abs() * size.y + turn.z_axis.abs() * size.z;
        let scale = field.scale();
        let points = |at: f64, half: f64, extent: f64, cells: usize| {
            let cell = |x: f64| ((x / extent + 0.5) * cells as f64).clamp(0.0, cells as f64);
            cell(at - half).floor() as usize..=cell(at + half).ceil() as usize
        };
        let rows = points(middle.z, half.z, scale.z, field.nrows());
        let mut columns = points(middle.x, half.x, scale.x, field.ncols());
        let low = (middle.y - half.y) / scale.y;
        let heights = field.heights();
        columns.any(|column| rows.clone().any(|row| heights[(row, column)] >= low))
    }

    /// Adds the contacts with a shape that are nearer than `ahead`, m; normals towards the shape. `beside` has the
    /// shapes beside the ground and beside the shape.
    pub(super) fn add_contacts(
        &self,
        body: &Placed,
        ahead: f64,
        beside: Option<Beside>,
        memory: &mut Memory,
        hits: &mut Vec<Hit>,
    ) {
        match (&self.form, self.as_placed_shape()) {
            (Form::Plane(plane), _) => narrow::contacts_on_plane(plane.normal, plane.distance, body, ahead, hits),
            (_, Some(surface)) => narrow::contacts_of_pair(&surface, body, ahead, beside, memory, hits),
            (_, None) => {}
        }
    }

    /// The ground as a shape; `None` for a plane.
    pub(super) fn as_placed_shape(&self) -> Option<Placed<'_>> {
        match &self.form {
            Form::Plane(_) => None,
            Form::Surface { shape, outline, pose, .. } => {
                Some(Placed { outline, shape, centre: pose.translation, rotation: pose.rotation })
            }
        }
    }

    /// The ground as a plane; `None` for others.
    pub(super) fn as_plane(&self) -> Option<&Plane> {
        if let Form::Plane(plane) = &self.form { Some(plane) } else { None }
    }

    /// The ground as a surface for rays; `None` for a plane.
    pub(super) fn as_surface(&self) -> Option<&Arc<Surface>> {
        if let Form::Surface { rays, .. } = &self.form { Some(rays) } else { None }
    }

    /// The local plane of the ground below a point, fitted to heights at the distance `reach` around it; `None` where
    /// there is no ground. A plane is its normal n and distance d: n x = d.
    pub(super) fn plane_below(&self, point: DVec3, reach: f64) -> Option<(DVec3, f64)> {
        let (shape, pose, rays) = match &self.form {
            Form::Plane(plane) => return Some((plane.normal, plane.distance)),
            Form::Surface { shape, pose, rays, .. } => (shape, pose, rays),
        };
        let local = pose.rotation.inverse() * (point - pose.translation);
        let field = shape.as_heightfield();
        let at = |x: f64, z: f64| match field {
            Some(field) => terrain_height(field, local.x + x, local.z + z),
            // A ray downwards, from above the largest possible penetration, finds the uppermost triangle. Triangles are
            // in world coordinates.
            None => {
                let origin = DVec3::new(point.x + x, point.y + 2.0 * reach, point.z + z);
                let down = Ray { origin, direction: DVec3::NEG_Y, range: 8.0 * reach, ignore: None };
                rays.cast(&down, down.range).map(|distance| origin.y - distance)
            }
        };
        let middle = at(0.0, 0.0)?;
        // Terrain continues level beyond its border.
        let slope = |ahead: Option<f64>, behind: Option<f64>| match (ahead, behind) {
            (Some(ahead), Some(behind)) => 0.5 * (ahead - behind) / reach,
            _ => 0.0,
        };
        let (along_x, along_z) = (slope(at(reach, 0.0), at(-reach, 0.0)), slope(at(0.0, reach), at(0.0, -reach)));
        let normal = pose.rotation * DVec3::new(-along_x, 1.0, -along_z).normalized();
        Some((normal, normal.dot(pose.point(DVec3::new(local.x, middle, local.z)))))
    }

    /// Height of terrain above a point that lies below it, m; `None` if it is not terrain.
    pub(super) fn terrain_above(&self, point: DVec3) -> Option<f64> {
        let Form::Surface { shape, rays, .. } = &self.form else { return None };
        shape.as_heightfield()?;
        let up = Ray { origin: point, direction: DVec3::Y, range: self.bounds.high.y - point.y, ignore: None };
        rays.cast(&up, up.range).filter(|distance| *distance > 0.0)
    }
}

/// Height of terrain at a horizontal position, m; `None` outside of it.
fn terrain_height(field: &HeightField, x: f64, z: f64) -> Option<f64> {
    let place = DVec3::new(x, 0.0, z);
    let (row, column) = field.cell_at_point(place)?;
    let (first, second) = field.triangles_at(row, column);
    let on = |triangle: Triangle| {
        let [a, b, c] = [triangle.a, triangle.b, triangle.c];
        let (u, v, w) = (b - a, c - a, place - a);
        let area = u.x * v.z - u.z * v.x;
        let (s, t) = ((w.x * v.z - w.z * v.x) / area, (u.x * w.z - u.z * w.x) / area);
        // A position on an edge belongs to both triangles; rounding would put it in neither.
        let inside = s >= -1e-9 && t >= -1e-9 && s + t <= 1.0 + 1e-9;
        inside.then_some(a.y + s * u.y + t * v.y)
    };
    first.and_then(on).or_else(|| second.and_then(on))
}

#[cfg(test)]
mod tests {
    use bevy_math::DQuat;
    use simpartner_model::{Heightfield, random::Stream};

    use super::*;

    /// Random boxes around inclined terrain: each box that contains a point of the terrain is reported to reach it, and
    /// few of the boxes above all of it are.
    #[test]
    fn no_box_that_holds_a_point_of_terrain_is_passed_over() {
        let mut stream = Stream::from_number(5);
        let mut next = || stream.between(-1.0, 1.0);
        let points = 9;
        let mut field = Heightfield {
            points_x: points,
            points_z: points,
            width: 4.0,
            depth: 6.0,
            heights: (0..points * points).map(|_| 0.2 * next()).collect(),
            pose: Pose { translation: DVec3::new(1.0, 2.0, 3.0), rotation: DQuat::from_rotation_z(0.4) },
            material: Material::default(),
        };
        field.pose.rotation *= DQuat::from_rotation_x(0.3);
        let corners: Vec<DVec3> = (0..points * points)
            .map(|index| {
                let (x, z) = field.position(index / points, index % points);
                field.pose.point(DVec3::new(x, field.heights[index], z))
            })
            .collect();
        let pose = field.pose;
        let ground = Ground::new(&field.into()).expect("sound terrain");
        let (mut holding, mut above, mut told) = (0, 0, 0);
        for _ in 0..4000 {
            let middle = pose.point(DVec3::new(2.0 * next(), 1.0 * next(), 3.0 * next()));
            let half = DVec3::new(next(), next(), next()).abs() * 0.5;
            let bounds = Bounds { low: middle - half, high: middle + half };
            let holds = corners.iter().any(|&corner| bounds.overlaps(&Bounds { low: corner, high: corner }));
            let reaches = ground.may_reach(&bounds);
            assert!(reaches || !holds, "{bounds:?}");
            holding += usize::from(holds);
            let height = (pose.rotation.inverse() * (middle - pose.translation)).y;
            if height > 0.25 + half.length() {
                above += 1;
                told += usize::from(reaches);
            }
        }
        assert!(holding > 200 && above > 200 && 10 * told < above, "{holding} {above} {told}");
    }
}
