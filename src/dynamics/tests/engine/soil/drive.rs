//! What drives comes over the holes that its own wheels have dug.

use bevy_math::{DQuat, DVec3};

use super::{slope, soil};
use crate::{build, six_wheels};

/// Wheels dig in before they come on: after 1.2 m those behind come over holes of those ahead that are deeper than they are themselves. They
/// go down into them, and no guard has anything to tell.
#[test]
fn a_rover_drives_over_the_holes_that_it_has_dug() {
    let mut world = slope(soil("drySand"), 0.0);
    let rover = six_wheels::add(&mut world, DVec3::ZERO, DQuat::IDENTITY);
    let mut engine = build(&world, 0.001);
    rover.drive(&mut *engine, 0.1 / six_wheels::WHEEL_RADIUS);
    for step in 0..40_000 {
        engine.step();
        assert!(step < 1000 || engine.notices().is_empty(), "step {step}: {:?}", engine.notices());
    }
    let way = engine.body(rover.chassis).pose.translation.x;
    println!("it comes {way:.3} m far");
    assert!(way > 1.35, "{way}");
}
