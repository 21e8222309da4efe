//! What the world stands on: planes, terrain and triangles.

use std::sync::Arc;

use bevy_math::{DMat3, DVec3};
use simpartner_model::{self as model, Material, Norm, Plane, Pose};

use super::{
    Faces, Hit, Outline,
    geom::Bounds,
    narrow::{self, Memory, Placed},
};
use crate::{
    Ray,
    parry::shape::{HeightField, SharedShape, Triangle},
    rays::Surface,
    shape,
};

/// A ground that shapes may touch.
pub(crate) struct Ground {
    form: Form,
    pub(super) material: Material,
    /// Around all of it that shapes may be in; what is below terrain is in it.
    bounds: Bounds,
}

enum Form {
    Plane(Plane),
    /// Terrain or triangles, and where they are in the world; `surface_from_world` for directions.
    Surface {
        shape: SharedShape,
        outline: Outline,
        pose: Pose,
        turn: DMat3,
        rays: Arc<Surface>,
    },
}

impl Ground {
    /// The model's ground.
    ///
    /// # Errors
    /// A sentence that says why its triangles cannot be used.
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
            Some(mesh) => Outline::Mesh(Vec::new(), Faces::new(mesh)),
            None => Outline::Points(Vec::new()),
        };
        let turn = DMat3::from_quat(pose.rotation.inverse());
        let rays = Arc::new(Surface::new(&shape, &pose));
        Ok(Self { form: Form::Surface { shape, outline, pose, turn, rays }, material, bounds })
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
            Form::Surface { shape, outline, pose, .. } => {
                Some(Placed { outline, shape, centre: pose.translation, rotation: pose.rotation })
            }
        }
    }

    /// As a plane, if it is one.
    pub(super) fn plane(&self) -> Option<&Plane> {
        if let Form::Plane(plane) = &self.form { Some(plane) } else { None }
    }

    /// As a surface that rays meet, unless it is a plane.
    pub(super) fn surface(&self) -> Option<&Arc<Surface>> {
        if let Form::Surface { rays, .. } = &self.form { Some(rays) } else { None }
    }

    /// The plane that it is below a point, from the heights so far around; `None` where it has none.
    pub(super) fn plane_below(&self, point: DVec3, reach: f64) -> Option<(DVec3, f64)> {
        let (shape, pose, rays) = match &self.form {
            Form::Plane(plane) => return Some((plane.normal, plane.distance)),
            Form::Surface { shape, pose, rays, .. } => (shape, pose, rays),
        };
        let local = pose.rotation.inverse() * (point - pose.translation);
        let field = shape.as_heightfield();
        let at = |x: f64, z: f64| match field {
            Some(field) => height(field, local.x + x, local.z + z),
            // The first triangle below a height that a shape's middle does not sink to; they are where the world is.
            None => {
                let origin = DVec3::new(point.x + x, point.y + 2.0 * reach, point.z + z);
                let down = Ray { origin, direction: DVec3::NEG_Y, range: 8.0 * reach, ignore: None };
                rays.cast(&down, down.range).map(|distance| origin.y - distance)
            }
        };
        let middle = at(0.0, 0.0)?;
        // Where the terrain ends it goes on level.
        let slope = |ahead: Option<f64>, behind: Option<f64>| match (ahead, behind) {
            (Some(ahead), Some(behind)) => 0.5 * (ahead - behind) / reach,
            _ => 0.0,
        };
        let (along_x, along_z) = (slope(at(reach, 0.0), at(-reach, 0.0)), slope(at(0.0, reach), at(0.0, -reach)));
        let normal = pose.rotation * DVec3::new(-along_x, 1.0, -along_z).normalized();
        Some((normal, normal.dot(pose.point(DVec3::new(local.x, middle, local.z)))))
    }

    /// How far it is above a point that lies below it, if it is terrain.
    pub(super) fn above(&self, point: DVec3) -> Option<f64> {
        let Form::Surface { shape, rays, .. } = &self.form else { return None };
        shape.as_heightfield()?;
        let up = Ray { origin: point, direction: DVec3::Y, range: self.bounds.high.y - point.y, ignore: None };
        rays.cast(&up, up.range).filter(|distance| *distance > 0.0)
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

#[cfg(test)]
mod tests {
    use bevy_math::DQuat;
    use simpartner_model::{Heightfield, random::Stream};

    use super::*;

    /// Boxes at random about terrain that leans: every one that holds a point of the terrain is told to reach it, few
    /// of those that are above all of it are.
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
            let holds = corners.iter().any(|&corner| bounds.meets(&Bounds { low: corner, high: corner }));
            let reaches = ground.reaches(&bounds);
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
