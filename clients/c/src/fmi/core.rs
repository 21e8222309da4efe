//! An instance of an FMU, without C.

use std::{collections::BTreeMap, path::Path};

use simpartner::fmu::{FmuModel, Role, Variable, Variables};
use simpartner_description::Parameter;
use simpartner_embed::EmbeddedSimulation;

use super::saved::{Mode, SavedState};
use crate::{handle::new_handle, status::Failure};

/// Largest difference of a communication step from a whole number of steps, in steps: above the rounding of a
/// difference of two times of 1e8 s, and below anything that is meant.
const STEP_TOLERANCE: f64 = 1e-4;
/// Largest difference of the importer's time from that of the simulation, in steps: importers that add up step sizes
/// drift.
const TIME_TOLERANCE: f64 = 0.25;

/// The error of a call.
#[derive(Debug)]
pub(super) enum FmiError {
    /// The call is refused, and nothing has changed.
    Discarded(String),
    /// The simulation cannot continue.
    Failed(String),
}

impl From<Failure> for FmiError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure.text)
    }
}

fn error_of(text: impl std::fmt::Display) -> FmiError {
    FmiError::Failed(text.to_string().trim_end().to_owned())
}

/// An instance.
pub(super) struct Core {
    pub(super) mode: Mode,
    model: FmuModel,
    token: String,
    simulation: EmbeddedSimulation,
    variables: Variables,
    start_time: f64,
    stop_time: Option<f64>,
    /// Seed and parameters as they are set; the simulation has them after [`apply_parameters`](Self::apply_parameters).
    seed: u64,
    parameters: Vec<f64>,
    is_changed: bool,
    /// Values of the inputs, those that are set but have not acted yet included.
    inputs: Vec<f64>,
    /// Inputs that have been set since the last step; NaN for the others.
    pending: Vec<f64>,
    /// The readings, if they are of the present state.
    outputs: Option<Vec<f64>>,
    states: BTreeMap<usize, SavedState>,
}

impl Core {
    /// An instance of the FMU with its resources in this folder.
    ///
    /// # Errors
    /// The resources are missing or damaged, or the token is not theirs.
    pub(super) fn new(resources: &Path, token: &str) -> Result<Self, FmiError> {
        let model = FmuModel::read(resources).map_err(error_of)?;
        let own = model.token();
        if own != token {
            return Err(error_of(format_args!(
                "the resources are those of the token {own}, and the description has {token}; make the FMU anew"
            )));
        }
        let simulation = model.build().map_err(error_of)?;
        let variables = model.variables(&simulation);
        let mut core = Self {
            mode: Mode::Instantiated,
            token: own,
            seed: 0,
            parameters: Vec::new(),
            is_changed: false,
            inputs: Vec::new(),
            pending: Vec::new(),
            outputs: None,
            start_time: 0.0,
            stop_time: None,
            states: BTreeMap::new(),
            model,
            simulation,
            variables,
        };
        core.set_starts();
        Ok(core)
    }

    /// Gives all variables their values at the start.
    fn set_starts(&mut self) {
        (self.start_time, self.stop_time, self.is_changed, self.outputs) = (0.0, None, false, None);
        self.parameters = self.model.parameters.iter().map(|parameter| parameter.start).collect();
        self.inputs.clear();
        for (_, variable) in self.variables.iter() {
            match variable.role {
                Role::Input(_) => self.inputs.push(variable.start),
                Role::Seed => self.seed = variable.start as u64,
                Role::Time | Role::Parameter(_) | Role::Output(_) => {}
            }
        }
        self.pending = vec![f64::NAN; self.inputs.len()];
    }

    /// Back to the state after the instantiation.
    pub(super) fn reset(&mut self) -> Result<(), FmiError> {
        self.simulation = self.model.build().map_err(error_of)?;
        self.set_starts();
        self.mode = Mode::Instantiated;
        Ok(())
    }

    /// Sets the times at which the simulation starts, and at which it has to end.
    pub(super) fn set_times(&mut self, start: f64, stop: Option<f64>) -> Result<(), FmiError> {
        if !start.is_finite() || stop.is_some_and(|stop| stop.is_nan() || stop < start) {
            let stop = stop.map_or_else(String::new, |stop| format!(" to {stop}"));
            return Err(error_of(format_args!("expected a time from a start to an end, got {start}{stop}")));
        }
        (self.start_time, self.stop_time) = (start, stop);
        Ok(())
    }

    /// Simulated time, s.
    pub(super) fn time(&self) -> f64 {
        self.start_time + self.simulation.time_s()
    }

    /// Builds the simulation anew if the seed or a parameter has changed.
    pub(super) fn apply_parameters(&mut self) -> Result<(), FmiError> {
        if !std::mem::take(&mut self.is_changed) {
            return Ok(());
        }
        let changed = self.model.parameters.iter().zip(&self.parameters);
        let changed: Vec<Parameter> = changed
            .map(|(parameter, value)| parameter.with_value(*value).map_err(error_of))
            .collect::<Result<_, _>>()?;
        self.outputs = None;
        match changed.is_empty() {
            true => self.simulation.reset(Some(self.seed)),
            false => self.simulation.reset_with(Some(self.seed), &changed),
        }
        .map_err(error_of)
    }

    fn variable(&self, reference: u32) -> Result<&Variable, FmiError> {
        let last = self.variables.iter().count().saturating_sub(1);
        let unknown =
            || error_of(format_args!("there is no variable with the value reference {reference}, at most {last}"));
        self.variables.get(reference).ok_or_else(unknown)
    }

    /// Reads variables that are real numbers.
    pub(super) fn get_reals(&mut self, references: &[u32], values: &mut [f64]) -> Result<(), FmiError> {
        check_count(references.len(), values.len())?;
        self.apply_parameters()?;
        for (reference, place) in references.iter().zip(values) {
            let role = self.variable(*reference)?.role;
            *place = match role {
                Role::Time => self.time(),
                Role::Seed => return Err(other_type(self.variable(*reference)?)),
                Role::Parameter(index) => self.parameters[index],
                Role::Input(index) => self.inputs[index],
                Role::Output(index) => self.read_outputs()?[index],
            };
        }
        Ok(())
    }

    fn read_outputs(&mut self) -> Result<&[f64], FmiError> {
        if self.outputs.is_none() {
            let mut readings = vec![0.0; self.simulation.sensors().width()];
            self.simulation.read(&mut readings).map_err(error_of)?;
            self.outputs = Some(readings);
        }
        Ok(self.outputs.as_deref().unwrap_or_default())
    }

    /// Reads variables that are whole numbers: the seed.
    pub(super) fn get_seed(&self, references: &[u32], count: usize) -> Result<u64, FmiError> {
        check_count(references.len(), count)?;
        for reference in references {
            let variable = self.variable(*reference)?;
            if variable.role != Role::Seed {
                return Err(other_type(variable));
            }
        }
        Ok(self.seed)
    }

    /// Sets the seed.
    pub(super) fn set_seed(&mut self, references: &[u32], values: &[u64]) -> Result<(), FmiError> {
        self.get_seed(references, values.len())?;
        for (reference, value) in references.iter().zip(values) {
            let variable = self.variable(*reference)?;
            self.check_start(variable)?;
            check_range(variable, *value as f64)?;
            (self.seed, self.is_changed) = (*value, true);
        }
        Ok(())
    }

    /// Sets variables that are real numbers, all of them or none.
    pub(super) fn set_reals(&mut self, references: &[u32], values: &[f64]) -> Result<(), FmiError> {
        check_count(references.len(), values.len())?;
        for (reference, value) in references.iter().zip(values) {
            let variable = self.variable(*reference)?;
            match variable.role {
                Role::Input(_) => {}
                Role::Parameter(_) => self.check_start(variable)?,
                Role::Seed => return Err(other_type(variable)),
                Role::Time | Role::Output(_) => {
                    return Err(error_of(format_args!("'{}' is computed, and cannot be set", variable.name)));
                }
            }
            check_range(variable, *value)?;
        }
        for (reference, value) in references.iter().zip(values) {
            let variable = self.variable(*reference)?;
            match variable.role {
                Role::Input(index) => {
                    // Importers that set all variables to their starts command nothing.
                    let is_start = self.mode != Mode::Step && variable.start == *value;
                    (self.inputs[index], self.pending[index]) = (*value, if is_start { f64::NAN } else { *value });
                }
                Role::Parameter(index) => {
                    self.is_changed |= self.parameters[index].to_bits() != value.to_bits();
                    self.parameters[index] = *value;
                }
                Role::Time | Role::Seed | Role::Output(_) => {}
            }
        }
        Ok(())
    }

    /// Refuses to set a parameter after the start.
    fn check_start(&self, variable: &Variable) -> Result<(), FmiError> {
        if matches!(self.mode, Mode::Instantiated | Mode::Initialization) {
            return Ok(());
        }
        Err(error_of(format_args!("'{}' is fixed: it can be set until the initialization ends", variable.name)))
    }

    /// Makes the steps of a communication step. Inputs that were set act from the first of them on.
    pub(super) fn do_step(&mut self, current_time: f64, size: f64) -> Result<(), FmiError> {
        let (now, step) = (self.time(), self.simulation.timestep().seconds());
        let drift = (current_time - now).abs() / step;
        if drift.is_nan() || drift > TIME_TOLERANCE {
            return Err(error_of(format_args!(
                "the communication point is {current_time} s, and the simulation is at {now} s"
            )));
        }
        let exact = size / step;
        let count = exact.round();
        if !(count >= 1.0 && (exact - count).abs() <= STEP_TOLERANCE) {
            return Err(error_of(format_args!(
                "the communication step size is {size} s, and has to be a multiple of the simulation's step, {step} s"
            )));
        }
        if let Some(stop) = self.stop_time
            && now + size > stop + TIME_TOLERANCE * step
        {
            return Err(error_of(format_args!("a step of {size} s from {now} s goes beyond the stop time, {stop} s")));
        }
        if self.pending.iter().any(|value| !value.is_nan()) {
            self.simulation.command(&self.pending).map_err(error_of)?;
            self.pending.fill(f64::NAN);
        }
        self.outputs = None;
        self.simulation.advance(count as u64).map_err(error_of)
    }

    /// Sentences on the events since the last call.
    pub(super) fn take_events(&mut self) -> Vec<String> {
        let events = self.simulation.take_events().into_iter();
        events
            .map(|event| format!("step {}: {} {}: {}", event.step, event.kind.name(), event.subject, event.text))
            .collect()
    }

    /// Saves the present state, in place of an earlier one if `earlier` is its handle. Returns its handle.
    pub(super) fn save_state(&mut self, earlier: usize) -> Result<usize, FmiError> {
        self.apply_parameters()?;
        let state = SavedState {
            mode: self.mode,
            start_time: self.start_time,
            stop_time: self.stop_time,
            seed: self.seed,
            parameters: self.parameters.clone(),
            inputs: self.inputs.clone(),
            pending: self.pending.clone(),
            snapshot: self.simulation.snapshot(),
        };
        self.keep_state(earlier, state)
    }

    fn keep_state(&mut self, earlier: usize, state: SavedState) -> Result<usize, FmiError> {
        let handle = match earlier {
            0 => new_handle(),
            earlier if self.states.contains_key(&earlier) => earlier,
            _ => return Err(unknown_state()),
        };
        self.states.insert(handle, state);
        Ok(handle)
    }

    /// Restores a saved state, which can be restored again.
    pub(super) fn restore_state(&mut self, handle: usize) -> Result<(), FmiError> {
        let state = self.states.get(&handle).ok_or_else(unknown_state)?.clone();
        let same = |own: &[f64], other: &[f64]| {
            own.iter().map(|value| value.to_bits()).eq(other.iter().map(|value| value.to_bits()))
        };
        self.is_changed |= self.seed != state.seed || !same(&self.parameters, &state.parameters);
        (self.seed, self.parameters) = (state.seed, state.parameters);
        self.apply_parameters()?;
        self.simulation.restore(&state.snapshot).map_err(error_of)?;
        (self.start_time, self.stop_time, self.mode) = (state.start_time, state.stop_time, state.mode);
        (self.inputs, self.pending, self.outputs) = (state.inputs, state.pending, None);
        Ok(())
    }

    /// Drops a saved state.
    pub(super) fn free_state(&mut self, handle: usize) -> Result<(), FmiError> {
        self.states.remove(&handle).map(drop).ok_or_else(unknown_state)
    }

    /// A saved state as bytes.
    pub(super) fn serialize_state(&self, handle: usize) -> Result<Vec<u8>, FmiError> {
        self.states.get(&handle).ok_or_else(unknown_state)?.to_bytes(&self.token).map_err(error_of)
    }

    /// Saves the state of these bytes, in place of an earlier one if `earlier` is its handle. Returns its handle.
    pub(super) fn deserialize_state(&mut self, bytes: &[u8], earlier: usize) -> Result<usize, FmiError> {
        let state = SavedState::of_bytes(bytes, &self.token).map_err(error_of)?;
        let widths = (state.parameters.len(), state.inputs.len(), state.pending.len());
        if widths != (self.parameters.len(), self.inputs.len(), self.pending.len()) {
            return Err(error_of("the state is of an FMU with other variables"));
        }
        self.keep_state(earlier, state)
    }
}

fn unknown_state() -> FmiError {
    error_of("the state is none of this instance; it is NULL or has been freed")
}

fn check_count(references: usize, values: usize) -> Result<(), FmiError> {
    if references == values {
        return Ok(());
    }
    Err(error_of(format_args!("expected a value for each of the {references} value references, got {values}")))
}

fn check_range(variable: &Variable, value: f64) -> Result<(), FmiError> {
    let Variable { name, lowest, highest, .. } = variable;
    // A value that is no number is refused as well.
    if value >= *lowest && value <= *highest && value.is_finite() {
        return Ok(());
    }
    Err(FmiError::Discarded(format!("'{name}': expected {lowest} to {highest}, got {value}")))
}

fn other_type(variable: &Variable) -> FmiError {
    let expected = if variable.role == Role::Seed { "a whole number" } else { "a real number" };
    error_of(format_args!("'{}' is {expected}, and the call is for another type", variable.name))
}
