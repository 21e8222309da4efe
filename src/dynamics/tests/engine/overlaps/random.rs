//! Random worlds by seed, at rest and without gravity, in which some bodies overlap at the start: all motion is their
//! separation.

use std::f64::consts::TAU;

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{BodyState, Engine, Probe, StepCheck};
use simpartner_model::{Axis, Body, BodyId, Coupling, FreeAxis, JointAxis, JointId, JointKind, Shape};

use super::{SPEED, held};
use crate::{
    build,
    scene::{self, body, joint},
    worlds::Chance,
};

/// Depth at the end above which an unseparated overlap must be reported, m: twice the engine's limit.
const TOLD_DEPTH: f64 = 2e-5;
/// Largest permitted excess of an axis beyond its stop, rad or m: the uncorrected 1e-6, and the largest error of quick
/// sweeps in a step, 5e-6, a fifth of which is corrected in each step.
const STOPS: f64 = 1e-5;
/// The same for a ball joint: the square of the largest rotation in a step.
const SWING: f64 = 2.5e-3;
/// Duration of a run, in seconds or in steps if these are more, and the last steps of it, in which separable overlaps
/// decrease by this fraction.
const SECONDS: f64 = 0.35;
const STEPS: usize = 200;
const LAST: usize = 100;
const LESS: f64 = 0.98;

/// Results of a world.
#[derive(Debug, Default)]
pub struct Seen {
    /// The first fault.
    pub fault: Option<String>,
    /// The deepest initial overlap, m.
    pub depth: f64,
    /// True if an overlap was reported as inseparable.
    pub is_held: bool,
    /// The most that a step cost, in sweeps, and the largest kinetic energy, J.
    pub work: f64,
    pub energy: f64,
}

impl Chance {
    fn sign(&mut self) -> f64 {
        if self.below(2) == 0 { -1.0 } else { 1.0 }
    }

    fn stops(&mut self) -> FreeAxis {
        let (lower, upper) = (-self.of_any_size(1e-3, 2.0), self.of_any_size(1e-3, 2.0));
        if self.below(3) == 0 { FreeAxis::default() } else { FreeAxis { lower, upper, ..FreeAxis::default() } }
    }

    /// A shape of about this size, and the half of the box around it.
    fn shape_of(&mut self, size: f64) -> (Shape, DVec3) {
        let (radius, length) = (size * self.between(0.3, 1.0), size * self.between(0.3, 1.0));
        let half = DVec3::new(size * self.between(0.2, 1.0), 0.5 * length, size * self.between(0.2, 1.0));
        let corner = |k: u32| half * DVec3::from_array([1, 2, 4].map(|bit| if k & bit == 0 { -1.0 } else { 1.0 }));
        let round = |y: f64| DVec3::new(radius, y, radius);
        match self.below(7) {
            0 => (Shape::Box { size: 2.0 * half }, half),
            1 => (Shape::Sphere { radius }, round(radius)),
            2 => (Shape::Cylinder { radius, length }, round(0.5 * length)),
            3 => (Shape::Capsule { radius, length }, round(0.5 * length + radius)),
            4 => (Shape::Cone { radius, length }, round(0.5 * length)),
            5 => (Shape::ConvexHull { points: (0..8).map(corner).collect() }, half),
            _ => {
                let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
                let triangles = faces.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
                (Shape::TriangleMesh { vertices: (0..8).map(corner).collect(), triangles }, half)
            }
        }
    }

    /// A depth from 0.01 mm to half of the thickness.
    fn depth(&mut self, thickness: f64) -> f64 {
        self.of_any_size(1e-5, 0.5 * thickness)
    }

    /// A body of any shape that overlaps a body at rest, along one of its axes.
    fn beside(&mut self, of: &Body, half: DVec3, name: &str) -> (Body, DVec3) {
        let size = half.max_element() * self.of_any_size(0.2, 1.5);
        let (shape, own) = self.shape_of(size);
        let axis = self.below(3);
        let depth = self.depth(2.0 * half[axis].min(own[axis]));
        let mut offset = DVec3::ZERO;
        for other in 0..3 {
            offset[other] = if other == axis {
                self.sign() * (half[axis] + own[axis] - depth)
            } else {
                self.between(-1.0, 1.0) * half[other]
            };
        }
        let mass = self.of_any_size(0.1, 10.0);
        (body(name, mass, Some(shape), of.pose.translation + offset), own)
    }
}

/// A box on a joint to a post, and a fixed or free body that overlaps it.
fn leaf(chance: &mut Chance, kind: JointKind) -> World {
    let mut world = scene::world();
    let half = DVec3::new(chance.between(0.05, 0.5), chance.between(0.01, 0.5), chance.between(0.01, 0.1));
    world.mechanism.bodies.push(Body { fixed: true, ..body("post", 1.0, None, DVec3::NEG_Y * 5.0) });
    let leaf = body("leaf", chance.of_any_size(0.1, 50.0), Some(Shape::Box { size: 2.0 * half }), DVec3::ZERO);
    let at = DVec3::new(chance.sign() * half.x, 0.0, if chance.below(2) == 0 { 0.0 } else { half.z });
    for number in 0..1 + chance.below(3) {
        let (other, _) = chance.beside(&leaf, half, &format!("other {number}"));
        world.mechanism.bodies.push(Body { fixed: chance.below(3) > 0, ..other });
    }
    world.mechanism.bodies.push(leaf);
    let mut held = joint("joint", kind, 0, world.mechanism.bodies.len() - 1, at);
    held.frame = DQuat::from_rotation_x(chance.below(4) as f64 * TAU / 4.0);
    free_axes(chance, &mut held);
    world.mechanism.joints.push(held);
    world
}

fn free_axes(chance: &mut Chance, joint: &mut simpartner_model::Joint) {
    if joint.kind == JointKind::Ball {
        joint.axes = [Axis::Free(chance.stops()); 3];
        joint.swing = if chance.below(2) == 0 { chance.between(0.01, 1.0) } else { f64::INFINITY };
        return;
    }
    for axis in joint.axes.iter_mut().filter(|axis| axis.free().is_some()) {
        *axis = Axis::Free(chance.stops());
    }
}

/// A rod in a sleeve of four walls that it may slide and turn in, some of which reach into it.
fn sleeve(chance: &mut Chance) -> World {
    let mut world = scene::world();
    let (radius, length) = (chance.between(0.01, 0.1), chance.between(0.1, 0.5));
    let fixed = |body: Body| Body { fixed: true, ..body };
    let rod = body("rod", 1.0, Some(Shape::Cylinder { radius, length }), DVec3::ZERO);
    world.mechanism.bodies.extend([fixed(body("post", 1.0, None, DVec3::NEG_Y * 5.0)), rod]);
    for side in 0..4 {
        let across = DQuat::from_rotation_y(f64::from(side) * TAU / 4.0) * DVec3::X;
        let size = DVec3::splat(2.0 * radius) + DVec3::Y * length * chance.between(0.1, 1.0);
        let depth = if chance.below(3) == 0 { -1e-3 } else { chance.depth(radius) };
        let at = across * (2.0 * radius - depth) + DVec3::Y * chance.between(-0.5, 0.5) * length;
        world.mechanism.bodies.push(fixed(body("wall", 1.0, Some(Shape::Box { size }), at)));
    }
    if chance.below(2) == 0 {
        let mut slide = joint("slide", JointKind::Cylindrical, 0, 1, DVec3::ZERO);
        slide.frame = DQuat::from_rotation_x(-TAU / 4.0);
        free_axes(chance, &mut slide);
        world.mechanism.joints.push(slide);
    }
    world
}

/// A wheel on an axle, or loose, under an arch of hulls that reach into it.
fn arch(chance: &mut Chance) -> World {
    let mut world = scene::world();
    let (radius, length) = (chance.between(0.05, 0.4), chance.between(0.02, 0.2));
    let depth = chance.depth(radius);
    world.mechanism.bodies.push(Body { fixed: true, ..body("car", 1.0, None, DVec3::NEG_Y * 5.0) });
    world.mechanism.bodies.push(body("wheel", 5.0, Some(Shape::Cylinder { radius, length }), DVec3::ZERO));
    for part in 0..2 + chance.below(4) {
        let corners = (0..8u32).map(|k| {
            let angle = 0.5 * (part as f64 + f64::from(k >> 2 & 1));
            let far = radius - depth + f64::from(k >> 1 & 1) * 0.1;
            let y = if k & 1 == 0 { -length } else { length };
            DVec3::new(far * angle.cos(), y, far * angle.sin())
        });
        let shape = Shape::ConvexHull { points: corners.collect() };
        world.mechanism.bodies.push(Body { fixed: true, ..body("arch", 1.0, Some(shape), DVec3::ZERO) });
    }
    if chance.below(3) > 0 {
        let mut axle = joint("axle", JointKind::Hinge, 0, 1, DVec3::ZERO);
        axle.frame = DQuat::from_rotation_x(-TAU / 4.0);
        world.mechanism.joints.push(axle);
    }
    world
}

/// Pairs of coupled links side by side.
fn fingers(chance: &mut Chance) -> World {
    let mut world = scene::world();
    world.mechanism.bodies.push(Body { fixed: true, ..body("palm", 1.0, None, DVec3::ZERO) });
    let pairs = 1 + chance.below(3);
    for pair in 0..pairs {
        let half = DVec3::new(chance.between(0.02, 0.1), chance.between(0.003, 0.02), 0.01);
        let (depth, y) = (chance.depth(2.0 * half.y), 0.05 * pair as f64);
        for (k, y) in [y, y + 2.0 * half.y - depth].into_iter().enumerate() {
            let shape = Some(Shape::Box { size: 2.0 * half });
            let number = world.mechanism.bodies.len();
            world.mechanism.bodies.push(body(&format!("link {number}"), 0.05, shape, DVec3::new(half.x, y, 0.0)));
            let mut hinge = joint(&format!("hinge {number}"), JointKind::Hinge, 0, number, DVec3::Y * y);
            free_axes(chance, &mut hinge);
            world.mechanism.joints.push(hinge);
            if k == 1 {
                let axis = |joint| JointAxis { joint: JointId::new(joint), axis: 2 };
                let ratio = chance.sign() * chance.of_any_size(0.1, 3.0);
                let (leader, follower) = (axis(number - 2), axis(number - 1));
                let source = String::new();
                world.mechanism.couplings.push(Coupling { leader, follower, ratio, offset: 0.0, source });
            }
        }
    }
    let mut world = scene::as_robot(world);
    world.mechanism.robots[0].self_collision = true;
    world
}

/// Free bodies, each overlapping an earlier one.
fn pile(chance: &mut Chance) -> World {
    let mut world = scene::world();
    let (shape, half) = chance.shape_of(0.2);
    let mut made = vec![(body("first", chance.of_any_size(0.1, 10.0), Some(shape), DVec3::ZERO), half)];
    for number in 0..2 + chance.below(6) {
        let (of, half) = &made[chance.below(made.len())];
        let (of, half) = (of.clone(), *half);
        made.push(chance.beside(&of, half, &format!("other {number}")));
    }
    world.mechanism.bodies = made.into_iter().map(|(body, _)| body).collect();
    world.mechanism.bodies[0].fixed = chance.below(3) == 0;
    world
}

/// Four bars in a loop, and a body that overlaps one of them.
fn linkage(chance: &mut Chance) -> World {
    let mut world = scene::world();
    let corners = [DVec3::ZERO, DVec3::new(0.1, 0.5, 0.0), DVec3::new(0.7, 0.6, 0.0), DVec3::new(0.8, 0.0, 0.0)];
    for k in 0..4 {
        let (from, to) = (corners[(k + 3) % 4], corners[k]);
        let size = DVec3::new(0.9 * from.distance(to), 0.04, 0.04);
        let mut bar = body(&format!("bar {k}"), 1.0, Some(Shape::Box { size }), 0.5 * (from + to));
        bar.pose.rotation = DQuat::from_rotation_arc(DVec3::X, (to - from).normalize());
        world.mechanism.bodies.push(bar);
    }
    world.mechanism.bodies[0].fixed = true;
    for (k, corner) in corners.into_iter().enumerate() {
        let mut pin = joint(&format!("pin {k}"), JointKind::Hinge, k, (k + 1) % 4, corner);
        if k < 3 {
            free_axes(chance, &mut pin);
        }
        world.mechanism.joints.push(pin);
    }
    let of = world.mechanism.bodies[1 + chance.below(3)].clone();
    let (other, _) = chance.beside(&Body { pose: of.pose, ..of }, DVec3::splat(0.02), "other");
    world.mechanism.bodies.push(Body { fixed: chance.below(2) == 0, ..other });
    world
}

/// A chain of bodies on any joints, each overlapping a body to which it is not joined.
fn chain(chance: &mut Chance) -> World {
    let mut world = scene::world();
    let kinds = [
        JointKind::Hinge,
        JointKind::Slider,
        JointKind::Cylindrical,
        JointKind::Planar,
        JointKind::Ball,
        JointKind::Universal,
        JointKind::Constrained,
    ];
    let (shape, mut half) = chance.shape_of(0.2);
    let first = body("first", 1.0, Some(shape), DVec3::ZERO);
    world.mechanism.bodies.push(Body { fixed: chance.below(2) == 0, ..first });
    for number in 1..3 + chance.below(4) {
        let of = world.mechanism.bodies[number - 1].clone();
        let (next, own) = chance.beside(&of, half, &format!("link {number}"));
        half = own;
        let hangs_on = chance.below(number);
        let anchor = next.pose.translation.lerp(world.mechanism.bodies[hangs_on].pose.translation, 0.5);
        let kind = kinds[chance.below(kinds.len())];
        let mut held = joint(&format!("joint {number}"), kind, hangs_on, number, anchor);
        held.frame = chance.turn();
        free_axes(chance, &mut held);
        world.mechanism.bodies.push(next);
        world.mechanism.joints.push(held);
    }
    world
}

/// The world of a seed.
fn world(seed: u64) -> (World, f64) {
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(77));
    let h = [0.001, 0.001, 0.01, 0.0005][chance.below(4)];
    let mut world = match seed % 9 {
        0 => leaf(&mut chance, JointKind::Hinge),
        1 => leaf(&mut chance, JointKind::Slider),
        2 => leaf(&mut chance, JointKind::Ball),
        3 => sleeve(&mut chance),
        4 => arch(&mut chance),
        5 => fingers(&mut chance),
        6 => pile(&mut chance),
        7 => linkage(&mut chance),
        _ => chain(&mut chance),
    };
    world.mechanism.gravity = DVec3::ZERO;
    (world, h)
}

/// Runs the world of a seed and returns its faults.
pub fn run(seed: u64) -> Seen {
    let (world, h) = world(seed);
    let mut engine = build(&world, h);
    let mut before = look(&world, &*engine);
    let mut seen = Seen { depth: depth(&world, &*engine), ..Seen::default() };
    let mut earlier = 0.0;
    let steps = STEPS.max((SECONDS / h).round() as usize);
    for step in 0..steps {
        engine.step();
        let now = look(&world, &*engine);
        let fault = fault(&world, &*engine, h, &before, &now);
        seen.fault = seen.fault.take().or(fault.map(|fault| format!("step {step}: {fault}")));
        before = now;
        seen.is_held |= held(engine.step_events()) > 0;
        seen.work = seen.work.max(engine.solver_cost().unwrap());
        seen.energy = seen.energy.max(engine.energy_balance().unwrap().kinetic);
        if step == steps - LAST {
            earlier = depth(&world, &*engine);
        }
    }
    let end = depth(&world, &*engine);
    if end > TOLD_DEPTH && end > LESS * earlier && !seen.is_held && seen.fault.is_none() {
        seen.fault = Some(format!("{end:.2e} m deep at its end, {earlier:.2e} m before, and nothing was told"));
    }
    seen
}

/// Depth of the deepest overlap of bodies that are not joined to each other, m.
fn depth(world: &World, engine: &dyn Engine) -> f64 {
    let mut mechanism = world.mechanism.clone();
    for (index, body) in mechanism.bodies.iter_mut().enumerate() {
        body.pose = engine.body(BodyId::new(index)).pose;
        body.robot = None;
    }
    mechanism.apart.extend(mechanism.joints.iter().map(|joint| [joint.parent, joint.child]));
    mechanism.joints.clear();
    mechanism.couplings.clear();
    mechanism.robots.clear();
    let contacts = Probe::new(&mechanism).unwrap().contacts();
    contacts.iter().fold(0.0, |deepest, contact| deepest.max(-contact.gap))
}

/// Poses of all bodies and coordinates of all joints.
fn look(world: &World, engine: &dyn Engine) -> (Vec<BodyState>, Vec<[f64; 3]>) {
    let bodies = world.mechanism.bodies().map(|(id, _)| engine.body(id)).collect();
    (bodies, (0..world.mechanism.joints.len()).map(|joint| engine.joint(JointId::new(joint)).position).collect())
}

type Look = (Vec<BodyState>, Vec<[f64; 3]>);

fn fault(world: &World, engine: &dyn Engine, h: f64, before: &Look, now: &Look) -> Option<String> {
    let bad =
        [StepCheck::Divergence, StepCheck::Unconverged, StepCheck::Speed, StepCheck::Energy, StepCheck::JointError];
    if let Some(event) = engine.step_events().iter().find(|event| bad.contains(&event.check)) {
        return Some(event.text.clone());
    }
    // Axes turn with their bodies while points move: an effect of second order in the angles of all joints.
    let turned: f64 =
        before.1.iter().zip(&now.1).flat_map(|(one, two)| [0, 1, 2].map(|k| (one[k] - two[k]).abs())).sum();
    let most = SPEED * h * (1.0 + turned) + 1e-12;
    for (id, own) in world.mechanism.bodies().filter(|(_, body)| !body.fixed) {
        let Some(half) = own.shape.as_ref().map(|placed| half_of(&placed.shape)) else { continue };
        for corner in
            (0..8u32).map(|k| half * DVec3::from_array([1, 2, 4].map(|bit| if k & bit == 0 { -1.0 } else { 1.0 })))
        {
            let [from, to] = [before, now].map(|look| look.0[id.index()].pose.point(corner));
            if from.distance(to) > most {
                return Some(format!("'{}' moved by {:.2e} m in a step", own.name, from.distance(to)));
            }
        }
    }
    beyond_stops(world, now)
}

/// Half of the box around a shape.
fn half_of(shape: &Shape) -> DVec3 {
    let around = |points: &[DVec3]| points.iter().fold(DVec3::ZERO, |most, point| most.max(point.abs()));
    match shape {
        Shape::Box { size } => 0.5 * *size,
        Shape::Sphere { radius } => DVec3::splat(*radius),
        Shape::Ellipsoid { radii } => *radii,
        Shape::Cylinder { radius, length } | Shape::Cone { radius, length } => {
            DVec3::new(*radius, 0.5 * length, *radius)
        }
        Shape::Capsule { radius, length } => DVec3::new(*radius, 0.5 * length + radius, *radius),
        Shape::ConvexHull { points } => around(points),
        Shape::TriangleMesh { vertices, .. } => around(vertices),
        Shape::Compound { .. } => DVec3::ZERO,
    }
}

fn beyond_stops(world: &World, now: &Look) -> Option<String> {
    for (joint, position) in world.mechanism.joints.iter().zip(&now.1) {
        if joint.kind == JointKind::Ball {
            let lean = (DQuat::from_scaled_axis(DVec3::from_array(*position)) * DVec3::Z).z.clamp(-1.0, 1.0).acos();
            if lean > joint.swing + SWING {
                return Some(format!("'{}' leans by {lean}, beyond {}", joint.name, joint.swing));
            }
            continue;
        }
        for (axis, position) in joint.axes.iter().zip(position) {
            let Some(axis) = axis.free() else { continue };
            if *position < axis.lower - STOPS || *position > axis.upper + STOPS {
                return Some(format!("'{}' is at {position}, beyond {} to {}", joint.name, axis.lower, axis.upper));
            }
        }
    }
    for Coupling { leader, follower, ratio, .. } in &world.mechanism.couplings {
        let [leader, follower] = [leader, follower].map(|axis| now.1[axis.joint.index()][axis.axis]);
        if (follower - ratio * leader).abs() > 1e-8 {
            return Some(format!("a coupling is off by {:.1e}", follower - ratio * leader));
        }
    }
    None
}
