//! The look of a surface at a point: colour, opacity, emitted light and shading normal.

use bevy_math::DVec3;
use simpartner_model::{NO_CORNER, Norm, Tiling};

use crate::{
    look::SceneLook,
    mesh::Mesh,
    shape::{Finish, Form, SceneShape},
    solid::Ray,
};

/// Least sine of the angle between ray and surface that counts for the size of a pixel there: textures on surfaces seen
/// at a grazing angle would be blurred along both axes beyond.
const LEAST_SLANT: f64 = 0.05;

/// Opacity from which a point of a texture throws a shadow.
const SHADOW_OPACITY: f32 = 0.5;

/// Look of a surface at a point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shading {
    pub(crate) color: [f32; 3],
    pub(crate) opacity: f32,
    pub(crate) emission: [f32; 3],
    /// Unit normal for the light that falls on it, own frame of the shape, on the side of the ray.
    pub(crate) normal: DVec3,
}

/// A point of a shape that a ray meets, in the shape's own frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShapePoint {
    pub(crate) point: DVec3,
    /// Unit normal on the side of the ray.
    pub(crate) normal: DVec3,
    /// Index of the triangle of a mesh.
    pub(crate) triangle: u32,
    /// Extent of a pixel there, m.
    pub(crate) footprint: f64,
}

impl SceneLook {
    /// True if a point throws a shadow.
    pub(crate) fn throws_shadow(&self, shape: &SceneShape, at: &ShapePoint) -> bool {
        self.image_color(shape, at).is_none_or(|(_, opacity)| opacity >= SHADOW_OPACITY)
    }

    pub(crate) fn shading_at(&self, shape: &SceneShape, at: &ShapePoint) -> Shading {
        let Finish { color, opacity, .. } = shape.finish;
        let (color, opacity) = match self.image_color(shape, at) {
            Some((image, share)) => (image, share * opacity),
            None => (color, opacity),
        };
        Shading { color, opacity, emission: self.emission, normal: self.normal_at(shape, at) }
    }

    /// Colour and opacity of the image; `None` without one.
    fn image_color(&self, shape: &SceneShape, at: &ShapePoint) -> Option<([f32; 3], f32)> {
        let image = self.image.as_ref()?;
        let (place, density) = self.mesh_place(shape, at).unwrap_or_else(|| box_place(shape, at, image.tiling));
        let [width, height] = image.pyramid.texture_size();
        let side = (width as f64 * height as f64).sqrt();
        let (color, opacity) = image.pyramid.color_at(place, at.footprint * density * side);
        Some(([0, 1, 2].map(|channel| image.tint[channel] * color[channel]), opacity))
    }

    /// Indices of one kind of the corners of a triangle; `None` if one is missing.
    fn index_row(list: &[[u32; 3]], triangle: u32) -> Option<[usize; 3]> {
        let row = list.get(triangle as usize).filter(|row| !row.contains(&NO_CORNER))?;
        Some(row.map(|corner| corner as usize))
    }

    /// Texture coordinates of a mesh, and how many of them are on a metre.
    fn mesh_place(&self, shape: &SceneShape, at: &ShapePoint) -> Option<([f64; 2], f64)> {
        let (corners, mesh) = (self.corners.as_ref()?, shape.own_mesh()?);
        let row = Self::index_row(&corners.places_of, at.triangle)?;
        let [a, b, c] = row.map(|corner| corners.places.get(corner).copied());
        let places = [a?, b?, c?].map(|place| place.map(f64::from));
        let weights = mesh.weights_at(at.triangle, at.point);
        let mixed = |axis: usize| (0..3).map(|corner| weights[corner] * places[corner][axis]).sum::<f64>();
        let along = |corner: usize, axis: usize| places[corner][axis] - places[0][axis];
        let area = (along(1, 0) * along(2, 1) - along(1, 1) * along(2, 0)).abs();
        let density = (area / mesh.double_area(at.triangle)).sqrt();
        Some(([mixed(0), mixed(1)], if density.is_finite() { density } else { 0.0 }))
    }

    /// The normal between those of the corners, or that of the surface itself.
    fn normal_at(&self, shape: &SceneShape, at: &ShapePoint) -> DVec3 {
        let mixed = || {
            let (corners, mesh) = (self.corners.as_ref()?, shape.own_mesh()?);
            let row = Self::index_row(&corners.normals_of, at.triangle)?;
            let [a, b, c] = row.map(|corner| corners.normals.get(corner).map(|normal| normal.map(f64::from)));
            let weights = mesh.weights_at(at.triangle, at.point);
            let sum = weights[0] * DVec3::from(a?) + weights[1] * DVec3::from(b?) + weights[2] * DVec3::from(c?);
            let unit = sum.try_normalized()?;
            // Of a surface seen from behind, it is that of the other side.
            Some(if unit.dot(at.normal) < 0.0 { -unit } else { unit })
        };
        mixed().unwrap_or(at.normal)
    }
}

impl SceneShape {
    fn own_mesh(&self) -> Option<&Mesh> {
        match &self.form {
            Form::Mesh(mesh) => Some(mesh),
            Form::Solid(_) | Form::Terrain(_) => None,
        }
    }
}

impl ShapePoint {
    /// The point of a ray in the shape's own frame.
    pub(crate) fn on_ray(ray: &Ray, distance: f64, normal: DVec3, triangle: u32, pixel_angle: f64) -> Self {
        let slant = normal.dot(ray.direction).abs().max(LEAST_SLANT);
        let footprint = distance * pixel_angle / slant.sqrt();
        Self { point: ray.origin + distance * ray.direction, normal, triangle, footprint }
    }
}

/// The place on the side of the box around a shape that a point of it faces, seen from outside with y up on the sides
/// and z down the picture on top; and how many images are on a metre.
fn box_place(shape: &SceneShape, at: &ShapePoint, tiling: Tiling) -> ([f64; 2], f64) {
    let size = at.normal.abs();
    let (right, up) = match () {
        () if size.z >= size.x && size.z >= size.y => (DVec3::X * at.normal.z.signum(), DVec3::Y),
        () if size.y >= size.x => (DVec3::X, DVec3::NEG_Z * at.normal.y.signum()),
        () => (DVec3::NEG_Z * at.normal.x.signum(), DVec3::Y),
    };
    let along = [right, up].map(|axis| at.point.dot(axis));
    let [low, high] = shape.bounds;
    let middle = 0.5 * (low + high);
    let (place, lengths) = match tiling {
        Tiling::Lengths(lengths) => ([0, 1].map(|axis| along[axis] / lengths[axis]), lengths),
        Tiling::Repeats(repeats) => {
            let extent = [right, up].map(|axis| (high - low).dot(axis.abs()));
            let from = [right, up].map(|axis| middle.dot(axis));
            let lengths = [0, 1].map(|axis| extent[axis] / repeats[axis]);
            // An image begins at the lower left corner.
            ([0, 1].map(|axis| (along[axis] - from[axis] + 0.5 * extent[axis]) / lengths[axis]), lengths)
        }
    };
    let density = (1.0 / (lengths[0] * lengths[1])).sqrt();
    (place, if density.is_finite() { density } else { 0.0 })
}
