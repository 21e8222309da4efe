//! Scattered rocks of a world: their positions, and the areas without rocks.

#![allow(clippy::unwrap_used)]

use std::f64::consts::FRAC_PI_6;

use simpartner_description::{
    World,
    xml::{self, Document},
};
use simpartner_model::{Body, Ground, Shape};

/// Two slopes that meet at x = 0, where the ground is 0.5 m high, with rocks on all of it and beyond.
fn world(rocks: &str, inside: &str) -> World {
    let text = format!(
        r#"<world><heightfield width="20" depth="10" heading="0.4">0 0 0; 0 0 0
           0.5 0.5 0.5 0.5 0.5 0.5
           1 0 1 0 1 0</heightfield><object name="Post"><static>true</static><sphere radius="0.1"/></object>
           <rocks cover="0.1" width="30" depth="12" {rocks}>{inside}</rocks></world>"#
    );
    match xml::read_text("worlds/rocks.xml", &text).unwrap_or_else(|problems| panic!("{problems}")) {
        Document::World(world) => world,
        other => panic!("{other:?}"),
    }
}

fn rocks(world: &World) -> impl Iterator<Item = &Body> {
    world.mechanism.bodies.iter().filter(|body| body.name.starts_with("Rock"))
}

fn corners(rock: &Body) -> Vec<bevy_math::DVec3> {
    let Some(Shape::ConvexHull { points }) = rock.shape.as_ref().map(|placed| &placed.shape) else {
        panic!("{rock:?}")
    };
    points.clone()
}

fn reach(rock: &Body) -> f64 {
    corners(rock).iter().map(|corner| corner.x.hypot(corner.z)).fold(0.0, f64::max)
}

#[test]
fn fixed_rocks_are_seated_on_the_terrain_and_lie_nowhere_else() {
    let world = world("", "");
    let Ground::Heightfield(field) = &world.mechanism.grounds[0] else { panic!() };
    assert!(rocks(&world).count() > 100);
    for rock in rocks(&world) {
        let at = rock.pose.translation;
        assert_eq!(Some(at.y), field.height_at(at.x, at.z), "{}", rock.name);
        assert!(rock.fixed && at.x.abs() <= 15.0 && at.z.abs() <= 6.0);
    }
    // The rectangle reaches over the terrain, and rocks that have no ground below them are left out.
    let last = rocks(&world).last().unwrap().name.trim_start_matches("Rock").parse::<usize>().unwrap();
    assert!(last > rocks(&world).count(), "{last}");
}

#[test]
fn a_seed_has_its_rocks_and_what_is_clear_only_leaves_some_out() {
    let all = world("", "");
    assert_eq!(all.mechanism.bodies, world(r#"seed="1""#, "").mechanism.bodies);
    assert_ne!(all.mechanism.bodies, world(r#"seed="2""#, "").mechanism.bodies);
    let some = world(r#"smallest="0.15""#, r#"<clear x="-3" radius="2"/><clear z="4" radius="1"/>"#);
    let clear = |rock: &Body| {
        let at = rock.pose.translation;
        (at.x + 3.0).hypot(at.z) >= 2.0 + reach(rock) && at.x.hypot(at.z - 4.0) >= 1.0 + reach(rock)
    };
    let number = |rock: &&Body| rock.name[4..].parse::<usize>().unwrap();
    let least = rocks(&some).last().map(|rock| number(&rock)).unwrap();
    let kept = rocks(&all).filter(|rock| number(rock) <= least && clear(rock));
    let without_place = |body: &Body| Body { source: String::new(), ..body.clone() };
    let kept: Vec<Body> = kept.map(without_place).collect();
    assert_eq!(rocks(&some).map(without_place).collect::<Vec<_>>(), kept);
    assert!(rocks(&all).count() > kept.len() && kept.len() > 10);
}

#[test]
fn a_field_without_rocks_is_told() {
    for rocks in [r#"x="100""#, r#"smallest="0.99""#] {
        let world = world(rocks, "");
        assert_eq!((rocks, world.warnings.len(), world.mechanism.bodies.len()), (rocks, 1, 1));
    }
    assert!(world("", "").warnings.is_empty());
}

#[test]
fn loose_rocks_lie_on_the_terrain_and_apart() {
    let world = world(r#"looseBelow="0.3" density="1000" heightRatio="0.4""#, "");
    let Ground::Heightfield(field) = &world.mechanism.grounds[0] else { panic!() };
    let all: Vec<&Body> = rocks(&world).collect();
    let fixed = all.iter().filter(|rock| rock.fixed).count();
    assert!(fixed > 0 && all.len() > fixed + 50, "{fixed} of {}", all.len());
    for (index, rock) in all.iter().enumerate().filter(|(_, rock)| !rock.fixed) {
        let at = rock.pose.translation;
        for corner in corners(rock).iter().map(|corner| at + *corner) {
            assert!(field.height_at(corner.x, corner.z).is_none_or(|ground| ground < corner.y), "{}", rock.name);
        }
        for other in &all[..index] {
            let gap = (at.x - other.pose.translation.x).hypot(at.z - other.pose.translation.z);
            assert!(gap >= reach(rock) + reach(other), "{} in {}", rock.name, other.name);
        }
        // That of an ellipsoid between the smallest and the largest rock that are loose.
        let ellipsoid = |diameter: f64| 1000.0 * FRAC_PI_6 * 0.4 * diameter.powi(3);
        assert!((ellipsoid(0.1)..ellipsoid(0.3)).contains(&rock.mass), "{}", rock.mass);
    }
}
