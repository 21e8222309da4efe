//! Energy gain, events and cost of random worlds: `cargo bench -p simpartner-dynamics --bench worlds -- h=0.001
//! seeds=0..500`.
//!
//! Each line has the number of steps, a hash of all states, the largest relative energy gain without a source, the mean
//! and largest cost of a step in microseconds and in sweeps (`dynamics.max_sweeps`), and the events by kind. Runs last
//! two seconds, or `seconds=0.5`. Seeds from 1000000 on are worlds of the wide family. The last lines are a summary.
//! With `only=odd`, only worlds are listed that ran away, gained energy, cost too much or panicked.

#[path = "../tests/engine/worlds/random.rs"]
#[expect(dead_code, reason = "the tests use the rest of it")]
mod random;
#[path = "../../../tests/it/scene.rs"]
#[expect(dead_code, reason = "the tests use the rest of it")]
mod scene;

use std::{
    hash::Hasher,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Instant,
};

use simpartner_dynamics::{DynamicsSettings, StepCheck};

use self::random::{Seen, run_by};

/// Relative energy gain, and fraction of the work budget, above which a world is listed as odd.
const MUCH_GAIN: f64 = 1e-3;
const MUCH_WORK: f64 = 1.3;

/// Results over all worlds.
#[derive(Default)]
struct Sum {
    built: usize,
    refused: usize,
    panicked: usize,
    diverged: usize,
    gained: usize,
    costly: usize,
    gain: f64,
    work: f64,
    events: Vec<(StepCheck, usize, usize)>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given = |name: &str| arguments.iter().find_map(|argument| argument.strip_prefix(name)?.strip_prefix('='));
    let number = |text: &str| text.parse::<f64>().unwrap_or_else(|_| panic!("'{text}' is no number"));
    // `cargo test --benches` only checks that the bench runs.
    let real = arguments.iter().any(|argument| argument == "--bench");
    let seconds = if real { given("seconds").map_or(2.0, number) } else { 0.01 };
    let h = given("h").map_or(0.001, number);
    let (first, end) = given("seeds").and_then(|seeds| seeds.split_once("..")).unwrap_or(("0", "10"));
    let only_odd = given("only") == Some("odd");
    println!(
        "{:>7} {:>7} {:>6} {:>16} {:>8} {:>9} {:>10} {:>8}  events",
        "seed", "h", "steps", "bits", "gain", "mean us", "worst us", "sweeps"
    );
    let mut sum = Sum::default();
    for seed in number(first) as u64..number(end) as u64 {
        match catch_unwind(AssertUnwindSafe(|| show(seed, h, seconds, only_odd, &mut sum))) {
            Ok(()) => {}
            Err(_) => {
                sum.panicked += 1;
                println!("{seed:7} {h:7} panicked");
            }
        }
    }
    sum.show();
}

impl Sum {
    fn add(&mut self, seen: &Seen, most: f64) -> bool {
        self.built += usize::from(seen.steps > 0);
        self.refused += usize::from(seen.steps == 0);
        self.diverged += usize::from(seen.diverged);
        let [gained, costly] = [seen.gain > MUCH_GAIN, seen.work > MUCH_WORK * most];
        (self.gained, self.costly) = (self.gained + usize::from(gained), self.costly + usize::from(costly));
        (self.gain, self.work) = (self.gain.max(seen.gain), self.work.max(seen.work));
        for &(check, count) in &seen.events {
            match self.events.iter_mut().find(|(own, ..)| *own == check) {
                Some((_, worlds, events)) => (*worlds, *events) = (*worlds + 1, *events + count),
                None => self.events.push((check, 1, count)),
            }
        }
        seen.diverged || gained || costly
    }

    fn show(&self) {
        let Self { built, refused, panicked, diverged, gained, costly, gain, work, events } = self;
        println!(
            "{built} worlds, {refused} refused: {panicked} panicked, {diverged} ran away, {gained} gained more than {MUCH_GAIN:.0e} \
             ({gain:.1e} at most), {costly} cost more than {MUCH_WORK} of the budget ({work:.0} sweeps at most)"
        );
        for (check, worlds, events) in events {
            println!("{check:?}: {events} events in {worlds} worlds");
        }
    }
}

fn show(seed: u64, h: f64, seconds: f64, only_odd: bool, sum: &mut Sum) {
    let (mut total, mut worst) = (0.0, 0.0f64);
    let seen = run_by(seed, h, seconds, &mut |engine| {
        let start = Instant::now();
        engine.step();
        let cost = start.elapsed().as_secs_f64() * 1e6;
        (total, worst) = (total + cost, worst.max(cost));
    });
    let odd = sum.add(&seen, DynamicsSettings::default().max_sweeps as f64);
    let Seen { steps, bits, gain, work, events, end, .. } = seen;
    if only_odd && !odd {
        return;
    }
    let mean = total / steps.max(1) as f64;
    let told: Vec<String> = events.iter().map(|(check, count)| format!("{check:?} {count}")).collect();
    println!(
        "{seed:7} {h:7} {steps:6} {:016x} {gain:8.1e} {mean:9.1} {worst:10.1} {work:8.0}  {}{}{end}",
        bits.finish(),
        told.join(", "),
        if end.is_empty() { "" } else { ": " }
    );
}
