//! A robot as a vehicle: its wheels, what drives them, where its mass is and what it stands on.

use bevy_math::DVec3;
use simpartner_description::{Actuator, DeviceSpec, Mount, World};
use simpartner_dynamics::{MassProperties, mass_properties};
use simpartner_model::{AXLE_TOLERANCE, BodyId, FreeAxis, Joint, JointId, Mechanism, Placed, Pose, Shape};

use super::error::MobilityError;

/// How far above the lowest wheel another may be and still stand, as a part of its radius: legs of slightly different length.
const STANDS: f64 = 0.1;

/// A wheel that stands on the ground.
#[derive(Debug, Clone, PartialEq)]
pub struct Wheel {
    /// Its body.
    pub body: BodyId,
    /// The joint that it turns on, and which of its coordinates.
    pub joint: JointId,
    pub(super) coordinate: usize,
    /// 1 where a positive rate rolls it forwards, else -1.
    pub(super) sign: f64,
    /// Its middle, m, world frame.
    pub centre: DVec3,
    /// m.
    pub radius: f64,
    /// m; `None` of a ball.
    pub width: Option<f64>,
    /// Whether it meets firm ground along its width, and not in one point.
    pub(super) is_cylinder: bool,
    /// What drives it; `None` of one that only rolls.
    pub(super) drive: Option<Drive>,
    /// How far its grousers reach beyond its radius, m.
    pub grousers: f64,
    /// Coulomb's coefficient, and that of rolling resistance, of its material.
    pub(super) friction: f64,
    pub(super) rolling_friction: f64,
}

/// What a wheel's motor can do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Drive {
    axis: FreeAxis,
    /// Effort at rest behind the losses, and the rate at which nothing is left of it.
    line: Option<[f64; 2]>,
}

impl Drive {
    /// The largest torque at a rate, N m.
    pub(super) fn torque(&self, rate: f64) -> f64 {
        let line = self.line.map_or(f64::INFINITY, |[stall, no_load]| stall * (1.0 - rate / no_load).max(0.0));
        self.axis.max_effort.min(line).min(self.axis.max_power / rate)
    }
}

/// A robot on wheels.
#[derive(Debug, Clone)]
pub struct Vehicle {
    /// Its name.
    pub name: String,
    /// What it consists of.
    pub(super) mechanism: Mechanism,
    pub(super) masses: Vec<MassProperties>,
    /// The wheels it stands on, those ahead first.
    pub wheels: Vec<Wheel>,
    /// kg.
    pub mass: f64,
    /// Centre of mass, world frame, m.
    pub centre: DVec3,
    /// Unit vectors: where it goes, and to its right.
    pub forward: DVec3,
    /// Across, to the right.
    pub right: DVec3,
    /// Height of the ground, m.
    pub ground: f64,
    /// What is pulled at: the heaviest body that is no wheel.
    pub(super) base: BodyId,
    /// Coordinates that actuators hold, with their values.
    pub(super) held: Vec<(JointId, usize, f64)>,
}

impl Vehicle {
    /// Of a world with one robot and nothing else in it but ground.
    ///
    /// # Errors
    /// When it is no vehicle; the message says what is missing.
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
        let wheels = wheels(world);
        let Some(forward) = heading(&mechanism, &wheels) else {
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
        let held = held(world, &wheels);
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
        vehicle.order();
        Ok(vehicle)
    }

    /// Those ahead first, those on the left first of a pair, and each with the sense in which it rolls forwards.
    fn order(&mut self) {
        let (forward, right) = (self.forward, self.right);
        // A millimetre apart is beside each other.
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

    /// Weight where things fall at this rate, N.
    pub fn weight(&self, gravity: f64) -> f64 {
        self.mass * gravity
    }

    /// From the foremost axle to the rearmost, m.
    pub fn wheelbase(&self) -> f64 {
        self.extent(self.forward)
    }

    /// From the middle of the leftmost wheel to that of the rightmost, m.
    pub fn track(&self) -> f64 {
        self.extent(self.right)
    }

    fn extent(&self, direction: DVec3) -> f64 {
        let places = self.wheels.iter().map(|wheel| wheel.centre.dot(direction));
        let (low, high) =
            places.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), at| (low.min(at), high.max(at)));
        high - low
    }

    /// How far the farthest point of all its shapes is in a direction, from the world's origin, and how far apart that and the nearest are, m.
    /// A wheel counts with its width, whatever it collides as.
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

    /// The largest radius of a wheel, m.
    pub fn radius(&self) -> f64 {
        self.wheels.iter().map(|wheel| wheel.radius).fold(0.0, f64::max)
    }

    /// Where a rope is tied to it, world frame: at the height of the axles above the middle of its mass, so that a pull there shifts
    /// load as little as a pull can that is above the ground.
    pub(super) fn hitch(&self) -> DVec3 {
        let count = self.wheels.len() as f64;
        let height = self.wheels.iter().map(|wheel| wheel.centre.y).sum::<f64>() / count;
        DVec3::new(self.centre.x, height, self.centre.z)
    }

    /// The shape that a wheel has in soil, in its body's frame: the cylinder that its figures are of.
    pub(super) fn cylinder(&self, wheel: &Wheel) -> Option<Placed> {
        let (joint, body) = (self.mechanism.joint(wheel.joint), self.mechanism.body(wheel.body));
        let axis = body.pose.rotation.inverse() * axle(joint, wheel.coordinate)?;
        let rotation = bevy_math::DQuat::from_rotation_arc(DVec3::Y, axis.normalize());
        let pose = Pose { translation: body.pose.inverse().point(wheel.centre), rotation };
        Some(Placed { pose, shape: Shape::Cylinder { radius: wheel.radius, length: wheel.width? } })
    }

    /// The wheel whose rut this one rolls in: the nearest before it in whose track its middle is.
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

fn actuators(world: &World, joint: JointId) -> impl Iterator<Item = &Actuator> {
    world.devices.iter().filter_map(move |device| match &device.spec {
        DeviceSpec::Actuator(actuator) if actuator.mount == Mount::Joint(joint) => Some(actuator),
        _ => None,
    })
}

/// The wheels that stand on the ground. Where none has a motor, all are thought to have one: descriptions without actuators leave that open.
fn wheels(world: &World) -> Vec<Wheel> {
    let mut wheels: Vec<_> = world.mechanism.joints().filter_map(|(id, joint)| wheel(world, id, joint)).collect();
    let bottom = |wheel: &Wheel| wheel.centre.y - wheel.radius;
    let lowest = wheels.iter().map(bottom).fold(f64::INFINITY, f64::min);
    wheels.retain(|wheel| bottom(wheel) - lowest <= STANDS * wheel.radius);
    if wheels.iter().all(|wheel| wheel.drive.is_none()) {
        for wheel in &mut wheels {
            let axis = world.mechanism.joint(wheel.joint).axes[wheel.coordinate];
            wheel.drive = axis.free().map(|axis| Drive { axis: *axis, line: None });
        }
    }
    wheels
}

/// The wheel that a joint turns about a level axle, if it turns one.
fn wheel(world: &World, id: JointId, joint: &Joint) -> Option<Wheel> {
    let wheel = world.mechanism.wheel(joint).filter(|wheel| wheel.axis.y.abs() <= AXLE_TOLERANCE)?;
    let body = world.mechanism.body(wheel.body);
    let shape = body.collision_shape()?;
    let width = [Some(shape), body.shape.as_ref()].into_iter().flatten().find_map(|placed| match placed.shape {
        Shape::Cylinder { length, .. } if body.is_round_about(placed, wheel.axis) => Some(length),
        Shape::Capsule { length, radius } if body.is_round_about(placed, wheel.axis) => Some(length + radius),
        _ => None,
    });
    let drive = actuators(world, id).next().map(|actuator| Drive {
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

/// Where wheels that stand alike go: across their axles, to the side of the world's x, else of its negative z. `None` without wheels.
fn heading(mechanism: &Mechanism, wheels: &[Wheel]) -> Option<DVec3> {
    let first = wheels.first()?;
    let axis = axle(mechanism.joint(first.joint), first.coordinate)?;
    let across = axis.cross(DVec3::Y).normalize();
    // An axle along x to rounding goes along z.
    let ahead = if across.x.abs() > 1e-9 { across.x } else { -across.z };
    Some(across * ahead.signum())
}

/// The coordinates with an actuator that are not those of wheels, and where they are.
fn held(world: &World, wheels: &[Wheel]) -> Vec<(JointId, usize, f64)> {
    let others = world.mechanism.joints().filter(|(id, _)| wheels.iter().all(|wheel| wheel.joint != *id));
    let driven = others.filter(|(id, _)| actuators(world, *id).next().is_some());
    let coordinates = driven.flat_map(|(id, joint)| {
        joint
            .free_coordinates()
            .filter_map(move |(coordinate, _)| Some((id, coordinate, joint.axes[coordinate].free()?.initial_position)))
    });
    coordinates.collect()
}
