//! How a wheel presses the soil along its way, which stays where it is: nodes keep where its surface is, from which all
//! pressure is gone. The rim finds it there in whichever direction it rolls, stands or slides, in front and behind by
//! the same rule: soil yields where it is pressed on, and recoils by p/k_e where the rim draws back.

use serde::{Deserialize, Serialize};

use super::{Strip, Wheel, reach};
use crate::{
    engine::soil::{
        lanes::{Lanes, arcsine, at_least, floor, select_above, sin_cos},
        law::{Depths, Law},
        patch::Patch,
        rim::STRIPS,
        ring::Between,
    },
    soil::Pressure,
};

/// Nodes along the way, so many for each radius, and in all: the wheel is over half of them at most.
const NODES_A_RADIUS: f64 = 32.0;
pub(super) const WAY: usize = 128;
/// Going on by less than this in a substep, m, is none: what stands and trembles has the soil pressed in each substep.
const ROLLS: f64 = 1e-6;
/// All places of the quadrature in front of the peak are farther from it than this part of the angle to the entry: half
/// of 0.134, where half of that angle has not come to yield.
const NEAREST: f64 = 0.065;

/// How far a wheel has rolled, as parts of the length of its contact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Travel {
    /// 1 where it has rolled forwards by all of that, -1 backwards, 0 where it was let down.
    rolled: f64,
    /// How much of that it has taken back since, as what it pressed ahead lets go: what rolls on again takes back this
    /// first, so that a wheel that trembles is where it was.
    back: f64,
    /// How many recoils it has skidded back before.
    skidded: f64,
}

/// What skids back without turning lets go of what it pressed in so many recoils: one for what is ahead, and one for
/// what comes to bear behind.
const SKIDS: f64 = 2.0;

impl Travel {
    /// Where it is: the peak is as far ahead, and the exit as far behind.
    pub(super) fn now(self) -> f64 {
        self.rolled - self.back.copysign(self.rolled)
    }

    /// Comes on by so much, m, of which the rim turns by a part. What turns back has its peak below it as soon as what
    /// it pressed ahead has let go, after the `recoil`. What skids back without turning first lets all of that go
    /// ([`SKIDS`]): a peak that moved with each tremble of a braked wheel would press soil on and on.
    pub(super) fn go(self, [way, turns]: [f64; 2], length: f64, recoil: impl Fn() -> f64) -> Self {
        let Self { rolled, back, skidded } = self;
        let onwards = if rolled < 0.0 { -way } else { way };
        if onwards >= 0.0 && back + skidded == 0.0 || rolled == 0.0 {
            return Self { rolled: (rolled + way / length).clamp(-1.0, 1.0), ..self };
        }
        let recoil = recoil();
        let parts = onwards / recoil;
        let skids = (-parts * (1.0 - turns)).clamp(0.0, SKIDS - skidded);
        let (back, skidded) = (back - parts - skids, skidded + skids);
        let size = rolled.abs();
        // What rolls on takes back the skid last.
        let (back, skidded) =
            if back < 0.0 { (0.0f64.min(back + skidded), (back + skidded).max(0.0)) } else { (back, skidded) };
        if (0.0..size).contains(&back) {
            return Self { rolled, back, skidded };
        }
        // All is taken back, or let go: the rest of the way is rolled.
        let part = recoil / length;
        let rolls = if back < 0.0 { size - back * part } else { (size - back) * part };
        Self { rolled: (rolls * rolled.signum()).clamp(-1.0, 1.0), back: 0.0, skidded: 0.0 }
    }
}

impl Wheel {
    /// Comes on along the way. Presses its nodes where a strip was before, unless it rolls on and all that is in front
    /// of its peak goes deeper: there soil yields, and need not know more than how deep it is.
    pub(super) fn turn_up(&mut self, law: &Law, yields: bool) {
        let travelled = self.came * self.radius;
        for strip in 0..STRIPS {
            let Some(Strip { arc, sinkage, .. }) = self.strips[strip] else { continue };
            let (sunk, slope) = (self.state.sunk[strip], arc.peak + NEAREST * (arc.entry - arc.peak));
            let ahead = travelled * arc.sign;
            let goes_deeper = ahead > ROLLS && sinkage + ahead * slope >= sunk;
            if self.state.unpressed[strip] && !goes_deeper {
                self.press_way(law, strip, sunk);
            }
            (self.state.sunk[strip], self.state.unpressed[strip]) = (sinkage, yields);
        }
        let (way, count) = (self.state.way + self.came * NODES_A_RADIUS, WAY as f64);
        self.state.way = way - (way / count).floor() * count;
        (self.state.centre, self.came) = (Some(self.centre), 0.0);
    }

    /// How far a wheel that is so deep turns back until what it pressed ahead has let go, m: that recoils by p/k_e, and
    /// the rim rises from it as steeply as it goes down there.
    pub(super) fn recoil(&self, patch: &Patch, sunk: f64) -> f64 {
        let Pressure { elastic, .. } = patch.law.pressure;
        (patch.law.pressure.at(sunk, 0.0).0 / (elastic * reach(sunk / self.radius))).max(ROLLS)
    }

    /// Where the surface of soil is so many radii ahead of where the centre was, m; 0 where it is new. Between nodes it
    /// is as round as the rim: straight lines between them would be off by more than pressed soil gives way.
    #[inline(always)]
    pub(super) fn surface(&self, strip: usize, ahead: Lanes) -> Lanes {
        let place = ahead * NODES_A_RADIUS + self.state.way;
        let below = floor(place);
        let [one, other] = Between::new::<WAY>(below).of(&self.state.surface[strip]);
        // How deep the rim would be at its bottom if it were as deep as the nodes there.
        let part = place - below;
        let rise = |way: Lanes| self.rise(ahead + way * (1.0 / NODES_A_RADIUS));
        let (low, high) = (one + rise(-part), other + rise(Lanes::ONE - part));
        let surface = low + (high - low) * part - self.rise(ahead);
        select_above(one.fast_min(other), Lanes::ZERO, surface, Lanes::ZERO)
    }

    /// The same of places so many radii ahead of the centre, as a depth that counts for the pressure, which is by so
    /// much less than that of the places.
    #[inline(always)]
    pub(super) fn surface_below(&self, law: &Law, strip: usize, depths: &Depths, ahead: Lanes, lower: Lanes) -> Lanes {
        let ahead = ahead + self.came;
        let surface = self.surface(strip, ahead) - lower;
        if !self.state.unpressed[strip] {
            return surface;
        }
        // As the wheel was in the middle of the last substep.
        let deepest = Lanes::splat(self.state.sunk[strip]) - self.rise(ahead) - lower;
        surface.fast_max(law.surface(depths, deepest))
    }

    /// How much higher the rim is so many radii ahead of its bottom, m.
    pub(super) fn rise(&self, ahead: Lanes) -> Lanes {
        rise(ahead) * self.radius
    }

    /// Presses the nodes of the way that are below a strip that is so deep, m, and forgets the others.
    pub(super) fn press_way(&mut self, law: &Law, strip: usize, sinkage: f64) {
        self.state.unpressed[strip] = false;
        let (radius, way) = (self.radius, self.state.way);
        let (nodes, live) = (&mut self.state.surface[strip], &mut self.state.pressed[strip]);
        let Some(Strip { arc, left, .. }) = self.strips[strip] else { return live.clear(nodes) };
        // As far ahead as behind.
        let reach = reach((arc.sinkage / radius).min(1.0)) * NODES_A_RADIUS;
        let (first, last) = ((way - reach).ceil(), (way + reach).floor());
        let behind = (arc.entry - arc.peak) / (arc.peak - arc.exit).max(f64::MIN_POSITIVE);
        let lowest = (1.0 - arc.sinkage / radius).max(-1.0);
        live.visit([first, last], nodes, |_, nodes, numbers, inside| {
            let ahead = (numbers - way) * (1.0 / NODES_A_RADIUS);
            let depth = at_least(Lanes::splat(sinkage) - rise(ahead) * radius, left);
            // Where the same stress is in front of the peak.
            let angle = arcsine(ahead) * arc.sign;
            let same = Lanes::splat(arc.entry) - at_least(angle - arc.exit, 0.0) * behind;
            let [_, cosine] = sin_cos(same.fast_min(Lanes::splat(arc.entry)));
            let other = at_least((cosine - lowest) * radius, 0.0) + left;
            let counts = select_above(Lanes::splat(arc.peak), angle, other, depth);
            let stress = law.plastic(at_least(counts, f64::MIN_POSITIVE));
            let pressed = at_least(depth - stress * (1.0 / law.pressure.elastic), left);
            *nodes = (Lanes::new(*nodes).fast_max(pressed) * inside).to_array();
        });
    }
}

/// How much higher a circle of radius 1 is so far from its bottom.
fn rise(ahead: Lanes) -> Lanes {
    Lanes::ONE - at_least(Lanes::ONE - ahead * ahead, 0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::{SKIDS, Travel};

    /// A wheel that trembles is where it was; one that turns back has its peak below it after the recoil, where it
    /// skids after two more.
    #[test]
    fn what_trembles_has_its_peak_where_it_was() {
        let (length, recoil) = (0.1, 1e-4);
        let go = |travel: Travel, way: f64, turns: f64| travel.go([way, turns], length, || recoil);
        for sign in [1.0, -1.0] {
            let rolled = go(Travel::default(), 0.05 * sign, 1.0);
            assert!((rolled.now() - 0.5 * sign).abs() < 1e-12, "{rolled:?}");
            for turns in [0.0, 0.3, 1.0] {
                let mut trembles = rolled;
                for _ in 0..1000 {
                    trembles = go(go(trembles, -4e-5 * sign, turns), 4e-5 * sign, turns);
                }
                assert!((trembles.now() - rolled.now()).abs() < 1e-12, "{trembles:?}");
            }
            assert!(go(rolled, -0.5 * recoil * sign, 1.0).now().abs() < 1e-12);
            assert_eq!(go(rolled, -SKIDS * recoil * sign, 0.0).now(), rolled.now());
            assert!(go(rolled, -(SKIDS + 0.5) * recoil * sign, 0.0).now().abs() < 1e-12);
            // What is left of the way is rolled.
            let back = go(rolled, -(0.5 * recoil + 0.03) * sign, 1.0);
            assert!((back.now() + 0.3 * sign).abs() < 1e-12, "{back:?}");
            let on = go(go(rolled, -2e-5 * sign, 1.0), (2e-5 + 0.02) * sign, 1.0);
            assert!((on.now() - 0.7 * sign).abs() < 1e-12, "{on:?}");
        }
    }
}
