//! The geoms of a body: collision shapes and visuals.

use simpartner_model::{Body, Color, ContactDimensions, Material, Pose};

use super::{
    super::{import::element::node, node::Node},
    filters::masks,
    mjcf_element::{push, set_pose},
    shapes::{Simple, simple},
    writer::{Writer, join},
};

/// Groups of geoms: MuJoCo shows the second one, and the third on request.
const VISIBLE_GROUP: &str = "2";
const HIDDEN_GROUP: &str = "3";

/// Adds all geoms of a body, the points of its meshes to the assets.
pub(super) fn add(writer: &mut Writer, body: &Body, element: &mut Node, asset: &mut Node) {
    let is_seen_so = body.visuals.is_empty() && body.collision.is_none();
    let [category, collides_with] = masks(writer.mechanism, body);
    for (number, (pose, part)) in body.collision_shape().into_iter().flat_map(simple).enumerate() {
        if matches!(&part, Simple::Mesh(_, triangles) if !triangles.is_empty()) {
            let what = format!("the triangleMesh of '{}' collides as its hull", body.name);
            writer.warn(&body.source, what, "MuJoCo has no hollow meshes");
        }
        let mut geom = geom(&part, &pose, asset);
        set_surface(writer, body.material_of_part(number), &mut geom);
        push(&mut geom, "contype", category.to_string());
        push(&mut geom, "conaffinity", collides_with.to_string());
        if !is_seen_so {
            push(&mut geom, "group", HIDDEN_GROUP.into());
        }
        element.children.push(geom);
    }
    for (placed, color) in body.seen().filter(|_| !is_seen_so) {
        for (pose, part) in simple(placed) {
            element.children.push(visual(&part, &pose, color, asset));
        }
    }
}

/// Sets the friction. Of two geoms, MuJoCo takes that of the higher priority, or the larger one. Where the simulation
/// takes the smaller, priorities decrease with friction.
pub(super) fn set_surface(writer: &Writer, material: &Material, geom: &mut Node) {
    let dimensions = material.contact_dimensions().min(ContactDimensions::Torsional);
    if dimensions != ContactDimensions::Sliding {
        push(geom, "condim", (dimensions as u8).to_string());
    }
    push(geom, "friction", join(&[material.friction, material.torsional_friction, 0.0]));
    if writer.frictions.is_empty() && material.priority != 0 {
        push(geom, "priority", material.priority.to_string());
    }
    let larger = writer.frictions.iter().filter(|friction| **friction > material.friction).count();
    if larger > 0 {
        push(geom, "priority", larger.to_string());
    }
}

/// A geom without collision.
fn visual(part: &Simple, pose: &Pose, color: Option<Color>, asset: &mut Node) -> Node {
    let mut geom = geom(part, pose, asset);
    if let (Simple::Mesh(_, triangles), Some(mesh)) = (part, asset.children.last_mut())
        && !triangles.is_empty()
    {
        // An open mesh has no volume.
        push(mesh, "inertia", "shell".into());
    }
    for (name, value) in [("contype", "0"), ("conaffinity", "0"), ("group", VISIBLE_GROUP)] {
        push(&mut geom, name, value.into());
    }
    if let Some(color) = color {
        push(&mut geom, "rgba", join(&color.fractions()));
    }
    geom
}

/// A geom without mass: the inertia is that of its body.
fn geom(part: &Simple, pose: &Pose, asset: &mut Node) -> Node {
    let (kind, size) = match part {
        Simple::Box(size) => ("box", (*size * 0.5).to_array().to_vec()),
        Simple::Sphere(radius) => ("sphere", vec![*radius]),
        Simple::Ellipsoid(radii) => ("ellipsoid", radii.to_array().to_vec()),
        Simple::Cylinder(radius, length) => ("cylinder", vec![*radius, 0.5 * length]),
        Simple::Capsule(radius, length) => ("capsule", vec![*radius, 0.5 * length]),
        Simple::Mesh(..) => ("mesh", Vec::new()),
    };
    let mut geom = node("geom", 0, &[("type", kind.into())]);
    match part {
        Simple::Mesh(points, triangles) => {
            let name = format!("mesh_{}", asset.children.len() + 1);
            let numbers: Vec<f64> = points.iter().flat_map(|point| point.to_array()).collect();
            let mut mesh = node("mesh", 0, &[("name", name.clone()), ("vertex", join(&numbers))]);
            if !triangles.is_empty() {
                let corners: Vec<f64> = triangles.iter().flatten().map(|corner| f64::from(*corner)).collect();
                push(&mut mesh, "face", join(&corners));
            }
            asset.children.push(mesh);
            push(&mut geom, "mesh", name);
        }
        _ => push(&mut geom, "size", join(&size)),
    }
    set_pose(&mut geom, pose);
    push(&mut geom, "mass", "0".into());
    geom
}
