//! How soil presses back on the part of a shape that is in it, at the middle of a substep.

use bevy_math::{BVec4, DVec3, DVec4};
use simpartner_model::Soil;

use super::lanes::{LANES, Vectors, gone, power, select, sqrt};
use crate::{
    engine::{
        resistance::{Response, Six},
        spatial::Spatial,
    },
    soil::Pressure,
};

/// Soil that holds still damps slides slower than this, m/s, in proportion, and faster ones with no more than that: below a thousandth
/// of its strength.
const CREEP: f64 = 1e-4;
/// The vertical part of a face, at least: a wheel that is in the soil with more than its radius has faces that look upwards.
const LEAST_SHARE: f64 = 0.1;
/// Depths that differ by less than this part have pressures by four terms of the binomial series: the next is below 1e-8 of them.
const NEAR: f64 = 0.02;

/// A piece of the surface between a shape and soil.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element {
    /// World frame, m.
    pub(super) point: DVec3,
    /// Where the pressure pushes the shape.
    pub(super) normal: DVec3,
    /// The normal of the face that soil is let up along when the shape moves: of a rim that of the place that has the same stress in front of
    /// the peak.
    pub(super) face: DVec3,
    /// Two unit vectors across, along which it is sheared.
    pub(super) tangents: [DVec3; 2],
    /// m².
    pub(super) area: f64,
    /// Depth that counts for its pressure, below the surface that was there at first; how deep the shape was there before; how deep others
    /// left it; m.
    pub(super) depth: f64,
    pub(super) deepest: f64,
    pub(super) left: f64,
    /// Shear stress along the tangents, against the slide, as a part of the strength.
    pub(super) mobilised: [f64; 2],
    /// The largest force with which a side resists being pushed along the second tangent, N.
    pub(super) side: f64,
}

/// Four elements. Those that are none have no area.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Elements {
    pub(super) point: Vectors,
    pub(super) normal: Vectors,
    pub(super) face: Vectors,
    pub(super) tangents: [Vectors; 2],
    pub(super) area: DVec4,
    pub(super) depth: DVec4,
    pub(super) deepest: DVec4,
    pub(super) left: DVec4,
    pub(super) mobilised: [DVec4; 2],
    pub(super) side: DVec4,
    /// What follows from these.
    pub(super) derived: Derived,
}

/// k zⁿ at the depth of four elements, the vertical part of their faces, from the patch's point to them and to where soil is sheared,
/// and the moments of the rows of how fast they sink and how fast they press on their faces, over the patch's size.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Derived {
    plastic: DVec4,
    share: DVec4,
    lever: Vectors,
    arm: Vectors,
    sinks: Vectors,
    presses: Vectors,
}

/// What presses on four elements.
struct Stress {
    /// Pa; 0 where nothing does.
    stress: DVec4,
    presses: BVec4,
    /// Where soil yields, how its pressure grows with depth, Pa/m; elsewhere 0.
    slope: DVec4,
    /// Whether it was pressed as deep before.
    holds: BVec4,
}

/// A shape's part in the soil.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Patch {
    pub(super) soil: Soil,
    /// The tangent of its angle of friction.
    friction: f64,
    pub(super) pressure: Pressure,
    pub(super) elements: Vec<Elements>,
    count: usize,
    /// The sum of the areas, m², each times the square of its row of pressing.
    spread: f64,
    /// The point that its wrench is about, world frame; and a length of the size of the patch, m.
    pub(in crate::engine) point: DVec3,
    pub(in crate::engine) size: f64,
    /// Normal of the ground.
    pub(in crate::engine) up: DVec3,
    /// How far along it the plane of the surface is from the origin, m.
    distance: f64,
    /// Unit vector along the axle of what rolls, and a point of it: turning about that, it sinks no deeper.
    pub(super) axle: Option<[DVec3; 2]>,
    /// How far grousers reach beyond the surface, m: soil is sheared there.
    pub(super) grousers: f64,
    /// What the shape has put into the soil and may have back, J; where it does not roll, no more than the stresses hold.
    pub(super) held: f64,
}

/// The sums over all elements.
#[derive(Default)]
struct Sums {
    force: DVec3,
    moment: DVec3,
    /// The force of normal stress in it.
    pressed: DVec3,
    matrix: [Six; 6],
}

impl Patch {
    /// A patch without elements, of a shape whose grousers reach so far beyond its surface, m.
    pub(super) fn new(soil: Soil, grousers: f64) -> Self {
        Self {
            soil,
            friction: libm::tan(soil.friction_angle),
            pressure: Pressure { modulus: 0.0, exponent: 1.0, elastic: soil.elastic_stiffness },
            elements: Vec::new(),
            count: 0,
            spread: 0.0,
            point: DVec3::ZERO,
            size: 1.0,
            up: DVec3::Y,
            distance: 0.0,
            axle: None,
            grousers,
            held: 0.0,
        }
    }

    /// Begins anew on a ground with this normal.
    pub(super) fn clear(&mut self, (up, distance): (DVec3, f64)) {
        self.elements.clear();
        (self.count, self.up, self.distance) = (0, up, distance);
    }

    /// The plane of the surface: its normal and distance.
    pub(super) fn surface(&self) -> (DVec3, f64) {
        (self.up, self.distance)
    }

    pub(super) fn push(&mut self, element: &Element) {
        let lane = self.count % LANES;
        if lane == 0 {
            // What is none has numbers that are harmless.
            let none = Vectors::splat(self.up);
            self.elements.push(Elements { normal: none, face: none, depth: DVec4::ONE, ..Elements::default() });
        }
        self.count += 1;
        let Some(elements) = self.elements.last_mut() else { return };
        elements.point.set(lane, element.point);
        elements.normal.set(lane, element.normal);
        elements.face.set(lane, element.face);
        elements.area[lane] = element.area;
        elements.depth[lane] = element.depth;
        elements.deepest[lane] = element.deepest;
        elements.left[lane] = element.left;
        elements.side[lane] = element.side;
        for k in 0..2 {
            elements.tangents[k].set(lane, element.tangents[k]);
            elements.mobilised[k][lane] = element.mobilised[k];
        }
    }

    /// Works out what follows from its elements; the depth of the deepest, m. `None` if there are none.
    pub(super) fn close(&mut self) -> Option<f64> {
        let (mut area, mut point, mut deepest) = (DVec4::ZERO, Vectors::default(), DVec4::ZERO);
        for four in &self.elements {
            area += four.area;
            point = point + four.point.times(four.area);
            deepest = deepest.max(select(four.area.cmpgt(DVec4::ZERO), four.depth, DVec4::ZERO));
        }
        let area = area.element_sum();
        if !(area > 0.0) {
            return None;
        }
        self.point = point.sum() / area;
        self.size = area.sqrt();
        let (up, reach) = (Vectors::splat(self.up), DVec4::splat(self.grousers));
        let (about, per) = (Vectors::splat(self.point), DVec4::splat(1.0 / self.size));
        let axle = self.axle.map(|[axle, centre]| (axle, Vectors::splat(axle), Vectors::splat(centre)));
        let (mut depth, mut plastic, mut spread) = (DVec4::ZERO, DVec4::ZERO, DVec4::ZERO);
        for four in &mut self.elements {
            // A wheel has the same depths on both sides of its peak.
            if four.depth != depth {
                depth = four.depth;
                plastic = power(depth, self.pressure.exponent) * self.pressure.modulus;
            }
            let lever = four.point - about;
            // The row of how fast a point moves along a direction, but for what turning about the axle does.
            let row = |direction: Vectors, point: Vectors| {
                let moment = lever.cross(direction);
                let Some((axle, axles, centre)) = axle else { return moment.times(per) };
                (moment - axles.times((point - centre).cross(direction).along(axle))).times(per)
            };
            four.derived = Derived {
                plastic,
                share: four.face.along(self.up).max(DVec4::splat(LEAST_SHARE)),
                lever,
                arm: lever - four.normal.times(reach),
                sinks: row(up, four.point),
                presses: row(four.face, four.point),
            };
            let presses = four.derived.presses;
            spread += (presses.dot(presses) + 1.0) * four.area / four.derived.share;
        }
        self.spread = spread.element_sum();
        Some(deepest.max_element())
    }

    /// A twist about its point from six numbers.
    pub(super) fn twist(&self, six: &Six) -> Spatial {
        let &[vx, vy, vz, wx, wy, wz] = six;
        Spatial::new(DVec3::new(wx, wy, wz) / self.size, DVec3::new(vx, vy, vz))
    }

    /// The wrench on a shape that has one twist at the start of a substep and another at its end; beside it, the force of normal stress
    /// in it.
    pub(in crate::engine) fn respond(&self, before: &Six, after: &Six, h: f64) -> (Response, DVec3) {
        let sums = self.sum_up::<true>(before, after, h);
        let (wrench, matrix) = (sums.wrench(self.size), sums.matrix);
        // All of it pressed as what holds, and sheared from rest.
        let Soil { damping, cohesion, shear_modulus, .. } = self.soil;
        let (press, slides) = (0.5 * h * self.pressure.elastic + damping, 0.5 * h / shear_modulus);
        let shear = press * self.friction + damping + cohesion * slides;
        let stiffest = self.spread * (press + shear + sums.pressed.length() / (self.size * self.size) * slides);
        (Response { wrench, matrix, stiffest }, sums.pressed)
    }

    /// The same without how it changes.
    pub(in crate::engine) fn wrench(&self, before: &Six, after: &Six, h: f64) -> (Six, DVec3) {
        let sums = self.sum_up::<false>(before, after, h);
        (sums.wrench(self.size), sums.pressed)
    }

    /// The sums over all elements, that of the matrix only if it is wanted.
    fn sum_up<const MATRIX: bool>(&self, before: &Six, after: &Six, h: f64) -> Sums {
        let mean: Six = std::array::from_fn(|k| 0.5 * (before[k] + after[k]));
        let change: Six = std::array::from_fn(|k| 0.5 * (after[k] - before[k]));
        let (mean, change) = (self.twist(&mean), self.twist(&change));
        let mut sums = Sums::default();
        let mut matrix = [[DVec4::ZERO; 6]; 6];
        // The rows of sinking have one force in common.
        let mut sinking = [DVec4::ZERO; 10];
        for four in &self.elements {
            let stress = self.press(four, &mean, &change, h);
            if MATRIX {
                self.add_stiffness(four, &stress, h, &mut sinking, &mut matrix);
            }
            let pressed = four.normal.times(stress.stress * four.area);
            sums.pressed += pressed.sum();
            sums.moment += four.derived.lever.cross(pressed).sum();
            self.shear::<MATRIX>(four, &stress, &mean, h, &mut sums, &mut matrix);
        }
        sums.force += sums.pressed;
        if MATRIX {
            sums.matrix = matrix.map(|row| row.map(|entry| entry.element_sum()));
            self.add_sinking(sinking.map(|entry| entry.element_sum()), &mut sums.matrix);
        }
        sums
    }

    /// The pressure on elements after such a substep. Soil yields in its middle; what was pressed is so stiff that it is taken at its
    /// end, where that is stable at any timestep.
    #[inline(always)]
    fn press(&self, four: &Elements, mean: &Spatial, change: &Spatial, h: f64) -> Stress {
        let rises = four.derived.sinks.along(change.angular * self.size) + self.up.dot(change.linear);
        let middle = four.depth - rises * (0.5 * h);
        let (more, now) = (self.presses(four, change), self.presses(four, mean));
        let rate = now + more;
        let end = four.depth + (more + rate) * (0.5 * h);
        let (yields, slope) = self.at(four, middle);
        let deeper = four.deepest.cmpgt(middle);
        let most = if deeper.any() { select(deeper, self.at(four, four.deepest).0, yields) } else { yields };
        let deepest = four.deepest.max(middle);
        let held = most - (deepest - end) * self.pressure.elastic + rate * self.soil.damping;
        let holds = held.cmplt(yields);
        let stress = select(holds, held, yields).max(DVec4::ZERO);
        Stress { stress, presses: stress.cmpgt(DVec4::ZERO), slope: select(holds, DVec4::ZERO, slope), holds }
    }

    /// What soil gives at most in a substep in which the shape has this twist at first and presses with this force of normal stress, J: what
    /// was put in, as far as the stresses hold it. Under what rolls these are not followed so closely: it is given no more than what a stiffness
    /// stores of that force, and the strength over the length in which shear turns.
    pub(in crate::engine) fn most_given(&self, before: &Six, pressed: DVec3, h: f64) -> f64 {
        let held = self.held_before(before, h);
        if self.axle.is_none() {
            return held;
        }
        let (area, force) = (self.size * self.size, pressed.length());
        let strength = self.soil.cohesion * area + self.friction * force;
        held.min(0.5 * force * force / (self.pressure.elastic * area) + strength * self.soil.shear_modulus)
    }

    /// Takes down the work of soil on the shape in such a substep, J.
    pub(super) fn put_in(&mut self, before: &Six, work: f64, h: f64) {
        self.held = (self.held_before(before, h) - work).max(0.0);
    }

    /// What of the energy that was put in is there when such a substep begins, J.
    fn held_before(&self, before: &Six, h: f64) -> f64 {
        if self.axle.is_some() { self.held } else { self.held.min(self.stored(before, h)) }
    }

    /// The energy in the stresses at the start of a substep in which the shape has this twist at first, J: of pressure what its stiffness
    /// stores; of shear K m²/2 for each unit of strength where the part m of it is mobilised, which is what Janosi and Hanamoto's law gives back
    /// at most, whatever way the shape slides on.
    fn stored(&self, before: &Six, h: f64) -> f64 {
        let before = self.twist(before);
        let mut stored = DVec4::ZERO;
        for four in &self.elements {
            let stress = self.stress_before(four, &before, h);
            let [first, second] = four.mobilised.map(|part| part * part);
            let strength = (stress * self.friction + self.soil.cohesion) * four.area;
            let sheared = (strength * (first + second) + four.side * second) * self.soil.shear_modulus;
            let pressed = four.area * four.derived.share * stress * stress / self.pressure.elastic;
            stored += select(stress.cmpgt(DVec4::ZERO), pressed + sheared, DVec4::ZERO) * 0.5;
        }
        stored.element_sum()
    }

    /// The pressure on elements where a substep begins, without what damps.
    fn stress_before(&self, four: &Elements, before: &Spatial, h: f64) -> DVec4 {
        let rises = four.derived.sinks.along(before.angular * self.size) + self.up.dot(before.linear);
        let yields = self.at(four, four.depth + rises * (0.5 * h)).0;
        let depth = four.depth - self.presses(four, before) * (0.5 * h);
        let held = self.at(four, four.deepest).0 - (four.deepest - depth) * self.pressure.elastic;
        select(four.deepest.cmpgt(depth), held.min(yields), yields).max(DVec4::ZERO)
    }

    /// How fast elements press on their faces, as depths, m/s.
    #[inline(always)]
    pub(super) fn presses(&self, four: &Elements, twist: &Spatial) -> DVec4 {
        let turns = four.derived.presses.along(twist.angular * self.size);
        (four.face.along(twist.linear) + turns) / -four.derived.share
    }

    /// The pressure at depths below the surface that was there at first, and how it grows with depth ([`Pressure::at`]).
    #[inline(always)]
    fn at(&self, four: &Elements, depth: DVec4) -> (DVec4, DVec4) {
        let Pressure { modulus, exponent: n, elastic } = self.pressure;
        let part = (depth - four.depth) / four.depth;
        let plastic = if part.abs().max_element() < NEAR {
            let series = (part * ((n - 2.0) / 3.0) + 1.0) * part * ((n - 1.0) / 2.0) + 1.0;
            four.derived.plastic * (series * part * n + 1.0)
        } else {
            power(depth.max(DVec4::splat(f64::MIN_POSITIVE)), n) * modulus
        };
        let above = depth - four.left;
        let spring = above * elastic;
        let springs = spring.cmplt(plastic);
        let pressure = select(springs, spring, plastic).max(DVec4::ZERO);
        let slope = select(springs, DVec4::splat(elastic), plastic * n / depth);
        (pressure, select(above.cmpgt(DVec4::ZERO), slope, DVec4::ZERO))
    }

    /// Adds how stress grows as the elements sink: of what yields to the sums over the moments of the rows of sinking, of what holds to the
    /// matrix.
    #[inline(always)]
    fn add_stiffness(
        &self,
        four: &Elements,
        stress: &Stress,
        h: f64,
        sinking: &mut [DVec4; 10],
        matrix: &mut [[DVec4; 6]; 6],
    ) {
        let facing = (four.area * four.normal.along(self.up)).max(DVec4::ZERO);
        let gain = select(stress.presses, facing * stress.slope * (0.25 * h), DVec4::ZERO);
        let [x, y, z] = four.derived.sinks.components();
        let (u, v, w) = (gain * x, gain * y, gain * z);
        for (sum, term) in sinking.iter_mut().zip([gain, u, v, w, u * x, v * x, v * y, w * x, w * y, w * z]) {
            *sum += term;
        }
        let holds = stress.holds & stress.presses;
        if holds.any() {
            let slope = 0.5 * h * self.pressure.elastic + self.soil.damping;
            let gain = select(holds, four.area * slope / four.derived.share, DVec4::ZERO);
            let ([a, b, c], [d, e, f]) = (four.face.components(), four.derived.presses.components());
            let row = [a, b, c, d, e, f];
            add_products(matrix, &row, &row.map(|entry| entry * gain));
        }
    }

    /// Adds the sums over the rows of sinking to a matrix: below its diagonal and on it.
    fn add_sinking(&self, sums: [f64; 10], matrix: &mut [Six; 6]) {
        let [whole, u, v, w, xx, xy, yy, xz, yz, zz] = sums;
        let (up, first, second) = (self.up.to_array(), [u, v, w], [[xx, 0.0, 0.0], [xy, yy, 0.0], [xz, yz, zz]]);
        for row in 0..3 {
            for column in 0..3 {
                matrix[3 + row][column] += first[row] * up[column];
                if column <= row {
                    matrix[row][column] += whole * up[row] * up[column];
                    matrix[3 + row][3 + column] += second[row][column];
                }
            }
        }
    }

    /// Adds the shear stress at elements.
    #[inline(always)]
    fn shear<const MATRIX: bool>(
        &self,
        four: &Elements,
        stress: &Stress,
        mean: &Spatial,
        h: f64,
        sums: &mut Sums,
        matrix: &mut [[DVec4; 6]; 6],
    ) {
        let (slide, speed) = self.slide(four, mean);
        let time = 0.5 * h / self.soil.shear_modulus;
        let [first, second] = mobilise_four(four.mobilised, slide, speed, time);
        let area = select(stress.presses, four.area, DVec4::ZERO);
        let side = select(stress.presses, four.side, DVec4::ZERO);
        let strength = (stress.stress * self.friction + self.soil.cohesion) * area;
        let free = (DVec4::ONE - sqrt(first * first + second * second)).max(DVec4::ZERO);
        let damping = area * free * self.soil.damping / (speed * (1.0 / CREEP) + 1.0);
        let along = -(strength * first + damping * slide[0]);
        let across = -((strength + side) * second + damping * slide[1]);
        let force = four.tangents[0].times(along) + four.tangents[1].times(across);
        sums.force += force.sum();
        sums.moment += four.derived.arm.cross(force).sum();
        if MATRIX {
            let rate = DVec4::splat(0.5 * time);
            let per = DVec4::ONE / speed.max(DVec4::splat(f64::MIN_POSITIVE));
            let [x, y] = slide.map(|slide| slide * per);
            let held = strength * rate;
            let eased = damping * 0.5;
            let own = held * (DVec4::ONE - first * x) + eased;
            let other = held * (DVec4::ONE - second * y) + side * rate + eased;
            let both = held * (first * y + second * x) * -0.5;
            let [a, b] = [0, 1].map(|k| {
                let moment = four.derived.arm.cross(four.tangents[k]).times(DVec4::splat(1.0 / self.size));
                let ([a, b, c], [d, e, f]) = (four.tangents[k].components(), moment.components());
                [a, b, c, d, e, f]
            });
            let one: [DVec4; 6] = std::array::from_fn(|k| a[k] * own + b[k] * both);
            let two: [DVec4; 6] = std::array::from_fn(|k| a[k] * both + b[k] * other);
            add_products(matrix, &a, &one);
            add_products(matrix, &b, &two);
        }
    }

    /// How fast elements slide along their tangents, and in all, m/s.
    #[inline(always)]
    fn slide(&self, four: &Elements, twist: &Spatial) -> ([DVec4; 2], DVec4) {
        let velocity = Vectors::splat(twist.linear) + Vectors::splat(twist.angular).cross(four.derived.arm);
        let slide = four.tangents.map(|tangent| tangent.dot(velocity));
        (slide, sqrt(slide[0] * slide[0] + slide[1] * slide[1]))
    }

    /// What of their strength four elements have mobilised at the end of a substep with this mean twist.
    pub(super) fn mobilised(&self, four: usize, mean: &Spatial, h: f64) -> [DVec4; 2] {
        let elements = &self.elements[four];
        let (slide, speed) = self.slide(elements, mean);
        mobilise_four(elements.mobilised, slide, speed, h / self.soil.shear_modulus)
    }
}

impl Sums {
    fn wrench(&self, size: f64) -> Six {
        let (force, moment) = (self.force, self.moment / size);
        [force.x, force.y, force.z, moment.x, moment.y, moment.z]
    }
}

/// The mobilised part of the shear strength after sliding on at a velocity, m/s, for a time over the shear modulus, s/m: along one
/// direction it is Janosi and Hanamoto's law, 1 - exp(-j/K), and after a turn it goes on from where it is.
#[inline(always)]
pub(super) fn mobilise_four(part: [DVec4; 2], slide: [DVec4; 2], speed: DVec4, time: f64) -> [DVec4; 2] {
    let slid = speed * time;
    let gone = gone(slid);
    let stays = DVec4::ONE - gone * slid;
    [0, 1].map(|k| part[k] * stays + slide[k] * gone * time)
}

/// Adds a bᵀ below the diagonal and on it.
#[inline(always)]
fn add_products(matrix: &mut [[DVec4; 6]; 6], a: &[DVec4; 6], b: &[DVec4; 6]) {
    for row in 0..6 {
        for column in 0..=row {
            matrix[row][column] += a[row] * b[column];
        }
    }
}
