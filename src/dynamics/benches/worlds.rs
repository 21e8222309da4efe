//! What worlds at random gain, tell and cost: `cargo bench -p simpartner-dynamics --bench worlds -- h=0.001 seeds=0..500`.
//!
//! A line for each: how many steps it made, the largest part of energy that nothing gave, what a step cost in the mean and at most,
//! in microseconds and in sweeps (`dynamics.max_sweeps`), and its events by kind. Runs are of two seconds, or `seconds=0.5`.

#[path = "../tests/engine/worlds/random.rs"]
#[expect(dead_code, reason = "the tests use the rest of it")]
mod random;
#[path = "../../../tests/it/scene.rs"]
#[expect(dead_code, reason = "the tests use the rest of it")]
mod scene;

use std::time::Instant;

use self::random::{Seen, run_by};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given = |name: &str| arguments.iter().find_map(|argument| argument.strip_prefix(name)?.strip_prefix('='));
    let number = |text: &str| text.parse::<f64>().unwrap_or_else(|_| panic!("'{text}' is no number"));
    // `cargo test --benches` only wants to know that it runs.
    let real = arguments.iter().any(|argument| argument == "--bench");
    let seconds = if real { given("seconds").map_or(2.0, number) } else { 0.01 };
    let h = given("h").map_or(0.001, number);
    let (first, end) = given("seeds").and_then(|seeds| seeds.split_once("..")).unwrap_or(("0", "10"));
    println!(
        "{:>5} {:>7} {:>6} {:>8} {:>9} {:>10} {:>8}  events",
        "seed", "h", "steps", "gain", "mean us", "worst us", "sweeps"
    );
    for seed in number(first) as u64..number(end) as u64 {
        show(seed, h, seconds);
    }
}

fn show(seed: u64, h: f64, seconds: f64) {
    let (mut total, mut worst, mut work) = (0.0, 0.0f64, 0.0f64);
    let Seen { steps, gain, events, end, .. } = run_by(seed, h, seconds, &mut |engine| {
        let start = Instant::now();
        engine.step();
        let cost = start.elapsed().as_secs_f64() * 1e6;
        (total, worst) = (total + cost, worst.max(cost));
        work = work.max(engine.work().unwrap_or_default());
    });
    let mean = total / steps.max(1) as f64;
    let told: Vec<String> = events.iter().map(|(guard, count)| format!("{guard:?} {count}")).collect();
    println!(
        "{seed:5} {h:7} {steps:6} {gain:8.1e} {mean:9.1} {worst:10.1} {work:8.0}  {}{}{end}",
        told.join(", "),
        if end.is_empty() { "" } else { ": " }
    );
}
