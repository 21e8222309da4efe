//! The setting of an actuator, computed from its commands. The log has no rows of settings, because they only change by
//! commands.

use simpartner_wire::{
    protocol,
    signal::{Action, DeviceInfo, Fault, set_fields},
};

/// Setting of one actuator after its commands so far.
#[derive(Debug, Clone)]
pub(super) struct ActuatorSetting {
    values: Vec<f64>,
    fault: Fault,
}

impl ActuatorSetting {
    /// The setting before the first command.
    pub(super) fn new(first: &[f64]) -> Self {
        Self { values: first.to_vec(), fault: Fault::None }
    }

    /// The numbers of the setting; NaN where the log does not determine them.
    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// Applies a command. The reply to a command has the setting before it.
    pub(super) fn apply_command(&mut self, info: &DeviceInfo, text: &str, reply: &str) {
        match protocol::action(info, text) {
            Some(Action::Fault(fault)) => self.fault = fault,
            Some(Action::Drive(values)) => {
                let before = reply.trim_start_matches('<').trim_end_matches('>');
                if let Ok(before) = protocol::read_numbers(before) {
                    self.values = before;
                }
                self.apply_values(&values);
            }
            Some(Action::Configure(_) | Action::Hear | Action::Place(_) | Action::Push(_)) | None => {}
        }
    }

    /// Sets the commanded values, unless a fault prevents that.
    fn apply_values(&mut self, values: &[f64]) {
        match self.fault {
            Fault::None | Fault::Garbage => drop(set_fields(&mut self.values, values)),
            Fault::Off | Fault::Stuck => {}
            // Only the reply to the next command shows whether this one took effect.
            Fault::Delayed(_) | Fault::Intermittent(_) => self.values.fill(f64::NAN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use simpartner_wire::signal::{Attachment, DeviceKind, Field, Port};

    fn motor() -> DeviceInfo {
        let names = ["max_force_1", "max_force_2", "max_force_3", "velocity_1", "velocity_2", "velocity_3"];
        DeviceInfo {
            name: "motor".into(),
            kind: DeviceKind::JointController,
            robot: "robot".into(),
            attachment: Attachment::Joint("joint".into()),
            port: Port::ANY,
            fields: names.map(|name| Field { name: name.into(), unit: "1", lowest: -1e6, highest: 1e6 }).into(),
            interval_steps: 1,
            camera: None,
            source: String::new(),
        }
    }

    #[test]
    fn a_setting_is_what_was_commanded_unless_a_fault_was_in_the_way() {
        let info = motor();
        let mut setting = ActuatorSetting::new(&[9.0, 9.0, 9.0, 0.0, 0.0, 0.0]);
        let mut after = |text: &str, reply: &str| {
            setting.apply_command(&info, text, reply);
            setting.values().to_vec()
        };
        assert_eq!(after("<1,2,3,4,5,6>", "<9,9,9,0,0,0>"), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(after("SET @7 1,2,3,4,5,7", "<1,2,3,4,5,6>"), [1.0, 2.0, 3.0, 4.0, 5.0, 7.0]);
        assert_eq!(after("FAULT stuck", "OK")[5], 7.0);
        assert_eq!(after("1,1,1,1,1,1", "<1,2,3,4,5,7>")[5], 7.0);
        assert_eq!(after("FAULT intermittent 0.5", "OK")[5], 7.0);
        assert!(after("1,1,1,1,1,8", "<1,2,3,4,5,7>").iter().all(|value| value.is_nan()));
        assert_eq!(after("FAULT ok", "OK").len(), 6);
        // The state before it says that the one above did take effect.
        assert_eq!(after("1,1,1,1,1,9", "<1,1,1,1,1,8>"), [1.0, 1.0, 1.0, 1.0, 1.0, 9.0]);
    }
}
