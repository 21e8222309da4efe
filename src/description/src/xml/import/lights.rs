//! The light of a file of another format as elements of ours.

use bevy_math::DVec3;
use simpartner_model::{Color, Norm, Scenery};

use super::{
    super::node::Node,
    element::{digits, node},
    robot::y_up,
};

/// A light of a file, z up.
#[derive(Debug, Clone)]
pub(super) struct Light {
    pub(super) kind: LightKind,
    pub(super) position: DVec3,
    pub(super) direction: DVec3,
    /// Components in sRGB.
    pub(super) color: [f64; 3],
    pub(super) factor: f64,
    /// Constant, linear and quadratic attenuation.
    pub(super) attenuation: [f64; 3],
    pub(super) range: Option<f64>,
    /// Angles of a spot light from its axis, rad: full light within, none beyond.
    pub(super) angles: [f64; 2],
    pub(super) has_shadow: bool,
    pub(super) offset: usize,
}

/// Form of a light.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LightKind {
    Directional,
    Point,
    Spot,
}

/// All light of a file.
#[derive(Debug, Default)]
pub(super) struct Lights {
    pub(super) lights: Vec<Light>,
    /// Ambient light and background, components in sRGB.
    pub(super) ambient: Option<[f64; 3]>,
    pub(super) background: Option<[f64; 3]>,
}

impl Lights {
    /// The elements of a world: nothing if the file has no light. The first directional light is the sun.
    pub(super) fn light_elements(&self) -> Vec<Node> {
        let Self { lights, ambient, background } = self;
        let Some(offset) = lights.first().map(|light| light.offset) else {
            return match (ambient, background) {
                (None, None) => Vec::new(),
                _ => vec![node("illumination", 0, &self.surrounding_light())],
            };
        };
        let sun = lights.iter().position(|light| light.kind == LightKind::Directional && light.has_shadow);
        let mut given = Vec::new();
        match sun.map(|place| &lights[place]) {
            Some(sun) => {
                let to_sun = y_up(-sun.direction);
                let names = ["sunX", "sunY", "sunZ"];
                given.extend(names.into_iter().zip(to_sun.to_array()).map(|(name, part)| (name, digits(part))));
                given.extend([("sun", color_text(sun.color)), ("sunFactor", digits(sun.factor))]);
            }
            None => given.push(("sun", "#000000".into())),
        }
        given.extend(self.surrounding_light());
        let others = lights.iter().enumerate().filter(|(place, _)| Some(*place) != sun).map(|(_, light)| light);
        let others = others.take(Scenery::MAX_LAMPS).map(Light::light_element);
        [node("illumination", offset, &given)].into_iter().chain(others).collect()
    }

    fn surrounding_light(&self) -> Vec<(&'static str, String)> {
        let ambient = self.ambient.map(|color| ("ambient", color_text(color)));
        ambient.into_iter().chain(self.background.map(|color| ("zenith", color_text(color)))).collect()
    }
}

fn color_text([red, green, blue]: [f64; 3]) -> String {
    Color::from_fractions([red, green, blue, 1.0]).to_string()
}

impl Light {
    /// A light of a file whose numbers make sense; `None` for any other.
    pub(super) fn checked_light(self) -> Option<Self> {
        let Self { position, factor, attenuation, range, angles: [inner, outer], .. } = self;
        let direction = self.direction.try_normalized()?;
        let is_placed = position.is_finite() && position.abs().max_element() < 1e6 && factor >= 0.0;
        let is_law = attenuation.iter().all(|part| *part >= 0.0 && part.is_finite()) && attenuation != [0.0; 3];
        let is_cone = 0.0 <= inner && inner <= outer && outer <= std::f64::consts::PI;
        let is_light = is_placed && is_law && is_cone && factor.is_finite();
        let range = range.filter(|range| *range > 0.0 && range.is_finite());
        is_light.then_some(Self { direction, range, ..self })
    }

    fn light_element(&self) -> Node {
        let kind = match self.kind {
            LightKind::Directional => "directional",
            LightKind::Point => "point",
            LightKind::Spot => "spot",
        };
        let mut given = vec![("type", kind.to_owned())];
        let vector = |names: [&'static str; 3], vector: DVec3| {
            names.into_iter().zip(y_up(vector).to_array()).map(|(name, part)| (name, digits(part)))
        };
        if self.kind != LightKind::Directional {
            given.extend(vector(["x", "y", "z"], self.position));
            let names = ["constant", "linear", "quadratic"];
            given.extend(names.into_iter().zip(self.attenuation).map(|(name, part)| (name, digits(part))));
            given.extend(self.range.map(|range| ("range", digits(range))));
        }
        if self.kind != LightKind::Point {
            given.extend(vector(["directionX", "directionY", "directionZ"], self.direction));
        }
        if self.kind == LightKind::Spot {
            given.extend([("innerAngle", self.angles[0]), ("outerAngle", self.angles[1])].map(|(n, a)| (n, digits(a))));
        }
        given.extend([("color", color_text(self.color)), ("factor", digits(self.factor))]);
        given.extend((!self.has_shadow).then(|| ("shadow", "false".to_owned())));
        node("light", self.offset, &given)
    }
}
