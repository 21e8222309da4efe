//! Which rows differ from those before them.

use simpartner_wire::signal::{Layout, StepRecord};

use super::{Settings, cadence::Cadence, selection::Selection};

/// When a row is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// Of every logged step.
    Always,
    /// When it differs from the one before.
    Changed,
    /// Of bodies and joints when anything of their robot differs, of an object when it does: what is asleep, fixed or at rest
    /// has none, and a robot has all of its rows of a step or none, so that sums over it are right. Of readings always.
    Moving,
}

impl Rows {
    /// What the settings ask for.
    pub(super) fn of(settings: &Settings) -> Self {
        match (settings.on_change, settings.skip_resting) {
            (true, _) => Self::Changed,
            (false, true) => Self::Moving,
            (false, false) => Self::Always,
        }
    }

    /// As `simulation.on_change` has it.
    pub(super) fn number(self) -> u64 {
        match self {
            Self::Always => 0,
            Self::Changed => 1,
            Self::Moving => 2,
        }
    }

    /// Multiples of the run's first spacing after which all rows are written again, so that whoever reads a step need not look back
    /// farther. A tenth of a second of what rests is a hundredth of what it would take.
    fn steps_of_all(self) -> u64 {
        match self {
            Self::Always => 1,
            Self::Changed => 1000,
            Self::Moving => 100,
        }
    }

    /// How many steps a reader has to look back at most for the newest row of each body and joint.
    pub(super) fn reach(self, cadence: Cadence) -> u64 {
        match self {
            Self::Always => 0,
            Self::Changed | Self::Moving => {
                self.steps_of_all().saturating_mul(cadence.every()).saturating_add(cadence.widest() - 1)
            }
        }
    }

    pub(super) fn numbered(number: u64) -> Self {
        match number {
            0 => Self::Always,
            2 => Self::Moving,
            _ => Self::Changed,
        }
    }
}

/// The rows written last, and which are to be written now.
#[derive(Debug)]
pub(super) struct Changes {
    tolerance: f64,
    steps_of_all: u64,
    /// For each body, joint and device what it belongs to: all of a group are written, or none.
    groups: [Vec<usize>; 3],
    last: [Vec<Vec<f64>>; 3],
    moving: Vec<bool>,
    last_step: u64,
}

/// The lists that [`Changes`] tells apart.
#[derive(Debug, Clone, Copy)]
pub(super) enum Of {
    Body,
    Joint,
    Device,
}

impl Changes {
    /// Nothing where all rows are written.
    pub(super) fn new(settings: &Settings, selection: &Selection, layout: &Layout) -> Option<Self> {
        let counts = [layout.bodies(), layout.joints(), layout.devices().len()];
        let apart = |first: usize, count: usize| (first..first + count).collect::<Vec<usize>>();
        let (tolerance, groups) = match Rows::of(settings) {
            Rows::Always => return None,
            Rows::Changed => {
                let [bodies, joints, devices] = counts;
                let groups = [apart(0, bodies), apart(bodies, joints), apart(bodies + joints, devices)];
                (settings.change_tolerance, groups)
            }
            Rows::Moving => {
                let [bodies, joints] = selection.wholes.clone();
                (0.0, [bodies, joints, Vec::new()])
            }
        };
        let most = groups.iter().flatten().max().map_or(0, |most| most + 1);
        let last = counts.map(|count| vec![Vec::new(); count]);
        let steps_of_all = Rows::of(settings).steps_of_all();
        Some(Self { tolerance, steps_of_all, groups, last, moving: vec![false; most], last_step: 0 })
    }

    /// Takes in a step that is logged: what of it is to be written.
    pub(super) fn take(&mut self, selection: &Selection, layout: &Layout, record: &StepRecord, cadence: Cadence) {
        let (step, interval) = (record.step.0, self.steps_of_all * cadence.every());
        if step / interval != self.last_step / interval {
            self.last.iter_mut().flatten().for_each(Vec::clear);
        }
        self.last_step = step;
        self.moving.fill(false);
        let values = &record.values;
        for &body in &selection.bodies {
            self.see(Of::Body, body.index(), &values[layout.pose(body).start..layout.wrench(body).end]);
        }
        for &joint in &selection.joints {
            self.see(Of::Joint, joint.index(), &values[layout.joint(joint)]);
        }
        for &device in selection.devices.iter().filter(|device| record.fresh[device.index()]) {
            self.see(Of::Device, device.index(), &values[layout.device(device)]);
        }
    }

    /// True if the rows are to be written.
    pub(super) fn is_moving(&self, of: Of, index: usize) -> bool {
        self.groups[of as usize].get(index).is_none_or(|&group| self.moving[group])
    }

    fn see(&mut self, of: Of, index: usize, values: &[f64]) {
        let Some(&group) = self.groups[of as usize].get(index) else { return };
        let last = &mut self.last[of as usize][index];
        // Without a tolerance to the bit, which tells 0 from -0 as a reader does.
        let same = |(old, new): (&f64, &f64)| {
            old.to_bits() == new.to_bits()
                || self.tolerance > 0.0 && (old - new).abs() <= self.tolerance
                || (old.is_nan() && new.is_nan())
        };
        if last.len() != values.len() || !last.iter().zip(values).all(same) {
            self.moving[group] = true;
            last.clear();
            last.extend(values);
        }
    }
}
