//! Reads the points of curves from the log. All curves of a body, joint or device are read in one pass.

use std::collections::BTreeMap;

use crate::{AnalysisError, Progress, find_table};
use simpartner_recorder::{
    Inquiry, RecordedRun,
    inquiry::{Selection, parse_numbers},
};

/// Number of time intervals of a curve: about one for each unit of a plot's width. The lowest and the highest value of
/// each interval are kept, so that no peak is lost and the number of points is bounded. A curve over another quantity
/// than time has as many points as there are intervals.
const INTERVALS_PER_CURVE: u64 = 600;

/// A curve to be drawn.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    pub(super) name: String,
    pub(super) unit: String,
    pub(super) table: &'static str,
    /// Column of the component's number, and the number; `None` for a quantity of the clock.
    pub(super) component: Option<(&'static str, i64)>,
    pub(super) field: String,
    /// Index of the field among those of a device.
    pub(super) place: usize,
}

/// A step and the value at this step.
type Sample = (u64, f64);

/// Reads the points of each curve in `lines`, over time, s, or over the curve of the same index in `over`.
pub(super) fn read_points(
    inquiry: &mut Inquiry,
    run: &RecordedRun,
    lines: &[Curve],
    over: Option<&[Curve]>,
    steps: (u64, u64),
    progress: &mut dyn Progress,
) -> Result<Vec<Vec<(f64, f64)>>, AnalysisError> {
    let seconds = run.timestep.seconds();
    let interval = (steps.1 - steps.0 + 1).div_ceil(INTERVALS_PER_CURVE);
    let Some(over) = over else {
        let mut kept: Vec<Peaks> = lines.iter().map(|_| Peaks::default()).collect();
        let selection = SampledSteps { run, steps, every: 1 };
        read_samples(inquiry, &selection, lines, progress, |line, sample| kept[line].add(sample, interval))?;
        return Ok(kept.iter().map(|kept| kept.points(seconds)).collect());
    };
    // Both quantities are sampled at the same steps.
    let every = interval.checked_next_multiple_of(run.cadence.spacing(steps.1)).unwrap_or(u64::MAX);
    let both: Vec<Curve> = lines.iter().chain(over).cloned().collect();
    let mut samples: Vec<BTreeMap<u64, f64>> = vec![BTreeMap::new(); both.len()];
    read_samples(inquiry, &SampledSteps { run, steps, every }, &both, progress, |line, (step, value)| {
        samples[line].insert(step, value);
    })?;
    let (up, across) = samples.split_at(lines.len());
    Ok(up.iter().zip(across).map(|(up, across)| pair_samples(up, across)).collect())
}

/// Steps of a run at which curves are sampled: multiples of `every` from the first to the last of `steps`.
struct SampledSteps<'a> {
    run: &'a RecordedRun,
    steps: (u64, u64),
    every: u64,
}

/// Calls `take` with the index of a curve and a sample, for all samples of all curves. The rows of each component are
/// read once.
fn read_samples(
    inquiry: &mut Inquiry,
    wanted: &SampledSteps<'_>,
    curves: &[Curve],
    progress: &mut dyn Progress,
    mut take: impl FnMut(usize, Sample),
) -> Result<(), AnalysisError> {
    let mut sources: BTreeMap<(&str, Option<i64>), Vec<usize>> = BTreeMap::new();
    for (index, curve) in curves.iter().enumerate() {
        sources.entry((curve.table, curve.component.map(|(_, number)| number))).or_default().push(index);
    }
    progress.begin("lines", curves.len() as u64);
    let mut done = 0;
    for ((name, _), lines) in sources {
        let first = &curves[lines[0]];
        let selection = Selection {
            steps: Some(wanted.steps),
            every: wanted.every,
            among: first.component.map(|(column, number)| (column, vec![number])),
            ..Selection::all(find_table(name)?, wanted.run.simulation_id)
        };
        if name == "sensorReading" {
            // Each number of a reading is a row of its own.
            inquiry.rows::<AnalysisError>(&selection, &["step", "value", "field"], |row| {
                let of_field = lines.iter().filter(|&&line| curves[line].field == row[2].text());
                if let (Some(step), Some(value)) = (row[0].integer(), row[1].number()) {
                    of_field.for_each(|&line| take(line, (step as u64, value)));
                }
                Ok(())
            })?;
        } else if name == "scan" {
            inquiry.rows::<AnalysisError>(&selection, &["step", "distances"], |row| {
                let (Some(step), numbers) = (row[0].integer(), parse_numbers(row[1].text())) else { return Ok(()) };
                for &line in &lines {
                    let number = numbers.get(curves[line].place).filter(|number| number.is_finite());
                    number.into_iter().for_each(|&number| take(line, (step as u64, number)));
                }
                Ok(())
            })?;
        } else {
            let fields = lines.iter().map(|&line| curves[line].field.as_str());
            let columns: Vec<&str> = std::iter::once("step").chain(fields).collect();
            inquiry.rows::<AnalysisError>(&selection, &columns, |row| {
                let Some(step) = row[0].integer() else { return Ok(()) };
                for (&line, value) in lines.iter().zip(&row[1..]) {
                    if let Some(value) = value.number() {
                        take(line, (step as u64, value));
                    }
                }
                Ok(())
            })?;
        }
        done += lines.len() as u64;
        progress.reach(done);
    }
    Ok(())
}

/// The lowest and the highest sample of each time interval.
#[derive(Default)]
struct Peaks {
    /// Number of the interval, lowest and highest sample.
    kept: Vec<(u64, [Sample; 2])>,
    /// Last sample.
    end: Option<Sample>,
}

impl Peaks {
    /// Adds a sample. `interval` is the length of an interval, in steps.
    fn add(&mut self, sample: Sample, interval: u64) {
        self.end = Some(sample);
        let here = sample.0 / interval;
        match self.kept.last_mut().filter(|(last, _)| *last == here) {
            Some((_, [low, high])) => {
                *low = if sample.1 < low.1 { sample } else { *low };
                *high = if sample.1 > high.1 { sample } else { *high };
            }
            None => self.kept.push((here, [sample; 2])),
        }
    }

    /// Points of the curve over time. `seconds` is the length of a step.
    fn points(&self, seconds: f64) -> Vec<(f64, f64)> {
        let point = |(step, value): Sample| (step as f64 * seconds, value);
        let mut points = Vec::new();
        for &(_, [low, high]) in &self.kept {
            let (first, second) = if low.0 <= high.0 { (low, high) } else { (high, low) };
            points.push(point(first));
            points.extend(Some(second).filter(|second| second.0 != first.0).map(point));
        }
        // While nothing moves, an interval has one point only. The last sample is added, so that the curve reaches the
        // end.
        let end = self.end.map(point);
        points.extend(end.filter(|end| points.last().is_some_and(|last| last.0 < end.0)));
        points
    }
}

/// Points of one quantity over the other, in the order of time. A quantity without a number in a step, because it did
/// not change or has a rate of its own, keeps its last value.
fn pair_samples(up: &BTreeMap<u64, f64>, across: &BTreeMap<u64, f64>) -> Vec<(f64, f64)> {
    let mut steps: Vec<u64> = up.keys().chain(across.keys()).copied().collect();
    steps.sort_unstable();
    steps.dedup();
    let value_at = |of: &BTreeMap<u64, f64>, step: u64| of.range(..=step).next_back().map(|(_, value)| *value);
    steps.into_iter().filter_map(|step| value_at(across, step).zip(value_at(up, step))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_not_there_is_the_one_before() {
        let of = |samples: &[Sample]| samples.iter().copied().collect::<BTreeMap<u64, f64>>();
        let (up, across) = (of(&[(1, 10.0), (2, 20.0), (4, 40.0)]), of(&[(2, 0.2), (3, 0.3)]));
        assert_eq!(pair_samples(&up, &across), [(0.2, 20.0), (0.3, 20.0), (0.3, 40.0)]);
        assert_eq!(pair_samples(&up, &BTreeMap::new()), []);
    }
}
