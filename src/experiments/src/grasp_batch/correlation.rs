//! Correlation of the measures of a grasp's quality with the success of the lift.

use std::cmp::Ordering;

use simpartner_grasp::task::{Measures, Status};

use super::Row;
use simpartner_plot::{Document, Line, Plot};

/// Number of groups of equal size into which the grasps are sorted for the picture. In a large batch each then has
/// hundreds of thousands.
const GROUP_COUNT: usize = 10;

/// Correlation of all measures with the success of the lift, over the rows of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Correlation {
    /// Number of grasps that touched the object and began the lift.
    pub lifted: usize,
    /// Number of these whose lift succeeded.
    pub succeeded: usize,
    /// Correlation of each measure.
    pub measures: Vec<MeasureCorrelation>,
}

/// Correlation of a measure before the lift with the success of the lift.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasureCorrelation {
    /// Name of the measure.
    pub name: &'static str,
    /// Means of the measure: of grasps whose lift succeeded, and of the others.
    pub means: [f64; 2],
    /// Pearson's coefficient, with success as 1 and failure as 0.
    pub pearson: Option<f64>,
    /// Spearman's coefficient: the same for ranks, which does not assume a linear relation.
    pub spearman: Option<f64>,
    /// Area under the ROC curve: the probability that a random success has a larger measure than a random failure, with
    /// ties counted half (Mann and Whitney). At 0.5 the measure predicts nothing.
    pub auc: Option<f64>,
    /// Rates of success in groups of equal size, the group with the smallest measures first.
    pub rates: Vec<f64>,
}

/// Correlates the measures of the grasps of a batch with the success of their lifts.
pub fn correlate(rows: &[Row]) -> Correlation {
    let lifted: Vec<([f64; 7], bool)> = rows
        .iter()
        .filter(|row| row.outcome.status.is_lift())
        .filter_map(|row| Some((row.outcome.quality?.values(), row.outcome.status == Status::Success)))
        .collect();
    let success: Vec<f64> = lifted.iter().map(|(_, success)| f64::from(*success)).collect();
    let measure = |index: usize| {
        let values: Vec<f64> = lifted.iter().map(|(values, _)| values[index]).collect();
        MeasureCorrelation {
            name: Measures::NAMES[index],
            means: [1.0, 0.0]
                .map(|wanted| mean(values.iter().zip(&success).filter(|(_, s)| **s == wanted).map(|(v, _)| *v))),
            pearson: pearson(&values, &success),
            spearman: pearson(&ranks(&values), &ranks(&success)),
            auc: area_under_curve(&values, &success),
            rates: success_rates(&values, &success),
        }
    };
    Correlation {
        lifted: lifted.len(),
        succeeded: lifted.iter().filter(|(_, success)| *success).count(),
        measures: (0..Measures::NAMES.len()).map(measure).collect(),
    }
}

impl Correlation {
    /// Plots of the rates of success over the ranks of the measures, as SVG.
    pub fn picture(&self, title: &str) -> String {
        let plot = |which: &dyn Fn(&str) -> bool, name: &str| {
            let mut plot = Plot::new(name, "rank of the grasp by the measure, %", "lifts that succeed, %");
            for (number, measure) in self.measures.iter().filter(|measure| which(measure.name)).enumerate() {
                let points = measure.rates.iter().enumerate();
                let middle = |group: usize| 100.0 * (group as f64 + 0.5) / measure.rates.len() as f64;
                let points = points.map(|(group, rate)| (middle(group), 100.0 * rate)).collect();
                let auc = measure.auc.map_or(String::new(), |auc| format!(" (AUC {auc:.2})"));
                plot.add(format!("{}{auc}", measure.name), Line::Marked(number), points);
            }
            plot
        };
        let of_space = |name: &str| !matches!(name, "centroid" | "squeeze" | "volume");
        let plots = vec![
            plot(&of_space, "Wrench space, by how far it reaches"),
            plot(&|name| !of_space(name), "Its volume, where the contacts are, how hard they press"),
        ];
        Document { title: title.to_owned(), plots }.svg()
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0u64, 0.0), |(count, sum), value| (count + 1, sum + value));
    if count == 0 { f64::NAN } else { sum / count as f64 }
}

/// Pearson's coefficient; `None` if one of the two variables is constant.
fn pearson(a: &[f64], b: &[f64]) -> Option<f64> {
    let (middle_a, middle_b) = (mean(a.iter().copied()), mean(b.iter().copied()));
    let sum =
        |f: &dyn Fn(f64, f64) -> f64| -> f64 { a.iter().zip(b).map(|(a, b)| f(a - middle_a, b - middle_b)).sum() };
    let (both, square_a, square_b) = (sum(&|a, b| a * b), sum(&|a, _| a * a), sum(&|_, b| b * b));
    let scale = (square_a * square_b).sqrt();
    (scale > 0.0).then(|| both / scale)
}

/// Indices of the values in ascending order.
fn ascending_order(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]).then(a.cmp(b)));
    order
}

/// Ranks of the values from 1; equal values have the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let order = ascending_order(values);
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    while first < order.len() {
        let equal = |place: &&usize| values[**place].total_cmp(&values[order[first]]) == Ordering::Equal;
        let count = order[first..].iter().take_while(equal).count();
        for place in &order[first..first + count] {
            ranks[*place] = first as f64 + (count as f64 + 1.0) / 2.0;
        }
        first += count;
    }
    ranks
}

/// Area under the ROC curve; `None` without a success or without a failure.
fn area_under_curve(values: &[f64], success: &[f64]) -> Option<f64> {
    let good = success.iter().filter(|success| **success == 1.0).count() as f64;
    let bad = success.len() as f64 - good;
    let sum: f64 =
        ranks(values).iter().zip(success).filter(|(_, success)| **success == 1.0).map(|(rank, _)| rank).sum();
    (good > 0.0 && bad > 0.0).then(|| (sum - good * (good + 1.0) / 2.0) / (good * bad))
}

/// Rate of success in each group. Grasps with equal values count with the mean of their successes, so that the result
/// does not depend on the group they fall into.
fn success_rates(values: &[f64], success: &[f64]) -> Vec<f64> {
    let order = ascending_order(values);
    let ranks = ranks(values);
    let mut shared = vec![0.0; values.len()];
    let mut first = 0;
    while first < order.len() {
        let count = order[first..].iter().take_while(|place| ranks[**place] == ranks[order[first]]).count();
        let equal = &order[first..first + count];
        let rate = mean(equal.iter().map(|place| success[*place]));
        equal.iter().for_each(|place| shared[*place] = rate);
        first += count;
    }
    let groups = GROUP_COUNT.min(order.len());
    let bound = |group: usize| group * order.len() / groups.max(1);
    (0..groups).map(|group| mean(order[bound(group)..bound(group + 1)].iter().map(|place| shared[*place]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spearman's coefficient by hand. Less their means, the ranks 1, 2.5, 2.5, 4 and 1.5, 1.5, 3.5, 3.5 have products
    /// that sum to 3, and squares that sum to 4.5 and 4.
    #[test]
    fn coefficients_are_those_of_the_textbook() {
        let (values, success) = ([1.0, 5.0, 5.0, 9.0], [0.0, 0.0, 1.0, 1.0]);
        assert_eq!(ranks(&values), [1.0, 2.5, 2.5, 4.0]);
        let spearman = pearson(&ranks(&values), &ranks(&success)).unwrap_or_default();
        assert!((spearman - 3.0 / (4.5f64 * 4.0).sqrt()).abs() < 1e-12, "{spearman}");
        // Of the four pairs of a success and a failure three are in order, and one is a tie.
        assert_eq!(area_under_curve(&values, &success), Some(0.875));
        assert_eq!(success_rates(&values, &success), [0.0, 0.5, 0.5, 1.0]);
        assert_eq!(pearson(&[1.0, 1.0], &[0.0, 1.0]), None);
        assert_eq!(area_under_curve(&[1.0], &[1.0]), None);
    }
}
