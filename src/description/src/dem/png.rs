//! PNG: heights in grey levels, and pictures.

use std::io::Cursor;

use png::{BitDepth, ColorType, Decoder, Encoder, Limits};

use super::{Dem, DemProblem, MAX_SAMPLES, check_size, problem};

/// Memory that a picture being read may take beside its samples, bytes.
const MAX_BESIDE: usize = 64 << 20;

/// The grey levels, as they stand in the file, of lines from north to south; what is transparent is without data.
pub(super) fn read(bytes: &[u8]) -> Result<Dem, DemProblem> {
    let refuse = |error: png::DecodingError| problem(0, format!("the PNG file cannot be read: {error}"));
    let limits = Limits { bytes: 4 * MAX_SAMPLES + MAX_BESIDE };
    let mut reader = Decoder::new_with_limits(Cursor::new(bytes), limits).read_info().map_err(refuse)?;
    let info = reader.info();
    let (columns, rows) = (info.width as usize, info.height as usize);
    check_size(columns, rows)?;
    let channels = match (info.color_type, info.bit_depth) {
        (ColorType::Grayscale, BitDepth::Eight | BitDepth::Sixteen) => 1,
        (ColorType::GrayscaleAlpha, _) => 2,
        (color, depth) => {
            let message = format!("heights are grey levels of 8 or 16 bits, not {color:?} of {} bits", depth as u8);
            return Err(problem(0, message));
        }
    };
    let depth = info.bit_depth;
    let too_large = || problem(0, "the PNG file is too large for this machine");
    let mut levels = vec![0; reader.output_buffer_size().ok_or_else(too_large)?];
    reader.next_frame(&mut levels).map_err(refuse)?;
    let level = |bytes: &[u8]| match depth {
        BitDepth::Sixteen => f64::from(u16::from_be_bytes([bytes[0], bytes[1]])),
        _ => f64::from(bytes[0]),
    };
    let width = if depth == BitDepth::Sixteen { 2 } else { 1 };
    let sample = |pixel: &[u8]| match pixel.get(width..) {
        Some(alpha) if !alpha.is_empty() && level(alpha) == 0.0 => f64::NAN,
        _ => level(pixel),
    };
    let raster: Vec<f64> = levels.chunks_exact(channels * width).map(sample).collect();
    Ok(Dem::from_raster(columns, rows, None, &raster))
}

/// 16 bits, the height of each level being `level * scale + offset`; with transparency where samples are without data.
pub(super) fn write(dem: &Dem, [scale, offset]: [f64; 2]) -> Result<Vec<u8>, String> {
    let holes = dem.heights.iter().any(|height| height.is_nan());
    let mut levels = Vec::with_capacity(dem.heights.len() * if holes { 4 } else { 2 });
    for height in dem.raster() {
        // NaN becomes 0.
        levels.extend((((height - offset) / scale).round() as u16).to_be_bytes());
        if holes {
            levels.extend((if height.is_nan() { 0 } else { u16::MAX }).to_be_bytes());
        }
    }
    let color = if holes { ColorType::GrayscaleAlpha } else { ColorType::Grayscale };
    encode([dem.points_x, dem.points_z], color, BitDepth::Sixteen, &levels)
}

/// A picture of so many columns and rows, four bytes a pixel: red, green, blue and opacity.
///
/// # Errors
/// A sentence, where it cannot be written.
pub fn write_picture(size: [usize; 2], pixels: &[u8]) -> Result<Vec<u8>, String> {
    encode(size, ColorType::Rgba, BitDepth::Eight, pixels)
}

fn encode(size: [usize; 2], color: ColorType, depth: BitDepth, bytes: &[u8]) -> Result<Vec<u8>, String> {
    let [columns, rows] = size.map(|side| u32::try_from(side).unwrap_or(u32::MAX));
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, columns, rows);
    encoder.set_color(color);
    encoder.set_depth(depth);
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(bytes));
    written.map_err(|error| format!("the PNG file cannot be written: {error}"))?;
    Ok(file)
}
