//! Collision filters, on both engines.

use bevy_math::DVec3;
use simpartner_model::{Body, BodyId, CollisionFilter, Timestep};

use crate::scene::{self, G, Within, body, close, cube, with_plane};

/// A body falls through another one from which a pair or its categories separate it, and lands on the ground; without a
/// category it falls through the ground.
#[test]
fn what_is_kept_apart_does_not_touch() {
    let filtered = |category, collides_with| CollisionFilter { category, collides_with };
    let cases = [
        ("touching", None, [CollisionFilter::default(); 2], 1.5),
        ("excluded", Some([BodyId::new(1), BodyId::new(0)]), [CollisionFilter::default(); 2], 0.5),
        ("other categories", None, [filtered(1, 1), filtered(2, 2)], 0.5),
        ("one of them is enough", None, [filtered(1, 0), filtered(2, 1)], 1.5),
        ("in no category", None, [CollisionFilter::default(), filtered(0, 0)], 2.0 - G / 2.0),
    ];
    for (name, apart, filters, height) in cases {
        let mut world = with_plane(scene::world(), 0.5);
        world
            .mechanism
            .bodies
            .push(Body { filter: filters[0], ..body("lower", 1.0, cube(1.0), DVec3::new(0.0, 0.5, 0.0)) });
        world
            .mechanism
            .bodies
            .push(Body { filter: filters[1], ..body("upper", 1.0, cube(1.0), DVec3::new(0.0, 2.0, 0.0)) });
        world.mechanism.apart.extend(apart);
        let mut engine =
            simpartner_dynamics::build(&world.mechanism, Timestep::MILLISECOND, &scene::settings()).unwrap();
        for _ in 0..1000 {
            engine.step();
        }
        let found = engine.body(BodyId::new(1)).pose.translation.y;
        close(name, found, height, Within { dynamics: 1e-5, rapier: 2e-2 });
    }
}
