//! The texts that `run` prints at the start and at the end of a run.

use std::fmt::{self, Write};

use simpartner_description::{
    DeviceReference,
    xml::{self, Document},
};
use simpartner_terminal::DEFAULT_SERVER;
use simpartner_terminal::output::{Rounded, note, tell};

use crate::{
    realtime::{ClockReport, Mode, Outcome, Percentiles},
    recorder::{ExpectedGrowth, LogSummary},
    run::{RunReport, Started},
    server::{Server, reachable},
};

/// Prints, before the first step, the world, the clock, the log and the addresses of the ports.
pub(super) fn announce(started: &Started<'_>) {
    let Started { config, end, grants, growth, server } = started;
    let settings = &config.simulation;
    note(format_args!("world     {}", xml::locate(&settings.world_file).display()));
    let clock = match settings.mode {
        Mode::RealTime => format!("real time x {}", settings.rate),
        Mode::Fast => "as fast as possible".into(),
        Mode::Lockstep => format!("lockstep, real time x {} until all members have joined", settings.rate),
    };
    let until = end.map_or("until Ctrl-C".into(), |end| format!("until {} s", settings.timestep.seconds_at(end)));
    note(format_args!("clock     {} s steps, {clock}, {until} ({grants})", Rounded(settings.timestep.seconds())));
    match &config.log {
        Some(log) => note(format_args!("log       {}, at most {} MB in this run", log.database, log.limit_mb)),
        None => note("log       none"),
    }
    if let Some(growth) = growth {
        note(format_args!("          {}", growth_text(*growth)));
    }
    if let Some(server) = server {
        tell(ports_text(server, config.server.token.as_deref(), fitting_sequence(server)));
    }
}

/// Text with the addresses of all ports, and commands to try first. `token` is the token that clients have to send.
fn ports_text(server: &Server, token: Option<&str>, sequence: Option<&str>) -> String {
    let mut out = format!("control   {}\n", server.control_address());
    for address in server.viewer_address().into_iter().flat_map(reachable) {
        let token = token.map_or_else(String::new, |token| format!("#token={}", percent_encoded(token)));
        out += &format!("viewer    http://{address}/{token}\n");
    }
    for (info, address) in server.devices() {
        let (port, on) = (address.port(), &info.attachment);
        out += &format!("{port:<9} {:<16} on {} {} of {}\n", info.name, on.noun(), on.name(), info.robot);
    }
    for (info, address) in server.robots() {
        out += &format!("{:<9} {:<16} all readings and commands in one\n", address.port(), info.name);
    }
    let addresses = reachable(server.control_address());
    let control = addresses.first().copied().unwrap_or_else(|| server.control_address());
    if server.control_address().ip().is_unspecified() {
        let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        out += &format!("reached   from other machines at {}\n", addresses.join(", "));
    }
    let at = if control.to_string() == DEFAULT_SERVER { String::new() } else { format!("--server {control} ") };
    let sensor = server.devices().find(|(info, _)| !info.kind.is_actuator() && !info.fields.is_empty());
    out.push('\n');
    if let Some((info, address)) = sensor {
        let (port, name) = (address.port(), &info.name);
        out += &format!("try       simpartner talk {at}{port}    # then type SUB 500: {name} twice a second\n");
    }
    if let Some(sequence) = sequence {
        out += &format!("try       simpartner sequence {at}{sequence}\n");
    }
    out + "          Ctrl-C ends the run cleanly\n"
}

/// The built-in sequence that is suggested for a server: of those that command only devices of the server, the one that
/// commands most.
fn fitting_sequence(server: &Server) -> Option<&'static str> {
    let actuators = || server.devices().filter(|(info, _)| info.kind.is_actuator()).map(|(info, _)| info);
    let has = |device: &DeviceReference| match device {
        DeviceReference::Port(port) => actuators().any(|info| info.port.number() == *port),
        DeviceReference::Name(name) => actuators().any(|info| *info.name == **name),
    };
    let devices_of = |file: &xml::BuiltIn| match xml::read_text(file.path, file.text) {
        Ok(Document::Sequence(sequence)) => Some(sequence.devices()),
        _ => None,
    };
    let fitting = xml::BUILT_IN.iter().filter(|file| file.root() == Some("sequence")).filter_map(|file| {
        let named = devices_of(file)?;
        let fits = !named.is_empty() && named.iter().all(has);
        fits.then_some((named.len(), file.path))
    });
    // Among equals the first in alphabetical order is taken.
    fitting.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, path)| path)
}

/// A text with percent-encoding, as in an address: all bytes but letters, digits and `-_.~` are encoded.
fn percent_encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

/// Text on the expected growth of the log.
fn growth_text(growth: ExpectedGrowth) -> String {
    let rate = |bytes_per_s: f64| {
        let per_day = bytes_per_s * 86_400.0 * 1e-9;
        format!("{:.2} MB per simulated second ({per_day:.1} GB a day)", bytes_per_s * 1e-6)
    };
    match growth.thinned {
        Some((after_s, later)) if after_s > 0.0 => {
            format!("about {} for {after_s} s, then {}", rate(growth.bytes_per_s), rate(later))
        }
        Some((_, later)) => format!("about {}", rate(later)),
        None => format!("about {}", rate(growth.bytes_per_s)),
    }
}

/// Figures of a run at its end, one per line, each after its name.
pub(super) fn summary(report: &RunReport) -> String {
    let log = report.log.as_ref().and_then(|log| log.as_ref().ok());
    let mut out = String::new();
    // Writing into a string cannot fail.
    let _ = write_clock(&report.clock, &mut out);
    let batches = log.map(|log| &log.batches);
    let uses = report.clock.queues.iter().chain(batches);
    let uses: Vec<String> =
        uses.map(|queue| format!("{} {} of {}", queue.name, queue.longest, queue.capacity)).collect();
    let _ = writeln!(out, "queues at most    {}", uses.join(", "));
    if let Some(log) = log {
        let _ = write_log(log, &mut out);
    }
    out
}

fn write_clock(report: &ClockReport, out: &mut String) -> fmt::Result {
    writeln!(out, "outcome           {}", outcome_text(&report.outcome))?;
    writeln!(out, "steps             {}", report.steps)?;
    writeln!(out, "simulated         {} s", report.simulated_s)?;
    writeln!(out, "wall              {:.3} s", report.wall_s)?;
    writeln!(out, "real-time factor  {:.4}", report.real_time_factor())?;
    if let Some(processor) = report.processor_s {
        writeln!(out, "processor         {processor:.2} s")?;
    }
    if let Some(times) = &report.lateness {
        writeln!(out, "lateness          {}", percentiles_text(times))?;
    }
    if let Some(times) = &report.compute {
        writeln!(out, "step              {}", percentiles_text(times))?;
    }
    writeln!(out, "slips             {} ({} s given up)", report.slips, Rounded(report.slipped_s))?;
    match report.state_hash.as_str() {
        "" => writeln!(out, "state             not known: the run ended within a step")?,
        hash => writeln!(out, "state             {hash}")?,
    }
    if report.step_downs > 0 {
        let times = report.step_downs;
        writeln!(out, "stepped down      {times} times to ordinary priority, to leave time to others")?;
    }
    if report.waits > 0 {
        let waited_s = Rounded(report.waited.as_secs_f64());
        writeln!(out, "waited            {waited_s} s in {} waits for space in a queue", report.waits)?;
    }
    Ok(())
}

fn write_log(log: &LogSummary, out: &mut String) -> fmt::Result {
    for run in &log.simulations {
        writeln!(
            out,
            "log               simulation {}: {} steps, {} rows in {}",
            run.simulation_id, run.steps_logged, run.rows, log.database
        )?;
    }
    writeln!(out, "log size          {:.1} MB", log.bytes as f64 / 1e6)?;
    match &log.ended_early {
        Some(why) => writeln!(out, "log ended early   {why}"),
        None => Ok(()),
    }
}

fn outcome_text(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::Quit => "ended on request",
        Outcome::LogEnded => "stopped by the log",
        Outcome::Overrun => "stopped because the clock fell behind (simulation.on_overrun = \"stop\")",
        Outcome::LockstepTimeout(_) => "stopped because a member of the lockstep did not answer",
        Outcome::SequenceBrokenOff(_) => "stopped because the sequence was broken off",
        Outcome::Diverged(_) => "stopped because the physics diverged",
    }
}

fn percentiles_text(times: &Percentiles) -> String {
    format!(
        "p50 {:.1} us, p99 {:.1} us, p99.9 {:.1} us, max {:.1} us",
        times.p50_us, times.p99_us, times.p99_9_us, times.max_us
    )
}
