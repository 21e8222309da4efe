//! The class `Simulation`.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::{prelude::*, types::PyBytes};
use simpartner::config::EmbeddedSettings;
use simpartner_embed::{Channels, EmbedError, EmbeddedSimulation, read_world, read_world_text};
use simpartner_wire::{
    protocol::{Refusal, device_named},
    signal::{RobotId, StepIndex},
};

use crate::{
    error::{exception_named, exception_of},
    slices::Pace,
};

/// A simulation in this process. Threads may share it; a call waits for the one under way.
#[pyclass(frozen, module = "simpartner._native")]
pub(crate) struct Simulation {
    inner: Mutex<EmbeddedSimulation>,
    pace: Pace,
}

/// Images of a camera: their step, and of each plane encoding, width, height and bytes.
type Planes<'py> = (u64, Vec<(&'static str, usize, usize, Bound<'py, PyBytes>)>);

impl Simulation {
    fn lock_inner(&self) -> MutexGuard<'_, EmbeddedSimulation> {
        // A panic leaves the simulation in a state between two steps at worst, which reset() ends.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` on the simulation without the interpreter.
    pub(crate) fn with_inner<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut EmbeddedSimulation) -> Result<T, EmbedError> + Send,
    ) -> PyResult<T> {
        py.detach(|| work(&mut self.lock_inner())).map_err(|error| exception_of(py, &error))
    }
}

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (path, text, settings))]
    fn py_new(py: Python<'_>, path: PathBuf, text: Option<String>, settings: Vec<(String, String)>) -> PyResult<Self> {
        let settings = EmbeddedSettings::read(&settings);
        let EmbeddedSettings { options, fixed_base, parameters } =
            settings.map_err(|error| exception_named(py, "SettingError", error.trim_end()))?;
        let built = py.detach(|| {
            let world = match text {
                Some(text) => read_world_text(&path.to_string_lossy(), &text, &parameters)?,
                None => read_world(&path, fixed_base, &parameters)?,
            };
            EmbeddedSimulation::new(world, options)
        });
        let inner = built.map_err(|error| exception_of(py, &error))?;
        Ok(Self { inner: Mutex::new(inner), pace: Pace::default() })
    }

    #[pyo3(signature = (count=1, commands=None, readings=None))]
    fn advance(
        &self,
        py: Python<'_>,
        count: u64,
        commands: Option<PyReadonlyArray1<'_, f64>>,
        readings: Option<PyReadwriteArray1<'_, f64>>,
    ) -> PyResult<u64> {
        if let Some(commands) = &commands {
            let commands = commands.as_slice()?;
            self.with_inner(py, |simulation| simulation.command(commands))?;
        }
        self.pace.run(py, count, |slice| self.lock_inner().advance(slice), |error| exception_of(py, &error))?;
        if let Some(mut readings) = readings {
            let readings = readings.as_slice_mut()?;
            self.with_inner(py, |simulation| simulation.read(readings))?;
        }
        Ok(py.detach(|| self.lock_inner().step_index().0))
    }

    fn advance_to(&self, py: Python<'_>, time: f64) -> PyResult<u64> {
        let (now, goal) = py.detach(|| {
            let simulation = self.lock_inner();
            (simulation.step_index().0, simulation.timestep().steps_in(time))
        });
        self.advance(py, goal.saturating_sub(now), None, None)
    }

    fn read_into(&self, py: Python<'_>, mut readings: PyReadwriteArray1<'_, f64>) -> PyResult<()> {
        let readings = readings.as_slice_mut()?;
        self.with_inner(py, |simulation| simulation.read(readings))
    }

    fn command(&self, py: Python<'_>, commands: PyReadonlyArray1<'_, f64>) -> PyResult<()> {
        let commands = commands.as_slice()?;
        self.with_inner(py, |simulation| simulation.command(commands))
    }

    fn present_commands(&self, py: Python<'_>, mut commands: PyReadwriteArray1<'_, f64>) -> PyResult<()> {
        let commands = commands.as_slice_mut()?;
        self.with_inner(py, |simulation| simulation.present_commands(commands))
    }

    fn select(&self, py: Python<'_>, sensors: Option<Vec<String>>, actuators: Option<Vec<String>>) -> PyResult<()> {
        self.with_inner(py, |simulation| {
            let layout = Arc::clone(simulation.layout());
            let sensors = match &sensors {
                Some(names) => Channels::named(&layout, names.iter().map(String::as_str))?,
                None => Channels::all_sensors(&layout),
            };
            let actuators = match &actuators {
                Some(names) => Channels::actuators_named(&layout, names.iter().map(String::as_str))?,
                None => Channels::all_actuators(&layout),
            };
            simulation.select(sensors, actuators);
            Ok(())
        })
    }

    fn sensor_channels(&self, py: Python<'_>) -> PyResult<Vec<(String, String, &'static str)>> {
        self.with_inner(py, |simulation| Ok(describe_channels(simulation.sensors(), simulation)))
    }

    fn actuator_channels(&self, py: Python<'_>) -> PyResult<Vec<(String, String, &'static str)>> {
        self.with_inner(py, |simulation| Ok(describe_channels(simulation.actuators(), simulation)))
    }

    #[pyo3(signature = (seed=None))]
    fn reset(&self, py: Python<'_>, seed: Option<u64>) -> PyResult<()> {
        self.with_inner(py, |simulation| simulation.reset(seed))
    }

    fn snapshot<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let snapshot = py.detach(|| self.lock_inner().snapshot());
        PyBytes::new(py, &snapshot)
    }

    fn restore(&self, py: Python<'_>, snapshot: &[u8]) -> PyResult<()> {
        self.with_inner(py, |simulation| simulation.restore(snapshot))
    }

    fn state_hash(&self, py: Python<'_>) -> String {
        py.detach(|| self.lock_inner().state_hash())
    }

    #[getter]
    fn step(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.lock_inner().step_index().0)
    }

    #[getter]
    fn time(&self, py: Python<'_>) -> f64 {
        py.detach(|| self.lock_inner().time_s())
    }

    #[getter]
    fn timestep(&self, py: Python<'_>) -> f64 {
        py.detach(|| self.lock_inner().timestep().seconds())
    }

    #[getter]
    fn seed(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.lock_inner().seed())
    }

    #[getter]
    fn diverged(&self, py: Python<'_>) -> bool {
        py.detach(|| self.lock_inner().has_diverged())
    }

    fn ask(&self, py: Python<'_>, text: &str) -> String {
        py.detach(|| self.lock_inner().ask(text))
    }

    fn ask_device(&self, py: Python<'_>, device: &str, text: &str) -> PyResult<String> {
        self.with_inner(py, |simulation| {
            let id = device_named(simulation.layout(), device, &[])?;
            Ok(simulation.ask_device(id, text))
        })
    }

    fn ask_robot(&self, py: Python<'_>, robot: &str, text: &str) -> PyResult<String> {
        self.with_inner(py, |simulation| {
            let robots = simulation.layout().robots();
            let index = robots.iter().position(|info| info.name == robot);
            let index = index.ok_or_else(|| Refusal::Parameter(format!("there is no robot '{robot}'")))?;
            Ok(simulation.ask_robot(RobotId::new(index), text))
        })
    }

    fn device_values(&self, py: Python<'_>, device: &str) -> PyResult<Vec<f64>> {
        self.with_inner(py, |simulation| {
            let id = device_named(simulation.layout(), device, &[])?;
            Ok(simulation.record().device(simulation.layout(), id).to_vec())
        })
    }

    #[pyo3(signature = (device, threads=1))]
    fn images<'py>(&self, py: Python<'py>, device: &str, threads: usize) -> PyResult<Planes<'py>> {
        let (StepIndex(step), images) = self.with_inner(py, |simulation| {
            let id = device_named(simulation.layout(), device, &[])?;
            simulation.images(id, threads.max(1))
        })?;
        let planes = images.iter().map(|image| {
            let [width, height] = image.size();
            (image.encoding().name(), width, height, PyBytes::new(py, &image.bytes()))
        });
        Ok((step, planes.collect()))
    }

    fn take_events(&self, py: Python<'_>) -> Vec<(u64, &'static str, String, String, Option<f64>)> {
        let events = py.detach(|| self.lock_inner().take_events());
        let event = |event: simpartner_wire::signal::Event| {
            (event.step.0, event.kind.name(), event.subject, event.text, event.value)
        };
        events.into_iter().map(event).collect()
    }
}

fn describe_channels(channels: &Channels, simulation: &EmbeddedSimulation) -> Vec<(String, String, &'static str)> {
    let channels = channels.describe(simulation.layout()).into_iter();
    channels.map(|channel| (channel.device, channel.field, channel.unit)).collect()
}
