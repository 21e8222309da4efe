//! The vehicle in the engine: it pulls a brake cart, climbs slopes, tips over and climbs steps.

use bevy_math::DVec3;
use simpartner_dynamics::{BodyState, ContactPoint, Engine, Guard, Motor, Settings, Wrench, build};
use simpartner_model::{Body, BodyId, Material, Mechanism, Placed, Plane, Pose, RockField, Shape, Timestep};

use super::{Ground, MobilityError, Site, closed::Steady, rocks::Touch, stability::Edge, vehicle::Vehicle};

/// Steps of 2 ms: soil's wheels have the same forces to 1e-3 at any step up to 10 ms, and edges of steps are met within 0.4 mm at 0.2 m/s.
const TIMESTEP_S: f64 = 0.002;
/// What wheels and ground have where a vehicle is to tip over and not to slide.
const STICKS: f64 = 10.0;
/// How long it settles before it starts, and speeds up, s.
const SETTLE: f64 = 0.5;
const SPEED_UP: f64 = 0.5;
/// How fast the ground is tilted, rad/s: in the 2 ms of a step that is less than a hundredth of a degree.
const TILT_RATE: f64 = 0.05;
/// Wheels that carry less than this part of the weight have left the ground.
const LIFTED: f64 = 1e-3;
/// The last wheel rolls on by so many radii in the rut of the first before anything is summed up, and by as many while it is: as it comes into this rut
/// the vehicle swings along its way. On dry sand, where that lasts longest, its swing halves in each 0.16 m: WorkPartner's is an eighth after two radii of 0.235 m.
const SETTLED_RADII: f64 = 2.0;
/// Points of contact that are farther inside than the outermost one by this, m, are not on the edge that a vehicle tips over.
const INSIDE: f64 = 0.01;
/// Wheels that roll on by a radius while the vehicle goes on by less than this part of it are stuck.
const STUCK: f64 = 0.02;
/// The brake cart takes up what a vehicle pulls with within about 20 steps, and all of it within a few tenths of a second.
const CART_STEPS: f64 = 20.0;
const CART_TIME: f64 = 0.1;

/// A vehicle in a world of its own.
pub(super) struct Trial<'a> {
    vehicle: &'a Vehicle,
    site: &'a Site,
    engine: Box<dyn Engine>,
    /// s.
    h: f64,
    time: f64,
    /// The hitch, in the frame of the base.
    hitch: DVec3,
    /// Whether some body came to no sound state.
    diverged: bool,
}

/// What is summed up while a vehicle drives evenly.
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
    /// On ground that rises ahead by an angle, rad; other bodies stand in its way.
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
        Self::on(vehicle, site, mechanism, material, slope, obstacles)
    }

    /// Among posts on firm ground, its wheels as wide as they are.
    pub(super) fn among(vehicle: &'a Vehicle, site: &'a Site, posts: Vec<Body>) -> Result<Self, MobilityError> {
        let material = Material { friction: site.friction(), ..Material::default() };
        Self::on(vehicle, site, on_cylinders(vehicle), material, 0.0, posts)
    }

    /// On a plane of a material, among other bodies.
    fn on(
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

    fn build(vehicle: &'a Vehicle, site: &'a Site, mechanism: &Mechanism) -> Result<Self, MobilityError> {
        let timestep = Timestep::from_seconds(TIMESTEP_S).unwrap_or(Timestep::MILLISECOND);
        let engine = build(mechanism, timestep, &Settings::default())?;
        let hitch = vehicle.mechanism.body(vehicle.base).pose.inverse().point(vehicle.hitch());
        let mut trial = Self { vehicle, site, engine, h: timestep.seconds(), time: 0.0, hitch, diverged: false };
        for &(joint, coordinate, target) in &vehicle.held {
            let motor = Motor::Position { target, max_effort: f64::MAX };
            trial.engine.drive(joint, coordinate, motor);
        }
        Ok(trial)
    }

    fn base(&self) -> BodyState {
        self.engine.body(self.vehicle.base)
    }

    /// How far ahead the hitch is, m.
    fn way(&self) -> f64 {
        self.base().pose.point(self.hitch).dot(self.vehicle.forward)
    }

    fn speed(&self) -> f64 {
        let base = self.base();
        let arm = base.pose.direction(self.hitch - self.vehicle.masses[self.vehicle.base.index()].centre_of_mass);
        (base.linear_velocity + base.angular_velocity.cross(arm)).dot(self.vehicle.forward)
    }

    /// How fast the rims are to be now, m/s: none at first, and then more and more.
    fn rim_speed(&self) -> f64 {
        self.site.rim_speed * ((self.time - SETTLE) / SPEED_UP).clamp(0.0, 1.0)
    }

    /// Turns the wheels as the time wants it; brakes hold them before.
    fn turn_wheels(&mut self, rim: f64) {
        for wheel in &self.vehicle.wheels {
            let Some(drive) = wheel.drive else { continue };
            let rate = rim / wheel.radius;
            let max_effort = if rate > 0.0 { drive.torque(rate) } else { f64::MAX };
            let motor = Motor::Velocity { target: wheel.sign * rate, max_effort };
            self.engine.drive(wheel.joint, wheel.coordinate, motor);
        }
    }

    fn step(&mut self) {
        self.engine.step();
        self.time += self.h;
        self.diverged |= self.engine.notices().iter().any(|notice| notice.guard == Guard::Divergence);
    }

    /// Pulls the hitch back with a force, N, in the next step.
    fn pull(&mut self, force: f64) {
        let wrench = Wrench { force: -self.vehicle.forward * force, torque: DVec3::ZERO };
        self.engine.push(self.vehicle.base, self.hitch, wrench);
    }

    /// It drives and, with `slip`, pulls a cart that brakes it to that slip. What it did once it drives evenly, with its last
    /// wheel in the rut of the first ([`SETTLED_RADII`]); `None` if it goes slower than the largest slip lets it.
    pub(super) fn drive(&mut self, slip: Option<f64>, most_slip: f64) -> Option<Steady> {
        let measured = SETTLED_RADII * self.vehicle.radius();
        let length = self.vehicle.wheelbase() + 2.0 * measured;
        let start = self.way();
        let full = self.site.rim_speed * (1.0 - slip.unwrap_or(most_slip));
        let (latest, gain) = (SETTLE + SPEED_UP + 1.25 * length / full, self.vehicle.mass / (CART_STEPS * self.h));
        let (mut held_back, mut sums, mut last) = (0.0, Sums::default(), 0.0);
        let mut from = None;
        while self.way() - start < length {
            self.turn_wheels(self.rim_speed());
            if let Some(slip) = slip {
                let faster = self.speed() - self.rim_speed() * (1.0 - slip);
                held_back += gain * faster * self.h / CART_TIME;
                last = gain * faster + held_back;
                self.pull(last);
            }
            self.step();
            let way = self.way() - start;
            if self.diverged || self.time > latest || way < -length || self.is_stuck(way, most_slip) {
                return None;
            }
            if way > length - measured {
                from.get_or_insert((way, self.time));
                self.add(&mut sums, last);
            }
        }
        let (first, since) = from?;
        Some(self.steady(&sums, (self.way() - start - first) / (self.time - since).max(self.h)))
    }

    /// Whether it is so slow, long after it started, that its slip is beyond all that is asked for.
    fn is_stuck(&self, way: f64, most_slip: f64) -> bool {
        let driven = self.time - SETTLE - SPEED_UP;
        driven > 2.0 && way < 0.5 * (1.0 - most_slip) * self.site.rim_speed * driven
    }

    fn add(&self, sums: &mut Sums, cart: f64) {
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
            let resists = match self.engine.soil(wheel.body) {
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

    fn steady(&self, sums: &Sums, speed: f64) -> Steady {
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

    /// How far it comes until it touches an obstacle, m; `None` if it goes on beyond `expected`, m, by its own length and touches none.
    pub(super) fn touches(&mut self, expected: f64) -> Option<f64> {
        let own = self.vehicle.mechanism.bodies.len();
        let is_obstacle = |body: &Option<BodyId>| body.is_some_and(|body| body.index() >= own);
        let (start, length) = (self.way(), self.vehicle.outline(self.vehicle.forward).1);
        let latest = SETTLE + SPEED_UP + 2.0 * (expected + length) / self.site.rim_speed;
        while self.time < latest && self.way() - start < expected + length && !self.diverged {
            self.turn_wheels(self.rim_speed());
            self.step();
            // Contacts that are near carry nothing.
            let mut pushes = self.engine.contacts().iter().filter(|contact| contact.wrench.force != DVec3::ZERO);
            if pushes.any(|contact| contact.bodies.iter().any(is_obstacle)) {
                return Some(self.way() - start);
            }
        }
        None
    }

    /// Whether it comes over a step whose face is so far ahead of where the foremost wheel's middle is, m. While a wheel is at the face it goes
    /// no faster than `creep`, m/s.
    pub(super) fn climbs(&mut self, face: f64, creep: f64) -> bool {
        let vehicle = self.vehicle;
        let (radius, ahead) = (vehicle.radius(), |place: DVec3| place.dot(vehicle.forward));
        let first = vehicle.wheels.iter().map(|wheel| ahead(wheel.centre)).fold(f64::NEG_INFINITY, f64::max);
        let face = first + face;
        // As long as its wheels take to roll on by a radius.
        let pause = radius / creep.min(self.site.rim_speed);
        let (mut way, mut next) = (self.way(), SETTLE + SPEED_UP + pause);
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
            let rim = self.rim_speed();
            self.turn_wheels(if is_at_face { rim.min(creep) } else { rim });
            self.step();
            if self.time > next {
                if self.way() - way < STUCK * radius {
                    return false;
                }
                (way, next) = (self.way(), next + pause);
            }
        }
        false
    }

    /// The angle, rad, at which ground that is tilted towards an edge of the support polygon carries the vehicle by what touches it in that edge
    /// alone: of wide wheels that is their outer rims.
    pub(super) fn tips(vehicle: &'a Vehicle, site: &'a Site, edge: &Edge) -> Result<Option<f64>, MobilityError> {
        let mut mechanism = vehicle.mechanism.clone();
        let material = Material { friction: STICKS, ..Material::default() };
        mechanism.grounds = vec![Plane { normal: DVec3::Y, distance: vehicle.ground, material }.into()];
        mechanism.gravity = site.down(vehicle, 0.0);
        for wheel in &vehicle.wheels {
            let own = &mut mechanism.bodies[wheel.body.index()].material;
            (own.friction, own.across) = (STICKS, None);
        }
        let mut trial = Self::build(vehicle, site, &mechanism)?;
        let aside = vehicle.forward * libm::cos(edge.heading_rad) + vehicle.right * libm::sin(edge.heading_rad);
        for wheel in vehicle.wheels.iter().filter(|wheel| wheel.drive.is_none()) {
            let brake = Motor::Velocity { target: 0.0, max_effort: f64::MAX };
            trial.engine.drive(wheel.joint, wheel.coordinate, brake);
        }
        trial.turn_wheels(0.0);
        let least = LIFTED * vehicle.weight(site.gravity);
        while !trial.diverged {
            let tilt = TILT_RATE * (trial.time - SETTLE).max(0.0);
            if tilt > std::f64::consts::FRAC_PI_2 {
                return Ok(None);
            }
            let down = (aside * libm::sin(tilt) - DVec3::Y * libm::cos(tilt)) * site.gravity;
            for (id, body) in vehicle.mechanism.bodies() {
                let own = &vehicle.masses[id.index()];
                let wrench = Wrench { force: (down - mechanism.gravity) * own.mass, torque: DVec3::ZERO };
                debug_assert!(!body.fixed);
                trial.engine.push(id, own.centre_of_mass, wrench);
            }
            trial.step();
            let place = |contact: &ContactPoint| aside.dot(contact.point);
            let touching = || trial.engine.contacts().iter().filter(|contact| contact.bodies[0].is_none());
            let outermost = touching().map(place).fold(f64::NEG_INFINITY, f64::max);
            let inside = touching().filter(|contact| place(contact) < outermost - INSIDE);
            if trial.time > SETTLE && inside.map(|contact| contact.wrench.force.y).sum::<f64>() < least {
                return Ok(Some(tilt));
            }
        }
        Ok(None)
    }
}

/// The vehicle with wheels that collide as cylinders, as soil has them, also where a robot on firm ground rolls on balls.
fn on_cylinders(vehicle: &Vehicle) -> Mechanism {
    let mut mechanism = vehicle.mechanism.clone();
    for wheel in &vehicle.wheels {
        if let Some(cylinder) = vehicle.cylinder(wheel) {
            mechanism.bodies[wheel.body.index()].collision = Some(cylinder);
        }
    }
    mechanism
}

/// A step across the way: its face is so far ahead of where the foremost wheel's middle is, m, and its top so high above the ground, m.
pub(super) fn step_ahead(vehicle: &Vehicle, site: &Site, face: f64, height: f64) -> Body {
    let first = vehicle.wheels.iter().map(|wheel| wheel.centre.dot(vehicle.forward)).fold(f64::NEG_INFINITY, f64::max);
    // Long and wide enough to stand on, and deep enough that no wheel is nearer to another of its faces.
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

/// The rocks of a field that are nowhere in the vehicle as it starts, its front where the field's way begins, up to a little beyond the first that
/// it touches. They cannot be climbed, so they stand as posts of their diameter.
pub(super) fn rocks_ahead(vehicle: &Vehicle, field: &RockField, touch: &Touch) -> Vec<Body> {
    let (front, length) = vehicle.outline(vehicle.forward);
    let aside = vehicle.centre.dot(vehicle.right);
    let start = -0.5 * field.width + 0.5 * field.largest;
    let height = 2.0 * (vehicle.centre.y - vehicle.ground) + vehicle.radius();
    let near = |place: [f64; 2], radius: f64| place[0] - radius >= 0.0 && place[0] < touch.way + 2.0 * length;
    let places = field.rocks().map(|rock| ([rock.place[0] - start, rock.place[1]], 0.5 * rock.diameter));
    // One beside the front corner whose edge is behind the front, and that the vehicle touches later, is there, too.
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
