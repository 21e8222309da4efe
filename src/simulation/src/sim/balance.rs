//! Events of robots that tip over or leave the ground. They are computed from the states of steps and do not affect
//! them. Neither the state's hash nor a snapshot contains this detection, so it restarts in a run that is restored from
//! a snapshot.

use std::collections::BTreeMap;

use bevy_math::{DQuat, DVec3};
use simpartner_model::{AXLE_TOLERANCE, BodyId, Graph, Mechanism, RobotId, Shape, StepIndex, Timestep};
use simpartner_wire::signal::{Event, EventKind, Layout, StepRecord};

/// Cosine of the tilt beyond which a robot has tipped over, 60 degrees. No robot that we know stands or climbs at that
/// tilt, and none returns from it by itself.
const TIPPED_COSINE: f64 = 0.5;

/// Cosine of the tilt below which a robot stands again, 45 degrees. Because of this hysteresis, a robot that rocks
/// about the limit tips over only once.
const UPRIGHT_COSINE: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// Time without contact after which a robot has left the ground, seconds. It falls 5 cm in that time. A wheel that hops
/// over a stone, or a foot between two steps, touches the ground again sooner.
const MIN_FLIGHT_S: f64 = 0.1;

/// Contact forces within a robot cancel up to rounding. A sum of contact forces above this fraction of the sum of their
/// lengths contains an external force.
const FORCE_ROUNDING: f64 = 1e-9;

/// Detection of falls and flights, for the robots that stand or drive by themselves.
#[derive(Debug)]
pub(super) struct Balance {
    robots: Vec<WatchedRobot>,
    /// Opposite of gravity, a unit vector.
    up: DVec3,
    /// [`MIN_FLIGHT_S`] in steps, rounded up.
    flight_steps: u64,
}

/// A robot whose balance is watched.
#[derive(Debug)]
struct WatchedRobot {
    name: String,
    base: BodyId,
    /// Upward direction in the model, in the axes of the base.
    up: DVec3,
    bodies: Vec<BodyId>,
    state: BalanceState,
}

#[derive(Debug, Clone, Copy, Default)]
struct BalanceState {
    has_tipped: bool,
    /// The last step with a contact; `None` before the first contact, and after the flight was reported.
    last_contact: Option<StepIndex>,
}

impl Balance {
    /// Watches the robots of a world with gravity. A robot's base is the root of the joint tree that contains its first
    /// body. Robots with a fixed base, or with a base that rolls itself (a ball, or a single wheel), are not watched.
    pub(super) fn new(mechanism: &Mechanism, timestep: Timestep) -> Self {
        let up = mechanism.gravity.try_normalize().map(|down| -down);
        let flight_steps = (MIN_FLIGHT_S / timestep.seconds()).ceil() as u64;
        let robots = up.map_or(Vec::new(), |up| watched_robots(mechanism, up));
        Self { robots, up: up.unwrap_or(DVec3::Y), flight_steps }
    }

    /// Takes over the states of robots with the same name from the previous world.
    pub(super) fn transfer_state(&mut self, before: &Self) {
        let before: BTreeMap<&str, BalanceState> =
            before.robots.iter().map(|robot| (robot.name.as_str(), robot.state)).collect();
        for robot in &mut self.robots {
            robot.state = before.get(robot.name.as_str()).copied().unwrap_or_default();
        }
    }

    /// Restarts the detection from a state that does not follow from the last step.
    pub(super) fn restart(&mut self, layout: &Layout, values: &[f64]) {
        for robot in &mut self.robots {
            robot.state = BalanceState {
                has_tipped: robot.uprightness(layout, values, self.up) < TIPPED_COSINE,
                last_contact: None,
            };
        }
    }

    /// Adds the events of a step to its record.
    pub(super) fn add_events(&mut self, layout: &Layout, timestep: Timestep, record: &mut StepRecord) {
        let (step, values, into) = (record.step, &record.values, &mut record.events);
        for robot in &mut self.robots {
            let uprightness = robot.uprightness(layout, values, self.up);
            if uprightness < TIPPED_COSINE && !robot.state.has_tipped {
                robot.state.has_tipped = true;
                let tilt = libm::acos(uprightness.max(-1.0));
                let text = format!(
                    "it has tipped over: its base leans by {:.0} degrees from its pose in the model",
                    tilt.to_degrees()
                );
                into.push(robot.new_event(EventKind::TipOver, step, text, tilt));
            } else if uprightness > UPRIGHT_COSINE {
                robot.state.has_tipped = false;
            }
            if robot.is_touched(layout, values) {
                robot.state.last_contact = Some(step);
            } else if let Some(last) = robot.state.last_contact
                && step.0 - last.0 >= self.flight_steps
            {
                robot.state.last_contact = None;
                let since = timestep.seconds_at(last);
                let text = format!("it has left the ground: nothing has touched it since {since} s");
                into.push(robot.new_event(EventKind::LeftGround, step, text, since));
            }
        }
    }
}

impl WatchedRobot {
    /// Cosine of the tilt: the angle between the base's upward direction in the model and the present vertical.
    fn uprightness(&self, layout: &Layout, values: &[f64], up: DVec3) -> f64 {
        let pose = &values[layout.pose(self.base)];
        let rotation = DQuat::from_xyzw(pose[3], pose[4], pose[5], pose[6]);
        (rotation * self.up).dot(up)
    }

    /// True if the ground, soil or a foreign body exerts a force on the robot.
    fn is_touched(&self, layout: &Layout, values: &[f64]) -> bool {
        let forces = self.bodies.iter().map(|&body| DVec3::from_slice(&values[layout.wrench(body)]));
        let (sum, lengths) =
            forces.fold((DVec3::ZERO, 0.0), |(sum, lengths), force| (sum + force, lengths + force.abs().element_sum()));
        sum.abs().element_sum() > FORCE_ROUNDING * lengths
    }

    fn new_event(&self, kind: EventKind, step: StepIndex, text: String, value: f64) -> Event {
        Event { step, kind, subject: self.name.clone(), text, value: Some(value) }
    }
}

/// The robots that stand or drive by themselves.
fn watched_robots(mechanism: &Mechanism, up: DVec3) -> Vec<WatchedRobot> {
    let forest = Graph::new(&mechanism.bodies, &mechanism.joints).spanning_forest();
    let watch = |(index, robot): (usize, &simpartner_model::Robot)| {
        let id = Some(RobotId::new(index));
        let of_robot = |body: &BodyId| mechanism.body(*body).robot == id;
        let bodies: Vec<BodyId> = mechanism.bodies().map(|(body, _)| body).filter(of_robot).collect();
        let tree = forest.trees.iter().find(|tree| tree.bodies().any(|body| Some(&body) == bodies.first()))?;
        let base = mechanism.body(tree.root);
        let stands = of_robot(&tree.root) && !base.fixed && !is_rolling_shape(mechanism, tree.root, up);
        let name = robot.name.clone();
        stands.then(|| WatchedRobot {
            name,
            base: tree.root,
            up: base.pose.rotation.inverse() * up,
            bodies,
            state: BalanceState::default(),
        })
    };
    mechanism.robots.iter().enumerate().filter_map(watch).collect()
}

/// True if a body is a sphere, or a cylinder, capsule or spheroid whose axis is less than 45 degrees from level.
fn is_rolling_shape(mechanism: &Mechanism, body: BodyId, up: DVec3) -> bool {
    let body = mechanism.body(body);
    body.collision_shape().is_some_and(|placed| match placed.shape {
        Shape::Sphere { .. } => true,
        Shape::Cylinder { .. } | Shape::Capsule { .. } => {
            let axis = body.pose.rotation * placed.pose.rotation * DVec3::Y;
            axis.dot(up).abs() < UPRIGHT_COSINE
        }
        Shape::Ellipsoid { .. } => {
            let level = |axis: DVec3| (body.pose.rotation * placed.pose.rotation * axis).dot(up).abs() < UPRIGHT_COSINE;
            DVec3::AXES.into_iter().any(|axis| placed.shape.is_round_about(axis, AXLE_TOLERANCE) && level(axis))
        }
        _ => false,
    })
}
