//! What was found wrong with a run.

/// The most findings that are listed of a run: more would hide the first ones.
const MOST_FINDINGS: usize = 20;

/// Findings, a sentence each.
#[derive(Debug, Default)]
pub(super) struct Findings {
    listed: Vec<String>,
    more: usize,
}

impl Findings {
    pub(super) fn add(&mut self, finding: impl Into<String>) {
        match self.listed.len() < MOST_FINDINGS {
            true => self.listed.push(finding.into()),
            false => self.more += 1,
        }
    }

    /// All of them; the last one says how many more there are.
    pub(super) fn into_list(mut self) -> Vec<String> {
        if self.more > 0 {
            self.listed.push(format!("and {} more", self.more));
        }
        self.listed
    }
}
