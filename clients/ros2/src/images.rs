//! Images of cameras: how they come from the server, and the messages that they become.

use anyhow::{Context, Result, bail, ensure};
use simpartner_wire::{
    protocol::excerpt,
    signal::{CameraOptics, Encoding, Lens},
};

use crate::{
    link::Reader,
    messages::{CameraInfo, CompressedImage, Header, Image, PointCloud2, Time},
    sensors::{FLOAT32_SIZE, point_field},
};

/// The images that a camera took in a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// Simulated time of the step, s.
    pub time: f64,
    /// Number of images that the server left out before.
    pub dropped: u64,
    /// An image for each encoding of the camera.
    pub images: Vec<Pixels>,
}

/// An image, as bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Pixels {
    /// Its encoding.
    pub encoding: Encoding,
    /// Number of columns.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
    /// Its pixels, or a PNG file.
    pub bytes: Vec<u8>,
}

/// Form in which images come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The bytes of the pixels.
    Raw,
    /// PNG files in base64.
    File,
}

/// Reads the next images of a camera; `count` is how many it takes in a step.
///
/// # Errors
/// The server refuses, or the connection breaks.
pub async fn read_frame(reader: &mut Reader, count: usize, form: Form) -> Result<Frame> {
    let mut frame = Frame { time: 0.0, dropped: 0, images: Vec::new() };
    while frame.images.len() < count {
        let line = reader.line().await?;
        let expected = || format!("expected the F line of an image, got '{}'", excerpt(&line));
        let words: Vec<&str> = line.split(' ').collect();
        let ["F", _, time, width, height, encoding, bytes, rest @ ..] = &words[..] else { bail!(expected()) };
        let encoding = encoding_named(encoding).with_context(expected)?;
        let [width, height]: [u32; 2] = [width.parse()?, height.parse()?];
        let bytes: usize = bytes.parse()?;
        frame.time = time.parse()?;
        frame.dropped = rest.iter().find_map(|word| word.strip_prefix("dropped=")?.parse().ok()).unwrap_or(0);
        let bytes = match form {
            Form::Raw => {
                let area = u64::from(width) * u64::from(height);
                ensure!(bytes as u64 == area * encoding.pixel_bytes() as u64, expected());
                reader.bytes(bytes).await?
            }
            Form::File => decode_base64(&reader.line().await?).context("an image is not base64")?,
        };
        frame.images.push(Pixels { encoding, width, height, bytes });
    }
    Ok(frame)
}

fn encoding_named(name: &str) -> Option<Encoding> {
    let all = [Encoding::Rgb8, Encoding::Mono8, Encoding::Depth, Encoding::Segmentation];
    all.into_iter().find(|encoding| encoding.name() == name)
}

/// The bytes of a text in base64.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=').as_bytes();
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for group in digits.chunks(4) {
        let mut bits = 0_u32;
        for &digit in group {
            let value = match digit {
                b'A'..=b'Z' => digit - b'A',
                b'a'..=b'z' => digit - b'a' + 26,
                b'0'..=b'9' => digit - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(value);
        }
        let [_, first, second, third] = (bits << (6 * (4 - group.len()))).to_be_bytes();
        // Two digits are a byte, three are two.
        bytes.extend(&[first, second, third][..group.len() - 1]);
    }
    Some(bytes)
}

/// An image as a message.
pub fn image(pixels: &Pixels, header: Header) -> Image {
    Image {
        header,
        height: pixels.height,
        width: pixels.width,
        encoding: pixels.encoding.name().to_owned(),
        is_bigendian: 0,
        step: pixels.width * pixels.encoding.pixel_bytes() as u32,
        data: pixels.bytes.clone(),
    }
}

/// A PNG file as a message. Its format is that of `compressed_image_transport`, which decodes colours as BGR.
pub fn compressed(file: &Pixels, header: Header) -> CompressedImage {
    let format = match file.encoding {
        Encoding::Rgb8 => "rgb8; png compressed bgr8",
        _ => "mono8; png compressed mono8",
    };
    CompressedImage { header, format: format.to_owned(), data: file.bytes.clone() }
}

/// The calibration of a camera.
pub fn camera_info(optics: &CameraOptics, header: Header) -> CameraInfo {
    let (CameraOptics { focal: [fx, fy], principal_point: [cx, cy], .. }, lens) = (*optics, optics.lens);
    let (model, d) = match lens {
        Lens::Fisheye(_) => ("equidistant", lens.coefficients().iter().map(|(_, value)| *value).collect()),
        Lens::BrownConrady { .. } => ("plumb_bob", lens.coefficients().iter().map(|(_, value)| *value).collect()),
        Lens::Pinhole => ("plumb_bob", vec![0.0; 5]),
    };
    CameraInfo {
        header,
        height: optics.height,
        width: optics.width,
        distortion_model: model.to_owned(),
        d,
        k: [fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0],
        r: [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        p: [fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
        ..CameraInfo::default()
    }
}

/// The points of a depth image in the optical frame, in the order of its pixels, with the colours of another image. A
/// pixel without a depth is a point that is not a number.
pub fn points(depth: &Pixels, color: Option<&Pixels>, directions: &[[f32; 2]], header: Header) -> PointCloud2 {
    let names: &[&str] = if color.is_some() { &["x", "y", "z", "rgb"] } else { &["x", "y", "z"] };
    let point_step = names.len() as u32 * FLOAT32_SIZE;
    let mut data = Vec::with_capacity(directions.len() * point_step as usize);
    for (index, (bytes, [x, y])) in depth.bytes.as_chunks::<4>().0.iter().zip(directions).enumerate() {
        let z = f32::from_le_bytes(*bytes);
        let point = if z.is_finite() && x.is_finite() { [x * z, y * z, z] } else { [f32::NAN; 3] };
        point.iter().for_each(|number| data.extend(number.to_le_bytes()));
        if let Some(color) = color {
            data.extend(packed_color(color, index));
        }
    }
    PointCloud2 {
        header,
        height: depth.height,
        width: depth.width,
        fields: (0..).zip(names).map(|(index, name)| point_field(index, name)).collect(),
        is_bigendian: false,
        point_step,
        row_step: depth.width * point_step,
        data,
        is_dense: false,
    }
}

/// The colour of a pixel, as PCL packs it into a number: blue, green, red.
fn packed_color(image: &Pixels, index: usize) -> [u8; 4] {
    let channels = image.encoding.pixel_bytes();
    match image.bytes.get(index * channels..(index + 1) * channels) {
        Some(&[red, green, blue]) => [blue, green, red, 0],
        Some(&[grey]) => [grey, grey, grey, 0],
        _ => [0; 4],
    }
}

/// The header of the messages of a frame.
pub fn header(frame: &Frame, frame_id: &str) -> Header {
    Header::new(&Time::from_seconds(frame.time), frame_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_pixels(encoding: Encoding, bytes: Vec<u8>) -> Pixels {
        Pixels { encoding, width: 2, height: 1, bytes }
    }

    #[test]
    fn base64_has_the_bytes_of_rfc_4648() {
        for (text, expected) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(decode_base64(text).unwrap(), expected.as_bytes());
        }
        assert_eq!(decode_base64("+/8=").unwrap(), [0xfb, 0xff]);
        assert_eq!(decode_base64("Zm9?"), None);
    }

    #[test]
    fn a_depth_becomes_a_point_where_its_pixel_looks_and_has_its_colour() {
        let depths = [2.0_f32, f32::INFINITY].iter().flat_map(|depth| depth.to_le_bytes()).collect();
        let color = two_pixels(Encoding::Rgb8, vec![1, 2, 3, 4, 5, 6]);
        let directions = [[0.5, -0.25], [0.0, 0.0]];
        let message = points(&two_pixels(Encoding::Depth, depths), Some(&color), &directions, Header::default());
        assert_eq!((message.width, message.height, message.point_step, message.row_step), (2, 1, 16, 32));
        let number = |index: usize| f32::from_le_bytes(message.data[4 * index..4 * index + 4].try_into().unwrap());
        assert_eq!([number(0), number(1), number(2)], [1.0, -0.5, 2.0]);
        assert_eq!(message.data[12..16], [3, 2, 1, 0]);
        assert!(number(4).is_nan() && number(6).is_nan());
        assert_eq!(message.fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>(), ["x", "y", "z", "rgb"]);
    }

    #[test]
    fn the_calibration_is_that_of_ros() {
        let optics = CameraOptics {
            focal: [5.0, 6.0],
            lens: Lens::Fisheye([0.1, 0.2, 0.3, 0.4]),
            ..CameraOptics::pinhole([5, 3], 1.0)
        };
        let message = camera_info(&optics, Header::default());
        assert_eq!((message.distortion_model.as_str(), &message.d[..]), ("equidistant", &[0.1, 0.2, 0.3, 0.4][..]));
        assert_eq!(message.k, [5.0, 0.0, 2.0, 0.0, 6.0, 1.0, 0.0, 0.0, 1.0]);
        assert_eq!(message.p, [5.0, 0.0, 2.0, 0.0, 0.0, 6.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        let message = camera_info(&CameraOptics { lens: Lens::Pinhole, ..optics }, Header::default());
        assert_eq!((message.distortion_model.as_str(), &message.d[..]), ("plumb_bob", &[0.0; 5][..]));
    }

    #[test]
    fn an_image_has_the_layout_of_its_encoding() {
        let message = image(&two_pixels(Encoding::Rgb8, vec![1, 2, 3, 4, 5, 6]), Header::default());
        assert_eq!((message.encoding.as_str(), message.step, message.is_bigendian), ("rgb8", 6, 0));
        let message = image(&two_pixels(Encoding::Depth, vec![0; 8]), Header::default());
        assert_eq!((message.encoding.as_str(), message.step, message.data.len()), ("32FC1", 8, 8));
    }
}
