//! Points and triangles of shapes, in the element or in a mesh file beside its file.

use std::sync::Arc;

use bevy_math::DVec3;
use simpartner_model::{Corners, NO_CORNER, Norm, Shape};

use super::{node::Node, reading::Reading, schema::FARTHEST};
use crate::{
    mesh::{Mesh, MeshImage, MeshLook, crease_normals, ending},
    text::{diagnostic::Diagnostic, tree::child},
};

/// Reads a `<convexHull>`.
pub(super) fn read_hull(reading: &Reading, node: &Node) -> Option<Shape> {
    let points = match reading.attribute_text(node, "file") {
        Some(file) => from_file(reading, node, file)?.vertices,
        None => read_vertices(reading, node)?,
    };
    if !spans_space(&points) {
        let help = "a hull needs at least four points that do not lie in a plane";
        reading.problem_with_help(node.offset, "the points of <convexHull> enclose no volume", help);
        return None;
    }
    Some(Shape::ConvexHull { points })
}

/// Reads a `<triangleMesh>`.
pub(super) fn read_mesh(reading: &Reading, node: &Node) -> Option<Shape> {
    let Some(file) = reading.attribute_text(node, "file") else {
        let vertices = read_vertices(reading, node)?;
        let triangles = read_triangles(reading, node, vertices.len())?;
        return Some(Shape::TriangleMesh { vertices, triangles });
    };
    let Mesh { vertices, triangles, .. } = triangles_from_file(reading, node, file)?;
    Some(Shape::TriangleMesh { vertices, triangles })
}

/// Triangles of a mesh file with one look.
pub(super) struct MeshPart {
    pub(super) look: MeshLook,
    pub(super) shape: Shape,
    /// Normals and texture coordinates; `None` without any.
    pub(super) corners: Option<Arc<Corners>>,
}

/// Reads a `<triangleMesh>` with a file as one part for each of its looks, those without colour first, or as a single
/// part; and the images of the file with its path.
pub(super) fn read_mesh_parts(
    reading: &Reading,
    node: &Node,
    file: &str,
    is_single: bool,
) -> Option<(Vec<MeshPart>, Vec<MeshImage>, String)> {
    let mut mesh = triangles_from_file(reading, node, file)?;
    if mesh.corners.normals_of.is_empty() && ending(file) == "stl" {
        mesh.corners = crease_normals(&mesh.vertices, &mesh.triangles);
    }
    let mut looks: Vec<(MeshLook, Vec<usize>)> = Vec::new();
    for (look, range) in mesh.looks() {
        let look = if is_single { MeshLook::default() } else { look };
        match looks.iter_mut().find(|(known, _)| *known == look) {
            Some((_, known)) => known.extend(range),
            None => looks.push((look, range.collect())),
        }
    }
    let part = |(look, places): (MeshLook, Vec<usize>)| {
        let triangles = places.iter().map(|&place| mesh.triangles[place]).collect();
        let (vertices, triangles) = used_of(&mesh.vertices, triangles);
        let corners = corners_of(&mesh.corners, &places);
        let corners = (!corners.is_empty()).then(|| Arc::new(corners));
        MeshPart { look, shape: Shape::TriangleMesh { vertices, triangles }, corners }
    };
    let path = reading.files.beside(&reading.base_of_paths(node), file, "robots");
    Some((looks.into_iter().map(part).collect(), mesh.images, path))
}

/// Normals and texture coordinates of some triangles.
fn corners_of(corners: &Corners, places: &[usize]) -> Corners {
    let rows = |list: &[[u32; 3]]| {
        let row = |place: &usize| list.get(*place).copied().unwrap_or([NO_CORNER; 3]);
        let mut rows: Vec<[u32; 3]> = places.iter().map(row).collect();
        let used = rows.iter().rposition(|row| *row != [NO_CORNER; 3]).map_or(0, |last| last + 1);
        rows.truncate(used);
        rows
    };
    let (normals, normals_of) = used_of(&corners.normals, rows(&corners.normals_of));
    let (places, places_of) = used_of(&corners.places, rows(&corners.places_of));
    Corners { normals, normals_of, places, places_of }
}

/// The elements that triangles use, and the triangles with the indices that these have there.
fn used_of<E: Copy>(elements: &[E], mut triangles: Vec<[u32; 3]>) -> (Vec<E>, Vec<[u32; 3]>) {
    let (mut used, mut number) = (Vec::new(), vec![NO_CORNER; elements.len()]);
    for index in triangles.iter_mut().flatten().filter(|index| **index != NO_CORNER) {
        let known = &mut number[*index as usize];
        if *known == NO_CORNER {
            *known = used.len() as u32;
            used.push(elements[*index as usize]);
        }
        *index = *known;
    }
    (used, triangles)
}

fn triangles_from_file(reading: &Reading, node: &Node, file: &str) -> Option<Mesh> {
    let mesh = from_file(reading, node, file)?;
    if mesh.triangles.is_empty() {
        reading.problem(reading.attribute_offset(node, "file"), format!("'{file}' holds no triangles"));
        return None;
    }
    Some(mesh)
}

/// The mesh of a file, scaled, and mirrored with its element. Its text as OBJ becomes one of the world's sources.
fn from_file(reading: &Reading, node: &Node, file: &str) -> Option<Mesh> {
    let place = reading.attribute_offset(node, "file");
    if let Some(points) = child(node, "vertices").or(child(node, "triangles")) {
        reading.problem(points.offset, "the points stand both here and in a file; leave one out");
        return None;
    }
    let path = reading.files.beside(&reading.base_of_paths(node), file, "robots");
    let unusable = |what: String| reading.problem(place, format!("the mesh file cannot be used: {what}"));
    let mesh = reading.mesh(&path).map_err(unusable).ok()?;
    if let Err(what) = reading.session.add_mesh(path, &mesh) {
        reading.push(Diagnostic::at(reading.path, reading.text, place, what));
        return None;
    }
    let whole = reading.attribute_real(node, "scale")?;
    let scale = DVec3::new(
        reading.attribute_real(node, "scaleX")?,
        reading.attribute_real(node, "scaleY")?,
        reading.attribute_real(node, "scaleZ")?,
    );
    let scale = scale * whole;
    let mut mesh = (*mesh).clone();
    if scale.to_array().contains(&0.0) {
        reading.problem(place, "a scale of 0 leaves nothing of a shape");
        return None;
    }
    mesh.vertices.iter_mut().for_each(|point| *point = node.context.frame.mirror(*point * scale));
    if let Some(far) = mesh.vertices.iter().find(|point| point.abs().max_element() > FARTHEST) {
        let far = far.abs().max_element();
        reading.problem(place, format!("'{file}' reaches {far:e} m from its origin, the most is {FARTHEST:e} m"));
        return None;
    }
    // Seen in a mirror, counter-clockwise is clockwise.
    if node.context.frame.is_mirrored() != (scale.x * scale.y * scale.z < 0.0) {
        let Corners { normals_of, places_of, .. } = &mut mesh.corners;
        for list in [&mut mesh.triangles, normals_of, places_of] {
            list.iter_mut().for_each(|corners| corners.swap(1, 2));
        }
    }
    for normal in &mut mesh.corners.normals {
        let scaled = DVec3::from(normal.map(f64::from)) / scale;
        let unit = node.context.frame.mirror(scaled).try_normalized().filter(|unit| unit.is_finite());
        *normal = unit.map_or([0.0; 3], |unit| unit.as_vec3().to_array());
    }
    Some(mesh)
}

fn read_vertices(reading: &Reading, node: &Node) -> Option<Vec<DVec3>> {
    let Some(list) = child(node, "vertices") else {
        let help = "give it <vertices>, or the file of a mesh";
        reading.problem_with_help(node.offset, format!("<{}> has no points", node.name), help);
        return None;
    };
    let numbers = reading.numbers(list)?;
    if numbers.len() % 3 != 0 || numbers.is_empty() {
        let message = format!("<vertices> holds {} numbers, which is not three a point", numbers.len());
        reading.problem(list.offset, message);
        return None;
    }
    if let Some(far) = numbers.iter().find(|number| number.abs() > FARTHEST) {
        let message = format!("<vertices>: expected numbers from {:e} to {FARTHEST:e}, got {far:e}", -FARTHEST);
        reading.problem(list.offset, message);
        return None;
    }
    Some(numbers.chunks_exact(3).map(|point| list.context.frame.mirror(DVec3::from_slice(point))).collect())
}

fn read_triangles(reading: &Reading, node: &Node, count: usize) -> Option<Vec<[u32; 3]>> {
    let Some(list) = child(node, "triangles") else {
        reading.problem(node.offset, "<triangleMesh> lacks <triangles>");
        return None;
    };
    let numbers = reading.numbers(list)?;
    if numbers.len() % 3 != 0 || numbers.is_empty() {
        let message = format!("<triangles> holds {} numbers, which is not three a triangle", numbers.len());
        reading.problem(list.offset, message);
        return None;
    }
    if let Some(wrong) = numbers.iter().find(|index| index.fract() != 0.0 || !(0.0..count as f64).contains(*index)) {
        reading.problem(list.offset, format!("<triangles>: expected indices from 0 to {}, got {wrong}", count - 1));
        return None;
    }
    // Seen in a mirror, counter-clockwise is clockwise.
    let (second, third) = if node.context.frame.is_mirrored() { (2, 1) } else { (1, 2) };
    let triangles = numbers.chunks_exact(3);
    Some(triangles.map(|corner| [corner[0] as u32, corner[second] as u32, corner[third] as u32]).collect())
}

/// True if some four of the points form a tetrahedron of more than a rounding error's volume.
pub(super) fn spans_space(points: &[DVec3]) -> bool {
    let Some(&origin) = points.first() else { return false };
    let farthest =
        |measure: &dyn Fn(DVec3) -> f64| points.iter().copied().max_by(|a, b| measure(*a).total_cmp(&measure(*b)));
    let Some(second) = farthest(&|p| (p - origin).length()) else { return false };
    let edge = second - origin;
    let Some(third) = farthest(&|p| (p - origin).cross(edge).length()) else { return false };
    let normal = (third - origin).cross(edge);
    let Some(fourth) = farthest(&|p| (p - origin).dot(normal).abs()) else { return false };
    (fourth - origin).dot(normal).abs() > 1e-9 * edge.length().powi(3)
}
