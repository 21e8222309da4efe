//! Wheels: round bodies that a joint turns about their own axis without end.

use bevy_math::DVec3;

use crate::{Axis, Body, BodyId, FreeAxis, Joint, Mechanism, Placed};

/// Tolerance of a round shape's axis against its axle, as a sine, and of its centre, as a fraction of its radius: the
/// accuracy of measuring a drawing.
pub const AXLE_TOLERANCE: f64 = 0.05;

/// A wheel, as its joint turns it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wheel {
    /// The round body.
    pub body: BodyId,
    /// The coordinate of the wheel's joint, and its limits.
    pub coordinate: usize,
    /// Limits of that coordinate.
    pub limits: FreeAxis,
    /// Unit vector of the axle at step 0, world frame: a positive rate turns the joint's child about it.
    pub axis: DVec3,
    /// Middle of its round shape at step 0, world frame, metres.
    pub centre: DVec3,
    /// Radius of that shape, metres.
    pub radius: f64,
}

impl Mechanism {
    /// The wheel of a joint: its child or otherwise its parent, if the joint has one turning coordinate without stops,
    /// and the collision shape of the body is a sphere, or a cylinder, capsule or spheroid about the axle.
    pub fn wheel(&self, joint: &Joint) -> Option<Wheel> {
        joint.wheel(&self.bodies)
    }
}

impl Joint {
    /// The wheel of this joint, as in [`Mechanism::wheel`]; `bodies` are those that its ids count.
    pub fn wheel(&self, bodies: &[Body]) -> Option<Wheel> {
        let mut free = self.free_coordinates();
        let (Some((coordinate, own)), None) = (free.next(), free.next()) else { return None };
        let Axis::Free(limits) = self.axes[coordinate] else { return None };
        let is_endless = limits.lower == f64::NEG_INFINITY && limits.upper == f64::INFINITY;
        if own.linear || !is_endless {
            return None;
        }
        let axis = self.direction(own);
        [self.child, self.parent].into_iter().find_map(|id| {
            let body = &bodies[id.index()];
            let placed = body.collision_shape()?;
            let radius = placed.shape.rolling_radius()?;
            let centre = body.pose.point(placed.pose.translation);
            let is_wheel = body.is_round_about(placed, axis)
                && (centre - self.anchor).cross(axis).length() <= AXLE_TOLERANCE * radius;
            is_wheel.then_some(Wheel { body: id, coordinate, limits, axis, centre, radius })
        })
    }
}

impl crate::Body {
    /// True if `axis`, world frame at step 0, is the axis of a round shape of this body; every direction is for a
    /// sphere.
    pub fn is_round_about(&self, placed: &Placed, axis: DVec3) -> bool {
        let own = (self.pose.rotation * placed.pose.rotation).inverse() * axis;
        placed.shape.is_round_about(own, AXLE_TOLERANCE)
    }
}
