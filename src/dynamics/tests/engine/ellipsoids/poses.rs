//! Contacts of ellipsoids at random poses, against spheres and against closest points by projection.
//!
//! Projecting a point onto one convex body and then onto the other, in turns, converges to their closest points (Cheney
//! and Goldstein 1959). The projection onto an ellipsoid bisects for its multiplier; nothing of it is the engine's.

use bevy_math::{DQuat, DVec3};
use simpartner_dynamics::{ContactPoint, Probe};
use simpartner_model::{Ground, Heightfield, Material, Mechanism, Placed, Plane, Pose, Shape, random::Stream};

use crate::scene::{self, body};

/// Distance at which pairs are placed: within reach of the search for contacts, m.
const GAP: f64 = 1e-3;

fn probe_contacts(mechanism: &Mechanism) -> Vec<ContactPoint> {
    Probe::new(mechanism).unwrap().contacts()
}

fn random_vector(random: &mut Stream, low: f64, high: f64) -> DVec3 {
    DVec3::from([0; 3].map(|_| random.between(low, high)))
}

fn random_pose(random: &mut Stream, extent: f64) -> Pose {
    let axis = random_vector(random, -1.0, 1.0).normalize();
    let rotation = DQuat::from_axis_angle(axis, random.between(-3.0, 3.0));
    Pose { translation: random_vector(random, -extent, extent), rotation }
}

/// The point of a shape about its origin that is nearest to a point outside of it.
fn project_on_surface(shape: &Shape, point: DVec3) -> DVec3 {
    match shape {
        Shape::Box { size } => point.clamp(-*size / 2.0, *size / 2.0),
        Shape::Sphere { radius } => point * (radius / point.length()).min(1.0),
        Shape::Ellipsoid { radii } => {
            let squares = *radii * *radii;
            let at = |t: f64| squares * point / (squares + DVec3::splat(t));
            if (point / *radii).length() <= 1.0 {
                return point;
            }
            let (mut low, mut high) = (0.0, radii.max_element() * point.length());
            for _ in 0..200 {
                let middle = 0.5 * (low + high);
                if (at(middle) / *radii).length() > 1.0 { low = middle } else { high = middle }
            }
            at(0.5 * (low + high))
        }
        other => panic!("{other:?}"),
    }
}

/// The closest points of two convex shapes; `None` if they are nearer than 2 cm.
fn closest_points(shapes: [&Shape; 2], poses: [Pose; 2]) -> Option<[DVec3; 2]> {
    let onto = |index: usize, point: DVec3| {
        let pose = poses[index];
        pose.point(project_on_surface(shapes[index], pose.inverse().point(point)))
    };
    let (mut first, mut second) = (poses[0].translation, poses[1].translation);
    for _ in 0..5000 {
        let before = first;
        second = onto(1, first);
        first = onto(0, second);
        if (first - before).length() < 1e-17 {
            break;
        }
    }
    ((second - first).length() > 0.02).then_some([first, second])
}

/// Corners and triangles of a box.
fn box_surface(size: DVec3) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let corner = |k: u32| DVec3::new(f64::from(k & 1), f64::from(k >> 1 & 1), f64::from(k >> 2)) - DVec3::splat(0.5);
    let triangles = [
        [0, 2, 1],
        [1, 2, 3],
        [4, 5, 6],
        [5, 7, 6],
        [0, 1, 4],
        [1, 5, 4],
        [2, 6, 3],
        [3, 6, 7],
        [0, 4, 2],
        [2, 4, 6],
        [1, 3, 5],
        [3, 7, 5],
    ];
    ((0..8).map(|k| corner(k) * size).collect(), triangles.to_vec())
}

/// An ellipsoid against a box, also as a hull and as a mesh, a ball and another ellipsoid: at random poses, moved along
/// the line of their closest points to a gap of 1 mm.
#[test]
fn distances_are_those_of_projections() {
    let mut random = Stream::from_number(23);
    let mut worst = [0.0f64; 3];
    let mut compared = 0;
    for case in 0..200 {
        let radii = random_vector(&mut random, 0.05, 0.3);
        let size = random_vector(&mut random, 0.1, 0.5);
        let shape = Shape::Ellipsoid { radii };
        let (vertices, triangles) = box_surface(size);
        let others = match case % 3 {
            0 => vec![
                Shape::Box { size },
                Shape::ConvexHull { points: vertices.clone() },
                Shape::TriangleMesh { vertices, triangles },
            ],
            1 => vec![Shape::Sphere { radius: size.x }],
            _ => vec![Shape::Ellipsoid { radii: size }],
        };
        let poses = [random_pose(&mut random, 0.0), random_pose(&mut random, 0.7)];
        let Some([first, second]) = closest_points([&shape, &others[0]], poses) else { continue };
        compared += 1;
        let normal = (second - first).normalize();
        let shift = normal * (GAP - (second - first).length());
        let middle = first + normal * (0.5 * GAP);
        for other in others {
            for flip in [false, true] {
                let mut world = scene::world();
                let mut add = |name: &str, shape: &Shape, pose: &Pose, shift: DVec3| {
                    let mut own = body(name, 1.0, Some(shape.clone()), pose.translation + shift);
                    own.pose.rotation = pose.rotation;
                    world.mechanism.bodies.push(own);
                };
                if flip {
                    add("other", &other, &poses[1], shift);
                    add("stone", &shape, &poses[0], DVec3::ZERO);
                } else {
                    add("stone", &shape, &poses[0], DVec3::ZERO);
                    add("other", &other, &poses[1], shift);
                }
                let found = probe_contacts(&world.mechanism);
                let [contact] = &found[..] else { panic!("case {case}, {}: {found:?}", other.name()) };
                let wanted = if flip { -normal } else { normal };
                let errors =
                    [(contact.gap - GAP).abs(), (contact.point - middle).length(), (contact.normal - wanted).length()];
                for (worst, error) in worst.iter_mut().zip(errors) {
                    *worst = worst.max(error);
                }
                // The projections are exact to the root of rounding over the gap of their last step.
                let name = other.name();
                assert!(errors.iter().all(|error| *error < 1e-11), "case {case}, {name}, {flip}: {errors:?}");
            }
        }
    }
    println!("{compared} pairs: gap, point and normal off by {worst:?} at most");
    assert!(compared > 120, "{compared}");
}

/// Grounds and fixed bodies that stand around the origin.
fn build_surroundings(kind: usize) -> Mechanism {
    let mut world = scene::world();
    let mechanism = &mut world.mechanism;
    let size = DVec3::new(1.0, 0.6, 0.8);
    let (vertices, triangles) = box_surface(size);
    let shape = match kind {
        0 => {
            let normal = DVec3::new(0.2, 1.0, -0.3).normalize();
            mechanism.grounds.push(Plane { normal, distance: 0.1, material: Material::default() }.into());
            return world.mechanism;
        }
        1 => {
            mechanism.grounds.push(bumpy_terrain());
            return world.mechanism;
        }
        2 => Shape::Box { size },
        3 => Shape::ConvexHull { points: vertices },
        4 => Shape::TriangleMesh { vertices, triangles },
        5 => Shape::Sphere { radius: 0.5 },
        6 => Shape::Cylinder { radius: 0.4, length: 0.7 },
        7 => Shape::Capsule { radius: 0.3, length: 0.5 },
        8 => Shape::Cone { radius: 0.5, length: 0.8 },
        _ => Shape::Ellipsoid { radii: size * 0.5 },
    };
    mechanism.bodies.push(body("other", 1.0, Some(shape), DVec3::ZERO));
    mechanism.bodies[0].fixed = true;
    world.mechanism
}

fn bumpy_terrain() -> Ground {
    let points = 17;
    let mut field = Heightfield {
        points_x: points,
        points_z: points,
        width: 4.0,
        depth: 4.0,
        heights: Vec::new().into(),
        pose: Pose::IDENTITY,
        material: Material::default(),
    };
    let height = |index: usize| {
        let (x, z) = field.position(index / points, index % points);
        0.08 * libm::sin(3.0 * x) * libm::cos(2.0 * z + 0.4)
    };
    field.heights = (0..points * points).map(height).collect();
    field.into()
}

/// A thousand poses, each beside something else: a ball, and an ellipsoid of three equal radii, in any orientation.
#[test]
fn an_ellipsoid_of_equal_radii_touches_as_a_sphere() {
    let mut random = Stream::from_number(29);
    let (mut touching, mut worst) = ([0; 10], 0.0f64);
    for case in 0..1600 {
        let kind = case % 10;
        let radius = random.between(0.05, 0.4);
        let mut pose = random_pose(&mut random, 0.8);
        let contacts = |pose: &Pose, shape: Shape| {
            let mut mechanism = build_surroundings(kind);
            let mut own = body("own", 1.0, None, pose.translation);
            own.pose.rotation = pose.rotation;
            own.shape = Some(Placed { pose: Pose::IDENTITY, shape });
            mechanism.bodies.push(own);
            let mut found = probe_contacts(&mechanism);
            found.sort_by(|one, other| one.gap.total_cmp(&other.gap));
            found
        };
        // Comes from above in steps of its smallest radius until it touches, then by less than half a millimetre.
        let touches = |pose: &mut Pose, y: f64| {
            pose.translation.y = y;
            contacts(pose, Shape::Sphere { radius }).iter().any(|contact| contact.gap < 0.0)
        };
        let heights = (0..50).map(|step| 1.5 - 0.05 * f64::from(step));
        let Some(mut low) = heights.into_iter().find(|y| touches(&mut pose, *y)) else { continue };
        let mut high = low + 0.05;
        for _ in 0..7 {
            let middle = 0.5 * (low + high);
            if touches(&mut pose, middle) { low = middle } else { high = middle }
        }
        let ball = contacts(&pose, Shape::Sphere { radius });
        let found = contacts(&pose, Shape::Ellipsoid { radii: DVec3::splat(radius) });
        let Some(deepest) = ball.first() else { panic!("case {case} has no contact") };
        touching[kind] += 1;
        // On terrain, other shapes have open contacts with more of the triangles within reach than balls.
        let is_same_count = found.len() == ball.len() || kind == 1 && found.len() > ball.len();
        assert!(is_same_count, "case {case}, kind {kind}: {ball:?} {found:?}");
        let own = found.first().unwrap_or_else(|| panic!("case {case}: {ball:?}"));
        // The point of a ball on triangles is on these, that of all other shapes half way between the surfaces.
        let apart = own.point - deepest.point;
        let apart = if [1, 4].contains(&kind) { apart.reject_from_normalized(own.normal) } else { apart };
        let errors = [(own.gap - deepest.gap).abs(), apart.length(), (own.normal - deepest.normal).length()];
        worst = errors.into_iter().fold(worst, f64::max);
        assert!(errors.iter().all(|error| *error < 1e-9), "case {case}, kind {kind}: {errors:?}, {deepest:?} {own:?}");
    }
    println!("touching of each kind: {touching:?}, off by {worst:.1e} at most");
    assert!(touching.iter().sum::<i32>() > 1000 && touching.iter().all(|count| *count > 30), "{touching:?}");
}
