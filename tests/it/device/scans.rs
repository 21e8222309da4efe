//! Scans: readings with so many rays that they are computed concurrently with the steps. They see their own step,
//! arrive at a step that the model determines, and have the same bits on any thread.

use std::{
    sync::{Mutex, mpsc},
    thread,
};

use bevy_math::{DQuat, DVec3};
use simpartner::{device::Background, sim::Simulation};
use simpartner_description::{Noise, Scanner, Sensor, World};
use simpartner_model::{Body, BodyId, Pose};
use simpartner_wire::signal::{Configuration, DeviceKind, Fault, NoiseFigure};

use super::{Run, cube_at, device, pose};
use crate::scene::{body, cube};

/// More than the most rays that are cast within a step.
const MANY: usize = 201;

/// A cube that falls from 50 m, with a scanner that faces down to a cube at the origin, and one that reads the height
/// in each step.
fn falling(sensor: impl Fn(Sensor) -> Sensor) -> World {
    let mut world = cube_at(50.0);
    let target = body("target", 1.0, cube(2.0), DVec3::ZERO);
    world.mechanism.bodies.push(Body { fixed: true, robot: None, ..target });
    let down = pose(DVec3::ZERO, DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2));
    let scanner = Scanner { rays: MANY, half_angle: 0.01, range: 100.0, ..Scanner::default() };
    let scan = Sensor::on(BodyId::new(0), down, DeviceKind::ScannerSensor).with_rays(scanner);
    let height = Sensor::on(BodyId::new(0), Pose::IDENTITY, DeviceKind::PositionSensor);
    world.devices = vec![device("scan", sensor(scan)), device("height", height)];
    world
}

/// The ray straight down reads the distance to the top of the target at 1 m.
fn middle(run: &Run) -> f64 {
    run.read("scan")[MANY / 2]
}

#[test]
fn a_scan_arrives_one_period_after_its_step_and_sees_that_step() {
    for (latency_s, delay) in [(0.0, 10), (0.004, 10), (0.025, 25)] {
        let mut run = Run::of(falling(|scan| Sensor { rate_hz: Some(100.0), latency_s, ..scan }));
        let mut heights = vec![run.read("height")[1]];
        assert!((middle(&run) - (heights[0] - 1.0)).abs() < 1e-9, "at step 0 it is there");
        for step in 1..=100 {
            heights.push(run.steps(1).read("height")[1]);
            let arrives = step % 10 == delay % 10 && step >= 10 + delay;
            assert_eq!(run.is_fresh("scan"), arrives, "latency {latency_s}, step {step}");
            let seen = if step >= 10 + delay { (step - delay) / 10 * 10 } else { 0 };
            assert!((middle(&run) - (heights[seen] - 1.0)).abs() < 1e-9, "latency {latency_s}, step {step}");
        }
    }
}

type Work = Box<dyn FnOnce() + Send>;

/// Does the work at once, on another thread, or together with later work.
enum Other {
    AtOnce,
    Thread(mpsc::Sender<Work>),
    Late(Mutex<Vec<Work>>),
}

impl Background for Other {
    fn run(&self, work: Work) {
        match self {
            Self::AtOnce => work(),
            Self::Thread(sender) => sender.send(work).unwrap(),
            Self::Late(waiting) => {
                let before = std::mem::replace(&mut *waiting.lock().unwrap(), vec![work]);
                before.into_iter().for_each(|work| work());
            }
        }
    }
}

/// Noise of every kind, so that its random numbers and its drift continue from scan to scan.
fn noisy(scan: Sensor) -> Sensor {
    let noise = vec![Noise { standard_deviation: 0.01, bias: 0.1, drift: 0.05, quantisation: 1e-4 }];
    Sensor { rate_hz: Some(100.0), latency_s: 0.017, dropout: 0.2, noise, ..scan }
}

/// The bits of the steps from `from` to the 200th, and the hashes of the states after them; commands arrive at the same
/// steps in each.
fn bits(run: &mut Run, from: u64, mut after_each: impl FnMut(&Simulation)) -> Vec<String> {
    let step = |step| {
        match step {
            53 => {
                let figure = NoiseFigure::StandardDeviation;
                run.configure("scan", Configuration::Noise { quantity: None, figure, value: 0.02 });
            }
            91 => run.configure("scan", Configuration::RateHz(250.0)),
            133 => run.configure("scan", Configuration::LatencyS(0.0)),
            _ => {}
        }
        run.steps(1);
        after_each(&run.simulation);
        let values: Vec<u64> = run.record.values.iter().map(|value| value.to_bits()).collect();
        format!("{step} {values:?} {:?} {}", run.record.fresh, run.simulation.state_hash())
    };
    (from..200).map(step).collect()
}

#[test]
fn scans_have_the_same_bits_wherever_they_are_made() {
    let expected = bits(&mut Run::of(falling(noisy)), 0, |_| ());
    let (sender, work) = mpsc::channel::<Work>();
    let worker = thread::spawn(move || work.iter().for_each(|work| work()));
    for background in [Other::AtOnce, Other::Thread(sender), Other::Late(Mutex::default())] {
        let mut run = Run::of(falling(noisy));
        run.simulation.set_background(Box::new(background));
        assert!(bits(&mut run, 0, |_| ()) == expected);
    }
    worker.join().unwrap();
}

#[test]
fn a_state_between_the_begin_of_a_scan_and_its_arrival_goes_on_bit_for_bit() {
    let mut states = Vec::new();
    let expected = bits(&mut Run::of(falling(noisy)), 0, |simulation| states.push(simulation.snapshot()));
    for after in [12, 19, 20, 55, 94, 150] {
        let mut run = Run::of(falling(noisy));
        run.simulation.restore(&states[after - 1]).unwrap();
        assert!(bits(&mut run, after as u64, |_| ()) == expected[after..], "after step {after}");
    }
    let mut other = Run::of(cube_at(1.0));
    assert!(other.simulation.restore(&states[14]).is_err(), "a state of another world is refused");
}

#[test]
fn a_scan_of_a_sensor_that_is_powered_off_is_lost() {
    let mut run = Run::of(falling(|scan| Sensor { rate_hz: Some(100.0), ..scan }));
    run.steps(15);
    let before = run.read("scan");
    run.fail("scan", Fault::Off);
    run.steps(5);
    run.fail("scan", Fault::None);
    run.steps(9);
    assert_eq!(run.read("scan"), before, "that of step 10 would have arrived at step 20");
}
