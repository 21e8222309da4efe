//! Colliding shapes on their links, and the ground.

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_model::{BodyId, CollisionFilter, Material, Norm, Plane};

use super::{
    contact::Half,
    convex::{Core, Hull},
    faces::Faces,
    narrow::Placed,
};
use crate::{
    engine::state::{addresses::LinkAddress, tree::Tree},
    parry::shape::SharedShape,
};

/// How far apart bodies may be and still be looked at, at least, metres: what moves at 1 m/s goes as far in two steps
/// of 1 ms. A row of a contact that is open asks for nothing, so the size of the shapes does not matter; but it costs
/// as much as one that presses.
pub(crate) const MARGIN: f64 = 0.002;

/// The form of a shape as the contacts with a plane need it; lengths in metres.
#[derive(Debug, Clone)]
pub(crate) enum Outline {
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
    Hull(Hull),
    /// The corners of a mesh, and its faces.
    Mesh(Vec<DVec3>, Faces),
    /// Corners that span no volume, or terrain, which has none.
    Points(Vec<DVec3>),
}

impl Outline {
    /// The faces of a mesh.
    pub(super) fn faces(&self) -> Option<&Faces> {
        if let Self::Mesh(_, faces) = self { Some(faces) } else { None }
    }

    /// The shape as the searches for contacts see it, with the layer around it, m; `None` if it is not convex.
    pub(super) fn core(&self) -> Option<(Core<'_>, f64)> {
        Some(match *self {
            Self::Ball(radius) => (Core::Segment(0.0), radius),
            Self::Capsule { radius, half } => (Core::Segment(half), radius),
            Self::Box(half) => (Core::Box(half), 0.0),
            Self::Cylinder { radius, half } => (Core::Cylinder { radius, half }, 0.0),
            Self::Cone { radius, half } => (Core::Cone { radius, half }, 0.0),
            Self::Hull(ref hull) => (Core::Hull(hull), 0.0),
            Self::Points(_) | Self::Mesh(..) => return None,
        })
    }
}

/// A colliding shape on a link, as the model has it. Where it is now says its [`Placement`].
pub(crate) struct Geom {
    pub(crate) side: LinkAddress,
    pub(crate) body: BodyId,
    pub(crate) outline: Outline,
    pub(crate) shape: SharedShape,
    /// `link_from_shape`.
    pub(crate) offset: DVec3,
    pub(crate) turn: DQuat,
    /// `link_from_body`, for directions that are fixed in the body.
    pub(crate) frame: DQuat,
    /// Middle and half extent of its box, in its own frame.
    pub(crate) middle: DVec3,
    pub(crate) half: DVec3,
    pub(crate) material: Material,
    /// With what it collides.
    pub(crate) filter: CollisionFilter,
    /// False on a body that nothing moves.
    pub(crate) moves: bool,
    /// The farthest that a point of it is from its centre.
    reach: f64,
    /// True if a ball of that radius is much more than the shape.
    long: bool,
}

/// What is read of every shape in every step: together they take little of the cache.
pub(super) struct Extent {
    link: usize,
    /// Its centre in the link's frame, and whether that is the link's own.
    offset: DVec3,
    is_centred: bool,
    /// The farthest that a point of it is from its centre, and whether a ball of that radius is much more than the
    /// shape.
    reach: f64,
    long: bool,
    /// Whether it moves and collides with a ground, which is of every category.
    pub(super) may_touch_ground: bool,
}

/// Where a shape is in this step.
#[derive(Debug, Clone)]
pub(super) struct Placement {
    pub(super) centre: DVec3,
    /// Holds all places that the shape could come to in two steps: around a ball about the shape, until
    /// [`Geom::tighten`] is called.
    pub(super) bounds: Bounds,
    /// True until the box is as small as it can be.
    needs_tight_aabb: bool,
}

impl Placement {
    /// Before the first step.
    pub(super) const NOWHERE: Self = Self { centre: DVec3::ZERO, bounds: Bounds::NOTHING, needs_tight_aabb: false };
}

/// A shape, where it is, and the tree that moves it.
#[derive(Clone, Copy)]
pub(super) struct Moving<'a> {
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
    pub(super) fn meets(&self, other: &Self) -> bool {
        self.low.cmple(other.high).all() && other.low.cmple(self.high).all()
    }

    /// Whether all of another box is in it.
    #[inline]
    pub(super) fn holds(&self, other: &Self) -> bool {
        self.low.cmple(other.low).all() && other.high.cmple(self.high).all()
    }

    /// Whether any of it is in the ground below a plane.
    #[inline]
    pub(super) fn reaches(&self, plane: &Plane) -> bool {
        // The corner that is deepest along the normal.
        let deepest = (plane.normal * self.low).min(plane.normal * self.high);
        deepest.element_sum() < plane.distance
    }

    #[inline]
    pub(super) fn with(self, other: &Self) -> Self {
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

    /// Whether it moves and collides with a ground, which is of every category.
    pub(super) fn may_touch_ground(&self) -> bool {
        self.moves && self.filter.meets(CollisionFilter::default())
    }

    /// Its size: the farthest that a point of it is from its centre, m.
    pub(crate) fn size(&self) -> f64 {
        self.reach
    }

    /// What of it is read in every step.
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

    /// Shrinks the box around a long shape.
    pub(super) fn tighten(&self, placement: &mut Placement, tree: &Tree) {
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

    /// Whether the box around the shape, which has its axes, reaches below the plane n x = `distance`.
    pub(super) fn reaches_below(&self, (normal, distance): (DVec3, f64), centre: DVec3, tree: &Tree) -> bool {
        let axes = tree.work.links[self.side.link].matrix * DMat3::from_quat(self.turn);
        let along = axes.transpose() * normal;
        normal.dot(centre + axes * self.middle) - along.abs().dot(self.half) < distance
    }

    /// What rolls at all, with its radius.
    fn rolling_radius(&self) -> Option<f64> {
        match self.outline {
            Outline::Ball(radius) | Outline::Cylinder { radius, .. } | Outline::Capsule { radius, .. } => Some(radius),
            Outline::Box(_) | Outline::Cone { .. } | Outline::Hull(_) | Outline::Mesh(..) | Outline::Points(_) => None,
        }
    }
}

impl Extent {
    /// Where it is on its link, and what it could come to at its velocity within two steps of `h` seconds.
    #[inline]
    pub(super) fn place(&self, tree: &Tree, h: f64) -> Placement {
        let work = &tree.work;
        let link = &work.links[self.link];
        let velocity = link.velocity;
        let centre = if self.is_centred { link.position } else { link.position + link.matrix * self.offset };
        // Sums of sizes instead of lengths are a little more than enough.
        let spin = velocity.angular().abs().element_sum() * self.reach;
        let motion = velocity.at(centre - work.origin).abs() + DVec3::splat(spin);
        let around = motion * (2.0 * h) + (0.5 * MARGIN + self.reach);
        let bounds = Bounds { low: centre - around, high: centre + around };
        Placement { centre, bounds, needs_tight_aabb: self.long }
    }
}

impl<'a> Moving<'a> {
    /// The largest speed at which any of its surface comes nearer to something, or more.
    pub(super) fn speed(&self) -> f64 {
        self.velocity().norm() + self.swing()
    }

    /// By how much its spin adds to that, at most: a round shape that turns about its own axis stays in its place.
    pub(super) fn swing(&self) -> f64 {
        let link = &self.tree.work.links[self.geom.side.link];
        match self.geom.outline {
            Outline::Ball(_) => 0.0,
            Outline::Cylinder { .. } | Outline::Capsule { .. } | Outline::Cone { .. } => {
                let axis = link.matrix * (self.geom.turn * DVec3::Y);
                link.velocity.angular().cross(axis).norm() * self.geom.reach
            }
            _ => self.spin(),
        }
    }

    /// How far from its centre its points are, at most, times its angular speed.
    #[inline]
    pub(super) fn spin(&self) -> f64 {
        self.tree.work.links[self.geom.side.link].velocity.angular().norm() * self.geom.reach
    }

    /// The velocity of its centre.
    #[inline]
    pub(super) fn velocity(&self) -> DVec3 {
        self.tree.work.links[self.geom.side.link].velocity.at(self.centre - self.tree.work.origin)
    }

    /// How its link is turned.
    #[inline]
    pub(super) fn rotation(&self) -> DQuat {
        self.tree.work.links[self.geom.side.link].rotation
    }

    /// The shape where it is now.
    #[inline]
    pub(super) fn placed(&self) -> Placed<'a> {
        let rotation = self.rotation() * self.geom.turn;
        Placed { outline: &self.geom.outline, shape: &self.geom.shape, centre: self.centre, rotation }
    }

    /// Its surface as a contact needs it.
    #[inline]
    pub(super) fn half(&self) -> Half<'a> {
        let Geom { material, frame, .. } = self.geom;
        Half { material, link: self.rotation(), on_link: *frame, radius: self.geom.rolling_radius() }
    }
}
