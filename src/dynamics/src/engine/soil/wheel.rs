//! A cylinder that rolls on soil: Wong and Reece's stress, sheared as far as each piece of its rim has slid.
//!
//! The rim has nodes that turn with it. Each keeps the part of the shear strength that it has mobilised since it came
//! into the soil, and the largest part that it ever had; at an even slip that is Janosi and Hanamoto's law of the slide
//! j, and at rest it holds the wheel where it stands. Along the way the soil has nodes that stay where they are, and
//! keep where its surface is: that of soil without pressure, which is deeper each time that soil yields.

mod press;
mod shear;

use bevy_math::{DMat3, DQuat, DVec3};
use serde::{Deserialize, Serialize};
use simpartner_model::Norm;

use self::{
    press::{Travel, WAY},
    shear::{GROUPS, Slide, circle},
};
use super::{
    lanes::{LANES, Lanes, sin_cos},
    patch::{Found, Patch},
    rim::{HALVES, STRIPS, Side},
    ring::Live,
    ruts::Ruts,
};
use crate::{
    RUT_CELL as CELL, SoilReading,
    engine::{algebra::spatial::Spatial, equations::damping::Vector6},
    soil::{Arc, Pressure},
};

/// Nodes and weights of Gauss and Legendre on [0, 1]: so many on each side of the peak. With the root of the distance
/// to the end as variable, forces are off by up to 2e-5 of the load on all soils that ship, at any slip.
const GAUSS: [[Lanes; 2]; HALVES] = [
    [
        Lanes::new([0.069_431_844_202_973_71, 0.330_009_478_207_571_87]),
        Lanes::new([0.173_927_422_568_726_93, 0.326_072_577_431_273_07]),
    ],
    [
        Lanes::new([0.669_990_521_792_428_1, 0.930_568_155_797_026_3]),
        Lanes::new([0.326_072_577_431_273_07, 0.173_927_422_568_726_93]),
    ],
];
/// The part of the length of its contact that a wheel has rolled back where its reading turns round: what trembles at
/// rest has one direction.
const TURNED: f64 = 0.1;
/// Up to this part of the way from the entry to the peak an elastic line lets the first place of the quadrature stand
/// near where it has it on new soil.
const SHORT: f64 = 0.005;
/// Below this, m/s, slip is no ratio of speeds: a wheel that stands slips by nothing.
const STANDS: f64 = 1e-3;
/// How far ahead of where it enters the soil the surface is looked at, m: the wheel's own rut does not reach as far.
const AHEAD: f64 = 2.0 * CELL;
/// The rut is pressed anew when the wheel has come on by this, m, or has sunk in deeper by that.
const MARKS: f64 = CELL / 16.0;
const DEEPER: f64 = 1e-5;

/// What a wheel remembers of the soil it is in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct WheelState {
    travel: Travel,
    /// 1 where its reading has it go forwards, -1 backwards.
    heading: f64,
    /// Where its centre was in the middle of the last substep; `None` where it touched nothing.
    centre: Option<DVec3>,
    /// Slip ratio, a mean over the length of its contact.
    slip: f64,
    /// How far it has come along the way, in nodes, and where the surface is at each node below each strip, m; 0 where
    /// soil is new.
    way: f64,
    surface: [Vec<[f64; LANES]>; STRIPS],
    /// How deep each strip was in the middle of the last substep, m, and whether the nodes are still to be pressed with
    /// that.
    sunk: [f64; STRIPS],
    unpressed: [bool; STRIPS],
    /// What of the strength is mobilised at each node of each strip, along the rim and across, and was at most.
    rims: [Vec<[[f64; LANES]; 3]>; STRIPS],
    /// How far its nodes have slid since then, by what angle the wheel has turned, and in half of the last substep,
    /// rad, and how long the ways were, m, at most.
    slides: [Slide; STRIPS],
    turned: f64,
    half_turn: f64,
    slid: f64,
    /// The strength that multiplies that at each place of each strip, in front of its middle and behind, at most, Pa.
    bears: [[[[f64; LANES]; 2]; HALVES]; STRIPS],
    /// Which nodes of both may be other than 0.
    pressed: [Live; STRIPS],
    sheared: [Live; STRIPS],
    /// How far it has come since the rut was pressed, and how deep each strip was then, m.
    unmarked: f64,
    marked: [f64; STRIPS],
    /// How deep the surface ahead of each strip may be, from and to, m; `None` where the strip was above all of it.
    /// Rims go over the edges of ruts: the surface neither falls away nor rises below a wheel faster than that comes
    /// on, also where it turns back onto its own rut.
    edge: Edges,
    /// What the last substep did to it; `None` where it touches nothing.
    pub(super) reading: Option<SoilReading>,
}

/// How deep the surface ahead of each strip may be, from and to, m.
pub(super) type Edges = [Option<[f64; 2]>; STRIPS];

/// A strip of it in this substep.
#[derive(Debug, Clone, Copy)]
struct Strip {
    arc: Arc,
    /// Sinkage in its plane, and how deep others left the surface ahead, m.
    sinkage: f64,
    left: f64,
    /// The part of the way from the entry to the peak on which soil that others pressed has not come to yield again;
    /// never more than half.
    elastic: f64,
}

/// A wheel, and where it is at the middle of a substep.
#[derive(Debug, Clone)]
pub(super) struct Wheel {
    radius: f64,
    half: f64,
    pub(super) state: WheelState,
    centre: DVec3,
    /// Axle, forwards, and down in its plane, unit vectors.
    axle: DVec3,
    forward: DVec3,
    down: DVec3,
    /// The angle of its first node, and where that and the one a right angle ahead are: unit vectors.
    turned: f64,
    spokes: [DVec3; 2],
    /// Cosine and sine of that angle.
    first: [f64; 2],
    /// Cosines and sines of the nodes' angles from the first.
    circle: Vec<[Lanes; 2]>,
    strips: [Option<Strip>; STRIPS],
    /// How far it has come along the way since the middle of the last substep, in radii.
    came: f64,
    /// How deep the surface ahead of each strip was taken to be, m, and how far it comes on in the substep, m.
    seen: [Option<f64>; STRIPS],
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
                surface: std::array::from_fn(|_| vec![[0.0; LANES]; WAY / LANES]),
                sunk: [0.0; STRIPS],
                unpressed: [false; STRIPS],
                rims: std::array::from_fn(|_| vec![[[0.0; LANES]; 3]; GROUPS]),
                slides: [Slide::default(); STRIPS],
                bears: BEARS,
                turned: 0.0,
                half_turn: 0.0,
                slid: 0.0,
                pressed: [Live::default(); STRIPS],
                sheared: [Live::default(); STRIPS],
                unmarked: 0.0,
                marked: [0.0; STRIPS],
                edge: [None; STRIPS],
                reading: None,
            },
            centre: DVec3::ZERO,
            axle: DVec3::Y,
            forward: DVec3::X,
            down: DVec3::NEG_Y,
            turned: 0.0,
            spokes: [DVec3::X, DVec3::Z],
            first: [1.0, 0.0],
            circle: (0..GROUPS).map(circle).collect(),
            strips: [None; STRIPS],
            came: 0.0,
            seen: [None; STRIPS],
            comes_on: 0.0,
        }
    }

    /// Whether a cylinder that stands like this rolls on a ground with this normal.
    pub(super) fn rolls(rotation: DQuat, normal: DVec3) -> bool {
        (rotation * DVec3::Y).dot(normal).abs() < std::f64::consts::FRAC_1_SQRT_2
    }

    /// Where a strip is along the axle, m.
    fn offset(&self, strip: usize) -> f64 {
        let point = self.half * (1.0 / 3.0f64).sqrt();
        if strip == 0 { -point } else { point }
    }

    /// Lays the rim's part in the soil below the plane n x = `distance`; the depth of the deepest place, m. `None` if
    /// there is none. Its centre moves by so much in the substep, m.
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
        let travel = self.state.travel.now();
        let heading = if travel < 0.0 { -1.0 } else { 1.0 };
        self.seen = [None; STRIPS];
        for strip in 0..STRIPS {
            self.strips[strip] = None;
            let base = centre + self.axle * self.offset(strip);
            let depth = distance - normal.dot(base + self.down * self.radius);
            let sinkage = depth / -self.down.dot(normal);
            if !(sinkage > 0.0) {
                continue;
            }
            let ahead = heading * (self.radius * reach(sinkage / self.radius) + AHEAD);
            let left = ruts.left(ruts.place((normal, distance), base + self.forward * ahead));
            let left = self.state.edge[strip].map_or(left, |[low, high]| left.max(low).min(high));
            self.seen[strip] = Some(left);
            if sinkage > left {
                let arc = Arc::new(self.radius, sinkage - left, travel, peak);
                let elastic = elastic_part(&patch.law.pressure, self.radius, &arc, left);
                self.strips[strip] = Some(Strip { arc, sinkage, left, elastic });
            }
        }
        patch.rim.clear(self.radius, DMat3::from_cols(self.forward, self.down, self.axle), normal);
        for strip in 0..STRIPS {
            self.lay_strip(patch, strip);
        }
        patch.close_rim(centre, self.radius)
    }

    /// Lays a strip.
    fn lay_strip(&self, patch: &mut Patch, strip: usize) {
        let Some(Strip { arc, left, elastic, .. }) = self.strips[strip] else { return };
        let places = places(elastic);
        let [linear, square] = patch.law.aside.map(|term| 0.5 * term * self.radius);
        let per_modulus = 1.0 / patch.law.soil.shear_modulus;
        // The stress falls to nothing at both ends, as some power of the distance.
        let front = |half: usize| {
            let angle = (Lanes::splat(arc.entry) - places[half][0] * (arc.entry - arc.peak)) * arc.sign;
            let sine_cosine = sin_cos(angle);
            let below = (sine_cosine[1] - (1.0 - arc.sinkage / self.radius).max(-1.0)) * self.radius;
            (angle, sine_cosine, below, patch.law.plastic(below + left))
        };
        // All of them first: none waits for the other.
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
                self.side(strip, &arc, (front, ahead), [spans[0], aside], per_modulus, [first, surfaces[0]]),
                self.side(strip, &arc, (behind, astern), [spans[1], aside], per_modulus, [second, surfaces[1]]),
            ];
            patch.rim.lay([strip, half], self.offset(strip), depths, sides);
        }
    }

    /// Two places of a strip. `angle` is in rad, with its sine and cosine; `span` is the part of the rim that a place
    /// stands for, rad; `aside` is the resistance of the soil beside the wheel, N/rad.
    #[inline(always)]
    fn side(
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
            mobilised: self.mobilised(per_modulus, strip, arc, angle, [sine, cosine]),
            aside: aside * cosine.abs() * span,
            bears,
            surface,
        }
    }

    /// Goes on to the end of a substep in which it had this mean twist about `point`, and leaves its rut.
    pub(super) fn advance(
        &mut self,
        patch: &Patch,
        [mean, change]: [&Vector6; 2],
        found: &Found,
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
        let length = (self.radius * reach(sunk / self.radius)).max(CELL);
        // What turns against its way has its front where it goes.
        let way = if rolled.abs() > travelled.abs() && rolled * travelled >= 0.0 { rolled } else { travelled };
        let turns = if rolled * way > 0.0 { (rolled / way).min(1.0) } else { 0.0 };
        self.state.travel = self.state.travel.go([way, turns], length, || self.recoil(patch, sunk));
        self.state.edge = self.edges();
        let least = STANDS * h;
        let slip = (rolled.abs() - travelled.abs()) / rolled.abs().max(travelled.abs()).max(least);
        let renewed = -libm::expm1(-way.abs() / length);
        self.state.slip += (slip.clamp(-1.0, 1.0) - self.state.slip) * renewed;
        self.turn_up(&patch.law, found.yields);
        self.bear(patch, [six, change], found, [h, renewed]);
        self.slide(patch, mean, h);
        for strip in 0..STRIPS {
            if self.strips[strip].is_none() {
                self.shear_rim(&patch.law, strip);
                self.press_way(&patch.law, strip, 0.0);
            }
        }
        self.state.unmarked += travelled;
        let deeper =
            |(strip, marked): (&Option<Strip>, &f64)| strip.is_some_and(|strip| strip.sinkage > marked + DEEPER);
        if self.state.unmarked.abs() >= MARKS || self.strips.iter().zip(&self.state.marked).any(deeper) {
            for strip in 0..STRIPS {
                let sinkage = self.strips[strip].map_or(0.0, |strip| strip.sinkage);
                self.press_way(&patch.law, strip, sinkage);
                (self.state.marked[strip], self.state.sunk[strip]) = (sinkage, sinkage);
                self.leave_rut(patch, strip, travelled, ruts);
            }
            self.state.unmarked = 0.0;
        }
    }

    /// All of it is above the ground.
    pub(super) fn leave_ground(&mut self) {
        self.seen = [None; STRIPS];
    }

    /// How deep the surface ahead may be in the next substep.
    pub(super) fn edges(&self) -> Edges {
        self.seen.map(|seen| seen.map(|left| [left - self.comes_on, left + self.comes_on]))
    }

    pub(super) fn set_edges(&mut self, edges: Edges) {
        self.state.edge = edges;
    }

    /// Presses the cells below the strip's half of the wheel, along the way since they were last.
    fn leave_rut(&self, patch: &Patch, strip: usize, travelled: f64, ruts: &mut Ruts) {
        let (surface, way) = (patch.surface(), self.state.unmarked);
        let Some(Strip { sinkage, left, .. }) = self.strips[strip] else { return };
        // Below the lowest point: the pressure is gone there.
        let left = patch.law.pressure.left_by(sinkage, left);
        let middle = self.offset(strip).signum() * 0.5 * self.half;
        let bottom = self.centre + self.axle * middle + self.down * self.radius;
        let count = |length: f64| (length / CELL).ceil().clamp(1.0, 1e3);
        let (across, along) = (count(self.half), count(way.abs()));
        let aside = self.axle * (self.half / across);
        for j in 0..along as usize {
            // It is in the middle of a substep.
            let ahead = 0.5 * travelled - way * (j as f64 + 0.5) / along;
            let first = bottom + self.forward * ahead - aside * (0.5 * (across - 1.0));
            ruts.press_row(surface, left, [first, aside], across as usize);
        }
    }

    /// Takes down what soil did to it in a substep, which is a share of its step: force and moment about the patch's
    /// point, and the force of normal stress alone.
    pub(super) fn read(
        &mut self,
        patch: &Patch,
        mean: &Spatial,
        [force, moment, pressed]: [DVec3; 3],
        share: f64,
        first: bool,
    ) {
        if self.state.travel.now() * self.state.heading < -TURNED {
            self.state.heading = -self.state.heading;
        }
        let heading = self.state.heading;
        let (forward, velocity) = (self.forward * heading, mean.at(self.centre - patch.point));
        let along = velocity.dot(forward).abs().max(STANDS);
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

    /// What soil did to it.
    pub(super) fn reading(&self) -> Option<SoilReading> {
        self.state.reading
    }

    /// Knows nothing of any soil any more.
    pub(super) fn reset(&mut self) {
        let state = &mut self.state;
        (state.slip, state.way, state.unmarked) = (0.0, 0.0, 0.0);
        (state.travel, state.heading) = (Travel::default(), 1.0);
        (state.centre, state.bears) = (None, BEARS);
        (state.marked, state.slides) = ([0.0; STRIPS], [Slide::default(); STRIPS]);
        (state.sunk, state.unpressed) = ([0.0; STRIPS], [false; STRIPS]);
        (state.turned, state.half_turn, state.slid) = (0.0, 0.0, 0.0);
        state.edge = [None; STRIPS];
        for (live, way) in state.pressed.iter_mut().zip(&mut state.surface) {
            live.clear(way);
        }
        for (live, rim) in state.sheared.iter_mut().zip(&mut state.rims) {
            live.clear(rim);
        }
    }
}

impl WheelState {
    /// False for one of another wheel.
    pub(super) fn fits(&self) -> bool {
        self.rims.iter().all(|rim| rim.len() == GROUPS)
            && self.surface.iter().all(|way| way.len() == WAY / LANES)
            && self.sheared.iter().all(|live| live.fits(GROUPS))
            && self.pressed.iter().all(|live| live.fits(WAY / LANES))
    }
}

/// All bears on what strength there is.
const BEARS: [[[[f64; LANES]; 2]; HALVES]; STRIPS] = [[[[f64::MAX; LANES]; 2]; HALVES]; STRIPS];

/// What belongs to places in front of the peak and behind it, with that ahead of the middle first; and back.
fn ahead_first<T>([front, behind]: [T; 2], arc: &Arc) -> [T; 2] {
    if arc.sign > 0.0 { [front, behind] } else { [behind, front] }
}

/// The places of the quadrature as parts of the way from the entry to the peak, and the parts of it that they stand
/// for. In a rut stress first grows along the steep `elastic` line: the first place has it where that, times all that
/// it stands for, is the sum of its line. The others are beyond.
#[inline(always)]
fn places(elastic: f64) -> [[Lanes; 2]; HALVES] {
    let beyond = 1.0 - elastic;
    let mut places = GAUSS.map(|[root, weight]| [root * root * beyond + elastic, root * weight * (2.0 * beyond)]);
    if elastic > 0.0 {
        let [part, share] = &mut places[0];
        let (own, first) = (share.to_array()[0], GAUSS[0][0].to_array()[0]);
        let stands = elastic + own;
        let middle = elastic * (0.5 * elastic + own) / stands;
        let new = first * first * (1.0 - elastic / SHORT).max(0.0);
        (part.as_mut_array()[0], share.as_mut_array()[0]) = (middle.max(new), stands);
    }
    places
}

/// The part of the way from the entry to the peak on which soil that is left at a depth, m, presses along its elastic
/// line. Where that is more than half, it falls to nothing: soil that does not yield anywhere has no kink.
fn elastic_part(pressure: &Pressure, radius: f64, arc: &Arc, left: f64) -> f64 {
    if !(left > 0.0) {
        return 0.0;
    }
    let (recoil, slope) = (pressure.at(left, 0.0).0 / pressure.elastic, pressure.exponent / left);
    let depth = recoil * (1.0 + (recoil * slope).min(1.0)) / radius;
    let (sine, cosine) = (reach(arc.sinkage / radius), 1.0 - arc.sinkage / radius);
    let angle = 2.0 * depth / (sine + (sine * sine - 2.0 * cosine * depth).max(0.0).sqrt());
    let part = angle / (arc.entry - arc.peak);
    part.min(1.0 - part).max(0.0)
}

/// The sine of the angle at which a circle of radius 1 that is so deep in enters.
fn reach(depth: f64) -> f64 {
    (depth * (2.0 - depth)).max(0.0).sqrt()
}
