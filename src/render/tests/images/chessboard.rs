//! Corners of a chessboard in colour images, beside the formulas of pinhole and lenses in the manual of OpenCV.

use bevy_math::{DVec2, DVec3};
use simpartner_model::{Color, Mechanism, Pose, Shape, random::Stream};
use simpartner_render::{Camera, ColorImage, Distortion, Light, Optics, Rendering, Scene, looking_at};

use crate::worlds::{body, colored, view};

const COLUMNS: i32 = 7;
const ROWS: i32 = 6;
/// Side of a square, m.
const SIDE: f64 = 0.1;
/// Pixels of the pictures in which corners are found, for each pixel of the camera along each side. In its own picture
/// of four samples a pixel, an edge along a row is off by as much as an eighth of a pixel.
const ZOOM: f64 = 8.0;
/// Side of such a picture, in its pixels, with the pixel nearest to the corner in the middle.
const SIDE_OF_CROP: u32 = 41;
/// Half of the side of the window in which a corner is found, in its pixels.
const WINDOW: i32 = 10;

/// A chessboard in the plane y = 0, about the origin.
fn board() -> Mechanism {
    let square = |column: i32, row: i32| {
        let place = [column, row].map(|place| f64::from(place) + 0.5);
        let at = DVec3::new(place[0] - 0.5 * f64::from(COLUMNS), 0.0, place[1] - 0.5 * f64::from(ROWS)) * SIDE;
        let level = if (column + row) % 2 == 0 { 20 } else { 230 };
        let tile = Shape::Box { size: DVec3::new(SIDE, 0.01, SIDE) };
        let tile = body(tile, Pose { translation: at - DVec3::Y * 0.005, ..Pose::IDENTITY });
        colored(tile, Color { red: level, green: level, blue: level, alpha: 255 })
    };
    let tiles = (0..COLUMNS).flat_map(|column| (0..ROWS).map(move |row| square(column, row)));
    Mechanism { bodies: tiles.collect(), ..Mechanism::default() }
}

/// The inner corners.
fn corners() -> impl Iterator<Item = DVec3> {
    let at = |column: i32, row: i32| {
        DVec3::new(f64::from(column) - 0.5 * f64::from(COLUMNS), 0.0, f64::from(row) - 0.5 * f64::from(ROWS)) * SIDE
    };
    (1..COLUMNS).flat_map(move |column| (1..ROWS).map(move |row| at(column, row)))
}

/// Where the formulas put a point of the optical frame.
fn formula(optics: &Optics, point: DVec3) -> DVec2 {
    let (x, y) = (point.x / point.z, point.y / point.z);
    let r = (x * x + y * y).sqrt();
    let (u, v) = match optics.distortion {
        Distortion::None => (x, y),
        Distortion::BrownConrady { radial: [k1, k2, k3], tangential: [p1, p2] } => {
            let factor = 1.0 + k1 * r.powi(2) + k2 * r.powi(4) + k3 * r.powi(6);
            (
                x * factor + 2.0 * p1 * x * y + p2 * (r * r + 2.0 * x * x),
                y * factor + p1 * (r * r + 2.0 * y * y) + 2.0 * p2 * x * y,
            )
        }
        Distortion::Fisheye { coefficients: [k1, k2, k3, k4] } => {
            let t = r.atan();
            let bent = t * (1.0 + k1 * t.powi(2) + k2 * t.powi(4) + k3 * t.powi(6) + k4 * t.powi(8));
            (x * bent / r, y * bent / r)
        }
    };
    DVec2::new(optics.focal[0] * u + optics.principal_point[0], optics.focal[1] * v + optics.principal_point[1])
}

/// Grey levels of an image, smoothed so that slopes between pixels are those of the edges: binomial weights of 7 x 7.
struct Levels {
    width: usize,
    levels: Vec<f64>,
}

impl Levels {
    fn of(image: &ColorImage) -> Self {
        const WEIGHTS: [f64; 7] = [1.0, 6.0, 15.0, 20.0, 15.0, 6.0, 1.0];
        let (width, height) = (image.width as i32, image.height as i32);
        let smooth = |level: &dyn Fn(i32, i32) -> f64, [dx, dy]: [i32; 2]| -> Vec<f64> {
            let at = |place: i32| {
                let (column, row) = (place % width, place / width);
                let near = |k: i32| level((column + k * dx).clamp(0, width - 1), (row + k * dy).clamp(0, height - 1));
                (-3..=3).zip(WEIGHTS).map(|(k, weight)| weight / 64.0 * near(k)).sum()
            };
            (0..width * height).map(at).collect()
        };
        let along = smooth(&|column, row| f64::from(image.pixel(column as usize, row as usize)[1]), [1, 0]);
        let levels = smooth(&|column, row| along[(row * width + column) as usize], [0, 1]);
        Self { width: image.width, levels }
    }

    fn level(&self, column: i32, row: i32) -> f64 {
        self.levels[row as usize * self.width + column as usize]
    }
}

/// The corner near a place: the point whose directions to the edges around it are at right angles to their slopes
/// (Förstner 1987).
fn corner_near(image: &Levels, start: DVec2) -> DVec2 {
    let mut at = start;
    for _ in 0..20 {
        let middle = at.round();
        let (mut xx, mut xy, mut yy, mut right) = (0.0, 0.0, 0.0, DVec2::ZERO);
        for (dx, dy) in (-WINDOW..=WINDOW).flat_map(|dx| (-WINDOW..=WINDOW).map(move |dy| (dx, dy))) {
            let (column, row) = (middle.x as i32 + dx, middle.y as i32 + dy);
            let place = DVec2::new(f64::from(column), f64::from(row));
            let slope = DVec2::new(
                image.level(column + 1, row) - image.level(column - 1, row),
                image.level(column, row + 1) - image.level(column, row - 1),
            );
            // A window that follows the corner smoothly.
            let weight = (1.0 - (place - at).length_squared() / f64::from(WINDOW * WINDOW)).max(0.0);
            xx += weight * slope.x * slope.x;
            xy += weight * slope.x * slope.y;
            yy += weight * slope.y * slope.y;
            right += weight * slope * slope.dot(place);
        }
        let determinant = xx * yy - xy * xy;
        at = DVec2::new(yy * right.x - xy * right.y, xx * right.y - xy * right.x) / determinant;
    }
    at
}

/// The camera of a part of the picture of the same lens with more pixels, about a pixel.
fn cropped(optics: &Optics, about: DVec2) -> Optics {
    let middle = f64::from(SIDE_OF_CROP / 2);
    let [x, y] = optics.principal_point;
    Optics {
        width: SIDE_OF_CROP,
        height: SIDE_OF_CROP,
        focal: optics.focal.map(|focal| ZOOM * focal),
        principal_point: [ZOOM * (x - about.x) + middle, ZOOM * (y - about.y) + middle],
        ..*optics
    }
}

#[test]
fn corners_of_a_chessboard_are_where_the_formulas_put_them_at_20_poses() {
    let pinhole = Optics { focal: [330.0, 325.0], principal_point: [161.3, 117.8], ..Optics::pinhole(320, 240, 1.0) };
    let brown = Distortion::BrownConrady { radial: [-0.25, 0.08, -0.01], tangential: [1e-3, -2e-3] };
    let fisheye = Distortion::Fisheye { coefficients: [0.03, -0.01, 2e-3, 0.0] };
    let model = board();
    let scene = Scene::new(&model).unwrap();
    // Ambient light alone: all tiles then have one brightness each.
    let light = Light { to_sun: DVec3::NEG_Y, ..Light::default() };
    let rendering = Rendering { light, samples_per_side: 2 };
    let mut stream = Stream::from_number(20);
    let (mut worst, mut count) = (0.0_f64, 0);
    for _ in 0..20 {
        let from = DVec3::new(stream.between(-0.5, 0.5), stream.between(0.6, 0.9), stream.between(-0.5, 0.5));
        let to = DVec3::new(stream.between(-0.12, 0.12), 0.0, stream.between(-0.08, 0.08));
        let roll = Pose::from_xyz_rpy(DVec3::ZERO, DVec3::Z * stream.between(-3.0, 3.0));
        let eye = looking_at(from, to).unwrap().then(&roll);
        for distortion in [Distortion::None, brown, fisheye] {
            let optics = Optics { distortion, ..pinhole };
            for corner in corners() {
                let expected = formula(&optics, eye.inverse().point(corner));
                let is_inside = expected.cmpge(DVec2::ZERO).all() && expected.cmple(DVec2::new(319.0, 239.0)).all();
                if is_inside {
                    let crop = cropped(&optics, expected.round());
                    let image = view(&scene, &model, Camera::new(crop).unwrap(), eye).color_image(&rendering, 1);
                    let middle = DVec2::splat(f64::from(SIDE_OF_CROP / 2));
                    let off = (corner_near(&Levels::of(&image), middle) - middle) / ZOOM + expected.round() - expected;
                    assert!(off.length() < 0.05, "{distortion:?}: a corner at {expected} is {off} pixels off");
                    worst = worst.max(off.length());
                    count += 1;
                }
            }
        }
    }
    assert!(count > 1000 && worst > 0.0, "{count} corners, the worst {worst} pixels off");
}
