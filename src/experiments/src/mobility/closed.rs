//! A vehicle that drives evenly, in closed form: what its wheels find in the ground under the loads that statics gives them.

use bevy_math::DVec3;
use serde::Serialize;
use simpartner_dynamics::soil::{Pressure, SteadyWheel, Traction};
use simpartner_model::Soil;

use super::{
    Ground, Site,
    statics::{Push, Statics},
    vehicle::{Vehicle, Wheel},
};

/// Loads follow from forces and forces from loads; a change below this part of the weight ends the search.
const SETTLED: f64 = 1e-9;
/// Rounds of it: each brings the loads a factor of radius over wheelbase nearer, so all but the oddest vehicles need ten.
const ROUNDS: usize = 40;
/// How much of their height grousers add to the radius at which a wheel shears soil, as the engine has it.
const GROUSERS: f64 = 0.5;
/// Slips at which a search for one begins.
const SEARCH: usize = 24;
/// The least slip that is looked at: thrust is a quotient by it.
const LEAST_SLIP: f64 = 1e-3;
/// The largest slip that is looked at for a demanded pull.
pub(super) const MOST_SLIP: f64 = 0.98;

/// How closed forms see a wheel in soil.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Law {
    /// [`Traction`]: thrust less resistances, each wheel in fresh soil.
    Summed,
    /// [`SteadyWheel`]: the integral of stresses, each wheel in the rut of the one before.
    Stress,
}

/// A vehicle at an even speed, by closed form or by simulation; sums over its wheels.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Steady {
    /// 1 - v / (r omega), for driven wheels.
    pub slip: f64,
    /// What is left to pull with, N: thrust less resistances, grade included.
    pub drawbar_pull_n: f64,
    /// Thrust H, N.
    pub thrust_n: f64,
    /// Resistance Rc of soil that is compacted, or of rolling on firm ground, N.
    pub compaction_n: f64,
    /// Resistance Rb of soil that is pushed out of the way, N; 0 where a law has no such part of its own.
    pub bulldozing_n: f64,
    /// Resistance Rg of the grade, N.
    pub grade_n: f64,
    /// Torque of all wheels together, N m.
    pub torque_nm: f64,
    /// The largest torque of a wheel, N m.
    pub torque_max_nm: f64,
    /// Mechanical energy of the wheels for each metre, J/m.
    pub energy_j_per_m: f64,
    /// The deepest wheel's sinkage, m.
    pub sinkage_m: f64,
    /// What each wheel carries, N.
    pub loads_n: Vec<f64>,
}

/// What the ground does to a wheel.
#[derive(Debug, Clone, Copy, Default)]
struct Tread {
    pull: f64,
    torque: f64,
    thrust: f64,
    compaction: f64,
    bulldozing: f64,
    sinkage: f64,
    /// How deep it leaves the surface, m.
    left: f64,
}

/// A vehicle on a site, in closed form.
pub(super) struct ClosedForm<'a> {
    vehicle: &'a Vehicle,
    site: &'a Site,
    statics: Statics<'a>,
}

impl<'a> ClosedForm<'a> {
    pub(super) fn new(vehicle: &'a Vehicle, site: &'a Site) -> Self {
        Self { vehicle, site, statics: Statics::new(vehicle) }
    }

    /// What each wheel carries where the vehicle stands on level ground, N.
    pub(super) fn standing(&self) -> Vec<f64> {
        let pushes = vec![Push::STAND; self.vehicle.wheels.len()];
        self.statics.loads(&pushes, self.site.down(self.vehicle, 0.0), 0.0)
    }

    /// It drives up a slope, rad, its driven wheels at a slip, and what is left pulls a rope. `None` where the soil does not carry it.
    pub(super) fn at(&self, law: Law, slip: f64, slope: f64) -> Option<Steady> {
        let grade = self.vehicle.weight(self.site.gravity) * libm::sin(slope);
        self.balanced(law, slip, slope, |pull| pull - grade)
    }

    /// It drives up a slope and pulls nothing: its slip is the least at which its pull is enough. `None` if no slip is.
    pub(super) fn climbing(&self, law: Law, slope: f64) -> Option<Steady> {
        if let Ground::Firm { .. } = self.site.ground {
            // Coulomb's wheels roll without slip as far as they hold.
            return self.firm(slope);
        }
        let slip_of = |k: usize| LEAST_SLIP + (MOST_SLIP - LEAST_SLIP) * k as f64 / SEARCH as f64;
        let surplus = |slip: f64| self.at(law, slip, slope).map(|steady| steady.drawbar_pull_n);
        let enough = (0..=SEARCH).find(|&k| surplus(slip_of(k)).is_some_and(|pull| pull >= 0.0))?;
        let mut high = slip_of(enough);
        let mut low = slip_of(enough.saturating_sub(1));
        while high - low > 1e-5 {
            let middle = 0.5 * (low + high);
            if surplus(middle).is_some_and(|pull| pull >= 0.0) { high = middle } else { low = middle }
        }
        self.at(law, high, slope)
    }

    /// Whether its motors give what its wheels need. The weakest is thought to have the hardest work.
    pub(super) fn motors_suffice(&self, steady: &Steady) -> bool {
        let rate = |wheel: &Wheel| self.site.rim_speed / wheel.radius;
        let least = self.vehicle.wheels.iter().filter_map(|wheel| Some(wheel.drive?.torque(rate(wheel))));
        least.fold(f64::INFINITY, f64::min) >= steady.torque_max_nm
    }

    /// The forces at a slip, under the loads that go with them; the rope takes what `rope` makes of the wheels' pull.
    fn balanced(&self, law: Law, slip: f64, slope: f64, rope: impl Fn(f64) -> f64) -> Option<Steady> {
        let down = self.site.down(self.vehicle, slope);
        let wheels = &self.vehicle.wheels;
        let mut pushes = vec![Push::STAND; wheels.len()];
        let mut loads = self.statics.loads(&pushes, down, 0.0);
        for _ in 0..ROUNDS {
            let treads = self.treads(law, slip, &loads)?;
            for ((push, tread), load) in pushes.iter_mut().zip(&treads).zip(&loads) {
                let share = 1.0 / load.max(f64::MIN_POSITIVE);
                *push = Push { along: tread.pull * share, up: 1.0, moment: tread.torque * share };
            }
            let pull = treads.iter().map(|tread| tread.pull).sum();
            let next = self.statics.loads(&pushes, down, rope(pull));
            let change = next.iter().zip(&loads).map(|(next, load)| (next - load).abs()).fold(0.0, f64::max);
            loads = next;
            if change < SETTLED * self.vehicle.weight(self.site.gravity) {
                break;
            }
        }
        let treads = self.treads(law, slip, &loads)?;
        Some(self.summed(&treads, slip, slope, loads))
    }

    fn treads(&self, law: Law, slip: f64, loads: &[f64]) -> Option<Vec<Tread>> {
        let mut treads: Vec<Tread> = Vec::with_capacity(loads.len());
        for (index, (wheel, load)) in self.vehicle.wheels.iter().zip(loads).enumerate() {
            let left = match law {
                Law::Summed => 0.0,
                Law::Stress => self.vehicle.leader(index).map_or(0.0, |leader| treads[leader].left),
            };
            treads.push(self.tread(law, wheel, *load, slip, left)?);
        }
        Some(treads)
    }

    fn tread(&self, law: Law, wheel: &Wheel, load: f64, slip: f64, left: f64) -> Option<Tread> {
        if load.is_nan() || load <= 0.0 {
            return Some(Tread::default());
        }
        match &self.site.ground {
            Ground::Firm { friction } => {
                let (grip, roll) = (wheel.friction.min(*friction) * load, wheel.rolling_friction * load);
                let thrust = if wheel.drive.is_some() { grip } else { 0.0 };
                let torque = wheel.radius * thrust;
                Some(Tread { pull: thrust - roll, torque, thrust, compaction: roll, ..Tread::default() })
            }
            Ground::Soil { soil, .. } if law == Law::Summed => {
                let own = Traction::new(soil, [wheel.radius, wheel.width?], load, slip, self.site.gravity)?;
                let thrust = if wheel.drive.is_some() { own.thrust } else { 0.0 };
                let torque = if wheel.drive.is_some() { own.torque(wheel.radius) } else { 0.0 };
                let Traction { compaction, bulldozing, sinkage, .. } = own;
                let pull = thrust - compaction - bulldozing;
                Some(Tread { pull, torque, thrust, compaction, bulldozing, sinkage, left: 0.0 })
            }
            Ground::Soil { soil, .. } if wheel.drive.is_some() => self.sheared(soil, wheel, load, slip, left),
            Ground::Soil { soil, .. } => {
                // It turns as fast as nothing turns it.
                let (mut low, mut high) = (-0.9, 0.5);
                for _ in 0..30 {
                    let middle = 0.5 * (low + high);
                    if self.sheared(soil, wheel, load, middle, left)?.torque > 0.0 {
                        high = middle
                    } else {
                        low = middle
                    }
                }
                let tread = self.sheared(soil, wheel, load, high, left)?;
                Some(Tread { torque: 0.0, ..tread })
            }
        }
    }

    /// By the integral of stresses.
    fn sheared(&self, soil: &Soil, wheel: &Wheel, load: f64, slip: f64, left: f64) -> Option<Tread> {
        let (width, gravity) = (wheel.width?, self.site.gravity);
        let form = SteadyWheel {
            radius: wheel.radius,
            width,
            shear_radius: wheel.radius + GROUSERS * wheel.grousers,
            slip,
            slip_angle: 0.0,
            gravity,
        };
        let (sinkage, forces) = form.under_load_in_rut(soil, load, left)?;
        let leaves = Pressure::new(soil, width, slip, gravity).left_by(sinkage, left);
        Some(Tread {
            pull: forces.drawbar_pull,
            torque: forces.torque,
            thrust: forces.drawbar_pull + forces.resistance,
            compaction: forces.resistance,
            bulldozing: 0.0,
            sinkage,
            left: leaves,
        })
    }

    fn summed(&self, treads: &[Tread], slip: f64, slope: f64, loads: Vec<f64>) -> Steady {
        let sum = |of: fn(&Tread) -> f64| treads.iter().map(of).sum::<f64>();
        let grade_n = self.vehicle.weight(self.site.gravity) * libm::sin(slope);
        // A wheel that turns by a radian carries it on by its radius less the slip.
        let metre = |wheel: &Wheel| 1.0 / (wheel.radius * (1.0 - slip));
        let energies = treads.iter().zip(&self.vehicle.wheels).map(|(tread, wheel)| tread.torque * metre(wheel));
        Steady {
            slip,
            drawbar_pull_n: sum(|tread| tread.pull) - grade_n,
            thrust_n: sum(|tread| tread.thrust),
            compaction_n: sum(|tread| tread.compaction),
            bulldozing_n: sum(|tread| tread.bulldozing),
            grade_n,
            torque_nm: sum(|tread| tread.torque),
            torque_max_nm: treads.iter().map(|tread| tread.torque).fold(0.0, f64::max),
            energy_j_per_m: energies.sum(),
            sinkage_m: treads.iter().map(|tread| tread.sinkage).fold(0.0, f64::max),
            loads_n: loads,
        }
    }

    /// Rolling up a slope of firm ground without slip: each driven wheel gives the same part of what it could.
    fn firm(&self, slope: f64) -> Option<Steady> {
        let full = self.at(Law::Summed, 0.0, slope)?;
        let needed = full.compaction_n + full.grade_n;
        let share = needed / full.thrust_n;
        if share.is_nan() || share > 1.0 {
            return None;
        }
        Some(Steady {
            drawbar_pull_n: 0.0,
            thrust_n: needed,
            torque_nm: full.torque_nm * share,
            torque_max_nm: full.torque_max_nm * share,
            energy_j_per_m: full.energy_j_per_m * share,
            ..full
        })
    }

    /// The largest slope, rad, up which it drives with no more than a slip, and what keeps it from more.
    pub(super) fn largest_slope(&self, law: Law, most_slip: f64) -> Option<(f64, SlopeLimit)> {
        let (mut low, mut high, mut limit) = (0.0, std::f64::consts::FRAC_PI_2, SlopeLimit::Traction);
        let judge = |slope: f64| match self.at(law, most_slip, slope) {
            Some(steady) if steady.drawbar_pull_n >= 0.0 => match self.climbing(law, slope) {
                Some(steady) if self.motors_suffice(&steady) => Ok(()),
                _ => Err(SlopeLimit::Torque),
            },
            _ => Err(SlopeLimit::Traction),
        };
        judge(0.0).ok()?;
        while high - low > 1e-4 {
            let middle = 0.5 * (low + high);
            match judge(middle) {
                Ok(()) => low = middle,
                Err(reason) => (high, limit) = (middle, reason),
            }
        }
        let stands = super::stability::largest_grade(self.vehicle);
        if stands < low { Some((stands, SlopeLimit::Stability)) } else { Some((low, limit)) }
    }

    /// The largest step, m, onto which every wheel climbs that comes to it, and the friction that this takes from firm ground; at most the
    /// radius of its smallest wheel.
    ///
    /// Janosi and Eilers (1968): a rigid wheel stands against the edge of a step, the line from there to its middle inclined by psi,
    /// cos psi = 1 - h/r, while all others stand on level ground beside or on the step; all wheels push as hard as friction and motors let them. It climbs if what is left
    /// of the forces points forwards. That the vehicle leans with its front wheels on the step is left out.
    pub(super) fn largest_step(&self) -> f64 {
        let wheels = &self.vehicle.wheels;
        let smallest = wheels.iter().map(|wheel| wheel.radius).fold(f64::INFINITY, f64::min);
        let axle = |wheel: &Wheel| wheel.centre.dot(self.vehicle.forward);
        let climbs = |height: f64| {
            wheels.iter().all(|first| {
                let beside: Vec<bool> =
                    wheels.iter().map(|other| (axle(other) - axle(first)).abs() < first.radius).collect();
                self.climbs(&beside, height)
            })
        };
        let (mut low, mut high) = (0.0, smallest);
        if climbs(high) {
            return high;
        }
        while high - low > 1e-4 * smallest {
            let middle = 0.5 * (low + high);
            if climbs(middle) { low = middle } else { high = middle }
        }
        low
    }

    fn climbs(&self, at_edge: &[bool], height: f64) -> bool {
        let (wheels, down) = (&self.vehicle.wheels, self.site.down(self.vehicle, 0.0));
        let friction = |wheel: &Wheel| wheel.friction.min(self.site.friction());
        // What a wheel's motor gives, for each newton of its load: at first all that holds.
        let mut grips: Vec<f64> = wheels.iter().map(|wheel| wheel.drive.map_or(0.0, |_| friction(wheel))).collect();
        let mut net = 0.0;
        for _ in 0..ROUNDS {
            let push = |((wheel, edge), grip): ((&Wheel, &bool), &f64)| {
                let lean = if *edge { libm::acos((1.0 - height / wheel.radius).clamp(-1.0, 1.0)) } else { 0.0 };
                let (sine, cosine) = (libm::sin(lean), libm::cos(lean));
                Push { along: grip * cosine - sine, up: cosine + grip * sine, moment: wheel.radius * grip }
            };
            let pushes: Vec<Push> = wheels.iter().zip(at_edge).zip(&grips).map(push).collect();
            let loads = self.statics.loads(&pushes, down, 0.0);
            net = loads.iter().zip(&pushes).map(|(load, push)| load * push.along).sum();
            for ((grip, wheel), load) in grips.iter_mut().zip(wheels).zip(&loads) {
                let most = wheel.drive.map_or(0.0, |drive| drive.torque(self.site.rim_speed / wheel.radius));
                *grip = friction(wheel).min(most / (wheel.radius * load.max(f64::MIN_POSITIVE)));
            }
        }
        net >= 0.0
    }
}

/// What keeps a vehicle from a steeper slope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SlopeLimit {
    /// The ground gives no more thrust.
    Traction,
    /// Its motors turn the wheels no further.
    Torque,
    /// It would tip over.
    Stability,
}

impl Site {
    /// Gravity in the frame of ground that rises ahead by an angle, m/s².
    pub(super) fn down(&self, vehicle: &Vehicle, slope: f64) -> DVec3 {
        (vehicle.forward * -libm::sin(slope) - DVec3::Y * libm::cos(slope)) * self.gravity
    }

    /// Coulomb's coefficient of rock and firm ground here.
    pub(super) fn friction(&self) -> f64 {
        match self.ground {
            Ground::Firm { friction } => friction,
            Ground::Soil { friction, .. } => friction,
        }
    }
}
