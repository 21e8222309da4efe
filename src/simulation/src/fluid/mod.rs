//! Forces of air and water on bodies: drag, wings, damping and buoyancy.
//!
//! The forces of a step are those at its beginning, with each body moved on by half a step. So a floating body, which
//! buoyancy holds like a spring, neither gains nor loses energy by the steps. Forces that brake are limited to what
//! stops the body within the step.

mod displacement;
mod gusts;

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{BodyState, Engine, Wrench, mass_properties};
use simpartner_model::{Body, BodyId, FluidDrag, FluidProperties, Fluids, Pose, Timestep, Wing};

use self::{
    displacement::{Displacement, Volume},
    gusts::Gusts,
};
use crate::device::StreamSeed;

/// A body on which fluids act.
struct FluidBody {
    body: BodyId,
    properties: FluidProperties,
    mass: f64,
    /// Moments of inertia about the body's axes, kg m².
    moments: DVec3,
    centre_of_mass: DVec3,
    /// The collision shape of a body with buoyancy or damping.
    displacement: Option<Displacement>,
}

/// The forces of fluids on the bodies of a world.
pub(crate) struct FluidForces {
    fluids: Fluids,
    gusts: Option<Gusts>,
    bodies: Vec<FluidBody>,
    gravity: DVec3,
    /// Length of a step, s.
    h: f64,
}

/// Pose of a body in the middle of a step, and its velocity at the beginning.
struct Motion {
    /// `world_from_body`
    pose: Pose,
    centre: DVec3,
    /// Velocity of the centre of mass, m/s.
    velocity: DVec3,
    angular_velocity: DVec3,
}

impl Motion {
    fn half_a_step_on(body: &FluidBody, state: &BodyState, h: f64) -> Self {
        let (velocity, omega) = (state.linear_velocity, state.angular_velocity);
        let before = state.pose.point(body.centre_of_mass);
        let turn = DQuat::from_xyzw(omega.x, omega.y, omega.z, 0.0) * state.pose.rotation * (0.25 * h);
        let rotation = (state.pose.rotation + turn).normalize();
        let centre = before + 0.5 * h * velocity;
        let pose = Pose { translation: centre - rotation * body.centre_of_mass, rotation };
        Self { pose, centre, velocity, angular_velocity: omega }
    }

    /// Velocity of a point of the body, given in its frame, world axes, m/s.
    fn velocity_of(&self, point: DVec3) -> DVec3 {
        self.velocity + self.angular_velocity.cross(self.pose.point(point) - self.centre)
    }

    /// Adds a force at a point of the body to a wrench at the centre of mass.
    fn add_force(&self, sum: &mut Wrench, point: DVec3, force: DVec3) {
        sum.force += force;
        sum.torque += (self.pose.point(point) - self.centre).cross(force);
    }
}

impl FluidForces {
    /// `None` if no fluid acts on any body.
    pub(crate) fn of_world(world: &World, seed: u64, timestep: Timestep) -> Option<Self> {
        let mechanism = &world.mechanism;
        let fluids = mechanism.fluids;
        let meets = |(id, body): (BodyId, &Body)| {
            let properties = body.fluid.as_deref().filter(|_| !body.fixed)?.clone();
            let mass = mass_properties(body).ok()?;
            let needs_volume = properties.is_buoyant || properties.damping.is_some();
            Some(FluidBody {
                body: id,
                mass: mass.mass,
                moments: DVec3::new(mass.tensor.x_axis.x, mass.tensor.y_axis.y, mass.tensor.z_axis.z),
                centre_of_mass: mass.centre_of_mass,
                displacement: body.collision_shape().filter(|_| needs_volume).map(Displacement::of_shape),
                properties,
            })
        };
        let bodies: Vec<FluidBody> = mechanism.bodies().filter_map(meets).collect();
        let gusts = fluids.air.filter(|air| air.gust > 0.0).map(|air| {
            Gusts::with_spectrum(
                air.gust,
                air.gust_length,
                air.wind.length(),
                StreamSeed { seed, robot: "", device: "" }.stream("gusts"),
            )
        });
        let acts = fluids != Fluids::default() && !bodies.is_empty();
        acts.then_some(Self { fluids, gusts, bodies, gravity: mechanism.gravity, h: timestep.seconds() })
    }

    /// Applies the forces for the step that begins at `time_s`.
    pub(crate) fn apply_forces(&self, engine: &mut dyn Engine, time_s: f64) {
        let gust = self.gusts.as_ref().map_or(DVec3::ZERO, |gusts| gusts.velocity_at(time_s + 0.5 * self.h));
        for body in &self.bodies {
            let motion = Motion::half_a_step_on(body, &engine.body(body.body), self.h);
            let mut sum = Wrench { force: DVec3::ZERO, torque: DVec3::ZERO };
            for drag in &body.properties.drags {
                motion.add_force(&mut sum, drag.point, self.drag_force(body, drag, &motion, gust));
            }
            for wing in &body.properties.wings {
                let (force, moment) = self.wing_force(wing, &motion, gust);
                motion.add_force(&mut sum, wing.pose.translation, force);
                sum.torque += moment;
            }
            if let Some(displacement) = &body.displacement {
                self.add_volume_forces(body, displacement, &motion, &mut sum);
            }
            engine.apply_wrench(body.body, body.centre_of_mass, sum);
        }
    }

    fn drag_force(&self, body: &FluidBody, drag: &FluidDrag, motion: &Motion, gust: DVec3) -> DVec3 {
        let fluid = self.fluids.at(motion.pose.point(drag.point), gust);
        let through = motion.velocity_of(drag.point) - fluid.velocity;
        let rate = 0.5 * fluid.density * drag.area * through.length();
        -through * rate.min(body.mass / self.h)
    }

    /// Force of a wing at its centre of pressure, and its moment, world axes.
    fn wing_force(&self, wing: &Wing, motion: &Motion, gust: DVec3) -> (DVec3, DVec3) {
        let point = wing.pose.translation;
        let fluid = self.fluids.at(motion.pose.point(point), gust);
        let rotation = motion.pose.rotation * wing.pose.rotation;
        let own = rotation.inverse() * (motion.velocity_of(point) - fluid.velocity);
        // Flow along the span makes no lift.
        let (ahead, climb) = (own.x, own.y);
        let square = ahead * ahead + climb * climb;
        if square == 0.0 {
            return (DVec3::ZERO, DVec3::ZERO);
        }
        let attack = wing.angle + libm::atan2(-climb, ahead);
        let [lift, drag] = wing.coefficients(attack);
        let pressure = 0.5 * fluid.density * wing.area;
        // Lift is a quarter turn from the motion towards up; drag is against the motion.
        let force = DVec3::new(-climb * lift - ahead * drag, ahead * lift - climb * drag, 0.0);
        let moment = wing.moment_slope * attack * pressure * square * wing.chord;
        (rotation * force * (pressure * square.sqrt()), rotation * (DVec3::Z * moment))
    }

    /// Adds buoyancy and damping.
    fn add_volume_forces(&self, body: &FluidBody, displacement: &Displacement, motion: &Motion, sum: &mut Wrench) {
        let up = motion.pose.rotation.inverse() * DVec3::Y;
        let Fluids { air, water } = self.fluids;
        let level = water.map_or(f64::NEG_INFINITY, |water| water.level - motion.pose.translation.y);
        let (whole, wet) = (displacement.whole, displacement.volume_below(up, level));
        if body.properties.is_buoyant {
            let scale = body.properties.displaced_volume.map_or(1.0, |volume| volume / whole.volume);
            let mut lift = |part: Volume, density: f64| {
                motion.add_force(sum, part.middle_point(), -self.gravity * (scale * density * part.volume));
            };
            let dry = whole.remaining_after(wet);
            lift(wet, water.map_or(0.0, |water| water.density));
            lift(dry, air.map_or(0.0, |air| air.density_at(motion.pose.point(dry.middle_point()).y)));
        }
        if let (Some(damping), Some(water)) = (body.properties.damping, water) {
            let share = wet.volume / whole.volume;
            let brake = |index: usize, velocity: DVec3, inertia: DVec3| {
                let rate = share * (damping.linear[index] + damping.quadratic[index] * velocity.abs());
                -velocity * rate.min(inertia / self.h)
            };
            let (rotation, inverse) = (motion.pose.rotation, motion.pose.rotation.inverse());
            sum.force += rotation * brake(0, inverse * (motion.velocity - water.current), DVec3::splat(body.mass));
            sum.torque += rotation * brake(1, inverse * motion.angular_velocity, body.moments);
        }
    }
}
