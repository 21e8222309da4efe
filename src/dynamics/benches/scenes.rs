//! Cost of a step in scenes of bare mechanisms: `cargo bench -p simpartner-dynamics --features rapier`.
//!
//! Each engine makes the same steps of the same scene in turn, in several rounds of one run. The last column is the
//! ratio to rapier, if it is built in. A word after `--bench` selects the scenes whose names contain it.

use std::time::Instant;

use bevy_math::{DQuat, DVec3};
use simpartner_dynamics::{EngineKind, Motor, Settings, build};
use simpartner_model::{
    Axis, Body, BodyId, FreeAxis, Heightfield, Joint, JointId, JointKind, Material, Mechanism, Placed, Plane, Pose,
    Shape, Timestep,
};

const STEPS: u32 = 1000;
const ROUNDS: usize = 5;
const TERRAIN: &str = "6 wheels, 4096 x 4096";

fn main() {
    // `cargo test --benches` only checks that the bench runs.
    let rounds = if std::env::args().any(|argument| argument == "--bench") { ROUNDS } else { 1 };
    let word = std::env::args().skip(1).find(|argument| !argument.starts_with("--")).unwrap_or_default();
    let is_selected = |name: &str| name.contains(&word);
    let engines: &[EngineKind] =
        if cfg!(feature = "rapier") { &[EngineKind::Dynamics, EngineKind::Rapier] } else { &[EngineKind::Dynamics] };
    println!("{STEPS} steps of 1 ms, {rounds} rounds in turn: medians in microseconds a step");
    for (name, mechanism) in
        [("chain of 20 hinges", chain(20)), ("stack of 10 boxes", stack(10)), ("100 balls", balls(100))]
            .into_iter()
            .filter(|(name, _)| is_selected(name))
    {
        let mut times = vec![Vec::new(); engines.len()];
        for _ in 0..rounds {
            for (engine, times) in engines.iter().zip(&mut times) {
                times.push(time(&mechanism, *engine));
            }
        }
        let medians: Vec<f64> = times.iter_mut().map(|times| median(times)).collect();
        let ratio = medians.get(1).map(|rapier| format!(", {:.2} of rapier", medians[0] / rapier)).unwrap_or_default();
        println!("{name:<20} {:8.2}{ratio}", medians[0]);
    }
    for (name, wheels, rates) in [
        ("2 cylinder wheels, straight", 2, [6.0, 6.0]),
        ("2 cylinder wheels, in a curve", 2, [2.0, 6.0]),
        ("4 cylinder wheels, in a curve", 4, [2.0, 6.0]),
    ]
    .into_iter()
    .filter(|(name, ..)| is_selected(name))
    {
        let mut times: Vec<f64> = (0..rounds).map(|_| time_driven(&robot(wheels), rates)).collect();
        println!("{name:<30} {:8.2} of processor time", median(&mut times));
    }
    if is_selected(TERRAIN) {
        time_terrain(rounds);
    }
}

/// Compares wheels on small and on large terrain.
fn time_terrain(rounds: usize) {
    let ways = [64, 4096].map(terrain);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..2 * rounds {
        for (way, times) in ways.iter().zip(&mut times) {
            times.push(time(way, EngineKind::Dynamics));
        }
    }
    let [small, large] = times.map(|mut times| median(&mut times));
    println!("{TERRAIN:<20} {large:8.2}, {:.2} of the same on 64 x 64", large / small);
}

/// Wheels that roll over bumps on terrain of `points` points each way, half a metre apart.
fn terrain(points: usize) -> Mechanism {
    let extent = 0.5 * (points - 1) as f64;
    let mut field = Heightfield {
        points_x: points,
        points_z: points,
        width: extent,
        depth: extent,
        heights: Vec::new().into(),
        pose: Pose::default(),
        material: Material::default(),
    };
    let at = |index: usize| field.position(index / points, index % points);
    field.heights = (0..points * points).map(at).map(|(x, z)| 0.05 * (1.7 * x).sin() * (2.1 * z).cos()).collect();
    let wheels = (0..6).map(|index| {
        let place = DVec3::new(f64::from(index % 2) * 2.0 - 8.0, 0.35, f64::from(index / 2) * 2.0);
        let wheel = body(Shape::Cylinder { radius: 0.25, length: 0.15 }, place);
        let lying = Pose { rotation: DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2), ..wheel.pose };
        Body { pose: lying, linear_velocity: DVec3::X * 2.0, angular_velocity: DVec3::Z * -8.0, ..wheel }
    });
    Mechanism { grounds: vec![field.into()], ..on_plane(wheels.collect()) }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn time(mechanism: &Mechanism, engine: EngineKind) -> f64 {
    let settings = Settings { engine, ..Settings::default() };
    let mut engine = build(mechanism, Timestep::MILLISECOND, &settings).expect("both engines can represent it");
    let start = Instant::now();
    for _ in 0..STEPS {
        engine.step();
    }
    start.elapsed().as_secs_f64() * 1e6 / f64::from(STEPS)
}

/// Time of a step in microseconds, of the processor where the system tells it, with the left and the right wheels at
/// these rates.
fn time_driven(mechanism: &Mechanism, rates: [f64; 2]) -> f64 {
    let mut engine = build(mechanism, Timestep::MILLISECOND, &Settings::default()).expect("a sound model");
    let count = mechanism.joints.iter().filter(|joint| joint.kind == JointKind::Hinge).count();
    for index in 0..count {
        let motor = Motor::Velocity { target: rates[usize::from(2 * index >= count)], max_effort: 100.0 };
        engine.set_motor(JointId::new(index), 2, motor);
    }
    (0..STEPS).for_each(|_| engine.step());
    let start = processor_time();
    (0..10 * STEPS).for_each(|_| engine.step());
    (processor_time() - start) * 1e6 / f64::from(10 * STEPS)
}

/// Processor time of this thread, s, where Linux tells it; otherwise the time of day.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = text.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(
        || std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0.0, |elapsed| elapsed.as_secs_f64()),
        |nanoseconds| nanoseconds * 1e-9,
    )
}

/// A robot of 5 kg on so many cylinder wheels, and on a smooth ball if these are two.
fn robot(wheels: usize) -> Mechanism {
    let base = Body { mass: 5.0, ..body(Shape::Box { size: DVec3::new(0.3, 0.06, 0.1) }, DVec3::Y * 0.15) };
    let mut bodies = vec![base];
    let mut joints = Vec::new();
    for side in [-0.15, 0.15] {
        for k in 0..wheels / 2 {
            let at = DVec3::new(0.2 * k as f64 - 0.1 * (wheels / 2 - 1) as f64, 0.05, side);
            let wheel = body(Shape::Cylinder { radius: 0.05, length: 0.03 }, at);
            let lying = Pose { rotation: DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2), ..Pose::default() };
            let shape = wheel.shape.map(|placed| Placed { pose: lying, ..placed });
            bodies.push(Body { mass: 0.4, shape, ..wheel });
            joints.push(Joint {
                frame: DQuat::from_rotation_y(std::f64::consts::PI),
                axes: [Axis::Locked, Axis::Locked, Axis::Free(FreeAxis::default())],
                ..Joint::new(JointKind::Hinge, BodyId::new(0), BodyId::new(bodies.len() - 1), at)
            });
        }
    }
    if wheels == 2 {
        let at = DVec3::new(0.13, 0.03, 0.0);
        let material = Material { friction: 0.0, ..Material::default() };
        bodies.push(Body { mass: 0.05, material, ..body(Shape::Sphere { radius: 0.03 }, at) });
        let axes = [Axis::Locked; 3];
        joints.push(Joint { axes, ..Joint::new(JointKind::Fixed, BodyId::new(0), BodyId::new(bodies.len() - 1), at) });
    }
    Mechanism { joints, ..on_plane(bodies) }
}

fn on_plane(bodies: Vec<Body>) -> Mechanism {
    Mechanism {
        gravity: DVec3::new(0.0, -9.81, 0.0),
        grounds: vec![Plane { normal: DVec3::Y, distance: 0.0, material: Material::default() }.into()],
        bodies,
        ..Mechanism::default()
    }
}

fn body(shape: Shape, place: DVec3) -> Body {
    Body {
        pose: Pose { translation: place, ..Pose::default() },
        shape: Some(Placed { pose: Pose::default(), shape }),
        ..Body::default()
    }
}

fn stack(count: usize) -> Mechanism {
    let edge = DVec3::splat(0.2);
    let at = |level: usize| DVec3::new(0.0, 0.1 + 0.2 * level as f64, 0.0);
    on_plane((0..count).map(|level| body(Shape::Box { size: edge }, at(level))).collect())
}

fn balls(count: usize) -> Mechanism {
    let at = |index: usize| DVec3::new(0.5 * (index % 10) as f64, 0.3, 0.5 * (index / 10) as f64);
    on_plane((0..count).map(|index| body(Shape::Sphere { radius: 0.1 }, at(index))).collect())
}

/// Links of 0.2 m that begin level and swing from the first, which is fixed.
fn chain(links: usize) -> Mechanism {
    let at = |link: usize| DVec3::new(0.2 * link as f64, 10.0, 0.0);
    let bodies = (0..=links)
        .map(|link| Body { fixed: link == 0, ..body(Shape::Capsule { radius: 0.02, length: 0.1 }, at(link)) });
    let joints = (1..=links).map(|link| Joint {
        axes: [Axis::Locked, Axis::Locked, Axis::Free(FreeAxis::default())],
        ..Joint::new(JointKind::Hinge, BodyId::new(link - 1), BodyId::new(link), at(link) - DVec3::new(0.1, 0.0, 0.0))
    });
    Mechanism { joints: joints.collect(), ..on_plane(bodies.collect()) }
}
