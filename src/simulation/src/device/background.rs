//! Work beside the steps.

/// Does work beside the steps. Work may be left undone: whoever needs its result then does it.
pub trait Background: Send {
    /// Takes up work without waiting for it.
    fn run(&self, work: Box<dyn FnOnce() + Send>);
}

/// No background: all work is done where its result is needed.
#[derive(Debug, Clone, Copy)]
pub struct Foreground;

impl Background for Foreground {
    fn run(&self, _work: Box<dyn FnOnce() + Send>) {}
}
