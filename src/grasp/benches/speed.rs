//! How long the laboratory takes, as ratios within one run: `cargo bench -p simpartner-grasp`.
//!
//! - a check beside clarabel alone on the same matrices, both of its programs;
//! - a chart of 840 directions beside 840 checks.

#![allow(clippy::unwrap_used, reason = "a bench stops where it cannot go on")]

use std::{hint::black_box, time::Instant};

use simpartner_grasp::{Section, Statics, chart::chart, check, programs};

#[path = "../tests/laboratory/support.rs"]
#[allow(dead_code, reason = "the tests use the rest of it")]
mod support;

/// Seconds that a call takes in the mean, of the fastest of five series.
fn seconds(times: usize, mut call: impl FnMut()) -> f64 {
    let series = (0..5).map(|_| {
        let begin = Instant::now();
        (0..times).for_each(|_| call());
        begin.elapsed().as_secs_f64() / times as f64
    });
    series.fold(f64::INFINITY, f64::min)
}

fn main() {
    let mut random = support::Random::new(840);
    println!("| contacts | check | clarabel alone | ratio | chart | 840 checks | ratio | programs of the chart |");
    println!("|---|---|---|---|---|---|---|---|");
    for contacts in [3, 5, 8, 12] {
        let statics = loop {
            let statics = Statics::new(&random.grasp(contacts), Section::Disc).unwrap();
            // A grasp that holds needs both programs.
            if check(&statics).least.is_some() {
                break statics;
            }
        };
        let own = seconds(200, || drop(black_box(check(black_box(&statics)))));
        let bare = programs(&statics);
        let alone = seconds(200, || bare.iter().for_each(|program| drop(black_box(program.solve()))));
        let charted = seconds(3, || drop(black_box(chart(&statics, 0.5))));
        let solved = chart(&statics, 0.5).unwrap().solved;
        println!(
            "| {contacts} | {:.3} ms | {:.3} ms | {:.2} | {:.1} ms | {:.1} ms | {:.3} | {solved} |",
            own * 1e3,
            alone * 1e3,
            own / alone,
            charted * 1e3,
            840.0 * own * 1e3,
            charted / (840.0 * own)
        );
    }
}
