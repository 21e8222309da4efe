//! The projection of a world onto a picture: camera, frame, colours and outlines.

use std::fmt::Write;

use bevy_math::{DVec2, DVec3};

/// Direction from which a world is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// From ahead, from the right and from above.
    Isometric,
    /// Straight down, with x to the right and z towards the reader.
    Top,
}

/// Width of every picture, in the SVG's units.
pub(super) const WIDTH: f64 = 640.0;

/// Smallest and largest height of a picture, in the SVG's units. Within them it depends on the world.
const HEIGHT_RANGE: (f64, f64) = (240.0, 480.0);

/// Free margin on each side, as a fraction of the size of the world in the picture.
const RELATIVE_MARGIN: f64 = 0.06;

/// Smallest width that a picture shows, m, so that a single small body does not fill it.
const MIN_SHOWN_WIDTH: f64 = 2.0;

/// Number of brightness levels of a face. There are so few that neighbouring faces share a level, and so one path of
/// the file.
const SHADE_COUNT: f64 = 24.0;

/// Direction to the light: above, ahead and to the right. Its length is 1 to half a percent, which no shade shows.
pub(super) const TO_LIGHT: DVec3 = DVec3::new(0.36, 0.82, 0.44);

/// Exaggeration of differences in brightness on terrain, so that slopes of a few degrees are visible.
const RELIEF_EXAGGERATION: f64 = 3.0;

/// Kind of thing that a face belongs to, which determines its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Ground,
    Fixed,
    Object,
    Robot,
    Wheel,
}

impl Part {
    /// Red, green and blue in full light, 0 to 255.
    fn colour(self) -> [f64; 3] {
        match self {
            Self::Ground => [206.0, 200.0, 178.0],
            Self::Fixed => [186.0, 190.0, 198.0],
            Self::Object => [232.0, 164.0, 84.0],
            Self::Robot => [92.0, 146.0, 206.0],
            Self::Wheel => [92.0, 96.0, 106.0],
        }
    }

    /// Colour in SVG's notation, on a surface with this unit normal.
    pub(super) fn lit(self, normal: DVec3) -> String {
        let brightness = normal.dot(TO_LIGHT);
        match self {
            Self::Ground => self.shade(TO_LIGHT.y + RELIEF_EXAGGERATION * (brightness - TO_LIGHT.y)),
            _ => self.shade(brightness),
        }
    }

    /// Colour in SVG's notation, at a brightness from 0 to 1.
    pub(super) fn shade(self, brightness: f64) -> String {
        let level = (brightness.clamp(0.0, 1.0) * SHADE_COUNT).round() / SHADE_COUNT;
        let [red, green, blue] = self.colour().map(|channel| (channel * (0.45 + 0.55 * level)).round() as u8);
        format!("#{red:02x}{green:02x}{blue:02x}")
    }
}

/// An orthographic camera, given by the unit vectors of the picture in the world frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Camera {
    pub(super) right: DVec3,
    pub(super) up: DVec3,
    /// From the world to the camera.
    pub(super) back: DVec3,
}

impl Camera {
    pub(super) fn new(view: View) -> Self {
        let back = match view {
            // 28 degrees up, 52 degrees from x towards z.
            View::Isometric => {
                let ((rise, level), (side, ahead)) =
                    (libm::sincos(28f64.to_radians()), libm::sincos(52f64.to_radians()));
                DVec3::new(level * ahead, rise, level * side)
            }
            View::Top => return Self { right: DVec3::X, up: DVec3::NEG_Z, back: DVec3::Y },
        };
        let right = DVec3::Y.cross(back).normalize();
        Self { right, up: back.cross(right), back }
    }

    /// Projection of a point onto the camera's plane, m; y points up.
    pub(super) fn project(&self, point: DVec3) -> DVec2 {
        DVec2::new(point.dot(self.right), point.dot(self.up))
    }

    /// Coordinate of a point towards the camera, m; nearer points have larger ones.
    pub(super) fn depth(&self, point: DVec3) -> f64 {
        point.dot(self.back)
    }
}

/// The rectangle of the camera's plane that the picture shows, m, and the scale.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) low: DVec2,
    pub(super) high: DVec2,
    /// Units of the picture per metre.
    pub(super) scale: f64,
}

impl Frame {
    /// A frame around all points, with a margin.
    pub(super) fn around(points: impl Iterator<Item = DVec2>) -> Self {
        let far = DVec2::splat(f64::INFINITY);
        let (low, high) = points.fold((far, -far), |(low, high), point| (low.min(point), high.max(point)));
        let (low, high) = if low.is_finite() { (low, high) } else { (DVec2::ZERO, DVec2::ZERO) };
        let middle = (low + high) / 2.0;
        let size = (high - low).max(DVec2::new(MIN_SHOWN_WIDTH, 0.0)) * (1.0 + 2.0 * RELATIVE_MARGIN);
        let height = (size.y * WIDTH / size.x).clamp(HEIGHT_RANGE.0, HEIGHT_RANGE.1);
        let scale = (WIDTH / size.x).min(height / size.y.max(1e-9));
        let half = DVec2::new(WIDTH, height) / (2.0 * scale);
        Self { low: middle - half, high: middle + half, scale }
    }

    /// Converts a point of the camera's plane, m, to the picture's units; there y points down.
    pub(super) fn to_picture(self, point: DVec2) -> DVec2 {
        DVec2::new(point.x - self.low.x, self.high.y - point.y) * self.scale
    }

    /// Height of the picture, in its units.
    pub(super) fn height(&self) -> f64 {
        (self.high.y - self.low.y) * self.scale
    }
}

/// Writes a closed outline for the `d` of a path, to a tenth of a unit.
pub(super) fn write_outline(points: impl Iterator<Item = DVec2>, out: &mut String) -> std::fmt::Result {
    let mut mark = 'M';
    for point in points {
        write!(out, "{mark}{} {}", one_decimal(point.x), one_decimal(point.y))?;
        mark = 'L';
    }
    out.push('Z');
    Ok(())
}

/// Text of a number with at most one decimal digit.
fn one_decimal(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".into() } else { text.into() }
}
