//! The graph of bodies (nodes) and joints (edges): its parts, a tree in each, and the joints that close loops.

use super::{Body, Joint};
use crate::{BodyId, JointId};

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

/// One connected part: its root and its tree edges, each after the edge that reaches its inner body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// A fixed body of the part, if there is one; else its first body.
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

    /// Spans the graph breadth first, fixed bodies first and then bodies in order, joints in order: the same graph always
    /// gives the same trees. A fixed body is only ever a root, since it holds up every part that hangs on it by itself.
    pub fn spanning_forest(&self) -> SpanningForest {
        let mut neighbours = vec![Vec::new(); self.bodies.len()];
        for (index, joint) in self.joints.iter().enumerate() {
            neighbours[joint.parent.index()].push((JointId::new(index), joint.child));
            neighbours[joint.child.index()].push((JointId::new(index), joint.parent));
        }
        let mut reached = vec![false; self.bodies.len()];
        let mut used = vec![false; self.joints.len()];
        let (fixed, free): (Vec<usize>, Vec<usize>) = (0..self.bodies.len()).partition(|&i| self.bodies[i].fixed);
        let mut trees = Vec::new();
        for root in fixed.into_iter().chain(free) {
            if !reached[root] {
                trees.push(self.span(BodyId::new(root), &neighbours, &mut reached, &mut used));
            }
        }
        trees.sort_by_key(|tree| tree.root);
        SpanningForest { trees }
    }

    fn span(
        &self,
        root: BodyId,
        neighbours: &[Vec<(JointId, BodyId)>],
        reached: &mut [bool],
        used: &mut [bool],
    ) -> Tree {
        let mut tree = Tree { root, edges: Vec::new(), loops: Vec::new() };
        let mut frontier = std::collections::VecDeque::from([root]);
        reached[root.index()] = true;
        while let Some(inner) = frontier.pop_front() {
            for &(joint, outer) in &neighbours[inner.index()] {
                if std::mem::replace(&mut used[joint.index()], true) {
                    continue;
                }
                if reached[outer.index()] || self.bodies[outer.index()].fixed {
                    tree.loops.push(joint);
                } else {
                    reached[outer.index()] = true;
                    tree.edges.push(TreeEdge { joint, inner, outer });
                    frontier.push_back(outer);
                }
            }
        }
        tree
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
