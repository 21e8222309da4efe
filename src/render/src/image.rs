//! Images of a view: colour, depth and segmentation. Threads take rows; a pixel does not depend on any other one.

use std::sync::Mutex;

use bevy_math::DVec3;

use crate::{
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

impl View<'_> {
    /// The colours that the camera sees, on so many threads. The number of threads changes no bit.
    pub fn color_image(&self, rendering: &Rendering, threads: usize) -> ColorImage {
        let side = rendering.samples_per_side.clamp(1, MAX_SAMPLES_PER_SIDE);
        let share = 1.0 / (side * side) as f32;
        let light = if rendering.light == Light::default() { &self.light } else { &rendering.light };
        self.fill_rows(threads, |column, row, stack| {
            let mut sum = [0.0_f32; 3];
            for sample in 0..side * side {
                let place = |sample: u32| (f64::from(sample) + 0.5) / f64::from(side) - 0.5;
                let at = [column + place(sample % side), row + place(sample / side)];
                let seen = self.color_at(at, light, stack);
                sum = [0, 1, 2].map(|channel| sum[channel] + share * seen[channel]);
            }
            sum.map(srgb_byte)
        })
    }

    /// The distances along the optical axis, on so many threads.
    pub fn depth_image(&self, threads: usize) -> DepthImage {
        let optics = self.camera.optics();
        let ahead = self.rotation.z_axis;
        self.fill_rows(threads, |column, row, stack| {
            let ray = self.pixel_ray(column, row, [0.0, f64::INFINITY]);
            let met =
                ray.and_then(|ray| self.nearest_sight(&ray, stack).map(|met| met.distance * ahead.dot(ray.direction)));
            match met {
                Some(depth) if depth < optics.near => f32::NEG_INFINITY,
                Some(depth) if depth <= optics.far => depth as f32,
                _ => f32::INFINITY,
            }
        })
    }

    /// The owners of what is seen, on so many threads.
    pub fn segmentation_image(&self, threads: usize) -> SegmentationImage {
        self.fill_rows(threads, |column, row, stack| {
            let ray = self.pixel_ray(column, row, self.sight_range())?;
            self.nearest_sight(&ray, stack).map(|met| met.owner)
        })
    }

    fn sight_range(&self) -> [f64; 2] {
        [self.camera.optics().near, self.camera.optics().far]
    }

    /// Linear colour at a place of the picture; black where the lens sees nothing.
    fn color_at(&self, [column, row]: [f64; 2], light: &Light, stack: &mut Stack) -> [f32; 3] {
        let Some(mut ray) = self.pixel_ray(column, row, self.sight_range()) else { return [0.0; 3] };
        let (mut sum, mut left) = ([0.0; 3], 1.0);
        for layer in 1..=MAX_LAYERS {
            let Some(met) = self.nearest_sight(&ray, stack) else {
                let sky = light.sky_color(ray.direction);
                return [0, 1, 2].map(|channel| sum[channel] + left * sky[channel]);
            };
            let look = self.sight_shading(&ray, &met);
            let opacity = look.map_or(met.finish.opacity, |look| look.opacity);
            let part = if layer == MAX_LAYERS { left } else { left * opacity };
            if part > 0.0 {
                let seen = self.lit_color(&ray, &met, look.as_ref(), light, stack);
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

    /// Computes each pixel by its column and row. Rows go to whichever thread is free.
    fn fill_rows<P: Send + Clone + Default>(
        &self,
        threads: usize,
        pixel: impl Fn(f64, f64, &mut Stack) -> P + Sync,
    ) -> Image<P> {
        let optics = self.camera.optics();
        let [width, height] = [optics.width, optics.height].map(|size| size as usize);
        let mut pixels = vec![P::default(); width * height];
        let rows = Mutex::new(pixels.chunks_mut(width).enumerate());
        let work = || {
            let mut stack = Stack::new();
            loop {
                // A thread that panicked has ended the image anyway.
                let next = rows.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
                let Some((row, line)) = next else { break };
                for (column, place) in line.iter_mut().enumerate() {
                    *place = pixel(column as f64, row as f64, &mut stack);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.min(height) {
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
