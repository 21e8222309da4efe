//! Orientation as an axis and an angle (thesis equations 2 to 5).

/// An axis of unit length and an angle from 0 to pi, in radians.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AxisAngle {
    pub(crate) axis: [f64; 3],
    pub(crate) angle: f64,
}

impl AxisAngle {
    /// The rotation of a unit quaternion x, y, z, w.
    ///
    /// The thesis computes the angle by the arc cosine of the matrix's trace, which loses half of the digits near 0 and
    /// near pi. The quaternion has the sine and the cosine of half the angle, whose arc tangent is accurate to the last
    /// digit.
    ///
    /// The singular cases follow the thesis. The axis of the angle 0 is (1, 0, 0). At pi an axis and its opposite mean
    /// the same rotation; the signs of the matrix's elements (R12 = 2 x y and so on) select the axis whose first
    /// non-zero component is positive.
    pub(crate) fn from_quaternion(quaternion: [f64; 4]) -> Self {
        let [x, y, z, w] = quaternion;
        let first = [x, y, z].into_iter().find(|&component| component != 0.0).unwrap_or(0.0);
        let opposite = w < 0.0 || (w == 0.0 && first < 0.0);
        let sine = (x * x + y * y + z * z).sqrt();
        if sine == 0.0 {
            return Self { axis: [1.0, 0.0, 0.0], angle: 0.0 };
        }
        let scale = if opposite { -sine } else { sine };
        // Adding zero turns -0 into 0.
        let axis = [x / scale + 0.0, y / scale + 0.0, z / scale + 0.0];
        Self { axis, angle: 2.0 * libm::atan2(sine, w.abs()) }
    }

    /// The unit quaternion x, y, z, w of the rotation.
    pub(crate) fn to_quaternion(self) -> [f64; 4] {
        let (sine, cosine) = libm::sincos(self.angle / 2.0);
        let [x, y, z] = self.axis.map(|component| component * sine);
        [x, y, z, cosine]
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2, PI};

    use bevy_math::{DMat3, DQuat, DVec3};

    use super::*;

    fn about(axis: DVec3, angle: f64) -> AxisAngle {
        let (sine, cosine) = libm::sincos(angle / 2.0);
        let v = axis.normalize() * sine;
        AxisAngle::from_quaternion([v.x, v.y, v.z, cosine])
    }

    #[test]
    fn it_satisfies_equations_4_and_5() {
        for axis in [DVec3::new(1.0, 2.0, -3.0), DVec3::new(-0.2, 0.5, 0.1), DVec3::Y] {
            for angle in [0.1, 1.0, FRAC_PI_2, 2.5, 3.1] {
                let found = about(axis, angle);
                let r = DMat3::from_quat(DQuat::from_axis_angle(axis.normalize(), angle));
                // R32 of the thesis is row 3, column 2.
                let row = |i: usize, j: usize| r.col(j - 1)[i - 1];
                let equation_4 = ((row(1, 1) + row(2, 2) + row(3, 3) - 1.0) / 2.0).acos();
                let skew = DVec3::new(row(3, 2) - row(2, 3), row(1, 3) - row(3, 1), row(2, 1) - row(1, 2));
                assert!((found.angle - equation_4).abs() < 1e-12, "{axis} {angle}");
                assert!((DVec3::from_array(found.axis) - skew.normalize()).length() < 1e-12, "{axis} {angle}");
            }
        }
    }

    #[test]
    fn the_quaternion_comes_back() {
        for quaternion in [[0.0, 0.0, 0.0, 1.0], [0.5, -0.5, 0.5, 0.5], [1.0, 0.0, 0.0, 0.0], [0.6, 0.0, 0.0, 0.8]] {
            let back = AxisAngle::from_quaternion(quaternion).to_quaternion();
            assert!(back.iter().zip(quaternion).all(|(a, b)| (a - b).abs() < 1e-15), "{quaternion:?}: {back:?}");
        }
    }

    #[test]
    fn no_rotation_is_the_angle_0_about_x() {
        for w in [1.0, -1.0] {
            let none = AxisAngle { axis: [1.0, 0.0, 0.0], angle: 0.0 };
            assert_eq!(AxisAngle::from_quaternion([0.0, -0.0, 0.0, w]), none);
        }
    }

    #[test]
    fn at_pi_the_first_component_that_is_not_zero_is_positive() {
        let half = FRAC_1_SQRT_2;
        for (quaternion, axis) in [
            ([-1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0]),
            ([0.0, -half, half, 0.0], [0.0, half, -half]),
            ([half, 0.0, -half, -0.0], [half, 0.0, -half]),
            ([0.0, 0.0, -1.0, 0.0], [0.0, 0.0, 1.0]),
        ] {
            let found = AxisAngle::from_quaternion(quaternion);
            assert_eq!(found.angle, PI);
            let error = DVec3::from_array(found.axis) - DVec3::from_array(axis);
            assert!(error.length() < 1e-15, "{quaternion:?}: {found:?}");
        }
    }

    #[test]
    fn the_angle_keeps_its_digits_near_0_and_near_pi() {
        let axis = DVec3::new(1.0, 1.0, 1.0);
        for small in [1e-3, 1e-6, 1e-9, 1e-12, 1e-100] {
            assert!((about(axis, small).angle / small - 1.0).abs() < 1e-15, "{small}");
        }
        for short in [1e-3, 1e-6, 1e-9] {
            assert!((about(axis, PI - short).angle - (PI - short)).abs() < 1e-15, "{short}");
        }
    }

    #[test]
    fn past_pi_the_axis_flips_and_the_angle_decreases() {
        let found = about(DVec3::new(1.0, 1.0, 1.0), PI + 0.5);
        assert!((found.angle - (PI - 0.5)).abs() < 1e-15);
        let component = -1.0 / 3.0_f64.sqrt();
        assert!(found.axis.iter().all(|&e| (e - component).abs() < 1e-15), "{found:?}");
    }
}
