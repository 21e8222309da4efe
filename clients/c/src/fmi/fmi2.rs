//! The functions of FMI 2.0, by `fmi2Functions.h`.

#![expect(unsafe_code, reason = "exported to C")]

use std::{
    ffi::{CString, c_char, c_int, c_void},
    path::PathBuf,
    ptr::{with_exposed_provenance_mut, without_provenance_mut},
};

use super::{
    core::{Core, FmiError},
    instance::{ANY_MODE, Logger, call_instance, free_instance, new_instance, refuse_call, set_logging},
    saved::Mode,
};
use crate::{
    pointer,
    status::{Failure, c_string, run_call, simpartner_status},
};

/// `fmi2Component`: a handle.
type Component = *mut c_void;
type Reference = u32;

/// `fmi2CallbackLogger`.
type LoggerFunction = unsafe extern "C" fn(*mut c_void, *const c_char, c_int, *const c_char, *const c_char, ...);

/// `fmi2CallbackFunctions`. Memory is not asked for.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CallbackFunctions {
    logger: Option<LoggerFunction>,
    allocate_memory: Option<unsafe extern "C" fn(usize, usize) -> *mut c_void>,
    free_memory: Option<unsafe extern "C" fn(*mut c_void)>,
    step_finished: Option<unsafe extern "C" fn(*mut c_void, c_int)>,
    environment: *mut c_void,
}

const READABLE_MODES: &[Mode] = &[Mode::Initialization, Mode::Step, Mode::Terminated, Mode::Failed];
const SETTABLE_MODES: &[Mode] = &[Mode::Instantiated, Mode::Initialization, Mode::Step];
/// `fmi2CoSimulation` of `fmi2Type`.
const CO_SIMULATION: c_int = 1;
/// `fmi2LastSuccessfulTime` and `fmi2Terminated` of `fmi2StatusKind`.
const LAST_TIME_KIND: c_int = 2;
const TERMINATED_KIND: c_int = 3;

/// A logger of the importer's function.
fn logger_of(functions: &CallbackFunctions, name: &str) -> Logger {
    let (environment, name, function) = (functions.environment.expose_provenance(), c_string(name), functions.logger);
    Box::new(move |status, category, text| {
        let Some(function) = function else { return };
        let (category, text): (CString, CString) = (c_string(category), c_string(text));
        let environment = with_exposed_provenance_mut(environment);
        // SAFETY: the importer has given the function for such calls. The text is an argument of a format, because it
        // may have per cent signs.
        unsafe { function(environment, name.as_ptr(), status, category.as_ptr(), c"%s".as_ptr(), text.as_ptr()) };
    })
}

/// The folder of a URI such as `file:///tmp/fmu/resources`.
fn folder_of(location: &str) -> Result<PathBuf, FmiError> {
    let Some(rest) = location.strip_prefix("file:") else {
        if location.contains("://") {
            return Err(FmiError::Failed(format!("fmuResourceLocation: expected file:///FOLDER, got '{location}'")));
        }
        return Ok(location.into());
    };
    let path = match rest.strip_prefix("//") {
        Some(behind) => behind.strip_prefix("localhost").unwrap_or(behind),
        None => rest,
    };
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let [first, behind @ ..] = rest {
        let code = behind.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        match code.filter(|_| *first == b'%') {
            Some(code) => {
                bytes.push(code);
                rest = &behind[2..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    let path = String::from_utf8(bytes);
    let path = path.map_err(|_| FmiError::Failed(format!("fmuResourceLocation: '{location}' is not UTF-8")))?;
    // On Windows /C:/folder is C:/folder.
    let has_drive = path.as_bytes().get(2) == Some(&b':') && path.starts_with('/');
    Ok(if has_drive { path[1..].into() } else { path.into() })
}

#[unsafe(no_mangle)]
extern "C" fn fmi2GetVersion() -> *const c_char {
    c"2.0".as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn fmi2GetTypesPlatform() -> *const c_char {
    c"default".as_ptr()
}

/// # Safety
/// Pointers are NULL or of what FMI says.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2Instantiate(
    name: *const c_char,
    kind: c_int,
    token: *const c_char,
    resources: *const c_char,
    functions: *const CallbackFunctions,
    _is_visible: c_int,
    is_logging: c_int,
) -> Component {
    let mut handle = 0;
    let instantiated = run_call(|| {
        // SAFETY: the importer vouches for the pointers.
        let functions = unsafe { pointer::read_value(functions, "functions") }?;
        // SAFETY: as above.
        let name = unsafe { pointer::read_optional_text(name, "instanceName") }?.unwrap_or_default();
        handle = new_instance(logger_of(&functions, name), is_logging != 0, || {
            // SAFETY: as above.
            let token = unsafe { pointer::read_text(token, "fmuGUID") }?;
            // SAFETY: as above.
            let resources = unsafe { pointer::read_text(resources, "fmuResourceLocation") }?;
            if kind != CO_SIMULATION {
                return Err(FmiError::Failed("fmi2Instantiate: this FMU is for co-simulation alone".into()));
            }
            Core::new(&folder_of(resources)?, token)
        });
        Ok(())
    });
    match instantiated {
        simpartner_status::SIMPARTNER_OK => without_provenance_mut(handle),
        // Without functions nobody can be told.
        _ => without_provenance_mut(0),
    }
}

#[unsafe(no_mangle)]
extern "C" fn fmi2FreeInstance(component: Component) {
    free_instance(component.addr());
}

/// # Safety
/// `categories` is NULL or of `count` texts.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2SetDebugLogging(
    component: Component,
    is_on: c_int,
    count: usize,
    categories: *const *const c_char,
) -> c_int {
    // SAFETY: the importer vouches for the pointers.
    match unsafe { pointer::read_texts(categories, count, "categories") } {
        Ok(categories) => set_logging(component.addr(), "fmi2SetDebugLogging", is_on != 0, &categories),
        Err(failure) => refuse_call(component.addr(), "fmi2SetDebugLogging", &failure.text),
    }
}

#[unsafe(no_mangle)]
extern "C" fn fmi2SetupExperiment(
    component: Component,
    _has_tolerance: c_int,
    _tolerance: f64,
    start_time: f64,
    has_stop_time: c_int,
    stop_time: f64,
) -> c_int {
    call_instance(component.addr(), "fmi2SetupExperiment", &[Mode::Instantiated], |core| {
        core.set_times(start_time, (has_stop_time != 0).then_some(stop_time))
    })
}

#[unsafe(no_mangle)]
extern "C" fn fmi2EnterInitializationMode(component: Component) -> c_int {
    call_instance(component.addr(), "fmi2EnterInitializationMode", &[Mode::Instantiated], |core| {
        core.mode = Mode::Initialization;
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fmi2ExitInitializationMode(component: Component) -> c_int {
    call_instance(component.addr(), "fmi2ExitInitializationMode", &[Mode::Initialization], |core| {
        core.apply_parameters()?;
        core.mode = Mode::Step;
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fmi2Terminate(component: Component) -> c_int {
    call_instance(component.addr(), "fmi2Terminate", &[Mode::Step], |core| {
        core.mode = Mode::Terminated;
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fmi2Reset(component: Component) -> c_int {
    call_instance(component.addr(), "fmi2Reset", ANY_MODE, |core| core.reset())
}

/// # Safety
/// `references` and `values` are NULL or of `count` elements.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2GetReal(
    component: Component,
    references: *const Reference,
    count: usize,
    values: *mut f64,
) -> c_int {
    call_instance(component.addr(), "fmi2GetReal", READABLE_MODES, |core| {
        // SAFETY: the importer vouches for the arrays.
        let (references, values) =
            unsafe { (pointer::read_array(references, count, "vr")?, pointer::write_array(values, count, "value")?) };
        core.get_reals(references, values)
    })
}

/// # Safety
/// `references` and `values` are NULL or of `count` elements.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2SetReal(
    component: Component,
    references: *const Reference,
    count: usize,
    values: *const f64,
) -> c_int {
    call_instance(component.addr(), "fmi2SetReal", SETTABLE_MODES, |core| {
        // SAFETY: the importer vouches for the arrays.
        let (references, values) =
            unsafe { (pointer::read_array(references, count, "vr")?, pointer::read_array(values, count, "value")?) };
        core.set_reals(references, values)
    })
}

/// # Safety
/// `references` and `values` are NULL or of `count` elements.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2GetInteger(
    component: Component,
    references: *const Reference,
    count: usize,
    values: *mut c_int,
) -> c_int {
    call_instance(component.addr(), "fmi2GetInteger", READABLE_MODES, |core| {
        // SAFETY: the importer vouches for the arrays.
        let (references, values) =
            unsafe { (pointer::read_array(references, count, "vr")?, pointer::write_array(values, count, "value")?) };
        let seed = core.get_seed(references, values.len())?;
        // A seed is at most the largest number of this type.
        values.fill(c_int::try_from(seed).unwrap_or(c_int::MAX));
        Ok(())
    })
}

/// # Safety
/// `references` and `values` are NULL or of `count` elements.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2SetInteger(
    component: Component,
    references: *const Reference,
    count: usize,
    values: *const c_int,
) -> c_int {
    call_instance(component.addr(), "fmi2SetInteger", SETTABLE_MODES, |core| {
        // SAFETY: the importer vouches for the arrays.
        let (references, values) =
            unsafe { (pointer::read_array(references, count, "vr")?, pointer::read_array(values, count, "value")?) };
        let seed = |value: &c_int| {
            let refuse = |_| FmiError::Discarded(format!("'seed': expected 0 to {}, got {value}", c_int::MAX));
            u64::try_from(*value).map_err(refuse)
        };
        let values: Vec<u64> = values.iter().map(seed).collect::<Result<_, _>>()?;
        core.set_seed(references, &values)
    })
}

/// Functions for variables of a type that there are none of: a call without references is no mistake.
macro_rules! absent_types {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(component: Component, _: *const Reference, count: usize, _: *mut c_void) -> c_int {
            match count {
                0 => call_instance(component.addr(), stringify!($name), ANY_MODE, |_| Ok(())),
                _ => refuse_call(component.addr(), stringify!($name), "the FMU has no variable of this type"),
            }
        }
    )*};
}

absent_types! { fmi2GetBoolean fmi2SetBoolean fmi2GetString fmi2SetString }

/// # Safety
/// `state` is NULL or of a state.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2GetFMUstate(component: Component, state: *mut *mut c_void) -> c_int {
    call_instance(component.addr(), "fmi2GetFMUstate", ANY_MODE, |core| {
        // SAFETY: the importer vouches for the pointer.
        let (earlier, place) =
            unsafe { (pointer::read_value(state, "FMUstate")?, pointer::result_place(state, "FMUstate")?) };
        place.set(without_provenance_mut(core.save_state(earlier.addr())?));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fmi2SetFMUstate(component: Component, state: *mut c_void) -> c_int {
    call_instance(component.addr(), "fmi2SetFMUstate", ANY_MODE, |core| core.restore_state(state.addr()))
}

/// # Safety
/// `state` is NULL or of a state.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2FreeFMUstate(component: Component, state: *mut *mut c_void) -> c_int {
    call_instance(component.addr(), "fmi2FreeFMUstate", ANY_MODE, |core| {
        if state.is_null() {
            return Ok(());
        }
        // SAFETY: the importer vouches for the pointer.
        let (own, place) =
            unsafe { (pointer::read_value(state, "FMUstate")?, pointer::result_place(state, "FMUstate")?) };
        if !own.is_null() {
            core.free_state(own.addr())?;
            place.set(without_provenance_mut(0));
        }
        Ok(())
    })
}

/// # Safety
/// `size` is NULL or of a number.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2SerializedFMUstateSize(component: Component, state: *mut c_void, size: *mut usize) -> c_int {
    call_instance(component.addr(), "fmi2SerializedFMUstateSize", ANY_MODE, |core| {
        // SAFETY: the importer vouches for the pointer.
        let place = unsafe { pointer::result_place(size, "size") }?;
        place.set(core.serialize_state(state.addr())?.len());
        Ok(())
    })
}

/// # Safety
/// `bytes` is NULL or of `size` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2SerializeFMUstate(
    component: Component,
    state: *mut c_void,
    bytes: *mut u8,
    size: usize,
) -> c_int {
    call_instance(component.addr(), "fmi2SerializeFMUstate", ANY_MODE, |core| {
        let serialized = core.serialize_state(state.addr())?;
        // SAFETY: the importer vouches for the array.
        copy_state(&serialized, unsafe { pointer::write_array(bytes, size, "serializedState") }?)
    })
}

/// # Safety
/// `bytes` is NULL or of `size` bytes, `state` is NULL or of a state.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2DeSerializeFMUstate(
    component: Component,
    bytes: *const u8,
    size: usize,
    state: *mut *mut c_void,
) -> c_int {
    call_instance(component.addr(), "fmi2DeSerializeFMUstate", ANY_MODE, |core| {
        // SAFETY: the importer vouches for the pointers.
        let bytes = unsafe { pointer::read_array(bytes, size, "serializedState") }?;
        // SAFETY: as above.
        let (earlier, place) =
            unsafe { (pointer::read_value(state, "FMUstate")?, pointer::result_place(state, "FMUstate")?) };
        place.set(without_provenance_mut(core.deserialize_state(bytes, earlier.addr())?));
        Ok(())
    })
}

/// Copies a state into the importer's bytes, which must be as many.
pub(super) fn copy_state(serialized: &[u8], place: &mut [u8]) -> Result<(), FmiError> {
    if serialized.len() != place.len() {
        let text = format!("the state has {} bytes, and there is room for {}", serialized.len(), place.len());
        return Err(Failure::of_argument(text).into());
    }
    place.copy_from_slice(serialized);
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn fmi2DoStep(component: Component, current_time: f64, size: f64, _no_set_state: c_int) -> c_int {
    call_instance(component.addr(), "fmi2DoStep", &[Mode::Step], |core| core.do_step(current_time, size))
}

/// # Safety
/// `value` is NULL or of a number.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2GetRealStatus(component: Component, kind: c_int, value: *mut f64) -> c_int {
    if kind != LAST_TIME_KIND {
        return no_status(component, "fmi2GetRealStatus");
    }
    call_instance(component.addr(), "fmi2GetRealStatus", ANY_MODE, |core| {
        // SAFETY: the importer vouches for the pointer.
        unsafe { pointer::result_place(value, "value") }?.set(core.time());
        Ok(())
    })
}

/// # Safety
/// `value` is NULL or of a number.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2GetBooleanStatus(component: Component, kind: c_int, value: *mut c_int) -> c_int {
    if kind != TERMINATED_KIND {
        return no_status(component, "fmi2GetBooleanStatus");
    }
    call_instance(component.addr(), "fmi2GetBooleanStatus", ANY_MODE, |_| {
        // SAFETY: the importer vouches for the pointer.
        unsafe { pointer::result_place(value, "value") }?.set(0);
        Ok(())
    })
}

fn no_status(component: Component, function: &str) -> c_int {
    let text = "every step ends before its call returns, so there is no such status";
    call_instance(component.addr(), function, ANY_MODE, |_| Err(FmiError::Discarded(text.into())))
}

macro_rules! absent_statuses {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(component: Component, _: c_int, _: *mut c_void) -> c_int {
            no_status(component, stringify!($name))
        }
    )*};
}

absent_statuses! { fmi2GetStatus fmi2GetIntegerStatus fmi2GetStringStatus }

/// Functions for capabilities that the description denies. Their further arguments are not read: the caller removes
/// them, in the calling convention of C on every platform that there is a library for.
macro_rules! absent_functions {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(component: Component) -> c_int {
            refuse_call(component.addr(), stringify!($name), "this FMU is for co-simulation, without this capability")
        }
    )*};
}

absent_functions! {
    fmi2CancelStep fmi2SetRealInputDerivatives fmi2GetRealOutputDerivatives fmi2GetDirectionalDerivative
    fmi2EnterEventMode fmi2NewDiscreteStates fmi2EnterContinuousTimeMode fmi2CompletedIntegratorStep fmi2SetTime
    fmi2SetContinuousStates fmi2GetDerivatives fmi2GetEventIndicators fmi2GetContinuousStates
    fmi2GetNominalsOfContinuousStates
}
