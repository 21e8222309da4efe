//! The two ways to compute a slip beside each other, on random grasps.

use simpartner_grasp::slip::{EngineSlip, Outcome, Sliding, Slip, SlipOptions, slip, slip_in_engine};
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

/// Why the two ways come to different verdicts.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Explanation {
    /// With Coulomb's law of sliding the quasi-exact way comes to the engine's verdict: associated sliding lifts surfaces apart.
    Sliding,
    /// The engine's object left a finger behind before, which the quasi-exact way lets follow.
    Finger(usize, f64),
}

fn explain(grasp: &Grasp, options: &SlipOptions, engine: &EngineSlip) -> Option<Explanation> {
    let coulomb = slip(grasp, &SlipOptions { sliding: Sliding::Coulomb, ..*options }).unwrap();
    if coulomb.outcome.same_kind(engine.slip.outcome) {
        return Some(Explanation::Sliding);
    }
    engine.left_behind.map(|(finger, time)| Explanation::Finger(finger, time))
}

fn shown(slip: &Slip) -> String {
    let finger = match slip.outcome {
        Outcome::Misses(finger) | Outcome::OutOfRange(finger) => format!(" by finger {finger}"),
        _ => String::new(),
    };
    format!("{}{finger} {:.3} s {:.1} mm", slip.outcome.word(), slip.time, slip.path * 1e3)
}

/// Of 100 grasps 97 have the same verdict in both ways, and the three others say why. `SIMPARTNER_TABLES=1` with `--nocapture` prints all of
/// them.
#[test]
fn both_ways_agree_on_random_grasps_or_say_why_not() {
    let prints = std::env::var_os("SIMPARTNER_TABLES").is_some();
    let (mut stream, options) = (Random::new(19), SlipOptions::default());
    let (mut agree, mut seen) = (0, std::collections::BTreeSet::new());
    for number in 0..100 {
        let grasp = random(&mut stream);
        let (quasi, engine) = (slip(&grasp, &options).unwrap(), slip_in_engine(&grasp, &options).unwrap());
        assert!(engine.inner.is_none());
        let same = quasi.outcome.same_kind(engine.slip.outcome);
        let why = if same { None } else { explain(&grasp, &options, &engine) };
        if prints {
            let why = if same { String::new() } else { format!("{why:?}") };
            eprintln!("| {number} | {} | {} | {} | {why} |", grasp.contacts.len(), shown(&quasi), shown(&engine.slip));
        }
        assert!(same || why.is_some(), "{number}: {} {}", shown(&quasi), shown(&engine.slip));
        // What holds never moves, in both ways.
        assert_eq!(quasi.outcome == Outcome::Holds, engine.slip.outcome == Outcome::Holds, "{number}");
        agree += usize::from(same);
        seen.insert(engine.slip.outcome.word());
    }
    assert!(agree >= 95, "{agree} of 100 agree");
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["fails", "holds", "rests"]);
}

/// Both ways compute the same fall where nothing but the law of sliding is between them: with Coulomb's, times of failure are nearer to the
/// engine's than with the associated one.
#[test]
fn the_engine_slides_as_coulomb_has_it() {
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
            // Two steps of 1 ms, in some 50.
            *count += usize::from((found.time - engine.time).abs() < 0.002 + 0.02 * engine.time);
        }
    }
    assert!(near[1] > near[0] && 2 * near[1] > all, "{near:?} of {all}");
}

/// Whatever a file may say: any kinds of contacts, on planes without end, loads, least forces, inertias of any shape, no gravity. Both ways
/// answer with numbers, and the engine bounds soft fingers from both sides.
#[test]
fn both_ways_answer_whatever_the_grasp() {
    let mut stream = Random::new(5);
    for number in 0..24 {
        let count = 1 + stream.below(12);
        let mut grasp = stream.grasp(count);
        if number % 8 == 0 {
            grasp.gravity = bevy_math::DVec3::ZERO;
        }
        let inertia = grasp.object.inertia.as_mut().unwrap();
        let moments = bevy_math::DVec3::new(1.0, stream.between(0.1, 1.0), stream.between(0.9, 1.0));
        inertia.tensor = bevy_math::DMat3::from_diagonal(moments * libm::pow(10.0, stream.between(-5.0, -1.0)));
        inertia.centre_of_mass = stream.direction() * stream.between(0.0, 0.02);
        grasp.object.mass = libm::pow(10.0, stream.between(-2.0, 1.0));
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
