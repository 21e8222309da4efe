//! Runs the cases of a sweep on several threads, and stores their results.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use super::{case::Sweep, error::SweepError};
use crate::recorder::{CaseResult, Database, StoredSweep, SweepStore};

/// Largest number of results that wait to be stored: more make a transaction no cheaper.
const MAX_WAITING: usize = 200;
/// Time without a result after which the waiting ones are stored.
const IDLE_INTERVAL: Duration = Duration::from_millis(250);

/// Part of a sweep to be run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Cases to simulate; `None` for all.
    pub cases: Option<Range<u64>>,
    /// True to simulate stored cases again, and compare them.
    pub compares: bool,
    /// Number of threads, at least 1.
    pub threads: usize,
}

/// Progress of a run of a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number of cases to simulate in this call.
    pub planned: u64,
    /// Number of cases that have been simulated.
    pub done: u64,
    /// Number of cases that failed or diverged.
    pub failed: u64,
    /// Number of steps made.
    pub steps: u64,
}

/// Result of a run of a sweep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Final progress.
    pub progress: Progress,
    /// Number of cases that were stored.
    pub stored: u64,
    /// Number of cases that were simulated again, or stored by another process meanwhile, with equal results.
    pub equal: u64,
    /// Cases whose results differ from the stored ones, with the differences.
    pub different: Vec<(u64, String)>,
}

/// Runs a part of a sweep.
///
/// Each case is stored as a whole. A process that is killed loses the cases that it has not stored, and no more; a
/// further call simulates them.
///
/// # Errors
/// When the database cannot be read or written. What has been stored stays.
pub fn run(
    sweep: &Sweep,
    store: &mut SweepStore,
    stored: &StoredSweep,
    database: &Database,
    options: &Options,
    observe: &mut dyn FnMut(&Progress),
) -> Result<Summary, SweepError> {
    let wanted = options.cases.clone().unwrap_or(0..sweep.cases());
    let known = store.finished(stored.id, wanted.clone())?;
    let pending: Vec<u64> = wanted.filter(|case| options.compares || !known.contains_key(case)).collect();
    let mut keeper = Keeper { store, sweep: stored.id, known, summary: Summary::default(), waiting: Vec::new() };
    keeper.summary.progress.planned = pending.len() as u64;
    let next = AtomicUsize::new(0);
    let (sender, results) = mpsc::sync_channel(MAX_WAITING);
    let ended = thread::scope(|scope| {
        for _ in 0..options.threads.clamp(1, pending.len().max(1)) {
            let sender = sender.clone();
            let (next, pending) = (&next, &pending);
            scope.spawn(move || {
                while let Some(&case) = pending.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if sender.send(sweep.simulate(case, database)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let kept = keeper.take_all(&results, observe);
        // After an error the threads end with their present case.
        next.store(usize::MAX / 2, Ordering::Relaxed);
        drop(results);
        kept
    });
    ended?;
    Ok(keeper.summary)
}

/// Stores and compares the results of cases.
struct Keeper<'s> {
    store: &'s mut SweepStore,
    sweep: i64,
    known: BTreeMap<u64, CaseResult>,
    summary: Summary,
    waiting: Vec<CaseResult>,
}

impl Keeper<'_> {
    fn take_all(
        &mut self,
        results: &mpsc::Receiver<CaseResult>,
        observe: &mut dyn FnMut(&Progress),
    ) -> Result<(), SweepError> {
        loop {
            match results.recv_timeout(IDLE_INTERVAL) {
                Ok(result) => {
                    let progress = &mut self.summary.progress;
                    progress.done += 1;
                    progress.steps += result.steps;
                    progress.failed += u64::from(["failed", "diverged"].contains(&result.status.as_str()));
                    observe(progress);
                    match self.known.remove(&result.case) {
                        Some(stored) => self.compare_results(&stored, &result)?,
                        None => self.waiting.push(result),
                    }
                    if self.waiting.len() >= MAX_WAITING || self.store.is_due() {
                        self.store_waiting()?;
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.store_waiting()?,
                Err(RecvTimeoutError::Disconnected) => return self.store_waiting(),
            }
        }
    }

    fn store_waiting(&mut self) -> Result<(), SweepError> {
        let results = std::mem::take(&mut self.waiting);
        if results.is_empty() {
            return Ok(());
        }
        let already = self.store.keep(self.sweep, &results)?;
        self.summary.stored += (results.len() - already.len()) as u64;
        for result in results.iter().filter(|result| already.contains(&result.case)) {
            let stored = self.store.finished(self.sweep, result.case..result.case + 1)?;
            if let Some(stored) = stored.get(&result.case) {
                self.compare_results(stored, result)?;
            }
        }
        Ok(())
    }

    fn compare_results(&mut self, stored: &CaseResult, new: &CaseResult) -> Result<(), SweepError> {
        match difference_between(stored, new) {
            None => self.summary.equal += 1,
            Some(text) => {
                self.store.note_difference(self.sweep, new.case, &text)?;
                self.summary.different.push((new.case, text));
            }
        }
        Ok(())
    }
}

/// The values in which two results of a case differ; `None` if there are none.
fn difference_between(stored: &CaseResult, new: &CaseResult) -> Option<String> {
    let mut found = Vec::new();
    let mut add = |name: &str, stored: String, new: String| {
        if stored != new {
            found.push(format!("{name} was {stored} and is {new}"));
        }
    };
    add("status", stored.status.clone(), new.status.clone());
    add("steps", stored.steps.to_string(), new.steps.to_string());
    add("stateHash", stored.state_hash.clone(), new.state_hash.clone());
    let text = |value: Option<f64>| value.map_or("NULL".to_owned(), |value| (value + 0.0).to_string());
    for (name, value) in &new.measures {
        let before = stored.measures.iter().find(|(known, _)| known == name).and_then(|(_, value)| *value);
        add(name, text(before), text(*value));
    }
    (!found.is_empty()).then(|| found.join("; "))
}
