//! The IndexedFaceSets of a VRML97 file, placed by their Transforms.

use std::rc::Rc;

use bevy_math::{DAffine3, DQuat, DVec3};
use libm::{cos, sin};

use super::{
    triangles::{Mesh, MeshProblem, fan, problem},
    work::{Work, check_size},
};
use crate::text::vrml::{self, Node};

pub(super) fn read(text: &str) -> Result<Mesh, MeshProblem> {
    let line = |offset: usize| text[..offset.min(text.len())].matches('\n').count() + 1;
    let at = |(offset, what): vrml::Problem| problem(Some(line(offset)), what);
    let roots = vrml::parse(text).map_err(at)?;
    let mut reader = Reader { mesh: Mesh::default(), work: Work::default() };
    roots.iter().try_for_each(|node| reader.add(node, DAffine3::IDENTITY)).map_err(at)?;
    Ok(reader.mesh)
}

struct Reader {
    mesh: Mesh,
    work: Work,
}

impl Reader {
    fn add(&mut self, node: &Rc<Node>, file_from_node: DAffine3) -> Result<(), vrml::Problem> {
        let at = |wrong: MeshProblem| (node.offset, wrong.what);
        self.work.visit(node.all_nodes().count()).map_err(at)?;
        check_size(&self.mesh).map_err(at)?;
        if node.kind == "IndexedFaceSet" {
            return self.add_faces(node, file_from_node);
        }
        let place = if node.kind == "Transform" { file_from_node * transform(node) } else { file_from_node };
        node.all_nodes().try_for_each(|child| self.add(child, place))
    }

    fn add_faces(&mut self, faces: &Node, file_from_node: DAffine3) -> Result<(), vrml::Problem> {
        let coordinates = faces.nodes("coord").first().map_or(&[][..], |points| points.numbers("point"));
        let corners = faces.numbers("coordIndex");
        let at = |wrong: MeshProblem| (faces.offset, wrong.what);
        self.work.read(coordinates.len() + corners.len()).map_err(at)?;
        let first = self.mesh.vertices.len() as u32;
        let points = coordinates.chunks_exact(3).map(DVec3::from_slice);
        self.mesh.vertices.extend(points.map(|point| file_from_node.transform_point3(point)));
        let count = coordinates.len() / 3;
        // A reflection reverses the orientation.
        let turned = faces.is_false("ccw") != (file_from_node.matrix3.determinant() < 0.0);
        for corners in corners.split(|index| *index < 0.0).filter(|corners| !corners.is_empty()) {
            if corners.len() < 3 {
                return Err((faces.offset, "a face of this IndexedFaceSet has fewer than three corners".into()));
            }
            if let Some(wrong) = corners.iter().find(|index| index.fract() != 0.0 || **index >= count as f64) {
                return Err((
                    faces.offset,
                    format!("this IndexedFaceSet has {count} points, and a face one of number {wrong}"),
                ));
            }
            let mut corners: Vec<u32> = corners.iter().map(|index| first + *index as u32).collect();
            if turned {
                corners.reverse();
            }
            self.mesh.triangles.extend(fan(&corners));
        }
        check_size(&self.mesh).map_err(at)
    }
}

/// Affine map of a Transform: T C R SR S -SR -C of its translation, centre, rotation, scale and the scale's axes.
fn transform(node: &Node) -> DAffine3 {
    let vector = |name: &str, default: DVec3| match *node.numbers(name) {
        [x, y, z] => DVec3::new(x, y, z),
        _ => default,
    };
    let turn = |name: &str| match *node.numbers(name) {
        [x, y, z, angle] => {
            let axis = DVec3::new(x, y, z).normalize_or_zero() * sin(0.5 * angle);
            DQuat::from_xyzw(axis.x, axis.y, axis.z, cos(0.5 * angle)).normalize()
        }
        _ => DQuat::IDENTITY,
    };
    let (centre, axes) = (DAffine3::from_translation(vector("center", DVec3::ZERO)), turn("scaleOrientation"));
    let scale = DAffine3::from_quat(axes)
        * DAffine3::from_scale(vector("scale", DVec3::ONE))
        * DAffine3::from_quat(axes.inverse());
    DAffine3::from_translation(vector("translation", DVec3::ZERO))
        * centre
        * DAffine3::from_quat(turn("rotation"))
        * scale
        * centre.inverse()
}
