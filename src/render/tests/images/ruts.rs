//! Ruts in images: the surface of a ground lies lower where its cells are pressed.

use bevy_math::DVec3;
use simpartner_model::{Ground, Mechanism, Plane};
use simpartner_render::{
    Camera, DepthImage, Optics, Owner, RUT_CELL_SIZE, RUT_TILE_CELLS, Rendering, RutDepths, Scene, looking_at,
};

use crate::worlds::{hills, level_plane, view};

const SIZE: f64 = RUT_TILE_CELLS as f64 * RUT_CELL_SIZE;

/// A bowl of this depth around the middle of a tile.
fn bowl(depth: f32) -> RutDepths {
    std::array::from_fn(|cell| {
        let place = |at: usize| (at as f32 + 0.5) / RUT_TILE_CELLS as f32 - 0.5;
        let (x, z) = (place(cell % RUT_TILE_CELLS), place(cell / RUT_TILE_CELLS));
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
        assert!(scene.set_ruts(0, [([0, 0], &depths)]));
        let after = from_above(&scene, &model, height);
        let place = RUT_TILE_CELLS / 2 * RUT_TILE_CELLS + RUT_TILE_CELLS / 2;
        let about = [0, 1, RUT_TILE_CELLS, RUT_TILE_CELLS + 1].map(|step| f64::from(depths[place - step]));
        let expected = 0.25 * about.iter().sum::<f64>();
        let sunk = f64::from(after.pixel(50, 50) - before.pixel(50, 50));
        // On a slope, the depth is along the normal.
        assert!(sunk > expected - 1e-6 && sunk < 1.2 * expected, "{sunk} {expected}");
        // Beside the tile nothing has changed; the picture shows 25 cm to each side of its middle, the tile 16.
        let beside = |column: usize, row: usize| after.pixel(column, row) == before.pixel(column, row);
        assert!((0..101).all(|column| beside(column, 3) && beside(3, column)));
        assert!(after.pixels.iter().all(|depth| depth.is_finite()), "no ray falls through");
        assert!(after.pixels.iter().zip(&before.pixels).all(|(after, before)| *after >= before - 1e-3));
        scene.clear_ruts();
        assert_eq!(from_above(&scene, &model, height), before);
    }
}

/// Neighbouring tiles join: a trough over three of them has one depth along its middle.
#[test]
fn tiles_join_to_a_trough_without_a_seam() {
    let model = world(level_plane());
    let mut scene = Scene::new(&model).expect("a valid case");
    let flat: RutDepths = [0.05; RUT_TILE_CELLS * RUT_TILE_CELLS];
    assert!(scene.set_ruts(0, [-1, 0, 1].map(|x| ([x, 0], &flat))));
    let image = from_above(&scene, &model, 0.0);
    for column in 0..101 {
        assert!((image.pixel(column, 50) - 2.05).abs() < 1e-5, "{column}: {}", image.pixel(column, 50));
    }
    // A copy keeps what it had when another scene changes.
    let copy = scene.clone();
    scene.clear_ruts();
    assert_eq!(from_above(&copy, &model, 0.0), image);
}

/// At a low angle too, each pixel shows the ground, with one result on all numbers of threads.
#[test]
fn ruts_belong_to_their_ground_and_have_shadows() {
    let model = world(level_plane());
    let mut scene = Scene::new(&model).expect("a valid case");
    let camera = Camera::new(Optics::pinhole(160, 120, 0.8)).expect("a valid case");
    let eye = looking_at(DVec3::new(1.0, 0.35, 0.9), DVec3::new(0.16, 0.0, 0.16)).expect("a valid case");
    let before = view(&scene, &model, camera, eye).color_image(&Rendering::default(), 1);
    let depths = bowl(0.1);
    assert!(scene.set_ruts(0, [([0, 0], &depths)]));
    let view = view(&scene, &model, camera, eye);
    let image = view.color_image(&Rendering::default(), 1);
    assert_eq!(view.color_image(&Rendering::default(), 3), image);
    let darker = image.pixels.iter().zip(&before.pixels).filter(|(now, then)| now[0] + 20 < then[0]).count();
    assert!(darker > 100, "{darker} pixels of the bowl are in its shadow or face away from the sun");
    let owners = view.segmentation_image(1);
    assert!((60..120).all(|row| (0..160).all(|column| *owners.pixel(column, row) == Some(Owner::Ground(0)))));
}

#[test]
fn grounds_without_ruts_in_pictures_say_so() {
    let steep = Plane { normal: DVec3::X, distance: -3.0, material: Default::default() };
    let mut scene = Scene::new(&world(steep.into())).expect("a valid case");
    assert!(!scene.set_ruts(0, [([0, 0], &bowl(0.1))]) && !scene.set_ruts(7, [([0, 0], &bowl(0.1))]));
    // Depths that are no numbers count as none, and far places are places.
    let model = world(level_plane());
    let mut scene = Scene::new(&model).expect("a valid case");
    let wrong: RutDepths = std::array::from_fn(|cell| [f32::NAN, f32::INFINITY, -1.0][cell % 3]);
    assert!(scene.set_ruts(0, [([i32::MAX, i32::MIN], &wrong), ([0, 0], &wrong)]));
    let image = from_above(&scene, &model, 0.0);
    let deepest = image.pixels.iter().copied().fold(0.0, f32::max);
    assert!((5.0..13.0).contains(&deepest), "{deepest}");
}
