//! The scenes: heaps, robots, a grasp.

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{Engine, EngineKind, Settings};
use simpartner_model::{Axis, FreeAxis, JointKind, Material, Shape, Soil, Timestep};

use crate::{
    heaps,
    rover::{self, Rover, Wheel},
    scene::{self, body, cube, joint},
    six_wheels::{self, SixWheels},
};

/// The length of a step, s.
pub const TIMESTEP: f64 = 0.001;

/// A world, and the robots that drive in it.
pub struct Scene {
    pub name: &'static str,
    pub world: World,
    rovers: Vec<Rover>,
    six_wheels: Vec<SixWheels>,
}

impl Scene {
    /// The world at step 0, with the motors of its robots set.
    pub fn engine(&self) -> Box<dyn Engine> {
        let settings = Settings { engine: EngineKind::Dynamics, ..Settings::default() };
        let timestep = Timestep::from_seconds(TIMESTEP).expect("a whole number of microseconds");
        let mut engine = simpartner_dynamics::build(&self.world.mechanism, timestep, &settings).expect("a sound world");
        self.rovers.iter().for_each(|rover| rover.drive(&mut *engine, 4.0));
        // As fast as rovers drive, 0.1 m/s.
        self.six_wheels.iter().for_each(|rover| rover.drive(&mut *engine, 0.1 / six_wheels::WHEEL_RADIUS));
        engine
    }
}

/// All of them.
pub fn all() -> Vec<Scene> {
    let loose = |name, world| Scene { name, world, rovers: Vec::new(), six_wheels: Vec::new() };
    vec![
        loose("20 dominoes", heaps::dominoes()),
        loose("100 boxes", heaps::boxes()),
        loose("300 mixed", heaps::mixed()),
        loose("stack of 10", heaps::stack(0.0)),
        loose("stack of 10 with offsets", heaps::stack(0.001)),
        loose("pile of 27", heaps::pile(3)),
        robot("robot", heaps::plane(), DVec3::ZERO, Wheel::Ball),
        robot("robot, cylinders", heaps::plane(), DVec3::ZERO, Wheel::Cylinder),
        robot("robot on sand, cylinders", sand(), DVec3::ZERO, Wheel::Cylinder),
        robot("robot on hills, cylinders", scene::hills(), DVec3::new(-15.0, 0.35, 0.0), Wheel::Cylinder),
        six_wheeled("six wheels", heaps::plane()),
        six_wheeled("six wheels on sand", sand()),
        loose("grasp of 11", grasp()),
    ]
}

/// The plane as dry sand.
fn sand() -> World {
    let mut world = heaps::plane();
    for ground in &mut world.mechanism.grounds {
        ground.material_mut().soil = Soil::named("drySand");
    }
    world
}

fn robot(name: &'static str, mut world: World, at: DVec3, wheel: Wheel) -> Scene {
    let rover = rover::add(&mut world, at, wheel);
    Scene { name, world, rovers: vec![rover], six_wheels: Vec::new() }
}

fn six_wheeled(name: &'static str, mut world: World) -> Scene {
    let rover = six_wheels::add(&mut world, DVec3::ZERO, DQuat::IDENTITY);
    Scene { name, world, rovers: Vec::new(), six_wheels: vec![rover] }
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
