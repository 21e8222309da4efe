//! A world file.

use std::collections::HashMap;

use bevy_math::DVec3;
use simpartner_model::{BodyId, Ground, GroundMesh, Mechanism, Plane, RobotId, Shape};
use simpartner_wire::signal::Port;

use super::{
    body::{optional_pose, read_material, vector},
    files, fluids, heightfield,
    import::{self, ImportOptions, Wanted},
    mechanism_parts,
    node::Node,
    point_shapes,
    reading::{Placeholders, Reading},
    robot::{self, Occupancy, Placement, RobotDraft, Totals},
    rocks, scenery,
    schema::{Element, GRAVITY, ROBOT},
    soil,
};
use crate::{
    World,
    device::GeographicOrigin,
    limits::{MAX_ALL_GRID_POINTS, MAX_GROUNDS},
    source::SourceFile,
    text::tree::child,
};

/// Reads the root of a world file with all files that it names. Unreadable parts are omitted; then there are problems.
pub(super) fn read(reading: &Reading, root: &Node) -> World {
    read_with_robot(reading, root, None)
}

/// The same with a robot file that has been read already: its path and text, and the robot.
pub(super) fn read_with_robot(reading: &Reading, root: &Node, mut prepared: Option<(SourceFile, RobotDraft)>) -> World {
    let mut world = World {
        name: reading.attribute_text(root, "name").unwrap_or_default().to_owned(),
        mechanism: Mechanism {
            gravity: child(root, "gravity").and_then(|node| vector(reading, node)).unwrap_or(GRAVITY),
            scenery: scenery::read_scenery(reading, root),
            ..Mechanism::default()
        },
        geographic_origin: child(root, "geographicOrigin")
            .and_then(|node| read_origin(reading, node))
            .unwrap_or_default(),
        magnetic_field: child(root, "magneticField").and_then(|node| vector(reading, node)),
        sources: vec![SourceFile::new(reading.path, reading.text)],
        ..World::default()
    };
    world.mechanism.fluids = fluids::read_fluids(reading, root, world.geographic_origin.altitude).unwrap_or_default();
    world.mechanism.grounds = read_grounds(reading, root, &mut world.sources);
    let parts = mechanism_parts::read(reading, &root.children, "object");
    world.mechanism.bodies = parts.bodies;
    world.mechanism.joints = parts.joints;
    let Mechanism { bodies, joints, .. } = &mut world.mechanism;
    robot::move_to_initial_positions(reading, root.offset, bodies, joints, &parts.couplings);
    rocks::scatter(reading, root, &mut world.mechanism);
    world.mechanism.couplings = parts.couplings;
    world.mechanism.apart = parts.apart;
    let totals = Totals::of(&world.mechanism.bodies, &world.mechanism.joints, &[]);
    totals.check(reading, root.offset);
    let mut drafts = HashMap::new();
    let mut taken = Occupancy { totals, ..Occupancy::default() };
    for node in root.children.iter().filter(|child| child.name == "robot") {
        place_robot(reading, node, &mut drafts, &mut prepared, &mut world, &mut taken);
    }
    check_divided_names(reading, root, &world);
    debug_assert!(world.mechanism.joints.iter().all(|joint| joint.child < BodyId::new(world.mechanism.bodies.len())));
    world
}

/// An object whose name has a slash is not called as a body of a robot.
fn check_divided_names(reading: &Reading, root: &Node, world: &World) {
    let objects = root.children.iter().filter(|child| child.name == "object");
    for (node, name) in objects.filter_map(|node| Some((node, reading.attribute_text(node, "name")?))) {
        let Some((robot, body)) = name.split_once('/') else { continue };
        let (mut robots, place) = (world.mechanism.robots.iter(), reading.attribute_offset(node, "name"));
        let known = robots.position(|known| known.name == robot).map(RobotId::new);
        if known.is_some_and(|known| world.mechanism.body_named(Some(known), body).is_some()) {
            let message = format!("'{name}' is a body of the robot '{robot}'");
            reading.problem_with_help(place, message, "give the object another name");
        }
    }
}

fn read_origin(reading: &Reading, node: &Node) -> Option<GeographicOrigin> {
    Some(GeographicOrigin {
        latitude: reading.attribute_real(node, "latitude")?.to_radians(),
        longitude: reading.attribute_real(node, "longitude")?.to_radians(),
        altitude: reading.attribute_real(node, "altitude")?,
        heading: reading.attribute_real(node, "heading")?,
    })
}

/// All grounds, in the order of the file.
fn read_grounds(reading: &Reading, root: &Node, sources: &mut Vec<SourceFile>) -> Vec<Ground> {
    let (mut grounds, mut points, soils) = (Vec::new(), 0, soil::read(reading, root));
    for node in &root.children {
        let mut ground: Option<Ground> = match node.name.as_str() {
            "surface" => read_plane(reading, node).map(Ground::from),
            "heightfield" => heightfield::read(reading, node, sources).map(Ground::from),
            "ground" => read_ground_mesh(reading, node).map(Ground::from),
            _ => continue,
        };
        if grounds.len() == MAX_GROUNDS {
            reading.problem(node.offset, format!("a world has at most {MAX_GROUNDS} grounds"));
            break;
        }
        if let Some(Ground::Heightfield(field)) = &ground {
            points += field.heights.len();
        }
        if points > MAX_ALL_GRID_POINTS {
            let message = format!("with this terrain there are more than {MAX_ALL_GRID_POINTS} grid points");
            reading.problem_with_help(node.offset, message, "give the terrains larger cells by cell");
            break;
        }
        if let Some(ground) = ground.as_mut() {
            ground.material_mut().soil = soils.of(reading, node);
        }
        grounds.extend(ground);
    }
    grounds
}

/// Triangles, placed by the element's pose.
fn read_ground_mesh(reading: &Reading, node: &Node) -> Option<GroundMesh> {
    let element = child(node, "triangleMesh")?;
    let Shape::TriangleMesh { mut vertices, triangles } = point_shapes::read_mesh(reading, element)? else {
        return None;
    };
    let pose = optional_pose(reading, element)?;
    vertices.iter_mut().for_each(|vertex| *vertex = pose.point(*vertex));
    let material = read_material(reading, node)?;
    Some(GroundMesh { vertices, triangles, material })
}

fn read_plane(reading: &Reading, node: &Node) -> Option<Plane> {
    let real = |name| reading.attribute_real(node, name);
    let normal = DVec3::new(real("a")?, real("b")?, real("c")?);
    let Some(unit) = normal.try_normalize() else {
        reading.problem(node.offset, "a, b and c of the surface plane are all zero, so it has no direction");
        return None;
    };
    Some(Plane { normal: unit, distance: real("d")? / normal.length(), material: read_material(reading, node)? })
}

/// Everything that the content of a robot from a file depends on: the file, the fixed base, and the name if a parameter
/// has it.
type DraftKey<'n> = (String, Option<&'n str>, Option<&'n str>);

/// The name of a placed robot if parameters may change the robot by it; empty for the name of its model.
fn name_for_parameters<'n>(reading: &Reading, node: &'n Node) -> Option<&'n str> {
    let parameters = &reading.session.parameters;
    match reading.attribute_text(node, "name") {
        None => Some(""),
        name => name.filter(|name| parameters.names_robot(name)),
    }
}

fn place_robot<'n>(
    reading: &Reading,
    node: &'n Node,
    drafts: &mut HashMap<DraftKey<'n>, Option<RobotDraft>>,
    prepared: &mut Option<(SourceFile, RobotDraft)>,
    world: &mut World,
    taken: &mut Occupancy,
) {
    let (Some(pose), Some(port_offset), Some(combined_port)) = (
        optional_pose(reading, node),
        reading.attribute_whole(node, "portOffset"),
        reading.attribute_whole(node, "combinedPort"),
    ) else {
        return;
    };
    let combined_port = Port::new(combined_port).map_err(|error| {
        reading.problem(reading.attribute_offset(node, "combinedPort"), format!("combinedPort: {error}"))
    });
    let Ok(combined_port) = combined_port else { return };
    let own;
    let draft = match reading.attribute_text(node, "file") {
        Some(file) => {
            let fixed_base = reading.attribute_text(node, "fixedBase");
            let draft = drafts
                .entry((file.to_owned(), fixed_base, name_for_parameters(reading, node)))
                .or_insert_with(|| read_robot_file(reading, node, file, prepared, &mut world.sources));
            draft.as_ref()
        }
        None => {
            own = read_own_robot(reading, node);
            own.as_ref()
        }
    };
    let Some(draft) = draft else { return };
    let name = reading.attribute_text(node, "name").unwrap_or(&draft.model).to_owned();
    if !taken.names.insert(name.clone()) {
        let place = reading.attribute_offset(node, "name");
        reading.problem_with_help(place, format!("there is a robot '{name}' already"), "give this one another name");
    }
    let initial = draft.read_initial(reading, node);
    let placement = Placement { name, pose, port_offset, combined_port, source: reading.source(node), initial };
    robot::place_in_world(reading, node.offset, draft, placement, world, taken);
}

/// A robot whose parts are in the world file.
fn read_own_robot(reading: &Reading, node: &Node) -> Option<RobotDraft> {
    if !node.children.iter().any(|child| child.name == "body") {
        let help = "name the file of a robot, or give it a <body>";
        reading.problem_with_help(node.offset, "<robot> has neither a file nor a body", help);
        return None;
    }
    if reading.attribute_text(node, "name").is_none() {
        reading.problem(node.offset, "a <robot> without a file lacks the attribute 'name'");
    }
    robot::read(reading, node, None)
}

fn read_robot_file(
    reading: &Reading,
    node: &Node,
    file: &str,
    prepared: &mut Option<(SourceFile, RobotDraft)>,
    sources: &mut Vec<SourceFile>,
) -> Option<RobotDraft> {
    let place = reading.attribute_offset(node, "file");
    const ROBOT_PARTS: [&str; 6] = ["body", "joint", "coupling", "exclude", "sensor", "actuator"];
    if let Some(part) = node.children.iter().find(|child| ROBOT_PARTS.contains(&child.name.as_str())) {
        reading.problem(part.offset, format!("<{}> stands in a <robot> that has a file; leave one out", part.name));
        return None;
    }
    let candidates = files::robot_candidates(reading.path, file);
    let Some(path) = reading.files.first(&candidates.each_ref().map(String::as_str)) else {
        let message = format!("there is no robot file '{file}'");
        reading.problem_with_help(place, message, format!("looked for {}", candidates.join(" and ")));
        return None;
    };
    if let Some((file, draft)) = prepared.take().filter(|(file, _)| file.path == path) {
        sources.push(file);
        keep_all(sources, &draft.sources);
        return Some(draft);
    }
    let text = reading.read_file(path).map_err(|problem| reading.push(problem)).ok()?;
    let draft = {
        let robot_file = reading.in_file(path, &text);
        let mut roots = reading.parse(path, &text).map_err(|problem| reading.push(problem)).ok()?;
        let fixed_base = reading.attribute_text(node, "fixedBase");
        if let Some(format) = import::Format::of(path, &roots) {
            let fixed_base = fixed_base == Some("true");
            let options = ImportOptions { fixed_base, wanted: Wanted::Robot, ..ImportOptions::default() };
            roots = vec![import::convert(&robot_file, format, roots, &options)?];
        } else if fixed_base.is_some() {
            let help = "fix a robot of ours by <static>true</static> in its root body";
            reading.problem_with_help(
                reading.attribute_offset(node, "fixedBase"),
                "fixedBase is for imported robots",
                help,
            );
            return None;
        }
        if roots.len() != 1 || roots[0].name != ROBOT {
            robot_file.problem(roots[0].offset, format!("expected a single <robot>, got <{}>", roots[0].name));
            return None;
        }
        robot_file.check(&mut roots[0], Element::by_id(ROBOT), Placeholders::Allowed);
        robot::read(&robot_file, &roots[0], reading.attribute_text(node, "name"))
    };
    sources.push(SourceFile::new(path, text));
    keep_all(sources, draft.as_ref().map_or(&[], |draft| &draft.sources));
    draft
}

fn keep_all(sources: &mut Vec<SourceFile>, included: &[SourceFile]) {
    for file in included {
        if !sources.contains(file) {
            sources.push(file.clone());
        }
    }
}
