//! How a wheel presses the soil along its way, which stays where it is: nodes keep where its surface is, from which all pressure is gone. The rim
//! finds it there in whichever direction it rolls, stands or slides, in front and behind by the same rule: soil yields where it is pressed on, and recoils
//! by p/k_e where the rim draws back.

use super::{
    super::{
        lanes::{Lanes, arcsine, at_least, floor, select_above, sin_cos},
        law::{Depths, Law},
        patch::Patch,
        rim::STRIPS,
        ring::Between,
    },
    Strip, Wheel, reach,
};
use crate::soil::Pressure;

/// Nodes along the way, so many for each radius, and in all: the wheel is over half of them at most.
const NODES_A_RADIUS: f64 = 32.0;
pub(super) const WAY: usize = 128;
/// Going on by less than this in a substep, m, is none: what stands and trembles has the soil pressed in each substep.
const ROLLS: f64 = 1e-6;
/// All places of the quadrature in front of the peak are farther from it than this part of the angle to the entry.
const NEAREST: f64 = 0.13;

impl Wheel {
    /// Comes on along the way. Presses its nodes where a strip was before, unless it rolls on and all that is in front of its peak
    /// goes deeper: there soil yields, and need not know more than how deep it is.
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

    /// How far a wheel that is so deep turns back until what it pressed ahead has let go, m: that recoils by p/k_e, and the rim rises from it as steeply
    /// as it goes down there.
    pub(super) fn recoil(&self, patch: &Patch, sunk: f64) -> f64 {
        let Pressure { elastic, .. } = patch.law.pressure;
        (patch.law.pressure.at(sunk, 0.0).0 / (elastic * reach(sunk / self.radius))).max(ROLLS)
    }

    /// Where the surface of soil is so many radii ahead of where the centre was, m; 0 where it is new. Between nodes it is as round as the rim: straight lines
    /// between them would be off by more than pressed soil gives way.
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

    /// The same of places so many radii ahead of the centre, as a depth that counts for the pressure, which is by so much less than that of the places.
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

/// How far a wheel has travelled, as a part of the length of its contact, that comes on by so much, m. One that turns back has
/// its peak below it as soon as what it pressed ahead has let go, after the `recoil`.
pub(super) fn travel(before: f64, way: f64, length: f64, recoil: impl Fn() -> f64) -> f64 {
    if before * way >= 0.0 {
        return (before + way / length).clamp(-1.0, 1.0);
    }
    let recoil = recoil();
    let after = before + way / recoil;
    if after * before > 0.0 { after } else { (after * recoil / length).clamp(-1.0, 1.0) }
}

/// How much higher a circle of radius 1 is so far from its bottom.
fn rise(ahead: Lanes) -> Lanes {
    Lanes::ONE - at_least(Lanes::ONE - ahead * ahead, 0.0).sqrt()
}
