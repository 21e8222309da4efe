//! A rover of six wheels on rockers and bogies, with the size and mass of NASA's of 2004: 174 kg, wheels of 0.13 m
//! radius and 0.16 m width, 1.41 m from the first to the last and 1.06 m from left to right.
//!
//! A rocker on each side of the chassis carries the front wheel and a bogie with the two others; a differential turns
//! the rockers against each other. There are 16 degrees of freedom, of which the differential takes one. It drives
//! along +x. Its parts collide with the ground only.

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{Engine, Motor, Servo};
use simpartner_model::{
    Body, BodyId, Coupling, Joint, JointAxis, JointId, JointKind, Placed, Pose, Robot, RobotId, Shape,
};
use simpartner_wire::signal::Port;

use super::scene::{body, joint};

pub const WHEEL_RADIUS: f64 = 0.13;
/// kg, of all of it.
pub const MASS: f64 = 174.0;
pub const WHEEL_WIDTH: f64 = 0.16;
/// Distances from the middle of the chassis: forward to the front, middle and rear axles, and sideways to all, m.
const AXLES: [f64; 3] = [0.705, 0.0, -0.705];
const ASIDE: f64 = 0.53;

/// The added bodies and joints.
#[derive(Debug, Clone)]
pub struct SixWheels {
    /// The chassis.
    pub chassis: BodyId,
    /// The wheels and their axles.
    pub wheels: Vec<BodyId>,
    pub axles: Vec<JointId>,
}

impl SixWheels {
    /// Turns the wheels at a rate, rad/s.
    pub fn drive(&self, engine: &mut dyn Engine, rate: f64) {
        for &axle in &self.axles {
            let servo = Servo { position: 0.0, rate, stiffness: 0.0, damping: 50.0, max_effort: 40.0 };
            engine.set_motor(axle, 2, Motor::Servo(servo));
        }
    }

    /// Brakes the wheels.
    pub fn park(&self, engine: &mut dyn Engine) {
        for &axle in &self.axles {
            engine.set_motor(axle, 2, Motor::Velocity { target: 0.0, max_effort: 1e6 });
        }
    }
}

/// Adds a rover whose wheels stand on the plane through `at` with this rotation, as a separate robot.
pub fn add(world: &mut World, at: DVec3, turn: DQuat) -> SixWheels {
    let (first_body, first_joint) = (world.mechanism.bodies.len(), world.mechanism.joints.len());
    let place = |forward: f64, up: f64, right: f64| at + turn * DVec3::new(forward, up, right);
    let cuboid = |x, y, z| Some(Shape::Box { size: DVec3::new(x, y, z) });
    let chassis = body("chassis", 120.0, cuboid(1.0, 0.3, 0.8), place(0.0, 0.5, 0.0));
    world.mechanism.bodies.push(chassis);
    let (mut wheels, mut axles) = (Vec::new(), Vec::new());
    for side in [-1.0, 1.0] {
        let z = ASIDE * side;
        let rocker = push(world, body("rocker", 7.0, cuboid(0.7, 0.05, 0.05), place(0.35, 0.35, z)));
        hinge(world, "differential", [first_body, rocker], place(0.1, 0.4, z), turn);
        let bogie = push(world, body("bogie", 5.0, cuboid(0.7, 0.05, 0.05), place(-0.35, 0.25, z)));
        hinge(world, "bogie", [rocker, bogie], place(-0.35, 0.3, z), turn);
        for (x, carrier) in AXLES.into_iter().zip([rocker, bogie, bogie]) {
            let axle = place(x, WHEEL_RADIUS, z);
            let wheel = push(world, wheel(axle));
            wheels.push(BodyId::new(wheel));
            axles.push(JointId::new(hinge(world, "axle", [carrier, wheel], axle, turn)));
        }
    }
    let rockers = [0, 5].map(|k| JointAxis { joint: JointId::new(first_joint + k), axis: 2 });
    let [leader, follower] = rockers;
    world.mechanism.couplings.push(Coupling { leader, follower, ratio: -1.0, offset: 0.0, source: String::new() });
    let robot = RobotId::new(world.mechanism.robots.len());
    let name = format!("six wheels {}", robot.index());
    let model = name.clone();
    world.mechanism.robots.push(Robot { name, model, self_collision: false, source: String::new() });
    world.combined_ports.push(Port::ANY);
    for body in &mut world.mechanism.bodies[first_body..] {
        (body.robot, body.pose.rotation) = (Some(robot), turn);
    }
    world.mechanism.joints[first_joint..].iter_mut().for_each(|joint| joint.robot = Some(robot));
    SixWheels { chassis: BodyId::new(first_body), wheels, axles }
}

fn push(world: &mut World, body: Body) -> usize {
    world.mechanism.bodies.push(body);
    world.mechanism.bodies.len() - 1
}

/// A hinge that turns positively when a wheel rolls forwards; its number.
fn hinge(world: &mut World, name: &str, [parent, child]: [usize; 2], anchor: DVec3, turn: DQuat) -> usize {
    let frame = turn * DQuat::from_rotation_y(std::f64::consts::PI);
    world.mechanism.joints.push(Joint { frame, ..joint(name, JointKind::Hinge, parent, child, anchor) });
    world.mechanism.joints.len() - 1
}

fn wheel(at: DVec3) -> Body {
    let lying = Pose { rotation: DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2), ..Pose::default() };
    let shape = Shape::Cylinder { radius: WHEEL_RADIUS, length: WHEEL_WIDTH };
    Body { shape: Some(Placed { pose: lying, shape }), ..body("wheel", 5.0, None, at) }
}
