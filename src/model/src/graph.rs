//! The graph of bodies (nodes) and joints (edges): its parts, a tree in each, and the joints that close loops.

use std::collections::VecDeque;

use super::{Body, Joint};
use crate::{BodyId, Coupling, JointId};

/// Bodies and joints as a graph.
#[derive(Debug, Clone, Copy)]
pub struct Graph<'a> {
    bodies: &'a [Body],
    joints: &'a [Joint],
}

/// A joint of a spanning tree, walked from the root outwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeEdge {
    /// The joint.
    pub joint: JointId,
    /// Its body nearer to the root.
    pub inner: BodyId,
    /// Its body farther from the root.
    pub outer: BodyId,
}

/// A connected component: its root and its tree edges, each after the edge that reaches its inner body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// A fixed body of the component, if there is one; otherwise its first body, or its heaviest
    /// ([`Graph::canonical_forest`]).
    pub root: BodyId,
    /// The edges, root outwards.
    pub edges: Vec<TreeEdge>,
    /// The joints that would close a loop, or that lead to a second fixed body.
    pub loops: Vec<JointId>,
}

/// A tree for each connected part, in the order of their first bodies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanningForest {
    /// The trees; a body without joints is a tree of its own.
    pub trees: Vec<Tree>,
}

impl<'a> Graph<'a> {
    /// The graph of these lists, whose ids are their indices.
    pub fn new(bodies: &'a [Body], joints: &'a [Joint]) -> Self {
        Self { bodies, joints }
    }

    /// Spans the graph breadth first, fixed bodies first, then bodies in order, joints in order: the same graph always
    /// gives the same trees. A fixed body is only ever a root, because each component that is connected to it is
    /// independent.
    pub fn spanning_forest(&self) -> SpanningForest {
        let bodies: Vec<usize> = (0..self.bodies.len()).collect();
        let joints: Vec<usize> = (0..self.joints.len()).collect();
        self.span_all(&bodies, &joints, &[])
    }

    /// As [`spanning_forest`](Self::spanning_forest), but independent of the order of bodies and joints in components
    /// with loops. The root is the heaviest body if none is fixed. Joints with few degrees of freedom come first, then
    /// those of heavy bodies. So a joint with many degrees of freedom closes a loop, with few constraints, and among
    /// equal ones a joint of light bodies. Names decide only between equal masses. A coupled joint closes a loop only
    /// if all other joints of the loop are coupled, too; fixed bodies count as one.
    pub fn canonical_forest(&self, couplings: &[Coupling]) -> SpanningForest {
        let forest = self.spanning_forest();
        if forest.loops().next().is_none() {
            return forest;
        }
        let mut parts = Parts::new(self);
        let mut has_loop = vec![false; self.bodies.len()];
        forest.loops().for_each(|joint| has_loop[parts.of(self.joints[joint.index()].parent)] = true);
        let mut is_canonical = |body: BodyId| has_loop[parts.of(body)];
        let mut bodies: Vec<usize> = (0..self.bodies.len()).filter(|&body| is_canonical(BodyId::new(body))).collect();
        let mut joints: Vec<usize> =
            (0..self.joints.len()).filter(|&joint| is_canonical(self.joints[joint].parent)).collect();
        bodies.sort_by(|&a, &b| {
            let (a, b) = (&self.bodies[a], &self.bodies[b]);
            b.mass.total_cmp(&a.mass).then_with(|| a.name.cmp(&b.name))
        });
        joints.sort_by(|&a, &b| {
            let (a, b) = (&self.joints[a], &self.joints[b]);
            let fewest = a.degrees_of_freedom().cmp(&b.degrees_of_freedom());
            let [own, other] = [self.masses_at(a), self.masses_at(b)];
            let heaviest = other[0].total_cmp(&own[0]).then(other[1].total_cmp(&own[1]));
            fewest.then(heaviest).then_with(|| a.name.cmp(&b.name))
        });
        let mut coupled = vec![false; self.joints.len()];
        for joint in couplings.iter().flat_map(|coupling| [coupling.leader.joint, coupling.follower.joint]) {
            coupled[joint.index()] = true;
        }
        let mut trees = self.span_all(&bodies, &joints, &coupled).trees;
        trees.extend(forest.trees.into_iter().filter(|tree| !is_canonical(tree.root)));
        trees.sort_by_key(|tree| tree.root);
        SpanningForest { trees }
    }

    /// The masses of the bodies that a joint connects, the larger one first; 0 for a fixed body.
    fn masses_at(&self, joint: &Joint) -> [f64; 2] {
        let [one, other] = [joint.parent, joint.child].map(|body| {
            let body = &self.bodies[body.index()];
            if body.fixed { 0.0 } else { body.mass }
        });
        [one.max(other), one.min(other)]
    }

    /// Spans these bodies and joints, in this order; `coupled` joints, if any, come before all others of a body.
    fn span_all(&self, bodies: &[usize], joints: &[usize], coupled: &[bool]) -> SpanningForest {
        let mut neighbours = vec![Vec::new(); self.bodies.len()];
        for &index in joints {
            let (joint, id) = (&self.joints[index], JointId::new(index));
            neighbours[joint.parent.index()].push((id, joint.child));
            neighbours[joint.child.index()].push((id, joint.parent));
        }
        let (fixed, free): (Vec<usize>, Vec<usize>) = bodies.iter().partition(|&&body| self.bodies[body].fixed);
        let (reached, used) = (vec![false; self.bodies.len()], vec![false; self.joints.len()]);
        let mut span = Span { graph: self, neighbours, coupled, reached, used };
        let mut trees = Vec::new();
        // A body that is coupled to a fixed body becomes its child, even if another fixed body is connected to it.
        let begun: Vec<Begun> = fixed.into_iter().map(|root| span.begin(BodyId::new(root))).collect();
        trees.extend(begun.into_iter().map(|begun| span.finish(begun)));
        for root in free {
            if !span.reached[root] {
                let begun = span.begin(BodyId::new(root));
                trees.push(span.finish(begun));
            }
        }
        trees.sort_by_key(|tree| tree.root);
        SpanningForest { trees }
    }
}

/// A spanning forest in the making.
struct Span<'a> {
    graph: &'a Graph<'a>,
    /// The joints of each body, and their other bodies.
    neighbours: Vec<Vec<(JointId, BodyId)>>,
    /// True for each coupled joint; empty if none is coupled.
    coupled: &'a [bool],
    reached: Vec<bool>,
    used: Vec<bool>,
}

/// A tree in the making, and the bodies whose joints are still to be walked.
struct Begun {
    tree: Tree,
    frontier: VecDeque<BodyId>,
}

impl Span<'_> {
    fn begin(&mut self, root: BodyId) -> Begun {
        let mut begun = Begun { tree: Tree { root, edges: Vec::new(), loops: Vec::new() }, frontier: VecDeque::new() };
        self.reached[root.index()] = true;
        self.reach(root, &mut begun);
        begun
    }

    fn finish(&mut self, mut begun: Begun) -> Tree {
        while let Some(inner) = begun.frontier.pop_front() {
            for (joint, outer) in std::mem::take(&mut self.neighbours[inner.index()]) {
                if self.walk(joint, inner, outer, &mut begun.tree) {
                    self.reach(outer, &mut begun);
                }
            }
        }
        begun.tree
    }

    /// Visits a body, and the bodies behind its coupled joints before any other joint can reach them.
    fn reach(&mut self, body: BodyId, begun: &mut Begun) {
        let mut behind = vec![body];
        while let Some(inner) = behind.pop() {
            begun.frontier.push_back(inner);
            let is_coupled = |(joint, _): &&(JointId, BodyId)| self.coupled.get(joint.index()) == Some(&true);
            let joints: Vec<_> = self.neighbours[inner.index()].iter().filter(is_coupled).copied().collect();
            for (joint, outer) in joints {
                if self.walk(joint, inner, outer, &mut begun.tree) {
                    behind.push(outer);
                }
            }
        }
    }

    /// Classifies a joint as an edge of the tree or as one that closes a loop. True if it leads to a new body.
    fn walk(&mut self, joint: JointId, inner: BodyId, outer: BodyId, tree: &mut Tree) -> bool {
        if std::mem::replace(&mut self.used[joint.index()], true) {
            return false;
        }
        let closes =
            self.graph.bodies[outer.index()].fixed || std::mem::replace(&mut self.reached[outer.index()], true);
        if closes {
            tree.loops.push(joint);
        } else {
            tree.edges.push(TreeEdge { joint, inner, outer });
        }
        !closes
    }
}

/// Connected components by joints, through fixed bodies as well: each body leads towards the representative of its
/// component.
struct Parts {
    towards: Vec<usize>,
}

impl Parts {
    fn new(graph: &Graph) -> Self {
        let mut parts = Self { towards: (0..graph.bodies.len()).collect() };
        for joint in graph.joints {
            let [a, b] = [parts.of(joint.parent), parts.of(joint.child)];
            parts.towards[a.max(b)] = a.min(b);
        }
        parts
    }

    /// The representative of the component of a body.
    fn of(&mut self, body: BodyId) -> usize {
        let mut at = body.index();
        while self.towards[at] != at {
            self.towards[at] = self.towards[self.towards[at]];
            at = self.towards[at];
        }
        at
    }
}

impl SpanningForest {
    /// The joints that close loops, tree by tree.
    pub fn loops(&self) -> impl Iterator<Item = JointId> {
        self.trees.iter().flat_map(|tree| &tree.loops).copied()
    }
}

impl Tree {
    /// All bodies of the part, the root first.
    pub fn bodies(&self) -> impl Iterator<Item = BodyId> {
        std::iter::once(self.root).chain(self.edges.iter().map(|edge| edge.outer))
    }
}
