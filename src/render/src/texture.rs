//! Images on surfaces: an image in ever halved sizes, read between its pixels.

use std::sync::{Arc, LazyLock};

use simpartner_model::{Color, Texture};

use crate::light::{linear_of, mixed_color, srgb_byte};

/// Linear component of each byte of sRGB.
static LINEAR_LEVELS: LazyLock<[f32; 256]> = LazyLock::new(|| {
    std::array::from_fn(|byte| {
        let level = byte as u8;
        linear_of(Color { red: level, green: level, blue: level, alpha: u8::MAX })[0]
    })
});

/// A texture and its smaller versions, each half as wide and high as the one before.
#[derive(Debug)]
pub(crate) struct Pyramid {
    texture: Arc<Texture>,
    /// Without the texture itself.
    levels: Vec<Level>,
}

#[derive(Debug)]
struct Level {
    size: [usize; 2],
    pixels: Vec<[u8; 4]>,
}

/// Linear colour and opacity.
pub(crate) type Sample = ([f32; 3], f32);

impl Pyramid {
    pub(crate) fn of_texture(texture: &Arc<Texture>) -> Self {
        let mut levels: Vec<Level> = Vec::new();
        loop {
            let (size, pixels) = match levels.last() {
                Some(level) => (level.size, &level.pixels[..]),
                None => (texture.size(), texture.pixels()),
            };
            if size == [1, 1] {
                break;
            }
            levels.push(halved_level(size, pixels));
        }
        Self { texture: Arc::clone(texture), levels }
    }

    pub(crate) fn is_of(&self, texture: &Arc<Texture>) -> bool {
        Arc::ptr_eq(&self.texture, texture)
    }

    /// True if no pixel is transparent.
    pub(crate) fn is_opaque(&self) -> bool {
        self.texture.is_opaque()
    }

    /// Columns and rows of the texture.
    pub(crate) fn texture_size(&self) -> [usize; 2] {
        self.texture.size()
    }

    /// Colour and opacity at texture coordinates from the lower left corner, averaged over so many pixels of the
    /// texture along each side.
    pub(crate) fn color_at(&self, place: [f64; 2], pixels: f64) -> Sample {
        // NaN counts as one pixel.
        let halvings = if pixels > 1.0 { libm::log2(pixels) } else { 0.0 };
        let level = (halvings as usize).min(self.levels.len());
        let fine = self.sample_level(level, place);
        let share = (halvings - level as f64).clamp(0.0, 1.0) as f32;
        if share == 0.0 || level == self.levels.len() {
            return fine;
        }
        let coarse = self.sample_level(level + 1, place);
        (mixed_color(fine.0, coarse.0, share), fine.1 + share * (coarse.1 - fine.1))
    }

    /// The mean of the four nearest pixels by their distance.
    fn sample_level(&self, level: usize, [u, v]: [f64; 2]) -> Sample {
        let (size, pixels) = match level.checked_sub(1).map(|level| &self.levels[level]) {
            Some(level) => (level.size, &level.pixels[..]),
            None => (self.texture.size(), self.texture.pixels()),
        };
        // Of a place, only its fraction counts, so that far repetitions are as exact as near ones.
        let within = |place: f64| if place.is_finite() { place - place.floor() } else { 0.0 };
        let at = [within(u) * size[0] as f64 - 0.5, (1.0 - within(v)) * size[1] as f64 - 0.5];
        let first = at.map(f64::floor);
        let share = [0, 1].map(|axis| (at[axis] - first[axis]) as f32);
        let wrapped = |axis: usize, step: i64| (first[axis] as i64 + step).rem_euclid(size[axis] as i64) as usize;
        let pixel = |x: i64, y: i64| {
            let [red, green, blue, alpha] = pixels[wrapped(1, y) * size[0] + wrapped(0, x)];
            let alpha = f32::from(alpha) / 255.0;
            ([red, green, blue].map(|byte| LINEAR_LEVELS[usize::from(byte)]), alpha)
        };
        let mixed = |one: Sample, other: Sample, share: f32| {
            (mixed_color(one.0, other.0, share), one.1 + share * (other.1 - one.1))
        };
        let rows = [0, 1].map(|y| mixed(pixel(0, y), pixel(1, y), share[0]));
        mixed(rows[0], rows[1], share[1])
    }
}

/// The image of half the size, in linear light; of an odd size the last line counts in none.
fn halved_level([width, height]: [usize; 2], pixels: &[[u8; 4]]) -> Level {
    let size = [width, height].map(|side| (side / 2).max(1));
    let mean = |x: usize, y: usize| {
        let columns = [2 * x, (2 * x + 1).min(width - 1)];
        let rows = [2 * y, (2 * y + 1).min(height - 1)];
        let four = [0, 1, 2, 3].map(|part| pixels[rows[part / 2] * width + columns[part % 2]]);
        let color = [0, 1, 2].map(|channel| {
            let sum: f32 = four.iter().map(|pixel| LINEAR_LEVELS[usize::from(pixel[channel])]).sum();
            srgb_byte(0.25 * sum)
        });
        let alpha: u16 = four.iter().map(|pixel| u16::from(pixel[3])).sum();
        [color[0], color[1], color[2], ((alpha + 2) / 4) as u8]
    };
    let places = (0..size[1]).flat_map(|y| (0..size[0]).map(move |x| (x, y)));
    Level { size, pixels: places.map(|(x, y)| mean(x, y)).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pyramid(width: usize, height: usize, pixel: impl Fn(usize, usize) -> [u8; 4]) -> Pyramid {
        let pixels = (0..width * height).map(|place| pixel(place % width, place / width)).collect();
        Pyramid::of_texture(&Arc::new(Texture::new(width, height, pixels).unwrap()))
    }

    #[test]
    fn the_middle_of_a_pixel_has_its_colour() {
        let image = pyramid(5, 3, |x, y| [x as u8 * 40, y as u8 * 90, 7, 255 - x as u8]);
        for (x, y) in (0..5).flat_map(|x| (0..3).map(move |y| (x, y))) {
            for turns in [0.0, 3.0, -2.0] {
                let place = [(x as f64 + 0.5) / 5.0 + turns, 1.0 - (y as f64 + 0.5) / 3.0 - turns];
                let (color, alpha) = image.color_at(place, 0.5);
                assert_eq!(color.map(srgb_byte), [x as u8 * 40, y as u8 * 90, 7]);
                assert!((alpha - (255.0 - x as f32) / 255.0).abs() < 1e-6);
            }
        }
    }

    /// The mean of black and white squares is half of the light, which is the byte 188 in sRGB.
    #[test]
    fn a_distant_pattern_has_its_mean() {
        let image = pyramid(64, 64, |x, y| if (x + y) % 2 == 0 { [255; 4] } else { [0, 0, 0, 255] });
        for pixels in [2.0, 9.0, 64.0, 1e9, f64::INFINITY] {
            assert_eq!(image.color_at([0.3, 0.8], pixels).0.map(srgb_byte), [188; 3], "{pixels}");
        }
        let odd = pyramid(1, 7, |_, _| [100, 100, 100, 255]);
        assert_eq!(odd.color_at([f64::NAN, f64::INFINITY], f64::NAN).0.map(srgb_byte), [100; 3]);
    }
}
