//! Playing of sequences inside the simulation, section by section. A section begins after the step in which the
//! condition of the previous section holds.

use std::collections::HashMap;

use simpartner_description::{Condition, DeviceReference, Timeline, TimelineCommand};
use simpartner_wire::{
    near::did_you_mean,
    protocol,
    signal::{ClientId, Command, DeviceId, Event, EventKind, Reservation, StepRecord},
};

use super::{
    ScheduleError, Simulation,
    playback::{Playback, SequenceEnd},
};

impl Simulation {
    /// Schedules the commands of a sequence, counted from the present step: a command after 0 steps acts in the next
    /// step. The section after a condition is scheduled when the condition holds.
    ///
    /// # Errors
    /// When a command or a condition names a device or a field that does not exist, or a command does not fit its
    /// device. Nothing is scheduled then.
    pub fn schedule(&mut self, timeline: &Timeline) -> Result<(), ScheduleError> {
        if let [only] = &timeline.sections[..] {
            return self.submit_all(&only.commands);
        }
        let mut known = HashMap::new();
        for entry in timeline.commands() {
            self.resolve_command(entry, &mut known)?;
        }
        for condition in timeline.conditions() {
            self.resolve_field(condition)?;
        }
        self.playback = Some(Playback { sections: timeline.sections.iter().cloned().collect(), start: self.step });
        self.begin_section()
    }

    /// End of the last sequence with conditions; `None` if there was none, or while one is being played.
    pub fn sequence_end(&self) -> Option<&SequenceEnd> {
        self.sequence_end.as_ref()
    }

    /// True while a sequence with conditions is being played.
    pub fn plays_sequence(&self) -> bool {
        self.playback.is_some()
    }

    /// Advances the sequence after a step: evaluates the present section's condition with the readings of the step's
    /// record.
    pub(super) fn advance_playback(&mut self, record: &StepRecord) {
        while let Some(playback) = &self.playback {
            let elapsed = self.step.0 - playback.start.0;
            let section = playback.sections.front().expect("a playback has sections until it ends");
            let Some(condition) = section.until.clone() else {
                if elapsed >= section.steps {
                    self.end_playback(SequenceEnd::Played);
                }
                return;
            };
            let Some(waited) = elapsed.checked_sub(section.first_look()) else { return };
            match self.resolve_field(&condition).map(|(device, field)| record.device(&self.layout, device)[field]) {
                Ok(reading) if condition.comparison.holds(reading, condition.bound) => {
                    if let Err(error) = self.begin_next_section() {
                        return self.end_playback(SequenceEnd::BrokenOff(error.to_string()));
                    }
                }
                Ok(reading) if waited >= condition.timeout.steps(self.timestep) => {
                    let seconds = condition.timeout.seconds(self.timestep);
                    let why = format!(
                        "{}: '{condition}' did not come within {seconds} s; it reads {reading}",
                        condition.source
                    );
                    return self.end_playback(SequenceEnd::BrokenOff(why));
                }
                Ok(_) => return,
                // The device may have been deleted.
                Err(error) => return self.end_playback(SequenceEnd::BrokenOff(error.to_string())),
            }
        }
    }

    fn begin_next_section(&mut self) -> Result<(), ScheduleError> {
        if let Some(playback) = &mut self.playback {
            playback.sections.pop_front();
            playback.start = self.step;
        }
        self.begin_section()
    }

    /// Schedules the commands of the present section.
    fn begin_section(&mut self) -> Result<(), ScheduleError> {
        let section = self.playback.as_mut().and_then(|playback| playback.sections.front_mut());
        let commands = section.map(|section| std::mem::take(&mut section.commands)).unwrap_or_default();
        self.submit_all(&commands)
    }

    /// Submits commands of a section that begins after the present step: all of them, or none.
    fn submit_all(&mut self, commands: &[TimelineCommand]) -> Result<(), ScheduleError> {
        let mut known = HashMap::new();
        let commands: Result<Vec<Command>, _> =
            commands.iter().map(|entry| self.resolve_command(entry, &mut known)).collect();
        commands?.into_iter().for_each(|command| self.submit(command));
        Ok(())
    }

    /// Ends the sequence, with an event if it is broken off.
    fn end_playback(&mut self, end: SequenceEnd) {
        self.playback = None;
        if let SequenceEnd::BrokenOff(why) = &end {
            let (kind, text) = (EventKind::SequenceBrokenOff, why.clone());
            self.note(Event { step: self.step, kind, subject: "sequence".into(), text, value: None });
        }
        self.sequence_end = Some(end);
    }

    /// The command of an entry in a section that begins after the present step. `known` caches device references.
    fn resolve_command<'t>(
        &self,
        entry: &'t TimelineCommand,
        known: &mut HashMap<&'t DeviceReference, DeviceId>,
    ) -> Result<Command, ScheduleError> {
        let refuse = |what| ScheduleError { place: entry.source.to_string(), what };
        let device = match known.get(&entry.device) {
            Some(device) => *device,
            None => self.resolve_device(&entry.device).map_err(refuse)?,
        };
        known.insert(&entry.device, device);
        let info = self.layout.device_info(device);
        let action =
            protocol::command(info, &entry.text).map_err(|refusal| refuse(format!("'{}': {refusal}", info.name)))?;
        Ok(Command {
            target: device.into(),
            at: Some(self.step.after(entry.after_steps + 1)),
            client: ClientId(0),
            sequence: 0,
            text: entry.text.to_string(),
            action,
            memory: Reservation::default(),
        })
    }

    fn resolve_device(&self, reference: &DeviceReference) -> Result<DeviceId, String> {
        match reference {
            DeviceReference::Port(port) => {
                let found = self.layout.devices().iter().position(|info| info.port.number() == *port);
                found.map(DeviceId::new).ok_or_else(|| format!("no device of this world has port {port}"))
            }
            DeviceReference::Name(name) => {
                protocol::device_named(&self.layout, name, &[]).map_err(|refusal| refusal.explanation())
            }
        }
    }

    /// The device of a condition, and the index of the field in its reading.
    fn resolve_field(&self, condition: &Condition) -> Result<(DeviceId, usize), ScheduleError> {
        let refuse = |what| ScheduleError { place: condition.source.to_string(), what };
        let named = protocol::device_named(&self.layout, &condition.device, &[]);
        let device = named.map_err(|refusal| refuse(refusal.explanation()))?;
        let info = self.layout.device_info(device);
        let names = || info.fields.iter().map(|field| field.name.as_str());
        let place = names().position(|name| name == &*condition.field);
        let place = place.filter(|_| !info.kind.is_actuator()).ok_or_else(|| {
            if info.kind.is_actuator() {
                return refuse(format!("'{}' is an actuator, which has no reading; give a sensor", info.name));
            }
            let known: Vec<&str> = names().take(20).collect();
            let near = did_you_mean(&condition.field, names());
            refuse(format!("'{}' reads {}, not '{}'{near}", info.name, known.join(", "), condition.field))
        })?;
        Ok((device, place))
    }
}
