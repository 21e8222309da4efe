//! Reads the checksums of a run's batches.

use crate::{database::error::RecorderError, format::checksum::Checksums, read::inquiry::Inquiry};

/// Number of batches whose checksums are read at a time. Each batch has about 500 bytes of them.
const BATCHES_PER_PAGE: u64 = 256;

/// A group of batches with overlapping ranges of steps, nearly always a single batch. While the clock is paused, events
/// and commands go into further batches of the same step.
#[derive(Debug, Clone)]
pub(super) struct BatchGroup {
    /// True if no batch is missing before the group or in it. Otherwise some rows of its steps may have no checksums.
    pub(super) follows: bool,
    /// First and last step; `None` for the model.
    pub(super) steps: Option<(u64, u64)>,
    /// Sum of the checksums of the batches.
    pub(super) checksums: Checksums,
}

/// Reads the batches of a run, in groups.
pub(super) struct BatchReader {
    run: i64,
    /// Batches read and not yet returned.
    read: Vec<BatchGroup>,
    /// Number of the last batch read; `None` after the last page.
    at: Option<u64>,
    /// Number of batches read.
    count: u64,
    findings: Vec<String>,
}

impl BatchReader {
    pub(super) fn new(run: i64) -> Self {
        Self { run, read: Vec::new(), at: Some(0), count: 0, findings: Vec::new() }
    }

    /// Number of batches read.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Takes the findings about the batches themselves.
    pub(super) fn take_findings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.findings)
    }

    /// The next group; `None` after the last one.
    pub(super) fn next_group(&mut self, inquiry: &mut Inquiry) -> Result<Option<BatchGroup>, RecorderError> {
        self.read_page(inquiry)?;
        if self.read.is_empty() {
            return Ok(None);
        }
        let mut group = self.read.remove(0);
        while let Some((_, last)) = group.steps {
            self.read_page(inquiry)?;
            let Some(next) = self.read.first() else { break };
            let Some((first, end)) = next.steps.filter(|(first, _)| *first <= last) else { break };
            group.checksums.add(&next.checksums);
            group.follows &= next.follows;
            group.steps = group.steps.map(|(begin, last)| (begin.min(first), last.max(end)));
            self.read.remove(0);
        }
        Ok(Some(group))
    }

    /// Reads the next page of batches if all read ones have been returned.
    fn read_page(&mut self, inquiry: &mut Inquiry) -> Result<(), RecorderError> {
        let (Some(at), true) = (self.at, self.read.is_empty()) else { return Ok(()) };
        let (mut last, run) = (at, self.run);
        let sql = format!(
            "SELECT number, first_step, last_step, checksum, sums FROM batch WHERE simulationID = {run} AND number > {at}
            ORDER BY number LIMIT {BATCHES_PER_PAGE}"
        );
        let (read, findings) = (&mut self.read, &mut self.findings);
        inquiry.for_each_row(&sql, |row| {
            let count = |column: usize| row[column].integer().and_then(|number| u64::try_from(number).ok());
            let number = count(0).unwrap_or(u64::MAX);
            let follows = number == last + 1;
            if !follows {
                findings.push(missing_batches(last + 1, number - 1));
            }
            last = number;
            let checksums = Checksums::from_bytes(row[3].integer().unwrap_or(0), row[4].bytes());
            if checksums.is_none() {
                findings.push(format!("the checksums of batch {number} are damaged"));
            }
            read.push(BatchGroup {
                follows: follows && checksums.is_some(),
                // The first batch is the model.
                steps: count(1).zip(count(2)).filter(|(first, last)| number > 1 && first <= last),
                checksums: checksums.unwrap_or_default(),
            });
            Ok::<_, RecorderError>(())
        })?;
        self.count += self.read.len() as u64;
        self.at = (self.read.len() as u64 == BATCHES_PER_PAGE).then_some(last);
        Ok(())
    }
}

fn missing_batches(first: u64, last: u64) -> String {
    match first == last {
        true => format!("batch {first} is missing, and with it its rows or their checksums"),
        false => format!("batches {first} to {last} are missing, and with them their rows or their checksums"),
    }
}
