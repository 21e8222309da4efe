//! Cost of a step compared with other engines: rapier, and where installed MuJoCo (PyPI `mujoco`), PhysX (PyPI
//! `sapien`), DART (PyPI `dartpy`) and ODE (Debian `libode-dev`). `cargo bench --bench peers`, with names of scenes
//! behind `--` for a selection.
//!
//! All engines are measured in turn, in several rounds of one run, so that their ratios are valid on a machine with
//! varying speed. The robot is that of the tests (`src/dynamics/tests/engine/rover.rs`). It drives, and its path before
//! the measurement shows that all engines have the same robot: MuJoCo reads it from `simpartner convert` as MJCF, PhysX
//! and DART as URDF. MuJoCo runs with its implicit integrator and default solver, ODE with `dWorldStep` for up to 30
//! bodies and `dWorldQuickStep` for more. Pendulums without contacts are compared with MuJoCo's Runge-Kutta method of
//! fourth order, which is our order, and with rapier; ropes with three integrators of MuJoCo ([`ropes`]).

#[path = "../../../src/dynamics/benches/costs/heaps.rs"]
mod heaps;
#[path = "../../../src/dynamics/tests/engine/rover.rs"]
#[expect(dead_code, reason = "the tests use the rest of it")]
mod rover;
#[path = "../../it/scene.rs"]
#[expect(dead_code, reason = "the tests use the rest of it")]
mod scene;

mod export;
mod peer;
mod ropes;

use std::{path::Path, time::Instant};

use bevy_math::DVec3;
use simpartner_description::World;
use simpartner_dynamics::{DynamicsSettings, Engine, EngineKind, Settings};
use simpartner_model::{BodyId, JointKind, Mechanism, Timestep};

use self::{
    peer::Peer,
    rover::{Rover, Wheel},
};

const ENGINES: [&str; 6] = ["ours", "rapier", "MuJoCo", "PhysX", "DART", "ODE"];
const ROUNDS: usize = 5;
/// Rounds of a scene that takes moments.
const SHORT_ROUNDS: usize = 15;
/// Bodies of a rover.
const JOINTED_BODIES: usize = rover::JOINTS + 1;
/// Number of alternations of many robots and one in a round.
const TURNS: usize = 20;

/// A world, and its drives.
struct Scene {
    name: &'static str,
    world: World,
    /// The timestep, and true if there are no contacts.
    timestep: Timestep,
    is_free: bool,
    rovers: Vec<Rover>,
    /// One of the rovers in a world of its own.
    robot: Option<World>,
    /// Steps before the clock runs and while it does.
    warm_up: usize,
    steps: usize,
    /// True for a single event, so that each round starts again.
    is_event: bool,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` only checks that the bench runs.
    let real = arguments.iter().any(|argument| argument == "--bench");
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    let folder = tempfile::tempdir().expect("a folder for the scenes");
    println!(
        "microseconds a step, of 1 ms unless the name says another, medians of {ROUNDS} rounds in turn, or {SHORT_ROUNDS}; in brackets the least and the most\n"
    );
    print!("{:<30}", "");
    ENGINES.iter().for_each(|engine| print!("{engine:>22}"));
    println!("   ours to MuJoCo, PhysX");
    let scenes = scenes();
    let alone = &scenes[0];
    for scene in scenes.iter().filter(|scene| wanted.is_empty() || wanted.iter().any(|name| *name == scene.name)) {
        let rounds = if scene.rovers.len() == 1 { SHORT_ROUNDS } else { ROUNDS };
        measure(scene, alone, folder.path(), if real { rounds } else { 1 }, real);
    }
    ropes::measure(folder.path(), real, |name| wanted.is_empty() || wanted.iter().any(|wanted| *wanted == name));
}

/// Measures and prints a scene; for many robots also the cost of each relative to the one of the first scene, which
/// runs alternately.
fn measure(scene: &Scene, alone: &Scene, folder: &Path, rounds: usize, real: bool) {
    let files = export::write(folder, scene);
    let (warm_up, steps) = if real { (scene.warm_up, scene.steps) } else { (1, 1) };
    let start = || {
        let own = [EngineKind::Dynamics, EngineKind::Rapier].map(|kind| {
            let mut engine = engine(scene, kind);
            (0..warm_up).for_each(|_| engine.step());
            engine
        });
        (own, if real { Peer::all(&files, folder, warm_up, steps) } else { Default::default() })
    };
    let (mut own, mut peers) = start();
    if !scene.rovers.is_empty() {
        let way = |engine: &dyn Engine| engine.body(BodyId::new(0)).pose.translation.x;
        let theirs = peers.iter().map(|peer| peer.as_ref().map(Peer::along));
        let at: Vec<Option<f64>> = own.iter().map(|engine| Some(way(&**engine))).chain(theirs).collect();
        let began = scene.world.mechanism.bodies[0].pose.translation.x;
        print!("{:<30}", "  metres on the way before");
        at.iter().for_each(|at| print!("{:>22}", at.map_or("-".into(), |at| format!("{:.4}", at - began))));
        println!();
    }
    let many = scene.rovers.len();
    // A single step of one robot would measure cold memory only.
    let mut one = (many > 1 && scene.steps > TURNS).then(|| engine(alone, EngineKind::Dynamics));
    one.iter_mut().for_each(|one| (0..warm_up).for_each(|_| one.step()));
    let (mut times, mut shares): ([Vec<f64>; ENGINES.len()], Vec<f64>) = Default::default();
    for round in 0..rounds {
        if round > 0 && scene.is_event {
            (own, peers) = start();
        }
        match &mut one {
            None => times[0].push(time(&mut *own[0], steps)),
            Some(one) => {
                // In intervals that are short compared with the machine's changes of speed.
                let part = steps.div_ceil(TURNS);
                let turns = (0..TURNS).map(|_| (time(&mut *own[0], part), time(&mut **one, part)));
                let turns: Vec<(f64, f64)> = turns.collect();
                times[0].push(turns.iter().map(|(many, _)| many).sum::<f64>() / TURNS as f64);
                shares.extend(turns.iter().map(|(all, one)| all / many as f64 / one));
            }
        }
        times[1].push(time(&mut *own[1], steps));
        for (times, peer) in times[2..].iter_mut().zip(&mut peers) {
            times.extend(peer.as_mut().and_then(Peer::round));
        }
    }
    print!("{:<30}", scene.name);
    times.iter().for_each(|times| print!("{:>22}", column(times)));
    let ratio = |peer: usize| match (median(&times[0]), median(&times[peer])) {
        (Some(ours), Some(theirs)) => format!("{:.2}", ours / theirs),
        _ => "-".into(),
    };
    println!("   {}, {}", ratio(2), ratio(3));
    if let Some(share) = median(&shares) {
        println!("{:<30}a robot {share:.2} of what one costs alone", "");
    }
}

/// The median of the rounds, and in brackets the least and the most.
fn column(times: &[f64]) -> String {
    let Some(middle) = median(times) else { return "skipped".into() };
    let (least, most) = times.iter().fold((f64::MAX, 0.0f64), |(l, m), &t| (l.min(t), m.max(t)));
    format!("{middle:.1} [{least:.1}, {most:.1}]")
}

fn median(times: &[f64]) -> Option<f64> {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

fn engine(scene: &Scene, kind: EngineKind) -> Box<dyn Engine> {
    // Rapier gets the sweeps that its accuracy on these scenes needs, not those of stiff robots.
    let rapier = simpartner_dynamics::RapierSettings { solver_iterations: 4, ..Default::default() };
    let settings = Settings { engine: kind, dynamics: DynamicsSettings::default(), rapier, ..Settings::default() };
    let mechanism = &scene.world.mechanism;
    let mut engine = simpartner_dynamics::build(mechanism, scene.timestep, &settings).expect("the scene can be built");
    scene.rovers.iter().for_each(|rover| rover.drive(&mut *engine, export::RATE));
    engine
}

fn time(engine: &mut dyn Engine, steps: usize) -> f64 {
    let start = Instant::now();
    (0..steps).for_each(|_| engine.step());
    start.elapsed().as_secs_f64() * 1e6 / steps as f64
}

/// Appends a number to the names of bodies and joints, for each robot of `bodies` bodies and one joint less: files need
/// unique names.
fn number(world: &mut World, bodies: usize) {
    let Mechanism { bodies: all, joints, .. } = &mut world.mechanism;
    all.iter_mut().enumerate().for_each(|(index, body)| body.name = format!("{}{}", body.name, index % bodies));
    let numbered = joints.iter_mut().enumerate();
    numbered.for_each(|(index, joint)| joint.name = format!("{}{}", joint.name, index % (bodies - 1)));
}

fn scenes() -> Vec<Scene> {
    let robots = |name, count: usize, terrain: bool, wheel: Wheel| {
        let mut world = if terrain { scene::hills() } else { heaps::plane() };
        let side = (count as f64).sqrt().ceil() as usize;
        let rovers = (0..count).map(|index| {
            let (i, j) = ((index % side) as f64, (index / side) as f64);
            let at = DVec3::new(2.2 * (i - 0.5 * (side - 1) as f64), 0.0, 2.2 * (j - 0.5 * (side - 1) as f64));
            let lift = if terrain { DVec3::new(if count == 1 { -15.0 } else { 0.0 }, 0.35, 0.0) } else { DVec3::ZERO };
            rover::add(&mut world, at + lift, wheel)
        });
        let rovers = rovers.collect();
        // The same part of the drive for all, except for a thousand robots, which would take other engines too long.
        let (warm_up, steps) = if count > 100 { (300, 20) } else { (1500, 1000) };
        let mut robot = heaps::plane();
        rover::add(&mut robot, DVec3::ZERO, wheel);
        number(&mut robot, JOINTED_BODIES);
        number(&mut world, JOINTED_BODIES);
        Scene { rovers, robot: Some(robot), ..scene(name, world, warm_up, steps) }
    };
    let event = |name, world, steps| Scene { is_event: true, ..loose(name, world, 0, steps) };
    let free = |name, links, milliseconds: f64| {
        let timestep = Timestep::from_seconds(1e-3 * milliseconds).expect("a whole number of microseconds");
        Scene { timestep, is_free: true, ..loose(name, pendulum(links), 100, 5000) }
    };
    vec![
        robots("robot, flat, balls", 1, false, Wheel::Ball),
        robots("robot, flat, cylinders", 1, false, Wheel::Cylinder),
        robots("robot, terrain, balls", 1, true, Wheel::Ball),
        robots("robot, terrain, cylinders", 1, true, Wheel::Cylinder),
        robots("10 robots", 10, false, Wheel::Ball),
        robots("100 robots", 100, false, Wheel::Ball),
        robots("1000 robots", 1000, false, Wheel::Ball),
        loose("stack of 10", heaps::stack(0.0), 500, 2000),
        loose("stack of 10 with offsets", heaps::stack(0.001), 500, 2000),
        // From the push to the last fall.
        event("20 dominoes", heaps::dominoes(), 2000),
        event("100 boxes", heaps::boxes(), 2000),
        event("300 mixed", heaps::mixed(), 1000),
        loose("pile of 27", heaps::pile(3), 3000, 1000),
        loose("pile of 1000", heaps::pile(10), 400, 5),
        free("double pendulum", 2, 1.0),
        free("double pendulum, 10 ms", 2, 10.0),
        free("pendulum of 20", 20, 1.0),
    ]
}

/// A world of free bodies with unique names.
fn loose(name: &'static str, mut world: World, warm_up: usize, steps: usize) -> Scene {
    number(&mut world, usize::MAX);
    scene(name, world, warm_up, steps)
}

/// A world of free bodies, whose steps are measured in order.
fn scene(name: &'static str, world: World, warm_up: usize, steps: usize) -> Scene {
    let (timestep, rovers) = (Timestep::MILLISECOND, Vec::new());
    Scene { name, world, timestep, is_free: false, rovers, robot: None, warm_up, steps, is_event: false }
}

/// A pendulum of links of 1 kg, half a metre apart, released from the horizontal. Links of a robot do not collide.
fn pendulum(links: usize) -> World {
    let mut world = scene::world();
    world.mechanism.bodies.push(scene::body("base", 1.0, None, DVec3::ZERO));
    world.mechanism.bodies[0].fixed = true;
    for index in 0..links {
        let hinge = DVec3::X * (0.5 * index as f64);
        world.mechanism.bodies.push(scene::body("link", 1.0, scene::ball(0.05), hinge + DVec3::X * 0.5));
        world.mechanism.joints.push(scene::joint("hinge", JointKind::Hinge, index, index + 1, hinge));
    }
    scene::as_robot(world)
}
