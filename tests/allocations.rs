//! A step allocates nothing once its buffers have grown.
//!
//! Buffers grow when they must hold more than ever before (contacts, an island's rows, pending commands), and
//! exceptional results have their own memory (an event, a snapshot). So a motion that is repeated from the same
//! snapshot allocates and frees nothing in any of its steps. This holds on one thread; with more, the thread pool
//! allocates for its jobs.
//!
//! The allocator of this binary counts. To find the origin of an allocation, replace it by `dhat::Alloc` (`cargo add
//! --dev dhat`), which records backtraces.

#[path = "it/scene.rs"]
#[expect(dead_code, reason = "the other test binary uses the rest")]
mod scene;

use std::{path::Path, sync::Arc};

use allocation_counter::{AllocationInfo, measure};
use bevy_math::{DQuat, DVec3};
use simpartner::sim::Simulation;
use simpartner_description::{World, xml};
use simpartner_dynamics::{DynamicsSettings, Engine, Motor, Settings};
use simpartner_model::{
    Axis, Body, DeviceId, FreeAxis, Joint, JointId, JointKind, Material, Pose, Shape, StepIndex, Timestep,
};
use simpartner_wire::{
    protocol,
    signal::{ClientId, Command, Reservation, StepRecord},
};

use self::scene::{as_robot, ball, body, cube, hills, joint, with_plane, world};

/// Makes a motion twice from the same snapshot: the first time the buffers grow, the second time no step may allocate
/// or free. A step that reports an event allocates its text, and the step after it frees it.
fn repeat(world: &World, settings: &Settings, steps: usize, act: impl Fn(&mut dyn Engine, usize)) {
    let mut engine =
        simpartner_dynamics::build(&world.mechanism, Timestep::MILLISECOND, settings).expect("it can be built");
    let start = engine.snapshot();
    let (mut contacts, mut measured) = (0, 0);
    for round in 0..2 {
        engine.restore(&start).expect("it is a snapshot of this engine");
        for step in 0..steps {
            act(&mut *engine, step);
            let had_events = !engine.step_events().is_empty();
            let info = measure(|| engine.step());
            contacts = contacts.max(engine.contacts().len());
            if round == 1 && !had_events && engine.step_events().is_empty() {
                measured += 1;
                assert_eq!(info, AllocationInfo::default(), "step {step}, {} contacts", engine.contacts().len());
            }
        }
    }
    println!("{measured} of {steps} steps without events, {contacts} contacts at most");
    assert!(measured > steps / 2, "hardly a step is an ordinary one");
}

fn idle(_: &mut dyn Engine, _: usize) {}

#[test]
fn the_allocator_counts() {
    assert_eq!(measure(|| drop(std::hint::black_box(Box::new(1)))).count_total, 1);
}

/// Every pair of shapes meets: they fall into a heap on hills, and roll apart.
#[test]
fn shapes_that_fall_in_a_heap() {
    let mut world = hills();
    let shapes = every_shape();
    for layer in 0..2 {
        for (place, shape) in shapes.iter().enumerate() {
            let at = DVec3::new(0.22 * (place % 3) as f64, 1.0 + 0.3 * f64::from(layer), 0.22 * (place / 3) as f64);
            let name = format!("{layer} {place}");
            let material =
                Material { friction: 0.5, rolling_friction: 0.01, torsional_friction: 0.01, ..Material::default() };
            world.mechanism.bodies.push(Body { material, ..body(&name, 1.0, Some(shape.clone()), at) });
        }
    }
    repeat(&world, &Settings::default(), 1200, idle);
}

/// A ball, box, cylinder, capsule, cone, hull and mesh of about 20 cm.
fn every_shape() -> Vec<Shape> {
    let corners: Vec<DVec3> =
        (0..8).map(|k| DVec3::new(f64::from(k & 1), f64::from(k >> 1 & 1), f64::from(k >> 2)) * 0.2 - 0.1).collect();
    let triangles = vec![
        [0, 2, 3],
        [0, 3, 1],
        [4, 5, 7],
        [4, 7, 6],
        [0, 1, 5],
        [0, 5, 4],
        [2, 6, 7],
        [2, 7, 3],
        [0, 4, 6],
        [0, 6, 2],
        [1, 3, 7],
        [1, 7, 5],
    ];
    vec![
        Shape::Sphere { radius: 0.1 },
        Shape::Box { size: DVec3::splat(0.2) },
        Shape::Ellipsoid { radii: DVec3::new(0.1, 0.08, 0.12) },
        Shape::Cylinder { radius: 0.1, length: 0.2 },
        Shape::Capsule { radius: 0.08, length: 0.1 },
        Shape::Cone { radius: 0.1, length: 0.2 },
        Shape::ConvexHull { points: corners.iter().map(|corner| *corner * 1.1).collect() },
        Shape::TriangleMesh { vertices: corners, triangles },
    ]
}

/// Ten boxes are stacked and at rest; a ball hits them.
#[test]
fn a_stack_that_is_hit() {
    let mut world = with_plane(world(), 0.6);
    for layer in 0..10 {
        world.mechanism.bodies.push(body(
            &format!("box {layer}"),
            1.0,
            cube(0.2),
            DVec3::Y * (0.1 + 0.2 * f64::from(layer)),
        ));
    }
    let mut thrown = body("ball", 2.0, ball(0.15), DVec3::new(-3.0, 1.5, 0.0));
    (thrown.linear_velocity, thrown.material.restitution) = (DVec3::X * 6.0, 0.5);
    world.mechanism.bodies.push(thrown);
    repeat(&world, &Settings::default(), 1500, idle);
}

/// Bodies at rest sleep, and wake up when they are hit.
#[test]
fn sleepers_that_are_woken() {
    let mut world = with_plane(world(), 0.6);
    for place in 0..5 {
        world.mechanism.bodies.push(body(
            &format!("box {place}"),
            1.0,
            cube(0.2),
            DVec3::new(0.4 * f64::from(place), 0.1, 0.0),
        ));
    }
    world.mechanism.bodies.push(body("ball", 2.0, ball(0.15), DVec3::new(0.05, 5.0, 0.0)));
    repeat(&world, &Settings { auto_disable: true, ..Settings::default() }, 2000, idle);
}

/// Balls and boxes that bounce against each other keep the solver's rule of energy busy.
#[test]
fn what_bounces() {
    let mut world = with_plane(world(), 0.4);
    for place in 0..8 {
        let shape = if place % 2 == 0 { ball(0.1) } else { cube(0.2) };
        let mut thrown = body(
            &format!("{place}"),
            1.0,
            shape,
            DVec3::new(0.05 * f64::from(place), 0.5 + 0.3 * f64::from(place), 0.0),
        );
        thrown.material = Material { friction: 0.4, restitution: 0.7, ..Material::default() };
        world.mechanism.bodies.push(thrown);
    }
    repeat(&world, &Settings::default(), 1500, idle);
}

/// A crank and a rocker: four bars with one loop joint, with these laws of all joints and of the rod's end.
fn crank_and_rocker(losses: FreeAxis, end: FreeAxis) -> World {
    let mut world = world();
    let bar = |name: &str, length: f64, at: DVec3| Body {
        pose: Pose { translation: at, rotation: DQuat::IDENTITY },
        ..body(name, 1.0, Some(Shape::Box { size: DVec3::new(length, 0.02, 0.02) }), at)
    };
    world.mechanism.bodies.push(Body { fixed: true, ..bar("ground", 1.0, DVec3::new(0.5, 0.0, 0.0)) });
    world.mechanism.bodies.push(bar("crank", 0.3, DVec3::new(0.15, 0.0, 0.0)));
    world.mechanism.bodies.push(bar("rod", 0.9, DVec3::new(0.75, 0.0, 0.0)));
    world.mechanism.bodies.push(bar("rocker", 0.2, DVec3::new(1.1, 0.0, 0.0)));
    let hinge = |name: &str, parent: usize, child: usize, x: f64, law: FreeAxis| Joint {
        axes: [Axis::Locked, Axis::Locked, Axis::Free(law)],
        ..joint(name, JointKind::Hinge, parent, child, DVec3::new(x, 0.0, 0.0))
    };
    world.mechanism.joints.push(hinge("first", 0, 1, 0.0, losses));
    world.mechanism.joints.push(hinge("second", 1, 2, 0.3, losses));
    world.mechanism.joints.push(hinge("third", 2, 3, 1.2, end));
    world.mechanism.joints.push(hinge("fourth", 0, 3, 1.0, losses));
    world
}

/// The crank has a motor, and the rod's end stops that it hits.
#[test]
fn a_loop_with_motor_and_stops() {
    let losses = FreeAxis { friction: 0.01, damping: 0.01, ..FreeAxis::default() };
    let stops = FreeAxis { lower: -0.3, upper: 0.3, ..losses };
    repeat(&crank_and_rocker(losses, stops), &Settings::default(), 1500, |engine, step| {
        let target = if step / 300 % 2 == 0 { 3.0 } else { -3.0 };
        for joint in 0..4 {
            engine.set_motor(JointId::new(joint), 2, Motor::Velocity { target, max_effort: 2.0 });
        }
    });
}

/// After a push by its motor it swings freely, with a spring and a rotor.
#[test]
fn a_loop_that_moves_freely() {
    let law = FreeAxis { damping: 0.001, stiffness: 0.5, armature: 0.01, ..FreeAxis::default() };
    let world = as_robot(crank_and_rocker(law, law));
    repeat(&world, &Settings::default(), 1500, |engine, step| {
        let push = Motor::Velocity { target: 3.0, max_effort: 2.0 };
        engine.set_motor(JointId::new(0), 2, if step < 100 { push } else { Motor::Off });
    });
}

/// A chain of three rods turns too fast for a whole step, in at least two parts.
#[test]
fn what_turns_fast() {
    let mut world = world();
    world.mechanism.bodies.push(Body { fixed: true, ..body("post", 1.0, None, DVec3::ZERO) });
    for link in 0..3 {
        let at = DVec3::new(0.1 + 0.2 * f64::from(link), 0.0, 0.0);
        world.mechanism.bodies.push(body(
            &format!("rod {link}"),
            0.3,
            Some(Shape::Box { size: DVec3::new(0.2, 0.02, 0.02) }),
            at,
        ));
        let (parent, anchor) = (link as usize, DVec3::new(0.2 * f64::from(link), 0.0, 0.0));
        world.mechanism.joints.push(joint(&format!("{link}"), JointKind::Hinge, parent, parent + 1, anchor));
    }
    let dynamics = DynamicsSettings { turn_per_substep_rad: 0.01, ..DynamicsSettings::default() };
    repeat(&world, &Settings { substeps: 2, dynamics, ..Settings::default() }, 1000, |engine, _| {
        engine.set_motor(JointId::new(0), 2, Motor::Effort(3.0));
    });
}

/// The built-in robots: wheels and legs on hills.
#[test]
fn a_robot_that_drives_over_hills() {
    let mut world = xml::read_world(Path::new("worlds/flat.xml")).unwrap();
    world.mechanism.grounds = hills().mechanism.grounds;
    let wheels: Vec<JointId> =
        world.mechanism.joints().filter(|(_, joint)| joint.name.starts_with("Axle")).map(|(id, _)| id).collect();
    assert!(!wheels.is_empty());
    repeat(&world, &Settings::default(), 1500, |engine, _| {
        for &wheel in &wheels {
            (0..3).for_each(|axis| engine.set_motor(wheel, axis, Motor::Velocity { target: 2.0, max_effort: 100.0 }));
        }
    });
}

/// A complete simulation: devices, commands for the next step and for later ones, and the record.
#[test]
fn a_simulation_with_commands_and_a_record() {
    for (file, sequence) in [("worlds/flat.xml", "robots/straight.xml"), ("worlds/scanner.xml", "robots/scanner.xml")] {
        let world = Arc::new(xml::read_world(Path::new(file)).unwrap());
        let mut simulation = Simulation::new(Arc::clone(&world), Timestep::MILLISECOND, Settings::default()).unwrap();
        let timeline = xml::read_sequence(Path::new(sequence)).unwrap().timeline(Timestep::MILLISECOND);
        simulation.schedule(&timeline).unwrap();
        let mut record = StepRecord::new(simulation.layout());
        let device =
            simulation.layout().devices().iter().position(|info| info.kind.command_lengths().contains(&6)).unwrap();
        for step in 1..=3000 {
            // As the publisher does, on its own thread.
            record.commands.clear();
            record.events.clear();
            let commands = [None, Some(StepIndex(step + 5))].map(|at| command(&simulation, device, at));
            let info = measure(|| {
                commands.into_iter().for_each(|command| simulation.submit(command));
                simulation.step(&mut record);
            });
            if step > 1000 && record.events.is_empty() {
                assert!(record.commands.len() >= 2, "{file}: step {step} has {} commands", record.commands.len());
                assert_eq!(info, AllocationInfo::default(), "{file}: step {step}");
            }
        }
    }
}

/// A command that does not change the first actuator's motor.
fn command(simulation: &Simulation, device: usize, at: Option<StepIndex>) -> Command {
    let info = &simulation.layout().devices()[device];
    let text = "1000,1000,100,0,0,1".to_owned();
    Command {
        target: DeviceId::new(device).into(),
        at,
        client: ClientId(1),
        sequence: 0,
        action: protocol::command(info, &text).expect("it is a command of the device"),
        text,
        memory: Reservation::default(),
    }
}
