//! Images of textures: PNG and JPEG files, and patterns without a file. All sizes are bounded before memory is taken.

use std::io::Cursor;

use png::{ColorType, Decoder, Limits, Transformations};
use simpartner_model::{Color, Texture};
use zune_jpeg::{
    JpegDecoder,
    zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions},
};

use crate::limits::{MAX_TEXTURE_PIXELS, MAX_TEXTURE_SIDE};

/// The endings of the names of files that are read.
const IMAGE_ENDINGS: [&str; 3] = ["png", "jpg", "jpeg"];
/// Why another file is not.
pub(crate) const ENDINGS_HELP: &str = "images are PNG and JPEG files, whose names end with .png, .jpg or .jpeg";
/// Memory of the decoder of PNG in addition to the pixels, bytes.
const MAX_BESIDE: usize = 16 << 20;
/// Pixels along a side of a checker pattern, whose edges are as sharp as its pixels are small, and of a gradient.
const CHECKER_SIDE: usize = 128;
const GRADIENT_ROWS: usize = 256;

/// Use of the opacity of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AlphaRule {
    /// The image is opaque, whatever its opacity.
    #[default]
    Opaque,
    /// Opaque from this opacity on, invisible below.
    Cutoff(u8),
    /// As the image says.
    Blend,
}

/// True if the name has the ending of an image file.
pub(crate) fn has_image_ending(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, ending)| IMAGE_ENDINGS.contains(&ending.to_ascii_lowercase().as_str()))
}

/// Decodes an image file. Its first bytes determine the format.
///
/// # Errors
/// The fault, as the end of a sentence.
pub(crate) fn decode_image(bytes: &[u8], rule: AlphaRule) -> Result<Texture, String> {
    let ([width, height], mut pixels) = match bytes {
        [0x89, b'P', b'N', b'G', ..] => decode_png(bytes)?,
        [0xff, 0xd8, ..] => decode_jpeg(bytes)?,
        _ => return Err("it is neither a PNG nor a JPEG file".into()),
    };
    for pixel in &mut pixels {
        pixel[3] = match rule {
            AlphaRule::Opaque => u8::MAX,
            AlphaRule::Cutoff(least) if pixel[3] >= least => u8::MAX,
            AlphaRule::Cutoff(_) => 0,
            AlphaRule::Blend => pixel[3],
        };
    }
    Texture::new(width, height, pixels).ok_or_else(|| "it has no pixels".into())
}

fn check_size(width: usize, height: usize) -> Result<(), String> {
    let is_small = width.max(height) <= MAX_TEXTURE_SIDE && width.saturating_mul(height) <= MAX_TEXTURE_PIXELS;
    if width.min(height) > 0 && is_small {
        return Ok(());
    }
    Err(format!("it has {width} x {height} pixels, and at most {MAX_TEXTURE_SIDE} x {MAX_TEXTURE_SIDE} are read"))
}

fn decode_png(bytes: &[u8]) -> Result<([usize; 2], Vec<[u8; 4]>), String> {
    let refuse = |error: png::DecodingError| format!("the PNG file cannot be read: {error}");
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), Limits { bytes: MAX_BESIDE });
    // Palettes as colours, opacity as a channel, bytes.
    decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
    let header = decoder.read_header_info().map_err(refuse)?;
    check_size(header.width as usize, header.height as usize)?;
    let mut reader = decoder.read_info().map_err(refuse)?;
    let (width, height) = (reader.info().width as usize, reader.info().height as usize);
    let size = reader.output_buffer_size().ok_or("the PNG file is too large for this machine")?;
    let mut levels = vec![0; size];
    reader.next_frame(&mut levels).map_err(refuse)?;
    let pixels: Vec<[u8; 4]> = match reader.output_color_type().0 {
        ColorType::Grayscale => levels.iter().map(|&grey| [grey, grey, grey, u8::MAX]).collect(),
        ColorType::GrayscaleAlpha => levels.chunks_exact(2).map(|pair| [pair[0], pair[0], pair[0], pair[1]]).collect(),
        ColorType::Rgb => levels.chunks_exact(3).map(|rgb| [rgb[0], rgb[1], rgb[2], u8::MAX]).collect(),
        ColorType::Rgba => levels.chunks_exact(4).map(|all| [all[0], all[1], all[2], all[3]]).collect(),
        ColorType::Indexed => return Err("the PNG file has a palette that cannot be read".into()),
    };
    Ok(([width, height], pixels))
}

fn decode_jpeg(bytes: &[u8]) -> Result<([usize; 2], Vec<[u8; 4]>), String> {
    let refuse = |error: zune_jpeg::errors::DecodeErrors| {
        let text: String = error.to_string().chars().filter(|c| !c.is_control()).take(200).collect();
        format!("the JPEG file cannot be read: {text}")
    };
    let options = DecoderOptions::default()
        .set_max_width(MAX_TEXTURE_SIDE)
        .set_max_height(MAX_TEXTURE_SIDE)
        .set_strict_mode(false)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(refuse)?;
    let (width, height) = decoder.dimensions().ok_or("the JPEG file has no size")?;
    check_size(width, height)?;
    let levels = decoder.decode().map_err(refuse)?;
    let pixels = match decoder.output_colorspace() {
        Some(ColorSpace::Luma) => levels.iter().map(|&grey| [grey, grey, grey, u8::MAX]).collect(),
        _ => levels.chunks_exact(3).map(|rgb| [rgb[0], rgb[1], rgb[2], u8::MAX]).collect(),
    };
    Ok(([width, height], pixels))
}

/// A pattern by its description: `checker #rrggbb #rrggbb`, or `gradient #rrggbb #rrggbb` from top to bottom. `None`
/// for any other text, which is the path of a file.
pub(crate) fn pattern_of(text: &str) -> Option<Texture> {
    let mut words = text.split_ascii_whitespace();
    let kind = words.next()?;
    let first: Color = words.next()?.parse().ok()?;
    let second: Color = words.next()?.parse().ok()?;
    let [first, second] = [first, second].map(|color| [color.red, color.green, color.blue, color.alpha]);
    let (width, height, pixels) = match (kind, words.next()) {
        ("checker", None) => {
            let half = |place: usize| 2 * place / CHECKER_SIDE;
            let square = |place: usize| half(place / CHECKER_SIDE) == half(place % CHECKER_SIDE);
            let pixel = |place: usize| if square(place) { first } else { second };
            (CHECKER_SIDE, CHECKER_SIDE, (0..CHECKER_SIDE * CHECKER_SIDE).map(pixel).collect())
        }
        ("gradient", None) => {
            let mix = |row: usize, channel: usize| {
                let (one, other) = (usize::from(first[channel]), usize::from(second[channel]));
                let whole = GRADIENT_ROWS - 1;
                ((one * (whole - row) + other * row + whole / 2) / whole) as u8
            };
            let pixel = |row: usize| [0, 1, 2, 3].map(|channel| mix(row, channel));
            (1, GRADIENT_ROWS, (0..GRADIENT_ROWS).map(pixel).collect())
        }
        _ => return None,
    };
    Texture::new(width, height, pixels)
}
