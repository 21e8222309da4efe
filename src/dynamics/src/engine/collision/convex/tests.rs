//! Random pairs of all convex shapes, separate, touching, overlapping and nested, in random orientations and with
//! parallel faces, compared with a slow search over all directions.
//!
//! A normal is right if the separation along it is the largest; the separation along any direction is a lower bound of
//! the largest. So the result must not be below that of the slow search, and the gaps of the points must equal the
//! separation along their normal. `SIMPARTNER_LONG_TESTS=1` tests a million pairs.

use bevy_math::{DMat3, DQuat, DVec3, DVec4};

use super::{
    Core, Difference, Hull, Meeting,
    extremes::Extremes,
    gjk::{self, Outcome},
};
use crate::{ellipsoid::Ellipsoid, parry::shape::SharedShape};

/// Random numbers from 0 to 1 (Steele, Lea and Flood 2014, SplitMix).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    fn direction(&mut self) -> DVec3 {
        loop {
            let v = DVec3::new(self.within(-1.0, 1.0), self.within(-1.0, 1.0), self.within(-1.0, 1.0));
            if v.length_squared() < 1.0 && v.length_squared() > 1e-4 {
                return v.normalize();
            }
        }
    }

    /// A rotation about a random axis, about an axis of the frame by a multiple of 45 degrees, or by a tiny angle.
    fn rotation(&mut self) -> DQuat {
        let axis = DVec3::AXES[self.below(3)];
        match self.below(4) {
            0 => DQuat::IDENTITY,
            1 => DQuat::from_axis_angle(axis, std::f64::consts::FRAC_PI_4 * self.below(8) as f64),
            2 => DQuat::from_axis_angle(self.direction(), 10f64.powf(self.within(-12.0, -2.0))),
            _ => DQuat::from_axis_angle(self.direction(), self.within(0.0, 3.1)),
        }
    }

    /// A length of a few centimetres, rarely much larger or smaller, often equal to another one.
    fn length(&mut self) -> f64 {
        match self.below(8) {
            0..3 => 0.1,
            3 => self.within(0.001, 0.003),
            4 => self.within(0.5, 1.0),
            _ => self.within(0.03, 0.2),
        }
    }
}

/// Hulls: balls of points, boxes with points on their faces, wedges of an arch, flat plates, needles; also far from
/// their origin.
fn hulls(random: &mut Random) -> Vec<Hull> {
    let mut hulls = Vec::new();
    while hulls.len() < 60 {
        let count = 4 + random.below(20);
        let far = if random.below(3) == 0 { random.direction() * 0.7 } else { DVec3::ZERO };
        let scale = DVec3::new(random.length(), random.length(), random.length());
        let points: Vec<DVec3> = match hulls.len() % 5 {
            0 => (0..count).map(|_| random.direction()).collect(),
            1 => (0..8 + count)
                .map(|k| match k {
                    0..8 => DVec3::new(f64::from(k as u32 & 1), f64::from(k as u32 >> 1 & 1), f64::from(k as u32 >> 2)),
                    _ => DVec3::new(random.unit(), random.unit(), 1.0),
                })
                .collect(),
            2 => (0..8)
                .map(|k| {
                    let angle = 0.5 + 0.26 * f64::from(k >> 2);
                    let radius = if k & 2 == 0 { 0.75 } else { 1.0 };
                    DVec3::new(radius * angle.cos(), radius * angle.sin(), f64::from(k & 1) - 0.5)
                })
                .collect(),
            3 => (0..count).map(|k| DVec3::new(random.unit(), random.unit(), f64::from(k as u32 % 2) * 0.05)).collect(),
            _ => (0..2 * count)
                .map(|k| {
                    let angle = (k / 2) as f64 * std::f64::consts::TAU / count as f64;
                    DVec3::new(angle.cos(), f64::from(k as u32 % 2), angle.sin())
                })
                .collect(),
        };
        let points: Vec<DVec3> = points.into_iter().map(|point| point * scale + far).collect();
        let shape = SharedShape::convex_hull(&points);
        if let Some(polyhedron) = shape.as_ref().and_then(|shape| shape.as_convex_polyhedron()) {
            hulls.push(Hull::new(polyhedron));
        }
    }
    hulls
}

fn core<'a>(random: &mut Random, hulls: &'a [Hull]) -> (Core<'a>, f64) {
    let (radius, half) = (random.length(), random.length());
    match random.below(8) {
        0 | 1 => (Core::Box(DVec3::new(random.length(), random.length(), random.length())), 0.0),
        2 => (Core::Cylinder { radius, half }, 0.0),
        3 => (Core::Cone { radius, half }, 0.0),
        4 => (Core::Segment(half), radius),
        5 => (Core::Segment(0.0), radius),
        _ => (Core::Hull(&hulls[random.below(hulls.len())]), 0.0),
    }
}

/// Two shapes: separate or overlapping, one around the other's centre, or with coincident supporting planes, to a
/// millimetre or to rounding.
fn place_pair<'a>(random: &mut Random, hulls: &'a [Hull], has_ellipsoid: bool) -> Difference<'a> {
    let mut pair = [core(random, hulls), core(random, hulls)];
    if has_ellipsoid {
        let which = random.below(3);
        for (index, core) in pair.iter_mut().enumerate().filter(|(index, _)| *index != which) {
            if which < 2 || index == 0 || random.below(2) == 0 {
                let radii = DVec3::new(random.length(), random.length(), random.length());
                *core = (Core::Ellipsoid(Ellipsoid { radii }), 0.0);
            }
        }
    }
    let rotation = random.rotation();
    let turn = DMat3::from_quat(rotation);
    let at = |shift: DVec3| Difference::new(pair, turn, shift, f64::INFINITY).expect("nothing is too far");
    let together = pair[0].0.middle() - turn * pair[1].0.middle();
    let apart = at(together);
    let reach = pair[0].0.size() + pair[0].1 + pair[1].0.size() + pair[1].1;
    match random.below(8) {
        0 => at(together + random.direction() * (reach * random.within(0.0, 1.2))),
        1 => at(together + random.direction() * [0.0, 1e-18, 1e-9, 1e-3][random.below(4)]),
        2 => at(together + DVec3::AXES[random.below(3)] * (reach * 0.25 * random.below(5) as f64)),
        kind => {
            let normal = match kind {
                3 => random.direction(),
                4 => DVec3::AXES[random.below(3)],
                5 => apart.faces_along(random.direction())[1],
                _ => apart.faces_along(random.direction())[0],
            };
            let sideways = if random.below(2) == 0 {
                random.direction().cross(normal) * (0.5 * reach * random.unit())
            } else {
                DVec3::ZERO
            };
            let layers = pair[0].1 + pair[1].1;
            let gap = [0.0, 0.0, 1e-16, -1e-16, 1e-12, -1e-12, 1e-9, -1e-9, 1e-6, -1e-6, 1e-3, -1e-3][random.below(12)];
            at(together + sideways + normal * (layers + gap - apart.separation_along(normal)))
        }
    }
}

/// Directions on the whole sphere with nearly equal spacing (Fibonacci spiral).
fn directions(count: usize) -> Vec<DVec3> {
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    (0..count)
        .map(|k| {
            let y = 1.0 - 2.0 * (k as f64 + 0.5) / count as f64;
            let (sin, cos) = (golden * k as f64).sin_cos();
            let radius = (1.0 - y * y).sqrt();
            DVec3::new(radius * cos, y, radius * sin)
        })
        .collect()
}

/// Approximate largest separation over all directions: over a grid, the axes and faces of both shapes, then by ascent
/// from the best.
fn slow_search(difference: &Difference, grid: &[DVec3]) -> f64 {
    let mut found: Vec<(f64, DVec3)> = Vec::new();
    let mut attempt = |normal: DVec3| found.push((difference.separation_along(normal), normal));
    for &direction in grid {
        attempt(direction);
    }
    let other = [difference.turn.x_axis, difference.turn.y_axis, difference.turn.z_axis];
    for direction in DVec3::AXES.into_iter().chain(other).flat_map(|axis| [axis, -axis]) {
        attempt(direction);
        difference.faces_along(direction).into_iter().for_each(&mut attempt);
    }
    difference.inner_point().try_normalize().into_iter().for_each(|centres| attempt(-centres));
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut best = f64::NEG_INFINITY;
    for &(separation, normal) in found.iter().take(2) {
        let (mut separation, mut normal, mut step) = (separation, normal, 0.1);
        difference.faces_along(normal).into_iter().for_each(|face| best = best.max(difference.separation_along(face)));
        while step > 1e-6 {
            let (x, y) = turned(normal.any_orthonormal_pair(), 1e3 * step);
            let tries = [x, -x, y, -y, x + y, x - y, y - x, -x - y].map(|across| (normal + across * step).normalize());
            let next = tries.map(|normal| (difference.separation_along(normal), normal));
            let uphill = next.into_iter().reduce(|one, two| if two.0 > one.0 { two } else { one }).unwrap();
            if uphill.0 > separation {
                (separation, normal) = uphill;
            } else {
                step *= 0.5;
            }
        }
        best = best.max(separation);
    }
    best
}

/// Two orthogonal vectors, rotated in their plane.
fn turned((x, y): (DVec3, DVec3), angle: f64) -> (DVec3, DVec3) {
    let (sin, cos) = angle.sin_cos();
    (x * cos + y * sin, y * cos - x * sin)
}

/// Lower bound of the distance of a point from a core: its largest height above some supporting planes.
fn outside(core: &Core, point: DVec3) -> f64 {
    let nearest = core.face_below(point);
    let from_middle = (point - core.middle()).try_normalize().unwrap_or(DVec3::X);
    let planes = DVec3::AXES.into_iter().flat_map(|axis| [axis, -axis]).chain([nearest, from_middle]);
    planes.map(|normal| (point - core.support(normal)).dot(normal)).fold(f64::NEG_INFINITY, f64::max)
}

/// Largest distance of the corners of a hull's faces from their planes: triangles of a face are merged if they are
/// nearly in one plane.
fn unevenness(core: &Core, grid: &[DVec3]) -> f64 {
    if !matches!(core, Core::Hull(_)) {
        return 0.0;
    }
    let (mut uneven, mut corners) = (0.0f64, Vec::new());
    for &direction in grid {
        let normal = core.face_along(direction);
        core.face_corners(normal, direction, &mut corners);
        let below = corners.iter().map(|corner| (core.support(normal) - corner).dot(normal));
        uneven = below.fold(uneven, f64::max);
    }
    uneven
}

/// Description of the error of a result; `None` if it is right.
fn fault(difference: &Difference, meeting: &Meeting, ahead: f64, grid: &[DVec3]) -> Option<String> {
    let layers = difference.layers[0] + difference.layers[1];
    // Rounding, and the remaining error of a search on a round surface.
    let exact = 2e-8 * difference.size;
    if meeting.touches.is_empty() {
        let far = match gjk::closest(difference, f64::INFINITY, 1e-12) {
            Outcome::Near(nearest) => difference.separation_along(nearest.normal) - layers,
            _ => -layers,
        };
        return (far < ahead - exact).then(|| format!("nothing found at {far}"));
    }
    let normal = meeting.normal;
    if !((normal.length() - 1.0).abs() < 1e-12) {
        return Some(format!("normal {normal}"));
    }
    let separation = difference.separation_along(normal);
    let depth = -separation.min(0.0);
    // Shallow overlaps have the normals of the faces that the shapes turn to each other. The search for the depth of
    // deep overlaps ends early.
    let slack = exact + depth.min(super::SHALLOW_DEPTH * difference.size) + 1e-2 * depth;
    let slow = slow_search(difference, grid);
    if !(separation >= slow - slack) {
        return Some(format!("separation {separation} along {normal}, where there is {slow}"));
    }
    let least = meeting.touches.iter().map(|touch| touch.gap).fold(f64::INFINITY, f64::min);
    if !((least - (separation - layers)).abs() < exact) {
        return Some(format!("gap {least} where the separation is {}", separation - layers));
    }
    for touch in &meeting.touches {
        if !(touch.gap < ahead) {
            return Some(format!("gap {}", touch.gap));
        }
        let surfaces = [-0.5, 0.5].map(|side| touch.point + normal * (side * touch.gap));
        let first = surfaces[0] - normal * difference.layers[0];
        let second = difference.turn.transpose() * (surfaces[1] + normal * difference.layers[1] - difference.shift);
        let off = outside(&difference.cores[0], first).max(outside(&difference.cores[1], second));
        let near = 1e-5 * difference.size + 0.05 * depth;
        if !(off < near || off < near + difference.cores.iter().map(|core| unevenness(core, grid)).sum::<f64>()) {
            return Some(format!("point {} is {off} m outside, separation {separation}", touch.point));
        }
    }
    None
}

/// Generator and judge of pairs.
struct Trial {
    grid: Vec<DVec3>,
    hulls: Vec<Hull>,
    meeting: Meeting,
    /// True if at least one shape of each pair is an ellipsoid.
    has_ellipsoid: bool,
}

impl Trial {
    /// Builds the hulls from the first numbers of the sequence of `random`.
    fn new(random: &mut Random) -> Self {
        Self { grid: directions(150), hulls: hulls(random), meeting: Meeting::default(), has_ellipsoid: false }
    }

    /// Places a pair by the next numbers. Returns a description of the error of its contact; `None` if it is right.
    fn run(&mut self, random: &mut Random) -> Option<String> {
        let seed = random.0;
        let difference = place_pair(random, &self.hulls, self.has_ellipsoid);
        let ahead = if random.below(2) == 0 { 0.002 } else { 0.1 };
        self.meeting.find_points(&difference, ahead, Some);
        let fault = fault(&difference, &self.meeting, ahead, &self.grid)?;
        let kinds = difference.cores.map(|core| format!("{core:?}").chars().take(70).collect::<String>());
        Some(format!("{seed:#x}, {kinds:?}: {fault}"))
    }
}

/// Tests random pairs, each with at least one ellipsoid if `has_ellipsoid` is true.
fn check_random_pairs(has_ellipsoid: bool) {
    let count: usize = if std::env::var_os("SIMPARTNER_LONG_TESTS").is_some() { 1_000_000 } else { 4000 };
    let mut random = Random(1);
    let mut trial = Trial { has_ellipsoid, ..Trial::new(&mut random) };
    let (mut faults, mut met) = (Vec::new(), 0);
    for _ in 0..count {
        faults.extend(trial.run(&mut random));
        met += usize::from(!trial.meeting.touches.is_empty());
    }
    assert!(met > count / 3, "{met}");
    assert!(faults.is_empty(), "{} of {count}: {:#?}", faults.len(), &faults[..faults.len().min(40)]);
}

#[test]
fn random_pairs_meet_where_a_slow_search_says() {
    check_random_pairs(false);
}

#[test]
fn random_pairs_with_an_ellipsoid_meet_where_a_slow_search_says() {
    check_random_pairs(true);
}

/// Pairs of the million that once had a wrong point or depth, by the numbers that place them.
#[test]
fn pairs_that_were_wrong_once_meet_where_a_slow_search_says() {
    // The part across the direction of capsules and edges is so short compared with the distance that its square is
    // rounding: the length stays the same while the direction still changes.
    let turned = [0xab8b_fc3c_9d08_5595, 0x9042_fb82_7f4b_df54, 0x859c_4609_c476_c968];
    let overhanging = [0x4a10_e984_a843_2373, 0x38e3_1458_581b_ed25];
    // The axes of nearly parallel capsules cross.
    let crossed = [0x3ca7_f829_b3eb_62b1, 0x6d87_415b_9947_f8df, 0x1ccc_33eb_9c7f_9c56];
    // The penetration of two cones is equal along the sides of both.
    let even = [0x72ca_9570_da43_19d6, 0x0d2d_2a84_f092_6cc9];
    // A capsule whose axis is perpendicular to a plate, nearly on an edge of the difference: points on that edge form
    // no face.
    let across = [0x0d22_ba34_a0bf_30c7];
    let mut trial = Trial::new(&mut Random(1));
    let seeds = [&turned[..], &overhanging, &crossed, &even, &across].concat();
    let faults: Vec<String> = seeds.into_iter().filter_map(|seed| trial.run(&mut Random(seed))).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Bit-identical, and the first of equal products: points of a grid have many of these.
#[test]
fn the_tree_of_boxes_finds_what_a_look_at_all_vectors_finds() {
    let mut random = Random(7);
    for _ in 0..400 {
        let count = 1 + random.below(300);
        let is_grid = random.below(2) == 0;
        let place = |random: &mut Random| {
            if is_grid { random.below(4) as f64 - 1.5 } else { random.within(-1.0, 1.0) }
        };
        let vectors: Vec<DVec4> = (0..count).map(|_| DVec4::from_array([0; 4].map(|_| place(&mut random)))).collect();
        let tree = Extremes::new(vectors.iter().copied());
        assert_eq!(tree.farthest(DVec4::NAN).0, 0);
        for _ in 0..20 {
            let direction = if random.below(2) == 0 {
                DVec3::AXES[random.below(3)].extend(0.0)
            } else {
                random.direction().extend(random.within(-1.0, 1.0))
            };
            let mut best = (0, f64::NEG_INFINITY);
            for (index, vector) in vectors.iter().enumerate() {
                let product = vector.dot(direction);
                if product > best.1 {
                    best = (index, product);
                }
            }
            assert_eq!(tree.farthest(direction), best, "{count} vectors, {direction}");
        }
    }
}
