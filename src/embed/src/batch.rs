//! Many simulations of one world, stepped side by side on several threads.

use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuilder, prelude::*};
use simpartner_description::Parameter;

use crate::{Channels, EmbedError, EmbeddedSimulation};

/// Simulations of one world, which share what never changes. Each simulation steps on one thread, so the number of
/// threads changes no bit.
#[derive(Debug)]
pub struct Batch {
    simulations: Vec<EmbeddedSimulation>,
    /// `None` for one thread, which is the caller's.
    pool: Option<ThreadPool>,
}

impl Batch {
    /// Builds `count` simulations, at least one, of the world and the settings of `model`. More than one thread is
    /// started; a single one is the caller's.
    ///
    /// # Errors
    /// There are no threads, or the engine cannot represent something in the world, although it could before.
    pub fn new(model: &EmbeddedSimulation, count: usize, threads: usize) -> Result<Self, EmbedError> {
        let builder = || ThreadPoolBuilder::new().num_threads(threads).thread_name(|index| format!("batch-{index}"));
        let pool = if threads > 1 { Some(builder().build()?) } else { None };
        let simulations = (0..count.max(1)).map(|_| model.sibling()).collect::<Result<_, _>>()?;
        Ok(Self { simulations, pool })
    }

    /// The simulations.
    pub fn simulations(&self) -> &[EmbeddedSimulation] {
        &self.simulations
    }

    /// A simulation, to change it by itself. Its channels must stay those of the others.
    pub fn simulation_mut(&mut self, index: usize) -> Option<&mut EmbeddedSimulation> {
        self.simulations.get_mut(index)
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.pool.as_ref().map_or(1, ThreadPool::current_num_threads)
    }

    /// Selects the channels of readings and commands by names of devices, in all simulations.
    ///
    /// # Errors
    /// A name is unknown, stands for several devices, or an actuator is none.
    pub fn select(&mut self, sensors: &[String], actuators: &[String]) -> Result<(), EmbedError> {
        let layout = Arc::clone(self.simulations[0].layout());
        let sensors = Channels::named(&layout, sensors.iter().map(String::as_str))?;
        let actuators = Channels::actuators_named(&layout, actuators.iter().map(String::as_str))?;
        self.simulations.iter_mut().for_each(|one| one.select(sensors.clone(), actuators.clone()));
        Ok(())
    }

    /// Commands the selected actuators of all `active` simulations, then makes `count` steps of them. `commands` has a
    /// row for each simulation, as [`EmbeddedSimulation::command`] takes it; `None` commands nothing. A simulation
    /// whose physics has diverged makes no step; see [`EmbeddedSimulation::has_diverged`].
    ///
    /// # Errors
    /// An array has a wrong length, or a command is out of range. The error names the first simulation with such a
    /// command; simulations with one make no step.
    pub fn advance(&mut self, count: u64, commands: Option<&[f64]>, active: &[bool]) -> Result<(), EmbedError> {
        let width = self.simulations[0].actuators().width();
        if let Some(commands) = commands {
            self.check_rows("commands", width, commands.len())?;
        }
        self.for_each_active(active, |index, one| {
            if let Some(commands) = commands {
                one.command(&commands[index * width..][..width])?;
            }
            match one.advance(count) {
                Ok(()) | Err(EmbedError::Diverged { .. }) => Ok(()),
                Err(error) => Err(error),
            }
        })
    }

    /// Copies the readings of all simulations into an array, a row for each.
    ///
    /// # Errors
    /// The array has a wrong length.
    pub fn read(&self, readings: &mut [f64]) -> Result<(), EmbedError> {
        let width = self.simulations[0].sensors().width();
        self.check_rows("readings", width, readings.len())?;
        if width == 0 {
            return Ok(());
        }
        // Copying takes less time than waking a thread.
        self.simulations.iter().zip(readings.chunks_mut(width)).try_for_each(|(one, row)| one.read(row))
    }

    /// Resets the simulations of these places, each once, with the seed beside it; `None` keeps the seed.
    ///
    /// # Errors
    /// The engine cannot represent something in the world, although it could before.
    pub fn reset(&mut self, seeds: &[(usize, Option<u64>)]) -> Result<(), EmbedError> {
        let mut wanted = vec![None; self.simulations.len()];
        for (index, seed) in seeds {
            if let Some(place) = wanted.get_mut(*index) {
                *place = Some(*seed);
            }
        }
        let active: Vec<bool> = wanted.iter().map(Option::is_some).collect();
        self.for_each_active(&active, |index, one| one.reset(wanted[index].flatten()))
    }

    /// Builds the worlds of these places anew, each with its seed and with values of its model replaced. Such a world
    /// shares less with the others.
    ///
    /// # Errors
    /// A path leads nowhere, a value is refused, or the engine cannot represent a world with it.
    pub fn reset_with(&mut self, worlds: &[(usize, Option<u64>, Vec<Parameter>)]) -> Result<(), EmbedError> {
        let mut wanted = vec![None; self.simulations.len()];
        for (index, seed, parameters) in worlds {
            if let Some(place) = wanted.get_mut(*index) {
                *place = Some((*seed, parameters));
            }
        }
        let active: Vec<bool> = wanted.iter().map(Option::is_some).collect();
        self.for_each_active(&active, |index, one| match wanted[index] {
            Some((seed, parameters)) => one.reset_with(seed, parameters),
            None => Ok(()),
        })
    }

    /// Runs `work` on all active simulations, on all threads. Returns the error of the first of them.
    fn for_each_active(
        &mut self,
        active: &[bool],
        work: impl Fn(usize, &mut EmbeddedSimulation) -> Result<(), EmbedError> + Sync,
    ) -> Result<(), EmbedError> {
        self.check_rows("active worlds", 1, active.len())?;
        let work = |(index, one)| match active[index] {
            true => work(index, one).err().map(|error| (index, error)),
            false => None,
        };
        let failed: Vec<(usize, EmbedError)> = match &self.pool {
            None => self.simulations.iter_mut().enumerate().filter_map(work).collect(),
            Some(pool) => {
                let simulations = self.simulations.par_iter_mut().enumerate().with_max_len(1);
                pool.install(|| simulations.filter_map(work).collect())
            }
        };
        match failed.into_iter().next() {
            None => Ok(()),
            Some((index, error)) => Err(EmbedError::InBatch { index, error: Box::new(error) }),
        }
    }

    fn check_rows(&self, what: &'static str, width: usize, got: usize) -> Result<(), EmbedError> {
        let expected = width * self.simulations.len();
        if expected == got { Ok(()) } else { Err(EmbedError::Length { what, expected, got }) }
    }
}
