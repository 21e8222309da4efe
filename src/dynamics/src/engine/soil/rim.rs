//! The rim of a wheel in soil, and the sums over it.
//!
//! All is said in the wheel's frame: forwards f, down in its plane d, along its axle a, about its centre, with the
//! radius as length. A place of a strip at the part p of the radius along the axle and at the angle t from down, whose
//! cosine and sine are c and s, moves with v + w x (p a + c d + s f), so the rows of all its motions are linear in c, s
//! and 1:
//!
//! ```text
//! along the rim     ( c, -s, 0,  p s,  p c, -k)      k: radius at which soil is sheared over the radius
//! across            ( 0,  0, 1,  k c, -k s,  0)
//! presses           (-s, -c, 0,  p c, -p s,  0)      over the vertical part of the face
//! rises             ( 0, u', u", u" c - p u', -u" s, 0)     u', u": the ground's normal along d and a; turning about the axle sinks nothing
//! ```
//!
//! so sums of forces and stiffnesses times 1, c, s and their products are all that there is to be summed up.

use bevy_math::{DMat3, DVec3};

use super::{
    lanes::{Lanes, at_least, largest, least, sum},
    law::{BEARS_ALL, Depths, Law, Mobilised, Stress},
    patch::Sums,
};
use crate::engine::equations::damping::{Symmetric, Vector6};

/// Strips along the width, at Gauss's points, so that a wheel that leans has the right moment.
pub(super) const STRIPS: usize = 2;
/// The vertical part of a face, at least: a wheel that is in the soil with more than its radius has faces that look
/// upwards.
pub(super) const LEAST_SHARE: f64 = 0.1;

/// Two places on one side of the peak.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Side {
    pub(super) cosine: Lanes,
    pub(super) sine: Lanes,
    /// m².
    pub(super) area: Lanes,
    /// Along the rim, and across.
    pub(super) mobilised: Mobilised,
    /// The largest force with which soil beside the wheel resists it, N.
    pub(super) aside: Lanes,
    /// The strength that multiplies what is mobilised, at most, Pa.
    pub(super) bears: Lanes,
    /// The surface from which all pressure is gone there, as a depth that counts for the pressure, m.
    pub(super) surface: Lanes,
}

impl Side {
    /// How much of its area faces the ground, whose normal is `up` against down, m².
    #[inline(always)]
    fn facing(&self, up: f64) -> Lanes {
        (self.area * self.cosine * up).fast_max(Lanes::ZERO)
    }

    /// The same where it is part of what presses, which is not as little.
    #[inline(always)]
    fn below(&self, up: f64) -> Lanes {
        (self.area * self.cosine * up).fast_max(self.area * LEAST_SHARE)
    }
}

/// Two places in front of the peak, and two behind it that yield under the same stress. Each of them recoils on its
/// own.
#[derive(Debug, Clone, Copy, Default)]
struct Half {
    depths: Depths,
    /// In front, and behind.
    sides: [Side; 2],
    /// The parts of the sides that press, m²; and the s and c of how fast soil is pressed there.
    below: [Lanes; 2],
    presses: [[Lanes; 2]; 2],
}

/// How many times two places a strip has on each side of its peak.
pub(super) const HALVES: usize = 2;

/// A strip of a rim.
#[derive(Debug, Clone, Copy, Default)]
struct Strip {
    /// Whether any of it is in the soil; where it is along the axle, in radii.
    inside: bool,
    place: f64,
    halves: [Half; HALVES],
}

/// The strips of a wheel that are in soil.
#[derive(Debug, Clone, Default)]
pub(super) struct Rim {
    strips: [Strip; STRIPS],
    /// Its frame, as columns: forwards, down, along the axle; and the normal of the ground along the last two.
    axes: DMat3,
    up: [f64; 2],
    radius: f64,
}

/// Velocities of a strip of the rim: along f, against d, where the wheel's plane cuts it.
#[derive(Clone, Copy)]
struct Rates {
    ahead: f64,
    sinks: f64,
}

impl Rates {
    fn new(twist: &Vector6, place: f64) -> Self {
        let [f, d, _, wf, wd, _] = *twist;
        Self { ahead: f + place * wd, sinks: place * wf - d }
    }
}

/// How a strip moves in a substep of so many seconds: its mean twist, and by half of what that changes.
struct Moves<'a> {
    twist: &'a Vector6,
    change: &'a Vector6,
    now: Rates,
    more: Rates,
    /// Where soil is sheared, in radii.
    k: f64,
    h: f64,
}

impl<'a> Moves<'a> {
    #[inline(always)]
    fn new([twist, change]: [&'a Vector6; 2], [place, k]: [f64; 2], h: f64) -> Self {
        Self { twist, change, now: Rates::new(twist, place), more: Rates::new(change, place), k, h }
    }

    /// What presses on a side, which yields so, at a depth in the middle of a substep as foreseen and as found; and how
    /// it slides, m/s.
    #[inline(always)]
    fn at(
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
        let stress = law.press(yields, side.surface, [middle, end], [mean - later, rate], *h);
        let Side { cosine: c, sine: s, .. } = *side;
        let along = c * now.ahead + s * now.sinks - k * twist[5];
        (stress, [along, (c * twist[3] - s * twist[4]) * *k + twist[2]])
    }
}

/// Sums of numbers of places times 1, c, s, c², c s.
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

    /// The sums times 1, c, s, c², c s, s².
    fn sums(&self) -> [f64; 6] {
        let [one, c, s, cc, cs] = self.0.map(sum);
        [one, c, s, cc, cs, one - cc]
    }
}

impl Rim {
    /// Begins anew with a wheel of this radius with such a frame on a ground with this normal; nothing of it is in the
    /// soil.
    pub(super) fn clear(&mut self, radius: f64, axes: DMat3, normal: DVec3) {
        self.strips.iter_mut().for_each(|strip| strip.inside = false);
        (self.axes, self.radius) = (axes, radius);
        self.up = [axes.y_axis.dot(normal), axes.z_axis.dot(normal)];
    }

    /// Lays a half of a strip so far along the axle, m, which is in the soil: so deep are the places in front of the
    /// peak, and those behind it which yield under the same stress.
    #[inline(always)]
    pub(super) fn lay(&mut self, [strip, half]: [usize; 2], offset: f64, depths: Depths, sides: [Side; 2]) {
        let up = -self.up[0];
        let strip = &mut self.strips[strip];
        (strip.inside, strip.place) = (true, offset / self.radius);
        let per_share = sides.map(|side| Lanes::ONE / at_least(side.cosine * up, LEAST_SHARE));
        strip.halves[half] = Half {
            depths,
            below: sides.map(|side| side.below(up)),
            presses: [0, 1].map(|side| [sides[side].sine * per_share[side], sides[side].cosine * per_share[side]]),
            sides,
        };
    }

    /// Where its wheel points, a unit vector.
    pub(super) fn forward(&self) -> DVec3 {
        self.axes.x_axis
    }

    fn strips(&self) -> impl Iterator<Item = &Strip> {
        self.strips.iter().filter(|strip| strip.inside)
    }

    /// The middle of what is in the soil, from the wheel's centre, and its area, m²; the depth of the deepest place, m;
    /// and the sum of all areas, each times the square of its row of pressing. `None` if nothing is.
    pub(super) fn close(&self) -> Option<(DVec3, [f64; 3])> {
        let (mut areas, mut ahead, mut below_all, mut deepest) = (Lanes::ZERO, Lanes::ZERO, Lanes::ZERO, Lanes::ZERO);
        let (mut aside, mut spread) = (Lanes::ZERO, Lanes::ZERO);
        for Strip { place, halves, .. } in self.strips() {
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
        Some((middle, [area, largest(deepest), sum(spread)]))
    }

    /// Six numbers in the wheel's frame, from the world's.
    fn in_frame(&self, six: &Vector6) -> Vector6 {
        let [a, b, c, d, e, f] = *six;
        let along = |v: DVec3| [self.axes.x_axis.dot(v), self.axes.y_axis.dot(v), self.axes.z_axis.dot(v)];
        let ([a, b, c], [d, e, f]) = (along(DVec3::new(a, b, c)), along(DVec3::new(d, e, f)));
        [a, b, c, d, e, f]
    }

    /// Force and moment, over the radius, in a substep with this mean twist that changes by twice this, about the
    /// wheel's centre; how they change in the wheel's frame, only if that is wanted.
    pub(super) fn sum_stresses<const MATRIX: bool>(&self, law: &Law, [mean, change]: [&Vector6; 2], h: f64) -> Sums {
        let (mean, change) = (self.in_frame(mean), self.in_frame(change));
        let (mut force, mut pressed, mut matrix) = ([0.0; 6], [0.0; 2], [[0.0; 6]; 6]);
        let (mut margin, mut steepest, mut stored, mut slides) = (f64::INFINITY, 0.0f64, [0.0; 2], true);
        for strip in self.strips() {
            let sums = (&mut force, &mut pressed, &mut matrix);
            let (held, [own_margin, own_slope, sliding]) =
                self.add_strip::<MATRIX>(law, strip, [&mean, &change], h, sums);
            (margin, steepest) = (margin.min(own_margin), steepest.max(own_slope));
            stored = [stored[0] + held[0], stored[1] + held[1]];
            slides &= sliding > 0.0;
        }
        let [a, b, c, d, e, f] = force;
        Sums {
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

    /// Adds what a strip has. The most energy that its stresses hold, and its pressure alone, J; how far it is from
    /// yielding elsewhere, Pa over how fast a unit of velocity presses it; how steep it is where it yields, Pa/m; and
    /// above 0 if all of it yields to shear.
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
        let moves = Moves::new([twist, change], [p, k], h);
        let [mut own, mut both, mut other, mut sinking] = [Products::default(); 4];
        let mut holding = [Lanes::ZERO; 3];
        // Forces of normal stress times s and c; forces along the rim and across times s, c and 1; what pressure and
        // shear hold.
        let (mut normal, mut sums, mut holds) = ([Lanes::ZERO; 2], [Lanes::ZERO; 6], [Lanes::ZERO; 2]);
        let (mut margin, mut steepest, mut slides) = (Lanes::splat(f64::MAX), Lanes::ZERO, Lanes::ONE);
        for half in &strip.halves {
            let Side { cosine, sine, .. } = half.sides[0];
            let middle = self.middle(half, &moves);
            let yields = law.yields(&half.depths, middle);
            for (side, (&below, &[ps, pc])) in half.sides.iter().zip(half.below.iter().zip(&half.presses)) {
                let Side { cosine: c, sine: s, .. } = *side;
                let (stress, slide) = moves.at(law, side, [ps, pc], (yields, [half.depths.depth, middle]));
                margin = margin.fast_min(stress.margin / at_least(ps.abs() + pc.abs(), f64::MIN_POSITIVE));
                steepest = steepest.fast_max(stress.slope);
                holds[0] += stress.stress * stress.stress * below;
                let pressed = stress.stress * side.area;
                (normal[0], normal[1]) = (normal[0] + pressed * s, normal[1] + pressed * c);
                let shear =
                    law.shear(&stress, [side.area, side.aside], (side.mobilised, Lanes::ONE, side.bears), slide, h);
                let (along, across) = (shear.along, shear.across);
                holds[1] += shear.holds();
                slides = slides.fast_min(shear.slides);
                let terms = [along * s, along * c, along, across * s, across * c, across];
                sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
                if MATRIX {
                    let eases = law.eases(&shear, h);
                    own.add(eases[0], [c, s]);
                    both.add(eases[1], [c, s]);
                    other.add(eases[2], [c, s]);
                    sinking.add(side.facing(-self.up[0]) * stress.slope * (0.25 * h), [cosine, sine]);
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
            add_shear([own.sums(), both.sums(), other.sums()], [p, k], matrix);
            add_sinking(sinking.sums(), p, self.up, matrix);
            add_holding(holding.map(sum), p, matrix);
        }
        let stored = [law.stored(holds[0], holds[1]), law.stored(holds[0], Lanes::ZERO)];
        (stored, [least(margin) / (1.0 + p.abs()), largest(steepest), least(slides)])
    }

    /// How deep a half of a strip is in the middle of a substep in which it changes its twist by twice this, and with
    /// that its velocity by twice more, m: it rises as the face in front does.
    #[inline(always)]
    fn middle(&self, half: &Half, Moves { more, change, h, .. }: &Moves) -> Lanes {
        let front = &half.sides[0];
        let turns = (front.cosine * change[3] - front.sine * change[4] + change[2]) * self.up[1];
        half.depths.depth - (turns - self.up[0] * more.sinks) * (0.5 * h)
    }

    /// On what strength each place bears after a substep with this mean twist that changes by twice this
    /// ([`Law::bears`]), and what strength it has.
    pub(super) fn bears(
        &self,
        law: &Law,
        [mean, change]: [&Vector6; 2],
        h: f64,
    ) -> [[[[Lanes; 2]; 2]; HALVES]; STRIPS] {
        let (mean, change) = (self.in_frame(mean), self.in_frame(change));
        let k = (self.radius + law.grousers) / self.radius;
        std::array::from_fn(|strip| {
            let Strip { inside, place, halves } = &self.strips[strip];
            let moves = Moves::new([&mean, &change], [*place, k], h);
            std::array::from_fn(|half| {
                let half = &halves[half];
                if !*inside {
                    return [[BEARS_ALL; 2]; 2];
                }
                let middle = self.middle(half, &moves);
                let yields = law.yields(&half.depths, middle);
                [0, 1].map(|k| {
                    let side = &half.sides[k];
                    let (stress, slide) = moves.at(law, side, half.presses[k], (yields, [half.depths.depth, middle]));
                    law.bears(&stress, (side.mobilised, side.bears), slide, h)
                })
            })
        })
    }

    /// A matrix of the wheel's frame, below the diagonal and on it, in the world's.
    pub(super) fn in_world(&self, matrix: &[Vector6; 6]) -> Symmetric {
        Symmetric::new(matrix).turned(&self.axes)
    }
}

/// Adds what shear stress resists to a matrix: sums along the rim, of both directions, and across.
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

/// Adds what soil resists that yields where it is pressed.
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

/// Adds what soil resists that holds.
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
