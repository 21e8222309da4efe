//! `simpartner mobility`: the mobility of a wheeled robot on a ground, by closed forms and by simulation.

use std::{fs, path::PathBuf};

use clap::Args;
use simpartner_description::{Parameters, xml};
use simpartner_model::Soil;
use simpartner_terminal::output::{line, print};
use simpartner_wire::near::did_you_mean;

use super::{
    exit::{CliError, ExitStatus},
    format::ReportArguments,
    logged::Bar,
};
use crate::{
    analysis::Progress,
    mobility::{Ground, MobilityError, Site, Study, Vehicle, plots, table},
};

/// Length of the progress bar, in its own counts.
const BAR_LENGTH: u64 = 1000;

#[derive(Debug, Args)]
pub(super) struct MobilityArguments {
    /// Robot file in SimPartner's format, URDF, MJCF or SDF
    #[arg(value_name = "ROBOT")]
    robot: PathBuf,
    /// Soil to drive on: a built-in one (drySand, sandyLoam, clay, lunar, lunarSimulant, marsSand, regolithSimulant,
    /// leteSand), or one of --soil-file [default: firm ground]
    #[arg(long, value_name = "NAME")]
    soil: Option<String>,
    /// World file, or file of <soil> elements, with further soils; without --soil, its first one is used
    #[arg(long, value_name = "FILE")]
    soil_file: Option<PathBuf>,
    /// Friction coefficient of firm ground, steps and rocks, from 0 to 10; a smaller coefficient of a wheel takes
    /// precedence
    #[arg(long, value_name = "MU", default_value_t = 0.8, value_parser = parse_friction)]
    friction: f64,
    /// Slip ratio for the drawbar pull, from 0.001 to 0.98; may be given several times
    #[arg(long = "slip", value_name = "RATIO", default_values_t = [0.1, 0.2, 0.4, 0.6], value_parser = parse_slip)]
    slips: Vec<f64>,
    /// Slope to climb, in degrees, from 0 to 89; may be given several times
    #[arg(long = "slope", value_name = "DEGREES", default_values_t = [5.0, 10.0, 15.0], value_parser = parse_slope)]
    slopes: Vec<f64>,
    /// Slip ratio from which a slope counts as too steep, from 0.001 to 0.98
    #[arg(long, value_name = "RATIO", default_value_t = 0.8, value_parser = parse_slip)]
    most_slip: f64,
    /// Circumferential speed of the wheels, in m/s, from 0.001 to 2; the soil model is valid up to about 0.2
    #[arg(long, value_name = "SPEED", default_value_t = 0.2, value_parser = parse_speed)]
    speed: f64,
    /// Gravitational acceleration, in m/s², from 0.01 to 100
    #[arg(long, value_name = "G", default_value_t = 9.81, value_parser = parse_gravity)]
    gravity: f64,
    /// Fraction of the ground that rocks cover, from 0.001 to 1, for the mean free path; may be given several times
    #[arg(long = "rocks", value_name = "PART", default_values_t = [0.05, 0.1, 0.2, 0.3], value_parser = parse_cover)]
    rocks: Vec<f64>,
    /// Diameter from which a rock is an obstacle, in metres, from 0.01 to 100 [default: twice the height of the largest
    /// step that the robot climbs, because rocks are half as high as wide]
    #[arg(long, value_name = "METRES", value_parser = parse_diameter)]
    rock_diameter: Option<f64>,
    /// Number of random rock fields for each mean free path, from 0 to 100000
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    rock_fields: u32,
    /// Seed of the first rock field; the others have the following numbers
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Compute closed-form results only, without simulation
    #[arg(long)]
    closed_form: bool,
    #[command(flatten)]
    report: ReportArguments,
    /// Folder for SVG plots; created if missing
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Parses a number within a range, bounds included. `what` describes the range in the error.
fn parse_within(text: &str, [low, high]: [f64; 2], what: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("expected {what}"))?;
    if low <= number && number <= high { Ok(number) } else { Err(format!("expected {what}")) }
}

fn parse_friction(text: &str) -> Result<f64, String> {
    parse_within(text, [0.0, 10.0], "a number from 0 to 10")
}

fn parse_slip(text: &str) -> Result<f64, String> {
    parse_within(text, [0.001, 0.98], "a number from 0.001 to 0.98")
}

fn parse_slope(text: &str) -> Result<f64, String> {
    parse_within(text, [0.0, 89.0], "degrees from 0 to 89")
}

fn parse_speed(text: &str) -> Result<f64, String> {
    parse_within(text, [0.001, 2.0], "metres per second from 0.001 to 2")
}

fn parse_gravity(text: &str) -> Result<f64, String> {
    parse_within(text, [0.01, 100.0], "m/s² from 0.01 to 100")
}

fn parse_cover(text: &str) -> Result<f64, String> {
    parse_within(text, [0.001, 1.0], "a part of the ground from 0.001 to 1")
}

fn parse_diameter(text: &str) -> Result<f64, String> {
    parse_within(text, [0.01, 100.0], "metres from 0.01 to 100")
}

/// Prints the figures and writes the plots.
pub(super) fn mobility(arguments: &MobilityArguments) -> Result<ExitStatus, CliError> {
    let site = Site { ground: ground_of(arguments)?, gravity: arguments.gravity, rim_speed: arguments.speed };
    let world = xml::read_world_or_robot(&arguments.robot, false, &Parameters::default())?;
    let refuse = |error: MobilityError| match error {
        MobilityError::Robot { .. } => CliError::Input(format!("{}: {error}", arguments.robot.display())),
        MobilityError::Engine(error) => error.into(),
    };
    let vehicle = Vehicle::new(&world).map_err(refuse)?;
    let study = Study {
        site,
        slips: arguments.slips.clone(),
        slopes: arguments.slopes.iter().map(|degrees| degrees.to_radians()).collect(),
        most_slip: arguments.most_slip,
        rock_covers: arguments.rocks.clone(),
        rock_diameter: arguments.rock_diameter,
        rock_fields: arguments.seed..arguments.seed.saturating_add(u64::from(arguments.rock_fields)),
        simulate: !arguments.closed_form,
    };
    let mut bar = Bar::new();
    let report = study.run(&vehicle, &mut |what, share| {
        bar.begin(what, BAR_LENGTH);
        bar.reach((share * BAR_LENGTH as f64) as u64);
    });
    drop(bar);
    let report = report.map_err(refuse)?;
    if let Some(folder) = &arguments.output {
        let cannot =
            |path: &PathBuf, error| CliError::Usage(format!("--output: cannot write '{}': {error}", path.display()));
        fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
        for (name, text) in plots::files(&report) {
            let path = folder.join(name);
            fs::write(&path, text).map_err(|error| cannot(&path, error))?;
        }
    }
    if arguments.report.is_json() {
        let text = serde_json::to_string_pretty(&report).map_err(std::io::Error::from)?;
        line(text);
    } else {
        print(table::table(&report));
    }
    Ok(ExitStatus::Success)
}

/// The ground that the arguments name.
fn ground_of(arguments: &MobilityArguments) -> Result<Ground, CliError> {
    let own = match &arguments.soil_file {
        Some(file) => xml::read_soils(file)?,
        None => Vec::new(),
    };
    let friction = arguments.friction;
    let named = match (&arguments.soil, &arguments.soil_file) {
        (None, None) => return Ok(Ground::Firm { friction }),
        (None, Some(file)) => {
            let none = || CliError::Input(format!("'{}' has no <soil>", file.display()));
            own.first().cloned().ok_or_else(none)?
        }
        (Some(name), _) => {
            let soil = own.iter().find(|(own, _)| own == name).map(|(_, soil)| *soil).or_else(|| Soil::named(name));
            let Some(soil) = soil else {
                let known: Vec<&str> =
                    own.iter().map(|(name, _)| name.as_str()).chain(Soil::NAMED.map(|named| named.name)).collect();
                return Err(CliError::Usage(format!(
                    "--soil: there is no soil '{name}'{}; there are: {}",
                    did_you_mean(name, known.iter().copied()),
                    known.join(", ")
                )));
            };
            (name.clone(), soil)
        }
    };
    Ok(Ground::Soil { name: named.0, soil: named.1, friction })
}
