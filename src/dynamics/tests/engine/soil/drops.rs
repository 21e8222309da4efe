//! A wheel dropped on soil at any timestep, and the readings of a divided step.

use simpartner_dynamics::{EngineKind, Settings, SoilReading, soil::SteadyWheel};
use simpartner_model::{Axis, BodyId, FreeAxis, JointId, Timestep};

use super::{
    super::{G, build, steps},
    MASS, RADIUS, WIDTH, rig, roll, soil,
};

/// A slowly turning wheel that is released at the surface: its deepest sinkage, and the largest force of a step, which
/// is a mean over the step, compared with the mean over the same time in steps of 0.1 ms.
///
/// A step's force is its impulse over its length, so that momentum is correct. Around a peak F with the curvature F"
/// that is F - |F"| h²/24. Here, where the wheel reverses on the soil, F" is about 2e6 N/s², and means over 1 ms and 10
/// ms differ by 5 % even for exact steps. Forces that agree to 1 % at all timesteps need a softer landing, as in the
/// next test.
#[test]
fn a_drop_is_the_same_at_any_timestep() {
    let drop = |h: f64| {
        let mut engine = build(&rig(soil("regolithSimulant")), h);
        roll(&mut *engine, 0.02, 0.2);
        let (mut forces, mut depth) = (Vec::new(), 0.0f64);
        for _ in 0..steps(h, 0.5) {
            engine.step();
            forces.push(engine.body(BodyId::new(1)).force.y);
            depth = depth.max(-engine.joint(JointId::new(0)).position[1]);
        }
        (forces, depth)
    };
    let (fine, reference) = drop(1e-4);
    for h in [0.001, 0.005, 0.01] {
        let (forces, depth) = drop(h);
        let force = forces.into_iter().fold(0.0, f64::max);
        let count = steps(1e-4, h);
        let mean = fine.chunks(count).map(|forces| forces.iter().sum::<f64>() / count as f64).fold(0.0, f64::max);
        println!("{h}: {force:.3} N, {:.4} mm; in steps of 0.1 ms {mean:.3}, {:.4}", 1e3 * depth, 1e3 * reference);
        // At the reversal, the soil in front still yields while the soil behind holds, and a step has one force for
        // both: 0.1 ms of 5 ms earlier is 2 %.
        assert!((force / mean - 1.0).abs() < 0.02, "{h}: {force} N, not {mean}");
        assert!((depth / reference - 1.0).abs() < 0.01, "{h}: {depth} m, not {reference}");
    }
}

/// A wheel that falls from a centimetre above: depth and force are the same at any timestep. The force is the
/// largest mean over the longest step, since that of a step is its impulse over its length.
#[test]
fn a_fall_is_the_same_at_any_timestep() {
    const LONGEST: f64 = 0.01;
    let fall = |h: f64, speed: f64| {
        let mut world = rig(soil("regolithSimulant"));
        world.mechanism.bodies[1].pose.translation.y += 0.01;
        world.mechanism.joints[0].anchor.y += 0.01;
        let mut engine = build(&world, h);
        roll(&mut *engine, speed, 0.2);
        let (mut forces, mut depth) = (Vec::new(), 0.0f64);
        for _ in 0..steps(h, 0.5) {
            engine.step();
            forces.push(engine.body(BodyId::new(1)).force.y);
            depth = depth.max(-engine.joint(JointId::new(0)).position[1]);
        }
        let count = steps(h, LONGEST);
        let means = forces.chunks(count).map(|forces| forces.iter().sum::<f64>() / count as f64);
        [means.fold(0.0, f64::max), depth - 0.01]
    };
    for speed in [0.02, FAST] {
        let reference = fall(0.001, speed);
        for h in [1e-4, 0.005, LONGEST] {
            let found = fall(h, speed);
            println!("fall at {speed} m/s, {h}: {found:?}; 1 ms {reference:?}");
            for (found, reference) in found.into_iter().zip(reference) {
                assert!((found / reference - 1.0).abs() < 0.01, "{h}: {found}, not {reference}");
            }
        }
    }
}

/// Damping coefficient of the reference drop, N s/m.
const DAMPER: f64 = 60.0;
/// Rolling speed of the dropped wheel, m/s: the wheel rolls over its contact length before it has sunk in.
const FAST: f64 = 4.0;

/// m z" = m g - F(z) - c z' with the closed form of a wheel that rolls, from rest at the surface: the largest force of
/// soil and damper, N, and the deepest sinkage, m.
fn damped_drop(slip: f64) -> [f64; 2] {
    let form = SteadyWheel { radius: RADIUS, width: WIDTH, shear_radius: RADIUS, slip, slip_angle: 0.0, gravity: G };
    let (h, soil) = (1e-5, soil("regolithSimulant"));
    let ([mut z, mut v], mut force) = ([0.0; 2], 0.0f64);
    while v >= 0.0 {
        let now = form.forces(&soil, z).normal + DAMPER * v;
        force = force.max(now);
        v += h * (G - now / MASS);
        z += h * v;
    }
    [force, z]
}

/// The drop that a late force is tried with: same soil, wheel and slip, a damper of 60 N s/m, and a start from rest at
/// the surface. Soil and damper push with 119.5 N at most, and the wheel sinks by 34.3 mm, in steps of 1, 5 and 10 ms
/// alike.
#[test]
fn a_damped_drop_has_the_forces_of_the_closed_form_at_any_timestep() {
    let slip = 0.2;
    let [closed, deepest] = damped_drop(slip);
    println!("closed {closed:.2} N, {:.3} mm", 1e3 * deepest);
    assert!((closed / 119.5 - 1.0).abs() < 2e-3 && (deepest / 34.336e-3 - 1.0).abs() < 2e-3, "{closed} {deepest}");
    let mut found = Vec::new();
    for h in [0.001, 0.005, 0.01] {
        let mut world = rig(soil("regolithSimulant"));
        let axis = &mut world.mechanism.joints[0].axes[1];
        *axis = Axis::Free(FreeAxis { damping: DAMPER, ..axis.free().copied().unwrap() });
        let mut engine = build(&world, h);
        roll(&mut *engine, FAST, slip);
        let (mut force, mut depth, mut rate) = (0.0f64, 0.0f64, 0.0);
        for _ in 0..steps(h, 0.3) {
            engine.step();
            let joint = engine.joint(JointId::new(0));
            force = force.max(engine.body(BodyId::new(1)).force.y - 0.5 * DAMPER * (rate + joint.rate[1]));
            (depth, rate) = (depth.max(-joint.position[1]), joint.rate[1]);
        }
        println!("{h}: {force:.2} N, {:.3} mm", 1e3 * depth);
        found.push([force, depth]);
    }
    for [force, depth] in &found {
        assert!((force / found[0][0] - 1.0).abs() < 0.01 && (depth / found[0][1] - 1.0).abs() < 0.01, "{found:?}");
        assert!((force / closed - 1.0).abs() < 0.01 && (depth / deepest - 1.0).abs() < 0.01, "{found:?}");
    }
}

fn figures(reading: SoilReading) -> [f64; 8] {
    let SoilReading { sinkage, slip, slip_angle, normal_force, drawbar_pull, lateral_force, resistance, torque } =
        reading;
    [sinkage, slip, slip_angle, normal_force, drawbar_pull, lateral_force, resistance, torque]
}

/// The reading of a step in four parts is the mean of the readings of four steps of that length, even if the wheel
/// enters the soil within the step.
#[test]
fn a_reading_of_a_step_in_parts_is_their_mean() {
    let mut world = rig(soil("lunar"));
    world.mechanism.bodies[1].pose.translation.y += 0.003;
    world.mechanism.joints[0].anchor.y += 0.003;
    let (h, parts) = (0.001, 4);
    let settings = Settings { engine: EngineKind::Dynamics, substeps: parts, ..Settings::default() };
    let timestep = Timestep::from_seconds(parts as f64 * h).unwrap();
    let mut whole = simpartner_dynamics::build(&world.mechanism, timestep, &settings).unwrap();
    let mut single = build(&world, h);
    roll(&mut *whole, 0.1, 0.3);
    roll(&mut *single, 0.1, 0.3);
    let (mut lands, mut last_differs) = (0, 0);
    for _ in 0..100 {
        whole.step();
        let (mut mean, mut last, mut inside) = ([0.0; 8], None, 0);
        for _ in 0..parts {
            single.step();
            last = single.soil_reading(BodyId::new(1));
            inside += usize::from(last.is_some());
            for (sum, figure) in mean.iter_mut().zip(last.map_or([0.0; 8], figures)) {
                *sum += figure / parts as f64;
            }
        }
        let found = whole.soil_reading(BodyId::new(1));
        assert_eq!(found.is_some(), inside > 0);
        let Some(found) = found.map(figures) else { continue };
        lands += usize::from(inside < parts);
        for (found, mean) in found.into_iter().zip(mean) {
            assert!((found - mean).abs() <= 1e-9 * (1.0 + mean.abs()), "{found}, not {mean}");
        }
        // A sensor that kept only the last part would be off by this.
        last_differs += usize::from(last.is_some_and(|last| (figures(last)[3] - mean[3]).abs() > 1.0));
    }
    assert!(lands > 0 && last_differs > 5, "{lands} {last_differs}");
}
