//! The robot of the measurements: 19 degrees of freedom, 14 bodies, 18 kg.
//!
//! Two half chassis of 5 kg with a vertical hinge between them, four legs of two links each (0.5 kg, 0.25 m), bent by
//! 45 degrees so that gravity loads the knees, four wheels of 1 kg with a radius of 0.235 m. It drives along +x. Its
//! parts collide with the ground only.

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{Engine, Motor, Servo};
use simpartner_model::{
    Body, BodyId, Inertia, Joint, JointId, JointKind, Material, Placed, Pose, Robot, RobotId, Shape,
};
use simpartner_wire::signal::Port;

use super::scene::{body, joint};

pub const WHEEL_RADIUS: f64 = 0.235;
pub const MASS: f64 = 18.0;
/// Height of the chassis' middle above the ground when it stands, m.
pub const RIDE: f64 = WHEEL_RADIUS + 0.5 * std::f64::consts::FRAC_1_SQRT_2;
const LINK: f64 = 0.25;
/// Number of its joints: the hinge of the chassis, then hip, knee and wheel of each leg.
pub const JOINTS: usize = 13;

/// The shape of its wheels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wheel {
    Ball,
    /// Half width 0.04 m.
    Cylinder,
}

/// The added bodies and joints, by the number of the robot.
#[derive(Debug, Clone, Copy)]
pub struct Rover {
    pub first_body: usize,
    pub first_joint: usize,
}

impl Rover {
    /// The joint of a wheel, 0 to 3.
    pub fn axle(self, wheel: usize) -> JointId {
        JointId::new(self.first_joint + 3 + 3 * wheel)
    }

    pub fn joints(self) -> impl Iterator<Item = JointId> {
        (self.first_joint..self.first_joint + JOINTS).map(JointId::new)
    }

    pub fn bodies(self) -> impl Iterator<Item = BodyId> {
        (self.first_body..self.first_body + 14).map(BodyId::new)
    }

    /// Sets motors that hold legs and chassis, and turn the wheels at a rate in rad/s.
    pub fn drive(self, engine: &mut dyn Engine, rate: f64) {
        for (index, joint) in self.joints().enumerate() {
            engine.set_motor(joint, 2, Motor::Servo(servo(index, rate)));
        }
    }
}

/// The drive of a joint, by its number in the robot.
pub fn servo(index: usize, rate: f64) -> Servo {
    let (rate, stiffness, damping, max_effort) = match index {
        0 => (0.0, 500.0, 50.0, 200.0),
        _ if index.is_multiple_of(3) => (rate, 0.0, 5.0, 10.0),
        _ => (0.0, 500.0, 20.0, 60.0),
    };
    Servo { position: 0.0, rate, stiffness, damping, max_effort }
}

/// A position in the axes of the drawing: forward, left, up.
fn place(forward: f64, left: f64, up: f64) -> DVec3 {
    DVec3::new(forward, up, -left)
}

/// Adds a rover that stands at `at`, as a separate robot.
pub fn add(world: &mut World, at: DVec3, wheel: Wheel) -> Rover {
    let rover = Rover { first_body: world.mechanism.bodies.len(), first_joint: world.mechanism.joints.len() };
    let slant = std::f64::consts::FRAC_PI_4;
    let tilt = |sign: f64| DQuat::from_rotation_z(sign * slant);
    let (across, down) = (LINK / 2.0 * slant.sin(), LINK / 2.0 * slant.cos());
    let chassis = DVec3::new(0.5, 0.2, 0.5);
    let link = DVec3::new(0.06, LINK, 0.06);
    let base = at + place(0.0, 0.0, RIDE);
    let cuboid = |size: DVec3| Some(Shape::Box { size });
    world.mechanism.bodies.push(body("front", 5.0, cuboid(chassis), base + place(0.3, 0.0, 0.0)));
    world.mechanism.bodies.push(body("rear", 5.0, cuboid(chassis), base + place(-0.3, 0.0, 0.0)));
    hinge(world, "Turner", [0, 1], base, DVec3::Y, rover);
    for (half, sign) in [(0, 1.0), (1, -1.0)] {
        for side in [1.0, -1.0] {
            let hip = base + place(0.45 * sign, 0.30 * side, 0.0);
            let knee = hip + place(2.0 * across * sign, 0.0, -2.0 * down);
            let axle = knee + place(-2.0 * across * sign, 0.14 * side, -2.0 * down);
            let first = world.mechanism.bodies.len() - rover.first_body;
            let mut thigh = body("thigh", 0.5, cuboid(link), hip + place(across * sign, 0.0, -down));
            thigh.pose.rotation = tilt(sign);
            let mut shank = body("shank", 0.5, cuboid(link), knee + place(-across * sign, 0.07 * side, -down));
            shank.pose.rotation = tilt(-sign);
            world.mechanism.bodies.extend([thigh, shank, wheel_body(wheel, axle)]);
            hinge(world, "hip", [half, first], hip, DVec3::Z, rover);
            hinge(world, "knee", [first, first + 1], knee, DVec3::Z, rover);
            hinge(world, "axle", [first + 1, first + 2], axle, DVec3::Z, rover);
        }
    }
    let robot = RobotId::new(world.mechanism.robots.len());
    let name = format!("rover{}", robot.index());
    world.mechanism.robots.push(Robot {
        name: name.clone(),
        model: name,
        self_collision: false,
        source: String::new(),
    });
    world.combined_ports.push(Port::ANY);
    world.mechanism.bodies[rover.first_body..].iter_mut().for_each(|body| body.robot = Some(robot));
    world.mechanism.joints[rover.first_joint..].iter_mut().for_each(|joint| joint.robot = Some(robot));
    rover
}

/// A hinge that turns positively when a wheel rolls along +x: about -z.
fn hinge(world: &mut World, name: &str, ends: [usize; 2], anchor: DVec3, axis: DVec3, rover: Rover) {
    let [parent, child] = ends.map(|end| end + rover.first_body);
    let frame = if axis == DVec3::Y {
        DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2)
    } else {
        DQuat::from_rotation_y(std::f64::consts::PI)
    };
    world.mechanism.joints.push(Joint { frame, ..joint(name, JointKind::Hinge, parent, child, anchor) });
}

fn wheel_body(wheel: Wheel, at: DVec3) -> Body {
    let (r, half) = (WHEEL_RADIUS, 0.04);
    let (shape, rotation, moments) = match wheel {
        Wheel::Ball => (Shape::Sphere { radius: r }, DQuat::IDENTITY, DVec3::splat(0.4 * r * r)),
        Wheel::Cylinder => {
            let across = (3.0 * r * r + 4.0 * half * half) / 12.0;
            let rotation = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2);
            (Shape::Cylinder { radius: r, length: 2.0 * half }, rotation, DVec3::new(across, across, 0.5 * r * r))
        }
    };
    let mut built = body("wheel", 1.0, None, at);
    built.shape = Some(Placed { pose: Pose { translation: DVec3::ZERO, rotation }, shape });
    built.inertia = Some(Inertia { centre_of_mass: DVec3::ZERO, tensor: DMat3::from_diagonal(moments) });
    built.material = Material::default();
    built
}
