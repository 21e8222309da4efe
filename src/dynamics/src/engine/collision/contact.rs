//! Contacts: where two surfaces meet, and what the pair of surfaces is like.

use std::cmp::Ordering;

use bevy_math::{DQuat, DVec3};
use serde::{Deserialize, Serialize};
use simpartner_model::{ContactDimensions, FrictionDirection, FrictionRule, Material, Norm};

use super::{Hit, geom::MARGIN};
use crate::engine::state::addresses::LinkAddress;

/// What a pair of surfaces is like.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Surface {
    /// Along the first tangent and the second.
    pub(crate) friction: [f64; 2],
    pub(crate) restitution: f64,
    /// Rolling and torsional resistance, metres: the torque per newton of normal force.
    pub(crate) rolling: f64,
    pub(crate) torsion: f64,
    /// N/m, infinite if rigid; N s/m.
    pub(crate) stiffness: f64,
    pub(crate) damping: f64,
    /// Creep, m/(s N).
    pub(crate) slip: f64,
    /// How fast the surface of the second side moves along, beside its body, relative to that of the first, world axes,
    /// m/s.
    pub(crate) motion: DVec3,
}

/// A contact of this step.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Contact {
    /// The first side; `None` is the ground.
    pub(crate) a: Option<LinkAddress>,
    pub(crate) b: LinkAddress,
    pub(crate) point: DVec3,
    /// From a to b.
    pub(crate) normal: DVec3,
    pub(crate) tangents: [DVec3; 2],
    pub(crate) gap: f64,
    pub(crate) surface: Surface,
    /// Which two shapes, in the order of the list.
    pub(crate) key: u64,
    /// What of b is in the soil of a, if that is soil ([`super::super::soil`]): then all of the soil's wrench is here.
    pub(crate) soil_patch: Option<usize>,
    /// World impulse on b, and angular impulse of rolling and torsional resistance.
    pub(crate) impulse: DVec3,
    pub(crate) spin_impulse: DVec3,
    /// Where the search for the slip speed starts.
    pub(crate) slip: f64,
    /// The velocity of b past a at the end of the last substep, m/s, and the length of that, s; 0 if the surfaces
    /// parted in it.
    pub(crate) rate: DVec3,
    pub(crate) contact_duration: f64,
    /// How far the point has moved since the last substep, m.
    #[serde(skip)]
    pub(crate) moved: DVec3,
    /// Velocity change by the solver since the load was distributed, m/s
    /// ([`crate::engine::solvers::least_norm_distribution`]).
    pub(crate) undistributed_change: f64,
    /// The size of the smaller of the two shapes, from its centre outwards, m.
    #[serde(skip)]
    pub(crate) size: f64,
    /// How far it may have moved since the last step and still be the same, m.
    #[serde(skip)]
    pub(super) same_within: f64,
    /// True if it has no part in this substep ([`crate::engine::stepping::impacts`]).
    #[serde(skip)]
    pub(crate) deferred: bool,
}

/// What the lengths of a pair of shapes are measured by, m.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// The size of the smaller shape.
    pub(super) size: f64,
    /// How far a point of one moves past the other in a step, at most.
    pub(super) motion: f64,
}

/// Part of its size that a contact may have moved, beside the motion of its shapes, to be the same as in the last step;
/// and how far at most, m. The contacts of a pair are told apart by their distances, which grow with the shapes: 5 cm
/// on a wheel of 20 cm.
const SAME_WITHIN: f64 = 0.25;
const SAME_AT_MOST: f64 = 0.05;
/// Shapes that move past each other in two steps by more than this part of the smaller one's size are looked at along
/// their way: what is ahead need not be in the way. So do all that move by more than so many metres.
const PASSED_BY: f64 = 0.1;
const PASSED_BY_AT_MOST: f64 = 0.02;
/// Shapes of at least this size may sink into each other as deep as [`crate::engine::stepping::step_validation`] says,
/// smaller ones in proportion, m.
const LARGE: f64 = 0.02;

impl Sizes {
    fn same_within(self) -> f64 {
        (SAME_WITHIN * self.size + self.motion).min(SAME_AT_MOST)
    }

    /// Whether they move so far past each other, and turn so little, that contacts are looked for along their way.
    pub(super) fn are_passed_by(self, motion: DVec3, spin: f64) -> bool {
        motion.norm() > PASSED_BY_AT_MOST.min(PASSED_BY * self.size) && spin < PASSED_BY_AT_MOST
    }

    /// Nearer than this they are looked at wherever they move, m.
    pub(super) fn margin(self) -> f64 {
        MARGIN.min(PASSED_BY * self.size)
    }
}

impl Contact {
    /// The world impulse on b of a solution, whose tangents have the friction coefficients multiplied in.
    pub(crate) fn impulse_of(&self, l: [f64; 3]) -> DVec3 {
        let [first, second] = self.surface.friction;
        self.normal * l[0] + self.tangents[0] * (l[1] * first) + self.tangents[1] * (l[2] * second)
    }

    /// The world velocity of rows, whose tangents have the friction coefficients multiplied in, as far as these are not
    /// zero.
    pub(crate) fn velocity_of(&self, u: [f64; 3]) -> DVec3 {
        let [first, second] = self.surface.friction;
        let along = |u: f64, friction: f64| if friction > 0.0 { u / friction } else { 0.0 };
        self.normal * u[0] + self.tangents[0] * along(u[1], first) + self.tangents[1] * along(u[2], second)
    }

    /// The same on soil, which neither bounces nor is as a rigid surface.
    pub(super) fn on_soil(self) -> Self {
        Self { surface: Surface { restitution: 0.0, stiffness: 0.0, ..self.surface }, ..self }
    }

    /// The links that take part, one or two.
    pub(crate) fn sides(&self) -> impl Iterator<Item = LinkAddress> + use<> {
        self.a.into_iter().chain([self.b])
    }

    /// Whether its surfaces may bounce: rigid ones with restitution.
    pub(crate) fn bounces(&self) -> bool {
        self.surface.restitution > 0.0 && self.surface.stiffness.is_infinite()
    }

    /// By how much smaller a depth counts here than between large shapes.
    pub(crate) fn depth_fraction(&self) -> f64 {
        (self.size / LARGE).min(1.0)
    }

    /// Impulses of a step of another length.
    pub(crate) fn scale(&mut self, ratio: f64) {
        self.impulse *= ratio;
        self.spin_impulse *= ratio;
    }

    /// The impulse in the solver's terms, as far as it lies in the cone.
    pub(crate) fn start(&self) -> [f64; 3] {
        let normal = self.impulse.dot(self.normal).max(0.0);
        let along = |k: usize| self.impulse.dot(self.tangents[k]) / self.surface.friction[k].max(1e-300);
        let (first, second) = (along(0), along(1));
        let length = (first * first + second * second).sqrt();
        let scale = if length > normal { normal / length } else { 1.0 };
        if scale.is_finite() { [normal, first * scale, second * scale] } else { [normal, 0.0, 0.0] }
    }

    /// The world angular impulse on b of a solution of its rolling resistance.
    pub(crate) fn rolling_impulse_of(&self, l: [f64; 3]) -> DVec3 {
        self.tangents[0] * l[0] + self.tangents[1] * l[1]
    }
}

/// A surface, its body's orientation as that of its link and of the body on it, and the radius it rolls with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Half<'a> {
    pub(super) material: &'a Material,
    pub(super) link: DQuat,
    pub(super) on_link: DQuat,
    pub(super) radius: Option<f64>,
}

impl<'a> Half<'a> {
    /// The ground, which rolls nowhere.
    pub(super) fn ground(material: &'a Material) -> Self {
        Self { material, link: DQuat::IDENTITY, on_link: DQuat::IDENTITY, radius: None }
    }

    /// The orientation of its body, which few surfaces ask for.
    fn rotation(&self) -> DQuat {
        self.link * self.on_link
    }

    /// How fast it moves along beside its body, world axes, m/s.
    fn motion(&self) -> DVec3 {
        let velocity = self.material.surface_velocity;
        if velocity == DVec3::ZERO { velocity } else { self.rotation() * velocity }
    }
}

/// What two springs, or dampers, are together that carry the same load.
fn in_series(one: f64, two: f64) -> f64 {
    if one + two > 0.0 { one * two / (one + two) } else { 0.0 }
}

/// Coefficients of what resists motion along a surface.
struct Resistance {
    /// Along the direction of friction and across it.
    friction: [f64; 2],
    rolling: f64,
    torsion: f64,
}

impl Resistance {
    /// Of two surfaces on each other.
    fn of(one: &Material, two: &Material) -> Self {
        // The surface of the higher priority decides alone.
        let (one, two) = match one.priority.cmp(&two.priority) {
            Ordering::Less => (two, two),
            Ordering::Equal => (one, two),
            Ordering::Greater => (one, one),
        };
        let across = |material: &Material| material.across.map_or(material.friction, |across| across.coefficient);
        let is_larger = [one, two].iter().any(|material| material.friction_rule == FrictionRule::Larger);
        let combine = |a: f64, b: f64| if is_larger { a.max(b) } else { a.min(b) };
        let dimensions = one.contact_dimensions().max(two.contact_dimensions());
        let has_damping =
            |from: ContactDimensions, coefficient: f64| if dimensions >= from { coefficient } else { 0.0 };
        let sliding = |a: f64, b: f64| has_damping(ContactDimensions::Sliding, combine(a, b));
        Self {
            friction: [sliding(one.friction, two.friction), sliding(across(one), across(two))],
            rolling: has_damping(ContactDimensions::Rolling, one.rolling_friction.max(two.rolling_friction)),
            torsion: has_damping(ContactDimensions::Torsional, one.torsional_friction.max(two.torsional_friction)),
        }
    }
}

/// Two surfaces on each other. The direction of friction is that of the second, unless only the first has one.
pub(super) struct Pair {
    surface: Surface,
    direction: Option<(FrictionDirection, DQuat)>,
}

/// The tangents at the last normal: those of a face have one normal, and so have all on a plane.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tangents {
    normal: DVec3,
    tangents: [DVec3; 2],
}

impl Tangents {
    /// Those at a normal.
    pub(super) fn at(&mut self, pair: &Pair, normal: DVec3) -> [DVec3; 2] {
        if normal != self.normal {
            *self = Self { normal, tangents: pair.tangents(normal) };
        }
        self.tangents
    }
}

impl Pair {
    /// Whether its friction has a direction; otherwise tangents depend on the normal alone.
    pub(super) fn has_direction(&self) -> bool {
        self.direction.is_some()
    }

    pub(super) fn new(a: &Half, b: &Half) -> Self {
        let (one, two) = (a.material, b.material);
        let (stiffness, damping) = match (one.stiffness.is_finite(), two.stiffness.is_finite()) {
            (true, true) => (in_series(one.stiffness, two.stiffness), in_series(one.damping, two.damping)),
            (true, false) => (one.stiffness, one.damping),
            (false, true) => (two.stiffness, two.damping),
            (false, false) => (f64::INFINITY, 0.0),
        };
        let direction = |half: &Half| half.material.across.map(|across| (across.direction, half.rotation()));
        let radius = b.radius.or(a.radius).unwrap_or(0.0);
        let Resistance { friction, rolling, torsion } = Resistance::of(one, two);
        Self {
            surface: Surface {
                friction,
                restitution: one.restitution.max(two.restitution),
                rolling: rolling * radius,
                torsion,
                stiffness,
                damping,
                slip: one.slip + two.slip,
                motion: b.motion() - a.motion(),
            },
            direction: direction(b).or(direction(a)),
        }
    }

    /// A contact that nothing is known of from before.
    #[inline(always)]
    pub(super) fn contact(
        &self,
        a: Option<LinkAddress>,
        b: LinkAddress,
        hit: &Hit,
        tangents: [DVec3; 2],
        key: u64,
        sizes: Sizes,
    ) -> Contact {
        Contact {
            a,
            b,
            point: hit.point,
            normal: hit.normal,
            tangents,
            gap: hit.gap,
            surface: self.surface,
            key,
            soil_patch: None,
            impulse: DVec3::ZERO,
            spin_impulse: DVec3::ZERO,
            slip: 0.0,
            rate: DVec3::ZERO,
            contact_duration: 0.0,
            moved: DVec3::ZERO,
            undistributed_change: f64::INFINITY,
            size: sizes.size,
            same_within: sizes.same_within(),
            deferred: false,
        }
    }

    /// The direction of friction as far as it lies in the surface, and the one across it; any two where there is none.
    pub(super) fn tangents(&self, normal: DVec3) -> [DVec3; 2] {
        let wanted = match self.direction {
            None => DVec3::ZERO,
            Some((FrictionDirection::Along(axis), rotation)) => {
                let axis = rotation * axis;
                axis - normal * normal.dot(axis)
            }
            Some((FrictionDirection::AcrossAxle(axle), rotation)) => (rotation * axle).cross(normal),
        };
        if wanted.length_squared() > 1e-12 {
            let first = wanted.normalized();
            return [first, normal.cross(first)];
        }
        let first = if normal.x.abs() > std::f64::consts::FRAC_1_SQRT_2 {
            DVec3::new(normal.y, -normal.x, 0.0)
        } else {
            DVec3::new(0.0, normal.z, -normal.y)
        };
        let first = first.normalized();
        [first, normal.cross(first)]
    }
}
