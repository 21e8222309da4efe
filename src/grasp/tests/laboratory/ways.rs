//! The two ways to compute a slip beside each other, on random grasps.

use simpartner_grasp::slip::{Outcome, Sliding, Slip, SlipOptions, slip, slip_in_engine};
use simpartner_model::{Contact, ContactKind, Grasp, Patch};

use crate::support::Random;

/// Grasps of three to six contacts on an ellipsoid, on patches of 10 to 30 mm, a third of which bulge or are hollow.
fn random(random: &mut Random) -> Grasp {
    let count = 3 + random.below(4);
    let mut made = random.grasp(count);
    made.contacts = std::mem::take(&mut made.contacts)
        .into_iter()
        .map(|contact| {
            let range = random.between(0.01, 0.03);
            let bend = if random.below(3) == 0 { random.between(-5.0, 2.0) } else { 0.0 };
            // The engine takes torsion apart from friction, which `soft` below is about.
            let friction = contact.kind.friction();
            let kind = if friction > 0.0 { ContactKind::Frictional { friction } } else { contact.kind };
            Contact { kind, patch: Patch { xx: bend, yy: 0.7 * bend, range, ..Patch::PLANE }, ..contact }
        })
        .collect();
    made
}

fn shown(slip: &Slip) -> String {
    let finger = match slip.outcome {
        Outcome::Misses(finger) | Outcome::OutOfRange(finger) => format!(" by finger {finger}"),
        _ => String::new(),
    };
    format!("{}{finger} {:.3} s {:.1} mm", slip.outcome.word(), slip.time, slip.path * 1e3)
}

/// What both ways make of a grasp, and whether verdicts are the same, and times of failure to 5 %.
fn both(grasp: &Grasp, options: &SlipOptions) -> ([Slip; 2], bool) {
    let (quasi, engine) = (slip(grasp, options).unwrap(), slip_in_engine(grasp, options).unwrap());
    assert!(engine.inner.is_none());
    let engine = engine.slip;
    let together = quasi.outcome.word() != "fails" || (quasi.time - engine.time).abs() <= 0.05 * engine.time;
    let alike = quasi.outcome.same_kind(engine.outcome) && together;
    ([quasi, engine], alike)
}

/// Of 100 grasps all have the same verdict in both ways, and what fails does so at the same time; where one does not, a finger grazes the edge
/// of its patch, and with a quarter of the timestep it does. `SIMPARTNER_TABLES=1` with `--nocapture` prints all of them.
#[test]
fn both_ways_agree_on_random_grasps() {
    let prints = std::env::var_os("SIMPARTNER_TABLES").is_some();
    let (mut stream, options) = (Random::new(19), SlipOptions::default());
    let (mut seen, mut grazes) = (std::collections::BTreeSet::new(), 0);
    for number in 0..100 {
        let grasp = random(&mut stream);
        let ([quasi, engine], alike) = both(&grasp, &options);
        if prints {
            eprintln!("| {number} | {} | {} | {} | {alike} |", grasp.contacts.len(), shown(&quasi), shown(&engine));
        }
        assert!(quasi.outcome.same_kind(engine.outcome), "{number}: {}, {}", shown(&quasi), shown(&engine));
        if !alike {
            let fine = SlipOptions { timestep: options.timestep / 4.0, ..options };
            let ([quasi, engine], alike) = both(&grasp, &fine);
            assert!(alike, "{number}: {}, {}", shown(&quasi), shown(&engine));
            grazes += 1;
        }
        seen.insert(engine.outcome.word());
    }
    assert!(grazes <= 1, "{grazes}");
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["fails", "holds", "rests"]);
}

/// The same fall by the same law of sliding takes the same time: the associated one, which lifts surfaces apart, takes another.
#[test]
fn associated_sliding_falls_in_other_times() {
    let (mut stream, options) = (Random::new(19), SlipOptions::default());
    let (mut near, mut all) = ([0, 0], 0);
    for _ in 0..30 {
        let grasp = random(&mut stream);
        let engine = slip_in_engine(&grasp, &options).unwrap().slip;
        if engine.outcome.word() != "fails" {
            continue;
        }
        all += 1;
        for (count, sliding) in near.iter_mut().zip([Sliding::Associated, Sliding::Coulomb]) {
            let found = slip(&grasp, &SlipOptions { sliding, ..options }).unwrap();
            *count += usize::from((found.time - engine.time).abs() <= 0.05 * engine.time);
        }
    }
    assert!(near[1] == all && 4 * near[0] < 3 * all, "{near:?} of {all}");
}

/// A grasp as odd as a file may have it: any kinds of contacts, loads, least forces, masses, and inertias of any shape.
fn odd(stream: &mut Random) -> Grasp {
    let count = 1 + stream.below(12);
    let mut grasp = stream.grasp(count);
    let inertia = grasp.object.inertia.as_mut().unwrap();
    let moments = bevy_math::DVec3::new(1.0, stream.between(0.1, 1.0), stream.between(0.9, 1.0));
    inertia.tensor = bevy_math::DMat3::from_diagonal(moments * libm::pow(10.0, stream.between(-5.0, -1.0)));
    inertia.centre_of_mass = stream.direction() * stream.between(0.0, 0.02);
    grasp.object.mass = libm::pow(10.0, stream.between(-2.0, 1.0));
    grasp
}

/// What a slip costs is bounded, also on planes without end: there a finger is beyond its patch once the object has gone ten times its size, where it
/// fell for 100 m before; and jams take a few programs a step, where they took up to 50.
#[test]
fn slips_of_odd_grasps_come_to_an_end() {
    let (mut stream, mut fallen) = (Random::new(11), 0);
    for number in 0..60 {
        let mut grasp = odd(&mut stream);
        let is_endless = number % 2 == 0;
        let range = if is_endless { f64::INFINITY } else { stream.between(0.01, 0.03) };
        grasp.contacts.iter_mut().for_each(|contact| contact.patch.range = range);
        let found = slip(&grasp, &SlipOptions::default()).unwrap();
        let steps = found.trace.len();
        assert!(found.programs <= 12 * steps && found.programs < 10_000, "{number}: {} in {steps}", found.programs);
        fallen += u32::from(is_endless && found.outcome.word() == "fails");
    }
    assert!(fallen >= 5, "{fallen}");
}

/// Whatever a file may say: any kinds of contacts, on planes without end, loads, least forces, inertias of any shape, no gravity. Both ways
/// answer with numbers, and the engine bounds soft fingers from both sides.
#[test]
fn both_ways_answer_whatever_the_grasp() {
    let mut stream = Random::new(5);
    for number in 0..24 {
        let mut grasp = odd(&mut stream);
        if number % 8 == 0 {
            grasp.gravity = bevy_math::DVec3::ZERO;
        }
        let options =
            SlipOptions { duration: 0.06, timestep: [1e-3, 5e-4, 4e-3][number % 3], ..SlipOptions::default() };
        let engine = slip_in_engine(&grasp, &options).unwrap_or_else(|error| panic!("{number}: {error}"));
        let is_soft = |contact: &Contact| matches!(contact.kind, ContactKind::Soft { .. });
        assert_eq!(engine.inner.is_some(), grasp.contacts.iter().any(is_soft), "{number}");
        let quasi = [Sliding::Associated, Sliding::Coulomb]
            .map(|sliding| slip(&grasp, &SlipOptions { sliding, ..options }).unwrap());
        for slip in [&engine.slip].into_iter().chain(&engine.inner).chain(&quasi) {
            let finite =
                slip.time.is_finite() && slip.path.is_finite() && slip.pose.to_array().iter().all(|x| x.is_finite());
            assert!(finite && slip.time <= options.duration + 1e-12, "{number}: {}", shown(slip));
        }
        // Forces that hold are found before either moves, so both hold.
        if quasi[0].outcome == Outcome::Holds && !grasp.contacts.iter().any(is_soft) {
            assert_eq!(engine.slip.outcome, Outcome::Holds, "{number}: {}", shown(&engine.slip));
        }
    }
}
