//! A run as one MCAP file that Foxglove and PlotJuggler open: messages as JSON, each channel with its schema, at times of the
//! simulation.
//!
//! `/tf` has the frames of all bodies and `/scene` their shapes, in the schemas that Foxglove draws; `/body/..`, `/joint/..` and
//! `/device/..` have plain numbers under their names for plots; `/command` has what was commanded and `/event` what happened. The
//! world's y axis points up and a viewer's z axis does, so a frame `map` stands above `world` and is turned.

mod scene;
mod schema;

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
    fs::File,
    io::BufWriter,
    rc::Rc,
};

use mcap::{Compression, WriteOptions, Writer, records::MessageHeader};
use serde_json::json;

use super::{Exported, Order};
use crate::{
    analysis::{AnalysisError, Progress, answer::real, orientation, unfinished::Unfinished},
    model::SourceFile,
    recorder::{
        Inquiry,
        inquiry::{Component, Selection, Table, Value},
    },
    xml,
};

/// Steps whose messages are held until they are in the order of time.
const STRETCH: u64 = 256;

/// Writes the run.
pub(super) fn export(
    inquiry: &mut Inquiry,
    order: &Order<'_>,
    progress: &mut dyn Progress,
) -> Result<Exported, AnalysisError> {
    if !order.tables.is_empty() {
        let text =
            "--tables chooses files of csv and parquet; an MCAP file has its channels, and a viewer chooses of them";
        return Err(AnalysisError::Question(text.into()));
    }
    let world = xml::read_kept(&sources(inquiry, order)?)?;
    let unfinished = Unfinished::new(order.output, None, order.force)?;
    let options = WriteOptions::new().compression(Some(Compression::Zstd)).compression_threads(0);
    let options = options.library(concat!("simpartner ", env!("CARGO_PKG_VERSION")));
    let writer = Writer::with_options(BufWriter::new(unfinished.create()?), options)?;
    let components = inquiry.components(order.run.simulation_id)?;
    let components = components.into_iter().map(|component| (component.number, Rc::new(component))).collect();
    let (topics, channels, pending) = (HashMap::new(), Vec::new(), Vec::new());
    let mut film = Film { writer, order, components, topics, channels, pending };
    let (from, to) = order.steps;
    film.scene(&world, from)?;
    let last = order.run.steps.map_or(from, |steps| steps.1).clamp(from, to);
    progress.begin("steps", last - from + 1);
    for start in (from..=last).step_by(STRETCH as usize) {
        progress.reach(start - from);
        // What happened after the last logged step belongs to the last stretch.
        let end = if start + STRETCH > last { to } else { start + STRETCH - 1 };
        film.stretch(inquiry, (start, end))?;
    }
    film.writer.finish()?;
    let counts = film.channels.into_iter().map(|channel| (channel.topic, channel.messages)).collect();
    progress.reach(last - from + 1);
    // The file is closed before it is moved.
    drop(film.writer);
    Ok(Exported { place: unfinished.finish()?, counts })
}

/// The texts of the run's model.
fn sources(inquiry: &mut Inquiry, order: &Order<'_>) -> Result<Vec<SourceFile>, AnalysisError> {
    let mut found = Vec::new();
    let selection = Selection::all(table("simulationFile")?, order.run.simulation_id);
    inquiry.rows(&selection, &["role", "path", "text"], |row| {
        if row[0].text() == "model" {
            found.push(SourceFile { path: row[1].text().to_owned(), text: row[2].text().to_owned() });
        }
        Ok::<_, AnalysisError>(())
    })?;
    Ok(found)
}

fn table(name: &str) -> Result<&'static Table, AnalysisError> {
    Table::named(name).ok_or_else(|| AnalysisError::Question(format!("the log has no table {name}")))
}

/// The file being written.
struct Film<'a> {
    writer: Writer<BufWriter<File>>,
    order: &'a Order<'a>,
    components: HashMap<i64, Rc<Component>>,
    /// Places in `channels` by topic.
    topics: HashMap<String, usize>,
    /// They come into being with their first message.
    channels: Vec<Channel>,
    /// Messages of the present stretch: step, place of the channel, text.
    pending: Vec<(u64, usize, String)>,
}

struct Channel {
    topic: String,
    id: u16,
    messages: u64,
}

/// Columns of the plain numbers of a body and of a joint, with their units.
const BODY: &[(&str, &str)] = &[
    ("x", "m"),
    ("y", "m"),
    ("z", "m"),
    ("axis_x", "1"),
    ("axis_y", "1"),
    ("axis_z", "1"),
    ("angle", "rad"),
    ("v_x", "m/s"),
    ("v_y", "m/s"),
    ("v_z", "m/s"),
    ("omega_x", "rad/s"),
    ("omega_y", "rad/s"),
    ("omega_z", "rad/s"),
    ("F_x", "N"),
    ("F_y", "N"),
    ("F_z", "N"),
    ("T_x", "N m"),
    ("T_y", "N m"),
    ("T_z", "N m"),
];
const JOINT: &[(&str, &str)] = &[
    ("anchorx", "m"),
    ("anchory", "m"),
    ("anchorz", "m"),
    ("position_1", "rad or m"),
    ("position_2", "rad or m"),
    ("position_3", "rad or m"),
    ("rate_1", "rad/s or m/s"),
    ("rate_2", "rad/s or m/s"),
    ("rate_3", "rad/s or m/s"),
    ("effort_1", "N m or N"),
    ("effort_2", "N m or N"),
    ("effort_3", "N m or N"),
    ("F_x", "N"),
    ("F_y", "N"),
    ("F_z", "N"),
    ("T_x", "N m"),
    ("T_y", "N m"),
    ("T_z", "N m"),
];

impl Film<'_> {
    /// Adds a message to those of its stretch.
    fn say(
        &mut self,
        step: u64,
        topic: &str,
        schema: impl FnOnce() -> (String, serde_json::Value),
        text: String,
    ) -> Result<(), AnalysisError> {
        let place = match self.topics.get(topic) {
            Some(&place) => place,
            None => {
                let (name, schema) = schema();
                let schema = self.writer.add_schema(&name, "jsonschema", schema.to_string().as_bytes())?;
                let id = self.writer.add_channel(schema, topic, "json", &BTreeMap::new())?;
                let place = self.channels.len();
                self.topics.insert(topic.to_owned(), place);
                self.channels.push(Channel { topic: topic.to_owned(), id, messages: 0 });
                place
            }
        };
        self.pending.push((step, place, text));
        Ok(())
    }

    /// Writes the messages of a stretch in the order of their time.
    fn flush(&mut self) -> Result<(), AnalysisError> {
        self.pending.sort_by_key(|message| message.0);
        for (step, place, text) in self.pending.drain(..) {
            let time = step * self.order.run.timestep.nanoseconds();
            let channel = &mut self.channels[place];
            let (channel_id, sequence) = (channel.id, channel.messages as u32);
            let header = MessageHeader { channel_id, sequence, log_time: time, publish_time: time };
            self.writer.write_to_known_channel(&header, text.as_bytes())?;
            channel.messages += 1;
        }
        Ok(())
    }

    /// The shapes of all bodies, each in its own frame, and the frame above the world's.
    fn scene(&mut self, world: &crate::model::World, step: u64) -> Result<(), AnalysisError> {
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let up = json!({ "x": half, "y": 0.0, "z": 0.0, "w": half });
        let frame = json!({ "timestamp": self.time(step), "parent_frame_id": "map", "child_frame_id": "world",
            "translation": { "x": 0.0, "y": 0.0, "z": 0.0 }, "rotation": up });
        self.say(step, "/tf", schema::transforms, json!({ "transforms": [frame] }).to_string())?;
        let scene = scene::update(world, self.time(step));
        self.say(step, "/scene", schema::scene, scene.to_string())?;
        self.flush()
    }

    fn time(&self, step: u64) -> serde_json::Value {
        let time = step * self.order.run.timestep.nanoseconds();
        json!({ "sec": time / 1_000_000_000, "nsec": time % 1_000_000_000 })
    }

    fn stretch(&mut self, inquiry: &mut Inquiry, steps: (u64, u64)) -> Result<(), AnalysisError> {
        self.bodies(inquiry, steps)?;
        self.joints(inquiry, steps)?;
        self.readings(inquiry, steps)?;
        self.commands(inquiry, steps)?;
        self.events(inquiry, steps)?;
        self.flush()
    }

    fn selection(&self, name: &str, steps: (u64, u64)) -> Result<Selection, AnalysisError> {
        let all = Selection::all(table(name)?, self.order.run.simulation_id);
        Ok(Selection { steps: Some(steps), every: self.order.every, ..all })
    }

    fn name(&self, number: &Value) -> String {
        let component = number.integer().and_then(|number| self.components.get(&number));
        component.map_or(String::new(), |component| component.name.clone())
    }

    fn bodies(&mut self, inquiry: &mut Inquiry, steps: (u64, u64)) -> Result<(), AnalysisError> {
        let columns: Vec<&str> = ["step", "bodyID"].into_iter().chain(BODY.iter().map(|column| column.0)).collect();
        // The frames of a step go into one message.
        let mut frames: Option<(u64, String)> = None;
        inquiry.rows::<AnalysisError>(&self.selection("body_state", steps)?, &columns, |row| {
            let (step, name) = (step(row), self.name(&row[1]));
            if frames.as_ref().is_some_and(|(before, _)| *before != step) {
                self.frames(frames.take())?;
            }
            let (_, frames) = frames.get_or_insert_with(|| (step, String::new()));
            self.frame(frames, step, &name, &row[2..]);
            let about = || (format!("simpartner.Body {name}"), schema::numbers(BODY.iter().copied()));
            let text = numbers(BODY.iter().map(|column| column.0).zip(&row[2..]));
            self.say(step, &format!("/body/{name}"), about, text)
        })?;
        self.frames(frames)
    }

    /// Adds the frame of a body, if its place is one.
    fn frame(&self, frames: &mut String, step: u64, name: &str, row: &[Value]) {
        let all: Vec<f64> = row[..7].iter().filter_map(Value::number).collect();
        let &[x, y, z, a, b, c, angle] = &all[..] else { return };
        let turn = orientation::quaternion([a, b, c, angle]);
        let comma = if frames.is_empty() { "" } else { "," };
        let (time, name) = (self.time(step), json!(name));
        let place = format!(r#"{{"x":{x:?},"y":{y:?},"z":{z:?}}}"#);
        let turn = format!(r#"{{"x":{:?},"y":{:?},"z":{:?},"w":{:?}}}"#, turn.x, turn.y, turn.z, turn.w);
        // Writing to a string cannot fail.
        let _ = write!(
            frames,
            r#"{comma}{{"timestamp":{time},"parent_frame_id":"world","child_frame_id":{name},"translation":{place},"rotation":{turn}}}"#
        );
    }

    fn frames(&mut self, frames: Option<(u64, String)>) -> Result<(), AnalysisError> {
        let Some((step, frames)) = frames else { return Ok(()) };
        self.say(step, "/tf", schema::transforms, format!(r#"{{"transforms":[{frames}]}}"#))
    }

    fn joints(&mut self, inquiry: &mut Inquiry, steps: (u64, u64)) -> Result<(), AnalysisError> {
        let columns: Vec<&str> = ["step", "jointID"].into_iter().chain(JOINT.iter().map(|column| column.0)).collect();
        inquiry.rows(&self.selection("jointPose", steps)?, &columns, |row| {
            let name = self.name(&row[1]);
            let about = || (format!("simpartner.Joint {name}"), schema::numbers(JOINT.iter().copied()));
            let text = numbers(JOINT.iter().map(|column| column.0).zip(&row[2..]));
            self.say(step(row), &format!("/joint/{name}"), about, text)
        })
    }

    fn readings(&mut self, inquiry: &mut Inquiry, steps: (u64, u64)) -> Result<(), AnalysisError> {
        // The numbers of a reading are rows one after the other.
        let mut reading: Vec<(String, Value)> = Vec::new();
        let mut of: Option<(u64, i64)> = None;
        let columns = ["step", "componentID", "field", "value"];
        inquiry.rows::<AnalysisError>(&self.selection("sensorReading", steps)?, &columns, |row| {
            let whose = Some((step(row), row[1].integer().unwrap_or(0)));
            if of != whose {
                self.reading(of, std::mem::take(&mut reading))?;
                of = whose;
            }
            reading.push((row[2].text().to_owned(), row[3].clone()));
            Ok(())
        })?;
        self.reading(of, reading)
    }

    fn reading(&mut self, of: Option<(u64, i64)>, reading: Vec<(String, Value)>) -> Result<(), AnalysisError> {
        let Some((step, number)) = of else { return Ok(()) };
        let Some(device) = self.components.get(&number).map(Rc::clone) else { return Ok(()) };
        let about = || {
            let fields = device.fields.iter().map(|(field, unit)| (field.as_str(), unit.as_str()));
            (format!("simpartner.Reading {}", device.name), schema::numbers(fields))
        };
        let text = numbers(reading.iter().map(|(field, value)| (field.as_str(), value)));
        self.say(step, &format!("/device/{}", device.name), about, text)
    }

    fn commands(&mut self, inquiry: &mut Inquiry, steps: (u64, u64)) -> Result<(), AnalysisError> {
        let columns = ["step", "componentID", "client", "text", "reply"];
        inquiry.rows(&self.selection("command", steps)?, &columns, |row| {
            let (device, client) = (self.name(&row[1]), row[2].integer());
            let text = json!({ "device": device, "client": client, "text": row[3].text(), "reply": row[4].text() });
            self.say(step(row), "/command", schema::command, text.to_string())
        })
    }

    fn events(&mut self, inquiry: &mut Inquiry, steps: (u64, u64)) -> Result<(), AnalysisError> {
        let columns = ["step", "kind", "subject", "text"];
        inquiry.rows(&self.selection("event", steps)?, &columns, |row| {
            let step = step(row);
            let message = format!("{} {}", row[2].text(), row[3].text());
            // Level 2 is information.
            let text = json!({ "timestamp": self.time(step), "level": 2, "message": message.trim(),
                "name": row[1].text(), "file": "", "line": 0 });
            self.say(step, "/event", schema::log, text.to_string())
        })
    }
}

fn step(row: &[Value]) -> u64 {
    row[0].integer().unwrap_or(0) as u64
}

/// An object of numbers; what is not finite is null.
fn numbers<'a>(fields: impl Iterator<Item = (&'a str, &'a Value)>) -> String {
    let mut text = String::from("{");
    for (index, (name, value)) in fields.enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let number = value.number().filter(|number| number.is_finite()).map_or("null".into(), real);
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}{}:{number}", json!(name));
    }
    text.push('}');
    text
}
