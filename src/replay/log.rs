//! The parts of a log that describe a run as a whole: its provenance, its source texts, its devices.

use std::collections::HashMap;

use simpartner_description::SourceFile;
use simpartner_model::{BodyId, DeviceId, StepIndex};
use simpartner_wire::signal::Target;

use super::error::ReplayError;
use crate::{
    recorder::{
        Inquiry, RecordedRun, RecorderError, SOURCE_COLUMNS,
        inquiry::{ComponentKind, Selection, Table},
        source_file,
    },
    sim::Simulation,
};

/// Largest number of steps that may be missing between two logged ones of a short log. A row beyond that counts as
/// damaged, since a replay would take hours to get there.
const MAX_MISSING_STEPS: u64 = 1_000_000;

/// Provenance of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct Provenance {
    /// Identity of the engine: name, version and features.
    pub(super) engine: String,
    /// Version of the program.
    pub(super) program: String,
    /// Target that the program was built for.
    pub(super) target: String,
    /// The step after which this run continues another run; `None` if it starts from the model. A fork continues a run,
    /// and so does the run of an edited world.
    pub(super) goes_on_from: Option<StepIndex>,
    /// The last step; for a run that was cut off, the last logged step.
    pub(super) last: StepIndex,
    /// The last step made, and the head of the chain after it; `None` if steps are missing in the log.
    end: Option<(StepIndex, u64)>,
}

/// The texts that a run was made from.
#[derive(Debug)]
pub(super) struct SourceTexts {
    /// Files of the model.
    pub(super) model: Vec<SourceFile>,
    /// Text of the properties.
    pub(super) properties: String,
}

impl Provenance {
    pub(super) fn read(inquiry: &mut Inquiry, run: &RecordedRun) -> Result<Self, ReplayError> {
        let logged = last_logged(inquiry, run)?;
        let columns = [
            "engine",
            "engine_version",
            "engine_features",
            "program_version",
            "target",
            "parent_step",
            "steps",
            "chain_head",
            "gaps",
        ];
        let table = Table::named("simulation").expect("the log has this table");
        let mut found = Self::default();
        inquiry.rows(&Selection::all(table, run.simulation_id), &columns, |row| {
            let step = |column: usize| row[column].integer().map(|step| StepIndex(step as u64));
            let head = row[7].integer().filter(|_| row[8].integer() == Some(0)).map(|head| head as u64);
            found = Self {
                engine: format!("{} {} ({})", row[0].text(), row[1].text(), row[2].text()),
                program: row[3].text().to_owned(),
                target: row[4].text().to_owned(),
                goes_on_from: step(5),
                // The run cannot have reached the next step that would be logged, whatever its row says.
                last: step(6).map_or(logged, |made| made.min(StepIndex(run.cadence.next(logged.0) - 1))),
                end: step(6).zip(head),
            };
            Ok::<_, RecorderError>(())
        })?;
        Ok(found)
    }

    /// Head of the chain after a step, if that is the run's last step. The run's row has it even if the step is not
    /// logged.
    pub(super) fn head_after(&self, step: StepIndex) -> Option<u64> {
        self.end.filter(|(end, _)| *end == step).map(|(_, head)| head)
    }
}

/// The last step that is logged.
fn last_logged(inquiry: &mut Inquiry, run: &RecordedRun) -> Result<StepIndex, ReplayError> {
    let Some((first, last)) = run.steps else { return Ok(StepIndex(run.origin.unwrap_or(0))) };
    let table = Table::named("simulationRow").expect("the log has this table");
    let steps = inquiry.count(&Selection::all(table, run.simulation_id))?;
    let expected = run.cadence.span(first, steps);
    if last - first > expected.saturating_mul(2).saturating_add(MAX_MISSING_STEPS) {
        return Err(ReplayError::MisplacedRow { run: run.simulation_id, step: StepIndex(last), logged: steps });
    }
    Ok(StepIndex(last))
}

impl SourceTexts {
    pub(super) fn read(inquiry: &mut Inquiry, run: i64) -> Result<Self, RecorderError> {
        let table = Table::named("simulationFile").expect("the log has this table");
        let mut texts = Self { model: Vec::new(), properties: String::new() };
        let [path, text, content, hash] = SOURCE_COLUMNS;
        inquiry.rows(&Selection::all(table, run), &["role", path, text, content, hash], |row| {
            let file = source_file([&row[1], &row[2], &row[3], &row[4]])?;
            match row[0].text() {
                "model" => texts.model.push(file),
                _ => texts.properties = file.text().to_owned(),
            }
            Ok::<_, RecorderError>(())
        })?;
        Ok(texts)
    }
}

/// Targets of commands, by the numbers of their components in the log. The log lists bodies and devices in the order of
/// the model. If log and model name different components, one of them was changed after the run.
pub(super) fn match_targets(
    inquiry: &mut Inquiry,
    run: &RecordedRun,
    simulation: &Simulation,
) -> Result<HashMap<i64, Target>, ReplayError> {
    let (layout, number) = (simulation.layout(), run.simulation_id);
    let components = inquiry.components(number)?;
    let of = |kind: ComponentKind| components.iter().filter(move |component| component.kind == kind);
    let differ = |what: String| ReplayError::OtherModel { run: number, what };
    let counts = [
        ("bodies", of(ComponentKind::Body).count(), layout.bodies()),
        ("joints", of(ComponentKind::Joint).count(), layout.joints()),
    ];
    if let Some((what, logged, modelled)) = counts.into_iter().find(|(_, logged, modelled)| logged != modelled) {
        return Err(differ(format!("the tables have {logged} {what}, and the model {modelled}")));
    }
    let mut logged = of(ComponentKind::Device);
    let bodies = of(ComponentKind::Body).enumerate();
    let mut found: HashMap<i64, Target> =
        bodies.map(|(index, body)| (body.number, Target::Body(BodyId::new(index)))).collect();
    for (index, info) in layout.devices().iter().enumerate() {
        let name = format!("{}/{}", info.robot, info.name);
        match logged.next() {
            Some(device) if device.name == name => found.insert(device.number, DeviceId::new(index).into()),
            Some(device) => {
                return Err(differ(format!("the tables have the device {} where the model has {name}", device.name)));
            }
            None => return Err(differ(format!("the tables lack the device {name} of the model"))),
        };
    }
    match logged.next() {
        Some(device) => Err(differ(format!("the model lacks the device {} of the tables", device.name))),
        None => Ok(found),
    }
}
