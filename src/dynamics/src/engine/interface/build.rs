//! Builds trees, shapes and loop joints from the model.

use std::sync::Arc;

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_model::{
    Axis, Body, BodyId, Coordinate, Coupling, FreeAxis, Graph, Joint, JointAxis, JointId, JointKind, Mechanism, Norm,
    Placed, Pose, Shape, Tree as Span, TreeEdge,
};

use crate::{
    BuildError, MassProperties, Servo,
    ellipsoid::Ellipsoid,
    engine::{
        collision::{Collider, Faces, Geom, Ground, Hull, MAX_GROUNDS, Outline, SharedParts},
        constraints::loop_joint::{JointFrames, LoopJoint, LoopLoad, ROW_COUNT, dual_basis},
        joints::ball_joint::{self, Ball},
        state::{
            addresses::{BodyAddress, JointAddress},
            link::{Link, LinkJoint},
            tree::{self, Tree},
        },
    },
    mass_properties,
    parry::shape::SharedShape,
    shape,
};

/// Radius of the ball that represents a particle, m: it determines the smallest moments of inertia.
const PARTICLE_RADIUS: f64 = 1e-4;

/// Builds the shapes and grounds of a model.
fn shared_parts(mechanism: &Mechanism) -> Result<SharedParts, BuildError> {
    let mut shapes = Vec::new();
    for body in &mechanism.bodies {
        let refuse = |what| BuildError { place: body.source.clone(), what };
        for part in body.collision_shape().into_iter().flat_map(simple_parts) {
            let (shape, _) = shape::collider_shape(&part).map_err(refuse)?;
            let outline = shape_outline(&part.shape, &shape);
            shapes.push((shape, outline));
        }
    }
    let refuse = |what| BuildError { place: "the ground".into(), what };
    if mechanism.grounds.len() > MAX_GROUNDS {
        return Err(refuse(format!("a world has at most {MAX_GROUNDS} grounds")));
    }
    let grounds: Result<Vec<Ground>, String> = mechanism.grounds.iter().map(Ground::new).collect();
    Ok(SharedParts { shapes, grounds: grounds.map_err(refuse)?.into() })
}

/// A built world.
pub(crate) struct Built {
    pub(crate) shared: Arc<SharedParts>,
    pub(crate) trees: Vec<Tree>,
    pub(crate) collider: Collider,
    pub(crate) loop_joints: Vec<LoopJoint>,
    pub(crate) bodies: Vec<BodyAddress>,
    pub(crate) joints: Vec<JointAddress>,
}

/// Builds the whole world at step 0, with the `shared` parts of an engine of the same model, if there is one.
pub(crate) fn build(mechanism: &Mechanism, shared: Option<&Arc<SharedParts>>) -> Result<Built, BuildError> {
    let mut masses = Vec::with_capacity(mechanism.bodies.len());
    for body in &mechanism.bodies {
        let refuse = |what| BuildError { place: body.source.clone(), what };
        masses.push(if body.fixed { MassProperties::ZERO } else { mass_properties(body).map_err(refuse)? });
    }
    let nowhere = BodyAddress::new(0, 0, Pose::IDENTITY);
    let mut builder = Builder {
        mechanism,
        masses,
        trees: Vec::new(),
        bodies: vec![nowhere; mechanism.bodies.len()],
        joints: vec![JointAddress::LoopJoint(0); mechanism.joints.len()],
        loop_joints: Vec::new(),
    };
    let forest = Graph::new(&mechanism.bodies, &mechanism.joints).canonical_forest(&mechanism.couplings);
    forest.trees.iter().for_each(|span| builder.add_tree(span));
    for &joint in forest.trees.iter().flat_map(|span| &span.loops) {
        builder.add_loop_joint(joint);
    }
    builder.add_couplings()?;
    let shared = match shared {
        Some(shared) => Arc::clone(shared),
        None => Arc::new(shared_parts(mechanism)?),
    };
    let collider = builder.collider(&shared);
    let Builder { mut trees, bodies, joints, mut loop_joints, .. } = builder;
    for (side, reach) in collider.shape_reaches() {
        let own = &mut trees[side.tree].topology.reach[side.link];
        *own = own.max(reach);
    }
    for tree in &mut trees {
        tree.update_kinematics(mechanism.gravity);
    }
    loop_joints.iter_mut().for_each(|loop_joint| loop_joint.update_frames(&trees));
    Ok(Built { shared, trees, collider, loop_joints, bodies, joints })
}

struct Builder<'a> {
    mechanism: &'a Mechanism,
    masses: Vec<MassProperties>,
    trees: Vec<Tree>,
    bodies: Vec<BodyAddress>,
    joints: Vec<JointAddress>,
    loop_joints: Vec<LoopJoint>,
}

/// One axis of a joint, to be added to a tree as a link.
struct Step {
    inner: usize,
    joint: LinkJoint,
    anchor_in_inner: DVec3,
}

impl Builder<'_> {
    fn add_tree(&mut self, span: &Span) {
        let number = self.trees.len();
        let mut tree = Tree::default();
        // World pose of every link at step 0.
        let mut poses = Vec::new();
        let root = self.mechanism.body(span.root);
        let joint = if root.fixed { LinkJoint::Weld } else { LinkJoint::Free };
        let (link, pose, frame) = self.body_link(span.root, None, joint);
        self.bodies[span.root.index()] = BodyAddress::new(number, tree.push_link(link), frame);
        poses.push(pose);
        tree.state.root_position = pose.translation;
        tree.state.root_rotation = pose.rotation;
        if !root.fixed {
            tree.state.v[..3].copy_from_slice(root.linear_velocity.as_ref());
            tree.state.v[3..6].copy_from_slice(root.angular_velocity.as_ref());
        }
        for edge in &span.edges {
            self.add_joint(number, &mut tree, &mut poses, *edge);
        }
        let laws = &tree.topology.laws;
        let stops = |law: &FreeAxis| law.lower.is_finite() || law.upper.is_finite() || law.friction > 0.0;
        tree.topology.has_powers = laws.iter().any(|law| law.max_power.is_finite());
        tree.topology.has_rows = laws.iter().any(stops) || tree.topology.balls.iter().any(|ball| ball.stops.has_any());
        self.trees.push(tree);
    }

    /// The link of a body with its frame along the principal axes; the world pose of that frame; and `link_from_body`.
    fn body_link(&self, id: BodyId, parent: Option<usize>, joint: LinkJoint) -> (Link, Pose, Pose) {
        let (body, mass) = (self.mechanism.body(id), &self.masses[id.index()]);
        let (principal, turn) = principal_axes(&mass.tensor);
        let frame = Pose { translation: mass.centre_of_mass, rotation: turn };
        let least = 0.4 * mass.mass * PARTICLE_RADIUS * PARTICLE_RADIUS;
        let link = Link {
            parent,
            joint,
            dof: 0,
            anchor_in_parent: DVec3::ZERO,
            anchor: DVec3::ZERO,
            turn: DQuat::IDENTITY,
            half_turn: DQuat::IDENTITY,
            mass: mass.mass,
            principal: principal.max(DVec3::splat(least)),
            body: Some(id),
            origin: None,
        };
        (link, body.pose.then(&frame), frame.inverse())
    }

    /// Adds a joint as one link, or as a chain of links that are massless except for the last. A joint traversed from
    /// the child to the parent is the same chain from the other end, with opposite signs.
    fn add_joint(&mut self, number: usize, tree: &mut Tree, poses: &mut Vec<Pose>, edge: TreeEdge) {
        let joint = self.mechanism.joint(edge.joint);
        let backwards = joint.child == edge.inner;
        let sign = if backwards { -1.0 } else { 1.0 };
        // Links are described at zero coordinates: there the joint's frames in the outer and the inner body coincide.
        let [parent, child] = joint.frames();
        let (own, other) = if backwards { (child, parent) } else { (parent, child) };
        let joint = &Joint { anchor: own.translation, frame: own.rotation, ..joint.clone() };
        let mut free: Vec<(usize, Coordinate)> = joint.free_coordinates().collect();
        if backwards {
            free.reverse();
        }
        let mut inner = self.bodies[edge.inner.index()].link;
        let mut dofs = [None; 3];
        let ball = joint.kind == JointKind::Ball;
        if !ball {
            for &(index, coordinate) in free.iter().rev().skip(1).rev() {
                let pose = Pose { translation: joint.anchor, rotation: joint.frame };
                let step = joint_step(poses, inner, joint, Some(coordinate));
                inner = add_link(tree, poses, massless_link(), step, joint, pose);
                dofs[index] = Some(tree.topology.links[inner].dof);
            }
        }
        let (mut link, initial_pose, frame) = self.body_link(edge.outer, None, LinkJoint::Weld);
        let pose = own.then(&other.inverse()).then(&initial_pose);
        if backwards && free.iter().any(|(_, coordinate)| coordinate.linear) {
            // The outer link moves with its slider, away from the joint's origin.
            let child = self.bodies[edge.inner.index()].link;
            link.origin = Some((child, poses[child].inverse().point(joint.anchor)));
        }
        let mut last = joint_step(poses, inner, joint, free.last().map(|(_, coordinate)| *coordinate));
        if ball {
            last.joint = LinkJoint::Spherical { number: tree.topology.balls.len(), backwards };
            tree.topology.balls.push(Ball { dof: tree.topology.freedom, sign, stops: ball_joint::Stops::new(joint) });
        }
        let outer = add_link(tree, poses, link, last, joint, pose);
        poses[outer] = initial_pose;
        self.bodies[edge.outer.index()] = BodyAddress::new(number, outer, frame);
        let dof = tree.topology.links[outer].dof;
        if ball {
            dofs = [0, 1, 2].map(|axis| Some(dof + axis));
        } else if let Some(&(index, _)) = free.last() {
            dofs[index] = Some(dof);
        }
        self.joints[edge.joint.index()] = JointAddress::Tree { tree: number, link: outer, dofs, sign };
        self.set_laws(tree, self.mechanism.joint(edge.joint), edge.joint, sign);
    }

    /// Sets the laws, initial positions and initial rates of a joint's axes. An initial rate that is not given follows
    /// from the relative velocity of the two bodies.
    fn set_laws(&self, tree: &mut Tree, joint: &Joint, id: JointId, sign: f64) {
        let (parent, child) = (self.mechanism.body(joint.parent), self.mechanism.body(joint.child));
        let turning = child.angular_velocity - parent.angular_velocity;
        let dofs = match self.joints[id.index()] {
            JointAddress::Tree { dofs, .. } => dofs,
            JointAddress::LoopJoint(_) => return,
        };
        let at_anchor =
            |id: BodyId, body: &Body| body.velocity_at(joint.anchor, self.masses[id.index()].centre_of_mass);
        let sliding = at_anchor(joint.child, child) - at_anchor(joint.parent, parent);
        let duals = rate_directions(joint);
        for (index, coordinate) in joint.free_coordinates() {
            let (Some(dof), Axis::Free(free)) = (dofs[index], joint.axes[index]) else { continue };
            tree.topology.laws[dof] = axis_law(joint, &free, sign);
            let motion = if coordinate.linear { sliding } else { turning };
            let rate = free.initial_rate.unwrap_or_else(|| motion.dot(duals[index]));
            let start = if joint.kind.has_axes() { free.initial_position } else { 0.0 };
            (tree.state.q[dof], tree.state.v[dof]) = (sign * start, sign * rate);
        }
    }

    /// Adds the couplings of coordinates, with the signs of their trees.
    fn add_couplings(&mut self) -> Result<(), BuildError> {
        for coupling in &self.mechanism.couplings {
            let place = |JointAxis { joint, axis }: JointAxis| match self.joints[joint.index()] {
                JointAddress::Tree { tree, dofs, sign, .. } if self.mechanism.joint(joint).kind.has_axes() => {
                    dofs[axis].map(|dof| (tree, dof, sign))
                }
                _ => None,
            };
            let refuse = |what: &str| BuildError { place: coupling.source.clone(), what: what.into() };
            let (Some((tree, leader, leader_sign)), Some((second, follower, sign))) =
                (place(coupling.leader), place(coupling.follower))
            else {
                return Err(refuse(
                    "a coupling ties free axes of joints that are no ball joints, and no loop may have coupled joints alone",
                ));
            };
            if tree != second {
                return Err(refuse("a coupling ties joints of one robot, whose parts hang together without the world"));
            }
            let Coupling { ratio, offset, .. } = *coupling;
            let topology = &mut self.trees[tree].topology;
            topology.couplings.push(tree::Coupling {
                leader,
                follower,
                ratio: ratio * sign * leader_sign,
                offset: sign * offset,
            });
            topology.has_rows = true;
        }
        Ok(())
    }

    fn add_loop_joint(&mut self, id: JointId) {
        let joint = self.mechanism.joint(id);
        let carried = joint.frames();
        let ends = [joint.parent, joint.child].map(|body| (self.bodies[body.index()], body));
        let frame = |end: usize| {
            let (place, body) = &ends[end];
            let world_from_link = self.mechanism.body(*body).pose.then(&place.frame.inverse());
            world_from_link.inverse().then(&carried[end])
        };
        let frames = [frame(0), frame(1)];
        self.joints[id.index()] = JointAddress::LoopJoint(self.loop_joints.len());
        self.loop_joints.push(LoopJoint {
            a: ends[0].0.side(),
            b: ends[1].0.side(),
            frames,
            kind: joint.kind,
            axes: joint.axes.map(|axis| axis.free().map(|free| axis_law(joint, free, 1.0))),
            stops: ball_joint::Stops::new(joint),
            motors: [Servo::OFF; 3],
            place: JointFrames { parent: carried[0], child: carried[1] },
            coordinates: joint.axes.map(|axis| axis.free().map_or(0.0, |free| free.initial_position)),
            impulses: [0.0; ROW_COUNT],
            load: LoopLoad::default(),
            reported_load: LoopLoad::default(),
            power_means: [0.0; 3],
            motor_limit: None,
        });
    }

    /// Collider of all colliding shapes, in the order of their trees. Bodies that a joint connects never collide.
    fn collider(&self, shared: &SharedParts) -> Collider {
        let (mut geoms, mut shapes) = (Vec::new(), shared.shapes.iter());
        for (id, body) in self.mechanism.bodies() {
            let Some(placed) = body.collision_shape() else { continue };
            let place = self.bodies[id.index()];
            let moves = self.trees[place.tree].topology.leaf[place.link].is_some();
            for ((number, part), (shape, outline)) in simple_parts(placed).into_iter().enumerate().zip(&mut shapes) {
                let at = place.frame.then(&part.pose);
                let (at, material) = ((at.translation, at.rotation), *body.material_of_part(number));
                let mut geom = Geom::new(place.side(), id, outline.clone(), shape.clone(), at, material);
                (geom.frame, geom.moves, geom.filter) = (place.frame.rotation, moves, body.filter);
                geoms.push(geom);
            }
        }
        geoms.sort_by_key(|geom| (geom.side.tree, geom.side.link));
        let joined = self.mechanism.joints.iter().map(|joint| [joint.parent, joint.child]);
        let apart = joined.chain(self.mechanism.apart.iter().copied()).map(|[a, b]| (a.min(b), a.max(b)));
        let self_colliding = self.trees.iter().map(|tree| {
            let mut bodies = tree.topology.links.iter().filter_map(|link| link.body);
            let robot = bodies.next().and_then(|body| self.mechanism.body(body).robot);
            bodies.next().is_some() && robot.is_none_or(|robot| self.mechanism.robot(robot).self_collision)
        });
        let gravity = self.mechanism.gravity.norm();
        let grounds = Arc::clone(&shared.grounds);
        Collider::new(geoms, self.trees.len(), grounds, apart.collect(), self_colliding.collect(), gravity)
    }
}

/// Directions in which the relative velocity of a joint's bodies has the rate of each coordinate alone, at step 0.
fn rate_directions(joint: &Joint) -> [DVec3; 3] {
    let mut directions = joint.initial_directions();
    let turning: Vec<usize> =
        joint.free_coordinates().filter(|(_, coordinate)| !coordinate.linear).map(|(index, _)| index).collect();
    let axes: Vec<DVec3> = turning.iter().map(|&index| directions[index]).collect();
    let duals = match axes[..] {
        [first, second] => dual_basis(first, second, first.cross(second)),
        [first, second, third] => dual_basis(first, second, third),
        _ => return directions,
    };
    turning.into_iter().zip(duals).for_each(|(index, dual)| directions[index] = dual);
    directions
}

/// A link without mass and body.
fn massless_link() -> Link {
    Link {
        parent: None,
        joint: LinkJoint::Weld,
        dof: 0,
        anchor_in_parent: DVec3::ZERO,
        anchor: DVec3::ZERO,
        turn: DQuat::IDENTITY,
        half_turn: DQuat::IDENTITY,
        mass: 0.0,
        principal: DVec3::ZERO,
        body: None,
        origin: None,
    }
}

/// Motion of one coordinate relative to the inner link; a weld without a coordinate.
fn joint_step(poses: &[Pose], inner: usize, joint: &Joint, coordinate: Option<Coordinate>) -> Step {
    let pose = &poses[inner];
    let motion = match coordinate {
        None => LinkJoint::Weld,
        Some(coordinate) => {
            let direction = pose.rotation.inverse() * joint.direction(coordinate);
            if coordinate.linear { LinkJoint::Prismatic(direction) } else { LinkJoint::Revolute(direction) }
        }
    };
    Step { inner, joint: motion, anchor_in_inner: pose.inverse().point(joint.anchor) }
}

/// Adds a link with this pose at step 0, which a step of a joint moves. Returns its index.
fn add_link(tree: &mut Tree, poses: &mut Vec<Pose>, link: Link, step: Step, joint: &Joint, pose: Pose) -> usize {
    let inner = poses[step.inner].rotation.inverse();
    let (turn, half_turn) = match step.joint {
        LinkJoint::Spherical { .. } => (joint.frame.inverse() * pose.rotation, inner * joint.frame),
        LinkJoint::Revolute(axis) => {
            let turn = inner * pose.rotation;
            (turn, DQuat::from_xyzw(axis.x, axis.y, axis.z, 0.0) * turn)
        }
        LinkJoint::Free | LinkJoint::Weld | LinkJoint::Prismatic(_) => (inner * pose.rotation, DQuat::IDENTITY),
    };
    let anchor = pose.inverse().point(joint.anchor);
    poses.push(pose);
    tree.push_link(Link {
        parent: Some(step.inner),
        joint: step.joint,
        anchor_in_parent: step.anchor_in_inner,
        anchor,
        turn,
        half_turn,
        ..link
    })
}

/// Law of an axis, with the opposite sign of its coordinate if `sign` is -1. The stops of a ball joint are not those of
/// single axes.
fn axis_law(joint: &Joint, axis: &FreeAxis, sign: f64) -> FreeAxis {
    let (lower, upper) = match joint.kind {
        JointKind::Ball => (f64::NEG_INFINITY, f64::INFINITY),
        _ if sign < 0.0 => (-axis.upper, -axis.lower),
        _ => (axis.lower, axis.upper),
    };
    FreeAxis { lower, upper, spring_position: sign * axis.spring_position, ..*axis }
}

/// Principal moments and `body_from_principal`. If the tensor is already diagonal, the body's axes are kept.
fn principal_axes(tensor: &DMat3) -> (DVec3, DQuat) {
    let diagonal = DVec3::new(tensor.x_axis.x, tensor.y_axis.y, tensor.z_axis.z);
    let off = tensor.x_axis.y.abs().max(tensor.x_axis.z.abs()).max(tensor.y_axis.z.abs());
    if off <= 1e-14 * diagonal.max_element() {
        return (diagonal, DQuat::IDENTITY);
    }
    let columns = tensor.to_cols_array();
    let eigen = nalgebra::SymmetricEigen::new(nalgebra::Matrix3::from_column_slice(&columns));
    let axis =
        |k: usize| DVec3::new(eigen.eigenvectors[(0, k)], eigen.eigenvectors[(1, k)], eigen.eigenvectors[(2, k)]);
    let (first, second) = (axis(0), axis(1));
    let rotation = DMat3::from_cols(first, second, first.cross(second));
    let moments = DVec3::new(eigen.eigenvalues[0], eigen.eigenvalues[1], eigen.eigenvalues[2]);
    (moments, DQuat::from_mat3(&rotation).normalized())
}

/// Simple shapes that a placed shape consists of.
fn simple_parts(placed: &Placed) -> Vec<Placed> {
    match &placed.shape {
        Shape::Compound { parts } => {
            parts.iter().map(|part| Placed { pose: placed.pose.then(&part.pose), shape: part.shape.clone() }).collect()
        }
        _ => vec![placed.clone()],
    }
}

/// Geometry of a shape for contacts.
fn shape_outline(shape: &Shape, collider: &SharedShape) -> Outline {
    match shape {
        Shape::Box { size } => Outline::Box(*size * 0.5),
        Shape::Sphere { radius } => Outline::Ball(*radius),
        Shape::Ellipsoid { radii } => Outline::Ellipsoid(Ellipsoid { radii: *radii }),
        Shape::Cylinder { radius, length } => Outline::Cylinder { radius: *radius, half: 0.5 * length },
        Shape::Capsule { radius, length } => Outline::Capsule { radius: *radius, half: 0.5 * length },
        Shape::Cone { radius, length } => Outline::Cone { radius: *radius, half: 0.5 * length },
        Shape::ConvexHull { points } => match collider.as_convex_polyhedron() {
            Some(polyhedron) => Outline::Hull(Arc::new(Hull::new(polyhedron))),
            None => Outline::Points(points.clone()),
        },
        Shape::TriangleMesh { vertices, .. } => match collider.as_trimesh() {
            Some(mesh) => Outline::Mesh(vertices.as_slice().into(), Arc::new(Faces::new(mesh))),
            None => Outline::Points(vertices.clone()),
        },
        Shape::Compound { .. } => Outline::Points(Vec::new()),
    }
}
