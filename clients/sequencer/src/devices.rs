//! Connections to the devices that a sequence names, and the readings that it waits for.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    net::SocketAddr,
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use simpartner_description::{Condition, DeviceReference, Timeline};
use simpartner_wire::near::did_you_mean;

use crate::wire::{Connection, Device, word};

/// Most devices or fields that a message lists.
const MAX_LISTED: usize = 20;

/// The devices of a timeline.
pub struct Devices {
    connections: BTreeMap<DeviceReference, Connection>,
    /// Field names of each sensor in a condition.
    fields: BTreeMap<DeviceReference, Vec<String>>,
}

impl Devices {
    /// Connects to every device that the timeline names, after checking that all exist.
    ///
    /// # Errors
    /// The server lacks a device or a field of a condition, or cannot be reached.
    pub fn connect(control: &mut Connection, timeline: &Timeline, token: Option<&str>) -> Result<Self> {
        control.send_line("DEVICES")?;
        let mut known = Vec::new();
        while let Some(device) = Device::read(&control.read_line()?)? {
            known.push(device);
        }
        let commanded = timeline.commands().map(|command| (command.device.clone(), &*command.source));
        let read = timeline.conditions().map(|condition| (sensor(condition), &*condition.source));
        let mut named = BTreeMap::new();
        for (reference, source) in commanded.chain(read) {
            if let Entry::Vacant(entry) = named.entry(reference) {
                let device = find(&known, entry.key()).map_err(|what| anyhow!("{source}: {what}"))?;
                entry.insert(device);
            }
        }
        let host = control.host()?;
        let open = |device: &Device| {
            let address = SocketAddr::new(host, device.bound).to_string();
            let mut connection = Connection::open(&address, &format!("'{}'", device.name), token)?;
            let greeting = connection.read_line()?;
            ensure!(!greeting.starts_with("ERR "), "'{}' at {address} answers: {greeting}", device.name);
            Ok(connection)
        };
        let connections = named.into_iter().map(|(reference, device)| Ok((reference, open(device)?)));
        let mut devices = Self { connections: connections.collect::<Result<_>>()?, fields: BTreeMap::new() };
        for condition in timeline.conditions() {
            devices.check_field(condition)?;
        }
        Ok(devices)
    }

    /// Sends a line to a device and waits for the answer.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn ask(&mut self, device: &DeviceReference, line: &str) -> Result<String> {
        self.connections.get_mut(device).expect("all devices of the timeline were connected to before").ask(line)
    }

    /// Evaluates a condition.
    ///
    /// # Errors
    /// There is no reading, or the condition does not hold at its last check.
    pub fn holds(&mut self, condition: &Condition, is_last: bool) -> Result<bool> {
        let (sensor, source) = (sensor(condition), &condition.source);
        let place = self.fields[&sensor].iter().position(|field| *field == *condition.field);
        // `<v,v,...>`, which cameras answer as well: `GET` answers with their image.
        let answer = self.ask(&sensor, "<>").with_context(|| source.to_string())?;
        let numbers = answer.strip_prefix('<').and_then(|frame| frame.strip_suffix('>'));
        let number = numbers.zip(place).and_then(|(numbers, place)| numbers.split(',').nth(place)?.parse::<f64>().ok());
        let Some(reading) = number else { bail!("{source}: '{condition}': the sensor answers: {answer}") };
        let holds = condition.comparison.holds(reading, condition.bound);
        ensure!(holds || !is_last, "{source}: '{condition}' did not come within its timeout; it reads {reading}");
        Ok(holds)
    }

    fn check_field(&mut self, condition: &Condition) -> Result<()> {
        let (sensor, source) = (sensor(condition), &condition.source);
        let info = self.ask(&sensor, "INFO")?;
        let fields = word(&info, "fields").with_context(|| format!("{source}: {sensor} answers INFO with: {info}"))?;
        let names: Vec<String> =
            fields.split(',').filter_map(|field| field.split('[').next()).map(str::to_owned).collect();
        if !names.iter().any(|name| *name == *condition.field) {
            let near = did_you_mean(&condition.field, names.iter().map(String::as_str));
            let known = names.into_iter().take(MAX_LISTED).collect::<Vec<_>>().join(", ");
            bail!("{source}: {sensor} reads {known}, not '{}'{near}", condition.field);
        }
        self.fields.insert(sensor, names);
        Ok(())
    }
}

fn sensor(condition: &Condition) -> DeviceReference {
    DeviceReference::Name(condition.device.clone())
}

/// The device of a reference, or the reason why there is none.
fn find<'k>(known: &'k [Device], reference: &DeviceReference) -> Result<&'k Device, String> {
    let full = |device: &Device| format!("{}/{}", device.robot, device.name);
    let found: Vec<&Device> = match reference {
        DeviceReference::Port(port) => known.iter().filter(|device| device.port == *port).take(1).collect(),
        DeviceReference::Name(name) => {
            known.iter().filter(|device| *device.name == **name || *full(device) == **name).collect()
        }
    };
    match (&found[..], reference) {
        ([device], _) => Ok(device),
        ([], DeviceReference::Port(port)) => Err(format!("the server has no device on port {port}")),
        ([], DeviceReference::Name(name)) => {
            let names: Vec<String> = known.iter().flat_map(|device| [device.name.clone(), full(device)]).collect();
            let near = did_you_mean(name, names.iter().map(String::as_str));
            Err(format!("the server has no device '{name}'{near}"))
        }
        (several, reference) => {
            let which = several.iter().take(MAX_LISTED).map(|device| full(device)).collect::<Vec<_>>().join(", ");
            Err(format!("{reference} is one of {which}; say which"))
        }
    }
}
