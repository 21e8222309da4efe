//! Triangles for the surface of an ellipsoid, for pictures and for formats without ellipsoids.

use std::f64::consts::PI;

use bevy_math::DVec3;

/// Corners on an ellipsoid, and triangles between them, counter-clockwise seen from outside: its poles on y, and
/// circles of latitude at the ends of `bands` bands of equal angle. Of 16 bands, the triangles are at most 1 % of the
/// radius inside of the surface.
pub fn ellipsoid_surface(radii: DVec3, bands: u32) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let around = 2 * bands;
    let angle = |part: u32| libm::sincos(PI * f64::from(part) / f64::from(bands));
    let on_circle = |circle: u32, step: u32| {
        let ((sine, height), (along_x, along_z)) = (angle(circle), angle(step));
        DVec3::new(sine * along_x, height, sine * along_z) * radii
    };
    let cells = |from: u32| (from..bands).flat_map(move |circle| (0..around).map(move |step| (circle, step)));
    let poles = [DVec3::Y * radii.y, DVec3::NEG_Y * radii.y];
    let corners = poles.into_iter().chain(cells(1).map(|(circle, step)| on_circle(circle, step)));
    let number = |circle: u32, step: u32| match circle {
        0 => 0,
        _ if circle == bands => 1,
        _ => 2 + (circle - 1) * around + step % around,
    };
    let triangles = cells(0).flat_map(|(circle, step)| {
        let [above, below] = [circle, circle + 1].map(|circle| [step, step + 1].map(|step| number(circle, step)));
        let upper = (circle > 0).then_some([above[0], below[0], above[1]]);
        let lower = (circle + 1 < bands).then_some([above[1], below[0], below[1]]);
        upper.into_iter().chain(lower)
    });
    (corners.collect(), triangles.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The volume of the triangles, seen from the centre, is that of the ellipsoid but for the parts cut off.
    #[test]
    fn the_triangles_of_an_ellipsoid_enclose_its_volume() {
        let radii = DVec3::new(0.3, 0.2, 0.1);
        let (corners, triangles) = ellipsoid_surface(radii, 16);
        let corners_of = |triangle: &[u32; 3]| triangle.map(|corner| corners[corner as usize]);
        let volumes: Vec<f64> = triangles.iter().map(corners_of).map(|[a, b, c]| a.dot(b.cross(c)) / 6.0).collect();
        assert!(volumes.iter().all(|volume| *volume > 0.0), "a triangle is turned inwards");
        let ratio = volumes.iter().sum::<f64>() / (4.0 / 3.0 * PI * radii.element_product());
        assert!((0.98..1.0).contains(&ratio), "{ratio}");
        assert!(corners.iter().all(|corner| ((*corner / radii).length() - 1.0).abs() < 1e-15));
    }
}
