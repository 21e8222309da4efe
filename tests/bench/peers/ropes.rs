//! Ropes that hang from a point, released at 1 rad from the vertical: cost of their steps, the worst compared with the
//! mean, and error of their energy, compared with three integrators of MuJoCo. Every run is made several times in turn,
//! with the same steps; the cost of a step is that of the fastest repetition.

use std::{path::Path, time::Instant};

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::EngineKind;
use simpartner_model::{JointKind, Shape, Timestep};

use super::{Scene, engine, export, loose, peer::Peer, scene};

/// Runs of each engine, in turn.
const RUNS: usize = 3;
/// The runs last so long, s: the rope falls, and its end whips.
const SECONDS: f64 = 1.6;
/// Longer ropes take others minutes, and have not fallen much sooner.
const SECONDS_OF_LONG: f64 = 0.4;
const INTEGRATORS: [&str; 3] = ["RK4", "Euler", "implicitfast"];

/// Cost of the steps of a run, microseconds, and error of the energy after each, J.
struct Run {
    costs: Vec<f64>,
    errors: Vec<f64>,
}

/// Measures and prints the ropes whose names are wanted.
pub fn measure(folder: &Path, real: bool, is_wanted: impl Fn(&str) -> bool) {
    println!("\n{:<34}{:<14}{:>10}{:>10}{:>12}{:>14}", "", "", "mean", "worst", "worst/mean", "energy off, J");
    for (links, seconds) in [(100, SECONDS), (400, SECONDS_OF_LONG)] {
        for (kind, joints) in [(JointKind::Hinge, "hinges"), (JointKind::Ball, "ball joints")] {
            for milliseconds in [1.0, 4.0] {
                let name = format!("rope of {links}, {joints}, {milliseconds} ms");
                if !is_wanted(&name) {
                    continue;
                }
                let timestep = Timestep::from_seconds(1e-3 * milliseconds).expect("a whole number of microseconds");
                let steps = if real { (seconds / timestep.seconds()).round() as usize } else { 1 };
                let scene = Scene { timestep, is_free: true, ..loose("rope", rope(links, kind), 0, steps) };
                print(&name, &scene, folder, if real { RUNS } else { 1 }, real);
            }
        }
    }
}

/// A line for each engine.
fn print(name: &str, scene: &Scene, folder: &Path, runs: usize, real: bool) {
    let files = export::write(folder, scene);
    let mut peer = if real { Peer::python("rope_peer.py", &files.mjcf, [scene.steps]) } else { None };
    let mut found: [Option<Run>; 1 + INTEGRATORS.len()] = Default::default();
    for _ in 0..runs {
        keep_fastest(&mut found[0], own(scene));
        for (integrator, found) in INTEGRATORS.iter().zip(&mut found[1..]) {
            let numbers = peer.as_mut().and_then(|peer| peer.ask(integrator));
            if let Some((costs, errors)) = numbers.as_ref().and_then(|numbers| numbers.split_at_checked(scene.steps)) {
                keep_fastest(found, Run { costs: costs.to_vec(), errors: errors.to_vec() });
            }
        }
    }
    let names = ["ours"].into_iter().chain(INTEGRATORS);
    let mean = |run: &Run| run.costs.iter().sum::<f64>() / run.costs.len() as f64;
    for (engine, run) in names.zip(&found) {
        let Some(run) = run else {
            println!("{name:<34}{engine:<14}{:>10}", "skipped");
            continue;
        };
        let worst = run.costs.iter().copied().fold(0.0, f64::max);
        let off = run
            .errors
            .iter()
            .fold(0.0f64, |off, error| if error.is_finite() { off.max(error.abs()) } else { f64::INFINITY });
        println!("{name:<34}{engine:<14}{:10.0}{worst:10.0}{:12.1}{off:14.1e}", mean(run), worst / mean(run));
    }
    if let [Some(ours), Some(theirs), ..] = &found {
        println!("{name:<34}{:<14}{:10.2}", "ours to RK4", mean(ours) / mean(theirs));
    }
}

fn keep_fastest(found: &mut Option<Run>, run: Run) {
    match found {
        None => *found = Some(run),
        Some(found) => found.costs.iter_mut().zip(run.costs).for_each(|(cost, new)| *cost = cost.min(new)),
    }
}

fn own(scene: &Scene) -> Run {
    let mut engine = engine(scene, EngineKind::Dynamics);
    let stored =
        |engine: &dyn simpartner_dynamics::Engine| engine.energy_balance().map_or(f64::NAN, |energy| energy.stored);
    let start = stored(&*engine);
    let steps = (0..scene.steps).map(|_| {
        let begin = Instant::now();
        engine.step();
        (begin.elapsed().as_secs_f64() * 1e6, stored(&*engine) - start)
    });
    let (costs, errors) = steps.unzip();
    Run { costs, errors }
}

/// A rope of `links` links of 20 g and 5 cm.
fn rope(links: usize, kind: JointKind) -> World {
    const LENGTH: f64 = 0.05;
    let along = DVec3::new(1f64.sin(), -1f64.cos(), 0.0);
    let mut world = scene::world();
    world.mechanism.bodies.push(scene::body("base", 1.0, None, DVec3::ZERO));
    world.mechanism.bodies[0].fixed = true;
    for link in 0..links {
        let (begin, shape) = (along * (LENGTH * link as f64), Shape::Capsule { radius: 0.008, length: 0.03 });
        let mut one = scene::body("link", 0.02, Some(shape), begin + along * (0.5 * LENGTH));
        one.pose.rotation = DQuat::from_rotation_arc(DVec3::Y, along);
        world.mechanism.bodies.push(one);
        world.mechanism.joints.push(scene::joint("joint", kind, link, link + 1, begin));
    }
    scene::as_robot(world)
}
