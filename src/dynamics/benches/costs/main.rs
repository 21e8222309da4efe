//! What each step of a run costs: `cargo bench -p simpartner-dynamics --bench costs`, with names of scenes behind `--` for some of
//! them only, and `seconds=10` for runs of another length than 60 s.
//!
//! A run is a minute of simulated time from the first step on. The worst step is what a loop in real time waits for, and a machine
//! that does other things beside adds its pauses to it: so each scene is run several times, the same steps to the last bit, and a
//! step costs what it did in the fastest of them.

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
    // `cargo test --benches` only wants to know that it runs.
    let real = arguments.iter().any(|argument| argument == "--bench");
    let seconds = arguments.iter().find_map(|argument| argument.strip_prefix("seconds=")?.parse().ok());
    let steps = if real { (seconds.unwrap_or(SECONDS) / TIMESTEP).round() as usize } else { 1 };
    let wanted = |name: &str| {
        let mut names = arguments.iter().filter(|argument| !argument.starts_with("--") && !argument.contains('='));
        names.clone().next().is_none() || names.any(|wanted| wanted == name)
    };
    println!("microseconds a step of 1 ms, over {steps} steps, the least of {ROUNDS} rounds");
    println!("{:<26}{:>10}{:>10}{:>10}{:>12}", "", "mean", "p99.9", "worst", "worst/mean");
    for scene in scenes::all().iter().filter(|scene| wanted(scene.name)) {
        let mut costs = vec![f64::INFINITY; steps];
        for _ in 0..if real { ROUNDS } else { 1 } {
            run(scene, &mut costs);
        }
        let mean = costs.iter().sum::<f64>() / steps as f64;
        costs.sort_by(f64::total_cmp);
        let (high, worst) = (costs[(steps * 999 / 1000).min(steps - 1)], costs[steps - 1]);
        println!("{:<26}{mean:10.1}{high:10.1}{worst:10.1}{:12.1}", scene.name, worst / mean);
    }
}

/// Runs a scene, and lowers the cost of each step to what it was now, microseconds.
fn run(scene: &Scene, costs: &mut [f64]) {
    let mut engine = scene.engine();
    for cost in costs {
        let start = Instant::now();
        engine.step();
        *cost = cost.min(start.elapsed().as_secs_f64() * 1e6);
    }
}
