//! Soil under a shape: six rows, whose impulses are the wrench of the soil over the substep.
//!
//! The wrench depends on the velocity at the end of the substep, W(u) = W_0 - K (u - u_0) near a guess u_0, with K = L D Lᵀ. Along
//! the columns of L that is six laws of one row each, with the compliance 1 / (h D). Where the soil turns out to answer
//! otherwise at the velocity that was found, that is the next guess.

use bevy_math::DVec3;

use super::{Constraints, Parts, Source, rows::Directions};
use crate::engine::{
    problem::{Law, Scheme},
    soil::{Footprints, Response, Six},
    spatial::Spatial,
};

/// A guess is good enough if the wrench at the velocity that was found is the one that was assumed to this part of it: over a step that is
/// an error of second order already.
const NEAR: f64 = 1e-3;
/// So small a part of the velocities that a row's wrench would stop at is rounding: such a row pushes whatever moves.
const FIRM: f64 = 1e9;

/// What the rows of a contact with soil are made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct SoilRows {
    contact: usize,
    print: usize,
    /// Its first block.
    start: usize,
    response: Response,
    /// About the patch's point: the length that moments are divided by, m; the twist at the start, without impulses, and as guessed
    /// for the end.
    size: f64,
    before: Six,
    free: Six,
    guess: Six,
}

impl SoilRows {
    /// The world impulse and angular impulse of the rows' impulses.
    fn impulse(&self, along: impl Fn(usize) -> f64) -> (DVec3, DVec3) {
        let mut sum = [0.0; 6];
        for (k, column) in self.response.columns.iter().enumerate() {
            let l = along(k);
            sum.iter_mut().zip(column).for_each(|(sum, part)| *sum += part * l);
        }
        let [x, y, z, u, v, w] = sum;
        (DVec3::new(x, y, z), DVec3::new(u, v, w) * self.size)
    }
}

impl Constraints {
    /// Adds the rows of a contact with soil.
    pub(super) fn add_soil(&mut self, parts: &Parts, index: usize, print: usize, scheme: &Scheme) {
        let contact = &parts.contacts[index];
        let patch = parts.prints.patch(print);
        let begin = self.problem.columns.len();
        let sides = [contact.a, Some(contact.b)];
        let axes = DVec3::AXES;
        let (free, before) = self.add_columns(parts, sides, patch.point, &Directions::along(axes));
        let turns = self.problem.columns.len();
        // Turning is moving at the distance of the patch's size.
        let about = Directions::about(axes.map(|axis| axis * patch.size));
        let (free_turn, before_turn) = self.add_columns(parts, sides, patch.point, &about);
        let end = self.problem.columns.len();
        let join = |[a, b, c]: [f64; 3], [d, e, f]: [f64; 3]| [a, b, c, d, e, f];
        let (free, before) = (join(free, free_turn), join(before, before_turn));
        let search = self.soil.searches.get(self.soil.rows.len());
        let guess = search.map_or(before, |search| search.guess);
        let response = patch.respond(&before, &guess, scheme.h);
        self.soil.units.clear();
        let columns = &self.problem.columns;
        let units = columns[begin..turns].iter().zip(&columns[turns..end]);
        self.soil.units.extend(units.map(|(a, b)| join([a[0], a[1], a[2]], [b[0], b[1], b[2]])));
        self.soil.index.clear();
        self.soil.index.extend_from_slice(&self.problem.index[begin..turns]);
        self.problem.columns.truncate(begin);
        self.problem.index.truncate(begin);
        let rows = SoilRows {
            contact: index,
            print,
            start: self.problem.blocks.len(),
            response,
            size: patch.size,
            before,
            free,
            guess,
        };
        let (force, moment) = (contact.impulse, contact.spin_impulse / patch.size);
        let start = [force.x, force.y, force.z, moment.x, moment.y, moment.z];
        let start = Response { wrench: start, ..response }.along_columns();
        self.add_soil_blocks(&rows, start, scheme.h);
        self.soil.rows.push(rows);
    }

    fn add_soil_blocks(&mut self, rows: &SoilRows, start: Six, h: f64) {
        let pushes = rows.response.along_columns();
        for k in 0..6 {
            let begin = self.problem.columns.len();
            let column = |unit: &Six| [rows.response.along(k, unit), 0.0, 0.0, 0.0];
            self.problem.columns.extend(self.soil.units.iter().map(column));
            self.problem.index.extend_from_slice(&self.soil.index);
            let along = |twist: &Six| [rows.response.along(k, twist), 0.0, 0.0];
            let (gain, push) = (rows.response.gains[k], pushes[k]);
            let gives_way = gain > 0.0 && push.abs() < FIRM * gain;
            let law = if gives_way {
                Law::Interval { low: f64::NEG_INFINITY, high: f64::INFINITY }
            } else {
                Law::Interval { low: h * push, high: h * push }
            };
            let compliance = [if gives_way { 1.0 / (h * gain) } else { 0.0 }, 0.0, 0.0];
            let mut block = self.problem.block(law, begin, compliance, along(&rows.free), along(&rows.before));
            if gives_way {
                block.bias[0] -= rows.response.along(k, &rows.guess) + push / gain;
            }
            block.impulse[0] = if gives_way { start[k] } else { h * push };
            self.push_block(Source::Soil { rows: self.soil.rows.len(), k }, block);
        }
    }

    /// The twist of a contact with soil at the end of the substep.
    fn soil_twist(&self, rows: &SoilRows) -> Six {
        let velocities = std::array::from_fn(|k| {
            let block = &self.problem.blocks[rows.start + k];
            self.problem.velocity(block)[0] - block.bias[0] + block.free[0]
        });
        rows.response.twist_of(velocities)
    }

    /// Whether soil presses as was assumed; otherwise what was found is the next guess.
    pub(in crate::engine) fn soil_settles(&mut self, prints: &Footprints, scheme: &Scheme) -> bool {
        self.soil.searches.resize(self.soil.rows.len(), Search::default());
        let mut settles = true;
        for place in 0..self.soil.rows.len() {
            let rows = self.soil.rows[place];
            let after = self.soil_twist(&rows);
            let (found, pressed) = prints.patch(rows.print).wrench(&rows.before, &after, scheme.h);
            self.soil.searches[place].pressed = pressed;
            let (mut off, mut whole) = (0.0, 0.0);
            let change: Six = std::array::from_fn(|k| after[k] - rows.guess[k]);
            let along: Six = std::array::from_fn(|k| rows.response.gains[k] * rows.response.along(k, &change));
            for (row, found) in found.into_iter().enumerate() {
                let less: f64 = (0..6).map(|k| rows.response.columns[k][row] * along[k]).sum();
                let assumed = rows.response.wrench[row] - less;
                off += (found - assumed) * (found - assumed);
                whole += found * found + assumed * assumed;
            }
            settles &= off <= NEAR * NEAR * whole;
            let up = prints.patch(rows.print).up;
            self.soil.searches[place].go_on(up, rows.guess, after);
        }
        settles
    }

    /// What soil did to the links, for [`Constraints::push_links`].
    pub(super) fn push_by_soil(&self, parts: &mut Parts, rate: f64) {
        for rows in &self.soil.rows {
            let (force, moment) = rows.impulse(|k| self.problem.blocks[rows.start + k].impulse[0] * rate);
            let contact = &parts.contacts[rows.contact];
            let (a, b, point) = (contact.a, contact.b, parts.prints.patch(rows.print).point);
            parts.push(b, Spatial::new(moment, force), point);
            if let Some(a) = a {
                parts.push(a, -Spatial::new(moment, force), point);
            }
        }
    }

    /// Adds the work of soil to what came into the trees, J: it takes, and what it gives back it took before.
    pub(super) fn count_work_of_soil(&self, parts: &mut Parts) {
        for rows in &self.soil.rows {
            let after = self.soil_twist(rows);
            let work: f64 = (0..6)
                .map(|k| {
                    let mean = rows.response.along(k, &rows.before) + rows.response.along(k, &after);
                    0.5 * mean * self.problem.blocks[rows.start + k].impulse[0]
                })
                .sum();
            if let Some(tree) = parts.tree_mut(parts.contacts[rows.contact].b) {
                tree.work.substep_work += work;
            }
        }
    }

    /// Gives contacts their impulses, and lets the soil go on.
    pub(super) fn write_back_soil(&self, contacts: &mut [super::Contact], prints: &mut Footprints, scheme: &Scheme) {
        for (rows, search) in self.soil.rows.iter().zip(&self.soil.searches) {
            let contact = &mut contacts[rows.contact];
            (contact.impulse, contact.spin_impulse) = rows.impulse(|k| self.problem.blocks[rows.start + k].impulse[0]);
            let rate = 1.0 / scheme.h;
            let forces = [contact.impulse * rate, contact.spin_impulse * rate, search.pressed];
            prints.advance(rows.print, [&rows.before, &self.soil_twist(rows)], forces, scheme.h);
        }
    }
}

/// The search for the twist at the end: Newton's method, kept between a guess at which soil pushes too much and one at which it pushes too
/// little. Pressed soil lets go within a hair, and Newton's method alone jumps from one side of that to the other.
#[derive(Debug, Clone, Copy, Default)]
struct Search {
    guess: Six,
    /// The force of normal stress at what was found.
    pressed: DVec3,
    /// Guesses at which the shape rises more slowly than it will, and faster.
    slower: Option<Six>,
    faster: Option<Six>,
}

impl Search {
    /// Goes on after a guess that led to a twist.
    fn go_on(&mut self, up: DVec3, guess: Six, found: Six) {
        let rise = |six: &Six| up.dot(DVec3::new(six[0], six[1], six[2]));
        if rise(&found) > rise(&guess) {
            self.slower = Some(guess)
        } else {
            self.faster = Some(guess)
        }
        self.guess = match (&self.slower, &self.faster) {
            (Some(slower), Some(faster)) if !(rise(slower) < rise(&found) && rise(&found) < rise(faster)) => {
                std::array::from_fn(|k| 0.5 * (slower[k] + faster[k]))
            }
            _ => found,
        };
    }
}

/// The contacts of an island with soil.
#[derive(Debug, Default)]
pub(super) struct SoilContacts {
    pub(super) rows: Vec<SoilRows>,
    /// Of each that was solved before in this substep, what to assume next.
    searches: Vec<Search>,
    /// Columns of a unit twist, and their unknowns, while rows are made.
    units: Vec<Six>,
    index: Vec<u32>,
}

impl SoilContacts {
    /// Begins anew; `again` with the guesses that were found.
    pub(super) fn begin(&mut self, again: bool) {
        self.rows.clear();
        if !again {
            self.searches.clear();
        }
    }
}
