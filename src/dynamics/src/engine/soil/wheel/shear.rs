//! How the rim of a wheel shears soil: what its nodes remember, and how far they have slid since.

use serde::{Deserialize, Serialize};

use super::{BEARS, Strip, Wheel, ahead_first};
use crate::{
    engine::{
        algebra::spatial::Spatial,
        equations::damping::Vector6,
        soil::{
            lanes::{LANES, Lanes, at_least, floor, largest, least, select_above},
            law::{Law, Mobilised, slide_on},
            patch::{Found, Patch},
            rim::STRIPS,
            ring::Between,
        },
    },
    soil::Arc,
};

/// Nodes around the rim: between them shear stress is linear, which at a degree is right to 1e-3 of it on the stiffest
/// soils.
const NODES: usize = 360;
pub(super) const GROUPS: usize = NODES / LANES;
const STEP: f64 = std::f64::consts::TAU / NODES as f64;
/// Nodes of the rim are sheared when the wheel has turned by this, rad, or the rim has slid by this part of the shear
/// modulus: what a node has slid in between is the same law's, straight on.
const TURNS: f64 = 0.5 * STEP;
const SLIDES: f64 = 0.05;

/// How far the nodes of a strip have slid since they were sheared, m: along the rim all of them by the same, and those
/// at 0 and 90 degrees by more; and so across.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Slide {
    turns: f64,
    along: [f64; 2],
    aside: f64,
    across: [f64; 2],
}

impl Slide {
    /// Of nodes at angles with these cosines and sines.
    #[inline(always)]
    fn at(&self, [cosine, sine]: [Lanes; 2]) -> [Lanes; 2] {
        let Self { turns, along, aside, across } = *self;
        [cosine * along[0] + sine * along[1] + turns, cosine * across[0] + sine * across[1] + aside]
    }

    fn add(&mut self, more: &Self) {
        for k in 0..2 {
            self.along[k] += more.along[k];
            self.across[k] += more.across[k];
        }
        (self.turns, self.aside) = (self.turns + more.turns, self.aside + more.aside);
    }
}

impl Wheel {
    /// The mobilised part of the strength at angles: between two nodes, or between one and where soil that is not
    /// sheared comes in.
    #[inline(always)]
    pub(super) fn mobilised(
        &self,
        per_modulus: f64,
        strip: usize,
        arc: &Arc,
        angle: Lanes,
        [sine, cosine]: [Lanes; 2],
    ) -> Mobilised {
        let place = (angle - self.turned) * (1.0 / STEP);
        let below = floor(place);
        let part = place - below;
        let ahead = angle * arc.sign;
        // How much the node behind and the one ahead count: where one of them is out of the soil, and at the entry soil
        // that is not sheared.
        let [near, far] = if arc.sign > 0.0 { [Lanes::ONE - part, part] } else { [part, Lanes::ONE - part] };
        let (low, high) = (ahead - far * STEP, ahead + near * STEP);
        let [near, far] = if largest(high) > arc.entry || least(low) < arc.exit {
            let (entry, exit) = (Lanes::splat(arc.entry), Lanes::splat(arc.exit));
            let fades = (entry - ahead) / at_least(entry - low, f64::MIN_POSITIVE);
            let first = select_above(exit, low, Lanes::ZERO, select_above(high, entry, fades, near));
            [first, select_above(high, entry, Lanes::ZERO, select_above(exit, low, Lanes::ONE, far))]
        } else {
            [near, far]
        };
        let shares = if arc.sign > 0.0 { [near, far] } else { [far, near] };
        let nodes = Between::new::<NODES>(below);
        let before = nodes.mix(&self.state.rims[strip], shares);
        // From the first node, which is here.
        let [c, s] = self.first;
        let from_first = [cosine * c + sine * s, sine * c - cosine * s];
        // In half a substep from where it was left.
        let earlier = angle + self.state.half_turn;
        self.slid_on(strip, arc, before, earlier, from_first, per_modulus)
    }

    /// What is mobilised at angles, with these cosines and sines from the first node, now that a strip has slid on.
    /// What has come in since then has done so for a part of the way.
    #[inline(always)]
    fn slid_on(
        &self,
        strip: usize,
        arc: &Arc,
        before: Mobilised,
        angle: Lanes,
        from_first: [Lanes; 2],
        per_modulus: f64,
    ) -> Mobilised {
        let turned = (self.state.turned * arc.sign).max(f64::MIN_POSITIVE);
        let part = (Lanes::splat(arc.entry) - angle * arc.sign).fast_max(Lanes::ZERO);
        let part = select_above(Lanes::splat(turned), part, part * (1.0 / turned), Lanes::ONE);
        let slide = self.state.slides[strip].at(from_first).map(|slide| slide * part);
        slide_on(before, slide, per_modulus, Lanes::ONE).mobilised
    }

    /// Takes down how the rim slides in a substep with this mean twist. Where that goes back on the way since its nodes
    /// were sheared, these are sheared first: soil remembers a turn.
    pub(super) fn slide(&mut self, patch: &Patch, mean: &Spatial, h: f64) {
        let reach = self.radius + patch.law.grousers;
        let turns = mean.angular().dot(self.axle);
        let ([x, z], mut fastest, mut onwards) = (self.spokes, 0.0f64, 0.0);
        let across = [mean.angular().dot(z) * reach, -mean.angular().dot(x) * reach];
        let mut slides = [Slide::default(); STRIPS];
        for (strip, own) in slides.iter_mut().enumerate() {
            let Some(Strip { arc, .. }) = self.strips[strip] else { continue };
            let velocity = mean.at(self.centre + self.axle * self.offset(strip) - patch.point);
            let (ahead, down, aside) = (velocity.dot(self.forward), velocity.dot(self.down), velocity.dot(self.axle));
            *own = Slide {
                turns: -h * reach * turns,
                along: [h * velocity.dot(z), -h * velocity.dot(x)],
                aside: h * aside,
                across: across.map(|speed| h * speed),
            };
            // At the lowest point, and how much more at the ends at most.
            let aslant = (arc.sinkage / self.radius).min(2.0) * ahead.abs() + down.abs();
            let sideways = aside.abs() + across[0].abs() + across[1].abs();
            fastest = fastest.max((ahead - reach * turns).abs() + aslant + sideways);
            let before = &self.state.slides[strip];
            let way = z * before.along[0] - x * before.along[1];
            let bottom = (ahead - reach * turns) * (way.dot(self.forward) + before.turns);
            onwards += bottom + down * way.dot(self.down) + aside * before.aside;
        }
        if onwards < 0.0 {
            self.shear_rims(&patch.law);
        }
        (self.state.turned, self.state.half_turn) = (self.state.turned + h * turns, 0.5 * h * turns);
        self.state.slid += h * fastest;
        self.state.slides.iter_mut().zip(&slides).for_each(|(sum, own)| sum.add(own));
        if self.state.turned.abs() >= TURNS || self.state.slid >= SLIDES * patch.law.soil.shear_modulus {
            self.shear_rims(&patch.law);
        }
    }

    /// Takes down on what strength soil bears. What comes in, which is this part of all of it, bears on what there is.
    pub(super) fn bear(&mut self, patch: &Patch, twists: [&Vector6; 2], found: &Found, [h, renewed]: [f64; 2]) {
        if found.slides {
            self.state.bears = BEARS;
            return;
        }
        let after = patch.rim.bears(&patch.law, twists, h);
        for (strip, after) in after.iter().enumerate() {
            let Some(Strip { arc, .. }) = self.strips[strip] else { continue };
            for (bears, &after) in self.state.bears[strip].iter_mut().zip(after) {
                *bears = ahead_first(
                    after.map(|[strength, most]| (strength + (most - strength) * renewed).to_array()),
                    &arc,
                );
            }
        }
    }

    pub(super) fn shear_rims(&mut self, law: &Law) {
        (0..STRIPS).for_each(|strip| self.shear_rim(law, strip));
        (self.state.turned, self.state.slid) = (0.0, 0.0);
    }

    /// Shears the soil at each node in it as far as it has slid.
    pub(super) fn shear_rim(&mut self, law: &Law, strip: usize) {
        let mut rim = std::mem::take(&mut self.state.rims[strip]);
        let mut live = self.state.sheared[strip];
        match self.strips[strip] {
            None => live.clear(&mut rim),
            Some(Strip { arc, .. }) => {
                // The nodes from the one end to the other.
                let [low, high] = arc.ends().map(|angle| (angle - self.turned) * (1.0 / STEP));
                let (first, per) = (low.ceil(), 1.0 / law.soil.shear_modulus);
                let last = high.floor().min(first + (NODES - LANES) as f64);
                live.visit([first, last], &mut rim, |group, parts, numbers, inside| {
                    let [x, y, most] = parts.map(Lanes::new);
                    // It has come half a substep farther.
                    let angle = numbers * STEP + (self.turned - self.state.half_turn);
                    let [x, y, most] = self.slid_on(strip, &arc, [x, y, most], angle, self.circle[group], per);
                    *parts = [(x * inside).to_array(), (y * inside).to_array(), (most * inside).to_array()];
                });
            }
        }
        self.state.rims[strip] = rim;
        (self.state.sheared[strip], self.state.slides[strip]) = (live, Slide::default());
    }
}

/// Cosines and sines of the angles of two nodes.
pub(super) fn circle(group: usize) -> [Lanes; 2] {
    let angles: [f64; LANES] = std::array::from_fn(|lane| (group * LANES + lane) as f64 * STEP);
    [angles.map(libm::cos), angles.map(libm::sin)].map(Lanes::new)
}
