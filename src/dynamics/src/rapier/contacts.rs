//! Contact forces in newtons, and rolling friction, which rapier does not have.

use bevy_math::DVec3;
use rapier3d_f64::prelude::{ContactData, ContactManifold, PhysicsWorld, RigidBodyHandle, TrackedContact};
use serde::{Deserialize, Serialize};
use simpartner_model::{BodyId, Ground, Mechanism};

use super::fixture::Fixture;
use crate::{BodyState, ContactPoint, Wrench, mass_properties};

/// The contact wrenches of the last step, and its contacts for rolling friction.
pub(super) struct Contacts {
    timestep: f64,
    substep: f64,
    /// Force, N, and torque about the centre of mass, N m, of each body.
    wrenches: Vec<(DVec3, DVec3)>,
    wheels: Vec<Option<Wheel>>,
    rolling_coefficients: Vec<f64>,
    ground_rolling: f64,
    rolling: Vec<RollingContact>,
    points: Vec<ContactPoint>,
}

/// The data of a round body for rolling friction.
#[derive(Clone, Copy)]
struct Wheel {
    radius: f64,
    /// Inertia about a tangent of its rolling surface, I + m r², kg m².
    rolling_inertia: f64,
}

/// A contact of the last step in which a round body rolls.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct RollingContact {
    body: usize,
    other: Option<usize>,
    normal: DVec3,
    normal_force: f64,
}

/// One body of a manifold: its index, `None` for the ground; the sign of the normal that points into it; the manifold.
struct Side<'a> {
    body: Option<usize>,
    sign: f64,
    manifold: &'a ContactManifold,
}

impl Contacts {
    /// Allocates for the model. Forces are impulses divided by `timestep`; tangential impulses are those of the last of
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

    /// Mean contact force on a body in the last step, N, and torque about its centre of mass, N m.
    pub(super) fn wrench(&self, body: usize) -> (DVec3, DVec3) {
        self.wrenches[body]
    }

    /// The contact points of the last step.
    pub(super) fn points(&self) -> &[ContactPoint] {
        &self.points
    }

    /// The state for a snapshot: rolling friction uses the normal forces of the last step.
    pub(super) fn rolling(&self) -> &[RollingContact] {
        &self.rolling
    }

    /// Restores that state.
    pub(super) fn set_rolling(&mut self, rolling: Vec<RollingContact>) {
        self.rolling = rolling;
    }

    /// Reads all contacts of the last step.
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
                    self.add_wrench(&side, if side.sign < 0.0 { second } else { first }, per_point);
                }
                let centre = |body: usize| world.bodies[fixture.bodies[body]].center_of_mass();
                self.add_points(manifold, [first, second], per_point, centre);
            }
        }
    }

    /// Appends the contact points of a manifold.
    fn add_points(
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
            let force = self.point_force(manifold, point, 1.0, per_point);
            self.points.push(ContactPoint {
                bodies: bodies.map(|body| body.map(BodyId::new)),
                point: place,
                normal,
                gap: point.dist,
                wrench: Wrench { force, torque: DVec3::ZERO },
            });
        }
    }

    /// The force of a point on the first (`sign` -1) or second (`sign` 1) body, N. The tangential impulse is stored as
    /// it acts on the first.
    fn point_force(
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

    /// Adds the wrench of a manifold on one of its bodies. Against a link of a multibody, rapier solves friction for
    /// each point (`per_point`). Between free bodies, it solves one friction force per manifold, and stores it in every
    /// point.
    fn add_wrench(&mut self, side: &Side, other: Option<usize>, per_point: bool) {
        let Some(body) = side.body else { return };
        let normal = side.manifold.data.normal * side.sign;
        let (mut force, mut torque, mut normal_force) = (DVec3::ZERO, DVec3::ZERO, 0.0);
        for point in &side.manifold.points {
            let lever = if side.sign < 0.0 { point.data.solver_dp1 } else { point.data.solver_dp2 };
            let at_point = self.point_force(side.manifold, point, side.sign, per_point);
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

    /// Applies the rolling torque Crr N r to every round body in contact, against its rolling, and never enough to
    /// reverse the rolling within a step. N is that of the last step; it does not feed back, so the delay has no
    /// measurable effect.
    pub(super) fn apply_rolling_torques(
        &self,
        world: &mut PhysicsWorld,
        handles: &[RigidBodyHandle],
        states: &[BodyState],
    ) {
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

    /// Resets the rolling torques, which rapier would apply until then.
    pub(super) fn reset_rolling_torques(&self, world: &mut PhysicsWorld, handles: &[RigidBodyHandle]) {
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
        // The smallest moment is conservative: the torque then never reverses the rolling.
        let inertia = tensor.x_axis.x.min(tensor.y_axis.y).min(tensor.z_axis.z);
        Some(Self { radius, rolling_inertia: inertia + body.mass * radius * radius })
    }
}
