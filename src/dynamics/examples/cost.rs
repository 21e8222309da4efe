use bevy_math::{DQuat, DVec3};
use simpartner_dynamics::{Settings, build};
use simpartner_model::*;
fn body(name: &str, mass: f64, shape: Shape, at: DVec3) -> Body {
    Body {
        name: name.into(),
        robot: None,
        pose: Pose { translation: at, rotation: DQuat::IDENTITY },
        linear_velocity: DVec3::ZERO,
        angular_velocity: DVec3::ZERO,
        fixed: false,
        mass,
        inertia: None,
        shape: Some(Placed { pose: Pose::IDENTITY, shape }),
        collision: None,
        material: Material::default(),
        source: String::new(),
    }
}
fn main() {
    let which = std::env::args().nth(1).unwrap();
    let steps: usize = std::env::args().nth(2).unwrap().parse().unwrap();
    let mut m = Mechanism { gravity: DVec3::new(0.0, -9.81, 0.0), ..Mechanism::default() };
    m.plane =
        Some(Plane { normal: DVec3::Y, distance: 0.0, material: Material { friction: 0.8, ..Material::default() } });
    match &*which {
        "stack" => {
            for i in 0..10 {
                m.bodies.push(body(
                    "b",
                    10.0,
                    Shape::Box { size: DVec3::splat(0.5) },
                    DVec3::new(0.001 * (i % 2) as f64, 0.25 + 0.5 * i as f64, 0.0),
                ))
            }
        }
        "mixed" => {
            for k in 0..100usize {
                let shape = match k % 6 {
                    0 => Shape::Box { size: DVec3::new(0.2, 0.15, 0.3) },
                    1 => Shape::Sphere { radius: 0.1 },
                    2 => Shape::Cylinder { radius: 0.1, length: 0.25 },
                    3 => Shape::Capsule { radius: 0.08, length: 0.2 },
                    4 => Shape::Cone { radius: 0.12, length: 0.25 },
                    _ => Shape::ConvexHull {
                        points: (0..12)
                            .map(|i| {
                                let a = i as f64 * 2.4;
                                let y = 1.0 - 2.0 * (i as f64 + 0.5) / 12.0;
                                let r = (1.0 - y * y).sqrt();
                                DVec3::new(r * libm::cos(a), y, r * libm::sin(a)) * 0.14
                            })
                            .collect(),
                    },
                };
                let at = DVec3::new(0.3 * (k % 4) as f64, 0.3 + 0.3 * (k / 16) as f64, 0.3 * (k / 4 % 4) as f64);
                let mut b = body("m", 1.0, shape, at);
                b.pose.rotation = DQuat::from_rotation_x(0.3 * k as f64) * DQuat::from_rotation_y(0.7 * k as f64);
                b.material.friction = 0.5;
                m.bodies.push(b);
            }
        }
        "hulls" => {
            for i in 0..10 {
                let points = (0..16)
                    .map(|k| {
                        let a = (k / 2) as f64 * std::f64::consts::FRAC_PI_4;
                        DVec3::new(0.3 * libm::cos(a), if k % 2 == 0 { -0.1 } else { 0.1 }, 0.3 * libm::sin(a))
                    })
                    .collect();
                m.bodies.push(body(
                    "h",
                    5.0,
                    Shape::ConvexHull { points },
                    DVec3::new(0.001 * (i % 2) as f64, 0.1 + 0.2 * i as f64, 0.0),
                ));
            }
        }
        "cans" => {
            for i in 0..10 {
                m.bodies.push(body(
                    "c",
                    5.0,
                    Shape::Cylinder { radius: 0.1, length: 0.2 },
                    DVec3::new(0.001 * (i % 2) as f64, 0.1 + 0.2 * i as f64, 0.0),
                ))
            }
        }
        "car" => {
            m.plane = None;
            let n = 129;
            let w = 64.0;
            let heights = (0..n * n)
                .map(|k| {
                    let (i, j) = (k % n, k / n);
                    0.1 * libm::sin(i as f64 * 0.35) * libm::cos(j as f64 * 0.3)
                })
                .collect();
            m.heightfield = Some(Heightfield {
                width: w,
                depth: w,
                points_x: n,
                points_z: n,
                heights,
                material: Material { friction: 0.8, ..Material::default() },
            });
            m.bodies.push(body(
                "chassis",
                20.0,
                Shape::Box { size: DVec3::new(1.0, 0.2, 0.5) },
                DVec3::new(0.0, 0.7, 0.0),
            ));
            for k in 0..4 {
                let at = DVec3::new(if k & 1 == 0 { 0.4 } else { -0.4 }, 0.5, if k & 2 == 0 { 0.4 } else { -0.4 });
                let mut b = body("w", 2.0, Shape::Cylinder { radius: 0.2, length: 0.1 }, at);
                b.shape.as_mut().unwrap().pose.rotation = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2);
                m.bodies.push(b);
                let free = Axis::Free(FreeAxis::default());
                m.joints.push(Joint {
                    name: format!("j{k}"),
                    robot: None,
                    kind: JointKind::Hinge,
                    parent: BodyId::new(0),
                    child: BodyId::new(k + 1),
                    anchor: at,
                    frame: DQuat::IDENTITY,
                    axes: [Axis::Locked, Axis::Locked, free],
                    source: String::new(),
                });
            }
            m.bodies[0].linear_velocity = DVec3::X;
        }
        _ => panic!(),
    }
    let mut e = build(&m, Timestep::MILLISECOND, &Settings::default()).unwrap();
    for _ in 0..steps {
        e.step();
    }
    let mut sum = 0;
    let t = std::time::Instant::now();
    for _ in 0..steps {
        e.step();
        sum += e.contacts().len();
    }
    println!(
        "{which} {:.2} us/step, {:.1} contacts, y {:?}",
        t.elapsed().as_secs_f64() / steps as f64 * 1e6,
        sum as f64 / steps as f64,
        e.body(BodyId::new(0)).pose.translation
    );
}
