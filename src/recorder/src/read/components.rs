//! The bodies, joints and devices of a run, with their numbers and names.

use super::{inquiry::Inquiry, selection::Selection};
use crate::{
    database::error::RecorderError,
    format::{component::ComponentKind, schema::TableId, value::Value},
};

/// A body, joint or device of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// Body, joint or device.
    pub kind: ComponentKind,
    /// Number in the log: the bodyID, jointID or componentID.
    pub number: i64,
    /// Name, as `robot/name`, or the name alone if the component belongs to no robot.
    pub name: String,
    /// Names and units of a device's fields; empty for bodies and joints.
    pub fields: Vec<(String, String)>,
}

impl Inquiry {
    /// All bodies, joints and devices of a run, in the order of their numbers.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn components(&mut self, run: i64) -> Result<Vec<Component>, RecorderError> {
        let mut robots: Vec<(i64, String)> = Vec::new();
        self.for_each_row_of(run, TableId::Robot, &["robotID", "name"], |row| {
            robots.push((integer_at(row, 0), row[1].text().to_owned()))
        })?;
        let full = |robot: &Value, name: &Value| {
            let robot = robot.integer().and_then(|robot| robots.iter().find(|(number, _)| *number == robot));
            robot.map_or(name.text().to_owned(), |(_, robot)| format!("{robot}/{}", name.text()))
        };
        let mut found = Vec::new();
        let tables =
            [(ComponentKind::Body, TableId::Body, "bodyID"), (ComponentKind::Joint, TableId::Joint, "jointID")];
        for (kind, table, key) in tables {
            self.for_each_row_of(run, table, &[key, "robotID", "name"], |row| {
                let name = full(&row[1], &row[2]);
                found.push(Component { kind, number: integer_at(row, 0), name, fields: Vec::new() });
            })?;
        }
        let mut devices: Vec<Component> = Vec::new();
        self.for_each_row_of(run, TableId::RobotComponent, &["componentID", "robotID", "name", "type"], |row| {
            if matches!(row[3].text(), "SENSOR" | "ACTUATOR") {
                let name = full(&row[1], &row[2]);
                devices.push(Component {
                    kind: ComponentKind::Device,
                    number: integer_at(row, 0),
                    name,
                    fields: Vec::new(),
                });
            }
        })?;
        self.for_each_row_of(run, TableId::DeviceField, &["componentID", "field", "unit"], |row| {
            let owner = integer_at(row, 0);
            if let Some(device) = devices.iter_mut().find(|device| device.number == owner) {
                device.fields.push((row[1].text().to_owned(), row[2].text().to_owned()));
            }
        })?;
        found.extend(devices);
        Ok(found)
    }

    /// Calls `take` with the values of these columns of each row of a run in a table.
    fn for_each_row_of(
        &mut self,
        run: i64,
        table: TableId,
        columns: &[&str],
        mut take: impl FnMut(&[Value]),
    ) -> Result<(), RecorderError> {
        self.rows(&Selection::all(table.table(), run), columns, |row| {
            take(row);
            Ok(())
        })
    }
}

fn integer_at(row: &[Value], index: usize) -> i64 {
    row[index].integer().unwrap_or(0)
}
