//! `simpartner terrain`: describes a file of heights, converts it to other formats, and draws a relief of it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::json;
use simpartner_description::dem::{Dem, Survey};
use simpartner_terminal::output::line;

use super::{
    exit::{CliError, ExitStatus},
    format::ReportArguments,
};
use crate::draw::relief;

#[derive(Debug, Args)]
pub(super) struct TerrainArguments {
    /// Elevation file: .csv, .asc, .tif, .png, .hgt, .dem or .wrl
    file: PathBuf,
    /// File to write: the heights as .asc, .csv, .tif or .png (16 bits), or the surface as .obj or .stl; may be given
    /// several times
    #[arg(short, long, value_name = "FILE")]
    output: Vec<PathBuf>,
    /// File to write with a shaded relief, .png or .svg
    #[arg(long, value_name = "FILE")]
    relief: Option<PathBuf>,
    /// Spacing of the samples, in metres, in place of the file's; .csv and .png files have none
    #[arg(long, value_name = "METRES", value_parser = parse_positive)]
    spacing: Option<f64>,
    /// Factor on the heights
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Height of white above black in a PNG file, in metres, in place of --scale
    #[arg(long, value_name = "METRES", value_parser = parse_positive, conflicts_with = "scale")]
    white: Option<f64>,
    /// Height that is added after scaling, in metres
    #[arg(long, default_value_t = 0.0)]
    offset: f64,
    /// Value that marks samples without data, in addition to the file's
    #[arg(long, value_name = "VALUE")]
    no_data: Option<f64>,
    /// Resample to cells of about this size, in metres, by bilinear interpolation
    #[arg(long, value_name = "METRES", value_parser = parse_positive)]
    cell: Option<f64>,
    #[command(flatten)]
    report: ReportArguments,
}

fn parse_positive(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "expected a number".to_owned())?;
    if number > 0.0 && number.is_finite() { Ok(number) } else { Err("expected a number above 0".into()) }
}

/// Prints the figures, and writes the files that the flags name.
pub(super) fn terrain(arguments: &TerrainArguments) -> Result<ExitStatus, CliError> {
    let dem = read_dem(arguments)?;
    let survey = Survey::of(&dem);
    let refuse = |path: &Path, what: String| CliError::Input(format!("'{}': {what}", path.display()));
    let write = |path: &Path, bytes: &[u8]| {
        fs::write(path, bytes).map_err(|error| CliError::Input(format!("cannot write '{}': {error}", path.display())))
    };
    let mut written = Vec::new();
    for path in &arguments.output {
        let bytes = dem.write(&path.to_string_lossy()).map_err(|what| refuse(path, what))?;
        write(path, &bytes)?;
        let [scale, offset] = dem.png_scale();
        let is_png = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("png"));
        written.push((path, is_png.then_some([scale, offset])));
    }
    if let Some(path) = &arguments.relief {
        let bytes = match path.extension().and_then(|ending| ending.to_str()) {
            Some("png") => relief::png(&dem),
            Some("svg") => relief::svg(&dem).map(String::into_bytes),
            _ => return Err(CliError::Usage(format!("'{}' ends with neither .png nor .svg", path.display()))),
        };
        write(path, &bytes.map_err(|what| refuse(path, what))?)?;
        written.push((path, None));
    }
    if arguments.report.is_json() {
        let files = written.iter().map(|(path, scale)| json!({ "file": path, "scale_offset": scale }));
        let mut report = json!(survey);
        (report["file"], report["written"]) = (json!(arguments.file), files.collect());
        line(format_args!("{report:#}"));
        return Ok(ExitStatus::Success);
    }
    print_survey(&arguments.file, &survey);
    for (path, scale) in written {
        let meaning = scale.map_or(String::new(), |[scale, offset]| {
            format!("; its heights need scale=\"{scale}\" offset=\"{offset}\"")
        });
        line(format_args!("{}: written{meaning}", path.display()));
    }
    Ok(ExitStatus::Success)
}

/// Reads the file of heights, and applies scale, offset, spacing and resampling.
fn read_dem(arguments: &TerrainArguments) -> Result<Dem, CliError> {
    let mut dem = Dem::open(&arguments.file).map_err(|problem| CliError::Input(problem.to_string()))?;
    if let Some(value) = arguments.no_data {
        dem.without(value);
    }
    let scale = match (arguments.white, dem.white) {
        (Some(height), Some(level)) => height / level,
        (Some(_), None) => {
            let message = "--white applies to PNG files only; use --scale instead";
            return Err(CliError::Usage(message.into()));
        }
        (None, _) => arguments.scale,
    };
    dem.heights.iter_mut().for_each(|height| *height = *height * scale + arguments.offset);
    if let Some(infinite) = dem.heights.iter().find(|height| height.is_infinite()) {
        return Err(CliError::Input(format!("with this scale and offset a height is {infinite}")));
    }
    dem.spacing = arguments.spacing.map(|spacing| [spacing; 2]).or(dem.spacing);
    match arguments.cell {
        Some(cell) => {
            dem.resampled(cell).map_err(|what| CliError::Input(format!("'{}': {what}", arguments.file.display())))
        }
        None => Ok(dem),
    }
}

fn print_survey(file: &Path, survey: &Survey) {
    let [along_x, along_z] = survey.samples;
    line(format_args!("{}: {along_x} x {along_z} samples, along x (east) and z (south)", file.display()));
    match (survey.spacing_m, survey.extent_m) {
        (Some([dx, dz]), Some([width, depth])) => {
            line(format_args!("  every {dx:.6} m x {dz:.6} m, extent {width:.3} m x {depth:.3} m"));
        }
        _ => line(format_args!("  the file does not state their spacing; set it with --spacing")),
    }
    match (survey.range_m, survey.mean_m) {
        (Some([low, high]), Some(mean)) => line(format_args!("  heights {low:.3} to {high:.3} m, mean {mean:.3} m")),
        _ => line(format_args!("  no sample has a height")),
    }
    if let (Some(mean), Some(most), Some(steepest)) =
        (survey.slope_mean_deg, survey.slope_p95_deg, survey.slope_max_deg)
    {
        line(format_args!(
            "  slopes {mean:.2} deg in the mean, 95 % at most {most:.2} deg, steepest {steepest:.2} deg"
        ));
    }
    if survey.no_data > 0 {
        line(format_args!("  {} samples without data, {} cells without surface", survey.no_data, survey.holes));
    }
}
