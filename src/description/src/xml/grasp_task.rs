//! Files of grasp tasks.

use bevy_math::DVec3;
use simpartner_model::{
    BodyId, Conditions, Drive, DriveKind, Finger, GraspTask, JointAxis, Mechanism, RobotId, Sampling, SamplingMode,
    Suction, Timestep,
};

use super::{
    body,
    node::Node,
    reading::{Placeholders, Reading, is_given},
    schema::{Element, WORLD},
    world,
};
use crate::{GraspTaskFile, World, source::SourceFile, text::tree::child};

/// Targets of a file; each is a task of a second of computing.
const MAX_TARGETS: usize = 100_000;
/// Fingers of a gripper: more than any hand has joints.
const MAX_FINGERS: usize = 100;

/// Reads the root of a grasp task file. `None` if something in it is invalid.
pub(super) fn read(reading: &Reading, root: &Node) -> Option<GraspTaskFile> {
    let world = read_world(reading, root)?;
    let mechanism = &world.mechanism;
    let object = named(reading, root, "object", mechanism, None)?;
    let gripper = read_gripper(reading, root, mechanism)?;
    let of_gripper = |node: &Node| named(reading, node, "body", mechanism, Some(gripper));
    let tool = child(root, "tool")?;
    let suction = match child(root, "suction") {
        Some(node) => Some(Suction {
            cup: of_gripper(node)?,
            force: reading.attribute_real(node, "force")?,
            points: usize::try_from(reading.attribute_whole(node, "points")?).ok()?,
        }),
        None => None,
    };
    let fingers: Vec<&Node> = root.children.iter().filter(|child| child.name == "finger").collect();
    let targets: Vec<&Node> = root.children.iter().filter(|child| child.name == "target").collect();
    let bounds = [("fingers", fingers.len(), MAX_FINGERS), ("targets", targets.len(), MAX_TARGETS)];
    if let Some((what, count, most)) = bounds.into_iter().find(|(_, count, most)| count > most) {
        reading.problem(root.offset, format!("{count} {what}, at most {most} are taken"));
        return None;
    }
    if fingers.is_empty() && suction.is_none() {
        let help = "name its joints by <finger>, or its cup by <suction>";
        reading.problem_with_help(root.offset, "the gripper has nothing to grasp with", help);
        return None;
    }
    let vector = |tag: &str, default: DVec3| child(root, tag).map_or(Some(default), |node| body::vector(reading, node));
    let retract = vector("retract", DVec3::Y * 0.1)?;
    let task = GraspTask {
        name: reading.attribute_text(root, "name")?.to_owned(),
        object,
        gripper,
        tool: of_gripper(tool)?,
        tcp: body::optional_pose(reading, tool)?,
        fingers: fingers
            .into_iter()
            .map(|node| read_finger(reading, node, mechanism, gripper))
            .collect::<Option<_>>()?,
        suction,
        approach: vector("approach", DVec3::Z * 0.05)?,
        retract,
        acceleration: vector("acceleration", DVec3::ZERO)?,
        drive: child(root, "drive").map_or(Some(DEFAULT_DRIVE), |node| read_drive(reading, node))?,
        conditions: child(root, "conditions")
            .map_or_else(|| Some(Conditions::default()), |node| read_conditions(reading, node))?,
        sampling: child(root, "sampling").map_or(Some(DEFAULT_SAMPLING), |node| read_sampling(reading, node))?,
        targets: targets.into_iter().map(|node| body::pose_of(reading, node)).collect::<Option<_>>()?,
        timestep: Timestep::from_seconds(reading.attribute_real(root, "timestep")?)
            .map_err(|error| reading.problem(reading.attribute_offset(root, "timestep"), error.to_string()))
            .ok()?,
    };
    let sources = vec![SourceFile::new(reading.path, reading.text)];
    reading.is_sound().then_some(GraspTaskFile { world, task, sources })
}

/// RobWork's defaults.
const DEFAULT_DRIVE: Drive = Drive { kind: DriveKind::Kinematic, speed: 0.5, acceleration: 1.0 };
/// Without a `<sampling>`, as the table's defaults have it.
const DEFAULT_SAMPLING: Sampling = Sampling {
    mode: SamplingMode::Surface,
    distance: [0.02, 0.02],
    rotation_fault: false,
    tilt: std::f64::consts::PI,
    approach: None,
    friction: 0.5,
    opening: 0.1,
};

/// The world file that the tasks are for.
fn read_world(reading: &Reading, root: &Node) -> Option<World> {
    let given = reading.attribute_text(root, "world")?;
    let path = reading.files.beside(reading.path, given, "worlds");
    if !reading.files.has(&path) {
        let help = format!("looked for {path}");
        reading.problem_with_help(
            reading.attribute_offset(root, "world"),
            format!("there is no world file '{given}'"),
            help,
        );
        return None;
    }
    let refuse = |problem| reading.push(problem);
    let text = reading.read_file(&path).map_err(refuse).ok()?;
    let mut roots = reading.parse(&path, &text).map_err(refuse).ok()?;
    let file = reading.in_file(&path, &text);
    if roots.len() != 1 || roots[0].name != WORLD {
        file.problem(roots[0].offset, format!("expected a single <world>, got <{}>", roots[0].name));
        return None;
    }
    file.check(&mut roots[0], Element::by_id(WORLD), Placeholders::Unknown);
    let world = world::read(&file, &roots[0]);
    reading.is_sound().then_some(world)
}

/// The body that an attribute names, of a robot or among the objects.
fn named(
    reading: &Reading,
    node: &Node,
    attribute: &str,
    mechanism: &Mechanism,
    robot: Option<RobotId>,
) -> Option<BodyId> {
    let name = reading.attribute_text(node, attribute)?;
    let found = mechanism.body_named(robot, name);
    if found.is_none() {
        let of = robot.map_or("the world has no object", |_| "the gripper has no body");
        let known = mechanism.bodies.iter().filter(|body| body.robot == robot).map(|body| body.name.as_str());
        unknown(reading, reading.attribute_offset(node, attribute), format!("{of} '{name}'"), name, known);
    }
    found
}

fn unknown<'k>(
    reading: &Reading,
    place: usize,
    message: String,
    name: &str,
    known: impl Iterator<Item = &'k str> + Clone,
) {
    match reading.nearest(name, known.clone()) {
        Some(near) => reading.problem_with_help(place, message, format!("did you mean '{near}'?")),
        None => {
            let known: Vec<&str> = known.take(20).collect();
            let help =
                if known.is_empty() { "there is none".to_owned() } else { format!("it has {}", known.join(", ")) };
            reading.problem_with_help(place, message, help);
        }
    }
}

fn read_gripper(reading: &Reading, root: &Node, mechanism: &Mechanism) -> Option<RobotId> {
    let robots = &mechanism.robots;
    match reading.attribute_text(root, "gripper") {
        Some(name) => {
            let found = robots.iter().position(|robot| robot.name == name);
            if found.is_none() {
                let known = robots.iter().map(|robot| robot.name.as_str());
                unknown(
                    reading,
                    reading.attribute_offset(root, "gripper"),
                    format!("the world has no robot '{name}'"),
                    name,
                    known,
                );
            }
            found.map(RobotId::new)
        }
        None if robots.len() == 1 => Some(RobotId::new(0)),
        None => {
            let message = format!("the world has {} robots: which grasps?", robots.len());
            reading.problem_with_help(root.offset, message, "name it by the attribute gripper");
            None
        }
    }
}

fn read_finger(reading: &Reading, node: &Node, mechanism: &Mechanism, gripper: RobotId) -> Option<Finger> {
    let (name, place) = (reading.attribute_text(node, "joint")?, reading.attribute_offset(node, "joint"));
    let Some(id) = mechanism.joint_named(Some(gripper), name) else {
        let of = mechanism.joints.iter().filter(|joint| joint.robot == Some(gripper));
        unknown(
            reading,
            place,
            format!("the gripper has no joint '{name}'"),
            name,
            of.map(|joint| joint.name.as_str()),
        );
        return None;
    };
    let joint = mechanism.joint(id);
    if !joint.kind.has_axes() {
        reading.problem(place, format!("no axis of the {} joint '{name}' moves by itself", joint.kind.name()));
        return None;
    }
    let free: Vec<usize> = joint.free_coordinates().map(|(axis, _)| axis).collect();
    let number = if is_given(node, "axis") { Some(reading.attribute_whole(node, "axis")? as usize - 1) } else { None };
    let axis = match (number, &free[..]) {
        (None, [only]) => *only,
        (Some(number), free) if free.contains(&number) => number,
        _ => {
            let numbers: Vec<String> = free.iter().map(|axis| (axis + 1).to_string()).collect();
            let help = format!("give axis: {}", numbers.join(", "));
            reading.problem_with_help(
                reading.attribute_offset(node, "axis"),
                "which axis of the joint is meant?",
                help,
            );
            return None;
        }
    };
    let free = joint.axes[axis].free()?;
    let within = |what: &str| {
        let value = if is_given(node, what) { reading.attribute_real(node, what)? } else { free.initial_position };
        if !(free.lower..=free.upper).contains(&value) {
            let (lower, upper) = (free.lower, free.upper);
            reading.problem(
                reading.attribute_offset(node, what),
                format!("{what} is {value}, and the joint's stops are {lower} and {upper}"),
            );
        }
        Some(value)
    };
    Some(Finger {
        axis: JointAxis { joint: id, axis },
        open: within("open")?,
        closed: within("closed")?,
        max_effort: reading.attribute_real(node, "maxEffort")?,
    })
}

fn read_drive(reading: &Reading, node: &Node) -> Option<Drive> {
    let real = |name| reading.attribute_real(node, name);
    let kind = match reading.attribute_text(node, "type")? {
        "kinematic" => {
            if is_given(node, "bandwidth") {
                reading.problem(reading.attribute_offset(node, "bandwidth"), "a kinematic drive has no bandwidth");
            }
            DriveKind::Kinematic
        }
        _ => DriveKind::Dynamic { bandwidth: real("bandwidth")? },
    };
    Some(Drive { kind, speed: real("speed")?, acceleration: real("acceleration")? })
}

fn read_conditions(reading: &Reading, node: &Node) -> Option<Conditions> {
    let real = |name| reading.attribute_real(node, name);
    let whole = |name| reading.attribute_whole(node, name);
    Some(Conditions {
        period: real("period")?,
        arrival: real("arrival")?,
        settling: real("settling")?,
        rest_speed: real("restSpeed")?,
        rest_spin: real("restSpin")?,
        rest_count: u32::try_from(whole("restCount")?).ok()?,
        rest_time: real("restTime")?,
        grasp_limit: real("graspLimit")?,
        lift_arrival: real("liftArrival")?,
        lift_count: u32::try_from(whole("liftCount")?).ok()?,
        slip: real("slip")?,
        time_limit: real("timeLimit")?,
        step_limit: u64::try_from(whole("stepLimit")?).ok()?,
        farthest: real("farthest")?,
    })
}

fn read_sampling(reading: &Reading, node: &Node) -> Option<Sampling> {
    let real = |name| reading.attribute_real(node, name);
    let mode = SamplingMode::named(reading.attribute_text(node, "mode")?)?;
    let distance = [real("minDistance")?, real("maxDistance")?];
    if distance[0] > distance[1] {
        let [least, most] = distance;
        let message = format!("minDistance, {least} m, is above maxDistance, {most} m");
        let place = if is_given(node, "minDistance") { "minDistance" } else { "maxDistance" };
        reading.problem(reading.attribute_offset(node, place), message);
    }
    let of_another_mode = |names: &[&str], wanted: SamplingMode| {
        for name in names.iter().filter(|name| mode != wanted && is_given(node, name)) {
            let word = SamplingMode::WORDS[wanted as usize];
            reading.problem(reading.attribute_offset(node, name), format!("only the mode {word} has '{name}'"));
        }
    };
    of_another_mode(&["tilt"], SamplingMode::Surface);
    of_another_mode(&["friction", "opening"], SamplingMode::Antipodal);
    let approach = if is_given(node, "approachAngle") {
        let direction = DVec3::new(real("approachX")?, real("approachY")?, real("approachZ")?);
        let Some(direction) = direction.try_normalize() else {
            reading.problem(node.offset, "approachX, approachY and approachZ are all zero, so there is no direction");
            return None;
        };
        Some((direction, real("approachAngle")?))
    } else {
        None
    };
    Some(Sampling {
        mode,
        distance,
        rotation_fault: reading.attribute_text(node, "rotationFault")? == "true",
        tilt: if is_given(node, "tilt") { real("tilt")? } else { DEFAULT_SAMPLING.tilt },
        approach,
        friction: real("friction")?,
        opening: real("opening")?,
    })
}
