//! PNG: heights in grey levels, which may be stored as colours, and pictures.

use std::io::Cursor;

use png::{BitDepth, ColorType, Decoder, Encoder, Limits, Transformations};

use super::grid::{Dem, DemProblem, check_size, problem};
use crate::limits::MAX_SAMPLES;

/// Largest memory for decoding a picture in addition to its samples, bytes.
const MAX_BESIDE: usize = 64 << 20;

/// Reads the grey levels as stored, with rows from north to south; transparent pixels are missing samples.
pub(super) fn read(bytes: &[u8]) -> Result<Dem, DemProblem> {
    let refuse = |error: png::DecodingError| problem(0, format!("the PNG file cannot be read: {error}"));
    let limits = Limits { bytes: 4 * MAX_SAMPLES + MAX_BESIDE };
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), limits);
    // Colours of a palette as such, and opacity as a channel.
    decoder.set_transformations(Transformations::EXPAND);
    let mut reader = decoder.read_info().map_err(refuse)?;
    let info = reader.info();
    let (columns, rows, stored) = (info.width as usize, info.height as usize, (info.color_type, info.bit_depth));
    check_size(columns, rows)?;
    if stored.0 == ColorType::Grayscale && !matches!(stored.1, BitDepth::Eight | BitDepth::Sixteen) {
        return Err(problem(0, format!("heights are grey levels of 8 or 16 bits, not of {}", stored.1 as u8)));
    }
    let (color, depth) = reader.output_color_type();
    let (greys, channels) = match color {
        ColorType::Grayscale | ColorType::GrayscaleAlpha => (1, color.samples()),
        _ => (3, color.samples()),
    };
    let too_large = || problem(0, "the PNG file is too large for this machine");
    let mut levels = vec![0; reader.output_buffer_size().ok_or_else(too_large)?];
    reader.next_frame(&mut levels).map_err(refuse)?;
    let level = |bytes: &[u8]| match depth {
        BitDepth::Sixteen => f64::from(u16::from_be_bytes([bytes[0], bytes[1]])),
        _ => f64::from(bytes[0]),
    };
    let width = if depth == BitDepth::Sixteen { 2 } else { 1 };
    let is_grey = |pixel: &[u8]| pixel[..greys * width].chunks_exact(width).all(|channel| *channel == pixel[..width]);
    if let Some(place) = levels.chunks_exact(channels * width).position(|pixel| !is_grey(pixel)) {
        let (x, y) = (place % columns, place / columns);
        return Err(problem(
            0,
            format!("heights are grey levels, and the pixel {x}, {y} has a colour; save the image in grey"),
        ));
    }
    let sample = |pixel: &[u8]| match pixel.get(greys * width..) {
        Some(alpha) if !alpha.is_empty() && level(alpha) == 0.0 => f64::NAN,
        _ => level(pixel),
    };
    let raster: Vec<f64> = levels.chunks_exact(channels * width).map(sample).collect();
    let white = if depth == BitDepth::Sixteen { u16::MAX.into() } else { u8::MAX.into() };
    Ok(Dem { white: Some(white), ..Dem::from_raster(columns, rows, None, &raster) })
}

/// Writes 16 bits, with the height `level * scale + offset`, and with transparency for missing samples.
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

/// Writes a picture with this number of columns and rows, four bytes a pixel: red, green, blue and opacity.
///
/// # Errors
/// A sentence, if it cannot be written.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grey_levels_may_be_stored_as_colours() {
        let levels = |color, pixels: &[u8]| read(&encode([2, 2], color, BitDepth::Eight, pixels).unwrap());
        let grey = levels(ColorType::Grayscale, &[7, 8, 9, 200]).unwrap();
        assert_eq!(levels(ColorType::Rgb, &[7, 7, 7, 8, 8, 8, 9, 9, 9, 200, 200, 200]), Ok(grey.clone()));
        let with_hole = levels(ColorType::Rgba, &[7, 7, 7, 1, 8, 8, 8, 255, 9, 9, 9, 255, 200, 200, 200, 0]).unwrap();
        assert_eq!((with_hole.heights[0], with_hole.heights[3].is_nan()), (grey.heights[0], true));
        let coloured = levels(ColorType::Rgb, &[7, 7, 7, 8, 8, 8, 9, 9, 8, 200, 200, 200]).unwrap_err();
        assert!(coloured.what.contains("the pixel 0, 1 has a colour"), "{}", coloured.what);
    }
}
