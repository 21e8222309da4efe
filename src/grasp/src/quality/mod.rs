//! How good a grasp is: measures of the grasp wrench space, the wrenches that contacts exert with normal forces of a given size.
//!
//! Bounds are certified. The lower one comes from a polytope of wrenches that the contacts do exert, the upper one from the support
//! function: no wrench of the space reaches beyond it along a direction. The polytope begins as a simplex; where it is narrowest, the
//! wrench that the cones exert farthest out there joins it, until the bounds meet. Cones are exact, so no number of edges is chosen.
//!
//! Measures: Ferrari and Canny's epsilon (*Planning optimal grasps*, 1992), the volume of the space, and those of RobWorkSim's
//! `GWSMeasure3D` and `CMDistCCPMeasure3D`: the average offset of facets, forces under the worst torque, and the centre of contacts.

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
    equilibrium::opening,
    statics::{Section, Statics, Vector6, halves, wrench},
};
use hull::{Facet, Flat, Hull};
use space::Space;

/// How the measures are taken.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// What is bounded.
    pub norm: Norm,
    /// By what.
    pub scaling: Scaling,
    /// Factor on torques that makes them comparable with forces, 1/m. Without one it is 1 / [`Statics::length`].
    pub torque_scale: Option<f64>,
    /// The gap, in parts of the upper bound, at which bounds count as met.
    pub tolerance: f64,
    /// The same of the volume's bounds, which meet slowly.
    pub volume_tolerance: f64,
    /// Facets at which the search ends, whatever the gap.
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

/// What a measure is between.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// At least this.
    pub lower: f64,
    /// At most this.
    pub upper: f64,
}

/// Why the search for a measure ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Its bounds have met.
    Met,
    /// Its polytope has as many facets as it may.
    Facets,
    /// Rounding leaves no farther point to add.
    Rounding,
}

impl Bounds {
    const ZERO: Self = Self { lower: 0.0, upper: 0.0 };

    /// The gap, in parts of the upper bound.
    pub fn gap(&self) -> f64 {
        if self.upper > 0.0 { (self.upper - self.lower) / self.upper } else { 0.0 }
    }
}

/// The measures of a grasp. Forces in parts of the bound on normal forces; torques times the torque scale.
#[derive(Debug, Clone)]
pub struct Quality {
    /// The largest wrench that is resisted whatever its direction.
    pub epsilon: Bounds,
    /// The direction in which that is least: a wrench of size 1 along it breaks the grasp first. The torque is scaled.
    pub weakest: Vector6,
    /// The volume of the wrench space.
    pub volume: Bounds,
    /// The largest force that is resisted in every direction, without a torque.
    pub force: Bounds,
    /// The same under the worst torque, the torque of `weakest` at its size of epsilon.
    pub force_under_torque: Bounds,
    /// The largest torque that is resisted about every axis, without a force.
    pub torque: Bounds,
    /// Of friction pyramids under the norm L1: the average offset of the facets of the polytope that they span. It depends on how facets of
    /// more than six points are triangulated.
    pub average_facet_distance: Option<f64>,
    /// (2 r - d) / (2 r), where d is from the centre of mass to the mean of the contacts, and r is 1 / torque scale.
    pub centroid: f64,
    /// The torque scale that was used, 1/m.
    pub torque_scale: f64,
    /// Facets of the polytope that bounds epsilon.
    pub facets: usize,
    /// Why epsilon is zero, where it is.
    pub reason: Option<String>,
    /// Why the searches ended: of epsilon, force, force under the worst torque, torque and volume.
    pub ended: [Ended; 5],
}

/// How many hyperplanes are tried over a facet, and how far the first is tilted, in parts of what would flatten it onto the facet.
const TILTS: usize = 6;
const TILT: f64 = 0.2;

/// After so many points the volumes of all facets are summed anew.
const SUMMED_ANEW: u32 = 32;

/// Which part of the wrench space is measured.
#[derive(Debug, Clone, Copy)]
enum Part {
    Whole,
    /// Forces under this torque.
    Force(DVec3),
    /// Torques without force.
    Torque,
}

impl Part {
    /// How far away, along the part, a hyperplane of this normal and offset is.
    fn distance(self, normal: &Vector6, offset: f64) -> f64 {
        let [force, torque] = halves(normal);
        let (room, across) = match self {
            Self::Whole => (offset, 1.0),
            Self::Force(under) => (offset - torque.dot(under), force.length()),
            Self::Torque => (offset, torque.length()),
        };
        // A hyperplane along the part, but for rounding, is nowhere near, or leaves nothing of it.
        match across < 1e-9 {
            true if room > -1e-9 => f64::INFINITY,
            _ if room <= 0.0 => 0.0,
            _ => room / across,
        }
    }
}

/// Measures a grasp.
pub fn quality(statics: &Statics, options: &Options) -> Quality {
    let torque_scale = options.torque_scale.unwrap_or(1.0 / statics.length);
    let space = Space::new(&statics.contacts, options.norm, options.scaling, torque_scale);
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
        Err(Flat(normal)) => {
            (quality.weakest, quality.reason) = (normal, Some(missing(&normal)));
            return quality;
        }
    };
    // What the space does not hold at all is known at once; the bounds would come to it slowly.
    let open = opening(statics).map(|twist| {
        let [force, torque] = halves(&twist);
        wrench(force, torque / torque_scale).normalize()
    });
    let refine = |hull: &mut Hull, part| refine(hull, &space, part, options, open.as_ref());
    let mut hull = simplex.clone();
    let (epsilon, weakest, ended) = refine(&mut hull, Part::Whole);
    quality.facets = hull.len();
    (quality.epsilon, quality.weakest) = (epsilon, weakest);
    // At its certified size, so that the polytope holds it.
    let worst = halves(&(weakest * epsilon.lower))[1];
    // One polytope serves all these measures, since what is near along one part often is along another; it is grown anew where it is as large as it may be.
    if ended == Ended::Facets {
        hull = simplex.clone();
    }
    let mut measure = |part| {
        let (bounds, _, ended) = refine(&mut hull, part);
        if ended == Ended::Facets {
            hull = simplex.clone();
        }
        (bounds, ended)
    };
    quality.ended[0] = ended;
    (quality.force, quality.ended[1]) = measure(Part::Force(DVec3::ZERO));
    (quality.force_under_torque, quality.ended[2]) = measure(Part::Force(worst));
    (quality.torque, quality.ended[3]) = measure(Part::Torque);
    (quality.volume, quality.ended[4]) = volume(&mut simplex.clone(), &space, options);
    quality.average_facet_distance = average_facet_distance(&space);
    if epsilon.upper == 0.0 {
        quality.reason = Some(unresisted(&-weakest, torque_scale));
    }
    quality
}

/// Says which wrench no contact resists.
fn unresisted(scaled: &Vector6, torque_scale: f64) -> String {
    let [force, torque] = halves(scaled);
    let torque = torque / torque_scale;
    format!("no contact resists the wrench of force {force:.4} N and torque {torque:.4} N m")
}

/// The average offset of the facets of the polytope that pyramids span; none of cones, or of sums.
fn average_facet_distance(space: &Space) -> Option<f64> {
    let pyramids = space.contacts.iter().all(|contact| matches!(contact.section, Section::Polygon(_)));
    let corners = space.corners();
    let mut hull = Hull::simplex(&corners).ok().filter(|_| pyramids && space.norm == Norm::L1)?;
    corners.into_iter().for_each(|corner| hull.add(corner));
    Some(hull.facets().map(|(_, facet)| facet.offset.max(0.0)).sum::<f64>() / hull.len() as f64)
}

/// Says which motion no contact feels.
fn missing(normal: &Vector6) -> String {
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

/// Grows the polytope where a part of it is narrowest until the bounds meet. Returns them, and the direction of the upper one. Along `open` the
/// space does not reach beyond the origin.
fn refine(
    hull: &mut Hull,
    space: &Space,
    part: Part,
    options: &Options,
    open: Option<&Vector6>,
) -> (Bounds, Vector6, Ended) {
    let (mut upper, mut direction) =
        open.map_or((f64::INFINITY, Vector6::zeros()), |open| (part.distance(open, 0.0), *open));
    let mut nearest = Nearest::default();
    loop {
        let Some((lower, number)) = nearest.of(hull, part) else {
            return (Bounds { lower: 0.0, upper }, direction, Ended::Rounding);
        };
        let Some(normal) = hull.facet(number).map(|facet| facet.normal) else { continue };
        let (point, reach) = space.support(&normal);
        // Rounding leaves something of a reach of zero.
        let reach = if reach <= 1e-13 * space.size() { 0.0 } else { reach };
        let here = part.distance(&normal, reach);
        if here < upper {
            (upper, direction) = (here, normal);
        }
        let lower = lower.min(upper);
        let met = upper.is_finite() && upper - lower <= options.tolerance * upper;
        if let Some(ended) = ended(met, hull, options, |hull| hull.add_beyond(point, number)) {
            return (Bounds { lower, upper }, direction, ended);
        }
    }
}

/// The facets of a hull that grows, the nearest along a part first, and of equals the oldest.
#[derive(Default)]
struct Nearest {
    /// Distances as whole numbers of the same order, which they are as bits since none is negative.
    heap: BinaryHeap<Reverse<(u64, usize)>>,
    /// The facets before this one are in it, by this numbering.
    next: usize,
    numbering: usize,
}

impl Nearest {
    /// The distance and number of the nearest.
    fn of(&mut self, hull: &Hull, part: Part) -> Option<(f64, usize)> {
        if self.numbering != hull.numbering {
            *self = Self { numbering: hull.numbering, ..Self::default() };
        }
        for number in self.next..hull.next_number() {
            if let Some(facet) = hull.facet(number) {
                self.heap.push(Reverse((part.distance(&facet.normal, facet.offset).to_bits(), number)));
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

/// Why a search ends; `None` where it goes on with one point more.
fn ended(met: bool, hull: &mut Hull, options: &Options, add: impl FnOnce(&mut Hull) -> bool) -> Option<Ended> {
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

/// Grows the polytope where it lacks most of the volume until the bounds meet.
fn volume(hull: &mut Hull, space: &Space, options: &Options) -> (Bounds, Ended) {
    let open = |hull: &Hull, facet: &Facet, tilts| {
        let within = hull.volume(facet);
        [within, within * beyond(&hull.corners(facet), facet, &hull.centre, space, tilts)]
    };
    let (mut next, mut numbering) = (0, hull.numbering);
    // What the facets there are know together is what all knew that there were, less those that are gone.
    let (mut sum, mut rounds) = ([0.0; 2], 0u32);
    let mut widest: BinaryHeap<(u64, Reverse<usize>)> = BinaryHeap::new();
    let width = |[within, at_most]: [f64; 2]| (at_most - within).max(0.0).to_bits();
    loop {
        if numbering != hull.numbering {
            (next, numbering, sum, hull.lost) = (0, hull.numbering, [0.0; 2], [0.0; 2]);
            widest.clear();
        }
        for number in next..hull.next_number() {
            let Some(facet) = hull.facet(number) else { continue };
            let (volumes, is_all) = facet.volumes.unwrap_or_else(|| (open(hull, facet, 0), false));
            hull.set_volumes(number, (volumes, is_all));
            sum = [sum[0] + volumes[0], sum[1] + volumes[1]];
            widest.push((width(volumes), Reverse(number)));
        }
        next = hull.next_number();
        let mut bounds = Bounds { lower: sum[0] - hull.lost[0], upper: sum[1] - hull.lost[1] };
        rounds += 1;
        // What a sliver may hold at most is so much that the sums of the others are lost in it.
        let may_be_met = bounds.gap().partial_cmp(&options.volume_tolerance) != Some(Ordering::Greater);
        if rounds % SUMMED_ANEW == 0 || may_be_met {
            sum = hull.sum_volumes();
            bounds = Bounds { lower: sum[0], upper: sum[1] };
        }
        let Some((number, facet)) = next_of(&mut widest, hull, width) else { return (bounds, Ended::Rounding) };
        let met = bounds.gap() <= options.volume_tolerance;
        // Most facets are gone before they are looked at closely.
        if !met && facet.volumes.is_some_and(|(_, is_all)| !is_all) {
            let volumes = open(hull, facet, TILTS);
            let before = facet.volumes.map_or(volumes, |(before, _)| before);
            sum[1] += volumes[1] - before[1];
            hull.set_volumes(number, (volumes, true));
            widest.push((width(volumes), Reverse(number)));
            continue;
        }
        let normal = facet.normal;
        if let Some(ended) = ended(met, hull, options, |hull| hull.add_beyond(space.support(&normal).0, number)) {
            let [lower, upper] = hull.sum_volumes();
            return (Bounds { lower, upper }, ended);
        }
    }
}

/// The facet at the top of such a heap. Entries of facets that are gone, and of what was known of one before, are thrown away.
fn next_of<'a>(
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

/// The share of the simplex between a facet and the centre, whose corners seen from there these are, that holds all of the space in the cone over
/// it. Each hyperplane that the space does not reach beyond cuts a simplex off that cone; the smallest that a few of them cut is the answer. The
/// first lies along the facet; where it touches the space above some of the corners, the next are lowered over the others.
fn beyond(corners: &Matrix6<f64>, facet: &Facet, centre: &Vector6, space: &Space, tilts: usize) -> f64 {
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
    // The normal as its products with the corners, of which only the ratios matter.
    let (mut heights, mut step) = (Vector6::repeat(1.0), TILT * libm::log(least));
    for _ in 0..tilts {
        // Where the hyperplane touches, in parts of the corners.
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
