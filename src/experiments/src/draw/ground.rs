//! The ground: terrain and triangle meshes as faces, a plane as one surface with a grid and the bodies' shadows.

use std::fmt::Write;

use bevy_math::{DVec2, DVec3};
use simpartner_model::{GroundMesh, Heightfield, Mechanism, Plane};

use super::{
    faces::{self, Face},
    projection::{Camera, Frame, Part, TO_LIGHT, write_outline},
};

/// Largest number of cells of a terrain that are drawn. Of a finer terrain only every second point is drawn, or every
/// third and so on.
const MAX_CELLS: usize = 1600;

/// Largest number of lines of the grid in each direction.
const MAX_GRID_LINES: f64 = 40.0;

/// Faces of terrain and triangle meshes.
pub(super) fn ground_faces(mechanism: &Mechanism) -> Vec<Face> {
    let terrain = mechanism.heightfields().flat_map(terrain_faces);
    terrain.chain(mechanism.ground_meshes().flat_map(mesh_faces)).collect()
}

/// Faces of a triangle mesh: both sides of each triangle, since either may be turned towards the camera.
fn mesh_faces(mesh: &GroundMesh) -> impl Iterator<Item = Face> {
    mesh.triangles.iter().flat_map(|triangle| {
        let [a, b, c] = triangle.map(|corner| mesh.vertices[corner as usize]);
        [vec![a, b, c], vec![a, c, b]].map(|corners| Face::new(Part::Ground, corners))
    })
}

/// Faces of a terrain, at most [`MAX_CELLS`].
fn terrain_faces(field: &Heightfield) -> Vec<Face> {
    let mut stride = 1;
    let cells = |points: usize, stride: usize| (points - 1).div_ceil(stride);
    while cells(field.points_x, stride) * cells(field.points_z, stride) > MAX_CELLS {
        stride += 1;
    }
    let along = |points: usize| {
        let starts = (0..points - 1).step_by(stride);
        starts.map(move |start| (start, (start + stride).min(points - 1))).collect::<Vec<_>>()
    };
    let mut faces = Vec::new();
    for &(i, next_i) in &along(field.points_x) {
        for &(j, next_j) in &along(field.points_z) {
            let corners = [(i, j), (i, next_j), (next_i, next_j), (next_i, j)].map(|(i, j)| field.point(i, j));
            // A corner without a height belongs to a hole.
            if corners.iter().all(|corner| corner.is_finite()) {
                faces.push(Face::new(Part::Ground, corners.into()));
            }
        }
    }
    faces
}

/// Writes the first plane of the world, if the camera sees it from above: as large as the picture, with its grid and
/// the shadows on it. Infinite planes that intersect cannot all be drawn, so the first one stands for the ground.
pub(super) fn write_plane(mechanism: &Mechanism, camera: &Camera, frame: &Frame, out: &mut String) -> std::fmt::Result {
    let Some(plane) = mechanism.planes().next() else { return Ok(()) };
    // Seen from below or from its edge there is no ground to draw.
    let facing = plane.normal.dot(camera.back);
    if facing < 1e-3 {
        return Ok(());
    }
    // The point of the plane that projects to a point of the camera's plane.
    let on_plane = |seen: DVec2| {
        let point = camera.right * seen.x + camera.up * seen.y;
        point + camera.back * ((plane.distance - plane.normal.dot(point)) / facing)
    };
    let corners = [frame.low, DVec2::new(frame.high.x, frame.low.y), frame.high, DVec2::new(frame.low.x, frame.high.y)];
    let colour = Part::Ground.lit(plane.normal);
    write!(out, r#"<path fill="{colour}" d=""#)?;
    write_outline(corners.into_iter().map(|corner| frame.to_picture(corner)), out)?;
    write!(out, "\"/>\n<path stroke=\"#a8a28c\" stroke-width=\".5\" clip-path=\"url(#picture)\" d=\"")?;
    write_grid(plane, corners.map(on_plane), &|point| frame.to_picture(camera.project(point)), out)?;
    write!(out, "\"/>\n<g fill=\"#9a9580\">")?;
    write_shadows(mechanism, plane, &|point| frame.to_picture(camera.project(point)), out)?;
    out.push_str("</g>\n");
    Ok(())
}

/// Writes grid lines over the part of the plane with these corners: 1, 2, 5, 10, 20 or 50 m apart, so that there are at
/// most [`MAX_GRID_LINES`].
fn write_grid(
    plane: &Plane,
    corners: [DVec3; 4],
    place: &dyn Fn(DVec3) -> DVec2,
    out: &mut String,
) -> std::fmt::Result {
    // The grid follows the projections of the world's x and z axes onto the plane.
    let first = (DVec3::X - plane.normal * plane.normal.x).try_normalize().unwrap_or(DVec3::Y);
    let second = first.cross(plane.normal);
    let origin = plane.normal * plane.distance;
    let span = |axis: DVec3| {
        let along = corners.map(|corner| (corner - origin).dot(axis));
        along.into_iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), at| (low.min(at), high.max(at)))
    };
    let (a, b) = (span(first), span(second));
    let longest = (a.1 - a.0).max(b.1 - b.0);
    let spacing = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0].into_iter().find(|spacing| longest / spacing <= MAX_GRID_LINES);
    let Some(spacing) = spacing else { return Ok(()) };
    for (axis, across, (low, high), ends) in [(first, second, a, b), (second, first, b, a)] {
        for index in (low / spacing).ceil() as i64..=(high / spacing).floor() as i64 {
            let at = origin + axis * (index as f64 * spacing);
            let (from, to) = (place(at + across * ends.0), place(at + across * ends.1));
            write!(out, "M{:.1} {:.1}L{:.1} {:.1}", from.x, from.y, to.x, to.y)?;
        }
    }
    Ok(())
}

/// Writes the shadow of each face that is turned towards the light.
fn write_shadows(
    mechanism: &Mechanism,
    plane: &Plane,
    place: &dyn Fn(DVec3) -> DVec2,
    out: &mut String,
) -> std::fmt::Result {
    let towards = plane.normal.dot(TO_LIGHT);
    let shadow = |point: DVec3| point - TO_LIGHT * ((plane.normal.dot(point) - plane.distance) / towards);
    out.push_str("<path d=\"");
    for outline in mechanism.bodies.iter().flat_map(faces::faces_of_body).filter_map(|face| face.lit_outline(TO_LIGHT))
    {
        write_outline(outline.into_iter().map(|point| place(shadow(point))), out)?;
    }
    out.push_str("\"/>");
    Ok(())
}
