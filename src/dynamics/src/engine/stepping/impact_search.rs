//! The state of the search for impacts in a substep.

use crate::ImpactLaw;

/// State of the search for impacts.
#[derive(Debug)]
pub(crate) struct Impacts {
    pub(super) law: ImpactLaw,
    /// For each tree, true if it touches something that it does not bounce off.
    pub(super) supported: Vec<bool>,
    /// Group and key of each pair of shapes that may meet in this substep.
    pub(super) candidates: Vec<(usize, u64)>,
}

impl Impacts {
    pub(crate) fn new(law: ImpactLaw) -> Self {
        Self { law, supported: Vec::new(), candidates: Vec::new() }
    }
}
