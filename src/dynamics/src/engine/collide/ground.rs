//! What the world stands on: planes, terrain and triangles.

use bevy_math::{DMat3, DVec3};
use simpartner_model::{self as model, Material, Plane, Pose};

use super::{
    Faces, Hit, Outline,
    geom::Bounds,
    narrow::{self, Memory, Placed},
};
use crate::{
    Ray,
    parry::{
        query,
        shape::{HeightField, SharedShape, Triangle},
    },
    shape,
};

/// A ground that shapes may touch.
pub(in crate::engine) struct Ground {
    form: Form,
    pub(super) material: Material,
    /// Around all of it that shapes may be in; what is below terrain is in it.
    bounds: Bounds,
}

enum Form {
    Plane(Plane),
    /// Terrain or triangles, and where they are in the world.
    Surface {
        shape: SharedShape,
        outline: Outline,
        pose: Pose,
    },
}

impl Ground {
    /// The model's ground.
    ///
    /// # Errors
    /// A sentence that says why its triangles cannot be used.
    pub(in crate::engine) fn new(ground: &model::Ground) -> Result<Self, String> {
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
            Some(mesh) => Outline::Mesh(Vec::new(), Faces::new(mesh)),
            None => Outline::Points(Vec::new()),
        };
        Ok(Self { form: Form::Surface { shape, outline, pose }, material, bounds })
    }

    /// Whether it is a plane steeper than 60 degrees.
    pub(super) fn is_steep_plane(&self) -> bool {
        matches!(&self.form, Form::Plane(plane) if plane.normal.y <= 0.5)
    }

    /// Whether a box reaches any of it.
    #[inline]
    pub(super) fn meets(&self, bounds: &Bounds) -> bool {
        match &self.form {
            Form::Plane(plane) => bounds.reaches(plane),
            Form::Surface { .. } => self.bounds.meets(bounds),
        }
    }

    /// False where all of it that is below a box, or in it, is terrain lower than the box.
    pub(super) fn reaches(&self, bounds: &Bounds) -> bool {
        let Form::Surface { shape, pose, .. } = &self.form else { return true };
        let Some(field) = shape.as_heightfield() else { return true };
        let turn = DMat3::from_quat(pose.rotation.inverse());
        let middle = turn * (0.5 * (bounds.low + bounds.high) - pose.translation);
        let half = (turn.x_axis.abs(), turn.y_axis.abs(), turn.z_axis.abs());
        let size = 0.5 * (bounds.high - bounds.low);
        let half = half.0 * size.x + half.1 * size.y + half.2 * size.z;
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

    /// Contacts with a shape, normals towards the shape.
    pub(super) fn touch(&self, body: &Placed, ahead: f64, memory: &mut Memory, hits: &mut Vec<Hit>) {
        match (&self.form, self.placed()) {
            (Form::Plane(plane), _) => narrow::on_plane(plane.normal, plane.distance, body, ahead, hits),
            (_, Some(surface)) => narrow::of_pair(&surface, body, ahead, memory, hits),
            (_, None) => {}
        }
    }

    /// As a shape, unless it is a plane.
    pub(super) fn placed(&self) -> Option<Placed<'_>> {
        match &self.form {
            Form::Plane(_) => None,
            Form::Surface { shape, outline, pose } => {
                Some(Placed { outline, shape, centre: pose.translation, rotation: pose.rotation })
            }
        }
    }

    /// The distance along a ray to it, if it is in range.
    pub(super) fn cast_ray(&self, ray: &Ray) -> Option<f64> {
        match &self.form {
            Form::Plane(plane) => {
                let (height, slope) = (plane.normal.dot(ray.origin) - plane.distance, plane.normal.dot(ray.direction));
                let distance = if height <= 0.0 { 0.0 } else { -height / slope };
                (distance >= 0.0 && distance <= ray.range).then_some(distance)
            }
            Form::Surface { shape, pose, .. } => {
                let line = query::Ray::new(ray.origin, ray.direction);
                shape.cast_ray(&shape::pose(pose), &line, ray.range, true)
            }
        }
    }

    /// The plane that it is below a point, from the heights so far around; `None` where it has none.
    pub(super) fn plane_below(&self, point: DVec3, reach: f64) -> Option<(DVec3, f64)> {
        let (shape, pose) = match &self.form {
            Form::Plane(plane) => return Some((plane.normal, plane.distance)),
            Form::Surface { shape, pose, .. } => (shape, pose),
        };
        let local = pose.rotation.inverse() * (point - pose.translation);
        let field = shape.as_heightfield();
        let at = |x: f64, z: f64| match field {
            Some(field) => height(field, local.x + x, local.z + z),
            // The first triangle below a height that a shape's middle does not sink to; they are where the world is.
            None => {
                let origin = DVec3::new(point.x + x, point.y + 2.0 * reach, point.z + z);
                let down = Ray { origin, direction: DVec3::NEG_Y, range: 8.0 * reach, ignore: None };
                self.cast_ray(&down).map(|distance| origin.y - distance)
            }
        };
        let middle = at(0.0, 0.0)?;
        // Where the terrain ends it goes on level.
        let slope = |ahead: Option<f64>, behind: Option<f64>| match (ahead, behind) {
            (Some(ahead), Some(behind)) => 0.5 * (ahead - behind) / reach,
            _ => 0.0,
        };
        let (along_x, along_z) = (slope(at(reach, 0.0), at(-reach, 0.0)), slope(at(0.0, reach), at(0.0, -reach)));
        let normal = pose.rotation * DVec3::new(-along_x, 1.0, -along_z).normalize();
        Some((normal, normal.dot(pose.point(DVec3::new(local.x, middle, local.z)))))
    }

    /// How far it is above a point that lies below it, if it is terrain.
    pub(super) fn above(&self, point: DVec3) -> Option<f64> {
        let Form::Surface { shape, .. } = &self.form else { return None };
        shape.as_heightfield()?;
        let up = Ray { origin: point, direction: DVec3::Y, range: self.bounds.high.y - point.y, ignore: None };
        self.cast_ray(&up).filter(|distance| *distance > 0.0)
    }
}

/// The height of terrain at a place, m; `None` where there is none.
fn height(field: &HeightField, x: f64, z: f64) -> Option<f64> {
    let place = DVec3::new(x, 0.0, z);
    let (row, column) = field.cell_at_point(place)?;
    let (first, second) = field.triangles_at(row, column);
    let on = |triangle: Triangle| {
        let [a, b, c] = [triangle.a, triangle.b, triangle.c];
        let (u, v, w) = (b - a, c - a, place - a);
        let area = u.x * v.z - u.z * v.x;
        let (s, t) = ((w.x * v.z - w.z * v.x) / area, (u.x * w.z - u.z * w.x) / area);
        // A place on an edge is in both; rounding leaves it in neither.
        let inside = s >= -1e-9 && t >= -1e-9 && s + t <= 1.0 + 1e-9;
        inside.then_some(a.y + s * u.y + t * v.y)
    };
    first.and_then(on).or_else(|| second.and_then(on))
}
