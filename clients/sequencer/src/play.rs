//! Playing a sequence: exactly to a clock that stands still, ahead of time to one that runs.
//!
//! Both ways send each command for the step it is to act in, so that neither the network's nor this program's delays show in
//! the result. Start at [`play`].

use std::{collections::BTreeMap, fmt, iter::Peekable, net::SocketAddr, slice::Iter, thread, time::Duration};

use anyhow::{Context, Result, anyhow, bail, ensure};
use simpartner_description::{Sequence, Timeline, TimelineCommand};
use simpartner_wire::signal::{StepIndex, Timestep};

use crate::wire::{Clock, Connection, Device, State};

/// How far ahead of a running clock commands are sent, in simulated seconds.
const HORIZON_S: f64 = 1.0;
/// How often a running clock is looked at.
const POLL: Duration = Duration::from_millis(5);

/// Where to play, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// `host:port` of the control port.
    pub server: String,
    /// The token that a server requires on an address that other machines reach.
    pub token: Option<String>,
    /// How far ahead of a running clock the sequence begins, in simulated seconds.
    pub lead_s: f64,
    /// Whether the server's run ends with the sequence.
    pub quit: bool,
}

/// How far it has come, or in the end: what was played.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Commands sent.
    pub commands: usize,
    /// Steps of the sequence made.
    pub steps: u64,
    /// The same in seconds.
    pub simulated_s: f64,
    /// Length of the whole in seconds.
    pub length_s: f64,
}

impl fmt::Display for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { commands, steps, simulated_s, .. } = self;
        write!(formatter, "commands {commands}\nsteps {steps}\nsimulated {simulated_s} s")
    }
}

/// Plays a sequence to a server. A paused clock is run from one group of commands to the next and left paused at the end; a
/// playing one is followed. `show` is called with the progress after every group, or at every look at the clock.
///
/// # Errors
/// When the server cannot be reached, does not have a port of the sequence, or refuses a command.
pub fn play(sequence: &Sequence, options: &Options, mut show: impl FnMut(Progress)) -> Result<Progress> {
    let token = options.token.as_deref();
    let mut control = Connection::open(&options.server, "the control port", token).map_err(|error| {
        let help = "start a server with 'simpartner run --paused', or say where it is with --server HOST:PORT or --ports-file FILE";
        anyhow!("{error:#}\nhelp: {help}")
    })?;
    let timestep = first_state(&mut control, token)?.timestep;
    let timeline = sequence.timeline(timestep);
    let devices = connect_devices(&mut control, &timeline, token)?;
    let mut player = Player { control, devices, timestep, length: timeline.steps, sent: 0, show: &mut show };
    // Connecting takes time, and a running clock does not wait for it.
    let start = player.state()?;
    match start.clock {
        Clock::Paused => player.run_through(&timeline, start.step)?,
        Clock::Playing => player.follow(&timeline, start, timestep.steps_in(options.lead_s))?,
    }
    let played = player.progress(timeline.steps);
    if options.quit {
        player.quit()?;
    }
    Ok(played)
}

/// The first answer also shows whether the server wants a token.
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

/// Connects to every device that the timeline names, after making sure that there are all of them.
fn connect_devices(
    control: &mut Connection,
    timeline: &Timeline,
    token: Option<&str>,
) -> Result<BTreeMap<u16, Connection>> {
    control.send_line("DEVICES")?;
    let mut known = BTreeMap::new();
    while let Some(device) = Device::read(&control.read_line()?)? {
        known.insert(device.port, device);
    }
    let mut named = BTreeMap::new();
    for command in &timeline.commands {
        let device = known.get(&command.port);
        let device =
            device.with_context(|| format!("{}: the server has no device on port {}", command.source, command.port))?;
        named.insert(command.port, device);
    }
    let host = control.host()?;
    let connect = |device: &Device| {
        let address = SocketAddr::new(host, device.bound).to_string();
        let mut connection = Connection::open(&address, &format!("'{}'", device.name), token)?;
        let greeting = connection.read_line()?;
        ensure!(!greeting.starts_with("ERR "), "'{}' at {address} answers: {greeting}", device.name);
        Ok(connection)
    };
    named.into_iter().map(|(port, device)| Ok((port, connect(device)?))).collect()
}

struct Player<'a> {
    control: Connection,
    /// By their ports in the model.
    devices: BTreeMap<u16, Connection>,
    timestep: Timestep,
    /// Of the whole sequence, in steps.
    length: u64,
    sent: usize,
    show: &'a mut dyn FnMut(Progress),
}

impl Player<'_> {
    /// Runs a paused clock from group to group. A group is sent before the clock is run to its time, not after: so it waits
    /// in the server for its step just like in a run that has the sequence inside the process, and the states are equal bit
    /// for bit.
    fn run_through(&mut self, timeline: &Timeline, start: StepIndex) -> Result<()> {
        for group in timeline.commands.chunk_by(|one, next| one.after_steps == next.after_steps) {
            for command in group {
                self.send(command, start)?;
            }
            self.run_to(start, group[0].after_steps)?;
        }
        self.run_to(start, timeline.steps)
    }

    /// Runs a paused clock until so many steps after the start are made.
    fn run_to(&mut self, start: StepIndex, steps: u64) -> Result<()> {
        let goal = start.after(steps);
        // The server refuses the time 0, where there is nothing to run anyway.
        if goal > start {
            let answer = self.control.ask_patiently(&format!("RUNTO {}", self.timestep.seconds_at(goal)))?;
            let reached = State::read(&answer).with_context(|| format!("the clock did not come to step {goal}"))?;
            ensure!(reached.step == goal, "the clock was to come to step {goal} and came to {}", reached.step);
        }
        self.tell_progress(steps);
        Ok(())
    }

    /// Keeps a little ahead of a running clock until the timeline has passed. Should somebody pause it, that takes longer.
    fn follow(&mut self, timeline: &Timeline, present: State, lead_steps: u64) -> Result<()> {
        let start = present.step.after(lead_steps);
        let horizon = self.timestep.steps_in(HORIZON_S).max(lead_steps);
        let mut waiting = timeline.commands.iter().peekable();
        let mut now = present.step;
        loop {
            self.send_until(&mut waiting, start, now.after(horizon))?;
            self.tell_progress(now.0.saturating_sub(start.0));
            if waiting.peek().is_none() && now >= start.after(timeline.steps) {
                return Ok(());
            }
            thread::sleep(POLL);
            let state = self.state()?;
            ensure!(state.epoch == present.epoch, "somebody has reset the world");
            now = state.step;
        }
    }

    /// Sends what is due up to a step.
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

    /// Sends a command for its step and waits until it is taken.
    fn send(&mut self, command: &TimelineCommand, start: StepIndex) -> Result<()> {
        let TimelineCommand { after_steps, port, source, .. } = command;
        // What comes after no step acts in the first step after the present one.
        let step = start.after(*after_steps).after(1);
        let text = one_line(&command.text);
        let device = self.devices.get_mut(port).expect("all ports of the timeline were connected to before");
        let answer = device.ask(&format!("SET @{step} {text}")).with_context(|| source.to_string())?;
        if answer != "OK" {
            let late = answer.starts_with("ERR 7 step ");
            let help = if late { "\nhelp: the clock was faster; give a longer --lead, or PAUSE it first" } else { "" };
            bail!("{source}: the device on port {port} answers '{text}' with: {answer}{help}");
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

    fn tell_progress(&mut self, steps: u64) {
        let progress = self.progress(steps.min(self.length));
        (self.show)(progress);
    }

    fn progress(&self, steps: u64) -> Progress {
        let seconds = |steps| self.timestep.seconds_at(StepIndex(steps));
        Progress { commands: self.sent, steps, simulated_s: seconds(steps), length_s: seconds(self.length) }
    }
}

/// A command's text as a message: without its brackets, and on one line however the file breaks it.
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
