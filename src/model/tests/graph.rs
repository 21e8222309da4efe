//! Spanning forests of random graphs: every component is spanned, and the loop joints do not depend on the order.

use simpartner_model::{
    Axis, Body, BodyId, Coupling, Graph, Joint, JointAxis, JointId, JointKind, SpanningForest, random::Stream,
};

const KINDS: [JointKind; 4] = [JointKind::Hinge, JointKind::Ball, JointKind::Universal, JointKind::Slider];

/// Bodies, some of them fixed, and joints between any two of them; coupled joints form no loop.
struct Scene {
    bodies: Vec<Body>,
    joints: Vec<Joint>,
    coupled: Vec<usize>,
}

impl Scene {
    fn new(stream: &mut Stream) -> Self {
        let mut below = |count: usize| stream.below(count);
        let count = 2 + below(12);
        let bodies: Vec<Body> = (0..count)
            .map(|body| Body {
                name: format!("body {body}"),
                mass: [1.0, 2.0, 5.0][below(3)],
                fixed: below(6) == 0,
                ..Body::default()
            })
            .collect();
        let mut joints = Vec::new();
        for joint in 0..below(2 * count) {
            let (parent, step) = (below(count), 1 + below(count - 1));
            let kind = KINDS[below(KINDS.len())];
            let [parent, child] = [parent, (parent + step) % count].map(BodyId::new);
            let own = Joint::new(kind, parent, child, Default::default());
            joints.push(Joint { name: format!("joint {joint}"), axes: kind.free_axes(), ..own });
        }
        let mut part: Vec<usize> = (0..count).collect();
        // All fixed bodies count as one.
        let ground = bodies.iter().position(|body| body.fixed);
        let place = |body: BodyId| if bodies[body.index()].fixed { ground.unwrap_or(0) } else { body.index() };
        let mut coupled = Vec::new();
        for (number, joint) in joints.iter().enumerate() {
            let [one, other] = [joint.parent, joint.child].map(|body| part[place(body)]);
            if one != other && below(3) == 0 {
                part.iter_mut().filter(|part| **part == one).for_each(|part| *part = other);
                coupled.push(number);
            }
        }
        Self { bodies, joints, coupled }
    }

    /// The same in another order.
    fn shuffled(&self, stream: &mut Stream) -> Self {
        let mut order = |count: usize| {
            let mut order: Vec<(f64, usize)> = (0..count).map(|index| (stream.between(0.0, 1.0), index)).collect();
            order.sort_by(|a, b| a.0.total_cmp(&b.0));
            order.into_iter().map(|(_, index)| index).collect::<Vec<usize>>()
        };
        let (bodies, joints) = (order(self.bodies.len()), order(self.joints.len()));
        let place =
            |order: &[usize], index: usize| order.iter().position(|&other| other == index).expect("all are there");
        let body = |id: BodyId| BodyId::new(place(&bodies, id.index()));
        let moved = |&joint: &usize| {
            let own = self.joints[joint].clone();
            Joint { parent: body(own.parent), child: body(own.child), ..own }
        };
        Self {
            bodies: bodies.iter().map(|&index| self.bodies[index].clone()).collect(),
            joints: joints.iter().map(moved).collect(),
            coupled: self.coupled.iter().map(|&joint| place(&joints, joint)).collect(),
        }
    }

    fn forests(&self) -> [SpanningForest; 2] {
        let axis = |joint: usize| JointAxis { joint: JointId::new(joint), axis: 0 };
        let coupling = |&joint: &usize| Coupling {
            leader: axis(joint),
            follower: axis(self.coupled[0]),
            ratio: 1.0,
            offset: 0.0,
            source: String::new(),
        };
        let couplings: Vec<Coupling> = self.coupled.iter().map(coupling).collect();
        let graph = Graph::new(&self.bodies, &self.joints);
        [graph.spanning_forest(), graph.canonical_forest(&couplings)]
    }

    /// Names of a forest, tree by tree: root, edges from inner to outer bodies, and loops.
    fn names(&self, forest: &SpanningForest) -> Vec<String> {
        let body = |id: BodyId| &self.bodies[id.index()].name;
        let joint = |id: JointId| &self.joints[id.index()].name;
        let mut trees: Vec<String> = forest
            .trees
            .iter()
            .map(|tree| {
                let edge = |edge: &simpartner_model::TreeEdge| {
                    format!("{} by {} to {}", body(edge.inner), joint(edge.joint), body(edge.outer))
                };
                let edges: Vec<String> = tree.edges.iter().map(edge).collect();
                let loops: Vec<&String> = tree.loops.iter().map(|&id| joint(id)).collect();
                format!("{}: {edges:?}, {loops:?}", body(tree.root))
            })
            .collect();
        trees.sort();
        trees
    }

    /// Asserts that every body is reached once, from an earlier one, and that every joint is an edge or closes a loop.
    fn check(&self, forest: &SpanningForest) {
        let mut reached = vec![false; self.bodies.len()];
        let mut used = vec![0; self.joints.len()];
        for tree in &forest.trees {
            assert!(!std::mem::replace(&mut reached[tree.root.index()], true));
            for edge in &tree.edges {
                let joint = &self.joints[edge.joint.index()];
                let ends = [(joint.parent, joint.child), (joint.child, joint.parent)];
                assert!(ends.contains(&(edge.inner, edge.outer)) && reached[edge.inner.index()]);
                assert!(!std::mem::replace(&mut reached[edge.outer.index()], true));
                assert!(!self.bodies[edge.outer.index()].fixed);
                used[edge.joint.index()] += 1;
            }
            tree.loops.iter().for_each(|joint| used[joint.index()] += 1);
        }
        assert!(reached.iter().all(|reached| *reached) && used.iter().all(|used| *used == 1));
    }
}

#[test]
fn where_loops_close_does_not_depend_on_an_order() {
    let mut stream = Stream::from_number(1);
    let mut seen = [0; 3];
    for _ in 0..3000 {
        let scene = Scene::new(&mut stream);
        let [plain, canonical] = scene.forests();
        scene.check(&plain);
        scene.check(&canonical);
        for joint in canonical.loops() {
            assert!(!scene.coupled.contains(&joint.index()), "{:?} {:?}", scene.coupled, scene.names(&canonical));
        }
        let has_loops = canonical.loops().next().is_some();
        assert!(has_loops || canonical == plain, "what has no loop stays as it is written");
        seen[0] += usize::from(has_loops);
        seen[1] += usize::from(plain.loops().any(|joint| scene.coupled.contains(&joint.index())));
        seen[2] += usize::from(has_loops && canonical.loops().any(|joint| !plain.loops().any(|other| other == joint)));
        if has_loops {
            let other = scene.shuffled(&mut stream);
            let [_, shuffled] = other.forests();
            let looped = |scene: &Scene, forest: &SpanningForest| -> Vec<String> {
                let names = scene.names(forest);
                names.into_iter().filter(|tree| !tree.ends_with("[]")).collect()
            };
            assert_eq!(looped(&other, &shuffled), looped(&scene, &canonical));
        }
    }
    assert!(seen.iter().all(|count| *count > 300), "loops, coupled joints that closed one, other cuts: {seen:?}");
}

/// Free axes count, locked ones do not: joints with fewer free axes are in the tree.
#[test]
fn the_joint_of_most_degrees_of_freedom_closes_the_loop() {
    let bodies: Vec<Body> = (0..3).map(|body| Body { name: format!("{body}"), ..Body::default() }).collect();
    let joint = |name: &str, kind: JointKind, [parent, child]: [usize; 2]| Joint {
        name: name.into(),
        axes: kind.free_axes(),
        ..Joint::new(kind, BodyId::new(parent), BodyId::new(child), Default::default())
    };
    let mut joints = vec![
        joint("a", JointKind::Ball, [1, 2]),
        joint("b", JointKind::Constrained, [0, 1]),
        joint("c", JointKind::Hinge, [2, 0]),
    ];
    joints[1].axes = [Axis::Locked; 3];
    for heaviest in 0..3 {
        let mut bodies = bodies.clone();
        bodies[heaviest].mass = 2.0;
        let forest = Graph::new(&bodies, &joints).canonical_forest(&[]);
        assert_eq!(forest.trees[0].root, BodyId::new(heaviest));
        // Joints are walked from the root: those of the heaviest body are edges.
        let edges: Vec<usize> = forest.trees[0].edges.iter().map(|edge| edge.joint.index()).collect();
        assert_eq!(edges, [vec![1, 2], vec![1, 0], vec![2, 0]][heaviest], "{heaviest}");
    }
}
