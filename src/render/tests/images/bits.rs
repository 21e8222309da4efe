//! The same bits everywhere.
//!
//! The hashes of images are numbers of this file. They are the same on every number of threads, and `.ci/run` compares
//! them once more in a build without AVX2.

use bevy_math::DVec3;
use simpartner_model::{Mechanism, Pose, RutDepths};
use simpartner_render::{Camera, Distortion, Optics, Owner, Rendering, Scene, View, looking_at};

use crate::worlds::{cameras, every_shape, hills, level_plane, view};

/// Of the images of two worlds by four cameras.
const WORLDS_HASH: &str = "e40027d2e25b279cb610b5ed814367be";

/// Of the frames of a moving world: their number, and the hash.
const SHORT_FILM: (u32, &str) = (50, "86a5d5efd0d1aa758a20dab64a9c368f");
/// The same with `SIMPARTNER_LONG_TESTS=1`.
const LONG_FILM: (u32, &str) = (1000, "36a7960d6f2b110d13717a0cb2f3abb1");

const THREAD_COUNTS: [usize; 3] = [1, 2, 4];

fn lenses() -> [Distortion; 3] {
    let brown = Distortion::BrownConrady { radial: [-0.2, 0.05, 0.0], tangential: [1e-3, -5e-4] };
    [Distortion::None, brown, Distortion::Fisheye { coefficients: [0.02, 0.0, 0.0, 0.0] }]
}

fn bytes_of(view: &View<'_>, threads: usize) -> Vec<u8> {
    let rendering = Rendering { samples_per_side: 2, ..Rendering::default() };
    let mut bytes = view.color_image(&rendering, threads).pixels.as_flattened().to_vec();
    bytes.extend(view.depth_image(threads).pixels.iter().flat_map(|depth| depth.to_bits().to_le_bytes()));
    bytes.extend(view.segmentation_image(threads).pixels.iter().flat_map(|owner| {
        let code = match owner {
            None => -1,
            Some(Owner::Body(id)) => id.index() as i32,
            Some(Owner::Ground(number)) => -2 - *number as i32,
        };
        code.to_le_bytes()
    }));
    bytes
}

#[test]
fn images_have_one_hash_on_one_two_and_four_threads_and_on_every_processor() {
    let optics = Optics::pinhole(96, 72, 1.2);
    let mut hashes = THREAD_COUNTS.map(|threads| (threads, blake3::Hasher::new()));
    for model in [every_shape(level_plane()), every_shape(hills())] {
        let scene = Scene::new(&model).unwrap();
        for (pose, distortion) in cameras().into_iter().zip(lenses().into_iter().cycle()) {
            let camera = Camera::new(Optics { distortion, ..optics }).unwrap();
            let view = view(&scene, &model, camera, pose);
            for (threads, hash) in &mut hashes {
                hash.update(&bytes_of(&view, *threads));
            }
        }
    }
    for (threads, hash) in hashes {
        assert_eq!(&hash.finalize().to_hex()[..32], WORLDS_HASH, "on {threads} threads");
    }
}

/// A rut that grows along x from frame to frame.
fn rut_of_frame(frame: u32) -> RutDepths {
    let mut depths = RutDepths::default();
    for step in 0..=frame.min(300) {
        let middle = [0.01 * f64::from(step) - 1.0, 0.8];
        let (tile, cell) = simpartner_model::rut_cell(middle).expect("a place near the origin");
        let depth = &mut depths.tile_mut(tile)[cell];
        *depth = depth.max(0.05 + 0.02 * libm::sin(0.1 * f64::from(step)));
    }
    depths
}

/// A frame of a world of all shapes, which turn while the camera goes around them.
fn frame_bytes(scene: &Scene, model: &Mechanism, frame: u32, threads: usize) -> Vec<u8> {
    let time = 0.04 * f64::from(frame);
    let pose = |(index, body): (usize, &simpartner_model::Body)| {
        let turn = Pose::from_xyz_rpy(DVec3::Y * 0.1 * libm::sin(time), DVec3::new(0.3 * time, time, index as f64));
        body.pose.then(&turn)
    };
    let poses: Vec<Pose> = model.bodies.iter().enumerate().map(pose).collect();
    let (sine, cosine) = libm::sincos(0.3 * time);
    let from = DVec3::new(6.0 * cosine, 2.5 + libm::sin(0.7 * time), 5.0 * sine);
    let eye = looking_at(from, DVec3::new(0.2, 0.5, 0.0)).expect("two points");
    let distortion = lenses()[frame as usize % 3];
    let camera = Camera::new(Optics { distortion, ..Optics::pinhole(64, 48, 1.2) }).expect("a camera");
    bytes_of(&View::new(scene, &poses, camera, eye).expect("finite poses"), threads)
}

#[test]
fn a_thousand_frames_have_one_hash_on_one_two_and_four_threads() {
    let (count, expected) = match std::env::var_os("SIMPARTNER_LONG_TESTS") {
        Some(_) => LONG_FILM,
        None => SHORT_FILM,
    };
    let worlds = [every_shape(level_plane()), every_shape(hills())];
    let mut scenes = worlds.each_ref().map(|model| Scene::new(model).unwrap());
    let mut hashes = THREAD_COUNTS.map(|threads| (threads, blake3::Hasher::new()));
    for frame in 0..count {
        let world = frame as usize % 2;
        scenes[world].set_ruts(&[(0, rut_of_frame(frame))]);
        for (threads, hash) in &mut hashes {
            hash.update(&frame_bytes(&scenes[world], &worlds[world], frame, *threads));
        }
    }
    let hashes = hashes.map(|(threads, hash)| (threads, hash.finalize().to_hex()[..32].to_owned()));
    for (threads, hash) in hashes {
        assert_eq!(hash, expected, "{count} frames on {threads} threads");
    }
}
