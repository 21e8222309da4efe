//! How stable a grasp is: the load is tilted, or disturbed, in all directions, and each time the grasp is asked whether it holds.
//!
//! Harker's chart (1994, section 4.2) tilts gravity by 0 to an angle of stability in 20 steps, each turned about gravity in steps of
//! 9 degrees. His grid ends at 351 degrees; this one closes. A count over it weighs the pole too much, so directions also count by their
//! solid angle.
//!
//! Few directions need a cone program. Forces of a direction that holds, moved to balance the next one, are forces of that one if they stay
//! within their cones; a certificate of a direction that fails may prove another impossible. Both are checked as every verdict is.

use std::f64::consts::{PI, TAU};

use bevy_math::{DQuat, DVec3};

use crate::{
    GraspError, Verdict,
    equilibrium::{Certificate, Forces, Scaled, TOLERANCE},
    statics::{Statics, Vector6, wrench},
    verdict,
};

/// Steps of the tilt, and of a turn.
pub const ROWS: usize = 20;
/// Steps of a turn.
pub const COLUMNS: usize = 40;
/// Halvings of the angle at which an azimuth stops holding: 180 degrees to 5e-5.
const HALVINGS: usize = 22;
/// Halvings of the size of a disturbance: to 1e-12 of the largest.
const SIZE_HALVINGS: usize = 40;
/// Forces and certificates that are kept for other directions: the latest, which are of directions nearby.
const KEPT: usize = 32;

/// What is known of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// It holds.
    Holds,
    /// It is proved that it cannot.
    Impossible,
    /// It is on the edge.
    Undecided,
}

/// A chart: rows of tilts, columns of azimuths.
#[derive(Debug, Clone)]
pub struct Chart {
    /// The largest tilt, radians.
    pub tilt: f64,
    /// [`ROWS`] + 1 rows of [`COLUMNS`] cells; the first row is one direction.
    pub cells: Vec<Vec<Cell>>,
    /// Of each azimuth, the tilt up to which it holds, radians; at most `tilt`.
    pub safe: Vec<f64>,
    /// The azimuth and tilt of the first failure that was found, by golden sections around the worst azimuth. `None` where nothing fails.
    pub first_failure: Option<[f64; 2]>,
    /// Cone programs that were solved.
    pub solved: usize,
}

/// Decides load after load of one grasp.
pub struct Decider<'a> {
    statics: &'a Statics,
    held: Vec<Forces>,
    failed: Vec<Certificate>,
    /// Cone programs that were solved.
    pub solved: usize,
}

impl<'a> Decider<'a> {
    /// One that knows nothing yet.
    pub fn new(statics: &'a Statics) -> Self {
        Self { statics, held: Vec::new(), failed: Vec::new(), solved: 0 }
    }

    /// Whether the grasp holds this load.
    pub fn decide(&mut self, load: Vector6) -> Cell {
        let statics = self.statics.under(load);
        if self.failed.iter().rev().any(|certificate| certificate.proves(&statics)) {
            return Cell::Impossible;
        }
        let scaled = Scaled::new(&statics);
        let near = |forces: &Forces| scaled.rebalanced(&forces.contacts).filter(|forces| forces.margin >= 0.0);
        if self.held.iter().rev().any(|forces| near(forces).is_some()) {
            return Cell::Holds;
        }
        self.solved += 1;
        match verdict(&statics) {
            Verdict::Holds(forces) => {
                if forces.margin > TOLERANCE * statics.scale() {
                    keep(&mut self.held, forces);
                }
                Cell::Holds
            }
            Verdict::Impossible(certificate) => {
                keep(&mut self.failed, certificate);
                Cell::Impossible
            }
            Verdict::Undecided => Cell::Undecided,
        }
    }
}

fn keep<T>(kept: &mut Vec<T>, latest: T) {
    if kept.len() == KEPT {
        kept.remove(0);
    }
    kept.push(latest);
}

/// Tilts gravity; a load of the file stays as it is.
///
/// # Errors
/// Where there is no gravity to tilt.
pub fn chart(statics: &Statics, tilt: f64) -> Result<Chart, GraspError> {
    if statics.weight == DVec3::ZERO {
        return Err(GraspError::NoGravity);
    }
    let rest = statics.load - wrench(statics.weight, DVec3::ZERO);
    let load = |tilt: f64, azimuth: f64| rest + wrench(tilted(statics.weight, tilt, azimuth), DVec3::ZERO);
    let mut decider = Decider::new(statics);
    let upright = decider.decide(load(0.0, 0.0));
    let azimuth = |column: usize| TAU * column as f64 / COLUMNS as f64;
    let rows = (0..=ROWS).map(|row| match row {
        0 => vec![upright; COLUMNS],
        _ => {
            (0..COLUMNS).map(|column| decider.decide(load(tilt * row as f64 / ROWS as f64, azimuth(column)))).collect()
        }
    });
    let cells: Vec<Vec<Cell>> = rows.collect();
    // The tilt up to which an azimuth holds: between the last row that holds in an unbroken series and the next.
    let mut safe_at = |azimuth: f64, from: f64, to: f64| {
        let (mut holds, mut fails) = (from, to);
        for _ in 0..HALVINGS {
            let middle = (holds + fails) / 2.0;
            *(if decider.decide(load(middle, azimuth)) == Cell::Holds { &mut holds } else { &mut fails }) = middle;
        }
        holds
    };
    let safe: Vec<f64> = (0..COLUMNS)
        .map(|column| match cells.iter().position(|row| row[column] != Cell::Holds) {
            None => tilt,
            Some(0) => 0.0,
            Some(row) => {
                safe_at(azimuth(column), tilt * (row - 1) as f64 / ROWS as f64, tilt * row as f64 / ROWS as f64)
            }
        })
        .collect();
    let worst = (0..COLUMNS).min_by(|a, b| safe[*a].total_cmp(&safe[*b])).unwrap_or(0);
    let first_failure = match safe[worst] {
        0.0 => Some([azimuth(worst), 0.0]),
        least if least < tilt => {
            Some(narrowest(azimuth(worst), TAU / COLUMNS as f64, |azimuth| safe_at(azimuth, 0.0, tilt)))
        }
        _ => None,
    };
    Ok(Chart { tilt, cells, safe, first_failure, solved: decider.solved })
}

/// The least value of a function near an argument, by golden sections: argument and value.
fn narrowest(middle: f64, width: f64, mut of: impl FnMut(f64) -> f64) -> [f64; 2] {
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    let mut best = [middle, of(middle)];
    let (mut low, mut high) = (middle - width, middle + width);
    // To 1e-6 of the width.
    for _ in 0..28 {
        let [left, right] = [high - golden * (high - low), low + golden * (high - low)];
        let values = [of(left), of(right)];
        for (at, value) in [left, right].into_iter().zip(values) {
            if value < best[1] {
                best = [at, value];
            }
        }
        if values[0] <= values[1] {
            high = right;
        } else {
            low = left;
        }
    }
    [best[0].rem_euclid(TAU), best[1]]
}

/// A vector tilted by an angle, towards an azimuth about it: as in 1994, at azimuth 0 about the x axis, or where the vector is along that, about y.
pub fn tilted(vector: DVec3, tilt: f64, azimuth: f64) -> DVec3 {
    let along = vector.normalize();
    let first = DVec3::X - along * along.x;
    // The x axis as seen along the vector.
    let across = if first.length() > 1e-9 { first.normalize() } else { DVec3::Y };
    let turn = |axis: DVec3, angle: f64| {
        let (sine, cosine) = libm::sincos(angle / 2.0);
        let part = axis * sine;
        DQuat::from_xyzw(part.x, part.y, part.z, cosine)
    };
    turn(along, azimuth) * (turn(across, tilt) * vector)
}

/// The directions of a disturbance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disturb {
    /// A force through the centre of mass, N.
    Force,
    /// A torque, N m.
    Torque,
}

/// How large a disturbance may be, beside the load.
#[derive(Debug, Clone)]
pub struct Disturbance {
    /// Along the axes of the object, x, -x, y and so on, and the diagonals of a cube: direction, and the size up to which it is held.
    pub sizes: Vec<(DVec3, f64)>,
    /// Every disturbance of this size is held, whatever its direction: the loads that a grasp holds are a convex set, so the octahedron over the
    /// six sizes along the axes is held, and this ball within it.
    pub every: f64,
    /// Cone programs that were solved.
    pub solved: usize,
}

/// Finds how large a force, or torque, the grasp holds beside its load. Sizes are searched up to `most`.
pub fn disturbed(statics: &Statics, disturb: Disturb, most: f64) -> Disturbance {
    let mut decider = Decider::new(statics);
    let mut holds = |direction: DVec3, size: f64| {
        let added = match disturb {
            Disturb::Force => wrench(direction * size, DVec3::ZERO),
            Disturb::Torque => wrench(DVec3::ZERO, direction * size),
        };
        decider.decide(statics.load + added) == Cell::Holds
    };
    let sizes: Vec<(DVec3, f64)> = directions()
        .map(|direction| {
            let (mut inner, mut outer) = match (holds(direction, 0.0), holds(direction, most)) {
                (false, _) => return (direction, 0.0),
                (_, true) => return (direction, most),
                _ => (0.0, most),
            };
            for _ in 0..SIZE_HALVINGS {
                let middle = (inner + outer) / 2.0;
                *(if holds(direction, middle) { &mut inner } else { &mut outer }) = middle;
            }
            (direction, inner)
        })
        .collect();
    let axis = |k: usize| sizes[2 * k].1.min(sizes[2 * k + 1].1);
    let every = [0, 1, 2].map(|k| 1.0 / (axis(k) * axis(k))).iter().sum::<f64>().sqrt().recip();
    Disturbance { sizes, every, solved: decider.solved }
}

/// The axes, and the diagonals of the cube.
fn directions() -> impl Iterator<Item = DVec3> {
    let axes = DVec3::AXES.into_iter().flat_map(|axis| [axis, -axis]);
    let corner = |k: u32| DVec3::from([0, 1, 2].map(|axis| if k >> axis & 1 == 0 { -1.0 } else { 1.0 })).normalize();
    axes.chain((0..8).map(corner))
}

impl Chart {
    /// Cells that hold, and all: the first row counts as often as it has columns, as in 1994.
    pub fn count(&self) -> [usize; 2] {
        let holds = self.cells.iter().flatten().filter(|cell| **cell == Cell::Holds).count();
        [holds, self.cells.len() * COLUMNS]
    }

    /// The part of the solid angle within the largest tilt that holds: each cell stands for the directions that are nearest to it.
    pub fn solid_angle(&self) -> f64 {
        let step = self.tilt / ROWS as f64;
        let band = |row: usize| {
            let edge = |at: f64| libm::cos((at * step).clamp(0.0, self.tilt.min(PI)));
            edge(row as f64 - 0.5) - edge(row as f64 + 0.5)
        };
        let share = |cells: &[Cell]| cells.iter().filter(|cell| **cell == Cell::Holds).count() as f64 / COLUMNS as f64;
        let total: f64 = (0..=ROWS).map(band).sum();
        if total == 0.0 {
            return share(&self.cells[0]);
        }
        self.cells.iter().enumerate().map(|(row, cells)| band(row) * share(cells)).sum::<f64>() / total
    }

    /// The largest tilt up to which every direction was found to hold, radians.
    pub fn safe_tilt(&self) -> f64 {
        self.first_failure.map_or(self.tilt, |[_, tilt]| tilt)
    }
}
