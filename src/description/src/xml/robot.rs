//! A robot file, and a robot's place in a world.

use std::collections::{HashMap, HashSet};

use simpartner_model::{
    Axis, Body, BodyId, Coupling, FreeAxis, Graph, Joint, JointAxis, JointId, OpenLoop, Pose, Robot, RobotId,
    close_loops,
};
use simpartner_wire::signal::Port;

use super::{
    assembly::{self, Expanded},
    coupling::joint_axis,
    device, mechanism_parts,
    name_table::NameTable,
    node::Node,
    reading::{Reading, is_given},
};
use crate::{
    World,
    device::{Device, DeviceSpec},
    limits::{MAX_ALL_PIXELS, MAX_ALL_RAYS, MAX_BODIES, MAX_DEVICES, MAX_SHAPE_POINTS, MAX_VISUAL_POINTS},
    source::SourceFile,
};

/// A robot as its file describes it, in its own frame, ids counted within it.
#[derive(Debug)]
pub(super) struct RobotDraft {
    pub(super) model: String,
    self_collision: bool,
    bodies: Vec<Body>,
    joints: Vec<Joint>,
    pub(super) joint_names: NameTable,
    couplings: Vec<Coupling>,
    apart: Vec<[BodyId; 2]>,
    devices: Vec<Device>,
    totals: Totals,
    /// The files that it includes.
    pub(super) sources: Vec<SourceFile>,
}

/// Reads the root of a robot file. `name` is the robot's name in its world, by which parameters name it; `None` for the
/// name of its model. The result is `None` if the model's name is missing; other problems leave parts out.
pub(super) fn read(reading: &Reading, root: &Node, name: Option<&str>) -> Option<RobotDraft> {
    let name = name.or_else(|| reading.attribute_text(root, "name")).unwrap_or_default();
    let Expanded { members, sources } = assembly::place_assemblies(reading, root, name);
    let mut parts = mechanism_parts::read(reading, &members, "body");
    let devices = device::read_all(reading, &members, &mut parts);
    if parts.complete {
        check_connected(reading, root, &parts);
    }
    Some(RobotDraft {
        model: reading.attribute_text(root, "name")?.to_owned(),
        self_collision: reading.attribute_text(root, "selfCollision")? == "true",
        totals: Totals::of(&parts.bodies, &parts.joints, &devices),
        bodies: parts.bodies,
        joints: parts.joints,
        joint_names: parts.joint_names,
        couplings: parts.couplings,
        apart: parts.apart,
        devices,
        sources,
    })
}

/// A robot is complete if joints connect all its bodies (thesis 3.6). Those that are fixed stand on one ground, which
/// connects what joints hold on them.
fn check_connected(reading: &Reading, root: &Node, parts: &mechanism_parts::MechanismParts) {
    let mut trees = Graph::new(&parts.bodies, &parts.joints).spanning_forest().trees;
    let is_base = |body: BodyId| {
        let has_joint = || parts.joints.iter().any(|joint| [joint.parent, joint.child].contains(&body));
        parts.bodies[body.index()].fixed && has_joint()
    };
    let mut bases = 0;
    trees.retain(|tree| {
        bases += usize::from(is_base(tree.root));
        bases < 2 || !is_base(tree.root)
    });
    match &trees[..] {
        [] => reading.problem(root.offset, "the robot has no body"),
        [_] => {}
        many => {
            let named = |body: BodyId| parts.bodies[body.index()].name.as_str();
            let groups = many.iter().map(|tree| tree.bodies().map(named).collect::<Vec<_>>().join(", "));
            let message = format!("the robot falls into {} parts that no joint connects", many.len());
            reading.problem_with_help(root.offset, message, groups.collect::<Vec<_>>().join(" | "));
        }
    }
}

/// Pose, name and ports of a robot in a world.
pub(super) struct Placement {
    pub(super) name: String,
    pub(super) pose: Pose,
    pub(super) port_offset: i64,
    pub(super) combined_port: Port,
    pub(super) source: String,
    /// Initial positions of axes, in place of the file's.
    pub(super) initial: Vec<Initial>,
}

/// Initial position and rate of an axis.
#[derive(Debug, Clone, Copy)]
pub(super) struct Initial {
    pub(super) axis: JointAxis,
    pub(super) position: Option<f64>,
    pub(super) rate: Option<f64>,
}

/// Names, ports and totals in use in a world.
#[derive(Default)]
pub(super) struct Occupancy {
    /// Names of robots.
    pub(super) names: HashSet<String>,
    /// Whose each port is.
    pub(super) ports: HashMap<u16, String>,
    pub(super) totals: Totals,
}

/// Totals of a world that cost memory and time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Totals {
    bodies: usize,
    joints: usize,
    devices: usize,
    rays: usize,
    pixels: usize,
    points: usize,
    visual_points: usize,
}

impl Totals {
    pub(super) fn of(bodies: &[Body], joints: &[Joint], devices: &[Device]) -> Self {
        let rays = |device: &Device| match &device.spec {
            DeviceSpec::Sensor(sensor) => sensor.rays().map_or(0, |rays| rays.rays * rays.layers),
            DeviceSpec::Actuator(_) | DeviceSpec::Vehicle(_) => 0,
        };
        let pixels = |device: &Device| match &device.spec {
            DeviceSpec::Sensor(sensor) => sensor.camera().map_or(0, |camera| camera.optics.pixels()),
            DeviceSpec::Actuator(_) | DeviceSpec::Vehicle(_) => 0,
        };
        let visuals = bodies.iter().flat_map(|body| &body.visuals);
        let shapes = bodies.iter().flat_map(|body| [&body.shape, &body.collision]).flatten();
        Self {
            bodies: bodies.len(),
            joints: joints.len(),
            devices: devices.len(),
            rays: devices.iter().map(rays).sum(),
            pixels: devices.iter().map(pixels).sum(),
            points: shapes.map(|placed| placed.shape.points()).sum(),
            visual_points: visuals.map(|visual| visual.placed.shape.points()).sum(),
        }
    }

    fn with(&self, other: &Self) -> Self {
        Self {
            bodies: self.bodies + other.bodies,
            joints: self.joints + other.joints,
            devices: self.devices + other.devices,
            rays: self.rays + other.rays,
            pixels: self.pixels + other.pixels,
            points: self.points + other.points,
            visual_points: self.visual_points + other.visual_points,
        }
    }

    /// The first total beyond its bound: its name, its value and the bound.
    fn excess(&self) -> Option<(&'static str, usize, usize)> {
        let bounds = [
            ("bodies", self.bodies, MAX_BODIES),
            ("joints", self.joints, MAX_BODIES),
            ("devices", self.devices, MAX_DEVICES),
            ("rays of scanners", self.rays, MAX_ALL_RAYS),
            ("pixels of cameras", self.pixels, MAX_ALL_PIXELS),
            ("points and triangles of shapes", self.points, MAX_SHAPE_POINTS),
            ("points and triangles of visuals", self.visual_points, MAX_VISUAL_POINTS),
        ];
        bounds.into_iter().find(|(_, count, most)| count > most)
    }

    /// Reports a total beyond its limit as a problem at `offset`; false if there is one.
    pub(super) fn check(&self, reading: &Reading, offset: usize) -> bool {
        let excess = self.excess();
        if let Some((what, count, most)) = excess {
            reading.problem(offset, format!("with this there are {count} {what}, at most {most} are taken"));
        }
        excess.is_none()
    }
}

impl RobotDraft {
    /// The `<initial>` elements of a placement.
    pub(super) fn read_initial(&self, reading: &Reading, node: &Node) -> Vec<Initial> {
        let read = |given: &Node| {
            let axis = joint_axis(reading, given, (&self.joint_names, &self.joints), "joint", "axis")?;
            let number =
                |name| if is_given(given, name) { reading.attribute_real(given, name).map(Some) } else { Some(None) };
            Some(Initial { axis, position: number("position")?, rate: number("rate")? })
        };
        node.children.iter().filter(|child| child.name == "initial").filter_map(read).collect()
    }

    /// Its bodies and joints in its own frame, at the initial positions.
    fn at_initial_positions(&self, reading: &Reading, offset: usize, initial: &[Initial]) -> (Vec<Body>, Vec<Joint>) {
        let (mut bodies, mut joints) = (self.bodies.clone(), self.joints.clone());
        for &Initial { axis: JointAxis { joint, axis }, position, rate } in initial {
            let joint = &mut joints[joint.index()];
            let Axis::Free(free) = &mut joint.axes[axis] else { continue };
            free.initial_position = position.unwrap_or(free.initial_position);
            free.initial_rate = rate.or(free.initial_rate);
            if !(free.lower..=free.upper).contains(&free.initial_position) {
                let (name, FreeAxis { lower, upper, initial_position, .. }) = (&joint.name, free);
                let message =
                    format!("joint '{name}' cannot begin at {initial_position}: its stops are {lower} and {upper}");
                reading.problem(offset, message);
            }
        }
        move_to_initial_positions(reading, offset, &mut bodies, &mut joints, &self.couplings);
        (bodies, joints)
    }
}

/// Moves bodies and joints to the initial positions, and closes loops; loops that cannot be closed are problems at
/// `offset`.
pub(super) fn move_to_initial_positions(
    reading: &Reading,
    offset: usize,
    bodies: &mut [Body],
    joints: &mut [Joint],
    couplings: &[Coupling],
) {
    let position = |joints: &[Joint], JointAxis { joint, axis }: JointAxis| {
        joints[joint.index()].axes[axis].free().map_or(0.0, |free| free.initial_position)
    };
    let given = joints.to_vec();
    match close_loops(bodies, joints, couplings) {
        Ok(changed) => {
            for axis in changed {
                let name = &joints[axis.joint.index()].name;
                let [was, is] = [position(&given, axis), position(joints, axis)];
                let what = format!("joint '{name}' cannot begin at {was}: its loop does not close there");
                reading.warn(offset, what, format!("it begins at {is}"));
            }
        }
        Err(OpenLoop { joint, distance, angle }) => {
            let name = &joints[joint.index()].name;
            let message = format!(
                "the loop at joint '{name}' cannot be closed: it stays open by {distance:.2e} m and {angle:.2e} rad"
            );
            let help = "no positions within the stops of its joints were found that close it; look at stops and initial positions";
            reading.problem_with_help(offset, message, help);
        }
    }
}

/// Puts a robot into the world. Ports that another robot has are problems at `offset`.
pub(super) fn place_in_world(
    reading: &Reading,
    offset: usize,
    draft: &RobotDraft,
    placement: Placement,
    world: &mut World,
    taken: &mut Occupancy,
) {
    let totals = taken.totals.with(&draft.totals);
    if !totals.check(reading, offset) {
        return;
    }
    taken.totals = totals;
    let robot = RobotId::new(world.mechanism.robots.len());
    let (first_body, first_joint) = (world.mechanism.bodies.len(), world.mechanism.joints.len());
    let body_id = |body: BodyId| BodyId::new(first_body + body.index());
    let joint_id = |joint: JointId| JointId::new(first_joint + joint.index());
    let pose = placement.pose;
    let (bodies, joints) = draft.at_initial_positions(reading, offset, &placement.initial);
    world.mechanism.bodies.extend(bodies.into_iter().map(|body| Body {
        robot: Some(robot),
        pose: pose.then(&body.pose),
        linear_velocity: pose.direction(body.linear_velocity),
        angular_velocity: pose.direction(body.angular_velocity),
        ..body
    }));
    world.mechanism.joints.extend(joints.into_iter().map(|joint| Joint {
        robot: Some(robot),
        parent: body_id(joint.parent),
        child: body_id(joint.child),
        anchor: pose.point(joint.anchor),
        frame: (pose.rotation * joint.frame).normalize(),
        ..joint
    }));
    world.mechanism.apart.extend(draft.apart.iter().map(|pair| pair.map(body_id)));
    let moved = |axis: JointAxis| JointAxis { joint: joint_id(axis.joint), ..axis };
    world.mechanism.couplings.extend(draft.couplings.iter().map(|coupling| Coupling {
        leader: moved(coupling.leader),
        follower: moved(coupling.follower),
        ..coupling.clone()
    }));
    for device in &draft.devices {
        let Some(port) = shifted_port(reading, offset, device, placement.port_offset) else { continue };
        let whose = format!("'{}' of '{}'", device.name, placement.name);
        claim_port(reading, offset, port, whose, "give the robots different values of portOffset", taken);
        let spec = device.spec.clone().moved(body_id, joint_id);
        world.devices.push(Device { robot, port, spec, ..device.clone() });
    }
    let Placement { name, combined_port, source, .. } = placement;
    let whose = format!("combinedPort of '{name}'");
    claim_port(reading, offset, combined_port, whose, "choose another port, or 0 for a free one", taken);
    let (model, self_collision) = (draft.model.clone(), draft.self_collision);
    world.mechanism.robots.push(Robot { name, model, self_collision, source });
    world.combined_ports.push(combined_port);
}

/// A port that two want is a problem.
fn claim_port(reading: &Reading, offset: usize, port: Port, whose: String, help: &'static str, taken: &mut Occupancy) {
    if port != Port::ANY
        && let Some(first) = taken.ports.insert(port.number(), whose.clone())
    {
        let message = format!("{whose} has port {port}, which is that of {first} already");
        reading.problem_with_help(offset, message, help);
    }
}

/// The device's port in this placement.
fn shifted_port(reading: &Reading, offset: usize, device: &Device, port_offset: i64) -> Option<Port> {
    if device.port == Port::ANY {
        return Some(Port::ANY);
    }
    let shifted = i64::from(device.port.number()) + port_offset;
    Port::new(shifted)
        .map_err(|error| reading.problem(offset, format!("'{}' with portOffset {port_offset}: {error}", device.name)))
        .ok()
}
