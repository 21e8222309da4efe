//! Ruts in images: the surface of a ground lies lower where its cells are pressed.

use bevy_math::DVec3;
use simpartner_model::{Ground, Mechanism, Plane, RUT_CELL, RUT_TILE, RutDepths};
use simpartner_render::{Camera, DepthImage, Optics, Owner, Rendering, Scene, looking_at};

use crate::worlds::{hills, level_plane, view};

const SIZE: f64 = RUT_TILE as f64 * RUT_CELL;

/// Tiles at these places, with the depth of each cell by its index.
fn pressed_tiles(places: &[[i32; 2]], depth: impl Fn(usize) -> f64) -> RutDepths {
    let mut depths = RutDepths::default();
    for place in places {
        depths.tile_mut(*place).iter_mut().enumerate().for_each(|(cell, now)| *now = depth(cell));
    }
    depths
}

/// A bowl of this depth around the middle of the tile at the origin.
fn bowl(depth: f64) -> RutDepths {
    pressed_tiles(&[[0, 0]], |cell| {
        let place = |at: usize| (at as f64 + 0.5) / RUT_TILE as f64 - 0.5;
        let (x, z) = (place(cell % RUT_TILE), place(cell / RUT_TILE));
        depth * (1.0 - 5.0 * (x * x + z * z)).max(0.0)
    })
}

/// Depths from 2 m above the middle of the tile at the origin, with 200 pixels a metre.
fn from_above(scene: &Scene, model: &Mechanism, height: f64) -> DepthImage {
    let camera = Camera::new(Optics { focal: [400.0; 2], ..Optics::pinhole(101, 101, 1.0) }).expect("a valid case");
    let middle = DVec3::new(0.5 * SIZE, height, 0.5 * SIZE);
    let eye = looking_at(middle + DVec3::Y * 2.0, middle).expect("a valid case");
    view(scene, model, camera, eye).depth_image(2)
}

fn world(ground: Ground) -> Mechanism {
    Mechanism { grounds: vec![ground], ..Mechanism::default() }
}

/// The middle of a bowl of 8 cm is as deep as the mean of the four cells about it, and the edge of the tile as high as
/// the ground.
#[test]
fn a_rut_is_as_deep_as_its_cells() {
    for (ground, height) in [(level_plane(), 0.0), (hills(), f64::NAN)] {
        let model = world(ground);
        let mut scene = Scene::new(&model).expect("a valid case");
        let at = |scene: &Scene, height: f64| f64::from(*from_above(scene, &model, height).pixel(50, 50));
        // The height of the hills is what the picture without ruts says.
        let height = if height.is_nan() { 2.0 - at(&scene, 0.0) } else { height };
        let before = from_above(&scene, &model, height);
        let depths = bowl(0.08);
        scene.set_ruts(&[(0, depths.clone())]);
        let after = from_above(&scene, &model, height);
        let place = RUT_TILE / 2 * RUT_TILE + RUT_TILE / 2;
        let about =
            [0, 1, RUT_TILE, RUT_TILE + 1].map(|step| depths.tile([0, 0]).expect("the tile is there")[place - step]);
        let expected = 0.25 * about.iter().sum::<f64>();
        let sunk = f64::from(after.pixel(50, 50) - before.pixel(50, 50));
        // On a slope, the depth is along the normal.
        assert!(sunk > expected - 1e-6 && sunk < 1.2 * expected, "{sunk} {expected}");
        // Beside the tile nothing has changed; the picture shows 25 cm to each side of its middle, the tile 16.
        let beside = |column: usize, row: usize| after.pixel(column, row) == before.pixel(column, row);
        assert!((0..101).all(|column| beside(column, 3) && beside(3, column)));
        assert!(after.pixels.iter().all(|depth| depth.is_finite()), "no ray falls through");
        assert!(after.pixels.iter().zip(&before.pixels).all(|(after, before)| *after >= before - 1e-3));
        scene.set_ruts(&[]);
        assert_eq!(from_above(&scene, &model, height), before);
    }
}

/// Neighbouring tiles join: a trough over three of them has one depth along its middle.
#[test]
fn tiles_join_to_a_trough_without_a_seam() {
    let model = world(level_plane());
    let mut scene = Scene::new(&model).expect("a valid case");
    let mut depths = pressed_tiles(&[[-1, 0], [0, 0], [1, 0]], |_| 0.05);
    scene.set_ruts(&[(0, depths.clone())]);
    let image = from_above(&scene, &model, 0.0);
    for column in 0..101 {
        assert!((image.pixel(column, 50) - 2.05).abs() < 1e-5, "{column}: {}", image.pixel(column, 50));
    }
    // A copy keeps what it had when another scene changes, and a change leaves what a scene made at once would have.
    let copy = scene.clone();
    depths.tile_mut([1, 0]).fill(0.08);
    depths.tile_mut([0, 1]).fill(0.02);
    scene.set_ruts(&[(0, depths.clone())]);
    assert_eq!(from_above(&copy, &model, 0.0), image);
    let mut anew = Scene::new(&model).expect("a valid case");
    anew.set_ruts(&[(0, depths)]);
    let changed = from_above(&scene, &model, 0.0);
    assert!(changed == from_above(&anew, &model, 0.0) && changed != image);
}

/// At a low angle too, each pixel shows the ground, with one result on all numbers of threads.
#[test]
fn ruts_belong_to_their_ground_and_have_shadows() {
    let model = world(level_plane());
    let mut scene = Scene::new(&model).expect("a valid case");
    let camera = Camera::new(Optics::pinhole(160, 120, 0.8)).expect("a valid case");
    let eye = looking_at(DVec3::new(1.0, 0.35, 0.9), DVec3::new(0.16, 0.0, 0.16)).expect("a valid case");
    let before = view(&scene, &model, camera, eye).color_image(&Rendering::default(), 1);
    scene.set_ruts(&[(0, bowl(0.1))]);
    let view = view(&scene, &model, camera, eye);
    let image = view.color_image(&Rendering::default(), 1);
    assert_eq!(view.color_image(&Rendering::default(), 3), image);
    let darker = image.pixels.iter().zip(&before.pixels).filter(|(now, then)| now[0] + 20 < then[0]).count();
    assert!(darker > 100, "{darker} pixels of the bowl are in its shadow or face away from the sun");
    let owners = view.segmentation_image(1);
    assert!((60..120).all(|row| (0..160).all(|column| *owners.pixel(column, row) == Some(Owner::Ground(0)))));
}

#[test]
fn grounds_without_ruts_in_pictures_stay_as_they_are() {
    let steep = Plane { normal: DVec3::X, distance: -3.0, material: Default::default() };
    let model = world(steep.into());
    let mut scene = Scene::new(&model).expect("a valid case");
    let before = from_above(&scene, &model, 0.0);
    scene.set_ruts(&[(0, bowl(0.1)), (7, bowl(0.1))]);
    assert_eq!(from_above(&scene, &model, 0.0), before);
    // Depths that are no numbers count as none, and far places are places.
    let model = world(level_plane());
    let mut scene = Scene::new(&model).expect("a valid case");
    let wrong = |cell: usize| [f64::NAN, f64::INFINITY, -1.0][cell % 3];
    scene.set_ruts(&[(0, pressed_tiles(&[[i32::MAX, i32::MIN], [0, 0]], wrong))]);
    let image = from_above(&scene, &model, 0.0);
    let deepest = image.pixels.iter().copied().fold(0.0, f32::max);
    assert!((5.0..13.0).contains(&deepest), "{deepest}");
}
