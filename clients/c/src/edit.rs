//! Changes of the world, and requests in the words of the protocol.

#![expect(unsafe_code, reason = "exported to C")]

use std::ffi::c_char;

use simpartner_wire::{
    protocol::{Refusal, Spawn, SpawnSource, device_named},
    signal::{BodyPlacement, RobotId},
};

use crate::{
    pointer,
    simulation::{simpartner_simulation, with_simulation},
    status::{returned_text, simpartner_status},
};

/// Adds a robot from a file that is named as in a world. Everything else continues; the channels are then all sensors
/// and all actuators.
///
/// `name` is NULL for the name of the robot's model. `position` has three numbers, m, and `orientation` is a unit
/// quaternion x, y, z, w; each may be NULL. `spawned`, if it is not NULL, gets the name, which stays until this
/// thread's next call.
///
/// # Safety
/// Pointers are NULL or of what is said above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simpartner_spawn(
    simulation: *mut simpartner_simulation,
    file: *const c_char,
    name: *const c_char,
    position: *const f64,
    orientation: *const f64,
    spawned: *mut *const c_char,
) -> simpartner_status {
    with_simulation(simulation, |simulation| {
        // SAFETY: the caller vouches for the pointers.
        let (file, name) = unsafe { (pointer::read_text(file, "file")?, pointer::read_optional_text(name, "name")?) };
        let position = match position.is_null() {
            true => None,
            // SAFETY: as above.
            false => unsafe { pointer::read_array(position, 3, "position") }?.try_into().ok(),
        };
        let orientation = match orientation.is_null() {
            true => None,
            // SAFETY: as above.
            false => unsafe { pointer::read_array(orientation, 4, "orientation") }?.try_into().ok(),
        };
        let spawn = Spawn {
            name: name.map(str::to_owned),
            source: SpawnSource::File(file.to_owned()),
            placement: BodyPlacement { position, orientation, ..BodyPlacement::default() },
            ..Spawn::default()
        };
        let own = simulation.inner.spawn(&spawn)?;
        if !spawned.is_null() {
            // SAFETY: as above.
            unsafe { pointer::result_place(spawned, "spawned") }?.set(returned_text(&own));
        }
        Ok(())
    })
}

/// Removes a robot or an object. Everything else continues; the channels are then all sensors and all actuators.
///
/// # Safety
/// `name` is NULL or a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simpartner_remove(
    simulation: *mut simpartner_simulation,
    name: *const c_char,
) -> simpartner_status {
    with_simulation(simulation, |simulation| {
        // SAFETY: the caller vouches for the pointer.
        let name = unsafe { pointer::read_text(name, "name") }?;
        Ok(simulation.inner.remove(name)?)
    })
}

/// Answers a request as a server's control port does, such as "STEP 10", "TRUTH", "PARAM surface.friction 0.4" or
/// "PLACE WorkPartner position=0,1,0". `answer` gets the text of all lines, which stays until this thread's next call.
/// An answer that begins with ERR is a refusal, and no error of the call.
///
/// # Safety
/// Pointers are NULL or of what the signature says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simpartner_ask(
    simulation: *mut simpartner_simulation,
    request: *const c_char,
    answer: *mut *const c_char,
) -> simpartner_status {
    with_simulation(simulation, |simulation| {
        // SAFETY: the caller vouches for the pointers.
        let (request, answer) =
            unsafe { (pointer::read_text(request, "request")?, pointer::result_place(answer, "answer")?) };
        answer.set(returned_text(&simulation.inner.ask(request)));
        Ok(())
    })
}

/// Answers a request as the port of a device does. Otherwise as simpartner_ask().
///
/// # Safety
/// Pointers are NULL or of what the signature says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simpartner_ask_device(
    simulation: *mut simpartner_simulation,
    device: *const c_char,
    request: *const c_char,
    answer: *mut *const c_char,
) -> simpartner_status {
    with_simulation(simulation, |simulation| {
        // SAFETY: the caller vouches for the pointers.
        let (device, request) =
            unsafe { (pointer::read_text(device, "device")?, pointer::read_text(request, "request")?) };
        // SAFETY: as above.
        let answer = unsafe { pointer::result_place(answer, "answer") }?;
        let id = device_named(simulation.inner.layout(), device, &[])?;
        answer.set(returned_text(&simulation.inner.ask_device(id, request)));
        Ok(())
    })
}

/// Answers a request as the combined port of a robot does. Otherwise as simpartner_ask().
///
/// # Safety
/// Pointers are NULL or of what the signature says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simpartner_ask_robot(
    simulation: *mut simpartner_simulation,
    robot: *const c_char,
    request: *const c_char,
    answer: *mut *const c_char,
) -> simpartner_status {
    with_simulation(simulation, |simulation| {
        // SAFETY: the caller vouches for the pointers.
        let (robot, request) =
            unsafe { (pointer::read_text(robot, "robot")?, pointer::read_text(request, "request")?) };
        // SAFETY: as above.
        let answer = unsafe { pointer::result_place(answer, "answer") }?;
        let index = simulation.inner.layout().robots().iter().position(|info| info.name == robot);
        let index = index.ok_or_else(|| Refusal::Parameter(format!("there is no robot '{robot}'")))?;
        answer.set(returned_text(&simulation.inner.ask_robot(RobotId::new(index), request)));
        Ok(())
    })
}
