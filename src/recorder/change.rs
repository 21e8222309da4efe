//! Which rows differ from those before them.

/// Logged steps from one in which all rows are written to the next, so that whoever reads a step need not look back farther.
pub(super) const STEPS_OF_ALL: u64 = 1000;

/// The rows written last, of bodies or of joints or of devices.
#[derive(Debug)]
pub(super) struct Changes {
    tolerance: f64,
    last: Vec<Vec<f64>>,
}

impl Changes {
    /// Of so many. Numbers that differ by no more than the tolerance are the same.
    pub(super) fn new(count: usize, tolerance: f64) -> Self {
        Self { tolerance, last: vec![Vec::new(); count] }
    }

    /// True if the row is to be written, since it differs from the one written last; then it is the one written last.
    pub(super) fn differs(&mut self, index: usize, values: &[f64]) -> bool {
        let last = &mut self.last[index];
        let same = |(old, new): (&f64, &f64)| (old - new).abs() <= self.tolerance || (old.is_nan() && new.is_nan());
        if last.len() == values.len() && last.iter().zip(values).all(same) {
            return false;
        }
        last.clear();
        last.extend(values);
        true
    }

    /// Forgets what was written: the next row of each is.
    pub(super) fn forget(&mut self) {
        self.last.iter_mut().for_each(Vec::clear);
    }
}
