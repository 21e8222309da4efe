//! What a run says at its start and at its end.

use super::properties::Properties;
use crate::{
    realtime::{Grants, Mode, Outcome, Percentiles, RunReport},
    recorder::LogSummary,
    server::Server,
    signal::StepIndex,
};

/// Tells, before the first step, what runs, where it can be reached and where its log goes.
pub(super) fn announce(properties: &Properties, grants: &Grants, server: Option<&Server>, end: Option<StepIndex>) {
    let settings = &properties.simulation;
    eprintln!("world     {}", settings.world_file.display());
    let clock = match settings.mode {
        Mode::RealTime => format!("real time x {}", settings.rate),
        Mode::Fast => "as fast as possible".into(),
        Mode::Lockstep => format!("lockstep, real time x {} until all members have joined", settings.rate),
    };
    let until = end.map_or("until Ctrl-C".into(), |end| format!("until {} s", settings.timestep.seconds_at(end)));
    eprintln!("clock     {} s steps, {clock}, {until} ({grants})", settings.timestep.seconds());
    match &properties.log {
        Some(log) => eprintln!("log       {}, at most {} MB in this run", log.database, log.limit_mb),
        None => eprintln!("log       none"),
    }
    let Some(server) = server else { return };
    eprintln!("control   {}", server.control_address());
    if let Some(address) = server.viewer_address() {
        eprintln!("viewer    http://{address}/");
    }
    for (info, address) in server.devices() {
        eprintln!(
            "{:<9} {:<16} on {} {} of {}",
            address.port(),
            info.name,
            info.attachment.noun(),
            info.attachment.name(),
            info.robot
        );
    }
    for (info, address) in server.robots() {
        eprintln!("{:<9} {:<16} all readings and commands in one", address.port(), info.name);
    }
    let sensor = server.devices().find(|(info, _)| !info.kind.is_actuator() && !info.fields.is_empty());
    eprintln!();
    if let Some((info, address)) = sensor {
        eprintln!(
            "try       nc {} {}    # then type SUB 500: {} twice a second",
            address.ip(),
            address.port(),
            info.name
        );
    }
    eprintln!("try       cargo run --release -p simpartner-sequencer -- robots/circle.xml");
    eprintln!("          Ctrl-C ends the run cleanly");
}

/// The end of a run in figures, one a line, name first.
pub(super) struct Summary<'a> {
    pub(super) report: &'a RunReport,
    pub(super) log: Option<&'a LogSummary>,
}

impl Summary<'_> {
    /// Prints it to standard output.
    pub(super) fn print(&self) {
        let report = self.report;
        println!("outcome           {}", outcome(&report.outcome));
        println!("steps             {}", report.steps);
        println!("simulated         {} s", report.simulated_s);
        println!("wall              {:.3} s", report.wall_s);
        println!("real-time factor  {:.4}", report.real_time_factor());
        if let Some(processor) = report.processor_s {
            println!("processor         {processor:.2} s");
        }
        if let Some(times) = &report.lateness {
            println!("lateness          {}", percentiles(times));
        }
        if let Some(times) = &report.compute {
            println!("step              {}", percentiles(times));
        }
        println!("slips             {} ({} s given up)", report.slips, report.slipped_s);
        println!("state             {}", report.state_hash);
        if let Some(log) = self.log {
            for run in &log.simulations {
                println!(
                    "log               simulation {}: {} steps, {} rows in {}",
                    run.simulation_id, run.steps_logged, run.rows, log.database
                );
            }
            println!(
                "log size          {:.1} MB, at most {} records in its queue",
                log.bytes as f64 / 1e6,
                log.longest_queue
            );
            if let Some(why) = &log.ended_early {
                println!("log ended early   {why}");
            }
        }
    }
}

fn outcome(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::Quit => "ended on request",
        Outcome::LogEnded => "stopped by the log",
        Outcome::LogTooSlow => {
            "stopped because the log could not keep up; nothing that was simulated is missing from it"
        }
        Outcome::Overrun => "stopped because the clock fell behind (simulation.on_overrun = \"stop\")",
        Outcome::LockstepTimeout(_) => "stopped because a member of the lockstep did not answer",
        Outcome::Diverged(_) => "stopped because the physics diverged",
    }
}

fn percentiles(times: &Percentiles) -> String {
    format!(
        "p50 {:.1} us, p99 {:.1} us, p99.9 {:.1} us, max {:.1} us",
        times.p50_us, times.p99_us, times.p99_9_us, times.max_us
    )
}
