//! Random worlds by seed, and the results of their runs.

#[path = "wide.rs"]
pub mod wide;

use std::hash::{DefaultHasher, Hasher};

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{BodyState, Engine, EngineKind, Motor, Servo, Settings, StepCheck, StepEvent};
use simpartner_model::{Axis, BodyId, FreeAxis, JointId, JointKind, Material, Shape, Timestep};

use crate::scene::{self, body, joint};

/// Seeds from here on are worlds of the wide family.
pub const WIDE: u64 = 1_000_000;

/// Numbers at random, the same for the same seed.
pub struct Chance(pub u64);

impl Chance {
    /// From 0 to 1.
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.share()
    }

    /// Any order of size alike.
    pub fn of_any_size(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.share())
    }

    fn happens(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    pub fn below(&mut self, count: usize) -> usize {
        (self.share() * count as f64) as usize
    }

    pub fn vector(&mut self, size: f64) -> DVec3 {
        DVec3::new(self.between(-size, size), self.between(-size, size), self.between(-size, size))
    }

    pub fn turn(&mut self) -> DQuat {
        DQuat::from_scaled_axis(self.vector(3.0))
    }

    fn shape(&mut self) -> Option<Shape> {
        let (radius, length) = (self.of_any_size(0.01, 0.5), self.of_any_size(0.01, 1.0));
        Some(match self.below(7) {
            0 => Shape::Box { size: DVec3::new(radius, length, 0.1 * length) },
            1 => Shape::Sphere { radius },
            2 => Shape::Cylinder { radius, length },
            3 => Shape::Capsule { radius, length },
            4 => Shape::Cone { radius, length },
            5 => Shape::ConvexHull { points: (0..12).map(|_| self.vector(radius)).collect() },
            _ => return None,
        })
    }

    fn material(&mut self) -> Material {
        let stiff = self.happens(0.8);
        Material {
            friction: if self.happens(0.1) { 1e6 } else { self.between(0.0, 1.5) },
            restitution: if self.happens(0.3) { self.share() } else { 0.0 },
            rolling_friction: if self.happens(0.2) { self.of_any_size(1e-4, 0.1) } else { 0.0 },
            torsional_friction: if self.happens(0.2) { self.of_any_size(1e-4, 0.1) } else { 0.0 },
            stiffness: if stiff { f64::INFINITY } else { self.of_any_size(1e2, 1e7) },
            damping: if stiff { 0.0 } else { self.of_any_size(1.0, 1e4) },
            slip: if self.happens(0.1) { self.of_any_size(1e-7, 1e-3) } else { 0.0 },
            ..Material::default()
        }
    }

    fn axis(&mut self) -> FreeAxis {
        let mut axis = FreeAxis::default();
        if self.happens(0.3) {
            (axis.lower, axis.upper) = (-self.between(0.0, 1.0), self.between(0.0, 1.0));
        }
        if self.happens(0.3) {
            axis.damping = self.of_any_size(1e-3, 10.0);
        }
        if self.happens(0.2) {
            axis.friction = self.of_any_size(1e-3, 10.0);
        }
        if self.happens(0.2) {
            axis.stiffness = self.of_any_size(1e-1, 1e4);
        }
        if self.happens(0.2) {
            axis.armature = self.of_any_size(1e-6, 1.0);
        }
        if self.happens(0.2) {
            axis.max_power = self.of_any_size(1.0, 1e5);
        }
        axis
    }

    fn motor(&mut self) -> Motor {
        let target = if self.happens(0.5) { self.between(-10.0, 10.0) } else { self.between(-1e6, 1e6) };
        let strongest = if self.happens(0.3) { 1e9 } else { 1e2 };
        let max_effort = self.of_any_size(1e-2, strongest);
        match self.below(5) {
            0 => Motor::Off,
            1 => Motor::Velocity { target, max_effort },
            2 => Motor::Position { target, max_effort },
            3 => Motor::Effort(if self.happens(0.5) { max_effort } else { -max_effort }),
            _ => Motor::Servo(Servo {
                position: target,
                rate: self.between(-10.0, 10.0),
                stiffness: self.of_any_size(1.0, 1e6),
                damping: self.of_any_size(1e-1, 1e4),
                max_effort,
            }),
        }
    }
}

/// The world of a seed, and the random stream that continues with its commands.
pub fn of_seed(seed: u64) -> (Chance, World) {
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let world = if seed < WIDE { world(&mut chance) } else { wide::world(&mut chance) };
    (chance, world)
}

fn world(chance: &mut Chance) -> World {
    let mut world = scene::world();
    if chance.happens(0.8) {
        let friction = chance.between(0.0, 1.5);
        world = scene::with_plane(world, friction);
    }
    let count = 2 + chance.below(10);
    for index in 0..count {
        let at = DVec3::Y * 0.6 + chance.vector(0.6);
        let (shape, mass) = (chance.shape(), chance.of_any_size(1e-3, 1e2));
        let mut one = body(&format!("b{index}"), mass, shape, at);
        one.pose.rotation = chance.turn();
        one.material = chance.material();
        one.fixed = chance.happens(0.05);
        if !one.fixed && chance.happens(0.3) {
            (one.linear_velocity, one.angular_velocity) = (chance.vector(10.0), chance.vector(20.0));
        }
        world.mechanism.bodies.push(one);
    }
    for child in 1..count {
        // Some of them are joined twice, which closes loops.
        let times = if chance.happens(0.4) { 1 + usize::from(chance.happens(0.2)) } else { 0 };
        for _ in 0..times {
            let parent = chance.below(child);
            let bodies = &world.mechanism.bodies;
            let anchor = bodies[child].pose.translation.lerp(bodies[parent].pose.translation, chance.share());
            let kinds = [
                JointKind::Fixed,
                JointKind::Hinge,
                JointKind::Slider,
                JointKind::Ball,
                JointKind::Universal,
                JointKind::Constrained,
            ];
            let kind = kinds[chance.below(kinds.len())];
            let mut one = joint(&format!("j{}", world.mechanism.joints.len()), kind, parent, child, anchor);
            one.frame = chance.turn();
            if kind == JointKind::Ball {
                one.axes = [Axis::Free(chance.axis()); 3];
                one.swing = if chance.happens(0.3) { chance.between(1e-3, 3.0) } else { f64::INFINITY };
            }
            for axis in one.axes.iter_mut().filter(|axis| axis.free().is_some() && kind != JointKind::Ball) {
                *axis = Axis::Free(chance.axis());
            }
            world.mechanism.joints.push(one);
        }
    }
    world
}

/// Results of the world of a seed.
#[derive(Debug, Default)]
pub struct Seen {
    /// Number of steps; 0 if the engine refuses the world.
    pub steps: usize,
    /// True if the world diverged; `end` has the engine's message.
    pub diverged: bool,
    pub end: String,
    /// The largest relative energy gain without a source.
    pub gain: f64,
    /// The most that a step cost, in sweeps.
    pub work: f64,
    pub unconverged: usize,
    /// Hash of the poses and velocities of all bodies after each step.
    pub bits: DefaultHasher,
    /// Number of events of each kind.
    pub events: Vec<(StepCheck, usize)>,
}

impl Seen {
    fn note_bits(&mut self, world: &World, engine: &dyn Engine) {
        for (id, _) in world.mechanism.bodies() {
            let BodyState { pose, linear_velocity, angular_velocity, .. } = engine.body(id);
            let numbers = [pose.translation, linear_velocity, angular_velocity].map(|vector| vector.to_array());
            let numbers = numbers.as_flattened().iter().chain(pose.rotation.as_ref());
            numbers.for_each(|number| self.bits.write_u64(number.to_bits()));
        }
    }

    fn note(&mut self, event: &StepEvent) {
        match self.events.iter_mut().find(|(check, _)| *check == event.check) {
            Some((_, count)) => *count += 1,
            None => self.events.push((event.check, 1)),
        }
        self.unconverged += usize::from(event.check == StepCheck::Unconverged);
        if event.check == StepCheck::Divergence && !self.diverged {
            (self.diverged, self.end) = (true, event.text.clone());
        }
    }
}

/// Runs the world of a seed for a number of seconds.
pub fn run(seed: u64, h: f64, seconds: f64) -> Seen {
    run_by(seed, h, seconds, &mut |engine| engine.step())
}

/// The same with the steps of the function `step`. Commands change 20 times a second.
pub fn run_by(seed: u64, h: f64, seconds: f64, step: &mut dyn FnMut(&mut dyn Engine)) -> Seen {
    let usual = Settings { engine: EngineKind::Dynamics, ..Settings::default() };
    let settings = if seed < WIDE { usual } else { wide::settings(&mut Chance(seed)) };
    run_with(seed, h, seconds, &settings, step)
}

/// The same with these settings.
pub fn run_with(seed: u64, h: f64, seconds: f64, settings: &Settings, step: &mut dyn FnMut(&mut dyn Engine)) -> Seen {
    let (mut chance, world) = of_seed(seed);
    let timestep = Timestep::from_seconds(h).expect("a whole number of microseconds");
    let mut seen = Seen::default();
    let Ok(mut engine) = simpartner_dynamics::build(&world.mechanism, timestep, settings) else { return seen };
    let every = ((0.05 / h).round() as usize).max(1);
    let start = engine.energy_balance().expect("the engine keeps an energy balance");
    let (mut given, mut worked, mut most) = (0.0, 0.0, start.kinetic);
    let mut pushes = wide::Pushes::new();
    for number in 0..(seconds / h).round() as usize {
        if number % every == 0 {
            drive(&world, &mut [&mut *engine], &mut chance);
        }
        if number % every == 0 && seed >= WIDE {
            let (next, jump) = wide::disturb(&world, &mut *engine, &mut chance);
            (pushes, given) = (next, given + jump);
        }
        pushes.iter().for_each(|(body, point, wrench)| engine.apply_wrench(*body, *point, *wrench));
        step(&mut *engine);
        seen.steps += 1;
        seen.work = engine.solver_cost().expect("the engine counts its cost").max(seen.work);
        check(&world, &*engine, seed);
        seen.note_bits(&world, &*engine);
        let now = engine.energy_balance().expect("the engine keeps an energy balance");
        (given, worked, most) = (given + now.supplied, worked + now.supplied.abs(), now.kinetic.max(most));
        // 1 mJ is the kinetic energy of 1 kg at about 5 cm/s.
        seen.gain = ((now.stored - start.stored - given) / (most + worked + 1e-3)).max(seen.gain);
        engine.step_events().iter().for_each(|event| seen.note(event));
        if seen.diverged {
            // A run ends here.
            break;
        }
    }
    seen
}

/// Gives all motors of the same world in several engines new commands.
pub fn drive(world: &World, engines: &mut [&mut dyn Engine], chance: &mut Chance) {
    for joint in 0..world.mechanism.joints.len() {
        for axis in 0..3 {
            let motor = chance.motor();
            engines.iter_mut().for_each(|engine| engine.set_motor(JointId::new(joint), axis, motor));
        }
    }
}

/// Asserts that all readings are finite.
pub fn check(world: &World, engine: &dyn Engine, seed: u64) {
    for (id, _) in world.mechanism.bodies() {
        let state = engine.body(BodyId::new(id.index()));
        let place = state.pose.translation.is_finite() && state.pose.rotation.is_finite();
        assert!(place && state.linear_velocity.is_finite() && state.angular_velocity.is_finite(), "{seed}: {state:?}");
        assert!(state.force.is_finite() && state.torque.is_finite(), "seed {seed}: {state:?}");
        assert!(state.pose.translation.length() <= 1e6, "seed {seed}: {state:?}");
    }
    for joint in 0..world.mechanism.joints.len() {
        let state = engine.joint(JointId::new(joint));
        let numbers = state.position.iter().chain(&state.rate).chain(&state.effort);
        assert!(numbers.clone().all(|number| number.is_finite()), "seed {seed}: {state:?}");
        let load = state.load.unwrap_or_default();
        let numbers = load.stop.iter().chain(&load.passive).all(|number| number.is_finite());
        let reaction = load.reaction.force.is_finite() && load.reaction.torque.is_finite();
        assert!(state.anchor.is_finite() && numbers && reaction, "seed {seed}: {state:?}");
    }
    for contact in engine.contacts() {
        let wrench = contact.wrench.force.is_finite() && contact.wrench.torque.is_finite();
        let place = contact.point.is_finite() && contact.normal.is_finite() && contact.gap.is_finite();
        assert!(wrench && place, "seed {seed}: {contact:?}");
    }
}
