//! The lens of a camera, backwards: from pixels to the directions that they look in.

use anyhow::{Context, Result};
use simpartner_wire::{
    protocol::word,
    signal::{CameraOptics, Lens},
};

/// Number of iterations that invert a distortion. Each gains about a digit for common lenses; OpenCV makes 5.
const INVERSION_STEPS: usize = 40;

/// Reads the optics from a camera's `INFO`.
///
/// # Errors
/// A number is missing, or is none.
pub fn read_optics(info: &str) -> Result<CameraOptics> {
    let text = |key| word(info, key).with_context(|| format!("expected {key}= in the INFO of a camera, got '{info}'"));
    let number = |key| -> Result<f64> { text(key)?.parse().with_context(|| format!("{key} in the INFO of a camera")) };
    let pixels = |key| -> Result<u32> { text(key)?.parse().with_context(|| format!("{key} in the INFO of a camera")) };
    let lens = match text("lens")? {
        "brownConrady" => Lens::BrownConrady {
            radial: [number("k1")?, number("k2")?, number("k3")?],
            tangential: [number("p1")?, number("p2")?],
        },
        "fisheye" => Lens::Fisheye([number("k1")?, number("k2")?, number("k3")?, number("k4")?]),
        _ => Lens::Pinhole,
    };
    Ok(CameraOptics {
        width: pixels("width")?,
        height: pixels("height")?,
        focal: [number("fx")?, number("fy")?],
        principal_point: [number("cx")?, number("cy")?],
        lens,
        near: number("near")?,
        far: number("far")?,
        is_grey: text("encodings")?.starts_with("mono8"),
    })
}

/// The direction of each pixel, row by row: x and y at z = 1 in the optical frame. Not finite for a pixel that looks
/// sideways or backwards, which has no depth.
pub fn directions(optics: &CameraOptics) -> Vec<[f32; 2]> {
    let row =
        |row: u32| (0..optics.width).map(move |column| pixel_direction(optics, [f64::from(column), f64::from(row)]));
    (0..optics.height).flat_map(row).map(|direction| direction.map(|number| number as f32)).collect()
}

fn pixel_direction(optics: &CameraOptics, pixel: [f64; 2]) -> [f64; 2] {
    let CameraOptics { focal, principal_point: centre, .. } = optics;
    let seen = [0, 1].map(|axis| (pixel[axis] - centre[axis]) / focal[axis]);
    match optics.lens {
        Lens::Pinhole => seen,
        Lens::BrownConrady { radial, tangential } => remove_distortion(seen, radial, tangential),
        Lens::Fisheye(coefficients) => {
            let distance = seen[0].hypot(seen[1]);
            if distance == 0.0 {
                return seen;
            }
            let angle = fisheye_angle(distance, coefficients);
            if angle >= std::f64::consts::FRAC_PI_2 {
                return [f64::NAN; 2];
            }
            seen.map(|number| number / distance * angle.tan())
        }
    }
}

/// The place whose distortion is `seen`, by fixed-point iteration.
fn remove_distortion(seen: [f64; 2], [k1, k2, k3]: [f64; 3], [p1, p2]: [f64; 2]) -> [f64; 2] {
    let mut place = seen;
    for _ in 0..INVERSION_STEPS {
        let [x, y] = place;
        let r = x * x + y * y;
        let radial = 1.0 + r * (k1 + r * (k2 + r * k3));
        let shift = [2.0 * p1 * x * y + p2 * (r + 2.0 * x * x), p1 * (r + 2.0 * y * y) + 2.0 * p2 * x * y];
        place = [0, 1].map(|axis| (seen[axis] - shift[axis]) / radial);
    }
    place
}

/// The angle from the axis of a ray that is seen at this distance from the principal point, in focal lengths, by
/// Newton's method.
fn fisheye_angle(distance: f64, [k1, k2, k3, k4]: [f64; 4]) -> f64 {
    let mut angle = distance;
    for _ in 0..INVERSION_STEPS {
        let a = angle * angle;
        let value = angle * (1.0 + a * (k1 + a * (k2 + a * (k3 + a * k4))));
        let slope = 1.0 + a * (3.0 * k1 + a * (5.0 * k2 + a * (7.0 * k3 + a * 9.0 * k4)));
        angle -= (value - distance) / slope;
    }
    angle
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = "OK name=Eye kind=Camera robot=A body=B port=1 rate=30 fields=frame_step[1] width=4 height=3 \
                        encodings=mono8 fx=5 fy=6 cx=1.5 cy=1 near=0.1 far=inf lens=";

    /// The models of OpenCV's manual, forwards: where a direction is seen.
    fn distorted_place(lens: Lens, [x, y]: [f64; 2]) -> [f64; 2] {
        match lens {
            Lens::Pinhole => [x, y],
            Lens::BrownConrady { radial: [k1, k2, k3], tangential: [p1, p2] } => {
                let r = x * x + y * y;
                let factor = 1.0 + k1 * r + k2 * r.powi(2) + k3 * r.powi(3);
                [
                    x * factor + 2.0 * p1 * x * y + p2 * (r + 2.0 * x * x),
                    y * factor + p1 * (r + 2.0 * y * y) + 2.0 * p2 * x * y,
                ]
            }
            Lens::Fisheye([k1, k2, k3, k4]) => {
                let r = x.hypot(y);
                let a = r.atan();
                let factor = a * (1.0 + k1 * a.powi(2) + k2 * a.powi(4) + k3 * a.powi(6) + k4 * a.powi(8)) / r;
                [x * factor, y * factor]
            }
        }
    }

    #[test]
    fn the_optics_are_read_from_info() {
        let optics = read_optics(&format!("{INFO}brownConrady k1=-0.1 k2=0.02 p1=1e-3 p2=2e-3 k3=0.5")).unwrap();
        let lens = Lens::BrownConrady { radial: [-0.1, 0.02, 0.5], tangential: [1e-3, 2e-3] };
        let expected = CameraOptics {
            width: 4,
            height: 3,
            focal: [5.0, 6.0],
            principal_point: [1.5, 1.0],
            lens,
            near: 0.1,
            far: f64::INFINITY,
            is_grey: true,
        };
        assert_eq!(optics, expected);
        assert!(read_optics("OK name=Eye").unwrap_err().to_string().starts_with("expected lens="));
    }

    #[test]
    fn a_pixel_looks_where_the_lens_shows_it() {
        let lenses = [
            Lens::Pinhole,
            Lens::BrownConrady { radial: [-0.1, 0.02, -0.003], tangential: [1e-3, -2e-3] },
            Lens::Fisheye([0.02, -0.01, 0.003, -0.0004]),
        ];
        for lens in lenses {
            let optics = CameraOptics { focal: [90.0, 95.0], lens, ..CameraOptics::pinhole([120, 90], 1.0) };
            for (index, direction) in directions(&optics).iter().enumerate() {
                let pixel = [index % 120, index / 120].map(|place| place as f64);
                let back = distorted_place(lens, direction.map(f64::from));
                for axis in [0, 1] {
                    let got = optics.principal_point[axis] + optics.focal[axis] * back[axis];
                    // The directions have 24 bits, of 120 pixels.
                    assert!((got - pixel[axis]).abs() < 1e-4, "{lens:?} {pixel:?}: {got}");
                }
            }
        }
    }

    #[test]
    fn a_pixel_of_a_fisheye_that_looks_backwards_has_no_direction() {
        let optics =
            CameraOptics { focal: [10.0; 2], lens: Lens::Fisheye([0.0; 4]), ..CameraOptics::pinhole([64, 64], 1.0) };
        let all = directions(&optics);
        // The corner is 44 pixels from the middle, at 4.4 rad.
        assert!(all[0][0].is_nan() && all[32 * 64 + 32][0].abs() < 0.1);
    }
}
