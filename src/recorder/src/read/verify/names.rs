//! Names of a run's robots and components, for findings.

use crate::{
    database::error::RecorderError,
    format::{component::ComponentKind, schema::TableId},
    read::{inquiry::Inquiry, selection::Selection},
};

/// Names of a run's robots, bodies, joints and devices.
pub(super) struct Names {
    robots: Vec<String>,
    /// Lowest number of a component.
    first: i64,
    /// Numbers and names of the components, sorted by number.
    components: Vec<(i64, String)>,
}

impl Names {
    pub(super) fn read(inquiry: &mut Inquiry, run: i64) -> Result<Self, RecorderError> {
        let mut robots = Vec::new();
        inquiry.rows(&Selection::all(TableId::Robot.table(), run), &["name"], |row| {
            robots.push(row[0].text().to_owned());
            Ok::<_, RecorderError>(())
        })?;
        let components = inquiry.components(run)?.into_iter().map(|component| {
            let noun = match component.kind {
                ComponentKind::Body => "body",
                ComponentKind::Joint => "joint",
                ComponentKind::Device => "device",
            };
            (component.number, format!("{noun} {}", component.name))
        });
        let mut components: Vec<(i64, String)> = components.collect();
        components.sort();
        Ok(Self { robots, first: components.first().map_or(0, |first| first.0), components })
    }

    /// Name of the subject of a row: the component, robot, file or step that the row describes. `number` counts within
    /// the run.
    pub(super) fn subject(&self, table: TableId, number: u32) -> String {
        let known = match table {
            TableId::SimulationFile => return format!("file {number}"),
            TableId::ModelParameter => return format!("parameter {number}"),
            TableId::Command | TableId::Event | TableId::Snapshot => return format!("step {number}"),
            TableId::Robot => self.robots.get(number as usize).map(|name| format!("robot {name}")),
            _ => {
                let stored = self.first.wrapping_add(i64::from(number));
                let place = self.components.binary_search_by_key(&stored, |component| component.0);
                place.ok().map(|place| self.components[place].1.clone())
            }
        };
        known.unwrap_or_else(|| format!("number {number}"))
    }
}
