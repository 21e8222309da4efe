//! Change detection: selects the rows to write, if the settings leave out rows whose values have not changed.

use simpartner_wire::signal::{Layout, StepRecord};

use super::{logged_components::LoggedComponents, settings::Settings};
use crate::format::{cadence::Cadence, component::ComponentKind, row_policy::RowPolicy};

/// The values written last, and the groups whose rows are written in the present step.
#[derive(Debug)]
pub(super) struct Changes {
    /// Largest change of a number that still counts as no change, in the number's unit; 0 compares bit by bit.
    tolerance: f64,
    /// Number of logged steps after which every row is written again.
    refresh_interval: u64,
    /// Group of each body, joint and device, by [`ComponentKind`]: all rows of a group are written, or none.
    groups: [Vec<usize>; 3],
    /// Values written last of each body, joint and device; empty before the first row and at a refresh.
    last: [Vec<Vec<f64>>; 3],
    /// For each group, true if one of its members has changed in the present step.
    changed: Vec<bool>,
    /// Last step given to [`Changes::find_changed`].
    last_step: u64,
}

impl Changes {
    /// Change detection for a run; `None` if the settings write all rows.
    pub(super) fn new(settings: &Settings, logged: &LoggedComponents, layout: &Layout) -> Option<Self> {
        let counts = [layout.bodies(), layout.joints(), layout.devices().len()];
        let own_groups = |first: usize, count: usize| (first..first + count).collect::<Vec<usize>>();
        let (tolerance, groups) = match settings.row_policy() {
            RowPolicy::Always => return None,
            RowPolicy::Changed => {
                let [bodies, joints, devices] = counts;
                let groups = [own_groups(0, bodies), own_groups(bodies, joints), own_groups(bodies + joints, devices)];
                (settings.change_tolerance, groups)
            }
            RowPolicy::Moving => {
                let [bodies, joints] = logged.groups.clone();
                (0.0, [bodies, joints, Vec::new()])
            }
        };
        let group_count = groups.iter().flatten().max().map_or(0, |highest| highest + 1);
        let last = counts.map(|count| vec![Vec::new(); count]);
        let refresh_interval = settings.row_policy().refresh_interval();
        Some(Self { tolerance, refresh_interval, groups, last, changed: vec![false; group_count], last_step: 0 })
    }

    /// Finds the groups that have changed in a logged step.
    pub(super) fn find_changed(
        &mut self,
        logged: &LoggedComponents,
        layout: &Layout,
        record: &StepRecord,
        cadence: Cadence,
    ) {
        let (step, interval) = (record.step.0, self.refresh_interval * cadence.every());
        if step / interval != self.last_step / interval {
            self.last.iter_mut().flatten().for_each(Vec::clear);
        }
        self.last_step = step;
        self.changed.fill(false);
        let values = &record.values;
        for &body in &logged.bodies {
            self.compare_with_last(
                ComponentKind::Body,
                body.index(),
                &values[layout.pose(body).start..layout.wrench(body).end],
            );
        }
        for &joint in &logged.joints {
            self.compare_with_last(ComponentKind::Joint, joint.index(), &values[layout.joint(joint)]);
        }
        for &device in logged.devices.iter().filter(|device| record.fresh[device.index()]) {
            self.compare_with_last(ComponentKind::Device, device.index(), record.device(layout, device));
        }
    }

    /// True if the rows of a component are to be written.
    pub(super) fn is_written(&self, kind: ComponentKind, index: usize) -> bool {
        self.groups[kind as usize].get(index).is_none_or(|&group| self.changed[group])
    }

    fn compare_with_last(&mut self, kind: ComponentKind, index: usize, values: &[f64]) {
        let Some(&group) = self.groups[kind as usize].get(index) else { return };
        let last = &mut self.last[kind as usize][index];
        // Without a tolerance the bits are compared: they distinguish 0 from -0, as a reader does.
        let same = |(old, new): (&f64, &f64)| {
            old.to_bits() == new.to_bits()
                || self.tolerance > 0.0 && (old - new).abs() <= self.tolerance
                || (old.is_nan() && new.is_nan())
        };
        if last.len() != values.len() || !last.iter().zip(values).all(same) {
            self.changed[group] = true;
            last.clear();
            last.extend(values);
        }
    }
}
