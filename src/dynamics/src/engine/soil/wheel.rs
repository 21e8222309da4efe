//! A cylinder that rolls on soil: Wong and Reece's stress, with the shear that the slide of each piece of rim
//! mobilises.
//!
//! The rim has nodes that turn with it. Each node stores the fraction of the shear strength that it has mobilised since
//! it entered the soil, and the largest such fraction. At a constant slip this is Janosi and Hanamoto's law of the
//! slide j; at rest it holds the wheel in place. The soil has nodes along the way that stay in place and store the
//! depth of the relaxed surface, where the pressure is zero. It grows each time that the soil yields.

mod nodes;
mod press;
mod quadrature;
mod shear;
mod slide;
mod travel;

use bevy_math::{DMat3, DQuat, DVec3};
use serde::{Deserialize, Serialize};
use simpartner_model::Norm;

use self::{
    nodes::{NODE_GROUPS, WAY_NODES, node_directions},
    quadrature::quadrature_places,
    slide::Slide,
    travel::Travel,
};
use super::{
    lanes::{LANES, Lanes, sin_cos},
    patch::{Patch, SoilForces},
    rim::{HALF_COUNT, STRIP_COUNT, Side},
    ring::ActiveRange,
    ruts::Ruts,
};
use crate::{
    RUT_CELL as CELL, SoilReading,
    engine::{algebra::spatial::Spatial, equations::damping::Vector6},
    soil::{Arc, Pressure},
};

/// Backward travel, in contact lengths, that reverses the heading of a reading: a trembling wheel at rest keeps it.
const REVERSAL_TRAVEL: f64 = 0.1;
/// Speed below which slip is no ratio of speeds, m/s: a wheel at rest has no slip.
const STANDSTILL_SPEED: f64 = 1e-3;
/// Distance ahead of the entry at which the surface depth is sampled, m: the wheel's own rut does not reach as far.
const EDGE_LOOKAHEAD: f64 = 2.0 * CELL;
/// Advance and additional sinkage, m, after either of which the rut is pressed again.
const RUT_SPACING: f64 = CELL / 16.0;
const RUT_DEPTH_STEP: f64 = 1e-5;

/// State of a wheel in the soil.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct WheelState {
    travel: Travel,
    /// Heading of its reading: 1 forwards, -1 backwards.
    heading: f64,
    /// Position of its centre at the midpoint of the last substep; `None` where it touched nothing.
    centre: Option<DVec3>,
    /// Slip ratio, averaged over the length of its contact.
    slip: f64,
    /// Position along the way, in nodes, and depth of the relaxed surface at its nodes below each strip, m; 0 if new.
    way: f64,
    surface: [Vec<[f64; LANES]>; STRIP_COUNT],
    /// Sinkage of each strip at the midpoint of the last substep, m, and whether its nodes are still to be pressed.
    sunk: [f64; STRIP_COUNT],
    unpressed: [bool; STRIP_COUNT],
    /// Mobilised fractions at each node of each strip: along the rim, across, and the largest ever.
    rims: [Vec<[[f64; LANES]; 3]>; STRIP_COUNT],
    /// Slides of the nodes since they were last updated, the rotation of the wheel since then and in half of the last
    /// substep, rad, and an upper bound of the length of the slides, m.
    slides: [Slide; STRIP_COUNT],
    turned: f64,
    half_turn: f64,
    slid: f64,
    /// Upper limit of the strength that multiplies the mobilised fractions, Pa: at each place of each strip, ahead of
    /// the lowest point and behind.
    bears: [[[[f64; LANES]; 2]; HALF_COUNT]; STRIP_COUNT],
    /// Ranges of the nodes of the way and of the rim that may be nonzero.
    pressed: [ActiveRange; STRIP_COUNT],
    sheared: [ActiveRange; STRIP_COUNT],
    /// Advance since the rut was last pressed, and sinkage of each strip then, m.
    unmarked: f64,
    marked: [f64; STRIP_COUNT],
    /// Limits of the depth of the surface ahead of each strip, m; `None` where the strip was above all of it. The
    /// surface below a wheel neither falls nor rises faster than the wheel advances, also where it turns back onto its
    /// own rut: rims roll over the edges of ruts.
    edge: Edges,
    /// Reading of the last substep; `None` where it touches nothing.
    pub(super) reading: Option<SoilReading>,
}

/// Smallest and largest depth of the surface ahead of each strip, m.
pub(super) type Edges = [Option<[f64; 2]>; STRIP_COUNT];

/// A strip of the wheel in this substep.
#[derive(Debug, Clone, Copy)]
struct Strip {
    arc: Arc,
    /// Sinkage in the wheel's plane, and depth at which others left the surface ahead, m.
    sinkage: f64,
    left: f64,
    /// Fraction of the way from entry to peak on which soil that others pressed does not yield yet; at most half.
    elastic: f64,
}

/// A wheel, and its pose at the midpoint of a substep. Lengths in m.
#[derive(Debug, Clone)]
pub(super) struct Wheel {
    radius: f64,
    half: f64,
    pub(super) state: WheelState,
    centre: DVec3,
    /// Unit vectors: axle, forwards, and down in its plane.
    axle: DVec3,
    forward: DVec3,
    down: DVec3,
    /// Angle of its first node from down, rad, and unit vectors to that node and to the one a right angle ahead.
    turned: f64,
    spokes: [DVec3; 2],
    /// Cosine and sine of that angle.
    first: [f64; 2],
    /// Cosines and sines of the nodes' angles from the first.
    circle: Vec<[Lanes; 2]>,
    strips: [Option<Strip>; STRIP_COUNT],
    /// Advance since the midpoint of the last substep, in radii.
    came: f64,
    /// Depth of the surface ahead of each strip in this substep, m, and advance in the substep, m.
    seen: [Option<f64>; STRIP_COUNT],
    comes_on: f64,
}

impl Wheel {
    pub(super) fn new(radius: f64, half: f64) -> Self {
        Self {
            radius,
            half,
            state: WheelState {
                travel: Travel::default(),
                heading: 1.0,
                centre: None,
                slip: 0.0,
                way: 0.0,
                surface: std::array::from_fn(|_| vec![[0.0; LANES]; WAY_NODES / LANES]),
                sunk: [0.0; STRIP_COUNT],
                unpressed: [false; STRIP_COUNT],
                rims: std::array::from_fn(|_| vec![[[0.0; LANES]; 3]; NODE_GROUPS]),
                slides: [Slide::default(); STRIP_COUNT],
                bears: UNLIMITED_STRENGTHS,
                turned: 0.0,
                half_turn: 0.0,
                slid: 0.0,
                pressed: [ActiveRange::default(); STRIP_COUNT],
                sheared: [ActiveRange::default(); STRIP_COUNT],
                unmarked: 0.0,
                marked: [0.0; STRIP_COUNT],
                edge: [None; STRIP_COUNT],
                reading: None,
            },
            centre: DVec3::ZERO,
            axle: DVec3::Y,
            forward: DVec3::X,
            down: DVec3::NEG_Y,
            turned: 0.0,
            spokes: [DVec3::X, DVec3::Z],
            first: [1.0, 0.0],
            circle: (0..NODE_GROUPS).map(node_directions).collect(),
            strips: [None; STRIP_COUNT],
            came: 0.0,
            seen: [None; STRIP_COUNT],
            comes_on: 0.0,
        }
    }

    /// True if a cylinder with this rotation rolls on a ground with this normal, rather than standing on its end.
    pub(super) fn can_roll(rotation: DQuat, normal: DVec3) -> bool {
        (rotation * DVec3::Y).dot(normal).abs() < std::f64::consts::FRAC_1_SQRT_2
    }

    /// Position of a strip along the axle, m.
    fn strip_offset(&self, strip: usize) -> f64 {
        let point = self.half * (1.0 / 3.0f64).sqrt();
        if strip == 0 { -point } else { point }
    }

    /// Fills the patch with the rim's part in the soil below the plane n x = `distance`. `comes_on` is the advance in
    /// the substep, m. Returns the depth of the deepest place, m; `None` if there is none.
    pub(super) fn update_geometry(
        &mut self,
        patch: &mut Patch,
        (centre, rotation): (DVec3, DQuat),
        (normal, distance): (DVec3, f64),
        comes_on: f64,
        ruts: &Ruts,
        gravity: f64,
    ) -> Option<f64> {
        (self.centre, self.comes_on) = (centre, comes_on);
        self.spokes = [rotation * DVec3::X, rotation * DVec3::Z];
        self.axle = rotation * DVec3::Y;
        self.forward = self.axle.cross(normal).normalized();
        self.down = self.axle.cross(self.forward);
        self.first = [self.spokes[0].dot(self.down), self.spokes[0].dot(self.forward)];
        self.turned = libm::atan2(self.first[1], self.first[0]);
        self.came = self.state.centre.map_or(0.0, |before| (centre - before).dot(self.forward) / self.radius);
        let soil = &patch.law.soil;
        patch.law.pressure = Pressure::new(soil, 2.0 * self.half, self.state.slip, gravity);
        let peak = soil.peak[0] + soil.peak[1] * self.state.slip;
        let travel = self.state.travel.fraction();
        let heading = if travel < 0.0 { -1.0 } else { 1.0 };
        self.seen = [None; STRIP_COUNT];
        for strip in 0..STRIP_COUNT {
            self.strips[strip] = None;
            let base = centre + self.axle * self.strip_offset(strip);
            let depth = distance - normal.dot(base + self.down * self.radius);
            let sinkage = depth / -self.down.dot(normal);
            if !(sinkage > 0.0) {
                continue;
            }
            let ahead = heading * (self.radius * entry_sine(sinkage / self.radius) + EDGE_LOOKAHEAD);
            let left = ruts.depth_at(ruts.surface_position((normal, distance), base + self.forward * ahead));
            let left = self.state.edge[strip].map_or(left, |[low, high]| left.max(low).min(high));
            self.seen[strip] = Some(left);
            if sinkage > left {
                let arc = Arc::new(self.radius, sinkage - left, travel, peak);
                let elastic = elastic_part(&patch.law.pressure, self.radius, &arc, left);
                self.strips[strip] = Some(Strip { arc, sinkage, left, elastic });
            }
        }
        patch.rim.clear(self.radius, DMat3::from_cols(self.forward, self.down, self.axle), normal);
        for strip in 0..STRIP_COUNT {
            self.fill_strip(patch, strip);
        }
        patch.finish_rim(centre, self.radius)
    }

    /// Fills the patch with a strip.
    fn fill_strip(&self, patch: &mut Patch, strip: usize) {
        let Some(Strip { arc, left, elastic, .. }) = self.strips[strip] else { return };
        let places = quadrature_places(elastic);
        let [linear, square] = patch.law.aside.map(|term| 0.5 * term * self.radius);
        let per_modulus = 1.0 / patch.law.soil.shear_modulus;
        // The stress falls to zero at both ends, as some power of the distance.
        let front = |half: usize| {
            let angle = (Lanes::splat(arc.entry) - places[half][0] * (arc.entry - arc.peak)) * arc.sign;
            let sine_cosine = sin_cos(angle);
            let below = (sine_cosine[1] - (1.0 - arc.sinkage / self.radius).max(-1.0)) * self.radius;
            (angle, sine_cosine, below, patch.law.yield_pressure(below + left))
        };
        // Both are computed first, so that neither waits for the other.
        let fronts = [front(0), front(1)];
        for (half, (front, ahead, below, plastic)) in fronts.into_iter().enumerate() {
            let [part, share] = places[half];
            let behind = (Lanes::splat(arc.exit) + part * (arc.peak - arc.exit)) * arc.sign;
            let astern = sin_cos(behind);
            let aside = (below * square + linear) * below;
            let depth = below + left;
            let depths = patch.law.depths([depth, Lanes::splat(left)], plastic);
            let lower = (astern[1] - ahead[1]) * self.radius;
            let [first, second] = ahead_first(self.state.bears[strip][half], &arc).map(Lanes::new);
            let law = &patch.law;
            let surfaces = [
                self.surface_below(law, strip, &depths, ahead[0], Lanes::ZERO),
                self.surface_below(law, strip, &depths, astern[0], lower),
            ];
            let spans = [share * (arc.entry - arc.peak), share * (arc.peak - arc.exit)];
            let sides = [
                self.build_side(strip, &arc, (front, ahead), [spans[0], aside], per_modulus, [first, surfaces[0]]),
                self.build_side(strip, &arc, (behind, astern), [spans[1], aside], per_modulus, [second, surfaces[1]]),
            ];
            patch.rim.set_half([strip, half], self.strip_offset(strip), depths, sides);
        }
    }

    /// Two places of a strip. `angle` is in rad, with its sine and cosine; `span` is the angle of the rim that a place
    /// stands for, rad; `aside` is the resistance of the soil beside the wheel, N/rad.
    #[inline(always)]
    fn build_side(
        &self,
        strip: usize,
        arc: &Arc,
        (angle, [sine, cosine]): (Lanes, [Lanes; 2]),
        [span, aside]: [Lanes; 2],
        per_modulus: f64,
        [bears, surface]: [Lanes; 2],
    ) -> Side {
        Side {
            cosine,
            sine,
            area: span * (self.radius * self.half),
            mobilised: self.mobilised_at(per_modulus, strip, arc, angle, [sine, cosine]),
            aside: aside * cosine.abs() * span,
            bears,
            surface,
        }
    }

    /// Advances the state by a substep with this mean twist, half of whose change is `change`, and presses the rut.
    pub(super) fn advance(
        &mut self,
        patch: &Patch,
        [mean, change]: [&Vector6; 2],
        found: &SoilForces,
        h: f64,
        ruts: &mut Ruts,
    ) {
        let (six, mean) = (mean, &patch.twist(mean));
        let velocity = mean.at(self.centre - patch.point);
        let (travelled, rolled) = (h * velocity.dot(self.forward), h * self.radius * mean.angular().dot(self.axle));
        if self.strips.iter().all(Option::is_none) {
            self.reset();
            return;
        }
        let sunk = self.strips.iter().flatten().fold(0.0f64, |most, strip| most.max(strip.arc.sinkage));
        let length = (self.radius * entry_sine(sunk / self.radius)).max(CELL);
        // A wheel that turns against its path has its front in the direction of the path.
        let way = if rolled.abs() > travelled.abs() && rolled * travelled >= 0.0 { rolled } else { travelled };
        let turns = if rolled * way > 0.0 { (rolled / way).min(1.0) } else { 0.0 };
        self.state.travel = self.state.travel.advance([way, turns], length, || self.recoil_distance(patch, sunk));
        self.state.edge = self.next_edges();
        let least = STANDSTILL_SPEED * h;
        let slip = (rolled.abs() - travelled.abs()) / rolled.abs().max(travelled.abs()).max(least);
        let renewed = -libm::expm1(-way.abs() / length);
        self.state.slip += (slip.clamp(-1.0, 1.0) - self.state.slip) * renewed;
        self.advance_way(&patch.law, found.yields);
        self.update_bearing(patch, [six, change], found, [h, renewed]);
        self.add_slides(patch, mean, h);
        for strip in 0..STRIP_COUNT {
            if self.strips[strip].is_none() {
                self.update_nodes_of(&patch.law, strip);
                self.press_way(&patch.law, strip, 0.0);
            }
        }
        self.state.unmarked += travelled;
        let deeper = |(strip, marked): (&Option<Strip>, &f64)| {
            strip.is_some_and(|strip| strip.sinkage > marked + RUT_DEPTH_STEP)
        };
        if self.state.unmarked.abs() >= RUT_SPACING || self.strips.iter().zip(&self.state.marked).any(deeper) {
            for strip in 0..STRIP_COUNT {
                let sinkage = self.strips[strip].map_or(0.0, |strip| strip.sinkage);
                self.press_way(&patch.law, strip, sinkage);
                (self.state.marked[strip], self.state.sunk[strip]) = (sinkage, sinkage);
                self.leave_rut(patch, strip, travelled, ruts);
            }
            self.state.unmarked = 0.0;
        }
    }

    /// Marks the wheel as above the ground.
    pub(super) fn leave_ground(&mut self) {
        self.seen = [None; STRIP_COUNT];
    }

    /// Limits of the depth of the surface ahead in the next substep, m.
    pub(super) fn next_edges(&self) -> Edges {
        self.seen.map(|seen| seen.map(|left| [left - self.comes_on, left + self.comes_on]))
    }

    pub(super) fn set_edges(&mut self, edges: Edges) {
        self.state.edge = edges;
    }

    /// Presses the cells below the strip's half of the wheel, along its path since the last pressing.
    fn leave_rut(&self, patch: &Patch, strip: usize, travelled: f64, ruts: &mut Ruts) {
        let (surface, way) = (patch.ground_plane(), self.state.unmarked);
        let Some(Strip { sinkage, left, .. }) = self.strips[strip] else { return };
        // The depth without pressure below the lowest point.
        let left = patch.law.pressure.left_by(sinkage, left);
        let middle = self.strip_offset(strip).signum() * 0.5 * self.half;
        let bottom = self.centre + self.axle * middle + self.down * self.radius;
        let count = |length: f64| (length / CELL).ceil().clamp(1.0, 1e3);
        let (across, along) = (count(self.half), count(way.abs()));
        let aside = self.axle * (self.half / across);
        for j in 0..along as usize {
            // The pose is that of the midpoint of the substep.
            let ahead = 0.5 * travelled - way * (j as f64 + 0.5) / along;
            let first = bottom + self.forward * ahead - aside * (0.5 * (across - 1.0));
            ruts.deepen_row(surface, left, [first, aside], across as usize);
        }
    }

    /// Adds a substep, the fraction `share` of its step, to the reading. `[force, moment, pressed]` are force and
    /// moment about the patch's point, and the force of normal stress. `first` starts a new mean.
    pub(super) fn update_reading(
        &mut self,
        patch: &Patch,
        mean: &Spatial,
        [force, moment, pressed]: [DVec3; 3],
        share: f64,
        first: bool,
    ) {
        if self.state.travel.fraction() * self.state.heading < -REVERSAL_TRAVEL {
            self.state.heading = -self.state.heading;
        }
        let heading = self.state.heading;
        let (forward, velocity) = (self.forward * heading, mean.at(self.centre - patch.point));
        let along = velocity.dot(forward).abs().max(STANDSTILL_SPEED);
        let about_axle = moment + (patch.point - self.centre).cross(force);
        let sinkage = self.strips.iter().flatten().map(|strip| strip.sinkage).sum::<f64>();
        let inside = self.strips.iter().flatten().count();
        let before = self.state.reading.filter(|_| !first);
        let now = (inside > 0).then(|| SoilReading {
            sinkage: sinkage / inside as f64,
            slip: self.state.slip,
            slip_angle: libm::atan2(velocity.dot(self.axle), along),
            normal_force: force.dot(patch.up),
            drawbar_pull: force.dot(forward),
            lateral_force: force.dot(self.axle),
            resistance: -pressed.dot(forward),
            torque: -heading * about_axle.dot(self.axle),
        });
        self.state.reading = match (before, now) {
            (None, None) => None,
            (before, now) => Some(before.unwrap_or_default().with(&now.unwrap_or_default(), share)),
        };
    }

    /// Reading of the wheel in the last step; `None` where it touched nothing.
    pub(super) fn reading(&self) -> Option<SoilReading> {
        self.state.reading
    }

    /// Clears its state in the soil.
    pub(super) fn reset(&mut self) {
        let state = &mut self.state;
        (state.slip, state.way, state.unmarked) = (0.0, 0.0, 0.0);
        (state.travel, state.heading) = (Travel::default(), 1.0);
        (state.centre, state.bears) = (None, UNLIMITED_STRENGTHS);
        (state.marked, state.slides) = ([0.0; STRIP_COUNT], [Slide::default(); STRIP_COUNT]);
        (state.sunk, state.unpressed) = ([0.0; STRIP_COUNT], [false; STRIP_COUNT]);
        (state.turned, state.half_turn, state.slid) = (0.0, 0.0, 0.0);
        state.edge = [None; STRIP_COUNT];
        for (live, way) in state.pressed.iter_mut().zip(&mut state.surface) {
            live.clear_nodes(way);
        }
        for (live, rim) in state.sheared.iter_mut().zip(&mut state.rims) {
            live.clear_nodes(rim);
        }
    }
}

impl WheelState {
    /// False for the state of another wheel.
    pub(super) fn fits(&self) -> bool {
        self.rims.iter().all(|rim| rim.len() == NODE_GROUPS)
            && self.surface.iter().all(|way| way.len() == WAY_NODES / LANES)
            && self.sheared.iter().all(|live| live.fits_ring(NODE_GROUPS))
            && self.pressed.iter().all(|live| live.fits_ring(WAY_NODES / LANES))
    }
}

/// Full strength at all places.
const UNLIMITED_STRENGTHS: [[[[f64; LANES]; 2]; HALF_COUNT]; STRIP_COUNT] =
    [[[[f64::MAX; LANES]; 2]; HALF_COUNT]; STRIP_COUNT];

/// Swaps values in front of the peak and behind it for a wheel that goes backwards, so that the one ahead comes first.
fn ahead_first<T>([front, behind]: [T; 2], arc: &Arc) -> [T; 2] {
    if arc.sign > 0.0 { [front, behind] } else { [behind, front] }
}

/// Fraction of the way from the entry to the peak on which soil that was left at a depth, m, presses along its elastic
/// line. Above one half it decreases to zero: soil that yields nowhere has no kink.
fn elastic_part(pressure: &Pressure, radius: f64, arc: &Arc, left: f64) -> f64 {
    if !(left > 0.0) {
        return 0.0;
    }
    let (recoil, slope) = (pressure.at(left, 0.0).0 / pressure.elastic, pressure.exponent / left);
    let depth = recoil * (1.0 + (recoil * slope).min(1.0)) / radius;
    let (sine, cosine) = (entry_sine(arc.sinkage / radius), 1.0 - arc.sinkage / radius);
    let angle = 2.0 * depth / (sine + (sine * sine - 2.0 * cosine * depth).max(0.0).sqrt());
    let part = angle / (arc.entry - arc.peak);
    part.min(1.0 - part).max(0.0)
}

/// Sine of the entry angle of a circle of radius 1 at this depth.
fn entry_sine(depth: f64) -> f64 {
    (depth * (2.0 - depth)).max(0.0).sqrt()
}
