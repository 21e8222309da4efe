//! Refusal of devices that an engine has no quantities or motors for.

use bevy_math::DVec3;
use simpartner_description::{Actuator, DeviceSpec, Law, Mount, Sensor, World};
use simpartner_dynamics::{BuildError, Engine};
use simpartner_model::BodyId;
use simpartner_wire::signal::DeviceKind;

/// Refuses sensors of quantities that the engine does not compute, whose readings would be meaningless zeros, and
/// actuators that it cannot drive.
pub(super) fn refuse_unsupported_devices(world: &World, engine: &mut dyn Engine) -> Result<(), BuildError> {
    for device in &world.devices {
        if let DeviceSpec::Sensor(Sensor { mount: Mount::Joint(joint), kind: DeviceKind::ForceTorqueSensor, .. }) =
            device.spec
            && engine.joint(joint).load.is_none()
        {
            let (kind, name, engine) = (device.spec.kind(), &device.name, engine.identity().name);
            let what = format!(
                "the engine '{engine}' does not tell what a joint transmits, so {kind} '{name}' has nothing to read; use \
                 physics.engine = \"dynamics\""
            );
            return Err(BuildError { place: device.source.clone(), what });
        }
        let surfaces: Vec<(BodyId, DVec3)> = match &device.spec {
            DeviceSpec::Actuator(Actuator { mount: Mount::Body { body, .. }, law: Law::Surface(velocity), .. }) => {
                vec![(*body, *velocity)]
            }
            DeviceSpec::Vehicle(vehicle) => vehicle.tracks.iter().map(|track| (track.body, DVec3::ZERO)).collect(),
            _ => Vec::new(),
        };
        if surfaces.into_iter().any(|(body, velocity)| !engine.set_surface_velocity(body, velocity)) {
            let (name, engine) = (&device.name, engine.identity().name);
            let what = format!(
                "the engine '{engine}' has no surfaces that move, so '{name}' has nothing to drive; use physics.engine = \"dynamics\""
            );
            return Err(BuildError { place: device.source.clone(), what });
        }
        if let DeviceSpec::Actuator(Actuator { mount: Mount::Joint(joint), .. }) = device.spec
            && world.mechanism.joint(joint).free_coordinates().any(|(axis, _)| !engine.supports_motor(joint, axis))
        {
            let (kind, name, engine) = (world.mechanism.joint(joint).kind.name(), &device.name, engine.identity().name);
            let what = format!(
                "the engine '{engine}' has no motors of {kind} joints, so '{name}' has nothing to drive; use physics.engine = \"dynamics\""
            );
            return Err(BuildError { place: device.source.clone(), what });
        }
    }
    Ok(())
}
