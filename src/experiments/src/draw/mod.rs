//! Pictures of a mechanism as SVG: ground and bodies at step 0, without a browser and without a simulation.
//!
//! The projection is orthographic. Faces are drawn from the farthest to the nearest (painter's algorithm), in the order
//! of their centres. Large faces are cut into tiles first, so that the order of the centres is right. The module knows
//! the model and nothing of files or physics. Start at [`svg`].

mod faces;
mod ground;
mod projection;
pub mod relief;

use std::fmt::Write;

use simpartner_model::Mechanism;

use simpartner_plot::escape;

pub use self::projection::View;
use self::{
    faces::{Face, Form},
    projection::{Camera, Frame, Part, WIDTH},
};

/// Draws a mechanism at step 0 as an SVG document.
pub fn svg(title: &str, mechanism: &Mechanism, view: View) -> String {
    let camera = Camera::new(view);
    let mut faces: Vec<Face> = ground::ground_faces(mechanism);
    faces.extend(mechanism.bodies.iter().flat_map(faces::faces_of_body));
    let frame = Frame::around(faces.iter().flat_map(|face| face.extreme_points(&camera)));
    let tile = 0.05 * (frame.high - frame.low).max_element();
    let mut faces: Vec<Face> = faces.into_iter().flat_map(|face| face.tiles(tile)).collect();
    faces.retain(|face| face.is_turned_to(&camera));
    faces.sort_by(|a, b| camera.depth(a.centre()).total_cmp(&camera.depth(b.centre())));
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_svg(title, mechanism, &camera, &frame, &faces, &mut out);
    out
}

fn write_svg(
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
    // A stroke in the colour of the fill closes the seams between faces.
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
        face.write_svg(camera, frame, out)?;
        colour = next;
    }
    out.push_str(if colour.is_empty() { "" } else { "\"/>\n" });
    out.push_str("</g>\n</svg>\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use bevy_math::DVec3;
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

    /// Area of all outlines of the bodies, in square units of the picture.
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
            let scale = Frame::around(
                faces::faces_of_body(&cube().bodies[0]).iter().flat_map(|face| face.extreme_points(&camera)),
            )
            .scale;
            // Corners are written to a tenth of a unit: at most 0.05 off, on tiles of a perimeter of 5 % of the
            // picture's width each, at least.
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
