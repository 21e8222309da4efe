//! Memory and open files of a server while it runs.

use std::{
    fs,
    process::Child,
    thread,
    time::{Duration, Instant},
};

/// Interval of the readings of memory and open files.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// Memory and descriptors of the server at a given time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    second: u64,
    resident_kb: u64,
    descriptors: usize,
}

/// Reads memory and descriptors of the server until it ends, and prints them once a minute.
pub fn watch(server: &mut Child) -> Vec<Sample> {
    let (begin, mut samples) = (Instant::now(), Vec::new());
    println!("{:>8} {:>12} {:>12}", "s", "memory, MB", "descriptors");
    while server.try_wait().expect("it can be asked").is_none() {
        let second = begin.elapsed().as_secs();
        if let Some(sample) = sample(server.id(), second) {
            if samples.last().is_none_or(|last: &Sample| last.second / 60 != second / 60) {
                print_sample(&sample);
            }
            samples.push(sample);
        }
        thread::sleep(SAMPLE_EVERY);
    }
    samples
}

fn print_sample(sample: &Sample) {
    println!("{:>8} {:>12.1} {:>12}", sample.second, sample.resident_kb as f64 / 1024.0, sample.descriptors);
}

/// `None` if the system does not report it, or the process has just ended.
fn sample(process: u32, second: u64) -> Option<Sample> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let resident_kb = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    let descriptors = fs::read_dir(format!("/proc/{process}/fd")).ok()?.count();
    Some(Sample { second, resident_kb, descriptors })
}

/// Growth of memory and descriptors after the first minute, by means over the first and the last quarter of that time.
pub fn report_growth(samples: &[Sample]) {
    let steady: Vec<&Sample> = samples.iter().filter(|sample| sample.second >= 60).collect();
    let quarter = steady.len() / 4;
    if quarter == 0 {
        return println!("growth            not told: the run was shorter than two minutes");
    }
    let mean = |part: &[&Sample]| part.iter().map(|sample| sample.resident_kb as f64).sum::<f64>() / part.len() as f64;
    let (first, last) = (mean(&steady[..quarter]), mean(&steady[steady.len() - quarter..]));
    let descriptors = steady.iter().map(|sample| sample.descriptors);
    println!(
        "growth            memory {:+.2} % from the first to the last quarter ({:.1} to {:.1} MB), {} to {} descriptors",
        (last / first - 1.0) * 100.0,
        first / 1024.0,
        last / 1024.0,
        descriptors.clone().min().unwrap_or_default(),
        descriptors.max().unwrap_or_default()
    );
}
