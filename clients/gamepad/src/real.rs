//! Pads that are plugged in, by way of gilrs.

use std::{env, path::Path, time::Duration};

use anyhow::{Result, anyhow, bail};
use gilrs::{Error, EventType, Filter, GamepadId, Gilrs, GilrsBuilder, MappingSource, ev::filter::axis_dpad_to_button};

use crate::pad::{Axis, Backend, Button, Event};

/// The first gamepad that is connected, now or later.
pub struct RealPad {
    gilrs: Gilrs,
    /// The driving gamepad; others are ignored.
    pad: Option<GamepadId>,
}

impl RealPad {
    /// Opens a gamepad. If none is connected, `wait` permits that one is connected later.
    ///
    /// # Errors
    /// This system has no gamepads, or none is connected and `wait` is false; the message has the remedy.
    pub fn open(wait: bool) -> Result<Self> {
        if cfg!(target_os = "linux") && !Path::new("/dev/input").exists() {
            bail!("this system has no input devices: there is no /dev/input, as in many containers\n{NO_PAD_HELP}");
        }
        let built = GilrsBuilder::new().with_default_filters(false).set_update_state(false).build();
        let gilrs = built.map_err(|error| match error {
            Error::NotImplemented(_) => anyhow!("there is no way to reach gamepads on this system\n{NO_PAD_HELP}"),
            error => anyhow!("cannot reach this system's input devices: {error}\n{NO_PAD_HELP}"),
        })?;
        if gilrs.gamepads().next().is_none() && !wait {
            let looks_by_udev = cfg!(target_os = "linux") && env::var_os("GILRS_DISABLE_UDEV").is_none();
            let udev = match looks_by_udev && !Path::new("/run/udev/control").exists() {
                true => "\nhelp: no udev runs here to tell of pads; GILRS_DISABLE_UDEV=1 looks without it",
                false => "",
            };
            bail!("no gamepad is connected\nhelp: plug one in, or wait for it with --wait{udev}\n{NO_PAD_HELP}");
        }
        Ok(Self { gilrs, pad: None })
    }

    /// Takes the first pad that is connected.
    fn find(&mut self) -> Option<Event> {
        let (id, pad) = self.gilrs.gamepads().next()?;
        self.pad = Some(id);
        let unknown = match pad.mapping_source() {
            MappingSource::None => ", whose buttons are not known; SDL_GAMECONTROLLERCONFIG can name them",
            MappingSource::SdlMappings | MappingSource::Driver => "",
        };
        Some(Event::Found(format!("{}{unknown}", pad.name())))
    }
}

const NO_PAD_HELP: &str =
    "help: --script FILE drives without a pad; the documentation's page 'Gamepad' describes the format";

impl Backend for RealPad {
    fn poll(&mut self, _now: Duration, events: &mut Vec<Event>) -> Result<()> {
        if self.pad.is_none() {
            events.extend(self.find());
        }
        while let Some(event) = self.gilrs.next_event().filter_ev(&axis_dpad_to_button, &mut self.gilrs) {
            self.gilrs.update(&event);
            if self.pad != Some(event.id) {
                continue;
            }
            match event.event {
                EventType::Disconnected => {
                    self.pad = None;
                    events.push(Event::Lost);
                }
                event => events.extend(translate(event)),
            }
        }
        Ok(())
    }
}

fn translate(event: EventType) -> Option<Event> {
    match event {
        EventType::AxisChanged(of, value, _) => Some(Event::Axis(axis(of)?, f64::from(value))),
        EventType::ButtonPressed(of, _) => Some(Event::Button(button(of)?, true)),
        EventType::ButtonReleased(of, _) => Some(Event::Button(button(of)?, false)),
        EventType::ButtonChanged(gilrs::Button::LeftTrigger2, value, _) => {
            Some(Event::Axis(Axis::LeftTrigger2, f64::from(value)))
        }
        EventType::ButtonChanged(gilrs::Button::RightTrigger2, value, _) => {
            Some(Event::Axis(Axis::RightTrigger2, f64::from(value)))
        }
        _ => None,
    }
}

fn axis(axis: gilrs::Axis) -> Option<Axis> {
    Some(match axis {
        gilrs::Axis::LeftStickX => Axis::LeftStickX,
        gilrs::Axis::LeftStickY => Axis::LeftStickY,
        gilrs::Axis::RightStickX => Axis::RightStickX,
        gilrs::Axis::RightStickY => Axis::RightStickY,
        gilrs::Axis::LeftZ => Axis::LeftZ,
        gilrs::Axis::RightZ => Axis::RightZ,
        gilrs::Axis::DPadX | gilrs::Axis::DPadY | gilrs::Axis::Unknown => return None,
    })
}

fn button(button: gilrs::Button) -> Option<Button> {
    Some(match button {
        gilrs::Button::South => Button::South,
        gilrs::Button::East => Button::East,
        gilrs::Button::North => Button::North,
        gilrs::Button::West => Button::West,
        gilrs::Button::C => Button::C,
        gilrs::Button::Z => Button::Z,
        gilrs::Button::LeftTrigger => Button::LeftTrigger,
        gilrs::Button::LeftTrigger2 => Button::LeftTrigger2,
        gilrs::Button::RightTrigger => Button::RightTrigger,
        gilrs::Button::RightTrigger2 => Button::RightTrigger2,
        gilrs::Button::Select => Button::Select,
        gilrs::Button::Start => Button::Start,
        gilrs::Button::Mode => Button::Mode,
        gilrs::Button::LeftThumb => Button::LeftThumb,
        gilrs::Button::RightThumb => Button::RightThumb,
        gilrs::Button::DPadUp => Button::DPadUp,
        gilrs::Button::DPadDown => Button::DPadDown,
        gilrs::Button::DPadLeft => Button::DPadLeft,
        gilrs::Button::DPadRight => Button::DPadRight,
        gilrs::Button::Unknown => return None,
    })
}
