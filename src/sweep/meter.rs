//! Measures of a case under way.

use simpartner_model::StepIndex;
use simpartner_wire::signal::{Layout, StepRecord};

use super::{
    field::{Field, Limit},
    file::SweepFile,
    measure::{Accumulator, Measured},
};
use crate::{
    recorder::{
        RecorderError,
        inquiry::{Column, Listener, Value},
    },
    sim::Simulation,
};

/// Fields of a case, measured in every step.
pub(super) struct Meter<'s> {
    fields: Vec<(&'s str, Field, StepIndex, Accumulator)>,
    stop: Option<(Field, &'s Limit)>,
}

impl<'s> Meter<'s> {
    pub(super) fn of_case(file: &'s SweepFile, simulation: &Simulation) -> Result<Self, String> {
        let layout: &Layout = simulation.layout();
        let mechanism = &simulation.world().mechanism;
        let joint_name = |joint: &simpartner_model::Joint| match joint.robot {
            Some(robot) => format!("{}/{}", mechanism.robot(robot).name, joint.name),
            None => joint.name.clone(),
        };
        let joints: Vec<String> = mechanism.joints.iter().map(joint_name).collect();
        let mut fields = Vec::new();
        for measure in &file.measures {
            let Measured::Field { field, statistic, from_s } = &measure.of else { continue };
            let place = field.find_in(layout, &joints).map_err(|what| format!("measure {}: {what}", measure.name))?;
            let from = StepIndex(simulation.timestep().steps_in(*from_s));
            fields.push((measure.name.as_str(), place, from, Accumulator::of_statistic(*statistic)));
        }
        let stop = file.stop.as_ref().map(|limit| Ok::<_, String>((limit.field.find_in(layout, &joints)?, limit)));
        Ok(Self { fields, stop: stop.transpose().map_err(|what| format!("stop: {what}"))? })
    }

    /// Adds a step; true if the case ends with it.
    pub(super) fn add_step(&mut self, record: &StepRecord) -> bool {
        for (_, field, from, accumulator) in &mut self.fields {
            if record.step > *from {
                accumulator.add_value(field.value_in(record));
            }
        }
        self.stop.is_some_and(|(field, limit)| limit.is_passed(field.value_in(record)))
    }

    pub(super) fn final_values(&self, timestep_s: f64) -> Vec<(String, Option<f64>)> {
        self.fields.iter().map(|(name, .., value)| ((*name).to_owned(), value.final_value(timestep_s))).collect()
    }
}

/// True if a measure or the end of a case needs the fields of every step.
pub(super) fn has_fields(file: &SweepFile) -> bool {
    file.stop.is_some() || file.measures.iter().any(|measure| matches!(measure.of, Measured::Field { .. }))
}

/// Receives the first value of the first row of a query.
#[derive(Default)]
pub(super) struct FirstNumber(Option<Option<f64>>);

impl FirstNumber {
    /// The value; `None` if there is no row, or if the value is not a number.
    pub(super) fn into_number(self) -> Option<f64> {
        self.0.flatten()
    }
}

impl Listener for FirstNumber {
    type Error = RecorderError;

    fn columns(&mut self, _: &[Column]) -> Result<(), RecorderError> {
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), RecorderError> {
        self.0.get_or_insert(row.first().and_then(Value::number));
        Ok(())
    }
}
