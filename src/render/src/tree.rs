//! Trees of boxes over numbered items, four boxes in a node (Wald, Benthin and Boulos 2008, *Getting Rid of Packets*).
//!
//! The tree is built by the surface area heuristic in bins (Wald 2007, *On fast Construction of SAH-based Bounding
//! Volume Hierarchies*). Boxes are in f32; a walk compares a ray with the four boxes of a node at once. Nothing here
//! contracts or reorders sums, so every processor visits the same items in the same order.

use bevy_math::Vec3;
use wide::f32x4;

/// Number of bins along an axis: with more, trees are no better by more than one in a hundred (Wald 2007, table 1).
const BIN_COUNT: usize = 16;

/// Factor of the far end of an interval that makes up for the rounding of a slab test: 1 + 3 roundings of f32 (Ize
/// 2013, *Robust BVH Ray Traversal*).
const SLAB_ROUNDING: f32 = 1.0 + 6.0 * f32::EPSILON;

/// Smallest component of a direction: its inverse and the products with coordinates below 1e15 are finite.
const LEAST_COMPONENT: f32 = 1e-20;

/// An axis-aligned box.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bounds {
    pub(crate) low: Vec3,
    pub(crate) high: Vec3,
}

impl Bounds {
    /// The box of nothing.
    pub(crate) const EMPTY_BOUNDS: Self = Self { low: Vec3::INFINITY, high: Vec3::NEG_INFINITY };

    /// The smallest box around both.
    pub(crate) fn joined_with(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The smallest box around this one and a point.
    pub(crate) fn with_point(self, point: Vec3) -> Self {
        Self { low: self.low.min(point), high: self.high.max(point) }
    }

    /// Half of the surface, the measure of how many rays meet a box; 0 of nothing.
    fn half_area(self) -> f32 {
        let size = (self.high - self.low).max(Vec3::ZERO);
        size.x * size.y + size.y * size.z + size.z * size.x
    }

    /// Distance of its nearest point from the origin.
    pub(crate) fn least_distance(self) -> f32 {
        self.low.max(-self.high).max(Vec3::ZERO).length()
    }

    fn middle_point(self) -> Vec3 {
        0.5 * (self.low + self.high)
    }
}

/// A ray as a walk needs it, each number four times.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WalkRay {
    origin: [f32x4; 3],
    inverse: [f32x4; 3],
    /// 1 on an axis along which the ray goes down.
    is_down: [usize; 3],
}

impl WalkRay {
    #[inline]
    pub(crate) fn new(origin: Vec3, direction: Vec3) -> Self {
        let inverse = |part: f32| f32x4::splat(1.0 / part.abs().max(LEAST_COMPONENT).copysign(part));
        let is_down = |part: f32| usize::from(part.is_sign_negative());
        // One by one, since the compiler does not inline the closures of arrays.
        Self {
            origin: [f32x4::splat(origin.x), f32x4::splat(origin.y), f32x4::splat(origin.z)],
            inverse: [inverse(direction.x), inverse(direction.y), inverse(direction.z)],
            is_down: [is_down(direction.x), is_down(direction.y), is_down(direction.z)],
        }
    }
}

/// A child of a node: an inner node by its number, or so many items from the first one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Child {
    pub(crate) first: u32,
    /// Number of items; 0 for an inner node.
    pub(crate) count: u32,
}

/// Four boxes and what is in them. A place without a child has the box of nothing.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// Low and high planes along each axis.
    pub(crate) planes: [[f32x4; 2]; 3],
    pub(crate) children: [Child; 4],
}

/// Nodes that a walk has yet to visit, with the distance of each. Walks share one, which then allocates nothing.
pub(crate) type Stack = Vec<(f32, u32, u32)>;

/// A tree of boxes.
#[derive(Debug, Clone, Default)]
pub(crate) struct BoxTree {
    pub(crate) nodes: Vec<Node>,
}

impl BoxTree {
    /// A tree over the boxes of items, at most `in_leaf` in a leaf, and the order of items that its leaves count in.
    pub(crate) fn over_boxes(items: &[Bounds], in_leaf: usize) -> (Self, Vec<u32>) {
        let mut order: Vec<u32> = (0..items.len() as u32).collect();
        let mut builder = Builder { items, in_leaf, twigs: Vec::with_capacity(items.len()) };
        let mut tree = Self::default();
        if !items.is_empty() {
            let root = builder.split_items(&mut order, 0);
            tree.gather_node(&builder.twigs, root);
        }
        (tree, order)
    }

    /// Makes a node of four out of the upper twigs of a tree of two.
    fn gather_node(&mut self, twigs: &[Twig], root: u32) -> u32 {
        let mut open = vec![root];
        // A leaf at the root is the only child of its node.
        while open.len() < 4 {
            let largest =
                (0..open.len()).filter(|&place| twigs[open[place] as usize].count == 0).max_by(|&one, &other| {
                    let area = |place: usize| twigs[open[place] as usize].bounds.half_area();
                    area(one).total_cmp(&area(other)).then(other.cmp(&one))
                });
            let Some(place) = largest else { break };
            let [left, right] = twigs[open[place] as usize].halves;
            open[place] = left;
            open.push(right);
        }
        let number = self.nodes.len();
        let bounds = |lane: usize| open.get(lane).map(|twig: &u32| twigs[*twig as usize].bounds);
        let planes = planes_of([bounds(0), bounds(1), bounds(2), bounds(3)]);
        self.nodes.push(Node { planes, children: [Child::default(); 4] });
        for (lane, &twig) in open.iter().enumerate() {
            let Twig { first, count, .. } = twigs[twig as usize];
            let first = if count == 0 { self.gather_node(twigs, twig) } else { first };
            self.nodes[number].children[lane] = Child { first, count };
        }
        number as u32
    }

    /// Gives the items of each leaf another first number, such as that of a packet which holds them.
    pub(crate) fn renumber_leaves(&mut self, mut number: impl FnMut(usize, usize) -> u32) {
        for child in self.nodes.iter_mut().flat_map(|node| &mut node.children) {
            if child.count > 0 {
                child.first = number(child.first as usize, child.count as usize);
            }
        }
    }
}

/// Leaves that rays walk over.
pub(crate) trait Leaves {
    /// True without any leaf.
    fn is_empty(&self) -> bool;

    /// Visits the leaves that a ray meets between two distances, about from the nearest on. A visit gets first item,
    /// number of items and far end of the ray, and returns the new far end: a smaller one after a hit, minus infinity
    /// to end the walk.
    fn walk_leaves(
        &self,
        ray: &WalkRay,
        range: [f32; 2],
        stack: &mut Stack,
        visit: impl FnMut(u32, u32, f32, &mut Stack) -> f32,
    );
}

impl Leaves for BoxTree {
    fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    #[inline]
    fn walk_leaves(
        &self,
        ray: &WalkRay,
        [near, mut far]: [f32; 2],
        stack: &mut Stack,
        mut visit: impl FnMut(u32, u32, f32, &mut Stack) -> f32,
    ) {
        if self.nodes.is_empty() {
            return;
        }
        let base = stack.len();
        let (mut first, mut count) = (0, 0);
        loop {
            let is_open = count == 0 && {
                let next = self.nodes[first as usize].open_children(ray, [near, far], stack);
                next.inspect(|child| (first, count) = (child.first, child.count)).is_some()
            };
            if is_open {
                continue;
            }
            if count > 0 {
                far = visit(first, count, far, stack);
            }
            loop {
                if stack.len() == base {
                    return;
                }
                let Some(next) = stack.pop() else { return };
                if next.0 <= far {
                    (first, count) = (next.1, next.2);
                    break;
                }
            }
        }
    }
}

/// Low and high planes along each axis of four boxes; the box of nothing for `None`.
fn planes_of(boxes: [Option<Bounds>; 4]) -> [[f32x4; 2]; 3] {
    let boxes = boxes.map(|bounds| bounds.unwrap_or(Bounds::EMPTY_BOUNDS));
    [0, 1, 2].map(|axis| {
        [f32x4::new(boxes.map(|bounds| bounds.low[axis])), f32x4::new(boxes.map(|bounds| bounds.high[axis]))]
    })
}

impl Node {
    /// A node of single items with their boxes.
    pub(crate) fn of_leaves(leaves: [Option<(u32, Bounds)>; 4]) -> Self {
        let child = |leaf: Option<(u32, Bounds)>| leaf.map_or(Child::default(), |(first, _)| Child { first, count: 1 });
        Self { planes: planes_of(leaves.map(|leaf| leaf.map(|(_, bounds)| bounds))), children: leaves.map(child) }
    }

    /// The box of a lane.
    pub(crate) fn bounds_of(&self, lane: usize) -> Bounds {
        let side = |side: usize| {
            let plane = |axis: usize| self.planes[axis][side].to_array()[lane];
            Vec3::new(plane(0), plane(1), plane(2))
        };
        Bounds { low: side(0), high: side(1) }
    }

    /// The lanes whose boxes a ray meets between two distances, as bits, and the distance of each.
    #[inline(always)]
    pub(crate) fn met_lanes(&self, ray: &WalkRay, [near, far]: [f32; 2]) -> (u32, [f32; 4]) {
        let (mut entry, mut exit) = (f32x4::splat(near), f32x4::splat(far));
        for axis in 0..3 {
            let planes = &self.planes[axis];
            let down = ray.is_down[axis];
            entry = entry.fast_max((planes[down] - ray.origin[axis]) * ray.inverse[axis]);
            exit = exit.fast_min((planes[1 - down] - ray.origin[axis]) * ray.inverse[axis]);
        }
        (entry.simd_le(exit * f32x4::splat(SLAB_ROUNDING)).to_bitmask(), entry.to_array())
    }

    /// The nearest child that a ray meets; the others go onto the stack, the farthest first.
    #[inline(always)]
    fn open_children(&self, ray: &WalkRay, [near, far]: [f32; 2], stack: &mut Stack) -> Option<Child> {
        let (mut met, entry) = self.met_lanes(ray, [near, far]);
        if met == 0 {
            return None;
        }
        let mut lane = met.trailing_zeros() as usize & 3;
        met &= met - 1;
        if met == 0 {
            return Some(self.children[lane]);
        }
        let base = stack.len();
        while met != 0 {
            let mut other = met.trailing_zeros() as usize & 3;
            met &= met - 1;
            if entry[other] < entry[lane] {
                (lane, other) = (other, lane);
            }
            let Child { first, count } = self.children[other];
            stack.push((entry[other], first, count));
            // The nearer ones lie above on the stack.
            let mut place = stack.len() - 1;
            while place > base && stack[place - 1].0 < stack[place].0 {
                stack.swap(place - 1, place);
                place -= 1;
            }
        }
        Some(self.children[lane])
    }
}

/// A node of the tree of two that is built first.
#[derive(Debug, Clone, Copy)]
struct Twig {
    bounds: Bounds,
    halves: [u32; 2],
    first: u32,
    /// Number of items; 0 with two halves.
    count: u32,
}

/// A cut of items into two parts.
#[derive(Debug, Clone, Copy)]
struct Cut {
    /// Expected work: area times number of items of both parts.
    cost: f32,
    axis: usize,
    /// First bin of the right part.
    first: usize,
}

struct Builder<'a> {
    items: &'a [Bounds],
    in_leaf: usize,
    twigs: Vec<Twig>,
}

impl Builder<'_> {
    /// A twig over a part of the order that begins at `first`.
    fn split_items(&mut self, order: &mut [u32], first: usize) -> u32 {
        let number = self.twigs.len();
        let bounds = order.iter().fold(Bounds::EMPTY_BOUNDS, |sum, &item| sum.joined_with(self.items[item as usize]));
        let count = if order.len() <= self.in_leaf { order.len() as u32 } else { 0 };
        self.twigs.push(Twig { bounds, halves: [0; 2], first: first as u32, count });
        if count == 0 {
            let middle = self.part_items(order);
            let (left, right) = order.split_at_mut(middle);
            let left = self.split_items(left, first);
            let right = self.split_items(right, first + middle);
            self.twigs[number].halves = [left, right];
        }
        number as u32
    }

    /// Orders items into two parts, and returns the length of the first one.
    fn part_items(&self, order: &mut [u32]) -> usize {
        let centre = |item: u32| self.items[item as usize].middle_point();
        let centres = order.iter().fold(Bounds::EMPTY_BOUNDS, |sum, &item| sum.with_point(centre(item)));
        let cuts = (0..3).filter_map(|axis| self.best_cut(order, axis, centres));
        let Some(best) = cuts.reduce(|best, found| if best.cost <= found.cost { best } else { found }) else {
            return order.len() / 2;
        };
        let mut middle = 0;
        for place in 0..order.len() {
            if bin_of(centre(order[place])[best.axis], best.axis, centres) < best.first {
                order.swap(place, middle);
                middle += 1;
            }
        }
        if middle == 0 || middle == order.len() { order.len() / 2 } else { middle }
    }

    /// The best cut across an axis; `None` where all centres coincide.
    fn best_cut(&self, order: &[u32], axis: usize, centres: Bounds) -> Option<Cut> {
        if centres.high[axis] <= centres.low[axis] {
            return None;
        }
        let mut bins = [(Bounds::EMPTY_BOUNDS, 0_usize); BIN_COUNT];
        for &item in order {
            let bounds = self.items[item as usize];
            let bin = &mut bins[bin_of(bounds.middle_point()[axis], axis, centres)];
            *bin = (bin.0.joined_with(bounds), bin.1 + 1);
        }
        let mut right_costs = [0.0; BIN_COUNT];
        let mut right = (Bounds::EMPTY_BOUNDS, 0);
        for bin in (1..BIN_COUNT).rev() {
            right = (right.0.joined_with(bins[bin].0), right.1 + bins[bin].1);
            right_costs[bin] = right.0.half_area() * right.1 as f32;
        }
        let mut left = (Bounds::EMPTY_BOUNDS, 0);
        let mut best: Option<Cut> = None;
        for cut in 1..BIN_COUNT {
            left = (left.0.joined_with(bins[cut - 1].0), left.1 + bins[cut - 1].1);
            let cost = left.0.half_area() * left.1 as f32 + right_costs[cut];
            let is_cut = left.1 > 0 && left.1 < order.len();
            if is_cut && best.is_none_or(|best| cost < best.cost) {
                best = Some(Cut { cost, axis, first: cut });
            }
        }
        best
    }
}

fn bin_of(centre: f32, axis: usize, centres: Bounds) -> usize {
    let share = (centre - centres.low[axis]) / (centres.high[axis] - centres.low[axis]);
    ((share * BIN_COUNT as f32) as usize).min(BIN_COUNT - 1)
}

#[cfg(test)]
mod tests {
    use simpartner_model::random::Stream;

    use super::*;

    fn boxes(count: usize, seed: u64) -> Vec<Bounds> {
        let mut stream = Stream::from_number(seed);
        let mut number = |low, high| stream.between(low, high) as f32;
        let mut corner = || Vec3::new(number(-9.0, 9.0), number(-9.0, 9.0), number(-9.0, 9.0));
        (0..count).map(|_| corner()).map(|low| Bounds { low, high: low + Vec3::new(0.3, 0.5, 0.1) }).collect()
    }

    /// Every item whose box a ray meets is visited, and each once, for trees of all small sizes and of many items.
    #[test]
    fn a_walk_visits_each_box_that_the_ray_meets() {
        for count in (0..40).chain([1000]) {
            let items = boxes(count, count as u64);
            let (tree, order) = BoxTree::over_boxes(&items, 3);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..count as u32));
            let mut stream = Stream::from_number(7);
            for _ in 0..50 {
                let mut number = || stream.between(-9.0, 9.0) as f32;
                let origin = Vec3::new(number(), number(), number());
                let direction = Vec3::new(number(), number(), number()).normalize();
                let meets = |bounds: &Bounds| {
                    let (one, two) = ((bounds.low - origin) / direction, (bounds.high - origin) / direction);
                    one.min(two).max_element().max(0.0) <= one.max(two).min_element()
                };
                let mut stack = Stack::new();
                let mut visited = vec![0; count];
                tree.walk_leaves(
                    &WalkRay::new(origin, direction),
                    [0.0, f32::MAX],
                    &mut stack,
                    |first, count, far, _| {
                        let leaf = &order[first as usize..(first + count) as usize];
                        leaf.iter().for_each(|item| visited[*item as usize] += 1);
                        far
                    },
                );
                for (item, bounds) in items.iter().enumerate() {
                    assert!(visited[item] <= 1 && (visited[item] == 1 || !meets(bounds)), "{count} boxes, {item}");
                }
            }
        }
    }

    #[test]
    fn items_at_one_place_are_halved() {
        let items = vec![Bounds { low: Vec3::ZERO, high: Vec3::ONE }; 1000];
        let (tree, order) = BoxTree::over_boxes(&items, 4);
        assert_eq!(order.len(), 1000);
        let mut seen = 0;
        let ray = WalkRay::new(Vec3::new(0.5, 0.5, -1.0), Vec3::Z);
        tree.walk_leaves(&ray, [0.0, f32::MAX], &mut Stack::new(), |_, count, far, _| {
            seen += count;
            far
        });
        assert_eq!(seen, 1000);
    }
}
