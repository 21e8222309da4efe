//! The batches of a run with their checksums.

use crate::{database::error::RecorderError, format::checksum::Checksums, read::inquiry::Inquiry};

/// Batches whose checksums are read at a time: about 500 bytes each.
const PAGE: u64 = 256;

/// Batches whose rows cannot be told apart by their steps, nearly always one: events and commands while the clock is paused
/// are in later batches of the same step.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// Whether the batch before it is there: if not, some rows of its steps may have no checksums.
    pub(super) follows: bool,
    /// The first and the last step; none for the model.
    pub(super) steps: Option<(u64, u64)>,
    pub(super) checksums: Checksums,
}

/// Reads the batches of a run, in groups.
pub(super) struct Groups {
    run: i64,
    read: Vec<Group>,
    /// The number of the last batch that was read; none if there are no more.
    at: Option<u64>,
    count: u64,
    findings: Vec<String>,
}

impl Groups {
    pub(super) fn new(run: i64) -> Self {
        Self { run, read: Vec::new(), at: Some(0), count: 0, findings: Vec::new() }
    }

    /// How many batches were read.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Problems of the batches themselves.
    pub(super) fn take_findings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.findings)
    }

    pub(super) fn next(&mut self, inquiry: &mut Inquiry) -> Result<Option<Group>, RecorderError> {
        self.fill(inquiry)?;
        if self.read.is_empty() {
            return Ok(None);
        }
        let mut group = self.read.remove(0);
        while let Some((_, last)) = group.steps {
            self.fill(inquiry)?;
            let Some(next) = self.read.first() else { break };
            let Some((first, end)) = next.steps.filter(|(first, _)| *first <= last) else { break };
            group.checksums.add(&next.checksums);
            group.follows &= next.follows;
            group.steps = group.steps.map(|(begin, last)| (begin.min(first), last.max(end)));
            self.read.remove(0);
        }
        Ok(Some(group))
    }

    /// Reads on if nothing is left.
    fn fill(&mut self, inquiry: &mut Inquiry) -> Result<(), RecorderError> {
        let (Some(at), true) = (self.at, self.read.is_empty()) else { return Ok(()) };
        let (mut last, run) = (at, self.run);
        let sql = format!(
            "SELECT number, first_step, last_step, checksum, sums FROM batch WHERE simulationID = {run} AND number > {at}
            ORDER BY number LIMIT {PAGE}"
        );
        let (read, findings) = (&mut self.read, &mut self.findings);
        inquiry.for_each_row(&sql, |row| {
            let count = |column: usize| row[column].integer().and_then(|number| u64::try_from(number).ok());
            let number = count(0).unwrap_or(u64::MAX);
            let follows = number == last + 1;
            if !follows {
                findings.push(missing(last + 1, number - 1));
            }
            last = number;
            let checksums = Checksums::from_bytes(row[3].integer().unwrap_or(0), row[4].bytes());
            if checksums.is_none() {
                findings.push(format!("the checksums of batch {number} are damaged"));
            }
            read.push(Group {
                follows: follows && checksums.is_some(),
                // The first is the model.
                steps: count(1).zip(count(2)).filter(|(first, last)| number > 1 && first <= last),
                checksums: checksums.unwrap_or_default(),
            });
            Ok::<_, RecorderError>(())
        })?;
        self.count += self.read.len() as u64;
        self.at = (self.read.len() as u64 == PAGE).then_some(last);
        Ok(())
    }
}

fn missing(first: u64, last: u64) -> String {
    match first == last {
        true => format!("batch {first} is missing, and with it its rows or their checksums"),
        false => format!("batches {first} to {last} are missing, and with them their rows or their checksums"),
    }
}
