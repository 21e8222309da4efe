//! A cylinder that rolls on soil: Wong and Reece's stress, sheared as far as each piece of its rim has slid.
//!
//! The rim has nodes that turn with it. Each keeps the part of the shear strength that it has mobilised since it came into the soil;
//! at an even slip that is Janosi and Hanamoto's law of the slide j, and at rest it holds the wheel where it stands. Along the way the soil
//! has nodes that stay where they are, and keep how deep they were pressed.

use bevy_math::{BVec4, DQuat, DVec3, DVec4};
use serde::{Deserialize, Serialize};

use super::{
    lanes::{LANES, Vectors, power, select, sin_cos, sqrt},
    patch::{Elements, Patch, mobilise_four},
    ruts::{self, Ruts},
};
use crate::{
    RUT_CELL as CELL, SoilReading,
    engine::spatial::Spatial,
    soil::{Arc, Pressure, bulldozing_terms},
};

/// Nodes around the rim: between them shear stress is linear, which at a degree is right to 1e-3 of it on the stiffest soils.
const NODES: usize = 360;
const GROUPS: usize = NODES / LANES;
const STEP: f64 = std::f64::consts::TAU / NODES as f64;
/// Nodes along the way, so many for each radius, and in all: the wheel is over half of them at most.
const NODES_A_RADIUS: f64 = 32.0;
const WAY: usize = 128;
/// Strips along the width, at Gauss's points, so that a wheel that leans has the right moment.
const STRIPS: usize = 2;
/// Nodes and weights of Gauss and Legendre on [0, 1]: so many on each side of the peak. With the root of the distance to the end as variable,
/// forces are off by up to 2e-5 of the load on all soils that ship, at any slip.
const GAUSS: [[f64; LANES]; 2] = [
    [0.069_431_844_202_973_71, 0.330_009_478_207_571_87, 0.669_990_521_792_428_1, 0.930_568_155_797_026_3],
    [0.173_927_422_568_726_93, 0.326_072_577_431_273_07, 0.326_072_577_431_273_07, 0.173_927_422_568_726_93],
];
/// Below this, m/s, slip is no ratio of speeds: a wheel that stands slips by nothing.
const STANDS: f64 = 1e-3;
/// How far ahead of where it enters the soil the surface is looked at, m: the wheel's own rut does not reach as far.
const AHEAD: f64 = 2.0 * CELL;

/// What a wheel remembers of the soil it is in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct WheelState {
    /// 1 where it has rolled forwards by the length of its contact, -1 backwards, 0 where it was let down.
    travel: f64,
    /// Slip ratio, a mean over the length of its contact.
    slip: f64,
    /// How far it has come along the way, in nodes, and the deepest that each strip pressed each node, m; 0 where it touches nothing.
    way: f64,
    deepest: [Vec<[f64; LANES]>; STRIPS],
    /// The mobilised part of the strength at each node of each strip, along the rim and across.
    rims: [[Vec<[f64; LANES]>; 2]; STRIPS],
    /// What the last substep did to it; `None` where it touches nothing.
    pub(super) reading: Option<SoilReading>,
}

/// A strip of it in this substep.
#[derive(Debug, Clone, Copy)]
struct Strip {
    arc: Arc,
    /// Sinkage in its plane, and how deep others left the surface ahead, m.
    sinkage: f64,
    left: f64,
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
    /// Cosines and sines of the nodes' angles from the first.
    circle: Vec<[DVec4; 2]>,
    strips: [Option<Strip>; STRIPS],
}

impl Wheel {
    pub(super) fn new(radius: f64, half: f64) -> Self {
        Self {
            radius,
            half,
            state: WheelState {
                travel: 0.0,
                slip: 0.0,
                way: 0.0,
                deepest: std::array::from_fn(|_| vec![[0.0; LANES]; WAY / LANES]),
                rims: std::array::from_fn(|_| std::array::from_fn(|_| vec![[0.0; LANES]; GROUPS])),
                reading: None,
            },
            centre: DVec3::ZERO,
            axle: DVec3::Y,
            forward: DVec3::X,
            down: DVec3::NEG_Y,
            turned: 0.0,
            spokes: [DVec3::X, DVec3::Z],
            circle: (0..GROUPS).map(circle).collect(),
            strips: [None; STRIPS],
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

    /// Lays the elements of what is in the soil below the plane n x = `distance`.
    pub(super) fn lay(
        &mut self,
        patch: &mut Patch,
        (centre, rotation): (DVec3, DQuat),
        (normal, distance): (DVec3, f64),
        ruts: &Ruts,
        gravity: f64,
    ) {
        self.centre = centre;
        self.axle = rotation * DVec3::Y;
        self.forward = self.axle.cross(normal).normalize();
        self.down = self.axle.cross(self.forward);
        patch.axle = Some([self.axle, centre]);
        self.spokes = [rotation * DVec3::X, rotation * DVec3::Z];
        self.turned = libm::atan2(self.spokes[0].dot(self.forward), self.spokes[0].dot(self.down));
        let soil = patch.soil;
        patch.pressure = Pressure::new(&soil, 2.0 * self.half, self.state.slip, gravity);
        let peak = soil.peak[0] + soil.peak[1] * self.state.slip.abs();
        let heading = if self.state.travel < 0.0 { -1.0 } else { 1.0 };
        self.strips = std::array::from_fn(|strip| {
            let base = centre + self.axle * self.offset(strip);
            let depth = distance - normal.dot(base + self.down * self.radius);
            let sinkage = depth / -self.down.dot(normal);
            if !(sinkage > 0.0) {
                return None;
            }
            let entry = Arc::new(self.radius, sinkage, 1.0, 0.0).entry();
            let ahead = heading * (self.radius * libm::sin(entry) + AHEAD);
            let left = ruts.left(ruts::place((normal, distance), base + self.forward * ahead));
            let arc = Arc::new(self.radius, sinkage - left, self.state.travel, peak);
            (sinkage > left).then_some(Strip { arc, sinkage, left })
        });
        let aside = bulldozing_terms(&soil, gravity).map(|term| 0.5 * term * self.radius);
        for strip in 0..STRIPS {
            self.lay_strip(patch, strip, aside);
        }
    }

    /// Lays the elements of a strip; `aside` are half of what a face puts up against being pushed aside, for each radian of the rim, as
    /// factors of its depth and of the square of that.
    fn lay_strip(&self, patch: &mut Patch, strip: usize, aside: [f64; 2]) {
        let Some(Strip { arc, left, .. }) = self.strips[strip] else { return };
        let [roots, weights] = GAUSS.map(DVec4::from_array);
        // The stress falls to nothing at both ends, as some power of the distance.
        let (part, share) = (roots * roots, roots * weights * 2.0);
        let same = DVec4::splat(arc.entry) - part * (arc.entry - arc.peak);
        let behind = DVec4::splat(arc.exit) + part * (arc.peak - arc.exit);
        let base = Vectors::splat(self.centre + self.axle * self.offset(strip));
        let outward = |[sine, cosine]: [DVec4; 2]| Vectors::blend([self.down, self.forward], [cosine, sine]);
        let (ahead, astern) = (sin_cos(same * arc.sign), sin_cos(behind * arc.sign));
        let below = (ahead[1] - (1.0 - arc.sinkage / self.radius).max(-1.0)) * self.radius;
        let face = Vectors::default() - outward(ahead);
        let deepest = self.deepest(strip, ahead[0]);
        let aside = (below * aside[1] + aside[0]) * below;
        for (angle, [sine, cosine], span) in
            [(behind, astern, arc.peak - arc.exit), (same, ahead, arc.entry - arc.peak)]
        {
            let (out, span) = (outward([sine, cosine]), share * span);
            let mut mobilised = [DVec4::ZERO; 2];
            for lane in 0..LANES {
                let [along, across] = self.mobilised(strip, &arc, arc.sign * angle[lane]);
                (mobilised[0][lane], mobilised[1][lane]) = (along, across);
            }
            let tangent = Vectors::blend([self.forward, self.down], [cosine, -sine]);
            patch.elements.push(Elements {
                point: base + out.times(DVec4::splat(self.radius)),
                normal: Vectors::default() - out,
                face,
                tangents: [tangent, Vectors::splat(self.axle)],
                area: span * (self.radius * self.half),
                depth: below + left,
                deepest,
                left: DVec4::splat(left),
                mobilised,
                side: aside * cosine.abs() * span,
                ..Elements::default()
            });
        }
    }

    /// The mobilised part of the strength at an angle: between two nodes, or between one and where soil that is not sheared comes in.
    fn mobilised(&self, strip: usize, arc: &Arc, angle: f64) -> [f64; 2] {
        let rim = |node: usize| self.state.rims[strip].each_ref().map(|rim| rim[node / LANES][node % LANES]);
        let place = (angle - self.turned) / STEP;
        let below = floor(place);
        let ([one, other], part) = ([node(below, NODES), node(below + 1.0, NODES)], place - below);
        let angles = [angle - part * STEP, angle + (1.0 - part) * STEP];
        let entry = arc.comes_in_at();
        match angles.map(|angle| arc.touches(angle)) {
            [true, false] if entry > 0.0 => fade(rim(one), (entry - angle) / (entry - angles[0])),
            [false, true] if entry < 0.0 => fade(rim(other), (angle - entry) / (angles[1] - entry)),
            [true, false] => rim(one),
            [false, true] => rim(other),
            _ => {
                let (one, other) = (rim(one), rim(other));
                [0, 1].map(|k| one[k] + (other[k] - one[k]) * part)
            }
        }
    }

    /// Goes on to the end of a substep in which it had this mean twist about `point`, and leaves its rut.
    pub(super) fn advance(&mut self, patch: &Patch, mean: &Spatial, h: f64, ruts: &mut Ruts) {
        let velocity = mean.at(self.centre - patch.point);
        let (travelled, rolled) = (h * velocity.dot(self.forward), h * self.radius * mean.angular.dot(self.axle));
        if self.strips.iter().all(Option::is_none) {
            self.forget();
            return;
        }
        let deepest = self.strips.iter().flatten().fold(0.0f64, |most, strip| most.max(strip.arc.entry()));
        let length = (self.radius * libm::sin(deepest)).max(CELL);
        let way = if rolled.abs() > travelled.abs() { rolled } else { travelled };
        self.state.travel = (self.state.travel + way / length).clamp(-1.0, 1.0);
        let least = STANDS * h;
        let slip = (rolled.abs() - travelled.abs()) / rolled.abs().max(travelled.abs()).max(least);
        self.state.slip += (slip.clamp(-1.0, 1.0) - self.state.slip) * -libm::expm1(-way.abs() / length);
        let count = WAY as f64;
        let way = self.state.way + travelled / self.radius * NODES_A_RADIUS;
        self.state.way = way - (way / count).floor() * count;
        for strip in 0..STRIPS {
            self.shear_rim(patch, strip, mean, h);
            self.press_way(strip);
        }
        // What is left below the lowest points: the pressure is gone there.
        let deepest = |strip| self.deepest(strip, DVec4::ZERO).x;
        let deepest = DVec4::new(deepest(0), deepest(1), 1.0, 1.0);
        let plastic = power(deepest.max(DVec4::splat(f64::MIN_POSITIVE)), patch.pressure.exponent);
        for strip in 0..STRIPS {
            if let Some(Strip { left, .. }) = self.strips[strip] {
                let pressed = plastic[strip] * patch.pressure.modulus / patch.pressure.elastic;
                self.leave_rut(patch, strip, (deepest[strip] - pressed).max(left), travelled, ruts);
            }
        }
    }

    /// How deep the soil was pressed so many radii ahead of the axle, m. Between nodes it is as round as the rim: straight lines between
    /// them would be off by more than pressed soil gives way.
    fn deepest(&self, strip: usize, ahead: DVec4) -> DVec4 {
        let place = ahead * NODES_A_RADIUS + self.state.way;
        let below = DVec4::from_array(place.to_array().map(floor));
        let depth = |number: f64| {
            let node = node(number, WAY);
            self.state.deepest[strip][node / LANES][node % LANES]
        };
        let [one, other] = [below, below + 1.0].map(|node| DVec4::from_array(node.to_array().map(depth)));
        // How deep the rim would be at its bottom if it were as deep as the nodes there.
        let part = place - below;
        let [low, high] = [-part, DVec4::ONE - part].map(|way| self.rise(ahead + way * (1.0 / NODES_A_RADIUS)));
        let (low, high) = (one + low, other + high);
        let deepest = low + (high - low) * part - self.rise(ahead);
        let pressed = one.cmpgt(DVec4::ZERO) & other.cmpgt(DVec4::ZERO);
        select(pressed, deepest, DVec4::ZERO)
    }

    /// How much higher the rim is so many radii ahead of its bottom, m.
    fn rise(&self, ahead: DVec4) -> DVec4 {
        rise(ahead) * self.radius
    }

    /// Presses the nodes of the way that are below the wheel, and forgets the others.
    fn press_way(&mut self, strip: usize) {
        let (under, radius) = (self.strips[strip], self.radius);
        let nodes = &mut self.state.deepest[strip];
        let Some(Strip { arc, sinkage, left }) = under else { return nodes.fill([0.0; LANES]) };
        // As far ahead as behind.
        let reach = libm::sin(arc.entry().min(std::f64::consts::FRAC_PI_2)) * NODES_A_RADIUS;
        let (first, last) = ((self.state.way - reach).ceil(), (self.state.way + reach).floor());
        let others = visit_groups([first, last], WAY / LANES, |group, numbers, inside| {
            let ahead = (numbers - self.state.way) * (1.0 / NODES_A_RADIUS);
            let depth = (DVec4::splat(sinkage) - rise(ahead) * radius).max(DVec4::splat(left));
            let deepest = DVec4::from_array(nodes[group]).max(depth);
            nodes[group] = select(inside, deepest, DVec4::ZERO).to_array();
        });
        others.into_iter().for_each(|others| nodes[others].fill([0.0; LANES]));
    }

    /// Shears the soil at each node in it.
    fn shear_rim(&mut self, patch: &Patch, strip: usize, mean: &Spatial, h: f64) {
        let arc = self.strips[strip].map(|strip| strip.arc);
        let base = self.centre + self.axle * self.offset(strip) - patch.point;
        let (velocity, reach) = (mean.at(base), self.radius + patch.grousers);
        let time = h / patch.soil.shear_modulus;
        let rim = &mut self.state.rims[strip];
        let Some([low, high]) = arc.map(|arc| arc.ends()) else {
            return rim.iter_mut().for_each(|part| part.fill([0.0; LANES]));
        };
        // Along the rim and across, of nodes at the angles 0 and 90 degrees from the first, and of all.
        let [x, z] = self.spokes;
        let (turns, along) = (-reach * mean.angular.dot(self.axle), [velocity.dot(z), -velocity.dot(x)]);
        let (aside, across) = (velocity.dot(self.axle), [mean.angular.dot(z) * reach, -mean.angular.dot(x) * reach]);
        // The nodes from the one end to the other, and all the rest.
        let first = ((low - self.turned) / STEP).ceil();
        let last = ((high - self.turned) / STEP).floor().min(first + (NODES - LANES) as f64);
        let others = visit_groups([first, last], GROUPS, |group, _, inside| {
            let [cosine, sine] = self.circle[group];
            let slide = [cosine * along[0] + sine * along[1] + turns, cosine * across[0] + sine * across[1] + aside];
            let speed = sqrt(slide[0] * slide[0] + slide[1] * slide[1]);
            let parts = [0, 1].map(|part| DVec4::from_array(rim[part][group]));
            let parts = mobilise_four(parts, slide, speed, time).map(|part| select(inside, part, DVec4::ZERO));
            (rim[0][group], rim[1][group]) = (parts[0].to_array(), parts[1].to_array());
        });
        for others in others {
            rim.iter_mut().for_each(|part| part[others.clone()].fill([0.0; LANES]));
        }
    }

    /// Presses the cells below the strip's half of the wheel, along the way of the step.
    fn leave_rut(&self, patch: &Patch, strip: usize, left: f64, travelled: f64, ruts: &mut Ruts) {
        let surface = patch.surface();
        let middle = self.offset(strip).signum() * 0.5 * self.half;
        let bottom = self.centre + self.axle * middle + self.down * self.radius;
        let count = |length: f64| (length / CELL).ceil().clamp(1.0, 1e3);
        let (across, along) = (count(self.half), count(travelled.abs()));
        for j in 0..along as usize {
            let ahead = travelled * ((j as f64 + 0.5) / along - 0.5);
            let places = (0..across as usize).map(|i| {
                let aside = self.half * ((i as f64 + 0.5) / across - 0.5);
                ruts::place(surface, bottom + self.axle * aside + self.forward * ahead)
            });
            ruts.press_all(places, left);
        }
    }

    /// Takes down what soil did to it in a substep, which is a share of its step: force and moment about the patch's point, and the force of
    /// normal stress alone.
    pub(super) fn read(
        &mut self,
        patch: &Patch,
        mean: &Spatial,
        [force, moment, pressed]: [DVec3; 3],
        share: f64,
        first: bool,
    ) {
        let heading = if self.state.travel < 0.0 { -1.0 } else { 1.0 };
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
    pub(super) fn forget(&mut self) {
        let state = &mut self.state;
        (state.travel, state.slip, state.way) = (0.0, 0.0, 0.0);
        state.deepest.iter_mut().for_each(|way| way.fill([0.0; LANES]));
        state.rims.iter_mut().flatten().for_each(|rim| rim.fill([0.0; LANES]));
    }
}

impl WheelState {
    /// False for one of another wheel.
    pub(super) fn fits(&self) -> bool {
        self.rims.iter().flatten().all(|rim| rim.len() == GROUPS)
            && self.deepest.iter().all(|way| way.len() == WAY / LANES)
    }
}

/// Visits the groups of nodes in a ring that have any from the first to the last, with the numbers of their nodes and which of these are in
/// between; the other groups are the one or two ranges that are returned.
fn visit_groups(
    [first, last]: [f64; 2],
    groups: usize,
    mut visit: impl FnMut(usize, DVec4, BVec4),
) -> [std::ops::Range<usize>; 2] {
    let begin = floor(first / LANES as f64);
    let count = (floor(last / LANES as f64) - begin + 1.0).clamp(0.0, groups as f64) as usize;
    let (place, range) = (node(begin, groups), [first, last].map(DVec4::splat));
    let around = |k: usize| if k < groups { k } else { k - groups };
    for k in 0..count {
        let numbers = DVec4::new(0.0, 1.0, 2.0, 3.0) + (begin + k as f64) * LANES as f64;
        visit(around(place + k), numbers, numbers.cmpge(range[0]) & numbers.cmple(range[1]));
    }
    let end = place + count;
    if end <= groups { [0..place, end..groups] } else { [end - groups..place, 0..0] }
}

/// How much higher a circle of radius 1 is so far from its bottom.
fn rise(ahead: DVec4) -> DVec4 {
    DVec4::ONE - sqrt((DVec4::ONE - ahead * ahead).max(DVec4::ZERO))
}

/// Cosines and sines of the angles of four nodes.
fn circle(group: usize) -> [DVec4; 2] {
    let angles: [f64; LANES] = std::array::from_fn(|lane| (group * LANES + lane) as f64 * STEP);
    [angles.map(libm::cos), angles.map(libm::sin)].map(DVec4::from_array)
}

/// The largest whole number that is not above another, of less than 2^63.
fn floor(x: f64) -> f64 {
    let whole = x as i64 as f64;
    if whole > x { whole - 1.0 } else { whole }
}

/// The place of a node in a ring: it is less than once around below the first or beyond the last, as a rule.
fn node(number: f64, count: usize) -> usize {
    let (number, count) = (number as i64, count as i64);
    let once = if number < 0 { number + count } else { number - count };
    let place = if (0..count).contains(&number) { number } else { once };
    let place = if (0..count).contains(&place) { place } else { place.rem_euclid(count) };
    place as usize
}

fn fade(part: [f64; 2], share: f64) -> [f64; 2] {
    part.map(|part| part * share.clamp(0.0, 1.0))
}
