//! Mobility of a wheeled robot on a ground: closed forms, as in design tools for rovers, and the same robot in the
//! engine.
//!
//! A [`Vehicle`] is made from a robot, a [`Site`] is its ground, and [`Study::run`] computes the figures: loads and
//! static stability, drawbar pull over slip, slopes, the largest slope and step (gradeability), and the mean free path
//! among rocks ([`rocks`]). The closed forms are in `closed`, the simulations in `trial`. The list of parameters is
//! that of RPET (Patel et al. 2004; thesis 2.2.4). The module knows no files and no command line.

mod closed;
mod error;
pub mod plots;
pub mod rocks;
mod site;
mod stability;
mod statics;
pub mod table;
mod trial;
mod vehicle;

use std::ops::Range;

use serde::Serialize;
use simpartner_dynamics::soil::Traction;
use simpartner_model::{RockField, RockSizes};

pub use closed::{SlopeLimit, Steady};
pub use error::MobilityError;
pub use site::{Ground, Site};
pub use stability::{Edge, edges};
pub use vehicle::{Vehicle, Wheel};

use closed::{ClosedForm, Law};
use rocks::FreePath;
use trial::Trial;

/// Resolution of the largest slope found by simulation, rad.
const SLOPE_RESOLUTION: f64 = 0.005;
/// Resolution of the largest step found by simulation, as a fraction of the largest wheel radius.
const STEP_RESOLUTION: f64 = 0.02;
/// Height to which its kinetic energy could lift a vehicle that arrives at a step, as a fraction of the largest wheel
/// radius.
const KINETIC_LIFT: f64 = 1e-4;
/// Height of a rock as a fraction of its diameter: that of a ball that lies half in the ground (Golombek and Rapp
/// 1997).
const RELATIVE_ROCK_HEIGHT: f64 = 0.5;

/// Number of rock fields through which the robot itself is driven.
const ROCK_DRIVES: usize = 5;
/// Largest distance that the robot is driven among rocks, in widths of the vehicle.
const ROCK_DRIVE_LENGTHS: f64 = 10.0;

/// Parameters of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    /// Ground, gravity and speed.
    pub site: Site,
    /// Slips at which the drawbar pull is found, each above 0 and below 1.
    pub slips: Vec<f64>,
    /// Slopes up which the vehicle drives, rad.
    pub slopes: Vec<f64>,
    /// Slip above which a slope counts as too steep.
    pub most_slip: f64,
    /// Fractions of the ground that rocks cover, for the mean free path.
    pub rock_covers: Vec<f64>,
    /// Smallest diameter of a rock that stops the vehicle, m. The default is the diameter of rocks as high as its
    /// largest step.
    pub rock_diameter: Option<f64>,
    /// Seeds of the rock fields that are made for each mean free path.
    pub rock_fields: Range<u64>,
    /// True if the robot is also driven in the engine.
    pub simulate: bool,
}

/// A figure by closed form and by simulation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pair {
    /// Figure by closed form; `None` if that has no solution.
    pub closed: Option<f64>,
    /// Figure by simulation in the engine; `None` without a simulation.
    pub simulated: Option<f64>,
}

/// Results for the vehicle at a slip or on a slope.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The slip, or the slope in rad, that was asked for.
    pub asked: f64,
    /// Result by thrust less resistances; `None` if the vehicle cannot do it.
    pub summed: Option<Steady>,
    /// Result by the integral of stresses; `None` on firm ground, or if the vehicle cannot do it.
    pub stress: Option<Steady>,
    /// Result of the simulation; `None` without one, or if the vehicle cannot do it.
    pub simulated: Option<Steady>,
}

/// Figures of a wheel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WheelFigures {
    /// Name of the wheel's body.
    pub name: String,
    /// True if a motor turns the wheel.
    pub driven: bool,
    /// Radius, m.
    pub radius_m: f64,
    /// Width, m; `None` for a ball.
    pub width_m: Option<f64>,
    /// Position ahead of the centre of mass, and to the right of it, m.
    pub place_m: [f64; 2],
    /// Load on level ground, N.
    pub load_n: f64,
    /// Shear strength of the soil under the wheel, Pa, by Mohr and Coulomb under the mean pressure of the load; `None`
    /// on firm ground.
    pub shear_strength_pa: Option<f64>,
}

/// Static stability over an edge of the support polygon.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tipping {
    /// The edge, with its margin in closed form.
    pub edge: Edge,
    /// Tilt at which the simulated vehicle stands on that edge alone, rad. It includes the motion of the suspension.
    pub simulated_rad: Option<f64>,
}

/// All figures of a vehicle on a site.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Name of the robot.
    pub robot: String,
    /// Description of the ground.
    pub ground: String,
    /// Gravity, m/s².
    pub gravity: f64,
    /// Speed of the wheels' rims, m/s.
    pub rim_speed: f64,
    /// Mass, kg.
    pub mass_kg: f64,
    /// Height of the centre of mass above the ground, m.
    pub centre_height_m: f64,
    /// Wheelbase, m.
    pub wheelbase_m: f64,
    /// Track, m.
    pub track_m: f64,
    /// Width from the leftmost point to the rightmost, m.
    pub width_m: f64,
    /// The wheels, from front to rear.
    pub wheels: Vec<WheelFigures>,
    /// Static stability over each edge of the support polygon.
    pub stability: Vec<Tipping>,
    /// Results on level ground at given slips.
    pub pulls: Vec<Row>,
    /// Results up slopes, without a rope to pull.
    pub slopes: Vec<Row>,
    /// Largest slope, rad: by thrust less resistances, by the integral of stresses, and by simulation.
    pub largest_slope_rad: [Option<f64>; 3],
    /// Reason for the limit of the slope, in closed form.
    pub slope_limit: Option<SlopeLimit>,
    /// Slip above which a slope counts as too steep.
    pub most_slip: f64,
    /// Largest step of firm ground, m. The closed form is at most the radius of the smallest wheel.
    pub largest_step_m: Pair,
    /// Smallest diameter of a rock that stops the vehicle, m.
    pub rock_diameter_m: f64,
    /// Mean free paths among rocks.
    pub free_paths: Vec<FreePath>,
    /// Simulated drives among the rocks of some of these fields.
    pub rock_drives: Vec<RockDrive>,
}

/// A simulated drive of the robot among the rocks of a field.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RockDrive {
    /// Fraction of the ground that rocks cover.
    pub cover: f64,
    /// Seed of the field.
    pub seed: u64,
    /// Distance at which a straight front of the vehicle's width touches the first rock, m.
    pub front_m: f64,
    /// Distance at which the simulated robot touches a rock, m; `None` if it touches none up to its own length beyond
    /// `front_m`.
    pub simulated_m: Option<f64>,
}

impl Study {
    /// Computes all figures of a vehicle. `told` is called with the present activity and the progress, 0 to 1.
    ///
    /// # Errors
    /// The vehicle does not fit the ground, or the engine refuses it.
    pub fn run(&self, vehicle: &Vehicle, told: &mut dyn FnMut(&str, f64)) -> Result<Report, MobilityError> {
        self.check_vehicle(vehicle)?;
        told("stability", 0.0);
        let stability = self.stability(vehicle)?;
        told("drawbar pull", 0.1);
        let pulls = self.pulls(vehicle)?;
        told("slopes", 0.3);
        let slopes = self.climbs(vehicle)?;
        told("largest slope", 0.5);
        let (largest_slope_rad, slope_limit) = self.gradeability(vehicle)?;
        told("largest step", 0.7);
        let step = self.largest_step(vehicle)?;
        told("rocks", 0.9);
        let width_m = vehicle.outline(vehicle.right).1;
        let highest = step.simulated.or(step.closed).unwrap_or(0.0);
        let rock_diameter_m = self.rock_diameter.unwrap_or(highest / RELATIVE_ROCK_HEIGHT);
        let path = |&cover: &f64| FreePath::new(cover, rock_diameter_m, width_m, self.rock_fields.clone());
        let free_paths = if rock_diameter_m > 0.0 { self.rock_covers.iter().map(path).collect() } else { Vec::new() };
        let rock_drives = self.rock_drives(vehicle, rock_diameter_m)?;
        Ok(Report {
            robot: vehicle.name.clone(),
            ground: self.site.ground.name(),
            gravity: self.site.gravity,
            rim_speed: self.site.rim_speed,
            mass_kg: vehicle.mass,
            centre_height_m: vehicle.centre.y - vehicle.ground,
            wheelbase_m: vehicle.wheelbase(),
            track_m: vehicle.track(),
            width_m,
            wheels: self.wheel_figures(vehicle),
            stability,
            pulls,
            slopes,
            largest_slope_rad,
            slope_limit,
            most_slip: self.most_slip,
            largest_step_m: step,
            rock_diameter_m,
            free_paths,
            rock_drives,
        })
    }

    /// Drawbar pull on level ground, a row for each slip.
    ///
    /// # Errors
    /// The engine refuses the vehicle.
    pub fn pulls(&self, vehicle: &Vehicle) -> Result<Vec<Row>, MobilityError> {
        let form = ClosedForm::new(vehicle, &self.site);
        let row = |&slip: &f64| {
            let closed = |law| self.applies(law).then(|| form.at_slip(law, slip, 0.0)).flatten();
            let simulated = self.simulate_drive(vehicle, 0.0, Some(slip), 1.0)?;
            Ok(Row { asked: slip, summed: closed(Law::Summed), stress: closed(Law::Stress), simulated })
        };
        self.slips.iter().map(row).collect()
    }

    /// Steady drives up slopes, a row for each slope.
    ///
    /// # Errors
    /// The engine refuses the vehicle.
    pub fn climbs(&self, vehicle: &Vehicle) -> Result<Vec<Row>, MobilityError> {
        let form = ClosedForm::new(vehicle, &self.site);
        let row = |&slope: &f64| {
            let climbs = |law| form.climbing(law, slope).filter(|steady| form.motors_suffice(steady));
            let closed = |law| self.applies(law).then(|| climbs(law)).flatten();
            let simulated = self.simulate_drive(vehicle, slope, None, closed::MAX_SLIP)?;
            Ok(Row { asked: slope, summed: closed(Law::Summed), stress: closed(Law::Stress), simulated })
        };
        self.slopes.iter().map(row).collect()
    }

    /// Largest slope, rad, by each law and by simulation, and the reason for the limit in closed form.
    fn gradeability(&self, vehicle: &Vehicle) -> Result<([Option<f64>; 3], Option<SlopeLimit>), MobilityError> {
        let form = ClosedForm::new(vehicle, &self.site);
        let steepest = |law| self.applies(law).then(|| form.largest_slope(law, self.most_slip)).flatten();
        let (summed, stress) = (steepest(Law::Summed), steepest(Law::Stress));
        let simulated = self.largest_slope(vehicle, stress.or(summed).map_or(0.0, |(slope, _)| slope))?;
        let slopes = [summed.map(|own| own.0), stress.map(|own| own.0), simulated];
        Ok((slopes, stress.or(summed).map(|own| own.1)))
    }

    /// True if a law applies to this ground: the integral of stresses does not apply to firm ground.
    fn applies(&self, law: Law) -> bool {
        law == Law::Summed || matches!(self.site.ground, Ground::Soil { .. })
    }

    /// Checks that the vehicle stands by itself and fits the ground.
    fn check_vehicle(&self, vehicle: &Vehicle) -> Result<(), MobilityError> {
        let refuse = |what: String| Err(MobilityError::Robot { name: vehicle.name.clone(), what });
        let edges = edges(vehicle);
        if edges.len() < 3 || edges.iter().any(|edge| edge.distance_m <= 0.0) {
            return refuse(
                "its wheels do not hold it up by themselves: its centre of mass is not above the polygon that they stand on".into(),
            );
        }
        let narrow = vehicle.wheels.iter().find(|wheel| wheel.width.is_none());
        if let (Ground::Soil { .. }, Some(ball)) = (&self.site.ground, narrow) {
            return refuse(format!(
                "its wheel '{}' is a ball, and soil presses on a width: give its body a cylinder as shape",
                vehicle.mechanism.body(ball.body).name
            ));
        }
        Ok(())
    }

    /// Static stability over each edge of the support polygon.
    ///
    /// # Errors
    /// The engine refuses the vehicle.
    pub fn stability(&self, vehicle: &Vehicle) -> Result<Vec<Tipping>, MobilityError> {
        let tip = |edge: Edge| {
            let simulated_rad = if self.simulate { Trial::tipping_angle(vehicle, &self.site, &edge)? } else { None };
            Ok(Tipping { edge, simulated_rad })
        };
        edges(vehicle).into_iter().map(tip).collect()
    }

    /// Simulates a drive up a slope, rad. With `slip` a cart brakes the vehicle to that slip.
    fn simulate_drive(
        &self,
        vehicle: &Vehicle,
        slope: f64,
        slip: Option<f64>,
        most_slip: f64,
    ) -> Result<Option<Steady>, MobilityError> {
        if !self.simulate {
            return Ok(None);
        }
        let driven = Trial::new(vehicle, &self.site, slope, Vec::new())?.drive_steadily(slip, most_slip);
        let grade_n = vehicle.weight(self.site.gravity) * libm::sin(slope);
        Ok(driven.map(|steady| Steady { grade_n, ..steady }))
    }

    /// Largest slope, rad, that the simulated vehicle climbs, found by bisection around the closed form's.
    fn largest_slope(&self, vehicle: &Vehicle, closed: f64) -> Result<Option<f64>, MobilityError> {
        if !self.simulate {
            return Ok(None);
        }
        let climbs = |slope: f64| {
            let steady = Trial::new(vehicle, &self.site, slope, Vec::new())?.drive_steadily(None, self.most_slip);
            Ok::<bool, MobilityError>(steady.is_some_and(|steady| steady.slip <= self.most_slip))
        };
        let reach = (0.1 * closed).max(4.0 * SLOPE_RESOLUTION);
        largest_success([0.0, std::f64::consts::FRAC_PI_2], closed, reach, SLOPE_RESOLUTION, climbs)
    }

    /// Largest step of firm ground that the vehicle climbs, m. It is driven so slowly that its kinetic energy does not
    /// help.
    ///
    /// # Errors
    /// The engine refuses the vehicle.
    pub fn largest_step(&self, vehicle: &Vehicle) -> Result<Pair, MobilityError> {
        let radius = vehicle.radius();
        let creep = (2.0 * KINETIC_LIFT * radius * self.site.gravity).sqrt();
        let site = Site { ground: Ground::Firm { friction: self.site.friction() }, ..self.site.clone() };
        let closed = ClosedForm::new(vehicle, &site).largest_step();
        if !self.simulate {
            return Ok(Pair { closed: Some(closed), simulated: None });
        }
        // Far enough ahead that no wheel touches the face at the start.
        let face = 1.2 * radius;
        let climbs = |height: f64| {
            let step = trial::step_ahead(vehicle, &site, face, height);
            Ok::<bool, MobilityError>(Trial::new(vehicle, &site, 0.0, vec![step])?.climbs_step(face, creep))
        };
        let resolution = STEP_RESOLUTION * radius;
        let simulated = largest_success([0.0, 2.0 * radius], closed, 0.1 * radius, resolution, climbs)?;
        Ok(Pair { closed: Some(closed), simulated })
    }

    /// Simulates drives among rocks, in fields with the densest cover, where the robot soon touches a rock.
    ///
    /// # Errors
    /// The engine refuses the vehicle.
    pub fn rock_drives(&self, vehicle: &Vehicle, diameter: f64) -> Result<Vec<RockDrive>, MobilityError> {
        let mut drives = Vec::new();
        let densest = self.rock_covers.iter().copied().reduce(f64::max);
        let (Some(cover), true) = (densest, self.simulate && diameter > 0.0) else {
            return Ok(drives);
        };
        let (sizes, width) = (RockSizes { cover }, vehicle.outline(vehicle.right).1);
        let field = rocks::field(sizes, diameter, width, rocks::mean_free_path(sizes, diameter, width));
        let site = Site { ground: Ground::Firm { friction: self.site.friction() }, ..self.site.clone() };
        for seed in self.rock_fields.clone().take(ROCK_DRIVES) {
            let field = RockField { seed, ..field };
            // Rocks far away are left to the formula, because the drive would take too many steps.
            let Some(touch) = rocks::first_touch(&field, width).filter(|touch| touch.way < ROCK_DRIVE_LENGTHS * width)
            else {
                continue;
            };
            let rocks = trial::rocks_ahead(vehicle, &field, &touch);
            let simulated_m = Trial::among_posts(vehicle, &site, rocks)?.distance_to_touch(touch.way);
            drives.push(RockDrive { cover, seed, front_m: touch.way, simulated_m });
        }
        Ok(drives)
    }

    /// Figures of the wheels, with their loads on level ground.
    pub fn wheel_figures(&self, vehicle: &Vehicle) -> Vec<WheelFigures> {
        let loads = ClosedForm::new(vehicle, &self.site).standing_loads();
        let strength = |wheel: &Wheel, load: f64| match &self.site.ground {
            Ground::Soil { soil, .. } => {
                Traction::new(soil, [wheel.radius, wheel.width?], load, 1.0, self.site.gravity)
                    .map(|own| own.shear_strength)
            }
            Ground::Firm { .. } => None,
        };
        let each = vehicle.wheels.iter().zip(loads).map(|(wheel, load_n)| {
            let from = wheel.centre - vehicle.centre;
            WheelFigures {
                name: vehicle.mechanism.body(wheel.body).name.clone(),
                driven: wheel.drive.is_some(),
                radius_m: wheel.radius,
                width_m: wheel.width,
                place_m: [from.dot(vehicle.forward), from.dot(vehicle.right)],
                load_n,
                shear_strength_pa: strength(wheel, load_n),
            }
        });
        each.collect()
    }
}

/// Largest number in a range for which `succeeds` returns true, to a resolution. It is found by bisection. The bracket
/// is `guess` plus and minus `reach`, and is widened until it succeeds at one end and fails at the other. `None` if
/// even the least number fails.
fn largest_success<E>(
    [least, most]: [f64; 2],
    guess: f64,
    mut reach: f64,
    resolution: f64,
    succeeds: impl Fn(f64) -> Result<bool, E>,
) -> Result<Option<f64>, E> {
    let (mut low, mut high) = ((guess - reach).max(least), (guess + reach).min(most));
    while !succeeds(low)? {
        if low <= least {
            return Ok(None);
        }
        (high, reach) = (low, 2.0 * reach);
        low = (low - reach).max(least);
    }
    while succeeds(high)? {
        if high >= most {
            return Ok(Some(most));
        }
        (low, reach) = (high, 2.0 * reach);
        high = (high + reach).min(most);
    }
    while high - low > resolution {
        let middle = 0.5 * (low + high);
        if succeeds(middle)? { low = middle } else { high = middle }
    }
    Ok(Some(low))
}
