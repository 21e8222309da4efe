//! Sun, sky and lamps of a world.

use bevy_math::DVec3;
use simpartner_model::{Body, Brightness, Color, Lamp, LampKind, Mechanism, Pose, Scenery, Shape};
use simpartner_render::{Camera, ColorImage, Light, Optics, Rendering, Scene, looking_at};

use crate::worlds::{body, colored, every_shape, level_plane, view};

const WHITE: Color = Color { red: 255, green: 255, blue: 255, alpha: 255 };

fn level(factor: f64) -> Brightness {
    Brightness { color: WHITE, factor }
}

/// No light but that of lamps.
fn dark(lamps: Vec<Lamp>) -> Scenery {
    let none = Some(level(0.0));
    Scenery { to_sun: None, sun: none, ambient_above: none, ambient_below: none, zenith: none, horizon: none, lamps }
}

fn lamp(kind: LampKind, factor: f64, attenuation: [f64; 3]) -> Lamp {
    Lamp { kind, brightness: level(factor), attenuation, range: f64::INFINITY, has_shadow: true }
}

fn floor() -> Body {
    let tile =
        body(Shape::Box { size: DVec3::new(8.0, 0.2, 8.0) }, Pose { translation: DVec3::Y * -0.1, ..Pose::IDENTITY });
    colored(tile, WHITE)
}

/// The floor from 10 m above, +x to the right: 10 pixels a metre.
fn from_above(bodies: Vec<Body>, scenery: Scenery) -> ColorImage {
    let model = Mechanism { bodies, scenery, ..Mechanism::default() };
    let scene = Scene::new(&model).expect("a valid case");
    let camera = Camera::new(Optics { focal: [100.0; 2], ..Optics::pinhole(61, 61, 1.0) }).expect("a valid case");
    let eye = looking_at(DVec3::Y * 10.0, DVec3::ZERO).expect("a valid case");
    let image = view(&scene, &model, camera, eye).color_image(&Rendering::default(), 1);
    assert_eq!(view(&scene, &model, camera, eye).color_image(&Rendering::default(), 3), image);
    image
}

/// Linear level of the floor at a place.
fn light_at(image: &ColorImage, x: f64, z: f64) -> f64 {
    let [level, ..] = *image.pixel((30.0 + 10.0 * x).round() as usize, (30.0 + 10.0 * z).round() as usize);
    let srgb = f64::from(level) / 255.0;
    if srgb <= 0.040_45 { srgb / 12.92 } else { libm::pow((srgb + 0.055) / 1.055, 2.4) }
}

/// A lamp at the height h over a floor: at the distance r from below it has the light f cos / d², that is
/// f h / (h² + r²)^1.5.
#[test]
fn a_point_light_falls_with_the_square_of_its_distance() {
    let position = DVec3::new(0.5, 2.0, 0.0);
    let image = from_above(vec![floor()], dark(vec![lamp(LampKind::Point { position }, 3.0, [0.0, 0.0, 1.0])]));
    for (x, z) in [(0.5, 0.0), (-1.5, 0.0), (2.0, 2.0), (0.0, -2.5), (-2.9, 2.9)] {
        let squared = 4.0 + (x - 0.5) * (x - 0.5) + z * z;
        let expected = 3.0 * 2.0 / libm::pow(squared, 1.5);
        // Half a byte of sRGB at this level.
        assert!((light_at(&image, x, z) - expected).abs() < 0.005, "{x} {z}: {} {expected}", light_at(&image, x, z));
    }
    let far = Lamp { range: 2.5, ..lamp(LampKind::Point { position }, 1.0, [1.0, 0.0, 0.0]) };
    let image = from_above(vec![floor()], dark(vec![far]));
    assert!(light_at(&image, 1.9, 0.0) > 0.5 && light_at(&image, 2.1, 0.0) == 0.0, "its range ends at 1.5 m");
}

#[test]
fn a_spot_light_has_an_inner_and_an_outer_cone() {
    let spot = LampKind::Spot { position: DVec3::Y * 2.0, direction: DVec3::NEG_Y, inner_angle: 0.3, outer_angle: 0.6 };
    let image = from_above(vec![floor()], dark(vec![lamp(spot, 0.9, [1.0, 0.0, 0.0])]));
    let share = |x: f64| light_at(&image, x, 0.0) / (0.9 * 2.0 / (4.0 + x * x).sqrt());
    // tan 0.3 = 0.31 and tan 0.6 = 0.68, times 2 m.
    assert!((share(0.0) - 1.0).abs() < 0.01 && (share(0.5) - 1.0).abs() < 0.01, "{} {}", share(0.0), share(0.5));
    assert!((0.1..0.9).contains(&share(1.0)) && share(1.2) < share(0.9) && share(1.5) == 0.0, "{}", share(1.0));
}

/// A ball at half the height of a lamp throws a shadow of twice its size, and none where the lamp has no shadows.
#[test]
fn bodies_throw_shadows_in_the_light_of_lamps() {
    let ball = body(Shape::Sphere { radius: 0.2 }, Pose { translation: DVec3::new(1.0, 1.0, 0.0), ..Pose::IDENTITY });
    let point = lamp(LampKind::Point { position: DVec3::Y * 2.0 }, 1.0, [1.0, 0.0, 0.0]);
    for has_shadow in [true, false] {
        let lamps = vec![Lamp { has_shadow, ..point.clone() }];
        let image = from_above(vec![floor(), colored(ball.clone(), WHITE)], dark(lamps));
        assert_eq!(light_at(&image, 2.0, 0.0) == 0.0, has_shadow);
        assert!(light_at(&image, 2.0, 0.6) > 0.5 && light_at(&image, -2.0, 0.0) > 0.5);
    }
    let sideways = LampKind::Directional { direction: DVec3::new(1.0, -1.0, 0.0) };
    let image = from_above(vec![floor(), colored(ball, WHITE)], dark(vec![lamp(sideways, 1.0, [1.0, 0.0, 0.0])]));
    assert!((light_at(&image, 0.0, 0.0) - 0.5_f64.sqrt()).abs() < 0.01 && light_at(&image, 2.0, 0.0) == 0.0);
}

#[test]
fn the_sun_and_the_sky_of_a_world_are_in_its_pictures() {
    let red = Brightness { color: Color { red: 255, green: 0, blue: 0, alpha: 255 }, factor: 1.0 };
    let blue = Brightness { color: Color { red: 0, green: 0, blue: 255, alpha: 255 }, factor: 1.0 };
    let scenery = Scenery {
        to_sun: Some(DVec3::Y * 3.0),
        sun: Some(red),
        zenith: Some(blue),
        horizon: Some(blue),
        ..dark(Vec::new())
    };
    let image = from_above(vec![floor()], scenery.clone());
    assert_eq!(*image.pixel(30, 30), [255, 0, 0]);
    let model = Mechanism { bodies: vec![floor()], scenery, ..Mechanism::default() };
    let scene = Scene::new(&model).expect("a valid case");
    let up = looking_at(DVec3::Y, DVec3::Y * 2.0).expect("a valid case");
    let camera = Camera::new(Optics::pinhole(9, 9, 1.0)).expect("a valid case");
    assert_eq!(*view(&scene, &model, camera, up).color_image(&Rendering::default(), 1).pixel(4, 4), [0, 0, 255]);
    // Settings of a picture take the place of the world's light.
    let own = Light { zenith: [1.0; 3], horizon: [1.0; 3], ..Light::default() };
    let image = view(&scene, &model, camera, up).color_image(&Rendering { light: own, ..Rendering::default() }, 1);
    assert_eq!(*image.pixel(4, 4), [255; 3]);
}

#[test]
fn a_world_without_light_of_its_own_has_that_of_a_clear_day() {
    assert_eq!(Light::of_scenery(&Scenery::default()), Light::default());
    let scene = Scene::new(&every_shape(level_plane())).expect("a valid case");
    assert_eq!(*scene.light(), Light::default());
}

/// Lamps of numbers that make no light leave a picture without them.
#[test]
fn lamps_without_sense_give_no_light() {
    let bad = [
        lamp(LampKind::Point { position: DVec3::NAN }, 1.0, [1.0, 0.0, 0.0]),
        lamp(LampKind::Point { position: DVec3::Y }, f64::NAN, [1.0, 0.0, 0.0]),
        lamp(LampKind::Point { position: DVec3::Y }, 1.0, [0.0; 3]),
        lamp(LampKind::Directional { direction: DVec3::ZERO }, 1.0, [1.0, 0.0, 0.0]),
    ];
    let image = from_above(vec![floor()], dark(bad.to_vec()));
    assert!(image.pixels.iter().all(|pixel| *pixel == [0; 3]));
}
