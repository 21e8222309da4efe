//! A grasp as a mechanism that an engine can run.
//!
//! The object is a free body with its own mass properties. Each contact's patch is a plate or a triangle mesh that is
//! welded to it. Each finger is a small ball on a rail along its line of force at the start. A soft spring pushes the
//! ball with a force P, and the rail has the friction R. Collision filters let a finger touch its own patch only.
//!
//! If the grasp does not hold, P + R is the finger's largest force F: the finger stays still until it is pushed back
//! with F, as a finger that is held still does. P is slightly more than half of F, so that the finger follows a
//! receding surface with hardly any force, as in the quasi-exact computation.
//!
//! If the grasp holds, P is the force that holds it with the largest margin, and R is that margin. With smaller normal
//! forces, some grasps that hold would slip under Coulomb's law as well.
//!
//! | of the grasp | in the mechanism |
//! |---|---|
//! | friction | Coulomb's law, unchanged |
//! | a soft finger's torsion | bounded by itself, not in an ellipsoid with friction: [`Softness`] has two bounds |
//! | the patch | within its range and a margin beyond; curved patches as triangles |

use std::f64::consts::FRAC_1_SQRT_2;

use bevy_math::{DMat3, DQuat, DVec2, DVec3};
use simpartner_dynamics::{MassProperties, mass_properties};
use simpartner_model::{
    Axis, Body, BodyId, CollisionFilter, Color, Contact, ContactKind, FreeAxis, Grasp, Inertia, Joint, JointId,
    JointKind, Look, Material, Mechanism, Patch, Placed, Pose, Shape, Visual,
};

use super::{InitialForces, SlipOptions, initial_forces};
use crate::{GraspError, Section, Statics, statics::halves};

/// Radius of a finger's ball in lengths of the grasp. A contact at an angle to the finger's line is displaced by the
/// radius times the sine of the angle.
const RELATIVE_FINGER_RADIUS: f64 = 5e-3;
/// Largest radius of a finger's ball as a fraction of its patch's range and of the least radius of curvature. A ball
/// that is wider than a hollow rests on the rim, and touches the whole mesh at once.
const MAX_RADIUS_ON_PATCH: f64 = 0.1;
/// Mass of a finger as a fraction of the object's: negligible for the object, and far above rounding.
const RELATIVE_FINGER_MASS: f64 = 1e-5;
/// Mass of a patch as a fraction of the object's. The object's body has that much less mass.
const RELATIVE_PATCH_MASS: f64 = 1e-3;
/// Relative change of a spring's force for each length of the grasp that the finger moves.
const SPRING_SOFTNESS: f64 = 1e-9;
/// Terminal speed of a finger that nothing holds back, m/s, which sets the damping of its rail. An object that falls
/// for 5 s is as fast. Without damping so light a ball would pass through the object in a step.
const TERMINAL_SPEED: f64 = 50.0;
/// Force with which a finger follows a receding surface, as a fraction of the load, and at most of the finger's largest
/// force. It accelerates so light a ball a hundred times more than the load accelerates the object.
const FOLLOWING_FORCE: f64 = 1e-3;
/// Extent of a plane without a range, in lengths of the grasp: farther than anything falls in the seconds of a slip.
const UNBOUNDED_PLANE_REACH: f64 = 1e4;
/// Extension of a patch beyond its range, as a fraction of the range, so that a finger stays on the surface until it is
/// out of range.
const PATCH_MARGIN: f64 = 0.1;
/// Wanted angle between neighbouring triangles of a patch, rad.
const FACET_ANGLE: f64 = 0.01;
/// Largest angle between neighbouring triangles of a patch, rad, where the wanted one takes too many cells.
const MAX_FACET_ANGLE: f64 = 0.1;
/// Smallest and largest number of cells along an edge of a curved patch.
const CELL_COUNTS: [usize; 2] = [16, 160];
/// Smallest size of a cell, m. The engine looks for contacts some millimetres ahead, and compares all triangles that it
/// finds there in pairs.
const MIN_CELL_SIZE: f64 = 1e-4;
/// Number of bits of a collision filter; each contact needs one.
const MAX_CONTACTS: usize = 16;

/// Bound on the friction and torsion of soft fingers. The grasp bounds them together, by an ellipsoid, but engines
/// bound each by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Softness {
    /// The smallest box around the ellipsoid: both in full.
    Outer,
    /// A box inside of the ellipsoid: each divided by the square root of 2.
    Inner,
}

/// A grasp as a mechanism.
#[derive(Debug, Clone)]
pub struct World {
    /// The mechanism. The force and torque on the object beside its weight are not part of it.
    pub mechanism: Mechanism,
    /// The body of the object.
    pub object: BodyId,
    /// Rails of the fingers, in the order of the contacts. Their coordinates are along the lines of force, into the
    /// object.
    pub rails: Vec<JointId>,
    /// Radius of the fingers' balls, m.
    pub finger_radius: f64,
    /// Force with which the spring of each finger pushes, N.
    pub squeeze: Vec<f64>,
    /// Largest friction force of a rail, N.
    pub most_rubbing: f64,
}

/// Builds the mechanism of a grasp.
///
/// # Errors
/// The object has no mass properties or no inertia, or an engine cannot represent a part of the grasp, which the
/// message names.
pub fn world(grasp: &Grasp, options: &SlipOptions, softness: Softness) -> Result<World, GraspError> {
    if grasp.contacts.len() > MAX_CONTACTS {
        let count = grasp.contacts.len();
        return Err(GraspError::Unrepresentable(format!(
            "the engine's collision filters tell {MAX_CONTACTS} fingers apart, not {count}"
        )));
    }
    let statics = Statics::new(grasp, Section::Disc)?;
    let length = statics.length;
    let (squeeze, most_rubbing) = match initial_forces(grasp, &statics, options)? {
        InitialForces::Holds(forces, margin) => (forces, margin.max(0.0)),
        InitialForces::Slips(forces) => {
            let least = |limits: [f64; 2]| following_push(limits[1], halves(&statics.load)[0]);
            let each = forces.iter().zip(&grasp.contacts).map(|(force, contact)| force.max(least(contact.limits)));
            (each.collect(), f64::INFINITY)
        }
    };
    let mass = mass_properties(&grasp.object).map_err(GraspError::Object)?;
    let mut names = Names(Vec::new());
    let object = fraction_of_object(&mass, 1.0 - RELATIVE_PATCH_MASS * grasp.contacts.len() as f64);
    let object = Body {
        name: names.unused(&grasp.object.name),
        // The patches collide in its place; its own shape is only drawn.
        filter: CollisionFilter { category: 0, collides_with: 0 },
        collision: None,
        mass: object.mass,
        inertia: object.inertia,
        ..grasp.object.clone()
    };
    let hand = Body { name: names.unused("Hand"), fixed: true, ..Body::default() };
    let bodies = vec![object, hand];
    let mut world = World {
        mechanism: Mechanism { gravity: grasp.gravity, bodies, ..Mechanism::default() },
        object: OBJECT_BODY,
        rails: Vec::new(),
        finger_radius: grasp
            .contacts
            .iter()
            .map(|contact| max_ball_radius(&contact.patch))
            .fold(RELATIVE_FINGER_RADIUS * length, f64::min),
        squeeze,
        most_rubbing,
    };
    for (index, contact) in grasp.contacts.iter().enumerate() {
        let filter = CollisionFilter { category: 1 << index, collides_with: 1 << index };
        let material = contact_material(&contact.kind, softness);
        let common = Body { filter, material, ..fraction_of_object(&mass, RELATIVE_PATCH_MASS) };
        world.add_patch(grasp, contact, &common, &mut names, length)?;
        world.add_finger(grasp, contact, common, &mut names, length);
    }
    Ok(world)
}

/// Spring force of a finger that follows a receding surface, N, from its largest force, N, and the load. It is half of
/// the largest force, since the rail has friction of the other half, and half of the following force.
fn following_push(most: f64, load: DVec3) -> f64 {
    0.5 * most + 0.5 * FOLLOWING_FORCE * load.length().min(most)
}

/// The object, which is the first body of the mechanism.
const OBJECT_BODY: BodyId = BodyId::new(0);
/// The hand, which is the second body of the mechanism.
const HAND_BODY: BodyId = BodyId::new(1);

/// A body with a fraction of the object's mass and inertia, and the same centre of mass.
fn fraction_of_object(mass: &MassProperties, fraction: f64) -> Body {
    let inertia = Inertia { centre_of_mass: mass.centre_of_mass, tensor: mass.tensor * fraction };
    Body { mass: mass.mass * fraction, inertia: Some(inertia), ..Body::default() }
}

impl World {
    /// Adds the patch of a contact, welded to the object.
    fn add_patch(
        &mut self,
        grasp: &Grasp,
        contact: &Contact,
        common: &Body,
        names: &mut Names,
        length: f64,
    ) -> Result<(), GraspError> {
        let [surface, seen] = patch_shapes(contact, length)?;
        let patch = BodyId::new(self.mechanism.bodies.len());
        self.mechanism.bodies.push(Body {
            name: names.unused(&format!("{}.patch", contact.name)),
            pose: grasp.object.pose,
            visuals: vec![Visual { placed: seen, color: Some(PATCH_COLOR), look: Look::default() }],
            collision: Some(surface),
            ..common.clone()
        });
        let name = names.unused(&format!("{}.weld", contact.name));
        let anchor = grasp.object.pose.translation;
        self.mechanism.joints.push(Joint { name, ..Joint::new(JointKind::Fixed, OBJECT_BODY, patch, anchor) });
        Ok(())
    }

    /// Adds the finger of a contact on its rail.
    fn add_finger(&mut self, grasp: &Grasp, contact: &Contact, common: Body, names: &mut Names, length: f64) {
        let finger = BodyId::new(self.mechanism.bodies.len());
        let normal = grasp.object.pose.direction(contact.normal());
        let centre = grasp.object.pose.point(contact.position()) - normal * self.finger_radius;
        let squeeze = self.squeeze[self.rails.len()];
        let mass = common.mass * RELATIVE_FINGER_MASS / RELATIVE_PATCH_MASS;
        // The spring also carries the ball's own weight along the rail.
        let push = squeeze - mass * grasp.gravity.dot(normal);
        let rubs = (contact.limits[1] - squeeze).clamp(0.0, self.most_rubbing);
        let ball = Shape::Sphere { radius: self.finger_radius };
        self.mechanism.bodies.push(Body {
            name: names.unused(&format!("{}.finger", contact.name)),
            pose: Pose { translation: centre, ..Pose::default() },
            mass,
            // Inertia of a ball. It has no effect, since the ball cannot rotate, but it has to be given: such balls are
            // denser than any metal.
            inertia: Some(Inertia {
                centre_of_mass: DVec3::ZERO,
                tensor: DMat3::from_diagonal(DVec3::splat(0.4 * mass * self.finger_radius * self.finger_radius)),
            }),
            shape: Some(Placed { pose: Pose::default(), shape: ball }),
            ..common
        });
        self.rails.push(JointId::new(self.mechanism.joints.len()));
        self.mechanism.joints.push(Joint {
            name: names.unused(&format!("{}.rail", contact.name)),
            frame: frame_along(normal),
            axes: [
                Axis::Locked,
                Axis::Locked,
                Axis::Free(FreeAxis {
                    damping: (squeeze - rubs).max(0.0) / TERMINAL_SPEED,
                    ..rail_axis(push, rubs, length)
                }),
            ],
            ..Joint::new(JointKind::Slider, HAND_BODY, finger, centre)
        });
    }
}

/// Colour of a patch, translucent.
const PATCH_COLOR: Color = Color { red: 0x20, green: 0x60, blue: 0xa0, alpha: 0x80 };

/// The axis of a rail: a spring whose force `push`, N, hardly changes along the way, and friction, N.
fn rail_axis(push: f64, friction: f64, length: f64) -> FreeAxis {
    let way = length / SPRING_SOFTNESS;
    FreeAxis { stiffness: push.abs() / way, spring_position: way.copysign(push), friction, ..FreeAxis::default() }
}

/// Orientation of a frame whose third axis is along a unit vector.
fn frame_along(direction: DVec3) -> DQuat {
    let (x, y) = direction.any_orthonormal_pair();
    DQuat::from_mat3(&DMat3::from_cols(x, y, direction)).normalize()
}

/// Material of a finger and its patch, with the friction and torsion of the contact.
fn contact_material(kind: &ContactKind, softness: Softness) -> Material {
    let part = match (kind, softness) {
        (ContactKind::Soft { .. }, Softness::Inner) => FRAC_1_SQRT_2,
        _ => 1.0,
    };
    Material { friction: kind.friction() * part, torsional_friction: kind.torsion() * part, ..Material::default() }
}

/// The names that are in use.
struct Names(Vec<String>);

impl Names {
    /// Takes a name that is not in use: the wanted one, with underscores appended if needed.
    fn unused(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        while self.0.contains(&name) {
            name.push('_');
        }
        self.0.push(name.clone());
        name
    }
}

/// Upper bound on the curvature of a patch where its slope is zero, 1/m.
fn max_curvature(patch: &Patch) -> f64 {
    (2.0 * patch.xx).abs().max((2.0 * patch.yy).abs()) + patch.xy.abs()
}

/// Largest radius of a finger's ball on a patch, m.
fn max_ball_radius(patch: &Patch) -> f64 {
    MAX_RADIUS_ON_PATCH * patch.range.min(1.0 / max_curvature(patch))
}

/// Collision shape and visual shape of a patch, in the object's frame.
fn patch_shapes(contact: &Contact, length: f64) -> Result<[Placed; 2], GraspError> {
    let Contact { patch, name, .. } = contact;
    if [patch.xx, patch.yy, patch.xy].iter().all(|bend| *bend == 0.0) {
        let unbounded = (UNBOUNDED_PLANE_REACH * length, 0.25 * length);
        let (range, seen) = if patch.range.is_finite() { (patch.range, patch.range) } else { unbounded };
        let tile = |reach: f64, thickness: f64| plate_shape(contact, reach, thickness);
        return Ok([tile(range * (1.0 + PATCH_MARGIN), length), tile(seen, RELATIVE_FINGER_RADIUS * length)]);
    }
    if !patch.range.is_finite() {
        return Err(GraspError::Unrepresentable(format!(
            "the curved patch of '{name}' has no end, and the engine needs one: give its <patch> a range"
        )));
    }
    let reach = patch.range * (1.0 + PATCH_MARGIN);
    let curvature = max_curvature(patch);
    let cells = (2.0 * reach * curvature / FACET_ANGLE).ceil().min(2.0 * reach / MIN_CELL_SIZE) as usize;
    let cells = cells.clamp(CELL_COUNTS[0], CELL_COUNTS[1]);
    if 2.0 * reach * curvature > MAX_FACET_ANGLE * cells as f64 {
        let most = MAX_FACET_ANGLE * cells as f64 / (2.0 * (1.0 + PATCH_MARGIN) * curvature);
        return Err(GraspError::Unrepresentable(format!(
            "the patch of '{name}' is too curved for {cells} x {cells} cells of triangles: its range may be {most:.3e} m"
        )));
    }
    let placed = Placed { pose: contact.frame, shape: patch_mesh(patch, reach, cells, length) };
    Ok([placed.clone(), placed])
}

/// A plate whose upper face is the plane of a patch, in the object's frame.
fn plate_shape(contact: &Contact, reach: f64, thickness: f64) -> Placed {
    let patch = &contact.patch;
    let out = -patch.normal(DVec2::ZERO);
    let x = (DVec3::X - out * out.x).normalize();
    let turn = Pose::from_matrix(DMat3::from_cols(x, out.cross(x), out), DVec3::Z * patch.constant);
    let below = Pose { translation: DVec3::NEG_Z * (0.5 * thickness), ..Pose::default() };
    // Long enough to cover the square of the patch's frame, whatever the slope of the plane.
    let edge = 2.0 * reach * (1.0 + patch.slope(DVec2::ZERO).length());
    Placed {
        pose: contact.frame.then(&turn).then(&below),
        shape: Shape::Box { size: DVec3::new(edge, edge, thickness) },
    }
}

/// A closed mesh whose upper side is a patch, in the patch's frame.
fn patch_mesh(patch: &Patch, reach: f64, cells: usize, length: f64) -> Shape {
    let points = cells + 1;
    let at = |k: usize| reach * (2.0 * k as f64 / cells as f64 - 1.0);
    let grid = (0..points * points).map(|k| DVec2::new(at(k % points), at(k / points)));
    let mut vertices: Vec<DVec3> = grid.map(|at| at.extend(patch.height(at))).collect();
    let lowest = vertices.iter().map(|vertex| vertex.z).fold(f64::INFINITY, f64::min) - 0.2 * length;
    vertices.extend((0..points * points).map(|k| DVec3::new(at(k % points), at(k / points), lowest)));
    let [top, bottom] = [0, points * points];
    let mut triangles = Vec::new();
    let mut quad = |a: usize, b: usize, c: usize, d: usize| {
        triangles.extend([[a, b, c], [a, c, d]].map(|corners| corners.map(|corner| corner as u32)));
    };
    for (row, column) in (0..cells * cells).map(|k| (k / cells, k % cells)) {
        let first = row * points + column;
        let [a, b, c, d] = [first, first + 1, first + points + 1, first + points];
        quad(top + a, top + b, top + c, top + d);
        quad(bottom + a, bottom + d, bottom + c, bottom + b);
    }
    for k in 0..cells {
        let last = cells * points;
        let edges = [[k, k + 1], [last + k + 1, last + k], [(k + 1) * points, k * points]];
        let right = [k * points + cells, (k + 1) * points + cells];
        edges.into_iter().chain([right]).for_each(|[a, b]| quad(bottom + a, bottom + b, top + b, top + a));
    }
    Shape::TriangleMesh { vertices, triangles }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Each edge belongs to two triangles that list its corners in opposite order. The volume is that between the patch
    /// and the bottom.
    #[test]
    fn the_mesh_of_a_patch_is_closed_and_has_its_volume() {
        let patch = Patch { xx: 3.0, yy: -1.0, xy: 0.5, x: 0.2, y: -0.1, constant: 0.01, range: 0.1 };
        let (reach, cells, length) = (0.11, 40, 0.3);
        let Shape::TriangleMesh { vertices, triangles } = patch_mesh(&patch, reach, cells, length) else {
            unreachable!()
        };
        let edges = triangles.iter().flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]);
        let all: HashSet<_> = edges.clone().collect();
        assert_eq!(all.len(), 3 * triangles.len());
        assert!(edges.into_iter().all(|(a, b)| all.contains(&(b, a))));
        let lowest = vertices.iter().map(|vertex| vertex.z).fold(f64::INFINITY, f64::min);
        let corners = triangles.iter().map(|corners| corners.map(|corner| vertices[corner as usize]));
        let volume: f64 = corners.map(|[a, b, c]| a.dot(b.cross(c)) / 6.0).sum();
        // The integral of the patch over the square; slopes and the mixed term cancel.
        let square = 4.0 * reach * reach;
        let exact = square * ((patch.xx + patch.yy) * reach * reach / 3.0 + patch.constant - lowest);
        let cell = 2.0 * reach / cells as f64;
        assert!((volume - exact).abs() < square * (patch.xx.abs() + patch.yy.abs()) * cell * cell, "{volume} {exact}");
    }
}
