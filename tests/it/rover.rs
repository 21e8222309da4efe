//! The built-in rover: statics and geometry of a rocker-bogie, and its drive over hills, sand and rocks.

use std::{path::Path, sync::Arc};

use bevy_math::DVec3;
use simpartner::sim::Simulation;
use simpartner_description::{
    World,
    xml::{self, Document},
};
use simpartner_dynamics::Settings;
use simpartner_model::{BodyId, RobotId, Timestep};
use simpartner_wire::signal::StepRecord;

use crate::workpartner;

const MASS: f64 = 185.0;
const WHEEL_RADIUS: f64 = 0.13;
const MARS: f64 = 3.71;
const WHEELS: [&str; 6] = ["FrontRight", "MiddleRight", "RearRight", "FrontLeft", "MiddleLeft", "RearLeft"];

/// The rover in a world of its own, and its readings.
struct Drive {
    simulation: Simulation,
    record: StepRecord,
}

impl Drive {
    /// On a ground given as XML, at this pose.
    fn on(ground: &str, pose: &str) -> Self {
        Self::of(world(&format!(r#"y="-{MARS}""#), ground, pose))
    }

    fn of(world: World) -> Self {
        Self::in_steps(world, Timestep::MILLISECOND)
    }

    /// On SimPartner's engine: rapier supports neither couplings nor soil, and reports that.
    fn in_steps(world: World, timestep: Timestep) -> Self {
        let simulation = Simulation::new(Arc::new(world), timestep, Settings::default()).unwrap();
        let record = simulation.observe();
        Self { simulation, record }
    }

    fn body(&self, name: &str) -> BodyId {
        self.simulation.world().mechanism.body_named(Some(RobotId::new(0)), name).unwrap()
    }

    fn at(&self, name: &str) -> DVec3 {
        let pose = &self.record.values[self.simulation.layout().pose(self.body(name))];
        DVec3::new(pose[0], pose[1], pose[2])
    }

    /// Turns all wheels for a speed of the rover, m/s.
    fn go(&mut self, speed: f64) {
        let rate = speed / WHEEL_RADIUS;
        let command =
            |port| format!("<command><port>{port}</port><commandString>25,25,25,0,0,{rate}</commandString></command>");
        let text: String = [1111, 1112, 1113, 1161, 1162, 1163].map(command).concat();
        let text = format!(r#"<sequence version="1">{text}</sequence>"#);
        let Ok(Document::Sequence(sequence)) = xml::read_text("robots/test.xml", &text) else { panic!("{text}") };
        self.simulation.schedule(&sequence.timeline(Timestep::MILLISECOND)).unwrap();
    }

    /// Steps for a number of seconds; no events may occur.
    fn run(&mut self, seconds: f64) {
        for _ in 0..(seconds / self.simulation.timestep().seconds()).round() as usize {
            self.record.commands.clear();
            self.record.events.clear();
            self.simulation.step(&mut self.record);
            assert!(self.record.events.is_empty(), "step {}: {:?}", self.record.step.0, self.record.events);
        }
    }
}

/// A world with this gravity and ground, and the rover at this pose.
fn world(gravity: &str, ground: &str, pose: &str) -> World {
    let text = format!(
        r#"<world><gravity {gravity}/>{ground}<robot file="rover.xml" name="Rover"><pose {pose}/></robot></world>"#
    );
    match xml::read_text("worlds/test.xml", &text).unwrap_or_else(|problems| panic!("{problems}")) {
        Document::World(world) => world,
        other => panic!("{other:?}"),
    }
}

fn jacksboro() -> World {
    xml::read_world(Path::new("worlds/jacksboro.xml")).unwrap_or_else(|problems| panic!("{problems}"))
}

/// All wheels carry the same load, except for the links' own weight: 34 kg of 185 at most half a wheelbase from the
/// middle, on three wheels of a side.
#[test]
fn its_six_wheels_share_its_weight() {
    let mut drive = Drive::on("<surface/>", "");
    drive.run(3.0);
    let load =
        |name: &str| drive.record.values[drive.simulation.layout().wrench(drive.body(&format!("Wheel{name}")))][1];
    let loads = WHEELS.map(load);
    let share = MASS * MARS / 6.0;
    println!("{loads:.1?} N, a sixth is {share:.1} N");
    assert!((loads.iter().sum::<f64>() - 6.0 * share).abs() < 1e-3 * share, "{loads:?}");
    for (name, load) in WHEELS.iter().zip(loads) {
        assert!((load / share - 1.0).abs() < 0.1, "{name}: {load} of {share} N");
    }
    for side in 0..3 {
        assert!((loads[side] - loads[side + 3]).abs() < 1e-3 * share, "{loads:?}");
    }
}

/// One wheel on a step: its rocker rises, the other falls by as much, and all six wheels still carry load.
#[test]
fn its_differential_keeps_all_wheels_on_the_ground() {
    let step = r#"<surface/><object name="Step"><static>true</static><pose x="0.705" y="0.04" z="0.53"/>
        <box x="0.6" y="0.08" z="0.4"/></object>"#;
    let mut drive = Drive::on(step, r#"y="0.082""#);
    drive.run(4.0);
    let joint = |name: &str| {
        let joint = drive.simulation.world().mechanism.joint_named(Some(RobotId::new(0)), name).unwrap();
        drive.record.values[drive.simulation.layout().joint(joint)][5]
    };
    let (right, left) = (joint("RockerPivotRight"), joint("RockerPivotLeft"));
    assert!((right + left).abs() < 1e-9 && right > 0.01, "{right} {left}");
    for name in WHEELS {
        let load = drive.record.values[drive.simulation.layout().wrench(drive.body(&format!("Wheel{name}")))][1];
        println!("{name}: {load:.1} N");
        assert!(load > 0.4 * MASS * MARS / 6.0, "{name} carries {load} N");
    }
}

/// A rock of 25 cm in front of the wheels of one side, nearly as high as these, with faces of 68 degrees: the ten
/// inches of its builders.
#[test]
fn it_climbs_a_rock_of_a_wheels_diameter() {
    let corners = [-1.0, 1.0]
        .map(|x| [-1.0, 1.0].map(|z| format!("{} -0.125 {} {} 0.125 {}", 0.3 * x, 0.3 * z, 0.2 * x, 0.2 * z)));
    let corners = corners.concat().join(" ");
    let rock = format!(
        r#"<surface/><object name="Rock"><static>true</static><pose x="1.3" y="0.125" z="0.53"/>
        <convexHull><vertices>{corners}</vertices></convexHull><material friction="1"/></object>"#
    );
    let mut drive = Drive::on(&rock, "");
    drive.go(0.05);
    let mut highest = 0.0f64;
    for _ in 0..60 {
        drive.run(1.0);
        highest = highest.max(drive.at("WheelFrontRight").y);
    }
    let behind = drive.at("WheelRearRight");
    println!("front wheel up to {highest:.3} m, the rear wheel gets to {:.2} m", behind.x);
    assert!(highest > 0.25 + 0.99 * WHEEL_RADIUS, "{highest}");
    assert!(behind.x > 1.5 && behind.y < 1.01 * WHEEL_RADIUS, "{behind}");
}

/// Braked on 15 degrees of sand it sinks until its wheels have settled, and then stays, for any heading: less than a
/// hundredth of a millimetre in five seconds. Two headings; eight with `SIMPARTNER_LONG_TESTS=1`.
#[test]
fn it_stands_on_a_slope_of_sand() {
    let (sine, cosine) = 15f64.to_radians().sin_cos();
    let stride = if std::env::var_os("SIMPARTNER_LONG_TESTS").is_some() { 1 } else { 4 };
    let headings = move |first: i32| (0..8).step_by(stride).map(move |k| 45 * k + first);
    let mars = headings(0).map(|heading| ("marsSand", MARS, 1, heading));
    let earth = [2, 5, 10].into_iter().flat_map(|h| headings(18).map(move |heading| ("drySand", 9.81, h, heading)));
    for (soil, weight, milliseconds, heading) in mars.chain(earth) {
        // Gravity is tilted, not the ground.
        let down = weight * sine;
        let (aside, along) = f64::from(heading).to_radians().sin_cos();
        let gravity = format!(r#"x="{}" y="{}" z="{}""#, down * along, -weight * cosine, down * aside);
        let timestep = Timestep::from_seconds(1e-3 * f64::from(milliseconds)).unwrap();
        let ground = format!(r#"<surface soil="{soil}"/>"#);
        let mut drive = Drive::in_steps(world(&gravity, &ground, ""), timestep);
        drive.run(15.0);
        let before = drive.at("Body");
        drive.run(5.0);
        let drift = drive.at("Body") - before;
        println!("{soil}, {milliseconds} ms, {heading} degrees: {:.2e} mm", 1e3 * drift.length());
        assert!(drift.length() < 1e-5, "{soil}, {milliseconds} ms, {heading} degrees: {drift}");
    }
}

/// Its drive over the hills at Jacksboro, by default the first 3 m: no events occur, and its path equals that of its
/// wheels, except for slip.
#[test]
fn it_drives_over_hills_of_sand_and_rocks() {
    let mut drive = Drive::of(jacksboro());
    let timeline = workpartner::play(&mut drive.simulation, "robots/rover_drive.xml");
    let start = drive.at("Body");
    drive.run(60.0);
    let way = drive.at("Body") - start;
    println!("{way:.3} m in the first minute");
    assert!((2.4..3.01).contains(&way.x), "{way}");
    if std::env::var_os("SIMPARTNER_LONG_TESTS").is_some() {
        drive.run(timeline.steps as f64 / 1000.0 - 60.0);
        let way = drive.at("Body") - start;
        println!("{way:.3} m at the end");
        assert!(way.x > 5.0 && way.z < -4.0, "{way}");
    }
}

/// The text of a world is all that a log needs to have its rocks again.
#[test]
fn what_the_log_keeps_has_the_same_rocks() {
    let world = jacksboro();
    let again = xml::read_kept(&world.sources).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(world.mechanism.bodies.len() > 100);
    assert_eq!(again.mechanism.bodies, world.mechanism.bodies);
    assert_eq!(again.mechanism.grounds, world.mechanism.grounds);
}
