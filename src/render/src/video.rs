//! Colour images as a raw video, YUV4MPEG2 (y4m), which ffmpeg and players read.

use crate::image::ColorImage;

/// The line that a video of such images begins with, at so many frames a second.
pub fn y4m_header(width: usize, height: usize, frames_per_second: u32) -> String {
    format!("YUV4MPEG2 W{width} H{height} F{frames_per_second}:1 Ip A1:1 C444 XCOLORRANGE=LIMITED\n")
}

/// A frame of it: brightness and two colour differences of every pixel, as in ITU-R BT.601, from 16 to 235 or 240.
pub fn y4m_frame(image: &ColorImage) -> Vec<u8> {
    let mut frame = b"FRAME\n".to_vec();
    // Weights of red, green and blue in 65,536ths of a byte, and the level of none; a half rounds to the nearest.
    for ([red, green, blue], offset) in
        [([16_829, 33_039, 6_416], 16), ([-9_714, -19_070, 28_784], 128), ([28_784, -24_103, -4_681], 128)]
    {
        frame.extend(image.pixels.iter().map(|pixel| {
            let [r, g, b] = pixel.map(i32::from);
            (((red * r + green * g + blue * b + 32_768) >> 16) + offset) as u8
        }));
    }
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::Image;

    /// Levels of BT.601: 16 and 235 for black and white, and the primaries as in its table 3.
    #[test]
    fn colours_have_the_levels_of_the_standard() {
        let pixels = vec![[0, 0, 0], [255, 255, 255], [255, 0, 0], [0, 255, 0], [0, 0, 255]];
        let frame = y4m_frame(&Image { width: 5, height: 1, pixels });
        assert_eq!(frame[..6], *b"FRAME\n");
        assert_eq!(frame[6..11], [16, 235, 81, 145, 41]);
        assert_eq!(frame[11..16], [128, 128, 90, 54, 240]);
        assert_eq!(frame[16..21], [128, 128, 240, 34, 110]);
        assert_eq!(y4m_header(5, 1, 25), "YUV4MPEG2 W5 H1 F25:1 Ip A1:1 C444 XCOLORRANGE=LIMITED\n");
    }
}
