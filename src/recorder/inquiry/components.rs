//! What a run's numbers stand for: its bodies, joints and devices by name.

use super::{Inquiry, Selection, TABLES, Table, Value};
use crate::recorder::RecorderError;

/// Which kind of component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A body, of a robot or an object.
    Body,
    /// A joint.
    Joint,
    /// A sensor or an actuator.
    Device,
}

/// A body, joint or device of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// Which kind.
    pub part: Part,
    /// Its number: the bodyID, jointID or componentID.
    pub number: i64,
    /// Its robot and its name, or the name alone of what belongs to no robot.
    pub name: String,
    /// Names and units of a device's numbers.
    pub fields: Vec<(String, String)>,
}

impl Inquiry {
    /// Everything of a run that has a number, in the order of the numbers.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn components(&mut self, run: i64) -> Result<Vec<Component>, RecorderError> {
        let mut robots: Vec<(i64, String)> = Vec::new();
        self.named(run, "robot", &["robotID", "name"], |row| robots.push((number(row, 0), row[1].text().to_owned())))?;
        let full = |robot: &Value, name: &Value| {
            let robot = robot.integer().and_then(|robot| robots.iter().find(|(number, _)| *number == robot));
            robot.map_or(name.text().to_owned(), |(_, robot)| format!("{robot}/{}", name.text()))
        };
        let mut found = Vec::new();
        for (part, table, key) in [(Part::Body, "body", "bodyID"), (Part::Joint, "joint", "jointID")] {
            self.named(run, table, &[key, "robotID", "name"], |row| {
                let name = full(&row[1], &row[2]);
                found.push(Component { part, number: number(row, 0), name, fields: Vec::new() });
            })?;
        }
        let mut devices: Vec<Component> = Vec::new();
        self.named(run, "robotComponent", &["componentID", "robotID", "name", "type"], |row| {
            if matches!(row[3].text(), "SENSOR" | "ACTUATOR") {
                let name = full(&row[1], &row[2]);
                devices.push(Component { part: Part::Device, number: number(row, 0), name, fields: Vec::new() });
            }
        })?;
        self.named(run, "deviceField", &["componentID", "field", "unit"], |row| {
            let owner = number(row, 0);
            if let Some(device) = devices.iter_mut().find(|device| device.number == owner) {
                device.fields.push((row[1].text().to_owned(), row[2].text().to_owned()));
            }
        })?;
        found.extend(devices);
        Ok(found)
    }

    fn named(
        &mut self,
        run: i64,
        table: &str,
        columns: &[&str],
        mut take: impl FnMut(&[Value]),
    ) -> Result<(), RecorderError> {
        let table = Table::named(table).unwrap_or(&TABLES[0]);
        self.rows(&Selection::all(table, run), columns, |row| {
            take(row);
            Ok(())
        })
    }
}

fn number(row: &[Value], index: usize) -> i64 {
    row[index].integer().unwrap_or(0)
}
