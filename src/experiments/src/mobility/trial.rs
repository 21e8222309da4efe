//! Simulated trials of a vehicle: it pulls a brake cart, climbs slopes, tips over, climbs steps and drives among rocks.

use bevy_math::DVec3;
use simpartner_dynamics::{BodyState, ContactPoint, Engine, Motor, Settings, StepCheck, Wrench, build};
use simpartner_model::{Body, BodyId, Material, Mechanism, Placed, Plane, Pose, RockField, Shape, Timestep};

use super::{Ground, MobilityError, Site, closed::Steady, rocks::Touch, stability::Edge, vehicle::Vehicle};

/// Timestep, s. Forces of wheels in soil are the same to 1e-3 at any timestep up to 10 ms, and edges of steps are met
/// within 0.4 mm at 0.2 m/s.
const TIMESTEP_S: f64 = 0.002;
/// Coefficient of friction of wheels and ground in tipping trials, so that the vehicle does not slide.
const TIPPING_FRICTION: f64 = 10.0;
/// Time for which the vehicle settles before it starts, s.
const SETTLING_TIME: f64 = 0.5;
/// Time in which the wheels speed up, s.
const SPEED_UP_TIME: f64 = 0.5;
/// Rate at which the ground is tilted, rad/s: less than a hundredth of a degree in a step of 2 ms.
const TILT_RATE: f64 = 0.05;
/// Load below which the inner wheels count as lifted, as a fraction of the weight.
const LIFTED_LOAD: f64 = 1e-3;
/// Distance, in wheel radii, that the last wheel rolls in the rut of the first before the measurement, and again during
/// it. As it enters the rut the vehicle oscillates along its way. On dry sand, where that lasts longest, the
/// oscillation halves in every 0.16 m: WorkPartner's is down to an eighth after two radii of 0.235 m.
const SETTLED_RADII: f64 = 2.0;
/// Distance inside of the outermost contact point, m, beyond which a contact point is not on the edge over which a
/// vehicle tips.
const EDGE_WIDTH: f64 = 0.01;
/// Progress of a vehicle while its wheels roll by a radius, as a fraction of the radius, below which it is stuck.
const MIN_PROGRESS: f64 = 0.02;
/// Number of steps in which the brake cart's proportional gain takes up a difference of speed.
const CART_STEPS: f64 = 20.0;
/// Time constant of the brake cart's integral gain, s. The cart takes up the whole pull within a few tenths of a
/// second.
const CART_INTEGRAL_TIME: f64 = 0.1;

/// A vehicle in a simulated world of its own.
pub(super) struct Trial<'a> {
    vehicle: &'a Vehicle,
    site: &'a Site,
    engine: Box<dyn Engine>,
    /// Timestep, s.
    h: f64,
    /// Simulated time, s.
    time: f64,
    /// Hitch of the rope, in the frame of the base, m.
    hitch: DVec3,
    /// True if the state of a body has diverged.
    diverged: bool,
}

/// Integrals over time of quantities in steady motion. `torque_max` is the largest value instead.
#[derive(Default)]
struct Sums {
    time: f64,
    cart: f64,
    torque: f64,
    torque_max: f64,
    energy: f64,
    thrust: f64,
    resistance: f64,
    sinkage: f64,
    rim: f64,
    loads: Vec<f64>,
}

impl<'a> Trial<'a> {
    /// A trial on ground that rises ahead by an angle, rad, with obstacles.
    pub(super) fn new(
        vehicle: &'a Vehicle,
        site: &'a Site,
        slope: f64,
        obstacles: Vec<Body>,
    ) -> Result<Self, MobilityError> {
        let mut material = Material { friction: site.friction(), ..Material::default() };
        let mechanism = match &site.ground {
            Ground::Soil { soil, .. } => {
                material.soil = Some(*soil);
                on_cylinders(vehicle)
            }
            Ground::Firm { .. } => vehicle.mechanism.clone(),
        };
        Self::on_plane(vehicle, site, mechanism, material, slope, obstacles)
    }

    /// A trial among posts on level firm ground. The wheels collide as cylinders of their full width.
    pub(super) fn among_posts(vehicle: &'a Vehicle, site: &'a Site, posts: Vec<Body>) -> Result<Self, MobilityError> {
        let material = Material { friction: site.friction(), ..Material::default() };
        Self::on_plane(vehicle, site, on_cylinders(vehicle), material, 0.0, posts)
    }

    /// A trial on a plane of a material, with other bodies.
    fn on_plane(
        vehicle: &'a Vehicle,
        site: &'a Site,
        mut mechanism: Mechanism,
        material: Material,
        slope: f64,
        others: Vec<Body>,
    ) -> Result<Self, MobilityError> {
        mechanism.grounds = vec![Plane { normal: DVec3::Y, distance: vehicle.ground, material }.into()];
        mechanism.gravity = site.down(vehicle, slope);
        mechanism.bodies.extend(others);
        Self::build(vehicle, site, &mechanism)
    }

    /// A trial with a mechanism. Its motors hold the vehicle's held coordinates at their targets.
    fn build(vehicle: &'a Vehicle, site: &'a Site, mechanism: &Mechanism) -> Result<Self, MobilityError> {
        let timestep = Timestep::from_seconds(TIMESTEP_S).unwrap_or(Timestep::MILLISECOND);
        let engine = build(mechanism, timestep, &Settings::default())?;
        let hitch = vehicle.mechanism.body(vehicle.base).pose.inverse().point(vehicle.hitch());
        let mut trial = Self { vehicle, site, engine, h: timestep.seconds(), time: 0.0, hitch, diverged: false };
        for &(joint, coordinate, target) in &vehicle.held {
            let motor = Motor::Position { target, max_effort: f64::MAX };
            trial.engine.set_motor(joint, coordinate, motor);
        }
        Ok(trial)
    }

    /// State of the vehicle's base.
    fn base_state(&self) -> BodyState {
        self.engine.body(self.vehicle.base)
    }

    /// Position of the hitch along the driving direction, m.
    fn position_ahead(&self) -> f64 {
        self.base_state().pose.point(self.hitch).dot(self.vehicle.forward)
    }

    /// Speed of the hitch along the driving direction, m/s.
    fn speed_ahead(&self) -> f64 {
        let base = self.base_state();
        let arm = base.pose.direction(self.hitch - self.vehicle.masses[self.vehicle.base.index()].centre_of_mass);
        (base.linear_velocity + base.angular_velocity.cross(arm)).dot(self.vehicle.forward)
    }

    /// Target of the rims' speed at the present time, m/s: zero while the vehicle settles, then a linear rise.
    fn target_rim_speed(&self) -> f64 {
        self.site.rim_speed * ((self.time - SETTLING_TIME) / SPEED_UP_TIME).clamp(0.0, 1.0)
    }

    /// Sets the motors of the wheels to a rim speed, m/s. At zero they brake with unlimited torque.
    fn turn_wheels(&mut self, rim: f64) {
        for wheel in &self.vehicle.wheels {
            let Some(drive) = wheel.drive else { continue };
            let rate = rim / wheel.radius;
            let max_effort = if rate > 0.0 { drive.torque(rate) } else { f64::MAX };
            let motor = Motor::Velocity { target: wheel.sign * rate, max_effort };
            self.engine.set_motor(wheel.joint, wheel.coordinate, motor);
        }
    }

    fn step(&mut self) {
        self.engine.step();
        self.time += self.h;
        self.diverged |= self.engine.step_events().iter().any(|event| event.check == StepCheck::Divergence);
    }

    /// Pulls the hitch back with a force, N, in the next step.
    fn pull_back(&mut self, force: f64) {
        let wrench = Wrench { force: -self.vehicle.forward * force, torque: DVec3::ZERO };
        self.engine.apply_wrench(self.vehicle.base, self.hitch, wrench);
    }

    /// Drives until the motion is steady, with the last wheel in the rut of the first ([`SETTLED_RADII`]), and returns
    /// that motion. With `slip`, the vehicle pulls a cart that brakes it to that slip. `None` if the vehicle is slower
    /// than the largest slip permits.
    pub(super) fn drive_steadily(&mut self, slip: Option<f64>, most_slip: f64) -> Option<Steady> {
        let measured = SETTLED_RADII * self.vehicle.radius();
        let length = self.vehicle.wheelbase() + 2.0 * measured;
        let start = self.position_ahead();
        let full = self.site.rim_speed * (1.0 - slip.unwrap_or(most_slip));
        let (latest, gain) =
            (SETTLING_TIME + SPEED_UP_TIME + 1.25 * length / full, self.vehicle.mass / (CART_STEPS * self.h));
        let (mut held_back, mut sums, mut last) = (0.0, Sums::default(), 0.0);
        let mut from = None;
        while self.position_ahead() - start < length {
            self.turn_wheels(self.target_rim_speed());
            if let Some(slip) = slip {
                let faster = self.speed_ahead() - self.target_rim_speed() * (1.0 - slip);
                held_back += gain * faster * self.h / CART_INTEGRAL_TIME;
                last = gain * faster + held_back;
                self.pull_back(last);
            }
            self.step();
            let way = self.position_ahead() - start;
            if self.diverged || self.time > latest || way < -length || self.is_stuck(way, most_slip) {
                return None;
            }
            if way > length - measured {
                from.get_or_insert((way, self.time));
                self.add_to_sums(&mut sums, last);
            }
        }
        let (first, since) = from?;
        Some(self.steady_motion(&sums, (self.position_ahead() - start - first) / (self.time - since).max(self.h)))
    }

    /// True if the vehicle is so slow, 2 s after it has sped up, that its slip is far above the largest slip.
    fn is_stuck(&self, way: f64, most_slip: f64) -> bool {
        let driven = self.time - SETTLING_TIME - SPEED_UP_TIME;
        driven > 2.0 && way < 0.5 * (1.0 - most_slip) * self.site.rim_speed * driven
    }

    /// Adds the last step to the integrals; `cart` is the force of the cart, N.
    fn add_to_sums(&self, sums: &mut Sums, cart: f64) {
        sums.time += self.h;
        sums.cart += cart * self.h;
        sums.loads.resize(self.vehicle.wheels.len(), 0.0);
        let (mut torques, mut rims, mut driven) = (0.0, 0.0, 0.0);
        let mut deepest = 0.0f64;
        for (wheel, load) in self.vehicle.wheels.iter().zip(&mut sums.loads) {
            let (joint, force) = (self.engine.joint(wheel.joint), self.engine.body(wheel.body).force);
            *load += force.y * self.h;
            if wheel.drive.is_some() {
                let torque = wheel.sign * joint.effort[wheel.coordinate];
                let rate = wheel.sign * joint.rate[wheel.coordinate];
                torques += torque;
                sums.torque_max = sums.torque_max.max(torque);
                sums.energy += torque * rate * self.h;
                (rims, driven) = (rims + rate * wheel.radius, driven + 1.0);
            }
            let along = force.dot(self.vehicle.forward);
            let resists = match self.engine.soil_reading(wheel.body) {
                Some(soil) => {
                    deepest = deepest.max(soil.sinkage);
                    soil.resistance
                }
                None => wheel.rolling_friction * force.y,
            };
            sums.thrust += (along + resists) * self.h;
            sums.resistance += resists * self.h;
        }
        sums.torque += torques * self.h;
        sums.rim += rims / f64::max(driven, 1.0) * self.h;
        sums.sinkage += deepest * self.h;
    }

    /// Mean motion from the integrals and the mean speed, m/s.
    fn steady_motion(&self, sums: &Sums, speed: f64) -> Steady {
        let mean = |sum: f64| sum / sums.time;
        let rim = mean(sums.rim);
        Steady {
            slip: 1.0 - speed / rim,
            drawbar_pull_n: mean(sums.cart),
            thrust_n: mean(sums.thrust),
            compaction_n: mean(sums.resistance),
            bulldozing_n: 0.0,
            grade_n: 0.0,
            torque_nm: mean(sums.torque),
            torque_max_nm: sums.torque_max,
            energy_j_per_m: mean(sums.energy) / speed,
            sinkage_m: mean(sums.sinkage),
            loads_n: sums.loads.iter().map(|load| mean(*load)).collect(),
        }
    }

    /// Distance that the vehicle drives until it touches an obstacle, m; `None` if it touches none up to its own length
    /// beyond `expected`, m.
    pub(super) fn distance_to_touch(&mut self, expected: f64) -> Option<f64> {
        let own = self.vehicle.mechanism.bodies.len();
        let is_obstacle = |body: &Option<BodyId>| body.is_some_and(|body| body.index() >= own);
        let (start, length) = (self.position_ahead(), self.vehicle.outline(self.vehicle.forward).1);
        let latest = SETTLING_TIME + SPEED_UP_TIME + 2.0 * (expected + length) / self.site.rim_speed;
        while self.time < latest && self.position_ahead() - start < expected + length && !self.diverged {
            self.turn_wheels(self.target_rim_speed());
            self.step();
            // Contact points without a force are near, but do not touch.
            let mut pushes = self.engine.contacts().iter().filter(|contact| contact.wrench.force != DVec3::ZERO);
            if pushes.any(|contact| contact.bodies.iter().any(is_obstacle)) {
                return Some(self.position_ahead() - start);
            }
        }
        None
    }

    /// Drives against a step and returns true if all wheels get onto it. `face` is the distance of the step's face from
    /// the centre of the foremost wheel at the start, m. While a wheel is at the face, the rims' speed is at most
    /// `creep`, m/s.
    pub(super) fn climbs_step(&mut self, face: f64, creep: f64) -> bool {
        let vehicle = self.vehicle;
        let (radius, ahead) = (vehicle.radius(), |place: DVec3| place.dot(vehicle.forward));
        let first = vehicle.wheels.iter().map(|wheel| ahead(wheel.centre)).fold(f64::NEG_INFINITY, f64::max);
        let face = first + face;
        // Time in which the wheels roll by a radius.
        let pause = radius / creep.min(self.site.rim_speed);
        let (mut way, mut next) = (self.position_ahead(), SETTLING_TIME + SPEED_UP_TIME + pause);
        while !self.diverged {
            let beyond = vehicle.wheels.iter().map(|wheel| ahead(self.engine.body(wheel.body).pose.translation) - face);
            let (mut last, mut is_at_face) = (f64::INFINITY, false);
            for beyond in beyond {
                last = last.min(beyond);
                is_at_face |= (-1.5 * radius..=0.5 * radius).contains(&beyond);
            }
            if last > 0.5 * radius {
                return true;
            }
            let rim = self.target_rim_speed();
            self.turn_wheels(if is_at_face { rim.min(creep) } else { rim });
            self.step();
            if self.time > next {
                if self.position_ahead() - way < MIN_PROGRESS * radius {
                    return false;
                }
                (way, next) = (self.position_ahead(), next + pause);
            }
        }
        false
    }

    /// Tilt of the ground towards an edge of the support polygon, rad, at which only contact points on that edge carry
    /// the vehicle: for wide wheels these are on the outer rims. `None` if it does not tip.
    pub(super) fn tipping_angle(
        vehicle: &'a Vehicle,
        site: &'a Site,
        edge: &Edge,
    ) -> Result<Option<f64>, MobilityError> {
        let mut mechanism = vehicle.mechanism.clone();
        let material = Material { friction: TIPPING_FRICTION, ..Material::default() };
        mechanism.grounds = vec![Plane { normal: DVec3::Y, distance: vehicle.ground, material }.into()];
        mechanism.gravity = site.down(vehicle, 0.0);
        for wheel in &vehicle.wheels {
            let own = &mut mechanism.bodies[wheel.body.index()].material;
            (own.friction, own.across) = (TIPPING_FRICTION, None);
        }
        let mut trial = Self::build(vehicle, site, &mechanism)?;
        let aside = vehicle.forward * libm::cos(edge.heading_rad) + vehicle.right * libm::sin(edge.heading_rad);
        for wheel in vehicle.wheels.iter().filter(|wheel| wheel.drive.is_none()) {
            let brake = Motor::Velocity { target: 0.0, max_effort: f64::MAX };
            trial.engine.set_motor(wheel.joint, wheel.coordinate, brake);
        }
        trial.turn_wheels(0.0);
        let least = LIFTED_LOAD * vehicle.weight(site.gravity);
        while !trial.diverged {
            let tilt = TILT_RATE * (trial.time - SETTLING_TIME).max(0.0);
            if tilt > std::f64::consts::FRAC_PI_2 {
                return Ok(None);
            }
            let down = (aside * libm::sin(tilt) - DVec3::Y * libm::cos(tilt)) * site.gravity;
            for (id, body) in vehicle.mechanism.bodies() {
                let own = &vehicle.masses[id.index()];
                let wrench = Wrench { force: (down - mechanism.gravity) * own.mass, torque: DVec3::ZERO };
                debug_assert!(!body.fixed);
                trial.engine.apply_wrench(id, own.centre_of_mass, wrench);
            }
            trial.step();
            let place = |contact: &ContactPoint| aside.dot(contact.point);
            let touching = || trial.engine.contacts().iter().filter(|contact| contact.bodies[0].is_none());
            let outermost = touching().map(place).fold(f64::NEG_INFINITY, f64::max);
            let inside = touching().filter(|contact| place(contact) < outermost - EDGE_WIDTH);
            if trial.time > SETTLING_TIME && inside.map(|contact| contact.wrench.force.y).sum::<f64>() < least {
                return Ok(Some(tilt));
            }
        }
        Ok(None)
    }
}

/// The vehicle's mechanism with wheels that collide as cylinders. Soil needs them, even if the robot's wheels are balls
/// on firm ground.
fn on_cylinders(vehicle: &Vehicle) -> Mechanism {
    let mut mechanism = vehicle.mechanism.clone();
    for wheel in &vehicle.wheels {
        if let Some(cylinder) = vehicle.cylinder(wheel) {
            mechanism.bodies[wheel.body.index()].collision = Some(cylinder);
        }
    }
    mechanism
}

/// A step across the way. `face` is the distance of its face from the centre of the foremost wheel, m, and `height`
/// that of its top above the ground, m.
pub(super) fn step_ahead(vehicle: &Vehicle, site: &Site, face: f64, height: f64) -> Body {
    let first = vehicle.wheels.iter().map(|wheel| wheel.centre.dot(vehicle.forward)).fold(f64::NEG_INFINITY, f64::max);
    // Long and wide enough to stand on, and so deep that no wheel is nearer to another face than to the front and the
    // top.
    let size = DVec3::new(
        2.0 * vehicle.wheelbase() + 8.0 * vehicle.radius(),
        1.0 + height,
        4.0 * vehicle.outline(vehicle.right).1 + 1.0,
    );
    let aside = vehicle.centre.dot(vehicle.right);
    let middle = vehicle.forward * (first + face + 0.5 * size.x)
        + vehicle.right * aside
        + DVec3::Y * (vehicle.ground + height - 0.5 * size.y);
    let rotation = bevy_math::DQuat::from_rotation_arc(DVec3::X, vehicle.forward);
    let material = Material { friction: site.friction(), ..Material::default() };
    Body {
        name: "Step".into(),
        fixed: true,
        pose: Pose { translation: middle, rotation },
        shape: Some(Placed { pose: Pose::IDENTITY, shape: Shape::Box { size } }),
        material,
        ..Body::default()
    }
}

/// The rocks of a field that the vehicle may touch: those that do not overlap it at the start, up to a little beyond
/// the first that it touches. The vehicle's front starts where the field's way begins. The rocks cannot be climbed, so
/// they are posts of the same diameter.
pub(super) fn rocks_ahead(vehicle: &Vehicle, field: &RockField, touch: &Touch) -> Vec<Body> {
    let (front, length) = vehicle.outline(vehicle.forward);
    let aside = vehicle.centre.dot(vehicle.right);
    let start = -0.5 * field.width + 0.5 * field.largest;
    let height = 2.0 * (vehicle.centre.y - vehicle.ground) + vehicle.radius();
    let near = |place: [f64; 2], radius: f64| place[0] - radius >= 0.0 && place[0] < touch.way + 2.0 * length;
    let places = field.rocks().map(|rock| ([rock.place[0] - start, rock.place[1]], 0.5 * rock.diameter));
    // The touched rock is included even if it begins behind the front, beside the vehicle's corner.
    let touched = |place: [f64; 2], radius: f64| place == touch.place && radius == 0.5 * touch.diameter;
    let posts =
        places.filter(|&(place, radius)| near(place, radius) || touched(place, radius)).map(|(place, radius)| Body {
            name: "Rock".into(),
            fixed: true,
            pose: Pose {
                translation: vehicle.forward * (front + place[0])
                    + vehicle.right * (aside + place[1])
                    + DVec3::Y * (vehicle.ground + 0.5 * height),
                ..Pose::IDENTITY
            },
            shape: Some(Placed { pose: Pose::IDENTITY, shape: Shape::Cylinder { radius, length: height } }),
            ..Body::default()
        });
    posts.collect()
}
