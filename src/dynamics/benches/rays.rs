//! Rays a second over terrain with boxes: `cargo bench -p simpartner-dynamics --bench rays`.
//!
//! A scan of 64 x 1024 rays from 1.5 m above the middle of terrain of 200 x 200 points, a quarter of a metre apart,
//! with 400 boxes on it: all around, and from 15 degrees above the horizon to 25 below. The first line walks over every
//! shape, as every ray did before there was a tree of boxes; the second asks the engine. With `repeat=N` each is cast
//! so often in turn, and the least processor time counts.

#[path = "../tests/engine/rays/brute_force.rs"]
mod brute_force;

use std::time::{Duration, Instant};

use bevy_math::{DQuat, DVec3};
use simpartner_dynamics::{Engine, Ray, Settings};
use simpartner_model::{Body, Heightfield, Material, Mechanism, Placed, Pose, Shape, Timestep, random::Stream};

use self::brute_force::Shapes;

const POINTS: usize = 200;
const CELL: f64 = 0.25;
const BOXES: usize = 400;
const LAYERS: usize = 64;
const AROUND: usize = 1024;
const RANGE: f64 = 100.0;
/// Interval of the rays that are cast at every shape and every triangle of the terrain, which takes about 3 ms.
const BRUTE: usize = 256;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` only checks that the bench runs.
    let is_real = arguments.iter().any(|argument| argument == "--bench");
    let repeat = arguments.iter().find_map(|argument| argument.strip_prefix("repeat=")?.parse().ok());
    let repeat = if is_real { repeat.unwrap_or(5) } else { 1 };
    let model = world();
    let mut engine = simpartner_dynamics::build(&model, Timestep::MILLISECOND, &Settings::default()).expect("a world");
    let mut shapes = Shapes::new(&model);
    shapes.place(&*engine);
    let mut rays = scan();
    if !is_real {
        rays.truncate(1000);
    }
    let mut times = [Duration::MAX; 2];
    for _ in 0..repeat {
        let scene = engine.ray_scene();
        let (brute, taken) = time(|| rays.iter().step_by(BRUTE).map(|ray| shapes.cast(ray)).collect::<Vec<_>>());
        times[0] = times[0].min(taken);
        let (read, taken) = time(|| rays.iter().map(|ray| scene.cast(ray)).collect::<Vec<_>>());
        times[1] = times[1].min(taken);
        let differ = read.iter().step_by(BRUTE).zip(&brute).filter(|(one, two)| !agree(**one, **two)).count();
        assert_eq!(differ, 0, "rays read other distances");
    }
    let met = rays.iter().filter(|ray| engine.cast_ray(ray).is_some()).count();
    println!("{} rays, {met} of which meet something", rays.len());
    let counts = [rays.len().div_ceil(BRUTE), rays.len()];
    for ((name, count), taken) in ["every shape", "tree of boxes"].into_iter().zip(counts).zip(times) {
        println!("{name:<14} {:10.0} rays/s, {count} rays in {taken:8.1?}", count as f64 / taken.as_secs_f64());
    }
    upkeep(&mut *engine, repeat);
}

/// Times the update of the bounding volume hierarchy and the cast of one ray, while all boxes fall.
fn upkeep(engine: &mut dyn Engine, repeat: usize) {
    let down = Ray { origin: DVec3::Y * 30.0, direction: DVec3::NEG_Y, range: RANGE, ignore: None };
    let mut all: Vec<Duration> = (0..40 * repeat)
        .map(|_| {
            engine.step();
            time(|| engine.cast_ray(&down)).1
        })
        .collect();
    all.sort_unstable();
    println!("first ray of a step, boxes falling: median {:.1?}, most {:.1?}", all[all.len() / 2], all[all.len() - 1]);
}

/// Result of the work and its processor time; the wall time on systems that do not report processor time (Linux does).
fn time<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let (start, used) = (Instant::now(), processor_time());
    let done = work();
    let taken = processor_time().zip(used).map(|(now, used)| now - used);
    (done, taken.unwrap_or_else(|| start.elapsed()))
}

/// Processor time of this thread so far.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}

fn agree(one: Option<f64>, two: Option<f64>) -> bool {
    one.zip(two).map_or(one == two, |(one, two)| (one - two).abs() < 1e-9)
}

fn world() -> Mechanism {
    let extent = CELL * (POINTS - 1) as f64;
    let mut field = Heightfield {
        points_x: POINTS,
        points_z: POINTS,
        width: extent,
        depth: extent,
        heights: Vec::new().into(),
        pose: Pose::default(),
        material: Material::default(),
    };
    let height = |x: f64, z: f64| 0.5 * libm::sin(0.4 * x) * libm::cos(0.3 * z) + 0.1 * libm::sin(2.1 * x + 1.3 * z);
    let at = |index: usize| field.position(index / POINTS, index % POINTS);
    field.heights = (0..POINTS * POINTS).map(at).map(|(x, z)| height(x, z)).collect();
    let mut random = Stream::from_number(1);
    let bodies = (0..BOXES).map(|index| {
        let (x, z) = (random.between(-0.48, 0.48) * extent, random.between(-0.48, 0.48) * extent);
        Body {
            name: format!("box{index}"),
            mass: 1.0,
            pose: Pose {
                translation: DVec3::new(x, height(x, z) + 0.6, z),
                rotation: DQuat::from_rotation_y(random.between(-3.0, 3.0)),
            },
            shape: Some(Placed {
                pose: Pose::default(),
                shape: Shape::Box { size: DVec3::new(random.between(0.2, 0.8), 0.8, random.between(0.2, 0.8)) },
            }),
            ..Body::default()
        }
    });
    let mut model = Mechanism { gravity: DVec3::NEG_Y * 9.81, bodies: bodies.collect(), ..Mechanism::default() };
    model.grounds.push(field.into());
    model
}

/// The rays of a scan, all around in each layer.
fn scan() -> Vec<Ray> {
    let mut rays = Vec::new();
    for (layer, step) in (0..LAYERS).flat_map(|layer| (0..AROUND).map(move |step| (layer, step))) {
        let elevation = (-25.0 + 40.0 * layer as f64 / (LAYERS - 1) as f64).to_radians();
        let azimuth = std::f64::consts::TAU * step as f64 / AROUND as f64;
        let (reach, rise) = (libm::cos(elevation), libm::sin(elevation));
        let direction = DVec3::new(reach * libm::sin(azimuth), rise, reach * libm::cos(azimuth));
        rays.push(Ray { origin: DVec3::Y * 1.5, direction, range: RANGE, ignore: None });
    }
    rays
}
