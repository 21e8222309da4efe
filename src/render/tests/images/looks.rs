//! Textures, shading normals, emitted light and holes in colour images.

use std::sync::Arc;

use bevy_math::DVec3;
use simpartner_model::{Body, Color, Corners, Look, Mechanism, Paint, Placed, Pose, Shape, Texture, Tiling, Visual};
use simpartner_render::{Camera, ColorImage, Light, Optics, Rendering, Scene, looking_at};

use crate::worlds::view;

/// Pixels along a square of an image.
const BLOCK: usize = 16;

const WHITE: Color = Color { red: 255, green: 255, blue: 255, alpha: 255 };
const BLACK: Color = Color { red: 0, green: 0, blue: 0, alpha: 255 };

/// White light from everywhere and none from the sun: a picture has the colours of its surfaces.
fn even() -> Light {
    let white = [1.0; 3];
    Light {
        sun: [0.0; 3],
        ambient_above: white,
        ambient_below: white,
        zenith: [0.0; 3],
        horizon: [0.0; 3],
        ..Light::default()
    }
}

/// The sun alone, from straight above.
fn sun_only() -> Light {
    let dark = [0.0; 3];
    Light { to_sun: DVec3::Y, sun: [1.0; 3], ambient_above: dark, ambient_below: dark, zenith: dark, horizon: dark }
}

fn seen(shape: Shape, color: Color, look: Look) -> Body {
    let placed = Placed { pose: Pose::IDENTITY, shape };
    Body { visuals: vec![Visual { placed, color: Some(color), look }], fixed: true, ..Body::default() }
}

/// An image of squares of one colour each, so that the mean of neighbours counts at their edges only.
fn paint(squares: &[[u8; 4]], width: usize, tint: Color, tiling: Tiling) -> Paint {
    let pixel = |x: usize, y: usize| squares[y / BLOCK * width + x / BLOCK];
    let (width, height) = (width * BLOCK, squares.len() / width * BLOCK);
    let pixels = (0..width * height).map(|place| pixel(place % width, place / width)).collect();
    Paint { texture: Arc::new(Texture::new(width, height, pixels).expect("a valid case")), tint, tiling }
}

fn painted(paint: Paint) -> Look {
    Look { paint: Some(paint), ..Look::default() }
}

/// Pictures of 64 x 64 pixels from a place to the origin.
fn picture(bodies: Vec<Body>, from: DVec3, light: Light) -> ColorImage {
    let model = Mechanism { bodies, ..Mechanism::default() };
    let scene = Scene::new(&model).expect("a valid case");
    let camera = Camera::new(Optics::pinhole(64, 64, 0.5)).expect("a valid case");
    let eye = looking_at(from, DVec3::ZERO).expect("a valid case");
    let rendering = Rendering { light, ..Rendering::default() };
    let image = view(&scene, &model, camera, eye).color_image(&rendering, 1);
    assert_eq!(view(&scene, &model, camera, eye).color_image(&rendering, 3), image);
    image
}

const RED: [u8; 4] = [200, 0, 0, 255];
const GREEN: [u8; 4] = [0, 200, 0, 255];
const BLUE: [u8; 4] = [0, 0, 200, 255];
const GREY: [u8; 4] = [200, 200, 200, 255];

/// The four pixels of an image on each side of a box, seen from outside: upper left, upper right, lower left, lower
/// right.
#[test]
fn an_image_lies_upright_on_each_side_of_a_box() {
    let size = DVec3::splat(2.0);
    for side in [DVec3::X, DVec3::NEG_X, DVec3::Z, DVec3::NEG_Z] {
        let image = paint(&[RED, GREEN, BLUE, GREY], 2, WHITE, Tiling::Repeats([1.0; 2]));
        let image = picture(vec![seen(Shape::Box { size }, WHITE, painted(image))], 6.0 * side, even());
        // Quarters of the side, of which the picture shows 1.27 m to each side of the middle.
        let at = |x: usize, y: usize| *image.pixel(32 + 12 * x - 6, 32 + 12 * y - 6);
        for (place, expected) in [((0, 0), RED), ((1, 0), GREEN), ((0, 1), BLUE), ((1, 1), GREY)] {
            let found = at(place.0, place.1);
            assert!(
                found.iter().zip(expected).all(|(one, other)| one.abs_diff(other) < 60),
                "{side} {place:?}: {found:?}"
            );
        }
    }
}

#[test]
fn an_image_repeats_and_is_multiplied_by_its_tint() {
    let size = DVec3::splat(2.0);
    let pixels = [[255; 4], [0, 0, 0, 255]];
    let tint = Color { red: 255, green: 128, blue: 0, alpha: 255 };
    for tiling in [Tiling::Repeats([4.0, 1.0]), Tiling::Lengths([0.5, 2.0])] {
        let image = paint(&pixels, 2, tint, tiling);
        let image = picture(vec![seen(Shape::Box { size }, BLACK, painted(image))], DVec3::Z * 6.0, even());
        let levels: Vec<u8> = (8..56).map(|column| image.pixel(column, 32)[0]).collect();
        let crossings = levels.windows(2).filter(|pair| (pair[0] > 127) != (pair[1] > 127)).count();
        assert_eq!(crossings, 7, "{tiling:?}: {levels:?}");
        let brightest = (8..56).map(|column| *image.pixel(column, 32)).max().expect("a valid case");
        assert!(brightest[0] > 240 && brightest[1].abs_diff(128) < 8 && brightest[2] == 0, "{brightest:?}");
    }
}

/// A square of two triangles with texture coordinates that turn the image by a quarter.
fn square(corners: Corners, look: Look) -> Body {
    let at = |x: f64, y: f64| DVec3::new(x, y, 0.0);
    let vertices = vec![at(-1.0, -1.0), at(1.0, -1.0), at(1.0, 1.0), at(-1.0, 1.0)];
    let shape = Shape::TriangleMesh { vertices, triangles: vec![[0, 1, 2], [0, 2, 3]] };
    seen(shape, WHITE, Look { corners: Some(Arc::new(corners)), ..look })
}

#[test]
fn texture_coordinates_of_a_mesh_place_its_image() {
    let corners = Corners {
        places: vec![[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]],
        places_of: vec![[0, 1, 2], [0, 2, 3]],
        ..Corners::default()
    };
    let look = painted(paint(&[RED, GREEN, BLUE, GREY], 2, WHITE, Tiling::Repeats([1.0; 2])));
    let image = picture(vec![square(corners, look)], DVec3::Z * 6.0, even());
    let at = |x: usize, y: usize| *image.pixel(32 + 12 * x - 6, 32 + 12 * y - 6);
    // The lower left corner of the square shows the lower right one of the image.
    for (place, expected) in [((0, 1), GREY), ((1, 1), GREEN), ((1, 0), RED), ((0, 0), BLUE)] {
        let found = at(place.0, place.1);
        assert!(found.iter().zip(expected).all(|(one, other)| one.abs_diff(other) < 60), "{place:?}: {found:?}");
    }
}

/// Normals that lean by 37 degrees to either side: the light of the sun above on them is that of a cylinder, at each
/// pixel the sine of its normal's height.
#[test]
fn normals_of_corners_shade_a_mesh_smoothly() {
    let corners = Corners {
        normals: vec![[0.0, -0.6, 0.8], [0.0, 0.6, 0.8]],
        normals_of: vec![[0, 0, 1], [0, 1, 1]],
        ..Corners::default()
    };
    let mut body = square(corners, Look::default());
    body.pose = Pose::from_xyz_rpy(DVec3::ZERO, DVec3::X * -0.3);
    let image = picture(vec![body], DVec3::Z * 6.0, sun_only());
    let levels: Vec<u8> = (14..50).map(|row| image.pixel(32, row)[0]).collect();
    let linear = |level: u8| libm::pow((f64::from(level) / 255.0 + 0.055) / 1.055, 2.4);
    let sines: Vec<f64> = levels.iter().map(|level| linear(*level)).collect();
    assert!(sines.windows(2).all(|pair| (0.0..0.05).contains(&(pair[0] - pair[1]))), "{sines:?}");
    // At the upper edge the sine is that of 36.87 + 17.19 degrees, at the lower one the sun is behind.
    assert!((sines[0] - 0.78).abs() < 0.04 && levels[35] == 0, "{sines:?}");
}

#[test]
fn emitted_light_is_seen_in_the_dark() {
    let glow = Color { red: 10, green: 200, blue: 90, alpha: 255 };
    let dark = Light { sun: [0.0; 3], ambient_above: [0.0; 3], ambient_below: [0.0; 3], ..even() };
    let look = Look { emission: Some(glow), ..Look::default() };
    let image = picture(vec![seen(Shape::Sphere { radius: 1.0 }, WHITE, look)], DVec3::Z * 6.0, dark);
    assert_eq!((*image.pixel(32, 32), *image.pixel(2, 2)), ([10, 200, 90], [0, 0, 0]));
}

/// A plate whose left half is a hole: what is behind it shows through, and light falls through it.
#[test]
fn light_falls_through_the_holes_of_an_image() {
    let holes = paint(&[[0; 4], RED], 2, WHITE, Tiling::Repeats([1.0; 2]));
    let mut plate = seen(Shape::Box { size: DVec3::new(2.0, 0.02, 2.0) }, WHITE, painted(holes));
    plate.pose.translation.y = 0.5;
    let mut floor = seen(Shape::Box { size: DVec3::new(4.0, 0.02, 4.0) }, WHITE, Look::default());
    floor.pose.translation.y = -0.5;
    // From above, the left half shows the floor, and from the side the floor has the shadow of the right half.
    let image = picture(vec![plate.clone(), floor.clone()], DVec3::new(0.0, 9.0, 0.001), sun_only());
    let (left, right) = (*image.pixel(26, 32), *image.pixel(38, 32));
    assert!(left == [255; 3] && right[0].abs_diff(200) < 30 && right[1] < 30, "{left:?} {right:?}");
    let image = picture(vec![plate, floor], DVec3::new(0.0, 1.5, 9.0), sun_only());
    let row = 37;
    assert_eq!((image.pixel(26, row)[0], image.pixel(38, row)[0]), (255, 0));
}
