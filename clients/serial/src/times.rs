//! Round-trip times of the serial line: from a line to the controller to the first line back.

use std::{
    fmt,
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;

/// Collects times.
#[derive(Debug)]
pub struct Times {
    histogram: Histogram<u64>,
    sent: Option<Instant>,
}

/// Times in figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// Number of answers.
    pub count: u64,
    /// Median.
    pub p50: Duration,
    /// 99 of 100 are below.
    pub p99: Duration,
    /// The longest.
    pub max: Duration,
}

impl Default for Times {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, 60_000_000_000, 3);
        Self { histogram: histogram.expect("the bounds are in order and 3 digits are allowed"), sent: None }
    }
}

impl Times {
    /// A line that wants an answer has been written.
    pub fn sent(&mut self) {
        self.sent = Some(Instant::now());
    }

    /// Records a received line; the first one after a sent line is its answer.
    pub fn received(&mut self) {
        if let Some(sent) = self.sent.take() {
            let nanoseconds = u64::try_from(sent.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.histogram.saturating_record(nanoseconds.max(1));
        }
    }

    /// Messages under way have been lost.
    pub fn lost(&mut self) {
        self.sent = None;
    }

    /// The figures so far.
    pub fn summary(&self) -> Summary {
        let at = |quantile| Duration::from_nanos(self.histogram.value_at_quantile(quantile));
        Summary {
            count: self.histogram.len(),
            p50: at(0.5),
            p99: at(0.99),
            max: Duration::from_nanos(self.histogram.max()),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |time: Duration| time.as_secs_f64() * 1e6;
        let (p50, p99, max) = (us(self.p50), us(self.p99), us(self.max));
        write!(formatter, "round trips {}: p50 {p50:.1} us, p99 {p99:.1} us, max {max:.1} us", self.count)
    }
}
