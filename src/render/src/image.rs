//! Images of a view: colour, depth and segmentation. Threads take rows of tiles; a pixel does not depend on any other
//! one.

use std::sync::Mutex;

use bevy_math::DVec3;

use crate::{
    beam::LeafList,
    lamp::Beam,
    light::{Light, mixed_color, srgb_byte},
    shape::Owner,
    solid::Ray,
    surface::Shading,
    tree::Stack,
    view::{MAX_LAYERS, SURFACE_LIFT, Sight, View},
};

/// Least part of the light of a pixel that is followed behind transparent surfaces: below half a byte of sRGB.
const LEAST_LIGHT: f32 = 1e-4;

/// Largest number of samples of a pixel along each side.
pub const MAX_SAMPLES_PER_SIDE: u32 = 8;

/// Shift of the samples in a row of a pixel from those in the next one, by the number of samples along a side; likewise
/// of columns. With these, the mean over a pixel is the most exact.
const SAMPLE_SHIFT: [u32; MAX_SAMPLES_PER_SIDE as usize + 1] = [0, 0, 1, 2, 3, 4, 5, 3, 5];

/// Pixels along the side of a tile.
const TILE_SIDE: usize = 8;

/// The tile of pixels that a thread is at.
#[derive(Debug, Default)]
struct Tile {
    /// The shapes that its rays can meet.
    leaves: LeafList,
    /// False where they are not known.
    is_listed: bool,
    stack: Stack,
}

/// Settings of colour images.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rendering {
    /// Light of sun and sky. [`Light::default`] stands for that of the world, as its file has it.
    pub light: Light,
    /// Samples of a pixel along each side, 1 to [`MAX_SAMPLES_PER_SIDE`]: 2 makes four, and smooth edges.
    pub samples_per_side: u32,
}

impl Default for Rendering {
    fn default() -> Self {
        Self { light: Light::default(), samples_per_side: 1 }
    }
}

/// Pixels from left to right and from the first row down.
#[derive(Debug, Clone, PartialEq)]
pub struct Image<P> {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Its pixels.
    pub pixels: Vec<P>,
}

/// Bytes red, green and blue of sRGB.
pub type ColorImage = Image<[u8; 3]>;

/// Distances along the optical axis, m: plus infinity for what is beyond `far`, minus infinity for what is nearer than
/// `near` (REP 118).
pub type DepthImage = Image<f32>;

/// Owners of what is seen; `None` is the sky.
pub type SegmentationImage = Image<Option<Owner>>;

impl<P> Image<P> {
    /// A pixel.
    pub fn pixel(&self, column: usize, row: usize) -> &P {
        &self.pixels[row * self.width + column]
    }
}

/// Place of a sample from the middle of its pixel. No two are in one row or column, so that an edge along a row is met
/// in steps of the whole number of samples: on a square grid it would be off by half of the distance of two rows.
fn sample_place(sample: u32, side: u32) -> [f64; 2] {
    let (across, down, shift) = (sample % side, sample / side, SAMPLE_SHIFT[side as usize]);
    let place = |cell: u32, other: u32| {
        let within = (f64::from(shift * other % side) + 0.5) / f64::from(side);
        (f64::from(cell) + within) / f64::from(side) - 0.5
    };
    [place(across, down), place(down, across)]
}

impl View<'_> {
    /// The colours that the camera sees, on so many threads. The number of threads changes no bit.
    pub fn color_image(&self, rendering: &Rendering, threads: usize) -> ColorImage {
        let side = rendering.samples_per_side.clamp(1, MAX_SAMPLES_PER_SIDE);
        let share = 1.0 / (side * side) as f32;
        let light = if rendering.light == Light::default() { &self.light } else { &rendering.light };
        self.fill_tiles(threads, |column, row, tile| {
            let mut sum = [0.0_f32; 3];
            for sample in 0..side * side {
                let [x, y] = sample_place(sample, side);
                let at = [column + x, row + y];
                let seen = self.color_at(at, light, tile);
                sum = [0, 1, 2].map(|channel| sum[channel] + share * seen[channel]);
            }
            sum.map(srgb_byte)
        })
    }

    /// The distances along the optical axis, on so many threads.
    pub fn depth_image(&self, threads: usize) -> DepthImage {
        let optics = self.camera.optics();
        let ahead = self.rotation.z_axis;
        self.fill_tiles(threads, |column, row, tile| {
            let ray = self.pixel_ray(column, row, [0.0, f64::INFINITY]);
            let met =
                ray.and_then(|ray| self.tile_sight(&ray, tile).map(|met| met.distance * ahead.dot(ray.direction)));
            match met {
                Some(depth) if depth < optics.near => f32::NEG_INFINITY,
                Some(depth) if depth <= optics.far => depth as f32,
                _ => f32::INFINITY,
            }
        })
    }

    /// The owners of what is seen, on so many threads.
    pub fn segmentation_image(&self, threads: usize) -> SegmentationImage {
        self.fill_tiles(threads, |column, row, tile| {
            let ray = self.pixel_ray(column, row, self.sight_range())?;
            self.tile_sight(&ray, tile).map(|met| met.owner)
        })
    }

    fn sight_range(&self) -> [f64; 2] {
        [self.camera.optics().near, self.camera.optics().far]
    }

    /// Linear colour at a place of the picture; black where the lens sees nothing.
    fn color_at(&self, [column, row]: [f64; 2], light: &Light, tile: &mut Tile) -> [f32; 3] {
        let Some(mut ray) = self.pixel_ray(column, row, self.sight_range()) else { return [0.0; 3] };
        let (mut sum, mut left) = ([0.0; 3], 1.0);
        for layer in 1..=MAX_LAYERS {
            let Some(met) = self.tile_sight(&ray, tile) else {
                let sky = light.sky_color(ray.direction);
                return [0, 1, 2].map(|channel| sum[channel] + left * sky[channel]);
            };
            let look = self.sight_shading(&ray, &met);
            let opacity = look.map_or(met.finish.opacity, |look| look.opacity);
            let part = if layer == MAX_LAYERS { left } else { left * opacity };
            if part > 0.0 {
                let seen = self.lit_color(&ray, &met, look.as_ref(), light, &mut tile.stack);
                sum = [0, 1, 2].map(|channel| sum[channel] + part * seen[channel]);
            }
            left -= part;
            if left < LEAST_LIGHT {
                break;
            }
            ray.range[0] = met.distance + SURFACE_LIFT.0 + SURFACE_LIFT.1 * met.distance;
        }
        sum
    }

    /// Linear colour of a surface in the light that falls on it.
    fn lit_color(&self, ray: &Ray, met: &Sight, look: Option<&Shading>, light: &Light, stack: &mut Stack) -> [f32; 3] {
        let at = met.distance * ray.direction;
        let origin = at + (SURFACE_LIFT.0 + SURFACE_LIFT.1 * met.distance) * met.normal;
        let to_sun = Ray { origin, direction: light.to_sun, range: [0.0, f64::INFINITY] };
        let is_lit = met.normal.dot(light.to_sun) > 0.0 && !self.is_blocked(&to_sun, stack);
        let (color, normal) = match look {
            Some(look) => (look.color, look.normal),
            None => (self.finish_color(ray, met, at), met.normal),
        };
        let emission = look.map_or([0.0; 3], |look| look.emission);
        let mut light = light.light_on(normal, is_lit);
        for lamp in &self.lamps {
            let Some(Beam { to_lamp, distance, color }) = lamp.beam_at(at) else { continue };
            let facing = normal.dot(to_lamp) as f32;
            let to_lamp = Ray { origin, direction: to_lamp, range: [0.0, distance] };
            let is_seen = facing > 0.0 && met.normal.dot(to_lamp.direction) > 0.0;
            if is_seen && !(lamp.has_shadow && self.is_blocked(&to_lamp, stack)) {
                light = [0, 1, 2].map(|channel| light[channel] + facing * color[channel]);
            }
        }
        [0, 1, 2].map(|channel| emission[channel] + color[channel] * light[channel])
    }

    /// Colour of a finish at a point: of squares of a metre where it has them, and their mean where a pixel is as
    /// large.
    fn finish_color(&self, ray: &Ray, met: &Sight, at: DVec3) -> [f32; 3] {
        let finish = &met.finish;
        if finish.color == finish.other {
            return finish.color;
        }
        let point = at + self.world_from_optical.translation;
        // The horizontal axes, or what is closest to them on a steep plane.
        let size = met.normal.abs();
        let [u, v] = match () {
            () if size.y >= size.x.max(size.z) => [point.x, point.z],
            () if size.x >= size.z => [point.y, point.z],
            () => [point.x, point.y],
        };
        let is_other = (u.floor() + v.floor()).rem_euclid(2.0) >= 1.0;
        let slant = met.normal.dot(ray.direction).abs().max(1e-6);
        let footprint = met.distance * self.camera.pixel_angle() / slant;
        let contrast = (1.0 - 2.0 * footprint).clamp(0.0, 1.0) as f32;
        let share = if is_other { 0.5 + 0.5 * contrast } else { 0.5 - 0.5 * contrast };
        mixed_color(finish.color, finish.other, share)
    }

    /// The first surface on a ray of a tile.
    #[inline]
    fn tile_sight(&self, ray: &Ray, tile: &mut Tile) -> Option<Sight> {
        let Tile { leaves, is_listed, stack } = tile;
        match *is_listed {
            true => self.nearest_listed(ray, leaves, stack),
            false => self.nearest_sight(ray, stack),
        }
    }

    /// Computes each pixel by its column and row. Rows of tiles go to whichever thread is free.
    fn fill_tiles<P: Send + Clone + Default>(
        &self,
        threads: usize,
        pixel: impl Fn(f64, f64, &mut Tile) -> P + Sync,
    ) -> Image<P> {
        let optics = self.camera.optics();
        let [width, height] = [optics.width, optics.height].map(|size| size as usize);
        let mut pixels = vec![P::default(); width * height];
        let bands = Mutex::new(pixels.chunks_mut(width * TILE_SIDE).enumerate());
        let work = || {
            let mut tile = Tile::default();
            loop {
                // A thread that panicked has ended the image anyway.
                let next = bands.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
                let Some((number, band)) = next else { break };
                let first_row = number * TILE_SIDE;
                let rows = band.len() / width;
                for first in (0..width).step_by(TILE_SIDE) {
                    let end = (first + TILE_SIDE).min(width);
                    tile.is_listed = self.list_shapes([first, first_row], [end, first_row + rows], &mut tile.leaves);
                    for (row, line) in band.chunks_mut(width).enumerate() {
                        for (column, place) in (first..end).zip(&mut line[first..end]) {
                            *place = pixel(column as f64, (first_row + row) as f64, &mut tile);
                        }
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.min(height.div_ceil(TILE_SIDE)) {
                // Where the system gives no more threads, those that there are do the work.
                if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                    break;
                }
            }
            work();
        });
        Image { width, height, pixels }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples have the pixel's middle as their mean, and one is in each of as many rows and columns.
    #[test]
    fn each_sample_of_a_pixel_has_a_row_and_a_column_of_its_own() {
        for side in 1..=MAX_SAMPLES_PER_SIDE {
            let count = f64::from(side * side);
            let places: Vec<[f64; 2]> = (0..side * side).map(|sample| sample_place(sample, side)).collect();
            for axis in 0..2 {
                let mut cells: Vec<f64> = places.iter().map(|place| (place[axis] + 0.5) * count - 0.5).collect();
                cells.sort_by(f64::total_cmp);
                let expected = (0..side * side).map(f64::from);
                assert!(cells.iter().zip(expected).all(|(cell, number)| (cell - number).abs() < 1e-9), "{side}");
            }
        }
    }
}
