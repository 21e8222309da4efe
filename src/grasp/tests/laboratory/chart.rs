//! Tests of stability charts: closed forms of the safe tilt, the corrected charts of 1994, and cells compared with
//! separate checks of their directions.

use bevy_math::DVec3;
use simpartner_grasp::{
    GraspError, Section, Statics, Verdict,
    chart::{COLUMNS, Cell, Disturb, ROWS, chart, disturbed, tilted},
    verdict,
};
use simpartner_model::{ContactKind, Grasp};

use crate::support::{Random, case, contact_along, grasp};

/// Acceleration of gravity, m/s².
const G: f64 = 9.81;

/// A grasp of a body on one frictional finger below its centre of mass.
fn on_a_finger(friction: f64) -> Grasp {
    let kind = ContactKind::Frictional { friction };
    let below = contact_along(kind, DVec3::NEG_Z * 0.05, DVec3::Z, DVec3::X, [0.0, 100.0]);
    grasp(DVec3::NEG_Z * G, vec![below])
}

/// On one finger no tilt is safe, because the finger's force passes beside the centre of mass. Three fingers in a plane
/// hold tilts up to atan(mu), as for a block on a slope.
#[test]
fn the_safe_tilt_is_that_of_a_block_on_a_slope() {
    let made = on_a_finger(0.5);
    let found = chart(&Statics::new(&made, Section::Disc).unwrap(), 0.5).unwrap();
    assert!(found.safe_tilt() < 1e-6 && found.count() == [COLUMNS, (ROWS + 1) * COLUMNS], "{:?}", found.first_failure);
    for friction in [0.2f64, 0.6] {
        let kind = ContactKind::Frictional { friction };
        let at = |k: u32| {
            let (sine, cosine) = (f64::from(k) * std::f64::consts::TAU / 3.0).sin_cos();
            // The fingers are in the plane of the centre of mass, so no tilt tips the body over.
            contact_along(kind, DVec3::new(cosine, sine, 0.0) * 0.05, DVec3::Z, DVec3::X, [0.0, 100.0])
        };
        let made = grasp(DVec3::NEG_Z * G, (0..3).map(at).collect());
        let found = chart(&Statics::new(&made, Section::Disc).unwrap(), 1.0).unwrap();
        assert!((found.safe_tilt() - friction.atan()).abs() < 1e-6, "{friction}: {}", found.safe_tilt());
        assert!(found.safe.iter().all(|tilt| (tilt - friction.atan()).abs() < 1e-6));
        // The fraction of the cap of 1 rad that is within atan(mu), as accurately as rows of 0.05 rad allow.
        let share = (1.0 - friction.atan().cos()) / (1.0 - 1f64.cos());
        assert!((found.solid_angle() - share).abs() < 0.06, "{} {share}", found.solid_angle());
    }
}

/// Charts of 840 directions with exact cones, where friction bounds the torsion. The fingers of case 1 are too small to
/// hold the published directions, except the one direction of the grid in which the weight's line passes through the
/// lowest finger. Cases 2 and 8 hold upright only.
#[test]
fn the_charts_of_1994_with_exact_cones() {
    for (object, contacts, holds) in
        [("mod", "cod", 1), ("mod", "fod", 40), ("mod", "zod", 840), ("m2n", "bod", 0), ("mod", "bod", 40)]
    {
        let made = case(object, contacts).to_grasp(contacts).unwrap();
        let found = chart(&Statics::new(&made, Section::Disc).unwrap(), made.tilt).unwrap();
        assert_eq!(found.count(), [holds, 840], "{contacts}");
    }
}

/// Every cell has the verdict of a separate check of its direction, and most cells need no cone program.
#[test]
fn cells_are_what_checks_of_their_directions_say() {
    let mut random = Random::new(39);
    let (mut solved, mut edge) = (0, 0);
    let grasps = 12;
    for _ in 0..grasps {
        let contacts = 3 + random.below(5);
        let made = random.grasp(contacts);
        let statics = Statics::new(&made, Section::Disc).unwrap();
        let found = chart(&statics, 0.8).unwrap();
        solved += found.solved;
        for row in (0..=ROWS).step_by(4) {
            for column in (0..COLUMNS).step_by(7) {
                let azimuth = std::f64::consts::TAU * column as f64 / COLUMNS as f64;
                let weight = tilted(statics.weight, 0.8 * row as f64 / ROWS as f64, azimuth);
                let mut load = statics.load;
                (0..3).for_each(|axis| load[axis] += weight[axis] - statics.weight[axis]);
                let expected = match verdict(&statics.under(load)) {
                    Verdict::Holds(_) => Cell::Holds,
                    Verdict::Impossible(_) => Cell::Impossible,
                    Verdict::Undecided => Cell::Undecided,
                };
                edge += u32::from(expected == Cell::Undecided);
                assert_eq!(found.cells[row][column], expected, "{row} {column}");
            }
        }
    }
    assert!(edge == 0 && solved < grasps * 840 / 4, "{edge} on the edge, {solved} programs");
}

/// A pinch with friction mu and at most F a finger carries 2 mu F along y in all. A disturbance may use what the weight
/// leaves of this.
#[test]
fn a_disturbance_may_be_as_large_as_what_friction_has_left() {
    let (friction, most) = (0.5, 20.0);
    let kind = ContactKind::Soft { friction, radius: 0.01 };
    let at = |side: f64| contact_along(kind, DVec3::X * side * 0.05, DVec3::NEG_X * side, DVec3::Y, [0.0, most]);
    let made = grasp(DVec3::NEG_Y * G, vec![at(-1.0), at(1.0)]);
    let statics = Statics::new(&made, Section::Disc).unwrap();
    let found = disturbed(&statics, Disturb::Force, 1000.0);
    let capacity = 2.0 * friction * most;
    let along = |direction: DVec3| found.sizes.iter().find(|(d, _)| *d == direction).unwrap().1;
    assert!((along(DVec3::NEG_Y) - (capacity - G)).abs() < 1e-5, "{}", along(DVec3::NEG_Y));
    assert!((along(DVec3::Y) - (capacity + G)).abs() < 1e-5);
    assert!((along(DVec3::Z) - (capacity * capacity - G * G).sqrt()).abs() < 1e-5);
    assert!(found.every > 0.0 && found.sizes.iter().all(|(_, size)| *size >= found.every));
}

#[test]
fn without_gravity_there_is_nothing_to_tilt() {
    let statics = Statics::new(&grasp(DVec3::ZERO, on_a_finger(0.5).contacts), Section::Disc).unwrap();
    assert_eq!(chart(&statics, 0.5).unwrap_err(), GraspError::NoGravity);
}
