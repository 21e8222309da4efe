//! Simulations: made from files, stepped, read, commanded and freed.

#![expect(unsafe_code, reason = "exported to C")]
#![expect(non_camel_case_types, reason = "the names are those of the header")]

use std::{
    collections::{BTreeMap, VecDeque},
    ffi::{CString, c_char},
    path::Path,
    ptr::without_provenance_mut,
    sync::{Arc, Mutex, PoisonError},
};

use ::simpartner_simulation::camera::CameraImage;
use simpartner::config::EmbeddedSettings;
use simpartner_embed::{Channel, Channels, EmbeddedSimulation, read_world, read_world_text};
use simpartner_wire::signal::{DeviceId, Event, StepIndex};

use crate::{
    handle::Registry,
    pointer,
    status::{Failure, c_string, run_call, simpartner_status},
};

/// A simulation. Threads may share it: a call waits for the one under way. Different simulations run side by side.
pub struct simpartner_simulation(());

/// A simulation with what its caller still has to fetch.
pub(crate) struct Simulated {
    pub(crate) inner: EmbeddedSimulation,
    /// Names that the caller has pointers to, until the simulation is freed.
    names: BTreeMap<String, CString>,
    /// Events that the caller has yet to fetch.
    pub(crate) events: VecDeque<Event>,
    /// The images that were asked for last, if nothing has changed since.
    pub(crate) images: Option<(DeviceId, StepIndex, Vec<CameraImage>)>,
    /// The channels of readings and of commands, if they were asked for and nothing has changed since.
    pub(crate) channels: [Option<Vec<Channel>>; 2],
}

impl Simulated {
    /// A name as a C string that stays until the simulation is freed.
    pub(crate) fn name(&mut self, text: &str) -> *const c_char {
        self.names.entry(text.to_owned()).or_insert_with(|| c_string(text)).as_ptr()
    }
}

static LIVE_SIMULATIONS: Registry<Mutex<Simulated>> = Registry::new();

/// Runs `work` on the simulation of a handle, with images and channels kept.
pub(crate) fn keeping_results(
    handle: *mut simpartner_simulation,
    work: impl FnOnce(&mut Simulated) -> Result<(), Failure>,
) -> simpartner_status {
    run_call(|| {
        let simulation = LIVE_SIMULATIONS.find(handle.addr()).ok_or_else(unknown_handle)?;
        // A panic leaves the simulation in a state between two steps at worst, which a reset ends.
        let mut simulation = simulation.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut simulation)
    })
}

/// Runs `work` on the simulation of a handle.
pub(crate) fn with_simulation(
    handle: *mut simpartner_simulation,
    work: impl FnOnce(&mut Simulated) -> Result<(), Failure>,
) -> simpartner_status {
    keeping_results(handle, |simulation| {
        simulation.images = None;
        simulation.channels = [None, None];
        work(simulation)
    })
}

fn unknown_handle() -> Failure {
    let text = "the handle is of no simulation; it is NULL or has been freed";
    Failure::new(simpartner_status::SIMPARTNER_INVALID_HANDLE, text)
}

/// Builds a simulation of a file, or of a text as if it stood in this file.
fn load_simulation(path: &str, text: Option<&str>, settings: &[&str]) -> Result<usize, Failure> {
    let refuse = |text: String| Failure::new(simpartner_status::SIMPARTNER_INVALID_SETTING, text);
    let pair = |setting: &&str| match setting.split_once('=') {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err(refuse(format!("settings: expected SECTION.KEY=VALUE or model.PATH=VALUE, got '{setting}'"))),
    };
    let settings: Vec<(String, String)> = settings.iter().map(pair).collect::<Result<_, _>>()?;
    let settings = EmbeddedSettings::read(&settings).map_err(|text| refuse(text.trim_end().to_owned()))?;
    let world = match text {
        Some(text) => read_world_text(path, text, &settings.parameters)?,
        None => read_world(Path::new(path), settings.fixed_base, &settings.parameters)?,
    };
    let inner = EmbeddedSimulation::new(world, settings.options)?;
    let (names, events) = (BTreeMap::new(), VecDeque::new());
    Ok(LIVE_SIMULATIONS.add(Mutex::new(Simulated { inner, names, events, images: None, channels: [None, None] })))
}

/// Loads a world, or a robot on level ground, from a file in SimPartner's format, URDF, MJCF or SDF. If there is no
/// such file, the one of this name that is built in is loaded, such as "worlds/flat.xml".
///
/// `settings` are texts such as "simulation.seed=7", "physics.engine=rapier", "simulation.timestep_s=0.0005" or
/// "model.surface.friction=0.4". `simulation` gets the handle, or NULL after an error; simpartner_free() frees it.
///
/// # Safety
/// Pointers are NULL or of what the signature says, `settings` of `setting_count` texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simpartner_load(
    path: *const c_char,
    settings: *const *const c_char,
    setting_count: usize,
    simulation: *mut *mut simpartner_simulation,
) -> simpartner_status {
    run_call(|| {
        // SAFETY: the caller vouches for the pointers.
        let result = unsafe { pointer::result_place(simulation, "simulation") }?;
        result.set(without_provenance_mut(0));
        // SAFETY: as above.
        let (path, settings) =
            unsafe { (pointer::read_text(path, "path")?, pointer::read_texts(settings, setting_count, "settings")?) };
        result.set(without_provenance_mut(load_simulation(path, None, &settings)?));
        Ok(())
    })
}

/// Loads a world from a text, as if it stood in a file of this path; files that it names are looked for from there.
/// Otherwise as simpartner_load().
///
/// # Safety
/// Pointers are NULL or of what the signature says, `settings` of `setting_count` texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simpartner_load_text(
    path: *const c_char,
    text: *const c_char,
    settings: *const *const c_char,
    setting_count: usize,
    simulation: *mut *mut simpartner_simulation,
) -> simpartner_status {
    run_call(|| {
        // SAFETY: the caller vouches for the pointers.
        let result = unsafe { pointer::result_place(simulation, "simulation") }?;
        result.set(without_provenance_mut(0));
        // SAFETY: as above.
        let (path, text) = unsafe { (pointer::read_text(path, "path")?, pointer::read_text(text, "text")?) };
        // SAFETY: as above.
        let settings = unsafe { pointer::read_texts(settings, setting_count, "settings") }?;
        result.set(without_provenance_mut(load_simulation(path, Some(text), &settings)?));
        Ok(())
    })
}

/// Frees a simulation, and all names that it has returned. A call that another thread is in ends first. NULL is
/// ignored; a handle that was freed before is an error.
#[unsafe(no_mangle)]
pub extern "C" fn simpartner_free(simulation: *mut simpartner_simulation) -> simpartner_status {
    run_call(|| match simulation.is_null() || LIVE_SIMULATIONS.remove(simulation.addr()).is_some() {
        true => Ok(()),
        false => Err(unknown_handle()),
    })
}

/// Makes `count` steps.
#[unsafe(no_mangle)]
pub extern "C" fn simpartner_step(simulation: *mut simpartner_simulation, count: u64) -> simpartner_status {
    with_simulation(simulation, |simulation| Ok(simulation.inner.advance(count)?))
}

/// Copies the readings into an array. `count` is the number of readings, info.reading_count. The reading of a scan
/// that has not arrived yet is NaN.
///
/// # Safety
/// `readings` is NULL or of `count` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simpartner_read(
    simulation: *mut simpartner_simulation,
    readings: *mut f64,
    count: usize,
) -> simpartner_status {
    keeping_results(simulation, |simulation| {
        // SAFETY: the caller vouches for the array.
        let readings = unsafe { pointer::write_array(readings, count, "readings") }?;
        Ok(simulation.inner.read(readings)?)
    })
}

/// Commands the actuators from the next step on. `count` is the number of commands, info.command_count. A command
/// that is NaN keeps its value; an actuator whose commands are all NaN gets none. If one is out of range, none acts.
///
/// # Safety
/// `commands` is NULL or of `count` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simpartner_command(
    simulation: *mut simpartner_simulation,
    commands: *const f64,
    count: usize,
) -> simpartner_status {
    with_simulation(simulation, |simulation| {
        // SAFETY: the caller vouches for the array.
        let commands = unsafe { pointer::read_array(commands, count, "commands") }?;
        Ok(simulation.inner.command(commands)?)
    })
}

/// Copies the present commands into an array: the last ones, or those that act before the first.
///
/// # Safety
/// `commands` is NULL or of `count` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simpartner_present_commands(
    simulation: *mut simpartner_simulation,
    commands: *mut f64,
    count: usize,
) -> simpartner_status {
    keeping_results(simulation, |simulation| {
        // SAFETY: the caller vouches for the array.
        let commands = unsafe { pointer::write_array(commands, count, "commands") }?;
        Ok(simulation.inner.present_commands(commands)?)
    })
}

/// Commands, makes `step_count` steps and reads, in one call: a cycle of a controller. NULL with the count 0 leaves
/// out the commands or the readings.
///
/// # Safety
/// `commands` is NULL or of `command_count` numbers, `readings` is NULL or of `reading_count` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simpartner_advance(
    simulation: *mut simpartner_simulation,
    step_count: u64,
    commands: *const f64,
    command_count: usize,
    readings: *mut f64,
    reading_count: usize,
) -> simpartner_status {
    with_simulation(simulation, |simulation| {
        let expected = simulation.inner.sensors().width();
        // Before the steps, so that none is made for nothing.
        if !readings.is_null() && reading_count != expected {
            let text = format!("expected {expected} numbers for the readings, got {reading_count}");
            return Err(Failure::new(simpartner_status::SIMPARTNER_WRONG_LENGTH, text));
        }
        // SAFETY: the caller vouches for the arrays.
        let commands = unsafe { pointer::read_array(commands, command_count, "commands") }?;
        // SAFETY: as above.
        let readings = unsafe { pointer::write_array(readings, reading_count, "readings") }?;
        if !commands.is_empty() {
            simulation.inner.command(commands)?;
        }
        simulation.inner.advance(step_count)?;
        if !readings.is_empty() {
            simulation.inner.read(readings)?;
        }
        Ok(())
    })
}

/// Selects the channels of readings and commands: the devices of these names, "robot/device", or "device" if only one
/// robot has it, in this order. NULL selects all of them.
///
/// # Safety
/// `sensors` is NULL or of `sensor_count` texts, `actuators` is NULL or of `actuator_count` texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simpartner_select(
    simulation: *mut simpartner_simulation,
    sensors: *const *const c_char,
    sensor_count: usize,
    actuators: *const *const c_char,
    actuator_count: usize,
) -> simpartner_status {
    with_simulation(simulation, |simulation| {
        let layout = Arc::clone(simulation.inner.layout());
        let chosen_sensors = match sensors.is_null() {
            true => Channels::all_sensors(&layout),
            // SAFETY: the caller vouches for the array.
            false => Channels::named(&layout, unsafe { pointer::read_texts(sensors, sensor_count, "sensors") }?)?,
        };
        let chosen_actuators = match actuators.is_null() {
            true => Channels::all_actuators(&layout),
            // SAFETY: the caller vouches for the array.
            false => Channels::actuators_named(&layout, unsafe {
                pointer::read_texts(actuators, actuator_count, "actuators")
            }?)?,
        };
        simulation.inner.select(chosen_sensors, chosen_actuators);
        Ok(())
    })
}
