//! The parts of a mechanism that cameras see, made once: shapes with their trees, and colours.

use std::sync::Arc;

use bevy_math::DVec3;
use simpartner_model::{
    Body, Color, Ground, Lamp, Mechanism, Norm, Placed, Pose, RutDepths, Scenery, Shape, quickhull,
};
use thiserror::Error;

use crate::{
    light::{Light, linear_of},
    look::SceneLook,
    mesh::Mesh,
    rut::{Base, GroundRuts},
    shape::{Finish, Form, Owner, SceneShape},
    solid::Solid,
    terrain::Terrain,
};

/// Largest coordinate of a shape, m. In f32, boxes beyond it could no longer be told apart from infinite ones.
const MAX_COORDINATE: f64 = 1e12;

/// Colours of robots without colours, in their order; those of the viewer's page.
const ROBOT_COLORS: [u32; 6] = [0x4f_7f_b8, 0xc4_78_3c, 0x5c_9c_74, 0x9a_6f_b5, 0xb9_57_7a, 0x4b_9a_a5];
/// Colours of objects, fixed objects, what rolls, and limbs, likewise.
const OBJECT_COLOR: u32 = 0xc2_a8_78;
const FIXED_COLOR: u32 = 0x98_a1_ac;
const ROLL_COLOR: u32 = 0x56_5f_6a;
const LIMB_COLOR: u32 = 0xa9_b2_bd;

/// Colours of the squares of grounds: dry earth.
const GROUND_COLORS: [u32; 2] = [0xb4_ad_9c, 0xa8_a0_8e];

/// A mechanism that has no scene.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SceneError {
    /// A shape cannot be seen.
    #[error("{source_place}: the {shape} of '{owner}' cannot be drawn: {problem}")]
    Shape {
        /// Place of its body in a file.
        source_place: String,
        /// Name of its body, or its ground.
        owner: String,
        /// Name of the shape.
        shape: &'static str,
        /// The reason.
        problem: &'static str,
    },
    /// Poses that do not fit.
    #[error("{given} poses for {expected} bodies: there is one for each body, in the order of their ids")]
    PoseCount {
        /// Number of the poses.
        given: usize,
        /// Number of the bodies.
        expected: usize,
    },
    /// A pose that is no number.
    #[error("the pose of {0} is not finite: images need finite poses")]
    Pose(String),
}

/// A plane without end, seen from the side of its normal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScenePlane {
    pub(crate) ground: usize,
    pub(crate) normal: DVec3,
    pub(crate) distance: f64,
    pub(crate) finish: Finish,
}

/// All shapes of a mechanism.
#[derive(Debug, Clone, Default)]
pub struct Scene {
    pub(crate) shapes: Vec<SceneShape>,
    pub(crate) planes: Vec<ScenePlane>,
    pub(crate) body_count: usize,
    pub(crate) light: Light,
    pub(crate) lamps: Vec<Lamp>,
    /// Ruts of grounds that can have some. Scenes that are cloned share them until one of them changes.
    pub(crate) ruts: Vec<Arc<GroundRuts>>,
    meshes: Vec<Arc<Mesh>>,
}

impl Scene {
    /// The scene of a mechanism. Meshes that are equal have one tree.
    ///
    /// # Errors
    /// A hull without volume, or a coordinate that is not finite.
    pub fn new(mechanism: &Mechanism) -> Result<Self, SceneError> {
        let Scenery { lamps, .. } = &mechanism.scenery;
        let mut scene = Self {
            body_count: mechanism.bodies.len(),
            light: Light::of_scenery(&mechanism.scenery),
            lamps: lamps.iter().take(Scenery::MAX_LAMPS).cloned().collect(),
            ..Self::default()
        };
        let mut pyramids = Vec::new();
        for (number, ground) in mechanism.grounds.iter().enumerate() {
            scene.add_ground(number, ground)?;
        }
        for (id, body) in mechanism.bodies() {
            let name = mechanism.qualified_name(body);
            for (placed, color, look) in body.looks() {
                let color = color.unwrap_or_else(|| default_color(body));
                let tint = look.and_then(|look| look.paint.as_ref()).map_or(color, |paint| paint.tint);
                let finish = Finish { opacity: f32::from(tint.alpha) / 255.0, ..Finish::of_color(color) };
                let look = look.and_then(|look| SceneLook::of_look(look, &mut pyramids));
                let first = scene.shapes.len();
                scene.add_placed(Owner::Body(id), placed, finish).map_err(|(shape, problem)| SceneError::Shape {
                    source_place: body.source.clone(),
                    owner: name.clone(),
                    shape,
                    problem,
                })?;
                scene.shapes[first..].iter_mut().for_each(|shape| shape.look.clone_from(&look));
            }
        }
        Ok(scene)
    }

    /// The light of its world.
    pub fn light(&self) -> &Light {
        &self.light
    }

    /// Number of bodies, each of which has a pose.
    pub fn body_count(&self) -> usize {
        self.body_count
    }

    /// Sets the ruts: the depths of grounds with their indices, as the engine's `rut_depths` gives them. All other
    /// grounds have none. Views made from then on have them. Each tile that has changed is some 10 microseconds of work
    /// for itself and each of its neighbours.
    ///
    /// Grounds of triangles, those steeper than 60 degrees and terrain that is not upright are shown without ruts.
    pub fn set_ruts(&mut self, ruts: &[(usize, RutDepths)]) {
        let none = RutDepths::default();
        for ground in &mut self.ruts {
            let given = ruts.iter().find(|(number, _)| ground.ground_owner() == Owner::Ground(*number));
            let depths = given.map_or(&none, |(_, depths)| depths);
            if !ground.has_depths(depths) {
                Arc::make_mut(ground).set_depths(depths);
            }
        }
    }

    /// Number of shapes without planes, of triangles with those of equal meshes counted once, and of cells of terrain.
    pub fn sizes(&self) -> [usize; 3] {
        let cells = self.shapes.iter().map(|shape| match &shape.form {
            Form::Terrain(terrain) => terrain.cell_count(),
            Form::Solid(_) | Form::Mesh(_) => 0,
        });
        let triangles = self.meshes.iter().map(|mesh| mesh.triangle_count());
        [self.shapes.len(), triangles.sum(), cells.sum()]
    }

    fn add_ground(&mut self, number: usize, ground: &Ground) -> Result<(), SceneError> {
        let finish =
            Finish { other: linear_of(color_of(GROUND_COLORS[1])), ..Finish::of_color(color_of(GROUND_COLORS[0])) };
        let refuse = |(shape, problem)| SceneError::Shape {
            source_place: "the world".into(),
            owner: format!("ground {number}"),
            shape,
            problem,
        };
        match ground {
            Ground::Plane(plane) => {
                let normal = plane.normal.try_normalized().filter(|_| plane.distance.is_finite());
                let normal = normal.ok_or(refuse(("surface", "its normal and distance are finite, and no zero")))?;
                let base = Base::of_plane(normal, plane.distance);
                self.add_ruts(base, number, finish);
                self.planes.push(ScenePlane { ground: number, normal, distance: plane.distance, finish });
            }
            Ground::Heightfield(field) => {
                let is_grid = field.points_x >= 2 && field.points_z >= 2;
                let is_wide = field.width > 0.0 && field.depth > 0.0 && field.width.max(field.depth) < MAX_COORDINATE;
                if !(is_grid && is_wide && field.heights.iter().all(|height| height.is_nan() || is_within(*height))) {
                    return Err(refuse(("heightfield", "its extent is above 0 and its heights are finite")));
                }
                let terrain = Terrain::new(field);
                if let Some(bounds) = terrain.own_bounds().filter(|_| is_finite(&field.pose)) {
                    let terrain = Arc::new(terrain);
                    let base = Base::of_terrain(&terrain, &field.pose);
                    self.add_ruts(base, number, finish);
                    let form = Form::Terrain(terrain);
                    self.shapes.push(SceneShape {
                        owner: Owner::Ground(number),
                        pose: field.pose,
                        form,
                        finish,
                        look: None,
                        bounds,
                    });
                }
            }
            Ground::Mesh(mesh) => {
                let owner = Owner::Ground(number);
                self.add_triangles(owner, Pose::IDENTITY, &mesh.vertices, &mesh.triangles, false, finish)
                    .map_err(|problem| refuse(("ground", problem)))?;
            }
        }
        Ok(())
    }

    fn add_ruts(&mut self, base: Option<Base>, ground: usize, finish: Finish) {
        let ruts = base.map(|base| GroundRuts::on_ground(base, Owner::Ground(ground), finish));
        self.ruts.extend(ruts.map(Arc::new));
    }

    fn add_placed(
        &mut self,
        owner: Owner,
        placed: &Placed,
        finish: Finish,
    ) -> Result<(), (&'static str, &'static str)> {
        let Placed { pose, shape } = placed;
        let problem = |problem| (shape.name(), problem);
        let solid = match shape {
            Shape::Box { size } => Solid::Box { half_size: 0.5 * *size },
            Shape::Sphere { radius } => Solid::Sphere { radius: *radius },
            Shape::Ellipsoid { radii } => Solid::Ellipsoid { radii: *radii },
            Shape::Cylinder { radius, length } => Solid::Cylinder { radius: *radius, half_length: 0.5 * length },
            Shape::Capsule { radius, length } => Solid::Capsule { radius: *radius, half_length: 0.5 * length },
            Shape::Cone { radius, length } => Solid::Cone { radius: *radius, half_length: 0.5 * length },
            Shape::ConvexHull { points } => {
                let no_volume = "its points span no volume; a box may stand for a flat one";
                let (vertices, triangles) = quickhull(points).ok_or(problem(no_volume))?;
                return self.add_triangles(owner, *pose, &vertices, &triangles, true, finish).map_err(problem);
            }
            Shape::TriangleMesh { vertices, triangles } => {
                return self.add_triangles(owner, *pose, vertices, triangles, false, finish).map_err(problem);
            }
            Shape::Compound { parts } => {
                return parts.iter().try_for_each(|part| {
                    let part = Placed { pose: pose.then(&part.pose), shape: part.shape.clone() };
                    self.add_placed(owner, &part, finish)
                });
            }
        };
        let half = solid.half_size();
        if !(is_near(half) && half.min_element() >= 0.0 && is_finite(pose)) {
            return Err(problem("its size and pose are finite"));
        }
        let (form, bounds) = (Form::Solid(solid), [-half, half]);
        self.shapes.push(SceneShape { owner, pose: *pose, form, finish, look: None, bounds });
        Ok(())
    }

    fn add_triangles(
        &mut self,
        owner: Owner,
        pose: Pose,
        vertices: &[DVec3],
        triangles: &[[u32; 3]],
        is_solid: bool,
        finish: Finish,
    ) -> Result<(), &'static str> {
        if !(vertices.iter().all(|vertex| is_near(*vertex)) && is_finite(&pose)) {
            return Err("its corners and pose are finite");
        }
        if triangles.iter().flatten().any(|corner| *corner as usize >= vertices.len()) {
            return Err("a triangle has a corner that is not in the list");
        }
        let known = self.meshes.iter().find(|mesh| mesh.is_of(vertices, triangles, is_solid)).cloned();
        let mesh = match known {
            Some(mesh) => mesh,
            None => match Mesh::new(vertices.to_vec(), triangles.to_vec(), is_solid) {
                Some(mesh) => Arc::new(mesh),
                None => return Ok(()),
            },
        };
        if !self.meshes.iter().any(|known| Arc::ptr_eq(known, &mesh)) {
            self.meshes.push(Arc::clone(&mesh));
        }
        let bounds = mesh.own_bounds();
        self.shapes.push(SceneShape { owner, pose, form: Form::Mesh(mesh), finish, look: None, bounds });
        Ok(())
    }
}

fn is_within(coordinate: f64) -> bool {
    coordinate.abs() < MAX_COORDINATE
}

fn is_near(point: DVec3) -> bool {
    point.to_array().into_iter().all(is_within)
}

pub(crate) fn is_finite(pose: &Pose) -> bool {
    is_near(pose.translation) && pose.rotation.is_finite()
}

fn color_of(code: u32) -> Color {
    let [_, red, green, blue] = code.to_be_bytes();
    Color { red, green, blue, alpha: u8::MAX }
}

/// The colour of a body that has none: robots each in their own, what rolls dark, limbs of metal. Bodies of a robot
/// differ a little by their names.
fn default_color(body: &Body) -> Color {
    let shape = body.shape.as_ref().map(|placed| &placed.shape);
    let Some(robot) = body.robot else { return color_of(if body.fixed { FIXED_COLOR } else { OBJECT_COLOR }) };
    match shape {
        Some(Shape::Cylinder { .. } | Shape::Sphere { .. }) => color_of(ROLL_COLOR),
        Some(Shape::Capsule { .. }) => color_of(LIMB_COLOR),
        _ => {
            let base = color_of(ROBOT_COLORS[robot.index() % ROBOT_COLORS.len()]);
            let hash = body.name.bytes().fold(7_u32, |sum, byte| (sum * 31 + u32::from(byte)) % 997);
            let scale = 1.0 + 0.06 * (f64::from(hash % 5) - 2.0);
            let [red, green, blue, alpha] = base.fractions();
            Color::from_fractions([red * scale, green * scale, blue * scale, alpha])
        }
    }
}
