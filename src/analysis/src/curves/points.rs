//! Reads the points of lines from the log, those of one body, joint or device in one pass.

use std::collections::BTreeMap;

use crate::{AnalysisError, Progress, table};
use simpartner_recorder::{
    Inquiry, RecordedRun,
    inquiry::{Selection, parse_numbers},
};

/// Intervals of time of which the lowest and the highest value are kept, so that no peak is lost and no run is too long: about one for
/// each unit of a plot's width. A line that is drawn over another quantity than time has as many points.
const INTERVALS: u64 = 600;

/// A line to be drawn.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    pub(super) name: String,
    pub(super) unit: String,
    pub(super) table: &'static str,
    /// The column of the component's number, and the number; none of the clock.
    pub(super) component: Option<(&'static str, i64)>,
    pub(super) field: String,
    /// The place of the field among those of a device.
    pub(super) place: usize,
}

/// A number and its step.
type Sample = (u64, f64);

/// The points of each line, over time or over the other curves.
pub(super) fn points(
    inquiry: &mut Inquiry,
    run: &RecordedRun,
    lines: &[Curve],
    over: Option<&[Curve]>,
    steps: (u64, u64),
    progress: &mut dyn Progress,
) -> Result<Vec<Vec<(f64, f64)>>, AnalysisError> {
    let seconds = run.timestep.seconds();
    let interval = (steps.1 - steps.0 + 1).div_ceil(INTERVALS);
    let Some(over) = over else {
        let mut kept: Vec<Peaks> = lines.iter().map(|_| Peaks::default()).collect();
        let selection = Wanted { run, steps, every: 1 };
        read(inquiry, &selection, lines, progress, |line, sample| kept[line].add(sample, interval))?;
        return Ok(kept.iter().map(|kept| kept.points(seconds)).collect());
    };
    // Both quantities are taken at the same steps.
    let every = interval.checked_next_multiple_of(run.cadence.spacing(steps.1)).unwrap_or(u64::MAX);
    let both: Vec<Curve> = lines.iter().chain(over).cloned().collect();
    let mut samples: Vec<BTreeMap<u64, f64>> = vec![BTreeMap::new(); both.len()];
    read(inquiry, &Wanted { run, steps, every }, &both, progress, |line, (step, value)| {
        samples[line].insert(step, value);
    })?;
    let (up, across) = samples.split_at(lines.len());
    Ok(up.iter().zip(across).map(|(up, across)| paired(up, across)).collect())
}

/// Which steps of which run.
struct Wanted<'a> {
    run: &'a RecordedRun,
    steps: (u64, u64),
    every: u64,
}

/// Goes through the numbers of all curves, each source once.
fn read(
    inquiry: &mut Inquiry,
    wanted: &Wanted<'_>,
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
            ..Selection::all(table(name)?, wanted.run.simulation_id)
        };
        if name == "sensorReading" {
            // Of a reading each number is a row of its own.
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

/// The lowest and the highest value of each interval of time.
#[derive(Default)]
struct Peaks {
    kept: Vec<(u64, [Sample; 2])>,
    end: Option<Sample>,
}

impl Peaks {
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

    fn points(&self, seconds: f64) -> Vec<(f64, f64)> {
        let point = |(step, value): Sample| (step as f64 * seconds, value);
        let mut points = Vec::new();
        for &(_, [low, high]) in &self.kept {
            let (first, second) = if low.0 <= high.0 { (low, high) } else { (high, low) };
            points.push(point(first));
            points.extend(Some(second).filter(|second| second.0 != first.0).map(point));
        }
        // Where nothing moves an interval has one point; the line goes on to the end all the same.
        let end = self.end.map(point);
        points.extend(end.filter(|end| points.last().is_some_and(|last| last.0 < end.0)));
        points
    }
}

/// One quantity over the other, in the order of time. What has no number in a step, since it rests or has a rate of its own, is
/// as it was before.
fn paired(up: &BTreeMap<u64, f64>, across: &BTreeMap<u64, f64>) -> Vec<(f64, f64)> {
    let mut steps: Vec<u64> = up.keys().chain(across.keys()).copied().collect();
    steps.sort_unstable();
    steps.dedup();
    let at = |of: &BTreeMap<u64, f64>, step: u64| of.range(..=step).next_back().map(|(_, value)| *value);
    steps.into_iter().filter_map(|step| at(across, step).zip(at(up, step))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_not_there_is_the_one_before() {
        let of = |samples: &[Sample]| samples.iter().copied().collect::<BTreeMap<u64, f64>>();
        let (up, across) = (of(&[(1, 10.0), (2, 20.0), (4, 40.0)]), of(&[(2, 0.2), (3, 0.3)]));
        assert_eq!(paired(&up, &across), [(0.2, 20.0), (0.3, 20.0), (0.3, 40.0)]);
        assert_eq!(paired(&up, &BTreeMap::new()), []);
    }
}
