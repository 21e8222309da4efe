//! Noise of images.

use simpartner_description::ImageNoise;
use simpartner_model::random::Stream;
use simpartner_render::Image;
use simpartner_wire::signal::{CameraOptics, Encoding};

use super::image::CameraImage;

/// Adds noise to values of 8 bits, `channels` for each pixel.
pub(super) fn add_color_noise(values: &mut [u8], channels: usize, noise: &ImageNoise, stream: &mut Stream) {
    let ImageNoise { standard_deviation, shot, salt } = *noise;
    let has_noise = standard_deviation > 0.0 || shot > 0.0;
    if !has_noise && salt == 0.0 {
        return;
    }
    for pixel in values.chunks_exact_mut(channels) {
        if stream.happens(salt) {
            pixel.fill(if stream.happens(0.5) { u8::MAX } else { 0 });
        } else if has_noise {
            for value in pixel {
                let light = f64::from(*value) / 255.0;
                // Variances of independent noise add up; that of shot noise is proportional to the light.
                let deviation = (standard_deviation * standard_deviation + shot * shot * light).sqrt();
                let noisy = light + deviation * stream.gaussian();
                *value = (255.0 * noisy + 0.5).clamp(0.0, 255.0) as u8;
            }
        }
    }
}

/// Adds noise to distances, m. Pixels without a measurement have none.
pub(super) fn add_depth_noise(depths: &mut [f32], noise: &ImageNoise, stream: &mut Stream) {
    let ImageNoise { standard_deviation, salt, .. } = *noise;
    if standard_deviation == 0.0 && salt == 0.0 {
        return;
    }
    for depth in depths {
        if stream.happens(salt) {
            *depth = if stream.happens(0.5) { f32::INFINITY } else { f32::NEG_INFINITY };
        } else if depth.is_finite() {
            *depth = (f64::from(*depth) + standard_deviation * stream.gaussian()).max(0.0) as f32;
        }
    }
}

/// An image in which every pixel is random.
pub(super) fn random_image(encoding: Encoding, optics: &CameraOptics, stream: &mut Stream) -> CameraImage {
    let (width, height) = (optics.width as usize, optics.height as usize);
    let count = width * height;
    match encoding {
        Encoding::Rgb8 => {
            let pixels = (0..count).map(|_| random_bytes(stream)).collect();
            CameraImage::Color(Image { width, height, pixels })
        }
        Encoding::Mono8 => {
            let pixels = (0..count).map(|_| random_bytes::<1>(stream)[0]).collect();
            CameraImage::Grey(Image { width, height, pixels })
        }
        Encoding::Depth => {
            // A camera without a limit reads depths up to that of a common depth camera.
            let far = if optics.far.is_finite() { optics.far } else { optics.near + 10.0 };
            let pixels = (0..count).map(|_| stream.between(optics.near, far) as f32).collect();
            CameraImage::Depth(Image { width, height, pixels })
        }
        Encoding::Segmentation => {
            let pixels = (0..count).map(|_| [stream.number() as u16, stream.number() as u16].map(i32::from)).collect();
            CameraImage::Segmentation(Image { width, height, pixels })
        }
    }
}

fn random_bytes<const N: usize>(stream: &mut Stream) -> [u8; N] {
    let number = stream.number().to_le_bytes();
    std::array::from_fn(|place| number[place])
}
