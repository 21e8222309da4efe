//! Rays hit the ruts in soil.
//!
//! The ground is lowered in each cell by its depth, so a point is in the soil if it is deeper below the original ground
//! than its cell was pressed. The test samples points along a ray until one is in the soil, and finds the border by
//! bisection.

use std::collections::HashMap;

use bevy_math::{DQuat, DVec3};
use simpartner_dynamics::{Engine, RUT_CELL, Ray, Settings, rut_axes};
use simpartner_model::{
    Body, BodyId, Ground, Heightfield, Material, Mechanism, Placed, Plane, Pose, Shape, Soil, Timestep, random::Stream,
};

use super::{random_turn, random_vector};

/// Distance of the samples along a ray, m. Thinner features may lie between two of them.
const APART: f64 = 5e-4;
/// Largest difference of distances, m: as [`super::SAME`].
const SAME: f64 = 1e-9;

/// The ground and the depths of its cells.
struct Pressed<'a> {
    ground: &'a Ground,
    depths: HashMap<[i64; 2], f64>,
}

impl<'a> Pressed<'a> {
    fn new(model: &'a Mechanism, engine: &dyn Engine) -> Self {
        let cell = |place: [f64; 2]| place.map(|along| (along / RUT_CELL).floor() as i64);
        let depths = engine.ruts(0).iter().map(|rut| (cell(rut.centre), rut.depth)).collect();
        Self { ground: &model.grounds[0], depths }
    }

    /// Depth of a point below the undisturbed ground, m: vertical below terrain, normal to a plane; factor to the depth
    /// along the normal, in which ruts are measured; and position on the grid of ruts, m. `None` beside the ground.
    fn below(&self, point: DVec3) -> Option<(f64, f64, [f64; 2])> {
        match self.ground {
            Ground::Plane(plane) => {
                let above = plane.normal.dot(point) - plane.distance;
                let surface = point - plane.normal * above;
                Some((-above, 1.0, rut_axes(plane.normal).map(|axis| axis.dot(surface))))
            }
            Ground::Heightfield(field) => {
                let local = field.pose.rotation.inverse() * (point - field.pose.translation);
                let along = |at: f64, extent: f64, points: usize| (at / extent + 0.5) * (points - 1) as f64;
                let (x, z) = (along(local.x, field.width, field.points_x), along(local.z, field.depth, field.points_z));
                let (i, j) = (x.floor(), z.floor());
                let last = |points: usize| (points - 2) as f64;
                if !(0.0..=last(field.points_x)).contains(&i) || !(0.0..=last(field.points_z)).contains(&j) {
                    return None;
                }
                let (u, v) = (x - i, z - j);
                let height = |di: usize, dj: usize| field.heights[(i as usize + di) * field.points_z + j as usize + dj];
                let (base, along_x, along_z) = if u + v <= 1.0 {
                    let base = height(0, 0);
                    let (rise_x, rise_z) = (height(1, 0) - base, height(0, 1) - base);
                    (base + u * rise_x + v * rise_z, rise_x, rise_z)
                } else {
                    let base = height(1, 1);
                    let (rise_x, rise_z) = (base - height(0, 1), base - height(1, 0));
                    (base - (1.0 - u) * rise_x - (1.0 - v) * rise_z, rise_x, rise_z)
                };
                let slope_x = along_x * (field.points_x - 1) as f64 / field.width;
                let slope_z = along_z * (field.points_z - 1) as f64 / field.depth;
                let per_depth = (1.0 + slope_x * slope_x + slope_z * slope_z).sqrt();
                let surface = field.pose.point(DVec3::new(local.x, base, local.z));
                Some((base - local.y, per_depth, [surface.x, surface.z]))
            }
            Ground::Mesh(_) => None,
        }
    }

    fn depth(&self, place: [f64; 2]) -> f64 {
        self.depths.get(&place.map(|along| (along / RUT_CELL).floor() as i64)).copied().unwrap_or(0.0)
    }

    fn is_solid(&self, point: DVec3) -> bool {
        self.below(point).is_some_and(|(below, per_depth, place)| below >= per_depth * self.depth(place))
    }

    /// Distance at which a ray from the open enters the soil.
    fn cast(&self, ray: &Ray) -> Option<f64> {
        let solid = |distance: f64| self.is_solid(ray.origin + ray.direction * distance);
        let last = (ray.range / APART).ceil() as usize;
        let place = |number: usize| (number as f64 * APART).min(ray.range);
        let first = (1..=last).find(|&number| solid(place(number)))?;
        let (mut open, mut closed) = (place(first - 1), place(first));
        for _ in 0..60 {
            let middle = 0.5 * (open + closed);
            if solid(middle) { closed = middle } else { open = middle }
        }
        Some(closed)
    }
}

/// A ground of soil, and the direction away from it.
fn soil_ground(random: &mut Stream, kind: usize) -> (Ground, DVec3) {
    let soil = Soil::named(["drySand", "lunar", "sandyLoam"][random.below(2)]).unwrap();
    let material = Material { soil: Some(soil), ..Material::default() };
    if kind > 0 {
        let lean = if kind == 1 { 0.5 } else { 3.0 };
        let normal = (DVec3::Y + random_vector(random, lean)).normalize();
        return (Plane { normal, distance: random.between(-0.5, 0.5), material }.into(), normal);
    }
    let lean = DQuat::from_rotation_x(random.between(-0.2, 0.2)) * DQuat::from_rotation_y(random.between(-3.0, 3.0));
    let points = 8 + random.below(40);
    let field = Heightfield {
        points_x: points,
        points_z: points + 3,
        width: 4.0,
        depth: 5.0,
        heights: (0..points * (points + 3)).map(|_| random.between(-0.02, 0.02)).collect(),
        pose: Pose { translation: random_vector(random, 0.2), rotation: lean },
        material,
    };
    let up = lean * DVec3::Y;
    (field.into(), up)
}

/// A body that is thrown onto soil and has rolled or slid on it.
fn world(random: &mut Stream, kind: usize) -> (Mechanism, DVec3) {
    let (ground, up) = soil_ground(random, kind);
    let start = match &ground {
        Ground::Plane(plane) => plane.normal * plane.distance,
        Ground::Heightfield(field) => field.pose.translation,
        Ground::Mesh(_) => DVec3::ZERO,
    };
    let shape = match random.below(3) {
        0 => Shape::Sphere { radius: 0.12 },
        1 => Shape::Box { size: DVec3::new(0.2, 0.1, 0.15) },
        _ => Shape::Cylinder { radius: 0.12, length: 0.1 },
    };
    let along = up.any_orthonormal_vector();
    let body = Body {
        name: "thrown".into(),
        mass: random.between(5.0, 30.0),
        pose: Pose { translation: start + up * 0.25, rotation: random_turn(random) },
        linear_velocity: along * random.between(0.5, 2.0),
        shape: Some(Placed { pose: Pose::IDENTITY, shape }),
        ..Body::default()
    };
    let gravity = up * -9.81;
    (Mechanism { gravity, grounds: vec![ground], bodies: vec![body], ..Mechanism::default() }, up)
}

/// Number of rays, number of them that hit features between the samples, and number of vertical ones that hit the floor
/// of a rut.
fn compare(seed: u64) -> [usize; 3] {
    let mut random = Stream::from_number(seed);
    let (model, up) = world(&mut random, seed as usize % 3);
    let mut engine = simpartner_dynamics::build(&model, Timestep::MILLISECOND, &Settings::default()).unwrap();
    let untouched = engine.ray_scene();
    (0..800).for_each(|_| engine.step());
    let ground = Pressed::new(&model, &*engine);
    let scene = engine.ray_scene();
    let copy = scene.with_state(&scene.state()).unwrap();
    let ignore = Some(BodyId::new(0));
    // Points on the ground above ruts, by going towards it from the way of the body.
    let middle = engine.body(BodyId::new(0)).pose.translation;
    let start = model.bodies[0].pose.translation;
    let (mut cast, mut thin, mut lowered) = (0, 0, 0);
    for _ in 0..80 {
        let over = start + (middle - start) * random.between(-0.1, 1.1) + random_vector(&mut random, 0.06);
        let Some((below, ..)) = ground.below(over) else { continue };
        let on_ground = over + up * below;
        let down = Ray { origin: on_ground + up * 0.5, direction: -up, range: 2.0, ignore };
        let Some((rest, per_depth, place)) = ground.below(down.origin) else { continue };
        let expected = per_depth * ground.depth(place) - rest;
        let seen = engine.cast_ray(&down).expect("there is ground");
        assert!((seen - expected).abs() < SAME, "seed {seed}: {seen} for {expected} straight down at {place:?}");
        lowered += usize::from(ground.depth(place) > 0.0);
        assert!((untouched.cast(&down).unwrap() + rest).abs() < SAME, "seed {seed}: a scene stays as it was");
        // From above, along the ground, or from within the rut.
        let origin = match random.below(3) {
            0 => on_ground + up * 0.3 + random_vector(&mut random, 0.2),
            1 => on_ground + up * 0.02 + random_vector(&mut random, 0.2),
            _ => on_ground - up * (0.5 * ground.depth(place)) + up * 1e-6,
        };
        let aim = if random.happens(0.5) { on_ground - origin } else { DVec3::ZERO };
        let direction = (aim + random_vector(&mut random, 0.1) + DVec3::splat(1e-7)).normalize();
        let ray = Ray { origin, direction, range: random.between(0.2, 1.5), ignore };
        if ground.is_solid(origin) {
            continue;
        }
        let (seen, expected) = (engine.cast_ray(&ray), ground.cast(&ray));
        assert_eq!(seen, copy.cast(&ray), "seed {seed}: a scene follows from its state");
        cast += 1;
        match (seen, expected) {
            (Some(one), Some(two)) if (one - two).abs() < SAME => {}
            (None, None) => {}
            // A corner between two samples, or the end of the range: the ray must enter the soil there.
            (Some(one), _) if expected.is_none_or(|two| one < two) => {
                let solid = |distance: f64| ground.is_solid(ray.origin + ray.direction * distance);
                assert!(!solid(one - 1e-8) && solid(one + 1e-10), "seed {seed}: {seen:?} for {expected:?}, {ray:?}");
                thin += 1;
            }
            _ => panic!("seed {seed}: {seen:?} for {expected:?}, {ray:?}"),
        }
    }
    [cast, thin, lowered]
}

/// Twelve worlds; 600 with `SIMPARTNER_LONG_TESTS=1`.
#[test]
fn rays_meet_soil_where_it_was_pressed_to() {
    let worlds = if std::env::var_os("SIMPARTNER_LONG_TESTS").is_some() { 600 } else { 12 };
    let mut sums = [0; 3];
    for seed in 0..worlds {
        let counts = compare(seed);
        [0, 1, 2].into_iter().for_each(|index| sums[index] += counts[index]);
    }
    let [cast, thin, lowered] = sums;
    println!(
        "{cast} rays in {worlds} worlds, {thin} of them at what is thinner than {APART} m, and {lowered} down into ruts"
    );
    let worlds = worlds as usize;
    assert!(cast > 20 * worlds && 20 * thin < cast && lowered > 10 * worlds, "{sums:?}");
}
