//! Fields of heights in files that are no text: PNG images, and MuJoCo's binary ones.

use crate::xml::MAX_GRID_SIDE;

/// The bytes that an image may take while it is decoded: four channels of 16 bits for each of the most points.
const MAX_DECODED: usize = MAX_GRID_SIDE * MAX_GRID_SIDE * 8;

/// A matrix of heights as a file has them, without a unit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Grid {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Line by line, as they stand in the file; an image from its top.
    pub(crate) values: Vec<f64>,
    /// Whether it was an image, whose first line is the one farthest away.
    pub(crate) is_image: bool,
}

impl Grid {
    /// Reads a file: an image if it begins as one does.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        const PNG: &[u8] = b"\x89PNG";
        match bytes {
            _ if bytes.starts_with(PNG) => read_png(bytes),
            [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] => {
                Err("it is a TIFF image, which is not read; save it as a PNG image".into())
            }
            [0xFF, 0xD8, 0xFF, ..] => {
                Err("it is a JPEG image, whose heights are not exact; save it as a PNG image".into())
            }
            _ => read_binary(bytes),
        }
    }

    /// The same as text: whether it was an image, rows, columns, and the numbers.
    pub(crate) fn to_text(&self) -> String {
        use std::fmt::Write;
        let mut text = format!("{} {} {}\n", u8::from(self.is_image), self.rows, self.columns);
        for line in self.values.chunks(self.columns.max(1)) {
            for value in line {
                let _ = write!(text, "{value} ");
            }
            text.push('\n');
        }
        text
    }

    /// From the text of [`to_text`](Self::to_text).
    pub(crate) fn from_text(text: &str) -> Result<Self, String> {
        let wrong = || "it does not hold as many heights as it says".to_owned();
        let mut numbers = text.split_ascii_whitespace().map(str::parse::<f64>);
        let mut next = || numbers.next().and_then(Result::ok);
        let (Some(image), Some(rows), Some(columns)) = (next(), next(), next()) else { return Err(wrong()) };
        let (rows, columns) = (rows as usize, columns as usize);
        check_sides(rows, columns)?;
        let values: Vec<f64> = numbers.map_while(Result::ok).collect();
        if values.len() != rows * columns {
            return Err(wrong());
        }
        Ok(Self { rows, columns, values, is_image: image == 1.0 })
    }
}

fn check_sides(rows: usize, columns: usize) -> Result<(), String> {
    let sides = 2..=MAX_GRID_SIDE;
    if sides.contains(&rows) && sides.contains(&columns) {
        return Ok(());
    }
    Err(format!("a terrain has from 2 x 2 to {MAX_GRID_SIDE} x {MAX_GRID_SIDE} heights, this one {rows} x {columns}"))
}

/// The first channel of an image, in its 8 or 16 bits.
fn read_png(bytes: &[u8]) -> Result<Grid, String> {
    let limits = png::Limits { bytes: MAX_DECODED };
    let mut decoder = png::Decoder::new_with_limits(std::io::Cursor::new(bytes), limits);
    decoder.set_transformations(png::Transformations::EXPAND);
    let wrong = |error: png::DecodingError| format!("it is no PNG image that can be read: {error}");
    let mut reader = decoder.read_info().map_err(wrong)?;
    let (rows, columns) = (reader.info().height as usize, reader.info().width as usize);
    check_sides(rows, columns)?;
    let size = reader.output_buffer_size().filter(|size| *size <= MAX_DECODED);
    let mut pixels = vec![0; size.ok_or("it is too large an image")?];
    let info = reader.next_frame(&mut pixels).map_err(wrong)?;
    let samples = info.color_type.samples();
    let values: Vec<f64> = match info.bit_depth {
        png::BitDepth::Sixteen => {
            pixels.chunks_exact(2 * samples).map(|pixel| f64::from(u16::from_be_bytes([pixel[0], pixel[1]]))).collect()
        }
        _ => pixels.chunks_exact(samples).map(|pixel| f64::from(pixel[0])).collect(),
    };
    if values.len() != rows * columns {
        return Err("the image ends before its last pixel".into());
    }
    Ok(Grid { rows, columns, values, is_image: true })
}

/// MuJoCo's own format, little-endian: rows and columns as 32-bit integers, then the heights as 32-bit floats.
fn read_binary(bytes: &[u8]) -> Result<Grid, String> {
    let (head, rest) = bytes.split_first_chunk::<8>().ok_or("it is neither an image nor one of MuJoCo's files")?;
    let [rows, columns] = [0, 4].map(|at| i32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
    let [rows, columns] = [rows, columns].map(|side| usize::try_from(side).unwrap_or(0));
    check_sides(rows, columns).map_err(|what| format!("it is neither an image nor one of MuJoCo's files: {what}"))?;
    if rest.len() != 4 * rows * columns {
        return Err(format!("it holds {} bytes for {rows} x {columns} heights of four bytes each", rest.len()));
    }
    let values: Vec<f64> = rest
        .chunks_exact(4)
        .map(|number| f64::from(f32::from_le_bytes([number[0], number[1], number[2], number[3]])))
        .collect();
    match values.iter().position(|value| !value.is_finite()) {
        Some(place) => Err(format!("the height {} of the file is no finite number", place + 1)),
        None => Ok(Grid { rows, columns, values, is_image: false }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png_of(depth: png::BitDepth, [columns, rows]: [u32; 2], pixels: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, columns, rows);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_depth(depth);
        encoder.write_header().unwrap().write_image_data(pixels).unwrap();
        bytes
    }

    #[test]
    fn images_keep_their_bits() {
        let grid = Grid::read(&png_of(png::BitDepth::Eight, [3, 2], &[0, 1, 2, 253, 254, 255])).unwrap();
        assert_eq!((grid.rows, grid.columns, grid.is_image), (2, 3, true));
        assert_eq!(grid.values, [0.0, 1.0, 2.0, 253.0, 254.0, 255.0]);
        let grid = Grid::read(&png_of(png::BitDepth::Sixteen, [2, 2], &[0, 0, 0, 1, 1, 0, 255, 255])).unwrap();
        assert_eq!(grid.values, [0.0, 1.0, 256.0, 65535.0]);
        assert_eq!(Grid::from_text(&grid.to_text()).unwrap(), grid);
    }

    #[test]
    fn binary_files_of_mujoco_keep_their_numbers() {
        let mut bytes: Vec<u8> = [2i32, 3].into_iter().flat_map(i32::to_le_bytes).collect();
        bytes.extend([0.5f32, -1.0, 2.0, 0.1, 3.0, 4.0].into_iter().flat_map(f32::to_le_bytes));
        let grid = Grid::read(&bytes).unwrap();
        assert_eq!((grid.rows, grid.columns, grid.is_image), (2, 3, false));
        assert_eq!(grid.values[3], f64::from(0.1f32));
        assert_eq!(Grid::from_text(&grid.to_text()).unwrap(), grid);
        assert!(Grid::read(&bytes[..bytes.len() - 1]).unwrap_err().contains("2 x 3 heights of four bytes"));
    }

    /// An image whose header promises more than a terrain holds takes no memory.
    #[test]
    fn images_are_bounded() {
        let mut bytes = png_of(png::BitDepth::Eight, [2, 2], &[0; 4]);
        bytes[16..20].copy_from_slice(&60_000u32.to_be_bytes());
        // The header's checksum is wrong then; either complaint will do, and no memory is taken.
        assert!(Grid::read(&bytes).is_err());
        assert!(Grid::read(&png_of(png::BitDepth::Eight, [5000, 2], &vec![0; 10_000])).unwrap_err().contains("4096"));
        assert!(Grid::read(b"II\x2a\x00").unwrap_err().contains("PNG"));
        assert!(Grid::read(b"").is_err());
    }
}
