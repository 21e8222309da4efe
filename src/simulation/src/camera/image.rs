//! An image of a camera: its pixels, as bytes and as a file.

use simpartner_render::{
    ColorImage, DepthImage, Image, Owner, SegmentationImage, color_jpeg, color_png, depth_png, grey_jpeg, grey_png,
    owner_color,
};
use simpartner_wire::signal::Encoding;
use xxhash_rust::xxh3::xxh3_64;

/// An image.
#[derive(Debug, Clone, PartialEq)]
pub enum CameraImage {
    /// Bytes red, green and blue.
    Color(ColorImage),
    /// A byte of grey.
    Grey(Image<u8>),
    /// Distances, m.
    Depth(DepthImage),
    /// Number and class: 0 is the sky, 1 and so on are bodies in the order of their ids, -1 and so on are grounds.
    Segmentation(Image<[i32; 2]>),
}

/// An image that could not be written as a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ImageError(String);

impl CameraImage {
    pub(super) fn of_owners(owners: &SegmentationImage, classes: &[u16]) -> Self {
        let class = |owner| match owner {
            Some(Owner::Body(body)) => classes.get(body.index()).copied().map_or(0, i32::from),
            Some(Owner::Ground(_)) | None => 0,
        };
        let pixels = owners.pixels.iter().map(|owner| [owner_number(*owner), class(*owner)]).collect();
        Self::Segmentation(Image { width: owners.width, height: owners.height, pixels })
    }

    /// Values of a pixel.
    pub fn encoding(&self) -> Encoding {
        match self {
            Self::Color(_) => Encoding::Rgb8,
            Self::Grey(_) => Encoding::Mono8,
            Self::Depth(_) => Encoding::Depth,
            Self::Segmentation(_) => Encoding::Segmentation,
        }
    }

    /// Columns and rows.
    pub fn size(&self) -> [usize; 2] {
        match self {
            Self::Color(image) => [image.width, image.height],
            Self::Grey(image) => [image.width, image.height],
            Self::Depth(image) => [image.width, image.height],
            Self::Segmentation(image) => [image.width, image.height],
        }
    }

    /// Its pixels row by row, numbers little-endian.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Color(image) => image.pixels.as_flattened().to_vec(),
            Self::Grey(image) => image.pixels.clone(),
            Self::Depth(image) => image.pixels.iter().flat_map(|depth| depth.to_le_bytes()).collect(),
            Self::Segmentation(image) => {
                image.pixels.as_flattened().iter().flat_map(|number| number.to_le_bytes()).collect()
            }
        }
    }

    /// A hash of its encoding, size and pixels (XXH3).
    pub fn hash(&self) -> u64 {
        let mut bytes = self.encoding().name().as_bytes().to_vec();
        self.size().iter().for_each(|side| bytes.extend_from_slice(&(*side as u64).to_le_bytes()));
        bytes.extend_from_slice(&self.bytes());
        xxh3_64(&bytes)
    }

    /// The image as a PNG file: colours and greys with 8 bits; depths as whole millimetres in 16 bits, 0 for what is
    /// too near and 65535 for what is beyond 65.534 m; bodies each in a colour of their own.
    ///
    /// # Errors
    /// The image cannot be written.
    pub fn png(&self) -> Result<Vec<u8>, ImageError> {
        match self {
            Self::Color(image) => color_png(image),
            Self::Grey(image) => grey_png(image),
            Self::Depth(image) => depth_png(image),
            Self::Segmentation(image) => color_png(&colors_of_owners(image)),
        }
        .map_err(ImageError)
    }

    /// The image as a JPEG file: colours and greys as they are, bodies each in a colour of their own, and depths as
    /// greys from white at 0 m to black at 10 m and beyond.
    ///
    /// # Errors
    /// The image cannot be written.
    pub fn jpeg(&self) -> Result<Vec<u8>, ImageError> {
        match self {
            Self::Color(image) => color_jpeg(image),
            Self::Grey(image) => grey_jpeg(image),
            Self::Depth(image) => grey_jpeg(&greys_of_depths(image)),
            Self::Segmentation(image) => color_jpeg(&colors_of_owners(image)),
        }
        .map_err(ImageError)
    }
}

/// Depth that is black in a picture of depths, m: the range of common depth cameras.
const BLACK_DEPTH: f32 = 10.0;

fn greys_of_depths(image: &DepthImage) -> Image<u8> {
    let grey = |depth: &f32| (255.0 - 255.0 * (depth / BLACK_DEPTH).clamp(0.0, 1.0)) as u8;
    Image { width: image.width, height: image.height, pixels: image.pixels.iter().map(grey).collect() }
}

/// The hashes of the images of a frame, 16 hexadecimal digits each.
pub fn hash_text(images: &[CameraImage]) -> String {
    let hashes: Vec<String> = images.iter().map(|image| format!("{:016x}", image.hash())).collect();
    hashes.join(" ")
}

/// A hash of all images of a sequence: that of the hash `before` them and those of these images (XXH3).
pub fn chained_hash(before: u64, images: &[CameraImage]) -> u64 {
    let hashes = std::iter::once(before).chain(images.iter().map(CameraImage::hash));
    xxh3_64(&hashes.flat_map(u64::to_le_bytes).collect::<Vec<u8>>())
}

/// Number of what is seen: 0 for the sky, from 1 for bodies in the order of their ids, from -1 downwards for grounds.
fn owner_number(owner: Option<Owner>) -> i32 {
    match owner {
        None => 0,
        Some(Owner::Body(body)) => body.index() as i32 + 1,
        Some(Owner::Ground(number)) => -1 - number as i32,
    }
}

/// The colours of bodies in a picture of a segmentation.
fn colors_of_owners(image: &Image<[i32; 2]>) -> ColorImage {
    let owner = |number: i32| match number {
        0 => None,
        1.. => Some(Owner::Body(simpartner_model::BodyId::new(number as usize - 1))),
        _ => Some(Owner::Ground((-1 - number) as usize)),
    };
    let pixels = image.pixels.iter().map(|[number, _]| owner_color(owner(*number))).collect();
    Image { width: image.width, height: image.height, pixels }
}

/// Luma of ITU-R BT.601 of the sRGB bytes, as OpenCV converts: 0.299 R + 0.587 G + 0.114 B, rounded.
pub(super) fn grey_of(image: &ColorImage) -> Image<u8> {
    // Factors in parts of 2^16.
    let grey = |[red, green, blue]: &[u8; 3]| {
        let sum = 19_595 * u32::from(*red) + 38_470 * u32::from(*green) + 7_471 * u32::from(*blue);
        ((sum + 32_768) >> 16) as u8
    };
    Image { width: image.width, height: image.height, pixels: image.pixels.iter().map(grey).collect() }
}
