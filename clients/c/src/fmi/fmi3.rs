//! The functions of FMI 3.0, by `fmi3Functions.h`. A Boolean is a byte here, because C may hand over any.

#![expect(unsafe_code, reason = "exported to C")]

use std::{
    ffi::{CString, c_char, c_int, c_void},
    ptr::{with_exposed_provenance_mut, without_provenance_mut},
};

use super::{
    core::{Core, FmiError},
    fmi2::copy_state,
    instance::{ANY_MODE, Logger, call_instance, free_instance, new_instance, refuse_call, set_logging},
    saved::Mode,
};
use crate::{
    pointer,
    status::{c_string, run_call},
};

/// `fmi3Instance`: a handle.
type Instance = *mut c_void;
type Reference = u32;
type Boolean = u8;

/// `fmi3LogMessageCallback`.
type LogFunction = unsafe extern "C" fn(*mut c_void, c_int, *const c_char, *const c_char);

const READABLE_MODES: &[Mode] = &[Mode::Instantiated, Mode::Initialization, Mode::Step, Mode::Terminated, Mode::Failed];
const SETTABLE_MODES: &[Mode] = &[Mode::Instantiated, Mode::Initialization, Mode::Step];

/// A logger of the importer's function.
fn logger_of(environment: *mut c_void, function: Option<LogFunction>) -> Logger {
    let environment = environment.expose_provenance();
    Box::new(move |status, category, text| {
        let Some(function) = function else { return };
        let (category, text): (CString, CString) = (c_string(category), c_string(text));
        // SAFETY: the importer has given the function for such calls.
        unsafe { function(with_exposed_provenance_mut(environment), status, category.as_ptr(), text.as_ptr()) };
    })
}

#[unsafe(no_mangle)]
extern "C" fn fmi3GetVersion() -> *const c_char {
    c"3.0".as_ptr()
}

/// # Safety
/// Pointers are NULL or of what FMI says.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3InstantiateCoSimulation(
    _name: *const c_char,
    token: *const c_char,
    resources: *const c_char,
    _is_visible: Boolean,
    is_logging: Boolean,
    is_event_mode_used: Boolean,
    _is_early_return_allowed: Boolean,
    _intermediate: *const Reference,
    _intermediate_count: usize,
    environment: *mut c_void,
    log: Option<LogFunction>,
    _intermediate_update: *mut c_void,
) -> Instance {
    let mut handle = 0;
    run_call(|| {
        handle = new_instance(logger_of(environment, log), is_logging != 0, || {
            // SAFETY: the importer vouches for the pointers.
            let token = unsafe { pointer::read_text(token, "instantiationToken") }?;
            // SAFETY: as above.
            let resources = unsafe { pointer::read_text(resources, "resourcePath") }?;
            if is_event_mode_used != 0 {
                let text = "fmi3InstantiateCoSimulation: this FMU has no event mode, as its description says";
                return Err(FmiError::Failed(text.into()));
            }
            Core::new(resources.as_ref(), token)
        });
        Ok(())
    });
    without_provenance_mut(handle)
}

#[unsafe(no_mangle)]
extern "C" fn fmi3InstantiateModelExchange(
    _name: *const c_char,
    _token: *const c_char,
    _resources: *const c_char,
    _is_visible: Boolean,
    _is_logging: Boolean,
    environment: *mut c_void,
    log: Option<LogFunction>,
) -> Instance {
    refuse_kind(environment, log)
}

#[unsafe(no_mangle)]
extern "C" fn fmi3InstantiateScheduledExecution(
    _name: *const c_char,
    _token: *const c_char,
    _resources: *const c_char,
    _is_visible: Boolean,
    _is_logging: Boolean,
    environment: *mut c_void,
    log: Option<LogFunction>,
    _clock_update: *mut c_void,
    _lock: *mut c_void,
    _unlock: *mut c_void,
) -> Instance {
    refuse_kind(environment, log)
}

fn refuse_kind(environment: *mut c_void, log: Option<LogFunction>) -> Instance {
    let refused = new_instance(logger_of(environment, log), true, || {
        Err(FmiError::Failed("this FMU is for co-simulation alone: fmi3InstantiateCoSimulation".into()))
    });
    without_provenance_mut(refused)
}

#[unsafe(no_mangle)]
extern "C" fn fmi3FreeInstance(instance: Instance) {
    free_instance(instance.addr());
}

/// # Safety
/// `categories` is NULL or of `count` texts.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3SetDebugLogging(
    instance: Instance,
    is_on: Boolean,
    count: usize,
    categories: *const *const c_char,
) -> c_int {
    // SAFETY: the importer vouches for the pointers.
    match unsafe { pointer::read_texts(categories, count, "categories") } {
        Ok(categories) => set_logging(instance.addr(), "fmi3SetDebugLogging", is_on != 0, &categories),
        Err(failure) => refuse_call(instance.addr(), "fmi3SetDebugLogging", &failure.text),
    }
}

#[unsafe(no_mangle)]
extern "C" fn fmi3EnterInitializationMode(
    instance: Instance,
    _has_tolerance: Boolean,
    _tolerance: f64,
    start_time: f64,
    has_stop_time: Boolean,
    stop_time: f64,
) -> c_int {
    call_instance(instance.addr(), "fmi3EnterInitializationMode", &[Mode::Instantiated], |core| {
        core.set_times(start_time, (has_stop_time != 0).then_some(stop_time))?;
        core.mode = Mode::Initialization;
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fmi3ExitInitializationMode(instance: Instance) -> c_int {
    call_instance(instance.addr(), "fmi3ExitInitializationMode", &[Mode::Initialization], |core| {
        core.apply_parameters()?;
        core.mode = Mode::Step;
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fmi3Terminate(instance: Instance) -> c_int {
    call_instance(instance.addr(), "fmi3Terminate", &[Mode::Step], |core| {
        core.mode = Mode::Terminated;
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fmi3Reset(instance: Instance) -> c_int {
    call_instance(instance.addr(), "fmi3Reset", ANY_MODE, |core| core.reset())
}

/// # Safety
/// `references` is NULL or of `count` elements, `values` is NULL or of `value_count` elements.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3GetFloat64(
    instance: Instance,
    references: *const Reference,
    count: usize,
    values: *mut f64,
    value_count: usize,
) -> c_int {
    call_instance(instance.addr(), "fmi3GetFloat64", READABLE_MODES, |core| {
        // SAFETY: the importer vouches for the arrays.
        let references = unsafe { pointer::read_array(references, count, "valueReferences") }?;
        // SAFETY: as above.
        core.get_reals(references, unsafe { pointer::write_array(values, value_count, "values") }?)
    })
}

/// # Safety
/// `references` is NULL or of `count` elements, `values` is NULL or of `value_count` elements.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3SetFloat64(
    instance: Instance,
    references: *const Reference,
    count: usize,
    values: *const f64,
    value_count: usize,
) -> c_int {
    call_instance(instance.addr(), "fmi3SetFloat64", SETTABLE_MODES, |core| {
        // SAFETY: the importer vouches for the arrays.
        let references = unsafe { pointer::read_array(references, count, "valueReferences") }?;
        // SAFETY: as above.
        core.set_reals(references, unsafe { pointer::read_array(values, value_count, "values") }?)
    })
}

/// # Safety
/// `references` is NULL or of `count` elements, `values` is NULL or of `value_count` elements.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3GetUInt64(
    instance: Instance,
    references: *const Reference,
    count: usize,
    values: *mut u64,
    value_count: usize,
) -> c_int {
    call_instance(instance.addr(), "fmi3GetUInt64", READABLE_MODES, |core| {
        // SAFETY: the importer vouches for the arrays.
        let references = unsafe { pointer::read_array(references, count, "valueReferences") }?;
        // SAFETY: as above.
        let values = unsafe { pointer::write_array(values, value_count, "values") }?;
        values.fill(core.get_seed(references, value_count)?);
        Ok(())
    })
}

/// # Safety
/// `references` is NULL or of `count` elements, `values` is NULL or of `value_count` elements.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3SetUInt64(
    instance: Instance,
    references: *const Reference,
    count: usize,
    values: *const u64,
    value_count: usize,
) -> c_int {
    call_instance(instance.addr(), "fmi3SetUInt64", SETTABLE_MODES, |core| {
        // SAFETY: the importer vouches for the arrays.
        let references = unsafe { pointer::read_array(references, count, "valueReferences") }?;
        // SAFETY: as above.
        core.set_seed(references, unsafe { pointer::read_array(values, value_count, "values") }?)
    })
}

/// Functions for variables of a type that there are none of: a call without references is no mistake. Their further
/// arguments are not read: the caller removes them, in the calling convention of C on every platform that there is a
/// library for.
macro_rules! absent_types {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(instance: Instance, _: *const Reference, count: usize) -> c_int {
            match count {
                0 => call_instance(instance.addr(), stringify!($name), ANY_MODE, |_| Ok(())),
                _ => refuse_call(instance.addr(), stringify!($name), "the FMU has no variable of this type"),
            }
        }
    )*};
}

absent_types! {
    fmi3GetFloat32 fmi3GetInt8 fmi3GetUInt8 fmi3GetInt16 fmi3GetUInt16 fmi3GetInt32 fmi3GetUInt32 fmi3GetInt64
    fmi3GetBoolean fmi3GetString fmi3GetBinary fmi3GetClock
    fmi3SetFloat32 fmi3SetInt8 fmi3SetUInt8 fmi3SetInt16 fmi3SetUInt16 fmi3SetInt32 fmi3SetUInt32 fmi3SetInt64
    fmi3SetBoolean fmi3SetString fmi3SetBinary fmi3SetClock
}

/// # Safety
/// `state` is NULL or of a state.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3GetFMUState(instance: Instance, state: *mut *mut c_void) -> c_int {
    call_instance(instance.addr(), "fmi3GetFMUState", ANY_MODE, |core| {
        // SAFETY: the importer vouches for the pointer.
        let (earlier, place) =
            unsafe { (pointer::read_value(state, "FMUState")?, pointer::result_place(state, "FMUState")?) };
        place.set(without_provenance_mut(core.save_state(earlier.addr())?));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fmi3SetFMUState(instance: Instance, state: *mut c_void) -> c_int {
    call_instance(instance.addr(), "fmi3SetFMUState", ANY_MODE, |core| core.restore_state(state.addr()))
}

/// # Safety
/// `state` is NULL or of a state.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3FreeFMUState(instance: Instance, state: *mut *mut c_void) -> c_int {
    call_instance(instance.addr(), "fmi3FreeFMUState", ANY_MODE, |core| {
        if state.is_null() {
            return Ok(());
        }
        // SAFETY: the importer vouches for the pointer.
        let (own, place) =
            unsafe { (pointer::read_value(state, "FMUState")?, pointer::result_place(state, "FMUState")?) };
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
unsafe extern "C" fn fmi3SerializedFMUStateSize(instance: Instance, state: *mut c_void, size: *mut usize) -> c_int {
    call_instance(instance.addr(), "fmi3SerializedFMUStateSize", ANY_MODE, |core| {
        // SAFETY: the importer vouches for the pointer.
        let place = unsafe { pointer::result_place(size, "size") }?;
        place.set(core.serialize_state(state.addr())?.len());
        Ok(())
    })
}

/// # Safety
/// `bytes` is NULL or of `size` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3SerializeFMUState(
    instance: Instance,
    state: *mut c_void,
    bytes: *mut u8,
    size: usize,
) -> c_int {
    call_instance(instance.addr(), "fmi3SerializeFMUState", ANY_MODE, |core| {
        let serialized = core.serialize_state(state.addr())?;
        // SAFETY: the importer vouches for the array.
        copy_state(&serialized, unsafe { pointer::write_array(bytes, size, "serializedState") }?)
    })
}

/// # Safety
/// `bytes` is NULL or of `size` bytes, `state` is NULL or of a state.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3DeserializeFMUState(
    instance: Instance,
    bytes: *const u8,
    size: usize,
    state: *mut *mut c_void,
) -> c_int {
    call_instance(instance.addr(), "fmi3DeserializeFMUState", ANY_MODE, |core| {
        // SAFETY: the importer vouches for the pointers.
        let bytes = unsafe { pointer::read_array(bytes, size, "serializedState") }?;
        // SAFETY: as above.
        let (earlier, place) =
            unsafe { (pointer::read_value(state, "FMUState")?, pointer::result_place(state, "FMUState")?) };
        place.set(without_provenance_mut(core.deserialize_state(bytes, earlier.addr())?));
        Ok(())
    })
}

/// # Safety
/// The pointers are NULL or of places for the results.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3DoStep(
    instance: Instance,
    current_time: f64,
    size: f64,
    _no_set_state: Boolean,
    is_event_handling_needed: *mut Boolean,
    is_to_terminate: *mut Boolean,
    is_early_return: *mut Boolean,
    last_successful_time: *mut f64,
) -> c_int {
    call_instance(instance.addr(), "fmi3DoStep", &[Mode::Step], |core| {
        // SAFETY: the importer vouches for the pointers.
        let time = unsafe { pointer::result_place(last_successful_time, "lastSuccessfulTime") }?;
        for (flag, name) in [
            (is_event_handling_needed, "eventHandlingNeeded"),
            (is_to_terminate, "terminateSimulation"),
            (is_early_return, "earlyReturn"),
        ] {
            // SAFETY: as above.
            unsafe { pointer::result_place(flag, name) }?.set(0);
        }
        time.set(core.time());
        let done = core.do_step(current_time, size);
        time.set(core.time());
        done
    })
}

/// # Safety
/// `count` is NULL or of a place for the result.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3GetNumberOfEventIndicators(instance: Instance, count: *mut usize) -> c_int {
    call_instance(instance.addr(), "fmi3GetNumberOfEventIndicators", ANY_MODE, |_| {
        // SAFETY: the importer vouches for the pointer.
        unsafe { pointer::result_place(count, "nEventIndicators") }?.set(0);
        Ok(())
    })
}

/// # Safety
/// `count` is NULL or of a place for the result.
#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3GetNumberOfContinuousStates(instance: Instance, count: *mut usize) -> c_int {
    call_instance(instance.addr(), "fmi3GetNumberOfContinuousStates", ANY_MODE, |_| {
        // SAFETY: the importer vouches for the pointer.
        unsafe { pointer::result_place(count, "nContinuousStates") }?.set(0);
        Ok(())
    })
}

/// Functions for capabilities that the description denies. Their further arguments are not read, as above.
macro_rules! absent_functions {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(instance: Instance) -> c_int {
            refuse_call(instance.addr(), stringify!($name), "this FMU is for co-simulation, without this capability")
        }
    )*};
}

absent_functions! {
    fmi3EnterEventMode fmi3EnterStepMode fmi3GetOutputDerivatives fmi3GetNumberOfVariableDependencies
    fmi3GetVariableDependencies fmi3GetDirectionalDerivative fmi3GetAdjointDerivative fmi3EnterConfigurationMode
    fmi3ExitConfigurationMode fmi3GetIntervalDecimal fmi3GetIntervalFraction fmi3GetShiftDecimal fmi3GetShiftFraction
    fmi3SetIntervalDecimal fmi3SetIntervalFraction fmi3SetShiftDecimal fmi3SetShiftFraction fmi3EvaluateDiscreteStates
    fmi3UpdateDiscreteStates fmi3EnterContinuousTimeMode fmi3CompletedIntegratorStep fmi3SetTime
    fmi3SetContinuousStates fmi3GetContinuousStateDerivatives fmi3GetEventIndicators fmi3GetContinuousStates
    fmi3GetNominalsOfContinuousStates fmi3ActivateModelPartition
}
