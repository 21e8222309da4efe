//! Images as PNG files.

use png::{BitDepth, ColorType, Compression, Encoder};

use crate::{
    image::{ColorImage, DepthImage, Image, SegmentationImage},
    shape::Owner,
};

/// Largest depth of a file with millimetres in 16 bits, mm; the last number is for what is beyond.
const MAX_MILLIMETRES: f32 = 65_534.0;

/// A colour image as PNG, 8 bits of red, green and blue.
///
/// # Errors
/// A sentence, if it cannot be written.
pub fn color_png(image: &ColorImage) -> Result<Vec<u8>, String> {
    encode_png([image.width, image.height], ColorType::Rgb, BitDepth::Eight, image.pixels.as_flattened())
}

/// An image of grey bytes as PNG.
///
/// # Errors
/// A sentence, if it cannot be written.
pub fn grey_png(image: &Image<u8>) -> Result<Vec<u8>, String> {
    encode_png([image.width, image.height], ColorType::Grayscale, BitDepth::Eight, &image.pixels)
}

/// A depth image as PNG: 16 bits of grey with whole millimetres. What is too near is 0; what is too far, or farther
/// than 65.534 m, is 65535.
///
/// # Errors
/// A sentence, if it cannot be written.
pub fn depth_png(image: &DepthImage) -> Result<Vec<u8>, String> {
    let level = |depth: f32| {
        let millimetres = (1000.0 * depth).round();
        if millimetres > MAX_MILLIMETRES { u16::MAX } else { millimetres.max(0.0) as u16 }
    };
    let bytes: Vec<u8> = image.pixels.iter().flat_map(|depth| level(*depth).to_be_bytes()).collect();
    encode_png([image.width, image.height], ColorType::Grayscale, BitDepth::Sixteen, &bytes)
}

/// A segmentation image as PNG in the colours of [`owner_color`].
///
/// # Errors
/// A sentence, if it cannot be written.
pub fn segmentation_png(image: &SegmentationImage) -> Result<Vec<u8>, String> {
    let bytes: Vec<u8> = image.pixels.iter().flat_map(|owner| owner_color(*owner)).collect();
    encode_png([image.width, image.height], ColorType::Rgb, BitDepth::Eight, &bytes)
}

/// The colour of an owner in segmentation images, red, green and blue: black is the sky, grounds are greys, and no two
/// of 2^23 bodies have the same.
pub fn owner_color(owner: Option<Owner>) -> [u8; 3] {
    match owner {
        None => [0; 3],
        // Greys from the light end on; after 64 grounds they repeat.
        Some(Owner::Ground(number)) => [255 - 2 * (number % 64) as u8; 3],
        Some(Owner::Body(id)) => {
            // An odd factor permutes numbers of 23 bits, and spreads neighbours over all colours. The last bit of blue
            // differs from that of red, so that none is grey.
            let mixed = (id.index() as u32 + 1).wrapping_mul(0x5A_3C_97) & 0x7F_FF_FF;
            let (red, green) = ((mixed >> 15) as u8, (mixed >> 7) as u8);
            [red, green, (mixed as u8) << 1 | (red & 1 ^ 1)]
        }
    }
}

fn encode_png(size: [usize; 2], color: ColorType, depth: BitDepth, bytes: &[u8]) -> Result<Vec<u8>, String> {
    let [columns, rows] = size.map(|side| u32::try_from(side).unwrap_or(u32::MAX));
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, columns, rows);
    encoder.set_color(color);
    encoder.set_depth(depth);
    encoder.set_compression(Compression::Fast);
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(bytes));
    written.map_err(|error| format!("the PNG file cannot be written: {error}"))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use simpartner_model::BodyId;

    use super::*;

    #[test]
    fn bodies_have_colours_of_their_own_and_none_is_grey() {
        let colors: Vec<[u8; 3]> =
            (0..100_000).map(|number| owner_color(Some(Owner::Body(BodyId::new(number))))).collect();
        assert_eq!(colors.iter().collect::<BTreeSet<_>>().len(), colors.len());
        assert!(colors.iter().all(|[red, _, blue]| red != blue));
    }

    #[test]
    fn depths_are_whole_millimetres() {
        let pixels = vec![f32::NEG_INFINITY, 0.001_4, 1.2346, 65.534, 65.6, f32::INFINITY];
        let file = depth_png(&Image { width: 3, height: 2, pixels }).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut bytes).unwrap();
        let levels: Vec<u16> = bytes.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
        assert_eq!(levels, [0, 1, 1235, 65_534, u16::MAX, u16::MAX]);
    }
}
