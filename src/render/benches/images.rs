//! Images and rays a second: `cargo bench -p simpartner-render`.
//!
//! Three scenes: a plane with 400 boxes, terrain of 200 x 200 points, and a mesh of 100,000 triangles on a plane. The
//! first lines are images on one thread, colour with shadows and depth, of three sizes. The last line of a scene casts
//! the rays of the depth image of 320 x 240 at the engine's scene, which is parry in f64 with a tree of boxes. With
//! `repeat=N` each is done so often in turn, and the least processor time counts.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bevy_math::{DQuat, DVec3};
use simpartner_dynamics::{Settings, build};
use simpartner_model::{
    Body, Ground, Heightfield, Material, Mechanism, Placed, Plane, Pose, Shape, Timestep, random::Stream,
};
use simpartner_render::{Camera, Optics, Rendering, Scene, View, color_png, looking_at};

const SIZES: [(u32, u32); 3] = [(64, 64), (320, 240), (640, 480)];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` only wants to know that it runs.
    let is_real = arguments.iter().any(|argument| argument == "--bench");
    let repeat = arguments.iter().find_map(|argument| argument.strip_prefix("repeat=")?.parse().ok());
    let repeat = if is_real { repeat.unwrap_or(3) } else { 1 };
    let sizes = if is_real { &SIZES[..] } else { &SIZES[..1] };
    for (name, model) in [("plane with 400 boxes", boxes()), ("terrain", hills()), ("100,000 triangles", mesh(is_real))]
    {
        let (scene, made) = time(|| Scene::new(&model).expect("a scene"));
        let [shapes, triangles, cells] = scene.sizes();
        println!("{name}: {shapes} shapes, {triangles} triangles, {cells} cells; scene made in {made:.1?}");
        let eye = looking_at(DVec3::new(7.0, 4.0, 5.0), DVec3::new(0.0, 0.3, 0.0)).expect("two points");
        for &(width, height) in sizes {
            measure_images(&scene, &model, eye, [width, height], repeat);
        }
        compare(&scene, &model, eye, sizes[sizes.len().min(2) - 1], repeat);
    }
}

fn measure_images(scene: &Scene, model: &Mechanism, eye: Pose, [width, height]: [u32; 2], repeat: usize) {
    let camera = Camera::new(Optics::pinhole(width, height, 1.1)).expect("a camera");
    let mut least = [Duration::MAX; 4];
    let rendering = Rendering::default();
    for _ in 0..repeat {
        let (view, placed) = time(|| View::of_start(scene, model, camera, eye).expect("a view"));
        let (color, colored) = time(|| view.color_image(&rendering, 1));
        let (_, measured) = time(|| view.depth_image(1));
        let (_, written) = time(|| color_png(&color).expect("a file"));
        for (least, taken) in least.iter_mut().zip([placed, colored, measured, written]) {
            *least = taken.min(*least);
        }
    }
    let [placed, colored, measured, written] = least;
    let rate = |taken: Duration| 1.0 / taken.as_secs_f64();
    let rays = f64::from(width * height) * rate(measured) / 1e6;
    println!(
        "  {width:>4} x {height:<4} colour {:8.1}/s   depth {:8.1}/s ({rays:.2} million rays/s)   view {placed:.1?}   \
         PNG {written:.1?}",
        rate(placed + colored),
        rate(placed + measured)
    );
}

/// The same rays here and in the engine's scene.
fn compare(scene: &Scene, model: &Mechanism, eye: Pose, (width, height): (u32, u32), repeat: usize) {
    let camera = Camera::new(Optics::pinhole(width, height, 1.1)).expect("a camera");
    let engine = build(model, Timestep::MILLISECOND, &Settings::default()).expect("a world");
    let rays: Vec<simpartner_dynamics::Ray> = (0..height)
        .flat_map(|row| (0..width).map(move |column| (column, row)))
        .filter_map(|(column, row)| camera.direction(column.into(), row.into()))
        .map(|direction| {
            let direction = eye.direction(direction);
            simpartner_dynamics::Ray { origin: eye.translation, direction, range: 1e4, ignore: None }
        })
        .collect();
    let view = View::of_start(scene, model, camera, eye).expect("a view");
    let mut least = [Duration::MAX; 2];
    let (mut distances, mut image) = (Vec::new(), None);
    for _ in 0..repeat {
        let engine_scene = engine.ray_scene();
        let (read, taken) = time(|| rays.iter().map(|ray| engine_scene.cast(ray)).collect::<Vec<_>>());
        (distances, least[0]) = (read, taken.min(least[0]));
        let (read, taken) = time(|| view.depth_image(1));
        (image, least[1]) = (Some(read), taken.min(least[1]));
    }
    let ahead = eye.direction(DVec3::Z);
    let depths = image.into_iter().flat_map(|image| image.pixels);
    let differ = distances.iter().zip(&rays).zip(depths).filter(|((distance, ray), depth)| {
        let expected = distance.map_or(f64::INFINITY, |distance| distance * ahead.dot(ray.direction));
        expected != f64::from(*depth) && (expected - f64::from(*depth)).abs() >= 1e-5 * expected
    });
    let million = |taken: Duration| rays.len() as f64 / taken.as_secs_f64() / 1e6;
    println!(
        "  parry in f64 {:.2} million rays/s, here {:.2}: {:.1} times; {} of {} depths differ by more than 1e-5",
        million(least[0]),
        million(least[1]),
        least[0].as_secs_f64() / least[1].as_secs_f64(),
        differ.count(),
        rays.len()
    );
}

/// Processor time in which work is repeated and averaged: the system counts it in parts of some milliseconds.
const LONG: Duration = Duration::from_millis(150);

/// Result of the work, and the processor time that it takes once; the time, where the system does not tell that (Linux
/// does).
fn time<T>(work: impl Fn() -> T) -> (T, Duration) {
    let start = now();
    for count in 1.. {
        let done = work();
        let taken = now() - start;
        if taken >= LONG {
            return (done, taken / count);
        }
    }
    unreachable!("the counter has no end")
}

fn now() -> Duration {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    processor_time().unwrap_or_else(|| START.elapsed())
}

/// Processor time of this thread so far.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}

fn plane() -> Ground {
    Plane { normal: DVec3::Y, distance: 0.0, material: Material::default() }.into()
}

fn boxes() -> Mechanism {
    let mut stream = Stream::from_number(1);
    let bodies = (0..400).map(|index| {
        let [x, z] = [0; 2].map(|_| stream.between(-9.0, 9.0));
        let size = DVec3::new(stream.between(0.1, 0.6), stream.between(0.1, 1.0), stream.between(0.1, 0.6));
        let rotation = DQuat::from_rotation_y(stream.between(-3.0, 3.0));
        Body {
            name: format!("box{index}"),
            pose: Pose { translation: DVec3::new(x, 0.5 * size.y, z), rotation },
            shape: Some(Placed { pose: Pose::IDENTITY, shape: Shape::Box { size } }),
            ..Body::default()
        }
    });
    Mechanism { grounds: vec![plane()], bodies: bodies.collect(), ..Mechanism::default() }
}

fn hills() -> Mechanism {
    const POINTS: usize = 200;
    let mut field = Heightfield {
        points_x: POINTS,
        points_z: POINTS,
        width: 49.75,
        depth: 49.75,
        heights: Arc::new([]),
        pose: Pose::IDENTITY,
        material: Material::default(),
    };
    let place = |index: usize| field.position(index / POINTS, index % POINTS);
    let height =
        |(x, z): (f64, f64)| 0.5 * libm::sin(0.4 * x) * libm::cos(0.3 * z) + 0.1 * libm::sin(2.1 * x + 1.3 * z);
    field.heights = (0..POINTS * POINTS).map(place).map(height).collect();
    Mechanism { grounds: vec![field.into()], ..Mechanism::default() }
}

/// A torus with waves, of 250 x 200 cells.
fn mesh(is_real: bool) -> Mechanism {
    let (around, across): (u32, u32) = if is_real { (250, 200) } else { (25, 20) };
    let vertex = |i: u32, j: u32| {
        let turn = |k: u32, count: u32| f64::from(k) / f64::from(count) * std::f64::consts::TAU;
        let ((sine, cosine), (up, out)) = (libm::sincos(turn(i, around)), libm::sincos(turn(j, across)));
        let tube = 0.8 + 0.05 * libm::sin(20.0 * turn(i, around)) * libm::sin(16.0 * turn(j, across));
        let radius = 2.0 + tube * out;
        DVec3::new(radius * cosine, tube * up, radius * sine)
    };
    let number = |i: u32, j: u32| (i % around) * across + j % across;
    let cells = (0..around).flat_map(|i| (0..across).map(move |j| (i, j)));
    let shape = Shape::TriangleMesh {
        vertices: cells.clone().map(|(i, j)| vertex(i, j)).collect(),
        triangles: cells
            .flat_map(|(i, j)| {
                let [a, b, c, d] = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)].map(|(i, j)| number(i, j));
                [[a, c, b], [a, d, c]]
            })
            .collect(),
    };
    let body = Body {
        name: "ring".into(),
        pose: Pose { translation: DVec3::Y * 0.9, ..Pose::IDENTITY },
        shape: Some(Placed { pose: Pose::IDENTITY, shape }),
        ..Body::default()
    };
    Mechanism { grounds: vec![plane()], bodies: vec![body], ..Mechanism::default() }
}
