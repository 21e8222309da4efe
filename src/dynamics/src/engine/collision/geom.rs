//! Colliding shapes on their links: model, placement in a step, and bounding boxes.

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_model::{BodyId, CollisionFilter, Material, Norm, Plane};

use super::{
    contact::{ContactSide, SEARCH_MARGIN},
    outline::Outline,
    placed_shape::Placed,
};
use crate::{
    engine::state::{addresses::LinkAddress, tree::Tree},
    parry::shape::SharedShape,
};

/// A colliding shape on a link, as the model gives it. Its present position is in its [`Placement`].
pub(crate) struct Geom {
    pub(crate) side: LinkAddress,
    pub(crate) body: BodyId,
    pub(crate) outline: Outline,
    pub(crate) shape: SharedShape,
    /// `link_from_shape`: translation, m, and rotation.
    pub(crate) offset: DVec3,
    pub(crate) turn: DQuat,
    /// `link_from_body`, for directions that are fixed in the body.
    pub(crate) frame: DQuat,
    /// Centre and half extents of its bounding box, in its own frame, m.
    pub(crate) middle: DVec3,
    pub(crate) half: DVec3,
    pub(crate) material: Material,
    /// Shapes that it collides with.
    pub(crate) filter: CollisionFilter,
    /// False on a fixed body.
    pub(crate) moves: bool,
    /// Largest distance of its points from its centre, m.
    reach: f64,
    /// True if a ball of that radius is much larger than the shape.
    long: bool,
}

/// The part of a shape that every step reads, kept together to use little of the cache.
pub(super) struct Extent {
    link: usize,
    /// Its centre in the link's frame, m, and whether that is the origin.
    offset: DVec3,
    is_centred: bool,
    /// Largest distance of its points from its centre, m, and whether a ball of that radius is much larger than the
    /// shape.
    reach: f64,
    long: bool,
    /// True if it moves and collides with grounds, which belong to every category.
    pub(super) may_touch_ground: bool,
}

/// Position of a shape in this step.
#[derive(Debug, Clone)]
pub(super) struct Placement {
    pub(super) centre: DVec3,
    /// Box of all positions that the shape can reach in two steps: around a ball about the shape, until
    /// [`Geom::tighten_bounds`] is called.
    pub(super) bounds: Bounds,
    /// True until the box fits the shape tightly.
    needs_tight_aabb: bool,
}

impl Placement {
    /// Before the first step.
    pub(super) const NOWHERE: Self = Self { centre: DVec3::ZERO, bounds: Bounds::NOTHING, needs_tight_aabb: false };
}

/// A shape, its present centre, and the tree that moves it.
#[derive(Clone, Copy)]
pub(super) struct MovingShape<'a> {
    pub(super) geom: &'a Geom,
    pub(super) centre: DVec3,
    pub(super) tree: &'a Tree,
}

/// An axis-aligned box.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) low: DVec3,
    pub(super) high: DVec3,
}

impl Bounds {
    pub(super) const NOTHING: Self = Self { low: DVec3::INFINITY, high: DVec3::NEG_INFINITY };

    #[inline]
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.low.cmple(other.high).all() && other.low.cmple(self.high).all()
    }

    /// True if another box is inside of this one.
    #[inline]
    pub(super) fn contains(&self, other: &Self) -> bool {
        self.low.cmple(other.low).all() && other.high.cmple(self.high).all()
    }

    /// True if any of it is below a plane.
    #[inline]
    pub(super) fn reaches_below_plane(&self, plane: &Plane) -> bool {
        // The corner that is deepest along the normal.
        let deepest = (plane.normal * self.low).min(plane.normal * self.high);
        deepest.element_sum() < plane.distance
    }

    /// The box around both.
    #[inline]
    pub(super) fn union(self, other: &Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }
}

impl Geom {
    /// A shape on a link, in the link's frame.
    pub(crate) fn new(
        side: LinkAddress,
        body: BodyId,
        outline: Outline,
        shape: SharedShape,
        at: (DVec3, DQuat),
        material: Material,
    ) -> Self {
        let bounds = shape.compute_local_aabb();
        let half = bounds.half_extents();
        let reach = match outline {
            Outline::Ball(radius) => radius,
            Outline::Ellipsoid(own) => own.radii.max_element(),
            _ => half.norm() + bounds.center().norm(),
        };
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
            filter: CollisionFilter::default(),
            moves: true,
            reach,
            long: half.max_element() > 4.0 * half.min_element(),
        }
    }

    /// True if it moves and collides with grounds, which belong to every category.
    pub(super) fn may_touch_ground(&self) -> bool {
        self.moves && self.filter.meets(CollisionFilter::default())
    }

    /// Its size: the largest distance of its points from its centre, m.
    pub(crate) fn size(&self) -> f64 {
        self.reach
    }

    /// The part of it that every step reads.
    pub(super) fn extent(&self) -> Extent {
        Extent {
            link: self.side.link,
            offset: self.offset,
            is_centred: self.offset == DVec3::ZERO,
            reach: self.reach,
            long: self.long,
            may_touch_ground: self.may_touch_ground(),
        }
    }

    /// Shrinks the box around a long shape to fit it tightly.
    pub(super) fn tighten_bounds(&self, placement: &mut Placement, tree: &Tree) {
        if placement.needs_tight_aabb {
            let axes = tree.work.links[self.side.link].matrix * DMat3::from_quat(self.turn);
            let half =
                axes.x_axis.abs() * self.half.x + axes.y_axis.abs() * self.half.y + axes.z_axis.abs() * self.half.z;
            let (shift, less) = (axes * self.middle, DVec3::splat(self.reach) - half);
            let Bounds { low, high } = placement.bounds;
            placement.bounds = Bounds { low: low + shift + less, high: high + shift - less };
            placement.needs_tight_aabb = false;
        }
    }

    /// True if the oriented box of the shape reaches below the plane n x = `distance`.
    pub(super) fn reaches_below(&self, (normal, distance): (DVec3, f64), centre: DVec3, tree: &Tree) -> bool {
        let axes = tree.work.links[self.side.link].matrix * DMat3::from_quat(self.turn);
        let along = axes.transpose() * normal;
        normal.dot(centre + axes * self.middle) - along.abs().dot(self.half) < distance
    }

    /// Rolling radius of a round shape, m; `None` for others. Of an ellipsoid, it is the height of the centre above its
    /// tangent plane across a `direction` of its own frame.
    fn rolling_radius(&self, direction: impl FnOnce() -> DVec3) -> Option<f64> {
        match self.outline {
            Outline::Ball(radius) | Outline::Cylinder { radius, .. } | Outline::Capsule { radius, .. } => Some(radius),
            Outline::Ellipsoid(own) => Some(own.extent(direction())),
            Outline::Box(_) | Outline::Cone { .. } | Outline::Hull(_) | Outline::Mesh(..) | Outline::Points(_) => None,
        }
    }
}

impl Extent {
    /// Its position, with a box of all positions that it can reach at its velocity within two steps of `h` seconds.
    #[inline]
    pub(super) fn placement(&self, tree: &Tree, h: f64) -> Placement {
        let work = &tree.work;
        let link = &work.links[self.link];
        let velocity = link.velocity;
        let centre = if self.is_centred { link.position } else { link.position + link.matrix * self.offset };
        // Sums of absolute values, which are a little larger than norms, are cheaper.
        let spin = velocity.angular().abs().element_sum() * self.reach;
        let motion = velocity.at(centre - work.origin).abs() + DVec3::splat(spin);
        let around = motion * (2.0 * h) + (0.5 * SEARCH_MARGIN + self.reach);
        let bounds = Bounds { low: centre - around, high: centre + around };
        Placement { centre, bounds, needs_tight_aabb: self.long }
    }
}

impl<'a> MovingShape<'a> {
    /// Upper bound of the speed at which its surface approaches anything, m/s.
    pub(super) fn max_approach_speed(&self) -> f64 {
        self.velocity().norm() + self.spin_approach_speed()
    }

    /// Upper bound of the part of that speed that comes from its rotation, m/s. A round shape that turns about its own
    /// axis approaches nothing.
    pub(super) fn spin_approach_speed(&self) -> f64 {
        let link = &self.tree.work.links[self.geom.side.link];
        match self.geom.outline {
            Outline::Ball(_) => 0.0,
            Outline::Cylinder { .. } | Outline::Capsule { .. } | Outline::Cone { .. } => {
                let axis = link.matrix * (self.geom.turn * DVec3::Y);
                link.velocity.angular().cross(axis).norm() * self.geom.reach
            }
            Outline::Ellipsoid(own) => {
                // The lever of a normal about each axis is at most the difference of the other two radii.
                let rotation = link.rotation * self.geom.turn;
                let spin = (rotation.inverse() * link.velocity.angular()).abs();
                let DVec3 { x, y, z } = own.radii;
                spin.dot(DVec3::new(y - z, z - x, x - y).abs())
            }
            _ => self.rim_speed(),
        }
    }

    /// Largest distance of its points from its centre times its angular speed, m/s.
    #[inline]
    pub(super) fn rim_speed(&self) -> f64 {
        self.tree.work.links[self.geom.side.link].velocity.angular().norm() * self.geom.reach
    }

    /// Velocity of its centre, world axes, m/s.
    #[inline]
    pub(super) fn velocity(&self) -> DVec3 {
        self.tree.work.links[self.geom.side.link].velocity.at(self.centre - self.tree.work.origin)
    }

    /// Rotation of its link, world from link.
    #[inline]
    pub(super) fn rotation(&self) -> DQuat {
        self.tree.work.links[self.geom.side.link].rotation
    }

    /// The shape at its present pose.
    #[inline]
    pub(super) fn placed_shape(&self) -> Placed<'a> {
        let rotation = self.rotation() * self.geom.turn;
        Placed { outline: &self.geom.outline, shape: &self.geom.shape, centre: self.centre, rotation }
    }

    /// Its surface as one side of a contact with this normal.
    #[inline]
    pub(super) fn contact_side(&self, normal: DVec3) -> ContactSide<'a> {
        let Geom { material, frame, turn, .. } = self.geom;
        let link = self.rotation();
        let radius = self.geom.rolling_radius(|| (link * *turn).inverse() * normal);
        ContactSide { material, link, on_link: *frame, radius }
    }
}
