//! Command sequences (thesis 3.10.2) and the timeline they unroll to.

use std::{collections::BTreeSet, fmt, sync::Arc};

use simpartner_model::{Moment, Timestep};

/// A sequence as written.
#[derive(Debug, Clone, PartialEq)]
pub struct Sequence {
    /// The items, in order.
    pub items: Vec<SequenceItem>,
}

/// An entry of a sequence.
#[derive(Debug, Clone, PartialEq)]
pub enum SequenceItem {
    /// Send a text to a device. It is valid until the next command for that device.
    Command {
        /// The device.
        device: DeviceReference,
        /// The command, with or without `<` and `>`.
        text: Arc<str>,
        /// `file:line:column` of its element.
        source: Arc<str>,
    },
    /// Let simulated time pass.
    Pause(Moment),
    /// Wait for a reading.
    Until(Arc<Condition>),
    /// Do the same several times.
    Repeat {
        /// Number of repetitions.
        count: u32,
        /// The repeated items.
        items: Vec<SequenceItem>,
    },
}

/// Reference of a sequence to a device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeviceReference {
    /// The device's port in the model.
    Port(u16),
    /// The device's name, or `robot/device` if several robots have a device of this name.
    Name(Arc<str>),
}

impl fmt::Display for DeviceReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(port) => write!(formatter, "the device on port {port}"),
            Self::Name(name) => write!(formatter, "'{name}'"),
        }
    }
}

/// Condition that a sequence waits for: a field of a sensor's reading beyond a bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The sensor, as `device` or `robot/device`.
    pub device: Arc<str>,
    /// The field of its reading.
    pub field: Arc<str>,
    /// Which side of the bound.
    pub comparison: Comparison,
    /// The bound, in the unit of the field.
    pub bound: f64,
    /// The longest wait.
    pub timeout: Moment,
    /// `file:line:column` of its element.
    pub source: Arc<str>,
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, field, comparison, bound, .. } = self;
        write!(formatter, "{device}.{field} {} {bound}", comparison.sign())
    }
}

/// A comparison of a reading with a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `<=`
    AtMost,
}

impl Comparison {
    /// All of them, those of two characters first.
    pub const ALL: [Self; 4] = [Self::AtLeast, Self::AtMost, Self::Above, Self::Below];

    /// The operator as written.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Above => ">",
            Self::AtLeast => ">=",
            Self::Below => "<",
            Self::AtMost => "<=",
        }
    }

    /// True if a reading is on that side of a bound.
    pub fn holds(self, reading: f64, bound: f64) -> bool {
        match self {
            Self::Above => reading > bound,
            Self::AtLeast => reading >= bound,
            Self::Below => reading < bound,
            Self::AtMost => reading <= bound,
        }
    }
}

/// A sequence with its repeats unrolled and its pauses added up. Each wait for a reading starts a new section.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Timeline {
    /// The sections in order; at least one.
    pub sections: Vec<Section>,
    /// Length of all pauses, in steps.
    pub steps: u64,
}

/// A part of a timeline whose commands have fixed times.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Section {
    /// The commands in order of time.
    pub commands: Vec<TimelineCommand>,
    /// Length in steps: the pause after the last command counts.
    pub steps: u64,
    /// Condition that ends the section; `None` for the last one. It is evaluated after each step from that one on, at
    /// the earliest after the first step in which the section's commands act.
    pub until: Option<Arc<Condition>>,
}

impl Section {
    /// The first step after its start in which its condition is looked at.
    pub fn first_look(&self) -> u64 {
        self.steps.max(1)
    }
}

/// A command of a timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineCommand {
    /// Steps after the section's start; 0 acts in the first step.
    pub after_steps: u64,
    /// The device.
    pub device: DeviceReference,
    /// The command's text.
    pub text: Arc<str>,
    /// `file:line:column` of its element.
    pub source: Arc<str>,
}

impl Timeline {
    /// Its length in steps, if that is known beforehand: it waits for no reading.
    pub fn fixed_steps(&self) -> Option<u64> {
        (self.sections.len() == 1).then_some(self.steps)
    }

    /// The commands of all sections.
    pub fn commands(&self) -> impl Iterator<Item = &TimelineCommand> {
        self.sections.iter().flat_map(|section| &section.commands)
    }

    /// The conditions, in order.
    pub fn conditions(&self) -> impl Iterator<Item = &Condition> {
        self.sections.iter().filter_map(|section| section.until.as_deref())
    }
}

impl Sequence {
    /// Number of commands, pauses and conditions that it unrolls to, saturating.
    pub fn unrolled_len(&self) -> u64 {
        unrolled_sum(&self.items, &|_| 1)
    }

    /// The devices that it commands, each once.
    pub fn devices(&self) -> BTreeSet<DeviceReference> {
        let mut devices = BTreeSet::new();
        collect_devices(&self.items, &mut devices);
        devices
    }

    /// Bytes of the texts of all commands that it unrolls to, saturating.
    pub fn unrolled_bytes(&self) -> u64 {
        unrolled_sum(&self.items, &|item| match item {
            SequenceItem::Command { text, .. } => text.len() as u64,
            SequenceItem::Pause(_) | SequenceItem::Until(_) | SequenceItem::Repeat { .. } => 0,
        })
    }

    /// Unrolls it for a timestep. Pauses are added up in nanoseconds before they are turned into steps, so that
    /// rounding does not add up.
    pub fn timeline(&self, timestep: Timestep) -> Timeline {
        let mut unrolling =
            Unrolling { timestep, done: Timeline::default(), section: Section::default(), elapsed_ns: 0 };
        unrolling.count_items(&self.items);
        unrolling.finish_section(None);
        unrolling.done
    }
}

fn collect_devices(items: &[SequenceItem], devices: &mut BTreeSet<DeviceReference>) {
    for item in items {
        match item {
            SequenceItem::Command { device, .. } => drop(devices.insert(device.clone())),
            SequenceItem::Repeat { items, .. } => collect_devices(items, devices),
            SequenceItem::Pause(_) | SequenceItem::Until(_) => {}
        }
    }
}

/// The sum over all commands, pauses and conditions, with repetitions.
fn unrolled_sum(items: &[SequenceItem], of: &impl Fn(&SequenceItem) -> u64) -> u64 {
    items.iter().fold(0u64, |sum, item| {
        sum.saturating_add(match item {
            SequenceItem::Repeat { count, items } => u64::from(*count).saturating_mul(unrolled_sum(items, of)),
            SequenceItem::Command { .. } | SequenceItem::Pause(_) | SequenceItem::Until(_) => of(item),
        })
    })
}

/// A timeline in the making.
struct Unrolling {
    timestep: Timestep,
    done: Timeline,
    /// The section that is not finished.
    section: Section,
    /// The pauses of that section.
    elapsed_ns: u64,
}

impl Unrolling {
    fn count_items(&mut self, items: &[SequenceItem]) {
        for item in items {
            match item {
                SequenceItem::Command { device, text, source } => self.section.commands.push(TimelineCommand {
                    after_steps: self.steps(),
                    device: device.clone(),
                    text: Arc::clone(text),
                    source: Arc::clone(source),
                }),
                SequenceItem::Pause(length) => {
                    let length_ns = length.nanoseconds(self.timestep);
                    self.elapsed_ns = self.elapsed_ns.saturating_add(length_ns);
                }
                SequenceItem::Until(condition) => self.finish_section(Some(Arc::clone(condition))),
                SequenceItem::Repeat { count, items } => {
                    for _ in 0..*count {
                        let before = self.progress();
                        self.count_items(items);
                        if before == self.progress() {
                            // A body without effect stays without effect when repeated.
                            break;
                        }
                    }
                }
            }
        }
    }

    fn finish_section(&mut self, until: Option<Arc<Condition>>) {
        let section = Section { steps: self.steps(), until, ..std::mem::take(&mut self.section) };
        self.done.steps = self.done.steps.saturating_add(section.steps);
        self.done.sections.push(section);
        self.elapsed_ns = 0;
    }

    /// Steps since the section's start.
    fn steps(&self) -> u64 {
        let length = self.timestep.nanoseconds();
        self.elapsed_ns / length + u64::from(self.elapsed_ns % length * 2 >= length)
    }

    fn progress(&self) -> (usize, usize, u64) {
        (self.done.sections.len(), self.section.commands.len(), self.elapsed_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pause(seconds: f64) -> SequenceItem {
        SequenceItem::Pause(Moment::of_seconds(seconds))
    }

    fn go() -> SequenceItem {
        SequenceItem::Command { device: DeviceReference::Port(1027), text: "1".into(), source: "".into() }
    }

    #[test]
    fn rounding_of_pauses_does_not_add_up() {
        let block = SequenceItem::Repeat { count: 3, items: vec![go(), pause(1.0 / 3.0)] };
        let timeline = Sequence { items: vec![block] }.timeline(Timestep::MILLISECOND);
        assert_eq!(timeline.commands().map(|c| c.after_steps).collect::<Vec<_>>(), [0, 333, 667]);
        assert_eq!(timeline.fixed_steps(), Some(1000));
    }

    /// Without this early end, each level would take a million times as long as the inner one.
    #[test]
    fn repeats_of_nothing_unroll_at_once() {
        let mut items = Vec::new();
        for _ in 0..60 {
            items = vec![pause(0.0), SequenceItem::Repeat { count: u32::MAX, items }];
        }
        let timeline = Sequence { items }.timeline(Timestep::MILLISECOND);
        assert_eq!(timeline, Timeline { sections: vec![Section::default()], steps: 0 });
    }

    #[test]
    fn a_condition_ends_a_section() {
        let condition = Arc::new(Condition {
            device: "Position".into(),
            field: "x".into(),
            comparison: Comparison::Above,
            bound: 2.0,
            timeout: Moment::of_seconds(1.0),
            source: "".into(),
        });
        let items = vec![go(), pause(0.5), SequenceItem::Until(Arc::clone(&condition)), pause(0.25), go()];
        let timeline =
            Sequence { items: vec![SequenceItem::Repeat { count: 2, items }] }.timeline(Timestep::MILLISECOND);
        let lengths: Vec<_> = timeline.sections.iter().map(|section| (section.steps, section.commands.len())).collect();
        assert_eq!(lengths, [(500, 1), (750, 2), (250, 1)]);
        assert_eq!((timeline.fixed_steps(), timeline.steps), (None, 1500));
        assert!(timeline.sections[2].until.is_none() && timeline.conditions().count() == 2);
        assert_eq!(condition.to_string(), "Position.x > 2");
    }
}
