//! A patch within a substep: where it is, its loads of the last substep, and the law of its friction.

use bevy_math::{DVec2, DVec3};
use simpartner_model::Norm;

use super::pressure::Form;
use crate::engine::{algebra::spatial::Spatial, collision::Contact, solvers::patch_friction::PatchFriction};

/// Largest moment over the largest friction force, as a fraction of the length: at least half for even pressure on any
/// rectangle.
const LEAST_ARM: f64 = 0.45;
/// Accuracy of the limit at which a patch starts to slide, as a fraction of its load; and the speed below which
/// friction is viscous in its evaluation, as a fraction of the largest possible.
const LIMIT_TOLERANCE: f64 = 1e-4;
const LIMIT_FLOOR: f64 = 1e-6;

/// A patch that spins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patch {
    /// Its contacts: from `first` to before `end` among the contacts of the island.
    pub(super) first: usize,
    pub(super) end: usize,
    /// Members that touch, one bit for each.
    pub(super) members: u64,
    /// Axes: along its chords, across, and the normal.
    pub(super) axes: [DVec3; 3],
    pub(super) friction: f64,
    pub(super) loads: Loads,
    /// Its law, with the pressure of the last substep.
    pub(super) law: PatchFriction,
}

/// Loads of the points of a patch in the last substep.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loads {
    /// Mean of the points, and their largest distance from it, m.
    pub(super) point: DVec3,
    pub(super) length: f64,
    /// Sum of the normal impulses, N s, and their centre from the mean, m.
    total: f64,
    centre: Option<DVec3>,
    /// Tangential impulse, N s, and its moment about the normal through the mean and through the centre, N m s.
    force: DVec3,
    moment: f64,
    central_moment: f64,
}

impl Loads {
    /// Sums of these contacts with this normal.
    pub(super) fn sum_contacts<'a, I: Iterator<Item = &'a Contact>>(contacts: impl Fn() -> I, normal: DVec3) -> Self {
        let (mut point, mut total, mut centre, mut count) = (DVec3::ZERO, 0.0, DVec3::ZERO, 0.0);
        for contact in contacts() {
            let load = contact.impulse.dot(normal).max(0.0);
            point += contact.point;
            total += load;
            centre += contact.point * load;
            count += 1.0;
        }
        point /= count;
        let centre = (total > 0.0).then(|| centre / total - point);
        let (mut force, mut moment, mut length) = (DVec3::ZERO, 0.0, 0.0f64);
        for contact in contacts() {
            let lever = contact.point - point;
            let tangential = contact.impulse - normal * contact.impulse.dot(normal);
            let resists = contact.surface.rolling > 0.0 || contact.surface.torsion > 0.0;
            let own = if resists { DVec3::ZERO } else { contact.spin_impulse };
            force += tangential;
            moment += (lever.cross(tangential) + own).dot(normal);
            length = length.max(lever.length_squared());
        }
        let central_moment = moment - centre.unwrap_or(DVec3::ZERO).cross(force).dot(normal);
        Self { point, length: length.sqrt(), total, centre, force, moment, central_moment }
    }

    /// The law of a patch of this form, whose first and second axes are given, with the pressure of these loads.
    pub(super) fn friction_law(&self, form: &Form, [along, across]: [DVec3; 2]) -> PatchFriction {
        let centre = self.centre.map(|centre| DVec2::new(centre.dot(along), centre.dot(across)));
        form.patch_friction(centre.unwrap_or_else(|| form.pressure_centre()), self.length)
    }

    /// False if the friction of its pressure can certainly exert this force and moment, up to [`LIMIT_TOLERANCE`]: all
    /// of the force if there is no moment about the centre, as of a face that slides without turning.
    pub(super) fn may_exceed(&self, friction: f64) -> bool {
        let (limit, tolerance) = (friction * self.total, 0.5 * LIMIT_TOLERANCE * friction * self.total);
        if self.central_moment.abs() <= tolerance * self.length && self.force.norm() <= limit + tolerance {
            return false;
        }
        let off = self.centre.map_or(0.0, |centre| centre.norm());
        let arm = LEAST_ARM * (self.length - off).max(0.0);
        self.central_moment.abs() > arm * (friction * self.total - self.force.norm())
    }
}

impl Patch {
    /// Force and moment about the reference point of an impulse of its block, or their rates.
    pub(super) fn patch_wrench(&self, l: [f64; 3]) -> Spatial {
        let [along, across, normal] = self.axes;
        let force = (along * l[0] + across * l[1]) * self.friction;
        Spatial::new(normal * (self.friction * self.loads.length * l[2]), force)
    }

    /// Its impulse in the last substep.
    pub(super) fn last_impulse(&self) -> [f64; 3] {
        let ([along, across, _], loads) = (self.axes, &self.loads);
        [loads.force.dot(along), loads.force.dot(across), loads.moment / loads.length].map(|l| l / self.friction)
    }

    /// True if friction of its points exerted more than its pressure can: the impulse is outside of the law's set, so
    /// the law's nearest impulse is another one.
    pub(super) fn exceeds_limit(&self) -> bool {
        let (total, last) = (self.loads.total, self.last_impulse());
        if !(total > 0.0) {
            return false;
        }
        let inverse = 1.0 / total;
        let unit = [inverse, 0.0, 0.0, inverse, 0.0, inverse];
        let wanted = last.map(|l| -l * inverse);
        let nearest = PatchFriction { floor: LIMIT_FLOOR, ..self.law }.solve(&unit, wanted, total, wanted);
        (0..3).any(|c| (nearest[c] - last[c]).abs() > LIMIT_TOLERANCE * total)
    }

    /// The contacts of the patch that touch, of those of its island.
    pub(super) fn member_contacts<'a>(&self, own: &'a [usize]) -> impl Iterator<Item = usize> + use<'a> {
        members_of(&own[self.first..self.end], self.members)
    }

    /// Velocity of a point of the patch for the velocities of its rows, m/s.
    pub(super) fn velocity_at(&self, point: DVec3, u: [f64; 3]) -> DVec3 {
        let [along, across, normal] = self.axes;
        let spin = normal * (u[2] / (self.friction * self.loads.length));
        (along * u[0] + across * u[1]) / self.friction + spin.cross(point - self.loads.point)
    }
}

/// The contacts of a list whose bits are set.
pub(super) fn members_of(own: &[usize], members: u64) -> impl Iterator<Item = usize> {
    own.iter().take(64).enumerate().filter(move |(place, _)| members >> place & 1 == 1).map(|(_, &index)| index)
}
