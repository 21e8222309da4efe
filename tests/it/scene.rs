//! Small worlds for tests, built in code.

use std::sync::Arc;

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{EngineKind, Settings};
use simpartner_model::{
    Body, BodyId, FrictionRule, Heightfield, Joint, JointKind, Material, Mechanism, Placed, Plane, Pose, Robot,
    RobotId, Shape, SurfaceMotion,
};
use simpartner_wire::signal::Port;

pub const G: f64 = 9.81;

/// The physics of a test: the default, or the engine that the environment asks for as it does of the server.
pub fn settings() -> Settings {
    let engine = std::env::var("SIMPARTNER_PHYSICS_ENGINE").ok();
    let engine = engine.map(|name| EngineKind::named(&name).expect("an engine's name"));
    let default = Settings::default();
    Settings { engine: engine.unwrap_or(default.engine), ..default }
}

/// A tolerance that each engine has its own of.
#[derive(Debug, Clone, Copy)]
pub struct Within {
    pub dynamics: f64,
    pub rapier: f64,
}

impl Within {
    /// The same tolerance for both engines.
    pub const fn both(tolerance: f64) -> Self {
        Self { dynamics: tolerance, rapier: tolerance }
    }

    /// That of the engine under test.
    pub fn tolerance(self) -> f64 {
        match settings().engine {
            EngineKind::Dynamics => self.dynamics,
            EngineKind::Rapier => self.rapier,
        }
    }
}

/// Deviation of a motor below its limit per newton metre: of a velocity motor in rad/s, of a position motor in rad.
pub fn motor_compliance() -> [f64; 2] {
    match settings().engine {
        EngineKind::Dynamics => [1e-8, 1e-5],
        EngineKind::Rapier => [1e-4, 1e-5],
    }
}

/// Asserts that a value is within its tolerance, and prints the error (`cargo test --test it physics:: --
/// --nocapture`).
#[track_caller]
pub fn close(what: &str, found: f64, expected: f64, within: Within) {
    let (off, tolerance) = ((found - expected).abs(), within.tolerance());
    println!("{what}: {found}, expected {expected}; {off:.1e} off, {tolerance:.1e} allowed");
    assert!(off <= tolerance, "{what}: {found} is {off:.1e} off {expected}, {tolerance:.1e} allowed");
}

/// An empty world under the earth's gravity.
pub fn world() -> World {
    let mechanism = Mechanism { gravity: DVec3::new(0.0, -G, 0.0), ..Mechanism::default() };
    World { name: "test".into(), mechanism, ..World::default() }
}

/// Adds the plane y = 0 with the given friction.
pub fn with_plane(mut world: World, friction: f64) -> World {
    let material = Material { friction, ..Material::default() };
    world.mechanism.grounds = vec![Plane { normal: DVec3::Y, distance: 0.0, material }.into()];
    world
}

/// A body of a shape at a place; adjust the fields you care about.
pub fn body(name: &str, mass: f64, shape: Option<Shape>, at: DVec3) -> Body {
    Body {
        name: name.into(),
        pose: Pose { translation: at, rotation: DQuat::IDENTITY },
        mass,
        shape: shape.map(|shape| Placed { pose: Pose::IDENTITY, shape }),
        ..Body::default()
    }
}

/// A cube of the given edge.
pub fn cube(edge: f64) -> Option<Shape> {
    Some(Shape::Box { size: DVec3::splat(edge) })
}

/// A ball of the given radius.
pub fn ball(radius: f64) -> Option<Shape> {
    Some(Shape::Sphere { radius })
}

/// A joint whose local axes are the world's, all its coordinates free.
pub fn joint(name: &str, kind: JointKind, parent: usize, child: usize, anchor: DVec3) -> Joint {
    Joint {
        name: name.into(),
        robot: None,
        kind,
        parent: BodyId::new(parent),
        child: BodyId::new(child),
        anchor,
        frame: DQuat::IDENTITY,
        axes: kind.free_axes(),
        swing: f64::INFINITY,
        source: String::new(),
    }
}

/// Makes all bodies of the world one robot.
pub fn as_robot(mut world: World) -> World {
    let robot = Some(RobotId::new(0));
    world.mechanism.robots =
        vec![Robot { name: "robot".into(), model: "robot".into(), self_collision: false, source: String::new() }];
    world.combined_ports = vec![Port::ANY];
    world.mechanism.bodies.iter_mut().for_each(|body| body.robot = robot);
    world.mechanism.joints.iter_mut().for_each(|joint| joint.robot = robot);
    world
}

/// A ground that takes all properties from the bodies on it.
pub const GRIP: Material = Material {
    friction: 1e6,
    across: None,
    friction_rule: FrictionRule::Smaller,
    priority: 0,
    dimensions: None,
    restitution: 0.0,
    rolling_friction: 0.0,
    torsional_friction: 0.0,
    stiffness: f64::INFINITY,
    damping: 0.0,
    slip: 0.0,
    surface_velocity: DVec3::ZERO,
    surface_motion: SurfaceMotion::Uniform,
    grousers: 0.0,
    soil: None,
};

/// Terrain of 64 m by 64 m in cells of 0.5 m.
pub fn terrain(height: impl Fn(f64, f64) -> f64) -> World {
    let (points, extent) = (129, 64.0);
    let mut field = Heightfield {
        points_x: points,
        points_z: points,
        width: extent,
        depth: extent,
        heights: Arc::new([]),
        pose: Pose::IDENTITY,
        material: GRIP,
    };
    let at = |index: usize| field.position(index / points, index % points);
    field.heights = (0..points * points).map(at).map(|(x, z)| height(x, z)).collect();
    let mut world = world();
    world.mechanism.grounds.push(field.into());
    world
}

/// Rolling hills with bumps.
pub fn hills() -> World {
    terrain(|x, z| {
        0.15 * (0.45 * x).sin() * (0.37 * z).cos() + 0.08 * (1.3 * x + 0.4 * z).sin() + 0.04 * (2.9 * z - 1.1 * x).sin()
    })
}
