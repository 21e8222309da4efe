//! Terrain from a matrix of heights, in the world file or in a data file beside it: cut, scaled, placed and resampled.

use bevy_math::{DQuat, DVec3};
use simpartner_model::{Heightfield, Pose};

use super::{
    body::read_material,
    node::Node,
    reading::{Reading, is_given},
};
use crate::{
    dem::{self, Dem},
    limits::{MAX_ALL_DATA, MAX_GRID_SIDE, MAX_HEIGHTS_FILE},
    source::SourceFile,
    text::{diagnostic::Diagnostic, numbers::read_numbers},
};

/// The most grid points a terrain may have.
const MAX_POINTS: usize = MAX_GRID_SIDE * MAX_GRID_SIDE;
/// The lowest and the highest terrain, metres; lengths of shapes end there too.
const MAX_HEIGHT: f64 = 1e6;
/// A place nearer to a grid point than this part of a cell is that point's.
const SAME_POINT: f64 = 1e-6;

/// Reads a `<heightfield>`; a data file it names is added to `sources`.
pub(super) fn read(reading: &Reading, node: &Node, sources: &mut Vec<SourceFile>) -> Option<Heightfield> {
    let mut dem = match reading.attribute_text(node, "file") {
        Some(file) => from_file(reading, node, file, sources)?,
        None => from_element(reading, node)?,
    };
    for (name, found) in [("rows", dem.points_x), ("columns", dem.points_z)] {
        if let Some(said) = reading.attribute_whole(node, name).filter(|&said| said != found as i64) {
            reading
                .problem(reading.attribute_offset(node, name), format!("{name} is {said}, but the data hold {found}"));
            return None;
        }
    }
    if let Some(value) = reading.attribute_real(node, "noData") {
        dem.without(value);
    }
    let extents = [
        extent(reading, node, "width", dem.points_x, dem.spacing.map(|[along_x, _]| along_x)),
        extent(reading, node, "depth", dem.points_z, dem.spacing.map(|[_, along_z]| along_z)),
    ];
    let [width, depth] = [extents[0]?, extents[1]?];
    let x = kept_range(reading, node, ["firstX", "lastX", "fromX", "toX"], dem.points_x, width)?;
    let z = kept_range(reading, node, ["firstZ", "lastZ", "fromZ", "toZ"], dem.points_z, depth)?;
    let part = |extent: f64, [first, last]: [usize; 2], points: usize| match last - first + 1 {
        all if all == points => extent,
        some => extent * (some - 1) as f64 / (points - 1) as f64,
    };
    let (width, depth) = (part(width, x, dem.points_x), part(depth, z, dem.points_z));
    let mut dem = dem.cropped(x, z);
    scale(reading, node, &mut dem, [x[0], z[0]])?;
    let field = Heightfield {
        points_x: dem.points_x,
        points_z: dem.points_z,
        width,
        depth,
        heights: dem.heights.into(),
        pose: read_pose(reading, node)?,
        material: read_material(reading, node)?,
    };
    resampled(reading, node, field)
}

fn from_file(reading: &Reading, node: &Node, file: &str, sources: &mut Vec<SourceFile>) -> Option<Dem> {
    let place = reading.attribute_offset(node, "file");
    if !node.text.trim().is_empty() {
        reading.problem(node.text_offset, "the heights stand both here and in a file; leave one out");
        return None;
    }
    let path = reading.files.beside(reading.path, file, "worlds");
    let kept: usize = sources.iter().map(|source| source.bytes().len()).sum();
    let bytes = reading.files.read_bytes(&path, MAX_HEIGHTS_FILE.min(MAX_ALL_DATA.saturating_sub(kept)));
    let unusable =
        |problem: Diagnostic| reading.problem(place, format!("the data file cannot be used: {}", problem.message));
    let source = SourceFile::of_bytes(path, bytes.map_err(unusable).ok()?);
    let ending = file.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    if !dem::ENDINGS.contains(&ending.as_str()) {
        let help = format!("it takes .{}", dem::ENDINGS.join(", ."));
        reading.problem_with_help(place, format!("'{file}' is no known kind of data file"), help);
        return None;
    }
    let read = Dem::read(&source.path, source.bytes());
    let read = read.map_err(|problem| reading.push(problem.in_file(&source.path, source.bytes())));
    if !sources.contains(&source) {
        sources.push(source);
    }
    read.ok()
}

/// The heights in the element: one line for each x, or with numbers of rows and columns in any lines.
fn from_element(reading: &Reading, node: &Node) -> Option<Dem> {
    let (points_x, points_z, heights) =
        match (reading.attribute_whole(node, "rows"), reading.attribute_whole(node, "columns")) {
            (Some(rows), Some(columns)) => {
                let (values, wanted) = (reading.numbers(node)?, rows * columns);
                if values.len() as i64 != wanted {
                    let message =
                        format!("{rows} rows and {columns} columns make {wanted} heights, got {}", values.len());
                    reading.problem(node.offset, message);
                    return None;
                }
                (rows as usize, columns as usize, values)
            }
            _ => from_lines(reading, node)?,
        };
    if points_x < 2 || points_z < 2 {
        let message = format!("a terrain has at least 2 x 2 heights, this one {points_x} x {points_z}");
        reading.problem(node.text_offset, message);
        return None;
    }
    Some(Dem { points_x, points_z, spacing: None, white: None, heights })
}

fn from_lines(reading: &Reading, node: &Node) -> Option<(usize, usize, Vec<f64>)> {
    let (mut rows, mut columns, mut values) = (0, 0, Vec::new());
    let mut offset = node.text_offset;
    for line in node.text.trim().split_inclusive('\n') {
        let row = read_numbers(line, MAX_POINTS - values.len());
        let row = row.map_err(|(at, problem)| reading.problem(offset + at, problem)).ok()?;
        if !row.is_empty() {
            if rows > 0 && row.len() != columns {
                reading.problem(offset, format!("this row holds {} heights, the first one {columns}", row.len()));
                return None;
            }
            (rows, columns) = (rows + 1, row.len());
            values.extend(row);
        }
        offset += line.len();
    }
    Some((rows, columns, values))
}

/// The extent of all data along one side, metres: as given, or that of the data.
fn extent(reading: &Reading, node: &Node, name: &str, points: usize, spacing: Option<f64>) -> Option<f64> {
    let given = reading.attribute_real(node, name);
    let extent = given.or_else(|| spacing.map(|spacing| spacing * (points - 1) as f64));
    if extent.is_none() && !is_given(node, name) {
        reading.problem(node.offset, format!("<heightfield> lacks the attribute '{name}'"));
    }
    extent
}

/// The first and the last kept grid point along one side, by their numbers or by their distances from the first one.
fn kept_range(reading: &Reading, node: &Node, names: [&str; 4], points: usize, extent: f64) -> Option<[usize; 2]> {
    let [first, last, from, to] = names;
    if let (Some(number), Some(length)) =
        ([first, last].iter().find(|name| is_given(node, name)), [from, to].iter().find(|name| is_given(node, name)))
    {
        let message = format!("{number} and {length} both say where to cut; leave one out");
        reading.problem(reading.attribute_offset(node, length), message);
        return None;
    }
    // A distance that is a grid point's but for rounding means that point.
    let cells = |name: &str| reading.attribute_real(node, name).map(|length| length / extent * (points - 1) as f64);
    let number = |name: &str| reading.attribute_whole(node, name).map(|number| number as f64);
    let begin = number(first).or_else(|| cells(from).map(|cells| (cells - SAME_POINT).ceil())).unwrap_or(0.0).max(0.0);
    let end = number(last).or_else(|| cells(to).map(|cells| (cells + SAME_POINT).floor()));
    let end = end.unwrap_or(f64::INFINITY).min((points - 1) as f64);
    if end - begin < 1.0 {
        let message =
            format!("of {points} grid points fewer than two are left between {first} or {from} and {last} or {to}");
        reading.problem(node.offset, message);
        return None;
    }
    Some([begin as usize, end as usize])
}

/// The factor on the heights: as given, or from the height of white.
fn factor(reading: &Reading, node: &Node, dem: &Dem) -> Option<f64> {
    match (reading.attribute_real(node, "white"), dem.white) {
        (Some(_), _) if is_given(node, "scale") => {
            reading.problem(
                reading.attribute_offset(node, "white"),
                "white and scale both say how high the levels are; leave one out",
            );
            None
        }
        (Some(height), Some(level)) => Some(height / level),
        (Some(_), None) => {
            reading.problem(
                reading.attribute_offset(node, "white"),
                "only the levels of a PNG file have a white; give scale instead",
            );
            None
        }
        (None, Some(level)) if !is_given(node, "scale") => {
            let what = format!("a level of grey counts as 1 m, so white is {level} m high");
            reading.warn(node.offset, what, "white=\"HEIGHT\" is the height of white in metres".into());
            Some(1.0)
        }
        (None, _) => Some(reading.attribute_real(node, "scale").unwrap_or(1.0)),
    }
}

/// Applies scale and offset to the heights, of which the first is that of these numbers in the file.
fn scale(reading: &Reading, node: &Node, dem: &mut Dem, first: [usize; 2]) -> Option<()> {
    let (scale, offset) = (factor(reading, node, dem)?, reading.attribute_real(node, "offset")?);
    for (index, height) in dem.heights.iter_mut().enumerate().filter(|(_, height)| !height.is_nan()) {
        let scaled = *height * scale + offset;
        // The comparison also rejects NaN.
        if !(-MAX_HEIGHT..=MAX_HEIGHT).contains(&scaled) {
            let (row, column) = (first[0] + index / dem.points_z + 1, first[1] + index % dem.points_z + 1);
            let message = format!(
                "the height at row {row}, column {column} is {height:e} x {scale:e} + {offset:e} m; heights are from {:e} to {MAX_HEIGHT:e} m",
                -MAX_HEIGHT
            );
            reading.problem(node.offset, message);
            return None;
        }
        *height = scaled;
    }
    Some(())
}

fn read_pose(reading: &Reading, node: &Node) -> Option<Pose> {
    let (x, y, z) =
        (reading.attribute_real(node, "x")?, reading.attribute_real(node, "y")?, reading.attribute_real(node, "z")?);
    let half = 0.5 * reading.attribute_real(node, "heading")?;
    // Clockwise as seen from above is against the right hand about y, which is up.
    let rotation = DQuat::from_xyzw(0.0, -libm::sin(half), 0.0, libm::cos(half));
    Some(Pose { translation: DVec3::new(x, y, z), rotation })
}

/// Resamples to the cell size `cell`, if given; refuses a field with too many grid points, or without any surface.
fn resampled(reading: &Reading, node: &Node, field: Heightfield) -> Option<Heightfield> {
    let sides = [(field.width, field.points_x), (field.depth, field.points_z)];
    let points = match reading.attribute_real(node, "cell") {
        Some(cell) => sides.map(|(extent, _)| (extent / cell).round().max(1.0) + 1.0),
        None => sides.map(|(_, points)| points as f64),
    };
    if points[0] * points[1] > MAX_POINTS as f64 {
        let message = format!(
            "a terrain has from 2 x 2 to {MAX_GRID_SIDE} x {MAX_GRID_SIDE} heights, this one {} x {}",
            points[0], points[1]
        );
        let help = "keep a part of it by firstX, lastX, firstZ and lastZ, or give it larger cells by cell";
        reading.problem_with_help(node.offset, message, help);
        return None;
    }
    let [points_x, points_z] = points.map(|points| points as usize);
    let fits = (points_x, points_z) == (field.points_x, field.points_z);
    let field = if fits { field } else { field.resampled(points_x, points_z) };
    if field.cells().next().is_none() {
        reading
            .problem(node.offset, "no cell of this terrain has heights at all of its corners, so there is no surface");
        return None;
    }
    Some(field)
}
