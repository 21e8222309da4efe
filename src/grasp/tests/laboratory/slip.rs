//! Tests of slips: a fall against friction, which has a closed form, and curved bottoms on three fingers.

use bevy_math::{DMat3, DVec2, DVec3};
use simpartner_grasp::slip::{Outcome, Slip, SlipOptions, slip, slip_in_engine};
use simpartner_model::{Contact, ContactKind, Grasp, Patch, Pose};

use crate::support::{contact_along, grasp};

/// Acceleration of gravity, m/s².
const G: f64 = 9.81;

/// A grasp by two fingers with friction 0.5 on patches that reach 20 mm; each pushes with at most `max_force` newtons.
fn pinch(max_force: f64) -> Grasp {
    let kind = ContactKind::Frictional { friction: 0.5 };
    let at = |side: f64| {
        let contact = contact_along(kind, DVec3::X * side * 0.05, DVec3::NEG_X * side, DVec3::Y, [0.0, max_force]);
        Contact { patch: Patch { range: 0.02, ..Patch::PLANE }, ..contact }
    };
    grasp(DVec3::NEG_Z * G, vec![at(-1.0), at(1.0)])
}

/// Friction carries 2 mu F = 2.37 N of 9.81 N: the cube falls by (9.81 - 2.37) m/s², 20 mm in 0.0733 s.
#[test]
fn a_pinch_that_is_too_weak_drops_in_the_time_of_its_closed_form() {
    for timestep in [1e-3, 2e-4] {
        let found = slip(&pinch(2.37), &SlipOptions { timestep, ..SlipOptions::default() }).unwrap();
        let exact = (2.0f64 * 0.02 / (G - 2.37)).sqrt();
        assert!(matches!(found.outcome, Outcome::OutOfRange(_)), "{:?}", found.outcome);
        // The slip ends at the end of the step in which the finger leaves its patch.
        assert!((0.0..=timestep + 1e-9).contains(&(found.time - exact)), "{} {exact}", found.time);
        let fallen = found.trace.last().unwrap().1.z;
        assert!((fallen + 0.5 * (G - 2.37) * found.time * found.time).abs() < 1e-6, "{fallen}");
    }
}

/// The same fall in the engine. The fingers are balls on rails there, which carry about 1e-5 of the weight.
#[test]
fn the_engine_drops_the_weak_pinch_in_the_same_time() {
    for timestep in [1e-3, 2e-4] {
        let found = slip_in_engine(&pinch(2.37), &SlipOptions { timestep, ..SlipOptions::default() }).unwrap();
        let (exact, slip) = ((2.0f64 * 0.02 / (G - 2.37)).sqrt(), found.slip);
        assert!(matches!(slip.outcome, Outcome::OutOfRange(_)), "{:?}", slip.outcome);
        assert!((0.0..=timestep + 1e-6).contains(&(slip.time - exact)), "{} {exact}", slip.time);
        assert!(found.inner.is_none());
    }
}

#[test]
fn a_pinch_that_is_strong_enough_holds() {
    let found = slip(&pinch(20.0), &SlipOptions::default()).unwrap();
    assert_eq!((found.outcome, found.time, found.path), (Outcome::Holds, 0.0, 0.0));
    let found = slip_in_engine(&pinch(20.0), &SlipOptions::default()).unwrap().slip;
    assert!(found.outcome == Outcome::Holds && found.path < 1e-5, "{:?} {}", found.outcome, found.path);
}

/// A body on three fingers around the middle of its bottom, which is z = -0.03 - a (x² + y²), with a = `curvature`,
/// 1/m. Its centre of mass is 4 mm beside the middle.
fn on_three_fingers(curvature: f64, friction: f64) -> Grasp {
    let frame = Pose::from_matrix(DMat3::from_cols(DVec3::X, DVec3::NEG_Y, DVec3::NEG_Z), DVec3::NEG_Z * 0.03);
    let patch = Patch { xx: curvature, yy: curvature, range: 0.05, ..Patch::PLANE };
    let kind = if friction > 0.0 { ContactKind::Frictional { friction } } else { ContactKind::Frictionless };
    let at = |k: u32| {
        let (sine, cosine) = (f64::from(k) * std::f64::consts::TAU / 3.0).sin_cos();
        Contact {
            name: format!("finger{k}"),
            kind,
            frame,
            patch,
            point: DVec2::new(0.03 * cosine, 0.03 * sine),
            limits: [0.0, 100.0],
            source: String::new(),
        }
    };
    let mut made = grasp(DVec3::NEG_Z * G, (0..3).map(at).collect());
    let inertia = made.object.inertia.as_mut().unwrap();
    inertia.centre_of_mass = DVec3::X * 0.004;
    made
}

fn slip_on_three_fingers(curvature: f64, friction: f64) -> Slip {
    slip(&on_three_fingers(curvature, friction), &SlipOptions { duration: 20.0, ..SlipOptions::default() }).unwrap()
}

/// The fingers let a round bottom turn about its centre of curvature only. If this centre is above the centre of mass,
/// the body is a pendulum and comes to rest in the middle. If it is below, the body is an inverted pendulum and falls
/// out. With a friction of 0.3 both hold from the start.
#[test]
fn the_sign_of_a_curvature_decides_whether_an_object_returns() {
    let falls = slip_on_three_fingers(5.0, 0.0);
    assert!(
        matches!(falls.outcome, Outcome::OutOfRange(_) | Outcome::Misses(_)),
        "{:?} at {}",
        falls.outcome,
        falls.time
    );
    let rests = slip_on_three_fingers(-5.0, 0.005);
    assert_eq!(rests.outcome, Outcome::Rests, "{} {}", rests.time, rests.pose.translation);
    // The body moves before friction stops it near the middle.
    assert!(rests.path > 1e-4, "{}", rests.path);
    let options = SlipOptions { duration: 20.0, ..SlipOptions::default() };
    let in_engine =
        |curvature, friction| slip_in_engine(&on_three_fingers(curvature, friction), &options).unwrap().slip;
    let (falls, rests) = (in_engine(5.0, 0.0), in_engine(-5.0, 0.005));
    assert_eq!(falls.outcome.word(), "fails", "{:?} at {}", falls.outcome, falls.time);
    assert_eq!(rests.outcome, Outcome::Rests, "{} {}", rests.time, rests.pose.translation);
    for curvature in [5.0, -5.0] {
        assert_eq!(slip_on_three_fingers(curvature, 0.3).outcome, Outcome::Holds);
        assert_eq!(in_engine(curvature, 0.3).outcome, Outcome::Holds);
    }
}
