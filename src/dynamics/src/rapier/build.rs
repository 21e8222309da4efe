//! Construction of rapier's sets from the model.

use std::sync::Arc;

use bevy_math::DVec3;
use rapier3d_f64::prelude::*;
use simpartner_model::{
    Axis, Body, CollisionFilter, ContactDimensions, FreeAxis, FrictionRule, Ground, Joint, JointKind, Material,
    Mechanism, Placed, Plane, Pose, RobotId, Shape, Timestep,
};

use super::{articulation::Articulation, fixture::Fixture};
use crate::{
    BuildError, MassProperties, Settings, mass_properties,
    rays::{CurrentScene, OnSoil, Solid, Surface},
    shape,
};

/// Builds all sets. The order of insertion is that of the model, as it affects results.
pub(super) fn build(
    model: &Mechanism,
    timestep: Timestep,
    settings: &Settings,
) -> Result<(PhysicsWorld, Fixture, CurrentScene), BuildError> {
    check_supported(model)?;
    check_shapes(model)?;
    let mut world = PhysicsWorld::new();
    world.gravity = model.gravity;
    world.integration_parameters = parameters(timestep, settings);
    let (planes, surfaces) = insert_grounds(&mut world, model)?;
    let mut solids = Vec::new();
    let mut fixture = Fixture {
        bodies: Vec::new(),
        names: model.bodies.iter().map(|body| model.qualified_name(body)).collect(),
        colliders: Vec::new(),
        masses: Vec::new(),
        articulation: Articulation::default(),
    };
    for (id, body) in model.bodies() {
        let refuse = |what| BuildError { place: body.source.clone(), what };
        let mass = if body.fixed { MassProperties::ZERO } else { mass_properties(body).map_err(refuse)? };
        let handle = world.insert_body(rigid_body(body, &mass, settings).user_data(id.index() as u128 + 1));
        let collider = match body.collision_shape() {
            Some(placed) => {
                let (shape, pose) = shape::collider_shape(placed).map_err(refuse)?;
                solids.push(Solid::new(id, shape.clone(), !body.fixed));
                let collider = with_material(ColliderBuilder::new(shape), &body.material).density(0.0).position(pose);
                let collider = collider.collision_groups(groups(body.filter));
                Some(world.insert_collider(collider, Some(handle)))
            }
            None => None,
        };
        fixture.bodies.push(handle);
        fixture.colliders.push(collider);
        fixture.masses.push(mass);
    }
    // The first step would also do this, but the kinematics of links below need the centres of mass.
    for &handle in &fixture.bodies {
        world.bodies[handle].recompute_mass_properties_from_colliders(&world.colliders);
    }
    fixture.articulation = Articulation::build(&mut world, model, &fixture.bodies)?;
    fixture.articulation.set_self_collision(&mut world, |robot: RobotId| model.robot(robot).self_collision);
    // Soil is refused, so there are no ruts.
    let planes = planes.into_iter().map(|ground| OnSoil { ground, soil: None }).collect();
    let surfaces = surfaces.into_iter().map(|ground| OnSoil { ground, soil: None }).collect();
    Ok((world, fixture, CurrentScene::new(solids, planes, surfaces)))
}

fn parameters(timestep: Timestep, settings: &Settings) -> IntegrationParameters {
    let softness = SpringCoefficients {
        natural_frequency: settings.rapier.contact_frequency_hz,
        damping_ratio: settings.rapier.contact_damping_ratio,
    };
    IntegrationParameters {
        dt: timestep.seconds(),
        contact_softness: softness,
        // Rapier's contacts with fixed bodies have twice the frequency; the ratio is kept.
        static_contact_softness: SpringCoefficients { natural_frequency: 2.0 * softness.natural_frequency, ..softness },
        normalized_allowed_linear_error: settings.rapier.contact_surface_layer_m,
        normalized_max_corrective_velocity: settings.contact_max_correcting_velocity_m_per_s,
        // Far above the speed of any robot, and far below overflow of squares.
        normalized_max_linear_velocity: 1e9,
        num_solver_iterations: settings.substeps,
        num_internal_pgs_iterations: settings.rapier.solver_iterations,
        ..IntegrationParameters::default()
    }
}

/// The collision groups of a collider; a ground has all groups.
fn groups(CollisionFilter { category, collides_with }: CollisionFilter) -> InteractionGroups {
    let group = |bits: u16| Group::from_bits_truncate(u32::from(bits));
    InteractionGroups::new(group(category), group(collides_with), InteractionTestMode::Or)
}

/// Inserts the grounds, and returns them for ray casts.
fn insert_grounds(world: &mut PhysicsWorld, model: &Mechanism) -> Result<(Vec<Plane>, Vec<Arc<Surface>>), BuildError> {
    let (mut planes, mut surfaces) = (Vec::new(), Vec::new());
    for ground in &model.grounds {
        let mut shaped = |shape: SharedShape, pose: &Pose| {
            surfaces.push(Arc::new(Surface::new(&shape, pose)));
            ColliderBuilder::new(shape).position(shape::pose(pose))
        };
        let collider = match ground {
            Ground::Plane(plane) => {
                planes.push(*plane);
                ColliderBuilder::new(SharedShape::halfspace(plane.normal)).translation(plane.normal * plane.distance)
            }
            Ground::Heightfield(field) => shaped(shape::heightfield(field), &field.pose),
            Ground::Mesh(mesh) => {
                let refuse = |what| BuildError { place: "the ground".into(), what };
                shaped(shape::ground_mesh(mesh).map_err(refuse)?, &Pose::IDENTITY)
            }
        };
        let collider = with_material(collider, ground.material()).collision_groups(groups(CollisionFilter::default()));
        world.insert_collider(collider, None);
    }
    Ok((planes, surfaces))
}

fn rigid_body(body: &Body, mass: &MassProperties, settings: &Settings) -> RigidBodyBuilder {
    let pose = shape::pose(&body.pose);
    if body.fixed {
        return RigidBodyBuilder::fixed().pose(pose);
    }
    let properties =
        rapier3d_f64::dynamics::MassProperties::with_inertia_matrix(mass.centre_of_mass, mass.mass, mass.tensor);
    RigidBodyBuilder::dynamic()
        .pose(pose)
        .linvel(body.linear_velocity)
        .angvel(body.angular_velocity)
        .additional_mass_properties(properties)
        .can_sleep(settings.auto_disable && body.robot.is_none())
        .allow_fast_rotation(true)
}

fn with_material(builder: ColliderBuilder, material: &Material) -> ColliderBuilder {
    builder
        .friction(if material.contact_dimensions() == ContactDimensions::Normal { 0.0 } else { material.friction })
        // Of two rules rapier applies the later one in its list, in which the largest is after the smallest.
        .friction_combine_rule(match material.friction_rule {
            FrictionRule::Smaller => CoefficientCombineRule::Min,
            FrictionRule::Larger => CoefficientCombineRule::Max,
        })
        .restitution(material.restitution)
        .restitution_combine_rule(CoefficientCombineRule::Max)
}

/// Refuses models that rapier cannot represent. It has one coefficient of friction, rigid surfaces, and neither springs
/// nor rotors in joints of trees.
fn check_supported(model: &Mechanism) -> Result<(), BuildError> {
    let is_moved = |joint: &&Joint| joint.axes.iter().filter_map(Axis::free).any(|axis| axis.initial_position != 0.0);
    if let Some(joint) = model.joints.iter().find(is_moved) {
        let what = "the engine rapier has no initial positions of joints; choose the engine dynamics".into();
        return Err(BuildError { place: joint.source.clone(), what });
    }
    if let Some(coupling) = model.couplings.first() {
        let what = "the engine rapier has no couplings; choose the engine dynamics".into();
        return Err(BuildError { place: coupling.source.clone(), what });
    }
    let grounds = model.grounds.iter().map(|ground| ("the ground", *ground.material()));
    let bodies =
        model.bodies.iter().flat_map(|body| body.materials().map(|material| (body.source.as_str(), *material)));
    let refuse = |place: &str, what: &str| {
        let what = format!("the rapier engine has no {what}: leave it out, or set physics.engine to dynamics");
        Err(BuildError { place: place.to_owned(), what })
    };
    for (place, material) in bodies.chain(grounds) {
        if material.across.is_some() {
            return refuse(place, "second coefficient of friction");
        } else if material.torsional_friction > 0.0 && material.contact_dimensions() >= ContactDimensions::Torsional {
            return refuse(place, "torsional friction");
        } else if material.stiffness.is_finite() {
            return refuse(place, "soft surfaces");
        } else if material.slip > 0.0 {
            return refuse(place, "slip");
        } else if material.priority != 0 {
            return refuse(place, "priority of surfaces");
        } else if material.surface_velocity != DVec3::ZERO {
            return refuse(place, "surfaces that move");
        } else if material.soil.is_some() {
            return refuse(place, "soil");
        }
    }
    if let Some(body) = model.bodies.iter().find(|body| !body.part_materials.is_empty()) {
        return refuse(&body.source, "material of a single shape");
    }
    for joint in &model.joints {
        for axis in joint.axes.iter().filter_map(|axis| axis.free()) {
            let ball = joint.kind == JointKind::Ball;
            if ball
                && (axis.damping, axis.friction, axis.lower, axis.upper) != (0.0, 0.0, f64::NEG_INFINITY, f64::INFINITY)
                || joint.swing.is_finite()
            {
                return refuse(&joint.source, "damping, friction and stops of ball joints");
            } else if axis.stiffness > 0.0 {
                return refuse(&joint.source, "springs in joints");
            } else if axis.armature > 0.0 {
                return refuse(&joint.source, "rotors in joints");
            } else if (axis.max_effort, axis.max_rate) != (FreeAxis::MAX_EFFORT, FreeAxis::MAX_RATE)
                || axis.max_power.is_finite()
            {
                return refuse(&joint.source, "largest efforts, rates and powers of joints");
            }
        }
    }
    Ok(())
}

/// Refuses ellipsoids: rapier has no contacts for them.
fn check_shapes(model: &Mechanism) -> Result<(), BuildError> {
    let has_ellipsoid = |body: &&Body| body.collision_shape().is_some_and(holds_ellipsoid);
    model.bodies.iter().find(has_ellipsoid).map_or(Ok(()), |body| {
        let what = "the engine rapier has no ellipsoids; choose the engine dynamics".into();
        Err(BuildError { place: body.source.clone(), what })
    })
}

/// True if a shape or a part of it is an ellipsoid.
fn holds_ellipsoid(placed: &Placed) -> bool {
    match &placed.shape {
        Shape::Compound { parts } => parts.iter().any(holds_ellipsoid),
        shape => matches!(shape, Shape::Ellipsoid { .. }),
    }
}
