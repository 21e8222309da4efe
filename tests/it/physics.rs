//! Common properties of both engines. Tolerances follow from the timestep, the number format and the method; `Within`
//! gives each engine its own.
//!
//! Articulated dynamics has rigid contacts: laws that are exact deviate by rounding only. Rapier's contacts are springs
//! of 30 Hz with ten times the critical damping, whose slow mode decays as exp(-t / 0.106 s).

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{Engine, EngineKind, Motor, Ray, Settings};
use simpartner_model::{Axis, BodyId, Coordinate, FreeAxis, JointId, JointKind, Material, Shape, Timestep};

use crate::scene::{self, G, Within, as_robot, ball, body, close, cube, joint, motor_compliance, with_plane};

const H: f64 = 1e-3;

fn build(world: &World) -> Box<dyn Engine> {
    simpartner_dynamics::build(&world.mechanism, Timestep::MILLISECOND, &scene::settings())
        .expect("the world of the test can be built")
}

fn run(engine: &mut dyn Engine, seconds: f64) {
    for _ in 0..(seconds / H).round() as u64 {
        engine.step();
        assert!(engine.step_events().is_empty(), "{:?}", engine.step_events());
    }
}

/// A body falls from rest: h = h0 - g t²/2. The midpoint scheme of our own dynamics has no error; rapier's
/// semi-implicit Euler falls g h t/2 farther (thesis equation 13, its engine's error of 0.0489 m after 10 s).
#[test]
fn free_fall_follows_the_discrete_law_to_rounding() {
    let mut world = scene::world();
    world.mechanism.bodies.push(body("particle", 1.0, None, DVec3::new(0.0, 500.0, 0.0)));
    let mut engine = build(&world);
    run(&mut *engine, 10.0);
    let height = engine.body(BodyId::new(0)).pose.translation.y;
    let (t, analytic) = (10.0, 500.0 - G * 10.0 * 10.0 / 2.0);
    let of_the_law = match scene::settings().engine {
        EngineKind::Dynamics => 0.0,
        EngineKind::Rapier => -G * H * t / 2.0,
    };
    let (error, from_law) = (height - analytic, height - (analytic + of_the_law));
    println!("free fall of 10 s: {error:.6} m off the analytic height, {from_law:.1e} m off the discrete law");
    assert!(from_law.abs() < 1e-9, "{from_law}");
    assert!((engine.body(BodyId::new(0)).linear_velocity.y + G * t).abs() < 1e-9);
}

/// Gravity causes no sideways motion, and constant velocity is exact (thesis figure 3).
#[test]
fn a_thrown_body_moves_sideways_exactly() {
    let mut world = scene::world();
    world.mechanism.bodies.push(body("stone", 1.0, cube(0.1), DVec3::new(0.0, 500.0, 0.0)));
    world.mechanism.bodies[0].linear_velocity = DVec3::new(10.0, 10.0, 0.0);
    let mut engine = build(&world);
    run(&mut *engine, 2.0);
    assert!((engine.body(BodyId::new(0)).pose.translation.x - 20.0).abs() < 1e-11);
}

/// A cube at rest presses on the ground with its weight, and the ground's force has no moment about its centre.
#[test]
fn a_resting_cube_is_carried_by_its_weight() {
    let mut world = with_plane(scene::world(), 1.0);
    world.mechanism.bodies.push(body("cube", 2.0, cube(1.0), DVec3::new(0.0, 0.5, 0.0)));
    let mut engine = build(&world);
    run(&mut *engine, 3.0);
    let state = engine.body(BodyId::new(0));
    close("weight of the resting cube", state.force.y, 2.0 * G, Within { dynamics: 1e-12, rapier: 1e-10 });
    let rest = state.force.x.abs() + state.force.z.abs() + state.torque.length();
    close("everything but its weight", rest, 0.0, Within { dynamics: 1e-12, rapier: 1e-10 });
}

/// A body that may sleep does so, and its supporting force is still reported.
#[test]
fn a_sleeping_cube_is_still_carried() {
    let mut world = with_plane(scene::world(), 1.0);
    world.mechanism.bodies.push(body("cube", 2.0, cube(1.0), DVec3::new(0.0, 0.5, 0.0)));
    let settings = Settings { auto_disable: true, ..scene::settings() };
    let mut engine = simpartner_dynamics::build(&world.mechanism, Timestep::MILLISECOND, &settings).unwrap();
    run(&mut *engine, 5.0);
    let before = engine.body(BodyId::new(0));
    run(&mut *engine, 1.0);
    let after = engine.body(BodyId::new(0));
    assert_eq!(before, after, "asleep, nothing changes to the bit");
    // Rapier's cube falls asleep about 2 s after it was set down: exp(-2 / 0.106) = 6e-9 of the settling is left, which
    // began with an acceleration of some g.
    close("weight of the sleeping cube", after.force.y, 2.0 * G, Within { dynamics: 1e-12, rapier: 1e-5 });
}

/// A sliding cube is decelerated by mu m g, and the contact wrench has this force.
#[test]
fn a_sliding_cube_is_braked_by_coulomb_friction() {
    let mut world = with_plane(scene::world(), 1.0);
    let mut slider = body("cube", 1.0, cube(1.0), DVec3::new(0.0, 0.5, 0.0));
    slider.material = Material { friction: 0.5, ..Material::default() };
    slider.linear_velocity = DVec3::new(10.0, 0.0, 0.0);
    world.mechanism.bodies.push(slider);
    let mut engine = build(&world);
    run(&mut *engine, 1.0);
    let state = engine.body(BodyId::new(0));
    close(
        "speed of the sliding cube",
        state.linear_velocity.x,
        10.0 - 0.5 * G,
        Within { dynamics: 1e-11, rapier: 1e-9 },
    );
    close("friction", state.force.x, -0.5 * G, Within { dynamics: 1e-12, rapier: 1e-8 });
    // The friction acts half a metre below the centre, so it pitches the cube forward; the normal force balances it.
    close("moment about its centre", state.torque.length(), 0.0, Within { dynamics: 1e-12, rapier: 1e-8 });
}

/// A hinge motor holds a bar against gravity: its effort is m g l, and the velocity of the bar is zero.
#[test]
fn a_holding_motor_reports_the_statics_moment() {
    for backwards in [false, true] {
        let mut world = scene::world();
        world.mechanism.bodies.push(body("base", 1.0, cube(0.2), DVec3::ZERO));
        world.mechanism.bodies[0].fixed = true;
        world.mechanism.bodies.push(body("bar", 5.0, cube(0.2), DVec3::new(1.0, 0.0, 0.0)));
        let (parent, child) = if backwards { (1, 0) } else { (0, 1) };
        world.mechanism.joints.push(joint("hinge", JointKind::Hinge, parent, child, DVec3::ZERO));
        let mut engine = build(&world);
        engine.set_motor(JointId::new(0), 2, Motor::Position { target: 0.0, max_effort: 1000.0 });
        run(&mut *engine, 1.0);
        let state = engine.joint(JointId::new(0));
        // The motor acts on the bar: about +z on the bar, which is the child unless the joint is reversed. It yields by
        // a small angle per newton metre, so the lever arm of the weight is shorter by the cosine.
        let level = if backwards { -5.0 * G } else { 5.0 * G };
        let [_, compliance] = motor_compliance();
        let moment = level * (level * compliance).cos();
        close("moment of the holding motor", state.effort[2], moment, Within::both(1e-9));
        close("angle it gives by", state.position[2], -moment * compliance, Within::both(1e-14));
    }
}

/// A motor of limited effort turns a free flywheel: omega = tau t / I, without the damping rapier puts on every hinge.
#[test]
fn a_saturated_motor_exerts_its_maximum() {
    let mut world = scene::world();
    world.mechanism.gravity = DVec3::ZERO;
    world.mechanism.bodies.push(body("base", 1.0, cube(0.2), DVec3::ZERO));
    world.mechanism.bodies[0].fixed = true;
    world.mechanism.bodies.push(body("wheel", 6.0, cube(1.0), DVec3::ZERO));
    world.mechanism.joints.push(joint("axle", JointKind::Hinge, 0, 1, DVec3::ZERO));
    let mut engine = build(&world);
    engine.set_motor(JointId::new(0), 2, Motor::Velocity { target: 100.0, max_effort: 3.0 });
    run(&mut *engine, 2.0);
    let state = engine.joint(JointId::new(0));
    // I of a cube of 6 kg and 1 m is 1 kg m².
    assert!((state.rate[2] - 6.0).abs() < 1e-9, "{state:?}");
    assert_eq!(state.effort[2], 3.0);
    assert!((engine.body(BodyId::new(1)).angular_velocity.z - 6.0).abs() < 1e-9);
}

/// A stop carries a load.
#[test]
fn a_stop_ends_the_motion() {
    let mut world = scene::world();
    world.mechanism.bodies.push(body("base", 1.0, cube(0.2), DVec3::ZERO));
    world.mechanism.bodies[0].fixed = true;
    world.mechanism.bodies.push(body("bar", 1.0, cube(0.2), DVec3::new(1.0, 0.0, 0.0)));
    let mut hinge = joint("hinge", JointKind::Hinge, 0, 1, DVec3::ZERO);
    hinge.axes[2] = Axis::Free(FreeAxis { lower: -0.5, upper: 0.5, ..FreeAxis::default() });
    world.mechanism.joints.push(hinge);
    let mut engine = build(&world);
    run(&mut *engine, 3.0);
    close(
        "angle at the stop",
        engine.joint(JointId::new(0)).position[2],
        -0.5,
        Within { dynamics: 1e-12, rapier: 1e-9 },
    );
}

/// Viscous damping c on a slider under gravity: it falls at m g / c in the end.
#[test]
fn damping_and_dry_friction_are_those_of_the_file() {
    let mut world = scene::world();
    world.mechanism.bodies.push(body("mast", 1.0, cube(0.2), DVec3::ZERO));
    world.mechanism.bodies[0].fixed = true;
    world.mechanism.bodies.push(body("damped", 2.0, cube(0.2), DVec3::new(1.0, 0.0, 0.0)));
    world.mechanism.bodies.push(body("stuck", 2.0, cube(0.2), DVec3::new(2.0, 0.0, 0.0)));
    // The joint's z is turned to the world's y.
    let upwards = DQuat::from_xyzw(-(0.5f64.sqrt()), 0.0, 0.0, 0.5f64.sqrt());
    for (child, axis) in [
        (1, FreeAxis { damping: 10.0, ..FreeAxis::default() }),
        (2, FreeAxis { friction: 30.0, ..FreeAxis::default() }),
    ] {
        let mut slider = joint("slider", JointKind::Slider, 0, child, DVec3::new(child as f64, 0.0, 0.0));
        slider.frame = upwards;
        slider.axes[2] = Axis::Free(axis);
        world.mechanism.joints.push(slider);
    }
    let mut engine = build(&world);
    run(&mut *engine, 5.0);
    let (damped, stuck) = (engine.joint(JointId::new(0)), engine.joint(JointId::new(1)));
    // Damping is implicit: in each step the difference to the final speed is divided by 1 + h c / m.
    let missing = (1.0 + H * 10.0 / 2.0f64).powi(-5000);
    close("speed of the damped slider", damped.rate[2], -2.0 * G / 10.0 * (1.0 - missing), Within::both(1e-12));
    // Rapier's dry friction is a motor that is solved for in a bounded number of sweeps.
    close("speed of the stuck slider", stuck.rate[2], 0.0, Within { dynamics: 1e-12, rapier: 1e-8 });
}

/// Thrown about its centre of mass, the child moves by v t + g t²/2 along each axis that its joint slides along and
/// turns by w t, as if there were no joint and no other coordinate. A second joint of the same axes closes a loop and
/// reads the same.
#[test]
fn joints_that_slide_and_turn_leave_the_free_motion_in_their_coordinates() {
    let (t, velocity, spin) = (2.0, DVec3::new(0.7, -0.3, 2.0), DVec3::Z * 3.0);
    let frame = DQuat::from_euler(bevy_math::EulerRot::XYZ, 0.6, -0.4, 0.9);
    let pull = frame.inverse() * DVec3::new(0.0, -G, 0.0);
    // Walked from its child, a planar joint slides along axes that turn: no closed form has its coordinates.
    for (kind, backwards) in
        [(JointKind::Cylindrical, false), (JointKind::Cylindrical, true), (JointKind::Planar, false)]
    {
        let mut world = scene::world();
        world.mechanism.bodies.push(body("base", 1.0, cube(0.2), DVec3::ZERO));
        world.mechanism.bodies[0].fixed = true;
        world.mechanism.bodies.push(body("child", 2.0, cube(0.2), DVec3::ZERO));
        let is_held =
            |axis: usize| kind.coordinates().iter().flatten().all(|found| !found.linear || found.axis != axis);
        let [x, y, z] = [0, 1, 2].map(|axis| if is_held(axis) { 0.0 } else { velocity[axis] });
        world.mechanism.bodies[1].linear_velocity = frame * DVec3::new(x, y, z);
        world.mechanism.bodies[1].angular_velocity = frame * spin;
        let (parent, child) = if backwards { (1, 0) } else { (0, 1) };
        for name in ["tree", "loop"] {
            let mut joint = joint(name, kind, parent, child, DVec3::ZERO);
            joint.frame = frame;
            world.mechanism.joints.push(joint);
        }
        let mut engine = build(&world);
        run(&mut *engine, t);
        let [tree, closure] = [0, 1].map(|index| engine.joint(JointId::new(index)));
        let sign = if backwards { -1.0 } else { 1.0 };
        // Rapier's semi-implicit Euler falls g h t/2 farther.
        let farther = match scene::settings().engine {
            EngineKind::Dynamics => 0.0,
            EngineKind::Rapier => H * t / 2.0,
        };
        let within = Within { dynamics: 1e-9, rapier: 1e-7 };
        for (index, coordinate) in kind.coordinates().into_iter().enumerate() {
            let (position, rate) = match coordinate {
                None => (0.0, 0.0),
                Some(Coordinate { axis, linear: true }) => {
                    let (v, g) = (velocity[axis], pull[axis]);
                    (v * t + g * (0.5 * t * t + farther), v + g * t)
                }
                Some(Coordinate { axis, linear: false }) => (spin[axis] * t, spin[axis]),
            };
            let name = |what: &str| format!("{what} {index} of a {} joint", kind.name());
            close(&name("coordinate"), tree.position[index], sign * position, within);
            close(&name("rate"), tree.rate[index], sign * rate, within);
            // Rapier's angle of a loop is within half a turn.
            let turns = ((closure.position[index] - tree.position[index]) / std::f64::consts::TAU).round();
            let turned = if coordinate.is_some_and(|coordinate| !coordinate.linear) { turns } else { 0.0 };
            let of_loop = closure.position[index] - turned * std::f64::consts::TAU;
            close(&name("loop's coordinate"), of_loop, tree.position[index], within);
            close(&name("loop's rate"), closure.rate[index], tree.rate[index], within);
        }
    }
}

/// Three free axes on one joint: each turns independently, and the coordinates compose to the child's orientation,
/// first axis first, for both directions of the tree.
#[test]
fn a_constrained_joint_turns_about_its_axes_in_order() {
    for backwards in [false, true] {
        let mut world = scene::world();
        world.mechanism.gravity = DVec3::ZERO;
        world.mechanism.bodies.push(body("base", 1.0, cube(0.2), DVec3::ZERO));
        world.mechanism.bodies.push(body("hand", 1.0, cube(0.2), DVec3::ZERO));
        world.mechanism.bodies[usize::from(backwards)].fixed = true;
        world.mechanism.joints.push(joint("wrist", JointKind::Constrained, 0, 1, DVec3::ZERO));
        let mut engine = build(&world);
        let targets = [0.3, -0.4, 0.5];
        for (axis, target) in targets.into_iter().enumerate() {
            engine.set_motor(JointId::new(0), axis, Motor::Position { target, max_effort: 100.0 });
        }
        run(&mut *engine, 2.0);
        let state = engine.joint(JointId::new(0));
        for (position, target) in state.position.into_iter().zip(targets) {
            close("angle of the wrist", position, target, Within::both(1e-12));
        }
        let turn = |axis: DVec3, angle: f64| DQuat::from_axis_angle(axis, angle);
        let expected = turn(DVec3::X, 0.3) * turn(DVec3::Y, -0.4) * turn(DVec3::Z, 0.5);
        let rotation = |body| engine.body(BodyId::new(body)).pose.rotation;
        let off = (rotation(0).inverse() * rotation(1)).angle_between(expected);
        // An arc cosine near 1 has half the digits.
        close("angle between the hand's orientation and the composed one", off, 0.0, Within::both(1e-7));
    }
}

/// A four-bar linkage: the loop joint stays closed.
#[test]
fn a_closed_loop_stays_closed() {
    let mut world = scene::world();
    let corners = [DVec3::ZERO, DVec3::new(0.0, 1.0, 0.0), DVec3::new(1.0, 1.0, 0.0), DVec3::new(1.0, 0.0, 0.0)];
    world.mechanism.bodies.push(body("base", 1.0, cube(0.1), DVec3::new(0.5, 0.0, 0.0)));
    world.mechanism.bodies[0].fixed = true;
    for pair in corners.windows(2) {
        world.mechanism.bodies.push(body("bar", 1.0, cube(0.1), (pair[0] + pair[1]) / 2.0));
    }
    world.mechanism.bodies[1].linear_velocity = DVec3::ZERO;
    for (index, (parent, child)) in [(0, 1), (1, 2), (2, 3), (3, 0)].into_iter().enumerate() {
        world.mechanism.joints.push(joint("pin", JointKind::Hinge, parent, child, corners[index]));
    }
    let mut engine = build(&world);
    engine.set_motor(JointId::new(0), 2, Motor::Velocity { target: 0.5, max_effort: 100.0 });
    run(&mut *engine, 1.0);
    let (bar, fixed) = (engine.body(BodyId::new(3)), corners[3]);
    let end = bar.pose.point(DVec3::new(0.0, -0.5, 0.0));
    close("opening of the loop", (end - fixed).length(), 0.0, Within::both(1e-12));
    // A parallelogram: all four angles have the same size.
    let angles: Vec<f64> = (0..4).map(|pin| engine.joint(JointId::new(pin)).position[2]).collect();
    // Both cranks (0.25 kg m² and that of a cube of 0.1 m) and the coupler get up to 0.5 rad/s at the motor's limit of
    // 100 N m, which costs half of that time; then the rate is off by a little for each newton metre of the weights'
    // moment, 2 g sin(angle), and helps.
    let (rate, inertia) = (0.5f64, 2.0 * (0.25 + 0.01 / 6.0) + 1.0);
    let acceleration = 100.0 / inertia;
    let [compliance, _] = motor_compliance();
    let expected = rate - rate * rate / (2.0 * acceleration) + compliance * 2.0 * G * (1.0 - rate.cos()) / rate;
    // The effort has a corner within a step, with an effect of half a step's acceleration; Rapier's steps use the new
    // rate.
    let within = Within { dynamics: acceleration * H * H / 2.0, rapier: rate * H / 2.0 };
    close("angle of the driven pin", angles[0], expected, within);
    for (angle, sign) in angles.iter().zip([1.0, -1.0, 1.0, -1.0]) {
        close("angle of a pin", angle * sign, angles[0], Within::both(1e-12));
    }
}

/// The twist of every body of a tumbling robot is the rate of change of its pose, not that of a substep ago.
#[test]
fn velocities_are_those_of_the_poses() {
    let mut world = scene::world();
    world.mechanism.bodies.push(body("trunk", 2.0, cube(0.4), DVec3::ZERO));
    world.mechanism.bodies.push(body("arm", 1.0, cube(0.2), DVec3::new(0.5, 0.0, 0.0)));
    world.mechanism.bodies.push(body("hand", 0.5, cube(0.1), DVec3::new(0.9, 0.0, 0.0)));
    world.mechanism.bodies[0].angular_velocity = DVec3::new(0.3, 1.0, 2.0);
    world.mechanism.joints.push(joint("shoulder", JointKind::Constrained, 0, 1, DVec3::new(0.3, 0.0, 0.0)));
    world.mechanism.joints.push(joint("wrist", JointKind::Ball, 1, 2, DVec3::new(0.7, 0.0, 0.0)));
    let mut engine = build(&as_robot(world));
    engine.set_motor(JointId::new(0), 2, Motor::Velocity { target: 2.0, max_effort: 5.0 });
    run(&mut *engine, 0.5);
    let before: Vec<_> = (0..3).map(|index| engine.body(BodyId::new(index))).collect();
    engine.step();
    for (index, before) in before.iter().enumerate() {
        let after = engine.body(BodyId::new(index));
        let moved = (after.pose.translation - before.pose.translation) / H;
        let turned = after.pose.rotation * before.pose.rotation.inverse();
        let spin = DVec3::new(turned.x, turned.y, turned.z) * (2.0 / H);
        let turn = H * after.angular_velocity.length();
        for (what, old, new, mean) in [
            ("velocity", before.linear_velocity, after.linear_velocity, moved),
            ("angular velocity", before.angular_velocity, after.angular_velocity, spin),
        ] {
            // The midpoint scheme moves by the mean of the old and new velocity, as long as neither turns within the
            // step; rapier's semi-implicit Euler by a velocity between the two.
            let change = (new - old).length();
            let middle = match scene::settings().engine {
                EngineKind::Dynamics => (old + new) / 2.0,
                EngineKind::Rapier => new,
            };
            let within = Within { dynamics: turn * change + 1e-9, rapier: change };
            close(&format!("{what} of body {index}"), (mean - middle).length(), 0.0, within);
        }
    }
}

/// Rolling resistance Crr of a ball: with the torque Crr N r on a solid ball v = v0 - (5/7) Crr g t.
#[test]
fn rolling_friction_brakes_a_ball() {
    let mut world = with_plane(scene::world(), 1.0);
    let mut rolling = body("ball", 1.0, ball(0.1), DVec3::new(0.0, 0.1, 0.0));
    rolling.linear_velocity = DVec3::new(1.0, 0.0, 0.0);
    rolling.angular_velocity = DVec3::new(0.0, 0.0, -10.0);
    rolling.material = Material { rolling_friction: 0.02, ..Material::default() };
    world.mechanism.bodies.push(rolling);
    let mut engine = build(&world);
    run(&mut *engine, 2.0);
    let expected = 1.0 - 5.0 / 7.0 * 0.02 * G * 2.0;
    let speed = engine.body(BodyId::new(0)).linear_velocity.x;
    // While rapier's contact settles, for 0.1 s, the ball is pressed on with another force than its weight.
    close("speed of the rolling ball", speed, expected, Within { dynamics: 1e-11, rapier: 1e-5 });
    run(&mut *engine, 6.0);
    let state = engine.body(BodyId::new(0));
    close("speed at rest", state.linear_velocity.length(), 0.0, Within::both(1e-12));
    close("spin at rest", state.angular_velocity.length(), 0.0, Within::both(1e-12));
}

/// Two equal balls meet head on with e = 1: they exchange velocities, to the bit.
#[test]
fn an_elastic_collision_is_symmetric_to_the_bit() {
    let mut world = scene::world();
    world.mechanism.gravity = DVec3::ZERO;
    for side in [-1.0, 1.0] {
        let mut sphere = body("sphere", 1.0, ball(0.5), DVec3::new(2.0 * side, 0.0, 0.0));
        sphere.linear_velocity = DVec3::new(-5.0 * side, 0.0, 0.0);
        sphere.material = Material { friction: 0.0, restitution: 1.0, ..Material::default() };
        world.mechanism.bodies.push(sphere);
    }
    let mut engine = build(&world);
    run(&mut *engine, 1.0);
    let [left, right] = [0, 1].map(|index| engine.body(BodyId::new(index)));
    assert_eq!(left.linear_velocity + right.linear_velocity, DVec3::ZERO);
    assert_eq!(left.pose.translation + right.pose.translation, DVec3::ZERO);
    assert!((left.linear_velocity.x + 5.0).abs() < 1e-12, "{}", left.linear_velocity);
}

/// A ray hits ground, body and terrain at their positions, and passes through an excluded body.
#[test]
fn rays_meet_what_stands_in_their_way() {
    let mut world = with_plane(scene::world(), 1.0);
    world.mechanism.bodies.push(body("block", 1.0, cube(1.0), DVec3::new(0.0, 0.5, 0.0)));
    let engine = build(&world);
    let down = |ignore| Ray { origin: DVec3::new(0.0, 3.0, 0.0), direction: -DVec3::Y, range: 10.0, ignore };
    assert!((engine.cast_ray(&down(None)).unwrap() - 2.0).abs() < 1e-12);
    assert!((engine.cast_ray(&down(Some(BodyId::new(0)))).unwrap() - 3.0).abs() < 1e-12);
    assert_eq!(engine.cast_ray(&Ray { range: 1.0, ..down(None) }), None);
}

/// A snapshot restored into a new engine continues bit for bit, including contacts, motors and rolling friction.
#[test]
fn a_restored_snapshot_goes_on_bit_for_bit() {
    let mut world = with_plane(scene::world(), 0.7);
    world.mechanism.bodies.push(body("frame", 3.0, cube(0.4), DVec3::new(0.0, 0.6, 0.0)));
    world.mechanism.bodies.push(body("wheel", 1.0, ball(0.2), DVec3::new(0.5, 0.2, 0.0)));
    world.mechanism.bodies.push(body("loose", 1.0, cube(0.3), DVec3::new(0.6, 1.0, 0.1)));
    world.mechanism.bodies[1].material.rolling_friction = 0.05;
    world.mechanism.joints.push(joint("axle", JointKind::Hinge, 0, 1, DVec3::new(0.5, 0.2, 0.0)));
    let mut first = build(&world);
    first.set_motor(JointId::new(0), 2, Motor::Velocity { target: -3.0, max_effort: 2.0 });
    run(&mut *first, 0.7);
    let snapshot = first.snapshot();
    let mut second = build(&world);
    second.restore(&snapshot).unwrap();
    for step in 0..500 {
        for index in 0..3 {
            assert_eq!(first.body(BodyId::new(index)), second.body(BodyId::new(index)), "step {step}");
        }
        assert_eq!(first.joint(JointId::new(0)), second.joint(JointId::new(0)), "step {step}");
        first.step();
        second.step();
    }
}

/// An infinite motor command is limited or detected: the state stays finite, and the event names the body.
#[test]
fn what_no_number_can_hold_is_never_read() {
    let mut world = scene::world();
    world.mechanism.bodies.push(body("base", 1.0, cube(0.2), DVec3::ZERO));
    world.mechanism.bodies.push(body("rotor", 1e-6, cube(0.01), DVec3::new(0.5, 0.0, 0.0)));
    world.mechanism.joints.push(joint("axle", JointKind::Hinge, 0, 1, DVec3::new(0.5, 0.0, 0.0)));
    let mut engine = build(&as_robot(world));
    engine.set_motor(JointId::new(0), 2, Motor::Velocity { target: 1e300, max_effort: 1e300 });
    let faulty = (0..100).any(|_| {
        engine.step();
        !engine.step_events().is_empty()
    });
    assert!(faulty);
    assert!(engine.step_events().iter().any(|event| event.text.contains("robot/")), "{:?}", engine.step_events());
    for index in 0..2 {
        let state = engine.body(BodyId::new(index));
        assert!(state.pose.translation.is_finite() && state.angular_velocity.is_finite());
    }
}

/// All shapes of the format can be built, carry themselves on the plane, and none weighs more than it should.
#[test]
fn every_shape_rests_on_the_plane_with_its_weight() {
    let tetrahedron = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
    let shapes = [
        Shape::Box { size: DVec3::ONE },
        Shape::Sphere { radius: 0.5 },
        Shape::Cylinder { radius: 0.5, length: 1.0 },
        Shape::Capsule { radius: 0.3, length: 0.5 },
        Shape::Cone { radius: 0.5, length: 1.0 },
        Shape::ConvexHull { points: tetrahedron.clone() },
        Shape::TriangleMesh { vertices: tetrahedron, triangles: vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]] },
    ];
    for shape in shapes {
        let name = shape.name();
        let mut world = with_plane(scene::world(), 1.0);
        world.mechanism.bodies.push(body(name, 3.0, Some(shape), DVec3::new(0.0, 0.8, 0.0)));
        let mut engine = build(&world);
        run(&mut *engine, 4.0);
        let mut mean = 0.0;
        for _ in 0..1000 {
            engine.step();
            mean += engine.body(BodyId::new(0)).force.y / 1000.0;
        }
        // A sum of a thousand numbers of 30 N, rounded to 4e-15 N each.
        close(name, mean, 3.0 * G, Within::both(1e-11));
    }
}
