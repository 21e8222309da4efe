//! Tests that the number of triangles of terrain that a step visits does not depend on the size of the terrain.

use std::{cell::Cell, f64::consts::PI};

use bevy_math::{DQuat, DVec3};
use simpartner_model::{Body, Ground, Heightfield, Material, Mechanism, Placed, Pose, Shape, Timestep};

use crate::{EngineKind, Settings, build};

thread_local! {
    /// Triangles that the searches of this thread have visited.
    pub(super) static TRIANGLES_VISITED: Cell<usize> = const { Cell::new(0) };
}

/// Bumpy terrain about the origin, of `points` points each way, half a metre apart.
fn terrain(points: usize) -> Heightfield {
    let extent = 0.5 * (points - 1) as f64;
    let mut field = Heightfield {
        points_x: points,
        points_z: points,
        width: extent,
        depth: extent,
        heights: Vec::new().into(),
        pose: Pose::IDENTITY,
        material: Material::default(),
    };
    let height = |index: usize| {
        let (x, z) = field.position(index / points, index % points);
        if x.abs() > 20.0 || z.abs() > 20.0 { 0.0 } else { 0.1 * libm::sin(1.7 * x) * libm::cos(2.1 * z) }
    };
    field.heights = (0..points * points).map(height).collect();
    field
}

/// Number of triangles visited while bodies of all kinds roll and tumble over terrain for a second.
fn triangles_visited(field: Heightfield) -> usize {
    let shapes = [
        Shape::Sphere { radius: 0.3 },
        Shape::Box { size: DVec3::new(0.6, 0.4, 0.5) },
        Shape::Cylinder { radius: 0.3, length: 0.2 },
        Shape::Capsule { radius: 0.2, length: 0.4 },
        Shape::Cone { radius: 0.3, length: 0.4 },
    ];
    let bodies = shapes.into_iter().enumerate().map(|(index, shape)| Body {
        name: format!("body{index}"),
        mass: 2.0,
        pose: Pose {
            translation: DVec3::new(3.0 * index as f64 - 6.0, 0.6, 0.2),
            rotation: DQuat::from_rotation_x(1.4),
        },
        linear_velocity: DVec3::new(0.0, 0.0, 2.0),
        shape: Some(Placed { pose: Pose::IDENTITY, shape }),
        ..Body::default()
    });
    let mechanism = Mechanism {
        gravity: DVec3::new(0.0, -9.81, 0.0),
        grounds: vec![Ground::from(field)],
        bodies: bodies.collect(),
        ..Mechanism::default()
    };
    let settings = Settings { engine: EngineKind::Dynamics, ..Settings::default() };
    let mut engine = build(&mechanism, Timestep::MILLISECOND, &settings).expect("an engine");
    TRIANGLES_VISITED.set(0);
    for _ in 0..1000 {
        engine.step();
    }
    TRIANGLES_VISITED.get()
}

#[test]
fn a_step_looks_at_as_many_triangles_of_large_terrain_as_of_small() {
    let (small, large) = (triangles_visited(terrain(64)), triangles_visited(terrain(4096)));
    assert_eq!(small, large);
    assert!(small > 10_000, "{small}");
}

/// A wheel stands on terrain so that it ends in the middle of cells. While it spins about its axle, it stays within the
/// same cells; a tumbling wheel may reach more triangles.
#[test]
fn a_wheel_that_spins_about_its_axle_looks_no_further() {
    let looked_at = |spin: DVec3| {
        let wheel = Body {
            pose: Pose { translation: DVec3::new(0.5, 0.25, 0.5), rotation: DQuat::from_rotation_x(0.5 * PI) },
            angular_velocity: spin,
            shape: Some(Placed { pose: Pose::IDENTITY, shape: Shape::Cylinder { radius: 0.2, length: 0.1 } }),
            ..Body::default()
        };
        let mechanism =
            Mechanism { grounds: vec![Ground::from(terrain(64))], bodies: vec![wheel], ..Mechanism::default() };
        let settings = Settings { engine: EngineKind::Dynamics, ..Settings::default() };
        let mut engine = build(&mechanism, Timestep::MILLISECOND, &settings).expect("an engine");
        TRIANGLES_VISITED.set(0);
        engine.step();
        TRIANGLES_VISITED.get()
    };
    let still = looked_at(DVec3::ZERO);
    assert!(still > 0 && looked_at(DVec3::Z * 150.0) == still, "{still}");
    assert!(looked_at(DVec3::X * 150.0) > still, "{still}");
}
