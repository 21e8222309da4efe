//! Pressing of the soil along the way of a wheel. Nodes that stay in place store the depth of the relaxed surface,
//! where all pressure is gone.
//!
//! The rim finds this surface in whichever direction it rolls, stands or slides, in front and behind by the same rule:
//! soil yields where it is pressed further, and recoils by p/k_e where the rim withdraws.

use super::{
    Strip, Wheel, entry_sine,
    nodes::{NODES_PER_RADIUS, WAY_NODES},
};
use crate::{
    engine::soil::{
        lanes::{Lanes, arcsine, at_least, floor, select_above, sin_cos},
        law::{Depths, Law},
        patch::Patch,
        rim::STRIP_COUNT,
        ring::NodePairs,
    },
    soil::Pressure,
};

/// Smallest advance in a substep that counts as rolling, m: below a wheel that stands and trembles, the soil is pressed
/// in each substep.
const MIN_ADVANCE: f64 = 1e-6;
/// Lower limit of the distance of the quadrature's front places from the peak, as a fraction of the angle from the peak
/// to the entry: half of 0.134, where half of that angle does not yield yet.
const MIN_PEAK_DISTANCE: f64 = 0.065;

impl Wheel {
    /// Advances along the way. Presses the nodes where a strip was before, except while it rolls on and everything in
    /// front of its peak goes deeper: there soil yields, and its present depth suffices.
    pub(super) fn advance_way(&mut self, law: &Law, yields: bool) {
        let travelled = self.came * self.radius;
        for strip in 0..STRIP_COUNT {
            let Some(Strip { arc, sinkage, .. }) = self.strips[strip] else { continue };
            let (sunk, slope) = (self.state.sunk[strip], arc.peak + MIN_PEAK_DISTANCE * (arc.entry - arc.peak));
            let ahead = travelled * arc.sign;
            let goes_deeper = ahead > MIN_ADVANCE && sinkage + ahead * slope >= sunk;
            if self.state.unpressed[strip] && !goes_deeper {
                self.press_way(law, strip, sunk);
            }
            (self.state.sunk[strip], self.state.unpressed[strip]) = (sinkage, yields);
        }
        let (way, count) = (self.state.way + self.came * NODES_PER_RADIUS, WAY_NODES as f64);
        self.state.way = way - (way / count).floor() * count;
        (self.state.centre, self.came) = (Some(self.centre), 0.0);
    }

    /// Distance that a wheel at this sinkage turns back until the soil that it pressed ahead has unloaded, m. That soil
    /// recoils by p/k_e, and the rim rises from it as steeply as it descends there.
    pub(super) fn recoil_distance(&self, patch: &Patch, sunk: f64) -> f64 {
        let Pressure { elastic, .. } = patch.law.pressure;
        (patch.law.pressure.at(sunk, 0.0).0 / (elastic * entry_sine(sunk / self.radius))).max(MIN_ADVANCE)
    }

    /// Depth of the relaxed surface of soil at this many radii ahead of the last centre, m; 0 where it is new. Between
    /// nodes it is curved like the rim: linear interpolation would have an error larger than the elastic recoil of
    /// pressed soil.
    #[inline(always)]
    pub(super) fn surface_depth(&self, strip: usize, ahead: Lanes) -> Lanes {
        let place = ahead * NODES_PER_RADIUS + self.state.way;
        let below = floor(place);
        let [one, other] = NodePairs::new::<WAY_NODES>(below).values(&self.state.surface[strip]);
        // Depth of the rim's lowest point if the rim touched these nodes.
        let part = place - below;
        let rise = |way: Lanes| self.rim_height(ahead + way * (1.0 / NODES_PER_RADIUS));
        let (low, high) = (one + rise(-part), other + rise(Lanes::ONE - part));
        let surface = low + (high - low) * part - self.rim_height(ahead);
        select_above(one.fast_min(other), Lanes::ZERO, surface, Lanes::ZERO)
    }

    /// Depth of the relaxed surface below places at this many radii ahead of the centre, as a depth that counts for the
    /// pressure: `lower` is the difference of both depths, m.
    #[inline(always)]
    pub(super) fn surface_below(&self, law: &Law, strip: usize, depths: &Depths, ahead: Lanes, lower: Lanes) -> Lanes {
        let ahead = ahead + self.came;
        let surface = self.surface_depth(strip, ahead) - lower;
        if !self.state.unpressed[strip] {
            return surface;
        }
        // The wheel at the midpoint of the last substep.
        let deepest = Lanes::splat(self.state.sunk[strip]) - self.rim_height(ahead) - lower;
        surface.fast_max(law.relaxed_surface(depths, deepest))
    }

    /// Height of the rim at this many radii ahead of its bottom, m.
    pub(super) fn rim_height(&self, ahead: Lanes) -> Lanes {
        circle_height(ahead) * self.radius
    }

    /// Presses the nodes of the way below a strip with this sinkage, m, and clears the others.
    pub(super) fn press_way(&mut self, law: &Law, strip: usize, sinkage: f64) {
        self.state.unpressed[strip] = false;
        let (radius, way) = (self.radius, self.state.way);
        let (nodes, live) = (&mut self.state.surface[strip], &mut self.state.pressed[strip]);
        let Some(Strip { arc, left, .. }) = self.strips[strip] else { return live.clear_nodes(nodes) };
        // The same distance ahead and behind.
        let reach = entry_sine((arc.sinkage / radius).min(1.0)) * NODES_PER_RADIUS;
        let (first, last) = ((way - reach).ceil(), (way + reach).floor());
        let behind = (arc.entry - arc.peak) / (arc.peak - arc.exit).max(f64::MIN_POSITIVE);
        let lowest = (1.0 - arc.sinkage / radius).max(-1.0);
        live.update_nodes([first, last], nodes, |_, nodes, numbers, inside| {
            let ahead = (numbers - way) * (1.0 / NODES_PER_RADIUS);
            let depth = at_least(Lanes::splat(sinkage) - circle_height(ahead) * radius, left);
            // The angle in front of the peak that has the same stress.
            let angle = arcsine(ahead) * arc.sign;
            let same = Lanes::splat(arc.entry) - at_least(angle - arc.exit, 0.0) * behind;
            let [_, cosine] = sin_cos(same.fast_min(Lanes::splat(arc.entry)));
            let other = at_least((cosine - lowest) * radius, 0.0) + left;
            let counts = select_above(Lanes::splat(arc.peak), angle, other, depth);
            let stress = law.yield_pressure(at_least(counts, f64::MIN_POSITIVE));
            let pressed = at_least(depth - stress * (1.0 / law.pressure.elastic), left);
            *nodes = (Lanes::new(*nodes).fast_max(pressed) * inside).to_array();
        });
    }
}

/// Height of a circle of radius 1 at this distance from its bottom.
fn circle_height(ahead: Lanes) -> Lanes {
    Lanes::ONE - at_least(Lanes::ONE - ahead * ahead, 0.0).sqrt()
}
