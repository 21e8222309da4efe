//! Results of a sweep as tables, figures and plots.

use std::collections::BTreeMap;

use simpartner_plot::{Line, Plot};

use crate::recorder::{CaseResult, RecorderError, SweepStore};

/// The cases of a sweep with their parameters and measures, a column for each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SweepTable {
    /// Paths of the parameters.
    pub parameters: Vec<String>,
    /// Names of the measures.
    pub measures: Vec<String>,
    /// The stored cases, in order.
    pub rows: Vec<SweepRow>,
}

/// A case in a table.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepRow {
    /// Number of the case.
    pub case: u64,
    /// Status of the case.
    pub status: String,
    /// The parameters as texts and, for numbers, as numbers.
    pub parameters: Vec<(String, Option<f64>)>,
    /// The measures; `None` for one without a value.
    pub measures: Vec<Option<f64>>,
}

/// Figures of a measure over all cases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Number of cases with a value.
    pub count: usize,
    /// Mean of the values.
    pub mean: f64,
    /// Standard deviation of the values.
    pub deviation: f64,
    /// The smallest value, the quantiles at 5, 50 and 95 %, and the largest value.
    pub quantiles: [f64; 5],
}

/// Rank correlation (Spearman) of a parameter with a measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Correlation {
    /// Path of the parameter.
    pub parameter: String,
    /// Name of the measure.
    pub measure: String,
    /// The correlation, from -1 to 1.
    pub value: f64,
}

impl SweepTable {
    /// Reads the stored cases of a sweep.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn read(store: &mut SweepStore, sweep: i64, cases: u64) -> Result<Self, RecorderError> {
        let mut parameters: BTreeMap<String, BTreeMap<u64, (String, Option<f64>)>> = BTreeMap::new();
        for number in store.parameters(sweep)? {
            parameters.entry(number.name).or_default().insert(number.case, (number.text, number.value));
        }
        let finished = store.finished(sweep, 0..cases)?;
        let mut measures: Vec<String> = Vec::new();
        for (name, _) in finished.values().flat_map(|case| &case.measures) {
            if let Err(place) = measures.binary_search(name) {
                measures.insert(place, name.clone());
            }
        }
        let row = |case: &CaseResult| SweepRow {
            case: case.case,
            status: case.status.clone(),
            parameters: parameters.values().map(|of| of.get(&case.case).cloned().unwrap_or_default()).collect(),
            measures: measures
                .iter()
                .map(|name| case.measures.iter().find(|(known, _)| known == name).and_then(|(_, value)| *value))
                .collect(),
        };
        let rows = finished.values().map(row).collect();
        Ok(Self { rows, parameters: parameters.into_keys().collect(), measures })
    }

    /// The table as CSV (RFC 4180), with a header.
    pub fn csv(&self) -> String {
        let names = self.parameters.iter().chain(&self.measures).map(|name| csv_cell(name));
        let mut text = ["case".to_owned(), "status".to_owned()].into_iter().chain(names).collect::<Vec<_>>().join(",");
        text.push('\n');
        for row in &self.rows {
            let number = |value: &Option<f64>| value.map_or(String::new(), |value| value.to_string());
            let parameters = row.parameters.iter().map(|(text, _)| csv_cell(text));
            let cells = [row.case.to_string(), csv_cell(&row.status)].into_iter().chain(parameters);
            text += &cells.chain(row.measures.iter().map(number)).collect::<Vec<_>>().join(",");
            text.push('\n');
        }
        text
    }

    /// The values of a measure, of the cases that have one.
    pub fn values(&self, measure: usize) -> Vec<f64> {
        self.rows.iter().filter_map(|row| row.measures[measure]).collect()
    }

    /// The cases with a number for a parameter and for a measure.
    pub fn points(&self, parameter: usize, measure: usize) -> Vec<(f64, f64)> {
        self.rows.iter().filter_map(|row| row.parameters[parameter].1.zip(row.measures[measure])).collect()
    }
}

/// A cell of CSV: in quotation marks if it has to be.
fn csv_cell(text: &str) -> String {
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// The figures of some values; `None` without any.
pub fn figures(values: &[f64]) -> Option<Figures> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (first, last) = (*sorted.first()?, *sorted.last()?);
    let count = sorted.len();
    let mean = sorted.iter().sum::<f64>() / count as f64;
    let squares = sorted.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>();
    let deviation = if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 };
    // Linear interpolation between neighbours, as NumPy has it.
    let quantile = |fraction: f64| {
        let place = fraction * (count - 1) as f64;
        let below = sorted[place as usize];
        let above = sorted[(place as usize + 1).min(count - 1)];
        below + (above - below) * place.fract()
    };
    Some(Figures { count, mean, deviation, quantiles: [first, quantile(0.05), quantile(0.5), quantile(0.95), last] })
}

/// Rank correlations of every parameter that is a number with every measure, the strongest first.
pub fn correlations(table: &SweepTable) -> Vec<Correlation> {
    let mut found = Vec::new();
    for (parameter, path) in table.parameters.iter().enumerate() {
        for (measure, name) in table.measures.iter().enumerate() {
            let points = table.points(parameter, measure);
            if let Some(value) = rank_correlation(&points) {
                found.push(Correlation { parameter: path.clone(), measure: name.clone(), value });
            }
        }
    }
    found.sort_by(|one, other| other.value.abs().total_cmp(&one.value.abs()));
    found
}

/// Correlation of the ranks; `None` if one of both does not vary.
fn rank_correlation(points: &[(f64, f64)]) -> Option<f64> {
    let first = ranks_of(&points.iter().map(|point| point.0).collect::<Vec<_>>());
    let second = ranks_of(&points.iter().map(|point| point.1).collect::<Vec<_>>());
    let mean = (points.len() as f64 + 1.0) / 2.0;
    let product =
        |one: &[f64], other: &[f64]| -> f64 { one.iter().zip(other).map(|(a, b)| (a - mean) * (b - mean)).sum() };
    let scale = (product(&first, &first) * product(&second, &second)).sqrt();
    (scale > 0.0).then(|| product(&first, &second) / scale)
}

/// Ranks of values from 1; equal values have the mean of their ranks.
fn ranks_of(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&one, &other| values[one].total_cmp(&values[other]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let equal = order[from..].iter().take_while(|&&place| values[place] == values[order[from]]).count();
        let mean = from as f64 + (equal as f64 + 1.0) / 2.0;
        order[from..from + equal].iter().for_each(|&place| ranks[place] = mean);
        from += equal;
    }
    ranks
}

/// Plot of a measure over a parameter: a point for each case.
pub fn scatter(table: &SweepTable, parameter: usize, measure: usize) -> Plot {
    let points = table.points(parameter, measure);
    let (path, name) = (&table.parameters[parameter], &table.measures[measure]);
    let mut plot = Plot::new(format!("{name} over {path}"), path, name);
    plot.add(name.clone(), Line::Scattered(0), points);
    plot
}

/// Histogram of a measure: numbers of cases in equal intervals. Their number is the square root of the number of cases.
pub fn histogram(table: &SweepTable, measure: usize) -> Plot {
    let values = table.values(measure);
    let name = &table.measures[measure];
    let mut plot = Plot::new(format!("Distribution of {name}"), name, "cases");
    let Some(Figures { quantiles: [lowest, .., highest], count, .. }) = figures(&values) else { return plot };
    let bins = ((count as f64).sqrt().ceil() as usize).max(1);
    let width = ((highest - lowest) / bins as f64).max(f64::MIN_POSITIVE);
    let mut counts = vec![0_u64; bins];
    values.iter().for_each(|value| counts[(((value - lowest) / width) as usize).min(bins - 1)] += 1);
    let mut outline = vec![(lowest, 0.0)];
    for (bin, count) in counts.iter().enumerate() {
        let left = lowest + width * bin as f64;
        outline.extend([(left, *count as f64), (left + width, *count as f64)]);
    }
    outline.push((lowest + width * bins as f64, 0.0));
    plot.add(name.clone(), Line::Measured(0), outline);
    plot
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_equal_values_are_their_mean() {
        assert_eq!(ranks_of(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        let monotone: Vec<(f64, f64)> = (1..9).map(|x| (f64::from(x), f64::from(x).powi(3))).collect();
        assert!((rank_correlation(&monotone).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(rank_correlation(&[(1.0, 1.0), (1.0, 2.0)]), None);
    }

    #[test]
    fn quantiles_are_those_of_numpy() {
        let figures = figures(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((figures.count, figures.mean), (4, 2.5));
        assert_eq!(figures.quantiles, [1.0, 1.15, 2.5, 3.8499999999999996, 4.0]);
        assert!((figures.deviation - (5.0_f64 / 3.0).sqrt()).abs() < 1e-15);
    }
}
