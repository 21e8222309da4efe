//! Images as JPEG files, for videos in browsers and for messages of ROS and MCAP.

use jpeg_encoder::{ColorType, Encoder, EncodingError};

use crate::image::{ColorImage, Image};

/// Quality of the files, 1 to 100: that of common cameras, 1 to 2 bits for each pixel.
const JPEG_QUALITY: u8 = 90;

/// A colour image as JPEG.
///
/// # Errors
/// A sentence: a side is longer than 65,535 pixels.
pub fn color_jpeg(image: &ColorImage) -> Result<Vec<u8>, String> {
    encode_jpeg([image.width, image.height], image.pixels.as_flattened(), ColorType::Rgb)
}

/// An image of grey bytes as JPEG.
///
/// # Errors
/// As of [`color_jpeg`].
pub fn grey_jpeg(image: &Image<u8>) -> Result<Vec<u8>, String> {
    encode_jpeg([image.width, image.height], &image.pixels, ColorType::Luma)
}

fn encode_jpeg(size: [usize; 2], bytes: &[u8], color: ColorType) -> Result<Vec<u8>, String> {
    let refuse = |error: EncodingError| format!("the JPEG file cannot be written: {error}");
    let [width, height] = size.map(|side| u16::try_from(side).unwrap_or_default());
    let mut file = Vec::new();
    Encoder::new(&mut file, JPEG_QUALITY).encode(bytes, width, height, color).map_err(refuse)?;
    Ok(file)
}
