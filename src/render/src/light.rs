//! Light: sun, ambient light and sky, in linear colours, and their conversion from and to sRGB.

use std::sync::LazyLock;

use bevy_math::DVec3;
use simpartner_model::{Brightness, Color, Norm, Scenery};

/// Light of a scene. Colours are linear red, green and blue; 1 is the white of a picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Light {
    /// Unit vector to the sun, world frame.
    pub to_sun: DVec3,
    /// Light of the sun on a surface that faces it.
    pub sun: [f32; 3],
    /// Ambient light on a surface that faces up.
    pub ambient_above: [f32; 3],
    /// Ambient light on a surface that faces down: what the ground returns.
    pub ambient_below: [f32; 3],
    /// Sky straight up.
    pub zenith: [f32; 3],
    /// Sky at the horizon, and all that is seen below it where there is no ground.
    pub horizon: [f32; 3],
}

/// Length of the direction to the sun of [`Light::default`].
const TO_SUN_LENGTH: f64 = 1.0000499987500626;

impl Default for Light {
    /// A clear day. The sun stands 53 degrees up, to the right of a camera of [`overview`](crate::overview).
    fn default() -> Self {
        Self {
            to_sun: DVec3::new(0.55, 0.8, -0.24) / TO_SUN_LENGTH,
            sun: [0.84, 0.80, 0.72],
            ambient_above: [0.34, 0.38, 0.44],
            ambient_below: [0.20, 0.19, 0.17],
            zenith: [0.18, 0.36, 0.68],
            horizon: [0.72, 0.80, 0.88],
        }
    }
}

impl Light {
    /// The light of a world; what that leaves open is as by default.
    pub fn of_scenery(scenery: &Scenery) -> Self {
        let default = Self::default();
        let given = |brightness: Option<Brightness>, default| brightness.map_or(default, linear_brightness);
        Self {
            to_sun: scenery.to_sun.and_then(Norm::try_normalized).unwrap_or(default.to_sun),
            sun: given(scenery.sun, default.sun),
            ambient_above: given(scenery.ambient_above, default.ambient_above),
            ambient_below: given(scenery.ambient_below, default.ambient_below),
            zenith: given(scenery.zenith, default.zenith),
            horizon: given(scenery.horizon, default.horizon),
        }
    }

    /// The sky in a direction.
    pub(crate) fn sky_color(&self, direction: DVec3) -> [f32; 3] {
        // Half of the haze of the horizon is gone at a sine of 0.29, 17 degrees up.
        let rise = direction.y.max(0.0) as f32;
        let share = rise * (2.0 - rise);
        mixed_color(self.horizon, self.zenith, share)
    }

    /// Light on a surface with this normal. `is_lit` is true where the sun reaches it.
    pub(crate) fn light_on(&self, normal: DVec3, is_lit: bool) -> [f32; 3] {
        let ambient = mixed_color(self.ambient_below, self.ambient_above, 0.5 + 0.5 * normal.y as f32);
        let facing = if is_lit { normal.dot(self.to_sun).max(0.0) as f32 } else { 0.0 };
        [0, 1, 2].map(|channel| ambient[channel] + facing * self.sun[channel])
    }
}

/// Linear components of a brightness.
pub(crate) fn linear_brightness(brightness: Brightness) -> [f32; 3] {
    let factor = if brightness.factor.is_finite() { brightness.factor.max(0.0) as f32 } else { 0.0 };
    linear_of(brightness.color).map(|component| factor * component)
}

/// So far on the way from one colour to another.
pub(crate) fn mixed_color(first: [f32; 3], second: [f32; 3], share: f32) -> [f32; 3] {
    [0, 1, 2].map(|channel| first[channel] + share * (second[channel] - first[channel]))
}

/// Linear component of an sRGB component of 0 to 1 (IEC 61966-2-1).
fn linear_component(component: f64) -> f64 {
    if component <= 0.040_45 { component / 12.92 } else { libm::pow((component + 0.055) / 1.055, 2.4) }
}

/// Linear components of a colour.
pub(crate) fn linear_of(color: Color) -> [f32; 3] {
    let [red, green, blue, _] = color.fractions();
    [red, green, blue].map(|component| linear_component(component) as f32)
}

/// The linear components at which the nearest byte of sRGB changes.
static BYTE_STEPS: LazyLock<[f32; 255]> =
    LazyLock::new(|| std::array::from_fn(|byte| linear_component((byte as f64 + 0.5) / 255.0) as f32));

/// The nearest byte of sRGB to a linear component; one outside of 0 to 1 counts as the nearest end.
pub(crate) fn srgb_byte(component: f32) -> u8 {
    BYTE_STEPS.partition_point(|step| *step <= component) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_srgb_is_its_own() {
        for byte in 0..=u8::MAX {
            let color = Color { red: byte, green: byte, blue: byte, alpha: 255 };
            assert_eq!(linear_of(color).map(srgb_byte), [byte; 3]);
        }
        assert_eq!([-1.0, 2.0, f32::INFINITY, f32::NAN].map(srgb_byte), [0, 255, 255, 0]);
    }

    #[test]
    fn the_sun_is_a_direction() {
        assert!((Light::default().to_sun.length() - 1.0).abs() < 1e-12);
    }
}
