//! Descriptions of a simulation: its state in figures, its channels, its events.

#![expect(unsafe_code, reason = "exported to C")]

use std::ffi::c_char;

use simpartner_wire::protocol::device_named;

use crate::{
    pointer,
    simulation::{Simulated, keeping_results, simpartner_simulation},
    status::{Failure, returned_text, simpartner_status},
};

/// Figures of a simulation.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct simpartner_info {
    /// Index of the last step.
    pub step: u64,
    /// Simulated time of the last step, s.
    pub time_s: f64,
    /// Length of a step, s.
    pub timestep_s: f64,
    /// Seed of all noise.
    pub seed: u64,
    /// Number of selected readings.
    pub reading_count: usize,
    /// Number of selected commands.
    pub command_count: usize,
    /// True if the physics has diverged; no step is made until a reset.
    pub has_diverged: bool,
}

/// A number of an array of readings or commands. The texts stay until the simulation is freed.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct simpartner_channel {
    /// The device, as "robot/name".
    pub device: *const c_char,
    /// The field of the device, such as "velocity_1".
    pub field: *const c_char,
    /// Its unit, such as "rad/s"; "1" for a plain number.
    pub unit: *const c_char,
    /// Smallest value it takes.
    pub minimum: f64,
    /// Largest value it takes.
    pub maximum: f64,
}

/// An event of a run. The texts stay until this thread's next call of the library.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct simpartner_event {
    /// The step after which it was seen.
    pub step: u64,
    /// Name of its kind.
    pub kind: *const c_char,
    /// The body or device concerned; empty for the whole run.
    pub subject: *const c_char,
    /// A sentence for people.
    pub text: *const c_char,
    /// Its value, in the unit of its kind; NaN without one.
    pub value: f64,
}

/// Figures of a simulation: step, time, numbers of channels.
///
/// # Safety
/// `info` is NULL or of a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simpartner_get_info(
    simulation: *mut simpartner_simulation,
    info: *mut simpartner_info,
) -> simpartner_status {
    keeping_results(simulation, |simulation| {
        // SAFETY: the caller vouches for the pointer.
        let result = unsafe { pointer::result_place(info, "info") }?;
        let inner = &simulation.inner;
        result.set(simpartner_info {
            step: inner.step_index().0,
            time_s: inner.time_s(),
            timestep_s: inner.timestep().seconds(),
            seed: inner.seed(),
            reading_count: inner.sensors().width(),
            command_count: inner.actuators().width(),
            has_diverged: inner.has_diverged(),
        });
        Ok(())
    })
}

/// Describes a reading, or with `is_command` a command.
fn describe_channel(simulation: &mut Simulated, is_command: bool, index: usize) -> Result<simpartner_channel, Failure> {
    let inner = &simulation.inner;
    let channels = if is_command { inner.actuators() } else { inner.sensors() };
    let all = simulation.channels[usize::from(is_command)].get_or_insert_with(|| channels.describe(inner.layout()));
    let count = all.len();
    let missing = || Failure::of_argument(format!("there is no channel {index}; there are {count}, counted from 0"));
    let channel = all.get(index).ok_or_else(missing)?.clone();
    Ok(simpartner_channel {
        device: simulation.name(&channel.device),
        field: simulation.name(&channel.field),
        unit: simulation.name(channel.unit),
        minimum: channel.lowest,
        maximum: channel.highest,
    })
}

/// Describes the reading at this place of the array, from 0.
///
/// # Safety
/// `channel` is NULL or of a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simpartner_get_reading(
    simulation: *mut simpartner_simulation,
    index: usize,
    channel: *mut simpartner_channel,
) -> simpartner_status {
    keeping_results(simulation, |simulation| {
        // SAFETY: the caller vouches for the pointer.
        let result = unsafe { pointer::result_place(channel, "channel") }?;
        result.set(describe_channel(simulation, false, index)?);
        Ok(())
    })
}

/// Describes the command at this place of the array, from 0.
///
/// # Safety
/// `channel` is NULL or of a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simpartner_get_command(
    simulation: *mut simpartner_simulation,
    index: usize,
    channel: *mut simpartner_channel,
) -> simpartner_status {
    keeping_results(simulation, |simulation| {
        // SAFETY: the caller vouches for the pointer.
        let result = unsafe { pointer::result_place(channel, "channel") }?;
        result.set(describe_channel(simulation, true, index)?);
        Ok(())
    })
}

/// Copies the numbers of a device into an array, selected or not. `count` gets their number, also if the array is too
/// small. A scan that has not arrived yet has none.
///
/// # Safety
/// `device` is NULL or a text, `values` is NULL or of `capacity` numbers, `count` is NULL or of a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simpartner_device_values(
    simulation: *mut simpartner_simulation,
    device: *const c_char,
    values: *mut f64,
    capacity: usize,
    count: *mut usize,
) -> simpartner_status {
    keeping_results(simulation, |simulation| {
        // SAFETY: the caller vouches for the pointers.
        let (device, count) =
            unsafe { (pointer::read_text(device, "device")?, pointer::result_place(count, "count")?) };
        let id = device_named(simulation.inner.layout(), device, &[])?;
        let all = simulation.inner.record().device(simulation.inner.layout(), id);
        count.set(all.len());
        if capacity < all.len() {
            let text = format!("{device} has {} numbers, and the array has {capacity}", all.len());
            return Err(Failure::new(simpartner_status::SIMPARTNER_BUFFER_TOO_SMALL, text));
        }
        // SAFETY: as above.
        unsafe { pointer::write_array(values, all.len(), "values") }?.copy_from_slice(all);
        Ok(())
    })
}

/// Fetches the oldest event that has not been fetched yet. `found` says whether there was one.
///
/// # Safety
/// `event` and `found` are NULL or of places for the results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simpartner_next_event(
    simulation: *mut simpartner_simulation,
    event: *mut simpartner_event,
    found: *mut bool,
) -> simpartner_status {
    keeping_results(simulation, |simulation| {
        // SAFETY: the caller vouches for the pointers.
        let (result, found) =
            unsafe { (pointer::result_place(event, "event")?, pointer::result_place(found, "found")?) };
        simulation.events.extend(simulation.inner.take_events());
        let oldest = simulation.events.pop_front();
        found.set(oldest.is_some());
        if let Some(oldest) = oldest {
            result.set(simpartner_event {
                step: oldest.step.0,
                kind: returned_text(oldest.kind.name()),
                subject: returned_text(&oldest.subject),
                text: returned_text(&oldest.text),
                value: oldest.value.unwrap_or(f64::NAN),
            });
        }
        Ok(())
    })
}
