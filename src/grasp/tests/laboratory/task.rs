//! Tests of grasp tasks in the engine: a box between two jaws, whose outcome follows from statics.

use std::sync::Arc;

use bevy_math::{DQuat, DVec3};
use simpartner_dynamics::Engine;
use simpartner_grasp::task::{Scene, Status, TaskEngine};
use simpartner_model::{
    Axis, Body, BodyId, Conditions, Coupling, Drive, DriveKind, Finger, FreeAxis, GraspTask, Ground, Joint, JointAxis,
    JointId, JointKind, Material, Mechanism, Placed, Plane, Pose, Robot, RobotId, Sampling, SamplingMode, Shape,
    Suction, Timestep,
};

/// Half of the opening of the jaws, m.
const HALF_OPENING: f64 = 0.05;

fn at(x: f64, y: f64, z: f64) -> Pose {
    Pose { translation: DVec3::new(x, y, z), ..Pose::IDENTITY }
}

fn part(name: &str, mass: f64, pose: Pose, size: Option<DVec3>) -> Body {
    Body {
        name: name.into(),
        mass,
        pose,
        shape: size.map(|size| Placed { pose: Pose::IDENTITY, shape: Shape::Box { size } }),
        material: Material { friction: 0.5, ..Material::default() },
        ..Body::default()
    }
}

/// The coordinate of a slider of the gripper.
fn axis(joint: usize) -> JointAxis {
    JointAxis { joint: JointId::new(joint), axis: 2 }
}

/// A box of 0.5 kg with edges of 6 cm, and a gripper on three slides whose two jaws close along x.
fn box_and_jaws(gravity: DVec3) -> Mechanism {
    let palm = at(0.0, 0.0, -0.3);
    let mut bodies = vec![part("Box", 0.5, Pose::IDENTITY, Some(DVec3::splat(0.06)))];
    let finger = |name: &str, x: f64| part(name, 0.06, palm.then(&at(x, 0.0, 0.08)), Some(DVec3::new(0.01, 0.02, 0.1)));
    let gripper = [
        Body { fixed: true, ..part("Rail", 1.0, palm, None) },
        part("X", 0.05, palm, None),
        part("Y", 0.05, palm, None),
        part("Palm", 0.9, palm, Some(DVec3::new(0.16, 0.06, 0.05))),
        finger("Left", -HALF_OPENING - 0.005),
        finger("Right", HALF_OPENING + 0.005),
    ];
    bodies.extend(gripper.map(|body| Body { robot: Some(RobotId::new(0)), ..body }));
    let slider = |name: &str, parent: usize, child: usize, along: DVec3, free: FreeAxis| Joint {
        name: name.into(),
        robot: Some(RobotId::new(0)),
        frame: DQuat::from_rotation_arc(DVec3::Z, along),
        axes: [Axis::Locked, Axis::Locked, Axis::Free(free)],
        ..Joint::new(JointKind::Slider, BodyId::new(parent), BodyId::new(child), palm.translation)
    };
    let jaw = FreeAxis { lower: 0.0, upper: HALF_OPENING, max_rate: 0.1, ..FreeAxis::default() };
    let joints = vec![
        slider("SlideX", 1, 2, DVec3::X, FreeAxis::default()),
        slider("SlideY", 2, 3, DVec3::Y, FreeAxis::default()),
        slider("SlideZ", 3, 4, DVec3::Z, FreeAxis::default()),
        slider("Left", 4, 5, DVec3::X, jaw),
        slider("Right", 4, 6, DVec3::NEG_X, jaw),
    ];
    let (name, source) = (String::from("Gripper"), String::new());
    let coupling = Coupling { leader: axis(3), follower: axis(4), ratio: 1.0, offset: 0.0, source: source.clone() };
    Mechanism {
        gravity,
        robots: vec![Robot { name: name.clone(), model: name, self_collision: false, source }],
        bodies,
        joints,
        couplings: vec![coupling],
        ..Mechanism::default()
    }
}

/// The scene of the box, the jaws and their task after a change to the mechanism and the task.
pub(crate) fn scene_with(gravity: DVec3, change: impl FnOnce(&mut Mechanism, &mut GraspTask)) -> Scene {
    let mut mechanism = box_and_jaws(gravity);
    let mut task = GraspTask {
        name: "box".into(),
        object: BodyId::new(0),
        gripper: RobotId::new(0),
        tool: BodyId::new(4),
        tcp: at(0.0, 0.0, 0.12),
        fingers: vec![Finger { axis: axis(3), open: 0.0, closed: HALF_OPENING, max_effort: 40.0 }],
        suction: None,
        approach: DVec3::Z * 0.05,
        retract: DVec3::Y * 0.1,
        acceleration: DVec3::NEG_Y * 9.81,
        drive: Drive { kind: DriveKind::Kinematic, speed: 0.5, acceleration: 1.0 },
        conditions: Conditions { rest_time: 0.2, ..Conditions::default() },
        sampling: Sampling {
            mode: SamplingMode::Surface,
            distance: [0.0, 0.0],
            rotation_fault: false,
            tilt: 1.0,
            approach: None,
            friction: 0.5,
            opening: 0.1,
        },
        targets: Vec::new(),
        timestep: Timestep::MILLISECOND,
    };
    change(&mut mechanism, &mut task);
    Scene::new(mechanism, task).unwrap()
}

/// The same scene without gravity or ground, after a change to the task.
fn scene(change: impl FnOnce(&mut GraspTask)) -> Scene {
    scene_with(DVec3::ZERO, |_, task| change(task))
}

/// The motor's 40 N press each of the coupled jaws with 20 N, so friction holds mu (20 N + 20 N) = 20 N along the
/// faces. This accelerates 0.5 kg by up to 40 m/s².
#[test]
fn friction_holds_what_statics_says_and_no_more() {
    for (acceleration, expected) in [(9.81, true), (36.0, true), (42.0, false)] {
        // At a target 3 cm further along z the jaws cover the whole faces of the box.
        let found = scene(|task| task.acceleration = DVec3::NEG_Y * acceleration).run(&at(0.0, 0.0, 0.03)).unwrap();
        let pressed: f64 = found.contacts.iter().map(|contact| contact.normal_force).sum();
        assert!((pressed - 40.0).abs() < 1e-3, "{pressed}");
        assert_eq!(found.status == Status::Success, expected, "{acceleration}: {:?} {:?}", found.status, found.slip);
        if expected {
            // Friction also carries the 1 m/s² at which the lift begins, and a held box does not creep.
            assert!(found.slip.unwrap() < 1e-6, "{:?}", found.slip);
            assert!((found.fingers[0] - (HALF_OPENING - 0.03)).abs() < 1e-5, "{:?}", found.fingers);
            let quality = found.quality.unwrap();
            assert!(quality.epsilon > 0.0 && quality.centroid > 0.5, "{quality:?}");
        }
    }
}

/// Triangles of a block, counter-clockwise as seen from outside. Each bit of a corner's number is the sign of one
/// coordinate.
const BLOCK: [[u32; 3]; 12] = [
    [0, 4, 6],
    [0, 6, 2],
    [1, 3, 7],
    [1, 7, 5],
    [0, 1, 5],
    [0, 5, 4],
    [2, 6, 7],
    [2, 7, 3],
    [0, 2, 3],
    [0, 3, 1],
    [4, 5, 7],
    [4, 7, 6],
];

fn sign(bits: u32) -> f64 {
    if bits & 1 == 1 { 1.0 } else { -1.0 }
}

/// Each fault of a task gives its status: for example, a hand that closes beside the box misses it, and a task that
/// begins with the hand inside of the box does not run.
#[test]
fn what_goes_wrong_has_its_status() {
    let status = |target: Pose| scene(|_| {}).run(&target).unwrap().status;
    assert_eq!(status(at(0.0, 0.2, 0.0)), Status::ObjectMissed);
    // The approach begins 5 cm before this target, where a finger overlaps the box.
    assert_eq!(status(at(0.05, 0.0, 0.05)), Status::CollisionObjectInitially);
    let late = scene(|task| task.conditions.time_limit = 0.3).run(&Pose::IDENTITY).unwrap();
    assert_eq!((late.status, late.cause.is_some()), (Status::TimeOut, true));
    let short = scene(|task| task.conditions.step_limit = 100).run(&Pose::IDENTITY).unwrap();
    assert_eq!((short.status, short.times.steps), (Status::TimeOut, 100));
    // The gripper comes from below, so it begins inside of the ground.
    let plane = Plane { normal: DVec3::Y, distance: -0.03, material: Material::default() };
    let on_ground = scene_with(DVec3::NEG_Y * 9.81, |mechanism, _| mechanism.grounds = vec![Ground::from(plane)]);
    let from_below = Pose { rotation: DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2), ..Pose::IDENTITY };
    assert_eq!(on_ground.run(&from_below).unwrap().status, Status::CollisionEnvironmentInitially);
    // The block of triangles is so large that both fingers and the palm are completely inside.
    let block = scene_with(DVec3::ZERO, |mechanism, _| {
        let half = DVec3::splat(0.5);
        let vertices = (0..8).map(|k| half * DVec3::new(sign(k), sign(k >> 1), sign(k >> 2))).collect();
        let triangles = BLOCK.to_vec();
        let placed = Placed { pose: Pose::IDENTITY, shape: Shape::TriangleMesh { vertices, triangles } };
        mechanism.bodies[0].shape = Some(placed);
    });
    assert_eq!(block.run(&Pose::IDENTITY).unwrap().status, Status::CollisionObjectInitially);
    assert_ne!(block.run(&at(0.0, 0.0, -2.0)).unwrap().status, Status::CollisionObjectInitially);
    let away = scene(|task| {
        task.acceleration = DVec3::NEG_Y * 1e4;
        task.conditions.farthest = 1.0;
        task.retract = DVec3::Y;
    });
    let lost = away.run(&Pose::IDENTITY).unwrap();
    assert_eq!(lost.status, Status::SimulationFailure, "{lost:?}");
    assert!(lost.cause.unwrap().contains("from where it began"));
    let dropped = scene(|task| task.acceleration = DVec3::NEG_Y * 200.0).run(&Pose::IDENTITY).unwrap();
    assert_eq!(dropped.status, Status::ObjectDropped);
}

/// With both kinds of drive the gripper lifts the box from a table, from above, against gravity. The spring of the
/// dynamic drive carries the gripper's weight; only the box's weight makes it sag, by m g / k.
#[test]
fn both_drives_lift_a_box_off_a_table() {
    let plane = Plane { normal: DVec3::Y, distance: -0.03, material: Material::default() };
    let from_above = Pose { rotation: DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2), ..at(0.0, 0.01, 0.0) };
    for kind in [DriveKind::Kinematic, DriveKind::Dynamic { bandwidth: 20.0 }] {
        let scene = scene_with(DVec3::NEG_Y * 9.81, |mechanism, task| {
            mechanism.grounds = vec![Ground::from(plane)];
            task.acceleration = DVec3::ZERO;
            task.drive.kind = kind;
        });
        let found = scene.run(&from_above).unwrap();
        assert_eq!(found.status, Status::Success, "{kind:?}: {found:?}");
        assert!(found.slip.unwrap() < 1e-5, "{:?}", found.slip);
        // The motor of the jaws is at its limit, which is an event; there are no other events.
        assert!(found.notices.keys().all(|check| check == "Motor"), "{:?}", found.notices);
    }
}

/// The tool reaches the target for any rotation of the gripper's base in the world and any rotation of the target.
#[test]
fn the_tool_goes_where_the_target_is() {
    let mut stream = simpartner_model::random::Stream::from_number(5);
    for _ in 0..10 {
        let mut angle = || 6.0 * stream.uniform() - 3.0;
        let turned = Pose::from_xyz_rpy(DVec3::new(0.1, -0.2, 0.05), DVec3::new(angle(), angle() / 2.0, angle()));
        let target = Pose::from_xyz_rpy(DVec3::new(0.0, 0.0, 0.4), DVec3::new(angle(), angle() / 2.0, angle()));
        let scene = scene_with(DVec3::ZERO, |mechanism, _| {
            for body in &mut mechanism.bodies[1..] {
                body.pose = turned.then(&body.pose);
            }
            for joint in &mut mechanism.joints {
                joint.anchor = turned.point(joint.anchor);
                joint.frame = (turned.rotation * joint.frame).normalize();
            }
        });
        let found = scene.run(&target).unwrap();
        assert_eq!(found.status, Status::ObjectMissed);
        let [x, y, z, ..] = found.approach.unwrap();
        // The box is at the origin, so its pose in the tool's frame is the inverse of the target, within the tolerance
        // of arrival.
        let expected = target.inverse().translation;
        assert!(DVec3::new(x, y, z).distance(expected) < 0.002, "{found:?}");
    }
}

/// A kinematic hand follows its ramp at the end of every step. At 1 m/s² it moves (k - 1/2) 1e-6 m in step k of 1 ms,
/// along z only. The engine of a task gives the same result as the task itself.
#[test]
fn a_kinematic_hand_follows_its_ramp_exactly() {
    let scene = Arc::new(scene(|_| {}));
    let mut engine = TaskEngine::new(Arc::clone(&scene), &Pose::IDENTITY).unwrap();
    let palm = BodyId::new(4);
    let mut before = engine.body(palm).pose.translation;
    for step in 1..=150 {
        engine.step();
        let now = engine.body(palm).pose.translation;
        let moved = now - before;
        assert!(moved.distance(DVec3::Z * 1e-6 * (f64::from(step) - 0.5)) < 1e-10, "{step}: {moved}");
        before = now;
    }
    let alone = scene.run(&Pose::IDENTITY).unwrap();
    for _ in 150..alone.times.steps {
        engine.step();
    }
    let tool = engine.body(palm).pose.then(&scene.task().tcp);
    let object = tool.inverse().then(&engine.body(BodyId::new(0)).pose);
    assert_eq!(alone.lift, Some(object.to_array()));
}

/// The same target gives a bit-identical outcome, and contacts are sorted by decreasing normal force.
#[test]
fn a_task_repeats_bit_for_bit() {
    let scene = scene(|_| {});
    let target = Pose::from_xyz_rpy(DVec3::new(0.002, 0.004, -0.003), DVec3::new(0.1, 0.05, -0.2));
    let [first, second] = [(); 2].map(|()| scene.run(&target).unwrap());
    assert_eq!(first, second);
    assert!(first.contacts.len() >= 2);
    assert!(first.contacts.windows(2).all(|pair| pair[0].normal_force >= pair[1].normal_force));
}

/// A suction cup of 25 N holds 0.5 kg below it, with 25 N - 4.9 N to spare, and 2 kg, but not 5 kg.
#[test]
fn a_suction_cup_holds_less_than_its_force() {
    for (mass, expected) in [(0.5, Status::Success), (2.0, Status::Success), (5.0, Status::ObjectDropped)] {
        let scene = scene_with(DVec3::ZERO, |mechanism, task| {
            mechanism.bodies[0].mass = mass;
            task.fingers.clear();
            // The face of the palm is the cup.
            task.tcp = at(0.0, 0.0, 0.025);
            task.suction = Some(Suction { cup: BodyId::new(4), force: 25.0, points: 3 });
            // The fingers have no shape, so that they do not touch the box.
            mechanism.bodies[5].shape = None;
            mechanism.bodies[6].shape = None;
            task.retract = DVec3::Y * 0.1;
        });
        let from_above = Pose { rotation: DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2), ..at(0.0, 0.03, 0.0) };
        let found = scene.run(&from_above).unwrap();
        assert_eq!(found.status, expected, "{mass} kg: {found:?}");
    }
}

/// A gripper that cannot move along straight lines is refused, with a message that tells what it needs.
#[test]
fn a_gripper_without_slides_is_refused() {
    let refused = |change: fn(&mut Mechanism)| {
        let made = std::panic::catch_unwind(|| scene_with(DVec3::ZERO, |mechanism, _| change(mechanism)));
        let text = *made.err().expect("it is refused").downcast::<String>().unwrap();
        assert!(text.contains("Gripper("), "{text}");
    };
    refused(|mechanism| mechanism.bodies[1].fixed = false);
    refused(|mechanism| mechanism.joints[0].axes[2] = Axis::Locked);
    refused(|mechanism| mechanism.joints[1].frame = mechanism.joints[0].frame);
}
