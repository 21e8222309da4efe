//! A vehicle in steady motion, in closed form: the ground's reactions on its wheels under the loads that statics gives.

use bevy_math::DVec3;
use serde::Serialize;
use simpartner_dynamics::soil::{Pressure, SteadyWheel, Traction};
use simpartner_model::Soil;

use super::{
    Ground, Site,
    statics::{Statics, WheelForce},
    vehicle::{Vehicle, Wheel},
};

/// Change of the loads, as a fraction of the weight, that ends the iteration between loads and forces.
const LOAD_TOLERANCE: f64 = 1e-9;
/// Largest number of iterations between loads and forces. Each reduces the error by a factor of radius over wheelbase,
/// so ten are enough for all but unusual vehicles.
const MAX_ITERATIONS: usize = 40;
/// Fraction of the grousers' height that is added to the radius at which a wheel shears soil, as in the engine.
const GROUSER_FRACTION: f64 = 0.5;
/// Number of intervals of slip in which the search for a slip begins.
const SEARCH_INTERVALS: usize = 24;
/// Smallest slip of the search. Zero is not possible, because the thrust is a quotient by the slip.
const MIN_SLIP: f64 = 1e-3;
/// Largest slip of the search.
pub(super) const MAX_SLIP: f64 = 0.98;

/// Closed form for a wheel in soil.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Law {
    /// [`Traction`]: thrust less resistances, each wheel in fresh soil.
    Summed,
    /// [`SteadyWheel`]: the integral of stresses, each wheel in the rut of the wheel ahead.
    Stress,
}

/// A vehicle in steady motion, by closed form or by simulation. Forces and torques are sums over the wheels.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Steady {
    /// Slip of the driven wheels, 1 - v / (r omega).
    pub slip: f64,
    /// Drawbar pull, N: thrust less resistances, that of the grade included.
    pub drawbar_pull_n: f64,
    /// Thrust H, N.
    pub thrust_n: f64,
    /// Resistance Rc of soil compaction, or of rolling on firm ground, N.
    pub compaction_n: f64,
    /// Bulldozing resistance Rb of soil that is pushed out of the way, N; 0 for laws that do not separate it.
    pub bulldozing_n: f64,
    /// Resistance Rg of the grade, N.
    pub grade_n: f64,
    /// Torque of all wheels together, N m.
    pub torque_nm: f64,
    /// Largest torque of a wheel, N m.
    pub torque_max_nm: f64,
    /// Mechanical energy of the wheels per metre, J/m.
    pub energy_j_per_m: f64,
    /// Sinkage of the deepest wheel, m.
    pub sinkage_m: f64,
    /// Load of each wheel, N.
    pub loads_n: Vec<f64>,
}

/// Reaction of the ground on a wheel. Forces in N, torque in N m.
#[derive(Debug, Clone, Copy, Default)]
struct GroundReaction {
    /// Thrust less resistances.
    pull: f64,
    torque: f64,
    thrust: f64,
    compaction: f64,
    bulldozing: f64,
    /// Sinkage, m.
    sinkage: f64,
    /// Depth of the rut that the wheel leaves, m.
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

    /// Load of each wheel while the vehicle stands on level ground, N.
    pub(super) fn standing_loads(&self) -> Vec<f64> {
        let pushes = vec![WheelForce::STANDING; self.vehicle.wheels.len()];
        self.statics.loads(&pushes, self.site.down(self.vehicle, 0.0), 0.0)
    }

    /// Steady motion up a slope, rad, at a slip of the driven wheels. The pull that the slope leaves acts on a rope.
    /// `None` if the soil does not carry the vehicle.
    pub(super) fn at_slip(&self, law: Law, slip: f64, slope: f64) -> Option<Steady> {
        let grade = self.vehicle.weight(self.site.gravity) * libm::sin(slope);
        self.iterate_loads(law, slip, slope, |pull| pull - grade)
    }

    /// Steady motion up a slope, rad, without a rope. The slip is the smallest at which the pull suffices; `None` if no
    /// slip suffices.
    pub(super) fn climbing(&self, law: Law, slope: f64) -> Option<Steady> {
        if let Ground::Firm { .. } = self.site.ground {
            // On firm ground wheels roll without slip up to the limit of friction.
            return self.climb_firm_ground(slope);
        }
        let slip_of = |k: usize| MIN_SLIP + (MAX_SLIP - MIN_SLIP) * k as f64 / SEARCH_INTERVALS as f64;
        let surplus = |slip: f64| self.at_slip(law, slip, slope).map(|steady| steady.drawbar_pull_n);
        let enough = (0..=SEARCH_INTERVALS).find(|&k| surplus(slip_of(k)).is_some_and(|pull| pull >= 0.0))?;
        let mut high = slip_of(enough);
        let mut low = slip_of(enough.saturating_sub(1));
        while high - low > 1e-5 {
            let middle = 0.5 * (low + high);
            if surplus(middle).is_some_and(|pull| pull >= 0.0) { high = middle } else { low = middle }
        }
        self.at_slip(law, high, slope)
    }

    /// True if the motors can exert the torques. It is checked whether the weakest motor can exert the largest torque.
    pub(super) fn motors_suffice(&self, steady: &Steady) -> bool {
        let rate = |wheel: &Wheel| self.site.rim_speed / wheel.radius;
        let least = self.vehicle.wheels.iter().filter_map(|wheel| Some(wheel.drive?.torque(rate(wheel))));
        least.fold(f64::INFINITY, f64::min) >= steady.torque_max_nm
    }

    /// Steady motion at a slip. Loads and forces are iterated until they agree. `rope` gives the force on the rope from
    /// the pull of the wheels.
    fn iterate_loads(&self, law: Law, slip: f64, slope: f64, rope: impl Fn(f64) -> f64) -> Option<Steady> {
        let down = self.site.down(self.vehicle, slope);
        let wheels = &self.vehicle.wheels;
        let mut pushes = vec![WheelForce::STANDING; wheels.len()];
        let mut loads = self.statics.loads(&pushes, down, 0.0);
        for _ in 0..MAX_ITERATIONS {
            let reactions = self.reactions(law, slip, &loads)?;
            for ((push, reaction), load) in pushes.iter_mut().zip(&reactions).zip(&loads) {
                let share = 1.0 / load.max(f64::MIN_POSITIVE);
                *push = WheelForce { along: reaction.pull * share, up: 1.0, moment: reaction.torque * share };
            }
            let pull = reactions.iter().map(|reaction| reaction.pull).sum();
            let next = self.statics.loads(&pushes, down, rope(pull));
            let change = next.iter().zip(&loads).map(|(next, load)| (next - load).abs()).fold(0.0, f64::max);
            loads = next;
            if change < LOAD_TOLERANCE * self.vehicle.weight(self.site.gravity) {
                break;
            }
        }
        let reactions = self.reactions(law, slip, &loads)?;
        Some(self.sum_reactions(&reactions, slip, slope, loads))
    }

    /// Reactions on all wheels; `None` if the soil does not carry a load.
    fn reactions(&self, law: Law, slip: f64, loads: &[f64]) -> Option<Vec<GroundReaction>> {
        let mut reactions: Vec<GroundReaction> = Vec::with_capacity(loads.len());
        for (index, (wheel, load)) in self.vehicle.wheels.iter().zip(loads).enumerate() {
            let left = match law {
                Law::Summed => 0.0,
                Law::Stress => self.vehicle.leader(index).map_or(0.0, |leader| reactions[leader].left),
            };
            reactions.push(self.reaction(law, wheel, *load, slip, left)?);
        }
        Some(reactions)
    }

    /// Reaction on a wheel under a load, N, at a slip, in a rut of the depth `left`, m.
    fn reaction(&self, law: Law, wheel: &Wheel, load: f64, slip: f64, left: f64) -> Option<GroundReaction> {
        if load.is_nan() || load <= 0.0 {
            return Some(GroundReaction::default());
        }
        match &self.site.ground {
            Ground::Firm { friction } => {
                let (grip, roll) = (wheel.friction.min(*friction) * load, wheel.rolling_friction * load);
                let thrust = if wheel.drive.is_some() { grip } else { 0.0 };
                let torque = wheel.radius * thrust;
                Some(GroundReaction {
                    pull: thrust - roll,
                    torque,
                    thrust,
                    compaction: roll,
                    ..GroundReaction::default()
                })
            }
            Ground::Soil { soil, .. } if law == Law::Summed => {
                let own = Traction::new(soil, [wheel.radius, wheel.width?], load, slip, self.site.gravity)?;
                let thrust = if wheel.drive.is_some() { own.thrust } else { 0.0 };
                let torque = if wheel.drive.is_some() { own.torque(wheel.radius) } else { 0.0 };
                let Traction { compaction, bulldozing, sinkage, .. } = own;
                let pull = thrust - compaction - bulldozing;
                Some(GroundReaction { pull, torque, thrust, compaction, bulldozing, sinkage, left: 0.0 })
            }
            Ground::Soil { soil, .. } if wheel.drive.is_some() => self.stress_reaction(soil, wheel, load, slip, left),
            Ground::Soil { soil, .. } => {
                // A wheel without a drive rolls at the slip at which its torque is zero.
                let (mut low, mut high) = (-0.9, 0.5);
                for _ in 0..30 {
                    let middle = 0.5 * (low + high);
                    if self.stress_reaction(soil, wheel, load, middle, left)?.torque > 0.0 {
                        high = middle
                    } else {
                        low = middle
                    }
                }
                let reaction = self.stress_reaction(soil, wheel, load, high, left)?;
                Some(GroundReaction { torque: 0.0, ..reaction })
            }
        }
    }

    /// Reaction on a wheel by the integral of stresses.
    fn stress_reaction(&self, soil: &Soil, wheel: &Wheel, load: f64, slip: f64, left: f64) -> Option<GroundReaction> {
        let (width, gravity) = (wheel.width?, self.site.gravity);
        let form = SteadyWheel {
            radius: wheel.radius,
            width,
            shear_radius: wheel.radius + GROUSER_FRACTION * wheel.grousers,
            slip,
            slip_angle: 0.0,
            gravity,
        };
        let (sinkage, forces) = form.under_load_in_rut(soil, load, left)?;
        let leaves = Pressure::new(soil, width, slip, gravity).left_by(sinkage, left);
        Some(GroundReaction {
            pull: forces.drawbar_pull,
            torque: forces.torque,
            thrust: forces.drawbar_pull + forces.resistance,
            compaction: forces.resistance,
            bulldozing: 0.0,
            sinkage,
            left: leaves,
        })
    }

    /// Steady motion from the reactions on all wheels.
    fn sum_reactions(&self, reactions: &[GroundReaction], slip: f64, slope: f64, loads: Vec<f64>) -> Steady {
        let sum = |of: fn(&GroundReaction) -> f64| reactions.iter().map(of).sum::<f64>();
        let grade_n = self.vehicle.weight(self.site.gravity) * libm::sin(slope);
        // Angle by which a wheel turns while the vehicle drives a metre, rad.
        let metre = |wheel: &Wheel| 1.0 / (wheel.radius * (1.0 - slip));
        let energies =
            reactions.iter().zip(&self.vehicle.wheels).map(|(reaction, wheel)| reaction.torque * metre(wheel));
        Steady {
            slip,
            drawbar_pull_n: sum(|reaction| reaction.pull) - grade_n,
            thrust_n: sum(|reaction| reaction.thrust),
            compaction_n: sum(|reaction| reaction.compaction),
            bulldozing_n: sum(|reaction| reaction.bulldozing),
            grade_n,
            torque_nm: sum(|reaction| reaction.torque),
            torque_max_nm: reactions.iter().map(|reaction| reaction.torque).fold(0.0, f64::max),
            energy_j_per_m: energies.sum(),
            sinkage_m: reactions.iter().map(|reaction| reaction.sinkage).fold(0.0, f64::max),
            loads_n: loads,
        }
    }

    /// Steady motion up a slope of firm ground, rad, without slip. Each driven wheel exerts the same fraction of its
    /// largest thrust. `None` if friction does not suffice.
    fn climb_firm_ground(&self, slope: f64) -> Option<Steady> {
        let full = self.at_slip(Law::Summed, 0.0, slope)?;
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

    /// Largest slope, rad, up which the vehicle drives with at most this slip, and the reason for the limit. `None` if
    /// it does not even drive on level ground.
    pub(super) fn largest_slope(&self, law: Law, most_slip: f64) -> Option<(f64, SlopeLimit)> {
        let (mut low, mut high, mut limit) = (0.0, std::f64::consts::FRAC_PI_2, SlopeLimit::Traction);
        let judge = |slope: f64| match self.at_slip(law, most_slip, slope) {
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

    /// Height, m, of the largest step of firm ground that every wheel can climb; at most the radius of the smallest
    /// wheel.
    ///
    /// Janosi and Eilers (1968): a rigid wheel stands against the edge of a step. The line from the edge to its centre
    /// is inclined by psi, cos psi = 1 - h/r. All other wheels stand on level ground before or on the step. All wheels
    /// push as hard as friction and motors permit. The wheel climbs if the sum of the forces points forwards. The
    /// inclination of a vehicle with its front wheels on the step is neglected.
    pub(super) fn largest_step(&self) -> f64 {
        let wheels = &self.vehicle.wheels;
        let smallest = wheels.iter().map(|wheel| wheel.radius).fold(f64::INFINITY, f64::min);
        let axle = |wheel: &Wheel| wheel.centre.dot(self.vehicle.forward);
        let climbs = |height: f64| {
            wheels.iter().all(|first| {
                let beside: Vec<bool> =
                    wheels.iter().map(|other| (axle(other) - axle(first)).abs() < first.radius).collect();
                self.climbs_edge(&beside, height)
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

    /// True if the wheels at the edge of a step climb it.
    fn climbs_edge(&self, at_edge: &[bool], height: f64) -> bool {
        let (wheels, down) = (&self.vehicle.wheels, self.site.down(self.vehicle, 0.0));
        let friction = |wheel: &Wheel| wheel.friction.min(self.site.friction());
        // Thrust of each wheel per newton of its load: at first the limit of friction.
        let mut grips: Vec<f64> = wheels.iter().map(|wheel| wheel.drive.map_or(0.0, |_| friction(wheel))).collect();
        let mut net = 0.0;
        for _ in 0..MAX_ITERATIONS {
            let push = |((wheel, edge), grip): ((&Wheel, &bool), &f64)| {
                let lean = if *edge { libm::acos((1.0 - height / wheel.radius).clamp(-1.0, 1.0)) } else { 0.0 };
                let (sine, cosine) = (libm::sin(lean), libm::cos(lean));
                WheelForce { along: grip * cosine - sine, up: cosine + grip * sine, moment: wheel.radius * grip }
            };
            let pushes: Vec<WheelForce> = wheels.iter().zip(at_edge).zip(&grips).map(push).collect();
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

/// Reason for which a vehicle cannot climb a steeper slope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SlopeLimit {
    /// The ground does not give enough thrust.
    Traction,
    /// The motors do not give enough torque.
    Torque,
    /// The vehicle would tip over.
    Stability,
}

impl Site {
    /// Gravity in the frame of ground that rises ahead by an angle, m/s².
    pub(super) fn down(&self, vehicle: &Vehicle, slope: f64) -> DVec3 {
        (vehicle.forward * -libm::sin(slope) - DVec3::Y * libm::cos(slope)) * self.gravity
    }

    /// Coulomb's coefficient of the rock or firm ground of this site.
    pub(super) fn friction(&self) -> f64 {
        match self.ground {
            Ground::Firm { friction } => friction,
            Ground::Soil { friction, .. } => friction,
        }
    }
}
