//! Bodies: pose, mass, shape, material.

use bevy_math::{DMat3, DVec3};
use simpartner_model::{
    Body, CollisionFilter, ContactDimensions, CrossFriction, FrictionDirection, FrictionRule, Inertia, Material,
    Placed, Pose, Shape, SurfaceMotion,
};

use super::{
    node::Node,
    point_shapes::{read_hull, read_mesh},
    reading::Reading,
};
use crate::text::tree::child;

/// Tolerance for a rotation matrix in a file: error of each product of two of its columns.
const ROTATION_TOLERANCE: f64 = 1e-3;
const SHAPE_TAGS: [&str; 9] =
    ["box", "sphere", "ellipsoid", "cylinder", "capsule", "cone", "convexHull", "triangleMesh", "compound"];
/// Shapes with rolling friction, as messages list them.
const ROLLING_SHAPES: &str = "a sphere, ellipsoid, cylinder or capsule";

/// Reads an `<object>` or a `<body>` without its visuals, placed in the frame of its file. `None` if something in it is
/// invalid.
pub(super) fn read(reading: &Reading, node: &Node) -> Option<Body> {
    let name = reading.attribute_text(node, "name")?.to_owned();
    let fixed = reading.child_text(node, "static") == Some("true");
    let mass = reading.child_real(node, "mass");
    if mass.is_none() && child(node, "mass").is_none() && !fixed {
        reading.problem(node.offset, format!("'{name}' lacks <mass>"));
    }
    let pose = pose_of(reading, node);
    let shape = one_shape(reading, node, &format!("'{name}'"))?;
    let collision = match child(node, "collision") {
        Some(collision) => match one_shape(reading, collision, "<collision>")? {
            Some(shape) => Some(shape),
            None if !collision.attributes.is_empty() => None,
            None => {
                reading.problem(collision.offset, "<collision> holds no shape");
                return None;
            }
        },
        None => None,
    };
    let filter =
        child(node, "collision").map_or(Some(CollisionFilter::default()), |node| read_filter(reading, node))?;
    let material =
        child(node, "material").map_or(Some(Material::default()), |node| read_body_material(reading, node))?;
    let part_materials = read_part_materials(reading, node)?;
    let can_roll = collision.as_ref().or(shape.as_ref()).is_some_and(|placed| placed.shape.can_roll());
    if material.rolling_friction > 0.0 && !can_roll {
        let place = child(node, "material")
            .map_or(node.offset, |material| reading.attribute_offset(material, "rollingFriction"));
        reading.problem(place, format!("'{name}' cannot roll: rolling friction needs {ROLLING_SHAPES}"));
    }
    let inertia = child(node, "inertia").and_then(|node| read_inertia(reading, node));
    let frame = &node.context.frame;
    let linear_velocity = velocity(reading, node, "translationalVelocity", ["vx", "vy", "vz"])?;
    let angular_velocity = velocity(reading, node, "rotationalVelocity", ["omegax", "omegay", "omegaz"])?;
    Some(Body {
        name,
        robot: None,
        pose: frame.place(&pose?),
        linear_velocity: frame.axis(frame.mirror(linear_velocity)),
        angular_velocity: frame.axis(frame.mirror_turning(angular_velocity)),
        fixed,
        mass: if fixed { mass.unwrap_or(0.0) } else { mass? },
        inertia,
        shape,
        visuals: Vec::new(),
        collision,
        filter,
        material,
        part_materials,
        fluid: None,
        class: reading.attribute_whole(node, "class")? as u16,
        source: reading.source(node),
    })
}

/// The materials of the parts of a compound collision shape, if any part has its own.
fn read_part_materials(reading: &Reading, node: &Node) -> Option<Vec<Option<Material>>> {
    let collision = child(node, "collision").filter(|collision| collision.children.iter().any(is_shape));
    let compound = child(collision.unwrap_or(node), "compound");
    let mut materials = Vec::new();
    for part in compound.iter().flat_map(|compound| &compound.children).filter(|part| is_shape(part)) {
        materials.push(match child(part, "material") {
            Some(material) => Some(read_part_material(reading, part, material)?),
            None => None,
        });
    }
    let given = materials.iter().flatten().count();
    let mut others = Vec::new();
    node.walk(&mut |inner| others.extend(child(inner, "material").filter(|_| is_shape(inner)).map(|node| node.offset)));
    if let Some(place) = others.get(given).or(others.last()).filter(|_| others.len() > given) {
        let help = "put it into the body, or into a shape of its compound that collides";
        reading.problem_with_help(*place, "this shape has no <material> of its own", help);
        return None;
    }
    if given == 0 {
        materials.clear();
    }
    Some(materials)
}

/// The `<material>` of a body or of a shape.
fn read_body_material(reading: &Reading, node: &Node) -> Option<Material> {
    Some(Material { grousers: reading.attribute_real(node, "grousers")?, ..read_material(reading, node)? })
}

fn read_part_material(reading: &Reading, part: &Node, node: &Node) -> Option<Material> {
    let material = read_body_material(reading, node)?;
    if material.rolling_friction > 0.0 && !["sphere", "ellipsoid", "cylinder", "capsule"].contains(&part.name.as_str())
    {
        let what = format!("a <{}> cannot roll: rolling friction needs {ROLLING_SHAPES}", part.name);
        reading.problem(reading.attribute_offset(node, "rollingFriction"), what);
    }
    Some(material)
}

fn is_shape(node: &Node) -> bool {
    SHAPE_TAGS.contains(&node.name.as_str())
}

fn read_filter(reading: &Reading, node: &Node) -> Option<CollisionFilter> {
    let bits = |name| reading.attribute_whole(node, name).map(|bits| bits as u16);
    Some(CollisionFilter { category: bits("category")?, collides_with: bits("collidesWith")? })
}

/// `<transformation>` or `<pose>`; the identity without either.
pub(super) fn pose_of(reading: &Reading, node: &Node) -> Option<Pose> {
    match (child(node, "transformation"), child(node, "pose")) {
        (Some(matrix), Some(pose)) => {
            let second = matrix.offset.max(pose.offset);
            reading.problem(second, "<transformation> and <pose> both say where it is; leave one out");
            None
        }
        (Some(matrix), None) => read_transformation(reading, matrix),
        (None, Some(pose)) => read_pose(reading, pose),
        (None, None) => Some(Pose::IDENTITY),
    }
}

/// The `<pose>` in a node; the identity without one.
pub(super) fn optional_pose(reading: &Reading, node: &Node) -> Option<Pose> {
    child(node, "pose").map_or(Some(Pose::IDENTITY), |pose| read_pose(reading, pose))
}

fn read_pose(reading: &Reading, node: &Node) -> Option<Pose> {
    let angle = |name| reading.attribute_real(node, name);
    let rpy = DVec3::new(angle("roll")?, angle("pitch")?, angle("yaw")?);
    Some(node.context.frame.mirror_pose(&Pose::from_xyz_rpy(vector(reading, node)?, rpy)))
}

/// The attributes x, y and z.
pub(super) fn vector(reading: &Reading, node: &Node) -> Option<DVec3> {
    Some(DVec3::new(
        reading.attribute_real(node, "x")?,
        reading.attribute_real(node, "y")?,
        reading.attribute_real(node, "z")?,
    ))
}

fn read_transformation(reading: &Reading, node: &Node) -> Option<Pose> {
    let mut entries = [[0.0; 4]; 3];
    for (row, entries) in entries.iter_mut().enumerate() {
        for (column, entry) in entries.iter_mut().enumerate() {
            *entry = reading.child_real(node, &format!("T{row}{column}"))?;
        }
    }
    for (column, expected) in [0.0, 0.0, 0.0, 1.0].into_iter().enumerate() {
        let tag = format!("T3{column}");
        if let (Some(last), Some(value)) = (child(node, &tag), reading.child_real(node, &tag))
            && value != expected
        {
            reading.problem(last.offset, format!("<{tag}> of a rigid transformation is {expected}, got {value}"));
            return None;
        }
    }
    let column = |index: usize| DVec3::new(entries[0][index], entries[1][index], entries[2][index]);
    let matrix = DMat3::from_cols(column(0), column(1), column(2));
    let error = (matrix.transpose() * matrix - DMat3::IDENTITY)
        .to_cols_array()
        .into_iter()
        .fold(0.0, |a: f64, b| a.max(b.abs()));
    if error > ROTATION_TOLERANCE {
        let message =
            format!("T00 to T22 are no rotation: their columns are off unit length or right angles by {error:.3}");
        reading.problem(node.offset, message);
        return None;
    }
    if matrix.determinant() < 0.0 {
        reading.problem_with_help(node.offset, "T00 to T22 mirror instead of turning", "their determinant must be +1");
        return None;
    }
    Some(node.context.frame.mirror_pose(&Pose::from_matrix(matrix, column(3))))
}

fn velocity(reading: &Reading, node: &Node, tag: &str, components: [&str; 3]) -> Option<DVec3> {
    let Some(node) = child(node, tag) else { return Some(DVec3::ZERO) };
    let [x, y, z] = components.map(|component| reading.child_real(node, component));
    Some(DVec3::new(x?, y?, z?))
}

/// The attributes of a `<material>` or a ground.
pub(super) fn read_material(reading: &Reading, node: &Node) -> Option<Material> {
    let given = |name: &str| node.attributes.iter().any(|attribute| attribute.name == name);
    let across = match given("secondFriction") {
        true => Some(CrossFriction {
            coefficient: reading.attribute_real(node, "secondFriction")?,
            direction: friction_direction(reading, node)?,
        }),
        false if given("rollerAngle") => {
            let help = "give secondFriction, the friction across the rollers, which is 0 if they turn freely";
            let place = reading.attribute_offset(node, "rollerAngle");
            reading.problem_with_help(place, "rollers need a second coefficient of friction", help);
            return None;
        }
        false => None,
    };
    let stiffness = if given("stiffness") { reading.attribute_real(node, "stiffness")? } else { f64::INFINITY };
    let damping = reading.attribute_real(node, "damping")?;
    if damping > 0.0 && stiffness.is_infinite() {
        let message = "a rigid surface has no damping: give it a stiffness, or leave the damping out";
        reading.problem(reading.attribute_offset(node, "damping"), message);
        return None;
    }
    let surface_velocity = DVec3::new(
        reading.attribute_real(node, "surfaceVelocityX")?,
        reading.attribute_real(node, "surfaceVelocityY")?,
        reading.attribute_real(node, "surfaceVelocityZ")?,
    );
    let surface_motion = match reading.attribute_text(node, "surfaceMotion")? {
        "belt" => SurfaceMotion::Belt,
        _ => SurfaceMotion::Uniform,
    };
    Some(Material {
        friction: reading.attribute_real(node, "friction")?,
        across,
        friction_rule: match reading.attribute_text(node, "frictionRule")? {
            "larger" => FrictionRule::Larger,
            _ => FrictionRule::Smaller,
        },
        priority: i32::try_from(reading.attribute_whole(node, "priority")?).ok()?,
        dimensions: reading.attribute_text(node, "contactDimensions").and_then(ContactDimensions::from_word),
        restitution: reading.attribute_real(node, "restitution")?,
        rolling_friction: reading.attribute_real(node, "rollingFriction")?,
        torsional_friction: reading.attribute_real(node, "torsionalFriction")?,
        stiffness,
        damping,
        slip: reading.attribute_real(node, "slip")?,
        surface_velocity: match surface_motion {
            SurfaceMotion::Uniform => node.context.frame.mirror(surface_velocity),
            SurfaceMotion::Belt => node.context.frame.mirror_turning(surface_velocity),
        },
        surface_motion,
        grousers: 0.0,
        soil: None,
    })
}

/// An axis, perpendicular to an axle, or along the rollers about an axle.
fn friction_direction(reading: &Reading, node: &Node) -> Option<FrictionDirection> {
    let (word, frame) = (reading.attribute_text(node, "frictionDirection")?, &node.context.frame);
    let axis = match word.to_ascii_lowercase().trim_start_matches("across") {
        "x" => DVec3::X,
        "y" => DVec3::Y,
        _ => DVec3::Z,
    };
    let axis = frame.mirror(axis);
    if !node.attributes.iter().any(|attribute| attribute.name == "rollerAngle") {
        let across = word.starts_with("across");
        return Some(if across { FrictionDirection::AcrossAxle(axis) } else { FrictionDirection::Along(axis) });
    }
    if !word.starts_with("across") {
        let place = reading.attribute_offset(node, "rollerAngle");
        let help = "give frictionDirection=\"acrossX\", \"acrossY\" or \"acrossZ\", with the axis of the axle";
        reading.problem_with_help(place, "rollers need the axle of their wheel", help);
        return None;
    }
    let angle = reading.attribute_real(node, "rollerAngle")?;
    // A mirror reverses turning to the left.
    Some(FrictionDirection::AlongRollers { axle: axis, angle: if frame.is_mirrored() { -angle } else { angle } })
}

/// The single shape among a node's children: `Some(None)` without one, `None` if it is invalid or there are several.
pub(super) fn one_shape(reading: &Reading, node: &Node, whose: &str) -> Option<Option<Placed>> {
    let mut shapes = node.children.iter().filter(|child| SHAPE_TAGS.contains(&child.name.as_str()));
    let Some(first) = shapes.next() else { return Some(None) };
    if let Some(second) = shapes.next() {
        let help = "put them into a <compound>";
        reading.problem_with_help(second.offset, format!("{whose} has a second shape"), help);
        return None;
    }
    read_shape(reading, first).map(Some)
}

fn read_shape(reading: &Reading, node: &Node) -> Option<Placed> {
    let real = |name| reading.attribute_real(node, name);
    let mut pose = optional_pose(reading, node)?;
    let shape = match node.name.as_str() {
        "box" => Shape::Box { size: vector(reading, node)? },
        "sphere" => Shape::Sphere { radius: real("radius")? },
        "ellipsoid" => Shape::Ellipsoid { radii: DVec3::new(real("radiusX")?, real("radiusY")?, real("radiusZ")?) },
        "cylinder" => Shape::Cylinder { radius: real("radius")?, length: real("length")? },
        "capsule" => Shape::Capsule { radius: real("radius")?, length: real("length")? },
        "cone" => Shape::Cone { radius: real("radius")?, length: real("length")? },
        "convexHull" => read_hull(reading, node)?,
        "triangleMesh" => read_mesh(reading, node)?,
        _ => Shape::Compound { parts: read_parts(reading, node)? },
    };
    if let Some(axis) = reading.attribute_text(node, "axis") {
        pose = pose.then(&node.context.frame.mirror_pose(&pose_along(axis)));
    }
    Some(Placed { pose, shape })
}

/// Rotates a shape from the y axis to another axis.
fn pose_along(axis: &str) -> Pose {
    let quarter = std::f64::consts::FRAC_PI_2;
    let rpy = match axis {
        "x" => DVec3::new(0.0, 0.0, -quarter),
        "z" => DVec3::new(quarter, 0.0, 0.0),
        _ => DVec3::ZERO,
    };
    Pose::from_xyz_rpy(DVec3::ZERO, rpy)
}

fn read_parts(reading: &Reading, node: &Node) -> Option<Vec<Placed>> {
    let shapes: Vec<&Node> = node.children.iter().filter(|child| SHAPE_TAGS.contains(&child.name.as_str())).collect();
    if shapes.is_empty() {
        reading.problem(node.offset, "<compound> holds no shape");
    }
    let parts: Vec<Placed> = shapes.iter().filter_map(|shape| read_shape(reading, shape)).collect();
    (!shapes.is_empty() && parts.len() == shapes.len()).then_some(parts)
}

fn read_inertia(reading: &Reading, node: &Node) -> Option<Inertia> {
    let real = |name| reading.attribute_real(node, name);
    let (ixx, iyy, izz) = (real("ixx")?, real("iyy")?, real("izz")?);
    let (ixy, ixz, iyz) = (real("ixy")?, real("ixz")?, real("iyz")?);
    let matrix = nalgebra::Matrix3::new(ixx, ixy, ixz, ixy, iyy, iyz, ixz, iyz, izz);
    let mut moments: Vec<f64> = matrix.symmetric_eigenvalues().iter().copied().collect();
    moments.sort_by(f64::total_cmp);
    if moments[0] <= 0.0 {
        reading.problem(
            node.offset,
            format!("the inertia is not positive definite: a principal moment is {:.3e}", moments[0]),
        );
        return None;
    }
    // A flat body reaches equality; rounding must not make that an error.
    if moments[2] > (moments[0] + moments[1]) * (1.0 + 1e-9) {
        let message = format!(
            "no mass has this inertia: the principal moment {:.3e} is above the sum of the other two, {:.3e}",
            moments[2],
            moments[0] + moments[1]
        );
        reading.problem(node.offset, message);
        return None;
    }
    let tensor = DMat3::from_cols(DVec3::new(ixx, ixy, ixz), DVec3::new(ixy, iyy, iyz), DVec3::new(ixz, iyz, izz));
    let centre_of_mass = node.context.frame.mirror(vector(reading, node)?);
    Some(Inertia { centre_of_mass, tensor: node.context.frame.mirror_tensor(&tensor) })
}
