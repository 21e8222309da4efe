//! Worlds of free bodies: rows, heaps, stacks and piles. The comparison with other engines uses them as well.

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_model::Shape;

use crate::scene::{self, ball, body, cube};

/// A level ground.
pub fn plane() -> World {
    scene::with_plane(scene::world(), 0.8)
}

/// The first leans on the second.
pub fn dominoes() -> World {
    let mut world = plane();
    for index in 0..20 {
        let shape = Some(Shape::Box { size: DVec3::new(0.012, 0.1, 0.05) });
        let mut one = body("domino", 0.06, shape, DVec3::new(0.04 * f64::from(index), 0.05, 0.0));
        one.material.friction = 0.6;
        if index == 0 {
            one.pose.translation += DVec3::new(0.008, 0.0003, 0.0);
            one.pose.rotation = DQuat::from_rotation_z(-0.16);
        }
        world.mechanism.bodies.push(one);
    }
    world
}

/// Cubes that fall on a heap, five by five in four layers.
pub fn boxes() -> World {
    heap(100, 5, |_| cube(0.2))
}

/// Boxes, balls, cylinders and capsules that fall on a heap, five by five in twelve layers.
pub fn mixed() -> World {
    heap(300, 5, |index| match index % 4 {
        0 => Some(Shape::Box { size: DVec3::new(0.2, 0.15, 0.1) }),
        1 => ball(0.1),
        2 => Some(Shape::Cylinder { radius: 0.08, length: 0.2 }),
        _ => Some(Shape::Capsule { radius: 0.06, length: 0.15 }),
    })
}

fn heap(count: usize, side: usize, shape: impl Fn(usize) -> Option<Shape>) -> World {
    let mut world = plane();
    for index in 0..count {
        let (i, j, level) = (index % side, index / side % side, index / (side * side));
        let at = DVec3::new(0.3 * i as f64, 0.2 + 0.3 * level as f64, 0.3 * j as f64);
        let mut one = body("lump", 1.0, shape(index), at);
        one.pose.rotation = DQuat::from_rotation_x(0.3 * index as f64) * DQuat::from_rotation_y(0.7 * index as f64);
        one.material.friction = 0.5;
        world.mechanism.bodies.push(one);
    }
    world
}

/// Ten stacked boxes, every other one shifted sideways by `offset`, m.
pub fn stack(offset: f64) -> World {
    let mut world = plane();
    for index in 0..10 {
        let aside = if index % 2 == 1 { offset } else { 0.0 };
        let at = DVec3::new(aside, 0.25 + 0.5 * f64::from(index), 0.5 * aside);
        let mut one = body("box", 10.0, cube(0.5), at);
        one.material.friction = 0.5;
        world.mechanism.bodies.push(one);
    }
    world
}

/// Boxes and balls of 1 to 50 kg that fall on a heap, `side` of them along each edge.
pub fn pile(side: usize) -> World {
    let mut world = plane();
    for index in 0..side * side * side {
        let (i, j, level) = (index % side, index / side % side, index / (side * side));
        let s = 0.15 + 0.05 * ((index * 7) % 5) as f64;
        let shape = match index % 4 {
            0 => ball(0.25),
            _ => Some(Shape::Box { size: DVec3::new(s, 0.4 - s, 0.2) * 2.0 }),
        };
        let at = DVec3::new(0.7 * i as f64, 1.0 + 0.9 * level as f64, 0.7 * j as f64);
        let mut one = body("lump", [1.0, 5.0, 50.0][index % 3], shape, at);
        one.pose.rotation = DQuat::from_rotation_x(0.3 * index as f64) * DQuat::from_rotation_y(0.7 * index as f64);
        one.material.friction = 0.5;
        world.mechanism.bodies.push(one);
    }
    world
}
