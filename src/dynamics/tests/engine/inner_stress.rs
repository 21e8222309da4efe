//! Loads of robots whose joints are held or driven by rigid motors. Such a robot stands on the ground like one body on
//! equally stiff springs: no wheel pushes sideways, and no motor works against another.

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{Engine, Motor};
use simpartner_model::{BodyId, JointId, random::Stream};

use super::{G, build, on_plane, run, steps};
use crate::{
    rover::{self, JOINTS, MASS, Rover, WHEEL_RADIUS, Wheel},
    scene,
};

/// Indices of the wheels among the rover's bodies.
const WHEEL_BODIES: [usize; 4] = [4, 7, 10, 13];
const ROVER_WEIGHT: f64 = MASS * G;
/// Lever of a wheel's load about its knee, m: the length of a link times the sine of its slant.
const KNEE_LEVER: f64 = 0.25 * std::f64::consts::FRAC_1_SQRT_2;

/// A rover on a plane.
fn rover_on_plane(wheel: Wheel) -> (World, Rover) {
    let mut world = on_plane(scene::world());
    let rover = rover::add(&mut world, DVec3::ZERO, wheel);
    (world, rover)
}

/// Holds all joints, and turns the wheels at `rate`, rad/s.
fn drive_rover(engine: &mut dyn Engine, rover: Rover, rate: f64) {
    for (index, joint) in rover.joints().enumerate() {
        let is_wheel = index != 0 && index.is_multiple_of(3);
        let target = if is_wheel { rate } else { 0.0 };
        engine.set_motor(joint, 2, Motor::Velocity { target, max_effort: 1e3 });
    }
}

fn wheel_forces(engine: &dyn Engine, rover: Rover) -> [DVec3; 4] {
    WHEEL_BODIES.map(|wheel| engine.body(BodyId::new(rover.first_body + wheel)).force)
}

fn joint_efforts(engine: &dyn Engine, rover: Rover) -> [f64; JOINTS] {
    std::array::from_fn(|joint| engine.joint(JointId::new(rover.first_joint + joint)).effort[2])
}

/// Largest horizontal force on a wheel, as a fraction of the weight.
fn largest_pull(engine: &dyn Engine, rover: Rover) -> f64 {
    wheel_forces(engine, rover).iter().map(|force| force.x.hypot(force.z) / ROVER_WEIGHT).fold(0.0, f64::max)
}

/// A rover that stands: wheels carry a quarter each and push nowhere; knees hold their loads, hips the weight of their
/// links, axles nothing.
#[test]
fn a_standing_rover_has_no_inner_stress() {
    for h in [0.001, 0.004, 0.01] {
        let (world, rover) = rover_on_plane(Wheel::Ball);
        let mut engine = build(&world, h);
        drive_rover(&mut *engine, rover, 0.0);
        for seconds in [h, 0.1, 1.0] {
            run(&mut *engine, h, seconds);
            let pull = largest_pull(&*engine, rover);
            let uneven = wheel_forces(&*engine, rover)
                .map(|force| (force.y / ROVER_WEIGHT - 0.25).abs())
                .into_iter()
                .fold(0.0, f64::max);
            let efforts = joint_efforts(&*engine, rover);
            println!(
                "h {h}, {seconds} s more: pull {pull:.1e}, uneven {uneven:.1e} of the weight; efforts {efforts:.6?}"
            );
            assert!(pull < 1e-6 && uneven < 1e-6, "h {h}: {pull} {uneven}");
            for leg in 0..4 {
                let [hip, knee, axle] = [1, 2, 3].map(|joint| efforts[3 * leg + joint]);
                // Calf and wheel hang on the knee; the calf's centre is halfway to the axle.
                let expected = KNEE_LEVER * (0.25 * ROVER_WEIGHT - G) - 0.5 * KNEE_LEVER * 0.5 * G;
                // The centres of both links are half of the knee's lever before the hip.
                let links = 0.5 * KNEE_LEVER * 2.0 * 0.5 * G;
                assert!(axle.abs() < 1e-5 * ROVER_WEIGHT, "h {h}: axle {axle}");
                assert!((hip.abs() - links).abs() < 1e-4 * ROVER_WEIGHT, "h {h}: hip {hip} for {links}");
                assert!((knee.abs() - expected).abs() < 1e-4 * ROVER_WEIGHT, "h {h}: knee {knee} for {expected}");
            }
        }
    }
}

/// A rover that drives straight at constant speed: no wheel brakes another, with balls and cylinders as wheels.
#[test]
fn a_rover_at_constant_speed_has_no_inner_stress() {
    for h in [0.001, 0.01] {
        let (world, rover) = rover_on_plane(Wheel::Ball);
        let mut engine = build(&world, h);
        for step in 0..steps(h, 1.0) {
            drive_rover(&mut *engine, rover, 4.0 * (step as f64 * h).min(1.0));
            engine.step();
        }
        drive_rover(&mut *engine, rover, 4.0);
        run(&mut *engine, h, 1.0);
        let mut worst = 0.0f64;
        for _ in 0..steps(h, 1.0) {
            engine.step();
            worst = worst.max(largest_pull(&*engine, rover));
        }
        let speed = engine.body(BodyId::new(rover.first_body)).linear_velocity.x;
        println!("h {h}: {speed} m/s, pull {worst:.1e} of the weight");
        assert!((speed - 4.0 * WHEEL_RADIUS).abs() < 1e-5 && worst < 1e-4, "{speed} {worst}");
    }
}

/// A rover on a slope: all wheels hold the same share.
#[test]
fn a_rover_on_a_slope_shares_its_pull() {
    let slant = 0.1f64;
    for h in [0.001, 0.01] {
        let (mut world, rover) = rover_on_plane(Wheel::Ball);
        world.mechanism.gravity = DQuat::from_rotation_z(slant) * world.mechanism.gravity;
        let mut engine = build(&world, h);
        drive_rover(&mut *engine, rover, 0.0);
        run(&mut *engine, h, 0.5);
        for force in wheel_forces(&*engine, rover) {
            let expected = 0.25 * ROVER_WEIGHT * slant.sin();
            assert!(
                (force.x.abs() - expected).abs() < 1e-5 * ROVER_WEIGHT && force.z.abs() < 1e-5 * ROVER_WEIGHT,
                "{force}"
            );
        }
    }
}

/// Rovers with random loads on random legs: forces are those of one rigid body on four springs.
#[test]
fn random_rovers_stand_like_one_body_on_springs() {
    let mut numbers = Stream::from_number(3);
    let mut worst = 0.0f64;
    for _ in 0..40 {
        let (mut world, rover) = rover_on_plane(Wheel::Ball);
        for body in &mut world.mechanism.bodies {
            let factor = numbers.between(0.6, 1.6);
            body.mass *= factor;
            if let Some(inertia) = &mut body.inertia {
                inertia.tensor *= factor;
            }
        }
        let h = [0.001, 0.01][numbers.below(2)];
        let weight = G * world.mechanism.bodies.iter().map(|body| body.mass).sum::<f64>();
        let mut engine = build(&world, h);
        drive_rover(&mut *engine, rover, 0.0);
        run(&mut *engine, h, 0.3);
        let forces = wheel_forces(&*engine, rover);
        // The wheels stand on a rectangle, so the share of springs has no twist: both diagonals carry the same.
        let twist = (forces[0].y - forces[1].y - forces[2].y + forces[3].y) / weight;
        let pull = forces.iter().map(|force| force.x.hypot(force.z) / weight).fold(0.0, f64::max);
        worst = worst.max(pull).max(twist.abs());
    }
    println!("random rovers: {worst:.1e} of the weight");
    assert!(worst < 1e-5, "{worst}");
}

/// A motor at its largest effort exerts just that; the wheels bear what it leaves.
#[test]
fn loads_respect_the_largest_effort_of_a_motor() {
    let (world, rover) = rover_on_plane(Wheel::Ball);
    let mut engine = build(&world, 0.001);
    drive_rover(&mut *engine, rover, 0.0);
    let knee = JointId::new(rover.first_joint + 2);
    engine.set_motor(knee, 2, Motor::Velocity { target: 0.0, max_effort: 2.0 });
    run(&mut *engine, 0.001, 0.2);
    let effort = engine.joint(knee).effort[2];
    assert!(effort.abs() <= 2.0, "{effort}");
    let total: DVec3 = wheel_forces(&*engine, rover).iter().sum();
    assert!((total - DVec3::Y * ROVER_WEIGHT).length() < 1e-3 * ROVER_WEIGHT, "{total}");
}

/// A rover that starts at full speed at once: its wheels slip at first. Afterwards no wheel brakes another.
#[test]
fn a_rover_that_starts_at_once_ends_without_inner_stress() {
    for h in [0.001, 0.01] {
        let (world, rover) = rover_on_plane(Wheel::Ball);
        let mut engine = build(&world, h);
        drive_rover(&mut *engine, rover, 4.0);
        (0..steps(h, 0.1)).for_each(|_| engine.step());
        let slipping = largest_pull(&*engine, rover);
        (0..steps(h, 0.9)).for_each(|_| engine.step());
        let rolling = largest_pull(&*engine, rover);
        println!("h {h}: pull {slipping:.1e} of the weight at first, {rolling:.1e} afterwards");
        assert!(slipping > 0.1 && rolling < 1e-4, "{slipping} {rolling}");
    }
}

/// A rover whose chassis is bent and whose wheels turn equally fast on a ground of friction 0.5: all of them slide on
/// their circle. Wheels on springs of equal stiffness carry an affine function of their place. The four loads have one
/// more freedom, the vector whose sum and moments vanish; it is what statics leave open.
#[test]
fn wheels_that_all_slide_share_the_load_as_equal_springs_do() {
    for h in [0.001, 0.004] {
        let (mut world, rover) = rover_on_plane(Wheel::Ball);
        world.mechanism.grounds[0].material_mut().friction = 0.5;
        let mut engine = build(&world, h);
        let bend = |engine: &mut dyn Engine, rate: f64| {
            let joint = JointId::new(rover.first_joint);
            engine.set_motor(joint, 2, Motor::Velocity { target: rate, max_effort: 1e3 });
        };
        drive_rover(&mut *engine, rover, 0.0);
        bend(&mut *engine, 0.2972 / 2.0);
        run(&mut *engine, h, 2.0);
        drive_rover(&mut *engine, rover, 1.0);
        let (mut before, mut jump) = ([0.0; 4], 0.0f64);
        for step in 0..steps(h, 6.0) {
            engine.step();
            let loads = wheel_forces(&*engine, rover).map(|force| force.y);
            if step > steps(h, 1.0) {
                jump = (0..4).fold(jump, |jump, wheel| jump.max((loads[wheel] - before[wheel]).abs() / ROVER_WEIGHT));
            }
            before = loads;
        }
        let at = WHEEL_BODIES.map(|wheel| engine.body(BodyId::new(rover.first_body + wheel)).pose.translation);
        let minor = |[a, b, c]: [usize; 3]| {
            (at[b].x - at[a].x) * (at[c].z - at[a].z) - (at[b].z - at[a].z) * (at[c].x - at[a].x)
        };
        let twist = [minor([1, 2, 3]), -minor([0, 2, 3]), minor([0, 1, 3]), -minor([0, 1, 2])];
        let length = twist.iter().map(|part| part * part).sum::<f64>().sqrt();
        let share = twist.iter().zip(before).map(|(part, load)| part * load).sum::<f64>() / (length * ROVER_WEIGHT);
        println!("h {h}: loads {before:.3?}, twist {share:.1e} of the weight, jumps of {jump:.1e} in a step");
        assert!(share.abs() < 1e-4 && jump < 1e-2, "h {h}: {share} {jump}");
    }
}
