//! The class `Batch`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1, PyReadwriteArray2};
use pyo3::{prelude::*, types::PyBytes};
use simpartner_description::Parameter;
use simpartner_embed::{self as embed, EmbedError};
use simpartner_wire::protocol::Refusal;

use crate::{error::exception_of, simulation::Simulation, slices::Pace};

/// Place of a world that begins anew, its seed, and values of its model by their paths.
type Episode = (usize, Option<u64>, Vec<(String, String)>);

/// Simulations of one world, stepped on several threads.
#[pyclass(frozen, module = "simpartner._native")]
pub(crate) struct Batch {
    inner: Mutex<embed::Batch>,
    pace: Pace,
}

impl Batch {
    fn lock_inner(&self) -> MutexGuard<'_, embed::Batch> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_inner<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut embed::Batch) -> Result<T, EmbedError> + Send,
    ) -> PyResult<T> {
        py.detach(|| work(&mut self.lock_inner())).map_err(|error| exception_of(py, &error))
    }
}

#[pymethods]
impl Batch {
    #[new]
    #[pyo3(signature = (simulation, count, threads, sensors, actuators))]
    fn py_new(
        py: Python<'_>,
        simulation: &Simulation,
        count: usize,
        threads: usize,
        sensors: Vec<String>,
        actuators: Vec<String>,
    ) -> PyResult<Self> {
        let inner = simulation.with_inner(py, |simulation| {
            let mut batch = embed::Batch::new(simulation, count, threads)?;
            batch.select(&sensors, &actuators)?;
            Ok(batch)
        })?;
        Ok(Self { inner: Mutex::new(inner), pace: Pace::default() })
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| self.lock_inner().simulations().len())
    }

    #[getter]
    fn threads(&self, py: Python<'_>) -> usize {
        py.detach(|| self.lock_inner().threads())
    }

    #[getter]
    fn widths(&self, py: Python<'_>) -> (usize, usize) {
        py.detach(|| {
            let batch = self.lock_inner();
            let first = &batch.simulations()[0];
            (first.sensors().width(), first.actuators().width())
        })
    }

    fn advance(
        &self,
        py: Python<'_>,
        count: u64,
        commands: PyReadonlyArray2<'_, f64>,
        active: PyReadonlyArray1<'_, bool>,
        mut readings: PyReadwriteArray2<'_, f64>,
    ) -> PyResult<()> {
        let (commands, active, readings) = (commands.as_slice()?, active.as_slice()?, readings.as_slice_mut()?);
        let mut commands = Some(commands);
        let run = |slice| self.lock_inner().advance(slice, commands.take(), active);
        self.pace.run(py, count, run, |error| exception_of(py, &error))?;
        self.with_inner(py, |batch| batch.read(readings))
    }

    fn read_into(&self, py: Python<'_>, mut readings: PyReadwriteArray2<'_, f64>) -> PyResult<()> {
        let readings = readings.as_slice_mut()?;
        self.with_inner(py, |batch| batch.read(readings))
    }

    fn present_commands(&self, py: Python<'_>, index: usize, mut commands: PyReadwriteArray1<'_, f64>) -> PyResult<()> {
        let commands = commands.as_slice_mut()?;
        self.with_inner(py, |batch| world_at(batch, index)?.present_commands(commands))
    }

    fn reset(&self, py: Python<'_>, seeds: Vec<(usize, Option<u64>)>) -> PyResult<()> {
        self.with_inner(py, |batch| batch.reset(&seeds))
    }

    fn reset_with(&self, py: Python<'_>, worlds: Vec<Episode>) -> PyResult<()> {
        self.with_inner(py, |batch| {
            let mut changed = Vec::new();
            for (index, seed, given) in worlds {
                let parameters = given.iter().map(|(path, value)| {
                    Parameter::of_parts(path, value).map_err(|error| Refusal::Parameter(error.to_string()))
                });
                changed.push((index, seed, parameters.collect::<Result<_, _>>()?));
            }
            batch.reset_with(&changed)
        })
    }

    fn status(
        &self,
        py: Python<'_>,
        mut times: PyReadwriteArray1<'_, f64>,
        mut diverged: PyReadwriteArray1<'_, bool>,
    ) -> PyResult<()> {
        let (times, diverged) = (times.as_slice_mut()?, diverged.as_slice_mut()?);
        self.with_inner(py, |batch| {
            for ((one, time), state) in batch.simulations().iter().zip(times).zip(diverged) {
                (*time, *state) = (one.time_s(), one.has_diverged());
            }
            Ok(())
        })
    }

    fn steps(&self, py: Python<'_>) -> Vec<u64> {
        py.detach(|| self.lock_inner().simulations().iter().map(|one| one.step_index().0).collect())
    }

    fn state_hashes(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.lock_inner().simulations().iter().map(embed::EmbeddedSimulation::state_hash).collect())
    }

    fn snapshot<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyBytes>> {
        let snapshot = self.with_inner(py, |batch| Ok(world_at(batch, index)?.snapshot()))?;
        Ok(PyBytes::new(py, &snapshot))
    }

    fn restore(&self, py: Python<'_>, index: usize, snapshot: &[u8]) -> PyResult<()> {
        self.with_inner(py, |batch| world_at(batch, index)?.restore(snapshot))
    }
}

/// The simulation of a place of the batch.
fn world_at(batch: &mut embed::Batch, index: usize) -> Result<&mut embed::EmbeddedSimulation, EmbedError> {
    let count = batch.simulations().len();
    let missing = || Refusal::Parameter(format!("there is no world {index}; the batch has {count}, counted from 0"));
    batch.simulation_mut(index).ok_or_else(|| missing().into())
}
