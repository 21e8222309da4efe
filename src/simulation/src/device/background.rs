//! Background work, in parallel with the steps.

/// A worker in the background. It may reject work: the caller then does the work when it needs the result.
pub trait Background: Send {
    /// Accepts work, or rejects it, without waiting for it.
    fn run(&self, work: Box<dyn FnOnce() + Send>);
}

/// No background worker: all work is done when its result is needed.
#[derive(Debug, Clone, Copy)]
pub struct Foreground;

impl Background for Foreground {
    fn run(&self, _work: Box<dyn FnOnce() + Send>) {}
}
