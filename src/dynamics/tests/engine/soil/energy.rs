//! Soil dissipates energy: for any motion of a shape, the soil never returns more energy than it received.

use bevy_math::DVec3;
use simpartner_dynamics::{Engine, Motor, soil::Pressure};
use simpartner_model::{BodyId, JointId, Shape, Soil};

use super::{G, WIDTH, rig, steps};
use crate::{build, worlds::Chance};

/// Rounding of the work, as a fraction of the work done on the soil.
const ROUNDING: f64 = 1e-9;

/// Guide of a shape: velocities along x and y and about z, and the soil's work so far.
struct Guide {
    engine: Box<dyn Engine>,
    h: f64,
    work: f64,
    /// The most of it there ever was, and the sum of all of it that the soil took, J.
    most: f64,
    taken: f64,
}

impl Guide {
    /// A wheel of the rig, or a foot as large.
    fn new(soil: Soil, is_wheel: bool, h: f64) -> Self {
        let mut world = rig(soil);
        if !is_wheel {
            let foot = Shape::Box { size: DVec3::new(0.12, 0.18, WIDTH) };
            world.mechanism.bodies[1].shape = crate::scene::body("foot", 1.0, Some(foot), DVec3::ZERO).shape;
        }
        Self { engine: build(&world, h), h, work: 0.0, most: 0.0, taken: 0.0 }
    }

    /// Moves at these velocities for a number of steps.
    fn lead(&mut self, velocities: [f64; 3], steps: usize) {
        for (axis, target) in velocities.into_iter().enumerate() {
            self.engine.set_motor(JointId::new(0), axis, Motor::Velocity { target, max_effort: 1e9 });
        }
        for _ in 0..steps {
            let before = self.engine.body(BodyId::new(1));
            self.engine.step();
            let body = self.engine.body(BodyId::new(1));
            let moves = body.force.dot(0.5 * (before.linear_velocity + body.linear_velocity));
            let turns = body.torque.dot(0.5 * (before.angular_velocity + body.angular_velocity));
            let work = self.h * (moves + turns);
            self.work += work;
            self.taken -= work.min(0.0);
            self.most = self.most.max(self.work);
        }
    }
}

/// Legs of any size and any direction, to and fro, in soil and out of it.
#[test]
fn no_way_through_soil_gives_energy() {
    let mut wholes = Vec::new();
    for seed in 0..160 {
        let mut chance = Chance(seed);
        let h = [0.001, 0.002, 0.005, 0.01][chance.below(4)];
        let named = Soil::NAMED[chance.below(Soil::NAMED.len())];
        let is_wheel = chance.below(2) == 0;
        let mut guide = Guide::new(named.soil, is_wheel, h);
        for _ in 0..60 {
            let size = 10f64.powf(chance.between(-5.0, -1.5));
            let way = [size, 0.5 * size, 10.0 * size].map(|most| chance.between(-most, most));
            let legs = 1 + chance.below(12);
            let velocities = way.map(|way| way / (legs as f64 * h));
            guide.lead(velocities, legs);
            if chance.below(2) == 0 {
                guide.lead(velocities.map(|velocity| -velocity), legs);
            }
        }
        let Guide { most, taken, work, .. } = guide;
        let shape = if is_wheel { "wheel" } else { "foot" };
        println!("{seed}: {shape}, {}, {h}: most {most:.2e}, in the end {work:.2e}, taken {taken:.2e} J", named.name);
        assert!(most <= ROUNDING * taken, "{seed}: {shape}, {}, {h}: {most} J", named.name);
        wholes.push(taken);
    }
    // Nearly all of them enter the soil.
    assert!(wholes.iter().filter(|&&taken| taken > 0.1).count() > 120, "{wholes:?}");
}

/// Legs that lead a shape down by `depth`, aside by half of the shear modulus and back a little, and then let it up by
/// `up`, m.
fn press_and_shear(guide: &mut Guide, [depth, shear, up]: [f64; 3]) {
    for way in [[0.0, -depth, 0.0], [shear, 0.0, 0.0], [-0.6 * shear, 0.0, 0.0], [0.0, up, 0.0]] {
        leg(guide, way);
    }
}

fn leg(guide: &mut Guide, way: [f64; 3]) {
    let h = guide.h;
    guide.lead(way.map(|way| way / 0.2), steps(h, 0.2));
}

/// Guides a shape along a closed path through corners, repeatedly. After the first rounds, a round returns no energy
/// beyond stored energy, and then the next round returns less.
fn check_rounds(guide: &mut Guide, corners: &[[f64; 3]], case: &str) {
    let mut last = f64::INFINITY;
    for round in 0..12 {
        let (before, mut at) = (guide.work, [0.0; 3]);
        for next in corners.iter().copied().chain([[0.0; 3]]) {
            leg(guide, std::array::from_fn(|k| next[k] - at[k]));
            at = next;
        }
        let given = guide.work - before;
        let settles = round < 6 || given <= ROUNDING * guide.taken || given < last;
        assert!(settles, "{case}, round {round}: {given} J, {last} J before");
        last = given;
    }
    println!("{case}: {last:.2e} J in the last round, {:.2e} J in all", guide.work);
    assert!(guide.most <= ROUNDING * guide.taken, "{case}: {} J", guide.most);
}

/// Soil that is sheared under little load, pressed, sheared back under this load and unloaded, repeatedly, while it is
/// elastic in shear and pressure: shear never returns more energy than it received.
#[test]
fn shear_under_another_load_gives_less_than_was_put_in() {
    for named in Soil::NAMED {
        let (depth, shear) = (0.03, named.soil.shear_modulus);
        let stress = Pressure::new(&named.soil, WIDTH, 0.0, G).at(depth, 0.0).0;
        let up = 0.9 * stress / named.soil.elastic_stiffness;
        for (is_wheel, h) in [(true, 0.002), (true, 0.01), (false, 0.002), (false, 0.01)] {
            let mut guide = Guide::new(named.soil, is_wheel, h);
            press_and_shear(&mut guide, [depth, shear, up]);
            let round = [[0.4 * shear, 0.0, 0.0], [0.4 * shear, -up, 0.0], [0.0, -up, 0.0]];
            check_rounds(&mut guide, &round, &format!("{}, wheel {is_wheel}, {h}", named.name));
        }
    }
}

/// A foot, or a wheel that also turns, on a closed path of any corners within pressed soil, repeatedly: no round
/// returns energy.
#[test]
fn no_round_gives_energy() {
    for seed in 0..120 {
        let mut chance = Chance(seed);
        let h = [0.001, 0.002, 0.005, 0.01][chance.below(4)];
        let named = Soil::NAMED[chance.below(Soil::NAMED.len())];
        let (depth, shear) = (chance.between(0.005, 0.04), named.soil.shear_modulus * chance.between(0.2, 2.0));
        let up = Pressure::new(&named.soil, WIDTH, 0.0, G).at(depth, 0.0).0 / named.soil.elastic_stiffness;
        let is_wheel = seed % 3 > 0;
        let mut guide = Guide::new(named.soil, is_wheel, h);
        press_and_shear(&mut guide, [depth, shear, chance.between(0.0, 0.9) * up]);
        let turn = if seed % 3 == 1 { 5.0 * shear } else { 0.0 };
        let corners = 2 + chance.below(4);
        let within = [0.5 * shear, 0.4 * up, turn];
        let corners: Vec<[f64; 3]> = (0..corners).map(|_| within.map(|most| chance.between(-most, most))).collect();
        check_rounds(&mut guide, &corners, &format!("{seed}: {}, wheel {is_wheel}, {h}", named.name));
    }
}
