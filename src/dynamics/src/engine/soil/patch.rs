//! How soil presses back on the part of a shape that is in it, at the middle of a substep.

use bevy_math::DVec3;
use simpartner_model::Soil;

use crate::{engine::spatial::Spatial, soil::Pressure};

/// Soil that holds still damps slides slower than this, m/s, in proportion, and faster ones with no more than that: below a thousandth
/// of its strength.
const CREEP: f64 = 1e-4;
/// Of the largest stiffness, what every direction has at least, so that the factors of the matrix of stiffness have a meaning.
const LEAST: f64 = 1e-9;

/// A piece of the surface between a shape and soil.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element {
    /// World frame, m.
    pub(super) point: DVec3,
    /// Where the pressure pushes the shape.
    pub(super) normal: DVec3,
    /// The normal of the face that the soil is let up along when the shape moves, where that is not up: of a rim, the normal of the place
    /// that has the same stress in front of the peak.
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

/// What presses on an element.
enum Stress {
    None,
    /// Soil that yields, Pa, and how its pressure grows with depth, Pa/m.
    Yields(f64, f64),
    /// Soil that was pressed as deep before, Pa.
    Holds(f64),
}

/// A shape's part in the soil.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Patch {
    pub(super) soil: Soil,
    /// The tangent of its angle of friction.
    friction: f64,
    pub(super) pressure: Pressure,
    pub(super) elements: Vec<Element>,
    /// The point that its wrench is about, world frame; and a length of the size of the patch, m.
    pub(in crate::engine) point: DVec3,
    pub(in crate::engine) size: f64,
    /// Normal of the ground.
    pub(in crate::engine) up: DVec3,
    /// Unit vector along the axle of what rolls, and a point of it: turning about that, it sinks no deeper.
    pub(super) axle: Option<[DVec3; 2]>,
    /// How far grousers reach beyond the surface, m: soil is sheared there.
    pub(super) grousers: f64,
}

/// Six numbers: a force and a moment over a length, or a velocity and an angular velocity times that.
pub(in crate::engine) type Six = [f64; 6];

/// The wrench of the soil on a shape, and how much less of it there is for each unit of twist at the end of the substep, as the factors
/// of that matrix, L D Lᵀ.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::engine) struct Response {
    pub(in crate::engine) wrench: Six,
    /// The columns of L, and D.
    pub(in crate::engine) columns: [Six; 6],
    pub(in crate::engine) gains: Six,
}

impl Patch {
    /// A patch without elements, of a shape whose grousers reach so far beyond its surface, m.
    pub(super) fn new(soil: Soil, grousers: f64) -> Self {
        Self {
            soil,
            friction: libm::tan(soil.friction_angle),
            pressure: Pressure { modulus: 0.0, exponent: 1.0, elastic: soil.elastic_stiffness },
            elements: Vec::new(),
            point: DVec3::ZERO,
            size: 1.0,
            up: DVec3::Y,
            axle: None,
            grousers,
        }
    }

    /// A twist about its point from six numbers.
    pub(super) fn twist(&self, six: &Six) -> Spatial {
        let &[vx, vy, vz, wx, wy, wz] = six;
        Spatial::new(DVec3::new(wx, wy, wz) / self.size, DVec3::new(vx, vy, vz))
    }

    /// The wrench on a shape that has one twist at the start of a substep and another at its end.
    pub(in crate::engine) fn respond(&self, before: &Six, after: &Six, h: f64) -> Response {
        let (wrench, _, mut matrix) = self.sum_up::<true>(before, after, h);
        factorise(&mut matrix, wrench)
    }

    /// The same without the factors; beside it, the force of normal stress in it.
    pub(in crate::engine) fn wrench(&self, before: &Six, after: &Six, h: f64) -> (Six, DVec3) {
        let (wrench, pressed, _) = self.sum_up::<false>(before, after, h);
        (wrench, pressed)
    }

    /// The sums over all elements: wrench, normal forces, and the matrix if it is wanted.
    fn sum_up<const MATRIX: bool>(&self, before: &Six, after: &Six, h: f64) -> (Six, DVec3, [Six; 6]) {
        let mean: Six = std::array::from_fn(|k| 0.5 * (before[k] + after[k]));
        let change: Six = std::array::from_fn(|k| 0.5 * (after[k] - before[k]));
        let (mean, change) = (self.twist(&mean), self.twist(&change));
        let (mut wrench, mut matrix, mut pressed) = ([0.0; 6], [[0.0; 6]; 6], DVec3::ZERO);
        for element in &self.elements {
            let lever = element.point - self.point;
            let (up, face) = (self.sinking_row(self.up, element.point), self.sinking_row(element.face, element.point));
            let share = element.face.dot(self.up);
            let sinks = |twist: &Spatial| -self.along(&face, twist) / share;
            let middle = element.depth - self.along(&up, &change) * (0.5 * h);
            let rate = sinks(&(mean + change));
            let end = element.depth + 0.5 * h * (sinks(&change) + rate);
            let stress = match self.press(element, middle, end, rate) {
                Stress::None => continue,
                Stress::Yields(stress, slope) => {
                    if MATRIX {
                        let facing = (element.area * element.normal.dot(self.up)).max(0.0);
                        add_gain(&mut matrix, &up, &up, facing * slope * 0.25 * h);
                    }
                    stress
                }
                Stress::Holds(stress) => {
                    if MATRIX {
                        let slope = 0.5 * h * self.pressure.elastic + self.soil.damping;
                        add_gain(&mut matrix, &face, &face, element.area * slope / share);
                    }
                    stress
                }
            };
            let force = element.normal * (stress * element.area);
            pressed += force;
            add_force(&mut wrench, force, lever, self.size);
            self.shear::<MATRIX>(element, stress, &mean, h, &mut wrench, &mut matrix);
        }
        (wrench, pressed, matrix)
    }

    /// The pressure on an element that is so deep in the middle of the substep, and at its end, m, where it sinks at a rate, m/s. Soil yields
    /// in the middle; what was pressed is so stiff that it is taken at the end, where that is stable at any timestep.
    fn press(&self, element: &Element, middle: f64, end: f64, rate: f64) -> Stress {
        let (yields, slope) = self.pressure.at(middle, element.left);
        let (deepest, most) = if element.deepest > middle {
            (element.deepest, self.pressure.at(element.deepest, element.left).0)
        } else {
            (middle, yields)
        };
        let held = most - self.pressure.elastic * (deepest - end) + self.soil.damping * rate;
        if yields <= held {
            if yields > 0.0 { Stress::Yields(yields, slope) } else { Stress::None }
        } else if held > 0.0 {
            Stress::Holds(held)
        } else {
            Stress::None
        }
    }

    /// Adds the shear stress at an element.
    fn shear<const MATRIX: bool>(
        &self,
        element: &Element,
        stress: f64,
        mean: &Spatial,
        h: f64,
        wrench: &mut Six,
        matrix: &mut [[f64; 6]; 6],
    ) {
        let lever = element.point - self.point - element.normal * self.grousers;
        let velocity = mean.at(lever);
        let slide = element.tangents.map(|tangent| tangent.dot(velocity));
        let speed = length(slide);
        let time = 0.5 * h;
        let there = mobilise(element.mobilised, slide, time / self.soil.shear_modulus);
        let strength = (self.soil.cohesion + stress * self.friction) * element.area;
        let free = (1.0 - length(there)).max(0.0);
        let damping = self.soil.damping * element.area * free / (1.0 + speed / CREEP);
        let rate = 0.5 * time / self.soil.shear_modulus;
        let direction = if speed > 0.0 { slide.map(|slide| slide / speed) } else { [0.0; 2] };
        let rows = if MATRIX { element.tangents.map(|tangent| self.row(tangent, lever)) } else { [[0.0; 6]; 2] };
        for a in 0..2 {
            let side = if a == 1 { element.side } else { 0.0 };
            let force = -(strength + side) * there[a] - damping * slide[a];
            add_force(wrench, element.tangents[a] * force, lever, self.size);
            for b in (0..2).filter(|_| MATRIX) {
                let same = if a == b { 1.0 } else { 0.0 };
                let held = same - 0.5 * (there[a] * direction[b] + there[b] * direction[a]);
                let gain = strength * rate * held + same * (side * rate + 0.5 * damping);
                add_gain(matrix, &rows[a], &rows[b], gain);
            }
        }
    }

    /// The row of how fast a point moves along a direction, but for what turning about the axle does.
    fn sinking_row(&self, direction: DVec3, point: DVec3) -> Six {
        let mut moment = (point - self.point).cross(direction);
        if let Some([axle, centre]) = self.axle {
            moment -= axle * axle.dot((point - centre).cross(direction));
        }
        let moment = moment / self.size;
        [direction.x, direction.y, direction.z, moment.x, moment.y, moment.z]
    }

    /// The velocity of a twist along a row.
    fn along(&self, row: &Six, twist: &Spatial) -> f64 {
        let &[x, y, z, u, v, w] = row;
        DVec3::new(x, y, z).dot(twist.linear) + DVec3::new(u, v, w).dot(twist.angular) * self.size
    }

    /// What a unit force along a direction is as six numbers.
    fn row(&self, direction: DVec3, lever: DVec3) -> Six {
        let moment = lever.cross(direction) / self.size;
        [direction.x, direction.y, direction.z, moment.x, moment.y, moment.z]
    }
}

/// The mobilised part of the shear strength after sliding on at a velocity, m/s, for a time over the shear modulus, s/m: along one
/// direction it is Janosi and Hanamoto's law, 1 - exp(-j/K), and after a turn it goes on from where it is.
pub(super) fn mobilise(part: [f64; 2], slide: [f64; 2], time: f64) -> [f64; 2] {
    let speed = length(slide);
    if speed == 0.0 {
        return part;
    }
    let gone = -libm::expm1(-speed * time);
    [0, 1].map(|k| part[k] + (slide[k] / speed - part[k]) * gone)
}

fn length([x, y]: [f64; 2]) -> f64 {
    (x * x + y * y).sqrt()
}

fn add_force(wrench: &mut Six, force: DVec3, lever: DVec3, size: f64) {
    let moment = lever.cross(force) / size;
    for (sum, part) in wrench.iter_mut().zip([force.x, force.y, force.z, moment.x, moment.y, moment.z]) {
        *sum += part;
    }
}

/// Adds gain a bᵀ below the diagonal and on it.
fn add_gain(matrix: &mut [[f64; 6]; 6], a: &Six, b: &Six, gain: f64) {
    for row in 0..6 {
        for column in 0..=row {
            matrix[row][column] += gain * a[row] * b[column];
        }
    }
}

/// The factors of a matrix that is given below its diagonal and on it.
fn factorise(matrix: &mut [[f64; 6]; 6], wrench: Six) -> Response {
    let largest = (0..6).fold(0.0f64, |largest, k| largest.max(matrix[k][k]));
    let mut response = Response { wrench, ..Response::default() };
    for k in 0..6 {
        let pivot = matrix[k][k].max(0.0) + LEAST * largest;
        response.gains[k] = pivot;
        response.columns[k][k] = 1.0;
        if pivot > 0.0 {
            for row in k + 1..6 {
                response.columns[k][row] = matrix[row][k] / pivot;
            }
            for row in k + 1..6 {
                for column in k + 1..=row {
                    matrix[row][column] -= pivot * response.columns[k][row] * response.columns[k][column];
                }
            }
        }
    }
    response
}

impl Response {
    /// The wrench in terms of the columns of L.
    pub(in crate::engine) fn along_columns(&self) -> Six {
        let mut parts = self.wrench;
        for k in 0..6 {
            for row in k + 1..6 {
                parts[row] -= self.columns[k][row] * parts[k];
            }
        }
        parts
    }

    /// The twist that has these velocities along the columns of L.
    pub(in crate::engine) fn twist_of(&self, velocities: Six) -> Six {
        let mut twist = velocities;
        for k in (0..6).rev() {
            for row in k + 1..6 {
                twist[k] -= self.columns[k][row] * twist[row];
            }
        }
        twist
    }

    /// The velocity of a twist along a column.
    pub(in crate::engine) fn along(&self, k: usize, twist: &Six) -> f64 {
        self.columns[k].iter().zip(twist).map(|(a, b)| a * b).sum()
    }
}
