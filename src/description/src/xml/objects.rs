//! A world of objects and their joints as a SimPartner file: generated, to be read by people and to be run.

use bevy_math::DVec3;
use simpartner_model::{Body, CollisionFilter, Joint, JointKind, Material, Mechanism, Placed, Shape};

use super::{
    import::{
        element::{node, pose_element, value},
        text,
    },
    node::Node,
};
use crate::World;

/// Offset of an element without a file.
const NO_OFFSET: usize = 0;

/// The file of a world whose bodies are objects: with their shapes, inertias, friction and filters, and fixed or
/// sliding joints. All numbers have full precision; angles of poses are exact but for rounding.
///
/// # Errors
/// A sentence with the feature that such a file cannot represent.
pub fn write(world: &World, comment: &str) -> Result<String, String> {
    let mechanism = &world.mechanism;
    let lacks = [
        (!mechanism.robots.is_empty(), "robots"),
        (!mechanism.grounds.is_empty(), "grounds"),
        (!mechanism.couplings.is_empty(), "couplings"),
        (!mechanism.apart.is_empty(), "pairs that never collide"),
    ];
    if let Some((_, what)) = lacks.iter().find(|(is_there, _)| *is_there) {
        return Err(format!("a file of objects cannot be written of a world with {what}"));
    }
    let mut root = node("world", NO_OFFSET, &[("name", world.name.clone())]);
    root.children.push(node("gravity", NO_OFFSET, &exact(mechanism.gravity)));
    for body in &mechanism.bodies {
        root.children.push(object(body)?);
    }
    for joint in &mechanism.joints {
        root.children.push(joint_element(mechanism, joint)?);
    }
    Ok(text::write(&root, comment))
}

/// The attributes x, y and z with all digits.
fn exact(vector: DVec3) -> Vec<(&'static str, String)> {
    ["x", "y", "z"].into_iter().zip(vector.to_array()).map(|(name, value)| (name, value.to_string())).collect()
}

fn object(body: &Body) -> Result<Node, String> {
    let mut object = node("object", NO_OFFSET, &[("name", body.name.clone())]);
    let children = &mut object.children;
    children.push(value("mass", NO_OFFSET, body.mass));
    children.extend(pose_element(&body.pose, NO_OFFSET));
    if let Some(shape) = &body.shape {
        children.push(shape_element(shape));
    }
    if body.collision.is_some() || body.filter != CollisionFilter::default() {
        let CollisionFilter { category, collides_with } = body.filter;
        let mut collision = node(
            "collision",
            NO_OFFSET,
            &[("category", category.to_string()), ("collidesWith", collides_with.to_string())],
        );
        collision.children.extend(body.collision.as_ref().map(shape_element));
        children.push(collision);
    }
    for visual in &body.visuals {
        let color: Vec<_> = visual.color.iter().map(|color| ("color", color.to_string())).collect();
        let mut seen = node("visual", NO_OFFSET, &color);
        seen.children.push(shape_element(&visual.placed));
        children.push(seen);
    }
    children.push(material(body)?);
    if let Some(inertia) = &body.inertia {
        let (x, y, z) = (inertia.tensor.x_axis, inertia.tensor.y_axis, inertia.tensor.z_axis);
        let tensor = [("ixx", x.x), ("iyy", y.y), ("izz", z.z), ("ixy", x.y), ("ixz", x.z), ("iyz", y.z)];
        let mut attributes = exact(inertia.centre_of_mass);
        attributes.extend(tensor.map(|(name, value)| (name, value.to_string())));
        children.push(node("inertia", NO_OFFSET, &attributes));
    }
    if body.fixed {
        children.push(value("static", NO_OFFSET, true));
    }
    Ok(object)
}

/// Friction and torsional friction; the rest has to be that of any material.
fn material(body: &Body) -> Result<Node, String> {
    let Material { friction, torsional_friction, .. } = body.material;
    let plain = Material { friction, torsional_friction, ..Material::default() };
    if body.material != plain || !body.part_materials.is_empty() {
        return Err(format!("a file of objects has friction and torsional friction alone, and '{}' more", body.name));
    }
    let attributes = [("friction", friction.to_string()), ("torsionalFriction", torsional_friction.to_string())];
    Ok(node("material", NO_OFFSET, &attributes))
}

fn radii_attributes(radii: DVec3) -> [(&'static str, String); 3] {
    [("radiusX", radii.x.to_string()), ("radiusY", radii.y.to_string()), ("radiusZ", radii.z.to_string())]
}

fn shape_element(placed: &Placed) -> Node {
    let round = |name, radius: &f64, length: &f64| {
        node(name, NO_OFFSET, &[("radius", radius.to_string()), ("length", length.to_string())])
    };
    let points = |points: &[DVec3]| {
        points.iter().map(|point| format!("{} {} {}", point.x, point.y, point.z)).collect::<Vec<_>>().join(", ")
    };
    let name = placed.shape.name();
    let mut element = match &placed.shape {
        Shape::Box { size } => node(name, NO_OFFSET, &exact(*size)),
        Shape::Sphere { radius } => node(name, NO_OFFSET, &[("radius", radius.to_string())]),
        Shape::Ellipsoid { radii } => node(name, NO_OFFSET, &radii_attributes(*radii)),
        Shape::Cylinder { radius, length } | Shape::Capsule { radius, length } | Shape::Cone { radius, length } => {
            round(name, radius, length)
        }
        Shape::ConvexHull { points: corners } => {
            let mut hull = node(name, NO_OFFSET, &[]);
            hull.children.push(value("vertices", NO_OFFSET, points(corners)));
            hull
        }
        Shape::TriangleMesh { vertices, triangles } => {
            let mut mesh = node(name, NO_OFFSET, &[]);
            let corners = triangles.iter().map(|[a, b, c]| format!("{a} {b} {c}"));
            mesh.children.push(value("vertices", NO_OFFSET, points(vertices)));
            mesh.children.push(value("triangles", NO_OFFSET, corners.collect::<Vec<_>>().join(", ")));
            mesh
        }
        Shape::Compound { parts } => {
            let mut compound = node(name, NO_OFFSET, &[]);
            compound.children.extend(parts.iter().map(shape_element));
            compound
        }
    };
    element.children.extend(pose_element(&placed.pose, NO_OFFSET));
    element
}

fn joint_element(mechanism: &Mechanism, joint: &Joint) -> Result<Node, String> {
    let attributes = [("type", joint.kind.name().to_owned()), ("name", joint.name.clone())];
    let mut element = node("joint", NO_OFFSET, &attributes);
    element.children.push(value("parent", NO_OFFSET, &mechanism.body(joint.parent).name));
    element.children.push(value("child", NO_OFFSET, &mechanism.body(joint.child).name));
    element.children.push(node("anchor", NO_OFFSET, &exact(joint.anchor)));
    match joint.kind {
        JointKind::Fixed => {}
        JointKind::Slider => {
            element.children.push(node("axis", NO_OFFSET, &exact(joint.frame * DVec3::Z)));
            if let Some(free) = joint.axes[2].free() {
                let values = [
                    ("stiffness", free.stiffness),
                    ("springPosition", free.spring_position),
                    ("friction", free.friction),
                    ("damping", free.damping),
                ];
                element.children.push(node("free", NO_OFFSET, &values.map(|(name, value)| (name, value.to_string()))));
            }
        }
        other => return Err(format!("a file of objects has no joints of the kind {}", other.name())),
    }
    Ok(element)
}
