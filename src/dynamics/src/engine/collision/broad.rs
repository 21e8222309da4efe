//! Broad phase: pairs of shapes whose bounding boxes overlap.
//!
//! Each box has a padded box around it that contains it for several steps. Pairs of shapes whose padded boxes overlap
//! are the candidates. A sweep along x over the trees finds them, shape by shape where the boxes of two trees overlap.
//! The sweep is repeated only when a shape leaves its padded box; a step tests the boxes of the candidates. The
//! candidates include every pair that can meet, so their age does not change the result.

use std::cmp::Ordering;

use bevy_math::DVec3;

use super::{
    contact::SEARCH_MARGIN,
    geom::{Bounds, Placement},
    shape_model::Model,
};
use crate::engine::state::tree::Tree;

/// Padding of a box on each side: this fraction of the size of its shape, plus the distance that the shape moves in
/// [`STEPS_OF_MOTION`] steps.
///
/// With 1000 bodies falling side by side, there is a sweep in every twelfth step, which costs as much as testing all
/// candidates in six steps.
const BOX_PADDING: f64 = 0.1;
const STEPS_OF_MOTION: f64 = 8.0;

/// Candidate pairs, and the buffers to find them.
#[derive(Debug)]
pub(super) struct BroadPhase {
    /// Padded box of each shape, from the last sweep.
    padded: Vec<Bounds>,
    /// True after a shape has left its padded box.
    is_outdated: bool,
    /// Pairs of shapes whose padded boxes overlap, sorted.
    candidates: Vec<(u32, u32)>,
    /// Trees, sorted by the lower ends of their boxes along x.
    order: Vec<usize>,
    /// Box of each tree, by its index.
    boxes: Vec<Bounds>,
    /// The boxes in the order of `order`.
    swept: Vec<Bounds>,
    /// Buffers to sort the candidates: their unsorted copy, and where those of each first shape start.
    unsorted: Vec<(u32, u32)>,
    places: Vec<usize>,
}

impl BroadPhase {
    /// A broad phase for this number of trees and of shapes.
    pub(super) fn new(trees: usize, shapes: usize) -> Self {
        Self {
            padded: vec![Bounds::NOTHING; shapes],
            is_outdated: true,
            candidates: Vec::new(),
            order: (0..trees).collect(),
            boxes: vec![Bounds::NOTHING; trees],
            swept: Vec::new(),
            unsorted: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Marks the candidates as outdated if the present box of a shape is not inside its padded box.
    #[inline]
    pub(super) fn check_padded_box(&mut self, shape: usize, bounds: &Bounds) {
        self.is_outdated |= !self.padded[shape].contains(bounds);
    }

    /// Finds all pairs of shapes whose boxes overlap and of which at least one is awake, sorted.
    pub(super) fn find_pairs(
        &mut self,
        model: &Model,
        trees: &[Tree],
        placements: &mut [Placement],
        h: f64,
        found: &mut Vec<(usize, usize)>,
    ) {
        if self.is_outdated {
            for (shape, geom) in model.geoms.iter().enumerate() {
                let bounds = model.extents[shape].placement(&trees[geom.side.tree], h).bounds;
                let motion = 0.5 * (bounds.high - bounds.low) - DVec3::splat(0.5 * SEARCH_MARGIN + geom.size());
                let padding =
                    if geom.moves { motion * (0.5 * STEPS_OF_MOTION) + BOX_PADDING * geom.size() } else { DVec3::ZERO };
                let padded = Bounds { low: bounds.low - padding, high: bounds.high + padding };
                // A suspended or sleeping shape may have its box from an earlier step.
                self.padded[shape] = padded.union(&placements[shape].bounds);
            }
            self.find_candidates(model, usize::MAX);
            self.is_outdated = false;
        }
        self.keep_overlapping(model, trees, placements, found);
    }

    /// Like [`Self::find_pairs`] without looking ahead, and with about `most` candidates at most.
    pub(super) fn find_some(
        &mut self,
        model: &Model,
        trees: &[Tree],
        placements: &mut [Placement],
        most: usize,
        found: &mut Vec<(usize, usize)>,
    ) {
        self.padded.iter_mut().zip(&*placements).for_each(|(padded, placement)| *padded = placement.bounds);
        self.find_candidates(model, most);
        self.is_outdated = true;
        self.keep_overlapping(model, trees, placements, found);
    }

    /// Adds the candidates whose tightened boxes overlap, one of each pair being awake and none suspended.
    fn keep_overlapping(
        &self,
        model: &Model,
        trees: &[Tree],
        placements: &mut [Placement],
        found: &mut Vec<(usize, usize)>,
    ) {
        found.clear();
        for &(a, b) in &self.candidates {
            let (a, b) = (a as usize, b as usize);
            if !placements[a].bounds.overlaps(&placements[b].bounds) {
                continue;
            }
            let (one, two) = (&model.geoms[a], &model.geoms[b]);
            let [first, second] = [one, two].map(|geom| &trees[geom.side.tree]);
            if (first.is_awake() || second.is_awake()) && !first.is_suspended() && !second.is_suspended() {
                one.tighten_bounds(&mut placements[a], first);
                two.tighten_bounds(&mut placements[b], second);
                if placements[a].bounds.overlaps(&placements[b].bounds) {
                    found.push((a, b));
                }
            }
        }
    }

    /// Sweeps along x, and stops when there are about `most` candidates.
    fn find_candidates(&mut self, model: &Model, most: usize) {
        for (around, own) in self.boxes.iter_mut().zip(model.starts.windows(2)) {
            *around = self.padded[own[0]..own[1]].iter().fold(Bounds::NOTHING, Bounds::union);
        }
        let boxes = &self.boxes;
        insertion_sort(&mut self.order, |&a, &b| boxes[a].low.x.total_cmp(&boxes[b].low.x).then(a.cmp(&b)));
        self.swept.clear();
        self.swept.extend(self.order.iter().map(|&tree| boxes[tree]));
        self.candidates.clear();
        for (place, (&first, around)) in self.order.iter().zip(&self.swept).enumerate() {
            if self.candidates.len() >= most {
                break;
            }
            if model.self_colliding[first] {
                add_candidates(model, &self.padded, first, first, &mut self.candidates);
            }
            let following = self.swept[place + 1..].iter().zip(&self.order[place + 1..]);
            for (other, &second) in following.take_while(|(other, _)| !(other.low.x > around.high.x)) {
                if around.overlaps(other) {
                    add_candidates(model, &self.padded, first.min(second), first.max(second), &mut self.candidates);
                }
            }
        }
        self.sort_candidates(model.geoms.len());
    }

    /// Sorts the candidates: a counting sort by their first shape, then an insertion sort by their second.
    fn sort_candidates(&mut self, shapes: usize) {
        let Self { candidates, places, unsorted, .. } = self;
        places.clear();
        places.resize(shapes + 1, 0);
        candidates.iter().for_each(|pair| places[pair.0 as usize + 1] += 1);
        for shape in 1..places.len() {
            places[shape] += places[shape - 1];
        }
        unsorted.clone_from(candidates);
        for &pair in &*unsorted {
            let place = &mut places[pair.0 as usize];
            candidates[*place] = pair;
            *place += 1;
        }
        insertion_sort(candidates, Ord::cmp);
    }
}

/// Adds the pairs of shapes of two trees, or of one tree, that may collide and whose padded boxes overlap.
fn add_candidates(model: &Model, padded: &[Bounds], first: usize, second: usize, candidates: &mut Vec<(u32, u32)>) {
    let number = |shape: usize| u32::try_from(shape).expect("fewer shapes than memory could hold");
    for a in model.starts[first]..model.starts[first + 1] {
        let from = if first == second { a + 1 } else { model.starts[second] };
        for b in from..model.starts[second + 1] {
            let (one, two) = (&model.geoms[a], &model.geoms[b]);
            if (one.moves || two.moves) && padded[a].overlaps(&padded[b]) && model.may_meet(one, two) {
                candidates.push((number(a), number(b)));
            }
        }
    }
}

/// Insertion sort, for lists in which few elements are far from their sorted position.
fn insertion_sort<T: Copy>(list: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
    for end in 1..list.len() {
        let (new, mut place) = (list[end], end);
        while place > 0 && order(&new, &list[place - 1]).is_lt() {
            list[place] = list[place - 1];
            place -= 1;
        }
        list[place] = new;
    }
}
