//! Rays against terrain.
//!
//! A ray is followed over the grid column by column or row by row, whichever it crosses more of (Amanatides and Woo,
//! 1987). It skips cells, and blocks of cells, that it passes above or below (Tevs, Ihrke and Seidel, 2008).

use bevy_math::DVec3;

use crate::parry::{
    query::{Ray, RayCast},
    shape::{HeightField, Triangle},
};

/// Number of cells along the side of a block, and of blocks along the side of the next larger one. Two heights for 8 x
/// 8 cells take 3 % of the memory of the field.
const BLOCK_SIDE: usize = 8;
/// Margin of a cell relative to its size; the rounding of a position on a grid of 1e6 cells is 1e-4 of that.
const CELL_MARGIN: f64 = 1e-6;
/// Margin of heights relative to the heights of the ray: more than their rounding.
const HEIGHT_ROUNDING: f64 = 1e-12;

/// The lowest and highest height of each block of a grid, on levels of growing block size.
pub(super) struct Relief {
    levels: Vec<Level>,
}

/// The blocks of one size, row by row.
struct Level {
    rows: usize,
    columns: usize,
    extremes: Vec<Extremes>,
}

#[derive(Clone, Copy)]
struct Extremes {
    low: f64,
    high: f64,
}

/// A window of blocks of one level; inclusive ranges.
#[derive(Clone, Copy)]
struct BlockWindow {
    rows: [usize; 2],
    columns: [usize; 2],
}

/// A ray over the grid: horizontal coordinates in cells, heights in m, per metre of the ray.
struct Path<'a> {
    field: &'a HeightField,
    line: &'a Ray,
    /// Column, height, row.
    start: DVec3,
    rate: DVec3,
    /// Margin of heights, m.
    margin: f64,
}

impl Extremes {
    const NONE: Self = Self { low: f64::INFINITY, high: f64::NEG_INFINITY };

    fn union(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The extremes of a cell's corners.
    fn of_cell(field: &HeightField, row: usize, column: usize) -> Self {
        let heights = field.heights();
        let corner = |row: usize, column: usize| heights[(row, column)];
        let (a, b) = (corner(row, column), corner(row + 1, column));
        let (c, d) = (corner(row, column + 1), corner(row + 1, column + 1));
        Self { low: a.min(b).min(c.min(d)), high: a.max(b).max(c.max(d)) }
    }
}

impl Relief {
    /// Computes the blocks of a field; cells without surface are empty.
    pub(super) fn new(field: &HeightField) -> Self {
        let (rows, columns) = (field.nrows(), field.ncols());
        let cell = |row, column| match field.triangles_at(row, column) {
            (None, None) => Extremes::NONE,
            _ => Extremes::of_cell(field, row, column),
        };
        let mut levels = vec![Level::over_blocks(rows, columns, cell)];
        while let Some(last) = levels.last()
            && last.extremes.len() > 1
        {
            let level =
                Level::over_blocks(last.rows, last.columns, |row, column| last.extremes[row * last.columns + column]);
            levels.push(level);
        }
        Self { levels }
    }

    /// The distance along a ray in the field's frame to its surface, m; `None` beyond `limit`.
    pub(super) fn cast(&self, field: &HeightField, line: &Ray, limit: f64) -> Option<f64> {
        let bounds = field.root_aabb();
        let (cells, scale) = (DVec3::new(field.ncols() as f64, 1.0, field.nrows() as f64), field.scale());
        let per_metre = cells / DVec3::new(scale.x, 1.0, scale.z);
        let start = line.origin * per_metre + DVec3::new(0.5 * cells.x, 0.0, 0.5 * cells.z);
        let reach = bounds.mins.y.abs().max(bounds.maxs.y.abs()) + line.origin.y.abs();
        let path = Path { field, line, start, rate: line.dir * per_metre, margin: HEIGHT_ROUNDING * (1.0 + reach) };
        let mut span = [0.0, limit];
        path.clip(&mut span, 1, bounds.mins.y - path.margin, bounds.maxs.y + path.margin);
        path.clip(&mut span, 0, -CELL_MARGIN, cells.x + CELL_MARGIN);
        path.clip(&mut span, 2, -CELL_MARGIN, cells.z + CELL_MARGIN);
        let top = self.levels.last()?;
        let all = BlockWindow { rows: [0, top.rows - 1], columns: [0, top.columns - 1] };
        let mut nearest = limit.next_up();
        self.search_blocks(&path, self.levels.len(), all, span, &mut nearest);
        (nearest <= limit).then_some(nearest)
    }

    /// Searches the surface for a nearer point: in a window of blocks of a level (of cells at level 0), within the
    /// interval `span` of the ray.
    fn search_blocks(&self, path: &Path, level: usize, window: BlockWindow, span: [f64; 2], nearest: &mut f64) {
        if span[0] > span[1] {
            return;
        }
        let side = (BLOCK_SIDE.pow(level as u32)) as f64;
        let (lead, other) = if path.rate.x.abs() >= path.rate.z.abs() { (0, 2) } else { (2, 0) };
        let (along, across) = if lead == 0 { (window.columns, window.rows) } else { (window.rows, window.columns) };
        let [first, last] = path.blocks(lead, side, span, along);
        let is_forward = path.rate[lead] >= 0.0;
        for count in 0..=last.saturating_sub(first) {
            let strip = if is_forward { first + count } else { last - count };
            let mut part = span;
            path.clip(&mut part, lead, strip as f64 * side - CELL_MARGIN, (strip + 1) as f64 * side + CELL_MARGIN);
            if part[0] > *nearest {
                return;
            }
            if part[0] > part[1] {
                continue;
            }
            let heights = path.heights(part);
            let [low, high] = path.blocks(other, side, part, across);
            for block in low..=high {
                let (row, column) = if lead == 0 { (block, strip) } else { (strip, block) };
                if level == 0 {
                    path.intersect_cell(row, column, heights, nearest);
                } else {
                    self.search_block(path, level, (row, column), part, heights, nearest);
                }
            }
        }
    }

    /// Searches the blocks inside a block, unless the ray passes entirely above or below it.
    fn search_block(
        &self,
        path: &Path,
        level: usize,
        (row, column): (usize, usize),
        span: [f64; 2],
        heights: Extremes,
        nearest: &mut f64,
    ) {
        let blocks = &self.levels[level - 1];
        if !heights.overlaps(blocks.extremes[row * blocks.columns + column]) {
            return;
        }
        let (rows, columns) = match level {
            1 => (path.field.nrows(), path.field.ncols()),
            _ => (self.levels[level - 2].rows, self.levels[level - 2].columns),
        };
        let children =
            |block: usize, count: usize| [block * BLOCK_SIDE, (block * BLOCK_SIDE + BLOCK_SIDE).min(count) - 1];
        let window = BlockWindow { rows: children(row, rows), columns: children(column, columns) };
        self.search_blocks(path, level - 1, window, span, nearest);
    }
}

impl Extremes {
    fn overlaps(self, other: Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}

impl Level {
    /// The blocks over `rows` by `columns` smaller ones, whose extremes are given by row and column.
    fn over_blocks(rows: usize, columns: usize, extremes: impl Fn(usize, usize) -> Extremes) -> Self {
        let mut level =
            Self { rows: rows.div_ceil(BLOCK_SIDE), columns: columns.div_ceil(BLOCK_SIDE), extremes: vec![] };
        level.extremes.resize(level.rows * level.columns, Extremes::NONE);
        for row in 0..rows {
            for column in 0..columns {
                let block = &mut level.extremes[row / BLOCK_SIDE * level.columns + column / BLOCK_SIDE];
                *block = block.union(extremes(row, column));
            }
        }
        level
    }
}

impl Path<'_> {
    /// Restricts an interval of the ray to two bounds of a coordinate.
    fn clip(&self, span: &mut [f64; 2], axis: usize, low: f64, high: f64) {
        let (start, rate) = (self.start[axis], self.rate[axis]);
        // A ray that moves less than the margin along its whole length counts as constant.
        if rate.abs() < 1e-13 {
            if !(low <= start && start <= high) {
                span[1] = f64::NEG_INFINITY;
            }
            return;
        }
        let (one, two) = ((low - start) / rate, (high - start) / rate);
        span[0] = span[0].max(one.min(two));
        span[1] = span[1].min(one.max(two));
    }

    /// The inclusive range of blocks along one axis that an interval of the ray touches, limited to `range`. `side`:
    /// cells along the side of a block.
    fn blocks(&self, axis: usize, side: f64, span: [f64; 2], range: [usize; 2]) -> [usize; 2] {
        let [one, two] = span.map(|distance| self.start[axis] + self.rate[axis] * distance);
        let block = |place: f64| ((place / side).max(0.0) as usize).clamp(range[0], range[1]);
        [block(one.min(two) - CELL_MARGIN), block(one.max(two) + CELL_MARGIN)]
    }

    /// The lowest and highest height of an interval of the ray.
    fn heights(&self, span: [f64; 2]) -> Extremes {
        let [one, two] = span.map(|distance| self.start.y + self.rate.y * distance);
        Extremes { low: one.min(two) - self.margin, high: one.max(two) + self.margin }
    }

    /// Reduces `nearest` to the distance to a cell's triangles, if shorter.
    fn intersect_cell(&self, row: usize, column: usize, heights: Extremes, nearest: &mut f64) {
        if !heights.overlaps(Extremes::of_cell(self.field, row, column)) {
            return;
        }
        let mut intersect = |triangle: Option<Triangle>| {
            let distance = triangle.and_then(|triangle| triangle.cast_local_ray(self.line, *nearest, true));
            *nearest = distance.map_or(*nearest, |distance| distance.min(*nearest));
        };
        let (first, second) = self.field.triangles_at(row, column);
        intersect(first);
        intersect(second);
    }
}
