//! Which rows differ from those before them, and so are written.

use simpartner_wire::signal::{Layout, StepRecord};

use super::{logged_components::LoggedComponents, settings::Settings};
use crate::format::{cadence::Cadence, component::ComponentKind, row_policy::RowPolicy};

/// The values that were written last, and which rows are to be written now.
#[derive(Debug)]
pub(super) struct Changes {
    tolerance: f64,
    refresh_interval: u64,
    /// The group of each body, joint and device: all rows of a group are written, or none.
    groups: [Vec<usize>; 3],
    last: [Vec<Vec<f64>>; 3],
    moving: Vec<bool>,
    last_step: u64,
}

impl Changes {
    /// `None` where all rows are written.
    pub(super) fn new(settings: &Settings, logged: &LoggedComponents, layout: &Layout) -> Option<Self> {
        let counts = [layout.bodies(), layout.joints(), layout.devices().len()];
        let apart = |first: usize, count: usize| (first..first + count).collect::<Vec<usize>>();
        let (tolerance, groups) = match settings.row_policy() {
            RowPolicy::Always => return None,
            RowPolicy::Changed => {
                let [bodies, joints, devices] = counts;
                let groups = [apart(0, bodies), apart(bodies, joints), apart(bodies + joints, devices)];
                (settings.change_tolerance, groups)
            }
            RowPolicy::Moving => {
                let [bodies, joints] = logged.groups.clone();
                (0.0, [bodies, joints, Vec::new()])
            }
        };
        let most = groups.iter().flatten().max().map_or(0, |most| most + 1);
        let last = counts.map(|count| vec![Vec::new(); count]);
        let refresh_interval = settings.row_policy().refresh_interval();
        Some(Self { tolerance, refresh_interval, groups, last, moving: vec![false; most], last_step: 0 })
    }

    /// Finds which rows of a logged step are to be written.
    pub(super) fn take(&mut self, logged: &LoggedComponents, layout: &Layout, record: &StepRecord, cadence: Cadence) {
        let (step, interval) = (record.step.0, self.refresh_interval * cadence.every());
        if step / interval != self.last_step / interval {
            self.last.iter_mut().flatten().for_each(Vec::clear);
        }
        self.last_step = step;
        self.moving.fill(false);
        let values = &record.values;
        for &body in &logged.bodies {
            self.compare(ComponentKind::Body, body.index(), &values[layout.pose(body).start..layout.wrench(body).end]);
        }
        for &joint in &logged.joints {
            self.compare(ComponentKind::Joint, joint.index(), &values[layout.joint(joint)]);
        }
        for &device in logged.devices.iter().filter(|device| record.fresh[device.index()]) {
            self.compare(ComponentKind::Device, device.index(), record.device(layout, device));
        }
    }

    /// Whether the rows of a component are to be written.
    pub(super) fn is_written(&self, kind: ComponentKind, index: usize) -> bool {
        self.groups[kind as usize].get(index).is_none_or(|&group| self.moving[group])
    }

    fn compare(&mut self, kind: ComponentKind, index: usize, values: &[f64]) {
        let Some(&group) = self.groups[kind as usize].get(index) else { return };
        let last = &mut self.last[kind as usize][index];
        // Without a tolerance by their bits, which tell 0 from -0 as a reader does.
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
