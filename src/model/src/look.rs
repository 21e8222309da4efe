//! The look of a visual beside its shape and colour: emitted light, texture, normals.

use std::{fmt, sync::Arc};

use super::Color;

/// Index of a corner without a normal or a texture coordinate.
pub const NO_CORNER: u32 = u32::MAX;

/// Look of a visual.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Look {
    /// Light that the surface emits, sRGB; `None` for none.
    pub emission: Option<Color>,
    /// Image on its surface; `None` for a plain colour.
    pub paint: Option<Paint>,
    /// Normals and texture coordinates of a triangle mesh; `None` for flat triangles.
    pub corners: Option<Arc<Corners>>,
}

/// An image on a surface.
#[derive(Debug, Clone, PartialEq)]
pub struct Paint {
    /// The image. All surfaces with the same image share it.
    pub texture: Arc<Texture>,
    /// Colour by which the image is multiplied, in linear light; its opacity multiplies that of the image.
    pub tint: Color,
    /// Placement of the image on a shape without texture coordinates.
    pub tiling: Tiling,
}

/// Placement of an image on a shape without texture coordinates: on each of the six sides of the box around the shape,
/// seen from outside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tiling {
    /// Number of images across each side, above 0.
    Repeats([f64; 2]),
    /// Extent of one image, m, above 0. The corner of an image lies at the origin of the shape.
    Lengths([f64; 2]),
}

/// Normals and texture coordinates of the corners of triangles, in the shape's frame.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Corners {
    /// Unit normals.
    pub normals: Vec<[f32; 3]>,
    /// Indices of the normals of each triangle, [`NO_CORNER`] for none. A triangle beyond the end of the list has none.
    pub normals_of: Vec<[u32; 3]>,
    /// Texture coordinates: (0, 0) is the lower left corner of the image, (1, 1) its upper right one. The image repeats
    /// beyond.
    pub places: Vec<[f32; 2]>,
    /// Indices of the texture coordinates of each triangle, likewise.
    pub places_of: Vec<[u32; 3]>,
}

impl Corners {
    /// True without any normal and texture coordinate.
    pub fn is_empty(&self) -> bool {
        self.normals_of.is_empty() && self.places_of.is_empty()
    }
}

/// An image in memory: sRGB and opacity, rows from the top.
#[derive(Clone, PartialEq, Eq)]
pub struct Texture {
    width: usize,
    height: usize,
    pixels: Vec<[u8; 4]>,
    is_opaque: bool,
}

impl Texture {
    /// An image. `None` if it has no pixel, or another number of pixels than width times height.
    pub fn new(width: usize, height: usize, pixels: Vec<[u8; 4]>) -> Option<Self> {
        let is_image = !pixels.is_empty() && width.checked_mul(height) == Some(pixels.len());
        let is_opaque = pixels.iter().all(|pixel| pixel[3] == u8::MAX);
        is_image.then_some(Self { width, height, pixels, is_opaque })
    }

    /// Columns and rows.
    pub fn size(&self) -> [usize; 2] {
        [self.width, self.height]
    }

    /// The pixels, row by row from the top.
    pub fn pixels(&self) -> &[[u8; 4]] {
        &self.pixels
    }

    /// True if no pixel is transparent.
    pub fn is_opaque(&self) -> bool {
        self.is_opaque
    }

    /// Mean of its bytes, for viewers that show no textures.
    pub fn mean_color(&self) -> Color {
        let mut sums = [0_u64; 4];
        for pixel in &self.pixels {
            sums.iter_mut().zip(pixel).for_each(|(sum, byte)| *sum += u64::from(*byte));
        }
        let [red, green, blue, alpha] = sums.map(|sum| (sum / self.pixels.len() as u64) as u8);
        Color { red, green, blue, alpha }
    }
}

impl fmt::Debug for Texture {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Texture({} x {})", self.width, self.height)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_has_a_pixel_for_each_place() {
        assert_eq!(Texture::new(0, 0, Vec::new()), None);
        assert_eq!(Texture::new(2, 2, vec![[0; 4]; 3]), None);
        assert_eq!(Texture::new(usize::MAX, 2, vec![[0; 4]; 2]), None);
        let image = Texture::new(2, 1, vec![[10, 20, 30, 255], [20, 40, 60, 255]]).unwrap();
        assert!(image.is_opaque() && image.size() == [2, 1]);
        assert_eq!(image.mean_color().to_string(), "#0f1e2d");
        assert!(!Texture::new(1, 1, vec![[1, 2, 3, 4]]).unwrap().is_opaque());
    }
}
