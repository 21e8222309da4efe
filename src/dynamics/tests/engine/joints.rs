//! Joints with sliding and turning coordinates.
//!
//! A cylindrical joint leaves its child a screw-like motion: the force along the axis and the torque about it act
//! independently. A planar joint presses on its child along the normal and tilts it about axes in the plane. It leaves
//! the free motion of a plate: the centre of mass follows the force in the plane, and the spin is constant. Every
//! coordinate has its own stops, losses and motor, for tree joints with either direction and for loop joints.

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{Engine, JointState, Motor};
use simpartner_model::{Axis, FreeAxis, JointId, JointKind, Shape};

use super::{G, build, energy, position, run, steps};
use crate::scene::{self, body, joint};

/// A plate of 2 kg and 0.3 m by 0.2 m on a fixed base, with its centre of mass at `off` from the joint's origin, in the
/// joint's axes. The joint's axes are not parallel to the world's.
fn plate(kind: JointKind, off: DVec3, backwards: bool) -> World {
    let (anchor, frame) = (DVec3::new(0.4, -0.2, 0.7), frame());
    let mut world = scene::world();
    world.mechanism.bodies.push(body("base", 1.0, None, DVec3::new(-0.1, 0.3, 0.2)));
    world.mechanism.bodies[0].fixed = true;
    let size = DVec3::new(0.3, 0.2, 0.05);
    world.mechanism.bodies.push(body("plate", 2.0, Some(Shape::Box { size }), anchor + frame * off));
    world.mechanism.bodies[1].pose.rotation = frame;
    let (parent, child) = if backwards { (1, 0) } else { (0, 1) };
    world.mechanism.joints.push(joint("joint", kind, parent, child, anchor));
    world.mechanism.joints[0].frame = frame;
    world
}

fn frame() -> DQuat {
    DQuat::from_euler(bevy_math::EulerRot::XYZ, 0.6, -0.4, 0.9)
}

/// Moment of inertia of the plate about its normal.
const INERTIA: f64 = 2.0 / 12.0 * (0.3 * 0.3 + 0.2 * 0.2);

/// The plate moves like this at step 0, in the joint's axes: its centre of mass, and its spin about the normal.
fn thrown(mut world: World, velocity: DVec3, spin: f64) -> World {
    world.mechanism.bodies[1].linear_velocity = frame() * velocity;
    world.mechanism.bodies[1].angular_velocity = frame() * (DVec3::Z * spin);
    world
}

fn state(engine: &dyn Engine, joint: usize) -> JointState {
    engine.joint(JointId::new(joint))
}

/// A plate thrown about its centre of mass: x = v t + g t²/2 in each direction of the plane, and the angle w t.
#[test]
fn a_planar_joint_leaves_the_free_motion_of_a_plate() {
    let (h, t, velocity, spin) = (0.001, 2.0, DVec3::new(0.7, -0.3, 0.0), 3.0);
    let pull = frame().inverse() * DVec3::new(0.0, -G, 0.0);
    let way = velocity * t + DVec3::new(pull.x, pull.y, 0.0) * (0.5 * t * t);
    let mut engine = build(&thrown(plate(JointKind::Planar, DVec3::ZERO, false), velocity, spin), h);
    run(&mut *engine, h, t);
    let found = state(&*engine, 0);
    for (position, expected) in found.position.into_iter().zip([way.x, way.y, spin * t]) {
        assert!((position - expected).abs() < 1e-10, "{position} {expected}");
    }
    for backwards in [false, true] {
        let off = |h: f64| {
            // Off its origin the plate's centre is no coordinate, and walked from the child the base slides along axes
            // that turn with the plate: of a way of 20 m the scheme has an error of the order (w h)⁴ then.
            let off = DVec3::new(0.2, 0.1, 0.0);
            let mut engine = build(&thrown(plate(JointKind::Planar, off, backwards), velocity, spin), h);
            let start = position(&*engine, 1);
            run(&mut *engine, h, t);
            (position(&*engine, 1) - start - frame() * way).length()
        };
        let [coarse, fine] = [0.004, 0.001].map(off);
        println!("plate, backwards {backwards}: {coarse:.1e} m off at 4 ms, {fine:.1e} m at 1 ms");
        let order = 0.012f64.powi(4);
        assert!(coarse < 20.0 * order && fine < 20.0 * order / 256.0 + 1e-8, "{coarse} {fine}");
    }
}

/// A collar with its centre of mass off the axis: along the axis it falls, about it it is a pendulum, and the energy of
/// the two does not mix.
#[test]
fn a_cylindrical_joint_keeps_the_energies_of_slide_and_turn_apart() {
    for backwards in [false, true] {
        let h = 0.001;
        let world = thrown(plate(JointKind::Cylindrical, DVec3::new(0.3, 0.0, 0.1), backwards), DVec3::ZERO, 0.0);
        let mut engine = build(&world, h);
        let (start, pull) = (energy(&world, &*engine), (frame().inverse() * DVec3::NEG_Y * G).z);
        for step in 1..=steps(h, 2.0) {
            engine.step();
            let (t, found, sign) = (step as f64 * h, state(&*engine, 0), if backwards { -1.0 } else { 1.0 });
            // Of a midpoint scheme a fall is exact.
            assert!((found.position[1] - sign * 0.5 * pull * t * t).abs() < 1e-10, "{t}: {found:?}");
            assert!((found.rate[1] - sign * pull * t).abs() < 1e-10, "{t}: {found:?}");
        }
        assert!(state(&*engine, 0).rate[2].abs() > 0.1, "it swings");
        let off = energy(&world, &*engine) - start;
        println!("collar, backwards {backwards}: energy {off:.1e} J off");
        assert!(off.abs() < 1e-4, "{off}");
    }
}

/// The plate's three coordinates under three laws: v = v0 (1 + h c / m)^-n, x = F t² / 2 (m + J), and a friction M that
/// stops a spin w within I w / M at the angle I w² / 2 M. On a second joint of the same axes, which closes a loop, they
/// are the same.
#[test]
fn every_coordinate_has_laws_of_its_own() {
    let (h, t) = (0.001, 1.0);
    for place in [0, 1] {
        let mut world = thrown(plate(JointKind::Planar, DVec3::ZERO, false), DVec3::X * 2.0, 3.0);
        world.mechanism.gravity = DVec3::ZERO;
        world.mechanism.joints.push(world.mechanism.joints[0].clone());
        world.mechanism.joints[place].axes = [
            FreeAxis { damping: 4.0, ..FreeAxis::default() },
            FreeAxis { armature: 3.0, ..FreeAxis::default() },
            FreeAxis { friction: 0.1, ..FreeAxis::default() },
        ]
        .map(Axis::Free);
        let mut engine = build(&world, h);
        engine.set_motor(JointId::new(place), 1, Motor::Effort(5.0));
        run(&mut *engine, h, t);
        let found = state(&*engine, place);
        let expected = [2.0 * (1.0 + h * 4.0 / 2.0f64).powi(-1000), 5.0 * t / (2.0 + 3.0), 0.0];
        for (rate, expected) in found.rate.into_iter().zip(expected) {
            assert!((rate - expected).abs() < 1e-8, "joint {place}: {rate} {expected}");
        }
        assert!((found.position[1] - 0.5 * t * t).abs() < 1e-8, "joint {place}: {found:?}");
        let stopped = INERTIA * 3.0 * 3.0 / (2.0 * 0.1);
        // The friction ends within a step.
        assert!((found.position[2] - stopped).abs() < 3.0 * h, "joint {place}: {found:?} {stopped}");
        assert!((found.effort[1] - 5.0).abs() < 1e-9, "joint {place}: {found:?}");
        for joint in [0, 1] {
            let other = state(&*engine, joint);
            for (a, b) in other.position.into_iter().zip(found.position) {
                assert!((a - b).abs() < 1e-9, "both read the same: {other:?} {found:?}");
            }
        }
    }
}

/// Stops of two sliding coordinates and of a turning one carry the load: m g along the first two axes, and the moment
/// of the weight about the joint's origin, which is fixed to the child, about the third.
#[test]
fn stops_of_slides_and_turns_hold_their_shares() {
    let (off, at, pull) = (DVec3::X * 0.1, DVec3::new(0.02, 0.03, 0.0), DVec3::new(6.0, 5.0, 0.0));
    for (place, backwards) in [(0, false), (0, true), (1, false), (1, true)] {
        let mut world = plate(JointKind::Planar, off, backwards);
        world.mechanism.gravity = frame() * pull;
        world.mechanism.joints.push(world.mechanism.joints[0].clone());
        world.mechanism.joints[place].axes = at.to_array().map(|at| {
            let (lower, upper) = if backwards { (-at, f64::INFINITY) } else { (f64::NEG_INFINITY, at) };
            Axis::Free(FreeAxis { lower, upper, ..FreeAxis::default() })
        });
        let mut engine = build(&world, 0.001);
        for _ in 0..3000 {
            engine.step();
        }
        let (found, sign) = (state(&*engine, place), if backwards { -1.0 } else { 1.0 });
        let load = found.load.unwrap();
        println!("stops of joint {place}, backwards {backwards}: {:?}, {:?}", found.position, load.stop);
        let lever = if backwards { off + at } else { off };
        let leaning = (pull * 2.0) + DVec3::Z * lever.cross(pull * 2.0).z;
        for axis in 0..3 {
            assert!((found.position[axis] - sign * at[axis]).abs() < 1e-8, "{place} {backwards}: {found:?}");
            assert!((load.stop[axis] + sign * leaning[axis]).abs() < 1e-6, "{place} {backwards}: {load:?} {leaning}");
        }
    }
}

/// Motors hold the plate away from its initial position. The joint's origin is fixed to the child, and the reaction
/// there is that of statics, whichever of the two bodies is fixed.
#[test]
fn a_joint_has_its_origin_in_its_child_however_it_is_walked() {
    for kind in [JointKind::Slider, JointKind::Cylindrical, JointKind::Planar] {
        for backwards in [false, true] {
            let world = plate(kind, DVec3::new(0.1, 0.05, 0.02), backwards);
            let mut engine = build(&world, 0.001);
            for (axis, target) in [0.2, -0.15, 0.5].into_iter().enumerate() {
                engine.set_motor(JointId::new(0), axis, Motor::Position { target, max_effort: 1e4 });
            }
            run(&mut *engine, 0.001, 1.0);
            let (joint, found) = (&world.mechanism.joints[0], state(&*engine, 0));
            let at_start = world.mechanism.body(joint.child).pose.inverse().point(joint.anchor);
            let origin = engine.body(joint.child).pose.point(at_start);
            assert!((found.anchor - origin).length() < 1e-12, "{kind:?} {backwards}: {found:?} {origin}");
            let weight = world.mechanism.gravity * if backwards { 2.0 } else { -2.0 };
            let (moment, reaction) = ((position(&*engine, 1) - origin).cross(weight), found.load.unwrap().reaction);
            let off = (reaction.force - weight).length().max((reaction.torque - moment).length());
            println!("{kind:?}, backwards {backwards}: reaction {off:.1e} off statics");
            assert!(off < 1e-6, "{kind:?} {backwards}: {reaction:?} {weight} {moment}");
        }
    }
}
