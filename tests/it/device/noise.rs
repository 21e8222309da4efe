//! Imperfections: their statistics, their timing, and the separate random stream of each device. Bounds of the
//! statistics are four standard errors, and the seed is fixed, so that the test is deterministic.

use bevy_math::DVec3;
use simpartner_description::{Noise, Scanner, Sensor, World};
use simpartner_model::{BodyId, Pose};
use simpartner_wire::signal::{Configuration, DeviceKind, NoiseFigure};

use super::{Run, cube_at, device, near};
use crate::scene::{G, with_plane};

/// A fixed body.
fn still() -> World {
    let mut world = cube_at(5.0);
    world.mechanism.gravity = DVec3::ZERO;
    world
}

fn position() -> Sensor {
    Sensor::on(BodyId::new(0), Pose::IDENTITY, DeviceKind::PositionSensor)
}

fn noisy(noise: Noise) -> Sensor {
    Sensor { noise: vec![noise], ..position() }
}

fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64)
}

#[test]
fn noise_has_the_deviation_and_bias_that_it_was_given() {
    let mut world = still();
    let noise = Noise { standard_deviation: 0.02, bias: 0.3, ..Noise::default() };
    world.devices = vec![device("sensor", noisy(noise))];
    let mut run = Run::of(world);
    let errors: Vec<f64> = (0..10_000)
        .flat_map(|_| {
            let read = run.steps(1).read("sensor");
            [read[0], read[1] - 5.0, read[2]]
        })
        .collect();
    let (mean, variance) = mean_and_variance(&errors);
    let count = errors.len() as f64;
    println!("noise: mean {mean} for 0.3, deviation {} for 0.02, {count} values", variance.sqrt());
    assert!((mean - 0.3).abs() < 4.0 * 0.02 / count.sqrt(), "{mean}");
    assert!((variance / 4e-4 - 1.0).abs() < 4.0 * (2.0 / count).sqrt(), "{variance}");
    // Consecutive readings are uncorrelated.
    let paired: f64 = errors.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / count;
    assert!((paired / variance).abs() < 4.0 / count.sqrt(), "{paired}");
}

/// A random walk of 0.1 per root second: after 0.25 s its standard deviation is 0.05, for any rate.
#[test]
fn drift_grows_with_the_root_of_time() {
    for rate_hz in [None, Some(40.0)] {
        let mut world = still();
        let noise = Noise { drift: 0.1, ..Noise::default() };
        world.devices =
            (0..500).map(|index| device(&format!("s{index}"), Sensor { rate_hz, ..noisy(noise) })).collect();
        let mut run = Run::of(world);
        run.steps(250);
        let ends: Vec<f64> = (0..500)
            .flat_map(|index| run.read(&format!("s{index}")))
            .zip([0.0, 5.0, 0.0].into_iter().cycle())
            .map(|(a, b)| a - b)
            .collect();
        let (mean, variance) = mean_and_variance(&ends);
        let count = ends.len() as f64;
        println!("drift at {rate_hz:?}: deviation {} for 0.05", variance.sqrt());
        assert!(mean.abs() < 4.0 * 0.05 / count.sqrt(), "{mean}");
        assert!((variance / 0.0025 - 1.0).abs() < 4.0 * (2.0 / count).sqrt(), "{variance}");
    }
}

/// Three angles of 0.01 rad: the mean square of the rotation is three times the square. The quaternion stays a unit
/// quaternion.
#[test]
fn an_orientation_is_turned_by_its_noise() {
    let mut world = still();
    let noise = Noise { standard_deviation: 0.01, ..Noise::default() };
    let sensor = Sensor::on(BodyId::new(0), Pose::IDENTITY, DeviceKind::PoseSensor);
    world.devices = vec![device("pose", Sensor { noise: vec![Noise::default(), noise], ..sensor })];
    let mut run = Run::of(world);
    let squares: Vec<f64> = (0..5000)
        .map(|_| {
            let read = run.steps(1).read("pose");
            near(&read[..3], &[0.0, 5.0, 0.0], 0.0);
            let length: f64 = read[3..].iter().map(|part| part * part).sum();
            assert!((length - 1.0).abs() < 1e-14);
            (2.0 * read[6].abs().min(1.0).acos()).powi(2)
        })
        .collect();
    let mean = squares.iter().sum::<f64>() / squares.len() as f64;
    // A sum of three squares has the relative deviation sqrt(2 / 3).
    assert!((mean / 3e-4 - 1.0).abs() < 4.0 * (2.0 / 3.0f64).sqrt() / 5000f64.sqrt(), "{mean}");
}

#[test]
fn readings_are_rounded_to_the_step() {
    let mut world = still();
    world.devices = vec![device("sensor", noisy(Noise { bias: 0.018, quantisation: 0.25, ..Noise::default() }))];
    near(&Run::of(world).read("sensor"), &[0.0, 5.0, 0.0], 0.0);
    let mut world = still();
    world.devices =
        vec![device("sensor", noisy(Noise { standard_deviation: 1.0, quantisation: 0.25, ..Noise::default() }))];
    let mut run = Run::of(world);
    for _ in 0..100 {
        assert!(run.steps(1).read("sensor").iter().all(|value| (value * 4.0).fract() == 0.0));
    }
}

#[test]
fn a_ray_that_meets_nothing_reads_the_range_whatever_its_noise() {
    let mut world = with_plane(still(), 1.0);
    let scanner = Scanner { rays: 1, layers: 3, vertical_half_angle: 0.9, range: 10.0, ..Scanner::default() };
    let sensor = Sensor::on(BodyId::new(0), Pose::IDENTITY, DeviceKind::ScannerSensor).with_rays(scanner);
    let noise = vec![Noise { standard_deviation: 1.0, bias: 4.0, ..Noise::default() }];
    world.devices = vec![device("scanner", Sensor { noise, ..sensor })];
    let mut run = Run::of(world);
    let mut longest = 0.0f64;
    for _ in 0..200 {
        let read = run.steps(1).read("scanner");
        assert_eq!(read[1..], [10.0, 10.0]);
        assert!(read[0] > 5.0 && read[0] <= 10.0, "{read:?}");
        longest = longest.max(read[0]);
    }
    // 5 m down a slope of 0.9 rad are 6.4 m, four more in the mean are beyond the range now and then.
    assert_eq!(longest, 10.0);
}

#[test]
fn a_late_reading_is_that_of_an_earlier_step() {
    let mut world = cube_at(5.0);
    let late = Sensor { latency_s: 0.02, rate_hz: Some(200.0), ..position() };
    world.devices = vec![device("now", position()), device("late", late)];
    let mut run = Run::of(world);
    let mut heights = vec![run.read("now")[1]];
    for step in 1..=100usize {
        heights.push(run.steps(1).read("now")[1]);
        // Readings are taken every 5 steps and are 20 under way.
        let expected = if step < 25 { 0 } else { (step - 20) / 5 * 5 };
        assert_eq!(run.read("late")[1], heights[expected], "step {step}");
        assert_eq!(run.is_fresh("late"), step >= 25 && step % 5 == 0, "step {step}");
    }
    assert!((heights[100] - (5.0 - G * 0.01 / 2.0)).abs() < 1e-3);
    // Shorter from now on: the new reading overtakes those under way.
    run.configure("late", Configuration::LatencyS(0.0));
    run.steps(5);
    assert_eq!(run.read("late"), run.read("now"));
    run.steps(4);
    assert!(!run.is_fresh("late"));
}

#[test]
fn of_many_readings_the_given_share_is_lost_and_the_one_before_stays() {
    let mut world = cube_at(1e5);
    world.devices = vec![device("sensor", Sensor { dropout: 0.3, ..position() })];
    let mut run = Run::of(world);
    let (mut lost, mut last) = (0, run.read("sensor"));
    for _ in 0..10_000 {
        run.steps(1);
        if run.is_fresh("sensor") {
            last = run.physics()[..3].to_vec();
        } else {
            lost += 1;
        }
        assert_eq!(run.read("sensor"), last);
    }
    println!("dropout: {lost} of 10000 for 0.3");
    assert!((f64::from(lost) - 3000.0).abs() < 4.0 * (10_000.0 * 0.3f64 * 0.7).sqrt());
}

#[test]
fn a_devices_stream_is_its_own() {
    let noise = Noise { standard_deviation: 0.1, drift: 0.1, ..Noise::default() };
    let readings = |devices: &[(&str, Sensor)], seed: u64| {
        let mut world = still();
        world.devices = devices.iter().map(|(name, sensor)| device(name, sensor.clone())).collect();
        let mut run = Run::seeded(world, seed);
        (0..50).map(|_| run.steps(1).read("mine")).collect::<Vec<_>>()
    };
    let alone = readings(&[("mine", noisy(noise))], 1);
    let before = [("other", noisy(noise)), ("third", Sensor { dropout: 0.5, ..noisy(noise) }), ("mine", noisy(noise))];
    assert_eq!(readings(&before, 1), alone, "adding noise to one sensor changes no other");
    assert_ne!(readings(&[("mine", noisy(noise))], 2), alone, "the seed does");
    // Lost readings do not change the others.
    let dropping = readings(&[("mine", Sensor { dropout: 0.5, ..noisy(noise) })], 1);
    assert!(dropping.iter().all(|reading| alone.contains(reading) || reading == &dropping[0]));
}

#[test]
fn noise_can_be_set_while_it_runs_and_a_reset_starts_it_anew() {
    let mut world = still();
    world.devices = vec![device("sensor", position())];
    let mut run = Run::seeded(world.clone(), 3);
    run.steps(10);
    assert_eq!(run.read("sensor"), [0.0, 5.0, 0.0]);
    let figure = |value| Configuration::Noise { quantity: None, figure: NoiseFigure::StandardDeviation, value };
    run.configure("sensor", figure(0.5));
    let first: Vec<_> = (0..20).map(|_| run.steps(1).read("sensor")).collect();
    assert!(first.iter().all(|reading| reading[0] != 0.0));
    let hash = run.simulation.state_hash();
    run.simulation.reset().unwrap();
    assert_eq!(run.simulation.state_hash(), Run::seeded(world, 3).simulation.state_hash());
    run.steps(10);
    run.configure("sensor", figure(0.5));
    let second: Vec<_> = (0..20).map(|_| run.steps(1).read("sensor")).collect();
    assert_eq!((second, run.simulation.state_hash()), (first, hash));
}

/// The hash includes the generators: two runs with equal readings but different next readings have different hashes.
#[test]
fn the_state_hash_includes_what_chance_has_in_store() {
    let hash = |seed| {
        let mut world = still();
        world.devices = vec![device("sensor", position())];
        Run::seeded(world, seed).simulation.state_hash()
    };
    assert_ne!(hash(1), hash(2));
    assert_eq!(hash(1), hash(1));
}
