//! Exports a run as one MCAP file, which Foxglove and PlotJuggler can open. Messages are JSON, each channel has a
//! schema, and times are simulated times.
//!
//! - `/tf` has the frames of all bodies, and `/scene` their shapes, in schemas that Foxglove draws.
//! - `/body/..` and `/joint/..` have plain numbers under their names, for plots.
//! - `/device/..` has readings, in Foxglove's schemas where these exist (`readings`).
//! - `/camera/..` has images of cameras and their calibrations, if they are wanted (`images`).
//! - `/command` has the commands, and `/event` the events.
//!
//! The world's y axis points up, but a viewer's z axis does. So the frame `world` is rotated in a parent frame `map`.

mod images;
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

use self::{
    images::{CameraMessage, Cameras},
    readings::ReadingFormatter,
};
use super::order::{Exported, Order};
use crate::{AnalysisError, Progress, find_table, orientation, partial_output::PartialOutput};
use simpartner_recorder::{
    Inquiry, SOURCE_COLUMNS,
    inquiry::{Component, ComponentKind, Selection, Value, parse_numbers},
    source_file,
};

/// Number of logged steps whose messages are in memory until they are sorted by time: some megabytes for a robot.
const STEPS_PER_CHUNK: u64 = 256;

/// Exports a run.
pub(super) fn export(
    inquiry: &mut Inquiry,
    order: &Order<'_>,
    progress: &mut dyn Progress,
) -> Result<Exported, AnalysisError> {
    if !order.tables.is_empty() {
        let text = "--tables applies to csv and parquet only; an MCAP file always has all channels, and a viewer selects among them";
        return Err(AnalysisError::Question(text.into()));
    }
    let world = xml::read_kept(&read_sources(inquiry, order)?)?;
    let output = PartialOutput::new(order.output, None, order.force)?;
    // Reading, formatting JSON and compressing take about the same time, and each has a thread. Higher compression
    // levels take several times longer and save a tenth of the size.
    let options = WriteOptions::new().compression(Some(Compression::Zstd)).compression_level(1).compression_threads(1);
    let options = options.library(concat!("simpartner ", env!("CARGO_PKG_VERSION")));
    let writer = Writer::with_options(
        BufWriter::with_capacity(super::table_writer::WRITE_BUFFER, output.create_file()?),
        options,
    )?;
    let components = inquiry.components(order.run.simulation_id)?;
    let mut cameras = Cameras::of_order(inquiry, order, &world, &components)?;
    let parts = name_components(&world, components);
    let (topics, channels) = (HashMap::new(), Vec::new());
    let mut file = McapWriter { writer, order, parts, topics, channels, pending: Vec::new(), texts: String::new() };
    let (from, to) = order.steps;
    file.write_scene(&world, from)?;
    if let Some(cameras) = &cameras {
        file.add_camera_message(cameras.optical_frames(order))?;
    }
    let last = order.run.steps.map_or(from, |steps| steps.1).clamp(from, to);
    progress.begin("steps", last - from + 1);
    let mut start = from;
    while start <= last {
        progress.reach(start - from);
        // Commands and events after the last logged step belong to the last chunk.
        let end = inquiry.chunk_end(order.run.simulation_id, (start, to), STEPS_PER_CHUNK)?;
        if let Some(cameras) = &mut cameras {
            for message in cameras.messages_of_steps(inquiry, order, (start, end))? {
                file.add_camera_message(message)?;
            }
        }
        file.write_chunk(inquiry, (start, end))?;
        start = end + 1;
    }
    file.writer.finish()?;
    let counts = file.channels.into_iter().map(|channel| (channel.topic, channel.messages)).collect();
    progress.reach(last - from + 1);
    // The file must be closed before it is moved.
    drop(file.writer);
    Ok(Exported { place: output.finish()?, counts })
}

/// The components of a run by their numbers, with the texts for their messages.
fn name_components(world: &World, components: Vec<Component>) -> HashMap<i64, Rc<NamedComponent>> {
    let mut devices = world.devices.iter();
    let named = |component: Component| {
        // The log has devices in the order of the model.
        let device = if component.kind == ComponentKind::Device { devices.next() } else { None };
        let folder = match component.kind {
            ComponentKind::Body => "body",
            ComponentKind::Joint => "joint",
            ComponentKind::Device => "device",
        };
        let named = NamedComponent {
            topic: format!("/{folder}/{}", component.name),
            quoted: json::quote(&component.name),
            readings: device.map(|device| ReadingFormatter::new(world, device, &component)),
            places: component.fields.iter().enumerate().map(|(place, (field, _))| (field.clone(), place)).collect(),
            channel: Cell::new(None),
            component,
        };
        (named.component.number, Rc::new(named))
    };
    components.into_iter().map(named).collect()
}

/// Reads the files of the run's model.
fn read_sources(inquiry: &mut Inquiry, order: &Order<'_>) -> Result<Vec<SourceFile>, AnalysisError> {
    let mut found = Vec::new();
    let selection = Selection::all(find_table("simulationFile")?, order.run.simulation_id);
    let [path, text, content, hash] = SOURCE_COLUMNS;
    inquiry.rows(&selection, &["role", path, text, content, hash], |row| {
        if row[0].text() == "model" {
            found.push(source_file([&row[1], &row[2], &row[3], &row[4]])?);
        }
        Ok::<_, AnalysisError>(())
    })?;
    Ok(found)
}

/// A file being written.
struct McapWriter<'a> {
    writer: Writer<BufWriter<File>>,
    order: &'a Order<'a>,
    /// Components of the run, by number.
    parts: HashMap<i64, Rc<NamedComponent>>,
    /// Indices in `channels`, by topic.
    topics: HashMap<String, usize>,
    /// Channels in the order of their creation. A channel is created with its first message.
    channels: Vec<Channel>,
    /// Messages of the present chunk: step, index of the channel, and range of the text in `texts`.
    pending: Vec<(u64, usize, Range<usize>)>,
    /// Texts of these messages.
    texts: String,
}

/// A body, joint or device, with the texts that its messages repeat.
struct NamedComponent {
    component: Component,
    topic: String,
    /// Name, as a string of JSON.
    quoted: String,
    /// Formatter of a device's readings.
    readings: Option<ReadingFormatter>,
    /// Indices of a device's fields in its readings, by name.
    places: HashMap<String, usize>,
    /// Index of the channel, once it is created.
    channel: Cell<Option<usize>>,
}

struct Channel {
    topic: String,
    id: u16,
    /// Number of messages written.
    messages: u64,
}

/// A table of states of bodies or joints.
struct StateTable {
    table: &'static str,
    /// Column of the component's number.
    number: &'static str,
    /// Names and units of the columns behind the step and the component.
    columns: Vec<(&'static str, &'static str)>,
    /// Names of these columns, as strings of JSON.
    names: Vec<String>,
}

impl StateTable {
    fn new(table: &'static str, number: &'static str) -> Result<Self, AnalysisError> {
        let columns = find_table(table)?.columns().skip(2);
        let columns: Vec<_> = columns.map(|(name, columns)| (name, columns.unit())).collect();
        let names = columns.iter().map(|(name, _)| json::quote(name)).collect();
        Ok(Self { table, number, columns, names })
    }

    /// Columns to query: the step, the component's number and the columns of the state.
    fn query_columns(&self) -> Vec<&'static str> {
        ["step", self.number].into_iter().chain(self.columns.iter().map(|(name, _)| *name)).collect()
    }
}

impl McapWriter<'_> {
    /// Index of the channel of a topic. For a new channel, `schema` returns the name and the text of its schema.
    fn channel_of_topic(
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

    /// Index of the channel of a body, joint or device. For a new channel, `schema` returns the name and the text of
    /// its schema.
    fn channel_of_component(
        &mut self,
        part: &NamedComponent,
        schema: impl FnOnce() -> (String, serde_json::Value),
    ) -> Result<usize, AnalysisError> {
        let place = match part.channel.get() {
            Some(place) => place,
            None => self.channel_of_topic(&part.topic, schema)?,
        };
        part.channel.set(Some(place));
        Ok(place)
    }

    /// Adds a message to the present chunk. `write` appends its text.
    fn add_message(&mut self, step: u64, channel: usize, write: impl FnOnce(&mut String)) {
        let start = self.texts.len();
        write(&mut self.texts);
        self.pending.push((step, channel, start..self.texts.len()));
    }

    fn add_camera_message(&mut self, message: CameraMessage) -> Result<(), AnalysisError> {
        let channel = self.channel_of_topic(&message.topic, message.schema)?;
        self.add_message(message.step, channel, |text| *text += &message.text);
        Ok(())
    }

    /// Writes the messages of the present chunk in the order of time.
    fn write_pending(&mut self) -> Result<(), AnalysisError> {
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

    /// Writes the shapes of all bodies, each in its own frame, and the frame `world` in its parent.
    fn write_scene(&mut self, world: &World, step: u64) -> Result<(), AnalysisError> {
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let up = json!({ "x": half, "y": 0.0, "z": 0.0, "w": half });
        let frame = json!({ "timestamp": self.timestamp(step), "parent_frame_id": "map", "child_frame_id": "world",
            "translation": { "x": 0.0, "y": 0.0, "z": 0.0 }, "rotation": up });
        let channel = self.channel_of_topic("/tf", schema::transforms)?;
        self.add_message(step, channel, |text| *text += &json!({ "transforms": [frame] }).to_string());
        let scene = scene::scene_update(world, self.timestamp(step));
        let channel = self.channel_of_topic("/scene", schema::scene)?;
        self.add_message(step, channel, |text| *text += &scene.to_string());
        self.write_pending()
    }

    /// Simulated time of a step, as Foxglove's JSON.
    fn timestamp(&self, step: u64) -> serde_json::Value {
        let time = step * self.order.run.timestep.nanoseconds();
        json!({ "sec": time / 1_000_000_000, "nsec": time % 1_000_000_000 })
    }

    /// Writes all messages of a range of steps.
    fn write_chunk(&mut self, inquiry: &mut Inquiry, steps: (u64, u64)) -> Result<(), AnalysisError> {
        self.add_bodies(inquiry, steps)?;
        self.add_joints(inquiry, steps)?;
        self.add_readings(inquiry, steps)?;
        self.add_scans(inquiry, steps)?;
        self.add_commands(inquiry, steps)?;
        self.add_events(inquiry, steps)?;
        self.write_pending()
    }

    /// The exported rows of a table in a range of steps.
    fn selection(&self, name: &str, steps: (u64, u64)) -> Result<Selection, AnalysisError> {
        let all = Selection::all(find_table(name)?, self.order.run.simulation_id);
        Ok(Selection { steps: Some(steps), every: self.order.every, ..all })
    }

    fn component_of(&self, number: &Value) -> Option<Rc<NamedComponent>> {
        number.integer().and_then(|number| self.parts.get(&number)).map(Rc::clone)
    }

    /// Adds the states of bodies and their frames. All frames of a step are in one message.
    fn add_bodies(&mut self, inquiry: &mut Inquiry, steps: (u64, u64)) -> Result<(), AnalysisError> {
        let state = StateTable::new("body_state", "bodyID")?;
        // Step, time and frames of the message in progress.
        let mut frames: Option<(u64, String, String)> = None;
        inquiry.rows::<AnalysisError>(&self.selection(state.table, steps)?, &state.query_columns(), |row| {
            let (step, Some(part)) = (step_of(row), self.component_of(&row[1])) else { return Ok(()) };
            if frames.as_ref().is_some_and(|(before, ..)| *before != step) {
                self.add_frames(frames.take())?;
            }
            let time = || self.timestamp(step).to_string();
            let (_, time, frames) = frames.get_or_insert_with(|| (step, time(), String::new()));
            push_frame(frames, time, &part.quoted, &row[2..]);
            let about =
                || (format!("simpartner.Body {}", part.component.name), schema::numbers(state.columns.iter().copied()));
            let channel = self.channel_of_component(&part, about)?;
            self.add_message(step, channel, |text| push_numbers(text, &state.names, &row[2..]));
            Ok(())
        })?;
        self.add_frames(frames)
    }

    /// Adds a message with the frames of a step.
    fn add_frames(&mut self, frames: Option<(u64, String, String)>) -> Result<(), AnalysisError> {
        let Some((step, _, frames)) = frames else { return Ok(()) };
        let channel = self.channel_of_topic("/tf", schema::transforms)?;
        self.add_message(step, channel, |text| {
            text.push_str(r#"{"transforms":["#);
            text.push_str(&frames);
            text.push_str("]}");
        });
        Ok(())
    }

    fn add_joints(&mut self, inquiry: &mut Inquiry, steps: (u64, u64)) -> Result<(), AnalysisError> {
        let state = StateTable::new("jointPose", "jointID")?;
        inquiry.rows(&self.selection(state.table, steps)?, &state.query_columns(), |row| {
            let Some(part) = self.component_of(&row[1]) else { return Ok(()) };
            let about = || {
                (format!("simpartner.Joint {}", part.component.name), schema::numbers(state.columns.iter().copied()))
            };
            let channel = self.channel_of_component(&part, about)?;
            self.add_message(step_of(row), channel, |text| push_numbers(text, &state.names, &row[2..]));
            Ok(())
        })
    }

    fn add_readings(&mut self, inquiry: &mut Inquiry, steps: (u64, u64)) -> Result<(), AnalysisError> {
        // Each number of a reading is a row. The rows of a reading follow each other, in the order of their fields'
        // names.
        let mut reading: Vec<Option<f64>> = Vec::new();
        let mut of: Option<(u64, Rc<NamedComponent>)> = None;
        let columns = ["step", "componentID", "field", "value"];
        inquiry.rows::<AnalysisError>(&self.selection("sensorReading", steps)?, &columns, |row| {
            let is_same = of
                .as_ref()
                .is_some_and(|(at, part)| *at == step_of(row) && Some(part.component.number) == row[1].integer());
            if !is_same {
                self.add_reading(of.take(), &reading)?;
                of = self.component_of(&row[1]).map(|part| (step_of(row), part));
                reading.clear();
            }
            let Some((_, part)) = &of else { return Ok(()) };
            reading.resize(part.places.len(), None);
            if let Some(&place) = part.places.get(row[2].text()) {
                reading[place] = row[3].number();
            }
            Ok(())
        })?;
        self.add_reading(of, &reading)
    }

    /// Adds long readings, whose numbers are in one row.
    fn add_scans(&mut self, inquiry: &mut Inquiry, steps: (u64, u64)) -> Result<(), AnalysisError> {
        let columns = ["step", "componentID", "distances"];
        inquiry.rows::<AnalysisError>(&self.selection("scan", steps)?, &columns, |row| {
            let numbers = parse_numbers(row[2].text()).into_iter();
            let reading: Vec<Option<f64>> = numbers.map(|number| number.is_finite().then_some(number)).collect();
            self.add_reading(self.component_of(&row[1]).map(|part| (step_of(row), part)), &reading)
        })
    }

    /// Adds the message of a reading, of the step and the device `of`.
    fn add_reading(
        &mut self,
        of: Option<(u64, Rc<NamedComponent>)>,
        reading: &[Option<f64>],
    ) -> Result<(), AnalysisError> {
        let Some((step, part)) = of else { return Ok(()) };
        let Some(readings) = &part.readings else { return Ok(()) };
        let text = readings.format_message(&self.timestamp(step).to_string(), reading);
        let channel = self.channel_of_component(&part, || readings.schema(&part.component))?;
        self.add_message(step, channel, |message| *message += &text);
        Ok(())
    }

    fn add_commands(&mut self, inquiry: &mut Inquiry, steps: (u64, u64)) -> Result<(), AnalysisError> {
        let columns = ["step", "componentID", "client", "text", "reply"];
        inquiry.rows(&self.selection("command", steps)?, &columns, |row| {
            let device = self.component_of(&row[1]).map_or(String::new(), |part| part.component.name.clone());
            let client = row[2].integer();
            let text = json!({ "device": device, "client": client, "text": row[3].text(), "reply": row[4].text() });
            let channel = self.channel_of_topic("/command", schema::command)?;
            self.add_message(step_of(row), channel, |message| *message += &text.to_string());
            Ok(())
        })
    }

    fn add_events(&mut self, inquiry: &mut Inquiry, steps: (u64, u64)) -> Result<(), AnalysisError> {
        let columns = ["step", "kind", "subject", "text"];
        inquiry.rows(&self.selection("event", steps)?, &columns, |row| {
            let step = step_of(row);
            let message = format!("{} {}", row[2].text(), row[3].text());
            let text = json!({ "timestamp": self.timestamp(step), "level": event_level(row[1].text()),
                "message": message.trim(), "name": row[1].text(), "file": "", "line": 0 });
            let channel = self.channel_of_topic("/event", schema::log)?;
            self.add_message(step, channel, |message| *message += &text.to_string());
            Ok(())
        })
    }
}

fn step_of(row: &[Value]) -> u64 {
    row[0].integer().unwrap_or(0) as u64
}

/// Level of an event in Foxglove's numbers: 2 for information, 3 for a warning, 4 for an error.
fn event_level(kind: &str) -> u8 {
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

/// Adds the frame of a body, unless its pose has a number that is not finite.
fn push_frame(frames: &mut String, time: &str, name: &str, row: &[Value]) {
    let mut all = [0.0; 7];
    for (place, value) in all.iter_mut().zip(row) {
        let Some(number) = value.number() else { return };
        *place = number;
    }
    let [x, y, z, a, b, c, angle] = all;
    let turn = orientation::to_quaternion([a, b, c, angle]);
    if !frames.is_empty() {
        frames.push(',');
    }
    // Writing to a string cannot fail.
    let _ = write!(frames, r#"{{"timestamp":{time},"parent_frame_id":"world","child_frame_id":{name},"translation":"#);
    json::push_axes(frames, &[x, y, z].map(Some));
    frames.push_str(r#","rotation":"#);
    json::push_axes(frames, &turn.to_array().map(Some));
    frames.push('}');
}

/// Adds a JSON object of numbers.
fn push_numbers(text: &mut String, names: &[String], row: &[Value]) {
    json::push_object(text, names.iter().map(String::as_str).zip(row.iter().map(Value::number)));
}
