//! Cost of each step of a run: `cargo bench -p simpartner-dynamics --bench costs`. Names of scenes behind `--` select
//! scenes; `seconds=10` sets the length of a run, 60 s by default.
//!
//! A run starts at the first step. A loop in real time waits for the worst step. Other programs on the machine add
//! pauses to a step, so each scene runs several times with bit-identical steps, and the cost of a step is that of its
//! fastest repetition.

mod heaps;
#[path = "../../tests/engine/rover.rs"]
#[expect(dead_code, reason = "the tests use the rest of it")]
mod rover;
#[path = "../../../../tests/it/scene.rs"]
#[expect(dead_code, reason = "the tests use the rest of it")]
mod scene;
mod scenes;
#[path = "../../tests/engine/six_wheels.rs"]
#[expect(dead_code, reason = "the tests use the rest of it")]
mod six_wheels;

use std::time::Instant;

use self::scenes::{Scene, TIMESTEP};

const ROUNDS: usize = 3;
const SECONDS: f64 = 60.0;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` only checks that the bench runs.
    let real = arguments.iter().any(|argument| argument == "--bench");
    let seconds = arguments.iter().find_map(|argument| argument.strip_prefix("seconds=")?.parse().ok());
    let steps = if real { (seconds.unwrap_or(SECONDS) / TIMESTEP).round() as usize } else { 1 };
    let wanted = |name: &str| {
        let mut names = arguments.iter().filter(|argument| !argument.starts_with("--") && !argument.contains('='));
        names.clone().next().is_none() || names.any(|wanted| wanted == name)
    };
    println!("microseconds a step of 1 ms, over {steps} steps, the least of {ROUNDS} rounds");
    println!("the number of the worst step, and its work in sweeps (`dynamics.max_sweeps`), stand behind");
    println!("{:<26}{:>10}{:>10}{:>10}{:>12}{:>8}{:>8}", "", "mean", "p99.9", "worst", "worst/mean", "step", "sweeps");
    for scene in scenes::all().iter().filter(|scene| wanted(scene.name)) {
        let mut costs = vec![Cost { microseconds: f64::INFINITY, step: 0, sweeps: 0.0 }; steps];
        for _ in 0..if real { ROUNDS } else { 1 } {
            run(scene, &mut costs);
        }
        let mean = costs.iter().map(|cost| cost.microseconds).sum::<f64>() / steps as f64;
        costs.sort_by(|one, other| one.microseconds.total_cmp(&other.microseconds));
        let high = costs[(steps * 999 / 1000).min(steps - 1)].microseconds;
        let Cost { microseconds: worst, step, sweeps } = costs[steps - 1];
        let share = worst / mean;
        println!("{:<26}{mean:10.2}{high:10.1}{worst:10.1}{share:12.1}{step:8}{sweeps:8.0}", scene.name);
    }
}

/// Cost of a step.
#[derive(Clone, Copy)]
struct Cost {
    microseconds: f64,
    step: usize,
    sweeps: f64,
}

/// Runs a scene, and keeps the lower cost of each step.
fn run(scene: &Scene, costs: &mut [Cost]) {
    let mut engine = scene.engine();
    for (step, cost) in costs.iter_mut().enumerate() {
        let start = Instant::now();
        engine.step();
        cost.microseconds = cost.microseconds.min(start.elapsed().as_secs_f64() * 1e6);
        (cost.step, cost.sweeps) = (step + 1, engine.solver_cost().unwrap_or_default());
    }
}
