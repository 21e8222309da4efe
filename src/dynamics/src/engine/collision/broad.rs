//! Which shapes may meet in a step: those whose boxes do.
//!
//! Around each box lies a roomier one that holds it for some steps. Pairs of shapes whose roomy boxes meet are
//! candidates; they are found by a sweep along x over the trees, shape by shape where the boxes of two trees meet, and
//! only when a shape leaves its roomy box. A step looks at the boxes of the candidates. Since these are all pairs that
//! can meet, how old they are changes no result.

use std::cmp::Ordering;

use bevy_math::DVec3;

use super::{
    Model,
    geom::{Bounds, MARGIN, Placement},
};
use crate::engine::state::tree::Tree;

/// How much room a box has on each side: this part of the shape's size, and what its motion takes in so many steps.
/// Where 1000 bodies fall side by side, a sweep is made every twelfth step and costs as much as a look at all
/// candidates in six.
const ROOM: f64 = 0.1;
const STEPS_OF_MOTION: f64 = 8.0;

/// The candidates, and the memory to find them.
#[derive(Debug)]
pub(super) struct BroadPhase {
    /// The roomy box of each shape; what left its own since the last sweep makes them old.
    roomy: Vec<Bounds>,
    is_old: bool,
    /// Pairs of shapes whose roomy boxes meet, in order.
    candidates: Vec<(u32, u32)>,
    /// The trees in the order of the lower ends of their boxes along x, and these boxes in that order.
    order: Vec<usize>,
    boxes: Vec<Bounds>,
    swept: Vec<Bounds>,
    /// Memory to sort the candidates.
    unsorted: Vec<(u32, u32)>,
    places: Vec<usize>,
}

impl BroadPhase {
    /// Of so many trees and shapes.
    pub(super) fn new(trees: usize, shapes: usize) -> Self {
        Self {
            roomy: vec![Bounds::NOTHING; shapes],
            is_old: true,
            candidates: Vec::new(),
            order: (0..trees).collect(),
            boxes: vec![Bounds::NOTHING; trees],
            swept: Vec::new(),
            unsorted: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Notes where a shape is now.
    #[inline]
    pub(super) fn note(&mut self, shape: usize, bounds: &Bounds) {
        self.is_old |= !self.roomy[shape].holds(bounds);
    }

    /// Finds the pairs of shapes whose boxes meet and of which one is awake, in order.
    pub(super) fn find_pairs(
        &mut self,
        model: &Model,
        trees: &[Tree],
        placements: &mut [Placement],
        h: f64,
        found: &mut Vec<(usize, usize)>,
    ) {
        if self.is_old {
            for (shape, geom) in model.geoms.iter().enumerate() {
                let bounds = model.extents[shape].place(&trees[geom.side.tree], h).bounds;
                let motion = 0.5 * (bounds.high - bounds.low) - DVec3::splat(0.5 * MARGIN + geom.size());
                let room = if geom.moves { motion * (0.5 * STEPS_OF_MOTION) + ROOM * geom.size() } else { DVec3::ZERO };
                let roomy = Bounds { low: bounds.low - room, high: bounds.high + room };
                // What waits or sleeps may have been placed some time ago.
                self.roomy[shape] = roomy.with(&placements[shape].bounds);
            }
            self.find_candidates(model, usize::MAX);
            self.is_old = false;
        }
        self.pick(model, trees, placements, found);
    }

    /// The same without a look ahead, about as many as `most` at most.
    pub(super) fn find_some(
        &mut self,
        model: &Model,
        trees: &[Tree],
        placements: &mut [Placement],
        most: usize,
        found: &mut Vec<(usize, usize)>,
    ) {
        self.roomy.iter_mut().zip(&*placements).for_each(|(roomy, placement)| *roomy = placement.bounds);
        self.find_candidates(model, most);
        self.is_old = true;
        self.pick(model, trees, placements, found);
    }

    /// Picks the candidates whose boxes meet as small as they can be.
    fn pick(&self, model: &Model, trees: &[Tree], placements: &mut [Placement], found: &mut Vec<(usize, usize)>) {
        found.clear();
        for &(a, b) in &self.candidates {
            let (a, b) = (a as usize, b as usize);
            if !placements[a].bounds.meets(&placements[b].bounds) {
                continue;
            }
            let (one, two) = (&model.geoms[a], &model.geoms[b]);
            let [first, second] = [one, two].map(|geom| &trees[geom.side.tree]);
            if (first.is_awake() || second.is_awake()) && !first.is_suspended() && !second.is_suspended() {
                one.tighten(&mut placements[a], first);
                two.tighten(&mut placements[b], second);
                if placements[a].bounds.meets(&placements[b].bounds) {
                    found.push((a, b));
                }
            }
        }
    }

    /// Finds about as many candidates as `most` at most.
    fn find_candidates(&mut self, model: &Model, most: usize) {
        for (around, own) in self.boxes.iter_mut().zip(model.starts.windows(2)) {
            *around = self.roomy[own[0]..own[1]].iter().fold(Bounds::NOTHING, Bounds::with);
        }
        let boxes = &self.boxes;
        insert_in_order(&mut self.order, |&a, &b| boxes[a].low.x.total_cmp(&boxes[b].low.x).then(a.cmp(&b)));
        self.swept.clear();
        self.swept.extend(self.order.iter().map(|&tree| boxes[tree]));
        self.candidates.clear();
        for (place, (&first, around)) in self.order.iter().zip(&self.swept).enumerate() {
            if self.candidates.len() >= most {
                break;
            }
            if model.self_colliding[first] {
                candidates_of(model, &self.roomy, first, first, &mut self.candidates);
            }
            let following = self.swept[place + 1..].iter().zip(&self.order[place + 1..]);
            for (other, &second) in following.take_while(|(other, _)| !(other.low.x > around.high.x)) {
                if around.meets(other) {
                    candidates_of(model, &self.roomy, first.min(second), first.max(second), &mut self.candidates);
                }
            }
        }
        self.sort_candidates(model.geoms.len());
    }

    /// Sorts the candidates by counting those of each first shape, and then by their second.
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
        insert_in_order(candidates, Ord::cmp);
    }
}

/// Adds the pairs of shapes of two trees, or of one, that may meet and whose roomy boxes do.
fn candidates_of(model: &Model, roomy: &[Bounds], first: usize, second: usize, candidates: &mut Vec<(u32, u32)>) {
    let number = |shape: usize| u32::try_from(shape).expect("fewer shapes than memory could hold");
    for a in model.starts[first]..model.starts[first + 1] {
        let from = if first == second { a + 1 } else { model.starts[second] };
        for b in from..model.starts[second + 1] {
            let (one, two) = (&model.geoms[a], &model.geoms[b]);
            if (one.moves || two.moves) && roomy[a].meets(&roomy[b]) && model.may_meet(one, two) {
                candidates.push((number(a), number(b)));
            }
        }
    }
}

/// Sorts a list by insertion, in which few are far from their places.
fn insert_in_order<T: Copy>(list: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
    for end in 1..list.len() {
        let (new, mut place) = (list[end], end);
        while place > 0 && order(&new, &list[place - 1]).is_lt() {
            list[place] = list[place - 1];
            place -= 1;
        }
        list[place] = new;
    }
}
