//! Command sequences (thesis 3.10.2) and the timeline they unroll to.

use std::{collections::BTreeSet, sync::Arc};

use simpartner_model::Timestep;

/// A sequence as written.
#[derive(Debug, Clone, PartialEq)]
pub struct Sequence {
    /// What to do, in order.
    pub items: Vec<SequenceItem>,
}

/// One entry of a sequence.
#[derive(Debug, Clone, PartialEq)]
pub enum SequenceItem {
    /// Send a text to a device. It is valid until the next command for that device.
    Command {
        /// The device's port.
        port: u16,
        /// The command, with or without `<` and `>`.
        text: Arc<str>,
        /// `file:line:column` of its element.
        source: Arc<str>,
    },
    /// Let simulated time pass.
    Pause {
        /// How long, in seconds.
        seconds: f64,
    },
    /// Do the same several times.
    Repeat {
        /// How often.
        count: u32,
        /// What.
        items: Vec<SequenceItem>,
    },
}

/// A sequence with its repeats unrolled and its pauses added up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Timeline {
    /// The commands in order of time.
    pub commands: Vec<TimelineCommand>,
    /// Length of the whole, in steps: the pause after the last command counts.
    pub steps: u64,
}

/// A command of a timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineCommand {
    /// Steps after the sequence's start; 0 acts in the first step.
    pub after_steps: u64,
    /// The device's port.
    pub port: u16,
    /// The command's text.
    pub text: Arc<str>,
    /// `file:line:column` of its element.
    pub source: Arc<str>,
}

impl Sequence {
    /// How many commands and pauses it unrolls to, saturating.
    pub fn unrolled_len(&self) -> u64 {
        unrolled_sum(&self.items, &|_| 1)
    }

    /// The ports of the devices that it commands, each once.
    pub fn ports(&self) -> BTreeSet<u16> {
        let mut ports = BTreeSet::new();
        collect_ports(&self.items, &mut ports);
        ports
    }

    /// How many bytes the texts of all commands have that it unrolls to, saturating.
    pub fn unrolled_bytes(&self) -> u64 {
        unrolled_sum(&self.items, &|item| match item {
            SequenceItem::Command { text, .. } => text.len() as u64,
            SequenceItem::Pause { .. } | SequenceItem::Repeat { .. } => 0,
        })
    }

    /// Unrolls it for a timestep. Pauses are added up in nanoseconds before they are turned into steps, so that rounding
    /// does not add up.
    pub fn timeline(&self, timestep: Timestep) -> Timeline {
        let mut timeline = Timeline::default();
        let mut elapsed_ns = 0u64;
        unroll(&self.items, timestep, &mut elapsed_ns, &mut timeline);
        timeline.steps = steps_at(elapsed_ns, timestep);
        timeline
    }
}

fn collect_ports(items: &[SequenceItem], ports: &mut BTreeSet<u16>) {
    for item in items {
        match item {
            SequenceItem::Command { port, .. } => drop(ports.insert(*port)),
            SequenceItem::Repeat { items, .. } => collect_ports(items, ports),
            SequenceItem::Pause { .. } => {}
        }
    }
}

/// The sum over all commands and pauses, each as often as it is repeated.
fn unrolled_sum(items: &[SequenceItem], of: &impl Fn(&SequenceItem) -> u64) -> u64 {
    items.iter().fold(0u64, |sum, item| {
        sum.saturating_add(match item {
            SequenceItem::Repeat { count, items } => u64::from(*count).saturating_mul(unrolled_sum(items, of)),
            SequenceItem::Command { .. } | SequenceItem::Pause { .. } => of(item),
        })
    })
}

fn unroll(items: &[SequenceItem], timestep: Timestep, elapsed_ns: &mut u64, timeline: &mut Timeline) {
    for item in items {
        match item {
            SequenceItem::Command { port, text, source } => timeline.commands.push(TimelineCommand {
                after_steps: steps_at(*elapsed_ns, timestep),
                port: *port,
                text: Arc::clone(text),
                source: Arc::clone(source),
            }),
            SequenceItem::Pause { seconds } => {
                *elapsed_ns = elapsed_ns.saturating_add((seconds * 1e9).round() as u64);
            }
            SequenceItem::Repeat { count, items } => {
                for _ in 0..*count {
                    let before = (timeline.commands.len(), *elapsed_ns);
                    unroll(items, timestep, elapsed_ns, timeline);
                    if before == (timeline.commands.len(), *elapsed_ns) {
                        // What did nothing the first time does nothing the millionth time.
                        break;
                    }
                }
            }
        }
    }
}

fn steps_at(elapsed_ns: u64, timestep: Timestep) -> u64 {
    let length = timestep.nanoseconds();
    elapsed_ns / length + u64::from(elapsed_ns % length * 2 >= length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_of_pauses_does_not_add_up() {
        let third = SequenceItem::Pause { seconds: 1.0 / 3.0 };
        let go = SequenceItem::Command { port: 1027, text: "1".into(), source: "".into() };
        let block = SequenceItem::Repeat { count: 3, items: vec![go, third] };
        let timeline = Sequence { items: vec![block] }.timeline(Timestep::MILLISECOND);
        assert_eq!(timeline.commands.iter().map(|c| c.after_steps).collect::<Vec<_>>(), [0, 333, 667]);
        assert_eq!(timeline.steps, 1000);
    }

    /// Without an end to it, each level would take a million times as long as the one within.
    #[test]
    fn repeats_of_nothing_unroll_at_once() {
        let mut items = Vec::new();
        for _ in 0..60 {
            items = vec![SequenceItem::Pause { seconds: 0.0 }, SequenceItem::Repeat { count: u32::MAX, items }];
        }
        assert_eq!(Sequence { items }.timeline(Timestep::MILLISECOND), Timeline::default());
    }
}
