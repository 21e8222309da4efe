//! Worlds of the tests.

use std::sync::Arc;

use bevy_math::DVec3;
use simpartner_model::{
    Body, Color, Ground, Heightfield, Look, Material, Mechanism, Placed, Plane, Pose, Shape, Visual, random::Stream,
};
use simpartner_render::{Camera, Optics, Scene, View, looking_at};

pub fn body(shape: Shape, pose: Pose) -> Body {
    let placed = Placed { pose: Pose::IDENTITY, shape };
    Body { name: placed.shape.name().into(), pose, shape: Some(placed), ..Body::default() }
}

pub fn at(x: f64, y: f64, z: f64) -> Pose {
    Pose::from_xyz_rpy(DVec3::new(x, y, z), DVec3::new(0.4 * x, 0.3 + z, 0.5 - 0.2 * x))
}

pub fn colored(mut body: Body, color: Color) -> Body {
    let placed = body.shape.clone().expect("a body with a shape");
    body.visuals = vec![Visual { placed, color: Some(color), look: Look::default() }];
    body
}

pub fn level_plane() -> Ground {
    Plane { normal: DVec3::Y, distance: 0.0, material: Material::default() }.into()
}

pub fn hills() -> Ground {
    let mut field = Heightfield {
        points_x: 61,
        points_z: 49,
        width: 24.0,
        depth: 18.0,
        heights: Arc::new([]),
        pose: Pose::from_xyz_rpy(DVec3::new(0.5, -0.4, 0.2), DVec3::new(0.0, 0.3, 0.0)),
        material: Material::default(),
    };
    let place = |index: usize| field.position(index / 49, index % 49);
    let height = |(x, z): (f64, f64)| 0.4 * libm::sin(0.9 * x) * libm::cos(0.7 * z) + 0.1 * libm::sin(3.1 * x + z);
    field.heights = (0..61 * 49).map(place).map(height).collect();
    field.into()
}

/// A torus of so many triangles around y, with outward triangles.
pub fn torus(around: u32, across: u32) -> Shape {
    let vertex = |i: u32, j: u32| {
        let turn = |k: u32, count: u32| libm::sincos(f64::from(k) / f64::from(count) * std::f64::consts::TAU);
        let ((sine, cosine), (up, out)) = (turn(i, around), turn(j, across));
        let radius = 0.6 + 0.25 * out;
        DVec3::new(radius * cosine, 0.25 * up, radius * sine)
    };
    let number = |i: u32, j: u32| (i % around) * across + j % across;
    let cells = (0..around).flat_map(|i| (0..across).map(move |j| (i, j)));
    Shape::TriangleMesh {
        vertices: cells.clone().map(|(i, j)| vertex(i, j)).collect(),
        triangles: cells
            .flat_map(|(i, j)| {
                let [a, b, c, d] = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)].map(|(i, j)| number(i, j));
                [[a, c, b], [a, d, c]]
            })
            .collect(),
    }
}

pub fn hull(seed: u64) -> Shape {
    let mut stream = Stream::from_number(seed);
    let mut number = || stream.between(-0.5, 0.5);
    Shape::ConvexHull { points: (0..24).map(|_| DVec3::new(number(), number(), number())).collect() }
}

/// One of every shape on a plane or on hills.
pub fn every_shape(ground: Ground) -> Mechanism {
    let part = |shape, x| Placed { pose: at(x, 0.1, 0.0), shape };
    let compound = Shape::Compound {
        parts: vec![
            part(Shape::Box { size: DVec3::new(0.3, 0.9, 0.3) }, -0.2),
            part(Shape::Sphere { radius: 0.3 }, 0.35),
        ],
    };
    let bodies = vec![
        body(Shape::Box { size: DVec3::new(0.8, 0.5, 1.1) }, at(-2.0, 0.6, -1.0)),
        body(Shape::Sphere { radius: 0.5 }, at(0.0, 0.7, -1.2)),
        body(Shape::Cylinder { radius: 0.4, length: 0.9 }, at(2.0, 0.9, -1.0)),
        body(Shape::Capsule { radius: 0.3, length: 0.6 }, at(-2.1, 0.8, 1.0)),
        body(Shape::Cone { radius: 0.5, length: 1.0 }, at(0.2, 0.8, 1.1)),
        body(hull(11), at(2.0, 0.7, 1.0)),
        body(torus(48, 24), at(0.1, 1.6, 0.1)),
        body(compound, at(3.6, 0.8, -0.2)),
    ];
    Mechanism { grounds: vec![ground], bodies, ..Mechanism::default() }
}

/// The poses of cameras around a scene.
pub fn cameras() -> Vec<Pose> {
    [(6.0, 3.0, 4.0), (-5.0, 1.5, 5.0), (0.3, 7.0, 0.2), (-0.5, 1.0, -6.0)]
        .into_iter()
        .map(|(x, y, z)| looking_at(DVec3::new(x, y, z), DVec3::new(0.4, 0.7, 0.0)).expect("two points"))
        .collect()
}

pub fn camera(width: u32, height: u32) -> Camera {
    Camera::new(Optics::pinhole(width, height, 1.1)).expect("a camera")
}

pub fn view<'s>(scene: &'s Scene, model: &Mechanism, camera: Camera, pose: Pose) -> View<'s> {
    View::of_start(scene, model, camera, pose).expect("finite poses")
}
