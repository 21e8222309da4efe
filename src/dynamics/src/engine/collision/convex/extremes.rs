//! Which of many vectors has the largest product with another: the corner of a hull that is farthest along a direction,
//! the face that a point is farthest above.

use bevy_math::DVec4;

/// Vectors of a leaf, which are all looked at: as many products as the bounds of two boxes cost, a few times over.
const LEAF: usize = 8;

/// Vectors in a tree of boxes. A search leaves out the boxes whose best corner is worse than what it has found.
///
/// Products and bounds are added up in one order, and rounding is monotone. So no bound is below a product in its box,
/// and what is found is to the bit what looking at all vectors in turn would find: of equal products the one of the
/// lowest index.
#[derive(Debug, Clone)]
pub(super) struct Extremes {
    /// In the order of the leaves, each with its index.
    vectors: Vec<(DVec4, u32)>,
    /// In preorder: the first child of a node follows it.
    nodes: Vec<Node>,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    least: DVec4,
    most: DVec4,
    below: Below,
}

#[derive(Debug, Clone, Copy)]
enum Below {
    /// The vectors from one place to before another.
    Leaf { from: u32, to: u32 },
    /// The second child; the first is the next node.
    Children { second: u32 },
}

impl Node {
    /// No product of a vector in the box is larger.
    fn bound(&self, direction: DVec4) -> f64 {
        DVec4::select(direction.cmpge(DVec4::ZERO), self.most, self.least).dot(direction)
    }
}

impl Extremes {
    /// Of at least one vector, all finite.
    pub(super) fn new(vectors: impl Iterator<Item = DVec4>) -> Self {
        let mut vectors: Vec<(DVec4, u32)> = vectors.zip(0..).collect();
        let mut nodes = Vec::with_capacity(4 * vectors.len() / LEAF + 1);
        let count = vectors.len();
        split(&mut vectors, 0..count, &mut nodes);
        Self { vectors, nodes }
    }

    /// The index of the vector whose product with `direction` is largest, and the product; the first vector where none
    /// is a number.
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
                let mut children = [node + 1, second as usize].map(|child| (self.nodes[child].bound(direction), child));
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

/// Makes a node of some of the vectors, and the nodes below it: halves along the longest side of their box.
fn split(vectors: &mut [(DVec4, u32)], range: std::ops::Range<usize>, nodes: &mut Vec<Node>) {
    let own = &mut vectors[range.clone()];
    let least = own.iter().map(|one| one.0).reduce(DVec4::min).unwrap_or(DVec4::ZERO);
    let most = own.iter().map(|one| one.0).reduce(DVec4::max).unwrap_or(DVec4::ZERO);
    let place = nodes.len();
    nodes.push(Node { least, most, below: Below::Leaf { from: range.start as u32, to: range.end as u32 } });
    if range.len() <= LEAF {
        return;
    }
    let side = (most - least).max_position();
    own.sort_unstable_by(|one, other| one.0[side].total_cmp(&other.0[side]).then(one.1.cmp(&other.1)));
    let middle = range.start + range.len() / 2;
    split(vectors, range.start..middle, nodes);
    nodes[place].below = Below::Children { second: nodes.len() as u32 };
    split(vectors, middle..range.end, nodes);
}
