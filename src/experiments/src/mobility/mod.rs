//! What a robot on wheels can do on a ground: closed forms, as design tools for rovers have them, beside the same robot in the engine.
//!
//! A [`Vehicle`] is read from a robot, a [`Site`] is what it drives on, and [`Study::run`] brings the figures: loads and static stability,
//! drawbar pull against slip, slopes, the largest slope and step (gradeability), and how far it gets among rocks ([`rocks`]). Closed forms
//! stand in `closed`, the experiments in `trial`. The list of parameters is that of RPET (Patel et al. 2004; thesis 2.2.4). The module
//! knows no files and no command line.

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

/// How near the largest slope, rad, and the largest step, as a part of the largest radius, are found by trials.
const SLOPE_RESOLUTION: f64 = 0.005;
const STEP_RESOLUTION: f64 = 0.02;
/// How high a vehicle that comes to a step is lifted by its kinetic energy, as a part of the largest radius.
const MOMENTUM: f64 = 1e-4;
/// How high a rock is for its diameter: half of it, as a ball that lies half in the ground (Golombek and Rapp 1997).
const ROCK_HEIGHT: f64 = 0.5;

/// How many fields of rocks the robot itself drives through, and how far at most, in its widths.
const ROCK_DRIVES: usize = 5;
const ROCK_DRIVE_LENGTHS: f64 = 10.0;

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    /// Where.
    pub site: Site,
    /// Slips at which it pulls, each above 0 and below 1.
    pub slips: Vec<f64>,
    /// Slopes up which it drives, rad.
    pub slopes: Vec<f64>,
    /// The slip beyond which a slope counts as too steep.
    pub most_slip: f64,
    /// Parts of the ground that rocks cover, for the mean free path.
    pub rock_covers: Vec<f64>,
    /// The diameter from which a rock stops it, m; without one that of rocks as high as its largest step.
    pub rock_diameter: Option<f64>,
    /// Seeds of the fields of rocks that are made for each mean free path.
    pub rock_fields: Range<u64>,
    /// Whether the robot is also driven in the engine.
    pub simulate: bool,
}

/// A figure by closed form, and by simulation where there was one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pair {
    /// By closed form; `None` where it has no answer.
    pub closed: Option<f64>,
    /// In the engine.
    pub simulated: Option<f64>,
}

/// The vehicle at a slip or on a slope.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The slip or the slope in rad that was asked for.
    pub asked: f64,
    /// Thrust less resistances; `None` where it cannot.
    pub summed: Option<Steady>,
    /// By the integral of stresses; none on firm ground.
    pub stress: Option<Steady>,
    /// In the engine.
    pub simulated: Option<Steady>,
}

/// What a wheel of the vehicle is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WheelFigures {
    /// The name of its body.
    pub name: String,
    /// Whether a motor turns it.
    pub driven: bool,
    /// m.
    pub radius_m: f64,
    /// m.
    pub width_m: Option<f64>,
    /// How far ahead of the centre of mass it is, and to the right, m.
    pub place_m: [f64; 2],
    /// What it carries on level ground, N.
    pub load_n: f64,
    /// The largest shear stress of the soil under it, Pa, by Mohr and Coulomb under the mean pressure of its load; `None` on firm ground.
    pub shear_strength_pa: Option<f64>,
}

/// Static stability over an edge.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tipping {
    /// The edge, with its margin in closed form.
    pub edge: Edge,
    /// The tilt at which the engine's vehicle stands on that edge alone, rad. What its suspension moves by in the meantime is in it.
    pub simulated_rad: Option<f64>,
}

/// All figures of a vehicle on a site.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The robot.
    pub robot: String,
    /// The ground.
    pub ground: String,
    /// m/s².
    pub gravity: f64,
    /// m/s.
    pub rim_speed: f64,
    /// kg.
    pub mass_kg: f64,
    /// Height of the centre of mass above the ground, m.
    pub centre_height_m: f64,
    /// m.
    pub wheelbase_m: f64,
    /// m.
    pub track_m: f64,
    /// From its leftmost point to its rightmost, m.
    pub width_m: f64,
    /// Its wheels, those ahead first.
    pub wheels: Vec<WheelFigures>,
    /// Static stability over each edge.
    pub stability: Vec<Tipping>,
    /// On level ground at given slips.
    pub pulls: Vec<Row>,
    /// Up slopes without anything to pull.
    pub slopes: Vec<Row>,
    /// The largest slope, rad, by each law and in the engine.
    pub largest_slope_rad: [Option<f64>; 3],
    /// What keeps it from more, in closed form.
    pub slope_limit: Option<SlopeLimit>,
    /// The slip at which a slope counts as too steep.
    pub most_slip: f64,
    /// The largest step of firm ground, m. In closed form at most the radius of its smallest wheel.
    pub largest_step_m: Pair,
    /// The diameter from which a rock stops it, m.
    pub rock_diameter_m: f64,
    /// How far it gets among rocks.
    pub free_paths: Vec<FreePath>,
    /// The robot itself among the rocks of some of these fields.
    pub rock_drives: Vec<RockDrive>,
}

/// The robot among the rocks of a field.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RockDrive {
    /// The part of the ground that rocks cover.
    pub cover: f64,
    /// The field's seed.
    pub seed: u64,
    /// Where the straight front of a vehicle as wide as it touches the first rock, m.
    pub front_m: f64,
    /// Where the robot does in the engine, m; `None` if it touches none within its length beyond.
    pub simulated_m: Option<f64>,
}

impl Study {
    /// The figures of a vehicle. `told` hears what is being done, and how much of all is done, 0 to 1.
    ///
    /// # Errors
    /// When the vehicle cannot be on this ground, or the engine refuses it.
    pub fn run(&self, vehicle: &Vehicle, told: &mut dyn FnMut(&str, f64)) -> Result<Report, MobilityError> {
        self.check(vehicle)?;
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
        let rock_diameter_m = self.rock_diameter.unwrap_or(highest / ROCK_HEIGHT);
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

    /// What the vehicle pulls on level ground, a row for each slip.
    ///
    /// # Errors
    /// When the engine refuses it.
    pub fn pulls(&self, vehicle: &Vehicle) -> Result<Vec<Row>, MobilityError> {
        let form = ClosedForm::new(vehicle, &self.site);
        let row = |&slip: &f64| {
            let closed = |law| self.has(law).then(|| form.at(law, slip, 0.0)).flatten();
            let simulated = self.drive(vehicle, 0.0, Some(slip), 1.0)?;
            Ok(Row { asked: slip, summed: closed(Law::Summed), stress: closed(Law::Stress), simulated })
        };
        self.slips.iter().map(row).collect()
    }

    /// How the vehicle drives up slopes, a row for each.
    ///
    /// # Errors
    /// When the engine refuses it.
    pub fn climbs(&self, vehicle: &Vehicle) -> Result<Vec<Row>, MobilityError> {
        let form = ClosedForm::new(vehicle, &self.site);
        let row = |&slope: &f64| {
            let climbs = |law| form.climbing(law, slope).filter(|steady| form.motors_suffice(steady));
            let closed = |law| self.has(law).then(|| climbs(law)).flatten();
            let simulated = self.drive(vehicle, slope, None, closed::MOST_SLIP)?;
            Ok(Row { asked: slope, summed: closed(Law::Summed), stress: closed(Law::Stress), simulated })
        };
        self.slopes.iter().map(row).collect()
    }

    /// The largest slope, rad, by each law and in the engine, and what keeps it from more in closed form.
    fn gradeability(&self, vehicle: &Vehicle) -> Result<([Option<f64>; 3], Option<SlopeLimit>), MobilityError> {
        let form = ClosedForm::new(vehicle, &self.site);
        let steepest = |law| self.has(law).then(|| form.largest_slope(law, self.most_slip)).flatten();
        let (summed, stress) = (steepest(Law::Summed), steepest(Law::Stress));
        let simulated = self.largest_slope(vehicle, stress.or(summed).map_or(0.0, |(slope, _)| slope))?;
        let slopes = [summed.map(|own| own.0), stress.map(|own| own.0), simulated];
        Ok((slopes, stress.or(summed).map(|own| own.1)))
    }

    /// Whether a law is one of this ground: firm ground has Coulomb's alone.
    fn has(&self, law: Law) -> bool {
        law == Law::Summed || matches!(self.site.ground, Ground::Soil { .. })
    }

    /// Whether the vehicle can be on this ground.
    fn check(&self, vehicle: &Vehicle) -> Result<(), MobilityError> {
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

    /// Static stability over each edge of the polygon that the vehicle stands on.
    ///
    /// # Errors
    /// When the engine refuses it.
    pub fn stability(&self, vehicle: &Vehicle) -> Result<Vec<Tipping>, MobilityError> {
        let tip = |edge: Edge| {
            let simulated_rad = if self.simulate { Trial::tips(vehicle, &self.site, &edge)? } else { None };
            Ok(Tipping { edge, simulated_rad })
        };
        edges(vehicle).into_iter().map(tip).collect()
    }

    fn drive(
        &self,
        vehicle: &Vehicle,
        slope: f64,
        slip: Option<f64>,
        most_slip: f64,
    ) -> Result<Option<Steady>, MobilityError> {
        if !self.simulate {
            return Ok(None);
        }
        let driven = Trial::new(vehicle, &self.site, slope, Vec::new())?.drive(slip, most_slip);
        let grade_n = vehicle.weight(self.site.gravity) * libm::sin(slope);
        Ok(driven.map(|steady| Steady { grade_n, ..steady }))
    }

    /// The largest slope that it climbs in the engine, by halving from a bracket about what the closed form says.
    fn largest_slope(&self, vehicle: &Vehicle, closed: f64) -> Result<Option<f64>, MobilityError> {
        if !self.simulate {
            return Ok(None);
        }
        let climbs = |slope: f64| {
            let steady = Trial::new(vehicle, &self.site, slope, Vec::new())?.drive(None, self.most_slip);
            Ok::<bool, MobilityError>(steady.is_some_and(|steady| steady.slip <= self.most_slip))
        };
        let reach = (0.1 * closed).max(4.0 * SLOPE_RESOLUTION);
        largest([0.0, std::f64::consts::FRAC_PI_2], closed, reach, SLOPE_RESOLUTION, climbs)
    }

    /// The largest step that it climbs from firm ground, so slowly that the way it comes with lifts it by nothing to speak of.
    ///
    /// # Errors
    /// When the engine refuses it.
    pub fn largest_step(&self, vehicle: &Vehicle) -> Result<Pair, MobilityError> {
        let radius = vehicle.radius();
        let creep = (2.0 * MOMENTUM * radius * self.site.gravity).sqrt();
        let site = Site { ground: Ground::Firm { friction: self.site.friction() }, ..self.site.clone() };
        let closed = ClosedForm::new(vehicle, &site).largest_step();
        if !self.simulate {
            return Ok(Pair { closed: Some(closed), simulated: None });
        }
        // So far that no wheel touches the face as it starts.
        let face = 1.2 * radius;
        let climbs = |height: f64| {
            let step = trial::step_ahead(vehicle, &site, face, height);
            Ok::<bool, MobilityError>(Trial::new(vehicle, &site, 0.0, vec![step])?.climbs(face, creep))
        };
        let resolution = STEP_RESOLUTION * radius;
        let simulated = largest([0.0, 2.0 * radius], closed, 0.1 * radius, resolution, climbs)?;
        Ok(Pair { closed: Some(closed), simulated })
    }

    /// The robot among the rocks that are densest: there it soon meets one.
    ///
    /// # Errors
    /// When the engine refuses it.
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
            // A rock far away is known from the formula: driving there takes as many steps.
            let Some(touch) = rocks::first_touch(&field, width).filter(|touch| touch.way < ROCK_DRIVE_LENGTHS * width)
            else {
                continue;
            };
            let rocks = trial::rocks_ahead(vehicle, &field, &touch);
            let simulated_m = Trial::among(vehicle, &site, rocks)?.touches(touch.way);
            drives.push(RockDrive { cover, seed, front_m: touch.way, simulated_m });
        }
        Ok(drives)
    }

    /// What the wheels are, and what they carry on level ground.
    pub fn wheel_figures(&self, vehicle: &Vehicle) -> Vec<WheelFigures> {
        let loads = ClosedForm::new(vehicle, &self.site).standing();
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

/// The largest number in a range with which something succeeds, to a resolution: halved from a bracket about a guess, which is widened until
/// it has an end of either kind. `None` if the least does not succeed.
fn largest<E>(
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
