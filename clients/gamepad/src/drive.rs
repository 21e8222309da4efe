//! The control loop: events in, commands out, fifty times a second, across losses of gamepad and server, until the user
//! ends it.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow, ensure};
use simpartner_wire::signal::{StepIndex, Timestep};

use crate::{
    link::{Broken, Link, Memory, Server},
    mapping::Mapping,
    pad::{Backend, Event},
    pilot::{After, Found, Pilot},
    recording::{Acted, Recording},
};

/// Period in which events become commands.
const COMMAND_PERIOD: Duration = Duration::from_millis(20);
/// Times between attempts to reach a server that was lost: the first, and the longest.
const RECONNECT_PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(5)];
/// Time limit for stopping the robot at the end.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// Summary of a drive.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Driven {
    /// Commands that acted.
    pub commands: u64,
    /// Number of commands that came too late and were sent again.
    pub late: u64,
    /// The last step of the world that was driven last.
    pub step: StepIndex,
    /// The recordings, one for each world.
    pub recordings: Vec<PathBuf>,
}

/// Drives until the backend returns [`Event::End`] or `stop` is set, then stops the robot. `tell` receives messages for
/// the user.
///
/// # Errors
/// There is no server at the start, or a server does not fit the mapping; the gamepad's backend fails; the robot could
/// not be stopped; or the recording ended early.
pub fn drive(
    server: &Server,
    mapping: Mapping,
    backend: &mut dyn Backend,
    record: Option<&Path>,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(String),
) -> Result<Driven> {
    let mut driver = Driver {
        server,
        pilot: Pilot::new(mapping),
        link: None,
        memory: None,
        retry: (Duration::ZERO, RECONNECT_PAUSES[0]),
        tape: record.map(Tape::new),
        driven: Driven::default(),
        tell,
    };
    match driver.connect(After::Start) {
        Ok(()) => {}
        Err(Broken::Lost(error)) => {
            let help = "start a server with 'simpartner run', or say where it is with --server HOST:PORT";
            return Err(anyhow!("{error:#}\nhelp: {help}"));
        }
        Err(Broken::Unfit(error)) => return Err(error),
        Err(Broken::Reset) => return Err(anyhow!("the world was reset while connecting")),
    }
    let ended = driver.run(backend, stop);
    // The recording is completed in any case.
    let last = driver.last_step();
    let told = driver.tape.as_mut().map_or(Ok(()), |tape| tape.finish(last));
    ended?;
    told?;
    driver.driven.recordings = driver.tape.map_or_else(Vec::new, |tape| tape.files);
    Ok(driver.driven)
}

struct Driver<'a> {
    server: &'a Server,
    pilot: Pilot,
    link: Option<Link>,
    /// State of the lost link.
    memory: Option<Memory>,
    /// Time of the next attempt to connect, and the pause before the attempt after it.
    retry: (Duration, Duration),
    tape: Option<Tape>,
    driven: Driven,
    tell: &'a mut dyn FnMut(String),
}

impl Driver<'_> {
    fn run(&mut self, backend: &mut dyn Backend, stop: &AtomicBool) -> Result<()> {
        let start = Instant::now();
        let mut events = Vec::new();
        let mut ending = None;
        loop {
            let now = start.elapsed();
            let polled = backend.poll(now, &mut events);
            if stop.load(Ordering::Relaxed) || polled.is_err() {
                events.push(Event::End);
            }
            for event in events.drain(..) {
                self.handle(&event);
                if event == Event::End {
                    ending.get_or_insert(now);
                }
            }
            self.pilot.advance(now);
            let is_settled = self.keep_linked(now)?;
            if let Some(since) = ending {
                polled?;
                if is_settled {
                    return Ok(());
                }
                ensure!(now < since + STOP_TIMEOUT, "the robot could not be stopped: {}", self.why_not());
            }
            thread::sleep(COMMAND_PERIOD.saturating_sub(start.elapsed() - now));
        }
    }

    fn handle(&mut self, event: &Event) {
        match event {
            Event::Found(name) => (self.tell)(format!("pad: {name}")),
            Event::Lost => (self.tell)("the pad is lost; the robot stops, and goes on when it is back".into()),
            Event::End | Event::Axis(..) | Event::Button(..) => {}
        }
        self.pilot.handle(event);
    }

    /// Sends the pilot's commands, or tries to reconnect to the server. True if everything has been sent and has acted.
    fn keep_linked(&mut self, now: Duration) -> Result<bool> {
        let broken = match self.link.as_mut() {
            Some(link) => {
                let wanted = |device| Some((device, self.pilot.wanted(device, link.present(device))?));
                let commands: Vec<_> = (0..link.len()).filter_map(wanted).collect();
                let nothing_to_send = commands.is_empty();
                match link.send(commands) {
                    Ok(outcome) => {
                        let is_settled = nothing_to_send && link.is_at_rest();
                        self.driven.late += outcome.late;
                        outcome.notices.into_iter().for_each(&mut *self.tell);
                        self.record(&outcome.acted);
                        return Ok(is_settled);
                    }
                    Err(broken) => broken,
                }
            }
            None if now < self.retry.0 => return Ok(false),
            None => match self.connect(After::Gap) {
                Ok(()) => {
                    (self.tell)("the server is back".into());
                    return Ok(false);
                }
                Err(broken) => broken,
            },
        };
        match broken {
            Broken::Unfit(error) => return Err(error),
            Broken::Reset => {
                (self.tell)("the world was reset".into());
                self.memory = self.link.take().map(Link::into_memory);
                self.retry = (now, RECONNECT_PAUSES[0]);
            }
            Broken::Lost(error) => match self.link.take() {
                Some(link) => {
                    (self.tell)(format!("{error:#}; trying to get it back"));
                    self.memory = Some(link.into_memory());
                    self.retry = (now + RECONNECT_PAUSES[0], RECONNECT_PAUSES[0] * 2);
                }
                None => self.retry = (now + self.retry.1, (self.retry.1 * 2).min(RECONNECT_PAUSES[1])),
            },
        }
        Ok(false)
    }

    fn connect(&mut self, after: After) -> Result<(), Broken> {
        let (mut link, found, missing) = Link::open(self.server, self.pilot.mapping())?;
        let mut after = after;
        let (mut acted, mut is_known) = (Vec::new(), true);
        if let Some(memory) = &self.memory {
            match link.recognise(memory) {
                Some(under_way) => (acted, is_known) = under_way,
                None => after = After::NewWorld,
            }
        }
        self.pilot.attach(&found, after).map_err(Broken::Unfit)?;
        if after != After::Gap {
            self.begin(&link, &found, &missing, after).map_err(Broken::Unfit)?;
        }
        if !is_known && self.tape.is_some() {
            (self.tell)("commands were under way when the server was lost; the recording may lack them".into());
        }
        self.record(&acted);
        (self.link, self.memory) = (Some(link), None);
        Ok(())
    }

    /// Starts with another world: reports the driven devices, and begins a recording.
    fn begin(&mut self, link: &Link, found: &[Found], missing: &[String], after: After) -> Result<()> {
        if after == After::Start {
            (self.tell)(format!("driving {} devices", found.len()));
            if !missing.is_empty() {
                (self.tell)(format!("the server has no {}; their inputs do nothing", missing.join(", ")));
            }
        }
        let last = self.last_step();
        if let Some(tape) = &mut self.tape {
            tape.finish(last)?;
            let path = tape.begin(link.timestep())?;
            (self.tell)(format!("recording {}", path.display()));
        }
        Ok(())
    }

    fn record(&mut self, acted: &[Acted]) {
        self.driven.commands += acted.len() as u64;
        if let Some(tape) = &mut self.tape
            && !acted.is_empty()
            && let Err(error) = tape.add(acted)
        {
            (self.tell)(format!("{error:#}"));
        }
    }

    /// The last step driven in the present world, or in the one that was lost.
    fn last_step(&mut self) -> StepIndex {
        let present = self.link.as_ref().map(Link::last_step);
        let last = present.or_else(|| self.memory.as_ref().map(Memory::last_step)).unwrap_or_default();
        self.driven.step = last;
        last
    }

    fn why_not(&self) -> &'static str {
        match self.link {
            Some(_) => "the server does not take the commands",
            None => "the server is lost",
        }
    }
}

/// The recordings of a drive: the first has the name that was asked for, those of later worlds a number behind it.
struct Tape {
    first: PathBuf,
    recording: Option<Recording>,
    files: Vec<PathBuf>,
    /// The first error of the recording; nothing is recorded afterwards.
    failed: Option<String>,
}

impl Tape {
    fn new(first: &Path) -> Self {
        Self { first: first.to_owned(), recording: None, files: Vec::new(), failed: None }
    }

    fn begin(&mut self, timestep: Timestep) -> Result<&Path> {
        let path = match self.files.len() {
            0 => self.first.clone(),
            count => {
                let stem = self.first.file_stem().unwrap_or_default().to_string_lossy();
                let extension =
                    self.first.extension().map_or_else(String::new, |text| format!(".{}", text.to_string_lossy()));
                self.first.with_file_name(format!("{stem}-{}{extension}", count + 1))
            }
        };
        let recording = self.recording.insert(Recording::create(&path, timestep)?);
        self.files.push(path);
        Ok(recording.path())
    }

    fn add(&mut self, acted: &[Acted]) -> Result<()> {
        let Some(recording) = &mut self.recording else { return Ok(()) };
        let added = recording.add(acted);
        if let Err(error) = &added {
            self.recording = None;
            self.failed.get_or_insert(format!("{error:#}"));
        }
        added
    }

    fn finish(&mut self, last: StepIndex) -> Result<()> {
        if let Some(recording) = self.recording.take() {
            recording.finish(last)?;
        }
        match &self.failed {
            Some(what) => Err(anyhow!("{what}")),
            None => Ok(()),
        }
    }
}
