//! Shaded relief of terrain, as on maps: north up, light from the north-west at 45 degrees, colours by height.

use std::fmt::Write;

use base64::{Engine, prelude::BASE64_STANDARD};
use bevy_math::DVec3;
use simpartner_description::dem::{self, Dem, Survey};

/// Largest number of pixels along the longer side.
const MAX_PIXELS: usize = 1024;
/// Direction to the light; y is up and -z north.
const TO_LIGHT: DVec3 = DVec3::new(-0.5, std::f64::consts::FRAC_1_SQRT_2, -0.5);
/// Colours from the lowest height to the highest, at even intervals: red, green and blue, 0 to 255.
const HEIGHT_COLOURS: [[f64; 3]; 5] =
    [[116.0, 148.0, 110.0], [178.0, 186.0, 128.0], [214.0, 192.0, 142.0], [176.0, 140.0, 108.0], [246.0, 244.0, 240.0]];
/// Width of the SVG, in its units.
const SVG_WIDTH: f64 = 800.0;
/// Height of the legend below the map, in the SVG's units.
const LEGEND_HEIGHT: f64 = 44.0;

/// The relief as a PNG file. Samples without a height are transparent.
///
/// # Errors
/// No sample has a height; the error is a sentence.
pub fn png(dem: &Dem) -> Result<Vec<u8>, String> {
    let longer = dem.points_x.max(dem.points_z);
    let size = |points: usize| (points * MAX_PIXELS.min(longer)).div_ceil(longer).max(2);
    let (columns, rows) = (size(dem.points_x), size(dem.points_z));
    let shown = dem.resampled_to([columns, rows]);
    let (low, high) = shown.range().ok_or("no sample has a height, so there is nothing to show")?;
    let [dx, dz] = shown.spacing.unwrap_or([1.0; 2]);
    let mut pixels = Vec::with_capacity(4 * columns * rows);
    for (j, i) in (0..rows).flat_map(|j| (0..columns).map(move |i| (j, i))) {
        let height = shown.height(i, j);
        // Slope by central differences, or by one-sided ones at the edges and beside holes.
        let between = |before: f64, after: f64, cell: f64| match (before.is_nan(), after.is_nan()) {
            (false, false) => (after - before) / (2.0 * cell),
            (true, false) => (after - height) / cell,
            (false, true) => (height - before) / cell,
            (true, true) => 0.0,
        };
        let at = |i: Option<usize>, j: Option<usize>| match (i, j) {
            (Some(i), Some(j)) if i < columns && j < rows => shown.height(i, j),
            _ => f64::NAN,
        };
        let along_x = between(at(i.checked_sub(1), Some(j)), at(Some(i + 1), Some(j)), dx);
        let along_z = between(at(Some(i), j.checked_sub(1)), at(Some(i), Some(j + 1)), dz);
        let light = DVec3::new(-along_x, 1.0, -along_z).normalize().dot(TO_LIGHT).max(0.0);
        let share = if high > low { (height - low) / (high - low) } else { 0.5 };
        pixels.extend(shaded_pixel(share, light));
    }
    dem::write_picture([columns, rows], &pixels)
}

/// Red, green, blue and opacity of a pixel. `share` is its height as a fraction of the way from the lowest to the
/// highest, and `light` the cosine of the angle between surface normal and light.
fn shaded_pixel(share: f64, light: f64) -> [u8; 4] {
    if share.is_nan() {
        return [0; 4];
    }
    let place = share.clamp(0.0, 1.0) * (HEIGHT_COLOURS.len() - 1) as f64;
    let (first, way) = ((place as usize).min(HEIGHT_COLOURS.len() - 2), place.fract());
    let way = if place as usize > first { 1.0 } else { way };
    // Level ground is lit by the sine of 45 degrees, and keeps its colour.
    let brightness = (0.35 + 0.65 * light / TO_LIGHT.y).min(1.25);
    let channel = |k: usize| {
        let colour = HEIGHT_COLOURS[first][k] + (HEIGHT_COLOURS[first + 1][k] - HEIGHT_COLOURS[first][k]) * way;
        (colour * brightness).round().min(255.0) as u8
    };
    [channel(0), channel(1), channel(2), u8::MAX]
}

/// The relief as SVG: the picture of [`png`], and below it extent, heights and slopes.
///
/// # Errors
/// No sample has a height; the error is a sentence.
pub fn svg(dem: &Dem) -> Result<String, String> {
    let picture = BASE64_STANDARD.encode(png(dem)?);
    let survey = Survey::of(dem);
    let cells = [dem.points_x - 1, dem.points_z - 1].map(|cells| cells as f64);
    let [width, depth] = survey.extent_m.unwrap_or(cells);
    let height = SVG_WIDTH * depth / width;
    let mut out = String::new();
    // Writing into a string never fails.
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {SVG_WIDTH} {total:.0}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"{SVG_WIDTH}\" height=\"{total:.0}\" fill=\"#fff\"/>\n\
         <image width=\"{SVG_WIDTH}\" height=\"{height:.1}\" preserveAspectRatio=\"none\" href=\"data:image/png;base64,{picture}\"/>\n",
        total = height + LEGEND_HEIGHT
    );
    let extent = survey.extent_m.map_or(String::new(), |[x, z]| format!("{x:.0} m x {z:.0} m, "));
    let [low, high] = survey.range_m.unwrap_or_default();
    let slopes = match (survey.slope_mean_deg, survey.slope_max_deg) {
        (Some(mean), Some(steepest)) => format!("slopes {mean:.1}\u{b0} in the mean, {steepest:.1}\u{b0} at most"),
        _ => "slopes not known".to_owned(),
    };
    let lines =
        [format!("{extent}heights {low:.1} to {high:.1} m"), format!("{slopes}; north up, light from the north-west")];
    for (line, text) in lines.iter().enumerate() {
        let _ = writeln!(out, "<text x=\"8\" y=\"{:.0}\">{text}</text>", height + 18.0 + 18.0 * line as f64);
    }
    out.push_str("</svg>\n");
    Ok(out)
}
