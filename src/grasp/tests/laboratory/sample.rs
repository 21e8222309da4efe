//! Tests of the sampler: points are uniform over the area, and poses meet the conditions of the sampling.
//!
//! The chi-square statistic of n cells is nearly normal with the mean n - 1 and the variance 2 (n - 1). A distance of
//! four standard deviations from the mean has a probability of about 1e-4 in each test. The seeds are fixed, so a test
//! that passes once always passes.

use std::f64::consts::PI;

use bevy_math::{DQuat, DVec3};
use simpartner_grasp::sample::{SampleError, Sampler, Surface};
use simpartner_model::{Body, Placed, Pose, Sampling, SamplingMode, Shape, random::Stream};

/// Number of points that a test draws.
const SAMPLES: usize = 1_000_000;

/// A mesh of a lengthened ball with dents. With 49 rows and 48 columns it has 4608 triangles, whose areas differ by a
/// factor of about 40.
pub(crate) fn dented_ball(rows: u32, columns: u32) -> Shape {
    let mut vertices = vec![DVec3::NEG_Y * 0.05, DVec3::Y * 0.05];
    for row in 1..rows {
        for column in 0..columns {
            let latitude = PI * (f64::from(row) / f64::from(rows) - 0.5);
            let longitude = 2.0 * PI * f64::from(column) / f64::from(columns);
            let radius = 0.03 * (1.0 + 0.15 * (3.0 * longitude).cos() * latitude.cos());
            let (x, z) = (longitude.cos() * latitude.cos(), longitude.sin() * latitude.cos());
            vertices.push(DVec3::new(radius * x, 0.05 * latitude.sin(), radius * z));
        }
    }
    let at = |row: u32, column: u32| 2 + (row - 1) * columns + column % columns;
    let mut triangles = Vec::new();
    for column in 0..columns {
        triangles.push([0, at(1, column), at(1, column + 1)]);
        triangles.push([1, at(rows - 1, column + 1), at(rows - 1, column)]);
        for row in 1..rows - 1 {
            let corners = [at(row, column), at(row + 1, column), at(row + 1, column + 1), at(row, column + 1)];
            triangles.push([corners[0], corners[1], corners[2]]);
            triangles.push([corners[0], corners[2], corners[3]]);
        }
    }
    Shape::TriangleMesh { vertices, triangles }
}

fn body(shape: Shape) -> Body {
    Body { mass: 0.1, shape: Some(Placed { pose: Pose::IDENTITY, shape }), ..Body::default() }
}

fn sampling(mode: SamplingMode) -> Sampling {
    Sampling {
        mode,
        distance: [0.0, 0.0],
        rotation_fault: false,
        tilt: PI,
        approach: None,
        friction: 0.5,
        opening: 0.2,
    }
}

/// Checks that the chi-square statistic of the counts is within four standard deviations of its mean.
#[track_caller]
fn check_even(counts: &[f64], expected: &[f64]) {
    assert!(expected.iter().all(|count| *count > 5.0), "too few in a cell for the statistic (Cochran)");
    let chi_square: f64 = counts.iter().zip(expected).map(|(n, e)| (n - e) * (n - e) / e).sum();
    let freedom = counts.len() as f64 - 1.0;
    let deviations = (chi_square - freedom) / (2.0 * freedom).sqrt();
    assert!(deviations.abs() < 4.0, "chi-square {chi_square} of {freedom} degrees of freedom: {deviations} deviations");
}

#[test]
fn every_triangle_of_a_mesh_gets_its_share_of_a_million_points() {
    let surface = Surface::new(&Placed { pose: Pose::IDENTITY, shape: dented_ball(49, 48) }).unwrap();
    assert_eq!(surface.pieces(), 4608);
    let mut counts = vec![0.0; surface.pieces()];
    let mut stream = Stream::from_number(1);
    for _ in 0..SAMPLES {
        counts[surface.draw(&mut stream).unwrap().piece] += 1.0;
    }
    let share = |piece| SAMPLES as f64 * surface.piece_area(piece) / surface.area();
    let expected: Vec<f64> = (0..surface.pieces()).map(share).collect();
    check_even(&counts, &expected);
}

/// The cells are 64 similar triangles: lines at eighths of the barycentric coordinates divide the triangle.
#[test]
fn every_cell_of_a_triangle_gets_the_same_of_a_million_points() {
    let [a, b, c] = [DVec3::ZERO, DVec3::new(0.3, 0.0, 0.1), DVec3::new(0.02, 0.2, 0.0)];
    let shape = Shape::TriangleMesh { vertices: vec![a, b, c], triangles: vec![[0, 1, 2]] };
    let surface = Surface::new(&Placed { pose: Pose::IDENTITY, shape }).unwrap();
    let area = (b - a).cross(c - a).length();
    let mut counts = vec![0.0; 64];
    let mut stream = Stream::from_number(2);
    for _ in 0..SAMPLES {
        let point = surface.draw(&mut stream).unwrap().position;
        let share = |p: DVec3, q: DVec3| 8.0 * (p - point).cross(q - point).length() / area;
        let (u, v) = (share(b, c), share(c, a));
        let (row, column) = (u.floor().min(7.0), v.floor().min(7.0));
        let upper = (u - row) + (v - column) > 1.0;
        // Row r has 8 - r upright cells and 7 - r inverted ones.
        let before = |row: f64| row * (16.0 - row);
        counts[(before(row) + 2.0 * column + f64::from(upper)) as usize] += 1.0;
    }
    check_even(&counts, &[SAMPLES as f64 / 64.0; 64]);
}

/// Counts on round shapes, in cells of known area: slices and sectors of a ball, slices of a cylinder's side, rings of
/// its end, rings of a cone's side, and slices of a capsule's cap.
#[test]
fn round_surfaces_are_even() {
    let draw = |shape: Shape, seed| {
        let surface = Surface::new(&Placed { pose: Pose::IDENTITY, shape }).unwrap();
        let mut stream = Stream::from_number(seed);
        (0..SAMPLES / 4).map(move |_| surface.draw(&mut stream).unwrap()).collect::<Vec<_>>()
    };
    let count = |cells: usize, of: &mut dyn Iterator<Item = f64>| {
        let mut counts = vec![0.0; cells];
        of.for_each(|share| counts[((share * cells as f64) as usize).min(cells - 1)] += 1.0);
        counts
    };
    let even = |counts: Vec<f64>| {
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        check_even(&counts, &vec![mean; counts.len()]);
    };
    let turn = |p: DVec3| (p.z.atan2(p.x) / (2.0 * PI) + 1.0) % 1.0;
    let ball = draw(Shape::Sphere { radius: 0.3 }, 3);
    even(count(100, &mut ball.iter().map(|point| (point.position.y / 0.3 + 1.0) / 2.0)));
    even(count(100, &mut ball.iter().map(|point| turn(point.position))));
    let cylinder = draw(Shape::Cylinder { radius: 0.2, length: 0.5 }, 4);
    let side = |point: &&simpartner_grasp::sample::SurfacePoint| point.normal.y.abs() < 0.5;
    even(count(100, &mut cylinder.iter().filter(side).map(|point| point.position.y / 0.5 + 0.5)));
    let disc = |point: &&simpartner_grasp::sample::SurfacePoint| point.normal.y > 0.5;
    let ring = |p: DVec3| (p.x * p.x + p.z * p.z) / 0.04;
    even(count(50, &mut cylinder.iter().filter(disc).map(|point| ring(point.position))));
    // The area of the side is 2 pi r l, that of each end pi r².
    let [on_side, on_top] = [cylinder.iter().filter(side).count(), cylinder.iter().filter(disc).count()];
    let (all, total) = (cylinder.len() as f64, 2.0 * 0.2 * 0.5 + 2.0 * 0.04);
    let bottom = all - on_side as f64 - on_top as f64;
    check_even(&[on_side as f64, on_top as f64, bottom], &[0.2, 0.04, 0.04].map(|area| all * area / total));
    let cone = draw(Shape::Cone { radius: 0.2, length: 0.5 }, 5);
    let slope = cone.iter().filter(|point| point.normal.y > 0.0);
    even(count(100, &mut slope.map(|point| ring(point.position))));
    let capsule = draw(Shape::Capsule { radius: 0.2, length: 0.5 }, 6);
    let cap = capsule.iter().filter(|point| point.position.y > 0.25);
    even(count(50, &mut cap.map(|point| (point.position.y - 0.25) / 0.2)));
}

/// Points are on the surface, and normals point out of it, whatever the shape.
#[test]
fn a_point_and_its_normal_are_those_of_the_shape() {
    let shapes = [
        Shape::Box { size: DVec3::new(0.1, 0.2, 0.3) },
        Shape::Sphere { radius: 0.1 },
        Shape::Ellipsoid { radii: DVec3::new(0.1, 0.2, 0.05) },
        Shape::Cylinder { radius: 0.1, length: 0.3 },
        Shape::Capsule { radius: 0.1, length: 0.3 },
        Shape::Cone { radius: 0.1, length: 0.3 },
        Shape::ConvexHull { points: vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z, DVec3::ONE] },
    ];
    let pose = Pose::from_xyz_rpy(DVec3::new(0.3, -0.2, 0.1), DVec3::new(0.4, 1.1, -2.0));
    for shape in shapes {
        let placed = Placed { pose, shape };
        let surface = Surface::new(&placed).unwrap();
        let mut stream = Stream::from_number(7);
        for _ in 0..2000 {
            let point = surface.draw(&mut stream).unwrap();
            // All these shapes are convex, so no part of the shape is beyond the tangent plane.
            let beyond = placed.reach(point.normal) - point.position.dot(point.normal);
            assert!(beyond.abs() < 1e-9, "{:?}: {beyond}", placed.shape);
            assert!((point.normal.length() - 1.0).abs() < 1e-12);
        }
    }
}

/// The compound is two overlapping boxes: no point that is drawn on one box is inside of the other box.
#[test]
fn nothing_is_drawn_inside_of_a_compound() {
    let part = |x: f64| Placed {
        pose: Pose { translation: DVec3::X * x, ..Pose::IDENTITY },
        shape: Shape::Box { size: DVec3::splat(0.2) },
    };
    let shape = Shape::Compound { parts: vec![part(0.0), part(0.1)] };
    let surface = Surface::new(&Placed { pose: Pose::IDENTITY, shape }).unwrap();
    let mut stream = Stream::from_number(8);
    for _ in 0..20_000 {
        let p = surface.draw(&mut stream).unwrap().position;
        let ends = (p.x + 0.1).abs() < 1e-12 || (p.x - 0.2).abs() < 1e-12;
        let sides = (p.y.abs() - 0.1).abs() < 1e-12 || (p.z.abs() - 0.1).abs() < 1e-12;
        assert!(ends || sides, "{p}");
    }
}

/// The z axis of the tool meets the surface at `distance`. With the fault of the original program it points elsewhere.
#[test]
fn the_tool_points_at_the_surface_unless_the_fault_is_asked_for() {
    let ball = body(Shape::Sphere { radius: 0.1 });
    let given = Sampling { distance: [0.02, 0.03], ..sampling(SamplingMode::Surface) };
    let passes = |given: &Sampling| {
        let sampler = Sampler::new(&ball, given).unwrap();
        let points_at_it = (0..1000).filter(|&number| {
            let pose = sampler.pose(9, number).unwrap();
            // The z axis meets the ball between 2 and 3 cm from the tool.
            let gap = |along: f64| pose.point(DVec3::Z * along).length() - 0.1;
            let steps: Vec<f64> = (0..=100).map(|k| gap(0.02 + 1e-4 * f64::from(k))).collect();
            steps.windows(2).any(|pair| pair[0] * pair[1] <= 0.0)
        });
        points_at_it.count()
    };
    assert_eq!(passes(&given), 1000);
    assert!(passes(&Sampling { rotation_fault: true, ..given }) < 200);
}

#[test]
fn filters_hold_what_they_say() {
    let ball = body(Shape::Sphere { radius: 0.1 });
    let down = DVec3::new(0.3, -1.0, 0.2).normalize();
    let given = Sampling { tilt: 0.4, approach: Some((down, 0.5)), ..sampling(SamplingMode::Surface) };
    let sampler = Sampler::new(&ball, &given).unwrap();
    for number in 0..500 {
        let pose = sampler.pose(10, number).unwrap();
        let z = pose.direction(DVec3::Z);
        assert!(z.angle_between(down) <= 0.5 + 1e-9);
        assert!(z.angle_between(-pose.translation.normalize()) <= 0.4 + 1e-9);
    }
    let impossible = Sampling { opening: 0.01, ..sampling(SamplingMode::Antipodal) };
    assert_eq!(Sampler::new(&ball, &impossible).unwrap().pose(10, 0), Err(SampleError::Filters));
    assert!(matches!(Sampler::new(&Body::default(), &given), Err(SampleError::NoSurface)));
}

/// Both ends of the line between the jaws are on the surface, and the line is inside the friction cones of both.
#[test]
fn antipodal_poses_are_between_two_points_that_face_each_other() {
    let size = DVec3::new(0.06, 0.08, 0.1);
    let friction: f64 = 0.3;
    let given = Sampling { friction, opening: 0.09, ..sampling(SamplingMode::Antipodal) };
    let sampler = Sampler::new(&body(Shape::Box { size }), &given).unwrap();
    for number in 0..2000 {
        let pose = sampler.pose(11, number).unwrap();
        let line = pose.direction(DVec3::X);
        // The two faces that the jaws touch are those most nearly perpendicular to the line.
        let along = (0..3).max_by(|a, b| line[*a].abs().total_cmp(&line[*b].abs())).unwrap();
        assert!(line.angle_between(DVec3::AXES[along] * line[along].signum()) <= friction.atan() + 1e-9);
        let width = size[along] / line[along].abs();
        assert!(width <= 0.09 && pose.translation[along].abs() < 1e-9, "{pose:?}");
        let ends = [-0.5, 0.5].map(|side| pose.translation + line * (side * width));
        assert!(ends.iter().all(|end| end.abs().cmple(size / 2.0 + 1e-9).all()), "{ends:?}");
    }
    let mesh = Sampler::new(&body(dented_ball(20, 24)), &sampling(SamplingMode::Antipodal)).unwrap();
    for number in 0..200 {
        let pose = mesh.pose(12, number).unwrap();
        assert!((pose.rotation.length() - 1.0).abs() < 1e-12 && pose.translation.length() < 0.05);
    }
}

/// Random rotations have no preferred axis: the mean of each entry of the matrix is 0 within 5 / sqrt(3 n), which is
/// five standard deviations.
#[test]
fn rotations_are_even_and_repeat() {
    let sampler = Sampler::new(&body(Shape::Sphere { radius: 0.1 }), &sampling(SamplingMode::Surface)).unwrap();
    let (count, mut sum) = (20_000, [DVec3::ZERO; 3]);
    for number in 0..count {
        let pose = sampler.pose(13, number).unwrap();
        sum.iter_mut().zip(DVec3::AXES).for_each(|(sum, axis)| *sum += pose.direction(axis) / count as f64);
        if number < 100 {
            assert_eq!(sampler.pose(13, number).unwrap(), pose, "a number has the same pose always");
            assert_ne!(sampler.pose(14, number).unwrap(), pose);
        }
    }
    let bound = 5.0 / (3.0 * count as f64).sqrt();
    assert!(sum.iter().all(|mean| mean.abs().max_element() < bound), "{sum:?}");
    assert_ne!(sampler.pose(13, 0).unwrap().rotation, DQuat::IDENTITY);
}
