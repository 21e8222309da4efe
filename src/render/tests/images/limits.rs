//! What has no picture, and pictures from unusual places.

use bevy_math::{DQuat, DVec3};
use simpartner_model::{BodyId, Color, Ground, GroundMesh, Material, Mechanism, Plane, Pose, Shape};
use simpartner_render::{Camera, MAX_PIXELS, Optics, Owner, Rendering, Scene, SceneError, View, looking_at, overview};

use crate::worlds::{at, body, camera, colored, every_shape, hills, level_plane, torus, view};

#[test]
fn an_image_has_at_most_so_many_pixels() {
    let side = 1 << 12;
    assert_eq!(u64::from(side) * u64::from(side), MAX_PIXELS);
    assert!(Camera::new(Optics::pinhole(side, side, 1.0)).is_ok());
    let refused = Camera::new(Optics::pinhole(side + 1, side, 1.0)).unwrap_err().to_string();
    assert!(refused.contains("4097 x 4096 pixels") && refused.contains("at most 16777216"), "{refused}");
}

#[test]
fn poses_that_are_no_numbers_are_refused_by_name() {
    let model = every_shape(level_plane());
    let scene = Scene::new(&model).unwrap();
    let poses: Vec<Pose> = model.bodies.iter().map(|body| body.pose).collect();
    let eye = looking_at(DVec3::ONE, DVec3::ZERO).unwrap();
    for wrong in [
        Pose { translation: DVec3::new(0.0, f64::NAN, 0.0), ..Pose::IDENTITY },
        Pose { translation: DVec3::X * f64::INFINITY, ..Pose::IDENTITY },
        Pose { rotation: DQuat::from_xyzw(0.0, f64::NAN, 0.0, 1.0), ..Pose::IDENTITY },
        Pose { rotation: DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0), ..Pose::IDENTITY },
    ] {
        let mut moved = poses.clone();
        moved[3] = wrong;
        assert_eq!(View::new(&scene, &moved, camera(8, 8), eye).unwrap_err(), SceneError::Pose("body 3".into()));
        let refused = View::new(&scene, &poses, camera(8, 8), wrong).unwrap_err();
        assert_eq!(refused, SceneError::Pose("the camera".into()));
    }
    let refused = View::new(&scene, &poses[1..], camera(8, 8), eye).unwrap_err();
    assert_eq!(refused, SceneError::PoseCount { given: 7, expected: 8 });
}

#[test]
fn shapes_that_cannot_be_seen_are_refused_with_their_place() {
    let refused = |shape: Shape| {
        let mut wrong = body(shape, Pose::IDENTITY);
        (wrong.name, wrong.source) = ("lump".into(), "yard.xml:3:5".into());
        Scene::new(&Mechanism { bodies: vec![wrong], ..Mechanism::default() }).unwrap_err().to_string()
    };
    let flat = refused(Shape::ConvexHull { points: vec![DVec3::X, DVec3::Y, DVec3::Z, DVec3::ONE / 3.0] });
    assert!(flat.starts_with("yard.xml:3:5: the convexHull of 'lump' cannot be drawn: its points span no"), "{flat}");
    let mesh = |vertex: DVec3, corner: u32| Shape::TriangleMesh {
        vertices: vec![DVec3::X, DVec3::Y, vertex],
        triangles: vec![[0, 1, corner]],
    };
    assert!(refused(mesh(DVec3::NAN, 2)).contains("its corners and pose are finite"));
    assert!(refused(mesh(DVec3::X * 1e300, 2)).contains("its corners and pose are finite"));
    assert!(refused(mesh(DVec3::Z, 3)).contains("a corner that is not in the list"));
    assert!(refused(Shape::Sphere { radius: f64::NAN }).contains("its size and pose are finite"));
    let plane = Plane { normal: DVec3::ZERO, distance: 0.0, material: Material::default() };
    let refused = Scene::new(&Mechanism { grounds: vec![plane.into()], ..Mechanism::default() });
    assert!(refused.unwrap_err().to_string().contains("ground 0"));
}

/// A solid is seen from outside, so a camera in it looks through it; a mesh of triangles is seen from inside as well.
#[test]
fn a_camera_in_a_solid_looks_through_it() {
    let ball = body(Shape::Sphere { radius: 1.0 }, Pose::IDENTITY);
    let behind = body(Shape::Box { size: DVec3::ONE }, Pose { translation: DVec3::Z * 5.0, ..Pose::IDENTITY });
    let model = Mechanism { bodies: vec![ball, behind], ..Mechanism::default() };
    let scene = Scene::new(&model).unwrap();
    let inside = view(&scene, &model, camera(9, 9), Pose::IDENTITY);
    assert_eq!(*inside.segmentation_image(1).pixel(4, 4), Some(Owner::Body(BodyId::new(1))));
    assert_eq!(*inside.depth_image(1).pixel(4, 4), 4.5);

    let ring = Mechanism { bodies: vec![body(torus(40, 20), Pose::IDENTITY)], ..Mechanism::default() };
    let scene = Scene::new(&ring).unwrap();
    let tube = Pose { translation: DVec3::X * 0.6, ..Pose::IDENTITY };
    let seen = view(&scene, &ring, camera(9, 9), tube).segmentation_image(1);
    assert!(seen.pixels.iter().all(|owner| *owner == Some(Owner::Body(BodyId::new(0)))));
}

/// With an opacity of a half, a pane shows half of itself and half of what is behind it, in linear light.
#[test]
fn a_transparent_pane_shows_what_is_behind_it() {
    let pane = |z: f64, color: Color| {
        let shape = Shape::Box { size: DVec3::new(4.0, 4.0, 0.1) };
        colored(body(shape, Pose { translation: DVec3::Z * z, ..Pose::IDENTITY }), color)
    };
    let white = Color { red: 255, green: 255, blue: 255, alpha: 255 };
    let dark = Color { red: 0, green: 0, blue: 0, alpha: 255 };
    let of = |front: Color| {
        let model = Mechanism { bodies: vec![pane(2.0, front), pane(4.0, white)], ..Mechanism::default() };
        let scene = Scene::new(&model).unwrap();
        let image = view(&scene, &model, camera(3, 3), Pose::IDENTITY).color_image(&Rendering::default(), 1);
        image.pixel(1, 1).map(|byte| ((f64::from(byte) / 255.0 + 0.055) / 1.055).powf(2.4))
    };
    let (clear, half) = (of(Color { alpha: 0, ..dark }), of(Color { alpha: 128, ..dark }));
    for (clear, half) in clear.into_iter().zip(half) {
        // A byte of sRGB is at most a hundredth of the light here.
        assert!((half / clear - 127.0 / 255.0).abs() < 0.01, "{half} of {clear}");
    }
    assert_eq!(of(dark), [0.0_f64; 3].map(|zero: f64| ((zero + 0.055) / 1.055).powf(2.4)));
}

#[test]
fn the_shadow_of_a_ball_lies_where_the_sun_puts_it() {
    let ball = body(Shape::Sphere { radius: 0.5 }, Pose { translation: DVec3::Y * 2.0, ..Pose::IDENTITY });
    let model = Mechanism { grounds: vec![level_plane()], bodies: vec![ball], ..Mechanism::default() };
    let scene = Scene::new(&model).unwrap();
    let rendering = Rendering::default();
    let sun = rendering.light.to_sun;
    let middle = DVec3::Y * 2.0 - sun * (2.0 / sun.y);
    let brightness = |point: DVec3| {
        let eye = looking_at(DVec3::new(-4.0, 6.0, -5.0), point).unwrap();
        let image = view(&scene, &model, camera(3, 3), eye).color_image(&rendering, 1);
        image.pixel(1, 1).map(u32::from).iter().sum::<u32>()
    };
    // Across the sun, the shadow is as wide as the ball.
    let across = sun.cross(DVec3::Y).normalize();
    for side in [-1.0, 1.0] {
        let (inside, outside) = (brightness(middle + side * 0.48 * across), brightness(middle + side * 0.52 * across));
        assert!(inside * 4 < outside * 3, "{inside} {outside}");
    }
}

/// An overview has all corners of all bodies in its picture, over hills and for a tall picture as well.
#[test]
fn an_overview_shows_every_body() {
    for (width, height) in [(160, 120), (60, 200), (200, 40)] {
        for ground in [level_plane(), hills()] {
            let model = every_shape(ground);
            let scene = Scene::new(&model).unwrap();
            let camera = camera(width, height);
            let eye = overview(&scene, &model, &camera).unwrap();
            let seen = view(&scene, &model, camera, eye).segmentation_image(2);
            for (id, _) in model.bodies() {
                assert!(seen.pixels.contains(&Some(Owner::Body(id))), "{width} x {height}: no {}", id.index());
            }
            let is_edge = |place: usize| {
                let (column, row) = (place % width as usize, place / width as usize);
                column == 0 || row == 0 || column + 1 == width as usize || row + 1 == height as usize
            };
            let at_edge = seen.pixels.iter().enumerate().filter(|(place, _)| is_edge(*place));
            assert!(!at_edge.into_iter().any(|(_, owner)| matches!(owner, Some(Owner::Body(_)))));
        }
    }
}

#[test]
fn worlds_of_little_have_pictures() {
    let triangle = GroundMesh {
        vertices: vec![DVec3::ZERO, DVec3::Z * 3.0, DVec3::X * 3.0],
        triangles: vec![[0, 1, 2]],
        material: Material::default(),
    };
    let mut worlds = vec![Mechanism::default()];
    worlds.push(Mechanism { bodies: vec![simpartner_model::Body::default()], ..Mechanism::default() });
    worlds.push(Mechanism { grounds: vec![Ground::Mesh(triangle)], ..Mechanism::default() });
    worlds.push(Mechanism {
        bodies: vec![body(Shape::Sphere { radius: 0.01 }, at(3.0, 1.0, 2.0))],
        ..Mechanism::default()
    });
    for model in worlds {
        let scene = Scene::new(&model).unwrap();
        let eye = overview(&scene, &model, &camera(32, 24)).unwrap();
        let view = view(&scene, &model, camera(32, 24), eye);
        assert_eq!(view.color_image(&Rendering::default(), 2).pixels.len(), 32 * 24);
        let something = !model.grounds.is_empty() || model.bodies.iter().any(|body| body.shape.is_some());
        assert_eq!(view.segmentation_image(1).pixels.iter().any(Option::is_some), something);
    }
}
