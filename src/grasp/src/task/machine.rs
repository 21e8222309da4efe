//! The four states of a task.

use bevy_math::{DMat3, DVec2, DVec3};
use simpartner_dynamics::{ContactPoint, Engine, Guard, Motor, Servo, Wrench};
use simpartner_model::{BodyId, Contact, ContactKind, DriveKind, Grasp, Patch, Pose};

use super::{Measures, Outcome, Scene, Status, TaskContact};
use crate::{
    quality::{Options, quality},
    statics::{Section, Statics},
};

/// Contacts with a smaller normal force are open, N.
const TOUCHES: f64 = 1e-6;
/// Points nearer to each other than this, m, with normals that differ by less than that, are one: what rests moves less in a step.
const SAME: f64 = 1e-6;
const SAME_NORMAL: f64 = 1e-4;
/// A cup's lip that is nearer than this to the object seals there, m: what a lip of rubber makes up for.
const SEALS: f64 = 1e-4;
/// The largest effort of a kinematic slide, N: more than anything resists.
const UNBOUNDED: f64 = 1e9;
/// The lift result is 1 for no slip and 0 for this, m (RobWork).
const NO_RESULT: f64 = 0.02;
/// How exactly the measures are bounded in tasks: there are thousands of them, and the seed of a grasp makes more of a difference.
const OPTIONS: Options = Options {
    norm: crate::quality::Norm::L1,
    scaling: crate::quality::Scaling::Unit,
    torque_scale: None,
    tolerance: 0.01,
    volume_tolerance: 0.3,
    facets: 5_000,
};

/// What the gripper does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is at its start.
    NewGrasp,
    /// It moves to its target, open.
    Approach,
    /// It closes.
    Grasping,
    /// It lifts.
    Lifting,
}

/// A task under way: what drives the gripper before each step of an engine, and what follows from each.
pub struct Machine {
    state: State,
    outcome: Outcome,
    ended: bool,
    /// Where the tool began, world frame, and what takes displacements from there to the slides.
    start: Pose,
    slides_from_world: DMat3,
    object_home: DVec3,
    /// Where the tool is wanted now and in the end, as displacements from its start, and how fast it goes there, m/s.
    setpoint: DVec3,
    /// The setpoint before this step.
    before: DVec3,
    goal: DVec3,
    speed: f64,
    step: u64,
    /// When conditions are looked at next, s.
    next_look: f64,
    rest_count: u32,
    rest_since: Option<f64>,
    lift_count: u32,
    /// The mean of the contacts before the lift, object frame.
    middle: DVec3,
    /// Whether the suction cup was sealed in the last step.
    sealed: bool,
}

impl Machine {
    /// A task at its start.
    pub fn new(scene: &Scene, target: &Pose) -> Self {
        let start = scene.start(target);
        Self {
            state: State::NewGrasp,
            outcome: Outcome::of(Status::TimeOut, target),
            ended: false,
            start,
            slides_from_world: scene.slides_from_world(target),
            object_home: scene.object().pose.translation,
            setpoint: DVec3::ZERO,
            before: DVec3::ZERO,
            goal: DVec3::ZERO,
            speed: 0.0,
            step: 0,
            next_look: 0.0,
            rest_count: 0,
            rest_since: None,
            lift_count: 0,
            middle: DVec3::ZERO,
            sealed: false,
        }
    }

    /// What it does.
    pub fn state(&self) -> State {
        self.state
    }

    /// Whether there is nothing more to do.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// What came of it.
    pub fn finish(self) -> Outcome {
        self.outcome
    }

    fn time(&self, scene: &Scene) -> f64 {
        self.step as f64 * scene.task().timestep.seconds()
    }

    /// Sets motors and pushes for the next step.
    pub fn before_step(&mut self, scene: &Scene, engine: &mut dyn Engine) {
        if self.state == State::NewGrasp {
            self.goal = self.start.direction(scene.task().approach);
            self.state = State::Approach;
        }
        let closed = matches!(self.state, State::Grasping | State::Lifting);
        for finger in &scene.task().fingers {
            let target = if closed { finger.closed } else { finger.open };
            let motor = Motor::Position { target, max_effort: finger.max_effort };
            engine.drive(finger.axis.joint, finger.axis.axis, motor);
        }
        self.advance(scene);
        self.drive(scene, engine);
        if self.state == State::Lifting {
            let object = scene.object_mass();
            let force = scene.task().acceleration * object.mass;
            let wrench = Wrench { force, torque: DVec3::ZERO };
            engine.push(scene.task().object, object.centre_of_mass, wrench);
        }
        self.suck(scene, engine);
    }

    /// Moves the setpoint on by a step: faster, or so slow that it can still stop at the goal. The way is that of a speed that changes evenly in the
    /// step, as the engine moves what is driven.
    fn advance(&mut self, scene: &Scene) {
        let (drive, dt) = (scene.task().drive, scene.task().timestep.seconds());
        let left = self.goal - self.setpoint;
        let (distance, begin) = (left.length(), self.speed);
        self.before = self.setpoint;
        // At this speed a stop behind this step takes just the way that is left.
        let lag = drive.acceleration * dt / 2.0;
        let square = lag * lag + 2.0 * drive.acceleration * (distance - begin * dt / 2.0);
        let stops = (square.max(0.0).sqrt() - lag).max(0.0);
        self.speed = (begin + drive.acceleration * dt).min(drive.speed).min(stops);
        let way = (begin + self.speed) / 2.0 * dt;
        // What is left within a nanometre counts as none, for the stop would take forever.
        if distance - way < 1e-9 {
            (self.setpoint, self.speed) = (self.goal, 0.0);
        } else {
            self.setpoint += left * (way / distance);
        }
    }

    /// Sets the motors of the slides.
    fn drive(&self, scene: &Scene, engine: &mut dyn Engine) {
        let dt = scene.task().timestep.seconds();
        let [wanted, before] = [self.setpoint, self.before].map(|place| self.slides_from_world * place);
        let direction = (self.goal - self.setpoint).normalize_or_zero();
        let rates = self.slides_from_world * (direction * self.speed);
        // The generalised force of gravity along each slide, by the slide's own mass.
        let along = self.slides_from_world.inverse().transpose() * scene.gravity();
        for (number, slide) in scene.slides().iter().enumerate() {
            let (joint, axis) = (slide.axis.joint, slide.axis.axis);
            let motor = match scene.task().drive.kind {
                DriveKind::Kinematic => {
                    // The speed of the ramp at the end of the step, and what brings back what rounding has left.
                    let off = before[number] - engine.joint(joint).position[axis];
                    Motor::Velocity { target: rates[number] + off / dt, max_effort: UNBOUNDED }
                }
                DriveKind::Dynamic { bandwidth } => {
                    let frequency = std::f64::consts::TAU * bandwidth;
                    let stiffness = slide.mass * frequency * frequency;
                    Motor::Servo(Servo {
                        // The spring is set so far off that it carries the hand's own weight.
                        position: wanted[number] - slide.mass * along[number] / stiffness,
                        rate: rates[number],
                        stiffness,
                        damping: 2.0 * slide.mass * frequency,
                        max_effort: UNBOUNDED,
                    })
                }
            };
            engine.drive(joint, axis, motor);
        }
    }

    /// Lets a sealed cup and the object pull at each other.
    fn suck(&self, scene: &Scene, engine: &mut dyn Engine) {
        let Some(suction) = scene.task().suction.filter(|_| self.sealed) else { return };
        let tcp = engine.body(scene.task().tool).pose.then(&scene.task().tcp);
        let force = tcp.direction(DVec3::Z) * suction.force;
        for (body, force) in [(scene.task().object, -force), (suction.cup, force)] {
            let point = engine.body(body).pose.inverse().point(tcp.translation);
            engine.push(body, point, Wrench { force, torque: DVec3::ZERO });
        }
    }

    /// Looks at the step that was made.
    pub fn after_step(&mut self, scene: &Scene, engine: &dyn Engine) {
        self.step += 1;
        let time = self.time(scene);
        self.outcome.times.steps = self.step;
        self.outcome.times.ended = time;
        for notice in engine.notices() {
            *self.outcome.notices.entry(format!("{:?}", notice.guard)).or_default() += 1;
            if notice.guard == Guard::Divergence {
                return self.end(Status::SimulationFailure, Some(notice.text.clone()));
            }
        }
        if let Some(suction) = scene.task().suction {
            let seals = |contact: &ContactPoint, finger| finger == suction.cup && contact.gap < SEALS;
            let points = between(scene, engine).filter(|(contact, finger, _)| seals(contact, *finger)).count();
            self.sealed = points >= suction.points;
        }
        let conditions = scene.task().conditions;
        if self.state == State::Approach && !self.outcome.touched_on_the_way {
            self.outcome.touched_on_the_way = touching(scene, engine).next().is_some();
        }
        if time + 1e-12 < self.next_look {
            return;
        }
        self.next_look += conditions.period;
        let object = engine.body(scene.task().object).pose.translation;
        let away = object.distance(self.object_home);
        if away.is_nan() || away > conditions.farthest {
            return self.end(Status::SimulationFailure, Some(format!("the object is {away:.1} m from where it began")));
        }
        if time > conditions.time_limit {
            return self
                .end(Status::TimeOut, Some(format!("more than {} s, in {:?}", conditions.time_limit, self.state)));
        }
        if self.step >= conditions.step_limit {
            return self.end(Status::TimeOut, Some(format!("{} steps, in {:?}", self.step, self.state)));
        }
        match self.state {
            State::NewGrasp => {}
            State::Approach => self.after_approach(scene, engine, time),
            State::Grasping => self.after_grasp(scene, engine, time),
            State::Lifting => self.after_lift(scene, engine),
        }
    }

    fn end(&mut self, status: Status, cause: Option<String>) {
        (self.outcome.status, self.outcome.cause, self.ended) = (status, cause, true);
    }

    /// How far the tool is from its goal, m.
    fn distance(&self, scene: &Scene, engine: &dyn Engine) -> f64 {
        let tcp = engine.body(scene.task().tool).pose.then(&scene.task().tcp);
        (tcp.translation - self.start.translation).distance(self.goal)
    }

    fn after_approach(&mut self, scene: &Scene, engine: &dyn Engine, time: f64) {
        if self.distance(scene, engine) < scene.task().conditions.arrival {
            self.outcome.times.approached = Some(time);
            self.outcome.approach = Some(object_in_tool(scene, engine).to_array());
            self.state = State::Grasping;
        }
    }

    fn after_grasp(&mut self, scene: &Scene, engine: &dyn Engine, time: f64) {
        let conditions = scene.task().conditions;
        let since = time - self.outcome.times.approached.unwrap_or_default();
        if since < conditions.settling {
            return;
        }
        let rests = scene.task().fingers.iter().all(|finger| {
            let rate = engine.joint(finger.axis.joint).rate[finger.axis.axis].abs();
            rate < if scene.is_linear(finger.axis) { conditions.rest_speed } else { conditions.rest_spin }
        });
        // A cup has no fingers; it is done when it is sealed.
        let rests = rests && (scene.task().suction.is_none() || self.sealed);
        self.rest_count = if rests { self.rest_count + 1 } else { 0 };
        self.rest_since = match self.rest_count {
            0 => None,
            3 => Some(time),
            _ => self.rest_since,
        };
        let rested = self.rest_count > conditions.rest_count
            && self.rest_since.is_some_and(|since| time - since >= conditions.rest_time);
        if !rested && time <= conditions.grasp_limit {
            return;
        }
        let contacts = contacts(scene, engine);
        self.outcome.times.grasped = Some(time);
        self.outcome.fingers = fingers(scene, engine);
        let grasp = object_in_tool(scene, engine);
        self.outcome.grasp = Some(grasp.to_array());
        if contacts.is_empty() {
            return self.end(Status::ObjectMissed, None);
        }
        let positions = contacts.iter().map(|contact| DVec3::from(contact.position));
        self.middle = positions.sum::<DVec3>() / contacts.len() as f64;
        self.outcome.quality = measure(scene, &contacts);
        self.outcome.contacts = contacts;
        self.goal += scene.task().retract;
        self.state = State::Lifting;
    }

    fn after_lift(&mut self, scene: &Scene, engine: &dyn Engine) {
        let conditions = scene.task().conditions;
        let arrived = self.distance(scene, engine) < conditions.lift_arrival;
        self.lift_count = if arrived { self.lift_count + 1 } else { 0 };
        if self.lift_count <= conditions.lift_count {
            return;
        }
        let contacts = contacts(scene, engine);
        self.outcome.fingers_after = fingers(scene, engine);
        let lift = object_in_tool(scene, engine);
        self.outcome.lift = Some(lift.to_array());
        if contacts.is_empty() {
            return self.end(Status::ObjectDropped, None);
        }
        let before = self.outcome.grasp.map(pose_of).unwrap_or_default();
        let slip = lift.point(self.middle).distance(before.point(self.middle));
        self.outcome.slip = Some(slip);
        self.outcome.lift_result = Some((1.0 - slip / NO_RESULT).max(0.0));
        self.outcome.quality_after = measure(scene, &contacts);
        self.outcome.contacts_after = contacts;
        self.end(if slip < conditions.slip { Status::Success } else { Status::ObjectSlipped }, None);
    }
}

/// A pose from the numbers of [`Pose::to_array`].
fn pose_of([x, y, z, i, j, k, w]: [f64; 7]) -> Pose {
    Pose { translation: DVec3::new(x, y, z), rotation: bevy_math::DQuat::from_xyzw(i, j, k, w) }
}

fn fingers(scene: &Scene, engine: &dyn Engine) -> Vec<f64> {
    let fingers = scene.task().fingers.iter();
    fingers.map(|finger| engine.joint(finger.axis.joint).position[finger.axis.axis]).collect()
}

fn object_in_tool(scene: &Scene, engine: &dyn Engine) -> Pose {
    let tcp = engine.body(scene.task().tool).pose.then(&scene.task().tcp);
    tcp.inverse().then(&engine.body(scene.task().object).pose)
}

/// Where gripper and object are near each other, the body of the gripper, and 1 where the object is the second one, else -1.
fn between<'a>(scene: &'a Scene, engine: &'a dyn Engine) -> impl Iterator<Item = (&'a ContactPoint, BodyId, f64)> {
    engine.contacts().iter().filter_map(|contact| {
        let object = Some(scene.task().object);
        let (finger, sign) = match contact.bodies {
            [Some(finger), other] if other == object => (finger, 1.0),
            [other, Some(finger)] if other == object => (finger, -1.0),
            _ => return None,
        };
        scene.is_gripper(finger).then_some((contact, finger, sign))
    })
}

/// Those of them that carry a force.
fn touching<'a>(scene: &'a Scene, engine: &'a dyn Engine) -> impl Iterator<Item = (&'a ContactPoint, BodyId, f64)> {
    between(scene, engine).filter(|(contact, ..)| contact.wrench.force.dot(contact.normal) > TOUCHES)
}

/// The contacts of gripper and object in an order that depends on nothing but themselves. A step that was divided tells each point once for each of its
/// parts, with the part's share of the force; these are one contact.
fn contacts(scene: &Scene, engine: &dyn Engine) -> Vec<TaskContact> {
    let into_object = engine.body(scene.task().object).pose.inverse();
    let mut all: Vec<TaskContact> = Vec::new();
    for (contact, finger, sign) in touching(scene, engine) {
        let (position, normal) = (into_object.point(contact.point), into_object.direction(contact.normal * sign));
        let force = into_object.direction(contact.wrench.force * sign);
        let same = |known: &&mut TaskContact| {
            let apart = DVec3::from(known.position).distance(position);
            apart < SAME && DVec3::from(known.normal).distance(normal) < SAME_NORMAL
        };
        match all.iter_mut().find(same) {
            Some(known) => known.force = (DVec3::from(known.force) + force).to_array(),
            None => all.push(TaskContact {
                position: position.to_array(),
                normal: normal.to_array(),
                force: force.to_array(),
                normal_force: 0.0,
                friction: scene.friction(finger),
            }),
        }
    }
    for contact in &mut all {
        contact.normal_force = DVec3::from(contact.force).dot(DVec3::from(contact.normal));
    }
    all.sort_by(|a, b| {
        let by_place = a.position.iter().zip(&b.position).map(|(a, b)| a.total_cmp(b));
        let by_place = by_place.fold(std::cmp::Ordering::Equal, |all, next| all.then(next));
        b.normal_force.total_cmp(&a.normal_force).then(by_place)
    });
    all
}

/// The quality of the grasp that these contacts are.
fn measure(scene: &Scene, contacts: &[TaskContact]) -> Option<Measures> {
    let contact = |contact: &TaskContact| {
        let z = -DVec3::from(contact.normal).normalize();
        let x = z.any_orthonormal_vector();
        Contact {
            name: String::new(),
            kind: match contact.friction > 0.0 {
                true => ContactKind::Frictional { friction: contact.friction },
                false => ContactKind::Frictionless,
            },
            frame: Pose::from_matrix(DMat3::from_cols(x, z.cross(x), z), DVec3::from(contact.position)),
            patch: Patch::PLANE,
            point: DVec2::ZERO,
            limits: [0.0, UNBOUNDED],
            source: String::new(),
        }
    };
    let grasp = Grasp {
        name: String::new(),
        gravity: DVec3::ZERO,
        force: DVec3::ZERO,
        torque: DVec3::ZERO,
        object: scene.object().clone(),
        contacts: contacts.iter().map(contact).collect(),
        tilt: 0.0,
        tolerance: 0.0,
    };
    let statics = Statics::new(&grasp, Section::Disc).ok()?;
    Some(Measures::new(&quality(&statics, &OPTIONS), contacts))
}
