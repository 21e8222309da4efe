//! Shear of soil by the rim of a wheel: the state of its nodes, and their slides since the last update.

use super::{
    Strip, UNLIMITED_STRENGTHS, Wheel, ahead_first,
    nodes::{NODE_ANGLE, RIM_NODES},
    slide::Slide,
};
use crate::{
    engine::{
        algebra::spatial::Spatial,
        equations::damping::Vector6,
        soil::{
            lanes::{LANES, Lanes, at_least, floor, max_lane, min_lane, select_above},
            law::{Law, Mobilised, mobilised_after},
            patch::{Patch, SoilForces},
            rim::STRIP_COUNT,
            ring::NodePairs,
        },
    },
    soil::Arc,
};

/// The nodes of the rim are updated when the wheel has turned by this angle, rad, or the rim has slid by this fraction
/// of the shear modulus. In between, the slide of a node follows the same law, straight on.
const MAX_TURN: f64 = 0.5 * NODE_ANGLE;
const MAX_SLIDE: f64 = 0.05;

impl Wheel {
    /// Mobilised fractions at angles: interpolated between two nodes, or between a node and the entry, where soil is
    /// unsheared.
    #[inline(always)]
    pub(super) fn mobilised_at(
        &self,
        per_modulus: f64,
        strip: usize,
        arc: &Arc,
        angle: Lanes,
        [sine, cosine]: [Lanes; 2],
    ) -> Mobilised {
        let place = (angle - self.turned) * (1.0 / NODE_ANGLE);
        let below = floor(place);
        let part = place - below;
        let ahead = angle * arc.sign;
        // Weights of the node behind and of the one ahead: one of them may be out of the soil, and at the entry soil is
        // unsheared.
        let [near, far] = if arc.sign > 0.0 { [Lanes::ONE - part, part] } else { [part, Lanes::ONE - part] };
        let (low, high) = (ahead - far * NODE_ANGLE, ahead + near * NODE_ANGLE);
        let [near, far] = if max_lane(high) > arc.entry || min_lane(low) < arc.exit {
            let (entry, exit) = (Lanes::splat(arc.entry), Lanes::splat(arc.exit));
            let fades = (entry - ahead) / at_least(entry - low, f64::MIN_POSITIVE);
            let first = select_above(exit, low, Lanes::ZERO, select_above(high, entry, fades, near));
            [first, select_above(high, entry, Lanes::ZERO, select_above(exit, low, Lanes::ONE, far))]
        } else {
            [near, far]
        };
        let shares = if arc.sign > 0.0 { [near, far] } else { [far, near] };
        let nodes = NodePairs::new::<RIM_NODES>(below);
        let before = nodes.interpolate(&self.state.rims[strip], shares);
        // Cosines and sines of the angles from the first node.
        let [c, s] = self.first;
        let from_first = [cosine * c + sine * s, sine * c - cosine * s];
        // The state was stored half a substep ago, at these angles.
        let earlier = angle + self.state.half_turn;
        self.mobilised_now(strip, arc, before, earlier, from_first, per_modulus)
    }

    /// Mobilised fractions at angles, with these cosines and sines from the first node, after the slides of a strip
    /// since its last update. Soil that entered since then has slid for a part of that time.
    #[inline(always)]
    fn mobilised_now(
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
        let slide = self.state.slides[strip].at_nodes(from_first).map(|slide| slide * part);
        mobilised_after(before, slide, per_modulus, Lanes::ONE).mobilised
    }

    /// Adds the slides of the rim in a substep with this mean twist. If they reverse the slides since the last update,
    /// the nodes are updated first, because soil remembers a reversal.
    pub(super) fn add_slides(&mut self, patch: &Patch, mean: &Spatial, h: f64) {
        let reach = self.radius + patch.law.grousers;
        let turns = mean.angular().dot(self.axle);
        let ([x, z], mut fastest, mut onwards) = (self.spokes, 0.0f64, 0.0);
        let across = [mean.angular().dot(z) * reach, -mean.angular().dot(x) * reach];
        let mut slides = [Slide::default(); STRIP_COUNT];
        for (strip, own) in slides.iter_mut().enumerate() {
            let Some(Strip { arc, .. }) = self.strips[strip] else { continue };
            let velocity = mean.at(self.centre + self.axle * self.strip_offset(strip) - patch.point);
            let (ahead, down, aside) = (velocity.dot(self.forward), velocity.dot(self.down), velocity.dot(self.axle));
            *own = Slide {
                turns: -h * reach * turns,
                along: [h * velocity.dot(z), -h * velocity.dot(x)],
                aside: h * aside,
                across: across.map(|speed| h * speed),
            };
            // Slide at the lowest point, and upper bound of its difference at the ends.
            let aslant = (arc.sinkage / self.radius).min(2.0) * ahead.abs() + down.abs();
            let sideways = aside.abs() + across[0].abs() + across[1].abs();
            fastest = fastest.max((ahead - reach * turns).abs() + aslant + sideways);
            let before = &self.state.slides[strip];
            let way = z * before.along[0] - x * before.along[1];
            let bottom = (ahead - reach * turns) * (way.dot(self.forward) + before.turns);
            onwards += bottom + down * way.dot(self.down) + aside * before.aside;
        }
        if onwards < 0.0 {
            self.update_all_nodes(&patch.law);
        }
        (self.state.turned, self.state.half_turn) = (self.state.turned + h * turns, 0.5 * h * turns);
        self.state.slid += h * fastest;
        self.state.slides.iter_mut().zip(&slides).for_each(|(sum, own)| sum.add(own));
        if self.state.turned.abs() >= MAX_TURN || self.state.slid >= MAX_SLIDE * patch.law.soil.shear_modulus {
            self.update_all_nodes(&patch.law);
        }
    }

    /// Updates the effective strength of soil. The fraction `renewed` of the soil is new and has its full strength.
    pub(super) fn update_bearing(
        &mut self,
        patch: &Patch,
        twists: [&Vector6; 2],
        found: &SoilForces,
        [h, renewed]: [f64; 2],
    ) {
        if found.slides {
            self.state.bears = UNLIMITED_STRENGTHS;
            return;
        }
        let after = patch.rim.bearing_strengths(&patch.law, twists, h);
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

    /// Updates the nodes of all strips.
    pub(super) fn update_all_nodes(&mut self, law: &Law) {
        (0..STRIP_COUNT).for_each(|strip| self.update_nodes_of(law, strip));
        (self.state.turned, self.state.slid) = (0.0, 0.0);
    }

    /// Updates the mobilised fractions at each node in the soil with its slide.
    pub(super) fn update_nodes_of(&mut self, law: &Law, strip: usize) {
        let mut rim = std::mem::take(&mut self.state.rims[strip]);
        let mut live = self.state.sheared[strip];
        match self.strips[strip] {
            None => live.clear_nodes(&mut rim),
            Some(Strip { arc, .. }) => {
                // Nodes from one end of the arc to the other.
                let [low, high] = arc.ends().map(|angle| (angle - self.turned) * (1.0 / NODE_ANGLE));
                let (first, per) = (low.ceil(), 1.0 / law.soil.shear_modulus);
                let last = high.floor().min(first + (RIM_NODES - LANES) as f64);
                live.update_nodes([first, last], &mut rim, |group, parts, numbers, inside| {
                    let [x, y, most] = parts.map(Lanes::new);
                    // The wheel has advanced by half a substep since.
                    let angle = numbers * NODE_ANGLE + (self.turned - self.state.half_turn);
                    let [x, y, most] = self.mobilised_now(strip, &arc, [x, y, most], angle, self.circle[group], per);
                    *parts = [(x * inside).to_array(), (y * inside).to_array(), (most * inside).to_array()];
                });
            }
        }
        self.state.rims[strip] = rim;
        (self.state.sheared[strip], self.state.slides[strip]) = (live, Slide::default());
    }
}
