//! Light of a world, for pictures of it.

use bevy_math::DVec3;

use super::Color;

/// Light of a world. What is `None` is left to the renderer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scenery {
    /// Unit vector to the sun, world frame.
    pub to_sun: Option<DVec3>,
    /// Light of the sun on a surface that faces it.
    pub sun: Option<Brightness>,
    /// Ambient light on a surface that faces up.
    pub ambient_above: Option<Brightness>,
    /// Ambient light on a surface that faces down.
    pub ambient_below: Option<Brightness>,
    /// Sky straight up.
    pub zenith: Option<Brightness>,
    /// Sky at the horizon.
    pub horizon: Option<Brightness>,
    /// Lights beside the sun.
    pub lamps: Vec<Lamp>,
}

/// Colour of light and a factor in linear light: white light of the factor 1 on a white surface that faces it is the
/// white of a picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Brightness {
    /// Colour.
    pub color: Color,
    /// Factor, at least 0.
    pub factor: f64,
}

/// A light at a place of the world.
#[derive(Debug, Clone, PartialEq)]
pub struct Lamp {
    /// Form of its light.
    pub kind: LampKind,
    /// Its light at a distance at which the attenuation is 1.
    pub brightness: Brightness,
    /// Constant, linear (1/m) and quadratic (1/m²) attenuation c, l and q, none below 0 and one above 0: the light at
    /// the distance d is divided by c + l d + q d². A directional light has none.
    pub attenuation: [f64; 3],
    /// Distance beyond which it does not reach, m, above 0; infinite for none.
    pub range: f64,
    /// True if bodies throw shadows in its light.
    pub has_shadow: bool,
}

/// Form of the light of a lamp, world frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LampKind {
    /// Parallel light, as of a second sun.
    Directional {
        /// Unit vector along the light.
        direction: DVec3,
    },
    /// Light from a point in all directions.
    Point {
        /// The point, m.
        position: DVec3,
    },
    /// Light from a point in a cone.
    Spot {
        /// The point, m.
        position: DVec3,
        /// Unit vector along the axis of the cone.
        direction: DVec3,
        /// Angle from the axis within which the light is full, rad.
        inner_angle: f64,
        /// Angle beyond which there is none, rad: at least the inner one, at most pi.
        outer_angle: f64,
    },
}

impl Scenery {
    /// Largest number of lamps: a picture has a ray to each of them for each sample.
    pub const MAX_LAMPS: usize = 64;
}
