//! Expected contents of a log after a sequence of requests: the runs in order, with the commands of each.
//!
//! While the clock is paused, the step of a command is known; while it runs, only its bounds are.

use std::ops::RangeInclusive;

/// A command.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Given {
    /// The steps that it may have acted in.
    pub(super) steps: RangeInclusive<u64>,
    /// Part of its text.
    pub(super) text: String,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Run {
    /// Number of resets before it.
    pub(super) epoch: u64,
    /// The step of the state from which it starts; `None` if it starts from the model.
    pub(super) goes_on_from: Option<u64>,
    /// True if that step is known exactly.
    pub(super) is_exact: bool,
    /// The last step; `None` if it is not known.
    pub(super) steps: Option<u64>,
    /// Its commands.
    pub(super) commands: Vec<Given>,
}

/// The runs so far, the present one last.
#[derive(Debug)]
pub(super) struct Model {
    runs: Vec<Run>,
    /// The last step that is known to be complete.
    step: u64,
    is_playing: bool,
    /// Commands for later steps.
    waiting: Vec<(u64, String)>,
    /// Which of two robots are there.
    present: [bool; 2],
}

impl Default for Model {
    fn default() -> Self {
        Self {
            runs: vec![Run { is_exact: true, steps: Some(0), ..Run::default() }],
            step: 0,
            is_playing: false,
            waiting: Vec::new(),
            present: [false; 2],
        }
    }
}

impl Model {
    pub(super) fn step(&self) -> u64 {
        self.step
    }

    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// A robot that is not there.
    pub(super) fn absent(&self) -> Option<usize> {
        self.present.iter().position(|present| !present)
    }

    /// Adds or removes a robot; true if it is added.
    pub(super) fn toggle(&mut self, robot: usize) -> bool {
        self.present[robot] = !self.present[robot];
        self.present[robot]
    }

    fn run(&mut self) -> &mut Run {
        self.runs.last_mut().unwrap()
    }

    /// A command for the next step.
    pub(super) fn give(&mut self, text: String) {
        let next = self.step + 1;
        let latest = if self.is_playing { u64::MAX } else { next };
        self.run().commands.push(Given { steps: next..=latest, text });
    }

    /// A command for this step.
    pub(super) fn give_at(&mut self, at: u64, text: String) {
        match at == self.step + 1 {
            true => self.give(text),
            false => self.waiting.push((at, text)),
        }
    }

    /// The present run is seen at a step. All earlier commands have acted by the step after it.
    pub(super) fn reach(&mut self, step: u64) {
        self.step = step;
        // Commands for the same step keep their order.
        self.waiting.sort_by_key(|(at, _)| *at);
        while self.waiting.first().is_some_and(|(at, _)| *at <= step) {
            let (at, text) = self.waiting.remove(0);
            self.run().commands.push(Given { steps: at..=at, text });
        }
        let run = self.runs.last_mut().unwrap();
        run.steps = (!self.is_playing).then_some(step);
        for given in &mut run.commands {
            given.steps = *given.steps.start()..=(*given.steps.end()).min(step + 1);
        }
    }

    pub(super) fn play(&mut self, step: u64) {
        self.is_playing = true;
        self.reach(step);
    }

    pub(super) fn pause(&mut self, step: u64) {
        self.is_playing = false;
        self.reach(step);
    }

    /// Starts another run: the same world continues, or the model starts again. A run with neither step nor command is
    /// omitted, except for the first.
    pub(super) fn next_run(&mut self, goes_on: bool) {
        let epoch = self.run().epoch + u64::from(!goes_on);
        let is_first = self.runs.len() == 1;
        let run = self.run();
        let is_empty = run.is_exact && run.steps == Some(run.goes_on_from.unwrap_or(0)) && run.commands.is_empty();
        if is_empty && !is_first {
            self.runs.pop();
        }
        if !goes_on {
            self.step = 0;
            self.waiting.clear();
        }
        let (goes_on_from, is_exact) = (goes_on.then_some(self.step), !goes_on || !self.is_playing);
        let steps = (!self.is_playing).then_some(self.step);
        self.runs.push(Run { epoch, goes_on_from, is_exact, steps, commands: Vec::new() });
    }

    /// Compares it with the runs of a log, each with its number and status.
    #[track_caller]
    pub(super) fn check(&self, logged: &[(i64, Run, String)]) {
        let mut rest = logged.iter().peekable();
        for (index, run) in self.runs.iter().enumerate() {
            let is_last = index + 1 == self.runs.len();
            // A running clock may not have made a step of it.
            let is_known = run.is_exact && run.steps.is_some();
            let may_be_left_out = !is_known && run.commands.is_empty() && index > 0 && !is_last;
            let is_it = |found: &Run| {
                let has_steps = found.steps > Some(found.goes_on_from.unwrap_or(0));
                let is_alike = found.epoch == run.epoch && found.goes_on_from.is_some() == run.goes_on_from.is_some();
                is_alike && found.commands.is_empty() && has_steps && run.steps.is_none_or(|_| found.steps == run.steps)
            };
            if may_be_left_out && !rest.peek().is_some_and(|(_, found, _)| is_it(found)) {
                continue;
            }
            let (id, found, status) = rest.next().unwrap_or_else(|| panic!("{run:?} is not in the log\n{logged:#?}"));
            let expected = match rest.peek() {
                None if is_last => "quit",
                Some((_, next, _)) if next.epoch == run.epoch => "continued",
                _ => "reset",
            };
            assert_eq!((found.epoch, status.as_str()), (run.epoch, expected), "run {id}: {found:?} for {run:?}");
            check_run(*id, run, found);
        }
        assert!(rest.next().is_none(), "runs that nobody began: {logged:#?}\nexpected {:#?}", self.runs);
    }
}

#[track_caller]
fn check_run(id: i64, run: &Run, found: &Run) {
    assert_eq!(run.goes_on_from.is_some(), found.goes_on_from.is_some(), "run {id}: {found:?} for {run:?}");
    if let (Some(expected), Some(steps)) = (run.steps, found.steps) {
        assert_eq!(steps, expected, "the steps of run {id}: {found:?} for {run:?}");
    }
    let last = found.steps.unwrap() + 1;
    assert_eq!(found.commands.len(), run.commands.len(), "the commands of run {id}: {found:?} for {run:?}");
    for (found, given) in found.commands.iter().zip(&run.commands) {
        let step = *found.steps.start();
        assert!(found.text.contains(&given.text), "run {id}, step {step}: {found:?} for {given:?}");
        assert!(given.steps.contains(&step) && step <= last, "run {id}: {found:?} for {given:?}");
    }
}
