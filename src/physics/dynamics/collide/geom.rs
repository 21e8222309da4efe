//! Colliding shapes on their links, and the ground.

use bevy_math::{DMat3, DQuat, DVec3};
use rapier3d_f64::parry::shape::SharedShape;

use super::{Side, narrow::Placed};
use crate::{
    model::{Material, Plane},
    physics::dynamics::tree::Tree,
    signal::BodyId,
};

/// How far apart bodies may be and still be looked at, at least, metres.
pub(super) const MARGIN: f64 = 0.002;

/// The form of a shape as the contacts with a plane need it; lengths in metres.
#[derive(Debug, Clone)]
pub(in crate::physics::dynamics) enum Outline {
    Ball(f64),
    /// Half edges.
    Box(DVec3),
    Cylinder {
        radius: f64,
        half: f64,
    },
    Capsule {
        radius: f64,
        half: f64,
    },
    Cone {
        radius: f64,
        half: f64,
    },
    /// The corners of a hull or mesh.
    Points(Vec<DVec3>),
}

/// A colliding shape on a link.
pub(in crate::physics::dynamics) struct Geom {
    pub(in crate::physics::dynamics) side: Side,
    pub(in crate::physics::dynamics) body: BodyId,
    pub(in crate::physics::dynamics) outline: Outline,
    pub(in crate::physics::dynamics) shape: SharedShape,
    /// `link_from_shape`.
    pub(in crate::physics::dynamics) offset: DVec3,
    pub(in crate::physics::dynamics) turn: DQuat,
    /// `link_from_body`, for directions that are fixed in the body.
    pub(in crate::physics::dynamics) frame: DQuat,
    /// Middle and half extent of its box, in its own frame.
    pub(in crate::physics::dynamics) middle: DVec3,
    pub(in crate::physics::dynamics) half: DVec3,
    pub(in crate::physics::dynamics) material: Material,
    /// False on a body that nothing moves.
    pub(in crate::physics::dynamics) moves: bool,
    /// The farthest that a point of it is from its centre.
    reach: f64,
    /// True if a ball of that radius is much more than the shape.
    long: bool,
    pub(super) centre: DVec3,
    pub(super) bounds: Bounds,
}

/// An axis-aligned box.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) low: DVec3,
    pub(super) high: DVec3,
}

impl Bounds {
    pub(super) const NOTHING: Self = Self { low: DVec3::INFINITY, high: DVec3::NEG_INFINITY };

    pub(super) fn meets(&self, other: &Self) -> bool {
        self.low.cmple(other.high).all() && other.low.cmple(self.high).all()
    }

    pub(super) fn with(self, other: &Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }
}

/// What the world stands on.
#[derive(Default)]
pub(in crate::physics::dynamics) struct Ground {
    pub(in crate::physics::dynamics) plane: Option<Plane>,
    pub(in crate::physics::dynamics) heightfield: Option<(SharedShape, Material)>,
}

impl Geom {
    /// A shape on a link, in the link's frame.
    pub(in crate::physics::dynamics) fn new(
        side: Side,
        body: BodyId,
        outline: Outline,
        shape: SharedShape,
        at: (DVec3, DQuat),
        material: Material,
    ) -> Self {
        let bounds = shape.compute_local_aabb();
        let half = bounds.half_extents();
        Self {
            side,
            body,
            outline,
            shape,
            offset: at.0,
            turn: at.1,
            frame: DQuat::IDENTITY,
            middle: bounds.center(),
            half,
            material,
            moves: true,
            reach: half.length() + bounds.center().length(),
            long: half.max_element() > 4.0 * half.min_element(),
            centre: DVec3::ZERO,
            bounds: Bounds::NOTHING,
        }
    }

    /// Moves with its link; its box holds all places that it could come to in two steps.
    pub(super) fn place(&mut self, tree: &Tree, h: f64) {
        let work = &tree.work;
        let (position, matrix) = (work.position[self.side.link], &work.matrix[self.side.link]);
        let velocity = work.velocity[self.side.link];
        self.centre = position + *matrix * self.offset;
        // Sums of sizes instead of lengths are a little more than enough.
        let spin = velocity.angular.abs().element_sum() * self.reach;
        let motion = velocity.at(self.centre - work.origin).abs() + DVec3::splat(spin);
        let around = DVec3::splat(0.5 * MARGIN) + motion * (2.0 * h);
        let (middle, half) = if self.long {
            let axes = *matrix * DMat3::from_quat(self.turn);
            let half =
                axes.x_axis.abs() * self.half.x + axes.y_axis.abs() * self.half.y + axes.z_axis.abs() * self.half.z;
            (self.centre + axes * self.middle, half)
        } else {
            (self.centre, DVec3::splat(self.reach))
        };
        self.bounds = Bounds { low: middle - half - around, high: middle + half + around };
    }

    /// The largest speed of any of its points, or more.
    pub(super) fn speed(&self, tree: &Tree) -> f64 {
        self.velocity(tree).length() + self.spin(tree)
    }

    /// How far from its centre its points are, at most, times its angular speed.
    pub(super) fn spin(&self, tree: &Tree) -> f64 {
        tree.work.velocity[self.side.link].angular.length() * self.reach
    }

    /// The velocity of its centre.
    pub(super) fn velocity(&self, tree: &Tree) -> DVec3 {
        tree.work.velocity[self.side.link].at(self.centre - tree.work.origin)
    }

    /// The shape where it is now.
    pub(super) fn placed(&self, tree: &Tree) -> Placed<'_> {
        let rotation = tree.work.rotation[self.side.link] * self.turn;
        Placed { outline: &self.outline, shape: &self.shape, centre: self.centre, rotation }
    }

    /// What rolls at all, with its radius.
    pub(super) fn rolling_radius(&self) -> Option<f64> {
        match self.outline {
            Outline::Ball(radius) | Outline::Cylinder { radius, .. } | Outline::Capsule { radius, .. } => Some(radius),
            Outline::Box(_) | Outline::Cone { .. } | Outline::Points(_) => None,
        }
    }
}
