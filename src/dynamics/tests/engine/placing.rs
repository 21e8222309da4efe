//! A body whose pose is set between two steps continues as one that starts there.
//!
//! Equations of motion have no history: with equal poses and velocities, the further motion is equal, but for the
//! starting values of the solver. So a world in which a body was placed at X with the twist V differs only by rounding
//! from one that starts with the body there. Bodies joined to it move along rigidly: `T = X' X⁻¹` takes each of their
//! poses to the new one, and joint coordinates and rates do not change.

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{Engine, EngineKind, Settings};
use simpartner_model::{BodyId, JointId, JointKind, Pose, Timestep, random::Stream};

use super::{build, energy, on_plane, position, steps, velocity};
use crate::{
    rover::{self, Wheel},
    scene::{self, body, cube, joint},
};

const H: f64 = 0.001;
/// Rounding of a pose some metres from the origin, and of a twist of some units.
const ROUNDING: f64 = 1e-14;

/// Vectors and poses at random.
struct Numbers(Stream);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0.between(-1.0, 1.0)
    }

    fn vector(&mut self, size: f64) -> DVec3 {
        DVec3::new(self.next(), self.next(), self.next()) * size
    }

    fn pose(&mut self) -> Pose {
        let rotation = DQuat::from_xyzw(self.next(), self.next(), self.next(), self.next()).normalize();
        Pose { translation: self.vector(5.0), rotation }
    }
}

/// A linkage of every kind of joint in free fall, and a ring that closes a loop.
fn linkage() -> World {
    let mut world = scene::world();
    let kinds = [JointKind::Hinge, JointKind::Slider, JointKind::Universal, JointKind::Ball, JointKind::Cylindrical];
    let at = |index: usize| DVec3::new(index as f64, 3.0, 0.0);
    for index in 0..=kinds.len() {
        let mut body = body("link", 1.0 + index as f64, cube(0.3), at(index));
        (body.linear_velocity, body.angular_velocity) = (DVec3::X, DVec3::Y);
        world.mechanism.bodies.push(body);
    }
    for (index, kind) in kinds.into_iter().enumerate() {
        world.mechanism.joints.push(joint("joint", kind, index, index + 1, at(index) + DVec3::X * 0.5));
    }
    let first = world.mechanism.bodies.len();
    let corners =
        [DVec3::ZERO, DVec3::Y, DVec3::Y + DVec3::Z, DVec3::Z].map(|corner| corner + DVec3::new(-4.0, 2.0, 0.0));
    for corner in corners {
        world.mechanism.bodies.push(body("rod", 1.0, None, corner));
        world.mechanism.bodies.last_mut().unwrap().inertia =
            Some(simpartner_model::Inertia { centre_of_mass: DVec3::ZERO, tensor: bevy_math::DMat3::IDENTITY * 0.1 });
    }
    for (index, (parent, child)) in [(0, 1), (1, 2), (2, 3), (0, 3)].into_iter().enumerate() {
        let mut pin = joint("pin", JointKind::Hinge, first + parent, first + child, corners[index]);
        pin.frame = DQuat::from_rotation_y(std::f64::consts::FRAC_PI_2);
        world.mechanism.joints.push(pin);
    }
    world
}

/// Differences of all poses and twists between two engines with the same bodies.
fn difference(world: &World, a: &dyn Engine, b: &dyn Engine) -> f64 {
    let each = world.mechanism.bodies().map(|(id, _)| {
        let (a, b) = (a.body(id), b.body(id));
        let place = (a.pose.translation - b.pose.translation).length();
        let turned = (a.pose.rotation * b.pose.rotation.inverse()).xyz().length();
        place
            + turned
            + (a.linear_velocity - b.linear_velocity).length()
            + (a.angular_velocity - b.angular_velocity).length()
    });
    each.fold(0.0, f64::max)
}

fn put_back(engine: &mut dyn Engine, body: BodyId) {
    let state = engine.body(body);
    engine.set_pose(body, &state.pose, state.linear_velocity, state.angular_velocity);
}

#[test]
fn put_where_it_is_nothing_moves() {
    let mut ground = on_plane(scene::world());
    let rover = rover::add(&mut ground, DVec3::new(0.0, 0.35, 0.0), Wheel::Ball);
    for (world, is_rover) in [(linkage(), false), (ground, true)] {
        let (mut touched, mut left) = (build(&world, H), build(&world, H));
        if is_rover {
            rover.drive(&mut *left, 0.0);
            (0..3000).for_each(|_| left.step());
        }
        for round in 0..20 {
            (0..50).for_each(|_| left.step());
            touched.restore(&left.snapshot()).unwrap();
            for (id, _) in world.mechanism.bodies() {
                put_back(&mut *touched, id);
            }
            // Rounding of each of its up to fourteen times, at some metres and metres per second.
            let off = difference(&world, &*touched, &*left);
            assert!(off < 1e-12, "round {round}: {off:.1e}");
            left.step();
            touched.step();
            // The contacts of the standing rover are solved from other starting values, to about 1e-9 m/s. While it
            // moves, the first step without a previous one is of lower order.
            let off = difference(&world, &*touched, &*left);
            let allowed = if is_rover { 1e-7 } else { 1e-12 };
            assert!(off < allowed, "round {round}: {off:.1e} after a step");
            assert_eq!(touched.step_events(), left.step_events());
        }
    }
}

#[test]
fn all_that_is_tied_to_it_comes_along_and_joints_stay_as_they_are() {
    let world = linkage();
    let mut numbers = Numbers(Stream::from_number(7));
    for round in 0..200 {
        let mut engine = build(&world, H);
        (0..20).for_each(|_| engine.step());
        let id = BodyId::new(round % world.mechanism.bodies.len());
        let before: Vec<_> = world.mechanism.bodies().map(|(id, _)| engine.body(id)).collect();
        let joints: Vec<_> = world.mechanism.joints().map(|(id, _)| engine.joint(id)).collect();
        let (pose, linear, angular) = (numbers.pose(), numbers.vector(3.0), numbers.vector(3.0));
        engine.set_pose(id, &pose, linear, angular);
        let state = engine.body(id);
        assert!((state.pose.translation - pose.translation).length() < ROUNDING * 10.0);
        assert!((state.pose.rotation * pose.rotation.inverse()).xyz().length() < ROUNDING);
        assert!((state.linear_velocity - linear).length() < ROUNDING * 100.0, "{}", state.linear_velocity - linear);
        assert!((state.angular_velocity - angular).length() < ROUNDING * 10.0);
        // The first six bodies hang together, and so do the others.
        let together = |other: usize| (other < 6) == (id.index() < 6);
        let whole = pose.then(&before[id.index()].pose.inverse());
        for (other, before) in before.iter().enumerate() {
            let after = engine.body(BodyId::new(other)).pose;
            let expected = if together(other) { whole.then(&before.pose) } else { before.pose };
            assert!((after.translation - expected.translation).length() < 1e-13, "{other}");
            assert!((after.rotation * expected.rotation.inverse()).xyz().length() < 1e-13, "{other}");
        }
        engine.step();
        for (index, before) in joints.iter().enumerate() {
            let after = engine.joint(JointId::new(index));
            for axis in 0..3 {
                // One step later, coordinates have changed by their rates, and rates by the accelerations of a
                // millisecond.
                let moved = after.position[axis] - before.position[axis] - H * before.rate[axis];
                let off = (moved.abs(), (after.rate[axis] - before.rate[axis]).abs());
                assert!(off.0 < 1e-4 && off.1 < 0.1, "{index}: {off:?}");
            }
        }
        assert!(engine.step_events().is_empty(), "{:?}", engine.step_events());
    }
}

#[test]
fn a_lone_body_goes_on_as_if_it_had_begun_there() {
    let mut numbers = Numbers(Stream::from_number(11));
    for round in 0..30 {
        let mut world = on_plane(scene::world());
        let mut thing = body("thing", 2.0, cube(0.4), DVec3::Y * 2.0);
        // Its origin is not in its centre of mass.
        thing.shape.as_mut().unwrap().pose.translation = numbers.vector(0.2);
        thing.material.friction = 0.6;
        world.mechanism.bodies.push(thing);
        let mut put = build(&world, H);
        // The body lies, leans or falls when it is placed elsewhere.
        (0..30 * round).for_each(|_| put.step());
        let (mut pose, linear, angular) = (numbers.pose(), numbers.vector(2.0), numbers.vector(4.0));
        pose.translation.y = 1.0 + pose.translation.y.abs();
        put.set_pose(BodyId::new(0), &pose, linear, angular);
        let begun = &mut world.mechanism.bodies[0];
        (begun.pose, begun.linear_velocity, begun.angular_velocity) = (pose, linear, angular);
        let mut begun = build(&world, H);
        let mut largest: f64 = 0.0;
        while position(&*begun, 0).y > 0.7 {
            put.step();
            begun.step();
            largest = largest.max(difference(&world, &*put, &*begun));
        }
        // Some hundred steps of a rounding each.
        assert!(largest < 1e-12, "round {round}: {largest:.1e}");
        // Impacts of an edge amplify the remaining difference.
        (0..100).for_each(|_| {
            put.step();
            begun.step();
        });
        let off = difference(&world, &*put, &*begun);
        assert!(off < 1e-8, "round {round}: {off:.1e} after its impact");
    }
}

#[test]
fn a_linkage_goes_on_as_if_it_had_begun_there() {
    let world = linkage();
    let mut put = build(&world, H);
    let whole =
        Pose { translation: DVec3::new(3.0, -1.0, 2.0), rotation: DQuat::from_xyzw(0.1, -0.5, 0.2, 0.8).normalize() };
    let mut moved = world.clone();
    for body in &mut moved.mechanism.bodies {
        body.pose = whole.then(&body.pose);
        (body.linear_velocity, body.angular_velocity) =
            (whole.rotation * body.linear_velocity, whole.rotation * body.angular_velocity);
    }
    for joint in &mut moved.mechanism.joints {
        (joint.anchor, joint.frame) = (whole.point(joint.anchor), (whole.rotation * joint.frame).normalize());
    }
    let mut begun = build(&moved, H);
    // Each is placed by one of its bodies, the fourth of the chain and the third of the ring.
    for id in [3, 8].map(BodyId::new) {
        let body = begun.body(id);
        put.set_pose(id, &body.pose, body.linear_velocity, body.angular_velocity);
    }
    let off = difference(&world, &*put, &*begun);
    assert!(off < 1e-13, "{off:.1e}");
    for _ in 0..steps(H, 0.5) {
        put.step();
        begun.step();
    }
    let off = difference(&world, &*put, &*begun);
    assert!(off < 1e-9, "{off:.1e}");
}

#[test]
fn what_leaned_on_it_falls_and_what_it_is_put_on_wakes() {
    let mut world = on_plane(scene::world());
    for (index, at) in [DVec3::Y * 0.25, DVec3::Y * 0.75, DVec3::new(5.0, 0.25, 0.0)].into_iter().enumerate() {
        let mut cube = body("cube", 1.0, cube(0.5), at);
        cube.material.friction = 0.1 + 0.1 * index as f64;
        world.mechanism.bodies.push(cube);
    }
    let settings = Settings { engine: EngineKind::Dynamics, auto_disable: true, ..Settings::default() };
    let mut engine = simpartner_dynamics::build(&world.mechanism, Timestep::MILLISECOND, &settings).unwrap();
    (0..2000).for_each(|_| engine.step());
    // The lower box is placed on the third, shifted by half its width.
    let pose = Pose { translation: DVec3::new(5.4, 0.7501, 0.0), rotation: DQuat::IDENTITY };
    engine.set_pose(BodyId::new(0), &pose, DVec3::ZERO, DVec3::ZERO);
    engine.step();
    assert!(velocity(&*engine, 1).y < -0.009, "it falls from the first step on: {}", velocity(&*engine, 1).y);
    assert!(engine.contacts().iter().all(|contact| contact.bodies != [Some(BodyId::new(0)), Some(BodyId::new(1))]));
    // It lands after 5 ms and presses on the box over whose edge it tips.
    (0..10).for_each(|_| engine.step());
    let carried: f64 = engine
        .contacts()
        .iter()
        .filter(|contact| contact.bodies == [None, Some(BodyId::new(2))])
        .map(|c| c.wrench.force.y)
        .sum();
    assert!(carried > 1.1 * scene::G, "the ground carries both: {carried} N");
    (0..2000).for_each(|_| engine.step());
    assert!((position(&*engine, 1).y - 0.25).abs() < 1e-3, "it lies where the lower one was");
    assert!((position(&*engine, 0).y - 0.25).abs() < 1e-3, "it tipped over");
    // Friction pushes the lower box with 0.1 of the load, and holds it with 0.3 of the load and of its own weight.
    assert!((position(&*engine, 2) - DVec3::new(5.0, 0.25, 0.0)).length() < 1e-9, "it stays where it was");
}

#[test]
fn height_and_speed_that_are_given_are_no_gain_of_energy() {
    let mut world = on_plane(scene::world());
    let rover = rover::add(&mut world, DVec3::new(0.0, 0.35, 0.0), Wheel::Ball);
    let mut engine = build(&world, H);
    rover.drive(&mut *engine, 0.0);
    (0..300).for_each(|_| engine.step());
    let before = energy(&world, &*engine);
    let pose = Pose { translation: DVec3::Y * 100.0, rotation: DQuat::IDENTITY };
    engine.set_pose(BodyId::new(rover.first_body), &pose, DVec3::X * 50.0, DVec3::ZERO);
    assert!(energy(&world, &*engine) > before + 10_000.0);
    for _ in 0..300 {
        engine.step();
        assert!(engine.step_events().is_empty(), "{:?}", engine.step_events());
    }
}

#[test]
fn what_is_fixed_stays() {
    let mut world = linkage();
    world.mechanism.bodies[2].fixed = true;
    let mut engine = build(&world, H);
    let before = engine.snapshot();
    for id in (0..6).map(BodyId::new) {
        assert!(engine.set_pose_obstacle(id).unwrap().contains("static"));
        engine.set_pose(id, &Pose::IDENTITY, DVec3::ZERO, DVec3::ZERO);
    }
    assert_eq!(engine.snapshot(), before);
    assert!(engine.set_pose_obstacle(BodyId::new(6)).is_none());
}

#[test]
fn a_snapshot_taken_after_it_goes_on_bit_for_bit() {
    let mut world = on_plane(linkage());
    world.mechanism.bodies.iter_mut().for_each(|body| body.material.friction = 0.5);
    let mut first = build(&world, H);
    (0..900).for_each(|_| first.step());
    let mut second = build(&world, H);
    second.restore(&first.snapshot()).unwrap();
    let pose = Pose { translation: DVec3::Y * 2.0, rotation: DQuat::IDENTITY };
    // One engine continues from a snapshot before the placement, one from a snapshot after it.
    for engine in [&mut first, &mut second] {
        engine.set_pose(BodyId::new(7), &pose, DVec3::ZERO, DVec3::X);
    }
    let mut third = build(&world, H);
    third.restore(&first.snapshot()).unwrap();
    for _ in 0..300 {
        for engine in [&mut first, &mut second, &mut third] {
            engine.step();
        }
    }
    assert_eq!(first.snapshot(), second.snapshot());
    assert_eq!(first.snapshot(), third.snapshot());
}
