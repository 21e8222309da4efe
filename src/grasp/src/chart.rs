//! Stability charts: gravity is tilted, or the load is disturbed, in all directions, and equilibrium is checked in
//! each.
//!
//! Harker's chart (1994, section 4.2) tilts gravity from 0 to a largest angle in 20 steps, and turns each tilt about
//! gravity in steps of 9 degrees. His grid ends at 351 degrees; this one closes. A count of cells weighs the pole too
//! much, so the holding directions are also measured by their solid angle.
//!
//! Few directions need a cone program. Forces that hold one direction are projected to balance the next; if they stay
//! within their cones, they hold that direction. A certificate of a direction that fails may prove another direction
//! impossible. Both are checked as every verdict is.

use std::f64::consts::{PI, TAU};

use bevy_math::{DQuat, DVec3};

use crate::{
    GraspError, Verdict,
    equilibrium::{Certificate, Forces, LOAD_TOLERANCE, ScaledGrasp},
    statics::{Statics, Vector6, wrench},
    verdict,
};

/// Number of steps of the tilt; a chart has one row more.
pub const ROWS: usize = 20;
/// Number of steps of a full turn of the azimuth.
pub const COLUMNS: usize = 40;
/// Bisections that find the tilt at which an azimuth stops holding: 180 degrees are located to 5e-5 degrees.
const TILT_HALVINGS: usize = 22;
/// Bisections that find the largest size of a disturbance: to 1e-12 of the largest size.
const SIZE_HALVINGS: usize = 40;
/// Number of forces, and of certificates, that are kept for use in other directions. The latest ones are kept, because
/// they belong to neighbouring directions.
const MAX_KEPT: usize = 32;

/// Verdict on one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// The grasp holds.
    Holds,
    /// The grasp cannot hold, which is proved.
    Impossible,
    /// A borderline case without a proof of either.
    Undecided,
}

/// A chart: rows of tilts, columns of azimuths.
#[derive(Debug, Clone)]
pub struct Chart {
    /// Largest tilt, rad.
    pub tilt: f64,
    /// [`ROWS`] + 1 rows of [`COLUMNS`] cells; all cells of the first row are the same direction.
    pub cells: Vec<Vec<Cell>>,
    /// For each azimuth: the tilt up to which the grasp holds without a gap, rad; at most `tilt`.
    pub safe: Vec<f64>,
    /// Azimuth and tilt, rad, of the failure at the smallest tilt, found by golden sections around the worst azimuth.
    /// `None` if nothing fails.
    pub first_failure: Option<[f64; 2]>,
    /// Number of cone programs that were solved.
    pub solved: usize,
}

/// Decides one load after another for the same grasp, and reuses earlier forces and certificates.
pub struct Decider<'a> {
    statics: &'a Statics,
    held: Vec<Forces>,
    failed: Vec<Certificate>,
    /// Number of cone programs that were solved.
    pub solved: usize,
}

impl<'a> Decider<'a> {
    /// A decider without earlier results.
    pub fn new(statics: &'a Statics) -> Self {
        Self { statics, held: Vec::new(), failed: Vec::new(), solved: 0 }
    }

    /// Decides whether the grasp holds this load.
    pub fn decide(&mut self, load: Vector6) -> Cell {
        let statics = self.statics.under(load);
        if self.failed.iter().rev().any(|certificate| certificate.proves(&statics)) {
            return Cell::Impossible;
        }
        let scaled = ScaledGrasp::new(&statics);
        let near = |forces: &Forces| scaled.rebalanced(&forces.contacts).filter(|forces| forces.margin >= 0.0);
        if self.held.iter().rev().any(|forces| near(forces).is_some()) {
            return Cell::Holds;
        }
        self.solved += 1;
        match verdict(&statics) {
            Verdict::Holds(forces) => {
                if forces.margin > LOAD_TOLERANCE * statics.scale() {
                    keep_latest(&mut self.held, forces);
                }
                Cell::Holds
            }
            Verdict::Impossible(certificate) => {
                keep_latest(&mut self.failed, certificate);
                Cell::Impossible
            }
            Verdict::Undecided => Cell::Undecided,
        }
    }
}

/// Appends an element to a list of at most [`MAX_KEPT`] elements, and drops the oldest element if the list is full.
fn keep_latest<T>(kept: &mut Vec<T>, latest: T) {
    if kept.len() == MAX_KEPT {
        kept.remove(0);
    }
    kept.push(latest);
}

/// Computes the chart for tilts of gravity up to `tilt`, rad. The rest of the load stays as it is.
///
/// # Errors
/// There is no gravity to tilt.
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
    // The tilt at which an azimuth stops holding, bisected between a tilt that holds and one that fails.
    let mut safe_at = |azimuth: f64, from: f64, to: f64| {
        let (mut holds, mut fails) = (from, to);
        for _ in 0..TILT_HALVINGS {
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
            Some(minimum_near(azimuth(worst), TAU / COLUMNS as f64, |azimuth| safe_at(azimuth, 0.0, tilt)))
        }
        _ => None,
    };
    Ok(Chart { tilt, cells, safe, first_failure, solved: decider.solved })
}

/// The minimum of a function of an angle within `width` of `middle`, by golden sections: argument, in 0..2 pi, and
/// value.
fn minimum_near(middle: f64, width: f64, mut function: impl FnMut(f64) -> f64) -> [f64; 2] {
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    let mut best = [middle, function(middle)];
    let (mut low, mut high) = (middle - width, middle + width);
    // 28 sections locate it to 1e-6 of the width.
    for _ in 0..28 {
        let [left, right] = [high - golden * (high - low), low + golden * (high - low)];
        let values = [function(left), function(right)];
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

/// A vector tilted by an angle towards an azimuth about it, both in rad. As in 1994, azimuth 0 is a rotation about the
/// x axis, or about the y axis if the vector is along x.
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

/// Kind of disturbance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disturb {
    /// A force through the centre of mass, N.
    Force,
    /// A torque, N m.
    Torque,
}

/// Largest disturbances that a grasp holds in addition to its load, N or N m.
#[derive(Debug, Clone)]
pub struct Disturbance {
    /// Directions, and the size up to which a disturbance is held in each: along the object's axes x, -x, y and so on,
    /// then along the diagonals of a cube.
    pub sizes: Vec<(DVec3, f64)>,
    /// A disturbance of this size is held in every direction. The loads that a grasp holds form a convex set. It
    /// contains the octahedron spanned by the six sizes along the axes, and hence the ball of this radius inside of
    /// that.
    pub every: f64,
    /// Number of cone programs that were solved.
    pub solved: usize,
}

/// Finds the largest force, or torque, that the grasp holds in addition to its load. Sizes are searched up to `most`.
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

/// Unit vectors along the six half-axes and the eight diagonals of the cube.
fn directions() -> impl Iterator<Item = DVec3> {
    let axes = DVec3::AXES.into_iter().flat_map(|axis| [axis, -axis]);
    let corner = |k: u32| DVec3::from([0, 1, 2].map(|axis| if k >> axis & 1 == 0 { -1.0 } else { 1.0 })).normalize();
    axes.chain((0..8).map(corner))
}

impl Chart {
    /// Number of cells that hold, and of all cells. The first row counts once per column, as in 1994.
    pub fn count(&self) -> [usize; 2] {
        let holds = self.cells.iter().flatten().filter(|cell| **cell == Cell::Holds).count();
        [holds, self.cells.len() * COLUMNS]
    }

    /// Fraction of the solid angle within the largest tilt in which the grasp holds. Each cell stands for the
    /// directions nearest to it.
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

    /// Largest tilt up to which the grasp holds in every direction that was checked, rad.
    pub fn safe_tilt(&self) -> f64 {
        self.first_failure.map_or(self.tilt, |[_, tilt]| tilt)
    }
}
