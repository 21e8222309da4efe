//! The same bits everywhere.
//!
//! The hash of all images of a scene is a number of this file. It was the same with `RUSTFLAGS="-C target-cpu=x86-64"`
//! and with AVX2, and on every number of threads.

use simpartner_render::{Camera, Distortion, Optics, Owner, Rendering, Scene, View};

use crate::worlds::{cameras, every_shape, hills, level_plane, view};

const HASH: &str = "9188dc57928f6b685e809f35c1ae2740";

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
    let brown = Distortion::BrownConrady { radial: [-0.2, 0.05, 0.0], tangential: [1e-3, -5e-4] };
    let lenses = [Distortion::None, brown, Distortion::Fisheye { coefficients: [0.02, 0.0, 0.0, 0.0] }];
    let mut hashes = [1, 2, 4].map(|threads| (threads, blake3::Hasher::new()));
    for model in [every_shape(level_plane()), every_shape(hills())] {
        let scene = Scene::new(&model).unwrap();
        for (pose, distortion) in cameras().into_iter().zip(lenses.into_iter().cycle()) {
            let camera = Camera::new(Optics { distortion, ..optics }).unwrap();
            let view = view(&scene, &model, camera, pose);
            for (threads, hash) in &mut hashes {
                hash.update(&bytes_of(&view, *threads));
            }
        }
    }
    for (threads, hash) in hashes {
        assert_eq!(&hash.finalize().to_hex()[..32], HASH, "on {threads} threads");
    }
}
