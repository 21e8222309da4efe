//! Exports a run as one MCAP file that Foxglove and PlotJuggler open: messages are JSON, each channel has its schema, and times are simulated
//! times.
//!
//! `/tf` has the frames of all bodies and `/scene` their shapes, in the schemas that Foxglove draws; `/body/..` and `/joint/..` have
//! plain numbers under their names for plots, `/device/..` readings in the schemas that Foxglove has for them (`readings`);
//! `/command` has the commands and `/event` the events. The world's y axis points up and a viewer's z axis does, so `world` is rotated in
//! a parent frame `map`.

mod json;
mod readings;
mod scene;
mod schema;

use std::{
    cell::Cell,
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
    fs::File,
    io::BufWriter,
    ops::Range,
    rc::Rc,
};

use mcap::{Compression, WriteOptions, Writer, records::MessageHeader};
use serde_json::json;
use simpartner_description::{SourceFile, World, xml};
use simpartner_wire::signal::EventKind;

use self::readings::Readings;
use super::order::{Exported, Order};
use crate::{AnalysisError, Progress, orientation, partial_output::PartialOutput, table};
use simpartner_recorder::{
    Inquiry, SOURCE_COLUMNS,
    inquiry::{Component, ComponentKind, Selection, Value, parse_numbers},
    source_file,
};

/// Logged steps whose messages are in memory until they are sorted by time: some megabytes for a robot.
const CHUNK: u64 = 256;

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
    let output = PartialOutput::new(order.output, None, order.force)?;
    // Reading, writing JSON and compressing take about as long, and each has a thread. Higher levels take several times longer for a tenth.
    let options = WriteOptions::new().compression(Some(Compression::Zstd)).compression_level(1).compression_threads(1);
    let options = options.library(concat!("simpartner ", env!("CARGO_PKG_VERSION")));
    let writer =
        Writer::with_options(BufWriter::with_capacity(super::table_writer::WRITE_BUFFER, output.create()?), options)?;
    let parts = parts(&world, inquiry.components(order.run.simulation_id)?);
    let (topics, channels) = (HashMap::new(), Vec::new());
    let mut file = McapWriter { writer, order, parts, topics, channels, pending: Vec::new(), texts: String::new() };
    let (from, to) = order.steps;
    file.scene(&world, from)?;
    let last = order.run.steps.map_or(from, |steps| steps.1).clamp(from, to);
    progress.begin("steps", last - from + 1);
    let mut start = from;
    while start <= last {
        progress.reach(start - from);
        // What happened after the last logged step belongs to the last chunk.
        let end = inquiry.chunk_end(order.run.simulation_id, (start, to), CHUNK)?;
        file.chunk(inquiry, (start, end))?;
        start = end + 1;
    }
    file.writer.finish()?;
    let counts = file.channels.into_iter().map(|channel| (channel.topic, channel.messages)).collect();
    progress.reach(last - from + 1);
    // The file is closed before it is moved.
    drop(file.writer);
    Ok(Exported { place: output.finish()?, counts })
}

/// The components by their numbers.
fn parts(world: &World, components: Vec<Component>) -> HashMap<i64, Rc<Named>> {
    let mut devices = world.devices.iter();
    let named = |component: Component| {
        // The log has them in the order of the model.
        let device = if component.kind == ComponentKind::Device { devices.next() } else { None };
        let folder = match component.kind {
            ComponentKind::Body => "body",
            ComponentKind::Joint => "joint",
            ComponentKind::Device => "device",
        };
        let named = Named {
            topic: format!("/{folder}/{}", component.name),
            quoted: json::quoted(&component.name),
            readings: device.map(|device| Readings::new(world, device, &component)),
            places: component.fields.iter().enumerate().map(|(place, (field, _))| (field.clone(), place)).collect(),
            channel: Cell::new(None),
            component,
        };
        (named.component.number, Rc::new(named))
    };
    components.into_iter().map(named).collect()
}

/// The files of the run's model.
fn sources(inquiry: &mut Inquiry, order: &Order<'_>) -> Result<Vec<SourceFile>, AnalysisError> {
    let mut found = Vec::new();
    let selection = Selection::all(table("simulationFile")?, order.run.simulation_id);
    let [path, text, content, hash] = SOURCE_COLUMNS;
    inquiry.rows(&selection, &["role", path, text, content, hash], |row| {
        if row[0].text() == "model" {
            found.push(source_file([&row[1], &row[2], &row[3], &row[4]])?);
        }
        Ok::<_, AnalysisError>(())
    })?;
    Ok(found)
}

/// The file being written.
struct McapWriter<'a> {
    writer: Writer<BufWriter<File>>,
    order: &'a Order<'a>,
    parts: HashMap<i64, Rc<Named>>,
    /// Places in `channels` by topic.
    topics: HashMap<String, usize>,
    /// A channel is created with its first message.
    channels: Vec<Channel>,
    /// Messages of the present chunk: step, index of the channel, place of the text in `texts`.
    pending: Vec<(u64, usize, Range<usize>)>,
    texts: String,
}

/// A body, joint or device, with the texts that its messages repeat.
struct Named {
    component: Component,
    topic: String,
    quoted: String,
    /// Of a device.
    readings: Option<Readings>,
    /// The places of its fields in its reading.
    places: HashMap<String, usize>,
    /// Its channel's place, once it has one.
    channel: Cell<Option<usize>>,
}

struct Channel {
    topic: String,
    id: u16,
    messages: u64,
}

/// The columns behind the step and the component in a table of states, with their units.
struct State {
    table: &'static str,
    /// The column of the component's number.
    number: &'static str,
    columns: Vec<(&'static str, &'static str)>,
    /// The names of the columns as JSON.
    names: Vec<String>,
}

impl State {
    fn of(table: &'static str, number: &'static str) -> Result<Self, AnalysisError> {
        let columns = self::table(table)?.columns().skip(2);
        let columns: Vec<_> = columns.map(|(name, columns)| (name, columns.unit())).collect();
        let names = columns.iter().map(|(name, _)| json::quoted(name)).collect();
        Ok(Self { table, number, columns, names })
    }

    /// The step, the component's number and the columns.
    fn asked(&self) -> Vec<&'static str> {
        ["step", self.number].into_iter().chain(self.columns.iter().map(|(name, _)| *name)).collect()
    }
}

impl McapWriter<'_> {
    /// The place of a topic's channel; `schema` tells the name and text of its schema when its first message comes.
    fn channel(
        &mut self,
        topic: &str,
        schema: impl FnOnce() -> (String, serde_json::Value),
    ) -> Result<usize, AnalysisError> {
        if let Some(&place) = self.topics.get(topic) {
            return Ok(place);
        }
        let (name, schema) = schema();
        let schema = self.writer.add_schema(&name, "jsonschema", schema.to_string().as_bytes())?;
        let id = self.writer.add_channel(schema, topic, "json", &BTreeMap::new())?;
        let place = self.channels.len();
        self.topics.insert(topic.to_owned(), place);
        self.channels.push(Channel { topic: topic.to_owned(), id, messages: 0 });
        Ok(place)
    }

    /// The same for a body, joint or device.
    fn channel_of(
        &mut self,
        part: &Named,
        schema: impl FnOnce() -> (String, serde_json::Value),
    ) -> Result<usize, AnalysisError> {
        let place = match part.channel.get() {
            Some(place) => place,
            None => self.channel(&part.topic, schema)?,
        };
        part.channel.set(Some(place));
        Ok(place)
    }

    /// Adds a message to those of its chunk.
    fn add_message(&mut self, step: u64, channel: usize, write: impl FnOnce(&mut String)) {
        let start = self.texts.len();
        write(&mut self.texts);
        self.pending.push((step, channel, start..self.texts.len()));
    }

    /// Writes the messages of a chunk in the order of their time.
    fn flush(&mut self) -> Result<(), AnalysisError> {
        self.pending.sort_by_key(|message| message.0);
        for (step, place, range) in self.pending.drain(..) {
            let time = step * self.order.run.timestep.nanoseconds();
            let channel = &mut self.channels[place];
            let (channel_id, sequence) = (channel.id, channel.messages as u32);
            let header = MessageHeader { channel_id, sequence, log_time: time, publish_time: time };
            self.writer.write_to_known_channel(&header, self.texts[range].as_bytes())?;
            channel.messages += 1;
        }
        self.texts.clear();
        Ok(())
    }

    /// The shapes of all bodies, each in its own frame, and the frame above the world's.
    fn scene(&mut self, world: &World, step: u64) -> Result<(), AnalysisError> {
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let up = json!({ "x": half, "y": 0.0, "z": 0.0, "w": half });
        let frame = json!({ "timestamp": self.time(step), "parent_frame_id": "map", "child_frame_id": "world",
            "translation": { "x": 0.0, "y": 0.0, "z": 0.0 }, "rotation": up });
        let channel = self.channel("/tf", schema::transforms)?;
        self.add_message(step, channel, |text| *text += &json!({ "transforms": [frame] }).to_string());
        let scene = scene::update(world, self.time(step));
        let channel = self.channel("/scene", schema::scene)?;
        self.add_message(step, channel, |text| *text += &scene.to_string());
        self.flush()
    }

    fn time(&self, step: u64) -> serde_json::Value {
        let time = step * self.order.run.timestep.nanoseconds();
        json!({ "sec": time / 1_000_000_000, "nsec": time % 1_000_000_000 })
    }

    fn chunk(&mut self, inquiry: &mut Inquiry, steps: (u64, u64)) -> Result<(), AnalysisError> {
        self.bodies(inquiry, steps)?;
        self.joints(inquiry, steps)?;
        self.readings(inquiry, steps)?;
        self.scans(inquiry, steps)?;
        self.commands(inquiry, steps)?;
        self.events(inquiry, steps)?;
        self.flush()
    }

    fn selection(&self, name: &str, steps: (u64, u64)) -> Result<Selection, AnalysisError> {
        let all = Selection::all(table(name)?, self.order.run.simulation_id);
        Ok(Selection { steps: Some(steps), every: self.order.every, ..all })
    }

    fn part(&self, number: &Value) -> Option<Rc<Named>> {
        number.integer().and_then(|number| self.parts.get(&number)).map(Rc::clone)
    }

    fn bodies(&mut self, inquiry: &mut Inquiry, steps: (u64, u64)) -> Result<(), AnalysisError> {
        let state = State::of("body_state", "bodyID")?;
        // The frames of a step go into one message.
        let mut frames: Option<(u64, String, String)> = None;
        inquiry.rows::<AnalysisError>(&self.selection(state.table, steps)?, &state.asked(), |row| {
            let (step, Some(part)) = (step(row), self.part(&row[1])) else { return Ok(()) };
            if frames.as_ref().is_some_and(|(before, ..)| *before != step) {
                self.frames(frames.take())?;
            }
            let time = || self.time(step).to_string();
            let (_, time, frames) = frames.get_or_insert_with(|| (step, time(), String::new()));
            frame(frames, time, &part.quoted, &row[2..]);
            let about =
                || (format!("simpartner.Body {}", part.component.name), schema::numbers(state.columns.iter().copied()));
            let channel = self.channel_of(&part, about)?;
            self.add_message(step, channel, |text| numbers(text, &state.names, &row[2..]));
            Ok(())
        })?;
        self.frames(frames)
    }

    fn frames(&mut self, frames: Option<(u64, String, String)>) -> Result<(), AnalysisError> {
        let Some((step, _, frames)) = frames else { return Ok(()) };
        let channel = self.channel("/tf", schema::transforms)?;
        self.add_message(step, channel, |text| {
            text.push_str(r#"{"transforms":["#);
            text.push_str(&frames);
            text.push_str("]}");
        });
        Ok(())
    }

    fn joints(&mut self, inquiry: &mut Inquiry, steps: (u64, u64)) -> Result<(), AnalysisError> {
        let state = State::of("jointPose", "jointID")?;
        inquiry.rows(&self.selection(state.table, steps)?, &state.asked(), |row| {
            let Some(part) = self.part(&row[1]) else { return Ok(()) };
            let about = || {
                (format!("simpartner.Joint {}", part.component.name), schema::numbers(state.columns.iter().copied()))
            };
            let channel = self.channel_of(&part, about)?;
            self.add_message(step(row), channel, |text| numbers(text, &state.names, &row[2..]));
            Ok(())
        })
    }

    fn readings(&mut self, inquiry: &mut Inquiry, steps: (u64, u64)) -> Result<(), AnalysisError> {
        // The numbers of a reading are rows one after the other, in the order of their fields' names.
        let mut reading: Vec<Option<f64>> = Vec::new();
        let mut of: Option<(u64, Rc<Named>)> = None;
        let columns = ["step", "componentID", "field", "value"];
        inquiry.rows::<AnalysisError>(&self.selection("sensorReading", steps)?, &columns, |row| {
            let is_same = of
                .as_ref()
                .is_some_and(|(at, part)| *at == step(row) && Some(part.component.number) == row[1].integer());
            if !is_same {
                self.reading(of.take(), &reading)?;
                of = self.part(&row[1]).map(|part| (step(row), part));
                reading.clear();
            }
            let Some((_, part)) = &of else { return Ok(()) };
            reading.resize(part.places.len(), None);
            if let Some(&place) = part.places.get(row[2].text()) {
                reading[place] = row[3].number();
            }
            Ok(())
        })?;
        self.reading(of, &reading)
    }

    /// Readings whose numbers are in one row.
    fn scans(&mut self, inquiry: &mut Inquiry, steps: (u64, u64)) -> Result<(), AnalysisError> {
        let columns = ["step", "componentID", "distances"];
        inquiry.rows::<AnalysisError>(&self.selection("scan", steps)?, &columns, |row| {
            let numbers = parse_numbers(row[2].text()).into_iter();
            let reading: Vec<Option<f64>> = numbers.map(|number| number.is_finite().then_some(number)).collect();
            self.reading(self.part(&row[1]).map(|part| (step(row), part)), &reading)
        })
    }

    fn reading(&mut self, of: Option<(u64, Rc<Named>)>, reading: &[Option<f64>]) -> Result<(), AnalysisError> {
        let Some((step, part)) = of else { return Ok(()) };
        let Some(readings) = &part.readings else { return Ok(()) };
        let text = readings.message(&self.time(step).to_string(), reading);
        let channel = self.channel_of(&part, || readings.schema(&part.component))?;
        self.add_message(step, channel, |message| *message += &text);
        Ok(())
    }

    fn commands(&mut self, inquiry: &mut Inquiry, steps: (u64, u64)) -> Result<(), AnalysisError> {
        let columns = ["step", "componentID", "client", "text", "reply"];
        inquiry.rows(&self.selection("command", steps)?, &columns, |row| {
            let device = self.part(&row[1]).map_or(String::new(), |part| part.component.name.clone());
            let client = row[2].integer();
            let text = json!({ "device": device, "client": client, "text": row[3].text(), "reply": row[4].text() });
            let channel = self.channel("/command", schema::command)?;
            self.add_message(step(row), channel, |message| *message += &text.to_string());
            Ok(())
        })
    }

    fn events(&mut self, inquiry: &mut Inquiry, steps: (u64, u64)) -> Result<(), AnalysisError> {
        let columns = ["step", "kind", "subject", "text"];
        inquiry.rows(&self.selection("event", steps)?, &columns, |row| {
            let step = step(row);
            let message = format!("{} {}", row[2].text(), row[3].text());
            let text = json!({ "timestamp": self.time(step), "level": level(row[1].text()), "message": message.trim(),
                "name": row[1].text(), "file": "", "line": 0 });
            let channel = self.channel("/event", schema::log)?;
            self.add_message(step, channel, |message| *message += &text.to_string());
            Ok(())
        })
    }
}

fn step(row: &[Value]) -> u64 {
    row[0].integer().unwrap_or(0) as u64
}

/// The level of an event in Foxglove's numbers: 2 is information, 3 a warning, 4 an error.
fn level(kind: &str) -> u8 {
    let is = |event: EventKind| event.name() == kind;
    let errors = [EventKind::Divergence];
    let warnings = [
        EventKind::ClockSlip,
        EventKind::Unconverged,
        EventKind::PhysicsLimit,
        EventKind::CommandRefused,
        EventKind::Fault,
        EventKind::Watchdog,
        EventKind::SequenceBrokenOff,
        EventKind::LockstepTimeout,
        EventKind::TipOver,
        EventKind::LogLimit,
        EventKind::LogOutage,
    ];
    match (errors.into_iter().any(is), warnings.into_iter().any(is)) {
        (true, _) => 4,
        (false, true) => 3,
        (false, false) => 2,
    }
}

/// Adds the frame of a body, if its place is one.
fn frame(frames: &mut String, time: &str, name: &str, row: &[Value]) {
    let mut all = [0.0; 7];
    for (place, value) in all.iter_mut().zip(row) {
        let Some(number) = value.number() else { return };
        *place = number;
    }
    let [x, y, z, a, b, c, angle] = all;
    let turn = orientation::quaternion([a, b, c, angle]);
    if !frames.is_empty() {
        frames.push(',');
    }
    // Writing to a string cannot fail.
    let _ = write!(frames, r#"{{"timestamp":{time},"parent_frame_id":"world","child_frame_id":{name},"translation":"#);
    json::axes(frames, &[x, y, z].map(Some));
    frames.push_str(r#","rotation":"#);
    json::axes(frames, &turn.to_array().map(Some));
    frames.push('}');
}

/// Adds an object of numbers.
fn numbers(text: &mut String, names: &[String], row: &[Value]) {
    json::object(text, names.iter().map(String::as_str).zip(row.iter().map(Value::number)));
}
