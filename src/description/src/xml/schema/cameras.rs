//! The table's part on the lens and the noise of cameras.

use super::{
    builders::{default, element, optional},
    element::{Content::Empty, Element},
    kind::Kind::{Fraction, NotNegative, Positive, Real, Word},
};

/// Largest focal length, pixels: a thousand times the widest image.
const MAX_FOCAL_LENGTH: f64 = 4.096e6;

/// `<lens>`
pub(super) const CAMERA_LENS: Element = element(
    "lens",
    "The lens of a camera: focal lengths, principal point and distortion, as calibrations of OpenCV and ROS give them. \
     Without the element, a pinhole with square pixels and the principal point in the middle of the image. Pixels have \
     whole coordinates at their centres, so the middle of an image is at (width - 1) / 2.",
    &[
        default(
            "model",
            Word(&["pinhole", "brownConrady", "fisheye"]),
            "",
            "pinhole",
            "projection. brownConrady (`plumb_bob` in ROS) has k1, k2, p1, p2 and k3. fisheye (`equidistant` in ROS) \
             shows a ray at the angle a from the axis at a (1 + k1 a² + k2 a⁴ + k3 a⁶ + k4 a⁸) focal lengths from the \
             principal point",
        ),
        optional(
            "focalX",
            Positive(MAX_FOCAL_LENGTH),
            "pixels",
            "focal length along the rows; without it, that of the fieldOfView",
        ),
        optional(
            "focalY",
            Positive(MAX_FOCAL_LENGTH),
            "pixels",
            "focal length along the columns; without it, the same as along the rows",
        ),
        optional(
            "principalX",
            Real,
            "pixels",
            "column of the principal point, from the centre of the first column; without it, the middle of the image",
        ),
        optional("principalY", Real, "pixels", "row of the principal point, likewise"),
        default("k1", Real, "", "0", "radial coefficient"),
        default("k2", Real, "", "0", "radial coefficient"),
        default("k3", Real, "", "0", "radial coefficient"),
        default("k4", Real, "", "0", "radial coefficient of a fisheye"),
        default("p1", Real, "", "0", "tangential coefficient of brownConrady"),
        default("p2", Real, "", "0", "tangential coefficient of brownConrady"),
    ],
    Empty,
);

/// `<imageNoise>`
pub(super) const IMAGE_NOISE: Element = element(
    "imageNoise",
    "The noise of a camera's images. It follows from simulation.seed, the names of robot and camera and the step of the \
     image, and from nothing else. A SegmentationCamera has none.",
    &[
        default(
            "standardDeviation",
            NotNegative,
            "1 or m",
            "0",
            "standard deviation of Gaussian noise in each value: of colours as a fraction of white, of depths in metres",
        ),
        default(
            "shot",
            NotNegative,
            "1",
            "0",
            "standard deviation of shot noise at white, as a fraction of white; it falls with the square root of the \
             value. Depths have none",
        ),
        default(
            "salt",
            Fraction,
            "1",
            "0",
            "fraction of pixels without a measurement: black or white in colours, -inf or +inf in depths, each with \
             the same probability",
        ),
    ],
    Empty,
);
