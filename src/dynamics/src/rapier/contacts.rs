//! Contact forces in newtons, and rolling friction, which rapier lacks.

use bevy_math::DVec3;
use rapier3d_f64::prelude::{ContactData, ContactManifold, PhysicsWorld, RigidBodyHandle, TrackedContact};
use serde::{Deserialize, Serialize};
use simpartner_model::{BodyId, Ground, Mechanism};

use super::Fixture;
use crate::{BodyState, ContactPoint, Wrench, mass_properties};

/// The contact wrenches of the last step and what rolling friction needs to remember of it.
pub(super) struct Contacts {
    timestep: f64,
    substep: f64,
    /// Force and torque about the centre of mass of every body.
    wrenches: Vec<(DVec3, DVec3)>,
    wheels: Vec<Option<Wheel>>,
    rolling_coefficients: Vec<f64>,
    ground_rolling: f64,
    rolling: Vec<RollingContact>,
    points: Vec<ContactPoint>,
}

/// What a round body is for rolling friction.
#[derive(Clone, Copy)]
struct Wheel {
    radius: f64,
    /// Inertia about a tangent of its rolling surface, I + m r², kg m².
    rolling_inertia: f64,
}

/// A contact of the last step on which a round body rolls.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct RollingContact {
    body: usize,
    other: Option<usize>,
    normal: DVec3,
    normal_force: f64,
}

/// A body's share of a manifold: which body, the direction in which the normal pushes it, and the lever of point `i`.
struct Side<'a> {
    body: Option<usize>,
    sign: f64,
    manifold: &'a ContactManifold,
}

impl Contacts {
    /// Sized for the model. Forces are impulses over `timestep`; tangential impulses are those of the last of
    /// `substeps`.
    pub(super) fn new(model: &Mechanism, timestep: f64, substeps: usize) -> Self {
        let coefficient = |material: &simpartner_model::Material| material.rolling_friction;
        let grounds = model.grounds.iter().map(Ground::material);
        Self {
            timestep,
            substep: timestep / substeps as f64,
            wrenches: vec![(DVec3::ZERO, DVec3::ZERO); model.bodies.len()],
            wheels: model.bodies.iter().map(Wheel::of).collect(),
            rolling_coefficients: model.bodies.iter().map(|body| coefficient(&body.material)).collect(),
            ground_rolling: grounds.map(coefficient).fold(0.0, f64::max),
            rolling: Vec::new(),
            points: Vec::new(),
        }
    }

    /// Mean force on the body over the last step and torque about its centre of mass.
    pub(super) fn wrench(&self, body: usize) -> (DVec3, DVec3) {
        self.wrenches[body]
    }

    /// Where bodies touched in the last step.
    pub(super) fn points(&self) -> &[ContactPoint] {
        &self.points
    }

    /// What a snapshot has to keep: rolling friction works with the normal forces of the step before.
    pub(super) fn rolling(&self) -> &[RollingContact] {
        &self.rolling
    }

    /// Takes it up again.
    pub(super) fn set_rolling(&mut self, rolling: Vec<RollingContact>) {
        self.rolling = rolling;
    }

    /// Reads all contacts of the step just made.
    pub(super) fn read(&mut self, world: &PhysicsWorld, fixture: &Fixture) {
        self.wrenches.fill((DVec3::ZERO, DVec3::ZERO));
        self.rolling.clear();
        self.points.clear();
        for pair in world.narrow_phase.contact_pairs() {
            for manifold in pair.solver_manifolds() {
                let index = |handle: Option<RigidBodyHandle>| {
                    let body = world.bodies.get(handle?)?;
                    usize::try_from(body.user_data).ok()?.checked_sub(1)
                };
                let (first, second) = (index(manifold.data.rigid_body1), index(manifold.data.rigid_body2));
                let linked = |body: Option<usize>| body.is_some_and(|body| fixture.articulation.links[body]);
                let per_point = linked(first) || linked(second);
                for side in [Side { body: first, sign: -1.0, manifold }, Side { body: second, sign: 1.0, manifold }] {
                    self.add(&side, if side.sign < 0.0 { second } else { first }, per_point);
                }
                let centre = |body: usize| world.bodies[fixture.bodies[body]].center_of_mass();
                self.list(manifold, [first, second], per_point, centre);
            }
        }
    }

    /// Lists the points of a manifold.
    fn list(
        &mut self,
        manifold: &ContactManifold,
        bodies: [Option<usize>; 2],
        per_point: bool,
        centre: impl Fn(usize) -> DVec3,
    ) {
        let normal = manifold.data.normal;
        for point in &manifold.points {
            let place = match bodies {
                [_, Some(second)] => centre(second) + point.data.solver_dp2,
                [Some(first), None] => centre(first) + point.data.solver_dp1,
                [None, None] => continue,
            };
            let force = self.force(manifold, point, 1.0, per_point);
            self.points.push(ContactPoint {
                bodies: bodies.map(|body| body.map(BodyId::new)),
                point: place,
                normal,
                gap: point.dist,
                wrench: Wrench { force, torque: DVec3::ZERO },
            });
        }
    }

    /// The force of a point on the first (`sign` -1) or second body. The tangential impulse is stored as it acts on the
    /// first.
    fn force(
        &self,
        manifold: &ContactManifold,
        point: &TrackedContact<ContactData>,
        sign: f64,
        per_point: bool,
    ) -> DVec3 {
        let share = if per_point { 1.0 } else { 1.0 / manifold.points.len().max(1) as f64 };
        manifold.data.normal * (sign * point.data.impulse / self.timestep)
            - point.data.warmstart_tangent_world * (sign * share / self.substep)
    }

    /// Adds what a manifold does to one of its bodies. Against a link of a multibody rapier solves friction point by
    /// point; between loose bodies it solves one friction force a manifold and repeats it in every point.
    fn add(&mut self, side: &Side, other: Option<usize>, per_point: bool) {
        let Some(body) = side.body else { return };
        let normal = side.manifold.data.normal * side.sign;
        let (mut force, mut torque, mut normal_force) = (DVec3::ZERO, DVec3::ZERO, 0.0);
        for point in &side.manifold.points {
            let lever = if side.sign < 0.0 { point.data.solver_dp1 } else { point.data.solver_dp2 };
            let at_point = self.force(side.manifold, point, side.sign, per_point);
            force += at_point;
            torque += lever.cross(at_point);
            normal_force += point.data.impulse / self.timestep;
        }
        let wrench = &mut self.wrenches[body];
        wrench.0 += force;
        wrench.1 += torque;
        if normal_force > 0.0 && self.wheels[body].is_some() && self.coefficient(body, other) > 0.0 {
            self.rolling.push(RollingContact { body, other, normal, normal_force });
        }
    }

    fn coefficient(&self, body: usize, other: Option<usize>) -> f64 {
        let of_other = other.map_or(self.ground_rolling, |other| self.rolling_coefficients[other]);
        self.rolling_coefficients[body].max(of_other)
    }

    /// Puts the rolling torque Crr N r on every round body in contact, against its rolling and never enough to turn it
    /// round within a step. N is the step before's; it does not feed back, so being one step late costs nothing that
    /// can be measured.
    pub(super) fn resist_rolling(&self, world: &mut PhysicsWorld, handles: &[RigidBodyHandle], states: &[BodyState]) {
        for contact in &self.rolling {
            let Some(wheel) = self.wheels[contact.body] else { continue };
            let other = contact.other.map_or(DVec3::ZERO, |other| states[other].angular_velocity);
            let spin = states[contact.body].angular_velocity - other;
            let rolling = spin - contact.normal * spin.dot(contact.normal);
            let rate = rolling.length();
            if rate == 0.0 {
                continue;
            }
            let wanted = self.coefficient(contact.body, contact.other) * contact.normal_force * wheel.radius;
            let stopping = wheel.rolling_inertia * rate / self.timestep;
            let torque = rolling * (-wanted.min(stopping) / rate);
            world.bodies[handles[contact.body]].add_torque(torque, true);
            if let Some(other) = contact.other {
                world.bodies[handles[other]].add_torque(-torque, true);
            }
        }
    }

    /// Takes the rolling torques away again; rapier keeps forces until they are reset.
    pub(super) fn release(&self, world: &mut PhysicsWorld, handles: &[RigidBodyHandle]) {
        for contact in &self.rolling {
            for body in std::iter::once(contact.body).chain(contact.other) {
                world.bodies[handles[body]].reset_torques(false);
            }
        }
    }
}

impl Wheel {
    fn of(body: &simpartner_model::Body) -> Option<Self> {
        let radius = body.collision_shape()?.shape.rolling_radius()?;
        let tensor = mass_properties(body).ok()?.tensor;
        // The smallest moment is on the safe side: the torque can then never turn the wheel round.
        let inertia = tensor.x_axis.x.min(tensor.y_axis.y).min(tensor.z_axis.z);
        Some(Self { radius, rolling_inertia: inertia + body.mass * radius * radius })
    }
}
