//! What soil says of two places of a surface at once: the pressure at a depth, and the shear stress after a slide.

use simpartner_model::Soil;

use super::lanes::{Lanes, at_least, gone_and_inverse, largest, least, power, select_above, sum};
use crate::soil::{Pressure, bulldozing_terms};

/// Depths that differ by less than this part have pressures by four terms of the binomial series: the next is below
/// 1e-8 of them.
const NEAR: f64 = 0.02;

/// What bears on all the strength that there is, Pa.
pub(super) const BEARS_ALL: Lanes = Lanes::splat(f64::MAX);

/// Part of how fast soil slides that is taken off from how fast what holds does: rounding is far below it.
const ROUNDING: f64 = 1e-9;

/// What is mobilised under less than this part of the strength that is there now lets up as if it had been under so
/// much: what is steeper, solvers of a step need not meet.
const LEAST_GIVES: f64 = 0.05;

/// What sinks faster at the end of a substep is deeper there by so much of the substep: by a quarter in the middle,
/// since it grew to that rate evenly, and by half from there on.
const HELD: f64 = 0.75;

/// How a soil presses back under one shape.
#[derive(Debug, Clone)]
pub(super) struct Law {
    pub(super) soil: Soil,
    pub(super) pressure: Pressure,
    /// The tangent of its angle of friction.
    friction: f64,
    /// How far grousers reach beyond the surface, m: soil is sheared there.
    pub(super) grousers: f64,
    /// What a face puts up against being pushed aside: the factors of its depth and of the square of that, N/m² and
    /// N/m³.
    pub(super) aside: [f64; 2],
}

/// How deep two places are.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Depths {
    /// The depth that counts for the pressure, below the surface that was there at first; how deep others left it; m.
    pub(super) depth: Lanes,
    left: Lanes,
    /// One over the depth, and k zⁿ there.
    per_depth: Lanes,
    plastic: Lanes,
}

/// What presses on two places.
pub(super) struct Stress {
    /// Pa; 0 where nothing does.
    pub(super) stress: Lanes,
    /// Where soil yields, how its pressure grows with depth, Pa/m; elsewhere 0.
    pub(super) slope: Lanes,
    /// 1 where it presses, elsewhere 0.
    pub(super) presses: Lanes,
    /// Where it presses and holds, how its pressure grows with how fast it is pressed at the end, Pa s/m; elsewhere 0.
    pub(super) holds: Lanes,
    /// How far it is from where it would yield and not hold, hold and not yield, or let go, Pa.
    pub(super) margin: Lanes,
}

/// What of its shear strength soil has mobilised at two places, against the slide: the parts along two directions, and
/// the largest part that there ever was.
pub(super) type Mobilised = [Lanes; 3];

/// What shears two places: forces along their two tangents, N.
pub(super) struct Shear {
    pub(super) along: Lanes,
    pub(super) across: Lanes,
    strength: Lanes,
    side: Lanes,
    damping: Lanes,
    slid: Slid,
    /// Above 0 where it yields, or nothing presses.
    pub(super) slides: Lanes,
}

/// What is mobilised after a slide, and how that grows with it: in the direction of the parts, and across that.
pub(super) struct Slid {
    pub(super) mobilised: Mobilised,
    direction: [Lanes; 2],
    onwards: Lanes,
    aside: Lanes,
    /// How far the slide went beyond where soil holds, over the shear modulus; and what is not mobilised.
    beyond: Lanes,
    free: Lanes,
}

impl Shear {
    /// The squares of the mobilised parts times the strength, N.
    #[inline(always)]
    pub(super) fn holds(&self) -> Lanes {
        let [x, y, _] = self.slid.mobilised.map(|part| part * part);
        self.strength * (x + y) + self.side * y
    }
}

impl Law {
    /// Under a shape whose grousers reach so far beyond its surface, m, where things fall at `gravity`, m/s².
    pub(super) fn new(soil: Soil, grousers: f64, gravity: f64) -> Self {
        Self {
            friction: libm::tan(soil.friction_angle),
            pressure: Pressure { modulus: 0.0, exponent: 1.0, elastic: soil.elastic_stiffness },
            grousers,
            aside: bulldozing_terms(&soil, gravity),
            soil,
        }
    }

    /// k zⁿ at depths above 0, m: Pa.
    pub(super) fn plastic(&self, depth: Lanes) -> Lanes {
        power(depth, self.pressure.exponent) * self.pressure.modulus
    }

    /// Of two places: depths above 0 and how others left them, m; and k zⁿ there.
    #[inline(always)]
    pub(super) fn depths(&self, [depth, left]: [Lanes; 2], plastic: Lanes) -> Depths {
        Depths { depth, left, per_depth: Lanes::ONE / depth, plastic }
    }

    /// Where the surface of two places is from which all pressure is gone, as a depth, m, if they were pressed so deep
    /// at most, m; 0 where they are new.
    #[inline(always)]
    pub(super) fn surface(&self, depths: &Depths, deepest: Lanes) -> Lanes {
        if !(largest(deepest) > 0.0) {
            return Lanes::ZERO;
        }
        let pressed = select_above(deepest, Lanes::ZERO, deepest, depths.depth);
        let most = self.yields(depths, pressed).0;
        select_above(deepest, Lanes::ZERO, deepest - most * (1.0 / self.pressure.elastic), Lanes::ZERO)
    }

    /// The pressure at depths below the surface that was there at first, and how it grows with depth
    /// ([`Pressure::at`]).
    #[inline(always)]
    pub(super) fn yields(&self, depths: &Depths, depth: Lanes) -> (Lanes, Lanes) {
        let Pressure { modulus, exponent: n, elastic } = self.pressure;
        let part = (depth - depths.depth) * depths.per_depth;
        let (plastic, steep) = if largest(part.abs()) < NEAR {
            let series = (part * ((n - 2.0) / 3.0) + 1.0) * part * ((n - 1.0) / 2.0) + 1.0;
            let plastic = depths.plastic * (series * part * n + 1.0);
            // How steep it is says how forces change, and need not be as right as they are.
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

    /// The pressure on places after a substep. Soil `yields` ([`Self::yields`]) in its middle, where they are so deep;
    /// what was pressed is so stiff that it is taken at its end, where that is stable at any timestep: it recoils until
    /// all pressure is gone at its `surface`. They sink at one rate at the start and at another at the end, m/s: what
    /// sinks first and then rises presses new soil until it turns, and the soil holds from there.
    #[inline(always)]
    pub(super) fn press(
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
        // How much deeper it is at the end, of how much faster it sinks there, as a part of the substep.
        let deeper = select_above(surface, pressed, Lanes::splat(HELD), lets_up * (lets_up * -0.5 + 1.0));
        let stiff = deeper * (h * self.pressure.elastic) + self.soil.damping;
        let near = (held - yields).abs();
        let margin = select_above(held, yields, near, near.fast_min(held.abs()));
        Stress { stress, slope: slope * (presses - holds), presses, holds: holds * stiff, margin }
    }

    /// How much the pressure of soil that holds changes at most with how fast it is pressed at the end of a substep, Pa
    /// s/m.
    pub(super) fn stiffness(&self, h: f64) -> f64 {
        HELD * h * self.pressure.elastic + self.soil.damping
    }

    /// How much stress changes with a velocity at most, Pa s/m, if that across the surface changes by this, Pa s/m, and
    /// soil is sheared from rest: along the surface, where the mean pressure is this, Pa, and it gives over no less
    /// than that part of the shear modulus.
    pub(super) fn stiffest_shear(&self, press: f64, pressure: f64, h: f64, gives: f64) -> f64 {
        let slides = 0.5 * h / (self.soil.shear_modulus * gives);
        press * self.friction + self.soil.damping + (self.soil.cohesion + pressure) * slides
    }

    /// The shear stress at places of these areas, m², whose strength is mobilised in these parts when they slide so,
    /// m/s. `side` is the largest force with which soil resists a side that is pushed along the second tangent, N. Soil
    /// that holds also damps the slide, as it damps what presses it, with no more than what is left of its strength.
    #[inline(always)]
    pub(super) fn shear(
        &self,
        stress: &Stress,
        [area, side]: [Lanes; 2],
        (mobilised, gives, bears): (Mobilised, Lanes, Lanes),
        slide: [Lanes; 2],
        h: f64,
    ) -> Shear {
        let time = 0.5 * h / self.soil.shear_modulus;
        let slid = slide_on(mobilised, slide, time, gives);
        let [first, second, _] = slid.mobilised;
        let (area, side) = (area * stress.presses, side * stress.presses);
        let most = stress.stress * self.friction + self.soil.cohesion;
        let strength = if least(bears) < f64::MAX {
            bears_on(bears, most, mobilised, &slid, [slide[0] * time, slide[1] * time]) * area
        } else {
            most * area
        };
        // How fast it slides as what holds does. Where all of it yields, as under a wheel that slips, that is but
        // rounding.
        let speed = (slide[0] * slide[0] + slide[1] * slide[1]).sqrt();
        let held = speed * (1.0 - ROUNDING) - slid.beyond * (2.0 * self.soil.shear_modulus / h);
        let damping = if largest(held) > 0.0 {
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

    /// The strength on which places bear after a substep with such a slide, m/s, and what they have, Pa ([`bears_on`]).
    #[inline(always)]
    pub(super) fn bears(
        &self,
        stress: &Stress,
        (mobilised, bears): (Mobilised, Lanes),
        slide: [Lanes; 2],
        h: f64,
    ) -> [Lanes; 2] {
        let time = h / self.soil.shear_modulus;
        let slid = slide_on(mobilised, slide, time, Lanes::ONE);
        let strength = self.strength_at(stress);
        [bears_on(bears, strength, mobilised, &slid, slide.map(|speed| speed * time)), strength]
    }

    /// The part of the shear modulus over which places let up that have mobilised their shear under such a strength,
    /// Pa: soil gives back no more than was put in, so what was sheared under little pressure lets up the steeper the
    /// more presses now.
    #[inline(always)]
    pub(super) fn gives(&self, stress: &Stress, [_, _, most]: Mobilised, paid: Lanes) -> Lanes {
        let part = paid / at_least(self.strength_at(stress), f64::MIN_POSITIVE);
        select_above(most, Lanes::ZERO, at_least(part.fast_min(Lanes::ONE), LEAST_GIVES), Lanes::ONE)
    }

    /// The shear strength where something presses, Pa; elsewhere 0.
    fn strength_at(&self, stress: &Stress) -> Lanes {
        (stress.stress * self.friction + self.soil.cohesion) * stress.presses
    }

    /// What is mobilised after a substep with such a slide, m/s, and the strength under which it was, Pa: K m²/2 of
    /// that is the energy that shear holds, to which is added what is put in, as far as the strength that is there now
    /// would hold it.
    pub(super) fn go_on(
        &self,
        stress: &Stress,
        (mobilised, paid): (Mobilised, Lanes),
        slide: [Lanes; 2],
        h: f64,
    ) -> (Mobilised, Lanes) {
        let (gives, time) = (self.gives(stress, mobilised, paid), h / self.soil.shear_modulus);
        let [x, y, _] = slide_on(mobilised, slide, 0.5 * time, gives).mobilised;
        let after = slide_on(mobilised, slide, time, gives).mobilised;
        let square = |[x, y, _]: Mobilised| x * x + y * y;
        let strength = self.strength_at(stress);
        let held = paid * square(mobilised) + strength * (x * slide[0] + y * slide[1]) * (2.0 * time);
        let held = held.fast_max(Lanes::ZERO) / at_least(square(after), f64::MIN_POSITIVE);
        (after, held.fast_min(paid.fast_max(strength)))
    }

    /// How much less the forces of shear become with each unit of velocity along the first tangent, along both, and
    /// along the second.
    #[inline(always)]
    pub(super) fn eases(&self, shear: &Shear, h: f64) -> [Lanes; 3] {
        let rate = 0.25 * h / self.soil.shear_modulus;
        let Slid { direction: [x, y], onwards, aside, .. } = shear.slid;
        let (held, eased) = (shear.strength * rate, shear.damping * 0.5);
        let more = onwards - aside;
        let own = held * (aside + more * x * x) + eased;
        let other = held * (aside + more * y * y) + shear.side * rate + eased;
        [own, held * more * x * y, other]
    }

    /// The most energy that stresses hold, J, from sums over their places: of pressure what its stiffness stores, from
    /// the squares of stress times area and the vertical part of the faces; of shear K m²/2 for each unit of strength
    /// where the part m of it is mobilised, which is what soil gives back that slides back ([`Shear::holds`]).
    #[inline(always)]
    pub(super) fn stored(&self, pressed: Lanes, sheared: Lanes) -> f64 {
        0.5 * (sum(pressed) / self.pressure.elastic + sum(sheared) * self.soil.shear_modulus)
    }
}

/// The strength that multiplies what is mobilised: soil that holds is not sheared more for being pressed more, and less
/// for being pressed less; it `bears` on the least strength that there was since it yielded. As it yields, that grows
/// to the strength there is now, as far as K m²/2 of it is energy that the slide, in shear moduli, has put in. A force
/// that followed the pressure of what holds would have wheels flutter: turning, going ahead and sinking would feed each
/// other.
#[inline(always)]
fn bears_on(bears: Lanes, strength: Lanes, [x, y, _]: Mobilised, slid: &Slid, slide: [Lanes; 2]) -> Lanes {
    let [u, v, _] = slid.mobilised;
    let held = bears * (x * x + y * y) + strength * (u * slide[0] + v * slide[1]) * 2.0;
    let grown = held / at_least(u * u + v * v, f64::MIN_POSITIVE);
    select_above(slid.beyond, Lanes::ZERO, grown, bears).fast_min(strength).fast_max(Lanes::ZERO)
}

/// What of the shear strength is mobilised after sliding on at a velocity, m/s, for a time over the shear modulus, s/m.
/// What slides on along one direction follows Janosi and Hanamoto's law, 1 - exp(-j/K). What slides back, or aside,
/// lets up as steeply as that law begins, and soil holds it, whichever way it slides, until as much is mobilised as
/// ever was: there the law goes on. So what trembles on a slope stays. It `gives` over that part of the shear modulus.
#[inline(always)]
pub(super) fn slide_on([along, across, most]: Mobilised, slide: [Lanes; 2], time: f64, gives: Lanes) -> Slid {
    let (x, y) = (along + slide[0] * time / gives, across + slide[1] * time / gives);
    let way = (x * x + y * y).sqrt();
    let beyond = ((way - most) * gives).fast_max(Lanes::ZERO);
    let [gone, per] = gone_and_inverse(beyond, at_least(way, f64::MIN_POSITIVE));
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

    /// Slides by so many moduli along x and y, in steps.
    fn slide(mut mobilised: Mobilised, [x, y]: [f64; 2], steps: usize) -> Mobilised {
        let per = 1.0 / steps as f64;
        for _ in 0..steps {
            mobilised = slide_on(mobilised, [x, y].map(Lanes::splat), per, Lanes::ONE).mobilised;
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

    /// A load that trembles moves nothing on: there and back soil is where it was, whichever way it trembles.
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
        // And what goes beyond where it was goes on as if it had never turned back.
        let there = slide(slide(loaded, [-0.6, 0.0], 2), [0.6 + 0.3, 0.0], 4);
        let at_once = slide([Lanes::ZERO; 3], [1.1, 0.0], 1);
        assert!((first(there)[0] - first(at_once)[0]).abs() < 1e-8);
    }

    /// How soil that holds presses back the more the faster it is pressed: where it was pressed deeper before, where it
    /// is left all the time, and where it is pressed first and then left.
    #[test]
    fn what_holds_is_as_stiff_as_it_says() {
        let mut law = Law::new(Soil::named("sandyLoam").unwrap(), 0.0, 9.81);
        law.pressure = Pressure::new(&law.soil, 0.1, 0.0, 9.81);
        let (depth, h) = (0.02, 0.005);
        for (deepest, start, rate) in
            [(0.0201, 0.01, 0.002), (0.0, -0.002, -0.01), (0.0, 0.01, -0.012), (0.0, 0.02, -0.003)]
        {
            let lanes = [depth, 0.0].map(Lanes::splat);
            let depths = law.depths(lanes, law.plastic(lanes[0]));
            let surface = law.surface(&depths, Lanes::splat(deepest));
            let at = |rate: f64| {
                let middle = depth + 0.25 * h * (rate - start);
                let ends = [middle, middle + 0.5 * h * rate].map(Lanes::splat);
                law.press(law.yields(&depths, ends[0]), surface, ends, [start, rate].map(Lanes::splat), h)
            };
            let d = 1e-6;
            let [low, stress, high] = [-d, 0.0, d].map(|change| at(rate + change));
            let yields = law.pressure.at(depth + 0.25 * h * (rate - start), 0.0);
            let first = |lanes: Lanes| lanes.as_array()[0];
            assert!(first(stress.stress) < yields.0 && first(stress.holds) > 0.0, "{start} {rate}");
            // Where it turns in this substep, the soil that yields until then is steeper below; nothing beside what
            // holds.
            let more = if deepest > 0.0 { 0.0 } else { 0.25 * h * yields.1 };
            let found = first(high.stress - low.stress) / (2.0 * d) - more;
            let says = first(stress.holds);
            assert!(
                (found / says - 1.0).abs() < 1e-2 && says <= law.stiffness(h),
                "{start} {rate}: {found}, not {says}"
            );
        }
    }

    /// How forces ease is how they change.
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
        // Where it yields, and where it holds but hardly damps.
        for (mobilised, [x, y]) in [([Lanes::ZERO; 3], [0.3, 0.1]), (loaded, [2.0, 1.2]), (loaded, [-1e-7, 1e-8])] {
            let at = |x: f64, y: f64| {
                let slides = [Lanes::splat(x), Lanes::splat(y)];
                law.shear(&stress, [Lanes::splat(1e-2), Lanes::ZERO], (mobilised, Lanes::ONE, BEARS_ALL), slides, h)
            };
            let eases = law.eases(&at(x, y), h).map(|lanes| lanes.as_array()[0]);
            // Half of a change at the end is one in the middle.
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
