//! Air and water: bodies fall, float, glide and hover as theory says.

use std::{f64::consts::PI, path::Path, sync::Arc};

use bevy_math::{DQuat, DVec3};
use simpartner::sim::Simulation;
use simpartner_description::xml::{self, Document};
use simpartner_model::{BodyId, DeviceId, Timestep};
use simpartner_wire::signal::{Action, ClientId, Command, Reservation, StepRecord};

use crate::scene;

const G: f64 = 9.81;

/// A simulation and its last record.
struct Run {
    simulation: Simulation,
    record: StepRecord,
}

impl Run {
    fn seeded(content: &str, timestep: Timestep, seed: u64) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("worlds/w.xml");
        let text = format!("<world name='w'>{content}</world>");
        let world = match xml::read_text(&path.to_string_lossy(), &text).unwrap_or_else(|problems| panic!("{problems}"))
        {
            Document::World(world) => Arc::new(world),
            _ => panic!("the text is a world"),
        };
        let simulation = Simulation::seeded(world, timestep, scene::settings(), seed).unwrap();
        let record = simulation.observe();
        Self { simulation, record }
    }

    fn of(content: &str) -> Self {
        Self::seeded(content, Timestep::MILLISECOND, 0)
    }

    fn steps(&mut self, count: usize) -> &mut Self {
        for _ in 0..count {
            self.record.commands.clear();
            self.record.events.clear();
            self.simulation.step(&mut self.record);
        }
        self
    }

    fn pose(&self) -> (DVec3, DQuat) {
        let pose = &self.record.values[self.simulation.layout().pose(BodyId::new(0))];
        (DVec3::from_slice(pose), DQuat::from_slice(&pose[3..]))
    }

    fn velocity(&self) -> DVec3 {
        DVec3::from_slice(&self.record.values[self.simulation.layout().twist(BodyId::new(0))])
    }

    fn device(&self, name: &str) -> DeviceId {
        let devices = self.simulation.layout().devices();
        DeviceId::new(devices.iter().position(|info| info.name == name).unwrap())
    }

    fn read(&self, name: &str) -> Vec<f64> {
        self.record.values[self.simulation.layout().device(self.device(name))].to_vec()
    }

    fn drive(&mut self, name: &str, values: &[f64]) {
        let (target, action) = (self.device(name).into(), Action::Drive(values.into()));
        let (client, text, memory) = (ClientId(1), String::new(), Reservation::default());
        self.simulation.submit(Command { target, at: None, client, sequence: 1, text, action, memory });
    }
}

fn near(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{what}: {found} for {expected}");
}

/// A ball sinks with the speed at which drag and buoyancy carry its weight, whatever the timestep.
#[test]
fn a_sinking_ball_reaches_its_terminal_speed() {
    let (mass, radius, density) = (5.0_f64, 0.1_f64, 1000.0);
    let volume = 4.0 / 3.0 * PI * radius.powi(3);
    let area = PI * radius * radius;
    let expected = (2.0 * (mass - density * volume) * G / (density * 0.47 * area)).sqrt();
    for milliseconds in [1_u32, 10] {
        let content = format!(
            "<water/><object name='Ball'><mass>{mass}</mass><pose y='-1'/><sphere radius='{radius}'/>
             <drag coefficient='0.47' area='{area}'/><buoyancy/></object>"
        );
        let timestep = Timestep::from_seconds(f64::from(milliseconds) * 1e-3).unwrap();
        let mut run = Run::seeded(&content, timestep, 0);
        run.steps(20_000 / milliseconds as usize);
        near("terminal speed", -run.velocity().y, expected, 1e-6 * expected);
    }
}

/// A box floats at Archimedes' depth and heaves about it with the period of its weight on the spring of the water. The
/// steps neither damp the motion nor make it grow.
#[test]
fn a_floating_box_heaves_with_its_period_and_keeps_its_energy() {
    let damped = |damping: &str| {
        format!(
            "<water/><object name='Box'><mass>1600</mass><pose y='0.2'/><box x='2' y='1' z='2'/><buoyancy/>{damping}
             </object>"
        )
    };
    // 0.4 m of it are under water, so its middle is 0.1 m above the surface.
    let mut run = Run::of(&damped("<fluidDamping linearY='8000'/>"));
    run.steps(20_000);
    near("depth", run.pose().0.y, 0.1, 1e-6);
    for milliseconds in [1_u32, 10] {
        let timestep = Timestep::from_seconds(f64::from(milliseconds) * 1e-3).unwrap();
        let mut run = Run::seeded(&damped(""), timestep, 0);
        let h = f64::from(milliseconds) * 1e-3;
        let period = 2.0 * PI * (1600.0 / (4000.0 * G)).sqrt();
        let (mut crossings, mut last, mut highest) = (Vec::new(), run.pose().0.y - 0.1, 0.0_f64);
        for step in 0..(60.0 / h) as usize {
            let now = run.steps(1).pose().0.y - 0.1;
            if last < 0.0 && now >= 0.0 {
                crossings.push((step as f64 + last / (last - now)) * h);
            }
            if step as f64 * h > 50.0 {
                highest = highest.max(now);
            }
            last = now;
        }
        let found = (crossings.last().unwrap() - crossings[0]) / (crossings.len() - 1) as f64;
        near("period", found, period, 1e-3 * period);
        near("amplitude after 50 s", highest, 0.1, 1e-4);
    }
}

/// The forces of a wing at steady flow are those of its table: lift across the flow, drag along it.
#[test]
fn a_wing_lifts_by_its_coefficients() {
    for (attack, lift, drag) in [(0.1, 0.5, 0.02 + 0.03), (0.3, 1.0 - 0.3, 0.02 + 0.06 + 0.1), (-0.1, -0.5, 0.05)] {
        // It moves level along x at 20 m/s and has pitched up by the angle of attack.
        let content = format!(
            "<air density='1.2'/><gravity y='0'/><object name='Wing'><mass>1000</mass><pose yaw='{attack}'/>
             <translationalVelocity><vx>20</vx><vy>0</vy><vz>0</vz></translationalVelocity>
             <wing area='2' liftSlope='5' stalledLiftSlope='-3' stallAngle='0.2' baseDrag='0.02' dragSlope='0.3' stalledDragSlope='1'/>
             </object>"
        );
        let mut run = Run::of(&content);
        run.steps(1);
        let force = (run.velocity() - DVec3::X * 20.0) * 1000.0 / 1e-3;
        let pressure = 0.5 * 1.2 * 400.0 * 2.0;
        near("lift", force.y / pressure, lift, 1e-6);
        near("drag", -force.x / pressure, drag, 1e-6);
    }
}

/// The shipped quadcopter hovers at the rate whose thrust is its weight, and turns if its diagonals differ.
#[test]
fn a_quadcopter_hovers_at_the_rate_of_its_weight() {
    let mut run = Run::of("<air/><robot file='quadcopter.xml' name='Q'><pose y='2'/></robot>");
    let hover = (1.5 * G / (4.0 * 8.55e-6)).sqrt();
    let names = ["FrontLeft", "FrontRight", "RearLeft", "RearRight"];
    // Rotors begin at rest: after some time constants they carry it, and its sinking speed stays but for the drag.
    let command = |run: &mut Run, rates: [f64; 4]| {
        names.iter().zip(rates).for_each(|(name, rate)| run.drive(name, &[rate]));
    };
    command(&mut run, [hover; 4]);
    run.steps(300);
    let before = run.velocity().y;
    command(&mut run, [hover; 4]);
    run.steps(100);
    // Drag on 0.1 to 0.3 m/s is below 1 mN.
    near("speed", run.velocity().y, before, 1e-3);
    near("attitude", run.pose().1.to_scaled_axis().length(), 0.0, 1e-9);
    // The propellers that turn to the right, front left and rear right, are faster: their torque turns it to the left.
    command(&mut run, [1.1 * hover, 0.9 * hover, 0.9 * hover, 1.1 * hover]);
    run.steps(300);
    let turn = run.pose().1.to_scaled_axis();
    assert!(turn.y > 0.01 && turn.x.abs() < 1e-3 && turn.z.abs() < 1e-3, "{turn}");
    let reading = run.read("Barometer")[0];
    near("pressure", reading, 101_325.0 * (1.0_f64 - 2.255_77e-5 * run.pose().0.y).powf(5.255_88), 8.0);
}

/// The boat floats level, drives ahead, and turns to the left with the right thruster.
#[test]
fn a_boat_floats_and_steers_by_its_thrusters() {
    let mut run = Run::of("<water density='1025'/><robot file='boat.xml' name='B'/>");
    run.steps(5000);
    // 180 kg on 1.5 m²: the hulls' lower faces begin 0.12 m deep.
    near("rise", run.read("Pose")[1] - 0.35, 0.12 - 180.0 / (1025.0 * 1.5), 1e-4);
    near("tilt", run.pose().1.to_scaled_axis().length(), 0.0, 1e-4);
    for _ in 0..20 {
        run.drive("ThrusterLeft", &[60.0]);
        run.drive("ThrusterRight", &[60.0]);
        run.steps(500);
    }
    let speed = run.velocity();
    // Twice 72 N against 2 (20 v + 25 v²) of hulls of which 0.117 of 0.3 m are under water.
    let share = 180.0 / (1025.0 * 1.5) / 0.3;
    let expected = (-20.0 + (400.0_f64 + 4.0 * 25.0 * 72.0 / share).sqrt()) / 50.0;
    near("speed", speed.x, expected, 0.02 * expected);
    for _ in 0..6 {
        run.drive("ThrusterLeft", &[40.0]);
        run.drive("ThrusterRight", &[70.0]);
        run.steps(500);
    }
    assert!(run.pose().1.to_scaled_axis().y > 0.1, "{:?}", run.pose());
}

/// Gusts follow from the seed, and what fluids do not act on keeps its motion.
#[test]
fn gusts_follow_from_the_seed() {
    let content = "<air windX='5' gust='2'/><gravity y='0'/><object name='Leaf'><mass>0.1</mass><sphere radius='0.1'/>
        <drag area='0.1'/></object><object name='Stone'><mass>1</mass><pose x='9'/><sphere radius='0.1'/></object>";
    let run = |seed: u64| {
        let mut run = Run::seeded(content, Timestep::MILLISECOND, seed);
        run.steps(2000);
        let stone = &run.record.values[run.simulation.layout().twist(BodyId::new(1))];
        assert!(stone.iter().all(|value| *value == 0.0));
        (run.velocity(), run.simulation.state_hash())
    };
    let (first, hash) = run(1);
    assert_eq!(run(1), (first, hash));
    let (other, _) = run(2);
    assert!((first - other).length() > 0.05, "{first} {other}");
    assert!(first.x > 2.0, "{first}");
}
