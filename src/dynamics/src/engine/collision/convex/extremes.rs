//! Search for the vector whose product with a direction is largest: the corner of a hull farthest along a direction, or
//! the face above whose plane a point is highest.

use bevy_math::DVec4;

/// Largest number of vectors in a leaf, which are all tested: their products cost a few times as much as the bounds of
/// two boxes.
const LEAF_SIZE: usize = 8;

/// Vectors in a tree of boxes. A search skips boxes whose bound is below the best product found.
///
/// Products and bounds are summed in one order, and rounding is monotone. So no bound is below a product in its box.
/// The result is bit-identical to that of a linear search: among equal products, the vector of the lowest index.
#[derive(Debug, Clone)]
pub(super) struct Extremes {
    /// Vectors in the order of the leaves, each with its index.
    vectors: Vec<(DVec4, u32)>,
    /// Nodes in preorder: the first child of a node follows it.
    nodes: Vec<Node>,
}

/// A box of vectors: its smallest and largest components.
#[derive(Debug, Clone, Copy)]
struct Node {
    least: DVec4,
    most: DVec4,
    below: Below,
}

#[derive(Debug, Clone, Copy)]
enum Below {
    /// The vectors of the range `from..to`.
    Leaf { from: u32, to: u32 },
    /// Index of the second child; the first child is the next node.
    Children { second: u32 },
}

impl Node {
    /// Upper bound of the products of the vectors in the box.
    fn upper_bound(&self, direction: DVec4) -> f64 {
        DVec4::select(direction.cmpge(DVec4::ZERO), self.most, self.least).dot(direction)
    }
}

impl Extremes {
    /// A tree of at least one vector, all finite.
    pub(super) fn new(vectors: impl Iterator<Item = DVec4>) -> Self {
        let mut vectors: Vec<(DVec4, u32)> = vectors.zip(0..).collect();
        let mut nodes = Vec::with_capacity(4 * vectors.len() / LEAF_SIZE + 1);
        let count = vectors.len();
        add_nodes(&mut vectors, 0..count, &mut nodes);
        Self { vectors, nodes }
    }

    /// Index of the vector whose product with `direction` is largest, and that product. If no product is a number, the
    /// first vector.
    pub(super) fn farthest(&self, direction: DVec4) -> (usize, f64) {
        let mut best = (0, f64::NEG_INFINITY);
        self.search(0, direction, &mut best);
        (best.0 as usize, best.1)
    }

    fn search(&self, node: usize, direction: DVec4, best: &mut (u32, f64)) {
        match self.nodes[node].below {
            Below::Leaf { from, to } => {
                for &(vector, index) in &self.vectors[from as usize..to as usize] {
                    let product = vector.dot(direction);
                    if product > best.1 || product == best.1 && index < best.0 {
                        *best = (index, product);
                    }
                }
            }
            Below::Children { second } => {
                let mut children =
                    [node + 1, second as usize].map(|child| (self.nodes[child].upper_bound(direction), child));
                if children[1].0 > children[0].0 {
                    children.swap(0, 1);
                }
                for (bound, child) in children {
                    if bound >= best.1 {
                        self.search(child, direction, best);
                    }
                }
            }
        }
    }
}

/// Adds a node for a range of the vectors, and the nodes below it: each node is halved along the longest side of its
/// box.
fn add_nodes(vectors: &mut [(DVec4, u32)], range: std::ops::Range<usize>, nodes: &mut Vec<Node>) {
    let own = &mut vectors[range.clone()];
    let least = own.iter().map(|one| one.0).reduce(DVec4::min).unwrap_or(DVec4::ZERO);
    let most = own.iter().map(|one| one.0).reduce(DVec4::max).unwrap_or(DVec4::ZERO);
    let place = nodes.len();
    nodes.push(Node { least, most, below: Below::Leaf { from: range.start as u32, to: range.end as u32 } });
    if range.len() <= LEAF_SIZE {
        return;
    }
    let side = (most - least).max_position();
    own.sort_unstable_by(|one, other| one.0[side].total_cmp(&other.0[side]).then(one.1.cmp(&other.1)));
    let middle = range.start + range.len() / 2;
    add_nodes(vectors, range.start..middle, nodes);
    nodes[place].below = Below::Children { second: nodes.len() as u32 };
    add_nodes(vectors, middle..range.end, nodes);
}
