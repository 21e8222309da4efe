//! Measures of the quality of a grasp. They describe the grasp wrench space, which is the set of wrenches that the
//! contacts exert with normal forces of a given size.
//!
//! Bounds are certified. The lower bound comes from a polytope of wrenches that the contacts do exert. The upper bound
//! comes from the support function: no wrench of the space reaches beyond it along a direction. The polytope begins as
//! a simplex. It is extended where it is narrowest, by the wrench that the friction cones exert farthest out along the
//! normal there, until the bounds meet. Friction cones are exact, so no number of edges has to be chosen.
//!
//! Measures: Ferrari and Canny's epsilon (*Planning optimal grasps*, 1992), the volume of the space, and those of
//! RobWorkSim's `GWSMeasure3D` and `CMDistCCPMeasure3D`: the average offset of facets, forces under the worst torque,
//! and the centre of contacts.

mod hull;
mod space;

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

use bevy_math::DVec3;
use nalgebra::Matrix6;

pub use space::{Norm, Scaling};

use crate::{
    equilibrium::unresisted_twist,
    statics::{Section, Statics, Vector6, halves, wrench},
};
use hull::{Facet, FlatPoints, Hull};
use space::WrenchSpace;

/// Settings of the measures.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Which normal forces the bound applies to: their sum, or each.
    pub norm: Norm,
    /// The bound on normal forces.
    pub scaling: Scaling,
    /// Factor on torques that makes them comparable with forces, 1/m. Without one it is 1 / [`Statics::length`].
    pub torque_scale: Option<f64>,
    /// Gap between lower and upper bound at which they count as met, as a fraction of the upper bound.
    pub tolerance: f64,
    /// The same tolerance for the bounds of the volume, which converge slowly.
    pub volume_tolerance: f64,
    /// Number of facets of the polytope at which the search ends, whatever the gap.
    pub facets: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            norm: Norm::L1,
            scaling: Scaling::Unit,
            torque_scale: None,
            tolerance: 1e-3,
            volume_tolerance: 0.1,
            facets: 20_000,
        }
    }
}

/// Certified bounds of a measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// The measure is at least this.
    pub lower: f64,
    /// The measure is at most this.
    pub upper: f64,
}

/// Why the search for a measure ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The bounds have met, to the tolerance.
    Met,
    /// The polytope has reached the largest number of facets ([`Options::facets`]).
    Facets,
    /// No point beyond the polytope can be added, because rounding hides it.
    Rounding,
}

impl Bounds {
    const ZERO: Self = Self { lower: 0.0, upper: 0.0 };

    /// Gap between the bounds as a fraction of the upper one; 0 where that is zero.
    pub fn gap(&self) -> f64 {
        if self.upper > 0.0 { (self.upper - self.lower) / self.upper } else { 0.0 }
    }
}

/// The measures of a grasp. Forces are fractions of the bound on normal forces; torques are multiplied by the torque
/// scale.
#[derive(Debug, Clone)]
pub struct Quality {
    /// Ferrari and Canny's epsilon: the size of the largest wrench that is resisted in every direction.
    pub epsilon: Bounds,
    /// Unit vector, torque scaled, along which the space reaches least far. A growing wrench in this direction is the
    /// first that the grasp fails to resist.
    pub weakest: Vector6,
    /// The volume of the wrench space.
    pub volume: Bounds,
    /// Size of the largest force that is resisted in every direction, without a torque.
    pub force: Bounds,
    /// Size of the largest force that is resisted in every direction under the worst torque, which is the torque part
    /// of `weakest` times epsilon.
    pub force_under_torque: Bounds,
    /// Size of the largest torque that is resisted about every axis, without a force.
    pub torque: Bounds,
    /// For friction pyramids under the norm L1: mean offset of the facets of the polytope that they span. It depends on
    /// how facets of more than six points are triangulated.
    pub average_facet_distance: Option<f64>,
    /// (2 r - d) / (2 r), where d is the distance from the centre of mass to the mean of the contacts, and r is
    /// 1 / torque scale.
    pub centroid: f64,
    /// The torque scale that was used, 1/m.
    pub torque_scale: f64,
    /// Number of facets of the polytope that bounds epsilon.
    pub facets: usize,
    /// Why epsilon is zero, where it is.
    pub reason: Option<String>,
    /// Why the searches ended: for epsilon, force, force under the worst torque, torque and volume.
    pub ended: [Ended; 5],
}

/// Number of tilted hyperplanes that are tried over a facet to tighten its bound on the volume.
const MAX_TILTS: usize = 6;
/// Size of the first tilt, as a fraction of the tilt that would flatten the hyperplane onto the facet.
const FIRST_TILT: f64 = 0.2;

/// Interval, in points, at which the volumes of all facets are summed afresh, since rounding accumulates.
const RESUM_INTERVAL: u32 = 32;

/// The slice of the wrench space that is measured.
#[derive(Debug, Clone, Copy)]
enum Slice {
    /// All wrenches.
    Whole,
    /// Forces under this torque.
    Force(DVec3),
    /// Torques without force.
    Torque,
}

impl Slice {
    /// Distance from the slice's origin, within the slice, to the hyperplane of this normal and offset.
    fn distance(self, normal: &Vector6, offset: f64) -> f64 {
        let [force, torque] = halves(normal);
        let (room, across) = match self {
            Self::Whole => (offset, 1.0),
            Self::Force(under) => (offset - torque.dot(under), force.length()),
            Self::Torque => (offset, torque.length()),
        };
        // A hyperplane parallel to the slice, to rounding, never meets it, or cuts off all of it.
        match across < 1e-9 {
            true if room > -1e-9 => f64::INFINITY,
            _ if room <= 0.0 => 0.0,
            _ => room / across,
        }
    }
}

/// Computes the measures of a grasp.
pub fn quality(statics: &Statics, options: &Options) -> Quality {
    let torque_scale = options.torque_scale.unwrap_or(1.0 / statics.length);
    let space = WrenchSpace::new(&statics.contacts, options.norm, options.scaling, torque_scale);
    let mean = statics.contacts.iter().map(|contact| contact.lever).sum::<DVec3>() / statics.contacts.len() as f64;
    let mut quality = Quality {
        epsilon: Bounds::ZERO,
        weakest: Vector6::zeros(),
        volume: Bounds::ZERO,
        force: Bounds::ZERO,
        force_under_torque: Bounds::ZERO,
        torque: Bounds::ZERO,
        average_facet_distance: None,
        centroid: 1.0 - mean.length() * torque_scale / 2.0,
        torque_scale,
        facets: 0,
        reason: None,
        ended: [Ended::Met; 5],
    };
    let simplex = match Hull::simplex(&space.corners()) {
        Ok(hull) => hull,
        Err(FlatPoints(normal)) => {
            (quality.weakest, quality.reason) = (normal, Some(describe_unreachable(&normal)));
            return quality;
        }
    };
    // Without force closure one program finds the open direction at once; the bounds would converge to it slowly.
    let open = unresisted_twist(statics).map(|twist| {
        let [force, torque] = halves(&twist);
        wrench(force, torque / torque_scale).normalize()
    });
    let refine = |hull: &mut Hull, slice| refine_bounds(hull, &space, slice, options, open.as_ref());
    let mut hull = simplex.clone();
    let (epsilon, weakest, ended) = refine(&mut hull, Slice::Whole);
    quality.facets = hull.len();
    (quality.epsilon, quality.weakest) = (epsilon, weakest);
    // Its size is the certified lower bound, so the polytope contains the wrench.
    let worst = halves(&(weakest * epsilon.lower))[1];
    // One polytope serves all measures, since a facet that is near in one slice is often near in another. A polytope
    // that has reached the largest number of facets is replaced by the simplex.
    if ended == Ended::Facets {
        hull = simplex.clone();
    }
    let mut measure = |slice| {
        let (bounds, _, ended) = refine(&mut hull, slice);
        if ended == Ended::Facets {
            hull = simplex.clone();
        }
        (bounds, ended)
    };
    quality.ended[0] = ended;
    (quality.force, quality.ended[1]) = measure(Slice::Force(DVec3::ZERO));
    (quality.force_under_torque, quality.ended[2]) = measure(Slice::Force(worst));
    (quality.torque, quality.ended[3]) = measure(Slice::Torque);
    (quality.volume, quality.ended[4]) = bound_volume(&mut simplex.clone(), &space, options);
    quality.average_facet_distance = average_facet_distance(&space);
    if epsilon.upper == 0.0 {
        quality.reason = Some(describe_unresisted(&-weakest, torque_scale));
    }
    quality
}

/// Text that names a wrench that no contact resists. Its torque is scaled.
fn describe_unresisted(scaled: &Vector6, torque_scale: f64) -> String {
    let [force, torque] = halves(scaled);
    let torque = torque / torque_scale;
    format!("no contact resists the wrench of force {force:.4} N and torque {torque:.4} N m")
}

/// Mean offset of the facets of the polytope that friction pyramids span; `None` for cones, and under the norm
/// L-infinity.
fn average_facet_distance(space: &WrenchSpace) -> Option<f64> {
    let pyramids = space.contacts.iter().all(|contact| matches!(contact.section, Section::Polygon(_)));
    let corners = space.corners();
    let mut hull = Hull::simplex(&corners).ok().filter(|_| pyramids && space.norm == Norm::L1)?;
    corners.into_iter().for_each(|corner| hull.add_point(corner));
    Some(hull.facets().map(|(_, facet)| facet.offset.max(0.0)).sum::<f64>() / hull.len() as f64)
}

/// Text that names a force or torque that no contact can exert, along a direction orthogonal to the whole wrench space.
fn describe_unreachable(normal: &Vector6) -> String {
    let [force, torque] = halves(normal);
    let [force, torque] = [force, torque].map(|part| part * part.length().max(1e-300).recip());
    let alone = |part: f64| part > 1.0 - 1e-9;
    let share = halves(normal).map(DVec3::length_squared);
    match share.map(alone) {
        [true, _] => format!("no contact can exert a force along {force:.4}"),
        [_, true] => {
            format!("no contact can exert a torque about {torque:.4}: the contacts let the object turn about that axis")
        }
        _ => format!("no contact can exert a force along {force:.4} together with a torque about {torque:.4}"),
    }
}

/// Extends the polytope where a slice of it is narrowest until the bounds meet. Returns the bounds, the direction of
/// the upper one, and why the search ended. Along `open`, if given, the space does not reach beyond the origin.
fn refine_bounds(
    hull: &mut Hull,
    space: &WrenchSpace,
    slice: Slice,
    options: &Options,
    open: Option<&Vector6>,
) -> (Bounds, Vector6, Ended) {
    let (mut upper, mut direction) =
        open.map_or((f64::INFINITY, Vector6::zeros()), |open| (slice.distance(open, 0.0), *open));
    let mut queue = FacetQueue::default();
    loop {
        let Some((lower, number)) = queue.nearest_facet(hull, slice) else {
            return (Bounds { lower: 0.0, upper }, direction, Ended::Rounding);
        };
        let Some(normal) = hull.facet(number).map(|facet| facet.normal) else { continue };
        let (point, reach) = space.support(&normal);
        // A reach of zero comes out as rounding.
        let reach = if reach <= 1e-13 * space.size() { 0.0 } else { reach };
        let here = slice.distance(&normal, reach);
        if here < upper {
            (upper, direction) = (here, normal);
        }
        let lower = lower.min(upper);
        let met = upper.is_finite() && upper - lower <= options.tolerance * upper;
        if let Some(ended) = end_or_add_point(met, hull, options, |hull| hull.add_beyond(point, number)) {
            return (Bounds { lower, upper }, direction, ended);
        }
    }
}

/// Priority queue of the facets of a growing hull: the nearest within a slice first, and among equals the oldest.
#[derive(Default)]
struct FacetQueue {
    /// Distance and number of each facet. The distance is stored as the bits of an `f64`, whose order as whole numbers
    /// is the same, since no distance is negative.
    heap: BinaryHeap<Reverse<(u64, usize)>>,
    /// Facets below this number are in the heap.
    next: usize,
    /// [`Hull::renumberings`] when the heap was filled.
    renumberings: usize,
}

impl FacetQueue {
    /// Distance and number of the nearest facet.
    fn nearest_facet(&mut self, hull: &Hull, slice: Slice) -> Option<(f64, usize)> {
        if self.renumberings != hull.renumberings {
            *self = Self { renumberings: hull.renumberings, ..Self::default() };
        }
        for number in self.next..hull.next_number() {
            if let Some(facet) = hull.facet(number) {
                self.heap.push(Reverse((slice.distance(&facet.normal, facet.offset).to_bits(), number)));
            }
        }
        self.next = hull.next_number();
        while let Some(Reverse((distance, number))) = self.heap.peek().copied() {
            if hull.facet(number).is_some() {
                return Some((f64::from_bits(distance), number));
            }
            self.heap.pop();
        }
        None
    }
}

/// Ends a search and says why, or adds a point and returns `None`.
fn end_or_add_point(
    met: bool,
    hull: &mut Hull,
    options: &Options,
    add: impl FnOnce(&mut Hull) -> bool,
) -> Option<Ended> {
    if met {
        Some(Ended::Met)
    } else if hull.len() > options.facets {
        Some(Ended::Facets)
    } else if add(hull) {
        None
    } else {
        Some(Ended::Rounding)
    }
}

/// Bounds the volume of the wrench space: extends the polytope where the gap of a facet's volumes is widest until the
/// bounds meet.
fn bound_volume(hull: &mut Hull, space: &WrenchSpace, options: &Options) -> (Bounds, Ended) {
    let volumes_of = |hull: &Hull, facet: &Facet, tilts| {
        let within = hull.facet_volume(facet);
        [within, within * volume_ratio_bound(&hull.centred_corners(facet), facet, &hull.centre, space, tilts)]
    };
    let (mut next, mut renumberings) = (0, hull.renumberings);
    // Sum over all facets so far. The sum over the present facets is this less `removed_volumes`.
    let (mut sum, mut rounds) = ([0.0; 2], 0u32);
    let mut widest: BinaryHeap<(u64, Reverse<usize>)> = BinaryHeap::new();
    let width = |[within, at_most]: [f64; 2]| (at_most - within).max(0.0).to_bits();
    loop {
        if renumberings != hull.renumberings {
            (next, renumberings, sum, hull.removed_volumes) = (0, hull.renumberings, [0.0; 2], [0.0; 2]);
            widest.clear();
        }
        for number in next..hull.next_number() {
            let Some(facet) = hull.facet(number) else { continue };
            let (volumes, is_final) = facet.volumes.unwrap_or_else(|| (volumes_of(hull, facet, 0), false));
            hull.set_volumes(number, (volumes, is_final));
            sum = [sum[0] + volumes[0], sum[1] + volumes[1]];
            widest.push((width(volumes), Reverse(number)));
        }
        next = hull.next_number();
        let removed = hull.removed_volumes;
        let mut bounds = Bounds { lower: sum[0] - removed[0], upper: sum[1] - removed[1] };
        rounds += 1;
        // The upper bound of a sliver can be so large that the other volumes vanish beside it in rounding.
        let may_be_met = bounds.gap().partial_cmp(&options.volume_tolerance) != Some(Ordering::Greater);
        if rounds % RESUM_INTERVAL == 0 || may_be_met {
            sum = hull.sum_volumes();
            bounds = Bounds { lower: sum[0], upper: sum[1] };
        }
        let Some((number, facet)) = widest_facet(&mut widest, hull, width) else { return (bounds, Ended::Rounding) };
        let met = bounds.gap() <= options.volume_tolerance;
        // The tight bound is computed only now, because most facets are removed before they come to the top.
        if !met && facet.volumes.is_some_and(|(_, is_final)| !is_final) {
            let volumes = volumes_of(hull, facet, MAX_TILTS);
            let before = facet.volumes.map_or(volumes, |(before, _)| before);
            sum[1] += volumes[1] - before[1];
            hull.set_volumes(number, (volumes, true));
            widest.push((width(volumes), Reverse(number)));
            continue;
        }
        let normal = facet.normal;
        let add = |hull: &mut Hull| hull.add_beyond(space.support(&normal).0, number);
        if let Some(ended) = end_or_add_point(met, hull, options, add) {
            let [lower, upper] = hull.sum_volumes();
            return (Bounds { lower, upper }, ended);
        }
    }
}

/// The facet whose volumes have the widest gap: the top of the heap, after entries of removed facets and outdated
/// entries have been dropped.
fn widest_facet<'a>(
    widest: &mut BinaryHeap<(u64, Reverse<usize>)>,
    hull: &'a Hull,
    width: impl Fn([f64; 2]) -> u64,
) -> Option<(usize, &'a Facet)> {
    while let Some(&(most, Reverse(number))) = widest.peek() {
        let now = hull.facet(number).and_then(|facet| Some((facet, width(facet.volumes?.0))));
        match now {
            Some((facet, own)) if own == most => return Some((number, facet)),
            _ => drop(widest.pop()),
        }
    }
    None
}

/// Upper bound on the volume of the space in the cone over a facet, as a multiple of the volume of the simplex between
/// the facet and the centre. `corners` are the facet's vertices relative to the centre.
///
/// Every hyperplane that the space does not reach beyond cuts a simplex off the cone, and that simplex contains the
/// space there. The result is the smallest of several. The first hyperplane is parallel to the facet. If it touches the
/// space above some of the corners, the next hyperplanes are tilted down over the other corners.
fn volume_ratio_bound(
    corners: &Matrix6<f64>,
    facet: &Facet,
    centre: &Vector6,
    space: &WrenchSpace,
    tilts: usize,
) -> f64 {
    let share = |normal: &Vector6| {
        let (point, reach) = space.support(normal);
        let reach = (reach - normal.dot(centre)).max(f64::MIN_POSITIVE);
        let cut: f64 = corners.column_iter().map(|corner| reach / normal.dot(&corner).max(0.0)).product();
        (cut.max(1.0), point)
    };
    let (mut least, mut point) = share(&facet.normal);
    if tilts == 0 {
        return least;
    }
    let Some(inverse) = corners.try_inverse() else { return least };
    // The hyperplane's normal, given by its dot products with the corners; only their ratios matter.
    let (mut heights, mut step) = (Vector6::repeat(1.0), FIRST_TILT * libm::log(least));
    for _ in 0..tilts {
        // The point that the hyperplane touches, in coordinates of the corners.
        let parts = (inverse * (point - centre)).component_mul(&heights);
        let slope = (parts / parts.sum()).add_scalar(-1.0 / 6.0);
        let norm = slope.norm();
        if norm.is_nan() || norm < 1e-6 {
            break;
        }
        heights.zip_apply(&slope, |height, slope| *height *= libm::exp(-step * slope / norm));
        let (cut, touched) = share(&(inverse.transpose() * heights).normalize());
        (least, point) = (least.min(cut), touched);
        step *= 0.7;
    }
    least
}
