//! The scenes: heaps, stacks, rows and robots.

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{Engine, EngineKind, Settings};
use simpartner_model::{Axis, FreeAxis, JointKind, Material, Shape, Timestep};

use crate::{
    rover::{self, Rover, Wheel},
    scene::{self, ball, body, cube, joint},
};

/// The length of a step, s.
pub const TIMESTEP: f64 = 0.001;

/// A world, and the robots that drive in it.
pub struct Scene {
    pub name: &'static str,
    pub world: World,
    rovers: Vec<Rover>,
}

impl Scene {
    /// The world at step 0, its robots told to drive.
    pub fn engine(&self) -> Box<dyn Engine> {
        let settings = Settings { engine: EngineKind::Dynamics, ..Settings::default() };
        let timestep = Timestep::from_seconds(TIMESTEP).expect("a whole number of microseconds");
        let mut engine = simpartner_dynamics::build(&self.world.mechanism, timestep, &settings).expect("a sound world");
        self.rovers.iter().for_each(|rover| rover.drive(&mut *engine, 4.0));
        engine
    }
}

/// All of them.
pub fn all() -> Vec<Scene> {
    let loose = |name, world| Scene { name, world, rovers: Vec::new() };
    vec![
        loose("20 dominoes", dominoes()),
        loose("100 boxes", boxes()),
        loose("300 mixed", mixed()),
        loose("stack of 10 with offsets", stack()),
        loose("pile of 27", pile()),
        robot("robot", plane(), DVec3::ZERO, Wheel::Ball),
        robot("robot on hills, cylinders", scene::hills(), DVec3::new(-15.0, 0.35, 0.0), Wheel::Cylinder),
        loose("grasp of 11", grasp()),
    ]
}

fn plane() -> World {
    scene::with_plane(scene::world(), 0.8)
}

fn robot(name: &'static str, mut world: World, at: DVec3, wheel: Wheel) -> Scene {
    let rover = rover::add(&mut world, at, wheel);
    if wheel == Wheel::Cylinder {
        // Settles how the two rims of a wheel share its load.
        world.mechanism.bodies.iter_mut().for_each(|body| body.material.slip = 1e-5);
    }
    Scene { name, world, rovers: vec![rover] }
}

/// The first leans on the second.
fn dominoes() -> World {
    let mut world = plane();
    for index in 0..20 {
        let shape = Some(Shape::Box { size: DVec3::new(0.012, 0.1, 0.05) });
        let mut one = body("domino", 0.06, shape, DVec3::new(0.04 * f64::from(index), 0.05, 0.0));
        one.material.friction = 0.6;
        if index == 0 {
            one.pose.translation += DVec3::new(0.008, 0.0003, 0.0);
            one.pose.rotation = DQuat::from_rotation_z(-0.16);
        }
        world.mechanism.bodies.push(one);
    }
    world
}

/// Cubes that fall on a heap, five by five in four layers.
fn boxes() -> World {
    heap(100, 5, |_| cube(0.2))
}

/// Boxes, balls, cylinders and capsules that fall on a heap, five by five in twelve layers.
fn mixed() -> World {
    heap(300, 5, |index| match index % 4 {
        0 => Some(Shape::Box { size: DVec3::new(0.2, 0.15, 0.1) }),
        1 => ball(0.1),
        2 => Some(Shape::Cylinder { radius: 0.08, length: 0.2 }),
        _ => Some(Shape::Capsule { radius: 0.06, length: 0.15 }),
    })
}

fn heap(count: usize, side: usize, shape: impl Fn(usize) -> Option<Shape>) -> World {
    let mut world = plane();
    for index in 0..count {
        let (i, j, level) = (index % side, index / side % side, index / (side * side));
        let at = DVec3::new(0.3 * i as f64, 0.2 + 0.3 * level as f64, 0.3 * j as f64);
        let mut one = body("lump", 1.0, shape(index), at);
        one.pose.rotation = DQuat::from_rotation_x(0.3 * index as f64) * DQuat::from_rotation_y(0.7 * index as f64);
        one.material.friction = 0.5;
        world.mechanism.bodies.push(one);
    }
    world
}

/// Every other box 1 mm aside.
fn stack() -> World {
    let mut world = plane();
    for index in 0..10 {
        let aside = if index % 2 == 1 { 0.001 } else { 0.0 };
        let at = DVec3::new(aside, 0.25 + 0.5 * f64::from(index), 0.5 * aside);
        let mut one = body("box", 10.0, cube(0.5), at);
        one.material.friction = 0.5;
        world.mechanism.bodies.push(one);
    }
    world
}

/// Boxes and balls of 1 to 50 kg that fall on a heap.
fn pile() -> World {
    let mut world = plane();
    for index in 0..27 {
        let (i, j, level) = (index % 3, index / 3 % 3, index / 9);
        let s = 0.15 + 0.05 * ((index * 7) % 5) as f64;
        let shape = match index % 4 {
            0 => ball(0.25),
            _ => Some(Shape::Box { size: DVec3::new(s, 0.4 - s, 0.2) * 2.0 }),
        };
        let at = DVec3::new(0.7 * i as f64, 1.0 + 0.9 * level as f64, 0.7 * j as f64);
        let mut one = body("lump", [1.0, 5.0, 50.0][index % 3], shape, at);
        one.pose.rotation = DQuat::from_rotation_x(0.3 * index as f64) * DQuat::from_rotation_y(0.7 * index as f64);
        one.material.friction = 0.5;
        world.mechanism.bodies.push(one);
    }
    world
}

/// Eleven cubes of 1 kg in a row between two jaws that press with 200 N.
fn grasp() -> World {
    let mut world = scene::world();
    let material = Material { friction: 0.5, ..Material::default() };
    world.mechanism.bodies.push(body("base", 1.0, None, DVec3::ZERO));
    world.mechanism.bodies[0].fixed = true;
    for side in [-1.0, 1.0] {
        let (jaw, at) = (world.mechanism.bodies.len(), DVec3::new(0.0, 0.5, 0.6 * side));
        let mut one = body("jaw", 1.0, Some(Shape::Box { size: DVec3::new(0.2, 0.2, 0.1) }), at);
        one.material = material;
        world.mechanism.bodies.push(one);
        let mut slide = joint("slide", JointKind::Slider, 0, jaw, at);
        // A soft spring from afar is a constant force.
        let spring = FreeAxis { stiffness: 0.2, spring_position: -side * 1000.0, ..FreeAxis::default() };
        slide.axes[2] = Axis::Free(spring);
        world.mechanism.joints.push(slide);
    }
    for index in 0..11 {
        let mut one = body("cube", 1.0, cube(0.1), DVec3::new(0.0, 0.5, 0.1 * (f64::from(index) - 5.0)));
        one.material = material;
        world.mechanism.bodies.push(one);
    }
    world
}
