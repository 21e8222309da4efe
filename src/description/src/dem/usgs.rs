//! USGS DEM in classic records (USGS, *Standards for Digital Elevation Models*, part 2, 1998): blocks of 1024
//! characters, a record A about the whole, then a record B for each profile from south to north, the profiles from west
//! to east.

use super::{
    earth::metres_per_degree,
    grid::{Dem, DemProblem, check_size, problem},
};

const BLOCK_BYTES: usize = 1024;
/// Characters of a profile's header, and of each of its elevations.
const PROFILE_HEADER: usize = 144;
const ELEVATION_CHARACTERS: usize = 6;
/// Numbers of elevations in the first block of a profile and in each further one.
const IN_FIRST: usize = 146;
const IN_FURTHER: usize = 170;
/// Elevations of missing data: those of the standard and of older files.
const VOID_ELEVATIONS: [i64; 2] = [-32_767, -32_768];
const FOOT_IN_METRES: f64 = 0.3048;

/// Fields by their columns in the standard, counted from 1.
struct Record<'a> {
    bytes: &'a [u8],
    /// Start in the file, bytes.
    start: usize,
}

impl Record<'_> {
    fn field_text(&self, first: usize, last: usize) -> Result<&str, DemProblem> {
        let field = self.bytes.get(first - 1..last).and_then(|field| std::str::from_utf8(field).ok());
        field
            .map(str::trim)
            .ok_or_else(|| problem(0, format!("the file ends within the record at byte {}", self.start)))
    }

    fn field_whole(&self, first: usize, last: usize, what: &str) -> Result<i64, DemProblem> {
        let text = self.field_text(first, last)?;
        text.parse().map_err(|_| self.field_problem(first, what, text))
    }

    /// Fortran writes exponents with a D.
    fn field_real(&self, first: usize, last: usize, what: &str) -> Result<f64, DemProblem> {
        let text = self.field_text(first, last)?;
        let number = text.replace(['D', 'd'], "E").parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| self.field_problem(first, what, text))
    }

    fn field_problem(&self, first: usize, what: &str, text: &str) -> DemProblem {
        let place = self.start + first - 1;
        problem(place, format!("expected {what} at byte {place}, got '{}'", crate::xml::shorten(text)))
    }
}

/// Record A: the header of the file.
struct Head {
    /// True if coordinates are arc seconds.
    geographic: bool,
    /// Metres for each unit of the coordinates, if they are lengths, and of the elevations.
    metres: f64,
    elevation_metres: f64,
    resolution: [f64; 3],
    profiles: usize,
}

/// A profile: its start, in the unit of the file, and its elevations from south to north, metres.
struct Profile {
    start: [f64; 2],
    heights: Vec<f64>,
}

pub(super) fn read(bytes: &[u8]) -> Result<Dem, DemProblem> {
    let head = read_head(&Record { bytes: &bytes[..bytes.len().min(BLOCK_BYTES)], start: 0 })?;
    let (mut at, mut profiles, mut samples) = (BLOCK_BYTES, Vec::new(), 0usize);
    for _ in 0..head.profiles {
        let profile = Record { bytes: bytes.get(at..).unwrap_or_default(), start: at };
        let (read, blocks) = read_profile(&profile, &head)?;
        samples += read.heights.len();
        check_size(2, samples)?;
        profiles.push(read);
        at += blocks * BLOCK_BYTES;
    }
    let starts = profiles.iter().map(|profile| profile.start[1]);
    let south = starts.fold(f64::INFINITY, f64::min);
    // Profiles of a tile in a projection begin and end at different samples.
    let offset = |profile: &Profile| ((profile.start[1] - south) / head.resolution[1]).round() as usize;
    let rows = profiles.iter().map(|profile| offset(profile).saturating_add(profile.heights.len())).max().unwrap_or(0);
    let samples = check_size(profiles.len(), rows)?;
    let mut heights = vec![f64::NAN; samples];
    for (i, profile) in profiles.iter().enumerate() {
        let from_south = offset(profile);
        for (index, &height) in profile.heights.iter().enumerate() {
            heights[i * rows + rows - 1 - from_south - index] = height;
        }
    }
    let cell = [head.resolution[0], head.resolution[1]];
    let spacing = if head.geographic {
        let middle = (south + 0.5 * (rows - 1) as f64 * cell[1]) / 3600.0;
        let [across, along] = metres_per_degree(middle);
        [across * cell[0] / 3600.0, along * cell[1] / 3600.0]
    } else {
        cell.map(|cell| cell * head.metres)
    };
    Ok(Dem { points_x: profiles.len(), points_z: rows, spacing: Some(spacing), white: None, heights })
}

fn read_head(record: &Record) -> Result<Head, DemProblem> {
    let ground = record.field_whole(529, 534, "the unit of the ground's coordinates")?;
    let heights = record.field_whole(535, 540, "the unit of the elevations")?;
    let (geographic, metres) = match ground {
        1 => (false, FOOT_IN_METRES),
        2 => (false, 1.0),
        3 => (true, 1.0),
        _ => {
            return Err(problem(
                528,
                format!("the ground's unit is 1 (feet), 2 (metres) or 3 (arc seconds), not {ground}"),
            ));
        }
    };
    let elevation_metres = match heights {
        1 => FOOT_IN_METRES,
        2 => 1.0,
        _ => return Err(problem(534, format!("the unit of elevations is 1 (feet) or 2 (metres), not {heights}"))),
    };
    let resolution = [
        record.field_real(817, 828, "the resolution along x")?,
        record.field_real(829, 840, "the resolution along y")?,
        record.field_real(841, 852, "the resolution of elevations")?,
    ];
    if resolution.iter().any(|length| *length <= 0.0) {
        return Err(problem(816, format!("resolutions are above 0, not {resolution:?}")));
    }
    let profiles = record.field_whole(859, 864, "the number of profiles")?;
    let profiles = usize::try_from(profiles).ok().filter(|profiles| *profiles >= 2);
    let profiles = profiles.ok_or_else(|| problem(858, "a grid has at least 2 profiles"))?;
    Ok(Head { geographic, metres, elevation_metres, resolution, profiles })
}

/// Reads a profile, and returns the number of its blocks.
fn read_profile(record: &Record, head: &Head) -> Result<(Profile, usize), DemProblem> {
    let count = record.field_whole(13, 18, "the number of elevations of a profile")?;
    let count = usize::try_from(count).ok().filter(|count| count * ELEVATION_CHARACTERS <= record.bytes.len());
    let count = count
        .ok_or_else(|| problem(0, format!("the profile at byte {} has more elevations than the file", record.start)))?;
    let start =
        [record.field_real(25, 48, "where a profile begins")?, record.field_real(49, 72, "where a profile begins")?];
    let datum = record.field_real(73, 96, "the datum of a profile")?;
    let blocks = 1 + count.saturating_sub(IN_FIRST).div_ceil(IN_FURTHER);
    let mut heights = Vec::with_capacity(count);
    for index in 0..count {
        let place = match index.checked_sub(IN_FIRST) {
            None => PROFILE_HEADER + index * ELEVATION_CHARACTERS,
            Some(further) => BLOCK_BYTES * (1 + further / IN_FURTHER) + further % IN_FURTHER * ELEVATION_CHARACTERS,
        };
        let value = record.field_whole(place + 1, place + ELEVATION_CHARACTERS, "an elevation")?;
        let height = (datum + value as f64 * head.resolution[2]) * head.elevation_metres;
        heights.push(if VOID_ELEVATIONS.contains(&value) { f64::NAN } else { height });
    }
    Ok((Profile { start, heights }, blocks))
}
