//! Seams: floors of several bodies, or of several shapes of a body, side by side.
//!
//! Without friction, nothing on a flat floor has a horizontal force: a body keeps its velocity to rounding, whatever the
//! floor is made of. Gaps up to 0.1 mm are no edges. A step of height s lifts a body, which costs at most the energy
//! m g s; bodies that end on a lower tile may gain as much.

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_model::{Heightfield, Material, Placed, Pose, Shape, random::Stream};

use super::{G, build, diverged, position, steps, velocity};
use crate::scene::{self, body};

/// Half the width of the floor, and the thickness of its tiles, m.
const HALF: f64 = 2.5;
const THICK: f64 = 0.3;

const FLOORS: [&str; 7] = ["boxes", "hulls", "meshes", "compound", "terrain and boxes", "mixed", "mesh compound"];
const SLIDERS: [&str; 9] = ["box", "sphere", "capsule", "cylinder", "wheel", "cone", "hull", "mesh", "compound"];

/// A floor of tiles, and a body on it.
struct Scene {
    world: World,
    /// Index of the body, its height over the floor, m, and its velocity, m/s, all in the frame of the floor.
    slider: usize,
    height: f64,
    velocity: DVec3,
    /// `world_from_floor`.
    turn: DQuat,
}

/// A random rotation.
fn rotation(stream: &mut Stream) -> DQuat {
    let [x, y, z, w] = [0; 4].map(|_| stream.gaussian());
    DQuat::from_xyzw(x, y, z, w).normalize()
}

fn block_corners(half: DVec3) -> Vec<DVec3> {
    let sign = |k: u32, bit: u32| if k >> bit & 1 == 0 { -1.0 } else { 1.0 };
    (0..8).map(|k| half * DVec3::new(sign(k, 0), sign(k, 1), sign(k, 2))).collect()
}

/// A block of twelve triangles.
fn block_mesh(half: DVec3) -> Shape {
    let sides = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    let triangles = sides.into_iter().flat_map(|[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    Shape::TriangleMesh { vertices: block_corners(half), triangles }
}

/// A tile of a kind of floor.
fn tile(floor: &str, stream: &mut Stream, half: DVec3) -> Shape {
    match (floor, stream.below(3)) {
        ("hulls", _) | ("mixed", 1) => Shape::ConvexHull { points: block_corners(half) },
        ("meshes" | "mesh compound", _) | ("mixed", 2) => block_mesh(half),
        _ => Shape::Box { size: 2.0 * half },
    }
}

/// A slider, and the height of its centre over the floor.
fn slider(kind: &str, stream: &mut Stream) -> (Placed, f64) {
    let mut length = |low: f64, high: f64| stream.between(low, high);
    let lying = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2);
    let (shape, height, rotation) = match kind {
        "box" => {
            let size = DVec3::new(length(0.05, 0.5), length(0.05, 0.4), length(0.05, 0.5));
            (Shape::Box { size }, 0.5 * size.y, DQuat::IDENTITY)
        }
        "sphere" => {
            let radius = length(0.03, 0.3);
            (Shape::Sphere { radius }, radius, DQuat::IDENTITY)
        }
        "capsule" => {
            let radius = length(0.03, 0.2);
            (Shape::Capsule { radius, length: length(0.05, 0.4) }, radius, lying)
        }
        "cylinder" => {
            let size = length(0.05, 0.4);
            (Shape::Cylinder { radius: length(0.05, 0.3), length: size }, 0.5 * size, DQuat::IDENTITY)
        }
        "wheel" => {
            let radius = length(0.05, 0.3);
            (Shape::Cylinder { radius, length: length(0.03, 0.4) }, radius, lying)
        }
        "cone" => {
            let size = length(0.05, 0.4);
            (Shape::Cone { radius: length(0.05, 0.3), length: size }, 0.5 * size, DQuat::IDENTITY)
        }
        "hull" => {
            let (low, high, y) = (length(0.05, 0.3), length(0.03, 0.3), length(0.05, 0.2));
            let corners = block_corners(DVec3::new(1.0, y, 1.0));
            let scale = |corner: DVec3| if corner.y < 0.0 { low } else { high };
            let points = corners.iter().map(|c| DVec3::new(c.x * scale(*c), c.y, c.z * scale(*c))).collect();
            (Shape::ConvexHull { points }, y, DQuat::IDENTITY)
        }
        "mesh" => {
            let half = DVec3::new(length(0.05, 0.3), length(0.05, 0.2), length(0.05, 0.3));
            (block_mesh(half), half.y, DQuat::IDENTITY)
        }
        _ => {
            let (half, radius) =
                (DVec3::new(length(0.05, 0.2), length(0.05, 0.1), length(0.05, 0.2)), length(0.03, 0.1));
            let part = |x: f64, y: f64, shape: Shape| Placed {
                pose: Pose { translation: DVec3::new(x, y, 0.0), ..Pose::IDENTITY },
                shape,
            };
            let size = 2.0 * half;
            let parts = vec![
                part(-half.x, half.y, Shape::Box { size }),
                part(half.x, half.y, Shape::Box { size }),
                part(2.0 * half.x + radius, radius, Shape::Sphere { radius }),
            ];
            (Shape::Compound { parts }, 0.0, DQuat::IDENTITY)
        }
    };
    (Placed { pose: Pose { translation: DVec3::ZERO, rotation }, shape }, height)
}

/// Ends of tiles along an axis: gaps up to `gap` between them.
fn tile_ends(stream: &mut Stream, from: f64, gap: f64) -> Vec<[f64; 2]> {
    let mut ends = Vec::new();
    let mut low = from;
    while low < HALF {
        let high = low + stream.between(0.2, 1.0);
        ends.push([low, high]);
        low = high + gap * if stream.happens(0.3) { 1.0 } else { stream.uniform() };
    }
    ends
}

fn scene(floor: &str, kind: &str, stream: &mut Stream, (gap, step): (f64, f64), speed: f64) -> Scene {
    let mut world = scene::world();
    let turn = if stream.happens(0.5) { rotation(stream) } else { DQuat::from_rotation_y(stream.between(-3.0, 3.0)) };
    let shift = DVec3::new(stream.between(-5.0, 5.0), stream.between(-5.0, 5.0), stream.between(-5.0, 5.0));
    let placed = |at: DVec3, rotation: DQuat| Pose { translation: shift + turn * at, rotation: turn * rotation };
    world.mechanism.gravity = turn * DVec3::new(0.0, -G, 0.0);
    let mut start = -HALF;
    let smooth = Material { friction: 0.0, ..Material::default() };
    if floor == "terrain and boxes" {
        start = stream.between(-0.3, 0.3);
        let width = start + HALF - gap;
        let field = Heightfield {
            points_x: 5,
            points_z: 6,
            width,
            depth: 2.0 * HALF,
            heights: vec![0.0; 30].into(),
            pose: placed(DVec3::new(start - gap - 0.5 * width, 0.0, 0.0), DQuat::IDENTITY),
            material: scene::GRIP,
        };
        world.mechanism.grounds = vec![field.into()];
    }
    let (columns, rows) = (tile_ends(stream, start, gap), tile_ends(stream, -HALF, gap));
    let mut parts = Vec::new();
    for [x0, x1] in columns {
        for &[z0, z1] in &rows {
            let top = if stream.happens(0.5) { step } else { step * stream.uniform() };
            let half = 0.5 * DVec3::new(x1 - x0, THICK, z1 - z0);
            let at = DVec3::new(0.5 * (x0 + x1), top - 0.5 * THICK, 0.5 * (z0 + z1));
            // The axes of a tile are in any order.
            let order = [
                DQuat::IDENTITY,
                DQuat::from_rotation_x(1.0),
                DQuat::from_rotation_z(1.0),
                DQuat::from_rotation_y(1.0),
            ][stream.below(4)];
            let order = DQuat::from_scaled_axis(order.to_scaled_axis() * std::f64::consts::FRAC_PI_2);
            let half = (order.inverse() * half).abs();
            let shape = tile(floor, stream, half);
            parts.push(Placed { pose: Pose { translation: at, rotation: order }, shape });
        }
    }
    let add = |world: &mut World, pose: Pose, shape: Shape| {
        let mut floor = body(&format!("floor{}", world.mechanism.bodies.len()), 1.0, Some(shape), DVec3::ZERO);
        (floor.fixed, floor.pose, floor.material) = (true, pose, scene::GRIP);
        world.mechanism.bodies.push(floor);
    };
    if floor.ends_with("compound") {
        add(&mut world, placed(DVec3::ZERO, DQuat::IDENTITY), Shape::Compound { parts });
    } else {
        for Placed { pose, shape } in parts {
            add(&mut world, placed(pose.translation, pose.rotation), shape);
        }
    }
    let (shape, height) = slider(kind, stream);
    let angle = stream.between(-3.2, 3.2);
    let velocity = speed * DVec3::new(libm::cos(angle), 0.0, libm::sin(angle));
    let yaw = DQuat::from_rotation_y(if stream.happens(0.3) { -angle } else { stream.between(-3.2, 3.2) });
    let index = world.mechanism.bodies.len();
    let mut moving = body(kind, 2.0, None, DVec3::ZERO);
    let from = DVec3::Y * (height + step) - velocity * (0.5 * seconds(speed));
    (moving.shape, moving.pose, moving.linear_velocity, moving.material) =
        (Some(shape), placed(from, yaw), turn * velocity, smooth);
    world.mechanism.bodies.push(moving);
    Scene { world, slider: index, height: height + step, velocity, turn }
}

/// Duration of a run, s: the way is at most 3 m.
fn seconds(speed: f64) -> f64 {
    (3.0 / speed).min(1.0)
}

/// Relative change of the velocity along the floor, largest rise and largest fall from the start, m.
fn slide(scene: &Scene, h: f64) -> (f64, f64, f64) {
    let mut engine = build(&scene.world, h);
    let start = position(&*engine, scene.slider);
    let up = scene.turn * DVec3::Y;
    let (mut rise, mut fall) = (0.0f64, 0.0f64);
    for _step in 0..steps(h, seconds(scene.velocity.length())) {
        engine.step();
        assert!(!diverged(&*engine));
        if std::env::var("SEED").is_ok() {
            let state = engine.body(simpartner_model::BodyId::new(scene.slider));
            let own = |v: DVec3| scene.turn.inverse() * v;
            let odd =
                engine.contacts().iter().any(|c| own(c.normal).y.abs() < 1.0 - 1e-15 && c.wrench.force.length() > 0.0);
            if odd || !engine.notices().is_empty() {
                println!(
                    "step {_step}: v {} w {} p {}",
                    own(state.linear_velocity),
                    own(state.angular_velocity),
                    own(state.pose.translation - start)
                );
                for c in engine.contacts().iter() {
                    println!(
                        "   {:?} n {} p {} gap {:.3e} f {:.3e}",
                        c.bodies[0],
                        own(c.normal),
                        own(c.point - start),
                        c.gap,
                        c.wrench.force.length()
                    );
                }
                for n in engine.notices() {
                    println!("   {n:?}");
                }
            }
        }
        let height = (position(&*engine, scene.slider) - start).dot(up);
        (rise, fall) = (rise.max(height), fall.max(-height));
    }
    let end = scene.turn.inverse() * velocity(&*engine, scene.slider);
    let along = DVec3::new(end.x, 0.0, end.z);
    ((along - scene.velocity).length() / scene.velocity.length(), rise, fall)
}

#[test]
fn no_body_notices_a_seam() {
    let long = std::env::var_os("SIMPARTNER_LONG_TESTS").is_some();
    let seeds = if long { 0..1000 } else { 0..126u64 };
    let only = std::env::var("SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let seeds = only.map_or(seeds, |seed| seed..seed + 1);
    let mut bad = 0;
    for seed in seeds {
        let mut stream = Stream::from_number(seed);
        let floor = FLOORS[seed as usize % FLOORS.len()];
        let kind = SLIDERS[(seed as usize / FLOORS.len()) % SLIDERS.len()];
        let gap = [0.0, 1e-4, 1e-4 * stream.uniform()][stream.below(3)];
        let step = [0.0, 0.0, 1e-5 * stream.uniform()][stream.below(3)];
        let h = [0.001, 0.01][stream.below(2)];
        let speed = stream.between(0.3, 3.0);
        let scene = scene(floor, kind, &mut stream, (gap, step), speed);
        let (loss, rise, fall) = slide(&scene, h);
        // The energy of the step, as a part of the kinetic energy.
        let allowed = 1e-9 + 2.0 * G * step / (speed * speed);
        if loss > allowed || rise > step + 1e-8 || fall > step + 1e-8 {
            bad += 1;
            println!(
                "{seed}: {kind} over {floor}, gap {gap:.1e}, step {step:.1e}, h {h}, {speed:.2} m/s: loss {loss:.1e} of {allowed:.1e}, rise {rise:.1e}, fall {fall:.1e}"
            );
        }
        let _ = scene.height;
    }
    assert_eq!(bad, 0);
}
