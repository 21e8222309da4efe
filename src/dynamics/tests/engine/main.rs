//! SimPartner's articulated dynamics against closed-form solutions: each file opens with its physics.
//!
//! Bounds are upper limits of the errors; the errors themselves are printed (`cargo test -p simpartner-dynamics --test
//! engine -- --nocapture`).

// A test that cannot continue has to stop; clippy allows this only in test functions themselves.
#![allow(clippy::unwrap_used)]

mod balls;
mod bounces;
mod couplings;
mod ellipsoids;
mod faces;
mod fingertip;
mod friction;
mod grasp;
mod grip;
mod guards;
mod heaps;
mod impact;
mod inner_stress;
mod joints;
mod limp;
mod loads;
mod loops;
mod motion;
mod overlaps;
mod patches;
mod placing;
mod posture;
mod power;
mod rays;
mod roads;
mod rolling;
mod ropes;
mod rover;
#[path = "../../../../tests/it/scene.rs"]
#[allow(dead_code, reason = "the server's tests use the rest of it")]
mod scene;
mod seams;
mod shapes;
mod sharing;
mod six_wheels;
mod soil;
mod state;
mod terrain;
mod touching;
mod whirl;
mod worlds;

use bevy_math::DVec3;
use simpartner_description::World;
use simpartner_dynamics::{DynamicsSettings, Engine, EngineKind, Settings, StepCheck};
use simpartner_model::{BodyId, Material, Plane, Timestep};

const G: f64 = scene::G;

/// The engine at a timestep of `h` seconds.
fn build(world: &World, h: f64) -> Box<dyn Engine> {
    build_with(world, h, DynamicsSettings::default())
}

fn build_with(world: &World, h: f64, dynamics: DynamicsSettings) -> Box<dyn Engine> {
    let settings = Settings { engine: EngineKind::Dynamics, dynamics, ..Settings::default() };
    simpartner_dynamics::build(&world.mechanism, Timestep::from_seconds(h).unwrap(), &settings).unwrap()
}

/// Steps for a number of seconds. No events may occur.
fn run(engine: &mut dyn Engine, h: f64, seconds: f64) {
    for _ in 0..steps(h, seconds) {
        engine.step();
        assert!(engine.step_events().is_empty(), "{:?}", engine.step_events());
    }
}

fn steps(h: f64, seconds: f64) -> usize {
    (seconds / h).round() as usize
}

/// Adds a ground y = 0 that takes its contact properties from the bodies on it.
fn on_plane(mut world: World) -> World {
    let material = Material { friction: 1e6, ..Material::default() };
    world.mechanism.grounds = vec![Plane { normal: DVec3::Y, distance: 0.0, material }.into()];
    world
}

fn position(engine: &dyn Engine, body: usize) -> DVec3 {
    engine.body(BodyId::new(body)).pose.translation
}

fn velocity(engine: &dyn Engine, body: usize) -> DVec3 {
    engine.body(BodyId::new(body)).linear_velocity
}

/// Number of solves in the last step that did not reach the tolerance.
fn unconverged(engine: &dyn Engine) -> usize {
    engine.step_events().iter().filter(|event| event.check == StepCheck::Unconverged).count()
}

/// Kinetic and potential energy of all bodies, from their readings.
fn energy(world: &World, engine: &dyn Engine) -> f64 {
    let each = world.mechanism.bodies().filter(|(_, body)| !body.fixed).map(|(id, body)| {
        let (state, mass) = (engine.body(id), simpartner_dynamics::mass_properties(body).unwrap());
        let spin = state.pose.rotation.inverse() * state.angular_velocity;
        let centre = state.pose.point(mass.centre_of_mass);
        0.5 * mass.mass * state.linear_velocity.length_squared() + 0.5 * spin.dot(mass.tensor * spin)
            - mass.mass * world.mechanism.gravity.dot(centre)
    });
    each.sum()
}

/// Momentum and angular momentum about the origin.
fn momenta(world: &World, engine: &dyn Engine) -> (DVec3, DVec3) {
    world.mechanism.bodies().filter(|(_, body)| !body.fixed).fold((DVec3::ZERO, DVec3::ZERO), |(p, l), (id, body)| {
        let (state, mass) = (engine.body(id), simpartner_dynamics::mass_properties(body).unwrap());
        let momentum = state.linear_velocity * mass.mass;
        let spin = state.pose.rotation.inverse() * state.angular_velocity;
        let centre = state.pose.point(mass.centre_of_mass);
        (p + momentum, l + centre.cross(momentum) + state.pose.rotation * (mass.tensor * spin))
    })
}

/// True if the last step ended in an invalid state.
fn diverged(engine: &dyn Engine) -> bool {
    engine.step_events().iter().any(|event| event.check == StepCheck::Divergence)
}
