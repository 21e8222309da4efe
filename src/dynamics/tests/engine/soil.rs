//! Wheels and feet on soil.
//!
//! ```text
//! a wheel at a given slip        sinkage, pull and torque of Wong and Reece's integrals (`simpartner_dynamics::soil`)
//! a wheel on a slope             stays where it is, by the shear stress that it has mobilised
//! any closed way through soil    takes energy and gives none
//! a foot of area A               (kc/b + kphi) zⁿ A = W
//! ```

mod coast;
mod drive;
mod drops;
mod energy;
mod parked;

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{
    Engine, Motor,
    soil::{Pressure, SteadyWheel, shear_strength},
};
use simpartner_model::{
    Axis, Body, BodyId, FreeAxis, GroundMesh, JointId, JointKind, Material, Placed, Plane, Pose, Shape, Soil,
};

use super::{G, build, run, steps};
use crate::{
    scene::{self, body, joint},
    six_wheels,
    worlds::Chance,
};

const RADIUS: f64 = 0.09;
const WIDTH: f64 = 0.11;
/// Of a wheel of 64.68 N.
const MASS: f64 = 64.68 / G;

fn soil(name: &str) -> Soil {
    Soil::named(name).unwrap()
}

/// Level ground of soil.
fn ground(soil: Soil) -> World {
    let mut world = scene::world();
    let material = Material { soil: Some(soil), ..Material::default() };
    world.mechanism.grounds = vec![Plane { normal: DVec3::Y, distance: 0.0, material }.into()];
    world
}

/// A cylinder whose axle is the world's z, at a height.
fn wheel(height: f64) -> Body {
    let pose = Pose { rotation: DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2), ..Pose::default() };
    let shape = Shape::Cylinder { radius: RADIUS, length: WIDTH };
    let mut wheel = body("wheel", MASS, None, DVec3::Y * height);
    wheel.shape = Some(Placed { pose, shape });
    wheel
}

/// A wheel that a rig moves along x and turns, free to sink.
fn rig(soil: Soil) -> World {
    let mut world = ground(soil);
    world.mechanism.bodies = vec![body("post", 1.0, None, DVec3::ZERO), wheel(RADIUS)];
    world.mechanism.bodies[0].fixed = true;
    world.mechanism.joints = vec![joint("rig", JointKind::Planar, 0, 1, DVec3::Y * RADIUS)];
    world
}

/// Rolls towards -x at a speed with a slip.
fn roll(engine: &mut dyn Engine, speed: f64, slip: f64) {
    engine.set_motor(JointId::new(0), 0, Motor::Velocity { target: -speed, max_effort: 1e6 });
    engine.set_motor(JointId::new(0), 2, Motor::Velocity { target: speed / (RADIUS * (1.0 - slip)), max_effort: 1e6 });
}

#[test]
fn a_wheel_at_a_given_slip_has_the_forces_of_the_closed_form() {
    for name in ["drySand", "sandyLoam", "clay", "lunar", "lunarSimulant", "regolithSimulant"] {
        for slip in [0.2, 0.4, 0.6] {
            let soil = soil(name);
            let form =
                SteadyWheel { radius: RADIUS, width: WIDTH, shear_radius: RADIUS, slip, slip_angle: 0.0, gravity: G };
            let (sinkage, forces) = form.under_load(&soil, MASS * G).unwrap();
            let h = 0.001;
            let mut engine = build(&rig(soil), h);
            roll(&mut *engine, 0.1, slip);
            run(&mut *engine, h, 8.0);
            let [mut pull, mut torque, mut depth] = [0.0; 3];
            let count = steps(h, 1.0);
            for _ in 0..count {
                engine.step();
                let state = engine.joint(JointId::new(0));
                pull += state.effort[0] / count as f64;
                torque += state.effort[2] / count as f64;
                depth -= state.position[1] / count as f64;
            }
            println!(
                "{name} {slip}: {:.3} mm, closed {:.3}; {pull:.3} N, closed {:.3}; {torque:.4} N m, closed {:.4}",
                1e3 * depth,
                1e3 * sinkage,
                forces.drawbar_pull,
                forces.torque
            );
            // A thousandth of the load, three of the torque, and the rest of the wheel's initial settling after 8 s.
            assert!((depth / sinkage - 1.0).abs() < 2.5e-3, "{name} {slip}: {depth}, not {sinkage}");
            assert!((pull - forces.drawbar_pull).abs() < 1e-3 * MASS * G, "{name} {slip}: {pull}");
            assert!((torque / forces.torque - 1.0).abs() < 3e-3, "{name} {slip}: {torque}");
        }
    }
}

/// Ground of soil that is inclined by an angle towards +x.
fn slope(soil: Soil, angle: f64) -> World {
    let mut world = ground(soil);
    let material = *world.mechanism.grounds[0].material();
    let normal = DVec3::new(angle.sin(), angle.cos(), 0.0);
    world.mechanism.grounds = vec![Plane { normal, distance: 0.0, material }.into()];
    world
}

/// A rover of six wheels drives over sand: all of them carry, with some slip, and its belly stays in the air.
#[test]
fn a_rover_of_six_wheels_drives_over_sand() {
    let mut world = ground(soil("drySand"));
    let rover = six_wheels::add(&mut world, DVec3::ZERO, DQuat::IDENTITY);
    let h = 0.001;
    let mut engine = build(&world, h);
    rover.drive(&mut *engine, 0.1 / six_wheels::WHEEL_RADIUS);
    run(&mut *engine, h, 10.0);
    let chassis = engine.body(rover.chassis);
    println!("{:?}, {:?}", chassis.pose.translation, chassis.linear_velocity);
    let mut weight = 0.0;
    for &wheel in &rover.wheels {
        let soil = engine.soil_reading(wheel).unwrap();
        println!("{soil:?}");
        assert!(soil.normal_force > 100.0 && soil.slip > 0.0 && soil.slip < 0.7, "{soil:?}");
        weight += soil.normal_force;
    }
    // Further sinking and swinging are below a hundredth.
    assert!((weight / (six_wheels::MASS * G) - 1.0).abs() < 0.01, "{weight} N");
    assert!(chassis.pose.translation.y > 0.45 && chassis.linear_velocity.x > 0.02, "{chassis:?}");
    assert_eq!(engine.contacts().len(), 6);
}

/// A box settles at the depth of the plate law, and a second one of the same weight beside it at the same depth.
#[test]
fn a_foot_sinks_by_the_plate_law() {
    for name in ["drySand", "clay", "lunar"] {
        let soil = soil(name);
        let mut world = ground(soil);
        let (side, mass) = (0.2, 30.0);
        let size = DVec3::new(side, 0.1, side);
        world.mechanism.bodies.push(body("post", 1.0, None, DVec3::ZERO));
        world.mechanism.bodies[0].fixed = true;
        world.mechanism.bodies.push(body("foot", mass, Some(Shape::Box { size }), DVec3::Y * 0.05));
        let mut lift = joint("lift", JointKind::Slider, 0, 1, DVec3::ZERO);
        lift.frame = DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2);
        // Damped so much that it does not swing beyond.
        lift.axes[2] = Axis::Free(FreeAxis { damping: 5e4, ..lift.axes[2].free().copied().unwrap() });
        world.mechanism.joints.push(lift);
        let mut engine = build(&world, 0.001);
        run(&mut *engine, 0.001, 20.0);
        let depth = 0.05 - engine.body(BodyId::new(1)).pose.translation.y;
        let pressure = mass * G / (side * side);
        let closed = (pressure / soil.modulus(side, G)).powf(1.0 / soil.exponent);
        println!("{name}: {:.3} mm, closed {:.3}", 1e3 * depth, 1e3 * closed);
        assert!((depth / closed - 1.0).abs() < 0.01, "{name}: {depth} m, not {closed}");
    }
}

/// A flat triangle mesh is the same soil as a plane, for any position of its edges.
#[test]
fn flat_triangles_are_soil_as_a_plane_is() {
    let h = 0.001;
    let rolls = |world: &World| {
        let mut engine = build(world, h);
        roll(&mut *engine, 0.1, 0.3);
        run(&mut *engine, h, 3.0);
        (engine.soil_reading(BodyId::new(1)).unwrap(), engine.ruts(0))
    };
    let mut world = rig(soil("lunar"));
    let (plane, ruts) = rolls(&world);
    let material = *world.mechanism.grounds[0].material();
    let corner = |x: f64, z: f64| DVec3::new(x, 0.0, z);
    let vertices = vec![corner(-3.0, -2.0), corner(2.0, -3.0), corner(3.0, 2.0), corner(-2.0, 3.0), corner(0.03, 0.01)];
    let triangles = vec![[0, 4, 1], [1, 4, 2], [2, 4, 3], [3, 4, 0]];
    world.mechanism.grounds = vec![GroundMesh { vertices, triangles, material }.into()];
    let (mesh, ruts_of_mesh) = rolls(&world);
    println!("{plane:?}\n{mesh:?}");
    // The wheel swings, and each step is solved to 1e-4 of the load.
    let (depth, pull) = (mesh.sinkage / plane.sinkage - 1.0, mesh.drawbar_pull - plane.drawbar_pull);
    assert!(depth.abs() < 1e-3 && pull.abs() < 1e-3 * MASS * G, "{depth} of the sinkage, {pull} N");
    // The ruts are in the same cells; where the wheel was lowered and swung, their depths agree to a fiftieth.
    assert!(ruts.len() > 200 && ruts.len() == ruts_of_mesh.len(), "{} {}", ruts.len(), ruts_of_mesh.len());
    for (one, other) in ruts.iter().zip(&ruts_of_mesh) {
        assert!(one.centre == other.centre && (other.depth / one.depth - 1.0).abs() < 0.02, "{one:?} {other:?}");
    }
}

/// On any closed path of a foot, soil absorbs more energy than it returns.
#[test]
fn no_closed_way_through_soil_gives_energy() {
    let h = 0.001;
    for seed in 0..12 {
        let mut chance = Chance(seed);
        let name = Soil::NAMED[seed as usize % Soil::NAMED.len()].name;
        let mut engine = build(&rig(soil(name)), h);
        let mut work = 0.0;
        for _ in 0..20 {
            let ways = [chance.between(-0.05, 0.05), chance.between(-0.02, 0.02), chance.between(-0.5, 0.5)];
            // There and back.
            for sign in [1.0, -1.0] {
                for (axis, way) in ways.into_iter().enumerate() {
                    let target = sign * way / 0.1;
                    engine.set_motor(JointId::new(0), axis, Motor::Velocity { target, max_effort: 1e6 });
                }
                for _ in 0..100 {
                    engine.step();
                    let body = engine.body(BodyId::new(1));
                    work += h * (body.force.dot(body.linear_velocity) + body.torque.dot(body.angular_velocity));
                }
            }
        }
        println!("{name}: {work:.3} J");
        assert!(work < 0.0, "{name}, seed {seed}: {work} J");
    }
}

/// A run that is restored from a snapshot continues with the same bits.
#[test]
fn a_snapshot_holds_the_soil() {
    let h = 0.001;
    let mut engine = build(&rig(soil("marsSand")), h);
    roll(&mut *engine, 0.1, 0.3);
    run(&mut *engine, h, 1.0);
    let saved = engine.snapshot();
    let go_on = |engine: &mut dyn Engine| {
        run(engine, h, 0.5);
        engine.body(BodyId::new(1)).pose.translation
    };
    let first = go_on(&mut *engine);
    let mut other = build(&rig(soil("marsSand")), h);
    other.restore(&saved).unwrap();
    assert_eq!(first, go_on(&mut *other));
    let mut firm = rig(soil("marsSand"));
    firm.mechanism.grounds[0].material_mut().soil = None;
    assert!(build(&firm, h).restore(&saved).is_err(), "firm ground has no ruts");
}

/// Forces on the rig as the closed form has them, means over a second after `before` seconds.
fn measure(engine: &mut dyn Engine, before: f64) -> [f64; 4] {
    let h = 0.001;
    run(engine, h, before);
    let mut sums = [0.0; 4];
    let count = steps(h, 1.0);
    for _ in 0..count {
        engine.step();
        let soil = engine.soil_reading(BodyId::new(1)).unwrap();
        let figures = [soil.sinkage, soil.drawbar_pull, soil.lateral_force, soil.torque];
        sums.iter_mut().zip(figures).for_each(|(sum, figure)| *sum += figure / count as f64);
    }
    sums
}

/// Grousers shear the soil farther out than the rim.
#[test]
fn grousers_pull_more() {
    let (soil, slip, grousers) = (soil("lunarSimulant"), 0.4, 0.02);
    let mut world = rig(soil);
    world.mechanism.bodies[1].material.grousers = grousers;
    let mut engine = build(&world, 0.001);
    roll(&mut *engine, 0.1, slip);
    let [sinkage, pull, _, torque] = measure(&mut *engine, 6.0);
    // Half of their height counts, and slip is that of the rim.
    let form = SteadyWheel {
        radius: RADIUS,
        width: WIDTH,
        shear_radius: RADIUS + 0.5 * grousers,
        slip,
        slip_angle: 0.0,
        gravity: G,
    };
    let (closed, forces) = form.under_load(&soil, MASS * G).unwrap();
    let bare = SteadyWheel { shear_radius: RADIUS, ..form }.under_load(&soil, MASS * G).unwrap().1;
    println!(
        "{:.3} mm, closed {:.3}; {pull:.3} N, closed {:.3}, bare {:.3}",
        1e3 * sinkage,
        1e3 * closed,
        forces.drawbar_pull,
        bare.drawbar_pull
    );
    println!("{torque:.4} N m, closed {:.4}", forces.torque);
    assert!((sinkage / closed - 1.0).abs() < 0.01, "{sinkage}");
    assert!((pull - forces.drawbar_pull).abs() < 5e-3 * MASS * G, "{pull}");
    assert!((torque / forces.torque - 1.0).abs() < 0.01, "{torque}");
    assert!(forces.drawbar_pull > bare.drawbar_pull + 0.5);
}

/// A wheel that is led aside shears the soil across, and pushes it aside with its face.
#[test]
fn a_wheel_that_goes_aside_is_held_by_shear_and_by_the_soil_beside_it() {
    let (soil, slip, angle) = (soil("regolithSimulant"), 0.2, 0.1f64);
    let mut world = rig(soil);
    // The rig is turned about the vertical: it slides along its x, which is not the heading of the wheel.
    let turn = DQuat::from_rotation_y(angle);
    let wheel = &mut world.mechanism.bodies[1];
    wheel.pose.rotation = turn;
    world.mechanism.joints[0] = joint("way", JointKind::Planar, 0, 1, DVec3::Y * RADIUS);
    let carriage = body("carriage", 1e-3, None, DVec3::Y * RADIUS);
    world.mechanism.bodies.push(carriage);
    world.mechanism.joints[0].child = BodyId::new(2);
    world.mechanism.joints[0].axes[2] = Axis::Locked;
    let mut axle = joint("axle", JointKind::Hinge, 2, 1, DVec3::Y * RADIUS);
    axle.frame = turn;
    world.mechanism.joints.push(axle);
    let mut engine = build(&world, 0.001);
    let speed = 0.1;
    engine.set_motor(JointId::new(0), 0, Motor::Velocity { target: -speed, max_effort: 1e6 });
    let rate = speed * angle.cos() / (RADIUS * (1.0 - slip));
    engine.set_motor(JointId::new(1), 2, Motor::Velocity { target: rate, max_effort: 1e6 });
    let [sinkage, pull, lateral, torque] = measure(&mut *engine, 6.0);
    let form = SteadyWheel { radius: RADIUS, width: WIDTH, shear_radius: RADIUS, slip, slip_angle: angle, gravity: G };
    let (closed, forces) = form.under_load(&soil, MASS * G).unwrap();
    println!("{:.3} mm, closed {:.3}; {pull:.3} N, closed {:.3}", 1e3 * sinkage, 1e3 * closed, forces.drawbar_pull);
    println!("aside {lateral:.3} N, closed {:.3}; {torque:.4} N m, closed {:.4}", forces.lateral, forces.torque);
    assert!((sinkage / closed - 1.0).abs() < 0.01, "{sinkage}");
    assert!((pull - forces.drawbar_pull).abs() < 0.01 * MASS * G, "{pull}");
    assert!((lateral.abs() / forces.lateral - 1.0).abs() < 0.02, "{lateral}");
    assert!((torque / forces.torque - 1.0).abs() < 0.01, "{torque}");
}

/// Repeated passes of wheels in one rut, against the closed form: each wheel meets the surface that the one before
/// left, which is the pressed depth less the elastic recovery, and follows a stiff unloading line until the soil yields
/// again. The contact arc begins at the remaining surface; stresses are those of the depth below the original one.
#[test]
fn in_a_rut_a_wheel_sinks_less_each_time() {
    let soil = soil("drySand");
    let mut world = rig(soil);
    world.mechanism.bodies.remove(1);
    let mut joints = Vec::new();
    let mut bodies = vec![world.mechanism.bodies[0].clone()];
    // Three of them behind each other.
    for k in 0..3 {
        let x = 0.5 * f64::from(k);
        let mut own = wheel(RADIUS);
        own.pose.translation.x = x;
        bodies.push(own);
        joints.push(joint("rig", JointKind::Planar, 0, bodies.len() - 1, DVec3::new(x, RADIUS, 0.0)));
    }
    (world.mechanism.bodies, world.mechanism.joints) = (bodies, joints);
    let h = 0.001;
    let mut engine = build(&world, h);
    let (speed, slip) = (0.1, 0.2);
    for k in 0..3 {
        engine.set_motor(JointId::new(k), 0, Motor::Velocity { target: -speed, max_effort: 1e6 });
        let target = speed / (RADIUS * (1.0 - slip));
        engine.set_motor(JointId::new(k), 2, Motor::Velocity { target, max_effort: 1e6 });
    }
    // Until the last wheel is in the ruts of both others, and beyond the place where they were lowered.
    run(&mut *engine, h, 14.0);
    // A wheel that rolls swings: means over several times.
    let (count, mut depths, mut resistances) = (steps(h, 2.0), [0.0; 3], [0.0; 3]);
    for _ in 0..count {
        engine.step();
        for k in 0..3 {
            let soil = engine.soil_reading(BodyId::new(k + 1)).unwrap();
            depths[k] += soil.sinkage / count as f64;
            resistances[k] += soil.resistance / count as f64;
        }
    }
    let mut left = 0.0;
    for (k, (&depth, &resistance)) in depths.iter().zip(&resistances).enumerate() {
        let form = |depth: f64| in_rut(&soil, slip, depth, left);
        let (mut low, mut high) = (left, RADIUS);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if form(middle)[0] < MASS * G { low = middle } else { high = middle }
        }
        let [_, closed] = form(high);
        println!("pass {k}: {:.3} mm, closed {:.3}; {resistance:.3} N, closed {closed:.3}", 1e3 * depth, 1e3 * high);
        // A thousandth of the load. A rut keeps the deepest position of the swinging wheel, some hundredths of a
        // millimetre per pass.
        assert!((depth / high - 1.0).abs() < 5e-3, "{k}: {depth}, not {high}");
        assert!((resistance - closed).abs() < 1e-3 * MASS * G, "{k}: {resistance}, not {closed}");
        left = Pressure::new(&soil, WIDTH, slip, G).left_by(high, left);
    }
    let more = [depths[0], depths[1] - depths[0], depths[2] - depths[1]];
    assert!(more[0] > more[1] && more[1] > more[2] && more[2] > 0.0, "{more:?}");
    assert!(resistances[0] > resistances[1] && resistances[1] > resistances[2], "{resistances:?}");
}

/// Load and resistance, N, of a wheel that rolls evenly at a given depth below the original surface, on a surface left
/// at another depth, m: Wong and Reece's integrals by the midpoint rule.
fn in_rut(soil: &Soil, slip: f64, depth: f64, left: f64) -> [f64; 2] {
    let pressure = Pressure::new(soil, WIDTH, slip, G);
    let entry = (1.0 - (depth - left) / RADIUS).acos();
    let peak = (soil.peak[0] + soil.peak[1] * slip) * entry;
    let count = 4000;
    let (mut load, mut resistance) = (0.0, 0.0);
    for k in 0..count {
        let angle = entry * (f64::from(k) + 0.5) / f64::from(count);
        let same = if angle < peak { entry - angle * (entry - peak) / peak } else { angle };
        let stress = pressure.at(left + RADIUS * (same.cos() - entry.cos()), left).0;
        let slide = RADIUS * ((entry - angle) - (1.0 - slip) * (entry.sin() - angle.sin()));
        let shear = shear_strength(soil, stress) * (1.0 - (-slide / soil.shear_modulus).exp());
        let area = RADIUS * WIDTH * entry / f64::from(count);
        load += area * (stress * angle.cos() + shear * angle.sin());
        resistance += area * stress * angle.sin();
    }
    [load, resistance]
}

/// Any wheel, foot or rock, light or heavy, on any soil and slope, at any timestep: nothing runs away, and no body
/// gains energy. The energy that it receives in a step is energy that it stored in the soil before.
#[test]
fn whatever_falls_on_soil_comes_to_rest_there() {
    // In an earlier version, the last three received up to 3.8 times that energy.
    for seed in (0..48).chain([98, 167, 288]) {
        let mut chance = Chance(seed);
        let h = [0.001, 0.002, 0.005, 0.01][chance.below(4)];
        let named = Soil::NAMED[chance.below(Soil::NAMED.len())];
        let mut world = slope(named.soil, chance.between(0.0, 0.5));
        let mut mass = 0.0;
        for k in 0..3 {
            let size = chance.between(0.02, 0.5);
            let shape = match chance.below(5) {
                0 => Shape::Sphere { radius: size },
                1 => Shape::Box { size: DVec3::new(size, 0.5 * size, 2.0 * size) },
                2 => Shape::Capsule { radius: size, length: size },
                3 => Shape::Cone { radius: size, length: size },
                _ => Shape::Cylinder { radius: size, length: chance.between(0.1, 2.0) * size },
            };
            // The second falls on the first.
            let at = DVec3::new(0.1 * f64::from(k), 1.5 + 2.5 * f64::from(k), 0.0);
            let mut one = body("one", size.powi(3) * libm::exp(chance.between(3.0, 9.0)), Some(shape), at);
            mass += one.mass;
            let axis = DVec3::new(chance.between(-1.0, 1.0), chance.between(-1.0, 1.0), 1.1).normalize();
            one.pose.rotation = DQuat::from_axis_angle(axis, chance.between(-3.0, 3.0));
            one.linear_velocity = axis * chance.between(-3.0, 3.0);
            one.angular_velocity = axis * chance.between(-20.0, 20.0);
            one.material.grousers = chance.between(0.0, 0.02);
            world.mechanism.bodies.push(one);
        }
        let mut engine = build(&world, h);
        let energy = |engine: &dyn Engine| -> f64 { engine.energy_balance().unwrap().stored };
        let first = energy(&*engine);
        let (mut last, whole) = (first, first.abs() + mass);
        let mut most = 0.0f64;
        for _ in 0..steps(h, 4.0) {
            engine.step();
            let now = energy(&*engine);
            assert!(now.is_finite(), "seed {seed}, {}", named.name);
            assert!(now <= first + 1e-6 * whole, "seed {seed}, {}, {h}: {now} J, {first} at first", named.name);
            most = most.max((now - last) / whole);
            last = now;
        }
        let fastest = (0..3).map(|k| engine.body(BodyId::new(k)).linear_velocity.length()).fold(0.0, f64::max);
        println!("seed {seed}, {}, {h}: gains {most:.1e} of the energy in a step, {fastest:.2e} m/s", named.name);
        assert!(fastest < 30.0, "seed {seed}, {}, {h}: {fastest} m/s", named.name);
    }
}
