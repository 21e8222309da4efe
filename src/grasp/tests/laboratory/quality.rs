//! Tests of the quality measures: closed forms, figures that were computed beforehand, and random grasps.

use bevy_math::DVec3;
use simpartner_grasp::{
    Section, Statics,
    quality::{Ended, Norm, Options, Quality, Scaling, quality},
};
use simpartner_model::{Contact, ContactKind, Grasp};

use crate::support::{Random, contact_along, grasp};

/// Half of the edge of the cube, and the radius of the disc, m.
const HALF_SIZE: f64 = 0.05;

/// A grasp of a cube by six frictional contacts, in the middles of its faces.
fn cube(friction: f64) -> Grasp {
    let kind = ContactKind::Frictional { friction };
    let contacts = DVec3::AXES.into_iter().enumerate().flat_map(|(k, axis)| {
        let along = DVec3::AXES[(k + 1) % 3];
        [axis, -axis].map(|side| contact_along(kind, side * HALF_SIZE, -side, along, [0.0, 1.0]))
    });
    grasp(DVec3::NEG_Y * 9.81, contacts.collect())
}

/// A grasp of a disc by three frictional contacts on its rim, 120 degrees apart.
fn disc(friction: f64) -> Grasp {
    let at = |k: u32| {
        let (sine, cosine) = (f64::from(k) * std::f64::consts::TAU / 3.0).sin_cos();
        let out = DVec3::new(cosine, sine, 0.0);
        contact_along(ContactKind::Frictional { friction }, out * HALF_SIZE, -out, DVec3::Z, [0.0, 1.0])
    };
    grasp(DVec3::NEG_Z * 9.81, (0..3).map(at).collect())
}

fn measured(grasp: &Grasp, section: Section, options: &Options) -> Quality {
    quality(&Statics::new(grasp, section).unwrap(), options)
}

/// The worst wrench of the cube is the torque (1, 1, 1) / sqrt(3), of which each of the six contacts resists
/// mu sqrt(2) / 3.
#[test]
fn epsilon_of_the_cube_is_its_closed_form() {
    let options =
        Options { torque_scale: Some(1.0 / (HALF_SIZE * 3f64.sqrt())), tolerance: 1e-10, ..Options::default() };
    for friction in [0.3, 0.5] {
        let found = measured(&cube(friction), Section::Disc, &options);
        let exact = friction * 2f64.sqrt() / 3.0;
        let bounds = found.epsilon;
        assert!(bounds.lower <= exact + 1e-12 && exact - 1e-12 <= bounds.upper, "{bounds:?} {exact}");
        assert!(bounds.upper - bounds.lower < 1e-9, "{friction}: {bounds:?} {}", found.facets);
    }
}

/// The same grasp with the first tangent of each contact as near to x as possible, or to y where the normal is along x.
/// The polytope of N edges depends on the direction of the first edge, and the figures of qhull are for these tangents.
fn with_x_tangents(mut grasp: Grasp) -> Grasp {
    for contact in &mut grasp.contacts {
        let (at, normal) = (contact.position(), contact.normal());
        let along = if normal.x.abs() < 0.9 { DVec3::X } else { DVec3::Y };
        let tangent = (along - normal * normal.dot(along)).normalize();
        *contact = contact_along(contact.kind, at, normal, tangent, contact.limits);
    }
    grasp
}

/// Figures of qhull: with four edges .166667 for all wrenches, with ten edges .232800 for all wrenches, .904534 for
/// forces and .232800 for torques. For polytopes the measures are exact, so both bounds meet. Rounding decides which
/// diagonal of the cube is the worst torque, so the forces under the worst torque are compared on the disc only.
#[test]
fn pyramids_of_the_cube_have_the_figures_of_qhull() {
    let scale = Some(1.0 / (HALF_SIZE * 3f64.sqrt()));
    let options = Options { torque_scale: scale, tolerance: 1e-6, facets: 60_000, ..Options::default() };
    let options = Options { volume_tolerance: 1.0, ..options };
    for (edges, exact) in [(4, 0.166667), (8, 0.235702), (10, 0.232800)] {
        let found = measured(&with_x_tangents(cube(0.5)), Section::Polygon(edges), &options);
        assert!(
            (found.epsilon.lower - exact).abs() < 1e-6 && found.epsilon.gap() < 1e-5,
            "{edges}: {:?}",
            found.epsilon
        );
        assert!(found.average_facet_distance.unwrap() > exact, "{found:?}");
        if edges == 10 {
            for (bounds, exact) in [(found.force, 0.904534), (found.torque, 0.232800)] {
                assert!((bounds.lower - exact).abs() < 1e-6 && bounds.gap() < 1e-5, "{bounds:?} {exact}");
            }
        }
    }
}

/// Figures of qhull for the disc with ten edges: .277110 for all wrenches, .455664 for forces and .120490 for forces
/// under the worst torque.
#[test]
fn pyramids_of_the_disc_have_the_figures_of_qhull() {
    let options = Options { torque_scale: Some(20.0), tolerance: 1e-6, facets: 60_000, ..Options::default() };
    let options = Options { volume_tolerance: 1.0, ..options };
    let found = measured(&with_x_tangents(disc(0.5)), Section::Polygon(10), &options);
    let figures = [(found.epsilon, 0.277110), (found.force, 0.455664), (found.force_under_torque, 0.120490)];
    for (bounds, exact) in figures {
        assert!((bounds.lower - exact).abs() < 1e-6 && bounds.gap() < 1e-5, "{bounds:?} {exact}");
    }
}

/// Epsilon of the disc is between .284907 and .288275, which samples and hulls gave beforehand. The bounds here are
/// within 1e-3 of each other.
#[test]
fn epsilon_of_the_disc_is_bracketed() {
    let options = Options { torque_scale: Some(20.0), tolerance: 1e-3, ..Options::default() };
    let bounds = measured(&disc(0.5), Section::Disc, &options).epsilon;
    assert!(bounds.lower >= 0.2849 && bounds.upper <= 0.288275 && bounds.upper - bounds.lower < 1e-3, "{bounds:?}");
}

/// Two hard points let the object turn about the line through them.
#[test]
fn a_pinch_of_two_points_has_no_quality_and_says_why() {
    let kind = ContactKind::Frictional { friction: 0.5 };
    let at = |side: f64| contact_along(kind, DVec3::X * side * HALF_SIZE, DVec3::NEG_X * side, DVec3::Y, [0.0, 1.0]);
    let found = measured(&grasp(DVec3::NEG_Y, vec![at(-1.0), at(1.0)]), Section::Disc, &Options::default());
    assert_eq!((found.epsilon.lower, found.epsilon.upper), (0.0, 0.0));
    let reason = found.reason.unwrap();
    assert!(
        reason.contains("no contact can exert a torque about") && reason.contains("1.0000, 0.0000, 0.0000"),
        "{reason}"
    );
    // Soft fingers resist this turn, too: each exerts half of the torque as torsion.
    let kind = ContactKind::Soft { friction: 0.5, radius: 0.01 };
    let soft = |contact: Contact| Contact { kind, ..contact };
    let found = measured(&grasp(DVec3::NEG_Y, vec![soft(at(-1.0)), soft(at(1.0))]), Section::Disc, &Options::default());
    let torsion = 2.0 / 3.0 * 0.5 * 0.01 / HALF_SIZE;
    assert!(found.epsilon.lower > 0.0 && found.epsilon.upper <= torsion + 1e-12, "{:?} {torsion}", found.epsilon);
    // The bounds of the volume meet slowly; the answer states that they have not met.
    assert_eq!((found.ended[0], found.ended[4]), (Ended::Met, Ended::Facets), "{found:?}");
    assert!(found.epsilon.gap() <= 1e-3 && found.volume.gap() > 0.1, "{found:?}");
}

/// All contacts are on one side of the object, so nothing pushes it towards them.
#[test]
fn a_grasp_without_force_closure_has_no_quality() {
    let mut made = cube(0.2);
    made.contacts.retain(|contact| contact.frame.translation.min_element() >= -1e-9);
    let found = measured(&made, Section::Disc, &Options::default());
    assert_eq!((found.epsilon.lower, found.epsilon.upper), (0.0, 0.0), "{found:?}");
    assert!(found.reason.unwrap().starts_with("no contact resists the wrench of force"));
}

#[test]
fn bounds_of_random_grasps_are_in_order_and_meet() {
    let mut random = Random::new(2026);
    let count = if std::env::var_os("SIMPARTNER_LONG_TESTS").is_some() { 200 } else { 60 };
    // `met` has the counts for epsilon, force, force under the worst torque, torque and volume.
    let (mut met, mut closed) = ([0; 5], 0);
    for number in 0..count {
        let contacts = 3 + random.below(10);
        let made = random.grasp(contacts);
        let options = Options { tolerance: 1e-2, volume_tolerance: 1.0, ..Options::default() };
        let found = measured(&made, Section::Disc, &options);
        let measures = [found.epsilon, found.force, found.force_under_torque, found.torque, found.volume];
        for (bounds, met) in measures.iter().zip(&mut met) {
            let finite = bounds.upper.is_finite();
            assert!(finite && 0.0 <= bounds.lower && bounds.lower <= bounds.upper, "{number}: {bounds:?}");
            *met += u32::from(bounds.gap() <= 0.01);
        }
        assert_eq!(found.epsilon.upper == 0.0, found.reason.is_some(), "{number}");
        // The wrench space contains the ball of radius epsilon, so the measures of forces and torques are not smaller.
        assert!(found.force.upper >= found.epsilon.lower && found.torque.upper >= found.epsilon.lower, "{number}");
        closed += u32::from(found.epsilon.lower > 0.0);
    }
    if std::env::var_os("SIMPARTNER_TABLES").is_some() {
        eprintln!("within 1 %, of {count}, {closed} of them with force closure: {met:?}");
    }
    // The volume is not checked: `volume_tolerance` adds no facets for it here, and the facets for the other measures
    // bring its bounds together only by chance.
    assert!(
        met[..4].iter().all(|met| met * 20 >= count * 19) && closed * 5 > count,
        "{met:?} of {count}, {closed} closed"
    );
}

/// The Minkowski sum contains the convex hull, and limits of 2 N scale all forces by 2.
#[test]
fn norms_and_scalings_are_in_proportion() {
    let base = Options::default();
    let l1 = measured(&disc(0.5), Section::Disc, &base);
    let sum = measured(&disc(0.5), Section::Disc, &Options { norm: Norm::LInfinity, ..base });
    assert!(sum.epsilon.lower > l1.epsilon.upper, "{sum:?}");
    let mut stronger = disc(0.5);
    stronger.contacts.iter_mut().for_each(|contact| contact.limits[1] = 2.0);
    let scaled = measured(&stronger, Section::Disc, &Options { scaling: Scaling::Limits, ..base });
    assert!((scaled.epsilon.upper / l1.epsilon.upper - 2.0).abs() < 4e-3);
    assert!((scaled.volume.lower / l1.volume.lower / 64.0 - 1.0).abs() < 0.2);
}

/// Frictionless contacts in both senses of each axis resist all forces but no torque, because every normal passes
/// through the centre of mass.
#[test]
fn a_grasp_that_is_open_to_torques_alone_resists_forces() {
    let mut made = cube(0.5);
    made.contacts.iter_mut().for_each(|contact| contact.kind = ContactKind::Frictionless);
    let found = measured(&made, Section::Disc, &Options::default());
    assert_eq!(found.epsilon.upper, 0.0);
    assert!(found.reason.unwrap().contains("no contact can exert a torque about"));
    // Six more contacts beside the middles of the faces exert torques about the axes, each in one sense. Torques in the
    // opposite sense are not resisted, but all forces are.
    let aside = |contact: &Contact| {
        let mut moved = contact.clone();
        let normal = contact.normal();
        let [x, y, z] = normal.to_array();
        moved.frame.translation += DVec3::new(z, x, y) * 0.02;
        moved
    };
    let more: Vec<Contact> = made.contacts.iter().map(aside).collect();
    made.contacts.extend(more);
    let found = measured(&made, Section::Disc, &Options::default());
    assert_eq!((found.epsilon.upper, found.torque.upper), (0.0, 0.0), "{found:?}");
    assert!(found.force.lower > 0.0 && found.reason.is_some(), "{found:?}");
}
