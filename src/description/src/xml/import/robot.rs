//! The `<robot>` element of a model: its bodies, joints, couplings and devices, y up.
//!
//! A body has the axes of its link. Only the poses of the bodies are in the robot's frame, whose y axis is the model's
//! z axis. So elements of a link (shapes, inertia, sensors) have the numbers of the other format.

use bevy_math::{DMat3, DVec3};
use simpartner_model::{ContactDimensions, Pose};

use super::{
    super::{node::Node, point_shapes::spans_space, reading::Reading},
    devices,
    element::{NEGLIGIBLE_COORDINATE, coordinates, digits, node, pose_element, value},
    model::{Across, Form, Joint, Link, MassOf, Model, Motion, Rollers, Solid, Surface},
    names::Names,
    paths::mesh_path,
    text::clean,
};
use crate::mesh::Mesh;

/// Mass of a moving link without mass, kg, which prevents unbounded motion; its inertia is that of a ball of this mass
/// and 3 cm.
const LEAST_MASS: f64 = 1e-3;
const LEAST_INERTIA: f64 = 4e-7;
/// Mass in kg of an auxiliary link between two joints of the same two bodies, which has none in the other format: far
/// below the rounding of the masses of its neighbours.
const CARRIER_MASS: f64 = 1e-12;
/// Tolerance for a direction along an axis, in the cosine.
pub(super) const ON_AXIS: f64 = 1e-6;

/// From a frame with z up to one with y up.
pub(super) fn upright() -> Pose {
    Pose::from_xyz_rpy(DVec3::ZERO, DVec3::new(-std::f64::consts::FRAC_PI_2, 0.0, 0.0))
}

/// Converts a vector from a frame with z up to one with y up.
pub(super) fn y_up(vector: DVec3) -> DVec3 {
    // A sum keeps zeros without a sign.
    DVec3::new(vector.x, vector.z, -vector.y) + DVec3::ZERO
}

/// Generates the elements of a robot, whose devices have ports from the next one on, which is advanced, or any free
/// ports if it is 0.
pub(super) fn element(reading: &Reading, model: &Model, next_port: &mut u16) -> Node {
    let names = Names::of(reading, model);
    let mut robot = node("robot", model.offset, &[("name", clean(&model.name))]);
    if model.self_collision {
        robot.attributes.extend(node("", model.offset, &[("selfCollision", "true".into())]).attributes);
    }
    for (index, link) in model.links.iter().enumerate().filter(|(_, link)| !link.is_merged) {
        robot.children.push(body(reading, link, "body", &names.links[index]));
    }
    let joints = model.joints.iter().chain(&model.loops).zip(&names.joints);
    for (joint, name) in joints.filter(|(joint, _)| joint.motion != Motion::Free) {
        robot.children.push(joint_element(joint, name, model, &names.links));
    }
    for coupling in &model.couplings {
        let joint = |place: usize| names.joints[place].clone();
        robot.children.push(node(
            "coupling",
            coupling.offset,
            &[
                ("leader", joint(coupling.leader)),
                ("follower", joint(coupling.follower)),
                ("ratio", coupling.ratio.to_string()),
                ("offset", coupling.constant.to_string()),
            ],
        ));
    }
    for apart in model.apart.iter().filter(|apart| apart.links[0] != apart.links[1]) {
        let [one, other] = apart.links.map(|link| names.links[link].clone());
        robot.children.push(node("exclude", apart.offset, &[("body", one), ("other", other)]));
    }
    devices::add(&mut robot, model, &names, next_port);
    robot
}

/// A `<body>`, or an `<object>`.
pub(super) fn body(reading: &Reading, link: &Link, tag: &str, name: &str) -> Node {
    let class = Some(link.class).filter(|class| *class > 0).map(|class| ("class", class.to_string()));
    let attributes: Vec<_> = [("name", name.to_owned())].into_iter().chain(class).collect();
    let mut body = node(tag, link.offset, &attributes);
    let solids: Vec<(&Solid, Node)> =
        link.solids.iter().filter_map(|solid| Some((solid, shape(reading, solid, Purpose::Collision)?))).collect();
    let has_shape = !solids.is_empty();
    let surface_of = |solid: &Solid| solid.surface.unwrap_or(link.surface);
    let surface = solids.first().map_or(link.surface, |(solid, _)| surface_of(solid));
    let with_own = |(solid, mut shape): (&Solid, Node)| {
        let own = surface_of(solid);
        if own != surface {
            shape.children.push(node("material", solid.offset, &all_of(reading, link, &own)));
        }
        shape
    };
    let solids: Vec<Node> = solids.into_iter().map(with_own).collect();
    if link.is_fixed {
        body.children.push(value("static", link.offset, true));
    } else {
        add_mass(reading, link, has_shape, &mut body);
    }
    body.children.extend(pose_element(&upright().then(&link.pose), link.offset));
    body.children.extend(one_shape(solids, link.offset));
    // A visual equal to the collision shape is omitted.
    let is_seen_so = |(seen, solid): (&Solid, &Solid)| {
        seen.finish.is_default() && seen.form == solid.form && seen.pose == solid.pose
    };
    let is_same = link.visuals.len() == link.solids.len() && link.visuals.iter().zip(&link.solids).all(is_seen_so);
    for visual in link.visuals.iter().filter(|_| !is_same) {
        let Some(shape) = shape(reading, visual, Purpose::Visual) else { continue };
        let look = visual.finish.visual_attributes(reading, visual.offset);
        body.children.push(Node { children: vec![shape], ..node("visual", visual.offset, &look) });
    }
    if let Some([category, collides_with]) = link.filter.filter(|_| has_shape) {
        let bits = [("category", category.to_string()), ("collidesWith", collides_with.to_string())];
        body.children.push(node("collision", link.offset, &bits));
    }
    let given = all_of(reading, link, &surface);
    if !given.is_empty() {
        body.children.push(node("material", link.offset, &given));
    }
    for (pose, attributes) in &link.wings {
        let pose = pose_element(pose, link.offset).into_iter().collect();
        body.children.push(Node { children: pose, ..node("wing", link.offset, attributes) });
    }
    if has_shape && !link.damping.is_empty() {
        body.children.push(node("fluidDamping", link.offset, &link.damping));
    }
    body.children.extend((has_shape && link.is_buoyant).then(|| node("buoyancy", link.offset, &[])));
    body
}

/// Surface properties of a shape on a link, if known.
fn all_of(reading: &Reading, link: &Link, surface: &Surface) -> Vec<(&'static str, String)> {
    let mut given = material(surface);
    match roller_friction(link) {
        Some(rollers) => given.extend(rollers),
        None => given.extend(friction_across(reading, link, surface)),
    }
    given
}

/// Friction along the rollers of a mecanum wheel whose axle is an axis of its link.
fn roller_friction(link: &Link) -> Option<[(&'static str, String); 3]> {
    let Rollers { axle, angle } = link.rollers?;
    let axes = ["acrossX", "acrossY", "acrossZ"].into_iter().zip(axle.abs().to_array());
    let (axis, _) = axes.into_iter().find(|(_, part)| *part > 1.0 - ON_AXIS)?;
    let none = "0".to_owned();
    Some([("secondFriction", none), ("frictionDirection", axis.into()), ("rollerAngle", digits(angle))])
}

/// Surface properties, if known.
pub(super) fn material(surface: &Surface) -> Vec<(&'static str, String)> {
    let known = [
        ("friction", surface.friction),
        ("restitution", surface.restitution),
        ("torsionalFriction", surface.torsional_friction),
        ("rollingFriction", surface.rolling_friction),
        ("stiffness", surface.stiffness),
        ("damping", surface.damping),
    ];
    let mut given: Vec<_> = known.into_iter().filter_map(|(name, value)| Some((name, value?.to_string()))).collect();
    given.extend(surface.takes_larger.then(|| ("frictionRule", "larger".to_owned())));
    given.extend((surface.priority != 0).then(|| ("priority", surface.priority.to_string())));
    // The reader's default for a missing attribute.
    let has_torsional = surface.torsional_friction.is_some_and(|friction| friction > 0.0);
    let default = if has_torsional { ContactDimensions::Torsional } else { ContactDimensions::Sliding };
    let dimensions = surface.dimensions.filter(|dimensions| *dimensions != default);
    given.extend(dimensions.map(|dimensions| ("contactDimensions", (dimensions as u8).to_string())));
    given
}

/// The friction across a direction, which is to be an axis of the body.
fn friction_across(reading: &Reading, link: &Link, surface: &Surface) -> Vec<(&'static str, String)> {
    let Some(Across { friction, direction }) = surface.across else { return Vec::new() };
    let along = ["x", "y", "z"].into_iter().zip(direction.abs().to_array()).find(|(_, part)| *part > 1.0 - ON_AXIS);
    let Some((axis, _)) = along else {
        let what = format!("the friction across a direction of '{}' is left out", link.name);
        reading.warn(link.offset, what, "it is fixed to a link whose axes point elsewhere; keep the joint".into());
        return Vec::new();
    };
    vec![("secondFriction", friction.to_string()), ("frictionDirection", axis.into())]
}

fn add_mass(reading: &Reading, link: &Link, has_shape: bool, body: &mut Node) {
    if link.is_carrier && link.mass.is_none() {
        return body.children.push(value("mass", link.offset, CARRIER_MASS));
    }
    let least = MassOf {
        mass: LEAST_MASS,
        centre: DVec3::ZERO,
        tensor: DMat3::from_diagonal(DVec3::splat(LEAST_INERTIA)),
        offset: link.offset,
    };
    let mass = link.mass.unwrap_or_else(|| {
        let what = format!("link '{}' moves and has no mass", link.name);
        reading.warn(link.offset, what, format!("it gets {LEAST_MASS} kg"));
        least
    });
    body.children.push(value("mass", mass.offset, digits(mass.mass)));
    let tensor = match possible(&mass.tensor) {
        Ok(tensor) => tensor,
        Err(what) if has_shape && mass.centre == DVec3::ZERO => {
            let what = format!("link '{}' has an inertia that {what}", link.name);
            return reading.warn(mass.offset, what, "its mass is spread over what collides of it".into());
        }
        Err(what) => {
            let mean = mean_moment(&mass);
            let what = format!("link '{}' has an inertia that {what}", link.name);
            reading.warn(mass.offset, what, format!("it gets {mean:.3e} kg m² about each axis"));
            DMat3::from_diagonal(DVec3::splat(mean))
        }
    };
    let mut attributes =
        vec![("ixx", digits(tensor.x_axis.x)), ("iyy", digits(tensor.y_axis.y)), ("izz", digits(tensor.z_axis.z))];
    // Smaller off-diagonal entries are the rounding of a rotation.
    let least = 1e-15 * tensor.x_axis.x.max(tensor.y_axis.y).max(tensor.z_axis.z);
    let mixed = [("ixy", tensor.y_axis.x), ("ixz", tensor.z_axis.x), ("iyz", tensor.z_axis.y)];
    attributes
        .extend(mixed.into_iter().filter(|(_, value)| value.abs() > least).map(|(name, value)| (name, digits(value))));
    attributes.extend(coordinates(mass.centre));
    body.children.push(node("inertia", mass.offset, &attributes));
}

/// A third of the sum of the moments, as MuJoCo balances them; for a zero tensor that of a ball of 5 cm.
fn mean_moment(mass: &MassOf) -> f64 {
    let mean = (mass.tensor.x_axis.x + mass.tensor.y_axis.y + mass.tensor.z_axis.z) / 3.0;
    if mean > 0.0 { mean } else { 0.4 * mass.mass * 0.05 * 0.05 }
}

/// The tensor if it is physically possible, otherwise the reason why not.
fn possible(tensor: &DMat3) -> Result<DMat3, &'static str> {
    let [a, b, c] = [tensor.x_axis, tensor.y_axis, tensor.z_axis].map(|column| column.to_array());
    let matrix = nalgebra::Matrix3::new(a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2]);
    let mut moments = matrix.symmetric_eigenvalues();
    moments.as_mut_slice().sort_by(f64::total_cmp);
    if moments[0].is_nan() || moments[0] <= 0.0 {
        return Err("is not positive definite");
    }
    // As wide as the reader's, whose rounding is the same.
    if moments[2] > (moments[0] + moments[1]) * (1.0 + 1e-9) {
        return Err("no mass has: one principal moment is above the sum of the others");
    }
    Ok(*tensor)
}

/// Several shapes as one.
fn one_shape(mut solids: Vec<Node>, offset: usize) -> Option<Node> {
    match solids.len() {
        0 | 1 => solids.pop(),
        _ => Some(Node { children: solids, ..node("compound", offset, &[]) }),
    }
}

/// Purpose of a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Collision,
    Visual,
}

fn shape(reading: &Reading, solid: &Solid, purpose: Purpose) -> Option<Node> {
    let real = |name, value: f64| (name, value.to_string());
    let along_z = ("axis", "z".to_owned());
    if solid.form.lengths().contains(&0.0) {
        reading.warn(solid.offset, "a shape with a length of 0 is left out".into(), "there is nothing of it".into());
        return None;
    }
    let (name, attributes) = match &solid.form {
        Form::Box { size } => ("box", vec![real("x", size.x), real("y", size.y), real("z", size.z)]),
        Form::Sphere { radius } => ("sphere", vec![real("radius", *radius)]),
        Form::Cylinder { radius, length } => {
            ("cylinder", vec![real("radius", *radius), real("length", *length), along_z])
        }
        Form::Capsule { radius, length } => {
            ("capsule", vec![real("radius", *radius), real("length", *length), along_z])
        }
        Form::Ellipsoid { radii } => {
            ("ellipsoid", vec![real("radiusX", radii.x), real("radiusY", radii.y), real("radiusZ", radii.z)])
        }
        Form::Cone { radius, length } => ("cone", vec![real("radius", *radius), real("length", *length), along_z]),
        Form::Points { points, triangles } if purpose == Purpose::Visual && !triangles.is_empty() => {
            return Some(surface_of(points, triangles, solid));
        }
        Form::Points { points, .. } if spans_space(points) => return Some(hull_of(points, solid)),
        Form::Points { .. } => {
            reading.warn(solid.offset, "the points enclose no volume".into(), "the shape is left out".into());
            return None;
        }
        Form::Mesh { file, scale } => {
            let path = mesh_path(reading, solid.offset, file)?;
            check_mesh(reading, solid.offset, &path, *scale, purpose)?;
            let mut attributes = vec![("file", path)];
            if scale.x == scale.y && scale.y == scale.z {
                attributes.extend((scale.x != 1.0).then(|| real("scale", scale.x)));
            } else {
                attributes.extend([real("scaleX", scale.x), real("scaleY", scale.y), real("scaleZ", scale.z)]);
            }
            (if purpose == Purpose::Visual { "triangleMesh" } else { "convexHull" }, attributes)
        }
    };
    let mut shape = node(name, solid.offset, &attributes);
    shape.children.extend(pose_element(&solid.pose, solid.offset));
    Some(shape)
}

/// Triangles between points.
fn surface_of(points: &[DVec3], triangles: &[[u32; 3]], solid: &Solid) -> Node {
    let mut surface = Node { name: "triangleMesh".into(), ..hull_of(points, solid) };
    let corners: Vec<String> = triangles.iter().flatten().map(u32::to_string).collect();
    surface.children.insert(1, value("triangles", solid.offset, corners.join(" ")));
    surface
}

/// The convex hull of points.
fn hull_of(points: &[DVec3], solid: &Solid) -> Node {
    let text: Vec<String> = points.iter().map(|point| format!("{} {} {}", point.x, point.y, point.z)).collect();
    let mut hull = node("convexHull", solid.offset, &[]);
    hull.children.push(value("vertices", solid.offset, text.join("  ")));
    hull.children.extend(pose_element(&solid.pose, solid.offset));
    hull
}

/// True if the mesh can be used; an unusable one is omitted with a warning.
fn check_mesh(reading: &Reading, offset: usize, file: &str, scale: DVec3, purpose: Purpose) -> Option<()> {
    let path = reading.files.beside(reading.path, file, "robots");
    let wrong = match reading.mesh(&path) {
        Ok(mesh) if purpose == Purpose::Visual && mesh.triangles.is_empty() => {
            format!("the mesh '{file}' holds no triangles")
        }
        Ok(mesh) if purpose == Purpose::Visual => {
            tell_remark(reading, offset, &mesh);
            return Some(());
        }
        Ok(mesh) => {
            tell_remark(reading, offset, &mesh);
            let points: Vec<DVec3> = mesh.vertices.iter().map(|point| *point * scale).collect();
            if spans_space(&points) {
                return Some(());
            }
            format!("the mesh '{file}' encloses no volume")
        }
        Err(what) => {
            let near = reading
                .files
                .written_otherwise(&path)
                .map_or(String::new(), |near| format!("; did you mean '{near}'?"));
            format!("the mesh {what}{near}")
        }
    };
    reading.warn(offset, wrong, "the shape is left out".into());
    None
}

/// Warns once of a statement in a mesh file that has no effect here.
fn tell_remark(reading: &Reading, offset: usize, mesh: &Mesh) {
    if let Some(remark) = mesh.remark() {
        reading.warn_once(offset, remark.to_owned(), "save the mesh with Z_UP if it lies on its side".into());
    }
}

fn joint_element(joint: &Joint, name: &str, model: &Model, links: &[String]) -> Node {
    let kind = match joint.motion {
        Motion::Fixed | Motion::Free => "fixed",
        Motion::Turning => "hinge",
        Motion::Sliding => "slider",
        Motion::Planar => "planar",
        Motion::Ball => "ball",
    };
    let mut element = node("joint", joint.offset, &[("type", kind.into()), ("name", name.to_owned())]);
    element.children.push(value("parent", joint.offset, &links[joint.parent]));
    element.children.push(value("child", joint.offset, &links[joint.child]));
    let child = upright().then(&model.links[joint.child].pose);
    let anchor = child.point(joint.anchor);
    // Without the element it is the middle of the child.
    let at = ["x", "y", "z"].into_iter().zip(anchor.to_array());
    let at: Vec<_> = at
        .map(|(name, value)| (name, if value.abs() > NEGLIGIBLE_COORDINATE { digits(value) } else { "0".into() }))
        .collect();
    element.children.push(node("anchor", joint.offset, &at));
    let direction = |tag, axis| node(tag, joint.offset, &coordinates(child.direction(axis)));
    match joint.motion {
        Motion::Fixed | Motion::Free => return element,
        Motion::Ball => {}
        Motion::Planar => {
            let across = joint.axis.any_orthonormal_vector();
            element.children.push(direction("axis1", across));
            element.children.push(direction("axis3", joint.axis));
        }
        Motion::Turning | Motion::Sliding => element.children.push(direction("axis", joint.axis)),
    }
    let free = free_attributes(joint);
    if !free.is_empty() && joint.motion != Motion::Planar {
        element.children.push(node("free", joint.offset, &free));
    }
    element
}

/// The largest `maxRate` of the format, rad/s or m/s; files use 1e9 for none.
const UNBOUNDED_RATE: f64 = 1e6;

/// Stops, losses, spring and limits of a joint with one axis.
fn free_attributes(joint: &Joint) -> Vec<(&'static str, String)> {
    let mut free = Vec::new();
    let mut start = joint.initial;
    free.extend(joint.swing.map(|swing| ("swing", swing.to_string())));
    if let Some([lower, upper]) = joint.limits {
        free.extend([("lower", lower.to_string()), ("upper", upper.to_string())]);
        start = start.clamp(lower, upper);
    }
    let has_start = start != 0.0 && joint.motion != Motion::Ball;
    free.extend(has_start.then(|| ("initialPosition", start.to_string())));
    let losses = [
        ("damping", joint.damping),
        ("friction", joint.friction),
        ("stiffness", joint.stiffness),
        ("armature", joint.armature),
    ];
    free.extend(losses.into_iter().filter(|(_, loss)| *loss > 0.0).map(|(name, loss)| (name, loss.to_string())));
    if joint.stiffness > 0.0 && joint.spring_position != 0.0 {
        free.push(("springPosition", joint.spring_position.to_string()));
    }
    let max_rate = joint.max_rate.map(|rate| rate.min(UNBOUNDED_RATE));
    let bounds = [("maxEffort", joint.max_effort), ("maxRate", max_rate)];
    free.extend(bounds.into_iter().filter_map(|(name, bound)| Some((name, bound?.to_string()))));
    free
}
