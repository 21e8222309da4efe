//! Tests of equilibrium: closed forms, cones compared with pyramids, and random grasps whose verdicts are checked by
//! summing the wrenches.

use bevy_math::{DQuat, DVec3};
use simpartner_grasp::{Certificate, ContactMap, Forces, Section, Statics, Vector6, Verdict, check};
use simpartner_model::{ContactKind, Grasp};

use crate::support::{Random, contact_along, grasp};

/// Acceleration of gravity, m/s².
const G: f64 = 9.81;

/// A grasp by two frictional fingers at x = -0.05 m and 0.05 m, of at most `highest` newtons each. The first tangents
/// of both are along y.
fn pinch(gravity: DVec3, friction: f64, highest: f64) -> Grasp {
    let kind = ContactKind::Frictional { friction };
    let at = |side: f64| contact_along(kind, DVec3::X * side * 0.05, DVec3::NEG_X * side, DVec3::Y, [0.0, highest]);
    grasp(gravity, vec![at(-1.0), at(1.0)])
}

/// Sum of the normal forces of the least forces that hold a grasp, N.
fn squeeze(grasp: &Grasp, section: Section) -> f64 {
    let statics = Statics::new(grasp, section).unwrap();
    check(&statics).least.unwrap().squeeze()
}

/// Friction of both fingers carries the weight: mu F = m g with F the sum of both normal forces, for any direction of
/// gravity about the pinch axis.
#[test]
fn a_pinch_needs_the_weight_over_the_friction() {
    for turn in [0.0, 0.1, 0.5, 1.0] {
        let gravity = DQuat::from_rotation_x(turn) * DVec3::NEG_Z * G;
        let needed = squeeze(&pinch(gravity, 0.32, 1000.0), Section::Disc);
        assert!((needed - G / 0.32).abs() < 1e-7 * G, "{turn}: {needed}");
    }
}

/// A pyramid of N edges carries mu cos(pi/N) / cos(a) at an angle a from the middle of its side; with four edges the
/// force needed is up to sqrt(2) times too large. Edges of unit length, as those of 1994, sum to sqrt(1 + mu²) times
/// the normal forces.
#[test]
fn pyramids_need_what_their_sections_say() {
    let unit = (1.0 + 0.32f64 * 0.32).sqrt();
    // Each row: the angle of gravity about the pinch axis, degrees, and the sums for 4, 8 and 32 edges, N.
    let table = [
        (0.0f64, [32.1876, 32.1876, 32.1876]),
        (15.0, [39.4216, 34.5415, 32.3260]),
        (30.0, [43.9691, 34.5415, 32.3260]),
        (45.0, [45.5201, 32.1876, 32.1876]),
    ];
    for (turn, sums) in table {
        let gravity = DQuat::from_rotation_x(turn.to_radians()) * DVec3::NEG_Z * G;
        for (edges, sum) in [4, 8, 32].into_iter().zip(sums) {
            let needed = squeeze(&pinch(gravity, 0.32, 1000.0), Section::Polygon(edges)) * unit;
            assert!((needed - sum).abs() < 6e-5, "{turn} deg, {edges} edges: {needed}");
        }
    }
}

/// With at most 16 N a finger, two fingers carry 2 * 16 * 0.32 = 10.24 N; pyramids of four edges carry this only along
/// their edges.
#[test]
fn a_bound_on_the_fingers_shows_what_pyramids_lose() {
    let directions = |section: Section, highest: f64| {
        let stands = |k: &u32| {
            let gravity = DQuat::from_rotation_x(f64::from(*k) * std::f64::consts::TAU / 120.0) * DVec3::NEG_Z * G;
            let statics = Statics::new(&pinch(gravity, 0.32, highest), section).unwrap();
            matches!(check(&statics).verdict, Verdict::Holds(_))
        };
        (0..120).filter(stands).count()
    };
    let sections = [Section::Polygon(4), Section::Polygon(8), Section::Polygon(16), Section::Disc];
    assert_eq!(sections.map(|section| directions(section, 20.0)), [60, 120, 120, 120]);
    assert_eq!(sections.map(|section| directions(section, 16.0)).last(), Some(&120));
    assert!(directions(Section::Polygon(4), 16.0) < directions(Section::Polygon(8), 16.0));
}

/// A soft finger of radius r resists a torque of 2/3 mu r F about its normal, so two of them hold twice this torque, in
/// either sense.
#[test]
fn soft_fingers_resist_torsion_in_both_senses() {
    let (friction, radius, highest) = (0.5, 0.01, 10.0);
    let most = 2.0 * 2.0 / 3.0 * friction * radius * highest;
    for (torque, holds) in [(0.999, true), (-0.999, true), (1.001, false), (-1.001, false)] {
        let kind = ContactKind::Soft { friction, radius };
        let at = |side: f64| contact_along(kind, DVec3::X * side * 0.05, DVec3::NEG_X * side, DVec3::Y, [0.0, highest]);
        let made = Grasp { torque: DVec3::X * torque * most, ..grasp(DVec3::ZERO, vec![at(-1.0), at(1.0)]) };
        for section in [Section::Disc, Section::Polygon(4)] {
            let held = matches!(check(&Statics::new(&made, section).unwrap()).verdict, Verdict::Holds(_));
            assert_eq!(held, holds, "{torque}");
        }
    }
}

/// True if a certificate proves that a load cannot be resisted: all contacts together can exert less power against the
/// twist than the load has along it. This does not use the solver's own check.
fn is_proof(statics: &Statics, certificate: &Certificate) -> bool {
    let most = |contact: &ContactMap| {
        let [first, second, normal] = contact.axes;
        let [v, w] =
            [0, 3].map(|k| DVec3::new(certificate.twist[k], certificate.twist[k + 1], certificate.twist[k + 2]));
        let there = -(v + w.cross(contact.lever));
        let slide = contact.friction * there.dot(first).hypot(there.dot(second));
        let each = there.dot(normal) + slide.hypot(contact.torsion * w.dot(normal));
        (each * contact.limits[0]).max(each * contact.limits[1])
    };
    certificate.twist.dot(&statics.load) > statics.contacts.iter().map(most).sum()
}

/// True if forces balance the load and each is inside its cone and its limits, by a sum over the contacts.
fn is_balance(statics: &Statics, forces: &Forces) -> bool {
    let mut sum = [
        DVec3::new(statics.load[0], statics.load[1], statics.load[2]),
        DVec3::new(statics.load[3], statics.load[4], statics.load[5]),
    ];
    let scale = sum[0].length().hypot(sum[1].length() / statics.length);
    let inside = statics.contacts.iter().zip(&forces.contacts).all(|(contact, force)| {
        let [first, second, normal] = contact.axes;
        let total = normal * force.normal + first * force.tangent[0] + second * force.tangent[1];
        sum[0] += total;
        sum[1] += contact.lever.cross(total) + normal * force.torsion;
        let part = |value: f64, by: f64| if value == 0.0 { 0.0 } else { value / by };
        let needed = part(force.tangent[0].hypot(force.tangent[1]), contact.friction)
            .hypot(part(force.torsion, contact.torsion));
        let slack = 1e-9 * scale;
        needed <= force.normal + slack
            && force.normal >= contact.limits[0] - slack
            && force.normal <= contact.limits[1] + slack
    });
    inside && sum[0].length() <= 1e-9 * scale && sum[1].length() <= 1e-9 * scale * statics.length
}

/// Every verdict on random grasps passes a check that is independent of the solver.
#[test]
fn every_verdict_on_random_grasps_comes_with_its_proof() {
    let mut random = Random::new(1994);
    let count = if std::env::var_os("SIMPARTNER_LONG_TESTS").is_some() { 10_000 } else { 1_000 };
    let (mut held, mut impossible) = (0, 0);
    for number in 0..count {
        let contacts = 1 + random.below(8);
        let made = random.grasp(contacts);
        let statics = Statics::new(&made, Section::Disc).unwrap();
        let found = check(&statics);
        match found.verdict {
            Verdict::Holds(forces) => {
                held += 1;
                let least = found.least.unwrap();
                assert!(
                    is_balance(&statics, &forces) && is_balance(&statics, &least),
                    "{number}: {forces:?} {least:?}"
                );
                assert!(least.squeeze() <= forces.squeeze() * (1.0 + 1e-9), "{number}");
            }
            Verdict::Impossible(certificate) => {
                impossible += 1;
                assert!(is_proof(&statics, &certificate), "{number}");
            }
            Verdict::Undecided => panic!("grasp {number} is undecided"),
        }
    }
    assert!(held > count / 10 && impossible > count / 10, "{held} {impossible}");
}

/// Grasps that are scaled in length, force and mass keep their verdicts, and the margin scales with the force.
#[test]
fn verdicts_do_not_depend_on_units() {
    let mut random = Random::new(7);
    for number in 0..100 {
        let contacts = 2 + random.below(5);
        let made = random.grasp(contacts);
        let of = |made: &Grasp| match check(&Statics::new(made, Section::Disc).unwrap()).verdict {
            Verdict::Holds(forces) => Some(forces.margin),
            Verdict::Impossible(_) => None,
            Verdict::Undecided => panic!("{number}"),
        };
        let (length, force) = (1e3, 1e-4);
        let mut other = made.clone();
        other.gravity *= force;
        other.force *= force;
        other.torque *= force * length;
        for contact in &mut other.contacts {
            contact.frame.translation *= length;
            contact.limits = contact.limits.map(|limit| limit * force);
            if let ContactKind::Soft { radius, .. } = &mut contact.kind {
                *radius *= length;
            }
        }
        match (of(&made), of(&other)) {
            (Some(a), Some(b)) => assert!((a * force - b).abs() <= 1e-6 * force * G, "{number}: {a} {b}"),
            (None, None) => {}
            (a, b) => panic!("{number}: {a:?} {b:?}"),
        }
    }
}

/// No contact can exert this wrench at all: the certificate is a twist at which no contact point moves.
#[test]
fn a_load_outside_of_the_range_of_the_grasp_map_is_proved_impossible() {
    let mut made = pinch(DVec3::NEG_Z * G, 0.5, 1000.0);
    made.torque = DVec3::X * 1e-3;
    let statics = Statics::new(&made, Section::Disc).unwrap();
    let Verdict::Impossible(certificate) = check(&statics).verdict else { panic!("two points cannot resist torsion") };
    assert!(is_proof(&statics, &certificate));
    let about_x = Vector6::from_column_slice(&[0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    let angular = certificate.twist.dot(&about_x) * statics.length;
    assert!(angular.abs() > 0.5, "{}", certificate.twist);
}

/// Objects from 1e-9 kg to 1e9 kg: the loads are far below and far above the limits of 1000 N.
#[test]
fn the_size_of_the_load_does_not_matter_beside_the_limits() {
    for exponent in -9..=9 {
        let mass = 10f64.powi(exponent);
        let mut made = pinch(DVec3::NEG_Z * G, 0.32, 1000.0);
        made.object.mass = mass;
        let found = check(&Statics::new(&made, Section::Disc).unwrap());
        let needed = mass * G / 0.32;
        match found.verdict {
            Verdict::Holds(_) => {
                assert!(needed <= 2000.0, "{mass} kg");
                let squeeze = found.least.unwrap().squeeze();
                assert!((squeeze / needed - 1.0).abs() < 1e-7, "{mass} kg: {squeeze}");
            }
            Verdict::Impossible(_) => assert!(needed > 2000.0, "{mass} kg"),
            Verdict::Undecided => panic!("{mass} kg"),
        }
    }
}
