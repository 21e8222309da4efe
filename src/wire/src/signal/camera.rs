//! The geometry of a camera's images, for clients and for the renderer.

use super::DeviceKind;

/// The geometry of a camera's images. Pixels have whole coordinates at their centres, columns to the right and rows
/// down, as in OpenCV.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CameraOptics {
    /// Number of columns.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
    /// Focal lengths fx and fy, pixels.
    pub focal: [f64; 2],
    /// Principal point cx and cy, pixels.
    pub principal_point: [f64; 2],
    /// Projection and distortion.
    pub lens: Lens,
    /// Smallest distance at which the camera sees something, m.
    pub near: f64,
    /// Largest distance, m; infinite without a limit.
    pub far: f64,
    /// True if a colour image has one channel of grey.
    pub is_grey: bool,
}

/// Projection of a lens.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Lens {
    /// A pinhole without distortion.
    #[default]
    Pinhole,
    /// The model of Brown and Conrady: `plumb_bob` in ROS.
    BrownConrady {
        /// Coefficients k1, k2, k3 of the radial distortion.
        radial: [f64; 3],
        /// Coefficients p1, p2 of the tangential distortion.
        tangential: [f64; 2],
    },
    /// The equidistant fisheye with the coefficients k1 to k4: `equidistant` in ROS.
    Fisheye([f64; 4]),
}

/// Values of a pixel, named as in ROS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Bytes red, green and blue of sRGB.
    Rgb8,
    /// A byte of grey.
    Mono8,
    /// Distance along the optical axis in m, as a 32-bit number; +inf beyond the range, -inf before it.
    Depth,
    /// Two 32-bit integers: number of the body and its class.
    Segmentation,
}

impl CameraOptics {
    /// A pinhole with square pixels and this horizontal field of view, rad, between 0 and pi.
    pub fn pinhole([width, height]: [u32; 2], field_of_view: f64) -> Self {
        let focal = 0.5 * f64::from(width) / libm::tan(0.5 * field_of_view);
        Self {
            width,
            height,
            focal: [focal; 2],
            principal_point: [width, height].map(|size| 0.5 * (f64::from(size) - 1.0)),
            lens: Lens::Pinhole,
            near: 0.01,
            far: f64::INFINITY,
            is_grey: false,
        }
    }

    /// Number of pixels of an image.
    pub fn pixels(&self) -> usize {
        self.width as usize * self.height as usize
    }

    /// Encodings of the images of a kind of camera, in their order; empty for other kinds.
    pub fn encodings(&self, kind: DeviceKind) -> &'static [Encoding] {
        match (kind, self.is_grey) {
            (DeviceKind::Camera, false) => &[Encoding::Rgb8],
            (DeviceKind::Camera, true) => &[Encoding::Mono8],
            (DeviceKind::DepthCamera, _) => &[Encoding::Depth],
            (DeviceKind::SegmentationCamera, _) => &[Encoding::Segmentation],
            (DeviceKind::RgbdCamera, false) => &[Encoding::Rgb8, Encoding::Depth],
            (DeviceKind::RgbdCamera, true) => &[Encoding::Mono8, Encoding::Depth],
            _ => &[],
        }
    }
}

impl Lens {
    /// Name of the projection in XML and in `INFO`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pinhole => "pinhole",
            Self::BrownConrady { .. } => "brownConrady",
            Self::Fisheye(_) => "fisheye",
        }
    }

    /// The coefficients with their names, in the order of OpenCV; empty for a pinhole.
    pub fn coefficients(self) -> Vec<(&'static str, f64)> {
        match self {
            Self::Pinhole => Vec::new(),
            Self::BrownConrady { radial: [k1, k2, k3], tangential: [p1, p2] } => {
                vec![("k1", k1), ("k2", k2), ("p1", p1), ("p2", p2), ("k3", k3)]
            }
            Self::Fisheye([k1, k2, k3, k4]) => vec![("k1", k1), ("k2", k2), ("k3", k3), ("k4", k4)],
        }
    }
}

impl Encoding {
    /// Name, as in ROS.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rgb8 => "rgb8",
            Self::Mono8 => "mono8",
            Self::Depth => "32FC1",
            Self::Segmentation => "32SC2",
        }
    }

    /// Bytes of a pixel.
    pub fn pixel_bytes(self) -> usize {
        match self {
            Self::Rgb8 => 3,
            Self::Mono8 => 1,
            Self::Depth => 4,
            Self::Segmentation => 8,
        }
    }
}
