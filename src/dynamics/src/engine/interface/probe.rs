//! Inspection of a world before its first step, with the shapes and queries of the steps themselves.

use bevy_math::DVec3;
use simpartner_model::{BodyId, JointId, Mechanism};

use super::build::{self};
use crate::{
    BuildError, ContactPoint, Wrench,
    engine::{
        collision::Collider,
        joints::axis_laws,
        state::{
            addresses::{BodyAddress, JointAddress, LinkAddress},
            tree::Tree,
        },
    },
};

/// A world at step 0.
pub struct Probe {
    trees: Vec<Tree>,
    collider: Collider,
    places: Vec<BodyAddress>,
    joints: Vec<JointAddress>,
    gravity: DVec3,
    /// True if joints close loops, or couplings tie coordinates: then the equations of the trees are incomplete.
    is_tied: bool,
}

/// The equations of motion M dv/dt = f of a world at step 0, without contacts, stops, dry friction and motors.
#[derive(Debug, Clone, PartialEq)]
pub struct Equations {
    /// Meaning of each degree of freedom: the coordinate (0 to 2) of a joint. `None` for those of a floating body,
    /// which has six (velocity of its centre of mass, angular velocity, world axes), and of a ball joint, which has
    /// three (axes of the parent's principal frame).
    pub freedoms: Vec<Option<(JointId, usize)>>,
    /// Mass matrix, rotors included, row by row; kg, kg m, kg m².
    pub mass: Vec<Vec<f64>>,
    /// Acceleration of each degree of freedom under gravity, springs and viscous damping, rad/s² or m/s²; for a
    /// floating body, that of its centre of mass.
    pub acceleration: Vec<f64>,
}

impl Probe {
    /// Builds the world.
    ///
    /// # Errors
    /// If an element of the world cannot be built.
    pub fn new(mechanism: &Mechanism) -> Result<Self, BuildError> {
        let build::Built { trees, collider, bodies, joints, loop_joints, shared: _ } = build::build(mechanism, None)?;
        let is_tied = !loop_joints.is_empty() || !mechanism.couplings.is_empty();
        Ok(Self { trees, collider, places: bodies, joints, gravity: mechanism.gravity, is_tied })
    }

    /// Equations of motion; `None` if a loop or a coupling adds equations to those of the trees.
    pub fn equations(&mut self) -> Option<Equations> {
        if self.is_tied {
            return None;
        }
        let count = self.trees.iter().map(|tree| tree.topology.freedom).sum();
        let mut all = Equations {
            freedoms: vec![None; count],
            mass: vec![vec![0.0; count]; count],
            acceleration: vec![0.0; count],
        };
        let mut signs = vec![1.0; count];
        let mut first = 0;
        for (number, tree) in self.trees.iter_mut().enumerate() {
            for (id, place) in self.joints.iter().enumerate() {
                let JointAddress::Tree { tree, dofs, sign, .. } = place else { continue };
                for (axis, dof) in dofs.iter().enumerate().filter(|_| *tree == number) {
                    let Some(dof) = dof else { continue };
                    (all.freedoms[first + dof], signs[first + dof]) = (Some((JointId::new(id), axis)), *sign);
                }
            }
            let acceleration = tree.free_acceleration(self.gravity);
            for (row, value) in acceleration.into_iter().enumerate() {
                all.acceleration[first + row] = signs[first + row] * value;
                let (start, depth) = (tree.topology.row[row], tree.topology.depth[row]);
                for &column in &tree.topology.chain[start..=start + depth] {
                    let value = tree.mass_entry(row, column as usize);
                    let (row, column) = (first + row, first + column as usize);
                    let value = signs[row] * signs[column] * value;
                    (all.mass[row][column], all.mass[column][row]) = (value, value);
                }
            }
            first += tree.topology.freedom;
        }
        Some(all)
    }

    /// Contact points where colliding bodies touch or overlap. No forces act yet.
    pub fn contacts(&mut self) -> Vec<ContactPoint> {
        let trees = &self.trees;
        let body = |side: LinkAddress| trees[side.tree].topology.links[side.link].body;
        let point = |contact: &crate::engine::collision::Contact| ContactPoint {
            bodies: [contact.a.and_then(body), body(contact.b)],
            point: contact.point,
            normal: contact.normal,
            gap: contact.gap,
            wrench: Wrench::default(),
        };
        self.collider.initial_contacts(trees).iter().map(point).collect()
    }

    /// Distance, m, that a body can move in a direction, a unit vector, before it meets a body that no joint connects
    /// with it; `None` if nothing is in its way within `range`, m. It is measured along rays from the centres of its
    /// shapes.
    pub fn clearance(&self, body: BodyId, direction: DVec3, range: f64) -> Option<f64> {
        self.collider.free_distance(&self.trees, body, direction, range)
    }

    /// Height of the terrain above the centre of mass of a body, m; `None` if that is not below the terrain.
    pub fn depth_in_terrain(&self, body: BodyId) -> Option<f64> {
        let place = &self.places[body.index()];
        self.collider.terrain_above(self.trees[place.tree].work.links[place.link].position)
    }
}

impl Tree {
    /// Entry of the mass matrix for a degree of freedom and an ancestor of it or itself, after
    /// [`Tree::set_mass_and_bias`].
    fn mass_entry(&self, dof: usize, ancestor: usize) -> f64 {
        let (topology, work) = (&self.topology, &self.work);
        let momentum = work.links[topology.mover[dof]].composite.times(work.axis[dof]);
        let rotor = if dof == ancestor { topology.laws[dof].armature } else { 0.0 };
        work.axis[ancestor].dot(momentum) + rotor
    }

    /// Accelerations of its degrees of freedom under gravity, springs and damping. It leaves the inertias of the links.
    fn free_acceleration(&mut self, gravity: DVec3) -> Vec<f64> {
        self.work.bias_velocity.copy_from_slice(&self.state.v);
        self.set_motion();
        self.set_mass_and_bias(gravity);
        let (state, laws) = (&self.state, &self.topology.laws);
        let mut x: Vec<f64> = (0..self.topology.freedom)
            .map(|dof| {
                axis_laws::spring_and_damper(&laws[dof], state.q[dof], state.v[dof], 0.0).at_start - self.work.bias[dof]
            })
            .collect();
        self.factorise_and_solve(None, &mut x);
        x
    }
}
