//! Events of robots that tip over or leave the ground. They follow from the states of steps and change none: neither the state's hash nor a
//! snapshot knows of them, so a run that goes on from a snapshot watches anew from there.

use std::collections::BTreeMap;

use bevy_math::{DQuat, DVec3};
use simpartner_model::{BodyId, Graph, Mechanism, RobotId, Shape, StepIndex, Timestep};
use simpartner_wire::signal::{Event, EventKind, Layout, StepRecord};

/// Cosine of the tilt beyond which a robot has tipped over, 60 degrees: no robot that we know stands or climbs at that, and one that leans so far
/// does not come back by itself.
const TIPPED: f64 = 0.5;
/// Cosine of the tilt within which it stands again, 45 degrees: one that rocks about the limit has tipped over once.
const UPRIGHT: f64 = std::f64::consts::FRAC_1_SQRT_2;
/// Seconds without contact after which a robot has left the ground. Falling takes it 5 cm in that time; a wheel that hops over a stone, or a
/// foot between two steps, is down again sooner.
const FLIGHT_S: f64 = 0.1;
/// The sum of contact forces within a robot is zero to rounding; a sum beyond this part of their lengths comes from outside.
const ROUNDING: f64 = 1e-9;

/// Watches the robots that stand or drive by themselves.
#[derive(Debug)]
pub(super) struct Balance {
    robots: Vec<Watched>,
    /// Opposite of gravity, a unit vector.
    up: DVec3,
    flight_steps: u64,
}

#[derive(Debug)]
struct Watched {
    name: String,
    base: BodyId,
    /// Which way was up in the model, base axes.
    up: DVec3,
    bodies: Vec<BodyId>,
    state: State,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    has_tipped: bool,
    /// The last step with a contact; `None` before the first, and once the flight is known.
    last_contact: Option<StepIndex>,
}

impl Balance {
    /// Watches the robots of a world in which things fall. A robot's base is the root of its joints' tree, its first body; one that is fixed, or
    /// whose base rolls itself (a ball, or a wheel by itself), is not watched.
    pub(super) fn new(mechanism: &Mechanism, timestep: Timestep) -> Self {
        let up = mechanism.gravity.try_normalize().map(|down| -down);
        let flight_steps = (FLIGHT_S / timestep.seconds()).ceil() as u64;
        let robots = up.map_or(Vec::new(), |up| watched(mechanism, up));
        Self { robots, up: up.unwrap_or(DVec3::Y), flight_steps }
    }

    /// Goes on with what was seen of the robots in another world, by their names.
    pub(super) fn carry_over(&mut self, before: &Self) {
        let before: BTreeMap<&str, State> =
            before.robots.iter().map(|robot| (robot.name.as_str(), robot.state)).collect();
        for robot in &mut self.robots {
            robot.state = before.get(robot.name.as_str()).copied().unwrap_or_default();
        }
    }

    /// Forgets what was seen, of a state that does not follow from it.
    pub(super) fn begin_anew(&mut self, layout: &Layout, values: &[f64]) {
        for robot in &mut self.robots {
            robot.state = State { has_tipped: robot.uprightness(layout, values, self.up) < TIPPED, last_contact: None };
        }
    }

    /// Adds the events of a step to its record.
    pub(super) fn watch(&mut self, layout: &Layout, timestep: Timestep, record: &mut StepRecord) {
        let (step, values, into) = (record.step, &record.values, &mut record.events);
        for robot in &mut self.robots {
            let uprightness = robot.uprightness(layout, values, self.up);
            if uprightness < TIPPED && !robot.state.has_tipped {
                robot.state.has_tipped = true;
                let tilt = libm::acos(uprightness.max(-1.0));
                let text = format!(
                    "it has tipped over: its base leans by {:.0} degrees from its pose in the model",
                    tilt.to_degrees()
                );
                into.push(robot.event(EventKind::TipOver, step, text, tilt));
            } else if uprightness > UPRIGHT {
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
                into.push(robot.event(EventKind::LeftGround, step, text, since));
            }
        }
    }
}

impl Watched {
    /// Cosine of the angle between what was up in the model and what is up now.
    fn uprightness(&self, layout: &Layout, values: &[f64], up: DVec3) -> f64 {
        let pose = &values[layout.pose(self.base)];
        let rotation = DQuat::from_xyzw(pose[3], pose[4], pose[5], pose[6]);
        (rotation * self.up).dot(up)
    }

    /// Whether anything but the robot itself, ground, soil or another body, exerts a force on it.
    fn is_touched(&self, layout: &Layout, values: &[f64]) -> bool {
        let forces = self.bodies.iter().map(|&body| DVec3::from_slice(&values[layout.wrench(body)]));
        let (sum, lengths) =
            forces.fold((DVec3::ZERO, 0.0), |(sum, lengths), force| (sum + force, lengths + force.abs().element_sum()));
        sum.abs().element_sum() > ROUNDING * lengths
    }

    fn event(&self, kind: EventKind, step: StepIndex, text: String, value: f64) -> Event {
        Event { step, kind, subject: self.name.clone(), text, value: Some(value) }
    }
}

fn watched(mechanism: &Mechanism, up: DVec3) -> Vec<Watched> {
    let forest = Graph::new(&mechanism.bodies, &mechanism.joints).spanning_forest();
    let watch = |(index, robot): (usize, &simpartner_model::Robot)| {
        let id = Some(RobotId::new(index));
        let of_robot = |body: &BodyId| mechanism.body(*body).robot == id;
        let bodies: Vec<BodyId> = mechanism.bodies().map(|(body, _)| body).filter(of_robot).collect();
        let tree = forest.trees.iter().find(|tree| tree.bodies().any(|body| Some(&body) == bodies.first()))?;
        let base = mechanism.body(tree.root);
        let stands = of_robot(&tree.root) && !base.fixed && !rolls(mechanism, tree.root, up);
        let name = robot.name.clone();
        stands.then(|| Watched {
            name,
            base: tree.root,
            up: base.pose.rotation.inverse() * up,
            bodies,
            state: State::default(),
        })
    };
    mechanism.robots.iter().enumerate().filter_map(watch).collect()
}

/// Whether a body is round about a level axis, or a ball.
fn rolls(mechanism: &Mechanism, body: BodyId, up: DVec3) -> bool {
    let body = mechanism.body(body);
    body.collision_shape().is_some_and(|placed| match placed.shape {
        Shape::Sphere { .. } => true,
        Shape::Cylinder { .. } | Shape::Capsule { .. } => {
            let axis = body.pose.rotation * placed.pose.rotation * DVec3::Y;
            axis.dot(up).abs() < UPRIGHT
        }
        _ => false,
    })
}
