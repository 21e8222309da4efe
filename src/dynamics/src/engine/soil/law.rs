//! Constitutive law of soil at two places of a surface at once: the pressure at a depth, and the shear stress after a
//! slide.

use simpartner_model::Soil;

use super::lanes::{Lanes, at_least, max_lane, mean_decay_and_inverse, min_lane, power, select_above, sum};
use crate::soil::{Pressure, bulldozing_terms};

/// Relative difference of depths below which the pressure is computed by four terms of the binomial series: the next
/// term is below 1e-8 of it.
const BINOMIAL_LIMIT: f64 = 0.02;

/// Effective strength of places with their full strength: unlimited, Pa.
pub(super) const UNLIMITED: Lanes = Lanes::splat(f64::MAX);

/// Fraction of the sliding speed that is subtracted from the speed of the holding part. Rounding is far below it.
const SPEED_ROUNDING: f64 = 1e-9;

/// Lower limit of the fraction of the shear modulus over which soil unloads. Soil whose shear was mobilised under less
/// than this fraction of its present strength unloads as if it had been under this fraction. Steeper slopes would only
/// burden the solvers of a step.
const MIN_UNLOADING_FRACTION: f64 = 0.05;

/// Additional depth at the end of a substep for each unit of additional sinking speed there, as a fraction of the
/// substep: a quarter at the middle, since the speed grows evenly, and half from there to the end.
const HELD_DEPTH_GAIN: f64 = 0.75;

/// The law of a soil under one shape.
#[derive(Debug, Clone)]
pub(super) struct Law {
    pub(super) soil: Soil,
    pub(super) pressure: Pressure,
    /// Tangent of the angle of friction.
    friction: f64,
    /// Distance beyond the surface at which grousers shear the soil, m.
    pub(super) grousers: f64,
    /// Resistance of soil to a face that is pushed sideways: factors of its depth and of the square of its depth, N/m²
    /// and N/m³.
    pub(super) aside: [f64; 2],
}

/// Depths of two places.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Depths {
    /// Depth below the original surface that counts for the pressure, and depth at which others left the surface, m.
    pub(super) depth: Lanes,
    left: Lanes,
    /// Inverse of the depth, 1/m, and the pressure k zⁿ there, Pa.
    per_depth: Lanes,
    plastic: Lanes,
}

/// Normal stress on two places.
pub(super) struct Stress {
    /// Pressure, Pa; 0 where nothing presses.
    pub(super) stress: Lanes,
    /// Where soil yields, the derivative of its pressure with respect to depth, Pa/m; elsewhere 0.
    pub(super) slope: Lanes,
    /// 1 where it presses, 0 elsewhere.
    pub(super) presses: Lanes,
    /// Where it presses and holds elastically, the derivative of its pressure with respect to the pressing speed at the
    /// end, Pa s/m; elsewhere 0.
    pub(super) holds: Lanes,
    /// Stress difference to the nearest change between yielding, holding and letting go, Pa.
    pub(super) margin: Lanes,
}

/// Mobilised fractions of the shear strength at two places: components along two directions, with the sign of the slide
/// that they resist, and the largest fraction ever mobilised.
pub(super) type Mobilised = [Lanes; 3];

/// Shear of two places: forces along their two tangents, N.
pub(super) struct Shear {
    pub(super) along: Lanes,
    pub(super) across: Lanes,
    /// Shear strength times area, and the largest force on a side, N; damping, N s/m.
    strength: Lanes,
    side: Lanes,
    damping: Lanes,
    slid: Slid,
    /// Above 0 where the soil yields, or nothing presses.
    pub(super) slides: Lanes,
}

/// Mobilised fractions after a slide, and their derivatives with respect to it: in the direction of the fractions
/// (`onwards`) and across it (`aside`).
pub(super) struct Slid {
    pub(super) mobilised: Mobilised,
    direction: [Lanes; 2],
    onwards: Lanes,
    aside: Lanes,
    /// Slide beyond the range in which soil holds, over the shear modulus; and the fraction that is not mobilised.
    beyond: Lanes,
    free: Lanes,
}

impl Shear {
    /// Sum of the squares of the mobilised fractions times the strength, N.
    #[inline(always)]
    pub(super) fn weighted_squares(&self) -> Lanes {
        let [x, y, _] = self.slid.mobilised.map(|part| part * part);
        self.strength * (x + y) + self.side * y
    }
}

impl Law {
    /// The law under a shape whose grousers shear the soil this far beyond its surface, m, with `gravity` in m/s².
    pub(super) fn new(soil: Soil, grousers: f64, gravity: f64) -> Self {
        Self {
            friction: libm::tan(soil.friction_angle),
            pressure: Pressure { modulus: 0.0, exponent: 1.0, elastic: soil.elastic_stiffness },
            grousers,
            aside: bulldozing_terms(&soil, gravity),
            soil,
        }
    }

    /// Pressure k zⁿ at depths z above 0, m: Pa.
    pub(super) fn yield_pressure(&self, depth: Lanes) -> Lanes {
        power(depth, self.pressure.exponent) * self.pressure.modulus
    }

    /// Depths of two places: `depth` above 0 and `left`, m, with the pressure k zⁿ at `depth`, Pa.
    #[inline(always)]
    pub(super) fn depths(&self, [depth, left]: [Lanes; 2], plastic: Lanes) -> Depths {
        Depths { depth, left, per_depth: Lanes::ONE / depth, plastic }
    }

    /// Depth of the relaxed surface of two places, from which all pressure is gone, if they were pressed at most to the
    /// depth `deepest`, m; 0 where the soil is new.
    #[inline(always)]
    pub(super) fn relaxed_surface(&self, depths: &Depths, deepest: Lanes) -> Lanes {
        if !(max_lane(deepest) > 0.0) {
            return Lanes::ZERO;
        }
        let pressed = select_above(deepest, Lanes::ZERO, deepest, depths.depth);
        let most = self.yield_stress(depths, pressed).0;
        select_above(deepest, Lanes::ZERO, deepest - most * (1.0 / self.pressure.elastic), Lanes::ZERO)
    }

    /// Pressure of yielding soil at a depth below the original surface, Pa, and its derivative with respect to depth,
    /// Pa/m ([`Pressure::at`]).
    #[inline(always)]
    pub(super) fn yield_stress(&self, depths: &Depths, depth: Lanes) -> (Lanes, Lanes) {
        let Pressure { modulus, exponent: n, elastic } = self.pressure;
        let part = (depth - depths.depth) * depths.per_depth;
        let (plastic, steep) = if max_lane(part.abs()) < BINOMIAL_LIMIT {
            let series = (part * ((n - 2.0) / 3.0) + 1.0) * part * ((n - 1.0) / 2.0) + 1.0;
            let plastic = depths.plastic * (series * part * n + 1.0);
            // The derivative only affects the linearisation, so it may be less accurate than the pressure.
            (plastic, plastic * depths.per_depth * (part * (part - 1.0) + 1.0) * n)
        } else {
            let plastic = power(at_least(depth, f64::MIN_POSITIVE), n) * modulus;
            (plastic, plastic * n / depth)
        };
        let above = depth - depths.left;
        let spring = above * elastic;
        let slope = select_above(plastic, spring, Lanes::splat(elastic), steep);
        (plastic.fast_min(spring).fast_max(Lanes::ZERO), select_above(above, Lanes::ZERO, slope, Lanes::ZERO))
    }

    /// Normal stress on places in a substep.
    ///
    /// Where soil `yields` ([`Self::yield_stress`]), its pressure is that at the `middle` depth. Soil that was pressed
    /// before is so stiff that its pressure is taken at the `end` depth, which is stable at any timestep. It recoils
    /// until all pressure is gone at its relaxed `surface`.
    ///
    /// The places sink at the speed `start` at the start and `rate` at the end, m/s. A place that sinks first and then
    /// rises presses new soil until it turns, and the soil holds from there.
    #[inline(always)]
    pub(super) fn normal_stress(
        &self,
        (yields, slope): (Lanes, Lanes),
        surface: Lanes,
        [middle, end]: [Lanes; 2],
        [start, rate]: [Lanes; 2],
        h: f64,
    ) -> Stress {
        let (down, up) = (at_least(start, 0.0), at_least(-rate, 0.0));
        let lets_up = up / at_least(up + down, f64::MIN_POSITIVE);
        let turn = middle - up * (Lanes::ONE - lets_up) * (0.5 * h);
        let pressed = turn - yields * (1.0 / self.pressure.elastic);
        let held = (end - surface.fast_max(pressed)) * self.pressure.elastic + rate * self.soil.damping;
        let stress = held.fast_min(yields).fast_max(Lanes::ZERO);
        let presses = select_above(stress, Lanes::ZERO, Lanes::ONE, Lanes::ZERO);
        let holds = select_above(yields, held, presses, Lanes::ZERO);
        // Additional depth at the end for each unit of additional sinking speed there, as a fraction of the substep.
        let deeper = select_above(surface, pressed, Lanes::splat(HELD_DEPTH_GAIN), lets_up * (lets_up * -0.5 + 1.0));
        let stiff = deeper * (h * self.pressure.elastic) + self.soil.damping;
        let near = (held - yields).abs();
        let margin = select_above(held, yields, near, near.fast_min(held.abs()));
        Stress { stress, slope: slope * (presses - holds), presses, holds: holds * stiff, margin }
    }

    /// Upper bound of the derivative of the pressure of holding soil with respect to the pressing speed at the end, Pa
    /// s/m.
    pub(super) fn max_stiffness(&self, h: f64) -> f64 {
        HELD_DEPTH_GAIN * h * self.pressure.elastic + self.soil.damping
    }

    /// Upper bound of the derivative of stress with respect to velocity, Pa s/m, for soil that is sheared from rest.
    ///
    /// `press` is that derivative for the pressure, Pa s/m; `pressure` is the mean pressure, Pa; `gives` is the
    /// smallest fraction of the shear modulus over which the soil unloads.
    pub(super) fn max_shear_stiffness(&self, press: f64, pressure: f64, h: f64, gives: f64) -> f64 {
        let slides = 0.5 * h / (self.soil.shear_modulus * gives);
        press * self.friction + self.soil.damping + (self.soil.cohesion + pressure) * slides
    }

    /// Shear forces at places with these areas, m², mobilised fractions, and sliding velocity, m/s.
    ///
    /// `side` is the largest force with which soil resists a side that is pushed along the second tangent, N. `gives`
    /// is the fraction of the shear modulus over which the places unload ([`Self::unloading_fraction`]), and `bears`
    /// their effective strength, Pa ([`bearing_strength`]). Soil that holds also damps the slide, as it damps pressing,
    /// by at most the rest of its strength.
    #[inline(always)]
    pub(super) fn shear_forces(
        &self,
        stress: &Stress,
        [area, side]: [Lanes; 2],
        (mobilised, gives, bears): (Mobilised, Lanes, Lanes),
        slide: [Lanes; 2],
        h: f64,
    ) -> Shear {
        let time = 0.5 * h / self.soil.shear_modulus;
        let slid = mobilised_after(mobilised, slide, time, gives);
        let [first, second, _] = slid.mobilised;
        let (area, side) = (area * stress.presses, side * stress.presses);
        let most = stress.stress * self.friction + self.soil.cohesion;
        let strength = if min_lane(bears) < f64::MAX {
            bearing_strength(bears, most, mobilised, &slid, [slide[0] * time, slide[1] * time]) * area
        } else {
            most * area
        };
        // Sliding speed of the part that holds. Where all of it yields, as under a wheel that slips, this is only
        // rounding.
        let speed = (slide[0] * slide[0] + slide[1] * slide[1]).sqrt();
        let held = speed * (1.0 - SPEED_ROUNDING) - slid.beyond * (2.0 * self.soil.shear_modulus / h);
        let damping = if max_lane(held) > 0.0 {
            let (free, viscous) = (most * area * slid.free, area * at_least(held, 0.0) * self.soil.damping);
            viscous * free / at_least((viscous + free) * speed, f64::MIN_POSITIVE)
        } else {
            Lanes::ZERO
        };
        let along = -(strength * first + damping * slide[0]);
        let across = -((strength + side) * second + damping * slide[1]);
        let slides = select_above(area, Lanes::ZERO, slid.beyond, Lanes::ONE);
        Shear { along, across, strength, side, damping, slid, slides }
    }

    /// Effective strength of places after a substep with this slide, m/s, and their full strength, Pa
    /// ([`bearing_strength`]).
    #[inline(always)]
    pub(super) fn bearing_strengths(
        &self,
        stress: &Stress,
        (mobilised, bears): (Mobilised, Lanes),
        slide: [Lanes; 2],
        h: f64,
    ) -> [Lanes; 2] {
        let time = h / self.soil.shear_modulus;
        let slid = mobilised_after(mobilised, slide, time, Lanes::ONE);
        let strength = self.shear_strength(stress);
        [bearing_strength(bears, strength, mobilised, &slid, slide.map(|speed| speed * time)), strength]
    }

    /// Fraction of the shear modulus over which places unload. `paid` is the strength under which their shear was
    /// mobilised, Pa. Soil gives back no more energy than was put in. So shear mobilised under a low pressure unloads
    /// over a shorter slide when the present pressure is higher.
    #[inline(always)]
    pub(super) fn unloading_fraction(&self, stress: &Stress, [_, _, most]: Mobilised, paid: Lanes) -> Lanes {
        let part = paid / at_least(self.shear_strength(stress), f64::MIN_POSITIVE);
        select_above(most, Lanes::ZERO, at_least(part.fast_min(Lanes::ONE), MIN_UNLOADING_FRACTION), Lanes::ONE)
    }

    /// Shear strength where something presses, Pa; 0 elsewhere.
    fn shear_strength(&self, stress: &Stress) -> Lanes {
        (stress.stress * self.friction + self.soil.cohesion) * stress.presses
    }

    /// Mobilised fractions after a substep with this slide, m/s, and the strength under which they were mobilised, Pa.
    ///
    /// With the mobilised fraction m, K m²/2 times that strength is the energy that shear holds. The work of the
    /// substep is added to it, as far as the present strength could hold it.
    pub(super) fn advance_shear(
        &self,
        stress: &Stress,
        (mobilised, paid): (Mobilised, Lanes),
        slide: [Lanes; 2],
        h: f64,
    ) -> (Mobilised, Lanes) {
        let (gives, time) = (self.unloading_fraction(stress, mobilised, paid), h / self.soil.shear_modulus);
        let [x, y, _] = mobilised_after(mobilised, slide, 0.5 * time, gives).mobilised;
        let after = mobilised_after(mobilised, slide, time, gives).mobilised;
        let square = |[x, y, _]: Mobilised| x * x + y * y;
        let strength = self.shear_strength(stress);
        let held = paid * square(mobilised) + strength * (x * slide[0] + y * slide[1]) * (2.0 * time);
        let held = held.fast_max(Lanes::ZERO) / at_least(square(after), f64::MIN_POSITIVE);
        (after, held.fast_min(paid.fast_max(strength)))
    }

    /// Derivatives of the shear forces with respect to velocity, as resistances, N s/m: along the first tangent, mixed,
    /// and along the second.
    #[inline(always)]
    pub(super) fn shear_stiffness(&self, shear: &Shear, h: f64) -> [Lanes; 3] {
        let rate = 0.25 * h / self.soil.shear_modulus;
        let Slid { direction: [x, y], onwards, aside, .. } = shear.slid;
        let (held, eased) = (shear.strength * rate, shear.damping * 0.5);
        let more = onwards - aside;
        let own = held * (aside + more * x * x) + eased;
        let other = held * (aside + more * y * y) + shear.side * rate + eased;
        [own, held * more * x * y, other]
    }

    /// Upper bound of the energy that stresses hold, J, from sums over their places.
    ///
    /// Pressure stores energy in its stiffness: `pressed` is the sum of squared stress times area times the vertical
    /// part of the face. Shear stores K m²/2 for each unit of strength with the mobilised fraction m, which is what
    /// soil gives back when it slides back: `sheared` is the sum of [`Shear::weighted_squares`].
    #[inline(always)]
    pub(super) fn stored_energy(&self, pressed: Lanes, sheared: Lanes) -> f64 {
        0.5 * (sum(pressed) / self.pressure.elastic + sum(sheared) * self.soil.shear_modulus)
    }
}

/// The effective strength, which multiplies the mobilised fractions, Pa. Elastic soil gains no shear from a higher
/// pressure, but loses shear with a lower one: its effective strength `bears` is the smallest strength since it last
/// yielded. When it yields, that limit grows towards the present `strength`, as far as K m²/2 of it is energy that the
/// slide, in shear moduli, has supplied. A shear force proportional to the pressure on elastic soil would make wheels
/// flutter: turning, advancing and sinking would amplify each other.
#[inline(always)]
fn bearing_strength(bears: Lanes, strength: Lanes, [x, y, _]: Mobilised, slid: &Slid, slide: [Lanes; 2]) -> Lanes {
    let [u, v, _] = slid.mobilised;
    let held = bears * (x * x + y * y) + strength * (u * slide[0] + v * slide[1]) * 2.0;
    let grown = held / at_least(u * u + v * v, f64::MIN_POSITIVE);
    select_above(slid.beyond, Lanes::ZERO, grown, bears).fast_min(strength).fast_max(Lanes::ZERO)
}

/// Mobilised fractions of the shear strength after sliding with a velocity, m/s, for a `time` over the shear modulus,
/// s/m.
///
/// A slide in one direction follows Janosi and Hanamoto's law, 1 - exp(-j/K). A slide back or to the side unloads with
/// the initial slope of that law. Soil holds it in any direction until as much is mobilised as ever before; there the
/// law continues. So a shape that trembles on a slope stays in place. `gives` is the fraction of the shear modulus over
/// which it unloads.
#[inline(always)]
pub(super) fn mobilised_after([along, across, most]: Mobilised, slide: [Lanes; 2], time: f64, gives: Lanes) -> Slid {
    let (x, y) = (along + slide[0] * time / gives, across + slide[1] * time / gives);
    let way = (x * x + y * y).sqrt();
    let beyond = ((way - most) * gives).fast_max(Lanes::ZERO);
    let [gone, per] = mean_decay_and_inverse(beyond, at_least(way, f64::MIN_POSITIVE));
    let reached = most + (Lanes::ONE - most) * gone * beyond;
    let yields = |one: Lanes, other: Lanes| select_above(beyond, Lanes::ZERO, one, other);
    let aside = yields(reached * per, Lanes::ONE);
    Slid {
        mobilised: [x * aside, y * aside, reached],
        direction: [x * per, y * per],
        onwards: yields(Lanes::ONE - reached, Lanes::ONE / gives),
        aside: aside / gives,
        beyond,
        free: at_least(Lanes::ONE - way * aside, 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slides by x and y shear moduli, in `steps` steps.
    fn slide(mut mobilised: Mobilised, [x, y]: [f64; 2], steps: usize) -> Mobilised {
        let per = 1.0 / steps as f64;
        for _ in 0..steps {
            mobilised = mobilised_after(mobilised, [x, y].map(Lanes::splat), per, Lanes::ONE).mobilised;
        }
        mobilised
    }

    fn first(mobilised: Mobilised) -> [f64; 3] {
        mobilised.map(|lanes| lanes.as_array()[0])
    }

    #[test]
    fn one_slide_is_janosi_and_hanamotos_however_it_is_divided() {
        for way in [0.03, 0.4, 1.0, 3.0] {
            for steps in [1, 7, 100] {
                let [x, y, most] = first(slide([Lanes::ZERO; 3], [0.6 * way, 0.8 * way], steps));
                let law = -libm::expm1(-way);
                for (found, expected) in [(x, 0.6 * law), (y, 0.8 * law), (most, law)] {
                    assert!((found - expected).abs() < 1e-8, "{way} in {steps}: {found}, not {expected}");
                }
            }
        }
    }

    /// A load that trembles creeps nowhere: after going there and back, soil is in the same state, in whichever
    /// direction it trembles.
    #[test]
    fn what_trembles_stays() {
        let loaded = slide([Lanes::ZERO; 3], [0.8, 0.0], 1);
        for [x, y] in [[-0.1, 0.0], [-0.5, 0.1], [-0.2, -0.3]] {
            let mut mobilised = loaded;
            for _ in 0..1000 {
                mobilised = slide(slide(mobilised, [x, y], 3), [-x, -y], 5);
            }
            for (now, before) in first(mobilised).into_iter().zip(first(loaded)) {
                assert!((now - before).abs() < 1e-12, "{x} {y}: {now}, {before} at first");
            }
        }
        // A slide beyond the earlier maximum continues as if it had never turned back.
        let there = slide(slide(loaded, [-0.6, 0.0], 2), [0.6 + 0.3, 0.0], 4);
        let at_once = slide([Lanes::ZERO; 3], [1.1, 0.0], 1);
        assert!((first(there)[0] - first(at_once)[0]).abs() < 1e-8);
    }

    /// The stiffness of holding soil with respect to the pressing speed is the reported one: where it was pressed
    /// deeper before, where it is unloaded all the time, and where it is pressed first and then unloaded.
    #[test]
    fn what_holds_is_as_stiff_as_it_says() {
        let mut law = Law::new(Soil::named("sandyLoam").unwrap(), 0.0, 9.81);
        law.pressure = Pressure::new(&law.soil, 0.1, 0.0, 9.81);
        let (depth, h) = (0.02, 0.005);
        for (deepest, start, rate) in
            [(0.0201, 0.01, 0.002), (0.0, -0.002, -0.01), (0.0, 0.01, -0.012), (0.0, 0.02, -0.003)]
        {
            let lanes = [depth, 0.0].map(Lanes::splat);
            let depths = law.depths(lanes, law.yield_pressure(lanes[0]));
            let surface = law.relaxed_surface(&depths, Lanes::splat(deepest));
            let at = |rate: f64| {
                let middle = depth + 0.25 * h * (rate - start);
                let ends = [middle, middle + 0.5 * h * rate].map(Lanes::splat);
                law.normal_stress(law.yield_stress(&depths, ends[0]), surface, ends, [start, rate].map(Lanes::splat), h)
            };
            let d = 1e-6;
            let [low, stress, high] = [-d, 0.0, d].map(|change| at(rate + change));
            let yields = law.pressure.at(depth + 0.25 * h * (rate - start), 0.0);
            let first = |lanes: Lanes| lanes.as_array()[0];
            assert!(first(stress.stress) < yields.0 && first(stress.holds) > 0.0, "{start} {rate}");
            // If it turns in this substep, the soil that yields until then contributes its slope; otherwise only
            // holding soil does.
            let more = if deepest > 0.0 { 0.0 } else { 0.25 * h * yields.1 };
            let found = first(high.stress - low.stress) / (2.0 * d) - more;
            let says = first(stress.holds);
            assert!(
                (found / says - 1.0).abs() < 1e-2 && says <= law.max_stiffness(h),
                "{start} {rate}: {found}, not {says}"
            );
        }
    }

    /// The reported derivatives are those of the forces.
    #[test]
    fn eases_is_the_derivative() {
        let law = Law::new(Soil::named("drySand").unwrap(), 0.0, 9.81);
        let stress = Stress {
            stress: Lanes::splat(2e4),
            slope: Lanes::ZERO,
            presses: Lanes::ONE,
            holds: Lanes::ZERO,
            margin: Lanes::ZERO,
        };
        let h = 0.01;
        let loaded = slide([Lanes::ZERO; 3], [0.5, 0.3], 1);
        // Yielding soil, and soil that holds with hardly any damping.
        for (mobilised, [x, y]) in [([Lanes::ZERO; 3], [0.3, 0.1]), (loaded, [2.0, 1.2]), (loaded, [-1e-7, 1e-8])] {
            let at = |x: f64, y: f64| {
                let slides = [Lanes::splat(x), Lanes::splat(y)];
                law.shear_forces(
                    &stress,
                    [Lanes::splat(1e-2), Lanes::ZERO],
                    (mobilised, Lanes::ONE, UNLIMITED),
                    slides,
                    h,
                )
            };
            let eases = law.shear_stiffness(&at(x, y), h).map(|lanes| lanes.as_array()[0]);
            // Half of a change at the end is the change at the middle.
            let d = 1e-6 * (x.abs() + y.abs());
            let force = |shear: Shear| [shear.along, shear.across].map(|lanes| lanes.as_array()[0]);
            let ([a, b], [c, e]) = (force(at(x + d, y)), force(at(x - d, y)));
            let ([f, g], [i, j]) = (force(at(x, y + d)), force(at(x, y - d)));
            let found = [c - a, 0.5 * (e - b + i - f), j - g].map(|change| 0.25 * change / d);
            for (found, eases) in found.into_iter().zip(eases) {
                assert!((found - eases).abs() < 2e-3 * eases.abs().max(1.0), "{x} {y}: {found}, not {eases}");
            }
        }
    }
}
