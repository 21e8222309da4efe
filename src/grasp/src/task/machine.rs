//! The state machine of a task: approach, grasp, lift.

use bevy_math::{DMat3, DVec2, DVec3};
use simpartner_dynamics::{ContactPoint, Engine, Motor, Servo, StepCheck, Wrench};
use simpartner_model::{BodyId, Contact, ContactKind, DriveKind, Grasp, Patch, Pose};

use super::{Measures, Outcome, Scene, Status, TaskContact};
use crate::{
    quality::{Options, quality},
    statics::{Section, Statics},
};

/// Smallest normal force of a closed contact, N.
const MIN_CONTACT_FORCE: f64 = 1e-6;
/// Distance, m, below which two contact points are the same contact, if their normals also agree. A resting body moves
/// less in a step.
const SAME_POINT: f64 = 1e-6;
/// Difference of two unit normals below which they agree.
const SAME_NORMAL: f64 = 1e-4;
/// Largest gap between a cup's lip and the object at which the lip seals, m. A rubber lip bridges such a gap.
const MAX_SEALED_GAP: f64 = 1e-4;
/// Largest effort of a kinematic slide, N: more than anything resists.
const UNBOUNDED_EFFORT: f64 = 1e9;
/// Slip at which the lift result is 0, m (RobWork).
const ZERO_RESULT_SLIP: f64 = 0.02;
/// Tolerances of the measures in tasks. They are coarse because there are thousands of tasks, and the seed of a grasp
/// makes a larger difference.
const MEASURE_OPTIONS: Options = Options {
    norm: crate::quality::Norm::L1,
    scaling: crate::quality::Scaling::Unit,
    torque_scale: None,
    tolerance: 0.01,
    volume_tolerance: 0.3,
    facets: 5_000,
};

/// State of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The gripper is at its start.
    NewGrasp,
    /// The open gripper moves to its target.
    Approach,
    /// The gripper closes.
    Grasping,
    /// The gripper lifts.
    Lifting,
}

/// Controller of a task: it drives the gripper before each step of an engine, and evaluates the step afterwards.
pub struct Machine {
    state: State,
    outcome: Outcome,
    ended: bool,
    /// Pose of the tool at the start, `world_from_tcp`.
    start: Pose,
    /// Matrix from displacements of the tool, world frame, to coordinates of the slides.
    slides_from_world: DMat3,
    /// Position of the object at the start, world frame, m.
    object_home: DVec3,
    /// Wanted displacement of the tool from its start after this step, world frame, m.
    setpoint: DVec3,
    /// The setpoint before this step.
    before: DVec3,
    /// Wanted displacement of the tool from its start at the end of the motion, world frame, m.
    goal: DVec3,
    /// Speed of the setpoint, m/s.
    speed: f64,
    /// Number of steps so far.
    step: u64,
    /// Simulated time of the next check of the conditions, s.
    next_check: f64,
    /// Number of checks in a row at which the fingers were slow.
    rest_count: u32,
    /// Simulated time of the third of these checks, s.
    rest_since: Option<f64>,
    /// Number of checks in a row at which the tool was at the end of the lift.
    lift_count: u32,
    /// Mean contact point before the lift, object frame, m.
    middle: DVec3,
    /// True if the suction cup was sealed in the last step.
    sealed: bool,
}

impl Machine {
    /// Creates the controller of a task at its start. The target is `object_from_tcp`.
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
            next_check: 0.0,
            rest_count: 0,
            rest_since: None,
            lift_count: 0,
            middle: DVec3::ZERO,
            sealed: false,
        }
    }

    /// State of the task.
    pub fn state(&self) -> State {
        self.state
    }

    /// True if the task has ended.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// The outcome, complete once the task has ended.
    pub fn finish(self) -> Outcome {
        self.outcome
    }

    /// Simulated time, s.
    fn elapsed_time(&self, scene: &Scene) -> f64 {
        self.step as f64 * scene.task().timestep.seconds()
    }

    /// Sets motors and external forces for the next step.
    pub fn before_step(&mut self, scene: &Scene, engine: &mut dyn Engine) {
        if self.state == State::NewGrasp {
            self.goal = self.start.direction(scene.task().approach);
            self.state = State::Approach;
        }
        let closed = matches!(self.state, State::Grasping | State::Lifting);
        for finger in &scene.task().fingers {
            let target = if closed { finger.closed } else { finger.open };
            let motor = Motor::Position { target, max_effort: finger.max_effort };
            engine.set_motor(finger.axis.joint, finger.axis.axis, motor);
        }
        self.advance_setpoint(scene);
        self.drive_slides(scene, engine);
        if self.state == State::Lifting {
            let object = scene.object_mass();
            let force = scene.task().acceleration * object.mass;
            let wrench = Wrench { force, torque: DVec3::ZERO };
            engine.apply_wrench(scene.task().object, object.centre_of_mass, wrench);
        }
        self.apply_suction(scene, engine);
    }

    /// Advances the setpoint by a step. Its speed rises to the drive's speed, and falls so that it can still stop at
    /// the goal. Within a step the speed changes linearly, as the engine moves driven joints.
    fn advance_setpoint(&mut self, scene: &Scene) {
        let (drive, dt) = (scene.task().drive, scene.task().timestep.seconds());
        let left = self.goal - self.setpoint;
        let (distance, begin) = (left.length(), self.speed);
        self.before = self.setpoint;
        // The largest speed at the end of this step from which a stop takes just the distance that is left then.
        let lag = drive.acceleration * dt / 2.0;
        let square = lag * lag + 2.0 * drive.acceleration * (distance - begin * dt / 2.0);
        let stops = (square.max(0.0).sqrt() - lag).max(0.0);
        self.speed = (begin + drive.acceleration * dt).min(drive.speed).min(stops);
        let way = (begin + self.speed) / 2.0 * dt;
        // Within a nanometre of the goal the setpoint is set to the goal, since the ramp reaches it only
        // asymptotically.
        if distance - way < 1e-9 {
            (self.setpoint, self.speed) = (self.goal, 0.0);
        } else {
            self.setpoint += left * (way / distance);
        }
    }

    /// Sets the motors of the slides.
    fn drive_slides(&self, scene: &Scene, engine: &mut dyn Engine) {
        let dt = scene.task().timestep.seconds();
        let [wanted, before] = [self.setpoint, self.before].map(|place| self.slides_from_world * place);
        let direction = (self.goal - self.setpoint).normalize_or_zero();
        let rates = self.slides_from_world * (direction * self.speed);
        // Generalised acceleration of gravity along each slide, m/s².
        let along = self.slides_from_world.inverse().transpose() * scene.gravity();
        for (number, slide) in scene.slides().iter().enumerate() {
            let (joint, axis) = (slide.axis.joint, slide.axis.axis);
            let motor = match scene.task().drive.kind {
                DriveKind::Kinematic => {
                    // The speed of the ramp at the end of the step, plus a correction of the rounding so far.
                    let off = before[number] - engine.joint(joint).position[axis];
                    Motor::Velocity { target: rates[number] + off / dt, max_effort: UNBOUNDED_EFFORT }
                }
                DriveKind::Dynamic { bandwidth } => {
                    let frequency = std::f64::consts::TAU * bandwidth;
                    let stiffness = slide.mass * frequency * frequency;
                    Motor::Servo(Servo {
                        // The offset makes the spring carry the hand's own weight.
                        position: wanted[number] - slide.mass * along[number] / stiffness,
                        rate: rates[number],
                        stiffness,
                        damping: 2.0 * slide.mass * frequency,
                        max_effort: UNBOUNDED_EFFORT,
                    })
                }
            };
            engine.set_motor(joint, axis, motor);
        }
    }

    /// Applies the suction force between a sealed cup and the object.
    fn apply_suction(&self, scene: &Scene, engine: &mut dyn Engine) {
        let Some(suction) = scene.task().suction.filter(|_| self.sealed) else { return };
        let tcp = engine.body(scene.task().tool).pose.then(&scene.task().tcp);
        let force = tcp.direction(DVec3::Z) * suction.force;
        for (body, force) in [(scene.task().object, -force), (suction.cup, force)] {
            let point = engine.body(body).pose.inverse().point(tcp.translation);
            engine.apply_wrench(body, point, Wrench { force, torque: DVec3::ZERO });
        }
    }

    /// Evaluates the step that was made: contacts, limits, and changes of state.
    pub fn after_step(&mut self, scene: &Scene, engine: &dyn Engine) {
        self.step += 1;
        let time = self.elapsed_time(scene);
        self.outcome.times.steps = self.step;
        self.outcome.times.ended = time;
        for event in engine.step_events() {
            *self.outcome.notices.entry(format!("{:?}", event.check)).or_default() += 1;
            if event.check == StepCheck::Divergence {
                return self.end_task(Status::SimulationFailure, Some(event.text.clone()));
            }
        }
        if let Some(suction) = scene.task().suction {
            let seals = |contact: &ContactPoint, finger| finger == suction.cup && contact.gap < MAX_SEALED_GAP;
            let near = nearby_points(scene, engine);
            let points = near.filter(|(contact, finger, _)| seals(contact, *finger)).count();
            self.sealed = points >= suction.points;
        }
        let conditions = scene.task().conditions;
        if self.state == State::Approach && !self.outcome.touched_on_the_way {
            self.outcome.touched_on_the_way = touching_points(scene, engine).next().is_some();
        }
        if time + 1e-12 < self.next_check {
            return;
        }
        self.next_check += conditions.period;
        let object = engine.body(scene.task().object).pose.translation;
        let away = object.distance(self.object_home);
        if away.is_nan() || away > conditions.farthest {
            let cause = format!("the object is {away:.1} m from where it began");
            return self.end_task(Status::SimulationFailure, Some(cause));
        }
        if time > conditions.time_limit {
            let cause = format!("more than {} s, in {:?}", conditions.time_limit, self.state);
            return self.end_task(Status::TimeOut, Some(cause));
        }
        if self.step >= conditions.step_limit {
            return self.end_task(Status::TimeOut, Some(format!("{} steps, in {:?}", self.step, self.state)));
        }
        match self.state {
            State::NewGrasp => {}
            State::Approach => self.check_approach(scene, engine, time),
            State::Grasping => self.check_grasp(scene, engine, time),
            State::Lifting => self.check_lift(scene, engine),
        }
    }

    /// Ends the task with a status and the text of its cause.
    fn end_task(&mut self, status: Status, cause: Option<String>) {
        (self.outcome.status, self.outcome.cause, self.ended) = (status, cause, true);
    }

    /// Distance of the tool from its goal, m.
    fn goal_distance(&self, scene: &Scene, engine: &dyn Engine) -> f64 {
        let tcp = engine.body(scene.task().tool).pose.then(&scene.task().tcp);
        (tcp.translation - self.start.translation).distance(self.goal)
    }

    /// Begins to close the gripper once the tool has arrived.
    fn check_approach(&mut self, scene: &Scene, engine: &dyn Engine, time: f64) {
        if self.goal_distance(scene, engine) < scene.task().conditions.arrival {
            self.outcome.times.approached = Some(time);
            self.outcome.approach = Some(object_in_tool(scene, engine).to_array());
            self.state = State::Grasping;
        }
    }

    /// Begins the lift once the fingers have come to rest, or ends the task if they touch nothing.
    fn check_grasp(&mut self, scene: &Scene, engine: &dyn Engine, time: f64) {
        let conditions = scene.task().conditions;
        let since = time - self.outcome.times.approached.unwrap_or_default();
        if since < conditions.settling {
            return;
        }
        let rests = scene.task().fingers.iter().all(|finger| {
            let rate = engine.joint(finger.axis.joint).rate[finger.axis.axis].abs();
            rate < if scene.is_linear(finger.axis) { conditions.rest_speed } else { conditions.rest_spin }
        });
        // A suction cup counts as closed when it is sealed.
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
        let contacts = task_contacts(scene, engine);
        self.outcome.times.grasped = Some(time);
        self.outcome.fingers = finger_coordinates(scene, engine);
        let grasp = object_in_tool(scene, engine);
        self.outcome.grasp = Some(grasp.to_array());
        if contacts.is_empty() {
            return self.end_task(Status::ObjectMissed, None);
        }
        let positions = contacts.iter().map(|contact| DVec3::from(contact.position));
        self.middle = positions.sum::<DVec3>() / contacts.len() as f64;
        self.outcome.quality = measure_quality(scene, &contacts);
        self.outcome.contacts = contacts;
        self.goal += scene.task().retract;
        self.state = State::Lifting;
    }

    /// Ends the task once the tool has been at the end of the lift for long enough.
    fn check_lift(&mut self, scene: &Scene, engine: &dyn Engine) {
        let conditions = scene.task().conditions;
        let arrived = self.goal_distance(scene, engine) < conditions.lift_arrival;
        self.lift_count = if arrived { self.lift_count + 1 } else { 0 };
        if self.lift_count <= conditions.lift_count {
            return;
        }
        let contacts = task_contacts(scene, engine);
        self.outcome.fingers_after = finger_coordinates(scene, engine);
        let lift = object_in_tool(scene, engine);
        self.outcome.lift = Some(lift.to_array());
        if contacts.is_empty() {
            return self.end_task(Status::ObjectDropped, None);
        }
        let before = self.outcome.grasp.map(pose_of).unwrap_or_default();
        let slip = lift.point(self.middle).distance(before.point(self.middle));
        self.outcome.slip = Some(slip);
        self.outcome.lift_result = Some((1.0 - slip / ZERO_RESULT_SLIP).max(0.0));
        self.outcome.quality_after = measure_quality(scene, &contacts);
        self.outcome.contacts_after = contacts;
        self.end_task(if slip < conditions.slip { Status::Success } else { Status::ObjectSlipped }, None);
    }
}

/// The pose with these numbers, which are those of [`Pose::to_array`].
fn pose_of([x, y, z, i, j, k, w]: [f64; 7]) -> Pose {
    Pose { translation: DVec3::new(x, y, z), rotation: bevy_math::DQuat::from_xyzw(i, j, k, w) }
}

/// Coordinates of the fingers, rad or m.
fn finger_coordinates(scene: &Scene, engine: &dyn Engine) -> Vec<f64> {
    let fingers = scene.task().fingers.iter();
    fingers.map(|finger| engine.joint(finger.axis.joint).position[finger.axis.axis]).collect()
}

/// Pose of the object in the tool's frame, `tcp_from_object`.
fn object_in_tool(scene: &Scene, engine: &dyn Engine) -> Pose {
    let tcp = engine.body(scene.task().tool).pose.then(&scene.task().tcp);
    tcp.inverse().then(&engine.body(scene.task().object).pose)
}

/// Contact points between gripper and object, open ones included: the point, the gripper's body, and a sign, which is 1
/// if the object is the second body of the point and -1 if it is the first.
fn nearby_points<'a>(
    scene: &'a Scene,
    engine: &'a dyn Engine,
) -> impl Iterator<Item = (&'a ContactPoint, BodyId, f64)> {
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

/// The nearby points that carry a force.
fn touching_points<'a>(
    scene: &'a Scene,
    engine: &'a dyn Engine,
) -> impl Iterator<Item = (&'a ContactPoint, BodyId, f64)> {
    nearby_points(scene, engine).filter(|(contact, ..)| contact.wrench.force.dot(contact.normal) > MIN_CONTACT_FORCE)
}

/// The closed contacts of gripper and object, in an order that depends on nothing but the contacts themselves. After a
/// step with substeps the engine reports each point once per substep, with that substep's share of the force; these are
/// merged into one contact.
fn task_contacts(scene: &Scene, engine: &dyn Engine) -> Vec<TaskContact> {
    let into_object = engine.body(scene.task().object).pose.inverse();
    let mut all: Vec<TaskContact> = Vec::new();
    for (contact, finger, sign) in touching_points(scene, engine) {
        let (position, normal) = (into_object.point(contact.point), into_object.direction(contact.normal * sign));
        let force = into_object.direction(contact.wrench.force * sign);
        let same = |known: &&mut TaskContact| {
            let apart = DVec3::from(known.position).distance(position);
            apart < SAME_POINT && DVec3::from(known.normal).distance(normal) < SAME_NORMAL
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

/// Measures of the grasp with these contacts.
fn measure_quality(scene: &Scene, contacts: &[TaskContact]) -> Option<Measures> {
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
            limits: [0.0, UNBOUNDED_EFFORT],
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
    Some(Measures::new(&quality(&statics, &MEASURE_OPTIONS), contacts))
}
