//! The rim of a wheel in soil, and the sums over it.
//!
//! Everything is in the wheel's frame, about its centre: forwards f, down in its plane d, along its axle a, with the
//! radius as the unit of length. A place of a strip has the position p along the axle, in radii, and the angle t from
//! down, with cosine c and sine s. It moves with v + w x (p a + c d + s f), so the rows of all its motions are linear
//! in c, s and 1:
//!
//! ```text
//! along the rim     ( c, -s, 0,  p s,  p c, -k)      k: radius at which soil is sheared over the radius
//! across            ( 0,  0, 1,  k c, -k s,  0)
//! presses           (-s, -c, 0,  p c, -p s,  0)      over the vertical part of the face
//! rises             ( 0, u', u", u" c - p u', -u" s, 0)     u', u": the ground's normal along d and a;
//!                                                    turning about the axle sinks nothing
//! ```
//!
//! So sums of forces and stiffnesses times 1, c, s and their products are sufficient.

use bevy_math::{DMat3, DVec3};

use super::{
    lanes::{Lanes, at_least, max_lane, min_lane, sum},
    law::{Depths, Law, Mobilised, Stress, UNLIMITED},
    stress_sums::StressSums,
};
use crate::engine::equations::damping::{Symmetric, Vector6};

/// Number of strips along the width, at Gauss's points, so that a wheel that leans has the right moment.
pub(super) const STRIP_COUNT: usize = 2;
/// Lower limit of the vertical part of a face: a wheel whose axle is in the soil has faces that look upwards.
pub(super) const MIN_VERTICAL_PART: f64 = 0.1;

/// Two positions on one side of the peak.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Side {
    /// Cosine and sine of the angles from down.
    pub(super) cosine: Lanes,
    pub(super) sine: Lanes,
    /// Area, m².
    pub(super) area: Lanes,
    /// Mobilised fractions along the rim, across it, and the largest ever.
    pub(super) mobilised: Mobilised,
    /// Largest force with which soil beside the wheel resists it, N.
    pub(super) aside: Lanes,
    /// Upper limit of the strength that multiplies the mobilised fractions, Pa.
    pub(super) bears: Lanes,
    /// Depth of the relaxed surface, where all pressure is gone, as a depth that counts for the pressure, m.
    pub(super) surface: Lanes,
}

impl Side {
    /// Part of its area that faces the ground, m². `up` is minus the component of the ground's normal along down.
    #[inline(always)]
    fn ground_facing_area(&self, up: f64) -> Lanes {
        (self.area * self.cosine * up).fast_max(Lanes::ZERO)
    }

    /// The same area as a part that presses, with a lower limit.
    #[inline(always)]
    fn pressing_area(&self, up: f64) -> Lanes {
        (self.area * self.cosine * up).fast_max(self.area * MIN_VERTICAL_PART)
    }
}

/// Two places in front of the peak, and the two behind it that yield under the same stress. Each place recoils on its
/// own.
#[derive(Debug, Clone, Copy, Default)]
struct StripHalf {
    depths: Depths,
    /// In front of the peak, and behind it.
    sides: [Side; 2],
    /// Areas of the sides that press, m²; and factors of s and c in the speed at which soil is pressed there.
    below: [Lanes; 2],
    presses: [[Lanes; 2]; 2],
}

/// Number of pairs of places that a strip has on each side of its peak.
pub(super) const HALF_COUNT: usize = 2;

/// A strip of a rim.
#[derive(Debug, Clone, Copy, Default)]
struct Strip {
    /// True if any of it is in the soil; and its position along the axle, in radii.
    inside: bool,
    place: f64,
    halves: [StripHalf; HALF_COUNT],
}

/// The strips of a wheel that are in soil.
#[derive(Debug, Clone, Default)]
pub(super) struct Rim {
    strips: [Strip; STRIP_COUNT],
    /// Its frame in the world, as columns: forwards, down, along the axle; and the components of the ground's normal
    /// along the last two.
    axes: DMat3,
    up: [f64; 2],
    radius: f64,
}

/// Velocity of a strip of the rim in the wheel's plane: along f, and against d, m/s.
#[derive(Clone, Copy)]
struct StripVelocity {
    ahead: f64,
    sinks: f64,
}

impl StripVelocity {
    fn new(twist: &Vector6, place: f64) -> Self {
        let [f, d, _, wf, wd, _] = *twist;
        Self { ahead: f + place * wd, sinks: place * wf - d }
    }
}

/// Motion of a strip in a substep of `h` seconds: its mean twist, and half of the change of its twist.
struct StripMotion<'a> {
    twist: &'a Vector6,
    change: &'a Vector6,
    /// Mean velocity, and half of its change.
    now: StripVelocity,
    more: StripVelocity,
    /// Radius at which soil is sheared, in radii.
    k: f64,
    h: f64,
}

impl<'a> StripMotion<'a> {
    #[inline(always)]
    fn new([twist, change]: [&'a Vector6; 2], [place, k]: [f64; 2], h: f64) -> Self {
        Self { twist, change, now: StripVelocity::new(twist, place), more: StripVelocity::new(change, place), k, h }
    }

    /// Normal stress on a side, and its sliding velocity, m/s.
    ///
    /// `yields` is the yield pressure and its slope there. `[depth, middle]` is its depth at the midpoint, as predicted
    /// and as computed.
    #[inline(always)]
    fn stress_and_slide(
        &self,
        law: &Law,
        side: &Side,
        [s, c]: [Lanes; 2],
        (yields, [depth, middle]): ((Lanes, Lanes), [Lanes; 2]),
    ) -> (Stress, [Lanes; 2]) {
        let Self { twist, now, more, k, h, .. } = self;
        let (mean, later) = (s * now.ahead - c * now.sinks, s * more.ahead - c * more.sinks);
        let rate = mean + later;
        let end = depth + (rate + later) * (0.5 * h);
        let stress = law.normal_stress(yields, side.surface, [middle, end], [mean - later, rate], *h);
        let Side { cosine: c, sine: s, .. } = *side;
        let along = c * now.ahead + s * now.sinks - k * twist[5];
        (stress, [along, (c * twist[3] - s * twist[4]) * *k + twist[2]])
    }
}

/// Sums over places of numbers times 1, c, s, c², c s.
#[derive(Clone, Copy, Default)]
struct Products([Lanes; 5]);

impl Products {
    #[inline(always)]
    fn add(&mut self, numbers: Lanes, [cosine, sine]: [Lanes; 2]) {
        let (c, s) = (numbers * cosine, numbers * sine);
        for (sum, term) in self.0.iter_mut().zip([numbers, c, s, c * cosine, c * sine]) {
            *sum += term;
        }
    }

    /// Sums times 1, c, s, c², c s, s².
    fn all_sums(&self) -> [f64; 6] {
        let [one, c, s, cc, cs] = self.0.map(sum);
        [one, c, s, cc, cs, one - cc]
    }
}

impl Rim {
    /// Empties the rim, for a wheel of this radius and frame on a ground with this normal.
    pub(super) fn clear(&mut self, radius: f64, axes: DMat3, normal: DVec3) {
        self.strips.iter_mut().for_each(|strip| strip.inside = false);
        (self.axes, self.radius) = (axes, radius);
        self.up = [axes.y_axis.dot(normal), axes.z_axis.dot(normal)];
    }

    /// Sets half `half` of a strip at the position `offset` along the axle, m. `depths` are those of its places in
    /// front of the peak; the places behind it yield under the same stress.
    #[inline(always)]
    pub(super) fn set_half(&mut self, [strip, half]: [usize; 2], offset: f64, depths: Depths, sides: [Side; 2]) {
        let up = -self.up[0];
        let strip = &mut self.strips[strip];
        (strip.inside, strip.place) = (true, offset / self.radius);
        let per_share = sides.map(|side| Lanes::ONE / at_least(side.cosine * up, MIN_VERTICAL_PART));
        strip.halves[half] = StripHalf {
            depths,
            below: sides.map(|side| side.pressing_area(up)),
            presses: [0, 1].map(|side| [sides[side].sine * per_share[side], sides[side].cosine * per_share[side]]),
            sides,
        };
    }

    /// Forward direction of the wheel, a unit vector.
    pub(super) fn forward_direction(&self) -> DVec3 {
        self.axes.x_axis
    }

    /// Strips that are in the soil.
    fn active_strips(&self) -> impl Iterator<Item = &Strip> {
        self.strips.iter().filter(|strip| strip.inside)
    }

    /// Centroid of the part in the soil, from the wheel's centre, and `[area, deepest, spread]`: area, m², depth of the
    /// deepest place, m, and the sum of areas weighted with the squares of their rows of pressing. `None` if nothing is
    /// in the soil.
    pub(super) fn centroid_and_extent(&self) -> Option<(DVec3, [f64; 3])> {
        let (mut areas, mut ahead, mut below_all, mut deepest) = (Lanes::ZERO, Lanes::ZERO, Lanes::ZERO, Lanes::ZERO);
        let (mut aside, mut spread) = (Lanes::ZERO, Lanes::ZERO);
        for Strip { place, halves, .. } in self.active_strips() {
            for half in halves {
                deepest = deepest.fast_max(half.depths.depth);
                for (side, (below, [s, c])) in half.sides.iter().zip(half.below.iter().zip(half.presses)) {
                    ahead += side.area * side.sine;
                    below_all += side.area * side.cosine;
                    aside += side.area * *place;
                    areas += side.area;
                    spread += (*below * (s * s + c * c)).fast_max(side.area) * (place * place + 1.0);
                }
            }
        }
        let area = sum(areas);
        if !(area > 0.0) {
            return None;
        }
        let middle = self.axes * DVec3::new(sum(ahead), sum(below_all), sum(aside)) * (self.radius / area);
        Some((middle, [area, max_lane(deepest), sum(spread)]))
    }

    /// A twist in the wheel's frame, from one in the world's.
    fn to_wheel_frame(&self, six: &Vector6) -> Vector6 {
        let [a, b, c, d, e, f] = *six;
        let along = |v: DVec3| [self.axes.x_axis.dot(v), self.axes.y_axis.dot(v), self.axes.z_axis.dot(v)];
        let ([a, b, c], [d, e, f]) = (along(DVec3::new(a, b, c)), along(DVec3::new(d, e, f)));
        [a, b, c, d, e, f]
    }

    /// Sums of the stresses about the wheel's centre in a substep with this mean twist, half of whose change is
    /// `change`. The matrix, in the wheel's frame, is computed only if `MATRIX` is set.
    pub(super) fn sum_stresses<const MATRIX: bool>(
        &self,
        law: &Law,
        [mean, change]: [&Vector6; 2],
        h: f64,
    ) -> StressSums {
        let (mean, change) = (self.to_wheel_frame(mean), self.to_wheel_frame(change));
        let (mut force, mut pressed, mut matrix) = ([0.0; 6], [0.0; 2], [[0.0; 6]; 6]);
        let (mut margin, mut steepest, mut stored, mut slides) = (f64::INFINITY, 0.0f64, [0.0; 2], true);
        for strip in self.active_strips() {
            let sums = (&mut force, &mut pressed, &mut matrix);
            let (held, [own_margin, own_slope, sliding]) =
                self.add_strip::<MATRIX>(law, strip, [&mean, &change], h, sums);
            (margin, steepest) = (margin.min(own_margin), steepest.max(own_slope));
            stored = [stored[0] + held[0], stored[1] + held[1]];
            slides &= sliding > 0.0;
        }
        let [a, b, c, d, e, f] = force;
        StressSums {
            force: self.axes * DVec3::new(a, b, c),
            moment: self.axes * DVec3::new(d, e, f),
            pressed: self.axes * DVec3::new(pressed[0], pressed[1], 0.0),
            margin,
            steepest,
            gives: 1.0,
            stored,
            slides,
            matrix,
        }
    }

    /// Adds the sums of a strip. Returns two arrays.
    ///
    /// The first: upper bounds of the energy that its stresses hold, and that its pressure alone holds, J. The second:
    /// the stress difference to the nearest change of regime over the pressing speed of a unit velocity, Pa; the slope
    /// of its yield pressure, Pa/m; and a number above 0 if all of it yields to shear.
    #[inline(always)]
    fn add_strip<const MATRIX: bool>(
        &self,
        law: &Law,
        strip: &Strip,
        [twist, change]: [&Vector6; 2],
        h: f64,
        (force, pressed, matrix): (&mut Vector6, &mut [f64; 2], &mut [Vector6; 6]),
    ) -> ([f64; 2], [f64; 3]) {
        let (p, k) = (strip.place, (self.radius + law.grousers) / self.radius);
        let moves = StripMotion::new([twist, change], [p, k], h);
        let [mut own, mut both, mut other, mut sinking] = [Products::default(); 4];
        let mut holding = [Lanes::ZERO; 3];
        // Forces of normal stress times s and c; forces along the rim and across times s, c and 1; sums for the energy
        // of pressure and shear.
        let (mut normal, mut sums, mut holds) = ([Lanes::ZERO; 2], [Lanes::ZERO; 6], [Lanes::ZERO; 2]);
        let (mut margin, mut steepest, mut slides) = (Lanes::splat(f64::MAX), Lanes::ZERO, Lanes::ONE);
        for half in &strip.halves {
            let Side { cosine, sine, .. } = half.sides[0];
            let middle = self.middle_depth(half, &moves);
            let yields = law.yield_stress(&half.depths, middle);
            for (side, (&below, &[ps, pc])) in half.sides.iter().zip(half.below.iter().zip(&half.presses)) {
                let Side { cosine: c, sine: s, .. } = *side;
                let (stress, slide) =
                    moves.stress_and_slide(law, side, [ps, pc], (yields, [half.depths.depth, middle]));
                margin = margin.fast_min(stress.margin / at_least(ps.abs() + pc.abs(), f64::MIN_POSITIVE));
                steepest = steepest.fast_max(stress.slope);
                holds[0] += stress.stress * stress.stress * below;
                let pressed = stress.stress * side.area;
                (normal[0], normal[1]) = (normal[0] + pressed * s, normal[1] + pressed * c);
                let state = (side.mobilised, Lanes::ONE, side.bears);
                let shear = law.shear_forces(&stress, [side.area, side.aside], state, slide, h);
                let (along, across) = (shear.along, shear.across);
                holds[1] += shear.weighted_squares();
                slides = slides.fast_min(shear.slides);
                let terms = [along * s, along * c, along, across * s, across * c, across];
                sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
                if MATRIX {
                    let eases = law.shear_stiffness(&shear, h);
                    own.add(eases[0], [c, s]);
                    both.add(eases[1], [c, s]);
                    other.add(eases[2], [c, s]);
                    sinking.add(side.ground_facing_area(-self.up[0]) * stress.slope * (0.25 * h), [cosine, sine]);
                    let gain = stress.holds * below;
                    holding.iter_mut().zip([pc * pc, pc * ps, ps * ps]).for_each(|(sum, part)| *sum += gain * part);
                }
            }
        }
        let ([ns, nc], [ls, lc, l, ts, tc, t]) = (normal.map(sum), sums.map(sum));
        let wrench = [lc - ns, -ls - nc, t, p * (ls + nc) + k * tc, p * (lc - ns) - k * ts, -k * l];
        force.iter_mut().zip(wrench).for_each(|(sum, part)| *sum += part);
        (pressed[0], pressed[1]) = (pressed[0] - ns, pressed[1] - nc);
        if MATRIX {
            add_shear([own.all_sums(), both.all_sums(), other.all_sums()], [p, k], matrix);
            add_sinking(sinking.all_sums(), p, self.up, matrix);
            add_holding(holding.map(sum), p, matrix);
        }
        let stored = [law.stored_energy(holds[0], holds[1]), law.stored_energy(holds[0], Lanes::ZERO)];
        (stored, [min_lane(margin) / (1.0 + p.abs()), max_lane(steepest), min_lane(slides)])
    }

    /// Depth of a half of a strip at the midpoint of a substep, m. It rises as the face in front does.
    #[inline(always)]
    fn middle_depth(&self, half: &StripHalf, StripMotion { more, change, h, .. }: &StripMotion) -> Lanes {
        let front = &half.sides[0];
        let turns = (front.cosine * change[3] - front.sine * change[4] + change[2]) * self.up[1];
        half.depths.depth - (turns - self.up[0] * more.sinks) * (0.5 * h)
    }

    /// Effective strength of each place after a substep ([`Law::bearing_strengths`]), and its full strength, Pa.
    pub(super) fn bearing_strengths(
        &self,
        law: &Law,
        [mean, change]: [&Vector6; 2],
        h: f64,
    ) -> [[[[Lanes; 2]; 2]; HALF_COUNT]; STRIP_COUNT] {
        let (mean, change) = (self.to_wheel_frame(mean), self.to_wheel_frame(change));
        let k = (self.radius + law.grousers) / self.radius;
        std::array::from_fn(|strip| {
            let Strip { inside, place, halves } = &self.strips[strip];
            let moves = StripMotion::new([&mean, &change], [*place, k], h);
            std::array::from_fn(|half| {
                let half = &halves[half];
                if !*inside {
                    return [[UNLIMITED; 2]; 2];
                }
                let middle = self.middle_depth(half, &moves);
                let yields = law.yield_stress(&half.depths, middle);
                [0, 1].map(|k| {
                    let side = &half.sides[k];
                    let (stress, slide) =
                        moves.stress_and_slide(law, side, half.presses[k], (yields, [half.depths.depth, middle]));
                    law.bearing_strengths(&stress, (side.mobilised, side.bears), slide, h)
                })
            })
        })
    }

    /// A matrix in the world's frame, from the entries on the diagonal and below of one in the wheel's frame.
    pub(super) fn to_world(&self, matrix: &[Vector6; 6]) -> Symmetric {
        Symmetric::new(matrix).rotated(&self.axes)
    }
}

/// Adds the resistance of shear stress to a matrix, from sums along the rim, mixed, and across.
fn add_shear([own, both, other]: [[f64; 6]; 3], [p, k]: [f64; 2], matrix: &mut [Vector6; 6]) {
    let [o, oc, os, occ, ocs, oss] = own;
    let [b, bc, bs, bcc, bcs, bss] = both;
    let [t, tc, ts, tcc, tcs, tss] = other;
    let [f, d, a, wf, wd, wa] = matrix;
    f[0] += occ;
    d[0] -= ocs;
    d[1] += oss;
    a[0] += bc;
    a[1] -= bs;
    a[2] += t;
    wf[0] += p * ocs + k * bcc;
    wf[1] -= p * oss + k * bcs;
    wf[2] += p * bs + k * tc;
    wf[3] += p * p * oss + 2.0 * p * k * bcs + k * k * tcc;
    wd[0] += p * occ - k * bcs;
    wd[1] += k * bss - p * ocs;
    wd[2] += p * bc - k * ts;
    wd[3] += p * p * ocs + p * k * (bcc - bss) - k * k * tcs;
    wd[4] += p * p * occ - 2.0 * p * k * bcs + k * k * tss;
    wa[0] -= k * oc;
    wa[1] += k * os;
    wa[2] -= k * b;
    wa[3] -= k * (p * os + k * bc);
    wa[4] += k * (k * bs - p * oc);
    wa[5] += k * k * o;
}

/// Adds the resistance of yielding soil, where it is pressed.
fn add_sinking([g, gc, gs, gcc, gcs, gss]: [f64; 6], p: f64, [ud, ua]: [f64; 2], matrix: &mut [Vector6; 6]) {
    let q = -p * ud;
    let [_, d, a, wf, wd, _] = matrix;
    d[1] += ud * ud * g;
    a[1] += ua * ud * g;
    a[2] += ua * ua * g;
    wf[1] += ud * (q * g + ua * gc);
    wf[2] += ua * (q * g + ua * gc);
    wf[3] += q * q * g + 2.0 * q * ua * gc + ua * ua * gcc;
    wd[1] -= ud * ua * gs;
    wd[2] -= ua * ua * gs;
    wd[3] -= ua * (q * gs + ua * gcs);
    wd[4] += ua * ua * gss;
}

/// Adds the resistance of holding soil.
fn add_holding([cc, cs, ss]: [f64; 3], p: f64, matrix: &mut [Vector6; 6]) {
    let [f, d, _, wf, wd, _] = matrix;
    f[0] += ss;
    d[0] += cs;
    d[1] += cc;
    wf[0] -= p * cs;
    wf[1] -= p * cc;
    wf[3] += p * p * cc;
    wd[0] += p * ss;
    wd[1] += p * cs;
    wd[3] -= p * p * cs;
    wd[4] += p * p * ss;
}
