//! Conversion of gamepad events to frames for devices. Sans-IO: time and the server's devices are arguments.
//!
//! A device is not commanded until one of its inputs is moved, so that a client that connects to a driven robot moves
//! nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use anyhow::{Context, Result, ensure};

use crate::{
    mapping::{Action, Binding, Input, Mapping, OnLoss},
    pad::{Axis, Button, Event},
};

/// Longest time step for which a held button moves a field: a blocked client does not catch up on lost time.
const LONGEST_MOVE: Duration = Duration::from_millis(100);
/// A stick without a dead zone counts as at rest below this.
const REST_THRESHOLD: f64 = 0.05;

/// A device of the mapping that the server has.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Its name, for messages.
    pub name: String,
    /// Its group in the mapping.
    pub group: usize,
    /// The names of its fields.
    pub fields: Vec<String>,
    /// Its state.
    pub present: Vec<f64>,
}

/// Events before the devices were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// The client has just started.
    Start,
    /// The server was lost, and the world is the same as before.
    Gap,
    /// The world is a different one.
    NewWorld,
}

/// Present inputs and devices.
#[derive(Debug)]
pub struct Pilot {
    mapping: Mapping,
    axes: BTreeMap<Axis, f64>,
    /// Sticks that must return to rest before they count again.
    distrusted: BTreeSet<Axis>,
    buttons: BTreeSet<Button>,
    /// Toggle state of each binding.
    toggled: Vec<bool>,
    devices: Vec<Held>,
    last: Duration,
}

#[derive(Debug)]
struct Held {
    group: usize,
    /// Index of each binding's field in the frame; `None` for those of other groups.
    fields: Vec<Option<usize>>,
    /// Value that each field has been moved to and left at.
    moved: Vec<f64>,
    /// True if its inputs have not been moved yet, or since the gamepad was lost.
    left_alone: bool,
}

impl Pilot {
    /// Creates a pilot without pressed inputs and devices.
    pub fn new(mapping: Mapping) -> Self {
        Self {
            toggled: vec![false; mapping.bindings.len()],
            mapping,
            axes: BTreeMap::new(),
            distrusted: BTreeSet::new(),
            buttons: BTreeSet::new(),
            devices: Vec::new(),
            last: Duration::ZERO,
        }
    }

    /// The mapping it follows.
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// Attaches the devices of a server, in the order of the frames. After a loss, inputs that were held do not count
    /// until they are released and moved again.
    ///
    /// # Errors
    /// A device does not have the fields that the mapping moves.
    pub fn attach(&mut self, found: &[Found], after: After) -> Result<()> {
        if after != After::Start {
            self.buttons.clear();
            self.distrusted =
                self.axes.iter().filter(|(_, value)| value.abs() > REST_THRESHOLD).map(|(axis, _)| *axis).collect();
        }
        if after == After::NewWorld {
            self.toggled.fill(false);
        }
        self.devices = found.iter().map(|device| self.hold(device, after)).collect::<Result<_>>()?;
        Ok(())
    }

    fn hold(&self, found: &Found, after: After) -> Result<Held> {
        let group = &self.mapping.groups[found.group];
        ensure!(
            group.frame.len() == found.present.len(),
            "'{}' takes {} numbers ({}), and the frame of devices.{} has {}",
            found.name,
            found.present.len(),
            found.fields.join(", "),
            group.name,
            group.frame.len()
        );
        let place = |binding: &Binding| {
            if binding.group != found.group {
                return Ok(None);
            }
            let place = found.fields.iter().position(|field| *field == binding.field);
            let place = place.with_context(|| {
                format!("'{}' has no field '{}'; its fields are {}", found.name, binding.field, found.fields.join(", "))
            });
            place.map(Some)
        };
        let fields: Vec<Option<usize>> = self.mapping.bindings.iter().map(place).collect::<Result<_>>()?;
        let mut moved = vec![0.0; group.frame.len()];
        for (binding, &field) in self.mapping.bindings.iter().zip(&fields) {
            if let (Action::Rate(..), Some(field)) = (binding.action, field) {
                // A field that keeps its value continues from its present value.
                let left = found.present[field] - group.frame[field] - self.switched_on(&fields, field);
                // A device that is powered off does not report that value.
                moved[field] = if left.is_nan() { 0.0 } else { left };
            }
        }
        let left_alone = after == After::Start || group.on_loss == OnLoss::Hold;
        Ok(Held { group: found.group, fields, moved, left_alone })
    }

    /// Takes an event.
    pub fn handle(&mut self, event: &Event) {
        match *event {
            Event::Found(_) | Event::Lost | Event::End => self.let_go(),
            Event::Axis(axis, value) => {
                self.axes.insert(axis, value);
                if self.rests(axis) {
                    self.distrusted.remove(&axis);
                } else if !self.distrusted.contains(&axis) {
                    self.touch(
                        |input| matches!(input, Input::Axis(of, curve) if of == axis && curve.bend(value) != 0.0),
                    );
                }
            }
            Event::Button(button, false) => {
                self.buttons.remove(&button);
            }
            Event::Button(button, true) => {
                if !self.buttons.insert(button) {
                    return;
                }
                for index in 0..self.mapping.bindings.len() {
                    let binding = &self.mapping.bindings[index];
                    let switches = matches!(binding.action, Action::Toggle(_));
                    if switches && binding.input == Input::Button(button) && self.is_active(binding) {
                        self.toggled[index] = !self.toggled[index];
                    }
                }
                self.touch(|input| input == Input::Button(button));
            }
        }
    }

    /// Moves the fields of held inputs up to the present time, counted from the start.
    pub fn advance(&mut self, now: Duration) {
        let seconds = now.saturating_sub(self.last).min(LONGEST_MOVE).as_secs_f64();
        self.last = now;
        for index in 0..self.mapping.bindings.len() {
            let binding = &self.mapping.bindings[index];
            let Action::Rate(rate, [lowest, highest]) = binding.action else { continue };
            let way = rate * self.deflection(binding) * seconds;
            if way == 0.0 {
                continue;
            }
            for device in &mut self.devices {
                let Some(field) = device.fields[index] else { continue };
                let base = self.mapping.groups[device.group].frame[field];
                let from = base + device.moved[field];
                // A value out of its range is not pulled back, only kept from moving farther.
                let to = (from + way).clamp(lowest.min(from), highest.max(from));
                device.moved[field] = to - base;
            }
        }
    }

    /// The frame for a device, if it differs in a field that inputs move; in the order it was attached in.
    pub fn wanted(&self, device: usize, present: &[f64]) -> Option<Vec<f64>> {
        let held = &self.devices[device];
        if held.left_alone {
            return None;
        }
        let mut frame = self.mapping.groups[held.group].frame.clone();
        let mut driven: Vec<usize> = held.fields.iter().flatten().copied().collect();
        driven.sort_unstable();
        driven.dedup();
        for &field in &driven {
            let inputs = self.mapping.bindings.iter().zip(&held.fields).filter(|(_, place)| **place == Some(field));
            let scaled = inputs.map(|(binding, _)| match binding.action {
                Action::Scale(scale) => scale * self.deflection(binding),
                Action::Rate(..) | Action::Toggle(_) => 0.0,
            });
            let value = frame[field] + held.moved[field] + scaled.sum::<f64>() + self.switched_on(&held.fields, field);
            // Rounds accumulated errors beyond the sixth decimal, which make recordings hard to read. Adding 0 turns -0
            // into 0.
            frame[field] = (value * 1e6).round() / 1e6 + 0.0;
        }
        driven.iter().any(|&field| frame[field] != present[field]).then_some(frame)
    }

    /// Releases all inputs; a device either follows that or keeps its command until its inputs are moved again.
    fn let_go(&mut self) {
        self.axes.clear();
        self.buttons.clear();
        self.distrusted.clear();
        for device in &mut self.devices {
            device.left_alone |= self.mapping.groups[device.group].on_loss == OnLoss::Hold;
        }
    }

    fn touch(&mut self, is_touched: impl Fn(Input) -> bool) {
        let bindings = &self.mapping.bindings;
        let touched: Vec<bool> =
            bindings.iter().map(|binding| is_touched(binding.input) && self.is_active(binding)).collect();
        for device in &mut self.devices {
            if device.fields.iter().zip(&touched).any(|(field, touched)| field.is_some() && *touched) {
                device.left_alone = false;
            }
        }
    }

    /// True if a binding is active with the present buttons: a binding with a held button hides those of the same input
    /// without one.
    fn is_active(&self, binding: &Binding) -> bool {
        let is_held = |button| self.buttons.contains(&button);
        match binding.with {
            Some(button) => is_held(button),
            None => {
                let mut others = self.mapping.bindings.iter().filter(|other| other.is_of_same_input(binding));
                !others.any(|other| other.with.is_some_and(is_held))
            }
        }
    }

    /// Deflection of an input for a binding, from -1 to 1.
    fn deflection(&self, binding: &Binding) -> f64 {
        match binding.input {
            _ if !self.is_active(binding) => 0.0,
            Input::Button(button) => f64::from(self.buttons.contains(&button)),
            Input::Axis(axis, _) if self.distrusted.contains(&axis) => 0.0,
            Input::Axis(axis, curve) => self.axes.get(&axis).map_or(0.0, |&value| curve.bend(value)),
        }
    }

    fn rests(&self, axis: Axis) -> bool {
        let value = self.axes.get(&axis).copied().unwrap_or(0.0);
        let mut curves = self.mapping.bindings.iter().filter_map(|binding| match binding.input {
            Input::Axis(of, curve) if of == axis => Some(curve),
            _ => None,
        });
        value.abs() <= REST_THRESHOLD || curves.all(|curve| curve.bend(value) == 0.0)
    }

    /// Sum that the active toggles add to a field.
    fn switched_on(&self, fields: &[Option<usize>], field: usize) -> f64 {
        let on = self.mapping.bindings.iter().zip(fields).zip(&self.toggled);
        let on = on.filter(|((_, place), on)| **place == Some(field) && **on);
        on.map(|((binding, _), _)| if let Action::Toggle(value) = binding.action { value } else { 0.0 }).sum()
    }
}

impl Binding {
    fn is_of_same_input(&self, other: &Self) -> bool {
        match (self.input, other.input) {
            (Input::Axis(one, _), Input::Axis(other, _)) => one == other,
            (Input::Button(one), Input::Button(other)) => one == other,
            _ => false,
        }
    }
}
