//! Playing a sequence: step by step on a paused clock, ahead of time on a running one.
//!
//! Both ways send each command for its step, so that delays of the network and of this program do not affect the
//! result. Start at [`play`].

use std::{fmt, iter::Peekable, slice::Iter, thread, time::Duration};

use anyhow::{Context, Result, anyhow, bail, ensure};
use simpartner_description::{Section, Sequence, Timeline, TimelineCommand};
use simpartner_model::Moment;
use simpartner_wire::signal::{StepIndex, Timestep};

use crate::{
    devices::Devices,
    wire::{Clock, Connection, State},
};

/// Lead of commands before a running clock, in simulated seconds.
const HORIZON_S: f64 = 1.0;
/// Poll interval of a running clock.
const CLOCK_POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Server and options of playing.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// `host:port` of the control port.
    pub server: String,
    /// The token that a server requires on an address that other machines reach.
    pub token: Option<String>,
    /// Delay from the present time of a running clock to the start of the sequence, in simulated time.
    pub lead: Moment,
    /// True to end the server's run with the sequence.
    pub quit: bool,
}

/// Progress, or in the end the summary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Commands sent.
    pub commands: usize,
    /// Number of completed steps of the sequence.
    pub steps: u64,
    /// The same in seconds.
    pub simulated_s: f64,
    /// Length of all pauses in seconds, without waits for readings.
    pub length_s: f64,
}

impl fmt::Display for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { commands, steps, simulated_s, .. } = self;
        write!(formatter, "commands {commands}\nsteps {steps}\nsimulated {simulated_s} s")
    }
}

/// Plays a sequence to a server. A paused clock is stepped from one group of commands to the next, and is paused at the
/// end; a playing clock is followed. `show` is called with the progress after every group, or at every check of the
/// clock.
///
/// # Errors
/// The server cannot be reached, lacks a device of the sequence, or refuses a command, or an awaited reading does not
/// come in time.
pub fn play(sequence: &Sequence, options: &Options, mut show: impl FnMut(Progress)) -> Result<Progress> {
    let token = options.token.as_deref();
    let mut control = Connection::open(&options.server, "the control port", token).map_err(|error| {
        let help = "start a server with 'simpartner run --paused', or say where it is with --server HOST:PORT or --ports-file FILE";
        anyhow!("{error:#}\nhelp: {help}")
    })?;
    let timestep = first_state(&mut control, token)?.timestep;
    let timeline = sequence.timeline(timestep);
    let devices = Devices::connect(&mut control, &timeline, token)?;
    let mut player =
        Player { control, devices, timestep, begin: StepIndex(0), length: timeline.steps, sent: 0, show: &mut show };
    // Connecting takes time, and a running clock does not wait for it.
    let start = player.state()?;
    let end = match start.clock {
        Clock::Paused => player.run_through(&timeline, start.step)?,
        Clock::Playing => player.follow(&timeline, start, options.lead.steps(timestep))?,
    };
    let played = player.progress(end.0 - player.begin.0);
    if options.quit {
        player.quit()?;
    }
    Ok(played)
}

/// The first answer also shows whether the server requires a token.
fn first_state(control: &mut Connection, token: Option<&str>) -> Result<State> {
    let answer = control.ask("STATE")?;
    if answer.starts_with("ERR 1 ") && token.is_some() {
        bail!("the server wants no token; leave --token out");
    }
    if answer.starts_with("ERR 9 ") {
        bail!("the server answers: {answer}\nhelp: give its token with --token");
    }
    State::read(&answer)
}

struct Player<'a> {
    control: Connection,
    devices: Devices,
    timestep: Timestep,
    /// The step after which the sequence begins.
    begin: StepIndex,
    /// Length of all pauses, in steps.
    length: u64,
    sent: usize,
    show: &'a mut dyn FnMut(Progress),
}

impl Player<'_> {
    /// Runs a paused clock through all sections, and returns the step at the end.
    fn run_through(&mut self, timeline: &Timeline, begin: StepIndex) -> Result<StepIndex> {
        self.begin = begin;
        let mut start = begin;
        for section in &timeline.sections {
            start = self.run_through_section(section, start)?;
        }
        Ok(start)
    }

    /// Runs a paused clock from group to group, and to the condition at the section's end. A group is sent before the
    /// clock is run to its time, not after: so it waits in the server for its step just like in a run that has the
    /// sequence inside the process, and the states are equal bit for bit.
    fn run_through_section(&mut self, section: &Section, start: StepIndex) -> Result<StepIndex> {
        for group in section.commands.chunk_by(|one, next| one.after_steps == next.after_steps) {
            for command in group {
                self.send(command, start)?;
            }
            self.run_to(start.after(group[0].after_steps))?;
        }
        let Some(condition) = &section.until else {
            let end = start.after(section.steps);
            self.run_to(end)?;
            return Ok(end);
        };
        let mut now = start.after(section.first_look());
        let latest = now.after(condition.timeout.steps(self.timestep));
        loop {
            self.run_to(now)?;
            if self.devices.holds(condition, now >= latest)? {
                return Ok(now);
            }
            now = now.after(1);
        }
    }

    /// Runs a paused clock to a step.
    fn run_to(&mut self, goal: StepIndex) -> Result<()> {
        // The server refuses a run of length 0, which is not needed anyway.
        if goal > self.begin {
            let answer = self.control.ask_patiently(&format!("RUNTO {}", self.timestep.seconds_at(goal)))?;
            let reached = State::read(&answer).with_context(|| format!("the clock did not come to step {goal}"))?;
            ensure!(reached.step == goal, "the clock was to come to step {goal} and came to {}", reached.step);
        }
        self.tell_progress(goal);
        Ok(())
    }

    /// Stays a little ahead of a running clock until the timeline has passed; a pause of the clock extends this.
    /// Commands after a condition start the lead after the step of its reading. Returns the step at the end.
    fn follow(&mut self, timeline: &Timeline, present: State, lead_steps: u64) -> Result<StepIndex> {
        let mut now = present.step;
        self.begin = now.after(lead_steps);
        let mut end = self.begin;
        for section in &timeline.sections {
            let start = now.after(lead_steps);
            now = self.follow_section(section, start, lead_steps, present.epoch)?;
            end = if section.until.is_some() { now } else { start.after(section.steps) };
        }
        Ok(end)
    }

    /// Follows the clock to the end of a section, and returns the step in which that was seen.
    fn follow_section(
        &mut self,
        section: &Section,
        start: StepIndex,
        lead_steps: u64,
        epoch: u32,
    ) -> Result<StepIndex> {
        let horizon = self.timestep.steps_in(HORIZON_S).max(lead_steps);
        let mut waiting = section.commands.iter().peekable();
        loop {
            let state = self.state()?;
            ensure!(state.epoch == epoch, "somebody has reset the world");
            let now = state.step;
            self.send_until(&mut waiting, start, now.after(horizon))?;
            self.tell_progress(now);
            if waiting.peek().is_none() {
                match &section.until {
                    None if now >= start.after(section.steps) => return Ok(now),
                    Some(condition) if now >= start.after(section.first_look()) => {
                        let latest = start.after(section.first_look()).after(condition.timeout.steps(self.timestep));
                        if self.devices.holds(condition, now >= latest)? {
                            return Ok(now);
                        }
                    }
                    None | Some(_) => {}
                }
            }
            thread::sleep(CLOCK_POLL_INTERVAL);
        }
    }

    /// Sends all commands up to a step.
    fn send_until(
        &mut self,
        waiting: &mut Peekable<Iter<'_, TimelineCommand>>,
        start: StepIndex,
        latest: StepIndex,
    ) -> Result<()> {
        while let Some(command) = waiting.next_if(|command| start.after(command.after_steps) <= latest) {
            self.send(command, start)?;
        }
        Ok(())
    }

    /// Sends a command of a section that begins after this step, for its own step, and waits until it is taken.
    fn send(&mut self, command: &TimelineCommand, start: StepIndex) -> Result<()> {
        let TimelineCommand { after_steps, device, source, .. } = command;
        // A command before any step acts in the first step after the present one.
        let step = start.after(*after_steps).after(1);
        let text = one_line(&command.text);
        let answer = self.devices.ask(device, &format!("SET @{step} {text}")).with_context(|| source.to_string())?;
        if answer != "OK" {
            let late = answer.starts_with("ERR 7 step ");
            let help = if late { "\nhelp: the clock was faster; give a longer --lead, or PAUSE it first" } else { "" };
            bail!("{source}: {device} answers '{text}' with: {answer}{help}");
        }
        self.sent += 1;
        Ok(())
    }

    fn state(&mut self) -> Result<State> {
        State::read(&self.control.ask("STATE")?)
    }

    fn quit(&mut self) -> Result<()> {
        self.control.send_line("QUIT")?;
        // The server may close the connection before its answer is out; both mean that it ends.
        match self.control.read_line() {
            Ok(answer) if answer.starts_with("ERR ") => bail!("the server answers QUIT with: {answer}"),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    fn tell_progress(&mut self, now: StepIndex) {
        let progress = self.progress(now.0.saturating_sub(self.begin.0));
        (self.show)(progress);
    }

    fn progress(&self, steps: u64) -> Progress {
        let seconds = |steps| self.timestep.seconds_at(StepIndex(steps));
        Progress { commands: self.sent, steps, simulated_s: seconds(steps), length_s: seconds(self.length) }
    }
}

/// A command's text as a message: without its brackets, and on one line.
fn one_line(text: &str) -> String {
    let text = text.trim();
    let text = text.strip_prefix('<').and_then(|text| text.strip_suffix('>')).unwrap_or(text);
    text.trim().replace(['\r', '\n'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_sent_on_one_line_with_or_without_brackets_in_the_file() {
        assert_eq!(one_line(" <1,2,3>\n"), "1,2,3");
        assert_eq!(one_line("1,\r\n2"), "1,  2");
        assert_eq!(one_line("a < b"), "a < b");
    }
}
