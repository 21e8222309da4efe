//! Findings of the verification of a run.

/// Largest number of findings that are listed of a run: more would hide the first ones.
const MAX_FINDINGS: usize = 20;

/// Findings, a sentence each.
#[derive(Debug, Default)]
pub(super) struct Findings {
    listed: Vec<String>,
    /// Number of findings that are not listed.
    more: usize,
}

impl Findings {
    pub(super) fn add(&mut self, finding: impl Into<String>) {
        match self.listed.len() < MAX_FINDINGS {
            true => self.listed.push(finding.into()),
            false => self.more += 1,
        }
    }

    /// The findings. If some are not listed, a last entry gives their number.
    pub(super) fn into_list(mut self) -> Vec<String> {
        if self.more > 0 {
            self.listed.push(format!("and {} more", self.more));
        }
        self.listed
    }
}
