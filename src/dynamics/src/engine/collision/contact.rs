//! Contacts: where two surfaces meet, and the combined properties of the two materials.

use std::cmp::Ordering;

use bevy_math::{DQuat, DVec3};
use serde::{Deserialize, Serialize};
use simpartner_model::{ContactDimensions, FrictionDirection, FrictionRule, Material, Norm, SurfaceMotion};

use super::hit::Hit;
use crate::engine::state::addresses::LinkAddress;

/// Smallest distance within which contacts are searched, m: a body at 1 m/s travels as far in two steps of 1 ms.
///
/// Rows of open contacts have no impulse, so the margin need not grow with the size of shapes; but they cost as much as
/// rows of closed contacts.
pub(crate) const SEARCH_MARGIN: f64 = 0.002;

/// Largest margin of a shape on a ground, as a fraction of the radius of the ball around it: less than half of the
/// height of a cube.
pub(crate) const SMALL_SHAPE_MARGIN: f64 = 0.5;

/// Combined contact properties of two surfaces.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Surface {
    /// Friction coefficients along the first tangent and along the second.
    pub(crate) friction: [f64; 2],
    pub(crate) restitution: f64,
    /// Rolling and torsional resistance, m: torque per newton of normal force.
    pub(crate) rolling: f64,
    pub(crate) torsion: f64,
    /// Contact stiffness, N/m, infinite if rigid, and damping, N s/m.
    pub(crate) stiffness: f64,
    pub(crate) damping: f64,
    /// Creep, m/(s N).
    pub(crate) slip: f64,
    /// Velocity of the second side's surface relative to the first's, in excess of the velocities of their bodies
    /// (conveyor belts): world axes, m/s.
    pub(crate) motion: DVec3,
}

/// A contact point of this step.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Contact {
    /// The first side; `None` is the ground.
    pub(crate) a: Option<LinkAddress>,
    pub(crate) b: LinkAddress,
    /// Point between the surfaces, world frame, m.
    pub(crate) point: DVec3,
    /// Unit vector from a to b.
    pub(crate) normal: DVec3,
    pub(crate) tangents: [DVec3; 2],
    /// Distance of the surfaces along the normal, m, negative for penetration.
    pub(crate) gap: f64,
    pub(crate) surface: Surface,
    /// Key of the pair of shapes. Contacts are sorted by it. It is `(first + 1) << 32 | second` for two shapes, and
    /// `shape << GROUND_BITS | ground` for a shape on a ground.
    pub(crate) key: u64,
    /// Index of the soil patch of b, if the ground is soil ([`super::super::soil`]). This contact then stands for the
    /// whole wrench of the soil.
    pub(crate) soil_patch: Option<usize>,
    /// Impulse on b, N s, and angular impulse of rolling and torsional resistance, N m s, in world axes.
    pub(crate) impulse: DVec3,
    pub(crate) spin_impulse: DVec3,
    /// Warm start of the slip parameter s of the friction cone, 1/kg.
    pub(crate) slip: f64,
    /// Velocity of b relative to a at the contact at the end of the last substep, m/s, and the length of that substep,
    /// s. The length is 0 if the surfaces parted in it.
    pub(crate) rate: DVec3,
    pub(crate) contact_duration: f64,
    /// Displacement of the point since the last substep, m.
    #[serde(skip)]
    pub(crate) moved: DVec3,
    /// Velocity change by the solver since the load was distributed, m/s
    /// ([`crate::engine::solvers::least_norm_distribution`]).
    pub(crate) undistributed_change: f64,
    /// Size of the smaller shape: largest distance of its points from its centre, m.
    #[serde(skip)]
    pub(crate) size: f64,
    /// Radii of both shapes if they are round, m; 0 for others.
    #[serde(skip)]
    pub(crate) round: [f64; 2],
    /// Largest distance to a contact of the last step that counts as the same contact, m.
    #[serde(skip)]
    pub(super) same_within: f64,
    /// True if this substep ignores the contact ([`crate::engine::stepping::impacts`]).
    #[serde(skip)]
    pub(crate) deferred: bool,
}

/// Reference lengths of a pair of shapes, m.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// The size of the smaller shape.
    pub(super) size: f64,
    /// Upper bound of the relative motion of two surface points in a step.
    pub(super) motion: f64,
}

/// Largest displacement of a contact between two steps that still counts as the same contact, in excess of the motion
/// of its shapes, as a fraction of the size of the smaller shape; and its upper bound with that motion, m.
///
/// Distances tell the contacts of a pair apart, and these grow with the shapes: 5 cm on a wheel of 20 cm.
const SAME_CONTACT_SHIFT: f64 = 0.25;
const MAX_SAME_CONTACT_SHIFT: f64 = 0.05;
/// Relative motion in two steps above which contacts are searched along the path of the shapes, as a fraction of the
/// size of the smaller shape, and in metres. At such a speed, a surface within reach need not be in the way.
const PASSING_MOTION: f64 = 0.1;
const MAX_UNTRACKED_MOTION: f64 = 0.02;
/// Shapes of at least this size may penetrate as deep as [`crate::engine::stepping::step_validation`] allows, smaller
/// ones in proportion, m.
const FULL_DEPTH_SIZE: f64 = 0.02;

impl Sizes {
    /// Largest distance to a contact of the last step that counts as the same contact, m.
    fn same_within(self) -> f64 {
        (SAME_CONTACT_SHIFT * self.size + self.motion).min(MAX_SAME_CONTACT_SHIFT)
    }

    /// True if the shapes move so far past each other, and rotate so little, that contacts are searched along their
    /// path.
    pub(super) fn are_passed_by(self, motion: DVec3, spin: f64) -> bool {
        motion.norm() > MAX_UNTRACKED_MOTION.min(PASSING_MOTION * self.size) && spin < MAX_UNTRACKED_MOTION
    }

    /// Distance within which contacts count wherever the shapes move, m.
    pub(super) fn unconditional_margin(self) -> f64 {
        SEARCH_MARGIN.min(PASSING_MOTION * self.size)
    }
}

impl Contact {
    /// Impulse on b in world axes, N s, of a solution `l` of the solver. The rows of its tangents include the friction
    /// coefficients.
    pub(crate) fn impulse_of(&self, l: [f64; 3]) -> DVec3 {
        let [first, second] = self.surface.friction;
        self.normal * l[0] + self.tangents[0] * (l[1] * first) + self.tangents[1] * (l[2] * second)
    }

    /// Velocity in world axes, m/s, of row velocities `u`. The rows of the tangents include the friction coefficients;
    /// a tangent with zero friction contributes nothing.
    pub(crate) fn velocity_of(&self, u: [f64; 3]) -> DVec3 {
        let [first, second] = self.surface.friction;
        let along = |u: f64, friction: f64| if friction > 0.0 { u / friction } else { 0.0 };
        self.normal * u[0] + self.tangents[0] * along(u[1], first) + self.tangents[1] * along(u[2], second)
    }

    /// This contact on soil, which has no restitution and no stiffness of its own.
    pub(super) fn for_soil(self) -> Self {
        Self { surface: Surface { restitution: 0.0, stiffness: 0.0, ..self.surface }, ..self }
    }

    /// Links of the contact, one or two.
    pub(crate) fn sides(&self) -> impl Iterator<Item = LinkAddress> + use<> {
        self.a.into_iter().chain([self.b])
    }

    /// True if the contact can bounce: it is rigid and has restitution.
    pub(crate) fn can_bounce(&self) -> bool {
        self.surface.restitution > 0.0 && self.surface.stiffness.is_infinite()
    }

    /// Ratio of the penetration allowed here to that allowed between large shapes, 0 to 1.
    pub(crate) fn depth_fraction(&self) -> f64 {
        (self.size / FULL_DEPTH_SIZE).min(1.0)
    }

    /// Scales the impulses to a step of another length.
    pub(crate) fn scale_impulses(&mut self, ratio: f64) {
        self.impulse *= ratio;
        self.spin_impulse *= ratio;
    }

    /// True if it carried a load in the last step.
    pub(crate) fn carries_load(&self) -> bool {
        self.impulse.dot(self.normal) > 0.0
    }

    /// Impulse of the last step in the solver's coordinates, projected into the cone.
    pub(crate) fn warm_start_impulse(&self) -> [f64; 3] {
        let normal = self.impulse.dot(self.normal).max(0.0);
        let along = |k: usize| self.impulse.dot(self.tangents[k]) / self.surface.friction[k].max(1e-300);
        let (first, second) = (along(0), along(1));
        let length = (first * first + second * second).sqrt();
        let scale = if length > normal { normal / length } else { 1.0 };
        if scale.is_finite() { [normal, first * scale, second * scale] } else { [normal, 0.0, 0.0] }
    }

    /// Angular impulse on b in world axes, N m s, of a solution `l` of its rolling resistance.
    pub(crate) fn rolling_impulse_of(&self, l: [f64; 3]) -> DVec3 {
        self.tangents[0] * l[0] + self.tangents[1] * l[1]
    }
}

/// One surface of a contact: its material, the orientation of its link, that of the body on the link, and the rolling
/// radius, m, if the shape can roll.
#[derive(Debug, Clone, Copy)]
pub(super) struct ContactSide<'a> {
    pub(super) material: &'a Material,
    pub(super) link: DQuat,
    pub(super) on_link: DQuat,
    pub(super) radius: Option<f64>,
}

impl<'a> ContactSide<'a> {
    /// The surface of a ground, which does not roll.
    pub(super) fn of_ground(material: &'a Material) -> Self {
        Self { material, link: DQuat::IDENTITY, on_link: DQuat::IDENTITY, radius: None }
    }

    /// Orientation of the body. Only few surfaces need it.
    fn rotation(&self) -> DQuat {
        self.link * self.on_link
    }

    /// Velocity of the surface in excess of that of its body, world axes, m/s; zero unless it moves in this way.
    fn excess_velocity(&self, motion: SurfaceMotion) -> DVec3 {
        let velocity = self.material.surface_velocity;
        let moves = velocity != DVec3::ZERO && self.material.surface_motion == motion;
        if moves { self.rotation() * velocity } else { DVec3::ZERO }
    }
}

/// The part of a vector that lies in a surface with this unit normal.
fn in_surface(vector: DVec3, normal: DVec3) -> DVec3 {
    vector - normal * normal.dot(vector)
}

/// Stiffness of two springs in series, or damping of two dampers.
fn in_series(one: f64, two: f64) -> f64 {
    if one + two > 0.0 { one * two / (one + two) } else { 0.0 }
}

/// Coefficients of sliding, rolling and torsional resistance of a pair of surfaces.
struct Resistance {
    /// Friction coefficients along the direction of friction and across it.
    friction: [f64; 2],
    rolling: f64,
    torsion: f64,
}

impl Resistance {
    /// Combines the coefficients of two surfaces.
    fn combine(one: &Material, two: &Material) -> Self {
        // The surface of higher priority determines all properties.
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

/// A direction of friction with the rotation of its body, and 1 if that is the second surface, else -1.
type Directed = (FrictionDirection, DQuat, f64);

/// Combined properties of two surfaces in contact. The direction of friction is that of the second surface, unless only
/// the first one has a direction.
pub(super) struct Pair {
    surface: Surface,
    /// Motion by belts, m/s: at the normal n from the first surface to the second, `belt` x n adds to the motion of the
    /// surface.
    belt: DVec3,
    direction: Option<Directed>,
    round: [f64; 2],
}

/// Tangents at the last normal, cached: all contacts of a face, and all on a plane, have the same normal.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tangents {
    normal: DVec3,
    tangents: [DVec3; 2],
}

impl Tangents {
    /// Tangents at a normal.
    pub(super) fn at(&mut self, pair: &Pair, normal: DVec3) -> [DVec3; 2] {
        if normal != self.normal {
            *self = Self { normal, tangents: pair.tangents(normal) };
        }
        self.tangents
    }
}

impl Pair {
    /// True if the friction has a direction. Otherwise the tangents depend on the normal alone.
    pub(super) fn has_direction(&self) -> bool {
        self.direction.is_some()
    }

    pub(super) fn new(a: &ContactSide, b: &ContactSide) -> Self {
        let (one, two) = (a.material, b.material);
        let (stiffness, damping) = match (one.stiffness.is_finite(), two.stiffness.is_finite()) {
            (true, true) => (in_series(one.stiffness, two.stiffness), in_series(one.damping, two.damping)),
            (true, false) => (one.stiffness, one.damping),
            (false, true) => (two.stiffness, two.damping),
            (false, false) => (f64::INFINITY, 0.0),
        };
        let direction = |half: &ContactSide, side: f64| {
            half.material.across.map(|across| (across.direction, half.rotation(), side))
        };
        let radius = b.radius.or(a.radius).unwrap_or(0.0);
        let Resistance { friction, rolling, torsion } = Resistance::combine(one, two);
        Self {
            surface: Surface {
                friction,
                restitution: one.restitution.max(two.restitution),
                rolling: rolling * radius,
                torsion,
                stiffness,
                damping,
                slip: one.slip + two.slip,
                motion: b.excess_velocity(SurfaceMotion::Uniform) - a.excess_velocity(SurfaceMotion::Uniform),
            },
            // The outward normals are n for the first surface and -n for the second.
            belt: -(a.excess_velocity(SurfaceMotion::Belt) + b.excess_velocity(SurfaceMotion::Belt)),
            direction: direction(b, 1.0).or(direction(a, -1.0)),
            round: [a, b].map(|side| side.radius.unwrap_or(0.0)),
        }
    }

    /// A new contact, without a warm start.
    #[inline(always)]
    pub(super) fn new_contact(
        &self,
        a: Option<LinkAddress>,
        b: LinkAddress,
        hit: &Hit,
        tangents: [DVec3; 2],
        key: u64,
        sizes: Sizes,
    ) -> Contact {
        let mut surface = self.surface;
        if self.belt != DVec3::ZERO {
            surface.motion += self.belt.cross(hit.normal);
        }
        Contact {
            a,
            b,
            point: hit.point,
            normal: hit.normal,
            tangents,
            gap: hit.gap,
            surface,
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
            round: self.round,
            same_within: sizes.same_within(),
            deferred: false,
        }
    }

    /// Unit tangents: the direction of friction projected on the surface, and the direction across it. Without a
    /// direction of friction, any two orthogonal tangents.
    pub(super) fn tangents(&self, normal: DVec3) -> [DVec3; 2] {
        let wanted = match self.direction {
            None => DVec3::ZERO,
            Some((FrictionDirection::Along(axis), rotation, _)) => in_surface(rotation * axis, normal),
            Some((FrictionDirection::AcrossAxle(axle), rotation, _)) => (rotation * axle).cross(normal),
            Some((FrictionDirection::AlongRollers { axle, angle }, rotation, side)) => {
                let axle = in_surface(rotation * axle, normal);
                let (sine, cosine) = libm::sincos(angle);
                axle * cosine + normal.cross(axle) * (side * sine)
            }
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
