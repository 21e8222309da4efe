//! Worlds of the wide family, by seed, with features that the first family lacks: compounds, closed meshes and plates
//! of a millimetre, given inertias; planes at any angle, terrain, triangles and soil, all of which may have moving
//! surfaces; joints of all kinds with initial positions and rates; couplings; collision filters; gravity in any
//! direction, or none; external wrenches and placements during the run.

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{Engine, EngineKind, ImpactLaw, Integrator, Motor, Servo, Settings, Wrench, hull_surface};
use simpartner_model::{
    Axis, BodyId, CollisionFilter, Coupling, CrossFriction, FreeAxis, FrictionDirection, Graph, Ground, GroundMesh,
    Heightfield, Inertia, JointAxis, JointId, JointKind, Material, Placed, Plane, Pose, Robot, RobotId, Shape, Soil,
    SurfaceMotion,
};

use super::Chance;
use crate::scene::{self, body, joint};

/// Points along each side of terrain, and its length, m.
const POINTS: usize = 9;
const EXTENT: f64 = 6.0;

impl Chance {
    fn pose(&mut self, size: f64) -> Pose {
        Pose { translation: self.vector(size), rotation: self.turn() }
    }

    fn direction(&mut self) -> DVec3 {
        self.vector(1.0).try_normalize().unwrap_or(DVec3::Y)
    }

    fn wide_shape(&mut self) -> Option<Shape> {
        let (radius, length) = (self.of_any_size(0.01, 0.5), self.of_any_size(0.01, 1.0));
        Some(match self.below(8) {
            0 => Shape::Box { size: DVec3::new(1e-3, radius, length) },
            1 => Shape::Cylinder { radius: 1e-3, length },
            2 | 3 => {
                let count = 2 + self.below(3);
                let part = |chance: &mut Self| chance.solid().map(|shape| Placed { pose: chance.pose(radius), shape });
                let parts: Vec<Placed> = (0..count).filter_map(|_| part(self)).collect();
                if parts.is_empty() { Shape::Sphere { radius } } else { Shape::Compound { parts } }
            }
            4 => self.mesh(radius),
            _ => return self.shape(),
        })
    }

    /// A shape, or a mesh.
    fn solid(&mut self) -> Option<Shape> {
        if self.happens(0.1) { Some(self.mesh(0.1)) } else { self.shape() }
    }

    /// A closed surface with dents.
    fn mesh(&mut self, size: f64) -> Shape {
        let points: Vec<DVec3> = (0..16).map(|_| self.direction() * size).collect();
        let (vertices, triangles) = hull_surface(&points).expect("points on a ball span a volume");
        let vertices = vertices.into_iter().map(|vertex| vertex * self.between(0.4, 1.0)).collect();
        Shape::TriangleMesh { vertices, triangles }
    }

    fn wide_material(&mut self) -> Material {
        let axis = self.direction();
        let direction = match self.happens(0.5) {
            true => FrictionDirection::Along(axis),
            false if axis.x > 0.0 => FrictionDirection::AlongRollers { axle: axis, angle: axis.y },
            false => FrictionDirection::AcrossAxle(axis),
        };
        let coefficient = self.between(0.0, 1.5);
        Material {
            across: self.happens(0.1).then_some(CrossFriction { coefficient, direction }),
            surface_velocity: if self.happens(0.1) { self.vector(3.0) } else { DVec3::ZERO },
            surface_motion: if axis.z > 0.0 { SurfaceMotion::Belt } else { SurfaceMotion::Uniform },
            grousers: if self.happens(0.2) { self.of_any_size(1e-3, 1e-2) } else { 0.0 },
            ..self.material()
        }
    }

    fn ground(&mut self, index: usize) -> Ground {
        let soil = Soil::NAMED[self.below(Soil::NAMED.len())].soil;
        let material = Material { soil: self.happens(0.3).then_some(soil), grousers: 0.0, ..self.wide_material() };
        let heights = |chance: &mut Self| -> Vec<f64> {
            let most = chance.of_any_size(0.01, 0.5);
            (0..POINTS * POINTS).map(|_| chance.between(-most, most)).collect()
        };
        match self.below(if index == 0 { 3 } else { 4 }) {
            0 => {
                let normal = if self.happens(0.5) { DVec3::Y } else { (DVec3::Y + self.vector(0.5)).normalize() };
                Plane { normal, distance: 0.0, material }.into()
            }
            1 => {
                let mut heights = heights(self);
                if self.happens(0.3) {
                    heights[self.below(POINTS * POINTS)] = f64::NAN;
                }
                let [points_x, points_z, width, depth] = [POINTS as f64, POINTS as f64, EXTENT, EXTENT];
                let pose = Pose { translation: DVec3::ZERO, rotation: DQuat::from_rotation_y(self.between(0.0, 6.0)) };
                let (points_x, points_z, heights) = (points_x as usize, points_z as usize, heights.into());
                Heightfield { points_x, points_z, width, depth, heights, pose, material }.into()
            }
            2 => self.ground_mesh(material),
            _ => Plane { normal: self.direction(), distance: -self.between(0.5, 2.0), material }.into(),
        }
    }

    /// Triangles of a bumpy square.
    fn ground_mesh(&mut self, material: Material) -> Ground {
        let most = self.of_any_size(0.01, 0.5);
        let side = 5;
        let at = |index: usize| (index as f64 / 4.0 - 0.5) * EXTENT;
        let vertices =
            (0..side * side).map(|k| DVec3::new(at(k / side), self.between(-most, most), at(k % side))).collect();
        let corner = |i: usize, j: usize| u32::try_from(i * side + j).expect("a small number");
        let cells = (0..side - 1).flat_map(|i| (0..side - 1).map(move |j| (i, j)));
        let triangles = cells.flat_map(|(i, j)| {
            let [a, b, c, d] = [corner(i, j), corner(i, j + 1), corner(i + 1, j), corner(i + 1, j + 1)];
            [[a, b, c], [b, d, c]]
        });
        Ground::Mesh(GroundMesh { vertices, triangles: triangles.collect(), material })
    }

    /// A physically possible inertia: that of three pairs of masses on axes of their own.
    fn inertia(&mut self, mass: f64, size: f64) -> Inertia {
        let squares = DVec3::new(self.share(), self.share(), self.share()) * (size * size * mass);
        let principal = DVec3::new(squares.y + squares.z, squares.x + squares.z, squares.x + squares.y);
        let turn = DMat3::from_quat(self.turn());
        let tensor = turn * DMat3::from_diagonal(principal) * turn.transpose();
        Inertia { centre_of_mass: self.vector(0.5 * size), tensor }
    }

    fn wide_axis(&mut self, moves_by_itself: bool) -> FreeAxis {
        let mut axis = self.axis();
        if self.happens(0.3) {
            axis.spring_position = self.between(-1.0, 1.0);
        }
        if self.happens(0.2) {
            axis.max_effort = self.of_any_size(1e-2, 1e3);
        }
        if self.happens(0.2) {
            axis.max_rate = self.of_any_size(1e-1, 1e3);
        }
        if moves_by_itself && self.happens(0.3) {
            axis.initial_position = self.between(axis.lower.max(-1.0), axis.upper.min(1.0));
        }
        if moves_by_itself && self.happens(0.3) {
            axis.initial_rate = Some(self.between(-20.0, 20.0));
        }
        if moves_by_itself && self.happens(0.05) {
            (axis.lower, axis.upper) = (axis.initial_position, axis.initial_position);
        }
        axis
    }
}

/// The settings that the world of a seed is run with.
pub fn settings(chance: &mut Chance) -> Settings {
    let mut settings = Settings { engine: EngineKind::Dynamics, ..Settings::default() };
    settings.auto_disable = chance.happens(0.3);
    if chance.happens(0.2) {
        settings.dynamics.impact_law = ImpactLaw::Newton;
    }
    if chance.happens(0.2) {
        settings.dynamics.integrator = Integrator::Midpoint;
    }
    settings
}

/// A world at random.
pub fn world(chance: &mut Chance) -> World {
    let mut world = scene::world();
    if chance.happens(0.3) {
        world.mechanism.gravity = if chance.happens(0.5) { DVec3::ZERO } else { chance.vector(20.0) };
    }
    let grounds = chance.below(3);
    world.mechanism.grounds = (0..grounds).map(|index| chance.ground(index)).collect();
    let count = 2 + chance.below(12);
    (0..count).for_each(|index| add_body(&mut world, chance, index));
    let jointed = if chance.happens(0.5) { 0.9 } else { 0.4 };
    for child in 1..count {
        let times = if chance.happens(jointed) { 1 + usize::from(chance.happens(0.15)) } else { 0 };
        (0..times).for_each(|_| add_joint(&mut world, chance, child));
    }
    add_couplings(&mut world, chance);
    if chance.happens(0.3) {
        let [robot, source] = ["robot", ""].map(String::from);
        let self_collision = chance.happens(0.5);
        world.mechanism.robots = vec![Robot { name: robot.clone(), model: robot, self_collision, source }];
        world.mechanism.bodies.iter_mut().for_each(|body| body.robot = Some(RobotId::new(0)));
        world.mechanism.joints.iter_mut().for_each(|joint| joint.robot = Some(RobotId::new(0)));
    }
    for _ in 0..chance.below(4) {
        let pair = [chance.below(count), chance.below(count)];
        if pair[0] != pair[1] {
            world.mechanism.apart.push(pair.map(BodyId::new));
        }
    }
    world
}

fn add_body(world: &mut World, chance: &mut Chance, index: usize) {
    let at = DVec3::Y * 0.6 + chance.vector(0.8);
    let (shape, mass) = (chance.wide_shape(), chance.of_any_size(1e-3, 1e2));
    let mut one = body(&format!("b{index}"), mass, shape, at);
    one.pose.rotation = chance.turn();
    one.material = chance.wide_material();
    one.fixed = chance.happens(if index == 0 { 0.4 } else { 0.05 });
    if let Some(placed) = one.shape.as_mut().filter(|_| chance.happens(0.2)) {
        placed.pose = chance.pose(0.1);
    }
    if chance.happens(0.1) {
        one.collision = chance.wide_shape().map(|shape| Placed { pose: chance.pose(0.1), shape });
    }
    if chance.happens(0.2) {
        let bits = |chance: &mut Chance| if chance.happens(0.3) { 0 } else { 1 << chance.below(3) };
        one.filter = CollisionFilter { category: bits(chance), collides_with: bits(chance) };
    }
    if chance.happens(0.2) {
        let size = chance.of_any_size(0.01, 0.5);
        one.inertia = Some(chance.inertia(mass, size));
    }
    if !one.fixed && chance.happens(0.3) {
        (one.linear_velocity, one.angular_velocity) = (chance.vector(10.0), chance.vector(20.0));
    }
    world.mechanism.bodies.push(one);
}

fn add_joint(world: &mut World, chance: &mut Chance, child: usize) {
    let parent = chance.below(child);
    let bodies = &world.mechanism.bodies;
    let anchor = bodies[child].pose.translation.lerp(bodies[parent].pose.translation, chance.share());
    let kind = JointKind::ALL[chance.below(JointKind::ALL.len())];
    let (parent, child) = if chance.happens(0.3) { (child, parent) } else { (parent, child) };
    let mut one = joint(&format!("j{}", world.mechanism.joints.len()), kind, parent, child, anchor);
    one.frame = chance.turn();
    if kind == JointKind::Ball {
        one.axes = [Axis::Free(chance.wide_axis(false)); 3];
        one.swing = if chance.happens(0.3) { chance.between(1e-3, 3.0) } else { f64::INFINITY };
    }
    for axis in one.axes.iter_mut().filter(|axis| axis.free().is_some() && kind != JointKind::Ball) {
        let locked = kind == JointKind::Constrained && chance.happens(0.3);
        *axis = if locked { Axis::Locked } else { Axis::Free(chance.wide_axis(true)) };
    }
    world.mechanism.joints.push(one);
}

/// Couples axes of the joints of a tree; most of them start in the coupled ratio.
fn add_couplings(world: &mut World, chance: &mut Chance) {
    let mechanism = &world.mechanism;
    let forest = Graph::new(&mechanism.bodies, &mechanism.joints).spanning_forest();
    let mut couplings = Vec::new();
    for tree in &forest.trees {
        let joints = tree.edges.iter().map(|edge| edge.joint).filter(|&joint| mechanism.joint(joint).kind.has_axes());
        let axes: Vec<JointAxis> = joints
            .flat_map(|joint| {
                let own = mechanism.joint(joint).free_coordinates();
                own.map(move |(axis, _)| JointAxis { joint, axis })
            })
            .collect();
        let count = if axes.len() > 1 && chance.happens(0.4) { 1 + chance.below(2) } else { 0 };
        for _ in 0..count {
            let [leader, follower] = [chance.below(axes.len()), chance.below(axes.len())];
            if leader == follower {
                continue;
            }
            let [leader, follower] = [axes[leader], axes[follower]];
            let start = |axis: JointAxis| {
                mechanism.joint(axis.joint).axes[axis.axis].free().map_or(0.0, |free| free.initial_position)
            };
            let ratio = chance.of_any_size(0.1, 10.0) * if chance.happens(0.5) { 1.0 } else { -1.0 };
            let open = if chance.happens(0.2) { chance.between(-0.1, 0.1) } else { 0.0 };
            let offset = start(follower) - ratio * start(leader) + open;
            couplings.push(Coupling { leader, follower, ratio, offset, source: String::new() });
        }
    }
    world.mechanism.couplings = couplings;
}

/// External wrenches until the next commands.
pub type Pushes = Vec<(BodyId, DVec3, Wrench)>;

/// Sets surface velocities, chooses external wrenches, and now and then sets the pose of a body. Returns the wrenches,
/// and the change of energy by the set pose, J, which no motion causes.
pub fn disturb(world: &World, engine: &mut dyn Engine, chance: &mut Chance) -> (Pushes, f64) {
    let bodies = world.mechanism.bodies.len();
    let any = |chance: &mut Chance| BodyId::new(chance.below(bodies));
    if chance.happens(0.1) {
        engine.set_surface_velocity(any(chance), chance.vector(3.0));
    }
    let mut pushes = Vec::new();
    if chance.happens(0.3) {
        let strongest = if chance.happens(0.02) { 1e9 } else { 1e2 };
        let size = chance.of_any_size(1e-3, strongest);
        let wrench = Wrench { force: chance.vector(size), torque: chance.vector(0.1 * size) };
        pushes.push((any(chance), chance.vector(0.1), wrench));
    }
    let stored = |engine: &dyn Engine| engine.energy_balance().map_or(0.0, |energy| energy.stored);
    let before = stored(engine);
    if chance.happens(0.02) {
        let at = Pose { translation: DVec3::Y + chance.vector(1.0), rotation: chance.turn() };
        engine.set_pose(any(chance), &at, chance.vector(5.0), chance.vector(10.0));
    }
    (pushes, stored(engine) - before)
}

/// Commands with numbers of any size that a double has.
pub fn command_anything(world: &World, engine: &mut dyn Engine, chance: &mut Chance) {
    let any = |chance: &mut Chance| {
        let size = chance.of_any_size(1e-300, 1e300);
        if chance.happens(0.5) { size } else { -size }
    };
    let vector = |chance: &mut Chance| DVec3::new(any(chance), any(chance), any(chance));
    for (joint, axis) in (0..world.mechanism.joints.len()).flat_map(|joint| (0..3).map(move |axis| (joint, axis))) {
        let (target, max_effort) = (any(chance), any(chance).abs());
        let motor = match chance.below(4) {
            0 => Motor::Velocity { target, max_effort },
            1 => Motor::Position { target, max_effort },
            2 => Motor::Effort(target),
            _ => {
                let [rate, stiffness, damping] = [any(chance), any(chance).abs(), any(chance).abs()];
                Motor::Servo(Servo { position: target, rate, stiffness, damping, max_effort })
            }
        };
        engine.set_motor(JointId::new(joint), axis, motor);
    }
    let body = BodyId::new(chance.below(world.mechanism.bodies.len()));
    engine.apply_wrench(body, vector(chance), Wrench { force: vector(chance), torque: vector(chance) });
    engine.set_surface_velocity(body, vector(chance));
}
