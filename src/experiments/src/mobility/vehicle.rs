//! A robot as a vehicle: its wheels, their drives, its mass distribution and the wheels that stand on the ground.

use bevy_math::DVec3;
use simpartner_description::{Actuator, DeviceSpec, Mount, World};
use simpartner_dynamics::{MassProperties, mass_properties};
use simpartner_model::{AXLE_TOLERANCE, BodyId, FreeAxis, Joint, JointId, Mechanism, Placed, Pose, Shape};

use super::error::MobilityError;

/// Largest height of a standing wheel above the lowest wheel, as a fraction of its radius: legs may differ slightly in
/// length.
const MAX_STANDING_HEIGHT: f64 = 0.1;

/// A wheel that stands on the ground.
#[derive(Debug, Clone, PartialEq)]
pub struct Wheel {
    /// Body of the wheel.
    pub body: BodyId,
    /// Joint of the axle.
    pub joint: JointId,
    /// Index of the joint's coordinate that turns the wheel.
    pub(super) coordinate: usize,
    /// 1 if a positive rate of the joint rolls the wheel forwards, else -1.
    pub(super) sign: f64,
    /// Centre, world frame, m.
    pub centre: DVec3,
    /// Radius, m.
    pub radius: f64,
    /// Width, m; `None` for a ball.
    pub width: Option<f64>,
    /// True if the wheel touches firm ground along its width, and not in one point.
    pub(super) is_cylinder: bool,
    /// Drive; `None` for a wheel that only rolls.
    pub(super) drive: Option<WheelDrive>,
    /// Height of the grousers above the radius, m.
    pub grousers: f64,
    /// Coulomb's coefficient of the material.
    pub(super) friction: f64,
    /// Coefficient of rolling resistance of the material.
    pub(super) rolling_friction: f64,
}

/// Limits of a wheel's motor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WheelDrive {
    axis: FreeAxis,
    /// Torque-speed line of the motor: stall torque after losses, N m, and no-load rate, rad/s.
    line: Option<[f64; 2]>,
}

impl WheelDrive {
    /// Largest torque at a rate, N m.
    pub(super) fn torque(&self, rate: f64) -> f64 {
        let line = self.line.map_or(f64::INFINITY, |[stall, no_load]| stall * (1.0 - rate / no_load).max(0.0));
        self.axis.max_effort.min(line).min(self.axis.max_power / rate)
    }
}

/// A robot on wheels.
#[derive(Debug, Clone)]
pub struct Vehicle {
    /// Name of the robot.
    pub name: String,
    /// Bodies and joints of the robot.
    pub(super) mechanism: Mechanism,
    /// Mass properties of each body.
    pub(super) masses: Vec<MassProperties>,
    /// The wheels that stand on the ground, from front to rear.
    pub wheels: Vec<Wheel>,
    /// Mass, kg.
    pub mass: f64,
    /// Centre of mass, world frame, m.
    pub centre: DVec3,
    /// Unit vector of the driving direction.
    pub forward: DVec3,
    /// Unit vector to the right.
    pub right: DVec3,
    /// Height of the ground, m.
    pub ground: f64,
    /// Body to which a rope is tied: the heaviest body that is no wheel.
    pub(super) base: BodyId,
    /// Coordinates that actuators hold, with their values, rad or m.
    pub(super) held: Vec<(JointId, usize, f64)>,
}

impl Vehicle {
    /// The vehicle of a world that has one robot and nothing else but ground.
    ///
    /// # Errors
    /// The robot is no vehicle; the message says what is missing.
    pub fn new(world: &World) -> Result<Self, MobilityError> {
        let refuse = |what: String| Err(MobilityError::Robot { name: world.name.clone(), what });
        let mechanism = world.mechanism.clone();
        if mechanism.robots.len() != 1 || mechanism.bodies.iter().any(|body| body.robot.is_none()) {
            let what = format!(
                "expected a robot by itself, got {} robots and {} objects; name the robot's own file",
                mechanism.robots.len(),
                mechanism.bodies.iter().filter(|body| body.robot.is_none()).count()
            );
            return refuse(what);
        }
        if let Some(fixed) = mechanism.bodies.iter().find(|body| body.fixed) {
            return refuse(format!("its body '{}' is fixed, so it goes nowhere", fixed.name));
        }
        let masses: Result<Vec<_>, _> = mechanism.bodies.iter().map(mass_properties).collect();
        let masses = masses.map_err(|what| MobilityError::Robot { name: world.name.clone(), what })?;
        let wheels = standing_wheels(world);
        let Some(forward) = driving_direction(&mechanism, &wheels) else {
            return refuse(
                "it has no wheels: a wheel is a body whose collision shape is a cylinder, a sphere or a capsule, which a joint without \
                 stops turns about its own level axis"
                    .into(),
            );
        };
        let mass: f64 = masses.iter().map(|mass| mass.mass).sum();
        let moments =
            mechanism.bodies.iter().zip(&masses).map(|(body, own)| body.pose.point(own.centre_of_mass) * own.mass);
        let centre = moments.sum::<DVec3>() / mass;
        let base = mechanism.bodies().filter(|(id, _)| wheels.iter().all(|wheel| wheel.body != *id));
        let base = base.max_by(|(_, a), (_, b)| a.mass.total_cmp(&b.mass)).map(|(id, _)| id);
        let Some(base) = base else { return refuse("it is nothing but wheels".into()) };
        let held = held_coordinates(world, &wheels);
        let ground = wheels.iter().map(|wheel| wheel.centre.y - wheel.radius).fold(f64::INFINITY, f64::min);
        let name = mechanism.robots[0].name.clone();
        let mut vehicle = Self {
            name,
            mechanism,
            masses,
            wheels,
            mass,
            centre,
            forward,
            right: forward.cross(DVec3::Y),
            ground,
            base,
            held,
        };
        vehicle.sort_wheels();
        Ok(vehicle)
    }

    /// Sorts the wheels from front to rear and from left to right, and sets the sign with which each rolls forwards.
    fn sort_wheels(&mut self) {
        let (forward, right) = (self.forward, self.right);
        // Wheels within a millimetre count as side by side.
        let ahead = |wheel: &Wheel| (wheel.centre.dot(forward) * 1e3).round();
        self.wheels
            .sort_by(|a, b| ahead(b).total_cmp(&ahead(a)).then(a.centre.dot(right).total_cmp(&b.centre.dot(right))));
        for wheel in &mut self.wheels {
            let joint = &self.mechanism.joints[wheel.joint.index()];
            let turns = if joint.child == wheel.body { 1.0 } else { -1.0 };
            let rolls = axle(joint, wheel.coordinate).map_or(DVec3::ZERO, |axis| axis.cross(DVec3::Y));
            wheel.sign = turns * rolls.dot(forward).signum();
        }
    }

    /// Weight under a gravity, m/s², in N.
    pub fn weight(&self, gravity: f64) -> f64 {
        self.mass * gravity
    }

    /// Distance from the foremost axle to the rearmost, m.
    pub fn wheelbase(&self) -> f64 {
        self.extent(self.forward)
    }

    /// Distance from the middle of the leftmost wheel to that of the rightmost, m.
    pub fn track(&self) -> f64 {
        self.extent(self.right)
    }

    /// Extent of the wheels' centres along a direction, m.
    fn extent(&self, direction: DVec3) -> f64 {
        let places = self.wheels.iter().map(|wheel| wheel.centre.dot(direction));
        let (low, high) =
            places.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), at| (low.min(at), high.max(at)));
        high - low
    }

    /// Coordinate of the farthest point of all shapes along a direction, from the world's origin, and their extent
    /// along it, m. A wheel counts with its width, whatever its collision shape is.
    pub(super) fn outline(&self, direction: DVec3) -> (f64, f64) {
        let reach = |direction: DVec3| {
            let each = self.mechanism.bodies().filter_map(|(id, body)| {
                let wheel = self.wheels.iter().find(|wheel| wheel.body == id);
                let cylinder = wheel.and_then(|wheel| self.cylinder(wheel));
                let shape = cylinder.as_ref().or(body.collision_shape())?;
                Some(body.pose.translation.dot(direction) + shape.reach(body.pose.rotation.inverse() * direction))
            });
            each.fold(f64::NEG_INFINITY, f64::max)
        };
        (reach(direction), reach(direction) + reach(-direction))
    }

    /// Largest radius of a wheel, m.
    pub fn radius(&self) -> f64 {
        self.wheels.iter().map(|wheel| wheel.radius).fold(0.0, f64::max)
    }

    /// Point to which a rope is tied, world frame: vertically in line with the centre of mass, at the mean height of
    /// the axles. A pull there shifts as little load between the wheels as a pull above the ground can.
    pub(super) fn hitch(&self) -> DVec3 {
        let count = self.wheels.len() as f64;
        let height = self.wheels.iter().map(|wheel| wheel.centre.y).sum::<f64>() / count;
        DVec3::new(self.centre.x, height, self.centre.z)
    }

    /// Shape of a wheel in soil, in its body's frame: a cylinder with the wheel's radius and width; `None` for a ball.
    pub(super) fn cylinder(&self, wheel: &Wheel) -> Option<Placed> {
        let (joint, body) = (self.mechanism.joint(wheel.joint), self.mechanism.body(wheel.body));
        let axis = body.pose.rotation.inverse() * axle(joint, wheel.coordinate)?;
        let rotation = bevy_math::DQuat::from_rotation_arc(DVec3::Y, axis.normalize());
        let pose = Pose { translation: body.pose.inverse().point(wheel.centre), rotation };
        Some(Placed { pose, shape: Shape::Cylinder { radius: wheel.radius, length: wheel.width? } })
    }

    /// Index of the wheel in whose rut this wheel rolls: the nearest wheel ahead whose track contains this wheel's
    /// middle.
    pub(super) fn leader(&self, index: usize) -> Option<usize> {
        let aside = |wheel: &Wheel| wheel.centre.dot(self.right);
        let own = aside(&self.wheels[index]);
        let ahead = |wheel: &Wheel| wheel.centre.dot(self.forward);
        (0..index).rev().find(|&other| {
            let leader = &self.wheels[other];
            (aside(leader) - own).abs() < 0.5 * leader.width.unwrap_or(0.0)
                && ahead(leader) > ahead(&self.wheels[index]) + leader.radius
        })
    }
}

/// The direction of a joint's coordinate, world frame.
fn axle(joint: &Joint, coordinate: usize) -> Option<DVec3> {
    joint.kind.coordinate(coordinate).map(|own| joint.direction(own))
}

/// Actuators of a joint.
fn actuators_of(world: &World, joint: JointId) -> impl Iterator<Item = &Actuator> {
    world.devices.iter().filter_map(move |device| match &device.spec {
        DeviceSpec::Actuator(actuator) if actuator.mount == Mount::Joint(joint) => Some(actuator),
        _ => None,
    })
}

/// The wheels that stand on the ground. If no wheel has a motor, all are assumed to have one, since descriptions
/// without actuators leave that open.
fn standing_wheels(world: &World) -> Vec<Wheel> {
    let mut wheels: Vec<_> = world.mechanism.joints().filter_map(|(id, joint)| wheel_of(world, id, joint)).collect();
    let bottom = |wheel: &Wheel| wheel.centre.y - wheel.radius;
    let lowest = wheels.iter().map(bottom).fold(f64::INFINITY, f64::min);
    wheels.retain(|wheel| bottom(wheel) - lowest <= MAX_STANDING_HEIGHT * wheel.radius);
    if wheels.iter().all(|wheel| wheel.drive.is_none()) {
        for wheel in &mut wheels {
            let axis = world.mechanism.joint(wheel.joint).axes[wheel.coordinate];
            wheel.drive = axis.free().map(|axis| WheelDrive { axis: *axis, line: None });
        }
    }
    wheels
}

/// The wheel that a joint turns about a level axle, if there is one.
fn wheel_of(world: &World, id: JointId, joint: &Joint) -> Option<Wheel> {
    let wheel = world.mechanism.wheel(joint).filter(|wheel| wheel.axis.y.abs() <= AXLE_TOLERANCE)?;
    let body = world.mechanism.body(wheel.body);
    let shape = body.collision_shape()?;
    let width = [Some(shape), body.shape.as_ref()].into_iter().flatten().find_map(|placed| match placed.shape {
        Shape::Cylinder { length, .. } if body.is_round_about(placed, wheel.axis) => Some(length),
        Shape::Capsule { length, radius } if body.is_round_about(placed, wheel.axis) => Some(length + radius),
        Shape::Ellipsoid { .. } if body.is_round_about(placed, wheel.axis) => {
            let axle = (body.pose.rotation * placed.pose.rotation).inverse() * wheel.axis;
            Some(2.0 * placed.shape.reach(axle))
        }
        _ => None,
    });
    let drive = actuators_of(world, id).next().map(|actuator| WheelDrive {
        axis: wheel.limits,
        line: actuator.motor.map(|motor| [motor.efficiency * motor.stall_effort, motor.no_load_rate]),
    });
    Some(Wheel {
        body: wheel.body,
        joint: id,
        coordinate: wheel.coordinate,
        sign: 1.0,
        centre: wheel.centre,
        radius: wheel.radius,
        width,
        is_cylinder: matches!(shape.shape, Shape::Cylinder { .. }),
        drive,
        grousers: body.material.grousers,
        friction: body.material.friction,
        rolling_friction: body.material.rolling_friction,
    })
}

/// Driving direction of the wheels: orthogonal to the first wheel's axle, towards the world's x, or towards -z if the
/// axle is along x. `None` without wheels.
fn driving_direction(mechanism: &Mechanism, wheels: &[Wheel]) -> Option<DVec3> {
    let first = wheels.first()?;
    let axis = axle(mechanism.joint(first.joint), first.coordinate)?;
    let across = axis.cross(DVec3::Y).normalize();
    // An axle along x, to rounding, has a driving direction along z.
    let ahead = if across.x.abs() > 1e-9 { across.x } else { -across.z };
    Some(across * ahead.signum())
}

/// Coordinates with an actuator, other than those of wheels, and their initial positions.
fn held_coordinates(world: &World, wheels: &[Wheel]) -> Vec<(JointId, usize, f64)> {
    let others = world.mechanism.joints().filter(|(id, _)| wheels.iter().all(|wheel| wheel.joint != *id));
    let driven = others.filter(|(id, _)| actuators_of(world, *id).next().is_some());
    let coordinates = driven.flat_map(|(id, joint)| {
        joint
            .free_coordinates()
            .filter_map(move |(coordinate, _)| Some((id, coordinate, joint.axes[coordinate].free()?.initial_position)))
    });
    coordinates.collect()
}
