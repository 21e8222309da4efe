//! The grounds of a world as MJCF's geoms.

use bevy_math::{DQuat, DVec3};
use simpartner_model::{Ground, Heightfield, Plane};

use super::{
    super::{import::element::node, node::Node},
    filters::ALL_CATEGORIES,
    geoms::set_surface,
    mjcf_element::{push, z_up_vector},
    writer::{Writer, join},
};

/// Adds planes and terrain, and warns about grounds that MuJoCo does not have.
pub(super) fn add(writer: &mut Writer, asset: &mut Node, bodies: &mut Node) {
    let mechanism = writer.mechanism;
    for (number, ground) in mechanism.grounds.iter().enumerate() {
        match ground {
            Ground::Plane(plane) => bodies.children.push(of_plane(writer, plane)),
            Ground::Heightfield(field) => {
                if field.heights.iter().any(|height| height.is_nan()) {
                    let help = "MuJoCo's terrain has no holes; fill them first";
                    writer.warn("", "holes of the terrain are as deep as its lowest point", help);
                }
                let name = if number == 0 { "terrain".to_owned() } else { format!("terrain{number}") };
                add_heightfield(writer, field, name, asset, bodies);
            }
            Ground::Mesh(_) => {
                writer.warn("", "a <ground> of triangles is left out", "MuJoCo takes a mesh for its convex hull");
            }
        }
    }
}

/// Lets every category collide with it.
fn collide_with_all(geom: &mut Node) {
    push(geom, "contype", ALL_CATEGORIES.to_string());
    push(geom, "conaffinity", ALL_CATEGORIES.to_string());
}

fn of_plane(writer: &Writer, plane: &Plane) -> Node {
    let normal = z_up_vector(plane.normal);
    let position = join(&(normal * plane.distance).to_array());
    let zaxis = join(&normal.to_array());
    let attributes = [("type", "plane".into()), ("size", "0 0 1".into()), ("pos", position), ("zaxis", zaxis)];
    let mut geom = node("geom", 0, &attributes);
    set_surface(writer, &plane.material, &mut geom);
    collide_with_all(&mut geom);
    geom
}

fn add_heightfield(writer: &Writer, field: &Heightfield, name: String, asset: &mut Node, bodies: &mut Node) {
    let bounds = field
        .heights
        .iter()
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], height| [low.min(*height), high.max(*height)]);
    let range = if bounds[1] > bounds[0] { bounds[1] - bounds[0] } else { 1.0 };
    // Our lines run along z, which is -y there. The larger of NaN and 0 is 0.
    let height = |x: usize, z: usize| ((field.height(x, z) - bounds[0]) / range).max(0.0);
    let elevation: Vec<f64> =
        (0..field.points_z).flat_map(|z| (0..field.points_x).map(move |x| (x, z))).map(|(x, z)| height(x, z)).collect();
    let size = [0.5 * field.width, 0.5 * field.depth, range, 1.0];
    let counts = [("nrow", field.points_z.to_string()), ("ncol", field.points_x.to_string())];
    let mut element = node("hfield", 0, &[("name", name.clone()), ("size", join(&size))]);
    counts.into_iter().for_each(|(name, count)| push(&mut element, name, count));
    push(&mut element, "elevation", join(&elevation));
    asset.children.push(element);
    let position = z_up_vector(field.pose.translation + DVec3::Y * bounds[0]).to_array();
    let mut geom = node("geom", 0, &[("type", "hfield".into()), ("hfield", name), ("pos", join(&position))]);
    if field.pose.rotation != DQuat::IDENTITY {
        // A rotation about y is one about z in MuJoCo.
        let DQuat { y, w, .. } = field.pose.rotation;
        push(&mut geom, "quat", join(&[w, 0.0, 0.0, y]));
    }
    set_surface(writer, &field.material, &mut geom);
    collide_with_all(&mut geom);
    bodies.children.push(geom);
}
