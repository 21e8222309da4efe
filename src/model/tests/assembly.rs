//! Loops that the given initial positions leave open are closed within the stops of their joints; nothing else moves.

// A test that cannot continue has to stop; clippy allows this only in test functions themselves.
#![allow(clippy::unwrap_used)]

use bevy_math::{DQuat, DVec3};
use simpartner_model::{
    Axis, Body, BodyId, Coupling, Joint, JointAxis, JointId, JointKind, Pose, close_loops, take_initial_positions,
};

/// Rounding and the last step of a method that ends at 1e-12 of a loop's size.
const CLOSE: f64 = 1e-10;

fn body(at: DVec3, fixed: bool) -> Body {
    Body { pose: Pose { translation: at, rotation: DQuat::IDENTITY }, fixed, mass: 1.0, ..Body::default() }
}

fn joint(kind: JointKind, [parent, child]: [usize; 2], anchor: DVec3) -> Joint {
    Joint { axes: kind.free_axes(), ..Joint::new(kind, BodyId::new(parent), BodyId::new(child), anchor) }
}

/// Begins an axis somewhere, with stops.
fn begin(joint: &mut Joint, position: f64, [lower, upper]: [f64; 2]) {
    let Axis::Free(free) = &mut joint.axes[2] else { panic!("a free axis") };
    (free.initial_position, free.lower, free.upper) = (position, lower, upper);
}

fn positions(joints: &[Joint]) -> Vec<f64> {
    joints.iter().filter_map(|joint| joint.axes[2].free()).map(|free| free.initial_position).collect()
}

const NONE: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

/// A parallelogram of pins about z on a fixed base: sides of 1 m, 2 m between them. It closes at angles t, -t, t, -t.
fn parallelogram(given: [f64; 4], stops: [[f64; 2]; 4]) -> (Vec<Body>, Vec<Joint>) {
    let corners = [DVec3::ZERO, DVec3::Y, DVec3::new(2.0, 1.0, 0.0), DVec3::X * 2.0];
    let mut bodies = vec![body(DVec3::X, true)];
    bodies.extend(corners.windows(2).map(|pair| body((pair[0] + pair[1]) / 2.0, false)));
    let mut joints = Vec::new();
    for (index, ends) in [[0, 1], [1, 2], [2, 3], [3, 0]].into_iter().enumerate() {
        let mut pin = joint(JointKind::Hinge, ends, corners[index]);
        begin(&mut pin, given[index], stops[index]);
        joints.push(pin);
    }
    (bodies, joints)
}

fn axis(joint: usize) -> JointAxis {
    JointAxis { joint: JointId::new(joint), axis: 2 }
}

#[track_caller]
fn assert_close(found: &[f64], expected: &[f64]) {
    let off = found.iter().zip(expected).map(|(found, expected)| (found - expected).abs()).fold(0.0, f64::max);
    assert!(found.len() == expected.len() && off < CLOSE, "{found:?} are not {expected:?}");
}

/// A crank whose stops exclude 0 starts at one of them: the other joints follow, and it stays.
#[test]
fn a_loop_whose_zero_is_beyond_a_stop_is_closed_within_the_stops() {
    for crank in [0.3, -0.7] {
        let stops = if crank > 0.0 { [crank, 1.0] } else { [-1.0, crank] };
        let (mut bodies, mut joints) = parallelogram([crank, 0.0, 0.0, 0.0], [stops, NONE, NONE, NONE]);
        assert!(take_initial_positions(&mut bodies.clone(), &mut joints.clone()).is_err());
        assert_eq!(close_loops(&mut bodies, &mut joints, &[]), Ok(vec![]));
        assert_close(&positions(&joints), &[crank, -crank, crank, -crank]);
        // The far side is upright, carried by the crank.
        let corner = DQuat::from_rotation_z(crank) * DVec3::Y;
        assert!((joints[1].anchor - corner).length() < CLOSE, "{}", joints[1].anchor);
        assert!((bodies[2].pose.translation - corner - DVec3::X).length() < CLOSE);
        assert!(bodies[2].pose.rotation.angle_between(DQuat::IDENTITY) < 1e-7);
    }
}

/// The rocker's stop prevents the given position of the crank: both move, and are returned.
#[test]
fn given_positions_move_where_nothing_else_closes_the_loop() {
    let (mut bodies, mut joints) = parallelogram([0.8, 0.0, 0.5, 0.0], [[0.3, 1.0], NONE, [-0.5, 0.6], NONE]);
    assert_eq!(close_loops(&mut bodies, &mut joints, &[]), Ok(vec![axis(0), axis(2)]));
    let found = positions(&joints);
    assert_close(&found, &[found[0], -found[0], found[0], -found[0]]);
    assert!((0.3..=0.6).contains(&found[0]), "{found:?}");
}

/// With the crank at 0.3 to 0.5 rad and the pin between it and the coupler at -0.1 to 0.1 rad the coupler's end is 1.2
/// m or more from the rocker's foot, whose length is 1 m.
#[test]
fn a_loop_that_stops_keep_open_is_named() {
    let stops = [[0.3, 0.5], [-0.1, 0.1], NONE, NONE];
    let (mut bodies, mut joints) = parallelogram([0.3, 0.0, 0.0, 0.0], stops);
    let before = (bodies.clone(), joints.clone());
    let open = close_loops(&mut bodies, &mut joints, &[]).unwrap_err();
    // Breadth first from the base, the coupler and the rocker meet last.
    assert_eq!(open.joint, JointId::new(2));
    assert!(open.distance > 0.1 || open.angle > 0.1, "{open:?}");
    assert_eq!((bodies, joints), before, "nothing has moved");
}

/// A closed loop keeps its bits, even beside an open loop.
#[test]
fn what_is_closed_keeps_its_bits() {
    let closed = parallelogram([0.4, -0.4, 0.4, -0.4], [NONE; 4]);
    let [mut plain, mut assembled] = [closed.clone(), closed.clone()];
    take_initial_positions(&mut plain.0, &mut plain.1).unwrap();
    assert_eq!(close_loops(&mut assembled.0, &mut assembled.1, &[]), Ok(vec![]));
    assert_eq!(plain, assembled);
    // A second linkage on the same base, open.
    let (others, pins) = parallelogram([0.3, 0.0, 0.0, 0.0], [NONE; 4]);
    let (mut bodies, mut joints) = closed;
    bodies.extend(others.into_iter().skip(1));
    let shifted = |id: BodyId| if id.index() == 0 { id } else { BodyId::new(id.index() + 3) };
    joints.extend(pins.into_iter().map(|pin| Joint { parent: shifted(pin.parent), child: shifted(pin.child), ..pin }));
    assert_eq!(close_loops(&mut bodies, &mut joints, &[]), Ok(vec![]));
    assert_eq!((&bodies[..4], &joints[..4]), (&plain.0[..], &plain.1[..]));
    assert_close(&positions(&joints[4..]), &[0.3, -0.3, 0.3, -0.3]);
}

/// The upper end of the rod of [`crank_and_rod`].
const TOP: DVec3 = DVec3::new(1.0, 0.0, 2.0);

/// A crank of 1 m about z, which begins at an angle, carries the end of a rod of 2 m; that hangs on a slide along z by
/// a ball joint above the crank's tip.
fn crank_and_rod(angle: f64) -> (Vec<Body>, Vec<Joint>) {
    let places = [(DVec3::ZERO, true), (DVec3::X / 2.0, false), (TOP, false), ((DVec3::X + TOP) / 2.0, false)];
    let mut crank = joint(JointKind::Hinge, [0, 1], DVec3::ZERO);
    begin(&mut crank, angle, [angle, 1.0]);
    let slide = joint(JointKind::Slider, [0, 2], TOP);
    let balls = [joint(JointKind::Ball, [1, 3], DVec3::X), joint(JointKind::Ball, [2, 3], TOP)];
    (places.map(|(at, fixed)| body(at, fixed)).into(), [crank, slide].into_iter().chain(balls).collect())
}

/// At the angle t of the crank the rod spans 2 sin(t/2) sideways, so the slide moves down by 2 - 2 sqrt(1 - sin²(t/2)).
#[test]
fn a_ball_joint_turns_with_its_rod() {
    let angle = 0.5_f64;
    let (mut bodies, mut joints) = crank_and_rod(angle);
    assert_eq!(close_loops(&mut bodies, &mut joints, &[]), Ok(vec![]));
    let down = 2.0 - 2.0 * (1.0 - (angle / 2.0).sin().powi(2)).sqrt();
    assert_close(&positions(&joints)[..2], &[angle, -down]);
    // Each ball joint holds its rod, whose length is constant.
    let [tip, top] = [joints[2].anchor, joints[3].anchor];
    assert!((top - (TOP - DVec3::Z * down)).length() < CLOSE, "{top}");
    assert!((tip - DQuat::from_rotation_z(angle) * DVec3::X).length() < CLOSE, "{tip}");
    assert!((bodies[3].pose.translation - (tip + top) / 2.0).length() < CLOSE);
    let along = bodies[3].pose.rotation * DVec3::Z;
    assert!((along - (top - tip) / 2.0).length() < CLOSE, "{along}");
}

/// A ball joint with a spring or stops, which are relative to its initial position, does not turn.
#[test]
fn a_ball_joint_with_a_law_of_its_own_does_not_turn() {
    for is_stopped in [false, true] {
        let (mut bodies, mut joints) = crank_and_rod(0.5);
        if is_stopped {
            joints[2].swing = 1.0;
        }
        for free in joints[2].axes.iter_mut().filter(|_| !is_stopped) {
            let Axis::Free(free) = free else { panic!("a free axis") };
            free.stiffness = 1.0;
        }
        let open = close_loops(&mut bodies, &mut joints, &[]).unwrap_err();
        assert_eq!(open.joint, JointId::new(3));
    }
}

/// A wheel that follows a joint of an open loop starts at its coupled position.
#[test]
fn couplings_hold_where_a_loop_is_closed() {
    let (mut bodies, mut joints) = parallelogram([0.3, 0.0, 0.0, 0.0], [NONE; 4]);
    bodies.push(body(DVec3::Z, false));
    joints.push(joint(JointKind::Hinge, [0, 4], DVec3::Z));
    let coupling = Coupling { leader: axis(1), follower: axis(4), ratio: 2.0, offset: 0.1, source: String::new() };
    assert_eq!(close_loops(&mut bodies, &mut joints, &[coupling]), Ok(vec![]));
    assert_close(&positions(&joints), &[0.3, -0.3, 0.3, -0.3, -0.5]);
}

/// A follower without a given position starts at the position of its leader, through another follower as well; a leader
/// without one at that of its follower. Positions given for both stay.
#[test]
fn what_follows_begins_where_it_follows() {
    let wheels = |given: [f64; 3]| {
        let mut bodies = vec![body(DVec3::ZERO, true)];
        let mut joints = Vec::new();
        for (index, at) in given.into_iter().enumerate() {
            bodies.push(body(DVec3::X * index as f64, false));
            let mut hinge = joint(JointKind::Hinge, [0, index + 1], DVec3::X * index as f64);
            begin(&mut hinge, at, [-1.0, 1.0]);
            joints.push(hinge);
        }
        let coupling = |leader, follower, ratio, offset| Coupling {
            leader: axis(leader),
            follower: axis(follower),
            ratio,
            offset,
            source: String::new(),
        };
        // The last follows the middle one, which follows the first.
        let couplings = [coupling(1, 2, -1.0, 0.1), coupling(0, 1, 2.0, 0.0)];
        assert_eq!(close_loops(&mut bodies, &mut joints, &couplings), Ok(vec![]));
        positions(&joints)
    };
    assert_close(&wheels([0.15, 0.0, 0.0]), &[0.15, 0.3, -0.2]);
    assert_close(&wheels([0.0, 0.4, 0.0]), &[0.2, 0.4, -0.3]);
    assert_close(&wheels([0.1, 0.4, 0.0]), &[0.1, 0.4, -0.3]);
    // Beyond its stop it does not begin.
    assert_close(&wheels([0.6, 0.0, 0.0]), &[0.6, 0.0, 0.1]);
}
