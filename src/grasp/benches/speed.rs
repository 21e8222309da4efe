//! Times of the laboratory, as ratios within one run: `cargo bench -p simpartner-grasp`. It compares
//!
//! - a check with clarabel alone on the matrices of both of the check's programs;
//! - a chart of 840 directions with 840 checks;
//! - epsilon of pyramids with qhull's hull of the same points, if Python has scipy;
//! - a slip in the engine with the quasi-exact slip, for both laws of sliding.

#![allow(clippy::unwrap_used, reason = "a bench stops where it cannot go on")]

use std::{
    fmt::Write as _,
    hint::black_box,
    io::Write as _,
    process::{Command, Stdio},
    time::Instant,
};

use simpartner_grasp::{
    Section, Statics,
    chart::chart,
    check, programs,
    quality::{Options, quality},
    slip::{Sliding, SlipOptions, slip, slip_in_engine},
};

#[path = "../tests/laboratory/support.rs"]
#[allow(dead_code, reason = "the tests use the rest of it")]
mod support;

/// Mean time of a call in the fastest of five series of `times` calls, s.
fn mean_seconds(times: usize, mut call: impl FnMut()) -> f64 {
    let series = (0..5).map(|_| {
        let begin = Instant::now();
        (0..times).for_each(|_| call());
        begin.elapsed().as_secs_f64() / times as f64
    });
    series.fold(f64::INFINITY, f64::min)
}

/// A Python program that builds the hull of each line's points five times, and prints the least time, s, the least
/// offset of the facets and the number of facets.
const QHULL_PROGRAM: &str = "
import json, sys, time
import numpy
from scipy.spatial import ConvexHull
for line in sys.stdin:
    points = numpy.array(json.loads(line))
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        hull = ConvexHull(points)
        epsilon = (-hull.equations[:, 6]).min()
        times.append(time.perf_counter() - begin)
    print(min(times), epsilon, len(hull.equations), flush=True)
";

/// The input of the Python program: the wrenches of all edges of a grasp, and the origin, as a line of JSON.
fn wrenches_json(statics: &Statics, edges: usize) -> String {
    let mut text = String::from("[[0,0,0,0,0,0]");
    for contact in &statics.contacts {
        let [normal, first, second, _] = contact.columns();
        for k in 0..edges {
            let (sine, cosine) = libm::sincos(std::f64::consts::TAU * k as f64 / edges as f64);
            let wrench = normal + (first * cosine + second * sine) * contact.friction;
            let scaled = |axis: usize| if axis < 3 { wrench[axis] } else { wrench[axis] / statics.length };
            let numbers: Vec<String> = (0..6).map(|axis| format!("{:e}", scaled(axis))).collect();
            let _ = write!(text, ",[{}]", numbers.join(","));
        }
    }
    text + "]\n"
}

/// The output of the Python program for lines of points; `None` without scipy.
fn run_qhull(lines: &str) -> Option<String> {
    let mut python = Command::new("python3")
        .args(["-c", QHULL_PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let written = python.stdin.take()?.write_all(lines.as_bytes());
    let output = python.wait_with_output().ok()?;
    written.ok().filter(|()| output.status.success()).map(|()| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A random grasp of frictional contacts with force closure, so that qhull's hull and ours have the same epsilon.
fn force_closure_grasp(random: &mut support::Random, contacts: u64) -> simpartner_model::Grasp {
    loop {
        let mut grasp = random.grasp(contacts);
        for contact in &mut grasp.contacts {
            contact.kind = simpartner_model::ContactKind::Frictional { friction: random.between(0.2, 0.8) };
        }
        let statics = Statics::new(&grasp, Section::Polygon(8)).unwrap();
        let options = Options { tolerance: 1e-6, volume_tolerance: 1.0, ..Options::default() };
        if quality(&statics, &options).epsilon.lower > 1e-3 {
            return grasp;
        }
    }
}

/// Prints the times, epsilons and numbers of facets of the quality measures and of qhull's hull.
fn compare_with_qhull(random: &mut support::Random) {
    println!(
        "\n| contacts | edges | all measures, tolerance 1e-6 | qhull's hull | ratio | epsilon of both | facets of both |"
    );
    println!("|---|---|---|---|---|---|---|");
    for contacts in [4, 6, 8] {
        let grasp = force_closure_grasp(random, contacts);
        for edges in [4, 8, 16] {
            let statics = Statics::new(&grasp, Section::Polygon(edges)).unwrap();
            let options = Options { tolerance: 1e-6, volume_tolerance: 1.0, ..Options::default() };
            let found = quality(&statics, &options);
            let own = mean_seconds(3, || drop(black_box(quality(&statics, &options))));
            let Some(told) = run_qhull(&wrenches_json(&statics, edges)) else {
                println!("without scipy: python3 -m pip install scipy");
                return;
            };
            let figures: Vec<f64> = told.split_whitespace().map(|word| word.parse().unwrap()).collect();
            let [time, epsilon, facets] = figures[..] else { panic!("{told}") };
            println!(
                "| {contacts} | {edges} | {:.1} ms | {:.1} ms | {:.2} | {:.6} {epsilon:.6} | {} {facets} |",
                own * 1e3,
                time * 1e3,
                own / time,
                found.epsilon.lower,
                found.facets
            );
        }
    }
}

/// Prints the times of slips of three random grasps that fail, quasi-exact with both laws of sliding and in the engine.
fn compare_slips() {
    use simpartner_model::{Contact, ContactKind, Patch};
    let mut random = support::Random::new(19);
    println!(
        "\n| slip, a random grasp of 4 contacts | simulated | quasi-exact | with associated sliding | in the engine | engine to quasi-exact |"
    );
    println!("|---|---|---|---|---|---|");
    let mut shown = 0;
    while shown < 3 {
        let mut grasp = random.grasp(4);
        for contact in &mut grasp.contacts {
            let kind = ContactKind::Frictional { friction: contact.kind.friction().max(0.1) };
            *contact = Contact { kind, patch: Patch { range: 0.02, ..Patch::PLANE }, ..contact.clone() };
        }
        let options = SlipOptions::default();
        let found = slip(&grasp, &options).unwrap();
        if found.outcome.word() != "fails" {
            continue;
        }
        let associated = SlipOptions { sliding: Sliding::Associated, ..options };
        let times = [
            mean_seconds(1, || drop(black_box(slip(&grasp, &options)))),
            mean_seconds(1, || drop(black_box(slip(&grasp, &associated)))),
            mean_seconds(1, || drop(black_box(slip_in_engine(&grasp, &options)))),
        ];
        let [quasi, associated, engine] = times.map(|time| time * 1e3);
        shown += 1;
        println!(
            "| {shown} | {:.3} s | {quasi:.1} ms | {associated:.1} ms | {engine:.1} ms | {:.2} |",
            found.time,
            engine / quasi
        );
    }
}

fn main() {
    let mut random = support::Random::new(840);
    println!("| contacts | check | clarabel alone | ratio | chart | 840 checks | ratio | programs of the chart |");
    println!("|---|---|---|---|---|---|---|---|");
    for contacts in [3, 5, 8, 12] {
        let statics = loop {
            let statics = Statics::new(&random.grasp(contacts), Section::Disc).unwrap();
            // Only a check of a grasp that holds solves both programs.
            if check(&statics).least.is_some() {
                break statics;
            }
        };
        let own = mean_seconds(200, || drop(black_box(check(black_box(&statics)))));
        let bare = programs(&statics);
        let alone = mean_seconds(200, || bare.iter().for_each(|program| drop(black_box(program.solve()))));
        let charted = mean_seconds(3, || drop(black_box(chart(&statics, 0.5))));
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
    compare_with_qhull(&mut random);
    compare_slips();
}
