//! GeoTIFF (OGC 19-008r4): one band of integers or floats, with the spacing of its pixels.
//!
//! The reader uses the model's type and the units of length of its keys, and the no-data value, scale and offset of
//! GDAL's tags. Samples are at the pixels, so n pixels have n - 1 cells between them, whether they represent points or
//! areas.

use std::io::Cursor;

use tiff::{
    ColorType, TiffError, TiffUnsupportedError,
    decoder::{Decoder, DecodingResult, Limits},
    encoder::{TiffEncoder, colortype},
    tags::Tag,
};

use super::{
    earth::metres_per_degree,
    grid::{Dem, DemProblem, check_size, problem},
};
use crate::{
    limits::{MAX_HEIGHTS_FILE, MAX_SAMPLES},
    text::tree,
};

/// Bytes of the largest sample.
const MAX_SAMPLE_BYTES: usize = 8;
/// Keys of a GeoKeyDirectory, and their values here.
const MODEL_TYPE: u16 = 1024;
const PROJECTED_MODEL: u16 = 1;
const GEOGRAPHIC_MODEL: u16 = 2;
const LINEAR_UNITS: u16 = 3076;
const VERTICAL_UNITS: u16 = 4099;
/// Metres of the units of length by their EPSG codes: metre, international foot, US survey foot.
const LENGTH_UNITS: [(u16, f64); 3] = [(9001, 1.0), (9002, 0.3048), (9003, 1200.0 / 3937.0)];
/// GDAL's spelling of NaN, in the tag of the value without data.
const GDAL_NAN: &str = "nan";

type File<'a> = Decoder<Cursor<&'a [u8]>>;

pub(super) fn read(bytes: &[u8]) -> Result<Dem, DemProblem> {
    let mut limits = Limits::default();
    limits.decoding_buffer_size = MAX_SAMPLES * MAX_SAMPLE_BYTES;
    limits.intermediate_buffer_size = MAX_SAMPLES * MAX_SAMPLE_BYTES;
    limits.ifd_value_size = MAX_HEIGHTS_FILE;
    let mut file = Decoder::new(Cursor::new(bytes)).map_err(refuse)?.with_limits(limits);
    let (columns, rows) = file.dimensions().map_err(refuse)?;
    let (columns, rows) = (columns as usize, rows as usize);
    check_size(columns, rows)?;
    let color = file.colortype().map_err(refuse)?;
    if !matches!(color, ColorType::Gray(_)) {
        let message = format!("heights are a single band, not {color:?}; take one out with gdal_translate -b 1");
        return Err(problem(0, message));
    }
    let keys = keys(&mut file)?;
    let spacing = spacing(&mut file, &keys, rows)?;
    let nothing = read_text_tag(&mut file, Tag::GdalNodata)?.and_then(|text| text.trim().parse::<f64>().ok());
    let [scale, offset] = band_scale(&mut file)?;
    let metres = unit(&keys, VERTICAL_UNITS).unwrap_or(1.0);
    let samples = file.read_image().map_err(refuse)?;
    let (mut raster, nothing) = numbers(samples, nothing);
    if raster.len() != columns * rows {
        return Err(problem(0, format!("the file holds {} samples of {columns} x {rows}", raster.len())));
    }
    for sample in &mut raster {
        *sample = if Some(*sample) == nothing { f64::NAN } else { (*sample * scale + offset) * metres };
    }
    Ok(Dem::from_raster(columns, rows, spacing, &raster))
}

fn refuse(error: TiffError) -> DemProblem {
    let help = match &error {
        TiffError::UnsupportedError(TiffUnsupportedError::UnsupportedCompressionMethod(_)) => {
            "; `gdal_translate -co COMPRESS=DEFLATE FILE.tif OTHER.tif` stores it with a compression that is read"
        }
        _ => "",
    };
    problem(0, format!("the TIFF file cannot be read: {error}{help}"))
}

/// The samples, and the value without data as a sample has it.
fn numbers(samples: DecodingResult, nothing: Option<f64>) -> (Vec<f64>, Option<f64>) {
    fn all<T: Copy>(samples: &[T], as_f64: impl Fn(T) -> f64) -> Vec<f64> {
        samples.iter().map(|sample| as_f64(*sample)).collect()
    }
    match samples {
        DecodingResult::U8(samples) => (all(&samples, f64::from), nothing),
        DecodingResult::U16(samples) => (all(&samples, f64::from), nothing),
        DecodingResult::U32(samples) => (all(&samples, f64::from), nothing),
        DecodingResult::U64(samples) => (all(&samples, |sample| sample as f64), nothing),
        DecodingResult::I8(samples) => (all(&samples, f64::from), nothing),
        DecodingResult::I16(samples) => (all(&samples, f64::from), nothing),
        DecodingResult::I32(samples) => (all(&samples, f64::from), nothing),
        DecodingResult::I64(samples) => (all(&samples, |sample| sample as f64), nothing),
        DecodingResult::F16(samples) => (all(&samples, |sample| f64::from(sample.to_f32())), nothing),
        // Written with the digits of a double, it is meant in single precision.
        DecodingResult::F32(samples) => (all(&samples, f64::from), nothing.map(|nothing| f64::from(nothing as f32))),
        DecodingResult::F64(samples) => (samples, nothing),
    }
}

/// The short values of the file's keys.
fn keys(file: &mut File) -> Result<Vec<(u16, u16)>, DemProblem> {
    let Some(value) = file.find_tag(Tag::GeoKeyDirectoryTag).map_err(refuse)? else { return Ok(Vec::new()) };
    let entries = value.into_u16_vec().map_err(refuse)?;
    // A header of four numbers, then four for each key: its number, the location of its value (0 is here), the count,
    // the value.
    let keys = entries.chunks_exact(4).skip(1).filter(|entry| entry[1] == 0);
    Ok(keys.map(|entry| (entry[0], entry[3])).collect())
}

fn key(keys: &[(u16, u16)], wanted: u16) -> Option<u16> {
    keys.iter().find(|(key, _)| *key == wanted).map(|(_, value)| *value)
}

/// Metres for each unit of length.
fn unit(keys: &[(u16, u16)], wanted: u16) -> Option<f64> {
    let code = key(keys, wanted)?;
    LENGTH_UNITS.iter().find(|(known, _)| *known == code).map(|(_, metres)| *metres)
}

/// Pixel spacing in metres, if the file has it.
fn spacing(file: &mut File, keys: &[(u16, u16)], rows: usize) -> Result<Option<[f64; 2]>, DemProblem> {
    let mut reals = |tag| -> Result<Vec<f64>, DemProblem> {
        let value = file.find_tag(tag).map_err(refuse)?;
        Ok(value.map(|value| value.into_f64_vec()).transpose().map_err(refuse)?.unwrap_or_default())
    };
    let (scale, tie, matrix) =
        (reals(Tag::ModelPixelScaleTag)?, reals(Tag::ModelTiepointTag)?, reals(Tag::ModelTransformationTag)?);
    let middle_row = 0.5 * (rows - 1) as f64;
    // Along columns and rows, and the y of the middle.
    let (along, middle) = match (&scale[..], &tie[..], &matrix[..]) {
        ([x, y, ..], tie, _) => {
            let middle = tie.get(4).map(|north| north - (middle_row - tie[1]) * y);
            ([*x, *y], middle)
        }
        (_, _, [a, b, _, _, d, e, _, north, ..]) => {
            ([libm::hypot(*a, *d), libm::hypot(*b, *e)], Some(north + middle_row * e))
        }
        _ => return Ok(None),
    };
    if along.iter().any(|length| !(*length > 0.0 && length.is_finite())) {
        return Err(problem(0, format!("the distances of pixels are above 0, not {along:?}")));
    }
    Ok(match key(keys, MODEL_TYPE) {
        Some(GEOGRAPHIC_MODEL) => middle.filter(|middle| middle.abs() < 90.0).map(|middle| {
            let [across, north] = metres_per_degree(middle);
            [along[0] * across, along[1] * north]
        }),
        Some(PROJECTED_MODEL) | None => {
            let metres = unit(keys, LINEAR_UNITS).unwrap_or(1.0);
            Some(along.map(|length| length * metres))
        }
        Some(_) => None,
    })
}

fn read_text_tag(file: &mut File, tag: Tag) -> Result<Option<String>, DemProblem> {
    let value = file.find_tag(tag).map_err(refuse)?;
    // GDAL ends it with a 0.
    Ok(value.and_then(|value| value.into_string().ok()).map(|text| text.trim_end_matches('\0').to_owned()))
}

/// Scale and offset of samples, from GDAL's metadata.
fn band_scale(file: &mut File) -> Result<[f64; 2], DemProblem> {
    let mut band = [1.0, 0.0];
    let Some(text) = read_text_tag(file, Tag::Unknown(GDAL_METADATA))? else { return Ok(band) };
    // Unreadable metadata have no effect on the heights.
    let Ok(tree) = tree::parse::<()>("GDAL_METADATA", &text) else { return Ok(band) };
    for item in tree.roots.iter().flat_map(|root| &root.children).filter(|item| item.name == "Item") {
        let role = item.attributes.iter().find(|attribute| attribute.name == "role").map(|role| role.value.as_str());
        let place = ["scale", "offset"].iter().position(|name| Some(*name) == role);
        if let Some((place, number)) = place.zip(item.text.trim().parse().ok()) {
            band[place] = number;
        }
    }
    Ok(band)
}

/// GDAL's metadata as XML.
const GDAL_METADATA: u16 = 42_112;

/// 64-bit floats, so that all heights are exact; NaN marks missing data.
pub(super) fn write(dem: &Dem) -> Result<Vec<u8>, String> {
    let mut file = Cursor::new(Vec::new());
    let raster: Vec<f64> = dem.raster().collect();
    write_into(&mut file, dem, &raster).map_err(|error| format!("the TIFF file cannot be written: {error}"))?;
    Ok(file.into_inner())
}

fn write_into(file: &mut Cursor<Vec<u8>>, dem: &Dem, raster: &[f64]) -> Result<(), TiffError> {
    // A grid has at most 2^25 samples.
    let (columns, rows) = (dem.points_x as u32, dem.points_z as u32);
    let mut encoder = TiffEncoder::new(file)?;
    let mut image = encoder.new_image::<colortype::Gray64Float>(columns, rows)?;
    let tags = image.encoder();
    if let Some([dx, dz]) = dem.spacing {
        tags.write_tag(Tag::ModelPixelScaleTag, &[dx, dz, 0.0][..])?;
        tags.write_tag(Tag::ModelTiepointTag, &[0.0; 6][..])?;
        // Version 1.1.0 and two keys: a projected model, whose pixels are points.
        let keys: [u16; 12] = [1, 1, 0, 2, MODEL_TYPE, 0, 1, PROJECTED_MODEL, 1025, 0, 1, 2];
        tags.write_tag(Tag::GeoKeyDirectoryTag, &keys[..])?;
    }
    tags.write_tag(Tag::GdalNodata, GDAL_NAN)?;
    image.write_data(raster)
}
