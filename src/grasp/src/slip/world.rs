//! A grasp as a mechanism that an engine can run.
//!
//! The object is a free body with its own mass properties. Each contact's patch is a plate or a mesh of triangles welded to it. Each finger is
//! a small ball on a rail along its first line of force. A soft spring pushes the ball with a force P, and the rail rubs with R. Where the
//! grasp does not hold, P + R is the finger's largest force F: it stands still until it is pushed back with F, as a finger that is held still
//! does; and P is half of F and a little more, so that the finger follows what comes off with hardly any force, as in the quasi-exact way.
//! Where the grasp holds, P are forces that hold it with the largest margin, and R is that margin: Coulomb's law would let some such grasps
//! slip as well, if fingers squeezed them less. Collision filters keep a finger to its own patch.
//!
//! | of the grasp | in the mechanism |
//! |---|---|
//! | friction | Coulomb's law, as it is |
//! | a soft finger's torsion | bounded by itself, where the grasp bounds the ellipsoid of both: [`Softness`] says which of two bounds |
//! | the patch | within its range, and a margin beyond; a curved one in triangles |

use std::f64::consts::FRAC_1_SQRT_2;

use bevy_math::{DMat3, DQuat, DVec2, DVec3};
use simpartner_dynamics::{MassProperties, mass_properties};
use simpartner_model::{
    Axis, Body, BodyId, CollisionFilter, Color, Contact, ContactKind, FreeAxis, Grasp, Inertia, Joint, JointId,
    JointKind, Material, Mechanism, Patch, Placed, Pose, Shape, Visual,
};

use super::{SlipOptions, Squeeze, squeeze};
use crate::{GraspError, Section, Statics, statics::halves};

/// Radius of a finger's ball in lengths of the grasp. What touches off the finger's line is off by this times the sine of the angle.
const FINGER: f64 = 5e-3;
/// And no more than this part of a patch's range and of its least radius of curvature: a ball that is wider than a hollow rests on its rim, and
/// touches all of a mesh at once.
const WITHIN_PATCH: f64 = 0.1;
/// Mass of a finger in masses of the object: nothing to it, and far above rounding.
const LIGHT: f64 = 1e-5;
/// Mass of a patch, which the object has the less.
const PATCH_MASS: f64 = 1e-3;
/// A finger's spring changes its force by this part for each length of the grasp that the finger goes.
const SOFTNESS_OF_SPRING: f64 = 1e-9;
/// A finger that nothing holds back comes to this speed, m/s, and no farther: the rail damps so much. What falls for 5 s is as fast. Without it so light
/// a ball would be shot through the object in a step.
const FASTEST: f64 = 50.0;
/// A finger follows what comes off with this part of the load, which takes so light a ball along a hundred times faster than the load
/// does the object, and with no more than this part of its own largest force.
const FOLLOWING: f64 = 1e-3;
/// How far a plane without end reaches, in lengths of the grasp: farther than anything falls in the seconds of a slip.
const ENDLESS: f64 = 1e4;
/// How far a patch goes on beyond its range, as part of it, so that a finger stands on its surface until it leaves it.
const MARGIN: f64 = 0.1;
/// The angle, rad, that neighbouring triangles of a patch shall differ by, and the one they may where that takes too many of them.
const FACET: f64 = 0.01;
const COARSEST_FACET: f64 = 0.1;
/// Cells along an edge of a curved patch.
const CELLS: [usize; 2] = [16, 160];
/// And no finer than this, m: the engine looks some millimetres ahead, and compares all triangles that it finds there in pairs.
const FINEST_CELL: f64 = 1e-4;
/// Collision filters have this many bits.
const MOST_CONTACTS: usize = 16;

/// Which bound stands for a soft finger's ellipsoid of friction and torsion, since engines bound each by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Softness {
    /// The smallest box around it: both in full.
    Outer,
    /// A box within it: each over the root of 2.
    Inner,
}

/// A grasp as a mechanism.
#[derive(Debug, Clone)]
pub struct World {
    /// All of it. What acts on the object beside its weight is not in it.
    pub mechanism: Mechanism,
    /// The object.
    pub object: BodyId,
    /// The rails of the fingers, in the order of the contacts. Their coordinates are along the lines of force, into the object.
    pub rails: Vec<JointId>,
    /// Radius of the fingers' balls, m.
    pub finger_radius: f64,
    /// What pushes the fingers, N.
    pub squeeze: Vec<f64>,
    /// What no rail rubs with more than, N.
    pub most_rubbing: f64,
}

/// Builds the mechanism of a grasp.
///
/// # Errors
/// Where the object has no mass properties or no inertia, or where an engine cannot represent something; the message names it.
pub fn world(grasp: &Grasp, options: &SlipOptions, softness: Softness) -> Result<World, GraspError> {
    if grasp.contacts.len() > MOST_CONTACTS {
        let count = grasp.contacts.len();
        return Err(GraspError::Unrepresentable(format!(
            "the engine's collision filters tell {MOST_CONTACTS} fingers apart, not {count}"
        )));
    }
    let statics = Statics::new(grasp, Section::Disc)?;
    let length = statics.length;
    let (squeeze, most_rubbing) = match squeeze(grasp, &statics, options)? {
        Squeeze::Holds(forces, margin) => (forces, margin.max(0.0)),
        Squeeze::Slips(forces) => {
            let least = |limits: [f64; 2]| following(limits[1], halves(&statics.load)[0]);
            let each = forces.iter().zip(&grasp.contacts).map(|(force, contact)| force.max(least(contact.limits)));
            (each.collect(), f64::INFINITY)
        }
    };
    let mass = mass_properties(&grasp.object).map_err(GraspError::Object)?;
    let mut names = Names(Vec::new());
    let object = part(&mass, 1.0 - PATCH_MASS * grasp.contacts.len() as f64);
    let object = Body {
        name: names.free(&grasp.object.name),
        // Its patches collide, and the object is only seen.
        filter: CollisionFilter { category: 0, collides_with: 0 },
        collision: None,
        mass: object.mass,
        inertia: object.inertia,
        ..grasp.object.clone()
    };
    let hand = Body { name: names.free("Hand"), fixed: true, ..Body::default() };
    let bodies = vec![object, hand];
    let mut world = World {
        mechanism: Mechanism { gravity: grasp.gravity, bodies, ..Mechanism::default() },
        object: OBJECT,
        rails: Vec::new(),
        finger_radius: grasp.contacts.iter().map(|contact| widest(&contact.patch)).fold(FINGER * length, f64::min),
        squeeze,
        most_rubbing,
    };
    for (index, contact) in grasp.contacts.iter().enumerate() {
        let filter = CollisionFilter { category: 1 << index, collides_with: 1 << index };
        let common = Body { filter, material: material(&contact.kind, softness), ..part(&mass, PATCH_MASS) };
        world.add_patch(grasp, contact, &common, &mut names, length)?;
        world.add_finger(grasp, contact, common, &mut names, length);
    }
    Ok(world)
}

/// What pushes a finger that follows what comes off: half of its largest force, the rail rubbing with the other half, and a little more.
fn following(most: f64, load: DVec3) -> f64 {
    0.5 * most + 0.5 * FOLLOWING * load.length().min(most)
}

/// The places of the first two bodies.
const OBJECT: BodyId = BodyId::new(0);
const HAND: BodyId = BodyId::new(1);

/// A body that has a part of the object's mass, spread as that is.
fn part(mass: &MassProperties, part: f64) -> Body {
    let inertia = Inertia { centre_of_mass: mass.centre_of_mass, tensor: mass.tensor * part };
    Body { mass: mass.mass * part, inertia: Some(inertia), ..Body::default() }
}

impl World {
    /// Welds the patch of a contact to the object.
    fn add_patch(
        &mut self,
        grasp: &Grasp,
        contact: &Contact,
        common: &Body,
        names: &mut Names,
        length: f64,
    ) -> Result<(), GraspError> {
        let [surface, seen] = surface(contact, length)?;
        let patch = BodyId::new(self.mechanism.bodies.len());
        self.mechanism.bodies.push(Body {
            name: names.free(&format!("{}.patch", contact.name)),
            pose: grasp.object.pose,
            visuals: vec![Visual { placed: seen, color: Some(PATCH) }],
            collision: Some(surface),
            ..common.clone()
        });
        let name = names.free(&format!("{}.weld", contact.name));
        let anchor = grasp.object.pose.translation;
        self.mechanism.joints.push(Joint { name, ..Joint::new(JointKind::Fixed, OBJECT, patch, anchor) });
        Ok(())
    }

    /// Puts the finger of a contact on its rail.
    fn add_finger(&mut self, grasp: &Grasp, contact: &Contact, common: Body, names: &mut Names, length: f64) {
        let finger = BodyId::new(self.mechanism.bodies.len());
        let normal = grasp.object.pose.direction(contact.normal());
        let centre = grasp.object.pose.point(contact.position()) - normal * self.finger_radius;
        let squeeze = self.squeeze[self.rails.len()];
        // Its own weight along the rail is taken off.
        let mass = common.mass * LIGHT / PATCH_MASS;
        let push = squeeze - mass * grasp.gravity.dot(normal);
        let rubs = (contact.limits[1] - squeeze).clamp(0.0, self.most_rubbing);
        let ball = Shape::Sphere { radius: self.finger_radius };
        self.mechanism.bodies.push(Body {
            name: names.free(&format!("{}.finger", contact.name)),
            pose: Pose { translation: centre, ..Pose::default() },
            mass,
            // That of a ball, which it does not turn by. It is given since such balls are denser than any metal.
            inertia: Some(Inertia {
                centre_of_mass: DVec3::ZERO,
                tensor: DMat3::from_diagonal(DVec3::splat(0.4 * mass * self.finger_radius * self.finger_radius)),
            }),
            shape: Some(Placed { pose: Pose::default(), shape: ball }),
            ..common
        });
        self.rails.push(JointId::new(self.mechanism.joints.len()));
        self.mechanism.joints.push(Joint {
            name: names.free(&format!("{}.rail", contact.name)),
            frame: frame_along(normal),
            axes: [
                Axis::Locked,
                Axis::Locked,
                Axis::Free(FreeAxis { damping: (squeeze - rubs).max(0.0) / FASTEST, ..rail(push, rubs, length) }),
            ],
            ..Joint::new(JointKind::Slider, HAND, finger, centre)
        });
    }
}

/// What a patch looks like.
const PATCH: Color = Color { red: 0x20, green: 0x60, blue: 0xa0, alpha: 0x80 };

/// A rail whose spring pushes with a force that hardly changes, and which rubs.
fn rail(push: f64, friction: f64, length: f64) -> FreeAxis {
    let way = length / SOFTNESS_OF_SPRING;
    FreeAxis { stiffness: push.abs() / way, spring_position: way.copysign(push), friction, ..FreeAxis::default() }
}

/// A frame whose third axis is along a unit vector.
fn frame_along(direction: DVec3) -> DQuat {
    let (x, y) = direction.any_orthonormal_pair();
    DQuat::from_mat3(&DMat3::from_cols(x, y, direction)).normalize()
}

fn material(kind: &ContactKind, softness: Softness) -> Material {
    let part = match (kind, softness) {
        (ContactKind::Soft { .. }, Softness::Inner) => FRAC_1_SQRT_2,
        _ => 1.0,
    };
    Material { friction: kind.friction() * part, torsional_friction: kind.torsion() * part, ..Material::default() }
}

/// Names that are not taken yet.
struct Names(Vec<String>);

impl Names {
    fn free(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        while self.0.contains(&name) {
            name.push('_');
        }
        self.0.push(name.clone());
        name
    }
}

/// The most that a patch is curved by, 1/m, where it does not lean.
fn bend(patch: &Patch) -> f64 {
    (2.0 * patch.xx).abs().max((2.0 * patch.yy).abs()) + patch.xy.abs()
}

/// The largest radius of a ball that a patch takes.
fn widest(patch: &Patch) -> f64 {
    WITHIN_PATCH * patch.range.min(1.0 / bend(patch))
}

/// What of a patch collides, and what is seen of it, in the object's frame.
fn surface(contact: &Contact, length: f64) -> Result<[Placed; 2], GraspError> {
    let Contact { patch, name, .. } = contact;
    if [patch.xx, patch.yy, patch.xy].iter().all(|bend| *bend == 0.0) {
        let (range, seen) =
            if patch.range.is_finite() { (patch.range, patch.range) } else { (ENDLESS * length, 0.25 * length) };
        let tile = |reach: f64, thickness: f64| plate(contact, reach, thickness);
        return Ok([tile(range * (1.0 + MARGIN), length), tile(seen, FINGER * length)]);
    }
    if !patch.range.is_finite() {
        return Err(GraspError::Unrepresentable(format!(
            "the curved patch of '{name}' has no end, and the engine needs one: give its <patch> a range"
        )));
    }
    let reach = patch.range * (1.0 + MARGIN);
    let bend = bend(patch);
    let cells = (2.0 * reach * bend / FACET).ceil().min(2.0 * reach / FINEST_CELL) as usize;
    let cells = cells.clamp(CELLS[0], CELLS[1]);
    if 2.0 * reach * bend > COARSEST_FACET * cells as f64 {
        let most = COARSEST_FACET * cells as f64 / (2.0 * (1.0 + MARGIN) * bend);
        return Err(GraspError::Unrepresentable(format!(
            "the patch of '{name}' is too curved for {cells} x {cells} cells of triangles: its range may be {most:.3e} m"
        )));
    }
    let placed = Placed { pose: contact.frame, shape: mesh(patch, reach, cells, length) };
    Ok([placed.clone(), placed])
}

/// A plate whose upper face is the plane of a patch.
fn plate(contact: &Contact, reach: f64, thickness: f64) -> Placed {
    let patch = &contact.patch;
    let out = -patch.normal(DVec2::ZERO);
    let x = (DVec3::X - out * out.x).normalize();
    let turn = Pose::from_matrix(DMat3::from_cols(x, out.cross(x), out), DVec3::Z * patch.constant);
    let below = Pose { translation: DVec3::NEG_Z * (0.5 * thickness), ..Pose::default() };
    // So long that the square of the patch's frame lies within it, however the plane leans.
    let edge = 2.0 * reach * (1.0 + patch.slope(DVec2::ZERO).length());
    Placed {
        pose: contact.frame.then(&turn).then(&below),
        shape: Shape::Box { size: DVec3::new(edge, edge, thickness) },
    }
}

/// A closed mesh whose upper side is a patch, in the patch's frame.
fn mesh(patch: &Patch, reach: f64, cells: usize, length: f64) -> Shape {
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

    /// Each edge belongs to two triangles that name its corners in opposite order, and the volume is that between patch and bottom.
    #[test]
    fn the_mesh_of_a_patch_is_closed_and_has_its_volume() {
        let patch = Patch { xx: 3.0, yy: -1.0, xy: 0.5, x: 0.2, y: -0.1, constant: 0.01, range: 0.1 };
        let (reach, cells, length) = (0.11, 40, 0.3);
        let Shape::TriangleMesh { vertices, triangles } = mesh(&patch, reach, cells, length) else { unreachable!() };
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
