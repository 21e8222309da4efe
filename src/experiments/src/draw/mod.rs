//! Pictures of a mechanism as SVG: ground and bodies at step 0, without a browser and without running anything.
//!
//! The projection is orthographic. Faces are drawn from the farthest to the nearest (painter's algorithm, ordered by their
//! centres); large faces are cut into tiles first, so that centres order them rightly. The module knows the model and nothing of
//! files or physics. Start at [`svg`].

mod faces;
mod ground;
pub mod relief;

use std::fmt::Write;

use bevy_math::{DVec2, DVec3};
use simpartner_model::Mechanism;

use self::faces::{Face, Form};
use simpartner_plot::escape;

/// Where a world is seen from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// From ahead, from the right and from above.
    Isometric,
    /// Straight down, with x to the right and z towards the reader.
    Top,
}

/// Width of every picture, in the SVG's units.
const WIDTH: f64 = 640.0;

/// Heights that a picture may have; it takes what its world needs.
const HEIGHTS: (f64, f64) = (240.0, 480.0);

/// Share of the picture that stays free on each side.
const MARGIN: f64 = 0.06;

/// The least that a picture shows, metres: so a single small body does not fill it.
const LEAST: f64 = 2.0;

/// Brightness of a face in this many shades: few enough that neighbours share one, and the file one path.
const SHADES: f64 = 24.0;

/// Where the light comes from: above, ahead and the right. Of length 1 to half a percent, which no shade shows.
const TO_LIGHT: DVec3 = DVec3::new(0.36, 0.82, 0.44);

/// How much larger differences of brightness are on terrain than light would make them.
const RELIEF: f64 = 3.0;

/// What a face is part of; it has the colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
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

    /// As SVG writes it, on a surface of this unit normal.
    fn lit(self, normal: DVec3) -> String {
        let brightness = normal.dot(TO_LIGHT);
        match self {
            // Slopes of a few degrees are to be seen.
            Self::Ground => self.shade(TO_LIGHT.y + RELIEF * (brightness - TO_LIGHT.y)),
            _ => self.shade(brightness),
        }
    }

    /// As SVG writes it, at a brightness from 0 to 1.
    fn shade(self, brightness: f64) -> String {
        let level = (brightness.clamp(0.0, 1.0) * SHADES).round() / SHADES;
        let [red, green, blue] = self.colour().map(|channel| (channel * (0.45 + 0.55 * level)).round() as u8);
        format!("#{red:02x}{green:02x}{blue:02x}")
    }
}

/// An orthographic camera: unit vectors of the picture in the world.
#[derive(Debug, Clone, Copy)]
struct Camera {
    right: DVec3,
    up: DVec3,
    /// From the world to the camera.
    back: DVec3,
}

impl Camera {
    fn new(view: View) -> Self {
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

    /// Where a point is seen, metres; y points up.
    fn sees(&self, point: DVec3) -> DVec2 {
        DVec2::new(point.dot(self.right), point.dot(self.up))
    }

    /// How near a point is, metres.
    fn depth(&self, point: DVec3) -> f64 {
        point.dot(self.back)
    }
}

/// The part of the camera's plane that is shown, and its scale.
#[derive(Debug, Clone, Copy)]
struct Frame {
    low: DVec2,
    high: DVec2,
    /// Units of the picture for a metre.
    scale: f64,
}

impl Frame {
    /// Around all points.
    fn around(points: impl Iterator<Item = DVec2>) -> Self {
        let far = DVec2::splat(f64::INFINITY);
        let (low, high) = points.fold((far, -far), |(low, high), point| (low.min(point), high.max(point)));
        let (low, high) = if low.is_finite() { (low, high) } else { (DVec2::ZERO, DVec2::ZERO) };
        let middle = (low + high) / 2.0;
        let size = (high - low).max(DVec2::new(LEAST, 0.0)) * (1.0 + 2.0 * MARGIN);
        let height = (size.y * WIDTH / size.x).clamp(HEIGHTS.0, HEIGHTS.1);
        let scale = (WIDTH / size.x).min(height / size.y.max(1e-9));
        let half = DVec2::new(WIDTH, height) / (2.0 * scale);
        Self { low: middle - half, high: middle + half, scale }
    }

    /// A point of the camera's plane in the picture.
    fn place(&self, point: DVec2) -> DVec2 {
        DVec2::new(point.x - self.low.x, self.high.y - point.y) * self.scale
    }

    fn height(&self) -> f64 {
        (self.high.y - self.low.y) * self.scale
    }
}

/// A mechanism at step 0 as an SVG document.
pub fn svg(title: &str, mechanism: &Mechanism, view: View) -> String {
    let camera = Camera::new(view);
    let mut faces: Vec<Face> = ground::surfaces(mechanism);
    faces.extend(mechanism.bodies.iter().flat_map(faces::of_body));
    let frame = Frame::around(faces.iter().flat_map(|face| face.seen(&camera)));
    let tile = 0.05 * (frame.high - frame.low).max_element();
    let mut faces: Vec<Face> = faces.into_iter().flat_map(|face| face.tiles(tile)).collect();
    faces.retain(|face| face.faces(&camera));
    faces.sort_by(|a, b| camera.depth(a.centre()).total_cmp(&camera.depth(b.centre())));
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(title, mechanism, &camera, &frame, &faces, &mut out);
    out
}

fn write(
    title: &str,
    mechanism: &Mechanism,
    camera: &Camera,
    frame: &Frame,
    faces: &[Face],
    out: &mut String,
) -> std::fmt::Result {
    let (height, title) = (frame.height(), escape(title));
    writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0}" role="img" aria-label="{title}">"#
    )?;
    writeln!(out, "<title>{title}</title>")?;
    out.push_str("<defs>");
    for part in [Part::Fixed, Part::Object, Part::Robot, Part::Wheel] {
        let (light, dark) = (part.shade(1.0), part.shade(0.1));
        write!(out, r#"<radialGradient id="{part:?}" cx=".38" cy=".3" r=".75">"#)?;
        write!(out, r#"<stop stop-color="{light}"/><stop offset="1" stop-color="{dark}"/></radialGradient>"#)?;
    }
    write!(out, r#"<clipPath id="picture"><rect width="{WIDTH}" height="{height:.0}"/></clipPath>"#)?;
    writeln!(out, "</defs>\n<rect width=\"{WIDTH}\" height=\"{height:.0}\" fill=\"#eef2f6\"/>")?;
    ground::write_plane(mechanism, camera, frame, out)?;
    // Each path is stroked in its own colour, which closes the seams between faces.
    writeln!(out, r#"<g fill="currentColor" stroke="currentColor" stroke-width=".6" stroke-linejoin="round">"#)?;
    let mut colour = String::new();
    for face in faces {
        let next = match face.form {
            Form::Ball(_) => String::new(),
            Form::Flat(normal) => face.part.lit(normal),
        };
        if next != colour || next.is_empty() {
            out.push_str(if colour.is_empty() { "" } else { "\"/>\n" });
            if !next.is_empty() {
                write!(out, r#"<path color="{next}" d=""#)?;
            }
        }
        face.write(camera, frame, out)?;
        colour = next;
    }
    out.push_str(if colour.is_empty() { "" } else { "\"/>\n" });
    out.push_str("</g>\n</svg>\n");
    Ok(())
}

/// A closed outline for the `d` of a path, to a tenth of a unit.
fn write_outline(points: impl Iterator<Item = DVec2>, out: &mut String) -> std::fmt::Result {
    let mut mark = 'M';
    for point in points {
        write!(out, "{mark}{} {}", tenth(point.x), tenth(point.y))?;
        mark = 'L';
    }
    out.push('Z');
    Ok(())
}

fn tenth(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use simpartner_model::{Body, Material, Placed, Plane, Pose, Shape};

    use super::*;

    fn cube() -> Mechanism {
        let shape = Placed { pose: Pose::IDENTITY, shape: Shape::Box { size: DVec3::ONE } };
        let body = Body {
            name: "cube".into(),
            pose: Pose { translation: DVec3::Y / 2.0, ..Pose::IDENTITY },
            shape: Some(shape),
            ..Body::default()
        };
        let plane = Plane { normal: DVec3::Y, distance: 0.0, material: Material::default() };
        Mechanism { grounds: vec![plane.into()], bodies: vec![body], ..Mechanism::default() }
    }

    /// The area of all outlines of the bodies, in the picture's units.
    fn area(svg: &str) -> f64 {
        let paths = svg.lines().filter_map(|line| line.strip_prefix("<path color")?.split('"').nth(3));
        let outlines = paths.flat_map(|path| path.split('Z').filter(|outline| !outline.is_empty()));
        let areas = outlines.map(|outline| {
            let numbers: Vec<f64> = outline[1..].split(['L', ' ']).map(|text| text.parse().unwrap()).collect();
            let points: Vec<(f64, f64)> = numbers.chunks(2).map(|pair| (pair[0], pair[1])).collect();
            let next = points.iter().cycle().skip(1);
            (points.iter().zip(next).map(|(a, b)| a.0 * b.1 - a.1 * b.0).sum::<f64>() / 2.0).abs()
        });
        areas.sum()
    }

    #[test]
    fn the_faces_of_a_cube_cover_its_silhouette_once() {
        // Of a unit cube, an orthographic view along the unit vector v shows |vx| + |vy| + |vz| square metres.
        for view in [View::Isometric, View::Top] {
            let (svg, camera) = (svg("cube", &cube(), view), Camera::new(view));
            let seen = camera.back.abs().element_sum();
            let scale =
                Frame::around(faces::of_body(&cube().bodies[0]).iter().flat_map(|face| face.seen(&camera))).scale;
            // Corners are written to a tenth of a unit: at most 0.05 off, on tiles of a perimeter of 5 % of the picture's width
            // each, at least.
            let covered = area(&svg) / (scale * scale);
            assert!((covered / seen - 1.0).abs() < 0.005, "{view:?}: {covered} m² of {seen} m²");
        }
    }

    #[test]
    fn names_are_escaped_and_numbers_are_numbers() {
        let svg = svg("a < b", &cube(), View::Isometric);
        assert!(svg.contains("<title>a &lt; b</title>"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn a_world_without_any_shape_has_a_picture() {
        let svg = svg("", &Mechanism::default(), View::Isometric);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{svg}");
    }
}
