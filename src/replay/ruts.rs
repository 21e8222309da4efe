//! The ground of a repeated run with its ruts, as an elevation model.

mod surface;

use std::collections::BTreeMap;

use simpartner_description::dem::{Dem, MAX_SAMPLES};
use simpartner_dynamics::Rut;
use simpartner_model::{Ground, Mechanism};

use self::surface::{Surface, Window};
use super::Replay;

/// Number of cells of untouched ground around all ruts, so that their edges are visible.
const MARGIN_CELLS: i64 = 2;

/// Surface of the ground over the rectangle that contains all ruts.
#[derive(Debug, Clone, PartialEq)]
pub struct RutRelief {
    /// Heights, world frame, m; NaN where there is no ground.
    pub dem: Dem,
    /// x and z of the middle of the rectangle, m.
    pub middle: [f64; 2],
    /// Number of cells with a rut.
    pub pressed: usize,
    /// Largest depth below the initial surface, along its normal, m.
    pub deepest: f64,
    /// Number of grounds whose ruts are left out: planes steeper than 60 degrees.
    pub left_out: usize,
}

/// Depth of the deepest rut in each cell, m, by the cell's numbers along x and z.
type Depths = BTreeMap<[i64; 2], f64>;

impl Replay {
    /// The ground with its ruts after the steps made so far, with a sample every `cell` m. The engine keeps ruts in
    /// cells of [`simpartner_dynamics::RUT_CELL`]. `None` without ruts.
    ///
    /// # Errors
    /// There would be too many samples; the error is a sentence.
    pub fn ruts(&self, cell: f64) -> Result<Option<RutRelief>, String> {
        let mechanism = &self.simulation.world().mechanism;
        relief_of(mechanism, |ground| self.simulation.ruts(ground), cell)
    }
}

fn relief_of(mechanism: &Mechanism, ruts: impl Fn(usize) -> Vec<Rut>, cell: f64) -> Result<Option<RutRelief>, String> {
    let (mut surfaces, mut left_out) = (Vec::new(), 0);
    for (number, ground) in mechanism.grounds.iter().enumerate() {
        let ruts = ruts(number);
        match has_heights(ground) {
            true => surfaces.push((ground, rut_depths(&ruts, cell))),
            false => left_out += usize::from(!ruts.is_empty()),
        }
    }
    let pressed = || surfaces.iter().flat_map(|(_, depths)| depths);
    let Some((&start, _)) = pressed().next() else { return Ok(None) };
    let fold = |[low, high]: [[i64; 2]; 2], (at, _): (&[i64; 2], &f64)| {
        [[low[0].min(at[0]), low[1].min(at[1])], [high[0].max(at[0]), high[1].max(at[1])]]
    };
    let [low, high] = pressed().fold([start; 2], fold);
    let low = low.map(|number| number - MARGIN_CELLS);
    let points = [0, 1].map(|axis| (high[axis] + MARGIN_CELLS - low[axis] + 1) as usize);
    if points[0].saturating_mul(points[1]) > MAX_SAMPLES {
        return Err(format!(
            "the ruts reach over {} x {} cells of {cell} m, and at most {MAX_SAMPLES} are written; take larger cells",
            points[0], points[1]
        ));
    }
    let place = |number: i64| (number as f64 + 0.5) * cell;
    let window = Window { low: low.map(|number| number - 1), points: points.map(|count| count + 2), cell };
    let surfaces: Vec<_> = surfaces.iter().map(|(ground, depths)| (Surface::new(ground, window), depths)).collect();
    let height = |at: [i64; 2]| {
        let lowered = |(surface, depths): &(Surface, &Depths)| {
            surface.pressed_height(at, depths.get(&at).copied().unwrap_or(0.0))
        };
        // The highest ground is the visible one. The maximum of a number and NaN is the number.
        surfaces.iter().filter_map(lowered).fold(f64::NAN, f64::max)
    };
    let cells = (0..points[0]).flat_map(|i| (0..points[1]).map(move |j| [low[0] + i as i64, low[1] + j as i64]));
    let heights = cells.map(height).collect();
    Ok(Some(RutRelief {
        dem: Dem { points_x: points[0], points_z: points[1], spacing: Some([cell; 2]), white: None, heights },
        middle: [0, 1].map(|axis| place(low[axis]) + 0.5 * cell * (points[axis] - 1) as f64),
        pressed: pressed().count(),
        deepest: pressed().map(|(_, depth)| *depth).fold(0.0, f64::max),
        left_out,
    }))
}

/// True if the heights of a ground are a function of x and z; steep planes are excluded.
fn has_heights(ground: &Ground) -> bool {
    match ground {
        Ground::Plane(plane) => plane.normal.y > 0.5,
        Ground::Heightfield(_) | Ground::Mesh(_) => true,
    }
}

fn rut_depths(ruts: &[Rut], cell: f64) -> Depths {
    let mut depths = Depths::new();
    for rut in ruts {
        let deepest: &mut f64 = depths.entry(rut.centre.map(|along| (along / cell).floor() as i64)).or_default();
        *deepest = deepest.max(rut.depth);
    }
    depths
}
